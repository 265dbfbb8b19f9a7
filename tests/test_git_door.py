"""The one door to Git (spec 4.2, 4.6, 4.11): its environment, and questions that end, are fed, and are stopped."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time

import pytest

from discern.effects import git as door
from discern.effects.git import Answer, Git, Refused, Setting, repository_environment, sealed_environment
from discern.effects.opening import Opening
from discern.effects.repository import Asked
from tests.repositories import hermetic

KEPT = {
    "PATH": "/bin",
    "HOME": "/h",
    "XDG_CONFIG_HOME": "/x",
    "LANG": "de_DE",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.autocrlf",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_CONFIG_PARAMETERS": "'a.b=c'",
    "GIT_CONFIG_GLOBAL": "/g",
    "GIT_CONFIG_SYSTEM": "/s",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_EXEC_PATH": "/e",
}
# What `git rev-parse --local-env-vars` names, and everything else that redirects a question or changes its answer.
DROPPED = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR"),
    *("GIT_NAMESPACE", "GIT_PREFIX", "GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_CONFIG"),
    *("GIT_REPLACE_REF_BASE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_ATTR_SOURCE", "GIT_GLOB_PATHSPECS", "GIT_TRACE"),
    *("GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_CEILING_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_TRACE2_EVENT"),
    *("GIT_PAGER_IN_USE", "GIT_EDITOR", "GIT_ASKPASS", "GIT_SSH_COMMAND", "GIT_DEFAULT_HASH", "GIT_TEST_SPLIT_INDEX"),
)
DECIDED = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_LITERAL_PATHSPECS": "1",
}


@pytest.fixture
def here(tmp_path):
    return Setting(str(tmp_path), repository_environment(hermetic(tmp_path / "home")))


@pytest.fixture
def git():
    with Git({}) as opened:
        yield opened


def shell(here: Setting, script: str) -> Setting:
    """A Git command `run` that is a shell script: a way to see how the door treats what Git starts."""
    return here._replace(options=("-c", f"alias.run=!{script}"))


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


def test_the_users_configuration_stays_and_nothing_redirects():
    """spec 4.2: what `git add` would store is the user's; an ambient variable of a hook changes no answer."""
    ambient = KEPT | dict.fromkeys(DROPPED, "evil") | dict.fromkeys(DECIDED, "evil")
    found = repository_environment(ambient)
    assert {name: found.get(name) for name in KEPT} == KEPT
    assert found.keys().isdisjoint(DROPPED)
    assert {name: found.get(name) for name in DECIDED} == DECIDED
    assert not os.path.lexists(found["GIT_GRAFT_FILE"])
    assert found.keys() == KEPT.keys() | DECIDED.keys() | {"GIT_GRAFT_FILE"}


def test_the_sealed_environment_knows_nobodys_configuration():
    """spec 4.2: of all `GIT_` variables only those of our own choice, and where Git's programs lie."""
    ambient = KEPT | dict.fromkeys(DROPPED, "evil") | dict.fromkeys(DECIDED, "evil")
    found = sealed_environment(ambient, "/sealed")
    assert "evil" not in found.values()
    assert found["GIT_DIR"] == "/sealed"
    assert {name for name in found if name.startswith("GIT_")} == {
        *DECIDED,
        *("GIT_DIR", "GIT_GRAFT_FILE", "GIT_EXEC_PATH", "GIT_ATTR_NOSYSTEM"),
        *("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"),
    }
    assert {found["GIT_CONFIG_GLOBAL"], found["GIT_CONFIG_SYSTEM"], found["XDG_CONFIG_HOME"]} == {os.devnull}


