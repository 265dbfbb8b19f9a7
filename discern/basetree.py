"""The policy commit's tree around the added files: new directories and similar siblings (spec 5.2, 5.4, 5.5)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from discern.facts import path_bytes
from discern.outcomes import Related
from discern.patterns import Listing, Pattern, flags, mask_of

_SUFFIXES: Final = b"copy new old final backup bak tmp temp orig original next alt"
# Read from its end, a stem loses all its endings in one pass, however many there are.
_ENDINGS: Final = re.compile(
    rb"\A(?:(?:%b|[0-9]+v?)[-_. ]|[0-9](?=[a-z]))+" % b"|".join(suffix[::-1] for suffix in _SUFFIXES.split())
)


def normal_form(stem: str) -> bytes:
    """What is left of a stem without letter case and the endings people give to copies and versions; may be empty (spec 5.4)."""
    return _ENDINGS.sub(b"", path_bytes(stem).lower()[::-1])[::-1]  # of bytes, `lower` lowers ASCII letters alone


def split(path: str) -> tuple[str, str, str]:
    """Directory with its slash (empty: the root), stem and extension of a path; a leading dot belongs to the stem (spec 5.4)."""
    slash = path.rfind("/") + 1
    dot = path.rfind(".", slash + 1)
    end = dot if dot > slash else len(path)
    return path[:slash], path[slash:end], path[end:]


def _form(path: str) -> tuple[bytes, str]:
    _, stem, extension = split(path)
    return normal_form(stem), extension


class Surroundings:
    """The base tree as far as the added files make one look into it, before any definition's filters.

    The paths are kept sorted, so that a directory is one range of them: a tree of 200,000 paths is not walked, it is asked.
    """

    def __init__(self, paths: Iterable[str], added: Mapping[int, str]) -> None:
        """From the base tree's paths, and the path of each added file by its number."""
        self._paths = sorted(paths)
        self.added = added

    @cached_property
    def directories(self) -> dict[str, list[int]]:
        """The directories that files were added to, with their slash (empty: the root), and the numbers of those files."""
        found: dict[str, list[int]] = {}
        for number, path in self.added.items():
            found.setdefault(path[: path.rfind("/") + 1], []).append(number)
        return found

    @cached_property
    def siblings(self) -> dict[int, tuple[int, ...]]:
        """The similar siblings of the added files that have any: their places in `alike`, ascending."""
        place = {path: number for number, path in enumerate(self.alike.paths)}
        return {number: tuple(sorted(map(place.__getitem__, others))) for number, others in self._siblings.items()}

    @cached_property
    def alike(self) -> Listing:
        """Every base path that is a similar sibling of an added file."""
        return Listing(sorted(set[str]().union(*self._siblings.values()), key=path_bytes))

    @cached_property
    def _siblings(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for directory, files in self.directories.items():
            forms = {number: _form(self.added[number]) for number in files}
            alike = self._alike(directory, tuple({form for form, _ in forms.values() if form}))
            for number, form in forms.items():
                others = [other for other in alike.get(form, ()) if other != self.added[number]]
                if others:
                    found[number] = others
        return dict(sorted(found.items()))

    def below(self, directory: str) -> Iterator[str]:
        """Every path below one of `directories`, at any depth."""
        for at in range(self._starts[directory], len(self._paths)):
            if not self._paths[at].startswith(directory):
                return
            yield self._paths[at]

    @cached_property
    def _starts(self) -> dict[str, int]:
        return {directory: bisect_left(self._paths, directory) for directory in self.directories}

    def _alike(self, directory: str, wanted: tuple[bytes, ...]) -> dict[tuple[bytes, str], list[str]]:
        """The files right in a directory by normal form and extension, at least those with a form that is wanted."""
        found: dict[tuple[bytes, str], list[str]] = {}
        # A form is what its stem begins with, letter case aside: to see that first spares most files the making of theirs.
        beginnings = tuple((directory + form.decode("utf-8", "surrogateescape")).casefold() for form in wanted)
        for path in self._children(directory):
            if path.casefold().startswith(beginnings):
                form = _form(path)
                if form[0]:
                    found.setdefault(form, []).append(path)
        return found

    def _children(self, directory: str) -> list[str]:
        paths, length, found = self._paths, len(directory), list[str]()
        at, stop = self._starts[directory], self._stop(directory)
        while at < stop:
            path = paths[at]
            slash = path.find("/", length)
            if slash < 0:
                found.append(path)
                at += 1
            else:  # a subdirectory is one range too: step over it
                at = self._stop(path[: slash + 1], at)
        return found

    def _stop(self, directory: str, start: int = 0) -> int:
        """Where the range of a directory ends: at what sorts after all names with its slash; the root is all of the tree."""
        return bisect_left(self._paths, directory[:-1] + chr(ord("/") + 1), start) if directory else len(self._paths)


class Admission:
    """Which base paths a definition's filters admit: those that are neither left out as generated nor excluded (spec 5.2)."""

    def __init__(self, excluded: tuple[Pattern, ...] = (), generated: frozenset[str] = frozenset()) -> None:
        self._excluded = excluded
        self._generated = generated

    def admits(self, path: str) -> bool:
        """Of one path."""
        return path not in self._generated and not any(pattern.matches(path) for pattern in self._excluded)

    def flags(self, listing: Listing) -> bytes:
        """Of many, one byte each, 0 or 1: what is excluded is worked out once for all definitions."""
        excluded = flags(listing.mask_any(self._excluded), len(listing))
        return bytes(not out and path not in self._generated for out, path in zip(excluded, listing.paths, strict=True))


class AdmittedBase:
    """What the added files meet in the base tree that a definition's filters admit (spec 5.2)."""

    def __init__(self, around: Surroundings, admission: Admission, deleted: frozenset[str]) -> None:
        """`deleted` holds the paths deleted in the filtered universe."""
        self._around = around
        self._admission = admission
        self._deleted = deleted

    @cached_property
    def new_directories(self) -> int:
        """The added files whose parent is neither the root nor a directory of this tree (spec 5.1, step 7; 5.5)."""
        around, admits = self._around, self._admission.admits
        new = (directory for directory in around.directories if directory and not any(map(admits, around.below(directory))))
        return _numbered(number for directory in new for number in around.directories[directory])

    @cached_property
    def similar(self) -> int:
        """The added files with a similar sibling that is not deleted (spec 5.4)."""
        stands = self._standing.__getitem__
        return _numbered(number for number, others in self._around.siblings.items() if any(map(stands, others)))

    def related(self, files: int) -> tuple[Related, ...]:
        """The siblings of a set of added files, sorted by (for_path, path)."""
        around, standing = self._around, self._standing
        chosen = flags(files, max(around.siblings, default=-1) + 1)
        return tuple(
            Related(around.added[number], around.alike.paths[other])
            for number, others in around.siblings.items()
            if chosen[number]
            for other in others
            if standing[other]
        )

    @cached_property
    def _standing(self) -> bytes:
        """Of each path in `alike`, whether it is admitted and not deleted. A byte each: there may be many such trees."""
        alike = self._around.alike
        admitted = zip(self._admission.flags(alike), alike.paths, strict=True)
        return bytes(flag and path not in self._deleted for flag, path in admitted)


def _numbered(files: Iterable[int]) -> int:
    present = frozenset(files)
    return mask_of(number in present for number in range(max(present, default=-1) + 1))
