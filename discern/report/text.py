"""One evaluation as text for people: questions, then advice, then what could not be judged, then one line (spec 9.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from discern.documents import serves
from discern.outcomes import DropRecord, Evaluation, Judgement, Result, Step
from discern.text import one_line
from discern.vocabulary import CHECKPOINT_FIELD_ROLES, OPEN_STATES, State, VetoName

FILES_SHOWN: Final = 10  # matched files of one checkpoint, unless everything is asked for
LINES_SHOWN: Final = 20  # of a question or what teaches, likewise
ID_WIDTH: Final = 30  # columns kept for ids in the trace; a longer one pushes its line to the right
OID_SHOWN: Final = 10  # hex digits
UNMET: Final = '--unmet --why "…"'

Paint = Callable[[str, str], str]
Timings = Sequence[tuple[str, float]]  # what took time, and seconds

_TONES: Final = {"stop": "1;31", "advice": "33", "strong": "1", "quiet": "2", "good": "32"}
_ANSWERED: Final[dict[State, str]] = {"declared_met": "good", "declared_unmet": "advice"}  # and the tone of it

STATE_WORDS: Final[dict[State, str]] = {
    "none": "",
    "awaiting": "awaits an answer",
    "reopened": "reopened: what was judged has changed since",
    "unknown": "open: earlier answers cannot be read",
    "declared_met": "declared met",
    "declared_unmet": "declared unmet",
}
VETO_WORDS: Final[dict[VetoName, str]] = {
    "generated_only": "all that matches is generated",
    "empty_matched_set": "no changed file matches",
    "excluded_only": "all that matches is excluded",
    "kinds": "no file was changed in that way",
    "adds_matching": "no added line contains a pattern",
    "removes_matching": "no removed line contains a pattern",
    "new_directory": "no file was added in a new directory",
    "binary": "no file is of that sort",
    "similar_new_file": "no new file is named like one beside it",
    "unless_changed": "what it waits for has changed too",
    "min_changed_files": "too few files",
    "min_changed_lines": "too few lines",
    "deletion_dominant": "deletions do not dominate",
    "min_commits": "too few commits",
}


def render(
    result: Result,
    *,
    colour: bool = False,
    verbose: bool = False,
    timings: Timings | None = None,
    root: str | None = None,
    trunk: str | None = None,
) -> str:
    """The whole report, ended by a newline; nothing in it can harm a terminal.

    `verbose` adds every line and matched file, the steps of every checkpoint, and the times if there are any. `root` is the
    `--root` the user gave: the commands to copy name it again. `trunk` is the one they named, told where it is no branch.
    """
    paint = painter(colour)
    served = [judgement for judgement in result.checkpoints if serves(judgement)]
    stops = sorted((one for one in served if one.definition.mode == "stop"), key=lambda one: one.state not in OPEN_STATES)
    advice = [one for one in served if one.definition.mode == "advise"]
    told = {one.definition.id for one in stops if one.evaluation.drop}
    drops = [drop for drop in result.drops if not (drop.checkpoint in told and drop.reason != "subject_unavailable")]
    sections = [
        *(_question(judgement, verbose, paint) + _answers(judgement, result, root) for judgement in stops),
        *(_question(judgement, verbose, paint) for judgement in advice),
        _undecided(result.checkpoints, paint),
        tell_drops(drops, paint),
        notes(result),
        _trace(result.checkpoints, paint) if verbose else [],
        _times(timings or ()) if verbose else [],
        [f"{_closing(result, drops, paint)} ({compared(result, trunk)})"],
    ]
    return "\n".join("".join(f"{line}\n" for line in section) for section in sections if section)


def painter(colour: bool) -> Paint:
    """A function from a tone and a text to the text in that tone, or just the text."""
    return (lambda tone, text: f"\x1b[{_TONES[tone]}m{text}\x1b[0m") if colour else (lambda _tone, text: text)


def indented(text: str, depth: int = 4) -> list[str]:
    """The lines of a text, each safe to show, without blank ones at its ends."""
    return [" " * depth + one_line(line.removesuffix("\r")) if line.strip() else "" for line in text.strip("\r\n").split("\n")]


def counted(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def outcome_words(evaluation: Evaluation) -> str:
    """What came of one definition, and why."""
    match evaluation.outcome:
        case "vetoed" if evaluation.veto is not None:
            by = f" by {evaluation.veto.by}" if evaluation.veto.by in CHECKPOINT_FIELD_ROLES else ""
            return f"vetoed{by}: {VETO_WORDS[evaluation.veto.by]}"
        case "passed":
            return "passed: its command said no"
        case "undecided":
            return "undecided: its command was not run"
        case "dropped" | "indeterminate" if evaluation.drop is not None:
            return f"{evaluation.outcome}: {_reason(evaluation.drop.reason, evaluation.drop.detail)}"
        case outcome:
            return outcome


def shown_id(ident: str) -> str:
    """An id, safe to show; TOML allows an empty one."""
    return one_line(ident) or '""'


def tell_drops(drops: Sequence[DropRecord], paint: Paint) -> list[str]:
    """What could not be judged, and why: checkpoints of a mode that lost the same thing are told together."""
    if not drops:
        return []
    from discern.grouping import grouped

    lines = [paint("advice", "could not be judged")]
    for (mode, reason, account), alike in grouped(_loss, drops).items():
        names = ("policy" if drop.checkpoint is None else shown_id(drop.checkpoint) for drop in alike)
        lines += [f"    {mode}{', '.join(paint('strong', name) for name in names)}  {reason}", *indented(account, 8)]
    return lines


def _loss(drop: DropRecord) -> tuple[str, str, str]:
    mode = "" if drop.mode is None else f"{drop.mode}  "
    return mode, _reason(drop.reason, drop.detail), drop.account


def _reason(reason: str, detail: str | None) -> str:
    return one_line(f"{reason} ({detail})" if detail else reason)


def _question(judgement: Judgement, verbose: bool, paint: Paint) -> list[str]:
    definition, evaluation, state = judgement.definition, judgement.evaluation, judgement.state
    head = paint(_ANSWERED.get(state, "stop"), "stop") if definition.mode == "stop" else paint("advice", "advice")
    words = STATE_WORDS[state] if judgement.rationale is None else f"{STATE_WORDS[state]}: {one_line(judgement.rationale)}"
    lines = ["  ".join(part for part in (head, paint("strong", shown_id(definition.id)), words) if part)]
    if evaluation.drop is not None:
        lines.append(f"    could not be decided, so it is asked: {_reason(evaluation.drop.reason, evaluation.drop.detail)}")
        lines += indented(evaluation.drop.account, 8)
    # What has its answer is kept short: it was read once.
    if state in _ANSWERED and not verbose:
        return lines + indented(definition.question)[:1]
    lines += _text(definition.question, verbose, definition.question_file)
    if definition.teach:
        lines += ["", *_text(definition.teach, verbose)]
    if definition.reference:
        lines += ["", *indented(f"See {definition.reference}")]
    return [*lines, "", *_files(evaluation, verbose, paint)]


def _text(text: str, verbose: bool, file: str | None = None) -> list[str]:
    """A text of the policy, cut unless everything is asked for; `file` is where the rest of it can be read."""
    lines = indented(text)
    rest = 0 if verbose else len(lines) - LINES_SHOWN
    if rest <= 0:
        return lines
    where = "" if file is None else f" in {one_line(file)}"
    return [*lines[:LINES_SHOWN], f"    … and {counted(rest, 'more line')}{where}"]


def _files(evaluation: Evaluation, verbose: bool, paint: Paint) -> list[str]:
    shown = evaluation.matched if verbose else evaluation.matched[:FILES_SHOWN]
    beside: dict[str, list[str]] = {}
    for related in evaluation.related:
        beside.setdefault(related.for_path, []).append(one_line(related.path))
    lines = []
    for path in shown:
        note = paint("quiet", f"  (like {', '.join(beside[path])})") if path in beside else ""
        lines.append(f"    {one_line(path)}{note}")
    rest = len(evaluation.matched) - len(shown)
    return [*lines, f"    … and {rest} more"] if rest else lines


def _answers(judgement: Judgement, result: Result, root: str | None) -> list[str]:
    """What to do next with an open question (spec 8.3)."""
    name = judgement.definition.id
    if judgement.state not in ("awaiting", "reopened") or result.candidate == "commit":
        return []
    if judgement.subject is None:
        return ["", "    No answer can be recorded: what it would be bound to could not be had."]
    return ["", f"    answer  {_declare(name, '--met', root)}", f"    or      {_declare(name, UNMET, root)}"]


def _declare(name: str, answer: str, root: str | None) -> str:
    where = "" if root is None else f" --root {shell_word(root)}"
    if name.startswith("-"):
        return f"discern declare{where} {answer} -- {shell_word(name)}"
    return f"discern declare{where} {shell_word(name)} {answer}"


def shell_word(text: str) -> str:
    """A text as one word of a shell command that can be shown and copied; one with control characters needs bash or zsh."""
    from shlex import quote

    if one_line(text) == text:
        return quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{one_line(escaped)}'"


def _undecided(judgements: Iterable[Judgement], paint: Paint) -> list[str]:
    lines = []
    for judgement in judgements:
        if judgement.evaluation.outcome == "undecided":
            files = counted(len(judgement.evaluation.matched), "file")
            lines.append(f"    {paint('strong', shown_id(judgement.definition.id))}  its command was not run ({files})")
    return [paint("advice", "not decided"), *lines] if lines else []


def notes(result: Result) -> list[str]:
    """What a person might not expect of what was compared (spec 1.1)."""
    lines = []
    base = "" if result.policy_commit is None else f" {result.policy_commit[:OID_SHOWN]}"
    if result.other_bases:
        others = ", ".join(oid[:OID_SHOWN] for oid in result.other_bases)
        lines.append(f"There are several merge-bases. The policy is that of{base}; the others are {others}.")
    if any(judgement.evaluation.steps[:1] == (Step("generated", 0, 0),) for judgement in result.checkpoints):
        lines.append(f"Nothing has changed since the merge-base{base}.")
    if not result.checkpoints and not result.drops:
        lines += [
            f"At the merge-base{base} discern.toml is not there, or has no `[checkpoints.<id>]` table, so nothing is asked.",
            "A checkpoint counts from the commit on that brings its discern.toml to the trunk.",
        ]
    return lines


def _trace(judgements: Sequence[Judgement], paint: Paint) -> list[str]:
    """Where each checkpoint stopped: the files before and after each step (spec 5.6)."""
    width = min(ID_WIDTH, max((len(shown_id(one.definition.id)) for one in judgements), default=0))
    lines = []
    for judgement in judgements:
        name = shown_id(judgement.definition.id)
        lines.append(f"    {paint('strong', name)}{' ' * (width - len(name))}  {outcome_words(judgement.evaluation)}")
        lines += _steps(judgement.evaluation.steps)
    return [paint("strong", "steps") + ", with the files before and after", *lines] if lines else []


def _steps(steps: Sequence[Step]) -> list[str]:
    names = max((len(step.step) for step in steps), default=0)
    digits = max((len(str(step.before)) for step in steps), default=0)
    return [
        f"        {step.step:{names}}  {step.before:{digits}} → {'?' if step.after is None else step.after:>{digits}}"
        for step in steps
    ]


def _times(timings: Timings) -> list[str]:
    named = [(one_line(name), seconds * 1000) for name, seconds in timings]
    width = max((len(name) for name, _ in named), default=0)
    return ["times", *(f"    {name:{width}}  {milliseconds:8.1f} ms" for name, milliseconds in named)] if named else []


def _closing(result: Result, drops: Sequence[DropRecord], paint: Paint) -> str:
    kinds = Counter(_kind(judgement) for judgement in result.checkpoints)
    tallies = {
        "open question": kinds["open"],
        "declared met": kinds["declared_met"],
        "declared unmet": kinds["declared_unmet"],
        "advice": kinds["advice"],
        "undecided": kinds["undecided"],
        "drop": len(drops),
        "quiet": kinds["quiet"],
    }
    plural = ("open question", "drop")
    said = [counted(n, name) if name in plural else f"{n} {name}" for name, n in tallies.items() if n] or ["nothing to ask"]
    return f"{_verdict(result, len(drops), kinds['undecided'], paint)}: {', '.join(said)}"


def _verdict(result: Result, drops: int, undecided: int, paint: Paint) -> str:
    """Whether the run is to fail; what was not judged never sounds as if it had been."""
    if result.blocking:
        return paint("stop", "blocked")
    if not drops:
        return paint("advice" if undecided else "good", "not blocked")
    without_policy = not result.checkpoints and any(drop.checkpoint is None for drop in result.drops)
    lost = "nothing could be judged" if without_policy else f"{drops} could not be judged"
    return f"{paint('advice', f'not blocked, but {lost}')} (--fail-on drops makes {'it' if drops == 1 else 'them'} block)"


def _kind(judgement: Judgement) -> str:
    if serves(judgement):
        if judgement.definition.mode == "advise":
            return "advice"
        return judgement.state if judgement.state in _ANSWERED else "open"
    return {"undecided": "undecided", "vetoed": "quiet", "passed": "quiet"}.get(judgement.evaluation.outcome, "dropped")


def compared(result: Result, named: str | None = None) -> str:
    """What was compared with what, in a few words. `named` is the trunk as the user gave it."""
    head = "an unborn branch" if result.head is None else result.head[:OID_SHOWN]
    what = f"commit {head}" if result.candidate == "commit" else f"working tree on {head}"
    if result.policy_commit is None:
        return f"{what}, no merge-base"
    trunk = result.trunk or named
    where = "" if trunk is None else f" with {one_line(trunk)},"
    return f"{what}, since its merge-base{where} {result.policy_commit[:OID_SHOWN]}"
