"""A `when` command from its input to its removal: every outcome, every way out, nothing left (spec 6.2 to 6.5, 6.8)."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from discern.effects import private, processes, when_command
from discern.effects.interruption import Cancel
from discern.effects.when_command import REDIRECTING, Bounds, answer
from discern.outcomes import Answered, Unanswered
from discern.stages.when import conclude
from discern.vocabulary import ACCOUNT_LIMIT, NESTED_VARIABLE, WHEN_INPUT_VARIABLE, WHEN_OUTPUT_LIMIT, WHEN_REASONS, WHEN_SECONDS

GRACE = 1.0  # seconds: what the cleanup may take (spec 6.4)
NOBODY = 65534
DOCUMENT = b'{"version": 1}'
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc to see what is left")


def left_behind(tag: str) -> int:
    """How many processes of a test are left: their command lines hold its tag."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                count += tag.encode() in Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
    return count


def wait_for(happened, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.005)


@pytest.fixture
def tag():
    """A `sleep` argument of this test alone; afterwards no such process is left."""
    text = f"300.{int.from_bytes(os.urandom(6), 'big')}"
    yield text
    assert left_behind(text) == 0


@pytest.fixture
def inputs(tmp_path):
    """The temporary directory for inputs; afterwards it is empty, and no descriptor was left open."""
    place = tmp_path / "temporary it's"
    place.mkdir()
    before = sorted(os.listdir("/proc/self/fd"))
    yield place
    assert list(place.iterdir()) == []
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def ask(inputs, root):
    """Runs one command with test bounds, and checks what holds of every answer."""

    def run(command: str, document: bytes | None = DOCUMENT, cancel=None, **bounds) -> Answered | Unanswered:
        limits = Bounds(**{"seconds": 5.0, "temporary": str(inputs), **bounds})
        outcome = answer(command, root=str(root), document=document, environment=os.environ, cancel=cancel, bounds=limits)
        if isinstance(outcome, Unanswered):
            assert outcome.account
            assert len(outcome.account) <= ACCOUNT_LIMIT
            assert outcome.account.isprintable()
        return outcome

    return run


def reason(outcome: Answered | Unanswered) -> str:
    assert isinstance(outcome, Unanswered), outcome
    return outcome.reason


# Spec 6.4, row by row.


def test_exits_0_and_10_are_answers(ask):
    """6.4: with the whole output, for the stage to read."""
    assert ask("echo DISCERN_MATCH a; exit 0") == Answered(0, b"DISCERN_MATCH a\n")
    assert ask("echo no; exit 10") == Answered(10, b"no\n")


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("exit 1", 1),
        ("exit 11", 11),
        ("no-such-command-xyz", 127),
        ("/", 126),
        ("if then", 2),
        ("kill -KILL $$", -9),
        ("exit 138", 138),
    ],
)
def test_any_other_end_is_an_answer_that_the_stage_calls_invalid(ask, command, status):
    """6.4: any other exit status, or death by a signal not sent by discern."""
    outcome = ask(command)
    assert isinstance(outcome, Answered)
    assert outcome.status == status


def test_a_command_that_ends_its_warden_is_invalid(ask, tag):
    """6.4, 6.5: its status is not known, so it is no answer."""
    assert reason(ask(f"sleep {tag} & kill -KILL $PPID; sleep {tag}")) == "when_invalid_exit"


@pytest.mark.parametrize(
    "bounds",
    [{"shell": "/no/shell"}, {"shell": "/"}, {"shell": __file__}],
    ids=["no shell", "a directory", "not executable"],
)
def test_not_started(ask, bounds):
    """6.4: the shell cannot be run."""
    assert reason(ask("exit 0", **bounds)) == "when_spawn_failed"


def test_not_started_for_its_length(ask):
    """6.4: a text that the system does not take."""
    outcome = ask("#" + "x" * 4_000_000)
    assert reason(outcome) == "when_spawn_failed"
    assert "Argument list too long" in outcome.account


def test_not_started_where_its_directory_is_gone(ask, root):
    """6.4: nothing runs elsewhere instead."""
    root.rmdir()
    assert reason(ask("exit 0")) == "when_spawn_failed"


