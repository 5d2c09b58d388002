"""What a link weighs that bends in two planes or stretches: tangents per axis in a space of theirs.

Points along x, y, z are sums of the tangents P at the nodes times functions of that axis, whose
products over the mass are the constant matrices ``gram[a, b]``.  Axes may have one space of them.
Where much of such sums would cancel out, functions are taken that are orthonormal over the mass,
and ``roots[a] P`` in place of P.
"""

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies.exact.tangents import Tangents
from flexarm.mechanics.bodies.terms import Terms
from flexarm.spatial import Expr, constant

XYZ = range(3)
AROUND = ((1, 2), (2, 0), (0, 1))


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


def space_terms(nodes: Collocation, mass: float, t: Tangents, omega: Expr) -> Terms:
    """Weigh the points of a span, without its sections' rotary inertia."""
    new, own = type(omega), nodes.spaces
    spaces = sorted(set(own))
    every = nodes.gram if nodes.cross is None else nodes.cross
    gram = {(s, z): constant(every[s, z]) for s in spaces for z in spaces}
    roots, mean = _functions(nodes, spaces)
    P = [roots[own[a]] @ t.place[a, :].T for a in XYZ]
    # points along an axis, weighed over the functions of a space
    W = {(a, s): gram[s, own[a]] @ P[a] for a in XYZ for s in spaces}
    # accelerations along an axis that are sums of the functions of a space
    X = {(a, s): roots[s] @ _acceleration(nodes, t, omega, a, s) for a in XYZ for s in spaces}
    felt = [sum((gram[own[a], s] @ X[a, s] for s in spaces), new(nodes.count, 1)) for a in XYZ]
    second, torque, force = new(3, 3), new(3, 1), new(3, 1)
    for a in XYZ:
        for b in range(a, 3):
            second[a, b] = second[b, a] = ca.dot(W[a, own[b]], P[b])
        force[a] = sum((ca.dot(mean[s], X[a, s]) for s in spaces), new(1, 1))
    for a, (b, c) in enumerate(AROUND):
        if own[b] == own[c]:
            torque[a] = ca.dot(P[b], felt[c]) - ca.dot(P[c], felt[b])
        else:
            parts = [ca.dot(W[b, s], X[c, s]) - ca.dot(W[c, s], X[b, s]) for s in spaces]
            torque[a] = sum(parts[1:], parts[0])
    # what it comes to per tangent at a node
    at = {(a, b): roots[own[b]].T @ W[a, own[b]] for a in XYZ for b in XYZ if a != b}
    pull = [roots[own[a]].T @ felt[a] for a in XYZ]
    k = nodes.stretch.shape[1]
    angular, effort = new(3, k), new(k, 1)
    for rows, by in _ways(nodes, t):
        shapes, along = constant(rows), [by[a, :].T for a in XYZ]
        turned = [at[b, c] * along[c] - at[c, b] * along[b] for b, c in AROUND]
        angular += ca.horzcat(*turned).T @ shapes
        effort += shapes.T @ (along[0] * pull[0] + along[1] * pull[1] + along[2] * pull[2])
    linear, modal = _momenta(nodes, t)
    return Terms(
        mass,
        ca.vertcat(*[ca.dot(mean[own[a]], P[a]) for a in XYZ]),
        ca.trace(second) * new.eye(3) - second,
        angular,
        linear,
        modal,
        torque,
        force,
        effort,
    )


def _functions(nodes: Collocation, spaces: list[int]) -> tuple[dict[int, Expr], dict[int, Expr]]:
    """Give what makes coordinates in functions of tangents, (G, G), and those' means, (G,)."""
    one = np.eye(nodes.count)
    if nodes.even:
        return {s: constant(one) for s in spaces}, {s: constant(nodes.mean[s]) for s in spaces}
    first = constant(one[0])
    return (
        {s: constant(nodes.factor[s]) for s in spaces},
        {s: nodes.lever[s] * first for s in spaces},
    )


def _ways(nodes: Collocation, t: Tangents) -> list[tuple[Array, Expr]]:
    """List what moves tangents, shapes (G, m) and tangents per unit of them (3, G)."""
    every = zip((*nodes.bend, nodes.stretch), (t.by_a, t.by_b, t.unit), strict=True)
    return [(rows, by) for rows, by in every if by.nnz() and np.any(rows)]


def _acceleration(nodes: Collocation, t: Tangents, omega: Expr, a: int, space: int) -> Expr:
    """Accelerate tangents along an axis at zero accelerations, by those of a space, (G,)."""
    spin = ca.skew(omega)
    square = ca.triu2symm(ca.triu(spin @ spin))
    total = type(omega)(nodes.count, 1)
    for b in XYZ:
        if nodes.spaces[b] == space:
            swept = t.bias[a, :].T if a == b else 2 * spin[a, b] * t.rate[b, :].T
            total += square[a, b] * t.place[b, :].T + swept
    return total


def _momenta(nodes: Collocation, t: Tangents) -> tuple[Expr, Expr]:
    """Give momenta per rate of amplitude, (3, m), and the mass of the amplitudes, (m, m)."""
    new, k = type(t.unit), nodes.stretch.shape[1]
    modal, ways = new(k, k), _ways(nodes, t)
    if nodes.few:
        roots = [columns(nodes, t.by(a), nodes.factor[a]) for a in XYZ]
        for root in roots:
            modal += ca.triu(root.T @ root)
        linear = ca.vertcat(*[nodes.lever[a] * roots[a][0, :] for a in XYZ])
        return linear, ca.triu2symm(modal)
    linear = ca.vertcat(*[columns(nodes, t.by(a), nodes.mean[a][None]) for a in XYZ])
    for i, (rows, along) in enumerate(ways):
        for others, across in ways[i:]:
            products = new(nodes.count, nodes.count)
            for s in sorted(set(nodes.spaces)):
                axes = [a for a in XYZ if nodes.spaces[a] == s]
                both = along[axes, :].T @ across[axes, :]
                products += constant(nodes.gram[s, s]) * both
            if along is across:
                products = ca.triu2symm(ca.triu(products))
            between = constant(rows.T) @ (products @ constant(others))
            modal += between if along is across else between + between.T
    return linear, ca.triu2symm(ca.triu(modal))
