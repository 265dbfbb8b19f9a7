"""Safe Git identities of paths (spec 7.2): what the policy commit has, and what `git add` would store, without storing it."""

from __future__ import annotations

import os

import pytest

from discern.effects import subjects, view
from discern.effects.opening import Ground, Opening
from discern.effects.repository import Asked
from discern.effects.sealed import Entry
from discern.effects.subjects import identify
from discern.effects.worktree import Worktree
from tests.repositories import Repo

POLICY = """[checkpoints.all]
exclude_paths = ["bad*"]
question = "Is it well?"
[checkpoints.bad]
paths = ["bad*"]
question = "Is it well?"
[checkpoints.similar]
kinds = ["added"]
similar_new_file = true
question = "Is it well?"
"""


def identities(repo: Repo, root: str | None = None) -> dict[str, tuple[Entry | None, Entry | None]]:
    """Both sides of every changed path, as far as they have one."""
    seen = repo.view(root=root)
    with Opening(Asked(root or str(repo.path)), repo.environment) as opening:
        ground = opening.found
        assert isinstance(ground, Ground)
        with Worktree(ground.repository.root) as worktree:
            found = identify(opening.git, ground.repository, ground.sealed, worktree, seen.changes, range(len(seen.changes)))
    return {os.fsdecode(seen.changes[index].path): sides for index, sides in found.items()}


def staged(repo: Repo) -> dict[str, Entry]:
    """What the index has, by path."""
    rows = (row.partition("\t") for row in os.fsdecode(repo.git("ls-files", "-z", "--stage")).split("\0")[:-1])
    return {path: Entry(*words.split()[:2]) for words, _, path in rows}


def subject(repo: Repo, identity: str) -> str | None:
    (found,) = (one.subject for one in repo.evaluate().checkpoints if one.definition.id == identity)
    return found


ODD = {
    "plain": b"x\n",
    "empty": b"",
    "crlf": b"a\r\nb\r\n",
    "crlf.text": b"a\r\nb\r\n",
    "mixed.text": b"a\r\nb\n",
    "nul": b"\0\r\n",
    "enc.reg": b"\xff\xfe" + "one\n".encode("utf-16-le"),
    "f.up": b"abc\n",
    "i.id": b"$Id: 1 $\n",
    "new\nline": b"n\n",
    'q"\\\t': b"q\n",
    "café": b"c\n",
    "-dash": b"d\n",
    "d/e/f": b"f\n",
    os.fsdecode(b"\xff"): b"y\n",
    " lead": b"l\n",
}
ATTRIBUTES = "*.text text\n*.reg text working-tree-encoding=UTF-16LE-BOM\n*.up filter=up\n*.id ident\n"


@pytest.mark.parametrize(
    "settings", [{}, {"core.autocrlf": "true"}, {"core.fileMode": "false", "core.safecrlf": "true"}], ids=str
)
def test_adding_a_file_moves_nothing(start, settings):
    """spec 7.2: an untracked file has the identity that `git add` gives it, filters, encodings and modes included."""
    repo = start({".gitattributes": ATTRIBUTES}, policy=POLICY)
    repo.config("filter.up.clean", "tr a-z A-Z")
    for key, value in settings.items():
        repo.config(key, value)
    for path, data in ODD.items():
        repo.write(path, data)
    repo.write("program", "#!\n", 0o755)
    repo.write("group", "x\n", 0o654)
    for path, target in {"link": "nowhere", "link-odd": os.fsdecode(b"\xff\n"), "link-dir": "d"}.items():
        repo.link(path, target)
    before, subject_before = identities(repo), subject(repo, "all")
    repo.git("-c", "core.safecrlf=false", "add", "--all")
    index = staged(repo)
    assert before == {path: (None, index[path]) for path in (*ODD, "program", "group", "link", "link-odd", "link-dir")}
    assert identities(repo) == before
    assert subject(repo, "all") == subject_before is not None
    repo.commit(add=False)
    assert identities(repo) == before
    assert subject(repo, "all") == subject_before


