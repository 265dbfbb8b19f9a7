"""Open questions and the words given on them: the store's document and what may happen to it (spec 8.1 to 8.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from discern.text import holds_surrogate, one_line
from discern.vocabulary import JUDGEMENTS_LIMIT, RATIONALE_LIMIT, State

Verdict = Literal["met", "unmet"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

VERSION: Final = 1
SET_ASIDE: Final = "`discern evaluate` keeps it under another name and begins a new one"
OPEN_SHOWN: Final = 20  # ids a refusal names before it only counts them
# Texts, which `re` compiles when they are first needed: most runs of the program need none of them.
_HASH: Final = "[0-9a-f]{64}"
_CONTROL: Final = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"


class Pair(NamedTuple):
    """What a question is about: a definition and its subject, None where that could not be had (spec 7.2, 8.2)."""

    definition: str
    subject: str | None


class Standing(NamedTuple):
    """Where a question stands; a rationale belongs to `declared_unmet` (spec 8.1)."""

    state: State
    rationale: str | None = None


class Word(NamedTuple):
    """One declaration, bound to what it judged (spec 8.2)."""

    definition: str
    subject: str
    verdict: Verdict
    rationale: str | None = None


class Question(NamedTuple):
    """What the last evaluation asked of one checkpoint, None if nothing, and every word ever given on it, the oldest first."""

    served: Pair | None = None
    judged: tuple[Word, ...] = ()


Book = Mapping[str, Question]
EMPTY: Final[Book] = {}


class StoreFault(NamedTuple):
    """The store cannot be used (spec 8.2). `account` says why and what to do, in one line."""

    reason: Literal["question_store_unreadable", "question_store_corrupt"]
    account: str


class Refusal(NamedTuple):
    """A declaration that records nothing, and why, in one line that is safe to show (spec 8.3)."""

    message: str


def serve(book: Book, asked: Mapping[str, Pair | None], *, whole: bool) -> tuple[Book, dict[str, Standing]]:
    """The book after an evaluation, and where each of its checkpoints stands (spec 8.1, 8.2).

    `asked` names every checkpoint that was evaluated: the pair of a fired or indeterminate stop, None for any other. A run that
    is not `whole` leaves the others as they were (spec 9.1); after a whole one they are asked no more. What was judged stays.
    """
    touched = dict.fromkeys(book) | dict(asked) if whole else asked
    after = dict(book) | {key: Question(pair, _judged(book, key)) for key, pair in touched.items()}
    standings = {key: standing(book, key, pair) for key, pair in asked.items()}
    return {key: question for key, question in after.items() if question != Question()}, standings


def standing(book: Book, key: str, pair: Pair | None) -> Standing:
    """What the book says of one checkpoint asked over `pair`: the latest word on exactly that pair counts (spec 8.2)."""
    if pair is None:
        return Standing("none")
    judged = _judged(book, key)
    for word in reversed(judged):
        if (word.definition, word.subject) == pair:
            return Standing("declared_met" if word.verdict == "met" else "declared_unmet", word.rationale)
    return Standing("reopened" if judged else "awaiting")


def unknown(asked: Mapping[str, Pair | None]) -> dict[str, Standing]:
    """Where each checkpoint stands when the book cannot be read (spec 8.1)."""
    return {key: Standing("none" if pair is None else "unknown") for key, pair in asked.items()}


def declare(book: Book, key: str, verdict: Verdict, rationale: str | None = None) -> Book | Refusal:
    """The book with a word on what the last evaluation served; it replaces an earlier word on that pair (spec 8.2, 8.3)."""
    fault = _rationale_fault(verdict, rationale)
    if fault is not None:
        return Refusal(fault)
    question = book.get(key, Question())
    if question.served is None:
        return Refusal(_not_open(book, key))
    definition, subject = question.served
    if subject is None:
        return Refusal(f"{one_line(key)} cannot be declared: what it is about could not be identified (subject_unavailable)")
    others = tuple(word for word in question.judged if (word.definition, word.subject) != question.served)
    judged = (*others, Word(definition, subject, verdict, rationale))[-JUDGEMENTS_LIMIT:]
    return {**book, key: Question(question.served, judged)}


def _judged(book: Book, key: str) -> tuple[Word, ...]:
    return book[key].judged if key in book else ()


def _rationale_fault(verdict: Verdict, rationale: str | None) -> str | None:
    """Why this is not the rationale of such a verdict: `unmet` needs one paragraph, `met` takes none (spec 8.1)."""
    if verdict == "met":
        return None if rationale is None else "a rationale belongs to --unmet; --met takes none"
    if rationale is None or not rationale.strip():
        return "--unmet needs a rationale: say why with --why TEXT"
    if len(rationale) > RATIONALE_LIMIT:
        return f"the rationale has {len(rationale)} characters; at most {RATIONALE_LIMIT} are kept"
    if re.search(_CONTROL, rationale):
        return "the rationale holds a line end or another control character; write one paragraph"
    return "the rationale is not valid UTF-8" if holds_surrogate(rationale) else None


def _not_open(book: Book, key: str) -> str:
    open_ids = [one_line(other, 100) for other in sorted(book) if book[other].served is not None]
    if not open_ids:
        return f"{one_line(key, 100)} has no open question, and no other checkpoint has one; `discern evaluate` opens them"
    more = f" and {len(open_ids) - OPEN_SHOWN} more" if len(open_ids) > OPEN_SHOWN else ""
    return f"{one_line(key, 100)} has no open question; open: {', '.join(open_ids[:OPEN_SHOWN])}{more}"


def write(book: Book) -> bytes:
    """The store's document: equal books give equal bytes, all ASCII."""
    questions = {key: _question_document(book[key]) for key in sorted(book)}
    return json.dumps({"version": VERSION, "questions": questions}, separators=(",", ":")).encode() + b"\n"


