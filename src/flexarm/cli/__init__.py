"""Command-line program `flexarm`: parser, exit statuses, and one module per command."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from flexarm.cli import (
    arms,
    cache,
    check,
    count,
    equations,
    identify,
    modes,
    reproduce,
    simulate,
)
from flexarm.cli.begin import completion, new
from flexarm.cli.bodies import import_body, reduce
from flexarm.cli.console import Argument, Misuse, add_arguments, heartbeat
from flexarm.cli.exchange import export, import_urdf
from flexarm.cli.exits import (
    EXIT_BROKEN_PIPE,
    EXIT_INTERRUPTED,
    EXIT_INVALID_MODEL,
    EXIT_OTHER,
    EXIT_SIGNAL,
    EXIT_SIMULATION,
    EXIT_USAGE,
)
from flexarm.cli.motions import plan, shape_inputs
from flexarm.cli.pages import live, view
from flexarm.cli.studies import compare, converge, optimise, study
from flexarm.errors import FlexarmError, ModelError, ShapeError, SimulationError
from flexarm.interrupts import signals_interrupt

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    argv
        Arguments after the program's name; by default the arguments of the process.

    Returns
    -------
    int
        0 when all went well, 2 on wrong usage, 3 on an invalid model, 4 when a simulation failed,
        130 when interrupted, 143 and 129 when ended by SIGTERM and SIGHUP, 141 when the reader of
        the output went away, 1 on any other error.
    """
    # NumPy's threads are limited before its import, since matrices of arms are too small for
    # several threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        print("flexarm: error: standard output is closed. Open it, or send it to a file.",
              file=sys.stderr)  # fmt: skip
        return EXIT_OTHER
    try:
        with signals_interrupt() as signals:
            status = _run(argv)
            sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes standard output at exit, and this must not raise a second error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return EXIT_BROKEN_PIPE
        where = "standard output" if error.filename is None else error.filename
        print(f"flexarm: error: {where}: {error.strerror or error}", file=sys.stderr)
        return EXIT_OTHER
    return EXIT_SIGNAL + signals[0] if signals and status == EXIT_INTERRUPTED else status


def _status(error: FlexarmError) -> int:
    if isinstance(error, ModelError | ShapeError):
        return EXIT_INVALID_MODEL
    return EXIT_SIMULATION if isinstance(error, SimulationError) else EXIT_OTHER


def _run(argv: Sequence[str] | None) -> int:
    """Return the exit status of a command after running it; print an error as one line."""
    command = ""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in RENAMED:
        old, arguments[0] = arguments[0], RENAMED[arguments[0]]
        print(f"flexarm: warning: '{old}' is '{arguments[0]}' now", file=sys.stderr)
    try:
        args = _parser().parse_args(arguments)
        command = f" {args.command}"
        with heartbeat(args.command):
            return COMMANDS[args.command].run(args) or 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_OTHER
    except Misuse as error:
        print(f"flexarm{command}: error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except FlexarmError as error:
        print(f"flexarm: error: {error}", file=sys.stderr)
        return _status(error)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _parser() -> "_Parser":
    parser = _Parser(
        prog="flexarm",
        description="Dynamics of robots whose links bend, twist and stretch.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        below = subparsers.add_parser(name, help=command.SUMMARY, description=command.SUMMARY)
        below.command = command
    subparsers.choices["completion"].set_defaults(commands=subparsers.choices)
    return parser


class _Parser(argparse.ArgumentParser):
    """Argument parser of the program or of one command.

    The arguments of a command are added when the command is chosen. Unknown arguments raise an
    error with the usage of the command. An error is raised if help cannot be printed.
    """

    command: "Command | None" = None  # command whose arguments are not added yet

    def add_command(self) -> None:
        """Add the arguments of the chosen command to the parser, unless added already."""
        command, self.command = self.command, None
        if command is not None:
            add_arguments(self, command.ARGUMENTS)

    def parse_known_args(self, *args: Any, **named: Any) -> tuple[Any, list[str]]:
        self.add_command()
        namespace, rest = super().parse_known_args(*args, **named)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return namespace, rest

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        if message:
            (file or sys.stderr).write(message)


class _Version(argparse.Action):
    """Parser action of ``--version``; the version number is imported only when it is printed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from flexarm import __version__

        print(f"flexarm {__version__}")
        parser.exit()


class Command(Protocol):
    """Interface of a module that implements one command."""

    SUMMARY: str  # one line for the help

    @property
    def ARGUMENTS(self) -> Iterable[str | Argument]:
        """Arguments of the command, for `flexarm.cli.console.add_arguments`."""

    def run(self, args: argparse.Namespace) -> int | None:
        """Run the command and return the exit status, None for 0."""


COMMANDS: dict[str, Command] = {
    "arms": arms,
    "new": new,
    "check": check,
    "modes": modes,
    "simulate": simulate,
    "live": live,
    "converge": converge,
    "compare": compare,
    "study": study,
    "optimise": optimise,
    "view": view,
    "shape-inputs": shape_inputs,
    "plan": plan,
    "count": count,
    "equations": equations,
    "identify": identify,
    "import-body": import_body,
    "import-urdf": import_urdf,
    "export": export,
    "reduce": reduce,
    "reproduce": reproduce,
    "cache": cache,
    "completion": completion,
}
# Present names of commands by old name.
RENAMED = {"samples": "arms", "shape": "shape-inputs"}
