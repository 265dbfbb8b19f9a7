"""Laws of what is shown and written: harmless, faithful, and lossless, whatever a repository holds (spec 9.1, 9.2)."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from discern.definitions import Definition
from discern.documents import dumps, read_result, result_document, result_json
from discern.outcomes import Drop, DropRecord, Evaluation, Judgement, Related, Result, Step, Veto
from discern.report.listing import render_listing
from discern.report.text import render
from discern.text import one_line
from discern.vocabulary import FILE_REASONS, MODES, STATES, TRIGGER_REASONS, VETOES, WHEN_REASONS

QUICK, LONG = settings(max_examples=100, deadline=None), settings(max_examples=20_000, deadline=None)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]

nasty = st.sampled_from("\x00\x1b\n\r\t\x07\x7f\x85\xa0\u2028\u202e\u2066\u200b\ufeff\U000e0041'\"\\-$ ")
texts = st.text(st.characters(exclude_categories=("Cs",)) | nasty, max_size=12)
asked = texts.filter(str.strip)
# Any bytes but NUL, as paths come: what is not UTF-8 is a surrogate escape.
paths = st.binary(min_size=1, max_size=8).map(lambda raw: raw.replace(b"\0", b"/").decode("utf-8", "surrogateescape"))
hashes = st.integers(0, 9).map(lambda number: f"{number:064x}")
oids = st.integers(0, 9).map(lambda number: f"{number:040x}")
counts = st.integers(0, 10**7)
steps = st.lists(
    st.builds(Step, st.sampled_from(("generated", "selector", "kinds", "when")), counts, st.none() | counts), max_size=3
)
drops = st.builds(Drop, st.sampled_from(TRIGGER_REASONS + WHEN_REASONS), st.none() | st.sampled_from(FILE_REASONS), texts)
matches = st.lists(paths, min_size=1, max_size=14, unique=True).map(tuple)
definitions = st.builds(
    Definition,
    id=texts,
    mode=st.sampled_from(MODES),
    question=asked,
    question_file=st.none() | texts,
    teach=st.none() | texts,
    reference=st.none() | texts,
    paths=st.none() | st.lists(texts, max_size=6).map(tuple),
    adds_matching=st.lists(texts, max_size=6).map(tuple),
    when=st.none() | asked,
)


@st.composite
def evaluations(draw: st.DrawFn, ident: str) -> Evaluation:
    """An outcome with all that belongs to it and nothing else (spec 5.6)."""
    made = partial(Evaluation, id=ident, steps=tuple(draw(steps)))
    match draw(st.sampled_from(("fired", "vetoed", "passed", "dropped", "indeterminate", "undecided"))):
        case "vetoed":
            return made(outcome="vetoed", veto=Veto(draw(st.sampled_from(VETOES))))
        case "passed":
            return made(outcome="passed")
        case "dropped":
            return made(outcome="dropped", drop=draw(drops))
        case outcome:
            matched = draw(matches)
            related = tuple(Related(path, draw(paths)) for path in matched[:2] if draw(st.booleans()))
            return made(
                outcome=outcome, matched=matched, related=related, drop=draw(drops) if outcome == "indeterminate" else None
            )


@st.composite
def results(draw: st.DrawFn) -> Result:
    """A result whose drops are those of its checkpoints, and perhaps one of the policy."""
    commit = draw(st.none() | oids)
    judgements = tuple(
        Judgement(
            definition=definition,
            definition_hash=draw(hashes),
            evaluation=draw(evaluations(definition.id)),
            subject=draw(st.none() | hashes),
            state=draw(st.sampled_from(STATES)),
            rationale=draw(st.none() | texts),
        )
        for definition in draw(st.lists(definitions, max_size=4, unique_by=lambda one: one.id))
    )
    lost = [
        DropRecord(
            checkpoint=one.definition.id,
            mode=one.definition.mode,
            policy_commit=commit,
            reason=drop.reason,
            detail=drop.detail,
            account=drop.account,
        )
        for one in judgements
        if (drop := one.evaluation.drop) is not None
    ]
    whole = DropRecord(
        checkpoint=None, mode=None, policy_commit=commit, reason="question_store_corrupt", detail=None, account=draw(texts)
    )
    return Result(
        policy_commit=commit,
        trunk=draw(st.none() | texts),
        other_bases=tuple(draw(st.lists(oids, max_size=2))),
        head=draw(st.none() | oids),
        candidate=draw(st.sampled_from(("worktree", "commit"))),
        blocking=draw(st.booleans()),
        checkpoints=judgements,
        drops=(*lost, whole) if draw(st.booleans()) else tuple(lost),
    )


SHOWN = [
    pytest.param(render, id="report"),
    pytest.param(partial(render, verbose=True, timings=[("\x1b[0m", 1.0)], root="\x1b\n"), id="verbose"),
    pytest.param(render_listing, id="listing"),
]


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("show", SHOWN)
def test_nothing_shown_can_harm_a_terminal(effort, show):
    """spec 9.1: every line of every view is safe, and without colour nothing but text."""

    @effort
    @given(results())
    def law(result):
        assert all(one_line(line) == line for line in show(result).split("\n"))

    law()


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("show", SHOWN)
def test_colour_changes_no_word(effort, show):
    """spec 9.1: with the colours taken away, it is the same text."""

    @effort
    @given(results())
    def law(result):
        assert re.sub(r"\x1b\[[0-9;]*m", "", show(result, colour=True)) == show(result)

    law()


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_document_is_lossless(effort):
    """spec 9.2: through JSON and back, a document is the same, and so is all the result says that a document carries."""

    @effort
    @given(results())
    def law(result):
        document = result_document(result)
        read = read_result(json.loads(dumps(document)))
        assert isinstance(read, Result)
        assert result_document(read) == document
        assert "".join(result_json(result)) == dumps(document) + "\n"
        told = [evolve(one, definition=back.definition) for one, back in zip(result.checkpoints, read.checkpoints, strict=True)]
        assert read == evolve(result, checkpoints=tuple(told))

    law()


def test_the_laws_meet_every_kind_of_result():
    """Without questions, drops and odd paths the laws above would say little."""
    met = set()

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(results())
    def look(result):
        met.update(one.evaluation.outcome for one in result.checkpoints)
        met.update("policy drop" for one in result.drops if one.checkpoint is None)
        met.update("odd path" for one in result.checkpoints for path in one.evaluation.matched if not path.isprintable())
        met.update("odd question" for one in result.checkpoints if "\x1b" in one.definition.question)

    look()
    assert met == {
        "fired",
        "vetoed",
        "passed",
        "dropped",
        "indeterminate",
        "undecided",
        "policy drop",
        "odd path",
        "odd question",
    }
