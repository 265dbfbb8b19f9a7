"""Reading Git's counts and patches from bytes (spec 4.3, 4.4): only a sign before it makes a line, whatever it looks like."""

from __future__ import annotations

import pytest

from discern.effects.patch import DRAINED, PatchReader, Section, parse_counts
from discern.vocabulary import FILE_LIMIT

# What looks like patch syntax, with nothing before it; a patch puts one sign in front.
LOOKALIKES = (
    *("+++ b/evil", "--- a/evil", "++ b/evil", "-- note", "+", "-", "", " ", "@@ -1 +1 @@", "@@ -1,9 +1,9 @@ f()", "@@", "@"),
    *("diff --git a/00000007 b/00000007", "diff --git a/x b/x", "index 1111111..2222222 100644", "new file mode 100644"),
    *(
        "\\ No newline at end of file",
        "\\",
        "Binary files a/x and b/x differ",
        "GIT binary patch",
        "rename from x",
        "old mode 100644",
    ),
    *(
        "similarity index 100%",
        "literal 5",
        "Submodule x 1..2:",
        "* Unmerged path x",
        "diff --cc x",
        "\r",
        "a\r",
        "\0",
        "\x85",
        "\x0c",
    ),
)


def head(number: int, part: str = "") -> bytes:
    name = b"%08d%s" % (number, part.encode())
    return b"diff --git a/%b b/%b\nindex 1111111..2222222 100644\n--- a/%b\n+++ b/%b\n" % (name, name, name, name)


def read(patch: bytes, size: int = 1 << 30) -> PatchReader:
    """A patch read in pieces of a size."""
    reader = PatchReader()
    for at in range(0, len(patch), size):
        reader.take(patch[at : at + size])
    reader.end()
    return reader


def lines(section: Section) -> tuple[bytes, bytes]:
    """What is added and what is removed."""
    return section.side(b"+").raw, section.side(b"-").raw


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 20])
def test_text_that_looks_like_a_patch_is_a_line(size):
    """spec 4.4: `+++ x`, `-- x`, `@@ … @@`, `\\ No newline` are lines like any other, in however many pieces they come."""
    rows = [line.encode("latin-1") for line in LOOKALIKES]
    body = b"".join(b"-" + row + b"\n" for row in rows) + b"".join(b"+" + row + b"\n" for row in rows)
    patch = head(1) + b"@@ -1,%d +1,%d @@\n" % (len(rows), len(rows)) + body + head(2) + b"@@ -1 +1,0 @@\n-x\n"
    first, second = read(patch, size).sections
    whole = b"".join(row + b"\n" for row in rows)
    assert lines(first) == (whole, whole)
    assert (first.number, first.cost, first.over, first.broken) == (1, 2 * len(whole), False, False)
    assert (second.number, lines(second), second.broken) == (2, (b"", b"x\n"), False)


