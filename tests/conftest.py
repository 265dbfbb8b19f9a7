"""Fixtures for tests that need a real repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.repositories import EVERYTHING, Repo, begin

Start = Callable[..., Repo]


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
