"""Nothing that a branch, a user or a hook can set changes a fact (spec 4.2): configuration, environment, attributes, one by one.

Each table is tried on one rich repository, whose facts must stay the same; that the tables are not empty words is shown by
what plain Git says of the same change.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from discern.facts import NO_CONTENT, History, Lines
from tests.repositories import Repo, View, begin
from tests.rich import SHAPES, build

PROGRAM, SIDE, OTHER = "PROGRAM", "SIDE", "OTHER"  # a program that leaves a mark; a directory of files; another repository


class Rich(NamedTuple):
    """The rich repository, what is seen of it when nobody has set anything, and what settings may point to."""

    repo: Repo
    before: View
    side: Path
    other: Path

    @property
    def mark(self) -> Path:
        """Is there once the program has run."""
        return self.side / "mark"

    def filled(self, value: str) -> str:
        """A value of a table with the places put in."""
        return value.replace(PROGRAM, f"{self.side}/program").replace(SIDE, str(self.side)).replace(OTHER, str(self.other))

    def holds(self, environment: Mapping[str, str] | None = None, *, apart: tuple[str, ...] = ()) -> View:
        """All facts and identities are as they were, those of some paths apart, and no program ran."""
        after = self.repo.view(environment=environment)
        assert known(after, apart) == known(self.before, apart)
        assert not self.mark.exists()
        return after


def known(view: View, apart: tuple[str, ...] = ()) -> dict[str, object]:
    """Everything that is known, by path."""
    sides = view.sides
    files = {change.path: (change, *sides[change.path]) for change in view.facts.changes if change.path not in apart}
    return {**files, "base tree": view.facts.base, **({} if apart else {"history": view.facts.history})}


@pytest.fixture(scope="module")
def rich(tmp_path_factory) -> Rich:
    repo = build(tmp_path_factory.mktemp("rich"))
    side = tmp_path_factory.mktemp("side")
    program = side / "program"
    program.write_text(f'#!/bin/sh\ntouch "{side}/mark"\nexit 1\n')
    program.chmod(0o755)
    (side / "order").write_text("z*\nsub/*\n*.txt\n")
    (side / "attributes").write_text("* -diff\n*.dat diff\n")
    (side / "included").write_text("[diff]\n\texternal = /nowhere\n\tnoprefix = true\n[core]\n\tattributesFile = x\n")
    (side / "commits").write_text(repo.rev("HEAD") + "\n")
    (side / "hooks").mkdir()
    for hook in HOOKS:
        (side / "hooks" / hook).write_bytes(program.read_bytes())
        (side / "hooks" / hook).chmod(0o755)
    other = begin(tmp_path_factory.mktemp("other"), files={"evil": "evil\n"})
    return Rich(repo, repo.view(), side, other.path)


HOOKS = ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc")


@contextlib.contextmanager
def configured(repo: Repo, text: str) -> Iterator[None]:
    """More text at the end of the repository's own configuration, for a while."""
    place = repo.path / ".git/config"
    before = place.read_bytes()
    place.write_bytes(before + text.encode())
    try:
        yield
    finally:
        place.write_bytes(before)


def section(key: str, value: object) -> str:
    """A key and its value as configuration text."""
    name, _, last = key.rpartition(".")
    name, _, sub = name.partition(".")
    heading = f'[{name} "{sub}"]' if sub else f"[{name}]"
    return f"\n{heading}\n\t{last} = {value}\n"


def plain(repo: Repo, environment: Mapping[str, str] | None = None) -> list[bytes]:
    """What Git itself says of the change, in a few of its voices."""
    voices = ("diff --numstat main", "diff main", "diff --raw main", "status --porcelain", "ls-files -v", "log --oneline main..")
    return [
        subprocess.run(["git", *voice.split()], cwd=repo.path, env=environment or repo.environment, capture_output=True).stdout
        for voice in voices
    ]


def test_the_rich_repository_is_rich(rich):
    """spec 4.1: every kind, flag, count and trouble is there; the policy commit's attributes govern; no context is a line."""
    seen = rich.before
    assert seen.shapes == SHAPES
    assert seen.added("around.py") == [b"needle", b"needle 2"]
    assert seen.removed("around.py") == [b"old", b"old 2"]
    assert not [change.path for change in seen.facts.changes if b"CONTEXT" in getattr(change.content, "added", b"")]
    assert seen.added("n.dta") == [b"\0needle"]
    assert seen.file("n.gen").content == seen.file("bin.dat").content == NO_CONTENT
    assert isinstance(seen.facts.history, History)


