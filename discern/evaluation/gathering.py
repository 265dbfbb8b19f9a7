"""The facts of a change, for whatever some definition can still ask: demand in, frozen records out (spec 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from discern.definitions import Policy
from discern.demand import Demand, demand, needs
from discern.effects import policy_commit as governing
from discern.effects import view
from discern.effects.content import NOTHING, Collector, FileFacts, Wanted, unknown
from discern.effects.git import Git
from discern.effects.opening import Ground
from discern.effects.policy_commit import PolicyCommit
from discern.effects.view import Change
from discern.effects.worktree import Worktree
from discern.evaluation.clock import Clock
from discern.evaluation.governing import Governed
from discern.facts import NOT_COLLECTED, BaseTree, ChangedFile, Facts, NotCollected, Unavailable
from discern.patterns import Listing, flags, patterns_of
from discern.survey import Outline, Survey


class Gathered(NamedTuple):
    """The facts, the same change as Git identifies it, in the same order, and the survey that the stages ask."""

    facts: Facts
    changes: tuple[Change, ...]
    survey: Survey


class Lost(NamedTuple):
    """There is no view of the change at all, and why, in one line: every definition drops (spec 4.12)."""

    account: str


def gather(
    git: Git, ground: Ground, governed: Governed, commit: PolicyCommit, worktree: Worktree | None, clock: Clock
) -> Gathered | Lost:
    """Everything these definitions can ask for, and nothing else (spec 4.5)."""
    if ground.listings is None:
        return Lost("nothing was listed")
    tree = governing.ask_tree(git, ground.sealed, commit.commit)
    asks_history = any("history" in needs(definition) for definition in governed.definitions)
    head = governed.bases.head
    history = governing.ask_history(git, ground.repository, commit.commit, head) if asks_history and head is not None else None
    with clock.part("listing the change"):
        changes = view.changes(git, ground.repository, ground.sealed, ground.objects, commit.tree, ground.listings)
    if isinstance(changes, str):
        return Lost(changes)
    with clock.part("working out the demand"):
        listing = Listing(change.path.decode("utf-8", "surrogateescape") for change in changes)
        generated = listing.mask_any(patterns_of(governed.policy.generated))
        wanted = demand(governed.definitions, Outline(listing, [change.kind for change in changes], generated))
    listed = git.wait(tree)
    with clock.part("collecting content and counts"):
        files = collect(git, ground, commit, worktree, changes, wants(wanted, len(changes)), listed.output if listed.ok else b"")
    base: BaseTree | Unavailable | NotCollected = NOT_COLLECTED
    if wanted.base:
        base = base_tree(listed.output, ground.repository.prefix, governed.policy) if listed.ok else Unavailable("git_failed")
    del listed  # the largest of all answers; what is needed of it is in the base tree
    commits = governing.history(git, ground.repository, history) if history is not None else NOT_COLLECTED
    facts = Facts(changes=assemble(listing, changes, generated, files), base=base, history=commits)
    return Gathered(facts, changes, Survey(facts, listing))


def collect(
    git: Git,
    ground: Ground,
    commit: PolicyCommit,
    worktree: Worktree | None,
    changes: tuple[Change, ...],
    wanted: dict[int, Wanted],
    tree: bytes,
) -> dict[int, FileFacts]:
    """Flags, counts and lines of the wanted files, under the policy commit's attributes (spec 4.1)."""
    if not wanted:
        return {}
    attributes = commit.attributes(git, ground.sealed, commit.attribute_files(tree, changes), changes)
    if attributes is None:
        return {index: unknown("inconsistent") for index in wanted}
    return Collector(git, ground.sealed, ground.objects, worktree, attributes).collect(changes, wanted)


def wants(wanted: Demand, count: int) -> dict[int, Wanted]:
    """The demanded facts by file."""
    rows = zip(*(flags(files, count) for files in (wanted.binary, wanted.lines, wanted.content)), strict=True)
    kinds = {row: Wanted(*map(bool, row)) for row in product((0, 1), repeat=3) if any(row)}  # seven records for all files
    return {index: kinds[row] for index, row in enumerate(rows) if row in kinds}


def base_tree(listing: bytes, prefix: str, policy: Policy) -> BaseTree:
    """The policy commit's tree below the root, with its generated paths (spec 4.9)."""
    paths = governing.base_paths(listing, prefix)
    if not policy.generated:
        return BaseTree(paths)
    tree = Listing(paths)
    return BaseTree(paths, frozenset(tree.pick(tree.mask_any(patterns_of(policy.generated)))))


def assemble(
    listing: Listing, changes: Sequence[Change], generated: int, files: Mapping[int, FileFacts]
) -> tuple[ChangedFile, ...]:
    """The records that the stages see."""
    rows = zip(listing.paths, changes, flags(generated, len(changes)), strict=True)
    return tuple(
        ChangedFile(path, change.kind, bool(made), *files.get(index, NOTHING)) for index, (path, change, made) in enumerate(rows)
    )
