"""`flexarm plan`: plan a motion from rest to rest without residual vibration."""

import argparse
from functools import partial

from flexarm.cli.console import (
    ARM,
    arg,
    deliver,
    file_path,
    given,
    named,
    once,
    read_arm,
    require_outputs,
    seconds,
    share,
    warnings_in_a_line,
)

SUMMARY = "plan a motion from rest to rest that leaves no vibration, and simulate it"


ARGUMENTS = (
    *ARM,
    arg("--to", action="append", required=True, metavar="JOINT=VALUE",
        type=named("JOINT=VALUE, such as joint1=0.5 or joint1='30 deg'"),
        help="goal of a driven joint [rad], [m] or with a unit; may be given again"),
    arg("--aim", choices=("energy", "time"), help="what is made small (default energy)"),
    arg("--duration", type=seconds, metavar="S", help="how long it takes [s]"),
    arg("--intervals", type=int, metavar="N", help=(
        "number of intervals of the inputs "
        "(default 20)"
    )),
    arg("--joining", choices=("cubic", "hold"),
        help="inputs as cubic splines (default), or constant in intervals"),
    arg("--effort", type=float, metavar="X", help="largest effort [N m], [N]"),
    arg("--speed", type=float, metavar="X", help="largest speed [rad/s], [m/s]"),
    arg("--deflection", type=float, metavar="X", help="largest deflection [m]"),
    arg("--strain", type=float, metavar="X", help="largest strain"),
    arg("--base-force", type=float, metavar="X", help="largest base force [N]"),
    arg("--base-torque", type=float, metavar="X", help="largest base torque [N m]"),
    arg("--tolerance", type=share, metavar="X",
        help="warn if the vibration left exceeds this share of that of the unshaped motion "
             "(default 1e-3)"),
    arg("--atol", type=partial(seconds, unit="m"), metavar="M",
        help="vibration [m] that is always accepted (default: 1e-6 of the reach)"),
    arg("--robustness", action="store_true", help="vary payload and stiffness too"),
    arg("--out", type=file_path, metavar="FILE", help="write the arm with the plan's inputs"),
    "--plot", "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Plan a motion, print its properties, and write the arm with its inputs."""
    from flexarm.planning.plan import plan
    from flexarm.planning.problem import Limits

    require_outputs(args, args.out, args.plot)
    to = once("--to", args.to)
    limits = Limits(
        args.effort, args.speed, args.deflection, args.strain, args.base_force, args.base_torque
    )
    with warnings_in_a_line():
        motion = plan(
            read_arm(args), to, limits=limits,
            **given(args, "aim", "duration", "intervals", "joining", "tolerance", "atol"),
        )  # fmt: skip
    varied = {case.name: case.residual for case in motion.robustness} if args.robustness else {}
    document = {
        "aim": motion.aim, "duration": motion.duration, "times": motion.times.tolist(),
        "u": motion.u.tolist(), "residual": motion.residual,
        "residual_unshaped": motion.unshaped_residual, "tolerated": motion.tolerated,
        "miss": motion.miss,
        "margins": motion.margins, "robustness": varied, "cpu_seconds": motion.cpu_seconds,
    }  # fmt: skip
    deliver(args, motion, motion.arm, document)
    for name, left in varied.items() if not args.json else ():
        print(f"  {name}: the tip moves by {1e3 * left:.3g} mm afterwards")
