"""What the document in the governing `discern.toml` says: definitions, each bad entry dropped alone (spec 1.3-1.7, 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from discern.definitions import Definition, EntryDrop, Policy, PolicyInvalid
from discern.fields import FIELD_PARSERS, Fault, path_patterns, type_name
from discern.patterns import PatternFault, compile_pattern
from discern.seeds import with_seed
from discern.text import one_line
from discern.vocabulary import ACCOUNT_LIMIT, CHECKPOINT_FIELD_ROLES, QUESTION_FILE_LIMIT, EntryReason, Mode

SHOWN: Final = 80  # characters of a name or pattern of the file in an account

_REFERENCE: Final = re.compile(r"\$\{([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)\}")
_PATH_FIELDS: Final[tuple[str, ...]] = ("scope", "paths", "exclude_paths", "unless_changed")
_SCOPE_FIELDS: Final = ("scope", "unless_changed")  # those that may name a scope
_NO_QUESTION_FILE: Final = (
    "`question_file` `{}` cannot be had: it must be the path, from the project root and without `.` and `..`,"
    f" of a UTF-8 file of at most {QUESTION_FILE_LIMIT:,} bytes in the policy commit, and no symlink"
)


class _Governing(NamedTuple):
    """What an entry draws on: the whole file, the patterns of each scope with references put in, and the question files."""

    document: Mapping[str, Any]
    scopes: Mapping[str, tuple[str, ...]]
    question_texts: Mapping[str, str]


def question_files(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths that entries name as `question_file`, each once, of those whose spelling is admissible (spec 2.3)."""
    table = document.get("checkpoints")
    entries = table.values() if isinstance(table, dict) else ()
    named = (entry.get("question_file") for entry in entries if isinstance(entry, dict))
    return tuple(dict.fromkeys(path for path in named if isinstance(path, str) and _admissible(path)))


def _admissible(path: str) -> bool:
    names = path.split("/")
    return names[0] != ".git" and {"", ".", ".."}.isdisjoint(names) and "\0" not in path


def resolve(document: Mapping[str, Any], question_texts: Mapping[str, str]) -> Policy | PolicyInvalid:
    """The policy that a TOML document states (spec 1.3-1.7).

    `question_texts` has the text of every path of `question_files` that is there and is what spec 2.3 asks of it.
    """
    if fault := _document_fault(document):
        return PolicyInvalid(one_line(f"discern.toml: {fault}", ACCOUNT_LIMIT))
    scopes = {name: _table_patterns(document, table) for name, table in document.get("scopes", {}).items()}
    generated = {name: _table_patterns(document, table) for name, table in document.get("generated", {}).items()}
    for name, patterns in generated.items():
        for fault in _pattern_faults(f"[generated.{one_line(name, SHOWN)}] paths", patterns):
            return PolicyInvalid(one_line(f"discern.toml: {fault}", ACCOUNT_LIMIT))
    governing = _Governing(document, scopes, question_texts)
    entries = [_entry(identity, entry, governing) for identity, entry in document.get("checkpoints", {}).items()]
    return Policy(
        definitions=tuple(entry for entry in entries if isinstance(entry, Definition)),
        drops=tuple(entry for entry in entries if isinstance(entry, EntryDrop)),
        generated=tuple(pattern for patterns in generated.values() for pattern in patterns),
        trunk=document.get("repository", {}).get("trunk"),
    )


def _document_fault(document: Mapping[str, Any]) -> str | None:
    """What makes the whole document unusable (spec 1.3, 1.5), patterns aside."""
    for name in ("repository", "scopes", "generated", "checkpoints"):
        if not isinstance(document.get(name, {}), dict):
            return f"`{name}` must be a table, not {type_name(document[name])}"
    trunk = document.get("repository", {}).get("trunk", "")
    if not isinstance(trunk, str):
        return f"`trunk` in `[repository]` must be a string, not {type_name(trunk)}"
    for kind in ("scopes", "generated"):
        for name, table in document.get(kind, {}).items():
            if not isinstance(table, dict):
                return f"`[{kind}.{one_line(name, SHOWN)}]` must be a table, not {type_name(table)}"
            if isinstance(fault := path_patterns(table.get("paths", [])), Fault):
                return f"`paths` in `[{kind}.{one_line(name, SHOWN)}]` {fault}"
    return None


def _table_patterns(document: Mapping[str, Any], table: Mapping[str, Any]) -> tuple[str, ...]:
    """The patterns of a scope or generated table; none without `paths`."""
    return tuple(_with_references(document, pattern) for pattern in table.get("paths", []))


