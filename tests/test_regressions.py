"""Faults that were found from outside, each as the rule that it broke."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discern.effects import private, storing
from discern.effects.git import Git
from discern.effects.listings import unopened
from discern.effects.repository import Trunk
from discern.effects.sealed import entry_of, parse_tree
from discern.effects.worktree import Worktree

PLAIN = '[checkpoints.any]\nmin_changed_lines = 1\nquestion = "Is it well?"\n'


def test_line_ends_that_the_index_has_stay_as_git_add_leaves_them(start):
    """spec 4.2: `git add` converts no line ends of a file that was stored with them, whoever asks for conversion."""
    repo = start({"discern.toml": PLAIN, "touched": "a\r\nb\r\n", "edited": "a\r\nb\r\n"})
    repo.config("core.autocrlf", "true")
    os.utime(repo.at("touched"), (1, 1))
    repo.write("edited", "a\r\nB\r\n")
    assert repo.view().shapes == {"edited": ("modified", 1, 1, False)}
    before = repo.view().sides
    repo.git("add", "edited")
    assert repo.view().sides == before


def test_attributes_that_only_the_index_has_decide_what_is_stored(start):
    """spec 4.2: as `git add` would, with a `.gitattributes` that is not on disk."""
    repo = start({"discern.toml": PLAIN, ".gitattributes": "*.t text\n", "e.t": "a\nb\nc\n"})
    repo.remove(".gitattributes")
    repo.write("e.t", "a\r\nB\r\nc\r\n")
    before = repo.view()
    assert before.shapes["e.t"] == ("modified", 1, 1, False)
    repo.git("add", "e.t")
    assert repo.view().sides["e.t"] == before.sides["e.t"]


def test_the_repositorys_own_index_is_left_as_it_was(start):
    """spec 4.2: files are added to a copy."""
    repo = start({"discern.toml": PLAIN, "k": "a\r\n"})
    repo.write("k", "b\r\n")
    before = (repo.directory / "index").read_bytes()
    assert repo.view().shapes == {"k": ("modified", 1, 1, False)}
    assert (repo.directory / "index").read_bytes() == before


def test_a_file_that_may_not_be_looked_at_is_not_passed_over(start, monkeypatch):
    """spec 4.8: Git lists no file of a directory that cannot be entered and says so only in words."""
    repo = start({"discern.toml": PLAIN, "d/f": "1\n", "free": "1\n"})
    repo.write("d/f", "2\n")
    words = repo.path.parent / "bin" / "git"
    words.parent.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    # The real thing needs a user whom modes bind; root is none. So Git is made to say what it says then.
    words.write_text(
        f'#!/bin/sh\ncase "$*" in *diff-files*) echo "d/f: Permission denied" >&2; exit 0;; esac\nexec {real} "$@"\n'
    )
    words.chmod(0o755)
    look = Worktree.look
    monkeypatch.setattr(Worktree, "look", lambda self, path: "unreadable" if path == b"d/f" else look(self, path))
    environment = {**repo.environment, "PATH": f"{words.parent}:{repo.environment['PATH']}"}
    monkeypatch.setenv("PATH", environment["PATH"])
    assert repo.view(environment=environment).shapes == {"d/f": ("modified", "unreadable", "unreadable")}


@pytest.mark.parametrize("inside", ["t", "./t/../t"])
def test_a_temporary_directory_in_the_working_tree_is_no_part_of_the_change(start, monkeypatch, inside):
    """spec 4.1: nor does a relative one make Git look elsewhere."""
    repo = start({"discern.toml": PLAIN, "keep": "k\n"})
    repo.append("keep", "more\n")
    repo.at("t").mkdir()
    monkeypatch.chdir(repo.path)
    for named in (inside, str(repo.path / inside)):
        view = repo.view(environment={**repo.environment, "TMPDIR": named})
        assert view.shapes == {"keep": ("modified", 1, 0, False)}
    assert list(repo.at("t").iterdir()) == []


def test_an_object_that_is_not_there_costs_its_own_file_alone(start):
    """spec 5.1: what is not known of one file says nothing about another."""
    everything = PLAIN + '[checkpoints.content]\nadds_matching = ["more"]\nquestion = "q"\n'
    repo = start({"discern.toml": everything, "a": "a\n", "b": "b\n"})
    lost = repo.rev("main:a")
    for path in ("a", "b"):
        repo.append(path, "more\n")
    (repo.directory / "objects" / lost[:2] / lost[2:]).unlink()
    view = repo.view()
    assert view.shapes == {"a": ("modified", "unreadable", "unreadable"), "b": ("modified", 1, 0, False)}
    assert (view.why("a"), view.why("b")) == ("unreadable", "available")


def test_failing_filters_leave_a_working_one_alone(start):
    """spec 4.8: a file that cannot be converted takes no other down."""
    repo = start({"discern.toml": PLAIN, **{f"b{n}": "x\n" for n in range(4)}, "zh": "x\n"})
    for name, command in (("bad", "false"), ("good", "cat")):
        repo.config(f"filter.{name}.clean", command)
        repo.config(f"filter.{name}.required", "true")
    repo.write(".gitattributes", "b* filter=bad\nzh filter=good\n")
    for path in ("b0", "b1", "b2", "b3", "zh"):
        repo.append(path, "more\n")
    assert repo.view().shapes["zh"] == ("modified", 1, 0, False)
    assert storing.ATTEMPTS > 4


def test_the_branch_that_origin_head_names_counts_where_only_the_local_one_is_left(start):
    """spec 1.1: the name is looked for as a local branch too."""
    repo = start({"discern.toml": PLAIN})
    repo.git("branch", "dev", "main")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev")
    assert repo.evaluate().trunk == "refs/heads/dev"
    repo.git("branch", "-D", "dev")
    assert repo.evaluate().trunk == "refs/heads/main"


def test_what_is_no_ref_is_not_told_as_one(start):
    """spec 9.2: `trunk` is a full ref or null."""
    repo = start({"discern.toml": PLAIN})
    assert repo.evaluate(trunk="refs/heads/main").trunk == "refs/heads/main"
    for name in ("refs/heads/main~0", "main~0", ":/base", repo.rev("main")):
        result = repo.evaluate(trunk=name)
        assert (result.trunk, result.policy_commit) == (None, repo.rev("main")), name


def test_a_tag_does_not_stand_in_a_remote_branchs_way(start):
    """spec 1.1: a short tag name is excepted, so what Git would look for next is found."""
    repo = start({"discern.toml": PLAIN})
    repo.git("update-ref", "refs/remotes/origin/rel", "main")
    repo.git("tag", "origin/rel", "work")
    result = repo.evaluate(trunk="origin/rel")
    assert (result.trunk, result.policy_commit) == ("refs/remotes/origin/rel", repo.rev("main"))
    assert Trunk(result.trunk, repo.rev("main")).ref == result.trunk


def test_a_mode_that_old_gits_wrote_is_read_as_git_reads_it():
    """spec 1.3: 100664 is a regular file."""
    body = b"".join(b"%b %b\0%b" % (mode, name, bytes(20)) for mode, name in ((b"100664", b"a"), (b"100775", b"b"), (b"1", b"c")))
    assert [entry_of(row).mode for row in parse_tree(body, 20).values()] == ["100644", "100755", "1"]


def run(repo, *words: str, shell: str = "", **environment: str) -> subprocess.CompletedProcess[bytes]:
    here = str(Path(__file__).resolve().parent.parent)
    command = f'"{sys.executable}" -P -m discern "$@" {shell}'
    return subprocess.run(
        ["bash", "-c", command, "bash", *words],
        cwd=repo.path,
        env={**repo.environment, "PYTHONPATH": here, **environment},
        capture_output=True,
        check=False,
    )


def test_a_reader_that_goes_away_does_not_change_the_exit_status(start):
    """spec 9.1: what blocks blocks, whether or not all of it is read."""
    repo = start({"discern.toml": PLAIN})
    for n in range(300):
        repo.write(f"n{n}", "x\n")
    for words in (["evaluate", "--format", "json"], ["evaluate"]):
        done = run(repo, *words, shell="| true; echo ${PIPESTATUS[0]}", PYTHONUNBUFFERED="1")
        assert (done.stdout.strip(), done.stderr) == (b"1", b"")


def test_a_full_disk_is_one_line_and_no_traceback(start):
    """spec 9.1: exit status 2 and one line, whichever command writes."""
    repo = start({"discern.toml": PLAIN})
    repo.write("n", "x\n")
    for words in (["evaluate"], ["evaluate", "--format", "json"], ["checkpoints"], ["--help"]):
        done = run(repo, *words, shell="> /dev/full")
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), (words, done.stderr)
        assert b"standard output" in done.stderr


def test_names_reach_git_as_they_were_given_in_every_locale(start):
    """spec 0: a directory or a branch is found under its name where the locale is not UTF-8."""
    repo = start({"discern.toml": PLAIN, "sé/discern.toml": PLAIN, "sé/f": "x\n"})
    repo.git("branch", "zweig-é", "main")
    repo.append("sé/f", "more\n")
    done = run(
        *(repo, "evaluate", "--root", "sé", "--trunk", "zweig-é", "--format", "json"),
        LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert b'"matched":["f"]' in done.stdout


def test_without_git_each_command_says_so(start, tmp_path):
    """spec 9.1: one clear line that says what to do."""
    repo = start({"discern.toml": PLAIN})
    here = str(Path(__file__).resolve().parent.parent)
    environment = {**repo.environment, "PYTHONPATH": here, "PATH": str(tmp_path)}
    for words in (["evaluate"], ["declare", "any", "--met"], ["proof", "show"], ["checkpoints"]):
        command = [sys.executable, "-P", "-m", "discern", *words]
        done = subprocess.run(command, cwd=repo.path, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
        assert b"install Git" in done.stderr, (words, done.stderr)


def test_a_directory_of_the_policy_commit_is_no_side_of_a_file(start):
    """spec 4.1: what was only meant to be added in its place, and is gone, is no change."""
    repo = start({"d/x": "x\n", "d/y": "y\n"})
    shutil.rmtree(repo.at("d"))
    repo.write("d", "file\n")
    repo.git("add", "-N", "d")
    assert {path: shape[0] for path, shape in repo.view().shapes.items()} == {"d": "added", "d/x": "deleted", "d/y": "deleted"}
    repo.remove("d")
    repo.write("d/y", "y\n")
    assert {path: shape[0] for path, shape in repo.view().shapes.items()} == {"d/x": "deleted", "d/y": "deleted"}


@pytest.mark.parametrize("how", ["deleted", "sparse"])
def test_attributes_that_only_the_index_has_decide_what_a_new_file_would_be(start, how):
    """spec 7.2: adding it moves nothing."""
    repo = start({"discern.toml": PLAIN, "d/.gitattributes": "*.t text\n"})
    if how == "sparse":
        repo.git("update-index", "--skip-worktree", "d/.gitattributes")
    repo.remove("d/.gitattributes")
    repo.write("d/f.t", "a\r\nb\r\n")
    repo.write("d/run.t", "a\r\n", 0o755)
    before = [one.subject for one in repo.evaluate().checkpoints]
    repo.git("add", "d/f.t", "d/run.t")
    assert [one.subject for one in repo.evaluate().checkpoints] == before
    assert None not in before


@pytest.mark.parametrize("filtered", ["keep", "*"])
def test_a_filter_that_fails_on_a_file_as_young_as_the_index_loses_nothing_and_tells_nothing(start, filtered):
    """spec 4.8, 8.6: Git compares such a file's content, and ends with what the filter says."""
    repo = start({"keep": "SECRET\n", "other": "o\n"})
    os.utime(repo.path / ".git/index", ns=(os.stat(repo.at("keep")).st_mtime_ns,) * 2)
    repo.config("filter.f.clean", "cat >&2; exit 1")
    repo.config("filter.f.required", "true")
    repo.write(".gitattributes", f"{filtered} filter=f\n")
    repo.write("new", "n\n")
    view = repo.view()
    assert view.shapes["new"] == ("added", 1, 0, False)
    assert "keep" not in view.shapes
    assert "SECRET" not in str(repo.evaluate())


