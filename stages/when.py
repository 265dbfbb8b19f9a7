"""Stage 5, `when`: what a command is told, and what its answer means (spec 6.3, 6.4, 6.6, 6.7). Runs nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from discern.definitions import Definition
from discern.drops import invalid_exit
from discern.facts import ChangedFile, History, Lines, NotCollected, Unavailable, path_bytes
from discern.outcomes import Answered, Drop, Evaluation, Step, Unanswered
from discern.text import holds_surrogate
from discern.vocabulary import MATCH_TOKEN, WHEN_FIRES, WHEN_PASSES

Document = dict[str, object]

# The token whole, at the line's start or after white space, white space after it, and the rest of the line (spec 6.6).
# `^` and `.` know no line end but LF in bytes, which is the contract's; the rest takes in later tokens of the same line.
_MATCH_LINE: Final = re.compile(rb"(?:^|(?<=[ \t\r\v\f]))" + MATCH_TOKEN + rb"[ \t\r\v\f](.*)", re.MULTILINE)


def document(
    definition: Definition,
    policy_commit: str,
    files: Sequence[ChangedFile],
    history: History | Unavailable | NotCollected,
    fingerprint: str | None,
) -> Document | None:
    """The input of a command (spec 6.3); None if a path is not valid UTF-8. `fingerprint` is the history's (spec 7.3)."""
    changed = changed_files(files)
    if changed is None:
        return None
    told: Document = {
        "version": 1,
        "checkpoint": {"id": definition.id, "mode": definition.mode},
        "policy_commit": policy_commit,
        "changed_files": changed,
    }
    if isinstance(history, History):
        told["history"] = {"count": len(history.commits), "fingerprint": fingerprint}
    return told


def changed_files(files: Sequence[ChangedFile]) -> list[Document] | None:
    """The final evidence as a command sees it, sorted by path (spec 6.3); None if a path is not valid UTF-8."""
    ordered = sorted(files, key=lambda file: path_bytes(file.path))
    return None if any(holds_surrogate(file.path) for file in ordered) else [_row(file) for file in ordered]


def _row(file: ChangedFile) -> Document:
    if not isinstance(file.lines, Lines) or not isinstance(file.binary, bool):
        raise ValueError(f"{file.path!r} reached `when` without its binary flag or line counts")
    insertions, deletions = file.lines.insertions, file.lines.deletions
    return {"path": file.path, "kind": file.kind, "insertions": insertions, "deletions": deletions, "binary": file.binary}


def conclude(undecided: Evaluation, answer: Answered | Unanswered) -> Evaluation:
    """The outcome of a definition that was undecided, now that its command has answered or not (spec 6.4, 6.6, 6.7)."""
    if undecided.outcome != "undecided":
        raise ValueError(f"{undecided.id}: {undecided.outcome} before its `when` command was asked")
    match answer:
        case Unanswered(reason, account):
            return _indeterminate(undecided, Drop(reason, None, account))
        case Answered(status, output) if status == WHEN_FIRES:
            return _fired(undecided, matches(output))
        case Answered(status) if status == WHEN_PASSES:
            return evolve(undecided, outcome="passed", matched=(), related=(), steps=_steps(undecided, 0))
        case Answered(status, output):
            return _indeterminate(undecided, invalid_exit(status, output))


def matches(output: bytes) -> frozenset[str]:
    """The paths that match lines name, whether or not there are such files (spec 6.6)."""
    named = _MATCH_LINE.findall(output) if MATCH_TOKEN in output else []
    return frozenset(path for rest in named if (path := _path(rest)))


def _path(rest: bytes) -> str:
    """A root-relative path, or nothing if there is none."""
    path = rest.strip()  # of bytes: ASCII white space
    while path.startswith(b"./"):
        path = path[2:]
    if path.startswith(b"/") or b".." in path.split(b"/"):
        return ""
    return path.decode("utf-8", "surrogateescape")


def _fired(undecided: Evaluation, named: frozenset[str]) -> Evaluation:
    """Match lines can only narrow, and never to nothing."""
    matched = tuple(path for path in undecided.matched if path in named) or undecided.matched
    kept = frozenset(matched)
    related = tuple(sibling for sibling in undecided.related if sibling.for_path in kept)
    return evolve(undecided, outcome="fired", matched=matched, related=related, steps=_steps(undecided, len(matched)))


def _indeterminate(undecided: Evaluation, drop: Drop) -> Evaluation:
    """Never a pass: the structural matched set stands, complete."""
    return evolve(undecided, outcome="indeterminate", drop=drop)


def _steps(undecided: Evaluation, after: int) -> tuple[Step, ...]:
    *before, last = undecided.steps
    return (*before, Step(last.step, last.before, after))
