"""Inertia of an exact beam that bends in one plane, or in two planes, stretches or slides.

The x, y or z component of position on the beam is a sum over the nodes: a vector component R at
each node times an interpolation function of this component. The mass integrals of products of these
functions are the constant matrices ``gram[a, b]`` for components a and b. Components with equal
interpolation functions are marked by equal numbers in ``nodes.spaces``, called function spaces. If
cancellation in these sums would lose accuracy, functions that are orthonormal over the mass are
used, with ``roots[a] R`` in place of R.

For bending in one plane, all components of the tangents have the same interpolation functions. Mass
integrals of products of the tangents at nodes g and h, with angles a_g and a_h, are then ``A_gh
cos(a_g - a_h)`` and ``A_gh sin(a_g - a_h)`` with the constant Gram matrix A. In plane bending,
vectors have components along x, along the bending direction n, and along the axis of rotation ``e =
x times n``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from flexarm.links.collocation import Collocation
from flexarm.links.growing.fields import GrowingNodes
from flexarm.mechanics.bodies.exact.motion import XYZ, AxisMotion
from flexarm.mechanics.bodies.exact.tangents import Angles
from flexarm.mechanics.constants import SINGLE_NODES
from flexarm.mechanics.sections import Terms, add
from flexarm.spatial import Array, Expr, constant


def plane_terms(nodes: Collocation, mass: float, at: Angles, rates: Angles, omega: Expr) -> Terms:
    """Compute the inertia terms of a beam's mass points for bending in one plane.

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
    # scalar and vector products of tangents, from cosines and sines of the angles between them
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
    """Return the matrix (3, 3) whose columns are the unit vectors x, n and e in link axes."""
    axes = new(3, 3)
    axes[0, 0] = axes[along, 1] = 1
    axes[3 - along, 2] = 1 if along == 1 else -1
    return axes


def _products(nodes: Collocation, c: Expr, s: Expr) -> tuple[Expr, Expr]:
    """Return the matrices ``A_gh cos(a_g - a_h)`` and ``A_gh sin(a_g - a_h)``, (G, G) each.

    Only the entries with g < h of the matrix of sines are nonzero.
    """
    A, n = nodes.gram[0, 0], nodes.count
    K, S = type(c)(constant(A)), type(c)(n, n)
    for g in range(n):
        for h in range(g + 1, n):
            K[g, h] = K[h, g] = A[g, h] * (c[g] * c[h] + s[g] * s[h])
            S[g, h] = A[g, h] * (s[g] * c[h] - c[g] * s[h])
    return K, S


AROUND = ((1, 2), (2, 0), (0, 1))
Sums = dict[tuple[int, int], Expr]  # vectors (G,); keys are (axis, function space)


