"""Which commits the working trees of submodules have checked out, asked of Git for all of them at once (spec 4.2, 7.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from discern.effects.git import Git
from discern.effects.repository import Repository
from discern.effects.sealed import Sealed

# The patch, since a raw row has no id for what is checked out. `.gitmodules` may have a word on how it is told.
TOLD = ("--raw", "-z", "-p", "-U0", "--submodule=short", "--ignore-submodules=dirty")
COMMIT = re.compile(rb"^\+Subproject commit ([0-9a-f]+)$", re.MULTILINE)


def checked_out(git: Git, repository: Repository, sealed: Sealed, recorded: Mapping[bytes, str]) -> dict[bytes, str] | None:
    """The commits at these directories, paths from the top, where they are not the recorded ones; None if Git could not say.

    A directory without a repository, or with a broken one, counts as what is recorded, as it does for Git.
    """
    if not recorded:
        return {}
    # An index of our own that holds them and nothing else, in a setting of our own: no flag hides one, no other file is looked
    # at, and nobody's configuration has them told in another way.
    places = {"GIT_INDEX_FILE": sealed.directory + "/gitlinks", "GIT_WORK_TREE": repository.top}
    setting = sealed.setting._replace(directory=repository.top, environment=sealed.setting.environment | places)
    entries = b"".join(b"160000 %b\t%b\0" % (oid.encode(), path) for path, oid in recorded.items())
    made = git.wait(git.ask(setting, "update-index", "-z", "--index-info", stdin=entries))
    if not made.ok or made.words:  # a path that Git holds for unsafe is passed over, and only said
        return None
    answer = git.wait(git.ask(setting, "diff-files", *TOLD))
    return parse_commits(answer.output) if answer.ok else None


def parse_commits(output: bytes) -> dict[bytes, str] | None:
    """Paths and commits from rows and, behind them, patches in the same order; None if they are not as many."""
    rows, _, patches = output.partition(b"\0\0")
    paths, commits = rows.split(b"\0")[1::2], COMMIT.findall(patches)
    return {path: oid.decode() for path, oid in zip(paths, commits, strict=True)} if len(paths) == len(commits) else None
