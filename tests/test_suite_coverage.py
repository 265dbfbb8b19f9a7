"""What the suite covers, looked up and not claimed: each test lists what has no case, or none on the other side (spec 10.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from discern import vocabulary
from discern.conformance.expectations import SUITE, read_suite
from discern.seeds import SEEDS
from discern.vocabulary import (
    BASE_REASONS,
    CHECKPOINT_FIELD_ROLES,
    ENTRY_REASONS,
    FILE_REASONS,
    HISTORY_REASONS,
    KINDS,
    TRIGGER_REASONS,
    VETOES,
    WHEN_REASONS,
    OutcomeName,
)

CONTRACT = " ".join((Path(SUITE).parent / "CONTRACT.md").read_text("utf-8").split())
found = read_suite()
assert isinstance(found, list)
CASES = {case.id: case for case in found}
Row = dict[str, Any]

# Clauses that no case can be about: what is collected, stored or shown, and what only says what words mean.
NO_CASE = {
    *("1.1", "1.2", "2.2", "4.1", "4.2", "4.3", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12"),
    *("6.2", "6.5", "6.8", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "9.1", "9.2", "9.3", "9.4", "10.3", "10.4"),
}

# Each limit that a case can meet: the case, what is inside, what is outside.
LIMITS = {
    "QUESTION_FILE_LIMIT": ("limits/question-file", "at", "over"),
    "PATTERNS_LIMIT": ("limits/patterns", "sixteen", "seventeen"),
    "PATTERN_BYTES_LIMIT": ("limits/patterns", "bytes", "bytes-over"),
    "THRESHOLD_LIMIT": ("limits/integers", "min_changed_lines-at", "min_changed_lines-over"),
    "ALTERNATIVES_LIMIT": ("dialect/alternatives-limit", "exact", "over"),
    "LINE_COUNT_LIMIT": ("limits/line-count", "at", "over"),
    "COMPARISON_LIMIT": ("limits/work-to-the-byte", "at", "over"),
    "DOMINANT_DELETIONS": ("limits/deletions", "at", "under"),
    "DOMINANT_RATIO": ("limits/deletion-ratio", "at", "under"),
    "WHEN_FIRES": ("when/answers", "fire", "one"),
    "WHEN_PASSES": ("when/answers", "pass", "eleven"),
}
# The others bound what is collected, run, stored or shown: tests of their own hold them.
OTHER_LIMITS = {
    *(
        "KIB",
        "MIB",
        "CONFIG_LIMIT",
        "FILE_LIMIT",
        "TOTAL_LIMIT",
        "LINE_LIMIT",
        "BINARY_PREFIX",
        "COUNTING_LIMIT",
        "HISTORY_LIMIT",
    ),
    *("SUBJECT_FILE_LIMIT", "WHEN_SECONDS", "WHEN_OUTPUT_LIMIT", "WHEN_EXCERPT", "ACCOUNT_LIMIT", "RATIONALE_LIMIT"),
    *("JUDGEMENTS_LIMIT", "LOGBOOK_LIMIT"),
}

# What sections 3, 5 and 6.6 say, sentence by sentence: a case, a definition where it holds, and one on the other side.
RULES = {
    # 3
    "| empty, or `/` alone |": ("dialect/empty", "with-another", "p"),
    "| ends with `/**`, no glob character before that |": ("dialect/prefix-corners", "deep-globstar", "two-slashes"),
    "| begins and ends with `/`, no glob character |": ("dialect/segment-is-no-prefix", "segment", "prefix"),
    "| ends with `/`, no glob character |": ("dialect/prefix-corners", "all-of-a", "deep"),
    "| `*.` and more, in which there is no glob character and no `/` |": ("dialect/shapes-in-order", "suffix", "rooted"),
    "| any glob character |": ("dialect/shapes-in-order", "two-stars", "suffix"),
    "| anything else |": ("dialect/exact-corners", "plain", "untidy"),
    "The first shape in this table that a pattern has is what it means": ("dialect/shapes-in-order", "suffix", "star-after"),
    "case-sensitively": ("dialect/case", "segment", "glob"),
    "without normalisation": ("dialect/code-points", "exact", "decomposed"),
    "code point by code point": ("dialect/code-points", "one", "two"),
    "one for each byte that is not UTF-8": ("dialect/undecodable", "one", "two"),
    "A leading dot is nothing special": ("dialect/leading-dot", "star", "suffix"),
    "`/**` is everything": ("dialect/everything", "p", "star"),
    "One leading `/` is dropped": ("dialect/exact-corners", "rooted", "two-slashes"),
    "a trailing `/` becomes `/**`": ("dialect/glob-with-a-slash-at-the-end", "p", "q"),
    "those of the whole pattern, before its braces are opened": (
        *("dialect/braces-after-the-slashes", "leading-outside", "leading-inside"),
    ),
    "Alternatives may be empty, nest": ("dialect/braces", "empty-last", "nested"),
    "and hold `/`": ("dialect/braces-hold-slashes", "slash", "glob-inside"),
    "`{a}` and `{}` have one": ("dialect/braces", "of-one", "of-none"),
    "Outside braces a comma is a character": ("dialect/comma-and-bracket", "comma", "bracket"),
    "Inside a class braces and commas are characters": ("dialect/braces-in-classes", "class-of-a-group", "unclosed"),
    "a class inside braces hides its own": ("dialect/braces-in-classes", "comma", "comma-unclosed"),
    "spans any number of whole segments, none included": ("dialect/globstar-spans-whole-segments", "middle", "with-star"),
    "as the last one it spans at least one": ("dialect/globstar-last-needs-one", "alternatives", "rooted"),
    "`*` any run of characters, an empty one too": ("dialect/star", "middle", "twice"),
    "(`**` in a longer segment is `*`)": ("dialect/globstar-in-a-name", "after", "after-globstar"),
    "`?` one character": ("dialect/question-mark", "p", "two"),
    "`\\` and a stray `]` are themselves": ("dialect/backslash", "star", "exact"),
    "the first `]` that does not stand right at its beginning": ("dialect/class-bracket-first", "first", "only"),
    "`!` or `^` first negates it": ("dialect/class-negated", "bang", "bang-later"),
    "a range by code point, both ends included": ("dialect/class-range", "ends", "one"),
    "a `-` first or last too, is itself": ("dialect/class-hyphen", "last", "not-last"),
    "No class matches `/`": ("dialect/class-and-slash", "range", "slash"),
    "There are no named classes": ("dialect/cannot-be-compiled", "bracket", "class"),
    "if a `[` or `{` is not closed": ("dialect/class-unclosed", "closed", "alone"),
    "a `}` has no `{`": ("dialect/braces-unbalanced", "balanced", "close"),
    "a `/` stands in a class": ("dialect/class-and-slash", "not", "among"),
    "a range runs backwards": ("dialect/class-range", "one", "reversed"),
    "it has more than 1,000 alternatives (as written: equal ones count)": (*("dialect/alternatives-counted", "sum-at", "equal"),),
    "or it begins with `!` or `./`": ("dialect/refused-beginnings", "bang-later", "not"),
    # 5.1
    "| 1 | generated |": ("selection/generated", "authored", "all"),
    "| 2 | selector |": ("selection/scope", "scoped", "all"),
    "| 3 | `exclude_paths` |": ("selection/exclude", "p", "none"),
    "| 4 | `kinds` |": ("narrowing/kinds", "some", "none"),
    "| 5 | `adds_matching` |": ("narrowing/adds-matching", "p", "gone"),
    "| 6 | `removes_matching` |": ("narrowing/removes-matching", "p", "added"),
    "| 7 | `new_directory` |": ("narrowing/new-directory-veto", "new", "root"),
    "| 8 | `binary` |": ("narrowing/binary", "bin", "no-bin"),
    "| 9 | `similar_new_file` |": ("narrowing/similar-new-file", "p", "none"),
    "| 10 | `unless_changed` |": ("thresholds/unless-changed", "quiet", "pattern"),
    "| 11 | `min_changed_files` |": ("thresholds/min-changed-files", "two", "three"),
    "| 12 | `min_changed_lines` |": ("thresholds/min-changed-lines", "exact", "over"),
    "| 13 | `deletion_dominant` |": ("thresholds/deletion-dominant", "at", "ratio"),
    "| 14 | `min_commits` |": ("thresholds/min-commits", "three", "four"),
    "| 15 | `when` |": ("when/answers", "fire", "pass"),
    "the first that fails decides": ("order/vetoes", "kinds-adds_matching", "adds_matching-removes_matching"),
    "no changed path at all matches the selector": ("veto/first-three", "nothing", "generated"),
    "only generated ones do": ("veto/first-three", "generated", "included"),
    "all that were left are excluded": ("veto/first-three", "excluded", "generated-and-excluded"),
    "drops the definition before it compares anything": ("order/content-unavailable-drops", "p", "known"),
    "A fact that only a later step needs": ("order/veto-before-later-drop", "p", "files-counts"),
    "or of a file that is gone from the evidence, does no harm": ("order/kinds-before-content", "p", "not-removed"),
    "| 5, 6 | content |": ("order/content-unavailable-drops", "removed", "known"),
    "| 7, 9 | the base tree, if an added file is in evidence": ("order/base-for-additions-only", "added", "kinds"),
    "| 8 | the binary flag |": ("order/binary-unavailable", "binary", "free"),
    "| 12, 13 | the line counts |": ("order/lines-unavailable", "lines", "files"),
    "| 14 | the history |": ("order/history-unavailable", "p", "q"),
    "| 15 | flag and counts |": ("when/flags-and-counts", "flag", "known"),
    "that of the first file, in byte order of paths": ("order/first-path-speaks", "all", "lower"),
    "at step 15 the flag's before the counts'": ("when/flag-before-count", "both", "earlier-count"),
    "A fact that was not collected although a step needs it": ("order/not-collected", "content", "none"),
    # 5.2 to 5.6
    "*Admitted base tree*": ("narrowing/new-directory-admitted", "authored", "included"),
    "*Filtered universe*": ("thresholds/unless-filtered", "excluded", "another"),
    "Its directories are all that any of these paths lies below": ("narrowing/new-directory-root", "deep", "root"),
    "looked for as UTF-8 bytes": ("narrowing/bytes", "latin", "combining"),
    "in single lines: case-sensitive, literal": ("narrowing/literal", "literal", "across"),
    "First, content that is unavailable drops": ("limits/unavailable-before-work", "all", "known"),
    "at step 6 if there is no `adds_matching`": ("limits/work", "removes-at", "removes-over"),
    "(number of texts in both fields together)": ("limits/work-both-fields", "at", "over"),
    "(payload length + 1)": ("limits/work-empty-lines", "at", "over"),
    "over all files in evidence": ("limits/work-of-evidence", "kinds", "all"),
    "else, with more than 65,536 lines": ("limits/work-before-line-count", "lines", "both"),
    "not deleted in the filtered universe": ("narrowing/similar-original-deleted", "p", None),
    "lies in the same directory": ("similar/directory", "p", None),
    "has the same extension": ("similar/extension", "p", None),
    "and another stem": ("similar/same-stem", "p", None),
    "which is not empty": ("similar/empty-form", "p", None),
    "a dot at the beginning of a name does not count": ("similar/leading-dot", "p", None),
    "Extensions and stems are compared as they are": ("similar/case", "p", None),
    "again and again": ("similar/repeatedly", "p", None),
    "one of `-`, `_`, `.`, space": ("similar/separators", "p", None),
    "`copy new old final backup bak tmp temp orig original next alt`": ("similar/words", "p", None),
    "by `v` and ASCII digits, or by ASCII digits": ("similar/versions", "p", None),
    "a single ASCII digit right after one of the letters a–z": ("similar/trailing-digit", "p", None),
    "sorted by (`for_path`, `path`)": ("similar/several", "p", None),
    "never counted": ("narrowing/similar-new-file", "p", "two"),
    "never offered to a command": ("when/related-is-not-offered", "p", None),
    "a directory whose last file this change deletes is not new": ("narrowing/new-directory-emptied", "p", None),
    "the matched paths, sorted by bytes": ("identity/sorted-by-bytes", "p", None),
    "`undecided`, no command was asked": ("when/answers", "silent", "fire"),
    # 6.6
    "A line ends at LF alone": ("match/line-ends", "return", "crlf"),
    "White space is space, tab, CR, VT and FF": ("match/white-space-form-feed", "before", "only"),
    "the first token `DISCERN_MATCH`": ("match/first-token", "first", "longer"),
    "at the line's start or after white space": ("match/whole-token", "right", "before"),
    "has white space after it": ("match/whole-token", "right", "longer"),
    "with white space trimmed from both ends": ("match/white-space-tab", "trimmed", "only"),
    "as often as it stands there": ("match/here-taken-off", "often", "hidden"),
    "If it is then empty": ("match/next-line-is-no-path", "then", "blank"),
    "begins with `/`": ("match/escaping-is-ignored", "absolute", "alone"),
    "or has a segment `..`": ("match/escaping-is-ignored", "up", "alone"),
    "those of the evidence that were named so": ("match/narrows", "p", "all"),
    "byte for byte": ("match/bytes", "composed", "decomposed"),
    "if none was, all of them": ("match/unusable", "p", "one-left"),
    "Related evidence of a path that is gone goes with it": ("match/related-follows", "p", "both"),
}


def expectations() -> Iterator[tuple[str, str, Row]]:
    """Every expected row, with its case and definition."""
    for case in CASES.values():
        if case.expectation[0] == "expect":
            yield from ((case.id, name, row) for name, row in case.expectation[1].items())


ROWS = list(expectations())


def row(case: str, name: str) -> Row:
    expected: Row = CASES[case].expectation[1][name]
    return expected


def beside(member: str, value: str) -> bool:
    """Whether a case expects this of one definition and something else of another."""
    having = {case for case, _, expected in ROWS if expected.get(member) == value}
    return any(case in having and expected.get(member) != value for case, _, expected in ROWS)


def test_every_clause_has_a_case():
    """10.4: of every clause that a case can be about."""
    clauses = set(re.findall(r"\*\*(\d+\.\d+)\*\*", CONTRACT)) | {"0", "3"}
    assert clauses - {case.clause for case in CASES.values()} == NO_CASE


def test_every_sentence_has_cases_on_both_sides():
    """10.4: what sections 3, 5 and 6.6 say; the sentences are the contract's own, so a new wording asks for a new look."""
    assert [words for words in RULES if words not in CONTRACT] == []
    for case, one, other in RULES.values():
        assert row(case, one) != (row(case, other) if other is not None else {}), case


