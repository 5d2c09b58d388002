"""The elastic part of a uniform link on shapes that differ by design.

Shapes are given over the span of the first design; what they weigh there follows powers of a
design's length and section.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from flexarm.engine.varied import Array, by_design, plain, stacked, varied, varies
from flexarm.links.base import Shapes
from flexarm.links.collocation import STIFFNESSES, Collocation, Polar, collocate
from flexarm.links.integrals import Integrals, Points, cleaned, integrate_with, sums
from flexarm.links.node_spaces import fine_points
from flexarm.links.rotary import constant_rotary
from flexarm.links.span import Span
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.parts import Flexible
from flexarm.spatial import settled

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

    def of(self, name: str) -> Array:
        """Give the ratios of a property, 1 if it is the same in all."""
        return self.properties.get(name, np.ones_like(self.length))


def design_part(
    span: Span, first: Span, sizes: Sizes, shapes: DesignShapes, more: int | None
) -> Flexible:
    """Build the elastic part of a link without damping.

    Parameters
    ----------
    span, first, sizes
        The span of all designs, of the first, and how they differ.
    shapes
        The shapes by design.
    more
        How many nodes there are beyond the number of shapes; None by linear theory.
    """
    points, integrals = _integrated(first, sizes, shapes)
    like = cast(Shapes, shapes)
    nodes = None if more is None else _sized(collocate(first, like, more), first, sizes)
    end, across = np.array([first.length]), (1 / sizes.length)[:, None]
    angle, root = (shapes.rotation(x)[:, 0] for x in (end, np.zeros(1)))
    angle, root = (_bent(each, across) for each in (angle, root))
    size = np.abs(angle).max(axis=(1, 2), initial=0.0, keepdims=True)
    m = len(shapes.shapes)
    part = Flexible(
        span=span,
        shapes=like,
        integrals=_stacked(integrals),
        points=_stacked(points),
        tip_shape=stacked(settled(shapes.displacement(end)[:, 0], designs=1)),
        tip_angle=stacked(settled(angle, designs=1)),
        tip_quadratic=np.zeros((3, m, m)),
        tip_angle_quadratic=np.zeros((3, m, m)),
        root_angle=stacked(np.where(np.abs(root) < 1e-12 * size, 0.0, root)),
        damping=np.zeros((m, m)),
        nodes=None if nodes is None else _stacked_nodes(nodes),
    )
    rotary = constant_rotary(integrals, points, None if nodes is None else nodes.polar)
    part.__dict__["rotary"] = _stacked(rotary)
    return part


def curve_part(span: Span, sizes: Sizes, shapes: DesignShapes) -> Flexible:
    """Build what small motions need of a link, whose span is given of the first design.

    Shapes are curves of one direction each, of the same form in all designs.
    """
    many = shapes.first
    found, _ = integrate_with(span, many, fine_points(many) // 3 + ENOUGH)
    directions = [next(iter(shape.curves)) for shape in many.shapes]
    turned = {"y": "Jz", "z": "Jy", "twist": "Jx", "x": "Jx"}
    length, mass = sizes.length, sizes.of("mass_per_length") * sizes.length
    grown = np.diagonal(shapes.columns, axis1=1, axis2=2)  # (N, m)
    bends = np.array([direction in ("y", "z") for direction in directions])
    angled = grown / np.where(bends, length[:, None], 1.0)
    rotary = np.array([sizes.of(turned[d]) for d in directions]).T * length[:, None]
    moved = mass[:, None, None] * grown[:, :, None] * grown[:, None]
    turning = rotary[:, :, None] * angled[:, :, None] * angled[:, None]
    about = np.stack([sizes.of(n) for n in ("Jx", "Jy", "Jz")], axis=1) * length[:, None]
    end, m = np.array([span.length]), len(directions)
    translated = found.modal_mass - found.rotary_modal
    still: Any = np.zeros((3, m))
    integrals = cleaned(
        Integrals(
            mass=plain(found.mass * mass),
            first=found.first * (mass * length)[:, None],
            second=found.second * (mass * length**2)[:, None, None],
            shape=found.shape * (mass[:, None] * grown)[:, None],
            position_shape=found.position_shape
            * ((mass * length)[:, None] * grown)[..., None, None],
            shape_shape=np.zeros((len(length), 1, 1, 1, 1)),
            rotary=found.rotary * about[:, None],
            rotary_shape=found.rotary_shape * (rotary * angled)[:, None],
            rotary_modal=found.rotary_modal * turning,
            quadratic=np.zeros((len(length), 1)),
            position_quadratic=np.zeros((len(length), 1)),
            modal_mass=translated * moved + found.rotary_modal * turning,
            stiffness=shapes.stiffness,
        )
    )
    return Flexible(
        span, cast(Shapes, shapes), _stacked(integrals), still,
        stacked(many.displacement(end)[0] * grown[:, None]),
        stacked(many.rotation(end)[0] * angled[:, None]), still, still, still, still, None,
    )  # fmt: skip


def _bent(angle: Array, across: Array) -> Array:
    """Take angles (N, 3, m) over the first span to those over a design's: slopes change."""
    return np.concatenate([angle[:, :1], angle[:, 1:] * across[..., None]], axis=1)


