"""Repositories to measure with, the same every time, and processes that are measured. Standard library only."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

WORDS = """
    account adapter billing bridge cache calendar cluster config customer device dispatch domain engine export feature gateway
    graph health index invoice journal kernel ledger limit loader market matrix message metric model notice order packet parser
""".split()  # noqa: SIM905
TOKENS = ("eval(", "TODO", "password", "DROP TABLE", "requests.get(", "except Exception:", "@deprecated", "FIXME", "# noqa")
AREAS = ("api", "core", "jobs", "ui", "store", "auth")
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DISCERN", "PYTHONDONTWRITE"))
} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
EVALUATE = [sys.executable, "-P", "-c", "from discern.cli import main; main()", "evaluate", "--format", "json"]


class Change(NamedTuple):
    """A repository: a trunk with this policy and these files, a branch of commits (None deletes), and files nobody added."""

    policy: str
    base: Mapping[str, bytes]
    commits: Sequence[Mapping[str, bytes | None]] = ()
    untracked: Mapping[str, bytes] = {}


class Size(NamedTuple):
    """How much there is of everything. `share`: of the services, those that content is looked for in."""

    changed: int = 1000
    base: int = 10_000
    untracked: int = 500
    definitions: int = 50
    patterns: int = 8
    commits: int = 50
    share: float = 1.0
    lines: int = 12


class Run(NamedTuple):
    """One process from start to end: seconds, seconds of processor time with its children, MiB at the peak, what it printed."""

    wall: float
    cpu: float
    mib: float
    output: bytes
    status: int


@contextmanager
def room() -> Iterator[Path]:
    """A temporary directory. It is `rm` that removes it: `shutil` cannot go 2,000 folders deep."""
    place = tempfile.mkdtemp(prefix="discern-bench-")
    try:
        yield Path(place)
    finally:
        subprocess.run(["rm", "-rf", place], check=True)


def git(root: Path, *arguments: str) -> str:
    """Ask Git, where nobody's configuration is read."""
    done = subprocess.run(["git", *arguments], cwd=root, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


def build(root: Path, change: Callable[[], Change]) -> None:
    """Make the repository, in a process of its own: memory that making takes would be counted to what is measured."""
    pid = os.fork()
    if pid == 0:
        try:
            _build(root, change())
        except BaseException:  # noqa: BLE001 - whatever it is, the child must not go on as the parent
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit(f"{root}: could not be made")


def _build(root: Path, change: Change) -> None:
    root.mkdir(parents=True)
    git(root, "init", "-q", "--initial-branch=main", ".")
    importing = ["git", "-c", "core.fsync=none", "fast-import", "--quiet", "--done"]
    with subprocess.Popen(importing, cwd=root, env=ENVIRONMENT, stdin=subprocess.PIPE) as process:
        assert process.stdin
        for piece in _stream(change):
            process.stdin.write(piece)
    if process.returncode:
        raise SystemExit("git fast-import failed")
    git(root, "symbolic-ref", "HEAD", "refs/heads/topic")
    git(root, "read-tree", "-u", "--reset", "HEAD")
    for path, body in change.untracked.items():
        write_deep(root, path, body)
    time.sleep(1.1)  # an index that is younger than its files spares Git a second look at each of them
    git(root, "-c", "core.fsync=none", "update-index", "-q", "--refresh")


def _stream(change: Change) -> Iterator[bytes]:
    policy = {"discern.toml": change.policy.encode()}
    commits = [(b"main", {**change.base, **policy}), *((b"topic", step) for step in change.commits)]
    for number, (branch, files) in enumerate(commits):
        yield b"commit refs/heads/%b\ncommitter B <b@example.invalid> %d +0000\ndata 0\n" % (branch, 1_700_000_000 + number)
        yield b"from refs/heads/main\n" if number == 1 else b""
        for path, body in files.items():
            name = os.fsencode(path)
            yield b"D %b\n" % name if body is None else b"M 644 inline %b\ndata %d\n%b\n" % (name, len(body), body)
    if not change.commits:
        yield b"reset refs/heads/topic\nfrom refs/heads/main\n"
    yield b"done\n"


def write_deep(root: Path, path: str, body: bytes) -> None:
    """Write a file whose path may be longer than a system call takes."""
    *folders, name = path.split("/")
    here = os.open(root, os.O_RDONLY)
    for folder in folders:
        if not os.access(folder, os.F_OK, dir_fd=here):
            os.mkdir(folder, dir_fd=here)
        above, here = here, os.open(folder, os.O_RDONLY, dir_fd=here)
        os.close(above)
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
        file.write(body)
    os.close(here)


def measure(argv: Sequence[str], root: Path, environment: Mapping[str, str] = ENVIRONMENT, stdin: bytes = b"") -> Run:
    """Run a program, read what it prints to the end, and say what it took."""
    feed = os.memfd_create("feed")
    os.write(feed, stdin)
    os.lseek(feed, 0, os.SEEK_SET)
    began = time.perf_counter()
    process = subprocess.Popen(argv, cwd=root, env=environment, stdin=feed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.close(feed)
    assert process.stdout
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    return Run(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output, process.returncode)


def evaluate(root: Path) -> Run:
    """`discern evaluate --format json` here; what it prints tells that it saw the change."""
    found = measure(EVALUATE, root)
    if not found.output.startswith(b"{"):
        raise SystemExit(f"{root}: discern ended with status {found.status}")
    return found


def sized(size: Size) -> Change:
    """A change like those of every day, of any size: 7 of 10 files modified, 2 added, 1 deleted; 3 % binary, 5 % generated."""
    base = {path_of(i, size): text_of(i, size.lines) if i % 40 else b"\x89PNG\0%d" % i for i in range(size.base)}
    chosen = random.Random(7).sample(range(size.base), size.changed * 8 // 10)
    files: dict[str, bytes | None] = {}
    files |= {path_of(i, size): text_of(i, size.lines, b"changed") if i % 40 else b"\0%d" % i for i in chosen}
    files |= dict.fromkeys(path_of(i, size) for i in chosen[: size.changed // 10])
    files |= {added_path(i, size): text_of(i, size.lines) for i in range(size.changed // 5)}
    paths = sorted(files, key=hash_of)
    commits = [{path: files[path] for path in paths[n :: size.commits]} for n in range(size.commits)]
    untracked = {f"services/svc{n % 40:03d}/scratch{n // 40}/{n}.py": text_of(n, size.lines) for n in range(size.untracked)}
    return Change(policy_of(size), base, commits, untracked)


def hash_of(path: str) -> int:
    """An order that is no order, and the same on every machine."""
    return random.Random(path).getrandbits(32)


def services(size: Size) -> int:
    """How many folders the files are spread over."""
    return max(3, min(400, size.base // 400))


def path_of(i: int, size: Size) -> str:
    """The path of a file of the trunk."""
    word, area, service = WORDS[i % len(WORDS)], AREAS[i // 3 % 6], f"services/svc{i // 11 % services(size):03d}"
    if i % 40 == 0:
        return f"{service}/assets/{word}-{i}.png"
    if i % 20 == 1:
        return f"gen/{word}/{i // 977}/{word}_{i}.pb.go"
    sources, packages = f"{service}/src/{area}/{WORDS[i // 977 % len(WORDS)]}", f"packages/pkg{i // 5 % 200:03d}/src"
    folder = (sources, f"{service}/tests/{area}", packages, f"docs/{word}")
    kind = 0 if i % 10 < 5 else 1 if i % 10 < 7 else 2 if i % 10 < 9 else 3
    return f"{folder[kind]}/{word}_{i}.{('py', 'py', 'ts', 'md')[kind]}"


def added_path(n: int, size: Size) -> str:
    """Some lie beside a file that they resemble, some in a new folder, the others anywhere."""
    stem, _, ending = path_of(n * 13 % size.base, size).rpartition(".")
    if n % 11 == 0:
        return f"{stem}_copy.{ending}"
    return f"services/svc{n % 40:03d}/fresh{n // 14}/{n}.py" if n % 7 == 0 else path_of(size.base + n, size)


def text_of(i: int, lines: int, change: bytes = b"") -> bytes:
    """Forty lines or more, of which `lines` differ, half removed and half added, once there is a change."""
    words = [word.encode() for word in WORDS]
    rows = [b"%b = %b %d" % (words[(i + k) % len(words)], words[i * k % len(words)], k) for k in range(lines * 5)]
    for k in range(lines // 2 if change else 0):
        rows[k * 9] = b"%b %b %d" % (change, TOKENS[(i + k) % len(TOKENS)].encode(), i)
    return b"\n".join([b"# file %d" % (i % 64 if not change else i), *rows, b""])


def policy_of(size: Size) -> str:
    """Definitions of every shape in turn, no two alike."""
    sections = ['[generated.protobuf]\npaths = ["gen/**", "*.pb.go"]\n']
    for n in range(size.definitions):
        fields = "\n".join(f"{name} = {value}" for name, value in shape_of(n, size).items())
        sections.append(f'[checkpoints.c{n:03d}]\n{fields}\nquestion = "Was change {n} meant?"\n')
    return "\n".join(sections)


def shape_of(n: int, size: Size) -> dict[str, object]:
    """What one definition asks."""
    spread = services(size)
    service, looked_at = f"services/svc{n % spread:03d}", f"services/svc{n % max(1, int(spread * size.share)):03d}"
    tokens = [f"{TOKENS[(n + k) % len(TOKENS)]}{'' if k < len(TOKENS) else k}" for k in range(size.patterns)]
    globs = [f"services/svc{(n + 3 * k) % spread:03d}/{'*' if k % 2 else '**'}/{AREAS[k % 6]}/**" for k in range(size.patterns)]
    shapes: list[dict[str, object]] = [
        {"paths": ["services/**"], "min_changed_files": 3 + n},
        {"paths": [f"{looked_at}/**/*.py"], "adds_matching": tokens[:16]},
        {"kinds": ["added"], "new_directory": "true"},
        {"min_commits": 2 + n % 30, "paths": ["packages/"]},
        {"paths": [f"packages/*/src/[{WORDS[n % 30][0]}-z]*.{{ts,tsx}}", f"{service}/**/*.go"]},
        {"similar_new_file": "true", "paths": ["services/**", "packages/**"]},
        {"paths": [f"{looked_at}/**"], "removes_matching": tokens[:2]},
        {"kinds": ["added", "modified"], "binary": "true", "exclude_paths": ["docs/**"]},
        {"paths": [f"{service}/src/**"], "unless_changed": [f"{service}/tests/**", "docs"]},
        {"paths": [f"{service}/**"], "deletion_dominant": "true"},
        {"min_changed_lines": 100 + n, "include_generated": "true"},
        {"paths": globs},
        {"kinds": ["added"], "new_directory": "true", "exclude_paths": ["/tests/", f"{service}/"]},
    ]
    return {name: str(value).replace("'", '"') for name, value in shapes[n % len(shapes)].items()}


def median(values: Sequence[float]) -> float:
    """The one in the middle."""
    return sorted(values)[len(values) // 2]


def paired(work: Sequence[Callable[[], Run]], rounds: int) -> list[tuple[Run, ...]]:
    """All of them in turn, again and again, after one round that only warms up: a machine that drifts moves all alike."""
    return [tuple(one() for one in work) for _ in range(rounds + 1)][1:]
