"""What a link of the Gibbs-Appell formulation is made of: span, rigid bodies, rotors, sliding beam.

Part of `gibbs_appell`, which has the table of symbols.  Each part is brought into them with the
shape columns taken at the current deflection.
"""

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from flexarm.formulations.gibbs_appell.terms import (
    AccelerationEnergy,
    PointSums,
    beam,
    link_constants,
    nothing,
    of_moments,
    tilde,
    widened,
)
from flexarm.links.fields import AXES, Basis, Field, MovingField
from flexarm.links.growing.fields import SlidingMotion
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.exact.growing_polar import grown_polar_terms
from flexarm.mechanics.bodies.growing_motion import GrowingMotion
from flexarm.mechanics.bodies.material import material
from flexarm.mechanics.bodies.quadratic import quadratic_terms
from flexarm.mechanics.bodies.terms import SectionMotion, axial
from flexarm.mechanics.sections import own_values
from flexarm.model import Flexible, LinkModel, Model, Rotor
from flexarm.spatial import Expr, Inertia, constant


def link_body(
    model: Model, part: LinkModel, q: Expr, v: Expr, tip: SectionMotion
) -> AccelerationEnergy:
    """Weigh a link with all it carries, about the origin of its root frame L.

    ``tip`` says how its flexible tip moves.
    """
    own, rate = own_values(part, q), own_values(part, v)
    if part.sliding is not None:
        body = _sliding(model, part, own, rate)
    else:
        body = nothing(rate.shape[0]) if part.elastic is None else _span(part.elastic, own, rate)
        hub = body_of(model, part).hub_motion(q, v)
        if hub is not None:
            body = body + attached(part.hub_body, hub, rate)
    body = body + rigid(part.root_body, rate.shape[0])
    return body + attached(part.tip_body, tip, rate)


def rigid(fixed: Inertia, m: int) -> AccelerationEnergy:
    """Weigh a rigid body that is fixed in the link's frame: its part of eqs. 25 and 42."""
    mass, first = ca.SX(fixed.mass), ca.SX(constant(fixed.first))
    return replace(nothing(m), M=mass, B3=tilde(first), B9=ca.SX(constant(fixed.second)))


def attached(body: Inertia, motion: SectionMotion, rate: Expr) -> AccelerationEnergy:
    """Weigh a rigid body that is fixed in a section, its points ``r = p + E rho``."""
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
    """Weigh a rotor that a link's tip carries; its angle is one more deflection variable, the last.

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


def _span(e: Flexible, delta: Expr, rate: Expr) -> AccelerationEnergy:
    """Weigh a flexible span of constant length with its sections' rotary inertia."""
    rotary = e.rotary
    if e.nodes is not None:
        body = of_moments(_sums(*material(e, delta, rate), rate, ca.SX(1)), rate)
        body = replace(body, sc=body.sc + constant(rotary.modal))
    else:
        body = beam(link_constants(e.integrals), delta, rate, delta_squared=True)
    if e.nodes is None and e.points.draws:
        x = quadratic_terms(e, delta, rate)
        more = PointSums(ca.SX(0), x.first, x.second, x.linear, x.moments, x.flow, x.modal,
                       x.force, x.torque, x.effort)  # fmt: skip
        body = body + of_moments(more, rate)
    turned = constant(rotary.shape)
    return replace(
        body,
        B9=body.B9 + constant(rotary.inertia),
        alpha=body.alpha + turned,
        h=body.h + turned @ rate,
    )


def _sliding(model: Model, part: LinkModel, own: Expr, rate: Expr) -> AccelerationEnergy:
    """Weigh a beam that slides out of its hub, outside and inside, its length the first variable.

    At the mouth stretch, twist and curvature begin, so velocities jump: what passes takes
    ``mu l'`` times the jump of its velocity.
    """
    shapes = part.sliding
    assert shapes is not None
    mu, J = shapes.mass_per_length, shapes.rotary
    motion = GrowingMotion.of(part, own, rate)
    exposed = _sums(motion.displacement(), motion.displacement_basis(), rate, mu * own[0])
    outside = of_moments(exposed, rate)
    inside = of_moments(_hidden(part.length - own[0], rate, mu), rate)
    at_mouth = motion.section(model, 0.0).local.linear[:, 0]
    jump, angle = at_mouth - ca.DM([1, 0, 0]), motion.angles(0.0)[1][:, 0]
    turned, w = constant(J) * angle, ca.SX(rate.shape[0], 1)
    w[0] = (mu * (ca.sumsqr(at_mouth) - 1) + ca.dot(angle, turned)) / 2
    passing = replace(
        nothing(rate.shape[0]),
        s=rate[0] ** 2 * mu * jump, t=rate[0] ** 2 * turned, w=rate[0] ** 2 * w,
        B9=ca.SX(constant(np.diag(J))) * (part.length - own[0]),
    )  # fmt: skip
    total = outside + inside + passing
    if np.any(J):
        total = total + _turning(motion.linear, rate, constant(J) * own[0])
    return total + _rolling(part, motion.linear, rate)


