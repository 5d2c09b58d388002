"""The elastic part of a uniform link in many designs, from one over the span of the first.

What shapes do and weigh over that span follows powers of a design's length and section.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from flexarm.links.base import Shapes
from flexarm.links.basis import MOTIONS, SMALL_TIP, BeamDirection
from flexarm.links.collocation import STIFFNESSES, Collocation, Polar
from flexarm.links.curves import Piecewise
from flexarm.links.integrals import DUST, Integrals, Points
from flexarm.links.rotary import Rotary
from flexarm.links.span import Span
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.parts import Flexible
from flexarm.varied import Array, agreed, by_design, stacked, varied, varied_columns, varies

PLACES = 101  # of a span, at which the largest values of shapes are sought
ENOUGH = 2  # points beyond the degree of curves, for quadrature of their products


class NotTogether(Exception):
    """Designs whose parts cannot be put into one."""


def no_shapes(index: int, span: Span) -> Shapes:
    """Refuse shapes that are not those of a link by itself."""
    raise NotTogether


@dataclass(frozen=True)
class Sizes:
    """Lengths and properties of uniform spans over those of the first, (N,) each."""

    length: Array
    properties: Mapping[str, Array]

    @classmethod
    def between(cls, span: Span, first: Span, count: int) -> "Sizes":
        """Compare the spans of so many designs with the first."""
        if len(span.stations) != 2 or not span.uniform:
            raise NotTogether
        properties = {}
        for name, values in span.table.items():
            if varies(values):
                if not first.table[name][0]:
                    raise NotTogether
                properties[name] = by_design(values, count)[:, 0] / first.table[name][0]
        return cls(by_design(span.length, count) / first.length, properties)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what differs by design, the length among them."""
        same = bool(np.all(self.length == self.length[0]))
        return (*(() if same else ("length",)), *self.properties)

    def of(self, name: str) -> Array:
        """Give the ratios of a property, or of the length; 1 if it is the same in all."""
        if name == "length":
            return self.length
        return self.properties.get(name, np.ones_like(self.length))


def enough_points(shapes: Shapes) -> int:
    """Count points that integrate products of two polynomials exactly."""
    curves = [curve for shape in shapes.shapes for curve in shape.curves.values()]
    if not all(isinstance(curve, Piecewise) for curve in curves):
        raise NotTogether
    return max(curve.degree for curve in curves if isinstance(curve, Piecewise)) + ENOUGH


def tips(values: Array) -> Array:
    """Give what shapes of designs, (N, places, m), have at the tip, to be scaled by, (N, m)."""
    tip, peak = values[:, -1], np.abs(values).max(axis=1)
    if not agreed(np.all(np.abs(tip) >= 2 * SMALL_TIP * peak, axis=1)):
        raise NotTogether  # scaled by what is not at the tip
    return tip


