"""A case, read strictly into plain dictionaries (contract 10.1)."""

import base64
import json

from second_dialect import raw

KINDS = ("added", "modified", "deleted")
FILE_REASONS = ("not_regular", "unreadable", "file_limit", "total_bytes", "line_limit", "line_count", "inconsistent")
HISTORY_REASONS = ("output_limit", "shallow", "git_failed", "inconsistent")
BASE_REASONS = ("git_failed", "inconsistent")
WHEN_LIFE = ("spawn_failed", "input_failed", "timeout", "output_limit", "cancelled", "input_cleanup_failed")
FAILURES = ("when_invalid_exit", *(f"when_{what}" for what in WHEN_LIFE))


class MalformedError(Exception):
    """The case is none."""


def need(condition, message):
    if not condition:
        raise MalformedError(message)


def member(thing, name, *types):
    need(name in thing, f"{name} is missing")
    need(type(thing[name]) in types, f"{name} has the wrong type")
    return thing[name]


def read_bytes(text):
    need(type(text) is str, "bytes is no string")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as why:
        raise MalformedError("bytes is no base64") from why


def read_path(value):
    if type(value) is dict and "bytes" in value:
        return read_bytes(value["bytes"]).decode("utf-8", "surrogateescape")
    need(type(value) is str, "a path is neither a string nor bytes")
    return value


def read_line(value):
    """A line as (payload, times)."""
    if type(value) is dict and "line" in value:
        need("bytes" not in value, "a line is said twice")
        inner = value["line"]
        need(type(inner) is not dict or "line" not in inner, "times is nested")
        times = member(value, "times", int)
        need(times >= 1, "times is below 1")
        return read_line(inner)[0], times
    if type(value) is dict and "bytes" in value:
        return read_bytes(value["bytes"]), 1
    need(type(value) is str, "a line is neither a string nor bytes")
    return value.encode(), 1


def read_unavailable(value, reasons):
    """The reason, if the value says that the fact is unavailable."""
    if type(value) is not dict or "unavailable" not in value:
        return None
    need(type(value["unavailable"]) is str and value["unavailable"] in reasons, "a reason is none of the contract's")
    return value["unavailable"]


def read_change(value):
    need(type(value) is dict, "a change is no object")
    change = {"path": read_path(member(value, "path", str, dict)), "kind": member(value, "kind", str)}
    need(change["kind"] in KINDS, "kind is unknown")
    for name in ("insertions", "deletions"):
        change[name] = member(value, name, int)
        need(change[name] >= 0, f"{name} is negative")
    change["binary"] = member(value, "binary", bool, dict)
    change["binary_reason"] = read_unavailable(change["binary"], FILE_REASONS)
    need(change["binary"] is True or change["binary"] is False or change["binary_reason"], "binary is unknown")
    change["lines_reason"] = change["binary_reason"]
    if "lines" in value:
        change["lines_reason"] = read_unavailable(value["lines"], FILE_REASONS)
        need(change["lines_reason"], "lines is not unavailable")
    content = member(value, "content", dict, type(None))
    change["content_reason"] = "inconsistent" if content is None else read_unavailable(content, FILE_REASONS)
    change["added"], change["removed"] = [], []
    if content is not None and not change["content_reason"]:
        for side in ("added", "removed"):
            change[side] = [read_line(line) for line in member(content, side, list)]
    elif content is not None:
        need("added" not in content, "content is both there and unavailable")
    if change["binary"] is True:
        change["added"], change["removed"], change["content_reason"] = [], [], None
    return change


def read_facts(value):
    facts = {"changes": [read_change(change) for change in member(value, "changes", list)]}
    facts["changes"].sort(key=lambda change: raw(change["path"]))
    need(len({change["path"] for change in facts["changes"]}) == len(facts["changes"]), "a path is named twice")
    base = member(value, "base", list, dict, type(None))
    facts["base"] = [read_path(path) for path in base] if type(base) is list else []
    need(len(set(facts["base"])) == len(facts["base"]), "a path is named twice")
    facts["base_reason"] = "inconsistent" if base is None else read_unavailable(base, BASE_REASONS)
    need(type(base) is not dict or facts["base_reason"], "base is neither paths nor unavailable")
    history = member(value, "history", dict, type(None))
    facts["history_reason"] = "inconsistent" if history is None else read_unavailable(history, HISTORY_REASONS)
    facts["commits"] = []
    if not facts["history_reason"]:
        facts["commits"] = member(history, "commits", list)
        need(all(type(commit) is str for commit in facts["commits"]), "a commit is no string")
    elif history is not None:
        need("commits" not in history, "history is both there and unavailable")
    return facts


def read_answer(value):
    need(type(value) is dict, "an answer is no object")
    if "failure" in value:
        need("exit" not in value, "an answer is both an exit and a failure")
        need(member(value, "failure", str) in FAILURES, "a failure is none of the contract's")
        return {"failure": value["failure"]}
    return {"exit": member(value, "exit", int), "output": member(value, "output", str).encode()}


def read_case(data):
    """Bytes as a case whose every part has the shape of 10.1."""
    try:
        case = json.loads(data.decode("utf-8"), parse_constant=lambda word: need(False, f"{word} is no JSON"))
        json.dumps(case, ensure_ascii=False).encode("utf-8")
    except RecursionError as why:
        raise MalformedError("it is nested too deeply") from why
    except ValueError as why:
        raise MalformedError("it is no JSON in UTF-8") from why
    need(type(case) is dict, "a case is an object")
    need(member(case, "version", int) == 1, "the version is unknown")
    for name in ("id", "clause", "summary"):
        member(case, name, str)
    files = member(case, "files", dict) if "files" in case else {}
    need(all(type(text) is str for text in files.values()), "a file is no text")
    answers = member(case, "when", dict) if "when" in case else {}
    return {"policy": member(case, "policy", dict), "files": files, "facts": read_facts(member(case, "facts", dict)),
            "when": {name: read_answer(answer) for name, answer in answers.items()}}  # fmt: skip
