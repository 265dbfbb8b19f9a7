"""The store on disk: nothing lost, nothing half written, nothing hostile followed (spec 8.1, 8.2)."""

from __future__ import annotations

import errno
import json
import os
import resource
import stat
import time
from collections.abc import Callable
from functools import partial

import pytest

from discern.effects import store
from discern.effects.store import FileFault, load, read_proof, update, write_proof
from discern.questions import EMPTY, Book, Pair, Question, StoreFault, declare, serve, write
from tests.children import forked

NOBODY = 65534


def hashed(number: int) -> str:
    return f"{number:064x}"


def asked(number: int) -> Book:
    return {"ask": Question(Pair(hashed(0), hashed(number)))}


OLD, NEW = asked(1), asked(2)


def become(book: Book) -> Callable[[Book], tuple[Book, str]]:
    return lambda _: (book, "done")


@pytest.fixture
def place(tmp_path):
    """A worktree's discern directory, not made yet."""
    return tmp_path / "discern"


@pytest.fixture
def stored(place):
    """A discern directory that holds OLD."""
    assert update(str(place), become(OLD)) == "done"
    return place


def names(place) -> set[str]:
    return set(os.listdir(place))


def in_child(work: Callable[[], object]) -> tuple[int, str]:
    """The exit status and the answer of `work`, done by a process of its own."""
    reader, writer = os.pipe()
    child = forked(lambda: os.write(writer, json.dumps(work()).encode()))
    os.close(writer)
    with open(reader, encoding="utf-8") as answer:
        said = answer.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def as_nobody(directory, work: Callable[[], object]) -> object:
    """The answer of `work` in `directory`, done without a superuser's rights."""

    def careful() -> object:
        os.chdir(directory)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return work()

    status, said = in_child(careful)
    assert status == 0
    return json.loads(said)


def reason(answer: object) -> str:
    return answer.reason if isinstance(answer, StoreFault) else repr(answer)


def test_an_absent_store_is_an_empty_book(place):
    """spec 8.1: nothing was asked yet; looking makes nothing."""
    assert load(str(place)) == EMPTY
    assert not place.exists()
    place.mkdir()
    assert load(str(place)) == EMPTY
    assert names(place) == set()


def test_a_book_is_read_as_it_was_written(stored):
    """spec 8.1: one file, and no other left but the lock."""
    assert load(str(stored)) == OLD
    assert names(stored) == {"questions.json", "store.lock"}
    assert (stored / "questions.json").read_bytes() == write(OLD)


def test_an_evaluation_that_asks_nothing_writes_nothing(place):
    """spec 8.1: no question, no store."""
    assert update(str(place), lambda book: serve(book, {"soft": None}, whole=True)) == {"soft": ("none", None)}
    assert not place.exists()


def test_an_unchanged_book_is_not_written_again(stored, monkeypatch):
    """spec 8.1: the same evaluation again takes no lock and syncs nothing."""
    before = os.stat(stored / "questions.json")
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("synced"))
    monkeypatch.setattr(store.fcntl, "flock", lambda *_: pytest.fail("locked"))
    assert update(str(stored), become(dict(OLD))) == "done"
    assert os.stat(stored / "questions.json").st_mtime_ns == before.st_mtime_ns


def test_a_store_has_the_rights_that_the_user_gives_files(place):
    """spec 8.1: as Git's own files, by the umask."""
    before = os.umask(0o027)
    try:
        update(str(place), become(OLD))
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(place / "questions.json").st_mode) == 0o640


# What is left when the process dies just before and just after each step of a write, and what a failing step leaves.
STEPS = {
    "open store.lock": ("old", "old", "old"),
    "unlink questions.json.new": ("old", "old", "new"),
    "open questions.json.new": ("old", "old", "old"),
    "write": ("old", "old", "old"),
    "fsync": ("old", "old", "old"),
    "rename questions.json.new": ("old", "new", "old"),
    "fsync directory": ("new", "new", "new"),
}
TRACED = ("open", "unlink", "write", "fsync", "rename")


def label(step: str, arguments: tuple[object, ...]) -> str:
    if step == "fsync":
        return "fsync directory" if stat.S_ISDIR(os.fstat(arguments[0]).st_mode) else "fsync"  # type: ignore[call-overload]
    return step if step == "write" else f"{step} {os.path.basename(str(arguments[0]))}"


def around(patch: pytest.MonkeyPatch, wrap: Callable[[str, Callable[[], object]], object]) -> None:
    """Lets `wrap` do, or not do, each system call that the store makes."""
    for step in TRACED:
        real = getattr(os, step)
        patch.setattr(os, step, lambda *args, step=step, real=real, **kw: wrap(label(step, args), partial(real, *args, **kw)))


