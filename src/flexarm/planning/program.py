"""Optimisation of a motion by nonlinear least squares: simulated iterates and their derivatives.

Residuals are inputs, deviations from the goal and violations of limits. Every iterate is a
simulated motion, and the linearisation only proposes the next iterate; an accepted motion is
therefore always feasible. Intervals may be longer than vibration periods, since `sensitivity`
solves the linearised equations over each part of an interval.
"""

from dataclasses import dataclass

import numpy as np

from flexarm.errors import PlanRefused
from flexarm.linear.tangent import OperatingPoint
from flexarm.linear_model import integral_of_exponential
from flexarm.model.profiles import cubic_spline
from flexarm.planning.constants import (
    COMPARED_RTOL,
    FEW_PIECES,
    LEAST_RANGE,
    MANY_COORDINATES,
    MOST_PIECES,
    NEAR_MISS,
    PIECE_PHASE,
    STAGES,
)
from flexarm.planning.problem import Inputs, Limit, MotionProblem
from flexarm.runs.run import Run
from flexarm.spatial import Array


def sensitivity(problem: MotionProblem, inputs: Inputs, duration: float, run: Run) -> Array:
    """Return derivatives of a run's states (q, v) with respect to the inputs' control values.

    The derivatives are evaluated at the ends of all parts of the inputs' intervals.

    Returns
    -------
    ndarray
        Derivatives, (steps + 1, 2n, count * k); the last axis is ordered by control value, then by
        input.
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

    The matrices map the state at the start and the derivatives of the inputs to the state at the
    end, shape (steps, 2n, 2n + orders k); ``h`` is the length of a part [s].
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
    """Return derivatives of the accelerations with respect to q, v and u, shape (steps, n, 2n + k).

    The derivatives are evaluated in the middle of each part of the inputs' intervals.
    """
    middles = slice(1, 2 * inputs.steps, 2)
    t, q, v, u = run.t[middles], run.q[middles], run.v[middles], run.u[middles]
    reference_attitudes = run.reference_attitudes[middles]
    rows = zip(q, v, u, t.tolist(), reference_attitudes, strict=True)
    return problem.tangent.slopes([OperatingPoint(*row) for row in rows])


@dataclass(frozen=True)
class Iterate:
    """A simulated motion during the optimisation.

    Attributes
    ----------
    values, duration
        Control values of the inputs, shape (count, k), and duration of the motion [s].
    run
        Simulation of the motion.
    miss
        Largest scaled deviation from rest at the goal; 0 if the motion arrives exactly.
    """

    values: Array
    duration: float
    run: Run
    miss: float


@dataclass(frozen=True)
class NonlinearProgram:
    """Optimisation of a motion: least inputs that reach the goal within the limits."""

    # problem, inputs and limits: the motion problem, the spline basis of its inputs, and the limits
    # that the motion must not exceed.
    problem: MotionProblem
    inputs: Inputs
    limits: tuple[Limit, ...]
    most: Array  # largest allowed inputs, infinite if unlimited, (k,)
    scale: Array  # scale of each input, (k,)
    spread: Array  # scale of each input's changes, divided by ``scale``, (k,)

    def simulate(self, values: Array, duration: float) -> Iterate:
        """Return the simulated motion of given input values, with its distance from the goal."""
        run = self.problem.simulate(self.inputs, values, duration, rtol=COMPARED_RTOL)
        if run.status != "finished":
            return Iterate(values, duration, run, np.inf)
        return Iterate(values, duration, run, self.miss(run))

    def miss(self, run: Run, row: int = -1) -> float:
        """Return the largest scaled deviation of a sample of a run from rest at the goal."""
        return float((np.abs(self.problem.miss(run, row)) / self.sizes(run)).max())

    def sizes(self, run: Run) -> Array:
        """Return the scale of each coordinate's and each rate's deviation from the goal.

        Scales are the ranges of coordinates and rates in a run, with a lower bound.
        """
        with_goal = self.problem.kept
        ranges = []
        for rows in (run.q[:, with_goal], run.v[:, with_goal]):
            spread = np.abs(rows - rows[0]).max(axis=0)
            ranges.append(np.maximum(spread, LEAST_RANGE * max(spread.max(), 1e-12)))
        return np.concatenate(ranges)

    def solve(self, first: Iterate) -> tuple[Iterate, int]:
        """Optimise a motion, starting from a motion that is at rest at both ends.

        Returns
        -------
        iterate, count
            The optimal motion, and the number of linearisations.

        Raises
        ------
        PlanRefused
            If no motion is found that reaches the goal.
        """
        from scipy.optimize import least_squares

        sought = MotionResiduals(self, first)
        top = np.tile(self.most / sought.unit, int(sought.free.sum()))
        x = np.clip((first.values[sought.free] / sought.unit).ravel(), -top, top)
        for weight, settled, evaluations in STAGES if first.miss > NEAR_MISS else STAGES[-1:]:
            x = least_squares(
                sought.residuals, x, sought.jacobian, (-top, top), ftol=settled, xtol=COMPARED_RTOL,
                gtol=None, x_scale="jac", max_nfev=evaluations, args=(np.sqrt(weight),),
            ).x  # fmt: skip
        now, count = sought.motion(x), len(sought.slopes)
        if now.miss <= NEAR_MISS:
            return now, count
        refused = PlanRefused(
            f"no motion was found. The best one, simulated, misses its goal by {now.miss:.1e} "
            f"of the distance after {count} iterations. Take a longer duration, more intervals or "
            "wider limits."
        )
        refused.motion = now
        raise refused

    def used(self, run: Run) -> tuple[Array, Array]:
        """Return limited quantities divided by their limits, at the end of each integration step.

        The fraction of each limit that the motion may use is returned as a second array; both
        arrays have shape (N,).
        """
        q, v, u = (samples[2::2] for samples in (run.q, run.v, run.u))
        used = [limit.measure(q, v, u).ravel() / limit.allowed for limit in self.limits]
        shares = [limit.share for limit in self.limits]
        return np.concatenate([[], *used]), np.repeat(shares, [len(samples) for samples in used])

    def slopes(self, now: Iterate) -> tuple[Array, Array]:
        """Return Jacobians of the goal deviation and of the limited quantities.

        The Jacobians are derivatives with respect to the input control values, (rows, count k).
        """
        run, n, with_goal = now.run, self.problem.model.size, self.problem.kept
        states = sensitivity(self.problem, self.inputs, now.duration, run)
        limited = [np.zeros((0, states.shape[2]))]
        for limit in self.limits:
            _, by_q, by_v, by_u = limit.linear(run.q[2::2], run.v[2::2], run.u[2::2])
            rows = np.concatenate([by_q, by_v], axis=2) @ states[1:]
            rows += np.einsum("tru,tc->trcu", by_u, self.inputs.at_ends).reshape(rows.shape)
            limited.append(rows.reshape(-1, rows.shape[2]) / limit.allowed)
        return states[-1][[*with_goal, *(n + i for i in with_goal)]], np.concatenate(limited)


class MotionResiduals:
    """Residuals of the least-squares problem: inputs, goal deviations and limit violations.

    Unknowns are the control values, except those fixed for rest at both ends of the motion.

    Attributes
    ----------
    free
        Mask of the unknowns among the control values of an input, (count,).
    unit
        Scale of each input's unknowns, (k,).
    motions, slopes
        Caches of simulated motions, and of Jacobians of goal deviations and limited quantities,
        keyed by the unknowns.
    """

    def __init__(self, program: NonlinearProgram, first: Iterate) -> None:
        self.program, self.first = program, first
        self.unit, self._sizes = program.scale * program.spread, program.sizes(first.run)
        self.free = np.ones(program.inputs.count, dtype=bool)
        self.free[[place for ends in program.inputs.fixed for place in ends]] = False
        root = np.linalg.cholesky(program.inputs.gram).T
        self._root = root / np.linalg.norm(root @ (first.values / program.scale))
        self.motions: dict[bytes, Iterate] = {}
        self.slopes: dict[bytes, tuple[Array, Array]] = {}

    def motion(self, x: Array) -> Iterate:
        """Return the simulated motion of a vector of unknowns, cached."""
        if x.tobytes() not in self.motions:
            values = self.first.values.copy()
            values[self.free] = x.reshape(-1, len(self.unit)) * self.unit
            self.motions[x.tobytes()] = self.program.simulate(values, self.first.duration)
        return self.motions[x.tobytes()]

    def residuals(self, x: Array, weight: float) -> Array:
        """Return all residuals; a single NaN if the motion cannot be simulated to its end."""
        now = self.motion(x)
        if not np.isfinite(now.miss):
            return np.array([np.nan])
        used, most = self.program.used(now.run)
        return np.concatenate([
            (self._root @ (now.values / self.program.scale)).ravel(),
            weight * self.program.problem.miss(now.run) / self._sizes,
            weight * (used - np.clip(used, -most, most)),
        ])  # fmt: skip

    def jacobian(self, x: Array, weight: float) -> Array:
        """Return the Jacobian of the residuals with respect to the unknowns."""
        now = self.motion(x)
        if x.tobytes() not in self.slopes:
            self.slopes[x.tobytes()] = self.program.slopes(now)
        misses, limited = self.slopes[x.tobytes()]
        used, most = self.program.used(now.run)
        rows = np.vstack([misses / self._sizes[:, None], limited * (np.abs(used) > most)[:, None]])
        by_inputs = np.kron(self._root[:, self.free], np.diag(self.program.spread))
        units = np.tile(self.unit, int(self.free.sum()))
        return np.vstack(
            [by_inputs, weight * rows[:, np.repeat(self.free, len(self.unit))] * units]
        )
