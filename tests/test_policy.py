"""The governing policy: TOML, shapes, entries and their drops, references, seeds, question files (spec 1.3-1.7, 2)."""

from __future__ import annotations

from typing import Any

import pytest

from discern.definitions import Definition, EntryDrop, Policy, PolicyInvalid
from discern.fields import FIELD_PARSERS, Fault
from discern.governing_file import parse
from discern.patterns import patterns_of
from discern.policy import question_files, resolve
from discern.seeds import SEEDS
from discern.vocabulary import CHECKPOINT_FIELD_ROLES

ASKED = {"question": "Is this change right?"}


def policy(document: dict[str, Any], texts: dict[str, str] | None = None) -> Policy:
    found = resolve(document, texts or {})
    assert isinstance(found, Policy)
    return found


def only(entry: Any, texts: dict[str, str] | None = None, identity: str = "p", **tables: Any) -> Definition | EntryDrop:
    """What becomes of one entry."""
    found = policy({"checkpoints": {identity: entry}, **tables}, texts)
    (result,) = (*found.definitions, *found.drops)
    return result


def defined(entry: Any, texts: dict[str, str] | None = None, **tables: Any) -> Definition:
    found = only(entry, texts, **tables)
    assert isinstance(found, Definition), found
    return found


def dropped(entry: Any, texts: dict[str, str] | None = None, **tables: Any) -> EntryDrop:
    found = only(entry, texts, **tables)
    assert isinstance(found, EntryDrop), found
    return found


def refused(document: dict[str, Any]) -> str:
    found = resolve(document, {})
    assert isinstance(found, PolicyInvalid)
    return found.account


# --- the bytes (spec 1.3) ---


def test_a_byte_order_mark_and_crlf_are_accepted():
    """spec 1.3: one BOM is no part of the text; CRLF ends a line as LF does."""
    text = '[checkpoints.k]\nquestion = "q"\n'
    expected = {"checkpoints": {"k": {"question": "q"}}}
    assert parse(text.encode()) == expected
    assert parse(b"\xef\xbb\xbf" + text.encode()) == expected
    assert parse(text.replace("\n", "\r\n").encode()) == expected
    assert parse(b"") == parse(b"# nothing\n") == {}
    assert isinstance(parse(b"\xef\xbb\xbf" * 2 + text.encode()), PolicyInvalid)


def test_a_mebibyte_is_admitted_and_one_byte_more_is_not():
    """spec 1.3: over 1 MiB is `governing_config_invalid`."""
    assert parse(b"#" * 1_048_576) == {}
    found = parse(b"#" * 1_048_577)
    assert isinstance(found, PolicyInvalid)
    assert "1,048,576" in found.account


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"[[[\n", "line 1, column 3"),
        (b"x = 1\n\ny = \n", "line 3, column 5"),
        (b"x = 1\n[x]\n", "line 2, column"),
        (b"[secret]\n[secret]\n", "line 2, column"),
        (b"x = 1\rsecret = 2\n", "line 1, column"),
        (b"x = 1 # secret \0\n", "line 1, column"),
        (b'x = "\\ud800"\n', "not a Unicode scalar value"),
        (b"x = {secret = 1, secret = 2}\n", "Duplicate inline table key …"),
        (b"'sec\\'ret' = 1\n", "Expected '='"),
        (b"# line one\n# secr\xe9t\n", "line 2"),
        ("# secret".encode("utf-16"), "not UTF-8"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "too deeply"),
        (b"x = " + b"{a = " * 5000, "too deeply"),
        (b"x = " + b"9" * 5000, "too many digits"),
    ],
)
def test_what_is_no_toml_is_told_by_its_place_alone(raw, word):
    """spec 1.3, 8.6: the account says where and what, and never quotes the file."""
    found = parse(raw)
    assert isinstance(found, PolicyInvalid)
    assert word in found.account
    assert "secr" not in found.account
    assert found.account.isprintable()
    assert len(found.account) <= 500


