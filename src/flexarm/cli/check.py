"""`flexarm check`: print facts about an arm, its frequencies, and likely mistakes."""

import argparse
import dataclasses
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from flexarm.arguments import digits
from flexarm.cli.console import (
    ARM,
    arg,
    open_console,
    print_json,
    print_line,
    print_table,
    read_arm,
)
from flexarm.cli.constants import (
    LEAST_CHANGE,
    PRINTED_ESTIMATES,
    PRINTED_ITEMS,
    PRINTED_NOTICES,
    PRINTED_SLOWEST,
)

if TYPE_CHECKING:
    from rich.console import Console

    from flexarm.check.report import ArmMode, FlexibleReport, Frequency, JointReport, Report

SUMMARY = "print the parts of an arm, its frequencies, and probable mistakes"
AXES = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}
ARGUMENTS = (
    *ARM,
    arg(
        "--all", action="store_true",
        help="print also every frequency of the links, the reasons for their shapes, all "
             "coordinates and all modes",
    ),
    "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Print the report of `flexarm.check.check.check` on an arm."""
    from flexarm.check.check import check

    report = _with_lines(check(read_arm(args)), args.arm)
    if args.json:
        print_json(dataclasses.asdict(report))
    else:
        _print(report, everything=args.all)


def _with_lines(report: "Report", arm: str) -> "Report":
    """Return the report, with the line number in the model file added to each notice."""
    from flexarm.io.model_file import arm_path, read_content
    from flexarm.io.source import read, read_place

    source = read(read_content(arm_path(arm)), arm)
    notices = (
        dataclasses.replace(notice, line=source.locate(read_place(notice.place.split(", ")[0]))[0])
        for notice in report.notices
    )
    return dataclasses.replace(report, notices=tuple(notices))


def _print(report: "Report", *, everything: bool) -> None:
    console = open_console()
    _print_arm(console, report)
    _print_notices(console, report, everything=everything)
    if everything:
        _print_links(console, report)
        for link in report.links:
            if link.flexible is not None:
                _print_flexible(console, link.name, link.flexible)
        _print_coordinates(console, report)
        _print_modes(console, report)
        _print_step(console, report)
    else:
        _print_chain(console, report)
        _print_slowest(console, report)
    for line in _cost_lines(report):
        print_line(console, line, indent=0)
    if not everything:
        more = "--all prints every link, mode and coordinate, and the reasons for the shapes."
        print_line(console, more, indent=0)


def _print_arm(console: "Console", report: "Report") -> None:
    count = report.degrees_of_freedom
    kinds = [f"{count[k]} {k}" for k in ("base", "motor", "joint", "amplitude") if count[k]]
    console.print(report.arm, style="bold")
    lines = [
        f"base {report.base}, gravity {_triple(report.gravity)} m/s^2, "
        f"stiffening {'on' if report.stiffening else 'off'}",
        f"mass {report.mass:.6g} kg"
        + (f", of which payload {report.payload_mass:.6g} kg" if report.payload_mass else "")
        + (f"; base {report.base_mass:.6g} kg" if report.base_mass else "")
        + f"; centre of mass at the start {_triple(report.centre_of_mass)} m",
        f"{count['total']} coordinates: {', '.join(kinds)}"
        + (f"; {count['prescribed']} prescribed" if count["prescribed"] else ""),
    ]
    for line in lines:
        print_line(console, line)


def _print_chain(console: "Console", report: "Report") -> None:
    """Print a table of the first links: joint, mass, shapes and lowest frequency."""
    rows = [
        {
            "link": link.name, "joint": f"{link.joint.name} {_motion(link.joint)}",
            "length [m]": _number(link.length), "mass [kg]": _number(link.mass),
            "shapes": shapes, "clamped [Hz]": lowest,
        }
        for link in report.links for shapes, lowest in [_shapes(link.flexible)]
    ]  # fmt: skip
    print_table(console, _counted("Links", rows, PRINTED_ITEMS), rows[:PRINTED_ITEMS])


def _counted(title: str, rows: Sequence[object], most: int) -> str:
    """Return a table's title, with the numbers of printed rows and of all rows if these differ."""
    return f"{title}, {most} of {len(rows)}" if len(rows) > most else title


def _motion(joint: "JointReport") -> str:
    """Return text with the kind of a joint and its axis."""
    word = "about" if joint.turns else "along"
    axis = "" if joint.axis is None else f" {word} {AXES.get(joint.axis, _triple(joint.axis))}"
    return f"{joint.kind}{axis}" + (f" on {joint.on}" if joint.on else "")


def _print_links(console: "Console", report: "Report") -> None:
    rows = [
        {
            "link": link.name, "joint": link.joint.name, "moves": _motion(link.joint),
            "drive": (link.joint.actuation or "") + (", elastic" if link.joint.elastic else ""),
            "length [m]": _number(link.length), "mass [kg]": _number(link.mass),
            "hub [kg]": _number(link.hub_mass),
        }
        for link in report.links
    ]  # fmt: skip
    print_table(console, "Links", rows)


def _shapes(flexible: "FlexibleReport | None") -> tuple[str, str]:
    """Return text on a link's kind and numbers of shapes, and its lowest clamped frequency [Hz]."""
    if flexible is None:
        return "rigid", ""
    ways = [way for way in flexible.directions if way.coordinates]
    counts = [f"{way.direction.removeprefix('bending_')} {len(way.coordinates)}" for way in ways]
    hertz = [way.clamped[0].hz for way in ways if way.clamped]
    hertz = hertz or [mode.frequency.hz for mode in flexible.modes]
    return (
        f"{flexible.shapes}: {', '.join(counts) or len(flexible.modes)}",
        _number(min(hertz)) if hertz else "",
    )


def _print_flexible(console: "Console", name: str, flexible: "FlexibleReport") -> None:
    rows = []
    for way in flexible.directions:
        for k, (clamped, loaded) in enumerate(zip_longest(way.clamped, way.loaded), 1):
            used = "yes" if k <= len(way.coordinates) else ""
            rows.append({
                "direction": way.direction, "#": str(k), "used": used,
                "clamped [Hz]": _hertz(clamped), "[rad/s]": _radians(clamped),
                "loaded [Hz]": _hertz(loaded), "[rad/s] ": _radians(loaded),
            })  # fmt: skip
    title = f"{name}: frequencies of its flexible span of {flexible.span:.6g} m"
    if rows:
        print_table(console, title, rows)
        print_line(console, "clamped: root clamped, with what the tip carries rigidly")
    lines = [
        f"loaded: root {flexible.why_root}; at the tip "
        f"{flexible.tip_mass:.6g} kg and {_triple(flexible.tip_inertia)} kg m^2",
        f"shapes: {flexible.shapes}, {flexible.summary}",
        *(f"{way.direction}: {way.why}" for way in flexible.directions),
        *flexible.modal_data,
    ]
    for line in lines:
        print_line(console, line)
    rows = [
        {
            "#": str(k), "[Hz]": _hertz(mode.frequency), "[rad/s]": _radians(mode.frequency),
            "damping ratio": _number(mode.damping), "mostly": mode.coordinate,
        }
        for k, mode in enumerate(flexible.modes, 1)
    ]  # fmt: skip
    print_table(console, f"{name}: modes of its amplitudes, joint at rest", rows)


def _print_coordinates(console: "Console", report: "Report") -> None:
    rows = [
        {
            "#": str(k), "coordinate": coordinate.name,
            "kind": coordinate.kind + (", prescribed" if coordinate.prescribed else ""),
            "unit": coordinate.unit, "start": _number(coordinate.start),
            "start speed": _number(coordinate.start_speed),
        }
        for k, coordinate in enumerate(report.coordinates, 1)
    ]  # fmt: skip
    print_table(console, "Coordinates", rows)


def _print_slowest(console: "Console", report: "Report") -> None:
    free, locked = report.modes_free, report.modes_held
    if not free or locked is None:
        return
    slowest = list(zip_longest(free, locked))
    rows = [
        {
            "#": str(k),
            "free [Hz]": "" if free_mode is None else _number(free_mode.frequency.hz),
            "mostly": _mostly(free_mode),
            "locked [Hz]": "" if other is None else _number(other.frequency.hz),
            "mostly ": _mostly(other),
        }
        for k, (free_mode, other) in enumerate(slowest, 1)
    ]  # fmt: skip
    title = "Slowest modes of the arm at its start, driven joints free and locked"
    print_table(console, _counted(title, rows, PRINTED_SLOWEST), rows[:PRINTED_SLOWEST])


def _mostly(mode: "ArmMode | None") -> str:
    return "" if mode is None else f"{mode.coordinate} ({100 * mode.share:.0f} %)"


def _print_modes(console: "Console", report: "Report") -> None:
    free, locked = report.modes_free, report.modes_held
    if free is None or locked is None:
        return
    for state, modes in {"free": free, "locked": locked}.items():
        if modes and (state == "free" or modes != free):
            title = f"Modes of the arm at its start, links straight, driven joints {state}"
            rows = [
                {
                    "#": str(k), "[Hz]": _hertz(mode.frequency),
                    "[rad/s]": _radians(mode.frequency), "mostly": _mostly(mode),
                }
                for k, mode in enumerate(modes, 1)
            ]  # fmt: skip
            print_table(console, title, rows)


def _print_step(console: "Console", report: "Report") -> None:
    free = report.modes_free
    if free is None:
        return
    console.print()
    lines = [
        "Modes are of elasticity alone, without gravity, loads and the preload of "
        f"springs. Rigid motions with free joints: {report.rigid_motions}."
    ]
    if free:
        top = free[-1].frequency
        lines.append(f"Highest mode: {top.hz:.6g} Hz ({top.rad_s:.6g} rad/s).")
    if report.step is not None:
        step = report.step
        lines.append(
            f"Recommended step for fixed-step RK4: {step.rk4:.3g} s, limited by the "
            f"{'highest mode' if step.limited_by == 'mode' else 'damping'} at "
            f"{step.rate:.6g} rad/s, mostly {step.coordinate}."
        )
    for line in lines:
        print_line(console, line, indent=0)


def _cost_lines(report: "Report") -> list[str]:
    """Return lines on the CPU time per second of a run, with all and with half of the shapes."""
    lines = []
    for cost in report.costs:
        speed = f"{digits(cost.seconds)} s of CPU"
        if not cost.shapes:
            steps = f"{digits(cost.steps)} steps of {cost.method}"
            lines.append(f"Estimated cost of 1 s of a run: {speed} ({steps}).")
            continue
        listed = [f"{link} " + ", ".join(f"{key} {n}" for key, n in numbers.items() if n)
                  for link, numbers in cost.shapes.items()]  # fmt: skip
        counts = "; ".join(listed[:PRINTED_ESTIMATES]) + (
            "; ..." if len(listed) > PRINTED_ESTIMATES else ""
        )
        change = max(100 * cost.frequency_change, LEAST_CHANGE)
        lines.append(
            f"With half the shapes ({counts}): {speed}, and an error of the slowest frequency of "
            f"{digits(change, up=True)} %{' or less' if change == LEAST_CHANGE else ''}."
        )
    return lines


def _notes_of_files(report: "Report") -> list[str]:
    """Return notes on the files from which shapes and bodies were read; ``--all`` prints them."""
    return [
        f"note: {link.name}: {line.strip().removeprefix('note: ')}"
        for link in report.links if link.flexible is not None
        for line in link.flexible.modal_data if line.startswith("  note: ")
    ]  # fmt: skip


def _print_notices(console: "Console", report: "Report", *, everything: bool) -> None:
    """Print one line per notice, warnings first; only the first few unless ``everything``."""
    console.print()
    lines = [
        f"{notice.severity}: {notice.place} (line {notice.line}): {notice.message}. "
        f"{notice.remedy[:1].upper()}{notice.remedy[1:]}. [{notice.code}]"
        for notice in sorted(report.notices, key=lambda notice: notice.severity != "warning")
    ]
    lines += [] if everything else _notes_of_files(report)
    if not lines:
        console.print("Nothing looks wrong.")
    most = len(lines) if everything else PRINTED_NOTICES
    for line in lines[:most]:
        print_line(console, line, indent=0, style="yellow" if line[0] == "w" else "cyan")
    if left := len(lines[most:]):
        print_line(console, f"... {left} more: --all prints them", indent=0)


def _number(value: float) -> str:
    return f"{value:.6g}"


def _hertz(frequency: "Frequency | None") -> str:
    return "" if frequency is None else f"{frequency.hz:.8g}"


def _radians(frequency: "Frequency | None") -> str:
    return "" if frequency is None else f"{frequency.rad_s:.8g}"


def _triple(values: tuple[float, float, float]) -> str:
    return "(" + ", ".join(f"{value + 0.0:.4g}" for value in values) + ")"