def _question_document(question: Question) -> dict[str, Any]:
    return {
        "served": None if question.served is None else question.served._asdict(),
        "judged": [_word_document(word) for word in question.judged],
    }


def _word_document(word: Word) -> dict[str, str]:
    document = {"definition": word.definition, "subject": word.subject, "verdict": word.verdict}
    return document if word.rationale is None else {**document, "rationale": word.rationale}


def read(raw: bytes) -> Book | StoreFault:
    """The book in a store's document. What `write` cannot have written is corrupt; a newer version is not read (spec 8.2)."""
    document = strict_json(raw)
    version = None if document is None else document.get("version")
    if type(version) is int and version > VERSION:
        return StoreFault("question_store_unreadable", "the question store was written by a newer discern; use that one")
    if document is None or type(version) is not int or version != VERSION or not _is_book(document):
        return StoreFault("question_store_corrupt", f"the question store is not what discern writes; {SET_ASIDE}")
    return {key: _question(value) for key, value in document["questions"].items()}


def strict_json(raw: bytes) -> dict[str, Any] | None:
    """A JSON object; None if it is not one, or not UTF-8, or names a member twice, or holds `NaN` or `Infinity`."""
    try:
        document = json.loads(raw.decode(), object_pairs_hook=_members, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is named twice")
    return members


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def is_hash(value: object) -> bool:
    """Whether this is a SHA-256 in hex, as definition hashes and subjects are (spec 7)."""
    return isinstance(value, str) and re.fullmatch(_HASH, value) is not None


def is_rationale(verdict: Verdict, value: object) -> bool:
    """Whether a verdict can have this rationale; None is none (spec 8.1)."""
    return (value is None or isinstance(value, str)) and _rationale_fault(verdict, value) is None


def _is_book(document: dict[str, Any]) -> bool:
    questions = document.get("questions")
    return (
        document.keys() == {"version", "questions"}
        and isinstance(questions, dict)
        and all(not holds_surrogate(key) and _is_question(value) for key, value in questions.items())
    )


def _is_question(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"served", "judged"}
        and (value["served"] is None or _is_pair(value["served"]))
        and isinstance(value["judged"], list)
        and all(_is_word(word) for word in value["judged"])
    )


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"definition", "subject"}
        and is_hash(value["definition"])
        and (value["subject"] is None or is_hash(value["subject"]))
    )


def _is_word(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() - {"rationale"} == {"definition", "subject", "verdict"}
        and is_hash(value["definition"])
        and is_hash(value["subject"])
        and value["verdict"] in VERDICTS
        and ("rationale" in value) == (value["verdict"] == "unmet")
        and is_rationale(value["verdict"], value.get("rationale"))
    )


def _question(value: dict[str, Any]) -> Question:
    served = value["served"]
    return Question(None if served is None else Pair(**served), tuple(Word(**word) for word in value["judged"]))
