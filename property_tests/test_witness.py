"""An independent witness (spec 4.1 to 4.3, 4.9, 4.10): another implementation of Git looks at the same repository.

Repositories grow at random. At each look the whole listing, kinds, flags, object ids, base tree and history are worked out with
dulwich and the file system; lines are held against the texts themselves, and counts against what plain Git says.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from dulwich.graph import find_merge_base
from dulwich.ignore import IgnoreFilterManager
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo as Dulwich
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from discern.facts import BaseTree, Content, History, Lines
from discern.vocabulary import BINARY_PREFIX
from tests.repositories import Repo, View, begin

QUICK = settings(max_examples=6, stateful_step_count=14, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, derandomize=False, max_examples=400, stateful_step_count=40)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]

PATHS = (
    *("a", "b.txt", "d/x", "d/y", "d/e/z", "d", "d/e", "o.o", "build/out", "sp ace/f", "é", "new\nline", "-n"),
    os.fsdecode(b"\xff\xfe"),
)
TEXTS = (
    *(b"", b"a\n", b"a", b"a\nb\n", b"b\na\n", b"a\nb\nc\nd\ne\n", b"a\nX\nc\nd\ne\n", b"\n\n", b"a\r\nb\r\n", b"x\x85\x0c\n"),
    *(b"\0", b"a\0\n", b"x" * BINARY_PREFIX + b"\0\n", b"+++ b/x\n--- a/x\n@@ -1 +1 @@\n", b"\\ No newline at end of file"),
)
IGNORED = ("*.o\n", "build/\n", "/b.txt\n", "d/e/\n", "*\n!d/\n!*.txt\n", "")
looked_at = Counter[str]()

Side = tuple[int, bytes] | None  # a mode and an object id
paths, texts, numbers = st.sampled_from(PATHS), st.sampled_from(TEXTS), st.integers(0, 30)


class Seen(NamedTuple):
    """One changed path as the witness sees it."""

    kind: str
    base: Side
    current: Side
    old: bytes
    new: bytes


class Witness:
    """A repository as dulwich and the file system show it."""

    def __init__(self, top: Path, head: bytes, trunk: bytes) -> None:
        self.top = top
        self.git = Dulwich(str(top))
        self.bases = find_merge_base(self.git, [head, trunk])
        self.head = head

    def tree(self, commit: bytes) -> dict[bytes, tuple[int, bytes]]:
        """Every path of a commit's tree."""
        found: dict[bytes, tuple[int, bytes]] = {}
        waiting = [(b"", self.git[commit].tree)]
        while waiting:
            folder, oid = waiting.pop()
            tree = self.git[oid]
            assert isinstance(tree, Tree)
            for entry in tree.iteritems():
                if stat.S_ISDIR(entry.mode):
                    waiting.append((folder + entry.path + b"/", entry.sha))
                else:
                    found[folder + entry.path] = (entry.mode, entry.sha)
        return found

    def changes(self, base: bytes) -> dict[bytes, Seen]:
        """Every changed path: what is tracked against the files, and what is not tracked."""
        before, tracked = self.tree(base), set(self.git.open_index())
        found = {}
        for path in before.keys() | tracked:
            was, (now, new) = before.get(path), self.file(path) if path in tracked else (None, b"")
            if was != now:
                kind = "added" if was is None else "deleted" if now is None else "modified"
                found[path] = Seen(kind, was, now, self.git[was[1]].as_raw_string() if was else b"", new)
        for path in self.others(tracked) - found.keys():
            now, new = self.file(path)
            found[path] = Seen("added", None, now, b"", new)
        return found

    def file(self, path: bytes) -> tuple[Side, bytes]:
        """What lies at a path, no folder of which is a link: its mode, its id and its bytes."""
        parts = path.split(b"/")
        above = [os.path.join(bytes(self.top), *parts[:n]) for n in range(1, len(parts))]
        place = os.path.join(bytes(self.top), path)
        if not all(os.path.isdir(folder) and not os.path.islink(folder) for folder in above) or not os.path.lexists(place):
            return None, b""
        mode = os.lstat(place).st_mode
        if stat.S_ISDIR(mode):
            return None, b""
        data = os.readlink(place) if stat.S_ISLNK(mode) else Path(os.fsdecode(place)).read_bytes()
        kind = 0o120000 if stat.S_ISLNK(mode) else 0o100755 if mode & stat.S_IXUSR else 0o100644
        return (kind, Blob.from_string(data).id), data

    def others(self, tracked: set[bytes]) -> set[bytes]:
        """Untracked files and links that are not ignored."""
        ignored = IgnoreFilterManager.from_repo(self.git)
        found = set()
        for folder, folders, files in os.walk(self.top):
            inside = os.path.relpath(folder, self.top)
            prefix = "" if inside == "." else inside + "/"
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            folders[:] = [name for name in folders if name not in (*links, ".git") and not ignored.is_ignored(f"{prefix}{name}/")]
            found |= {os.fsencode(prefix + name) for name in (*files, *links) if not ignored.is_ignored(prefix + name)}
        return found - tracked

    def history(self, base: bytes) -> list[tuple[bytes, list[bytes]]]:
        """Commits since the base, with their parents, in any order."""
        commits = [entry.commit for entry in self.git.get_walker(include=[self.head], exclude=[base])]
        assert all(isinstance(commit, Commit) for commit in commits)
        return [(commit.id, list(commit.parents)) for commit in commits]


