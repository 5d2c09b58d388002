"""The Hill frame of a circular orbit, and the effect of the gravity gradient on bodies in it.

The world is the Hill frame. Its origin moves around the planet at the mean motion n, x points away
from the planet, y along the flight, z along the orbit's normal. At r from the origin, gravity less
the origin's centripetal acceleration is ``G r`` with ``G = n^2 diag(2, -1, -1)``, linear in r over
the orbit's radius; the rotating frame adds ``-2 n z x v`` and ``n^2 (x, y, 0)`` (Clohessy &
Wiltshire 1960). Positions, velocities and spins are those relative to the frame.
"""

from dataclasses import replace

import casadi as ca

from flexarm.mechanics.bodies.terms import Terms
from flexarm.spatial import Expr, Inertia, constant


def frame_acceleration(rate: float, p: Expr, v: Expr) -> Expr:
    """Inertial acceleration of a point due to the frame's rotation, (3,).

    Parameters
    ----------
    rate
        Mean motion n [rad/s].
    p, v
        Place [m] and velocity [m/s] in the frame.
    """
    return ca.vertcat(
        -2 * rate * v[1] - rate * rate * p[0], 2 * rate * v[0] - rate * rate * p[1], type(p)(1, 1)
    )


def gradient_force(
    rate: float, R: Expr, p: Expr, mass: Expr, first: Expr, second: Expr
) -> tuple[Expr, Expr]:
    """Compute torque and force that hold a body against the gravity gradient, in its axes.

    ``G = n^2 (3 x x^T - 1)`` with x the frame's first axis as the body sees it.

    Parameters
    ----------
    rate
        Mean motion n [rad/s].
    R, p
        The body's frame in the Hill frame.
    mass, first, second
        Mass, first moment (3,) and inertia (3, 3) in its frame.
    """
    x, square = R[0, :].T, rate * rate
    at_origin = _pull(square, x, p[0], R.T @ p)
    force = mass * at_origin + _pull(square, x, ca.dot(x, first), first)
    torque = ca.cross(first, at_origin) + 3 * square * ca.cross(x, second @ x)
    return -torque, -force


def feel_gradient(rate: float, R: Expr, p: Expr, terms: Terms, own: Expr) -> Terms:
    """Add the gravity-gradient loads of a link, including those on its own coordinates (k,)."""
    torque, force = gradient_force(rate, R, p, terms.mass, terms.first, terms.second)
    x, square = R[0, :].T, rate * rate
    spread = square * (3 * ca.dot(x, terms.second @ x) - ca.trace(terms.second)) / 2
    effort = terms.effort
    if own.numel():
        effort = effort - terms.linear.T @ _pull(square, x, p[0], R.T @ p)
        effort = effort + ca.gradient(spread, own)
    return replace(terms, torque=terms.torque + torque, force=terms.force + force, effort=effort)


def rigid_gradient(rate: float, R: Expr, p: Expr, body: Inertia) -> Expr:
    """Compute the gravity-gradient load of a rigid body in a frame, torque over force, (6,)."""
    parts = gradient_force(
        rate, R, p, body.mass, ca.SX(constant(body.first)), constant(body.second)
    )
    return ca.vertcat(*parts)


def rotor_gradient(rate: float, x: Expr, axis: Expr, inertia: float) -> Expr:
    """Torque that holds a rotor's carrier against gravity's gradient, (3,); x as the axis seen."""
    return -3 * rate * rate * inertia * ca.dot(x, axis) * ca.cross(x, axis)


def orbit_energy(rate: float, R: Expr, p: Expr, mass: Expr, first: Expr, second: Expr) -> Expr:
    """Potential of gravity's gradient and of the frame's turning [J]; as `gradient_force`.

    ``-1/2 int r^T diag(3, 0, -1) n^2 r dm``; with kinetic energy in the frame it is Jacobi's
    integral.
    """
    moment = R @ first
    at_origin = mass * (3 * p[0] * p[0] - p[2] * p[2]) + 6 * p[0] * moment[0] - 2 * p[2] * moment[2]
    x, z = R[0, :].T, R[2, :].T
    spread = 3 * ca.dot(x, second @ x) - ca.trace(second) - ca.dot(z, second @ z)
    return rate * rate * (spread - at_origin) / 2


def inertial_axes(rate: float, t: Expr, vectors: Expr) -> Expr:
    """Turn vectors (3 k,) of the Hill frame at a time [s] into the axes that it has at time 0."""
    cos, sin = ca.cos(rate * t), ca.sin(rate * t)
    turn = ca.vertcat(ca.horzcat(cos, -sin, 0), ca.horzcat(sin, cos, 0), ca.horzcat(0, 0, 1))
    return ca.vec(turn @ ca.reshape(vectors, 3, -1))


def _pull(square: float, x: Expr, along: Expr, r: Expr) -> Expr:
    """Compute ``n^2 (3 x x^T - 1) r`` where ``along`` is x^T r."""
    return square * (3 * x * along - r)
