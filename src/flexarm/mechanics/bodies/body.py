"""Inertia of one flexible link and how its sections move, seen from its root frame L.

Shared by the recursive formulations.  Every coordinate that deforms a link is a column, the exposed
length of a sliding link among them, so the recursions never ask what kind it is.
"""

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.growing.fields import SlidingMotion
from flexarm.mechanics.bodies.growing import sliding_energy, sliding_terms
from flexarm.mechanics.bodies.quadratic import quadratic_terms, quartic_energy, quartic_gradient
from flexarm.mechanics.bodies.terms import (
    Motion,
    Terms,
    add,
    attach,
    axial,
    own_rates,
    rigid_terms,
)
from flexarm.mechanics.kinematics import Local, own_values, sliding_place, tip_section
from flexarm.model import Flexible, LinkModel, Model
from flexarm.spatial import Expr, constant


def tip_motion(model: Model, part: LinkModel, q: Expr, v: Expr) -> Motion:
    """Follow a link's flexible tip relative to its root."""
    rates = own_rates(part, v)
    if part.sliding is not None:
        motion = SlidingMotion(
            part.sliding, own_values(part, q), rates, stiffening=model.stiffening
        )
        local, bias, angle, angle_bias = sliding_place(model, motion, 1.0)
        spins = _spin(model, angle[0], angle[1] @ rates, angle_bias)
        return Motion(local, spins[0], local.linear @ rates, spins[1], bias)
    local = tip_section(model, part, q)
    if rates.shape[0] == 0:
        none = type(q).zeros(3, 1)
        return Motion(local, none, none, none, none)
    e = part.elastic
    assert e is not None
    d = q[part.modes.start : part.modes.stop]
    angle, angle_rate = constant(e.tip_angle) @ d, constant(e.tip_angle) @ rates
    for k in range(3):
        if np.any(e.tip_angle_quadratic[k]):
            bent = constant(e.tip_angle_quadratic[k]) @ d
            angle[k] += ca.dot(bent, d) / 2
            angle_rate[k] += ca.dot(bent, rates)
    spin, spin_bias = _spin(model, angle, angle_rate, _second_rate(e.tip_angle_quadratic, rates))
    return Motion(
        local, spin, local.linear @ rates, spin_bias, _second_rate(e.tip_quadratic, rates)
    )


def _spin(model: Model, angle: Expr, angle_rate: Expr, angle_bias: Expr) -> tuple[Expr, Expr]:
    """Give a section's angular velocity, and its change, from its first-order angles' rates."""
    vector, rate, bias = angle, angle_rate, angle_bias
    if model.stiffening:
        scale = 1 + (angle[1] ** 2 + angle[2] ** 2) / 4
        change = (angle[1] * angle_rate[1] + angle[2] * angle_rate[2]) / 2
        further = (angle_rate[1] ** 2 + angle_rate[2] ** 2) / 2
        further += (angle[1] * angle_bias[1] + angle[2] * angle_bias[2]) / 2
        vector = angle * scale
        rate = angle_rate * scale + angle * change
        bias = angle_bias * scale + 2 * angle_rate * change + angle * further
    size = 1 / (1 + ca.dot(vector, vector) / 4)
    spin = size * (rate + ca.cross(vector, rate) / 2)
    spin_bias = -(size * ca.dot(vector, rate) / 2) * spin
    return spin, spin_bias + size * (bias + ca.cross(vector, bias) / 2)


def hub_motion(part: LinkModel, q: Expr, v: Expr) -> Motion | None:
    """Motion of an outboard hub that root slopes turn about the joint axis, or None."""
    if part.elastic is None or not np.any(part.elastic.root_angle):
        return None
    back = part.pose_JL.rotation.T
    axis = back @ np.array([0.0, 0.0, 1.0])
    row = constant((axis @ part.elastic.root_angle)[None, :])
    d, rates = q[part.modes.start : part.modes.stop], own_rates(part, v)
    turned = row @ d
    c, s = ca.cos(turned), ca.sin(turned)
    about_z = type(q).eye(3)
    about_z[0, 0], about_z[0, 1], about_z[1, 0], about_z[1, 1] = c, -s, s, c
    place = type(q)(constant(-back @ part.pose_JL.position))
    none = type(q).zeros(3, 1)
    local = Local(
        place, constant(back) @ about_z, type(q).zeros(3, rates.shape[0]), constant(axis) @ row
    )
    return Motion(local, constant(axis) * (row @ rates), none, none, none)


def link_terms(model: Model, part: LinkModel, q: Expr, v: Expr, omega: Expr) -> Terms:
    """Inertia and velocity-dependent forces of a link without what its tip carries.

    Parameters
    ----------
    model, part
        The arm and one of its links.
    q, v
        All coordinates and rates.
    omega
        Angular velocity of L, in L, (3,).
    """
    if part.sliding is not None:
        return sliding_terms(model, part, q, v, omega)
    terms = rigid_terms(part.root_body, omega, part.modes.stop - part.modes.start)
    if part.elastic is not None:
        terms = add(terms, _elastic_terms(part.elastic, part, q, v, omega))
    motion = hub_motion(part, q, v)
    if motion is not None and part.hub_body.mass + np.abs(part.hub_body.second).max() > 0:
        terms = attach(terms, part.hub_body, motion, omega)
    return terms


