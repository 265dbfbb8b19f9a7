"""The path dialect (spec 3): every shape, everything refused, and listings."""

from __future__ import annotations

import time

import pytest

from discern.facts import path_bytes
from discern.patterns import Listing, Pattern, PatternFault, compile_pattern, flags, mask_of, patterns_of

FILES = (
    "src/a.py",
    "src/x/b.py",
    "src/x/y/.hid.ts",
    "srcx/a.py",
    "src.py",
    "lib/src/c.py",
    "ui/y.ts",
    "a/ui/x.ts",
    "a/uix/x.ts",
    "a/b/ui",
    "x.view.ts",
    ".view.ts",
    "a/view.ts",
    "routes/web.php",
    "routes/web.php.bak",
    ".env",
)


def compiled(text: str) -> Pattern:
    (pattern,) = patterns_of([text])
    return pattern


def matching(text: str, paths: tuple[str, ...] = FILES) -> set[str]:
    """What a pattern matches, by both ways of asking, which agree."""
    pattern = compiled(text)
    listing = Listing(sorted(paths, key=path_bytes))
    listed = set(listing.pick(listing.mask(pattern)))
    assert listed == {path for path in paths if pattern.matches(path)}
    return listed


def below(prefix: str) -> set[str]:
    return {path for path in FILES if path.startswith(prefix)}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/**", below("src/")),
        ("/src/**", below("src/")),
        ("/**", set(FILES)),
        ("src/x/**", below("src/x/")),
        ("//src/**", set()),
        ("//**", set()),
        ("/ui/", {"ui/y.ts", "a/ui/x.ts"}),
        ("/src/x/", below("src/x/")),
        ("//", set()),
        ("src/", below("src/")),
        ("src/x/", below("src/x/")),
        ("/", set()),
        ("*.view.ts", {"x.view.ts", ".view.ts"}),
        ("*.py", {path for path in FILES if path.endswith(".py")}),
        ("*.", set()),
        ("routes/web.php", {"routes/web.php"}),
        ("/routes/web.php", {"routes/web.php"}),
        ("//routes/web.php", set()),
        ("src", set()),
        ("SRC/", set()),
        ("Src.py", set()),
        ("", set()),
    ],
)
def test_each_plain_shape_matches_what_the_table_says(pattern, expected):
    """spec 3: the table, from the first shape that claims the pattern; case-sensitive, on the whole path."""
    assert matching(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/*", {"src/a.py"}),
        ("/src/*", {"src/a.py"}),
        ("//src/*", set()),
        ("src/*/", below("src/x/")),
        ("s?c/a.py", {"src/a.py"}),
        ("*", {"src.py", "x.view.ts", ".view.ts", ".env"}),
        ("**", set(FILES)),
        ("**/", set(FILES)),
        ("/**/", set(FILES)),
        ("**/**", set(FILES)),
        ("*/**", {path for path in FILES if "/" in path}),
        ("**/ui/**", {"ui/y.ts", "a/ui/x.ts"}),
        ("src/**/b.py", {"src/x/b.py"}),
        ("src/**/a.py", {"src/a.py"}),
        ("src/**/**", below("src/")),
        ("src/x**", set()),
        ("src**", {"src.py"}),
        ("**.py", {"src.py"}),
        ("***", {"src.py", "x.view.ts", ".view.ts", ".env"}),
        ("**/*.py", {path for path in FILES if path.endswith(".py")}),
        ("**/.*", {"src/x/y/.hid.ts", ".view.ts", ".env"}),
        ("src/*/[a-z]*.{py,ts}", {"src/x/b.py"}),
        ("{src,ui}/", below("src/") | below("ui/")),
        ("{src,ui}/**", below("src/") | below("ui/")),
        ("{src/,}**", set(FILES)),
        ("src/*{*,}", below("src/")),
        ("src/{*}*", below("src/")),
        ("{,/}src.py", {"src.py"}),
        ("{a/{b,ui},x}/*", {"a/b/ui", "a/ui/x.ts"}),
        ("{a/{b/,ui/},x/}*", {"a/b/ui", "a/ui/x.ts"}),
        ("{src.py}", {"src.py"}),
        ("{}.env", {".env"}),
        ("{,{}}", set()),
        ("**/a/**/ui/**", {"a/ui/x.ts"}),
        ("**/src/**/y/**/*.ts", {"src/x/y/.hid.ts"}),
        ("**/x/**/a.py", set()),
        ("s*/**", below("src/") | below("srcx/")),
        ("s*/**/*.ts", {"src/x/y/.hid.ts"}),
        ("**/{src,ui}/*.{py,ts}", {"src/a.py", "lib/src/c.py", "ui/y.ts", "a/ui/x.ts"}),
        ("*/{x,uix}/[bx]*.{py,ts}", {"src/x/b.py", "a/uix/x.ts"}),
    ],
)
def test_globs_match_segment_by_segment(pattern, expected):
    """spec 3: stars, `**` as a whole segment and at the end, braces expanded first, the slashes of the whole pattern."""
    assert matching(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "other"),
    [
        ("[ab]", "b", "c"),
        ("[!ab]", "c", "b"),
        ("[^ab]", "c", "b"),
        ("[!^]", "!", "^"),
        ("[^!]", "^", "!"),
        ("[]a]", "]", "["),
        ("[!]a]", "[", "]"),
        ("[a-c]", "b", "-"),
        ("[-a]", "-", "b"),
        ("[a-]", "-", "b"),
        ("[!-a]", "b", "-"),
        ("[a-c-e]", "-", "d"),
        ("[]-a]", "^", "-"),
        ("[a-a]", "a", "-"),
        ("[[]", "[", "]"),
        ("[{,}]", ",", "a"),
        ("[[:a:]]", ":]", ":"),
        ("[\\]", "\\", "]"),
        ("[&&~~||]", "~", "-"),
        ("{[,],x}y", ",y", "]y"),
        ("[é-ü]", "ö", "o"),
        ("[!a]", "\udcff", "a"),
        ("a[+-9]b", "a0b", "a/b"),
        ("a[!b]b", "axb", "a/b"),
        ("a?b", "a\nb", "a/b"),
        ("a?", "a\udce9", "a\udcc3\udca9"),
        ("a]?", "a]b", "ab"),
        ("a,?", "a,b", "ab"),
        ("\\*", "\\x", "*"),
        ("a$?", "a$b", "a$b\n"),
    ],
)
def test_a_class_or_a_literal_is_one_character(pattern, path, other):
    """spec 3: classes, `?`, stray `]` and commas, backslashes; a character is a code point, and never a `/`."""
    assert matching(pattern, (path, other)) == {path}


