"""Arguments, exit statuses, wiring; no decision of its own (spec 9.1, 9.3).

What a command needs is imported when it runs: `evaluate` has Git at work before the heavy imports begin.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn, TextIO, cast

from discern.arguments import Parser, Shown, Usage
from discern.effects.git import Git, Refused, refused_by
from discern.effects.repository import Asked, Repository, open_repository
from discern.output import Output
from discern.vocabulary import FAIL_ON, NESTED_VARIABLE, FailOn

if TYPE_CHECKING:
    from types import FrameType

    from discern.evaluation import Finding
    from discern.proof import Statement

BLOCKED, USAGE = 1, 2  # exit statuses (spec 9.1)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal came; what is open is closed on the way out."""

    def __init__(self, number: int) -> None:
        self.number = number


class Streams:
    """Where a run reads and writes; a test puts its own in."""

    def __init__(self, out: TextIO, err: TextIO, environment: Mapping[str, str]) -> None:
        self.out = Output(out)
        self.err = Output(err)
        self.environment = environment

    @property
    def colour(self) -> bool:
        """Only for a person who has not said no."""
        return self.out.isatty() and not self.environment.get("NO_COLOR") and self.environment.get("TERM") != "dumb"


def main() -> NoReturn:
    """The `discern` command: run, and leave without the interpreter's tidying up, which takes longer than many an evaluation."""
    import gc

    gc.disable()  # a short life makes no garbage worth collecting
    out, err = (stream or open(os.devnull, "w", encoding="utf-8") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (out, err):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored by whoever started us, it would hide how Git ended
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        status = run(sys.argv[1:], stdout=out, stderr=err)
    except Interrupted as interrupted:
        status = 128 + interrupted.number
    os._exit(status)


def interrupt(number: int, _: FrameType | None) -> NoReturn:
    """A signal unwinds what is open; a second one finds the door closed."""
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)


