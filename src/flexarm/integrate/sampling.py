"""How many samples of a run show what moved."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexarm.integrate.solve import Solution
from flexarm.links.base import Array
from flexarm.runs.curves import CURVES, LINES, PER_PERIOD, Curves, off_cubics, off_lines

SAMPLES = 500  # intervals of a run whose interval nobody chose, at least
MOST_PARTS = 8  # that each of them is split into, where something vibrates in between


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
    if np.any(off_cubics(solution.times, values, rates) > CURVES * scales):
        return solution
    for stride in 2 ** np.arange(parts.bit_length() - 1, 0, -1):
        kept = np.array(sorted({*range(0, last + 1, stride), last}))
        if np.all(off_lines(solution.times, values, kept) <= LINES * scales):
            return _pick(solution, kept)
    return solution


def _pick(solution: Solution, rows: npt.NDArray[np.int_]) -> Solution:
    held, servoed = (
        None if each is None else each[rows] for each in (solution.held, solution.servoed)
    )
    return replace(
        solution,
        times=solution.times[rows],
        states=solution.states[rows],
        anchors=solution.anchors[rows],
        held=held,
        servoed=servoed,
    )
