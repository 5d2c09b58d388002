"""`flexarm plan`: a motion from rest to rest that leaves no vibration."""

import argparse
from functools import partial

from flexarm.cli.arguments import (
    Misuse,
    add_arm,
    add_options,
    file_path,
    read_arm,
    require_outputs,
    seconds,
    share,
)
from flexarm.cli.console import print_json, warnings_in_a_line

SUMMARY = "plan a motion from rest to rest that leaves no vibration, and simulate it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_arm(parser)
    add = parser.add_argument
    add("--to", action="append", required=True, metavar="JOINT=VALUE", type=_place,
        help="where a driven joint goes [rad], [m] or with a unit; may be given again")  # fmt: skip
    add("--aim", choices=("energy", "time"), default="energy", help="what is made small")
    add("--duration", type=seconds, metavar="S", help="how long it takes [s]")
    add("--intervals", type=int, default=20, metavar="N", help="of the inputs (default 20)")
    add("--joining", choices=("cubic", "hold"), default="cubic",
        help="inputs as cubic splines (default), or constant in intervals")  # fmt: skip
    for name, unit in (("effort", "[N m], [N]"), ("speed", "[rad/s], [m/s]"),
                       ("deflection", "[m]"), ("strain", ""), ("base-force", "[N]"),
                       ("base-torque", "[N m]")):  # fmt: skip
        add(f"--{name}", type=float, metavar="X", help=f"largest {name.replace('-', ' ')} {unit}")
    add("--tolerance", type=share, default=1e-3, metavar="X",
        help="vibration left, of what the unshaped motion leaves, beyond which to warn "
        "(default 1e-3)")  # fmt: skip
    add("--atol", type=partial(seconds, unit="m"), metavar="M",
        help="vibration that may be left anyway [m] (default: 1e-6 of the reach)")  # fmt: skip
    add("--robustness", action="store_true", help="vary payload and stiffness too")
    add("--out", type=file_path, metavar="FILE", help="write the arm with the plan's inputs")
    add_options(parser, "--plot", "--force", "--json")


def run(args: argparse.Namespace) -> int:
    """Plan, print the motion's properties, and write the arm."""
    from flexarm.io.model_file import save
    from flexarm.io.whole_file import write_figure
    from flexarm.planning.limits import Limits
    from flexarm.planning.plan import plan

    require_outputs(args, args.out, args.plot)
    named = [name for name, _ in args.to]
    if len(set(named)) < len(named):
        raise Misuse("--to: each joint once")
    limits = Limits(
        args.effort, args.speed, args.deflection, args.strain, args.base_force, args.base_torque
    )
    with warnings_in_a_line():
        motion = plan(
            read_arm(args), dict(args.to), aim=args.aim, duration=args.duration, limits=limits,
            intervals=args.intervals, joining=args.joining, tolerance=args.tolerance,
            atol=args.atol,
        )  # fmt: skip
    if args.out is not None:
        save(motion.arm, args.out, force=args.force)
    if args.plot is not None:
        write_figure(args.plot, motion.plot(), force=args.force)
    varied = {case.name: case.residual for case in motion.robustness} if args.robustness else {}
    if args.json:
        print_json({
            "aim": motion.aim, "duration": motion.duration, "times": motion.times.tolist(),
            "u": motion.u.tolist(), "residual": motion.residual,
            "residual_unshaped": motion.unshaped_residual, "tolerated": motion.tolerated,
            "miss": motion.miss,
            "margins": motion.margins, "robustness": varied, "cpu_seconds": motion.cpu_seconds,
        })  # fmt: skip
        return 0
    print(motion)
    for name, left in varied.items():
        print(f"  {name}: the tip moves by {1e3 * left:.3g} mm afterwards")
    return 0


def _place(text: str) -> tuple[str, float | str]:
    """Read ``JOINT=VALUE``, a number or a text with a unit."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError(
            f"must be JOINT=VALUE, such as joint1=0.5 or joint1='30 deg', got '{text}'"
        )
    try:
        return name, float(value)
    except ValueError:
        return name, value
