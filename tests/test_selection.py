"""Stages 1 and 2: what counts at all, and what is asked about (spec 5.1, steps 1 to 3)."""

from functools import partial

import pytest

from discern.definitions import Definition
from discern.facts import ChangedFile, Facts
from discern.outcomes import Evaluation
from discern.pipeline import judge_facts

asked = partial(Definition, id="p", question="Is this change right?")
modified = partial(ChangedFile, kind="modified")

MIXED = Facts.of([modified(path="docs/a.md"), modified(path="gen/a.ts", generated=True), modified(path="src/b.ts")])


def steps_of(evaluation: Evaluation) -> list[tuple[str, int, int | None]]:
    return [(step.step, step.before, step.after) for step in evaluation.steps]


def test_without_a_selector_everything_authored_is_evidence() -> None:
    """spec 5.1, steps 1 and 2: authored files; all if there is no selector."""
    evaluation = judge_facts(asked(), MIXED)
    assert (evaluation.outcome, evaluation.matched) == ("fired", ("docs/a.md", "src/b.ts"))
    assert steps_of(evaluation) == [("generated", 3, 2), ("selector", 2, 2)]


def test_include_generated_lets_generated_files_count() -> None:
    """spec 5.1, step 1: all files with `include_generated`."""
    evaluation = judge_facts(asked(paths=("gen/**",), include_generated=True), MIXED)
    assert (evaluation.outcome, evaluation.matched) == ("fired", ("gen/a.ts",))
    assert steps_of(evaluation) == [("generated", 3, 3), ("selector", 3, 1)]


@pytest.mark.parametrize(
    ("definition", "veto", "steps"),
    [
        (asked(paths=("none/**",)), "empty_matched_set", [("generated", 3, 2), ("selector", 2, 0)]),
        (asked(paths=()), "empty_matched_set", [("generated", 3, 2), ("selector", 2, 0)]),
        (asked(paths=("",)), "empty_matched_set", [("generated", 3, 2), ("selector", 2, 0)]),
        (asked(paths=("gen/**",)), "generated_only", [("generated", 3, 2), ("selector", 2, 0)]),
        (asked(paths=("gen/**",), exclude_paths=("gen/**",)), "generated_only", [("generated", 3, 2), ("selector", 2, 0)]),
        (
            asked(paths=("gen/**", "src/**"), exclude_paths=("src/",)),
            "excluded_only",
            [("generated", 3, 2), ("selector", 2, 1), ("exclude_paths", 1, 0)],
        ),
        (
            asked(paths=("gen/**",), exclude_paths=("gen/",), include_generated=True),
            "excluded_only",
            [("generated", 3, 3), ("selector", 3, 1), ("exclude_paths", 1, 0)],
        ),
        (asked(paths=("none/**",), include_generated=True), "empty_matched_set", [("generated", 3, 3), ("selector", 3, 0)]),
    ],
)
def test_the_first_three_vetoes_tell_why_nothing_is_left(
    definition: Definition, veto: str, steps: list[tuple[str, int, int]]
) -> None:
    """spec 5.1: no changed path matches the selector, only generated ones do, or all that are left are excluded."""
    evaluation = judge_facts(definition, MIXED)
    assert (evaluation.outcome, evaluation.veto and evaluation.veto.by, evaluation.matched) == ("vetoed", veto, ())
    assert steps_of(evaluation) == steps


def test_only_generated_changes_are_generated_only_without_a_selector() -> None:
    """spec 5.1: where nothing selects, everything is selected."""
    evaluation = judge_facts(asked(), Facts.of([modified(path="gen/a.ts", generated=True)]))
    assert evaluation.veto is not None
    assert evaluation.veto.by == "generated_only"
    assert steps_of(evaluation) == [("generated", 1, 0), ("selector", 0, 0)]


@pytest.mark.parametrize("paths", [None, (), ("src/**",)])
def test_no_change_at_all_is_an_empty_matched_set(paths: tuple[str, ...] | None) -> None:
    """spec 5.1: no changed path at all matches, selector or not, generated files included or not."""
    for include_generated in (False, True):
        evaluation = judge_facts(asked(paths=paths, include_generated=include_generated), Facts())
        assert evaluation.veto is not None
        assert evaluation.veto.by == "empty_matched_set"
        assert steps_of(evaluation) == [("generated", 0, 0), ("selector", 0, 0)]


def test_excluded_files_leave_the_evidence() -> None:
    """spec 5.1, step 3: the files that match none of the patterns stay."""
    facts = Facts.of([modified(path="src/a.js"), modified(path="src/a.snap"), modified(path="src/vendor/b.js")])
    evaluation = judge_facts(asked(paths=("src/**",), exclude_paths=("*.snap", "/vendor/")), facts)
    assert evaluation.matched == ("src/a.js",)
    assert steps_of(evaluation) == [("generated", 3, 3), ("selector", 3, 3), ("exclude_paths", 3, 1)]


def test_matched_paths_are_sorted_by_bytes() -> None:
    """spec 5.6: by bytes, not by code points: 0xFF sorts after every character, U+FFEE before one above U+FFFF."""
    paths = ("\udcff", "\U0001f600", "\uffee", "é", "b", "a/z", "a-z", "Z")
    evaluation = judge_facts(asked(), Facts.of([modified(path=path) for path in paths]))
    assert evaluation.matched == ("Z", "a-z", "a/z", "b", "é", "\uffee", "\U0001f600", "\udcff")