def test_not_started_without_descriptors(ask, monkeypatch):
    """6.4: a process that cannot be started is told, and what was made is removed."""

    def refuse(*_args, **_more):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(processes.subprocess, "Popen", refuse)
    outcome = ask("exit 0")
    assert reason(outcome) == "when_spawn_failed"
    assert "temporarily" in outcome.account


def test_no_input_for_a_path_that_cannot_be_carried(ask):
    """6.3, 6.4: the command does not run."""
    assert reason(ask("exit 0", document=None)) == "when_input_failed"


def test_no_input_on_a_full_disk(ask):
    """6.3, 6.4: a half-written input is removed, and the command does not run. A bound on file sizes stands for the disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, usual[1]))
    try:
        assert reason(ask("exit 0", document=b"x" * 30_000)) == "when_input_failed"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_no_input_where_nothing_may_be_written(ask, inputs):
    """6.3, 6.4: with the directory and the system's reason in the account."""
    inputs.chmod(0o500)
    try:
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        outcome = ask("exit 0")
    finally:
        os.seteuid(os.getuid())
        inputs.chmod(0o700)
    assert reason(outcome) == "when_input_failed"
    assert "Permission denied" in outcome.account


def test_no_input_where_there_is_no_temporary_directory(ask):
    """6.3, 6.4: it is not looked for elsewhere once one is named."""
    assert reason(ask("exit 0", temporary="/no/place")) == "when_input_failed"
    assert reason(ask("exit 0", temporary="/dev/null")) == "when_input_failed"


def test_the_input_lies_where_the_environment_says(inputs, root):
    """6.3: the caller's, as all else that the command gets; not that of the process, which may be another's."""
    environment = os.environ | {"TMPDIR": str(inputs)}
    outcome = answer('dirname "$DISCERN_CHECKPOINT_INPUT"', root=str(root), document=DOCUMENT, environment=environment)
    assert isinstance(outcome, Answered)
    assert os.path.dirname(os.fsdecode(outcome.output).strip()) == str(inputs)


@pytest.mark.parametrize(
    "command",
    ["sleep TAG", "trap '' TERM INT HUP; sleep TAG & sleep TAG", "kill -STOP $$", "exec 1>&- 2>&-; setsid sleep TAG & sleep TAG"],
)
def test_not_finished_in_time(ask, tag, command):
    """6.4: and over within a second."""
    began = time.monotonic()
    assert reason(ask(command.replace("TAG", tag), seconds=0.3)) == "when_timeout"
    assert 0.3 <= time.monotonic() - began < 0.3 + GRACE


@pytest.mark.long
def test_not_finished_in_ten_seconds(ask, tag):
    """6.4: the usual bound, from the start."""
    began = time.monotonic()
    assert reason(ask(f"sleep {tag}", seconds=WHEN_SECONDS)) == "when_timeout"
    assert 10.0 <= time.monotonic() - began < 10.0 + GRACE
    assert ask("sleep 9.8; exit 10", seconds=WHEN_SECONDS) == Answered(10)


def test_too_much_output(ask):
    """6.4: over both streams; exactly the limit is admitted."""
    assert when_command.USUAL == (WHEN_SECONDS, WHEN_OUTPUT_LIMIT, "/bin/sh", None)
    half = WHEN_OUTPUT_LIMIT // 2
    assert isinstance(ask(f"head -c {half} /dev/zero; head -c {half} /dev/zero >&2"), Answered)
    assert reason(ask(f"head -c {half} /dev/zero; head -c {half + 1} /dev/zero >&2; exit 10")) == "when_output_limit"
    assert reason(ask("yes")) == "when_output_limit"


@pytest.mark.parametrize("make", [Cancel, threading.Event])
def test_cancelled(ask, tag, make):
    """6.3, 6.4: through an argument, from another thread; and before it has begun."""
    flag = make()
    threading.Timer(0.1, flag.set).start()
    began = time.monotonic()
    assert reason(ask(f"setsid sleep {tag} & sleep {tag}", cancel=flag)) == "when_cancelled"
    assert time.monotonic() - began < 0.1 + GRACE
    assert reason(ask("exit 0", cancel=flag)) == "when_cancelled"
    if isinstance(flag, Cancel):
        flag.close()