def test_a_directory_that_cannot_be_opened_is_one_untracked_path(start):
    """spec 4.2, 4.7: what is in it nobody knows; Git only warns."""
    repo = start(
        policy='[checkpoints.any]\npaths = ["**"]\nquestion = "q"\n[checkpoints.text]\nadds_matching = ["x"]\nquestion = "q"\n'
    )
    os.makedirs(repo.at("/".join(["d"] * 60)))
    repo.write("/".join(["d"] * 60) + "/f", "x\n")
    command = f"ulimit -n 32; exec {shlex.quote(sys.executable)} -P -m discern evaluate --format json"
    done = subprocess.run(["sh", "-c", command], cwd=repo.path, env=repo.environment, capture_output=True, text=True)
    found, text = json.loads(done.stdout)["checkpoints"]
    assert [path.strip("d/") for path in found["matched"]] == [""]
    assert (text["outcome"], text["drop"]["detail"]) == ("dropped", "unreadable")
    assert [change.path for change in repo.view().facts.changes] == ["/".join(["d"] * 60) + "/f"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (b"", []),
        (b"warning: unable to access '/x': Permission denied\n", []),
        (b"warning: could not open directory 'a/': Permission denied\n", [b"a"]),
        (b"warning: could not open directory 'a': x\nother\nwarning: could not open directory 'b\n'c/': y\n", [b"a", b"b\n'c"]),
        (b"warning: could not open directory 'aaaa", None),
        (b"warning: could not open directory 'a/': Permission denied\n".ljust(4096, b"."), None),
    ],
)
def test_what_git_could_not_open_is_read_from_its_warnings(words, found):
    """spec 4.12: or there is no view, where it cannot be read."""
    assert unopened(words) == found


