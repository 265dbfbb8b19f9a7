"""`discern demo` (spec 9.3): what a newcomer sees, whatever their machine is like, and that nothing stays behind."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discern import demo

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where the demo makes its directory, to see that it is gone."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def shown():
    stream = io.StringIO()
    assert demo.demo(stream, colour=False) == 0
    return stream.getvalue()


def test_a_newcomer_sees_the_main_job_at_once(temporary):
    """spec 9.3: the policy, the change, and a fired stop, an advice, a veto and a drop of it."""
    said = shown()
    for line in demo.POLICY.splitlines():
        assert f"    {line}" in said or not line
    for edit in demo.EDITS[5:]:
        assert f"{edit.stage:9}  {edit.path}" in said
    for part in (
        "stop  new-dependency  awaits an answer",
        "discern declare new-dependency --met",
        "advice  left-over-output",
        "silent-api-change  vetoed by unless_changed",
        "secret  trigger_content_unavailable (file_limit)",
        "blocked: 1 open question, 1 advice, 1 drop, 1 quiet",
    ):
        assert part in said
    assert list(temporary.iterdir()) == []


def test_the_demo_is_the_same_on_every_machine(tmp_path, monkeypatch):
    """spec 4.2, 9.3: neither the user's Git configuration nor a hook's variables reach the repository of the demo."""
    before = shown()
    (tmp_path / ".gitconfig").write_text("[commit]\n gpgSign = true\n[core]\n autocrlf = true\n excludesFile = ~/ignored\n")
    (tmp_path / "ignored").write_text("*.csv\n")
    for name, value in {
        "HOME": str(tmp_path),
        "GIT_DIR": str(tmp_path),
        "GIT_AUTHOR_NAME": "x",
        "DISCERN_TRUNK": "other",
    }.items():
        monkeypatch.setenv(name, value)
    assert shown() == before


def test_the_demo_leaves_nothing_when_it_is_broken_off(temporary):
    """spec 9.3: whatever happens on the way, the directory is removed."""

    class Gone(io.StringIO):
        def write(self, _):
            assert len(list(temporary.glob("discern-demo-*/discern.toml"))) == 1
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        demo.demo(Gone(), colour=False)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_takes_its_course_once_the_directory_is_gone(temporary, number):
    """spec 9.1: 130, 143 and 129 on a signal, and nothing left behind."""
    running = subprocess.Popen(
        [sys.executable, "-m", "discern", "demo"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 20
    while not list(temporary.iterdir()) and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    running.send_signal(number)
    _, words = running.communicate(timeout=20)
    assert running.returncode in (128 + number, -number)
    assert b"Traceback" not in words
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "value", "words"), [("PATH", "/nowhere", "install Git"), ("TMPDIR", "/nowhere", "set TMPDIR")]
)
def test_a_demo_that_cannot_be_made_says_why(variable, value, words, monkeypatch, capsys):
    """spec 9.1: one clear line on standard error, exit status 2."""
    monkeypatch.setenv(variable, value)
    if variable == "TMPDIR":
        monkeypatch.setattr("tempfile.tempdir", value)
    assert demo.demo(io.StringIO(), colour=False) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_the_demo_takes_a_second_or_two():
    """spec 9.3: at once."""
    began = os.times().elapsed
    shown()
    assert os.times().elapsed - began < 5  # a machine that is busy with something else has its time
