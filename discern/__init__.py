"""discern decides which review checkpoints a Git change sets off, from bounded facts, and never guesses.

Everything below may be imported from here and is loaded when it is first asked for. Nothing else is public.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from discern.definitions import Definition, EntryDrop, Policy, PolicyInvalid
    from discern.documents import DocumentFault, read_result, result_document
    from discern.effects.git import Refused
    from discern.effects.interruption import Cancel
    from discern.facts import NOT_COLLECTED, BaseTree, ChangedFile, Content, Facts, History, Lines, NotCollected, Unavailable
    from discern.library import Collection, collect, evaluate, judge, judge_all, load_policy
    from discern.outcomes import Answered, Drop, DropRecord, Evaluation, Judgement, Related, Result, Step, Unanswered, Veto
    from discern.stages.when import conclude

__version__ = "1.0.0"

_HOMES = {
    "discern.definitions": ("Definition", "EntryDrop", "Policy", "PolicyInvalid"),
    "discern.documents": ("DocumentFault", "read_result", "result_document"),
    "discern.effects.git": ("Refused",),
    "discern.effects.interruption": ("Cancel",),
    "discern.facts": ("BaseTree", "ChangedFile", "Content", "Facts", "History", "Lines", "NOT_COLLECTED", "NotCollected", "Unavailable"),
    "discern.library": ("Collection", "collect", "evaluate", "judge", "judge_all", "load_policy"),
    "discern.outcomes": (
        *("Answered", "Drop", "DropRecord", "Evaluation", "Judgement", "Related", "Result", "Step", "Unanswered", "Veto"),
    ),
    "discern.stages.when": ("conclude",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order of _HOMES
    *("Definition", "EntryDrop", "Policy", "PolicyInvalid"),
    *("DocumentFault", "read_result", "result_document"),
    *("Refused", "Cancel"),
    *("BaseTree", "ChangedFile", "Content", "Facts", "History", "Lines", "NOT_COLLECTED", "NotCollected", "Unavailable"),
    *("Collection", "collect", "evaluate", "judge", "judge_all", "load_policy"),
    *("Answered", "Drop", "DropRecord", "Evaluation", "Judgement", "Related", "Result", "Step", "Unanswered", "Veto"),
    "conclude",
]


def __getattr__(name: str) -> object:
    """A public name, from where it lives (PEP 562): `import discern` alone costs nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'discern' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
