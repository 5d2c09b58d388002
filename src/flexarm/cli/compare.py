"""`flexarm compare`: one arm under every formulation."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from flexarm.cli.arm_argument import add_arm, read_arm

if TYPE_CHECKING:
    from flexarm.analysis.compare import Compared, Comparison

SUMMARY = "compare all formulations on an arm: differences, operations, time"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `flexarm compare`."""
    add_arm(parser)
    parser.add_argument(
        "--paper", action="store_true", help="keep the approximations of each formulation's paper"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random states (default 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Compare, and print one table."""
    from rich.console import Console

    from flexarm.analysis.compare import compare

    arm = read_arm(args)
    with Console(stderr=True).status("") as status:
        tell = (lambda name: status.update(name)) if sys.stderr.isatty() else None
        found = compare(arm, paper=args.paper, seed=args.seed, progress=tell)
    if args.json:
        rows = {name: _row(each) for name, each in found.formulations.items()}
        about = {"arm": found.arm, "coordinates": found.coordinates, "states": found.states}
        print(json.dumps(about | {"allowed": found.allowed, "formulations": rows}))
    else:
        _print(found)
    return 0


def _row(each: "Compared") -> dict[str, Any]:
    if each.counts is None:
        return {"refusal": each.refusal}
    return {
        "mass_matrix_error": each.mass_matrix_error,
        "bias_error": each.bias_error,
        "acceleration_error": each.acceleration_error,
        "operations": {
            name: {
                "multiplications": counts.multiplications,
                "additions": counts.additions,
                "divisions": counts.divisions,
                "functions": sum(counts.functions.values()),
            }
            for name, counts in each.counts.items()
        },
        "microseconds": each.microseconds,
    }


def _print(found: "Comparison") -> None:
    print(f"{found.arm}: {found.coordinates} coordinates, {found.states} states, beside composite")
    heads = ("M", "bias", "acceleration", "operations", "us")
    print(f"{'':<20}" + "".join(f"{head:>13}" for head in heads))
    for name, each in found.formulations.items():
        if each.counts is None:
            print(f"{name:<20}  {each.refusal}")
            continue
        counts = each.counts["forward_dynamics"]
        total = counts.multiplications + counts.additions + counts.divisions
        errors = (each.mass_matrix_error, each.bias_error, each.acceleration_error)
        cells = "".join(f"{error:>13.1e}" for error in errors)
        print(f"{name:<20}{cells}{total:>13}{each.microseconds:>13.2f}")
    for line in _footer(found.allowed):
        print(line)


def _footer(allowed: float) -> tuple[str, ...]:
    return (
        "M: mass matrix; bias: Coriolis and gravity forces; acceleration: under them alone.",
        "Springs, damping and friction, which are one code for all and would hide the rest, are "
        "left out.",
        "Each is the largest difference by the largest entry, in coordinates scaled by "
        f"sqrt(diag M); rounding may make {allowed:.0e}.",
        "operations, us: of forward dynamics, springs and all.",
    )
