"""Binary flags, line counts and bounded lines of the changed files that a definition can still ask about (spec 4.3 to 4.8).

Tracked files are compared by Git, as two made-up trees that hold only the wanted files, in path order, under numbers instead
of names: nothing to quote, no attribute that could match, and one process however many there are. Untracked files are read in
their turn, so that one budget serves both in ascending byte order of path.
"""

from __future__ import annotations

from typing import NamedTuple

from discern.effects.budget import Budget, Side, longest_of
from discern.effects.git import Answer, Git, Question
from discern.effects.patch import SIGNS, Counts, PatchReader, Section, Sections, parse_counts, told, total, whole
from discern.effects.sealed import BIG_FILE, Objects, Sealed, tree_row
from discern.effects.view import LINK, Change
from discern.effects.worktree import Reader, Worktree
from discern.facts import NO_CONTENT, NOT_COLLECTED, Content, Lines, NotCollected, Unavailable
from discern.vocabulary import BINARY_PREFIX, COUNTING_LIMIT, FILE_LIMIT, LINE_COUNT_LIMIT, LINE_LIMIT, TOTAL_LIMIT, FileReason

DIFF = ("-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-abbrev", "--diff-algorithm=myers")
PATCH = ("-p", "-U0", "--inter-hunk-context=0", "--no-indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/")
HALVED = 1000  # counts of more files are asked in two halves, a processor each
LOOKS = 8  # first bytes of objects that Git does not load, a process each
NO_LINES = Lines(0, 0)


class FileFacts(NamedTuple):
    """What is known of one changed file beside its path and kind (spec 4.1)."""

    binary: bool | Unavailable | NotCollected = NOT_COLLECTED
    lines: Lines | Unavailable | NotCollected = NOT_COLLECTED
    content: Content | Unavailable | NotCollected = NOT_COLLECTED


class Wanted(NamedTuple):
    """Which of a file's facts some definition can still ask for (spec 4.5)."""

    binary: bool
    lines: bool
    content: bool


NOTHING = FileFacts()
BINARY = FileFacts(True, NO_LINES, NO_CONTENT)
UNSEEN = FileFacts(False, Unavailable("file_limit"))  # text that Git would not load


def unknown(reason: FileReason) -> FileFacts:
    """A file nothing is known of, for one reason."""
    return FileFacts(Unavailable(reason), Unavailable(reason), Unavailable(reason))


def doubted(facts: FileFacts) -> FileFacts:
    """What was read of a file that changed meanwhile: no fact of it stands (spec 4.3)."""
    return FileFacts(*(fact if isinstance(fact, Unavailable | NotCollected) else Unavailable("inconsistent") for fact in facts))


def counted(counts: Counts) -> dict[int, FileFacts]:
    """What Git's counts say of each file: one record for all that count alike, as most of many do."""
    alike = {count: FileFacts(False, Lines(*count)) if count is not None else BINARY for count in set(counts.values())}
    return {index: alike[count] for index, count in counts.items()}


