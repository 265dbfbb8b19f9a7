"""The facts of one change as the steps ask for them: sets of files, worked out when first asked for and kept (spec 4, 5).

One survey serves all definitions. It may be shared between threads: two that ask at once do the same work twice, no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from typing import Final, TypeAlias

from returns.result import Result

from discern.basetree import Admission, AdmittedBase, Surroundings
from discern.definitions import Definition
from discern.drops import FileFact, base_lost, file_lost, history_lost
from discern.facts import NO_CONTENT, BaseTree, Content, Facts, History, Lines, NotCollected, Unavailable
from discern.outcomes import Drop, Evidence, Veto
from discern.patterns import Listing, flags, mask_of, patterns_of, union
from discern.search import Search
from discern.vocabulary import KINDS, Kind

Verdict: TypeAlias = Result[Evidence, Veto | Drop]
"""What a step answers: the evidence that stays, or why there is no more to look at (spec 5.1)."""

_LACKS: Final = (Unavailable, NotCollected)


class Outline:
    """A change as its listing alone tells it: which paths, of what kind, generated or not."""

    def __init__(self, listing: Listing, kinds: Sequence[Kind], generated: int) -> None:
        """`kinds` gives the kind of each path of the listing, `generated` the set of those a `[generated]` pattern matches."""
        self.listing = listing
        self.everything = (1 << len(listing.paths)) - 1
        self._generated = generated
        self._kinds = {kind: mask_of([one == kind for one in kinds]) for kind in KINDS}

    def of_kind(self, *kinds: Kind) -> int:
        """The files of any of these kinds."""
        return union(self._kinds[kind] for kind in kinds)

    def matching(self, patterns: tuple[str, ...]) -> int:
        """The files whose path any of the patterns matches (spec 3)."""
        return self.listing.mask_any(patterns_of(patterns))

    def authored(self, definition: Definition) -> int:
        """The files no `[generated]` pattern matches, or all with `include_generated`."""
        return self.everything if definition.include_generated else self.everything & ~self._generated

    def universe(self, definition: Definition) -> int:
        """The filtered universe: authored and not excluded, selected or not (spec 5.2)."""
        return self.authored(definition) & ~self.matching(definition.exclude_paths)


class Survey(Outline):
    """All facts of a change, as the steps ask for them."""

    def __init__(self, facts: Facts, listing: Listing | None = None) -> None:
        """From the facts and, if there is one already, the listing of their paths, which remembers what its patterns matched."""
        changes = facts.changes
        listing = listing or Listing(tuple(change.path for change in changes))
        super().__init__(listing, [change.kind for change in changes], mask_of([change.generated for change in changes]))
        self._facts = facts
        self._bases: dict[tuple[bool, tuple[str, ...]], AdmittedBase] = {}
        self._totals: dict[int, Lines] = {}
        self._paths: dict[int, tuple[str, ...]] = {}

    def paths(self, files: int) -> tuple[str, ...]:
        """Their paths, in byte order: one tuple for all definitions that match the very same files, as many do."""
        if files not in self._paths:
            self._paths[files] = self.listing.pick(files)
        return self._paths[files]

    def lack(self, files: int, *facts: FileFact) -> Drop | None:
        """The drop for the first file, in byte order, that lacks one of these facts; None if all have them all (spec 5.1).

        Of several facts that this file lacks, the first one named tells the reason.
        """
        lost = files & union(self._lost[fact] for fact in facts)
        first = lost & -lost  # the lowest bit, or none
        for fact in facts:
            if self._lost[fact] & first:
                change = self._facts.changes[first.bit_length() - 1]
                return file_lost(fact, change.path, getattr(change, fact))
        return None

    @cached_property
    def _lost(self) -> dict[FileFact, int]:
        changes = self._facts.changes
        facts: tuple[FileFact, ...] = ("content", "binary", "lines")
        return {fact: mask_of([isinstance(getattr(change, fact), _LACKS) for change in changes]) for fact in facts}

    @cached_property
    def binary(self) -> int:
        """The files known to be binary."""
        return mask_of([change.binary is True for change in self._facts.changes])

    @cached_property
    def added_lines(self) -> Search:
        """The added lines of every file whose content is known."""
        return Search([content.added for content in self._contents])

    @cached_property
    def removed_lines(self) -> Search:
        """The removed lines of every file whose content is known."""
        return Search([content.removed for content in self._contents])

    def content_bytes(self, files: int) -> int:
        """Payload length + 1 over the changed lines of these files, both sides (spec 5.3)."""
        return _sum(self._content_bytes, files)

    def content_lines(self, files: int) -> int:
        """The number of changed lines in the content of these files, both sides (spec 5.3)."""
        return _sum(self._content_lines, files)

    @cached_property
    def _contents(self) -> list[Content]:
        return [change.content if isinstance(change.content, Content) else NO_CONTENT for change in self._facts.changes]

    @cached_property
    def _content_bytes(self) -> list[int]:
        return [len(content.added) + len(content.removed) for content in self._contents]

    @cached_property
    def _content_lines(self) -> list[int]:
        return [content.added.count(b"\n") + content.removed.count(b"\n") for content in self._contents]

    def total(self, files: int) -> Lines:
        """Insertions and deletions over these files, all of which have known counts."""
        if files not in self._totals:
            insertions, deletions = self._counts
            self._totals[files] = Lines(_sum(insertions, files), _sum(deletions, files))
        return self._totals[files]

    @cached_property
    def _counts(self) -> tuple[list[int], list[int]]:
        counts = [change.lines if isinstance(change.lines, Lines) else Lines(0, 0) for change in self._facts.changes]
        return [lines.insertions for lines in counts], [lines.deletions for lines in counts]

    def base(self, definition: Definition) -> AdmittedBase | Drop:
        """The admitted base tree (spec 5.2), shared by the definitions that filter alike; or the drop for its loss."""
        tree = self._facts.base
        if not isinstance(tree, BaseTree):
            return base_lost(tree)
        key = definition.include_generated, definition.exclude_paths
        if key not in self._bases:
            deleted = frozenset(self.listing.pick(self.universe(definition) & self.of_kind("deleted")))
            generated = frozenset[str]() if definition.include_generated else tree.generated
            admission = Admission(patterns_of(definition.exclude_paths), generated)
            self._bases[key] = AdmittedBase(self._surroundings, admission, deleted)
        return self._bases[key]

    @cached_property
    def _surroundings(self) -> Surroundings:
        tree = self._facts.base
        paths = tree.paths if isinstance(tree, BaseTree) else ()
        return Surroundings(paths, {n: change.path for n, change in enumerate(self._facts.changes) if change.kind == "added"})

    def history(self) -> History | Drop:
        """The commits of the change, or the drop for their loss."""
        history = self._facts.history
        return history if isinstance(history, History) else history_lost(history)


def _sum(numbers: Sequence[int], files: int) -> int:
    return sum(compress(numbers, flags(files, len(numbers))))
