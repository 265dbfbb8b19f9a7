"""What is written to a person or a program, so that a reader that goes away or a full disk changes no answer (spec 9.1)."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO


class Output(io.TextIOBase):
    """A text stream that never raises for what it cannot write: `fault` tells in the end.

    A reader that went away is no fault: it has seen what it wanted, and the exit status stands.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.fault: str | None = None
        self._stream = stream
        self._gone = False

    def write(self, text: str) -> int:
        """All of a text, or nothing once something could not be written."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Everything that was written so far."""
        self._try(self._stream.flush)

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._stream.isatty()

    def _try(self, work: Callable[[], object]) -> None:
        if self._gone:
            return
        try:
            work()
        except BrokenPipeError:
            self._gone = True
        except OSError as error:
            self._gone = True
            self.fault = error.strerror
