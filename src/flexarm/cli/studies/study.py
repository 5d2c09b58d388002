"""`flexarm study`: simulate the designs of a study file, and print and plot results."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.cli.console import (
    Misuse,
    arg,
    file_path,
    open_console,
    print_json,
    progress,
    require_outputs,
    whole_number,
)

if TYPE_CHECKING:
    from flexarm.studies.design.result import StudyResult
    from flexarm.studies.design.study import Progress

SUMMARY = "simulate many designs of an arm, and store the chosen quantities of each"
ARGUMENTS = (
    arg("study", metavar="STUDY", type=file_path, help="a study file"),
    arg(
        "--out", type=file_path, metavar="DIR",
        help="folder of the results (default: STUDY without its ending); a study that is "
             "there is continued",
    ),
    arg("--workers", type=whole_number, metavar="N", help="processes (default: one per core)"),
    arg("--status", action="store_true", help="print the progress, and compute nothing"),
    "--plot",
    arg(
        "--kind", choices=("effects", "scatter", "sobol"), default="effects",
        help="what --plot draws: main effects (default), a scatter matrix, or Sobol indices",
    ),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Simulate the designs of a study, or print its progress; plot its results if asked."""
    from flexarm.studies.design.read import read_study
    from flexarm.studies.design.result import StudyResult
    from flexarm.studies.design.study import study

    require_outputs(args, args.plot, inputs=[args.study])
    if args.study.is_dir():
        raise Misuse(f"{args.study}: is a folder. Name the study file.")
    out: Path = args.out or args.study.with_suffix("")
    if args.status:
        result = StudyResult.open(out)
    else:
        plan = read_study(args.study)
        sampling = plan.plan.sampling.kind
        if args.plot is not None and args.kind == "sobol" and sampling != "saltelli":
            raise Misuse(
                f"--kind sobol: needs a study with sampling of kind 'saltelli', got '{sampling}'"
            )
        with progress() as tell:
            result = study(plan, out=out, workers=args.workers,
                          progress=lambda now: tell(_words(now)))  # fmt: skip
    if args.plot is not None:
        result.plot(args.plot, kind=args.kind, force=args.force)
    if args.json:
        print_json(_document(result))
    else:
        open_console().print(repr(result), soft_wrap=True)


def _document(result: "StudyResult") -> dict[str, Any]:
    """Return state and results of a study as plain data for JSON."""
    document: dict[str, Any] = {
        "name": result.table.about["name"],
        "folder": str(result.table.folder),
        "done": result.done,
        "total": result.table.count,
        "failures": result.failures(),
        "sampling": result.table.about["sampling"]["kind"],
    }
    whole = result.done == result.table.count
    if whole and document["sampling"] == "saltelli":
        document["sobol"] = {
            name: {
                "parameters": indices.parameters,
                "first": indices.first.tolist(),
                "total": indices.total.tolist(),
            }
            for name, indices in result.sobol().items()
        }
    return document


def _words(now: "Progress") -> str:
    """Return a text with the number of finished designs, their rate and the remaining time."""
    minutes, seconds = divmod(round(now.remaining), 60)
    left = f"{now.rate:.3g}/s, {minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"
    return f"{now.done:,} of {now.total:,} designs, {left}"
