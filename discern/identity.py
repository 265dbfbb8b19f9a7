"""What makes two questions the same question: canonical JSON, and the hashes over it (spec 7)."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, Final, TypedDict

from discern.definitions import Definition
from discern.facts import History, NotCollected, Unavailable, path_bytes
from discern.vocabulary import KINDS, Kind

Side = tuple[str, str] | None
"""One side of a path as Git would store it: mode and object id, or None where the path does not exist (spec 7.2)."""


class BytesPath(TypedDict):
    """A path that is not valid UTF-8: its bytes in base64 (spec 0)."""

    bytes: str


def path_value(path: str) -> str | BytesPath:
    """A path as JSON carries it (spec 0)."""
    if path.isascii():
        return path
    raw = path_bytes(path)
    try:
        raw.decode()
    except UnicodeDecodeError:
        return {"bytes": b64encode(raw).decode()}
    return path


def path_values(paths: tuple[str, ...]) -> list[str | BytesPath]:
    """Paths as JSON carries them, many at once: nearly always they are what they are."""
    return list(paths) if "".join(paths).isascii() else [path_value(path) for path in paths]


def canonical(value: object) -> bytes:
    """RFC 8785 for the values that occur here: null, booleans, integers within 2^53, texts, arrays, objects with ASCII keys."""
    return _ENCODER.encode(value).encode()


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _as_it_is(value: object) -> object:
    return value


def _array(values: tuple[str, ...]) -> list[str] | None:
    return list(values) or None


def _selector(patterns: tuple[str, ...] | None) -> list[str] | None:
    """Without a selector null; `[]` for a scope without patterns, which selects nothing."""
    return None if patterns is None else list(patterns)


def _kinds(kinds: tuple[Kind, ...]) -> list[Kind] | None:
    return [kind for kind in KINDS if kind in kinds] or None


# Every field of the registry but `scope`, whose patterns stand under `paths` (spec 7.1).
HASHED_FIELDS: Final[dict[str, Callable[[Any], object]]] = {
    "paths": _selector,
    "include_generated": _as_it_is,
    "exclude_paths": _array,
    "kinds": _kinds,
    "adds_matching": _array,
    "removes_matching": _array,
    "new_directory": _as_it_is,
    "binary": _as_it_is,
    "similar_new_file": _as_it_is,
    "unless_changed": _array,
    "min_changed_files": _as_it_is,
    "min_changed_lines": _as_it_is,
    "deletion_dominant": _as_it_is,
    "min_commits": _as_it_is,
    "when": _as_it_is,
    "mode": _as_it_is,
    "question": _as_it_is,
    "question_file": _as_it_is,
    "teach": _as_it_is,
    "reference": _as_it_is,
}


def definition_hash(definition: Definition) -> str:
    """SHA-256, in hex, of the resolved definition without its id (spec 7.1)."""
    document = {field: form(getattr(definition, field)) for field, form in HASHED_FIELDS.items()}
    return sha256(b"discern-definition/v1\n" + canonical(document)).hexdigest()


def history_fingerprint(commits: Iterable[str]) -> str:
    """SHA-256, in hex, of the full object ids in their order (spec 7.3)."""
    return sha256(b"checkpoint-history/v1\n" + "\n".join(commits).encode()).hexdigest()


def fingerprint_of(history: History | Unavailable | NotCollected) -> str | None:
    """The fingerprint of a history that is known."""
    return history_fingerprint(history.commits) if isinstance(history, History) else None


def path_row(path: str, base: Side, current: Side) -> bytes:
    """A matched path of a subject, as canonical JSON (spec 7.2). Made once, it serves every subject that holds the path."""
    # Written by hand, as there may be tens of thousands: modes and object ids need no escape.
    return f'{{"base":{_side(base)},"current":{_side(current)},"path":{_ENCODER.encode(path_value(path))}}}'.encode()


def _side(side: Side) -> str:
    return "null" if side is None else f'["{side[0]}","{side[1]}"]'


def related_row(for_path: str, path: str, base: Side, current: Side) -> bytes:
    """A related path of a subject, as canonical JSON (spec 7.2)."""
    return canonical({"for_path": path_value(for_path), "path": path_value(path), "base": base, "current": current})


def subject(definition_hash: str, fingerprint: str | None, paths: Iterable[bytes], related: Iterable[bytes] = ()) -> str:
    """SHA-256, in hex, of what was matched and what it held (spec 7.2).

    The rows come in the order of path bytes, related ones by (for_path, path), as an outcome carries them. `fingerprint` is the
    history's if the definition has `min_commits`, else None.
    """
    # Canonical JSON written by hand, its members in key order: a row, encoded once, need not be encoded for every definition.
    # Hashed piece by piece: of megabytes of rows no further copy is made.
    found = sha256(b'discern-subject/v1\n{"definition":%b,"history":%b' % (canonical(definition_hash), canonical(fingerprint)))
    for member, rows in ((b"paths", paths), (b"related", related)):
        found.update(b',"%b":[' % member)
        found.update(b",".join(rows))
        found.update(b"]")
    found.update(b"}")
    return found.hexdigest()
