"""The policy commit's tree around the added files: new directories and similar siblings (spec 5.2, 5.4, 5.5)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from discern.facts import path_bytes
from discern.outcomes import Related
from discern.patterns import mask_of

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
    def siblings(self) -> dict[int, tuple[str, ...]]:
        """The similar siblings of the added files that have any, sorted by bytes."""
        found: dict[int, tuple[str, ...]] = {}
        for directory, files in self.directories.items():
            forms = {number: _form(self.added[number]) for number in files}
            alike = self._alike(directory, tuple({form for form, _ in forms.values() if form}))
            for number, form in forms.items():
                others = [other for other in alike.get(form, ()) if other != self.added[number]]
                if others:
                    found[number] = tuple(sorted(others, key=path_bytes))
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
        for path in self._children(directory):
            # A form is what its stem begins with, in lower case: to see that first spares most files the making of theirs.
            if path_bytes(path[len(directory) :]).lower().startswith(wanted):
                form = _form(path)
                if form[0]:
                    found.setdefault(form, []).append(path)
        return found

    def _children(self, directory: str) -> Iterator[str]:
        at = self._starts[directory]
        while at < len(self._paths) and self._paths[at].startswith(directory):
            path = self._paths[at]
            slash = path.find("/", len(directory))
            if slash < 0:
                yield path
                at += 1
            else:  # a subdirectory is one range too: step over it, to what sorts after all names with its slash
                at = bisect_left(self._paths, path[:slash] + chr(ord("/") + 1), at)


class AdmittedBase:
    """What the added files meet in the base tree that a definition's filters admit (spec 5.2)."""

    def __init__(self, around: Surroundings, admits: Callable[[str], bool], deleted: frozenset[str]) -> None:
        """`admits` tells whether a base path is admitted; `deleted` holds the paths deleted in the filtered universe."""
        self._around = around
        self._admits = admits
        self._deleted = deleted

    @cached_property
    def new_directories(self) -> int:
        """The added files whose parent is neither the root nor a directory of this tree (spec 5.1, step 7; 5.5)."""
        around = self._around
        new = (directory for directory in around.directories if directory and not any(map(self._admits, around.below(directory))))
        return _numbered(number for directory in new for number in around.directories[directory])

    @cached_property
    def similar(self) -> int:
        """The added files with a similar sibling that is not deleted (spec 5.4)."""
        return _numbered(self._related)

    def related(self, files: int) -> tuple[Related, ...]:
        """The siblings of a set of added files, sorted by (for_path, path)."""
        return tuple(sibling for number, siblings in self._related.items() if files >> number & 1 for sibling in siblings)

    @cached_property
    def _related(self) -> dict[int, tuple[Related, ...]]:
        found: dict[int, tuple[Related, ...]] = {}
        for number, siblings in self._around.siblings.items():
            path = self._around.added[number]
            standing = tuple(Related(path, other) for other in siblings if other not in self._deleted and self._admits(other))
            if standing:
                found[number] = standing
        return found


def _numbered(files: Iterable[int]) -> int:
    present = frozenset(files)
    return mask_of(number in present for number in range(max(present, default=-1) + 1))
