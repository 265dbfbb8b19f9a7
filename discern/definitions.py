"""What is asked: a resolved checkpoint, with scopes, references, seeds and question files already worked in (spec 1, 2)."""

from __future__ import annotations

from typing import NamedTuple

from attrs import frozen

from discern.vocabulary import EntryReason, Kind, Mode


@frozen(kw_only=True)
class Definition:
    """One resolved `[checkpoints.<id>]` entry (spec 0, 2.1).

    Every field of the registry but `scope` is here by its own name. `paths` holds the selector's patterns, whichever of `scope`
    and `paths` gave them: None without a selector, `()` for a scope without patterns, which selects nothing. In the other
    arrays `()` and in texts and numbers None is unset (spec 7.1).
    """

    id: str
    paths: tuple[str, ...] | None = None
    include_generated: bool = False
    exclude_paths: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    adds_matching: tuple[str, ...] = ()
    removes_matching: tuple[str, ...] = ()
    new_directory: bool = False
    binary: bool | None = None
    similar_new_file: bool = False
    unless_changed: tuple[str, ...] = ()
    min_changed_files: int | None = None
    min_changed_lines: int | None = None
    deletion_dominant: bool = False
    min_commits: int | None = None
    when: str | None = None
    mode: Mode = "stop"
    question: str
    question_file: str | None = None
    teach: str | None = None
    reference: str | None = None


@frozen(kw_only=True)
class EntryDrop:
    """An entry that cannot be used, and why (spec 1.5). `account` names the field and what to do, in one line."""

    id: str
    mode: Mode
    reason: EntryReason
    account: str


@frozen(kw_only=True)
class Policy:
    """What the governing `discern.toml` says: the good entries in the order of the file, the bad ones as drops (spec 1.5)."""

    definitions: tuple[Definition, ...] = ()
    drops: tuple[EntryDrop, ...] = ()
    generated: tuple[str, ...] = ()
    trunk: str | None = None


class PolicyInvalid(NamedTuple):
    """The governing file as a whole cannot be used: `governing_config_invalid` (spec 1.3)."""

    account: str
