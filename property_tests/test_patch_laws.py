"""Laws of reading what Git prints (spec 4.3, 4.4): rightly, in whatever pieces it comes, and nonsense is no answer."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discern.effects import patch
from discern.effects.budget import Side
from discern.effects.listings import Marks, Row, parse_raw
from discern.effects.patch import parse_counts
from discern.effects.policy_commit import any_below, base_paths, is_inside, named
from discern.effects.sealed import Entry, entry_of, parse_tree, quoted
from tests.fuzz.oracles import check, pieces, read, told
from tests.repositories import hermetic

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LONG = settings(QUICK, max_examples=5_000)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]

# Lines as an adversary writes them: whatever a patch itself is made of, and every byte that something might take for a line end.
SYNTAX = (
    *(b"", b" ", b"+", b"-", b"\\", b"@", b"a", b"b", b"c", b"+++ b/x", b"--- a/x", b"++ b/x", b"-- x", b"@@ -1 +1 @@"),
    *(b"@@ -1,2 +3,4 @@ f", b"diff --git a/00000000 b/00000000", b"diff --git a/00000001 b/00000001", b"index 1..2"),
    *(b"\\ No newline at end of file", b"Binary files a/x and b/x differ", b"GIT binary patch"),
    *(b"\r", b"x\r", b"\r\r", b"\x85", b"\xe2\x80\xa8", b"\x0c"),
)
lines = st.sampled_from(SYNTAX) | st.binary(max_size=6).map(lambda raw: raw.replace(b"\n", b"").replace(b"\0", b""))


def joined(rows: list[bytes], ended: bool) -> bytes:
    """Lines as a text whose last line may have no end."""
    return b"\n".join(rows) + (b"\n" if rows and ended else b"")


def differ_at_all(pair: tuple[bytes, bytes]) -> bool:
    return pair[0] != pair[1]


texts = st.builds(joined, st.lists(lines, max_size=8), st.booleans())
pairs = st.lists(st.tuples(texts, texts).filter(differ_at_all), min_size=1, max_size=4)
cuts = st.lists(st.integers(1, 40), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def differ(tmp_path_factory):
    """Git, asked for counts and patch of pairs of texts as made-up trees hold them."""
    place = tmp_path_factory.mktemp("git")
    environment = hermetic(place / "home")
    subprocess.run(["git", "init", "-q", "--bare", str(place / "r")], env=environment, check=True)

    def git(*words: str, stdin: bytes = b"") -> bytes:
        return subprocess.run(
            ["git", *words], cwd=place / "r", env=environment, input=stdin, capture_output=True, check=True
        ).stdout

    def compare(chosen: list[tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
        names = []
        for number, data in enumerate(side for pair in chosen for side in pair):
            (Path(place) / str(number)).write_bytes(data)
            names.append(f"../{number}\n")
        oids = git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin="".join(names).encode()).decode().split()
        trees = [
            git("mktree", stdin="".join(f"100644 blob {oid}\t{n:08d}\n" for n, oid in enumerate(oids[side::2])).encode())
            .decode()
            .strip()
            for side in (0, 1)
        ]
        return tuple(git("diff-tree", *shape, "-r", "--no-renames", *trees) for shape in (("--numstat", "-z"), ("-p", "-U0")))

    return compare


def split(text: bytes) -> list[bytes]:
    """Lines with their LF, which the last may lack."""
    rows = [row + b"\n" for row in text.split(b"\n")]
    rows[-1] = rows[-1][:-1]
    return rows if rows[-1] else rows[:-1]


def is_within(part: list[bytes], whole: list[bytes]) -> bool:
    """Whether these lines stand in the others in their order."""
    rest = iter(whole)
    return all(any(row == other for other in rest) for row in part)


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_lines_of_a_patch_make_the_new_text_of_the_old(differ, effort):
    """spec 4.3, 4.4: taking away what is removed and putting in what is added leads from the one text to the other, line by line;
    what is removed and added stands in them in that order; and there are as many as Git counts."""

    @effort
    @given(chosen=pairs, sizes=cuts)
    def law(chosen: list[tuple[bytes, bytes]], sizes: list[int]) -> None:
        counts, output = differ(chosen)
        sections = {section.number: section for section in read(output, sizes).sections}
        assert parse_counts(counts) == {number: section.count for number, section in sections.items()}
        assert sections.keys() == set(range(len(chosen)))
        for number, (old, new) in enumerate(chosen):
            section = sections[number]
            added, removed = (split(section.side(sign).raw) for sign in (b"+", b"-"))
            assert is_within(removed, split(old))
            assert is_within(added, split(new))
            assert Counter(split(old)) - Counter(removed) + Counter(added) == Counter(split(new))
            assert section.binary or section.count == (len(added), len(removed))
            assert section.agrees
            assert section.cost == sum(map(len, added + removed))
            assert not section.broken

    law()


@pytest.mark.parametrize("effort", EFFORTS)
def test_it_does_not_matter_how_a_patch_is_cut(differ, effort):
    """spec 4.4: pieces of any size give the same sections, and so they do of a patch that was tampered with."""

    @effort
    @given(chosen=pairs, sizes=cuts, at=st.integers(0, 400), noise=st.binary(max_size=8) | st.sampled_from(SYNTAX))
    def law(chosen: list[tuple[bytes, bytes]], sizes: list[int], at: int, noise: bytes) -> None:
        _, output = differ(chosen)
        for data in (output, output[:at], output[:at] + noise + output[at:], output[:at] + noise + output[at + len(noise) :]):
            cut, whole = read(data, sizes), read(data, [1 << 20])
            assert [told(section) for section in cut.sections] == [told(section) for section in whole.sections]

    law()


long_lines = st.builds(lambda line, times: line * times, lines, st.integers(1, 60))
long_texts = st.builds(joined, st.lists(long_lines, max_size=6), st.booleans())
long_pairs = st.lists(st.tuples(long_texts, long_texts).filter(differ_at_all), min_size=1, max_size=4)


@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_past_the_limit_of_a_file_takes_nothing_else_with_it(differ, effort):
    """spec 4.6: of a file within the limit every byte is known, of one past it none is kept, and the next is whole; the limit is
    made small here, though no smaller than a line of Git's own."""

    @effort
    @example(
        chosen=[(b"", b"x" * 99), (b"", b"x" * 100 + b"\n"), (b"", b"x" * 100), (b"", b"x" * 101), (b"a", b"b")],
        sizes=[1],
        limit=100,
    )
    @given(chosen=long_pairs, sizes=cuts, limit=st.integers(100, 200))
    def law(chosen: list[tuple[bytes, bytes]], sizes: list[int], limit: int) -> None:
        _, output = differ(chosen)
        free = read(output, [1 << 20])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(patch, "FILE_LIMIT", limit)
            bound = read(output, sizes)
        assert [section.number for section in bound.sections] == [section.number for section in free.sections]
        for section, known in zip(bound.sections, free.sections, strict=True):
            if known.cost <= limit:
                assert told(section) == told(known)
            else:
                assert section.over or section.cost > limit
                assert sum(len(section.side(sign).raw) for sign in (b"+", b"-")) <= limit + 1

    law()


