"""Rotary inertia of a sliding link's sections about their own axes, where the link twists.

Sections are at fixed xi; the material slides past them. The inertia about link axes goes with
first-order angles; here is what is left, the kinetic energy ``l J (Om^2 - Om_0^2)/2`` of each
section with ``Om = t . omega + f' - T (a b' - b a')`` (primes: rates of the material) and its first
order ``Om_0``, by Lagrange's equations.
"""

from functools import cache

import casadi as ca

from flexarm.links.growing.fields import SlidingMotion
from flexarm.links.growing.nodes import GrowingPolar
from flexarm.mechanics.bodies.exact.tangents import Entire
from flexarm.mechanics.bodies.terms import Terms, turning_terms
from flexarm.spatial import Expr, constant


def grown_polar_terms(
    sections: GrowingPolar, motion: SlidingMotion, rates: Expr, omega: Expr
) -> Terms:
    """Compute the terms of the sections' rotation about their own axes beyond first order."""
    k, new, e = rates.shape[0], type(rates), motion.slopes()
    second, angular, modal = new(3, 3), new(3, k), new(k, k)
    torque, effort = new(3, 1), new(k, 1)
    for g, weight in enumerate(sections.inertia.tolist()):
        rows = constant(sections.rows[:, g])
        place = ca.vertcat(rows @ e.value, motion.length)
        grown = ca.horzcat(rows @ e.slope, rows @ e.matrix)
        columns = ca.vertcat(grown, ca.horzcat(1, new(1, k - 1)))
        bias = ca.vertcat(rows @ e.bend, 0)
        left = constant(sections.left[g : g + 1])
        found = _section()(place, columns @ rates, bias, omega, weight, left)
        inertia, turned, pushed = found
        second += inertia[:3, :3]
        angular += inertia[:3, 3:] @ columns
        modal += columns.T @ inertia[3:, 3:] @ columns
        torque += turned
        effort += columns.T @ pushed
    return turning_terms(second, angular, ca.triu2symm(ca.triu(modal)), torque, effort)


@cache
def _section() -> ca.Function:
    """Trace the terms of one section: inertia (10, 10), torque (3,) and efforts (7,).

    Its coordinates are the angles a, b, f, their derivatives by xi, and the exposed length.
    """
    place, rate, bias = (ca.SX.sym(name, 7) for name in ("place", "rate", "bias"))
    omega, weight, left = ca.SX.sym("omega", 3), ca.SX.sym("weight"), ca.SX.sym("left")
    a, b, length = place[0], place[1], place[6]
    A, B, F = ca.vertsplit(rate[:3] + left * rate[6] / length * place[3:6])
    known = Entire.of(a * a + b * b)
    tangent = ca.vertcat(known.C, a * known.S, b * known.S)
    turning = ca.dot(tangent, omega) + F - known.T * (a * B - b * A)
    first = omega[0] + F
    energy = weight * length * (turning**2 - first**2) / 2
    speeds = ca.vertcat(omega, rate)
    momentum = ca.gradient(energy, speeds)
    inertia = ca.jacobian(momentum, speeds)
    change = ca.jtimes(momentum, ca.vertcat(place, rate), ca.vertcat(rate, bias))
    torque = change[:3] + ca.cross(omega, momentum[:3])
    effort = change[3:] - ca.gradient(energy, place)
    inputs = [place, rate, bias, omega, weight, left]
    return ca.Function("section", inputs, [inertia, torque, effort], {"always_inline": True})