@pytest.mark.parametrize("end", ["exit 0", "exit 10", "exit 3", "kill -9 $$", "yes", "sleep 60"])
def test_input_that_cannot_be_removed_wins(ask, inputs, monkeypatch, end):
    """6.4: over every other outcome; the account says where it is."""
    unlink = os.unlink

    def refuse(name, **more) -> None:
        if name == "input.json":
            raise PermissionError(errno.EPERM, "Operation not permitted")
        unlink(name, **more)

    monkeypatch.setattr(private.os, "unlink", refuse)
    outcome = ask(end, seconds=0.3)
    monkeypatch.undo()
    assert reason(outcome) == "when_input_cleanup_failed"
    (place,) = inputs.iterdir()
    assert place.name in outcome.account
    private.sweep(str(inputs))


def test_half_an_input_that_cannot_be_removed_wins(ask, inputs, monkeypatch):
    """6.4: over `when_input_failed` too."""

    def refuse(*_args, **_more) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(private.os, "fchmod", refuse)
    assert reason(ask("exit 0")) == "when_input_cleanup_failed"
    monkeypatch.undo()
    private.sweep(str(inputs))


def test_every_reason_of_the_contract_is_tried_here():
    """6.4: a new reason needs a test of its own."""
    source = Path(__file__).read_text("utf-8")
    assert [name for name in WHEN_REASONS if f'== "{name}"' not in source] == []


# Spec 6.3: the input file.


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_the_input_is_private_whatever_the_umask(ask, inputs, umask):
    """6.3: mode 0600, in a directory that only the user can enter, named by an absolute path, with the bytes as given."""
    before = os.umask(umask)
    try:
        look = f'stat -c "%a %F %u" "${WHEN_INPUT_VARIABLE}" "$(dirname "${WHEN_INPUT_VARIABLE}")"; '
        outcome = ask(look + f'echo "${WHEN_INPUT_VARIABLE}"; cat "${WHEN_INPUT_VARIABLE}"; exit 10')
    finally:
        os.umask(before)
    assert isinstance(outcome, Answered)
    file, directory, path, document = outcome.output.decode().splitlines()
    assert (file, directory) == (f"600 regular file {os.geteuid()}", f"700 directory {os.geteuid()}")
    assert os.path.isabs(path)
    assert Path(path).parent.parent == inputs
    assert document.encode() == DOCUMENT


@pytest.mark.parametrize(
    "tampering",
    [
        'rm "$INPUT"',
        'rm -rf "$HERE"',
        ': > "$INPUT"',
        'chmod 0 "$INPUT" "$HERE"',
        'rm "$INPUT"; ln -s "$TARGET" "$INPUT"',
        'rm "$INPUT"; mkdir -p "$INPUT/x/y"; cp "$TARGET" "$INPUT/x/y"; ln -s "$TARGET" "$INPUT/x/z"; chmod -R 0 "$INPUT"',
        'rm "$INPUT"; mkfifo "$INPUT"',
        'cp "$INPUT" "$INPUT.copy"; mkdir "$HERE/.d"; mv "$INPUT" "$HERE/.d"',
        'mv "$HERE" "$HERE-moved"; rm -rf "$HERE-moved"',
        'mv "$HERE" "$HERE-moved"; ln -s "$(dirname "$TARGET")" "$HERE"; rm -rf "$HERE-moved"',
        'rm -rf "$HERE"; : > "$HERE"',
        'cd "$HERE"; deep=$(printf "d/%.0s" $(seq 120)); for i in 0 1 2 3 4 5 6 7 8 9; do mkdir -p $deep; cd $deep; done',
    ],
)
def test_whatever_the_command_did_to_its_input_is_removed(ask, tmp_path, tampering):
    """6.3: without following a link, and without calling it a failure."""
    target = tmp_path / "target" / "file"
    target.parent.mkdir()
    target.write_text("stays\n")
    named = f'INPUT="${WHEN_INPUT_VARIABLE}"; HERE="$(dirname "$INPUT")"; TARGET="{target}"; '
    assert ask(f"{named}{tampering}; exit 10", seconds=20) == Answered(10)
    assert target.read_text() == "stays\n"
    assert stat.S_IMODE(target.stat().st_mode) & 0o600 == 0o600


