"""A sliding link's inertia and elastic energy: the exposed part, and the straight part in the hub.

Forces are those of the material points (d'Alembert), so the beam's axial momentum and its inertia
force along the deflected axis are kept.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.formulations.terms import Motion, Terms, add, own_rates, rigid_terms
from flexarm.kinematics import own_columns, own_values, sliding_section
from flexarm.links.sliding import SlidingShapes
from flexarm.links.sliding_curves import (
    Factors,
    curvature_forms,
    length_factors,
    sliding_curves,
    sliding_points,
    symbolic_factors,
)
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, constant


@dataclass(frozen=True)
class _Symbols:
    """Own coordinates, their rates and the factors of the shapes as symbols of their own.

    Differentiating by these, with the factors' rates as seeds, costs nothing that is repeated at
    every quadrature point.
    """

    own: Expr
    rates: Expr
    shift: Expr
    factors: Factors

    def rate_of(self, value: Expr, xi: float) -> Expr:
        """Differentiate by time at zero acceleration, following the material."""
        out = self.rates[0]
        drift = (1 - xi) * out / self.own[0]
        symbols, seeds = [self.own, self.shift], [self.rates, drift]
        for here, next_ in ((0, 1), (1, 2)):
            levels = (self.factors.value, self.factors.rate, self.factors.second)
            for direction, matrix in levels[here].items():
                symbols.append(ca.vertcat(*matrix.nonzeros()))
                change = ca.project(levels[next_][direction], matrix.sparsity()) * out
                seeds.append(ca.vertcat(*change.nonzeros()))
        return ca.jtimes(value, ca.vertcat(*symbols), ca.vertcat(*seeds))


def sliding_terms(model: Model, part: LinkModel, q: Expr, v: Expr, omega: Expr) -> Terms:
    """Weigh a sliding link without what its tip carries."""
    shapes = part.sliding
    assert shapes is not None
    k = len(own_columns(part))
    table = {name: float(values[0]) for name, values in shapes.span.table.items()}
    turning = ca.SX.sym("omega", 3)
    symbols = _Symbols(
        ca.SX.sym("own", k),
        ca.SX.sym("rates", k),
        ca.SX.sym("shift"),
        symbolic_factors(shapes),
    )
    total = add(
        rigid_terms(part.root_body, turning, k), _inside(part.length, symbols, turning, table)
    )
    rotary = any(table[name] for name in ("Jx", "Jy", "Jz"))
    for xi, weight in zip(*sliding_points(shapes), strict=True):
        place = (float(xi), float(weight))
        total = add(total, _point(model, shapes, symbols, turning, place, table))
        if rotary:
            total = add(total, _rotary(shapes, symbols, turning, place, table))
    own = own_values(part, q)
    factors = length_factors(shapes, own[0])
    return _evaluated(total, symbols, turning, (own, own_rates(part, v), omega), factors)


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


def tip_of_sliding(model: Model, part: LinkModel, q: Expr, v: Expr) -> Motion:
    """Follow the tip of a sliding link."""
    shapes = part.sliding
    assert shapes is not None
    k = len(own_columns(part))
    symbols = _Symbols(
        ca.SX.sym("own", k), ca.SX.sym("rates", k), ca.SX.sym("shift"), symbolic_factors(shapes)
    )
    motion = _material_motion(model, shapes, symbols, 1.0)
    local = motion.local
    parts = [local.position, local.rotation, local.linear, local.angular]
    parts += [motion.spin, motion.speed, motion.spin_bias, motion.speed_bias]
    own = own_values(part, q)
    placed = _substituted(
        parts, symbols, None, (own, own_rates(part, v), None), length_factors(shapes, own[0])
    )
    return Motion(type(local)(*placed[:4]), *placed[4:])


def _material_motion(model: Model, shapes: SlidingShapes, symbols: _Symbols, xi: float) -> Motion:
    """Follow the material section that is now at x = xi l, in symbols."""
    local = sliding_section(model, shapes, symbols.own, symbols.factors, xi, shift=symbols.shift)
    spin, speed = local.angular @ symbols.rates, local.linear @ symbols.rates
    return Motion(local, spin, speed, symbols.rate_of(spin, xi), symbols.rate_of(speed, xi))


def _point(
    model: Model,
    shapes: SlidingShapes,
    symbols: _Symbols,
    omega: Expr,
    place: tuple[float, float],
    table: dict[str, float],
) -> Terms:
    """Weigh the beam around one quadrature point of the exposed part."""
    xi, weight = place
    motion = _material_motion(model, shapes, symbols, xi)
    mass = table["mass_per_length"] * weight * symbols.own[0]
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
    shapes: SlidingShapes,
    symbols: _Symbols,
    omega: Expr,
    place: tuple[float, float],
    table: dict[str, float],
) -> Terms:
    """Weigh the sections' rotary inertia around one point, by their first-order angles."""
    xi, weight = place
    length, d = symbols.own[0], symbols.own[1:]
    curves = sliding_curves(shapes, length, symbols.factors, xi, shift=symbols.shift, drawn=False)
    columns = ca.horzcat(curves.angle_l @ d, curves.angle)
    turning = columns @ symbols.rates
    bias = symbols.rate_of(turning, xi)
    inertia = constant(np.diag([table["Jx"], table["Jy"], table["Jz"]])) * (weight * length)
    k = columns.shape[1]
    return Terms(
        0.0,
        ca.SX(3, 1),
        inertia,
        inertia @ columns,
        ca.SX(3, k),
        columns.T @ inertia @ columns,
        ca.cross(omega, inertia @ (omega + turning)) + inertia @ bias,
        ca.SX(3, 1),
        columns.T @ (inertia @ bias),
    )


def _inside(whole: float, symbols: _Symbols, omega: Expr, table: dict[str, float]) -> Terms:
    """Weigh the part of the beam in the hub: straight, from x = l - total length to 0."""
    length, out = symbols.own[0], symbols.rates[0]
    k = symbols.own.shape[0]
    hidden = whole - length
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


def _evaluated(
    terms: Terms,
    symbols: _Symbols,
    omega: Expr,
    values: tuple[Expr, Expr, Expr],
    factors: Factors,
) -> Terms:
    names = ("mass", "first", "second", "angular", "linear", "modal", "torque", "force", "effort")
    parts = [ca.SX(getattr(terms, name)) for name in names]
    return Terms(*_substituted(parts, symbols, omega, values, factors))


def _substituted(
    parts: list[Expr],
    symbols: _Symbols,
    omega: Expr | None,
    values: tuple[Expr, Expr, Expr | None],
    factors: Factors,
) -> list[Expr]:
    """Put the arm's own expressions where the symbols stand."""
    before = [symbols.own, symbols.rates, symbols.shift]
    after = [values[0], values[1], ca.SX(0)]
    if omega is not None:
        before.append(omega)
        after.append(values[2])
    for name in ("value", "rate", "second"):
        for direction, matrix in getattr(symbols.factors, name).items():
            before.append(ca.vertcat(*matrix.nonzeros()))
            given: Expr = ca.project(ca.SX(getattr(factors, name)[direction]), matrix.sparsity())
            after.append(ca.vertcat(*given.nonzeros()))
    used = [(b, a) for b, a in zip(before, after, strict=True) if b.numel()]
    function = ca.Function("sliding", [b for b, _ in used], parts)
    result = function.call([a for _, a in used])
    return list(result)
