"""Path patterns (contract 3)."""

import functools


class PatternError(Exception):
    """A pattern that cannot be used."""


def raw(path):
    return path.encode("utf-8", "surrogateescape")


def read_class(text, start):
    """The class that opens at `start`, as a token, and where it ends."""
    at = start + 1
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    end = text.find("]", at + 1)
    if end < 0 or "/" in text[at:end]:
        raise PatternError("a class")
    chars, ranges = text[at:end], []
    while chars:
        if len(chars) > 2 and chars[1] == "-":
            ranges.append((chars[0], chars[2]))
            chars = chars[3:]
        else:
            ranges.append((chars[0], chars[0]))
            chars = chars[1:]
    if any(low > high for low, high in ranges):
        raise PatternError("a reversed range")
    return ("class", negated, ranges), end + 1


def alternatives(text):
    """Every alternative of a glob, each a list of tokens: characters, `("*",)`, `("?",)`, `("class", …)`."""
    outer, finished, current, at = [], [], [[]], 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "{":
            outer.append((finished, current))
            finished, current = [], [[]]
        elif char == "}":
            if not outer:
                raise PatternError("a stray }")
            group = finished + current
            finished, before = outer.pop()
            if len(before) * len(group) > 1000:
                raise PatternError("too many alternatives")
            current = [head + tail for head in before for tail in group]
        elif char == "," and outer:
            finished, current = finished + current, [[]]
        else:
            token = (char,) if char in "*?" else char
            if char == "[":
                token, at = read_class(text, at - 1)
            for alternative in current:
                alternative.append(token)
    if outer:
        raise PatternError("an unclosed {")
    return current


def is_plain(text):
    return not any(char in "*?[]{}" for char in text)


@functools.lru_cache(10_000)
def understand(pattern):
    """What a pattern says, as (shape, value)."""
    if pattern.startswith(("!", "./")):
        raise PatternError("a refused beginning")
    if pattern in ("", "/"):
        return "nothing", None
    if pattern == "/**":
        return "everything", None
    if pattern.endswith("/**") and is_plain(pattern[:-3]):
        return "below", pattern[:-2].removeprefix("/")
    if is_plain(pattern):
        if not pattern.endswith("/"):
            return "is", pattern.removeprefix("/")
        return ("segment" if pattern.startswith("/") else "below"), pattern
    if pattern.startswith("*.") and len(pattern) > 2 and is_plain(pattern[2:]) and "/" not in pattern:
        return "ends", pattern[1:]
    glob = pattern.removeprefix("/")
    if glob.endswith("/"):
        glob += "**"
    return "glob", [split_tokens(tokens) for tokens in alternatives(glob)]


def split_tokens(tokens):
    segments = [[]]
    for token in tokens:
        if token == "/":
            segments.append([])
        else:
            segments[-1].append(token)
    return segments


def one_matches(token, char):
    if type(token) is str:
        return token == char
    if token[0] == "class":
        return token[1] != any(low <= char <= high for low, high in token[2])
    return True


def name_matches(tokens, name):
    """One segment against one name; the places in the name that the tokens so far can reach."""
    places = {0}
    for token in tokens:
        if token == ("*",):
            places = set(range(min(places), len(name) + 1)) if places else places
        else:
            places = {at + 1 for at in places if at < len(name) and one_matches(token, name[at])}
    return len(name) in places


def segments_match(segments, names, known):
    key = (len(segments), len(names))
    if key not in known:
        known[key] = False
        if not segments:
            known[key] = not names
        elif segments[0] == [("*",), ("*",)]:
            least = 1 if len(segments) == 1 else 0
            known[key] = any(segments_match(segments[1:], names[n:], known) for n in range(least, len(names) + 1))
        elif names and name_matches(segments[0], names[0]):
            known[key] = segments_match(segments[1:], names[1:], known)
    return known[key]


def pattern_matches(pattern, path):
    shape, value = understand(pattern)
    if shape == "below":
        return path.startswith(value)
    if shape == "segment":
        return value in "/" + path
    if shape == "ends":
        return path.endswith(value)
    if shape == "is":
        return path == value
    if shape == "glob":
        return any(segments_match(segments, path.split("/"), {}) for segments in value)
    return shape == "everything"


def any_matches(patterns, path):
    return any(pattern_matches(pattern, path) for pattern in patterns)


def is_bad(pattern):
    try:
        understand(pattern)
    except PatternError:
        return True
    return False
