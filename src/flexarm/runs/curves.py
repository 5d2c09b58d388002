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
    names: tuple[str, ...]  # name of each curve
    panel: npt.NDArray[np.int64]  # panel in which each curve is drawn, (R,)

    def scales(self, values: Array) -> Array:
        """Return each curve's reference size for relative errors, (R,), from values (T, R).

        The reference size is the range of the curve, but at least a tenth of the largest range in
        the same panel.
        """
        ranges = np.ptp(values, axis=0) if len(values) else np.zeros(len(self.names))
        largest = np.full(self.panel.max(initial=0) + 1, NEGLIGIBLE)
        np.maximum.at(largest, self.panel, ranges)
        return np.asarray(np.maximum(ranges, LEAST_CURVE_RANGE * largest[self.panel]))


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
        Distance from the final position within which the tip counts as settled [m].
    time
        Time from which on the tip is settled [s]; None if too little of the run is left to confirm
        it.
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
        settled = {name: t for name, t in self.times.items() if t is not None}
        unsettled = [name for name in self.times if name not in settled]
        parts = [f"settles {', '.join(f'to {name} at {t:.4g} s' for name, t in settled.items())}"]
        parts = (parts if settled else []) + (
            [f"not within this run to {' or '.join(unsettled)}"] if unsettled else []
        )
        return (
            f"swings by {1e3 * self.swing:.3g} mm after the motion's end at {self.after:.4g} s; "
            f"{', '.join(parts)}"
        )


def settling(t: Array, tip: Array, after: float, band: float) -> Settling:
    """Return swing and settling times of a tip path (T, 3) after the time ``after`` [s].

    ``band`` is relative to the largest distance of the tip from its final place.
    """
    is_after = t >= after - NEGLIGIBLE
    count = np.count_nonzero(is_after)
    if count < SETTLING_SAMPLES:
        raise FlexarmError(
            f"after: must leave {SETTLING_SAMPLES} samples of the run, got {after:.6g} s of a run "
            f"to {t[-1]:.6g} s, which leaves {count}. Take a longer run, or a smaller dt."
        )
    distance = np.linalg.norm(tip - tip[-1], axis=1)
    largest = max(float(distance.max()), NEGLIGIBLE)
    swing = float(np.ptp(tip[is_after], axis=0).max() / 2)
    latest = t[-1] - LATE_SHARE * (t[-1] - after)

    def settled(band_width: float) -> float | None:
        time = max(float(settling_time(t, distance[None], band_width / largest)[0]), after)
        return None if time > latest else time

    bands = {"5 % of the swing": 0.05 * swing, "1 mm": 1e-3, "0.1 mm": 1e-4}
    times = {name: settled(width) for name, width in bands.items()}
    band_width = band * float(distance.max())
    return Settling(after, swing, band_width, settled(band_width), times)


def settling_time(t: Array, x: Array, band: float) -> Array:
    """Return the time [s] after which curves (N, T) stay in a band about their last value, (N,).

    The band is relative to the largest deviation from the last value.
    """
    deviation = np.abs(x - x[:, -1:])
    outside = deviation > band * deviation.max(axis=1, keepdims=True)
    # First sample after which x stays within the band.
    settled = x.shape[1] - np.argmax(outside[:, ::-1], axis=1)
    return np.asarray(np.where(outside.any(axis=1), t[np.minimum(settled, len(t) - 1)], t[0]))


def motion_end(model: Model, events: Sequence[tuple[float, str]]) -> float:
    """Return the time [s] at which all motions and loads of the model file have ended.

    Parameters
    ----------
    model
        The arm.
    events
        Time [s] and title of the events of a run.

    Raises
    ------
    FlexarmError
        If a motion or load never ends, or the arm has none.
    """
    ends = [t for t, _ in events]
    prescribed = [model.names[i] for i in model.prescribed]
    for name, profile in zip(prescribed, prescribed_profiles(model), strict=True):
        ends += _ends(name, profile)
    changed_servos, ties = _commands(model, events) if events else ({}, {})
    for axis in model.axes:
        begin, servo = changed_servos.get(axis.name, (0.0, axis.acts.servo))
        rate = None if servo is None else servo.rate
        has_target = servo is not None and rate is None
        ends += _ends(axis.name, axis.acts.input, to_zero=not has_target)
        ends += _ends(axis.name, rate, begin, to_zero=True)
        ends += _ends(axis.name, servo.target if has_target else None, begin)
    for k, wrench in enumerate(wrench_list(model), 1):
        if not isinstance(wrench.factor, Constant):  # constant loads act from the start
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
    """Return the time [s] at which a profile stops changing, in a list; empty if it never changes.

    ``to_zero`` requires that the profile ends at 0.
    """
    if profile is None:
        return []
    rows = pieces(profile)
    if np.any(rows[-1, 3:7]) or (to_zero and rows[-1, 2]):
        raise FlexarmError(f"after: must be given, since the motion of {name} never ends")
    changes = np.any(rows[:, 3:7], axis=1) | (rows[:, 2] != rows[-1, 2])
    return [begin + float(t) for t in rows[np.flatnonzero(changes)[-1:] + 1, 0]]


