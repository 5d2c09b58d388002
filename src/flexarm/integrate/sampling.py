"""The samples of a run: how many show what moved, what they miss, and what lies between them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.integrate.problem import tip_rows
from flexarm.integrate.solve import Solution
from flexarm.kinematics import end_frame
from flexarm.links.base import Array
from flexarm.model import Model

if TYPE_CHECKING:
    from flexarm.integrate.run import Run

SAMPLES = 500  # intervals of a run whose interval nobody chose, at least
MOST_PARTS = 8  # that each of them is split into, where something vibrates in between
PER_PERIOD = 20  # samples that show a vibration whole
LINES = 0.01  # of a curve's range: what lines through the samples may be off
# What half of the samples, with their rates, may be off at the others.  A vibration over the whole
# range has five samples per period then, and a curve through all of them with their rates is off by
# 0.3 %.
CURVES = 0.05
SHARE = 0.1  # of the largest range in a figure's panel: less is no range of its own
STILL = 1e-9  # of a length or an angle: less is rounding
ARRAYS = ("t", "q", "v", "u", "tip", "tip_rotation", "energy", "works", "anchors")
DRAWN = 8000  # samples that a figure or a page shows, at most


@dataclass(frozen=True)
class Curves:
    """What is looked at: linear in the coordinates.

    Attributes
    ----------
    rows
        Coefficients, (R, n).
    names
        What each is.
    panel
        Those that are drawn beside each other have the same number, (R,).
    """

    rows: Array
    names: tuple[str, ...]
    panel: npt.NDArray[np.int64]

    def scales(self, values: Array) -> Array:
        """Give the range that the errors of each curve count by, from its values (T, R)."""
        own = np.ptp(values, axis=0) if len(values) else np.zeros(len(self.names))
        largest = np.full(self.panel.max(initial=0) + 1, STILL)
        np.maximum.at(largest, self.panel, own)
        return np.asarray(np.maximum(own, SHARE * largest[self.panel]))


def sample_times(t_end: float, dt: float | None) -> Array:
    """List the times to keep: every dt from 0 on, and the end."""
    if dt is None:
        return np.linspace(0.0, t_end, SAMPLES + 1)
    times = dt * np.arange(np.floor(t_end / dt * (1 + 1e-12)) + 1)
    if t_end - times[-1] > 1e-9 * dt:
        return np.append(times, t_end)
    times[-1] = t_end
    return times


def parts_for(fastest: float, interval: float, least: float = 0.0) -> int:
    """Choose into how many parts to split an interval [s] while it is not known what will vibrate.

    Parameters
    ----------
    fastest
        Frequency of the fastest mode [rad/s].
    interval
        The interval [s].
    least
        No part may be smaller [s].

    Returns
    -------
    int
        A power of 2, `MOST_PARTS` at most.
    """
    wanted = PER_PERIOD * fastest * interval / (2 * np.pi)
    parts = 1
    while parts < min(wanted, MOST_PARTS) and interval / (2 * parts) >= least:
        parts *= 2
    return parts


def split(times: Array, parts: int) -> Array:
    """Split every interval between times into equal parts."""
    places = np.arange(parts * (len(times) - 1) + 1) / parts
    return np.interp(places, np.arange(len(times)), times)


def thin(solution: Solution, parts: int, curves: Curves) -> Solution:
    """Keep as many samples of intervals split into parts as it takes to draw the curves by lines.

    A solution that goes on keeps those at the intervals' ends.
    """
    if parts == 1:
        return solution
    last = len(solution.times) - 1
    if solution.ending.status == "running":
        return _pick(solution, np.arange(0, last + 1, parts))
    n = curves.rows.shape[1]
    values, rates = (x @ curves.rows.T for x in np.split(solution.states, [n, 2 * n], axis=1)[:2])
    scales = curves.scales(values)
    if np.any(_off_cubics(solution.times, values, rates) > CURVES * scales):
        return solution
    for stride in 2 ** np.arange(parts.bit_length() - 1, 0, -1):
        kept = np.unique([*range(0, last + 1, stride), last])
        if np.all(_off_lines(solution.times, values, kept) <= LINES * scales):
            return _pick(solution, kept)
    return solution


def curves_of(model: Model, q: Array) -> Curves:
    """List joints, windups of elastic joints, base and deflections of links' tips at a start q."""
    unit = np.eye(model.size)
    found: list[tuple[int, str, Array]] = []
    if model.base_moves:
        found += [(0, "the base", unit[i]) for i in range(3)]
    for part in model.links:
        if part.joint is not None:
            found.append((1 if part.motion.turns else 2, part.joint_name, unit[part.joint]))
        if part.motor is not None and part.joint is not None:
            wound = unit[part.motor] - unit[part.joint]
            found.append((3, f"the drive of {part.joint_name}", wound))
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
    worst = _off_cubics(t, values, rates) / curves.scales(values)
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


