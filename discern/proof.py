"""The Proof: what an evaluation found, as an in-toto Statement, and whether it still holds (spec 8.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, NotRequired, TypedDict, cast, get_args

from discern.documents import DropDocument, PathTexts, drop_document, dumps, listed
from discern.identity import BytesPath, path_values
from discern.outcomes import Judgement, Result
from discern.questions import Book, Pair, is_hash, is_rationale, standing, strict_json
from discern.vocabulary import MODES, STATES, WHEN_REASONS, Mode, OutcomeName, State

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:discern:checkpoint-proof:v1"
PREDICATE_FAMILY: Final = "urn:discern:checkpoint-proof:"
OUTCOMES: Final[tuple[OutcomeName, ...]] = get_args(OutcomeName)
DECLARED: Final = ("declared_met", "declared_unmet")
_OBJECT_ID: Final = "[0-9a-f]{40}|[0-9a-f]{64}"


class Entry(TypedDict):
    """What was found of one checkpoint. `structural_subject` is there where a `when` command decided; null: not to be had."""

    id: str
    mode: Mode
    outcome: OutcomeName
    definition_hash: str
    subject: str | None
    matched: list[str | BytesPath]
    state: State
    rationale: NotRequired[str]
    structural_subject: NotRequired[str | None]


class Predicate(TypedDict):
    """What the Statement says of its subject."""

    policy_commit: str | None
    reusable: bool
    checkpoints: list[Entry]
    drops: list[DropDocument]


class CommitDigest(TypedDict):
    """The commit's object id, whichever of Git's two hashes the repository uses."""

    gitCommit: str


class Commit(TypedDict):
    """The in-toto resource the Statement is about."""

    name: str
    digest: CommitDigest


class Statement(TypedDict):
    """The in-toto Statement."""

    _type: str
    subject: list[Commit]
    predicateType: str
    predicate: Predicate


class ProofFault(NamedTuple):
    """A Proof that cannot be read, and why, in one line."""

    account: str


class Verification(NamedTuple):
    """Whether a Proof holds, and if not why: what moved, or what keeps it from being reusable. Ids are as the policy has them."""

    verdict: Literal["current", "stale", "not_reusable"]
    because: tuple[str, ...] = ()


def statement(result: Result) -> Statement | None:
    """The Proof of a real evaluation of the whole policy. None without a HEAD commit: there is nothing to state it of."""
    if result.head is None:
        return None
    entries = [_entry(judgement) for judgement in result.checkpoints]
    drops = [drop_document(drop) for drop in result.drops]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "HEAD", "digest": {"gitCommit": result.head}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "policy_commit": result.policy_commit,
            "reusable": not any(_obstacles(entries, drops)),
            "checkpoints": entries,
            "drops": drops,
        },
    }


def compare(recorded: Statement, fresh: Result, book: Book) -> Verification:
    """A Proof against an evaluation of the present that ran no `when` command, and the words as they stand now (spec 8.4).

    `stale` comes first: evaluating again helps. `not_reusable` says that, as it is, it would not: something must be declared or
    repaired before. So a word given on an open question alone does not make a Proof stale; one changed later does.
    """
    moved = tuple(_moved(recorded, fresh))
    if moved:
        return Verification("stale", moved)
    predicate = recorded["predicate"]
    obstacles = tuple(_obstacles(predicate["checkpoints"], predicate["drops"]))
    if obstacles or not predicate["reusable"]:
        return Verification("not_reusable", obstacles)
    changed = tuple(_changed_words(predicate["checkpoints"], book))
    return Verification("stale", changed) if changed else Verification("current")


class Encoded:
    """proof.json: one line, all ASCII, piece by piece, so that a large one is never held whole. It may be gone through again."""

    def __init__(self, recorded: Statement) -> None:
        self._recorded = recorded

    def __iter__(self) -> Iterator[bytes]:
        """The pieces in order."""
        predicate = self._recorded["predicate"]
        # Cut where the list of checkpoints stands, the one part that can be large.
        before, after = dumps({**self._recorded, "predicate": {**predicate, "checkpoints": []}}).split('"checkpoints":[]', 1)
        yield f'{before}"checkpoints":'.encode()
        texts = PathTexts()
        yield from map(str.encode, listed(texts.dumps(entry, entry["matched"]) for entry in predicate["checkpoints"]))
        yield f"{after}\n".encode()


def read(raw: bytes) -> Statement | ProofFault:
    """The Statement in a proof.json; a fault if it is not what `Encoded` gives."""
    document = strict_json(raw)
    if document is None:
        return ProofFault("the Proof is not a JSON object")
    kind = document.get("predicateType")
    if isinstance(kind, str) and kind.startswith(PREDICATE_FAMILY) and kind != PREDICATE_TYPE:
        return ProofFault("the Proof was written by another version of discern; `discern evaluate` writes a new one")
    if not _is_statement(document):
        return ProofFault("the Proof is not what discern writes; `discern evaluate` writes a new one")
    return cast(Statement, document)


def _entry(judgement: Judgement) -> Entry:
    definition, evaluation = judgement.definition, judgement.evaluation
    entry: Entry = {
        "id": definition.id,
        "mode": definition.mode,
        "outcome": evaluation.outcome,
        "definition_hash": judgement.definition_hash,
        "subject": judgement.subject,
        "matched": path_values(evaluation.matched),
        "state": judgement.state,
    }
    if judgement.rationale is not None:
        entry["rationale"] = judgement.rationale
    if definition.when is not None and evaluation.outcome in ("fired", "passed", "indeterminate"):
        entry["structural_subject"] = judgement.structural_subject
    return entry


def _obstacles(entries: Iterable[Entry], drops: Iterable[DropDocument]) -> Iterator[str]:
    """What keeps a Proof from being reusable (spec 8.4)."""
    for drop in drops:
        yield f"{'policy' if drop['checkpoint'] is None else drop['checkpoint']}: {drop['reason']}"
    for entry in entries:
        outcome = entry["outcome"]
        if outcome in ("dropped", "indeterminate", "undecided"):
            yield f"{entry['id']}: {outcome}"
        if (outcome == "fired" and entry["subject"] is None) or entry.get("structural_subject", "") is None:
            yield f"{entry['id']}: subject unknown"
        if outcome == "fired" and entry["mode"] == "stop" and entry["state"] not in DECLARED:
            yield f"{entry['id']}: {entry['state']}"


def _moved(recorded: Statement, fresh: Result) -> Iterator[str]:
    """What is not as it was, words aside."""
    predicate = recorded["predicate"]
    if recorded["subject"][0]["digest"]["gitCommit"] != fresh.head:
        yield "HEAD"
    if predicate["policy_commit"] != fresh.policy_commit:
        yield "policy commit"
    then = {entry["id"]: _without_when(entry) for entry in predicate["checkpoints"]}
    now = {judgement.definition.id: _without_when(_entry(judgement)) for judgement in fresh.checkpoints}
    for checkpoint in then | now:
        difference = _difference(then.get(checkpoint), now.get(checkpoint))
        if difference:
            yield f"{checkpoint}: {difference}"
    if _lasting(predicate["drops"]) != _lasting(drop_document(drop) for drop in fresh.drops):
        yield "drops"


def _without_when(entry: Entry) -> dict[str, object]:
    """What an evaluation that runs no `when` command finds if nothing moved: its subject is what the command was asked about."""
    commanded = "structural_subject" in entry
    outcome = "undecided" if commanded else entry["outcome"]
    return {
        "definition": entry["definition_hash"],
        "outcome": outcome,
        "subject": entry["structural_subject"] if commanded else entry["subject"],
        "matched paths": None if outcome == "undecided" else entry["matched"],  # the subject holds them
    }


def _difference(then: Mapping[str, object] | None, now: Mapping[str, object] | None) -> str:
    if then is None:
        return "new"
    if now is None:
        return "gone"
    return ", ".join(name for name in then if then[name] != now[name])


def _lasting(drops: Iterable[DropDocument]) -> list[tuple[str, str, str]]:
    """The drops that an evaluation without `when` finds again. An unknown subject shows where the subjects are compared."""
    return sorted(
        (drop["checkpoint"] or "", drop["reason"], drop["detail"] or "")
        for drop in drops
        if drop["reason"] not in (*WHEN_REASONS, "subject_unavailable")
    )


def _changed_words(entries: Iterable[Entry], book: Book) -> Iterator[str]:
    for entry in entries:
        if entry["outcome"] == "fired" and entry["mode"] == "stop":
            now = standing(book, entry["id"], Pair(entry["definition_hash"], entry["subject"]))
            if now != (entry["state"], entry.get("rationale")):
                yield f"{entry['id']}: declaration"


def _is_statement(document: Mapping[str, Any]) -> bool:
    return (
        document.keys() == Statement.__annotations__.keys()
        and document["_type"] == STATEMENT_TYPE
        and document["predicateType"] == PREDICATE_TYPE
        and isinstance(document["subject"], list)
        and len(document["subject"]) == 1
        and _is_commit(document["subject"][0])
        and _is_predicate(document["predicate"])
    )


def _is_commit(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == Commit.__annotations__.keys()
        and isinstance(value["name"], str)
        and isinstance(value["digest"], dict)
        and value["digest"].keys() == CommitDigest.__annotations__.keys()
        and _is_object_id(value["digest"]["gitCommit"])
    )


def _is_object_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(_OBJECT_ID, value) is not None


def _is_predicate(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == Predicate.__annotations__.keys()
        and (value["policy_commit"] is None or _is_object_id(value["policy_commit"]))
        and isinstance(value["reusable"], bool)
        and isinstance(value["checkpoints"], list)
        and all(_is_entry(entry) for entry in value["checkpoints"])
        and len({entry["id"] for entry in value["checkpoints"]}) == len(value["checkpoints"])
        and isinstance(value["drops"], list)
        and all(_is_drop(drop) for drop in value["drops"])
    )


def _is_entry(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() - {"rationale", "structural_subject"}
        == {"id", "mode", "outcome", "definition_hash", "subject", "matched", "state"}
        and isinstance(value["id"], str)
        and value["mode"] in MODES
        and value["outcome"] in OUTCOMES
        and is_hash(value["definition_hash"])
        and _is_hash_or_null(value["subject"])
        and _is_hash_or_null(value.get("structural_subject"))
        and isinstance(value["matched"], list)
        and all(_is_path(path) for path in value["matched"])
        and value["state"] in STATES
        and is_rationale("unmet" if value["state"] == "declared_unmet" else "met", value.get("rationale"))
    )


def _is_hash_or_null(value: Any) -> bool:
    return value is None or is_hash(value)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and value.keys() == {"bytes"} and isinstance(value["bytes"], str))


def _is_drop(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == DropDocument.__annotations__.keys()
        and all(isinstance(value[name], str) for name in ("scope", "reason", "account"))
        and all(value[name] is None or isinstance(value[name], str) for name in ("checkpoint", "mode", "policy_commit", "detail"))
    )
