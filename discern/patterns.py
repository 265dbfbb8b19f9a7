"""The path dialect: a pattern compiled once, and a listing of paths that says which of them it matches (spec 3)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import compress
from operator import or_
from typing import Final, NamedTuple, TypeAlias

from attrs import field, frozen

from discern.facts import path_bytes
from discern.text import holds_surrogate
from discern.vocabulary import ALTERNATIVES_LIMIT

# A path segment's parts in order: "*", "?", a class with its brackets, or literal text.
Segment: TypeAlias = tuple[str, ...]
# A route is a row of places; a place is the segments that may stand there, or any number of segments.
Place: TypeAlias = tuple[Segment, ...]
Route: TypeAlias = tuple[Place, ...]

ANY_DEPTH: Final[Segment] = ("**",)
EVERYTHING: Final = ".+"  # the expression of a rest that is a last `**` alone
NOTHING: Final = ""  # the expression of a rest that is not there: the path is the head

_GLOB_CHARACTERS: Final = frozenset("*?[]{}")
_CLASS: Final = r"\[(?:[!^].|[^!^])[^\]]*\]"  # the first member may be `]`, so it is taken unseen
_PIECE: Final = re.compile(rf"(?s)(?:{_CLASS}|[^\[{{}},])+|.")
_PART: Final = re.compile(rf"(?s){_CLASS}|\*+|\?|[^*?\[]+")
_MEMBER: Final = re.compile(r"(?s)(.)-(.)|.")
_WILD: Final = re.compile(r"[*?\[]")


class PatternFault(NamedTuple):
    """Why a pattern cannot be used: one line that says what is wrong and what to write instead (spec 3)."""

    message: str


class Arm(NamedTuple):
    """Paths that begin with one of `heads` and go on as `rest`, a regular expression, says; each of them holds `needle`."""

    heads: tuple[str, ...]
    rest: str
    needle: str


@frozen
class Pattern:
    """A compiled pattern: a path matches if an arm takes it (spec 3). Equal patterns are those of equal text."""

    text: str
    arms: tuple[Arm, ...] = field(eq=False, repr=False)

    def matches(self, path: str) -> bool:
        """Whether one root-relative path matches; for many paths ask a `Listing`."""
        return any(
            path.startswith(head) and _compiled(arm.rest).fullmatch(path, len(head)) is not None
            for arm in self.arms
            for head in arm.heads
        )


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern | PatternFault:
    """The pattern `text` stands for, or why it cannot be used (spec 3). Patterns that match nothing are patterns."""
    if text.startswith("!"):
        return PatternFault(
            "begins with `!`, but there is no negation: write it without `!` in `exclude_paths` (and a name `!a` as `/!a`)"
        )
    if text.startswith("./"):
        return PatternFault("begins with `./`, but every pattern starts at the project root: write it without `./`")
    if holds_surrogate(text):
        return PatternFault("holds half a character (an unpaired surrogate): write `?` for a byte that is not UTF-8")
    alternatives = _expand(_as_glob(text))
    if isinstance(alternatives, PatternFault):
        return alternatives
    return Pattern(text, _arms(alternatives))


@lru_cache(maxsize=1 << 16)
def _compiled(expression: str) -> re.Pattern[str]:
    """`re` keeps 512 expressions, which many patterns asked in turn would make it compile again for each path."""
    return re.compile(expression, re.DOTALL)


def patterns_of(texts: Iterable[str]) -> tuple[Pattern, ...]:
    """The patterns of a resolved definition. Raises ValueError for one that cannot be compiled: it was to be judged before."""
    compiled = tuple(map(compile_pattern, texts))
    if faults := [pattern.message for pattern in compiled if isinstance(pattern, PatternFault)]:
        raise ValueError(f"a pattern {faults[0]}")
    return tuple(pattern for pattern in compiled if isinstance(pattern, Pattern))


def _as_glob(text: str) -> str:
    """The glob from the root that a pattern is short for; the plain shapes hold nothing a glob would read otherwise."""
    plain = _GLOB_CHARACTERS.isdisjoint(text)
    if plain and len(text) > 1 and text.startswith("/") and text.endswith("/"):
        return f"**{text}**"
    if text.startswith("*.") and len(text) > 2 and _GLOB_CHARACTERS.isdisjoint(text[2:]) and "/" not in text:
        return f"**/{text}"
    glob = text.removeprefix("/")
    return f"{glob}**" if glob.endswith("/") else glob


def _expand(glob: str) -> list[str] | PatternFault:
    """The alternatives of a glob, without its braces. No recursion: a pattern may nest braces as deep as it likes."""
    groups: list[tuple[list[str], list[str]]] = []  # of each open brace: what stands before it, and its alternatives so far
    current = [""]
    for match in _PIECE.finditer(glob):
        piece = match[0]
        if piece == "{":
            groups.append((current, []))
            current = [""]
        elif piece in {",", "}"} and groups:
            before, alternatives = groups[-1]
            alternatives += current
            if len(before) * len(alternatives) > ALTERNATIVES_LIMIT:
                return PatternFault(f"stands for more than {ALTERNATIVES_LIMIT:,} alternatives: split it into several patterns")
            current = [""]
            if piece == "}":
                groups.pop()
                current = [head + tail for head in before for tail in alternatives]
        elif fault := _piece_fault(piece):
            return PatternFault(fault)
        else:
            current = [text + piece for text in current]
    return PatternFault("has a `{` that is never closed: write `[{]` for the character itself") if groups else current


def _piece_fault(piece: str) -> str | None:
    if piece == "}":
        return "has a `}` without a `{`: write `[}]` for the character itself"
    if piece == "[":
        return "has a `[` that is never closed: write `[[]` for the character itself"
    classes = [found for found in _PART.findall(piece) if found.startswith("[")]
    if any("/" in found for found in classes):
        return "has a `/` inside `[...]`, which never matches one: write `{...}` for alternatives that hold a `/`"
    if any(first > last for found in classes for first, last in _members(found)):
        return "has a range in `[...]` that runs backwards: write the lower character first"
    return None


def _members(part: str) -> list[tuple[str, str]]:
    """The ranges of a class; a character alone is a range of one."""
    body = part[2:-1] if part[1] in "!^" else part[1:-1]
    return [(member[1], member[2]) if member[1] else (member[0], member[0]) for member in _MEMBER.finditer(body)]


def _arms(alternatives: Iterable[str]) -> tuple[Arm, ...]:
    """Alternatives by what follows their literal beginning: many beginnings may share one expression, or need none."""
    rests: dict[str, list[tuple[Segment, ...]]] = {}
    for alternative in filter(None, dict.fromkeys(alternatives)):
        head, rest = _split(alternative)
        rests.setdefault(head, []).append(rest)
    heads: dict[tuple[Route, ...], list[str]] = {}
    for head, found in rests.items():
        heads.setdefault(_merged(found), []).append(head)
    return tuple(Arm(tuple(found), "|".join(map(_expression, routes)), _needle(routes)) for routes, found in heads.items())


def _split(alternative: str) -> tuple[str, tuple[Segment, ...]]:
    """The literal beginning, and the segments that follow, the first of them perhaps only the end of one."""
    wild = _WILD.search(alternative)
    if wild is None:
        return alternative, ()
    head, names = alternative[: wild.start()], alternative[wild.start() :].split("/")
    whole = not head or head.endswith("/")
    return head, tuple(_segment(name, whole or place > 0) for place, name in enumerate(names))


def _segment(name: str, whole: bool) -> Segment:
    if whole and name == "**":
        return ANY_DEPTH
    return tuple("*" if part.startswith("*") else part for part in _PART.findall(name))


def _merged(rests: Iterable[tuple[Segment, ...]]) -> tuple[Route, ...]:
    """Alternatives that differ in one segment become one route with a choice there: `**/{a,b}/*.{ts,tsx}` is one, not four."""
    alike: dict[tuple[bool, ...], list[Route]] = {}
    for rest in rests:
        alike.setdefault(tuple(segment == ANY_DEPTH for segment in rest), []).append(tuple((segment,) for segment in rest))
    return tuple(route for routes in alike.values() for route in _with_choices(routes))


def _with_choices(routes: Sequence[Route]) -> Sequence[Route]:
    """Routes of one length, with `**` at the same places, as few as grouping by one place after the other makes them."""
    for place in range(len(routes[0]) if len(routes) > 1 else 0):
        choices: dict[tuple[Route, Route], dict[Segment, None]] = {}
        for route in routes:
            choices.setdefault((route[:place], route[place + 1 :]), {}).update(dict.fromkeys(route[place]))
        routes = [(*before, tuple(segments), *after) for (before, after), segments in choices.items()]
    return routes


def _needle(routes: Sequence[Route]) -> str:
    """The longest literal text that every path on the routes holds: looking for it first spares most paths the expression."""
    if len(routes) != 1:
        return ""
    texts = [""]  # between two parts that are not literal; a slash ends each segment but the last, whatever it holds
    for place in routes[0]:
        for part in place[0] if len(place) == 1 else ("*",):
            if _WILD.match(part):
                texts.append("")
            else:
                texts[-1] += part
        texts[-1] += "/" if place != (ANY_DEPTH,) else ""
    return max((*texts[:-1], texts[-1].removesuffix("/")), key=len)


def _expression(route: Route) -> str:
    """A regular expression that goes through a path once, however many stars: no hostile name makes it try combinations.

    Between two `**` stands a row of segments, of fixed length. Where there is any match there is one with each row at the first
    place where it fits, so a row that another follows is looked for once, from the left; only the last is bound to the end.
    """
    rows: list[str] = [""]
    for place in route:
        if place == (ANY_DEPTH,):
            rows.append("")
        else:
            rows[-1] += _choice(place) + "/"
    first, *others = rows
    text, later = first, [row for row in others if row]
    for row in later[:-1]:
        text += f"(?:(?!{row})[^/]*/)*{row}"
    for row in later[-1:]:
        text += f"(?:.*/)?{row}"
    return text + EVERYTHING if route and not rows[-1] else text.removesuffix("/")


def _choice(place: Place) -> str:
    """Segments that differ only after their last star share what stands before it."""
    ends: dict[str, list[str]] = {}
    for segment in place:
        beginning, end = _halves(segment)
        ends.setdefault(beginning, []).append(end)
    return _either([beginning + _either(found) for beginning, found in ends.items()])


def _halves(segment: Segment) -> tuple[str, str]:
    """A segment up to its last star, and after it; as with rows, what stands between two stars is looked for from the left."""
    chunks = [""]
    for part in segment:
        if part == "*":
            chunks.append("")
        else:
            chunks[-1] += _part_expression(part)
    if len(chunks) == 1:
        return "", chunks[0]
    first, *middle, last = chunks
    return first + "".join(f"(?:(?!{chunk})[^/])*{chunk}" for chunk in middle) + "[^/]*", last


def _either(expressions: Sequence[str]) -> str:
    return expressions[0] if len(expressions) == 1 else f"(?:{'|'.join(expressions)})"


def _part_expression(part: str) -> str:
    if part == "?":
        return "[^/]"
    if not part.startswith("["):
        return re.escape(part)
    members = "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in _members(part))
    return f"[^/{members}]" if part[1] in "!^" else f"(?!/)[{members}]"


BLOCK: Final = 64  # paths


class Listing:
    """Root-relative paths in byte order, asked which of them a pattern matches (spec 3). Each pattern is worked out once.

    An answer is a mask: an integer whose bit n stands for path n.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        """`paths` are sorted by `discern.facts.path_bytes`, each named once."""
        self.paths: Final = tuple(paths)
        self._masks: Final[dict[Pattern, int]] = {}

    def __len__(self) -> int:
        return len(self.paths)

    def mask(self, pattern: Pattern) -> int:
        """The paths that `pattern` matches."""
        if pattern not in self._masks:
            self._masks[pattern] = union(self._taken(arm, head) for arm in pattern.arms for head in arm.heads)
        return self._masks[pattern]

    def mask_any(self, patterns: Iterable[Pattern]) -> int:
        """The paths that at least one of `patterns` matches."""
        return union(map(self.mask, patterns))

    def pick(self, mask: int) -> tuple[str, ...]:
        """The paths of a mask, in byte order."""
        return tuple(compress(self.paths, flags(mask, len(self.paths))))

    def _taken(self, arm: Arm, head: str) -> int:
        """Paths that begin alike stand together, so everything but the rest is two binary searches."""
        raw = path_bytes(head)
        start = bisect_left(self.paths, raw, key=path_bytes)
        stop = bisect_right(self.paths, raw, start, key=lambda path: path_bytes(path)[: len(raw)])
        if arm.rest == NOTHING:
            stop = min(stop, start + 1) if self.paths[start:stop][:1] == (head,) else start
        if arm.rest in (NOTHING, EVERYTHING):
            return ((1 << (stop - start)) - 1) << start
        match, needle, length = _compiled(arm.rest).fullmatch, arm.needle, len(head)
        taken = b""
        for low in range(start - start % BLOCK, stop, BLOCK):
            run = self.paths[max(start, low) : min(stop, low + BLOCK)]
            if needle in self._blocks[low // BLOCK]:
                taken += bytes([needle in path and match(path, length) is not None for path in run])
            else:
                taken += bytes(len(run))
        return mask_of(taken) << start

    @cached_property
    def _blocks(self) -> list[str]:
        """All paths, so many in one text: one look at it spares most patterns a look at each, a fifth of the time of 200,000."""
        return ["\0".join(self.paths[at : at + BLOCK]) for at in range(0, len(self.paths), BLOCK)]


def union(masks: Iterable[int]) -> int:
    """The paths that are in any of the masks."""
    return reduce(or_, masks, 0)


_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")
_FLAGS: Final = bytes.maketrans(b"01", b"\0\1")


def mask_of(chosen: Iterable[int]) -> int:
    """The mask whose bit n is the nth flag, 0 or 1."""
    digits = bytes(chosen).translate(_DIGITS)
    return int(digits[::-1] or b"0", 2)


def flags(mask: int, count: int) -> bytes:
    """Bits 0 to `count` - 1 of a mask, a byte 0 or 1 each: what `itertools.compress` takes as selectors."""
    return bin(mask | 1 << count)[:2:-1].encode().translate(_FLAGS)
