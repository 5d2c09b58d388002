"""`flexarm modes`: print frequencies, damping and participation of an arm's modes."""

import argparse
import dataclasses
import re
from typing import TYPE_CHECKING, Any

from flexarm.arguments import require_known
from flexarm.cli.console import (
    ARM,
    Misuse,
    arg,
    file_path,
    named,
    once,
    open_console,
    print_json,
    print_line,
    print_table,
    read_arm,
    require_outputs,
)
from flexarm.cli.constants import (
    PRINTED_COORDINATES,
    PRINTED_MODES,
    PRINTED_RIGID,
    RANGE_POINTS,
    TRACKS_PER_TABLE,
)
from flexarm.errors import FlexarmError, ModelError

if TYPE_CHECKING:
    from rich.console import Console

    from flexarm.linear.modes import Mode, Modes
    from flexarm.linear.tracks import Sweep
    from flexarm.model import Model

SUMMARY = "print the modes of an arm: frequency, damping, joints and links that take part"
STATES = ("free", "locked")  # states of joints
Pairs = list[tuple[str, Any]]  # name and value of an option NAME=VALUE
Settings = dict[str, Any]  # arguments of `modes` and `sweep`, by name
ARGUMENTS = (
    *ARM,
    arg(
        "--joints", nargs="+", action="extend", default=[], metavar="X",
        type=named("free, locked or NAME=ANGLE", optional=True),
        help="free (default), locked; NAME=ANGLE puts a joint there, and locks all joints unless "
        "'free' is said too; NAME=free, NAME=locked; a range NAME=FROM:TO:COUNT follows the modes",
    ),
    arg(
        "--speed", nargs="+", action="extend", default=[], metavar="NAME=RATE",
        type=named("NAME=RATE"),
        help="speed of a joint that turns steadily, which locks it at that speed unless --joints "
        "free; a range NAME=FROM:TO:COUNT gives a Campbell diagram",
    ),
    arg(
        "--straight", action="store_true",
        help="take the links as straight, not deflected by gravity, loads and rotation",
    ),
    arg(
        "--following", action="store_true",
        help="recompute clamped-mass shapes for each posture of the joints outboard of them",
    ),
    arg(
        "--friction", choices=("off", "secant", "tangent"), default="off",
        help="Coulomb friction: left out (default), as its describing function at "
        "--friction-speed, or as the slope of its smoothing",
    ),
    arg(
        "--friction-speed", type=float, metavar="V",
        help="amplitude of the joints' speed for --friction secant [rad/s], [m/s] (default 0.1)",
    ),
    "--plot",
    arg("--html", type=file_path, metavar="FILE", help="write a page that shows the modes swing"),
    arg("--all", action="store_true", help="print all modes, rigid motions included"),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Compute the modes of an arm, print them, and write the requested figure and page."""
    from flexarm.io.whole_file import write_figure
    from flexarm.linear.modes import modes
    from flexarm.linear.tangent import DryFriction
    from flexarm.linear.tracks import sweep
    from flexarm.model import build

    require_outputs(args, args.plot, args.html)
    model = build(read_arm(args))
    try:
        settings = _settings(model, args.joints, args.speed, straight=args.straight)
        DryFriction(args.friction, args.friction_speed)
    except FlexarmError as error:
        raise Misuse(str(error)) from None
    settings |= {"friction": args.friction, "friction_speed": args.friction_speed,
                 "following": args.following}  # fmt: skip
    followed = None
    if any(isinstance(v, list) for group in ("at", "speeds") for v in settings[group].values()):
        followed = sweep(model, **settings)
    result = modes(model, **_first(settings))
    if args.html is not None:
        from flexarm.viewer.page import mode_page, save_page

        save_page(mode_page(result), args.html, force=args.force)
    if args.plot is not None:
        drawn = result if followed is None else followed
        write_figure(args.plot, drawn.plot(), force=args.force)
    if args.json:
        print_json(_document(result, followed))
    else:
        _print(result, everything=args.all)
        if followed is not None:
            _print_sweep(followed)


def _settings(model: "Model", joints: Pairs, speeds: Pairs, *, straight: bool) -> Settings:
    """Return joint states, positions and speeds from ``--joints`` and ``--speed``."""
    units = {axis.name: axis.unit for axis in model.axes}
    words = [name for name, value in joints if value is None]
    for word in words:
        if word not in STATES:
            raise FlexarmError(f"--joints: must be free, locked or NAME=ANGLE, got '{word}'")
    if len(set(words)) > 1:
        raise FlexarmError(
            "--joints: the joints cannot be both free and locked. Give one of the two, once."
        )
    pairs = [(name, value) for name, value in joints if value is not None]
    for name, _ in (*pairs, *speeds):
        require_known(name, units)
    single = once("--joints", [pair for pair in pairs if pair[1] in STATES])
    places = once("--joints", [pair for pair in pairs if pair[1] not in STATES])
    at = {name: _value(name, text, units[name]) for name, text in places.items()}
    rates = {
        name: _value(name, text, f"{units[name]}/s")
        for name, text in once("--speed", speeds).items()
    }
    turning = sum(isinstance(value, list) for value in rates.values())
    ranges = turning + sum(isinstance(value, list) for value in at.values())
    if ranges > 2 or (ranges == 2 and turning):
        raise FlexarmError(
            "the modes can be computed over a range of one speed (--speed), or "
            "over ranges of one or two joints (--joints). Leave the other ranges "
            "out."
        )
    state = words[0] if words else "locked" if at or rates else "free"
    states = dict.fromkeys(units, state) | single
    return {"joints": states, "at": at, "speeds": rates, "straight": straight}


def _value(name: str, text: str, unit: str) -> float | list[float]:
    """Return a number in a unit, or the list of numbers of a range ``FROM:TO[:COUNT]``."""
    from flexarm.units import quantity

    def read(piece: str) -> float:
        plain = re.fullmatch(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", piece, re.IGNORECASE)
        try:
            return quantity(float(piece) if plain else piece, unit, name=name)
        except (ModelError, ValueError) as error:
            raise FlexarmError(f"{name}: {error}") from None

    pieces = text.split(":")
    if len(pieces) == 1:
        return read(text)
    if len(pieces) > 3 or (len(pieces) == 3 and not pieces[2].isdecimal()):
        raise FlexarmError(f"{name}: a range must be FROM:TO or FROM:TO:COUNT, got '{text}'")
    count = int(pieces[2]) if len(pieces) == 3 else RANGE_POINTS
    if not 2 <= count <= 10_000:
        raise FlexarmError(f"{name}: a range must have 2 to 10000 points, got {count}")
    # In "0:90 deg", the unit applies to both ends of the range.
    shared = re.sub(r"^\s*[-+]?[\d.]+(?:e[-+]?\d+)?", "", pieces[1], flags=re.IGNORECASE)
    first = pieces[0] + shared if re.fullmatch(r"\s*[-+]?[\d.]+\s*", pieces[0]) else pieces[0]
    low, high = read(first), read(pieces[1])
    return [low + (high - low) * k / (count - 1) for k in range(count)]


def _first(settings: Settings) -> Settings:
    """Return the settings with each range replaced by its first point."""
    return settings | {
        group: {n: v[0] if isinstance(v, list) else v for n, v in settings[group].items()}
        for group in ("at", "speeds")
    }


def _document(result: "Modes", followed: "Sweep | None") -> dict[str, Any]:
    model, state = result.model, result.equilibrium
    document: dict[str, Any] = {
        "modes_format": 1,
        "arm": model.arm.name,
        "joints": result.states,
        "q": dict(zip(model.names, state.point.q.tolist(), strict=True)),
        "v": dict(zip(model.names, state.point.v.tolist(), strict=True)),
        "u": state.holding(),
        "notes": [*result.notes, *_servos(result)],
        "notices": list(result.notices),
        "modes": [
            {
                "name": mode.name,
                "kind": mode.kind,
                "frequency_hz": mode.frequency_hz,
                "frequency_rad_s": mode.frequency_rad_s,
                "damping_ratio": mode.damping_ratio,
                "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
                "participation": mode.participation,
                "errors": None if errors is None else dataclasses.asdict(errors),
            }
            for mode, errors in zip(result.modes, result.errors, strict=True)
        ],
    }
    if followed is not None:
        document["sweep"] = {
            "of": "speed" if followed.kind == "speeds" else "position",
            "joints": list(followed.names),
            "units": list(followed.units),
            "values": [values.tolist() for values in followed.values],
            "notes": list(followed.notes),
            "notices": list(followed.notices),
            "modes": [
                {
                    "name": track.name,
                    "named_at": followed.named_at(track),
                    "frequency_hz": track.frequency_hz.tolist(),
                    "damping_ratio": track.damping_ratio.tolist(),
                }
                for track in followed.tracks
            ],
        }
    return document


def _servos(result: "Modes") -> list[str]:
    """Return a note that the modes ignore the servos of joints that are free."""
    limp = ", ".join(
        axis.name
        for axis in result.model.axes
        if axis.acts.servo is not None and result.states.get(axis.name) == "free"
    )
    return [f"servos are left out ({limp}); --joints locked holds these joints"] if limp else []


def _print(result: "Modes", *, everything: bool) -> None:
    console = open_console()
    console.print(result.model.arm.name, style="bold")
    print_line(console, result.posture)
    point = result.equilibrium.point
    moving = [
        f"{name} {value:.6g} {unit}/s"
        for name, value, unit in zip(result.model.names, point.v, result.model.units, strict=True)
        if value
    ]
    print_line(console, f"about: {'steady motion, ' + ', '.join(moving) if moving else 'rest'}")
    _print_table(console, result, everything=everything)
    if result.elastic() and any(part.flexible for part in result.model.links):
        from flexarm.accuracy.frequencies import frequency_lines

        for text in frequency_lines(result.errors):
            print_line(console, text, indent=0)
    for note in (*result.notes, *result.notices, *_servos(result)):
        print_line(console, f"note: {note}", indent=0, style="yellow")


def _print_table(console: "Console", result: "Modes", *, everything: bool) -> None:
    """Print one row per mode; without ``--all`` only the slowest modes and a few rigid motions."""
    rows = [
        {
            "#": str(k), "mode": mode.name, "kind": mode.kind, "[Hz]": f"{mode.frequency_hz:.8g}",
            "[rad/s]": f"{mode.frequency_rad_s:.8g}",
            "damping ratio": f"{mode.damping_ratio:.4g}", "share in its energy": _mostly(mode),
        }
        for k, mode in enumerate(result.modes, 1)
    ]  # fmt: skip
    if not rows:
        print_line(console, "no modes: nothing in the arm can move while its joints are locked")
        return
    rigid = [mode.name for mode in result.modes if mode.kind == "rigid"]
    shown = rows
    if not everything:
        few = len(rigid) <= PRINTED_RIGID
        shown = [row for row in rows if few or row["kind"] != "rigid"][:PRINTED_MODES]
    print_table(console, "Modes", shown)
    if left := len(rows) - len(shown):
        also = f", {len(rigid)} of them rigid motions of 0 Hz" if len(rigid) > PRINTED_RIGID else ""
        print_line(console, f"... {left} more{also}: --all prints them", indent=0)


def _mostly(mode: "Mode") -> str:
    order = sorted(mode.participation.items(), key=lambda item: -item[1])[:PRINTED_COORDINATES]
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in order if share > 0.005)


def _print_sweep(followed: "Sweep") -> None:
    import numpy as np

    console = open_console()
    if not followed.tracks:
        return
    named = f"named at {followed.named_at(followed.tracks[0])}"
    if len(followed.values) == 2:
        rows = [
            {
                "mode": track.name,
                "least [Hz]": f"{np.nanmin(track.frequency_hz):.6g}",
                "greatest [Hz]": f"{np.nanmax(track.frequency_hz):.6g}",
            }
            for track in followed.tracks
        ]
        head = f"Modes over {' and '.join(followed.names)}, {named}"
        print_table(console, head, rows)
        return
    head = f"{followed.names[0]} [{followed.units[0]}]"
    for first in range(0, len(followed.tracks), TRACKS_PER_TABLE):
        tracks = followed.tracks[first : first + TRACKS_PER_TABLE]
        rows = [
            {head: f"{value:.6g}"}
            | {f"{track.name} [Hz]": f"{track.frequency_hz[k]:.6g}" for track in tracks}
            for k, value in enumerate(followed.values[0])
        ]
        print_table(console, f"Modes followed, {named}", rows)
