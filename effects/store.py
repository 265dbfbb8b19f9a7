"""The questions and the Proof on disk, in the worktree's own Git directory: locked, and replaced whole (spec 8.1, 8.2, 8.4).

A file is written under another name, synced, and renamed over the old one. So whatever happens, the old or the new one is there,
and a reader needs no lock. Nothing is opened that could block, and no symlink in a file's place is followed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Final, NamedTuple, TypeVar

from discern import questions
from discern.questions import EMPTY, SET_ASIDE, Book, StoreFault
from discern.vocabulary import MIB

QUESTIONS: Final = "questions.json"
PROOF: Final = "proof.json"
LOCK: Final = "store.lock"

STORE_LIMIT: Final = 64 * MIB  # bytes of questions.json: a hundred words each on far more checkpoints than anyone has
PROOF_LIMIT: Final = 256 * MIB  # bytes of proof.json
LOCK_SECONDS: Final = 10.0  # before a writer gives up waiting for another
LOCK_PAUSE: Final = 0.02  # seconds between two tries

Answer = TypeVar("Answer")
Change = Callable[[Book], tuple[Book, Answer]]


class FileFault(NamedTuple):
    """A file of discern's own could not be read or written, and why, in one line."""

    account: str


def load(directory: str) -> Book | StoreFault:
    """The book as it stands, empty if there is none yet. Writes and waits for nothing."""
    opened = _open_directory(directory)
    if isinstance(opened, FileFault):
        return _unreadable(opened)
    if opened is None:
        return EMPTY
    try:
        return _load(opened)
    finally:
        os.close(opened)


def update(directory: str, change: Change[Answer], *, set_corrupt_aside: bool = False) -> Answer | StoreFault:
    """Changes the book under the lock and gives the change's own answer; a fault if it could not be read or written.

    `change` is pure and may be called twice. A corrupt store is left alone, or, with `set_corrupt_aside`, kept under another name
    while a new one is begun; the fault is given either way (spec 8.2). A store that cannot be read is left as it is.
    """
    book = load(directory)
    if not isinstance(book, StoreFault):
        changed, answer = change(book)
        if changed == book:  # nothing to write: no lock, no sync, and a read-only file system is good enough
            return answer
    elif not (set_corrupt_aside and book.reason == "question_store_corrupt"):
        return book
    done = under_lock(directory, LOCK, LOCK_SECONDS, partial(_rewrite, change, set_corrupt_aside))
    return _unreadable(done) if isinstance(done, FileFault) else done


def read_proof(directory: str) -> bytes | FileFault | None:
    """proof.json as it stands, None if there is none."""
    opened = _open_directory(directory)
    if opened is None or isinstance(opened, FileFault):
        return opened
    try:
        raw = _read(opened, PROOF, PROOF_LIMIT)
    finally:
        os.close(opened)
    return (
        FileFault(f"{_named(PROOF)} has more than {PROOF_LIMIT} bytes")
        if isinstance(raw, bytes) and len(raw) > PROOF_LIMIT
        else raw
    )


def write_proof(directory: str, pieces: Iterable[bytes]) -> FileFault | None:
    """Makes the document in these pieces the Proof; the one before stays if that fails. They may be gone through twice."""
    if _is_written(directory, PROOF, pieces):
        return None
    return under_lock(directory, LOCK, LOCK_SECONDS, lambda opened: _replace(opened, PROOF, pieces, PROOF_LIMIT))


def _is_written(directory: str, name: str, pieces: Iterable[bytes]) -> bool:
    """Whether a file holds exactly this; read alongside, never whole."""
    opened = _open_directory(directory)
    if not isinstance(opened, int):
        return False
    try:
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened)
    except OSError:
        return False
    finally:
        os.close(opened)
    try:
        return (
            stat.S_ISREG(os.fstat(file).st_mode)
            and all(os.read(file, len(piece)) == piece for piece in pieces)
            and not os.read(file, 1)
        )
    except OSError:
        return False
    finally:
        os.close(file)


def under_lock(directory: str, lock: str, seconds: float, work: Callable[[int], Answer]) -> Answer | FileFault:
    """Does `work` on the opened directory, made if need be, while nobody else holds the lock; waits `seconds` for it at most."""
    opened = _make_directory(directory)
    if isinstance(opened, FileFault):
        return opened
    try:
        held = _take_lock(opened, lock, seconds)
        if isinstance(held, FileFault):
            return held
        try:
            return work(opened)
        finally:
            os.close(held)  # and so lets go of it
    finally:
        os.close(opened)


def file_fault(name: str, error: OSError) -> FileFault:
    """What the system said of a file in the directory, without the paths it may have named."""
    if error.errno == errno.ELOOP:
        return FileFault(f"{_named(name)} is a symbolic link, which is not followed; move it away")
    return FileFault(f"{_named(name)}: {os.strerror(error.errno or errno.EIO)}")


