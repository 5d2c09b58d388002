"""Linear-quadratic laws: regulators along a path (eq. 37), LQR, LQG and stability margins."""

import math
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import scipy.linalg
from numpy.polynomial import chebyshev

from flexarm.arguments import (
    WithUnit,
    refused,
    require_array,
    require_count,
    require_kind,
    require_number,
    require_positive,
    require_shaped,
)
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.control.constants import (
    BANDWIDTH,
    FASTEST_BANDWIDTH,
    MOST_GAINS,
    PRINTED_LINES,
    SLOWEST_BANDWIDTH,
)
from flexarm.control.stability import Margins, margins_of
from flexarm.control.statics import (
    Drives,
    Statics,
    carried_mass,
    decoupled,
    drives,
    felt_by_joints,
    remaining,
)
from flexarm.control.trajectory import Timing, Trajectory, require_trajectory
from flexarm.errors import FlexarmError
from flexarm.integrate.laws import Sampled
from flexarm.linear.state_space import StateSpace
from flexarm.linear.tangent import DryFriction, FrictionChoice, OperatingPoint, Tangent
from flexarm.linear_model import StateMatrices
from flexarm.links.growing.fields import chebyshev_series
from flexarm.model import Model
from flexarm.spatial import Array, Expr


@dataclass(frozen=True)
class Weights:
    """Weight matrices of the quadratic cost, the integral of ``x^T state x + w^T input w``.

    Attributes
    ----------
    state
        Weights of the deviations x of coordinates and rates, (2r, 2r). The r coordinates are those
        of neither a free base nor prescribed motions.
    input
        Weights of the accelerations w of the k driven joints, (k, k).
    """

    state: Array
    input: Array

    def __post_init__(self) -> None:
        """Raise an error unless ``state`` is positive semidefinite and ``input`` definite."""
        for field in ("state", "input"):
            name = f"weights.{field}"
            weight = require_array(name, getattr(self, field))
            if weight.ndim != 2 or weight.shape[0] != weight.shape[1] or not weight.size:
                raise FlexarmError(f"{name}: must be a square matrix, got shape {weight.shape}")
            size = float(np.abs(weight).max())
            if np.abs(weight - weight.T).max() > NEGLIGIBLE * size:
                raise refused(name, weight, "symmetric")
            least = float(np.linalg.eigvalsh(weight).min())
            if least < -NEGLIGIBLE * size:
                raise refused(name, weight, "without negative eigenvalues")
            if field == "input" and least <= 0:
                raise refused(name, weight, "positive definite")
            object.__setattr__(self, field, weight)


@dataclass(frozen=True, repr=False)
class Regulator(Summarised):
    """Feedback gains scheduled along a path: accelerations ``w = - gain (x - x_d)``.

    Attributes
    ----------
    progress
        Progress along the path at which gains were computed, from 0 to 1, (P,).
    gains
        Feedback gains at these points, (P, k, 2n).
    costs
        Solutions of the Riccati equation at these points, (P, 2r, 2r). The r coordinates are those
        of neither a free base nor prescribed motions.
    models
        Linear models at these points.
    weights
        Weights at these points.
    timing
        Timing along the path.
    arm
        Model of the arm.
    notices
        Treatment of Coulomb friction in the linear models by joint.
    """

    progress: Array
    gains: Array
    costs: Array
    models: tuple[StateMatrices, ...]
    weights: tuple[Weights, ...]
    timing: Timing
    arm: Model
    notices: tuple[str, ...]

    def _summary(self) -> Summary:
        left = self.residuals()
        rows = []
        for s, model, cost, weights, residual in zip(
            self.progress, self.models, self.costs, self.weights, left, strict=True
        ):
            gain = np.linalg.solve(weights.input, model.B.T @ cost)
            growth = np.linalg.eigvals(model.A - model.B @ gain).real.max()
            rows.append((f"{s:.3g}", f"{growth:.4g}", f"{residual:.1e}"))
        count = len(rows)
        lines = (
            f"gains {self.gains.shape[1:]} at {count} posture{'s' * (count > 1)} of a motion from "
            f"{self.timing.begin:g} to {self.timing.end:g} s",
            f"largest residual of the Riccati equations: {left.max():.1e} of their largest terms",
            *self.notices,
        )
        columns = ("progress", "growth [1/s]", "residual")
        title = f"Regulator of {self.arm.arm.name}"
        return Summary(title, lines, columns, rows, max(1, PRINTED_LINES - len(lines)))

    def at(self, s: float) -> Array:
        """Return the gain at a progress, interpolated by a polynomial, shape (k, 2n)."""
        s = require_number("s", s)
        return np.asarray(chebyshev.chebval(2 * s - 1, self._series()))

    def trace(self, t: Expr) -> Expr:
        """Return the symbolic gain at a time [s], shape (k, 2n)."""
        if len(self.progress) == 1:
            return ca.SX(ca.sparsify(ca.DM(self.gains[0])))
        return chebyshev_series(self._series(), (0.0, 1.0), self.timing.trace(t)[0])

    def residuals(self) -> Array:
        """Return the relative residuals of the Riccati equations, shape (P,)."""
        errors = []
        for model, cost, weights in zip(self.models, self.costs, self.weights, strict=True):
            joined = cost @ model.B
            terms = (
                cost @ model.A,
                model.A.T @ cost,
                -joined @ np.linalg.solve(weights.input, joined.T),
                weights.state,
            )
            size = max(float(np.abs(term).max()) for term in terms)
            errors.append(float(np.abs(sum(terms)).max()) / size)
        return np.array(errors)

    def _series(self) -> Array:
        count = len(self.progress)
        flat = self.gains.reshape(count, -1)
        series = chebyshev.chebfit(2 * self.progress - 1, flat, count - 1)
        return np.asarray(series, dtype=float).reshape(self.gains.shape)


