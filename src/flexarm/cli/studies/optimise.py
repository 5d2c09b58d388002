"""`flexarm optimise`: find the best design of a study."""

import argparse
import sys

from flexarm.cli.console import arg, file_path, open_console, print_json, progress, require_outputs

SUMMARY = "find the best design of a study: its aim as good as its limits allow"
ARGUMENTS = (
    arg("study", metavar="STUDY", type=file_path, help="a study file with aim and limits"),
    arg("--out", type=file_path, metavar="FILE", help="write the arm of the best design"),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Find the best design, print it, and write its arm; return 1 if there is no best design."""
    from flexarm.studies.optimise import optimise

    require_outputs(args, args.out, inputs=[args.study])
    with progress() as tell:
        best = optimise(args.study, progress=tell)
    good = best.kept and not best.refuted
    if args.out is not None and good:
        best.save(args.out, force=args.force)
    if args.json:
        print_json(best.to_dict())
    else:
        open_console().print(repr(best), soft_wrap=True)
    if args.out is not None and not good:
        print(f"flexarm optimise: {args.out} is not written, for the reason above", file=sys.stderr)
    return 0 if good else 1
