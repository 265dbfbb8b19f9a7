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

    def subjects(self, asked: Sequence[tuple[str, str | None, Evaluation]]) -> list[str | None]:
        """The subject of each outcome, given definition hash and fingerprint with it; None without a path, or a safe identity.

        Outcomes that carry the very same paths, as many do, are taken together, so that their rows are joined once and let go.
        """
        found: list[str | None] = [None] * len(asked)
        alike: dict[tuple[str, ...], list[int]] = {}
        for number, (_, _, evaluation) in enumerate(asked):
            if evaluation.outcome in CARRIES_PATHS:
                alike.setdefault(evaluation.matched, []).append(number)
        for matched, numbers in alike.items():
            if all(map(self.paths.__contains__, matched)):
                rows = b",".join(map(self.paths.__getitem__, matched))
                for number in numbers:
                    found[number] = self._subject(*asked[number], rows)
        return found

    def _subject(self, key: str, fingerprint: str | None, evaluation: Evaluation, rows: bytes) -> str | None:
        beside = [self.related.get((one.for_path, one.path)) for one in evaluation.related]
        related = [row for row in beside if row is not None]
        return subject(key, fingerprint, [rows], related) if len(related) == len(beside) else None


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
    matched = set[str]().union(*{evaluation.matched for evaluation in carrying})
    pairs = {(one.for_path, one.path) for evaluation in carrying for one in evaluation.related}
    wanted = sorted(place[path] for path in matched)
    marks = ground.listings.marks if ground.listings is not None else None
    by_index = commit.tree if marks is not None and marks.attributes_off_disk else None
    sides = identify(git, ground.repository, ground.sealed, worktree, gathered.changes, wanted, by_index)
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
    keys = [definition_hash(definition) for definition in definitions]
    mixed_in = [fingerprint if definition.min_commits is not None else None for definition in definitions]
    commanded = [number for number, definition in enumerate(definitions) if definition.when is not None]
    subjects = rows.subjects(list(zip(keys, mixed_in, decided, strict=True)))
    structural = rows.subjects([(keys[number], mixed_in[number], asked[number]) for number in commanded])
    structural_of = dict(zip(commanded, structural, strict=True))
    return [
        Judgement(
            definition=definition,
            definition_hash=keys[number],
            evaluation=decided[number],
            subject=subjects[number],
            structural_subject=structural_of.get(number),
        )
        for number, definition in enumerate(definitions)
    ]
