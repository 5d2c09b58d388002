"""Discretisation of a body into mass points, several per element of its shape functions."""

from dataclasses import dataclass

import numpy as np

from flexarm.links.span import gauss_points
from flexarm.spatial import Array, Expr, Scalar

ROD = np.array([0.0, 1.0, 1.0]) / 12  # inertia of a rod about its centre by mass length^2
# Points that integrate shapes of degree 3, and the square of their slopes.
CUBIC, STIFFENED = 4, 6


@dataclass(frozen=True)
class ElementSection:
    """Mass point of an element with its Jacobian by the link's own coordinates, in link axes."""

    mass: Scalar  # of the point [kg]
    # Inertia about the axes [kg m^2], (3,): of the whole element if it is its only point.
    inertia: Expr
    # place, columns: position (3,), and velocity per rate of own coordinate (3, k).
    place: Expr
    columns: Expr
    # angle, angle_columns: first-order angles of the section (3,), and their rates (3, k).
    angle: Expr
    angle_columns: Expr


@dataclass(frozen=True)
class Vector:
    """Vector fixed in a section with a point mass at its end, which represents rotary inertia.

    Own coordinates rotate and stretch the vector; translation does not affect it.  The mass may be
    negative.
    """

    mass: Scalar  # [kg m^2], since the vector is dimensionless
    # value, columns: the vector in the link's axes, (3,), and its rate per rate of own coordinate,
    # (3, k).
    value: Expr
    columns: Expr


def element_points(edges: Array, count: int) -> tuple[Array, Array]:
    """Return positions and weights of all Gauss points, ``count`` per element."""
    node, weight = gauss_points(count)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()