def run(
    arguments: Sequence[str],
    *,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """One call; its exit status. Streams and environment are the process's own where none are given; it is not ended here."""
    streams = Streams(stdout or sys.stdout, stderr or sys.stderr, os.environ if environment is None else environment)
    status = answered([os.fsencode(word).decode("utf-8", "surrogateescape") for word in arguments], streams)
    streams.out.flush()
    if streams.out.fault is not None:
        status = refuse(Refused(f"standard output cannot be written: {streams.out.fault}"), streams)
    streams.err.flush()
    return status


def answered(words: list[str], streams: Streams) -> int:
    """The exit status of a call, whatever it is."""
    try:
        options = understood(words)
        return int(options.command(options, streams))
    except Shown as shown:
        streams.out.write(str(shown))
        return 0
    except Usage as usage:
        return refuse(Refused(str(usage)), streams)
    except OSError as error:
        return refuse(refused_by(error), streams)


def understood(words: list[str]) -> argparse.Namespace:
    """The words of a call. What follows `conformance` is for a parser of its own: argparse would take a leading option away."""
    if words[:1] == ["conformance"]:
        return argparse.Namespace(command=command_conformance, rest=words[1:])
    if words[:1] == ["evaluate"]:  # its parser alone: all of them take eight times as long to make
        evaluate = Parser(prog="discern evaluate")
        fill_evaluate(evaluate)
        return evaluate.parse_args(words[1:])
    return parser().parse_args(words)


def refuse(refused: Refused, streams: Streams) -> int:
    """One clear line on standard error (spec 9.1)."""
    from discern.text import one_line

    print(f"discern: {one_line(refused.message, 2000)}", file=streams.err)
    return USAGE


def parser() -> Parser:
    """The words of the command line."""
    top = Parser(prog="discern", description="Which review checkpoints does this Git change set off?")
    top.add_argument("--version", action=Version)
    commands = top.add_subparsers(metavar="COMMAND", required=True, prog="discern")
    fill_evaluate(commands.add_parser("evaluate", help="evaluate the change and say what it sets off"))
    listing = commands.add_parser("checkpoints", help="list the governing policy and what it would say")
    add_trunk(listing)
    add_shape(listing)
    listing.set_defaults(command=command_checkpoints, commit=None)
    fill_declare(commands.add_parser("declare", help="answer an open question"))

    proof = commands.add_parser("proof", help="show or verify the Proof of the last evaluation")
    ways = proof.add_subparsers(metavar="WAY", required=True, prog="discern proof")
    show = ways.add_parser("show", help="print it")
    add_root(show)
    show.set_defaults(command=command_proof_show)
    verify = ways.add_parser("verify", help="say whether it still holds")
    add_trunk(verify)
    verify.set_defaults(command=command_proof_verify, commit=None)

    commands.add_parser("conformance", help="evaluate cases, or drive an implementation over them")  # see `understood`
    commands.add_parser("demo", help="see discern at work on a small repository").set_defaults(command=command_demo)
    return top


def add_root(parser: argparse.ArgumentParser) -> None:
    """Where the project is."""
    parser.add_argument("--root", metavar="DIR", help="the project root, if it is not the Git top level")


def add_trunk(parser: argparse.ArgumentParser) -> None:
    """Where it is, and what it is compared with."""
    add_root(parser)
    parser.add_argument("--trunk", metavar="REV", help="what the change is compared with; default: DISCERN_TRUNK, else as found")


def add_shape(parser: argparse.ArgumentParser) -> None:
    """For whom the answer is."""
    parser.add_argument("--format", choices=("text", "json"), default="text")


def fill_evaluate(evaluate: argparse.ArgumentParser) -> None:
    """`discern evaluate`, all of its words."""
    add_trunk(evaluate)
    add_shape(evaluate)
    evaluate.add_argument("ids", nargs="*", metavar="ID", help="only these checkpoints")
    evaluate.add_argument("--commit", metavar="REV", help="evaluate this commit, not the working tree; nothing is run or written")
    evaluate.add_argument("--dry-run", action="store_true", help="run no `when` command, write nothing")
    what = f"exit with 1 for these of {', '.join(FAIL_ON)}; default: awaiting"
    evaluate.add_argument("--fail-on", metavar="WHAT,…", type=fail_on, default=("awaiting",), help=what)
    evaluate.add_argument("-v", "--verbose", action="store_true", help="show every checkpoint's steps, and what took time")
    evaluate.set_defaults(command=command_evaluate)


def fill_declare(declare: argparse.ArgumentParser) -> None:
    """`discern declare`, all of its words."""
    add_root(declare)
    add_shape(declare)
    declare.add_argument("id", metavar="ID")
    word = declare.add_mutually_exclusive_group(required=True)
    word.add_argument("--met", dest="verdict", action="store_const", const="met", help="it holds")
    word.add_argument("--unmet", dest="verdict", action="store_const", const="unmet", help="it does not; say why with --why")
    declare.add_argument("--why", metavar="TEXT", help="one paragraph of at most 500 characters")
    declare.set_defaults(command=command_declare)


class Version(argparse.Action):
    """`--version`, asked for only then."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Show and end."""
        from discern import __version__

        raise Shown(f"discern {__version__}\n")


def fail_on(words: str) -> tuple[FailOn, ...]:
    """`--fail-on WHAT,…`. Raises ArgumentTypeError for a word that is none of them."""
    chosen: tuple[FailOn, ...] = tuple(what for word in words.split(",") for what in FAIL_ON if what == word)
    if len(chosen) != len(words.split(",")) or ("never" in chosen and len(set(chosen)) > 1):
        raise argparse.ArgumentTypeError(f"{words!r}: give {', '.join(FAIL_ON[:-1])}, with commas, or never")
    return chosen


def asked(options: argparse.Namespace, environment: Mapping[str, str]) -> Asked:
    """How the user names the directory, the trunk and the commit."""
    return Asked(native(options.root), native(options.trunk), "--trunk", native(options.commit)).or_ambient(environment)


def native(word: str | None) -> str | None:
    """A name as the system and Git are given it, in whatever encoding they have names."""
    return None if word is None else os.fsdecode(word.encode("utf-8", "surrogateescape"))


def find(
    options: argparse.Namespace,
    streams: Streams,
    *,
    dry_run: bool,
    ids: tuple[str, ...] = (),
    fail_on: tuple[FailOn, ...] = ("awaiting",),
) -> Finding | Refused:
    """Evaluate; Git is at work while the rest is imported."""
    from discern.effects.opening import Opening

    with Opening(asked(options, streams.environment), streams.environment) as opening:
        from discern.evaluation import Request, evaluate

        return evaluate(Request(asked=opening.asked, ids=ids, dry_run=dry_run, fail_on=fail_on), opening)


def command_evaluate(options: argparse.Namespace, streams: Streams) -> int:
    """`discern evaluate`."""
    if streams.environment.get(NESTED_VARIABLE):
        print("discern: inside a `when` command: no command is run and nothing is written", file=streams.err)
    found = find(options, streams, dry_run=options.dry_run, ids=tuple(options.ids), fail_on=options.fail_on)
    if isinstance(found, Refused):
        return refuse(found, streams)
    if options.format == "json":
        from discern.documents import result_json

        streams.out.writelines(result_json(found.result))
        if options.verbose:
            print(*(f"{name}: {seconds * 1000:.1f} ms" for name, seconds in found.timings), sep="\n", file=streams.err)
    else:
        from discern.report.text import render

        print(
            render(
                found.result,
                colour=streams.colour,
                verbose=options.verbose,
                timings=found.timings,
                root=options.root,
                trunk=asked(options, streams.environment).trunk,
            ),
            file=streams.out,
            end="",
        )
    return BLOCKED if found.result.blocking else 0


def command_checkpoints(options: argparse.Namespace, streams: Streams) -> int:
    """`discern checkpoints`."""
    found = find(options, streams, dry_run=True)
    if isinstance(found, Refused):
        return refuse(found, streams)
    if options.format == "json":
        from discern.documents import result_json

        streams.out.writelines(result_json(found.result))
    else:
        from discern.report.listing import render_listing

        named = asked(options, streams.environment).trunk
        print(render_listing(found.result, colour=streams.colour, trunk=named), file=streams.out, end="")
    return 0


def located(options: argparse.Namespace, streams: Streams) -> Repository | Refused:
    """The repository, for what needs nothing of the change."""
    with Git(streams.environment) as git:
        opened = open_repository(git, Asked(native(options.root)))
    return opened if isinstance(opened, Refused) else opened[0]


def command_declare(options: argparse.Namespace, streams: Streams) -> int:
    """`discern declare`."""
    if streams.environment.get(NESTED_VARIABLE):
        return refuse(Refused("inside a `when` command nothing is declared"), streams)
    repository = located(options, streams)
    if isinstance(repository, Refused):
        return refuse(repository, streams)
    from discern.evaluation.declarations import declare

    declared = declare(repository, streams.environment, options.id, options.verdict, options.why)
    if isinstance(declared, Refused):
        return refuse(declared, streams)
    from discern.documents import dumps
    from discern.text import one_line

    if options.format == "json":
        bound = {"definition_hash": declared.served.definition, "subject": declared.served.subject}
        print(dumps({"version": 1, "checkpoint": declared.checkpoint, "verdict": declared.verdict, **bound}), file=streams.out)
    else:
        print(f"{one_line(declared.checkpoint)}: declared {declared.verdict}", file=streams.out)
    return 0


def last_proof(options: argparse.Namespace, streams: Streams) -> tuple[Repository, Statement] | Refused:
    """The repository, and the Proof that the last whole evaluation left there."""
    repository = located(options, streams)
    if isinstance(repository, Refused):
        return repository
    from discern.evaluation.declarations import recorded_proof

    recorded = recorded_proof(repository)
    return recorded if isinstance(recorded, Refused) else (repository, recorded)


def command_proof_show(options: argparse.Namespace, streams: Streams) -> int:
    """`discern proof show`."""
    last = last_proof(options, streams)
    if isinstance(last, Refused):
        return refuse(last, streams)
    from discern.proof import Encoded

    streams.out.writelines(map(bytes.decode, Encoded(last[1])))
    return 0


def command_proof_verify(options: argparse.Namespace, streams: Streams) -> int:
    """`discern proof verify`: computes again, without running a command (spec 8.4)."""
    last = last_proof(options, streams)
    if isinstance(last, Refused):
        return refuse(last, streams)
    found = find(options, streams, dry_run=True)
    if isinstance(found, Refused):
        return refuse(found, streams)
    from discern.evaluation.declarations import verify
    from discern.text import one_line

    verification = verify(*last, found.result)
    print(verification.verdict, *(f"  {one_line(what, 200)}" for what in verification.because), sep="\n", file=streams.out)
    return 0 if verification.verdict == "current" else BLOCKED


def command_conformance(options: argparse.Namespace, streams: Streams) -> int:
    """`discern conformance …` (spec 10)."""
    from discern.conformance.runner import main as conformance

    with open(os.devnull) if sys.stdin is None else nullcontext(sys.stdin) as stdin:
        return conformance(options.rest, stdin, cast(TextIO, streams.out), cast(TextIO, streams.err))


def command_demo(_: argparse.Namespace, streams: Streams) -> int:
    """`discern demo`."""
    from discern.demo import demo

    return demo(cast(TextIO, streams.out), colour=streams.colour)
