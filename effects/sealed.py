"""A throw-away Git directory of our own: no configuration, no references, no attributes of anyone's (spec 4.2).

It reads the repository's objects and index and can be asked tree against tree; what is written goes into its own object
store, so that the repository is never touched. Loaded before the heavy imports: standard library only.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from discern.effects import private
from discern.effects.git import Git, Question, Setting, sealed_environment
from discern.effects.repository import Repository

# Above this Git takes a file for binary without looking into it; it is Git's own default, pinned.
BIG_FILE = 512 << 20
CONFIG = """[core]
\trepositoryformatversion = {version}
\tbare = true
\tbigFileThreshold = {big}
\tattributesFile = {null}
{extension}"""
SHA256 = "[extensions]\n\tobjectFormat = sha256\n"


class Sealed(NamedTuple):
    """The directory, the setting to ask it in, and how its objects are named."""

    place: private.PrivateDirectory
    setting: Setting
    object_format: str

    @property
    def directory(self) -> str:
        """Where it lies."""
        return self.place.path

    def below(self, top: str) -> bytes:
        """Where it lies below a directory, with its slash; what no path begins with if it lies elsewhere."""
        place, top = os.path.realpath(self.directory), top.rstrip("/") + "/"
        return os.fsencode(place[len(top) :]) + b"/" if place.startswith(top) else b"\0"

    @property
    def comparing(self) -> Setting:
        """For made-up trees: a made-up name that ends in `t` is text whatever its bytes."""
        return self.setting._replace(options=("-c", f"core.attributesFile={self.directory}/made-up"))

    @property
    def objects(self) -> str:
        """The object store that new objects go to."""
        return self.directory + "/objects"

    def with_index(self, repository: Repository) -> Setting:
        """The repository's index read in our own setting; no working tree is in reach."""
        for name in sorted(os.listdir(repository.git_directory)):
            place = f"{self.directory}/{name}"
            # The other half of a split index is looked for beside our own.
            if name.startswith("sharedindex.") and not os.path.lexists(place):
                os.symlink(f"{repository.git_directory}/{name}", place)
        return self.setting._replace(
            environment=self.setting.environment | {"GIT_INDEX_FILE": repository.git_directory + "/index"}
        )

    def with_attributes(self, files: Iterable[tuple[str, bytes]]) -> Setting:
        """A working tree that holds these `.gitattributes` files in their places and nothing else."""
        tree = self.directory + "/attributes"
        os.makedirs(tree, exist_ok=True)
        for path, body in files:
            os.makedirs(os.path.dirname(f"{tree}/{path}"), exist_ok=True)
            with open(f"{tree}/{path}", "wb") as file:
                file.write(body)
        return self.setting._replace(directory=tree, environment=self.setting.environment | {"GIT_WORK_TREE": tree})

    def write(self, kind: bytes, body: bytes) -> str:
        """Store one object; its id."""
        raw = b"%b %d\0%b" % (kind, len(body), body)
        oid = hashlib.new(self.object_format, raw, usedforsecurity=False).hexdigest()
        folder = f"{self.objects}/{oid[:2]}"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{oid[2:]}", "wb") as file:
            file.write(zlib.compress(raw, 0))
        return oid


def blob_id(body: bytes, object_format: str) -> str:
    """The id that Git gives to these bytes as they are."""
    return hashlib.new(object_format, b"blob %d\0%b" % (len(body), body), usedforsecurity=False).hexdigest()


def seal(git: Git, repository: Repository) -> Sealed:
    """Make the directory, which its `place` removes. Raises OSError if no temporary directory can be written."""
    parent = private.temporary_directory(git.ambient)
    private.sweep(parent)  # they hold what changed files hold: none outlives a killed run for long
    place = private.make(parent, private.SEALED)
    try:
        furnish(place.path, repository)
    except BaseException:  # a full disk, or a signal
        place.remove()
        raise
    return Sealed(place, Setting(place.path, sealed_environment(git.ambient, place.path)), repository.object_format)


def furnish(directory: str, repository: Repository) -> None:
    """What makes it a Git directory."""
    sha256 = repository.object_format == "sha256"
    os.makedirs(directory + "/objects/info")
    os.mkdir(directory + "/refs")
    text = CONFIG.format(version=int(sha256), big=BIG_FILE, null=os.devnull, extension=SHA256 if sha256 else "")
    files = {
        "HEAD": b"ref: refs/heads/none\n",
        "config": text.encode(),
        "made-up": b"*t diff\n",
        "objects/info/alternates": quoted(os.fsencode(repository.common_directory + "/objects")) + b"\n",
    }
    for name, body in files.items():
        with open(f"{directory}/{name}", "wb") as file:
            file.write(body)


def quoted(path: bytes) -> bytes:
    """A path as Git reads it in its own files and lists: in double quotes, with C escapes."""
    return b'"' + b"".join(b"\\%03o" % c if c < 32 or c in b'"\\' else bytes([c]) for c in path) + b'"'


