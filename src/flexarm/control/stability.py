"""Stability: eigenvalues of closed loops, the lemma of the decoupling law, margins of a loop.

| paper symbol | eq. | code name |
|---|---|---|
| alpha | 48, lemma | stiffness_error |
| H | 50 | coupling |
| K^ - K | 48 | stiffness_error * K |

The symbols are those of Theodore & Ghosal 1995, section 4.3. The arm rests in a posture, without
external wrenches.

Margins are gain, phase and distance of a single-input loop's response from -1. Frequencies at which
the response is real or has magnitude 1 are computed as imaginary eigenvalues, not on a frequency
grid, which could miss some. The largest sensitivity is found by an iteration on the frequencies at
which it exceeds a bound (Bruinsma & Steinbuch 1990).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt
import scipy.linalg

from flexarm.arguments import renamed, require_count, require_kind, require_number, require_shaped
from flexarm.constants import NEGLIGIBLE
from flexarm.control.constants import (
    MARGIN_ACCURACY,
    MOST_POSTURES,
    PEAK_ITERATIONS,
    SEARCHED_ERROR,
)
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
from flexarm.threads import one_blas_thread


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
        """Bound on the stiffness error by the lemma of Theodore & Ghosal 1995, shape (P,)."""
        return np.asarray(1 / np.maximum(self.coupling, 1e-300))


class FrozenLoop:
    """Closed loop of an arm under the decoupling law, linearised at rest in a posture.

    Parameters
    ----------
    model
        The arm.
    friction
        Treatment of Coulomb friction in the arm's linear models.
    """

    def __init__(self, model: Model, *, friction: DryFriction = LEFT_OUT) -> None:
        self.model, self._drives = model, drives(model)
        self._kept = remaining(model)
        self._tangent = Tangent(felt_by_joints(model), wrenches=False, friction=friction)
        self._statics = Statics(model)
        self._equation = formulation(DEFAULT, model)

    def coupling(self, q: Array) -> float:
        """Return the largest eigenvalue of the coupling matrix H of eq. 50 at coordinates q."""
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

        Growth rates up to ``allowed`` [1/s] count as stable, because without damping in the links
        every overestimate causes a little growth. Return infinity if no error up to 1000 is
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
        """Return the closed-loop system matrix A and dA / d(stiffness error).

        The matrices have shape (2r, 2r).
        """
        n, driven = len(self._kept), self._drives
        rows = driven.motors[:, self._kept]
        q = require_shaped("q", q, (self.model.size,))
        loop = decoupled(self._tangent, driven, q, self._statics.effort(q))
        gains = driven.gains("kp", kp, "1/s^2")
        rates = driven.gains("kd", kd, "1/s")
        A = loop.A - loop.B @ np.hstack([gains[:, None] * rows, rates[:, None] * rows])
        # The law compensates elastic forces that do not exist; the error of u is their effect on
        # the driven accelerations H a.
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
        Growth rate [1/s] up to which the loop counts as stable in ``StiffnessError.largest``.
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

    The eigenvalues of the Jacobian of (v, a) with respect to (q, v) are computed at every
    ``every``-th sample. The eigenvalues are exact in motion too, apart from Coulomb friction. Each
    column follows one eigenvalue from sample to sample. Prescribed coordinates have no eigenvalues.
    A free base adds 12 eigenvalues, which are 0 if the arm rests.

    Parameters
    ----------
    law
        The control law (t, q, v) to u under which the run was made.
    run
        The run.
    every
        Number of samples from one evaluation to the next.
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
        # derivatives of forces with respect to q, v and a
        slopes = motion.slopes().call(*now, a, *with_reference)[:3]
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


@dataclass(frozen=True)
class Margins:
    """Stability margins of a control loop opened at one input, with the other inputs closed.

    Attributes
    ----------
    gain
        Factor of the loop's gain at the limit of stability; infinite if there is none.
    phase
        Phase lag at the limit of stability [rad]; infinite if there is none.
    distance
        Least distance of the loop's frequency response from -1: one over the largest sensitivity.
    """

    gain: float
    phase: float
    distance: float


@one_blas_thread
def margins_of(A: Array, b: Array, c: Array) -> Margins:
    """Return the stability margins of the loop ``c (s - A)^-1 b`` under negative feedback.

    Parameters
    ----------
    A, b, c
        Matrices of the open loop, (n, n), (n,) and (n,); the closed loop ``A - b c`` must have no
        growing mode.
    """
    A, b, c = _balanced(A, b, c)

    def loop(frequency: float) -> complex:
        return _response(A, b, c, frequency)

    steady = loop(0.0)
    real = [response.real for response in _crossings(loop, np.imag, _real_at(A, b, c))]
    real += [steady.real] if math.isfinite(abs(steady)) else []
    ones = _crossings(loop, lambda x: abs(x) - 1.0, _hamiltonian(A, b, c, 0.0, 1.0))
    return Margins(
        min((-1 / response for response in real if -1 < response < 0), default=math.inf),
        min(
            (float(np.angle(response) + np.pi) % (2 * np.pi) for response in ones), default=math.inf
        ),
        1 / _largest_sensitivity(A, b, c),
    )


def _balanced(A: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """Return A, b and c in scaled states, with balanced A and equal norms of b and c."""
    scaled, (sizes, _) = scipy.linalg.matrix_balance(A, permute=False, separate=True)
    b, c = b / sizes, c * sizes
    of_b, of_c = (max(float(np.linalg.norm(x)), 1e-150) for x in (b, c))
    ratio = math.sqrt(of_c / of_b)
    return np.asarray(scaled), b * ratio, c / ratio


def _response(A: Array, b: Array, c: Array, frequency: float) -> complex:
    try:
        return complex(c @ np.linalg.solve(1j * frequency * np.eye(len(A)) - A, b))
    except np.linalg.LinAlgError:  # the frequency is a pole
        return complex(math.inf, 0.0)


def _crossings(
    loop: Callable[[float], complex], value: Callable[[complex], float], frequencies: Array
) -> list[complex]:
    """Return the frequency responses where ``value`` crosses zero near given frequencies."""
    from scipy.optimize import brentq

    responses = []
    for frequency in frequencies:
        low, high = (1 - MARGIN_ACCURACY) * frequency, (1 + MARGIN_ACCURACY) * frequency
        ends = value(loop(low)), value(loop(high))
        if np.all(np.isfinite(ends)) and ends[0] * ends[1] <= 0:
            at = brentq(lambda w: value(loop(w)), low, high, xtol=1e-15 * frequency, rtol=1e-14)
            responses.append(loop(float(at)))
    return responses


def _real_at(A: Array, b: Array, c: Array) -> Array:
    """Return frequencies [rad/s] at which the response may be real: zeros of L(s) - L(-s)."""
    n = len(A)
    pencil = np.zeros((2 * n + 1, 2 * n + 1))
    pencil[:n, :n], pencil[n:-1, n:-1] = A, -A
    pencil[:-1, -1], pencil[-1, :-1] = np.tile(b, 2), np.tile(c, 2)
    mass = np.eye(2 * n + 1)
    mass[-1, -1] = 0.0
    return _frequencies(scipy.linalg.eigvals(pencil, mass))


def _hamiltonian(A: Array, b: Array, c: Array, direct: float, size: float) -> Array:
    """Return frequencies [rad/s] where ``|direct + c (jw - A)^-1 b|`` may equal ``size``."""
    left = size**2 - direct**2
    inner = A + np.outer(b, c) * (direct / left)
    whole = np.block([
        [inner, np.outer(b, b) / left],
        [-np.outer(c, c) * (1 + direct**2 / left), -inner.T],
    ])  # fmt: skip
    return _frequencies(np.linalg.eigvals(whole))


def _frequencies(eigenvalues: npt.NDArray[np.complexfloating]) -> Array:
    size = np.abs(np.imag(eigenvalues[np.isfinite(eigenvalues)]))
    return np.unique(size[size > 0])


def _largest_sensitivity(A: Array, b: Array, c: Array) -> float:
    """Return the peak of the sensitivity ``|1 / (1 + L)|`` over frequency, at least 1."""
    closed = A - np.outer(b, c)

    def sensitivity(frequency: float) -> float:
        return abs(1.0 - _response(closed, b, c, frequency))

    poles = np.linalg.eigvals(closed)
    tried = [0.0, *np.abs(poles), *np.abs(poles.imag)]
    most = max(1.0, *(x for x in map(sensitivity, tried) if math.isfinite(x)))
    for _ in range(PEAK_ITERATIONS):
        ends = _hamiltonian(closed, b, -c, 1.0, (1 + MARGIN_ACCURACY) * most)
        between = [*np.sqrt(ends[:-1] * ends[1:]), *ends]
        better = max((x for x in map(sensitivity, between) if math.isfinite(x)), default=0.0)
        if better <= (1 + MARGIN_ACCURACY) * most:
            break
        most = better
    return most
