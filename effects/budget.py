"""How much of a change's content is read: one file, all files, one line, all lines (spec 4.6). Pure arithmetic."""

from __future__ import annotations

from typing import Literal, NamedTuple

from discern.vocabulary import FILE_LIMIT, LINE_COUNT_LIMIT, LINE_LIMIT, TOTAL_LIMIT, FileReason


class Side(NamedTuple):
    """The changed lines of one side as they are: with their line ends, of which the last line may have none."""

    raw: bytes = b""

    @property
    def payloads(self) -> bytes:
        """Each line without its LF and without one CR before it, ended by one LF (spec 4.4)."""
        text = self.raw.replace(b"\r\n", b"\n")
        return text + b"\n" if text and not text.endswith(b"\n") else text


def longest(payloads: bytes) -> int:
    """Bytes of the longest payload."""
    return max(map(len, payloads.split(b"\n")))


def longest_of(*sides: bytes) -> int:
    """Bytes of the longest payload, or 0 if none can be past its limit: most texts are short enough to need no look."""
    return max((longest(side) for side in sides if len(side) > LINE_LIMIT), default=0)


class Budget:
    """What all content candidates together may cost, charged in ascending byte order of path."""

    def __init__(self) -> None:
        self.spent: Literal["total_bytes", "line_count"] | None = None
        self._bytes = 0
        self._lines = 0

    def admit(self, cost: int, longest_line: int, lines: int, *, agree: bool = True) -> FileReason | None:
        """Charge one file that was read; why its content is not to be had, or None. Nothing is read once a total is spent.

        `agree`: everything that was seen of the file describes one state of it (spec 4.3).
        """
        charge = min(cost, FILE_LIMIT + 1)
        if self._bytes + charge > TOTAL_LIMIT:
            self.spent = "total_bytes"
        else:
            self._bytes += charge
        if cost > FILE_LIMIT:
            return "file_limit"
        if self.spent:
            return self.spent
        if longest_line > LINE_LIMIT:
            return "line_limit"
        if self._lines + lines > LINE_COUNT_LIMIT:
            self.spent = "line_count"
            return self.spent
        if not agree:
            return "inconsistent"
        self._lines += lines
        return None
