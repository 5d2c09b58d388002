"""`flexarm converge`: estimate the discretisation error of an arm's shapes, find better ones."""

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.arguments import digits
from flexarm.cli.console import (
    ARM,
    Misuse,
    arg,
    file_path,
    open_console,
    print_json,
    print_line,
    print_table,
    progress,
    read_arm,
    require_outputs,
    share,
    whole_number,
)
from flexarm.cli.constants import PRINTED_ESTIMATES
from flexarm.errors import FlexarmError

if TYPE_CHECKING:
    from flexarm.arm import Arm
    from flexarm.studies.converge import Convergence

SUMMARY = "estimate the error due to an arm's shapes, and find shapes that are good enough"


def _positive(text: str) -> float:
    if not 0 < share(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number > 0, got {text}")
    return share(text)


def _wanted(text: str) -> float:
    from flexarm.studies.converge import read_want

    try:
        return read_want(text)
    except FlexarmError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("want: ")) from None


ARGUMENTS = (
    *ARM,
    "--t-end",
    arg(
        "--want", type=_wanted, metavar="X",
        help="find the fewest shapes and the loosest tolerance for this error of the tip "
             "deflections, relative to their range, such as 1%% or 0.01",
    ),
    arg(
        "--wish", type=_positive, metavar="X",
        help="accepted error of the tip deflections, relative to their range (default 0.01)",
    ),
    arg(
        "--trials", type=whole_number, metavar="N",
        help="largest number of sets of shapes that are tried until one meets the wish "
             "(default 8; with --want no limit)",
    ),
    arg(
        "--given-only", action="store_true",
        help=(
            "estimate the error of the given shapes, without trying fewer shapes and other "
            "families"
        ),
    ),
    arg(
        "--out", type=file_path, metavar="FILE",
        help="write the model file with the shapes that --want found",
    ),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> int | None:
    """Estimate the discretisation errors of shapes, print them, and write the arm if asked."""
    from flexarm.studies.converge import converge

    if args.want is not None and args.given_only:
        raise Misuse(
            "--want searches for better shapes, and --given-only forbids that. Use "
            "--wish instead of --want, or leave out --given-only."
        )
    if args.want is not None and args.wish is not None:
        raise Misuse("--want and --wish exclude each other. Give one of them.")
    if args.out is not None and args.want is None:
        raise Misuse("--out: is for the shapes that --want finds. Add --want, such as --want 1%.")
    require_outputs(args, args.out)
    arm = read_arm(args)
    with progress() as tell:
        result = converge(
            arm,
            t_end=args.t_end,
            wish=args.wish or 0.01,
            want=args.want,
            others=not args.given_only,
            trials=args.trials,
            progress=lambda text: tell(f"running: {text}"),
        )
    if args.json:
        print_json(dataclasses.asdict(result))
    else:
        _print(result)
    return None if args.want is None else _write(result, arm, args.out, force=args.force)


def _write(result: "Convergence", arm: "Arm", out: Path | None, *, force: bool) -> int | None:
    """Write the model file with the shapes found, if accurate enough; return the exit status."""
    from flexarm.io.model_file import change_arm, dumps
    from flexarm.io.whole_file import write_whole

    answer = result.answer
    if answer is None or not answer.within:
        refusal = "" if out is None else f"{out} is not written. "
        print(f"flexarm converge: {refusal}{result.advice[0]}", file=sys.stderr)
        return 1
    if out is not None:
        note = (
            f"# Shapes by flexarm converge: with --rtol {answer.rtol:g} tip deflections are off by "
            f"{digits(100 * answer.estimate, up=True)} %\n# of their range or less in a run of "
            f"{result.t_end:g} s.\n"
        )
        text = note + dumps(change_arm(arm, answer.changes))
        write_whole(out, text.encode(), force=force)
        print(f"{answer.coordinates} coordinates written to {out}", file=sys.stderr)
    return None


def _print(result: "Convergence") -> None:
    console = open_console()
    console.print(result.arm, style="bold")
    for line in result.advice:
        print_line(console, line)
    rows = [
        {
            "shapes": row.basis, "coordinates": str(row.coordinates),
            "frequencies, free [%]": _percent(row.frequency_error_free),
            "locked [%]": _percent(row.frequency_error_locked),
            "top [rad/s]": f"{row.top_frequency:.5g}", "RK4 step [s]": f"{row.step:.3g}",
            "run [%]": "reference" if row.basis == "enriched" else _percent(row.run_error),
            "CPU [s]": f"{row.cpu_seconds:.2g}",
        }
        for row in result.rows
    ]  # fmt: skip
    print_table(console, f"Errors by shapes, run of {result.t_end:g} s", rows)
    if result.by_link:
        worst = sorted(result.by_link.items(), key=lambda item: -item[1])[:PRINTED_ESTIMATES]
        by_link = [{"link": name, "estimate [%]": _percent(value)} for name, value in worst]
        title = "Error of the given shapes by link"
        if len(by_link) < len(result.by_link):
            title += f", worst {len(by_link)} of {len(result.by_link)}"
        print_table(console, title, by_link)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2g}"