def split(text: bytes) -> list[bytes]:
    """Payloads: without LF and one CR before it."""
    ended = text.endswith(b"\n")
    rows = text.split(b"\n")
    rows = rows[:-1] if ended or not text else rows
    return [row[:-1] if row.endswith(b"\r") and (n < len(rows) - 1 or ended) else row for n, row in enumerate(rows)]


def is_binary(seen: Seen) -> bool:
    return any(b"\0" in side[:BINARY_PREFIX] for side in (seen.old, seen.new))


def plain_counts(repo: Repo, base: str) -> dict[bytes, tuple[int, int] | None]:
    """What plain Git counts between the base and the working tree; None for binary."""
    rows = repo.git("diff", "--numstat", "-z", "--no-renames", base).split(b"\0")[:-1]
    fields = [row.split(b"\t", 2) for row in rows]
    return {path: None if added == b"-" else (int(added), int(removed)) for added, removed, path in fields}


def hidden_paths(repo: Repo) -> set[bytes]:
    """What the index flags hide from plain Git."""
    rows = repo.git("ls-files", "-z", "-v").split(b"\0")[:-1]
    return {row[2:] for row in rows if row[:1].islower()}


class Growing(RuleBasedStateMachine):
    """A repository in which something happens, again and again."""

    @initialize(chosen=st.dictionaries(st.sampled_from(("a", "b.txt", "d/x", "d/y", "é")), texts, min_size=3, max_size=5))
    def born(self, chosen):
        self.place = tempfile.TemporaryDirectory()
        self.repo = begin(Path(self.place.name), files=chosen)
        self.environment = self.repo.environment

    def teardown(self):
        if hasattr(self, "place"):
            self.look()
            self.place.cleanup()

    def tolerant(self, *words: str) -> None:
        """Git may refuse: then nothing has happened."""
        subprocess.run(["git", *words], cwd=self.repo.path, env=self.environment, capture_output=True, check=False)

    def touch(self, number: int, *words: str) -> None:
        """A Git command over one of the files that are there."""
        if path := self.pick(number):
            self.tolerant("--literal-pathspecs", *words, "--", path)

    def clear(self, path: str) -> Path | None:
        """Make room for a path; None if a link is in the way."""
        place = self.repo.at(path)
        for folder in list(place.relative_to(self.repo.path).parents)[-2::-1]:
            above = self.repo.path / folder
            if above.is_symlink() or (above.exists() and not above.is_dir()):
                above.unlink()
        if place.is_dir() and not place.is_symlink():
            self.repo.remove(path)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def pick(self, number: int) -> str | None:
        """One of the files and links that are there."""
        top = self.repo.path
        found = sorted(
            os.fsdecode(bytes(path.relative_to(top))) for path in top.rglob("*") if path.is_symlink() or path.is_file()
        )
        inside = [path for path in found if not path.startswith(".git/") and path != "discern.toml"]
        return inside[number % len(inside)] if inside else None

    @rule(chosen=st.dictionaries(paths, texts, min_size=1, max_size=4))
    def write(self, chosen):
        for path, data in chosen.items():
            self.clear(path)
            self.repo.write(path, data)

    @rule(number=numbers, data=texts)
    def edit(self, number, data):
        path = self.pick(number)
        if path and not self.repo.at(path).is_symlink():
            self.repo.write(path, self.repo.at(path).read_bytes() + data)

    @rule(number=numbers)
    def delete(self, number):
        if path := self.pick(number):
            self.repo.remove(path)

    @rule(number=numbers, to=paths)
    def rename(self, number, to):
        if path := self.pick(number):
            self.tolerant("--literal-pathspecs", "mv", "-f", "--", path, to)

    @rule(number=numbers)
    def chmod(self, number):
        path = self.pick(number)
        if path and not self.repo.at(path).is_symlink():
            self.repo.at(path).chmod(self.repo.at(path).stat().st_mode ^ 0o111)

    @rule(path=paths, to=st.sampled_from(("a", "d", "nowhere", "..", os.fsdecode(b"\xff\n"))))
    def link(self, path, to):
        self.clear(path)
        self.repo.link(path, to)

    @rule(number=numbers)
    def stage(self, number):
        self.touch(number, "add")

    @rule(number=numbers)
    def mean_to_add(self, number):
        self.touch(number, "add", "-N")

    @rule(number=numbers)
    def untrack(self, number):
        self.touch(number, "rm", "-q", "-r", "-f", "--cached")

    @rule(number=numbers, flag=st.sampled_from(("assume-unchanged", "no-assume-unchanged")))
    def hide(self, number, flag):
        self.touch(number, "update-index", f"--{flag}")

    @rule(text=st.sampled_from(IGNORED))
    def ignore(self, text):
        self.repo.write(".gitignore", text)

    @rule(everything=st.booleans())
    def commit(self, everything):
        if everything:
            self.tolerant("add", "--all")
        self.tolerant("commit", "-q", "-m", "x")
        self.repo.tick()

    @rule(changed=st.dictionaries(st.sampled_from(("a", "b.txt", "d/x", "é", "new\nline")), texts, min_size=1, max_size=3))
    def advance_the_trunk(self, changed):
        """A commit on `main` that touches neither index nor files."""
        index = {"GIT_INDEX_FILE": str(self.repo.path / ".git/side")}
        side = Repo(self.repo.path, self.environment | index)
        side.git("read-tree", "main")
        for path, data in changed.items():
            oid = side.ask("hash-object", "-w", "--stdin", stdin=data)
            side.git("update-index", "--add", "--replace", "--cacheinfo", "100644", oid, path)
        made = side.ask("commit-tree", "-p", "main", "-m", "trunk", side.ask("write-tree"))
        side.git("update-ref", "refs/heads/main", made)
        (self.repo.path / ".git/side").unlink()
        self.repo.tick()

    @rule()
    def merge(self):
        """The trunk into this branch; a conflict is left as it is."""
        self.tolerant("merge", "-q", "-m", "merge", "main")
        self.repo.tick()

    @rule()
    def look(self):
        """What was collected is what the witness sees."""
        head, trunk = (self.repo.rev(name) for name in ("HEAD", "main"))
        witness = Witness(self.repo.path, head.encode(), trunk.encode())
        result = self.repo.evaluate()
        assert (result.head, result.policy_commit) == (head, self.repo.ask("merge-base", "main", "HEAD"))
        assert {commit.encode() for commit in (result.policy_commit, *result.other_bases)} == set(witness.bases)
        agree(self.repo, witness, self.repo.view(), result.policy_commit)
        witness.git.close()


