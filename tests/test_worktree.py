"""The hostile-file room (spec 4.7): what is read is a verified regular file, and nothing else is touched."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from discern.effects.worktree import FLAGS, Reader, Worktree, system_open

SECRET = b"not for your eyes\n"
Change = Callable[[Path], None]


class Spy:
    """An opener that acts on the path before or after the real open, and keeps a second descriptor to see how far was read."""

    def __init__(self, *, before: Change | None = None, after: Change | None = None, path: Path) -> None:
        self.before, self.after, self.path = before, after, path
        self.flags: list[int] = []
        self.twins: list[int] = []

    def __call__(self, name: bytes, flags: int, folder: int) -> int:
        self.flags.append(flags)
        if self.before:
            self.before(self.path)
        fd = system_open(name, flags, folder)
        self.twins.append(os.dup(fd))  # shares the offset with the one that the room reads from
        if self.after:
            self.after(self.path)
        return fd

    def bytes_read(self) -> int:
        """How far any descriptor was read; closes them."""
        read = 0
        for fd in self.twins:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                read = max(read, os.lseek(fd, 0, os.SEEK_CUR))
            os.close(fd)
        self.twins = []
        return read


def answer(top: Path, path: str | bytes, opener: Callable[[bytes, int, int], int] = system_open) -> object:
    """What the room gives for a path: the bytes of the file, or why not."""
    with Worktree(str(top), opener) as worktree, worktree.regular(os.fsencode(path)) as reader:
        return reader.read(1 << 20) if isinstance(reader, Reader) else reader


def refuse(name: bytes, flags: int, folder: int) -> int:
    raise PermissionError(errno.EACCES, "no")


def never(name: bytes, flags: int, folder: int) -> int:
    raise AssertionError(f"{name!r} was opened")


def test_a_regular_file_is_read(tmp_path):
    """spec 4.7: what is regular before, when and after it is opened is read, in as many steps as one likes."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/f").write_bytes(b"one\ntwo\n")
    with Worktree(str(tmp_path)) as worktree, worktree.regular(b"a/f") as reader:
        assert isinstance(reader, Reader)
        assert reader.seen.size == 8
        assert [reader.read(3), reader.read(3), reader.read(99), reader.read(99)] == [b"one", b"\ntw", b"o\n", b""]


def test_the_open_cannot_block_follow_or_leak(tmp_path):
    """spec 4.7: O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_CLOEXEC, and no other flag."""
    (tmp_path / "f").write_bytes(b"x")
    spy = Spy(path=tmp_path / "f")
    assert answer(tmp_path, "f", spy) == b"x"
    assert spy.flags == [os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC] == [FLAGS]
    assert spy.bytes_read() == 1  # the spy sees what is read


@pytest.mark.parametrize("kind", ["symlink", "dangling", "loop", "fifo", "socket", "directory"])
def test_what_is_not_regular_is_never_opened(tmp_path, monkeypatch, kind):
    """spec 4.7: `lstat` decides; the file itself is not touched, so a FIFO cannot block and a link cannot be followed."""
    path = tmp_path / "f"
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    if kind == "socket":
        monkeypatch.chdir(tmp_path)  # the name of a socket must be short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("f")
    else:
        {
            "symlink": lambda: path.symlink_to(secret),
            "dangling": lambda: path.symlink_to("nowhere"),
            "loop": lambda: path.symlink_to("f"),
            "fifo": lambda: os.mkfifo(path),
            "directory": path.mkdir,
        }[kind]()
    assert answer(tmp_path, "f", never) == "not_regular"


@pytest.mark.parametrize("device", ["null", "zero", "tty"])
def test_a_device_is_never_opened(device):
    """spec 4.7: a device is not read."""
    assert answer(Path("/dev"), device, never) == "not_regular"


def test_what_is_not_there_or_may_not_be_read_is_unreadable(tmp_path):
    """spec 4.7: a path that is gone, or that the system does not let us open."""
    (tmp_path / "f").write_bytes(SECRET)
    assert answer(tmp_path, "gone", never) == "unreadable"
    assert answer(tmp_path, "f/below", never) == "unreadable"
    assert answer(tmp_path, "f", refuse) == "unreadable"


def to_symlink(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "secret")


def to_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def to_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_another_file(path: Path) -> None:
    os.rename(path.parent.parent / "secret", path)


def to_nothing(path: Path) -> None:
    path.unlink()


def parent_to_link(path: Path) -> None:
    os.rename(path.parent, path.parent.with_name("moved"))
    path.parent.symlink_to("elsewhere")