# -- configuration -------------------------------------------------------------------------------------------------------------


def pairs(text: str) -> tuple[tuple[str, str], ...]:
    """`key=value`, parted by white space."""
    return tuple((key, value) for key, _, value in (word.partition("=") for word in text.split()))


SETTINGS = pairs("""
    diff.noprefix=true diff.mnemonicPrefix=true diff.srcPrefix=z/ diff.dstPrefix=z/ color.ui=always color.diff=always
    color.diff.new=red color.status=always diff.orderFile=SIDE/order diff.colorMoved=zebra diff.colorMovedWS=ignore-all-space
    diff.wsErrorHighlight=all diff.suppressBlankEmpty=true diff.statGraphWidth=1 diff.dirstat=files diff.statNameWidth=5
    diff.wordRegex=. diff.tool=x diff.guitool=x core.quotePath=false core.abbrev=4 core.whitespace=cr-at-eol,trailing-space
    core.commentChar=+ core.pager=PROGRAM pager.diff=PROGRAM core.editor=PROGRAM interactive.diffFilter=PROGRAM column.ui=always
    advice.statusHints=false i18n.logOutputEncoding=UTF-16 i18n.commitEncoding=UTF-16 log.showSignature=true log.follow=true
    log.date=relative log.decorate=full

    diff.algorithm=patience diff.algorithm=histogram diff.algorithm=minimal diff.context=9 diff.context=0
    diff.interHunkContext=99 diff.indentHeuristic=false diff.renames=copies diff.renames=false diff.renameLimit=1
    diff.relative=true diff.external=PROGRAM diff.trustExitCode=true diff.submodule=log diff.submodule=diff
    diff.ignoreSubmodules=all diff.ignoreSubmodules=none submodule.vend.ignore=all submodule.vend.active=false
    submodule.vend.path=vend submodule.active=:!vend submodule.recurse=true submodule.vend.url=/nowhere
    submodule.vend.update=!PROGRAM diff.evil.textconv=PROGRAM diff.evil.command=PROGRAM
    diff.evil.binary=true diff.evil.algorithm=patience diff.evil.xfuncname=x diff.evil.wordRegex=. diff.evil.cachetextconv=true
    diff.default.binary=true diff.default.textconv=PROGRAM diff.default.command=PROGRAM core.bigFileThreshold=1
    core.attributesFile=SIDE/attributes attr.tree=HEAD

    status.showUntrackedFiles=no status.showUntrackedFiles=normal status.relativePaths=true status.short=true status.branch=true
    status.renames=copies status.submoduleSummary=true core.untrackedCache=true core.untrackedCache=keep core.fsmonitor=PROGRAM
    core.fsmonitor=true core.fsmonitorHookVersion=2 core.checkStat=minimal core.trustctime=false core.ignoreStat=true
    core.preloadIndex=false core.splitIndex=true index.version=4 index.threads=1 index.sparse=true diff.autoRefreshIndex=false
    index.recordEndOfIndexEntries=true index.recordOffsetTable=true core.sparseCheckout=true core.sparseCheckoutCone=true
    sparse.expectFilesOutsideOfPatterns=true feature.manyFiles=true feature.experimental=true core.precomposeUnicode=true
    core.ignoreCase=true core.protectHFS=true core.protectNTFS=true core.hideDotFiles=true

    core.autocrlf=true core.autocrlf=input core.eol=crlf core.safecrlf=true core.safecrlf=warn core.checkRoundtripEncoding=UTF-8
    filter.evil.clean=PROGRAM filter.evil.process=PROGRAM filter.evil.required=true core.compression=9 core.looseCompression=0
    core.fsync=none

    core.useReplaceRefs=true core.commitGraph=false core.multiPackIndex=false core.notesRef=refs/notes/x gc.auto=1
    core.warnAmbiguousRefs=false core.logAllRefUpdates=always core.alternateRefsCommand=PROGRAM core.hooksPath=SIDE/hooks
    core.sshCommand=PROGRAM core.askPass=PROGRAM core.gitProxy=PROGRAM credential.helper=PROGRAM gpg.program=PROGRAM
    alias.diff-tree=!PROGRAM alias.ls-files=!PROGRAM remote.origin.url=ext::PROGRAM remote.origin.promisor=true
    protocol.ext.allow=always extensions.partialClone=origin transfer.hideRefs=refs uploadpack.hideRefs=refs
    maintenance.auto=true rerere.enabled=true merge.renames=false merge.conflictStyle=diff3 blame.ignoreRevsFile=SIDE/order
    mailmap.file=SIDE/order grep.patternType=perl trace2.normalTarget=SIDE/trace include.path=SIDE/included
    safe.bareRepository=explicit user.name=x
""")
# Keys under which plain Git says something else of this very change, with one of their values at least.
BITING = {
    key
    for key, _ in pairs("""
    diff.noprefix diff.mnemonicPrefix color.ui diff.orderFile core.quotePath core.abbrev diff.algorithm diff.context diff.renames
    diff.external diff.submodule diff.ignoreSubmodules submodule.vend.ignore diff.default.binary core.attributesFile
    core.bigFileThreshold status.showUntrackedFiles include.path diff.suppressBlankEmpty
""")
}


