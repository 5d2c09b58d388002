"""Rotary inertia of the sections of an exact beam about their own axes, at the nodes.

A section has the bending angles a and b and the twist f, with rates A, B, F, and omega is the
link's angular velocity. With ``W = a B - b A`` and the functions T and G of `tangents.Entire`, the
components of the section's angular velocity along the tangent t and the axes e2 and e3, which
bending rotates, are

    ``w = (t . omega + F - T W, e2 . omega - B + G W a, e3 . omega + A + G W b)``.

The equations are those of Newton and Euler; the twist rotates the inertia relative to these axes.

In a sliding link, material passes the nodes, which are at fixed xi. Lagrange's equations are
applied to the part of each section's kinetic energy that exceeds the energy of first-order angles;
`flexarm.mechanics.bodies.beam.sliding_rotary` computes the latter.
"""

from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np

from flexarm.links.collocation import Collocation
from flexarm.links.fields import Amounts
from flexarm.mechanics.bodies.exact.tangents import Angles, Bent, Rows, tangents, turned
from flexarm.mechanics.sections import Terms, turning_terms
from flexarm.spatial import Array, Expr, constant


def rotary_terms(
    nodes: Collocation, moved: Collocation, d: Expr, rates: Expr, omega: Expr
) -> Terms:
    """Compute the inertia terms of the sections' rotary inertia ``nodes.rotary``.

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
    # Angular momentum along t, and the remaining terms of Euler's equations.
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


def grown_rotary_terms(
    nodes: Collocation, power: int, e: Amounts, rates: Expr, omega: Expr
) -> Terms:
    """Compute a sliding link's rotary inertia terms beyond first-order section angles.

    The sections' rotary inertia ``nodes.rotary`` is multiplied by a power of the exposed length.
    """
    k, new = rates.shape[0], type(rates)
    assert e.columns is not None  # the length is a coordinate
    whole, force = new(3 + k, 3 + k), new(3 + k, 1)
    angles = np.stack([*nodes.bend, nodes.twist, *nodes.curve, nodes.torsion], axis=1)
    for g in np.flatnonzero(np.any(nodes.rotary, axis=0)):
        rows, weight = constant(angles[g]), constant(nodes.rotary[:, g])
        place = ca.vertcat(rows @ e.value, e.length)
        columns = ca.vertcat(rows @ e.columns, ca.horzcat(1, new(1, k - 1)))
        bias, left = ca.vertcat(rows @ e.bias, 0), constant(1 - nodes.x[g : g + 1])
        inertia, pushed = _section(power)(place, columns @ rates, bias, omega, weight, left)
        moved = ca.diagcat(new.eye(3), columns)
        whole += moved.T @ inertia @ moved
        force += moved.T @ pushed
    modal = ca.triu2symm(ca.triu(whole[3:, 3:]))
    return turning_terms(whole[:3, :3], whole[:3, 3:], modal, force[:3], force[3:])


@cache
def _section(power: int) -> ca.Function:
    """Return a function of a section's state: inertia (10, 10) and forces (10,).

    The coordinates are the angles a, b, f, their derivatives with respect to xi, and the exposed
    length; the section's rotary inertia about its own axes is ``weight``, (3,), times a power of
    that length.
    """
    place, rate, bias = (ca.SX.sym(name, 7) for name in ("place", "rate", "bias"))
    omega, weight, left = ca.SX.sym("omega", 3), ca.SX.sym("weight", 3), ca.SX.sym("left")
    length, none = place[6], ca.SX(1, 1)
    change = rate[:3] + left * rate[6] / length * place[3:6]
    at = turned(*(Angles(each[0], each[1], each[2], none) for each in (place, change)))
    spin = at.rotation.T @ (omega + at.spin)
    first = omega + ca.vertcat(change[2], -change[1], change[0])
    energy = length**power * ca.dot(weight, spin**2 - first**2) / 2
    speeds = ca.vertcat(omega, rate)
    momentum = ca.gradient(energy, speeds)
    inertia = ca.jacobian(momentum, speeds)
    gained = ca.jtimes(momentum, ca.vertcat(place, rate), ca.vertcat(rate, bias))
    pushed = ca.vertcat(ca.cross(omega, momentum[:3]), -ca.gradient(energy, place))
    inputs = [place, rate, bias, omega, weight, left]
    return ca.Function("section", inputs, [inertia, gained + pushed], {"always_inline": True})


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
