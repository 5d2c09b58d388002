"""Chen, Zhang & Liu 2012: the fall by equations that are linear about the arm at its start.

What a history has beyond them is nonlinear vibration.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy.linalg

from flexarm.linear.tangent import Point, Tangent
from flexarm.links.base import Array
from flexarm.model import build
from flexarm.papers.runs import changed

GRID = 0.01  # [s], between times at which the motion is given


def linear_fall(name: str, t_end: float, start: Sequence[float]) -> tuple[Array, Array]:
    """Let an arm fall by equations linearised about the straight, horizontal arm at rest.

    Parameters
    ----------
    name
        The sample.
    t_end
        Duration [s].
    start
        Coordinates at rest in which the fall begins, (n,).

    Returns
    -------
    t, x
        Times [s], (T,), and all coordinates, (T, n).

    Notes
    -----
    ``M x'' + K x = -f``: M and K are the exact derivatives of the equation and f its value at 0.
    """
    n = len(start)
    step = _step(name)
    x = np.array([*start, *np.zeros(n), 1.0])
    found = [x]
    for _ in range(round(t_end / GRID)):
        x = step @ x
        found.append(x)
    return GRID * np.arange(len(found), dtype=float), np.array(found)[:, :n]


@cache
def _step(name: str) -> Array:
    """Solve ``M x'' + D x' + K x = -f`` over a step, for (x, x', 1)."""
    model = build(changed(name))
    tangent, n = Tangent(model), model.size
    point = Point(np.zeros(n), np.zeros(n), np.zeros(tangent.inputs.shape[1]))
    found = tangent.matrices(point, np.zeros(n))
    sides = np.column_stack([found.stiffness, found.damping, tangent.force(point, np.zeros(n))])
    rates = np.zeros((2 * n + 1, 2 * n + 1))
    rates[:n, n : 2 * n] = np.eye(n)
    rates[n : 2 * n] = -np.linalg.solve(found.mass, sides)
    return np.asarray(scipy.linalg.expm(GRID * rates))
