"""`flexarm import-body`: import a flexible body from files of a finite-element program."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.cli.console import Misuse, arg, file_path, print_json, require_outputs

if TYPE_CHECKING:
    from flexarm.links.imported.body import ReducedBody
    from flexarm.links.imported.data import Findings

SUMMARY = "check the modes, or the superelement, of a finite-element program, and make a body of it"
ARGUMENTS = (
    arg(
        "files", type=file_path, metavar="FILE", nargs="+",
        help="a body in the plain form (.npz, .json); K and M, as Matrix Market or Abaqus (.mtx); "
        "Nastran DMIG (.pch); CalculiX (.frd, with its .inp beside it); a modal test (.unv); "
        "standard input data (.SID_FEM)",
    ),
    arg("--out", type=file_path, metavar="FILE", required=True, help="the body's file (.npz)"),
    arg(
        "--frames", type=file_path, metavar="FILE",
        help="JSON file with hub and tip (position, rotation matrix), units, mass, centre",
    ),
    arg("--hub-node", type=int, metavar="N", help="interface node of a superelement's hub"),
    arg("--tip-node", type=int, metavar="N", help="interface node of a superelement's tip"),
    arg("--hub-set", metavar="NAME", help="node set of the hub's face in the .inp file"),
    arg("--tip-set", metavar="NAME", help="node set of the tip's face in the .inp file"),
    arg("--density", type=float, metavar="X", help="of the elements, in the file's units"),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Import a flexible body, print the checks of its data, and write its file."""
    from flexarm.links.imported.file import Choices, import_body

    require_npz(args.out)
    require_outputs(args, args.out, inputs=args.files)
    choices = Choices(
        args.frames, args.hub_node, args.tip_node, args.hub_set, args.tip_set, args.density
    )
    finish(*import_body(args.files, choices), args.out, args)


def require_npz(out: Path) -> None:
    """Raise an error unless the output file of a body ends in .npz."""
    if out.suffix != ".npz":
        raise Misuse(f"--out: must end in .npz, the format of a body, got {out.name}")


def finish(
    findings: "Findings", body: "ReducedBody | None", out: Path, args: argparse.Namespace
) -> None:
    """Write the file of a flexible body and print its report; raise an error for invalid data."""
    from flexarm.links.imported.file import write_body

    if body is None:
        raise findings.refusal()
    write_body(out, body, force=args.force)
    if args.json:
        about = {"body": str(out), "amplitudes": body.names, "first_order": body.first_order}
        print_json({**about, "facts": dict(findings.facts), "notes": findings.notes})
    else:
        print(*findings.lines(), f"body: {out}", sep="\n")
