"""Stable inversion: the bounded input for which the tip of a flexible link follows a motion.

From the hub's torque to the tip the link is non-minimum-phase: its internal dynamics are unstable
when the tip follows a prescribed path. The internal dynamics have a bounded solution that starts
before the tip's motion (Bayo 1987; Devasia, Chen & Paden 1996): decaying modes are integrated
forward in time, growing ones backward.
"""

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
import scipy.linalg

from flexarm.arguments import require_count, require_kind, require_number
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.control.constants import (
    FEWEST_INSTANTS,
    INSTANTS_OF_MOTION,
    INVERSION_ITERATIONS,
    LARGEST_TIP_ANGLE,
    MOST_INSTANTS,
)
from flexarm.control.statics import Statics, drives, solve_input, start_at
from flexarm.control.trajectory import Timing
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import DEFAULT, formulation
from flexarm.linear_model import Complex
from flexarm.mechanics.kinematics import end_frame, frames
from flexarm.mechanics.loads import wrench_list
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Model
from flexarm.model.profiles import cubic_spline
from flexarm.spatial import Array, Expr


@dataclass(frozen=True, repr=False)
class Inversion(Summarised):
    """Input and motion of a flexible link whose tip follows a path, from stable inversion.

    Attributes
    ----------
    model
        The arm.
    t
        Times [s], (T,), from the beginning of the pre-actuation on.
    q, v
        Coordinates and rates, (T, n).
    u
        The input [N m], (T,).
    bearing
        Angle of the tip about the joint's axis [rad], (T,).
    lead
        Time from the beginning to the tip's first motion [s].
    zeros
        Eigenvalues of the internal dynamics at the start [1/s]; one with a positive real part means
        that the tip is non-minimum-phase.
    iterations
        Number of evaluations of the nonlinear remainder.
    """

    model: Model
    t: Array
    q: Array
    v: Array
    u: Array
    bearing: Array
    lead: float
    zeros: Complex
    iterations: int

    def _summary(self) -> Summary:
        name = drives(self.model).names[0]
        lines = (
            f"{len(self.t)} instants from {self.t[0]:.4g} to {self.t[-1]:.4g} s; the tip moves "
            f"{self.lead:.4g} s after the input",
            f"{name}: at most {np.abs(self.u).max():.4g}",
            f"{np.count_nonzero(self.zeros.real > 0)} of {len(self.zeros)} internal motions grow",
            f"{self.iterations} evaluations of the nonlinear remainder",
        )
        return Summary(f"Stable inversion of {self.model.arm.name}", lines)

    def inputs(self) -> dict[str, dict[str, object]]:
        """Return the input as a table for the option ``inputs`` of `flexarm.simulate`."""
        table = {
            "kind": "table",
            "times": self.t.tolist(),
            "values": self.u.tolist(),
            "interpolation": "linear",
        }
        return {drives(self.model).names[0]: table}

    def arm(self, arm: Arm) -> Arm:
        """Return the arm at rest in the initial posture of the motion."""
        return start_at(arm, self.model, self.q[0])


