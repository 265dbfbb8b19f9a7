"""One definition over the facts: the steps of the contract in their order, and the verdict with its trace (spec 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from returns.result import Failure, Success

from discern.definitions import Definition
from discern.facts import Facts
from discern.outcomes import Drop, Evaluation, Evidence, Step, Veto
from discern.stages.narrowing import adds_matching, binary, kinds, new_directory, removes_matching, similar_new_file
from discern.stages.selection import exclude_paths, selector
from discern.stages.thresholds import deletion_dominant, min_changed_files, min_changed_lines, min_commits, unless_changed
from discern.stages.universe import generated
from discern.survey import Outline, Survey, Verdict

Configured = Callable[[Definition], bool]
ListingStep = Callable[[Definition, Outline, Evidence], Verdict]
FactsStep = Callable[[Definition, Survey, Evidence], Verdict]


def when(definition: Definition, survey: Survey, evidence: Evidence) -> Verdict:
    """Step 15 as far as facts decide it: the command needs the flag and the counts of every file (spec 6.1).

    The first file that lacks one of them tells the reason, the flag's if it lacks both (spec 5.1).
    """
    drop = survey.lack(evidence.files, "binary", "lines")
    return Failure(drop) if drop else Success(evidence)


# The steps that need nothing but the listing. What they leave is what facts are collected for (spec 4.5).
LISTING_STEPS: Final[tuple[tuple[str, Configured, ListingStep], ...]] = (
    ("generated", lambda _: True, generated),
    ("selector", lambda _: True, selector),
    ("exclude_paths", lambda definition: bool(definition.exclude_paths), exclude_paths),
    ("kinds", lambda definition: bool(definition.kinds), kinds),
)

# The fixed order (spec 5.1): each step's name, whether a definition has it, and what it does.
STEPS: Final[tuple[tuple[str, Configured, FactsStep], ...]] = (
    *LISTING_STEPS,
    ("adds_matching", lambda definition: bool(definition.adds_matching), adds_matching),
    ("removes_matching", lambda definition: bool(definition.removes_matching), removes_matching),
    ("new_directory", lambda definition: definition.new_directory, new_directory),
    ("binary", lambda definition: definition.binary is not None, binary),
    ("similar_new_file", lambda definition: definition.similar_new_file, similar_new_file),
    ("unless_changed", lambda definition: bool(definition.unless_changed), unless_changed),
    ("min_changed_files", lambda definition: definition.min_changed_files is not None, min_changed_files),
    ("min_changed_lines", lambda definition: definition.min_changed_lines is not None, min_changed_lines),
    ("deletion_dominant", lambda definition: definition.deletion_dominant, deletion_dominant),
    ("min_commits", lambda definition: definition.min_commits is not None, min_commits),
    ("when", lambda definition: definition.when is not None, when),
)


def judge(definition: Definition, survey: Survey) -> Evaluation:
    """The outcome of one definition: fired, vetoed or dropped; undecided if all steps but its `when` hold (spec 5.6)."""
    standing, steps = _follow(definition, survey)
    match standing:
        case Veto():
            return Evaluation(id=definition.id, outcome="vetoed", veto=standing, steps=steps)
        case Drop():
            return Evaluation(id=definition.id, outcome="dropped", drop=standing, steps=steps)
        case Evidence(files, related):
            return Evaluation(
                id=definition.id,
                outcome="fired" if definition.when is None else "undecided",
                matched=survey.paths(files),
                related=related,
                steps=steps,
            )


def judge_facts(definition: Definition, facts: Facts) -> Evaluation:
    """`judge` for a single definition; several share one survey."""
    return judge(definition, Survey(facts))


def reach(definition: Definition, outline: Outline) -> int:
    """The files a definition can still be looking at when it first needs a fact (spec 4.5)."""
    state: Verdict = Success(Evidence(outline.everything))
    for _, configured, step in LISTING_STEPS:
        if configured(definition):
            state = state.bind(partial(step, definition, outline))
    return state.value_or(Evidence(0)).files


def _follow(definition: Definition, survey: Survey) -> tuple[Evidence | Veto | Drop, tuple[Step, ...]]:
    standing: Evidence | Veto | Drop = Evidence(survey.everything)
    steps: list[Step] = []
    for name, configured, step in STEPS:
        if isinstance(standing, Evidence) and configured(definition):
            before = standing.files.bit_count()
            standing = _standing(step(definition, survey, standing))
            steps.append(Step(name, before, _stayed(name, standing)))
    return standing, tuple(steps)


def _standing(state: Verdict) -> Evidence | Veto | Drop:
    # `is_successful` says the same for one more import on every start.
    return state.unwrap() if isinstance(state, Success) else state.failure()


def _stayed(step: str, standing: Evidence | Veto | Drop) -> int | None:
    match standing:
        case Evidence(files):
            return None if step == "when" else files.bit_count()  # the command has not answered yet
        case Veto():
            return 0
        case Drop():
            return None
