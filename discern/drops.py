"""The drops of evaluation, each with an account that says what was lost, where, and what to do (spec 5.1, 5.3, 6.8)."""

from __future__ import annotations

from typing import Final, Literal

from discern.facts import NotCollected, Unavailable
from discern.outcomes import Drop
from discern.text import one_line
from discern.vocabulary import (
    COMPARISON_LIMIT,
    FILE_LIMIT,
    HISTORY_LIMIT,
    LINE_COUNT_LIMIT,
    LINE_LIMIT,
    WHEN_EXCERPT,
    WHEN_FIRES,
    WHEN_PASSES,
    FactReason,
)

FileFact = Literal["content", "binary", "lines"]
Lack = Unavailable | NotCollected

_FACTS: Final[dict[FileFact, str]] = {
    "content": "the changed lines of {}",
    "binary": "the binary flag of {}",
    "lines": "the line counts of {}",
}
_WHY: Final[dict[FactReason, str]] = {
    "not_regular": "it is not a regular file",
    "unreadable": "it could not be read",
    "file_limit": f"it is over the {FILE_LIMIT:,} bytes read of one file",
    "total_bytes": "the files before it used up the bytes that are read in all",
    "line_limit": f"one of its lines is over {LINE_LIMIT:,} bytes",
    "line_count": f"the files before it used up the {LINE_COUNT_LIMIT:,} lines that are read in all",
    "inconsistent": "what Git said of it does not agree",
    "output_limit": f"there are more than {HISTORY_LIMIT:,} bytes of object ids",
    "shallow": "the clone is shallow; fetch the full history (git fetch --unshallow)",
    "git_failed": "Git failed",
}
_PATH_SHOWN: Final = 200  # characters of a path in an account: whole for nearly all, and the account stays within its limit


def reason_of(lack: Lack) -> FactReason:
    """A fact that was not collected although it is needed contradicts what was asked for: `inconsistent` (spec 5.1)."""
    return lack.reason if isinstance(lack, Unavailable) else "inconsistent"


def file_lost(fact: FileFact, path: str, lack: Lack) -> Drop:
    """A file's content, binary flag or line counts are needed and not to be had (spec 5.1)."""
    what = _FACTS[fact].format(one_line(path, _PATH_SHOWN))
    account = f"{what} could not be had: {_why(lack)}; `paths`, `kinds` or `exclude_paths` can leave the file out"
    return Drop("trigger_content_unavailable", reason_of(lack), account)


def base_lost(lack: Lack) -> Drop:
    """The base tree is needed and not to be had (spec 5.1)."""
    return Drop("trigger_base_unavailable", reason_of(lack), f"the policy commit's tree could not be had: {_why(lack)}")


def history_lost(lack: Lack) -> Drop:
    """The history is needed and not to be had (spec 5.1)."""
    return Drop("trigger_history_unavailable", reason_of(lack), f"the commits of the change could not be had: {_why(lack)}")


def work_exceeded() -> Drop:
    """The content patterns would cost more comparisons than are admitted (spec 5.3)."""
    account = f"the search would cost more than {COMPARISON_LIMIT:,} comparisons: select fewer files, or ask for fewer patterns"
    return Drop("trigger_content_unavailable", "comparison_work", account)


def lines_exceeded() -> Drop:
    """There are more changed lines to search than are admitted (spec 5.3)."""
    account = f"there are more than {LINE_COUNT_LIMIT:,} changed lines to search: select fewer files"
    return Drop("trigger_content_unavailable", "line_count", account)


def invalid_exit(status: int, output: bytes) -> Drop:
    """A `when` command's exit status is no answer: told with its last words (spec 6.4, 6.8)."""
    ended = f"ended with exit status {status}" if status >= 0 else f"was ended by signal {-status}"
    words = " ".join(output.decode("utf-8", "replace").split())
    excerpt = one_line(words if len(words) <= WHEN_EXCERPT else "…" + words[1 - WHEN_EXCERPT :], WHEN_EXCERPT)
    said = f"; its last words: {excerpt}" if excerpt else ""
    return Drop("when_invalid_exit", None, f"the `when` command {ended}; {WHEN_FIRES} fires, {WHEN_PASSES} passes{said}")


def _why(lack: Lack) -> str:
    return _WHY[lack.reason] if isinstance(lack, Unavailable) else "it was not collected"
