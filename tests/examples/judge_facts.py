"""Judge a change that is in no repository: a policy, some facts, and what comes of them. No Git, no files, no command."""

from __future__ import annotations

from discern import (
    Answered,
    ChangedFile,
    Content,
    Definition,
    Evaluation,
    Facts,
    Lines,
    Unavailable,
    conclude,
    judge_all,
    load_policy,
)

POLICY = b"""
[checkpoints.new-dependency]
paths = ["requirements.txt"]
adds_matching = ["=="]
question = "A dependency is added. Who keeps it up?"

[checkpoints.secret]
adds_matching = ["PRIVATE KEY"]
question = "Does this put a key into the repository?"

[checkpoints.slow-query]
paths = ["*.sql"]
when = "./explain.sh"
question = "Is this fast enough?"

[checkpoints.misspelt]
path = ["a"]
question = "Never asked."
"""

FACTS = Facts.of(
    [
        ChangedFile("requirements.txt", "modified", binary=False, lines=Lines(1, 0), content=Content.of([b"leftpad==1.3.0"])),
        ChangedFile("db/report.sql", "added", binary=False, lines=Lines(2, 0), content=Content.of([b"select *", b"from sale"])),
        ChangedFile("prices.csv", "added", binary=False, lines=Lines(90_000, 0), content=Unavailable("file_limit")),
    ]
)


def ask_elsewhere(definition: Definition, evaluation: Evaluation) -> Evaluation:
    """Stands for a sandbox of your own that runs a `when` command and says how it ended."""
    return conclude(evaluation, Answered(0, b"DISCERN_MATCH db/report.sql\n")) if definition.when else evaluation


def told(evaluation: Evaluation) -> str:
    """One line on one outcome."""
    why = evaluation.veto.by if evaluation.veto else evaluation.drop.account if evaluation.drop else ""
    return f"{evaluation.id}: {evaluation.outcome} {' '.join(evaluation.matched)}{why}"


def main() -> None:
    policy = load_policy(POLICY).unwrap()  # a Failure would be a mistake in POLICY above
    for definition, evaluation in zip(policy.definitions, judge_all(policy.definitions, FACTS), strict=True):
        print(told(evaluation))
        if evaluation.outcome == "undecided":
            print(told(ask_elsewhere(definition, evaluation)))
    for drop in policy.drops:
        print(f"{drop.id}: {drop.reason} {drop.account}")


if __name__ == "__main__":
    main()
