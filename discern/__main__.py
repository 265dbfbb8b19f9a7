"""`python -m discern`: the current directory leaves the import path before anything else is imported (spec 9.4)."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `main` takes over, an interrupt ends the program without a traceback

from discern.cli import main

main()
