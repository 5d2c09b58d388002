"""Rotary inertia of sections about their own axes, of a link that twists.

A section turns about its tangent by ``Om = t . omega + f' - T W`` with ``W = a b' - b a'`` (dots on
a, b, f); its kinetic energy is ``J Om^2/2``.
"""

import casadi as ca

from flexarm.links.collocation import Polar
from flexarm.mechanics.bodies.exact.tangents import Angles, Entire, tangents
from flexarm.mechanics.bodies.terms import Terms, turning_terms
from flexarm.spatial import Expr, constant


def polar_terms(sections: Polar, d: Expr, rates: Expr, omega: Expr) -> Terms:
    """Weigh the sections' turning about their own axes."""
    rows = sections.bend, sections.twist, 0 * sections.twist
    at, speed = Angles.at(*rows, d), Angles.at(*rows, rates)
    t = tangents(at, speed)
    a, b, A, B = at.a, at.b, speed.a, speed.b
    J, new = constant(sections.inertia), type(d)
    turns = t.place.T @ omega + speed.twist
    bias = t.rate.T @ omega
    c_a, c_b = new(*J.shape), new(*J.shape)
    # rates of c_a and c_b less derivatives of Om by a and b
    g_a, g_b = -(t.by_a.T @ omega), -(t.by_b.T @ omega)
    if a.nnz() and b.nnz():
        f = Entire.of(a * a + b * b)
        p, W = a * A + b * B, a * B - b * A
        c_a, c_b = f.T * b, -f.T * a
        turns -= f.T * W
        bias -= f.T1 * p * W
        g_a += f.S * B  # p b + W a = x B, p a - W b = x A, 2 T + x T1 = S
        g_b -= f.S * A
    shapes = [constant(rows.T) for rows in (*sections.bend, sections.twist)]
    per = shapes[0] @ ca.diag(c_a) + shapes[1] @ ca.diag(c_b) + shapes[2]  # Om per rate, (m, G)
    heavy = J * turns
    effort = per @ (J * bias) + shapes[0] @ (heavy * g_a) + shapes[1] @ (heavy * g_b)
    weighed = t.place @ ca.diag(J)
    momentum = t.place @ heavy
    second = ca.triu2symm(ca.triu(weighed @ t.place.T))
    torque = weighed @ bias + t.rate @ heavy + ca.cross(omega, momentum)
    modal = ca.triu2symm(ca.triu(per @ ca.diag(J) @ per.T))
    return turning_terms(second, weighed @ per.T, modal, torque, effort)
