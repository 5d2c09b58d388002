"""How states of a simulated motion change with its inputs, exactly for modes beyond the step.

On each part of the motion the equations are linear ones with constant matrices, those in its
middle, and inputs that are cubics; of these the exponential of a matrix is the solution, however
many periods of a mode are in a part (Van Loan 1978; Magnus' series to its first term).
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from flexarm.linear.tangent import Point
from flexarm.links.base import Array
from flexarm.planning.inputs import Inputs
from flexarm.planning.problem import Problem
from flexarm.runs.run import Run

STRETCH = 1e-4  # by which a duration is changed to see what changes with it


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives of states x = (q, v) at the ends of all parts.

    Attributes
    ----------
    by_values
        By the inputs' values, (steps + 1, 2n, count * k); those of one place stand together.
    by_duration
        By the duration [1/s], (steps + 1, 2n).
    steps, pushes
        Of each part: the state's own transition (steps, 2n, 2n), and what a unit of each input
        adds that is held over it, (steps, 2n, k).
    """

    by_values: Array
    by_duration: Array
    steps: Array
    pushes: Array


def sensitivity(
    problem: Problem, inputs: Inputs, values: Array, duration: float, run: Run, *, timed: bool
) -> Sensitivity:
    """Differentiate the states of a run by its inputs, and by its duration if that may change."""
    moved = propagators(problem, inputs, run, duration / inputs.steps)
    n, k = problem.model.size, values.shape[1]
    shapes = inputs.derivatives
    orders = len(shapes)
    found = np.zeros((inputs.steps + 1, 2 * n, inputs.count * k))
    for j, each in enumerate(moved):
        now = each[:, : 2 * n] @ found[j]
        for d in range(orders):
            block = each[:, 2 * n + d * k : 2 * n + (d + 1) * k] / duration**d
            now += np.kron(shapes[d, j][None], block)
        found[j + 1] = now
    by_duration = np.zeros((inputs.steps + 1, 2 * n))
    if timed:
        longer = problem.simulate(inputs, values, duration * (1 + STRETCH), rtol=run.rtol)
        change = np.hstack([longer.q - run.q, longer.v - run.v])[:: 2]
        by_duration = change / (STRETCH * duration)
    return Sensitivity(found, by_duration, moved[:, :, : 2 * n], moved[:, :, 2 * n : 2 * n + k])


def propagators(problem: Problem, inputs: Inputs, run: Run, h: float) -> Array:
    """Solve the linear equations over each part of a run, (steps, 2n, 2n + orders * k)."""
    n, k = problem.model.size, len(problem.names)
    orders = len(inputs.derivatives)
    middles = slice(1, 2 * inputs.steps, 2)
    q, v, u = run.q[middles], run.v[middles], run.u[middles]
    equation = problem.equation.anchored(run.anchors[middles])
    a = equation.forward_dynamics(q, v, u, run.t[middles])
    size = 2 * n + orders * k
    matrices = np.zeros((inputs.steps, size, size))
    for j in range(inputs.steps):
        linear = problem.tangent.matrices(
            Point(q[j], v[j], u[j], float(run.t[middles][j]), run.anchors[middles][j]), a[j]
        )
        right = np.hstack([-linear.stiffness, -linear.damping, problem.tangent.inputs])
        matrices[j, n : 2 * n, : 2 * n + k] = np.linalg.solve(linear.mass, right)
    matrices[:, :n, n : 2 * n] = np.eye(n)
    for d in range(orders - 1):
        rows = 2 * n + d * k
        matrices[:, rows : rows + k, rows + k : rows + 2 * k] = np.eye(k)
    return np.asarray(scipy.linalg.expm(matrices * h)[:, : 2 * n])