@pytest.mark.parametrize(("key", "value"), SETTINGS, ids=[f"{key}={value}" for key, value in SETTINGS])
def test_no_setting_of_the_repository_changes_a_fact(rich, key, value):
    """spec 4.2: nor starts a program."""
    with configured(rich.repo, section(key, rich.filled(value))):
        rich.holds()


ROUTES = ("repository", "include", "worktree", "user", "xdg", "system", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS")


def route_settings(rich: Rich, route: str) -> tuple[str, dict[str, str]]:
    """All settings by one way: what it adds to the repository's own configuration, and the environment."""
    rows = [(key, rich.filled(value)) for key, value in SETTINGS]
    text, environment = "".join(section(*row) for row in rows), dict(rich.repo.environment)
    file = rich.side / f"config-{route}"
    file.write_text(text)
    match route:
        case "repository":
            return text, environment
        case "include":
            return f"\n[include]\n\tpath = {file}\n", environment
        case "worktree":
            (rich.repo.path / ".git/config.worktree").write_text(text)
            return "\n[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n", environment
        case "user":
            environment["GIT_CONFIG_GLOBAL"] = str(file)
        case "system":
            environment["GIT_CONFIG_SYSTEM"] = str(file)
            del environment["GIT_CONFIG_NOSYSTEM"]
        case "xdg":
            (rich.side / "git").mkdir()
            (rich.side / "git/config").write_text(text)
            environment["XDG_CONFIG_HOME"] = str(rich.side)
            del environment["GIT_CONFIG_GLOBAL"]
        case "GIT_CONFIG_COUNT":
            environment["GIT_CONFIG_COUNT"] = str(len(rows))
            environment |= {f"GIT_CONFIG_KEY_{n}": key for n, (key, _) in enumerate(rows)}
            environment |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(rows)}
        case _:
            environment[route] = " ".join(f"'{key}'='{value}'" for key, value in rows)
    return "", environment


@pytest.mark.parametrize("route", ROUTES)
def test_all_settings_at_once_by_every_route(rich, route):
    """spec 4.2: whichever file or variable they come from."""
    usual = plain(rich.repo)
    added, environment = route_settings(rich, route)
    with configured(rich.repo, added):
        impressed = plain(rich.repo, environment) != usual
        rich.mark.unlink(missing_ok=True)
        rich.holds(environment)
    (rich.repo.path / ".git/config.worktree").unlink(missing_ok=True)
    assert impressed


def test_the_settings_are_not_empty_words(rich):
    """Plain Git says something else of this change under each of these."""
    usual, biting = plain(rich.repo), set()
    for key, value in SETTINGS:
        if key in BITING:
            with configured(rich.repo, section(key, rich.filled(value))):
                if plain(rich.repo) != usual:
                    biting.add(key)
    rich.mark.unlink(missing_ok=True)
    assert biting == BITING


# These say where or what the candidate is (spec 4.2).
APART = {"core.worktree", "core.bare", "core.excludesFile", "core.fileMode", "core.symlinks", "core.repositoryFormatVersion"}


def only_losses(before: View, after: View) -> bool:
    """Git refused a value when it was to store a dirty file: those files are told to be lost, nothing else is different."""
    lost = {os.fsdecode(change.path) for change in after.changes if change.trouble == "unreadable"}
    return bool(lost) and known(after, tuple(lost)) == known(before, tuple(lost))


