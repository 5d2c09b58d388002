"""`flexarm count`: count the arithmetic operations of an arm's equations."""

import argparse
from typing import TYPE_CHECKING

from flexarm.cli.console import ARM, STIFFENING, open_console, print_json, print_table, read_arm

if TYPE_CHECKING:
    from flexarm.engine.stream import OperationCounts

SUMMARY = "count the arithmetic operations of an arm's equations"
KINDS = ("multiplications", "additions", "divisions", "functions")
ARGUMENTS = (
    *ARM,
    "--formulation", "--points", "--stiffening", "--nodes", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Print the operation counts of forward dynamics, mass matrix and bias forces."""
    from flexarm.formulations import formulation
    from flexarm.model import build
    from flexarm.studies.compare import COUNTED, operation_counts

    arm = read_arm(args)
    model = build(arm, stiffening=STIFFENING[args.stiffening], nodes=args.nodes)
    eq = formulation(args.formulation, model, points=args.points)
    numbers = {name: _numbers(operation_counts(eq, name)) for name in COUNTED}
    if args.json:
        about = {"arm": arm.name, "formulation": eq.name, "stiffening": model.stiffening,
                 "coordinates": model.size}  # fmt: skip
        print_json(about | numbers)
        return
    stiffening = "on" if model.stiffening else "off"
    rows = [
        {"function": name} | {kind: str(counts[kind]) for kind in KINDS}
        for name, counts in numbers.items()
    ]
    title = f"{arm.name}: {model.size} coordinates, {eq.name}, stiffening {stiffening}"
    print_table(open_console(), title, rows)
    print("Of the mass matrix, which is symmetric, the upper triangle is counted.")


def _numbers(counts: "OperationCounts") -> dict[str, object]:
    return {
        "multiplications": counts.multiplications,
        "additions": counts.additions,
        "divisions": counts.divisions,
        "functions": sum(counts.functions.values()),
        "by_function": counts.functions,
        "selections": counts.selections,
    }
