"""Running one command: bounds of time and output, and nothing left of it (spec 6.4, 6.5)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from discern.effects import processes, warden
from discern.effects.interruption import Cancel, deferred_signals
from discern.effects.processes import Ended, Stopped, run

LIMIT = 262_144
GRACE = 1.0  # seconds: what the cleanup may take (spec 6.4)
pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc to see what is left")


def command_lines() -> list[bytes]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                found.append(Path("/proc", name, "cmdline").read_bytes())
            except OSError:
                continue
    return found


def sleepers(tag: str) -> int:
    """How many processes of this test are left: each is a `sleep` of so many seconds as nobody else would ask for."""
    return sum(tag.encode() in line for line in command_lines())


def children() -> list[int]:
    """Our own children, ended ones included."""
    seen = map(warden.look, (int(name) for name in os.listdir("/proc") if name.isdecimal()))
    return [process[0] for process in seen if process is not None and process[1] == os.getpid()]


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@pytest.fixture
def tag(request):
    """A `sleep` argument of this test alone. After the test no process of it is left, nor a child, nor a descriptor."""
    text = f"300.{abs(hash(request.node.nodeid)) % 10**9:09d}{os.getpid()}"
    before = descriptors(), children()
    yield text
    assert sleepers(text) == 0
    assert (descriptors(), children()) == before


@pytest.fixture
def sh(tmp_path):
    """Runs a shell command and says what came of it."""

    def start(text: str, seconds: float = 5.0, limit: int = LIMIT, **more) -> Ended | Stopped:
        mark = f"MARK={os.urandom(8).hex()}"
        environment = {**os.environ, "MARK": mark.removeprefix("MARK=")}
        bounds = {"seconds": seconds, "output_limit": limit, "mark": mark, "environment": environment, "cwd": str(tmp_path)}
        return run(["sh", "-c", text], **{"program": "/bin/sh", **bounds, **more})

    return start


class Timed:
    """Seconds a block took."""

    def __enter__(self):
        self.began = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.began


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("exit 0", 0),
        ("exit 10", 10),
        ("exit 255", 255),
        ("no-such-command-xyz", 127),
        ("/", 126),
        ("if then", 2),
        ("kill -KILL $$", -signal.SIGKILL),
        ("kill -TERM $$", -signal.SIGTERM),
        ("exit 138", 138),
    ],
)
def test_the_exit_status_is_the_commands_own(sh, tag, text, status):
    """6.4: exit statuses and deaths by signal come back as they are."""
    ended = sh(text)
    assert isinstance(ended, Ended)
    assert ended.status == status


def test_both_streams_come_back_whole(sh, tag):
    """6.6: a line of standard error never stands inside a line of standard output."""
    assert sh("printf 'a'; printf 'b\\n' >&2; printf 'c'; printf 'd' >&2") == Ended(0, b"ac\nb\nd")
    assert sh("printf 'a\\n'; printf 'b' >&2") == Ended(0, b"a\nb")
    assert sh("printf 'b' >&2") == Ended(0, b"b")


def test_the_environment_and_directory_are_exactly_what_was_given(sh, tmp_path, tag):
    """6.2: not a variable more or less than the caller's, even in a locale that Python would change."""
    environment = {"A": "1", "B": "x=y\n", "LC_ALL": "C", "C": "\udcff"}
    ended = sh("/usr/bin/env -0", environment=environment)
    seen = dict(row.split(b"=", 1) for row in ended.output.rstrip(b"\0").split(b"\0"))
    wanted = {b"A": b"1", b"B": b"x=y\n", b"LC_ALL": b"C", b"C": b"\xff"}
    assert seen.items() >= wanted.items()
    assert seen.keys() - wanted.keys() <= {b"PWD", b"OLDPWD", b"SHLVL", b"_"}  # the shell's own
    assert sh("pwd -P").output == os.fsencode(tmp_path.resolve()) + b"\n"


def test_the_command_has_a_session_and_nothing_of_ours(sh, tag):
    """6.2, 6.5: its own session, no terminal, usual signals, empty standard input, and no descriptor but the three."""
    report = sh(
        "echo session $$ $(cut -d' ' -f6 /proc/$$/stat); wc -c; ls /proc/$$/fd | tr '\\n' ' '; echo; "
        "grep -E 'SigBlk|SigIgn' /proc/self/status; (exec 3</dev/tty) 2>/dev/null || echo no terminal"
    ).output.decode()
    words = report.split()
    assert words[1] == words[2]
    assert "0\n0 1 2 " in report
    assert "no terminal" in report
    assert [line.split()[1] for line in report.splitlines() if line.startswith("SigBlk")] == ["0" * 16]
    assert all(int(line.split()[1], 16) & 1 << signal.SIGPIPE - 1 == 0 for line in report.splitlines() if "SigIgn" in line)


