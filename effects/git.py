"""The only module that starts Git: in which environment, with which settings, within which bounds (spec 4.2, 4.11).

Questions are started early, run side by side and are read in turn by one poll loop, so that none waits for its reader.
This module is loaded before the heavy imports, so that Git works while they run: standard library only.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, Self

CHUNK = 1 << 20  # bytes; a pipe is asked to hold as much, so that Git seldom waits for us
# A long answer comes in thousands of small writes: letting some gather in the pipe before each read halves our own work on it.
PATIENT = 1 << 17  # bytes of an answer from which on it is long, and of a piece that is worth a read
NAP = 0.001  # seconds
SECONDS = 600.0  # one question may take; a filter or a file system that hangs must not hang us for ever
LOST = 1 << 16  # in the place of an exit status that somebody else has taken
OTHERS_WAIT = b"how Git ended cannot be known: this process ignores SIGCHLD, or waits for children that are not its own"
STDERR_KEPT = 4096  # bytes of Git's own words, for an account
F_SETPIPE_SZ = 1031  # Linux; fcntl has no name for it elsewhere

# What stays of the ambient GIT_ variables where Git must see what the user configured: their configuration, whether they trust
# the repository, and where Git's own programs lie. All others could redirect a question or change its answer.
KEPT_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
KEPT = frozenset(
    {
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_ATTR_NOSYSTEM",
        "GIT_EXEC_PATH",
        "GIT_TEST_ASSUME_DIFFERENT_OWNER",
    }
)
ALWAYS = {
    "GIT_OPTIONAL_LOCKS": "0",  # no index refresh is written
    "GIT_NO_LAZY_FETCH": "1",  # no object is fetched
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull + "/none",  # a file that cannot exist: no grafts
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_LITERAL_PATHSPECS": "1",  # a path is a path, whatever characters it holds
}
# No program of theirs starts, and no setting of theirs decides which of their files look changed.
QUIET = (
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.ignoreCase=false"),
    *("-c", "core.checkStat=default", "-c", "core.trustctime=true"),
)


class Setting(NamedTuple):
    """Where a question is asked: the directory, the environment, and options before Git's command."""

    directory: str
    environment: dict[str, str]
    options: tuple[str, ...] = ()


class Refused(NamedTuple):
    """Git, or the machine, would not have it: what was wrong and what to do, in one line (spec 9.1, exit status 2)."""

    message: str


