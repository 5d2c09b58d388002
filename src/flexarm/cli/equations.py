"""`flexarm equations`: the equation of motion of a small arm, written out."""

import argparse
import json
import sys
from pathlib import Path

from flexarm.cli.arm_argument import add_arm, read_arm

SUMMARY = "write the equation of motion of a small arm out"
STIFFENING = {"on": True, "off": False, "as-given": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `flexarm equations`."""
    add_arm(parser)
    parser.add_argument(
        "--format",
        choices=("text", "latex", "python"),
        default="text",
        help="how it is written (default text); Python has all digits",
    )
    parser.add_argument(
        "--stiffening",
        choices=STIFFENING,
        default="as-given",
        help="whether bending draws a link in (default: as the model file says)",
    )
    parser.add_argument(
        "--tip-rotation",
        choices=("cayley", "first-order"),
        default="cayley",
        help="exact rotations of the links' tips (default), or I + skew(angles) as in papers",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it to a file")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Print M, h, c and K."""
    from flexarm.errors import FlexarmError
    from flexarm.model import build
    from flexarm.study.equation_text import as_document, as_latex, as_python, as_text
    from flexarm.study.equations import closed_form

    if args.out is not None and args.out.exists() and not args.force:
        raise FlexarmError(f"{args.out} is there already: use --force to overwrite it")
    stiffening = STIFFENING[args.stiffening]
    model = build(read_arm(args), stiffening=stiffening, tip_rotation=args.tip_rotation)
    equations = closed_form(model)
    written = {"text": as_text, "latex": as_latex, "python": as_python}[args.format](equations)
    if args.out is not None:
        args.out.write_text(written, encoding="utf-8")
        print(f"{equations.terms} terms written to {args.out}", file=sys.stderr)
    if args.json:
        print(json.dumps(as_document(equations)))
    elif args.out is None:
        print(written, end="")
    return 0
