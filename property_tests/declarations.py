"""What the contract says of questions, over a pretended repository: it knows no hash, no Git and no file (spec 7, 8).

A subject is what was matched, with both sides of it, and for one of the two checkpoints the commits. Trunk and branch edit
different lines, so that every merge and rebase is a clean one; in one file they may disagree, and there the branch has its way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from attrs import evolve, field, frozen

SHARED = "src/shared.txt"  # the trunk edits its first line, the branch its last
OWN = "src/own.txt"  # the branch's alone
FAR = "src/far.txt"  # both set its only line: where they disagree the branch has its way
NEW = "src/new.txt"  # only ever on the branch
NOTE, OTHER = "docs/note.txt", "docs/other.txt"  # matched by nothing: the branch's and the trunk's
SECRET = "SECRET"  # in every line of code: none may reach what is stored

PLAIN, STORY = "plain", "story"  # an ordinary question, and one that asks for commits
APART = 12  # lines between two that are edited apart, so that Git can merge them

Mode = str
File = tuple[Mode, str]
Files = dict[str, File]


@frozen
class Entry:
    """What the policy says of one checkpoint."""

    mode: str = "stop"
    question: int = 0
    min_commits: int | None = None

    def toml(self, identity: str) -> str:
        """The entry as it stands in `discern.toml`."""
        least = "" if self.min_commits is None else f"min_commits = {self.min_commits}\n"
        shown = f'mode = "{self.mode}"\nquestion = "Version {self.question}?"\n'
        return f'[checkpoints.{identity}]\npaths = ["src/**"]\n{least}{shown}\n'


@frozen
class Trunk:
    """One commit of the trunk, by a number of its own: versions of what it edits, and the policy."""

    commit: int = 0
    head: int = 0
    far: int = 0
    other: int = 0
    policy: tuple[tuple[str, Entry], ...] = ((PLAIN, Entry()), (STORY, Entry(min_commits=1)))


@frozen
class Branch:
    """What the branch has made of its files: versions, and where its own file lies."""

    tail: int = 0
    far: int = 0
    own: int = 0
    own_mode: Mode = "100644"
    own_path: str = OWN
    new: int | None = None
    note: int = 0
    comment: int = 0


class Commit(NamedTuple):
    """A commit of the branch, known by a number that no other has; and what it made of the file that both may set."""

    number: int
    merge: bool
    far_before: int
    far: int


@frozen
class Candidate:
    """A working tree: since which commit of the trunk, by which commits, with what in it, and whether all is committed.

    `tracked`: whether the index has the path at which the trunk has the branch's own file.
    """

    base: Trunk = field(factory=Trunk)
    branch: Branch = field(factory=Branch)
    commits: tuple[Commit, ...] = ()
    dirty: bool = False
    tracked: bool = True

    def staged(self) -> Candidate:
        """All there is added to the index."""
        return evolve(self, tracked=self.branch.own_path == OWN)

    def committed(self, number: int, *, merge: bool = False) -> Candidate:
        """One commit more, with all there is in it."""
        before = self.commits[-1].far if self.commits else self.base.far
        commits = (*self.commits, Commit(number, merge, before, self.branch.far))
        return evolve(self.staged(), commits=commits, dirty=False)

    def amended(self, number: int) -> Candidate:
        """The last commit anew, with all there is in it."""
        return evolve(self, commits=self.commits[:-1]).committed(number, merge=self.commits[-1].merge)

    def merged(self, tip: Trunk, number: int) -> Candidate:
        """The trunk merged in: where both have set a file, the branch has its way."""
        if tip == self.base:
            return self
        far = tip.far if self.branch.far == self.base.far else self.branch.far
        return evolve(self, base=tip, branch=evolve(self.branch, far=far)).committed(number, merge=True)

    def rebased(self, tip: Trunk, numbers: Iterator[int]) -> Candidate:
        """Every commit anew on the trunk, merges left out, what one did not set taken from what is below it."""
        found = Candidate(tip, evolve(self.branch, far=tip.far))
        for commit in self.commits:
            if not commit.merge:
                far = found.branch.far if commit.far == commit.far_before else commit.far
                found = evolve(found, branch=evolve(self.branch, far=far)).committed(next(numbers))
        return found


def lines(word: str, *versions: int) -> str:
    """A text of its own for each word, with a line for each version, far apart."""
    between = "".join(f"# {word} {SECRET} line {number}\n" for number in range(APART))
    return between.join(f"# {word} {SECRET} version {version}\n" for version in versions)


def policy_text(trunk: Trunk, branch: Branch) -> str:
    """The trunk's entries, and a comment of the branch far below: that is all a branch can do to its own rules."""
    return "".join(entry.toml(identity) for identity, entry in trunk.policy) + lines("policy", 0, branch.comment)


def files(trunk: Trunk, branch: Branch) -> Files:
    """Every file of a tree."""
    found = {
        "discern.toml": ("100644", policy_text(trunk, branch)),
        SHARED: ("100644", lines("shared", trunk.head, branch.tail)),
        FAR: ("100644", lines("far", branch.far)),
        OTHER: ("100644", lines("other", trunk.other)),
        NOTE: ("100644", lines("note", branch.note)),
        branch.own_path: (branch.own_mode, lines("own", 0, branch.own)),
    }
    return found if branch.new is None else {**found, NEW: ("100644", lines("new", branch.new))}


def untouched(trunk: Trunk) -> Files:
    """Every file of the trunk itself."""
    return files(trunk, Branch(far=trunk.far))


class Pair(NamedTuple):
    """What a declaration is bound to, as the contract says it, not as it is encoded (spec 7.2, 8.2)."""

    definition: Entry
    commits: tuple[int, ...] | None
    paths: tuple[tuple[str, File | None, File | None], ...]


def asked(candidate: Candidate) -> dict[str, Pair | None]:
    """What each checkpoint of the governing policy asks: None if it asks nothing (spec 8.1)."""
    base, current = untouched(candidate.base), files(candidate.base, candidate.branch)
    if not candidate.tracked:
        current.pop(OWN, None)  # tracked no more: gone, whatever lies there (spec 4.1, 7.2)
    paths = sorted(path for path in base | current if path.startswith("src/") and base.get(path) != current.get(path))
    rows = tuple((path, base.get(path), current.get(path)) for path in paths)
    commits = tuple(commit.number for commit in candidate.commits)
    found: dict[str, Pair | None] = {}
    for identity, entry in candidate.base.policy:
        fires = bool(rows) and len(commits) >= (entry.min_commits or 0)
        bound = None if entry.min_commits is None else commits
        found[identity] = Pair(entry, bound, rows) if fires and entry.mode == "stop" else None
    return found


class Model:
    """Who was asked what, and every word that was given."""

    def __init__(self) -> None:
        self.candidate = Candidate()
        self.tip = Trunk()
        self.served: dict[str, Pair] = {}
        self.words: list[tuple[str, Pair, str]] = []

    def states(self) -> dict[str, str]:
        """Where each question stands (spec 8.2)."""
        return {identity: self.state(identity, pair) for identity, pair in asked(self.candidate).items()}

    def state(self, identity: str, pair: Pair | None) -> str:
        """The latest word on exactly this pair counts; if there is none, any word on another makes it reopened."""
        mine = [(about, word) for who, about, word in self.words if who == identity]
        on_it = [word for about, word in mine if about == pair]
        if pair is None:
            return "none"
        return f"declared_{on_it[-1]}" if on_it else "reopened" if mine else "awaiting"
