"""The candidate's code is never imported (spec 9.4): a repository full of traps, and the program started in it."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
POLICY = """[checkpoints.ask]
question = "Is it well?"
[checkpoints.ran]
when = "discern evaluate --dry-run >&2; exit 10"
question = "Is it well?"
"""
# Modules of ours by their last name, of everything we need, and what Python itself looks for at a start.
OURS = {path.stem for path in (ROOT / "discern").rglob("*.py")} | {"stages", "effects", "report", "conformance", "evaluation"}
NEEDED = ("attr", "attrs", "returns", "toolz", "cattrs", "typing_extensions", "exceptiongroup")
NAMES = sorted({*OURS, *NEEDED, *sys.stdlib_module_names, "sitecustomize", "usercustomize"} - {"__init__", "__main__", "discern"})
COMMANDS = (
    ["evaluate"],
    ["evaluate", "--format", "json"],
    ["checkpoints"],
    ["declare", "ask", "--met"],
    ["proof", "show"],
    ["proof", "verify"],
    ["conformance", "list"],
    ["demo"],
)
WAYS = {
    "python -m discern": ["-m", "discern"],
    "python -P -m discern": ["-P", "-m", "discern"],
    # What the installed command does: the directory of its script comes first on the path, not the current one.
    "discern": ["-c", "import sys; del sys.path[0]; from discern.cli import main; main()"],
}


@pytest.fixture
def trapped(start, tmp_path):
    """Each name as a module, or as a package, that leaves a word when it is imported; and where the word would be."""
    repo, mark = start({"a": "a\n"}, policy=POLICY), tmp_path / "mark"
    trap = f"open({str(mark)!r}, 'a').write(__name__ + '\\n')\nraise SystemExit('imported from the candidate')\n"
    for number, name in enumerate(NAMES):
        repo.write(f"{name}.py" if number % 2 else f"{name}/__init__.py", trap)
    repo.append("a", "b\n")
    repo.environment["PYTHONPATH"] = str(ROOT)
    return repo, mark


def launcher(folder: Path, words: list[str]) -> None:
    """A `discern` on PATH, for commands that start it."""
    script = folder / "discern"
    script.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in (sys.executable, *words)) + ' "$@"\n')
    script.chmod(0o755)


def pythons_own(place: Path) -> set[str]:
    """What `python -m` itself imports, from the current directory if it can, before any code of the module runs."""
    (place / "probe.py").write_text("import sys\nprint(*sys.modules)\n")
    done = subprocess.run([sys.executable, "-m", "probe"], cwd=place, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_the_candidate_is_imported(trapped, tmp_path, way):
    """spec 9.4: neither its own `stages/`, `effects/`, `attr.py`, `json.py`, nor any other name that we or Python ask for."""
    repo, mark = trapped
    (tmp_path / "bin").mkdir()
    launcher(tmp_path / "bin", WAYS[way])
    for name in pythons_own(tmp_path) & set(NAMES) if way == "python -m discern" else ():
        repo.remove(f"{name}.py" if repo.at(f"{name}.py").exists() else name)
    environment = repo.environment | {"PATH": f"{tmp_path}/bin:{repo.environment['PATH']}"}
    for command in COMMANDS if way == "python -m discern" else COMMANDS[:2]:
        done = subprocess.run(
            [sys.executable, *WAYS[way], *command], cwd=repo.path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert not mark.exists(), (command, mark.read_text().split())
        assert "Traceback" not in done.stderr, done.stderr
        assert "imported from" not in done.stdout + done.stderr
        if command[0] == "evaluate":
            assert done.returncode == 1, done.stderr
            assert "ask" in done.stdout


def test_the_traps_work(trapped):
    """The table is not empty words: Python itself falls into them."""
    repo, mark = trapped
    subprocess.run([sys.executable, "-c", "import attr"], cwd=repo.path, env=repo.environment, capture_output=True)
    assert mark.read_text().split() == ["attr"]
    assert len(NAMES) > 250


def test_the_command_is_the_packages_own():
    """spec 9.4: where it is installed, the command's entry is `discern.cli:main`, as it is tried here."""
    if any(found.metadata["Name"] == "discern" for found in importlib.metadata.distributions()):
        (entry,) = importlib.metadata.entry_points(group="console_scripts", name="discern")
        assert entry.value == "discern.cli:main"
    assert 'discern = "discern.cli:main"' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert os.path.isfile(ROOT / "discern/__main__.py")