@pytest.mark.long
def test_no_key_that_git_knows_changes_a_fact(rich):
    """spec 4.2: whatever the installed Git's own list of keys holds, with values of every sort; if it refuses, it is aloud."""
    keys = [key for key in rich.repo.ask("help", "--config-for-completion").split() if key.count(".") == 1 and key[-1] != "."]
    assert len(keys) > 300
    bad, refused = [], 0
    for key in keys:
        if key not in APART and not key.startswith(("extensions.", "safe.", "include.")):
            for value in ("true", "false", "1", "always", "x"):
                with configured(rich.repo, section(key, value)):
                    try:
                        after = rich.repo.view()
                    except AssertionError:
                        refused += 1
                        continue
                if known(after) != known(rich.before) and not only_losses(rich.before, after):
                    bad.append((key, value))
    assert bad == []
    assert refused < len(keys)


# -- environment ---------------------------------------------------------------------------------------------------------------

SINGLE = pairs("""
    GIT_DIR=OTHER/.git GIT_WORK_TREE=OTHER GIT_INDEX_FILE=OTHER/.git/index GIT_OBJECT_DIRECTORY=OTHER/.git/objects
    GIT_ALTERNATE_OBJECT_DIRECTORIES=OTHER/.git/objects GIT_COMMON_DIR=OTHER/.git GIT_NAMESPACE=evil GIT_PREFIX=sub/
    GIT_SHALLOW_FILE=SIDE/commits GIT_GRAFT_FILE=SIDE/commits GIT_QUARANTINE_PATH=OTHER/.git GIT_REPLACE_REF_BASE=refs/heads/
    GIT_IMPLICIT_WORK_TREE=0 GIT_INTERNAL_SUPER_PREFIX=x/ GIT_CONFIG=SIDE/order GIT_CEILING_DIRECTORIES=/ GIT_DEFAULT_HASH=sha256
    GIT_DISCOVERY_ACROSS_FILESYSTEM=1

    GIT_EXTERNAL_DIFF=PROGRAM GIT_DIFF_OPTS=-u9 GIT_DIFF_PATH_COUNTER=1 GIT_DIFF_PATH_TOTAL=1 GIT_ATTR_SOURCE=HEAD
    GIT_ATTR_NOSYSTEM=0 GIT_LITERAL_PATHSPECS=0 GIT_GLOB_PATHSPECS=1 GIT_NOGLOB_PATHSPECS=1 GIT_ICASE_PATHSPECS=1
    GIT_OPTIONAL_LOCKS=1 GIT_NO_LAZY_FETCH=0 GIT_NO_REPLACE_OBJECTS= GIT_INDEX_VERSION=4 GIT_FORCE_UNTRACKED_CACHE=1
    GIT_TEST_UNTRACKED_CACHE=1 GIT_TEST_SPLIT_INDEX=1 GIT_TEST_FSMONITOR=PROGRAM GIT_TEST_SPARSE_INDEX=1 GIT_TEST_INDEX_VERSION=4
    GIT_TEST_DEFAULT_HASH=sha256 GIT_TEST_COMMIT_GRAPH=1 GIT_TEST_MULTI_PACK_INDEX=1 GIT_REF_PARANOIA=1 GIT_NOTES_REF=refs/notes/x

    GIT_TRACE=1 GIT_TRACE_SETUP=2 GIT_TRACE2=1 GIT_TRACE2_EVENT=SIDE/event GIT_TRACE_PACKET=1 GIT_CURL_VERBOSE=1 GIT_FLUSH=1
    GIT_PAGER=PROGRAM PAGER=PROGRAM GIT_PAGER_IN_USE=1 LESS=-X GIT_EDITOR=PROGRAM GIT_SEQUENCE_EDITOR=PROGRAM EDITOR=PROGRAM
    VISUAL=PROGRAM GIT_ASKPASS=PROGRAM SSH_ASKPASS=PROGRAM GIT_SSH=PROGRAM GIT_SSH_COMMAND=PROGRAM GIT_PROXY_COMMAND=PROGRAM
    GIT_ALLOW_PROTOCOL=ext GIT_TEMPLATE_DIR=SIDE GIT_REFLOG_ACTION=commit COLUMNS=1 LINES=1 TERM=dumb NO_COLOR=1
    CLICOLOR_FORCE=1 LC_ALL=de_DE.ISO-8859-1 LANG=ja_JP.SJIS LANGUAGE=fr LC_COLLATE=tr_TR.UTF-8 TZ=Asia/Tokyo CDPATH=OTHER
    OLDPWD=OTHER PWD=OTHER POSIXLY_CORRECT=1 BASH_ENV=PROGRAM ENV=PROGRAM GIT_AUTHOR_NAME=x GIT_COMMITTER_DATE=nonsense EMAIL=x
    GIT_MERGE_VERBOSITY=9 GIT_PROTOCOL=version=2 GIT_ADVICE=1 DISCERN_TRUNK= PYTHONUTF8=0 PYTHONIOENCODING=ascii
""")
VARIABLES = {name: {name: value} for name, value in SINGLE} | {
    "a hook of another repository": dict(
        pairs("GIT_DIR=OTHER/.git GIT_WORK_TREE=OTHER GIT_INDEX_FILE=OTHER/.git/index GIT_PREFIX=")
    ),
    "a commit under way here": dict(pairs("GIT_DIR=.git GIT_INDEX_FILE=.git/next-index-1.lock GIT_EDITOR=:")),
    "objects elsewhere": dict(pairs("GIT_OBJECT_DIRECTORY=SIDE GIT_ALTERNATE_OBJECT_DIRECTORIES=OTHER/.git/objects")),
    "a value that Git cannot read": {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.sharedRepository",
        "GIT_CONFIG_VALUE_0": "x",
    },
    "no home": {"HOME": "/nowhere", "XDG_CONFIG_HOME": ""},
}


