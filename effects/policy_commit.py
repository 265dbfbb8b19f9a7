"""What the policy commit holds: the governing file, question files, attributes, its tree; and the history since (spec 1.3, 4)."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from discern.effects.git import Git, Question
from discern.effects.repository import Repository, is_oid
from discern.effects.sealed import Objects, Sealed
from discern.effects.view import LINK, Change
from discern.facts import History, Unavailable
from discern.vocabulary import CONFIG_LIMIT, HISTORY_LIMIT, QUESTION_FILE_LIMIT

ATTRIBUTES = b".gitattributes"
ATTRIBUTES_LIMIT = 100 << 20  # bytes; Git reads no larger one
SPEAKS_OF_DIFF = re.compile(rb"diff|binary|\[attr\]")
OUTSIDE = (b"\0\0", b"\0.\0", b"\0..\0")  # a segment that is empty, `.` or `..`
REGULAR = ("100644", "100755")


class Unreadable(NamedTuple):
    """The governing file is there and cannot be used (spec 1.3): why, in one line."""

    account: str


class PolicyCommit:
    """The commit that governs, read by path. Paths are root-relative; `tree` names its tree for `Objects`."""

    def __init__(self, repository: Repository, objects: Objects, commit: str) -> None:
        self.commit = commit
        self.tree = commit + "^{tree}"
        self._objects = objects
        self._prefix = os.fsencode(repository.prefix)

    def governing_file(self) -> bytes | Unreadable | None:
        """`discern.toml`: its bytes (no more than one past the limit), None if there is none (spec 1.3)."""
        entry = self._objects.entry(self.tree, self._prefix + b"discern.toml")
        if entry is None:
            return None if self._objects.there(self.tree) else Unreadable("the policy commit's tree is not in this repository")
        if entry.mode not in REGULAR:
            what = "a symbolic link" if entry.mode == LINK else "no regular file"
            return Unreadable(f"discern.toml is {what} in the policy commit; commit it as a regular file")
        body = self._objects.body(entry.oid, CONFIG_LIMIT)
        if body is None:
            return Unreadable("discern.toml is in the policy commit but its content is not in this repository; fetch it")
        return body if isinstance(body, bytes) else b" " * (CONFIG_LIMIT + 1)  # the size alone makes it invalid

    def question_text(self, path: str) -> str | None:
        """The text of a question file, if it is a regular UTF-8 blob within its limit with no link on the way (spec 2.3)."""
        entry = self._objects.entry(self.tree, self._prefix + path.encode("utf-8", "surrogateescape"))
        body = self._objects.body(entry.oid, QUESTION_FILE_LIMIT) if entry is not None and entry.mode in REGULAR else None
        if not isinstance(body, bytes):
            return None
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def attribute_files(self, listing: bytes, changes: Iterable[Change]) -> list[tuple[str, bytes]]:
        """The `.gitattributes` files that govern these paths and say anything of `diff`, by their place below the top."""
        paths = [self._prefix + change.path for change in changes]  # sorted, as the changes are
        found = [path for path in named(listing, ATTRIBUTES) if is_inside(path) and any_below(paths, path[: -len(ATTRIBUTES)])]
        files = []
        for path, entry in self._objects.entries(self.tree, sorted(found)).items():
            body = self._objects.body(entry.oid, ATTRIBUTES_LIMIT) if entry is not None and entry.mode in REGULAR else None
            if isinstance(body, bytes):
                files.append((os.fsdecode(path), body))
        return files if any(SPEAKS_OF_DIFF.search(body) for _, body in files) else []

    def attributes(
        self, git: Git, sealed: Sealed, files: list[tuple[str, bytes]], changes: tuple[Change, ...]
    ) -> dict[int, bool] | None:
        """By index, whether they set or unset `diff` for a changed path, tracked or not; None if Git could not say (spec 4.1)."""
        if not files or not changes:
            return {}
        paths = [change.path for change in changes]
        usual = is_inside(b"\0".join(paths))  # one look at all of them: a quarter of the time of one at each
        asked = [index for index, path in enumerate(paths) if usual or is_inside(path)]
        names = b"".join([self._prefix + paths[index] + b"\0" for index in asked])
        answer = git.wait(git.ask(sealed.with_attributes(files), "check-attr", "-z", "--stdin", "diff", stdin=names))
        fields = answer.output.split(b"\0")
        if not answer.ok or len(fields) != 3 * len(asked) + 1:
            return None
        values = {b"set": True, b"unset": False}
        return {index: values[value] for index, value in zip(asked, fields[2::3], strict=True) if value in values}


def is_inside(path: bytes) -> bool:
    """Whether a path, or each of several with a NUL between, stays below its top: a tree made by hand may hold other names."""
    segments = b"\0%b\0" % path.replace(b"/", b"\0")
    return not any(odd in segments for odd in OUTSIDE)


def any_below(paths: list[bytes], folder: bytes) -> bool:
    """Whether one of these sorted paths lies below a folder, given with its slash, the top as nothing."""
    at = bisect_left(paths, folder)
    return at < len(paths) and paths[at].startswith(folder)


def named(listing: bytes, name: bytes) -> Iterable[bytes]:
    """The paths of a NUL-ended listing whose last segment is this name."""
    at = listing.find(name + b"\0")
    while at >= 0:
        path = listing[listing.rfind(b"\0", 0, at) + 1 : at + len(name)]
        if path == name or path.endswith(b"/" + name):
            yield path
        at = listing.find(name + b"\0", at + 1)


def ask_tree(git: Git, sealed: Sealed, commit: str) -> Question:
    """Every path of the policy commit's tree (spec 4.9)."""
    return git.ask(sealed.setting, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)


def base_paths(listing: bytes, prefix: str) -> tuple[str, ...]:
    """Those below the project root, root-relative."""
    paths = listing.decode("utf-8", "surrogateescape").split("\0")[:-1]
    below = os.fsencode(prefix).decode("utf-8", "surrogateescape")
    return tuple(path[len(below) :] for path in paths if path.startswith(below)) if below else tuple(paths)


def ask_history(git: Git, repository: Repository, policy_commit: str, head: str) -> Question:
    """The commits since the policy commit; asked in the repository, which knows where a shallow clone ends (spec 4.10)."""
    return git.ask(repository.setting, "rev-list", "--reverse", "--topo-order", f"{policy_commit}..{head}", limit=HISTORY_LIMIT)


def history(git: Git, repository: Repository, question: Question) -> History | Unavailable:
    """What it brought (spec 4.10)."""
    answer = git.wait(question)
    if answer.stopped:
        return Unavailable("output_limit")
    lines = answer.output.split()
    if not answer.ok or not all(map(is_oid, lines)):
        return Unavailable("git_failed")
    if repository.shallow and not cut_off(repository).isdisjoint(lines):
        return Unavailable("shallow")
    return History(tuple(line.decode() for line in lines))


def cut_off(repository: Repository) -> frozenset[bytes]:
    """The commits whose parents a shallow clone lacks."""
    try:
        with open(repository.common_directory + "/shallow", "rb") as file:
            return frozenset(file.read().split())
    except OSError:
        return frozenset()
