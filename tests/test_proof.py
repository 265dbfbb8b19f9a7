"""The Proof: its shape, when it is reusable, and what verifying it says (spec 8.4)."""

from __future__ import annotations

import json

import attrs
import pytest
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement as InTotoStatement

from discern.definitions import Definition
from discern.outcomes import Drop, DropRecord, Evaluation, Judgement, Result
from discern.proof import Encoded, ProofFault, Statement, Verification, compare, read, statement
from discern.questions import EMPTY, Book, Pair, Question, Word
from discern.vocabulary import DropReason


def hashed(number: int) -> str:
    return f"{number:064x}"


HEAD, POLICY = "a" * 40, "b" * 40
DEFINITION, SUBJECT, STRUCTURAL = hashed(0xD), hashed(1), hashed(2)
MET: Book = {"ask": Question(Pair(DEFINITION, SUBJECT), (Word(DEFINITION, SUBJECT, "met"),))}


def judgement(key: str, evaluation: dict[str, object], when: bool = False, advise: bool = False, **members: object) -> Judgement:
    definition = Definition(id=key, question="?", when="true" if when else None, mode="advise" if advise else "stop")
    return Judgement(definition=definition, definition_hash=DEFINITION, evaluation=Evaluation(id=key, **evaluation), **members)  # type: ignore[arg-type]


def fired(key: str = "ask", matched: tuple[str, ...] = ("a",), **members: object) -> Judgement:
    return judgement(key, {"outcome": "fired", "matched": matched}, **{"subject": SUBJECT, "state": "declared_met", **members})  # type: ignore[arg-type]


def drop(reason: DropReason, checkpoint: str | None = None) -> DropRecord:
    return DropRecord(checkpoint=checkpoint, mode=None, policy_commit=POLICY, reason=reason, detail=None, account="One line.")


def result(*checkpoints: Judgement, drops: tuple[DropRecord, ...] = (), head: str | None = HEAD) -> Result:
    return Result(policy_commit=POLICY, trunk="refs/heads/main", head=head, checkpoints=checkpoints, drops=drops)


def proof(*checkpoints: Judgement, **members: object) -> Statement:
    made = statement(result(*checkpoints, **members))  # type: ignore[arg-type]
    assert made is not None
    return made


GOOD = result(
    fired(matched=("a", "caf\udce9")),
    fired("no", state="declared_unmet", rationale="Not yet."),
    fired("soft", advise=True, state="none"),
    judgement("quiet", {"outcome": "vetoed"}),
    judgement("said-no", {"outcome": "passed"}, when=True, structural_subject=STRUCTURAL),
)


def test_the_statement_has_this_shape():
    """spec 8.4: subject, predicate type, policy commit, and what stands of each checkpoint."""
    assert statement(GOOD) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "HEAD", "digest": {"gitCommit": HEAD}}],
        "predicateType": "urn:discern:checkpoint-proof:v1",
        "predicate": {
            "policy_commit": POLICY,
            "reusable": True,
            "checkpoints": [
                {
                    "id": "ask",
                    "mode": "stop",
                    "outcome": "fired",
                    "definition_hash": DEFINITION,
                    "subject": SUBJECT,
                    "matched": ["a", {"bytes": "Y2Fm6Q=="}],
                    "state": "declared_met",
                },
                {
                    "id": "no",
                    "mode": "stop",
                    "outcome": "fired",
                    "definition_hash": DEFINITION,
                    "subject": SUBJECT,
                    "matched": ["a"],
                    "state": "declared_unmet",
                    "rationale": "Not yet.",
                },
                {
                    "id": "soft",
                    "mode": "advise",
                    "outcome": "fired",
                    "definition_hash": DEFINITION,
                    "subject": SUBJECT,
                    "matched": ["a"],
                    "state": "none",
                },
                {
                    "id": "quiet",
                    "mode": "stop",
                    "outcome": "vetoed",
                    "definition_hash": DEFINITION,
                    "subject": None,
                    "matched": [],
                    "state": "none",
                },
                {
                    "id": "said-no",
                    "mode": "stop",
                    "outcome": "passed",
                    "definition_hash": DEFINITION,
                    "subject": None,
                    "matched": [],
                    "state": "none",
                    "structural_subject": STRUCTURAL,
                },
            ],
            "drops": [],
        },
    }


