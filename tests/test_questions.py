"""Questions and the words given on them (spec 8.1 to 8.3)."""

from __future__ import annotations

import json

import pytest

from discern.questions import (
    EMPTY,
    Book,
    Pair,
    Question,
    Refusal,
    Standing,
    StoreFault,
    Word,
    declare,
    read,
    serve,
    standing,
    unknown,
    write,
)
from discern.vocabulary import JUDGEMENTS_LIMIT


def hashed(number: int) -> str:
    return f"{number:064x}"


DEFINITION = hashed(0xD)
PAIR = Pair(DEFINITION, hashed(1))
OTHER = Pair(DEFINITION, hashed(2))


def served(book: Book, pair: Pair | None = PAIR, key: str = "ask") -> Book:
    return serve(book, {key: pair}, whole=True)[0]


def state(book: Book, pair: Pair | None = PAIR, key: str = "ask") -> Standing:
    return serve(book, {key: pair}, whole=True)[1][key]


def declared(book: Book, *arguments: str, key: str = "ask") -> Book:
    answer = declare(book, key, *arguments)  # type: ignore[arg-type]
    assert not isinstance(answer, Refusal), answer
    return answer


def refused(book: Book, key: str, *arguments: object) -> str:
    answer = declare(book, key, *arguments)  # type: ignore[arg-type]
    assert isinstance(answer, Refusal)
    assert answer.message.isprintable()
    return answer.message


def test_a_question_nobody_answered_is_awaiting():
    """spec 8.1: a fired stop is an open question."""
    assert state(EMPTY) == Standing("awaiting")
    assert state(served(EMPTY)) == Standing("awaiting")


def test_no_question_has_no_state():
    """spec 9.2: a checkpoint that asks nothing stands at `none`, whatever was judged before."""
    assert state(EMPTY, None) == Standing("none")
    assert state(declared(served(EMPTY), "met"), None) == Standing("none")


def test_a_word_stands_on_what_it_judged():
    """spec 8.1: `declared_met`, or `declared_unmet` with its rationale."""
    book = served(EMPTY)
    assert state(declared(book, "met")) == Standing("declared_met")
    assert state(declared(book, "unmet", "Not yet.")) == Standing("declared_unmet", "Not yet.")


def test_another_subject_or_definition_reopens():
    """spec 8.2: a declaration binds to definition and subject; when either moves, the question is reopened."""
    book = declared(served(EMPTY), "met")
    assert state(book, OTHER) == Standing("reopened")
    assert state(book, Pair(hashed(0xE), PAIR.subject)) == Standing("reopened")


def test_a_moved_question_that_nobody_ever_answered_is_awaiting():
    """spec 8.2: only what was judged can be reopened."""
    assert state(served(EMPTY), OTHER) == Standing("awaiting")


def test_going_back_restores_the_word():
    """spec 8.2: going back to exactly what was judged restores the word on it."""
    book = declared(served(EMPTY), "unmet", "Not yet.")
    book = declared(served(book, OTHER), "met")
    assert state(book, PAIR) == Standing("declared_unmet", "Not yet.")
    assert state(book, OTHER) == Standing("declared_met")


def test_the_latest_word_counts():
    """spec 8.2: the latest word on each pair counts, whichever it was before."""
    book = declared(declared(served(EMPTY), "met"), "unmet", "On second thoughts.")
    assert state(book) == Standing("declared_unmet", "On second thoughts.")
    assert state(declared(book, "met")) == Standing("declared_met")


def test_a_hundred_judged_pairs_are_kept():
    """spec 8.2: at most 100 an id; the oldest word goes first, and a word said again is no old one."""
    book: Book = EMPTY
    for number in range(JUDGEMENTS_LIMIT):
        book = declared(served(book, Pair(DEFINITION, hashed(number))), "met")
    assert state(book, Pair(DEFINITION, hashed(0))) == Standing("declared_met")
    book = declared(served(book, Pair(DEFINITION, hashed(0))), "met")
    book = declared(served(book, Pair(DEFINITION, hashed(JUDGEMENTS_LIMIT))), "met")
    assert len(book["ask"].judged) == JUDGEMENTS_LIMIT
    assert state(book, Pair(DEFINITION, hashed(0))) == Standing("declared_met")
    assert state(book, Pair(DEFINITION, hashed(1))) == Standing("reopened")


def test_words_on_one_pair_drive_no_other_out():
    """spec 8.2: pairs are counted, not words."""
    book = declared(served(EMPTY), "met")
    book = served(book, OTHER)
    for _ in range(JUDGEMENTS_LIMIT):
        book = declared(declared(book, "unmet", "Not yet."), "met")
    assert state(book, PAIR) == Standing("declared_met")


