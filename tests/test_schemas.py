"""The shipped schemas and the contract beside them: in the contract's words, valid, strict, and true of what discern writes."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from discern import documents, vocabulary
from discern.conformance import runner
from discern.conformance.case import MalformedCase, read_case, structure_case
from discern.conformance.expectations import SUITE
from discern.pipeline import STEPS
from tests.repositories import Repo, begin

ROOT = Path(__file__).parents[1]
HERE = Path(SUITE).parent
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text("utf-8")) for path in HERE.glob("schemas/*.json")}
CASE, ANSWER, RESULT, INPUT = (Draft202012Validator(SCHEMAS[name]) for name in ("case", "result", "evaluation", "when-input"))
CONTRACT = (HERE / "CONTRACT.md").read_text("utf-8")

DETAILS = (*get_args(vocabulary.FactReason), "comparison_work")
DROPS = tuple(reason for group in get_args(vocabulary.DropReason) for reason in get_args(group))
WORDS: dict[str, tuple[str, ...]] = {
    "version": (),
    "kind": vocabulary.KINDS,
    "mode": vocabulary.MODES,
    "outcome": get_args(vocabulary.OutcomeName),
    "vetoed_by": vocabulary.VETOES,
    "state": vocabulary.STATES,
    "step": tuple(name for name, _, _ in STEPS),
    "failure": vocabulary.WHEN_REASONS,
    "detail": DETAILS,
    "reason": (*vocabulary.ENTRY_REASONS, *vocabulary.TRIGGER_REASONS, *vocabulary.WHEN_REASONS),
    "binary.unavailable": vocabulary.FILE_REASONS,
    "lines.unavailable": vocabulary.FILE_REASONS,
    "content.unavailable": vocabulary.FILE_REASONS,
    "base.unavailable": vocabulary.BASE_REASONS,
    "history.unavailable": vocabulary.HISTORY_REASONS,
    "candidate.kind": ("worktree", "commit"),
    "drop.reason": DROPS,
    "drop.scope": ("policy", "checkpoint"),
    "policy_drop": ("governing_config_invalid",),
}
RULES = ("if", "then", "else", "not")  # these hold parts of an enumeration


def enumerations(schema: object, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Every enumeration in a schema, under the names of the members and definitions it stands in."""
    if isinstance(schema, list):
        for one in schema:
            yield from enumerations(one, names)
    elif isinstance(schema, dict):
        if isinstance(schema.get("enum"), list):
            yield names, [word for word in schema["enum"] if word is not None]
        for key, below in schema.items():
            named = isinstance(below, dict) and key in ("properties", "$defs")
            for name, one in below.items() if named else () if key in RULES else [("", below)]:
                yield from enumerations(one, (*names, name) if named else names)


def objects(schema: object) -> Iterator[dict[str, Any]]:
    """Every object shape in a schema, but for conditions on shapes."""
    if isinstance(schema, list):
        for one in schema:
            yield from objects(one)
    elif isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for key, below in schema.items():
            if key not in RULES:
                yield from objects(below)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_and_stands_alone(name):
    """10.1: JSON Schema 2020-12, with a name that no host has to answer for and no reference beyond itself."""
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert re.fullmatch(r"urn:discern:[a-z:-]+:1", schema["$id"])
    assert schema["title"]
    for reference in re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)):
        assert reference.removeprefix("#/$defs/") in schema["$defs"]