def refused_by(error: OSError) -> Refused:
    """What the machine said no to, and where."""
    return Refused(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")


class Answer(NamedTuple):
    """What a question brought. `status` is the exit status, negative for a signal; `stopped`: by us, at a bound."""

    status: int
    output: bytes
    words: bytes
    stopped: bool

    @property
    def ok(self) -> bool:
        """Answered in full and without complaint."""
        return self.status == 0 and not self.stopped


def repository_environment(ambient: Mapping[str, str]) -> dict[str, str]:
    """For questions about the user's own repository: configured as they have it, redirected by nobody (spec 4.2)."""
    return {k: v for k, v in ambient.items() if not k.startswith("GIT_") or k in KEPT or k.startswith(KEPT_PREFIXES)} | ALWAYS


def sealed_environment(ambient: Mapping[str, str], directory: str) -> dict[str, str]:
    """For questions to a Git directory of our own: nobody's configuration, nobody's attributes (spec 4.2)."""
    return {k: v for k, v in ambient.items() if not k.startswith("GIT_") or k == "GIT_EXEC_PATH"} | ALWAYS | {
        "GIT_DIR": directory,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "XDG_CONFIG_HOME": os.devnull,
        "LC_ALL": "C",
    }  # fmt: skip


class Question:
    """One running Git process. `sink` takes its output in pieces and answers False to have it stopped."""

    def __init__(self, name: str, pid: int, sink: Callable[[bytes], bool] | None, limit: int) -> None:
        self.name = name
        self.pid = pid
        self.answer: Answer | None = None
        self.began = time.perf_counter()
        self.seconds = 0.0
        self.pieces: list[bytes] = []
        self.words = b""
        self._sink = sink
        self._left = limit
        self.taken = 0  # bytes of output

    def take(self, piece: bytes) -> bool:
        """One more piece of output; False once a bound is passed, and the process is to be stopped."""
        self._left -= len(piece)
        self.taken += len(piece)
        if self._sink is not None:
            return self._sink(piece)
        self.pieces.append(piece)
        return self._left >= 0


class Git:
    """Every Git process of one evaluation. A context manager: what is still running at its end is stopped."""

    def __init__(self, ambient: Mapping[str, str]) -> None:
        self.ambient = dict(ambient)
        self.asked: list[Question] = []
        self._poll = select.poll()
        self._out: dict[int, Question] = {}
        self._err: dict[int, Question] = {}
        self._in: dict[int, tuple[Question, bytearray, bool]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what is still running."""
        for question in self.asked:
            if question.answer is None:
                self.stop(question)

    def ask(
        self,
        setting: Setting,
        *arguments: str,
        stdin: bytes | None = None,
        keep_open: bool = False,
        sink: Callable[[bytes], bool] | None = None,
        limit: int = 1 << 62,
    ) -> Question:
        """Start Git. `stdin` is fed while output is read; `keep_open` leaves it open for `feed`. `limit`: bytes of output."""
        argv = ["git", "-C", setting.directory, *setting.options, *arguments]
        (out, out_end), (err, err_end), *fed = pipes(3 if keep_open or stdin else 2)
        wiring: list[tuple[int, ...] | tuple[int, int, str, int, int]]
        wiring = [(os.POSIX_SPAWN_DUP2, end, 0) for end, _ in fed] or [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        wiring += [(os.POSIX_SPAWN_DUP2, out_end, 1), (os.POSIX_SPAWN_DUP2, err_end, 2)]
        try:
            pid = os.posix_spawnp(
                "git", argv, setting.environment, file_actions=wiring, setsigdef=[signal.SIGPIPE, signal.SIGCHLD]
            )
        except OSError:
            close_all(out, err, *(feed for _, feed in fed))
            raise
        finally:
            close_all(out_end, err_end, *(end for end, _ in fed))
        question = Question(arguments[0], pid, sink, limit)
        self.asked.append(question)
        widen(out)
        self._out[out] = self._err[err] = question
        for fd in (out, err):
            self._poll.register(fd, select.POLLIN)
        for _, feed in fed:
            os.set_blocking(feed, False)
            self._in[feed] = (question, bytearray(stdin or b""), keep_open)
            self._poll.register(feed, select.POLLOUT if stdin else 0)
        return question

    def feed(self, question: Question, data: bytes, *, last: bool = False) -> None:
        """More standard input for a question that was started with `keep_open`."""
        for fd, (owner, pending, _) in self._in.items():
            if owner is question:
                pending.extend(data)
                self._in[fd] = (owner, pending, not last)
                self._poll.modify(fd, select.POLLOUT)

    def wait(self, question: Question) -> Answer:
        """The answer, once it is there; all other running questions are read meanwhile. Its output is given away, not kept."""
        while question.answer is None:
            self.pump()
        answer, question.answer = question.answer, question.answer._replace(output=b"")
        return answer

    def stop(self, question: Question) -> None:
        """End a question before its time."""
        if question.answer is None:
            with suppress(ProcessLookupError):
                os.kill(question.pid, signal.SIGKILL)
            self._finish(question, stopped=True)

    def pump(self) -> None:
        """Read and feed whatever is ready; waits until something is."""
        for question in self.asked:
            if question.answer is None and time.perf_counter() - question.began > SECONDS:
                self.stop(question)
        for fd, _ in self._poll.poll(1000):
            if fd in self._out:
                self._read_output(fd, self._out[fd])
            elif fd in self._err:
                self._read_words(fd, self._err[fd])
            elif fd in self._in:
                self._write(fd, *self._in[fd])

    def _read_output(self, fd: int, question: Question) -> None:
        piece = os.read(fd, CHUNK)
        if not piece:
            self._finish(question, stopped=False)
        elif not question.take(piece):
            self.stop(question)
        elif question.taken > PATIENT and len(piece) < PATIENT:
            time.sleep(NAP)

    def _read_words(self, fd: int, question: Question) -> None:
        piece = os.read(fd, STDERR_KEPT)
        question.words = (question.words + piece)[:STDERR_KEPT]
        if not piece:
            self._close(fd, self._err)

    def _write(self, fd: int, question: Question, pending: bytearray, keep_open: bool) -> None:
        try:
            written = os.write(fd, pending) if pending else 0
        except BrokenPipeError:
            self._close(fd, self._in)  # it ended; its exit status will say why
            return
        del pending[:written]
        if not pending and keep_open:
            self._poll.modify(fd, 0)
        elif not pending:
            self._close(fd, self._in)

    def _finish(self, question: Question, *, stopped: bool) -> None:
        for table in (self._out, self._in):
            for fd in [fd for fd, owner in table.items() if (owner[0] if isinstance(owner, tuple) else owner) is question]:
                self._close(fd, table)
        status = LOST
        with suppress(ChildProcessError):
            status = os.waitstatus_to_exitcode(os.waitpid(question.pid, 0)[1])
        for fd in [fd for fd, owner in self._err.items() if owner is question]:
            os.set_blocking(fd, False)  # a program that Git started may still hold it: what is there now is all we want
            with suppress(BlockingIOError):
                question.words = (question.words + os.read(fd, STDERR_KEPT))[:STDERR_KEPT]
            self._close(fd, self._err)
        question.seconds = time.perf_counter() - question.began
        output = b"".join(question.pieces)
        question.pieces = []
        question.answer = Answer(status, output, question.words if status != LOST else OTHERS_WAIT, stopped)

    def _close(self, fd: int, table: dict[int, Question] | dict[int, tuple[Question, bytearray, bool]]) -> None:
        del table[fd]
        self._poll.unregister(fd)
        os.close(fd)


def pipes(count: int) -> list[tuple[int, int]]:
    """So many pipes, as (read end, write end). Raises OSError if there are no descriptors left, and leaves none open then."""
    made: list[tuple[int, int]] = []
    try:
        while len(made) < count:
            made.append(os.pipe())
    except OSError:
        close_all(*(end for pair in made for end in pair))
        raise
    return made


def close_all(*descriptors: int) -> None:
    """Close each of them."""
    for fd in descriptors:
        os.close(fd)


def widen(fd: int) -> None:
    """Let a pipe hold a whole chunk, where the system allows it; it works all the same where not."""
    import fcntl

    try:
        fcntl.fcntl(fd, F_SETPIPE_SZ, CHUNK)
    except OSError:
        return


def advice(words: bytes) -> str:
    """Git's own complaint and advice in one line, for a person, without the `fatal: ` that Git says before it."""
    lines = words.decode("utf-8", "replace").splitlines()
    return " ".join(" ".join(line.removeprefix("fatal: ") for line in lines).split())