def test_an_unknown_subject_binds_nothing():
    """spec 7.2: an unavailable subject is open, and no word can be given on it."""
    nowhere = Pair(DEFINITION, None)
    assert state(EMPTY, nowhere) == Standing("awaiting")
    assert state(declared(served(EMPTY), "met"), nowhere) == Standing("reopened")
    assert "subject_unavailable" in refused(served(EMPTY, nowhere), "ask", "met")


def test_a_run_with_ids_leaves_the_others_questions():
    """spec 9.1: a run with ids writes the questions of those ids only."""
    book, _ = serve(EMPTY, {"ask": PAIR, "other": OTHER}, whole=True)
    narrow, standings = serve(book, {"ask": OTHER}, whole=False)
    assert narrow == {"ask": Question(OTHER), "other": Question(OTHER)}
    assert standings == {"ask": Standing("awaiting")}


def test_a_whole_run_asks_what_is_gone_no_more():
    """spec 8.3: a declaration binds to what the last evaluation served; what was judged is kept (8.2)."""
    book = declared(served(EMPTY), "met")
    book, _ = serve(book, {"other": PAIR}, whole=True)
    assert refused(book, "ask", "met") == "ask has no open question; open: other"
    assert state(book) == Standing("declared_met")


def test_what_asks_nothing_leaves_no_trace():
    """spec 8.1: a checkpoint never asked and never judged is not in the store."""
    assert serve(EMPTY, {"ask": None}, whole=True)[0] == EMPTY
    assert served(served(EMPTY), None) == EMPTY


def test_without_a_readable_store_every_question_is_unknown():
    """spec 8.1: `unknown` if the store cannot be read; what asks nothing has no state even then."""
    assert unknown({"ask": PAIR, "soft": None}) == {"ask": Standing("unknown"), "soft": Standing("none")}


def test_a_refusal_names_what_is_open():
    """spec 8.3: an id that has no open question records nothing; the line names those that have."""
    assert "`discern evaluate`" in refused(EMPTY, "ask", "met")
    book, _ = serve(EMPTY, {"b": PAIR, "a": PAIR, "quiet": None}, whole=True)
    assert refused(book, "quiet", "met") == "quiet has no open question; open: a, b"


def test_a_refusal_stays_one_short_printable_line():
    """spec 9.1: one clear line, whatever the ids hold and however many there are."""
    book, _ = serve(EMPTY, {f"id\n\x1b{number:03}" + "x" * 200: PAIR for number in range(300)}, whole=True)
    message = refused(book, "no\nsuch\udcff" + "y" * 1000, "met")
    assert message.endswith(" and 280 more")
    assert len(message) < 3000


@pytest.mark.parametrize(
    "rationale",
    [
        None,
        "",
        "  ",
        "x" * 501,
        "one\ntwo",
        "tab\there",
        "bell\x07",
        "del\x7f",
        "esc\x1b[0m",
        "nel\x85",
        "line\u2028",
        "para\u2029",
        "\udcff",
    ],
)
def test_a_bad_rationale_is_refused(rationale):
    """spec 8.1, 8.3: one paragraph, 1 to 500 characters, no control characters."""
    book = served(EMPTY)
    refused(book, "ask", "unmet", rationale)
    assert state(book) == Standing("awaiting")


@pytest.mark.parametrize("rationale", ["x", "x" * 500, "\u00e9" * 499 + "\U0001f600", " padded "])
def test_a_good_rationale_is_kept_as_it_is(rationale):
    """spec 8.1: characters are code points, and the limit itself is allowed."""
    assert state(declared(served(EMPTY), "unmet", rationale)) == Standing("declared_unmet", rationale)


def test_met_takes_no_rationale():
    """spec 8.1: a rationale belongs to `declared_unmet`."""
    assert "--unmet" in refused(served(EMPTY), "ask", "met", "Because.")


GOOD = {"version": 1, "questions": {"ask": {"served": PAIR._asdict(), "judged": [{**PAIR._asdict(), "verdict": "met"}]}}}


def test_the_document_has_this_shape():
    """spec 8.1: a versioned JSON document."""
    book = declared(served(EMPTY), "met")
    assert json.loads(write(book)) == GOOD
    assert read(write(book)) == book == {"ask": Question(PAIR, (Word(*PAIR, verdict="met"),))}  # type: ignore[arg-type]
    assert standing(book, "ask", PAIR) == Standing("declared_met")


