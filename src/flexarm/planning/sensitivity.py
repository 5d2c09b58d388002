"""Derivatives of a simulated motion by its inputs, accurate even for modes faster than the steps.

Along the motion the matrices of the linearised equations change as slowly as the posture; they are
evaluated in the middle of each part and interpolated. Each part is divided into pieces with
constant matrices and cubic inputs, so a matrix exponential is the solution for any number of
periods of a mode (Van Loan 1978; Magnus' series to its first term).
"""

import numpy as np

from flexarm.linear.tangent import OperatingPoint
from flexarm.linear_model import integral_of_exponential
from flexarm.model.profiles import cubic_spline
from flexarm.planning.constants import FEW_PIECES, MANY_COORDINATES, MOST_PIECES, PIECE_PHASE
from flexarm.planning.inputs import Inputs
from flexarm.planning.problem import MotionProblem
from flexarm.runs.run import Run
from flexarm.spatial import Array


def sensitivity(problem: MotionProblem, inputs: Inputs, duration: float, run: Run) -> Array:
    """Return derivatives of the states x = (q, v) of a run by the inputs' control values.

    They are evaluated at the ends of all parts of the inputs' intervals.

    Returns
    -------
    ndarray
        Derivatives, (steps + 1, 2n, count * k), ordered by place of the values, then by input.
    """
    n, k = problem.model.size, len(problem.names)
    shapes = inputs.derivatives / (duration ** np.arange(len(inputs.derivatives)))[:, None, None]
    moved = propagators(problem, inputs, run, duration / inputs.steps)
    own, pushed = moved[:, :, : 2 * n], moved[:, :, 2 * n :].reshape(inputs.steps, 2 * n, -1, k)
    added = np.einsum("jxdk,djc->jxck", pushed, shapes).reshape(inputs.steps, 2 * n, -1)
    states = np.zeros((inputs.steps + 1, 2 * n, inputs.count * k))
    for j in range(inputs.steps):
        states[j + 1] = own[j] @ states[j] + added[j]
    return states


def propagators(problem: MotionProblem, inputs: Inputs, run: Run, h: float) -> Array:
    """Return the solution matrices of the linearised equations over each part of a run.

    They map the state at the start and the derivatives of the inputs to the state at the end, shape
    (steps, 2n, 2n + orders k); ``h`` is the length of a part [s].
    """
    n, k = problem.model.size, len(problem.names)
    orders = len(inputs.derivatives)
    rows = accelerations(problem, inputs, run)
    fastest = float(np.sqrt(np.abs(np.linalg.eigvals(rows[0, :, :n])).max()))
    most = MOST_PIECES if n <= MANY_COORDINATES else FEW_PIECES
    pieces = int(np.clip(np.ceil(fastest * h / PIECE_PHASE), 1, most))
    middles = np.arange(inputs.steps) + 0.5
    places = (np.arange(inputs.steps * pieces) + 0.5) / pieces
    size = 2 * n + orders * k
    matrices = np.zeros((len(places), size, size))
    part = np.clip(np.searchsorted(middles, places) - 1, 0, len(middles) - 2)
    past = (places - middles[part])[:, None, None]
    first, second, third, fourth = cubic_spline(middles, rows)[:, part]
    matrices[:, n : 2 * n, : 2 * n + k] = first + past * (second + past * (third + past * fourth))
    matrices[:, :n, n : 2 * n] = np.eye(n)
    for d in range(orders - 1):
        first = 2 * n + d * k
        matrices[:, first : first + k, first + k : first + 2 * k] = np.eye(k)
    whole = integral_of_exponential(matrices, h / pieces, fastest)
    solved = (np.eye(size) + matrices @ whole).reshape(inputs.steps, pieces, size, size)
    solution = solved[:, 0]
    for j in range(1, pieces):
        solution = solved[:, j] @ solution
    return np.asarray(solution[:, : 2 * n])


def accelerations(problem: MotionProblem, inputs: Inputs, run: Run) -> Array:
    """Return derivatives of the accelerations by q, v and u, shape (steps, n, 2n + k).

    They are evaluated in the middle of each part of the inputs' intervals.
    """
    middles = slice(1, 2 * inputs.steps, 2)
    t, q, v, u = run.t[middles], run.q[middles], run.v[middles], run.u[middles]
    reference_attitudes = run.reference_attitudes[middles]
    rows = zip(q, v, u, t.tolist(), reference_attitudes, strict=True)
    return problem.tangent.slopes([OperatingPoint(*row) for row in rows])
