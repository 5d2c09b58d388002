"""`flexarm identify`: fit parameters of a model file to measured runs."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flexarm.cli.console import (
    ARM,
    Argument,
    Misuse,
    arg,
    file_path,
    given,
    named,
    once,
    print_json,
    progress,
    read_arm,
    require_outputs,
    seconds,
    warnings_in_a_line,
    whole_number,
)

if TYPE_CHECKING:
    from flexarm.fitting.recording import Sensor

SUMMARY = "fit numbers of a model file to measured runs"


def _adjusted(text: str) -> list[str]:
    words = text.split(",")
    for word in words:
        if word not in ("gain", "offset", "delay", "lag"):
            raise argparse.ArgumentTypeError(
                f"a sensor has gain, offset, delay and lag to be fitted, but no '{word}'"
            )
    return words


def _range(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    return float(low), float(high)


def _repeated(flag: str, form: str, read: Callable[[str], Any], about: str) -> Argument:
    """Return a repeatable command-line argument of one or more ``NAME=VALUE`` texts."""
    return arg(
        flag, nargs="+", action="extend", default=[], type=named(form, read), metavar=form,
        help=about,
    )  # fmt: skip


ARGUMENTS = (
    *ARM,
    arg(
        "data",
        nargs="+",
        type=file_path,
        metavar="DATA",
        help="measured runs: .csv, .npz, .mat or .parquet, columns with names and units",
    ),
    arg(
        "--fit",
        nargs="+",
        action="extend",
        required=True,
        type=named("KEY[=LOW:HIGH]", _range, optional=True),
        metavar="KEY[=LOW:HIGH]",
        help="numbers of the model file, such as links.1.joint.friction.viscous; with bounds",
    ),
    arg(
        "--output",
        nargs="+",
        action="extend",
        required=True,
        type=named("COLUMN=READS"),
        metavar="COLUMN=READS",
        help="what a column measures: joint1, joint1.rate, joint1.current, tip.x, "
        "'link1 strain y at 0'",
    ),
    _repeated("--input", "JOINT=COLUMN", str,
              "column with a joint's measured input; else that of the model file"),
    _repeated("--adjust", "COLUMN=gain,...", _adjusted,
              "fit also a sensor's gain, offset, delay or lag"),
    _repeated("--poles", "COLUMN=N", whole_number,
              "order of the low-pass filter whose lag is fitted"),
    _repeated("--noise", "COLUMN=STD", float,
              "standard deviation of a sensor's errors in SI units (default: from the residuals)"),
    _repeated("--valid", "COLUMN=FROM:TO", _range,
              "times [s] between which the readings of a sensor count"),
    arg("--input-offset", nargs="+", action="extend", default=[], metavar="JOINT",
        help="fit an offset of a joint's input"),
    arg("--input-delay", nargs="+", action="extend", default=[], metavar="JOINT",
        help="fit a delay of a joint's input"),
    _repeated("--interpolation", "JOINT=hold|linear|cubic", str,
              "how a measured input is interpolated between samples (default linear)"),
    arg("--predict", nargs="+", action="extend", default=[], type=file_path, metavar="DATA",
        help="other measured runs, on which the fitted model is tested"),
    arg(
        "--start",
        choices=("model", "measured", "estimated"),
        help=(
            "start as the model file says (default), with joints at their first measured "
            "positions, or in the state that the first readings suggest"
        ),
    ),
    arg(
        "--horizon",
        type=seconds,
        metavar="T",
        help="fit pieces of this length [s] first, each from its measured state",
    ),
    _repeated("--prior", "KEY=STD", float,
              "standard deviation of a number about the file's value (default: a factor of two)"),
    arg("--starts", type=int, metavar="N", help="searches from N starts (default 1)"),
    arg("--windows", type=int, metavar="N",
        help="cross-validation: predict each of N windows from the others"),
    arg(
        "--loss",
        choices=("linear", "soft_l1", "huber", "cauchy"),
        help="how errors count; all but linear (default) let outliers count less",
    ),
    arg("--step", type=seconds, metavar="H",
        help="step of the runs [s] (default: by fastest mode)"),
    arg("--most", type=int, dest="most_evaluations", metavar="N",
        help="evaluations of a search, at most (default 100)"),
    arg("--suggest", action="store_true", help=(
        "suggest inputs that would determine the numbers which the data "
        "leave uncertain"
    )),
    arg("-o", "--out", type=file_path, metavar="FILE", help="write the fitted model file"),
    arg("--report", type=file_path, metavar="FILE", help="write a page with tables and pictures"),
    "--formulation", "--plot", "--force", "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Fit the model to measured runs, print the estimates, and write the requested files."""
    from flexarm.fitting.identify import identify
    from flexarm.fitting.problem import read_recordings
    from flexarm.io.whole_file import write_figure

    require_outputs(args, args.out, args.report, args.plot)
    arm, outputs, inputs = read_arm(args), _sensors(args), once("--input", args.input)
    if args.predict:
        read_recordings(args.predict)  # unreadable files raise errors before the fit
    with progress() as tell, warnings_in_a_line():
        fit = identify(
            arm,
            args.data,
            fit=once("--fit", args.fit),
            outputs=outputs,
            inputs=inputs,
            input_offsets=args.input_offset,
            input_delays=args.input_delay,
            priors=once("--prior", args.prior),
            interpolation=once("--interpolation", args.interpolation),
            progress=tell,
            **given(
                args,
                "start",
                "horizon",
                "loss",
                "starts",
                "windows",
                "step",
                "formulation",
                "most_evaluations",
            ),
        )
    predicted = fit.predict(args.predict) if args.predict else ()
    suggested = fit.excitation()[:3] if args.suggest else ()
    if args.out is not None:
        fit.save(args.out, force=args.force)
    if args.report is not None:
        fit.report(args.report, force=args.force)
    if args.plot is not None:
        write_figure(args.plot, fit.plot(), force=args.force)
    if args.json:
        print_json({
            **fit.to_dict(),
            "predicted": [asdict(prediction) for prediction in predicted],
            "suggested": [asdict(trial) for trial in suggested],
        })  # fmt: skip
        return
    print(fit)
    for test in predicted:
        print(f"Predicted, {test.run}: {test.sensor}: {test.error:.3g} of its standard deviation")
    for trial in suggested:
        print(f"Suggested input: {trial.words()}")
    if args.out is None:
        print("Nothing was written. --out FILE writes the fitted model file.", file=sys.stderr)


def _sensors(args: argparse.Namespace) -> "dict[str, Sensor]":
    from flexarm.fitting.recording import ADJUSTED, Sensor

    outputs = once("--output", args.output)
    options = ("adjust", "poles", "noise", "valid")
    columns = {option: once(f"--{option}", getattr(args, option)) for option in options}
    for option, values in columns.items():
        for column in values:
            if column not in outputs:
                raise Misuse(
                    f"--{option}: there is no output '{column}'. The outputs are "
                    f"{', '.join(outputs)}."
                )
    adjust, poles, noise, valid = columns.values()
    for column in poles:
        if "lag" not in adjust.get(column, []):
            raise Misuse(
                f"--poles: {column} has no low-pass filter whose poles could be counted. Fit "
                f"its lag by --adjust {column}=lag."
            )
    return {
        column: Sensor(reads, fit=tuple(e for e in ADJUSTED if e in adjust.get(column, [])),
                       noise=noise.get(column), valid=valid.get(column),
                       poles=poles.get(column, 1))
        for column, reads in outputs.items()
    }  # fmt: skip