@pytest.mark.parametrize("stdin", ["<&-", "< /dev/null", "< $FIFO"])
def test_standard_input_is_empty_whatever_the_callers_is(tmp_path, stdin):
    """6.2: the command meets an end at once, and the caller's own input is not touched."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    holder = os.open(fifo, os.O_RDWR)
    os.write(holder, b"for the caller\n")
    driver = tmp_path / "driver.py"
    driver.write_text(
        textwrap.dedent("""
            import sys
            from discern.effects.processes import run
            environment = {"PATH": "/usr/bin:/bin"}
            text = "cat; read x; echo $?; exit 10"
            ended = run(["sh", "-c", text], program="/bin/sh", cwd="/", environment=environment, seconds=5, output_limit=100)
            with open(sys.argv[1], "w") as file:
                file.write(repr(ended))
        """)
    )
    answer = tmp_path / "answer"
    script = f'exec "$0" "$1" "$2" {stdin} >&- 2>&-'
    env = {**os.environ, "FIFO": str(fifo)}
    subprocess.run(["sh", "-c", script, sys.executable, driver, answer], env=env, check=True, timeout=20)
    assert answer.read_text() == repr(Ended(10, b"1\n"))
    os.set_blocking(holder, False)
    assert os.read(holder, 100) == b"for the caller\n"
    os.close(holder)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("head -c 5000 /dev/zero", None),
        ("head -c 5001 /dev/zero", "too much"),
        ("head -c 5000 /dev/zero >&2", None),
        ("head -c 5001 /dev/zero >&2", "too much"),
        ("head -c 2500 /dev/zero; head -c 2500 /dev/zero >&2", None),
        ("head -c 2500 /dev/zero; head -c 2501 /dev/zero >&2", "too much"),
        ("head -c 60000 /dev/zero; exit 10", "too much"),
        ("yes", "too much"),
        ("yes >&2 & yes", "too much"),
        ("trap '' PIPE TERM; yes || true", "too much"),
    ],
)
def test_output_is_counted_over_both_streams(sh, tag, text, why):
    """6.4: exactly at the limit is admitted, a byte more is not, and a flood is stopped, not drained."""
    with Timed() as timed:
        ending = sh(text, limit=5000)
    assert (ending.why if isinstance(ending, Stopped) else None) == why
    assert why or len(ending.output) in (5000, 5001)
    assert timed.seconds < 2


def test_the_usual_limit_is_exact(sh, tag):
    """6.4: 262,144 bytes are more than a pipe holds, so that part is read while the command runs and part after it."""
    assert len(sh(f"head -c {LIMIT} /dev/zero").output) == LIMIT
    assert sh(f"head -c {LIMIT + 1} /dev/zero") == Stopped("too much")


@pytest.mark.parametrize(
    "text",
    [
        "sleep TAG & exit 10",
        "setsid sleep TAG & exit 10",
        "(sleep TAG &) ; exit 10",
        "(setsid env -i sleep TAG >/dev/null 2>&1 &) ; exit 10",
        "(sleep TAG; echo late) & exit 10",
        "trap '' TERM INT HUP; sleep TAG & exit 10",
        "sh -c 'kill -STOP $$; sleep TAG' & exit 10",
        "setsid sh -c 'sleep TAG & setsid sleep TAG & sleep TAG' & sleep 0.05; exit 10",
    ],
)
def test_a_child_delays_nothing_and_does_not_survive(sh, tag, text):
    """6.5: when the command itself has exited its status counts, and what it started ends."""
    with Timed() as timed:
        assert sh(text.replace("TAG", tag)) == Ended(10, b"")
    assert timed.seconds < 2


@pytest.mark.parametrize(
    "text",
    [
        "sleep TAG",
        "sleep TAG & wait",
        "trap '' TERM INT HUP QUIT; sleep TAG; sleep TAG",
        "kill -STOP $$",
        "exec 1>&- 2>&-; sleep TAG",
        "setsid sh -c 'sleep TAG & sleep TAG' & sleep TAG",
        "kill -STOP $PPID; sleep TAG",
        "cat /dev/zero > /dev/null",
        "while :; do setsid sleep TAG & sleep 0.002; done",
        "keep() { sleep TAG & wait $!; keep; }; keep & keep & keep",
    ],
)
def test_time_is_up_for_the_whole_tree(sh, tag, text):
    """6.4, 6.5: whatever the command does, it is over shortly after its time."""
    with Timed() as timed:
        assert sh(text.replace("TAG", tag), seconds=0.3) == Stopped("too long")
    assert 0.3 <= timed.seconds < 0.3 + GRACE


def test_a_capped_fork_bomb_is_ended(sh, tag):
    """6.5: what multiplies is stopped while it is counted."""
    bomb = f'bomb() {{ if [ "$1" -gt 0 ]; then bomb $(($1 - 1)) & bomb $(($1 - 1)) & fi; sleep {tag}; }}; bomb 7'
    with Timed() as timed:
        assert sh(bomb, seconds=0.4) == Stopped("too long")
    assert timed.seconds < 0.4 + GRACE


def test_a_process_whose_first_thread_is_gone_is_ended(sh, tag):
    """6.5: it looks like a zombie, but its other threads run on."""
    start = f"threading.Thread(target=time.sleep, args=({tag},)).start()"
    code = f"import ctypes, threading, time; {start}; ctypes.CDLL(None).pthread_exit(0)"
    assert sh(f"setsid {sys.executable} -S -c '{code}' & sleep 0.3; exit 10") == Ended(10, b"")


def test_a_command_that_kills_its_warden_is_found_by_its_mark(sh, tag):
    """6.5: its exit status is not known then, and it is no answer."""
    with Timed() as timed:
        assert sh(f"(setsid sleep {tag} &); sleep 0.05; kill -KILL $PPID; sleep {tag}", seconds=5) == Stopped("lost")
    assert timed.seconds < GRACE


def test_a_command_that_asks_its_warden_to_end_is_ended(sh, tag):
    """6.5: signals that can be caught do not make the warden drop anything."""
    assert sh(f"kill -INT $PPID; kill -HUP $PPID; kill -QUIT $PPID; kill -USR1 $PPID; sleep {tag} & exit 10") == Ended(10, b"")
    assert sh(f"sleep {tag} & kill -TERM $PPID; sleep {tag}") == Stopped("lost")


def test_a_forged_report_does_not_pass_for_the_wardens(sh, tag):
    """6.5: the word "clear" counts only together with the warden's own exit status."""
    forge = f"sleep {tag} & for fd in /proc/$PPID/fd/*; do printf 'clear\\n' > $fd; done 2>/dev/null; kill -KILL $PPID"
    assert sh(forge) == Stopped("lost")


