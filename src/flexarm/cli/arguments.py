"""Command-line arguments shared by several commands, and checks of their combinations."""

import argparse
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.arguments import in_unit, require_path
from flexarm.cli.constants import T_END
from flexarm.errors import FlexarmError, SimulationError
from flexarm.integrate.options import OPTIONS, RunOptions

if TYPE_CHECKING:
    from flexarm.arm import Arm
    from flexarm.io.overrides import Change

FIGURES = (".png", ".svg", ".pdf")
STIFFENING = {"on": True, "off": False, "as-given": None}


class Misuse(FlexarmError):
    """Error for wrong usage: arguments that contradict each other, or have invalid values."""


Argument = tuple[tuple[str, ...], dict[str, Any]]  # flags, and how argparse is to read the value


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
    from flexarm.io.model_file import arm_path, load

    if args.changes:
        from flexarm.io.overrides import load_changed

        arm = load_changed(arm_path(args.arm), args.changes, files=args.allow_files)
    else:
        arm = load(arm_path(args.arm), files=args.allow_files)
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


share = partial(seconds, unit="1")  # reads a plain number, or one in per cent


def whole_number(text: str) -> int:
    """Return the whole number >= 1 in a text."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got '{text}'")
    return int(text)


def _change(text: str) -> "Change":
    """Return the change of a model file's value that ``KEY=VALUE`` describes."""
    from flexarm.io.overrides import read_change

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
    """Return the run options given on the command line, checked; a run file to start from excluded.

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
