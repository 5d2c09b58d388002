"""Generalised inertia of one link and its nonlinear loads, in the link's own frame (eqs. 23-25).

Part of `kinematic_influence`, which has the table of symbols.  The integral of eq. 24 over the
material is a sum of moments between fields: where the points are, how the link's own coordinates
move them, and how they accelerate from velocities alone.  A field is linear in coefficients over a
few functions of the place along the link, so every moment is a constant matrix between two sets of
coefficients, whatever the kind of link.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.fields import AXES, Axis, Basis, Field, MovingField
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.exact.growing_polar import grown_polar_terms
from flexarm.mechanics.bodies.growing_motion import GrowingMotion
from flexarm.mechanics.bodies.material import material
from flexarm.mechanics.bodies.terms import axial
from flexarm.mechanics.sections import Local, own_values
from flexarm.model import Flexible, LinkModel, Model
from flexarm.spatial import Expr, Inertia, constant

Rows = dict[tuple[Axis, Axis], Expr]


@dataclass(frozen=True)
class LinkTerms:
    """What a part of a link adds, k own coordinates."""

    # Generalised inertia Pi of translation, rotation and own coordinates, (6 + k, 6 + k).
    inertia: Expr
    # What the part takes at zero acceleration of the frame and of the own coordinates, (6 + k,).
    load: Expr

    def __add__(self, other: "LinkTerms") -> "LinkTerms":
        """Join two parts of one link."""
        return LinkTerms(self.inertia + other.inertia, self.load + other.load)


@dataclass(frozen=True)
class Riding:
    """A section of a link, and its acceleration in the link's frame from own rates alone.

    ``drift`` stacks translation over rotation, ``d2psi/dq2 q' q'``, (6,).
    """

    at: Local
    drift: Expr


@dataclass(frozen=True)
class LinkPoints:
    """The points of a link."""

    # basis, scale: functions of the place along the link with weights; mass [kg] is the weight
    # times the scale.
    basis: Basis
    scale: Expr
    # place, bias: where the points are, ``x + d``, and ``d2psi/dq2 q' q'``.
    place: Field
    bias: Field
    # Translation of the points per own coordinate, a matrix of k columns of coefficients.
    psi: Field


def link_share(
    model: Model, part: LinkModel, q: Expr, rates: Expr, omega: Expr, tip: Riding
) -> LinkTerms:
    """Weigh a link with what its hub and tip carry.

    Parameters
    ----------
    model, part
        The arm and one of its links.
    q
        All coordinates; zero amplitudes weigh the link undeflected.
    rates
        Rates of the link's own coordinates, (k,).
    omega
        Angular velocity of the link's frame, in the frame, (3,).
    tip
        How the tip moves in the frame.
    """
    own = own_values(part, q)
    total = rigid_share(part.root_body, riding_along(own.shape[0]), rates, omega)
    if part.sliding is not None:
        total += _sliding_share(model, part, own, rates, omega)
    elif part.elastic is not None:
        total += _elastic_share(part.elastic, own, rates, omega)
    hub = body_of(model, part).hub_motion(q, 0 * q)
    if hub is not None and part.hub_body.weighs:
        total += rigid_share(part.hub_body, Riding(hub.local, ca.SX(6, 1)), rates, omega)
    if part.tip_body.weighs:
        total += rigid_share(part.tip_body, tip, rates, omega)
    return total


def riding_along(k: int) -> Riding:
    """See the link's frame itself, which its k own coordinates do not move."""
    none = ca.SX(3, k)
    return Riding(Local(ca.SX(3, 1), ca.SX.eye(3), none, none), ca.SX(6, 1))


def rigid_share(body: Inertia, riding: Riding, rates: Expr, omega: Expr) -> LinkTerms:
    """Weigh a rigid body that rides in a section of a link."""
    at = riding.at
    eye, blank = ca.SX.eye(3), ca.SX(3, 3)
    J = ca.vertcat(
        ca.horzcat(eye, ca.skew(at.position).T, at.linear), ca.horzcat(blank, eye, at.angular)
    )  # (eq. 23)
    first = at.rotation @ constant(body.first)
    second = at.rotation @ constant(body.second) @ at.rotation.T
    lever = ca.skew(first)
    Pi = ca.vertcat(
        ca.horzcat(body.mass * eye, lever.T), ca.horzcat(lever, second)
    )  # (eqs. 25a, 25b, 25d)
    v_rel, omega_rel = at.linear @ rates, at.angular @ rates
    relative = ca.cross(omega, at.position) + v_rel
    gained = ca.vertcat(
        ca.cross(omega, relative) + ca.cross(omega, v_rel), ca.cross(omega, omega_rel)
    )  # (eq. 27)
    spin = omega + omega_rel
    gyration = ca.vertcat(
        ca.cross(spin, ca.cross(spin, first)), ca.cross(spin, second @ spin)
    )  # (eq. 18)
    return LinkTerms(J.T @ Pi @ J, J.T @ (Pi @ (gained + riding.drift) + gyration))  # (eqs. 24, 19)