def test_a_tree_that_cannot_be_cleared_is_lost(sh, tag, monkeypatch, tmp_path):
    """6.5: a survivor is never passed over in silence."""
    source = Path(processes.WARDEN).read_text().replace("def end_all(", "def end_all(*_): return True\n\n\ndef unused(")
    blunt = tmp_path / "warden.py"
    blunt.write_text(source.replace("CLEARING_SECONDS = 0.7", "CLEARING_SECONDS = 0.1"))
    monkeypatch.setattr(processes, "WARDEN", str(blunt))
    assert sh(f"sleep {tag} & exit 10") == Stopped("lost")


@pytest.mark.parametrize(
    ("what", "account"),
    [
        ({"program": "/no/shell"}, "program: No such file or directory"),
        ({"program": "/"}, "program: Permission denied"),
        ({"cwd": "/no/place"}, "directory: No such file or directory"),
        ({"environment": {"A": "\0"}}, "a NUL character cannot be passed to a program"),
    ],
)
def test_what_cannot_be_started_says_why(sh, tag, what, account):
    """6.4: not started is an outcome of its own, with the system's reason."""
    assert sh("exit 0", **what) == Stopped("not started", account)


def test_a_text_that_is_too_long_cannot_be_started(sh, tag):
    """6.4: the system bounds one argument, usually at 128 KiB."""
    assert sh("#" + "x" * 4_000_000) == Stopped("not started", "program: Argument list too long")


def test_no_process_to_be_had_is_told(monkeypatch):
    """6.4: a refused fork is reported like a refused program."""

    def refuse() -> int:
        raise BlockingIOError(11, "no")

    monkeypatch.setattr(os, "fork", refuse)
    assert warden.start([b"/bin/sh", b"/", b"0"], ()) == "process 11"


@pytest.mark.parametrize("executable", ["", "/no/python", "/bin/false"])
def test_a_warden_that_cannot_start_is_told(sh, tag, monkeypatch, executable):
    """6.4: without an interpreter nothing runs, and it says so."""
    monkeypatch.setattr(sys, "executable", executable)
    ending = sh("exit 0")
    assert isinstance(ending, Stopped)
    assert ending.why == "not started"
    assert ending.account