# --- the shapes of tables (spec 1.3-1.5) ---


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({"checkpoints": 3}, "`checkpoints` must be a table, not an integer"),
        ({"checkpoints": [{"question": "q"}]}, "not an array"),
        ({"scopes": "x"}, "`scopes`"),
        ({"generated": []}, "`generated`"),
        ({"repository": "main"}, "`repository`"),
        ({"repository": {"trunk": 3}}, "`trunk`"),
        ({"scopes": {"s": 3}}, "`[scopes.s]`"),
        ({"scopes": {"s": {"paths": "x"}}}, "`paths` in `[scopes.s]`"),
        ({"scopes": {"s": {"paths": ["x", 1]}}}, "item 2 is an integer"),
        ({"generated": {"g": []}}, "`[generated.g]`"),
        ({"generated": {"g": {"paths": [1.5]}}}, "item 1 is a float"),
        ({"generated": {"g": {"paths": ["x", "{a"]}}}, "`[generated.g] paths`: the pattern `{a`"),
        ({"generated": {"g": {"paths": ["!y"]}}}, "`exclude_paths`"),
        ({"generated": {"g": {"paths": ["./x"]}}}, "without `./`"),
        ({"generated": {"g": {"paths": ["${a.b}"]}}, "a": {"b": "[x"}}, "`[x`"),
    ],
)
def test_a_document_of_the_wrong_shape_is_refused_as_a_whole(document, word):
    """spec 1.3, 1.5: `governing_config_invalid`, used or not."""
    assert word in refused({"checkpoints": {"good": ASKED}} | document)


def test_other_tables_and_keys_are_other_tools():
    """spec 1.4: ignored, whatever they hold; a scope or generated table without `paths` matches nothing."""
    found = policy(
        {
            "checkpoint": {"k": 3},
            "paths": ["x"],
            "repository": {"name": 3, "trunk": "develop"},
            "scopes": {"s": {"owner": 1}, "bad": {"paths": ["[a"]}},
            "generated": {"g": {"tool": []}, "h": {"paths": ["gen/**"]}},
        }
    )
    assert found == Policy(generated=("gen/**",), trunk="develop")
    assert policy({}) == Policy()


# --- fields (spec 2.1) ---


def test_every_field_of_the_registry_has_a_parser():
    """spec 2.1: a field cannot be added half-way."""
    assert FIELD_PARSERS.keys() == CHECKPOINT_FIELD_ROLES.keys()


def test_a_full_entry_becomes_a_definition_field_by_field():
    """spec 2.1, 7.1: every field by its name; kinds in the fixed order, texts kept as they are."""
    entry = {
        "paths": ["src/**"],
        "include_generated": True,
        "exclude_paths": ["*.snap"],
        "kinds": ["deleted", "added"],
        "adds_matching": ["b", "a"],
        "removes_matching": ["c"],
        "new_directory": True,
        "binary": False,
        "similar_new_file": True,
        "unless_changed": ["docs/"],
        "min_changed_files": 1,
        "min_changed_lines": 2,
        "deletion_dominant": True,
        "min_commits": 2**53 - 1,
        "when": " sh check.sh\n",
        "mode": "advise",
        "question": " Why?\n",
        "teach": "",
        "reference": "R",
    }
    expected = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    assert defined(entry) == Definition(id="p", **expected | {"kinds": ("added", "deleted")})
    assert defined(ASKED) == Definition(id="p", question=ASKED["question"])
    assert defined(ASKED | {"exclude_paths": [], "unless_changed": []}) == defined(ASKED)


@pytest.mark.parametrize(
    ("field", "values", "word"),
    [
        ("scope", [3, ["s"], True], "string"),
        ("paths", ["src/**", [], [1], {"a": "b"}, [["a"]]], ""),
        ("include_generated", [1, "true", None], "true or false"),
        ("exclude_paths", ["x", [True]], "array of strings"),
        ("kinds", [[], ["renamed"], ["added", "added"], ["added", 1], "added", ["Added"]], ""),
        ("adds_matching", [[], ["a"] * 2, list("abcdefghijklmnopq"), [""], ["a\nb"], ["a\rb"], ["a\0b"], [1], "a"], ""),
        ("removes_matching", [["x" * 129], ["é" * 64 + "x"], ["a", "\n"]], ""),
        ("new_directory", [0], "true or false"),
        ("binary", ["no"], "true or false"),
        ("similar_new_file", [[]], "true or false"),
        ("unless_changed", ["docs", [3]], "array of strings"),
        ("min_changed_files", [0, -1, True, "3", 2.0, 2**53, 10**100], "integer from 1 to 9007199254740991"),
        ("min_changed_lines", [False, 0.5], "integer"),
        ("deletion_dominant", ["yes"], "true or false"),
        ("min_commits", [[1], {}], "integer"),
        ("when", ["", " \t\n", "a\0b", ["sh"]], "command"),
        ("mode", ["maybe", "Stop", True, ["stop"], ""], "`stop`, `advise`"),
        ("question", [3, ["q"]], "string"),
        ("question_file", [3, ["q.md"]], "string"),
        ("teach", [3], "string"),
        ("reference", [False], "string"),
    ],
)
def test_a_value_outside_its_limits_is_named_with_the_limit(field, values, word):
    """spec 1.5, 2.1: `checkpoint_definition_invalid`; the account names the field and what it may hold."""
    question = {} if field in {"question", "question_file"} else ASKED
    for value in values:
        drop = dropped(question | {field: value})
        assert drop.reason == "checkpoint_definition_invalid"
        assert drop.account.startswith(f"`{field}` must ")
        assert word in drop.account


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("adds_matching", [f"w{n}" for n in range(16)]),
        ("removes_matching", ["é" * 64, "x" * 128, "\t", "a" * 127]),
        ("min_changed_lines", 1),
        ("kinds", ["modified", "deleted", "added"]),
    ],
)
def test_a_value_at_its_limit_is_admitted(field, value):
    """spec 2.1: 16 patterns, 128 bytes, 1, three kinds."""
    assert getattr(defined(ASKED | {field: value}), field)


