"""The README is true: its commands, its examples with their output, the fields and the places it names."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from returns.result import Success

from discern import evaluate, load_policy
from discern.cli import understood
from discern.seeds import SEEDS
from discern.vocabulary import CHECKPOINT_FIELD_ROLES, FAIL_ON

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
    (place / "case.json").write_text(blocks("json")[1])

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
    (_, source), (output,) = blocks("python"), blocks("text")
    assert repository(f"{sys.executable} -P - <<'END'\n{source}END\n") == output


def shape(value):
    """A document with the types of its values in their place."""
    match value:
        case dict():
            return {name: shape(held) for name, held in value.items()}
        case list():
            return [shape(held) for held in value[:1]]
        case _:
            return type(value)


def decided(repo):
    """What came of the only checkpoint, its command run."""
    (one,) = evaluate(repo.path, environment=repo.environment).unwrap().checkpoints
    return one.evaluation


def test_the_command_example_runs(start):
    """Tables, script and input belong together: a long tool is found, one that is deleted, short or generated is not."""
    _, policy = blocks("toml")
    script, _ = blocks("python")
    tools = {"tools/long.py": "", "tools/gone.py": "1\n" * 400, "tools/a.lock": "", "tools/grown.py": "1\n", "tools/small.py": ""}
    repo = start(tools, policy=policy)
    keep = 'import os, shutil\nshutil.copy(os.environ["DISCERN_CHECKPOINT_INPUT"], ".git/input.json")\n'
    repo.write("tools/long.py", keep + script)
    repo.append("tools/grown.py", "2\n" * 300)
    repo.append("tools/a.lock", "2\n" * 400)
    repo.append("tools/small.py", "2\n")
    repo.remove("tools/gone.py")
    found = decided(repo)
    assert (found.outcome, found.matched) == ("fired", ("tools/grown.py",))
    assert shape(json.loads(repo.at(".git/input.json").read_text())) == shape(json.loads(blocks("json")[0]))
    repo.remove("tools/grown.py")
    assert decided(repo).outcome == "passed"


@pytest.mark.parametrize("policy", blocks("toml"))
def test_each_policy_that_is_shown_is_a_good_one(policy):
    """spec 1.5: no table of an example is refused."""
    read = load_policy(policy.encode())
    assert isinstance(read, Success)
    assert read.unwrap().definitions
    assert read.unwrap().drops == ()


def test_the_table_of_seeds_is_true():
    """spec 1.7: each seed, what it sets, and that it only advises."""
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", README, re.MULTILINE)
    told = {
        identity: {"mode": "advise", **tomllib.loads("\n".join(re.findall(r"`([^`]+)`", sets)))}
        for identity, sets in rows
        if identity in SEEDS
    }
    assert told == {identity: {k: v for k, v in seed.items() if k != "question"} for identity, seed in SEEDS.items()}


SHOWN_COMMANDS = re.findall(r"(?:`|^    )(discern [a-z][^`\n]*)(?:`|$)", README, re.MULTILINE)


def test_every_command_that_is_named_is_understood(repository):
    """spec 9.1: commands inside a sentence have words that exist, and the line for CI runs."""
    assert len(SHOWN_COMMANDS) > 8
    for command in SHOWN_COMMANDS:
        assert understood(shlex.split(command)[1:])
    (line,) = re.findall(r"^    (discern .*)$", README, re.MULTILINE)
    assert "trunk" in repository(line)  # nobody has an origin here, which is told in one line
    repository("git update-ref refs/remotes/origin/main main")
    assert "since its merge-base with refs/remotes/origin/main, " in repository(line)


@pytest.mark.parametrize("word", FAIL_ON)
def test_everything_to_fail_on_is_explained(word):
    """spec 9.1: each word of `--fail-on`."""
    assert f"`{word}`" in README.split("`--fail-on`\ntakes")[1].split("In CI")[0]


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
