"""Which facts are collected, and of which files (spec 4.5, 4.9, 4.10)."""

from functools import partial

import pytest

from discern.definitions import Definition
from discern.demand import Demand, demand, needs
from discern.patterns import Listing, mask_of
from discern.survey import Outline
from discern.vocabulary import Kind

asked = partial(Definition, id="p", question="Is this change right?")

KINDS: dict[str, Kind] = {"gen/g": "added", "lib/a": "added", "lib/b": "modified", "lib/c": "deleted", "top": "modified"}
OUTLINE = Outline(Listing(KINDS), list(KINDS.values()), mask_of(path.startswith("gen/") for path in KINDS))


def demanded(*definitions: Definition) -> dict[str, object]:
    found = demand(definitions, OUTLINE)
    return {
        "content": OUTLINE.listing.pick(found.content),
        "binary": OUTLINE.listing.pick(found.binary),
        "lines": OUTLINE.listing.pick(found.lines),
        "base": found.base,
        "history": found.history,
    }


NOTHING = {"content": (), "binary": (), "lines": (), "base": False, "history": False}
AUTHORED = ("lib/a", "lib/b", "lib/c", "top")


@pytest.mark.parametrize(
    ("definition", "wanted"),
    [
        (asked(), {}),
        (asked(kinds=("added",), exclude_paths=("top",), unless_changed=("x",), min_changed_files=2), {}),
        (asked(adds_matching=("x",)), {"content": AUTHORED}),
        (asked(removes_matching=("x",)), {"content": AUTHORED}),
        (asked(binary=True), {"binary": AUTHORED}),
        (asked(binary=False), {"binary": AUTHORED}),
        (asked(min_changed_lines=1), {"lines": AUTHORED}),
        (asked(deletion_dominant=True), {"lines": AUTHORED}),
        (asked(new_directory=True), {"base": True}),
        (asked(similar_new_file=True), {"base": True}),
        (asked(min_commits=1), {"history": True}),
        (asked(when="check"), {"binary": AUTHORED, "lines": AUTHORED, "history": True}),
    ],
)
def test_each_field_asks_for_its_own_facts(definition: Definition, wanted: dict[str, object]) -> None:
    """spec 4.5, 4.9, 4.10: nothing is collected that no definition can ask for."""
    assert demanded(definition) == NOTHING | wanted


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"include_generated": True}, ("gen/g", *AUTHORED)),
        ({"paths": ("lib/**",)}, ("lib/a", "lib/b", "lib/c")),
        ({"paths": ("gen/**",)}, ()),
        ({"paths": ()}, ()),
        ({"exclude_paths": ("lib/",)}, ("top",)),
        ({"kinds": ("deleted", "added")}, ("lib/a", "lib/c")),
        ({"paths": ("lib/**",), "exclude_paths": ("lib/a",), "kinds": ("modified",)}, ("lib/b",)),
        ({"new_directory": True, "min_changed_files": 99, "unless_changed": ("top",)}, AUTHORED),
    ],
)
def test_facts_are_wanted_of_what_the_listing_steps_leave(fields: dict[str, object], wanted: tuple[str, ...]) -> None:
    """spec 4.5: after generated, selector, `exclude_paths` and `kinds`; no later step narrows the demand."""
    base = bool(fields.get("new_directory"))
    assert demanded(asked(adds_matching=("x",), **fields)) == NOTHING | {"content": wanted, "base": base}
    assert demanded(asked(binary=True, **fields)) == NOTHING | {"binary": wanted, "base": base}
    assert demanded(asked(deletion_dominant=True, **fields)) == NOTHING | {"lines": wanted, "base": base}


def test_the_demands_of_all_definitions_are_joined() -> None:
    """spec 4.5: files that some definition can still be looking at."""
    definitions = (
        asked(paths=("lib/a",), adds_matching=("x",)),
        asked(paths=("top",), removes_matching=("x",), binary=True),
        asked(paths=("lib/**",), kinds=("deleted",), min_changed_lines=1),
        asked(min_commits=1),
    )
    wanted = {"content": ("lib/a", "top"), "binary": ("top",), "lines": ("lib/c",), "history": True}
    assert demanded(*definitions) == NOTHING | wanted


def test_no_definition_demands_nothing() -> None:
    """spec 4.5: without definitions no fact is needed."""
    assert demand([], OUTLINE) == Demand(content=0, binary=0, lines=0, base=False, history=False)


def test_what_a_definition_needs_is_known_before_the_listing() -> None:
    """spec 4.9, 4.10: base tree and history can be asked for while the change is still being listed."""
    assert needs(asked(similar_new_file=True, when="check")) == {"base", "binary", "lines", "history"}
