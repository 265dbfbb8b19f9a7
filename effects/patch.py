"""Reading what `diff-tree --numstat -p -U0` prints of a made-up tree: counts and changed lines, from bytes alone (spec 4.4).

Only hunk counts decide what is a line: text that looks like patch syntax is a line like any other. In a patch without context a
line of content always has a sign before it, so a line that starts with `diff --git ` is a header, wherever it stands.
"""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from discern.effects.budget import Side
from discern.vocabulary import FILE_LIMIT

NUMSTAT = re.compile(rb"(\d+|-)\t(\d+|-)\t(\d{8})([ab]?t?)\0")
HEADER = re.compile(rb"diff --git a/(\d{8})([ab]?t?) b/\1\2")
HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
NEXT_FILE = b"\ndiff --git "
DRAINED = 1 << 20  # bytes of a file past its limit that are read on, in the hope of its end, before Git is started anew behind it


class Count(NamedTuple):
    """One `--numstat` row; None for a file that Git holds for binary."""

    insertions: int | None
    deletions: int | None


def parse_counts(output: bytes) -> dict[tuple[int, str], Count] | None:
    """`--numstat -z` rows by number and part of a made-up name; None if anything else is there."""
    counts: dict[tuple[int, str], Count] = {}
    at = 0
    for row in NUMSTAT.finditer(output):
        if row.start() != at:
            return None
        at = row.end()
        insertions, deletions = (None if number == b"-" else int(number) for number in row.group(1, 2))
        counts[int(row[3]), row[4].decode().rstrip("t")] = Count(insertions, deletions)
    return counts if at == len(output) else None


class Section:
    """The changed lines of one file. `over`: past the limit of one file, its lines are dropped; `broken`: it does not add up."""

    __slots__ = ("broken", "cost", "lines", "number", "over", "part", "unended")

    def __init__(self, number: int, part: str) -> None:
        self.number = number
        self.part = part
        self.lines: dict[bytes, list[bytes]] = {b"+": [], b"-": []}
        self.unended: set[bytes] = set()  # the sides whose last line has no line end
        self.cost = 0
        self.over = self.broken = False

    def side(self, sign: bytes) -> Side:
        """One side's lines as they are."""
        lines = self.lines[sign]
        return Side(b"\n".join(lines) + (b"\n" if lines and sign not in self.unended else b""))

    def drop(self) -> None:
        """It is past the limit of one file: nobody will ask for its lines."""
        self.over = True
        self.lines = {b"+": [], b"-": []}


class PatchReader:
    """Takes a patch piece by piece and gives whole sections in order, holding no more than one file's limit of a file."""

    def __init__(self, *, counted: bool) -> None:
        self.sections: deque[Section] = deque()
        self.counts: dict[tuple[int, str], Count] | None = None if counted else {}
        self.stalled: int | None = None  # the number of a file so far past its limit that reading on is not worth it
        self._current: Section | None = None
        self._tail = b""
        self._left = {b"-": 0, b"+": 0}  # lines that the hunk still has
        self._sign = b"-"  # of the line before
        self._skipped: int | None = None  # bytes passed over in a file past its limit

    def take(self, piece: bytes) -> None:
        """One more piece of output."""
        data = self._tail + piece
        self._tail = b""
        if self.counts is None:
            end = data.find(b"\0\0")
            if end < 0:
                self._tail = data
                return
            self.counts = parse_counts(data[: end + 1]) or {}
            data = data[end + 2 :]
        while data := self._skip(data):
            *lines, tail = data.split(b"\n")
            read = self._read(lines)
            if read == len(lines) and len(tail) <= FILE_LIMIT + 1:
                self._tail = tail
                return
            if self._current is not None:
                self._current.drop()
            self._left = {b"-": 0, b"+": 0}
            self._skipped = 0
            data = b"\n" + b"\n".join([*lines[read:], tail])

    def end(self) -> None:
        """There is no more: what is begun is whole, unless a hunk is not."""
        if self.counts is None:
            self.counts = parse_counts(self._tail) or {}
        elif self._current is not None and self._tail and self._skipped is None:
            self._current.broken = True
        self._close()

    def _skip(self, data: bytes) -> bytes:
        """Pass over the rest of a file past its limit; what follows it, if that has begun."""
        if self._skipped is None:
            return data
        at = data.find(NEXT_FILE)
        if at >= 0:
            self._skipped = None
            return data[at + 1 :]
        self._tail = data[1 - len(NEXT_FILE) :]
        self._skipped += len(data)
        if self._skipped > DRAINED and self._current is not None:
            self.stalled = self._current.number
        return b""

    def _read(self, lines: list[bytes]) -> int:
        """How many of these lines were read: all, or those up to where a file went past its limit."""
        at = 0
        while at < len(lines):
            line = lines[at]
            if self._current is not None and (any(self._left.values()) or line.startswith(b"\\")):
                at = self._body(self._current, lines, at)
                if self._current.cost > FILE_LIMIT:
                    return at
                continue
            at += 1
            if header := HEADER.fullmatch(line):
                self._close()
                self._current = Section(int(header[1]), header[2].decode().rstrip("t"))
            elif self._current is not None and (hunk := HUNK.match(line)):
                self._left = {sign: 1 if count is None else int(count) for sign, count in zip((b"-", b"+"), hunk.groups(), strict=True)}
        return at

    def _body(self, section: Section, lines: list[bytes], at: int) -> int:
        """Lines of the running hunk: first what is removed, then what is added, each side as long as the hunk says."""
        if lines[at].startswith(b"\\"):  # the line before has no line end
            section.unended.add(self._sign)
            section.cost -= 1
            return at + 1
        sign = self._sign = b"-" if self._left[b"-"] else b"+"
        taken = lines[at : at + self._left[sign]]
        if not all(line.startswith(sign) for line in taken):
            section.broken = True
            self._left = {b"-": 0, b"+": 0}
            return at
        section.lines[sign] += [line[1:] for line in taken]
        section.cost += sum(map(len, taken))  # the sign stands for the line end
        self._left[sign] -= len(taken)
        return at + len(taken)

    def _close(self) -> None:
        if self._current is not None:
            self._current.broken |= any(self._left.values())
            self.sections.append(self._current)
        self._current = None
        self._left = {b"-": 0, b"+": 0}
