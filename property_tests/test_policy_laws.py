"""Laws of the governing policy: bad entries alone, order without weight, and accounts safe to show (spec 1.3-1.7)."""

from __future__ import annotations

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from discern.definitions import Policy, PolicyInvalid
from discern.governing_file import parse
from discern.patterns import patterns_of
from discern.policy import question_files, resolve
from discern.seeds import SEEDS
from discern.vocabulary import CHECKPOINT_FIELD_ROLES, ENTRY_REASONS, KINDS, MODES

QUICK = settings(max_examples=200, deadline=None)
LONG = settings(max_examples=20_000, deadline=None)
SEARCH = settings(max_examples=5_000, phases=[Phase.generate], derandomize=True, database=None)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]
SECRET = "s3cr3t"

patterns = st.sampled_from(("a", "src/**", "", "*.{b,c}", "${vars.dir}*", "${vars.none}", "docs", "[a", "!a", "${vars.bad}"))
pattern_lists = st.lists(patterns, max_size=3)
literals = st.lists(st.text(min_size=0, max_size=3), max_size=4)
numbers = st.integers(-1, 3) | st.just(2**53) | st.booleans()
scopes = st.sampled_from(("docs", "empty", "bad", "ghost"))
texts = st.sampled_from(("Why?", "", " \n", "\x1b[2J"))

# What a field may be set to: mostly what it takes, sometimes what it does not.
FIELDS = {
    "scope": scopes,
    "paths": pattern_lists,
    "include_generated": st.booleans(),
    "exclude_paths": pattern_lists,
    "kinds": st.lists(st.sampled_from((*KINDS, "renamed")), max_size=4),
    "adds_matching": literals,
    "removes_matching": literals,
    "new_directory": st.booleans(),
    "binary": st.booleans(),
    "similar_new_file": st.booleans(),
    "unless_changed": st.lists(patterns | scopes, max_size=3),
    "min_changed_files": numbers,
    "min_changed_lines": numbers,
    "deletion_dominant": st.booleans(),
    "min_commits": numbers,
    "when": texts,
    "mode": st.sampled_from((*MODES, "maybe")),
    "question": texts,
    "question_file": st.sampled_from(("q.md", "blank.md", "gone.md", "../q.md")),
    "teach": texts,
    "reference": texts,
}
QUESTION_TEXTS = {"q.md": "From a file?\n", "blank.md": " \n"}
TABLES = {
    "vars": {"dir": "lib/", "bad": "./x"},
    "scopes": {"docs": {"paths": ["docs/**", "${vars.dir}"]}, "empty": {}, "bad": {"paths": ["{x"]}},
    "generated": {"g": {"paths": ["gen/**"]}},
}

few_fields = st.lists(st.sampled_from(sorted(FIELDS)), max_size=4, unique=True).flatmap(
    lambda chosen: st.fixed_dictionaries({field: FIELDS[field] for field in chosen})
)
asked = few_fields.map(lambda entry: entry if "question_file" in entry else {"question": "Why?"} | entry)
entries = few_fields | asked | asked | st.sampled_from((3, [], "x", {"qestion": "Why?"}))
identities = st.sampled_from((*SEEDS, "p", "q", "r")) | st.text(max_size=3)
checkpoints = st.dictionaries(identities, entries, max_size=5)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | patterns,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.sampled_from(sorted(FIELDS)), inner, max_size=4)
    ),
    max_leaves=8,
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "checkpoints": st.dictionaries(
            identities, st.dictionaries(st.sampled_from(sorted(FIELDS)), values, max_size=3), max_size=3
        )
        | values,
        "scopes": st.dictionaries(scopes, st.fixed_dictionaries({}, optional={"paths": pattern_lists | values})) | values,
        "generated": st.dictionaries(scopes, st.fixed_dictionaries({}, optional={"paths": pattern_lists | values})) | values,
        "repository": st.fixed_dictionaries({}, optional={"trunk": st.text(max_size=3)}) | values,
        "vars": values,
    },
)


def resolved(table) -> Policy:
    policy = resolve(TABLES | {"checkpoints": table}, QUESTION_TEXTS)
    assert isinstance(policy, Policy)
    return policy


def by_identity(policy: Policy) -> dict:
    return {result.id: result for result in (*policy.definitions, *policy.drops)}


def safe(account: str) -> bool:
    return 0 < len(account) <= 500 and not any(
        ord(character) < 32 or character in "\x7f\x85\u2028\u2029\u202e" for character in account
    )


@pytest.mark.parametrize("effort", EFFORTS)
def test_an_entry_comes_to_the_same_whatever_stands_beside_it(effort):
    """spec 1.5: one bad entry drops that entry alone, and a good one changes no other."""

    @effort
    @given(table=checkpoints)
    def law(table):
        together = by_identity(resolved(table))
        assert together.keys() == table.keys()
        for identity, entry in table.items():
            assert by_identity(resolved({identity: entry})) == {identity: together[identity]}

    law()


