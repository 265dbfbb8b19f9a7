"""Which repository, which HEAD, trunk and merge-base: all resolved to object ids once, before anything is read (spec 1.1).

Loaded before the heavy imports, so that Git works while they run: standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from discern.effects.git import QUIET, Git, Refused, Setting, advice, repository_environment

ORIGIN = "refs/remotes/origin/"
ORIGIN_HEAD = ORIGIN + "HEAD"
DEFAULT_TRUNKS = ("main", "master")
REF_FORMAT = "--format=%(refname)%00%(objectname)%00%(symref)"
FORMAT = ("--path-format=absolute",)
PLACES = (
    "--show-toplevel",
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-prefix",
    "--show-object-format",
    "--is-shallow-repository",
)


class Repository(NamedTuple):
    """Where things lie, absolute. `prefix` is the project root below `top`: empty, or ending in `/` (spec 0)."""

    setting: Setting  # asked in `top`, configured as the user has it
    top: str
    git_directory: str
    common_directory: str
    prefix: str
    object_format: str
    shallow: bool

    @property
    def root(self) -> str:
        """The project root."""
        return os.path.join(self.top, self.prefix).rstrip("/") or "/"

    @property
    def below(self) -> tuple[str, ...]:
        """How Git is asked, in `top`, for nothing but what lies below the project root."""
        return ("--", self.prefix) if self.prefix else ("--",)


class Trunk(NamedTuple):
    """What the change is compared with. `ref` is its full name, or None where it was named by something else."""

    ref: str | None
    commit: str


class Bases(NamedTuple):
    """The candidate's commit, the trunk, and their best common ancestors; the first is the policy commit (spec 1.1)."""

    head: str | None
    trunk: Trunk | None
    commits: tuple[str, ...]
    named: str | None = None  # a trunk that was asked for by name and is nowhere


class Asked(NamedTuple):
    """How a user names things: the directory, the trunk and where that name comes from, the commit (spec 9.1)."""

    root: str | None = None
    trunk: str | None = None
    trunk_source: str = "trunk"
    commit: str | None = None

    def or_ambient(self, environment: Mapping[str, str]) -> Asked:
        """With the trunk that DISCERN_TRUNK names where no other is named; an empty one counts as unset (spec 1.2)."""
        if self.trunk is not None:
            return self
        return self._replace(trunk=environment.get("DISCERN_TRUNK") or None, trunk_source="DISCERN_TRUNK")


def open_repository(git: Git, asked: Asked) -> tuple[Repository, Bases] | Refused:
    """The repository around a directory and what the change is compared with, by two questions. Refused with Git's own words."""
    directory = asked.root if asked.root is not None else "."
    if not os.path.isdir(directory):
        return Refused(f"root {directory}: there is no such directory; name one inside a Git working tree")
    plain = repository_environment(git.ambient)
    here = Setting(directory, plain | {"LC_ALL": "C"}, QUIET)
    try:
        trunks = trunks_of(git, here, asked.trunk)
    except OSError as error:
        return Refused(f"git cannot be started: {error.strerror}; install Git and put it on PATH")
    if isinstance(trunks, Refused):
        return trunks
    head = commit_named(git, here, asked.commit) if asked.commit is not None else None
    if asked.commit is not None and head is None:
        return Refused(f"commit {asked.commit}: Git resolves this to no commit; give a branch, a tag or an object id")
    pairs = [f"{trunk.commit}...{head or 'HEAD'}" for trunk in trunks]
    answer = git.wait(git.ask(here, "rev-parse", *FORMAT, *PLACES, head or "HEAD", *pairs))
    lines = answer.output.split(b"\n")[:-1]
    if len(lines) < len(PLACES):
        return Refused(f"not a Git working tree that can be evaluated: {advice(answer.words)}")
    repository, rest = located(git, here, lines, with_prefix=asked.root is not None)
    head = rest[0].decode() if rest and is_oid(rest[0]) else None
    name = forgotten(repository.common_directory, trunks) if asked.trunk is None else None
    if name is not None and (bases := with_trunk(git, repository, head, name)).trunk is not None:
        return repository, bases
    return repository, chosen(git, repository, head, asked.trunk, trunks, rest[1:])


