"""A sliding link's inertia and elastic energy: the exposed part, and the straight part in the hub.

Forces are those of the material points (d'Alembert), so the beam's axial momentum and its inertia
force along the deflected axis are kept.  All integrals are constant matrices between coefficients
of `flexarm.links.growing.fields`.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from flexarm.links.base import DIRECTIONS, Array, Direction
from flexarm.links.fields import AXES, Basis, Field, MovingField, evaluate
from flexarm.links.growing.fields import ParentFactors, SlidingMotion, exposed_points
from flexarm.links.integrals import settled_pairs
from flexarm.mechanics.bodies.exact.growing import grown_terms
from flexarm.mechanics.bodies.exact.growing_polar import grown_polar_terms
from flexarm.mechanics.bodies.exact.strain import strain_effort, strain_energy, strains
from flexarm.mechanics.bodies.growing_motion import GrowingMotion
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.terms import Terms, add, no_terms, rigid_terms, turning_terms
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
    """Compute the terms of a sliding link without what its tip carries."""
    shapes = part.sliding_beam.shapes
    own, rates = own_values(part, q), own_values(part, v)
    motion, mu = GrowingMotion.of(part, own, rates), shapes.mass_per_length
    hidden = hidden_points(part.length - own[0], mu, len(part.own))
    total = add(rigid_terms(part.root_body, omega, len(part.own)), hidden.terms(rates, omega))
    if part.sliding_beam.nodes is not None:
        total = add(
            total, grown_terms(part.sliding_beam.nodes, motion.linear, rates, omega, mu * own[0])
        )
        return add(total, _section_terms(part, motion, own, rates, omega))
    exposed = MaterialPoints(motion.displacement(), motion.displacement_basis(), mu * own[0])
    total = add(total, exposed.terms(rates, omega))
    return add(total, sliding_turning(part, own, rates, omega))


def sliding_turning(part: LinkModel, own: Expr, rates: Expr, omega: Expr) -> Terms:
    """Compute the rotary inertia of the sections, and what material takes up at the mouth."""
    motion = GrowingMotion.of(part, own, rates)
    total = _at_mouth(motion, rates, part.sliding_beam.shapes.mass_per_length)
    return add(total, _section_terms(part, motion, own, rates, omega))


def _section_terms(
    part: LinkModel, motion: GrowingMotion, own: Expr, rates: Expr, omega: Expr
) -> Terms:
    """Compute the rotary inertia of the sections, exposed and in the hub, in link axes."""
    inertia, total = part.sliding_beam.shapes.rotary, no_terms(rates)
    if np.any(inertia):
        linear, weight = motion.linear, constant(inertia) * own[0]
        turned = _turning(linear.rotation(), linear.rotation_basis(), rates, omega, weight)
        total = add(turned, _turned_at_mouth(motion, rates, constant(inertia)))
        total = add(total, _turning_inside(inertia, part.length - own[0], rates, omega))
    if part.sliding_beam.nodes is not None and part.sliding_beam.nodes.polar is not None:
        total = add(
            total, grown_polar_terms(part.sliding_beam.nodes.polar, motion.linear, rates, omega)
        )
    return total


def _turning_inside(inertia: Array, hidden: Expr, rates: Expr, omega: Expr) -> Terms:
    """Compute the rotary inertia of the straight part in the hub."""
    second = constant(np.diag(inertia)) * hidden
    none = no_terms(rates)
    return replace(none, second=second, torque=ca.cross(omega, second @ omega))


def hidden_points(hidden: Expr, mu: float, k: int) -> MaterialPoints:
    """Return the straight part in the hub, x = -hidden to 0, which the first coordinate moves."""
    new = type(hidden)
    along = np.array([[1.0, 1 / 2], [1 / 2, 1 / 3]])  # of 1 and s = 0 to 1
    gram = {(a, b): along if a == b == "x" else np.zeros((2 * (a == "x"), 2 * (b == "x")))
            for a in AXES for b in AXES}  # fmt: skip
    mean = {a: along[0] if a == "x" else np.zeros(0) for a in AXES}
    none, still = new(0, 1), new(2, 1)
    columns = tuple(Field(new(ca.DM([1, 0])) if j == 0 else still, none, none) for j in range(k))
    place = Field(ca.vertcat(new(1, 1), -hidden), none, none)
    field = MovingField(place, columns, Field(still, none, none))
    return MaterialPoints(field, Basis(gram, mean, 1.0), mu * hidden)


def sliding_energy(part: LinkModel, q: Expr) -> Expr:
    """Sum the elastic energy of a sliding link's exposed part [J]."""
    length, slopes = _slopes(part, q)
    e = slopes.value
    energy = ca.dot(e, _stiffness(part, length) @ e) / 2
    if part.sliding_beam.nodes is not None and strains(part.sliding_beam.nodes.at):
        energy += strain_energy(part.sliding_beam.nodes.at, e) / length
    return energy


def sliding_effort(part: LinkModel, q: Expr) -> Expr:
    """Differentiate `sliding_energy` by exposed length and amplitudes, (k,)."""
    length, slopes = _slopes(part, q)
    e = slopes.value
    effort = _stiffness(part, length) @ e
    grown = ca.dot(constant(_powers(part)) * e, effort) / (2 * length)
    if part.sliding_beam.nodes is not None and strains(part.sliding_beam.nodes.at):
        effort += strain_effort(part.sliding_beam.nodes.at, e) / length
        grown -= strain_energy(part.sliding_beam.nodes.at, e) / length**2
    return ca.vertcat(grown + ca.dot(slopes.slope, effort), slopes.matrix.T @ effort)


def _slopes(part: LinkModel, q: Expr) -> tuple[Expr, ParentFactors]:
    """Give the exposed length, and what of each parent curve there is in the angles."""
    own = own_values(part, q)
    return own[0], SlidingMotion(part.sliding_beam.shapes, own, 0 * own).slopes()


def _stiffness(part: LinkModel, length: Expr) -> Expr:
    """Give the stiffness matrix of slopes and twists, in blocks per direction."""
    shapes = part.sliding_beam.shapes
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
    parents = part.sliding_beam.shapes.parents
    return np.concatenate([np.full(len(parents[d]), STIFFNESS[d][2]) for d in DIRECTIONS])


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
    none, push = no_terms(rates), mu * rates[0] ** 2
    effort = ca.SX(rates.shape[0], 1)
    effort[0] = push * (ca.sumsqr(speed) - 1) / 2
    return replace(none, force=push * (speed - ca.DM([1, 0, 0])), effort=effort)


def _turned_at_mouth(motion: GrowingMotion, rates: Expr, inertia: Expr) -> Terms:
    """Add what the mouth takes to turn the material that passes it: curvature begins there."""
    angle = motion.angles(0.0)[1][:, 0]
    effort, out = ca.SX(rates.shape[0], 1), rates[0]
    effort[0] = out**2 * ca.dot(angle, inertia * angle) / 2
    return replace(no_terms(rates), torque=out**2 * (inertia * angle), effort=effort)
