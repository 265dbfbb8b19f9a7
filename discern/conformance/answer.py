"""What discern says of a conformance case (spec 10.2): the pure part alone, nothing is run and no fact is collected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import evolve, frozen

from discern.conformance.case import Case, MalformedCase, read_case
from discern.definitions import Definition, Policy, PolicyInvalid
from discern.documents import related_document
from discern.facts import BaseTree, ChangedFile, Facts, path_bytes
from discern.identity import definition_hash, fingerprint_of, path_values
from discern.outcomes import Evaluation, Unanswered
from discern.patterns import Listing, patterns_of
from discern.pipeline import judge
from discern.policy import question_files, resolve
from discern.stages.when import changed_files, conclude, document
from discern.survey import Survey
from discern.vocabulary import QUESTION_FILE_LIMIT

Answer = dict[str, Any]

POLICY_COMMIT: Final = "0" * 40  # of a command's input: a case has no commits

_ABSENT: Final = ("vetoed_by", "matched", "related", "reason", "detail", "changed_files", "definition_hash")
_BLANK: Final[Answer] = {"outcome": "dropped"} | dict.fromkeys(_ABSENT)


def answer_bytes(raw: bytes) -> Answer | MalformedCase:
    """The answer to the case in one JSON document."""
    case = read_case(raw)
    return case if isinstance(case, MalformedCase) else answer(case)


def answer(case: Case) -> Answer:
    """The document of spec 10.2: a row a definition, in the order of the policy, or the drop of the whole policy."""
    policy = resolve(case.policy, _question_texts(case))
    if isinstance(policy, PolicyInvalid):
        return {"results": {}, "policy_drop": "governing_config_invalid"}
    facts = _flagged(case, policy)
    rows = {drop.id: _BLANK | {"reason": drop.reason} for drop in policy.drops}
    rows |= {one.definition.id: _row(one) for one in _judged(case, policy, facts)}
    named = {"history_fingerprint": fingerprint_of(facts.history)}
    return {"results": {name: rows[name] | named for name in case.policy.get("checkpoints", {})}, "policy_drop": None}


def trace(case: Case) -> dict[str, Answer]:
    """What spec 5.6 and 6.3 have beyond an answer: by definition, its steps, and the input of its command if it would be made."""
    policy = resolve(case.policy, _question_texts(case))
    if isinstance(policy, PolicyInvalid):
        return {}
    facts = _flagged(case, policy)
    return {one.definition.id: {"steps": _steps(one), "input": _input(one, facts)} for one in _judged(case, policy, facts)}


def _question_texts(case: Case) -> Mapping[str, str]:
    """The question files that the policy commit holds and that are not too large (spec 2.3)."""
    named = {path: case.files[path] for path in question_files(case.policy) if path in case.files}
    return {path: text for path, text in named.items() if len(text.encode()) <= QUESTION_FILE_LIMIT}


def _flagged(case: Case, policy: Policy) -> Facts:
    """The facts, with what is generated marked as the policy has it (spec 4.1, 4.9)."""
    made = _generated(policy, (change.path for change in case.facts.changes))
    changes = tuple(evolve(change, generated=change.path in made) for change in case.facts.changes)
    base = case.facts.base if case.base is None else BaseTree(case.base, _generated(policy, case.base))
    return evolve(case.facts, changes=changes, base=base)


def _generated(policy: Policy, paths: Iterable[str]) -> frozenset[str]:
    listing = Listing(sorted(paths, key=path_bytes))
    return frozenset(listing.pick(listing.mask_any(patterns_of(policy.generated))))


@frozen
class _Judged:
    """One definition, what came of it, and the evidence of its command, None if there was nothing to ask one."""

    definition: Definition
    evaluation: Evaluation
    asked: list[ChangedFile] | None = None

    @property
    def told(self) -> list[Answer] | None:
        """The `changed_files` of the command's input; None as well if a path cannot be carried (spec 6.3)."""
        return None if self.asked is None else changed_files(self.asked)


def _judged(case: Case, policy: Policy, facts: Facts) -> list[_Judged]:
    survey = Survey(facts)
    return [_concluded(case, definition, judge(definition, survey), facts) for definition in policy.definitions]


def _concluded(case: Case, definition: Definition, evaluation: Evaluation, facts: Facts) -> _Judged:
    """With the scripted answer of its command, if it is one that was to be asked."""
    if evaluation.outcome != "undecided":
        return _Judged(definition, evaluation)
    matched = frozenset(evaluation.matched)
    asked = _Judged(definition, evaluation, [change for change in facts.changes if change.path in matched])
    scripted = case.answers.get(definition.id)
    if scripted is None:
        return asked
    return evolve(asked, evaluation=conclude(evaluation, Unanswered("when_input_failed") if asked.told is None else scripted))


def _row(judged: _Judged) -> Answer:
    named = {"changed_files": judged.told, "definition_hash": definition_hash(judged.definition)}
    return _BLANK | _members(judged.evaluation) | named


def _members(evaluation: Evaluation) -> Answer:
    members: Answer = {"outcome": evaluation.outcome}
    if evaluation.outcome in ("fired", "indeterminate", "undecided"):
        members["matched"] = path_values(evaluation.matched)
        members["related"] = [related_document(related) for related in evaluation.related]
    if evaluation.veto is not None:
        members["vetoed_by"] = evaluation.veto.by
    if evaluation.drop is not None:
        members |= {"reason": evaluation.drop.reason, "detail": evaluation.drop.detail}
    return members


def _steps(judged: _Judged) -> list[Answer]:
    return [{"step": step.step, "before": step.before, "after": step.after} for step in judged.evaluation.steps]


def _input(judged: _Judged, facts: Facts) -> Answer | None:
    if judged.asked is None:
        return None
    return document(judged.definition, POLICY_COMMIT, judged.asked, facts.history, fingerprint_of(facts.history))
