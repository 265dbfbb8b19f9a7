"""Other implementations under `discern conformance run --against` (spec 10.3), the second evaluator first."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import sys
import time
from pathlib import Path

import pytest

from discern.conformance import program, runner
from discern.conformance.expectations import SUITE
from tests.second_door import FOLDER, PROGRAM

PYTHON = shlex.quote(sys.executable)
SECOND = f"{PYTHON} {shlex.quote(str(PROGRAM))}"
SOME = [f"{SUITE}/match/lines.json", f"{SUITE}/malformed/no-facts.json", f"{SUITE}/policy/trunk-is-a-list.json"]


def against(command: str, *places: str) -> tuple[int, list[str], str]:
    """Exit status, the lines of standard output, and standard error."""
    out, err = io.StringIO(), io.StringIO()
    status = runner.main(["run", "--against", command, *places], io.TextIOWrapper(io.BytesIO()), out, err)
    return status, out.getvalue().splitlines(), err.getvalue()


def script(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(text, "utf-8")
    return f"{PYTHON} {shlex.quote(str(path))}"


def one_by_one(folder: Path, text: str) -> str:
    """A program that takes no argument: it can only be asked one case at a time."""
    return script(
        folder, f"import json, sys, time\nif len(sys.argv) > 1: sys.exit('no argument')\ncase = json.load(sys.stdin)\n{text}"
    )


def test_the_second_evaluator_passes():
    """10.3: a program of another style, which shares nothing with discern, passes the whole suite."""
    status, lines, errors = against(SECOND)
    assert (status, errors) == (0, "")
    assert lines == [f"{len(list(Path(SUITE).rglob('*.json')))} passed, 0 failed"]


def test_a_program_for_one_case_passes_too(tmp_path):
    """10.3: one that reads one case and ends is started for each."""
    wrapper = tmp_path / "one.sh"
    wrapper.write_text(f"#!/bin/sh\nexec {SECOND}\n", "utf-8")
    wrapper.chmod(0o755)
    assert against(shlex.quote(str(wrapper)), *SOME) == (0, ["3 passed, 0 failed"], "")


SLIPS = {
    "limits/deletions (5.1): at.outcome": ("second_stages.py", "deletions < 50", "deletions <= 50"),
    "limits/work": ("second_stages.py", "> 67_108_864", "> 67_108_865"),
    "dialect/globstar-last-needs-one (3)": ("second_dialect.py", "least = 1 if", "least = 0 if"),
    "identity/sorted-by-bytes": ("second_case.py", "raw(change[", "str(change["),
    "identity/empty-is-unset (7.1)": ("second_policy.py", "definition[key] or None", "definition[key]"),
}


@pytest.mark.parametrize("caught", SLIPS)
def test_a_wrong_one_is_caught(tmp_path, caught):
    """10.3: a slip in one place of the second evaluator fails the cases that are about it."""
    file, right, wrong = SLIPS[caught]
    shutil.copytree(FOLDER, tmp_path / "wrong")
    path = tmp_path / "wrong" / file
    text = path.read_text("utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong), "utf-8")
    folder = caught.split("/")[0]
    status, lines, _ = against(f"{PYTHON} {shlex.quote(str(tmp_path / 'wrong' / 'evaluator.py'))}", f"{SUITE}/{folder}")
    assert status == 1
    assert any(line.startswith(f"FAIL {caught}") for line in lines)


def test_the_guide_starts_a_fresh_implementation(tmp_path):
    """10: the program of the guide runs as it stands, in both ways, and the runner tells it what to do next."""
    guide = (Path(SUITE) / "README.md").read_text("utf-8")
    code = re.search(r"   ```python\n(.*?)   ```", guide, re.DOTALL)
    assert code is not None
    command = script(tmp_path, re.sub(r"^   ", "", code[1], flags=re.MULTILINE))
    status, lines, _ = against(command)
    passed, failed = map(int, re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1]).groups())
    assert status == 1
    assert lines[0] in guide
    assert passed > 0
    assert failed > 200
    few = [f"{SUITE}/veto/empty-matched-set.json", f"{SUITE}/malformed/no-policy.json"]
    assert against(command, *few) == (0, ["2 passed, 0 failed"], "")
    alone = one_by_one(tmp_path, re.sub(r"^   ", "", code[1], flags=re.MULTILINE).replace("sys.stdin.read()", "json.dumps(case)"))
    assert against(alone, *few) == (0, ["2 passed, 0 failed"], "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('boom')", "no answer: it ended with exit status 1: ValueError: boom"),
        ("import os; os.kill(os.getpid(), 9)", "no answer: it ended with exit status 137"),
        ("sys.exit(2)", "no answer: it ended with exit status 2: it said nothing on standard error"),
        ("print('one', 'two', sep='\\n', file=sys.stderr); sys.exit(2)", "no answer: it ended with exit status 2: two"),
        ("print('not mine', file=sys.stderr); sys.exit(2)", "expected an answer, got a refusal: not mine"),
        ("print('{} {}')", "no answer: what it printed is no JSON"),
        ("print([])", "no answer: what it printed is no object"),
        ("print('{\"results\": {}}')", "policy_drop: expected null, got nothing"),
    ],
)
def test_a_crash_is_not_a_refusal(tmp_path, text, said):
    """10.2: a refusal is exit 2 with one line on standard error and nothing else; whatever ends otherwise has given no answer."""
    status, lines, _ = against(one_by_one(tmp_path, text), SOME[0])
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")
    assert lines[0].startswith(f"FAIL match/lines (6.6): {said}")


def test_time_and_output_are_bounded(tmp_path, monkeypatch):
    """10.3: a program that hangs or floods is ended, and after three that hang no more are asked."""
    monkeypatch.setattr(program, "SECONDS", 0.7)
    monkeypatch.setattr(program, "OUTPUT_LIMIT", 1_000)
    began = time.monotonic()
    status, lines, _ = against(one_by_one(tmp_path, "time.sleep(60)"), f"{SUITE}/match")
    assert (status, lines[-1]) == (1, f"0 passed, {len(lines) - 1} failed")
    assert sum("did not end within" in line for line in lines) >= 3
    assert any("was not asked any more" in line for line in lines)
    assert time.monotonic() - began < 20
    _, lines, _ = against(one_by_one(tmp_path, "print('x' * 2_000)"), SOME[0])
    assert "no answer: it printed more than" in lines[0]


def test_a_program_that_does_not_run_is_told_at_once():
    """10.3: exit 2, with the shell's own words."""
    status, lines, errors = against("no-such-program-anywhere")
    assert (status, lines, errors.count("\n")) == (2, [], 1)
    assert "no-such-program-anywhere" in errors


