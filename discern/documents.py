"""The result as a JSON document, and back (spec 9.2).

Every evaluation writes one, so writing is plain functions; reading is for users of the library and loads cattrs when it runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, Union, get_args, get_origin

from attrs import evolve

from discern.definitions import Definition
from discern.identity import BytesPath, path_value, path_values
from discern.outcomes import Drop, DropRecord, Evaluation, Judgement, Related, Result, Step, Veto
from discern.text import one_line
from discern.vocabulary import ACCOUNT_LIMIT, DropReason, Mode, OutcomeName, State, VetoName

if TYPE_CHECKING:
    from cattrs import Converter


PathValue = str | BytesPath
TEXTS_KEPT: Final = 4 << 20  # characters of encoded lists, while a document is written: a large one is not held whole
_PLAIN: Final = bytes(set(range(32, 127)) - set(b'"\\'))  # what JSON writes as it is


class PolicyDocument(TypedDict):
    """What governed: the policy commit, the trunk's full ref, and the other merge-bases (spec 1.1)."""

    commit: str | None
    trunk: str | None
    other_bases: list[str]


class CandidateDocument(TypedDict):
    """What was judged (spec 0)."""

    head: str | None
    kind: Literal["worktree", "commit"]


class RelatedDocument(TypedDict):
    """An existing file that speaks for a matched one (spec 5.4)."""

    kind: str
    for_path: PathValue
    path: PathValue


class StepDocument(TypedDict):
    """How many files stood before a step and after it (spec 5.6)."""

    step: str
    before: int
    after: int | None


class DropDocument(TypedDict):
    """A fact, an entry or a policy that was not to be had."""

    scope: Literal["policy", "checkpoint"]
    checkpoint: str | None
    mode: Mode | None
    policy_commit: str | None
    reason: DropReason
    detail: str | None
    account: str


class _WhereItApplies(TypedDict, total=False):
    vetoed_by: VetoName
    question: str
    question_file: str
    teach: str
    reference: str
    rationale: str
    drop: DropDocument


class CheckpointDocument(_WhereItApplies):
    """One judged definition. The question and its texts are there only where the question is served (spec 6.7)."""

    id: str
    mode: Mode
    outcome: OutcomeName
    matched: list[PathValue]
    related: list[RelatedDocument]
    state: State
    definition_hash: str
    subject: str | None
    steps: list[StepDocument]


class ResultDocument(TypedDict):
    """The whole of spec 9.2."""

    version: Literal[1]
    policy: PolicyDocument
    candidate: CandidateDocument
    blocking: bool
    checkpoints: list[CheckpointDocument]
    drops: list[DropDocument]


Drops = Mapping[tuple[str | None, str], DropDocument]  # by checkpoint and reason


class DocumentFault(NamedTuple):
    """A document that is no result, and why: what is wrong at which address, in one line."""

    account: str


def result_document(result: Result) -> ResultDocument:
    """A result in the shape of spec 9.2: checkpoints in the order of the file, members that do not apply left out.

    Every drop of a checkpoint stands in the result's `drops` too; a result without it is a programming error (KeyError).
    """
    drops = [drop_document(drop) for drop in result.drops]
    told = _told(drops)
    return {
        "version": 1,
        "policy": {"commit": result.policy_commit, "trunk": result.trunk, "other_bases": list(result.other_bases)},
        "candidate": {"head": result.head, "kind": "commit" if result.candidate == "commit" else "worktree"},
        "blocking": result.blocking,
        "checkpoints": [_checkpoint(one, told, path_values(one.evaluation.matched)) for one in result.checkpoints],
        "drops": drops,
    }


def result_json(result: Result) -> Iterator[str]:
    """The document as one line of JSON, a checkpoint at a time: a large result is never held twice."""
    document = result_document(evolve(result, checkpoints=()))
    told = _told(document["drops"])
    for name, value in document.items():
        yield f'{"{" if name == "version" else ","}"{name}":'
        if name == "checkpoints":
            texts = PathTexts()
            yield from listed(texts.dumps(_checkpoint(one, told, []), one.evaluation.matched) for one in result.checkpoints)
        else:
            yield dumps(value)
    yield "}\n"


def _told(drops: Iterable[DropDocument]) -> Drops:
    return {(drop["checkpoint"], drop["reason"]): drop for drop in drops}


