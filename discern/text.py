"""Text that is safe to show: what a path, a policy or a command says, made harmless for a terminal (spec 9.1)."""

from __future__ import annotations

import re
from typing import Final

# Control characters, what ends a line for some readers, what is invisible, what turns the direction of writing, and surrogates.
# Written out, not asked of `str.isprintable`: the answer must not depend on the Unicode tables of the running Python.
_UNSAFE: Final = "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def one_line(text: str, limit: int | None = None) -> str:
    """`text` with every character that could harm a terminal or a reader shown as an escape, in at most `limit` characters.

    A byte that is not UTF-8 (a surrogate escape) comes out as `\\xff`, unlike the character U+00FF. A cut text ends with `…`.
    """
    # `re.sub` compiles the class when it is first needed, not at import: most texts take the first way.
    safe = text if text.isascii() and text.isprintable() else re.sub(_UNSAFE, _escape, text)
    return safe if limit is None or len(safe) <= limit else safe[: limit - 1] + "…"


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