def agree(repo: Repo, witness: Witness, view: View, base: str) -> None:
    """Listing, kinds, object ids, flags, counts, lines, base tree and history."""
    changes = witness.changes(base.encode())
    looked_at.update(["repositories", *(seen.kind for seen in changes.values())])
    assert [os.fsencode(change.path) for change in view.facts.changes] == sorted(changes)
    counted, hidden = plain_counts(repo, base), hidden_paths(repo)
    for change, known in zip(view.facts.changes, view.changes, strict=True):
        seen = changes[known.path]
        assert change.kind == seen.kind
        assert entry(known.base) == seen.base
        if known.untracked:
            linked = seen.current is not None and stat.S_ISLNK(seen.current[0])
            assert (change.binary == is_binary(seen)) is not linked
            if not linked and not is_binary(seen):
                assert change.lines == Lines(len(split(seen.new)), 0)
        else:
            assert entry(known.current) == seen.current
            assert change.binary is is_binary(seen)
            if seen.base and seen.current and stat.S_IFMT(seen.base[0]) != stat.S_IFMT(seen.current[0]):  # two whole sides
                assert is_binary(seen) or change.lines == Lines(len(split(seen.new)), len(split(seen.old)))
            elif known.path not in hidden:  # plain Git does not look at those
                assert change.lines == Lines(*(counted[known.path] or (0, 0)))
        adds_up(change.content, seen)
    assert view.facts.base == BaseTree(tuple(os.fsdecode(path) for path in sorted(witness.tree(base.encode()))))
    in_order(view.facts.history, witness.history(base.encode()))


def entry(side) -> Side:
    return None if side is None else (int(side.mode, 8), side.oid.encode())


def adds_up(content: object, seen: Seen) -> None:
    """The changed lines lead from the one text to the other."""
    if isinstance(content, Content) and not is_binary(seen):
        looked_at["texts"] += 1
        added, removed = (Counter(side.split(b"\n")[:-1]) for side in (content.added, content.removed))
        assert Counter(split(seen.old)) - removed + added == Counter(split(seen.new))
        assert removed.total() - added.total() == len(split(seen.old)) - len(split(seen.new))
    elif isinstance(content, Content):
        assert content == Content(b"", b"")


def in_order(history: object, commits: list[tuple[bytes, list[bytes]]]) -> None:
    """All commits, each after its parents."""
    assert isinstance(history, History)
    place = {commit.encode(): n for n, commit in enumerate(history.commits)}
    assert place.keys() == {commit for commit, _ in commits}
    assert all(place[parent] < place[commit] for commit, parents in commits for parent in parents if parent in place)


@pytest.mark.parametrize("effort", EFFORTS)
def test_another_git_sees_the_same(effort):
    """spec 4.1 to 4.3, 4.9, 4.10: over repositories grown at random, in every state that growing leaves them in."""
    looked_at.clear()
    run_state_machine_as_test(Growing, settings=effort)
    print(dict(looked_at))  # noqa: T201 - what the long form is run for
    assert {"repositories", "added", "modified", "deleted", "texts"} <= looked_at.keys()