def cancel_after(seconds: float, flag: Cancel | threading.Event) -> threading.Thread:
    thread = threading.Timer(seconds, flag.set)
    thread.start()
    return thread


@pytest.mark.parametrize("make", [Cancel, threading.Event])
def test_another_thread_cancels(sh, tag, make: Callable[[], Cancel | threading.Event]):
    """6.3: through a flag, at once for a `Cancel`, within a moment for any other."""
    flag = make()
    with Timed() as timed:
        thread = cancel_after(0.2, flag)
        assert sh(f"setsid sleep {tag} & sleep {tag}", flags=(flag,)) == Stopped("cancelled")
    assert timed.seconds < 0.2 + GRACE
    thread.join()
    assert sh("exit 0", flags=(flag,)) == Stopped("cancelled")
    if isinstance(flag, Cancel):
        flag.set()
        flag.close()


def test_threads_run_side_by_side_and_leave_our_other_children_alone(sh, tag):
    """6.5: what is not the command's is neither ended nor reaped."""
    mine = subprocess.Popen(["sleep", "301"])
    ended = subprocess.Popen(["true"])
    endings: list[Ended | Stopped] = []
    jobs = [f"(setsid env -i sleep {tag} &); exit {number}" for number in range(4)] + [f"sleep {tag}"] * 2
    threads = [threading.Thread(target=lambda text=text: endings.append(sh(text, seconds=0.6))) for text in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stopped = [ending for ending in endings if isinstance(ending, Stopped)]
    assert stopped == [Stopped("too long")] * 2
    assert sorted(ending.status for ending in endings if isinstance(ending, Ended)) == [0, 1, 2, 3]
    assert mine.poll() is None
    assert os.waitpid(ended.pid, 0)[1] == 0
    ended.returncode = 0
    mine.kill()
    mine.wait()


def test_the_tree_ends_with_its_evaluator(tmp_path, tag):
    """6.5: even when that is killed, and cannot end anything itself."""
    code = f"""
        from discern.effects.processes import run
        run(["sh", "-c", "setsid sleep {tag} & sleep {tag}"], program="/bin/sh", cwd="/", environment={{"PATH": "/usr/bin:/bin"}},
            seconds=30, output_limit=100)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    until = time.monotonic() + 10
    while sleepers(tag) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert sleepers(tag) >= 3
    process.kill()
    process.wait()
    until = time.monotonic() + 2
    while sleepers(tag) and time.monotonic() < until:
        time.sleep(0.01)
    assert sleepers(tag) == 0


def meet_signals(got: list[int]) -> None:
    with deferred_signals() as flag:
        assert not flag.is_set()
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
        assert flag.is_set()
        assert got == []


def test_signals_wait_and_then_take_their_course(tag):
    """6.3: the handlers there were before get every signal, once, at the end; ignored ones stay ignored."""
    got: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with pytest.raises(KeyboardInterrupt):
            meet_signals(got)
        assert got == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) == before[signal.SIGINT]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_signals_are_not_deferred_in_other_threads():
    """6.3: Python handles signals in the main thread alone."""
    seen: list[object] = []

    def inside() -> None:
        with deferred_signals() as flag:
            seen.append(signal.getsignal(signal.SIGTERM))
            seen.append(flag.is_set())

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM), False]


def test_a_number_given_to_someone_else_is_not_struck():
    """6.5: a process is its number together with its start time."""
    process = subprocess.Popen(["sleep", "301"])
    seen = warden.look(process.pid)
    assert seen is not None
    pid, parent, born = seen
    assert not warden.strike((pid, parent, born - 1), signal.SIGKILL)
    assert process.poll() is None
    assert warden.strike(seen, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not warden.strike(seen, signal.SIGKILL)


def test_processes_are_struck_without_pidfds_too(monkeypatch):
    """6.5: an old kernel has none."""

    def missing(_: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    process = subprocess.Popen(["sleep", "301"])
    seen = warden.look(process.pid)
    assert seen is not None
    assert warden.strike(seen, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_a_process_name_can_hold_anything(sh, tag, tmp_path):
    """6.5: brackets and blanks in a program's name hide nothing."""
    odd = tmp_path / ") R 1 (x"
    odd.symlink_to("/bin/sleep")
    assert sh(f"setsid './) R 1 (x' {tag} & sleep 0.05; exit 10") == Ended(10, b"")
