"""Rotary inertia of sections about their own axes, of a link that twists.

A section turns about its tangent by ``Om = t . omega + f' - T W`` with ``W = a b' - b a'`` (dots on
a, b, f); its kinetic energy is ``J Om^2/2``.
"""

import casadi as ca
import numpy as np

from flexarm.links.collocation import Polar
from flexarm.mechanics.bodies.exact.tangents import Angles, Entire, tangents
from flexarm.mechanics.bodies.terms import Terms, turning_terms
from flexarm.spatial import Expr, constant


def polar_terms(sections: Polar, moved: Polar, d: Expr, rates: Expr, omega: Expr) -> Terms:
    """Weigh the sections' turning about their own axes, which ``moved`` has per column."""
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
    heavy, pushed = J * turns, J * bias
    efforts = (c_a * pushed + heavy * g_a, c_b * pushed + heavy * g_b, pushed)
    per = (c_a, c_b, new.ones(*J.shape))  # Om per rate of the angles and of the twist
    shapes = (*moved.bend, moved.twist)
    k, momentum = d.shape[0], t.place @ heavy
    effort, angular, modal = new(k, 1), new(3, k), new(k, k)
    for i, rows in enumerate(shapes):
        effort += constant(rows.T) @ efforts[i]
        weighed = sections.inertia[:, None] * rows
        angular += (t.place @ ca.diag(per[i])) @ constant(weighed)
        for j in range(i, 3):
            products = np.einsum("gp,gq->pqg", weighed, shapes[j]).reshape(k * k, -1)
            between = constant(products) @ (per[i] * per[j])
            modal += ca.reshape(between, k, k).T
    second = ca.triu2symm(ca.triu(t.place @ ca.diag(J) @ t.place.T))
    torque = t.place @ pushed + t.rate @ heavy + ca.cross(omega, momentum)
    return turning_terms(second, angular, ca.triu2symm(ca.triu(modal)), torque, effort)
