"""`flexarm compare`: compare all formulations of the equations on one arm."""

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flexarm.cli.console import (
    ARM,
    Misuse,
    arg,
    open_console,
    print_json,
    print_line,
    print_table,
    progress,
    read_arm,
)
from flexarm.errors import FlexarmError

if TYPE_CHECKING:
    from rich.console import Console

    from flexarm.studies.compare import Compared, Comparison, Errors

HEADS = ("M", "bias", "acceleration")  # headings of the errors
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
    """Compare all formulations, and print tables of differences, operations and times."""
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
        "formulations": {name: _row(compared) for name, compared in result.formulations.items()},
    }


def _row(compared: "Compared") -> dict[str, Any]:
    if compared.errors is None or compared.exponents is None or compared.counts is None:
        return {"refusal": compared.refusal}
    return {
        **_named(compared.errors),
        "singular": compared.singular,
        "by_deflection": [_named(errors) for errors in compared.curve],
        "exponents": compared.exponents._asdict(),
        "operations": {
            name: {
                "multiplications": counts.multiplications,
                "additions": counts.additions,
                "divisions": counts.divisions,
                "functions": sum(counts.functions.values()),
            }
            for name, counts in compared.counts.items()
        },
        "microseconds": compared.microseconds,
    }


def _named(errors: "Errors") -> dict[str, float | None]:
    return {f"{name}_error": value for name, value in errors._asdict().items()}


def _print(result: "Comparison") -> None:
    console = open_console()
    rows = [
        {
            "formulation": name, **_cells(HEADS, compared.errors),
            "operations": str(counts.multiplications + counts.additions + counts.divisions),
            "us": f"{compared.microseconds:.2f}",
        }
        for name, compared in result.formulations.items()
        if compared.errors is not None and compared.counts is not None
        for counts in [compared.counts["forward_dynamics"]]
    ]  # fmt: skip
    title = f"{result.arm}: {result.coordinates} coordinates, {result.states} states"
    print_table(console, f"{title}, beside composite", rows)
    for name, compared in result.formulations.items():
        if compared.refusal:
            print_line(console, f"{name}: {compared.refusal}", indent=0)
        if compared.singular:
            print_line(console, f"no accelerations at {compared.singular}", indent=0)
    for line in _footer(result.allowed, result.deflections):
        print_line(console, line, indent=0)
    if len(result.deflections) > 1:
        _print_curves(console, result)


def _cells(heads: Iterable[str], values: Iterable[float | None]) -> dict[str, str]:
    """Return table cells with errors as text, by heading; a dash where an error is None."""
    pairs = zip(heads, values, strict=True)
    return {head: "-" if value is None else f"{value:.1e}" for head, value in pairs}


def _print_curves(console: "Console", result: "Comparison") -> None:
    """Print errors as a function of deflection, for formulations with errors above rounding."""
    shares = [f"{share:g}" for share in result.deflections]
    rows = [
        {
            "formulation": name, "of": quantity, **_cells(shares, errors),
            "power": "-" if power is None else f"{power:.2f}",
        }
        for name, compared in result.formulations.items()
        if compared.exponents is not None
        for quantity, power, *errors in zip(HEADS, compared.exponents, *compared.curve, strict=True)
        if any(error is None or error > result.allowed for error in errors)
    ]  # fmt: skip
    title = "Errors over tip deflection, of each link's length, and the power that they grow with"
    print_table(console, title, rows)
    print_line(console, "What is not listed agrees at every deflection.", indent=0)


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
