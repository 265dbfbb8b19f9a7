"""What other code builds on: the same parts as the command, without printing, exits or state (spec 9).

Failures are values: `returns.result.Failure` with a record that says why, in one line. That holds for whatever the machine, the
repository or the policy does. An exception is a mistake in the calling program, such as a word that is none of the contract's.
Everything may be called from several threads and processes at once; all records are frozen, compare by value and can be pickled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TypeVar

from attrs import frozen
from returns.result import Failure, Success
from returns.result import Result as Either

from discern.definitions import Definition, Policy, PolicyInvalid
from discern.effects.git import Refused, refused_by
from discern.effects.interruption import Flag
from discern.effects.opening import Ground, Opening
from discern.effects.policy_commit import PolicyCommit
from discern.effects.repository import Asked
from discern.effects.worktree import Worktree
from discern.evaluation import Request, checkpoint_drop, unreadable
from discern.evaluation import evaluate as evaluate_request
from discern.evaluation.clock import Clock
from discern.evaluation.gathering import Gathered, Lost, gather
from discern.evaluation.governing import Governed, govern
from discern.facts import Facts
from discern.governing_file import parse
from discern.outcomes import DropRecord, Evaluation, Result
from discern.pipeline import judge as judge_surveyed
from discern.pipeline import judge_facts
from discern.policy import resolve
from discern.survey import Survey
from discern.vocabulary import FailOn

Place = str | os.PathLike[str]
Found = TypeVar("Found")


@frozen(kw_only=True)
class Collection:
    """A governing policy and the facts of a change: all that the pure part needs (spec 1, 4).

    `facts` is None where there is nothing to judge: no definition, or no view of the change, or no policy; `drops` says why. The
    facts hold changed lines themselves, which no result does: keep them as you keep the code (spec 8.6).
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
    """One definition over the facts, purely; `undecided` where only its `when` command is left to be asked (spec 5).

    Total: a fact that is missing is a `dropped` outcome. `conclude` makes the outcome out of an `undecided` one and an answer.
    """
    return judge_facts(definition, facts)


def judge_all(definitions: Iterable[Definition], facts: Facts) -> tuple[Evaluation, ...]:
    """Several definitions over the same facts, which are gone through once for all of them (spec 5)."""
    survey = Survey(facts)
    return tuple(judge_surveyed(definition, survey) for definition in definitions)


def collect(
    root: Place | None = None,
    *,
    trunk: str | None = None,
    commit: str | None = None,
    ids: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Either[Collection, Refused]:
    """The policy that governs a working tree (or `commit`) and the facts that its definitions can ask for (spec 1, 4).

    Runs no `when` command and writes nothing. Arguments and Failure as in `evaluate`.
    """
    return _ask(_asked(root, trunk, commit, environment), environment, lambda opening: _collection(opening, ids))


def evaluate(
    root: Place | None = None,
    *,
    trunk: str | None = None,
    commit: str | None = None,
    ids: Sequence[str] = (),
    dry_run: bool = False,
    fail_on: tuple[FailOn, ...] = ("awaiting",),
    environment: Mapping[str, str] | None = None,
    cancel: Flag | None = None,
) -> Either[Result, Refused]:
    """What `discern evaluate` says of a working tree, or of `commit`; `blocking` in it is what the exit status says (spec 9).

    `root`: a directory, the project root; without it the Git top level around the current directory. `trunk`: what the change is
    compared with; without it as the command finds it. `ids`: only these checkpoints. `dry_run`: run no command, write nothing.
    `environment`: instead of the process's own, for Git, for `when` commands, and for what discern itself reads there.

    `cancel`: a `threading.Event` or a `Cancel`; set from another thread, it ends a running `when` command and lets no further one
    start, and each such outcome is indeterminate with `when_cancelled`. While a command runs under a call in the main thread,
    SIGINT, SIGTERM and SIGHUP end it in the same way before they take their course (spec 6.3).

    Failure: nothing could be evaluated, and why and what to do: no Git working tree, a trunk or commit that is not there, an
    unknown id, a machine that has no room for one more file or process. What could not be judged in an evaluation is no failure
    of it: it stands in `drops`.
    """
    request = Request(asked=_asked(root, trunk, commit, environment), ids=tuple(ids), dry_run=dry_run, fail_on=fail_on)

    def result(opening: Opening) -> Result | Refused:
        found = evaluate_request(request, opening, cancel)
        return found if isinstance(found, Refused) else found.result

    return _ask(request.asked, environment, result)


def _asked(root: Place | None, trunk: str | None, commit: str | None, environment: Mapping[str, str] | None) -> Asked:
    asked = Asked(None if root is None else os.fspath(root), trunk, "trunk", commit)
    return asked.or_ambient(os.environ if environment is None else environment)


def _ask(
    asked: Asked, environment: Mapping[str, str] | None, work: Callable[[Opening], Found | Refused]
) -> Either[Found, Refused]:
    """Some work at an open door to Git, with whatever the machine refuses as a value."""
    try:
        with Opening(asked, os.environ if environment is None else environment) as opening:
            found = work(opening)
    except OSError as error:
        return Failure(refused_by(error))
    return Failure(found) if isinstance(found, Refused) else Success(found)


def _collection(opening: Opening, ids: Sequence[str]) -> Collection | Refused:
    ground = opening.found
    if isinstance(ground, Refused):
        return ground
    governed = govern(opening.git, ground, ids)
    if isinstance(governed, Refused):
        return governed
    gathered = _gathered(opening, ground, governed, governed.commit) if governed.commit and governed.definitions else None
    drops = governed.drops
    if isinstance(gathered, Lost):
        lost = [(definition, unreadable(definition, gathered).drop) for definition in governed.definitions]
        drops += tuple(checkpoint_drop(definition, drop, governed.commit_id) for definition, drop in lost if drop is not None)
    return Collection(
        policy_commit=governed.commit_id,
        head=governed.bases.head,
        definitions=governed.definitions,
        facts=gathered.facts if isinstance(gathered, Gathered) else None,
        drops=drops,
    )


def _gathered(opening: Opening, ground: Ground, governed: Governed, commit: PolicyCommit) -> Gathered | Lost:
    with Worktree(ground.repository.root) if opening.asked.commit is None else nullcontext() as worktree:
        return gather(opening.git, ground, governed, commit, worktree, Clock())
