"""`flexarm simulate`: simulate an arm, print a summary, write and draw the run."""

import argparse
import dataclasses
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.arguments import require_run_file
from flexarm.cli.arguments import (
    RUN_OPTIONS,
    Misuse,
    add_arm,
    add_options,
    file_path,
    given_options,
    read_arm,
    require_outputs,
)
from flexarm.cli.console import (
    open_console,
    print_json,
    print_line,
    print_table,
    progress,
    warnings_in_a_line,
)
from flexarm.cli.exits import EXIT_INTERRUPTED, EXIT_SIMULATION
from flexarm.errors import FlexarmError
from flexarm.interrupts import finish

if TYPE_CHECKING:
    from rich.console import Console

    from flexarm.accuracy.momentum import MomentumBalance
    from flexarm.runs.curves import Settling
    from flexarm.runs.run import Run
    from flexarm.runs.write import LiveFile

SUMMARY = "simulate an arm under the inputs of its model file"
STATUSES = {"finished": 0, "stopped": EXIT_SIMULATION, "interrupted": EXIT_INTERRUPTED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_arm(parser)
    add = parser.add_argument
    add_options(parser, *RUN_OPTIONS)
    add("--out", type=file_path, metavar="FILE", help="keep the run in a NetCDF file")
    add(
        "--live", action="store_true",
        help="keep the run so far in --out from time to time: 'flexarm view FILE --serve' shows it",
    )  # fmt: skip
    add("--csv", type=file_path, metavar="FILE", help="write the run as a CSV table")
    add(
        "--export", type=file_path, metavar="FILE",
        help="write the run for other programs: .mat, .csv, .parquet, .xlsx",
    )  # fmt: skip
    add_options(parser, "--plot")
    add("--html", type=file_path, metavar="FILE", help="write a page that shows the run in motion")
    add_options(parser, "--force", "--json")


def run(args: argparse.Namespace) -> int:
    """Simulate, write the files of the options, print a summary."""
    options = given_options(args)
    _require_endings(args)
    outputs = {"run": args.out, "table": args.csv, "figure": args.plot, "page": args.html}
    outputs["export"] = args.export
    outputs = {name: path for name, path in outputs.items() if path is not None}
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
        _print(result, prepared, written)
    for failure in failures.values():
        raise failure
    return STATUSES[result.status]


def _write(
    result: "Run", live: "LiveFile | None", outputs: dict[str, Path], *, force: bool
) -> tuple[dict[str, FlexarmError], KeyboardInterrupt | None]:
    """Write the files; return errors of those that could not be written, and an interrupt.

    One interrupt keeps none of them from being written.
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
    """Raise an error for files of a run, or exports of one, with the ending of another kind."""
    if args.live and args.out is None:
        raise Misuse("--live: needs --out, the file to keep the run so far in")
    if args.out is not None:
        require_run_file(args.out)
    if args.export is not None:
        from flexarm.runs.write import require_export

        try:
            require_export(args.export)
        except FlexarmError as error:
            raise Misuse(f"--export: {str(error).removeprefix('path: ')}") from None


def _shown(tell: Callable[[str], None], t_end: float) -> Callable[[float], None]:
    """Return a function that reports the simulated time [s] and the speed over real time."""
    begun: list[float] = []

    def update(t: float) -> None:
        now = time.perf_counter()
        begun[:] = begun or [now]
        spent = now - begun[0]
        speed = f", {t / spent:.3g} times real time" if spent > 0 else ""
        tell(f"t = {t:.4g} of {t_end:g} s{speed}")

    return update


def _document(result: "Run", prepared: float) -> dict[str, Any]:
    """Return the run's results for JSON."""
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
        "happenings": [event._asdict() for event in result.happenings],
        "pending": [event._asdict() for event in result.pending],
        "validity": dataclasses.asdict(result.validity),
        "errors": dataclasses.asdict(result.errors) | {"total": result.errors.total},
    }


