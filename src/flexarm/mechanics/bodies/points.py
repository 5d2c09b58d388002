"""Moments of a link's mass distribution in homogeneous coordinates ``h = (1, x, y, z)``.

The derivative of h with respect to the link coordinate f is written ``s_f = dh/d delta_f``.
"""

from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.sections import Terms
from flexarm.spatial import Array, Expr, Inertia, Pose, Scalar, constant


class Moments(NamedTuple):
    """Mass integrals of products of h and its derivatives for a deformed link, in root axes."""

    G: Expr  # ``int h h^T dm``, (4, 4), the sections' rotary inertia included
    H: list[Expr]  # ``int h s_f^T dm``, (4, 4), per link coordinate, with section rotation
    N: list[list[Expr]]  # ``int s_k s_f^T dm``, (4, 4), at ``[f][k]``
    T: Expr  # mass matrix of the sections' rotation relative to the link, (k, k)
    # r, eps: first moments ``int h dm`` and, per link coordinate, ``int s_f dm``, (4,) each.
    r: Expr
    eps: list[Expr]


def span_moments(points: list[MaterialPoints], sections: Terms) -> Moments:
    """Compute the moments of a span from its mass points and the rotary inertia of its sections."""
    total = _turned(sections)
    for point in points:
        total = joined(total, _moved(point))
    return total


def _moved(points: MaterialPoints) -> Moments:
    """Return the moments of mass points whose positions form a vector field."""
    h, s = points.moving.value, points.moving.columns
    mean, means = points.integral(h), [points.integral(c) for c in s]
    none = type(mean)(1, 1)
    return Moments(
        bordered(points.mass, mean, points.moment(h, h)),
        [
            ca.vertcat(ca.horzcat(none, means[f].T), without_first(points.moment(h, c)))
            for f, c in enumerate(s)
        ],
        [[ca.diagcat(none, points.moment(c, b)) for c in s] for b in s],
        type(mean)(len(s), len(s)),
        ca.vertcat(points.mass, mean),
        [ca.vertcat(none, c) for c in means],
    )


def _turned(sections: Terms) -> Moments:
    """Return the moments of the rotary inertia of sections, in root axes."""
    k, new, S = sections.modal.shape[0], type(sections.modal), sections.second
    none = [new(4, 4)] * k
    spin = [turning(sections.angular[:, f]) for f in range(k)]
    G = ca.diagcat(new(1, 1), ca.trace(S) / 2 * new.eye(3) - S)
    return Moments(G, spin, [none] * k, sections.modal, new(4, 1), [new(4, 1)] * k)


def body_moments(body: Inertia, like: Expr, m: int) -> Moments:
    """Compute the moments of a rigid body fixed to the root of a link with m coordinates."""
    new = type(like)
    G, none = new(constant(pseudo_inertia(body))), [new(4, 4)] * m
    return Moments(G, none, [none] * m, new(m, m), G[:, 0], [new(4, 1)] * m)


def moved_moments(body: Array, place: Expr, columns: list[Expr]) -> Moments:
    """Compute the moments of a rigid body whose pose depends on the link coordinates.

    Parameters
    ----------
    body
        ``int h h^T`` over the body in its own frame, (4, 4).
    place, columns
        Homogeneous matrix (4, 4) of the pose, and its derivative with respect to each link
        coordinate.
    """
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
    """Return the sum of the moments of two bodies of one link."""
    return Moments(
        a.G + b.G,
        [x + y for x, y in zip(a.H, b.H, strict=True)],
        [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(a.N, b.N, strict=True)],
        a.T + b.T,
        a.r + b.r,
        [x + y for x, y in zip(a.eps, b.eps, strict=True)],
    )


def pseudo_inertia(body: Inertia) -> Array:
    """Compute the pseudo-inertia matrix ``int h h^T dm`` of a rigid body, (4, 4)."""
    first = body.first[:, None]
    return np.block([[np.array([[body.mass]]), first.T], [first, spread(body.second)]])


def spread(second: Array) -> Array:
    """Compute the second moments ``int r r^T dm`` (3, 3) from an inertia matrix (3, 3)."""
    return np.asarray(np.eye(3) * np.trace(second) / 2 - second)


def lower_right(block: Array) -> Array:
    """Return a matrix (4, 4) with ``block`` (3, 3) in its last three rows and columns, else 0."""
    none = np.zeros((3, 1))
    return np.block([[np.zeros((1, 1)), none.T], [none, block]])


def turning(momentum: Expr) -> Expr:
    """Return the matrix Y (4, 4) that represents an angular momentum per unit rate, (3,).

    With the pose matrix W of a frame, ``tr(W' Y W^T)`` is the scalar product of the angular
    momentum and the frame's angular velocity; the momentum is in the axes of the frame.
    """
    return ca.diagcat(type(momentum)(1, 1), -ca.skew(momentum / 2))


def congruent_trace(W: Expr, inner: Expr, *, orthogonal: bool) -> Expr:
    """Return the trace of ``W inner W^T``.

    If ``orthogonal``, the rotation in W is exact, and the trace is that of ``inner``.
    """
    return ca.trace(inner) if orthogonal else trace_of(W @ inner, W.T)


def homogeneous(rotation: Expr, position: Expr) -> Expr:
    """Return the homogeneous matrix (4, 4) of a rotation (3, 3) and a position (3,)."""
    top = ca.horzcat(ca.DM(1), ca.DM(1, 3))
    return ca.vertcat(top, ca.horzcat(position, rotation))


def pose_matrix(pose: Pose) -> Expr:
    """Return the constant homogeneous matrix (4, 4) of a pose."""
    return homogeneous(constant(pose.rotation), constant(pose.position))


def trace_of(a: Expr, b: Expr) -> Expr:
    """Return the trace of the matrix product a b."""
    return ca.sum1(ca.sum2(a * b.T))


def bordered(mass: Scalar, mean: Expr, second: Expr) -> Expr:
    """Return ``int h h^T dm`` (4, 4) from mass, first moment (3,) and second moments (3, 3)."""
    return ca.vertcat(ca.horzcat(mass, mean.T), ca.horzcat(mean, second))


def without_first(block: Expr) -> Expr:
    """Return a matrix (3, 4): a column of zeros, followed by ``block`` (3, 3)."""
    return ca.horzcat(type(block)(3, 1), block)
