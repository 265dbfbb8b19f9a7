"""Flags, counts and lines of real files within their bounds (spec 4.1, 4.3 to 4.8)."""

from __future__ import annotations

import os
import time
import tracemalloc

import pytest

from discern.effects import content, sealed, view
from discern.effects.patch import DRAINED, PatchReader
from discern.effects.worktree import Reader, system_open
from discern.facts import NO_CONTENT, Lines, NotCollected, Unavailable
from discern.vocabulary import BINARY_PREFIX, COUNTING_LIMIT, FILE_LIMIT, LINE_COUNT_LIMIT, LINE_LIMIT, TOTAL_LIMIT
from tests.repositories import EVERYTHING, Repo

PLACES = ("untracked", "staged", "committed", "modified", "deleted")
COUNTING = '[checkpoints.lines]\nmin_changed_lines = 1\nquestion = "Is it well?"\n'
FLAGGING = '[checkpoints.text]\nbinary = false\nquestion = "Is it well?"\n'


def text(size: int) -> bytes:
    """So many bytes of short lines."""
    row = b"." * 63 + b"\n"
    return row * (size // 64) + (b"." * (size % 64 - 1) + b"\n" if size % 64 else b"")


def lay(start, files: dict[str, bytes], place: str, policy: str = EVERYTHING, **more) -> Repo:
    """A repository in which these files are changed in one way; `deleted`: they were there."""
    before = {"modified": dict.fromkeys(files, b""), "deleted": files}.get(place, {})
    repo = start(before, policy=policy, **more)
    for path, data in files.items():
        if place == "deleted":
            repo.remove(path)
        else:
            repo.write(path, data)
    if place == "staged":
        repo.git("add", "--all")
    if place == "committed":
        repo.commit()
    return repo


class Watch:
    """An opener that keeps a twin of each descriptor, to see how far a file was read."""

    def __init__(self) -> None:
        self._twins: dict[str, int] = {}

    def __call__(self, name: bytes, flags: int, folder: int) -> int:
        fd = system_open(name, flags, folder)
        self._twins[os.fsdecode(name)] = os.dup(fd)
        return fd

    def read(self) -> dict[str, int]:
        """Bytes read, by name of the opened file; closes the twins."""
        found = {name: os.lseek(fd, 0, os.SEEK_CUR) for name, fd in self._twins.items()}
        for fd in self._twins.values():
            os.close(fd)
        self._twins = {}
        return found


# -- the boundary table ----------------------------------------------------------------------------------------------------

X = b"x"
FILES = {
    "file-at": (text(FILE_LIMIT), "available"),
    "file-at-unended": (text(FILE_LIMIT - 1) + b".", "available"),
    "file-past": (text(FILE_LIMIT + 1), "file_limit"),
    "file-past-unended": (text(FILE_LIMIT) + b".", "file_limit"),
    "line-at": (X * LINE_LIMIT + b"\n", "available"),
    "line-past": (X * (LINE_LIMIT + 1) + b"\n", "line_limit"),
    "line-at-crlf": (X * LINE_LIMIT + b"\r\n", "available"),
    "line-past-crlf": (X * (LINE_LIMIT + 1) + b"\r\n", "line_limit"),
    "line-two-cr": (X * LINE_LIMIT + b"\r\r\n", "line_limit"),
    "line-at-unended": (X * LINE_LIMIT, "available"),
    "line-past-unended": (X * (LINE_LIMIT + 1), "line_limit"),
    "line-cr-unended": (X * LINE_LIMIT + b"\r", "line_limit"),
    "line-past-in-the-middle": (b"ok\n" + X * (LINE_LIMIT + 1) + b"\nok\n", "line_limit"),
    "line-lone-cr": (X * 5000 + b"\r" + X * 5000 + b"\n", "line_limit"),
    "line-form-feed": (X * 5000 + b"\x0c\x0b\x85" + X * 5000 + b"\n", "line_limit"),
    "file-and-line": (X * (FILE_LIMIT + 1), "file_limit"),
}


@pytest.mark.parametrize("place", PLACES)
def test_one_file_and_one_line(start, place):
    """spec 4.6: exactly at a limit is admitted, one past it is not; the other files are unharmed."""
    seen = lay(start, {path: data for path, (data, _) in FILES.items()}, place).view()
    assert {path: seen.why(path) for path in seen.paths} == {path: reason for path, (_, reason) in FILES.items()}
    for path, (data, reason) in FILES.items():
        lines = seen.file(path).lines
        count = data.count(b"\n") + (not data.endswith(b"\n"))
        if place == "untracked" and reason == "file_limit":  # nobody reads it further
            assert lines == Unavailable("file_limit")
        else:
            assert lines == (Lines(0, count) if place == "deleted" else Lines(count, 0))
        assert seen.file(path).binary is False


@pytest.mark.parametrize("past", [0, 1])
@pytest.mark.parametrize("committed", [False, True], ids=["dirty", "committed"])
def test_both_sides_of_a_file_count(start, committed, past):
    """spec 4.6: the cost is the length of its changed lines on both sides; lines that stay cost nothing."""
    kept = text(FILE_LIMIT * 2).replace(b".", b"k")
    half = text(FILE_LIMIT // 2)
    repo = start({"f": kept + half})
    repo.write("f", kept + text(FILE_LIMIT // 2 + past).replace(b".", b"n"))
    if committed:
        repo.commit()
    assert repo.view().why("f") == ("file_limit" if past else "available")


@pytest.mark.parametrize("past", [0, 1])
@pytest.mark.parametrize("place", [*PLACES[:4], "mixed"])
def test_all_files(start, place, past):
    """spec 4.6: in ascending byte order of path, tracked and untracked interleaved; past the total, every later one is lost."""
    files = {f"f{n}": text(FILE_LIMIT) for n in range(7)}
    files |= {"Z": text(100), "f7": text(FILE_LIMIT - 201 + past), "g": text(100), "é": b"\n"}
    repo = lay(start, files, "untracked" if place == "mixed" else place)
    if place == "mixed":
        repo.git("add", *(f"f{n}" for n in range(0, 8, 2)), "g")
    seen = repo.view()
    assert seen.paths == ["Z", *(f"f{n}" for n in range(8)), "g", "é"]
    lost = {"é"} if past else set()
    assert {path for path in seen.paths if seen.why(path) == "total_bytes"} == lost
    assert {path for path in seen.paths if seen.why(path) == "available"} == set(seen.paths) - lost
    if lost and place in ("untracked", "mixed"):  # é is untracked in both, and so is its count
        assert seen.file("é").lines == Unavailable("total_bytes")


@pytest.mark.parametrize("past", [0, 1])
@pytest.mark.parametrize("place", [*PLACES[:4], "mixed"])
def test_all_lines(start, place, past):
    """spec 4.6: 65,536 lines in all; lines are charged only for a file that is admitted."""
    files = {
        "a": b"a\n" * 40_000,
        "b-long": b"b\n" * 30_000 + X * (LINE_LIMIT + 1),  # not admitted, not charged
        "c": b"c\n" * (LINE_COUNT_LIMIT - 40_000 + past),
        "e": b"e\n",
    }
    repo = lay(start, files, "untracked" if place == "mixed" else place)
    repo.write("d-empty")
    if place == "mixed":
        repo.git("add", "c", "d-empty")
    seen = repo.view()
    reasons = {path: seen.why(path) for path in seen.paths}
    lost = "line_count" if past else "available"
    assert reasons == {"a": "available", "b-long": "line_limit", "c": lost, "d-empty": lost, "e": "line_count"}
    assert all(isinstance(seen.file(path).lines, Lines) for path in seen.paths)  # the counts are facts of their own


@pytest.mark.parametrize("past", [0, 1])
@pytest.mark.parametrize("place", ["untracked", "committed"])
def test_a_file_past_its_limit_is_charged_one_byte_more(start, place, past):
    """spec 4.6: 262,145 bytes and no more; and one that is not admitted for its lines is charged all the same."""
    files = {f"f{n}": text(FILE_LIMIT + 50_000 * n + 1) for n in range(6)}
    files |= {"g-long": text(FILE_LIMIT - LINE_LIMIT - 1) + X * (LINE_LIMIT + 1)}
    files |= {"h": text(TOTAL_LIMIT - 6 * (FILE_LIMIT + 1) - FILE_LIMIT - 1_000), "i": text(1_000 + past), "j": text(1)}
    seen = lay(start, files, place).view()
    expected = [*["file_limit"] * 6, "line_limit", "available", *(["total_bytes"] * 2 if past else ["available", "total_bytes"])]
    assert [seen.why(path) for path in seen.paths] == expected


def test_a_change_of_type_is_one_file(start):
    """spec 4.6: both of its sections together are charged, as for any other; nothing behind it is lost."""
    repo = start({f"f{n}": text(FILE_LIMIT + 1) for n in range(7)} | {"long": X * 9000 + b"\n" + b"a\n" * 9000})
    for n in range(7):
        repo.link(f"f{n}", "t" * 4000)
    repo.link("long", "t" * 4000)
    repo.write("g", text(TOTAL_LIMIT - 7 * (FILE_LIMIT + 1) - 200))
    repo.write("h", text(100))
    repo.git("add", "g", "h")
    seen = repo.view()
    assert [seen.why(path) for path in ("f0", "f6", "g", "h", "long")] == [
        *["file_limit"] * 2,
        "available",
        "available",
        "total_bytes",
    ]
    assert seen.shapes["long"] == ("modified", 1, 9001, False)


def test_the_lines_of_a_change_of_type_that_is_not_admitted_are_not_charged(start):
    """spec 4.6: a line too long on one side leaves the other side's lines uncharged."""
    repo = start({f"a{n}": X * 9000 + b"\n" + b"a\n" * 9000 for n in range(9)})
    for n in range(9):
        repo.link(f"a{n}", "target")
    repo.write("b", b"b\n" * (LINE_COUNT_LIMIT - 1))
    repo.write("c", b"c\n")
    repo.write("d", b"d\n")
    repo.git("add", "--all")
    seen = repo.view()
    assert [seen.why(path) for path in ("a0", "a8", "b", "c", "d")] == [*["line_limit"] * 2, *["available"] * 2, "line_count"]


def test_the_order_of_reasons(start):
    """spec 4.6: the first that applies of a file that is read; past a total, the total's, whatever else is wrong with a file."""
    later = {
        "n-huge": text(300_000),
        "n-huge2": text(300_000),
        "n-long": b"needle" + X * 9000 + b"\n",
        "n-long2": b"needle" + X * 9000 + b"\n",
        "n-small": b"needle\n",
        "n-small2": b"needle\n",
    }
    binary = {"n-x.bin": b"\0" * 9, "n-x.bin2": b"\0" * 400_000, "n-y.bin": b"\0" * 400_000}
    spent = {"total_bytes": {f"f{n}": text(FILE_LIMIT) for n in range(8)} | {"g": b"g\n"}, "line_count": {"g": b"g\n" * 65_537}}
    for reason, first in spent.items():
        repo = lay(start, first | later | binary, "untracked", name=reason)
        repo.git("add", "n-huge2", "n-long2", "n-small2", "n-x.bin2")
        seen = repo.view()
        assert {seen.why(path) for path in ("g", *later)} == {reason}
        assert {seen.file(path).content for path in binary} == {NO_CONTENT}
        assert {seen.shapes[path] for path in binary} == {("added", 0, 0, True)}


# -- what is read, and what is not ---------------------------------------------------------------------------------------------


def test_nothing_is_read_after_a_total_is_spent(start):
    """spec 4.6: but the first 8,000 bytes, which decide the flag and cost nothing."""
    files = {f"f{n}": text(FILE_LIMIT) for n in range(8)} | {
        "g": b"g\n",
        "h": text(100_000),
        "i": text(300_000),
        "j.bin": b"\0" * 100_000,
    }
    watch = Watch()
    seen = lay(start, files, "untracked").view(opener=watch)
    assert seen.why("h") == "total_bytes"
    read = watch.read()
    assert {name: count for name, count in read.items() if name > "g"} == {
        "h": BINARY_PREFIX,
        "i": BINARY_PREFIX,
        "j.bin": BINARY_PREFIX,
    }
    assert read["f7"] == FILE_LIMIT
    assert seen.file("h").lines == Unavailable("total_bytes")


def test_a_file_past_its_limit_is_read_one_byte_past_it(start):
    """spec 4.6: however large it is, and nothing of a binary one but what decides that it is one."""
    watch = Watch()
    files = {"past": text(FILE_LIMIT * 3), "at": text(FILE_LIMIT), "x.bin": b"\0" * FILE_LIMIT * 3, "small": b"s\n"}
    lay(start, files, "untracked").view(opener=watch)
    assert watch.read() == {"past": FILE_LIMIT + 1, "at": FILE_LIMIT, "x.bin": BINARY_PREFIX, "small": 2}


DEMANDING = """[generated.g]
paths = ["gen/**"]
[checkpoints.small]
paths = ["src/**", "gen/**"]
exclude_paths = ["src/skip/**"]
kinds = ["added"]
adds_matching = ["needle"]
question = "Is it well?"
[checkpoints.shape]
paths = ["huge/**"]
question = "Is it well?"
[checkpoints.gone]
paths = ["huge/**"]
kinds = ["deleted"]
adds_matching = ["needle"]
question = "Is it well?"
"""


@pytest.mark.parametrize("committed", [False, True], ids=["untracked", "committed"])
def test_an_irrelevant_path_spends_nothing_and_is_not_opened(start, committed):
    """spec 4.5: content is read of what some definition can still be looking at; a definition that needs none is unharmed."""
    big = text(250_000)
    repo = start({f"src/mod{n}": "" for n in range(9)}, policy=DEMANDING)
    for n in range(9):
        for path in (f"huge/h{n}", f"gen/g{n}", f"src/mod{n}", f"src/skip/s{n}"):
            repo.write(path, big)
    repo.write("src/z", b"needle\n")
    if committed:
        repo.commit()
    watch = Watch()
    seen = repo.view(opener=watch)
    assert watch.read() == ({} if committed else {"z": 7})
    assert seen.added("src/z") == [b"needle"]
    assert {change.path for change in seen.facts.changes if not isinstance(change.content, NotCollected)} == {"src/z"}
    assert repo.outcome("small").matched == ("src/z",)
    assert len(repo.outcome("shape").matched) == 9
    assert repo.outcome("gone").outcome == "vetoed"


def test_the_flag_alone_needs_its_first_bytes(start):
    """spec 4.7: however large the file is."""
    watch = Watch()
    files = {
        "huge": text(FILE_LIMIT * 2),
        "x.bin": b"\0" * FILE_LIMIT * 2,
        "late": b"x" * BINARY_PREFIX + b"\0" * 99,
        "empty": b"",
    }
    seen = lay(start, files, "untracked", FLAGGING).view(opener=watch)
    assert watch.read() == {"huge": BINARY_PREFIX, "x.bin": BINARY_PREFIX, "late": BINARY_PREFIX, "empty": 0}
    assert {change.path: change.binary for change in seen.facts.changes} == {
        "empty": False,
        "huge": False,
        "late": False,
        "x.bin": True,
    }


def test_counting_alone_has_limits_of_its_own(start):
    """spec 4.7: one file's limit, and 64 MiB in all; the flag stays known."""
    repo = start(policy=COUNTING)
    whole = COUNTING_LIMIT // FILE_LIMIT
    repo.write("f000", text(FILE_LIMIT))
    for n in range(1, whole - 1):
        os.link(repo.at("f000"), repo.at(f"f{n:03}"))
    repo.write("a-past", text(FILE_LIMIT + 1))
    repo.write("b.bin", b"\0" * FILE_LIMIT)
    repo.write("g-last", text(FILE_LIMIT - 5))
    repo.write("h-rest", text(5))
    repo.write("i", b"i\n")
    repo.write("j.bin", b"\0\n")
    seen = repo.view()
    assert seen.shapes["a-past"] == ("added", "file_limit", False)
    assert seen.shapes["b.bin"] == seen.shapes["j.bin"] == ("added", 0, 0, True)
    assert {seen.shapes[f"f{n:03}"] for n in range(whole - 1)} == {("added", FILE_LIMIT // 64, 0, False)}
    assert seen.shapes["g-last"] == ("added", (FILE_LIMIT - 5) // 64 + 1, 0, False)
    assert seen.shapes["h-rest"] == ("added", 1, 0, False)
    assert seen.shapes["i"] == ("added", "total_bytes", False)
    repo.write("g-last", text(FILE_LIMIT))
    watch = Watch()
    seen = repo.view(opener=watch)
    assert seen.shapes["h-rest"] == seen.shapes["i"] == ("added", "total_bytes", False)
    read = watch.read()
    assert (read["h-rest"], read["i"]) == (5, 2)  # what decides the flag


def test_a_tracked_file_is_counted_whatever_its_size(start):
    """spec 4.1, 4.7: the limits of counting are those of files that we read ourselves."""
    repo = lay(start, {"past": text(FILE_LIMIT * 2)}, "staged", COUNTING)
    assert repo.view().shapes == {"past": ("added", FILE_LIMIT // 32, 0, False)}


# -- sizes beyond all limits ---------------------------------------------------------------------------------------------------


@pytest.fixture
def taken(monkeypatch):
    """Bytes of patches that came in."""
    pieces: list[int] = []
    real = PatchReader.take

    def take(self, piece):
        pieces.append(len(piece))
        real(self, piece)

    monkeypatch.setattr(PatchReader, "take", take)
    return pieces


def sparse(repo: Repo, path: str, size: int, begin: bytes = b"x" * 63 + b"\n") -> None:
    """A file of a size that takes no room: text as far as anyone looks, and then a hole."""
    with open(repo.at(path), "wb") as file:
        file.write(begin * (BINARY_PREFIX // len(begin) + 1))
        file.truncate(size)


def test_a_huge_file_costs_neither_time_nor_memory(start):
    """spec 4.6, 4.7: 2 GiB, untracked and modified."""
    repo = start({"tracked": "t\n", "z": "z\n"})
    sparse(repo, "untracked", 2 << 30)
    sparse(repo, "tracked", 2 << 30)
    sparse(repo, "x.bin", 2 << 30, b"\0")
    repo.append("z", "needle\n")
    tracemalloc.start()
    began = time.perf_counter()
    seen = repo.view()
    took, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen.shapes == {
        "tracked": ("modified", "file_limit", "file_limit"),
        "untracked": ("added", "file_limit", False),
        "x.bin": ("added", 0, 0, True),
        "z": ("modified", 1, 0, False),
    }
    assert seen.why("untracked") == seen.why("tracked") == "file_limit"
    assert peak < 8 << 20
    assert took < 10  # reading them would take longer by far
    assert {judgement.subject for judgement in repo.evaluate().checkpoints} == {None}


@pytest.mark.parametrize("megabytes", [24, pytest.param(300, marks=pytest.mark.long)])
def test_a_flood_is_stopped_and_not_drained(start, taken, megabytes):
    """spec 4.6: a file changed far past its limit: counted in full by Git, read no further than it takes to know better."""
    repo = start({"a": "a\n", "big": "b\n"})
    repo.config("core.looseCompression", "0")
    repo.write("big", text(megabytes << 20))
    repo.write("z", "needle\n")
    repo.commit()
    tracemalloc.start()
    seen = repo.view()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen.shapes == {"big": ("modified", megabytes << 14, 1, False), "z": ("added", 1, 0, False)}
    assert (seen.why("big"), seen.added("z")) == ("file_limit", [b"needle"])
    assert sum(taken) < FILE_LIMIT + DRAINED + (4 << 20)
    assert peak < 24 << 20
    assert seen.questions.count("diff-tree") == 3


def test_floods_are_few(start, taken):
    """spec 4.6, 4.11: each spends an eighth of the total, so Git is started anew at most eight times."""
    repo = start({f"big{n:02}": "b\n" for n in range(11)})
    repo.config("core.looseCompression", "0")
    for n in range(11):
        repo.write(f"big{n:02}", text(3 << 20))
    repo.write("z", "needle\n")
    repo.commit()
    seen = repo.view()
    reasons = [seen.why(path) for path in seen.paths]
    assert reasons == ["file_limit"] * 8 + ["total_bytes"] * 4
    assert {seen.shapes[f"big{n:02}"] for n in range(11)} == {("modified", 3 << 14, 1, False)}
    assert seen.questions.count("diff-tree") <= 10
    assert sum(taken) < 9 * (FILE_LIMIT + DRAINED + (3 << 20))


@pytest.mark.parametrize("place", ["staged", "deleted"])
def test_the_size_of_a_new_or_deleted_file_is_its_cost(start, taken, place):
    """spec 4.6: Git counts the lines of one past its limit, and is not asked for its patch; it is charged like any other."""
    files = {f"big{n}": text(FILE_LIMIT + 1) for n in range(8)} | {"y": text(FILE_LIMIT), "z": b"needle\n"}
    seen = lay(start, files, place).view()
    reasons = {path: seen.why(path) for path in files}
    assert reasons == {f"big{n}": "file_limit" for n in range(8)} | dict.fromkeys("yz", "total_bytes")
    assert seen.file("big7").lines in (Lines(FILE_LIMIT // 64 + 1, 0), Lines(0, FILE_LIMIT // 64 + 1))
    assert sum(taken) < FILE_LIMIT * 2


@pytest.fixture
def small_git(monkeypatch):
    """Git's own limit of what it loads, made small."""
    for module in (sealed, content):
        monkeypatch.setattr(module, "BIG_FILE", 1 << 20)


def test_what_git_itself_would_not_load(start, small_git):
    """spec 4.1, 4.6: above its size Git calls a file binary unseen: the first bytes say what it is, no one says its lines."""
    repo = start({".gitattributes": "*.txt diff\n*.dat -diff\n", "was-binary": b"\0", "was-small": b"x\n", "was-link": b"x\n"})
    for path in ("at", "past", "past.txt", "past.dat", "was-binary"):
        repo.write(path, text((1 << 20) + path.startswith("past")))
    repo.write("late.bin", text(BINARY_PREFIX - 1)[:-1] + b"\n\0" + text(1 << 20))
    repo.write("late.text", text(BINARY_PREFIX)[:-1] + b"\n\0" + text(1 << 20))
    repo.append("was-binary", "more\n")
    repo.write("was-small", text((1 << 20) + 1))
    repo.commit()
    repo.git("branch", "--force", "main")
    repo.link("was-small", "t")
    repo.write("was-link", text((1 << 20) + 1))
    repo.commit()
    turned = repo.view()
    assert turned.shapes == dict.fromkeys(("was-link", "was-small"), ("modified", "file_limit", False))
    assert {turned.why(path) for path in turned.paths} == {"file_limit"}
    repo.git("branch", "--force", "main", "HEAD~2")
    repo.git("reset", "--hard", "HEAD~1")
    seen = repo.view()
    assert seen.shapes == {
        "at": ("added", 1 << 14, 0, False),
        "late.bin": ("added", 0, 0, True),
        "late.text": ("added", "file_limit", False),
        "past": ("added", "file_limit", False),
        "past.dat": ("added", 0, 0, True),
        "past.txt": ("added", "file_limit", False),
        "was-binary": ("modified", 0, 0, True),
        "was-small": ("modified", "file_limit", False),
    }
    assert seen.file("late.bin").content == NO_CONTENT
    assert {seen.why(path) for path in ("at", "late.text", "past", "past.txt", "was-small")} == {"file_limit"}


def test_what_git_would_not_load_is_charged_and_looked_at_a_few_times(start, small_git):
    """spec 4.6, 4.11: one byte past the limit for each; behind so many nobody looks, and the flag is not guessed either."""
    repo = start()
    for n in range(10):
        repo.write(f"big{n}", text(2 << 20))
    repo.write("z", "needle\n")
    repo.commit()
    seen = repo.view()
    assert [seen.file(path).binary for path in seen.paths] == [False] * 8 + [Unavailable("file_limit")] * 2 + [False]
    assert [seen.why(path) for path in seen.paths] == ["file_limit"] * 10 + ["total_bytes"]
    assert seen.questions.count("cat-file") == 9


# -- what is binary ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
def test_a_nul_in_the_first_bytes_makes_a_file_binary(start, place):
    """spec 4.1: in the first 8,000 of either side; elsewhere it is text. A binary file has available, empty content."""
    files = {
        "first": b"\0",
        "last": b"x" * (BINARY_PREFIX - 1) + b"\0\n",
        "behind": b"x" * BINARY_PREFIX + b"\0\n",
        "latin": b"\xe9\xff\xfe\x80\n",
        "utf16": "text\n".encode("utf-16"),
        "empty": b"",
    }
    seen = lay(start, files, place).view()
    assert {path for path in seen.paths if seen.file(path).binary is True} == {"first", "last", "utf16"}
    assert {path for path in seen.paths if seen.file(path).binary is False} <= {"behind", "latin", "empty"}
    for path in ("first", "last", "utf16"):
        assert (seen.file(path).lines, seen.file(path).content) == (Lines(0, 0), NO_CONTENT)


@pytest.mark.parametrize("policy", [EVERYTHING, COUNTING, FLAGGING], ids=["lines", "counts", "flags"])
def test_a_patch_without_a_line_does_not_say_what_is_binary(start, policy):
    """spec 4.1: a changed mode, an empty file, a binary file that became a link."""
    repo = start({"mode.bin": b"\0", "mode.txt": b"x\n", "emptied": b"x\n", "link.bin": b"\0"}, policy=policy)
    for path in ("mode.bin", "mode.txt"):
        repo.at(path).chmod(0o755)
    repo.write("emptied", "")
    repo.write("new", "")
    repo.link("link.bin", "t")
    repo.commit()
    binary = {change.path: change.binary for change in repo.view().facts.changes}
    assert binary == {"mode.bin": True, "mode.txt": False, "emptied": False, "new": False, "link.bin": True}


def test_either_side_makes_it_binary(start):
    """spec 4.1: from text to binary and back."""
    repo = start({"to": "t\n", "from": b"\0\n", "late": b"x" * 9000 + b"\n"})
    repo.write("to", b"\0\n")
    repo.write("from", "t\n")
    repo.write("late", b"x" * 9000 + b"\0\n")
    seen = repo.view()
    assert {path: seen.file(path).binary for path in seen.paths} == {"from": True, "late": False, "to": True}


def test_untracked_and_added_are_judged_alike(start):
    """spec 4.1, 4.7: adding a file moves no fact of it."""
    files = {
        "empty": b"",
        "one": b"x",
        "lf": b"\n",
        "crlf": b"a\r\nb\r\n",
        "cr": b"a\rb\rc",
        "two": b"a\nb",
        "nul": b"\0",
        "late": b"a" * 8000 + b"\n\0\n",
        "odd": b"\xff\x85\x0c\x0b\x1c\n\xe2\x80\xa8",
        "past": text(300_000),
        "long": b"x" * 9000,
        "syntax": b"+++ b/x\n--- a/x\n@@ -1 +1 @@\n\\ No newline at end of file\ndiff --git a/x b/x\n",
    }
    repo = lay(start, files, "untracked")
    before = repo.view()
    repo.git("add", "--all")
    after = repo.view()
    for path in files:
        one, two = before.file(path), after.file(path)
        assert (one.kind, one.binary, one.content) == (two.kind, two.binary, two.content)
        assert one.lines == (two.lines if path != "past" else Unavailable("file_limit"))


# -- races -------------------------------------------------------------------------------------------------------------------


def to_link(repo: Repo) -> None:
    repo.link("f", "/etc/passwd")


def to_fifo(repo: Repo) -> None:
    repo.remove("f")
    os.mkfifo(repo.at("f"))


def to_nothing(repo: Repo) -> None:
    repo.remove("f")


def to_other(repo: Repo) -> None:
    repo.write("other.tmp", "needle\n")
    os.rename(repo.at("other.tmp"), repo.at("f"))


TRICKS = [(to_link, "unreadable"), (to_fifo, "not_regular"), (to_nothing, "unreadable"), (to_other, "not_regular")]


@pytest.mark.parametrize(("trick", "reason"), TRICKS)
def test_an_untracked_file_that_is_replaced_is_not_read(start, trick, reason):
    """spec 4.7: between the listing's look and the open; the other files answer."""
    repo = start()
    for path in ("a", "f", "z"):
        repo.write(path, "needle\n")

    def opener(name: bytes, flags: int, folder: int) -> int:
        if name == b"f":
            trick(repo)
        return system_open(name, flags, folder)

    seen = repo.view(opener=opener)
    assert seen.shapes == {"a": ("added", 1, 0, False), "f": ("added", reason, reason), "z": ("added", 1, 0, False)}
    assert (seen.why("a"), seen.why("f"), seen.why("z")) == ("available", reason, "available")


def test_an_untracked_file_that_may_not_be_read(start):
    """spec 4.7: `unreadable`, for that file alone."""
    repo = start()
    for path in ("a", "f"):
        repo.write(path, "needle\n")

    def opener(name: bytes, flags: int, folder: int) -> int:
        if name == b"f":
            raise PermissionError(13, "no")
        return system_open(name, flags, folder)

    assert repo.view(opener=opener).shapes == {"a": ("added", 1, 0, False), "f": ("added", "unreadable", "unreadable")}


@pytest.mark.parametrize("policy", [EVERYTHING, COUNTING, FLAGGING], ids=["lines", "counts", "flags"])
def test_an_untracked_file_that_changes_while_it_is_read_is_not_known(start, monkeypatch, policy):
    """spec 4.3: one snapshot, or `inconsistent`; a reason that was found all the same stands, and no line of it is charged."""
    repo = start(policy=policy)
    files = {
        "a": b"needle\n",
        "b": b"b\n" * (LINE_COUNT_LIMIT - 2),
        "big": text(FILE_LIMIT + 1),
        "n.bin": b"\0",
        "z": b"needle\n",
    }
    for path, data in files.items():
        repo.write(path, data)
    before, real = {path: os.stat(repo.at(path)) for path in files}, Reader.read

    def read(self, limit):
        found = real(self, limit)
        for path in ("b", "big", "n.bin"):
            if before[path].st_ino == self.seen.inode:
                repo.append(path, "more\n")
        return found

    monkeypatch.setattr(Reader, "read", read)
    seen = repo.view()
    assert {path: seen.file(path).binary for path in files} == {
        "a": False,
        "z": False,
        **dict.fromkeys(("b", "big", "n.bin"), Unavailable("inconsistent")),
    }
    if policy == EVERYTHING:
        assert {path: seen.why(path) for path in files} == {
            **dict.fromkeys("az", "available"),
            **dict.fromkeys(("b", "n.bin"), "inconsistent"),
            "big": "file_limit",
        }
    if policy != FLAGGING:
        assert seen.file("z").lines == Lines(1, 0)
        assert seen.file("b").lines == Unavailable("inconsistent")


def test_a_tracked_file_that_changes_while_it_is_stored_is_not_known(start, monkeypatch):
    """spec 4.3: one snapshot, or `inconsistent`."""
    repo = start({"a": "a\n", "b": "b\n"})
    for path in "ab":
        repo.append(path, "more\n")
    real = view.hash_files

    def meanwhile(*arguments, **options):
        found = real(*arguments, **options)
        repo.append("b", "and more\n")
        return found

    monkeypatch.setattr(view, "hash_files", meanwhile)
    assert repo.view().shapes == {"a": ("modified", 1, 0, False), "b": ("modified", "inconsistent", "inconsistent")}


LIES = {
    "another count": lambda patch: patch[::-1].replace(b"@@ -1,0 +2 @@"[::-1], b"@@ -1,0 +2,2 @@"[::-1], 1)[::-1],
    "one line more": lambda patch: patch + b"+and more\n",
    "one line less": lambda patch: patch.removesuffix(b"+more\n"),
    "no patch": lambda patch: patch[: patch.index(b"diff --git a/00000001")],
}


@pytest.mark.parametrize("lie", LIES)
def test_counts_and_lines_that_disagree_are_not_believed(start, monkeypatch, lie):
    """spec 4.3: neither of them, for that file alone; Git has never been seen to do so, and so its patch is tampered with."""
    repo = start({"a": "a\n", "b": "b\n"})
    for path in "ab":
        repo.append(path, "more\n")
    real = PatchReader.take
    monkeypatch.setattr(PatchReader, "take", lambda self, piece: real(self, LIES[lie](piece)))
    seen = repo.view()
    assert (seen.why("a"), seen.why("b")) == ("available", "inconsistent")
    assert seen.shapes == {"a": ("modified", 1, 0, False), "b": ("modified", "inconsistent", False)}


def test_what_git_does_not_count_is_not_known(start, monkeypatch):
    """spec 4.3: nothing of a file that the counts do not name."""
    repo = start({"a": "a\n", "b": "b\n"}, policy=COUNTING)
    for path in "ab":
        repo.append(path, "more\n")
    real = content.parse_counts
    monkeypatch.setattr(content, "parse_counts", lambda output: {n: count for n, count in real(output).items() if n != 1})
    assert repo.view().shapes == {"a": ("modified", 1, 0, False), "b": ("modified", "inconsistent", "inconsistent")}


def test_untracked_links_are_not_followed(start):
    """spec 4.7: to a file, to nothing, to a directory, to themselves, to a device."""
    repo = start({"a": "needle\n"})
    targets = {"file": "a", "none": "no/such", "dir": ".", "loop": "loop", "dev": "/dev/zero"}
    for name, target in targets.items():
        repo.link(name, target)
    seen = repo.view()
    assert seen.shapes == dict.fromkeys(sorted(targets), ("added", "not_regular", "not_regular"))
    repo.remove("loop")
    repo.git("add", "--all")
    seen = repo.view()
    assert {path: seen.added(path) for path in seen.paths} == {n: [t.encode()] for n, t in targets.items() if n != "loop"}


# -- how many processes --------------------------------------------------------------------------------------------------------


def scattered(start, count: int) -> Repo:
    """A change of so many files in every way there is."""
    repo = start({f"d{n % 7}/old{n}": "old\n" for n in range(count)}, name=str(count))
    for n in range(count):
        old = f"d{n % 7}/old{n}"
        match n % 5:
            case 0:
                repo.append(old, f"needle {n}\n")
            case 1:
                repo.remove(old)
            case 2:
                repo.write(f"d{n % 7}/new{n}", f"needle {n}\n")
            case 3:
                repo.at(old).chmod(0o755)
            case _:
                repo.link(old, "target")
    repo.git("add", "d1", "d2")
    return repo


def test_the_number_of_questions_does_not_grow(start, tmp_path, monkeypatch):
    """spec 4.11: the same for 35 changed files and for 2,000, and no process that the door does not know of."""
    log = tmp_path / "log"
    shim = tmp_path / "bin/git"
    shim.parent.mkdir()
    real = next(path for folder in os.environ["PATH"].split(":") if os.access(path := f"{folder}/git", os.X_OK))
    shim.write_text(f'#!/bin/sh\necho >> "{log}"\nexec "{real}" "$@"\n')
    shim.chmod(0o755)
    counts = []
    for size in (35, 2000):
        repo = scattered(start, size)
        with monkeypatch.context() as patched:
            patched.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
            log.write_text("")
            questions = repo.view().questions
            seen = len(log.read_text().splitlines())
            log.write_text("")
            repo.evaluate()
            counts.append((sorted(questions), seen, len(log.read_text().splitlines())))
        assert seen == len(questions)
    few, many = counts
    halves = many[0].count("diff-tree") - few[0].count("diff-tree")  # many counts are asked in two halves, a processor each
    assert 0 <= halves <= 1
    assert set(few[0]) == set(many[0])
    assert many[2] - few[2] == halves
    assert many[2] <= 20