def stable_inversion(
    model: Model,
    to: float,
    timing: Timing,
    *,
    points: int = 4001,
    tolerance: float = 1e-8,
) -> Inversion:
    """Return the bounded input for which the tip of one flexible link follows a path.

    Parameters
    ----------
    model
        An arm of one flexible link on a driven revolute joint with a rigid transmission.
    to
        Final angle of the tip about the joint's axis [rad]. The angle is 0 for the straight link at
        joint angle 0.
    timing
        Timing of the tip's motion, with continuous acceleration. The ``begin`` of the timing
        lengthens the time between the start and the tip's first motion.
    points
        Number of instants of the solution.
    tolerance
        Relative amplitude below which the motion before and after the tip's motion is cut off, and
        relative change at which the iteration stops.

    Returns
    -------
    Inversion
        Input and motion, including pre-actuation and post-actuation.

    Raises
    ------
    FlexarmError
        If the iteration does not converge: the motion is too fast for this arm.
    """
    to = require_number("to", to, least=-LARGEST_TIP_ANGLE, largest=LARGEST_TIP_ANGLE, unit="rad")
    require_kind("timing", timing, Timing, "a Timing, such as Timing('quintic', 1.0)")
    require_count("points", points, FEWEST_INSTANTS, most=MOST_INSTANTS)
    tolerance = require_number("tolerance", tolerance, least=1e-15, largest=1.0)
    if timing.kind == "trapezoid":
        raise FlexarmError(
            "timing: must be cycloid or quintic, since the acceleration of a trapezoid jumps"
        )
    link = _Link(model)
    start = Statics(model).at_joints({})
    require_inertia(model, formulation("composite", model).mass_matrix(start))
    first, last = link.bearing(start), float(to)
    rest = np.append(start[link.rest], np.zeros(len(link.rest)))
    A = np.array(link.slope(rest, first, 0.0, 0.0))
    zeros = np.linalg.eigvals(A).astype(complex)
    if np.abs(zeros.real).min() < 1e-3 * np.abs(zeros).min():
        raise FlexarmError(
            "the internal motion of the link neither grows nor decays, so no bounded input "
            "exists. The tip of such a link cannot follow a given path."
        )
    lead = float(np.log(1 / tolerance) / np.abs(zeros.real).min()) + timing.begin
    t = np.linspace(0.0, 2 * lead - timing.begin + timing.duration, points)
    _require_resolved(timing, float(t[1]))
    shifted = Timing(timing.kind, timing.duration, lead)
    s, rate, change = (np.array(values).ravel() for values in _course(shifted)(t[None, :]))
    course = np.array([first + (last - first) * s, (last - first) * rate, (last - first) * change])
    x, count = _bounded(link, A, t, course, rest, tolerance)
    q, v, u = (np.array(values) for values in link.whole(x, *(row[None, :] for row in course)))
    return Inversion(model, t, q.T, v.T, u.ravel(), course[0], lead, zeros, count)


def _require_resolved(timing: Timing, apart: float) -> None:
    """Raise an error if fewer than ten time samples lie within the tip's motion."""
    if timing.duration < INSTANTS_OF_MOTION * apart:
        raise FlexarmError(
            f"points: must be at least {INSTANTS_OF_MOTION} within a motion of "
            f"{timing.duration:g} s, got one every {apart:.3g} s. "
            "Give more points, or a longer timing."
        )


class _Link:
    """Internal dynamics of a single flexible link whose tip angle is prescribed."""

    def __init__(self, model: Model) -> None:
        drives(model)  # raises an error for arms that laws cannot drive
        if model.base_moves or model.prescribed:
            raise ModelError(
                "stable inversion is for a link on a fixed base, without prescribed "
                "joints. Let a decoupling law follow the motion."
            )
        hinges = [axis for axis in model.axes if model.links[axis.link].motion.hinge]
        if len(model.axes) != 1 or not hinges or hinges[0].motor is not None:
            raise ModelError(
                "stable inversion is for one flexible link on a driven revolute joint "
                "with a rigid transmission. This arm has the coordinates "
                f"{', '.join(model.names)}."
            )
        self.model, self.joint = model, hinges[0].index
        self.rest = [i for i in range(model.size) if i != self.joint]
        if not self.rest:
            raise ModelError(
                "stable inversion is for a flexible link, and the link of this arm is rigid"
            )
        m = len(self.rest)
        x, y, dy, ddy = ca.SX.sym("x", 2 * m), ca.SX.sym("y"), ca.SX.sym("dy"), ca.SX.sym("ddy")
        d, rates = x[:m], x[m:]
        bearing = self._bearing_function()
        straight = ca.SX.zeros(model.size)
        straight[self.rest] = d
        turned = bearing(straight)
        q, v = ca.SX.zeros(model.size), ca.SX.zeros(model.size)
        q[self.rest], v[self.rest] = d, rates
        q[self.joint], v[self.joint] = y - turned, dy - ca.jtimes(turned, d, rates)
        u = self._input(bearing, q, v, ddy)
        nothing = ca.SX.zeros(len(wrench_list(model)))
        motion = formulation(DEFAULT, model).function("forward_dynamics")
        a = motion(q, v, u, nothing, ca.SX(0, 1))[0]
        f = ca.vertcat(rates, a[self.rest])
        arguments = [x, y, dy, ddy]
        self.rates = ca.Function("rates", arguments, [f])
        self.slope = ca.Function("slope", arguments, [ca.densify(ca.jacobian(f, x))])
        self.whole = ca.Function("whole", arguments, [q, v, u])
        self._tip = bearing

    def bearing(self, q: Array) -> float:
        """Return the tip's angle about the joint axis [rad] at coordinates q."""
        return float(self._tip(q))

    def _bearing_function(self) -> ca.Function:
        """Return a CasADi function q -> angle of the tip about the joint axis [rad].

        Whole turns are included.
        """
        q = ca.SX.sym("q", self.model.size)
        unturned = ca.SX(q)
        unturned[self.joint] = 0
        frame = frames(self.model, unturned)[self.model.axes[0].link]
        tip = frame.R_WJ.T @ (end_frame(self.model, unturned)[1] - frame.p_WJ)
        return ca.Function("bearing", [q], [q[self.joint] + ca.atan2(tip[1], tip[0])])

    def _input(self, bearing: ca.Function, q: Expr, v: Expr, acceleration: Expr) -> Expr:
        """Return the symbolic input at which the tip's angle has a given acceleration [rad/s^2]."""
        n = self.model.size
        qs, vs, us = ca.SX.sym("qs", n), ca.SX.sym("vs", n), ca.SX.sym("us", 1)
        nothing = ca.SX.zeros(len(wrench_list(self.model)))
        motion = formulation(DEFAULT, self.model).function("forward_dynamics")
        a = motion(qs, vs, us, nothing, ca.SX(0, 1))[0]
        row = ca.jacobian(bearing(qs), qs)
        second = row @ a + ca.jtimes(row @ vs, qs, vs)
        u = solve_input(second, us, acceleration)
        return ca.substitute(u, ca.vertcat(qs, vs), ca.vertcat(q, v))


