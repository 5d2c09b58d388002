"""`flexarm export`: write an arm for other programs: C, FMI, CasADi or MATLAB."""

import argparse

from flexarm.cli.console import (
    ARM,
    Misuse,
    arg,
    file_path,
    print_json,
    read_arm,
    require_distinct,
    require_outputs,
)

SUMMARY = "write an arm for other programs: C, FMI, CasADi, MATLAB"
ARGUMENTS = (
    *ARM,
    arg(
        "--c", type=file_path, metavar="DIR",
        help="write C99 that needs nothing else: equations, linear model, integrators, an example",
    ),
    arg("--fmu", type=file_path, metavar="FILE", help="write a functional mock-up unit"),
    arg(
        "--fmi", choices=("2.0", "3.0"), default="2.0",
        help="version of the standard for --fmu (default 2.0)",
    ),
    arg(
        "--casadi", type=file_path, metavar="FILE",
        help="write a function (t, x, u) to (rate, y) that casadi.Function.load reads",
    ),
    arg(
        "--matlab", type=file_path, metavar="FILE",
        help="write A, B, C, D of the linear model about the equilibrium, with names (.mat)",
    ),
    "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Write the export files named by the options, and print their paths."""
    if not any((args.c, args.fmu, args.casadi, args.matlab)):
        raise Misuse(
            "no output is given. Give --c DIR, --fmu FILE, --casadi FILE or --matlab FILE."
        )
    require_distinct(args.c, args.fmu, args.casadi, args.matlab)
    require_outputs(args, args.fmu, args.casadi, args.matlab)
    from flexarm.exports.c_source import require_c_folder, write_c
    from flexarm.exports.plant import plant
    from flexarm.linear.state_space import linearise

    if args.c is not None:
        require_c_folder(args.c, force=args.force)
    arm = read_arm(args)
    written: dict[str, object] = {}
    if args.matlab is not None:
        linearise(arm).to_mat(args.matlab, force=args.force)
        written["matlab"] = str(args.matlab)
    if any((args.c, args.fmu, args.casadi)):
        exported_plant = plant(arm)
        for part in ("states", "inputs"):
            written[part] = [name for name, _ in getattr(exported_plant, part)]
    if args.casadi is not None:
        from flexarm.io.whole_file import write_whole

        write_whole(args.casadi, exported_plant.casadi_file(), force=args.force)
        written["casadi"] = str(args.casadi)
    if args.c is not None:
        written["c"] = [str(path) for path in write_c(exported_plant, args.c, force=args.force)]
    if args.fmu is not None:
        from flexarm.exports.fmu import write_fmu

        written["fmu"] = str(args.fmu)
        written["binary"] = write_fmu(exported_plant, args.fmu, fmi=args.fmi, force=args.force)
    if args.json:
        print_json(written)
    else:
        for key, value in written.items():
            print(f"{key}: {', '.join(value) if isinstance(value, list) else value}")
