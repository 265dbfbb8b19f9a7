"""discern decides which review checkpoints a Git change sets off, from bounded facts, and never guesses.

What may be imported from here is public, documented where it is defined, and loaded when it is first asked for:

    evaluate          what `discern evaluate` says of a working tree or a commit; `cancel` ends a running `when` command
    load_policy       the checkpoints in the bytes of a `discern.toml`
    collect           the governing policy of a working tree or a commit, and the facts its checkpoints can ask for
    judge, judge_all  checkpoints over facts, purely: no Git, no files, no clock
    conclude          the outcome once an `undecided` checkpoint's command has answered
    result_document   a result as the JSON document of `--format json`, and `read_result` back again

The other names are the records that go in and come out, each frozen and picklable, and `Cancel`, a flag that wakes at once.
Nothing is printed, nobody's process is ended, and no state is kept between calls. Failures are `returns.result.Failure` values.
"""

# No import at all: with `python -m discern` this runs while the current directory still comes first (spec 9.4).
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
    "discern.definitions": "Definition EntryDrop Policy PolicyInvalid",
    "discern.documents": "DocumentFault read_result result_document",
    "discern.effects.git": "Refused",
    "discern.effects.interruption": "Cancel",
    "discern.facts": "BaseTree ChangedFile Content Facts History Lines NOT_COLLECTED NotCollected Unavailable",
    "discern.library": "Collection collect evaluate judge judge_all load_policy",
    "discern.outcomes": "Answered Drop DropRecord Evaluation Judgement Related Result Step Unanswered Veto",
    "discern.stages.when": "conclude",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

# Written out, for type checkers read it and compute nothing; tests/test_library.py holds it against the table above.
__all__ = [
    "NOT_COLLECTED",
    "Answered",
    "BaseTree",
    "Cancel",
    "ChangedFile",
    "Collection",
    "Content",
    "Definition",
    "DocumentFault",
    "Drop",
    "DropRecord",
    "EntryDrop",
    "Evaluation",
    "Facts",
    "History",
    "Judgement",
    "Lines",
    "NotCollected",
    "Policy",
    "PolicyInvalid",
    "Refused",
    "Related",
    "Result",
    "Step",
    "Unanswered",
    "Unavailable",
    "Veto",
    "collect",
    "conclude",
    "evaluate",
    "judge",
    "judge_all",
    "load_policy",
    "read_result",
    "result_document",
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