@dataclass(frozen=True)
class Growth:
    """How what stands over the span of the first design changes with the spans of others."""

    sizes: Sizes
    motions: tuple[BeamDirection, ...]  # of the shapes, m of them
    shape: Array  # what shapes are times, (N, m)

    @classmethod
    def of(cls, sizes: Sizes, shapes: Shapes, shape: Array | None = None) -> "Growth":
        """Say what shapes are times; 1 if they are those of all designs already."""
        if any(len(each.curves) > 1 for each in shapes.shapes):
            raise NotTogether
        motions = tuple(MOTIONS[next(iter(each.curves))] for each in shapes.shapes)
        return cls(
            sizes, motions, np.ones((len(sizes.length), len(motions))) if shape is None else shape
        )

    @property
    def angle(self) -> Array:
        """Give what sections' angles are times, (N, m)."""
        bends = np.array([motion.order == 2 for motion in self.motions])
        return np.where(bends, self.shape / self.sizes.length[:, None], self.shape)

    def shapes(self, shapes: Shapes) -> DesignShapes:
        """Take shapes of the first design to those of all."""
        length = self.sizes.length
        strain = self.shape / length[:, None] ** [motion.order for motion in self.motions]
        stiff = np.stack([self.sizes.of(motion.stiffness) for motion in self.motions], axis=1)
        energy = (stiff * length[:, None] * strain)[:, :, None] * strain[:, None]
        columns = self.shape[:, :, None] * np.eye(len(self.motions))
        return DesignShapes(shapes, shapes, 1 / length, columns, shapes.stiffness * energy)

    def part(self, part: Flexible, span: Span, shapes: DesignShapes) -> Flexible:
        """Take an elastic part to those of all designs, over their span and on their shapes."""
        if part.shapes.mass is not None:
            raise NotTogether
        g, a = self.shape, self.angle
        made = replace(
            part,
            span=span,
            shapes=cast(Shapes, shapes),
            integrals=self._integrals(part.integrals, shapes.stiffness),
            points=self._points(part.points),
            tip_shape=_times(part.tip_shape, 2, g),
            tip_angle=_times(part.tip_angle, 2, a),
            root_angle=_times(part.root_angle, 2, a),
            nodes=None if part.nodes is None else self._nodes(part.nodes, part.span),
        )
        turned, about = self._turned
        rotary, both = part.rotary, a[:, :, None] * a[:, None]
        made.__dict__["rotary"] = Rotary(
            _times(rotary.inertia, 2, about[:, None]),
            _times(rotary.shape, 2, turned * a),
            _times(rotary.modal, 2, turned[:, None] * both),
        )
        return made

    @property
    def _turned(self) -> tuple[Array, Array]:
        """Give what the rotary inertia of shapes, (N, m), and about x, y, z, (N, 3), is times."""
        own = [motion.rotary or "Jx" for motion in self.motions]  # a stretch turns nothing
        names = (own, ("Jx", "Jy", "Jz"))
        of, about = (np.stack([self.sizes.of(n) for n in each], axis=1) for each in names)
        return of * self.sizes.length[:, None], about * self.sizes.length[:, None]

    def _integrals(self, found: Integrals, stiffness: Array) -> Integrals:
        length, g, a = self.sizes.length, self.shape, self.angle
        mass, (turned, about) = self.sizes.of("mass_per_length") * length, self._turned
        pairs, turning = g[:, :, None] * g[:, None], turned[:, None] * a[:, :, None] * a[:, None]
        weighed = mass[:, None, None] * pairs
        rotary_modal = found.rotary_modal * turning
        modal_mass = (found.modal_mass - found.rotary_modal) * weighed + rotary_modal
        size = np.sqrt(np.diagonal(modal_mass, axis1=1, axis2=2))
        dust = DUST * size.shape[1] ** 2 * size[:, :, None] * size[:, None]
        return replace(
            found,
            mass=cast(float, varied(found.mass * mass)),
            first=_times(found.first, 1, mass * length),
            second=_times(found.second, 2, mass * length**2),
            shape=_times(found.shape, 2, mass[:, None] * g),
            position_shape=_times(
                found.position_shape, 3, ((mass * length)[:, None] * g)[..., None, None]
            ),
            shape_shape=_times(found.shape_shape, 4, weighed[..., None, None]),
            rotary=_times(found.rotary, 2, about[:, None]),
            rotary_shape=_times(found.rotary_shape, 2, turned * a),
            rotary_modal=stacked(rotary_modal),
            modal_mass=stacked(np.where(np.abs(modal_mass) <= dust, 0.0, modal_mass)),
            stiffness=stacked(stiffness),
        )

    def _points(self, points: Points) -> Points:
        length, g = self.sizes.length, self.shape
        bent = np.stack([self.sizes.of(n) for n in ("EIz", "EIy")], axis=1) * length[:, None]
        slope = g / length[:, None]
        return replace(
            points,
            x=_times(points.x, 1, length),
            mass=_times(points.mass, 1, self.sizes.of("mass_per_length") * length),
            shape=_times(points.shape, 3, g),
            bending=_times(points.bending, 2, bent[:, :, None]),
            slope=_times(points.slope, 3, slope),
            curvature=_times(points.curvature, 3, slope / length[:, None]),
        )

    def _nodes(self, found: Collocation, first: Span) -> Collocation:
        if not np.all(found.straight):
            raise NotTogether  # displacements jump there
        sizes, g, length = self.sizes, self.shape, self.sizes.length
        mass, slope = sizes.of("mass_per_length"), g / length[:, None]
        # Axes of an array, and what it is times, by design.
        factors = {
            "x": (1, length), "bend": (3, slope), "lean": (3, slope),
            "curve": (3, slope / length[:, None]),
            "stretch": (2, slope), "twist": (2, g), "torsion": (2, slope),
            "gram": (4, mass * length**3), "mean": (2, mass * length**2),
            "factor": (3, np.sqrt(mass * length**3)), "tip": (2, length), "tip_bend": (2, slope),
            "tip_twist": (1, g), "edges": (1, length), "series": (4, length),
        }  # fmt: skip
        update: dict[str, Any] = {
            name: _times(getattr(found, name), *each) for name, each in factors.items()
        }
        given = [next(filter(first.has, names), names[0]) for names in STIFFNESSES]
        rows = np.stack([length * sizes.of(name) for name in given], axis=1)
        update["stiffness"] = _times(found.stiffness, 2, rows[..., None])
        if (polar := found.polar) is not None:
            update["polar"] = Polar(
                _times(polar.inertia, 1, length * sizes.of("Jx")),
                _times(polar.bend, 3, slope),
                _times(polar.twist, 2, g),
            )
        made = replace(found, **update)
        bends = tuple(bool(np.any(found.bend[..., k, :, :])) for k in range(2))
        facts = {
            "bends": bends, "leaning": found.leaning, "stretches": found.stretches,
            "twists": found.twists, "spaces": found.spaces,
            "lever": _times(found.lever, 1, np.sqrt(mass * length)), "even": found.even,
        }  # fmt: skip
        if found.cross is not None:
            facts["cross"] = _times(found.cross, 4, np.ones_like(length))
        made.__dict__.update(facts, few=found.few, basis=None, combined=made)
        if found.basis is not None:
            # sums of amplitudes move nodes alike, however large these are
            alike, other, same = found.combined, made.polar, np.ones_like(length)
            if alike.polar is not None and other is not None:
                turned = _times(alike.polar.bend, 3, same), _times(alike.polar.twist, 2, same)
                other = Polar(other.inertia, *turned)
            names = {"bend": 3, "stretch": 2, "tip_bend": 2, "tip_twist": 1}
            moved = {name: _times(getattr(alike, name), n, same) for name, n in names.items()}
            combined = replace(made, polar=other, **cast(dict[str, Any], moved))
            combined.__dict__.update(facts, few=alike.few, basis=None)
            twists = np.any(found.twist, axis=tuple(range(found.twist.ndim - 1)))
            basis = _times(found.basis, 2, 1 / np.where(twists, g, slope)[..., None])
            made.__dict__.update(basis=basis, combined=combined)
        return made


def _times(value: Array, axes: int, factor: Array) -> NDArray[Any]:
    """Scale an array of so many axes, or one by design, (N, ...), by factors of its last axes."""
    factor = factor.reshape(len(factor), *[1] * (axes + 1 - factor.ndim), *factor.shape[1:])
    if value.ndim > axes:
        return stacked(value * factor)
    if np.all(factor == 1.0):
        return value
    found, places = value.astype(object), np.nonzero(value)
    wide = np.moveaxis(np.broadcast_to(factor, (len(factor), *value.shape)), 0, -1)
    found[places] = varied_columns(wide[places].T * value[places])
    return found