@pytest.mark.parametrize("head", [HEAD, "a" * 64], ids=["sha1", "sha256"])
def test_in_toto_takes_the_statement(head):
    """spec 8.4: a valid in-toto Statement by the judgement of in-toto's own package, in both kinds of repository."""
    document = json.loads(b"".join(Encoded(proof(*GOOD.checkpoints, head=head, drops=(drop("question_store_corrupt"),)))))
    subjects = [ResourceDescriptor(name=one["name"], digest=one["digest"]).pb for one in document["subject"]]
    theirs = InTotoStatement(subjects, document["predicateType"], document["predicate"])
    theirs.validate()
    assert document["_type"] == theirs.pb.type
    assert theirs.pb.subject[0].digest["gitCommit"] == head


def test_without_a_head_there_is_nothing_to_state():
    """spec 8.4: the subject is the HEAD commit."""
    assert statement(result(head=None)) is None


def test_a_proof_is_read_as_it_was_written():
    """spec 8.4: the document is the Statement, in ASCII whatever it holds."""
    made = proof(
        *GOOD.checkpoints, fired("\u00e9\x1b", rationale="\u202e", state="declared_unmet"), drops=(drop("when_timeout", "x"),)
    )
    assert read(b"".join(Encoded(made))) == made
    assert b"".join(Encoded(made)).isascii()
    assert b"".join(Encoded(made)).decode().strip("\n").isprintable()


INDETERMINATE = {"outcome": "indeterminate", "matched": ("a",), "drop": Drop("when_timeout")}
OBSTACLES = {
    "awaiting": fired(state="awaiting"),
    "reopened": fired(state="reopened"),
    "unknown": fired(state="unknown"),
    "never asked": fired(state="none"),
    "no subject": fired(subject=None),
    "no subject of an advice": fired(subject=None, advise=True, state="none"),
    "no structural subject": judgement("ask", {"outcome": "passed"}, when=True),
    "no structural subject of a fire": fired(when=True),
    "dropped": judgement("ask", {"outcome": "dropped", "drop": Drop("trigger_base_unavailable")}),
    "undecided": judgement("ask", {"outcome": "undecided", "matched": ("a",)}, when=True, subject=SUBJECT),
    "indeterminate": judgement(
        "ask", INDETERMINATE, when=True, subject=SUBJECT, structural_subject=SUBJECT, state="declared_met"
    ),
    "indeterminate advice": judgement("ask", INDETERMINATE, when=True, advise=True, subject=SUBJECT, structural_subject=SUBJECT),
}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_one_obstacle_makes_it_not_reusable(obstacle):
    """spec 8.4: no indeterminate, no undecided, every subject known, every stop question declared."""
    assert proof(*GOOD.checkpoints[1:], obstacle)["predicate"]["reusable"] is False


@pytest.mark.parametrize("checkpoint", [None, "ask"])
def test_one_drop_makes_it_not_reusable(checkpoint):
    """spec 8.4: no drop, of the policy or of a checkpoint."""
    assert proof(*GOOD.checkpoints)["predicate"]["reusable"] is True
    assert proof(*GOOD.checkpoints, drops=(drop("governing_config_invalid", checkpoint),))["predicate"]["reusable"] is False


def test_nothing_moved_is_current():
    """spec 8.4: `current`; the text of a drop's account or of a veto is not compared."""
    book = {**MET, "no": Question(None, (Word(DEFINITION, SUBJECT, "unmet", "Not yet."),))}
    assert compare(proof(*GOOD.checkpoints), without_when(GOOD), book) == Verification("current")


def without_when(whole: Result) -> Result:
    """What a read-only surface finds where `whole` was found."""
    return attrs.evolve(
        whole,
        checkpoints=tuple(
            attrs.evolve(
                one,
                evaluation=Evaluation(id=one.definition.id, outcome="undecided", matched=("a", "b")),
                subject=one.structural_subject,
                structural_subject=None,
                state="none",
                rationale=None,
            )
            if one.definition.when is not None and one.evaluation.outcome in ("fired", "passed", "indeterminate")
            else one
            for one in whole.checkpoints
        ),
    )


