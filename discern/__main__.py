"""`python -m discern`: the current directory leaves the import path before anything else is imported (spec 9.4)."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from discern.cli import main

main()
