"""What `git add` would store of files in the working tree: line ends, encodings, the user's own filters (spec 4.2, 7.2)."""

from __future__ import annotations

import os

from discern.effects.git import Git, Setting
from discern.effects.listings import RAW, parse_raw
from discern.effects.repository import Repository
from discern.effects.sealed import Sealed, quoted

# `umask` is what Git does without a setting; one it cannot read would end every command that stores.
HASHING = (
    *("-c", "core.safecrlf=false", "-c", "core.looseCompression=0", "-c", "core.bigFileThreshold=512m"),
    *("-c", "core.sharedRepository=umask"),
)
ATTEMPTS = 6  # at hashing files, when one of them stops Git


def storing(repository: Repository, sealed: Sealed) -> Setting:
    """As the user has it configured, but what is stored goes where it is thrown away."""
    alternates = quoted(os.fsencode(repository.common_directory + "/objects"))
    place = {"GIT_OBJECT_DIRECTORY": sealed.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(alternates)}
    setting = repository.setting
    return setting._replace(options=(*setting.options, *HASHING), environment=setting.environment | place)


def hash_files(git: Git, setting: Setting, paths: list[bytes], *, store: bool) -> list[str | None]:
    """The ids that `git add` would store these files under (spec 7.2); None for one that could not be read.

    One process for all; a file that vanishes or cannot be converted ends it, and it is asked again for the others, a few times.
    Unless Git stores, it only complains of a file that it cannot encode, and hashes it as it is: then it is asked to store.
    """
    if paths and not store:
        answer = git.wait(git.ask(setting, "hash-object", "--stdin-paths", stdin=listed(paths)))
        if answer.ok and not answer.words:
            return list(map(bytes.decode, answer.output.split()))
    found: dict[bytes, str] = {}
    rest = paths
    for attempt in range(ATTEMPTS):
        if not rest:
            break
        answer = git.wait(git.ask(setting, "hash-object", "-w", "--stdin-paths", stdin=listed(rest)))
        oids = [oid.decode() for oid in answer.output.split()]
        found |= zip(rest, oids, strict=False)
        rest = rest[len(oids) + 1 :] if attempt else converted_last(git, setting, rest[len(oids) + 1 :])
    return [found.get(path) for path in paths]


def listed(paths: list[bytes]) -> bytes:
    """Paths as Git reads them, a line each."""
    return b"".join(quoted(path) + b"\n" for path in paths)


def unfiltered(git: Git, setting: Setting) -> Setting:
    """A setting in which none of the user's filters runs, required or not."""
    answer = git.wait(git.ask(setting, "config", "-z", "--name-only", "--get-regexp", r"^filter\..*\."))
    drivers = sorted({key.rpartition(".")[0] for key in os.fsdecode(answer.output).split("\0")[:-1]})
    named = (f"{driver}.{key}" for driver in drivers for key in ("clean=", "process=", "required=false"))
    return setting._replace(options=(*setting.options, *(word for pair in named for word in ("-c", pair))))


def converted_last(git: Git, setting: Setting, paths: list[bytes]) -> list[bytes]:
    """Files that a filter or an encoding converts stand last: one of them that fails takes none of the others with it."""
    if not paths:
        return []
    names = b"".join(path + b"\0" for path in paths)
    answer = git.wait(git.ask(setting, "check-attr", "-z", "--stdin", "filter", "working-tree-encoding", stdin=names))
    fields = answer.output.split(b"\0")
    converted = {path for path, value in zip(fields[::3], fields[2::3], strict=False) if value not in (b"unspecified", b"unset")}
    return sorted(paths, key=lambda path: path in converted)


def add_files(git: Git, repository: Repository, sealed: Sealed, tree: str, paths: list[bytes]) -> dict[bytes, str] | None:
    """The ids of files added to a copy of the index, by path, where it then differs from a tree; None if a file stops Git.

    Only an index knows whether a file was stored with line ends of two characters, which then stay, and what the attributes in it
    say that are not on disk: `hash-object` has none.
    """
    source, copy = repository.git_directory + "/index", sealed.directory + "/index"
    with open(source, "rb") as index, open(copy, "wb") as file:
        file.write(index.read())
        times = os.fstat(index.fileno())
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))  # or an edit of the index's own second would be taken for none
    place = {"GIT_INDEX_FILE": copy}
    ours = storing(repository, sealed)
    ours = ours._replace(options=(*ours.options, "-c", "core.splitIndex=false"), environment=ours.environment | place)
    names = b"".join(path + b"\0" for path in paths)
    if not git.wait(git.ask(ours, "update-index", "--add", "-z", "--stdin", stdin=names)).ok:
        return None
    alone = sealed.setting._replace(environment=sealed.setting.environment | place)
    answer = git.wait(git.ask(alone, "diff-index", "--cached", *RAW, tree, "--"))
    rows = parse_raw(answer.output) if answer.ok else None
    return {row.path: row.after.oid for row in rows} if rows is not None else None


def keeps_modes(git: Git, repository: Repository) -> bool:
    """Whether `git add` would store an executable bit here."""
    answer = git.wait(git.ask(repository.setting, "config", "--type=bool", "--get", "core.fileMode"))
    return answer.output.strip() != b"false"
