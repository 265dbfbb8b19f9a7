"""A conformance case: from its bytes to the records the pure part judges (spec 10.1).

A case is read strictly: every member of exactly its type, every word one of the contract's. Members the contract does not know
are ignored, `expect` among them, which is the runner's.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, NewType, TypeAlias, Union, get_args, get_origin

from attrs import field, fields_dict, frozen, has
from cattrs import BaseValidationError, Converter, transform_error
from cattrs.cols import list_structure_factory
from cattrs.gen import make_dict_structure_fn, make_mapping_structure_fn

from discern.facts import NO_CONTENT, NOT_COLLECTED, ChangedFile, Content, Facts, History, Lines, NotCollected, Unavailable
from discern.outcomes import Answered, Unanswered
from discern.text import one_line
from discern.vocabulary import COMPARISON_LIMIT, BaseReason, FileReason, HistoryReason, Kind, WhenReason

Count = NewType("Count", int)
Times = NewType("Times", int)
Base64 = NewType("Base64", bytes)

LEAST: Final = {Count: 0, Times: 1}
MESSAGE_LIMIT: Final = 300  # characters of what is said of a malformed case


@frozen
class MalformedCase:
    """Why something is no case of this contract, in one line that is safe to show (spec 10.1)."""

    message: str


@frozen
class Case:
    """A case as the pure part takes it.

    `base` holds the base tree's paths, whose generated flags the policy decides; in `facts` neither they nor those of the changes
    are set yet. `files` are those of the policy commit, `answers` what each `when` command says.
    """

    policy: Mapping[str, Any]
    files: Mapping[str, str]
    facts: Facts
    base: tuple[str, ...] | None
    answers: Mapping[str, Answered | Unanswered]


# The document, class by class: a member is an attribute, and an object with several shapes is told by its first member.


@frozen
class _Bytes:
    bytes: Base64


@frozen
class _Repeated:
    line: str | _Bytes
    times: Times


@frozen
class _Sides:
    added: list[str | _Bytes | _Repeated]
    removed: list[str | _Bytes | _Repeated]


@frozen
class _FileLoss:
    unavailable: FileReason


@frozen
class _BaseLoss:
    unavailable: BaseReason


@frozen
class _HistoryLoss:
    unavailable: HistoryReason


@frozen
class _Commits:
    commits: list[str]


@frozen
class _Exit:
    exit: int
    output: str


@frozen
class _Failure:
    failure: WhenReason


@frozen
class _Change:
    path: str | _Bytes
    kind: Kind
    insertions: Count
    deletions: Count
    binary: bool | _FileLoss
    content: _Sides | _FileLoss | None
    lines: _FileLoss | NotCollected = NOT_COLLECTED  # not said: they are the two counts


@frozen
class _Facts:
    changes: list[_Change]
    base: list[str | _Bytes] | _BaseLoss | None
    history: _Commits | _HistoryLoss | None


@frozen
class _Document:
    version: Literal[1]
    id: str
    clause: str
    summary: str
    policy: dict[str, Any]
    facts: _Facts
    files: dict[str, str] = field(factory=dict)
    when: dict[str, _Exit | _Failure] = field(factory=dict)


_Loss: TypeAlias = _FileLoss | _BaseLoss | _HistoryLoss


def read_case(raw: bytes) -> Case | MalformedCase:
    """The case in one JSON document."""
    parsed = parse_json(raw)
    return parsed if isinstance(parsed, MalformedCase) else structure_case(parsed)


def parse_json(raw: bytes) -> object | MalformedCase:
    """The value of a JSON text in UTF-8 whose strings are text."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return MalformedCase(f"not UTF-8: byte {error.start + 1} cannot be read")
    try:
        return _parsed(text)
    except RecursionError:
        return MalformedCase("nested too deeply")
    except UnicodeEncodeError:
        return MalformedCase("a string holds half a character (an unpaired surrogate)")
    except ValueError as error:
        return MalformedCase(one_line(f"no JSON: {error}", MESSAGE_LIMIT))


def _parsed(text: str) -> object:
    value: object = json.loads(text, parse_constant=_no_constant)
    if "\\ud" in text.lower():  # only an escape can bring half a character in
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON value")


def structure_case(parsed: object) -> Case | MalformedCase:
    """The case in a JSON value that was read already."""
    if not isinstance(parsed, dict):
        return MalformedCase(f"a case is an object, not {_name(parsed)}")
    try:
        document: _Document = _converter().structure(parsed, _Document)
    except BaseValidationError as fault:
        said = transform_error(fault, path="case", format_exception=_said)
        return MalformedCase(one_line(said[0], MESSAGE_LIMIT))
    base = None if document.facts.base is None or isinstance(document.facts.base, _BaseLoss) else document.facts.base
    paths = [_path(change.path) for change in document.facts.changes], [_path(path) for path in base or ()]
    for listed in paths:
        if len(set(listed)) < len(listed):
            return MalformedCase("a path is named twice")
    return Case(
        policy=document.policy,
        files=document.files,
        facts=Facts.of(map(_changed_file, document.facts.changes), _base(document.facts.base), _history(document.facts.history)),
        base=None if base is None else tuple(paths[1]),
        answers={name: _answer(answer) for name, answer in document.when.items()},
    )