def parent_to_another(path: Path) -> None:
    os.rename(path.parent, path.parent.with_name("moved"))
    os.rename(path.parent.with_name("elsewhere"), path.parent)


def parent_to_nothing(path: Path) -> None:
    os.rename(path.parent, path.parent.with_name("moved"))


TRICKS = [
    to_symlink,
    to_fifo,
    to_directory,
    to_another_file,
    to_nothing,
    parent_to_link,
    parent_to_another,
    parent_to_nothing,
]


@pytest.fixture
def scene(tmp_path):
    """`d/f` is the file; `secret` and `elsewhere/f` are what an attacker would like to have read instead."""
    for folder in ("d", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "d/f").write_bytes(b"harmless\n")
    for path in ("secret", "elsewhere/f"):
        (tmp_path / path).write_bytes(SECRET)
    return tmp_path


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
def test_a_path_that_is_replaced_between_the_checks_is_not_read(scene, trick, moment):
    """spec 4.7: device and inode of the three looks must agree before the first byte is read."""
    spy = Spy(path=scene / "d/f", before=trick if moment == "before" else None, after=trick if moment == "after" else None)
    assert answer(scene, "d/f", spy) in ("not_regular", "unreadable")
    assert len(spy.flags) == 1
    assert spy.bytes_read() == 0


def test_a_path_that_is_replaced_for_the_open_alone_is_not_read(scene):
    """spec 4.7: the descriptor counts, not only what stands at the path before and after."""
    path, aside = scene / "d/f", scene / "aside"

    def swap(_: Path) -> None:
        os.rename(path, aside)
        os.rename(scene / "secret", path)

    def back(_: Path) -> None:
        os.rename(path, scene / "secret")
        os.rename(aside, path)

    spy = Spy(path=path, before=swap, after=back)
    assert answer(scene, "d/f", spy) == "not_regular"
    assert path.read_bytes() == b"harmless\n"
    assert spy.bytes_read() == 0


def test_a_folder_that_was_replaced_while_it_was_open_is_noticed(scene):
    """spec 4.7: folders stay open for their neighbours, yet it is the path that is looked at again."""
    (scene / "d/e").write_bytes(b"first\n")
    with Worktree(str(scene)) as worktree:
        with worktree.regular(b"d/e") as reader:
            assert isinstance(reader, Reader)
        parent_to_another(scene / "d/f")
        with worktree.regular(b"d/f") as reader:
            assert reader == "not_regular"


@pytest.mark.parametrize("kind", ["link", "file", "loop"])
def test_no_component_of_a_path_is_followed(scene, kind):
    """spec 4.7: a link, or a file, where a folder should be: nothing is there."""
    place = scene / "x"
    if kind == "file":
        place.write_bytes(b"")
    else:
        place.symlink_to("x" if kind == "loop" else "elsewhere")
    with Worktree(str(scene), never) as worktree:
        assert worktree.look(b"x/f") == "absent"
        assert worktree.link(b"x/f") is None
        with worktree.regular(b"x/f") as reader:
            assert reader == "unreadable"


def test_a_link_is_its_own_text(scene):
    """spec 4.8: the target's text, never what it points to."""
    (scene / "d/l").symlink_to("../secret")
    with Worktree(str(scene), never) as worktree:
        assert worktree.link(b"d/l") == b"../secret"
        assert worktree.link(b"d/f") is None


def test_depth_is_no_obstacle(tmp_path):
    """spec 0: deeper than folders are kept open, and longer than the system takes a path at once."""
    here = os.open(tmp_path, os.O_RDONLY)
    names = [b"%03d" % n + b"d" * 200 for n in range(40)]
    for name in names:
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    for name in (b"f", b"g"):
        with open(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
            file.write(name)
    os.close(here)
    folder = b"/".join(names)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with Worktree(str(tmp_path)) as worktree:
        for path, body in ((folder + b"/f", b"f"), (folder + b"/g", b"g"), (names[0] + b"/h", None), (folder + b"/f", b"f")):
            with worktree.regular(path) as reader:
                assert (reader.read(9) if isinstance(reader, Reader) else None) == body
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_digest_is_the_id_that_git_gives(tmp_path, algorithm):
    """spec 7.2: the bytes as they are, with Git's header."""
    body = os.urandom(1 << 10) * 1025  # more than one read
    (tmp_path / "f").write_bytes(body)
    with Worktree(str(tmp_path)) as worktree, worktree.regular(b"f") as reader:
        assert isinstance(reader, Reader)
        assert reader.digest(algorithm) == hashlib.new(algorithm, b"blob %d\0" % len(body) + body).hexdigest()