ASK, OTHER = fired(), hashed(9)
MOVES = {
    "HEAD": (attrs.evolve(result(ASK), head="c" * 40), "HEAD"),
    "no HEAD": (attrs.evolve(result(ASK), head=None), "HEAD"),
    "policy commit": (attrs.evolve(result(ASK), policy_commit="c" * 40), "policy commit"),
    "no policy commit": (attrs.evolve(result(ASK), policy_commit=None), "policy commit"),
    "subject": (result(fired(subject=OTHER, state="reopened")), "ask: subject"),
    "definition": (result(attrs.evolve(ASK, definition_hash=OTHER)), "ask: definition"),
    "matched": (result(fired(matched=("a", "b"), subject=OTHER)), "ask: subject, matched paths"),
    "outcome": (result(judgement("ask", {"outcome": "vetoed"})), "ask: outcome, subject, matched paths"),
    "gone": (result(), "ask: gone"),
    "new": (result(ASK, judgement("more", {"outcome": "vetoed"})), "more: new"),
    "drop": (result(ASK, drops=(drop("question_store_unreadable"),)), "drops"),
}


@pytest.mark.parametrize(("fresh", "moved"), MOVES.values(), ids=MOVES)
def test_what_moved_is_named(fresh, moved):
    """spec 8.4: `stale`, a moved HEAD included, and what moved."""
    assert compare(proof(ASK), fresh, MET) == Verification("stale", (moved,))


def test_a_drop_that_went_is_a_move():
    """spec 8.4: a Proof with a drop is stale once the drop is gone, for evaluating again helps."""
    recorded = proof(ASK, drops=(drop("question_store_corrupt"),))
    assert compare(recorded, result(ASK), MET) == Verification("stale", ("drops",))


COMMANDED = fired(matched=("b",), when=True, structural_subject=STRUCTURAL)


@pytest.mark.parametrize(
    "recorded",
    [
        COMMANDED,
        judgement("ask", {"outcome": "passed"}, when=True, structural_subject=STRUCTURAL),
    ],
    ids=["fired", "passed"],
)
def test_a_command_s_answer_holds_while_its_question_stands(recorded):
    """spec 8.4: without running `when`, by the subject over what the command was asked about, narrowed or passed as it may be."""
    same = without_when(result(recorded))
    assert compare(proof(recorded), same, MET) == Verification("current")
    moved = result(attrs.evolve(same.checkpoints[0], subject=OTHER))
    assert compare(proof(recorded), moved, MET) == Verification("stale", ("ask: subject",))
    gone = result(attrs.evolve(same.checkpoints[0], evaluation=Evaluation(id="ask", outcome="vetoed"), subject=None))
    assert compare(proof(recorded), gone, MET) == Verification("stale", ("ask: outcome, subject, matched paths",))


def test_a_command_that_could_not_answer_is_not_reusable():
    """spec 8.4: its drop cannot come again where it is not run, which moves nothing."""
    recorded = judgement("ask", INDETERMINATE, when=True, subject=SUBJECT, structural_subject=SUBJECT, state="declared_met")
    whole = result(recorded, drops=(drop("when_timeout", "ask"),))
    fresh = attrs.evolve(without_when(whole), drops=())
    assert compare(proof(recorded, drops=whole.drops), fresh, MET) == Verification(
        "not_reusable", ("ask: when_timeout", "ask: indeterminate")
    )


def test_what_a_command_was_asked_about_and_cannot_be_identified_is_not_reusable():
    """spec 8.4: evaluating again would not help, though only a run without `when` meets the drop."""
    recorded = fired(when=True, structural_subject=None)
    fresh = attrs.evolve(without_when(result(recorded)), drops=(drop("subject_unavailable", "ask"),))
    assert compare(proof(recorded), fresh, MET) == Verification("not_reusable", ("ask: subject unknown",))


def test_an_open_question_is_not_reusable_until_the_next_evaluation():
    """spec 8.4: a word given since changes nothing of what the Proof says."""
    recorded, awaiting = proof(fired(state="awaiting")), Verification("not_reusable", ("ask: awaiting",))
    assert compare(recorded, result(fired(state="awaiting")), EMPTY) == awaiting
    assert compare(recorded, result(fired(state="declared_met")), MET) == awaiting


def test_what_moved_is_said_before_what_was_open():
    """spec 8.4: `stale` first: evaluating again may close it."""
    moved = result(fired(subject=OTHER, state="awaiting"))
    assert compare(proof(fired(state="awaiting")), moved, EMPTY) == Verification("stale", ("ask: subject",))


@pytest.mark.parametrize(
    "book",
    [EMPTY, {"ask": Question(None, (Word(DEFINITION, SUBJECT, "unmet", "After all."),))}],
    ids=["lost", "changed"],
)
def test_a_changed_word_makes_it_stale(book):
    """spec 8.4: the declarations in a current Proof are those that stand."""
    assert compare(proof(ASK), result(ASK), book) == Verification("stale", ("ask: declaration",))