# -- listings ------------------------------------------------------------------------------------------------------------------

oids = st.integers(0, 16**40 - 1).map("{:040x}".format)
names = st.binary(min_size=1, max_size=8).map(lambda raw: raw.replace(b"\0", b"x"))
segments = names.map(lambda raw: raw.replace(b"/", b"_"))
paths = st.lists(
    segments | st.sampled_from((b".", b"..", b"", b".gitattributes", b"a.gitattributes")), min_size=1, max_size=4
).map(b"/".join)
letters = st.sampled_from("ADMTU")
modes = st.sampled_from(("000000", "100644", "100755", "120000", "160000"))
rows = st.lists(st.builds(Row, letters, st.builds(Entry, modes, oids), st.builds(Entry, modes, oids), names), max_size=5)
WORDS = (
    *(
        b"\0",
        b"\n",
        b":",
        b" ",
        b"\t",
        b"100644",
        b"A",
        b"M",
        b"-",
        b"1",
        b"00000001",
        b"0" * 40,
        b"f" * 39,
        b"^",
        b"a/b",
        b"? ",
        b"H ",
    ),
    *(b"+Subproject commit ", b".gitattributes", b"diff --git a/00000001 b/00000001\n", b"@@ -1 +1 @@\n", b"+x\n", b"\\ No\n"),
)
garbage = st.binary(max_size=60) | st.lists(st.sampled_from(WORDS) | st.binary(max_size=3), max_size=14).map(b"".join)


def as_raw(found: list[Row]) -> bytes:
    """What Git prints of these rows."""
    return b"".join(
        f":{row.before.mode} {row.after.mode} {row.before.oid} {row.after.oid} {row.letter}\0".encode() + row.path + b"\0"
        for row in found
    )


