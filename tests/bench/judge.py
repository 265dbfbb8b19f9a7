"""How long judging takes: 200 definitions over 20,000 changed files and a base tree of 200,000 paths.

    python tests/bench/judge.py [--definitions 200] [--changed 20000] [--base 200000] [--rounds 3]

Prints milliseconds, the best of the rounds: demand, survey and verdicts with their traces, and the slowest definitions. The facts
are there before.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from discern.definitions import Definition
from discern.demand import demand
from discern.facts import BaseTree, ChangedFile, Content, Facts, History, Lines
from discern.pipeline import judge
from discern.survey import Survey
from discern.vocabulary import KINDS

Value = TypeVar("Value")
AREAS = ("api", "core", "jobs", "ui", "store", "auth")
ENDINGS = (".py", ".go", ".ts", ".view.ts", ".sql", ".md")
WORDS = ("TODO", "eval(", "password", "subprocess.", "@deprecated", "FIXME", "import ", "assert ", "# noqa", "never there")


def path_of(number: int, ending: str = "") -> str:
    """One path of a tree with 400 services; every fortieth is generated."""
    area, kind = AREAS[number % 6], "gen" if number % 40 == 0 else "src" if number % 3 else "tests"
    return f"services/svc{number % 397:03d}/{kind}/{area}/module{number // 397}{ending}{ENDINGS[number % 6]}"


def changed_file(number: int, base: int, rng: random.Random) -> ChangedFile:
    """Seven of ten are modified, two added (some beside a similar sibling, some in a new directory), one deleted."""
    roll = number % 10
    path = path_of(number * 7 % base)
    if roll in (7, 8):
        path = path_of(number * 7 % base, "_v2") if roll == 7 else f"services/new{number % 50}/deep/{number}.py"
    kind = KINDS[0] if roll in (7, 8) else KINDS[2] if roll == 9 else KINDS[1]
    binary = number % 33 == 0
    text = tuple(f"{rng.choice(WORDS[:9]) if rng.random() < 0.03 else 'value'} = {number}".encode() for _ in range(3))
    return ChangedFile(
        path=path,
        kind=kind,
        generated="/gen/" in path,
        binary=binary,
        lines=Lines(0, 0) if binary else Lines(8, 4),
        content=Content.of() if binary else Content.of(text[:2], text[2:]),
    )


def made_facts(changed: int, base: int) -> Facts:
    """The same facts every time."""
    rng = random.Random(7)
    files = {change.path: change for change in (changed_file(number, base, rng) for number in range(changed))}
    tree = sorted({path_of(number) for number in range(base)})
    return Facts.of(
        files.values(),
        base=BaseTree(tuple(tree), frozenset(path for path in tree if "/gen/" in path)),
        history=History(tuple(f"{n:040x}" for n in range(100))),
    )


def fields_of(number: int) -> dict[str, Any]:
    """Twenty kinds of definition, no two of the same patterns."""
    service, area = f"services/svc{number % 397:03d}", AREAS[number % 6]
    shapes: tuple[dict[str, Any], ...] = (
        {"paths": ("services/",), "min_changed_files": 3 + number},
        {
            "paths": (f"services/svc{number // 10:02d}?/**/*.py", f"{service}/**"),
            "adds_matching": WORDS[number % 5 : number % 5 + 4],
        },
        {"kinds": ("added",), "new_directory": True},
        {"kinds": ("added",), "new_directory": True, "exclude_paths": (f"{service}/", f"services/*/{area}/**")},
        {"similar_new_file": True},
        {"similar_new_file": True, "paths": ("services/**",), "exclude_paths": (f"{service}/", "*.md", f"**/module{number}*")},
        {"paths": ("services/**/*.{ts,go}",), "removes_matching": WORDS[number % 7 :]},
        {"kinds": ("added", "modified"), "binary": True, "exclude_paths": ("docs/**",)},
        {"paths": (f"{service}/src/**",), "unless_changed": (f"{service}/tests/**", "docs/")},
        {"paths": (f"{service}/**",), "deletion_dominant": True},
        {"paths": (f"{service}/**",), "min_changed_lines": 10 + number},
        {"paths": ("/tests/", "/assets/"), "kinds": ("deleted",)},
        {"paths": ("*.view.ts", "*.md")},
        {"paths": tuple(path_of(37 * number + n) for n in range(3))},
        {"min_changed_files": 5, "min_changed_lines": 100 + number, "include_generated": True},
        {"exclude_paths": ("/tests/", "*.sql", f"services/svc0{number % 10}?/**")},
        {"paths": (f"services/*/gen/{area}/*",), "include_generated": True, "min_commits": 50},
        {"paths": tuple(f"services/svc{n:03d}/**/{area}/**" for n in range(number % 40, number % 40 + 20)), "binary": False},
        {"adds_matching": WORDS, "removes_matching": WORDS[:6], "kinds": ("modified",)},
        {"when": "sh check.sh", "paths": ("services/**",)},
    )
    return shapes[number % len(shapes)]


def timed(work: Callable[[], Value], rounds: int) -> tuple[float, Value]:
    """The best of the rounds in milliseconds, and what came of the last."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        best = min(best, (time.perf_counter() - start) * 1000)
    return best, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("definitions", 200), ("changed", 20_000), ("base", 200_000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    facts = made_facts(options.changed, options.base)
    definitions = [
        Definition(id=f"p{n:03d}", question="Is this change right?", **fields_of(n)) for n in range(options.definitions)
    ]

    def evaluations() -> list[tuple[float, str, str]]:
        survey = Survey(facts)
        timings: list[tuple[float, str, str]] = []
        for definition in definitions:
            start = time.perf_counter()
            evaluation = judge(definition, survey)
            timings.append(((time.perf_counter() - start) * 1000, definition.id, evaluation.outcome))
        return timings

    whole, timings = timed(evaluations, options.rounds)
    survey_only, survey = timed(lambda: Survey(facts), options.rounds)
    again, _ = timed(lambda: [judge(definition, survey) for definition in definitions], options.rounds)
    asked, _ = timed(lambda: demand(definitions, Survey(facts)), options.rounds)
    outcomes = {name: sum(outcome == name for _, _, outcome in timings) for name in ("fired", "vetoed", "dropped", "undecided")}
    print(f"{len(facts.changes):,} files, {options.base:,} base paths, {outcomes}")
    print(
        f"demand {asked:.0f} ms, survey {survey_only:.0f} ms, survey and verdicts {whole:.0f} ms, verdicts again {again:.0f} ms"
    )
    for milliseconds, name, outcome in sorted(timings, reverse=True)[:8]:
        print(f"  {name} {milliseconds:.1f} ms {outcome}")


if __name__ == "__main__":
    main()