def test_every_row_of_the_tables_is_among_the_sentences():
    """10.4: the shapes of section 3, the steps of 5.1 and what they need."""
    text = (Path(SUITE).parent / "CONTRACT.md").read_text("utf-8")
    lines = re.findall(
        r"^\|.*",
        text[text.index("## 3 ") : text.index("## 4 ")] + text[text.index("## 5 ") : text.index("**5.2**")],
        re.MULTILINE,
    )
    rows = [line for line in lines if not line.startswith(("| ---", "| shape", "| #", "| steps"))]
    assert len(rows) == 7 + 15 + 6
    assert [line for line in rows if not any(line.startswith(words) for words in RULES)] == []


def test_every_veto_and_reason_has_cases_on_both_sides():
    """10.4: vetoes, and the drop reasons that an evaluation can give."""
    assert [veto for veto in VETOES if not beside("vetoed_by", veto)] == []
    assert [reason for reason in (*ENTRY_REASONS, *TRIGGER_REASONS, *WHEN_REASONS) if not beside("reason", reason)] == []
    assert "governing_config_invalid" in {
        case.expectation[1] for case in CASES.values() if case.expectation[0] == "expect_policy_drop"
    }


def test_every_outcome_and_detail_comes_up():
    """5.1, 5.6: each fact's own reasons, under the drop that they belong to."""
    assert {expected.get("outcome") for _, _, expected in ROWS} >= set(get_args(OutcomeName))
    details = {(expected.get("reason"), expected.get("detail")) for _, _, expected in ROWS}
    wanted = {("trigger_content_unavailable", detail) for detail in (*FILE_REASONS, "comparison_work")}
    wanted |= {("trigger_history_unavailable", detail) for detail in HISTORY_REASONS}
    wanted |= {("trigger_base_unavailable", detail) for detail in BASE_REASONS}
    assert wanted - details == set()


