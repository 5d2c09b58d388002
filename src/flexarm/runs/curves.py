"""What a run's samples show: curves to look at, when they settle, cubics through them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from flexarm.arm.profile import Constant
from flexarm.errors import FlexarmError
from flexarm.links.base import Array
from flexarm.mechanics.deformed import tip_rows
from flexarm.mechanics.loads import wrench_list
from flexarm.model import Model, prescribed_profiles
from flexarm.model.profiles import AnyProfile, pieces
from flexarm.spatial import NEGLIGIBLE

PER_PERIOD = 20  # samples that show a vibration whole
# What half of the samples, with their rates, may be off at the others.  A vibration over the whole
# range has five samples per period then, and a curve through all of them with their rates is off by
# 0.3 %.
CURVES = 0.05
LINES = 0.01  # of a curve's range: what lines through the samples may be off
SHARE = 0.1  # of the largest range in a figure's panel: less is no range of its own
FEW = 5  # samples after a motion: fewer do not show whether the tip swings
LATE = 1 / 3  # of the time after a motion: what comes to rest within it was not seen to stay


@dataclass(frozen=True)
class Curves:
    """What is looked at: linear in the coordinates."""

    rows: Array  # coefficients, (R, n)
    names: tuple[str, ...]  # what each is
    # Those that are drawn beside each other have the same number, (R,).
    panel: npt.NDArray[np.int64]

    def scales(self, values: Array) -> Array:
        """Give the range that the errors of each curve count by, from its values (T, R)."""
        own = np.ptp(values, axis=0) if len(values) else np.zeros(len(self.names))
        largest = np.full(self.panel.max(initial=0) + 1, NEGLIGIBLE)
        np.maximum.at(largest, self.panel, own)
        return np.asarray(np.maximum(own, SHARE * largest[self.panel]))


@dataclass(frozen=True)
class Settling:
    """How an arm's tip comes to rest after a motion.

    Attributes
    ----------
    after
        When the motion is over [s].
    swing
        Half the largest range of the tip's coordinates from then on [m].
    band
        How close to its last place it is settled [m].
    time
        From when on it is that close [s]; None if it comes there too late to tell.
    """

    after: float
    swing: float
    band: float
    time: float | None

    def __str__(self) -> str:
        """Say it in a line."""
        band = f"within {1e3 * self.band:.3g} mm of its last place"
        said = f"{band} too late to tell from when on"
        if self.time is not None:
            at_once = self.time <= self.after
            said = f"at once {band}" if at_once else f"{band} from {self.time:.4g} s on"
        return (
            f"swings by {1e3 * self.swing:.3g} mm after the motion's end at {self.after:.4g} s, "
            f"and is {said}"
        )


def settling(t: Array, tip: Array, after: float, band: float) -> Settling:
    """Judge how a tip (T, 3) comes to rest; the band is a share of its way to its last place."""
    rest = t >= after - NEGLIGIBLE
    left = np.count_nonzero(rest)
    if left < FEW:
        raise FlexarmError(
            f"after: must leave {FEW} samples of the run to judge by, got {after:.6g} of a run to "
            f"{t[-1]:.6g} s, which leaves {left}: take a longer run, or a smaller dt"
        )
    away = np.linalg.norm(tip - tip[-1], axis=1)
    time = max(float(settling_time(t, away[None], band)[0]), after)
    late = time > t[-1] - LATE * (t[-1] - after)
    swing = float(np.ptp(tip[rest], axis=0).max() / 2)
    return Settling(after, swing, band * float(away.max()), None if late else time)


def settling_time(t: Array, x: Array, band: float) -> Array:
    """Find when curves (N, T) come within a band about their last value for good [s].

    The band is a share of the largest distance from that value.
    """
    away = np.abs(x - x[:, -1:])
    outside = away > band * away.max(axis=1, keepdims=True)
    after = x.shape[1] - np.argmax(outside[:, ::-1], axis=1)  # the first sample within for good
    return np.asarray(np.where(outside.any(axis=1), t[np.minimum(after, len(t) - 1)], t[0]))


def motion_end(model: Model, happened: Sequence[tuple[float, str]]) -> float:
    """Find when inputs, wrenches, targets, motions and paths of the model file are over [s].

    Parameters
    ----------
    model
        The arm.
    happened
        When and what happened in a run: of events their titles.

    Raises
    ------
    FlexarmError
        If one never is, or there is none.
    """
    ends = [t for t, _ in happened]
    moved = [model.names[i] for i in model.prescribed]
    for name, profile in zip(moved, prescribed_profiles(model), strict=True):
        ends += _ends(name, profile)
    follows, ties = _commands(model, happened)
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
        raise FlexarmError("after: must be given: the arm's file has no motion that ends")
    return float(max(ends))


def _ends(
    name: str, profile: AnyProfile | None, begin: float = 0.0, *, to_zero: bool = False
) -> list[float]:
    """Give the time [s] at which a profile is over, which it may have to be at 0; none if none."""
    if profile is None:
        return []
    rows = pieces(profile)
    if np.any(rows[-1, 3:7]) or (to_zero and rows[-1, 2]):
        raise FlexarmError(f"after: must be given, since {name} never stops")
    moves = np.any(rows[:, 3:7], axis=1) | (rows[:, 2] != rows[-1, 2])
    return [begin + float(t) for t in rows[np.flatnonzero(moves)[-1:] + 1, 0]]


def _commands(model: Model, happened: Sequence[tuple[float, str]]) -> tuple[dict[str, Any], ...]:
    """Find what events left: by joint a servo with a new target, by tie its path, and since when.

    Events of one title happen in the order of their times, those without after the others.
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
    """Split every interval between times into equal parts."""
    places = np.arange(parts * (len(times) - 1) + 1) / parts
    return np.interp(places, np.arange(len(times)), times)


