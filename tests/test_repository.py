"""Which repository, which HEAD, which trunk, which policy commit: object ids before anything is read (spec 1.1, 1.2, 4.3)."""

from __future__ import annotations

import os

import pytest

from discern.effects.git import Git, Refused
from discern.effects.repository import Asked, Bases, Repository, Trunk, is_oid, open_repository, parse_bases, parse_refs
from tests.repositories import Repo

A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)


def found(repo: Repo, **asked: str) -> tuple[Repository, Bases] | Refused:
    with Git(repo.environment) as git:
        return open_repository(git, Asked(**{"root": str(repo.path), **asked}))


def bases(repo: Repo, **asked: str) -> Bases:
    answer = found(repo, **asked)
    assert not isinstance(answer, Refused), answer.message
    return answer[1]


def trunk(repo: Repo, **asked: str) -> Trunk | None:
    return bases(repo, **asked).trunk


def refusal(repo: Repo, **asked: str) -> str:
    answer = found(repo, **asked)
    assert isinstance(answer, Refused)
    assert "\n" not in answer.message
    return answer.message


@pytest.fixture
def repo(start):
    """`main` with the policy, then two commits on `work`."""
    made = start({"a": "a\n"})
    made.write("b", "b\n")
    made.commit("one")
    made.write("c", "c\n")
    made.commit("two")
    return made


def test_head_trunk_and_policy_commit_are_object_ids(repo):
    """spec 4.3: all three by one look."""
    assert bases(repo) == Bases(repo.rev("work"), Trunk("refs/heads/main", repo.rev("main")), (repo.rev("main"),))


def test_places_are_absolute_and_the_root_may_lie_below_the_top(repo):
    """spec 0: the project root is the top level unless one inside it is named."""
    (repo.path / "sub/deep").mkdir(parents=True)
    top = os.path.realpath(repo.path)
    for root, prefix in ((str(repo.path), ""), (str(repo.path / "sub/deep"), "sub/deep/")):
        answer = found(repo, root=root)
        assert not isinstance(answer, Refused)
        place = answer[0]
        assert (place.top, place.prefix, place.root) == (top, prefix, os.path.join(top, prefix).rstrip("/"))
        assert (place.git_directory, place.common_directory) == (top + "/.git", top + "/.git")
        assert (place.object_format, place.shallow) == ("sha1", False)


def test_started_inside_a_directory_the_root_is_the_top(repo, monkeypatch):
    """spec 0: without `--root` the Git top level, wherever in it one stands."""
    (repo.path / "sub").mkdir()
    monkeypatch.chdir(repo.path / "sub")
    with Git(repo.environment) as git:
        answer = open_repository(git, Asked())
    assert not isinstance(answer, Refused)
    assert (answer[0].prefix, answer[0].root) == ("", os.path.realpath(repo.path))


@pytest.mark.parametrize(
    "name", ["new\nline", "\nfirst", "last\n", "two\n\nlines", "f" * 40, "^" + "f" * 40, "\n" + "f" * 40, "'\"\\$é"]
)
def test_a_directory_of_any_name_is_a_root(start, name):
    """spec 0: no name of a directory is taken for something else."""
    repo = start({"a": "a\n"}, name=name)
    answer = found(repo)
    assert not isinstance(answer, Refused), answer.message
    assert answer[0].top == os.path.realpath(repo.path)
    assert answer[0].git_directory == os.path.realpath(repo.path) + "/.git"
    assert answer[1].commits == (repo.rev("main"),)
    repo.append("a", "b\n")
    assert repo.view().shapes == {"a": ("modified", 1, 0, False)}


def test_a_linked_worktree_has_its_own_git_directory_and_head(repo):
    """spec 4.2, 8.1: objects and refs are shared, HEAD and index are not."""
    repo.git("worktree", "add", "-q", "-b", "other", "../linked", "main")
    answer = found(repo, root=str(repo.path.parent / "linked"))
    assert not isinstance(answer, Refused)
    common = os.path.realpath(repo.path) + "/.git"
    assert (answer[0].git_directory, answer[0].common_directory) == (common + "/worktrees/linked", common)
    assert answer[1].head == repo.rev("main")


