"""What is shipped, and that it runs away from its source."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys, hatchling.build as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


def run(*words, cwd, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    done = subprocess.run(words, cwd=cwd, env={**environment, **variables}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(kind, source, target):
    """Through the build backend that pyproject.toml names, as an installer would."""
    name = run(sys.executable, "-c", BUILD, kind, str(target), cwd=source).splitlines()[-1]
    return target / name


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("build_wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build("build_sdist", ROOT, tmp_path_factory.mktemp("sdist"))


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {PurePosixPath(name) for name in archive.namelist()}


def test_the_wheel_puts_nothing_but_discern_into_site_packages(wheel):
    """Neither tests nor the plain names `stages` and `effects` are installed."""
    assert {name.parts[0] for name in names(wheel)} == {"discern", "discern-1.0.0.dist-info"}
    assert {name.parts[1] for name in names(wheel)} & {"tests", "property_tests"} == set()


@pytest.mark.parametrize("folder", ["stages", "effects"])
def test_the_linked_folders_are_ordinary_ones_in_the_wheel(wheel, folder):
    """Each module of the folder at the top of the source stands under `discern`, as a file."""
    shipped = {name.name for name in names(wheel) if name.parts[:2] == ("discern", folder)}
    assert shipped == {path.name for path in (ROOT / folder).glob("*.py")}
    with zipfile.ZipFile(wheel) as archive:
        kinds = {info.external_attr >> 28 for info in archive.infolist() if info.filename.startswith(f"discern/{folder}/")}
    assert kinds <= {0o10}  # regular files: no link is left


def test_the_package_data_is_shipped(wheel):
    """spec 9.2, 10.1: the cases and the JSON Schemas come with the package, and so do its types."""
    data = {path.relative_to(ROOT) for path in (ROOT / "discern").rglob("*") if path.suffix in (".json", ".typed", ".md")}
    assert {PurePosixPath(path) for path in data} <= names(wheel)
    assert PurePosixPath("discern/py.typed") in names(wheel)
    assert sum(name.suffix == ".json" and "suite" in name.parts for name in names(wheel)) > 50


def test_the_sdist_builds_the_same_wheel(wheel, sdist, tmp_path):
    """What is installed from the source distribution is what is installed from the wheel."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    assert {path.name for path in source.iterdir()} <= {
        "discern",
        "README.md",
        "LICENSE",
        "pyproject.toml",
        "PKG-INFO",
        ".gitignore",
    }
    again = build("build_wheel", source, tmp_path)
    assert names(again) == names(wheel)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    target = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target), str(wheel), cwd=target)
    return target


def test_the_installed_program_runs_away_from_its_source(installed, tmp_path):
    """Installed elsewhere, it is the installed one that runs, as a module and as the command."""
    where = "import discern.effects.git, discern.stages.universe as stage; print(discern.effects.git.__file__, stage.__file__)"
    found = run(sys.executable, "-P", "-c", where, cwd=tmp_path, PYTHONPATH=str(installed))
    assert all(Path(name).is_relative_to(installed) for name in found.split())
    assert "evaluate" in run(sys.executable, "-m", "discern", "--help", cwd=tmp_path, PYTHONPATH=str(installed))
    assert "evaluate" in run(str(installed / "bin" / "discern"), "--help", cwd=tmp_path, PYTHONPATH=str(installed))


def test_the_installed_cases_pass(installed, tmp_path):
    """spec 10.3: the suite that came with the package is the one that is run."""
    said = run(sys.executable, "-m", "discern", "conformance", "run", cwd=tmp_path, PYTHONPATH=str(installed))
    assert said.splitlines()[-1].endswith(" passed, 0 failed")