def listed(items: Iterable[Iterable[str]]) -> Iterator[str]:
    """A JSON array, an item at a time, each of them in pieces."""
    yield "["
    for number, item in enumerate(items):
        if number:
            yield ","
        yield from item
    yield "]"


class PathTexts:
    """Lists of paths as JSON, each encoded once as far as there is room: many checkpoints match the very same files."""

    def __init__(self) -> None:
        self._known: dict[tuple[PathValue, ...], str] = {}
        self._room = TEXTS_KEPT

    def dumps(self, document: Mapping[str, object], matched: Sequence[PathValue]) -> Iterator[str]:
        """`dumps` of a document whose `matched` are these paths, given as they are or as JSON carries them, in pieces."""
        before, after = dumps({**document, "matched": []}).split('"matched":[]', 1)
        yield f'{before}"matched":'
        yield self._text(tuple(matched))
        yield after

    def _text(self, paths: tuple[PathValue, ...]) -> str:
        try:
            text = self._known.get(paths) or _paths_json(paths)  # type: ignore[arg-type]
        except TypeError:  # one is not valid UTF-8, and no text
            return dumps(paths)
        if paths not in self._known and len(text) <= self._room:
            self._room -= len(text)
            self._known[paths] = text
        return text


def _paths_json(paths: tuple[str, ...]) -> str:
    # Nothing to escape, as a rule: then a join takes a quarter of the encoder's time.
    texts = '","'.join(paths)
    plain = texts.isascii() and len(texts.encode().translate(None, _PLAIN)) == 2 * (len(paths) - 1)
    return f'["{texts}"]' if plain else dumps(path_values(paths))


def dumps(document: object) -> str:
    """One line of JSON, all ASCII, so that no terminal, pipe or locale can spoil it."""
    return json.dumps(document, separators=(",", ":"))


def serves(judgement: Judgement) -> bool:
    """Whether the question is put to a person: after a fire, and after an indeterminate `stop` (spec 6.7)."""
    outcome = judgement.evaluation.outcome
    return outcome == "fired" or (outcome == "indeterminate" and judgement.definition.mode == "stop")


def drop_document(drop: DropRecord) -> DropDocument:
    """One entry of `drops`."""
    return {
        "scope": "policy" if drop.checkpoint is None else "checkpoint",
        "checkpoint": drop.checkpoint,
        "mode": drop.mode,
        "policy_commit": drop.policy_commit,
        "reason": drop.reason,
        "detail": drop.detail,
        "account": drop.account,
    }


def _checkpoint(judgement: Judgement, drops: Drops, matched: list[PathValue]) -> CheckpointDocument:
    definition, evaluation = judgement.definition, judgement.evaluation
    document: CheckpointDocument = {
        "id": definition.id,
        "mode": definition.mode,
        "outcome": evaluation.outcome,
        **_where_it_applies(judgement, drops),
        "matched": matched,
        "related": [related_document(related) for related in evaluation.related],
        "state": judgement.state,
        "definition_hash": judgement.definition_hash,
        "subject": judgement.subject,
        "steps": [{"step": step.step, "before": step.before, "after": step.after} for step in evaluation.steps],
    }
    return document


def _where_it_applies(judgement: Judgement, drops: Drops) -> _WhereItApplies:
    definition, evaluation = judgement.definition, judgement.evaluation
    members: _WhereItApplies = _question(definition) if serves(judgement) else {}
    if evaluation.veto is not None:
        members["vetoed_by"] = evaluation.veto.by
    if judgement.rationale is not None:
        members["rationale"] = judgement.rationale
    if evaluation.drop is not None:
        members["drop"] = drops[definition.id, evaluation.drop.reason]
    return members


def _question(definition: Definition) -> _WhereItApplies:
    question: _WhereItApplies = {"question": definition.question}
    if definition.question_file is not None:
        question["question_file"] = definition.question_file
    if definition.teach is not None:
        question["teach"] = definition.teach
    if definition.reference is not None:
        question["reference"] = definition.reference
    return question


def related_document(related: Related) -> RelatedDocument:
    """A related path and the file it stands beside."""
    return {"kind": related.kind, "for_path": path_value(related.for_path), "path": path_value(related.path)}