@given(found=rows, at=st.integers(0, 600))
def test_a_listing_is_read_whole_or_not_at_all(found, at):
    """spec 4.3: every row as it is; cut short within a row, it is no listing, and never one with a wrong path."""
    output = as_raw(found)
    assert parse_raw(output) == found
    ends = {len(as_raw(found[:n])): n for n in range(len(found) + 1)}
    if at < len(output):
        assert parse_raw(output[:at]) == (found[: ends[at]] if at in ends else None)


@given(data=garbage, sizes=cuts)
def test_every_parser_is_total(data, sizes):
    """spec 4.3: nonsense is read as nothing, or as what it says; never an exception, nor a path that does not stand there."""
    check(data, sizes)


@given(
    entries=st.dictionaries(segments, st.builds(Entry, modes.map(lambda mode: mode.lstrip("0") or "40000"), oids), max_size=5),
    at=st.integers(0, 200),
)
def test_a_tree_is_read_as_far_as_it_goes(entries, at):
    """An entry that was cut short is none."""
    parts = [b"%b %b\0%b" % (entry.mode.encode(), name, bytes.fromhex(entry.oid)) for name, entry in entries.items()]
    body = b"".join(parts)
    assert {name: entry_of(row) for name, row in parse_tree(body, 20).items()} == entries
    whole = sum(sum(map(len, parts[: n + 1])) <= at for n in range(len(parts)))
    assert list(parse_tree(body[:at], 20)) == list(entries)[:whole]


@given(found=st.lists(paths.filter(bool), max_size=6), prefix=st.sampled_from(("", "a/", "é/", "\udcff/")))
def test_names_are_found_in_a_listing(found, prefix):
    """spec 4.9: by whole segments; what lies below a root is told from what only begins alike."""
    listing = b"".join(path + b"\0" for path in found)
    wanted = b".gitattributes"
    assert list(named(listing, wanted)) == [path for path in found if path.rpartition(b"/")[2] == wanted]
    below = prefix.encode("utf-8", "surrogateescape")
    shown = [path.encode("utf-8", "surrogateescape") for path in base_paths(listing, prefix)]
    assert shown == [path[len(below) :] for path in found if path.startswith(below)]


@given(path=paths)
def test_a_path_is_inside_unless_a_segment_says_otherwise(path):
    """spec 4.2: one that is empty, `.` or `..`."""
    parts = path.split(b"/")
    assert is_inside(path) is not bool({b"", b".", b".."} & set(parts))


below_top = st.lists(segments, max_size=2).map(lambda parts: b"".join(part + b"/" for part in parts))


@given(found=st.lists(paths, max_size=5), folder=below_top)
def test_a_folder_is_looked_up_in_sorted_paths(found, folder):
    """spec 4.1: which attribute files govern a change."""
    assert any_below(sorted(found), folder) is any(path.startswith(folder) for path in found)


ESCAPES = re.compile(rb"\\(\d{3}|.)", re.DOTALL)


@given(path=names)
def test_a_quoted_name_stands_on_one_line_and_is_the_name(path):
    """Git's own C quoting, undone by its rules."""
    shown = quoted(path)
    assert shown[:1] == shown[-1:] == b'"'
    assert not {*b"\n\r\t"} & set(shown)
    assert ESCAPES.sub(lambda match: bytes([int(match[1], 8)]), shown[1:-1]) == path


@given(found=st.lists(st.tuples(st.sampled_from("HhSsMm?"), names), max_size=6), sizes=cuts)
def test_marks_do_not_depend_on_how_they_come(found, sizes):
    """spec 4.2: only what hides an edit or is untracked is kept."""
    marks = Marks()
    for piece in pieces(b"".join(tag.encode() + b" " + path + b"\0" for tag, path in found), sizes):
        marks.take(piece)
    assert marks.untracked == [path for tag, path in found if tag == "?"]
    assert marks.hidden == [(tag, path) for tag, path in found if tag in "hSsm"]


@given(raw=texts | st.binary(max_size=20))
def test_payloads_are_lines_without_their_ends(raw):
    """spec 4.4: without its LF and one CR before it, whatever else is in there."""
    expected = [row[:-2] if row.endswith(b"\r\n") else row.removesuffix(b"\n") for row in split(raw)]
    assert Side(raw).payloads == b"".join(row + b"\n" for row in expected)
