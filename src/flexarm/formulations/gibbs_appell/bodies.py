"""Parts of a link of the Gibbs-Appell formulation: points, rigid bodies, rotors.

Part of `gibbs_appell`, which has the table of symbols.  Each part is brought into them with the
shape columns taken at the current deflection.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from flexarm.formulations.gibbs_appell.terms import (
    AccelerationEnergy,
    PointSums,
    nothing,
    of_moments,
    tilde,
    widened,
)
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.terms import SectionMotion, Terms, axial
from flexarm.mechanics.sections import own_values
from flexarm.model import LinkModel, Model, Rotor
from flexarm.spatial import Expr, Inertia, constant


def link_body(
    model: Model, part: LinkModel, q: Expr, v: Expr, tip: SectionMotion
) -> AccelerationEnergy:
    """Compute the sums of a link with all it carries, about the origin of its root frame L.

    ``tip`` says how its flexible tip moves.
    """
    own, rate = own_values(part, q), own_values(part, v)
    link = body_of(model, part)
    total = rigid(part.root_body, rate.shape[0]) + attached(part.tip_body, tip, rate)
    for points in link.points(own, rate):
        total = total + of_moments(_sums(points, rate), rate)
    hub = link.hub_motion(q, v)
    if hub is not None:
        total = total + attached(part.hub_body, hub, rate)
    omega = ca.SX.sym("omega", 3)
    return total + _turning(link.turning(own, rate, omega), rate, omega)


def rigid(fixed: Inertia, m: int) -> AccelerationEnergy:
    """Compute the terms of a rigid body fixed in the link's frame: its part of eqs. 25 and 42."""
    mass, first = ca.SX(fixed.mass), ca.SX(constant(fixed.first))
    return replace(nothing(m), M=mass, B3=tilde(first), B9=ca.SX(constant(fixed.second)))


def attached(body: Inertia, motion: SectionMotion, rate: Expr) -> AccelerationEnergy:
    """Compute the terms of a rigid body fixed in a section, its points ``r = p + E rho``."""
    m = rate.shape[0]
    if not body.weighs:
        return nothing(m)
    E, p, N, A = (getattr(motion.local, x) for x in ("rotation", "position", "linear", "angular"))
    spin, spin_v, speed, speed_v = motion.spin, motion.spin_bias, motion.speed, motion.speed_bias
    mass, first = body.mass, E @ constant(body.first)
    inertia = E @ constant(body.second) @ E.T
    spread = ca.trace(inertia) / 2 * ca.SX.eye(3) - inertia  # int rho rho^T, turned
    eps = mass * N - tilde(first) @ A
    momentum = tilde(first) @ N + inertia @ A  # int e x N_j about the section's origin
    place, flow = [], []
    for j in range(m):
        turned, moved = tilde(A[:, j]), N[:, j]
        carried = (tilde(A[:, j]) @ first).T
        place.append(p @ eps[:, j].T + first @ moved.T + spread @ turned.T)
        swept = tilde(spin) @ (first @ moved.T + spread @ turned.T)
        flow.append(speed @ (mass * moved.T + carried) + swept)
    sweep = tilde(spin) @ tilde(spin)
    s = mass * speed_v + tilde(spin_v) @ first + sweep @ first
    about = tilde(first) @ speed_v + inertia @ spin_v + tilde(spin) @ (inertia @ spin)
    second = spread + p @ first.T + first @ p.T + mass * p @ p.T
    return of_moments(
        PointSums(ca.SX(mass), mass * p + first, second, eps, place, flow,
                N.T @ eps + A.T @ momentum, s, tilde(p) @ s + about, N.T @ s + A.T @ about),
        rate,
    )  # fmt: skip


def rotor_body(rotor: Rotor, motion: SectionMotion, rate: Expr, speed: Expr) -> AccelerationEnergy:
    """Compute the terms of a rotor at a link's tip; its angle is the last deflection variable.

    Parameters
    ----------
    rotor, motion
        The rotor, and how the tip that carries it moves.
    rate, speed
        Rates of the link's own m variables, (m,), and of the rotor's coordinate.
    """
    m = rate.shape[0]
    J, n = rotor.inertia, rotor.ratio
    spun = nothing(m + 1)
    sc, alpha, c, w = ca.SX(m + 1, m + 1), ca.SX(3, m + 1), ca.SX(3, m + 1), ca.SX(m + 1, 1)
    sc[m, m] = n**2 * J
    if rotor.axis is None:  # its spin does not act on its carrier
        return replace(spun, sc=sc)
    second = Inertia(0.0, np.zeros(3), J * np.outer(rotor.axis, rotor.axis))
    axis, A = motion.local.rotation @ constant(rotor.axis), motion.local.angular
    turned = tilde(motion.spin) @ axis
    momentum = n * J * speed
    alpha[:, m] = n * J * axis
    if m:
        shared = n * J * (axis.T @ A)
        sc[m, :m], sc[:m, m] = shared, shared.T
        c[:, :m] = -momentum / 2 * (tilde(axis) @ A)
        w[:m] = momentum * (A.T @ turned)
    c[:, m] = -n * J / 2 * turned
    w[m] = n * J * ca.dot(axis, motion.spin_bias)
    spun = replace(spun, sc=sc, alpha=alpha, c=c, w=w, h=momentum * axis, t=momentum * turned)
    return spun + widened(attached(second, motion, rate), 1)


def _turning(terms: Terms, rate: Expr, omega: Expr) -> AccelerationEnergy:
    """Bring the turning of sections at a link's angular velocity, a symbol, into the symbols.

    What their turning takes of the own coordinates is quadratic in that velocity.
    """
    m = rate.shape[0]
    slope = ca.jacobian(terms.effort, omega)
    curved = [-ca.jacobian(slope[j, :].T, omega) / 2 for j in range(m)]
    t, w, first = ca.substitute([terms.torque, terms.effort, slope], [omega], [ca.SX.zeros(3)])
    B8 = ca.SX(3, 3)
    for j in range(m):
        B8 = B8 + rate[j] * curved[j]
    return replace(
        nothing(m), B8=B8, B9=terms.second, alpha=terms.angular, beta=tuple(curved),
        sc=terms.modal, c=-first.T / 2, h=terms.angular @ rate, s=terms.force,
        t=ca.sparsify(t), w=ca.sparsify(w),
    )  # fmt: skip


def _sums(points: MaterialPoints, rate: Expr) -> PointSums:
    """Sum over points that move as a field."""
    r, columns, bias = points.moving.value, points.moving.columns, points.moving.bias
    speed = points.moving.speed(rate)
    m = len(columns)
    sc = ca.SX(m, m)
    for i in range(m):
        for j in range(i + 1):
            sc[i, j] = sc[j, i] = ca.trace(points.moment(columns[i], columns[j]))
    return PointSums(
        ca.SX(points.mass),
        points.integral(r),
        points.moment(r, r),
        ca.horzcat(*[points.integral(column) for column in columns]),
        [points.moment(r, column) for column in columns],
        [points.moment(speed, column) for column in columns],
        sc,
        points.integral(bias),
        axial(points.moment(r, bias)),
        ca.vertcat(*[ca.trace(points.moment(bias, column)) for column in columns]),
    )