def test_an_ambient_git_directory_is_not_followed(repo, start):
    """spec 4.2: the repository is the one that holds the directory."""
    other = start({"z": "z\n"}, name="other")
    for ambient in (
        {"GIT_DIR": str(other.path / ".git")},
        {"GIT_DIR": str(other.path / ".git"), "GIT_WORK_TREE": str(other.path)},
        {"GIT_WORK_TREE": str(other.path)},
        {"GIT_COMMON_DIR": str(other.path / ".git")},
        {"GIT_NAMESPACE": "evil"},
    ):
        with Git(repo.environment | ambient) as git:
            answer = open_repository(git, Asked(str(repo.path)))
        assert not isinstance(answer, Refused)
        assert (answer[0].top, answer[1].head) == (os.path.realpath(repo.path), repo.rev("work"))


# -- refusals ------------------------------------------------------------------------------------------------------------


def test_what_is_no_working_tree_is_refused_with_gits_words(repo, tmp_path):
    """spec 9.1: an environment error is told in one line."""
    (tmp_path / "plain").mkdir()
    assert "not a git repository" in refusal(repo, root=str(tmp_path / "plain"))
    assert "no such directory" in refusal(repo, root=str(tmp_path / "nowhere"))
    assert "no such directory" in refusal(repo, root=str(repo.path / "a"))
    repo.git("clone", "-q", "--bare", ".", "../bare.git")
    assert "work tree" in refusal(repo, root=str(repo.path.parent / "bare.git"))
    assert "work tree" in refusal(repo, root=str(repo.path / ".git"))