def crash(patch: pytest.MonkeyPatch, where: str, after: bool, work: Callable[[], object]) -> None:
    def wrap(step: str, call: Callable[[], object]) -> object:
        if step == where and not after:
            os._exit(7)
        try:
            return call()
        finally:
            if step == where:
                os._exit(7)

    def work_and_die() -> object:
        around(patch, wrap)
        return work()

    assert in_child(work_and_die)[0] == 7


def test_the_table_names_every_step_of_a_write(stored, monkeypatch):
    """spec 8.1: temporary file, fsync, rename, in this order, under a lock."""
    seen: list[str] = []

    def wrap(step: str, call: Callable[[], object]) -> object:
        seen.append(step)
        return call()

    with monkeypatch.context() as patch:
        around(patch, wrap)
        update(str(stored), become(NEW))
    assert [step for step in seen if step not in ("open discern", "open questions.json")] == list(STEPS)


@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_leaves_the_old_or_the_new_store(place, monkeypatch, step, after, first):
    """spec 8.1, 8.2: whichever step a process dies at; and the next one needs no help."""
    old = EMPTY if first else OLD
    if not first:
        update(str(place), become(OLD))
    crash(monkeypatch, step, after, lambda: update(str(place), become(NEW)))
    assert load(str(place)) == (NEW if STEPS[step][after] == "new" else old)
    assert update(str(place), become(asked(3))) == "done"
    assert load(str(place)) == asked(3)
    assert names(place) == {"questions.json", "store.lock"}


@pytest.mark.parametrize("step", STEPS)
def test_a_failing_step_leaves_the_old_store(stored, monkeypatch, step):
    """spec 8.2: `question_store_unreadable`, nothing overwritten; once the new one stands, it is said to stand."""

    def wrap(at: str, call: Callable[[], object]) -> object:
        if at == step:
            raise OSError(errno.EIO, "secret", "/secret")
        return call()

    with monkeypatch.context() as patch:
        around(patch, wrap)
        answer = update(str(stored), become(NEW))
    assert load(str(stored)) == (NEW if STEPS[step][2] == "new" else OLD)
    if STEPS[step][2] == "new":
        assert answer == "done"
    else:
        assert reason(answer) == "question_store_unreadable"
        assert "secret" not in repr(answer)
    assert names(stored) == {"questions.json", "store.lock"}


