"""Laws of evaluation: relations between verdicts that must hold whatever is asked and whatever was seen (spec 4.5, 5)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from attrs import evolve
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from returns.result import Failure, Success

from discern.definitions import Definition
from discern.demand import NEEDS, demand
from discern.drops import FileFact, Lack
from discern.facts import NOT_COLLECTED, BaseTree, ChangedFile, Content, Facts, Lines, Unavailable
from discern.outcomes import Drop, Evaluation, Evidence, Veto
from discern.pipeline import STEPS, judge, judge_facts, reach
from discern.survey import Survey
from discern.vocabulary import COMPARISON_LIMIT, LINE_COUNT_LIMIT, TRIGGER_REASONS, VETOES
from property_tests.strategies import UNSET, definitions, facts, set_fields

QUICK = settings(max_examples=60, deadline=None, derandomize=True, database=None)
LONG = settings(max_examples=10_000, deadline=None)
REACH = settings(
    max_examples=2_000, phases=(Phase.generate,), deadline=None, derandomize=True, database=None
)  # nothing to shrink
UNREADABLE = Unavailable("unreadable")

NAMES = [name for name, _, _ in STEPS]
NARROWING = NAMES[NAMES.index("kinds") : NAMES.index("unless_changed")]
THRESHOLDS = NAMES[NAMES.index("unless_changed") : NAMES.index("when")]
FILE_FACTS: tuple[FileFact, ...] = ("content", "binary", "lines")


def law(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of a law: the same examples in every run, and a long search with `-m long`."""

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize(
            "effort", [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]
        )
        def test(effort: settings) -> None:
            effort(given(*strategies)(check))()

        test.__doc__ = check.__doc__
        return test

    return decorate


def holds(evaluation: Evaluation) -> bool:
    return evaluation.outcome in {"fired", "undecided"}


def fields_from(step: str) -> list[str]:
    """The fields that steps from this one on read."""
    return NAMES[NAMES.index(step) :]


def before(step: str, definition: Definition, seen: Facts) -> tuple[str, ...]:
    """The evidence a step of a definition gets to see: what the definition without it and all later steps matches."""
    if step in {"generated", "selector"}:
        return tuple(change.path for change in seen.changes)
    return judge_facts(evolve(definition, **{field: getattr(UNSET, field) for field in fields_from(step)}), seen).matched


def without(seen: Facts, fact: FileFact, paths: set[str], lack: Lack = UNREADABLE) -> Facts:
    """The same facts, but for these files this one is not to be had."""
    return evolve(
        seen,
        changes=tuple(evolve(change, **{fact: lack}) if change.path in paths else change for change in seen.changes),
    )


@law(definitions(), facts(), st.integers(0, 255))
def test_every_step_answers_with_a_part_of_what_it_got(definition: Definition, seen: Facts, some: int) -> None:
    """spec 5.1: each step sees the survivors of the one before; a narrowing leaves some, a threshold all or nothing."""
    survey = Survey(seen)
    evidence = Evidence(some & survey.everything)
    for name, configured, step in STEPS:
        match step(definition, survey, evidence) if configured(definition) else None:
            case Success(Evidence(files)):
                assert files & ~evidence.files == 0
                assert files or name not in NARROWING
                assert files == evidence.files or name not in THRESHOLDS
            case Failure(Veto() | Drop()) | None:
                pass
            case other:
                pytest.fail(f"{name} answered {other!r}")


@law(definitions(), facts())
def test_the_trace_joins_up(definition: Definition, seen: Facts) -> None:
    """spec 5.6: from all changes on, each step begins with what the one before left, and the last one tells the outcome."""
    evaluation = judge_facts(definition, seen)
    counts = [step.after for step in evaluation.steps]
    assert [step.before for step in evaluation.steps] == [len(seen.changes), *counts[:-1]]
    assert [step.step for step in evaluation.steps] == [
        name for name, configured, _ in STEPS[: NAMES.index(evaluation.steps[-1].step) + 1] if configured(definition)
    ]
    expected = {"fired": len(evaluation.matched), "vetoed": 0, "dropped": None, "undecided": None}
    assert counts[-1] == expected[evaluation.outcome]
    assert bool(evaluation.matched) == holds(evaluation)


