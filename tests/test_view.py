"""One enumeration of the change in all of Git's corners (spec 4.1, 4.2, 4.8): each path once, with the kind that Git gives it."""

from __future__ import annotations

import os
import shutil
import stat
import time

import pytest

from discern.effects import policy_commit
from discern.effects.listings import Marks, Row, parse_raw
from discern.effects.opening import Ground, Opening
from discern.effects.repository import Asked
from discern.effects.sealed import Entry
from discern.facts import History, Unavailable
from tests.repositories import EVERYTHING, Repo, View

TEXT, PROGRAM, LINK, GITLINK = "100644", "100755", "120000", "160000"
LOST = "not_regular"


def blob(repo: Repo, data: str | bytes, mode: str = TEXT) -> Entry:
    """What Git would store these bytes as."""
    raw = data.encode() if isinstance(data, str) else data
    return Entry(mode, repo.ask("hash-object", "--stdin", "--no-filters", stdin=raw))


def in_every_state(repo: Repo) -> list[View]:
    """The change as it lies there, staged, and committed; with the commit also by its name."""
    seen = [repo.view()]
    repo.git("add", "--all")
    seen.append(repo.view())
    repo.commit(add=False)
    seen.append(repo.view())
    seen.append(repo.view(commit="HEAD"))
    return seen


# -- kinds ---------------------------------------------------------------------------------------------------------------


def test_every_kind_of_change_is_the_same_unstaged_staged_and_committed(start):
    """spec 4.1: added, modified, deleted, mode, type, empty; where the change lies makes no difference."""
    repo = start(
        {"m": "a\nb\n", "d": "a\n", "x": "x\n", "l": "one\n", "empty": "", "emptied": "a\n", "bin": b"\0a", "same": "s\n"}
    )
    repo.link("k", "target")
    repo.commit("a link on the trunk")
    repo.git("branch", "--force", "main")
    repo.write("m", "a\nB\nc\n")
    repo.remove("d")
    repo.at("x").chmod(0o755)
    repo.link("l", "where")
    repo.remove("k")
    repo.write("k", "no link\n")
    repo.remove("empty")
    repo.write("emptied")
    repo.write("bin", b"\0b")
    repo.write("new", "needle\n")
    repo.write("new-empty")
    repo.write("dir/deep", "x\ny")
    for view in in_every_state(repo):
        assert view.shapes == {
            "bin": ("modified", 0, 0, True),
            "d": ("deleted", 0, 1, False),
            "dir/deep": ("added", 2, 0, False),
            "emptied": ("modified", 0, 1, False),
            "empty": ("deleted", 0, 0, False),
            "k": ("modified", 1, 1, False),
            "l": ("modified", 1, 1, False),
            "m": ("modified", 2, 1, False),
            "new": ("added", 1, 0, False),
            "new-empty": ("added", 0, 0, False),
            "x": ("modified", 0, 0, False),
        }
        assert (view.added("l"), view.removed("l")) == ([b"where"], [b"one"])
        assert (view.added("k"), view.removed("k")) == ([b"no link"], [b"target"])
        assert (view.added("m"), view.removed("m")) == ([b"B", b"c"], [b"b"])
        assert view.sides["x"] == (blob(repo, "x\n"), blob(repo, "x\n", PROGRAM))
        assert view.sides["l"] == (blob(repo, "one\n"), blob(repo, "where", LINK))
        assert view.sides["d"] == (blob(repo, "a\n"), None)


def test_a_rename_and_a_copy_are_a_deletion_and_additions(start):
    """spec 4.1: rename detection is off."""
    body = "".join(f"line {n}\n" for n in range(30))
    repo = start({"old": body, "kept": body.upper()})
    repo.git("mv", "old", "new")
    repo.write("copy", body.upper())
    for view in in_every_state(repo):
        assert view.shapes == {
            "copy": ("added", 30, 0, False),
            "new": ("added", 30, 0, False),
            "old": ("deleted", 0, 30, False),
        }


def test_a_file_becomes_a_directory_and_back(start):
    """spec 4.1: two different paths."""
    repo = start({"f": "one\n", "d/x": "x\n", "d/y": "y\n"})
    repo.remove("f")
    repo.write("f/inside", "one\n")
    repo.remove("d")
    repo.write("d", "flat\n")
    for view in in_every_state(repo):
        assert view.shapes == {
            "d": ("added", 1, 0, False),
            "d/x": ("deleted", 0, 1, False),
            "d/y": ("deleted", 0, 1, False),
            "f": ("deleted", 0, 1, False),
            "f/inside": ("added", 1, 0, False),
        }


def test_a_directory_that_became_a_link_is_not_entered(start):
    """spec 4.2, 4.7: its files are gone, and the link is one untracked path."""
    repo = start({"d/x": "x\n", "other/x": "needle\n"})
    repo.remove("d")
    repo.link("d", "other")
    assert repo.view().shapes == {"d": ("added", LOST, LOST), "d/x": ("deleted", 0, 1, False)}
    repo.git("add", "--all")
    assert repo.view().shapes == {"d": ("added", 1, 0, False), "d/x": ("deleted", 0, 1, False)}


