"""Git's lists of what is changed: asked all at once, and read from bytes (spec 4.2, 4.3).

What is staged is asked in the sealed directory. The rest needs the user's own setting: only that says what `git add` would
store and what is ignored.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from discern.effects.git import STDERR_KEPT, Git, Question
from discern.effects.repository import Repository
from discern.effects.sealed import Entry, Sealed

RAW = (
    "--raw",
    "-z",
    "-r",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-abbrev",
    "--ignore-submodules=dirty",
)
DIRTY = ("diff-files", "--ita-invisible-in-index", *RAW)
UNOPENED = re.compile(rb"(?ms)^warning: could not open directory '(.+?)/?': [^\n']+$")
UNUSUAL = re.compile(rb"\0(?!H )")  # where an entry of `ls-files -v` begins that is not just tracked
NO_ENTRY = Entry("000000", "")


class Row(NamedTuple):
    """One `--raw` record."""

    letter: str
    before: Entry
    after: Entry
    path: bytes


class Marks:
    """What `ls-files` says of tracked files that hide an edit, and which files are untracked; all others are dropped as read."""

    def __init__(self) -> None:
        self.hidden: list[tuple[str, bytes]] = []
        self.untracked: list[bytes] = []
        self.attributes_off_disk = False  # the index has a `.gitattributes` that is not there: found out later
        self._tail = b"\0"  # what is not ended yet, from the end of the entry before

    def take(self, piece: bytes) -> bool:
        """One more piece of `ls-files -z -v` output."""
        data = self._tail + piece
        end = data.rfind(b"\0")
        self._tail = data[end:]
        # Nearly all are tracked and hide nothing: a piece of such is only looked through, in half the time.
        for entry in data[1:end].split(b"\0") if UNUSUAL.search(data, 0, end) else ():
            if entry[:2] == b"? ":
                self.untracked.append(entry[2:])
            elif entry[:2] not in (b"H ", b"M "):
                self.hidden.append((entry[:1].decode("ascii", "replace"), entry[2:]))
        return True


class Listings(NamedTuple):
    """The running questions. With `--commit` there is only the first (spec 0)."""

    staged: Question
    worktree: Question | None = None
    untracked: Question | None = None
    marks: Marks | None = None


def start(git: Git, repository: Repository, sealed: Sealed, policy_commit: str, commit: str | None) -> Listings:
    """Ask for everything that is changed; the answers come while others work."""
    below = repository.below
    if commit is not None:
        return Listings(git.ask(sealed.setting, "diff-tree", *RAW, policy_commit, commit, *below))
    marks = Marks()
    staged = git.ask(
        sealed.with_index(repository), "diff-index", "--cached", "--ita-invisible-in-index", *RAW, policy_commit, *below
    )
    # One thread: this runs beside the walk for untracked files, which takes as long, and would have to give way to twenty.
    alone = repository.setting._replace(options=(*repository.setting.options, "-c", "core.preloadIndex=false"))
    worktree = git.ask(alone, *DIRTY, *below)
    listed = ("-z", "-v", "--cached", "--others", "--exclude-standard")
    return Listings(staged, worktree, git.ask(repository.setting, "ls-files", *listed, *below, sink=marks.take), marks)


def parse_raw(output: bytes) -> list[Row] | None:
    """`--raw -z` records; None if one is not as it should be, so that none is ever passed over."""
    fields = output.split(b"\0")
    if fields.pop() or len(fields) % 2:
        return None
    rows = []
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        words = head.decode("ascii", "replace").split(" ")
        if len(words) != 5 or words[0][:1] != ":" or words[4] not in ("A", "D", "M", "T", "U") or not path:
            return None
        rows.append(Row(words[4], Entry(words[0][1:], words[2]), Entry(words[1], words[3]), path))
    return rows


def unopened(words: bytes) -> list[bytes] | None:
    """The directories that Git could not look into for untracked files, by its warnings; None if they cannot all be read."""
    found = UNOPENED.findall(words)
    cut_short = len(words) >= STDERR_KEPT
    return found if not cut_short and len(found) == words.count(b"could not open directory") else None
