"""From the bytes of `discern.toml` to its document (spec 1.3). An account tells the place of a fault, never the text."""

from __future__ import annotations

import re
from typing import Any, Final

from discern.definitions import PolicyInvalid
from discern.text import one_line
from discern.vocabulary import ACCOUNT_LIMIT, CONFIG_LIMIT

_BOM: Final = b"\xef\xbb\xbf"
_PLACE: Final = re.compile(r" \(at (line \d+, column \d+|end of document)\)\Z")
_QUOTED: Final = re.compile(r"""(?s)[('"](?![=\[\]]{1,2}').*[)'"]""")  # what tomllib takes from the file, not its own `'='`


def parse(raw: bytes) -> dict[str, Any] | PolicyInvalid:
    """The TOML document in these bytes."""
    import tomllib

    if len(raw) > CONFIG_LIMIT:
        return PolicyInvalid(f"discern.toml has more than {CONFIG_LIMIT:,} bytes")
    body = raw.removeprefix(_BOM)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        return PolicyInvalid(f"discern.toml is not UTF-8 (line {line}, byte {error.start + 1} of the file): save it as UTF-8")
    try:
        return tomllib.loads(text)
    except RecursionError:
        return PolicyInvalid("discern.toml nests arrays or tables too deeply to be read")
    except tomllib.TOMLDecodeError as error:
        return PolicyInvalid(f"discern.toml is not TOML: {_without_quotations(str(error))}")
    except ValueError:  # Python bounds the digits of an integer; tomllib does not turn that into an error of its own
        return PolicyInvalid("discern.toml is not TOML: an integer has too many digits")


def _without_quotations(message: str) -> str:
    """What kind of fault tomllib found, and where, without what it quotes from the file."""
    place = _PLACE.search(message)
    kind = _QUOTED.sub("…", message[: place.start()] if place else message)
    return one_line(kind + (f" ({place[1]})" if place else ""), ACCOUNT_LIMIT // 2)
