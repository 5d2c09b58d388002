"""Values of the functions of time that an arm names, with their first two derivatives."""

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

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
    """Evaluate a profile at a time [s]: value, rate and acceleration.

    At a jump it is the value from then on.
    """
    rows = pieces(profile)
    _, origin, c0, c1, c2, c3, size, rate, phase = rows[
        int(np.searchsorted(rows[1:, 0], t, side="right"))
    ].tolist()
    x = t - origin
    s, c = size * math.sin(rate * x + phase), size * math.cos(rate * x + phase)
    return (
        c0 + x * (c1 + x * (c2 + x * c3)) + s,
        c1 + x * (2 * c2 + x * 3 * c3) + rate * c,
        2 * c2 + 6 * c3 * x - rate**2 * s,
    )


def breakpoints(profile: AnyProfile) -> tuple[float, ...]:
    """List the times [s] at which a profile or a derivative of it jumps."""
    return tuple(pieces(profile)[1:, 0].tolist())


def last_time(profile: AnyProfile) -> float:
    """Give the time [s] from which on a profile says nothing more; infinite for most."""
    if isinstance(profile, Table | Csv) and profile.interpolation != "hold":
        return _columns(profile)[0][-1]
    return math.inf


@lru_cache(maxsize=1000)
def pieces(profile: AnyProfile) -> npt.NDArray[np.float64]:
    """Cut a profile into smooth pieces, (P, 9).

    A row holds the time from which on it is in force, an origin of time T, and c0, c1, c2, c3, A,
    w, p of ``c0 + c1 x + c2 x^2 + c3 x^3 + A sin(w x + p)`` with ``x = t - T``.  The first is in
    force from minus infinity.
    """
    if isinstance(profile, Constant):
        rows = [_piece(0.0, profile.value)]
    elif isinstance(profile, Step):
        rows = [_piece(0.0, profile.before or 0.0), _piece(profile.time, profile.value)]
    elif isinstance(profile, BangBang):
        signs = [(-1) ** k * profile.amplitude for k in range(len(profile.times) - 1)]
        rows = [_piece(0.0, 0.0)]
        rows += [_piece(t, value) for t, value in zip(profile.times, [*signs, 0.0], strict=True)]
    elif isinstance(profile, Sine):
        wave = (profile.amplitude, 2 * math.pi * profile.frequency, profile.phase)
        rows = [_piece(0.0, profile.offset or 0.0, wave=wave)]
    elif isinstance(profile, Cycloid):
        rows = _cycloid(profile)
    elif isinstance(profile, SpinUp):
        rows = _spin_up(profile)
    else:
        rows = _table(profile)
    result = np.array(rows)
    result[0, 0] = -math.inf
    result.flags.writeable = False
    return result


def _piece(
    begin: float,
    c0: float,
    c1: float = 0.0,
    c2: float = 0.0,
    c3: float = 0.0,
    *,
    wave: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> list[float]:
    return [begin, begin, c0, c1, c2, c3, *wave]


def _cycloid(profile: Cycloid[float]) -> list[list[float]]:
    change, span = profile.end - profile.start, profile.duration
    wave = (-change / (2 * math.pi), 2 * math.pi / span, 0.0)
    return [
        _piece(0.0, profile.start),
        _piece(profile.begin, profile.start, change / span, wave=wave),
        _piece(profile.begin + span, profile.end),
    ]


def _spin_up(profile: SpinUp[float]) -> list[list[float]]:
    rate, span = profile.rate, profile.duration
    size = rate * span / (2 * math.pi) ** 2
    wave = (size, 2 * math.pi / span, math.pi / 2)
    return [
        _piece(0.0, 0.0),
        _piece(0.0, -size, 0.0, rate / (2 * span), wave=wave),
        _piece(span, rate * span / 2, rate),
    ]


def _table(profile: Table[float] | Csv[float]) -> list[list[float]]:
    times, values = _columns(profile)
    rows = [_piece(0.0, values[0])]
    if profile.interpolation == "cubic" and len(times) > 1:
        from scipy.interpolate import CubicSpline

        curve = CubicSpline(times, values).c[::-1].T
        rows += [_piece(t, *c.tolist()) for t, c in zip(times, curve, strict=False)]
        return [*rows, _piece(times[-1], values[-1])]
    for k, (t, value) in enumerate(zip(times, values, strict=True)):
        slope = 0.0
        if profile.interpolation != "hold" and k < len(times) - 1:
            slope = (values[k + 1] - value) / (times[k + 1] - t)
        rows.append(_piece(t, value, slope))
    return rows


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
