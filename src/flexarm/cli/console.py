"""Terminal: arguments shared by several commands, and output as text, tables and JSON."""

import argparse
import json
import math
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.arguments import in_unit, require_path
from flexarm.cli.constants import FIRST_PROGRESS, LEAST_WIDTH, LONGEST_SILENCE, PLAIN_WIDTH, T_END
from flexarm.errors import FlexarmError, LongRun, ModelError, SimulationError
from flexarm.integrate.options import OPTIONS, RunOptions

if TYPE_CHECKING:
    from flexarm.arm import Arm
    from flexarm.io.model_file import Change
if TYPE_CHECKING:
    from rich.console import Console


FIGURES = (".png", ".svg", ".pdf")
STIFFENING = {"on": True, "off": False, "as-given": None}


class Misuse(FlexarmError):
    """Error for wrong usage: arguments that contradict each other, or have invalid values."""


Argument = tuple[tuple[str, ...], dict[str, Any]]  # flags, and keywords of ``add_argument``


def arg(*flags: str, **settings: Any) -> Argument:
    """Return the flags of a command's argument and its keywords for ``add_argument``."""
    return flags, settings


def add_arguments(parser: argparse.ArgumentParser, arguments: Iterable[str | Argument]) -> None:
    """Add arguments to a command's parser; a string is the flag of an option shared by commands."""
    for argument in arguments:
        flags, settings = SHARED[argument] if isinstance(argument, str) else argument
        parser.add_argument(*flags, **settings)


def read_arm(args: argparse.Namespace) -> "Arm":
    """Load the arm of the argument ``ARM``, changed by ``--set``, and made rigid by ``--rigid``."""
    from flexarm.io.model_file import arm_path, files_beside, load, with_changes

    path = arm_path(args.arm)
    arm = load(path, files=args.allow_files)
    texts = [change.text for change in args.changes]
    try:
        files = files_beside(path.parent, args.allow_files)
        arm = with_changes(arm, args.changes, files) if texts else arm
    except ModelError as error:
        blamed = "" if str(error).startswith(tuple(texts)) else f"{', '.join(texts)}: "
        raise ModelError(f"--set {blamed}{error}") from None
    if not args.rigid:
        return arm
    from flexarm.model.rigid import rigid

    return rigid(arm)


def require_outputs(
    args: argparse.Namespace, *outputs: Path | None, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Raise an error if output files cannot be written, before results are computed.

    An output must not be an input, such as the model file; two outputs must not be the same file;
    and ``--plot`` must name a figure.
    """
    from flexarm.io.whole_file import require_apart, require_writable

    require_figure(getattr(args, "plot", None))
    require_distinct(*outputs)
    read = [Path(file) for file in (getattr(args, "arm", None), *inputs) if file is not None]
    for path in filter(None, outputs):
        require_writable(path, force=args.force)
        require_apart(path, read)


def deliver(args: argparse.Namespace, result: Any, arm: "Arm", document: dict[str, Any]) -> None:
    """Write an arm to ``--out`` and a result's figure to ``--plot``; print the result, or JSON."""
    from flexarm.io.model_file import save
    from flexarm.io.whole_file import write_figure

    if args.out is not None:
        save(arm, args.out, force=args.force)
    if args.plot is not None:
        write_figure(args.plot, result.plot(), force=args.force)
    if args.json:
        print_json(document)
    else:
        print(result)


def require_distinct(*outputs: Path | None) -> None:
    """Raise an error if two outputs are the same file."""
    places = [(path, os.path.realpath(path)) for path in outputs if path is not None]
    for i, (path, place) in enumerate(places):
        if place in (earlier for _, earlier in places[:i]):
            raise Misuse(f"{path}: two outputs have this path. Give each output a file of its own.")


def require_figure(path: Path | None, option: str = "--plot") -> None:
    """Raise an error unless a path has the ending of a figure file."""
    if path is not None and path.suffix.lower() not in FIGURES:
        raise Misuse(f"{option}: must end in {', '.join(FIGURES)}, got {path.name}")


def file_path(text: str) -> Path:
    """Return the path of a file or folder given on the command line."""
    try:
        return require_path("a path", text)
    except FlexarmError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def seconds(text: str, unit: str = "s") -> float:
    """Return a number in seconds, or in another unit, from text with or without a unit."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(in_unit("time", text, unit))
    except FlexarmError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("time: ")) from None


def named(
    form: str, read: Callable[[str], Any] = str, *, optional: bool = False
) -> Callable[[str], tuple[str, Any]]:
    """Return an argument type that splits ``NAME=VALUE`` and parses the value with ``read``.

    With ``optional``, the value may be omitted and is then None.
    """

    def pair(text: str) -> tuple[str, Any]:
        name, sign, value = text.partition("=")
        if optional and not sign:
            return name, None
        try:
            if name and value:
                return name, read(value)
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"must be {form}, got '{text}'")

    return pair


def once(option: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the values of a repeatable option by name; raise an error for a repeated name."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            words = [*values[name], *value] if isinstance(value, list) else []
            remedy = f"write {name}={','.join(words)}" if words else "give it once"
            raise Misuse(f"{option}: {name} is given twice: {remedy}")
        values[name] = value
    return values


share = partial(seconds, unit="1")  # reads a plain number or a percentage


def whole_number(text: str) -> int:
    """Return the whole number >= 1 in a text."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got '{text}'")
    return int(text)


