"""The first words with Git: where we are, what is compared with what, and everything that needs no policy, asked at once.

Loaded before the heavy imports, so that Git works while they run: standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from discern.effects.git import Git, Refused
from discern.effects.listings import Listings, start
from discern.effects.repository import Asked, Bases, Repository, open_repository
from discern.effects.sealed import Objects, Sealed, seal


class Opening:
    """An evaluation's door to Git, open for the time of a `with`. `found` is what was asked first, or why there is nothing."""

    found: Ground | Refused

    def __init__(self, asked: Asked, environment: Mapping[str, str]) -> None:
        self.asked = asked
        self.git = Git(environment)
        self._sealed: Sealed | None = None

    def __enter__(self) -> Self:
        try:
            self.found = self._find(self.asked)
        except BaseException:  # a signal, say: nothing is left running or lying about
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.close()
        except BaseException:  # a signal that came meanwhile: it goes on
            self.close()
            raise

    def _find(self, asked: Asked) -> Ground | Refused:
        found = open_repository(self.git, asked)
        if isinstance(found, Refused):
            return found
        repository, bases = found
        if bases.named is not None:
            return Refused(
                f"{asked.trunk_source} {bases.named}: no branch of that name here, and nothing that Git resolves to a commit"
            )
        try:
            self._sealed = seal(self.git, repository)
        except OSError as error:
            return Refused(f"no temporary directory can be made: {error.strerror}; set TMPDIR to one that can be written")
        return Ground(self.git, repository, bases, self._sealed, asked)

    def close(self) -> None:
        """No more questions: every process of Git's ends, and what was written aside goes (spec 8.6)."""
        self.git.close()
        if self._sealed is not None:
            self._sealed.place.remove()
            self._sealed = None


class Ground:
    """What an evaluation stands on: the repository, the merge-bases, the sealed directory, and the listings under way."""

    def __init__(self, git: Git, repository: Repository, bases: Bases, sealed: Sealed, asked: Asked) -> None:
        self.repository = repository
        self.bases = bases
        self.sealed = sealed
        self._git = git
        self.trunk_given = asked.trunk is not None
        self._by_commit = asked.commit is not None
        self.listings: Listings | None = None
        if bases.commits:
            self.objects = Objects(git, sealed)
            self.listings = self._start(bases)

    def compare_with(self, bases: Bases) -> None:
        """The governing file names another trunk: ask anew (spec 1.1)."""
        if bases.commits and bases.commits[:1] != self.bases.commits[:1]:
            self.abandon()
            self.listings = self._start(bases)
        self.bases = bases

    def abandon(self) -> None:
        """Nobody needs the listings."""
        for question in (self.listings or ())[:3]:
            if question is not None:
                self._git.stop(question)
        self.listings = None

    def _start(self, bases: Bases) -> Listings:
        return start(self._git, self.repository, self.sealed, bases.commits[0], bases.head if self._by_commit else None)
