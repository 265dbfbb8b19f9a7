"""One registry classifies every field; every table of fields is held against it (spec 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs
import pytest

from discern.definitions import Definition
from discern.demand import NEEDS
from discern.fields import FIELD_PARSERS
from discern.identity import HASHED_FIELDS
from discern.pipeline import STEPS
from discern.report.summaries import SUMMARIES
from discern.seeds import SEEDS, with_seed
from discern.vocabulary import CHECKPOINT_FIELD_ROLES, Role
from property_tests.strategies import UNSET, set_fields

Table = tuple[Iterable[str], Callable[[str, str], bool]]
"""The fields a table knows, and which field of which role it must know."""

FIELDS_OF_STEP = {"generated": ("include_generated",), "selector": ("scope", "paths")}


def every_field(_field: str, _role: str) -> bool:
    return True


def every_resolved_field(field: str, _role: str) -> bool:
    return field != "scope"  # its patterns stand under `paths` once it is resolved


def every_condition(_field: str, role: str) -> bool:
    return role in {"selector", "trigger"}


def every_resolved_condition(field: str, role: str) -> bool:
    return every_resolved_field(field, role) and every_condition(field, role)


def of_steps(names: Iterable[str]) -> set[str]:
    return {field for name in names for field in FIELDS_OF_STEP.get(name, (name,))}


TABLES: dict[str, Table] = {
    "parsing": (FIELD_PARSERS, every_field),
    "resolution": ({field.name for field in attrs.fields(Definition)} - {"id"}, every_resolved_field),
    "hashing": (HASHED_FIELDS, every_resolved_field),
    "summaries": (SUMMARIES, every_field),
    "evaluation order": (of_steps(name for name, _, _ in STEPS), every_condition),
    "demand": (of_steps(NEEDS), every_condition),
    "tests": (set_fields, every_resolved_condition),
}


def unenrolled(roles: Mapping[str, Role], tables: Mapping[str, Table]) -> dict[str, set[str]]:
    """For each table that departs from the registry: the fields it lacks, and those it has that the registry does not know."""
    departures = {
        name: {field for field, role in roles.items() if covers(field, role)} - set(fields) | set(fields) - roles.keys()
        for name, (fields, covers) in tables.items()
    }
    return {name: fields for name, fields in departures.items() if fields}


def test_every_field_is_enrolled_everywhere() -> None:
    """spec 2.1: parsing, resolution, hashing, summaries, evaluation order, demand and tests agree with the registry."""
    assert unenrolled(CHECKPOINT_FIELD_ROLES, TABLES) == {}


def test_a_new_trigger_is_missed_by_every_table() -> None:
    """spec 2.1: a new field cannot be added half-way."""
    roles: dict[str, Role] = {**CHECKPOINT_FIELD_ROLES, "made_up": "trigger"}
    assert unenrolled(roles, TABLES) == {name: {"made_up"} for name in TABLES}


@pytest.mark.parametrize("role", ["review", "question source"])
def test_a_new_text_is_missed_by_every_table_but_those_of_conditions(role: Role) -> None:
    """spec 2.1: a field that decides nothing still has to be parsed, resolved, hashed and summed up."""
    missing = unenrolled({**CHECKPOINT_FIELD_ROLES, "made_up": role}, TABLES)
    assert missing == {name: {"made_up"} for name in ("parsing", "resolution", "hashing", "summaries")}


@pytest.mark.parametrize("name", TABLES)
def test_a_field_the_registry_does_not_know_is_noticed(name: str) -> None:
    """spec 2.1: the registry classifies every public field."""
    fields, covers = TABLES[name]
    assert unenrolled(CHECKPOINT_FIELD_ROLES, {name: ({*fields, "made_up"}, covers)}) == {name: {"made_up"}}


def test_the_steps_stand_in_the_order_of_the_registry() -> None:
    """spec 2.1, 5.1: one order of triggers, in the registry, the pipeline and the demand."""
    triggers = [field for field, role in CHECKPOINT_FIELD_ROLES.items() if role == "trigger"]
    steps = [name for name, _, _ in STEPS]
    assert steps == ["generated", "selector", *triggers[1:]]
    assert triggers[0] == "include_generated"
    assert list(NEEDS) == steps


# The least that sets a field; `binary` is the one flag whose false is a condition.
LEAST: dict[object, object] = {"kinds": ("added",), "binary": False, "when": "check", None: 1, (): ("x",), False: True}


@pytest.mark.parametrize("field", [field for field, role in CHECKPOINT_FIELD_ROLES.items() if role == "trigger"])
def test_a_field_configures_its_own_step_alone(field: str) -> None:
    """spec 2.1, 5.6: beside the two steps every definition has."""
    value = LEAST[field] if field in LEAST else LEAST[getattr(UNSET, field)]
    definition = attrs.evolve(UNSET, **{field: value})
    assert [name for name, configured, _ in STEPS[2:] if configured(definition)] == [field] * (field != "include_generated")
    assert [name for name, configured, _ in STEPS if configured(UNSET)] == ["generated", "selector"]


def test_a_seed_falls_back_for_every_field_of_the_registry() -> None:
    """spec 1.7, 2.1: a seed sets known fields only, and what an entry sets itself always wins."""
    for name, seed in SEEDS.items():
        assert seed.keys() <= CHECKPOINT_FIELD_ROLES.keys()
        assert with_seed(name, {}) == seed
        for field in CHECKPOINT_FIELD_ROLES:
            assert with_seed(name, {field: False})[field] is False
