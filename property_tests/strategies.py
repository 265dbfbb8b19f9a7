"""Definitions and facts that meet: few names, few lines, few patterns, so that steps narrow, stop and drop often."""

from __future__ import annotations

from typing import Any, TypeVar

from hypothesis import strategies as st

from discern.definitions import Definition
from discern.facts import NOT_COLLECTED, BaseTree, ChangedFile, Content, Facts, History, Lines, Unavailable
from discern.vocabulary import BASE_REASONS, FILE_REASONS, HISTORY_REASONS, KINDS

Value = TypeVar("Value")


def seldom(values: st.SearchStrategy[Value], otherwise: Value) -> st.SearchStrategy[Value]:
    """`otherwise` for three of four: with a score of fields, a definition that sets them all at random holds for nothing."""
    return st.sampled_from((False, False, False, True)).flatmap(lambda drawn: values if drawn else st.just(otherwise))


def _path(directory: str, stem: str, ending: str, extension: str) -> str:
    return f"{directory}{stem}{ending}{extension}"


paths = st.builds(
    _path,
    st.sampled_from(("", "", "a/", "a/", "a/b/", "gen/", "new/", "é/", ".d/", "\udcff/")),
    st.sampled_from(("x", "x", "X", "y", ".y", "é", "\udce9", "_")),
    st.sampled_from(("", "", "_v2", "-copy", "2", ".old")),
    st.sampled_from(("", ".c", ".c", ".py")),
)
patterns = st.sampled_from(
    ("a/**", "/b/", "*.c", "*.py", "new/", "**/x*", "*", "a/[w-y]*.{c,py}", "a/x.c", "x.c", "gen/**", "é/", "", "none/**")
)
selectors = st.lists(st.sampled_from(("/**", "**/[!_]*", "a/", "*.c")) | patterns, max_size=3, unique=True).map(tuple)
lines = st.sampled_from((b"", b"new", b"old", b"old and new", b"TODO", b"caf\xc3\xa9", b"\xff new", b"+++ b/x", b"ne", b"w"))
content_patterns = st.sampled_from(("new", "new", "old", "TODO", "é", "w", "+++ ", "never"))
sides = st.lists(lines, max_size=4)

lost_file_facts = st.sampled_from(FILE_REASONS).map(Unavailable)
contents = st.builds(Content.of, sides, sides)
counts = st.builds(Lines, st.integers(0, 40), st.integers(0, 90))


def is_generated(path: str) -> bool:
    """What `[generated]` says in these facts, of changed files and base tree alike."""
    return "gen/" in path


@st.composite
def changed_files(draw: st.DrawFn, loss: bool = True) -> ChangedFile:
    """One changed file; its facts are its own, and with `loss` some are not to be had."""
    path = draw(paths)
    lost = seldom(lost_file_facts | st.just(NOT_COLLECTED), None) if loss else st.none()
    return ChangedFile(
        path=path,
        kind=draw(st.sampled_from(KINDS)),
        generated=is_generated(path),
        binary=draw(lost) or draw(st.booleans()),
        lines=draw(lost) or draw(counts),
        content=draw(lost) or draw(contents),
    )


def base_trees() -> st.SearchStrategy[BaseTree]:
    """Base trees of a few paths."""
    return st.lists(paths, max_size=12, unique=True).map(
        lambda tree: BaseTree(tuple(tree), frozenset(path for path in tree if is_generated(path)))
    )


@st.composite
def facts(draw: st.DrawFn, loss: bool = True) -> Facts:
    """The facts of a change; with `loss`, each may be missing."""
    rarely_lost = seldom(st.just(loss), False)
    least = draw(st.sampled_from((4, 4, 1, 0)))
    changes = draw(
        st.lists(rarely_lost.flatmap(changed_files), min_size=least, max_size=least + 4, unique_by=lambda change: change.path)
    )
    base_lost = st.sampled_from(BASE_REASONS).map(Unavailable) | st.just(NOT_COLLECTED)
    history_lost = st.sampled_from(HISTORY_REASONS).map(Unavailable) | st.just(NOT_COLLECTED)
    commits = st.integers(0, 4).map(lambda count: History(tuple(f"{n:040x}" for n in range(count))))
    return Facts.of(
        changes,
        base=draw(base_lost) if draw(rarely_lost) else draw(base_trees()),
        history=draw(history_lost) if draw(rarely_lost) else draw(commits),
    )


def _some(values: st.SearchStrategy[Value], most: int = 3) -> st.SearchStrategy[tuple[Value, ...]]:
    return st.lists(values, min_size=1, max_size=most, unique=True).map(tuple)


# What a field can be set to: never its unset value.
set_fields: dict[str, st.SearchStrategy[Any]] = {
    "paths": selectors,
    "include_generated": st.just(True),
    "exclude_paths": _some(patterns, 1),
    "kinds": _some(st.sampled_from(KINDS), 2),
    "adds_matching": _some(content_patterns),
    "removes_matching": _some(content_patterns),
    "new_directory": st.just(True),
    "binary": st.booleans(),
    "similar_new_file": st.just(True),
    "unless_changed": _some(patterns, 1),
    "min_changed_files": st.integers(1, 4),
    "min_changed_lines": st.integers(1, 120),
    "deletion_dominant": st.just(True),
    "min_commits": st.integers(1, 4),
    "when": st.just("check"),
}
UNSET = Definition(id="p", question="Is this change right?")


@st.composite
def definitions(draw: st.DrawFn, without: frozenset[str] = frozenset()) -> Definition:
    """A definition with some trigger fields set, none of `without`."""
    fields = {field: draw(seldom(values, getattr(UNSET, field))) for field, values in set_fields.items() if field not in without}
    return Definition(id="p", question="Is this change right?", **fields)
