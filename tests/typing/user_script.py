"""A user's program, never run: two type checkers read it, and what they must object to carries an ignore that must be needed."""

from __future__ import annotations

import pickle
from pathlib import Path
from threading import Event
from typing import assert_never, assert_type

from returns.pipeline import is_successful
from returns.result import Failure, Success
from returns.result import Result as Either

from discern import (
    NOT_COLLECTED,
    Answered,
    BaseTree,
    Cancel,
    ChangedFile,
    Collection,
    Content,
    Definition,
    DocumentFault,
    Drop,
    DropRecord,
    EntryDrop,
    Evaluation,
    Facts,
    History,
    Judgement,
    Lines,
    NotCollected,
    Policy,
    PolicyInvalid,
    Refused,
    Related,
    Result,
    Step,
    Unanswered,
    Unavailable,
    Veto,
    collect,
    conclude,
    evaluate,
    judge,
    judge_all,
    load_policy,
    read_result,
    result_document,
)


def leave_the_container(found: Either[Result, Refused]) -> Result | Refused:
    return found.unwrap() if is_successful(found) else found.failure()


def evaluate_a_worktree(place: Path, cancel: Event) -> int:
    found = evaluate(place, trunk="main", ids=["a"], dry_run=True, fail_on=("awaiting", "unmet"), cancel=cancel)
    assert_type(found, Either[Result, Refused])
    answer = leave_the_container(found)
    match answer:
        case Refused(message):
            assert_type(message, str)
            return 2
        case Result():
            assert_type(answer.checkpoints, tuple[Judgement, ...])
            assert_type(answer.drops, tuple[DropRecord, ...])
            return int(answer.blocking)
    assert_never(answer)


def cancel_at_once() -> None:
    cancel = Cancel()
    evaluate(environment={"PATH": "/usr/bin"}, cancel=cancel)
    cancel.close()


def read_a_policy(text: bytes) -> tuple[Definition, ...]:
    loaded = load_policy(text, {"docs/question.md": "Is it well?"})
    assert_type(loaded, Either[Policy, PolicyInvalid])
    policy = loaded.value_or(Policy())
    assert_type(policy.drops, tuple[EntryDrop, ...])
    return policy.definitions


def judge_what_was_collected(place: str) -> tuple[Evaluation, ...]:
    collected = collect(place, commit="HEAD")
    assert_type(collected, Either[Collection, Refused])
    known = collected.value_or(None)
    return () if known is None or known.facts is None else judge_all(known.definitions, known.facts)


def judge_by_hand(definition: Definition) -> str:
    file = ChangedFile("a", "added", binary=False, lines=Lines(1, 0), content=Content.of([b"x"]))
    lost = ChangedFile("b", "modified", binary=Unavailable("unreadable"), lines=NOT_COLLECTED)
    evaluation = judge(definition, Facts.of([file, lost], base=BaseTree(("b",)), history=History(())))
    if evaluation.outcome == "undecided":
        evaluation = conclude(evaluation, Answered(0) if definition.when else Unanswered("when_spawn_failed"))
    assert_type(evaluation.veto, Veto | None)
    assert_type(evaluation.drop, Drop | None)
    assert_type(evaluation.related, tuple[Related, ...])
    assert_type(evaluation.steps, tuple[Step, ...])
    assert_type(file.content, Content | Unavailable | NotCollected)
    return evaluation.id


def write_and_read(result: Result, document: object) -> Result | DocumentFault:
    assert_type(result_document(result)["blocking"], bool)
    pickle.dumps(result)
    return read_result(document)


def build_answers() -> tuple[Either[Result, Refused], Either[Result, Refused]]:
    return Success(Result(policy_commit=None, trunk=None, head=None)), Failure(Refused("not today"))


def mistakes(result: Result) -> None:
    evaluate(fail_on=("always",))  # type: ignore[arg-type]
    evaluate("here", "main")  # type: ignore[call-arg]
    judge("a", Facts())  # type: ignore[arg-type]
    ChangedFile("a", "renamed")  # type: ignore[arg-type]
    Unavailable("lazy")  # type: ignore[arg-type]
    result.blocking = True  # type: ignore[misc]
    print(result.checkpoints[0].evaluation.outcom)  # type: ignore[attr-defined]
    load_policy("text")  # type: ignore[arg-type]
