"""Evaluate many worktrees, several at a time, each in a process of a pool: `evaluate_many.py DIRECTORY…`."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from returns.pipeline import is_successful

from discern import evaluate


def main(places: list[str]) -> None:
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        # Arguments and answers are plain records, so they travel between processes as they are.
        for place, found in zip(places, pool.map(partial(evaluate, dry_run=True), places), strict=True):
            if is_successful(found):
                result = found.unwrap()
                fired = [one.definition.id for one in result.checkpoints if one.evaluation.outcome == "fired"]
                print(f"{place}: {'blocked' if result.blocking else 'not blocked'} {' '.join(fired)}".rstrip())
            else:
                print(f"{place}: not evaluated, {found.failure().message}")


if __name__ == "__main__":
    main(sys.argv[1:])