def _path(value: str | _Bytes) -> str:
    return value if isinstance(value, str) else value.bytes.decode("utf-8", "surrogateescape")


def _changed_file(change: _Change) -> ChangedFile:
    binary = _unavailable(change.binary) if isinstance(change.binary, _FileLoss) else change.binary
    # Where only the flag is said to be unknown, the counts are unknown for its reason.
    loss = change.lines if isinstance(change.lines, _FileLoss) else change.binary
    lines = _unavailable(loss) if isinstance(loss, _FileLoss) else Lines(change.insertions, change.deletions)
    content = NO_CONTENT if binary is True else _content(change.content)
    return ChangedFile(path=_path(change.path), kind=change.kind, binary=binary, lines=lines, content=content)


def _unavailable(loss: _Loss) -> Unavailable:
    return Unavailable(loss.unavailable)


def _content(content: _Sides | _FileLoss | None) -> Any:
    match content:
        case None:
            return NOT_COLLECTED
        case _FileLoss():
            return _unavailable(content)
        case _Sides(added, removed):
            return Content(_side(added), _side(removed))


def _side(lines: Iterable[str | _Bytes | _Repeated]) -> bytes:
    return b"".join(map(_lines, lines))


def _lines(line: str | _Bytes | _Repeated) -> bytes:
    times = line.times if isinstance(line, _Repeated) else 1
    text = line.line if isinstance(line, _Repeated) else line
    ended = (text.encode() if isinstance(text, str) else text.bytes) + b"\n"
    # What is over the comparison limit is over it, however far: no line is written out more often than that takes.
    return ended * min(times, COMPARISON_LIMIT // len(ended) + 1)


def _base(base: object) -> Any:
    return _unavailable(base) if isinstance(base, _BaseLoss) else NOT_COLLECTED


def _history(history: _Commits | _HistoryLoss | None) -> Any:
    match history:
        case None:
            return NOT_COLLECTED
        case _HistoryLoss():
            return _unavailable(history)
        case _Commits(commits):
            return History(tuple(commits))


def _answer(answer: _Exit | _Failure) -> Answered | Unanswered:
    return Unanswered(answer.failure) if isinstance(answer, _Failure) else Answered(answer.exit, answer.output.encode())


# Reading exactly. A plain converter would take "2" for 2, 2.0 for 2 and a text for a list of letters.


@cache
def _converter() -> Converter:
    converter = Converter()
    for scalar in (str, int, bool):
        converter.register_structure_hook(scalar, lambda value, kind: _exactly(kind, value))
    for number in LEAST:
        converter.register_structure_hook(number, _number)
    converter.register_structure_hook(Base64, lambda value, _: _decoded(value))
    converter.register_structure_hook_func(_is(Literal), _word)
    converter.register_structure_hook_func(_is(Union, UnionType), lambda value, kind: _one_of(converter, value, kind))
    converter.register_structure_hook_factory(_is(list), lambda kind: _checked(list, list_structure_factory(kind, converter)))
    converter.register_structure_hook_factory(_is(dict), lambda kind: _checked(dict, make_mapping_structure_fn(kind, converter)))
    converter.register_structure_hook_factory(has, lambda kind: _checked(dict, make_dict_structure_fn(kind, converter)))
    return converter


def _is(*origins: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) in origins


def _checked(container: type, read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, kind: read(_exactly(container, value), kind)


def _exactly(kind: Any, value: object) -> Any:
    # Not isinstance: True is no integer here.
    if type(value) is not kind:
        raise TypeError(f"{_name(value)} where {_NAMES[kind]} belongs")
    return value


_NAMES: Final[dict[type, str]] = {
    str: "a string",
    int: "an integer",
    float: "a fraction",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
    NoneType: "null",
}


def _name(value: object) -> str:
    return _NAMES[type(value)]


def _number(value: object, kind: Any) -> int:
    number: int = _exactly(int, value)
    if number < LEAST[kind]:
        raise ValueError(f"a number below {LEAST[kind]}")
    return number


def _decoded(value: object) -> bytes:
    try:
        return b64decode(_exactly(str, value), validate=True)
    except ValueError as error:
        raise ValueError("not base64") from error


def _word(value: object, kind: Any) -> object:
    if not any(type(value) is type(word) and value == word for word in get_args(kind)):
        shown = json.dumps(value) if isinstance(value, (str, int, float)) else _name(value)
        raise ValueError(f"{shown} is none of {', '.join(map(str, get_args(kind)))}")
    return value


def _one_of(converter: Converter, value: object, kind: Any) -> Any:
    """The value as the one alternative of a union that it shows: by its type, or an object by the first member of that shape."""
    options = [option for option in get_args(kind) if _shows(value, option)]
    if len(options) != 1:
        raise ValueError(f"{_name(value)} that is {'more than one' if options else 'none'} of what may stand here")
    return None if value is None else converter.structure(value, options[0])


def _shows(value: object, option: Any) -> bool:
    if has(option):
        return isinstance(value, dict) and any(first in value for first in list(fields_dict(option))[:1])
    return type(value) is (get_origin(option) or option)


def _said(fault: BaseException, _kind: type | None) -> str:
    return f"{fault.args[0]} is missing" if isinstance(fault, KeyError) else str(fault)
