"""`flexarm identify`: fit numbers of a model file to measured runs."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flexarm.cli.arguments import (
    Misuse,
    add_arm,
    add_options,
    file_path,
    read_arm,
    require_figure,
    require_outputs,
    seconds,
)
from flexarm.cli.console import finite, progress, warnings_in_a_line

if TYPE_CHECKING:
    from flexarm.fitting.sensor import Sensor

SUMMARY = "fit numbers of a model file to measured runs"
Pairs = list[tuple[str, str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `flexarm identify`."""
    add_arm(parser)
    add = parser.add_argument
    add(
        "data",
        nargs="+",
        type=file_path,
        metavar="DATA",
        help="measured runs: .csv, .npz, .mat or .parquet, columns with names and units",
    )
    add(
        "--fit",
        nargs="+",
        action="extend",
        required=True,
        metavar="KEY[=LOW:HIGH]",
        help="numbers of the model file, such as links.1.joint.friction.viscous; with bounds",
    )
    add(
        "--output",
        nargs="+",
        action="extend",
        required=True,
        type=_pair,
        metavar="COLUMN=READS",
        help="what a column measures: joint1, joint1.rate, joint1.current, tip.x, "
        "'link1 strain y at 0'",
    )
    for option, metavar, of, about in (
        ("--input", "JOINT=COLUMN", _pair,
         "column with a joint's measured input; else that of the model file"),
        ("--adjust", "COLUMN=gain,...", _pair, "fit gain, offset, delay, lag of a sensor too"),
        ("--poles", "COLUMN=N", _pair, "order of the low-pass filter whose lag is fitted"),
        ("--noise", "COLUMN=STD", _pair,
         "standard deviation of a sensor's errors in SI units (default: from what is left)"),
        ("--valid", "COLUMN=FROM:TO", _pair, "times [s] in which a sensor is to be believed"),
        ("--input-offset", "JOINT", str, "fit an offset of a joint's input"),
        ("--predict", "DATA", file_path, "other measured runs, to judge the fitted model by"),
    ):  # fmt: skip
        add(option, nargs="+", action="extend", default=[], type=of, metavar=metavar, help=about)
    add(
        "--start",
        choices=("model", "measured"),
        default="model",
        help="begin as the model file says (default), or joints where they are measured first",
    )
    add(
        "--horizon",
        type=seconds,
        metavar="T",
        help="fit pieces of this length [s] first, each from its measured state",
    )
    add(
        "--loss",
        choices=("linear", "soft_l1", "huber", "cauchy"),
        default="linear",
        help="how errors count; all but linear let outliers count less",
    )
    add("--step", type=seconds, metavar="H", help="step of the runs [s] (default: by fastest mode)")
    add("--most", type=int, default=100, metavar="N", help="evaluations of a search, at most")
    add("--suggest", action="store_true", help="say which inputs would tell what is left open")
    add("-o", "--out", type=file_path, metavar="FILE", help="write the fitted model file")
    add("--report", type=file_path, metavar="FILE", help="write a page with tables and pictures")
    add_options(parser, "--formulation", "--plot", "--force", "--json")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Fit, print what was found, and write what is asked for."""
    from flexarm.fitting.identify import identify
    from flexarm.fitting.problem import read_recordings
    from flexarm.io.whole_file import write_figure

    require_figure(args.plot)
    require_outputs(args, args.out, args.report, args.plot)
    arm, outputs, inputs = read_arm(args), _sensors(args), _once("input", args.input)
    if args.predict:
        read_recordings(args.predict)  # what cannot be read is told before the fit
    with progress() as tell, warnings_in_a_line():
        fit = identify(
            arm,
            args.data,
            fit=_fitted(args.fit),
            outputs=outputs,
            inputs=inputs,
            input_offsets=args.input_offset,
            start=args.start,
            horizon=args.horizon,
            loss=args.loss,
            step=args.step,
            formulation=args.formulation,
            most_evaluations=args.most,
            progress=tell,
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
        found: dict[str, Any] = fit.to_dict()
        found["predicted"] = [asdict(each) for each in predicted]
        found["suggested"] = [asdict(each) for each in suggested]
        print(json.dumps(finite(found)))
        return 0
    print(fit)
    for each in predicted:
        print(f"Predicted, {each.run}: {each.sensor}: {each.error:.3g} of its standard deviation")
    for trial in suggested:
        print(f"Would tell more: {trial.words()}")
    if args.out is None:
        print("Nothing was written: --out FILE writes the fitted model file.", file=sys.stderr)
    return 0


def _fitted(texts: list[str]) -> dict[str, tuple[float, float] | None]:
    pairs = [text.partition("=") for text in texts]
    _once("fit", [(key, bounds) for key, _, bounds in pairs])
    return {
        key: _range("--fit", f"{key}={bounds}", bounds) if sign else None
        for key, sign, bounds in pairs
    }


def _sensors(args: argparse.Namespace) -> "dict[str, Sensor]":
    from flexarm.fitting.sensor import ADJUSTED, Sensor

    known = _once("output", args.output)
    options = ("adjust", "poles", "noise", "valid")
    given = {option: _once(option, getattr(args, option)) for option in options}
    for option, columns in given.items():
        for column in columns:
            if column not in known:
                raise Misuse(f"--{option}: no output '{column}': there are {', '.join(known)}")
    adjust = {column: _asked(text.split(",")) for column, text in given["adjust"].items()}
    poles = {column: _count("--poles", text) for column, text in given["poles"].items()}
    for column in poles:
        if "lag" not in adjust.get(column, []):
            raise Misuse(f"--poles: {column} has no filter: fit its lag, --adjust {column}=lag")
    noise = {column: _number("--noise", text) for column, text in given["noise"].items()}
    valid = {column: _range("--valid", text, text) for column, text in given["valid"].items()}
    return {
        column: Sensor(reads, fit=tuple(e for e in ADJUSTED if e in adjust.get(column, [])),
                       noise=noise.get(column), valid=valid.get(column),
                       poles=poles.get(column, 1))
        for column, reads in known.items()
    }  # fmt: skip


def _once(option: str, pairs: Pairs) -> dict[str, str]:
    """Take values by name, and refuse a name that is given twice."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            remedy = f"{name}={found[name]},{value}" if option == "adjust" else "give it once"
            too = f", got '{value}' too" if value else ""
            raise Misuse(f"--{option}: {name} is given twice{too}: {remedy}")
        found[name] = value
    return found


def _asked(words: list[str]) -> list[str]:
    for word in words:
        if word not in ("gain", "offset", "delay", "lag"):
            raise Misuse(f"--adjust: must be gain, offset, delay or lag, got '{word}'")
    return words


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got '{text}'")
    return name, value


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Misuse(f"{option}: must be a number, got '{text}'") from None


def _count(option: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise Misuse(f"{option}: must be a whole number >= 1, got '{text}'")
    return int(text)


def _range(option: str, text: str, ends: str) -> tuple[float, float]:
    low, _, high = ends.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise Misuse(f"{option}: must be LOW:HIGH, got '{text}'") from None