def test_an_unknown_field_is_named_with_the_nearest_one():
    """spec 1.4, 1.5: a typing error must neither widen a rule nor switch it off silently."""
    drop = dropped(ASKED | {"paths": ["**"], "adds_matchng": ["TOKEN"], "mode": "advise"})
    assert (drop.reason, drop.mode) == ("checkpoint_definition_invalid", "advise")
    assert "`adds_matchng`" in drop.account
    assert "`adds_matching`" in drop.account
    assert "`severity`" in dropped(ASKED | {"severity": 1}).account
    assert "did you mean" not in dropped(ASKED | {"severity": 1}).account


def test_a_field_that_stands_where_an_id_belongs_is_explained():
    """spec 1.5: an entry that is no table; its mode cannot be known."""
    drop = dropped(["**"], identity="paths")
    assert (drop.id, drop.mode, drop.reason) == ("paths", "stop", "checkpoint_definition_invalid")
    assert "below the id" in drop.account
    assert "below the id" not in dropped(3).account


def test_all_that_is_wrong_with_an_entry_is_told_at_once():
    """spec 1.5: the account of an invalid definition names each field that is."""
    account = dropped({"paths": ["[a", "b"], "kinds": [], "colour": 1, "question": "q", "question_file": "f"}).account
    for word in ("`paths`", "`[a`", "`kinds`", "`colour`", "`question_file`"):
        assert word in account


# --- one reason for each bad entry (spec 1.5) ---

TABLES = {"scopes": {"docs": {"paths": ["docs/**"]}, "bad": {"paths": ["a", "[b"]}, "empty": {}}}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"scope": "ghost", "paths": ["a"], "colour": 1}, "checkpoint_definition_invalid"),
        ({"scope": "docs", "paths": ["a"], "kinds": []}, "checkpoint_definition_invalid"),
        ({"scope": "bad", "paths": ["a"]}, "checkpoint_definition_invalid"),
        ({"unless_changed": ["bad"], "scope": "ghost"}, "checkpoint_definition_invalid"),
        ({"exclude_paths": ["!a"], "scope": "ghost"}, "checkpoint_definition_invalid"),
        ({"question": "", "question_file": "../q"}, "checkpoint_definition_invalid"),
        ({"scope": "ghost", "paths": ["a"]}, "checkpoint_selector_conflict"),
        ({"scope": "ghost"}, "checkpoint_unknown_scope"),
        ({"scope": "[ghost"}, "checkpoint_unknown_scope"),
        ({"scope": "", "question": ""}, "checkpoint_unknown_scope"),
        ({"scope": "docs"}, "checkpoint_missing_question"),
        ({"question": " \t\n\u3000"}, "checkpoint_missing_question"),
        ({"question_file": "blank.md"}, "checkpoint_missing_question"),
        ({"question_file": "gone.md"}, "checkpoint_question_file_unavailable"),
        ({"question_file": ""}, "checkpoint_question_file_unavailable"),
    ],
)
def test_the_first_reason_that_applies_is_given(entry, reason):
    """spec 1.5: invalid, conflict, unknown scope, missing question, unavailable question file, in that order."""
    assert dropped(entry, {"blank.md": "\n \n", "../q": "q"}, **TABLES).reason == reason


def test_a_bad_entry_drops_alone_and_in_the_order_of_the_file():
    """spec 1.5: it stands in `drops`, not among the definitions; the others are what they are without it."""
    found = policy({"checkpoints": {"z": ASKED, "bad": {}, "a": ASKED, "worse": 3}})
    assert [definition.id for definition in found.definitions] == ["z", "a"]
    assert [(drop.id, drop.reason) for drop in found.drops] == [
        ("bad", "checkpoint_missing_question"),
        ("worse", "checkpoint_definition_invalid"),
    ]


