"""The hostile-file room: a path of the working tree is opened, verified and read here and nowhere else (spec 4.7).

No component of a path is followed if it is a link, nothing but a regular file is read, and nothing blocks.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, Self

from discern.vocabulary import FileReason

FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_DIRECTORY
Opener = Callable[[bytes, int, int], int]
DEPTH = 32  # folders kept open at a time


# Why nothing is seen at a path: nothing is there (or a file or link stands where a folder should), or we may not look.
Absent = Literal["absent", "unreadable"]


def absence(error: OSError) -> Absent:
    """What an error on the way to a path says of it."""
    return "absent" if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP) else "unreadable"


class Signature(NamedTuple):
    """What tells one state of a file from another without reading it."""

    device: int
    inode: int
    mode: int
    size: int
    modified: int
    changed: int


def signature(info: os.stat_result) -> Signature:
    """Of a stat result; times in nanoseconds."""
    return Signature(info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def system_open(name: bytes, flags: int, folder: int) -> int:
    """Open a name in a folder that is open already."""
    return os.open(name, flags, dir_fd=folder)


class Worktree:
    """The files below one directory. A context manager; folders stay open while neighbours are asked for, in path order.

    `opener` opens the file itself: a test puts one in that replaces the path between the checks.
    """

    def __init__(self, top: str, opener: Opener = system_open) -> None:
        self._opener = opener
        self._open: list[tuple[bytes, int]] = [(b"", os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            os.close(self._open.pop()[1])

    def look(self, path: bytes) -> os.stat_result | Absent:
        """`lstat`; no component but the last may be a link, and the last is not followed."""
        folder, name = self._folder(path)
        if isinstance(folder, str):
            return folder
        try:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            return absence(error)

    def link(self, path: bytes) -> bytes | None:
        """The target text of a symbolic link; None if there is none."""
        folder, name = self._folder(path)
        if isinstance(folder, str):
            return None
        try:
            return os.readlink(name, dir_fd=folder)
        except OSError:
            return None

    @contextmanager
    def regular(self, path: bytes) -> Iterator[Reader | FileReason]:
        """A verified descriptor on a regular file: before, on the descriptor and after, device and inode agree (spec 4.7)."""
        before = self.look(path)
        if isinstance(before, str):
            yield "unreadable"
            return
        if not stat.S_ISREG(before.st_mode):
            yield "not_regular"
            return
        folder, name = self._folder(path)
        try:
            fd = self._opener(name, FLAGS, folder if isinstance(folder, int) else -1)
        except OSError:
            yield "unreadable"
            return
        try:
            yield self._verified(path, fd, before)
        finally:
            os.close(fd)

    def _verified(self, path: bytes, fd: int, before: os.stat_result) -> Reader | FileReason:
        after = self.look_again(path)
        if isinstance(after, str):
            return "unreadable"
        opened = os.fstat(fd)
        if len({(info.st_dev, info.st_ino) for info in (before, opened, after)}) > 1:
            return "not_regular"
        return Reader(fd, signature(opened)) if stat.S_ISREG(opened.st_mode) and stat.S_ISREG(after.st_mode) else "not_regular"

    def look_again(self, path: bytes) -> os.stat_result | Absent:
        """`lstat` by the whole path, once something was done by it: a folder of it may have been replaced since it was opened."""
        try:
            return os.stat(path, dir_fd=self._open[0][1], follow_symlinks=False)
        except OSError as error:
            return self.look(path) if error.errno == errno.ENAMETOOLONG else absence(error)

    def _folder(self, path: bytes) -> tuple[int | Absent, bytes]:
        """A descriptor on the folder of a path, each component opened without following, and the last name."""
        folder, slash, name = path.rpartition(b"/")
        prefix = folder + slash
        while not prefix.startswith(self._open[-1][0]):
            os.close(self._open.pop()[1])
        for part in prefix[len(self._open[-1][0]) :].split(b"/")[:-1]:
            above, parent = self._open[-1]
            try:
                fd = os.open(part, FOLDER, dir_fd=parent)
            except OSError as error:
                return absence(error), name
            if len(self._open) > DEPTH:
                os.close(self._open.pop()[1])
            self._open.append((above + part + b"/", fd))
        return self._open[-1][1], name


class Reader:
    """A verified regular file, open for reading."""

    def __init__(self, fd: int, seen: Signature) -> None:
        self._fd = fd
        self.seen = seen

    def read(self, limit: int) -> bytes | Literal["unreadable"]:
        """At most `limit` bytes from where the last read ended."""
        pieces = []
        while limit > 0:
            try:
                piece = os.read(self._fd, min(limit, 1 << 20))
            except OSError:
                return "unreadable"
            if not piece:
                break
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)

    def steady(self) -> bool:
        """Whether the file is still in the state in which it was opened."""
        return signature(os.fstat(self._fd)) == self.seen

    def digest(self, object_format: str) -> str:
        """The id of the file's bytes as they are, read in pieces; of something else if it changes meanwhile."""
        import hashlib

        digest = hashlib.new(object_format, b"blob %d\0" % self.seen.size, usedforsecurity=False)
        while isinstance(piece := self.read(1 << 20), bytes) and piece:
            digest.update(piece)
        return digest.hexdigest()
