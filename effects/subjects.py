"""Safe Git identities of paths: what the policy commit has there, and what the candidate has as Git would store it (spec 7.2)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from discern.effects.git import Git
from discern.effects.repository import Repository
from discern.effects.sealed import Entry, Objects, Sealed, blob_id
from discern.effects.storing import add_files, hash_files, keeps_modes, storing
from discern.effects.view import LINK, Change
from discern.effects.worktree import Signature, Worktree, signature
from discern.vocabulary import SUBJECT_FILE_LIMIT

Sides = tuple[Entry | None, Entry | None]


def identify(
    git: Git,
    repository: Repository,
    sealed: Sealed,
    worktree: Worktree | None,
    changes: tuple[Change, ...],
    wanted: Iterable[int],
    by_index: str | None = None,
) -> dict[int, Sides]:
    """Both sides of these changed paths, by index; one that has no safe identity is left out.

    What could not be read has none, nor has a repository that lies untracked in the tree. `by_index`: the policy commit's tree,
    if the index has attributes that are not on disk.
    """
    wanted = list(wanted)
    sides: dict[int, Sides] = {
        index: (changes[index].base, changes[index].current)
        for index in wanted
        if not changes[index].untracked and changes[index].trouble is None
    }
    untracked = [index for index in wanted if changes[index].untracked]
    if untracked and worktree is not None:
        entries = store_names(git, repository, sealed, worktree, changes, untracked, by_index)
        sides |= {index: (None, entry) for index, entry in entries.items()}
    return sides


def store_names(
    git: Git,
    repository: Repository,
    sealed: Sealed,
    worktree: Worktree,
    changes: tuple[Change, ...],
    untracked: list[int],
    by_index: str | None,
) -> dict[int, Entry]:
    """What `git add` would make of untracked files: links as their target text, regular files from a verified descriptor."""
    entries: dict[int, Entry] = {}
    regular: list[tuple[int, Signature]] = []
    for index in untracked:
        path = changes[index].path
        info = worktree.look(path)
        if isinstance(info, str):
            continue
        if stat.S_ISLNK(info.st_mode):
            target = worktree.link(path)
            if target is not None:
                entries[index] = Entry(LINK, blob_id(target, repository.object_format))
            continue
        with worktree.regular(path) as reader:
            if not isinstance(reader, str) and reader.seen.size <= SUBJECT_FILE_LIMIT:
                regular.append((index, reader.seen))
    executable = bool(regular) and any(seen.mode & stat.S_IXUSR for _, seen in regular) and keeps_modes(git, repository)
    prefix = os.fsencode(repository.prefix)
    paths = [prefix + changes[index].path for index, _ in regular]
    if by_index is None:
        oids = hash_files(git, storing(repository, sealed), paths, store=False)
    else:
        added = add_files(git, repository, sealed, by_index, paths) or {}
        oids = [added.get(path) for path in paths]
    for (index, seen), oid in zip(regular, oids, strict=True):
        info = worktree.look_again(changes[index].path)
        # Hashed was what was verified, and nothing else.
        if oid is not None and not isinstance(info, str) and signature(info) == seen:
            entries[index] = Entry("100755" if executable and seen.mode & stat.S_IXUSR else "100644", oid)
    return entries


def siblings(
    repository: Repository, objects: Objects, policy_tree: str, changes: tuple[Change, ...], paths: Iterable[str]
) -> dict[str, Sides]:
    """Both sides of related paths, which are in the policy commit's tree; one that has no safe identity is left out."""
    prefix = os.fsencode(repository.prefix)
    changed = {change.path: change for change in changes}
    names = {path: path.encode("utf-8", "surrogateescape") for path in paths}
    bases = objects.entries(policy_tree, [prefix + name for name in names.values()])
    found: dict[str, Sides] = {}
    for path, name in names.items():
        change, base = changed.get(name), bases[prefix + name]
        if change is None and base is not None:
            found[path] = (base, base)
        elif change is not None and change.trouble is None:
            found[path] = (change.base, change.current)
    return found