def fill_in(run: "Run") -> "Run":
    """Put as many samples between those of a run as it takes to draw it by lines, if they show it.

    Coordinates and rates follow the cubics that samples and their rates fix, the tip follows them;
    inputs, energies and works are interpolated linearly.
    """
    curves = curves_of(run.model, run.q[0])
    values, bends = run.q @ curves.rows.T, np.abs(np.diff(run.v @ curves.rows.T, axis=0))
    off = np.diff(run.t)[:, None] * bends / 8 / curves.scales(values)
    most = max(DRAWN // len(run.t), 1)
    parts = min(int(np.ceil(np.sqrt(off.max(initial=0.0) / LINES))), most)
    if parts < 2 or run.missed:
        return run
    t = split(run.t, parts)
    before = np.minimum(np.arange(len(t)) // parts, len(run.t) - 2)
    q, v = _between(run, t, before)
    q[::parts], v[::parts] = run.q, run.v
    anchors = run.anchors[np.arange(len(t)) // parts]
    tip_rotation, tip = _tips(run.model, q, anchors)

    def on_lines(values: Array) -> Array:
        share = ((t - run.t[before]) / (run.t[before + 1] - run.t[before]))[:, None]
        return np.asarray((1 - share) * values[before] + share * values[before + 1])

    return replace(run, t=t, q=q, v=v, anchors=anchors, tip=tip, tip_rotation=tip_rotation,
                   u=on_lines(run.u), energy=on_lines(run.energy),
                   works=on_lines(run.works))  # fmt: skip


def _between(run: "Run", t: Array, before: npt.NDArray[np.int_]) -> tuple[Array, Array]:
    """Interpolate coordinates and rates at times t in the intervals after given samples."""
    pairs = np.stack([before, before + 1])
    q, v = run.q[pairs], run.v[pairs]
    t0, t1 = run.t[pairs]
    # Where the anchor of a free base changes, its angles at the end count from another attitude.
    k = np.flatnonzero(np.any(run.anchors[before] != run.anchors[before + 1], axis=(1, 2)))
    q[1, k, 3:6] = q[0, k, 3:6] + (t1 - t0)[k, None] * v[0, k, 3:6]
    v[1, k, 3:6] = v[0, k, 3:6]
    return _hermite(t0, t1, t, q, v)


def _hermite(t0: Array, t1: Array, t: Array, y: Array, dy: Array) -> tuple[Array, Array]:
    """Evaluate cubics, and their rates, from values y and rates dy (2, T, n) at t0 and t1."""
    h = (t1 - t0)[:, None]
    x = (t - t0)[:, None] / h
    slope = (y[1] - y[0]) / h
    c2 = 3 * slope - 2 * dy[0] - dy[1]
    c3 = dy[0] + dy[1] - 2 * slope
    value = y[0] + h * x * (dy[0] + x * (c2 + x * c3))
    return np.asarray(value), np.asarray(dy[0] + x * (2 * c2 + 3 * x * c3))


def _tips(model: Model, q: Array, anchors: Array) -> tuple[Array, Array]:
    """Find rotation (T, 3, 3) and position (T, 3) of the tip."""
    states, anchor = ca.SX.sym("q", model.size), ca.SX.sym("anchor", 3, 3)
    placed = replace(model, anchor=anchor) if model.floats else model
    rotation, position = end_frame(placed, states)
    pose = ca.vertcat(ca.vec(ca.SX(rotation).T), ca.SX(position))
    find = ca.Function("tips", [states, anchor], [pose])
    found = np.array(find(q.T, np.concatenate(anchors, axis=1))).T
    return found[:, :9].reshape(-1, 3, 3), found[:, 9:]


def pick(run: "Run", rows: npt.NDArray[np.int_]) -> "Run":
    """Take some samples of a run."""
    arrays = {name: getattr(run, name)[rows] for name in ARRAYS}
    return replace(run, **arrays)


def _pick(solution: Solution, rows: npt.NDArray[np.int_]) -> Solution:
    held = None if solution.held is None else solution.held[rows]
    return replace(
        solution,
        times=solution.times[rows],
        states=solution.states[rows],
        anchors=solution.anchors[rows],
        held=held,
    )


def _off_lines(t: Array, values: Array, kept: npt.NDArray[np.int_]) -> Array:
    """Find how far lines through kept samples are off the others, (R,)."""
    drawn = [np.interp(t, t[kept], column[kept]) for column in values.T]
    off = np.abs(np.array(drawn).reshape(values.shape[::-1]).T - values)
    return np.asarray(off.max(axis=0, initial=0.0))


def _off_cubics(t: Array, values: Array, rates: Array) -> Array:
    """Find how far off samples are that cubics through both neighbours predict, (R,)."""
    ends = (np.stack([x[:-2], x[2:]]) for x in (values, rates))
    value, rate = _hermite(t[:-2], t[2:], t[1:-1], *ends)
    apart = (t[2:] - t[:-2])[:, None] / 2
    off = np.maximum(np.abs(value - values[1:-1]), apart * np.abs(rate - rates[1:-1]))
    return np.asarray(off.max(axis=0, initial=0.0))
