"""Algorithm 1 of Theodore & Ghosal (1995) over polynomials, under a reading of its Table 2."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations_with_replacement, product

import numpy as np

from flexarm.closed_forms.polynomials import (
    Generator,
    Monomial,
    Polynomial,
    Ring,
    cleaned,
    total,
)
from flexarm.spatial import Array
from flexarm_papers.beams.classical import BeamShape, beam_roots, beam_shape, clamped_mass
from flexarm_papers.theodore.ways import TURNS, Way
from flexarm_papers.theodore.written import Count, nested, written_out

Vector = list[Polynomial]
Function = Callable[[Array], tuple[Array, Array]]
Entries = dict[tuple[int, int], Polynomial]
DENSITY, LENGTH, STROKE, HEIGHT, PAYLOAD = 0.331, 1.0, 1.3, 0.1, 0.0828  # Table 3
DUST = 1e-12
# Gauss points of both halves of a link, so that two elements are integrated exactly.
_X, _W = np.polynomial.legendre.leggauss(14)
ETA = np.concatenate([(_X + 1) / 4, (_X + 3) / 4])
WEIGHTS = np.concatenate([_W, _W]) / 4


def inertia_count(robot: str, kind: str, way: Way) -> Count:
    """Count the upper triangle of the inertia matrix of a robot of Table 2."""
    split = kind == "elements" and way.joined == "element"
    same = replace(way, hub=True, order=9, nested=False, joined="element" if split else "entry")
    return _robot(robot, kind, same).count(way)


@dataclass(frozen=True)
class Shape:
    """A function of the position along a link, its slope, both at the tip, and its factor."""

    values: Array
    slopes: Array
    end: tuple[float, float]
    factor: Vector  # what multiplies it, in link axes


class Robot:
    """An arm of Table 2, and the bodies whose matrices add up to its inertia matrix."""

    def __init__(self, robot: str, kind: str, way: Way) -> None:
        self.way, self.kind = way, kind
        self.ring = Ring(patience=60_000_000)
        self.coordinates: list[int] = []
        self.amplitudes: set[int] = set()
        self.rates: dict[int, dict[int, Polynomial]] = {}  # derivatives of defined generators
        self.tips: dict[int, Polynomial] = {}
        self.bodies: list[Entries] = []
        self.hubs: list[Entries] = []
        self.wholes: dict[bool, Entries] = {}  # all bodies together, with hubs or without
        self.place: Vector = [{}, {}, {}]
        self.axes: list[Vector] = [_unit(k) for k in range(3)]  # columns, in world axes
        arm, _, payload = robot.partition(" with ")
        flexible = [True, True] if len(arm) == 2 else [False, True, True]
        turns = TURNS[arm, way.arm]
        for k, (joint, bends, quarter) in enumerate(zip(arm, flexible, turns, strict=True)):
            # eq. 11: mass at the tip, over that of the link; two such shapes are not orthogonal
            spans = sum(STROKE if x == "P" else LENGTH for x in arm[k + 1 :])
            self.tip_mass = (DENSITY * spans + (PAYLOAD if payload else 0.0)) / (DENSITY * LENGTH)
            if joint == "R":
                self._revolute(bends, quarter)
            else:
                self._sliding()
        if payload:
            self.bodies.append(self._entries([(np.ones(1), self.place)], None, [PAYLOAD]))

    def count(self, way: Way) -> Count:
        """Count the entries as a way of writing them says, of the same arm and points."""
        whole = self._whole(way.hub)
        groups = [whole] if way.joined == "entry" else self._bodies(way.hub)
        groups = [{k: self._kept(x, way.order) for k, x in group.items()} for group in groups]
        found = [(0, 0)]
        for group in groups:
            entries = list(group.values())
            found += [nested(x) for x in entries] if way.nested else [written_out(entries)]
        if len(groups) > 1:  # numbers of all bodies are one number
            places = {place for group in groups for place in group}
            for place in places:
                parts = [group.get(place, {}) for group in groups]
                numbers = sum(() in part for part in parts)
                found.append((0, max(sum(bool(p) for p in parts) - 1 - max(numbers - 1, 0), 0)))
        used = {g for entry in whole.values() for powers in entry for g, _ in powers}
        found.append(written_out([tip for index, tip in self.tips.items() if index in used]))
        return sum(m for m, _ in found), sum(a for _, a in found)

    def _bodies(self, hub: bool) -> list[Entries]:
        return self.bodies + (self.hubs if hub else [])

    def _whole(self, hub: bool) -> Entries:
        if hub not in self.wholes:
            result: Entries = {}
            for body in self._bodies(hub):
                for place, entry in body.items():
                    result[place] = cleaned(total(result.get(place, {}), entry), DUST)
            self.wholes[hub] = result
        return self.wholes[hub]

    def _kept(self, entry: Polynomial, order: int) -> Polynomial:
        def degree(powers: Monomial) -> int:
            return sum(p for g, p in powers if g in self.amplitudes)

        return {p: x for p, x in entry.items() if degree(p) <= order}

    def _revolute(self, bends: bool, quarter: int) -> None:
        q = self._coordinate("joint")
        s, c = self._sine_and_cosine(q)
        x, y, z = self.axes
        self.axes = [_sum([self._times(c, x), self._times(s, y)]),
                     _sum([self._times(_minus(s), x), self._times(c, y)]), z]  # fmt: skip
        if bends:
            across = [1]
            shapes = [self._straight(0, {(): LENGTH}), *self._shapes(across, {(): LENGTH})]
            self._beam(shapes, {(): DENSITY * LENGTH}, None)
            self._bend(shapes, {(): LENGTH}, 0)
        else:
            self.place = _sum([self.place, self._times({(): HEIGHT}, z)])
        if quarter:
            x, y, z = self.axes
            self.axes = [x, z, _sum([self._times({(): -1.0}, y)])]

    def _sliding(self) -> None:
        length = self._coordinate("length")
        place = list(self.place)
        span: Polynomial = {((length, 1),): 1.0}
        across = [0]
        shapes = [self._straight(2, span), *self._shapes(across, span)]
        self._beam(shapes, {((length, 1),): DENSITY}, length)
        self.hubs.append(self._inside(place, length))
        self._bend(shapes, span, 2)

    def _straight(self, axis: int, span: Polynomial) -> Shape:
        along: Vector = [{}, {}, {}]
        along[axis] = span
        return Shape(ETA, np.ones_like(ETA), (1.0, 1.0), along)

    def _shapes(self, across: list[int], span: Polynomial) -> list[Shape]:
        found = []
        for axis in across:
            for function, by_length in _functions(self.kind, self.tip_mass):
                amplitude = self._coordinate("amplitude")
                factor: Vector = [{}, {}, {}]
                one: Polynomial = {((amplitude, 1),): 1.0}
                factor[axis] = self._product(one, span) if by_length else one
                value, slope = (float(x[0]) for x in function(np.ones(1)))
                found.append(Shape(*function(ETA), (value, slope), factor))
        return found

    def _beam(self, shapes: list[Shape], mass: Polynomial, length: int | None) -> None:
        """Add the matrices of a beam: of the whole, or of its elements."""
        parts: list[tuple[Array, Vector]] = [(np.ones_like(ETA), list(self.place))]
        for shape in shapes:
            parts.append((shape.values, self._turned(shape.factor)))
        carried = None
        if length is not None and self.way.material:
            inverse: Polynomial = {((length, -1),): 1.0}
            carried = (
                length,
                [
                    (shape.slopes * (1 - ETA), self._times(inverse, part))
                    for shape, (_, part) in zip(shapes, parts[1:], strict=True)
                ],
            )
        cuts = [WEIGHTS]
        if self.kind == "elements" and self.way.joined == "element":
            cuts = [np.where(ETA < 0.5, WEIGHTS, 0.0), np.where(ETA >= 0.5, WEIGHTS, 0.0)]
        for weights in cuts:
            entries = self._entries(parts, carried, weights)
            self.bodies.append({k: self._product(mass, x) for k, x in entries.items()})

    def _inside(self, place: Vector, length: int) -> Entries:
        """Give the matrix of the part of a sliding beam in its hub, which starts at l - l0."""
        z = self.axes[2]
        rest: Polynomial = {(): STROKE, ((length, 1),): -1.0}
        powers = [rest]
        for _ in range(2):
            powers.append(self._product(powers[-1], rest))
        moments = [_scaled(p, DENSITY * (-1) ** k / (k + 1)) for k, p in enumerate(powers)]
        result: Entries = {}
        columns = {}
        for i, generator in enumerate(self.coordinates):
            at = [self._derivative(x, generator) for x in place]
            if generator == length:
                at = _sum([at, z])
            columns[i] = (at, [self._derivative(x, generator) for x in z])
        for i, k in combinations_with_replacement(range(len(self.coordinates)), 2):
            (a, b), (c, d) = columns[i], columns[k]
            pieces = [(moments[0], self._dot(a, c)), (moments[2], self._dot(b, d)),
                      (moments[1], total(self._dot(a, d), self._dot(b, c)))]  # fmt: skip
            entry: Polynomial = {}
            for moment, piece in pieces:
                entry = total(entry, self._product(moment, piece))
            result[i, k] = cleaned(entry, DUST)
        return result

    def _entries(
        self,
        parts: list[tuple[Array, Vector]],
        carried: tuple[int, list[tuple[Array, Vector]]] | None,
        weights: Array | list[float],
    ) -> Entries:
        """Integrate the products of the derivatives of points by the coordinates (S6.3)."""
        functions = [values for values, _ in parts] + (
            [v for v, _ in carried[1]] if carried else []
        )
        gram = np.einsum("cp,dp,p->cd", functions, functions, np.asarray(weights))
        columns: list[list[Vector]] = []
        for generator in self.coordinates:
            own = [[self._derivative(x, generator) for x in part] for _, part in parts]
            if carried:
                moves = generator == carried[0]
                own += [list(p) if moves else [{}, {}, {}] for _, p in carried[1]]
            columns.append(own)
        result: Entries = {}
        for i, k in combinations_with_replacement(range(len(columns)), 2):
            entry: Polynomial = {}
            for c, a in enumerate(columns[i]):
                for d, b in enumerate(columns[k]):
                    if abs(gram[c, d]) > DUST and any(a) and any(b):
                        entry = total(entry, _scaled(self._dot(a, b), float(gram[c, d])))
            result[i, k] = cleaned(entry, DUST)
        return result

    def _bend(self, shapes: list[Shape], span: Polynomial, axis: int) -> None:
        """Move place and axes to the tip: E is 1 + skew of the tip's angles (eqs 2, 8, 15)."""
        local = _sum([self._times({(): shape.end[0]}, shape.factor) for shape in shapes])
        angle: Vector = [{}, {}, {}]
        inverse = {tuple((g, -p) for g, p in powers): 1 / x for powers, x in span.items()}
        for shape in shapes[1:]:
            slope = shape.end[1]
            for a, factor in enumerate(shape.factor):
                if factor and abs(slope) > DUST:
                    # a beam along x turns about z by v' and about y by -w'; along z the same, moved
                    other = 3 - axis - a
                    sign = 1.0 if (axis, a, other) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
                    turn = self._product(_scaled(factor, sign * slope), inverse)
                    angle[other] = total(angle[other], turn)
        self.place = _sum([self.place, self._turned(local)])
        names = [self._named(a) for a in angle]
        x, y, z = self.axes
        tx, ty, tz = names
        self.axes = [
            _sum([x, self._times(tz, y), self._times(_minus(ty), z)]),
            _sum([y, self._times(_minus(tz), x), self._times(tx, z)]),
            _sum([z, self._times(ty, x), self._times(_minus(tx), y)]),
        ]

    def _named(self, angle: Polynomial) -> Polynomial:
        """Give a tip's angle a name, unless it is a coordinate or to be written out."""
        if not angle or not self.way.named or (len(angle) == 1 and 1.0 in angle.values()):
            return angle
        index = self.ring.add(Generator(f"theta{len(self.tips)}", "", "sum", angle))
        self.tips[index] = angle
        self.amplitudes.add(index)
        self.rates[index] = {g: d for g in self.coordinates if (d := self._derivative(angle, g))}
        return {((index, 1),): 1.0}

    def _coordinate(self, what: str) -> int:
        index = self.ring.add(Generator(f"{what}{len(self.coordinates)}", "", "coordinate", {}))
        self.coordinates.append(index)
        if what == "amplitude":
            self.amplitudes.add(index)
        return index

    def _sine_and_cosine(self, q: int) -> tuple[Polynomial, Polynomial]:
        s, c = self.ring.sine_and_cosine({((q, 1),): 1.0})
        sine: Polynomial = {((s, 1),): 1.0}
        cosine: Polynomial = {((c, 1),): 1.0}
        self.rates[s], self.rates[c] = {q: cosine}, {q: _minus(sine)}
        return sine, cosine

    def _derivative(self, p: Polynomial, by: int) -> Polynomial:
        result: Polynomial = {}
        for powers, x in p.items():
            for generator, power in powers:
                one: Polynomial = {(): 1.0}
                inner = one if generator == by else self.rates.get(generator, {}).get(by)
                if inner:
                    rest = dict(powers)
                    rest[generator] -= 1
                    left = tuple(sorted((g, n) for g, n in rest.items() if n))
                    result = total(result, self._product({left: x * power}, inner))
        return result

    def _turned(self, local: Vector) -> Vector:
        return _sum([self._times(x, axis) for x, axis in zip(local, self.axes, strict=True)])

    def _times(self, factor: Polynomial, vector: Vector) -> Vector:
        return [self._product(factor, x) for x in vector]

    def _product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        return self.ring.product(a, b) if a and b else {}

    def _dot(self, a: Vector, b: Vector) -> Polynomial:
        result: Polynomial = {}
        for x, y in zip(a, b, strict=True):
            result = total(result, self._product(x, y))
        return result