def test_what_was_undone_in_the_working_tree_is_no_change(start):
    """spec 0: the candidate is the working tree as it stands."""
    repo = start({"a": "a\n", "gone": "g\n"})
    repo.write("a", "needle\n")
    repo.write("n", "needle\n")
    repo.remove("gone")
    repo.git("add", "--all")
    repo.write("a", "a\n")
    repo.remove("n")
    repo.write("gone", "g\n")
    # What was taken out of the index is tracked no more, whatever still lies there.
    assert repo.view().shapes == {"gone": ("deleted", 0, 1, False)}
    repo.git("add", "gone")
    assert repo.view().shapes == {}


def test_a_file_that_only_looks_touched_is_no_change_and_the_index_is_left_alone(start):
    """spec 4.2, 4.3: the object id decides, not the time; no refresh is written, no lock is taken."""
    repo = start({"a": "a\n", "b": "b\n"})
    os.utime(repo.at("a"), (1_000_000_000, 1_000_000_000))
    index = repo.path / ".git/index"
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    (repo.path / ".git/index.lock").write_bytes(b"someone else's")
    assert repo.view().shapes == {}
    repo.append("b", "b\n")
    assert repo.view().shapes == {"b": ("modified", 1, 0, False)}
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before
    assert (repo.path / ".git/index.lock").read_bytes() == b"someone else's"


def test_an_edit_of_the_same_size_in_the_same_moment_is_seen(start):
    """spec 4.2: the index may be as young as the file (racily clean)."""
    repo = start({"a": "aaaa\n"})
    info = repo.at("a").stat()
    repo.write("a", "bbbb\n")
    os.utime(repo.at("a"), ns=(info.st_atime_ns, info.st_mtime_ns))
    assert repo.view().shapes == {"a": ("modified", 1, 1, False)}


def test_no_setting_hides_an_edit_that_keeps_size_and_time(start):
    """spec 4.2: `core.checkStat` and `core.trustctime` say what looks changed; here nothing but the inode's own time does."""
    repo = start({"discern.toml": EVERYTHING})
    long_ago = (1_000_000_000, 1_000_000_000)
    repo.write("a", "aaaa\n")
    os.utime(repo.at("a"), long_ago)
    repo.commit("old")
    repo.git("branch", "--force", "main")
    before = int(repo.at("a").stat().st_ctime)
    while int(repo.at("a").stat().st_ctime) == before:  # Git compares whole seconds
        time.sleep(0.02)
        repo.write("a", "bbbb\n")
        os.utime(repo.at("a"), long_ago)
    repo.config("core.checkStat", "minimal")
    repo.config("core.trustctime", "false")
    assert repo.ask("diff", "--raw", "main") == ""  # Git itself is taken in
    assert repo.view().shapes == {"a": ("modified", 1, 1, False)}


def test_names_that_differ_in_case_alone_are_two(start):
    """spec 4.2: whatever `core.ignoreCase` says."""
    repo = start({"keep": "k\n"})
    repo.write("KEEP", "needle\n")
    repo.config("core.ignoreCase", "true")
    assert repo.ask("ls-files", "--others") == ""  # Git itself is taken in
    assert repo.view().shapes == {"KEEP": ("added", 1, 0, False)}


# -- the index and the files disagree ------------------------------------------------------------------------------------


def test_removed_from_the_index_with_the_file_left(start):
    """spec 4.1: the tracked record stands: deleted, once, whatever lies there, ignored or not."""
    repo = start({"keep": "k\n"})
    repo.git("rm", "-q", "--cached", "keep")
    expected = {"keep": ("deleted", 0, 1, False)}
    assert repo.view().shapes == expected
    repo.append("keep", "more\n")
    assert repo.view().shapes == expected
    assert repo.view().sides["keep"] == (blob(repo, "k\n"), None)
    repo.write(".gitignore", "keep\n")
    assert repo.view().shapes == {".gitignore": ("added", 1, 0, False), **expected}
    repo.remove("keep")
    assert repo.view().shapes == {".gitignore": ("added", 1, 0, False), **expected}


def test_only_meant_to_be_added(start):
    """spec 4.1: `add -N` is an addition of what lies there; with the file gone it is nothing at all."""
    repo = start({"empty-before": "", "back": "b\n"})
    repo.write("empty")
    repo.write("text", "needle\n")
    repo.write("[ab]c", "needle\n")
    repo.git("add", "--intent-to-add", ".")
    repo.git("rm", "-q", "--cached", "back")
    repo.git("add", "--intent-to-add", "back")
    expected = {"[ab]c": ("added", 1, 0, False), "empty": ("added", 0, 0, False), "text": ("added", 1, 0, False)}
    view = repo.view()
    assert view.shapes == expected
    assert view.added("text") == [b"needle"]
    for path in ("text", "empty", "empty-before", "back"):
        repo.remove(path)
    assert repo.view().shapes == {
        "[ab]c": ("added", 1, 0, False),
        "back": ("deleted", 0, 1, False),
        "empty-before": ("deleted", 0, 0, False),
    }


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_index_flags_hide_nothing(start, flag):
    """spec 4.2: an edit, a mode, a type behind such a flag is a change; what is the same is none."""
    files = {"edit": "e\n", "mode": "m\n", "type": "t\n", "same": "s\n", "staged": "s\n", "touched": "t\n"}
    repo = start(files)
    repo.write("staged", "index\n")
    repo.git("add", "staged")
    repo.git("update-index", flag, *files)
    repo.write("edit", "needle\n")
    repo.at("mode").chmod(0o755)
    repo.link("type", "to")
    repo.write("staged", "index\nand more\n")
    os.utime(repo.at("touched"))
    view = repo.view()
    assert view.shapes == {
        "edit": ("modified", 1, 1, False),
        "mode": ("modified", 0, 0, False),
        "staged": ("modified", 2, 1, False),
        "type": ("modified", 1, 1, False),
    }
    assert view.added("edit") == [b"needle"]


