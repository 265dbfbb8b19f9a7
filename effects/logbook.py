"""The Logbook: a line for every real evaluation and declaration, metadata only (spec 8.5). It may be lost, and fails nothing."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from discern.effects.store import FileFault, file_fault, no_regular_file, under_lock
from discern.outcomes import DropRecord, Judgement, Result
from discern.questions import Pair, Verdict
from discern.vocabulary import LOGBOOK_LIMIT

LOGBOOK: Final = "logbook.jsonl"
BEFORE: Final = "logbook.jsonl.1"  # what was rotated last; what was rotated before it is gone
LOCK: Final = "logbook.lock"
LOCK_SECONDS: Final = 0.5  # a line is not worth a longer wait
SWITCH: Final = "DISCERN_LOGBOOK"
VERSION: Final = 1


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether a Logbook is kept (spec 8.5)."""
    return environment.get(SWITCH) != "0"


def evaluation_line(result: Result, at: float, seconds: float) -> bytes:
    """What is noted of an evaluation that began `at` (seconds since the epoch) and took `seconds`: codes, counts, ids."""
    members = {
        "policy_commit": result.policy_commit,
        "head": result.head,
        "blocking": result.blocking,
        "checkpoints": [_checkpoint(judgement) for judgement in result.checkpoints],
        "drops": [_drop(drop) for drop in result.drops],
    }
    return _line("evaluation", at, seconds, members)


def declaration_line(checkpoint: str, verdict: Verdict, served: Pair, at: float, seconds: float) -> bytes:
    """What is noted of a declaration; not its rationale, which is the person's own words."""
    members = {"checkpoint": checkpoint, "verdict": verdict, "definition_hash": served.definition, "subject": served.subject}
    return _line("declaration", at, seconds, members)


def append(directory: str, line: bytes) -> FileFault | None:
    """Adds a line to the Logbook in `directory`, the common Git directory's; a fault if it was given up. Never waits long."""
    return under_lock(directory, LOCK, LOCK_SECONDS, partial(_append, line))


def _line(event: str, at: float, seconds: float, members: Mapping[str, object]) -> bytes:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    document = {"version": VERSION, "event": event, "time": stamp, "duration_ms": round(seconds * 1000), **members}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _checkpoint(judgement: Judgement) -> dict[str, object]:
    evaluation = judgement.evaluation
    return {
        "id": judgement.definition.id,
        "mode": judgement.definition.mode,
        "outcome": evaluation.outcome,
        "vetoed_by": None if evaluation.veto is None else evaluation.veto.by,
        "matched": len(evaluation.matched),
        "related": len(evaluation.related),
        "state": judgement.state,
        "definition_hash": judgement.definition_hash,
        "subject": judgement.subject,
    }


def _drop(drop: DropRecord) -> dict[str, object]:
    """Without the account, which may quote a policy or a command."""
    return {"checkpoint": drop.checkpoint, "reason": drop.reason, "detail": drop.detail}


def _append(line: bytes, directory: int) -> FileFault | None:
    if len(line) > LOGBOOK_LIMIT:
        return FileFault(f"a Logbook line of {len(line)} bytes is more than the whole Logbook may have")
    try:
        return _rotate_and_write(directory, line)
    except OSError as error:
        return file_fault(LOGBOOK, error)


def _rotate_and_write(directory: int, line: bytes) -> FileFault | None:
    """One write, after a rotation if the line has no room. Raises OSError."""
    logbook = _open(directory)
    try:
        state = os.fstat(logbook)
        if not stat.S_ISREG(state.st_mode):
            return no_regular_file(LOGBOOK)
        if not state.st_size or state.st_size + len(line) < LOGBOOK_LIMIT:
            return _write(logbook, state.st_size, line)
    finally:
        os.close(logbook)
    os.rename(LOGBOOK, BEFORE, src_dir_fd=directory, dst_dir_fd=directory)
    logbook = _open(directory)
    try:
        return _write(logbook, 0, line)
    finally:
        os.close(logbook)


def _open(directory: int) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(LOGBOOK, flags, 0o666, dir_fd=directory)


def _write(logbook: int, size: int, line: bytes) -> FileFault | None:
    """A line of its own even after one that a killed process left unended; on a full disk none at all. Raises OSError."""
    if size and os.pread(logbook, 1, size - 1) != b"\n":
        line = b"\n" + line
    if os.write(logbook, line) == len(line):
        return None
    os.ftruncate(logbook, size)
    return FileFault("the disk has no room for another Logbook line")
