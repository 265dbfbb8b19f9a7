"""What a definition asks for, a line a field (spec 9.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from discern.definitions import Definition
from discern.text import one_line
from discern.vocabulary import CHECKPOINT_FIELD_ROLES, DOMINANT_DELETIONS, DOMINANT_RATIO, WHEN_FIRES, WHEN_PASSES

SHOWN: Final = 4  # values of one field
WIDTH: Final = 72  # characters of one value


def summary(definition: Definition) -> tuple[str, ...]:
    """One line for each selector and trigger that is set, in the order of the registry.

    Every line is safe to show. A scope is told by the patterns it stands for: a resolved definition knows its name no more.
    """
    fields = (name for name in CHECKPOINT_FIELD_ROLES if name != "scope")
    lines = (SUMMARIES[name](getattr(definition, name)) for name in fields)
    return tuple(line for line in lines if line is not None)


def _any_of(values: Sequence[str], quoted: bool = False) -> str:
    """`a, b or c`, bounded."""
    shown = [one_line(value, WIDTH) for value in values[:SHOWN]]
    words = [f'"{value}"' for value in shown] if quoted else shown
    if len(values) > SHOWN:
        words.append(f"{len(values) - SHOWN} more")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _scope(name: str) -> str:
    return f"looks only at the scope {one_line(name, WIDTH)}"


def _paths(patterns: tuple[str, ...] | None) -> str | None:
    if patterns is None:
        return None
    return f"looks only at {_any_of(patterns)}" if patterns else "looks at nothing: its scope has no paths"


def _include_generated(wanted: bool) -> str | None:
    return "looks at generated files too" if wanted else None


def _exclude_paths(patterns: tuple[str, ...]) -> str | None:
    return f"leaves out {_any_of(patterns)}" if patterns else None


def _kinds(kinds: tuple[str, ...]) -> str | None:
    return f"counts only files that were {_any_of(kinds)}" if kinds else None


def _adds_matching(patterns: tuple[str, ...]) -> str | None:
    return f"adds a line containing {_any_of(patterns, quoted=True)}" if patterns else None


def _removes_matching(patterns: tuple[str, ...]) -> str | None:
    return f"removes a line containing {_any_of(patterns, quoted=True)}" if patterns else None


def _new_directory(wanted: bool) -> str | None:
    return "adds a file in a directory that was not there" if wanted else None


def _binary(wanted: bool | None) -> str | None:
    if wanted is None:
        return None
    return "counts only binary files" if wanted else "counts only text files"


def _similar_new_file(wanted: bool) -> str | None:
    return "adds a file named like one beside it" if wanted else None


def _unless_changed(patterns: tuple[str, ...]) -> str | None:
    return f"holds back once the change touches {_any_of(patterns)}" if patterns else None


def _min_changed_files(minimum: int | None) -> str | None:
    return None if minimum is None else f"changes at least {_counted(minimum, 'file')}"


def _min_changed_lines(minimum: int | None) -> str | None:
    return None if minimum is None else f"changes at least {_counted(minimum, 'line')}"


def _deletion_dominant(wanted: bool) -> str | None:
    return f"deletes at least {DOMINANT_DELETIONS} lines, and {DOMINANT_RATIO} for each one inserted" if wanted else None


def _min_commits(minimum: int | None) -> str | None:
    return None if minimum is None else f"holds at least {_counted(minimum, 'commit')}"


def _when(command: str | None) -> str | None:
    if command is None:
        return None
    return f"runs a command (exit {WHEN_FIRES} fires, {WHEN_PASSES} passes): {one_line(command.strip(), WIDTH)}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _shown_elsewhere(_value: object) -> None:
    """Review texts are shown whole, with the question."""


# A function a field of the registry; tests/test_registry.py holds the two against each other.
SUMMARIES: Final[dict[str, Callable[[Any], str | None]]] = {
    "scope": _scope,
    "paths": _paths,
    "include_generated": _include_generated,
    "exclude_paths": _exclude_paths,
    "kinds": _kinds,
    "adds_matching": _adds_matching,
    "removes_matching": _removes_matching,
    "new_directory": _new_directory,
    "binary": _binary,
    "similar_new_file": _similar_new_file,
    "unless_changed": _unless_changed,
    "min_changed_files": _min_changed_files,
    "min_changed_lines": _min_changed_lines,
    "deletion_dominant": _deletion_dominant,
    "min_commits": _min_commits,
    "when": _when,
    "mode": _shown_elsewhere,
    "question": _shown_elsewhere,
    "question_file": _shown_elsewhere,
    "teach": _shown_elsewhere,
    "reference": _shown_elsewhere,
}
