"""Runs one command under a bound of time and output, and leaves nothing of it behind (spec 6.5). Knows nothing of checkpoints.

Each command hangs on a warden (`warden.py`, which says what guarantees the clearing and where that ends): a process that starts
it, sees everything it starts, and ends all of it. Here is the other half: the two output streams, counted while they are read;
the clock; and the flags that stop a run. The caller's own process is left as it is: no child of it is touched that was not
started here, and no setting of it is changed, so that any number of runs may go on in any threads at the same time.
"""

from __future__ import annotations

import fcntl
import math
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from io import FileIO
from typing import Final, Literal

from attrs import frozen

from discern.effects.interruption import Cancel, Flag, pipe

Why = Literal["not started", "too long", "too much", "cancelled", "lost"]

WARDEN: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "warden.py")
GRACE: Final = 0.8  # seconds for the warden to end everything, a little more than it allows itself
STRAY_SECONDS: Final = 0.2  # seconds to look for what a killed warden left
TICK: Final = 0.05  # seconds between two looks at a flag that cannot wake the loop
CHUNK: Final = 65_536  # bytes read at once: what a pipe usually holds


@frozen
class Ended:
    """The command ended by itself: its exit status (negative: the signal that ended it) and its output.

    Standard output comes first, then standard error, so that no line of one is cut by the other.
    """

    status: int
    output: bytes


@frozen
class Stopped:
    """The command did not end by itself, or what it started could not be ended ("lost"). `account` says what is known of it."""

    why: Why
    account: str = ""


def run(
    argv: Sequence[str],
    *,
    program: str,
    cwd: str,
    environment: Mapping[str, str],
    seconds: float,
    output_limit: int,
    mark: str = "",
    flags: Sequence[Flag] = (),
) -> Ended | Stopped:
    """Runs `program` with `argv` in `cwd`, in a session of its own with empty standard input, and ends all that it started.

    `seconds` count from the start. Output of exactly `output_limit` bytes, both streams together, is admitted; at one more,
    reading stops. When the command itself has ended its status counts, whoever still holds its output. `mark` is a text in
    `environment` that no process of others has: by it the command's are found if it kills its warden. A set flag stops the run.
    """
    request = _request(argv, program, cwd, environment)
    if request is None:
        return Stopped("not started", "a NUL character cannot be passed to a program")
    if not sys.executable:
        return Stopped("not started", "the Python interpreter that runs this is not known")
    if any(flag.is_set() for flag in flags):
        return Stopped("cancelled")
    with ExitStack() as resources:
        try:
            command = _Run(resources, output_limit, os.fsencode(mark))
        except OSError as error:
            return Stopped("not started", f"{sys.executable}: {error.strerror}")
        why = command.attend(request, seconds, flags)
        return command.ending(why, command.dismiss())


def _request(argv: Sequence[str], program: str, cwd: str, environment: Mapping[str, str]) -> bytes | None:
    """What the warden is told: a length, then fields that NULs divide (see `warden.read_request`). None if one holds a NUL."""
    variables = [f"{name}={value}" for name, value in environment.items() if name]
    fields = [program, cwd, str(len(argv)), *argv, *variables]
    if any("\0" in field for field in fields):
        return None
    payload = os.fsencode("\0".join(fields))
    return len(payload).to_bytes(8, "big") + payload


class _Output:
    """The two streams of a command, kept apart and counted together while they are read."""

    def __init__(self, streams: tuple[FileIO, FileIO], limit: int) -> None:
        self.limit = limit
        self.kept = {stream.fileno(): bytearray() for stream in streams}
        for stream in streams:
            os.set_blocking(stream.fileno(), False)

    def room(self) -> int:
        """Bytes that are still admitted; negative once there was one too many."""
        return self.limit - sum(map(len, self.kept.values()))

    def take(self, stream: int, most: int = CHUNK) -> int:
        """Reads what is there, at most one byte past the limit. 0: nothing more will come."""
        data = os.read(stream, min(most, self.room() + 1))
        self.kept[stream] += data
        return len(data)

    def drain(self) -> None:
        """Reads what is in the pipes now: it was written before the command ended. What a child adds later is not waited for."""
        for stream in self.kept:
            waiting = int.from_bytes(fcntl.ioctl(stream, termios.FIONREAD, bytes(4)), sys.byteorder)
            self.take(stream, waiting)

    def whole(self) -> bytes:
        """Both streams, the second on a line of its own."""
        first, second = self.kept.values()
        return bytes(first + b"\n" + second if first and second and not first.endswith(b"\n") else first + second)