def _change(text: str) -> "Change":
    """Return the change of a model file's value that ``KEY=VALUE`` describes."""
    from flexarm.io.model_file import read_change

    try:
        return read_change(text)
    except FlexarmError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _start(text: str) -> str | Path:
    """Return the initial state of a run from a text: ``stated``, ``equilibrium``, or a run file."""
    return text if text in ("stated", "equilibrium") else file_path(text)


# Reader of an option's value, by the name of the value in the usage.
_READ: dict[str, Any] = {"S": seconds, "X": share, "N": int, "RUN": _start}


def _run_option(name: str) -> Argument:
    """Return the command-line argument of an option in `RunOptions`."""
    declared, default = OPTIONS[name], getattr(RunOptions, name, T_END)
    flag, _, value = declared.flag.partition(" ")
    if not value:
        return arg(flag, dest=name, action="store_true", help=declared.help)
    low, high = declared.bounds
    notes = [f"{low:g} to {high:g}"] if low else []
    notes += [f"default {default:g}" if isinstance(default, float) else f"default {default}"]
    text = declared.help + (f": {', '.join(declared.words)}" if declared.words else "")
    text += f" [{declared.unit}]" if declared.unit not in ("", "1") else ""
    text += f" ({', '.join(notes)})" if default is not None else ""
    return arg(
        flag, dest=name, metavar=value, type=_READ.get(value, str), default=default, help=text,
        choices=declared.words or None,
    )  # fmt: skip


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the arguments that the user gave on the command line, by name, without defaults."""
    values = {name: getattr(args, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def given_options(args: argparse.Namespace) -> RunOptions:
    """Return the checked run options of the command line, except a run file as initial state.

    Raises
    ------
    Misuse
        If an option is out of bounds, or some options exclude each other.
    """
    values = {name: getattr(args, name) for name, option in OPTIONS.items() if option.flag}
    values["start"] = None if isinstance(args.start, Path) else args.start
    try:
        return RunOptions.of(**values)
    except SimulationError as error:
        name, _, rest = str(error).partition(":")
        raise Misuse(f"{OPTIONS[name].flag.split()[0]}:{rest}") from None


ARM = (
    arg("arm", metavar="ARM", help="a model file, or the name of a sample"),
    arg(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="changes", type=_change,
        help="change a value of the model file, such as gravity=[0,0,0] or "
             "links.forearm.section.EIy=900; links by name or number from 1; KEY= removes a "
             "key; may be given again",
    ),
    arg(
        "--rigid", action="store_true",
        help="use the arm's rigid twin: no link bends, no transmission winds up",
    ),
    arg(
        "--allow-files", type=file_path, action="append", default=[], metavar="DIR",
        help="let the model file read files of this folder too, beside its own (repeatable)",
    ),
)  # fmt: skip
# Options that several commands have, by their flags.
RUN_OPTIONS = {
    each[0][0]: each
    for each in [_run_option(name) for name, option in OPTIONS.items() if option.flag]
}
SHARED = RUN_OPTIONS | {
    each[0][0]: each
    for each in (
        arg(
            "--points", type=int, metavar="N",
            help="Gauss points per element of element-jacobian (default: as many as are exact)",
        ),
        arg(
            "--stiffening", choices=STIFFENING, default="as-given",
            help="links as exact beams, or linear (default: as the model file says)",
        ),
        arg("--plot", type=file_path, metavar="FILE", help="write a figure (png, svg, pdf)"),
        arg("--force", action="store_true", help="overwrite files that are there"),
        arg("--json", action="store_true", help="print one JSON document"),
    )
}  # fmt: skip


NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?$")  # table cells that match are right-aligned
# Description of each package's activity; the innermost package in the call stack is printed.
WORK = {
    "io": "reading files",
    "links": "computing shape functions",
    "model": "building the model",
    "mechanics": "deriving the equations",
    "formulations": "deriving the equations",
    "closed_forms": "deriving the equations",
    "engine": "compiling the equations",
    "loops": "compiling the equations",
    "linear": "computing modes or an equilibrium",
    "accuracy": "estimating errors",
    "integrate.choice": "choosing a method",
    "integrate": "solving the motion",
    "gradients": "computing derivatives",
    "check": "checking the arm",
    "studies": "computing runs",
    "control": "computing a control law",
    "exports": "writing the export",
    "planning": "planning",
    "fitting": "fitting",
    "viewer.movie": "drawing",
    "viewer.page": "writing the page",
}


def open_console() -> "Console":
    """Return a console on standard output, without markup or colouring of users' names."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            """Re-raise the pipe error for `flexarm.cli.main`, which sets the exit status."""
            raise

    # Users' names must not be read as markup or emoji codes, nor be coloured.
    console = Output(file=sys.stdout, markup=False, emoji=False, highlight=False)
    console.width = max(console.width, LEAST_WIDTH) if console.is_terminal else PLAIN_WIDTH
    return console