def test_a_bracketed_name_is_written_with_classes():
    """spec 3: `[[]id[]]` is the directory `[id]`, and stars see it like any other."""
    paths = ("app/[id]/p.tsx", "app/i/p.tsx", "app/[[...slug]]/p.tsx")
    assert matching("app/[[]id[]]/*.tsx", paths) == {"app/[id]/p.tsx"}
    assert matching("app/**/*.tsx", paths) == set(paths)


def test_a_suffix_is_not_empty_and_a_name_may_hold_line_ends():
    """spec 3: `*.` alone is a glob, at the root; `**` spans names with any character."""
    assert matching("*.", ("a.", "b/a.", "a")) == {"a."}
    assert matching("**/b", ("a\nx/b", "\r/\u2028/b", "b\n")) == {"a\nx/b", "\r/\u2028/b"}
    assert matching("a?/**", ("a1/b\nc", "a1\n/b")) == {"a1/b\nc"}


def test_a_leading_dot_is_nothing_special():
    """spec 3: a leading `.` in a name is an ordinary character."""
    paths = (".github/w.yml", ".eslintrc.json", "a/.hid/f.md", "..odd")
    assert matching("**", paths) == set(paths)
    assert matching("**/*.md", paths) == {"a/.hid/f.md"}
    assert matching("*.json", paths) == {".eslintrc.json"}
    assert matching(".github/**", paths) == {".github/w.yml"}
    assert matching(".*", paths) == {".eslintrc.json", "..odd"}


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("[", "[[]"),
        ("a[", "[[]"),
        ("[a", "[[]"),
        ("[]", "[[]"),
        ("[!]", "[[]"),
        ("[^]", "[[]"),
        ("{[a,b}", "[[]"),
        ("{", "[{]"),
        ("{a,b", "[{]"),
        ("{a,{b}", "[{]"),
        ("{a/", "[{]"),
        ("}", "[}]"),
        ("a}*", "[}]"),
        ("{a}}", "[}]"),
        ("[a/b]", "`/` inside"),
        ("[/]", "`/` inside"),
        ("[!/]x", "`/` inside"),
        ("[a-/]", "`/` inside"),
        ("[z-a]", "backwards"),
        ("[!z-a]", "backwards"),
        ("[a--]", "backwards"),
        ("{x,[z-a]}", "backwards"),
        ("!src/**", "exclude_paths"),
        ("!", "exclude_paths"),
        ("./src/", "without `./`"),
        ("./", "without `./`"),
        ("\udcff*", "surrogate"),
    ],
)
def test_what_cannot_be_used_is_refused_with_advice(pattern, word):
    """spec 3: a pattern that cannot be compiled, or that begins as people write elsewhere, says what to write instead."""
    fault = compile_pattern(pattern)
    assert isinstance(fault, PatternFault)
    assert word in fault.message
    assert fault.message.isprintable()