def _settling(result: "Run") -> "Settling | None":
    """Return how the tip settles; None if the motion does not end within the run."""
    try:
        settling = result.settling()
    except FlexarmError:
        return None
    return settling if settling.after < result.t[-1] else None


def _equation_line(result: "Run") -> dict[str, str]:
    """Return the line on the equation of a run, where it is not the default."""
    from flexarm.formulations import DEFAULT

    words = [result.formulation, *(["as in its paper"] if result.paper else [])]
    if result.model.tip_rotation == "first-order":
        words.append("first-order tips")
    if result.model.nodes is not None:
        words.append(f"{result.model.nodes} more nodes than shapes")
    return {} if words == [DEFAULT] else {"by": ", ".join(words)}


def _momentum_line(balance: "MomentumBalance | None") -> dict[str, str]:
    """Return the line on the error of the momentum, which an arm on a free base has."""
    if balance is None:
        return {}
    linear, angular = balance.largest
    return {
        "momentum": f"balance closed to {balance.error:.1e} of the momentum exchanged "
        f"({linear:.1e} N s, {angular:.1e} N m s about the centre of mass)"
    }


def _print(result: "Run", prepared: float, outputs: dict[str, Path]) -> None:
    console = open_console()
    statistics = result.statistics
    reached, spent = float(result.t[-1]), statistics.cpu_seconds
    speed = f", {reached / spent:.3g} times real time" if spent > 0 else ""
    console.print(f"{result.model.arm.name}: {result.status} at t = {reached:g} s", style="bold")
    if result.reason:
        print_line(console, result.reason, style="yellow")
    if result.unbalanced:
        print_line(console, f"warning: {result.unbalanced}", style="yellow")
    if result.missed:
        print_line(console, f"warning: {result.missed}", style="yellow")
    lines = {
        "method": f"{result.method}: {result.why}",
        **_equation_line(result),
        "steps": f"{statistics.steps}, {statistics.rejections} more rejected; "
        f"{statistics.evaluations} evaluations",
        "CPU": f"{spent:.3g} s{speed}; {prepared:.3g} s to prepare",
        "energy": f"balance closed to {result.energy_balance:.1e} of the energy exchanged",
        **_momentum_line(result.momentum_errors),
        **({"tip": str(rest)} if (rest := _settling(result)) is not None else {}),
        **{name: str(path) for name, path in outputs.items()},
    }
    for name, text in lines.items():
        print_line(console, f"{name + ':':9s} {text}")
    for name, lost in result.losses.items():
        print_line(console, f"lost in {name}: {lost[-1]:.6g} J")
    for event in result.happenings:
        loss = f" ({event.lost:.3g} J lost)" if event.lost else ""
        print_line(console, f"t = {event.t:.6g} s: {event.what}{loss}")
    for missed in result.pending:
        print_line(console, f"did not happen: {missed.what}: {missed.why}", style="yellow")
    _print_validity(console, result)
    rows = [
        [name, f"{value:.6g}", unit]
        for name, value, unit in zip(
            result.model.names, result.q[-1], result.model.units, strict=True
        )
    ]
    columns = {"coordinate": "left", "value": "right", "unit": "left"}
    print_table(console, f"Coordinates at t = {reached:g} s", columns, rows)


def _print_validity(console: "Console", result: "Run") -> None:
    validity = result.validity
    lines = result.errors.lines()
    rows = [
        [
            link.link, f"{link.slope:.3g}",
            "unknown" if link.strain is None else f"{link.strain:.3g}", f"{link.shortening:.3g}",
            f"{link.quartic_share:.3g}",
        ]
        for link in validity.links
    ]  # fmt: skip
    columns = {
        "link": "left", "slope": "right", "strain": "right", "shortening/length": "right",
        "quartic share": "right",
    }  # fmt: skip
    if rows:
        print_table(console, "Range of validity: the largest at any sample", columns, rows)
    for line in lines if validity.links else lines[-1:]:  # a rigid arm has no shapes to err
        print_line(console, line, indent=0)
    for warning in validity.warnings:
        print_line(console, f"warning: {warning}", indent=0, style="yellow")