def test_a_crash_in_the_middle_of_a_write_leaves_the_old_store(stored, monkeypatch):
    """spec 8.1: half a document stands only under the temporary name, and the next writer takes it away."""
    real = os.write

    def half(descriptor: int, data: memoryview) -> int:
        real(descriptor, data[: len(data) // 2])
        os._exit(7)

    def work() -> object:
        monkeypatch.setattr(os, "write", half)
        return update(str(stored), become(NEW))

    assert in_child(work)[0] == 7
    assert "questions.json.new" in names(stored)
    assert load(str(stored)) == OLD
    assert update(str(stored), become(NEW)) == "done"
    assert load(str(stored)) == NEW
    assert names(stored) == {"questions.json", "store.lock"}


def test_a_write_that_comes_in_pieces_is_whole(stored, monkeypatch):
    """spec 8.1: a short write is continued."""
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
        assert update(str(stored), become(NEW)) == "done"
    assert load(str(stored)) == NEW


def test_a_full_disk_leaves_the_old_store(stored):
    """spec 8.2: no room for the new one."""

    def work() -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        return reason(update(str(stored), become(NEW)))

    assert in_child(work) == (0, '"question_store_unreadable"')
    assert load(str(stored)) == OLD
    assert names(stored) == {"questions.json", "store.lock"}


def ask_and_answer(directory: str, key: str, number: int) -> None:
    pair = Pair(hashed(0), hashed(number))

    def change(book: Book) -> tuple[Book, bool]:
        asked, _ = serve(book, {key: pair}, whole=False)
        declared = declare(asked, key, "met")
        assert isinstance(declared, dict)
        return declared, True

    assert update(directory, change) is True


def test_writers_at_once_lose_nothing(place):
    """spec 8.1, 8.2: under the lock; and a reader sees a whole book at any time, with never fewer words than before."""
    directory, writers, each = str(place), 3, 12

    def ask_often(writer: int) -> None:
        for number in range(each):
            ask_and_answer(directory, f"ask-{writer}", number)

    children = [forked(partial(ask_often, writer)) for writer in range(writers)]
    seen = 0
    while children:
        book = load(directory)
        assert not isinstance(book, StoreFault), book
        words = sum(len(question.judged) for question in book.values())
        assert words >= seen
        seen = words
        children = [child for child in children if not has_ended(child)]
    book = load(directory)
    assert isinstance(book, dict)
    assert {key: len(question.judged) for key, question in book.items()} == {f"ask-{writer}": each for writer in range(writers)}


def has_ended(child: int) -> bool:
    pid, status = os.waitpid(child, os.WNOHANG)
    assert not pid or os.waitstatus_to_exitcode(status) == 0
    return bool(pid)


def test_a_writer_gives_up_waiting_after_a_while(stored, monkeypatch):
    """spec 8.2: a lock that is never let go is an unusable store, not an endless wait; reading needs no lock."""
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.1)
    began = time.monotonic()
    with open(stored / "store.lock", "rb") as lock:
        store.fcntl.flock(lock, store.fcntl.LOCK_EX)
        assert reason(update(str(stored), become(NEW))) == "question_store_unreadable"
        assert load(str(stored)) == OLD
    assert 0.1 <= time.monotonic() - began < 5
    assert update(str(stored), become(NEW)) == "done"


def test_a_writer_waits_for_another(stored):
    """spec 8.1: the second of two writers has its turn when the first lets go."""
    with open(stored / "store.lock", "rb") as lock:
        store.fcntl.flock(lock, store.fcntl.LOCK_EX)
        reader, writer = os.pipe()

        def wait_and_write() -> None:
            lock.close()
            os.write(writer, b"x")
            assert update(str(stored), become(NEW)) == "done"

        child = forked(wait_and_write)
        assert os.read(reader, 1) == b"x"
        time.sleep(0.1)
        assert load(str(stored)) == OLD
        assert not has_ended(child)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert load(str(stored)) == NEW
    os.close(reader)
    os.close(writer)


def test_a_change_is_made_to_what_another_writer_left(stored, monkeypatch):
    """spec 8.1: the book is read again under the lock; a change decided on an older one is not written."""
    real = store.fcntl.flock

    def late(lock: int, how: int) -> None:
        monkeypatch.setattr(store.fcntl, "flock", real)
        ask_and_answer(str(stored), "other", 5)
        real(lock, how)

    monkeypatch.setattr(store.fcntl, "flock", late)
    ask_and_answer(str(stored), "ask", 6)
    book = load(str(stored))
    assert isinstance(book, dict)
    assert [len(book[key].judged) for key in ("ask", "other")] == [1, 1]


CORRUPT = {
    "cut short": write(OLD)[:-5],
    "empty": b"",
    "random": bytes(range(256)),
    "nested": b"[" * 200_000,
    "twice": b'{"version":1,"version":1,"questions":{}}',
}


@pytest.mark.parametrize("raw", CORRUPT.values(), ids=CORRUPT)
def test_an_evaluation_keeps_a_corrupt_store_and_begins_a_new_one(place, raw):
    """spec 8.2: `unknown` in that run, `awaiting` in the next; not a byte of the corrupt one is lost."""
    place.mkdir()
    (place / "questions.json").write_bytes(raw)

    def ask() -> object:
        pair = Pair(hashed(0), hashed(1))
        return update(str(place), lambda book: serve(book, {"ask": pair}, whole=True), set_corrupt_aside=True)

    fault = ask()
    assert isinstance(fault, StoreFault)
    assert fault.reason == "question_store_corrupt"
    assert "questions.json.corrupt-1" in fault.account
    assert fault.account.isprintable()
    assert ask() == {"ask": ("awaiting", None)}
    assert (place / "questions.json.corrupt-1").read_bytes() == raw
    assert load(str(place)) == OLD


def test_an_earlier_corrupt_store_is_never_overwritten(place):
    """spec 8.2: each is kept under a name of its own."""
    place.mkdir()
    for number in (1, 2, 3):
        (place / "questions.json").write_bytes(b"corrupt %d" % number)
        assert reason(update(str(place), become(OLD), set_corrupt_aside=True)) == "question_store_corrupt"
    assert [(place / f"questions.json.corrupt-{number}").read_bytes() for number in (1, 2, 3)] == [
        b"corrupt 1",
        b"corrupt 2",
        b"corrupt 3",
    ]


def test_a_declaration_leaves_a_corrupt_store_alone(place):
    """spec 8.3: an unusable store records nothing."""
    place.mkdir()
    (place / "questions.json").write_bytes(b"corrupt")
    assert reason(load(str(place))) == "question_store_corrupt"
    assert reason(update(str(place), become(NEW))) == "question_store_corrupt"
    assert (place / "questions.json").read_bytes() == b"corrupt"
    assert names(place) == {"questions.json"}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["rename questions.json", *STEPS])
