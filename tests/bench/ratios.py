"""What `discern evaluate` costs over the floor: the Git commands that the contract needs, and the libraries' imports.

    python tests/bench/ratios.py [small|typical|large|monorepo|DIRECTORY]... [--rounds 9]

Builds repositories of four sizes in a temporary directory (or takes one that is there), then measures in the same rounds:

    floor    each Git command alone, one after the other, its output read to the end; and a fresh interpreter that imports the
             libraries that discern is built on, and does nothing else
    discern  `discern evaluate --format json`
    facts    collecting alone: `collect` of the library in a fresh interpreter, nothing judged, identified or written

Ratios are taken round by round and printed as min / median / max: a machine that drifts moves both sides. Processor time is
that of all processes, peak memory that of the largest. Simpler than it could be: which files the commands are asked about is what
discern itself says (the demand of spec 4.5), and the patch is read to its end, where discern stops at a budget.

The second line is collecting over the floor and, without the start-up on both sides, over the Git commands alone.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import NamedTuple

from making import ENVIRONMENT, EVALUATE, Run, Size, build, evaluate, git, measure, median, paired, room, sized

from discern.demand import demand
from discern.effects import view
from discern.effects.git import Refused
from discern.effects.opening import Opening
from discern.effects.repository import Asked
from discern.evaluation.governing import govern
from discern.patterns import Listing, flags, patterns_of
from discern.survey import Outline

SIZES = {
    "small": Size(changed=20, base=500, untracked=5, definitions=10, commits=5),
    "typical": Size(changed=200, base=5_000, untracked=20, definitions=30, commits=20),
    "large": Size(changed=5_000, base=50_000, untracked=200, definitions=100, commits=50, share=0.6),
    "monorepo": Size(changed=20_000, base=200_000, untracked=1_000, definitions=200, commits=100, share=0.15),
}
IMPORTS = "import attrs, cattrs, returns.result, toolz, json, subprocess, hashlib, tomllib"
COLLECT = "import gc, os; gc.disable(); from discern import collect; collect().unwrap(); os._exit(0)"
FLAGS = ["-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-abbrev", "--ignore-submodules=dirty"]


class Step(NamedTuple):
    """One Git command of the floor."""

    argv: list[str]
    stdin: bytes = b""
    environment: dict[str, str] = ENVIRONMENT


class Needed(NamedTuple):
    """What the contract asks of this change."""

    policy_commit: str
    attributes: list[str]
    tracked: list[view.Change]
    untracked: list[bytes]
    counted: list[view.Change]
    read: list[view.Change]
    base: bool
    history: bool


def needed(root: Path) -> Needed:
    """The change, and of which of its files more must be known, as discern has it."""
    with Opening(Asked(str(root)), os.environ) as opening:
        ground = opening.found
        assert not isinstance(ground, Refused)
        governed = govern(opening.git, ground, ())
        assert not isinstance(governed, Refused)
        assert governed.commit
        assert ground.listings
        found = view.changes(opening.git, ground.repository, ground.sealed, ground.objects, governed.commit.tree, ground.listings)
    assert not isinstance(found, str)
    listing = Listing(change.path.decode("utf-8", "surrogateescape") for change in found)
    generated = listing.mask_any(patterns_of(governed.policy.generated))
    wanted = demand(governed.definitions, Outline(listing, [change.kind for change in found], generated))
    files = list(zip(found, flags(wanted.content, len(found)), flags(wanted.lines | wanted.binary, len(found)), strict=True))
    commit = governed.commit.commit
    return Needed(
        commit,
        [path for path in git(root, "ls-tree", "-r", "--name-only", commit).splitlines() if path.endswith(".gitattributes")],
        [change for change in found if not change.untracked],
        [change.path for change in found if change.untracked and (root / os.fsdecode(change.path)).is_file()],
        [change for change, read, counted in files if counted and not read and not change.untracked],
        [change for change, read, _ in files if read and not change.untracked],
        wanted.base,
        wanted.history,
    )


def floor(root: Path, aside: Path) -> list[Step]:
    """The commands, in their order. Questions about content go to a directory aside, which nobody has configured."""
    ask = needed(root)
    subprocess.run(["git", "init", "-q", "--bare", str(aside)], env=ENVIRONMENT, check=True)
    ours = ENVIRONMENT | {"GIT_DIR": str(aside), "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(root / ".git/objects")}
    index = {"GIT_INDEX_FILE": str(root / ".git/index")}
    names = "".join(f"{ask.policy_commit}:{path}\n" for path in ("discern.toml", *ask.attributes)).encode()
    steps = [
        Step(["git", "for-each-ref", "refs/heads/main", "refs/heads/master", "refs/remotes/origin"]),
        Step(["git", "rev-parse", "--show-toplevel", "--git-dir", "--git-common-dir", "HEAD", "main...HEAD"]),
        Step(["git", "cat-file", "--batch"], names),
        Step(["git", "diff-index", "--cached", "--raw", *FLAGS, ask.policy_commit], environment=ours | index),
        Step(["git", "diff-files", "--raw", *FLAGS]),
        Step(["git", "ls-files", "-z", "-v", "--cached", "--others", "--exclude-standard"]),
    ]
    if ask.base:
        steps.append(Step(["git", "ls-tree", "-r", "-z", "--name-only", ask.policy_commit]))
    if ask.history:
        steps.append(Step(["git", "rev-list", "--reverse", "--topo-order", f"{ask.policy_commit}..HEAD"]))
    if ask.untracked:
        steps.append(Step(["git", "hash-object", "--stdin-paths"], b"\n".join(ask.untracked) + b"\n"))
    if ask.attributes:
        paths = b"".join(change.path + b"\0" for change in ask.tracked)
        steps.append(Step(["git", "check-attr", "-z", "--stdin", "diff"], paths))
    for options, files in ((["--numstat"], ask.counted), (["--numstat", "-p", "-U0"], ask.read)):
        if files:
            trees = [made_up(ours, files, side) for side in ("base", "current")]
            steps.append(Step(["git", "diff-tree", *options, *FLAGS, *trees], b"", ours))
    return steps


def made_up(environment: dict[str, str], files: list[view.Change], side: str) -> str:
    """A tree of one side of these files, named by number: comparing two such is far cheaper than naming the paths to a diff."""
    rows = []
    for number, change in enumerate(files):
        entry = getattr(change, side)
        if entry is not None and entry.mode != view.GITLINK:
            rows.append(f"{entry.mode} blob {entry.oid}\t{number:08d}\0")
    rows_in = "".join(rows).encode()
    made = subprocess.run(["git", "mktree", "-z"], input=rows_in, env=environment, check=True, stdout=subprocess.PIPE)
    return made.stdout.decode().strip()


def together(runs: list[Run]) -> Run:
    """One after the other."""
    wall, cpu, mib = sum(run.wall for run in runs), sum(run.cpu for run in runs), max(run.mib for run in runs)
    return Run(wall, cpu, mib, b"", max(abs(run.status) for run in runs))


def processes(root: Path) -> int:
    """How many Git processes one evaluation starts."""
    told = subprocess.run([*EVALUATE, "-v"], cwd=root, env=ENVIRONMENT, capture_output=True, check=False).stderr
    return len(re.findall(rb"(?m)^git ", told))


def compare(name: str, root: Path, rounds: int) -> None:
    """Measure and print a row."""
    with room() as folder:
        steps = floor(root, folder / "aside")
        work = (
            lambda: together([measure(step.argv, root, step.environment, step.stdin) for step in steps]),
            lambda: measure([EVALUATE[0], "-c", IMPORTS], folder),
            lambda: evaluate(root)._replace(output=b""),  # kept, it would be counted to the next process
            lambda: measure([EVALUATE[0], "-P", "-c", COLLECT], root),
        )
        found = [(together([low, start]), low, start, high, facts) for low, start, high, facts in paired(work, rounds)]
    if any(floor.status or facts.status for floor, *_, facts in found):
        raise SystemExit(f"{name}: a command of the floor failed, or collecting did")
    wall, cpu = ([getattr(high, what) / getattr(floor, what) for floor, _, _, high, _ in found] for what in ("wall", "cpu"))
    lowest, ours = ([median([getattr(runs[n], what) for runs in found]) * 1000 for what in ("wall", "cpu")] for n in (0, 3))
    print(
        f"{name:10} {spread(wall)}   {spread(cpu)} {max(high.mib for _, _, _, high, _ in found):6.0f} {processes(root):5}"
        f"   floor {lowest[0]:.0f} ms, CPU {lowest[1]:.0f}; discern {ours[0]:.0f} ms, CPU {ours[1]:.0f}"
    )
    wall, cpu = ([getattr(facts, what) / getattr(floor, what) for floor, *_, facts in found] for what in ("wall", "cpu"))
    without = [
        [(getattr(facts, what) - getattr(start, what)) / getattr(low, what) for _, low, start, _, facts in found]
        for what in ("wall", "cpu")
    ]
    print(
        f"{'  facts':10} {spread(wall)}   {spread(cpu)}   over Git alone: wall {spread(without[0])}, CPU {spread(without[1])}",
        flush=True,
    )


def spread(values: list[float]) -> str:
    """Min / median / max."""
    return " / ".join(f"{value:.2f}" for value in (min(values), median(values), max(values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=list(SIZES), help="a size, or a repository that is there")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"{git(Path(), 'version')}, {os.cpu_count()} processors, {options.rounds} rounds; ratios: min / median / max")
    print(f"{'':10} {'wall':18}   {'CPU':18} {'MiB':>6} {'Git':>5}")
    for name in options.what:
        if name not in SIZES:
            compare(Path(name).name, Path(name).resolve(), options.rounds)
            continue
        with room() as folder:
            build(folder / "r", partial(sized, SIZES[name]))
            compare(name, folder / "r", options.rounds)


if __name__ == "__main__":
    main()
