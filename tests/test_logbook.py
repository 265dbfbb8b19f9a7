"""The Logbook: a line a run, bounded, and never in the way (spec 8.5)."""

from __future__ import annotations

import errno
import json
import os
import resource
import stat
import time
from functools import partial

import pytest

from discern.definitions import Definition
from discern.effects import logbook
from discern.effects.logbook import append, declaration_line, evaluation_line, wanted
from discern.effects.store import FileFault
from discern.outcomes import DropRecord, Evaluation, Judgement, Related, Result, Veto
from discern.questions import Pair
from tests.children import forked

HASH, SUBJECT, COMMIT = "d" * 64, "5" * 64, "c" * 40
SECRET = "S3CR3T"


def result() -> Result:
    fired = Evaluation(
        id="ask", outcome="fired", matched=(f"{SECRET}.py",), related=(Related(f"{SECRET}.py", f"{SECRET}_old.py"),)
    )
    ask = Definition(id="ask", question=SECRET, teach=SECRET, adds_matching=(SECRET,))
    quiet = Definition(id="quiet", question=SECRET, mode="advise")
    return Result(
        policy_commit=COMMIT,
        trunk=f"refs/heads/{SECRET}",
        head="e" * 40,
        blocking=True,
        checkpoints=(
            Judgement(
                definition=ask, definition_hash=HASH, evaluation=fired, subject=SUBJECT, state="declared_unmet", rationale=SECRET
            ),
            Judgement(
                definition=quiet,
                definition_hash=HASH,
                evaluation=Evaluation(id="quiet", outcome="vetoed", veto=Veto("kinds")),
            ),
        ),
        drops=(
            DropRecord(
                checkpoint="cmd",
                mode="stop",
                policy_commit=COMMIT,
                reason="when_invalid_exit",
                detail=None,
                account=f"it said {SECRET}",
            ),
        ),
    )


@pytest.fixture
def place(tmp_path):
    """The common Git directory's discern directory, not made yet."""
    return tmp_path / "discern"


def lines(place) -> list[bytes]:
    return (place / "logbook.jsonl").read_bytes().splitlines(keepends=True)


def test_an_evaluation_leaves_codes_counts_and_ids():
    """spec 8.5: time, duration, outcome codes, reasons, counts, ids, object ids."""
    raw = evaluation_line(result(), 1_700_000_000.9, 0.0426)
    assert raw.endswith(b"\n")
    assert raw.count(b"\n") == 1
    assert json.loads(raw) == {
        "version": 1,
        "event": "evaluation",
        "time": "2023-11-14T22:13:20Z",
        "duration_ms": 43,
        "policy_commit": COMMIT,
        "head": "e" * 40,
        "blocking": True,
        "checkpoints": [
            {
                "id": "ask",
                "mode": "stop",
                "outcome": "fired",
                "vetoed_by": None,
                "matched": 1,
                "related": 1,
                "state": "declared_unmet",
                "definition_hash": HASH,
                "subject": SUBJECT,
            },
            {
                "id": "quiet",
                "mode": "advise",
                "outcome": "vetoed",
                "vetoed_by": "kinds",
                "matched": 0,
                "related": 0,
                "state": "none",
                "definition_hash": HASH,
                "subject": None,
            },
        ],
        "drops": [{"checkpoint": "cmd", "reason": "when_invalid_exit", "detail": None}],
    }


def test_a_declaration_leaves_what_it_judged():
    """spec 8.5: ids and codes, not the rationale."""
    assert json.loads(declaration_line("ask", "unmet", Pair(HASH, SUBJECT), 0.0, 1.5)) == {
        "version": 1,
        "event": "declaration",
        "time": "1970-01-01T00:00:00Z",
        "duration_ms": 1500,
        "checkpoint": "ask",
        "verdict": "unmet",
        "definition_hash": HASH,
        "subject": SUBJECT,
    }


def test_no_path_text_or_rationale_enters():
    """spec 8.5, 8.6: metadata only."""
    assert SECRET.encode() not in evaluation_line(result(), 0.0, 0.0)


def test_an_odd_id_stays_on_its_line():
    """spec 8.5: one JSON line, whatever an id holds."""
    raw = declaration_line("a\nb\u2028\x85", "met", Pair(HASH, SUBJECT), 0.0, 0.0)
    assert len(raw.decode().splitlines()) == 1
    assert json.loads(raw)["checkpoint"] == "a\nb\u2028\x85"


@pytest.mark.parametrize(
    ("environment", "answer"), [({}, True), ({"DISCERN_LOGBOOK": "0"}, False), ({"DISCERN_LOGBOOK": "1"}, True)]
)
def test_the_switch(environment, answer):
    """spec 8.5: off with `DISCERN_LOGBOOK=0`."""
    assert wanted(environment) is answer


def test_lines_stand_in_their_order(place):
    """spec 8.5: appended, the directory made if need be."""
    assert append(str(place), b"one\n") is None
    assert append(str(place), b"two\n") is None
    assert lines(place) == [b"one\n", b"two\n"]


