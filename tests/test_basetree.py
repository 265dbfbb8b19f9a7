"""Stems, normal forms and the base tree around added files (spec 5.4)."""

import pytest

from discern.basetree import Admission, AdmittedBase, Surroundings, normal_form, split
from discern.patterns import patterns_of


@pytest.mark.parametrize(
    "suffix",
    ["copy", "new", "old", "final", "backup", "bak", "tmp", "temp", "orig", "original", "next", "alt", "v1", "v20", "1", "20"],
)
@pytest.mark.parametrize("separator", "-_. ")
def test_each_suffix_after_each_separator_goes(separator: str, suffix: str) -> None:
    """spec 5.4: a trailing `-`, `_`, `.` or space and one of the suffixes, in any letter case, however often."""
    ending = separator + suffix
    assert normal_form(f"Parser{ending}") == normal_form(f"parser{ending.upper()}{ending}") == b"parser"


@pytest.mark.parametrize(
    ("stem", "form"),
    [
        ("Foo", "foo"),
        ("foo1", "foo"),
        ("FOO1", "foo"),
        ("foo12", "foo12"),
        ("foo_1a2", "foo_1a"),
        ("x_copy2", "x"),
        ("x_v2v3", "x_v2v"),
        ("2", "2"),
        ("copy", "copy"),
        ("newcopy", "newcopy"),
        ("x_v", "x_v"),
        ("x_vv2", "x_vv"),
        ("x__copy", "x_"),
        ("x_copy_", "x_copy_"),
        ("x+copy", "x+copy"),
        ("x_copied", "x_copied"),
        ("x\tcopy", "x\tcopy"),
        ("_copy", ""),
        (" 7", ""),
        ("-old.bak", ""),
        ("É_old", "É"),
        ("é2", "é2"),
        ("x_v\u0663", "x_v\u0663"),
        ("x\u0663", "x\u0663"),
        ("\u212a2", "\u212a2"),
        ("\udcff_old", "\udcff"),
    ],
)
def test_the_normal_form_is_of_ascii_alone(stem: str, form: str) -> None:
    """spec 5.4: ASCII letters, ASCII digits; else one trailing digit that follows a letter; what is left may be empty."""
    assert normal_form(stem) == form.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("unit", ["_1", "_copy", "a1", "-1x", "1", "_", " v9", "-old.bak"])
def test_a_long_stem_takes_no_longer_than_its_length(unit: str) -> None:
    """spec 5.4: stems of some thousand characters are legal; what is left has nothing more to lose."""
    stem = "x" + unit * (1_000_000 // len(unit))
    assert normal_form(normal_form(stem).decode()) == normal_form(stem)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a", ("", "a", "")),
        ("a.b", ("", "a", ".b")),
        ("d.e/f", ("d.e/", "f", "")),
        ("d/e/a.tar.gz", ("d/e/", "a.tar", ".gz")),
        (".env", ("", ".env", "")),
        ("d/.env", ("d/", ".env", "")),
        ("d/.env.old", ("d/", ".env", ".old")),
        ("d/a.", ("d/", "a", ".")),
        ("d/..b", ("d/", ".", ".b")),
    ],
)
def test_the_extension_is_the_last_suffix(path: str, parts: tuple[str, str, str]) -> None:
    """spec 5.4: same extension means the last `.suffix`; a leading dot belongs to the stem."""
    assert split(path) == parts


def admitted(base: list[str], *added: str) -> AdmittedBase:
    return AdmittedBase(Surroundings(base, dict(enumerate(added))), Admission(), frozenset())


@pytest.mark.parametrize(
    ("added", "existing", "similar"),
    [
        ("a/x_v2.py", "a/x.py", True),
        ("a/x.py", "a/x_v2.py", True),
        ("a/x_new.py", "a/x_old.py", True),
        ("a/Foo.py", "a/foo.py", True),
        ("x_v2.py", "x.py", True),
        (".env_old", ".env", True),
        ("a/x_v2.py", "b/x.py", False),
        ("a/x_v2.py", "a/b/x.py", False),
        ("a/b/x_v2.py", "a/x.py", False),
        ("x_v2.py", "a/x.py", False),
        ("a/x_v2.py", "a/x.PY", False),
        ("a/x_v2.py", "a/x.pyi", False),
        ("a/x_v2.py", "a/x_v2.py", False),
        ("a/x_v2", "a/y", False),
        ("a/_old.py", "a/_new.py", False),
        ("a/É.py", "a/é.py", False),
    ],
)
def test_similar_is_same_directory_extension_and_normal_form(added: str, existing: str, similar: bool) -> None:
    """spec 5.4: and a different stem; an empty normal form is similar to nothing."""
    found = admitted([existing], added).related(1)
    assert [(one.for_path, one.path) for one in found] == ([(added, existing)] if similar else [])
    assert admitted([existing], added).similar == int(similar)


def test_an_empty_form_is_no_beginning_of_another() -> None:
    """spec 5.4: a name that has no normal form stays out even if another added name has one that it begins with."""
    base = admitted(["a/_copy.c", "a/_-1.c"], "a/_.c", "a/_old.c")
    assert [(one.for_path, one.path) for one in base.related(0b11)] == [("a/_.c", "a/_-1.c")]


def test_subdirectories_are_stepped_over() -> None:
    """spec 5.4: files right in the directory, whatever sorts between them."""
    base = ["x.py", "x/deep/x.py", "x/x.py", "x_1.py", "x-1/x.py", "x0.py", "z/x.py"]
    found = admitted(base, "x_v2.py", "x/x_v2.py").related(0b11)
    assert [(one.for_path, one.path) for one in found] == [
        ("x_v2.py", "x.py"),
        ("x_v2.py", "x0.py"),
        ("x_v2.py", "x_1.py"),
        ("x/x_v2.py", "x/x.py"),
    ]


def test_related_evidence_is_sorted_across_directories() -> None:
    """spec 5.4: by for_path first, so that a directory stands between two files of the root."""
    found = admitted(["a-x", "a/x", "b"], "a-x_1", "a/x_1", "b_1").related(0b111)
    assert [one.for_path for one in found] == ["a-x_1", "a/x_1", "b_1"]


def test_siblings_are_sorted_by_bytes() -> None:
    """spec 5.4: sorted by (for_path, path), as bytes."""
    base = ["x\udcff_1", "x\udcff-1", "x\udcff.1"]
    assert [one.path for one in admitted(base, "x\udcff_2").related(1)] == ["x\udcff-1", "x\udcff_1"]


def test_a_set_asks_for_the_siblings_of_its_own_files() -> None:
    """spec 5.4: related evidence belongs to a matched file."""
    base = admitted(["a", "b"], "a_1", "b_1")
    assert base.similar == 0b11
    assert [one.path for one in base.related(0b10)] == ["b"]


def test_definitions_filter_the_same_siblings_each_for_itself() -> None:
    """spec 5.2, 5.4: siblings are looked for once; exclusions and deletions hold for the definition that has them."""
    base = [f"d/f{n}x.py" for n in range(300)]
    around = Surroundings(base, {n: path.replace(".py", "_copy.py") for n, path in enumerate(base)})
    trees = [AdmittedBase(around, Admission(patterns_of((f"d/f{n}*",))), frozenset({"d/f299x.py"})) for n in range(10)]
    for n, tree in enumerate(trees):
        standing = [k for k in range(299) if not str(k).startswith(str(n))]
        assert tree.similar == sum(1 << k for k in standing)
        assert {one.path for one in tree.related(tree.similar)} == {base[k] for k in standing}
