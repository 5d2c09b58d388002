"""Linear-quadratic regulators of joint errors and vibrations along a path (eq. 37)."""

from dataclasses import dataclass

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
from flexarm.control.decoupled import carried_mass, decoupled
from flexarm.control.drives import Drives, drives, felt_by_joints, remaining
from flexarm.control.statics import Statics
from flexarm.control.timing import Timing
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.errors import FlexarmError
from flexarm.linear.friction import DryFriction, FrictionChoice
from flexarm.linear.tangent import OperatingPoint, Tangent
from flexarm.linear_model import StateMatrices
from flexarm.links.growing.fields import chebyshev_series
from flexarm.model import Model
from flexarm.spatial import Array, Expr


@dataclass(frozen=True)
class Weights:
    """Weight matrices of the cost: the integral of ``x^T state x + w^T input w``.

    Attributes
    ----------
    state
        Weights of the changes of q and v, (2r, 2r), without a free base and prescribed coordinates.
    input
        Weights of the accelerations of the driven joints, (k, k).
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
    """Feedback gains scheduled along a path: w = - gain (x - x_d).

    Attributes
    ----------
    progress
        Progress along the path at which gains were computed, from 0 to 1, (P,).
    gains
        Feedback gains at these points, (P, k, 2n).
    costs
        Solutions of the Riccati equation at these points, (P, 2r, 2r), without a free base and
        prescribed coordinates.
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
        Number of points along the motion, with gains interpolated by progress; 1 is its end.
    weights
        Weights instead of the default ones, see Notes.
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
    Without ``weights``, ``x^T state x`` is twice the elastic and kinetic energy of the arm, springs
    of stiffness ``m bandwidth^2`` in the driven joints included, and ``input = m / bandwidth^2``,
    with ``m = (H M^-1 B)^-1`` the inertia that the joints feel.  Theodore & Ghosal 1995 do not
    give theirs.

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

    States are scaled by their weights for the solution.
    """
    heavy = np.diag(weights.state)
    size = 1 / np.sqrt(np.where(heavy > 0, heavy, 1.0))
    try:
        with np.errstate(all="ignore"):  # SciPy's, of weights too far apart
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
    except (np.linalg.LinAlgError, ValueError):  # SciPy's, of a pencil that is ill-conditioned
        solved = False
    if not solved:
        raise FlexarmError(
            "no optimal gain was found. Some vibration may be uncontrollable from the joints, "
            "or the weights may differ too much in size. Give the vibration damping, or leave "
            "its shapes out."
        )
    return cost, gain
