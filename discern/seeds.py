"""The built-in checkpoints: what an entry with one of these ids says where it does not say it itself (spec 1.7)."""

from __future__ import annotations

from typing import Any, Final

# Written as `discern.toml` would have it, so that one parser reads both. A seed does nothing until an entry names it.
SEEDS: Final[dict[str, dict[str, Any]]] = {
    "deletion-heavy-change": {
        "mode": "advise",
        "deletion_dominant": True,
        "question": (
            "This change removes far more than it adds. Is everything that goes really unused,"
            " and does nothing that stays (code, tests, documents, people) still rely on it?"
        ),
    },
    "parallel-implementation": {
        "mode": "advise",
        "similar_new_file": True,
        "question": (
            "A new file has almost the name of one that lies beside it. Should the old one have been changed instead,"
            " and if both are to stay, what tells them apart?"
        ),
    },
    "new-binary-asset": {
        "mode": "advise",
        "kinds": ["added"],
        "binary": True,
        "question": (
            "This change adds a binary file. Does it belong in the repository for good, is it known where it comes from"
            " and under what licence, and can a reviewer see what is in it?"
        ),
    },
    "effort-sprawl": {
        "mode": "advise",
        "min_changed_files": 25,
        "question": (
            "This change touches many files. Is it one piece of work that can be judged as a whole,"
            " or would several smaller changes be safer to review and to undo?"
        ),
    },
    "commit-story": {
        "mode": "advise",
        "min_commits": 8,
        "question": (
            "This branch has many commits. Can a reviewer follow them one by one, each with a message that says why,"
            " or should some be joined, split or reworded first?"
        ),
    },
    "new-subsystem": {
        "mode": "advise",
        "new_directory": True,
        "kinds": ["added"],
        "question": (
            "This change opens a new directory. Is this where the project wants it,"
            " and do its name, its boundary and its tests say what it is for?"
        ),
    },
}

# Fields of which an entry has one: setting either of them leaves both of the seed's aside.
SLOTS: Final = (("scope", "paths"), ("question", "question_file"))


def with_seed(identity: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with its seed's values for the fields it does not set; an explicit value wins, `false` included (spec 1.7)."""
    taken = {name for slot in SLOTS if not entry.keys().isdisjoint(slot) for name in slot}
    return {name: value for name, value in SEEDS.get(identity, {}).items() if name not in taken} | entry
