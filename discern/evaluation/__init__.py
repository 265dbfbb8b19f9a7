"""The one place where effects and pure code meet, in order: policy, facts, verdicts, commands, subjects, questions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from discern.definitions import Definition
from discern.effects.git import Refused
from discern.effects.opening import Ground, Opening
from discern.effects.repository import Asked
from discern.effects.worktree import Worktree
from discern.evaluation.clock import Clock
from discern.evaluation.declarations import keep, stand
from discern.evaluation.gathering import Lost, gather
from discern.evaluation.governing import Governed, govern
from discern.evaluation.identities import NO_ROWS, judgements, look_up
from discern.outcomes import Drop, DropRecord, Evaluation, Judgement, Result
from discern.pipeline import judge
from discern.text import one_line
from discern.vocabulary import ACCOUNT_LIMIT, NESTED_VARIABLE, FailOn

if TYPE_CHECKING:
    from discern.effects.interruption import Flag

NO_SUBJECT = "a matched path has no object id that Git would store, so no declaration can be bound to it"


class Request(NamedTuple):
    """What to evaluate, and how (spec 9.1). With `dry_run` no command runs and nothing is written (spec 6.1)."""

    asked: Asked = Asked()
    ids: tuple[str, ...] = ()
    dry_run: bool = False
    fail_on: tuple[FailOn, ...] = ("awaiting",)

    def is_real(self, environment: Mapping[str, str]) -> bool:
        """Whether commands run and anything is kept: not with a commit, not inside another evaluation's command (spec 6.1)."""
        return not self.dry_run and self.asked.commit is None and not environment.get(NESTED_VARIABLE)


class Finding(NamedTuple):
    """A result, and what took time: seconds by Git question and by part of the work, for `-v`."""

    result: Result
    timings: tuple[tuple[str, float], ...]


def evaluate(request: Request, opening: Opening, cancel: Flag | None = None) -> Finding | Refused:
    """Everything that discern says of a change, by an open door to Git, which the caller closes (spec 9).

    Refused, in one line, where there is nothing that could be evaluated: exit status 2. `cancel` ends a running command.
    """
    began, at = time.time(), time.perf_counter()
    ground, git, clock = opening.found, opening.git, Clock()
    if isinstance(ground, Refused):
        return ground
    governed = govern(git, ground, request.ids)
    if isinstance(governed, Refused):
        return governed
    real, whole = request.is_real(git.ambient), not request.ids
    judged = judge_all(request, opening, ground, governed, clock, cancel) if governed.definitions else []
    opening.close()
    found = result(governed, judged, by_commit=request.asked.commit is not None)
    with clock.part("questions"):
        found = stand(found, ground.repository, request.fail_on, real=real, whole=whole)
        if real:
            keep(found, ground.repository, git.ambient, began, time.perf_counter() - at, whole=whole)
    asked = [(f"git {question.name}", question.seconds) for question in git.asked if question.answer is not None]
    return Finding(found, tuple(asked + clock.parts))


def judge_all(
    request: Request, opening: Opening, ground: Ground, governed: Governed, clock: Clock, cancel: Flag | None
) -> list[Judgement]:
    """Facts, verdicts, commands, subjects: one judgement for each definition, in the order of the file."""
    git, definitions, commit = opening.git, governed.definitions, governed.commit
    if commit is None:
        return []
    with Worktree(ground.repository.root) if request.asked.commit is None else nullcontext() as worktree:
        gathered = gather(git, ground, governed, commit, worktree, clock)
        if isinstance(gathered, Lost):
            lost = [unreadable(definition, gathered) for definition in definitions]
            return judgements(definitions, lost, lost, NO_ROWS, None)
        with clock.part("judging"):
            asked = [judge(definition, gathered.survey) for definition in definitions]
        with clock.part("identifying subjects"):
            rows = look_up(git, ground, commit, gathered, asked, worktree)
    opening.close()  # before a command runs: it finds nothing of the change lying about (spec 8.6)
    decided: Sequence[Evaluation] = asked
    if request.is_real(git.ambient) and any(one.outcome == "undecided" for one in asked):
        from discern.evaluation.commands import decide

        root = ground.repository.root
        decided = decide(definitions, asked, gathered.facts, commit.commit, root, git.ambient, cancel, clock)
    return judgements(definitions, asked, decided, rows, gathered)


def unreadable(definition: Definition, lost: Lost) -> Evaluation:
    """There is no view: every definition drops, its steps empty (spec 4.12)."""
    drop = Drop("effort_diff_unreadable", account=one_line(lost.account, ACCOUNT_LIMIT))
    return Evaluation(id=definition.id, outcome="dropped", drop=drop)


def result(governed: Governed, judged: Sequence[Judgement], *, by_commit: bool) -> Result:
    """All of it together; where questions stand and what blocks is worked in afterwards (spec 9.2)."""
    bases = governed.bases
    drops = list(governed.drops)
    for judgement in judged:
        evaluation = judgement.evaluation
        lost = [evaluation.drop] if evaluation.drop is not None else []
        if evaluation.outcome in ("fired", "indeterminate") and judgement.subject is None:
            lost.append(Drop("subject_unavailable", account=f"{one_line(evaluation.id, 80)}: {NO_SUBJECT}"))
        drops += [checkpoint_drop(judgement.definition, drop, governed.commit_id) for drop in lost]
    return Result(
        policy_commit=governed.commit_id,
        trunk=bases.trunk.ref if bases.trunk is not None else None,
        other_bases=bases.commits[1:],
        head=bases.head,
        candidate="commit" if by_commit else "worktree",
        checkpoints=tuple(judged),
        drops=tuple(drops),
    )


def checkpoint_drop(definition: Definition, drop: Drop, commit: str | None) -> DropRecord:
    """A drop of one definition."""
    account = one_line(drop.account or drop.reason, ACCOUNT_LIMIT)
    return DropRecord(
        checkpoint=definition.id,
        mode=definition.mode,
        policy_commit=commit,
        reason=drop.reason,
        detail=drop.detail,
        account=account,
    )
