"""What must hold of every parser of what Git prints, whatever bytes it is given (spec 4.3, 4.4): for fuzzer and hypothesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discern.effects.gitlinks import parse_commits
from discern.effects.listings import Marks, parse_raw
from discern.effects.patch import PatchReader, Section, parse_counts
from discern.effects.policy_commit import any_below, base_paths, is_inside, named
from discern.effects.repository import is_oid, parse_bases, parse_refs
from discern.effects.sealed import entry_of, parse_tree


def pieces(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    """The data cut into pieces of these sizes, again and again."""
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        yield data[at : at + size]
        at, turn = at + size, turn + 1


def read(output: bytes, sizes: Sequence[int]) -> PatchReader:
    """A patch read in pieces of these sizes."""
    reader = PatchReader()
    for piece in pieces(output, sizes):
        reader.take(piece)
    reader.end()
    return reader


def told(section: Section) -> tuple[object, ...]:
    """Everything that a section says."""
    known = section.number, section.part, section.side(b"+"), section.side(b"-"), section.cost, section.over, section.broken
    return (*known, None if section.over or section.broken else section.count, section.agrees)


def check_listings(data: bytes) -> None:
    """A listing is read as what it says, or as none: never an exception, nor a path or an id that does not stand there."""
    for row in parse_raw(data) or []:
        assert row.path
        assert b"\0" + row.path + b"\0" in data
        assert row.letter.encode() + b"\0" in data
    for count in (parse_counts(data) or {}).values():
        assert count is None or min(count) >= 0
    for name, (oid, target) in parse_refs(data).items():
        assert all(word.encode("utf-8", "surrogateescape") in data for word in (name, oid, target))
    for groups in (1, 2):
        found = parse_bases(data.split(b"\n"), groups)
        assert found is None or len(found) == groups
        assert all(is_oid(commit.encode()) for commits in found or [] for commit in commits)
    for width in (20, 32):
        for name, row in parse_tree(data, width).items():
            entry = entry_of(row)
            assert name in data
            assert bytes.fromhex(entry.oid) in data
    assert list(named(data, b"x")) == [path for path in data.split(b"\0")[:-1] if path.rpartition(b"/")[2] == b"x"]
    assert all(path.encode("utf-8", "surrogateescape") in data for path in base_paths(data, "a/"))
    assert is_inside(data) is not bool({b"", b".", b".."} & set(data.replace(b"\0", b"/").split(b"/")))
    assert any_below(sorted(data.split(b"\0")), b"a/") is any(path.startswith(b"a/") for path in data.split(b"\0"))
    assert all(path in data and oid.encode() in data for path, oid in (parse_commits(data) or {}).items())


def check_marks(data: bytes, sizes: Sequence[int]) -> None:
    """The same in whatever pieces: what is untracked or hidden stands there."""
    cut, whole = Marks(), Marks()
    for piece in pieces(data, sizes):
        assert cut.take(piece)
    assert whole.take(data)
    assert (cut.untracked, cut.hidden) == (whole.untracked, whole.hidden)
    assert all(b"? " + path + b"\0" in data for path in whole.untracked)
    assert all(b" " + path in data or path in data for _, path in whole.hidden)


def check_patch(data: bytes, sizes: Sequence[int]) -> None:
    """The same in whatever pieces; each line stands there behind its sign, and a section's cost is that of its lines."""
    cut, whole = (read(data, pieced) for pieced in (sizes, [1 << 20]))
    assert [told(section) for section in cut.sections] == [told(section) for section in whole.sections]
    for section in whole.sections:
        assert f"{section.number:08d}".encode() in data
        assert section.cost == sum(len(section.side(sign).raw) for sign in (b"+", b"-"))
        assert all(sign + line in data for sign in (b"+", b"-") for line in section.side(sign).raw.split(b"\n")[:-1])


def check(data: bytes, sizes: Sequence[int]) -> None:
    """All of it."""
    check_listings(data)
    check_marks(data, sizes)
    check_patch(data, sizes)
