"""`flexarm shape-inputs`: apply input shaping to the motions of a model file."""

import argparse

from flexarm.cli.console import (
    ARM,
    arg,
    file_path,
    given,
    print_json,
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
    from flexarm.io.model_file import save
    from flexarm.io.whole_file import write_figure
    from flexarm.planning.shape_inputs import shape_inputs

    require_outputs(args, args.out, args.plot)
    shaped = shape_inputs(read_arm(args), **given(args, "kind", "modes", "follow_posture"))
    with warnings_in_a_line():
        before, after = shaped.residuals
    if args.out is not None:
        save(shaped.arm, args.out, force=args.force)
    if args.plot is not None:
        write_figure(args.plot, shaped.plot(), force=args.force)
    if args.json:
        print_json({
            "kind": shaped.kind, "end": shaped.end,
            "times": shaped.shapers[-1].times.tolist(),
            "amplitudes": shaped.shapers[-1].amplitudes.tolist(),
            "names": shaped.vibrations[-1].names,
            "frequencies": shaped.vibrations[-1].frequency.tolist(),
            "damping": shaped.vibrations[-1].damping.tolist(),
            "tip_by_step": shaped.vibrations[-1].swing.tolist(), "modes": shaped.modes,
            "residual_unshaped": before, "residual": after, "left": shaped.left,
        })  # fmt: skip
    else:
        print(shaped)
        if EXPLAINED_VIBRATION * before < after <= before:
            print(f"  {shaped.cause}")
