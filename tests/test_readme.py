"""The README is true: its commands, its examples with their output, the fields and the places it names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from discern.vocabulary import CHECKPOINT_FIELD_ROLES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = [(match[1], match[2]) for match in re.finditer(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)]


def blocks(language):
    return [text for name, text in BLOCKS if name == language]


class Shown(NamedTuple):
    """A command of a console block and the output that the README shows for it."""

    command: str
    output: str


def console(text):
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return [Shown(command, output) for command, output in zip(parts[1::2], parts[2::2], strict=True)]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """The repository of the example: the policy on the trunk, a branch checked out, fixed dates, nobody's configuration."""
    home = tmp_path_factory.mktemp("readme")
    program = home / "bin" / "discern"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m discern "$@"\n')
    program.chmod(0o755)
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "example"), ("EMAIL", "e@example.com"))
        },
        **{f"GIT_{who}_DATE": "2024-01-01T12:00:00Z" for who in ("AUTHOR", "COMMITTER")},
    }
    place = home / "shop"
    place.mkdir()
    (place / "discern.toml").write_text(blocks("toml")[0])
    (place / "requirements.txt").write_text("requests==2.32.3\n")
    begin = "git init -q -b main && git add -A && git commit -q -m Begin && git checkout -q -b topic"
    subprocess.run(["sh", "-c", begin], cwd=place, env=environment, check=True, timeout=60)

    (place / ".git" / "info" / "exclude").write_text("/case.json\n")
    (place / "case.json").write_text(blocks("json")[0])

    def said(command):
        run = subprocess.run(
            ["sh", "-c", command], cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
        )
        return run.stdout.decode()

    return said


def test_each_example_gives_what_is_shown(repository):
    """The console blocks, run in order in one repository, print exactly what the README says."""
    shown = [one for text in blocks("console") for one in console(text)]
    assert len(shown) >= 5
    for one in shown:
        assert repository(one.command) == one.output, one.command


def test_the_library_example_runs(repository):
    """The Python block prints what the text block after it shows."""
    (source,), (output,) = blocks("python"), blocks("text")
    assert repository(f"{sys.executable} -P - <<'END'\n{source}END\n") == output


def test_the_two_commands_are_one_line_each():
    """The first installs and runs the main job, the second installs and passes the tests; .ci/run takes them from here."""
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert blocks("sh") == [f"{line}\n" for line in lines]
    assert [line.rsplit(" && ", 1)[1].split()[:3] for line in lines] == [
        [".venv/bin/python", "-m", "discern"],
        [".venv/bin/python", "-m", "pytest"],
    ]


@pytest.mark.parametrize("field", CHECKPOINT_FIELD_ROLES)
def test_every_field_is_explained(field):
    """spec 2.1: a field that the registry gains is told here too."""
    assert re.search(rf"`{field}( = [^`]*)?`", README.split("## Writing a rule")[1].split("## Where")[0])


def test_every_place_that_is_named_is_there():
    """Whoever carries on finds each file and folder where the README says it is."""
    named = re.findall(r"`((?:discern|stages|effects|tests|property_tests|\.ci)/[\w/.]*)`", README)
    assert len(named) > 10
    assert [place for place in named if not (ROOT / place).exists()] == []
