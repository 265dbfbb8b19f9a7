"""Who may know whom: the house's rules, held against the imports of every module."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES = 400  # of a module
BODY = 30  # lines of a function without its docstring

RECORDS = {"discern.vocabulary", "discern.facts", "discern.definitions", "discern.outcomes", "discern.patterns"}
TEXT = {"discern.text"}
GROUPING = {"discern.grouping"}  # toolz with types
# The one reading of the facts that all stages share.
SURVEY = {"discern.survey", "discern.basetree", "discern.drops", "discern.search"}
PURE = {
    *("discern.governing_file", "discern.policy", "discern.fields", "discern.seeds", "discern.demand", "discern.pipeline"),
    *("discern.identity", "discern.questions", "discern.proof", "discern.documents"),
}
COMMAND = {"discern.arguments", "discern.cli", "discern.demo", "discern.output", "discern.__main__"}
FACES = {"discern", "discern.library"}  # what other code imports: evaluation without the command line
RIM = {
    "discern.effects",
    "discern.evaluation",
    "discern.cli",
    "discern.demo",
    "discern.report",
    "discern.conformance",
    "discern.library",
    "discern.__main__",
}
# Doors to the world: a pure module opens none of them, by import or by a built-in name.
WORLD = {
    *("asyncio", "ctypes", "datetime", "fcntl", "glob", "importlib", "io", "logging", "multiprocessing", "os", "pathlib", "pty"),
    *("random", "secrets", "select", "selectors", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading"),
    *("time", "urllib", "uuid"),
}
WORLD_NAMES = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
STARTERS = ("exec", "fork", "popen", "posix_spawn", "spawn", "startfile", "system")  # of `os`: each starts a program
COSTLY = {
    "asyncio",
    "dataclasses",
    "importlib.metadata",
    "logging",
    "pathlib",
    "returns.pointfree",
    "returns.methods",
    "toolz.curried",
}


class Module:
    """One module, read as text: its name, its syntax, and the dotted names it imports."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.nodes = list(ast.walk(ast.parse(source)))
        self.imports = {found for node in self.nodes for found in imported(node)}
        self.own = {found for found in self.imports if within(found, MODULES) and found != "discern"}
        self.packages = {found.split(".")[0] for found in self.imports}
        self.names = {node.id for node in self.nodes if isinstance(node, ast.Name)}


def imported(node: ast.AST) -> list[str]:
    # `from a import b` may bring in a module `a.b`: both are named, and what is no module of ours is ignored later.
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "a relative import hides who is known"
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def within(name: str, rooms: Iterable[str]) -> bool:
    return any(name == room or name.startswith(room + ".") for room in rooms)


def sources() -> dict[str, Path]:
    inside = [path for path in (ROOT / "discern").rglob("*.py") if not any(part.is_symlink() for part in path.parents)]
    found = {path.relative_to(ROOT): path for path in inside}
    found |= {
        "discern" / path.relative_to(ROOT): path for folder in ("stages", "effects") for path in (ROOT / folder).rglob("*.py")
    }
    return {".".join(place.with_suffix("").parts).removesuffix(".__init__"): path for place, path in found.items()}


MODULES = sources().keys() - {"discern"}
HOUSE = [Module(name, path.read_text("utf-8")) for name, path in sorted(sources().items())]


def strangers(module: Module, allowed: Iterable[str]) -> set[str]:
    """The modules of ours that it knows beyond those it may."""
    return {found for found in module.own if not within(found, allowed)}


def records_know_nothing_above_them(module: Module) -> set[str]:
    return strangers(module, RECORDS | TEXT) if within(module.name, RECORDS) else set()


def stages_know_records_and_survey(module: Module) -> set[str]:
    if not within(module.name, {"discern.stages"}):
        return set()
    return strangers(module, RECORDS | TEXT | SURVEY) | (
        module.packages - {"discern", "attrs", "returns", "toolz"} - set(sys.stdlib_module_names)
    )


def pure_rooms_never_touch_the_world(module: Module) -> set[str]:
    pure = within(module.name, RECORDS | TEXT | SURVEY | PURE | {"discern.stages"})
    return (module.packages & WORLD) | (module.names & WORLD_NAMES) if pure else set()


def pure_rooms_do_not_know_the_rim(module: Module) -> set[str]:
    return {found for found in module.own if within(found, RIM)} if within(module.name, SURVEY | PURE) else set()


def effects_decide_nothing(module: Module) -> set[str]:
    if not within(module.name, {"discern.effects"}):
        return set()
    # The store's records stand in `questions`, beside what may happen to them.
    known = RECORDS | TEXT | {"discern.effects", "discern.questions"}
    return strangers(module, known) | (module.packages - {"discern", "attrs"} - set(sys.stdlib_module_names))


def only_evaluation_knows_both_sides(module: Module) -> set[str]:
    decide = {"discern.stages", "discern.pipeline", "discern.policy", "discern.demand", "discern.survey"}
    effects = {found for found in module.own if within(found, {"discern.effects"})}
    deciding = {found for found in module.own if within(found, decide)}
    inside = module.name in FACES or within(module.name, {"discern.evaluation"})
    return effects | deciding if effects and deciding and not inside else set()


