"""Stage 4: what must hold of all that is left (spec 5.1, steps 10 to 14), at each boundary."""

from functools import partial

import pytest

from discern.definitions import Definition
from discern.facts import NOT_COLLECTED, BaseTree, ChangedFile, Facts, History, Lines, Unavailable
from discern.outcomes import Evaluation
from discern.pipeline import judge_facts

asked = partial(Definition, id="p", question="Is this change right?")
modified = partial(ChangedFile, kind="modified")
LOST = Unavailable("file_limit")


def judged(definition: Definition, *changes: ChangedFile, **others: object) -> Evaluation:
    return judge_facts(definition, Facts.of(changes, **others))


def verdict(evaluation: Evaluation) -> str | None:
    """`fired`, the veto's name, or the drop's detail."""
    if evaluation.veto:
        return evaluation.veto.by
    return evaluation.drop.detail if evaluation.drop else evaluation.outcome


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (asked(paths=("src/**",), unless_changed=("CHANGELOG.md",)), "unless_changed"),
        (asked(paths=("src/**",), unless_changed=("none", "src/b")), "unless_changed"),
        (asked(paths=("src/**",), unless_changed=("tests/**",)), "fired"),
        (asked(paths=("src/**",), unless_changed=("",)), "fired"),
        (asked(paths=("src/**",), unless_changed=("gen/**",)), "fired"),
        (asked(paths=("src/**",), unless_changed=("gen/**",), include_generated=True), "unless_changed"),
        (asked(paths=("src/**",), unless_changed=("CHANGELOG.md",), exclude_paths=("*.md",)), "fired"),
    ],
)
def test_unless_changed_looks_at_the_filtered_universe(definition: Definition, expected: str) -> None:
    """spec 5.1, step 10; 5.2: any authored and not excluded change that matches vetoes, selected or not."""
    changes = (
        modified(path="src/a"),
        modified(path="src/b"),
        modified(path="CHANGELOG.md"),
        modified(path="gen/x", generated=True),
    )
    assert verdict(judged(definition, *changes)) == expected


@pytest.mark.parametrize(("minimum", "expected"), [(1, "fired"), (2, "fired"), (3, "min_changed_files")])
def test_min_changed_files_counts_the_narrowed_evidence(minimum: int, expected: str) -> None:
    """spec 5.1, step 11: n files are enough; a file that is not selected does not count."""
    changes = modified(path="src/a"), modified(path="src/b"), modified(path="docs/c")
    assert verdict(judged(asked(paths=("src/**",), min_changed_files=minimum), *changes)) == expected


@pytest.mark.parametrize(("minimum", "expected"), [(1, "fired"), (10, "fired"), (11, "min_changed_lines")])
def test_min_changed_lines_adds_insertions_and_deletions_up(minimum: int, expected: str) -> None:
    """spec 5.1, step 12: n lines are enough; a binary file has none."""
    changes = (
        modified(path="a", lines=Lines(4, 3)),
        ChangedFile(path="b", kind="deleted", lines=Lines(0, 3)),
        ChangedFile(path="c", kind="added", binary=True, lines=Lines(0, 0)),
        modified(path="out/d", lines=Lines(50, 50)),
    )
    assert verdict(judged(asked(paths=("*",), min_changed_lines=minimum), *changes)) == expected


@pytest.mark.parametrize(
    ("insertions", "deletions", "expected"),
    [
        (0, 50, "fired"),
        (25, 50, "fired"),
        (26, 50, "deletion_dominant"),
        (26, 52, "fired"),
        (0, 49, "deletion_dominant"),
        (24, 49, "deletion_dominant"),
        (500, 1000, "fired"),
        (500, 999, "deletion_dominant"),
    ],
)
def test_deletions_dominate_from_fifty_and_twice_the_insertions_on(insertions: int, deletions: int, expected: str) -> None:
    """spec 5.1, step 13: deletions >= 50 and >= 2 x insertions, over the whole evidence."""
    parts = modified(path="a", lines=Lines(insertions, 0)), modified(path="b", lines=Lines(0, deletions))
    assert verdict(judged(asked(deletion_dominant=True), *parts)) == expected


@pytest.mark.parametrize(("minimum", "expected"), [(1, "fired"), (3, "fired"), (4, "min_commits")])
def test_min_commits_counts_the_history(minimum: int, expected: str) -> None:
    """spec 5.1, step 14: n commits are enough."""
    history = History(tuple(f"{n:040x}" for n in range(3)))
    assert verdict(judged(asked(min_commits=minimum), modified(path="a"), history=history)) == expected


def test_no_commit_at_all_is_a_count() -> None:
    """spec 4.10: uncommitted work counts nothing; an empty history is known."""
    assert verdict(judged(asked(min_commits=1), modified(path="a"), history=History(()))) == "min_commits"


@pytest.mark.parametrize("field", ["min_changed_lines", "deletion_dominant"])
def test_unknown_line_counts_drop_with_their_own_reason(field: str) -> None:
    """spec 5.1: steps 12 and 13 need the counts of every file in evidence, and of no other."""
    changes = modified(path="a", lines=Lines(9, 90)), modified(path="b", lines=LOST), modified(path="c", lines=NOT_COLLECTED)
    definition = asked(**{field: 1 if field == "min_changed_lines" else True})
    dropped = judged(definition, *changes)
    assert dropped.drop is not None
    assert (dropped.drop.reason, dropped.drop.detail) == ("trigger_content_unavailable", "file_limit")
    assert (dropped.steps[-1].step, dropped.steps[-1].after) == (field, None)
    assert verdict(judged(definition, *changes[2:])) == "inconsistent"
    assert verdict(judged(definition, *changes[:1], modified(path="gen", generated=True, lines=LOST))) == "fired"


def test_an_unknown_history_drops_with_its_reason() -> None:
    """spec 5.1: step 14 needs the history; nothing else does."""
    for history, detail in ((Unavailable("shallow"), "shallow"), (NOT_COLLECTED, "inconsistent")):
        dropped = judged(asked(min_commits=1), modified(path="a"), history=history)
        assert dropped.drop is not None
        assert (dropped.drop.reason, dropped.drop.detail) == ("trigger_history_unavailable", detail)
        assert verdict(judged(asked(), modified(path="a"), history=history)) == "fired"


def test_related_files_count_nothing() -> None:
    """spec 5.4: a sibling is never counted, neither as a file nor by its lines."""
    base = BaseTree(("a/x.py", "a/x_old.py"))
    changes = ChangedFile(path="a/x_v2.py", kind="added", lines=Lines(5, 0)), modified(path="a/x.py", lines=Lines(90, 90))
    for field, enough in (("min_changed_files", 1), ("min_changed_lines", 5)):
        held = judged(asked(similar_new_file=True, **{field: enough}), *changes, base=base)
        assert (held.outcome, len(held.related)) == ("fired", 2)
        assert verdict(judged(asked(similar_new_file=True, **{field: enough + 1}), *changes, base=base)) == field
