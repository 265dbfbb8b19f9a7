"""The fields of a `[checkpoints.<id>]` entry, one at a time: type, limits, and the value a definition holds (spec 2.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from discern.vocabulary import KINDS, MODES, PATTERN_BYTES_LIMIT, PATTERNS_LIMIT, THRESHOLD_LIMIT


class Fault(str):
    """What is wrong with a value, in words that follow the field's name. It never quotes the value."""

    __slots__ = ()


Parser = Callable[[Any], Any]

_TYPES: Final[dict[type, str]] = {
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "an array",
    dict: "a table",
    type(None): "null",
}


def type_name(value: object) -> str:
    """The type of a TOML value, in TOML's words."""
    return _TYPES.get(type(value), "a date or time")


def path_patterns(value: Any, least: int = 0) -> tuple[str, ...] | Fault:
    """Path patterns, at least `least` of them, as they are written; whether they compile is judged elsewhere."""
    texts = _texts(value)
    if isinstance(texts, Fault) or len(texts) >= least:
        return texts
    return Fault(f"must hold at least {least} pattern")


def _texts(value: Any) -> tuple[str, ...] | Fault:
    if not isinstance(value, list):
        return Fault(f"must be an array of strings, not {type_name(value)}")
    for place, item in enumerate(value, start=1):
        if not isinstance(item, str):
            return Fault(f"must be an array of strings, but item {place} is {type_name(item)}")
    return tuple(value)


def _text(value: Any) -> str | Fault:
    return value if isinstance(value, str) else Fault(f"must be a string, not {type_name(value)}")


def _flag(value: Any) -> bool | Fault:
    return value if isinstance(value, bool) else Fault(f"must be true or false, not {type_name(value)}")


def _selection(value: Any) -> tuple[str, ...] | Fault:
    return path_patterns(value, least=1)


def _kinds(value: Any) -> tuple[str, ...] | Fault:
    texts = _texts(value)
    if isinstance(texts, Fault):
        return texts
    if not texts or len(set(texts)) < len(texts) or not set(texts) <= set(KINDS):
        return Fault(f"must hold one to three different of {', '.join(f'`{kind}`' for kind in KINDS)}")
    return tuple(kind for kind in KINDS if kind in texts)


def _literals(value: Any) -> tuple[str, ...] | Fault:
    texts = _texts(value)
    if isinstance(texts, Fault):
        return texts
    if not 1 <= len(texts) <= PATTERNS_LIMIT:
        return Fault(f"must hold 1 to {PATTERNS_LIMIT} patterns, not {len(texts)}")
    if len(set(texts)) < len(texts):
        return Fault("must hold each pattern once")
    for place, text in enumerate(texts, start=1):
        if not 1 <= len(text.encode()) <= PATTERN_BYTES_LIMIT:
            return Fault(f"must hold patterns of 1 to {PATTERN_BYTES_LIMIT} bytes, but item {place} has {len(text.encode())}")
        if not {"\0", "\r", "\n"}.isdisjoint(text):
            return Fault(
                f"must hold patterns without NUL, CR and LF, as they are looked for in single lines, but item {place} has one"
            )
    return texts


def _threshold(value: Any) -> int | Fault:
    if isinstance(value, bool) or not isinstance(value, int):
        return Fault(f"must be an integer from 1 to {THRESHOLD_LIMIT}, not {type_name(value)}")
    return value if 1 <= value <= THRESHOLD_LIMIT else Fault(f"must be an integer from 1 to {THRESHOLD_LIMIT}")


def _command(value: Any) -> str | Fault:
    if not isinstance(value, str):
        return Fault(f"must be a shell command in a string, not {type_name(value)}")
    if not value.strip() or "\0" in value:
        return Fault("must be a shell command, not blank and without NUL")
    return value


def _mode(value: Any) -> str | Fault:
    if isinstance(value, str) and value in MODES:
        return value
    return Fault(f"must be one of {', '.join(f'`{mode}`' for mode in MODES)}")


# What each field of the registry may hold: a parser takes the TOML value and gives the definition's, or a fault.
FIELD_PARSERS: Final[dict[str, Parser]] = {
    "scope": _text,
    "paths": _selection,
    "include_generated": _flag,
    "exclude_paths": path_patterns,
    "kinds": _kinds,
    "adds_matching": _literals,
    "removes_matching": _literals,
    "new_directory": _flag,
    "binary": _flag,
    "similar_new_file": _flag,
    "unless_changed": path_patterns,
    "min_changed_files": _threshold,
    "min_changed_lines": _threshold,
    "deletion_dominant": _flag,
    "min_commits": _threshold,
    "when": _command,
    "mode": _mode,
    "question": _text,
    "question_file": _text,
    "teach": _text,
    "reference": _text,
}