def test_each_document_of_the_contract_has_a_schema_of_its_own():
    """6.3, 9.2, 10.1, 10.2."""
    assert set(SCHEMAS) == {"case", "result", "evaluation", "when-input"}
    assert len({schema["$id"] for schema in SCHEMAS.values()}) == len(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_enumerations_are_the_vocabulary(name):
    """2.1, 5: the words of the contract, all of them and no others."""
    found = list(enumerations(SCHEMAS[name]))
    assert found
    for names, words in found:
        expected = WORDS.get(".".join(names[-2:])) or WORDS[names[-1]]
        assert sorted(words) == sorted(expected), names


@pytest.mark.parametrize("name", ["result", "evaluation", "when-input"])
def test_what_discern_writes_is_closed(name):
    """6.3, 9.2, 10.2: nothing else may stand there."""
    shapes = list(objects(SCHEMAS[name]))
    assert shapes
    assert all(shape.get("additionalProperties") is False for shape in shapes)


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        (SCHEMAS["evaluation"], documents.ResultDocument),
        (SCHEMAS["evaluation"]["properties"]["policy"], documents.PolicyDocument),
        (SCHEMAS["evaluation"]["properties"]["candidate"], documents.CandidateDocument),
        (SCHEMAS["evaluation"]["$defs"]["checkpoint"], documents.CheckpointDocument),
        (SCHEMAS["evaluation"]["$defs"]["drop"], documents.DropDocument),
        (SCHEMAS["evaluation"]["$defs"]["related"], documents.RelatedDocument),
        (SCHEMAS["evaluation"]["$defs"]["checkpoint"]["properties"]["steps"]["items"], documents.StepDocument),
    ],
)
def test_members_are_those_of_the_typed_documents(schema, document):
    """9.2: the same members, and the same of them always there."""
    assert set(schema["properties"]) == document.__required_keys__ | document.__optional_keys__
    assert set(schema["required"]) == document.__required_keys__


# Cases

SHAPES: dict[str, Any] = {
    "version": 1,
    "id": "test/shapes",
    "clause": "10.1",
    "summary": "each shape that a case may have",
    "policy": {"checkpoints": {"p": {"question": "?", "when": "c"}}},
    "facts": {
        "changes": [
            {
                "path": {"bytes": "YQ=="},
                "kind": "added",
                "insertions": 3,
                "deletions": 0,
                "binary": False,
                "content": {"added": ["x", {"bytes": "/w=="}, {"line": {"bytes": "/w=="}, "times": 1}], "removed": []},
            },
            {
                "path": "b",
                "kind": "deleted",
                "insertions": 0,
                "deletions": 1,
                "binary": {"unavailable": "unreadable"},
                "lines": {"unavailable": "unreadable"},
                "content": {"unavailable": "unreadable"},
            },
        ],
        "base": ["b", {"bytes": "/w=="}],
        "history": {"commits": ["0" * 40]},
    },
    "when": {"p": {"exit": 0, "output": ""}, "q": {"failure": "when_timeout"}},
}
MAPS = ("policy", "files", "when")  # the names in them are the author's


def with_unknown_members(value: object, name: str = "") -> object:
    """The same with a member that nobody knows in every object."""
    if isinstance(value, list):
        return [with_unknown_members(one) for one in value]
    if not isinstance(value, dict) or name == "policy":
        return value
    below = {key: with_unknown_members(one, key) for key, one in value.items()}
    return below if name in MAPS else {**below, "remark": ["?"]}


def test_unknown_members_of_a_case_are_ignored():
    """10.1: by the schema as by the reader, at every depth."""
    case = with_unknown_members(SHAPES)
    assert json.dumps(case).count("remark") == 16
    CASE.validate(case)
    assert structure_case(case) == structure_case(SHAPES)


def at(*place: str | int, value: object) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        target: Any = document
        for step in place[:-1]:
            target = target[step]
        target[place[-1]] = value

    return change