def test_only_the_very_beginning_of_a_pattern_is_refused():
    """spec 3: `!` and `./` are refused at the start, nowhere else."""
    assert matching("/!a", ("!a", "a")) == {"!a"}
    assert matching("a/./b", ("a/b",)) == set()
    assert matching(".?", (".a", "a")) == {".a"}


@pytest.mark.parametrize("pattern", ["{a,b}" * 9 + "{a}", "{" + "a," * 999 + "}", "{" + ",".join(map(str, range(1000))) + "}"])
def test_a_thousand_alternatives_are_admitted(pattern):
    """spec 3: at most 1,000 alternatives, equal ones counted."""
    assert isinstance(compile_pattern(pattern), Pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "{" + "a," * 1000 + "}",
        "{a,b}" * 10,
        "{a,b}" * 40,
        "{a,b,c,d,e,f,g}{a,b,c,d,e,f,g,h,i,j,k}{a,b,c,d,e,f,g,h,i,j,k,l,m}",
        "{" * 40 + "a" + ",b}{c,d}" * 40,
        "{a," * 10_000 + "}" * 10_000,
    ],
)
def test_more_than_a_thousand_alternatives_are_refused_at_once(pattern):
    """spec 3: the count is known before the alternatives are made, however many they would be."""
    fault = compile_pattern(pattern)
    assert isinstance(fault, PatternFault)
    assert "1,000" in fault.message


def test_braces_nest_as_deep_as_they_like():
    """spec 3: `{a}` is a group of one, also ten thousand times."""
    assert matching("{" * 10_000 + "src.py" + "}" * 10_000) == {"src.py"}


@pytest.mark.parametrize(
    "pattern",
    [
        "*a*a*a*a*a*a*a*a*c",
        "*?*?*?*?*?*?*?*?z",
        "*[ab]*[ab]*[ab]*[ab]*[ab]*c",
        "**/a/**/b/**/a/**/b/**/a/**/c",
        "**/*a*a*/**/*a*a*/**/*a*a*/**/z",
        "**/" * 40 + "z",
        "{*a,*aa}/" * 9 + "z",
        "*" * 200 + "b/z",
        "/a/a/a/z/",
    ],
)
def test_no_name_makes_a_glob_try_combinations(pattern):
    """spec 3: a hostile path of 4,000 bytes costs what its length costs; combinations would outlast the sun."""
    hostile = ("a" * 4000, "ab" * 2000, "/".join("a" * 2000), "a/b/" * 1000 + "a", "aa/ab/" * 600 + "aa")
    started = time.process_time()
    assert matching(pattern, hostile) == set()
    assert time.process_time() - started < 5


def test_a_listing_works_each_pattern_out_once_and_unites_them():
    """spec 3: masks have bit n for path n in byte order, whatever the paths are made of."""
    paths = ("a-z", "a/z", "b", "b\udcff", "é", "\U0001f600")
    listing = Listing(paths)
    assert len(listing) == 6
    assert listing.mask(compiled("b*")) == 0b001100
    assert listing.mask_any(patterns_of(["a/", "é", "nothing"])) == 0b010010
    assert listing.mask_any([]) == 0
    assert listing.pick(0b100101) == ("a-z", "b", "\U0001f600")
    assert Listing(()).mask(compiled("/**")) == 0


def test_a_listing_sorted_by_bytes_is_searched_by_bytes():
    """spec 0: a byte that is not UTF-8 sorts by its value, though as a character it is written otherwise."""
    paths = tuple(sorted(("ü/a", "\udcff/a", "\uffff/a", "\U0001f600/a", "z/a"), key=path_bytes))
    for path in paths:
        if not path.startswith("\udcff"):
            assert matching(path[:-1], paths) == {path}
    assert matching("?/a", paths) == set(paths)


def test_masks_and_flags_are_each_others_way_back():
    """spec 0: bit n is flag n."""
    assert mask_of([True, False, True]) == 0b101
    assert mask_of([]) == 0
    assert flags(0b101, 4) == bytes([1, 0, 1, 0])
    assert flags(0, 0) == b""


def test_unjudged_patterns_are_a_programming_error():
    """spec 1.5: a resolved definition holds no pattern that cannot be compiled."""
    with pytest.raises(ValueError, match="never closed"):
        patterns_of(["a", "[b"])
