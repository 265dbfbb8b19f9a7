"""Review checkpoints for a Git change: which does it set off? See `discern.evaluate` and the README."""

from __future__ import annotations

__version__ = "1.0.0"
