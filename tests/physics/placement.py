"""Places of an arm's material as functions of its coordinates, written from the definitions.

Frames, tables and the sections of bent and of growing beams, for `reference.Reference`.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import factorial
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.interpolate import CubicSpline

from flexarm.arm import Arm, Body, Frame, Link
from flexarm.arm.drive import SpringTable
from flexarm.links.base import Direction, Shapes, Span
from flexarm.links.growing.shapes import SlidingShapes

Array: TypeAlias = npt.NDArray[np.float64]
Expr: TypeAlias = Any  # CasADi ships no types
POINTS = 20
E_X = np.array([1.0, 0.0, 0.0])
E_Y = np.array([0.0, 1.0, 0.0])
E_Z = np.array([0.0, 0.0, 1.0])


@cache
def unit_rule(points: int) -> tuple[Array, Array]:
    """Gauss-Legendre points and weights on -1 to 1."""
    return np.polynomial.legendre.leggauss(points)


@cache
def running(points: int) -> Array:
    """Integrals from -1 to the nodes of Gauss and Legendre of what is known there, (n, n)."""
    node, weight = unit_rule(points)
    legendre = np.polynomial.legendre.legvander(node, points)
    degree = np.arange(1, points)
    integral = np.empty((points, points))  # of each polynomial to each node
    integral[:, 0] = node + 1
    integral[:, 1:] = (legendre[:, 2:] - legendre[:, :-2]) / (2 * degree + 1)
    modes = legendre[:, :points] * weight[:, None] * (2 * np.arange(points) + 1) / 2
    return np.asarray(integral @ modes.T)


def gauss(edges: Array, points: int = POINTS) -> tuple[Array, Array]:
    """Gauss-Legendre points and weights on all panels between edges."""
    node, weight = unit_rule(points)
    panels = [p for p in pairwise(edges) if p[1] - p[0] > 1e-12 * edges[-1]]
    x = [(a + b) / 2 + (b - a) / 2 * node for a, b in panels]
    return np.concatenate(x), np.concatenate([(b - a) / 2 * weight for a, b in panels])


def cross_matrix(a: Expr) -> Expr:
    """Matrix a~ with a~ b = a x b."""
    return ca.vertcat(
        ca.horzcat(0, -a[2], a[1]), ca.horzcat(a[2], 0, -a[0]), ca.horzcat(-a[1], a[0], 0)
    )


def turn(axis: Array, angle: Expr) -> Expr:
    """Rotation about an axis of unit length by an angle [rad] (Rodrigues)."""
    a = cross_matrix(ca.DM(axis))
    return ca.DM.eye(3) + ca.sin(angle) * a + (1 - ca.cos(angle)) * a @ a


def cayley(c: Expr) -> Expr:
    """Rotation of a Cayley vector."""
    half = cross_matrix(c) / 2
    return ca.inv_minor(ca.SX.eye(3) - half) @ (ca.SX.eye(3) + half)


def spin_of(skew: Expr) -> Expr:
    """Vector of a skew matrix."""
    return ca.vertcat(skew[2, 1] - skew[1, 2], skew[0, 2] - skew[2, 0], skew[1, 0] - skew[0, 1]) / 2


def ramp(x: tuple[float, ...], y: tuple[float, ...], at: Expr) -> tuple[Expr, Expr]:
    """Table run through by straight lines, the end slopes going on, and its integral from 0."""
    slopes = np.diff(y) / np.diff(x)

    def sums(place: Expr) -> tuple[Expr, Expr]:
        first = place - x[0]
        value, integral = y[0] + slopes[0] * first, y[0] * first + slopes[0] * first**2 / 2
        for knot, change in zip(x[1:-1], np.diff(slopes), strict=True):
            beyond = ca.fmax(place - knot, 0)
            value, integral = value + change * beyond, integral + change * beyond**2 / 2
        return value, integral

    value, integral = sums(at)
    return value, integral - sums(0.0)[1]


def spring(stiffness: Any, deflection: Expr) -> tuple[Expr, Expr]:
    """Effort of a spring and its energy."""
    if isinstance(stiffness, SpringTable):
        return ramp(stiffness.deflection, stiffness.effort, deflection)
    return stiffness * deflection, stiffness * deflection**2 / 2


@dataclass(frozen=True)
class Pose:
    """A frame B placed in A: rotation R_AB and origin of B in A [m]."""

    rotation: Expr
    position: Expr

    def __matmul__(self, other: "Pose") -> "Pose":
        return Pose(self.rotation @ other.rotation, self.position + self.rotation @ other.position)


def at(position: Expr) -> Pose:
    """Frame moved, not turned."""
    return Pose(ca.DM.eye(3), ca.vertcat(*position) if isinstance(position, tuple) else position)


def frame_pose(frame: Frame | None) -> Pose:
    """Frame of the description: angles about fixed x, then y, then z."""
    if frame is None:
        return at(np.zeros(3))
    x, y, z = (turn(np.eye(3)[k], angle) for k, angle in enumerate(frame.rotation))
    return Pose(z @ y @ x, ca.DM(frame.position))


def joint_frames(link: Link) -> tuple[Pose, Pose, Pose]:
    """Constant frames of a link: before its joint, after its joint, after its whole length."""
    dh = link.joint.dh
    if dh is None:
        return frame_pose(link.joint.before), frame_pose(link.joint.after), at(np.zeros(3))
    twist = Pose(turn(E_X, dh.alpha), np.zeros(3))
    z = np.array([0.0, 0.0, 1.0])
    slide = Pose(turn(z, dh.theta), z * dh.d)
    if dh.convention == "standard":
        return at(np.zeros(3)), slide, twist
    return twist, slide, at(np.zeros(3))


def piece_lengths(link: Link) -> tuple[float, float]:
    """Lengths of the rigid pieces at root and tip [m]."""
    root, tip = link.root_piece, link.tip_piece
    return (0.0 if root is None else root.length), (0.0 if tip is None else tip.length)


def inertia_matrix(body: Body) -> Array:
    """Inertia about the centre of mass (3, 3)."""
    xx, yy, zz, xy, xz, yz = (*body.inertia, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@dataclass(frozen=True)
class Sections:
    """Sections of a link at G places, (3, G) each.

    Attributes
    ----------
    centre
        Position in the root frame [m].
    linear
        Angles to first order in the amplitudes [rad]: what rotary inertia sees.
    angle
        The same with the slopes of the user's quadratic shapes: what turns the section's frame.
    """

    centre: Expr
    linear: Expr
    angle: Expr


def straight(x: Expr) -> Sections:
    """Sections at places x of a beam that does not deform."""
    zero = ca.SX(1, x.numel())
    return Sections(ca.vertcat(x.T, zero, zero), ca.SX(3, x.numel()), ca.SX(3, x.numel()))


def bent(link: Link, shapes: Shapes, stiffening: bool, d: Expr, x: Array) -> Sections:
    """Sections of a flexible span of constant length at places x [m]."""
    moved = [ca.DM(shapes.displacement(x)[:, k]) @ d for k in range(3)]
    slope = [ca.DM(shapes.displacement(x, 1)[:, k]) @ d for k in range(3)]
    if stiffening:
        moved[0] -= ca.DM(squared_slopes(shapes, x)) @ ca.vec(d @ d.T) / 2
    twist = ca.DM(shapes.values("twist", x)) @ d
    linear = ca.horzcat(twist, -slope[2], slope[1]).T
    for term in link.quadratic_shapes:
        curve = CubicSpline(term.stations, term.values)
        first, second = (d[shapes.names.index(name)] for name in term.amplitudes)
        k = "xyz".index(term.direction)
        moved[k] += ca.DM(curve(x)) * first * second
        slope[k] += ca.DM(curve(x, 1)) * first * second
    centre = ca.horzcat(x + moved[0], moved[1], moved[2]).T
    return Sections(centre, linear, ca.horzcat(twist, -slope[2], slope[1]).T)


def taylor(shapes: Shapes, direction: Direction, x: Array, nu: int, n: int) -> Array:
    """Taylor coefficient of the nu-th derivative of the shapes, (len(x), m)."""
    return shapes.values(direction, x, nu + n) / factorial(n)


def squared_slopes(shapes: Shapes, x: Array) -> Array:
    """Integrals from the root of y'^T y' + z'^T z', (len(x), m m)."""
    rules = [gauss(np.append(shapes.edges[shapes.edges < end], end)) for end in x]
    cuts = np.cumsum([len(weight) for _, weight in rules])[:-1]
    inner = np.concatenate([places for places, _ in rules])
    total = np.zeros((len(x), len(shapes.names) ** 2))
    for direction in ("y", "z"):
        slopes = np.split(shapes.values(direction, inner, 1), cuts)
        for row, slope, (_, weight) in zip(total, slopes, rules, strict=True):
            row += ((slope.T * weight) @ slope).ravel()
    return total


def extra_mass(shapes: Shapes, x: Array, mass: Array, rotary: Array) -> Array:
    """Modal mass that was measured beyond what sections at x have, (m, m)."""
    if shapes.mass is None:
        return np.zeros((len(shapes.names), len(shapes.names)))
    moved, turned = shapes.displacement(x), shapes.rotation(x)
    known = np.einsum("g,gki,gkj->ij", mass, moved, moved)
    known += np.einsum("kg,gki,gkj->ij", rotary, turned, turned)
    return np.asarray(shapes.mass - known)


def tip_bodies(arm: Arm, index: int) -> list[tuple[Pose, Body]]:
    """List what a flexible tip carries rigidly, with its frame in the tip frame."""
    link = arm.links[index]
    end = at((piece_lengths(link)[1], 0, 0)) @ joint_frames(link)[2]
    bodies = [] if link.tip_piece is None else [(at(np.zeros(3)), link.tip_piece.body)]
    for following, parent in zip(arm.links, arm.parents, strict=True):
        if parent == index and following.at == "tip" and following.joint.hub.inboard is not None:
            bodies.append((end @ joint_frames(following)[0], following.joint.hub.inboard))
    payloads = [link.payload, arm.payload if index == len(arm.links) - 1 else None]
    return bodies + [(end, payload) for payload in payloads if payload is not None]


def clamped_damping(
    link: Link, shapes: Shapes, length: float, bodies: list[tuple[Pose, Body]]
) -> Array:
    """Damping matrix with the link's ratios in its modes, root clamped, tip carrying bodies."""
    assert link.section is not None
    ratios = np.zeros(len(shapes.names))
    assert not isinstance(link.damping, dict)
    given = link.damping if isinstance(link.damping, tuple) else (link.damping,) * len(ratios)
    ratios[: len(given)] = given[: len(ratios)]
    span = Span.of(link.section, length)
    x, weight = gauss(np.union1d(span.edges, shapes.edges))
    moved, turned = shapes.displacement(x), shapes.rotation(x)
    mass = np.einsum("g,gki,gkj->ij", weight * span.at("mass_per_length", x), moved, moved)
    for k, name in enumerate(("Jx", "Jy", "Jz")):
        mass += (turned[:, k].T * weight * span.at(name, x)) @ turned[:, k]
    tip = np.array([length])
    moved, turned = shapes.displacement(tip)[0], shapes.rotation(tip)[0]
    for pose, body in bodies:
        centre = np.array(pose.position + pose.rotation @ ca.DM(body.com)).ravel()
        columns = moved + np.cross(turned, centre, axis=0)
        own = np.array(pose.rotation).T @ turned
        mass += body.mass * columns.T @ columns + own.T @ inertia_matrix(body) @ own
    squares, modes = scipy.linalg.eigh(shapes.stiffness, mass)
    momenta = mass @ modes
    return np.asarray(momenta * (2 * ratios * np.sqrt(np.maximum(squares, 0))) @ momenta.T)