@dataclass(frozen=True)
class Passing:
    """Material of a sliding link that passes the nodes at the velocity ``(1 - xi) l' P``.

    Accelerations of this material have terms in ``(1 - xi) l`` and in ``(1 - xi)^2 dl/dxi``. Mass
    integrals of the terms in ``dl/dxi`` are integrated by parts. The boundary term of these
    integrals at the mouth of the hub is combined with the momentum of the material that passes
    there, so that Lagrange's equations are valid for the changing domain.
    """

    nodes: GrowingNodes
    m: AxisMotion
    spin: Expr  # cross-product matrix of the angular velocity of the root, (3, 3)

    @cached_property
    def along(self) -> list[Expr]:
        """Components x, y and z of the tangents at the nodes, (G,) each."""
        return [self.m.t.place[a, :].T for a in XYZ]

    @cached_property
    def ahead(self) -> Expr:
        """Squared rate of the exposed length, divided by the length: ``l'^2/l`` [m/s^2]."""
        return self.m.e.out**2 / self.m.e.length

    @cached_property
    def accelerations(self) -> Sums:
        """Coefficients of ``(1 - xi) l`` in the accelerations of passing material, (G,) each.

        A key is a pair: the component of the acceleration (0, 1, 2), and the function space in
        which it is interpolated.
        """
        own, e, P, half = self.nodes.spaces, self.m.e, self.along, 1 + self.nodes.power / 2
        accelerations = {(a, s): type(e.out)(self.nodes.count, 1) for a in XYZ for s in own}
        for a in XYZ:
            accelerations[a, own[a]] += (
                2 * e.out * (self.m.t.rate[a, :].T + half * e.out / e.length * P[a])
            )
            for b in {0, 1, 2} - {a}:
                accelerations[a, own[b]] += 2 * e.out * self.spin[a, b] * P[b]
        return accelerations

    @cached_property
    def slowed(self) -> Sums:
        """Mass integrals of ``(1 - xi)^2 l`` times tangents and interpolation functions, (G,) each.

        A key is a pair: the component of the tangents (0, 1, 2), and the space of the functions.
        """
        return self.integrated(self.nodes.passed, self.along)

    def integrated(self, table: Array, vectors: Sequence[Expr]) -> Sums:
        """Return mass integrals of node vectors times interpolation functions, (G,) each.

        ``table[s, a]`` is the matrix (G, G) of integrated products. A key of the result is a pair:
        the component of the vectors (0, 1, 2), and the function space s.
        """
        own = self.nodes.spaces
        return {(a, s): constant(table[s, own[a]]) @ vectors[a] for a in XYZ for s in own}

    def pull(self, axis: int) -> Expr:
        """Return the generalised forces (G,) of passing material on one component of R."""
        own, Y = self.nodes.spaces, self.accelerations
        felt = sum(
            constant(self.nodes.passing[own[axis], s]) @ Y[axis, s] for s in sorted(set(own))
        )
        return felt - self.ahead * self.slowed[axis, own[axis]]

    def terms(self, accelerations: Sums) -> Terms:
        """Compute the inertia terms of passing material, except the force of `pull`.

        ``accelerations`` are coefficients of the interpolation functions, with the keys of
        `accelerations`.
        """
        nodes, m, new, P = self.nodes, self.m, type(self.spin), self.along
        own, ahead, Y, w = nodes.spaces, self.ahead, self.accelerations, self.slowed
        spaces = sorted(set(own))
        met = self.integrated(nodes.passing.transpose(1, 0, 3, 2), [m.place[a, :].T for a in XYZ])
        p = self.integrated(nodes.passing, P)
        angular, linear, modal = new(3, m.e.k), new(3, m.e.k), new(m.e.k, m.e.k)
        torque, force, effort = new(3, 1), new(3, 1), new(m.e.k, 1)
        force[0] -= ahead
        effort[0] -= ahead / 2
        for a, (b, c) in enumerate(AROUND):
            angular[a, 0] = ca.dot(met[b, own[c]], P[c]) - ca.dot(met[c, own[b]], P[b])
            linear[a, 0] = ca.dot(constant(nodes.gain[own[a]]), P[a])
            shared = m.columns(a, np.eye(nodes.count)).T @ p[a, own[a]]
            modal[:, 0] += shared
            modal[0, :] += shared.T
            modal[0, 0] += ca.dot(w[a, own[a]], P[a])
            effort[0] -= (1 + nodes.power) * ahead / 2 * ca.dot(w[a, own[a]], P[a])
            for s in spaces:
                force[a] += ca.dot(constant(nodes.gain[s]), Y[a, s])
                if own[b] != own[c]:  # otherwise included in the moment of `pull`
                    torque[a] += ca.dot(met[b, s], Y[c, s]) - ca.dot(met[c, s], Y[b, s])
                effort[0] += ca.dot(p[a, s], accelerations[a, s]) + ca.dot(w[a, s], Y[a, s])
        none = new(3, 3)
        return Terms(0.0, new(3, 1), none, angular, linear, modal, torque, force, effort)


