"""Laws of a command's answer: output can only narrow, and match lines have one reading (spec 6.4, 6.6, 6.7, 6.8)."""

from __future__ import annotations

from hypothesis import example, find, given
from hypothesis import strategies as st

from discern.outcomes import Answered, Evaluation, Related, Step
from discern.stages.when import conclude, matches
from discern.vocabulary import WHEN_EXCERPT

WHITE = b" \t\n\r\v\f"

# Pieces that meet: the token whole and cut, all white space, what is like white space to others, and parts of paths.
pieces = st.sampled_from(
    [
        *(b"DISCERN_MATCH", b"DISCERN_MATCH ", b"DISCERN_MATCHX", b"DISCERN_MATC", b"discern_match "),
        *(b" ", b"\t", b"\n", b"\r", b"\v", b"\f", b"\0", b"\x1c", b"\x85", b"\xc2\xa0", b"\xe2\x80\xa8"),
        *(b"a", b"b", b"caf\xe9", b"./", b"/", b"..", b".", b"x/"),
    ]
)
outputs = st.lists(pieces, max_size=24).map(b"".join) | st.binary(max_size=60)
paths = st.sampled_from(("a", "b", "x/a", "caf\udce9", "a b", "a\nb", "..a", "./a", "/a", "..", "DISCERN_MATCH"))


@st.composite
def undecided(draw: st.DrawFn) -> Evaluation:
    matched = draw(st.lists(paths, min_size=1, unique=True).map(sorted).map(tuple))
    related = tuple(Related(path, path + "~") for path in draw(st.lists(st.sampled_from(matched), unique=True)))
    return Evaluation(
        id="p",
        outcome="undecided",
        matched=matched,
        related=related,
        steps=(Step("selector", 9, 9), Step("when", len(matched), None)),
    )


answers = st.builds(Answered, st.sampled_from((0, 0, 10, 1, -9)) | st.integers(-64, 255), outputs)


@given(undecided(), answers)
def test_no_output_whatever_can_add_a_path(before, answer):
    """6.6: what is matched after the command was matched before it, in the same order, and so is what relates to it."""
    after = conclude(before, answer)
    assert [path for path in before.matched if path in after.matched] == list(after.matched)
    assert set(after.related) <= set(before.related)
    assert {sibling.for_path for sibling in after.related} <= set(after.matched)


@given(undecided(), answers)
def test_only_exit_10_passes_and_only_exit_0_fires(before, answer):
    """6.4, 6.7: everything else is indeterminate, over all that was matched; a fire is never empty."""
    after = conclude(before, answer)
    assert after.outcome == {0: "fired", 10: "passed"}.get(answer.status, "indeterminate")
    if after.outcome == "indeterminate":
        assert (after.matched, after.related, after.steps) == (before.matched, before.related, before.steps)
    else:
        assert bool(after.matched) == (after.outcome == "fired")
        assert after.steps[-1].after == len(after.matched)


@given(undecided(), outputs)
def test_output_that_names_no_matched_path_changes_nothing(before, output):
    """6.6: such a fire is that of a silent command."""
    if not matches(output) & set(before.matched):
        assert conclude(before, Answered(0, output)) == conclude(before, Answered(0, b""))


@given(outputs, outputs)
def test_lines_are_read_each_by_itself(one, other):
    """6.6: a line end is all that divides, so that two outputs name what each of them names."""
    assert matches(one + b"\n" + other) == matches(one) | matches(other)


def token_starts(line: bytes) -> list[int]:
    token = b"DISCERN_MATCH"
    edges = range(len(line) - len(token))
    before = [at for at in edges if at == 0 or line[at - 1] in WHITE]
    return [at for at in before if line[at : at + len(token)] == token and line[at + len(token)] in WHITE]


def second_reading(output: bytes) -> set[str]:
    """The clause again, word by word, without a pattern."""
    named = set()
    for line in output.split(b"\n"):
        for at in token_starts(line)[:1]:
            path = line[at + len(b"DISCERN_MATCH") :]
            while path and path[0] in WHITE:
                path = path[1:]
            while path and path[-1] in WHITE:
                path = path[:-1]
            while path[:2] == b"./":
                path = path[2:]
            if path and path[0] != ord("/") and all(segment != b".." for segment in path.split(b"/")):
                named.add(path.decode("utf-8", "surrogateescape"))
    return named


@given(outputs)
@example(b"DISCERN_MATCH .//a\nDISCERN_MATCH ./ a")
def test_a_second_reading_names_the_same_paths(output):
    """6.6: the pattern says what the clause says."""
    assert matches(output) == second_reading(output)


@given(undecided(), st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "replace")))
def test_an_excerpt_is_short_and_harmless(before, output):
    """6.8: at most 160 characters of it, on one line, without control characters."""
    drop, silent = conclude(before, Answered(1, output)).drop, conclude(before, Answered(1)).drop
    assert drop is not None
    assert silent is not None
    excerpt = drop.account.removeprefix(silent.account).removeprefix("; its last words: ")
    assert len(excerpt) <= WHEN_EXCERPT
    assert not any(character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff" for character in excerpt)


def test_answers_narrow_pass_fire_and_fail():
    find(
        st.tuples(undecided(), outputs),
        lambda drawn: 0 < len(conclude(drawn[0], Answered(0, drawn[1])).matched) < len(drawn[0].matched),
    )
    find(answers, lambda answer: answer.status == 10)
    find(answers, lambda answer: answer.status not in (0, 10) and bool(matches(answer.output)))