def _rolling(part: LinkModel, motion: SlidingMotion, rate: Expr) -> AccelerationEnergy:
    """Weigh what the turning of sections about their own axes has beyond the first order.

    What it takes is quadratic in the link's angular velocity.
    """
    m = rate.shape[0]
    if part.grown is None or part.grown.polar is None:
        return nothing(m)
    omega = ca.SX.sym("omega", 3)
    terms = grown_polar_terms(part.grown.polar, motion, rate, omega)
    slope = ca.jacobian(terms.effort, omega)
    curved = [-ca.jacobian(slope[j, :].T, omega) / 2 for j in range(m)]
    t, w, first = ca.substitute([terms.torque, terms.effort, slope], [omega], [ca.SX.zeros(3)])
    return replace(
        nothing(m), B8=_sum([rate[j] * curved[j] for j in range(m)]), B9=terms.second,
        alpha=terms.angular, beta=tuple(curved), sc=terms.modal, c=-first.T / 2,
        h=terms.angular @ rate, t=t, w=w,
    )  # fmt: skip


def _sums(moving: MovingField, basis: Basis, rate: Expr, scale: Expr) -> PointSums:
    """Sum over points that move as a field; masses are those of the basis times a scale."""
    r, columns, bias = moving.value, moving.columns, moving.bias
    speed = moving.speed(rate)
    m = len(columns)
    sc = ca.SX(m, m)
    for i in range(m):
        for j in range(i + 1):
            sc[i, j] = sc[j, i] = scale * ca.trace(basis.moment(columns[i], columns[j]))
    return PointSums(
        scale * basis.mass,
        scale * basis.integral(r),
        scale * basis.moment(r, r),
        ca.horzcat(*[scale * basis.integral(column) for column in columns]),
        [scale * basis.moment(r, column) for column in columns],
        [scale * basis.moment(speed, column) for column in columns],
        sc,
        scale * basis.integral(bias),
        axial(scale * basis.moment(r, bias)),
        ca.vertcat(*[scale * ca.trace(basis.moment(bias, column)) for column in columns]),
    )


def _hidden(length: Expr, rate: Expr, mu: float) -> PointSums:
    """Sum over the straight part of a sliding link in its hub, from x = -length to 0."""
    m, mass = rate.shape[0], mu * length
    x = ca.SX(constant(np.array([1.0, 0.0, 0.0])))
    first, sc, eps = -mass * length / 2 * x, ca.SX(m, m), ca.SX(3, m)
    sc[0, 0], eps[0, 0] = mass, mass
    place, flow = [ca.SX(3, 3) for _ in range(m)], [ca.SX(3, 3) for _ in range(m)]
    place[0], flow[0] = first @ x.T, mass * rate[0] * x @ x.T
    none = ca.SX(3, 1)
    second = mass * length**2 / 3 * x @ x.T
    return PointSums(mass, first, second, eps, place, flow, sc, none, none, ca.SX(m, 1))


def _turning(motion: SlidingMotion, rate: Expr, J: Expr) -> AccelerationEnergy:
    """Weigh the rotary inertia of a sliding link's exposed sections, in link axes."""
    moving, basis = motion.rotation(), motion.rotation_basis()
    m = len(moving.columns)
    alpha = ca.horzcat(*[J * basis.integral(column) for column in moving.columns])
    sc, w = ca.SX(m, m), ca.SX(m, 1)

    def weighed(a: Field, b: Field) -> Expr:
        moment = basis.moment(a, b)
        return _sum([J[n] * moment[n, n] for n in range(len(AXES))])

    for i, column in enumerate(moving.columns):
        w[i] = weighed(column, moving.bias)
        for j in range(i + 1):
            sc[i, j] = sc[j, i] = weighed(column, moving.columns[j])
    t = J * basis.integral(moving.bias)
    return replace(nothing(m), B9=ca.diag(J), alpha=alpha, h=alpha @ rate, sc=sc, w=w, t=t)


def _sum(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total
