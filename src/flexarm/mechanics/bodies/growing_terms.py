"""A sliding link's inertia and elastic energy: the exposed part, and the straight part in the hub.

Forces are those of the material points (d'Alembert), so the beam's axial momentum and its inertia
force along the deflected axis are kept.  All integrals are constant matrices between coefficients
of `flexarm.links.growing.fields`.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from flexarm.links.base import DIRECTIONS, Array, Direction
from flexarm.links.fields import AXES, Basis, MovingField, evaluate
from flexarm.links.growing.fields import ParentFactors, SlidingMotion, exposed_points
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.integrals import settled_pairs
from flexarm.mechanics.bodies.exact.growing import grown_terms
from flexarm.mechanics.bodies.exact.growing_polar import grown_polar_terms
from flexarm.mechanics.bodies.exact.strain import strain_effort, strain_energy, strains
from flexarm.mechanics.bodies.growing_motion import GrowingMotion
from flexarm.mechanics.bodies.terms import Terms, add, axial, rigid_terms, turning_terms
from flexarm.mechanics.sections import own_values
from flexarm.model import LinkModel
from flexarm.spatial import Expr, constant

# By direction: stiffness, which derivative of its curves is strained, and the power of the length
# that its energy goes with: stretch is a slope, curvature and torsion are derivatives of one.
STIFFNESS: dict[Direction, tuple[str, int, float]] = {
    "y": ("EIz", 2, -1.0), "z": ("EIy", 2, -1.0), "twist": ("GJ", 1, -1.0), "x": ("EA", 1, 1.0)
}  # fmt: skip
FITTED = 100.0  # by how much second derivatives of fitted curves magnify what rounding leaves


def sliding_terms(part: LinkModel, q: Expr, v: Expr, omega: Expr) -> Terms:
    """Weigh a sliding link without what its tip carries."""
    shapes = part.sliding
    assert shapes is not None
    own, rates = own_values(part, q), own_values(part, v)
    motion = GrowingMotion.of(part, own, rates)
    total = add(
        rigid_terms(part.root_body, omega, len(part.own)),
        _inside(shapes, part.length, own, rates, omega),
    )
    mass = shapes.mass_per_length * own[0]
    if part.grown is not None:
        total = add(total, grown_terms(part.grown, motion.linear, rates, omega, mass))
    else:
        moved = motion.displacement(), motion.displacement_basis()
        total = add(total, _translation(*moved, rates, omega, mass))
        total = add(total, _at_mouth(motion, rates, shapes.mass_per_length))
    inertia = shapes.rotary
    if np.any(inertia):
        linear, weight = motion.linear, constant(inertia) * own[0]
        turned = _turning(linear.rotation(), linear.rotation_basis(), rates, omega, weight)
        total = add(add(total, turned), _turned_at_mouth(motion, rates, constant(inertia)))
    if part.grown is not None and part.grown.polar is not None:
        total = add(total, grown_polar_terms(part.grown.polar, motion.linear, rates, omega))
    return total


def sliding_energy(part: LinkModel, q: Expr) -> Expr:
    """Sum the elastic energy of a sliding link's exposed part [J]."""
    length, slopes = _slopes(part, q)
    e = slopes.value
    energy = ca.dot(e, _stiffness(part, length) @ e) / 2
    if part.grown is not None and strains(part.grown.at):
        energy += strain_energy(part.grown.at, e) / length
    return energy


def sliding_effort(part: LinkModel, q: Expr) -> Expr:
    """Differentiate `sliding_energy` by exposed length and amplitudes, (k,)."""
    length, slopes = _slopes(part, q)
    e = slopes.value
    effort = _stiffness(part, length) @ e
    grown = ca.dot(constant(_powers(part)) * e, effort) / (2 * length)
    if part.grown is not None and strains(part.grown.at):
        effort += strain_effort(part.grown.at, e) / length
        grown -= strain_energy(part.grown.at, e) / length**2
    return ca.vertcat(grown + ca.dot(slopes.slope, effort), slopes.matrix.T @ effort)


def _slopes(part: LinkModel, q: Expr) -> tuple[Expr, ParentFactors]:
    """Give the exposed length, and what of each parent curve there is in the angles."""
    assert part.sliding is not None
    own = own_values(part, q)
    return own[0], SlidingMotion(part.sliding, own, 0 * own).slopes()


def _stiffness(part: LinkModel, length: Expr) -> Expr:
    """Give the stiffness matrix of slopes and twists, in blocks per direction."""
    shapes = part.sliding
    assert shapes is not None
    xi, weight = exposed_points(shapes)
    form, places = np.zeros((0, 0)), list[tuple[slice, float]]()
    for direction, (name, order, power) in STIFFNESS.items():
        rows, known = shapes.values(direction, xi, order), shapes.span.has(name)
        value, start = float(shapes.span.table[name][0]) if known else 0.0, len(form)
        form = np.pad(form, (0, len(rows)))
        form[start:, start:] = value * ((weight * rows) @ rows.T)
        places.append((slice(start, len(form)), power))
    form = settled_pairs(form, FITTED * form)
    blocks = [(constant(form[block, block]), power) for block, power in places]
    return ca.diagcat(*[k * length if power > 0 else k / length for k, power in blocks])


def _powers(part: LinkModel) -> Array:
    """Give the power of the length that each parent curve's stiffness goes with, (K,).

    Theodore & Ghosal 1995, eqs. 26-31, leave out what follows from it for the joint (erratum).
    """
    assert part.sliding is not None
    parents = part.sliding.parents
    return np.concatenate([np.full(len(parents[d]), STIFFNESS[d][2]) for d in DIRECTIONS])


