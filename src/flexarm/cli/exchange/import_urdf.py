"""`flexarm import-urdf`: convert a URDF to an arm with flexible links and joints."""

import argparse

from flexarm.cli.console import arg, file_path, print_json, require_outputs
from flexarm.errors import FlexarmError

SUMMARY = "make an arm of a robot's URDF, with the links and joints flexible that you name"
ARGUMENTS = (
    arg("urdf", type=file_path, metavar="URDF", help="the robot; expand xacro first"),
    arg(
        "--flex", type=file_path, metavar="FILE",
        help="YAML file that makes links and joints flexible, by their names (default: all rigid)",
    ),
    arg("--tip", metavar="LINK", help="the link at the end of the only branch that moves"),
    arg("--out", type=file_path, metavar="FILE", required=True, help="the model file to write"),
    arg(
        "--no-meshes", action="store_true",
        help="leave out what links look like (default: into a folder beside the model file)",
    ),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Write the model file of a URDF, and print notes on merged, frozen and renamed parts."""
    from flexarm.arm.side_files import Mesh, parts_beside
    from flexarm.io.model_file import dumps
    from flexarm.io.urdf.convert import import_urdf
    from flexarm.io.whole_file import require_writable, write_whole

    require_outputs(args, args.out, inputs=[args.urdf, args.flex])
    meshes = None if args.no_meshes else f"{args.out.stem}.meshes"
    arm, notes = import_urdf(args.urdf, flex=args.flex, tip=args.tip, meshes=meshes)
    surfaces = {args.out.parent / part.file: part.side_file.content
                for part in parts_beside(arm) if isinstance(part, Mesh)}  # fmt: skip
    for folder in {path.parent for path in surfaces}:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise FlexarmError(f"{folder}: the folder cannot be made: {error.strerror}") from None
    for path in surfaces:
        require_writable(path, force=args.force)
    for path, content in surfaces.items():
        write_whole(path, content, force=args.force)
    write_whole(args.out, dumps(arm).encode(), force=args.force)
    if args.json:
        print_json({"arm": str(args.out), "links": arm.link_names, "notes": notes})
    else:
        print(*notes, f"arm: {args.out}", sep="\n")
