"""Rotary inertia of the sections of an exact beam about their own axes, at the nodes.

With a section's angles a, b, f, rates A, B, F and ``W = a B - b A``, the components of its angular
velocity along the tangent t and the axes e2 and e3 rotated by bending are

    ``w = (t . omega + F - T W, e2 . omega - B + G W a, e3 . omega + A + G W b)``.

The equations are those of Newton and Euler; the twist rotates the inertia relative to these axes.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies.exact.tangents import Angles, Bent, Rows, tangents
from flexarm.mechanics.bodies.terms import Terms, turning_terms
from flexarm.spatial import Array, Expr, constant


def rotary_terms(
    nodes: Collocation, moved: Collocation, d: Expr, rates: Expr, omega: Expr
) -> Terms:
    """Compute the inertia terms of the rotary inertia ``nodes.rotary`` of the sections.

    ``moved`` contains the shapes of the section angles per (combined) amplitude.
    """
    used = np.any(nodes.rotary, axis=0)
    still, k, new = 0 * nodes.twist[used], d.shape[0], type(d)
    rows = nodes.turn[:, used], nodes.twist[used], still
    at, speed = Angles.at(*rows, d), Angles.at(*rows, rates)
    t, bent = tangents(at, speed), Bent.of(at, speed)
    spin, gain, lever = bent.spin, bent.gain, bent.lever
    inertia, F = _Inertia.of(nodes.rotary[:, used], at.twist), speed.twist
    carried = [_dot(axis, ca.vertsplit(omega)) for axis in bent.axes]
    w = [carried[0] + spin[0] + F, carried[1] + spin[1], carried[2] + spin[2]]
    h = inertia @ w
    # Momentum along t, whose rate needs no other axis, and what is left of Euler's equations.
    gained = inertia.xx * (t.rate.T @ omega + gain[0])
    alpha = [
        new(*F.shape),
        carried[2] * spin[0] - carried[0] * spin[2] + gain[1] + F * w[2],
        carried[0] * spin[1] - carried[1] * spin[0] + gain[2] - F * w[1],
    ]
    pushed = inertia @ alpha
    felt = [w[1] * h[2] - w[2] * h[1], pushed[1] - w[0] * h[2], pushed[2] + w[0] * h[1]]
    levers = (lever[0] - t.by_a.T @ omega, lever[1] - t.by_b.T @ omega, 0 * F)
    turned = [ca.horzcat(*axis).T for axis in bent.axes]  # each axis, (3, n)
    second = sum(
        (turned[i] @ ca.diag(J) @ turned[j].T for (i, j), J in inertia.entries()), new(3, 3)
    )
    torque = turned[0] @ (felt[0] + gained) + t.rate @ h[0] + ca.cross(omega, turned[0] @ h[0])
    torque += turned[1] @ felt[1] + turned[2] @ felt[2]
    shapes = (*moved.turn[:, used], moved.twist[used])
    angular, modal, effort = new(3, k), new(k, k), new(k, 1)
    ones, none = new.ones(*F.shape), new(*F.shape)
    ways = list(zip(shapes, (bent.by_a, bent.by_b, (ones, none, none)), strict=True))
    for i, (rows, by) in enumerate(ways):
        heavy = inertia @ by
        momentum = sum((turned[j] @ ca.diag(heavy[j]) for j in range(3)), new(3, len(still)))
        angular += momentum @ constant(rows)
        effort += constant(rows.T) @ (_dot(by, felt) + by[0] * gained + h[0] * levers[i])
        for others, across in ways[i:]:
            products = np.einsum("gp,gq->pqg", rows, others).reshape(k * k, -1)
            both = ca.reshape(constant(products) @ _dot(heavy, across), k, k)
            modal += both if others is rows else both + both.T
    return turning_terms(
        ca.triu2symm(ca.triu(second)), angular, ca.triu2symm(ca.triu(modal)), torque, effort
    )


@dataclass(frozen=True)
class _Inertia:
    """Inertia matrices of n sections in the axes rotated by bending, (n,) per entry."""

    xx: Expr
    yy: Expr
    zz: Expr
    yz: Expr

    @classmethod
    def of(cls, inertia: Array, twist: Expr) -> "_Inertia":
        """Return the inertia in bending axes of sections with twist angles (n,).

        ``inertia`` is the inertia about the sections' own axes, (3, n).
        """
        x, y, z = (type(twist)(constant(row)) for row in inertia)
        if not twist.nnz() or np.array_equal(inertia[1], inertia[2]):
            return cls(x, y, z, 0 * x)
        sine, cosine = ca.sin(twist), ca.cos(twist)
        more = (z - y) * sine
        return cls(x, y + more * sine, z - more * sine, -more * cosine)

    def __matmul__(self, v: Rows) -> list[Expr]:
        """Return the products of the inertia matrices with n vectors."""
        y, z = self.yy * v[1] + self.yz * v[2], self.yz * v[1] + self.zz * v[2]
        return [self.xx * v[0], y, z]

    def entries(self) -> list[tuple[tuple[int, int], Expr]]:
        """Return the nonzero matrix entries with their row and column."""
        every = {(0, 0): self.xx, (1, 1): self.yy, (2, 2): self.zz}
        every |= {(1, 2): self.yz, (2, 1): self.yz}
        return [(place, J) for place, J in every.items() if J.nnz()]


def _dot(x: Rows, y: Rows) -> Expr:
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