def located(git: Git, here: Setting, lines: list[bytes], *, with_prefix: bool) -> tuple[Repository, list[bytes]]:
    """What the answers to PLACES say, and the lines behind them."""
    found, rest = lines[: len(PLACES)], lines[len(PLACES) :]
    if not all(is_oid(line.removeprefix(b"^")) or line == b"HEAD" for line in rest):
        # A path with a line end in it: each is asked for alone.
        found = [git.wait(git.ask(here, "rev-parse", *FORMAT, place)).output[:-1] for place in PLACES]
        rest = rest[sum(line.count(b"\n") for line in found) :]
    top, git_directory, common, prefix, object_format, shallow = map(os.fsdecode, found)
    at_top = Setting(top, repository_environment(git.ambient), QUIET)
    prefix = prefix if with_prefix else ""
    return Repository(at_top, top, git_directory, common, prefix, object_format, shallow == "true"), rest


def with_trunk(git: Git, repository: Repository, head: str | None, name: str) -> Bases:
    """The merge-base taken again, with the trunk that the governing file names (spec 1.1)."""
    trunks = trunks_of(git, repository.setting, name)
    if isinstance(trunks, Refused) or head is None:
        trunks = []
    answer = (
        git.wait(git.ask(repository.setting, "rev-parse", *(f"{trunk.commit}...{head}" for trunk in trunks))) if trunks else None
    )
    return chosen(git, repository, head, name, trunks, answer.output.split() if answer else [])


def commit_named(git: Git, setting: Setting, name: str) -> str | None:
    """The commit that Git resolves a name to, if it does."""
    if not name or name.startswith("-") or "\0" in name:
        return None
    peeled = name if name.startswith(":/") else name + "^{commit}"  # a search takes all that follows for its text
    answer = git.wait(git.ask(setting, "rev-parse", "--verify", "-q", "--end-of-options", peeled))
    oid = answer.output.strip()
    return oid.decode() if answer.ok and is_oid(oid) else None


def chosen(
    git: Git, repository: Repository, head: str | None, name: str | None, trunks: list[Trunk], lines: list[bytes]
) -> Bases:
    """Of a local branch and origin's of the same name the one whose merge-base descends from the other's (spec 1.1)."""
    if not trunks or head is None:
        return Bases(head, trunks[0] if trunks else None, (), name if not trunks else None)
    found = parse_bases(lines, len(trunks))
    if found is None:
        return Bases(head, trunks[0], ())
    second = len(trunks) == 2 and found[0] != found[1] and descends(git, repository, found)
    return Bases(head, trunks[second], found[second])


def descends(git: Git, repository: Repository, found: list[tuple[str, ...]]) -> bool:
    """Whether the second name's merge-base descends from the first's; having one at all wins over having none."""
    local, remote = (commits[:1] for commits in found)
    if not local or not remote:
        return bool(remote)
    return git.wait(git.ask(repository.setting, "merge-base", "--is-ancestor", local[0], remote[0])).status == 0


def trunks_of(git: Git, setting: Setting, name: str | None) -> list[Trunk] | Refused:
    """Where the trunk may be: one place, or a local branch and origin's of the same name. Refused where Git refuses."""
    return trunks_found(git, setting) if name is None else trunks_named(git, setting, name)


def trunks_found(git: Git, setting: Setting) -> list[Trunk] | Refused:
    """The branch that origin/HEAD points to, else the first of main and master that is anywhere: local first, then origin's."""
    refs = existing(git, setting, [ORIGIN_HEAD, *(ref for name in DEFAULT_TRUNKS for ref in places(name))])
    if isinstance(refs, Refused):
        return refs
    target = refs.get(ORIGIN_HEAD, ("", ""))[1]
    if target.startswith(ORIGIN):
        name = target.removeprefix(ORIGIN)
        if name not in DEFAULT_TRUNKS and not isinstance(more := existing(git, setting, places(name)), Refused):
            refs |= more
        if found := pick(refs, name):
            return found
    return next((found for name in DEFAULT_TRUNKS if (found := pick(refs, name))), [])