def no_regular_file(name: str) -> FileFault:
    """Something else stands in a file's place."""
    return FileFault(f"{_named(name)} is not a regular file; move it away")


def _named(name: str) -> str:
    return f"discern/{name} in the Git directory"


def _load(directory: int) -> Book | StoreFault:
    raw = _read(directory, QUESTIONS, STORE_LIMIT)
    if raw is None:
        return EMPTY
    if isinstance(raw, FileFault):
        return _unreadable(raw)
    if len(raw) > STORE_LIMIT:
        return StoreFault("question_store_corrupt", f"the question store has more than {STORE_LIMIT} bytes; {SET_ASIDE}")
    return questions.read(raw)


def _rewrite(change: Change[Answer], set_corrupt_aside: bool, directory: int) -> Answer | StoreFault:
    """Reads again, for another writer may have been faster; then changes and writes."""
    book = _load(directory)
    fault: StoreFault | None = None
    if isinstance(book, StoreFault):
        if not (set_corrupt_aside and book.reason == "question_store_corrupt"):
            return book
        kept = _set_aside(directory)
        if isinstance(kept, FileFault):
            return StoreFault("question_store_corrupt", f"the question store is corrupt and cannot be moved: {kept.account}")
        fault = StoreFault("question_store_corrupt", f"the question store was corrupt; it is kept as {_named(kept)}")
        book = EMPTY
    changed, answer = change(book)
    failed = None if changed == book else _replace(directory, QUESTIONS, [questions.write(changed)], STORE_LIMIT)
    if fault is not None:
        return fault
    return answer if failed is None else _unreadable(failed)


def _set_aside(directory: int) -> str | FileFault:
    """Moves the store to a name that nothing has, and gives that name. Only under the lock: a rename would overwrite."""
    try:
        taken = frozenset(os.listdir(directory))
        kept = next(name for name in (f"{QUESTIONS}.corrupt-{number}" for number in count(1)) if name not in taken)
        os.rename(QUESTIONS, kept, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError as error:
        return file_fault(QUESTIONS, error)
    return kept


def _unreadable(fault: FileFault) -> StoreFault:
    return StoreFault("question_store_unreadable", f"the question store cannot be used: {fault.account}")


def _make_directory(path: str) -> int | FileFault:
    opened = _open_directory(path)
    if opened is not None:
        return opened
    try:
        os.mkdir(path)
    except FileExistsError:
        pass  # another process was faster
    except OSError as error:
        return file_fault("", error)
    opened = _open_directory(path)
    return FileFault(f"{_named('')} vanished") if opened is None else opened


def _open_directory(path: str) -> int | FileFault | None:
    """None if there is none."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        return file_fault("", error)


def _take_lock(directory: int, name: str, seconds: float) -> int | FileFault:
    """The lock's descriptor: closing it, or dying, lets go. The file itself stays, or two could hold a lock each."""
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666, dir_fd=directory)
    except OSError as error:
        return file_fault(name, error)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(LOCK_PAUSE)
                continue
            os.close(lock)
            return FileFault(f"{_named(name)}: another process holds it; {seconds:g} seconds were not enough")
        except OSError as error:
            os.close(lock)
            return file_fault(name, error)
        return lock


def _read(directory: int, name: str, limit: int) -> bytes | FileFault | None:
    """At most `limit` bytes and one more of a regular file; None if there is none."""
    try:
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        return file_fault(name, error)
    try:
        state = os.fstat(opened)
        if not stat.S_ISREG(state.st_mode):
            return no_regular_file(name)
        with open(opened, "rb", closefd=False) as file:
            return file.read(min(state.st_size, limit) + 1)
    except OSError as error:
        return file_fault(name, error)
    finally:
        os.close(opened)


def _replace(directory: int, name: str, pieces: Iterable[bytes], limit: int) -> FileFault | None:
    """Puts a document in the place of file `name`, whole or not at all. Only under the lock."""
    temporary = f"{name}.new"
    try:
        size = _write_synced(directory, temporary, pieces, limit)
        if size > limit:
            _remove(directory, temporary)
            return FileFault(f"{_named(name)} would have more than {limit} bytes")
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError as error:
        _remove(directory, temporary)
        return file_fault(name, error)
    _sync_directory(directory)
    return None


def _write_synced(directory: int, name: str, pieces: Iterable[bytes], limit: int) -> int:
    """A new file that is on the disk when this returns; its size, or one past the limit. Raises OSError."""
    _remove(directory, name)  # what a killed writer left
    opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=directory)
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            if size > limit:
                return size
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(opened, rest) :]
        os.fsync(opened)
    finally:
        os.close(opened)
    return size


def _remove(directory: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        return  # there is none, as a rule; if it cannot be removed, making it anew says so


def _sync_directory(directory: int) -> None:
    try:
        os.fsync(directory)
    except OSError:
        return  # the new file stands and everyone sees it: to say it was not written would be untrue