TREE = "40000"
MODES = {mode.encode(): mode for mode in ("100644", "100755", "120000", "160000", TREE)}
TREE_ENTRY = {size: re.compile(rb"([^ \0]*) ([^\0]*)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)}
ASKED_AT_ONCE = 256  # questions: short enough together never to fill a pipe while the answers are still unread


class Entry(NamedTuple):
    """What a tree says of one name."""

    mode: str
    oid: str


Rows = dict[bytes, tuple[bytes, bytes]]  # mode and object id by name, as a tree object has them


class Objects:
    """A conversation with one `cat-file` process: sizes and bodies of objects, and the policy commit's tree walked by path."""

    def __init__(self, git: Git, sealed: Sealed) -> None:
        self._git, self._setting = git, sealed.setting
        self._buffer = bytearray()
        self._oid_bytes = 32 if sealed.object_format == "sha256" else 20
        self._trees: dict[str, Rows] = {}
        self._question: Question = git.ask(sealed.setting, "cat-file", "--batch-command", keep_open=True, sink=self._take)

    def sizes(self, oids: Sequence[str]) -> list[int | None]:
        """Bytes of each object; None where it is not there."""
        found: list[int | None] = []
        for start in range(0, len(oids), ASKED_AT_ONCE):
            part = oids[start : start + ASKED_AT_ONCE]
            self._git.feed(self._question, b"".join(b"info %b\n" % oid.encode() for oid in part))
            found += [self._size() for _ in part]
        return found

    def body(self, name: str, limit: int) -> bytes | int | None:
        """The bytes of an object; its size alone if it has more than `limit` bytes; None where it is not to be had."""
        size = self.sizes([name])[0]
        return self._bodies([name])[0] if size is not None and size <= limit else size

    def prefix(self, oid: str, length: int) -> bytes | None:
        """The first bytes of a blob of any size, from a process of its own that is stopped there; None where it is not there."""
        found = bytearray()

        def take(piece: bytes) -> bool:
            found.extend(piece)
            return len(found) < length

        answer = self._git.wait(self._git.ask(self._setting, "cat-file", "blob", oid, sink=take))
        return bytes(found[:length]) if answer.ok or answer.stopped else None

    def there(self, name: str) -> bool:
        """Whether an object is in the repository."""
        return self.sizes([name])[0] is not None

    def entry(self, tree: str, path: bytes) -> Entry | None:
        """What a tree holds at a path, directories walked one by one, so that a link on the way is seen as one."""
        return self.entries(tree, [path])[path]

    def files(self, tree: str, paths: Iterable[bytes]) -> dict[bytes, Entry | None]:
        """What a tree holds at many paths of files: a directory in the place of one is none."""
        found = self.entries(tree, paths)
        return {path: entry if entry is None or entry.mode != TREE else None for path, entry in found.items()}

    def entries(self, tree: str, paths: Iterable[bytes]) -> dict[bytes, Entry | None]:
        """The same of many paths: all trees of one depth are asked for at once."""
        places: dict[bytes, tuple[str | None, list[bytes]]] = {path: (tree, path.split(b"/")) for path in paths}
        found: dict[bytes, Entry | None] = {}
        while places:
            self._load({place for place, _ in places.values() if place is not None})
            below: dict[bytes, tuple[str | None, list[bytes]]] = {}
            for path, (place, names) in places.items():
                row = self._trees[place].get(names[0]) if place is not None else None
                entry = entry_of(row) if row is not None else None
                if len(names) == 1:
                    found[path] = entry
                else:
                    below[path] = (entry.oid if entry is not None and entry.mode == TREE else None, names[1:])
            places = below
        return found

    def _load(self, trees: set[str]) -> None:
        missing = sorted(trees - self._trees.keys())
        for tree, body in zip(missing, self._bodies(missing), strict=True):
            self._trees[tree] = parse_tree(body or b"", self._oid_bytes)

    def _bodies(self, names: Sequence[str]) -> list[bytes | None]:
        bodies: list[bytes | None] = []
        for start in range(0, len(names), ASKED_AT_ONCE):
            part = names[start : start + ASKED_AT_ONCE]
            self._git.feed(self._question, b"".join(b"contents %b\n" % name.encode() for name in part))
            for _ in part:
                size = self._size()
                body = self._exactly(size + 1) if size is not None else None
                bodies.append(body[:-1] if body is not None else None)
        return bodies

    def _take(self, piece: bytes) -> bool:
        self._buffer += piece
        return True

    def _size(self) -> int | None:
        """The size in the next answer's first line; None if it says that there is no such object."""
        while (end := self._buffer.find(b"\n")) < 0:
            if self._question.answer is not None:
                return None
            self._git.pump()
        words = bytes(self._buffer[:end]).split(b" ")
        del self._buffer[: end + 1]
        return int(words[2]) if len(words) == 3 and words[2].isdigit() else None

    def _exactly(self, size: int) -> bytes | None:
        while len(self._buffer) < size:
            if self._question.answer is not None:
                return None
            self._git.pump()
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return body


def tree_row(entry: Entry, name: bytes) -> bytes:
    """One name of a tree object, whose rows stand in ascending order of names."""
    return b"%b %b\0%b" % (entry.mode.encode(), name, bytes.fromhex(entry.oid))


def parse_tree(body: bytes, oid_bytes: int) -> Rows:
    """A tree object: mode, a space, the name, NUL, the id as bytes, again and again. What is cut short ends the list."""
    return {name: (mode, oid) for mode, name, oid in TREE_ENTRY[oid_bytes].findall(body)}


def entry_of(row: tuple[bytes, bytes]) -> Entry:
    """A row as records have it: made of those that are asked for, which are few."""
    mode, oid = row
    return Entry(MODES.get(mode) or canonical_mode(mode), oid.hex())


def canonical_mode(mode: bytes) -> str:
    """A mode that old Gits wrote, as Git reads it today."""
    text = mode.decode("ascii", "replace")
    if not text.startswith("100"):
        return text
    return "100755" if text[3:4] in ("1", "3", "5", "7") else "100644"
