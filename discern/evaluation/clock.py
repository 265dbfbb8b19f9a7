"""What took time, for `-v`: never part of a result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds by part of the work."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, float]] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time one part."""
        began = time.perf_counter()
        yield
        self.parts.append((name, time.perf_counter() - began))
