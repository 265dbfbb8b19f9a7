"""Stage 1: which changed files count at all (spec 5.1, step 1)."""

from __future__ import annotations

from returns.result import Success

from discern.definitions import Definition
from discern.outcomes import Evidence
from discern.survey import Outline, Verdict


def generated(definition: Definition, outline: Outline, evidence: Evidence) -> Verdict:
    """Step 1: keeps authored files, or all with `include_generated`. Never stops: the selector tells why nothing is left."""
    return Success(Evidence(evidence.files & outline.authored(definition)))
