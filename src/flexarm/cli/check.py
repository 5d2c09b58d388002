"""`flexarm check`: what an arm is made of, how fast it vibrates, and what looks wrong."""

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING

from flexarm.cli.arguments import add_arm, add_options, read_arm
from flexarm.cli.console import open_console, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from flexarm.check.report import ArmMode, FlexibleReport, Frequency, Report

SUMMARY = "print what an arm is made of, its frequencies, and what looks wrong"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `flexarm check`."""
    add_arm(parser)
    add_options(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Print the report on an arm."""
    from flexarm.check.check import check

    report = check(read_arm(args))
    if args.json:
        print(json.dumps(dataclasses.asdict(report), allow_nan=False))
    else:
        _print(report)
    return 0


def _print(report: "Report") -> None:
    console = open_console()
    _print_arm(console, report)
    _print_links(console, report)
    for link in report.links:
        if link.flexible is not None:
            _print_flexible(console, link.name, link.flexible)
    _print_coordinates(console, report)
    _print_modes(console, report)
    _print_notices(console, report)


def _print_arm(console: "Console", report: "Report") -> None:
    count = report.degrees_of_freedom
    kinds = [f"{count[k]} {k}" for k in ("base", "motor", "joint", "amplitude") if count[k]]
    console.print(report.arm, style="bold")
    lines = [
        f"base {report.base}, gravity {_triple(report.gravity)} m/s^2, "
        f"stiffening {'on' if report.stiffening else 'off'}",
        f"mass {report.mass:.6g} kg"
        + (f", of which payload {report.payload_mass:.6g} kg" if report.payload_mass else "")
        + (f"; base {report.base_mass:.6g} kg" if report.base_mass else ""),
        f"centre of mass at the start {_triple(report.centre_of_mass)} m",
        f"{count['total']} coordinates: {', '.join(kinds)}"
        + (f"; {count['prescribed']} prescribed" if count["prescribed"] else ""),
    ]
    for line in lines:
        print_line(console, line)


def _print_links(console: "Console", report: "Report") -> None:
    rows = []
    for link in report.links:
        joint, flexible = link.joint, link.flexible
        word = "about" if joint.turns else "along"
        moved = "" if joint.axis is None else f" {word} {_triple(joint.axis)}"
        kind = f"{joint.kind}{moved}"
        drive = (joint.actuation or "") + (", elastic" if joint.elastic else "")
        shapes = "rigid" if flexible is None else flexible.shapes
        rows.append(
            [
                link.name, joint.name, kind, drive, _number(link.length),
                _number(link.mass), _number(link.hub_mass), shapes,
            ]
        )  # fmt: skip
    columns = {
        "link": "left", "joint": "left", "moves": "left", "drive": "left", "length [m]": "right",
        "mass [kg]": "right", "hub [kg]": "right", "shapes": "left",
    }  # fmt: skip
    print_table(console, "Links", columns, rows)


def _print_flexible(console: "Console", name: str, flexible: "FlexibleReport") -> None:
    rows = []
    for way in flexible.directions:
        for k, (clamped, loaded) in enumerate(_pairs(way.clamped, way.loaded), 1):
            used = "yes" if k <= len(way.coordinates) else ""
            cells = [_hertz(clamped), _radians(clamped), _hertz(loaded), _radians(loaded)]
            rows.append([way.direction, str(k), used, *cells])
    columns = {
        "direction": "left", "#": "right", "used": "left", "clamped [Hz]": "right",
        "[rad/s]": "right", "loaded [Hz]": "right", "[rad/s] ": "right",
    }  # fmt: skip
    title = f"{name}: frequencies of its flexible span of {flexible.span:.6g} m"
    if rows:
        print_table(console, title, columns, rows)
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
        [str(k), _hertz(mode.frequency), _radians(mode.frequency),
         _number(mode.damping), mode.coordinate]
        for k, mode in enumerate(flexible.modes, 1)
    ]  # fmt: skip
    columns = {
        "#": "right", "[Hz]": "right", "[rad/s]": "right", "damping ratio": "right",
        "mostly": "left",
    }  # fmt: skip
    if rows:
        print_table(console, f"{name}: modes of its amplitudes, joint at rest", columns, rows)


def _print_coordinates(console: "Console", report: "Report") -> None:
    rows = [
        [
            str(k), each.name, each.kind + (", prescribed" if each.prescribed else ""),
            each.unit, _number(each.start), _number(each.start_speed),
        ]
        for k, each in enumerate(report.coordinates, 1)
    ]  # fmt: skip
    columns = {
        "#": "right", "coordinate": "left", "kind": "left", "unit": "left", "start": "right",
        "start speed": "right",
    }  # fmt: skip
    print_table(console, "Coordinates", columns, rows)


def _print_modes(console: "Console", report: "Report") -> None:
    free, held = report.modes_free, report.modes_held
    if free is None or held is None:
        return
    columns = {"#": "right", "[Hz]": "right", "[rad/s]": "right", "mostly": "left"}
    for state, modes in {"free": free, "locked": held}.items():
        if modes and (state == "free" or modes != free):
            title = f"Modes of the arm at its start, links straight, driven joints {state}"
            print_table(
                console, title, columns, [_mode_row(k, mode) for k, mode in enumerate(modes, 1)]
            )
    console.print()
    lines = [
        "Modes leave gravity and the stiffness of loads out: elasticity alone. Motions that strain "
        f"nothing, joints free: {report.rigid_motions}."
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


def _mode_row(k: int, mode: "ArmMode") -> list[str]:
    mostly = f"{mode.coordinate} ({100 * mode.share:.0f} %)"
    return [str(k), _hertz(mode.frequency), _radians(mode.frequency), mostly]


def _print_notices(console: "Console", report: "Report") -> None:
    console.print()
    if not report.notices:
        console.print("Nothing looks wrong.")
    styles = {"warning": "yellow", "note": "cyan"}
    for notice in report.notices:
        head = f"{notice.severity}: {notice.place}: {notice.message} [{notice.code}]"
        print_line(console, head, indent=0, style=styles[notice.severity])
        print_line(console, notice.remedy)


def _pairs(
    first: "tuple[Frequency, ...]", second: "tuple[Frequency, ...]"
) -> "list[tuple[Frequency | None, Frequency | None]]":
    from itertools import zip_longest

    return list(zip_longest(first, second))


def _number(value: float) -> str:
    return f"{value:.6g}"


def _hertz(frequency: "Frequency | None") -> str:
    return "" if frequency is None else f"{frequency.hz:.8g}"


def _radians(frequency: "Frequency | None") -> str:
    return "" if frequency is None else f"{frequency.rad_s:.8g}"


def _triple(values: tuple[float, float, float]) -> str:
    return "(" + ", ".join(f"{value + 0.0:.4g}" for value in values) + ")"
