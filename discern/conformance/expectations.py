"""Cases as files: what is asked of an implementation, what it must answer, and where an answer departs from that (spec 10.1)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from discern.conformance.case import MalformedCase, parse_json
from discern.text import one_line

SUITE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite")
LABELS: Final = ("id", "clause", "summary")
EXPECTATIONS: Final = ("expect", "expect_policy_drop", "expect_error")
TRACE: Final = "trace"
SHOWN: Final = 200  # characters of a value in the line of a failing case

Answer = Mapping[str, Any]
Expectation = tuple[str, Any]
"""Which of the three members a case has, and its value."""


@frozen
class SuiteCase:
    """One case of a suite. `question` is the document as an implementation gets it: without what is expected of it.

    `trace` is what discern itself is held to beyond an answer: by definition, its steps and its command's input (spec 5.6, 6.3).
    """

    id: str
    clause: str
    summary: str
    question: Mapping[str, Any]
    expectation: Expectation
    trace: Mapping[str, Answer]


@frozen
class UnusableSuite:
    """A suite that cannot be read, and why, in one line."""

    message: str


@frozen
class Broken:
    """An implementation gave no answer at all, and what came instead, in one line."""

    message: str


Reply = Answer | MalformedCase | Broken
"""What an implementation says of a case: an answer, that it is malformed, or nothing that could be understood."""


def read_suite(places: Iterable[str] = ()) -> list[SuiteCase] | UnusableSuite:
    """The cases in files and folders, the shipped suite where none are given; a folder's in the order of their paths."""
    cases: dict[str, SuiteCase] = {}
    for place in tuple(places) or (SUITE,):
        if not os.path.exists(place):
            return UnusableSuite(f"there is no {one_line(place, SHOWN)}")
        for path in _case_files(place):
            case = read_file(path)
            if isinstance(case, UnusableSuite):
                return case
            cases[path] = case
    return list(cases.values()) if cases else UnusableSuite("there is no case in what was named: a case is a file named *.json")


def _case_files(place: str) -> Iterator[str]:
    if not os.path.isdir(place):
        yield place
        return
    for folder, below, files in os.walk(place):
        below.sort()
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".json"))


def read_file(path: str) -> SuiteCase | UnusableSuite:
    """The case in one file."""
    shown = one_line(path, SHOWN)
    try:
        with open(path, "rb") as file:
            document = parse_json(file.read())
    except OSError as error:
        return UnusableSuite(f"{shown}: {error.strerror}")
    if isinstance(document, MalformedCase):
        return UnusableSuite(f"{shown}: {document.message}")
    if not isinstance(document, dict) or not all(isinstance(document.get(label), str) for label in LABELS):
        return UnusableSuite(f"{shown}: a case is an object with {', '.join(LABELS)}")
    expectations = [(member, document[member]) for member in EXPECTATIONS if member in document]
    if len(expectations) != 1 or not _well_formed(*expectations[0]):
        return UnusableSuite(f"{shown}: a case has one of {', '.join(EXPECTATIONS)}, as the schema has it")
    if not _well_formed("expect", document.get(TRACE, {})):
        return UnusableSuite(f"{shown}: {TRACE} is an object of objects, as the schema has it")
    question = {member: value for member, value in document.items() if member not in (*EXPECTATIONS, TRACE)}
    name, clause, summary = (document[label] for label in LABELS)
    return SuiteCase(name, clause, summary, question, expectations[0], document.get(TRACE, {}))


def _well_formed(member: str, value: object) -> bool:
    if member == "expect":
        return isinstance(value, dict) and all(isinstance(row, dict) for row in value.values())
    return value is True if member == "expect_error" else isinstance(value, str)


def difference(case: SuiteCase, reply: Reply) -> str | None:
    """The first way in which a reply is not what the case expects, in one line; None if there is none."""
    member, expected = case.expectation
    match reply:
        case Broken(message):
            return f"no answer: {message}"
        case MalformedCase(message):
            return None if member == "expect_error" else f"expected an answer, got a refusal: {message}"
    if member == "expect_error":
        return f"expected a refusal, got {_shown(reply)}"
    if member == "expect_policy_drop":
        return _departs("policy_drop", expected, reply) or _departs("results", {}, reply)
    return _departs("policy_drop", None, reply) or _departing_rows(expected, reply.get("results"))


def trace_difference(case: SuiteCase, traced: Mapping[str, Answer]) -> str | None:
    """The first way in which steps or inputs are not what the case says of them; None if there is none."""
    found = _departing_rows(case.trace, traced)
    return f"trace of {found}" if found else None


def _departing_rows(expected: Mapping[str, Answer], results: Any) -> str | None:
    if not isinstance(results, dict):
        return f"results: expected an object, got {_shown(results)}"
    for name, row in expected.items():
        if not isinstance(results.get(name), dict):
            return f"{one_line(name, SHOWN)}: expected a result, got {_shown(results.get(name))}"
        for member, value in row.items():
            if found := _departs(member, value, results[name]):
                return f"{one_line(name, SHOWN)}.{found}"
    return None


def _departs(member: str, expected: Any, row: Answer) -> str | None:
    """What is named must be there and equal, types included: 1 is neither 1.0 nor true."""
    if member not in row:
        return f"{one_line(member, SHOWN)}: expected {_shown(expected)}, got nothing"
    if json.dumps(row[member], sort_keys=True) == json.dumps(expected, sort_keys=True):
        return None
    return f"{one_line(member, SHOWN)}: expected {_shown(expected)}, got {_shown(row[member])}"


def _shown(value: Any) -> str:
    return one_line(json.dumps(value), SHOWN)
