"""Functions of time in the model file (profiles), with their first two derivatives."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.arm.profile import (
    BangBang,
    Constant,
    Csv,
    Cycloid,
    Profile,
    Sine,
    SpinUp,
    Step,
    Table,
    Trapezoid,
)
from flexarm.arm.side_files import SideFile
from flexarm.errors import ModelError
from flexarm.io.csv_table import read_number, read_rows
from flexarm.model.constants import MOST_PIECES, MOST_ROWS
from flexarm.spatial import Expr

AnyProfile = Profile[float]
Values = tuple[float, float, float]
X = TypeVar("X", float, npt.NDArray[np.float64], Expr)


def evaluate(profile: AnyProfile, t: float) -> Values:
    """Compute value, rate and acceleration of a profile at time t [s].

    At a jump of the profile, the value after the jump is returned.
    """
    rows = pieces(profile)
    _, origin, *piece = rows[int(np.searchsorted(rows[1:, 0], t, side="right"))].tolist()
    return _at(t - origin, piece, math.sin, math.cos)


def evaluate_at(profile: AnyProfile, times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Compute value, rate and acceleration of a profile at T times [s], shape (3, T)."""
    rows = pieces(profile)
    _, origin, *piece = rows[np.searchsorted(rows[1:, 0], times, side="right")].T
    return np.array(_at(times - origin, piece, np.sin, np.cos))


def trace(profile: AnyProfile, t: Expr, *, since: Expr | None = None) -> Expr:
    """Return value, rate and acceleration of a profile at time t [s] as expressions, (3,).

    The piece of the profile that is active at time ``since`` is extrapolated to t; None selects the
    piece active at t.
    """
    rows = pieces(profile)
    if len(rows) > MOST_PIECES:
        raise ModelError(
            f"the table has {len(rows):,} pieces, more than the {MOST_PIECES:,} that a control "
            "law can contain. Take fewer."
        )
    begins = ca.DM(rows[1:, 0])
    origin, *piece = (
        ca.SX(ca.DM(column[:1])) if np.all(column == column[0])
        else ca.pw_const(t if since is None else since, begins, ca.DM(column))
        for column in rows[:, 1:].T
    )  # fmt: skip
    return ca.vertcat(*_at(t - origin, piece, ca.sin, ca.cos))


def _at(x: X, piece: Sequence[X], sin: Callable[[X], X], cos: Callable[[X], X]) -> tuple[X, X, X]:
    """Return value, rate and acceleration of a piece of a profile at x [s] after its origin.

    The piece is given by its seven coefficients, in the order of `pieces`.
    """
    c0, c1, c2, c3, amplitude, rate, phase = piece
    s, c = amplitude * sin(rate * x + phase), amplitude * cos(rate * x + phase)
    return (
        c0 + x * (c1 + x * (c2 + x * c3)) + s,
        c1 + x * (2 * c2 + x * 3 * c3) + rate * c,
        2 * c2 + 6 * c3 * x - rate**2 * s,
    )


def breakpoints(profile: AnyProfile) -> tuple[float, ...]:
    """Return the times [s] at which a profile or one of its derivatives may jump."""
    return tuple(pieces(profile)[1:, 0].tolist())


def last_time(profile: AnyProfile) -> float:
    """Return the time [s] up to which a profile is defined.

    A profile is defined for all times, except an interpolated table whose last two values differ.
    """
    if isinstance(profile, Table | Csv) and profile.interpolation != "hold":
        times, values = _columns(profile)
        return math.inf if values[-2:-1] == values[-1:] else times[-1]
    return math.inf


