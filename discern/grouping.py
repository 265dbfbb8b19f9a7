"""toolz, which has no types, behind a typed name. It is felt in start-up, so whoever only sometimes groups imports this then."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar, cast

import toolz

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(key: Callable[[Item], Key], items: Iterable[Item]) -> dict[Key, list[Item]]:
    """The items by their key; keys, and the items of each, in the order in which they came."""
    return cast("dict[Key, list[Item]]", toolz.groupby(key, items))
