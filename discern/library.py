"""What other code builds on: the same parts as the command, without printing, exits or state (spec 9).

Failures are values: `returns.result.Failure` with a record that says why. An exception is a programming error, or the machine
failing under us (OSError, MemoryError). Everything may be called from several threads at once; records can be pickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen
from returns.result import Failure, Success
from returns.result import Result as Either

from discern.definitions import Definition, Policy, PolicyInvalid
from discern.effects.git import Refused
from discern.effects.interruption import Flag
from discern.effects.opening import Opening
from discern.effects.repository import Asked
from discern.effects.worktree import Worktree
from discern.evaluation import Request
from discern.evaluation import evaluate as evaluate_request
from discern.evaluation.clock import Clock
from discern.evaluation.gathering import Lost, gather
from discern.evaluation.governing import govern
from discern.facts import Facts
from discern.outcomes import DropRecord, Evaluation, Result
from discern.pipeline import judge as judge_surveyed
from discern.policy import parse, resolve
from discern.survey import Survey
from discern.vocabulary import FailOn


@frozen(kw_only=True)
class Collection:
    """A governing policy and the facts of a change: all that the pure part needs (spec 1, 4).

    `facts` is None where there is nothing to judge: no definition, or no view of the change, or no policy; `drops` says why.
    """

    policy_commit: str | None
    head: str | None
    definitions: tuple[Definition, ...]
    facts: Facts | None
    drops: tuple[DropRecord, ...] = ()


def load_policy(text: bytes, question_texts: Mapping[str, str] | None = None) -> Either[Policy, PolicyInvalid]:
    """The definitions in a `discern.toml`, and its bad entries as drops (spec 1.3 to 1.7).

    `question_texts` has the text of each question file by its path. Failure: the file as a whole cannot be used.
    """
    document = parse(text)
    if isinstance(document, PolicyInvalid):
        return Failure(document)
    policy = resolve(document, question_texts or {})
    return Failure(policy) if isinstance(policy, PolicyInvalid) else Success(policy)


def judge(definition: Definition, facts: Facts) -> Evaluation:
    """One definition over the facts, purely; `undecided` where only its `when` command is left to be asked (spec 5)."""
    return judge_surveyed(definition, Survey(facts))


def judge_all(definitions: Iterable[Definition], facts: Facts) -> tuple[Evaluation, ...]:
    """Several definitions over the same facts, which are gone through once for all of them (spec 5)."""
    survey = Survey(facts)
    return tuple(judge_surveyed(definition, survey) for definition in definitions)


def collect(
    root: str | None = None,
    *,
    trunk: str | None = None,
    commit: str | None = None,
    ids: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Either[Collection, Refused]:
    """The policy that governs a working tree (or `commit`) and the facts that its definitions can ask for (spec 1, 4).

    Failure: no Git working tree, a trunk or commit that is not there, an unknown id.
    """
    asked = Asked(root, trunk, "trunk", commit)
    with Opening(asked, os.environ if environment is None else environment) as opening:
        ground = opening.found
        if isinstance(ground, Refused):
            return Failure(ground)
        governed = govern(opening.git, ground, ids)
        if isinstance(governed, Refused):
            return Failure(governed)
        facts: Facts | None = None
        if governed.commit is not None and governed.definitions:
            if commit is None:
                with Worktree(ground.repository.root) as worktree:
                    gathered = gather(opening.git, ground, governed, governed.commit, worktree, Clock())
            else:
                gathered = gather(opening.git, ground, governed, governed.commit, None, Clock())
            facts = None if isinstance(gathered, Lost) else gathered.facts
        return Success(
            Collection(
                policy_commit=governed.commit_id,
                head=governed.bases.head,
                definitions=governed.definitions,
                facts=facts,
                drops=governed.drops,
            )
        )


def evaluate(
    root: str | None = None,
    *,
    trunk: str | None = None,
    commit: str | None = None,
    ids: Sequence[str] = (),
    dry_run: bool = False,
    fail_on: tuple[FailOn, ...] = ("awaiting",),
    environment: Mapping[str, str] | None = None,
    cancel: Flag | None = None,
) -> Either[Result, Refused]:
    """What `discern evaluate` says of a working tree, or of `commit` (spec 9).

    `root`: a directory, the project root; without it the Git top level around the current directory. `dry_run`: run no command,
    write nothing. `cancel`: a `threading.Event` or a `Cancel`; set from another thread, it ends a running `when` command, whose
    outcome then is indeterminate with `when_cancelled`. Failure: there is nothing that could be evaluated, and why.
    """
    request = Request(asked=Asked(root, trunk, "trunk", commit), ids=tuple(ids), dry_run=dry_run, fail_on=fail_on)
    with Opening(request.asked, os.environ if environment is None else environment) as opening:
        found = evaluate_request(request, opening, cancel)
    return Failure(found) if isinstance(found, Refused) else Success(found.result)
