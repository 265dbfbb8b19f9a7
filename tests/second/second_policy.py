"""The governing document as definitions (contract 1, 2)."""

import re

from second_case import KINDS
from second_dialect import is_bad

SEEDS = {
    "deletion-heavy-change": {"deletion_dominant": True},
    "parallel-implementation": {"similar_new_file": True},
    "new-binary-asset": {"kinds": ["added"], "binary": True},
    "effort-sprawl": {"min_changed_files": 25},
    "commit-story": {"min_commits": 8},
    "new-subsystem": {"new_directory": True, "kinds": ["added"]},
}
FALSE_AT_FIRST = ("include_generated", "new_directory", "similar_new_file", "deletion_dominant")
NULL_AT_FIRST = (
    *("paths", "exclude_paths", "unless_changed", "kinds", "adds_matching", "removes_matching", "binary", "when"),
    *("min_changed_files", "min_changed_lines", "min_commits", "question", "question_file", "teach", "reference"),
)
INVALID = "checkpoint_definition_invalid"
DEFINITION = {**dict.fromkeys(FALSE_AT_FIRST, False), **dict.fromkeys(NULL_AT_FIRST), "mode": "stop"}


class PolicyError(Exception):
    """The policy as a whole cannot be used (1.3)."""


class EntryError(Exception):
    """One entry cannot be used (1.5); its text is the reason."""


def put_in(pattern, document):
    """The pattern with its references replaced (1.6)."""
    out, rest = "", pattern
    while found := re.search(r"\$\{([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)\}", rest):
        value = document
        for key in found[1].split("."):
            value = value.get(key) if type(value) is dict else None
        if type(value) is not str:
            return ""
        out, rest = out + rest[: found.start()] + value, rest[found.end() :]
    return out + rest


def is_strings(value):
    return type(value) is list and all(type(item) is str for item in value)


def read_tables(document, name):
    """The named table of tables as {name: patterns with references put in}."""
    tables = document.get(name, {})
    if type(tables) is not dict:
        raise PolicyError(name)
    out = {}
    for key, table in tables.items():
        if type(table) is not dict or not is_strings(table.get("paths", [])):
            raise PolicyError(name)
        out[key] = [put_in(pattern, document) for pattern in table.get("paths", [])]
    return out


def is_wrong(name, value):
    """Whether a value is none for the field of that name (2.1)."""
    if name in ("include_generated", "new_directory", "similar_new_file", "deletion_dominant", "binary"):
        return type(value) is not bool
    if name in ("min_changed_files", "min_changed_lines", "min_commits"):
        return type(value) is not int or value < 1 or value > 2**53 - 1
    if name in ("exclude_paths", "unless_changed"):
        return not is_strings(value)
    if name == "paths":
        return not is_strings(value) or not value
    if name == "kinds":
        return not is_strings(value) or not value or len(set(value)) < len(value) or not set(value) <= set(KINDS)
    if name in ("adds_matching", "removes_matching"):
        return not is_strings(value) or not 1 <= len(value) <= 16 or len(set(value)) < len(value) or any(
            not 1 <= len(text.encode()) <= 128 or "\0" in text or "\r" in text or "\n" in text for text in value)  # fmt: skip
    if name == "mode":
        return value not in ("stop", "advise") or type(value) is not str
    if name == "when":
        return type(value) is not str or not value.strip() or "\0" in value
    return type(value) is not str


def check_shape(entry):
    """The faults that one field shows by itself, and the one of two questions."""
    if type(entry) is not dict:
        raise EntryError(INVALID)
    for key, value in entry.items():
        if (key not in DEFINITION and key != "scope") or is_wrong(key, value):
            raise EntryError(INVALID)
    if "question" in entry and "question_file" in entry:
        raise EntryError(INVALID)


def with_seed(name, entry):
    """Every field of the entry, the seed's where it says nothing (1.7)."""
    definition = dict(DEFINITION)
    if name in SEEDS:
        definition.update(SEEDS[name], mode="advise", question=f"Is {name} what you want?")
    if "question_file" in entry:
        definition["question"] = None
    definition.update({key: value for key, value in entry.items() if key != "scope"})
    return definition


def expand(definition, document, scopes):
    """Scopes and references put in (1.6)."""
    for key in ("paths", "exclude_paths"):
        if definition[key] is not None:
            definition[key] = [put_in(pattern, document) for pattern in definition[key]]
    if definition["unless_changed"] is not None:
        expanded = []
        for pattern in definition["unless_changed"]:
            expanded += scopes[pattern] if pattern in scopes else [put_in(pattern, document)]
        definition["unless_changed"] = expanded


def check_patterns(definition, scope):
    for patterns in (scope, definition["paths"], definition["exclude_paths"], definition["unless_changed"]):
        if any(is_bad(pattern) for pattern in patterns or []):
            raise EntryError(INVALID)


def resolve_entry(name, entry, document, scopes, files):
    """One entry as a definition: every field of the hash by its name. The faults come in the order of 1.5."""
    check_shape(entry)
    definition = with_seed(name, entry)
    expand(definition, document, scopes)
    check_patterns(definition, scopes.get(entry.get("scope")))
    if "scope" in entry:
        if "paths" in entry:
            raise EntryError("checkpoint_selector_conflict")
        if entry["scope"] not in scopes:
            raise EntryError("checkpoint_unknown_scope")
        definition["paths"] = scopes[entry["scope"]]
    if definition["question_file"] is not None:
        definition["question"] = read_question(definition["question_file"], files)
    if definition["question"] is None or not definition["question"].strip():
        raise EntryError("checkpoint_missing_question")
    for key in ("exclude_paths", "unless_changed"):
        definition[key] = definition[key] or None
    if definition["kinds"]:
        definition["kinds"] = [kind for kind in KINDS if kind in definition["kinds"]]
    return definition


def read_question(path, files):
    """The text of a question file of the policy commit (2.3)."""
    segments = path.split("/")
    if segments[0] == ".git" or any(segment in ("", ".", "..") for segment in segments):
        raise EntryError("checkpoint_question_file_unavailable")
    if path not in files or len(files[path].encode()) > 65_536:
        raise EntryError("checkpoint_question_file_unavailable")
    return files[path]


def resolve(document, files):
    """Definitions, drop reasons, and the patterns of what is generated."""
    repository, entries = document.get("repository", {}), document.get("checkpoints", {})
    if type(repository) is not dict or type(repository.get("trunk", "")) is not str or type(entries) is not dict:
        raise PolicyError("a table")
    scopes = read_tables(document, "scopes")
    generated = [pattern for patterns in read_tables(document, "generated").values() for pattern in patterns]
    if any(is_bad(pattern) for pattern in generated):
        raise PolicyError("a generated pattern")
    definitions = {}
    for name, entry in entries.items():
        try:
            definitions[name] = resolve_entry(name, entry, document, scopes, files)
        except EntryError as why:
            definitions[name] = str(why)
    return definitions, generated
