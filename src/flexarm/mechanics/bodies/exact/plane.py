"""Inertia of a link that bends in one plane and does not stretch.

The tangents of all axes are interpolated in one function space, so that their products are
``A_gh cos(a_g - a_h)`` and ``A_gh sin(a_g - a_h)`` with the constant Gram matrix A.  Vectors have
components along x, along the bending direction n, and along the axis of rotation e = x x n.
"""

import casadi as ca

from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies.exact.tangents import Angles
from flexarm.mechanics.bodies.terms import Terms
from flexarm.mechanics.constants import SINGLE_NODES
from flexarm.spatial import Expr, constant


def plane_terms(nodes: Collocation, mass: float, at: Angles, rates: Angles, omega: Expr) -> Terms:
    """Compute the inertia terms of a span's mass points for bending in one plane.

    Rotary inertia of the sections is not included.
    """
    along = 2 if nodes.bends[1] else 1
    angle, speed = (at.b, rates.b) if nodes.bends[1] else (at.a, rates.a)
    c, s = ca.cos(angle), ca.sin(angle)
    A, a, p = constant(nodes.gram[0, 0]), constant(nodes.mean[0]), constant(nodes.bend[along - 1].T)
    new, k = type(omega), nodes.bend.shape[2]
    to_link = _axes(along, new)
    w = to_link.T @ omega
    few = nodes.count <= SINGLE_NODES
    # products of tangents: by the cosines of the angles between them, and by the sines
    K, S = _products(nodes, c, s)
    turned = K @ p.T
    above = [K[g, h] for h in range(nodes.count) for g in range(h)]
    spread = ca.trace(K) + 2 * ca.sum1(ca.vertcat(*above)) if few else ca.sum1(ca.sum2(K))
    drawn = ca.dot(s, A @ s)
    mixed = -ca.dot(c, A @ s)
    second = ca.vertcat(
        ca.horzcat(drawn, mixed, 0), ca.horzcat(mixed, spread - drawn, 0), ca.horzcat(0, 0, spread)
    )
    # accelerations of the tangents at zero accelerations
    fast = (w[2] + speed) ** 2
    tilt, lean = w[0] * s - w[1] * c, w[0] * c + w[1] * s
    back, aside = fast * c - w[1] * tilt, fast * s + w[0] * tilt
    across = (w[2] + 2 * speed) * lean
    out, thrown, drift = A @ across, a * fast, ca.dot(a, tilt)
    if few:
        bend = S @ fast - S.T @ fast - lean * (A @ tilt)
        weighed = p * ca.repmat(a.T, k, 1)
        moved = weighed @ s, weighed @ c
        pushed = w[1] * drift - ca.dot(thrown, c), -w[0] * drift - ca.dot(thrown, s)
    else:
        bend = s * (A @ back) - c * (A @ aside)
        moved = p @ (a * s), p @ (a * c)
        pushed = -ca.dot(a, back), -ca.dot(a, aside)
    return Terms(
        mass,
        to_link @ ca.vertcat(ca.dot(a, c), ca.dot(a, s), 0),
        to_link @ second @ to_link.T,
        to_link @ ca.vertcat(new(2, k), ca.sum1(turned) if few else (p @ ca.sum2(K)).T),
        to_link @ ca.vertcat(-moved[0].T, moved[1].T, new(1, k)),
        ca.triu2symm(ca.triu(p @ turned if few else p @ K @ p.T)),
        to_link @ ca.vertcat(ca.dot(s, out), -ca.dot(c, out), ca.sum1(bend)),
        to_link @ ca.vertcat(*pushed, ca.dot(a, across)),
        p @ bend,
    )


def _axes(along: int, new: type[Expr]) -> Expr:
    """Return the unit vectors x, n and e as columns in link axes, (3, 3)."""
    axes = new(3, 3)
    axes[0, 0] = axes[along, 1] = 1
    axes[3 - along, 2] = 1 if along == 1 else -1
    return axes


def _products(nodes: Collocation, c: Expr, s: Expr) -> tuple[Expr, Expr]:
    """Return inner products ``A_gh cos(a_g - a_h)`` of tangents, and ordered outer products.

    Both have shape (G, G); the outer products ``A_gh sin(a_g - a_h)`` are stored for g < h only.
    """
    A, n = nodes.gram[0, 0], nodes.count
    K, S = type(c)(constant(A)), type(c)(n, n)
    for g in range(n):
        for h in range(g + 1, n):
            K[g, h] = K[h, g] = A[g, h] * (c[g] * c[h] + s[g] * s[h])
            S[g, h] = A[g, h] * (s[g] * c[h] - c[g] * s[h])
    return K, S
