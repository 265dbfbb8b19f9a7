"""Accounts of drops: what was lost, where, and what to do (spec 5.1, 9.2)."""

import pytest

from discern.drops import base_lost, file_lost, history_lost, lines_exceeded, work_exceeded
from discern.facts import NOT_COLLECTED, Unavailable
from discern.outcomes import Drop
from discern.vocabulary import ACCOUNT_LIMIT, BASE_REASONS, FILE_REASONS, HISTORY_REASONS

AWKWARD = "d\n\x1b[31m\u2028\u202e\udcff/" + "long" * 2_000
DROPS = [
    *(file_lost(fact, AWKWARD, Unavailable(reason)) for fact in ("content", "binary", "lines") for reason in FILE_REASONS),
    *(base_lost(Unavailable(reason)) for reason in BASE_REASONS),
    *(history_lost(Unavailable(reason)) for reason in HISTORY_REASONS),
    *(file_lost(fact, AWKWARD, NOT_COLLECTED) for fact in ("content", "binary", "lines")),
    base_lost(NOT_COLLECTED),
    history_lost(NOT_COLLECTED),
    work_exceeded(),
    lines_exceeded(),
]


@pytest.mark.parametrize("drop", DROPS, ids=lambda drop: f"{drop.reason}-{drop.detail}")
def test_an_account_is_one_short_line(drop: Drop) -> None:
    """spec 9.2: at most 500 characters, no control characters, whatever the path."""
    assert 0 < len(drop.account) <= ACCOUNT_LIMIT
    assert drop.account.isprintable() or "\N{HORIZONTAL ELLIPSIS}" in drop.account
    assert not any(
        ord(character) < 32 or 127 <= ord(character) < 160 or character in "\u2028\u2029" for character in drop.account
    )


def test_an_account_names_the_path_and_the_fact() -> None:
    """spec 5.1: the drop is about one path; a person has to find it."""
    assert "the line counts of src/a.py" in file_lost("lines", "src/a.py", Unavailable("file_limit")).account
    assert "the binary flag of src/a.py" in file_lost("binary", "src/a.py", Unavailable("unreadable")).account
    assert "the changed lines of src/a.py" in file_lost("content", "src/a.py", Unavailable("line_limit")).account


def test_every_reason_has_an_account_of_its_own() -> None:
    """spec 5.1: a fact that was not collected is told apart from one that does not agree, though both are `inconsistent`."""
    for fact in ("content", "binary", "lines"):
        lacks = [*map(Unavailable, FILE_REASONS), NOT_COLLECTED]
        assert len({file_lost(fact, "a", lack).account for lack in lacks}) == len(lacks)
    assert file_lost("content", "a", NOT_COLLECTED).detail == "inconsistent"


def test_a_shallow_clone_is_told_what_to_fetch() -> None:
    """spec 4.10, 5.1: the account says what to do."""
    assert "--unshallow" in history_lost(Unavailable("shallow")).account
