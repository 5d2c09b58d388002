"""`flexarm simulate`: simulate an arm, print a summary, and write the run to files."""

import argparse
import dataclasses
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.arguments import require_run_file
from flexarm.cli.console import (
    ARM,
    RUN_OPTIONS,
    Argument,
    Misuse,
    arg,
    file_path,
    given_options,
    open_console,
    print_json,
    print_line,
    print_table,
    progress,
    read_arm,
    require_outputs,
    warnings_in_a_line,
)
from flexarm.cli.constants import PRINTED_ITEMS, PRINTED_NOTICES
from flexarm.cli.exits import EXIT_INTERRUPTED, EXIT_SIMULATION
from flexarm.errors import FlexarmError
from flexarm.interrupts import finish

if TYPE_CHECKING:
    from rich.console import Console

    from flexarm.runs.curves import Settling
    from flexarm.runs.run import Run
    from flexarm.runs.write import LiveFile

SUMMARY = "simulate an arm under the inputs of its model file"
STATUSES = {"finished": 0, "stopped": EXIT_SIMULATION, "interrupted": EXIT_INTERRUPTED}
ARGUMENTS: tuple[str | Argument, ...] = (
    *ARM,
    *RUN_OPTIONS,
    arg("--out", type=file_path, metavar="FILE", help="write the run to a NetCDF file"),
    arg(
        "--live", action="store_true",
        help=(
            "write the run so far to --out from time to time; 'flexarm view FILE --serve' "
            "shows it"
        ),
    ),
    arg("--csv", type=file_path, metavar="FILE", help="write the run as a CSV table"),
    arg(
        "--export", type=file_path, metavar="FILE",
        help="write the run for other programs: .mat, .csv, .parquet, .xlsx",
    ),
    "--plot",
    arg("--html", type=file_path, metavar="FILE", help="write a page that shows the run in motion"),
    arg(
        "--all", action="store_true",
        help="print also strains and slopes, all events, all coordinates, and the references "
             "of the errors",
    ),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Simulate an arm, write the requested files, print a summary; return the exit status."""
    options = given_options(args)
    outputs = {"run": args.out, "table": args.csv, "figure": args.plot, "page": args.html}
    outputs["export"] = args.export
    outputs = {name: path for name, path in outputs.items() if path is not None}
    if outputs or args.live:
        _require_endings(args)
        require_outputs(args, *outputs.values())
    arm = read_arm(args)
    from flexarm.integrate.simulate import run_arm
    from flexarm.runs.read import load_run
    from flexarm.runs.write import LiveFile

    live = LiveFile(args.out, force=args.force) if args.live else None
    start = load_run(args.start) if isinstance(args.start, Path) else options.start
    begun = time.process_time()
    with progress() as tell, warnings_in_a_line():
        shown = _shown(tell, options.t_end)
        result = run_arm(arm, dataclasses.replace(options, start=start, progress=shown, live=live))
    prepared = time.process_time() - begun - result.statistics.cpu_seconds
    failures, interrupt = _write(result, live, outputs, force=args.force) if outputs else ({}, None)
    if interrupt is not None:
        raise interrupt
    written = {name: path for name, path in outputs.items() if name not in failures}
    if args.json:
        print_json(_document(result, prepared))
    else:
        _print(result, prepared, written, everything=args.all)
    for failure in failures.values():
        raise failure
    return STATUSES[result.status]


def _write(
    result: "Run", live: "LiveFile | None", outputs: dict[str, Path], *, force: bool
) -> tuple[dict[str, FlexarmError], KeyboardInterrupt | None]:
    """Write the output files of a run; return errors by output, and an interrupt or None.

    After an interrupt the remaining files are still written.
    """
    ways: dict[str, Callable[..., object]] = {
        "run": result.save,
        "table": result.to_csv,
        "export": result.export,
        "figure": result.plot,
        "page": result.to_html,
    }
    if live is not None:
        ways["run"] = lambda path, force: live.finish(result)
    failures, interrupts = {}, []
    for name, path in outputs.items():
        try:
            interrupts.append(finish(partial(ways[name], path, force=force))[1])
        except FlexarmError as error:
            failures[name] = error
    return failures, next(filter(None, interrupts), None)


def _require_endings(args: argparse.Namespace) -> None:
    """Raise an error if the ending of an output file does not fit the kind of the file."""
    if args.live and args.out is None:
        raise Misuse("--live: needs --out, the file that the page is updated from")
    if args.out is not None:
        require_run_file(args.out)
    if args.export is not None:
        from flexarm.runs.write import require_export

        try:
            require_export(args.export)
        except FlexarmError as error:
            raise Misuse(f"--export: {str(error).removeprefix('path: ')}") from None


def _shown(tell: Callable[[str], None], t_end: float) -> Callable[[float], None]:
    """Return a function that prints the simulated time [s] and its ratio to real time."""
    begun: list[float] = []

    def update(t: float) -> None:
        now = time.perf_counter()
        begun[:] = begun or [now]
        spent = now - begun[0]
        speed = f", {t / spent:.3g} times real time" if spent > 0 else ""
        tell(f"t = {t:.4g} of {t_end:g} s{speed}")

    return update


def _document(result: "Run", prepared: float) -> dict[str, Any]:
    """Return the results of a run as plain data for JSON."""
    statistics = result.statistics
    return {
        "arm": result.model.arm.name,
        "status": result.status,
        "reason": result.reason,
        "t_end": float(result.t[-1]),
        "samples": len(result.t),
        "method": result.method,
        "why": result.why,
        "rtol": result.rtol,
        "formulation": result.formulation,
        "paper": result.paper,
        "tip_rotation": result.model.tip_rotation,
        "nodes": result.model.nodes,
        "steps": statistics.steps,
        "rejections": statistics.rejections,
        "evaluations": statistics.evaluations,
        "cpu_seconds": statistics.cpu_seconds,
        "preparation_cpu_seconds": prepared,
        "energy_balance": result.energy_balance,
        "momentum_balance": result.momentum_balance,
        "unbalanced": result.unbalanced,
        "q": dict(zip(result.model.names, result.q[-1].tolist(), strict=True)),
        "settling": None if (rest := _settling(result)) is None else dataclasses.asdict(rest),
        "missed": result.missed,
        "lost": {name: float(lost[-1]) for name, lost in result.losses.items()},
        "event_records": [event._asdict() for event in result.event_records],
        "pending": [event._asdict() for event in result.pending],
        "validity": dataclasses.asdict(result.validity),
        "errors": dataclasses.asdict(result.errors)
        | {"integration": result.errors.integration, "total": result.errors.total},
    }


def _settling(result: "Run") -> "Settling | None":
    """Return how the arm's tip settles at its final position; None if the tip does not settle."""
    try:
        settling = result.settling()
    except FlexarmError:
        return None
    return settling if settling.after < result.t[-1] else None


def _equation_lines(result: "Run") -> dict[str, str]:
    """Return lines, by heading, on balances, method, and formulation unless it is the default."""
    from flexarm.formulations import DEFAULT

    lines = {"energy": f"balance closed to {result.energy_balance:.1e} of the energy exchanged"}
    if (balance := result.momentum_errors) is not None:
        linear, angular = balance.largest
        lines["momentum"] = (
            f"balance closed to {balance.error:.1e} of the momentum exchanged "
            f"({linear:.1e} N s, {angular:.1e} N m s about the centre of mass)"
        )
    words = [result.formulation, *(["as in its paper"] if result.paper else [])]
    words += ["first-order tips"] if result.model.tip_rotation == "first-order" else []
    if result.model.nodes is not None:
        words.append(f"{result.model.nodes} more nodes than shapes")
    by = {} if words == [DEFAULT] else {"by": ", ".join(words)}
    return lines | {"method": f"{result.method}, {result.why}"} | by


def _print(result: "Run", prepared: float, outputs: dict[str, Path], *, everything: bool) -> None:
    """Print the summary of a run: joints, tip position, settling, balances, cost and errors."""
    console = open_console()
    statistics, spent = result.statistics, result.statistics.cpu_seconds
    reached = float(result.t[-1])
    speed = f" ({reached / spent:.3g} times real time)" if spent > 0 else ""
    console.print(f"{result.model.arm.name}: {result.status} at t = {reached:g} s", style="bold")
    warnings = list(filter(None, (result.unbalanced, result.missed, *result.validity.warnings)))
    shown = warnings if everything else warnings[:PRINTED_NOTICES]
    lines = [result.reason, *(f"warning: {warning}" for warning in shown)]
    left = len(warnings) - len(shown)
    lines.append(f"... {left} more warnings: --all prints them" if left else "")
    for text in filter(None, lines):
        print_line(console, text, style="yellow")
    settling = _settling(result)
    named = {
        **_motion_lines(result),
        **({} if settling is None else {"settling": str(settling)}),
        **_equation_lines(result),
        "cost": f"{spent:.3g} s of CPU{speed} in {statistics.steps} steps, "
        f"{statistics.rejections} more rejected; {prepared:.3g} s to prepare",
        **{name: str(path) for name, path in outputs.items()},
    }
    for name, text in named.items():
        print_line(console, f"{name + ':':12s} {text}")
    _print_events(console, result, None if everything else PRINTED_ITEMS)
    errors = result.errors.lines(against=everything)
    # A rigid arm has no errors of shapes, so only the error of the integration is printed.
    for line in errors if result.validity.links else errors[-1:]:
        print_line(console, line, indent=0)
    if everything:
        _print_tables(console, result)
    else:
        print_line(console, "--all prints strains, slopes and all coordinates too.", indent=0)


def _motion_lines(result: "Run") -> dict[str, str]:
    """Return lines, by heading, on final joint values, final tip position, largest deflection."""
    import numpy as np

    from flexarm.mechanics.deformed import flexible_wholes, tip_deflection

    joints = [
        f"{axis.name} {math.degrees(x):.4g} deg" if axis.turns else f"{axis.name} {x:.4g} m"
        for axis in result.model.drawn_axes
        for x in result.q[-1:, axis.index]
    ]
    places = ", ".join(f"{x:.4g}" for x in result.tip[-1])
    more = [f"{len(joints) - PRINTED_ITEMS} more"] if len(joints) > PRINTED_ITEMS else []
    lines = {"joints": ", ".join(joints[:PRINTED_ITEMS] + more)} if joints else {}
    away = float(np.linalg.norm(result.tip[-1] - result.tip[0]))
    lines["tip"] = f"at ({places}) m, {away:.4g} m from its start"
    bent = {part.name: np.linalg.norm(tip_deflection(result.model, part, result.q), axis=1)
            for part in flexible_wholes(result.model)}  # fmt: skip
    if bent:
        name = max(bent, key=lambda link: float(bent[link].max()))
        t = result.t[bent[name].argmax()]
        lines["deflection"] = (
            f"{1e3 * bent[name].max():.3g} mm at most, at the tip of {name}, at t = {t:.4g} s"
        )
    return lines


def _print_events(console: "Console", result: "Run", most: int | None) -> None:
    """Print at most ``most`` lines on events that occurred or did not occur, and on losses."""
    lines = [
        f"t = {event.t:.6g} s: {event.what}" + (f" ({event.lost:.3g} J lost)" if event.lost else "")
        for event in result.event_records
    ]
    lines += [f"did not happen: {event.what}: {event.why}" for event in result.pending]
    lines += [f"lost in {name}: {values[-1]:.6g} J" for name, values in result.losses.items()]
    for line in lines[:most]:
        print_line(console, line, style="yellow" if line.startswith("did not") else "")
    if left := len(lines) - len(lines[:most]):
        print_line(console, f"... {left} more: --all prints them")


def _print_tables(console: "Console", result: "Run") -> None:
    """Print the largest slopes and strains of the links, and the final coordinates."""
    rows = [
        {
            "link": link.link, "slope": f"{link.slope:.3g}",
            "strain": "unknown" if link.strain is None else f"{link.strain:.3g}",
            "shortening/length": f"{link.shortening:.3g}",
            "quartic share": f"{link.quartic_share:.3g}",
        }
        for link in result.validity.links
    ]  # fmt: skip
    print_table(console, "Range of validity: largest values at any sample", rows)
    rows = [
        {"coordinate": name, "value": f"{value:.6g}", "unit": unit}
        for name, value, unit in zip(
            result.model.names, result.q[-1], result.model.units, strict=True
        )
    ]
    print_table(console, f"Coordinates at t = {float(result.t[-1]):g} s", rows)