@law(definitions(), definitions(), facts())
def test_nothing_after_the_first_failing_step_counts(definition: Definition, other: Definition, seen: Facts) -> None:
    """spec 5.1: the first that fails decides, whatever later fields say."""
    evaluation = judge_facts(definition, seen)
    later = [] if holds(evaluation) else fields_from(evaluation.steps[-1].step)[1:]
    changed = evolve(definition, **{field: getattr(other, field) for field in later if field != "selector"})
    assert judge_facts(changed, seen) == evaluation


@law(definitions(without=frozenset({"deletion_dominant"})), facts(), st.sampled_from(fields_from("kinds")), st.data())
def test_one_more_condition_turns_no_veto_into_a_fire(
    definition: Definition, seen: Facts, field: str, data: st.DataObject
) -> None:
    """spec 2.2: fields are AND. `deletion_dominant`, a ratio, is the one that narrowing can bring about."""
    evaluation = judge_facts(definition, seen)
    if evaluation.outcome == "vetoed" and getattr(definition, field) == getattr(UNSET, field):
        more = evolve(definition, **{field: data.draw(set_fields[field])})
        assert not holds(judge_facts(more, seen))


@law(definitions(), facts(), st.sampled_from(("min_changed_files", "min_changed_lines", "min_commits")), st.data())
def test_a_higher_minimum_lets_no_more_through(definition: Definition, seen: Facts, field: str, data: st.DataObject) -> None:
    """spec 5.1, steps 11, 12 and 14: it may stop a checkpoint, it cannot let one through."""
    low, high = sorted((data.draw(set_fields[field]), data.draw(set_fields[field])))
    strict = judge_facts(evolve(definition, **{field: high}), seen)
    assert not holds(strict) or judge_facts(evolve(definition, **{field: low}), seen).matched == strict.matched


@law(definitions(without=frozenset({"min_changed_files", "min_changed_lines"})), facts(loss=False))
def test_related_evidence_is_in_no_total(definition: Definition, seen: Facts) -> None:
    """spec 5.4: the totals are those of the matched files, exactly."""
    similar = evolve(definition, similar_new_file=True, deletion_dominant=False)
    evaluation = judge_facts(similar, seen)
    matched = set(evaluation.matched)
    assert {one.for_path for one in evaluation.related} == matched
    lines = [change.lines for change in seen.changes if change.path in matched and isinstance(change.lines, Lines)]
    total = sum(one.insertions + one.deletions for one in lines)
    for field, count in (("min_changed_files", len(matched)), ("min_changed_lines", total)):
        if holds(evaluation) and count:
            assert holds(judge_facts(evolve(similar, **{field: count}), seen))
            assert judge_facts(evolve(similar, **{field: count + 1}), seen).veto == Veto(field)


@law(definitions(), facts())
def test_a_fact_of_a_file_that_is_not_needed_may_be_lost(definition: Definition, seen: Facts) -> None:
    """spec 5.1: of files no longer in evidence when a step first needs the fact, or if no step reached needs it."""
    evaluation = judge_facts(definition, seen)
    for fact in FILE_FACTS:
        first = next((name for name, configured, _ in STEPS if configured(definition) and fact in NEEDS[name]), None)
        needed = set(before(first, definition, seen)) if first else set()
        unneeded = {change.path for change in seen.changes} - needed
        assert judge_facts(definition, without(seen, fact, unneeded)) == evaluation


