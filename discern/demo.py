"""`discern demo`: a small repository is made, evaluated, shown and removed (spec 9.3)."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TextIO

from returns.result import Failure, Success

from discern.effects.git import Git, Refused, Setting, advice
from discern.effects.interruption import deferred_signals
from discern.library import evaluate
from discern.outcomes import Result
from discern.report.text import painter, render

POLICY: Final = """\
[checkpoints.new-dependency]
paths = ["requirements.txt"]
adds_matching = ["=="]
question = "A dependency is added. Who keeps it up, and may we ship it?"

[checkpoints.left-over-output]
mode = "advise"
paths = ["*.py"]
adds_matching = ["print("]
question = "Is this output meant to stay?"

[checkpoints.silent-api-change]
paths = ["shop/api.py"]
unless_changed = ["CHANGELOG.md"]
question = "The interface changes. Why does the changelog say nothing?"

[checkpoints.secret]
adds_matching = ["PRIVATE KEY"]
question = "Does this put a key into the repository?"
"""


class Edit(NamedTuple):
    """One change: how far it gets, where, in words, and the text that is added there."""

    stage: str
    path: str
    words: str
    added: str


EDITS: Final = (
    Edit("main", "discern.toml", "the policy", POLICY),
    Edit("main", "CHANGELOG.md", "", "# 1.0\n"),
    Edit("main", "requirements.txt", "", "requests==2.32.3\n"),
    Edit("main", "shop/api.py", "", "def price(cart):\n    return sum(cart)\n"),
    Edit("main", "shop/cart.py", "", "def add(cart, item):\n    cart.append(item)\n"),
    Edit("committed", "requirements.txt", "one more dependency", "leftpad==1.3.0\n"),
    Edit("staged", "shop/api.py", "one more function", "\n\ndef tax(cart):\n    return price(cart) * 0.2\n"),
    Edit("staged", "CHANGELOG.md", "which tells of it", "- `tax` is new.\n"),
    Edit("unstaged", "shop/cart.py", "a print left behind", "    print(cart)\n"),
    Edit("untracked", "prices.csv", "300,000 bytes, more than is read of one file", "1.25,2.50\n" * 30_000),
)
# What is said to Git once the edits of a stage are on disk.
COMMANDS: Final = {
    "main": (
        ("init", "-q", "--template=", "-b", "main"),
        ("add", "-A"),
        ("commit", "-q", "-m", "Begin"),
        ("checkout", "-q", "-b", "topic"),
    ),
    "committed": (("commit", "-q", "-a", "-m", "Pad"),),
    "staged": (("add", "-A"),),
    "unstaged": (),
    "untracked": (),
}
NOBODY: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}  # nobody's Git configuration
IDENTITY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "demo"), ("EMAIL", "demo@example.com"), ("DATE", "2024-01-01T12:00:00Z"))
}


class NotMade(NamedTuple):
    """The repository could not be made: why, and what to do, in one line."""

    account: str


def demo(stream: TextIO, *, colour: bool) -> int:
    """Make the repository, tell of it, evaluate it, remove it. The exit status: 0, or 2 with one line on standard error."""
    # A signal waits until the directory is gone; all of this takes a second at most.
    with deferred_signals(), ExitStack() as stack:
        directory = built(stack, os.environ.get("PATH", os.defpath))
        if isinstance(directory, NotMade):
            sys.stderr.write(f"discern: the repository of the demo could not be made: {directory.account}\n")
            return 2
        result = evaluated(directory)
        if isinstance(result, Refused):
            sys.stderr.write(f"discern: the repository of the demo could not be evaluated: {result.message}\n")
            return 2
        stream.write(story(colour) + render(result, colour=colour, verbose=True))
    stream.write("\nThe repository is gone again. In yours: bring a discern.toml to the trunk, then run `discern evaluate`.\n")
    return 0


def built(stack: ExitStack, path: str) -> str | NotMade:
    """The directory of the repository, which the stack removes. `path` is where Git is looked for."""
    try:
        directory = stack.enter_context(TemporaryDirectory(prefix="discern-demo-"))
    except OSError as error:
        return NotMade(f"no temporary directory: {error.strerror}; set TMPDIR to one that can be written")
    return make(directory, path) or directory


def make(directory: str, path: str) -> NotMade | None:
    """The repository of the demo, in an empty directory, whatever the user's own Git is set to."""
    setting = Setting(directory, {"PATH": path, "HOME": directory, "LC_ALL": "C", **NOBODY, **IDENTITY})
    with Git(setting.environment) as git:
        for stage, commands in COMMANDS.items():
            write(directory, stage)
            for arguments in commands:
                fault = said(git, setting, arguments)
                if fault is not None:
                    return fault
    return None


def said(git: Git, setting: Setting, arguments: tuple[str, ...]) -> NotMade | None:
    """One command, said to Git."""
    try:
        question = git.ask(setting, *arguments)
    except OSError as error:
        return NotMade(f"git cannot be started: {error.strerror}; install Git and put it on PATH")
    answer = git.wait(question)
    return None if answer.ok else NotMade(f"git {arguments[0]}: {advice(answer.words)}")


def write(directory: str, stage: str) -> None:
    """Every edit of a stage, in the working tree."""
    for edit in EDITS:
        if edit.stage == stage:
            target = os.path.join(directory, edit.path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "a", encoding="utf-8") as file:
                file.write(edit.added)


def story(colour: bool) -> str:
    """What the repository is: its policy, and what has changed since."""
    paint = painter(colour)
    policy = "".join(f"    {line}\n" if line else "\n" for line in POLICY.splitlines())
    edits = "".join(
        f"    {edit.stage:9}  {edit.path:16}  {paint('quiet', edit.words)}\n" for edit in EDITS if edit.stage != "main"
    )
    return (
        f"A small repository was made. {paint('strong', 'discern.toml')} on its main branch says:\n\n{policy}\n"
        f"Its topic branch has changed since:\n\n{edits}\n"
        f"{paint('strong', '$ discern evaluate -v')}\n\n"
    )


def evaluated(directory: str) -> Result | Refused:
    """What `discern evaluate` would find there, for someone who has set nothing."""
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DISCERN_"))}
    match evaluate(directory, trunk="main", environment=theirs | NOBODY):
        case Success(Result() as result):
            return result
        case Failure(Refused() as refused):
            return refused
        case neither:
            raise AssertionError(neither)