def test_every_variable_that_git_calls_local_is_dropped_or_decided(here, git):
    """spec 4.2: asked of the Git that is installed, so that a new variable of its is noticed."""
    answer = git.wait(git.ask(here, "rev-parse", "--local-env-vars"))
    ambient = dict.fromkeys(answer.output.decode().split(), "evil")
    assert len(ambient) > 10
    left = {name for name, value in repository_environment(ambient).items() if value == "evil"}
    assert left <= {"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}  # configuration, which is the user's


def test_an_answer_has_status_output_and_words(here, git):
    """A question that Git answers, one that it refuses, and one that dies."""
    good = git.wait(git.ask(here, "version"))
    assert (good.status, good.output[:4], good.words, good.ok) == (0, b"git ", b"", True)
    bad = git.wait(git.ask(here, "rev-parse", "HEAD"))
    assert (bad.status, bad.output, bad.ok) == (128, b"", False)
    assert b"not a git repository" in bad.words
    dead = git.wait(git.ask(shell(here, "kill -9 $PPID"), "run"))
    assert (dead.status, dead.ok) == (-9, False)


def test_a_flood_is_stopped_and_not_drained(here, git):
    """spec 4.6: past its bound a process ends at once; what was read stays near the bound."""
    began = time.perf_counter()
    answer = git.wait(git.ask(shell(here, "yes"), "run", limit=1_000_000))
    assert answer.stopped
    assert not answer.ok
    assert 1_000_000 < len(answer.output) <= 1_000_000 + door.CHUNK
    assert time.perf_counter() - began < 5


def test_a_sink_takes_the_output_and_may_end_it(here, git):
    """spec 4.6: nothing is kept beside what the sink keeps."""
    seen: list[int] = []

    def sink(piece: bytes) -> bool:
        seen.append(len(piece))
        return sum(seen) < 100_000

    answer = git.wait(git.ask(shell(here, "yes"), "run", sink=sink))
    assert (answer.stopped, answer.output) == (True, b"")
    assert 100_000 <= sum(seen) <= 100_000 + door.CHUNK


def test_words_are_bounded(here, git):
    """Git's complaints are for a person: the first few thousand bytes."""
    answer = git.wait(git.ask(shell(here, "yes no 2>&1 >&2 | head -c 3000000 >&2; exit 3"), "run"))
    assert answer.status == 3
    assert len(answer.words) <= door.STDERR_KEPT


def test_questions_run_side_by_side_and_none_waits_for_its_reader(here, git):
    """A question whose output nobody has asked for yet does not stop another, nor itself."""
    large = git.ask(shell(here, "head -c 20000000 /dev/zero"), "run")
    small = git.ask(here, "version")
    assert git.wait(small).ok
    answer = git.wait(large)
    assert (answer.ok, len(answer.output)) == (True, 20_000_000)


def test_input_and_output_far_larger_than_a_pipe_do_not_wait_for_each_other(here, git):
    """More than any pipe holds goes in and comes out again, byte for byte."""
    data = os.urandom(1 << 20) * 5
    assert git.wait(git.ask(shell(here, "cat"), "run", stdin=data)) == Answer(0, data, b"", False)


def test_a_conversation_is_fed_in_turns(here, git):
    """`keep_open`: a process that is asked again after it has answered, until the last word."""
    got = bytearray()

    def take(piece: bytes) -> bool:
        got.extend(piece)
        return True

    talk = git.ask(shell(here, "cat"), "run", keep_open=True, sink=take)
    for word in (b"one\n", b"two\n"):
        git.feed(talk, word)
        while word not in got:
            git.pump()
    assert talk.answer is None
    git.feed(talk, b"end\n", last=True)
    assert git.wait(talk).ok
    assert bytes(got) == b"one\ntwo\nend\n"


def test_a_process_that_does_not_want_its_input_is_no_failure_of_ours(here, git):
    """It ends without reading; its exit status says why."""
    assert git.wait(git.ask(shell(here, "exit 7"), "run", stdin=b"x" * 5_000_000)).status == 7


def test_what_takes_too_long_is_ended(here, git, monkeypatch):
    """A filter or a file system that hangs does not hang us."""
    monkeypatch.setattr(door, "SECONDS", 0.0)
    began = time.perf_counter()
    answer = git.wait(git.ask(shell(here, "exec sleep 30"), "run"))
    assert answer.stopped
    assert time.perf_counter() - began < 5


def test_a_process_that_git_leaves_behind_does_not_delay_the_answer(here, git):
    """It holds the standard error open; Git itself has ended."""
    began = time.perf_counter()
    assert git.wait(git.ask(shell(here, "sleep 3 >/dev/null & echo done"), "run")) == Answer(0, b"done\n", b"", False)
    assert time.perf_counter() - began < 2


def test_nothing_is_left_at_the_end(here):
    """A way out in the middle stops what is running: no child, no descriptor."""
    before = open_descriptors()
    with Git({}) as git:
        running = [git.ask(shell(here, "yes"), "run"), git.ask(here, "version", keep_open=True)]
        git.wait(git.ask(here, "version"))
    assert all(question.answer is not None for question in running)
    assert open_descriptors() == before
    for question in running:
        with pytest.raises(ProcessLookupError):
            os.kill(question.pid, 0)


@pytest.mark.parametrize("fed", [False, True])
def test_without_descriptors_none_is_left(here, git, monkeypatch, fed):
    """spec 9.1: the machine says no in the middle of it; what was opened for the question is closed."""
    real, before = os.pipe, open_descriptors()
    for there in range(3 if fed else 2):
        ends = iter(range(there))

        def pipe(ends=ends):
            if next(ends, None) is None:
                raise OSError(errno.EMFILE, "Too many open files")
            return real()

        monkeypatch.setattr(os, "pipe", pipe)
        with pytest.raises(OSError, match="Too many"):
            git.ask(here, "version", keep_open=fed)
        assert open_descriptors() == before


IGNORING = """
import os, signal, sys
from discern.library import evaluate
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(evaluate("."), flush=True)
os.execv(sys.executable, [sys.executable, "-P", "-m", "discern", "evaluate"])
"""


def test_where_nobody_learns_how_a_process_ended(start):
    """spec 9.1: a host that ignores SIGCHLD is told so in one line; the command does not inherit it."""
    repo = start({"a": "a\n"}, policy="")
    done = subprocess.run([sys.executable, "-c", IGNORING], cwd=repo.path, env=repo.environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    first, *rest = done.stdout.splitlines()
    assert "SIGCHLD" in first
    assert "Refused" in first
    assert (done.returncode, done.stderr) == (0, "")
    assert rest[-1].startswith("not blocked")


def test_without_git_there_is_one_clear_line(tmp_path, monkeypatch):
    """spec 9.1: an environment error, told as such."""
    monkeypatch.setenv("PATH", str(tmp_path))
    before = open_descriptors()
    with Opening(Asked(str(tmp_path)), {"PATH": str(tmp_path)}) as opening:
        assert isinstance(opening.found, Refused)
        assert "git cannot be started" in opening.found.message
        assert "PATH" in opening.found.message
    assert open_descriptors() == before


def test_git_words_become_one_line():
    """spec 9.1: Git's own complaint and advice, for a person."""
    assert door.advice(b"fatal: no\n\n  do:\n\tthis \xff\n") == "no do: this \N{REPLACEMENT CHARACTER}"
