"""One enumeration of the change: policy tree against index, index against files, and what is untracked (spec 4.1, 4.2).

The first is asked in the sealed directory. The second needs the user's own setting, because only that says what `git add` would
store; each file that may differ is then hashed, and its object id, not its look, decides whether it is changed.
"""

from __future__ import annotations

import os
import stat
from functools import cached_property
from typing import NamedTuple

from discern.effects.git import Git, Question, advice
from discern.effects.gitlinks import checked_out
from discern.effects.listings import DIRTY, NO_ENTRY, Listings, Marks, Row, parse_raw, unopened
from discern.effects.repository import Repository
from discern.effects.sealed import Entry, Objects, Sealed, blob_id
from discern.effects.storing import add_files, hash_files, keeps_modes, storing, unfiltered
from discern.effects.worktree import Absent, Signature, Worktree, signature
from discern.vocabulary import SUBJECT_FILE_LIMIT, FileReason, Kind

GITLINK, LINK = "160000", "120000"
LOOKED_INTO = 8 << 20  # bytes of a dirty file that are searched for line ends of two characters


class Change(NamedTuple):
    """One changed path, root-relative, with what Git has or would store on either side.

    `trouble`: why the current side could not be read; then `current` is not known. An untracked file's is not asked for here.
    """

    path: bytes
    kind: Kind
    base: Entry | None
    current: Entry | None
    trouble: FileReason | None = None
    untracked: bool = False

    @property
    def sides(self) -> tuple[Entry, ...]:
        """The sides there are, the policy commit's first."""
        return tuple(side for side in (self.base, self.current) if side is not None)

    @property
    def gitlink(self) -> bool:
        """A submodule on either side: never text, never binary (spec 4.8)."""
        return (self.base is not None and self.base.mode == GITLINK) or (
            self.current is not None and self.current.mode == GITLINK
        )


def changes(
    git: Git, repository: Repository, sealed: Sealed, objects: Objects, policy_tree: str, listings: Listings
) -> tuple[Change, ...] | str:
    """Every changed path once, sorted by its bytes; a string says in one line why there is no such view (spec 4.12)."""
    answers = [git.wait(question) for question in listings[:3] if isinstance(question, Question)]
    if len(answers) > 1 and not answers[1].ok:
        # A filter that fails on a file as young as the index ends it: without filters the file is listed at the most, and then
        # it is stored, which fails for it alone. Its words are not told: they may hold what the filter was given (spec 8.6).
        answers[1] = git.wait(git.ask(unfiltered(git, repository.setting), *DIRTY, *repository.below))
    if not all(answer.ok for answer in answers):
        failed = b" ".join(answer.words for number, answer in enumerate(answers) if not answer.ok and number != 1)
        return f"Git could not list the change: {advice(failed)}".removesuffix(": ")
    parsed = [parse_raw(answer.output) for answer in answers[:2]]
    rows = [row for row in parsed if row is not None]
    if len(rows) < len(parsed):
        return "Git's list of the change could not be read"
    closed = unopened(answers[2].words) if len(answers) > 2 else []
    if closed is None:
        return "Git could not look into all directories for untracked files"
    found = {row.path: from_row(row) for row in rows[0] if row.letter != "U"}
    if listings.marks is not None:
        room = Enumeration(git, repository, sealed, objects, policy_tree, found)
        with Worktree(repository.top) as worktree:
            if answers[1].words:  # Git passes over what it cannot look at, and only says so
                rows[1] += room.missed(worktree, {row.path for row in rows[1]} | {path for _, path in listings.marks.hidden})
            room.look_at(worktree, rows[1], listings.marks, {row.path for row in rows[0] if row.letter == "U"})
        own = sealed.below(repository.top)  # the temporary directory may lie in the working tree
        # A directory that cannot be opened is one untracked path, like a repository: what is in it nobody knows.
        for path in (path.rstrip(b"/") for path in (*listings.marks.untracked, *closed) if not path.startswith(own)):
            found.setdefault(path, Change(path, "added", None, None, untracked=True))
    cut = len(os.fsencode(repository.prefix))
    changed = (change._replace(path=change.path[cut:]) for change in found.values()) if cut else found.values()
    return tuple(sorted(changed, key=lambda change: change.path))