def test_every_field_has_good_and_bad_values():
    """2.1: a case a field, and each field alone in a hash."""
    for field in CHECKPOINT_FIELD_ROLES:
        outcomes = {expected.get("reason") == "checkpoint_definition_invalid" for _, expected in case_rows(f"fields/{field}")}
        assert outcomes == {True, False}, field
    alone = CASES["identity/each-field"].question["policy"]["checkpoints"].values()
    assert {field for entry in alone for field in entry} == set(CHECKPOINT_FIELD_ROLES) - {"scope"}


def case_rows(case: str) -> Iterator[tuple[str, Row]]:
    yield from CASES[case].expectation[1].items()


def test_every_kind_is_kept_and_left_out():
    """5.1: by `kinds`."""
    matched = [set(expected.get("matched", ())) for _, expected in case_rows("narrowing/kinds")]
    paths = {change["kind"]: change["path"] for change in CASES["narrowing/kinds"].question["facts"]["changes"]}
    assert {kind for kind in KINDS if {paths[kind] in some for some in matched} == {True, False}} == set(KINDS)


def test_every_seed_fires_and_does_not():
    """1.7: and has each of its fields inherited, and each set aside by an explicit value."""
    for seed in SEEDS:
        assert (row(f"seeds/{seed}", seed)["outcome"], row(f"seeds/{seed}-not", seed)["outcome"]) == ("fired", "vetoed")
        assert row("seeds/inherited", seed)["definition_hash"] != row("seeds/explicit-wins", seed)["definition_hash"]


def test_every_limit_has_cases_on_both_sides():
    """10.4: of each number of the vocabulary it is said where it is met."""
    numbers = {name for name, value in vars(vocabulary).items() if type(value) in (int, float)}
    assert numbers == LIMITS.keys() | OTHER_LIMITS
    for case, inside, outside in LIMITS.values():
        within, beyond = row(case, inside), row(case, outside)
        assert within["outcome"] in {"fired", "passed"} or within["vetoed_by"], case
        assert beyond["outcome"] != within["outcome"], case