def test_staging_and_committing_move_nothing(start):
    """spec 7.2: modified, deleted, a mode, a type; an untouched file has the same id on both sides."""
    repo = start({"mod": "old\n", "gone": "g\n", "exe": "x\n", "to-link": "x\n", "still": "s\n"}, policy=POLICY)
    base = staged(repo)
    repo.write("mod", "new\n")
    repo.remove("gone")
    repo.at("exe").chmod(0o755)
    repo.link("to-link", "there")
    seen, subjects_seen = [identities(repo)], [subject(repo, "all")]
    repo.git("add", "--all")
    index = staged(repo)
    for _ in range(2):
        seen.append(identities(repo))
        subjects_seen.append(subject(repo, "all"))
        repo.commit(add=False)
    assert seen[0] == {path: (base[path], index.get(path)) for path in ("mod", "gone", "exe", "to-link")}
    assert seen == [seen[0]] * 3
    assert subjects_seen == [subjects_seen[0]] * 3
    assert subjects_seen[0] is not None


def test_what_has_no_safe_identity_is_left_out(start):
    """spec 7.2: a special file, a repository, what cannot be converted or is too large; only definitions about it are told so."""
    repo = start({"bad-fifo": "f\n", ".gitattributes": "*.x filter=broken\n", "ok": "o\n"}, policy=POLICY)
    repo.config("filter.broken.clean", "false")
    repo.config("filter.broken.required", "true")
    repo.remove("bad-fifo")
    os.mkfifo(repo.at("bad-fifo"))
    repo.nested("bad-repository", "x\n")
    repo.write("bad.x", "x\n")
    for path in ("bad-large", "ok-as-it-is"):
        repo.write(path)
    with open(repo.at("bad-large"), "wb") as file:
        file.truncate((256 << 20) + 1)
    repo.append("ok", "more\n")
    assert set(identities(repo)) == {"ok", "ok-as-it-is"}
    assert subject(repo, "bad") is None
    assert subject(repo, "all") is not None
    drops = [drop for drop in repo.evaluate().drops if drop.checkpoint == "bad"]
    assert [drop.reason for drop in drops] == ["subject_unavailable"]
    assert repo.outcome("bad").outcome == "fired"


@pytest.mark.parametrize("tracked", [False, True], ids=["untracked", "tracked"])
def test_a_file_of_exactly_the_limit_is_hashed(start, monkeypatch, tracked):
    """spec 7.2: a file over 256 MiB is not hashed; the limit is made small here, its real size is tried above."""
    for module in (subjects, view):
        monkeypatch.setattr(module, "SUBJECT_FILE_LIMIT", 1000)
    repo = start({"at": "", "past": ""} if tracked else {}, policy=POLICY)
    repo.write("at", b"x" * 1000)
    repo.write("past", b"x" * 1001)
    assert set(identities(repo)) == {"at"}
    assert repo.view().sides["past"][1] is None


@pytest.mark.parametrize("first", ["a-plain", "z-plain"])
def test_a_file_that_cannot_be_encoded_has_no_identity(start, first):
    """spec 7.2: `git add` would refuse it; Git that only hashes says so, and gives the id of its bytes as they are."""
    repo = start({".gitattributes": "*.u16 working-tree-encoding=UTF-16\n"}, policy=POLICY)
    for path in ("bad.u16", first):
        repo.write(path, "x\n")
    repo.write("good.u16", "x\n".encode("utf-16"))
    assert set(identities(repo)) == {first, "good.u16"}
    assert subject(repo, "bad") is None
    before = identities(repo)
    repo.git("add", first, "good.u16")
    assert identities(repo) == before


