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

    # mass, inertia: what the point stands for [kg], and about the axes [kg m^2], (3,).
    mass: Expr
    inertia: Expr
    # place, columns: where it is (3,), and its velocity per rate of own coordinate (3, k).
    place: Expr
    columns: Expr
    # angle, angle_columns: first-order angles of the section (3,), and their rates (3, k).
    angle: Expr
    angle_columns: Expr


@dataclass(frozen=True)
class Spin:
    """An inertia [kg m^2] that turns about an axis, and may be negative."""

    inertia: Expr
    # axis, columns: the axis, in the link's axes, (1, 3), and how fast own coordinates turn it
    # about that, (1, k).
    axis: Expr
    columns: Expr


def element_points(edges: Array, count: int) -> tuple[Array, Array]:
    """Place Gauss points with their weights on every element, (elements count,) each."""
    node, weight = gauss_points(count)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()