@law(definitions(), facts(loss=False), st.randoms(use_true_random=False))
def test_a_fact_that_a_step_needs_drops_where_it_is_lost(definition: Definition, seen: Facts, random: Any) -> None:
    """spec 5.1: one file is enough, whatever the others would answer; the reason is the detail."""
    for step in judge_facts(definition, seen).steps:
        for fact in (fact for fact in FILE_FACTS if fact in NEEDS[step.step]):
            lost = without(seen, fact, {random.choice(before(step.step, definition, seen))})
            evaluation = judge_facts(definition, lost)
            assert evaluation.drop is not None
            assert (evaluation.drop.reason, evaluation.drop.detail) == ("trigger_content_unavailable", "unreadable")
            assert fact in NEEDS[evaluation.steps[-1].step]


@law(definitions(), facts(loss=False))
def test_base_and_history_drop_where_they_are_lost(definition: Definition, seen: Facts) -> None:
    """spec 5.1: the base tree where an added file is in evidence, the history at `min_commits`; nowhere else."""
    evaluation = judge_facts(definition, seen)
    reached = [step.step for step in evaluation.steps]
    added = {change.path for change in seen.changes if change.kind == "added"}
    asks = [step for step in ("new_directory", "similar_new_file") if step in reached]
    without_base = judge_facts(definition, evolve(seen, base=Unavailable("git_failed")))
    if asks and added & set(before(asks[0], definition, seen)):
        assert without_base.drop is not None
        assert (without_base.drop.reason, without_base.steps[-1].step) == ("trigger_base_unavailable", asks[0])
    else:
        assert without_base == evaluation
    without_history = judge_facts(definition, evolve(seen, history=NOT_COLLECTED))
    if "min_commits" in reached:
        assert without_history.drop is not None
        assert (without_history.drop.reason, without_history.drop.detail) == ("trigger_history_unavailable", "inconsistent")
    else:
        assert without_history == evaluation


@law(st.lists(definitions(), max_size=4), facts())
def test_what_nobody_demands_changes_no_verdict(asked: list[Definition], seen: Facts) -> None:
    """spec 4.5: facts outside the demand of all definitions together may stay uncollected."""
    survey = Survey(seen)
    wanted = demand(asked, survey)
    collected = evolve(
        seen,
        base=seen.base if wanted.base else NOT_COLLECTED,
        history=seen.history if wanted.history else NOT_COLLECTED,
    )
    for fact in FILE_FACTS:
        unwanted = survey.everything & ~getattr(wanted, fact)
        collected = without(collected, fact, set(survey.listing.pick(unwanted)), NOT_COLLECTED)
    assert [judge_facts(definition, collected) for definition in asked] == [judge(definition, survey) for definition in asked]


@law(definitions(), facts())
def test_content_is_demanded_of_no_file_too_many(definition: Definition, seen: Facts) -> None:
    """spec 4.5: exactly of the files that are in evidence when content is first looked at."""
    searching = evolve(definition, adds_matching=("new",))
    survey = Survey(seen)
    assert survey.listing.pick(demand([searching], survey).content) == before("adds_matching", searching, seen)
    assert survey.listing.pick(reach(searching, survey)) == before("adds_matching", searching, seen)


@law(definitions(), facts(), st.randoms(use_true_random=False))
def test_the_order_of_what_is_handed_in_counts_nothing(definition: Definition, seen: Facts, random: Any) -> None:
    """spec 4.3, 5.1: changes, base paths and the values of one field may come in any order."""
    evaluation = judge_facts(definition, seen)
    changes = random.sample(seen.changes, len(seen.changes))
    base = evolve(seen.base, paths=seen.base.paths[::-1]) if isinstance(seen.base, BaseTree) else seen.base
    arrays = [field for field in set_fields if isinstance(getattr(definition, field), tuple)]
    turned = evolve(definition, **{field: getattr(definition, field)[::-1] for field in arrays})
    assert judge_facts(turned, Facts.of(changes, base, seen.history)) == evaluation