def test_equal_books_give_equal_bytes():
    """spec 8.1: the order in which checkpoints came does not show."""
    assert write({"a": Question(PAIR), "b": Question(OTHER)}) == write({"b": Question(OTHER), "a": Question(PAIR)})


def test_the_later_of_two_words_on_a_pair_counts():
    """spec 8.2: in a store that holds both, too."""
    met, unmet = ({**PAIR._asdict(), **word} for word in ({"verdict": "met"}, {"verdict": "unmet", "rationale": "No."}))
    book = read(with_question(judged=[met, unmet]))
    assert not isinstance(book, StoreFault)
    assert standing(book, "ask", PAIR) == Standing("declared_unmet", "No.")


def altered(**members: object) -> bytes:
    return json.dumps({**GOOD, **members}).encode()


def with_question(**members: object) -> bytes:
    return altered(questions={"ask": {**GOOD["questions"]["ask"], **members}})  # type: ignore[index]


def with_word(**members: object) -> bytes:
    return with_question(judged=[{**PAIR._asdict(), "verdict": "met", **members}])


CORRUPT = {
    "empty": b"",
    "cut short": altered()[:-3],
    "followed by more": altered() + b"{}",
    "not UTF-8": b"\xff" + altered(),
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + altered(),
    "an array": b"[]",
    "null": b"null",
    "nested too deep": b"[" * 100_000,
    "nested too deep, an object": b'{"a":' * 100_000,
    "a member twice": b'{"version":1,"version":1,"questions":{}}',
    "a question twice": b'{"version":1,"questions":{"a":{"served":null,"judged":[]},"a":{"served":null,"judged":[]}}}',
    "NaN": b'{"version":NaN,"questions":{}}',
    "Infinity": b'{"version":-Infinity,"questions":{}}',
    "no version": b'{"questions":{}}',
    "version true": b'{"version":true,"questions":{}}',
    "version 1.0": b'{"version":1.0,"questions":{}}',
    "version 0": b'{"version":0,"questions":{}}',
    "version text": b'{"version":"1","questions":{}}',
    "version beyond reading": b'{"version":' + b"9" * 5000 + b',"questions":{}}',
    "no questions": b'{"version":1}',
    "questions a list": altered(questions=[]),
    "a member more": altered(more=1),
    "a question null": altered(questions={"ask": None}),
    "a lone surrogate": b'{"version":1,"questions":{"\\ud800":{"served":null,"judged":[]}}}',
    "served a list": with_question(served=[]),
    "served without subject": with_question(served={"definition": DEFINITION}),
    "served with more": with_question(served={**PAIR._asdict(), "more": 1}),
    "a subject that is no hash": with_question(served={"definition": DEFINITION, "subject": "x"}),
    "a definition null": with_question(served={"definition": None, "subject": hashed(1)}),
    "judged null": with_question(judged=None),
    "a question with more": with_question(more=1),
    "a word a text": with_question(judged=["met"]),
    "a word over nothing": with_word(subject=None),
    "upper case": with_word(subject="A" * 64),
    "a hash and a line end": with_word(subject=hashed(1) + "\n"),
    "another verdict": with_word(verdict="maybe"),
    "a verdict list": with_word(verdict=["met"]),
    "met with a rationale": with_word(rationale="x"),
    "a rationale null": with_word(rationale=None),
    "unmet without": with_word(verdict="unmet"),
    "unmet with null": with_word(verdict="unmet", rationale=None),
    "unmet with a number": with_word(verdict="unmet", rationale=1),
    "a rationale too long": with_word(verdict="unmet", rationale="x" * 501),
    "a rationale of two lines": with_word(verdict="unmet", rationale="a\nb"),
    "a rationale with a surrogate": with_word(verdict="unmet", rationale="\udcff"),
    "a word with more": with_word(more=1),
}


@pytest.mark.parametrize("raw", CORRUPT.values(), ids=CORRUPT)
def test_what_discern_never_writes_is_corrupt(raw):
    """spec 8.2: `question_store_corrupt`, and no exception."""
    fault = read(raw)
    assert isinstance(fault, StoreFault)
    assert fault.reason == "question_store_corrupt"


@pytest.mark.parametrize(
    "raw", [b'{"version":2}', b'{"version":2,"questions":[]}', b'{"version":9007199254740993,"other":{"a":[1.5]}}']
)
def test_a_newer_store_is_unreadable_not_corrupt(raw):
    """spec 8.2: `question_store_unreadable` for a newer one too."""
    fault = read(raw)
    assert isinstance(fault, StoreFault)
    assert fault.reason == "question_store_unreadable"