def _with_references(document: Mapping[str, Any], pattern: str) -> str:
    """`pattern` with its references put in, once; empty, which matches nothing, if one of them is no string (spec 1.6)."""
    found = {path: _string_at(document, path) for path in _REFERENCE.findall(pattern)}
    return "" if None in found.values() else _REFERENCE.sub(lambda match: found[match[1]] or "", pattern)


def _string_at(document: Mapping[str, Any], path: str) -> str | None:
    value: Any = document
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else None


def _entry(identity: str, entry: Any, governing: _Governing) -> Definition | EntryDrop:
    """One entry as a definition, or as the drop it comes to (spec 1.5)."""
    if not isinstance(entry, dict):
        hint = ": a field stands below the id of its checkpoint" if identity in CHECKPOINT_FIELD_ROLES else ""
        return _drop(identity, "stop", "checkpoint_definition_invalid", f"must be a table, not {type_name(entry)}{hint}")
    filled = with_seed(identity, entry)
    values = {field: FIELD_PARSERS[field](value) for field, value in filled.items() if field in CHECKPOINT_FIELD_ROLES}
    patterns = {field: _patterns(field, values[field], governing) for field in _PATH_FIELDS if field in values}
    if problem := _first_problem(entry, values, patterns, governing):
        mode = values.get("mode", "stop")
        return _drop(identity, "stop" if isinstance(mode, Fault) else mode, *problem)
    fields: dict[str, Any] = {**values, **patterns, "question": _question(values, governing)}
    if "scope" in fields:
        fields["paths"] = fields.pop("scope")
    return Definition(id=identity, **fields)


def _drop(identity: str, mode: Mode, reason: EntryReason, account: str) -> EntryDrop:
    return EntryDrop(id=identity, mode=mode, reason=reason, account=one_line(account, ACCOUNT_LIMIT))


def _patterns(field: str, value: Any, governing: _Governing) -> tuple[str, ...]:
    """The patterns a path field comes to: of a scope it names, that scope's, else its own with references put in (spec 1.6)."""
    if isinstance(value, Fault):
        return ()
    patterns: list[str] = []
    for name in (value,) if field == "scope" else value:
        if field in _SCOPE_FIELDS and name in governing.scopes:
            patterns += governing.scopes[name]
        elif field != "scope":
            patterns.append(_with_references(governing.document, name))
    return tuple(patterns)


def _first_problem(
    entry: Mapping[str, Any], values: Mapping[str, Any], patterns: Mapping[str, tuple[str, ...]], governing: _Governing
) -> tuple[EntryReason, str] | None:
    """The first reason of spec 1.5 that applies, and its account; of the first, everything that is wrong at once."""
    if faults := [*_field_faults(entry, values), *(fault for each in patterns.items() for fault in _pattern_faults(*each))]:
        return "checkpoint_definition_invalid", "; ".join(faults)
    if "scope" in values and "paths" in values:
        return "checkpoint_selector_conflict", "sets both `scope` and `paths`: keep one of them"
    if "scope" in values and values["scope"] not in governing.scopes:
        return "checkpoint_unknown_scope", f"`scope`: {_unknown(values['scope'], governing.scopes)} in `[scopes]`"
    question = _question(values, governing)
    if question is None:
        return "checkpoint_question_file_unavailable", _NO_QUESTION_FILE.format(one_line(values["question_file"], SHOWN))
    if not question.strip():
        return "checkpoint_missing_question", "asks nothing: give it a `question`, or a `question_file`, that is not blank"
    return None


def _field_faults(entry: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    for field in entry:
        if field not in CHECKPOINT_FIELD_ROLES:
            yield f"{_unknown(field, CHECKPOINT_FIELD_ROLES)} among the fields of a checkpoint"
    for field, value in values.items():
        if isinstance(value, Fault):
            yield f"`{field}` {value}"
    if "question" in values and "question_file" in values:
        yield "sets both `question` and `question_file`: keep one of them"


def _pattern_faults(field: str, patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(fault := compile_pattern(pattern), PatternFault):
            yield f"`{field}`: the pattern `{one_line(pattern, SHOWN)}` {fault.message}"


def _unknown(name: str, known: Iterable[str]) -> str:
    """That there is no such name, with the nearest one there is."""
    import difflib

    near = difflib.get_close_matches(name[:SHOWN], known, n=1)
    meant = f" (did you mean `{one_line(near[0], SHOWN)}`?)" if near else ""
    return f"there is no `{one_line(name, SHOWN)}`{meant}"


def _question(values: Mapping[str, Any], governing: _Governing) -> str | None:
    """The text of the question, empty where none is set; None if the file that is to hold it is not to be had (spec 2.3)."""
    if "question_file" not in values:
        return str(values.get("question", ""))
    path = values["question_file"]
    return governing.question_texts.get(path) if _admissible(path) else None
