"""Which facts must be collected, and of which files (spec 4.5, 4.9, 4.10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from discern.definitions import Definition
from discern.pipeline import STEPS, reach
from discern.survey import Outline

NeededFact = Literal["content", "binary", "lines", "base", "history"]

# What each step needs beyond the listing. The facts of the files are needed of those a definition reaches.
NEEDS: Final[dict[str, tuple[NeededFact, ...]]] = {
    "generated": (),
    "selector": (),
    "exclude_paths": (),
    "kinds": (),
    "adds_matching": ("content",),
    "removes_matching": ("content",),
    "new_directory": ("base",),
    "binary": ("binary",),
    "similar_new_file": ("base",),
    "unless_changed": (),
    "min_changed_files": (),
    "min_changed_lines": ("lines",),
    "deletion_dominant": ("lines",),
    "min_commits": ("history",),
    "when": ("binary", "lines", "history"),
}


class Demand(NamedTuple):
    """The files whose content, binary flag or line counts may be needed, and whether base tree or history may be (spec 4.5)."""

    content: int
    binary: int
    lines: int
    base: bool
    history: bool


def demand(definitions: Iterable[Definition], outline: Outline) -> Demand:
    """What these definitions can ask for, all together: a file none of them reaches spends nothing (spec 4.5)."""
    files: dict[NeededFact, int] = {"content": 0, "binary": 0, "lines": 0}
    asked: set[NeededFact] = set()
    for definition in definitions:
        needed = needs(definition)
        asked |= needed
        reached = reach(definition, outline) if needed & files.keys() else 0
        for fact in needed & files.keys():
            files[fact] |= reached
    return Demand(
        content=files["content"], binary=files["binary"], lines=files["lines"], base="base" in asked, history="history" in asked
    )


def needs(definition: Definition) -> set[NeededFact]:
    """The facts a definition may need beyond the listing, whatever the change is."""
    return {fact for step, configured, _ in STEPS if configured(definition) for fact in NEEDS[step]}