def test_a_hidden_file_that_is_gone(start):
    """spec 4.2: assume-unchanged hides no deletion; what skip-worktree leaves out is no deletion (a sparse checkout)."""
    repo = start({"assumed": "a\n", "skipped": "s\n", "became/dir": "d\n", "flat": "f\n"})
    repo.git("update-index", "--assume-unchanged", "assumed", "flat")
    repo.git("update-index", "--skip-worktree", "skipped", "became/dir")
    for path in ("assumed", "skipped", "flat", "became"):
        repo.remove(path)
    repo.at("flat").mkdir()
    repo.write("became/dir/below", "x\n")
    assert repo.view().shapes == {
        "assumed": ("deleted", 0, 1, False),
        "became/dir/below": ("added", 1, 0, False),
        "flat": ("deleted", 0, 1, False),
    }


def test_the_executable_bit_is_the_indexs_where_git_does_not_look_at_it(start):
    """spec 4.2: with `core.fileMode = false` it is no change, hidden by a flag or not, unmerged or not; staged, it is one."""
    repo = start(dict.fromkeys(("plain", "assumed", "skipped", "edited", "staged"), "x\n"))
    repo.config("core.fileMode", "false")
    repo.git("update-index", "--assume-unchanged", "assumed")
    repo.git("update-index", "--skip-worktree", "skipped")
    for path in ("plain", "assumed", "skipped", "edited"):
        repo.at(path).chmod(0o755)
    repo.append("edited", "y\n")
    repo.git("update-index", "--chmod=+x", "staged")
    view = repo.view()
    assert view.shapes == {"edited": ("modified", 1, 0, False), "staged": ("modified", 0, 0, False)}
    assert view.sides["edited"] == (blob(repo, "x\n"), blob(repo, "x\ny\n"))
    assert view.sides["staged"] == (blob(repo, "x\n"), blob(repo, "x\n", PROGRAM))


@pytest.mark.parametrize("options", [(), ("--sparse-index",)], ids=["full index", "sparse index"])
def test_a_sparse_checkout_lacks_files_without_deleting_them(start, options):
    """spec 4.1: what is left out is no deletion; what lies there all the same is seen."""
    repo = start({f"d{n}/f": "x\n" for n in range(3)})
    repo.git("sparse-checkout", "set", "--cone", *options, "d0")
    assert not repo.at("d1/f").exists()
    assert repo.view().shapes == {}
    repo.append("d0/f", "y\n")
    repo.write("d1/f", "needle\n")
    repo.write("d2/new", "n\n")
    assert repo.view().shapes == {
        "d0/f": ("modified", 1, 0, False),
        "d1/f": ("modified", 1, 1, False),
        "d2/new": ("added", 1, 0, False),
    }
    repo.git("rm", "-q", "--sparse", "--cached", "d2/f")
    assert repo.view().file("d2/f").kind == "deleted"


# -- conflicts -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def conflict(start):
    """Both modified, both added, deleted by us, deleted by them."""
    repo = start({"both": "b\n", "ours": "o\n", "theirs": "t\n", "clean": "c\n"})
    repo.write("both", "left\n")
    repo.write("add", "left\n")
    repo.remove("ours")
    repo.append("theirs", "left\n")
    repo.commit("left")
    repo.git("switch", "-q", "-c", "other", "main")
    repo.write("both", "right\n")
    repo.write("add", "right\n")
    repo.append("ours", "right\n")
    repo.remove("theirs")
    repo.write("clean", "right\n")
    repo.commit("right")
    repo.git("switch", "-q", "work")
    repo.git("merge", "other", status=1)
    return repo


def test_an_unmerged_path_is_what_lies_there(conflict):
    """spec 4.1: each once, with the kind of Git's diff from the policy commit to the working tree; lines are the file's own."""
    view = conflict.view()
    assert view.shapes == {
        "add": ("added", 5, 0, False),
        "both": ("modified", 5, 1, False),
        "clean": ("modified", 1, 1, False),
        "ours": ("modified", 1, 0, False),
        "theirs": ("modified", 1, 0, False),
    }
    assert view.added("both") == conflict.at("both").read_bytes().split(b"\n")[:-1]
    plain = conflict.ask("diff", "--name-status", "--no-renames", "main").split("\n")
    letters = {"added": "A", "modified": "M", "deleted": "D"}
    assert sorted(line for line in plain if line[0] != "U") == sorted(f"{letters[c.kind]}\t{c.path}" for c in view.facts.changes)


def test_an_unmerged_path_that_is_gone_or_solved(conflict):
    """spec 4.1: gone is deleted (or nothing, if it was never there); back at the policy commit's bytes is no change."""
    for path in ("add", "both", "ours"):
        conflict.remove(path)
    conflict.write("theirs", "t\n")
    conflict.at("both").mkdir()
    expected = {
        "both": ("deleted", 0, 1, False),
        "clean": ("modified", 1, 1, False),
        "ours": ("deleted", 0, 1, False),
    }
    assert conflict.view().shapes == expected
    conflict.git("add", "--all")
    assert conflict.view().shapes == expected


