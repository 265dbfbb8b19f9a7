"""Text that is safe to show: what a path, a policy or a command says, made harmless for a terminal (spec 9.1)."""

from __future__ import annotations

import re
from typing import Final

# Written out, not asked of `str.isprintable`: the answer must not depend on the Unicode tables of the running Python.
_UNSAFE: Final = "".join(
    (
        "[",
        "\x00-\x1f\x7f-\x9f",  # control characters
        "\u2028\u2029",  # what ends a line for some readers
        "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",  # what turns the direction of writing
        "\u00ad\u180e\u200b\u2060-\u2065\ufeff\ufff9-\ufffb\U000e0000-\U000e007f",  # what cannot be seen
        "\ud800-\udfff",  # surrogates: bytes that are not UTF-8
        "]",
    )
)
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def one_line(text: str, limit: int | None = None) -> str:
    """`text` with every character that could harm a terminal or a reader shown as an escape, in at most `limit` characters.

    A byte that is not UTF-8 (a surrogate escape) comes out as `\\xff`, unlike the character U+00FF. A cut text ends with `…`.
    """
    # `re.sub` compiles the class when it is first needed, not at import: most texts take the first way.
    safe = text if text.isascii() and text.isprintable() else re.sub(_UNSAFE, _escape, text)
    return safe if limit is None or len(safe) <= limit else safe[: limit - 1] + "…"


def holds_surrogate(text: str) -> bool:
    """Whether a text holds half a character, and so is no valid UTF-8: what bytes that are not text, or an escape, come to."""
    return not text.isascii() and re.search("[\ud800-\udfff]", text) is not None


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
