"""Which policy governs, and what stands in its place where there is none (spec 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from discern.definitions import Definition, EntryDrop, Policy, PolicyInvalid
from discern.effects.git import Git, Refused
from discern.effects.opening import Ground
from discern.effects.policy_commit import PolicyCommit, Unreadable
from discern.effects.repository import Bases, with_trunk
from discern.governing_file import parse
from discern.outcomes import DropRecord
from discern.policy import question_files, resolve
from discern.text import one_line
from discern.vocabulary import ACCOUNT_LIMIT, DropReason

IDS_NAMED = 12  # of a policy's ids, in a complaint


class Governed(NamedTuple):
    """The policy that governs, cut to the ids that were asked for; or the drops that stand in its place."""

    bases: Bases
    commit: PolicyCommit | None = None
    policy: Policy = Policy()
    definitions: tuple[Definition, ...] = ()
    drops: tuple[DropRecord, ...] = ()

    @property
    def commit_id(self) -> str | None:
        """The policy commit."""
        return self.commit.commit if self.commit is not None else None


def govern(git: Git, ground: Ground, ids: Sequence[str]) -> Governed | Refused:
    """The policy at the merge-base. If it names a trunk and nobody else did, at the merge-base with that one (spec 1.1).

    Refused for an id that the governing policy does not know (spec 9.1).
    """
    governed = read_policy(ground, ground.bases)
    trunk = governed.policy.trunk
    if trunk is not None and not ground.trunk_given:
        bases = with_trunk(git, ground.repository, ground.bases.head, trunk)
        ground.compare_with(bases)
        if bases.commits[:1] != governed.bases.commits[:1]:
            governed = read_policy(ground, bases)
        governed = governed._replace(bases=bases)
    return restrict(governed, ids)


def read_policy(ground: Ground, bases: Bases) -> Governed:
    """What `discern.toml` says at the first of the merge-bases (spec 1.3 to 1.5)."""
    if not bases.commits:
        return Governed(
            bases, drops=(policy_drop(None, "merge_base_unresolved", unresolved(bases, shallow=ground.repository.shallow)),)
        )
    commit = PolicyCommit(ground.repository, ground.objects, bases.commits[0])
    raw = commit.governing_file()
    if raw is None:
        return Governed(bases, commit)
    if isinstance(raw, Unreadable):
        return Governed(bases, commit, drops=(policy_drop(commit.commit, "governing_config_unreadable", raw.account),))
    document = parse(raw)
    if isinstance(document, PolicyInvalid):
        return Governed(bases, commit, drops=(policy_drop(commit.commit, "governing_config_invalid", document.account),))
    texts = {path: text for path in question_files(document) if (text := commit.question_text(path)) is not None}
    policy = resolve(document, texts)
    if isinstance(policy, PolicyInvalid):
        return Governed(bases, commit, drops=(policy_drop(commit.commit, "governing_config_invalid", policy.account),))
    return Governed(bases, commit, policy, policy.definitions, tuple(entry_drop(commit.commit, drop) for drop in policy.drops))


def restrict(governed: Governed, ids: Sequence[str]) -> Governed | Refused:
    """Only the ids that were asked for, before anything is collected; a bad entry's id is known (spec 9.1)."""
    if not ids or any(drop.checkpoint is None for drop in governed.drops):
        return governed
    known = [*(definition.id for definition in governed.definitions), *(drop.checkpoint or "" for drop in governed.drops)]
    for stranger in (one for one in ids if one not in known):
        named = ", ".join(one_line(one, 40) for one in known[:IDS_NAMED]) + (", …" if len(known) > IDS_NAMED else "")
        return Refused(f"{one_line(stranger, 80)}: the governing policy has no such checkpoint; it has {named or 'none'}")
    definitions = tuple(definition for definition in governed.definitions if definition.id in ids)
    return governed._replace(definitions=definitions, drops=tuple(drop for drop in governed.drops if drop.checkpoint in ids))


def policy_drop(commit: str | None, reason: DropReason, account: str) -> DropRecord:
    """A drop that is of no single checkpoint."""
    account = one_line(account, ACCOUNT_LIMIT)
    return DropRecord(checkpoint=None, mode=None, policy_commit=commit, reason=reason, detail=None, account=account)


def entry_drop(commit: str, drop: EntryDrop) -> DropRecord:
    """A bad entry (spec 1.5)."""
    return DropRecord(
        checkpoint=drop.id, mode=drop.mode, policy_commit=commit, reason=drop.reason, detail=None, account=drop.account
    )


def unresolved(bases: Bases, *, shallow: bool) -> str:
    """Why there is no merge-base, and what to do (spec 1.1, 1.2)."""
    if bases.head is None:
        return "HEAD has no commit yet, so nothing governs: commit first, on a branch that starts from the trunk"
    if bases.trunk is None:
        named = (
            f"the trunk {bases.named!r} that discern.toml names is not here" if bases.named is not None else "no trunk was found"
        )
        return f"{named} (looked for origin/HEAD, main and master): name one with --trunk or DISCERN_TRUNK"
    if shallow:
        return "no merge-base with the trunk in this shallow clone: fetch the full history (git fetch --unshallow)"
    return "HEAD and the trunk have no commit in common: name the trunk that this branch comes from with --trunk"
