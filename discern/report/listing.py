"""The governing policy as text: each definition, what it asks for, and what a read-only run makes of it (spec 9.3)."""

from __future__ import annotations

from collections.abc import Sequence

from discern.outcomes import Evaluation, Judgement, Result
from discern.report.summaries import summary
from discern.report.text import Paint, compared, counted, indented, notes, outcome_words, painter, shown_id, tell_drops


def render_listing(result: Result, *, colour: bool = False, trunk: str | None = None) -> str:
    """The listing of a result that a read-only run came to, ended by a newline; nothing in it can harm a terminal.

    `trunk` is the one the user named, told where it is no branch.
    """
    paint = painter(colour)
    sections = [
        *(_entry(judgement, paint) for judgement in result.checkpoints),
        tell_drops(result.drops, paint),
        notes(result),
        [f"{_count(result)} ({compared(result, trunk)})"],
    ]
    return "\n".join("".join(f"{line}\n" for line in section) for section in sections if section)


def _entry(judgement: Judgement, paint: Paint) -> list[str]:
    definition = judgement.definition
    mode = paint("stop", "stop") if definition.mode == "stop" else paint("advice", "advise")
    return [
        f"{mode}  {paint('strong', shown_id(definition.id))}  {_preview(judgement.evaluation)}",
        *(f"    {line}" for line in _conditions(summary(definition))),
        *_first_line(definition.question),
    ]


def _conditions(lines: Sequence[str]) -> Sequence[str]:
    return lines or ("fires for every change",)


def _first_line(question: str) -> list[str]:
    first, *more = indented(question, 0)
    return [f"    asks: {first}{' …' if more else ''}"]


def _preview(evaluation: Evaluation) -> str:
    files = counted(len(evaluation.matched), "file")
    match evaluation.outcome:
        case "fired":
            return f"would ask ({files})"
        case "undecided":
            return f"undecided: its command is not run here ({files})"
        case _:
            return outcome_words(evaluation)


def _count(result: Result) -> str:
    return counted(len(result.checkpoints), "checkpoint") if result.checkpoints else "no checkpoints"