class Candidate(NamedTuple):
    """A tracked file that may differ from the index: what the index has, the mode it would be stored with."""

    path: bytes
    stored: Entry | None
    mode: str
    listed: bool = False  # Git itself says that it may differ


class Enumeration:
    """The tracked listing while it is being put together: staged changes, corrected by what the files themselves hold."""

    def __init__(
        self, git: Git, repository: Repository, sealed: Sealed, objects: Objects, policy_tree: str, found: dict[bytes, Change]
    ) -> None:
        self._git, self._repository, self._sealed, self._objects = git, repository, sealed, objects
        self._policy_tree = policy_tree
        self._index_matters = False  # to what a dirty file would be stored as
        self._found = found

    def look_at(self, worktree: Worktree, rows: list[Row], marks: Marks, staged_unmerged: set[bytes]) -> None:
        """Work in the files that may differ: those Git names, those its index flags hide, and unmerged ones (spec 4.1, 4.2)."""
        unmerged = staged_unmerged | {row.path for row in rows if row.letter == "U"}
        dirty: dict[bytes, Candidate] = {}
        off_disk = [row.path for row in rows if row.letter == "D"] + [path for _, path in marks.hidden]
        marks.attributes_off_disk = self._index_matters = any(path.endswith(b".gitattributes") for path in off_disk)
        self._gone([row for row in rows if row.letter == "D" and row.path not in unmerged])
        for row in rows:
            if row.letter != "D" and row.path not in unmerged:
                dirty[row.path] = Candidate(
                    row.path, row.before if row.before.mode != NO_ENTRY.mode else None, row.after.mode, listed=True
                )
        for flag, path in marks.hidden:
            self._unhide(worktree, flag, path, dirty)
        for path in unmerged:
            self._unmerged(worktree, path, dirty)
        self._store(worktree, [dirty[path] for path in sorted(dirty)])

    def missed(self, worktree: Worktree, told: set[bytes]) -> list[Row]:
        """Tracked files that Git could not look at, nor told of: gone, where links stand in their way, else lost (spec 4.8)."""
        asked = ("ls-files", "-z", "--stage", *self._repository.below)
        answer = self._git.wait(self._git.ask(self._repository.setting, *asked))
        rows = []
        for line in answer.output.split(b"\0")[:-1]:
            words, _, path = line.partition(b"\t")
            mode, oid, _ = words.decode("ascii", "replace").split(" ")
            there = worktree.look(path) if path not in told else None
            if there == "unreadable":
                self._settle(path, self._base(path, Entry(mode, oid)), None, "unreadable")
            elif there == "absent":
                rows.append(Row("D", Entry(mode, oid), NO_ENTRY, path))
        return rows

    def _base(self, path: bytes, index: Entry | None) -> Entry | None:
        """The policy tree's side: what the staged change says, else the index's own, since then they are the same."""
        return self._found[path].base if path in self._found else index

    def _in_policy(self, path: bytes) -> Entry | None:
        return self._objects.files(self._policy_tree, [path])[path]

    def _gone(self, rows: list[Row]) -> None:
        """Files that the index has and the working tree has not. What was only meant to be added shows as an empty file there."""
        empty = blob_id(b"", self._sealed.object_format)
        meant = [row.path for row in rows if row.before.oid == empty and row.path not in self._found]
        bases = self._objects.files(self._policy_tree, meant)
        for row in rows:
            self._settle(row.path, bases[row.path] if row.path in bases else self._base(row.path, row.before), None)

    def _unhide(self, worktree: Worktree, flag: str, path: bytes, dirty: dict[bytes, Candidate]) -> None:
        """A file that assume-unchanged (lower case) or skip-worktree (S) hides; one that a sparse checkout lacks is no change."""
        sparse = flag in "Ss"
        if sparse and worktree.look(path) == "absent":
            return
        staged = self._found.get(path)
        index = staged.current if staged is not None else self._in_policy(path)
        if not (sparse and look(worktree, path, index) == "absent"):
            self._ask_file(worktree, path, index, dirty)

    def _unmerged(self, worktree: Worktree, path: bytes, dirty: dict[bytes, Candidate]) -> None:
        """What Git's diff from the policy commit to the working tree says of an unmerged path (spec 4.1)."""
        base = self._in_policy(path)
        self._found[path] = Change(path, "modified" if base else "added", base, None)
        self._ask_file(worktree, path, base, dirty)

    def _ask_file(self, worktree: Worktree, path: bytes, stored: Entry | None, dirty: dict[bytes, Candidate]) -> None:
        """A file of which Git does not say what it is."""
        info = look(worktree, path, stored)
        if isinstance(info, str):
            self._settle(path, self._base(path, stored), None, "unreadable" if info == "unreadable" else None)
        else:
            dirty.setdefault(path, Candidate(path, stored, self._mode(info, stored.mode if stored is not None else "100644")))

    def _mode(self, info: os.stat_result, before: str) -> str:
        """The mode a file would be stored with: the executable bit is the index's where the user has Git not look at it."""
        if stat.S_ISLNK(info.st_mode):
            return LINK
        if stat.S_ISDIR(info.st_mode):
            return GITLINK
        executable = bool(info.st_mode & stat.S_IXUSR)
        if executable != (before == "100755") and not self._keeps_modes:
            executable = not executable
        return "100755" if executable else "100644"

    @cached_property
    def _keeps_modes(self) -> bool:
        return keeps_modes(self._git, self._repository)

    def _settle(self, path: bytes, base: Entry | None, current: Entry | None, trouble: FileReason | None = None) -> None:
        """The last word on a path: no change if both sides are the same."""
        if base == current and trouble is None:
            self._found.pop(path, None)
            return
        kind: Kind = "added" if base is None else "modified"
        self._found[path] = Change(path, "deleted" if current is None and trouble is None else kind, base, current, trouble)

    def _store(self, worktree: Worktree, dirty: list[Candidate]) -> None:
        """Hash every dirty file as `git add` would and settle what it is."""
        regular: list[tuple[Candidate, Signature]] = []
        repositories: list[Candidate] = []
        for candidate in dirty:
            base = self._base(candidate.path, candidate.stored)
            info = worktree.look(candidate.path)
            if isinstance(info, str):
                self._settle(candidate.path, base, None, "unreadable")
            elif stat.S_ISLNK(info.st_mode):
                self._store_link(worktree, candidate, base)
            elif stat.S_ISDIR(info.st_mode) and candidate.mode == GITLINK:
                repositories.append(candidate)
            elif not stat.S_ISREG(info.st_mode):
                self._settle(candidate.path, base, None, "not_regular")
            else:
                self._open(worktree, candidate, base, regular)
        self._check_out(repositories)
        self._hash(worktree, regular)

    def _check_out(self, repositories: list[Candidate]) -> None:
        """Submodules: what is recorded, unless another commit is checked out (spec 4.2).

        One that is back at the policy commit's is changed all the same, since its record is; but no id says how.
        """
        nowhere = "1" * len(blob_id(b"", self._sealed.object_format))  # for what is no submodule yet: no commit has this id
        recorded = {
            candidate.path: candidate.stored.oid if candidate.stored is not None and candidate.stored.mode == GITLINK else nowhere
            for candidate in repositories
        }
        moved = checked_out(self._git, self._repository, self._sealed, recorded)
        for path, stored in ((candidate.path, candidate.stored) for candidate in repositories):
            base = self._base(path, stored)
            if moved is None:
                self._settle(path, base, None, "unreadable")
                continue
            oid = moved.get(path, recorded[path])
            current = Entry(GITLINK, oid)
            if oid == nowhere or (current == base and path in self._found):
                self._settle(path, base, None, "not_regular")
            else:
                self._settle(path, base, current)

    def _store_link(self, worktree: Worktree, candidate: Candidate, base: Entry | None) -> None:
        """A symlink is its target's text, never followed (spec 4.8)."""
        target = worktree.link(candidate.path)
        current = Entry(LINK, self._sealed.write(b"blob", target)) if target is not None else None
        self._settle(candidate.path, base, current, None if current else "unreadable")

    def _open(
        self, worktree: Worktree, candidate: Candidate, base: Entry | None, regular: list[tuple[Candidate, Signature]]
    ) -> None:
        with worktree.regular(candidate.path) as reader:
            if isinstance(reader, str):
                self._settle(candidate.path, base, None, reader)
            elif candidate.mode == LINK:  # core.symlinks = false: a link checked out as a file that holds its target
                body = reader.read(SUBJECT_FILE_LIMIT)
                self._settle(
                    candidate.path, base, Entry(LINK, self._sealed.write(b"blob", body if isinstance(body, bytes) else b""))
                )
            elif reader.seen.size > SUBJECT_FILE_LIMIT:
                sizes = self._objects.sizes([candidate.stored.oid]) if candidate.stored else [None]
                same = sizes == [reader.seen.size] and candidate.stored == Entry(
                    candidate.mode, reader.digest(self._sealed.object_format)
                )
                self._settle(candidate.path, base, candidate.stored if same else None, None if same else "file_limit")
            else:
                if not self._index_matters:
                    body = reader.read(LOOKED_INTO)
                    self._index_matters = reader.seen.size > LOOKED_INTO or (isinstance(body, bytes) and b"\r\n" in body)
                regular.append((candidate, reader.seen))

    def _hash(self, worktree: Worktree, regular: list[tuple[Candidate, Signature]]) -> None:
        """One process stores them all; what changes under its hands is not known (spec 4.3)."""
        # Only Git's index knows whether a file was stored with such line ends, and what attributes say that are not on disk.
        added = self._add([candidate.path for candidate, _ in regular if candidate.listed]) if self._index_matters else {}
        rest = [candidate.path for candidate, _ in regular if candidate.path not in added]
        oids = added | dict(
            zip(rest, hash_files(self._git, storing(self._repository, self._sealed), rest, store=True), strict=True)
        )
        for candidate, seen in regular:
            oid = oids[candidate.path]
            info = worktree.look_again(candidate.path)
            trouble: FileReason | None = None
            if oid is None:
                trouble = "unreadable"
            elif isinstance(info, str) or signature(info) != seen:
                trouble = "inconsistent"
            current = Entry(candidate.mode, oid) if oid is not None and trouble is None else None
            self._settle(candidate.path, self._base(candidate.path, candidate.stored), current, trouble)

    def _add(self, paths: list[bytes]) -> dict[bytes, str | None]:
        """What `git add` stores in a copy of the index; nothing if one of the files stops it."""
        oids = add_files(self._git, self._repository, self._sealed, self._policy_tree, paths)
        if oids is None:
            return {}
        bases = self._objects.files(self._policy_tree, [path for path in paths if path not in oids])  # what they are back at
        return {path: oids.get(path) or (base.oid if (base := bases.get(path)) is not None else None) for path in paths}


def look(worktree: Worktree, path: bytes, stored: Entry | None) -> os.stat_result | Absent:
    """What is there in the place of a tracked file: a directory is nothing, as for Git, unless it is a repository."""
    info = worktree.look(path)
    if isinstance(info, str) or not stat.S_ISDIR(info.st_mode) or (stored is not None and stored.mode == GITLINK):
        return info
    return "absent" if worktree.look(path + b"/.git") == "absent" else info


def from_row(row: Row) -> Change:
    """A staged or committed change."""
    base = row.before if row.before.mode != NO_ENTRY.mode else None
    current = row.after if row.after.mode != NO_ENTRY.mode else None
    return Change(row.path, "added" if base is None else "deleted" if current is None else "modified", base, current)