class _Run:
    """One command and its warden, seen from the caller's side."""

    def __init__(self, resources: ExitStack, output_limit: int, mark: bytes) -> None:
        leash, self.leash = pipe(resources)
        self.report, report = pipe(resources)
        (output, output_end), (error, error_end) = pipe(resources), pipe(resources)
        self.output = _Output((output, error), output_limit)
        self.mark = mark
        self.said: dict[str, str] = {}  # the warden's reports: "starting", "refused", "ended", "clear" or "left"
        self.unsaid = b""  # the beginning of a report
        self.gone = False  # the warden, or at least its reports, came to an end
        self.dismissed = False
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", WARDEN, str(report.fileno())],
            stdin=leash,
            stdout=output_end,
            stderr=error_end,
            pass_fds=[report.fileno()],
            cwd="/",
            start_new_session=True,
        )
        resources.callback(self.dismiss)
        for end in (leash, report, output_end, error_end):
            end.close()

    def attend(self, request: bytes, seconds: float, flags: Sequence[Flag]) -> Why | None:
        """Reads and waits until the command has ended by itself (None), or until it must not go on, and why."""
        self._ask(request)
        wakers = [flag.fileno() for flag in flags if isinstance(flag, Cancel)]
        longest = seconds if len(wakers) == len(flags) else TICK
        poller = select.poll()
        for source in (self.report.fileno(), *self.output.kept, *wakers):
            poller.register(source, select.POLLIN)
        while True:
            wait = min(longest, self.began + seconds - time.monotonic())
            ready = {source for source, _ in poller.poll(max(0, math.ceil(wait * 1000)))}
            if self.report.fileno() in ready:
                self._hear()
            if "ended" in self.said:
                self.output.drain()
                return None if self.output.room() >= 0 else "too much"
            if why := self._hindered(seconds, flags):
                return why
            for stream in ready & self.output.kept.keys():
                if not self.output.take(stream):
                    poller.unregister(stream)
            if self.output.room() < 0:
                return "too much"

    def _ask(self, request: bytes) -> None:
        """Tells the warden what to run."""
        view = memoryview(request)
        try:
            while view:
                view = view[os.write(self.leash.fileno(), view) :]
        except BrokenPipeError:  # it is gone, and its reports end without a word
            return

    def _hear(self) -> None:
        """Takes in what the warden reports."""
        piece = os.read(self.report.fileno(), CHUNK)
        self.gone = not piece
        *lines, self.unsaid = (self.unsaid + piece).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            self.said[word] = rest
            if word == "starting":
                self.began = time.monotonic()

    def _hindered(self, seconds: float, flags: Sequence[Flag]) -> Why | None:
        """What keeps the command from going on, apart from its output."""
        if "refused" in self.said or (self.gone and "starting" not in self.said):
            return "not started"
        if self.gone:
            return "lost"
        if any(flag.is_set() for flag in flags):
            return "cancelled"
        return "too long" if time.monotonic() >= self.began + seconds else None

    def dismiss(self) -> bool:
        """Has the warden end what is left, and ends the warden. False if it could not say that all is gone. Twice is once."""
        if not self.dismissed:
            self.dismissed = True
            self.process.send_signal(signal.SIGCONT)  # the command may have stopped it
            self.process.send_signal(signal.SIGTERM)
            self.leash.close()
            self._await_the_last_word()
            if not self.gone:
                self.process.kill()
            self.process.wait()
            if not self._cleared():
                self._end_strays()
        return self._cleared()

    def _await_the_last_word(self) -> None:
        """Until the warden's reports come to an end, at most for the grace."""
        poller = select.poll()
        poller.register(self.report, select.POLLIN)
        until = time.monotonic() + GRACE
        while not self.gone and (left := until - time.monotonic()) > 0:
            if poller.poll(math.ceil(left * 1000)):
                self._hear()

    def _cleared(self) -> bool:
        # Its word alone is not enough: a report could be forged by a process of the same user, an exit status could not.
        nothing_ran = "refused" in self.said or "starting" not in self.said
        return nothing_ran or ("clear" in self.said and self.process.returncode == 0)

    def _end_strays(self) -> None:
        """Ends what can still be found after the warden was killed: processes that carry the mark, and their descendants."""
        from discern.effects import warden

        deadline = time.monotonic() + STRAY_SECONDS
        while self.mark and time.monotonic() < deadline and warden.end_all(self._is_marked, deadline):
            time.sleep(TICK / 10)

    def _is_marked(self, process: tuple[int, int, int]) -> bool:
        """Whether the environment a process was started with holds the mark; another user's cannot be read and never does."""
        try:
            with open(f"/proc/{process[0]}/environ", "rb", buffering=0) as file:
                return self.mark in file.readall()
        except OSError:
            return False

    def ending(self, why: Why | None, cleared: bool) -> Ended | Stopped:
        """What to say of it all."""
        if why is None:
            return Ended(int(self.said["ended"]), self.output.whole()) if cleared else Stopped("lost")
        if why != "not started":
            return Stopped(why)
        if "refused" not in self.said:
            return Stopped(why, "its warden did not start")
        step, number = self.said["refused"].split()
        return Stopped(why, f"{step}: {os.strerror(int(number))}")
