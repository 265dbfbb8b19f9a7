"""Laws of the path dialect: the compiled matcher against one that reads the contract word by word (spec 3)."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from discern.facts import path_bytes
from discern.patterns import Listing, Pattern, compile_pattern, flags, mask_of

QUICK = settings(max_examples=600, deadline=None)
LONG = settings(max_examples=20_000, deadline=None)
SEARCH = settings(max_examples=20_000, phases=[Phase.generate], derandomize=True, database=None)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]

# Few characters, most of them with a meaning, so that shapes, classes, braces and stars meet in every way.
FRAGMENTS = (
    "a",
    "b",
    "/",
    "*",
    "**",
    "**/",
    "/**",
    "?",
    "[ab]",
    "[!a]",
    "[]-a]",
    "{a,b}",
    "{a/,}",
    "{,*}",
    "{**,a}",
    "*.",
    "./",
    "[",
)
SEGMENTS = (
    "a",
    "b",
    "ab",
    "*",
    "**",
    "**",
    "?",
    "[ab]?",
    "a*",
    "a**",
    "*b",
    "*a*",
    "*a*b",
    "[!a]*",
    "{a,b}",
    "{a,*b}",
    "{ba,*}*",
    "{a/b,**}",
)
characters = st.sampled_from("aaab//**?[]{},-!^.\\\né")
loose = st.lists(st.sampled_from(FRAGMENTS) | characters, max_size=9).map("".join)
orderly = st.builds(
    "{}{}{}".format,
    st.sampled_from(("", "", "/")),
    st.lists(st.sampled_from(SEGMENTS), max_size=5).map("/".join),
    st.sampled_from(("", "", "/")),
)
texts = loose | orderly
names = st.sampled_from(("a", "b", "ab", "ba", "aab")) | st.text(
    st.sampled_from("aaaabbb.c]-[{},!^\\\né\udcff"), min_size=1, max_size=4
)
paths = st.lists(names, min_size=1, max_size=5).map("/".join)
listings = st.sets(paths, max_size=8).map(lambda found: sorted(found, key=path_bytes))


class UnusableError(Exception):
    """The pattern makes its entry invalid."""


def is_glob(text: str) -> bool:
    return any(character in text for character in "*?[]{}")


def says(pattern: str, path: str) -> bool:
    """The contract's table, from its first row to its last."""
    if pattern.startswith(("!", "./")):
        raise UnusableError
    if pattern == "":
        return False
    if pattern.endswith("/**") and not is_glob(pattern[:-3]):
        return path.startswith(pattern[:-2].removeprefix("/"))
    if pattern.startswith("/") and pattern.endswith("/") and not is_glob(pattern) and pattern != "/":
        return pattern in f"/{path}"
    if pattern.endswith("/") and not is_glob(pattern):
        return pattern != "/" and path.startswith(pattern)
    if pattern.startswith("*.") and pattern != "*." and not is_glob(pattern[2:]) and "/" not in pattern:
        return path.endswith(pattern[1:])
    if is_glob(pattern):
        glob = pattern.removeprefix("/")
        alternatives = expand(glob + "**" if glob.endswith("/") else glob)
        for alternative in alternatives:
            check_classes(alternative)
        return any(segments_match(tuple(glob.split("/")), tuple(path.split("/"))) for glob in alternatives)
    return path == pattern.removeprefix("/")


def class_end(text: str, start: int) -> int:
    """Where the class that opens at `start` closes."""
    at = start + 1
    if text[at : at + 1] in ("!", "^"):
        at += 1
    end = text.find("]", at + 1)  # the first member is itself, `]` too
    if end < 0:
        raise UnusableError
    return end


def group_parts(text: str, start: int) -> tuple[list[str], int]:
    """The alternatives of the group that opens at `start`, and where it closes."""
    parts, depth, begun, at = [], 1, start + 1, start + 1
    while depth:
        if at >= len(text):
            raise UnusableError
        if text[at] == "[":
            at = class_end(text, at)
        elif text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
        if (text[at] == "," and depth == 1) or depth == 0:
            parts.append(text[begun:at])
            begun = at + 1
        at += 1
    return parts, at


def expand(text: str) -> list[str]:
    at = 0
    while at < len(text):
        if text[at] == "[":
            at = class_end(text, at)
        elif text[at] == "}":
            raise UnusableError
        elif text[at] == "{":
            parts, after = group_parts(text, at)
            tails = expand(text[after:])
            return [text[:at] + middle + tail for part in parts for middle in expand(part) for tail in tails]
        at += 1
    return [text]