def test_a_repository_that_git_does_not_trust_is_refused_with_its_advice(repo):
    """spec 4.2: whether it is trusted is for the user to say (`safe.directory`); never an empty change."""
    repo.environment["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    message = refusal(repo)
    assert "dubious ownership" in message
    assert "safe.directory" in message
    (repo.path.parent / "home/.gitconfig").write_text(f"[safe]\n\tdirectory = {os.path.realpath(repo.path)}\n")
    del repo.environment["GIT_CONFIG_GLOBAL"]
    assert bases(repo).trunk == Trunk("refs/heads/main", repo.rev("main"))


@pytest.mark.parametrize("name", ["nowhere", "-x", "--all", "HEAD:a", "main:a", "", "a..b", "0" * 40])
def test_a_commit_that_is_none_is_refused(repo, name):
    """spec 9.1: `--commit` names a commit."""
    assert refusal(repo, commit=name).startswith(f"commit {name}: ")


# -- the trunk -----------------------------------------------------------------------------------------------------------


def test_the_trunk_is_first_where_origin_head_points(repo):
    """spec 1.1: then main, then master; a local branch before origin's of the same name, if the merge-bases are the same."""
    base = repo.rev("main")
    repo.git("update-ref", "refs/remotes/origin/develop", base)
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
    assert trunk(repo) == Trunk("refs/remotes/origin/develop", base)
    repo.git("branch", "develop", base)
    assert trunk(repo) == Trunk("refs/heads/develop", base)
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    repo.git("branch", "master", base)
    assert trunk(repo) == Trunk("refs/heads/main", base)
    repo.git("branch", "-m", "main", "old")
    assert trunk(repo) == Trunk("refs/heads/master", base)
    repo.git("update-ref", "refs/remotes/origin/main", base)
    assert trunk(repo) == Trunk("refs/remotes/origin/main", base)
    for ref in ("refs/remotes/origin/main", "refs/heads/master"):
        repo.git("update-ref", "-d", ref)
    assert bases(repo) == Bases(repo.rev("work"), None, ())


def test_of_a_local_branch_and_origins_the_later_merge_base_counts(repo):
    """spec 1.1: the one whose merge-base descends from the other's; a stale local branch does not drag its old policy in."""
    first, second, tip = repo.rev("main"), repo.rev("work~1"), repo.rev("work")
    repo.git("update-ref", "refs/remotes/origin/main", second)
    assert bases(repo)[1:3] == (Trunk("refs/remotes/origin/main", second), (second,))
    repo.git("update-ref", "refs/heads/main", tip)
    assert bases(repo)[1:3] == (Trunk("refs/heads/main", tip), (tip,))
    repo.git("update-ref", "refs/heads/main", first)
    repo.git("update-ref", "refs/remotes/origin/main", first)
    assert bases(repo)[1:3] == (Trunk("refs/heads/main", first), (first,))


def test_a_trunk_without_any_merge_base_does_not_win(repo):
    """spec 1.1: having one at all wins over having none."""
    base = repo.rev("main")
    lone = repo.ask("commit-tree", "-m", "lone", repo.rev("main^{tree}"))
    repo.git("update-ref", "refs/remotes/origin/main", lone)
    assert bases(repo)[1:3] == (Trunk("refs/heads/main", base), (base,))
    repo.git("update-ref", "refs/heads/main", lone)
    repo.git("update-ref", "refs/remotes/origin/main", base)
    assert bases(repo)[1:3] == (Trunk("refs/remotes/origin/main", base), (base,))


def test_a_tag_a_file_or_an_odd_branch_of_the_name_is_not_the_trunk(repo):
    """spec 1.1: a name is a branch first, and never a short tag name; a branch cannot redirect what it is compared with."""
    base, tip = repo.rev("main"), repo.rev("work")
    repo.git("tag", "main", tip)
    repo.write("main", "a file\n")
    repo.git("update-ref", "refs/heads/origin/main", tip)
    repo.git("update-ref", "refs/heads/heads/main", tip)
    repo.git("update-ref", "refs/heads/HEAD", base)
    for asked in ({}, {"trunk": "main"}):
        assert bases(repo, **asked) == Bases(tip, Trunk("refs/heads/main", base), (base,))
    repo.git("branch", "-m", "main", "old")
    assert trunk(repo) is None
    assert bases(repo, trunk="main").named == "main"
    repo.git("update-ref", "refs/tags/old2", base)
    assert bases(repo, trunk="old2").named == "old2"
    assert trunk(repo, trunk="refs/tags/old2") == Trunk("refs/tags/old2", base)
    assert trunk(repo, trunk="tags/old2") == Trunk("refs/tags/old2", base)


def test_what_git_resolves_may_be_the_trunk(repo):
    """spec 1.1: an object id, a full ref, `HEAD~2`, an annotated tag by its full name."""
    base = repo.rev("main")
    repo.git("tag", "-a", "-m", "t", "v1", base)
    for name, ref in (
        (base, None),
        (base[:10], None),
        ("HEAD~2", None),
        ("refs/heads/main", "refs/heads/main"),
        ("refs/tags/v1", "refs/tags/v1"),
    ):
        assert bases(repo, trunk=name)[1:3] == (Trunk(ref, base), (base,))


@pytest.mark.parametrize(
    "name", ["nowhere", "-x", "--all", "main:a", "a..b", "*", "m*", "mai[n]", "refs/heads", "heads", "main\nwork", ""]
)
def test_a_trunk_that_is_nowhere_is_named_as_such(repo, name):
    """spec 1.1: a flag or variable that resolves to nothing; no pattern, no option, no range, no blob."""
    assert bases(repo, trunk=name) == Bases(repo.rev("work"), None, (), name)


def test_a_broken_or_dangling_trunk_is_none(repo):
    """spec 1.1: the next one is looked for, never guessed."""
    base = repo.rev("main")
    repo.git("branch", "master", base)
    repo.git("symbolic-ref", "refs/heads/main", "refs/heads/nowhere")
    assert trunk(repo) == Trunk("refs/heads/master", base)
    (repo.path / ".git/refs/heads/main").write_text("junk\n")
    assert trunk(repo) == Trunk("refs/heads/master", base)


# -- merge-bases ---------------------------------------------------------------------------------------------------------


def test_of_several_merge_bases_git_says_which_is_first(repo):
    """spec 1.1: the first that `git merge-base --all TRUNK HEAD` prints governs, the others are named; a criss-cross merge."""
    repo.git("branch", "left", "work")
    repo.git("switch", "-q", "-c", "other", "main")
    repo.write("o", "o\n")
    repo.commit("other")
    repo.git("branch", "right")
    repo.git("merge", "-q", "-m", "m1", "left")
    repo.git("switch", "-q", "work")
    repo.git("merge", "-q", "-m", "m2", "right")
    repo.git("branch", "-f", "main", "other")
    expected = tuple(repo.ask("merge-base", "--all", "main", "HEAD").split())
    assert len(expected) == 2
    assert bases(repo).commits == expected
    repo.git("switch", "-q", "other")
    repo.git("branch", "-f", "main", "work")
    assert bases(repo).commits == tuple(repo.ask("merge-base", "--all", "main", "HEAD").split())


def test_without_a_commit_or_a_common_one_there_is_no_policy_commit(repo, start):
    """spec 1.2: unborn HEAD, unrelated histories."""
    repo.git("switch", "-q", "--orphan", "lone")
    assert bases(repo) == Bases(None, Trunk("refs/heads/main", repo.rev("main")), ())
    repo.write("z", "z\n")
    head = repo.commit("root")
    assert bases(repo) == Bases(head, Trunk("refs/heads/main", repo.rev("main")), ())
    assert repo.evaluate().drops[0].reason == "merge_base_unresolved"


def test_a_shallow_clone_says_so(repo):
    """spec 1.2: no merge-base is found, none is invented, nothing is fetched; the account says what to do."""
    repo.git("clone", "-q", "--depth", "1", "--branch", "work", f"file://{repo.path}", "../shallow")
    clone = Repo(repo.path.parent / "shallow", repo.environment)
    clone.git("fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    answer = found(clone, trunk="main")
    assert not isinstance(answer, Refused)
    assert (answer[0].shallow, answer[1].commits) == (True, ())
    (drop,) = clone.evaluate(trunk="main").drops
    assert drop.reason == "merge_base_unresolved"
    assert "fetch --unshallow" in drop.account
    clone.git("fetch", "-q", "--unshallow")
    assert bases(clone, trunk="main").commits == (repo.rev("main"),)


def test_a_commit_has_its_own_merge_base(repo):
    """spec 9.1: with `--commit`, HEAD plays no part."""
    repo.git("update-ref", "refs/heads/main", "work~1")
    assert bases(repo, commit="work~2") == Bases(
        repo.rev("work~2"), Trunk("refs/heads/main", repo.rev("work~1")), (repo.rev("work~2"),)
    )


def test_replaced_objects_and_grafts_change_no_history(repo):
    """spec 4.2: what the repository says instead of its objects does not count."""
    before = repo.view()
    assert before.facts.history.commits == (repo.rev("work~1"), repo.rev("work"))
    repo.git("replace", "--graft", "work", "main")
    assert len(repo.ask("rev-list", "main..work").split()) == 1  # Git itself is taken in
    assert repo.view().facts == before.facts
    repo.git("replace", "-d", repo.rev("work"))
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/grafts").write_text(f"{repo.rev('work')} {repo.rev('main')}\n")
    assert len(repo.ask("rev-list", "main..work").split()) == 1
    assert repo.view().facts == before.facts


# -- what Git prints -----------------------------------------------------------------------------------------------------


def test_refs_are_read_by_their_columns():
    """Name, object id, symbolic target; a line of another shape is none."""
    output = f"refs/heads/a\0{A}\0\nrefs/remotes/origin/HEAD\0{B}\0refs/remotes/origin/x\nodd\nodd\0{A}\n".encode()
    assert parse_refs(output) == {"refs/heads/a": (A, ""), "refs/remotes/origin/HEAD": (B, "refs/remotes/origin/x")}


@pytest.mark.parametrize(
    ("lines", "groups", "expected"),
    [
        ([A, B, "^" + C], 1, [(C,)]),
        ([A, B], 1, [()]),
        ([A, B, "^" + C, "^" + D], 1, [(C, D)]),
        ([A, B, "^" + C, D, B], 2, [(C,), ()]),
        ([A, B, D, B, "^" + C], 2, [(), (C,)]),
        ([], 1, None),
        ([A], 1, None),
        (["^" + C], 1, None),
        ([A, "^" + C, B], 1, None),
        ([A, B], 2, None),
        ([A, B, C, D], 1, None),
        ([A, B, "^^" + C], 1, None),
        ([A, B, "^HEAD"], 1, None),
    ],
)
def test_merge_bases_are_read_group_by_group(lines, groups, expected):
    """Two commits and their merge-bases for each trunk; anything less or more is no answer."""
    assert parse_bases([line.encode() for line in lines], groups) == expected


def test_an_object_id_is_full_and_hexadecimal():
    """40 digits of SHA-1 or 64 of SHA-256, lower case."""
    assert all(map(is_oid, (b"0" * 40, b"abcdef0123" * 4, b"f" * 64)))
    assert not any(map(is_oid, (b"", b"0" * 39, b"0" * 41, b"A" * 40, b"g" * 40, b"0" * 39 + b"\n", b" " + b"0" * 39)))
