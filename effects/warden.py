"""The program that stands between discern and one command: it starts the command, waits, and ends all that came of it (spec 6.5).

`processes.py` runs this file as a small process of its own, one for each command. That makes "what the command started" the
same thing as "what descends from the warden", whatever else the evaluator's process has for children or threads.

What guarantees that nothing is left: on Linux the warden is a child subreaper, so a descendant whose parent dies becomes the
warden's own child, in whatever session or process group it is. When `wait` then knows no child (ECHILD), that is the kernel's
word that there is no descendant. /proc only tells whom to end: all are stopped first, so that nothing forks or respawns while
they are counted, then killed; each through a pidfd that is checked against the process's start time, so a process number that
was given to someone else in between is never hit. The leash is a pipe: when the evaluator dies, however, it ends, and so does
the command.

Where the limit is: a process of the same user may kill the warden with SIGKILL (`processes.py` then looks for what carries the
run's mark), a setuid program may refuse to be ended, and what a daemon outside starts on request (`at`, a container engine) is
nobody's descendant. Without /proc and subreapers, only the command's process group is ended.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator

LEASH = 0  # the request, then nothing: its end means that the command is to end
CLEARING_SECONDS = 0.7  # for ending everything; the evaluator allows a little more (spec 6.4: within a second)
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h

Seen = tuple[int, int, int]  # a process: its number, its parent's, and its start time, which tells it from a later namesake


def main() -> int:
    """Starts what the leash asks for, reports how it ends, and clears up. Exit status 0, or 1 if something is left."""
    report = int(sys.argv[1])
    os.set_inheritable(report, False)
    mask = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - {signal.SIGCHLD, signal.SIGTERM})
    wake = wakeup()
    become_subreaper()
    request = read_request()
    if request is None:
        return 0
    tell(report, "starting")  # before it can do anything: even end the warden
    started = start(request, mask)
    silence()
    if isinstance(started, str):
        tell(report, f"refused {started}")
        return 0
    status = watch(started, wake)
    if status is not None:
        tell(report, f"ended {status}")
    cleared = clear(started, wake)
    tell(report, "clear" if cleared else "left")
    return 0 if cleared else 1


def read_request() -> list[bytes] | None:
    """The fields of the request: program, directory, number of arguments, arguments, environment. None if it was cut short."""
    with open(LEASH, "rb", closefd=False, buffering=0) as leash:
        length = int.from_bytes(leash.read(8), "big")
        request = b""
        while len(request) < length:
            piece = leash.read(length - len(request))
            if not piece:
                return None
            request += piece
    return request.split(b"\0") if request else None


def start(request: list[bytes], mask: Iterable[int]) -> int | str:
    """Starts the command in a session of its own: its process number, or what could not be done and the error's number."""
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        return f"process {error.errno}"
    if pid == 0:
        os.write(writing, become(request, mask).encode())
        os._exit(127)
    os.close(writing)
    refusal = os.read(reading, 64)  # empty when the pipe closed in a successful exec
    os.close(reading)
    return refusal.decode() or pid


def become(request: list[bytes], mask: Iterable[int]) -> str:
    """Turns this process into the command. Returns only if it could not: what failed, and the error's number."""
    program, directory, count, *rest = request
    split = int(count)
    environment = dict(entry.split(b"=", 1) for entry in rest[split:])
    step = "session"
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        step = "directory"
        os.chdir(directory)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores these two, and a program inherits what is ignored
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        step = "program"
        os.execve(program, rest[:split], environment)  # noqa: S606
    except OSError as error:
        return f"{step} {error.errno}"


def watch(command: int, wake: int) -> int | None:
    """The command's exit status (negative: a signal) as soon as it has one, or None when the evaluator wants an end first."""
    poller = select.poll()
    poller.register(LEASH, select.POLLIN)
    poller.register(wake, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poller.poll()}
        numbers = os.read(wake, 4096) if wake in ready else b""
        for pid, status in reaped():
            if pid == command:
                return os.waitstatus_to_exitcode(status)
        if LEASH in ready or signal.SIGTERM in numbers:
            return None


def clear(command: int, wake: int) -> bool:
    """Ends every descendant. False if some are left when the time is up."""
    deadline = time.monotonic() + CLEARING_SECONDS
    here = os.getpid()
    poller = select.poll()
    poller.register(wake, select.POLLIN)
    while not childless():
        if time.monotonic() > deadline:
            return False
        if os.path.exists("/proc/self/stat"):
            end_all(lambda process: process[1] == here, deadline)
        else:
            end_group(command)
        if poller.poll(10):
            os.read(wake, 4096)
    return True


def end_all(is_root: Callable[[Seen], bool], deadline: float) -> bool:
    """Stops, then kills, every process that `is_root` or that descends from one. True if there was any."""
    stopped: set[Seen] = set()
    while time.monotonic() < deadline:
        fresh = [process for process in family(is_root) if process not in stopped and strike(process, signal.SIGSTOP)]
        if not fresh:
            break
        stopped.update(fresh)
    for process in stopped:
        strike(process, signal.SIGKILL)
    return bool(stopped)


def family(is_root: Callable[[Seen], bool]) -> Iterator[Seen]:
    """Roots and their descendants, each as soon as it is seen, so that a bomb is stopped while it is counted.

    A child whose number is below its parent's is missed; ending the parent makes it the warden's own child, for the next round.
    """
    members: set[int] = set()
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdecimal()):
        process = look(pid)
        if process is not None and (process[1] in members or is_root(process)):
            members.add(pid)
            yield process


def look(pid: int) -> Seen | None:
    """A process as /proc shows it, or None if there is none of that number."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(4096)
    except OSError:
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the name before it may hold anything, `)` and blanks too
    return (pid, int(fields[1]), int(fields[19])) if len(fields) > 19 else None


def strike(process: Seen, number: signal.Signals) -> bool:
    """Sends a signal to exactly this process. False if it is gone or may not be signalled."""
    pid, _, born = process
    handle = hold(pid)
    try:
        current = look(pid)
        if current is None or current[2] != born:
            return False
        if handle is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def hold(pid: int) -> int | None:
    """A descriptor that stays with this process whatever becomes of its number; None where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not built in, an old kernel, or no such process: then `strike` sees it gone
        return None


def end_group(command: int) -> None:
    """Kills the command's process group: all that can be named without /proc."""
    try:
        os.killpg(command, signal.SIGKILL)
    except OSError:
        return


def childless() -> bool:
    """Reaps what has ended; True if no child is left, ended or not."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return True
    return False


def reaped() -> Iterator[tuple[int, int]]:
    """Process number and wait status of each child that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def wakeup() -> int:
    """A descriptor that can be read when a child ended (SIGCHLD) or the evaluator wants an end (SIGTERM)."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reading


def become_subreaper() -> None:
    """Makes orphans of the command's children of the warden (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def silence() -> None:
    """Lets go of the command's output, so that it ends when the command and its children let go of it."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)


def tell(report: int, line: str) -> None:
    """One line to the evaluator. If it is gone nobody needs it, and the clearing goes on."""
    try:
        os.write(report, line.encode() + b"\n")
    except BrokenPipeError:
        return


if __name__ == "__main__":
    os._exit(main())