def test_the_mode_of_a_drop_is_the_entrys_own_or_its_seeds():
    """spec 1.5: `stop` where it cannot be known."""
    assert dropped({}).mode == "stop"
    assert dropped({"mode": "advise"}).mode == "advise"
    assert dropped({"mode": "maybe"}).mode == "stop"
    assert dropped({"colour": 1}, identity="commit-story").mode == "advise"
    assert dropped({"colour": 1, "mode": "stop"}, identity="commit-story").mode == "stop"
    assert dropped({"mode": 3}, identity="commit-story").mode == "stop"


def test_an_unknown_scope_is_named_with_the_nearest_one():
    """spec 1.5: the account names the scope."""
    assert "did you mean `docs`" in dropped(ASKED | {"scope": "doc"}, **TABLES).account


@pytest.mark.parametrize("identity", ["", "a.b", "a b", "esc\x1b[31m", "x" * 10_000, "\u202eabc", "é"])
def test_any_id_is_an_id(identity):
    """spec 1.4: a key of the table, whatever it is made of; accounts stay safe to show."""
    assert policy({"checkpoints": {identity: ASKED}}).definitions[0].id == identity
    drop = dropped({identity: 1, "scope": identity, "paths": [identity + "["]}, identity=identity)
    assert drop.id == identity
    assert len(drop.account) <= 500
    assert drop.account.isprintable()


# --- scopes and references (spec 1.6) ---


def test_a_scope_stands_for_its_patterns():
    """spec 1.4, 1.6: as a selector and in `unless_changed`, in its place among others; without `paths` it selects nothing."""
    definition = defined(ASKED | {"scope": "docs", "unless_changed": ["x", "docs", "empty", "nope"]}, **TABLES)
    assert definition.paths == ("docs/**",)
    assert definition.unless_changed == ("x", "docs/**", "nope")
    assert defined(ASKED | {"scope": "empty"}, **TABLES).paths == ()
    assert defined(ASKED, **TABLES).paths is None
    assert defined(ASKED | {"paths": ["docs"], "exclude_paths": ["docs"]}, **TABLES).paths == ("docs",)
    assert defined(ASKED | {"exclude_paths": ["docs"]}, **TABLES).exclude_paths == ("docs",)


