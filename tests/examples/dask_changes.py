"""Judge thousands of changes on a Dask cluster: `dask_changes.py COUNT`. Needs `distributed`, and nothing of discern's for it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from dask.distributed import Client, LocalCluster
from toolz import partition_all

from discern import ChangedFile, Content, Definition, Facts, Lines, judge_all, load_policy

POLICY = b"""
[checkpoints.sleep]
paths = ["*.py"]
adds_matching = ["sleep("]
question = "Is there nothing better to wait for?"

[checkpoints.sprawl]
min_changed_files = 4
question = "Is this one change?"
"""
BATCH = 500  # changes a task: a judgement takes microseconds, sending a task takes milliseconds


def changes(count: int) -> Iterator[Facts]:
    """Changes of 1 to 5 files; every seventh sleeps."""
    for number in range(count):
        lines = [b"    sleep(1)" if number % 7 == 0 else b"    work()"]
        yield Facts.of(
            ChangedFile(f"src/{place}.py", "modified", binary=False, lines=Lines(1, 0), content=Content.of(lines))
            for place in range(1 + number % 5)
        )


def outcomes(definitions: Sequence[Definition], batch: Sequence[Facts]) -> Counter[tuple[str, str]]:
    """How often each checkpoint came to each outcome."""
    return Counter((one.id, one.outcome) for facts in batch for one in judge_all(definitions, facts))


def main(count: int) -> None:
    definitions = load_policy(POLICY).unwrap().definitions
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        # Not `pure` in Dask's sense, which means: do not hash every record to find out whether it was judged before.
        tasks = client.map(partial(outcomes, definitions), list(partition_all(BATCH, changes(count))), pure=False)
        total: Counter[tuple[str, str]] = sum(client.gather(tasks), Counter())
    for (identity, outcome), number in sorted(total.items()):
        print(f"{identity}: {outcome} {number}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
