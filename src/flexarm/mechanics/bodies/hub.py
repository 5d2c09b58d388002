"""Inertia that only a sliding beam has: its part in the hub, and material that passes the mouth."""

from dataclasses import replace

import casadi as ca
import numpy as np

from flexarm.links.fields import AXES, Basis, Field, MovingField
from flexarm.links.growing.fields import SlidingMotion
from flexarm.mechanics.bodies.elements import ROD, ElementSection
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.terms import Terms, add, no_terms, turning_terms
from flexarm.model import LinkModel
from flexarm.spatial import Expr, constant


def hidden_points(part: LinkModel, own: Expr) -> MaterialPoints:
    """Return the mass points of the straight part in the hub, which moves with the length."""
    new, k, hidden = type(own), own.shape[0], part.length - own[0]
    along = np.array([[1.0, 1 / 2], [1 / 2, 1 / 3]])  # of 1 and s = 0 to 1
    gram = {(a, b): along if a == b == "x" else np.zeros((2 * (a == "x"), 2 * (b == "x")))
            for a in AXES for b in AXES}  # fmt: skip
    mean = {a: along[0] if a == "x" else np.zeros(0) for a in AXES}
    none, still = new(0, 1), new(2, 1)
    out = Field(new(ca.DM([1, 0])), none, none)
    columns = (out, *[Field(still, none, none)] * (k - 1))
    place = Field(ca.vertcat(new(1, 1), -hidden), none, none)
    field = MovingField(place, columns, Field(still, none, none))
    mass = part.sliding_beam.shapes.mass_per_length * hidden
    return MaterialPoints(field, Basis(gram, mean, 1.0), mass)


def hidden_element(part: LinkModel, own: Expr, count: int) -> ElementSection:
    """Return the part in the hub as an element with ``count`` mass points."""
    shapes, hidden, new = part.sliding_beam.shapes, part.length - own[0], type(own)
    none, mu = new(3, own.shape[0]), shapes.mass_per_length
    along = new(3, own.shape[0])
    along[0, 0] = 1.0
    centre = ca.vertcat(-hidden / 2, 0, 0)
    rotary = shapes.rotary if count == 1 else 0 * shapes.rotary
    inertia = constant(rotary) * hidden + constant(ROD) * mu * hidden**3
    return ElementSection(mu * hidden, inertia, centre, along, new(3, 1), none)


def mouth_terms(part: LinkModel, speed: Expr, rates: Expr) -> Terms:
    """Compute the momentum of material that passes the mouth of the hub.

    Stretch begins at the mouth, so velocities jump there; with ``mu l'`` times the jump, Lagrange's
    equations of the changing domain and energy conservation are satisfied.  ``speed`` is the
    velocity at the mouth per rate of the length, (3,).
    """
    push = part.sliding_beam.shapes.mass_per_length * rates[0] ** 2
    effort = ca.SX(rates.shape[0], 1)
    effort[0] = push * (ca.sumsqr(speed) - 1) / 2
    return replace(no_terms(rates), force=push * (speed - ca.DM([1, 0, 0])), effort=effort)


def sliding_rotary(part: LinkModel, own: Expr, rates: Expr, omega: Expr) -> Terms:
    """Compute the rotary inertia of the sections, exposed and in the hub, in link axes.

    Curvature begins at the mouth of the hub, where passing material starts to rotate.
    """
    none, shapes = no_terms(rates), part.sliding_beam.shapes
    if not np.any(shapes.rotary):
        return none
    motion, inertia = SlidingMotion(shapes, own, rates), constant(shapes.rotary)
    rotation, basis = motion.rotation(), motion.rotation_basis()
    total = _first_order_terms(rotation, basis, rates, omega, inertia * motion.length)
    angle, push = motion.angles(0.0)[1][:, 0], rates[0] ** 2
    effort = ca.SX(rates.shape[0], 1)
    effort[0] = push * ca.dot(angle, inertia * angle) / 2
    total = add(total, replace(none, torque=push * (inertia * angle), effort=effort))
    second = ca.diag(inertia) * (part.length - motion.length)
    inside = replace(none, second=second, torque=ca.cross(omega, second @ omega))
    return add(total, inside)


def _first_order_terms(
    moving: MovingField, basis: Basis, rates: Expr, omega: Expr, inertia: Expr
) -> Terms:
    """Return the inertia terms of sections with first-order angles and inertia in link axes."""
    k = len(moving.columns)
    means = ca.horzcat(*[inertia * basis.integral(c) for c in moving.columns])
    modal, effort = ca.SX(k, k), ca.SX(k, 1)
    for i, a in enumerate(moving.columns):
        effort[i] = _product(basis, inertia, a, moving.bias)
        for j, b in enumerate(moving.columns[: i + 1]):
            modal[i, j] = modal[j, i] = _product(basis, inertia, a, b)
    momentum = inertia * omega + means @ rates
    torque = ca.cross(omega, momentum) + inertia * basis.integral(moving.bias)
    return turning_terms(ca.diag(inertia), means, modal, torque, effort)


def _product(basis: Basis, inertia: Expr, a: Field, b: Field) -> Expr:
    """Return the integral of the product of two angle fields, weighted by inertia per axis."""
    parts = [
        inertia[n] * ca.dot(constant(basis.gram[axis, axis]) @ a.of(axis), b.of(axis))
        for n, axis in enumerate(AXES)
    ]
    return sum(parts[1:], parts[0])