def test_an_unmerged_path_may_be_a_link_or_a_special_file(conflict):
    """spec 4.1, 4.8: a link is its text; a FIFO is modified, and nothing else is known of it."""
    conflict.link("both", "somewhere")
    conflict.remove("add")
    os.mkfifo(conflict.at("add"))
    view = conflict.view()
    assert view.shapes["both"] == ("modified", 1, 1, False)
    assert view.added("both") == [b"somewhere"]
    assert view.shapes["add"] == ("added", LOST, LOST)
    assert view.shapes["ours"] == ("modified", 1, 0, False)


# -- special files -------------------------------------------------------------------------------------------------------


def test_a_tracked_path_that_is_special_now_takes_nothing_else_down(start):
    """spec 4.8: modified, everything else unavailable; the other paths answer."""
    repo = start({"fifo": "f\n", "dir": "d\n", "ok": "o\n", "staged": "s\n"})
    repo.write("staged", "index\n")
    repo.git("add", "staged")
    for path in ("fifo", "dir", "staged"):
        repo.remove(path)
    os.mkfifo(repo.at("fifo"))
    os.mkfifo(repo.at("staged"))
    repo.at("dir").mkdir()
    repo.append("ok", "needle\n")
    view = repo.view()
    assert view.shapes == {
        "dir": ("deleted", 0, 1, False),  # an empty directory is nothing to Git
        "fifo": ("modified", LOST, LOST),
        "ok": ("modified", 1, 0, False),
        "staged": ("modified", LOST, LOST),
    }
    assert (view.why("fifo"), view.why("ok")) == (LOST, "available")


def test_a_tracked_path_that_may_not_be_read_takes_nothing_else_down(start, monkeypatch):
    """spec 4.8: `unreadable`, for that path alone. The system's refusal is staged, so that it is one for root as well."""
    repo = start({"a": "a\n", "b": "b\n", "c": "c\n"})
    for path in "abc":
        repo.append(path, "more\n")
    real = os.open

    def guarded(path, flags, *rest, **more):
        if path == b"b" and flags & os.O_NONBLOCK:
            raise PermissionError(13, "no")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", guarded)
    view = repo.view()
    assert view.shapes == {
        "a": ("modified", 1, 0, False),
        "b": ("modified", "unreadable", "unreadable"),
        "c": ("modified", 1, 0, False),
    }


def test_files_behind_a_link_in_a_circle_are_gone(start):
    """spec 4.1: Git cannot look at them, and only says so."""
    repo = start({"d/x": "x\n", "d/y": "y\n", "e/z": "z\n", "hidden/s": "s\n"})
    repo.git("update-index", "--skip-worktree", "hidden/s")
    repo.link("loop", "loop")
    for path in ("d", "e", "hidden"):
        shutil.rmtree(repo.at(path))
        repo.link(path, "loop")
    repo.git("add", "-N", "loop")
    view = repo.view()
    assert {path: shape[0] for path, shape in view.shapes.items()} == {
        **dict.fromkeys(("d", "e", "hidden", "loop"), "added"),
        **dict.fromkeys(("d/x", "d/y", "e/z"), "deleted"),
    }


@pytest.mark.parametrize("attribute", ["working-tree-encoding=UTF-16", "filter=broken"])
def test_a_file_that_cannot_be_converted_takes_nothing_else_down(start, attribute):
    """spec 4.8: however many of them there are; Git stops at each, and the ones behind it are asked for again."""
    repo = start({f"f{n}": "x\n" for n in range(9)})
    repo.config("filter.broken.clean", "false")
    repo.config("filter.broken.required", "true")
    repo.write(".gitattributes", f"f[0-5] {attribute}\n")
    for n in range(9):
        repo.write(f"f{n}", b"\xff\xfe\x00\xd8y\n")
    view = repo.view()
    assert [view.shapes[f"f{n}"] for n in range(6)] == [("modified", "unreadable", "unreadable")] * 6
    assert all(view.shapes[f"f{n}"][1:3] == (0, 0) for n in range(6, 9))  # it holds a NUL: binary
    assert len(view.questions) < 20


# -- submodules and repositories in the tree -----------------------------------------------------------------------------


@pytest.fixture
def super_project(start):
    """`vend` is a submodule of two commits at its second, recorded on the trunk."""
    repo = start({"a": "a\n"})
    repo.nested("vend", "one\n", "two\n")
    repo.git("add", "vend")
    repo.commit("vend", add=False)
    repo.git("branch", "--force", "main")
    return repo


def inner(repo: Repo) -> Repo:
    return Repo(repo.at("vend"), repo.environment)


def test_a_submodule_is_changed_when_its_commit_is(super_project):
    """spec 4.2, 4.8, 7.2: moved, checked out or recorded; nothing is known of it but its two commits."""
    repo, vend = super_project, inner(super_project)
    assert repo.view().shapes == {}
    second, first = vend.rev("HEAD"), vend.rev("HEAD~1")
    vend.git("checkout", "-q", first)
    for view in in_every_state(repo):
        assert view.shapes == {"vend": ("modified", LOST, LOST)}
        assert view.why("vend") == LOST
        assert view.sides["vend"] == (Entry(GITLINK, second), Entry(GITLINK, first))
    vend.git("checkout", "-q", second)  # recorded: the first
    view = repo.view()
    assert view.shapes == {"vend": ("modified", LOST, LOST)}
    assert view.changes[0].trouble == LOST  # no single id says what it is


