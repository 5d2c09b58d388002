"""A sliding link whose sections turn by the sum of its slope shapes: how its points move and weigh.

Points are ``r = l sum_g I_g(xi) P_g``; `flexarm.links.growing.nodes` has their velocities and
accelerations at a fixed section of the material.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from flexarm.links.base import Array
from flexarm.links.fields import Field, Moving
from flexarm.links.growing.fields import SlidingMotion
from flexarm.links.growing.nodes import GrowingNodes
from flexarm.mechanics.bodies.exact.tangents import Angles, Tangents, tangents
from flexarm.mechanics.bodies.terms import Terms, axial
from flexarm.spatial import Expr, constant

XYZ = range(3)
Vectors = Mapping[int, Expr]


@dataclass(frozen=True)
class Grown:
    """What the nodes of a sliding link do, per axis x, y, z; k own coordinates, the length first.

    Attributes
    ----------
    place, rate
        Tangents P and their rates, (G,).
    sweep
        ``l P`` per rate of own coordinate, (G, k).
    bias
        Second rate of ``l P`` at zero accelerations, (G,).
    """

    place: list[Expr]
    rate: list[Expr]
    sweep: list[Expr]
    bias: list[Expr]

    @classmethod
    def of(cls, nodes: GrowingNodes, motion: SlidingMotion) -> "Grown":
        """See the tangents at the current length and amplitudes."""
        at, l, out, e = nodes.at, motion.length, motion.out, motion.slopes()
        rows = at.bend, at.twist, at.stretch
        speed = e.slope * out + e.rate
        straight = at.straight if at.stretches else None
        t = tangents(Angles.at(*rows, e.value), Angles.at(*rows, speed), straight)
        changes = [Angles.at(*rows, l * e.slope)]
        changes += [Angles.at(*rows, l * e.matrix[:, j]) for j in range(motion.d.shape[0])]
        gained = Angles.at(*rows, l * e.bend)
        place, rate, sweep, bias = [], [], [], []
        for a in XYZ:
            P, P_rate = t.place[a, :].T, t.rate[a, :].T
            swept = [_turned(t, a, change) for change in changes]
            place.append(P)
            rate.append(P_rate)
            sweep.append(ca.horzcat(P + swept[0], *swept[1:]))
            bias.append(2 * out * P_rate + l * t.bias[a, :].T + _turned(t, a, gained))
        return cls(place, rate, sweep, bias)


def _turned(t: Tangents, a: int, change: Angles) -> Expr:
    """Change tangents along an axis by changes of angles and stretch, (G,)."""
    by = ((t.by_a, change.a), (t.by_b, change.b), (t.unit, change.stretch))
    total = type(change.a)(*change.a.shape)
    for rows, amount in by:
        if rows[a, :].nnz() and amount.nnz():
            total += rows[a, :].T * amount
    return total


def grown_material(nodes: GrowingNodes, motion: SlidingMotion) -> Moving:
    """See the points as fields of the functions of `GrowingNodes.functions`."""
    g, l, out = Grown.of(nodes, motion), motion.length, motion.out
    none = type(l)(nodes.at.count, 1)

    def field(*parts: list[Expr]) -> Field:
        return Field(*[ca.vertcat(*[part[a] for part in parts]) for a in XYZ])

    still = [none] * 3
    columns = []
    for j in range(motion.d.shape[0] + 1):
        swept = [g.sweep[a][:, j] for a in XYZ]
        columns.append(field(swept, g.place if j == 0 else still, still))
    past = [2 * out * rate for rate in g.rate]
    further = [out**2 / l * place for place in g.place]
    value = field([l * place for place in g.place], still, still)
    return Moving(value, tuple(columns), field(g.bias, past, further))


def grown_terms(
    nodes: GrowingNodes, motion: SlidingMotion, rates: Expr, omega: Expr, mass: Expr
) -> Terms:
    """Weigh the exposed part, and what its mouth takes to turn the material that passes it."""
    at, l, out = nodes.at, motion.length, motion.out
    g, k, new = Grown.of(nodes, motion), rates.shape[0], type(rates)
    P, N, one = g.place, g.sweep, not at.common
    R, V = [l * p for p in P], [n @ rates for n in N]
    past = [2 * out * (g.rate[a] + out / l * P[a]) for a in XYZ]  # (1 - xi) l, (1 - xi)^2 dl/dxi
    keys = [(a, b) for a in XYZ for b in (XYZ if one else (a,))]
    # fields along a, over functions of b: I, and of what slides past I and (1 - xi) l
    of = {(a, b): (a, b if one else a) for a in XYZ for b in XYZ}
    r = {key: constant(at.gram[key[::-1]]) @ R[key[0]] for key in keys}
    s = {key: constant(nodes.passing[key].T) @ R[key[0]] for key in keys}
    p = {key: constant(nodes.passing[key[::-1]]) @ P[key[0]] for key in keys}
    w = {key: constant(nodes.passed[key[::-1]]) @ P[key[0]] for key in keys}
    spin = ca.skew(omega)
    square = ca.triu2symm(ca.triu(spin @ spin))
    second, flow, bent = new(3, 3), new(3, 3), new(3, 3)
    for a in XYZ:
        for b in XYZ:
            here, along = r[of[a, b]], s[of[a, b]]
            second[a, b] = ca.dot(here, R[b])
            flow[a, b] = ca.dot(here, V[b]) + out * ca.dot(along, P[b])
            bent[a, b] = ca.dot(here, g.bias[b]) + ca.dot(along, past[b])
    effort, modal = new(k, 1), new(k, k)
    for a in XYZ:
        turns = {b: 2 * spin[a, b] * V[b] for b in XYZ if b != a}
        felt = _gathered(at.gram, at.common, a, {a: g.bias[a]}, turns)
        felt += constant(nodes.passing[a, a]) @ past[a] - out**2 / l * w[of[a, a]]
        pushed = ca.dot(p[of[a, a]], g.bias[a]) + 2 * out * ca.dot(w[of[a, a]], g.rate[a])
        pushed += 1.5 * out**2 / l * ca.dot(w[of[a, a]], P[a])
        for b in XYZ:
            felt += square[a, b] * r[of[b, a]]
            pushed += square[a, b] * ca.dot(p[of[a, b]], R[b])
            if b != a:
                felt += 2 * out * spin[a, b] * p[of[b, a]]
                pushed += (
                    2 * spin[a, b] * (ca.dot(p[of[a, b]], V[b]) + out * ca.dot(w[of[a, b]], P[b]))
                )
        effort += N[a].T @ felt
        effort[0] += pushed
        root = constant(at.factor[a]) @ N[a]
        modal += ca.triu(root.T @ root)
        shared = p[of[a, a]].T @ N[a]
        modal[0, :] += shared
        modal[0, 0] += shared[0] + ca.dot(w[of[a, a]], P[a])
    effort[0] -= out**2 / (2 * l)
    around = ((1, 2), (2, 0), (0, 1))
    angular = ca.vertcat(*[r[of[a, b]].T @ N[b] - r[of[b, a]].T @ N[a] for a, b in around])
    passing = [ca.dot(s[of[a, b]], P[b]) - ca.dot(s[of[b, a]], P[a]) for a, b in around]
    angular[:, 0] += ca.vertcat(*passing)
    mean, gain = [constant(x) for x in at.mean], [constant(x) for x in nodes.gain]
    linear = ca.vertcat(*[mean[a].T @ N[a] for a in XYZ])
    linear[:, 0] += ca.vertcat(*[ca.dot(gain[a], P[a]) for a in XYZ])
    first = ca.vertcat(*[ca.dot(mean[a], R[a]) for a in XYZ])
    inertia = ca.trace(second) * new.eye(3) - second
    torque = ca.cross(omega, inertia @ omega) + axial(bent)
    torque += 2 * (ca.trace(flow) * omega - flow.T @ omega)
    force = square @ first + 2 * ca.cross(omega, linear @ rates)
    force += ca.vertcat(*[ca.dot(mean[a], g.bias[a]) + ca.dot(gain[a], past[a]) for a in XYZ])
    force[0] -= out**2 / l
    return Terms(
        mass, mass * first, mass * ca.triu2symm(ca.triu(inertia)), mass * angular, mass * linear,
        mass * ca.triu2symm(modal), mass * torque, mass * force, mass * effort,
    )  # fmt: skip


def _gathered(gram: Array, common: bool, a: int, *parts: Vectors) -> Expr:
    """Weigh coefficients along several axes over the functions of one, (G,)."""
    groups: dict[int, list[Expr]] = {}
    for part in parts:
        for b, vector in part.items():
            groups.setdefault(a if common else b, []).append(vector)
    total = type(parts[0][a])(gram.shape[2], 1)
    for b, vectors in groups.items():
        total += constant(gram[a, b]) @ sum(vectors[1:], vectors[0])
    return total
