"""Chu et al., eqs. 1 to 25, written out for planar robots with the paper's three joint types.

Independent of flexarm's formulations: a chain of transformations, and Jacobians of the centres of
elements (or of Gauss points) by automatic differentiation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from flexarm.spatial import Array

REVOLUTE, FIXED, SLIDING = "revolute", "fixed prismatic", "sliding prismatic"


@dataclass(frozen=True)
class PlanarLink:
    """A uniform link: joint, length [m], mass per length [kg/m], elements, hub inertia."""

    joint: str
    length: float
    density: float
    elements: int = 0  # 0 for a rigid link
    hub: float = 0.0  # inertia that turns with the joint [kg m^2]


def hermite(x: ca.SX | float, h: float, derivative: int = 0) -> ca.SX:
    """Return the four shape functions of an element of length h, or their derivatives."""
    s = x / h
    if derivative:
        return ca.vertcat((6 * s**2 - 6 * s) / h, 1 - 4 * s + 3 * s**2,
                          (6 * s - 6 * s**2) / h, 3 * s**2 - 2 * s)  # fmt: skip
    return ca.vertcat(
        1 - 3 * s**2 + 2 * s**3, x * (1 - s) ** 2, s**2 * (3 - 2 * s), x * s * (s - 1)
    )


def coordinates(links: Sequence[PlanarLink]) -> int:
    """Return the number of coordinates: a joint and two values per element of each link."""
    return sum(1 + 2 * link.elements for link in links)


def mass_matrix(
    links: Sequence[PlanarLink], q: Array, *, payload: float = 0.0, points: int = 1
) -> Array:
    """Return M by eq. 25 at coordinates q; more than one Gauss point integrates the elements."""
    symbols = ca.SX.sym("q", coordinates(links))
    M, first = ca.SX(len(q), len(q)), 0
    p, angle = ca.SX(2, 1), ca.SX(0)  # of the end of the link before
    bend: Callable[[ca.SX, int], ca.SX] = lambda x, k: ca.SX(0)  # noqa: E731
    root = p, angle
    for link in links:
        own = symbols[first + 1 : first + 1 + 2 * link.elements]
        joint, first = symbols[first], first + 1 + 2 * link.elements
        if link.joint == REVOLUTE:
            angle = angle + joint
        elif link.joint == FIXED:
            p = p + _turn(angle) @ ca.vertcat(0, joint)
        else:  # the link rides along the one before: eq. 3 at the station of the joint
            p = root[0] + _turn(root[1]) @ ca.vertcat(joint, bend(joint, 0))
            angle = root[1] + bend(joint, 1)
        root = p, angle
        M += _body(symbols, 0.0, link.hub, p, angle)
        bend = _bending(own, link)
        for x, mass, inertia in _lumps(link, points):
            place = p + _turn(angle) @ ca.vertcat(x, bend(ca.SX(x), 0))  # (eq. 6)
            M += _body(symbols, mass, inertia, place, angle + bend(ca.SX(x), 1))  # (eqs. 23, 25)
        tip = ca.SX(link.length)
        p = p + _turn(angle) @ ca.vertcat(tip, bend(tip, 0))
        angle = angle + bend(tip, 1)
    M += _body(symbols, payload, 0.0, p, angle)
    return np.array(ca.Function("M", [symbols], [ca.densify(M)])(q))


def _turn(angle: ca.SX) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))


def _body(q: ca.SX, mass: float, inertia: float, place: ca.SX, angle: ca.SX) -> ca.SX:
    moved, turned = ca.jacobian(place, q), ca.jacobian(angle, q)
    return mass * moved.T @ moved + inertia * turned.T @ turned


def _lumps(link: PlanarLink, points: int) -> list[tuple[float, float, float]]:
    """Return station, mass and inertia of the points of a link; a rigid link is one element."""
    edges = np.linspace(0.0, link.length, max(link.elements, 1) + 1)
    x, w = np.polynomial.legendre.leggauss(points)
    found = []
    for a, b in pairwise(edges.tolist()):
        mass = link.density * (b - a)
        if points == 1 or not link.elements:
            found.append(((a + b) / 2, mass, mass * (b - a) ** 2 / 12))
        else:
            found += [(float((a + b + (b - a) * y) / 2), float(mass * v / 2), 0.0)
                      for y, v in zip(x, w, strict=True)]  # fmt: skip
    return found


def _bending(own: ca.SX, link: PlanarLink) -> Callable[[ca.SX, int], ca.SX]:
    """Return the deflection of a link by its station, or the slope."""
    if not link.elements:
        return lambda x, k: ca.SX(0)
    nodes, h = ca.vertcat(ca.SX(2, 1), own), link.length / link.elements  # u_1 = u_2 = 0

    def bend(x: ca.SX, k: int) -> ca.SX:
        total = ca.SX(0)
        for e in range(link.elements):
            inside = ca.logic_and(x > e * h * (e > 0) - (e == 0), x <= (e + 1) * h * (1 + 1e-12))
            value = ca.dot(hermite(x - e * h, h, k), nodes[2 * e : 2 * e + 4])
            total += ca.if_else(inside, value, 0)
        return total

    return bend