@given(table=checkpoints, data=st.data())
def test_the_order_of_the_file_is_the_only_thing_it_orders(table, data):
    """spec 9.2: entries keep the order of the file, and nothing else depends on it."""
    shuffled = dict(data.draw(st.permutations(list(table.items()))))
    first, second = resolved(table), resolved(shuffled)
    assert by_identity(first) == by_identity(second)
    for policy, order in ((first, list(table)), (second, list(shuffled))):
        for results in (policy.definitions, policy.drops):
            places = [order.index(result.id) for result in results]
            assert places == sorted(places)


@given(table=checkpoints)
def test_what_is_resolved_is_within_the_limits(table):
    """spec 2.1, 1.5: a definition holds judged patterns and asks something; a drop has a reason of the contract."""
    policy = resolved(table)
    for definition in policy.definitions:
        patterns_of([*(definition.paths or ()), *definition.exclude_paths, *definition.unless_changed])
        assert definition.question.strip()
        for threshold in (definition.min_changed_files, definition.min_changed_lines, definition.min_commits):
            assert threshold is None or 1 <= threshold < 2**53
    for drop in policy.drops:
        assert drop.reason in ENTRY_REASONS
        assert drop.mode in MODES
        assert safe(drop.account)


@given(identity=st.sampled_from(sorted(SEEDS)), entry=few_fields)
def test_a_seed_fills_in_what_is_not_set(identity, entry):
    """spec 1.7: a seeded entry is the entry with the seed's other fields written out."""
    taken = {"question"} if "question_file" in entry else set()
    written = {field: value for field, value in SEEDS[identity].items() if field not in taken} | entry
    (seeded,) = by_identity(resolved({identity: entry})).values()
    (plain,) = by_identity(resolved({"plain": written})).values()
    assert type(seeded) is type(plain)
    assert all(getattr(seeded, name) == getattr(plain, name) for name in seeded.__slots__ if name not in {"id", "__weakref__"})


@pytest.mark.parametrize("effort", EFFORTS)
def test_any_document_is_a_policy_or_is_refused(effort):
    """spec 1.3: whatever TOML can hold, and what it cannot; never an exception, and accounts that are safe to show."""

    @effort
    @given(document=documents)
    def law(document):
        assert all(isinstance(path, str) for path in question_files(document))
        policy = resolve(document, {})
        for account in [policy.account] if isinstance(policy, PolicyInvalid) else [drop.account for drop in policy.drops]:
            assert safe(account)

    law()


SYNTAX = ("[", "]", "[[", '"', "'", '"""', "= ", "{", "}", ",", "\n", "#", "\\", "\0", "\r", "é", "0x", "2024-13-01", "\\ud800")
STATEMENTS = ("[checkpoints.k]\n", "x = 1\n", "x.y = 2\n")
SECRETS = (SECRET, f"{SECRET} = ", f'"{SECRET}"\n', f"[{SECRET}]\n", f"['{SECRET}' . \"{SECRET}\"]\n")
toml_pieces = st.sampled_from(SYNTAX) | st.sampled_from(STATEMENTS) | st.sampled_from(SECRETS)
toml_texts = st.lists(toml_pieces, max_size=8).map(lambda pieces: "".join(pieces).encode())


@pytest.mark.parametrize("effort", EFFORTS)
def test_bytes_are_a_document_or_an_account_that_quotes_nothing(effort):
    """spec 1.3, 8.6: any bytes give a document or an account, which never holds the file's text."""

    @effort
    @given(raw=toml_texts | st.binary(max_size=40))
    def law(raw):
        document = parse(raw)
        if isinstance(document, PolicyInvalid):
            assert safe(document.account)
            assert SECRET not in document.account

    law()


def test_the_laws_speak_of_every_reason_and_every_field():
    """Entries of the laws are dropped for each reason, and resolved with each field set."""
    for reason in ENTRY_REASONS:
        find(
            checkpoints,
            lambda table, reason=reason: any(drop.reason == reason for drop in resolved(table).drops),
            settings=SEARCH,
        )
    assert FIELDS.keys() == CHECKPOINT_FIELD_ROLES.keys()
    for field in FIELDS:
        find(
            asked,
            lambda entry, field=field: field in entry and bool(resolved({"p": entry}).definitions),
            settings=SEARCH,
        )
    find(toml_texts, lambda raw: SECRET.encode() in raw and isinstance(parse(raw), PolicyInvalid), settings=SEARCH)
    find(documents, lambda document: isinstance(resolve(document, {}), PolicyInvalid), settings=SEARCH)
