"""Stage 2: which files a definition asks about (spec 5.1, steps 2 and 3)."""

from __future__ import annotations

from returns.result import Failure, Success

from discern.definitions import Definition
from discern.outcomes import Evidence, Veto
from discern.survey import Outline, Verdict


def selector(definition: Definition, outline: Outline, evidence: Evidence) -> Verdict:
    """Step 2: keeps the files that `scope` or `paths` match, all without a selector.

    Where none is left: `generated_only` if the selector does match changed files, but no authored one; else `empty_matched_set`.
    """
    selected = outline.everything if definition.paths is None else outline.matching(definition.paths)
    files = evidence.files & selected
    if files:
        return Success(Evidence(files))
    return Failure(Veto("generated_only" if selected else "empty_matched_set"))


def exclude_paths(definition: Definition, outline: Outline, evidence: Evidence) -> Verdict:
    """Step 3: keeps the files that no pattern matches; `excluded_only` where none is left."""
    files = evidence.files & ~outline.matching(definition.exclude_paths)
    return Success(Evidence(files)) if files else Failure(Veto("excluded_only"))