def _elastic_share(e: Flexible, d: Expr, rates: Expr, omega: Expr) -> LinkTerms:
    """Weigh the span of a link of constant length at amplitudes d."""
    total = _spread(_material(*material(e, d, rates), 1.0), rates, omega)
    rotary = e.rotary
    inertia, shape, modal = (constant(x) for x in (rotary.inertia, rotary.shape, rotary.modal))
    return total + _turning(inertia, shape, ca.SX(modal), ca.SX(3 + d.shape[0], 1), rates, omega)


def _sliding_share(model: Model, part: LinkModel, own: Expr, rates: Expr, omega: Expr) -> LinkTerms:
    """Weigh a beam that grows out of its hub: what is out, what is in, and its mouth."""
    shapes = part.sliding
    assert shapes is not None
    mu, J = shapes.mass_per_length, shapes.rotary
    length, hidden, k = own[0], shapes.span.length - own[0], rates.shape[0]
    motion = GrowingMotion.of(part, own, rates)
    outside = _material(motion.displacement(), motion.displacement_basis(), mu * length)
    total = _spread(outside, rates, omega) + _spread(_inside(own, mu, hidden), rates, omega)
    total += _mouth(model, motion, rates, mu, J)
    if np.any(J):
        turned, basis = motion.linear.rotation(), motion.linear.rotation_basis()
        total += _turned_share(_material(turned, basis, length), J, rates, omega)
        inner = constant(np.diag(J)) * hidden
        total += _turning(inner, ca.SX(3, k), ca.SX(k, k), ca.SX(3 + k, 1), rates, omega)
    if part.grown is not None and part.grown.polar is not None:
        terms = grown_polar_terms(part.grown.polar, motion.linear, rates, omega)
        beyond = _turning(terms.second, terms.angular, terms.modal, ca.SX(3 + k, 1), rates, omega)
        load = ca.vertcat(terms.force, terms.torque, terms.effort)
        total += LinkTerms(beyond.inertia, load)  # (eq. 25)
    return total


def _material(moving: MovingField, basis: Basis, scale: Expr) -> LinkPoints:
    """Put the columns of a moving field side by side."""
    psi = Field(*[ca.horzcat(*[c.of(axis) for c in moving.columns]) for axis in AXES])
    return LinkPoints(basis, scale, moving.value, moving.bias, psi)


def _inside(own: Expr, mu: float, hidden: Expr) -> LinkPoints:
    """See the straight part in the hub, from x = -hidden to 0, which the length moves along x."""
    node, weight = np.polynomial.legendre.leggauss(2)
    empty, k = np.zeros((0, 2)), own.shape[0]
    functions: dict[Axis, Array] = {"x": np.stack([np.ones(2), (node + 1) / 2])}
    functions["y"] = functions["z"] = empty
    basis = Basis.of(functions, weight / 2)
    none, psi = ca.SX(0, 1), ca.SX(2, k)
    psi[0, 0] = 1.0
    place = Field(ca.vertcat(0, -hidden), none, none)
    still = Field(ca.SX(2, 1), none, none)
    columns = Field(psi, ca.SX(0, k), ca.SX(0, k))
    return LinkPoints(basis, mu * hidden, place, still, columns)


def _mouth(model: Model, motion: GrowingMotion, rates: Expr, mu: float, J: Array) -> LinkTerms:
    """Add the momentum that material takes up as it passes the mouth and starts to strain.

    It is the moving limit of eq. 20's integral: velocities jump there from ``e_x l'`` to
    ``psi l'``, and Lagrange's equations (eq. 17) see the jump of momentum and of kinetic energy.
    """
    k, out = rates.shape[0], rates[0]
    psi_t = motion.section(model, 0.0).local.linear[:, 0]
    psi_r = motion.angles(0.0)[1][:, 0]
    turned = constant(J) * psi_r
    energy = mu * (ca.sumsqr(psi_t) - 1) + ca.dot(psi_r, turned)
    load = ca.vertcat(mu * (psi_t - ca.DM([1, 0, 0])), turned, energy / 2, ca.SX(k - 1, 1))
    return LinkTerms(ca.SX(6 + k, 6 + k), out**2 * load)


