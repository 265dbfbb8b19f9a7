"""How much of a change is read, as arithmetic (spec 4.6); with real files in `test_content.py`."""

from __future__ import annotations

import pytest

from discern.effects.budget import Budget, Side, longest
from discern.vocabulary import FILE_LIMIT, LINE_COUNT_LIMIT, LINE_LIMIT, TOTAL_LIMIT

BIG = FILE_LIMIT  # eight of these are exactly the total


def charge(*files: tuple[int, int, int]) -> list[str | None]:
    """What one budget says of files in their order: cost, longest line, lines."""
    budget = Budget()
    return [budget.admit(*file) for file in files]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # Each limit alone, exactly at it and one past it.
        ([(FILE_LIMIT, 9, 9)], [None]),
        ([(FILE_LIMIT + 1, 9, 9)], ["file_limit"]),
        ([(9999, LINE_LIMIT, 9)], [None]),
        ([(9999, LINE_LIMIT + 1, 9)], ["line_limit"]),
        ([(9999, 0, LINE_COUNT_LIMIT)], [None]),
        ([(9999, 0, LINE_COUNT_LIMIT + 1)], ["line_count"]),
        ([(BIG, 9, 9)] * 8, [None] * 8),
        ([(BIG, 9, 9)] * 7 + [(BIG - 1, 9, 9), (1, 1, 1)], [None] * 9),
        ([(BIG, 9, 9)] * 8 + [(1, 1, 1)], [None] * 8 + ["total_bytes"]),
        ([(BIG, 9, 9)] * 7 + [(BIG - 1, 9, 9), (2, 1, 1)], [None] * 8 + ["total_bytes"]),
        ([(BIG, 9, 9)] * 8 + [(0, 0, 0)], [None] * 9),
        # A file past its own limit is charged one byte more than that, and no more.
        ([(1 << 40, 9, 9)] * 7 + [(TOTAL_LIMIT - 7 * (FILE_LIMIT + 1), 9, 9)], ["file_limit"] * 7 + [None]),
        ([(1 << 40, 9, 9)] * 7 + [(TOTAL_LIMIT - 7 * (FILE_LIMIT + 1) + 1, 9, 9)], ["file_limit"] * 7 + ["total_bytes"]),
        # It keeps its own reason even where it spends the total, and everything behind has the total's.
        ([(FILE_LIMIT + 1, 9, 9)] * 9, ["file_limit"] * 8 + ["file_limit"]),
        # Bytes are charged for every file that is read, lines only for one that is admitted.
        ([(BIG, LINE_LIMIT + 1, 9)] * 8 + [(1, 1, 1)], ["line_limit"] * 8 + ["total_bytes"]),
        ([(999, LINE_LIMIT + 1, LINE_COUNT_LIMIT)] * 3 + [(9, 1, LINE_COUNT_LIMIT)], ["line_limit"] * 3 + [None]),
        ([(1, 1, LINE_COUNT_LIMIT - 1), (1, 1, 2), (1, 1, 1)], [None, "line_count", "line_count"]),
        # The first of the reasons: file_limit, total_bytes, line_limit, line_count.
        ([(FILE_LIMIT + 1, LINE_LIMIT + 1, LINE_COUNT_LIMIT + 1)], ["file_limit"]),
        ([(BIG, 9, 9)] * 8 + [(1, LINE_LIMIT + 1, LINE_COUNT_LIMIT + 1)], [None] * 8 + ["total_bytes"]),
        ([(9999, LINE_LIMIT + 1, LINE_COUNT_LIMIT + 1)], ["line_limit"]),
    ],
)
def test_boundaries(files, expected):
    """spec 4.6: exactly at a limit is admitted."""
    assert charge(*files) == expected


def test_a_total_that_is_spent_stays_spent():
    """spec 4.6: a file that would go past a total spends it; nothing after it is read."""
    budget = Budget()
    assert budget.admit(9, 9, LINE_COUNT_LIMIT + 1) == "line_count"
    assert budget.spent == "line_count"
    budget = Budget()
    for _ in range(8):
        budget.admit(BIG, 9, 9)
    assert budget.spent is None
    assert budget.admit(1, 1, 1) == budget.spent == "total_bytes"


def test_what_does_not_agree_is_the_last_reason_and_charges_no_lines():
    """spec 4.6: every other reason comes before `inconsistent`; lines are charged only for a file that is admitted."""
    budget = Budget()
    assert budget.admit(FILE_LIMIT + 1, 1, 1, agree=False) == "file_limit"
    assert budget.admit(9, LINE_LIMIT + 1, 1, agree=False) == "line_limit"
    assert budget.admit(9, 1, LINE_COUNT_LIMIT, agree=False) == "inconsistent"
    assert budget.admit(9, 1, LINE_COUNT_LIMIT) is None
    assert budget.admit(9, 1, 1, agree=False) == budget.spent == "line_count"


@pytest.mark.parametrize(
    ("raw", "payloads"),
    [
        (b"", b""),
        (b"a", b"a\n"),
        (b"a\n", b"a\n"),
        (b"a\r\n", b"a\n"),
        (b"a\r\r\n", b"a\r\n"),
        (b"a\r", b"a\r\n"),  # a CR is dropped before an LF only
        (b"\n\n", b"\n\n"),
        (b"\r\n\r", b"\n\r\n"),
        (b"a\rb\x0b\x0c\x85\n", b"a\rb\x0b\x0c\x85\n"),
    ],
)
def test_a_payload_excludes_its_lf_and_one_cr_before_it(raw, payloads):
    """spec 4.4: and nothing else ends a line."""
    assert Side(raw).payloads == payloads


def test_the_longest_payload_is_measured_without_its_line_end():
    """spec 4.6: 8,192 bytes of payload, whatever ends the line."""
    assert [longest(Side(raw).payloads) for raw in (b"", b"abc\r\nab\n", b"ab\nabcd")] == [0, 3, 4]