def lqr(
    trajectory: Trajectory,
    *,
    bandwidth: WithUnit = BANDWIDTH,
    points: int = 1,
    weights: Weights | None = None,
    friction: FrictionChoice = "off",
    friction_speed: float | None = None,
) -> Regulator:
    """Return optimal feedback gains of the decoupled arm, at the end of a motion or along one.

    Parameters
    ----------
    trajectory
        The motion; the arm is linearised at rest in its postures.
    bandwidth
        Bandwidth of the joints [rad/s] in the default weights.
    points
        Number of points along the motion at which gains are computed; between the points, gains are
        interpolated by progress. With 1, gains are computed for the motion's end only.
    weights
        Weights of the cost; if None, the defaults in the Notes.
    friction, friction_speed
        Treatment of Coulomb friction in the linear model: ``off``, ``secant`` (describing function
        at that amplitude of a joint's speed [rad/s], [m/s]; 0.1 if None) or ``tangent`` (slope of
        the smoothed friction at the state).  See `DryFriction`.

    Returns
    -------
    Regulator
        Gains, for ``decoupling_law(regulator=...)``.

    Notes
    -----
    Default weights: ``x^T state x`` is twice the elastic and kinetic energy of the arm, including
    springs of stiffness ``m bandwidth^2`` in the driven joints, and ``input = m / bandwidth^2``.
    Here ``m = (H M^-1 B)^-1`` is the effective inertia at the driven joints, with mass matrix M,
    input matrix B and selection H of the driven coordinates. Theodore & Ghosal 1995 do not publish
    their weights.

    Raises
    ------
    FlexarmError
        If some vibration is uncontrollable from the joints.
    """
    require_trajectory(trajectory)
    bandwidth = require_number(
        "bandwidth", bandwidth, least=SLOWEST_BANDWIDTH, largest=FASTEST_BANDWIDTH, unit="rad/s"
    )
    require_count("points", points, 1, most=MOST_GAINS)
    places = np.array([1.0]) if points == 1 else (chebyshev.chebpts2(points) + 1) / 2
    dry = DryFriction(friction, friction_speed)
    arm = trajectory.model
    tangent = Tangent(felt_by_joints(arm), wrenches=False, friction=dry)
    driven, states = drives(arm), remaining(arm)
    if weights is not None:
        require_fitting(weights, 2 * len(states), len(driven.names))
    statics = Statics(trajectory.model)
    models, used, costs, gains = [], [], [], []
    for s in places:
        q = trajectory.path.at(float(s))
        model = decoupled(tangent, driven, q, statics.effort(q))
        chosen = weights or energy_weights(tangent, driven, q, bandwidth)
        cost, gain = riccati(model, chosen)
        models.append(model)
        used.append(chosen)
        costs.append(cost)
        gains.append(np.zeros((len(gain), 2 * arm.size)))
        gains[-1][:, [*states, *(arm.size + i for i in states)]] = gain
    return Regulator(
        places,
        np.array(gains),
        np.array(costs),
        tuple(models),
        tuple(used),
        trajectory.timing,
        arm,
        dry.notices(arm, np.zeros(arm.size)),
    )