def without(*place: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        target: Any = document
        for step in place[:-1]:
            target = target[step]
        del target[place[-1]]

    return change


FIRST, SECOND = ("facts", "changes", 0), ("facts", "changes", 1)


@pytest.mark.parametrize(
    "spoil",
    [
        at("version", value=2),
        at("id", value=1),
        at("policy", value=[]),
        without("facts"),
        without("facts", "history"),
        at("files", value={"q": 1}),
        at(*FIRST, "path", value={"bytes": "YQ"}),
        at(*FIRST, "kind", value="renamed"),
        at(*FIRST, "insertions", value=-1),
        at(*FIRST, "deletions", value=True),
        at(*FIRST, "binary", value=None),
        without(*FIRST, "content"),
        at(*FIRST, "content", "added", 0, value={"line": {"line": "x", "times": 1}, "times": 1}),
        at(*FIRST, "content", "added", 2, "times", value=0),
        at(*SECOND, "lines", value=None),
        at(*SECOND, "binary", "unavailable", value="git_failed"),
        at("facts", "base", value={"unavailable": "shallow"}),
        at("facts", "history", value={"unavailable": "line_limit"}),
        at("facts", "history", "commits", 0, value=None),
        at("when", "p", value={"exit": 0}),
        at("when", "q", "failure", value="timeout"),
        at("when", "q", "exit", value=0),
    ],
)
def test_the_case_schema_refuses_what_the_reader_refuses(spoil):
    """10.1: a malformed case is one to both."""
    broken = json.loads(json.dumps(SHAPES))
    CASE.validate(broken)
    spoil(broken)
    assert not CASE.is_valid(broken)
    assert isinstance(read_case(json.dumps(broken).encode()), MalformedCase)


@pytest.mark.parametrize(
    "expectation",
    [
        {"expect": {"p": {"outcome": "maybe"}}},
        {"expect": {"p": {"vetoed": "kinds"}}},
        {"expect": {}, "expect_error": True},
        {"expect_error": False},
        {"expect_policy_drop": "checkpoint_definition_invalid"},
    ],
)
def test_the_case_schema_refuses_what_can_never_be_met(expectation):
    """10.1: a slip in what is expected is found before anybody is blamed for it."""
    assert not CASE.is_valid(SHAPES | expectation)


# Answers

ROW = {"outcome": "vetoed", "vetoed_by": "kinds", "definition_hash": "0" * 64} | dict.fromkeys(
    ("matched", "related", "reason", "detail", "changed_files", "history_fingerprint")
)


def test_each_line_of_an_answer_to_the_suite_fits_the_schema():
    """10.2: results, policy drops, and an error in place of what is malformed."""
    cases = [json.dumps(json.loads(path.read_text("utf-8"))) for path in sorted(Path(SUITE).rglob("*.json"))]
    out = io.StringIO()
    questions = io.TextIOWrapper(io.BytesIO("\n".join(cases).encode()))
    assert runner.main(["evaluate", "--jsonl"], questions, out, io.StringIO()) == 0
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(answers) == len(cases)
    for said in answers:
        ANSWER.validate(said)
    assert sum("error" in said for said in answers) > 50
    assert sum(said.get("policy_drop") is not None for said in answers) > 5


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"results": {}},
        {"error": 1},
        {"error": "two\nlines"},
        {"error": "both", "results": {}, "policy_drop": None},
        {"results": {}, "policy_drop": "merge_base_unresolved"},
        {"results": {"p": {"outcome": "fired"}}, "policy_drop": None},
        {"results": {"p": ROW}, "policy_drop": "governing_config_invalid"},
    ],
)
def test_the_answer_schema_refuses(broken):
    """10.2: one shape or the other, with every member; a policy that is unusable has no results."""
    ANSWER.validate({"results": {"p": ROW}, "policy_drop": None})
    assert not ANSWER.is_valid(broken)


# Results and inputs of real evaluations

POLICY = """[checkpoints.open]
question = "?"
teach = "It breaks."
reference = "docs/api.md"
[checkpoints.twin]
mode = "advise"
question = "?"
similar_new_file = true
[checkpoints.deleted]
question = "?"
kinds = ["deleted"]
[checkpoints.text]
question = "?"
adds_matching = ["x"]
[checkpoints.colour]
question = "?"
colour = 1
[checkpoints.yes]
question = "?"
paths = ["src/"]
when = 'cp "$DISCERN_CHECKPOINT_INPUT" "$HOME/told.json"'
[checkpoints.no]
question = "?"
paths = ["src/"]
when = "exit 10"
[checkpoints.odd]
question = "?"
paths = ["src/"]
when = "exit 3"
"""


