"""What came of it: evidence, vetoes, drops, and the verdict on one definition with the steps that led there (spec 5)."""

from __future__ import annotations

from typing import NamedTuple

from attrs import frozen

from discern.definitions import Definition
from discern.vocabulary import DropReason, Mode, OutcomeName, State, VetoName, WhenReason


@frozen
class Related:
    """An existing file that speaks for a matched one: never counted, never offered to `when` (spec 5.4)."""

    for_path: str
    path: str
    kind: str = "similar_existing"


class Evidence(NamedTuple):
    """The changed files still in play, a bit each: bit n is file n of the facts, which are sorted by path bytes (spec 0).

    A set as an integer makes a step one `&`, a count one `bit_count`, and the first path in byte order the lowest bit.
    """

    files: int
    related: tuple[Related, ...] = ()


@frozen
class Veto:
    """An ordinary "does not hold" (spec 0)."""

    by: VetoName


@frozen
class Drop:
    """A needed fact was not to be had (spec 0). `detail` is the fact's own reason; `account` is for people, one line."""

    reason: DropReason
    detail: str | None = None
    account: str = ""


@frozen
class Step:
    """How many files stood before a step and after it: 0 at a veto or pass, None where no answer was reached (spec 5.6)."""

    step: str
    before: int
    after: int | None


@frozen(kw_only=True)
class Evaluation:
    """The outcome of one definition (spec 5.6).

    `veto` is there for `vetoed`, `drop` for `dropped` and `indeterminate`; `matched`, sorted by bytes, and `related` for `fired`,
    `indeterminate` and `undecided`, and are empty otherwise.
    """

    id: str
    outcome: OutcomeName
    veto: Veto | None = None
    drop: Drop | None = None
    matched: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    steps: tuple[Step, ...] = ()


@frozen
class Answered:
    """A `when` command ended by itself: its exit status (negative: the signal that ended it) and its whole output (spec 6.4)."""

    status: int
    output: bytes = b""


@frozen
class Unanswered:
    """A `when` command gave no answer, and why (spec 6.4)."""

    reason: WhenReason
    account: str = ""


@frozen(kw_only=True)
class Judgement:
    """One definition, what came of it, and where its question stands (spec 8.1, 9.2).

    `subject` is None when the outcome matches nothing or it could not be had (spec 7.2); `rationale` belongs to `declared_unmet`.
    `structural_subject` is the subject over what a `when` command was asked about, whatever it answered, so that a Proof can be
    verified without running it again (spec 8.4); None where no command ran or it could not be had.
    """

    definition: Definition
    definition_hash: str
    evaluation: Evaluation
    subject: str | None = None
    structural_subject: str | None = None
    state: State = "none"
    rationale: str | None = None


@frozen(kw_only=True)
class DropRecord:
    """One entry of the result's `drops` (spec 9.2). `checkpoint` is None for a drop of the whole policy."""

    checkpoint: str | None
    mode: Mode | None
    policy_commit: str | None
    reason: DropReason
    detail: str | None
    account: str


@frozen(kw_only=True)
class Result:
    """Everything one evaluation says (spec 9.2). `trunk` is a full ref, or None where the trunk was named by something else."""

    policy_commit: str | None
    trunk: str | None
    other_bases: tuple[str, ...] = ()
    head: str | None
    candidate: str = "worktree"
    blocking: bool = False
    checkpoints: tuple[Judgement, ...] = ()
    drops: tuple[DropRecord, ...] = ()
