"""A directory that only the user can enter, for the time of one run; and what killed runs left of theirs, removed (spec 6.3).

A live run holds a lock (flock) on its directory, which the kernel lets go of however the run ends: that tells the living from
the dead. Everything is done through a descriptor of the directory and without following symbolic links.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Mapping
from typing import Final

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
SEALED, WHEN = PURPOSES = ("sealed", "when")
ATTEMPTS: Final = 16  # at a directory of one's own, each lost to a sweep that came between making and locking


def temporary_directory(environment: Mapping[str, str]) -> str:
    """Where throw-away files go. The module `tempfile` says the same for more than all other imports here together."""
    named = environment.get("TMPDIR")
    places = (os.path.abspath(named) if named else "", "/tmp", "/var/tmp")  # noqa: S108 - what is made there is private
    return next(filter(os.path.isdir, places), os.getcwd())


class PrivateDirectory:
    """An open private directory. `remove` it in the end, or `close` it to leave it alone."""

    def __init__(self, path: str, handle: int) -> None:
        self.path = path
        self._handle = handle
        self._written: list[str] = []

    def write(self, name: str, data: bytes, mode: int) -> str:
        """A new file of exactly this mode, whatever the umask; its path. Raises OSError."""
        descriptor = os.open(name, NEW_FILE, 0o600, dir_fd=self._handle)
        self._written.append(name)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
        return os.path.join(self.path, name)

    def link(self, name: str, target: str) -> None:
        """A new symbolic link. Raises OSError."""
        os.symlink(target, name, dir_fd=self._handle)
        self._written.append(name)

    def forbids_execution(self) -> bool:
        """Whether the file system was mounted so that no program on it can be started (Linux only)."""
        return bool(os.fstatvfs(self._handle).f_flag & getattr(os, "ST_NOEXEC", 0))

    def remove(self) -> str | None:
        """Removes what was written, whatever else is in there, and the directory; or why something is left.

        What is gone already is no failure. Called again, after a signal came in between, it goes on.
        """
        if self._handle < 0:
            return None
        left = None
        try:
            os.fchmod(self._handle, 0o700)  # someone may have taken our own rights away
            for name in self._written:
                _unlink(name, self._handle)
            _empty(self._handle)
            if not _unlink(self.path):
                os.rmdir(self.path)
        except OSError as error:
            left = error.strerror
        self.close()
        return left

    def close(self) -> None:
        """Lets go of the directory, and of the lock."""
        handle, self._handle = self._handle, -1
        os.close(handle)


def make(parent: str, purpose: str) -> PrivateDirectory:
    """A new private directory in `parent`, locked. `purpose` is a word for its name. Raises OSError."""
    for _ in range(ATTEMPTS):
        path = os.path.join(parent, _prefix(purpose) + os.urandom(16).hex())
        os.mkdir(path, 0o700)
        handle = _open_new(path)
        if handle is not None:
            if _lock(handle) is not False and _is_at(path, handle):
                return PrivateDirectory(path, handle)
            os.close(handle)
    raise OSError(errno.EAGAIN, "other runs keep removing it")


def _open_new(path: str) -> int | None:
    """The directory just made, or None if a sweep was quicker. One that cannot be opened is left to the next sweep."""
    try:
        os.chmod(path, 0o700)  # the umask may have taken our own rights away
        return os.open(path, DIRECTORY)
    except FileNotFoundError:
        return None


def sweep(parent: str) -> None:
    """Removes the directories of runs that were killed: of this user, for any purpose, and locked by nobody."""
    prefixes = tuple(map(_prefix, PURPOSES))
    for name in _names(parent):
        if name.startswith(prefixes):
            path = os.path.join(parent, name)
            handle = _open(path)
            if handle is not None:
                left = PrivateDirectory(path, handle)
                if os.fstat(handle).st_uid == os.geteuid() and _lock(handle):
                    left.remove()  # what cannot be removed now is met again by the next run
                else:
                    left.close()


def _prefix(purpose: str) -> str:
    return f"discern-{purpose}-{os.geteuid()}-"


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:  # nothing can be made there either, and `make` says so
        return []


def _open(path: str) -> int | None:
    """The directory at `path`, or None if it is gone, or is none."""
    try:
        return os.open(path, DIRECTORY)
    except OSError:
        return None


def _lock(handle: int) -> bool | None:
    """True: ours now. False: a living run's. None: there are no locks on this file system, so nothing can be told."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(path: str, handle: int) -> bool:
    """Whether the open directory is still the one at `path`."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except OSError:
        return False


def _empty(top: int) -> None:
    """Removes every entry. Directories below are lifted to the top one after the other, so that no depth is too deep."""
    while names := os.listdir(top):
        for name in names:
            if not _unlink(name, top):
                os.chmod(name, 0o700, dir_fd=top)
                _lift(name, top)
                os.rmdir(name, dir_fd=top)


def _lift(name: str, top: int) -> None:
    """Empties one directory: its files go, its directories move up under names nobody has."""
    directory = os.open(name, DIRECTORY, dir_fd=top)
    try:
        for entry in os.listdir(directory):
            if not _unlink(entry, directory):
                os.chmod(entry, 0o700, dir_fd=directory)  # one that cannot be written to cannot be moved either
                os.rename(entry, os.urandom(16).hex(), src_dir_fd=directory, dst_dir_fd=top)
    finally:
        os.close(directory)


def _unlink(name: str, directory: int | None = None) -> bool:
    """Removes a name that is no directory, or finds it gone already; False for a directory."""
    try:
        info = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(info.st_mode):
        return False
    os.unlink(name, dir_fd=directory)
    return True