def listing(top: Path) -> list[tuple[Path, int]]:
    """What lies below, and when it was last changed."""
    return [(path, path.lstat().st_mtime_ns) for path in sorted(top.rglob("*"))]


@pytest.mark.parametrize("name", VARIABLES)
def test_no_variable_changes_a_fact(rich, name):
    """spec 4.2: nor starts a program, nor redirects a question to another repository."""
    rich.holds(rich.repo.environment | {key: rich.filled(value) for key, value in VARIABLES[name].items()})


def test_all_variables_at_once(rich, monkeypatch):
    """spec 4.2: also where they are the process's own, as in a hook."""
    rows = {key: rich.filled(value) for row in VARIABLES.values() for key, value in row.items()}
    rows |= {"HOME": rich.repo.environment["HOME"]}
    impressed = plain(rich.repo, rich.repo.environment | rows) != plain(rich.repo)
    rich.mark.unlink(missing_ok=True)
    for key, value in rows.items():
        monkeypatch.setenv(key, value)
    before = listing(rich.other)
    rich.holds(rich.repo.environment | rows)
    assert listing(rich.other) == before
    assert impressed


# -- attributes ----------------------------------------------------------------------------------------------------------------

HOSTILE = (
    *("* -diff\n", "* binary\n", "* diff\n", "* !diff\n", "*.py -diff\n*.c binary\n", "*.gen diff\n*.dta -diff\n*.bin diff\n"),
    *(
        "* diff=evil\n",
        "[attr]x -diff\n* x\n",
        "[attr]quiet diff\n[attr]binary diff\n*.q quiet\n",
        "/around.py -diff\n/fresh/* binary\n",
    ),
    "* filter=none merge=ours whitespace=-all conflict-marker-size=3 export-ignore linguist-generated\n* -text\n",
)
IN_FOLDERS = {
    "untracked": ("",),
    "staged": ("",),
    "committed": ("",),
    "index only": ("",),
    "deleted": (),
    "in a subdirectory": ("sub/", "fresh/"),
    "in every directory": ("", "sub/", "sub/deep/", "fresh/"),
}
PLACES = (*IN_FOLDERS, "info/attributes", "core.attributesFile", "xdg", "system")
TRIED = [(text, "untracked") for text in HOSTILE] + [(text, "committed") for text in HOSTILE]
TRIED += [(text, place) for place in PLACES if place not in ("untracked", "committed") for text in ("* -diff\n", "* diff=evil\n")]
ATTRIBUTES = tuple(f"{folder}.gitattributes" for folder in ("", "sub/", "sub/deep/", "fresh/"))


