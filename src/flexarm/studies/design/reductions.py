"""Numbers of curves: peaks, settling times and the like, of many curves at once."""

from collections.abc import Callable

import numpy as np

from flexarm.links.base import Array
from flexarm.runs.curves import settling_time

Reduction = Callable[[Array, Array, float], Array]


def overshoot(t: Array, x: Array, band: float) -> Array:
    """Find how far curves go beyond their last value, over the way from their first one."""
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
