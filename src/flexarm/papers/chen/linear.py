"""Chen, Zhang & Liu 2012: the fall by equations that are linear about an arm that stays straight.

What a history has beyond them is nonlinear vibration.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp

from flexarm.formulations import formulation
from flexarm.linear.tangent import Point, Tangent
from flexarm.links.base import Array
from flexarm.model import build
from flexarm.papers.runs import changed

STRAIGHT = "chen-two-link-rigid-joints"
GRID = 0.01  # [s], between times at which the equations are linearised


def linear_fall(name: str, t_end: float, *, frozen: bool = False) -> tuple[Array, Array]:
    """Let an arm fall by equations linearised about the fall of the arm with rigid links.

    Parameters
    ----------
    name
        The sample.
    t_end
        Duration [s].
    frozen
        Keep the equations of the start, with constant coefficients.

    Returns
    -------
    t, x
        Times [s], (T,), and all coordinates less those of the straight arm, (T, n).

    Notes
    -----
    ``M x'' + D x' + K x = -f``: M, D and K are the exact derivatives of the equation and f its
    value on the straight arm's fall.  Each step takes their mean over it, and an exponential.
    """
    size = build(changed(name)).size
    if frozen:
        steps = [_exponential(_linearised(name, 0.0)[0])] * round(t_end / GRID)
    else:
        steps = _linear_steps(name, t_end)
    x = np.array([*np.zeros(2 * size), 1.0])
    found = [x]
    for step in steps:
        x = step @ x
        found.append(x)
    t = np.arange(len(found), dtype=float) * GRID
    return t, np.array(found)[:, :size]


@cache
def _linear_steps(name: str, t_end: float) -> list[Array]:
    """Give all steps, each by the mean of the equations at its ends."""
    return [_exponential((now + then) / 2) for now, then in pairwise(_linearised(name, t_end))]


def _exponential(row: Array) -> Array:
    """Solve ``M x'' + D x' + K x = -f`` over a step, for (x, x', 1), of M, K, D, f in a row."""
    n = len(row)
    rates = np.zeros((2 * n + 1, 2 * n + 1))
    rates[:n, n : 2 * n] = np.eye(n)
    rates[n : 2 * n] = -np.linalg.solve(row[:, :n], row[:, n:])
    return np.asarray(scipy.linalg.expm(GRID * rates))


@cache
def _linearised(name: str, t_end: float) -> Array:
    """Give M, K, D and f side by side, along the straight arm's fall, (T, n, 3 n + 1)."""
    model = build(changed(name))
    tangent = Tangent(model)
    inputs = np.zeros(tangent.inputs.shape[1])
    table = []
    for joints in zip(*_straight_fall(t_end), strict=True):
        q, v, a = (_spread(model.names, each) for each in joints)
        point = Point(q, v, inputs)
        found, force = tangent.matrices(point, a), tangent.force(point, a)
        table.append(np.column_stack([found.mass, found.stiffness, found.damping, force]))
    return np.array(table)


@cache
def _straight_fall(t_end: float) -> tuple[Array, Array, Array]:
    """Let the arm with rigid links and joints fall: both joints' q, v and a, (T, 2) each."""
    model = build(changed(STRAIGHT))
    equation = formulation("composite", model)
    joints = [model.names.index(name) for name in ("joint1", "joint2")]

    def accelerations(state: Array) -> Array:
        q, v = (_spread(model.names, each) for each in np.split(state, 2))
        mass = equation.mass_matrix(q)[np.ix_(joints, joints)]
        return np.asarray(np.linalg.solve(mass, -equation.bias(q, v)[joints]))

    t = GRID * np.arange(round(t_end / GRID) + 1)
    if len(t) == 1:
        return np.zeros((1, 2)), np.zeros((1, 2)), accelerations(np.zeros(4))[None]
    states = solve_ivp(
        lambda _, x: np.concatenate([x[2:], accelerations(x)]), (0.0, t[-1]), np.zeros(4),
        t_eval=t, rtol=1e-9, atol=1e-9,
    ).y.T  # fmt: skip
    return states[:, :2], states[:, 2:], np.array([accelerations(x) for x in states])


def _spread(names: tuple[str, ...], joints: Array) -> Array:
    """Put the joints' values in their places, motors along with them, and the rest at 0."""
    first, second = joints
    values = {"joint1": first, "joint2": second}
    return np.array([values.get(name.removesuffix(".motor"), 0.0) for name in names])