def check_classes(text: str) -> None:
    at = 0
    while at < len(text):
        if text[at] == "[":
            end = class_end(text, at)
            if "/" in text[at:end]:
                raise UnusableError
            ranges(text[at + 1 : end])
            at = end
        at += 1


def ranges(body: str) -> tuple[bool, list[tuple[str, str]]]:
    negated = body[0] in "!^"
    rest, found = body[negated:], []
    while rest:
        if rest[1:2] == "-" and len(rest) > 2:
            first, last, rest = rest[0], rest[2], rest[3:]
        else:
            first, last, rest = rest[0], rest[0], rest[1:]
        if first > last:
            raise UnusableError
        found.append((first, last))
    return negated, found


def segments_match(glob: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not glob:
        return not path
    if glob[0] == "**":
        least = 1 if len(glob) == 1 else 0
        return any(segments_match(glob[1:], path[spanned:]) for spanned in range(least, len(path) + 1))
    return bool(path) and name_matches(glob[0], path[0]) and segments_match(glob[1:], path[1:])


@cache
def name_matches(glob: str, name: str) -> bool:
    if not glob:
        return not name
    if glob[0] == "*":
        return name_matches(glob[1:], name) or (bool(name) and name_matches(glob, name[1:]))
    if not name:
        return False
    if glob[0] == "[":
        end = class_end(glob, 0)
        negated, found = ranges(glob[1:end])
        return any(first <= name[0] <= last for first, last in found) != negated and name_matches(glob[end + 1 :], name[1:])
    return glob[0] in ("?", name[0]) and name_matches(glob[1:], name[1:])


def usable(pattern: str) -> bool:
    try:
        says(pattern, "a")
    except UnusableError:
        return False
    return True


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_pattern_matches_what_the_contract_says(effort):
    """spec 3: shapes, globs, classes and braces, or the refusal of the pattern."""

    @effort
    @given(text=texts, listed=listings)
    def law(text, listed):
        pattern = compile_pattern(text)
        assert isinstance(pattern, Pattern) == usable(text)
        if isinstance(pattern, Pattern):
            assert [pattern.matches(path) for path in listed] == [says(text, path) for path in listed], pattern.arms

    law()


@given(text=texts.filter(usable), listed=listings)
@settings(max_examples=300, deadline=None)
def test_a_listing_sets_the_bits_of_the_paths_that_match(text, listed):
    """spec 3: bit n of a mask is what the pattern says of path n, and `pick` gives those paths in order."""
    pattern = compile_pattern(text)
    assert isinstance(pattern, Pattern)
    listing = Listing(listed)
    mask = listing.mask(pattern)
    assert mask == mask_of(pattern.matches(path) for path in listed)
    assert listing.pick(mask) == tuple(path for path in listed if pattern.matches(path))
    assert mask_of(map(bool, flags(mask, len(listed)))) == mask


# A text with braces, and how many alternatives it stands for: a row of parts multiplies, a group of rows adds.
counted = st.recursive(
    st.sampled_from([("a", 1), ("[{,]", 1), ("", 1)]),
    lambda rows: st.lists(
        st.lists(rows, min_size=1, max_size=4).map(
            lambda row: ("{" + ",".join(text for text, _ in row) + "}", sum(count for _, count in row))
        ),
        min_size=1,
        max_size=4,
    ).map(lambda groups: ("".join(text for text, _ in groups), product(count for _, count in groups))),
    max_leaves=60,
)


def product(counts):
    result = 1
    for count in counts:
        result *= count
    return result


@given(counted)
@settings(max_examples=150, deadline=None)
def test_a_thousand_alternatives_is_the_limit(text_and_count):
    """spec 3: a pattern that expands to more than 1,000 alternatives is refused, and no other for their number."""
    text, count = text_and_count
    assert isinstance(compile_pattern(text), Pattern) == (count <= 1_000)


def test_patterns_are_of_every_sort():
    """The laws above speak of something: patterns are refused and admitted, match and do not, by each way of matching."""
    for wanted in (
        lambda text: not usable(text),
        lambda text: usable(text) and says(text, "a/b"),
        lambda text: usable(text) and is_glob(text) and not says(text, "a/b"),
        lambda text: usable(text) and "{" in text and "**" in text and says(text, "a/b/a"),
        lambda text: usable(text) and "[" in text and says(text, "a"),
    ):
        find(texts, wanted, settings=SEARCH)
    find(counted, lambda found: found[1] > 1_000, settings=SEARCH)
    find(counted, lambda found: 500 < found[1] <= 1_000, settings=SEARCH)
