"""What a `when` command is told, and what its answer means (spec 6.3, 6.4, 6.6 to 6.8)."""

from __future__ import annotations

import pytest

from discern.definitions import Definition
from discern.facts import NOT_COLLECTED, ChangedFile, History, Lines, Unavailable
from discern.outcomes import Answered, Drop, Evaluation, Related, Step, Unanswered
from discern.stages.when import changed_files, conclude, document, matches
from discern.vocabulary import WHEN_EXCERPT, WHEN_REASONS

ASK = Definition(id="the one", mode="advise", question="A secret question?", when="check", teach="t", reference="r")
GONE = Related(for_path="a", path="old-a")
STAYS = Related(for_path="b", path="old-b")
UNDECIDED = Evaluation(
    id="the one",
    outcome="undecided",
    matched=("a", "b", "caf\udce9"),
    related=(GONE, STAYS),
    steps=(Step("generated", 4, 3), Step("selector", 3, 3), Step("when", 3, None)),
)


def changed(path: str, **more) -> ChangedFile:
    return ChangedFile(path=path, **{"kind": "modified", "binary": False, "lines": Lines(1, 2), **more})


def test_the_input_holds_the_final_evidence_and_nothing_else():
    """6.3: the exact shape; sorted by path bytes; no line, no question, no text of the policy."""
    files = [changed("\U0001f600"), changed("\uffff"), changed("B", binary=True, lines=Lines(0, 0)), changed("a", kind="added")]
    assert document(ASK, "0" * 40, files, History(("1" * 40, "2" * 40)), "f" * 64) == {
        "version": 1,
        "checkpoint": {"id": "the one", "mode": "advise"},
        "policy_commit": "0" * 40,
        "changed_files": [
            {"path": "B", "kind": "modified", "insertions": 0, "deletions": 0, "binary": True},
            {"path": "a", "kind": "added", "insertions": 1, "deletions": 2, "binary": False},
            {"path": "\uffff", "kind": "modified", "insertions": 1, "deletions": 2, "binary": False},
            {"path": "\U0001f600", "kind": "modified", "insertions": 1, "deletions": 2, "binary": False},
        ],
        "history": {"count": 2, "fingerprint": "f" * 64},
    }


@pytest.mark.parametrize("history", [NOT_COLLECTED, Unavailable("shallow")])
def test_history_that_is_not_known_is_left_out(history):
    """6.3: absent if unavailable or not collected."""
    told = document(ASK, "0" * 40, [changed("a")], history, None)
    assert told is not None
    assert "history" not in told


def test_a_history_of_no_commit_is_told():
    """6.3: uncommitted work counts nothing, which is known."""
    told = document(ASK, "0" * 40, [changed("a")], History(()), "f" * 64)
    assert told is not None
    assert told["history"] == {"count": 0, "fingerprint": "f" * 64}


def test_a_path_that_is_not_utf8_cannot_be_carried():
    """6.3: no input is made then, and no path is dropped or changed."""
    assert changed_files([changed("a"), changed("caf\udce9")]) is None
    assert document(ASK, "0" * 40, [changed("caf\udce9")], History(()), "f") is None
    assert changed_files([changed("é\n\u2028\x00")]) is not None


def test_evidence_without_its_facts_is_our_own_mistake():
    """6.1: the definition is dropped before it comes here."""
    with pytest.raises(ValueError, match="without its binary flag"):
        changed_files([changed("a", binary=Unavailable("not_regular"))])
    with pytest.raises(ValueError, match="or line counts"):
        changed_files([changed("a", lines=NOT_COLLECTED)])


def test_exit_0_fires():
    """6.4: over the structural matched set, if no match line narrows it; its step keeps all."""
    fired = conclude(UNDECIDED, Answered(0, b"nothing declared\n"))
    assert (fired.outcome, fired.matched, fired.related) == ("fired", UNDECIDED.matched, UNDECIDED.related)
    assert fired.steps == (*UNDECIDED.steps[:-1], Step("when", 3, 3))
    assert fired.drop is None


def test_exit_10_passes():
    """6.4: nothing is matched, and match lines are of no interest."""
    passed = conclude(UNDECIDED, Answered(10, b"DISCERN_MATCH a\n"))
    assert passed == Evaluation(id="the one", outcome="passed", steps=(*UNDECIDED.steps[:-1], Step("when", 3, 0)))


@pytest.mark.parametrize("status", [1, 2, 9, 11, 126, 127, 138, 255, -9, -15, -10])
def test_every_other_exit_is_indeterminate(status):
    """6.4, 6.7: over the complete structural matched set, whatever match lines say; never a pass."""
    judged = conclude(UNDECIDED, Answered(status, b"DISCERN_MATCH a\n"))
    assert (judged.outcome, judged.matched, judged.related) == ("indeterminate", UNDECIDED.matched, UNDECIDED.related)
    assert judged.steps == UNDECIDED.steps
    assert judged.drop is not None
    assert (judged.drop.reason, judged.drop.detail) == ("when_invalid_exit", None)
    assert str(abs(status)) in judged.drop.account


@pytest.mark.parametrize("reason", WHEN_REASONS)
def test_every_failure_is_indeterminate_with_its_reason(reason):
    """6.4, 6.7: the drop is the failure's own."""
    judged = conclude(UNDECIDED, Unanswered(reason, "what to do"))
    assert (judged.outcome, judged.matched, judged.related) == ("indeterminate", UNDECIDED.matched, UNDECIDED.related)
    assert judged.drop == Drop(reason, None, "what to do")
    assert judged.steps == UNDECIDED.steps