_robot = cache(Robot)


def _functions(kind: str, tip_mass: float) -> list[tuple[Function, bool]]:
    """Return two clamped-mass modes, or the four Hermite functions of two elements' free nodes.

    Each function returns value and slope by eta. The flag says whether the function is per unit
    slope, so that the length multiplies it.
    """
    if kind == "modes":
        ends = clamped_mass(tip_mass)
        return [(partial(_mode, beam_shape(ends, float(x))), False) for x in beam_roots(ends, 2)]
    return [(partial(_hermite, *each), each[1]) for each in product((1, 2), (False, True))]


def _mode(shape: BeamShape, eta: Array) -> tuple[Array, Array]:
    return np.asarray(shape.evaluate(eta)), np.asarray(shape.evaluate(eta, 1))


def _hermite(node: int, by_slope: bool, eta: Array) -> tuple[Array, Array]:
    """Evaluate the Hermite function of node 1 or 2 of two elements, and its slope by eta."""
    t = 2 * eta - node  # -1 to 0 before the node, 0 to 1 after it
    before, after = 1 + t, t
    if by_slope:
        value = np.where(t < 0, before**2 * (before - 1), after * (after - 1) ** 2) / 2
        slope = np.where(t < 0, before * (3 * before - 2), (after - 1) * (3 * after - 1))
    else:
        value = np.where(t < 0, before**2 * (3 - 2 * before), 1 - after**2 * (3 - 2 * after))
        slope = 2 * np.where(t < 0, 6 * before * (1 - before), -6 * after * (1 - after))
    inside = (t > -1 - 1e-12) & (t < 1 + 1e-12)
    return np.where(inside, value, 0.0), np.where(inside, slope, 0.0)


def _unit(axis: int) -> Vector:
    result: Vector = [{}, {}, {}]
    result[axis] = {(): 1.0}
    return result


def _sum(vectors: list[Vector]) -> Vector:
    result: Vector = [{}, {}, {}]
    for vector in vectors:
        result = [total(a, b) for a, b in zip(result, vector, strict=True)]
    return result


def _scaled(p: Polynomial, factor: float) -> Polynomial:
    return {powers: factor * x for powers, x in p.items()}


def _minus(p: Polynomial) -> Polynomial:
    return _scaled(p, -1.0)
