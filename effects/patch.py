"""Reading what `diff-tree` prints of made-up trees, counts or changed lines without context, from bytes alone (spec 4.4).

In a patch without context every line of content has a sign before it. So a line that starts with `diff --git ` is a header
wherever it stands, one that starts with `@@` begins a hunk, and text that looks like patch syntax is a line like any other.
"""

from __future__ import annotations

import re
from collections import deque
from functools import reduce

from discern.effects.budget import Side, longest_of
from discern.vocabulary import FILE_LIMIT, LINE_LIMIT

Count = tuple[int, int] | None  # insertions and deletions; None for a file that Git holds for binary
Counts = dict[int, Count]  # by the number that stands for a path
Sections = dict[int, list["Section"]]  # one of a file, or two where its type changed

NUMSTAT = re.compile(rb"(?<![^\0])(\d{1,12}|-)\t(\d{1,12}|-)\t(\d{8})([ab]?)t?\0")
HEADER = re.compile(rb"\ndiff --git a/(\d{8})([ab]?)(t?) b/\1\2\3(?=\n)")
BODY = re.compile(rb"(?m)^(?:@@ |Binary files )")
HUNK = re.compile(rb"@@ -\d{1,12}(?:,(\d{1,12}))? \+\d{1,12}(?:,(\d{1,12}))? @@")
SIGNS = (b"+", b"-")
DRAINED = 1 << 20  # bytes of a file past its limit that are read on, in the hope of its end, before Git is started anew behind it


def parse_counts(output: bytes) -> Counts | None:
    """`--numstat -z` rows; None if anything else is there. A change of type has two rows: they are one file's."""
    rows = NUMSTAT.findall(output)
    if len(rows) != output.count(b"\0") or output[-1:] not in (b"", b"\0"):
        return None
    counts: Counts = {}
    for insertions, deletions, number, part in rows:
        count = (int(insertions), int(deletions)) if insertions != b"-" != deletions else None
        counts[int(number)] = both(counts[int(number)], count) if part and int(number) in counts else count
    return counts


def both(one: Count, other: Count) -> Count:
    """The counts of two halves of a file."""
    return (one[0] + other[0], one[1] + other[1]) if one is not None and other is not None else None


def whole(sections: list[Section]) -> bool:
    """Whether these are all that a patch holds of a file, read to their ends."""
    return bool(sections) and (not sections[0].part or len(sections) > 1) and not any(section.over for section in sections)


def told(sections: list[Section]) -> bool:
    """Whether a patch tells how many lines of a file are changed."""
    return whole(sections) and not any(section.silent for section in sections)


def total(sections: list[Section]) -> Count:
    """What the sections of one file come to."""
    return reduce(both, (section.count for section in sections))


