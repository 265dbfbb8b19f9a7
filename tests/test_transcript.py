"""One small story from end to end, as a person types it; and what its questions are about, computed by other means."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from discern.cli import run
from tests.conftest import Start
from tests.repositories import Repo

POLICY = """[checkpoints.content]
paths = ["src/**"]
question = "Is it right?"

[checkpoints.story]
paths = ["src/**"]
min_commits = 2
question = "Do the commits tell it well?"
"""
CONTENT, STORY = "content", "story"
Discern = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def repo(start: Start, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Two commits that edit, add, delete, and make a link and a program; and a file that was not added."""
    repo = start({"src/edited.txt": "one\n", "src/gone.txt": "old\n", "docs/note.txt": "a\n"}, policy=POLICY)
    repo.write("src/edited.txt", "two\n")
    repo.remove("src/gone.txt")
    repo.commit("first")
    repo.write("src/run.sh", "true\n", 0o755)
    repo.link("src/link", "edited.txt")
    repo.commit("second")
    repo.write("src/é.txt", "new\n")
    monkeypatch.chdir(repo.path)
    return repo


@pytest.fixture
def discern(repo: Repo) -> Discern:
    """One call: its exit status, and the lines that tell how things stand, object ids left out."""

    def said(*words: str) -> tuple[int, list[str]]:
        out, err = io.StringIO(), io.StringIO()
        status = run(words, stdout=out, stderr=err, environment=repo.environment)
        assert err.getvalue() == ""
        lines = [line for line in out.getvalue().splitlines() if line and not line.startswith("    ")]
        return status, [line.partition(" (")[0] for line in lines]

    return said


def rows(repo: Repo) -> dict[str, dict[str, Any]]:
    """What the JSON document says of each checkpoint."""
    out = io.StringIO()
    run(["evaluate", "--dry-run", "--format", "json"], stdout=out, environment=repo.environment)
    return {row["id"]: row for row in json.loads(out.getvalue())["checkpoints"]}


def test_an_answer_stands_as_long_as_what_it_judged(repo: Repo, discern: Discern) -> None:
    """spec 8.2: a history-only rewrite reopens the question that asks for commits, and no other."""
    assert discern("evaluate") == (
        1,
        ["stop  content  awaits an answer", "stop  story  awaits an answer", "blocked: 2 open questions"],
    )
    assert discern("declare", CONTENT, "--met") == (0, ["content: declared met"])
    assert discern("declare", STORY, "--unmet", "--why", "Squash first.") == (0, ["story: declared unmet"])
    declared = ["stop  content  declared met", "stop  story  declared unmet: Squash first."]
    assert discern("evaluate") == (0, [*declared, "not blocked: 1 declared met, 1 declared unmet"])
    assert discern("proof", "verify") == (0, ["current"])

    before = rows(repo)
    repo.git("commit", "--amend", "--quiet", "--no-edit")
    after = rows(repo)
    assert {name for name in before if before[name]["subject"] != after[name]["subject"]} == {STORY}
    assert all(before[name]["definition_hash"] == after[name]["definition_hash"] for name in before)

    assert discern("proof", "verify") == (1, ["stale", "  HEAD", "  story: subject"])
    reopened = "stop  story  reopened: what was judged has changed since"
    assert discern("evaluate") == (1, [reopened, declared[0], "blocked: 1 open question, 1 declared met"])
    assert discern("declare", STORY, "--met") == (0, ["story: declared met"])
    assert discern("evaluate") == (0, [declared[0], "stop  story  declared met", "not blocked: 2 declared met"])
    assert discern("proof", "verify") == (0, ["current"])


# The values below were made without discern, in a shell. Sides of a path, from what it holds:
#
#   $ printf 'one\n' | git hash-object --stdin        5626abf0…  likewise for each text; a link's is that of its target
#
# The definition of `content`, as one line of canonical JSON; that of `story` has "min_commits":2 and its own question:
#
#   $ printf 'discern-definition/v1\n{"adds_matching":null,"binary":null,"deletion_dominant":false,"exclude_paths":null,
#     "include_generated":false,"kinds":null,"min_changed_files":null,"min_changed_lines":null,"min_commits":null,"mode":"stop",
#     "new_directory":false,"paths":["src/**"],"question":"Is it right?","question_file":null,"reference":null,
#     "removes_matching":null,"similar_new_file":false,"teach":null,"unless_changed":null,"when":null}' | sha256sum
#
# The history, from `git rev-list --reverse main..work`, and the subject over all of it:
#
#   $ printf 'checkpoint-history/v1\n24ed398d…\n592e31ff…' | sha256sum        0655ce11…
#   $ printf 'discern-subject/v1\n{"definition":"4f820e11…","history":"0655ce11…","paths":[
#     {"base":["100644","5626abf0…"],"current":["100644","f719efd4…"],"path":"src/edited.txt"},
#     {"base":["100644","3367afdb…"],"current":null,"path":"src/gone.txt"},
#     {"base":null,"current":["120000","76e52242…"],"path":"src/link"},
#     {"base":null,"current":["100755","27ba77dd…"],"path":"src/run.sh"},
#     {"base":null,"current":["100644","3e757656…"],"path":"src/é.txt"}],"related":[]}' | sha256sum
#
# For `content`, "history" is null and "definition" its own.
COMMITS = ["24ed398d7d8f07836cdf895d6fb0035f31fbc46e", "592e31ffb3bde2bb07546a9fef83a38516d5685d"]
AMENDED = "34f34edc9dad4129472d5ccf5ae894858b5f9c79"  # in the place of the second commit
DEFINITIONS = {
    CONTENT: "d974a0c365bb993a286c10425d7946c4813b6e4e568ad5c6cc66903aa301384e",
    STORY: "4f820e11bc6bf3225b234367d643373aafc011711f9aa059f16bfa2bb765dd9e",
}
SUBJECTS = {
    CONTENT: "0439aa048128b974ef374cc774afde7c5773168676cf879a7cf935da4fd0cc37",
    STORY: "59af984ab0a9b44e65383200376c9ee385d84c78cecef5bbcbae949d90a587e8",
}
STORY_AMENDED = "c7c2fb022684cbf8e290f764fdc720bd49d274e071bf1dcafddbd6b077af1aeb"


def test_hashes_are_those_that_other_tools_compute(repo: Repo) -> None:
    """spec 7.1 to 7.3: definition hash, history fingerprint and subject, over every sort of path."""
    assert repo.ask("rev-list", "--reverse", "main..work").split() == COMMITS
    found = rows(repo)
    assert {name: row["definition_hash"] for name, row in found.items()} == DEFINITIONS
    assert {name: row["subject"] for name, row in found.items()} == SUBJECTS

    repo.git("commit", "--amend", "--quiet", "--no-edit")
    assert repo.rev("HEAD") == AMENDED
    assert {name: row["subject"] for name, row in rows(repo).items()} == {**SUBJECTS, STORY: STORY_AMENDED}

    repo.git("add", "--all")
    assert rows(repo)[CONTENT]["subject"] == SUBJECTS[CONTENT]  # adding a file moves nothing of it
