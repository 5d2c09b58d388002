"""A tight explicit integration of compiled equations, for tests that look at the tenth digit."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp

from flexarm.formulations.equation import Equation
from tests.physics.states import Array

Rate = Callable[[float, Array], Array]


def free_motion(equation: Equation) -> Rate:
    """Rates of (q, v) of an arm on which nothing acts and no coordinate is prescribed."""
    forward = equation.compiled("forward_dynamics", level="fast")
    n = equation.model.size
    loads = [np.zeros(port.shape) for port in forward.inputs[2:5]]
    if equation.model.attitudes:
        loads.append(equation.reference_attitude)

    def rate(t: float, y: Array) -> Array:
        return np.concatenate([y[n:], forward.call(y[:n], y[n:], *loads)[0]])

    return rate


def integrate(
    rate: Rate, start: Array, times: Sequence[float], *, rtol: float = 1e-12, atol: float = 1e-14
) -> tuple[Array, Array]:
    """Step from time to time with Dormand & Prince's method of order 8.

    Returns
    -------
    steps, rows
        Every time that a step ended at, (k,), and the state there, (k, n); the times asked for are
        among them, so that nothing is interpolated.
    """
    steps, rows = [np.array([times[0]])], [start[None, :]]
    for begin, end in pairwise(times):
        found = solve_ivp(rate, (begin, end), rows[-1][-1], method="DOP853", rtol=rtol, atol=atol)
        assert found.success, found.message
        steps.append(found.t[1:])
        rows.append(found.y.T[1:])
    return np.concatenate(steps), np.concatenate(rows)