class Collector:
    """One collection. `attributes`: by index, whether the policy commit's attributes set or unset `diff` (spec 4.1)."""

    def __init__(
        self, git: Git, sealed: Sealed, objects: Objects, worktree: Worktree | None, attributes: dict[int, bool]
    ) -> None:
        self._git, self._sealed, self._objects, self._worktree = git, sealed, objects, worktree
        self._attributes = attributes
        self._budget = Budget()
        self._counting = COUNTING_LIMIT
        self._looks = LOOKS
        self._failed = False

    def collect(self, changes: tuple[Change, ...], wanted: dict[int, Wanted]) -> dict[int, FileFacts]:
        """The facts of every wanted file, by its index.

        An object that is not there (a partial clone, a damaged one) ends Git's answer for all: then once more, without its file.
        """
        facts = self._collect(changes, wanted)
        gone = self._gone(changes, wanted) if self._failed else set()
        if not gone:
            return facts
        rest = (change._replace(trouble="unreadable") if index in gone else change for index, change in enumerate(changes))
        again = Collector(self._git, self._sealed, self._objects, self._worktree, self._attributes)
        return again._collect(tuple(rest), wanted)

    def _gone(self, changes: tuple[Change, ...], wanted: dict[int, Wanted]) -> set[int]:
        """The files one of whose sides is not in the repository."""
        return {index for index, size in self._sizes({index: changes[index] for index in wanted}) if size is None}

    def _sizes(self, changes: dict[int, Change]) -> list[tuple[int, int | None]]:
        """Bytes of every side there is, with its file's index; None for one that is not in the repository."""
        sides = [(index, side.oid) for index, change in changes.items() for side in change.sides]
        return [(index, size) for (index, _), size in zip(sides, self._objects.sizes([oid for _, oid in sides]), strict=True)]

    def _past(self, limit: int, changes: dict[int, Change]) -> set[int]:
        """The files one of whose sides has more bytes."""
        return {index for index, size in self._sizes(changes) if size is not None and size > limit}

    def _collect(self, changes: tuple[Change, ...], wanted: dict[int, Wanted]) -> dict[int, FileFacts]:
        facts: dict[int, FileFacts] = {}
        compared: dict[int, Change] = {}
        for index in wanted:
            change = changes[index]
            if change.trouble is not None or change.gitlink:
                facts[index] = unknown(change.trouble or "not_regular")
            elif not change.untracked and self._attributes.get(index) is False:
                facts[index] = BINARY
            elif not change.untracked:
                compared[index] = change
        known, sections = self._compare(compared, {index for index in compared if wanted[index].content})
        for index in sorted(wanted):
            if changes[index].untracked:
                facts[index] = self._untracked(index, changes[index].path, wanted[index])
            elif index in known:
                facts[index] = self._tracked(known[index], sections.get(index)) if wanted[index].content else known[index]
        return facts

    def _compare(self, compared: dict[int, Change], candidates: set[int]) -> tuple[dict[int, FileFacts], Sections]:
        """Flags and counts of tracked files, and what the patch holds of those that can be within one file's limit.

        A patch says how many lines there are, so that only files without one, or not read to the end, are counted apart.
        """
        # What the attributes make text is loaded whole whatever its size: not what Git itself would not load.
        unseen = self._past(BIG_FILE, {index: change for index, change in compared.items() if self._attributes.get(index)})
        # The cost of a file with one side is its size: Git need not compare it a second time to have its patch stopped.
        alone = {index: change for index, change in compared.items() if index in candidates and len(change.sides) == 1}
        read = {index: compared[index] for index in candidates - unseen - self._past(FILE_LIMIT, alone)}
        stream = Stream(self._git, self._sealed, self._attributes, read)
        questions = self._ask_counts({index: compared[index] for index in compared.keys() - unseen - read.keys()}, halved=True)
        sections = stream.sections()
        counts = {index: total(found) for index, found in sections.items() if told(found)}
        questions += self._ask_counts({index: read[index] for index in read.keys() - counts.keys()})
        answers = [self._git.wait(question) for question in questions]
        self._failed = stream.failed or not all(answer.ok for answer in answers)
        for answer in answers:
            counts |= parse_counts(answer.output) or {}
        known = counted(counts) | dict.fromkeys(unseen, UNSEEN)
        facts = {index: known.get(index) or unknown("inconsistent") for index in compared}
        binary = {index: compared[index] for index, fact in facts.items() if fact is BINARY}
        big = {index: self._look_at(binary[index]) for index in sorted(self._past(BIG_FILE, binary))}
        return facts | big, {index: sections.get(index, []) for index in read.keys() - big.keys()}

    def _look_at(self, change: Change) -> FileFacts:
        """A file of which Git said unseen that it is binary, since it is so big: its first bytes say what it is (spec 4.1)."""
        for side in change.sides:
            if not self._looks:
                return unknown("file_limit")
            self._looks -= 1
            prefix = self._objects.prefix(side.oid, BINARY_PREFIX)
            if prefix is None:
                return unknown("unreadable")
            if b"\0" in prefix:
                return BINARY
        return UNSEEN

    def _ask_counts(self, counted: dict[int, Change], *, halved: bool = False) -> list[Question]:
        indexes = sorted(counted)
        middle = len(indexes) // 2 if halved and len(indexes) > HALVED else 0
        questions = []
        for half in filter(None, (indexes[:middle], indexes[middle:])):
            trees = made_up(self._sealed, {index: counted[index] for index in half}, self._attributes)
            questions.append(self._git.ask(self._sealed.comparing, "diff-tree", "--numstat", "-z", *DIFF, *trees))
        return questions

    def _tracked(self, known: FileFacts, sections: list[Section] | None) -> FileFacts:
        """A content candidate that Git compared: counts and lines must agree, or neither is believed (spec 4.3)."""
        if known.binary is not False:
            return known
        if self._budget.spent:
            return known._replace(content=Unavailable(self._budget.spent))
        if sections is None or any(section.over for section in sections):
            return known._replace(content=Unavailable(self._budget.admit(FILE_LIMIT + 1, 0, 0) or "file_limit"))
        added, removed = (Side(b"".join(section.side(sign).raw for section in sections)) for sign in SIGNS)
        content = Content(added.payloads, removed.payloads)
        agree = bool(sections) and all(section.agrees for section in sections)
        reason = self._budget.admit(
            len(added.raw) + len(removed.raw),
            longest_of(content.added, content.removed),
            content.added.count(b"\n") + content.removed.count(b"\n"),
            agree=agree and whole(sections),
        )
        lines = known.lines if agree else Unavailable("inconsistent")
        return FileFacts(False, lines, content if reason is None else Unavailable(reason))

    def _untracked(self, index: int, path: bytes, wanted: Wanted) -> FileFacts:
        """A file that Git does not have: read here, within the same budget, in its turn (spec 4.7)."""
        if self._worktree is None:
            return unknown("inconsistent")
        with self._worktree.regular(path) as reader:
            if isinstance(reader, str):
                return unknown(reader)
            if self._attributes.get(index) is False:
                return BINARY
            facts = self._look_into(reader, wanted, text=index in self._attributes)
            return facts if reader.steady() else doubted(facts)

    def _look_into(self, reader: Reader, wanted: Wanted, *, text: bool) -> FileFacts:
        """What a verified file holds, as much of it as is wanted. `text`: whatever its bytes."""
        prefix = reader.read(BINARY_PREFIX)
        if prefix == "unreadable":
            return unknown("unreadable")
        if not text and b"\0" in prefix:
            return BINARY
        if not wanted.content:
            return FileFacts(False, self._count(reader, prefix) if wanted.lines else NOT_COLLECTED)
        if self._budget.spent:
            lines = Unavailable("total_bytes") if self._budget.spent == "total_bytes" else self._count(reader, prefix)
            return FileFacts(False, lines, Unavailable(self._budget.spent))
        return self._read(reader, prefix)

    def _read(self, reader: Reader, prefix: bytes) -> FileFacts:
        rest = reader.read(FILE_LIMIT + 1 - len(prefix))
        if rest == "unreadable":
            return FileFacts(False, Unavailable("unreadable"), Unavailable("unreadable"))
        side = Side(prefix + rest)
        content = Content(side.payloads, b"")
        lines = content.added.count(b"\n")
        reason = self._budget.admit(len(side.raw), longest_of(content.added), lines, agree=reader.steady())
        counted = Unavailable(reason) if reason in ("file_limit", "total_bytes") else Lines(lines, 0)
        return FileFacts(False, counted, content if reason is None else Unavailable(reason))

    def _count(self, reader: Reader, prefix: bytes) -> Lines | Unavailable:
        """Lines alone: within one file's limit, and within a total of their own (spec 4.7)."""
        if reader.seen.size > FILE_LIMIT:
            return Unavailable("file_limit")
        if reader.seen.size > self._counting:
            self._counting = 0
            return Unavailable("total_bytes")
        rest = reader.read(FILE_LIMIT + 1 - len(prefix))
        if rest == "unreadable":
            return Unavailable("unreadable")
        self._counting -= len(prefix) + len(rest)
        return Lines(Side(prefix + rest).payloads.count(b"\n"), 0)


