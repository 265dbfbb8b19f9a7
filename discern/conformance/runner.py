"""`discern conformance`: answer cases, drive an implementation over a suite, or list one (spec 10.2 to 10.4)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import BinaryIO, Final, Protocol, TextIO

from discern.arguments import Parser, Shown, Usage
from discern.conformance.case import MalformedCase
from discern.conformance.expectations import Answer, SuiteCase, UnusableSuite, difference, read_suite, trace_difference
from discern.text import one_line

FAILED, UNUSABLE = 1, 2  # exit statuses
SHOWN: Final = 200  # characters of an id in a line


class Reader(Protocol):
    """A standard input: cases are read as bytes."""

    @property
    def buffer(self) -> BinaryIO:
        """Its bytes."""
        ...


def main(arguments: Sequence[str], stdin: Reader | None, stdout: TextIO, stderr: TextIO) -> int:
    """One call of `discern conformance`: 0, 1 if a case failed, 2 with one line on `stderr` if there was nothing to work on.

    `stdin` is None where the caller has closed it.
    """
    try:
        options = _parser().parse_args(list(arguments))
    except Usage as usage:
        return _refuse(str(usage), stderr)
    except Shown as shown:
        stdout.write(str(shown))
        return 0
    status: int = options.command(options, stdin, stdout, stderr)
    return status


def _parser() -> Parser:
    parser = Parser(prog="discern conformance", description="Cases with known answers, for any implementation.")
    commands = parser.add_subparsers(required=True, metavar="evaluate | run | list")
    evaluate = commands.add_parser("evaluate", help="answer the case on standard input")
    evaluate.add_argument("--jsonl", action="store_true", help="a case a line in, an answer a line out")
    evaluate.set_defaults(command=command_evaluate)
    run = commands.add_parser("run", help="drive an implementation over a suite")
    run.add_argument("--against", metavar="COMMAND", help="a program that reads a case and prints its answer; without, discern")
    run.add_argument("places", nargs="*", metavar="FILE|DIR", help="cases; without, the shipped suite")
    run.set_defaults(command=command_run)
    listing = commands.add_parser("list", help="name the cases and their clauses")
    listing.add_argument("places", nargs="*", metavar="FILE|DIR", help="cases; without, the shipped suite")
    listing.set_defaults(command=command_list)
    return parser


def command_evaluate(options: argparse.Namespace, stdin: Reader | None, stdout: TextIO, stderr: TextIO) -> int:
    """`discern conformance evaluate`: what is malformed is refused, or with `--jsonl` answered by an error in its place."""
    from discern.conformance.answer import answer_bytes

    if stdin is None:
        return _refuse("there is no standard input to read a case from", stderr)
    if options.jsonl:
        for line in stdin.buffer:
            reply = answer_bytes(line)
            _write({"error": reply.message} if isinstance(reply, MalformedCase) else reply, stdout)
            stdout.flush()  # whoever asks line by line waits for it
        return 0
    reply = answer_bytes(stdin.buffer.read())
    if isinstance(reply, MalformedCase):
        return _refuse(f"malformed case: {reply.message}", stderr)
    _write(reply, stdout)
    return 0


def command_run(options: argparse.Namespace, stdin: Reader | None, stdout: TextIO, stderr: TextIO) -> int:
    """`discern conformance run`: a line a failing case, then how many passed and failed."""
    cases = read_suite(options.places)
    if isinstance(cases, UnusableSuite):
        return _refuse(cases.message, stderr)
    found = own_differences(cases) if options.against is None else _differences_of(options.against, cases)
    if isinstance(found, str):
        return _refuse(found, stderr)
    for case, departure in zip(cases, found, strict=True):
        if departure is not None:
            print(f"FAIL {one_line(case.id, SHOWN)} ({one_line(case.clause, SHOWN)}): {departure}", file=stdout)
    passed = found.count(None)
    print(f"{passed} passed, {len(found) - passed} failed", file=stdout)
    return FAILED if passed < len(found) else 0


def command_list(options: argparse.Namespace, stdin: Reader | None, stdout: TextIO, stderr: TextIO) -> int:
    """`discern conformance list`: a line a case, its id, its clause and what it says."""
    cases = read_suite(options.places)
    if isinstance(cases, UnusableSuite):
        return _refuse(cases.message, stderr)
    widths = max(len(case.id) for case in cases), max(len(case.clause) for case in cases)
    for case in cases:
        print(f"{one_line(case.id):{widths[0]}}  {one_line(case.clause):{widths[1]}}  {one_line(case.summary)}", file=stdout)
    return 0


def own_differences(cases: Sequence[SuiteCase]) -> list[str | None]:
    """Where discern itself departs from each case, its trace included."""
    from discern.conformance.answer import answer, trace
    from discern.conformance.case import structure_case

    def departure(case: SuiteCase) -> str | None:
        read = structure_case(case.question)
        if isinstance(read, MalformedCase):
            return difference(case, read)
        return difference(case, answer(read)) or (trace_difference(case, trace(read)) if case.trace else None)

    return [departure(case) for case in cases]


def _differences_of(command: str, cases: Sequence[SuiteCase]) -> list[str | None] | str:
    from discern.conformance.program import NoProgram, ask_all

    replies = ask_all(command, cases)
    if isinstance(replies, NoProgram):
        return f"the program does not run: {replies.message}"
    return [difference(case, reply) for case, reply in zip(cases, replies, strict=True)]


def _write(answer: Answer, stdout: TextIO) -> None:
    # ASCII, so that no terminal or locale changes it.
    stdout.write(json.dumps(answer) + "\n")


def _refuse(message: str, stderr: TextIO) -> int:
    print(f"discern conformance: {message}", file=stderr)
    return UNUSABLE
