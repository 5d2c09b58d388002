"""`flexarm study`: compute the designs of a study file, say how far it is, draw what it found."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.cli.arguments import Misuse, add_options, file_path, require_figure
from flexarm.cli.console import finite, open_console, progress

if TYPE_CHECKING:
    from flexarm.studies.design.result import StudyResult
    from flexarm.studies.design.study import Progress

SUMMARY = "compute many designs of an arm, and keep what is wanted of each"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("study", metavar="STUDY", type=file_path, help="a study file")
    add(
        "--out", type=file_path, metavar="DIR",
        help="folder of the results (default: STUDY without its ending); a study that is there is "
        "gone on with",
    )  # fmt: skip
    add("--workers", type=_count, metavar="N", help="processes (default: one per core)")
    add("--status", action="store_true", help="say how far it is, and compute nothing")
    add_options(parser, "--plot")
    add(
        "--kind", choices=("effects", "scatter", "sobol"), default="effects",
        help="what --plot draws: main effects (default), a scatter matrix, or Sobol indices",
    )  # fmt: skip
    add_options(parser, "--force", "--json")


def run(args: argparse.Namespace) -> int:
    """Compute, or look at, a study."""
    from flexarm.studies.design.read import read_study
    from flexarm.studies.design.result import StudyResult
    from flexarm.studies.design.study import study

    require_figure(args.plot)
    if args.plot is not None:
        from flexarm.io.whole_file import require_writable

        require_writable(args.plot, force=args.force)
    if args.study.is_dir():
        raise Misuse(f"{args.study}: is a folder: name the study file")
    out: Path = args.out or args.study.with_suffix("")
    if args.status:
        found = StudyResult.open(out)
    else:
        plan = read_study(args.study)
        sampling = plan.plan.sampling.kind
        if args.plot is not None and args.kind == "sobol" and sampling != "saltelli":
            raise Misuse(f"--kind sobol: needs sampling of kind 'saltelli', got '{sampling}'")
        with progress() as tell:
            found = study(plan, out=out, workers=args.workers,
                          progress=lambda now: tell(_words(now)))  # fmt: skip
    if args.plot is not None:
        found.plot(args.plot, kind=args.kind, force=args.force)
    if args.json:
        print(json.dumps(_document(found), allow_nan=False))
    else:
        open_console().print(repr(found), soft_wrap=True)
    return 0


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number > 0, got {text}")
    return int(text)


def _document(found: "StudyResult") -> dict[str, Any]:
    """Make the JSON document."""
    document: dict[str, Any] = {
        "name": found.table.about["name"],
        "folder": str(found.table.folder),
        "done": found.done,
        "total": found.table.count,
        "failures": found.failures(),
        "sampling": found.table.about["sampling"]["kind"],
    }
    whole = found.done == found.table.count
    if whole and document["sampling"] == "saltelli":
        document["sobol"] = {
            name: {
                "parameters": each.parameters,
                "first": finite(each.first.tolist()),
                "total": finite(each.total.tolist()),
            }
            for name, each in found.sobol().items()
        }
    return document


def _words(now: "Progress") -> str:
    """Say how many designs are done, the rate and the remaining time."""
    left = f"{now.rate:.3g}/s, {_duration(now.remaining)} left"
    return f"{now.done:,} of {now.total:,} designs, {left}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
