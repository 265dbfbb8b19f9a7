"""The order of the steps, the trace, and the outcome (spec 5.1, 5.6, 6.1)."""

from functools import partial

import pytest

from discern.definitions import Definition
from discern.facts import BaseTree, ChangedFile, Content, Facts, History, Lines, Unavailable
from discern.outcomes import Evaluation, Related
from discern.patterns import Listing
from discern.pipeline import LISTING_STEPS, STEPS, judge, judge_facts, reach
from discern.survey import Outline, Survey

asked = partial(Definition, id="p", question="Is this change right?")


SIXTY = Lines(60, 0)


def added(path: str, lines: Lines | Unavailable = SIXTY, binary: bool | Unavailable = False) -> ChangedFile:
    return ChangedFile(path=path, kind="added", binary=binary, lines=lines, content=Content.of((b"new",), (b"old",)))


def steps_of(evaluation: Evaluation) -> list[tuple[str, int, int | None]]:
    return [(step.step, step.before, step.after) for step in evaluation.steps]


# Every field is set, and holds of the facts below.
ALL = asked(
    paths=("n/**", "m/**", "x"),
    include_generated=True,
    exclude_paths=("x",),
    kinds=("added",),
    adds_matching=("new",),
    removes_matching=("old",),
    new_directory=True,
    binary=False,
    similar_new_file=False,
    unless_changed=("absent",),
    min_changed_files=2,
    min_changed_lines=2,
    min_commits=1,
    when="check",
)
HOLDS = Facts.of(
    [added("n/a"), added("m/b"), added("x"), added("unselected"), ChangedFile(path="n/c", kind="modified")],
    base=BaseTree(("s/a",)),
    history=History((f"{1:040}",)),
)


def test_the_steps_stand_in_the_order_of_the_contract() -> None:
    """spec 5.1: the table, in its order."""
    assert [name for name, _, _ in STEPS] == [
        "generated",
        "selector",
        "exclude_paths",
        "kinds",
        "adds_matching",
        "removes_matching",
        "new_directory",
        "binary",
        "similar_new_file",
        "unless_changed",
        "min_changed_files",
        "min_changed_lines",
        "deletion_dominant",
        "min_commits",
        "when",
    ]
    assert STEPS[: len(LISTING_STEPS)] == LISTING_STEPS


def test_every_configured_step_leaves_a_trace() -> None:
    """spec 5.6: the first two always, the others if configured and reached; `after` is null before `when` answers."""
    evaluation = judge_facts(ALL, HOLDS)
    assert evaluation.outcome == "undecided"
    assert evaluation.matched == ("m/b", "n/a")
    assert steps_of(evaluation) == [
        ("generated", 5, 5),
        ("selector", 5, 4),
        ("exclude_paths", 4, 3),
        ("kinds", 3, 2),
        ("adds_matching", 2, 2),
        ("removes_matching", 2, 2),
        ("new_directory", 2, 2),
        ("binary", 2, 2),
        ("unless_changed", 2, 2),
        ("min_changed_files", 2, 2),
        ("min_changed_lines", 2, 2),
        ("min_commits", 2, 2),
        ("when", 2, None),
    ]


def test_false_and_empty_fields_are_no_steps() -> None:
    """spec 2.1, 7.1: false means not configured for every flag but `binary`; an empty array is unset."""
    plain = judge_facts(asked(), HOLDS)
    assert [step.step for step in plain.steps] == ["generated", "selector"]
    assert [step.step for step in judge_facts(asked(binary=False, paths=("n/a",)), HOLDS).steps] == [
        "generated",
        "selector",
        "binary",
    ]


def test_a_step_is_not_reached_after_the_first_that_fails() -> None:
    """spec 5.1: the first that fails decides; facts only a later step needs do no harm."""
    lost = Facts.of(
        [ChangedFile(path="a", kind="modified", content=Unavailable("line_limit"))], history=Unavailable("git_failed")
    )
    early = judge_facts(asked(kinds=("deleted",), adds_matching=("x",), min_commits=9), lost)
    assert early.veto is not None
    assert (early.veto.by, steps_of(early)[-1]) == ("kinds", ("kinds", 1, 0))
    late = judge_facts(asked(adds_matching=("x",), min_changed_files=9), lost)
    assert late.drop is not None
    assert (late.drop.detail, steps_of(late)[-1]) == ("line_limit", ("adds_matching", 1, None))


