"""`flexarm reduce`: reduce a finite-element model to a flexible body by modes."""

import argparse
from typing import Any

from flexarm.cli.bodies.import_body import finish, require_npz
from flexarm.cli.console import Misuse, arg, file_path, require_outputs

SUMMARY = "reduce a finite-element model between two rigid faces to a body (Craig-Bampton)"
ARGUMENTS = (
    arg(
        "model", type=file_path, metavar="FILE", nargs="?",
        help="nodes, K, M and faces in the plain form (.npz, or .json with an .npz beside it)",
    ),
    arg("--stiffness", type=file_path, metavar="FILE", help="K, Matrix Market (.mtx)"),
    arg("--mass", type=file_path, metavar="FILE", help="M, Matrix Market (.mtx)"),
    arg("--nodes", type=file_path, metavar="FILE", help="CSV table of x, y, z, one row per node"),
    arg("--hub-nodes", metavar="LIST", help="nodes of the hub's face, such as 1-12,40"),
    arg("--tip-nodes", metavar="LIST", help="nodes of the tip's face"),
    arg("--frames", type=file_path, metavar="FILE", help="JSON file with hub and tip, units"),
    arg("--modes", type=int, default=8, metavar="N", help="modes with both faces held (default 8)"),
    arg("--out", type=file_path, metavar="FILE", required=True, help="the body's file (.npz)"),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Reduce a finite-element model, print the checks of its data, and write the body's file."""
    import numpy as np

    from flexarm.arm.side_files import SideFiles
    from flexarm.links.imported.craig_bampton import reduced_data
    from flexarm.links.imported.data import Findings
    from flexarm.links.imported.file import inspect_data, read_frames
    from flexarm.links.imported.readers.market import listed_nodes, market_keys
    from flexarm.links.imported.readers.plain import full_data, read_keys

    parts = (args.stiffness, args.mass, args.nodes)
    if (args.model is None) == (None in parts) and args.model is None:
        raise Misuse("no body is given. Give FILE, or --stiffness, --mass and --nodes.")
    if args.model is not None and any(part is not None for part in parts):
        raise Misuse(
            "the body is given twice. Give FILE, or --stiffness, --mass and --nodes, not both."
        )
    inputs = [path for path in (args.model, *parts) if path is not None]
    require_npz(args.out)
    require_outputs(args, args.out, inputs=inputs)
    if args.model is not None:
        keys = read_keys(SideFiles(args.model.parent).read(args.model.name))
    else:
        keys = market_keys(*parts)
    keys |= read_frames(args.frames)
    nodes: Any = keys.get("nodes", 0)
    count = len(nodes) if isinstance(nodes, list) or np.ndim(nodes) else 0
    for key, text in (("hub", args.hub_nodes), ("tip", args.tip_nodes)):
        if text is not None:
            keys[f"{key}_nodes"] = listed_nodes(text, key, count) + 1
    name = str(inputs[0])
    findings = Findings(name)
    model = full_data(keys, name, findings)
    if findings.problems:
        raise findings.refusal()
    data = reduced_data(model, args.modes)
    finish(*inspect_data(data, findings), args.out, args)