@law(st.lists(definitions(), min_size=1, max_size=4), facts())
def test_asking_again_answers_the_same(asked: list[Definition], seen: Facts) -> None:
    """spec 5.1: a function of one definition and the facts, whoever asked before."""
    survey = Survey(seen)
    first = [judge(definition, survey) for definition in asked]
    again = [judge(definition, survey) for definition in reversed(asked)]
    assert first == again[::-1] == [judge_facts(definition, seen) for definition in asked]


def spread(total: int, cuts: list[int]) -> list[int]:
    """A total in parts, cut at these places."""
    places = [0, *sorted(cut % (total + 1) for cut in cuts), total]
    return [end - start for start, end in pairwise(places)]


def searched(sides: list[bytes], patterns: int) -> Evaluation:
    """The verdict on files with these sides, two a file, by so many patterns over both fields."""
    texts = tuple(f"{number}" for number in range(patterns))
    pairs = zip(sides[::2], [*sides[1::2], b""], strict=False)
    changes = [
        ChangedFile(path=f"{n}", kind="modified", content=Content(added, removed)) for n, (added, removed) in enumerate(pairs)
    ]
    adds, removes = texts[: patterns // 2], texts[patterns // 2 :]
    return judge_facts(evolve(UNSET, adds_matching=adds, removes_matching=removes), Facts.of(changes))


def charged(evaluation: Evaluation) -> str | None:
    return evaluation.drop.detail if evaluation.drop else None


@law(st.lists(st.integers(0, LINE_COUNT_LIMIT), max_size=5), st.integers(1, 32))
def test_lines_are_admitted_up_to_the_limit(cuts: list[int], patterns: int) -> None:
    """spec 5.3: 65,536 lines, on whatever sides of whatever files; one more drops."""
    assert charged(searched([b"\n" * part for part in spread(LINE_COUNT_LIMIT, cuts)], patterns)) is None
    assert charged(searched([b"\n" * part for part in spread(LINE_COUNT_LIMIT + 1, cuts)], patterns)) == "line_count"


@law(st.lists(st.integers(0, COMPARISON_LIMIT), max_size=5), st.integers(24, 32))
def test_work_is_admitted_up_to_the_limit(cuts: list[int], patterns: int) -> None:
    """spec 5.3: 67,108,864 for payloads, line ends and all patterns; the next byte drops."""
    most = COMPARISON_LIMIT // patterns

    def sides(total: int) -> list[bytes]:
        return [b"x" * (part - 1) + b"\n" if part else b"" for part in spread(total, cuts)]

    assert charged(searched(sides(most), patterns)) is None
    assert charged(searched(sides(most + 1), patterns)) == "comparison_work"


def asking(field: str) -> st.SearchStrategy[Definition]:
    """Definitions that set one field for sure."""
    return st.builds(lambda definition, value: evolve(definition, **{field: value}), definitions(), set_fields[field])


SETTERS = {"generated_only": "paths", "empty_matched_set": "paths", "excluded_only": "exclude_paths"}


@pytest.mark.parametrize("veto", VETOES)
def test_each_veto_can_be_reached(veto: str) -> None:
    """The laws above are about something: the strategies reach every veto."""
    field = SETTERS.get(veto, veto)
    find(
        st.tuples(asking(field), facts()),
        lambda drawn: judge_facts(*drawn).veto == Veto(veto),
        settings=REACH,
    )


@pytest.mark.parametrize("outcome", ["fired", "undecided", *TRIGGER_REASONS])
def test_each_other_outcome_can_be_reached(outcome: str) -> None:
    """The laws above are about something: the strategies reach fires with related evidence, open commands and every drop."""

    def reached(drawn: tuple[Definition, Facts]) -> bool:
        evaluation = judge_facts(*drawn)
        if evaluation.outcome == "fired":
            return outcome == "fired" and len(evaluation.steps) > 3 and bool(evaluation.related)
        return outcome == (evaluation.drop.reason if evaluation.drop else evaluation.outcome)

    field = {"fired": "similar_new_file", "undecided": "when"}.get(outcome, "min_commits")
    find(
        st.tuples(asking(field), facts()),
        reached,
        settings=REACH,
    )