def test_outcomes_carry_only_what_belongs_to_them() -> None:
    """spec 5.6: matched and related for fired and undecided; a veto or a drop carries itself."""
    base = BaseTree(("a/x",))
    facts = Facts.of([added("a/x_v2")], base=base)
    fired = judge_facts(asked(id="f", similar_new_file=True), facts)
    assert (fired.id, fired.outcome, fired.veto, fired.drop) == ("f", "fired", None, None)
    assert (fired.matched, fired.related) == (("a/x_v2",), (Related("a/x_v2", "a/x"),))
    undecided = judge_facts(asked(similar_new_file=True, when="check"), facts)
    assert (undecided.outcome, undecided.matched, undecided.related) == ("undecided", fired.matched, fired.related)
    vetoed = judge_facts(asked(similar_new_file=True, min_changed_files=2), facts)
    assert (vetoed.outcome, vetoed.matched, vetoed.related, vetoed.drop) == ("vetoed", (), (), None)
    dropped = judge_facts(asked(similar_new_file=True, min_commits=1), facts)
    assert (dropped.outcome, dropped.matched, dropped.related, dropped.veto) == ("dropped", (), (), None)


@pytest.mark.parametrize(
    ("files", "detail"),
    [
        ([added("a"), added("b", binary=Unavailable("not_regular"))], "not_regular"),
        ([added("a"), added("b", lines=Unavailable("file_limit"))], "file_limit"),
        ([added("a", lines=Unavailable("file_limit")), added("b", binary=Unavailable("not_regular"))], "file_limit"),
        ([added("a", lines=Unavailable("total_bytes"), binary=Unavailable("unreadable"))], "unreadable"),
        ([ChangedFile(path="a", kind="added")], "inconsistent"),
    ],
)
def test_when_needs_flags_and_counts_of_the_final_evidence(files: list[ChangedFile], detail: str) -> None:
    """spec 5.1, 6.1: the first path that lacks one of them tells the reason, the flag's before the counts'."""
    evaluation = judge_facts(asked(when="check"), Facts.of(files))
    assert evaluation.drop is not None
    assert (evaluation.outcome, evaluation.drop.reason, evaluation.drop.detail) == (
        "dropped",
        "trigger_content_unavailable",
        detail,
    )
    assert steps_of(evaluation)[-1] == ("when", len(files), None)


def test_when_does_not_need_facts_of_files_that_are_gone() -> None:
    """spec 6.1: of the final evidence."""
    facts = Facts.of([added("a"), added("b", binary=Unavailable("not_regular"), lines=Unavailable("not_regular"))])
    assert judge_facts(asked(when="check", paths=("a",)), facts).outcome == "undecided"


def test_definitions_may_share_a_survey() -> None:
    """spec 4: one view serves every definition; what one asked for changes nothing for another."""
    definitions = [ALL, asked(), asked(kinds=("deleted",)), asked(new_directory=True, exclude_paths=("n/**",)), ALL]
    survey = Survey(HOLDS)
    assert [judge(definition, survey) for definition in definitions] == [
        judge_facts(definition, HOLDS) for definition in definitions
    ]


def test_each_definition_has_its_own_admitted_base() -> None:
    """spec 5.2: definitions that filter in different ways share a survey and no admitted base tree."""
    facts = Facts.of(
        [added("gen/b"), added("n/a_v2"), added("s/b")], base=BaseTree(("gen/a", "n/a", "s/a"), frozenset({"gen/a"}))
    )
    definitions = [
        asked(include_generated=generated, exclude_paths=excluded, **{field: True})
        for field in ("new_directory", "similar_new_file")
        for generated in (False, True)
        for excluded in ((), ("s/a",), ("n/a",), ("n/a", "s/a"))
    ]
    survey = Survey(facts)
    assert [judge(definition, survey) for definition in definitions] == [
        judge_facts(definition, facts) for definition in definitions
    ]


def test_a_listing_that_is_there_already_is_used_on() -> None:
    """spec 4.11 in spirit: patterns already matched for the demand are not matched again."""
    listing = Listing(change.path for change in HOLDS.changes)
    outline = Outline(listing, [change.kind for change in HOLDS.changes], 0)
    assert listing.pick(reach(ALL, outline)) == ("m/b", "n/a")
    survey = Survey(HOLDS, listing)
    assert survey.listing is listing
    assert judge(ALL, survey) == judge_facts(ALL, HOLDS)


def test_reach_is_empty_where_a_listing_step_vetoes() -> None:
    """spec 4.5: a definition that is vetoed before it needs a fact reaches nothing."""
    outline = Survey(HOLDS)
    assert reach(asked(paths=("none",)), outline) == 0
    assert reach(asked(kinds=("deleted",)), outline) == 0
    assert reach(asked(), outline) == outline.everything