@dataclass(frozen=True)
class Growing:
    """Shapes of a sliding link at an exposed length: weights of its parent curves times d."""

    shapes: SlidingShapes
    length: Expr
    weights: dict[Direction, Expr]
    stiffening: bool

    @classmethod
    def of(cls, shapes: SlidingShapes, length: Expr, d: Expr, *, stiffening: bool) -> "Growing":
        low, high = shapes.range
        t = (2 * length - low - high) / (high - low)
        weights: dict[Direction, Expr] = {}
        for direction, series in shapes.factors.items():
            terms = [ca.SX(1), t]
            while len(terms) < len(series):
                terms.append(2 * t * terms[-1] - terms[-2])
            total = ca.SX(series.shape[1], 1)
            for term, matrix in zip(terms, series, strict=False):
                total += term * (ca.DM(matrix) @ d)
            weights[direction] = total
        return cls(shapes, length, weights, stiffening)

    @property
    def rule(self) -> tuple[Array, Array]:
        """Places xi along the exposed part, and weights."""
        return gauss(self.shapes.edges)

    def values(self, direction: Any, xi: Array, nu: int, shift: Expr = 0.0) -> Expr:
        """nu-th derivative by x at xi + shift, the shift to first order, (len(xi), 1)."""
        here, next_ = (ca.DM(self.shapes.values(direction, xi, nu + k).T) for k in (0, 1))
        weights = self.weights[direction]
        return (here @ weights + shift * (next_ @ weights)) / self.length**nu

    def sections(self, xi: Array, shift: Expr) -> Sections:
        """Sections at x = (xi + shift) l."""
        moved = [self.values(k, xi, 0, shift) for k in "xyz"]
        if self.stiffening:
            moved[0] -= self._drawn(xi, shift)
        twist = self.values("twist", xi, 0, shift)
        slopes = [self.values(k, xi, 1, shift) for k in "yz"]
        angle = ca.horzcat(twist, -slopes[1], slopes[0]).T
        x = (xi + shift) * self.length
        return Sections(ca.horzcat(x + moved[0], moved[1], moved[2]).T, angle, angle)

    def _drawn(self, xi: Array, shift: Expr) -> Expr:
        total = ca.SX(len(xi), 1)
        for direction in ("y", "z"):
            weights = self.weights[direction]
            for g, end in enumerate(xi):
                edges = self.shapes.edges
                inner, weight = gauss(np.append(edges[edges < end], end))
                slopes = self.shapes.values(direction, inner, 1)
                table = ca.DM((slopes * weight) @ slopes.T)
                total[g] += ca.bilin(table, weights, weights) / (2 * self.length)
            total += shift * self.values(direction, xi, 1) ** 2 * self.length / 2
        return total

    def energy(self, properties: dict[str, Expr]) -> Expr:
        """Elastic energy of the exposed beam [J], from properties at the places of the rule."""
        xi, weight = self.rule
        slopes, bends = ({k: self.values(k, xi, nu) for k in "yz"} for nu in (1, 2))
        p = slopes["y"] * bends["y"] + slopes["z"] * bends["z"]
        density = properties.get("GJ", 0.0) * self.values("twist", xi, 1) ** 2
        density += properties.get("EA", 0.0) * self.values("x", xi, 1) ** 2
        for k, name in (("y", "EIz"), ("z", "EIy")):
            density += properties.get(name, 0.0) * bends[k] ** 2
            if self.stiffening:
                density += properties.get(name, 0.0) * bends[k] * slopes[k] * p
        return self.length * ca.dot(weight, density) / 2