@pytest.mark.parametrize(
    ("body", "added", "removed"),
    [
        (b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", b"a\n", b"a"),
        (b"@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", b"a", b"a\n"),
        (b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", b"b", b"a"),
        (b"@@ -0,0 +1,2 @@\n+\n+\n\\ No newline at end of file\n", b"\n", b""),
        (b"@@ -1 +0,0 @@\n-a\n@@ -5,2 +4,0 @@\n-b\n-c\n", b"", b"a\nb\nc\n"),
        (b"@@ -0,0 +1 @@\n+\r\n", b"\r\n", b""),
    ],
)
def test_line_ends_are_kept_as_they_are(body, added, removed):
    """spec 4.4, 4.6: the cost counts line ends, and the last line of a side may have none."""
    for size in (1, 5, 1 << 20):
        (section,) = read(head(3) + body, size).sections
        assert (*lines(section), section.broken) == (added, removed, False)
        assert section.cost == len(added) + len(removed)


def test_files_without_lines_are_sections_too():
    """spec 4.1: a mode, an empty file: a header and nothing behind it."""
    patch = (
        b"diff --git a/00000000 b/00000000\nold mode 100644\nnew mode 100755\n"
        b"diff --git a/00000001 b/00000001\nnew file mode 100644\nindex 0000000..e69de29\n" + head(2) + b"@@ -0,0 +1 @@\n+x\n"
    )
    assert [(s.number, s.cost, s.broken) for s in read(patch).sections] == [(0, 0, False), (1, 0, False), (2, 2, False)]


def test_a_change_of_type_is_two_sections():
    """spec 4.1: a made-up name tells which side it is, and whether the attributes make it text."""
    patch = head(4, "a") + b"@@ -1 +0,0 @@\n-x\n" + head(4, "bt") + b"@@ -0,0 +1 @@\n+y\n"
    assert [(s.number, s.part, lines(s)) for s in read(patch).sections] == [(4, "a", (b"", b"x\n")), (4, "b", (b"y\n", b""))]


@pytest.mark.parametrize(
    "body",
    [
        b"@@ -1 +1 @@\n-a\n b\n",  # context, which was not asked for
        b"@@ -1 +1 @@\nnothing before it\n",
        b"@@ -1 +1 @@\n\n",
        b"@@ -1 +1 @@\n\\ No newline at end of file\n",  # of no line
        b"@@ -1 +1 @@\n-a\n+b",  # cut short
        b"@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n",  # it was not the last line
        b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n\\ No newline at end of file\n",
    ],
)
def test_what_does_not_add_up_is_broken(body):
    """spec 4.3: never guessed."""
    for size in (1, 5, 1 << 20):
        (section,) = read(head(1) + body, size).sections
        assert (section.broken, lines(section)) == (True, (b"", b""))


@pytest.mark.parametrize("size", [1000, 1 << 16, 1 << 30])
@pytest.mark.parametrize(
    "body", [b"+" + b"x" * (FILE_LIMIT + 1) + b"\n", (b"+" + b"x" * 99 + b"\n") * 3000], ids=["one line", "many lines"]
)
def test_a_file_past_its_limit_is_let_go_and_the_next_is_whole(body, size):
    """spec 4.6: no more than one file's limit is held of a file."""
    reader = PatchReader()
    patch = head(1) + b"@@ -0,0 +1 @@\n" + body + head(2) + b"@@ -0,0 +1 @@\n+y\n"
    for at in range(0, len(patch), size):
        reader.take(patch[at : at + size])
        held = sum(len(piece) for section in [*reader.sections, reader._current] if section for piece in section.lines[b"+"])
        assert held + len(reader._tail) <= FILE_LIMIT + size + 2
    reader.end()
    first, second = reader.sections
    assert (first.over, lines(first)) == (True, (b"", b""))
    assert (second.number, lines(second), second.over, second.broken) == (2, (b"y\n", b""), False, False)


def test_exactly_one_files_limit_is_no_loss():
    """spec 4.6: 262,144 bytes are admitted, 262,145 are not."""
    for size, over in ((FILE_LIMIT, False), (FILE_LIMIT + 1, True)):
        for body in (b"+" + b"x" * (size - 1) + b"\n", b"+" + b"x" * (size - 2) + b"\n+\n"):
            (section,) = read(head(1) + b"@@ -0,0 +1 @@\n" + body, 1 << 16).sections
            assert (section.over or section.cost > FILE_LIMIT) is over
            assert section.over or section.cost == size


def test_a_file_far_past_its_limit_is_not_drained():
    """spec 4.6: the reader says when reading on is not worth it, and of which file."""
    for line in (b"+" + b"x" * 9999 + b"\n", b"x" * 10_001):
        reader = PatchReader()
        reader.take(head(5) + b"@@ -0,0 +1 @@\n+")
        fed = 0
        while reader.stalled is None:
            reader.take(line)
            fed += len(line)
            assert fed < FILE_LIMIT + DRAINED + 1_000_000
        assert reader.stalled == 5


def test_counts_are_read_by_number():
    """spec 4.3: `-` is for a file that Git holds for binary; the halves of a file that changed its type are added up."""
    output = b"1\t2\t00000000\0-\t-\t00000003\0000\t7\t00000004a\0005\t0\t00000004bt\0009\t9\t00000012t\0"
    assert parse_counts(output) == {0: (1, 2), 3: None, 4: (5, 7), 12: (9, 9)}
    halves = b"-\t-\t00000001a\0005\t0\t00000001b\0000\t3\t00000002a\0-\t-\t00000002b\0008\t0\t00000003b\0"
    assert parse_counts(halves) == {1: None, 2: None, 3: (8, 0)}
    assert parse_counts(b"") == {}


@pytest.mark.parametrize(
    "output",
    [
        b"x",
        b"1\t2\t00000000",
        b"1\t2\tname\0",
        b"1\t2\t00000000\0x",
        b"\x001\t2\t00000000\0",
        b"1\t2\t00000000\0\0",
        b"1 2 00000000\0",
        b"-1\t2\t00000000\0",
        b"x1\t2\t00000000\0",
        b"1\t2\t00000000ab\0",
        b"9" * 5000 + b"\t2\t00000000\0",
    ],
)
def test_counts_of_another_shape_are_none(output):
    """spec 4.3: what was cut short or is something else is no count of anything."""
    assert parse_counts(output) is None


@pytest.mark.parametrize(
    ("body", "count", "agrees"),
    [
        (b"@@ -0,0 +1 @@\n+x\n", (1, 0), True),
        (b"@@ -7 +6,0 @@ f()\n-x\n@@ -9,2 +8,3 @@\n-y\n-z\n+1\n+2\n+3\n", (3, 3), True),
        (b"", (0, 0), True),  # a mode alone, or an empty file
        (b"Binary files a/00000001 and b/00000001 differ\n", None, True),
        (b"@@ -0,0 +1,2 @@\n+x\n", (2, 0), False),
        (b"@@ -1 +1 @@\n+x\n", (1, 1), False),
        (b"@@ -0,0 +1 @@\n+x\n+y\n", (1, 0), False),
        (b"@@ -0,0 +1 @@\n-Binary files a and b differ\n", (1, 0), False),
    ],
)
def test_a_patch_says_how_many_lines_it_holds(body, count, agrees):
    """spec 4.3: at the head of each hunk; what it holds then agrees or does not, in whatever pieces it comes."""
    for size in (1, 4, 1 << 20):
        (section,) = read(head(1) + body, size).sections
        assert (section.count, section.agrees, section.broken) == (count, agrees, False)


@pytest.mark.parametrize("hunk", [b"@@ x @@", b"@@ -1 @@", b"@@ -1 +" + b"9" * 5000 + b" @@", b"@@@ -1 +1 @@"])
def test_a_hunk_of_another_shape_is_none(hunk):
    """spec 4.3: nor is what it begins believed."""
    (section,) = read(head(1) + b"@@ -0,0 +1 @@\n+x\n" + hunk + b"\n+y\n").sections
    assert (section.broken, section.agrees) == (True, False)


def test_a_last_line_without_its_end_is_not_charged_for_one():
    """spec 4.6: exactly at the limit, even if the word that there is no line end comes in a later piece."""
    body = head(1) + b"@@ -0,0 +1 @@\n+" + b"x" * FILE_LIMIT + b"\n"
    for more in (b"", b"-", b"\\"):
        reader = PatchReader()
        reader.take(body)
        reader.take(b"\\ No newline at end of file\n" + (head(2) if more else b""))
        reader.end()
        section = reader.sections[0]
        assert (section.over, section.cost) == (False, FILE_LIMIT)
