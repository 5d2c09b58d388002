"""How the points of a link move in its root frame, and moments of such motions over its mass.

Homogeneous coordinates ``h = (1, x, y, z)``; ``s_f = dh/d delta_f`` are the columns of a link's own
coordinates.  A field along the link is a list of coefficients per
coordinate of h, of known functions of the distance from the root; integrals over the mass are
constant matrices between coefficients.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.links.base import Array
from flexarm.links.integrals import Points
from flexarm.links.pairs import Pairs
from flexarm.model import Flexible
from flexarm.spatial import Expr, Inertia, Pose, constant

Field = list[Expr]


class Moments(NamedTuple):
    """What a link weighs at its current deflection, seen from its root; k own coordinates.

    Attributes
    ----------
    G
        ``int h h^T dm``, (4, 4), the sections' rotary inertia included.
    H
        ``int h s_f^T dm``, (4, 4), per own coordinate, with the sections' turning.
    N
        ``int s_k s_f^T dm``, (4, 4), at ``[f][k]``.
    T
        Mass matrix of the sections' turning within the link, (k, k).
    r, eps
        First moments ``int h dm`` and ``int s_f dm``, (4,) each.
    """

    G: Expr
    H: list[Expr]
    N: list[list[Expr]]
    T: Expr
    r: Expr
    eps: list[Expr]


@dataclass(frozen=True)
class SpanPoints:
    """Points ``h(x) = (1, x e_x + Phi(x) d + 1/2 d^T X(x) d)`` of a span with amplitudes d."""

    points: Points

    @cached_property
    def moving(self) -> list[npt.NDArray[np.intp]]:
        """Amplitudes that move points along x, y, z."""
        return [np.flatnonzero(np.any(self.points.shape[:, a] != 0, axis=0)) for a in range(3)]

    @cached_property
    def pairs(self) -> list[Pairs]:
        """Pairs of amplitudes whose products move points along x, y, z."""
        return [Pairs.of_form(np.any(self.points.quadratic[:, a] != 0, axis=0)) for a in range(3)]

    @cached_property
    def gram(self) -> list[list[Expr]]:
        """Integrals of products of the functions over the mass, per two coordinates of h."""
        p = self.points
        functions = [np.ones((1, len(p.x)))]
        for a in range(3):
            rows = [p.x[None, :]] if a == 0 else []
            rows += [p.shape[:, a, self.moving[a]].T, self.pairs[a].of(p.quadratic[:, a]).T]
            functions.append(np.concatenate(rows))
        return [[constant(_clean((f * p.mass) @ g.T)) for g in functions] for f in functions]

    def place(self, d: Expr) -> Field:
        """Position."""
        one = type(d)(1)
        rows = [[one] if a == 0 else [] for a in range(3)]
        return [
            one,
            *[
                ca.vertcat(*rows[a], _pick(d, self.moving[a]), self.pairs[a].products(d, d) / 2)
                for a in range(3)
            ],
        ]

    def velocity(self, d: Expr, rates: Expr) -> Field:
        """Velocity at given rates of the amplitudes; at a unit rate, the column of one of them."""
        none = type(d)(1, 1)
        rows = [[none] if a == 0 else [] for a in range(3)]
        return [
            none,
            *[
                ca.vertcat(*rows[a], _pick(rates, self.moving[a]), self.pairs[a].products(d, rates))
                for a in range(3)
            ],
        ]

    def bend(self, rates: Expr) -> Field:
        """Acceleration at given rates and no acceleration of the amplitudes."""
        none = type(rates)(1, 1)
        rows = [[none] if a == 0 else [] for a in range(3)]
        return [
            none,
            *[
                ca.vertcat(
                    *rows[a],
                    type(rates)(len(self.moving[a]), 1),
                    self.pairs[a].products(rates, rates),
                )
                for a in range(3)
            ],
        ]

    def weighed(self, f: Field) -> list[list[Expr]]:
        """Prepare one side of `moment` for use with several others."""
        return [[self.gram[a][b].T @ f[a] for b in range(4)] for a in range(4)]


def moment(weighed: list[list[Expr]], g: Field) -> Expr:
    """Integrate ``f g^T`` over the mass, (4, 4); f is weighed."""
    return ca.vertcat(*[ca.horzcat(*[row[b].T @ g[b] for b in range(4)]) for row in weighed])


def span_moments(e: Flexible, d: Expr) -> Moments:
    """Weigh the flexible span of a link of constant length.

    The sections turn with the link, and within it by first-order angles, in link axes: constants.
    """
    points, m = SpanPoints(e.points), d.shape[0]
    h = points.place(d)
    s = [points.velocity(d, unit(d, m, k)) for k in range(m)]
    of_h, of_s = points.weighed(h), [points.weighed(f) for f in s]
    unity = [type(d)(1), *[type(d)(*f.shape) for f in h[1:]]]
    turned = [turning(constant(e.integrals.rotary_shape[:, k])) for k in range(m)]
    return Moments(
        moment(of_h, h) + constant(lower_right(spread(e.integrals.rotary))),
        [moment(of_h, s[k]) + turned[k] for k in range(m)],
        [[moment(of_s[k], s[f]) for k in range(m)] for f in range(m)],
        type(d)(section_mass(e)),
        moment(of_h, unity)[:, 0],
        [moment(of_s[f], unity)[:, 0] for f in range(m)],
    )


def body_moments(body: Inertia, like: Expr, m: int) -> Moments:
    """Weigh a rigid body that is fixed in the root; the m own coordinates do not move it."""
    new = type(like)
    G, none = new(constant(pseudo_inertia(body))), [new(4, 4)] * m
    return Moments(G, none, [none] * m, new(m, m), G[:, 0], [new(4, 1)] * m)


def moved_moments(body: Array, place: Expr, columns: list[Expr]) -> Moments:
    """Weigh a rigid body, its ``int h h^T`` (4, 4), at a place that own coordinates change."""
    m, first = len(columns), constant(body[:, 0])
    right = [constant(body) @ column.T for column in columns]
    return Moments(
        place @ constant(body) @ place.T,
        [place @ side for side in right],
        [[columns[k] @ right[f] for k in range(m)] for f in range(m)],
        type(place)(m, m),
        place @ first,
        [column @ first for column in columns],
    )


def joined(a: Moments, b: Moments) -> Moments:
    """Join two parts of one link."""
    return Moments(
        a.G + b.G,
        [x + y for x, y in zip(a.H, b.H, strict=True)],
        [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(a.N, b.N, strict=True)],
        a.T + b.T,
        a.r + b.r,
        [x + y for x, y in zip(a.eps, b.eps, strict=True)],
    )


def section_mass(e: Flexible) -> Expr:
    """Give the modal mass beyond the translation of points: rotary inertia, (m, m)."""
    p = e.points
    translation = np.einsum("g,gai,gaj->ij", p.mass, p.shape, p.shape)
    rest = e.integrals.modal_mass - translation
    size = np.sqrt(np.diag(e.integrals.modal_mass))
    return constant(np.where(np.abs(rest) <= 1e-14 * np.outer(size, size), 0.0, rest))


def unit(like: Expr, size: int, k: int) -> Expr:
    """Column of zeros with a one at k, zeros structural."""
    column = type(like)(size, 1)
    column[k] = 1
    return column


def pseudo_inertia(body: Inertia) -> Array:
    """Integrate ``h h^T`` over a rigid body, (4, 4)."""
    matrix = np.zeros((4, 4))
    matrix[0, 0] = body.mass
    matrix[0, 1:] = matrix[1:, 0] = body.first
    matrix[1:, 1:] = spread(body.second)
    return matrix


def spread(second: Array) -> Array:
    """Give ``int r r^T`` from an inertia matrix, (3, 3)."""
    return np.asarray(np.eye(3) * np.trace(second) / 2 - second)


def lower_right(block: Array) -> Array:
    """Matrix (4, 4) with a block (3, 3) for x, y, z and zeros elsewhere."""
    matrix = np.zeros((4, 4))
    matrix[1:, 1:] = block
    return matrix


def turning(momentum: Expr) -> Expr:
    """Matrix Y, (4, 4), whose ``tr(W' Y W^T)`` is angular velocity times an angular momentum.

    ``W`` places the frame in which the momentum, per unit rate of some coordinate, is given (3,).
    """
    return ca.diagcat(type(momentum)(1, 1), -ca.skew(momentum / 2))


def congruent_trace(W: Expr, inner: Expr, *, orthogonal: bool) -> Expr:
    """Trace of ``W inner W^T``, where the rotation in W may be exact or first-order."""
    return ca.trace(inner) if orthogonal else trace_of(W @ inner, W.T)


def homogeneous(rotation: Expr, position: Expr) -> Expr:
    """Matrix (4, 4) that takes h from a frame to the one it is placed in."""
    top = ca.horzcat(ca.DM(1), ca.DM(1, 3))
    return ca.vertcat(top, ca.horzcat(position, rotation))


def pose_matrix(pose: Pose) -> Expr:
    """Matrix (4, 4) of constant numbers of a frame placed in another."""
    return homogeneous(constant(pose.rotation), constant(pose.position))


def trace_of(a: Expr, b: Expr) -> Expr:
    """Trace of the product a b, without forming it."""
    return ca.sum1(ca.sum2(a * b.T))


def _pick(d: Expr, which: npt.NDArray[np.intp]) -> Expr:
    return ca.vertcat(*[d[int(k)] for k in which]) if len(which) else type(d)(0, 1)


def _clean(values: Array) -> Array:
    """Set quadrature dust to zero, so that traced equations skip it."""
    size = np.abs(values).max(initial=0.0)
    return np.where(np.abs(values) <= 1e-15 * size, 0.0, values)
