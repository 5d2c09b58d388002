"""A sliding link whose sections turn by the sum of its slope shapes: how its points move and weigh.

Points are ``r = l sum_g I_g(xi) P_g``; `flexarm.links.growing.nodes` has their velocities and
accelerations at a fixed section of the material.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from flexarm.links.base import Array
from flexarm.links.fields import Field, MovingField
from flexarm.links.growing.fields import SlidingMotion
from flexarm.links.growing.nodes import GrowingNodes
from flexarm.mechanics.bodies.exact.tangents import Angles, Tangents, tangents
from flexarm.mechanics.bodies.terms import Terms, axial
from flexarm.spatial import Expr, constant

XYZ = range(3)
Vectors = Mapping[int, Expr]


@dataclass(frozen=True)
class Grown:
    """What a sliding link's nodes do, per axis x, y, z; k own coordinates, the length first."""

    # place, rate: tangents P and their rates, (G,).
    place: list[Expr]
    rate: list[Expr]
    sweep: list[Expr]  # ``l P`` per rate of own coordinate, (G, k)
    bias: list[Expr]  # second rate of ``l P`` at zero accelerations, (G,)

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


def grown_material(nodes: GrowingNodes, motion: SlidingMotion) -> MovingField:
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
    return MovingField(value, tuple(columns), field(g.bias, past, further))


class _Weighed:
    """Points and tangents along one axis, weighed over the functions of another.

    ``r`` and ``s`` are points over I and over what slides past, (1 - xi) l; ``p`` and ``w`` are
    tangents that slide past over the same; (G,) each, at [along, over].
    """

    def __init__(self, nodes: GrowingNodes, points: list[Expr], tangents: list[Expr]) -> None:
        at = nodes.at
        self.common = at.common
        tables: list[dict[tuple[int, int], Expr]] = [{} for _ in range(4)]
        self.r, self.s, self.p, self.w = tables
        for a in XYZ:
            for b in XYZ:
                if at.common and b:  # the same over all axes
                    for table in tables:
                        table[a, b] = table[a, 0]
                    continue
                self.r[a, b] = constant(at.gram[b, a]) @ points[a]
                self.s[a, b] = constant(nodes.passing[a, b].T) @ points[a]
                self.p[a, b] = constant(nodes.passing[b, a]) @ tangents[a]
                self.w[a, b] = constant(nodes.passed[b, a]) @ tangents[a]


def grown_terms(
    nodes: GrowingNodes, motion: SlidingMotion, rates: Expr, omega: Expr, mass: Expr
) -> Terms:
    """Weigh the exposed part, and what its mouth takes to turn the material that passes it."""
    l, out, new = motion.length, motion.out, type(rates)
    g = Grown.of(nodes, motion)
    P, N = g.place, g.sweep
    R, V = [l * p for p in P], [n @ rates for n in N]
    past = [2 * out * (g.rate[a] + out / l * P[a]) for a in XYZ]  # (1 - xi) l, (1 - xi)^2 dl/dxi
    x = _Weighed(nodes, R, P)
    second, flow, bent = new(3, 3), new(3, 3), new(3, 3)
    for a in XYZ:
        for b in XYZ:
            second[a, b] = ca.dot(x.r[a, b], R[b])
            flow[a, b] = ca.dot(x.r[a, b], V[b]) + out * ca.dot(x.s[a, b], P[b])
            bent[a, b] = ca.dot(x.r[a, b], g.bias[b]) + ca.dot(x.s[a, b], past[b])
    around = ((1, 2), (2, 0), (0, 1))
    angular = ca.vertcat(*[x.r[a, b].T @ N[b] - x.r[b, a].T @ N[a] for a, b in around])
    passing = [ca.dot(x.s[a, b], P[b]) - ca.dot(x.s[b, a], P[a]) for a, b in around]
    angular[:, 0] += ca.vertcat(*passing)
    mean, gain = [constant(m) for m in nodes.at.mean], [constant(m) for m in nodes.gain]
    first = ca.vertcat(*[ca.dot(mean[a], R[a]) for a in XYZ])
    linear = ca.vertcat(*[mean[a].T @ N[a] for a in XYZ])
    linear[:, 0] += ca.vertcat(*[ca.dot(gain[a], P[a]) for a in XYZ])
    inertia = ca.trace(second) * new.eye(3) - second
    torque = ca.cross(omega, inertia @ omega) + axial(bent)
    torque += 2 * (ca.trace(flow) * omega - flow.T @ omega)
    force = ca.cross(omega, ca.cross(omega, first)) + 2 * ca.cross(omega, linear @ rates)
    force += ca.vertcat(*[ca.dot(mean[a], g.bias[a]) + ca.dot(gain[a], past[a]) for a in XYZ])
    force[0] -= out**2 / l  # with the momentum of what passes the mouth
    modal, effort = _modal(nodes, g, x), _effort(nodes, g, x, motion, rates, omega)
    return Terms(
        mass, mass * first, mass * ca.triu2symm(ca.triu(inertia)), mass * angular, mass * linear,
        mass * modal, mass * torque, mass * force, mass * effort,
    )  # fmt: skip


def _modal(nodes: GrowingNodes, g: Grown, x: _Weighed) -> Expr:
    """Weigh the own coordinates, per unit of mass, (k, k)."""
    k = g.sweep[0].shape[1]
    modal = type(g.place[0])(k, k)
    for a in XYZ:
        root = constant(nodes.at.factor[a]) @ g.sweep[a]
        modal += ca.triu(root.T @ root)
        shared = x.p[a, a].T @ g.sweep[a]
        modal[0, :] += shared
        modal[0, 0] += shared[0] + ca.dot(x.w[a, a], g.place[a])
    return ca.triu2symm(modal)


def _effort(
    nodes: GrowingNodes, g: Grown, x: _Weighed, motion: SlidingMotion, rates: Expr, omega: Expr
) -> Expr:
    """Weigh what velocity products need of own coordinates, per unit of mass, (k,)."""
    l, out, spin = motion.length, motion.out, ca.skew(omega)
    square = ca.triu2symm(ca.triu(spin @ spin))
    P, R, V = g.place, [l * p for p in g.place], [n @ rates for n in g.sweep]
    effort = type(rates)(rates.shape[0], 1)
    for a in XYZ:
        past = 2 * out * (g.rate[a] + out / l * P[a])
        turns = {b: 2 * spin[a, b] * V[b] for b in XYZ if b != a}
        felt = _gathered(nodes.at.gram, x.common, a, {a: g.bias[a]}, turns)
        felt += constant(nodes.passing[a, a]) @ past - out**2 / l * x.w[a, a]
        pushed = ca.dot(x.p[a, a], g.bias[a]) + 2 * out * ca.dot(x.w[a, a], g.rate[a])
        pushed += 1.5 * out**2 / l * ca.dot(x.w[a, a], P[a])
        for b in XYZ:
            felt += square[a, b] * x.r[b, a]
            pushed += square[a, b] * ca.dot(x.p[a, b], R[b])
            if b != a:
                felt += 2 * out * spin[a, b] * x.p[b, a]
                swept = ca.dot(x.p[a, b], V[b]) + out * ca.dot(x.w[a, b], P[b])
                pushed += 2 * spin[a, b] * swept
        effort += g.sweep[a].T @ felt
        effort[0] += pushed
    effort[0] -= out**2 / (2 * l)  # with the momentum of what passes the mouth
    return effort


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