@lru_cache(maxsize=1000)
def pieces(profile: AnyProfile) -> npt.NDArray[np.float64]:
    """Return the smooth pieces of a profile as rows of an array, (P, 9) for P pieces.

    The columns of this array are the time at which the piece begins, its time origin T, and the
    coefficients c0, c1, c2, c3, A, w, p of ``c0 + c1 x + c2 x^2 + c3 x^3 + A sin(w x + p)`` with
    ``x = t - T``. The first piece of a profile begins at minus infinity.
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
    elif isinstance(profile, Trapezoid):
        rows = _trapezoid(profile)
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
    travel, duration = profile.end - profile.start, profile.duration
    wave = (-travel / (2 * math.pi), 2 * math.pi / duration, 0.0)
    return [
        _piece(0.0, profile.start),
        _piece(profile.begin, profile.start, travel / duration, wave=wave),
        _piece(profile.begin + duration, profile.end),
    ]


def _trapezoid(profile: Trapezoid[float]) -> list[list[float]]:
    start, end, begin = profile.start, profile.end, profile.begin
    if start == end:
        return [_piece(0.0, start)]
    if profile.rate is not None and profile.acceleration is not None:
        # If the distance is too short to reach the rate, the motion accelerates over one half and
        # decelerates over the other.
        ramp_time = min(profile.rate, math.sqrt(abs(end - start) * profile.acceleration))
        ramp_time /= profile.acceleration
        duration = ramp_time + max(ramp_time, abs(end - start) / profile.rate)
    else:
        assert profile.duration is not None
        duration = profile.duration
        ramp_time = duration * (0.25 if profile.ramp is None else profile.ramp)
    rate = (end - start) / (duration - ramp_time)
    middle = (
        [_piece(begin + ramp_time, start + rate * ramp_time / 2, rate)]
        if duration - ramp_time > ramp_time
        else []
    )
    return [
        _piece(0.0, start),
        _piece(begin, start, 0.0, rate / ramp_time / 2),
        *middle,
        _piece(
            begin + duration - ramp_time, end - rate * ramp_time / 2, rate, -rate / ramp_time / 2
        ),
        _piece(begin + duration, end),
    ]


def _spin_up(profile: SpinUp[float]) -> list[list[float]]:
    rate, duration = profile.rate, profile.duration
    amplitude = rate * duration / (2 * math.pi) ** 2
    wave = (amplitude, 2 * math.pi / duration, math.pi / 2)
    return [
        _piece(0.0, 0.0),
        _piece(0.0, -amplitude, 0.0, rate / (2 * duration), wave=wave),
        _piece(duration, rate * duration / 2, rate),
    ]


def _table(profile: Table[float] | Csv[float]) -> list[list[float]]:
    times, values = _columns(profile)
    rows = [_piece(0.0, values[0])]
    if profile.interpolation == "cubic" and len(times) > 1:
        curve = cubic_spline(np.array(times), np.array(values)).T
        rows += [_piece(t, *c.tolist()) for t, c in zip(times, curve, strict=False)]
        return [*rows, _piece(times[-1], values[-1])]
    for k, (t, value) in enumerate(zip(times, values, strict=True)):
        slope = 0.0
        if profile.interpolation != "hold" and k < len(times) - 1:
            slope = (values[k + 1] - value) / (times[k + 1] - t)
        rows.append(_piece(t, value, slope))
    return rows


def cubic_spline(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Interpolate points x, shape (T,), and y, shape (T, ...), by a not-a-knot cubic spline.

    Returns
    -------
    ndarray
        Polynomial coefficients, shape (4, T - 1, ...), by ascending powers of the distance from the
        left end of each interval.
    """
    # Imported here, since it takes half a second and few profiles need it.
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(x, y).c[::-1])


def _columns(profile: Table[float] | Csv[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if isinstance(profile, Table):
        return profile.times, profile.values
    return _read_csv(profile.side_file, profile.time, profile.value)


def _read_csv(file: SideFile, time: str, value: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the columns named ``time`` and ``value`` of a CSV file, as two tuples of numbers."""
    rows = read_rows(file)
    line, header = next(rows, (1, []))
    names = [name for _, name in header]
    columns = [_column(f"{file.path}:{line}", names, name) for name in (time, value)]
    times: list[float] = []
    values: list[float] = []
    for line, cells in rows:
        place = f"{file.path}:{line}"
        if len(cells) != len(names):
            raise ModelError(
                f"{place}: must have {len(names)} cells like the header, got "
                f"{len(cells)}. Numbers have a decimal point, never a comma."
            )
        t, x = (_number(place, cells[k]) for k in columns)
        if times and t <= times[-1]:
            raise ModelError(f"{place}: times must increase from row to row")
        times.append(t)
        values.append(x)
        if len(times) > MOST_ROWS:
            raise ModelError(
                f"{place}: the table has more than {MOST_ROWS:,} rows. Take fewer samples."
            )
    if not times:
        raise ModelError(f"{file.path}: has no rows of numbers")
    return tuple(times), tuple(values)


def _column(place: str, names: list[str], name: str) -> int:
    """Return the index of the column with a name; raise an error unless it occurs exactly once."""
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        raise ModelError(f"{place}: the column '{name}' is there twice. Keep one, or rename it.")
    raise ModelError(
        f"{place}: there is no column '{name}' among {len(names)} columns. The first line names "
        "the columns; 'time' and 'value' in the model file choose two of them."
    )


def _number(place: str, cell: tuple[int, str]) -> float:
    column, text = cell
    number = read_number(text)
    if math.isnan(number):
        raise ModelError(f"{place}:{column}: is not a number. Write it like 0.5 or 1.2e-3.")
    return number
