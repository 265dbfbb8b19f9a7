"""Coverage-guided garbage for the parsers of Git's output, on demand: `python tests/fuzz/parsers.py -max_total_time=60`.

Needs the extra `fuzz` and the repository's root on the path. All arguments are libFuzzer's; a directory is a corpus.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["discern.effects"]):
    from tests.fuzz.oracles import check

# What Git really prints, to begin with.
OID = b"1" * 40
SEEDS = (
    b":100644 000000 " + OID + b" " + b"0" * 40 + b" D\0a\nb\0",
    b"1\t2\t00000000\0-\t-\t00000001a\0\0diff --git a/00000000 b/00000000\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
    b"diff --git a/00000002t b/00000002t\nnew file mode 100644\n@@ -0,0 +1,2 @@\n+++ b/x\n+@@ -1 +1 @@\n",
    b"refs/heads/main\0" + OID + b"\0refs/heads/x\n",
    OID + b"\n" + OID + b"\n^" + OID + b"\n",
    b"100644 name\0" + b"\x11" * 20 + b"40000 dir\0" + b"\x22" * 20,
    b"H a\0h b\0? c/x\0S a/x\0a/../x\0",
    b":160000 160000 "
    + OID
    + b" "
    + b"0" * 40
    + b" M\0vend\0\0-Subproject commit "
    + OID
    + b"\n+Subproject commit "
    + OID
    + b"\n",
)


def one(data: bytes) -> None:
    """One input: the first bytes say into what pieces the rest is cut."""
    sizes = [1 + size % 40 for size in data[:3]] or [1]
    check(data[3:], sizes)


def main() -> None:
    """Fuzz until libFuzzer is told to stop."""
    for seed in SEEDS:
        one(b"\0\5\x20" + seed)
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