def test_an_edit_inside_a_submodule_is_no_change_and_nothing_below_it_is_listed(super_project):
    """spec 4.2: neither dirty nor untracked files of it."""
    inner(super_project).write("s", "needle\n")
    inner(super_project).write("new", "needle\n")
    assert super_project.view().shapes == {}


@pytest.mark.parametrize(
    "place", ["gitmodules", "diff.ignoreSubmodules", "submodule.vend.ignore", "assume-unchanged", "skip-worktree"]
)
def test_no_setting_hides_a_submodule_that_moved(super_project, place):
    """spec 4.2: no submodule ignore setting, `.gitmodules` included, and no flag of the index."""
    repo = super_project
    repo.write(".gitmodules", '[submodule "vend"]\n\tpath = vend\n\turl = ../vend\n')
    repo.commit("gitmodules")
    repo.git("branch", "--force", "main")
    if place == "gitmodules":
        repo.git("config", "-f", ".gitmodules", "submodule.vend.ignore", "all")
    elif "." in place:
        repo.config(place, "all")
    else:
        repo.git("update-index", f"--{place}", "vend")
    assert "vend" not in repo.view().paths
    inner(repo).git("checkout", "-q", "HEAD~1")
    assert "vend" not in repo.ask("diff", "--name-only", "main")  # Git itself is taken in
    view = repo.view()
    assert view.shapes["vend"] == ("modified", LOST, LOST)
    assert view.sides["vend"][1] == Entry(GITLINK, inner(repo).rev("HEAD"))


def test_a_submodule_in_a_sparse_checkout_is_no_change(super_project):
    """spec 4.1: its directory stays, and its entry is skipped."""
    super_project.git("sparse-checkout", "set", "--cone", "nothing")
    assert super_project.view().shapes == {}


def test_a_submodule_added_removed_or_replaced(super_project):
    """spec 4.8: by its record; a directory without a repository, or with a broken one, is what is recorded, as for Git."""
    repo = super_project
    repo.nested("more", "x\n")
    assert repo.view().shapes == {"more": ("added", LOST, LOST)}  # a repository lying there untracked
    repo.git("add", "more")
    view = repo.view()
    assert view.shapes == {"more": ("added", LOST, LOST)}
    assert view.sides["more"] == (None, Entry(GITLINK, Repo(repo.at("more"), repo.environment).rev("HEAD")))
    repo.git("rm", "-q", "-f", "--cached", "more")
    repo.remove("more")
    shutil.rmtree(repo.at("vend/.git"))
    assert repo.view().shapes == {}
    repo.write("vend/.git", "gitdir: /nowhere\n")
    assert repo.view().shapes == {}
    repo.remove("vend")
    repo.at("vend").mkdir()
    assert repo.view().shapes == {}
    repo.remove("vend")
    assert repo.view().shapes == {"vend": ("deleted", LOST, LOST)}
    repo.write("vend", "a file\n")
    for view in in_every_state(repo):
        assert view.shapes == {"vend": ("modified", LOST, LOST)}
        assert view.sides["vend"][1] == blob(repo, "a file\n")


def test_a_file_that_became_a_repository(start):
    """spec 4.8: a type change to a gitlink, staged or not."""
    repo = start({"f": "f\n"})
    repo.remove("f")
    made = repo.nested("f", "x\n")
    for view in in_every_state(repo):
        assert view.shapes == {"f": ("modified", LOST, LOST)}
        assert view.sides["f"] == (blob(repo, "f\n"), Entry(GITLINK, made.rev("HEAD")))


def test_a_repository_lying_in_the_tree_is_one_path(start):
    """spec 4.2: whatever it is called and whatever state it is in; a `.git` that is none is an ordinary directory."""
    repo = start({"a": "a\n"})
    repo.nested("unborn")
    repo.nested("n\n4", "needle\n")
    repo.nested("deep/er", "needle\n")
    repo.write("dangling/.git", "gitdir: /nowhere\n")
    repo.write("dangling/s", "needle\n")
    repo.write("none/.git/x", "")
    repo.write("none/s", "needle\n")
    view = repo.view()
    expected = {
        "deep/er": ("added", LOST, LOST),
        "n\n4": ("added", LOST, LOST),
        "none/s": ("added", 1, 0, False),
        "unborn": ("added", LOST, LOST),
    }
    others = {os.fsdecode(path.rstrip(b"/")) for path in repo.git("ls-files", "-z", "--others").split(b"\0")[:-1]}
    assert set(view.paths) == others
    assert {path: view.shapes[path] for path in expected} == expected
    assert not [path for path in view.paths if path.endswith("/")]


# -- other shapes of repositories ----------------------------------------------------------------------------------------


def varied(repo: Repo) -> dict[str, tuple[object, ...]]:
    """An ordinary change over `a`, `d/b`, `l`, and what is seen of it."""
    repo.append("a", "more\n")
    repo.git("add", "a")
    repo.append("a", "still more\n")
    repo.remove("d/b")
    repo.link("l", "to")
    repo.write("d/u", "needle\n")
    return {
        "a": ("modified", 2, 0, False),
        "d/b": ("deleted", 0, 1, False),
        "d/u": ("added", 1, 0, False),
        "l": ("modified", 1, 1, False),
    }