def only_the_command_line_knows_the_reports(module: Module) -> set[str]:
    inside = within(module.name, {"discern.cli", "discern.demo", "discern.report"})
    return set() if inside else {found for found in module.own if within(found, {"discern.report"})}


def reports_look_nothing_up(module: Module) -> set[str]:
    if not within(module.name, {"discern.report"}):
        return set()
    return strangers(module, RECORDS | TEXT | GROUPING | {"discern.report", "discern.documents"}) | (module.packages & WORLD)


def nobody_knows_the_command_line(module: Module) -> set[str]:
    inside = within(module.name, {"discern.cli", "discern.__main__"})
    return set() if inside else module.own & {"discern.cli", "discern.__main__"}


def plain_names_are_never_imported(module: Module) -> set[str]:
    return module.packages & {"stages", "effects", "tests", "property_tests"}


def programs_start_through_one_door_each(module: Module) -> set[str]:
    if within(module.name, {"discern.effects.processes", "discern.effects.warden"}):
        return set()
    calls = {
        node.attr
        for node in module.nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
    }
    door = {"posix_spawnp"} if module.name == "discern.effects.git" else set()
    return ({call for call in calls if call.startswith(STARTERS)} - door) | (
        module.packages & {"subprocess", "multiprocessing", "pty"}
    )


def start_up_stays_cheap(module: Module) -> set[str]:
    reader = within(module.name, {"discern.documents", "discern.conformance"})
    return (module.imports & COSTLY) | (set() if reader else module.packages & {"cattrs"})


def modules_and_functions_fit_a_screen(module: Module) -> set[str]:
    long = {f"{module.name} itself"} if module.source.count("\n") > LINES else set()
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body and (body[-1].end_lineno or 0) - body[0].lineno + 1 > BODY:
                long.add(node.name)
    return long


# Each rule gives what a module breaks it with; beside it, a module that breaks it.
RULES = {
    records_know_nothing_above_them: ("discern.facts", "from discern.identity import path_value"),
    stages_know_records_and_survey: ("discern.stages.when", "from discern import pipeline"),
    pure_rooms_never_touch_the_world: ("discern.policy", "def read(path):\n    return open(path)"),
    pure_rooms_do_not_know_the_rim: ("discern.demand", "import discern.effects.git"),
    effects_decide_nothing: ("discern.effects.view", "def view():\n    from discern.pipeline import evaluate"),
    only_evaluation_knows_both_sides: ("discern.cli", "import discern.pipeline\nfrom discern.effects import git"),
    only_the_command_line_knows_the_reports: ("discern.evaluation", "from discern.report.text import render"),
    reports_look_nothing_up: ("discern.report.text", "import sys"),
    nobody_knows_the_command_line: ("discern.evaluation", "from discern.cli import run"),
    plain_names_are_never_imported: ("discern.pipeline", "from stages.universe import generated"),
    programs_start_through_one_door_each: ("discern.effects.view", "import os\nos.execvp('git', ['git'])"),
    start_up_stays_cheap: ("discern.cli", "from importlib.metadata import version"),
    modules_and_functions_fit_a_screen: ("discern.cli", "def f():\n" + "    x = 1\n" * 31),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_holds_in_every_room(rule):
    """The house's rule of this name: no module breaks it."""
    assert {module.name: broken for module in HOUSE if (broken := rule(module))} == {}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_objects_to_a_trespass(rule):
    """A rule that nothing can break protects nothing."""
    assert rule(Module(*RULES[rule]))


def test_every_module_has_its_room():
    """A new module is enrolled here, and a renamed one leaves no rule behind that holds of nothing."""
    single = RECORDS | TEXT | GROUPING | SURVEY | PURE | FACES | COMMAND
    shared = {"discern.stages", "discern.effects", "discern.evaluation", "discern.report", "discern.conformance"}
    assert {module.name for module in HOUSE if not within(module.name, shared)} == single
    for room in shared:
        assert sum(within(module.name, {room}) for module in HOUSE) > 1


EVALUATE = """
import sys
before = set(sys.modules)
from discern.cli import run
status = run(["evaluate", "--format", "json", "--root", sys.argv[1]])
print(status, *(set(sys.modules) - before), sep="\\n", file=sys.stderr)
"""


def test_an_evaluation_loads_nothing_that_is_felt(tmp_path):
    """Start-up is paid on every run: what is slow to import stays out, also when another package would bring it."""
    (tmp_path / "discern.toml").write_text('[checkpoints.all]\nadds_matching = ["x"]\nquestion = "Is it well?"\n')
    environment = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*identity, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *words], cwd=tmp_path, env=environment, check=True, timeout=60)
    (tmp_path / "new").write_text("x\n")
    run = subprocess.run(
        [sys.executable, "-c", EVALUATE, str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    status, *loaded = run.stderr.split("\n")
    assert status == "1"
    assert set(loaded) & (COSTLY | {"cattrs"}) == set()
    assert {"discern.evaluation", "discern.documents"} <= set(loaded)
