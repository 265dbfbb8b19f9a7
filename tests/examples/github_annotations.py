"""A report of one's own: open questions as annotations of the matched files on GitHub: `github_annotations.py DIRECTORY`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from returns.pipeline import is_successful

from discern import Result, evaluate

OPEN = ("awaiting", "reopened", "unknown")
ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}


def escaped(text: str) -> str:
    """A text as a workflow command takes it, with the bytes of a path that are no UTF-8 shown."""
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(ESCAPES.get(character, character) for character in shown)


def commands(result: Result) -> Iterator[str]:
    """An error for each matched file of an open question, a warning for advice, a notice for what could not be judged."""
    for one in result.checkpoints:
        kind = "error" if one.state in OPEN else "warning"
        if one.evaluation.outcome == "fired" and (one.state in OPEN or one.definition.mode == "advise"):
            for path in one.evaluation.matched:
                yield f"::{kind} file={escaped(path)},title={escaped(one.definition.id)}::{escaped(one.definition.question)}"
    for drop in result.drops:
        yield f"::notice title={escaped(drop.checkpoint or 'policy')}::{escaped(drop.account)}"


def main(place: str) -> int:
    found = evaluate(place)
    if not is_successful(found):
        print(f"::error::{escaped(found.failure().message)}")
        return 2
    print(*commands(found.unwrap()), sep="\n")
    return 1 if found.unwrap().blocking else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
