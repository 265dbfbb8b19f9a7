"""The face that other code builds on: what it offers, what it loads, and that it leaves the process around it alone."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest
from returns.result import Failure, Success

import discern
from discern import ChangedFile, Definition, Facts, History, Lines, PolicyInvalid, Refused, Unavailable
from discern.cli import run
from tests.conftest import Start
from tests.repositories import Repo

ROOT = Path(__file__).parents[1]
GOOD = """[checkpoints.ask]
paths = ["*.py"]
adds_matching = ["print("]
question = "Is it meant to stay?"

[checkpoints.large]
mode = "advise"
min_changed_lines = 400
question = "Can it be read in one sitting?"

"""
POLICY = f"""{GOOD}[checkpoints.misspelt]
path = ["a"]
question = "Never asked."
"""
COMMANDED = '[checkpoints.slow]\nwhen = """{}"""\nquestion = "Is it well?"\n'


def edited(start: Start, policy: str = POLICY, name: str = "one") -> Repo:
    repo = start({"a.py": "pass\n"}, policy=policy, name=name)
    repo.write("a.py", "print()\n")
    return repo


# What there is, and what it costs.


def test_every_public_name_is_there_and_documented():
    """The list for people and checkers and the table that loads them agree; `dir` shows them; nothing else is handed out."""
    assert sorted(discern.__all__, key=str.lower) == sorted(discern._HOME_OF, key=str.lower)
    assert set(discern.__all__) <= set(dir(discern))
    for name in discern.__all__:
        assert getattr(discern, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        discern.nothing  # noqa: B018


def loaded(code: str, *arguments: str, cwd: Path = ROOT, environment: dict[str, str] | None = None) -> set[str]:
    """The modules that a piece of code adds to those of a bare interpreter."""
    program = f"import sys; before = set(sys.modules)\n{code}\nsys.stderr.write('\\n'.join(sys.modules.keys() - before))"
    variables = {**(environment or {"PATH": os.environ["PATH"]}), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments], cwd=cwd, env=variables, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split("\n"))


def test_importing_the_face_costs_next_to_nothing():
    """`import discern` loads none of the libraries it stands on, so it costs far less than they do."""
    foundation = loaded("import attrs, cattrs, returns.result, toolz")
    assert loaded("import discern") <= {"discern", "__future__"}
    assert len(foundation) > 100


LIBRARIES = {"attr", "attrs", "returns", "cattrs", "toolz"}
HEAVY = {
    *("asyncio", "concurrent.futures", "dataclasses", "decimal", "difflib", "email", "importlib.metadata", "logging"),
    *("multiprocessing", "pathlib", "pickle", "random", "socket", "ssl", "subprocess", "tempfile", "unittest", "urllib"),
    *("returns.future", "returns.methods", "returns.pointfree", "discern.conformance", "discern.demo"),
}
EVALUATION = {"discern.evaluation", "discern.pipeline", "discern.policy", "discern.stages.narrowing", "tomllib"}
COMMANDS = {
    "--help": LIBRARIES | HEAVY | EVALUATION | {"json"},
    "evaluate": {"cattrs", "toolz"} | HEAVY | {"discern.effects.when_command"},
    "evaluate --format json": {"cattrs", "toolz"} | HEAVY | {"discern.effects.when_command", "discern.report"},
    "declare ask --met": {"cattrs", "toolz", "tomllib"} | HEAVY | {"discern.report"},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_only_what_it_needs(start: Start, command):
    """Start-up is felt on every run: what is slow to import stays out, also when another package would bring it."""
    repo = edited(start, GOOD)
    code = "from discern.cli import run\ntry:\n    run(sys.argv[1:])\nexcept SystemExit:\n    pass"
    assert run(["evaluate", "--root", str(repo.path)], stdout=io.StringIO(), environment=repo.environment) == 1
    got = loaded(code, *command.split(), cwd=repo.path, environment=repo.environment)
    assert got & COMMANDS[command] == set()
    assert "discern.cli" in got


# What goes in and comes out.


def test_a_policy_is_read_or_refused_as_a_value():
    """spec 1.3, 1.5: a bad entry drops alone; a file that cannot be used is a Failure with a record."""
    policy = discern.load_policy(POLICY.encode()).unwrap()
    assert [definition.id for definition in policy.definitions] == ["ask", "large"]
    assert [(drop.id, drop.reason) for drop in policy.drops] == [("misspelt", "checkpoint_definition_invalid")]
    for text in (b"\xff", b"[checkpoints", b"checkpoints = 1", b"[generated.a]\npaths = [1]"):
        assert isinstance(discern.load_policy(text).failure(), PolicyInvalid)


def test_a_question_file_is_given_by_its_path():
    """spec 2.3: whoever has no repository says what the question files hold."""
    text = b'[checkpoints.a]\nquestion_file = "ask.md"\n'
    assert discern.load_policy(text, {"ask.md": "Is it well?"}).unwrap().definitions[0].question == "Is it well?"
    assert discern.load_policy(text).unwrap().drops[0].reason == "checkpoint_question_file_unavailable"


def test_judging_is_pure_and_total():
    """spec 5: each outcome is a value, a missing fact among them, and one definition is judged as among others."""
    facts = Facts.of([ChangedFile("b", "added", binary=False, lines=Lines(3, 0)), ChangedFile("a", "deleted")])
    definitions = [
        Definition(id="fires", question="?"),
        Definition(id="no", question="?", kinds=("modified",)),
        Definition(id="lost", question="?", min_changed_lines=1),
        Definition(id="asks", question="?", paths=("b",), when="true"),
    ]
    together = discern.judge_all(definitions, facts)
    assert [one.outcome for one in together] == ["fired", "vetoed", "dropped", "undecided"]
    assert together == tuple(discern.judge(definition, facts) for definition in definitions)
    assert discern.conclude(together[3], discern.Answered(10)).outcome == "passed"


def test_the_library_says_what_the_command_says(start: Start):
    """spec 9: one evaluation, as records and as a document; the document reads back and writes out the same."""
    repo = edited(start)
    out = io.StringIO()
    assert run(["evaluate", "--format", "json", "--dry-run", "--root", str(repo.path)], stdout=out, environment=repo.environment)
    result = discern.evaluate(repo.path, dry_run=True, environment=repo.environment).unwrap()
    document = discern.result_document(result)
    assert json.loads(json.dumps(document)) == json.loads(out.getvalue())
    read = discern.read_result(json.loads(out.getvalue()))
    assert isinstance(read, discern.Result)
    assert discern.result_document(read) == document
    assert isinstance(discern.read_result({"version": 2}), discern.DocumentFault)


def test_what_is_collected_can_be_judged_elsewhere(start: Start):
    """spec 4, 5: the facts and definitions of a working tree, or of a commit, give the outcomes of an evaluation."""
    repo = edited(start)
    worktree = discern.collect(repo.path, environment=repo.environment).unwrap()
    evaluated = discern.evaluate(repo.path, dry_run=True, environment=repo.environment).unwrap()
    assert discern.judge_all(*pickle.loads(pickle.dumps((worktree.definitions, worktree.facts)))) == tuple(
        one.evaluation for one in evaluated.checkpoints
    )
    assert (worktree.policy_commit, worktree.head, worktree.drops) == (repo.rev("main"), repo.rev("HEAD"), evaluated.drops)
    repo.commit()
    commit = discern.collect(repo.path, commit="HEAD", ids=["ask"], environment=repo.environment).unwrap()
    assert commit.facts is not None
    assert [change.path for change in commit.facts.changes] == ["a.py"]
    assert [definition.id for definition in commit.definitions] == ["ask"]


def test_nothing_is_collected_where_nothing_can_be_judged(start: Start):
    """spec 1.2, 4.12: no merge-base, no definition or no view: there are no facts, and a drop says why."""
    repo = edited(start)
    (repo.directory / "index").write_bytes(b"no index")
    lost = discern.collect(repo.path, environment=repo.environment).unwrap()
    assert (lost.facts, {drop.reason for drop in lost.drops}) == (
        None,
        {"checkpoint_definition_invalid", "effort_diff_unreadable"},
    )
    assert lost.drops == discern.evaluate(repo.path, dry_run=True, environment=repo.environment).unwrap().drops
    repo.remove(".git/index")
    repo.git("read-tree", "HEAD")
    repo.git("checkout", "--quiet", "--orphan", "alone")
    unborn = discern.collect(repo.path, environment=repo.environment).unwrap()
    assert (unborn.facts, [drop.reason for drop in unborn.drops]) == (None, ["merge_base_unresolved"])
    empty = start(policy="", name="two")
    nothing = discern.collect(empty.path, environment=empty.environment).unwrap()
    assert (nothing.facts, nothing.definitions, nothing.drops) == (None, (), ())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"root": "/nowhere"}, "no such directory"),
        ({"root": "/"}, "not a Git working tree"),
        ({"trunk": "nowhere"}, "trunk nowhere: no branch"),
        ({"commit": "nowhere"}, "resolves this to no commit"),
        ({"ids": ["nobody"]}, "no such checkpoint; it has ask, large, misspelt"),
    ],
)
@pytest.mark.parametrize("function", [discern.evaluate, discern.collect])
def test_what_cannot_be_evaluated_is_a_failure(start: Start, function, more, said):
    """spec 9.1: where the command ends with 2, the library gives a Failure whose record says why, and raises nothing."""
    repo = edited(start)
    refused = function(**{"root": repo.path, "environment": repo.environment, **more}).failure()
    assert isinstance(refused, Refused)
    assert said in refused.message


def test_the_environment_names_the_trunk_as_for_the_command(start: Start):
    """spec 1.1, 1.2: DISCERN_TRUNK counts if no argument names a trunk; empty it is unset."""
    repo = edited(start)
    repo.git("branch", "other")

    def trunk(value: str, **more: str) -> str | None:
        return (
            discern.evaluate(repo.path, dry_run=True, environment={**repo.environment, "DISCERN_TRUNK": value}, **more)
            .unwrap()
            .trunk
        )

    assert [trunk("other"), trunk(""), trunk("other", trunk="main")] == ["refs/heads/other", "refs/heads/main", "refs/heads/main"]
    refused = discern.evaluate(repo.path, environment={**repo.environment, "DISCERN_TRUNK": "nowhere"}).failure()
    assert refused.message.startswith("DISCERN_TRUNK nowhere: ")


# A child for each limit, so that every one begins afresh.
SCARCE = """
import os, resource, sys
from discern import evaluate
evaluate(sys.argv[1], dry_run=True)  # what is imported on the way is
for most in range(4, 24):
    if os.fork() == 0:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        found = evaluate(sys.argv[1], dry_run=True)
        print(most, found.map(lambda result: "result").value_or("") or "refused: " + found.failure().message, flush=True)
        os._exit(0)
    if os.wait()[1] != 0:
        sys.exit(f"with {most} descriptors")
