"""Literal patterns looked for in the changed lines of all files at once (spec 5.3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from discern.patterns import mask_of, union


class Search:
    """One side of every known content: the added lines of all files, or the removed ones.

    The texts are joined and a pattern is looked for once over all of them: half the time of one search a file for 2 MiB and 32
    patterns. No match reaches over the end of a line, since every line ends with LF and no pattern holds one.
    """

    def __init__(self, texts: Sequence[bytes]) -> None:
        """`texts` holds one text a file, in the order of the listing."""
        self._joined = b"".join(texts)
        self._ends = list(accumulate(map(len, texts)))
        self._found: dict[str, int] = {}

    def files(self, patterns: tuple[str, ...]) -> int:
        """The files with a line that contains any of the patterns."""
        return union(map(self._holding, patterns))

    def _holding(self, pattern: str) -> int:
        if pattern not in self._found:
            self._found[pattern] = self._look_for(pattern.encode())
        return self._found[pattern]

    def _look_for(self, pattern: bytes) -> int:
        found = [False] * len(self._ends)
        at = self._joined.find(pattern)
        while at >= 0:
            number = bisect_right(self._ends, at)
            found[number] = True
            at = self._joined.find(pattern, self._ends[number])
        return mask_of(found)