def test_a_filter_that_talks_changes_no_identity(start):
    """spec 7.2: words on standard error are no failure."""
    repo = start({".gitattributes": "*.up filter=up\n"}, policy=POLICY)
    repo.config("filter.up.clean", "echo talk >&2; tr a-z A-Z")
    repo.write("f.up", "abc\n")
    before = identities(repo)
    repo.git("add", "--all")
    assert identities(repo) == before == {"f.up": (None, staged(repo)["f.up"])}


def test_a_large_file_that_was_only_touched_is_no_change(start, monkeypatch):
    """spec 4.2, 7.2: the bytes decide, and its mode; one that Git would convert is not known."""
    monkeypatch.setattr(view, "SUBJECT_FILE_LIMIT", 1000)
    repo = start({"same": b"x" * 2000, "edited": b"x" * 2000, "mode": b"x" * 2000}, policy=POLICY)
    os.utime(repo.at("same"))
    repo.write("edited", b"y" * 2000)
    repo.at("mode").chmod(0o755)
    seen = repo.view()
    assert seen.paths == ["edited", "mode"]
    assert {change.trouble for change in seen.changes} == {"file_limit"}


def test_a_file_that_changes_while_it_is_hashed_has_no_identity(start, monkeypatch):
    """spec 7.2: hashed was what was verified, and nothing else; also if it is a folder that was replaced."""
    repo = start(policy=POLICY)
    for path in ("a", "b", "d/f", "e/f"):
        repo.write(path, "x\n")
    real = subjects.hash_files

    def meanwhile(*arguments, **options):
        repo.write("b", "y\n")
        os.rename(repo.at("d"), repo.at("aside"))
        repo.link("d", "e")
        return real(*arguments, **options)

    monkeypatch.setattr(subjects, "hash_files", meanwhile)
    assert set(identities(repo)) == {"a", "e/f"}


def test_related_paths_have_both_sides_too(start):
    """spec 7.2: the similar sibling moves the subject as the file itself does; one that is special has no identity."""
    repo = start({"src/name.c": "one\n", "src/other.c": "o\n"}, policy=POLICY)
    repo.write("src/name_v2.c", "two\n")
    assert [one.path for one in repo.outcome("similar").related] == ["src/name.c"]
    seen = [subject(repo, "similar")]
    repo.append("src/other.c", "more\n")
    assert subject(repo, "similar") == seen[0] is not None
    repo.append("src/name.c", "more\n")
    seen.append(subject(repo, "similar"))
    repo.write("src/name_v2.c", "three\n")
    seen.append(subject(repo, "similar"))
    repo.git("add", "--all")
    assert subject(repo, "similar") == seen[-1]
    assert len(set(seen)) == 3
    repo.remove("src/name.c")
    os.mkfifo(repo.at("src/name.c"))
    assert subject(repo, "similar") is None


def test_identities_below_a_root_are_those_of_the_files(start):
    """spec 0, 7.2: paths are root-relative, the files are found all the same."""
    repo = start({"p/a.c": "a\n", "a.c": "z\n"}, policy="")
    repo.write("p/discern.toml", POLICY)
    repo.commit("policy")
    repo.git("branch", "--force", "main")
    repo.append("p/a.c", "b\n")
    repo.write("p/u.c", "u\n")
    found = identities(repo, str(repo.path / "p"))
    repo.git("add", "--all")
    index = staged(repo)
    assert {path: sides[1] for path, sides in found.items()} == {"a.c": index["p/a.c"], "u.c": index["p/u.c"]}


def test_the_sha256_of_a_sha256_repository(start):
    """spec 7.2: ids are the repository's own."""
    repo = start({"a": "a\n"}, policy=POLICY, options=("--object-format=sha256",))
    repo.append("a", "b\n")
    repo.write("u", "u\n")
    repo.link("l", "u")
    found = identities(repo)
    repo.git("add", "--all")
    index = staged(repo)
    assert {path: sides[1] for path, sides in found.items()} == {path: index[path] for path in ("a", "l", "u")}
    assert all(len(side.oid) == 64 for sides in found.values() for side in sides if side)
