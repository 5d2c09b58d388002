"""State feedback about an operating point: LQR, LQG with an observer, stability margins."""

import math
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import scipy.linalg

from flexarm.arguments import require_array, require_kind, require_number, require_positive
from flexarm.arm.summary import Summarised, Summary
from flexarm.control.drives import remaining
from flexarm.control.laws.lqr import Weights, require_fitting, riccati
from flexarm.control.margins import Margins, margins_of
from flexarm.errors import FlexarmError
from flexarm.integrate.laws import Sampled
from flexarm.linear.state_space import StateSpace
from flexarm.linear_model import StateMatrices
from flexarm.spatial import Array

EPSILON = float(np.finfo(float).eps)  # double eigenvalues of free joints have errors of its root


def lqr_gain(space: StateSpace, *, weights: Weights | None = None, cost: float = 1.0) -> Array:
    """Return the LQR gain K of ``u = u_0 - K (x - x_0)`` about an operating point.

    Parameters
    ----------
    space
        Result of `flexarm.linearise`.  A free base must be at rest, and has no gain.
    weights
        Weights of the model's inputs and of its states, without those of a free base.
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
    """An LQG regulator: state feedback with a Kalman filter that measures outputs only.

    Attributes
    ----------
    space
        The linear model, whose outputs are measured.
    A, B
        Discrete-time matrices of the linear model over a period with constant inputs.
    gain, correction
        Feedback gain from states to inputs, and observer gain from output errors to the estimate.
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
        Result of `flexarm.linearise`; its outputs, without accelerations, are measured.
    period
        Time between two samples [s].
    weights, cost
        As for `lqr_gain`.
    disturbance
        Intensity of the white disturbance of the inputs that the observer assumes [N m sqrt(s)].
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
        As `lqr_gain` gives it, (inputs, states).

    Returns
    -------
    dict[str, Margins]
        Margins of gain, phase and distance, by input.

    Raises
    ------
    FlexarmError
        If the loop is not stable with this gain.
    """
    _require_space(space)
    gain = require_array("gain", gain)
    shape = (space.B.shape[1], len(space.A))
    if gain.shape != shape:
        raise FlexarmError(f"gain: must be of shape {shape}, (inputs, states), got {gain.shape}")
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
    """Return coordinate indices, state indices and linear model after removal of a free base.

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

    The block-matrix exponential of Van Loan (1978) is used for a fraction of the period, since it
    grows as fast as A decays; doubling then covers the period without cancellation.
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
