"""What each outcome is about: subjects over matched and related paths (spec 7.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from discern.definitions import Definition
from discern.effects.git import Git
from discern.effects.opening import Ground
from discern.effects.policy_commit import PolicyCommit
from discern.effects.subjects import identify, siblings
from discern.effects.worktree import Worktree
from discern.evaluation.gathering import Gathered
from discern.identity import definition_hash, fingerprint_of, path_row, related_row, subject
from discern.outcomes import Evaluation, Judgement

CARRIES_PATHS = ("fired", "indeterminate", "undecided")


class Rows(NamedTuple):
    """What subjects say of each path, encoded once for all; a path without a safe identity is not there."""

    paths: Mapping[str, bytes]
    related: Mapping[tuple[str, str], bytes]

    def subject(self, key: str, fingerprint: str | None, evaluation: Evaluation) -> str | None:
        """The subject of an outcome; None if it carries no path, or one of them has no safe identity."""
        if evaluation.outcome not in CARRIES_PATHS:
            return None
        try:
            paths = list(map(self.paths.__getitem__, evaluation.matched))
            related = [self.related[one.for_path, one.path] for one in evaluation.related]
        except KeyError:
            return None
        return subject(key, fingerprint, paths, related)


NO_ROWS = Rows({}, {})


def look_up(
    git: Git,
    ground: Ground,
    commit: PolicyCommit,
    gathered: Gathered,
    evaluations: Sequence[Evaluation],
    worktree: Worktree | None,
) -> Rows:
    """Both sides of every path that an outcome carries."""
    carrying = [evaluation for evaluation in evaluations if evaluation.outcome in CARRIES_PATHS]
    place = {change.path: index for index, change in enumerate(gathered.facts.changes)}
    matched = {path for evaluation in carrying for path in evaluation.matched}
    pairs = {(one.for_path, one.path) for evaluation in carrying for one in evaluation.related}
    wanted = sorted(place[path] for path in matched)
    sides = identify(git, ground.repository, ground.sealed, worktree, gathered.changes, wanted)
    beside = siblings(ground.repository, ground.objects, commit.tree, gathered.changes, sorted({path for _, path in pairs}))
    return Rows(
        {path: path_row(path, *sides[place[path]]) for path in matched if place[path] in sides},
        {pair: related_row(*pair, *beside[pair[1]]) for pair in pairs if pair[1] in beside},
    )


def judgements(
    definitions: Sequence[Definition],
    asked: Sequence[Evaluation],
    decided: Sequence[Evaluation],
    rows: Rows,
    gathered: Gathered | None,
) -> list[Judgement]:
    """Each outcome with its subject; for a definition with a command also what that was asked about (spec 8.4)."""
    fingerprint = fingerprint_of(gathered.facts.history) if gathered is not None else None
    found = []
    for definition, before, after in zip(definitions, asked, decided, strict=True):
        key = definition_hash(definition)
        mixed_in = fingerprint if definition.min_commits is not None else None
        found.append(
            Judgement(
                definition=definition,
                definition_hash=key,
                evaluation=after,
                subject=rows.subject(key, mixed_in, after),
                structural_subject=rows.subject(key, mixed_in, before) if definition.when is not None else None,
            )
        )
    return found