def test_a_batch_with_a_line_too_few_is_asked_again(tmp_path):
    """10.3: where one answer is missing, each case is asked by itself, so that the others keep theirs."""
    lossy = script(
        tmp_path,
        f"""
import json, subprocess, sys
second = [sys.executable, {str(PROGRAM)!r}]
if '--jsonl' not in sys.argv:
    sys.exit(subprocess.run(second).returncode)
asked = sys.stdin.read().splitlines()
batch = subprocess.run([*second, '--jsonl'], input='\\n'.join(asked).encode(), stdout=subprocess.PIPE)
print('\\n'.join(batch.stdout.decode().splitlines()[:2]))
""",
    )
    assert against(lossy, *SOME) == (0, ["3 passed, 0 failed"], "")


def test_what_is_expected_is_not_handed_out(tmp_path):
    """10.2: an implementation cannot repeat what the case expects."""
    heard = tmp_path / "heard"
    against(
        one_by_one(tmp_path, f"open({str(heard)!r}, 'a').write(json.dumps(sorted(case)) + '\\n')"),
        SOME[0],
        f"{SUITE}/trace/input.json",
    )
    members = {name for line in heard.read_text("utf-8").splitlines() for name in json.loads(line)}
    assert members <= {"version", "id", "clause", "summary", "policy", "files", "facts", "when"}
