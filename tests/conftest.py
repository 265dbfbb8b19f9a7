"""Fixtures for tests that need a real repository."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.repositories import EVERYTHING, Repo, begin

Start = Callable[..., Repo]


@pytest.fixture(scope="session", autouse=True)
def signals_take_their_course() -> Iterator[None]:
    """Started in the background or by nohup, the tests would ignore signals, and so would every process that they start."""
    courses = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, course) for number, course in courses.items()}
    yield
    for number, course in before.items():
        signal.signal(number, course)


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """`start(files, policy=…, name=…, options=…)`: a repository on a branch `work`, whose trunk has the policy and the files."""

    def made(
        files: Mapping[str, str | bytes] | None = None,
        *,
        policy: str = EVERYTHING,
        name: str = "one",
        options: tuple[str, ...] = (),
    ) -> Repo:
        return begin(tmp_path / name, policy, files, options=options)

    return made