def elastic_effort(model: Model, part: LinkModel, q: Expr) -> Expr:
    """Gradient of the elastic energy by a link's own coordinates, (k,)."""
    if part.sliding is not None:
        columns = ca.vertcat(*[q[i] for i in part.own])
        gradient = ca.gradient(elastic_energy(model, part, q), q)
        return ca.vertcat(*[gradient[i] for i in part.own]) if columns.shape[0] else columns
    if part.elastic is None:
        return type(q).zeros(0, 1)
    d = q[part.modes.start : part.modes.stop]
    effort = constant(part.elastic.integrals.stiffness) @ d
    if model.stiffening:
        effort = effort + quartic_gradient(part.elastic, d)
    if part.link.elastic_energy or part.link.elastic_force:
        extra = ca.gradient(_given_energy(part, d), d)
        effort = effort + extra
    return effort


def elastic_energy(model: Model, part: LinkModel, q: Expr) -> Expr:
    """Elastic energy of a link [J]."""
    d = q[part.modes.start : part.modes.stop]
    if part.sliding is not None:
        return sliding_energy(model, part, q) + _given_energy(part, d)
    if part.elastic is None:
        return type(q)(0)
    energy = ca.dot(d, constant(part.elastic.integrals.stiffness) @ d) / 2
    if model.stiffening:
        energy = energy + quartic_energy(part.elastic, d)
    return energy + _given_energy(part, d)


def _elastic_terms(e: Flexible, part: LinkModel, q: Expr, v: Expr, omega: Expr) -> Terms:
    """Terms of the flexible span from the moments ``R_j = int mu r N_j^T`` of its points."""
    i = e.integrals
    d, rates = q[part.modes.start : part.modes.stop], own_rates(part, v)
    k = d.shape[0]
    moments = [_moment(i.position_shape[j], i.shape_shape[:, j], d) for j in range(k)]
    flow = [_moment(np.zeros((3, 3)), i.shape_shape[:, j], rates) for j in range(k)]
    first = constant(i.first) + constant(i.shape) @ d
    linear = type(q)(constant(i.shape))
    modal = type(q)(constant(i.modal_mass))
    force = type(q).zeros(3, 1)
    torque, effort = type(q).zeros(3, 1), [type(q)(0)] * k
    second_moment = type(q)(constant(i.second))
    for j in range(k):
        second_moment += d[j] * (moments[j] + constant(i.position_shape[j].T))
    if np.any(e.points.quadratic):
        extra = quadratic_terms(e, d, rates)
        moments = [a + b for a, b in zip(moments, extra.moments, strict=True)]
        flow = [a + b for a, b in zip(flow, extra.flow, strict=True)]
        first, linear = first + extra.first, linear + extra.linear
        modal, second_moment = modal + extra.modal, second_moment + extra.second
        torque, force = torque + extra.torque, force + extra.force
        effort = [a + extra.effort[j] for j, a in enumerate(effort)]
    square = ca.skew(omega) @ ca.skew(omega)
    total = type(q).zeros(3, 3)
    for j in range(k):
        total += rates[j] * moments[j]
        effort[j] += ca.trace(square @ moments[j]) + 2 * ca.dot(omega, axial(flow[j]))
    inertia = ca.trace(second_moment) * type(q).eye(3) - second_moment + constant(i.rotary)
    inertia = ca.triu2symm(ca.triu(inertia))
    torque += ca.cross(omega, inertia @ omega + constant(i.rotary_shape) @ rates)
    torque += 2 * (ca.trace(total) * omega - total.T @ omega)
    force += square @ first + 2 * ca.cross(omega, linear @ rates)
    angular = [axial(moment) for moment in moments]
    columns = ca.horzcat(*angular) if k else type(q).zeros(3, 0)
    return Terms(
        i.mass,
        first,
        inertia,
        columns + constant(i.rotary_shape),
        linear,
        modal,
        torque,
        force,
        ca.vertcat(*effort) if k else type(q).zeros(0, 1),
    )


def _moment(constant_part: Array, slope: Array, d: Expr) -> Expr:
    """``constant + sum_k d_k slope[k]``, a (3, 3) moment linear in the amplitudes."""
    total = type(d)(constant(constant_part))
    for k in range(d.shape[0]):
        if np.any(slope[k]):
            total += d[k] * constant(slope[k])
    return total


def _second_rate(quadratic: Array, rates: Expr) -> Expr:
    rows = [
        ca.dot(rates, constant(quadratic[a]) @ rates) if np.any(quadratic[a]) else type(rates)(1, 1)
        for a in range(3)
    ]
    return ca.vertcat(*rows)


def _given_energy(part: LinkModel, d: Expr) -> Expr:
    """Nonlinear elastic energy that the user gives: products of powers, and force tables."""
    energy = type(d)(0)
    shapes = part.sliding if part.elastic is None else part.elastic.shapes
    if shapes is None:
        return energy
    names = shapes.names
    for term in part.link.elastic_energy:
        product = type(d)(term.coefficient)
        for name, power in term.powers.items():
            product *= d[names.index(name)] ** power
        energy += product
    for table in part.link.elastic_force:
        energy += table_energy(table.amplitude, table.force, d[names.index(table.coordinate)])
    return energy


def table_energy(places: tuple[float, ...], efforts: tuple[float, ...], x: Expr) -> Expr:
    """Energy of a spring whose effort is linear between the given points, extended outside."""
    total, slope0 = type(x)(0), (efforts[1] - efforts[0]) / (places[1] - places[0])
    start = efforts[0] - slope0 * places[0]
    total = start * x + slope0 * x * x / 2
    for k in range(1, len(places) - 1):
        slope1 = (efforts[k + 1] - efforts[k]) / (places[k + 1] - places[k])
        beyond = ca.fmax(x - places[k], 0)
        at_rest = max(-places[k], 0.0)
        total += (slope1 - slope0) * (beyond * beyond - at_rest * at_rest) / 2
        slope0 = slope1
    return total
