"""Equal steps that keep a tolerance: the motion is run again in smaller ones and compared."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from flexarm.integrate.problem import Measures
from flexarm.integrate.solve import Solution

TRIES = 8


def solve_refined(
    run: Callable[[float], Solution], step: float, wanted: float, measures: Measures, order: int
) -> Solution:
    """Run a motion in ever smaller equal steps until its error is below a tolerance.

    Parameters
    ----------
    run
        Runs the motion with a step [s].
    step
        The first one [s].
    wanted
        Largest error of any measured quantity over its range.
    measures
        The quantities.
    order
        Of the method on this motion: 1 where forces change too fast for its own.

    Returns
    -------
    Solution
        The last one; its seconds are those of all.  One that did not finish is given as it is.

    Notes
    -----
    Runs whose steps are in the ratio r differ by ``r^order - 1`` times the error of the finer one.
    """
    found = run(step)
    seconds = found.seconds
    ratio = 2.0
    for _ in range(TRIES):
        if found.ending.status != "finished":
            break
        finer = run(step / ratio)
        seconds += finer.seconds
        if finer.ending.status != "finished":
            found = finer
            break
        error = _difference(found, finer, measures) / (ratio**order - 1)
        step, found = step / ratio, finer
        if error <= wanted:
            break
        ratio = float(np.clip((2 * error / wanted) ** (1 / order), 2.0, 16.0))
    return replace(found, seconds=seconds)


def _difference(one: Solution, other: Solution, measures: Measures) -> float:
    """Give the largest difference of a measured quantity over the range of its group."""
    n = measures.rows.shape[1]
    first, second = (solution.states[:, :n] @ measures.rows.T for solution in (one, other))
    scale = measures.floor.copy()
    np.maximum.at(scale, measures.group, np.ptp(second, axis=0))
    return float((np.abs(first - second).max(axis=0) / scale[measures.group]).max(initial=0.0))
