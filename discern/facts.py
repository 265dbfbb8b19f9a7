"""What was seen of a change: frozen records, complete when built, collected once and shared by every definition (spec 4)."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from discern.vocabulary import FactReason, Kind


@frozen
class Unavailable:
    """A fact that could not be had, and why (spec 4.4). Never a guess, never an empty value."""

    reason: FactReason


@frozen
class NotCollected:
    """A fact nobody asked for (spec 4.4). A step that needs it all the same drops with `inconsistent` (spec 5.1)."""


NOT_COLLECTED = NotCollected()


@frozen
class Lines:
    """How many lines a change adds and removes in one file; 0 and 0 for a binary file (spec 4.1)."""

    insertions: int
    deletions: int


@frozen
class Content:
    """The changed lines of one file (spec 4.4).

    Each side holds every payload ended by one LF, so that a pattern, which has no LF, is found by one search, and so that the
    length of a side is the sum of payload + 1 over its lines. Its repr shows neither: no line of anyone's code gets into a log
    or an exception's text that way (spec 8.6).
    """

    added: bytes = field(repr=False)
    removed: bytes = field(repr=False)

    @classmethod
    def of(cls, added: Iterable[bytes] = (), removed: Iterable[bytes] = ()) -> Content:
        """From payloads: lines without their LF and without one CR before it."""
        return cls(b"".join(line + b"\n" for line in added), b"".join(line + b"\n" for line in removed))


NO_CONTENT = Content(b"", b"")


@frozen
class ChangedFile:
    """One changed path (spec 4.1).

    `path` is root-relative, with `/`, bytes that are not UTF-8 as surrogate escapes. `binary` and `lines` are facts of their
    own: each may be unavailable without the other.
    """

    path: str
    kind: Kind
    generated: bool = False
    binary: bool | Unavailable | NotCollected = NOT_COLLECTED
    lines: Lines | Unavailable | NotCollected = NOT_COLLECTED
    content: Content | Unavailable | NotCollected = NOT_COLLECTED


@frozen
class BaseTree:
    """Every path of the policy commit's tree below the project root, and which of them are generated (spec 4.9)."""

    paths: tuple[str, ...]
    generated: frozenset[str] = frozenset()


@frozen
class History:
    """The commits from the policy commit to HEAD, full object ids in topological order, oldest first (spec 4.10)."""

    commits: tuple[str, ...]


@frozen(kw_only=True)
class Facts:
    """One view of a change: everything the pure part may look at (spec 4).

    `changes` are sorted by path bytes and name each path once; `Facts.of` sees to both.
    """

    changes: tuple[ChangedFile, ...] = field(factory=tuple)
    base: BaseTree | Unavailable | NotCollected = NOT_COLLECTED
    history: History | Unavailable | NotCollected = NOT_COLLECTED

    @classmethod
    def of(
        cls,
        changes: Iterable[ChangedFile],
        base: BaseTree | Unavailable | NotCollected = NOT_COLLECTED,
        history: History | Unavailable | NotCollected = NOT_COLLECTED,
    ) -> Facts:
        """Facts from changes in any order. Raises ValueError if a path stands there twice."""
        ordered = tuple(sorted(changes, key=lambda change: path_bytes(change.path)))
        if len({change.path for change in ordered}) != len(ordered):
            raise ValueError("a path is named twice")
        return cls(changes=ordered, base=base, history=history)


def path_bytes(path: str) -> bytes:
    """A path as Git has it. Paths are ordered by these bytes everywhere (spec 0)."""
    return path.encode("utf-8", "surrogateescape")