FILES = {"a": "a\n", "d/b": "b\n", "l": "l\n", "d/c": "c\n"}


def test_a_sha256_repository(start):
    """spec 4.10, 7.2: full object ids of 64 digits."""
    repo = start(FILES, options=("--object-format=sha256",))
    expected = varied(repo)
    view = repo.view()
    assert view.shapes == expected
    assert view.sides["a"] == (blob(repo, "a\n"), blob(repo, "a\nmore\nstill more\n"))
    assert all(len(side.oid) == 64 for pair in view.sides.values() for side in pair if side)
    tip = repo.commit()
    assert repo.view().facts.history == History((tip,))
    assert repo.view().shapes == expected


def test_a_split_index(start):
    """spec 4.2: the other half of it lies beside the index."""
    repo = start(FILES)
    repo.config("splitIndex.maxPercentChange", "100")
    repo.git("update-index", "--split-index")
    expected = varied(repo)
    assert list((repo.path / ".git").glob("sharedindex.*"))
    assert repo.view().shapes == expected


def test_a_linked_worktree(start):
    """spec 4.2: its own index and files, and flags, of the shared repository."""
    repo = start(FILES)
    repo.git("worktree", "add", "-q", "-b", "linked", "../linked", "main")
    linked = Repo(repo.path.parent / "linked", repo.environment)
    linked.git("update-index", "--split-index")
    assert repo.view().shapes == {}
    expected = varied(linked)
    assert linked.view().shapes == expected
    assert repo.view().shapes == {}
    assert linked.view(environment=linked.environment | {"GIT_INDEX_FILE": ".git/index"}).shapes == expected


def test_a_root_below_the_top_level(start):
    """spec 0: paths, base tree and attributes; what lies outside is not seen, and a name that begins alike is outside."""
    repo = start(
        {"p/discern.toml": "", "p/a": "a\n", "p/q/b": "b\n", "x": "x\n", "p2/a": "a\n", ".gitattributes": "*.gen -diff\n"}
    )
    repo.write("p/discern.toml", repo.at("discern.toml").read_bytes())
    repo.commit("policy below")
    repo.git("branch", "--force", "main")
    repo.append("p/a", "a\n")
    repo.remove("p/q/b")
    repo.write("p/q/u", "u\n")
    repo.write("p/g.gen", "g\n")
    repo.write("x", "y\n")
    repo.write("p2/u", "u\n")
    repo.write("pu", "u\n")
    for view in (repo.view(root=str(repo.path / "p")), repo.view(root=str(repo.path / "p") + "/")):
        assert view.shapes == {
            "a": ("modified", 1, 0, False),
            "g.gen": ("added", 0, 0, True),
            "q/b": ("deleted", 0, 1, False),
            "q/u": ("added", 1, 0, False),
        }
        assert view.facts.base.paths == ("a", "discern.toml", "q/b")
    repo.commit()
    assert repo.view(root=str(repo.path / "p"), commit="HEAD").paths == ["a", "g.gen", "q/b", "q/u"]


def test_an_index_that_is_gone_or_a_detached_head(start):
    """spec 4.1: without an index nothing is tracked, and what lies there does not hide that."""
    repo = start({"a": "a\n"})
    repo.git("checkout", "-q", "--detach")
    repo.append("a", "b\n")
    assert repo.view().shapes == {"a": ("modified", 1, 0, False)}
    (repo.path / ".git/index").unlink()
    assert {path: kind for path, (kind, *_) in repo.view().shapes.items()} == {"a": "deleted", "discern.toml": "deleted"}


def test_a_shallow_clone_with_a_merge_base_has_no_countable_history(start):
    """spec 4.10: the walk meets a commit whose parents were cut off."""
    repo = start({"a": "a\n"})
    for n in range(3):
        repo.write(f"f{n}", "x\n")
        repo.commit()
    for n in range(2):
        repo.git("switch", "-q", "-c", f"side{n}", "main")
        repo.write(f"s{n}", "s\n")
        repo.commit()
        repo.git("switch", "-q", "work")
        repo.git("merge", "-q", "-m", "m", f"side{n}")
    repo.git("clone", "-q", "--depth", "2", "--branch", "work", f"file://{repo.path}", "../shallow")
    clone = Repo(repo.path.parent / "shallow", repo.environment)
    clone.git("update-ref", "refs/heads/main", "HEAD~1")
    assert len(clone.ask("rev-list", "main..HEAD").split()) == 2  # the merge, and the side branch as far as it is here
    assert clone.view(trunk="main").facts.history == Unavailable("shallow")
    whole = repo.view().facts.history
    assert isinstance(whole, History)
    assert list(whole.commits) == repo.ask("rev-list", "--reverse", "--topo-order", "main..HEAD").split()


