"""Motion of axis and sections of an exact beam, of constant length or sliding from a hub.

With the tangents P at the collocation nodes, the integrated cardinal functions I_g and the length
scale l, positions are ``r = l sum_g I_g(s) P_g``. For a link of constant length, s is the distance
from the root and l = 1. For a sliding link, l is the exposed length and s the distance from the
root divided by l. Where material moves along the span, the time derivatives of its angles and
position include their derivatives with respect to s times the rate of s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from flexarm.links.collocation import Collocation
from flexarm.links.fields import Amounts, Field, MovingField
from flexarm.mechanics.bodies.exact.tangents import (
    Angles,
    Tangents,
    scaled_rows,
    tangents,
    turned,
)
from flexarm.mechanics.sections import Local, SectionMotion
from flexarm.spatial import Array, Expr, constant

XYZ = range(3)


@dataclass(frozen=True)
class AxisMotion:
    """Position, velocity and acceleration bias of the vectors ``R = l P`` at G nodes of a beam.

    Weighted sums of these vectors are positions of the axis. Each entry of ``ways`` belongs to one
    angle or to the stretch: its rates at the nodes per rate of link coordinate, (G, k), and the
    derivative of R with respect to it, (3, G).
    """

    t: Tangents
    place: Expr  # R, (3, G)
    # rate, bias: time derivative of R, and its second time derivative at zero accelerations, (3, G)
    # each.
    rate: Expr
    bias: Expr
    ways: list[tuple[Array | Expr, Expr]]
    e: Amounts

    @classmethod
    def at(cls, nodes: Collocation, e: Amounts, moved: Collocation | None = None) -> "AxisMotion":
        """Return the motion of the axis from the variables ``e`` of the section angles.

        ``moved`` are collocation nodes with shapes per combined amplitude, if amplitudes are
        combined.
        """
        straight = nodes.straight if nodes.stretches else None
        t = tangents(Angles.of(nodes, e.value), Angles.of(nodes, e.rate), straight)
        return cls.of(moved or nodes, t, e)

    @classmethod
    def of(cls, moved: Collocation, t: Tangents, e: Amounts) -> "AxisMotion":
        """Return the motion of the axis for given tangents t at the nodes."""
        l, ways = e.length, list[tuple[Array | Expr, Expr]]()
        bias: Expr = 2 * e.out * t.rate + l * t.bias
        swept = None if e.columns is None else l * e.columns
        for shapes, by in zip((*moved.bend, moved.stretch), (t.by_a, t.by_b, t.unit), strict=True):
            if by.nnz() and np.any(shapes):
                bias += scaled_rows(by, (l * (constant(shapes) @ e.bias)).T)
                ways.append((shapes if swept is None else constant(shapes) @ swept, by))
        if swept is not None:
            grown = type(l)(moved.count, e.k)
            grown[:, 0] = 1
            ways.append((grown, t.place))
        return cls(t, l * t.place, e.out * t.place + l * t.rate, bias, ways, e)

    def columns(self, axis: int, weights: Array) -> Expr:
        """Compute d sums / d link coordinates of w weighted sums of one component of R, (w, k).

        ``axis`` selects the component of R; ``weights`` (w, G) contains the weights of each sum.
        """
        k, swept = self.e.k, self._swept[axis]
        total = constant(weights) @ swept if swept.nnz() else type(swept)(len(weights), k)
        for rows, by in self.ways:
            along = by[axis, :].T
            if isinstance(rows, np.ndarray) and along.nnz():
                flat = np.einsum("wg,gj->jwg", weights, rows).reshape(-1, weights.shape[1])
                total += ca.reshape(constant(flat) @ along, len(weights), k)
        return total

    @cached_property
    def _swept(self) -> list[Expr]:
        """Parts of the Jacobian of ``R = l P`` that depend on coordinates, (G, k) per axis."""
        ways = [(rows, by) for rows, by in self.ways if not isinstance(rows, np.ndarray)]
        none = type(self.place)(self.place.shape[1], self.e.k)
        return [
            sum((ca.repmat(by[a, :].T, 1, self.e.k) * rows for rows, by in ways), none) for a in XYZ
        ]

    def jacobian(self, weights: Array | Expr) -> Expr:
        """Compute the Jacobian (3, k) of a weighted sum of R; weights per axis and node, (3, G)."""
        if isinstance(weights, np.ndarray):
            return ca.vertcat(*[self.columns(a, weights[a][None]) for a in XYZ])
        total = type(self.place)(3, self.e.k)
        for rows, by in self.ways:
            total += (weights * by) @ (constant(rows) if isinstance(rows, np.ndarray) else rows)
        return total

    def field(self, turning: Sequence[tuple[Expr, Expr, Expr]] = ()) -> MovingField:
        """Return the positions of the axis as coefficients (G,) per axis of the functions ``I``.

        For a sliding link, the coefficients are those of ``I, (1 - xi) l, (1 - xi)^2 dl/dxi``.
        ``turning`` adds functions to the field: for each axis of the link, values, acceleration
        biases and Jacobians of their coefficients.
        """
        e, t, identity = self.e, self.t, np.eye(self.place.shape[1])
        value, bias = [self.place], [self.bias]
        columns = [self.columns(a, identity) for a in XYZ]
        if e.columns is not None:
            none = type(e.length)(*t.place.shape)
            value += [none, none]
            bias += [2 * e.out * t.rate, e.out**2 / e.length * t.place]
            for a in XYZ:
                passed = type(e.length)(2 * len(identity), e.k)
                passed[: len(identity), 0] = t.place[a, :].T
                columns[a] = ca.vertcat(columns[a], passed)
        rows: list[Expr] = [ca.horzcat(*parts) for parts in (value, bias)]
        here, gained = ([row[a, :].T for a in XYZ] for row in rows)
        for a, (place, gain, swept) in enumerate(turning):
            here[a], gained[a] = ca.vertcat(here[a], place), ca.vertcat(gained[a], gain)
            columns[a] = ca.vertcat(columns[a], swept)
        moved = tuple(Field(*[columns[a][:, j] for a in XYZ]) for j in range(e.k))
        return MovingField(Field(*here), moved, Field(*gained))


@dataclass(frozen=True)
class AxisPoint:
    """A position s on a beam: the beam's functions there, and the section's motion along the span.

    If the section moves along the span, each function is followed by its first and second
    derivative with respect to s.
    """

    reach: Sequence[Array | Expr]  # integrated cardinal functions, (3, G) each
    slopes: Sequence[Sequence[Expr]]  # slopes along y and z and twist, (1, K) each
    # Rate of s, and its second time derivative at zero accelerations; None if the section does not
    # move along the span.
    rate: Expr | None = None
    bias: Expr | float = 0.0
    per: Expr | None = None  # rate of s per rate of link coordinate, (1, k), or None


def section_motion(
    m: AxisMotion,
    at: AxisPoint,
    rates: Expr | None = None,
    combined: Sequence[Expr] | None = None,
) -> tuple[SectionMotion, Expr]:
    """Compute the motion of a section of an exact beam.

    Parameters
    ----------
    m, at
        The motion of the axis, and the position of the section.
    rates
        Rates of the link coordinates (k,); if given, the section's velocity is the Jacobian times
        them.
    combined
        Slopes and twist per combined amplitude, (1, k) each, if ``m`` refers to combined
        amplitudes.

    Returns
    -------
    The section's motion, and its angular and linear velocity per rate of s, (6,).
    """
    e, (rows, *bent), new = m.e, at.slopes, type(m.place)
    angles, speeds, gained = ([row @ x for row in rows] for x in (e.value, e.rate, e.bias))
    linear, bias = m.jacobian(at.reach[0]), summed(at.reach[0], m.bias)
    speed = summed(at.reach[0], m.rate) if rates is None else linear @ rates
    along, turns = new(3, 1), [new(1, 1)] * 3
    if at.rate is not None:
        along, turns = summed(at.reach[1], m.place), [row @ e.value for row in bent[0]]
        speed += along * at.rate
        bias += 2 * at.rate * summed(at.reach[1], m.rate) + at.bias * along
        bias += at.rate**2 * summed(at.reach[2], m.place)
        for i, (row, further) in enumerate(zip(*bent, strict=True)):
            speeds[i] += turns[i] * at.rate
            gained[i] += 2 * at.rate * (row @ e.rate) + at.bias * turns[i]
            gained[i] += at.rate**2 * (further @ e.value)
    at_rest, moving = (Angles(a, b, f, new(1, 1)) for a, b, f in (angles, speeds))
    turn = turned(at_rest, moving)
    spin = turn.columns(turns)
    per = rows if e.columns is None else [row @ e.columns for row in rows]
    angular = turn.columns(combined or per)
    if at.per is not None:
        linear, angular = linear + along @ at.per, angular + spin @ at.per
    local = Local(summed(at.reach[0], m.place), turn.rotation, linear, angular)
    motion = SectionMotion(local, turn.spin, speed, turn.bias + turn.columns(gained), bias)
    return motion, ca.vertcat(spin, along)


def summed(weights: Array | Expr, vectors: Expr) -> Expr:
    """Return the sum (3,) of G vectors with the weights (3, G), one per axis and vector."""
    return ca.sum2((constant(weights) if isinstance(weights, np.ndarray) else weights) * vectors)
