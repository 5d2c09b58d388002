"""Rotary inertia of a sliding link's sections about their own axes.

Sections are at fixed xi, past which the material slides.  The inertia about link axes is computed
from first-order angles elsewhere; this module adds the remainder, by Lagrange's equations of the
kinetic energy of each section beyond that of its first-order angular velocity.
"""

from functools import cache

import casadi as ca
import numpy as np

from flexarm.links.amounts import Amounts
from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies.exact.tangents import Angles, turned
from flexarm.mechanics.bodies.terms import Terms, turning_terms
from flexarm.spatial import Expr, constant


def grown_rotary_terms(nodes: Collocation, e: Amounts, rates: Expr, omega: Expr) -> Terms:
    """Compute the inertia terms of the sections' rotary inertia beyond first-order angles."""
    k, new = rates.shape[0], type(rates)
    assert e.columns is not None  # the length is a coordinate
    second, angular, modal = new(3, 3), new(3, k), new(k, k)
    torque, effort = new(3, 1), new(k, 1)
    angles = np.stack([*nodes.bend, nodes.twist, *nodes.curve, nodes.torsion], axis=1)
    for g in np.flatnonzero(np.any(nodes.rotary, axis=0)):
        rows = constant(angles[g])
        place = ca.vertcat(rows @ e.value, e.length)
        columns = ca.vertcat(rows @ e.columns, ca.horzcat(1, new(1, k - 1)))
        bias = ca.vertcat(rows @ e.bias, 0)
        left = constant(1 - nodes.x[g : g + 1])
        weight = constant(nodes.rotary[:, g])
        terms = _section()(place, columns @ rates, bias, omega, weight, left)
        inertia, pulled, pushed = terms
        second += inertia[:3, :3]
        angular += inertia[:3, 3:] @ columns
        modal += columns.T @ inertia[3:, 3:] @ columns
        torque += pulled
        effort += columns.T @ pushed
    return turning_terms(second, angular, ca.triu2symm(ca.triu(modal)), torque, effort)


@cache
def _section() -> ca.Function:
    """Return a function of a section's state: inertia (10, 10), torque (3,) and efforts (7,).

    The coordinates are the angles a, b, f, their derivatives by xi, and the exposed length; the
    section's rotary inertia ``weight`` about its own axes is per unit of exposed length, (3,).
    """
    place, rate, bias = (ca.SX.sym(name, 7) for name in ("place", "rate", "bias"))
    omega, weight, left = ca.SX.sym("omega", 3), ca.SX.sym("weight", 3), ca.SX.sym("left")
    length, none = place[6], ca.SX(1, 1)
    change = rate[:3] + left * rate[6] / length * place[3:6]
    angles = (Angles(values[0], values[1], values[2], none) for values in (place, change))
    at = turned(*angles)
    turning = at.rotation.T @ (omega + at.spin)
    first = omega + ca.vertcat(change[2], -change[1], change[0])
    energy = length * ca.dot(weight, turning**2 - first**2) / 2
    speeds = ca.vertcat(omega, rate)
    momentum = ca.gradient(energy, speeds)
    inertia = ca.jacobian(momentum, speeds)
    gained = ca.jtimes(momentum, ca.vertcat(place, rate), ca.vertcat(rate, bias))
    torque = gained[:3] + ca.cross(omega, momentum[:3])
    effort = gained[3:] - ca.gradient(energy, place)
    inputs = [place, rate, bias, omega, weight, left]
    return ca.Function("section", inputs, [inertia, torque, effort], {"always_inline": True})