def read_result(document: object) -> Result | DocumentFault:
    """The result a document of spec 9.2 tells of, `json.loads` already applied.

    Strict: every member of exactly its type, no unknown one. A definition holds what the document says of it (id, mode and the
    texts that were served); its other fields are unset. Writing the result again gives an equal document.
    """
    from cattrs import BaseValidationError, transform_error

    try:
        read = _converter().structure(document, ResultDocument)
    except BaseValidationError as fault:
        return DocumentFault(one_line("; ".join(transform_error(fault, format_exception=_said)), ACCOUNT_LIMIT))
    result = _read_result(read)
    known = {(drop.checkpoint, drop.reason) for drop in result.drops}
    lost = {(one.definition.id, one.evaluation.drop.reason) for one in result.checkpoints if one.evaluation.drop is not None}
    if not lost <= known or result_document(result) != document:
        return DocumentFault(
            "two members contradict each other: a checkpoint's drop and the drops, or an outcome and its question"
        )
    return result


def _said(fault: BaseException, _type: type | None) -> str:
    return f"{fault.args[0]} is missing" if isinstance(fault, KeyError) else str(fault)


@cache
def _converter() -> Converter:
    """A private converter, for the shared one turns `7` into `"7"` and a text into a list of letters."""
    from cattrs import Converter
    from cattrs.cols import list_structure_factory

    converter = Converter(forbid_extra_keys=True)

    def read_list(kind: Any) -> Any:
        read_items = list_structure_factory(kind, converter)
        return lambda value, kind: read_items(_exactly(list, value), kind)

    for scalar in (str, int, bool):
        converter.register_structure_hook(scalar, lambda value, kind: _exactly(kind, value))
    converter.register_structure_hook_func(lambda kind: kind == PathValue, _read_path)
    converter.register_structure_hook_func(lambda kind: bool(_words(kind)), _read_word)
    converter.register_structure_hook_factory(_is_list, read_list)
    return converter


def _is_list(kind: Any) -> bool:
    origin: object = get_origin(kind)
    return origin is list


def _exactly(kind: Any, value: object) -> Any:
    # Not isinstance: True is no number here.
    if type(value) is not kind:
        raise ValueError(f"{type(value).__name__} where {kind.__name__} belongs")
    return value


def _words(kind: Any) -> tuple[object, ...]:
    """The closed words a `Literal`, or a union of nothing but such, allows."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    parts = [_words(part) for part in get_args(kind)] if get_origin(kind) in (Union, UnionType) else []
    return tuple(word for part in parts for word in part) if all(parts) else ()


def _read_word(value: object, kind: Any) -> object:
    if not any(type(value) is type(word) and value == word for word in _words(kind)):
        raise ValueError(f"{one_line(repr(value), 60)} is no word that may stand here")
    return value


def _read_path(value: object, _kind: Any) -> str:
    from base64 import b64decode

    match value:
        case str() as path:
            pass
        case {"bytes": str() as encoded}:
            path = b64decode(encoded).decode("utf-8", "surrogateescape")
        case _:
            raise ValueError("neither a path nor the bytes of one")
    if path_value(path) != value:
        raise ValueError("not the form this path has in a document")
    return path


def _read_result(document: Any) -> Result:
    return Result(
        policy_commit=document["policy"]["commit"],
        trunk=document["policy"]["trunk"],
        other_bases=tuple(document["policy"]["other_bases"]),
        head=document["candidate"]["head"],
        candidate=document["candidate"]["kind"],
        blocking=document["blocking"],
        checkpoints=tuple(_read_judgement(checkpoint) for checkpoint in document["checkpoints"]),
        drops=tuple(_read_drop(drop) for drop in document["drops"]),
    )


def _read_drop(document: Any) -> DropRecord:
    return DropRecord(**{name: value for name, value in document.items() if name != "scope"})


def _read_judgement(document: Any) -> Judgement:
    drop = document.get("drop")
    return Judgement(
        definition=Definition(
            id=document["id"],
            mode=document["mode"],
            question=document.get("question", ""),
            question_file=document.get("question_file"),
            teach=document.get("teach"),
            reference=document.get("reference"),
        ),
        definition_hash=document["definition_hash"],
        evaluation=Evaluation(
            id=document["id"],
            outcome=document["outcome"],
            veto=Veto(document["vetoed_by"]) if "vetoed_by" in document else None,
            drop=Drop(drop["reason"], drop["detail"], drop["account"]) if drop else None,
            matched=tuple(document["matched"]),
            related=tuple(Related(row["for_path"], row["path"], row["kind"]) for row in document["related"]),
            steps=tuple(Step(step["step"], step["before"], step["after"]) for step in document["steps"]),
        ),
        subject=document["subject"],
        state=document["state"],
        rationale=document.get("rationale"),
    )
