"""Work done by a process of its own, so that several do it at once, or that what it does to itself ends with it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable


def forked(work: Callable[[], object]) -> int:
    """The number of a child that does the work and leaves, with status 0, or 99 if the work raised; it is to be waited for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: the child only works and leaves
        child = os.fork()
    if not child:
        status = 99
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child