def test_a_partial_clone_fetches_nothing(start):
    """spec 4.2: an object that is not here makes a fact unavailable; no lazy fetch starts."""
    repo = start({"a": "a\n", "big": "b\n" * 100})
    repo.config("uploadpack.allowFilter", "true")
    repo.append("a", "b\n")
    repo.append("big", "c\n")
    repo.commit()
    repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", "--branch", "work", f"file://{repo.path}", "../partial")
    clone = Repo(repo.path.parent / "partial", repo.environment)
    clone.git("update-ref", "refs/heads/main", repo.rev("main"))
    policy = clone.git("cat-file", "blob", "main:discern.toml")  # fetched now, so that there is a policy
    assert policy
    objects = sorted(path.name for path in (clone.path / ".git/objects").rglob("*"))
    view = clone.view(commit="HEAD", trunk="main")
    assert {path: kind for path, (kind, *_) in view.shapes.items()} == {"a": "modified", "big": "modified"}
    assert {view.why("a"), view.why("big")} == {"unreadable"}
    assert sorted(path.name for path in (clone.path / ".git/objects").rglob("*")) == objects


# -- what cannot be had --------------------------------------------------------------------------------------------------------


def test_without_a_view_every_definition_drops(start):
    """spec 4.12: an index that cannot be read, say; with Git's own words, and no steps."""
    repo = start({"a": "a\n"})
    repo.append("a", "b\n")
    (repo.path / ".git/index").write_bytes(b"no index" * 9)
    evaluation = repo.outcome("everything")
    assert (evaluation.outcome, evaluation.steps) == ("dropped", ())
    assert evaluation.drop is not None
    assert evaluation.drop.reason == "effort_diff_unreadable"
    (drop,) = repo.evaluate().drops
    assert "index" in drop.account
    assert "\n" not in drop.account


@pytest.mark.parametrize("past", [0, 1])
def test_a_history_has_its_limit(start, monkeypatch, past):
    """spec 4.10: exactly at it is admitted; the limit is made small here."""
    repo = start()
    commits = (repo.commit("one"), repo.commit("two"))
    monkeypatch.setattr(policy_commit, "HISTORY_LIMIT", 2 * 41 - past)
    assert repo.view().facts.history == (Unavailable("output_limit") if past else History(commits))


def test_a_history_that_git_cannot_tell_is_not_known(start):
    """spec 4.10: failed, not empty."""
    repo = start()
    with Opening(Asked(str(repo.path)), repo.environment) as opening:
        assert isinstance(opening.found, Ground)
        place = opening.found.repository
        question = policy_commit.ask_history(opening.git, place, repo.rev("main"), "0" * 40)
        assert policy_commit.history(opening.git, place, question) == Unavailable("git_failed")


# -- conversion ----------------------------------------------------------------------------------------------------------


def test_dirty_files_are_what_git_add_would_store(start):
    """spec 4.2: line ends, encodings, `ident`, the user's own filters, chosen by the candidate's attributes as in a commit."""
    attributes = "*.reg text working-tree-encoding=UTF-16LE-BOM\n*.t text eol=crlf\n*.id ident\n*.up filter=up\n"
    files = {
        ".gitattributes": attributes,
        "s.reg": b"\xff\xfe" + "one\ntwo\n".encode("utf-16-le"),
        "e.t": b"a\r\nb\r\n",
        "i.id": b"$Id: something $\nx\n",
        "k": b"a\nb\n",
        "f.up": b"a\nb\n",
    }
    repo = start(files)
    for path in files:
        os.utime(repo.at(path))
    assert repo.view().shapes == {}
    repo.config("filter.up.clean", "tr a-z A-Z")
    repo.write("s.reg", b"\xff\xfe" + "one\nTWO\n".encode("utf-16-le"))
    repo.write("e.t", b"a\r\nB\r\n")
    repo.write("f.up", b"a\nc\n")
    repo.write("k", b"a\r\nb\r\n")
    for view in in_every_state(repo):
        assert view.shapes == {
            "e.t": ("modified", 1, 1, False),
            "f.up": ("modified", 2, 2, False),
            "k": ("modified", 2, 2, False),
            "s.reg": ("modified", 1, 1, False),
        }
        assert view.added("s.reg") == [b"TWO"]
        assert view.added("f.up") == [b"A", b"C"]


def test_the_users_line_ends_are_as_in_a_commit(start):
    """spec 4.2: `core.autocrlf` says what `git add` would store, and `core.safecrlf` stops nothing."""
    repo = start({"k": "a\nb\n", "mixed": "a\n"})
    repo.config("core.autocrlf", "true")
    repo.config("core.safecrlf", "true")
    repo.write("k", b"a\r\nb\r\n")
    repo.write("mixed", b"a\r\nb\n")
    assert repo.view().shapes == {"mixed": ("modified", 1, 0, False)}


# -- names ---------------------------------------------------------------------------------------------------------------

NAMES = (
    *(
        "sp ace",
        'quo"te',
        "back\\slash",
        "tab\t",
        "new\nline",
        "cr\r",
        "-dash",
        "--",
        ":colon",
        ":(glob)x",
        ":(top)keep",
        ":!x",
        ":/x",
    ),
    *(
        "*",
        "a*b",
        "[x]",
        "{y,z}",
        "?",
        "#hash",
        "!bang",
        "~tilde",
        " b/c",
        "x b/y",
        "a -> b",
        "é",
        "e\u0301",
        "日本/語",
        "trailing ",
    ),
    *("\x01", "\x7f", "\u2028", "\ufeff", "...", "..a", "@", "HEAD", "main", "dev/null", "\\303\\251", ".gitfoo", "0", "n\nx/y"),
    *(os.fsdecode(raw) for raw in (b"\xff\xfe", b"caf\xe9", b"d\xff/x", b"\xed\xa0\x80", b"\xc0\xaf")),
    *("n" * 255, "/".join(["d" * 200] * 15) + "/leaf"),
)