def test_a_crash_while_setting_aside_loses_no_byte(place, monkeypatch, step, after):
    """spec 8.2: the corrupt store is under its own name or the other, at any moment."""
    place.mkdir()
    (place / "questions.json").write_bytes(b"corrupt")
    crash(monkeypatch, step, after, lambda: update(str(place), become(NEW), set_corrupt_aside=True))
    here, kept = place / "questions.json", place / "questions.json.corrupt-1"
    assert b"corrupt" in [path.read_bytes() for path in (here, kept) if path.exists()]
    update(str(place), become(NEW), set_corrupt_aside=True)
    assert load(str(place)) == NEW
    assert kept.read_bytes() == b"corrupt"


def test_a_corrupt_store_that_cannot_be_moved_stays(place, monkeypatch):
    """spec 8.2: nothing overwritten."""
    place.mkdir()
    (place / "questions.json").write_bytes(b"corrupt")

    def wrap(step: str, call: Callable[[], object]) -> object:
        if step == "rename questions.json":
            raise OSError(errno.EROFS, "")
        return call()

    with monkeypatch.context() as patch:
        around(patch, wrap)
        assert reason(update(str(place), become(NEW), set_corrupt_aside=True)) == "question_store_corrupt"
    assert (place / "questions.json").read_bytes() == b"corrupt"


def test_a_store_too_large_to_be_ours_is_corrupt(place, monkeypatch):
    """spec 8.2: reading is bounded."""
    monkeypatch.setattr(store, "STORE_LIMIT", 1000)
    place.mkdir()
    (place / "questions.json").write_bytes(write(OLD) + b" " * 1000)
    assert reason(load(str(place))) == "question_store_corrupt"
    (place / "questions.json").write_bytes(write(OLD).ljust(1000))
    assert load(str(place)) == OLD


def test_a_book_too_large_to_be_read_is_not_written(stored, monkeypatch):
    """spec 8.2: the store never becomes what it would not read."""
    monkeypatch.setattr(store, "STORE_LIMIT", len(write(OLD)))
    assert reason(update(str(stored), become({**OLD, "other": OLD["ask"]}))) == "question_store_unreadable"
    assert load(str(stored)) == OLD


def test_a_newer_store_is_left_exactly_as_it_is(place):
    """spec 8.2: `question_store_unreadable`, nothing overwritten, nothing lost."""
    place.mkdir()
    raw = b'{"version": 2, "questions": [1]}'
    (place / "questions.json").write_bytes(raw)
    assert reason(load(str(place))) == "question_store_unreadable"
    assert reason(update(str(place), become(NEW), set_corrupt_aside=True)) == "question_store_unreadable"
    assert (place / "questions.json").read_bytes() == raw
    assert names(place) == {"questions.json"}


def make_symlink(path) -> None:
    (path.parent / "elsewhere").write_bytes(write(OLD))
    path.symlink_to("elsewhere")


def make_dangling(path) -> None:
    path.symlink_to("nowhere")


def make_socket(path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o666)


HOSTILE = {
    "symlink": make_symlink,
    "dangling symlink": make_dangling,
    "directory": os.mkdir,
    "FIFO": os.mkfifo,
    "socket": make_socket,
}


@pytest.mark.parametrize("name", ["questions.json", "store.lock"])
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_regular_file_is_unreadable_and_stays(place, make, name):
    """spec 8.2: neither followed, nor waited for, nor replaced."""
    place.mkdir()
    make(place / name)
    before = os.lstat(place / name)
    answer = update(str(place), become(NEW), set_corrupt_aside=True)
    if name == "store.lock" and make is os.mkfifo:
        assert answer == "done"  # a FIFO can be locked as well as a file, and nobody reads it
    else:
        assert reason(answer) == "question_store_unreadable"
        assert load(str(place)) == EMPTY if name == "store.lock" else reason(load(str(place))) == "question_store_unreadable"
    after = os.lstat(place / name)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert not (place / "nowhere").exists()


@pytest.mark.parametrize("make", [make_symlink, make_dangling, os.mkfifo, make_socket])
def test_what_stands_in_the_directory_s_place_is_unreadable(place, make):
    """spec 8.2: no directory, no store; a symlink to no directory is none either."""
    make(place)
    assert reason(update(str(place), become(NEW))) == "question_store_unreadable"
    if make is not make_dangling:
        assert reason(load(str(place))) == "question_store_unreadable"
    assert isinstance(write_proof(str(place), [b"{}"]), FileFault)


