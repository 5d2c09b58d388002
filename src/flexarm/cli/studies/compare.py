"""`flexarm compare`: one arm under every formulation."""

import argparse
from typing import TYPE_CHECKING, Any

from flexarm.cli.arguments import ARM, Misuse, arg, read_arm
from flexarm.cli.console import print_json, progress
from flexarm.errors import FlexarmError

if TYPE_CHECKING:
    from flexarm.studies.compare import Compared, Comparison, Errors

SUMMARY = "compare all formulations on an arm: differences, operations, time"
ARGUMENTS = (
    *ARM,
    arg("--paper", action="store_true", help="keep the approximations of each formulation's paper"),
    arg(
        "--deflection", type=float, nargs="+", default=[0.02], metavar="X",
        help="tip deflection of the random states, of each link's length (default 0.02); several "
        "give the errors over deflection",
    ),
    arg("--seed", type=int, default=0, help="of the random states (default 0)"),
    "--points", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Compare, and print one table, or two if there are several deflections."""
    from flexarm.studies.compare import compare, refuse_options

    options: dict[str, Any] = {"seed": args.seed, "points": args.points}
    try:
        refuse_options(args.deflection, **options)
    except FlexarmError as error:
        raise Misuse(f"--{error}") from None
    arm = read_arm(args)
    with progress() as tell:
        result = compare(
            arm, paper=args.paper, deflection=args.deflection, progress=tell, **options
        )
    if args.json:
        print_json(_document(result))
    else:
        _print(result)


def _document(result: "Comparison") -> dict[str, Any]:
    return {
        "arm": result.arm,
        "coordinates": result.coordinates,
        "states": result.states,
        "deflections": list(result.deflections),
        "allowed": result.allowed,
        "formulations": {name: _row(each) for name, each in result.formulations.items()},
    }


def _row(each: "Compared") -> dict[str, Any]:
    if each.errors is None or each.exponents is None or each.counts is None:
        return {"refusal": each.refusal}
    return {
        **_named(each.errors),
        "singular": each.singular,
        "by_deflection": [_named(errors) for errors in each.curve],
        "exponents": each.exponents._asdict(),
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


def _named(errors: "Errors") -> dict[str, float | None]:
    return {f"{name}_error": value for name, value in errors._asdict().items()}


def _print(result: "Comparison") -> None:
    print(
        f"{result.arm}: {result.coordinates} coordinates, {result.states} states, beside composite"
    )
    heads = ("M", "bias", "acceleration", "operations", "us")
    print(f"{'':<20}" + "".join(f"{head:>13}" for head in heads))
    for name, each in result.formulations.items():
        if each.errors is None or each.counts is None:
            print(f"{name:<20}  {each.refusal}")
            continue
        counts = each.counts["forward_dynamics"]
        total = counts.multiplications + counts.additions + counts.divisions
        cells = "".join(_cell(error, ".1e") for error in each.errors)
        print(f"{name:<20}{cells}{total:>13}{each.microseconds:>13.2f}")
    for each in result.formulations.values():
        if each.singular:
            print(f"no accelerations at {each.singular}")
    for line in _footer(result.allowed, result.deflections):
        print(line)
    if len(result.deflections) > 1:
        _print_curves(result)


def _cell(value: float | None, form: str) -> str:
    return f"{'-' if value is None else format(value, form):>13}"


def _print_curves(result: "Comparison") -> None:
    """Print errors over deflection of the formulations that differ by more than rounding."""
    print("\nErrors over tip deflection, of each link's length, and the power that they grow with:")
    heads = (*(f"{share:g}" for share in result.deflections), "power")
    print(f"{'':<33}" + "".join(f"{head:>13}" for head in heads))
    for name, each in result.formulations.items():
        if each.exponents is None:
            continue
        for k, what in enumerate(("M", "bias", "acceleration")):
            errors = [row[k] for row in each.curve]
            if all(error is not None and error <= result.allowed for error in errors):
                continue
            cells = "".join(_cell(error, ".1e") for error in errors)
            print(f"{name:<20}{what:<13}{cells}{_cell(each.exponents[k], '.2f')}")
    print("What is not listed agrees at every deflection.")


def _footer(allowed: float, deflections: tuple[float, ...]) -> tuple[str, ...]:
    bent = ", ".join(f"{share:g}" for share in deflections)
    return (
        f"States: random ones with tips deflected by {bent} of each link's length, and those of a "
        "short run.",
        "M: mass matrix; bias: Coriolis and gravity forces; acceleration: under them alone.",
        "Springs, damping and friction are left out. All formulations share their code, "
        "and they would hide the differences.",
        "Each number is the largest difference relative to the largest entry, in "
        f"coordinates scaled by sqrt(diag M); rounding may cause {allowed:.0e}.",
        "operations and microseconds are of forward dynamics, with springs and damping.",
    )
