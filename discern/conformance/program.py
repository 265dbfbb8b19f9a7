"""Another implementation, asked for its answers (spec 10.2, 10.3).

It is any shell command that reads a case on standard input and prints the answer. If it also answers many cases in one process,
called with `--jsonl` at the end, it is asked so: it is found out by trying, with two lines to which the right answers are known.
Each run is bounded in time and output, and nothing that it started is left behind.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Final

from attrs import frozen

from discern.conformance.case import MalformedCase, parse_json
from discern.conformance.expectations import Broken, Reply, SuiteCase
from discern.effects.processes import Ended, Stopped, Why, run
from discern.text import one_line
from discern.vocabulary import MIB

SECONDS: Final = 10.0  # for one case
BATCH_SECONDS: Final = 60.0  # for all cases in one process, and a tenth of a second a case
OUTPUT_LIMIT: Final = 8 * MIB  # bytes of one answer, and of what is said beside it
BATCH_OUTPUT_LIMIT: Final = 256 * MIB
PATIENCE: Final = 3  # cases that did not end in time, after which no more are asked
NOT_RUN: Final = (126, 127)  # exit statuses with which a shell says that it could not run a command
MESSAGE_LIMIT: Final = 300  # characters of what a program says of itself

# In a shell of its own, so that its end, however it comes, is followed by the mark that parts its two streams.
SCRIPT: Final = '(\n{command}\n) <"$1"; status=$?; printf "\\n%s\\n" "$2"; exit $status'
EMPTY: Final = {
    "version": 1,
    "id": "probe/empty",
    "clause": "10.2",
    "summary": "no change, one checkpoint",
    "policy": {"checkpoints": {"p": {"question": "?"}}},
    "facts": {"changes": [], "base": None, "history": None},
}
WHY: Final[dict[Why, str]] = {
    "not started": "it could not be started",
    "too long": f"it did not end within {SECONDS:g} s",
    "too much": f"it printed more than {OUTPUT_LIMIT:,} bytes",
    "cancelled": "it was not asked any more: the cases before it did not end in time",
    "lost": "something it started could not be ended",
}


@frozen
class NoProgram:
    """The command does not run at all, and what the shell says of it."""

    message: str


@frozen
class _Said:
    status: int
    output: bytes
    errors: bytes


def ask_all(command: str, cases: Sequence[SuiteCase]) -> list[Reply] | NoProgram:
    """The replies of a program to all cases, in their order."""
    questions = [json.dumps(case.question).encode() for case in cases]
    with tempfile.TemporaryDirectory(prefix="discern-conformance-") as folder:
        trial = _trial(command, folder)
        if isinstance(trial, _Said) and trial.status in NOT_RUN:
            return NoProgram(_last_words(trial))
        if speaks_lines(trial):
            replies = _in_one_process(command, questions, folder)
            if replies is not None:
                return replies
        return _one_by_one(command, questions, folder)


def _trial(command: str, folder: str) -> _Said | Stopped:
    return _run(f"{command} --jsonl", json.dumps(EMPTY).encode() + b"\n{}\n", folder, "trial", SECONDS, OUTPUT_LIMIT)


def speaks_lines(said: _Said | Stopped) -> bool:
    """Whether a program answered the trial as `--jsonl` has it: a result, and an error in place of a malformed case."""
    replies = None if isinstance(said, Stopped) else _lines(said.output)
    return replies is not None and len(replies) == 2 and _vetoes_all(replies[0]) and isinstance(replies[1], MalformedCase)


def _vetoes_all(reply: Reply) -> bool:
    return isinstance(reply, dict) and isinstance(reply.get("results"), dict) and "p" in reply["results"]


def _in_one_process(command: str, questions: Sequence[bytes], folder: str) -> list[Reply] | None:
    """The replies, or None if there is not one a case: then it has to be found out which one is missing."""
    seconds = BATCH_SECONDS + len(questions) / 10
    said = _run(f"{command} --jsonl", b"".join(one + b"\n" for one in questions), folder, "all", seconds, BATCH_OUTPUT_LIMIT)
    replies = None if isinstance(said, Stopped) else _lines(said.output)
    return replies if replies is not None and len(replies) == len(questions) else None


def _one_by_one(command: str, questions: Sequence[bytes], folder: str) -> list[Reply]:
    """One process a case, several at a time."""
    enough = Event()
    late: list[int] = []

    def ask(place: int) -> Reply:
        said = _run(command, questions[place], folder, str(place), SECONDS, OUTPUT_LIMIT, enough)
        if isinstance(said, Stopped) and said.why == "too long":
            late.append(place)
        if len(late) >= PATIENCE:
            enough.set()
        return Broken(WHY[said.why]) if isinstance(said, Stopped) else _reply(said)

    with ThreadPoolExecutor(max_workers=2 * (os.cpu_count() or 1)) as pool:
        try:
            return list(pool.map(ask, range(len(questions))))
        finally:
            enough.set()  # on the way out of an interrupted run nothing is waited for


def _run(
    command: str,
    question: bytes,
    folder: str,
    name: str,
    seconds: float,
    limit: int,
    flag: Event | None = None,
) -> _Said | Stopped:
    path, mark = os.path.join(folder, name), secrets.token_hex(16)
    with open(path, "wb") as file:
        file.write(question)
    argv = ("sh", "-c", SCRIPT.replace("{command}", command), "sh", path, mark)
    flags = () if flag is None else (flag,)
    ended = run(
        argv, program="/bin/sh", cwd=os.getcwd(), environment=os.environ, seconds=seconds, output_limit=limit, flags=flags
    )
    os.unlink(path)
    return _said(ended, mark) if isinstance(ended, Ended) else ended


def _said(ended: Ended, mark: str) -> _Said:
    output, _, errors = ended.output.partition(f"\n{mark}\n".encode())
    return _Said(ended.status, output, errors)


def _reply(said: _Said) -> Reply:
    """One case, one process: the answer with exit 0, or one line on standard error and exit 2 (spec 10.2)."""
    words = said.errors.split(b"\n")
    if said.status == 2 and not said.output.strip() and len([line for line in words if line.strip()]) == 1:
        return MalformedCase(_last_words(said))
    if said.status != 0:
        return Broken(f"it ended with exit status {said.status}: {_last_words(said)}")
    answer = parse_json(said.output)
    if isinstance(answer, MalformedCase):
        return Broken(f"what it printed is {answer.message}")
    return answer if isinstance(answer, dict) else Broken("what it printed is no object")


def _lines(output: bytes) -> list[Reply] | None:
    """A reply a line; None if a line is no JSON object."""
    replies: list[Reply] = []
    for line in output.strip().split(b"\n"):
        answer = parse_json(line)
        if not isinstance(answer, dict):
            return None
        error = answer.get("error")
        replies.append(MalformedCase(one_line(error, MESSAGE_LIMIT)) if isinstance(error, str) else answer)
    return replies


def _last_words(said: _Said) -> str:
    lines = [line for line in said.errors.decode("utf-8", "replace").split("\n") if line.strip()]
    return one_line(lines[-1].strip(), MESSAGE_LIMIT) if lines else "it said nothing on standard error"
