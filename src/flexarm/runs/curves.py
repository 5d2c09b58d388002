"""Curves of a run over time: sampling errors, interpolation, and settling time of the tip."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from flexarm.arm.profile import Constant
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.mechanics.deformed import tip_rows
from flexarm.mechanics.loads import wrench_list
from flexarm.model import Model, prescribed_profiles
from flexarm.model.profiles import AnyProfile, pieces
from flexarm.runs.constants import (
    CUBIC_ERROR,
    LATE_SHARE,
    LEAST_CURVE_RANGE,
    SAMPLES_PER_PERIOD,
    SETTLING_SAMPLES,
)
from flexarm.spatial import Array


@dataclass(frozen=True)
class Curves:
    """Quantities drawn over time, as linear combinations of the coordinates."""

    rows: Array  # coefficients, (R, n)
    names: tuple[str, ...]  # name of each
    panel: npt.NDArray[np.int64]  # number of the panel that each is drawn in, (R,)

    def scales(self, values: Array) -> Array:
        """Return the reference size of each curve for relative errors, (R,), from values (T, R).

        It is the range of the curve, but at least a tenth of the largest range in the same panel.
        """
        own = np.ptp(values, axis=0) if len(values) else np.zeros(len(self.names))
        largest = np.full(self.panel.max(initial=0) + 1, NEGLIGIBLE)
        np.maximum.at(largest, self.panel, own)
        return np.asarray(np.maximum(own, LEAST_CURVE_RANGE * largest[self.panel]))


@dataclass(frozen=True)
class Settling:
    """Residual vibration of an arm's tip after a motion, and its settling times.

    Attributes
    ----------
    after
        End of the motion [s].
    swing
        Half the largest range of the tip's coordinates after the motion [m].
    band
        Distance from the tip's final place within which it counts as settled [m].
    time
        Time from which on the tip is settled [s]; None if that is too late to tell.
    times
        Settling times [s] for the bands ``5 % of the swing``, ``1 mm`` and ``0.1 mm``.
    """

    after: float
    swing: float
    band: float
    time: float | None
    times: dict[str, float | None]

    def __str__(self) -> str:
        """Return swing and settling times as one line of text."""
        shown = {name: t for name, t in self.times.items() if t is not None}
        late = [name for name in self.times if name not in shown]
        listed = [f"settles {', '.join(f'to {name} at {t:.4g} s' for name, t in shown.items())}"]
        listed = (listed if shown else []) + (
            [f"not within this run to {' or '.join(late)}"] if late else []
        )
        return (
            f"swings by {1e3 * self.swing:.3g} mm after the motion's end at {self.after:.4g} s; "
            f"{', '.join(listed)}"
        )


def settling(t: Array, tip: Array, after: float, band: float) -> Settling:
    """Return swing and settling times of a tip path (T, 3) after the time ``after`` [s].

    ``band`` is relative to the largest distance of the tip from its final place.
    """
    rest = t >= after - NEGLIGIBLE
    left = np.count_nonzero(rest)
    if left < SETTLING_SAMPLES:
        raise FlexarmError(
            f"after: must leave {SETTLING_SAMPLES} samples of the run, got {after:.6g} s of a run "
            f"to {t[-1]:.6g} s, which leaves {left}. Take a longer run, or a smaller dt."
        )
    away = np.linalg.norm(tip - tip[-1], axis=1)
    largest = max(float(away.max()), NEGLIGIBLE)
    swing = float(np.ptp(tip[rest], axis=0).max() / 2)
    latest = t[-1] - LATE_SHARE * (t[-1] - after)

    def settled(size: float) -> float | None:
        time = max(float(settling_time(t, away[None], size / largest)[0]), after)
        return None if time > latest else time

    bands = {"5 % of the swing": 0.05 * swing, "1 mm": 1e-3, "0.1 mm": 1e-4}
    times = {name: settled(width) for name, width in bands.items()}
    size = band * float(away.max())
    return Settling(after, swing, size, settled(size), times)


def settling_time(t: Array, x: Array, band: float) -> Array:
    """Return the time [s] after which curves (N, T) stay in a band about their last value, (N,).

    The band is relative to the largest deviation from the last value.
    """
    away = np.abs(x - x[:, -1:])
    outside = away > band * away.max(axis=1, keepdims=True)
    after = x.shape[1] - np.argmax(outside[:, ::-1], axis=1)  # the first sample within for good
    return np.asarray(np.where(outside.any(axis=1), t[np.minimum(after, len(t) - 1)], t[0]))


def motion_end(model: Model, happened: Sequence[tuple[float, str]]) -> float:
    """Return the time [s] at which all motions and loads that the model file prescribes are over.

    Parameters
    ----------
    model
        The arm.
    happened
        Time [s] and title of the events of a run.

    Raises
    ------
    FlexarmError
        If one of them never ends, or there is none.
    """
    ends = [t for t, _ in happened]
    moved = [model.names[i] for i in model.prescribed]
    for name, profile in zip(moved, prescribed_profiles(model), strict=True):
        ends += _ends(name, profile)
    follows, ties = _commands(model, happened) if happened else ({}, {})
    for axis in model.axes:
        begin, servo = follows.get(axis.name, (0.0, axis.acts.servo))
        rate = None if servo is None else servo.rate
        held = servo is not None and rate is None
        ends += _ends(axis.name, axis.acts.input, to_zero=not held)
        ends += _ends(axis.name, rate, begin, to_zero=True)
        ends += _ends(axis.name, servo.target if held else None, begin)
    for k, (_, wrench) in enumerate(wrench_list(model), 1):
        if not isinstance(wrench.factor, Constant):  # a load from the start on, as gravity is
            ends += _ends(f"wrench {k}", wrench.factor, to_zero=True)
    for name, (begin, path) in ties.items():
        for profile in path:
            ends += _ends(f"the path of {name}", profile, begin)
    if not ends:
        raise FlexarmError("after: must be given, since no motion in the arm's file ends")
    return float(max(ends))


def _ends(
    name: str, profile: AnyProfile | None, begin: float = 0.0, *, to_zero: bool = False
) -> list[float]:
    """Return the time [s] at which a profile ends, in a list; empty if it never changes.

    ``to_zero`` requires that the profile ends at 0.
    """
    if profile is None:
        return []
    rows = pieces(profile)
    if np.any(rows[-1, 3:7]) or (to_zero and rows[-1, 2]):
        raise FlexarmError(f"after: must be given, since the motion of {name} never ends")
    moves = np.any(rows[:, 3:7], axis=1) | (rows[:, 2] != rows[-1, 2])
    return [begin + float(t) for t in rows[np.flatnonzero(moves)[-1:] + 1, 0]]


def _commands(model: Model, happened: Sequence[tuple[float, str]]) -> tuple[dict[str, Any], ...]:
    """Return servos by joint and paths by tie that events set, each with its start time [s].

    An event of the run is matched with the event of the model file of the same title.
    """
    servos = {axis.name: axis.acts.servo for axis in model.axes}
    waiting = sorted(model.arm.events, key=lambda event: np.inf if event.at is None else event.at)
    follows: dict[str, Any] = {}
    ties: dict[str, Any] = {}
    for t, what in happened:
        titled = [event for event in waiting if event.title == what]
        due = [each for each in titled if each.at is not None and abs(each.at - t) <= NEGLIGIBLE]
        event = next(iter(due or [each for each in titled if each.at is None]), None)
        if event is None:  # a brake that slips, or friction
            continue
        waiting.remove(event)
        for name, changes in event.servo.items():
            servo = servos[name]
            if servo is not None and ("target" in changes or "rate" in changes):
                follows[name] = t, servo.changed(changes)
        ties.pop(event.detach or "", None)
        if event.attach is not None:
            ties[event.attach.name] = t, event.attach.path or ()
    return follows, ties


def split(times: Array, parts: int) -> Array:
    """Return times [s] with every interval divided into equal parts."""
    places = np.arange(parts * (len(times) - 1) + 1) / parts
    return np.interp(places, np.arange(len(times)), times)


def curves_of(model: Model, q: Array) -> Curves:
    """Return the curves of joints, drive wind-ups, base position and tip deflections."""
    unit = np.eye(model.size)
    listed: list[tuple[int, str, Array]] = []
    if model.base_moves:
        listed += [(0, "the base", unit[i]) for i in range(3)]
    for part in model.links:
        for axis in () if part.motion.anchored else part.axes:
            listed.append((1 if axis.turns else 2, axis.name, unit[axis.index]))
            if axis.motor is not None:
                wound = unit[axis.motor] - unit[axis.index]
                listed.append((3, f"the drive of {axis.name}", wound))
        rows = tip_rows(model, part.name, q)
        listed += [(4, f"the deflection of {part.name}", row) for row in rows]
    return Curves(
        np.array([row for _, _, row in listed]).reshape(-1, model.size),
        tuple(name for _, name, _ in listed),
        np.array([panel for panel, _, _ in listed], dtype=np.int64),
    )


def what_is_missed(model: Model, t: Array, q: Array, v: Array, remedy: str = "") -> str:
    """Return a sentence on a vibration that samples do not resolve; empty if there is none.

    Parameters
    ----------
    model
        The arm.
    t, q, v
        Times [s], (T,), coordinates and rates, (T, n).
    remedy
        Remedy to name in place of a smaller sampling interval.

    Notes
    -----
    Each sample is predicted by a cubic through its neighbours and their rates. The frequency of
    the unresolved vibration is the ratio of rates to values, both less the mean of their
    neighbours, which is valid for any sampling interval.
    """
    curves = curves_of(model, q[0])
    worst = prediction_errors(curves, t, q, v)
    k = int(np.argmax(worst))
    if worst[k] <= CUBIC_ERROR:
        return ""
    values, rates = q @ curves.rows.T, v @ curves.rows.T
    swings = [x[1:-1, k] - (x[:-2, k] + x[2:, k]) / 2 for x in (values, rates)]
    sizes = [float(np.linalg.norm(x)) for x in swings]
    if 0.0 in sizes:  # rates that are not those of the values
        return ""
    frequency = sizes[1] / sizes[0] / (2 * np.pi)
    return (
        f"{curves.names[k]} vibrates at about {frequency:.2g} Hz, faster than samples every "
        f"{np.median(np.diff(t)):.2g} s show: curves through them are not its motion; "
        f"{remedy or f'take a dt of {1 / (SAMPLES_PER_PERIOD * frequency):.1g} s'}"
    )


def prediction_errors(curves: Curves, t: Array, q: Array, v: Array) -> Array:
    """Return the relative error of samples predicted by cubics from their neighbours, per curve."""
    if len(t) < 3 or not len(curves.rows):
        return np.zeros(1)
    values, rates = q @ curves.rows.T, v @ curves.rows.T
    return np.asarray(off_cubics(t, values, rates) / curves.scales(values))


def hermite(t0: Array, t1: Array, t: Array, y: Array, dy: Array) -> tuple[Array, Array]:
    """Return values and rates (T, n) at times t of cubic Hermite polynomials.

    The cubics have values y and rates dy, (2, T, n), at the times t0 and t1, (T,) each.
    """
    h = (t1 - t0)[:, None]
    x = (t - t0)[:, None] / h
    slope = (y[1] - y[0]) / h
    c2 = 3 * slope - 2 * dy[0] - dy[1]
    c3 = dy[0] + dy[1] - 2 * slope
    value = y[0] + h * x * (dy[0] + x * (c2 + x * c3))
    return np.asarray(value), np.asarray(dy[0] + x * (2 * c2 + 3 * x * c3))


def off_lines(t: Array, values: Array, kept: npt.NDArray[np.int_]) -> Array:
    """Return the largest error of linear interpolation between kept samples, per curve, (R,)."""
    drawn = [np.interp(t, t[kept], column[kept]) for column in values.T]
    off = np.abs(np.array(drawn).reshape(values.shape[::-1]).T - values)
    return np.asarray(off.max(axis=0, initial=0.0))


def off_cubics(t: Array, values: Array, rates: Array) -> Array:
    """Return the largest error of samples predicted by cubics through both neighbours, (R,)."""
    ends = (np.stack([x[:-2], x[2:]]) for x in (values, rates))
    value, rate = hermite(t[:-2], t[2:], t[1:-1], *ends)
    apart = (t[2:] - t[:-2])[:, None] / 2
    off = np.maximum(np.abs(value - values[1:-1]), apart * np.abs(rate - rates[1:-1]))
    return np.asarray(off.max(axis=0, initial=0.0))


Reduction = Callable[[Array, Array, float], Array]


def overshoot(t: Array, x: Array, band: float) -> Array:
    """Return the overshoot of each curve beyond its last value, relative to its total change.

    ``x`` has shape (N, T); the result has shape (N,), NaN where the first and last values are
    equal.
    """
    way = x[:, -1] - x[:, 0]
    beyond = np.max(np.sign(way)[:, None] * (x - x[:, -1:]), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(way == 0, np.nan, beyond / np.abs(way)))


REDUCTIONS: dict[str, Reduction] = {
    "peak": lambda t, x, band: np.abs(x).max(axis=1),
    "max": lambda t, x, band: x.max(axis=1),
    "min": lambda t, x, band: x.min(axis=1),
    "range": lambda t, x, band: np.ptp(x, axis=1),
    "mean": lambda t, x, band: np.trapezoid(x, t, axis=1) / (t[-1] - t[0]),
    "rms": lambda t, x, band: np.sqrt(np.trapezoid(x**2, t, axis=1) / (t[-1] - t[0])),
    "integral": lambda t, x, band: np.asarray(np.trapezoid(x, t, axis=1)),
    "first": lambda t, x, band: x[:, 0],
    "last": lambda t, x, band: x[:, -1],
    "settling time": settling_time,
    "overshoot": overshoot,
}