def print_line(console: "Console", text: str, *, indent: int = 2, style: str = "") -> None:
    """Print a line of text with an indent, wrapped on a terminal."""
    from rich.padding import Padding
    from rich.text import Text

    if console.is_terminal:
        console.print(Padding(Text(text, style=style), (0, 0, 0, indent)))
    else:
        console.print(" " * indent + text, soft_wrap=True)


def print_table(console: "Console", title: str, rows: Sequence[Mapping[str, str]]) -> None:
    """Print a table of rows, with numbers aligned to the right; nothing if there are no rows."""
    from rich import box
    from rich.table import Table

    if not rows:
        return
    console.print()
    console.print(title, style="bold")
    style = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=style, pad_edge=False, header_style="bold")
    for header in rows[0]:
        if any(map(NUMBER.match, (row[header] for row in rows))):
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


def print_json(document: Any) -> None:
    """Print one JSON document; infinite numbers and NaN become null."""
    print(json.dumps(_finite(document), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Print each warning on standard error as one line, within a ``with`` block."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LongRun)
        warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
        yield


class _Latest:
    """The most recent progress message of the running command."""

    words = ""
    shown = False  # whether a terminal shows this message


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a progress message.

    A terminal shows the message at once; elsewhere `heartbeat` prints the latest message.
    """
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:

        def note(text: str) -> None:
            _Latest.words = text

        try:
            yield note
        finally:
            _Latest.words = ""
        return
    with console.status("preparing") as status:
        _Latest.shown = True
        try:
            yield lambda text: status.update(escape(text))
        finally:
            _Latest.shown = False


@contextmanager
def heartbeat(command: str, first: float = FIRST_PROGRESS) -> Iterator[None]:
    """Print the activity of a command each time its running time has doubled, or after 10 min.

    Parameters
    ----------
    command
        Name of the command.
    first
        Time before the first line [s].
    """
    worker, begun, stop = threading.get_ident(), time.monotonic(), threading.Event()

    def beat() -> None:
        wait = first
        while not stop.wait(wait):
            spent = time.monotonic() - begun
            wait = min(max(spent, first), LONGEST_SILENCE)
            words = _Latest.words or work_of(worker)
            if words and not _Latest.shown:
                with suppress(OSError, ValueError):  # standard error is closed
                    print(f"flexarm {command}: {words}, {spent:.0f} s so far", file=sys.stderr,
                          flush=True)  # fmt: skip

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=1.0)


def work_of(worker: int) -> str:
    """Return a text on a thread's activity, by the innermost package in its call stack.

    The text is empty if the activity is unknown.
    """
    frame = sys._current_frames().get(worker)
    while frame is not None:
        top, *package = str(frame.f_globals.get("__name__")).split(".")
        for depth in (2, 1) if top == "flexarm" else ():
            if words := WORK.get(".".join(package[:depth])):
                return words
        frame = frame.f_back
    return ""