def forgotten(common_directory: str, trunks: list[Trunk]) -> str | None:
    """The branch that origin/HEAD points to, if it is no trunk that was found: Git tells of no such ref once origin's is gone."""
    try:
        with open(f"{common_directory}/{ORIGIN_HEAD}", "rb") as file:
            target = os.fsdecode(file.read(4096).strip())
    except OSError:
        return None
    name = target.removeprefix(f"ref: {ORIGIN}")
    return None if name == target or any(trunk.ref in places(name) for trunk in trunks) else name


def trunks_named(git: Git, setting: Setting, name: str) -> list[Trunk] | Refused:
    """A branch of that name, else what Git resolves to a commit, a short tag name excepted (spec 1.1)."""
    if not name or "\0" in name:
        return []
    others = [f"refs/remotes/{name}", f"refs/{name}", *([name] if name.startswith("refs/") else [])]
    refs = existing(git, setting, [*places(name), f"refs/tags/{name}", *others])
    if isinstance(refs, Refused):
        return refs
    if found := pick(refs, name):
        return found
    if f"refs/tags/{name}" in refs and not is_oid(name.encode()):
        remote = f"refs/remotes/{name}"  # the tag aside, what Git would look for next
        return [Trunk(remote, refs[remote][0])] if remote in refs else []
    commit = commit_named(git, setting, name)
    ref = next((ref for ref in reversed(others) if ref in refs and (ref == name or refs[ref][0] == commit)), None)
    return [Trunk(ref, commit)] if commit is not None else []


def places(name: str) -> list[str]:
    """Where a branch of that name may stand, in the order of preference."""
    return [f"refs/heads/{name}", f"refs/remotes/origin/{name}"]


def pick(refs: dict[str, tuple[str, str]], name: str) -> list[Trunk]:
    """The refs of a name that exist."""
    return [Trunk(ref, refs[ref][0]) for ref in places(name) if ref in refs]


def existing(git: Git, setting: Setting, names: list[str]) -> dict[str, tuple[str, str]] | Refused:
    """Of these full names those that exist, with object id and the target of a symbolic one."""
    answer = git.wait(git.ask(setting, "for-each-ref", REF_FORMAT, *names))
    if not answer.ok:
        return Refused(f"not a Git working tree that can be evaluated: {advice(answer.words)}")
    return {ref: value for ref, value in parse_refs(answer.output).items() if ref in names}


def parse_refs(output: bytes) -> dict[str, tuple[str, str]]:
    """`for-each-ref` lines: name, object id, symbolic target."""
    rows = (os.fsdecode(line).split("\0") for line in output.split(b"\n") if line.count(b"\0") == 2)
    return {name: (oid, target) for name, oid, target in rows}


def parse_bases(lines: list[bytes], groups: int) -> list[tuple[str, ...]] | None:
    """What `rev-parse A...HEAD` says for each A: two commits, then the merge-bases, each behind a `^`; None if it says less."""
    found: list[list[str]] = []
    plain = 0
    for line in lines:
        if not is_oid(line.removeprefix(b"^")):
            return None
        if not line.startswith(b"^"):
            if plain % 2 == 0:
                found.append([])
            plain += 1
        elif plain == 0 or plain % 2:
            return None
        else:
            found[-1].append(line[1:].decode())
    return [tuple(commits) for commits in found] if plain == 2 * groups else None


def is_oid(text: bytes) -> bool:
    """A full object id, of SHA-1 or SHA-256."""
    return len(text) in (40, 64) and not text.strip(b"0123456789abcdef")
