"""Stability of an arm under the decoupling law: the lemma of the paper and exact eigenvalues.

| paper symbol | eq. | code name |
|---|---|---|
| alpha | 48, lemma | stiffness_error |
| H | 50 | coupling |
| K^ - K | 48 | stiffness_error * K |

Theodore & Ghosal 1995, section 4.3, without wrenches, at rest in a posture.
"""

import itertools
from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.arguments import renamed, require_count, require_kind, require_number, require_shaped
from flexarm.constants import NEGLIGIBLE
from flexarm.control.constants import MOST_POSTURES, SEARCHED_ERROR
from flexarm.control.statics import (
    Gain,
    Statics,
    carried_mass,
    decoupled,
    drives,
    felt_by_joints,
    remaining,
    require_stiffness_error,
)
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.errors import FlexarmError
from flexarm.formulations import DEFAULT, formulation
from flexarm.integrate.laws import refuse_misfit
from flexarm.integrate.motion import MotionFunctions
from flexarm.linear.tangent import LEFT_OUT, DryFriction, FrictionChoice, Tangent
from flexarm.linear_model import Complex, undamped
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.loads import prescribed_accelerations, wrench_list
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Model
from flexarm.runs.run import Run
from flexarm.spatial import Array


@dataclass(frozen=True)
class StiffnessError:
    """Stability under an overestimated link stiffness, at P postures along a path.

    Attributes
    ----------
    progress
        Progress along the path, (P,).
    coupling
        Largest eigenvalue of H, (P,); the lemma requires ``alpha coupling < 1``.
    eigenvalues
        Exact eigenvalues of the closed loop [1/s], (P, 2n) complex.
    growth
        Largest real part of the eigenvalues [1/s], (P,).
    largest
        Largest stiffness error up to which no eigenvalue grows faster than allowed, (P,); infinite
        if it is above 1000.
    notices
        Sentences on the treatment of Coulomb friction, by joint.
    """

    progress: Array
    coupling: Array
    eigenvalues: Complex
    growth: Array
    largest: Array
    notices: tuple[str, ...]

    @property
    def bound(self) -> Array:
        """Upper bound on the stiffness error by the paper's lemma, shape (P,)."""
        return np.asarray(1 / np.maximum(self.coupling, 1e-300))


