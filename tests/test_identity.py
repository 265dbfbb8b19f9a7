"""Canonical JSON and the hashes over it (spec 7). The golden values were made with `sha256sum` from the bytes beside them."""

from functools import partial

import attrs
import pytest

from discern.definitions import Definition
from discern.identity import canonical, definition_hash, history_fingerprint, path_row, path_value, related_row, subject

asked = partial(Definition, id="p", question="Is this change right?")
SOME_HASH = f"{7:064}"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ('"', b'"\\""'),
        ("\\", b'"\\\\"'),
        ("/", b'"/"'),
        ("\b\t\n\f\r", b'"\\b\\t\\n\\f\\r"'),
        ("\0\x01\x0b\x1f", b'"\\u0000\\u0001\\u000b\\u001f"'),
        ("\x7f\x80", '"\x7f\x80"'.encode()),
        ("\u2028\u2029", '"\u2028\u2029"'.encode()),
        ("\U0001f600é", '"\U0001f600é"'.encode()),
        ("<&'>", b'"<&\'>"'),
    ],
)
def test_a_text_has_the_shortest_escapes(text: str, escaped: bytes) -> None:
    """spec 7.1: RFC 8785 escapes the quote, the backslash and what is below U+0020, in its short form where there is one."""
    assert canonical(text) == escaped


def test_canonical_json_has_sorted_keys_and_no_spaces() -> None:
    """spec 7.1: keys sorted, no spaces, arrays in their order."""
    value = {"b": [3, 1, None], "a_b": True, "a": {"z": "", "y": 2**53 - 1}, "B": False}
    assert canonical(value) == b'{"B":false,"a":{"y":9007199254740991,"z":""},"a_b":true,"b":[3,1,null]}'


