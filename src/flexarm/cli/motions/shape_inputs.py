"""`flexarm shape-inputs`: apply input shaping to the motions of a model file."""

import argparse

from flexarm.cli.console import (
    ARM,
    arg,
    deliver,
    file_path,
    given,
    read_arm,
    require_outputs,
    warnings_in_a_line,
)
from flexarm.cli.constants import EXPLAINED_VIBRATION

SUMMARY = "shape the motions that a model file names, so that the arm's modes do not ring"
ARGUMENTS = (
    *ARM,
    arg("--kind", choices=("zv", "zvd", "zvdd", "ei"), help="shaper (default zvd)"),
    arg("--modes", type=int, metavar="N",
        help="number of vibrations that are shaped for, the most excited first (default 1)"),
    arg("--follow-posture", action="store_true", help=(
        "let the impulses follow the frequencies along "
        "the motion"
    )),
    arg("--out", type=file_path, metavar="FILE", help="write the arm with shaped motions"),
    "--plot", "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Shape the motions of an arm, print residual vibrations before and after, write the arm."""
    from flexarm.planning.shape_inputs import shape_inputs

    require_outputs(args, args.out, args.plot)
    shaped = shape_inputs(read_arm(args), **given(args, "kind", "modes", "follow_posture"))
    with warnings_in_a_line():
        before, after = shaped.residuals
    document = {
        "kind": shaped.kind, "end": shaped.end,
        "times": shaped.shapers[-1].times.tolist(),
        "amplitudes": shaped.shapers[-1].amplitudes.tolist(),
        "names": shaped.vibrations[-1].names,
        "frequencies": shaped.vibrations[-1].frequency.tolist(),
        "damping": shaped.vibrations[-1].damping.tolist(),
        "tip_by_step": shaped.vibrations[-1].swing.tolist(), "modes": shaped.modes,
        "residual_unshaped": before, "residual": after, "left": shaped.left,
    }  # fmt: skip
    deliver(args, shaped, shaped.arm, document)
    if not args.json and EXPLAINED_VIBRATION * before < after <= before:
        print(f"  {shaped.cause}")