@pytest.mark.parametrize("failing", ["update-index", "diff-files"])
def test_where_git_cannot_say_which_commit_a_submodule_is_at_it_is_not_known(start, monkeypatch, failing):
    """spec 4.2: never read as unmoved."""
    repo = start({"a": "a\n"})
    repo.nested("vend", "one\n", "two\n")
    repo.git("add", "vend")
    repo.commit("vend", add=False)
    repo.git("branch", "--force", "main")
    repo.git("-C", "vend", "checkout", "-q", "HEAD~1")
    assert repo.view().shapes == {"vend": ("modified", "not_regular", "not_regular")}
    real = Git.ask

    def ask(self, setting, *arguments, **options):
        if arguments[0] == failing and "GIT_WORK_TREE" in setting.environment:
            return real(self, setting, "no-such-command")
        return real(self, setting, *arguments, **options)

    monkeypatch.setattr(Git, "ask", ask)
    assert repo.view().shapes == {"vend": ("modified", "unreadable", "unreadable")}


REMOVING = """
import os, signal, sys
from discern.effects import private
number, real = int(sys.argv[1]), private._unlink
def unlink(*arguments):
    os.kill(os.getpid(), number)
    private._unlink = real
    return real(*arguments)
empty = private._empty
def emptying(top):
    private._empty, private._unlink = empty, unlink
    empty(top)
private._empty = emptying
sys.argv = ["discern", "evaluate"]
from discern.cli import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_throw_away_files_are_removed_leaves_none(start, number):
    """spec 8.6, 9.1: the removal goes on, then the signal takes its course."""
    repo = start({"a": "a\n"})
    repo.append("a", "SECRET\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", REMOVING, str(int(number))],
        cwd=repo.path,
        env=repo.environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (128 + number, "")
    assert os.listdir(repo.environment["TMPDIR"]) == []


def test_what_a_killed_command_left_is_removed_by_any_run(start):
    """spec 6.3: also by one that starts no command."""
    repo = start({"a": "a\n"})
    left = private.make(repo.environment["TMPDIR"], private.WHEN)
    left.write("input.json", b"{}", 0o600)
    left.close()
    repo.evaluate()
    assert os.listdir(repo.environment["TMPDIR"]) == []
