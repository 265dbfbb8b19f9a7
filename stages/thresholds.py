"""Stage 4: what must hold of all that is left (spec 5.1, steps 10 to 14). A threshold keeps everything or nothing."""

from __future__ import annotations

from returns.result import Failure, Success

from discern.definitions import Definition
from discern.outcomes import Drop, Evidence, Veto
from discern.survey import Outline, Survey, Verdict
from discern.vocabulary import DOMINANT_DELETIONS, DOMINANT_RATIO, VetoName


def unless_changed(definition: Definition, outline: Outline, evidence: Evidence) -> Verdict:
    """Step 10: holds if no file of the filtered universe matches, selected or not (spec 5.2)."""
    found = outline.universe(definition) & outline.matching(definition.unless_changed)
    return _if(not found, "unless_changed", evidence)


def min_changed_files(definition: Definition, outline: Outline, evidence: Evidence) -> Verdict:
    """Step 11: holds if at least so many files are left."""
    return _if(_reaches(evidence.files.bit_count(), definition.min_changed_files), "min_changed_files", evidence)


def min_changed_lines(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 12: holds if insertions and deletions together reach the number; related files count nothing."""
    if drop := survey.lack(evidence.files, "lines"):
        return Failure(drop)
    total = survey.total(evidence.files)
    return _if(_reaches(total.insertions + total.deletions, definition.min_changed_lines), "min_changed_lines", evidence)


def deletion_dominant(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 13: holds from 50 deletions on, if they are at least twice the insertions."""
    if drop := survey.lack(evidence.files, "lines"):
        return Failure(drop)
    total = survey.total(evidence.files)
    dominant = total.deletions >= DOMINANT_DELETIONS and total.deletions >= DOMINANT_RATIO * total.insertions
    return _if(dominant, "deletion_dominant", evidence)


def min_commits(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 14: holds if the history has at least so many commits."""
    history = survey.history()
    if isinstance(history, Drop):
        return Failure(history)
    return _if(_reaches(len(history.commits), definition.min_commits), "min_commits", evidence)


def _reaches(count: int, minimum: int | None) -> bool:
    return minimum is None or count >= minimum


def _if(holds: bool, veto: VetoName, evidence: Evidence) -> Verdict:
    return Success(evidence) if holds else Failure(Veto(veto))
