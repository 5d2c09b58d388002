"""Generalised inertia of one link and its nonlinear loads, in the link's own frame (eqs. 23-25).

Part of `kinematic_influence`, which has the table of symbols.  The integral of eq. 24 over the
material is a sum of moments between fields: where the points are, how the link's own coordinates
move them, and how they accelerate from velocities alone.  A field is linear in coefficients over a
few functions of the place along the link, so every moment is a constant matrix between two sets of
coefficients, whatever the kind of link.
"""

from dataclasses import dataclass

import casadi as ca

from flexarm.links.fields import AXES, Axis, Basis, Field
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.terms import Terms, axial
from flexarm.mechanics.sections import Local, own_values
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Inertia, constant

Rows = dict[tuple[Axis, Axis], Expr]


@dataclass(frozen=True)
class LinkTerms:
    """Terms that a part of a link adds, k own coordinates."""

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
    """Compute the terms of a link with the bodies at its hub and tip.

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
    body = body_of(model, part)
    for points in body.points(own, rates):
        total += _spread(_side_by_side(points), rates, omega)
    total += _turning(body.turning(own, rates, omega))
    hub = body.hub_motion(q, 0 * q)
    if hub is not None and part.hub_body.weighs:
        total += rigid_share(part.hub_body, Riding(hub.local, ca.SX(6, 1)), rates, omega)
    if part.tip_body.weighs:
        total += rigid_share(part.tip_body, tip, rates, omega)
    return total


def riding_along(k: int) -> Riding:
    """Return the motion of the link's frame itself, which its k own coordinates do not move."""
    none = ca.SX(3, k)
    return Riding(Local(ca.SX(3, 1), ca.SX.eye(3), none, none), ca.SX(6, 1))


def rigid_share(body: Inertia, riding: Riding, rates: Expr, omega: Expr) -> LinkTerms:
    """Compute the terms of a rigid body that rides in a section of a link."""
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


def _side_by_side(points: MaterialPoints) -> LinkPoints:
    """Join the columns of a moving field side by side."""
    moving = points.moving
    psi = Field(*[ca.horzcat(*[c.of(axis) for c in moving.columns]) for axis in AXES])
    return LinkPoints(points.basis, points.scale, moving.value, moving.bias, psi)


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


def _turning(terms: Terms) -> LinkTerms:
    """Add the turning of sections in the link's axes to a generalised inertia."""
    k = terms.modal.shape[0]
    turned = ca.horzcat(ca.SX(3, 3), terms.second, terms.angular)  # (eqs. 25d, 25f)
    own = ca.horzcat(ca.SX(k, 3), terms.angular.T, terms.modal)
    load = ca.vertcat(terms.force, terms.torque, terms.effort)  # (eq. 18)
    return LinkTerms(ca.vertcat(ca.SX(3, 6 + k), turned, own), load)


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
