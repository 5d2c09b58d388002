"""Inertia that only a sliding beam has: its part in the hub, and material that passes the mouth."""

from dataclasses import replace

import casadi as ca
import numpy as np

from flexarm.links.fields import AXES, Basis, Field, MovingField
from flexarm.links.growing.fields import SlidingMotion
from flexarm.mechanics.bodies.elements import ElementSection
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.terms import Terms, add, no_terms, turning_terms
from flexarm.model import LinkModel
from flexarm.spatial import Expr, Scalar, constant


def hidden_points(part: LinkModel, own: Expr) -> list[MaterialPoints]:
    """Return the mass points of the straight part in the hub, which moves with the length."""
    new, k, hidden = type(own), own.shape[0], part.length - own[0]
    none, still = new(0, 1), new(2, 1)
    out = Field(new(ca.DM([1, 0])), none, none)
    columns = (out, *[Field(still, none, none)] * (k - 1))
    place = Field(ca.vertcat(new(1, 1), -hidden), none, none)
    field, found = MovingField(place, columns, Field(still, none, none)), list[MaterialPoints]()
    for n, mass in enumerate(part.sliding_beam.shapes.inside("mass_per_length", own[0])):
        along = 1 / (1 + n + np.add.outer(range(2), range(2)))  # int z^n of 1 and z = 0 to 1
        gram = {(a, b): along if a == b == "x" else np.zeros((2 * (a == "x"), 2 * (b == "x")))
                for a in AXES for b in AXES}  # fmt: skip
        mean = {a: along[0] if a == "x" else np.zeros(0) for a in AXES}
        found.append(MaterialPoints(field, Basis(gram, mean, along[0, 0]), mass * hidden))
    return found


def hidden_element(part: LinkModel, own: Expr, count: int) -> ElementSection:
    """Return the part in the hub as an element with ``count`` mass points."""
    shapes, hidden, new = part.sliding_beam.shapes, part.length - own[0], type(own)
    none, along = new(3, own.shape[0]), new(3, own.shape[0])
    along[0, 0] = 1.0
    mass, first, second = (shapes.hidden("mass_per_length", own[0], order) for order in range(3))
    centre = ca.vertcat(-hidden * (first / mass), 0, 0)
    rotary = [shapes.hidden(name, own[0]) if count == 1 else 0 for name in ("Jx", "Jy", "Jz")]
    about = (second - first * first / mass) * hidden**3
    inertia = ca.vertcat(*rotary) * hidden + ca.vertcat(0, about, about)
    return ElementSection(mass * hidden, inertia, centre, along, new(3, 1), none)


def mouth_terms(speed: Expr, rates: Expr, mass: Scalar) -> Terms:
    """Compute the momentum of material that passes the mouth of the hub.

    Stretch begins at the mouth, so velocities jump there; with ``mu l'`` times the jump, Lagrange's
    equations of the changing domain and energy conservation are satisfied.  ``speed`` is the
    velocity at the mouth per rate of the length, (3,), and ``mass`` the mass per length mu there.
    """
    push = mass * rates[0] ** 2
    effort = ca.SX(rates.shape[0], 1)
    effort[0] = push * (ca.sumsqr(speed) - 1) / 2
    return replace(no_terms(rates), force=push * (speed - ca.DM([1, 0, 0])), effort=effort)


def sliding_rotary(part: LinkModel, own: Expr, rates: Expr, omega: Expr) -> Terms:
    """Compute the rotary inertia of the sections, exposed and in the hub, in link axes.

    Curvature begins at the mouth of the hub, where passing material starts to rotate.
    """
    total, shapes = no_terms(rates), part.sliding_beam.shapes
    names = ("Jx", "Jy", "Jz")
    if not any(any(shapes.per_length(name)) for name in names):
        return total
    motion, effort = SlidingMotion(shapes, own, rates), ca.SX(rates.shape[0], 1)
    rotation = motion.rotation()
    for k, taper in enumerate(shapes.span.tapers):
        inertia = constant(np.array([taper.table[name][0] for name in names]))
        scaled, basis = inertia * motion.length ** (k + 1), motion.rotation_basis(k)
        total = add(total, _first_order_terms(rotation, basis, rates, omega, scaled, 1 / (k + 1)))
    inertia = ca.vertcat(*[shapes.inside(name, own[0])[0] for name in names])
    angle, push = motion.angles(0.0)[1][:, 0], rates[0] ** 2
    effort[0] = push * ca.dot(angle, inertia * angle) / 2
    total = add(total, replace(no_terms(rates), torque=push * (inertia * angle), effort=effort))
    hidden = ca.vertcat(*[shapes.hidden(name, own[0]) for name in names])
    second = ca.diag(hidden) * (part.length - motion.length)
    inside = replace(no_terms(rates), second=second, torque=ca.cross(omega, second @ omega))
    return add(total, inside)


def _first_order_terms(
    moving: MovingField, basis: Basis, rates: Expr, omega: Expr, inertia: Expr, whole: float
) -> Terms:
    """Return the inertia terms of sections with first-order angles and inertia in link axes.

    ``whole`` is the integral of the weight with which inertia is distributed.
    """
    k = len(moving.columns)
    means = ca.horzcat(*[inertia * basis.integral(c) for c in moving.columns])
    modal, effort = ca.SX(k, k), ca.SX(k, 1)
    for i, a in enumerate(moving.columns):
        effort[i] = _product(basis, inertia, a, moving.bias)
        for j, b in enumerate(moving.columns[: i + 1]):
            modal[i, j] = modal[j, i] = _product(basis, inertia, a, b)
    momentum = whole * inertia * omega + means @ rates
    torque = ca.cross(omega, momentum) + inertia * basis.integral(moving.bias)
    return turning_terms(ca.diag(whole * inertia), means, modal, torque, effort)


def _product(basis: Basis, inertia: Expr, a: Field, b: Field) -> Expr:
    """Return the integral of the product of two angle fields, weighted by inertia per axis."""
    parts = [
        inertia[n] * ca.dot(constant(basis.gram[axis, axis]) @ a.of(axis), b.of(axis))
        for n, axis in enumerate(AXES)
    ]
    return sum(parts[1:], parts[0])