def _course(timing: Timing) -> ca.Function:
    t = ca.SX.sym("t")
    return ca.Function("course", [t], list(timing.trace(t)))


def _bounded(
    link: _Link,
    A: Array,
    t: Array,
    course: Array,
    rest: Array,
    tolerance: float,
) -> tuple[Array, int]:
    """Return the bounded internal motion, shape (2m, T), and the number of iterations.

    Each fixed-point iteration solves the linear part mode by mode, with the nonlinear remainder of
    the previous iteration as forcing.
    """
    zeros, vectors = np.linalg.eig(A)
    inverse = np.linalg.inv(vectors)
    rows = [row[None, :] for row in course]
    x = np.repeat(rest[:, None], len(t), axis=1)
    change = np.inf
    for count in range(1, INVERSION_ITERATIONS + 1):
        remainder = np.array(link.rates(x, *rows)) - A @ x
        if not np.all(np.isfinite(remainder)):
            break
        forcing = inverse @ remainder
        z = np.array([_mode(rate, t, row) for rate, row in zip(zeros, forcing, strict=True)])
        new = (vectors @ z).real
        if not np.all(np.isfinite(new)):
            break
        size = np.abs(new - rest[:, None]).max(axis=1)
        change = float((np.abs(new - x).max(axis=1) / np.maximum(size, 1e-12)).max())
        x = new
        if change <= tolerance:
            return x, count
    raise FlexarmError(
        f"the motion did not converge in {INVERSION_ITERATIONS} iterations (last relative change "
        f"{change:.1e}). It bends the link too far for this method. Move more slowly."
    )


def _mode(rate: complex, t: Array, forcing: Complex) -> Complex:
    """Return the bounded response of one mode with eigenvalue ``rate`` to a forcing, (T,).

    A decaying mode is integrated forward in time, a growing mode backward. The forcing is a cubic
    spline, whose integral over each interval is exact.
    """
    if rate.real > 0:
        return _mode(-rate, t, -forcing[::-1])[::-1]
    h = float(t[1] - t[0])
    spline = cubic_spline(t, forcing)
    weights = _phi(rate * h)
    pieces = sum(spline[j] * h ** (j + 1) * math.factorial(j) * weights[j] for j in range(4))
    z = np.zeros(len(t), dtype=complex)
    z[0] = -forcing[0] / rate
    step = np.exp(rate * h)
    for k in range(len(t) - 1):
        z[k + 1] = step * z[k] + pieces[k]
    return z


def _phi(z: complex) -> Complex:
    """Return the functions phi_1 to phi_4, ``phi_j(z) = sum z^i / (i + j)!``, of a matrix."""
    matrix = np.eye(5, k=1, dtype=complex)
    matrix[0, 0] = z
    return np.asarray(scipy.linalg.expm(matrix)[0, 1:])
