"""Stage 3: what the files must be and what their change must do (spec 5.1, steps 4 to 9; 5.3)."""

from functools import partial

import pytest

from discern.definitions import Definition
from discern.facts import NO_CONTENT, NOT_COLLECTED, BaseTree, ChangedFile, Content, Facts, NotCollected, Unavailable
from discern.outcomes import Evaluation, Related
from discern.pipeline import judge_facts
from discern.vocabulary import COMPARISON_LIMIT, LINE_COUNT_LIMIT, Kind

asked = partial(Definition, id="p", question="Is this change right?")


def judged(
    definition: Definition, *changes: ChangedFile, base: BaseTree | Unavailable | NotCollected = NOT_COLLECTED
) -> Evaluation:
    return judge_facts(definition, Facts.of(changes, base=base))


def vetoed_by(evaluation: Evaluation) -> str | None:
    return evaluation.veto.by if evaluation.outcome == "vetoed" and evaluation.veto else None


def detail_of(evaluation: Evaluation) -> tuple[str, str | None] | None:
    return (evaluation.drop.reason, evaluation.drop.detail) if evaluation.outcome == "dropped" and evaluation.drop else None


def text(path: str, added: tuple[bytes, ...] = (), removed: tuple[bytes, ...] = (), kind: Kind = "modified") -> ChangedFile:
    return ChangedFile(path=path, kind=kind, binary=False, content=Content.of(added, removed))


def a_file(path: str, kind: Kind = "added") -> ChangedFile:
    return ChangedFile(path=path, kind=kind)


ONE_OF_EACH = (a_file("a"), a_file("b", "modified"), a_file("c", "deleted"))


def test_kinds_keeps_the_listed_kinds() -> None:
    """spec 5.1, step 4: listed kinds stay, in whatever order they are listed; none left is the step's veto."""
    assert judged(asked(kinds=("deleted", "added")), *ONE_OF_EACH).matched == ("a", "c")
    assert vetoed_by(judged(asked(kinds=("deleted",), paths=("b",)), *ONE_OF_EACH)) == "kinds"


def test_a_pattern_is_a_literal_substring_of_a_single_line() -> None:
    """spec 5.3: case counts, nothing is an operator, no match reaches over a line's end, bytes are compared."""
    changes = (
        text("joined", (b"end", b"start")),
        text("operators", (b"(x|y)*$ here",)),
        text("other case", (b"todo",)),
        text("undecodable", (b"\xff caf\xc3\xa9",)),
        text("empty", (b"",)),
    )
    for pattern, matched in {"(x|y)*$": "operators", "todo": "other case", "é": "undecodable", "end": "joined"}.items():
        assert judged(asked(adds_matching=(pattern,)), *changes).matched == (matched,)
    for pattern in ("endstart", "a.c", "TODO", ".*"):
        assert vetoed_by(judged(asked(adds_matching=(pattern,)), *changes)) == "adds_matching"


def test_each_content_step_looks_at_its_own_side() -> None:
    """spec 5.1, steps 5 and 6: added lines for the one, removed lines for the other, any of the patterns."""
    changes = (text("a", (b"new",), (b"old",)), text("b", (b"old",), (b"new",)), text("c"))
    assert judged(asked(adds_matching=("none", "new")), *changes).matched == ("a",)
    assert judged(asked(removes_matching=("none", "new")), *changes).matched == ("b",)


def test_both_content_steps_must_hold_of_one_file() -> None:
    """spec 2.2: fields are AND; the second step sees the survivors of the first."""
    definition = asked(adds_matching=("new",), removes_matching=("old",))
    assert judged(definition, text("a", (b"new",), (b"old",)), text("b", (b"new",))).matched == ("a",)
    assert vetoed_by(judged(definition, text("a", (b"new",)), text("b", (), (b"old",)))) == "removes_matching"


