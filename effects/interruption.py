"""How something that runs is told to stop: by flags from other threads, and by signals that wait for the clearing (spec 6.3)."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from io import FileIO
from types import FrameType
from typing import Any, Final, Protocol

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FIRST_FREE: Final = 3  # descriptors below are standard streams, even if the caller has closed them


class Flag(Protocol):
    """Anything that can say "stop": a `threading.Event`, which is looked at now and then, or a `Cancel`, which wakes at once."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


class Cancel:
    """A flag with a descriptor. `set` may be called from any thread and from a signal handler."""

    def __init__(self) -> None:
        self._set = False
        with ExitStack() as resources:
            self._reading, self._writing = pipe(resources)
            self._resources = resources.pop_all()

    def set(self) -> None:
        """Stops what runs under this flag, now and later."""
        if not self._set:
            self._set = True
            self._writing.write(b"!")

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return self._set

    def fileno(self) -> int:
        """A descriptor that can be read once the flag is set."""
        return self._reading.fileno()

    def close(self) -> None:
        """Gives the descriptors back."""
        self._resources.close()


def pipe(resources: ExitStack) -> tuple[FileIO, FileIO]:
    """The reading and the writing end of a new pipe, neither of them where a standard stream belongs."""
    reading, writing = (_above_standard_streams(end) for end in os.pipe())
    return resources.enter_context(FileIO(reading, "r")), resources.enter_context(FileIO(writing, "w"))


def _above_standard_streams(descriptor: int) -> int:
    if descriptor >= FIRST_FREE:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    os.close(descriptor)
    return moved


@contextmanager
def deferred_signals() -> Iterator[Cancel]:
    """SIGINT, SIGTERM and SIGHUP set the flag, and take their course at the end, with the handlers there were before (spec 6.3).

    Signals that are ignored stay ignored. In a thread that is not the main one there are no handlers: the flag is never set.
    """
    received: list[int] = []
    previous: dict[int, Any] = {}

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        flag.set()

    with closing(Cancel()) as flag:
        try:
            if threading.current_thread() is threading.main_thread():
                for number in SIGNALS:
                    handler = signal.getsignal(number)
                    if handler not in (None, signal.SIG_IGN):  # None: set by other code than Python's, and not to be put back
                        previous[number] = handler
                        signal.signal(number, note)
            yield flag
        finally:
            _release(previous, received)


def _release(previous: dict[int, Any], received: list[int]) -> None:
    """Puts the handlers back and lets every signal that came take its course. Blocked meanwhile, so that none is lost."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, previous.keys())
    try:
        for number in reversed(previous):  # SIGINT last: with its usual handler back, it may raise at any moment
            signal.signal(number, previous[number])
        for number in received:
            signal.raise_signal(number)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