def test_only_what_is_undecided_can_be_concluded():
    """6.1: a command runs only if all steps before it hold."""
    with pytest.raises(ValueError, match="before its `when` command"):
        conclude(Evaluation(id="x", outcome="vetoed"), Answered(0))


def test_match_lines_narrow_and_related_evidence_follows():
    """6.6: they can only narrow; what related to a path that is gone goes with it."""
    fired = conclude(UNDECIDED, Answered(0, b"DISCERN_MATCH b\nDISCERN_MATCH other\nDISCERN_MATCH caf\xe9\n"))
    assert (fired.matched, fired.related) == (("b", "caf\udce9"), (STAYS,))
    assert fired.steps[-1] == Step("when", 3, 2)


@pytest.mark.parametrize(
    ("output", "named"),
    [
        (b"DISCERN_MATCH a", {"a"}),
        (b"DISCERN_MATCH a\nDISCERN_MATCH b\n", {"a", "b"}),
        (b"note: 3 DISCERN_MATCH   b   \n", {"b"}),
        (b"x\tDISCERN_MATCH\ta\t\n", {"a"}),
        (b"x\x0cDISCERN_MATCH\x0ba\x0c\n", {"a"}),
        (b"x\rDISCERN_MATCH a\r\n", {"a"}),
        (b"DISCERN_MATCH sp ace\n", {"sp ace"}),
        (b"DISCERN_MATCH a DISCERN_MATCH b\n", {"a DISCERN_MATCH b"}),
        (b"DISCERN_MATCH DISCERN_MATCH b\n", {"DISCERN_MATCH b"}),
        (b"DISCERN_MATCHES DISCERN_MATCH b\n", {"b"}),
        (b"xDISCERN_MATCH a\n", set()),
        (b"DISCERN_MATCH: a\n", set()),
        (b"discern_match a\n", set()),
        (b"\xc2\xa0DISCERN_MATCH a\n", set()),
        (b"DISCERN_MATCH\xc2\xa0a\n", set()),
        (b"DISCERN_MATCH \xc2\xa0a\n", {"\xa0a"}),
        (b"DISCERN_MATCH\n", set()),
        (b"DISCERN_MATCH\na\n", set()),
        (b"DISCERN_MATCH", set()),
        (b"DISCERN_MATCH  \n", set()),
        (b"\0DISCERN_MATCH a\n", set()),
        (b"\x1cDISCERN_MATCH a\x85\n", set()),
        (b"DISCERN_MATCH a\x85b\x1cc\xe2\x80\xa8d\n", {"a\udc85b\x1cc\u2028d"}),
        (b"DISCERN_MATCH ./././a\n", {"a"}),
        (b"DISCERN_MATCH .//a\n", set()),
        (b"DISCERN_MATCH ./\n", set()),
        (b"DISCERN_MATCH /a\n", set()),
        (b"DISCERN_MATCH ..\n", set()),
        (b"DISCERN_MATCH ../a\nDISCERN_MATCH d/../a\nDISCERN_MATCH d/..\n", set()),
        (b"DISCERN_MATCH ..a/b..\n", {"..a/b.."}),
        (b"DISCERN_MATCH a/./b\n", {"a/./b"}),
        (b'DISCERN_MATCH "a"\n', {'"a"'}),
        (b"DISCERN_MATCH caf\xe9\n", {"caf\udce9"}),
        (b"\xff\xfe DISCERN_MATCH a\n", {"a"}),
        (b"", set()),
    ],
)
def test_match_lines_are_read_as_the_contract_says(output, named):
    """6.6: first whole token, ASCII white space, LF alone ends a line, bytes as they are."""
    assert matches(output) == named


def test_a_name_with_a_newline_is_not_half_matched():
    """6.6: the line protocol cannot carry it, so that the structural set stands."""
    undecided = Evaluation(id="x", outcome="undecided", matched=("a\nb", "c"), steps=(Step("when", 2, None),))
    assert conclude(undecided, Answered(0, b"DISCERN_MATCH a\nb\n")).matched == ("a\nb", "c")


def account(output: bytes, status: int = 3) -> str:
    judged = conclude(UNDECIDED, Answered(status, output))
    assert judged.drop is not None
    return judged.drop.account


@pytest.mark.parametrize(
    "output", [b"", b"\n", b"x" * 5000, b"\x1b]0;t\x07\xff\0" * 900, "é\u202e\n".encode() * 500, b"a b\r\n" * 900]
)
def test_at_most_an_excerpt_of_the_output_is_shown(output):
    """6.8: at most 160 characters, on one line, printable."""
    shown = account(output)
    assert len(shown) - len(account(b"")) <= WHEN_EXCERPT + len("; its last words: ")
    assert shown.isprintable()


def test_an_excerpt_is_the_end_of_the_output():
    """6.8: what went wrong stands last."""
    assert account(b"DISCERN_MATCH a\nTraceback:\n  boom\n").endswith("its last words: DISCERN_MATCH a Traceback: boom")
    long = account(b"first " + b"x " * 500 + b"last")
    assert "first" not in long
    assert long.endswith("x x last")
    assert account(b"x" * 160).count("x") - account(b"").count("x") == 160
    assert "…" not in account(b"x" * 160)
    assert "…" in account(b"x" * 161)