def space_terms(nodes: Collocation, mass: float, m: AxisMotion, omega: Expr) -> Terms:
    """Compute the inertia terms of the mass points of a beam that bends in two planes.

    Rotary inertia of the sections is excluded. For a sliding link, the motion of material past the
    nodes is included.
    """
    new, own = type(omega), nodes.spaces
    passing = Passing(nodes, m, ca.skew(omega)) if isinstance(nodes, GrowingNodes) else None
    spaces = sorted(set(own))
    every = nodes.gram if nodes.cross is None else nodes.cross
    gram = {(s, z): constant(every[s, z]) for s in spaces for z in spaces}
    roots, mean = _functions(nodes, spaces)
    P = [roots[own[a]] @ m.place[a, :].T for a in XYZ]
    # mass integrals of positions along an axis times the functions of a space
    W = {(a, s): gram[s, own[a]] @ P[a] for a in XYZ for s in spaces}
    # accelerations along an axis that are sums of the functions of a space
    X = {(a, s): roots[s] @ _acceleration(nodes, m, omega, a, s) for a in XYZ for s in spaces}
    felt = [sum((gram[own[a], s] @ X[a, s] for s in spaces), new(nodes.count, 1)) for a in XYZ]
    second, torque, force = new(3, 3), new(3, 1), new(3, 1)
    for a in XYZ:
        for b in range(a, 3):
            second[a, b] = second[b, a] = ca.dot(W[a, own[b]], P[b])
        force[a] = sum((ca.dot(mean[s], X[a, s]) for s in spaces), new(1, 1))
        if passing is not None:
            felt[a] += passing.pull(a)
    for a, (b, c) in enumerate(AROUND):
        if own[b] == own[c]:
            torque[a] = ca.dot(P[b], felt[c]) - ca.dot(P[c], felt[b])
        else:
            parts = [ca.dot(W[b, s], X[c, s]) - ca.dot(W[c, s], X[b, s]) for s in spaces]
            torque[a] = sum(parts[1:], parts[0])
    # generalised forces on the vectors at the nodes
    at = {(a, b): roots[own[b]].T @ W[a, own[b]] for a in XYZ for b in XYZ if a != b}
    pull = [roots[own[a]].T @ felt[a] for a in XYZ]
    angular, effort = new(3, m.e.k), new(m.e.k, 1)
    for rows, by in m.ways:
        shapes = constant(rows) if isinstance(rows, np.ndarray) else rows
        along = [by[a, :].T for a in XYZ]
        turned = [at[b, c] * along[c] - at[c, b] * along[b] for b, c in AROUND]
        angular += ca.horzcat(*turned).T @ shapes
        effort += shapes.T @ (along[0] * pull[0] + along[1] * pull[1] + along[2] * pull[2])
    linear, modal = _momenta(nodes, m)
    first = ca.vertcat(*[ca.dot(mean[own[a]], P[a]) for a in XYZ])
    inertia = ca.trace(second) * new.eye(3) - second
    terms = Terms(mass, first, inertia, angular, linear, modal, torque, force, effort)
    return terms if passing is None else add(terms, passing.terms(X))


def _functions(nodes: Collocation, spaces: list[int]) -> tuple[dict[int, Expr], dict[int, Expr]]:
    """Return matrices (G, G) from node values to function coefficients, and mass integrals (G,).

    Both dictionaries have one entry per function space; the mass integrals are those of the
    functions.
    """
    identity = np.eye(nodes.count)
    if nodes.even:
        return {s: constant(identity) for s in spaces}, {s: constant(nodes.mean[s]) for s in spaces}
    first = constant(identity[0])
    return (
        {s: constant(nodes.factor[s]) for s in spaces},
        {s: nodes.lever[s] * first for s in spaces},
    )


def _acceleration(nodes: Collocation, m: AxisMotion, omega: Expr, a: int, space: int) -> Expr:
    """Return component ``a`` of the velocity-dependent acceleration of the vectors R, (G,).

    Only components of the vectors R that are interpolated in the given function space contribute.
    """
    spin = ca.skew(omega)
    square = ca.triu2symm(ca.triu(spin @ spin))
    total = type(omega)(nodes.count, 1)
    for b in XYZ:
        if nodes.spaces[b] == space:
            swept = m.bias[a, :].T if a == b else 2 * spin[a, b] * m.rate[b, :].T
            total += square[a, b] * m.place[b, :].T + swept
    return total


def _momenta(nodes: Collocation, m: AxisMotion) -> tuple[Expr, Expr]:
    """Return linear momentum per rate of link coordinate, (3, k), and the mass matrix, (k, k)."""
    new = type(m.place)
    modal = new(m.e.k, m.e.k)
    if nodes.uses_roots:
        roots = [m.columns(a, nodes.factor[a]) for a in XYZ]
        for root in roots:
            modal += ca.triu(root.T @ root)
        linear = ca.vertcat(*[nodes.lever[a] * roots[a][0, :] for a in XYZ])
        return linear, ca.triu2symm(modal)
    linear = ca.vertcat(*[m.columns(a, nodes.mean[a][None]) for a in XYZ])
    for i, (rows, along) in enumerate(m.ways):
        for others, across in m.ways[i:]:
            products = new(nodes.count, nodes.count)
            for s in sorted(set(nodes.spaces)):
                axes = [a for a in XYZ if nodes.spaces[a] == s]
                both = along[axes, :].T @ across[axes, :]
                products += constant(nodes.gram[s, s]) * both
            if along is across:
                products = ca.triu2symm(ca.triu(products))
            assert isinstance(rows, np.ndarray)  # expressions occur only with `nodes.uses_roots`
            assert isinstance(others, np.ndarray)
            between = constant(rows.T) @ (products @ constant(others))
            modal += between if along is across else between + between.T
    return linear, ca.triu2symm(ca.triu(modal))