def test_a_forged_flag_does_not_make_it_reusable():
    """spec 8.4: verifying computes again."""
    forged = proof(fired(state="awaiting"))
    forged["predicate"]["reusable"] = True
    assert compare(forged, result(fired(state="awaiting")), EMPTY) == Verification("not_reusable", ("ask: awaiting",))
    doubted = proof(ASK)
    doubted["predicate"]["reusable"] = False
    assert compare(doubted, result(ASK), MET) == Verification("not_reusable")


DOCUMENT = proof(ASK, drops=(drop("when_timeout", "ask"),))
PREDICATE = DOCUMENT["predicate"]


def top(**members: object) -> bytes:
    return json.dumps({**DOCUMENT, **members}).encode()


def inside(**members: object) -> bytes:
    return top(predicate={**PREDICATE, **members})


def entry(**members: object) -> bytes:
    return inside(checkpoints=[{**PREDICATE["checkpoints"][0], **members}])


def commit(**members: object) -> bytes:
    return top(subject=[{**DOCUMENT["subject"][0], **members}])


def recorded_drop(**members: object) -> bytes:
    return inside(drops=[{**PREDICATE["drops"][0], **members}])


UNREADABLE = {
    "empty": b"",
    "cut short": top()[:-4],
    "not UTF-8": b"\xff",
    "a list": b"[]",
    "nested too deep": b"[" * 100_000,
    "a member twice": b'{"_type":1,"_type":1}',
    "NaN": top().replace(b"null", b"NaN"),
    "a member more": top(more=1),
    "another type": top(_type="https://in-toto.io/Statement/v0.1"),
    "another predicate": top(predicateType="https://slsa.dev/provenance/v1"),
    "a predicate type null": top(predicateType=None),
    "no subject": top(subject=[]),
    "two subjects": top(subject=[*DOCUMENT["subject"]] * 2),
    "a subject text": top(subject=["HEAD"]),
    "a name null": commit(name=None),
    "another digest": commit(digest={"sha1": HEAD}),
    "two digests": commit(digest={"gitCommit": HEAD, "sha1": HEAD}),
    "a digest null": commit(digest=None),
    "no object id": commit(digest={"gitCommit": "HEAD"}),
    "an object id with a line end": commit(digest={"gitCommit": HEAD + "\n"}),
    "a predicate null": top(predicate=None),
    "a predicate with more": inside(more=1),
    "a policy commit that is a name": inside(policy_commit="main"),
    "reusable 1": inside(reusable=1),
    "checkpoints null": inside(checkpoints=None),
    "a checkpoint null": inside(checkpoints=[None]),
    "a checkpoint twice": inside(checkpoints=PREDICATE["checkpoints"] * 2),
    "an entry with more": entry(more=1),
    "an id null": entry(id=None),
    "another mode": entry(mode="block"),
    "another outcome": entry(outcome="failed"),
    "an outcome list": entry(outcome=[]),
    "a definition null": entry(definition_hash=None),
    "a subject short": entry(subject="1"),
    "a structural subject short": entry(structural_subject="1"),
    "matched null": entry(matched=None),
    "a path number": entry(matched=[1]),
    "path bytes number": entry(matched=[{"bytes": 1}]),
    "another state": entry(state="met"),
    "a rationale without unmet": entry(rationale="x"),
    "unmet without a rationale": entry(state="declared_unmet"),
    "drops null": inside(drops=None),
    "a drop null": inside(drops=[None]),
    "a drop with more": recorded_drop(more=1),
    "a reason null": recorded_drop(reason=None),
    "a detail number": recorded_drop(detail=1),
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE)
def test_what_discern_never_writes_is_a_fault(raw):
    """spec 8.4: a typed fault with one line, no exception."""
    fault = read(raw)
    assert isinstance(fault, ProofFault)
    assert fault.account.isprintable()


def test_the_document_altered_here_is_good():
    """spec 8.4: so that each alteration above is the only reason for its fault."""
    assert read(top()) == read(inside()) == read(entry()) == read(commit()) == read(recorded_drop()) == DOCUMENT


def test_another_version_s_proof_says_so():
    """spec 8.4: a Proof of a newer discern is a fault of its own."""
    fault = read(top(predicateType="urn:discern:checkpoint-proof:v2"))
    assert isinstance(fault, ProofFault)
    assert "another version" in fault.account