def _translation(moving: MovingField, basis: Basis, rates: Expr, omega: Expr, mass: Expr) -> Terms:
    """Weigh the translation of the exposed part; ``mass`` is its mass."""
    place, bias = moving.value, moving.bias
    speed = moving.speed(rates)
    square = ca.skew(omega) @ ca.skew(omega)
    here, flown, pushed = (basis.weighed(each) for each in (place, speed, bias))
    second = mass * here.moment(place)
    inertia = ca.trace(second) * ca.SX.eye(3) - second
    moments = [mass * here.moment(c) for c in moving.columns]
    flow = mass * here.moment(speed)
    first = mass * basis.integral(place)
    force = square @ first + 2 * ca.cross(omega, mass * basis.integral(speed))
    force = force + mass * basis.integral(bias)
    torque = ca.cross(omega, inertia @ omega) + axial(mass * here.moment(bias))
    torque = torque + 2 * (ca.trace(flow) * omega - flow.T @ omega)
    effort, modal = [], ca.SX(len(moments), len(moments))
    for c, moment in zip(moving.columns, moments, strict=True):
        turned = 2 * ca.dot(omega, axial(mass * flown.moment(c)))
        effort.append(ca.trace(square @ moment) + turned + mass * pushed.product(c))
    for i, a in enumerate(moving.columns):
        own = basis.weighed(a)
        for j, b in enumerate(moving.columns[: i + 1]):
            modal[i, j] = modal[j, i] = mass * own.product(b)
    angular = ca.horzcat(*[axial(m) for m in moments])
    linear = ca.horzcat(*[mass * basis.integral(c) for c in moving.columns])
    return Terms(mass, first, inertia, angular, linear, modal, torque, force, ca.vertcat(*effort))


def _turning(moving: MovingField, basis: Basis, rates: Expr, omega: Expr, inertia: Expr) -> Terms:
    """Weigh the sections' rotary inertia, in link axes, by their first-order angles."""
    k = len(moving.columns)
    means = ca.horzcat(*[inertia * basis.integral(c) for c in moving.columns])
    modal, effort = ca.SX(k, k), ca.SX(k, 1)
    for i, a in enumerate(moving.columns):
        effort[i] = _weighed(basis, inertia, a, moving.bias)
        for j, b in enumerate(moving.columns[: i + 1]):
            modal[i, j] = modal[j, i] = _weighed(basis, inertia, a, b)
    momentum = inertia * omega + means @ rates
    torque = ca.cross(omega, momentum) + inertia * basis.integral(moving.bias)
    return turning_terms(ca.diag(inertia), means, modal, torque, effort)


def _weighed(basis: Basis, inertia: Expr, a: Expr, b: Expr) -> Expr:
    parts = [
        inertia[n] * ca.dot(constant(basis.gram[axis, axis]) @ a.of(axis), b.of(axis))
        for n, axis in enumerate(AXES)
    ]
    return sum(parts[1:], parts[0])


def _at_mouth(motion: GrowingMotion, rates: Expr, mu: float) -> Terms:
    """Add what the mouth of the hub takes to stretch the material that passes it.

    Stretch begins there, so velocities jump; with the momentum that passes, ``mu l'`` times the
    jump, Lagrange's equations of the changing domain hold and energy is kept.
    """
    at = motion.displacement_functions(np.zeros(1))
    speed = evaluate(motion.displacement(), at)[1][:, 0]
    none, push = _nothing(rates), mu * rates[0] ** 2
    effort = ca.SX(rates.shape[0], 1)
    effort[0] = push * (ca.sumsqr(speed) - 1) / 2
    return replace(none, force=push * (speed - ca.DM([1, 0, 0])), effort=effort)


def _turned_at_mouth(motion: GrowingMotion, rates: Expr, inertia: Expr) -> Terms:
    """Add what the mouth takes to turn the material that passes it: curvature begins there."""
    angle = motion.angles(0.0)[1][:, 0]
    effort, out = ca.SX(rates.shape[0], 1), rates[0]
    effort[0] = out**2 * ca.dot(angle, inertia * angle) / 2
    return replace(_nothing(rates), torque=out**2 * (inertia * angle), effort=effort)


def _nothing(rates: Expr) -> Terms:
    k, none = rates.shape[0], ca.SX(3, rates.shape[0])
    vector = ca.SX(3, 1)
    return Terms(0.0, vector, ca.SX(3, 3), none, none, ca.SX(k, k), vector, vector, ca.SX(k, 1))


def _inside(shapes: SlidingShapes, whole: float, own: Expr, rates: Expr, omega: Expr) -> Terms:
    """Weigh the part of the beam in the hub: straight, from x = l - total length to 0."""
    length, out = own[0], rates[0]
    k = own.shape[0]
    hidden = whole - length
    mass = shapes.mass_per_length * hidden
    first = ca.vertcat(-mass * hidden / 2, 0, 0)
    rotary = constant(np.diag(shapes.rotary)) * hidden
    second = rotary + constant(np.diag([0.0, 1.0, 1.0])) * (mass * hidden**2 / 3)
    axis = ca.SX(constant(np.array([1.0, 0.0, 0.0])))
    coriolis = 2 * out * ca.cross(omega, axis)
    force = ca.cross(omega, ca.cross(omega, first)) + mass * coriolis
    linear, modal, effort = ca.SX(3, k), ca.SX(k, k), ca.SX(k, 1)
    linear[0, 0], modal[0, 0], effort[0] = mass, mass, force[0]
    torque = ca.cross(omega, second @ omega) + ca.cross(first, coriolis)
    return Terms(mass, first, second, ca.SX(3, k), linear, modal, torque, force, effort)