DRIVER = """
import os, sys
from discern.effects import private, when_command
from discern.effects.when_command import Bounds, answer

phase, inputs, marks, command = sys.argv[1:]

def pausing(function):
    def paused(*arguments, **more):
        open(marks + "/reached", "x").close()
        while not os.path.exists(marks + "/go"):
            pass
        return function(*arguments, **more)
    return paused

if phase == "before":
    private.make = pausing(private.make)
elif phase == "writing":
    chmod = os.fchmod
    private.os.fchmod = lambda *arguments: (pausing(chmod) if arguments[1] == 0o600 else chmod)(*arguments)
elif phase == "cleanup":
    private.PrivateDirectory.remove = pausing(private.PrivateDirectory.remove)
print(answer(command, root="/", document=b"{}", environment=os.environ, bounds=Bounds(temporary=inputs)), flush=True)
"""


def drive(phase: str, inputs: Path, marks: Path, command: str) -> subprocess.Popen[str]:
    """An evaluator of its own, which stops at a phase until it may go on."""
    argv = [sys.executable, "-c", DRIVER, phase, str(inputs), str(marks), command]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ending(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, error = process.communicate(timeout=20)
    assert "Traceback" not in error or process.returncode == -signal.SIGINT
    return process.returncode, output


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("phase", ["before", "writing", "running", "cleanup"])
def test_a_signal_takes_its_course_when_everything_is_gone(inputs, tmp_path, tag, phase, number):
    """6.3: file and tree first; then the evaluator ends by the very signal. Once one came, no command starts."""
    marks = tmp_path / "marks"
    marks.mkdir()
    command = f"setsid sleep {tag} & touch {marks}/ran; " + (
        "exit 10" if phase == "cleanup" else f"touch {marks}/reached; sleep {tag}"
    )
    process = drive(phase, inputs, marks, command)
    wait_for((marks / "reached").exists)
    process.send_signal(number)
    (marks / "go").touch()
    code, output = ending(process)
    assert (code, output) == (-number, "")
    assert list(inputs.iterdir()) == []
    assert (marks / "ran").exists() == (phase in ("running", "cleanup"))


def test_a_handler_of_the_callers_is_asked_at_the_end(ask, inputs, tag):
    """6.3: a library caller that handles a signal gets `when_cancelled`, and its handler finds everything removed."""
    found: list[list[Path]] = []
    before = signal.signal(signal.SIGTERM, lambda *_: found.append(list(inputs.iterdir())))
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        assert reason(ask(f"sleep {tag}")) == "when_cancelled"
        assert found == [[]]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_interrupt_is_raised_at_the_end(ask, inputs, tag):
    """6.3: Python's own handler, too, comes after the cleanup."""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ask(f"sleep {tag}")
    assert list(inputs.iterdir()) == []


def test_what_a_killed_evaluator_left_is_removed_by_the_next_run(ask, inputs, tmp_path, tag):
    """6.3, 6.5: its command's tree ends with it; the input stays until the next run comes by."""
    process = drive("running", inputs, tmp_path, f"touch {tmp_path}/reached; setsid sleep {tag} & sleep {tag}")
    wait_for((tmp_path / "reached").exists)
    process.kill()
    ending(process)
    wait_for(lambda: left_behind(f"sleep\0{tag}") == 0, 2.0)
    (left,) = inputs.iterdir()
    assert (left / "input.json").read_bytes() == b"{}"
    assert ask("ls .. >/dev/null; exit 10") == Answered(10)
    assert list(inputs.iterdir()) == []


def test_a_live_runs_input_is_not_removed(ask, inputs, tmp_path, tag):
    """6.3: another evaluator may be at work in the same temporary directory."""
    process = drive("running", inputs, tmp_path, f"touch {tmp_path}/reached; sleep {tag}")
    wait_for((tmp_path / "reached").exists)
    assert ask("exit 10") == Answered(10)
    (live,) = inputs.iterdir()
    assert (live / "input.json").exists()
    process.terminate()
    ending(process)


def test_nothing_but_our_own_directories_is_swept(ask, inputs, tmp_path):
    """6.3: no link is followed, no file or other user's directory is touched, whatever its name."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("stays")
    prefix = f"discern-when-{os.geteuid()}-"
    link, file, other, stranger = (inputs / name for name in (prefix + "l", prefix + "f", "discern-when-1x", prefix + "s"))
    link.symlink_to(precious)
    file.touch()
    other.mkdir()
    stranger.mkdir()
    if os.geteuid() == 0:
        os.chown(stranger, NOBODY, NOBODY)
    assert ask("exit 10") == Answered(10)
    assert (precious / "file").read_text() == "stays"
    kept = {link, file, other} | ({stranger} if os.geteuid() == 0 else set())
    assert set(inputs.iterdir()) == kept
    for entry in kept:
        entry.rmdir() if entry.is_dir() and not entry.is_symlink() else entry.unlink()


@pytest.mark.parametrize("call", ["chmod", "open", "flock"])
def test_a_directory_lost_to_a_sweep_is_made_again(inputs, monkeypatch, call):
    """6.3: between its making and its lock, another run may take it for a dead one's."""
    module = private.fcntl if call == "flock" else private.os
    usual, raced = getattr(module, call), []

    def late(*arguments, **more):
        if not raced:
            raced.append(call)
            private.sweep(str(inputs))
        return usual(*arguments, **more)

    monkeypatch.setattr(module, call, late)
    place = private.make(str(inputs), private.WHEN)
    monkeypatch.undo()
    assert raced
    assert [str(path) for path in inputs.iterdir()] == [place.path]
    assert place.remove() is None


# Spec 6.2: environment, directory, `discern`.


def test_git_is_not_redirected(ask, monkeypatch):
    """6.2: the caller's environment, without what a hook or `git -c` leaves there."""
    local = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True).stdout.split()
    assert set(local) <= REDIRECTING
    redirecting = (*REDIRECTING, "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0")
    for name in redirecting:
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("GIT_EDITOR", "kept")
    monkeypatch.setenv("KEPT", "a b")
    outcome = ask("env -0")
    seen = dict(row.split(b"=", 1) for row in outcome.output.rstrip(b"\0").split(b"\0"))
    assert [name for name in redirecting if name.encode() in seen] == []
    assert (seen[b"GIT_EDITOR"], seen[b"KEPT"]) == (b"kept", b"a b")
    assert seen[NESTED_VARIABLE.encode()] == b"1"


