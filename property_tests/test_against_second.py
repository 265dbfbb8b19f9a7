"""Whole cases, answered by discern and by the naive evaluator that was written from the contract alone: no answer differs."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from discern.conformance.answer import answer_bytes
from discern.conformance.case import MalformedCase, structure_case
from discern.conformance.expectations import SUITE
from discern.vocabulary import (
    BASE_REASONS,
    CHECKPOINT_FIELD_ROLES,
    ENTRY_REASONS,
    FILE_REASONS,
    HISTORY_REASONS,
    KINDS,
    TRIGGER_REASONS,
    VETOES,
    WHEN_REASONS,
    OutcomeName,
)
from tests.second_door import ask

QUICK = settings(max_examples=60, deadline=None, derandomize=True, database=None)
LONG = settings(max_examples=20_000, deadline=None)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]

SEEDS = ("deletion-heavy-change", "parallel-implementation", "new-binary-asset", "effort-sprawl", "commit-story", "new-subsystem")


def seldom(values: st.SearchStrategy[Any], times: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    """One of so many times a member with the drawn value; otherwise none."""
    return st.integers(0, times - 1).flatmap(lambda drawn: st.just({}) if drawn else st.fixed_dictionaries({"value": values}))


def mostly(usual: st.SearchStrategy[Any], *others: st.SearchStrategy[Any], times: int = 8) -> st.SearchStrategy[Any]:
    """One of so many times one of the others."""
    return st.integers(0, times - 1).flatmap(lambda drawn: usual if drawn else st.one_of(*others))


@st.composite
def some(draw: st.DrawFn, members: dict[str, st.SearchStrategy[Any]], times: int = 4) -> dict[str, Any]:
    """An object with a few of the members."""
    drawn = {name: draw(seldom(values, times)) for name, values in members.items()}
    return {name: value["value"] for name, value in drawn.items() if value}


# Paths and patterns: few characters, so that they meet.

names = st.sampled_from(
    (
        "a",
        "b",
        "A",
        "ab",
        "a_v2",
        "a-copy",
        "a2",
        "a.c",
        "a_new.c",
        "a.old.c",
        "b.c",
        ".a",
        ".a.c",
        "gen",
        "é",
        "É",
        "a b",
        "]",
        "{a",
        "a\n",
    )
)
text_paths = st.lists(names, min_size=1, max_size=3).map("/".join)
raw_paths = st.sampled_from((b"\xff", b"a\xff.c", b"a\xff_new.c", b"gen/\xe9", b"\x80/a", b"caf\xc3\xa9")).map(
    lambda raw: {"bytes": b64encode(raw).decode()}
)
paths = mostly(text_paths, raw_paths)
fragments = st.sampled_from(
    (
        "a",
        "b",
        "c",
        "A",
        "/",
        "/",
        "*",
        "**",
        "?",
        "[",
        "]",
        "{",
        "}",
        ",",
        "!",
        "^",
        "-",
        ".",
        "\\",
        "[ab]",
        "[!a]",
        "{a,b}",
        "**/",
        "/**",
        "*.",
        "é",
        " ",
    )
)
wild_patterns = st.lists(fragments, max_size=7).map("".join)
tame_patterns = st.sampled_from(
    (
        "/**",
        "**",
        "*",
        "a/**",
        "/a/",
        "a/",
        "*.c",
        "**/a*",
        "a",
        "?",
        "*/*",
        "gen/**",
        "{a,b}/**",
        "**/[!_]*.{c,h}",
        "",
        "/",
        "${v.dir}/**",
        "${v.none}",
        "${v.bad}",
    )
)
patterns = mostly(tame_patterns, wild_patterns)
pattern_lists = st.lists(patterns, max_size=3)

# Policies: mostly good entries, and every kind of bad one.

junk = st.sampled_from(
    (None, True, False, 0, 1, 1.0, -1, 2**53 - 1, 2**53, "", " ", "a", "stop", [], ["a"], [1], [""], ["a", "a"], {}, {"a": 1})
)
words = st.sampled_from(("new", "old", "TODO", "é", "x", " ", "new old"))
numbers = st.integers(1, 4)
fields: dict[str, st.SearchStrategy[Any]] = {
    "scope": st.sampled_from(("all", "all", "all", "gen", "some", "none", "bad", "ghost")),
    "paths": st.lists(patterns, min_size=1, max_size=2).map(lambda some: [*some, "a"]) | st.just(["/**"]),
    "include_generated": st.booleans(),
    "exclude_paths": st.lists(st.sampled_from(("b", "*.h", "**/b", "é", "a")), max_size=2) | pattern_lists,
    "kinds": st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True),
    "adds_matching": st.lists(words, min_size=1, max_size=3, unique=True),
    "removes_matching": st.lists(words, min_size=1, max_size=3, unique=True),
    "new_directory": st.booleans(),
    "binary": st.booleans(),
    "similar_new_file": st.booleans(),
    "unless_changed": st.lists(st.sampled_from(("none", "b", "x", "some", "é")), max_size=2) | pattern_lists,
    "min_changed_files": numbers,
    "min_changed_lines": st.integers(1, 200),
    "deletion_dominant": st.booleans(),
    "min_commits": numbers,
    "mode": st.sampled_from(("stop", "advise")),
    "teach": words,
    "reference": words,
}
asks = {"question": "?"}
questions = mostly(
    st.just(asks), st.sampled_from((asks, {"question": " "}, {"question_file": "q.md"}, {"question_file": "none"}, {})), times=6
)
asked = st.builds(
    lambda entry, question, command: entry | question | ({"when": "c"} if command else {}),
    some(fields, times=7),
    questions,
    st.booleans(),
)
broken = st.builds(
    lambda entry, name, value: entry | {name: value}, asked, st.sampled_from((*CHECKPOINT_FIELD_ROLES, "colour")), junk
)
seeded = some(fields, times=8)
entries = mostly(asked, broken, junk)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """A governing document, now and then one that is unusable as a whole."""
    policy: dict[str, Any] = {
        "checkpoints": draw(st.dictionaries(st.sampled_from(("p", "q", "r")), entries, min_size=1, max_size=3)),
        "scopes": {
            "all": {"paths": ["/**"]},
            "gen": {"paths": ["gen/**", "**/gen"]},
            "none": {},
            "bad": {"paths": ["{"]},
            "some": {"paths": draw(pattern_lists)},
        },
        "generated": draw(
            some({"g": st.just({"paths": ["gen/", "**/gen/**"]}), "h": st.builds(lambda p: {"paths": [p]}, patterns)}, 2)
        ),
        "v": {"dir": "a", "bad": draw(wild_patterns), "deep": {"dir": "b"}},
    }
    policy["checkpoints"] |= draw(st.dictionaries(st.sampled_from(SEEDS), seeded, max_size=1))
    policy |= draw(some({"repository": st.sampled_from(({"trunk": "main"}, {"trunk": 3}, [])), "scopes": junk, "jobs": junk}, 20))
    return policy


# Facts


def lost(reasons: tuple[str, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(reasons).map(lambda reason: {"unavailable": reason})


lines = st.one_of(
    st.sampled_from(("", "new", "a new one", "old", "old new", "TODO é", "ne", "w", " x", "e\u0301")),
    st.sampled_from(
        ({"bytes": "/w=="}, {"bytes": "/25ldw=="}, {"line": "new", "times": 3}, {"line": {"bytes": "/w=="}, "times": 2})
    ),
)
long_lines = st.sampled_from(
    ({"line": "new", "times": 65_535}, {"line": "x" * 1023, "times": 32_768}, {"line": "", "times": 65_537})
)
sides = mostly(st.lists(lines, max_size=3), st.lists(lines | long_lines, max_size=2), times=16)
changed = st.fixed_dictionaries(
    {
        "path": paths,
        "kind": st.sampled_from((*KINDS, "added")),
        "insertions": st.integers(0, 30),
        "deletions": st.integers(0, 90),
        "binary": mostly(st.just(False), st.just(True), st.just(True), lost(FILE_REASONS), times=10),
        "content": mostly(st.fixed_dictionaries({"added": sides, "removed": sides}), lost(FILE_REASONS), st.none(), times=16),
    },
)
changes = st.builds(
    lambda change, loss: change | ({"lines": loss["value"]} if loss else {}), changed, seldom(lost(FILE_REASONS), 30)
)
commits = st.lists(st.sampled_from(("1" * 40, "2" * 40, "3" * 40, "ab" * 32)), max_size=4)
facts = st.fixed_dictionaries(
    {
        "changes": st.lists(changes, min_size=2, max_size=7, unique_by=lambda change: json.dumps(change["path"])),
        "base": mostly(st.lists(paths, max_size=9, unique_by=json.dumps), lost(BASE_REASONS), st.none()),
        "history": mostly(st.builds(lambda some: {"commits": some}, commits), lost(HISTORY_REASONS), st.none()),
    }
)
said = st.lists(
    st.sampled_from(
        (
            "DISCERN_MATCH",
            "DISCERN_MATCH ",
            "DISCERN_MATCH",
            " ",
            "\t",
            "\n",
            "\r\n",
            "\x0b",
            "\u00a0",
            "./",
            "/",
            "..",
            "a",
            "b",
            "a/b",
            "é",
            "x",
        )
    ),
    max_size=10,
).map("".join)
declared = st.lists(text_paths, min_size=1, max_size=3).map(lambda found: "".join(f"DISCERN_MATCH {path}\n" for path in found))
answers = st.one_of(
    st.fixed_dictionaries({"exit": st.just(0), "output": said | declared}),
    st.fixed_dictionaries({"exit": st.sampled_from((0, 10, 1, -15)), "output": said}),
    st.builds(lambda reason: {"failure": reason}, st.sampled_from(WHEN_REASONS)),
)
LABELS = {"version": 1, "id": "law/case", "clause": "5", "summary": "drawn"}
cases = st.fixed_dictionaries(
    {
        "policy": policies(),
        "files": st.just({"q.md": "Why?", "b.md": " \n"}),
        "facts": facts,
        "when": st.fixed_dictionaries({}, optional=dict.fromkeys(("p", "q", "r", SEEDS[0]), answers)),
    }
).map(lambda drawn: LABELS | drawn)


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, Any]:
    """A case with one member, anywhere, replaced by something else or taken out."""
    case = json.loads(json.dumps(draw(cases)))
    value: Any = case
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        below = value[key]
        if not isinstance(below, dict | list) or not below or draw(st.integers(0, 3)) == 0:
            break
        value = below
    if draw(st.integers(0, 3)) == 0:
        del value[key]
    else:
        value[key] = draw(junk)
    return case


def same(case: dict[str, Any]) -> None:
    own, other = answer_bytes(json.dumps(case).encode()), ask(case)
    if isinstance(own, MalformedCase):
        assert set(other) == {"error"}, f"only discern refuses it: {own.message}"
    else:
        without_seed_questions(case, own, other)
        assert own == other


def without_seed_questions(case: dict[str, Any], *both: dict[str, Any]) -> None:
    """A seed's question is everyone's own: where it is asked, hashes say nothing."""
    for results in (answer.get("results", {}) for answer in both):
        for name in SEEDS:
            entry = case["policy"]["checkpoints"].get(name) if name in results else None
            if isinstance(entry, dict) and not {"question", "question_file"} & entry.keys() and results[name]["definition_hash"]:
                results[name]["definition_hash"] = "…"


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("drawn", [cases, spoilt()], ids=["well-formed", "spoilt"])
def test_both_say_the_same(effort: settings, drawn: st.SearchStrategy[dict[str, Any]]) -> None:
    """spec 10.2: a case has one answer, and what is no case is refused by both."""
    effort(given(drawn)(same))()


@pytest.mark.parametrize("effort", EFFORTS)
def test_both_read_a_pattern_alike(effort: settings) -> None:
    """spec 3: the same patterns are refused, and the others match the same paths."""

    @effort
    @given(st.lists(wild_patterns, min_size=1, max_size=8), st.lists(paths, min_size=1, max_size=12, unique_by=json.dumps))
    def law(drawn: list[str], listed: list[Any]) -> None:
        change = {"kind": "modified", "insertions": 1, "deletions": 0, "binary": False, "content": None}
        checkpoints = {str(number): {"paths": [pattern], "question": "?"} for number, pattern in enumerate(drawn)}
        facts = {"changes": [{"path": path} | change for path in listed], "base": None, "history": None}
        same(LABELS | {"policy": {"checkpoints": checkpoints}, "facts": facts})

    law()


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_schema_says_what_is_read(effort: settings) -> None:
    """spec 10.1: what the shipped schema admits is a case, and nothing else, but for what a schema cannot say."""
    schema = Draft202012Validator(json.loads((Path(SUITE).parent / "schemas" / "case.schema.json").read_text("utf-8")))

    @effort
    @given(spoilt())
    def law(case: dict[str, Any]) -> None:
        read = structure_case(case)
        refused = isinstance(read, MalformedCase)
        if not (refused and ("twice" in read.message or "fraction" in read.message or "1.0 is none of" in read.message)):
            assert schema.is_valid(case) != refused

    law()


REACHES = [
    pytest.param(200, {*get_args(OutcomeName)}, id="quick"),
    pytest.param(6_000, {*VETOES, *ENTRY_REASONS, *TRIGGER_REASONS, *WHEN_REASONS}, id="long", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("examples", "wanted"), REACHES)
def test_the_cases_reach_every_end(examples: int, wanted: set[str]) -> None:
    """What is drawn above is about something: every outcome comes up, and in a long search every veto and reason."""
    seen: set[str | None] = set()

    @settings(max_examples=examples, phases=(Phase.generate,), deadline=None, derandomize=True, database=None)
    @given(cases)
    def note(case: dict[str, Any]) -> None:
        for row in ask(case).get("results", {}).values():
            seen.update((row["outcome"], row["vetoed_by"], row["reason"]))

    note()
    assert wanted <= seen
