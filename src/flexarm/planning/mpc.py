"""Model predictive control: at each sample the inputs over a horizon are optimised.

Only the inputs of the horizon's first interval are applied. Intervals may be longer than vibration
periods: within each interval the equations are linearised about the last prediction and solved by
the matrix exponential (exponential Rosenbrock-Euler). Each sample evaluates the accelerations at
the beginning of all intervals, linearises the equations of the last interval, and solves one
quadratic program for the inputs. The method is a real-time iteration, in which the linear models of
the earlier intervals are a few samples old.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.linalg

from flexarm.arguments import (
    WithUnit,
    require_count,
    require_kind,
    require_mapping,
    require_number,
    require_numbers,
    require_positive,
    require_shaped,
)
from flexarm.arm import Arm, FreeBase
from flexarm.arm.summary import Summarised, Summary
from flexarm.control.constants import BANDWIDTH, FASTEST_BANDWIDTH, SLOWEST_BANDWIDTH
from flexarm.control.laws.lqr import Weights, require_fitting, sampled_costs
from flexarm.control.statics import Statics, drives, rigid_motions
from flexarm.errors import FlexarmError
from flexarm.integrate.laws import Sampled
from flexarm.io.model_file import validated
from flexarm.linear.tangent import OperatingPoint
from flexarm.linear_model import LinearModel, integral_of_exponential
from flexarm.loops.rows import bind_rows
from flexarm.mechanics.loads import wrench_factors
from flexarm.planning.constants import (
    BANDWIDTH_PER_PERIOD,
    BANDWIDTH_SHARE,
    COST_DISCOUNT,
    DIFFERENCE_STEP,
    FIRST_ITERATIONS,
    LIMIT_VIOLATION,
)
from flexarm.planning.plan import ANYWAY, Plan
from flexarm.planning.problem import Limits, MotionProblem, largest_inputs, linear_limits
from flexarm.planning.vibrations import vibrations
from flexarm.spatial import Array

SOFT = 8  # DAQP's flag of a constraint that may be violated if necessary


def solve_program(H: Array, g: Array, A: Array, low: Array, top: Array) -> Array:
    """Return the minimiser of ``x^T H x / 2 + g^T x`` with bounds on x and ``A x``, shape (n,).

    If the bounds are infeasible, the bounds that x = 0 violates are relaxed as little as possible.

    Parameters
    ----------
    H, g
        Hessian, (n, n), and gradient, (n,).
    A
        Matrix of the m limited linear combinations of the unknowns, (m, n).
    low, top
        Lower and upper bounds of the unknowns x, followed by those of ``A x``, (n + m,) each.
    """
    import daqp

    sense = np.zeros(len(low), dtype=np.int32)
    x, _, ending, _ = daqp.solve(H, g, A, top, low, sense)
    if ending < 1:
        sense[(low > 0) | (top < 0)] = SOFT
        x, *_ = daqp.solve(H, g, A, top, low, sense)
    return np.asarray(x)


Target = Mapping[str, WithUnit] | Plan


@dataclass(frozen=True)
class Goal:
    """Reference states and inputs of the controller, and weights of the tracking errors."""

    x: Array  # reference states by sample from time 0 on, constant after the last, (J, 2n)
    u: Array  # reference inputs by sample, (J, k)
    stage: Array  # square root of the weight of (x, u) over an interval, (2n + k, 2n + k)
    last: Array  # root of the weight of x after the horizon: the cost of LQR without limits
    fastest: float  # largest eigenvalue magnitude of the model at the goal [rad/s]
    weight: Array  # weight of (x, u) over an interval, ``stage.T stage``


@final
class Mpc(Summarised):
    """A model predictive controller of an arm, created by `flexarm.mpc`.

    Attributes
    ----------
    period, intervals
        Time between two samples [s], which is also the length of an interval; number of intervals
        of the horizon.
    names, bandwidth
        Names of the inputs; bandwidth [rad/s] of the joints in the default weights.
    broken
        Number of samples at which no inputs could satisfy all limits. Limits of the inputs
        themselves are always satisfied.
    x, u
        The last prediction: states (q, v) at the present sample and at the end of each interval,
        (intervals + 1, 2n), and inputs in each interval, (intervals, k).
    """

    def __init__(
        self, problem: MotionProblem, period: float, intervals: int, limits: Limits,
        weights: tuple[Weights | None, float],
    ) -> None:  # fmt: skip
        self.period, self.intervals, self.names = period, intervals, problem.names
        self._problem, self._weights = problem, weights
        self.bandwidth = weights[1]
        model, k = problem.model, len(self.names)
        self._statics, self._n = Statics(model), model.size
        self.most = largest_inputs(model, limits, self.names)
        self._rows, low, top = linear_limits(problem, limits)
        self._sides = low, top
        self._goals: dict[Any, Goal] = {}
        n, N = 2 * model.size, intervals
        self.x, self.u = np.zeros((N + 1, n)), np.zeros((N, k))
        self._own, self._integrals = np.zeros((N, n, n)), np.zeros((N, n, n))
        self._pushed, self._by = np.zeros((N, n, k)), np.zeros((N + 1, n, N * k))
        self._other, self._hessian = np.zeros_like(self._by), np.zeros((N * k, N * k))
        self._nudges = DIFFERENCE_STEP * np.append(
            np.ones(n), np.where(np.isfinite(self.most), self.most, 1.0)
        )
        self._moves = np.diag(self._nudges)
        compiled = problem.equation.compiled("forward_dynamics", level="fast")
        self._states = np.zeros((N * (n + k + 1), n + k))
        inputs = np.split(self._states, [n // 2, n], axis=1)
        outside = wrench_factors(model, 0.0), np.zeros(0)
        (self._accelerations, *_), self._run = bind_rows(
            compiled, len(self._states), (*inputs, *outside)
        )
        self._ended = np.zeros_like(self._hessian)
        self._last: Goal | None = None
        self.begin()

    def _summary(self) -> Summary:
        weights_text = (
            "weights of its own" if self._weights[0] else f"bandwidth {self.bandwidth:.3g} rad/s"
        )
        lines = (
            f"looks {self.intervals} intervals of {self.period:g} s ahead, {weights_text}",
            f"watches {len(self._rows)} limits of states; given up at {self.broken} samples",
        )
        pairs = zip(self.names, self.most.tolist(), strict=True)
        rows = [(name, f"{most:.4g}" if np.isfinite(most) else "any") for name, most in pairs]
        return Summary(f"MPC of {self._problem.arm.name}", lines, ("input", "largest"), rows)

    def begin(self) -> "Mpc":
        """Discard the last prediction; the next one starts from an arm at rest."""
        self._begun, self._left, self.broken = False, False, 0
        return self

    def law(self, target: Target) -> Sampled:
        """Return a sampled control law for the option ``control`` of `flexarm.simulate`.

        Parameters
        ----------
        target
            Target as for `step`. If it is a plan, the plan begins at time 0 of the simulation.

        Returns
        -------
        Sampled
            The law, evaluated once per period.
        """
        self._goal(target)
        return Sampled(_Law(self, target), self.period)

    def step(self, q: Array, v: Array, target: Target, t: float = 0.0) -> Array:
        """Return the inputs until the next sample, shape (k,), after optimising the prediction.

        Parameters
        ----------
        q, v
            Coordinates and rates, (n,) each.
        target
            Final positions of driven joints by name [rad], [m]; other joints return to their
            initial positions. Or a plan to follow.
        t
            Time since the plan's beginning [s].

        Returns
        -------
        Array
            Inputs of the driven joints [N m], [N].
        """
        now = np.concatenate(
            [require_shaped(name, value, (self._n,)) for name, value in (("q", q), ("v", v))]
        )
        goal = self._goal(target)
        begun = round(require_number("t", t) / self.period)
        with np.errstate(over="ignore", invalid="ignore"):  # predictions that diverge are not used
            if self._begun and goal is self._last:
                self._recede(now, goal, begun)
            if not self._begun or goal is not self._last:
                self._start(now, goal, begun)
        self._last = goal
        self.broken += self._left
        return np.array(self.u[0])

    def _goal(self, target: Target) -> Goal:
        """Return the reference trajectory and weights for a target, cached for the last target."""
        key: Any = id(target)
        if not isinstance(target, Plan):
            expected = "positions of driven joints by name, or a Plan"
            key = tuple(sorted(require_mapping("target", target, expected, optional=False).items()))
        if key not in self._goals:
            self._goals = {key: self._find_goal(target)}
        return self._goals[key]

    def _find_goal(self, target: Target) -> Goal:
        problem, n = self._problem, self._n
        if isinstance(target, Plan):
            x, u = _follow(target, problem, self.period)
            posture = x[-1, :n]
        else:
            expected, units = "positions of driven joints by name", problem.model.axis_units
            posture = self._statics.at_joints(
                require_numbers("target", target, expected, units=units)
            )
            x, u = np.append(posture, np.zeros(n))[None], self._statics.effort(posture)[None]
        still, tangent = np.zeros(n), problem.tangent
        linear = tangent.matrices(OperatingPoint(posture, still, u[-1]), still)
        plant = linear.state_space()
        weights = self._weights[0] or self._energies(linear, posture)
        Ad, Bd, (Q, R, N) = sampled_costs(plant, weights, self.period)
        P = None
        for discount in (
            1.0,
            COST_DISCOUNT,
        ):  # the cost of uncontrollable, undamped motions is infinite
            with contextlib.suppress(np.linalg.LinAlgError, ValueError):
                P = scipy.linalg.solve_discrete_are(discount * Ad, discount * Bd, Q, R, s=N)
                break
        if P is None:
            raise FlexarmError(
                "target: no control law was found that holds the arm at the target. Use a shorter "
                "period or a lower bandwidth. If some vibration is uncontrollable from the "
                "inputs, give it damping, or leave its shapes out."
            )
        fastest = float(np.abs(np.linalg.eigvals(plant.A)).max())
        stage = _root(np.asarray(np.block([[Q, N], [N.T, R]]), dtype=float))
        return Goal(x, u, stage, _root(np.asarray(P, dtype=float)), fastest, stage.T @ stage)

    def _energies(self, linear: LinearModel, q: Array) -> Weights:
        """Return default weights derived from the elastic and kinetic energy about posture q.

        Virtual joint springs are added such that the joints have the requested bandwidth.
        """
        model, bandwidth = self._problem.model, self._weights[1]
        driven, moves = drives(model), rigid_motions(model)
        rows = driven.motors
        felt = np.linalg.inv(
            rows @ moves @ np.linalg.solve(moves.T @ linear.mass @ moves, moves.T @ rows.T)
        )
        elastic = self._problem.tangent.elastic(
            OperatingPoint(q, np.zeros_like(q), np.zeros(len(rows)))
        )
        springs = (elastic + elastic.T) / 2 + rows.T @ felt @ rows * bandwidth**2
        gain = np.linalg.pinv(rows.T) @ driven.inputs / bandwidth
        spent = gain.T @ np.linalg.solve(felt, gain)
        state = scipy.linalg.block_diag(springs, (linear.mass + linear.mass.T) / 2)
        return Weights(state, (spent + spent.T) / 2)

    def _start(self, now: Array, goal: Goal, begun: int) -> None:
        """Compute the first prediction for a target, starting from an arm at rest.

        Several iterations are used, or only one if several diverge.
        """
        for count in (FIRST_ITERATIONS, 1):
            self.x[:], self.u[:] = now, goal.u[-1]
            for _ in range(count):
                self._linearise(0, goal.fastest)
                self._hessian[:] = self._by[0] = 0.0
                for j in range(self.intervals):
                    self._append(goal, j)
                self._end(goal)
                self._improve(now, goal, begun)
                if not self._begun:
                    break
            else:
                return
        self.x[:], self.u[:] = now, np.clip(goal.u[-1], -self.most, self.most)

    def _recede(self, now: Array, goal: Goal, begun: int) -> None:
        """Shift the prediction by one interval and improve it by one iteration.

        Linear models are reused, shifted with their intervals; only the model of the last interval
        is new.
        """
        k = len(self.names)
        self._hessian -= self._ended
        for sequence in (self.u, self.x, self._own, self._integrals, self._pushed):
            sequence[:-1] = sequence[1:]
        self._by, self._other = self._other, self._by
        self._by[:-1, :, :-k], self._by[:-1, :, -k:] = self._other[1:, :, k:], 0.0
        self._hessian[:-k, :-k] = self._hessian[k:, k:]
        self._hessian[-k:] = self._hessian[:, -k:] = 0.0
        self._linearise(self.intervals - 1, goal.fastest)
        self._append(goal, self.intervals - 1)
        self._end(goal)
        self._improve(now, goal, begun)

    def _linearise(self, first: int, fastest: float) -> None:
        """Compute accelerations at the start of all intervals, and linear models from ``first`` on.

        Derivatives are finite differences; ``fastest`` is the largest eigenvalue magnitude [rad/s].
        """
        n, N, rows = self._n, self.intervals, self._states
        count = N + (N - first) * len(self._nudges)
        rows[:N, : 2 * n], rows[:N, 2 * n :] = self.x[:-1], self.u
        nudged = rows[N:count].reshape(N - first, *self._moves.shape)
        np.add(rows[first:N, None], self._moves, out=nudged)
        self._run(count)
        a, moved = self._accelerations[:N], self._accelerations[N:count]
        slopes = moved.reshape(N - first, -1, n) - a[first:, None]
        slopes = np.swapaxes(slopes / self._nudges[:, None], 1, 2)
        A = np.zeros((N - first, 2 * n, 2 * n))
        A[:, :n, n:], A[:, n:] = np.eye(n), slopes[:, :, : 2 * n]
        whole = integral_of_exponential(A, self.period, fastest)
        self._integrals[first:], self._own[first:] = whole, np.eye(2 * n) + A @ whole
        self._pushed[first:] = whole[:, :, n:] @ slopes[:, :, 2 * n :]

    def _append(self, goal: Goal, j: int) -> None:
        """Add the cost of interval j to the Hessian, and propagate derivatives over the interval.

        The derivatives of the states with respect to all inputs are propagated.
        """
        k, n = len(self.names), 2 * self._n
        own = slice(j * k, (j + 1) * k)
        rows = goal.stage[:, :n] @ self._by[j]
        rows[:, own] += goal.stage[:, n:]
        self._hessian += rows.T @ rows
        np.matmul(self._own[j], self._by[j], out=self._by[j + 1])
        self._by[j + 1, :, own] = self._pushed[j]

    def _end(self, goal: Goal) -> None:
        """Add the terminal cost of the last predicted state to the Hessian."""
        rows = goal.last @ self._by[-1]
        np.matmul(rows.T, rows, out=self._ended)
        self._hessian += self._ended

    def _improve(self, now: Array, goal: Goal, begun: int) -> None:
        """Update predicted states and inputs by one quadratic program, from a given state.

        Violations of limits in the new prediction are recorded.
        """
        n, N = self._n, self.intervals
        ends = np.minimum(begun + np.arange(N + 1), len(goal.x) - 1)
        there = self._foresee(now)
        off = np.hstack([there[:-1] - goal.x[ends[:-1]], self.u - goal.u[ends[:-1]]])
        costs = off @ goal.weight
        last = goal.last.T @ (goal.last @ (there[-1] - goal.x[ends[-1]]))
        pull = np.append(costs[:, : 2 * n], last)
        by = self._by.reshape(len(pull), -1)
        slope = costs[:, 2 * n :].ravel() + pull @ by
        change = self._change(slope, there) if np.all(np.isfinite(slope)) else slope
        self._begun = bool(np.all(np.isfinite(change)))
        if self._begun:
            self.x[:] = there + (by @ change).reshape(there.shape)
            u = self.u + change.reshape(self.u.shape)
            self.u[:] = np.minimum(np.maximum(u, -self.most), self.most)
        ahead, (low, top) = self.x[1:] @ self._rows.T, self._sides
        within = np.all((low - LIMIT_VIOLATION <= ahead) & (ahead <= top + LIMIT_VIOLATION))
        self._left = not (self._begun and within)

    def _foresee(self, now: Array) -> Array:
        """Return the states predicted from the state ``now`` with unchanged inputs, (N + 1, 2n)."""
        rates = np.hstack([self.x[:-1, self._n :], self._accelerations[: self.intervals]])
        off = np.empty_like(self.x)
        off[0] = now - self.x[0]
        off[1:] = self.x[:-1] - self.x[1:] + (self._integrals @ rates[:, :, None])[:, :, 0]
        for j, own in enumerate(self._own):
            off[j + 1] += own.dot(off[j])
        return self.x + off

    def _change(self, slope: Array, there: Array) -> Array:
        """Return the optimal change of all inputs within their limits, shape (N k,)."""
        A = (self._rows @ self._by[1:]).reshape(-1, len(slope))
        ahead = there[1:] @ self._rows.T
        low, top = (
            np.concatenate([(sign * self.most - self.u).ravel(), (bound - ahead).ravel()])
            for sign, bound in zip((-1, 1), self._sides, strict=True)
        )
        return solve_program(self._hessian, slope, A, low, top)


@dataclass
class _Law:
    """A control law (t, q, v) -> u that applies model predictive control towards a target."""

    mpc: Mpc
    target: Target

    def begin(self) -> "_Law":
        """Discard the last prediction of the controller."""
        self.mpc.begin()
        return self

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        return self.mpc.step(q, v, self.target, t)


def mpc(
    arm: Arm,
    *,
    period: WithUnit,
    intervals: int = 20,
    limits: Limits = ANYWAY,
    bandwidth: WithUnit | None = None,
    weights: Weights | None = None,
) -> Mpc:
    """Create a model predictive controller that optimises a receding horizon within limits.

    Parameters
    ----------
    arm
        The arm that the controller assumes. The arm's servos, brakes, inputs and events are
        ignored.
    period
        Time between two samples [s], and length of an interval; both may be longer than the periods
        of fast vibrations.
    intervals
        Number of intervals of the horizon.
    limits
        Limits, which apply at the samples. Limits of effort are always satisfied; limits of speed,
        deflection and joint range are relaxed if no inputs satisfy them. Effort and speed limits
        that are None are taken from the model file.
    bandwidth
        Bandwidth of the joints [rad/s] in the default weights, as for `lqr`. If None, half the
        frequency of the slowest vibration at the start with joints held, but at most half a radian
        per sampling period and at most 20 rad/s.
    weights
        Weights that replace the default ones; the states are all coordinates and their rates.

    Returns
    -------
    Mpc
        ``step(q, v, target)`` returns inputs; ``law(target)`` is for ``simulate(control=...)``.
    """
    period = require_positive("period", period, unit="s")
    require_count("intervals", intervals, 2, most=1000)
    require_kind("limits", limits, Limits, "Limits, such as Limits(effort=2.0)")
    chosen_bandwidth = (
        None
        if bandwidth is None
        else require_number(
            "bandwidth", bandwidth, least=SLOWEST_BANDWIDTH, largest=FASTEST_BANDWIDTH, unit="rad/s"
        )
    )
    arm = validated(arm)
    if isinstance(arm.base, FreeBase):
        raise FlexarmError(
            "arm: mpc needs a base that does not move freely. On a free base use lqr or a plan."
        )
    problem = MotionProblem.staying(arm, {}, {})
    if weights is not None:
        require_fitting(weights, 2 * problem.model.size, len(problem.names))
    if chosen_bandwidth is None:
        slow = vibrations(problem.tangent, {}).frequency[:1].tolist()
        chosen_bandwidth = min(
            [
                BANDWIDTH,
                BANDWIDTH_PER_PERIOD / period,
                *(BANDWIDTH_SHARE * frequency for frequency in slow),
            ]
        )
    return Mpc(problem, period, intervals, limits, (weights, chosen_bandwidth))


def _root(weight: Array) -> Array:
    """Return W with ``W^T W`` equal to a positive semidefinite weight matrix."""
    values, vectors = np.linalg.eigh((weight + weight.T) / 2)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _follow(target: Plan, problem: MotionProblem, period: float) -> tuple[Array, Array]:
    """Return a plan's states at the samples and its mean inputs over the following intervals.

    Shapes are (J, 2n) and (J, k).
    """
    from scipy.interpolate import CubicHermiteSpline

    run = target.run
    if run.model.names != problem.model.names:
        raise FlexarmError("target: must be a plan of this arm, got one with other coordinates")
    times = period * np.arange(int(np.ceil(target.duration / period)) + 1)
    way = CubicHermiteSpline(run.t, run.q, run.v)
    x = np.hstack([way(times[:-1]), way(times[:-1], 1)])
    spent = np.vstack(
        [
            np.zeros(run.u.shape[1]),
            np.cumsum((run.u[1:] + run.u[:-1]) / 2 * np.diff(run.t)[:, None], axis=0),
        ]
    )
    totals = np.array([np.interp(times, run.t, column) for column in spent.T]).T
    rest = np.append(way(target.duration), np.zeros(run.q.shape[1]))
    return np.vstack([x, rest]), np.vstack([np.diff(totals, axis=0) / period, run.u[-1]])