def test_the_command_runs_in_the_project_root(ask, root):
    """6.2: in the candidate's working tree, with empty standard input."""
    assert ask("pwd -P; wc -c; exit 10") == Answered(10, os.fsencode(root.resolve()) + b"\n0\n")


def test_discern_inside_is_the_running_program(ask, root, tmp_path, monkeypatch):
    """6.2, 9.4: first in PATH, the same interpreter and package, and nothing of the candidate's, whatever PYTHONPATH says."""
    traps = ["discern", "stages", "effects", "returns", "attr", "toolz"]
    for name in traps:
        (root / name).mkdir()
        (root / name / "__init__.py").write_text(f"open({str(tmp_path / name)!r} + '.ran', 'w')")
    for name in ("json", "argparse", "sitecustomize"):
        (root / f"{name}.py").write_text(f"open({str(tmp_path / name)!r} + '.ran', 'w')")
    decoy = root / "bin" / "discern"
    decoy.parent.mkdir()
    decoy.write_text("#!/bin/sh\nexit 99\n")
    decoy.chmod(0o755)
    interpreter = tmp_path / 'the python\'s "own" $HOME'
    interpreter.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("PATH", f"{decoy.parent}:{os.environ['PATH']}")
    outcome = ask("discern --help; exit 10")
    assert isinstance(outcome, Answered)
    assert outcome.output.startswith(b"usage: discern")
    assert list(tmp_path.glob("*.ran")) == []


def test_discern_inside_keeps_arguments_and_status(ask):
    """6.2: words with blanks stay one word; an unknown flag is a usage error."""
    assert ask("discern evaluate --no-such-flag 'a b' 2>/dev/null; echo $?; exit 10") == Answered(10, b"2\n")


