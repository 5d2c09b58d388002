"""A sliding link's inertia and elastic energy: the exposed part, and the straight part in the hub.

Forces are those of the material points (d'Alembert), so the beam's axial momentum and its inertia
force along the deflected axis are kept.
"""

import casadi as ca
import numpy as np

from flexarm.formulations.terms import Motion, Terms, add, only_own, own_rates, rigid_terms
from flexarm.kinematics import own_columns, sliding_section
from flexarm.links.sliding_curves import (
    Factors,
    curvature_forms,
    length_factors,
    sliding_curves,
    sliding_points,
)
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, constant


def sliding_terms(model: Model, part: LinkModel, q: Expr, v: Expr, omega: Expr) -> Terms:
    """Weigh a sliding link without what its tip carries."""
    shapes = part.sliding
    assert shapes is not None
    table = {name: float(values[0]) for name, values in shapes.span.table.items()}
    total = add(
        rigid_terms(part.root_body, omega, len(own_columns(part))),
        _inside(part, q, v, omega, table),
    )
    factors = length_factors(shapes, q[part.joint])
    rotary = any(table[name] for name in ("Jx", "Jy", "Jz"))
    for xi, weight in zip(*sliding_points(shapes), strict=True):
        total = add(
            total, _point(model, part, q, v, omega, (float(xi), float(weight), factors), table)
        )
        if rotary:
            total = add(
                total, _rotary(part, q, v, omega, (float(xi), float(weight), factors), table)
            )
    return total


def sliding_energy(model: Model, part: LinkModel, q: Expr) -> Expr:
    """Sum the elastic energy of a sliding link's exposed part [J]."""
    shapes = part.sliding
    assert shapes is not None and part.joint is not None
    length, d = q[part.joint], q[part.modes.start : part.modes.stop]
    stiffness = {
        name: float(shapes.span.table[name][0]) if shapes.span.has(name) else 0.0
        for name in ("EIz", "EIy", "GJ", "EA")
    }
    energy = type(q)(0)
    for weight, slopes, curvatures, strains in curvature_forms(shapes, length):
        slope, bend, strain = slopes @ d, curvatures @ d, strains @ d
        density = stiffness["EIz"] * bend[0] ** 2 + stiffness["EIy"] * bend[1] ** 2
        density += stiffness["GJ"] * strain[0] ** 2 + stiffness["EA"] * strain[1] ** 2
        if model.stiffening:
            a, b = slope[0] * bend[0], slope[1] * bend[1]
            density += (stiffness["EIz"] * a + stiffness["EIy"] * b) * (a + b)
        energy += weight * length * density / 2
    return energy


def material_motion(
    model: Model, part: LinkModel, q: Expr, v: Expr, xi: float, factors: Factors
) -> Motion:
    """Follow the material section that is now at x = xi l."""
    shift = ca.SX.sym("shift")
    local = sliding_section(model, part, q, xi, factors=factors, shift=shift)
    rates = own_rates(part, v)
    spin, speed = local.angular @ rates, local.linear @ rates
    drift = (1 - xi) * v[part.joint] / q[part.joint]
    own = ca.vertcat(only_own(part, v), drift)
    symbols = ca.vertcat(q, shift)
    biases = (ca.jtimes(value, symbols, own) for value in (spin, speed))
    parts = [local.position, local.rotation, local.linear, local.angular, spin, speed, *biases]
    at_zero = ca.substitute(parts, [shift], [ca.SX(0)])
    return Motion(type(local)(*at_zero[:4]), *at_zero[4:])


def _point(
    model: Model,
    part: LinkModel,
    q: Expr,
    v: Expr,
    omega: Expr,
    place: tuple[float, float, Factors],
    table: dict[str, float],
) -> Terms:
    """Weigh the beam around one quadrature point of the exposed part."""
    xi, weight, factors = place
    motion = material_motion(model, part, q, v, xi, factors)
    mass = table["mass_per_length"] * weight * q[part.joint]
    p, N = motion.local.position, motion.local.linear
    lever = ca.skew(p)
    acceleration = (
        ca.cross(omega, ca.cross(omega, p)) + 2 * ca.cross(omega, motion.speed) + motion.speed_bias
    )
    force = mass * acceleration
    return Terms(
        mass,
        mass * p,
        -mass * lever @ lever,
        mass * lever @ N,
        mass * N,
        mass * N.T @ N,
        ca.cross(p, force),
        force,
        N.T @ force,
    )


def _rotary(
    part: LinkModel,
    q: Expr,
    v: Expr,
    omega: Expr,
    place: tuple[float, float, Factors],
    table: dict[str, float],
) -> Terms:
    """Weigh the sections' rotary inertia around one point, by their first-order angles."""
    xi, weight, factors = place
    assert part.sliding is not None
    shift = ca.SX.sym("shift")
    d, rates = q[part.modes.start : part.modes.stop], own_rates(part, v)
    curves = sliding_curves(part.sliding, q[part.joint], factors, xi, shift=shift, drawn=False)
    columns = ca.horzcat(curves.angle_l @ d, curves.angle)
    turning = columns @ rates
    drift = (1 - xi) * v[part.joint] / q[part.joint]
    bias = ca.jtimes(turning, ca.vertcat(q, shift), ca.vertcat(only_own(part, v), drift))
    columns, turning, bias = ca.substitute([columns, turning, bias], [shift], [ca.SX(0)])
    per_length = np.diag([table["Jx"], table["Jy"], table["Jz"]])
    inertia = constant(per_length) * (weight * q[part.joint])
    k = columns.shape[1]
    return Terms(
        0.0,
        type(q).zeros(3, 1),
        inertia,
        inertia @ columns,
        type(q).zeros(3, k),
        columns.T @ inertia @ columns,
        ca.cross(omega, inertia @ (omega + turning)) + inertia @ bias,
        type(q).zeros(3, 1),
        columns.T @ (inertia @ bias),
    )


def _inside(part: LinkModel, q: Expr, v: Expr, omega: Expr, table: dict[str, float]) -> Terms:
    """Weigh the part of the beam in the hub: straight, from x = l - total length to 0."""
    length, out = q[part.joint], v[part.joint]
    k = len(own_columns(part))
    hidden = part.length - length
    mass = table["mass_per_length"] * hidden
    first = ca.vertcat(-mass * hidden / 2, 0, 0)
    rotary = constant(np.diag([table["Jx"], table["Jy"], table["Jz"]])) * hidden
    second = rotary + constant(np.diag([0.0, 1.0, 1.0])) * (mass * hidden**2 / 3)
    axis = ca.SX(constant(np.array([1.0, 0.0, 0.0])))
    coriolis = 2 * out * ca.cross(omega, axis)
    force = ca.cross(omega, ca.cross(omega, first)) + mass * coriolis
    linear, modal, effort = ca.SX(3, k), ca.SX(k, k), ca.SX(k, 1)
    linear[0, 0], modal[0, 0], effort[0] = mass, mass, force[0]
    torque = ca.cross(omega, second @ omega) + ca.cross(first, coriolis)
    return Terms(mass, first, second, ca.SX(3, k), linear, modal, torque, force, effort)
