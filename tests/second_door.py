"""The second evaluator as a module: for tests that ask it too often to start a process each time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "second"
PROGRAM = FOLDER / "evaluator.py"


def ask(case: Any) -> dict[str, Any]:
    """Its answer to a case: the document of spec 10.2, or `{"error": …}`."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # it is a program of its own, whose files know each other by plain names
    import evaluator

    answer: dict[str, Any] = evaluator.answer(json.dumps(case).encode())
    return answer