@pytest.fixture
def undone(rich) -> Iterator[Repo]:
    """The rich repository with a driver that hostile attributes may name; afterwards its files, index and HEAD are put back."""
    repo, index = rich.repo, rich.repo.path / ".git/index"
    data, info, head = index.read_bytes(), index.stat(), repo.rev("HEAD")
    files = {path: repo.at(path).read_bytes() if repo.at(path).exists() else None for path in ATTRIBUTES}
    program = f"{rich.side}/program"
    driver = (("textconv", program), ("command", program), ("binary", "true"))
    with configured(repo, "".join(section(f"diff.evil.{key}", value) for key, value in driver)):
        yield repo
    repo.git("update-ref", "HEAD", head)
    for path, before in files.items():
        repo.at(path).unlink(missing_ok=True)
        if before is not None:
            repo.write(path, before)
    index.write_bytes(data)
    os.utime(index, ns=(info.st_atime_ns, info.st_mtime_ns))
    (repo.path / ".git/info/attributes").unlink(missing_ok=True)


def put(rich: Rich, text: str, place: str) -> dict[str, str]:
    """Put attributes into their place; the environment that goes with it."""
    repo, side, environment = rich.repo, rich.side, dict(rich.repo.environment)
    for folder in IN_FOLDERS.get(place, ()):
        repo.write(f"{folder}.gitattributes", text)
    for name in ("hostile", "git/attributes"):
        (side / name).parent.mkdir(exist_ok=True)
        (side / name).write_text(text)
    match place:
        case "staged" | "committed" | "index only":
            stage(repo, place)
        case "deleted":
            for folder in ("", "sub/", "sub/deep/"):
                repo.remove(f"{folder}.gitattributes")
        case "info/attributes":
            repo.write(".git/info/attributes", text)
        case "core.attributesFile":
            rows = "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.attributesFile GIT_CONFIG_VALUE_0=SIDE/hostile"
            environment |= dict(pairs(rich.filled(rows)))
        case "xdg":
            environment["XDG_CONFIG_HOME"] = str(side)
        case "system":
            (side / "system").write_text(section("core.attributesFile", side / "hostile"))
            environment["GIT_CONFIG_SYSTEM"] = str(side / "system")
            del environment["GIT_CONFIG_NOSYSTEM"]
    return environment


def stage(repo: Repo, place: str) -> None:
    """Into the index, and from there into HEAD, by hand, since there are unmerged paths; or out of the working tree."""
    repo.git("update-index", "--add", ".gitattributes")
    if place == "index only":
        repo.remove(".gitattributes")
    if place == "committed":
        rows = [row for row in repo.git("ls-tree", "-z", "HEAD").split(b"\0") if row and b"\t.gitattributes" not in row]
        rows.append(b"100644 blob %b\t.gitattributes" % repo.git("hash-object", "-w", ".gitattributes").strip())
        tree = repo.ask("mktree", "-z", stdin=b"\0".join(rows) + b"\0")
        repo.git("update-ref", "HEAD", repo.ask("commit-tree", "-p", "HEAD", "-m", "x", tree))


@pytest.mark.parametrize(("text", "place"), TRIED)
def test_no_attribute_of_the_candidate_changes_a_fact(undone, rich, text, place):
    """spec 4.2: text stays text, binary stays binary, no driver is chosen; the attribute file itself is a visible change."""
    after = rich.holds(put(rich, text, place), apart=ATTRIBUTES)
    assert bool(set(after.paths) & set(ATTRIBUTES)) == (place in IN_FOLDERS)


def test_attributes_are_not_empty_words(undone, rich):
    """Each placement changes what Git itself says of this change."""
    usual, silent = plain(undone), set()
    for place in PLACES:
        if plain(undone, put(rich, "*.py -diff\n", place)) == usual:
            silent.add(place)
        for path in (*ATTRIBUTES, ".git/info/attributes"):
            undone.at(path).unlink(missing_ok=True)
        undone.git("checkout-index", "--force", *ATTRIBUTES[:3])
    assert silent == set()


