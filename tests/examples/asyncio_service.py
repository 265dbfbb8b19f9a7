"""Evaluate worktrees from an asyncio service, each within some seconds: `asyncio_service.py SECONDS DIRECTORY…`."""

from __future__ import annotations

import asyncio
import sys
import threading

from returns.pipeline import is_successful

from discern import Refused, Result, evaluate


async def evaluate_within(seconds: float, place: str) -> Result | Refused:
    """The result. A `when` command that still runs after so long is ended, and its checkpoint says `when_cancelled`."""
    cancel = threading.Event()
    evaluation = asyncio.create_task(asyncio.to_thread(evaluate, place, cancel=cancel))
    try:
        await asyncio.wait([evaluation], timeout=seconds)
    finally:
        cancel.set()  # also when the service itself is told to stop: the thread then ends at once
    found = await evaluation
    return found.unwrap() if is_successful(found) else found.failure()


async def serve(seconds: float, places: list[str]) -> None:
    for place, answer in zip(places, await asyncio.gather(*(evaluate_within(seconds, place) for place in places)), strict=True):
        match answer:
            case Refused(message):
                print(f"{place}: not evaluated, {message}")
            case Result(checkpoints=judgements):
                for one in judgements:
                    drop = one.evaluation.drop
                    print(f"{place}: {one.definition.id} {one.evaluation.outcome}{f' ({drop.reason})' if drop else ''}")


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), sys.argv[2:]))
