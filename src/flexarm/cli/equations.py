"""`flexarm equations`: print the symbolic equations of motion of a small arm."""

import argparse
import sys

from flexarm.cli.console import (
    ARM,
    STIFFENING,
    arg,
    file_path,
    print_json,
    read_arm,
    require_outputs,
)
from flexarm.errors import FlexarmError

SUMMARY = "write out the equation of motion of a small arm"
ARGUMENTS = (
    *ARM,
    arg(
        "--format",
        choices=("text", "latex", "python"),
        default="text",
        help="format (default text); Python has all digits",
    ),
    arg(
        "--latex",
        type=file_path,
        metavar="FILE",
        help="write a LaTeX document in the papers' letters, integrals by name",
    ),
    arg(
        "--numbers", action="store_true", help="with --latex, list the values of its symbols"
    ),
    arg(
        "--letters", choices=("korayem", "theodore", "chu"),
        help="with --latex, whose: delta and phi (default), xi and psi, or u at nodes",
    ),
    "--stiffening", "--tip-rotation", "--nodes",
    arg("--out", type=file_path, metavar="FILE", help="write it to a file"),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Print or write M, h, c and K of the equations of motion, as text, LaTeX or Python."""
    from flexarm.closed_forms.equations import closed_form
    from flexarm.closed_forms.text import (
        as_document,
        as_latex,
        as_latex_document,
        as_python,
        as_text,
    )
    from flexarm.io.whole_file import write_whole
    from flexarm.model import build

    require_outputs(args, args.out, args.latex)
    if args.latex is None and (args.numbers or args.letters is not None):
        option = "--numbers" if args.numbers else "--letters"
        raise FlexarmError(f"{option}: is used only for LaTeX documents. Give '--latex FILE' too.")
    stiffening = STIFFENING[args.stiffening]
    model = build(
        read_arm(args), stiffening=stiffening, tip_rotation=args.tip_rotation, nodes=args.nodes
    )
    if args.latex is not None:
        named = closed_form(model, named=True)
        document = as_latex_document(named, numbers=args.numbers, letters=args.letters or "korayem")
        write_whole(args.latex, document.encode(), force=args.force)
        print(f"{named.terms} terms written to {args.latex}", file=sys.stderr)
        if args.out is None and not args.json:
            return
    equations = closed_form(model)
    written = {"text": as_text, "latex": as_latex, "python": as_python}[args.format](equations)
    if args.out is not None:
        write_whole(args.out, written.encode(), force=args.force)
        print(f"{equations.terms} terms written to {args.out}", file=sys.stderr)
    if args.json:
        print_json(as_document(equations))
    elif args.out is None:
        print(written, end="")