GOVERNING = {
    ".gitattributes": "*.gen -diff\n*.dat diff\n*.blob binary\n[attr]quiet -diff\n*.q quiet\n*.e diff=evil\n",
    "lib/.gitattributes": "*.txt -diff\n",
    "lib/far/.gitattributes": "*.txt !diff\n",
    **dict.fromkeys(
        ("a.gen", "c.blob", "d.q", "x.e", "lib/d.txt", "lib/far/e.txt", "e.txt", "lib/f.gen", "m.dat", "k.gen"), "one\n"
    ),
    "b.dat": b"\0one\n",
}
BINARY = {"a.gen", "c.blob", "d.q", "lib/d.txt", "lib/f.gen", "n.gen", "lib/n.txt", "k.gen"}
TEXT = {"b.dat", "x.e", "lib/far/e.txt", "e.txt", "n.dat", "lib/far/n.txt", "n.txt", "m.dat"}


def test_the_policy_commits_attributes_govern(start):
    """spec 4.1: tracked or not, in any state, whatever the candidate has made of them; a driver's name alone says nothing."""
    repo = start(GOVERNING)
    for path in ("a.gen", "b.dat", "c.blob", "d.q", "x.e", "lib/d.txt", "lib/far/e.txt", "e.txt", "lib/f.gen"):
        repo.append(path, "needle\n")
    for path in ("n.gen", "lib/n.txt", "lib/far/n.txt", "n.txt"):
        repo.write(path, "needle\n")
    repo.write("n.dat", b"\0needle\n")
    repo.link("m.dat", "to")
    repo.remove("k.gen")

    def governs() -> None:
        seen = repo.view()
        flags = {change.path: change.binary for change in seen.facts.changes if ".gitattributes" not in change.path}
        assert flags == dict.fromkeys(BINARY, True) | dict.fromkeys(TEXT, False)
        for path in flags:
            assert (seen.file(path).content == NO_CONTENT) is (seen.file(path).lines == Lines(0, 0)) is (path in BINARY)
        assert (seen.added("b.dat"), seen.added("n.dat")) == ([b"needle"], [b"\0needle"])

    governs()
    for text in ("* diff\n", "* -diff\n", "*.gen diff\n*.dat -diff\n"):
        for folder in ("", "lib/", "lib/far/"):
            repo.write(f"{folder}.gitattributes", text)
        governs()
    for folder in ("", "lib/", "lib/far/"):
        repo.remove(f"{folder}.gitattributes")
    governs()
    repo.git("add", "--all")
    governs()
    repo.commit()
    governs()


def test_a_governing_attribute_file_may_be_odd(start):
    """spec 4.1: a link, a directory, bytes that are no text, a line too long: what is no attribute file says nothing."""
    odd = b"\xff\xfe\n* \xff=x diff\xff\n*.x " + b"y" * 3000 + b" -diff\n*.y -diff\n"
    repo = start({"d/.gitattributes": odd, "t": "* -diff\n", "e/.gitattributes/x": "* -diff\n"})
    repo.link(".gitattributes", "t")
    repo.commit("odd")
    repo.git("branch", "--force", "main")
    for path in ("a", "d/a.x", "d/a.y", "e/a"):
        repo.write(path, "needle\n")
    assert {path: shape[-1] for path, shape in repo.view().shapes.items()} == {
        "a": False,
        "d/a.x": False,
        "d/a.y": True,
        "e/a": False,
    }


# -- nothing is written --------------------------------------------------------------------------------------------------------


def photograph(top: Path) -> dict[str, tuple[object, ...]]:
    """Every file below: what it holds, and when it was last changed. Git itself touches an object that it finds again."""
    files = [path for path in sorted(top.rglob("*")) if path.is_symlink() or not path.is_dir()]
    return {
        str(path): (path.lstat().st_mode, path.read_bytes(), path.lstat().st_mtime_ns if "objects" not in path.parts else 0)
        for path in files
        if path.is_file()
    }


def test_looking_writes_nothing_into_the_repository(rich):
    """spec 4.2: no index refresh, no lock, no object; and nothing is left in the temporary directory."""
    photo = photograph(rich.repo.path)
    rich.holds()
    assert photograph(rich.repo.path) == photo
    assert list(Path(rich.repo.environment["TMPDIR"]).iterdir()) == []


def test_a_repository_that_cannot_be_written_can_be_looked_at(start):
    """spec 4.2: on a read-only file system, say; the rights are taken away, which root does not feel."""
    repo = start({"a": "a\n"})
    repo.append("a", "needle\n")
    folders = [path for path in (repo.path / ".git").rglob("*") if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    shapes = repo.view().shapes
    for folder in folders:
        folder.chmod(0o755)
    assert shapes == {"a": ("modified", 1, 0, False)}