def require_fitting(weights: object, states: int, inputs: int) -> None:
    """Raise an error if the weights do not match the numbers of states and inputs."""
    require_kind("weights", weights, Weights, "Weights, or None")
    assert isinstance(weights, Weights)
    require_shaped("weights.state", weights.state, (states, states))
    require_shaped("weights.input", weights.input, (inputs, inputs))


def energy_weights(tangent: Tangent, driven: Drives, q: Array, bandwidth: float) -> Weights:
    """Return the default weights of `lqr`, derived from the arm's elastic and kinetic energy."""
    still = np.zeros(tangent.model.size)
    point = OperatingPoint(q, still, np.zeros(len(driven.names)))
    states = remaining(tangent.model)
    mass = carried_mass(tangent.model, tangent.matrices(point, still).mass)
    stiffness, rows = tangent.elastic(point)[np.ix_(states, states)], driven.motors[:, states]
    felt = np.linalg.inv(rows @ np.linalg.solve(mass, rows.T))
    springs = rows.T @ felt @ rows * bandwidth**2
    state = scipy.linalg.block_diag((stiffness + stiffness.T) / 2 + springs, (mass + mass.T) / 2)
    return Weights(state, (felt + felt.T) / (2 * bandwidth**2))


def riccati(model: StateMatrices, weights: Weights) -> tuple[Array, Array]:
    """Return cost matrix and gain from the continuous-time algebraic Riccati equation.

    The states are scaled by their weights, which improves the conditioning.
    """
    heavy = np.diag(weights.state)
    size = 1 / np.sqrt(np.where(heavy > 0, heavy, 1.0))
    try:
        with np.errstate(all="ignore"):  # SciPy warns of weights of very different magnitudes
            scaled = scipy.linalg.solve_continuous_are(
                model.A * size[None, :] / size[:, None],
                model.B / size[:, None],
                weights.state * size[None, :] * size[:, None],
                weights.input,
            )
        cost = scaled / size[None, :] / size[:, None]
        gain = np.asarray(np.linalg.solve(weights.input, model.B.T @ cost), dtype=float)
        values = np.linalg.eigvals(model.A - model.B @ gain)
        solved = bool(values.real.max() < -NEGLIGIBLE * np.abs(values).max())
    # SciPy's errors for an ill-conditioned matrix pencil
    except (np.linalg.LinAlgError, ValueError):
        solved = False
    if not solved:
        raise FlexarmError(
            "no optimal gain was found. Some vibration may be uncontrollable from the joints, "
            "or the weights may differ too much in size. Give the vibration damping, or leave "
            "its shapes out."
        )
    return cost, gain


# double eigenvalues of free joints have errors of sqrt(EPSILON)
EPSILON = float(np.finfo(float).eps)


def lqr_gain(space: StateSpace, *, weights: Weights | None = None, cost: float = 1.0) -> Array:
    """Return the LQR gain K of ``u = u_0 - K (x - x_0)`` about an operating point.

    Parameters
    ----------
    space
        Result of `flexarm.linearise`. A free base must be at rest; its gains are 0.
    weights
        Weights of the model's inputs and of its states except those of a free base.
    cost
        Input weight used without ``weights``: the integral of ``y^T y + cost u^T u`` is minimised,
        with outputs y.

    Returns
    -------
    Array
        (inputs, states), in the order of ``space``.
    """
    _, chosen, plant = _carried(space)
    gain = np.zeros((plant.B.shape[1], len(space.A)))
    gain[:, chosen] = riccati(plant, _weighed(space, chosen, weights, cost))[1]
    return gain


def lqr_law(space: StateSpace, *, weights: Weights | None = None, cost: float = 1.0) -> ca.Function:
    """Return the LQR control law (t, q, v) -> u that holds an arm at an operating point.

    Parameters
    ----------
    space, weights, cost
        As for `lqr_gain`.

    Returns
    -------
    casadi.Function
        (t, q, v) to u, for ``flexarm.simulate(control=...)``.
    """
    gain = lqr_gain(space, weights=weights, cost=cost)
    n, (q0, v0) = space.model.size, (space.point.q, space.point.v)
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("v", n)
    free = _free(space)
    x = ca.vertcat((q - q0)[free], (v - v0)[free])
    u = ca.DM(space.point.u) - ca.sparsify(ca.DM(gain)) @ x
    return ca.Function("law", [t, q, v], [ca.densify(u)], ["t", "q", "v"], ["u"])


