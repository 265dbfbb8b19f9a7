"""No raw line of anyone's code goes anywhere (spec 8.6): unique strings are planted in a change and looked for afterwards."""

from __future__ import annotations

import base64
import io
import traceback
from pathlib import Path

import pytest

from discern.cli import run
from discern.effects.patch import PatchReader
from tests.repositories import Repo

KINDS = (
    "added",
    "removed",
    "context",
    "staged",
    "committed",
    "untracked",
    "long",
    "huge",
    "binary",
    "target",
    "conflict",
    "toml",
    "hidden",
)
SECRETS = {kind: f"S3CR3T-{kind}-8f2c61" for kind in KINDS}
POLICY = """[checkpoints.fires]
paths = ["*.py"]
adds_matching = ["TODO"]
question = "Is it well?"
[checkpoints.removes]
paths = ["mod.py"]
removes_matching = ["TODO"]
question = "Is it well?"
[checkpoints.vetoes]
paths = ["*.py"]
adds_matching = ["ABSENT"]
question = "Is it well?"
[checkpoints.long]
paths = ["long.txt"]
adds_matching = ["TODO"]
question = "Is it well?"
[checkpoints.huge]
paths = ["huge.txt"]
adds_matching = ["TODO"]
question = "Is it well?"
[checkpoints.link]
paths = ["link"]
adds_matching = ["TODO"]
question = "Is it well?"
[checkpoints.ran]
paths = ["*.py"]
when = "cd \\"$HOME\\"; cp -r \\"$TMPDIR\\" seen; cp \\"$DISCERN_CHECKPOINT_INPUT\\" input; env > env; exit 0"
question = "Is it well?"
[checkpoints.bad]
paths = ["*.py"]
when = "exit 9"
question = "Is it well?"
[checkpoints.counted]
min_changed_lines = 1
exclude_paths = ["link", "huge.txt", "long.txt"]
question = "Is it well?"
[checkpoints.broken]
colour = "x"
"""


@pytest.fixture
def repo(start):
    """A change of every kind with a secret in each of its lines."""
    lines = f"# TODO {SECRETS['removed']}\n# {SECRETS['context']}\nlast\n"
    made = start({"mod.py": lines, "both.py": "b\n", "hidden.py": "h\n"}, policy=POLICY)
    made.write("committed.py", f"# TODO {SECRETS['committed']}\n")
    made.write("both.py", f"{SECRETS['conflict']}\n")
    made.commit()
    made.git("switch", "-q", "-c", "other", "main")
    made.write("both.py", "right\n")
    made.commit()
    made.git("switch", "-q", "work")
    made.git("merge", "other", status=1)
    made.write("mod.py", lines.replace(SECRETS["removed"], SECRETS["added"]))
    made.write("staged.py", f"# TODO {SECRETS['staged']}\n")
    made.git("add", "staged.py")
    made.git("update-index", "--assume-unchanged", "hidden.py")
    made.write("hidden.py", f"{SECRETS['hidden']}\n")
    made.write("new.py", f"# TODO {SECRETS['untracked']}\n")
    made.write("long.txt", f"TODO {SECRETS['long']}" + "x" * 9000 + "\n")
    made.write("huge.txt", f"TODO {SECRETS['huge']}\n" * 20_000)
    made.write("pic.bin", b"\0" + SECRETS["binary"].encode())
    (made.path.parent / "outside").write_text(f"TODO {SECRETS['target']}\n")
    made.link("link", "../outside")
    made.write("discern.toml", f"[[[ {SECRETS['toml']}\n")
    return made


def call(repo: Repo, *arguments: str) -> tuple[int, str]:
    """A run of the command line: its status, and both of its streams."""
    out, err = io.StringIO(), io.StringIO()
    status = run([*arguments], stdout=out, stderr=err, environment=repo.environment)
    return status, out.getvalue() + err.getvalue()


def forms(secret: str) -> list[bytes]:
    """As it is, in base64 at each of three offsets, in hex."""
    raw = secret.encode()
    shifted = [base64.b64encode(b"." * n + raw)[4:-4] for n in range(3)]
    return [raw, raw.hex().encode(), *shifted]


def holding(needles: list[bytes], *places: Path) -> list[str]:
    """Files below these places that hold one of them, in a name or in their bytes."""
    files = [path for place in places for path in place.rglob("*") if path.is_file() and not path.is_symlink()]
    return [str(path) for path in files if any(needle in path.read_bytes() or needle in bytes(path) for needle in needles)]


def objects(repo: Repo) -> set[str]:
    return {path.name for path in (repo.path / ".git/objects").rglob("*")}


def test_no_line_is_anywhere_afterwards(repo):
    """spec 8.6: not in a result, a report with `-v`, a Proof, the Logbook, the questions, an account, the command's input or
    what it finds lying about; and Git's objects are what they were."""
    before = objects(repo)
    root = ("--root", str(repo.path))
    said = [call(repo, "evaluate", *root, "-v"), call(repo, "evaluate", *root, "--format", "json", "-v")]
    assert [status for status, _ in said] == [1, 1]
    said += [call(repo, "declare", *root, "fires", "--unmet", "--why", "not yet"), call(repo, "proof", "show", *root)]
    said += [call(repo, "checkpoints", *root), call(repo, "evaluate", *root, "--dry-run"), call(repo, "proof", "verify", *root)]
    output = "\n".join(text for _, text in said)
    for part in ("fires", "line_limit", "file_limit", "not_regular", "when_invalid_exit", "checkpoint_definition_invalid"):
        assert part in output
    home = Path(repo.environment["HOME"])
    assert {path.name for path in home.iterdir()} >= {"seen", "input", "env"}  # the command ran and looked around
    assert (repo.path / ".git/discern").is_dir()
    for secret in SECRETS.values():
        needles = forms(secret)
        assert not [needle for needle in needles if needle in output.encode()]
        assert holding(needles, home, repo.path / ".git") == []
    assert objects(repo) == before
    assert list((home / "tmp").iterdir()) == []


@pytest.mark.parametrize("error", [MemoryError, OSError, RuntimeError])
def test_no_line_is_in_an_exception(repo, monkeypatch, error):
    """spec 8.6: whatever fails in the middle of reading, its text names no line, and nothing stays behind."""
    real = PatchReader.take

    def failing(self, piece):
        real(self, piece)
        raise error("in the middle of it")

    monkeypatch.setattr(PatchReader, "take", failing)
    try:
        _, text = call(repo, "evaluate", "--root", str(repo.path), "-v")
    except (MemoryError, RuntimeError) as caught:
        text = "".join(traceback.format_exception(caught))
    assert "in the middle of it" in text
    assert not [secret for secret in SECRETS.values() if secret in text]
    home = Path(repo.environment["HOME"])
    assert list((home / "tmp").iterdir()) == []
    assert holding([secret.encode() for secret in SECRETS.values()], home, repo.path / ".git") == []