class Section:
    """The changed lines of one file, and how many there are by Git's own word at the head of each hunk.

    `over`: past the limit of one file, its lines are dropped; `broken`: it does not add up.
    """

    __slots__ = (
        *("_before", "_in_body", "_unended", "binary", "broken", "cost", "counted", "lines", "number", "over", "part"),
        "passed_over",
    )

    def __init__(self, number: int, part: str) -> None:
        self.number = number
        self.part = part
        self.lines: dict[bytes, list[bytes]] = {sign: [] for sign in SIGNS}  # without sign and LF
        self.counted = dict.fromkeys(SIGNS, 0)
        self.cost = 0
        self.binary = self.over = self.broken = False
        self.passed_over = 0  # bytes read of it since it went past the limit
        self._in_body = False
        self._before = b""  # the sign of the line before what comes next
        self._unended: set[bytes] = set()  # sides whose last line was said to have no end

    @property
    def silent(self) -> bool:
        """Whether it says nothing of lines: a mode alone, or an empty file; then it does not say whether the file is binary."""
        return not (self._in_body or self.binary)

    @property
    def count(self) -> Count:
        """Its insertions and deletions by Git's word; not known of one that is `over` or `silent`."""
        return None if self.binary else (self.counted[b"+"], self.counted[b"-"])

    @property
    def agrees(self) -> bool:
        """Whether it holds exactly the lines that Git counted (spec 4.3)."""
        return not self.broken and all(len(self.lines[sign]) == self.counted[sign] for sign in SIGNS)

    def side(self, sign: bytes) -> Side:
        """One side's lines as they are."""
        lines = self.lines[sign]
        return Side(b"\n".join(lines) + (b"\n" if lines and sign not in self._unended else b""))

    def longest_line(self) -> int:
        """Bytes of the longest payload, or 0 if none can be past its limit."""
        return longest_of(*(self.side(sign).payloads for sign in SIGNS)) if self.cost > LINE_LIMIT else 0

    def take(self, text: bytes) -> None:
        """More whole lines of this file's part of the patch."""
        if not self._in_body and not self.binary and (begin := BODY.search(text)):
            self.binary = begin[0] != b"@@ "
            self._in_body, text = not self.binary, text[begin.start() :]
        if self._in_body and (self.over or self.broken):
            self.passed_over += len(text)
        elif self._in_body and text:
            self._take_body(text.split(b"\n")[:-1])

    def _take_body(self, rows: list[bytes]) -> None:
        lines = {sign: [row[1:] for row in rows if row[:1] == sign] for sign in SIGNS}
        others = [place for place, row in enumerate(rows) if row[:1] not in SIGNS]
        ends = [place for place in others if rows[place][:1] == b"\\"]  # `\ No newline at end of file`, said of the line before
        hunks = [hunk for place in others if (hunk := HUNK.match(rows[place]))]
        if len(ends) + len(hunks) != len(others) or any(lines[sign] for sign in self._unended):
            self.give_up()
            return
        for sign, group in ((b"-", 1), (b"+", 2)):
            self.counted[sign] += sum(int(hunk[group] or 1) for hunk in hunks)
        for sign, found in lines.items():
            self.lines[sign] += found
            self.cost += sum(map(len, found)) + len(found)
        for place in ends:
            self._unend(rows[place - 1][:1] if place else self._before, rows[place:])
        self._before = rows[-1][:1]
        if self.cost > FILE_LIMIT + 1:  # by one only, it may yet turn out that the last line has no line end
            self.drop()

    def _unend(self, sign: bytes, rest: list[bytes]) -> None:
        """The last line of a side has no line end; so none of that side comes behind it."""
        if self.lines.get(sign) and sign not in self._unended and not any(row[:1] == sign for row in rest):
            self._unended.add(sign)
            self.cost -= 1
        else:
            self.give_up()

    def give_up(self) -> None:
        """It does not add up: nothing of it is known, wherever it was cut."""
        self.broken = True
        self.over = False
        self.cost = 0
        self.lines = {sign: [] for sign in SIGNS}

    def drop(self) -> None:
        """It is past the limit of one file: nobody will ask for its lines."""
        self.over = True
        self.lines = {sign: [] for sign in SIGNS}


class PatchReader:
    """Takes a patch piece by piece and gives whole sections in order, holding no more than one file's limit of a file."""

    def __init__(self) -> None:
        self.sections: deque[Section] = deque()
        self._current: Section | None = None
        self._tail = b""

    @property
    def stalled(self) -> int | None:
        """The number of a file so far past its limit that reading on is not worth it."""
        return self._current.number if self._current is not None and self._current.passed_over > DRAINED else None

    def take(self, piece: bytes) -> None:
        """One more piece of output."""
        data = self._tail + piece
        whole = data.rfind(b"\n") + 1
        self._tail = data[whole:]
        self._lines(data[:whole])
        if len(self._tail) > FILE_LIMIT + 1 and self._current is not None:  # one line is past the limit of a file
            self._current.drop()
            self._current.passed_over += len(self._tail)
            self._tail = self._tail[:1]

    def end(self) -> None:
        """There is no more."""
        if self._current is not None and self._tail and not self._current.over:
            self._current.give_up()
        self._close()

    def _lines(self, text: bytes) -> None:
        text = b"\n" + text  # a header is looked for with the line end before it: a plain search, far quicker than one by lines
        at = 1
        for header in HEADER.finditer(text):
            if self._current is not None:
                self._current.take(text[at : header.start() + 1])
            self._close()
            self._current = Section(int(header[1]), header[2].decode())
            at = header.end() + 1
        if self._current is not None:
            self._current.take(text[at:])

    def _close(self) -> None:
        if self._current is not None:
            self.sections.append(self._current)
        self._current = None