def test_a_directory_in_the_temporary_file_s_place_loses_nothing(stored):
    """spec 8.2: what cannot be written says so."""
    (stored / "questions.json.new").mkdir()
    assert reason(update(str(stored), become(NEW))) == "question_store_unreadable"
    assert load(str(stored)) == OLD


def test_a_symlink_in_the_temporary_file_s_place_is_not_written_through(stored):
    """spec 8.2: it is removed, what it points to stays."""
    (stored / "precious").write_bytes(b"precious")
    (stored / "questions.json.new").symlink_to("precious")
    assert update(str(stored), become(NEW)) == "done"
    assert (stored / "precious").read_bytes() == b"precious"
    assert not (stored / "questions.json").is_symlink()


def test_a_directory_without_a_home_is_unreadable(tmp_path):
    """spec 8.2: a Git directory that is gone."""
    assert reason(update(str(tmp_path / "gone" / "discern"), become(NEW))) == "question_store_unreadable"


def open_to_nobody(place, mode: int) -> None:
    os.chmod(place.parent, 0o755)
    if os.geteuid() == 0:
        for path in place.iterdir():
            os.chown(path, NOBODY, NOBODY)
        os.chown(place, NOBODY, NOBODY)
    os.chmod(place, mode)


def test_a_read_only_directory_is_unreadable_only_for_a_change(stored):
    """spec 8.2: nothing is overwritten; an evaluation that changes nothing needs nothing written."""
    open_to_nobody(stored, 0o555)
    os.chmod(stored / "store.lock", 0o444)

    def work() -> object:
        return [reason(update("discern", become(book))) for book in (NEW, OLD)]

    assert as_nobody(stored.parent, work) == ["question_store_unreadable", "'done'"]
    os.chmod(stored, 0o755)
    assert load(str(stored)) == OLD


def test_an_unreadable_store_is_left_as_it_is(stored):
    """spec 8.2: a file, or a directory, that this user cannot read."""
    open_to_nobody(stored, 0o755)
    os.chmod(stored / "questions.json", 0)

    def work() -> object:
        return [reason(load("discern")), reason(update("discern", become(NEW), set_corrupt_aside=True))]

    assert as_nobody(stored.parent, work) == ["question_store_unreadable"] * 2
    os.chmod(stored, 0)
    assert as_nobody(stored.parent, work) == ["question_store_unreadable"] * 2
    os.chmod(stored, 0o755)
    os.chmod(stored / "questions.json", 0o644)
    assert load(str(stored)) == OLD


def test_a_proof_is_read_as_it_was_written(place, monkeypatch):
    """spec 8.4: and an equal one is not written again."""
    assert read_proof(str(place)) is None
    assert write_proof(str(place), [b"{}\n"]) is None
    assert read_proof(str(place)) == b"{}\n"
    assert write_proof(str(place), [b"[]\n"]) is None
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("synced"))
    assert write_proof(str(place), [b"[]\n"]) is None
    assert read_proof(str(place)) == b"[]\n"
    assert names(place) == {"proof.json", "store.lock"}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_leaves_the_old_or_the_new_proof(place, monkeypatch, step, after):
    """spec 8.1, 8.4: the Proof is replaced as the store is."""
    write_proof(str(place), [b"old"])
    crash(monkeypatch, step.replace("questions", "proof"), after, lambda: write_proof(str(place), [b"new"]))
    assert read_proof(str(place)) == STEPS[step][after].encode()
    assert write_proof(str(place), [b"newer"]) is None
    assert names(place) == {"proof.json", "store.lock"}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_proof_is_a_fault(place, make):
    """spec 8.4: what stands in the Proof's place is neither followed nor waited for."""
    place.mkdir()
    make(place / "proof.json")
    assert isinstance(read_proof(str(place)), FileFault)
    answer = write_proof(str(place), [b"new"])
    if make is os.mkdir:
        assert isinstance(answer, FileFault)
    else:
        assert answer is None
        assert read_proof(str(place)) == b"new"
    assert not (place / "nowhere").exists()


def test_a_proof_too_large_is_a_fault(place, monkeypatch):
    """spec 8.4: reading and writing are bounded by the same limit."""
    monkeypatch.setattr(store, "PROOF_LIMIT", 3)
    assert write_proof(str(place), [b"123"]) is None
    assert isinstance(write_proof(str(place), [b"1234"]), FileFault)
    assert read_proof(str(place)) == b"123"
    (place / "proof.json").write_bytes(b"1234")
    assert isinstance(read_proof(str(place)), FileFault)
