"""Stage 3: what the files must be, or what their change must do (spec 5.1, steps 4 to 9). None left: the step's own veto."""

from __future__ import annotations

from returns.result import Failure, Success

from discern.definitions import Definition
from discern.drops import lines_exceeded, work_exceeded
from discern.outcomes import Drop, Evidence, Veto
from discern.survey import Outline, Survey, Verdict
from discern.vocabulary import COMPARISON_LIMIT, LINE_COUNT_LIMIT, VetoName


def kinds(definition: Definition, outline: Outline, evidence: Evidence) -> Verdict:
    """Step 4: keeps the files of the listed kinds."""
    return _left("kinds", evidence.files & outline.of_kind(*definition.kinds))


def adds_matching(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 5: keeps the files with an added line that contains any of the patterns."""
    if drop := _unsearchable(definition, survey, evidence.files):
        return Failure(drop)
    return _left("adds_matching", evidence.files & survey.added_lines.files(definition.adds_matching))


def removes_matching(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 6: keeps the files with a removed line that contains any of the patterns."""
    if drop := _unsearchable(definition, survey, evidence.files):
        return Failure(drop)
    return _left("removes_matching", evidence.files & survey.removed_lines.files(definition.removes_matching))


def new_directory(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 7: keeps added files whose parent is neither the root nor a directory of the admitted base tree (spec 5.5)."""
    added = evidence.files & survey.of_kind("added")
    if not added:
        return Failure(Veto("new_directory"))
    base = survey.base(definition)
    if isinstance(base, Drop):
        return Failure(base)
    return _left("new_directory", added & base.new_directories)


def binary(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 8: keeps the files whose binary flag is the wanted one."""
    if drop := survey.lack(evidence.files, "binary"):
        return Failure(drop)
    return _left("binary", evidence.files & (survey.binary if definition.binary else ~survey.binary))


def similar_new_file(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 9: keeps added files with a similar sibling, which becomes related evidence (spec 5.4)."""
    added = evidence.files & survey.of_kind("added")
    if not added:
        return Failure(Veto("similar_new_file"))
    base = survey.base(definition)
    if isinstance(base, Drop):
        return Failure(base)
    files = added & base.similar
    return Success(Evidence(files, base.related(files))) if files else Failure(Veto("similar_new_file"))


def _left(veto: VetoName, files: int) -> Verdict:
    return Success(Evidence(files)) if files else Failure(Veto(veto))


def _unsearchable(definition: Definition, survey: Survey, files: int) -> Drop | None:
    """Why the content of these files cannot be searched: first what is not to be had, then the charge (spec 5.3).

    The charge is due once, at the first of the two content steps. The second has no more files, so asking again changes nothing.
    """
    if drop := survey.lack(files, "content"):
        return drop
    patterns = len(definition.adds_matching) + len(definition.removes_matching)
    if survey.content_bytes(files) * patterns > COMPARISON_LIMIT:
        return work_exceeded()
    return lines_exceeded() if survey.content_lines(files) > LINE_COUNT_LIMIT else None