def curves_of(model: Model, q: Array) -> Curves:
    """List joints, windups of elastic joints, base and deflections of links' tips at a start q."""
    unit = np.eye(model.size)
    found: list[tuple[int, str, Array]] = []
    if model.base_moves:
        found += [(0, "the base", unit[i]) for i in range(3)]
    for part in model.links:
        for axis in () if part.motion.anchored else part.axes:
            found.append((1 if axis.turns else 2, axis.name, unit[axis.index]))
            if axis.motor is not None:
                wound = unit[axis.motor] - unit[axis.index]
                found.append((3, f"the drive of {axis.name}", wound))
        rows = tip_rows(model, part.name, q)
        found += [(4, f"the deflection of {part.name}", row) for row in rows]
    return Curves(
        np.array([row for _, _, row in found]).reshape(-1, model.size),
        tuple(name for _, name, _ in found),
        np.array([panel for panel, _, _ in found], dtype=np.int64),
    )


def what_is_missed(model: Model, t: Array, q: Array, v: Array, remedy: str = "") -> str:
    """Say what moves faster than samples show, and what to do; empty if nothing does.

    Parameters
    ----------
    model
        The arm.
    t, q, v
        Times [s], (T,), coordinates and rates, (T, n).
    remedy
        What to do, if not to take samples that are so much closer.

    Notes
    -----
    From every second sample and its rates the others are predicted by a cubic.  The frequency of
    what cannot be predicted is the ratio of its rates to its values, both less the mean of their
    neighbours: that holds however few samples there are.
    """
    curves = curves_of(model, q[0])
    if len(t) < 3 or not len(curves.rows):
        return ""
    values, rates = q @ curves.rows.T, v @ curves.rows.T
    worst = off_cubics(t, values, rates) / curves.scales(values)
    k = int(np.argmax(worst))
    if worst[k] <= CURVES:
        return ""
    swings = [x[1:-1, k] - (x[:-2, k] + x[2:, k]) / 2 for x in (values, rates)]
    sizes = [float(np.linalg.norm(x)) for x in swings]
    if 0.0 in sizes:  # rates that are not those of the values
        return ""
    frequency = sizes[1] / sizes[0] / (2 * np.pi)
    return (
        f"{curves.names[k]} vibrates at about {frequency:.2g} Hz, faster than samples every "
        f"{np.median(np.diff(t)):.2g} s show: curves through them are not its motion; "
        f"{remedy or f'take a dt of {1 / (PER_PERIOD * frequency):.1g} s'}"
    )


def unseen(model: Model, t: Array, q: Array, v: Array) -> float:
    """Give what cubics through every second sample miss of curves, over their range: the most."""
    curves = curves_of(model, q[0])
    if len(t) < 3 or not len(curves.rows):
        return 0.0
    values, rates = q @ curves.rows.T, v @ curves.rows.T
    return float((off_cubics(t, values, rates) / curves.scales(values)).max())


def hermite(t0: Array, t1: Array, t: Array, y: Array, dy: Array) -> tuple[Array, Array]:
    """Evaluate cubics, and their rates, from values y and rates dy (2, T, n) at t0 and t1."""
    h = (t1 - t0)[:, None]
    x = (t - t0)[:, None] / h
    slope = (y[1] - y[0]) / h
    c2 = 3 * slope - 2 * dy[0] - dy[1]
    c3 = dy[0] + dy[1] - 2 * slope
    value = y[0] + h * x * (dy[0] + x * (c2 + x * c3))
    return np.asarray(value), np.asarray(dy[0] + x * (2 * c2 + 3 * x * c3))


def off_lines(t: Array, values: Array, kept: npt.NDArray[np.int_]) -> Array:
    """Find how far lines through kept samples are off the others, (R,)."""
    drawn = [np.interp(t, t[kept], column[kept]) for column in values.T]
    off = np.abs(np.array(drawn).reshape(values.shape[::-1]).T - values)
    return np.asarray(off.max(axis=0, initial=0.0))


def off_cubics(t: Array, values: Array, rates: Array) -> Array:
    """Find how far off samples are that cubics through both neighbours predict, (R,)."""
    ends = (np.stack([x[:-2], x[2:]]) for x in (values, rates))
    value, rate = hermite(t[:-2], t[2:], t[1:-1], *ends)
    apart = (t[2:] - t[:-2])[:, None] / 2
    off = np.maximum(np.abs(value - values[1:-1]), apart * np.abs(rate - rates[1:-1]))
    return np.asarray(off.max(axis=0, initial=0.0))
