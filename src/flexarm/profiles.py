"""Values of the functions of time that an arm names, with their first two derivatives."""

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from flexarm.arm.profile import BangBang, Constant, Csv, Cycloid, Sine, SpinUp, Step, Table
from flexarm.errors import ModelError

AnyProfile = (
    Constant[float]
    | Step[float]
    | BangBang[float]
    | Sine[float]
    | Cycloid[float]
    | SpinUp[float]
    | Table[float]
    | Csv[float]
)
Values = tuple[float, float, float]


def evaluate(profile: AnyProfile, t: float) -> Values:
    """Evaluate a profile at a time [s]: value, rate and acceleration."""
    return _function(profile)(t)


def breakpoints(profile: AnyProfile) -> tuple[float, ...]:
    """List the times [s] at which a profile or a derivative of it jumps."""
    if isinstance(profile, Step):
        return (profile.time,)
    if isinstance(profile, BangBang):
        return profile.times
    if isinstance(profile, Cycloid):
        return (profile.begin, profile.begin + profile.duration)
    if isinstance(profile, SpinUp):
        return (0.0, profile.duration)
    if isinstance(profile, Table | Csv):
        times, _ = _columns(profile)
        return times if profile.interpolation != "cubic" else (times[0], times[-1])
    return ()


@lru_cache(maxsize=1000)
def _function(profile: AnyProfile) -> Callable[[float], Values]:
    if isinstance(profile, Constant):
        value = profile.value
        return lambda t: (value, 0.0, 0.0)
    if isinstance(profile, Step):
        step, before = profile, profile.before or 0.0
        return lambda t: (step.value if t >= step.time else before, 0.0, 0.0)
    if isinstance(profile, BangBang):
        return _bang_bang(profile)
    if isinstance(profile, Sine):
        return _sine(profile)
    if isinstance(profile, Cycloid):
        return _cycloid(profile)
    if isinstance(profile, SpinUp):
        return _spin_up(profile)
    return _table(profile)


def _bang_bang(profile: BangBang[float]) -> Callable[[float], Values]:
    times = np.array(profile.times)

    def at(t: float) -> Values:
        passed = int(np.searchsorted(times, t, side="right"))
        inside = 0 < passed < len(times)
        return (profile.amplitude * (-1) ** (passed - 1) if inside else 0.0, 0.0, 0.0)

    return at


def _sine(profile: Sine[float]) -> Callable[[float], Values]:
    rate, size, offset = 2 * math.pi * profile.frequency, profile.amplitude, profile.offset or 0.0

    def at(t: float) -> Values:
        s, c = math.sin(rate * t + profile.phase), math.cos(rate * t + profile.phase)
        return offset + size * s, size * rate * c, -size * rate**2 * s

    return at


def _cycloid(profile: Cycloid[float]) -> Callable[[float], Values]:
    change, span = profile.end - profile.start, profile.duration

    def at(t: float) -> Values:
        x = (t - profile.begin) / span
        if not 0 < x < 1:
            return (profile.start if x <= 0 else profile.end), 0.0, 0.0
        angle = 2 * math.pi * x
        return (
            profile.start + change * (x - math.sin(angle) / (2 * math.pi)),
            change / span * (1 - math.cos(angle)),
            change / span**2 * 2 * math.pi * math.sin(angle),
        )

    return at


def _spin_up(profile: SpinUp[float]) -> Callable[[float], Values]:
    rate, span = profile.rate, profile.duration

    def at(t: float) -> Values:
        if t <= 0:
            return 0.0, 0.0, 0.0
        if t >= span:
            return rate * (t - span / 2), rate, 0.0
        x, angle = t / span, 2 * math.pi * t / span
        value = rate * span * (x**2 / 2 + (math.cos(angle) - 1) / (2 * math.pi) ** 2)
        return (
            value,
            rate * (x - math.sin(angle) / (2 * math.pi)),
            rate / span * (1 - math.cos(angle)),
        )

    return at


def _table(profile: Table[float] | Csv[float]) -> Callable[[float], Values]:
    times, values = (np.array(column) for column in _columns(profile))
    if profile.interpolation == "cubic" and len(times) > 1:
        curve = CubicSpline(times, values)
        end_values = float(values[0]), float(values[-1])

        def smooth(t: float) -> Values:
            if t < times[0] or t > times[-1]:
                return end_values[int(t > times[-1])], 0.0, 0.0
            return float(curve(t)), float(curve(t, 1)), float(curve(t, 2))

        return smooth

    def at(t: float) -> Values:
        k = int(np.searchsorted(times, t, side="right")) - 1
        if profile.interpolation == "hold" or k < 0 or k >= len(times) - 1:
            return float(values[max(k, 0)]), 0.0, 0.0
        slope = float((values[k + 1] - values[k]) / (times[k + 1] - times[k]))
        return float(values[k]) + slope * (t - float(times[k])), slope, 0.0

    return at


def _columns(profile: Table[float] | Csv[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if isinstance(profile, Table):
        return profile.times, profile.values
    return _read_csv(profile.path, profile.time, profile.value)


def _read_csv(path: Path, time: str, value: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Read two named columns of a CSV file."""
    import csv

    rows: list[tuple[float, float]] = []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            header = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = header
            for name in (time, value):
                if name not in header:
                    raise ModelError(
                        f"{path}:1: no column '{name}': the columns are {', '.join(header)}"
                    )
            for row in reader:
                rows.append((_number(path, reader.line_num, row[time]),
                             _number(path, reader.line_num, row[value])))  # fmt: skip
                if len(rows) > 1 and rows[-1][0] <= rows[-2][0]:
                    raise ModelError(f"{path}:{reader.line_num}: times must increase")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not rows:
        raise ModelError(f"{path}: has no rows of numbers")
    return tuple(r[0] for r in rows), tuple(r[1] for r in rows)


def _number(path: Path, line: int, text: str | None) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(f"{path}:{line}: '{text}' is not a number")
    return number
