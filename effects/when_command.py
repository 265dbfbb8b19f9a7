"""One `when` command: its input file, its environment, its run, and the removal of all that was made for it (spec 6.2 to 6.5)."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import discern
from discern.effects import private
from discern.effects.interruption import Flag, deferred_signals
from discern.effects.private import PrivateDirectory
from discern.effects.processes import Stopped, run
from discern.outcomes import Answered, Unanswered
from discern.text import one_line
from discern.vocabulary import (
    ACCOUNT_LIMIT,
    NESTED_VARIABLE,
    WHEN_INPUT_VARIABLE,
    WHEN_OUTPUT_LIMIT,
    WHEN_SECONDS,
    WhenReason,
)

INPUT: Final = "input.json"
ITSELF: Final = "discern"  # the running program, by the name under which a command calls it

# What `git rev-parse --local-env-vars` prints: variables that say which repository is meant, or override its settings (spec 6.2).
REDIRECTING: Final = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
NUMBERED: Final = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")  # one each for every setting that GIT_CONFIG_COUNT counts


class Bounds(NamedTuple):
    """What a command may take, the shell that runs it, and where its input lies (None: as the environment has it)."""

    seconds: float = WHEN_SECONDS
    output: int = WHEN_OUTPUT_LIMIT
    shell: str = "/bin/sh"
    temporary: str | None = None


USUAL: Final = Bounds()


def answer(
    command: str,
    *,
    root: str,
    document: bytes | None,
    environment: Mapping[str, str],
    cancel: Flag | None = None,
    bounds: Bounds = USUAL,
) -> Answered | Unanswered:
    """Runs a `when` command and says what came of it; nothing of it is left (spec 6.2 to 6.5).

    `command` is the text of the governing policy, `root` the project root in the candidate's working tree, `environment` the
    caller's, `document` the input, or None where a path cannot be carried (spec 6.3). `cancel`, set from another thread, gives
    `when_cancelled`. A signal in the main thread ends the run as well, and takes its course when everything is removed.
    """
    if document is None:
        return unanswered(
            "when_input_failed", "a changed path is not valid UTF-8: rename it, or leave it out with `exclude_paths`"
        )
    with deferred_signals() as interrupted:
        place = _make_place(bounds.temporary or private.temporary_directory(environment))
        if isinstance(place, Unanswered):
            return place
        try:
            flags = (interrupted,) if cancel is None else (interrupted, cancel)
            outcome = _answer_in(place, command, root, document, environment, flags, bounds)
        finally:
            left = place.remove()
    if left is None:
        return outcome
    return unanswered("when_input_cleanup_failed", f"the input of the `when` command is left in {place.path} ({left}): remove it")


def command_environment(ambient: Mapping[str, str], directory: str, document: str) -> dict[str, str]:
    """The caller's environment, without Git's redirecting variables, with `directory` first in PATH (spec 6.2)."""
    kept = {name: value for name, value in ambient.items() if name not in REDIRECTING and not name.startswith(NUMBERED)}
    path = f"{directory}{os.pathsep}{ambient.get('PATH', os.defpath)}"
    return kept | {"PATH": path, WHEN_INPUT_VARIABLE: document, NESTED_VARIABLE: "1"}


def itself(root: str) -> bytes:
    """A program that runs this very one: same interpreter, same import path, whatever the command's directory and environment.

    It is isolated (`-I`): nothing in the candidate and none of Python's variables has a say in what it imports (spec 9.4).
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(discern.__file__)))
    paths = [path for path in sys.path if os.path.isabs(path) and os.path.realpath(path) != os.path.realpath(root)]
    if home not in paths:
        paths.insert(0, home)
    code = f"import sys; sys.path[:] = {paths!a}; sys.argv[0] = {ITSELF!a}; from discern.cli import main; sys.exit(main())"
    return os.fsencode(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -c {shlex.quote(code)} "$@"\n')


def _answer_in(
    place: PrivateDirectory,
    command: str,
    root: str,
    document: bytes,
    environment: Mapping[str, str],
    flags: Sequence[Flag],
    bounds: Bounds,
) -> Answered | Unanswered:
    try:
        _lend_itself(place, root)
        path = place.write(INPUT, document, 0o600)
    except OSError as error:
        return _input_failed(place.path, error)
    ending = run(
        ["sh", "-c", command],
        program=bounds.shell,
        cwd=root,
        environment=command_environment(environment, place.path, path),
        seconds=bounds.seconds,
        output_limit=bounds.output,
        mark=f"{WHEN_INPUT_VARIABLE}={path}",
        flags=flags,
    )
    return _unanswered_by(ending, bounds) if isinstance(ending, Stopped) else Answered(ending.status, ending.output)


def _lend_itself(place: PrivateDirectory, root: str) -> None:
    """Puts the running program into the directory; where nothing may be executed that lies there, a link to its command."""
    installed = os.path.join(os.path.dirname(sys.executable), ITSELF)
    if place.forbids_execution() and os.access(installed, os.X_OK):
        place.link(ITSELF, installed)
    else:
        place.write(ITSELF, itself(root), 0o700)


def _make_place(temporary: str) -> PrivateDirectory | Unanswered:
    try:
        private.sweep(temporary)
        return private.make(temporary, private.WHEN)
    except OSError as error:
        return _input_failed(temporary, error)


def _unanswered_by(ending: Stopped, bounds: Bounds) -> Unanswered:
    """Why a stopped command gives no answer, and what to do about it (spec 6.4)."""
    match ending.why:
        case "not started":
            return unanswered("when_spawn_failed", f"the `when` command could not be started ({ending.account})")
        case "too long":
            account = f"the `when` command did not finish within {bounds.seconds:g} s and was ended: make it quicker"
            return unanswered("when_timeout", account)
        case "too much":
            account = (
                f"the `when` command wrote more than {bounds.output:,} bytes and was ended: let it print its match lines only"
            )
            return unanswered("when_output_limit", account)
        case "cancelled":
            return unanswered("when_cancelled", "the evaluation was cancelled while the `when` command ran: evaluate again")
        case "lost":
            account = "the `when` command ended the process that watches it, or started something that could not be ended"
            return unanswered("when_invalid_exit", account)


def _input_failed(where: str, error: OSError) -> Unanswered:
    return unanswered("when_input_failed", f"the input of the `when` command could not be made in {where} ({error.strerror})")


def unanswered(reason: WhenReason, account: str) -> Unanswered:
    """No answer, with an account fit for a drop (spec 9.2)."""
    return Unanswered(reason, one_line(account, ACCOUNT_LIMIT))
