"""Throw-away Git repositories: nobody's configuration, a home of their own, fixed identity and dates. Git is never mocked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from discern.definitions import Definition
from discern.effects.git import Refused
from discern.effects.opening import Opening
from discern.effects.repository import Asked
from discern.effects.view import Change
from discern.effects.worktree import Opener, Worktree, system_open
from discern.evaluation.clock import Clock
from discern.evaluation.gathering import Lost, gather
from discern.evaluation.governing import govern
from discern.facts import ChangedFile, Content, Facts, Lines, Unavailable
from discern.library import evaluate
from discern.outcomes import DropRecord, Evaluation, Result

# Asks for every fact of every file, and for the base tree and the history.
EVERYTHING = """[checkpoints.everything]
adds_matching = ["needle"]
binary = false
new_directory = true
min_changed_lines = 1
min_commits = 1
question = "Is it well?"
"""
QUICK = ("-c", "maintenance.auto=false", "-c", "commit.gpgSign=false")  # no housekeeping behind a commit
BORN = 1_000_000_000  # the first commit, in seconds; each later one follows by a second

Shape = tuple[object, ...]


class View(NamedTuple):
    """What was collected, and by which questions."""

    facts: Facts
    changes: tuple[Change, ...]
    definitions: tuple[Definition, ...]
    drops: tuple[DropRecord, ...]
    questions: tuple[str, ...]

    def file(self, path: str) -> ChangedFile:
        """The record of a path; there must be one."""
        (found,) = (change for change in self.facts.changes if change.path == path)
        return found

    @property
    def paths(self) -> list[str]:
        return [change.path for change in self.facts.changes]

    @property
    def shapes(self) -> dict[str, Shape]:
        """Of each path: kind, insertions, deletions, binary; a reason in the place of what is not known."""
        return {change.path: shape(change) for change in self.facts.changes}

    @property
    def sides(self) -> dict[str, tuple[object, object]]:
        """Of each path: what the policy commit has and what Git would store, as mode and object id."""
        return {os.fsdecode(change.path): (change.base, change.current) for change in self.changes}

    def added(self, path: str) -> list[bytes]:
        """The added lines of a path; they must be known."""
        content = self.file(path).content
        assert isinstance(content, Content), content
        return content.added.split(b"\n")[:-1]

    def removed(self, path: str) -> list[bytes]:
        """The removed lines of a path; they must be known."""
        content = self.file(path).content
        assert isinstance(content, Content), content
        return content.removed.split(b"\n")[:-1]

    def why(self, path: str) -> str:
        """Why the content of a path is not to be had; `available` if it is."""
        content = self.file(path).content
        return content.reason if isinstance(content, Unavailable) else "available"


def shape(change: ChangedFile) -> Shape:
    """Kind, insertions, deletions, binary; a reason, or None for what nobody asked for, in the place of what is not known."""
    lines, binary = change.lines, change.binary
    counts = (lines.insertions, lines.deletions) if isinstance(lines, Lines) else (getattr(lines, "reason", None),)
    return change.kind, *counts, binary if isinstance(binary, bool) else getattr(binary, "reason", None)


class Repo:
    """One repository and the environment that Git and discern are run with."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self.path = path
        self.environment = dict(environment)
        self._seconds = 0

    def git(self, *arguments: str | bytes | Path, stdin: bytes | None = None, status: int = 0) -> bytes:
        """Run Git here; its standard output. It must end with `status`."""
        run = subprocess.run(
            ["git", *arguments], cwd=self.path, env=self.environment, input=stdin, capture_output=True, check=False
        )
        assert run.returncode == status, (arguments, run.returncode, run.stderr.decode("utf-8", "replace"))
        return run.stdout

    def ask(self, *arguments: str | bytes | Path, stdin: bytes | None = None) -> str:
        """Git's answer as one text."""
        return os.fsdecode(self.git(*arguments, stdin=stdin)).strip()

    def at(self, path: str | bytes) -> Path:
        """Where a path lies."""
        return self.path / os.fsdecode(path)

    def write(self, path: str | bytes, data: str | bytes = b"", mode: int | None = None) -> Path:
        """A file with these bytes, its directories included."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
        if mode is not None:
            place.chmod(mode)
        return place

    def append(self, path: str | bytes, data: str | bytes) -> Path:
        """More bytes at the end of a file."""
        return self.write(path, self.at(path).read_bytes() + (data.encode() if isinstance(data, str) else data))

    def link(self, path: str, target: str) -> Path:
        """A symbolic link in the place of whatever is there."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target)
        return place

    def remove(self, path: str) -> None:
        """Take a file, a link or a whole directory away."""
        place = self.at(path)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()

    def commit(self, message: str = "change", *, add: bool = True) -> str:
        """Commit what is staged, or with `add` everything there is; the commit's id."""
        if add:
            self.git("add", "--all")
        self.git(*QUICK, "commit", "--quiet", "--allow-empty", "--message", message)
        self.tick()
        return self.rev("HEAD")

    def tick(self) -> None:
        """The next commit is a second younger."""
        self._seconds += 1
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            self.environment[name] = f"{BORN + self._seconds} +0000"

    def rev(self, name: str) -> str:
        """The object id of a name."""
        return self.ask("rev-parse", "--verify", name)

    def config(self, key: str, value: str) -> None:
        """Set a key in the repository's own configuration."""
        self.git("config", key, value)

    @property
    def directory(self) -> Path:
        """The Git directory."""
        return Path(self.ask("rev-parse", "--absolute-git-dir"))

    def nested(self, path: str, *contents: str) -> Repo:
        """Another repository below this one, a commit for each content of its file `s`."""
        place = self.at(path)
        place.mkdir(parents=True, exist_ok=True)
        inner = Repo(place, self.environment)
        inner.git("init", "--quiet", "--initial-branch", "main")
        for content in contents:
            inner.write("s", content)
            inner.commit("inner")
        return inner

    def view(
        self,
        *,
        root: str | None = None,
        trunk: str | None = None,
        commit: str | None = None,
        opener: Opener = system_open,
        environment: Mapping[str, str] | None = None,
    ) -> View:
        """Collect everything that the governing policy can ask for. There must be a view."""
        asked = Asked(root or str(self.path), trunk, "--trunk", commit)
        if root is None:
            asked = asked._replace(root=str(self.path))
        with Opening(asked, self.environment if environment is None else environment) as opening:
            ground = opening.found
            assert not isinstance(ground, Refused), ground.message
            governed = govern(opening.git, ground, ())
            assert not isinstance(governed, Refused)
            assert governed.commit is not None, governed.drops
            with Worktree(ground.repository.root, opener) as worktree:
                inside = worktree if commit is None else None
                gathered = gather(opening.git, ground, governed, governed.commit, inside, Clock())
            assert not isinstance(gathered, Lost), gathered.account
            questions = tuple(question.name for question in opening.git.asked)
        return View(gathered.facts, gathered.changes, governed.definitions, governed.drops, questions)

    def evaluate(self, *, root: str | None = None, trunk: str | None = None, commit: str | None = None) -> Result:
        """What discern says of the change; nothing is written and no command runs."""
        return evaluate(root or str(self.path), trunk=trunk, commit=commit, dry_run=True, environment=self.environment).unwrap()

    def outcome(self, identity: str) -> Evaluation:
        """The outcome of one checkpoint."""
        (found,) = (one.evaluation for one in self.evaluate().checkpoints if one.definition.id == identity)
        return found


def hermetic(home: Path) -> dict[str, str]:
    """An environment in which Git knows nobody's configuration; `home` is made, with a temporary directory in it."""
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in IDENTITY.items()}
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        **who,
    }


IDENTITY = {"NAME": "A U Thor", "EMAIL": "author@example.invalid", "DATE": f"{BORN} +0000"}


def begin(
    place: Path, policy: str = EVERYTHING, files: Mapping[str, str | bytes] | None = None, *, options: tuple[str, ...] = ()
) -> Repo:
    """A repository below `place`: the policy and these files committed on `main`, then a branch `work` checked out."""
    repo = Repo(place / "repo", hermetic(place / "home"))
    repo.path.mkdir(parents=True)
    repo.git("init", "--quiet", "--template=", "--initial-branch", "work", *options)
    repo.write("discern.toml", policy)
    for path, data in (files or {}).items():
        repo.write(path, data)
    repo.commit("base")
    heads = repo.path / ".git/refs/heads"
    (heads / "main").write_bytes((heads / "work").read_bytes())
    return repo
