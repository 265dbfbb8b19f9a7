"""Cases, their answers, and the commands of `discern conformance` (spec 10)."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from discern.conformance import runner
from discern.conformance.answer import POLICY_COMMIT, answer, answer_bytes, trace
from discern.conformance.case import Case, MalformedCase, read_case, structure_case
from discern.conformance.expectations import SUITE, Broken, SuiteCase, difference, read_suite
from discern.documents import result_document
from tests.conftest import Start

HERE = Path(SUITE).parent
FILES = sorted(Path(SUITE).rglob("*.json"))
DOCUMENTS = {path: json.loads(path.read_text("utf-8")) for path in FILES}
CASES = read_suite()
assert isinstance(CASES, list)

CHANGE = {"path": "a", "kind": "added", "insertions": 1, "deletions": 0, "binary": False, "content": None}
GOOD: dict[str, Any] = {
    "version": 1,
    "id": "test/good",
    "clause": "10.1",
    "summary": "a good case",
    "policy": {"checkpoints": {"p": {"question": "?"}}},
    "facts": {"changes": [CHANGE], "base": None, "history": None},
}


def schema(name: str) -> jsonschema.Draft202012Validator:
    document = json.loads((HERE / "schemas" / f"{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


CASE, RESULT, INPUT, EVALUATION = (schema(name) for name in ("case", "result", "when-input", "evaluation"))


class Ran:
    """One call of `discern conformance`."""

    def __init__(self, *arguments: str, stdin: bytes = b"") -> None:
        out, err = io.StringIO(), io.StringIO()
        reader = io.TextIOWrapper(io.BytesIO(stdin))
        self.status = runner.main(arguments, reader, out, err)
        self.out, self.err = out.getvalue(), err.getvalue()

    def refusal(self) -> str:
        """The one line of a call that had nothing to work on."""
        assert (self.status, self.out, self.err.count("\n")) == (2, "", 1)
        return self.err


def given(content: object, **more: object) -> dict[str, Any]:
    """A good case whose file has this content."""
    return GOOD | {"facts": GOOD["facts"] | {"changes": [CHANGE | {"content": content}]}} | more


def one_file(folder: Path, document: object, name: str = "one.json") -> str:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return str(path)


# The suite as it is shipped


def test_discern_passes_its_own_suite():
    """10.3: without `--against` it drives itself."""
    ran = Ran("run")
    assert (ran.status, ran.out, ran.err) == (0, f"{len(FILES)} passed, 0 failed\n", "")


def test_an_id_is_the_path_of_its_file():
    """10.1: a case is found by its id."""
    assert {path.relative_to(SUITE).with_suffix("").as_posix(): document["id"] for path, document in DOCUMENTS.items()} == {
        document["id"]: document["id"] for document in DOCUMENTS.values()
    }


def test_a_clause_points_into_the_shipped_contract():
    """10.1: whoever has the package finds what a case is about."""
    contract = (HERE / "CONTRACT.md").read_text("utf-8")
    clauses = {*re.findall(r"^## (\d+) ", contract, re.MULTILINE), *re.findall(r"\*\*(\d+\.\d+)\*\*", contract)}
    assert {case.clause for case in CASES} <= clauses


def test_a_case_can_fail():
    """10.1: each case expects something, and each summary is one line that says what."""
    for document in DOCUMENTS.values():
        rows = document.get("expect", {"": {"": ""}})
        assert all(rows.values()), document["id"]
        assert 0 < len(document["summary"]) <= 140
        assert "\n" not in document["summary"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SUITE).with_suffix("").as_posix())
def test_a_case_its_answer_and_its_inputs_fit_their_schemas(path):
    """10.1, 10.2, 6.3: what the schemas say is what is."""
    document = DOCUMENTS[path]
    read = read_case(path.read_bytes())
    if isinstance(read, MalformedCase):
        assert document["expect_error"]
        unseen = "twice" in path.name or "float" in path.name  # what JSON Schema cannot say
        assert CASE.is_valid(document) == unseen
        return
    CASE.validate(document)
    RESULT.validate(json.loads(json.dumps(answer(read))))
    for traced in trace(read).values():
        if traced["input"] is not None:
            INPUT.validate(traced["input"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: row | {"note": 1},
        lambda row: {name: value for name, value in row.items() if name != "detail"},
        lambda row: row | {"outcome": "maybe"},
        lambda row: row | {"matched": None},
        lambda row: row | {"vetoed_by": "kinds"},
        lambda row: row | {"reason": "when_timeout"},
        lambda row: row | {"definition_hash": None},
        lambda row: row | {"matched": [{"bytes": "!"}]},
    ],
)
def test_the_result_schema_objects(spoil):
    """10.2: a schema that nothing can break describes nothing."""
    document = answer(structure_case(GOOD))
    RESULT.validate(document)
    assert not RESULT.is_valid({**document, "results": {"p": spoil(document["results"]["p"])}})


def test_a_real_evaluation_fits_its_schema(start: Start):
    """9.2: the schema for the result ships in the package."""
    policy = "".join(
        f"[checkpoints.{name}]\nquestion = '?'\n{more}\n"
        for name, more in {
            "fires": "teach = 'T'",
            "advises": "mode = 'advise'\nsimilar_new_file = true",
            "vetoed": "kinds = ['deleted']",
            "dropped": "adds_matching = ['x']",
            "bad": "colour = 1",
            "passes": "when = 'exit 10'",
            "unknown": "when = 'exit 3'",
        }.items()
    )
    repo = start({"a.c": "a\n"}, policy=policy)
    repo.write("a_new.c", "b\n")
    repo.write("long", b"x" * 9000)
    repo.write(b"raw\xff", "r\n")
    document = json.loads(json.dumps(result_document(repo.evaluate())))
    EVALUATION.validate(document)
    assert {row["outcome"] for row in document["checkpoints"]} >= {"fired", "vetoed", "dropped"}
    assert not EVALUATION.is_valid(document | {"version": 2})
    assert not EVALUATION.is_valid(document | {"drops": [{**document["drops"][0], "account": "two\nlines"}]})


# Reading a case


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "no JSON"),
        (b"[]", "a case is an object, not a list"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"version": NaN}', "no JSON"),
        (b'{"version": 1' + b"0" * 5_000 + b"}", "no JSON"),
        (json.dumps(GOOD).replace('"a"', '"\\udc80"').encode(), "half a character"),
        (json.dumps(GOOD | {"version": 1.0}).encode(), "version"),
        (json.dumps(given({"added": [{"line": "x", "times": 0}], "removed": []})).encode(), "times"),
        (json.dumps(given({"unavailable": "bored"})).encode(), "unavailable"),
        (json.dumps(GOOD | {"facts": GOOD["facts"] | {"changes": [CHANGE, CHANGE]}}).encode(), "twice"),
        (json.dumps(GOOD | {"facts": GOOD["facts"] | {"base": ["a", {"bytes": "YQ=="}]}}).encode(), "twice"),
        (json.dumps(given(None, when={"p": {"failure": "when_timeout", "exit": 0, "output": ""}})).encode(), "more than one"),
    ],
)
def test_a_malformed_case_is_one_line(raw, said):
    """10.2: exit 2, one line on standard error, nothing on standard output."""
    assert said in Ran("evaluate", stdin=raw).refusal()


def test_a_message_is_short_and_safe():
    """10.2: one line, whatever the case holds."""
    message = Ran("evaluate", stdin=json.dumps(GOOD | {"version": "\x1b[31m\n" + "x" * 10_000}).encode()).refusal()
    assert len(message) < 400
    assert "\x1b" not in message


def test_lines_are_described_not_stored():
    """10.1: however often a line stands there, the case is answered at once; over the limit is over it."""
    case = given(
        {"added": [{"line": "x", "times": 10**12}], "removed": []},
        policy={"checkpoints": {"p": {"question": "?", "adds_matching": ["x"]}}},
    )
    row = answer(structure_case(case))["results"]["p"]
    assert (row["reason"], row["detail"]) == ("trigger_content_unavailable", "comparison_work")


def test_what_is_expected_is_not_read():
    """10.2: an `expect` in a case is ignored."""
    assert isinstance(read_case(json.dumps(GOOD | {"expect": 3, "expect_error": [], "trace": 1}).encode()), Case)


def test_rows_come_in_the_order_of_the_policy():
    """10.2: bad entries among the others."""
    entries = {"z": {"question": "?"}, "m": {"kinds": []}, "a": {"question": "?"}}
    assert list(answer(structure_case(GOOD | {"policy": {"checkpoints": entries}}))["results"]) == ["z", "m", "a"]


def test_an_input_has_a_policy_commit():
    """10.1: forty zeros, since a case has no commits."""
    case = GOOD | {"policy": {"checkpoints": {"p": {"question": "?", "when": "c"}}}}
    assert trace(structure_case(case))["p"]["input"]["policy_commit"] == POLICY_COMMIT == "0" * 40


# The commands


def test_evaluate_prints_one_document():
    """10.2: one case in, one document out, in ASCII."""
    ran = Ran("evaluate", stdin=json.dumps(GOOD | {"summary": "é"}).encode())
    assert (ran.status, ran.err, ran.out.count("\n"), ran.out.isascii()) == (0, "", 1, True)
    assert json.loads(ran.out) == answer_bytes(json.dumps(GOOD).encode())


def test_a_closed_standard_input_is_told():
    """9.1: one line, no traceback."""
    err = io.StringIO()
    assert (runner.main(["evaluate"], None, io.StringIO(), err), err.getvalue().count("\n")) == (2, 1)


def test_jsonl_answers_line_by_line():
    """10.2: a line in, a line out, in order; an error in place of a malformed one, and in place of an empty one."""
    bad_policy = json.dumps(GOOD | {"policy": {"checkpoints": 3}})
    ran = Ran("evaluate", "--jsonl", stdin="\n".join([json.dumps(GOOD), "{", "", bad_policy, json.dumps(GOOD)]).encode())
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.status, len(rows)) == (0, 5)
    assert rows[0] == rows[4] == answer_bytes(json.dumps(GOOD).encode())
    for row in rows[1:3]:
        assert set(row) == {"error"}
        assert "\n" not in row["error"]
    assert rows[3] == {"results": {}, "policy_drop": "governing_config_invalid"}


def test_run_tells_the_first_difference(tmp_path):
    """10.3: a line a failing case with its clause, what was expected and what came; then the counts; exit 1."""
    good = GOOD | {"expect": {"p": {"outcome": "fired"}}}
    one_file(tmp_path, good, "a.json")
    one_file(tmp_path, good | {"id": "test/bad", "expect": {"p": {"matched": ["b"], "outcome": "vetoed"}}}, "b.json")
    one_file(tmp_path, "no case", "ignored.txt")
    ran = Ran("run", str(tmp_path))
    assert ran.status == 1
    assert ran.out == 'FAIL test/bad (10.1): p.matched: expected ["b"], got ["a"]\n1 passed, 1 failed\n'


def test_run_holds_discern_to_the_trace(tmp_path):
    """10.1: steps and inputs are beyond an answer, and discern is held to them all the same."""
    steps = [{"step": "generated", "before": 1, "after": 1}]
    ran = Ran("run", one_file(tmp_path, GOOD | {"expect": {"p": {"outcome": "fired"}}, "trace": {"p": {"steps": steps}}}))
    assert ran.status == 1
    assert ran.out.startswith("FAIL test/good (10.1): trace of p.steps: expected ")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "no JSON"),
        ([], "a case is an object"),
        ({**GOOD, "id": 3, "expect": {}}, "a case is an object with"),
        (GOOD, "one of expect"),
        ({**GOOD, "expect": {}, "expect_error": True}, "one of expect"),
        ({**GOOD, "expect": {"p": 3}}, "one of expect"),
        ({**GOOD, "expect_error": False}, "one of expect"),
        ({**GOOD, "expect": {}, "trace": []}, "trace"),
    ],
)
def test_a_file_that_is_no_case_is_named(tmp_path, document, said):
    """10.3: exit 2 and one line that names the file."""
    path = one_file(tmp_path, document)
    refusal = Ran("run", path).refusal()
    assert path in refusal
    assert said in refusal
    assert Ran("list", path).refusal() == refusal


def test_a_suite_that_is_not_there_is_named(tmp_path):
    """10.3: a missing file, a file that cannot be opened, a folder without cases."""
    assert "there is no" in Ran("run", str(tmp_path / "missing")).refusal()
    assert "no case" in Ran("run", str(tmp_path)).refusal()
    (tmp_path / "loop.json").symlink_to("loop.json")
    assert "loop.json" in Ran("run", str(tmp_path)).refusal()


def test_list_prints_ids_and_clauses():
    """10.4: a line a case."""
    ran = Ran("list")
    rows = [line.split(maxsplit=2) for line in ran.out.splitlines()]
    assert [(name, clause) for name, clause, _ in rows] == [(case.id, case.clause) for case in CASES]


@pytest.mark.parametrize("arguments", [(), ("judge",), ("run", "--fast"), ("evaluate", "file"), ("run", "--against")])
def test_a_wrong_call_is_one_line(arguments):
    """9.1: exit 2."""
    assert "--help" in Ran(*arguments).refusal()


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help")])
def test_help_is_printed(arguments):
    """9.1: asked for, it is no error."""
    ran = Ran(*arguments)
    assert (ran.status, ran.err) == (0, "")
    assert "discern conformance" in ran.out


def test_a_reader_that_goes_away_is_no_error():
    """10.4: `discern conformance list | head` ends quietly."""
    listing = subprocess.Popen(
        [sys.executable, "-m", "discern", "conformance", "list"],
        cwd=HERE.parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert listing.stdout is not None
    assert listing.stderr is not None
    listing.stdout.close()
    said = listing.stderr.read()
    listing.stderr.close()
    assert (listing.wait(), said) == (0, b"")


# Comparing


def case_expecting(**expectation: object) -> SuiteCase:
    ((member, value),) = expectation.items()
    return SuiteCase("test/one", "10.1", "s", {}, (member, value), {})


ROW = {"results": {"p": {"outcome": "fired", "matched": ["a"], "detail": None}}, "policy_drop": None}


@pytest.mark.parametrize(
    ("expectation", "reply", "said"),
    [
        ({"expect": {"p": {"outcome": "fired"}}}, ROW, None),
        ({"expect": {}}, ROW, None),
        ({"expect": {"p": {"outcome": "vetoed"}}}, ROW, 'p.outcome: expected "vetoed", got "fired"'),
        ({"expect": {"p": {"reason": None}}}, ROW, "p.reason: expected null, got nothing"),
        ({"expect": {"q": {"outcome": "fired"}}}, ROW, "q: expected a result, got null"),
        ({"expect": {}}, {"results": [], "policy_drop": None}, "results: expected an object, got []"),
        ({"expect": {}}, {"results": {}, "policy_drop": "x"}, 'policy_drop: expected null, got "x"'),
        ({"expect": {"p": {"n": 1}}}, {"results": {"p": {"n": True}}, "policy_drop": None}, "p.n: expected 1, got true"),
        ({"expect": {"p": {"n": 1}}}, {"results": {"p": {"n": 1.0}}, "policy_drop": None}, "p.n: expected 1, got 1.0"),
        ({"expect_policy_drop": "x"}, {"results": {}, "policy_drop": "x"}, None),
        ({"expect_policy_drop": "x"}, ROW, 'policy_drop: expected "x", got null'),
        ({"expect_policy_drop": "x"}, ROW | {"policy_drop": "x"}, "results: expected {}, got "),
        ({"expect_error": True}, MalformedCase("no case"), None),
        ({"expect_error": True}, {}, "expected a refusal, got {}"),
        ({"expect": {}}, MalformedCase("no case"), "expected an answer, got a refusal: no case"),
        ({"expect_error": True}, Broken("it crashed"), "no answer: it crashed"),
    ],
)
def test_a_difference_is_told_once(expectation, reply, said):
    """10.3: what is named must be there and equal, and nothing else is looked at."""
    found = difference(case_expecting(**expectation), reply)
    assert found is None if said is None else found is not None and found.startswith(said)
