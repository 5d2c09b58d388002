"""A body as points in the elements between the edges of its shapes, several in each."""

from dataclasses import dataclass

import numpy as np

from flexarm.links.base import Array
from flexarm.links.span import gauss_points
from flexarm.spatial import Expr

ROD = np.array([0.0, 1.0, 1.0]) / 12  # inertia of a rod about its centre by mass length^2
# Points that integrate shapes of degree 3, and the square of their slopes.
CUBIC, STIFFENED = 4, 6


@dataclass(frozen=True)
class ElementSection:
    """A point of an element and how its link's own coordinates move it, in the link's axes."""

    mass: Expr  # of the point [kg]
    # Inertia about the axes [kg m^2], (3,): of the whole element if it is its only point.
    inertia: Expr
    # place, columns: where it is (3,), and its velocity per rate of own coordinate (3, k).
    place: Expr
    columns: Expr
    # angle, angle_columns: first-order angles of the section (3,), and their rates (3, k).
    angle: Expr
    angle_columns: Expr


@dataclass(frozen=True)
class Vector:
    """A vector that own coordinates turn and stretch, with a mass at its end.

    It does not feel translation; its mass may be negative.
    """

    mass: Expr  # [kg m^2], of a vector without unit
    # value, columns: the vector in the link's axes, (3,), and its rate per rate of own coordinate,
    # (3, k).
    value: Expr
    columns: Expr


def element_points(edges: Array, count: int) -> tuple[Array, Array]:
    """Place Gauss points with their weights on every element, (elements count,) each."""
    node, weight = gauss_points(count)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()
