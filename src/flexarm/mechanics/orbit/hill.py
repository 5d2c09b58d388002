"""Hill frame of a circular orbit, and gravity-gradient loads on bodies in the frame.

The world is the Hill frame. The origin of the frame moves around the planet at the mean motion n; x
points away from the planet, y along the flight, z along the orbit normal. At position r, gravity
minus the centripetal acceleration of the origin is ``G r`` with ``G = n^2 diag(2, -1, -1)``, for r
small against the radius of the orbit. The rotating frame adds the Coriolis acceleration ``-2 n z x
v`` and the centrifugal acceleration ``n^2 (x, y, 0)`` (Clohessy & Wiltshire 1960). Positions,
velocities and angular velocities in this module are relative to the Hill frame.
"""

from dataclasses import replace

import casadi as ca

from flexarm.mechanics.sections import Terms
from flexarm.spatial import Expr, Inertia, Scalar, constant


def frame_acceleration(rate: float, p: Expr, v: Expr) -> Expr:
    """Compute the acceleration (3,) of a point due to the frame's rotation.

    Parameters
    ----------
    rate
        Mean motion n [rad/s].
    p, v
        Position [m] and velocity [m/s] in the frame, (3,) each.
    """
    return ca.vertcat(
        -2 * rate * v[1] - rate * rate * p[0], 2 * rate * v[0] - rate * rate * p[1], type(p)(1, 1)
    )


def gradient_force(
    rate: float, R: Expr, p: Expr, mass: Scalar, first: Expr, second: Expr
) -> tuple[Expr, Expr]:
    """Compute torque and force that balance the gravity gradient on a body, in body axes.

    The gradient is ``G = n^2 (3 x x^T - 1)``, with x the first axis of the Hill frame in body axes.

    Parameters
    ----------
    rate
        Mean motion n [rad/s].
    R, p
        Rotation and position of the body's frame in the Hill frame.
    mass, first, second
        Mass, first moment (3,) and inertia (3, 3) in the body's frame.
    """
    x, square = R[0, :].T, rate * rate
    at_origin = _pull(square, x, p[0], R.T @ p)
    force = mass * at_origin + _pull(square, x, ca.dot(x, first), first)
    torque = ca.cross(first, at_origin) + 3 * square * ca.cross(x, second @ x)
    return -torque, -force


def feel_gradient(rate: float, R: Expr, p: Expr, terms: Terms, own: Expr) -> Terms:
    """Return a link's inertia terms plus the gravity-gradient loads on the link.

    ``own`` are the link coordinates, (k,), on which ``terms`` depend.
    """
    torque, force = gradient_force(rate, R, p, terms.mass, terms.first, terms.second)
    x, square = R[0, :].T, rate * rate
    spread = square * (3 * ca.dot(x, terms.second @ x) - ca.trace(terms.second)) / 2
    effort = terms.effort
    if own.numel():
        effort = effort - terms.linear.T @ _pull(square, x, p[0], R.T @ p)
        effort = effort + ca.gradient(spread, own)
    return replace(terms, torque=terms.torque + torque, force=terms.force + force, effort=effort)


def rigid_gradient(rate: float, R: Expr, p: Expr, body: Inertia) -> Expr:
    """Return the torque and force that balance the gravity gradient on a rigid body, (6,)."""
    parts = gradient_force(
        rate, R, p, body.mass, ca.SX(constant(body.first)), constant(body.second)
    )
    return ca.vertcat(*parts)


def rotor_gradient(rate: float, x: Expr, axis: Expr, inertia: float) -> Expr:
    """Return the torque (3,) on a rotor's carrier that balances the gravity gradient.

    ``x`` is the first axis of the Hill frame in the axes in which the rotor's ``axis`` is given.
    """
    return -3 * rate * rate * inertia * ca.dot(x, axis) * ca.cross(x, axis)


def orbit_energy(rate: float, R: Expr, p: Expr, mass: Scalar, first: Expr, second: Expr) -> Expr:
    """Compute the potential [J] of the gravity gradient and of the frame's rotation.

    The potential is ``-1/2 int r^T diag(3, 0, -1) n^2 r dm``. The sum of this potential and the
    kinetic energy relative to the Hill frame is the Jacobi integral. Parameters are as in
    `gradient_force`.
    """
    moment = R @ first
    at_origin = mass * (3 * p[0] * p[0] - p[2] * p[2]) + 6 * p[0] * moment[0] - 2 * p[2] * moment[2]
    x, z = R[0, :].T, R[2, :].T
    spread = 3 * ca.dot(x, second @ x) - ca.trace(second) - ca.dot(z, second @ z)
    return rate * rate * (spread - at_origin) / 2


def inertial_axes(rate: float, t: Expr, vectors: Expr) -> Expr:
    """Rotate k vectors, (3 k,), from the Hill frame at time t [s] to its axes at time 0."""
    cos, sin = ca.cos(rate * t), ca.sin(rate * t)
    turn = ca.vertcat(ca.horzcat(cos, -sin, 0), ca.horzcat(sin, cos, 0), ca.horzcat(0, 0, 1))
    return ca.vec(turn @ ca.reshape(vectors, 3, -1))


def _pull(square: float, x: Expr, along: Expr, r: Expr) -> Expr:
    """Return the tidal acceleration ``n^2 (3 x x^T - 1) r`` at r, (3,).

    ``square`` is n^2 and ``along`` is x^T r.
    """
    return square * (3 * x * along - r)