VARIABLES = {
    "vars": {"dir": "lib/", "n": 7, "again": "${vars.dir}x", "bang": "!", "deep-er": {"in_2": {"0": "top"}}, "esc": r"\1\g<0>"},
    "list": ["a"],
}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${vars.dir}**", "lib/**"),
        ("a/${vars.dir}${vars.dir}b", "a/lib/lib/b"),
        ("${vars.deep-er.in_2.0}", "top"),
        ("${vars.again}", "${vars.dir}x"),
        ("${vars.esc}", r"\1\g<0>"),
        ("${vars.nothing}/x", ""),
        ("x${vars.n}", ""),
        ("${vars.dir}${vars.deep-er}", ""),
        ("[${no.table}", ""),
        ("${list.0}", ""),
        ("${vars.dir.more}", ""),
        ("${vars}", "${vars}"),
        ("${vars.}x", "${vars.}x"),
        ("${vars. dir}", "${vars. dir}"),
        ("$vars.dir", "$vars.dir"),
        ("${scopes.s.name}", "named"),
    ],
)
def test_references_are_put_in_once(written, meant):
    """spec 1.6: a key path of two names or more; unset or no string: the pattern matches nothing."""
    tables = VARIABLES | {"scopes": {"s": {"paths": [written], "name": "named"}}, "generated": {"g": {"paths": [written]}}}
    entry = ASKED | {"paths": [written], "exclude_paths": [written], "unless_changed": [written, "s"]}
    definition = defined(entry, **tables)
    assert definition.paths == definition.exclude_paths == (meant,)
    assert definition.unless_changed == (meant, meant)
    assert defined(ASKED | {"scope": "s"}, **tables).paths == (meant,)
    assert policy(tables).generated == (meant,)


def test_scope_names_are_looked_up_before_and_patterns_judged_after():
    """spec 1.6: a reference never names a scope, and what it puts in may be refused."""
    tables = VARIABLES | {"scopes": {"top": {"paths": ["other"]}}}
    assert defined(ASKED | {"unless_changed": ["${vars.deep-er.in_2.0}"]}, **tables).unless_changed == ("top",)
    drop = dropped(ASKED | {"paths": ["${vars.bang}a"]}, **tables)
    assert drop.reason == "checkpoint_definition_invalid"
    assert "`!a`" in drop.account


def test_a_bad_pattern_in_a_scope_drops_its_users_alone():
    """spec 1.5: as a selector or in `unless_changed`; other entries stand."""
    for user in ({"scope": "bad"}, {"unless_changed": ["docs", "bad"]}):
        drop = dropped(ASKED | user, **TABLES)
        assert drop.reason == "checkpoint_definition_invalid"
        assert "`[b`" in drop.account
    assert defined(ASKED | {"scope": "docs"}, **TABLES).paths == ("docs/**",)


# --- seeds (spec 1.7) ---


def test_the_seeds_are_those_of_the_contract():
    """spec 1.7: modes and triggers of the six built-ins, each with a question of its own."""
    definitions = {name: defined({}, identity=name) for name in SEEDS}
    triggers = {
        "deletion-heavy-change": {"deletion_dominant": True},
        "parallel-implementation": {"similar_new_file": True},
        "new-binary-asset": {"kinds": ("added",), "binary": True},
        "effort-sprawl": {"min_changed_files": 25},
        "commit-story": {"min_commits": 8},
        "new-subsystem": {"new_directory": True, "kinds": ("added",)},
    }
    assert definitions == {
        name: Definition(id=name, mode="advise", question=SEEDS[name]["question"], **fields) for name, fields in triggers.items()
    }
    questions = {definition.question for definition in definitions.values()}
    assert len(questions) == 6
    assert all(question.endswith("?") and question.isprintable() for question in questions)
    assert not any(isinstance(FIELD_PARSERS[field](value), Fault) for seed in SEEDS.values() for field, value in seed.items())


def test_an_explicit_value_wins_over_the_seeds():
    """spec 1.7: `false` included; what is not set is inherited."""
    found = defined({"deletion_dominant": False, "mode": "stop"}, identity="deletion-heavy-change")
    assert (found.deletion_dominant, found.mode) == (False, "stop")
    assert defined({"binary": False}, identity="new-binary-asset").binary is False
    assert defined({"kinds": ["deleted"]}, identity="new-subsystem").kinds == ("deleted",)
    assert defined({"paths": ["a"], "min_changed_files": 2}, identity="effort-sprawl").mode == "advise"


def test_question_and_question_file_are_one_slot():
    """spec 1.5, 1.7: either replaces the seed's question; a blank one is none."""
    assert defined({"question": "Mine?"}, identity="commit-story").question == "Mine?"
    found = defined({"question_file": "q.md"}, {"q.md": "From a file?\n"}, identity="commit-story")
    assert (found.question, found.question_file) == ("From a file?\n", "q.md")
    assert dropped({"question": " "}, identity="commit-story").reason == "checkpoint_missing_question"
    assert dropped({"question_file": "no"}, identity="commit-story").reason == "checkpoint_question_file_unavailable"


# --- question files (spec 2.3) ---


@pytest.mark.parametrize("path", ["q.md", "a/b/q.md", ".hid/q", "a/.git/q", ".github/q", "...", "a b\n", "é", "a\\b"])
def test_a_question_file_in_normal_form_is_asked_for(path):
    """spec 2.3: root-relative, in normal form."""
    assert question_files({"checkpoints": {"p": {"question_file": path}}}) == (path,)
    assert defined({"question_file": path}, {path: "Why?"}).question == "Why?"


@pytest.mark.parametrize("path", ["", "/q", "a//b", "a/", "./q", "../q", "a/../b", "a/.", "..", ".git/q", ".git", "a\0b", "/"])
def test_any_other_spelling_is_unavailable_even_where_there_is_a_text(path):
    """spec 2.3: anything else is `checkpoint_question_file_unavailable`."""
    assert question_files({"checkpoints": {"p": {"question_file": path}}}) == ()
    drop = dropped({"question_file": path}, {path: "Why?"})
    assert drop.reason == "checkpoint_question_file_unavailable"
    assert "`question_file`" in drop.account


def test_question_files_are_named_once_in_the_order_of_the_file():
    """spec 2.3: whatever else the document holds."""
    entries = {"a": {"question_file": "z"}, "b": 3, "c": {"question_file": ["x"]}, "d": {"question_file": "y"}, "e": {}}
    assert question_files({"checkpoints": entries | {"f": {"question_file": "z"}}}) == ("z", "y")
    assert question_files({"checkpoints": ["x"]}) == question_files({}) == ()


def test_resolved_patterns_compile():
    """spec 1.5: what a definition holds has been judged."""
    found = defined(ASKED | {"paths": ["a", "", "{b,c}*"], "unless_changed": ["docs"]}, **TABLES)
    assert len(patterns_of([*(found.paths or ()), *found.unless_changed])) == 4
