"""The command's words: what reaches whom, and what a declaration says (spec 9.1, 9.3, 10)."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discern.cli import run
from tests.repositories import hermetic

ROOT = Path(__file__).parents[1]


def said(*words, environment=None):
    out, err = io.StringIO(), io.StringIO()
    status = run(words, stdout=out, stderr=err, environment=environment)
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("evaluate", "-h")])
def test_conformance_reads_its_own_words(words):
    """spec 10: whatever follows `conformance`, a leading option too, is for the runner."""
    status, out, err = said("conformance", *words)
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: discern conformance {'' if words[0].startswith('-') else words[0] + ' '}")


def test_conformance_refuses_a_leading_option_in_its_own_name():
    """spec 10, 9.1: one clear line, exit status 2."""
    status, out, err = said("conformance", "--frob")
    assert (status, out) == (2, "")
    assert err.startswith("discern conformance: ")
    assert err.count("\n") == 1


def test_conformance_bears_a_closed_standard_input():
    """spec 9.1, 10.2: no case is a malformed case, told in one line."""
    command = f"exec {sys.executable} -P -m discern conformance evaluate <&-"
    ran = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=30
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("discern conformance: malformed case: ")
    assert ran.stderr.count("\n") == 1


def test_a_declaration_names_what_it_is_bound_to_as_the_result_does(start):
    """spec 8.2, 9.2: `declare --format json` has the result's `definition_hash` and `subject`."""
    repo = start({"a": "1\n"}, policy='[checkpoints.ask]\nquestion = "Is it well?"\n')
    repo.write("a", "2\n")
    root = ("--root", str(repo.at(".")), "--format", "json")
    (asked,) = json.loads(said("evaluate", *root, environment=repo.environment)[1])["checkpoints"]
    status, out, _ = said("declare", "ask", "--met", *root, environment=repo.environment)
    assert status == 0
    assert json.loads(out) == {
        "version": 1,
        "checkpoint": "ask",
        "verdict": "met",
        "definition_hash": asked["definition_hash"],
        "subject": asked["subject"],
    }


def test_a_directory_outside_git_is_refused_without_fatal(tmp_path):
    """spec 9.1: Git's words, one clear line; nothing died."""
    status, _, err = said("evaluate", "--root", str(tmp_path), environment=hermetic(tmp_path))
    assert status == 2
    assert "not a git repository" in err
    assert "fatal" not in err


def test_a_trunk_that_is_no_branch_is_named_as_it_was_given(start):
    """spec 9.1: both texts say with what the change was compared."""
    repo = start({"a": "1\n"}, policy='[checkpoints.ask]\nquestion = "Is it well?"\n')
    for command in ("evaluate", "checkpoints"):
        for words, more in (((f"--trunk={repo.rev('HEAD')}",), {}), ((), {"DISCERN_TRUNK": repo.rev("HEAD")})):
            _, out, _ = said(command, "--root", str(repo.at(".")), *words, environment={**repo.environment, **more})
            assert f"since its merge-base with {repo.rev('HEAD')}, {repo.rev('HEAD')[:10]})" in out
