"""What discern says of a conformance case (spec 10.2): the pure part alone, nothing is run and no fact is collected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from discern.conformance.case import Case, MalformedCase, read_case
from discern.definitions import Definition, EntryDrop, Policy, PolicyInvalid
from discern.facts import BaseTree, Facts, History, path_bytes
from discern.identity import definition_hash, history_fingerprint, path_value
from discern.outcomes import Evaluation, Related, Unanswered
from discern.patterns import Listing, patterns_of
from discern.pipeline import judge
from discern.policy import question_files, resolve
from discern.stages.when import changed_files, conclude
from discern.survey import Survey
from discern.vocabulary import QUESTION_FILE_LIMIT

Answer = dict[str, Any]

# The members of a result that a definition may have or not.
OPTIONAL = ("vetoed_by", "matched", "related", "reason", "detail", "changed_files", "definition_hash", "history_fingerprint")


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
    survey = Survey(facts)
    entries: dict[str, Definition | EntryDrop] = {definition.id: definition for definition in policy.definitions}
    entries |= {drop.id: drop for drop in policy.drops}
    fingerprint = history_fingerprint(facts.history.commits) if isinstance(facts.history, History) else None
    rows = {name: _row(case, entries[name], survey, facts) for name in case.policy.get("checkpoints", {})}
    return {"results": {name: row | {"history_fingerprint": fingerprint} for name, row in rows.items()}, "policy_drop": None}


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


def _row(case: Case, entry: Definition | EntryDrop, survey: Survey, facts: Facts) -> Answer:
    blank: Answer = {"outcome": "dropped"} | dict.fromkeys(OPTIONAL)
    if isinstance(entry, EntryDrop):
        return blank | {"reason": entry.reason}
    told = _concluded(case, entry, survey, facts)
    return blank | told | {"definition_hash": definition_hash(entry)}


def _concluded(case: Case, definition: Definition, survey: Survey, facts: Facts) -> Answer:
    evaluation = judge(definition, survey)
    if evaluation.outcome != "undecided":
        return _members(evaluation)
    matched = frozenset(evaluation.matched)
    told = changed_files([change for change in facts.changes if change.path in matched])
    scripted = case.answers.get(definition.id)
    if scripted is not None:
        evaluation = conclude(evaluation, Unanswered("when_input_failed") if told is None else scripted)
    return _members(evaluation) | {"changed_files": told}


def _members(evaluation: Evaluation) -> Answer:
    members: Answer = {"outcome": evaluation.outcome}
    if evaluation.outcome in ("fired", "indeterminate", "undecided"):
        members["matched"] = [path_value(path) for path in evaluation.matched]
        members["related"] = [_related(related) for related in evaluation.related]
    if evaluation.veto is not None:
        members["vetoed_by"] = evaluation.veto.by
    if evaluation.drop is not None:
        members |= {"reason": evaluation.drop.reason, "detail": evaluation.drop.detail}
    return members


def _related(related: Related) -> Answer:
    return {"kind": related.kind, "for_path": path_value(related.for_path), "path": path_value(related.path)}
