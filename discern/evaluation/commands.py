"""The `when` commands of a real evaluation, run where all other steps hold (spec 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discern.definitions import Definition
from discern.documents import dumps
from discern.effects.interruption import Flag
from discern.effects.when_command import answer
from discern.evaluation.clock import Clock
from discern.facts import Facts
from discern.identity import fingerprint_of
from discern.outcomes import Evaluation
from discern.stages.when import conclude, document


def decide(
    definitions: Sequence[Definition],
    evaluations: Sequence[Evaluation],
    facts: Facts,
    policy_commit: str,
    root: str,
    environment: Mapping[str, str],
    cancel: Flag | None,
    clock: Clock,
) -> list[Evaluation]:
    """The outcomes, those that were undecided by what their commands answered, one after the other in the order of the file."""
    known = {change.path: change for change in facts.changes}
    fingerprint = fingerprint_of(facts.history)
    decided = []
    for definition, evaluation in zip(definitions, evaluations, strict=True):
        if evaluation.outcome != "undecided" or definition.when is None:
            decided.append(evaluation)
            continue
        shown = document(definition, policy_commit, [known[path] for path in evaluation.matched], facts.history, fingerprint)
        encoded = dumps(shown).encode() if shown is not None else None
        with clock.part(f"when {definition.id}"):
            answered = answer(definition.when, root=root, document=encoded, environment=environment, cancel=cancel)
        decided.append(conclude(evaluation, answered))
    return decided
