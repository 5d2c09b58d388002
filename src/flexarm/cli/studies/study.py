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
    from flexarm.studies.design.evaluate import Columns
    from flexarm.studies.design.result import StudyResult

SUMMARY = "simulate many designs of an arm, and store the chosen quantities of each"
ARGUMENTS = (
    arg(
        "study", metavar="STUDY", type=file_path,
        help="a study file; or a folder of results, with which nothing is computed",
    ),
    arg(
        "--out", type=file_path, metavar="DIR",
        help="folder of the results (default: STUDY without its ending); a study that is "
             "there is continued",
    ),
    arg("--workers", type=whole_number, metavar="N", help="processes (default: one per core)"),
    arg("--status", action="store_true", help="print progress and results, and compute nothing"),
    "--plot",
    arg(
        "--kind", choices=("effects", "scatter", "sobol", "pareto"), default="effects",
        help="what --plot draws: main effects (default), a scatter matrix, Sobol indices, or the "
             "Pareto front",
    ),
    arg(
        "--minimise", metavar="NAME", action="append", default=[],
        help="print the Pareto front of two or more such aims; repeatable",
    ),
    arg("--maximise", metavar="NAME", action="append", default=[], help="likewise; repeatable"),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Simulate the designs of a study, or print its progress; plot its results if asked."""
    from flexarm.studies.design.read import read_study
    from flexarm.studies.design.study import load_study, study

    folder = args.study.is_dir()
    require_outputs(args, args.plot, inputs=[] if folder else [args.study])
    out: Path = args.out or (args.study if folder else args.study.with_suffix(""))
    if args.status or folder:
        result = load_study(out)
    else:
        plan = read_study(args.study)
        sampling = plan.plan.sampling.kind
        if args.plot is not None and args.kind == "sobol" and sampling != "saltelli":
            raise Misuse(
                f"--kind sobol: needs a study with sampling of kind 'saltelli', got '{sampling}'"
            )
        with progress() as tell:
            result = study(plan, out=out, workers=args.workers,
                          progress=lambda now: tell(str(now)))  # fmt: skip
    aims = {"minimise": args.minimise, "maximise": args.maximise}
    front = result.pareto(**aims) if any(aims.values()) else None
    if args.plot is not None:
        result.plot(args.plot, kind=args.kind, force=args.force, **aims)
    if args.json:
        print_json(_document(result, front))
        return
    open_console().print(repr(result), soft_wrap=True)
    if front is not None:
        from flexarm.arm.summary import Summary

        names = [name for name in front if name not in ("key", "status", "reason")]
        rows = [[f"{x:.6g}" if isinstance(x, float) else str(x) for x in row]
                for row in zip(*(front[name].tolist() for name in names), strict=True)]  # fmt: skip
        open_console().print(Summary("Pareto front", columns=tuple(names), rows=rows).text())


def _document(result: "StudyResult", front: "Columns | None") -> dict[str, Any]:
    """Return state and results of a study as plain data for JSON."""
    document: dict[str, Any] = {
        "name": result.table.about["name"],
        "folder": str(result.table.folder),
        **vars(result.progress),
        "failures": result.failures(),
        "sampling": result.table.about["sampling"]["kind"],
    }
    whole = result.progress.done == result.table.count
    if front is not None:
        document["pareto"] = {name: values.tolist() for name, values in front.items()}
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
