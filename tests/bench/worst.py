"""What a hostile branch can build, and what it costs: time and memory of one evaluation each.

    python tests/bench/worst.py [CASE...]

Prints wall-clock and processor time in seconds, peak memory of the largest process in MiB, the size of the result and what was
found. Nothing here is a test: the bounds stand in the contract (spec 4.6, 5.3); what is looked for is time that grows faster than
the branch does.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from making import Change, build, evaluate, room

EVERY_FACT: tuple[dict[str, Any], ...] = (
    {"adds_matching": ["needle"]},
    {"similar_new_file": True},
    {"new_directory": True, "exclude_paths": ["*.md"]},
    {"binary": True},
    {"min_changed_lines": 1},
    {"min_commits": 1, "paths": ["/src/", "**/*.py"]},
)


def policy(*definitions: dict[str, Any]) -> str:
    """A discern.toml of these definitions."""
    sections = []
    for number, fields in enumerate(definitions):
        values = {name: str(value).lower() if isinstance(value, bool) else value for name, value in fields.items()}
        lines = "\n".join(f"{name} = {value}" for name, value in values.items())
        sections.append(f'[checkpoints.c{number}]\n{lines}\nquestion = "Well?"\n')
    return "\n".join(sections)


def untracked_files() -> Change:
    """100,000 untracked files."""
    return Change(policy(*EVERY_FACT), {"a": b""}, [{"b": b""}], {f"d{n % 100}/{n}.py": b"x\n" for n in range(100_000)})


def one_directory() -> Change:
    """One directory with 50,000 entries, half of them new."""
    names = [f"src/{n}name.py" for n in range(50_000)]
    return Change(policy(*EVERY_FACT), dict.fromkeys(names[::2], b"x\n"), [dict.fromkeys(names[1::2], b"y\n")])


def long_paths() -> Change:
    """400 tracked and 400 untracked paths of 4,000 bytes, no two in one folder."""
    tracked, untracked = ({f"{kind}/{'a/' * 1990}{n:05d}/{n}.py": b"x\n" for n in range(400)} for kind in ("t", "u"))
    return Change(policy(*EVERY_FACT), {"a": b""}, [tracked], untracked)


def tiny_candidates() -> Change:
    """10,000 content candidates of one line."""
    return Change(policy(*EVERY_FACT), {"a": b""}, [{f"d{n % 100}/{n}.py": b"%d\n" % n for n in range(10_000)}])


def empty_lines() -> Change:
    """65,536 empty lines in 64 files, as many as are admitted."""
    return Change(policy(*EVERY_FACT), {"a": b""}, [{f"{n}.py": b"\n" * 1024 for n in range(64)}])


def almost_everywhere() -> Change:
    """2 MiB, and 16 + 16 patterns that match nowhere but nearly so at every byte: comparison work at its limit."""
    patterns = [["a" * (60 + n) + "b" + "a" * (60 - n) for n in range(start, start + 16)] for start in (0, 16)]
    line = b"a" * 8191 + b"\n"
    fields = {"adds_matching": patterns[0], "removes_matching": patterns[1]}
    base = {f"{n}.txt": line * 16 for n in range(8)}
    return Change(policy(fields), base, [{path: line.replace(b"a\n", b"c\n") * 16 for path in base}])


def many_stars() -> Change:
    """Globs with many stars, against 2,000 long paths that nearly match."""
    globs = ["*a" * 30 + "b", "**/" + "*a" * 60 + "*b", "**/a/" * 30 + "b", "**/*a*/" * 20 + "b", "**/[!b]*a?" + "*a" * 20 + "c"]
    definitions = [{"paths": [glob]} for glob in globs] + [{"min_changed_files": 1, "unless_changed": globs}]
    deep = {f"{'aaaaaaaaaa/' * 60}{'a' * 200}{n}": b"x\n" for n in range(1000)}
    return Change(policy(*definitions), {"a": b""}, [deep | {f"{'a/' * 400}{'a' * 200}{n}": b"x\n" for n in range(1000)}])


def near_alike() -> Change:
    """2,000 files of one normal form, and 500 new ones beside them: a million similar siblings."""
    base = {f"src/case_{n}.py": b"x\n" for n in range(2000)}
    return Change(policy({"similar_new_file": True}), base, [{f"src/case_{n}_copy.py": b"y\n" for n in range(500)}])


def many_alike() -> Change:
    """50,000 new files, each beside one that it resembles, and 200 definitions that ask for such."""
    base = {f"d{n % 500}/f{n}x.py": b"x\n" for n in range(50_000)}
    asked = [{"similar_new_file": True, "paths": [f"d{n}/**"], "exclude_paths": [f"d{n}7/**"]} for n in range(200)]
    return Change(policy(*asked), base, [{path.replace(".py", "_copy.py"): b"y\n" for path in base}])


def distinct_exclusions() -> Change:
    """200 definitions that each exclude other paths from a base tree of 50,000, and 5,000 new files in 5,000 nested folders."""
    base = {f"src/{n % 50}/{n % 5000}/{n}.py": b"x\n" for n in range(50_000)}
    asked = [{"new_directory": True, "exclude_paths": ["/src/", f"{n}/**"]} for n in range(200)]
    return Change(policy(*asked), base, [{f"src/{n % 50}/{n % 5000}/new{n}.py": b"y\n" for n in range(5000)}])


def deep_braces() -> Change:
    """Patterns of 900 nested braces and of 1,000 alternatives, as many as may be, 50 of each kind, against 20,000 paths."""
    nested = "{a," * 900 + "b" + "}" * 900
    wide = "{" + ",".join(f"d{n % 100}/{n}*.py" for n in range(1_000)) + "}"
    mixed = "**/{a,b,c,d,e,f,g,h,i,j}{0,1,2,3,4,5,6,7,8,9}{0,1,2,3,4,5,6,7,8,9}*/x"
    asked = [{"paths": [glob]} for glob in (nested, wide, mixed)]
    asked += [{"paths": [f"x{n}" + nested, f"y{n}/" + wide, f"z{n}*/" + mixed]} for n in range(50)]
    return Change(policy(*asked), {"a": b""}, [{f"d{n % 100}/{n}.py": b"x\n" for n in range(20_000)}])


def attribute_files() -> Change:
    """500 `.gitattributes` files of 100 lines each over 5,000 changed files."""
    base = {f"d{n}/.gitattributes": b"".join(b"*%d?.p[xy] -diff\n" % k for k in range(100)) for n in range(500)}
    return Change(policy(*EVERY_FACT), base, [{f"d{n % 500}/{n}.py": b"x\n" for n in range(5000)}])


def large_policy() -> Change:
    """A discern.toml of 1 MiB: some 9,000 definitions, and 1,000 changed files."""
    text = policy(*({"paths": [f"**/d{n}/*[0-9].py"], "mode": '"advise"'} for n in range(9_000)))
    text = text[: (1 << 20) - 100].rpartition("\n\n")[0] + "\n"
    return Change(text, {"a": b""}, [{f"d{n}/{n}.py": b"x\n" for n in range(1000)}])


CASES: tuple[Callable[[], Change], ...] = (
    untracked_files, one_directory, long_paths, tiny_candidates, empty_lines, almost_everywhere, many_stars, near_alike,
    many_alike, distinct_exclusions, deep_braces, attribute_files, large_policy,
)  # fmt: skip


def main() -> None:
    print(f"{'':20}{'wall s':>8}{'CPU s':>8}{'MiB':>6}{'result MB':>11}")
    for case in CASES:
        if sys.argv[1:] and case.__name__ not in sys.argv[1:]:
            continue
        with room() as folder:
            build(folder / "r", case)
            run = evaluate(folder / "r")
        figures = f"{run.wall:8.2f}{run.cpu:8.2f}{run.mib:6.0f}{len(run.output) / 1e6:11.2f}"
        print(f"{case.__name__:20}{figures}   {outcomes(run.output)}", flush=True)


def outcomes(output: bytes) -> str:
    """How many of each outcome, and the drops: what was found, so that nothing is fast because it failed."""
    document = json.loads(output)
    drops = {f"{drop['reason']} {drop['detail'] or ''}".strip() for drop in document["drops"]}
    counts = Counter(checkpoint["outcome"] for checkpoint in document["checkpoints"])
    return ", ".join([*(f"{count} {outcome}" for outcome, count in counts.items()), *sorted(drops)])


if __name__ == "__main__":
    main()