def test_a_file_without_lines_between_others_matches_nothing() -> None:
    """spec 4.4: empty content is available and matches no pattern, wherever the file stands in the listing."""
    changes = [text(name, (b"hit",) if name in "bd" else ()) for name in "abcde"]
    assert judged(asked(adds_matching=("hit",)), *changes).matched == ("b", "d")
    binary = ChangedFile(path="a", kind="added", binary=True, content=NO_CONTENT)
    assert vetoed_by(judged(asked(adds_matching=("x",)), binary)) == "adds_matching"


@pytest.mark.parametrize("field", ["adds_matching", "removes_matching"])
def test_unavailable_content_drops_even_if_another_file_matches(field: str) -> None:
    """spec 5.1: never from a partial scan; the first such path in byte order speaks."""
    changes = (
        text("a", (b"needle",), (b"needle",)),
        ChangedFile(path="z", kind="modified", content=Unavailable("file_limit")),
        ChangedFile(path="m", kind="modified", content=Unavailable("line_limit")),
    )
    evaluation = judged(asked(**{field: ("needle",)}), *changes)
    assert detail_of(evaluation) == ("trigger_content_unavailable", "line_limit")
    assert evaluation.steps[-1].step == field
    assert evaluation.steps[-1].after is None


def test_content_that_was_not_collected_is_inconsistent() -> None:
    """spec 5.1: a fact that a step needs and nobody collected is a drop, never a guess."""
    assert detail_of(judged(asked(removes_matching=("x",)), a_file("a"))) == ("trigger_content_unavailable", "inconsistent")


def test_unavailable_content_of_a_file_that_is_gone_does_no_harm() -> None:
    """spec 5.1: a fact of a file no longer in evidence is not needed."""
    lost = ChangedFile(path="b", kind="added", content=Unavailable("file_limit"))
    assert judged(asked(kinds=("modified",), adds_matching=("x",)), text("a", (b"x",)), lost).matched == ("a",)


def lines(count: int) -> tuple[bytes, ...]:
    return (b"",) * count


def test_the_line_limit_counts_both_sides_of_all_files_in_evidence() -> None:
    """spec 5.3: 65,536 lines are admitted, one more is a drop; files out of evidence are not charged."""
    at = (text("a", (b"hit", *lines(LINE_COUNT_LIMIT - 10)), lines(4)), text("b", (), lines(5)))
    assert sum(change.content.added.count(b"\n") + change.content.removed.count(b"\n") for change in at) == LINE_COUNT_LIMIT
    over = text("c", (b"x",))
    definition = asked(adds_matching=("hit",))
    assert judged(definition, *at).matched == ("a",)
    assert detail_of(judged(definition, *at, over)) == ("trigger_content_unavailable", "line_count")
    assert judged(asked(adds_matching=("hit",), exclude_paths=("c",)), *at, over).matched == ("a",)