def test_writers_at_once_lose_no_line(place, monkeypatch):
    """spec 8.5: under a lock, over a rotation too."""
    monkeypatch.setattr(logbook, "LOGBOOK_LIMIT", 3_000)
    monkeypatch.setattr(logbook, "LOCK_SECONDS", 10.0)
    writers, each, size = 3, 20, 64

    def append_often(writer: int) -> None:
        for number in range(each):
            assert append(str(place), f"{writer} {number} ".ljust(size - 1, "x").encode() + b"\n") is None

    children = [forked(partial(append_often, writer)) for writer in range(writers)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * writers
    kept = (place / "logbook.jsonl.1").read_bytes() + (place / "logbook.jsonl").read_bytes()
    seen = sorted(line.split()[:2] for line in kept.splitlines())
    assert seen == sorted([b"%d" % writer, b"%d" % number] for writer in range(writers) for number in range(each))


def test_a_full_logbook_is_rotated(place, monkeypatch):
    """spec 8.5: at the limit; one earlier file is kept, so that both together are bounded."""
    monkeypatch.setattr(logbook, "LOGBOOK_LIMIT", 10)
    for line in (b"one1\n", b"two\n", b"three\n", b"four5\n", b"six\n"):
        assert append(str(place), line) is None
        assert all(path.stat().st_size <= 10 for path in place.iterdir())
    assert lines(place) == [b"six\n"]
    assert (place / "logbook.jsonl.1").read_bytes() == b"four5\n"
    assert sorted(os.listdir(place)) == ["logbook.jsonl", "logbook.jsonl.1", "logbook.lock"]


def test_a_line_larger_than_the_logbook_is_given_up(place, monkeypatch):
    """spec 8.5: the bound holds for a single line, and such a line drives no other out."""
    monkeypatch.setattr(logbook, "LOGBOOK_LIMIT", 10)
    append(str(place), b"one\n")
    assert isinstance(append(str(place), b"x" * 10 + b"\n"), FileFault)
    assert lines(place) == [b"one\n"]
    assert append(str(place), b"x" * 9 + b"\n") is None
    assert lines(place) == [b"x" * 9 + b"\n"]


def test_an_empty_logbook_drives_no_earlier_one_out(place, monkeypatch):
    """spec 8.5: a line as large as the whole Logbook needs no rotation where nothing stands yet."""
    monkeypatch.setattr(logbook, "LOGBOOK_LIMIT", 10)
    place.mkdir()
    (place / "logbook.jsonl").write_bytes(b"")
    (place / "logbook.jsonl.1").write_bytes(b"earlier\n")
    assert append(str(place), b"x" * 9 + b"\n") is None
    assert (place / "logbook.jsonl.1").read_bytes() == b"earlier\n"


def test_a_torn_line_does_not_spoil_the_next(place):
    """spec 8.5: a process killed in the middle of its line leaves the next one whole."""
    append(str(place), b"one\n")
    with open(place / "logbook.jsonl", "ab") as file:
        file.write(b'{"torn')
    append(str(place), b"two\n")
    assert lines(place) == [b"one\n", b'{"torn\n', b"two\n"]


def test_a_line_that_finds_no_room_leaves_nothing_of_itself(place):
    """spec 8.5: a full disk."""
    append(str(place), b"one\n")

    def append_past_the_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        assert isinstance(append(str(place), b"x" * 30 + b"\n"), FileFault)

    assert os.waitpid(forked(append_past_the_limit), 0)[1] == 0
    assert lines(place) == [b"one\n"]


def test_a_held_lock_is_not_waited_for_long(place):
    """spec 8.5: a lost line fails nothing and holds nothing up."""
    append(str(place), b"one\n")
    with open(place / "logbook.lock", "rb") as lock:
        logbook_flock(lock.fileno())
        began = time.monotonic()
        assert isinstance(append(str(place), b"two\n"), FileFault)
        assert time.monotonic() - began < 3
    assert append(str(place), b"three\n") is None
    assert lines(place) == [b"one\n", b"three\n"]


def logbook_flock(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)


def make_symlink(path) -> None:
    (path.parent / "elsewhere").write_bytes(b"precious\n")
    path.symlink_to("elsewhere")


def make_socket(path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o666)


HOSTILE = {
    "symlink": make_symlink,
    "dangling symlink": lambda path: path.symlink_to("nowhere"),
    "FIFO": os.mkfifo,
    "directory": os.mkdir,
}


@pytest.mark.parametrize("make", [*HOSTILE.values(), make_socket], ids=[*HOSTILE, "socket"])
def test_what_is_no_regular_file_is_given_up(place, make):
    """spec 8.5: neither followed, nor waited for, nor replaced."""
    place.mkdir()
    make(place / "logbook.jsonl")
    before = os.lstat(place / "logbook.jsonl")
    assert isinstance(append(str(place), b"one\n"), FileFault)
    after = os.lstat(place / "logbook.jsonl")
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert not (place / "nowhere").exists()
    assert not (place / "elsewhere").exists() or (place / "elsewhere").read_bytes() == b"precious\n"


def test_a_read_only_file_system_costs_only_the_line(place, monkeypatch):
    """spec 8.5: a fault, no exception, wherever it shows."""
    place.mkdir()
    real = os.open

    def read_only(path: str, flags: int, *rest: int, **where: int) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, "", "/secret")
        return real(path, flags, *rest, **where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        fault = append(str(place), b"one\n")
    assert fault == FileFault("discern/logbook.lock in the Git directory: Read-only file system")
    assert isinstance(append(str(place / "gone" / "discern"), b"one\n"), FileFault)


def test_a_rotation_that_fails_costs_only_the_line(place, monkeypatch):
    """spec 8.5: the Logbook stays within its bound."""
    monkeypatch.setattr(logbook, "LOGBOOK_LIMIT", 10)
    append(str(place), b"123456\n")
    (place / "logbook.jsonl.1").mkdir()
    assert isinstance(append(str(place), b"789012\n"), FileFault)
    assert lines(place) == [b"123456\n"]
