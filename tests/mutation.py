#!/usr/bin/env python3
"""How strong the conformance suite is: alters the code it judges, one place at a time, and counts what the suite alone notices.

    python tests/mutation.py                     every module below: a line a survivor, then the score
    python tests/mutation.py discern.patterns    one module
    python tests/mutation.py --jobs 4 --show     more at a time; every mutant with its fate

Each mutant lives in a forked process: the cases are read once, the altered module and what imports it are loaded there, and the
first case that fails ends it. Imports, annotations and prose are not altered. A survivor is explained in `mutation.toml`, or
it is a hole in the suite: exit status 1, as for an explanation that explains nothing, and for fewer than nine of ten killed in
what the cases judge: the stages, their order, the patterns, and the resolver of the policy.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib.abc
import importlib.util
import os
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
STAGES: Final = tuple(f"discern.stages.{stage}" for stage in ("universe", "selection", "narrowing", "thresholds", "when"))
POLICY: Final = ("discern.policy", "discern.fields", "discern.seeds")
REST: Final = (
    *("discern.governing_file", "discern.survey", "discern.basetree", "discern.search", "discern.drops", "discern.identity"),
)
JUDGED: Final = (*STAGES, "discern.pipeline", "discern.patterns", *POLICY)
MODULES: Final = (*JUDGED, *REST)
LEAST: Final = 0.9  # of the mutants of what is judged are killed
SECONDS: Final = 30  # the whole suite takes one: a mutant that takes so long hangs
SURVIVED, KILLED = 0, 1

# Survivors that no case can notice, by module, and there by the function they stand in or by a part of their line.
EXPLAINED: Final[dict[str, dict[str, str]]] = tomllib.loads((ROOT / "tests" / "mutation.toml").read_text("utf-8"))

_PAIRS: Final = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot), (ast.And, ast.Or)),
    *((ast.Add, ast.Sub), (ast.BitAnd, ast.BitOr), (ast.LShift, ast.RShift), (ast.Mult, ast.FloorDiv)),
)
OTHER: Final[dict[type[ast.AST], type[ast.AST]]] = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
Change = Callable[[], None]


class Mutant(NamedTuple):
    """One altered form of a module: what was altered, in which line of which function, and the code that came of it."""

    module: str
    what: str
    line: int
    function: str
    tree: ast.Module | None


# What is altered


def changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Every way in which one node is altered."""
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                yield from _replaced(op, lambda new, place=place: ops.__setitem__(place, new))
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op):
            yield from _replaced(op, lambda new: setattr(node, "op", new))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "`not` taken out", lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), operand))
        case ast.UnaryOp(op=ast.Invert() | ast.USub() as op):
            yield f"{type(op).__name__} taken out", lambda: setattr(node, "op", ast.UAdd())
        case ast.Constant():
            yield from (
                (f"{node.value!r} -> {new!r}", lambda new=new: setattr(node, "value", new)) for new in _others(node.value)
            )
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "condition negated", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=ifs) if ifs:
            yield "filter taken out", lambda: setattr(node, "ifs", [])
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "returns None", lambda: setattr(node, "value", ast.Constant(None))


def _replaced(op: ast.AST, put: Callable[[ast.AST], object]) -> Iterator[tuple[str, Change]]:
    other = OTHER.get(type(op))
    if other is not None:
        yield f"{type(op).__name__} -> {other.__name__}", lambda: put(other()) and None


def _others(value: object) -> list[object]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1]
        case bytes():
            return [value + b"X"]
        case str() if " " not in value or "\\" in value:  # with blanks it is prose, or an expression
            return [value + "X", value[1:]] if len(value) > 1 else [value + "X"]
        case _:
            return []


def removals(body: list[ast.stmt]) -> Iterator[tuple[str, int, Change]]:
    """Each statement that does something, taken out."""
    for place, statement in enumerate(body):
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue) and not text:
            nothing = ast.copy_location(ast.Pass(), statement)
            yield "statement taken out", statement.lineno, lambda place=place, nothing=nothing: body.__setitem__(place, nothing)


def all_changes(tree: ast.Module) -> Iterator[tuple[str, int, Change]]:
    """Every change to a module, in an order that is the same each time."""
    for node in running(tree):
        line = getattr(node, "lineno", 0) or getattr(getattr(node, "iter", None), "lineno", 0)
        yield from ((what, line, change) for what, change in changes(node))
        for block in ("body", "orelse"):
            body = getattr(node, block, None)
            yield from removals(body) if isinstance(body, list) else ()


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run: no annotation, no documentation, no import, no name of a type."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in {"annotation", "returns"} or (isinstance(tree, ast.Expr) and isinstance(value, ast.Constant)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _names_types(child) and not _is_said(child):
                yield from running(child)