def _commands(model: Model, events: Sequence[tuple[float, str]]) -> tuple[dict[str, Any], ...]:
    """Return servos by joint and paths by tie that events set, each with its start time [s].

    An event of the run is matched with the event of the model file of the same title.
    """
    servos = {axis.name: axis.acts.servo for axis in model.axes}
    remaining = sorted(model.arm.events, key=lambda event: np.inf if event.at is None else event.at)
    changed_servos: dict[str, Any] = {}
    ties: dict[str, Any] = {}
    for t, title in events:
        same_title = [event for event in remaining if event.title == title]
        scheduled = [
            candidate
            for candidate in same_title
            if candidate.at is not None and abs(candidate.at - t) <= NEGLIGIBLE
        ]
        event = next(
            iter(scheduled or [candidate for candidate in same_title if candidate.at is None]), None
        )
        if event is None:  # slip of a brake or dry friction
            continue
        remaining.remove(event)
        for name, changes in event.servo.items():
            servo = servos[name]
            if servo is not None and ("target" in changes or "rate" in changes):
                changed_servos[name] = t, servo.changed(changes)
        ties.pop(event.detach or "", None)
        if event.attach is not None:
            ties[event.attach.name] = t, event.attach.path or ()
    return changed_servos, ties


def split(times: Array, parts: int) -> Array:
    """Return times [s] in which every interval is divided into equal parts."""
    positions = np.arange(parts * (len(times) - 1) + 1) / parts
    return np.interp(positions, np.arange(len(times)), times)


def curves_of(model: Model, q: Array) -> Curves:
    """Return the curves of joints, drive wind-ups, base position and tip deflections."""
    unit = np.eye(model.size)
    curves: list[tuple[int, str, Array]] = []
    if model.base_moves:
        curves += [(0, "the base", unit[i]) for i in range(3)]
    for part in model.links:
        for axis in () if part.motion.has_reference else part.axes:
            curves.append((1 if axis.turns else 2, axis.name, unit[axis.index]))
            if axis.motor is not None:
                wind_up = unit[axis.motor] - unit[axis.index]
                curves.append((3, f"the drive of {axis.name}", wind_up))
    for link in model.whole_links:
        rows = tip_rows(model, link, q)
        curves += [(4, f"the deflection of {link.name}", row) for row in rows]
    return Curves(
        np.array([row for _, _, row in curves]).reshape(-1, model.size),
        tuple(name for _, name, _ in curves),
        np.array([panel for panel, _, _ in curves], dtype=np.int64),
    )


def undersampling_note(model: Model, t: Array, q: Array, v: Array, remedy: str = "") -> str:
    """Return a sentence on a vibration that samples do not resolve; empty if there is none.

    Parameters
    ----------
    model
        The arm.
    t, q, v
        Times [s], (T,), coordinates and rates, (T, n).
    remedy
        Sentence with the remedy; if empty, a smaller sampling interval.

    Notes
    -----
    Each sample is predicted by a cubic through its neighbours and their rates. The frequency of
    the unresolved vibration is the ratio of rates to values, both less the mean of their
    neighbours, which is valid for any sampling interval.
    """
    curves = curves_of(model, q[0])
    if len(t) < 3 or not len(curves.rows):
        return ""
    values, rates = q @ curves.rows.T, v @ curves.rows.T
    errors = off_cubics(t, values, rates) / curves.scales(values)
    k = int(np.argmax(errors))
    if errors[k] <= CUBIC_ERROR:
        return ""
    alternations = [x[1:-1, k] - (x[:-2, k] + x[2:, k]) / 2 for x in (values, rates)]
    sizes = [float(np.linalg.norm(x)) for x in alternations]
    if 0.0 in sizes:  # the rates are inconsistent with the values
        return ""
    frequency = sizes[1] / sizes[0] / (2 * np.pi)
    return (
        f"{curves.names[k]} vibrates at about {frequency:.2g} Hz, which samples every "
        f"{np.median(np.diff(t)):.2g} s do not resolve. Curves through them are not the motion. "
        f"{remedy or f'Take a dt of {1 / (SAMPLES_PER_PERIOD * frequency):.1g} s.'}"
    )


def hermite(t0: Array, t1: Array, t: Array, y: Array, dy: Array) -> tuple[Array, Array]:
    """Evaluate cubic Hermite polynomials at times t: values and rates (T, n).

    The cubics have values y and rates dy, (2, T, n), at the times t0 and t1, (T,) each.
    """
    h = (t1 - t0)[:, None]
    x = (t - t0)[:, None] / h
    slope = (y[1] - y[0]) / h
    c2 = 3 * slope - 2 * dy[0] - dy[1]
    c3 = dy[0] + dy[1] - 2 * slope
    value = y[0] + h * x * (dy[0] + x * (c2 + x * c3))
    return np.asarray(value), np.asarray(dy[0] + x * (2 * c2 + 3 * x * c3))


def off_lines(t: Array, values: Array, rows: npt.NDArray[np.int_]) -> Array:
    """Return the largest error of straight lines between kept samples, per curve, (R,)."""
    interpolated = [np.interp(t, t[rows], column[rows]) for column in values.T]
    errors = np.abs(np.array(interpolated).reshape(values.shape[::-1]).T - values)
    return np.asarray(errors.max(axis=0, initial=0.0))


def off_cubics(t: Array, values: Array, rates: Array) -> Array:
    """Return the largest error of samples predicted by cubics from neighbours, per curve, (R,)."""
    ends = (np.stack([x[:-2], x[2:]]) for x in (values, rates))
    value, rate = hermite(t[:-2], t[2:], t[1:-1], *ends)
    half_step = (t[2:] - t[:-2])[:, None] / 2
    errors = np.maximum(np.abs(value - values[1:-1]), half_step * np.abs(rate - rates[1:-1]))
    return np.asarray(errors.max(axis=0, initial=0.0))


Reduction = Callable[[Array, Array, float], Array]


def overshoot(t: Array, x: Array, band: float) -> Array:
    """Return the overshoot of each curve beyond its last value, relative to its total change.

    ``x`` has shape (N, T); the result has shape (N,), NaN where the first and last values are
    equal.
    """
    change = x[:, -1] - x[:, 0]
    excess = np.max(np.sign(change)[:, None] * (x - x[:, -1:]), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(change == 0, np.nan, excess / np.abs(change)))


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
