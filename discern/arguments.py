"""The words of a call, understood alike by every command: a fault is one line, and help is text that is given back (spec 9.1)."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn


class Usage(Exception):  # noqa: N818 - it is no error of ours
    """The words of a call are off: what is wrong, in one line."""


class Shown(Exception):  # noqa: N818 - it is no error at all
    """All that was asked for is this text."""


class Help(argparse.HelpFormatter):
    """Help of a fixed width: argparse would import half of shutil for every run to ask for the terminal's."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100, max_help_position=28)


class Parser(argparse.ArgumentParser):
    """Complains by `Usage` and helps by `Shown`: whoever calls turns them into output and an exit status."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=Help, **settings)

    def error(self, message: str) -> NoReturn:
        """A call that cannot be understood."""
        raise Usage(f"{message} (see `{self.prog} --help`)")

    def print_help(self, file: object = None) -> NoReturn:
        """`--help`."""
        raise Shown(self.format_help())