def discern(repo: Repo, *arguments: str) -> bytes:
    """What the program prints; it must not refuse."""
    command = [sys.executable, "-P", "-m", "discern", *arguments]
    environment = repo.environment | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=repo.path, env=environment, capture_output=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout


def evaluated(repo: Repo, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(discern(repo, "evaluate", "--format", "json", *arguments))
    RESULT.validate(document)
    return document


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is printed of the change below, nothing run and nothing written."""
    return json.dumps(evaluated(changed(tmp_path_factory.mktemp("result")), "--dry-run"))


@pytest.fixture
def change(tmp_path: Path) -> Repo:
    return changed(tmp_path)


def changed(place: Path) -> Repo:
    """A change with which each outcome comes up."""
    repo = begin(place, POLICY, {"src/a.c": "a\n"})
    repo.write("src/a_new.c", "b\n")
    repo.write("src/long.c", b"x" * 9_000)
    repo.write(b"raw\xff", "r\n")
    return repo


def test_results_of_real_evaluations_fit_the_schema(change):
    """9.2: every outcome, drops of entries and facts, words that were given, a dry run, a commit."""
    document = evaluated(change)
    outcomes = {row["id"]: row["outcome"] for row in document["checkpoints"]}
    assert outcomes == {
        "open": "fired",
        "twin": "fired",
        "deleted": "vetoed",
        "text": "dropped",
        "yes": "fired",
        "no": "passed",
        "odd": "indeterminate",
    }
    assert {drop["checkpoint"] for drop in document["drops"]} == {"colour", "text", "odd"}
    discern(change, "declare", "open", "--unmet", "--why", "Not yet.")
    change.commit()
    for more in ([], ["--dry-run"], ["--commit", "HEAD"], ["open"]):
        row = evaluated(change, *more)["checkpoints"][0]
        assert row["id"] == "open"
    assert evaluated(change, "--dry-run", "yes")["checkpoints"][0]["outcome"] == "undecided"


def test_a_result_without_a_policy_fits_the_schema(start):
    """9.2, 1.2, 1.3: no merge-base; a governing file that is no TOML."""
    unrelated = start(policy="")
    unrelated.git("checkout", "--quiet", "--orphan", "other")
    unrelated.commit()
    broken = start(policy="[", name="two")
    reasons = [[drop["reason"] for drop in evaluated(repo)["drops"]] for repo in (unrelated, broken)]
    assert reasons == [["merge_base_unresolved"], ["governing_config_invalid"]]


@pytest.mark.parametrize(
    "spoil",
    [
        at("version", value=2),
        at("note", value=1),
        without("drops"),
        at("policy", "commit", value="HEAD"),
        at("candidate", "kind", value="index"),
        at("checkpoints", 0, "outcome", value="vetoed"),
        at("checkpoints", 2, "outcome", value="fired"),
        at("checkpoints", 0, "mode", value="warn"),
        at("checkpoints", 0, "state", value="open"),
        at("checkpoints", 0, "matched", 0, value=1),
        at("checkpoints", 0, "line", value="secret"),
        at("checkpoints", 0, "subject", value="none"),
        at("checkpoints", 0, "steps", 0, "after", value=-1),
        without("checkpoints", 3, "drop"),
        at("drops", 0, "account", value="two\nlines"),
        at("drops", 0, "account", value="x" * 501),
        at("drops", 0, "reason", value="broken"),
    ],
)
def test_the_result_schema_refuses(result, spoil):
    """9.2: a document that is nearly one."""
    document = json.loads(result)
    spoil(document)
    assert not RESULT.is_valid(document)


def test_the_input_of_a_command_fits_the_schema(change):
    """6.3: as a command found it, with nothing of the change but what the contract names."""
    evaluated(change, "yes")
    told = json.loads((Path(change.environment["HOME"]) / "told.json").read_text("utf-8"))
    INPUT.validate(told)
    assert [file["path"] for file in told["changed_files"]] == ["src/a_new.c", "src/long.c"]
    for spoil in (
        at("version", value=2),
        at("question", value="?"),
        at("changed_files", value=[]),
        at("changed_files", 0, "path", value={"bytes": "/w=="}),
        at("changed_files", 0, "content", value=["secret"]),
        at("changed_files", 0, "binary", value={"unavailable": "unreadable"}),
        at("checkpoint", "mode", value="warn"),
        at("policy_commit", value="HEAD"),
        at("history", "fingerprint", value="f"),
        without("checkpoint", "id"),
    ):
        broken = json.loads(json.dumps(told))
        spoil(broken)
        assert not INPUT.is_valid(broken)


# The contract beside them


@pytest.mark.parametrize(
    "word",
    sorted({*vocabulary.CHECKPOINT_FIELD_ROLES, *vocabulary.VETOES, *DROPS, *DETAILS, *get_args(vocabulary.OutcomeName)}),
)
def test_the_contract_has_every_word(word):
    """0: whoever has only the package has every field, veto, reason and outcome."""
    assert re.search(rf"`{word}[`\s]", CONTRACT), word


LIMITS = [
    *("CONFIG_LIMIT", "QUESTION_FILE_LIMIT", "THRESHOLD_LIMIT", "ALTERNATIVES_LIMIT", "FILE_LIMIT", "TOTAL_LIMIT", "LINE_LIMIT"),
    *("LINE_COUNT_LIMIT", "BINARY_PREFIX", "COUNTING_LIMIT", "HISTORY_LIMIT", "COMPARISON_LIMIT", "SUBJECT_FILE_LIMIT"),
    *("PATTERNS_LIMIT", "PATTERN_BYTES_LIMIT", "DOMINANT_DELETIONS", "WHEN_PASSES", "WHEN_SECONDS", "WHEN_OUTPUT_LIMIT"),
    *("WHEN_EXCERPT", "RATIONALE_LIMIT"),
]


@pytest.mark.parametrize("limit", LIMITS)
def test_the_contract_has_every_limit(limit):
    """0: as an exact number."""
    assert re.search(rf"(?<![\d,.]){getattr(vocabulary, limit):,}(?![\d,])", CONTRACT)


def test_the_clauses_of_the_contract_are_numbered_without_a_gap():
    """10.1: each number once, in order, below the heading of its section."""
    numbers = [tuple(map(int, one.split("."))) for one in re.findall(r"\*\*(\d+\.\d+)\*\*", CONTRACT)]
    assert numbers == sorted(set(numbers))
    sections = [int(one) for one in re.findall(r"^## (\d+) ", CONTRACT, re.MULTILINE)]
    assert sections == list(range(11))
    for section in set(sections) - {0, 3}:
        below = [number for part, number in numbers if part == section]
        assert below == list(range(1, len(below) + 1))


def test_the_hashes_of_the_contract_are_what_they_say():
    """7.1: the definition that the contract writes out has the hash beside it."""
    written, told = re.search(r"^    (\{\"adds_matching.*\})\n    ([0-9a-f]{64})$", CONTRACT, re.MULTILINE).groups()
    assert sha256(f"discern-definition/v1\n{written}".encode()).hexdigest() == told
    case = SHAPES | {"policy": {"checkpoints": {"p": {"question": "Is this change right?"}}}}
    reply = io.StringIO()
    runner.main(["evaluate"], io.TextIOWrapper(io.BytesIO(json.dumps(case).encode())), reply, io.StringIO())
    assert json.loads(reply.getvalue())["results"]["p"]["definition_hash"] == told