def test_names_of_every_kind(start):
    """spec 0: bytes are bytes; sorted as such; none is quoted, split, taken for an option, a pattern or a revision, or lost."""
    changed, gone, new = NAMES[0::3], NAMES[1::3], NAMES[2::3]
    repo = start(dict.fromkeys((*changed, *gone), "old\n"))
    for path in changed:
        repo.append(path, "needle\n")
    for path in gone:
        repo.remove(path)
    for path in new:
        repo.write(path, "needle\nx\n")
    expected = dict.fromkeys(changed, ("modified", 1, 0, False)) | dict.fromkeys(gone, ("deleted", 0, 1, False))
    expected |= dict.fromkeys(new, ("added", 2, 0, False))
    for view in in_every_state(repo):
        assert view.shapes == expected
        assert view.paths == sorted(expected, key=os.fsencode)
        assert all(view.added(path)[0] == b"needle" for path in (*changed, *new))


def test_a_path_that_leads_out_of_the_tree_is_a_name_like_any_other(start):
    """spec 0, 4.2: a tree made by hand may hold `..`; nothing is written or read by that name, and nothing else is lost."""
    repo = start({"a": "a\n", ".gitattributes": "*.gen -diff\n"})
    governing = repo.ask("hash-object", "-w", "--stdin", stdin=b"* -diff\n")
    folder = repo.ask("mktree", stdin=f"100644 blob {governing}\t.gitattributes\n".encode())
    for _ in range(2):
        folder = repo.ask("mktree", stdin=f"040000 tree {folder}\t..\n".encode())

    def commit(below: str, *parents: str) -> str:
        tree = repo.ask("mktree", stdin=repo.git("ls-tree", "work") + f"040000 tree {below}\t..\n".encode())
        return repo.ask("commit-tree", "-m", "x", tree, *(word for parent in parents for word in ("-p", parent)))

    base = commit(folder)
    repo.git("update-ref", "refs/heads/main", base)
    other = repo.ask("mktree", stdin=f"100644 blob {governing}\tz\n".encode())
    around = sorted(path for path in repo.path.parent.rglob("*") if ".git" not in path.parts)
    view = repo.view(commit=commit(other, base))
    assert view.shapes == {"../z": ("added", 1, 0, False), "../../../.gitattributes": ("deleted", 0, 1, False)}
    assert sorted(path for path in repo.path.parent.rglob("*") if ".git" not in path.parts) == around


# -- what Git prints -----------------------------------------------------------------------------------------------------

OID, NONE = "1" * 40, "0" * 40


def test_raw_rows_are_read_by_their_columns():
    """Modes, object ids, a letter, and the path as it is."""
    output = f":100644 000000 {OID} {NONE} D\0a\n:b\0:000000 120000 {NONE} {OID} A\0 \0".encode()
    assert parse_raw(output) == [
        Row("D", Entry(TEXT, OID), Entry("000000", NONE), b"a\n:b"),
        Row("A", Entry("000000", NONE), Entry(LINK, OID), b" "),
    ]
    assert parse_raw(b"") == []


@pytest.mark.parametrize(
    "output",
    [
        f":100644 100644 {OID} {OID} M\0a",
        f":100644 100644 {OID} {OID} M\0",
        f":100644 100644 {OID} {OID} M\0\0",
        f":100644 100644 {OID} {OID} R100\0a\0b\0",
        f":100644 100644 {OID} {OID} X\0a\0",
        f":100644 100644 {OID} {OID} M extra\0a\0",
        f"100644 100644 {OID} {OID} M\0a\0",
        f":100644 100644 {OID} M\0a\0",
        f"::100644 100644 100644 {OID} {OID} {OID} MM\0a\0",
        "a\0b\0",
    ],
)
def test_a_raw_row_of_another_shape_is_no_listing(output):
    """spec 4.3: a letter outside the known ones stops it; none is ever passed over."""
    assert parse_raw(output.encode()) is None


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_marks_are_kept_of_what_is_hidden_and_what_is_untracked(size):
    """`ls-files -v`: an ordinary entry is dropped as it is read, in however many pieces it comes."""
    output = b"H plain\0h assumed\0S skipped\0s both\0M unmerged\0M unmerged\0? un\ntracked\0? dir/\0H ? x\0"
    marks = Marks()
    for at in range(0, len(output), size):
        assert marks.take(output[at : at + size])
    assert marks.hidden == [("h", b"assumed"), ("S", b"skipped"), ("s", b"both")]
    assert marks.untracked == [b"un\ntracked", b"dir/"]


def test_the_modes_of_files_are_those_that_git_stores(start):
    """spec 7.2: the owner's executable bit alone counts."""
    repo = start(dict.fromkeys(("a", "b", "c"), "x\n"))
    for path, mode in (("a", 0o700), ("b", 0o655), ("c", 0o4744)):
        repo.at(path).chmod(mode)
    assert stat.S_IMODE(repo.at("b").stat().st_mode) == 0o655
    assert repo.view().shapes == {"a": ("modified", 0, 0, False), "c": ("modified", 0, 0, False)}
