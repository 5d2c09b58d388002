"""Inertia of a body of any shape, from constant integrals of its mode shapes.

The moment matrix ``R_j = int r phi_j^T`` of each amplitude, linear in all amplitudes, is split into
its symmetric part (6 numbers) and antisymmetric part (3 numbers): centrifugal forces and the
inertia matrix need the symmetric part, angular momentum and Coriolis forces the antisymmetric part.
"""

import casadi as ca
import numpy as np

from flexarm.links.imported.second_order import SecondOrder
from flexarm.links.integrals import Integrals
from flexarm.mechanics.bodies.terms import Terms
from flexarm.mechanics.sections import quadratic_section, second_rates
from flexarm.spatial import Array, Expr, constant

PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
TWICE = (1, 1, 1, 2, 2, 2)  # multiplicity of a pair in the trace of a product of symmetric matrices


def reduced_terms(i: Integrals, x: SecondOrder | None, d: Expr, rates: Expr, omega: Expr) -> Terms:
    """Compute the inertia terms of a body at amplitudes d and their rates, (m,) each.

    Notes ----- With second-order displacements, terms of third order in the amplitudes and their
    rates are omitted from the kinetic energy; all terms of lower order are included.
    """
    new = type(d)
    pairs = i.shape_shape if x is None else i.shape_shape + x.pairs
    even = [constant(_even(i.position_shape, a, b)) for a, b in PAIRS]  # (m,) each
    moments = [  # even part of each R_j, per pair of axes
        start + constant(_even(pairs, a, b)) @ d for start, (a, b) in zip(even, PAIRS, strict=True)
    ]
    turned = [constant(_odd(i.shape_shape, axis).T) for axis in range(3)]
    angular = ca.vertcat(
        *[
            (constant(_odd(i.position_shape, axis)) + constant(_odd(pairs, axis).T) @ d).T
            + constant(i.rotary_shape[axis][None])
            for axis in range(3)
        ]
    )
    second = [
        i.second[a, b] + ca.dot(d, start + moment)
        for (a, b), start, moment in zip(PAIRS, even, moments, strict=True)
    ]
    moved, linear = (
        (constant(i.shape) @ d, new(constant(i.shape)))
        if x is None
        else quadratic_section(d, i.shape, x.first)
    )
    first = constant(i.first) + moved
    spread = _inertia(second)
    inertia = spread + constant(i.rotary)
    flow = _inertia([ca.dot(rates, moment) for moment in moments])
    square = ca.skew(omega) @ ca.skew(omega)
    effort = new.zeros(d.shape[0], 1)
    for (a, b), twice, moment in zip(PAIRS, TWICE, moments, strict=True):
        effort += (twice * square[a, b]) * moment
    for axis in range(3):
        effort += (2 * omega[axis]) * (turned[axis] @ rates)
    torque = ca.cross(omega, inertia @ omega + angular @ rates) + 2 * (flow @ omega)
    force = square @ first + 2 * ca.cross(omega, linear @ rates)
    modal = new(constant(i.modal_mass))
    if x is not None:
        torque += second_rates([_odd(x.pairs, axis) for axis in range(3)], rates)
        force += second_rates(list(x.first), rates)
    return Terms(i.mass, first, inertia, angular, linear, modal, torque, force, effort)


def _inertia(second: list[Expr]) -> Expr:
    """Return ``tr(G) 1 - G`` (3, 3) of a symmetric matrix G given by its six entries."""
    xx, yy, zz, yz, zx, xy = second
    rows = ((yy + zz, -xy, -zx), (-xy, zz + xx, -yz), (-zx, -yz, xx + yy))
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def _even(moments: Array, a: int, b: int) -> Array:
    """Return the entries (a, b) of the symmetric part of moments (.., 3, 3)."""
    return np.asarray((moments[..., a, b] + moments[..., b, a]) / 2)


def _odd(moments: Array, axis: int) -> Array:
    """Return the component about an axis of the axial vector of moments (.., 3, 3)."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    return np.asarray(moments[..., a, b] - moments[..., b, a])