class Stream:
    """The content candidates' lines, from one process; it is stopped as soon as no more can be admitted.

    A file far past its own limit is not drained: Git is started anew behind it. Each such file spends an eighth of all
    bytes, so that this happens at most eight times.
    """

    def __init__(self, git: Git, sealed: Sealed, attributes: dict[int, bool], read: dict[int, Change]) -> None:
        self._git, self._sealed, self._attributes, self._read = git, sealed, attributes, read
        self._reader = PatchReader()
        self._bytes, self._lines = TOTAL_LIMIT, LINE_COUNT_LIMIT
        self._last = (-1, 0)  # the file of the section before, and what it cost so far
        self._found: Sections = {}
        self.failed = False  # Git ended before its time, and not by us
        self._question = self._ask(read)

    def sections(self) -> Sections:
        """What the patch holds of each file that was reached."""
        while self._question is not None:
            if self._question.answer is None:
                self._git.pump()
            else:
                self._question = self._go_on(self._question.answer)
        return self._found

    def _ask(self, read: dict[int, Change]) -> Question | None:
        if not read:
            return None
        trees = made_up(self._sealed, read, self._attributes)
        return self._git.ask(self._sealed.comparing, "diff-tree", *PATCH, *DIFF, *trees, sink=self._take)

    def _go_on(self, answer: Answer) -> Question | None:
        """The next question, behind a file that was too long."""
        stalled = self._reader.stalled
        self.failed |= not (answer.ok or answer.stopped)
        if not answer.stopped or stalled is not None:
            self._reader.end()
        self._sift()
        self._reader = PatchReader()
        return self._ask({index: change for index, change in self._read.items() if stalled is not None and index > stalled})

    def _take(self, piece: bytes) -> bool:
        self._reader.take(piece)
        return self._sift() and self._reader.stalled is None

    def _sift(self) -> bool:
        """Set finished sections aside, and say whether the totals leave room for more (spec 4.6)."""
        while self._reader.sections:
            section = self._reader.sections.popleft()
            self._found.setdefault(section.number, []).append(section)
            self._bytes -= self._charge(section)
            # Of a file in two sections the other one may be too long a line: then none of its lines count.
            if not section.part and section.cost <= FILE_LIMIT and section.longest_line() <= LINE_LIMIT:
                self._lines -= sum(map(len, section.lines.values()))
        return self._bytes >= 0 and self._lines >= 0

    def _charge(self, section: Section) -> int:
        """What a section adds to the cost of its file, one file's limit and no more for both sections of a changed type."""
        number, cost = self._last
        before = cost if number == section.number else 0
        self._last = (section.number, before + section.cost)
        return min(before + section.cost, FILE_LIMIT + 1) - min(before, FILE_LIMIT + 1)


def made_up(sealed: Sealed, changes: dict[int, Change], attributes: dict[int, bool]) -> tuple[str, str]:
    """Two trees that hold the two sides of these files. A change of type is two entries, one on each side, as in a patch."""
    before: list[bytes] = []
    after: list[bytes] = []
    for index in sorted(changes):
        base, current = changes[index].base, changes[index].current
        split = base is not None and current is not None and (base.mode == LINK) != (current.mode == LINK)
        name, text = b"%08d" % index, b"t" if attributes.get(index) else b""
        if base is not None:
            before.append(tree_row(base, name + (b"a" if split else b"") + text))
        if current is not None:
            after.append(tree_row(current, name + (b"b" if split else b"") + text))
    return sealed.write(b"tree", b"".join(before)), sealed.write(b"tree", b"".join(after))