def test_the_running_programs_own_home_stays_on_its_path(root, monkeypatch):
    """6.2: also where it was found through a relative entry, and where the candidate is its own source."""
    home = str(Path(when_command.discern.__file__).parents[1])
    monkeypatch.setattr(sys, "path", ["", ".", "src", "/usr/lib/x", str(root)])
    assert f"[{home!r}, '/usr/lib/x']" in when_command.itself(str(root)).decode().replace("'\"'\"'", "'")
    monkeypatch.setattr(sys, "path", ["/usr/lib/x", home])
    assert f"[{home!r}, '/usr/lib/x']" in when_command.itself(home).decode().replace("'\"'\"'", "'")


def test_where_nothing_may_be_executed_discern_is_a_link(ask, root, monkeypatch):
    """6.2: to the installed command; a temporary directory is often mounted so."""
    installed = root / "discern"
    installed.write_text("#!/bin/sh\necho installed\n")
    installed.chmod(0o755)
    monkeypatch.setattr(private.PrivateDirectory, "forbids_execution", lambda _: True)
    monkeypatch.setattr(when_command, "sys", type("Python", (), {"executable": str(root / "python"), "path": sys.path}))
    assert ask("discern; exit 10") == Answered(10, b"installed\n")


def test_commands_run_side_by_side(ask, tag):
    """6.5: in any number of threads, each with its own input."""
    outcomes: list[Answered | Unanswered] = []
    commands = [f'setsid sleep {tag} & test -f "${WHEN_INPUT_VARIABLE}" && exit {number}' for number in (0, 10, 3)] + [
        f"sleep {tag}"
    ]
    threads = [threading.Thread(target=lambda text=text: outcomes.append(ask(text, seconds=1.0))) for text in commands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.status for outcome in outcomes if isinstance(outcome, Answered)) == [0, 3, 10]
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Unanswered)] == ["when_timeout"]


# Spec 6.5: a long row of commands that misbehave.

MISBEHAVING = (
    ("sleep TAG & exit 10", 10),
    ("setsid sleep TAG & exit 0", 0),
    ("(setsid env -i sleep TAG >/dev/null 2>&1 &); exit 10", 10),
    ("sh -c 'kill -STOP $$; sleep TAG' & exit 10", 10),
    ("trap '' TERM INT HUP; sleep TAG", "when_timeout"),
    ("kill -STOP $PPID; sleep TAG", "when_timeout"),
    ("while :; do setsid sleep TAG & sleep 0.01; done", "when_timeout"),
    ("bomb() { [ $1 -gt 0 ] && { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; sleep TAG; }; bomb 4", "when_timeout"),
    ("kill -KILL $PPID; sleep TAG", "when_invalid_exit"),
    ("sleep TAG & kill -KILL $$", -9),
    ("yes & yes >&2", "when_output_limit"),
    (f'rm "${WHEN_INPUT_VARIABLE}"; mkdir "${WHEN_INPUT_VARIABLE}"; exit 10', 10),
    (f'chmod 0 "$(dirname "${WHEN_INPUT_VARIABLE}")"; sleep TAG & exit 3', 3),
    ("exec 1>&- 2>&-; sleep TAG", "when_timeout"),
)


def misbehave(ask, tag: str, runs: int) -> None:
    for number in range(runs):
        command, wanted = MISBEHAVING[number % len(MISBEHAVING)]
        outcome = ask(command.replace("TAG", tag), seconds=0.15 if wanted == "when_timeout" else 5.0)
        assert (outcome.status if isinstance(outcome, Answered) else outcome.reason) == wanted, command
        assert left_behind(tag) == 0, command


def test_misbehaving_commands_leave_nothing(ask, tag):
    """6.5: no process, file or descriptor (the fixtures look)."""
    misbehave(ask, tag, 2 * len(MISBEHAVING))


@pytest.mark.long
def test_a_thousand_misbehaving_commands_leave_nothing(ask, tag):
    """6.5: nor after a thousand of them."""
    misbehave(ask, tag, 1000)


def test_no_failure_reads_as_a_pass():
    """6.7: every reason, given to the stage, is indeterminate."""
    from discern.outcomes import Evaluation, Step

    undecided = Evaluation(id="x", outcome="undecided", matched=("a",), steps=(Step("when", 1, None),))
    assert {conclude(undecided, Unanswered(name)).outcome for name in WHEN_REASONS} == {"indeterminate"}
