"""Laws of questions, words and Proofs, whatever the order of evaluations, edits and declarations (spec 8)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from discern.definitions import Definition
from discern.outcomes import Drop, DropRecord, Evaluation, Judgement, Result
from discern.proof import Encoded, ProofFault, Statement, compare, statement
from discern.proof import read as read_proof
from discern.questions import EMPTY, Book, Pair, Question, Refusal, StoreFault, Word, declare, read, serve, strict_json, write
from discern.vocabulary import STATES

QUICK = settings(max_examples=60, stateful_step_count=30, deadline=None)
LONG = settings(max_examples=5_000, stateful_step_count=60, deadline=None)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]


def hashed(number: int) -> str:
    return f"{number:064x}"


ids = st.sampled_from(["ask", "b", "with space", "\u00e9\n"])
numbers = st.integers(0, 3)
hashes = st.builds(hashed, numbers)
pairs = st.builds(Pair, hashes, st.none() | hashes)
rationales = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=500).filter(str.strip)
words = st.builds(Word, hashes, hashes, st.just("met"), st.none()) | st.builds(Word, hashes, hashes, st.just("unmet"), rationales)
books = st.dictionaries(
    st.text(st.characters(exclude_categories=("Cs",))), st.builds(Question, st.none() | pairs, st.lists(words).map(tuple))
)


@given(book=books)
def test_a_book_survives_the_disk(book):
    """spec 8.1: writing and reading give the same book, and the same bytes again."""
    raw = write(book)
    assert read(raw) == book
    again = read(raw)
    assert not isinstance(again, StoreFault)
    assert write(again) == raw


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | hashes | st.sampled_from(["met", "unmet"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["version", "questions", "served", "judged", "definition", "subject", "verdict", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(document=json_values, at=st.integers(0, 400), noise=st.binary(max_size=4), book=books)
def test_reading_is_total(document, at, noise, book):
    """spec 8.2: whatever bytes stand there, reading gives a book or a fault, and a book that was read can be written."""
    raw = write(book)
    for candidate in (json.dumps(document).encode(), raw[:at] + noise + raw[at + len(noise) :], noise):
        answer = read(candidate)
        assert isinstance(answer, StoreFault) or read(write(answer)) == answer
        assert isinstance(read_proof(candidate), ProofFault)


@given(book=books, asked=st.dictionaries(ids, st.none() | pairs), whole=st.booleans())
def test_serving_the_same_again_changes_nothing(book, asked, whole):
    """spec 8.1: an evaluation repeated on an unchanged tree writes nothing new and says the same."""
    once, said = serve(book, asked, whole=whole)
    assert serve(once, asked, whole=whole) == (once, said)


@given(book=books, asked=st.dictionaries(ids, st.none() | pairs), whole=st.booleans())
def test_serving_loses_no_word(book, asked, whole):
    """spec 8.2: every judged pair is kept, whatever is asked."""
    after, _ = serve(book, asked, whole=whole)
    assert {key: question.judged for key, question in after.items() if question.judged} == {
        key: question.judged for key, question in book.items() if question.judged
    }


class Desk(RuleBasedStateMachine):
    """Evaluations and declarations against a model that keeps only what was last served and every word in order."""

    def __init__(self) -> None:
        super().__init__()
        self.book: Book = EMPTY
        self.served: dict[str, Pair] = {}
        self.said: list[tuple[str, Pair, str, str | None]] = []

    def expected(self, key: str, pair: Pair | None) -> tuple[str, str | None]:
        if pair is None:
            return ("none", None)
        mine = [word for word in self.said if word[0] == key]
        on_it = [word for word in mine if word[1] == pair]
        if on_it:
            return (f"declared_{on_it[-1][2]}", on_it[-1][3])
        return ("reopened" if mine else "awaiting", None)

    @rule(asked=st.dictionaries(ids, st.none() | pairs), whole=st.booleans())
    def evaluate(self, asked: dict[str, Pair | None], whole: bool) -> None:
        self.book, states = serve(self.book, asked, whole=whole)
        assert states == {key: self.expected(key, pair) for key, pair in asked.items()}
        left = {} if whole else {key: pair for key, pair in self.served.items() if key not in asked}
        self.served = left | {key: pair for key, pair in asked.items() if pair is not None}

    @rule(key=ids, rationale=st.none() | rationales)
    def say(self, key: str, rationale: str | None) -> None:
        verdict = "met" if rationale is None else "unmet"
        answer = declare(self.book, key, verdict, rationale)  # type: ignore[arg-type]
        pair = self.served.get(key)
        if pair is None or pair.subject is None:
            assert isinstance(answer, Refusal)
        else:
            assert not isinstance(answer, Refusal)
            self.book = answer
            self.said.append((key, pair, verdict, rationale))

    @invariant()
    def the_disk_holds_it(self) -> None:
        assert read(write(self.book)) == self.book


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_question_stands_as_its_words_say(effort):
    """spec 8.1 to 8.3: awaiting, declared, reopened, restored, over any sequence of evaluations and declarations."""
    run_state_machine_as_test(Desk, settings=effort)


OUTCOMES = ("fired", "vetoed", "dropped", "passed", "indeterminate")


@frozen
class Checkpoint:
    """One checkpoint of a made-up world: how its trigger ends, a question's version, and a content's."""

    stop: bool
    outcome: str
    when: bool
    known: bool
    question: int
    content: int = 0

    @property
    def definition(self) -> int:
        """A number of its own for everything a policy says of it."""
        return OUTCOMES.index(self.outcome) * 16 + self.stop * 8 + self.when * 4 + self.known * 2 + self.question


@frozen
class World:
    """Everything an evaluation depends on."""

    checkpoints: dict[str, Checkpoint]
    head: int = 1
    policy: int = 1
    broken: bool = False


def found(checkpoint: Checkpoint, run_when: bool) -> str:
    commanded = checkpoint.when and checkpoint.outcome in ("fired", "passed", "indeterminate")
    return checkpoint.outcome if run_when or not commanded else "undecided"


def asks(checkpoint: Checkpoint, outcome: str) -> bool:
    return checkpoint.stop and outcome in ("fired", "indeterminate")


def evaluation_of(key: str, outcome: str) -> Evaluation:
    drop = {"dropped": Drop("trigger_base_unavailable"), "indeterminate": Drop("when_timeout")}.get(outcome)
    matched = ("a",) if outcome in ("fired", "indeterminate", "undecided") else ()
    return Evaluation(id=key, outcome=outcome, drop=drop, matched=matched)  # type: ignore[arg-type]


def judgement_of(key: str, checkpoint: Checkpoint, run_when: bool) -> Judgement:
    outcome = found(checkpoint, run_when)
    structural = hashed(10 + checkpoint.content) if checkpoint.known else None
    narrowed = hashed(1000 + checkpoint.content) if checkpoint.known else None
    commanded = checkpoint.when and run_when and outcome in ("fired", "passed", "indeterminate")
    subject = {"fired": narrowed if commanded else structural, "indeterminate": structural, "undecided": structural}.get(outcome)
    return Judgement(
        definition=Definition(
            id=key, question="?", mode="stop" if checkpoint.stop else "advise", when="x" if checkpoint.when else None
        ),
        definition_hash=hashed(checkpoint.definition),
        evaluation=evaluation_of(key, outcome),
        subject=subject,
        structural_subject=structural if commanded else None,
    )


def drops_of(world: World, judgements: list[Judgement]) -> tuple[DropRecord, ...]:
    reasons: list[tuple[str | None, Any]] = [(None, "question_store_corrupt")] if world.broken else []
    for one in judgements:
        if one.evaluation.drop is not None:
            reasons.append((one.definition.id, one.evaluation.drop.reason))
        if one.evaluation.matched and one.subject is None:
            reasons.append((one.definition.id, "subject_unavailable"))
    return tuple(
        DropRecord(checkpoint=key, mode=None, policy_commit=None, reason=reason, detail=None, account="")
        for key, reason in reasons
    )


def evaluate(world: World, book: Book, run_when: bool = True) -> tuple[Result, Book]:
    """What discern does with the pieces, put together here on its own."""
    judgements = [judgement_of(key, checkpoint, run_when) for key, checkpoint in world.checkpoints.items()]
    asked = {
        one.definition.id: Pair(one.definition_hash, one.subject)
        if asks(world.checkpoints[one.definition.id], one.evaluation.outcome)
        else None
        for one in judgements
    }
    after, standings = serve(book, asked, whole=True)
    judged = tuple(
        evolve(one, state=standings[one.definition.id].state, rationale=standings[one.definition.id].rationale)
        for one in judgements
    )
    result = Result(
        policy_commit=f"{world.policy:040x}",
        trunk=None,
        head=f"{world.head:040x}",
        checkpoints=judged,
        drops=drops_of(world, judgements),
    )
    return result, after


def may_be_reused(result: Result) -> bool:
    """Spec 8.4 once more, read off the records one by one."""
    for one in result.checkpoints:
        outcome = one.evaluation.outcome
        question = one.definition.mode == "stop" and outcome in ("fired", "indeterminate")
        commanded = one.definition.when is not None and outcome in ("fired", "passed")
        if (
            outcome in ("indeterminate", "undecided", "dropped")
            or (question and one.state != "declared_met" and one.state != "declared_unmet")
            or (outcome == "fired" and not one.subject)
            or (commanded and not one.structural_subject)
        ):
            return False
    return not result.drops


def reusable(result: Result) -> bool:
    """What its Proof says."""
    proof = statement(result)
    assert proof is not None
    return proof["predicate"]["reusable"]


checkpoints = st.builds(
    Checkpoint, st.booleans(), st.sampled_from(OUTCOMES), st.booleans(), st.integers(0, 9).map(bool), st.integers(0, 1)
).map(lambda made: evolve(made, when=made.when or made.outcome in ("passed", "indeterminate")))
worlds = st.builds(World, st.dictionaries(ids, checkpoints, max_size=3), broken=st.integers(0, 9).map(lambda number: not number))


@given(world=worlds, states=st.lists(st.sampled_from(STATES), min_size=4, max_size=4), run_when=st.booleans())
def test_nothing_open_or_unknown_is_reusable(world, states, run_when):
    """spec 8.4: reusable exactly if nothing is dropped, indeterminate, undecided, of unknown subject or undeclared."""
    result, _ = evaluate(world, EMPTY, run_when)
    judged = tuple(evolve(one, state=state) for one, state in zip(result.checkpoints, states, strict=False))
    result = evolve(result, checkpoints=judged)
    assert reusable(result) == may_be_reused(result)


def test_both_kinds_of_proof_can_be_reached():
    """spec 8.4: the laws here are not empty."""
    for wanted in (True, False):
        find(worlds, lambda world, wanted=wanted: bool(world.checkpoints) and reusable(evaluate(world, EMPTY)[0]) is wanted)


class Life(RuleBasedStateMachine):
    """A worktree's life: what its Proof says of it at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World({})
        self.book: Book = EMPTY
        self.proof: Statement | None = None
        self.then: tuple[World, Result] | None = None

    @rule(key=ids, checkpoint=checkpoints)
    def write_policy(self, key: str, checkpoint: Checkpoint) -> None:
        held = self.world.checkpoints.get(key, checkpoint)
        changed = evolve(checkpoint, content=held.content)
        self.world = evolve(self.world, checkpoints={**self.world.checkpoints, key: changed})

    @rule(key=ids, content=numbers)
    def edit(self, key: str, content: int) -> None:
        if key in self.world.checkpoints:
            edited = evolve(self.world.checkpoints[key], content=content)
            self.world = evolve(self.world, checkpoints={**self.world.checkpoints, key: edited})

    @rule(key=ids)
    def remove(self, key: str) -> None:
        self.world = evolve(self.world, checkpoints={other: one for other, one in self.world.checkpoints.items() if other != key})

    @rule(head=numbers, policy=numbers)
    def move_history(self, head: int, policy: int) -> None:
        self.world = evolve(self.world, head=head, policy=policy)

    @rule()
    def break_or_mend(self) -> None:
        self.world = evolve(self.world, broken=not self.world.broken)

    @rule(key=ids, rationale=st.none() | st.just("Not yet."))
    def say(self, key: str, rationale: str | None) -> None:
        answer = declare(self.book, key, "met" if rationale is None else "unmet", rationale)
        if not isinstance(answer, Refusal):
            self.book = answer

    @rule()
    def evaluate(self) -> None:
        result, self.book = evaluate(self.world, self.book)
        self.proof = statement(result)
        assert self.proof is not None
        assert self.proof["predicate"]["reusable"] == may_be_reused(result)
        self.then = self.world, result

    @invariant()
    def verifying_says_what_is_so(self) -> None:
        """`current` only for a Proof that evaluating again would write again, reusable."""
        if self.proof is None or self.then is None:
            return
        recorded = read_proof(b"".join(Encoded(self.proof)))
        assert recorded == self.proof
        fresh, _ = evaluate(self.world, self.book, run_when=False)
        verdict = compare(self.proof, fresh, self.book).verdict
        now, _ = evaluate(self.world, self.book)
        if verdict == "current":
            assert may_be_reused(now)
            again = statement(now)
            assert sorted_entries(again) == sorted_entries(self.proof)
        elif verdict == "not_reusable":
            assert not may_be_reused(self.then[1])
        if self.world == self.then[0]:
            assert verdict == "current" or not may_be_reused(self.then[1]) or words_of(now) != words_of(self.then[1])


def sorted_entries(made: Statement | None) -> Any:
    assert made is not None
    return {
        **made,
        "predicate": {**made["predicate"], "checkpoints": sorted(made["predicate"]["checkpoints"], key=lambda one: one["id"])},
    }


def words_of(result: Result) -> list[tuple[str, str | None]]:
    return [(one.state, one.rationale) for one in result.checkpoints]


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_proof_is_current_only_while_it_would_be_written_again(effort):
    """spec 8.4: over any sequence of edits, policies, commits, declarations and evaluations; never while anything is open."""
    run_state_machine_as_test(Life, settings=effort)


@given(raw=st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_strict_json_is_total(raw):
    """spec 8.2: an object or None, never an exception."""
    assert isinstance(strict_json(raw), dict | None)