class FrozenLoop:
    """Closed loop of an arm under the decoupling law, linearised at rest in a posture.

    Parameters
    ----------
    model
        The arm.
    friction
        Treatment of Coulomb friction in its linear models.
    """

    def __init__(self, model: Model, *, friction: DryFriction = LEFT_OUT) -> None:
        self.model, self._drives = model, drives(model)
        self._kept = remaining(model)
        self._tangent = Tangent(felt_by_joints(model), wrenches=False, friction=friction)
        self._statics = Statics(model)
        self._equation = formulation(DEFAULT, model)

    def coupling(self, q: Array) -> float:
        """Return the largest eigenvalue of the coupling matrix H (eq. 50) at coordinates q."""
        rows = self._drives.motors[:, self._kept]
        mass = self._mass(q)
        driven = np.argmax(np.abs(rows), axis=1)
        rest = [i for i in range(len(mass)) if i not in driven]
        if not np.allclose(np.delete(rows, driven, axis=1), 0.0):
            raise FlexarmError(
                "the stability lemma needs shapes that do not turn the link's hub. Use loaded or "
                "clamped shapes."
            )
        m_rr, m_rf, m_ff = (
            mass[np.ix_(driven, driven)], mass[np.ix_(driven, rest)], mass[np.ix_(rest, rest)]
        )  # fmt: skip
        pulled = m_rf.T @ np.linalg.solve(m_rr, m_rf)
        # H = pulled (M_ff - pulled)^-1: a pencil of symmetric matrices has real eigenvalues.
        values = undamped(m_ff - pulled, pulled)[0]
        return float(values[-1]) if len(values) else 0.0

    @renamed(stiffness="kp", damping="kd")
    def eigenvalues(self, q: Array, *, kp: Gain, kd: Gain, stiffness_error: float = 0.0) -> Complex:
        """Return the closed-loop eigenvalues [1/s] about the equilibrium at q, shape (2n,).

        If gravity bends the links, a law with a stiffness error settles at a nearby equilibrium.
        """
        error = require_stiffness_error(stiffness_error)
        exact, change = self._closed_loop(q, kp, kd)
        return _eigenvalues(exact + error * change)

    @renamed(stiffness="kp", damping="kd")
    def largest_error(self, q: Array, *, kp: Gain, kd: Gain, allowed: float = 0.0) -> float:
        """Return the largest stiffness error up to which the closed loop is stable at q.

        ``allowed`` is a growth rate [1/s] that is accepted: without damping in the links every
        overestimate causes a little growth. The result is infinite if no error up to 1000 is
        unstable.
        """
        allowed = require_number("allowed", allowed)
        exact, change = self._closed_loop(q, kp, kd)

        def growth(error: float) -> float:
            values = np.linalg.eigvals(exact + error * change)
            return float(values.real.max() - allowed - NEGLIGIBLE * np.abs(values).max())

        if growth(0.0) > 0:
            return 0.0
        tried = np.concatenate([[0.0], np.geomspace(1e-4, SEARCHED_ERROR, 141)])
        for low, high in itertools.pairwise(tried.tolist()):
            if growth(high) > 0:
                from scipy.optimize import brentq

                return float(brentq(growth, low, high, xtol=1e-12))
        return float("inf")

    def _mass(self, q: Array) -> Array:
        """Return the mass matrix with a free base eliminated, shape (r, r)."""
        mass = self._equation.mass_matrix(require_shaped("q", q, (self.model.size,)))
        require_inertia(self.model, mass, when="in this posture")
        return carried_mass(self.model, mass)

    def _closed_loop(self, q: Array, kp: Gain, kd: Gain) -> tuple[Array, Array]:
        """Return the closed-loop system matrix and its derivative by the stiffness error.

        Both have shape (2r, 2r).
        """
        n, driven = len(self._kept), self._drives
        rows = driven.motors[:, self._kept]
        q = require_shaped("q", q, (self.model.size,))
        loop = decoupled(self._tangent, driven, q, self._statics.effort(q))
        gains = driven.gains("kp", kp, "1/s^2")
        rates = driven.gains("kd", kd, "1/s")
        A = loop.A - loop.B @ np.hstack([gains[:, None] * rows, rates[:, None] * rows])
        # The law assumes forces that do not exist: u is off by their effect on H a.
        believed = -np.linalg.solve(self._mass(q), self._links(q))
        change = -loop.B[n:] @ rows @ believed
        return A, np.vstack([np.zeros((n, 2 * n)), np.hstack([change, np.zeros((n, n))])])

    def _links(self, q: Array) -> Array:
        """Return the tangent stiffness matrix of the elastic forces of the links, shape (r, r)."""
        x = ca.SX.sym("q", self.model.size)
        force = ca.SX.zeros(self.model.size)
        for part in self.model.links:
            effort = body_of(self.model, part).effort(x)
            for i, column in enumerate(part.own):
                force[column] += effort[i]
        stiffness = ca.Function("links", [x], [ca.densify(ca.jacobian(force, x))])(q)
        return np.array(stiffness)[np.ix_(self._kept, self._kept)]


