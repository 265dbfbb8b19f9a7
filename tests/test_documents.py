"""The result document: its members, its bytes, and the strict way back (spec 9.2)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from discern.definitions import Definition
from discern.documents import DocumentFault, PathTexts, dumps, read_result, result_document, result_json
from discern.identity import path_values
from discern.outcomes import Drop, DropRecord, Evaluation, Judgement, Related, Result, Step, Veto

BASE, HEAD, OTHER, HASH, SUBJECT = "1" * 40, "2" * 40, "3" * 40, "d" * 64, "e" * 64
TIMEOUT = Drop("when_timeout", None, "it ran for more than 10 s")
LOST = Drop("trigger_content_unavailable", "file_limit", "b is too large")


def judged(ident, outcome="fired", *, mode="stop", state="none", subject=None, rationale=None, definition=None, **evaluation):
    return Judgement(
        definition=Definition(id=ident, mode=mode, question="Is it well?", **(definition or {})),
        definition_hash=HASH,
        evaluation=Evaluation(id=ident, outcome=outcome, **evaluation),
        subject=subject,
        state=state,
        rationale=rationale,
    )


def drop_record(ident, drop, mode="stop"):
    return DropRecord(
        checkpoint=ident, mode=mode, policy_commit=BASE, reason=drop.reason, detail=drop.detail, account=drop.account
    )


RESULT = Result(
    policy_commit=BASE,
    trunk="refs/heads/main",
    other_bases=(OTHER,),
    head=HEAD,
    blocking=True,
    checkpoints=(
        judged(
            "z-first",
            state="declared_unmet",
            rationale="Not yet.",
            subject=SUBJECT,
            matched=("a\udcff", "é\n"),
            related=(Related("é\n", "old"),),
            steps=(Step("generated", 3, 3), Step("selector", 3, 2)),
            definition={"question_file": "ask/q.md", "teach": "Callers pin us.", "reference": "docs/api.md"},
        ),
        judged("hint", mode="advise", matched=("a",)),
        judged(
            "lost",
            "indeterminate",
            state="awaiting",
            subject=SUBJECT,
            drop=TIMEOUT,
            matched=("a",),
            steps=(Step("when", 1, None),),
        ),
        judged("lost-hint", "indeterminate", mode="advise", drop=TIMEOUT, matched=("a",)),
        judged("vetoed", "vetoed", veto=Veto("kinds")),
        judged("passed", "passed"),
        judged("dropped", "dropped", drop=LOST),
        judged("undecided", "undecided", matched=("a",)),
    ),
    drops=(
        drop_record("lost", TIMEOUT),
        drop_record("lost-hint", TIMEOUT, mode="advise"),
        drop_record("dropped", LOST),
        DropRecord(
            checkpoint=None, mode=None, policy_commit=BASE, reason="question_store_corrupt", detail=None, account="no JSON"
        ),
    ),
)


def checkpoint(ident):
    return next(entry for entry in result_document(RESULT)["checkpoints"] if entry["id"] == ident)


def test_a_document_has_the_members_of_the_contract_in_its_order():
    """spec 9.2: version, policy, candidate, blocking, checkpoints in the order of the file, drops."""
    document = result_document(RESULT)
    assert list(document) == ["version", "policy", "candidate", "blocking", "checkpoints", "drops"]
    assert document["version"] == 1
    assert document["policy"] == {"commit": BASE, "trunk": "refs/heads/main", "other_bases": [OTHER]}
    assert document["candidate"] == {"head": HEAD, "kind": "worktree"}
    assert document["blocking"] is True
    assert [entry["id"] for entry in document["checkpoints"]] == [one.definition.id for one in RESULT.checkpoints]


def test_a_checkpoint_has_every_member_that_applies():
    """spec 9.2: a fired question with its texts, paths that are not UTF-8 as bytes, related evidence, the steps."""
    assert checkpoint("z-first") == {
        "id": "z-first",
        "mode": "stop",
        "outcome": "fired",
        "question": "Is it well?",
        "question_file": "ask/q.md",
        "teach": "Callers pin us.",
        "reference": "docs/api.md",
        "matched": [{"bytes": "Yf8="}, "é\n"],
        "related": [{"kind": "similar_existing", "for_path": "é\n", "path": "old"}],
        "state": "declared_unmet",
        "rationale": "Not yet.",
        "definition_hash": HASH,
        "subject": SUBJECT,
        "steps": [{"step": "generated", "before": 3, "after": 3}, {"step": "selector", "before": 3, "after": 2}],
    }


def test_members_that_do_not_apply_are_left_out():
    """spec 9.2: what is marked `?` is absent, never null; `subject` is null."""
    assert checkpoint("vetoed") == {
        "id": "vetoed",
        "mode": "stop",
        "outcome": "vetoed",
        "vetoed_by": "kinds",
        "matched": [],
        "related": [],
        "state": "none",
        "definition_hash": HASH,
        "subject": None,
        "steps": [],
    }


@pytest.mark.parametrize(
    ("ident", "served"),
    [
        ("z-first", True),
        ("hint", True),
        ("lost", True),
        ("lost-hint", False),
        ("vetoed", False),
        ("passed", False),
        ("dropped", False),
        ("undecided", False),
    ],
)
def test_a_question_is_served_by_a_fire_and_an_indeterminate_stop(ident, served):
    """spec 6.7: an indeterminate advise serves nothing, and what did not fire asks nothing."""
    assert ("question" in checkpoint(ident)) == served


@pytest.mark.parametrize("ident", ["lost", "lost-hint", "dropped"])
def test_a_checkpoints_drop_is_an_entry_of_the_drops(ident):
    """spec 9.2: `drops` holds all of them, in the one shape."""
    entry = checkpoint(ident)["drop"]
    assert list(entry) == ["scope", "checkpoint", "mode", "policy_commit", "reason", "detail", "account"]
    assert entry in result_document(RESULT)["drops"]


def test_a_drop_of_the_policy_names_no_checkpoint():
    """spec 9.2: scope, checkpoint and mode tell whose drop it is."""
    assert result_document(RESULT)["drops"][-1] == {
        "scope": "policy",
        "checkpoint": None,
        "mode": None,
        "policy_commit": BASE,
        "reason": "question_store_corrupt",
        "detail": None,
        "account": "no JSON",
    }


def test_a_document_is_one_line_of_ascii_json():
    """spec 9.2: exactly one JSON document, which no locale and no terminal can spoil."""
    written = dumps(result_document(RESULT))
    assert written.isascii()
    assert "\n" not in written
    assert json.loads(written) == result_document(RESULT)


@pytest.mark.parametrize("result", [RESULT, Result(policy_commit=None, trunk=None, head=None)], ids=["full", "empty"])
def test_a_document_written_in_pieces_is_the_same(result):
    """spec 9.2: what is printed piece by piece is the document, on one line."""
    assert "".join(result_json(result)) == dumps(result_document(result)) + "\n"


def test_a_document_is_read_back():
    """spec 9.2: reading and writing again gives an equal document."""
    document = result_document(RESULT)
    read = read_result(json.loads(dumps(document)))
    assert isinstance(read, Result)
    assert result_document(read) == document
    assert (read.checkpoints[0].evaluation, read.drops) == (RESULT.checkpoints[0].evaluation, RESULT.drops)


def test_an_empty_result_is_read_back():
    """spec 1.2: an unborn HEAD has neither policy commit nor head."""
    empty = Result(policy_commit=None, trunk=None, head=None, candidate="commit")
    assert read_result(result_document(empty)) == empty


def put(document, address, value):
    """A copy with another value at an address; `...` takes the member away."""
    changed = json.loads(json.dumps(document))
    *way, last = address
    place = changed
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


@pytest.mark.parametrize(
    ("address", "value", "where"),
    [
        (("version",), 2, "$.version"),
        (("version",), True, "$.version"),
        (("version",), 1.0, "$.version"),
        (("blocking",), 1, "$.blocking"),
        (("extra",), 1, "$"),
        (("drops",), ..., "$.drops"),
        (("checkpoints",), {}, "$.checkpoints"),
        (("policy", "trunk"), 3, "$.policy.trunk"),
        (("candidate", "kind"), "index", "$.candidate.kind"),
        (("checkpoints", 0, "id"), ..., "$.checkpoints[0].id"),
        (("checkpoints", 0, "mode"), None, "$.checkpoints[0].mode"),
        (("checkpoints", 0, "question"), None, "$.checkpoints[0].question"),
        (("checkpoints", 0, "matched"), "abc", "$.checkpoints[0].matched"),
        (("checkpoints", 0, "matched", 1), 3, "$.checkpoints[0].matched[1]"),
        (("checkpoints", 0, "matched", 1), {"bytes": "YQ=="}, "$.checkpoints[0].matched[1]"),  # valid UTF-8: must be a text
        (("checkpoints", 0, "matched", 1), {"bytes": "Yf8"}, "$.checkpoints[0].matched[1]"),
        (("checkpoints", 0, "matched", 1), "a\udcff", "$.checkpoints[0].matched[1]"),
        (("checkpoints", 0, "steps", 0, "before"), True, "$.checkpoints[0].steps[0].before"),
        (("checkpoints", 0, "steps", 0, "after"), 2.0, "$.checkpoints[0].steps[0].after"),
        (("checkpoints", 0, "related", 0, "more"), 1, "$.checkpoints[0].related[0]"),
        (("checkpoints", 2, "drop", "reason"), "bored", "$.checkpoints[2].drop.reason"),
        (("drops", 0, "reason"), [], "$.drops[0].reason"),
    ],
)
def test_a_wrong_document_is_refused_at_its_address(address, value, where):
    """spec 9.2: exact types and no unknown member; the fault names what is wrong and where, in one line."""
    fault = read_result(put(result_document(RESULT), address, value))
    assert isinstance(fault, DocumentFault)
    assert fault.account.endswith(f" @ {where}")
    assert "\n" not in fault.account


@pytest.mark.parametrize(
    ("address", "value"),
    [
        (("drops", 0, "scope"), "policy"),
        (("checkpoints", 2, "drop", "checkpoint"), "another"),
        (("checkpoints", 2, "drop", "reason"), "when_spawn_failed"),
        (("checkpoints", 4, "question"), "Why?"),
    ],
)
def test_members_that_contradict_each_other_are_refused(address, value):
    """spec 9.2: a drop belongs to its checkpoint, and only what is asked has a question."""
    fault = read_result(put(result_document(RESULT), address, value))
    assert isinstance(fault, DocumentFault)
    assert "contradict" in fault.account


@pytest.mark.parametrize("document", [None, [], "{}", 3])
def test_what_is_no_object_is_refused(document):
    """spec 9.2: the document is an object."""
    assert isinstance(read_result(document), DocumentFault)


def test_writing_does_not_load_cattrs():
    """Every evaluation writes a document: start-up pays nothing for the way back."""
    script = "import sys, discern.documents; print('cattrs' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("path", ["", "a b~", 'a"b', "a\\b", "a\x7fb", "a\nb", "é", "\udcff", '"],"matched":[]'])
def test_matched_paths_are_written_as_the_encoder_writes_them(path: str) -> None:
    """spec 9.2: paths that need no escape take a shorter way to the same text; one that does need it takes all along."""
    document = {"id": 'x "matched":[]', "matched": path_values(("a", path)), "state": "none"}
    texts = PathTexts()
    for _ in range(2):  # as encoded, and as kept
        assert "".join(texts.dumps(document, document["matched"])) == dumps(document)
    assert "".join(texts.dumps({"matched": []}, [])) == dumps({"matched": []})