def _spread(points: LinkPoints, rates: Expr, omega: Expr) -> LinkTerms:
    """Integrate translation over the points (eq. 25 with all terms in the deflection)."""
    m, basis = points.scale, points.basis
    r, psi, bias = points.place, points.psi, points.bias
    v = Field(*[psi.of(axis) @ rates for axis in AXES])
    mass = m * basis.mass
    first = m * _integral(basis, r)
    rr = _matrix(m, _moments(basis, r, r))
    r_psi, v_psi = _moments(basis, r, psi), _moments(basis, v, psi)
    Pi_xtheta = ca.skew(first).T  # (eq. 25b)
    Pi_xq = m * _integral(basis, psi)  # (eq. 25c)
    Pi_thetatheta = ca.trace(rr) * ca.SX.eye(3) - rr  # (eq. 25d)
    Pi_thetaq = m * _crossed(r_psi)  # (eq. 25f)
    Pi_qq = ca.SX(rates.shape[0], rates.shape[0])  # (eq. 25g)
    for axis in AXES:
        Pi_qq = Pi_qq + m * psi.of(axis).T @ constant(basis.gram[axis, axis]) @ psi.of(axis)
    Pi = ca.vertcat(
        ca.horzcat(mass * ca.SX.eye(3), Pi_xtheta, Pi_xq),
        ca.horzcat(Pi_xtheta.T, Pi_thetatheta, Pi_thetaq),
        ca.horzcat(Pi_xq.T, Pi_thetaq.T, Pi_qq),
    )  # (eq. 25)
    # each point gains omega x (omega x r + v) + omega x v + bias over the frame
    spin = ca.skew(omega)
    twice = spin @ spin
    force = twice @ first + 2 * m * spin @ _integral(basis, v)  # (eq. 27)
    force = force + m * _integral(basis, bias)
    turning = rr @ twice.T + 2 * _matrix(m, _moments(basis, r, v)) @ spin.T  # (eq. 27)
    turning = turning + _matrix(m, _moments(basis, r, bias))
    rows = ca.SX(1, rates.shape[0])
    for i, a in enumerate(AXES):
        rows = rows + bias.of(a).T @ constant(basis.gram[a, a]) @ psi.of(a)
        for j, b in enumerate(AXES):
            rows = rows + twice[i, j] * r_psi[b, a] + 2 * spin[i, j] * v_psi[b, a]  # (eq. 27)
    return LinkTerms(Pi, ca.vertcat(force, axial(turning), m * rows.T))


def _turned_share(points: LinkPoints, J: Array, rates: Expr, omega: Expr) -> LinkTerms:
    """Integrate the sections' rotary inertia over fields of their angles."""
    l, basis, psi = points.scale, points.basis, points.psi
    shape = l * constant(np.diag(J)) @ _integral(basis, psi)
    modal, rows = ca.SX(psi.x.shape[1], psi.x.shape[1]), ca.SX(psi.x.shape[1], 1)
    for inertia, axis in zip(J.tolist(), AXES, strict=True):
        weighed = inertia * l * psi.of(axis).T @ constant(basis.gram[axis, axis])
        modal, rows = modal + weighed @ psi.of(axis), rows + weighed @ points.bias.of(axis)
    bias = ca.vertcat(l * constant(J) * _integral(basis, points.bias), rows)
    return _turning(constant(np.diag(J)) * l, shape, modal, bias, rates, omega)


def _turning(
    inertia: Expr, shape: Expr, modal: Expr, bias: Expr, rates: Expr, omega: Expr
) -> LinkTerms:
    """Weigh sections that turn by ``omega + psi_r q'`` in the link's axes."""
    k = rates.shape[0]
    blank = ca.SX(3, 3 + 3 + k)
    turned = ca.horzcat(ca.SX(3, 3), inertia, shape)  # (eqs. 25d, 25f)
    Pi = ca.vertcat(blank, turned, ca.horzcat(ca.SX(k, 3), shape.T, modal))
    torque = ca.cross(omega, inertia @ omega + shape @ rates)  # (eq. 18)
    return LinkTerms(Pi, ca.vertcat(ca.SX(3, 1), torque + bias[:3], bias[3:]))


def _integral(basis: Basis, f: Field) -> Expr:
    """Integrate fields, (3, k)."""
    return ca.vertcat(*[constant(basis.mean[axis]).T @ f.of(axis) for axis in AXES])


def _moments(basis: Basis, f: Field, g: Field) -> Rows:
    """Integrate products of a field's axes with those of k fields, (1, k) each."""
    return {(a, b): f.of(a).T @ constant(gram) @ g.of(b) for (a, b), gram in basis.gram.items()}


def _matrix(scale: Expr, moments: Rows) -> Expr:
    """Arrange the moments of two single fields, (3, 3)."""
    rows = [ca.horzcat(*[scale * moments[a, b] for b in AXES]) for a in AXES]
    return ca.vertcat(*rows)


def _crossed(moments: Rows) -> Expr:
    """Integrate cross products, (3, k)."""
    around: tuple[tuple[Axis, Axis], ...] = (("y", "z"), ("z", "x"), ("x", "y"))
    return ca.vertcat(*[moments[a, b] - moments[b, a] for a, b in around])