@renamed(stiffness="kp", damping="kd")
def stiffness_error_along(
    trajectory: Trajectory,
    *,
    kp: Gain,
    kd: Gain,
    stiffness_error: float = 0.0,
    points: int = 11,
    allowed: float = 0.0,
    friction: FrictionChoice = "off",
    friction_speed: float | None = None,
) -> StiffnessError:
    """Return the lemma's bound and closed-loop eigenvalues at postures along a path.

    Parameters
    ----------
    trajectory
        The path.
    kp, kd
        Gains G_p [1/s^2] and G_v [1/s] of the decoupling law.
    stiffness_error
        Relative error alpha of the law's stiffness of the links.
    points
        Number of postures, evenly spaced in progress.
    allowed
        Growth rate [1/s] that is accepted in ``largest``.
    friction, friction_speed
        Treatment of Coulomb friction in the linear model: ``off``, ``secant`` (describing function
        at that amplitude of a joint's speed [rad/s], [m/s]; 0.1 if None) or ``tangent`` (slope of
        the smoothed friction at the state).  See `DryFriction`.

    Returns
    -------
    StiffnessError
        The lemma's bound and the exact limit, by posture.
    """
    require_trajectory(trajectory)
    require_count("points", points, 1, most=MOST_POSTURES)
    dry = DryFriction(friction, friction_speed)
    loop = FrozenLoop(trajectory.model, friction=dry)
    progress = np.linspace(0.0, 1.0, points)
    postures = [trajectory.path.at(float(s)) for s in progress]
    values = np.array(
        [loop.eigenvalues(q, kp=kp, kd=kd, stiffness_error=stiffness_error) for q in postures]
    )
    return StiffnessError(
        progress,
        np.array([loop.coupling(q) for q in postures]),
        values,
        values.real.max(axis=1),
        np.array([loop.largest_error(q, kp=kp, kd=kd, allowed=allowed) for q in postures]),
        dry.notices(loop.model, np.zeros(loop.model.size)),
    )


def closed_loop_eigenvalues(
    law: ca.Function,
    run: Run,
    *,
    every: int = 1,
    friction: FrictionChoice = "off",
    friction_speed: float | None = None,
) -> Complex:
    """Return the closed-loop eigenvalues at the states of a run [1/s], shape (T, 2n).

    They are eigenvalues of the Jacobian of (v, a) with respect to (q, v), at every ``every``-th
    sample; apart from Coulomb friction, they are exact in motion too. Each column follows one
    eigenvalue from sample to sample. Prescribed coordinates have none. A free base adds 12
    eigenvalues, which are 0 if the arm rests.

    Parameters
    ----------
    law
        The control law (t, q, v) to u under which the run was made.
    run
        The run.
    every
        Interval in samples.
    friction, friction_speed
        As for `stiffness_error_along`.

    Returns
    -------
    Array
        Complex, one row per sample.
    """
    require_kind("run", run, Run, "a Run")
    refuse_misfit(law, run.model)
    require_count("every", every, 1)
    n = run.model.size
    dry, slope_of_run = DryFriction(friction, friction_speed), DryFriction("tangent")
    left = np.delete(np.arange(n), run.model.prescribed)
    open_ = np.ix_(left, left)
    motion = MotionFunctions(formulation(DEFAULT, run.model), law)
    wrenches = np.zeros(len(wrench_list(run.model)))
    rows: list[Complex] = []
    states = zip(run.t, run.q, run.v, run.reference_attitudes, strict=True)
    for t, q, v, reference_attitude in itertools.islice(states, 0, None, every):
        with_reference = (reference_attitude,) if run.model.attitudes else ()
        prescribed = prescribed_accelerations(run.model, float(t))
        now = np.array([t]), q, v, wrenches
        a = motion.compiled().call(*now, prescribed, *with_reference)[0]
        slopes = motion.slopes().call(*now, a, *with_reference)[:3]  # of forces: by q, v and a
        by_q, by_v, M = (matrix.reshape(n, n).T[open_] for matrix in slopes)
        excess = slope_of_run.damping(run.model, v) - dry.damping(run.model, v)
        slope = -np.linalg.solve(M, np.hstack([by_q, by_v - excess[open_]]))
        count = len(left)
        values = _eigenvalues(np.vstack([np.eye(count, 2 * count, count), slope]))
        rows.append(_matched(rows[-1], values) if rows else np.sort_complex(values))
    return np.array(rows)


def _eigenvalues(matrix: Array) -> Complex:
    return np.asarray(np.linalg.eigvals(matrix), dtype=np.complex128)


def _matched(
    before: Complex,
    values: Complex,
) -> Complex:
    """Return eigenvalues reordered so that their total distance to the previous ones is least."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.abs(before[:, None] - values[None, :]))
    return values[columns[np.argsort(rows)]]