def _integrated(first: Span, sizes: Sizes, shapes: DesignShapes) -> tuple[Points, Integrals]:
    """Integrate shapes, exactly for polynomials, (N, ...) each."""
    like = cast(Shapes, shapes)
    order = fine_points(like) // 3 + ENOUGH
    _, points = integrate_with(first, like, order)
    _, weight = first.quadrature(order, shapes.edges)
    length, across = sizes.length[:, None], (1 / sizes.length)[:, None]
    own: list[Array] = [
        first.table[n][0] * sizes.of(n) if first.has(n) else 0 * sizes.length
        for n in ("Jx", "Jy", "Jz", "EIz", "EIy", "mass_per_length")
    ]
    spread = [each[:, None] * weight * length for each in own]
    angle = shapes.rotation(points.x)
    angle[:, :, 1:] *= across[..., None, None]
    quadratic = np.broadcast_to(points.quadratic, (len(length), *points.quadratic.shape))
    points = Points(
        points.x * length,
        spread[5],
        points.shape,
        quadratic,
        np.stack(spread[3:5], axis=1),
        points.slope * across[..., None, None],
        points.curvature * across[..., None, None] ** 2,
    )
    integrals = sums(points, np.stack(spread[:3], axis=-1), angle, like)
    return points, cleaned(integrals)


def _sized(found: Collocation, first: Span, sizes: Sizes) -> Collocation:
    """Take nodes over the first design's span to those of each design."""
    length, mass = sizes.length, sizes.of("mass_per_length")
    one, across = np.ones_like(length), 1 / length
    # Axes of an array, and what it is times, by design.
    factors = {
        "x": (1, length), "bend": (3, across), "curve": (3, across**2), "stretch": (2, across),
        "twist": (2, one), "torsion": (2, across), "gram": (4, mass * length**3),
        "mean": (2, mass * length**2), "factor": (3, np.sqrt(mass * length**3)),
        "tip": (2, length), "tip_bend": (2, across), "tip_twist": (1, one), "edges": (1, length),
        "series": (4, length),
    }  # fmt: skip
    update: dict[str, Any] = {
        name: _times(getattr(found, name), *each) for name, each in factors.items()
    }
    given = [next(filter(first.has, names), names[0]) for names in STIFFNESSES]
    rows = np.stack([length * sizes.of(name) for name in given], axis=1)
    update["stiffness"] = found.stiffness * rows[..., None]
    polar = found.polar
    if polar is not None:
        update["polar"] = Polar(
            _times(polar.inertia, 1, length * sizes.of("Jx")),
            _times(polar.bend, 3, across),
            _times(polar.twist, 2, one),
        )
    return replace(found, **update)


def _times(value: Array, axes: int, factor: Array) -> Array:
    """Scale an array of so many axes by design, (N, ...)."""
    value = value if value.ndim > axes else value[None]
    return np.asarray(value * factor.reshape(-1, *[1] * axes))


def _stacked_nodes(found: Collocation) -> Collocation:
    """Put nodes of all designs, (N, ...), into one."""
    shared = ("lean", "straight", "common", "more", "polar")
    update: dict[str, Any] = {
        f.name: stacked(getattr(found, f.name)) for f in fields(found) if f.name not in shared
    }
    polar = None if found.polar is None else _stacked(found.polar)
    made = replace(found, **update, polar=polar)
    bends = tuple(bool(np.any(found.bend[:, k])) for k in range(2))
    made.__dict__.update(
        cross=stacked(found.cross), lever=stacked(found.lever), bends=bends, leaning=False,
        stretches=bool(np.any(found.stretch)), twists=bool(np.any(found.twist)),
    )  # fmt: skip
    return made


def _stacked(found: Any) -> Any:
    """Put numbers and arrays of all designs, (N, ...), into one each."""
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    return type(found)(
        **{n: varied(each) if each.ndim == 1 else stacked(each) for n, each in values.items()}
    )