def test_the_work_limit_multiplies_by_the_patterns_of_both_fields() -> None:
    """spec 5.3: (payload + 1) x patterns up to 67,108,864 is admitted, one byte more is a drop."""
    four = asked(adds_matching=("hit", "absent"), removes_matching=("hit", "missing"))
    three = asked(adds_matching=("hit", "absent"), removes_matching=("hit",))
    half = b"x" * (COMPARISON_LIMIT // 8 - 5) + b" hit"
    at = text("a", (half,), (half,))
    assert len(at.content.added) * 4 + len(at.content.removed) * 4 == COMPARISON_LIMIT
    over = text("b", (b"",))
    assert judged(four, at).matched == ("a",)
    assert detail_of(judged(four, at, over)) == ("trigger_content_unavailable", "comparison_work")
    assert judged(three, at, over).matched == ("a",)


def test_the_charge_covers_what_is_in_evidence_at_the_first_content_step() -> None:
    """spec 5.3: at step 5 the files that step 5 itself takes out are charged; at step 6 only if step 5 is not configured."""
    big = text("big", (), (b"x" * (COMPARISON_LIMIT // 2 - 1),))
    small = text("small", (b"hit",), (b"hit",))
    both = asked(adds_matching=("hit",), removes_matching=("hit",))
    assert detail_of(judged(both, big, small)) == ("trigger_content_unavailable", "comparison_work")
    assert judged(asked(removes_matching=("hit",)), big, small).matched == ("small",)


def test_comparison_work_wins_over_line_count() -> None:
    """spec 5.3: `comparison_work` if both limits are passed."""
    big = text("a", (b"x" * COMPARISON_LIMIT, *lines(LINE_COUNT_LIMIT)))
    assert detail_of(judged(asked(adds_matching=("x",)), big)) == ("trigger_content_unavailable", "comparison_work")


def test_unavailable_content_wins_over_the_charge() -> None:
    """spec 5.3: unavailable content is looked at first."""
    big = text("a", (b"x" * COMPARISON_LIMIT,))
    lost = ChangedFile(path="b", kind="modified", content=Unavailable("unreadable"))
    assert detail_of(judged(asked(adds_matching=("x",)), big, lost)) == ("trigger_content_unavailable", "unreadable")


BASE = BaseTree(("docs/x/y.md", "gen/z.py", "src/old.py"), frozenset({"gen/z.py"}))


def test_a_new_directory_is_one_the_base_tree_does_not_have() -> None:
    """spec 5.1, step 7: added files whose parent is no directory of it; the root is none, a directory of directories is one."""
    changes = [a_file(path) for path in ("billing/a.py", "billing/sub/b.py", "docs/c.md", "docs/x/d.md", "src/e.py", "top.py")]
    changes.append(a_file("new/f.py", "modified"))
    assert judged(asked(new_directory=True), *changes, base=BASE).matched == ("billing/a.py", "billing/sub/b.py")


def test_a_directory_whose_name_another_begins_with_is_new() -> None:
    """spec 5.1, step 7: `doc` and `docs-old` are other directories than `docs`."""
    assert judged(asked(new_directory=True), a_file("doc/a"), a_file("docs-old/a"), a_file("docs0/a"), base=BASE).matched == (
        "doc/a",
        "docs-old/a",
        "docs0/a",
    )


def test_the_root_is_never_new() -> None:
    """spec 5.1, step 7: not even where the base tree is empty."""
    assert judged(asked(new_directory=True), a_file("a"), a_file("b/c"), base=BaseTree(())).matched == ("b/c",)


def test_a_directory_of_generated_or_excluded_files_alone_is_new() -> None:
    """spec 5.2: only authored paths, or all with `include_generated`, that no exclusion matches are admitted."""
    changes = a_file("gen/a.txt"), a_file("src/b.txt")
    assert judged(asked(new_directory=True), *changes, base=BASE).matched == ("gen/a.txt",)
    assert vetoed_by(judged(asked(new_directory=True, include_generated=True), *changes, base=BASE)) == "new_directory"
    assert judged(asked(new_directory=True, exclude_paths=("*.py",)), *changes, base=BASE).matched == ("gen/a.txt", "src/b.txt")


def test_emptying_a_directory_does_not_make_it_new() -> None:
    """spec 5.5: `new_directory` looks at the base tree only."""
    changes = a_file("src/old.py", "deleted"), a_file("src/new.py")
    assert vetoed_by(judged(asked(new_directory=True), *changes, base=BASE)) == "new_directory"


def test_binary_keeps_the_files_with_that_flag() -> None:
    """spec 5.1, step 8: `true` keeps binary files, `false` text; none left is the step's veto."""
    image, script = ChangedFile(path="a.png", kind="added", binary=True), ChangedFile(path="b.py", kind="added", binary=False)
    assert judged(asked(binary=True), image, script).matched == ("a.png",)
    assert judged(asked(binary=False), image, script).matched == ("b.py",)
    assert vetoed_by(judged(asked(binary=False), image)) == "binary"


def test_an_unknown_binary_flag_drops_with_its_own_reason() -> None:
    """spec 5.1: step 8 needs the flag of every file in evidence; the first such path in byte order speaks."""
    changes = (
        ChangedFile(path="z", kind="modified", binary=Unavailable("unreadable")),
        ChangedFile(path="B", kind="modified", binary=Unavailable("not_regular")),
        ChangedFile(path="a", kind="modified", binary=True),
    )
    assert detail_of(judged(asked(binary=True), *changes)) == ("trigger_content_unavailable", "not_regular")
    assert detail_of(judged(asked(binary=True), a_file("a"))) == ("trigger_content_unavailable", "inconsistent")
    assert judged(asked(binary=True, paths=("a",)), *changes).matched == ("a",)


def test_a_similar_sibling_is_related_evidence_and_no_changed_file() -> None:
    """spec 5.4: the added file stays, the sibling is related, sorted by (for_path, path)."""
    base = BaseTree(("src/parser_old.py", "src/parser.py", "src/other.py", "lib/parser.py"))
    changes = a_file("src/parser_v2.py"), a_file("src/Other.py"), a_file("src/lexer.py"), a_file("src/other2.py", "modified")
    evaluation = judged(asked(similar_new_file=True), *changes, base=base)
    assert evaluation.matched == ("src/Other.py", "src/parser_v2.py")
    assert evaluation.related == (
        Related("src/Other.py", "src/other.py"),
        Related("src/parser_v2.py", "src/parser.py"),
        Related("src/parser_v2.py", "src/parser_old.py"),
    )
    assert evaluation.steps[-1].after == 2


def test_an_original_that_is_deleted_is_no_sibling() -> None:
    """spec 5.4: not deleted in the filtered universe; the selector plays no part in that."""
    base = BaseTree(("src/parser.py",))
    moved = a_file("src/parser_v2.py"), a_file("src/parser.py", "deleted")
    for definition in (asked(similar_new_file=True), asked(similar_new_file=True, paths=("src/parser_v2.py",))):
        assert vetoed_by(judged(definition, *moved, base=base)) == "similar_new_file"


def test_a_sibling_that_is_generated_or_excluded_is_none() -> None:
    """spec 5.2, 5.4: the existing one is in the admitted base tree."""
    base = BaseTree(("a/x.py", "a/y.py"), frozenset({"a/x.py"}))
    changes = a_file("a/x_new.py"), a_file("a/y_new.py")
    assert judged(asked(similar_new_file=True), *changes, base=base).matched == ("a/y_new.py",)
    assert judged(asked(similar_new_file=True, include_generated=True), *changes, base=base).matched == (
        "a/x_new.py",
        "a/y_new.py",
    )
    excluding = asked(similar_new_file=True, include_generated=True, exclude_paths=("a/y.py",))
    assert judged(excluding, *changes, base=base).matched == ("a/x_new.py",)


def test_only_matched_files_have_related_evidence() -> None:
    """spec 5.4: a similar file that is not in evidence brings nothing along."""
    base = BaseTree(("a/x", "b/x"))
    evaluation = judged(asked(similar_new_file=True, paths=("b/**",)), a_file("a/x_1"), a_file("b/x_1"), base=base)
    assert evaluation.related == (Related("b/x_1", "b/x"),)


@pytest.mark.parametrize("field", ["new_directory", "similar_new_file"])
def test_the_base_tree_is_needed_only_for_added_files(field: str) -> None:
    """spec 5.1: steps 7 and 9 need the base tree only if an added file is in evidence; without one they veto."""
    definition = asked(**{field: True})
    others = a_file("a", "modified"), a_file("b", "deleted")
    assert vetoed_by(judged(definition, *others, base=Unavailable("git_failed"))) == field
    lost = judged(definition, *others, a_file("c"), base=Unavailable("git_failed"))
    assert detail_of(lost) == ("trigger_base_unavailable", "git_failed")
    assert detail_of(judged(definition, a_file("c"))) == ("trigger_base_unavailable", "inconsistent")
    assert lost.steps[-1].after is None
