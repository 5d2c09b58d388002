"""What a link weighs that bends in two planes or stretches: tangents per axis in a space of theirs.

Coordinates of points along x, y, z are ``R_a = C_a P_a`` in functions that are orthonormal over the
mass, with the tangents P; functions of two axes are not orthogonal: ``Q_ab`` are their products.
"""

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies.exact.tangents import node_tangents
from flexarm.mechanics.bodies.terms import Terms, axial
from flexarm.spatial import Expr, constant


def columns(nodes: Collocation, by: tuple[Expr, Expr, Expr], weights: Array) -> Expr:
    """Sum tangents per rate of amplitude, times weights (rows, G) of the nodes, (rows, m).

    ``by`` are one coordinate of the tangents per unit of the two angles and of stretch, (1, G).
    """
    m = nodes.stretch.shape[1]
    total = type(by[0])(len(weights), m)
    for rows, tangent in zip((*nodes.bend, nodes.stretch), by, strict=True):
        if tangent.nnz() and np.any(rows):
            flat = np.einsum("kg,gj->jkg", weights, rows).reshape(-1, nodes.count)
            total += ca.reshape(constant(flat) @ tangent.T, len(weights), m)
    return total


def space_terms(nodes: Collocation, mass: float, d: Expr, rates: Expr, omega: Expr) -> Terms:
    """Weigh the points of a span, without its sections' rotary inertia."""
    t = node_tangents(nodes, d, rates)
    C, Q, axes = nodes.factor, nodes.cross, range(3)
    R = [constant(C[a]) @ t.place[a, :].T for a in axes]
    N = [columns(nodes, (t.by_a[a, :], t.by_b[a, :], t.unit[a, :]), C[a]) for a in axes]
    B = [constant(C[a]) @ t.bias[a, :].T for a in axes]
    V = [N[a] @ rates for a in axes]
    pairs = [(a, b) for a in axes for b in axes if a != b]
    # what moves along a, in the functions of b
    r = {(a, b): constant(Q[a, b].T) @ R[a] for a, b in pairs}
    v = {(a, b): constant(Q[a, b].T) @ V[a] for a, b in pairs}
    new, k = type(d), d.shape[0]
    second, flow, bent = new(3, 3), new(3, 3), new(3, 3)
    for a in axes:
        second[a, a], flow[a, a] = ca.dot(R[a], R[a]), ca.dot(R[a], V[a])
    for a, b in pairs:
        flow[a, b], bent[a, b] = ca.dot(r[a, b], V[b]), ca.dot(r[a, b], B[b])
        if a < b:
            second[a, b] = second[b, a] = ca.dot(r[a, b], R[b])
    spin = ca.skew(omega)
    square = ca.triu2symm(ca.triu(spin @ spin))
    effort, modal = new(k, 1), new(k, k)
    for a in axes:
        b, c = (a + 1) % 3, (a + 2) % 3
        gained = B[a] + square[a, a] * R[a] + square[a, b] * r[b, a] + square[a, c] * r[c, a]
        if np.array_equal(Q[b, a], Q[c, a]):  # two axes of one space
            gained += constant(Q[b, a].T) @ (2 * spin[a, b] * V[b] + 2 * spin[a, c] * V[c])
        else:
            gained += 2 * spin[a, b] * v[b, a] + 2 * spin[a, c] * v[c, a]
        effort += N[a].T @ gained
        modal += ca.triu(N[a].T @ N[a])
    around = ((1, 2), (2, 0), (0, 1))
    angular = ca.vertcat(*[r[a, b].T @ N[b] - r[b, a].T @ N[a] for a, b in around])
    inertia = ca.trace(second) * new.eye(3) - second
    torque = ca.cross(omega, inertia @ omega) + axial(bent)
    torque += 2 * (ca.trace(flow) * omega - flow.T @ omega)
    size = nodes.lever
    first = ca.vertcat(*[size[a] * R[a][0] for a in axes])
    linear = ca.vertcat(*[size[a] * N[a][0, :] for a in axes])
    force = square @ first + 2 * ca.cross(omega, linear @ rates)
    force += ca.vertcat(*[size[a] * B[a][0] for a in axes])
    return Terms(mass, first, inertia, angular, linear, ca.triu2symm(modal), torque, force, effort)