@dataclass(repr=False)
class Observer(Summarised):
    """An LQG regulator: state feedback of the estimate of a Kalman filter.

    Attributes
    ----------
    space
        The linear model, whose outputs are measured.
    A, B
        Discrete-time state and input matrices for one sampling period with constant inputs.
    gain, correction
        Feedback gain from states to inputs, and Kalman gain from output errors to the state
        estimate.
    estimate
        Predicted deviation of the state at the next sample.
    """

    space: StateSpace
    A: Array
    B: Array
    gain: Array
    correction: Array
    estimate: Array

    def _summary(self) -> Summary:
        estimator = self.A @ (np.eye(len(self.A)) - self.correction @ self.space.C)
        matrices = {
            "errors of the state": self.A - self.B @ self.gain,
            "errors of the estimate": estimator,
        }
        lines = (
            f"sees {', '.join(self.space.outputs)}",
            f"drives {', '.join(self.space.inputs)}",
            *(
                f"{label}: {np.abs(np.linalg.eigvals(matrix)).max(initial=0.0):.6g} of the slowest "
                "are left after a period"
                for label, matrix in matrices.items()
            ),
        )
        title = f"Regulator with an observer of {self.space.model.arm.name}"
        return Summary(f"{title}: {len(self.A)} states", lines)

    def begin(self) -> "Observer":
        """Return the regulator with the state estimate reset to zero deviation."""
        return replace(self, estimate=np.zeros_like(self.estimate))

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Update the state estimate with the outputs measured at (q, v); return the inputs."""
        point, free = self.space.point, _free(self.space)
        y = self.space.C @ np.concatenate([(q - point.q)[free], (v - point.v)[free]])
        corrected = self.estimate + self.correction @ (y - self.space.C @ self.estimate)
        change = -self.gain @ corrected
        self.estimate = self.A @ corrected + self.B @ change
        return np.asarray(point.u + change)


def lqg_law(
    space: StateSpace,
    period: float,
    *,
    weights: Weights | None = None,
    cost: float = 1.0,
    disturbance: float = 1.0,
    noise: float | Array = 1e-3,
) -> Sampled:
    """Return a sampled LQG control law that measures only the outputs of a linear model.

    Parameters
    ----------
    space
        Result of `flexarm.linearise`. The law measures all its outputs, none of which may be an
        acceleration.
    period
        Time between two samples [s].
    weights, cost
        As for `lqr_gain`.
    disturbance
        Intensity [N m sqrt(s)] of the white-noise disturbance of the inputs that the observer
        assumes.
    noise
        Standard deviation of the measurement noise that the observer assumes, one number or one per
        output.

    Returns
    -------
    Sampled
        For ``flexarm.simulate(control=...)``; its ``law`` is an `Observer`.
    """
    period = require_positive("period", period, unit="s")
    disturbance = require_positive("disturbance", disturbance)
    _, chosen, plant = _carried(space)
    C = space.C[:, chosen]
    if np.any(space.D):
        raise FlexarmError(
            "space: an observer cannot use outputs that are accelerations. Leave them out."
        )
    spread = require_array("noise", noise)
    if spread.shape not in ((), (len(C),)) or not np.all(spread > 0):
        raise FlexarmError(f"noise: must be one number or {len(C)}, all > 0, got {spread.tolist()}")
    chosen_weights = _weighed(space, chosen, weights, cost)
    A, B, costs = sampled_costs(plant, chosen_weights, period)
    pushed = disturbance * plant.B
    shaken = _integral(plant.A.T, pushed @ pushed.T, period)[1]
    try:
        P = scipy.linalg.solve_discrete_are(A, B, *costs[:2], s=costs[2])
        gain = np.linalg.solve(costs[1] + B.T @ P @ B, B.T @ P @ A + costs[2].T)
        V = np.diag(np.broadcast_to(spread**2, len(C)))
        S = scipy.linalg.solve_discrete_are(A.T, C.T, shaken, V)
    except (np.linalg.LinAlgError, ValueError):
        raise FlexarmError(
            "no optimal regulator was found. Some motion may be uncontrollable from the inputs "
            "or unobservable in the outputs. Give that motion damping, or name more outputs."
        ) from None
    correction = S @ C.T @ np.linalg.inv(C @ S @ C.T + V)
    size = len(space.A)
    wide = [np.zeros((size, size)), np.zeros((size, B.shape[1])), np.zeros((B.shape[1], size)),
            np.zeros((size, len(C)))]  # fmt: skip
    wide[0][np.ix_(chosen, chosen)], wide[1][chosen], wide[2][:, chosen] = A, B, gain
    wide[3][chosen] = correction
    return Sampled(Observer(space, wide[0], wide[1], wide[2], wide[3], np.zeros(size)), period)


def loop_margins(space: StateSpace, gain: Array) -> dict[str, Margins]:
    """Return the stability margins of ``u = u_0 - gain x``, keyed by input.

    Parameters
    ----------
    space
        The linear model.
    gain
        Feedback gain, (inputs, states), such as the result of `lqr_gain`.

    Returns
    -------
    dict[str, Margins]
        Margins of gain, phase and distance, by input.

    Raises
    ------
    FlexarmError
        If the closed loop is unstable with this gain.
    """
    _require_space(space)
    gain = require_shaped("gain", gain, (space.B.shape[1], len(space.A)))
    closed = space.A - space.B @ gain
    poles = np.linalg.eigvals(closed)
    growth = float(poles.real.max(initial=0.0))
    if growth > math.sqrt(EPSILON) * float(np.abs(poles).max(initial=0.0)):
        raise FlexarmError(
            f"gain: the closed loop is unstable, and a motion grows at {growth:.3g} 1/s. "
            "Margins are defined for stable loops only."
        )
    return {
        name: margins_of(closed + np.outer(b, row), b, row)
        for name, b, row in zip(space.inputs, space.B.T, gain, strict=True)
    }


def _require_space(space: object) -> None:
    require_kind("space", space, StateSpace, "a StateSpace, as flexarm.linearise returns")


def _free(space: StateSpace) -> list[int]:
    """Return the indices of the coordinates that are states of the linear model."""
    return [space.model.names.index(name) for name in space.states[: len(space.A) // 2]]


def _carried(space: StateSpace) -> tuple[list[int], list[int], StateMatrices]:
    """Return coordinate indices, state indices and the linear model without a free base.

    The indices refer to the states of ``space``, in which a free base must be at rest.
    """
    _require_space(space)
    if not space.inputs:
        raise FlexarmError(
            "space: the arm has no driven joint. Write 'actuation: torque' for at least one."
        )
    if space.model.floats and np.any(space.point.v):
        raise FlexarmError(
            "space: a free base must be at rest in the state that the model is "
            "linearised about. Linearise about an equilibrium."
        )
    free, carried = _free(space), set(remaining(space.model))
    left = [k for k, i in enumerate(free) if i in carried]
    chosen = [*left, *(len(free) + k for k in left)]
    return left, chosen, StateMatrices(space.A[np.ix_(chosen, chosen)], space.B[chosen])


def _weighed(space: StateSpace, chosen: list[int], weights: Weights | None, cost: float) -> Weights:
    if weights is not None:
        require_fitting(weights, len(chosen), space.B.shape[1])
        return weights
    cost = require_number("cost", cost, least=1e-300)
    C = space.C[:, chosen]
    return Weights(C.T @ C, cost * np.eye(space.B.shape[1]))


def _integral(A: Array, weight: Array, period: float) -> tuple[Array, Array]:
    """Return ``e^(A h)`` and the integral of ``e^(A^T s) weight e^(A s)`` over a period h.

    The block-matrix exponential of Van Loan (1978) contains ``e^(-A h)``, which grows as fast as
    the modes of A decay. The exponential is therefore computed for a fraction of the period only;
    repeated doubling extends it to the whole period without cancellation.
    """
    n = len(A)
    balanced, (size, _) = scipy.linalg.matrix_balance(A, permute=False, separate=True)
    weight = weight * np.outer(size, size)
    unit = float(np.abs(weight).max() / max(np.abs(balanced).max(), 1e-300)) or 1.0
    doubled = math.ceil(math.log2(max(float(np.abs(np.linalg.eigvals(A)).max()) * period, 1.0)))
    block = np.block([[-balanced.T, weight / unit], [np.zeros((n, n)), balanced]])
    exponential = scipy.linalg.expm(period / 2**doubled * block)
    forward, total = exponential[n:, n:], exponential[n:, n:].T @ exponential[:n, n:]
    for _ in range(doubled):
        total = total + forward.T @ total @ forward
        forward = forward @ forward
    scale = size[:, None] / size
    return forward * scale, total * unit / np.outer(size, size)


def sampled_costs(
    plant: StateMatrices, weights: Weights, period: float
) -> tuple[Array, Array, tuple[Array, Array, Array]]:
    """Return discrete-time A, B and cost matrices (Q, R, N) for piecewise constant inputs.

    N is the cross weight of states and inputs over one period.
    """
    n, m = plant.B.shape
    joint = np.vstack([np.hstack([plant.A, plant.B]), np.zeros((m, n + m))])
    forward, total = _integral(joint, scipy.linalg.block_diag(weights.state, weights.input), period)
    total = (total + total.T) / 2
    return forward[:n, :n], forward[:n, n:], (total[:n, :n], total[n:, n:], total[:n, n:])