def _names_types(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Assign(value=ast.Subscript(value=ast.Name(id="Callable" | "Literal" | "tuple" | "dict"))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case _:
            return False


def _is_said(node: ast.AST) -> bool:
    """Whether this is a text with values in it that is for people: one with blanks, and not the making of an expression."""
    return isinstance(node, ast.JoinedStr) and " " in "".join(
        part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def mutants(module: str) -> Iterator[Mutant]:
    """Every altered form of a module, one change each."""
    source = source_of(module)
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for number in range(sum(1 for _ in all_changes(ast.parse(source)))):
        tree = ast.parse(source)
        what, line, change = next(one for place, one in enumerate(all_changes(tree)) if place == number)
        change()
        around = [function.name for function in functions if function.lineno <= line <= (function.end_lineno or 0)]
        yield Mutant(module, what, line, around[-1] if around else "", ast.fix_missing_locations(tree))


def source_of(module: str) -> str:
    place = module.replace("discern.stages", "stages").replace(".", "/")
    return (ROOT / f"{place}.py").read_text("utf-8")


# What the suite notices


class Altered(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives out one altered module in place of the real one."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.tree, self.mutant.module, "exec"), module.__dict__)


class Suite:
    """The shipped cases, read once; nothing that depends on the altered modules is loaded for it."""

    def __init__(self) -> None:
        from discern.conformance.case import structure_case
        from discern.conformance.expectations import read_suite

        cases = read_suite()
        assert isinstance(cases, list)
        large_last = sorted(cases, key=lambda case: case.id.startswith("limits/"))
        self.cases = [(case, structure_case(case.question)) for case in large_last]
        assert not [module for module in MODULES if module in sys.modules]

    def notices(self) -> bool:
        """Whether any case fails."""
        from discern.conformance.answer import answer, trace
        from discern.conformance.case import MalformedCase
        from discern.conformance.expectations import difference, trace_difference

        return any(
            difference(case, read if isinstance(read, MalformedCase) else answer(read))
            or (case.trace and not isinstance(read, MalformedCase) and trace_difference(case, trace(read)))
            for case, read in self.cases
        )


def fork(suite: Suite, mutant: Mutant) -> int:
    """One mutant's life, in a process of its own, whose exit status tells its fate."""
    child = os.fork()
    if child == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        signal.alarm(SECONDS)
        if mutant.tree is not None:
            sys.meta_path.insert(0, Altered(mutant))
        try:
            os._exit(KILLED if suite.notices() else SURVIVED)
        except BaseException:  # noqa: BLE001 - whatever a mutant does wrong, it was noticed
            os._exit(KILLED)
    return child


class Score:
    """How many mutants there were, and which of them lived."""

    def __init__(self, show: bool) -> None:
        self.show = show
        self.fates: dict[str, list[str]] = {}
        self.needless = {module: set(keys) for module, keys in EXPLAINED.items()}

    def note(self, mutant: Mutant, killed: bool) -> None:
        why = None if killed else explanation(mutant)
        fate = "killed" if killed else "explained" if why else "SURVIVED"
        self.fates.setdefault(mutant.module, []).append(fate)
        if self.show or fate == "SURVIVED":
            words = f" ({why[1]})" if why else ""
            print(f"{fate:9} {mutant.module}:{mutant.line} {mutant.function}: {mutant.what}{words}", flush=True)
        if why:
            self.needless[mutant.module].discard(why[0])

    def report(self) -> int:
        """The counts; 1 if a survivor is not explained, an explanation explains nothing, or too many survive."""
        judged = {module: fates for module, fates in self.fates.items() if module in JUDGED}
        groups = {**self.fates, "what cases judge": joined(judged), "all": joined(self.fates)}
        for name, fates in groups.items():
            counts = {fate: fates.count(fate) for fate in ("killed", "explained", "SURVIVED")}
            known = counts["killed"] / max(1, len(fates) - counts["explained"])
            print(
                f"{name:26} {len(fates):5} mutants: {counts}; killed {share(fates):.1%}, of what an answer can show {known:.1%}"
            )
        needless = [f"{module}: {key}" for module in self.fates for key in sorted(self.needless.get(module, ()))]
        print(*(f"explains nothing any more: {one}" for one in needless), sep="\n", end="\n" if needless else "")
        weak = judged.keys() == set(JUDGED) and share(joined(judged)) < LEAST
        return 1 if "SURVIVED" in groups["all"] or needless or weak else 0


def joined(fates: dict[str, list[str]]) -> list[str]:
    return [fate for each in fates.values() for fate in each]


def share(fates: list[str]) -> float:
    return fates.count("killed") / max(1, len(fates))


def explanation(mutant: Mutant) -> tuple[str, str] | None:
    """The key and the words that explain a survivor."""
    line = source_of(mutant.module).splitlines()[mutant.line - 1]
    known = EXPLAINED.get(mutant.module, {})
    return next(((key, why) for key, why in known.items() if key == mutant.function or key in line), None)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the conformance suite by mutants of the code it judges.")
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", action="store_true", help="name every mutant, not only the survivors")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    suite = Suite()
    gc.freeze()
    if os.waitpid(fork(suite, Mutant("", "", 0, "", None)), 0)[1] != SURVIVED:
        print("the suite fails without any change", file=sys.stderr)
        return 2
    score, began = Score(options.show), time.monotonic()
    living: dict[int, Mutant] = {}

    def settle() -> None:
        child, status = os.wait()
        score.note(living.pop(child), killed=status != SURVIVED)

    for mutant in (mutant for module in options.modules for mutant in mutants(module)):
        if len(living) >= options.jobs:
            settle()
        living[fork(suite, mutant)] = mutant
    while living:
        settle()
    status = score.report()
    print(f"{time.monotonic() - began:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
