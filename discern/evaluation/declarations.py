"""Where questions stand, what is declared on them, and what is kept of an evaluation: store, Proof, Logbook (spec 8)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from attrs import evolve

from discern import proof, questions
from discern.documents import serves
from discern.effects import logbook, store
from discern.effects.git import Refused
from discern.effects.repository import Repository
from discern.effects.store import FileFault
from discern.evaluation.governing import policy_drop
from discern.outcomes import Judgement, Result
from discern.proof import ProofFault, Statement, Verification
from discern.questions import EMPTY, Book, Pair, Refusal, Standing, StoreFault, Verdict
from discern.vocabulary import OPEN_STATES, FailOn


def asked(result: Result) -> dict[str, Pair | None]:
    """What each checkpoint asks: a fired or indeterminate stop its pair, any other nothing (spec 8.1)."""
    return {
        judgement.definition.id: Pair(judgement.definition_hash, judgement.subject) if asks(judgement) else None
        for judgement in result.checkpoints
    }


def asks(judgement: Judgement) -> bool:
    """Whether there is a question that a declaration could answer."""
    return judgement.definition.mode == "stop" and serves(judgement)


def stand(result: Result, repository: Repository, fail_on: tuple[FailOn, ...], *, real: bool, whole: bool) -> Result:
    """The result with where each question stands. A real evaluation keeps what it asked; others only read (spec 8.1, 8.2)."""
    pairs = asked(result)

    def serve(book: Book) -> tuple[Book, dict[str, Standing]]:
        return questions.serve(book, pairs, whole=whole)

    directory = state_directory(repository)
    standings = store.update(directory, serve, set_corrupt_aside=True) if real else looked_up(directory, serve)
    drops = result.drops
    if isinstance(standings, StoreFault):
        drops = (policy_drop(result.policy_commit, standings.reason, standings.account), *drops)
        standings = questions.unknown(pairs)
    checkpoints = tuple(
        evolve(judgement, state=standings[judgement.definition.id].state, rationale=standings[judgement.definition.id].rationale)
        for judgement in result.checkpoints
    )
    standing = evolve(result, checkpoints=checkpoints, drops=drops)
    return evolve(standing, blocking=any(blocks(standing, what) for what in fail_on))


def looked_up(directory: str, serve: Callable[[Book], tuple[Book, dict[str, Standing]]]) -> dict[str, Standing] | StoreFault:
    """Where questions stand, nothing kept."""
    book = store.load(directory)
    return book if isinstance(book, StoreFault) else serve(book)[1]


def blocks(result: Result, what: FailOn) -> bool:
    """Whether something that a run is to fail on is present (spec 9.1)."""
    if what == "drops":
        return bool(result.drops)
    if what == "advise":
        return any(one.definition.mode == "advise" and one.evaluation.outcome == "fired" for one in result.checkpoints)
    states = {"awaiting": OPEN_STATES, "unmet": ("declared_unmet",), "never": ()}[what]
    return any(one.state in states for one in result.checkpoints if asks(one))


def keep(
    result: Result, repository: Repository, environment: Mapping[str, str], began: float, seconds: float, *, whole: bool
) -> None:
    """Write the Proof of a whole evaluation, and a line of the Logbook; losing either fails nothing (spec 8.4, 8.5)."""
    statement = proof.statement(result) if whole else None
    if statement is not None:
        store.write_proof(state_directory(repository), proof.Encoded(statement))
    if logbook.wanted(environment):
        logbook.append(logbook_directory(repository), logbook.evaluation_line(result, began, seconds))


class Declared(NamedTuple):
    """A declaration that was recorded: the pair it is bound to (spec 8.2)."""

    checkpoint: str
    verdict: Verdict
    served: Pair


def declare(
    repository: Repository, environment: Mapping[str, str], checkpoint: str, verdict: Verdict, why: str | None
) -> Declared | Refused:
    """Bind a word to what the last evaluation served; everything is checked before anything is written (spec 8.3)."""
    began, clock = time.time(), time.perf_counter()

    def change(book: Book) -> tuple[Book, Book | Refusal]:
        changed = questions.declare(book, checkpoint, verdict, why)
        return (book, changed) if isinstance(changed, Refusal) else (changed, changed)

    changed = store.update(state_directory(repository), change)
    if isinstance(changed, StoreFault):
        return Refused(changed.account)
    if isinstance(changed, Refusal):
        return Refused(changed.message)
    served = changed[checkpoint].served
    if served is None:
        raise AssertionError("a word was recorded on a question that is not open")
    if logbook.wanted(environment):
        line = logbook.declaration_line(checkpoint, verdict, served, began, time.perf_counter() - clock)
        logbook.append(logbook_directory(repository), line)
    return Declared(checkpoint, verdict, served)


def recorded_proof(repository: Repository) -> Statement | Refused:
    """The Proof that the last whole evaluation wrote (spec 8.4)."""
    raw = store.read_proof(state_directory(repository))
    if raw is None:
        return Refused("there is no Proof yet: `discern evaluate` writes one")
    if isinstance(raw, FileFault):
        return Refused(raw.account)
    statement = proof.read(raw)
    return Refused(statement.account) if isinstance(statement, ProofFault) else statement


def verify(repository: Repository, recorded: Statement, fresh: Result) -> Verification:
    """Whether the Proof still holds, against an evaluation of the present that ran no command (spec 8.4)."""
    book = store.load(state_directory(repository))
    return proof.compare(recorded, fresh, EMPTY if isinstance(book, StoreFault) else book)


def state_directory(repository: Repository) -> str:
    """Where the worktree keeps its questions and Proof (spec 8.1)."""
    return repository.git_directory + "/discern"


def logbook_directory(repository: Repository) -> str:
    """Where all worktrees of a repository keep their Logbook (spec 8.5)."""
    return repository.common_directory + "/discern"
