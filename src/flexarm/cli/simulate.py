"""`flexarm simulate`: run an arm in time and draw it."""

import argparse
import json
import sys
from pathlib import Path

SUMMARY = "simulate an arm under the inputs of its model file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("arm", metavar="ARM", help="a model file, or the name of a sample")
    parser.add_argument("--t-end", type=float, default=1.0, help="duration [s] (default 1)")
    parser.add_argument("--dt", type=float, help="interval of the samples that are kept [s]")
    parser.add_argument("--rtol", type=float, default=1e-8, help="tolerance (default 1e-8)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a figure (PNG, SVG, PDF)")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Simulate, print a summary, write the figure."""
    import time

    from rich.progress import Progress

    from flexarm.errors import FlexarmError
    from flexarm.integrate.simulate import simulate
    from flexarm.io.sample import open_arm

    if args.t_end <= 0 or (args.dt is not None and not 0 < args.dt <= args.t_end):
        raise FlexarmError("--t-end must be > 0, and --dt between 0 and --t-end")
    if args.plot is not None and args.plot.exists() and not args.force:
        raise FlexarmError(f"{args.plot} is there already: use --force to overwrite it")
    arm = open_arm(args.arm)
    begun = time.process_time()
    with Progress(transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(arm.name, total=args.t_end)
        result = simulate(
            arm,
            t_end=args.t_end,
            dt=args.dt,
            rtol=args.rtol,
            progress=lambda t: progress.update(task, completed=t),
        )
    spent = time.process_time() - begun
    if args.plot is not None:
        result.plot(args.plot)
    summary = {
        "status": "finished",
        "t_end": float(result.t[-1]),
        "samples": len(result.t),
        "energy_balance": result.energy_balance,
        "cpu_seconds": spent,
        "q": dict(zip(result.model.names, result.q[-1].tolist(), strict=True)),
    }
    if args.json:
        print(json.dumps(summary))
        return 0
    print(f"{arm.name}: {result.t[-1]:g} s in {spent:.2f} s of CPU")
    print(f"energy balance closed to {result.energy_balance:.1e} of the largest kinetic energy")
    for name, unit, value in zip(result.model.names, result.model.units, result.q[-1], strict=True):
        print(f"  {name:24s} {value: .6g} {unit}")
    if args.plot is not None:
        print(f"figure: {args.plot}")
    return 0
