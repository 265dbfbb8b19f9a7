"""The examples run as they are, each a program of its own, and say what they are there to show."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import discern
from tests.conftest import Start
from tests.repositories import Repo

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "tests" / "examples"
USER_SCRIPT = ROOT / "tests" / "typing" / "user_script.py"
NAMES = {path.stem for path in EXAMPLES.glob("*.py")}

FIRES = '[checkpoints.new-dependency]\npaths = ["requirements.txt"]\nquestion = "Who keeps it up: you, or us?"\n'
WAITS = '[checkpoints.slow]\nwhen = "sleep 60"\nquestion = "Is it fast?"\n'
TOO_LARGE = b"x" * 262_145

Said = tuple[int, list[str]]


def run(name: str, *arguments: object, environment: dict[str, str] | None = None) -> Said:
    """The exit status of an example and the lines it prints; it must not complain, though a cluster may."""
    words = [sys.executable, "-P", str(EXAMPLES / f"{name}.py"), *map(str, arguments)]
    variables = {"PATH": os.environ["PATH"], **(environment or {}), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=120)
    assert done.stderr == "" or name == "dask_changes", done.stderr
    return done.returncode, done.stdout.splitlines()


def changed(start: Start, policy: str, name: str = "one", files: dict[str, Any] | None = None) -> Repo:
    """A repository whose branch has a new `requirements.txt`, not committed."""
    repo = start(policy=policy, name=name)
    for path, data in {"requirements.txt": "leftpad\n", **(files or {})}.items():
        repo.write(path, data)
    return repo


def test_judging_facts_needs_no_repository() -> None:
    """spec 5: a policy and facts are enough for every outcome; a fact that is missing drops only what needs it."""
    status, (dependency, secret, undecided, decided, bad) = run("judge_facts")
    assert status == 0
    assert dependency == "new-dependency: fired requirements.txt"
    assert secret.startswith("secret: dropped the changed lines of prices.csv could not be had: it is over the 262,144 bytes")
    assert (undecided, decided) == ("slow-query: undecided db/report.sql", "slow-query: fired db/report.sql")
    assert bad.startswith("misspelt: checkpoint_definition_invalid ")


def test_many_worktrees_are_evaluated_in_a_process_pool(start: Start, tmp_path: Path) -> None:
    """spec 9: arguments and results travel between processes, failures among them."""
    fires, quiet = changed(start, FIRES), start(policy=FIRES, name="two")
    places = [fires.path, tmp_path / "nowhere", quiet.path]
    status, (first, second, third) = run("evaluate_many", *places, environment=fires.environment)
    assert status == 0
    assert first == f"{fires.path}: blocked new-dependency"
    assert second.startswith(f"{tmp_path}/nowhere: not evaluated, ")
    assert third == f"{quiet.path}: not blocked"


def test_a_service_ends_what_takes_too_long(start: Start) -> None:
    """spec 6.4: a command that is cancelled while others are evaluated is `when_cancelled`, and delays nobody."""
    slow, quick = changed(start, WAITS), changed(start, FIRES, name="two")
    status, said = run("asyncio_service", 1, slow.path, quick.path, environment=slow.environment)
    assert (status, said) == (
        0,
        [f"{slow.path}: slow indeterminate (when_cancelled)", f"{quick.path}: new-dependency fired"],
    )


def test_a_report_can_be_made_of_a_result(start: Start) -> None:
    """spec 9.2: a result holds what any report needs; a path that is no UTF-8 and a text with a colon can be written."""
    policy = f'{FIRES}[checkpoints.advice]\nmode = "advise"\npaths = ["*.c"]\nquestion = "50% more?\\nReally?"\n'
    repo = changed(start, f'{policy}[checkpoints.secret]\nadds_matching = ["KEY"]\nquestion = "?"\n', files={"large": TOO_LARGE})
    repo.write(b"\xff.c", "x\n")
    status, said = run("github_annotations", repo.path, environment=repo.environment)
    assert status == 1
    assert said[:2] == [
        "::error file=requirements.txt,title=new-dependency::Who keeps it up%3A you%2C or us?",
        "::warning file=\\xff.c,title=advice::50%25 more?%0AReally?",
    ]
    assert said[2].startswith(
        "::notice title=secret::the changed lines of large could not be had%3A it is over the 262%2C144 bytes"
    )


if find_spec("distributed"):  # an optional dependency: without it there is nothing to run

    def test_thousands_of_changes_are_judged_on_a_cluster(tmp_path: Path) -> None:
        """spec 5: the pure part is mapped over changes by an engine that knows nothing of it, and gives the same totals."""
        # The cluster's own processes may complain while they are taken down on a busy machine; that is theirs to say.
        apart = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "DASK_LOGGING__DISTRIBUTED": "critical"}
        assert run("dask_changes", 3000, environment=apart) == (
            0,
            ["sleep: fired 429", "sleep: vetoed 2571", "sprawl: fired 1200", "sprawl: vetoed 1800"],
        )


def test_every_example_is_run() -> None:
    """An example that nobody runs is not known to work."""
    assert {"judge_facts", "evaluate_many", "asyncio_service", "github_annotations", "dask_changes"} == NAMES


def checked(*words: str, cwd: Path) -> str:
    """What a type checker says of programs that use discern, without this project's configuration, as any user's would."""
    programs = [USER_SCRIPT, *(EXAMPLES / f"{name}.py" for name in sorted(NAMES - {"dask_changes"}))]
    environment = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    command = [sys.executable, "-m", *words, *map(str, programs)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300).stdout


def test_mypy_strict_accepts_a_users_program(tmp_path: Path) -> None:
    """The face is typed: every public name can be used under `--strict`, and each mistake of the program is found."""
    said = checked("mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), cwd=tmp_path)
    assert said == "Success: no issues found in 5 source files\n"


def test_pyright_accepts_a_users_program(tmp_path: Path) -> None:
    """The same program, with the other checker."""
    assert checked("pyright", "--pythonpath", sys.executable, cwd=tmp_path) == "0 errors, 0 warnings, 0 informations\n"


def test_the_users_program_uses_every_public_name() -> None:
    """What is public is in the program the checkers read."""
    text = USER_SCRIPT.read_text("utf-8")
    imported = text[text.index("from discern import (") : text.index(")\n\n\ndef ")]
    assert set(imported.replace(",", " ").split()) >= set(discern.__all__)
