"""`flexarm simulate`: run an arm in time, say how it went, keep and draw the run."""

import argparse
import dataclasses
import json
import os
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
    require_figure,
    require_outputs,
)
from flexarm.cli.console import (
    finite,
    open_console,
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
    """Simulate, write what was asked for, print a summary."""
    options = given_options(args)
    _refuse_misuse(args)
    outputs = {"run": args.out, "table": args.csv, "figure": args.plot, "page": args.html}
    outputs["export"] = args.export
    outputs = {name: path for name, path in outputs.items() if path is not None}
    if outputs:
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
        print(json.dumps(_document(result, prepared), allow_nan=False))
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


def _refuse_misuse(args: argparse.Namespace) -> None:
    """Refuse arguments that do not go together."""
    files = (args.out, args.csv, args.export, args.plot, args.html)
    paths = [os.path.realpath(path) for path in files if path]
    if args.live and args.out is None:
        raise Misuse("--live: needs --out, the file to keep the run so far in")
    if args.out is not None:
        require_run_file(args.out)
    if args.plot is not None:
        require_figure(args.plot)
    if args.export is not None:
        from flexarm.runs.write import require_export

        try:
            require_export(args.export)
        except FlexarmError as error:
            raise Misuse(f"--export: {str(error).removeprefix('path: ')}") from None
    if len(set(paths)) < len(paths):
        raise Misuse("--out, --csv, --export, --plot and --html: must be different files")


def _shown(tell: Callable[[str], None], t_end: float) -> Callable[[float], None]:
    """Return a function that says which time is reached [s], and the speed over real time."""
    begun: list[float] = []

    def update(t: float) -> None:
        now = time.perf_counter()
        begun[:] = begun or [now]
        spent = now - begun[0]
        speed = f", {t / spent:.3g} times real time" if spent > 0 else ""
        tell(f"t = {t:.4g} of {t_end:g} s{speed}")

    return update


def _document(result: "Run", prepared: float) -> dict[str, Any]:
    """Make the JSON document."""
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
        "energy_balance": finite(result.energy_balance),
        "momentum_balance": finite(result.momentum_balance),
        "unbalanced": result.unbalanced,
        "q": dict(zip(result.model.names, map(finite, result.q[-1].tolist()), strict=True)),
        "settling": None if (found := _settling(result)) is None else dataclasses.asdict(found),
        "missed": result.missed,
        "lost": {name: finite(float(lost[-1])) for name, lost in result.losses.items()},
        "happenings": [dataclasses.asdict(each) for each in result.happenings],
        "pending": [finite(dataclasses.asdict(each)) for each in result.pending],
        "validity": finite(dataclasses.asdict(result.validity)),
        "errors": finite(dataclasses.asdict(result.errors) | {"total": result.errors.total}),
    }


def _settling(result: "Run") -> "Settling | None":
    """Judge how the tip comes to rest, if it is known when the motion is over."""
    try:
        found = result.settling()
    except FlexarmError:
        return None
    return found if found.after < result.t[-1] else None


def _equation_line(result: "Run") -> dict[str, str]:
    """Say by which equation a run was computed, where that is not the default."""
    from flexarm.formulations import DEFAULT

    words = [result.formulation, *(["as in its paper"] if result.paper else [])]
    if result.model.tip_rotation == "first-order":
        words.append("first-order tips")
    if result.model.nodes is not None:
        words.append(f"{result.model.nodes} more nodes than shapes")
    return {} if words == [DEFAULT] else {"by": ", ".join(words)}


def _momentum_line(found: "MomentumBalance") -> dict[str, str]:
    """Write the error of the momentum of an arm on a free base."""
    linear, angular = found.largest
    return {
        "momentum": f"balance closed to {found.error:.1e} of the momentum exchanged ({linear:.1e} "
        f"N s, {angular:.1e} N m s about the centre of mass)"
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
        **({} if result.momentum_errors is None else _momentum_line(result.momentum_errors)),
        **({"tip": str(found)} if (found := _settling(result)) is not None else {}),
        **{name: str(path) for name, path in outputs.items()},
    }
    for name, text in lines.items():
        print_line(console, f"{name + ':':9s} {text}")
    for name, lost in result.losses.items():
        print_line(console, f"lost in {name}: {lost[-1]:.6g} J")
    for each in result.happenings:
        loss = f" ({each.lost:.3g} J lost)" if each.lost else ""
        print_line(console, f"t = {each.t:.6g} s: {each.what}{loss}")
    for event in result.pending:
        print_line(console, f"did not happen: {event.what}: {event.why}", style="yellow")
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
    found = result.validity
    lines = result.errors.lines()
    rows = [
        [
            link.link, f"{link.slope:.3g}",
            "unknown" if link.strain is None else f"{link.strain:.3g}", f"{link.shortening:.3g}",
            f"{link.quartic_share:.3g}",
        ]
        for link in found.links
    ]  # fmt: skip
    columns = {
        "link": "left", "slope": "right", "strain": "right", "shortening/length": "right",
        "quartic share": "right",
    }  # fmt: skip
    if rows:
        print_table(console, "Range of validity: the largest at any sample", columns, rows)
    for line in lines if found.links else lines[-1:]:  # a rigid arm has neither model nor shapes
        print_line(console, line, indent=0)
    for warning in found.warnings:
        print_line(console, f"warning: {warning}", indent=0, style="yellow")