"""


def test_a_machine_without_room_is_a_failure_too(start: Start):
    """spec 9.1: however few files may be open, the answer is a result or a refusal in one line, never an exception."""
    repo = edited(start)
    environment = {**repo.environment, "PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-P", "-c", SCARCE, str(repo.path)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert len(said) == 20
    assert said["23"] == "result"
    assert {words.split(":")[0] for words in said.values()} == {"result", "refused"}
    assert "Too many open files" in said["4"]


def records(start: Start) -> list[object]:
    repo = edited(start)
    more = {"environment": repo.environment}
    return [
        discern.load_policy(POLICY.encode()),
        discern.load_policy(b"\xff"),
        discern.collect(repo.path, **more),
        discern.evaluate(repo.path, **more),
        discern.evaluate(repo.path, ids=["nobody"], **more),
        Facts.of([ChangedFile("a", "added", content=Unavailable("unreadable"))], history=History(())),
        discern.read_result({}),
    ]


def test_records_are_frozen_and_travel(start: Start):
    """Whatever goes in or comes out can be pickled, compares by value afterwards, and cannot be altered."""
    for record in records(start):
        assert pickle.loads(pickle.dumps(record)) == record
        inner = record.unwrap() if isinstance(record, Success) else record.failure() if isinstance(record, Failure) else record
        hash(inner)
        name = inner._fields[0] if isinstance(inner, tuple) else attrs.fields(type(inner))[0].name
        with pytest.raises(AttributeError):
            setattr(inner, name, None)


# The process around it.


def around() -> dict[str, object]:
    """What a library must leave as it is."""
    return {
        "descriptors": sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else [],
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "handlers": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)],
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "threads": threading.active_count(),
        "recursion": sys.getrecursionlimit(),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
    }


def test_the_process_around_it_is_left_alone(start: Start, capfd):
    """Nothing is printed, and after a whole evaluation with a command no descriptor, child, handler or variable is another."""
    repo = edited(start, POLICY + COMMANDED.format("echo loud; echo louder >&2; exit 10"))
    before = around()
    result = discern.evaluate(repo.path, environment=repo.environment).unwrap()
    assert [one.evaluation.outcome for one in result.checkpoints] == ["fired", "vetoed", "passed"]
    assert around() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert capfd.readouterr() == ("", "")
    assert os.listdir(repo.environment["TMPDIR"]) == []


def test_threads_do_not_disturb_each_other(start: Start):
    """Evaluations in several threads at once, of one worktree and of others, give what each gives alone."""
    policy = POLICY + COMMANDED.format("exit 0")
    repos = [edited(start, policy, name=f"n{number}") for number in range(3)]
    for number, repo in enumerate(repos):
        repo.write(f"more{number}.py", "print()\n")
    alone = [discern.evaluate(repo.path, environment=repo.environment).unwrap() for repo in repos]
    places = [number % 3 for number in range(9)]
    with ThreadPoolExecutor(max_workers=5) as pool:
        found = pool.map(lambda place: discern.evaluate(repos[place].path, environment=repos[place].environment).unwrap(), places)
        assert list(found) == [alone[place] for place in places]


@pytest.mark.parametrize("make", [threading.Event, discern.Cancel])
def test_a_running_command_is_cancelled_from_another_thread(start: Start, make):
    """spec 6.4, 6.5: it ends at once, its outcome is indeterminate with `when_cancelled`, and nothing of it is left."""
    later = '[checkpoints.later]\nwhen = "touch later"\nquestion = "Is it well?"\n'
    repo = edited(start, COMMANDED.format("echo $$ > pid.new; mv pid.new pid; sleep 60") + later)
    cancel = make()
    with ThreadPoolExecutor() as pool:
        evaluation = pool.submit(discern.evaluate, repo.path, environment=repo.environment, cancel=cancel)
        deadline = time.monotonic() + 30
        while not repo.at("pid").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        cancelled = time.monotonic()
        cancel.set()
        result = evaluation.result().unwrap()
    assert time.monotonic() - cancelled < 10
    found = [(one.evaluation.outcome, one.evaluation.drop and one.evaluation.drop.reason) for one in result.checkpoints]
    assert found == [("indeterminate", "when_cancelled")] * 2
    assert (result.blocking, repo.at("later").exists()) == (True, False)
    with pytest.raises(ProcessLookupError):
        os.kill(int(repo.at("pid").read_text()), 0)
    if isinstance(cancel, discern.Cancel):
        cancel.close()