def test_a_number_no_json_has_is_refused() -> None:
    """spec 7.1: what RFC 8785 cannot write is a mistake of the caller."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a/b", "a/b"),
        ("é", "é"),
        ("b\udcff", {"bytes": "Yv8="}),
        ("\udce9/é", {"bytes": "6S/DqQ=="}),
        ("a\nb", "a\nb"),
    ],
)
def test_a_path_value_is_a_string_or_bytes(path: str, value: object) -> None:
    """spec 0: a path that is not valid UTF-8 is carried as its bytes in base64, every other as a string."""
    assert path_value(path) == value


def test_a_definition_hash_covers_the_canonical_definition() -> None:
    """spec 7.1: SHA-256 of the label and the object of every registry field but `scope`; the id plays no part."""
    # printf 'discern-definition/v1\n{"adds_matching":null,"binary":null,"deletion_dominant":false,"exclude_paths":null,
    #  "include_generated":false,"kinds":null,"min_changed_files":null,"min_changed_lines":null,"min_commits":null,"mode":"stop",
    #  "new_directory":false,"paths":null,"question":"Is this change right?","question_file":null,"reference":null,
    #  "removes_matching":null,"similar_new_file":false,"teach":null,"unless_changed":null,"when":null}' (one line) | sha256sum
    expected = "5541e98a903004fef044b3e58c99bed2c07267e86e184e42bede0b0e46118a87"
    assert definition_hash(asked()) == definition_hash(asked(id="another")) == expected


def test_a_scope_without_patterns_is_not_no_selector() -> None:
    """spec 7.1: `paths` of a scope without patterns is `[]`; `question` is the text and `question_file` its path."""
    # as above, with "paths":[] and "question":"Q?","question_file":"ask/q.md"
    expected = "0ed26dac173b2db5ef5583091f967e5f9cf67d10f05ced02f1a3e9e45a3a706c"
    assert definition_hash(asked(paths=(), question="Q?", question_file="ask/q.md")) == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("paths", ("a",)),
        ("paths", ()),
        ("include_generated", True),
        ("exclude_paths", ("a",)),
        ("kinds", ("added",)),
        ("adds_matching", ("a",)),
        ("removes_matching", ("a",)),
        ("new_directory", True),
        ("binary", True),
        ("binary", False),
        ("similar_new_file", True),
        ("unless_changed", ("a",)),
        ("min_changed_files", 1),
        ("min_changed_lines", 1),
        ("deletion_dominant", True),
        ("min_commits", 1),
        ("when", "a"),
        ("mode", "advise"),
        ("question", "Another?"),
        ("question_file", "a"),
        ("teach", "a"),
        ("teach", ""),
        ("reference", "a"),
    ],
)
def test_every_field_moves_the_definition_hash(field: str, value: object) -> None:
    """spec 7.1: a definition that differs in one field has another hash, a set but empty text included."""
    assert definition_hash(attrs.evolve(asked(), **{field: value})) != definition_hash(asked())


def test_the_order_of_an_array_counts_but_that_of_kinds_does_not() -> None:
    """spec 7.1: arrays keep their order; `kinds` stands as added, modified, deleted."""
    assert definition_hash(asked(paths=("a", "b"))) != definition_hash(asked(paths=("b", "a")))
    assert definition_hash(asked(kinds=("deleted", "added"))) == definition_hash(asked(kinds=("added", "deleted")))


@pytest.mark.parametrize(
    ("commits", "fingerprint"),
    [
        # printf 'checkpoint-history/v1\n' | sha256sum
        ((), "6b1f862e7d29ac0f285ca2a1b2dadc96c645a60953e2fb2ead9ab1f128530e9d"),
        # printf 'checkpoint-history/v1\n%040d' 1 | sha256sum
        ((f"{1:040}",), "0c12e3ffd6e52b412e8d4c7097077c7e7c2104a8051bc5475dfb67648315d68c"),
        # printf 'checkpoint-history/v1\n%040d\n%040d' 2 1 | sha256sum
        ((f"{2:040}", f"{1:040}"), "3472a8e643c1a8740f91f18f74034ec872b12488f7a1d24aeb1209b21bf38b27"),
    ],
)
def test_a_history_fingerprint_covers_the_object_ids_in_order(commits: tuple[str, ...], fingerprint: str) -> None:
    """spec 7.3: SHA-256 of the label and the object ids joined by LF."""
    assert history_fingerprint(commits) == fingerprint
    assert len(commits) < 2 or history_fingerprint(commits[::-1]) != fingerprint


def test_a_subject_of_nothing_has_empty_arrays() -> None:
    """spec 7.2: no history is null, no path an empty array."""
    # printf 'discern-subject/v1\n{"definition":"%064d","history":null,"paths":[],"related":[]}' 7 | sha256sum
    assert subject(SOME_HASH, None, []) == "b983b517b77e4e9166ccb0d89266bda6b6efd414ef1ea91c67e9b6496920d8b3"


def test_a_subject_covers_paths_in_byte_order_and_both_sides() -> None:
    """spec 7.2: rows sorted by path bytes, `[mode, oid]` or null a side, a path that is not UTF-8 as bytes."""
    # printf 'discern-subject/v1\n{"definition":"%064d","history":"f","paths":[
    #  {"base":["100644","aa"],"current":null,"path":"a-b"},{"base":null,"current":["100755","bb"],"path":"a/b"},
    #  {"base":null,"current":["120000","cc"],"path":{"bytes":"Yv8="}}],"related":[
    #  {"base":["100644","dd"],"current":["100644","dd"],"for_path":"a","path":"é"}]}' 7 (one line) | sha256sum
    rows = [
        path_row("a-b", ("100644", "aa"), None),
        path_row("a/b", None, ("100755", "bb")),
        path_row("b\udcff", None, ("120000", "cc")),
    ]
    related = [related_row("a", "é", ("100644", "dd"), ("100644", "dd"))]
    assert subject(SOME_HASH, "f", rows, related) == "2aeda336a1499f9ab2a7face9181168945c4a7c1293d4a32c304777472a7c205"
