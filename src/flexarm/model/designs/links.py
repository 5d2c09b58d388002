"""The elastic part of a link in many designs at once.

Shapes that keep their form grow by powers of a uniform span's length and its section's properties.
The powers are found by building the shapes with one property after the other changed, and hold if
curves and stiffness follow them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from flexarm.arm import Arm
from flexarm.io.designs import ArmDesigns
from flexarm.links.base import Shapes
from flexarm.links.basis import normalisation
from flexarm.links.span import Span
from flexarm.model.arm_modes import on_arm_modes
from flexarm.model.assemble import ShapesOf
from flexarm.model.designs.arm_modes import arm_mode_designs
from flexarm.model.designs.draw import DesignShapes, Drawer
from flexarm.model.designs.loaded import loaded_designs
from flexarm.model.designs.shear import sheared_designs
from flexarm.model.designs.spans import Growth, NotTogether, Sizes, enough_points
from flexarm.model.elastic.damping import link_damping
from flexarm.model.elastic.part import (
    Theory,
    check_amplitudes,
    link_span,
    part_on,
    shape_counts,
    shape_ends,
    shapes_between,
    undamped_part,
)
from flexarm.model.elastic.remembered import remembered
from flexarm.model.nodes import chosen_nodes
from flexarm.model.parts import Flexible
from flexarm.varied import Array, stacked

EXACT = 1e-11  # of the largest value, within which all must follow a power
UNIT = 1e-12
ELSEWHERE = 1.83  # what properties are changed by, to find powers of them
PLACES = np.linspace(0.02, 1.0, 50)  # of a span, at which curves are compared


@dataclass(frozen=True)
class LinkDesigns:
    """Builds the elastic parts of the links of many designs."""

    designs: ArmDesigns

    def part(self, arm: Arm, index: int, theory: Theory, shapes_of: ShapesOf) -> Flexible:
        """Build the elastic part of a link, of all designs."""
        link, span = arm.links[index], link_span(arm.links[index])
        if index not in self._own and not self._differ(index, span):
            part = part_on(arm, index, theory, span, self.shapes(index, span))
        else:
            series = link.quadratic_shapes or theory.stiffening > theory.bends(link)
            if series:
                raise NotTogether
            part = self._varying(arm, index, theory, span)
        part.__dict__["damping"] = self._damping(arm, index, part)  # of no other one
        return part

    def shapes(self, index: int, span: Span) -> Shapes:
        """Build the shapes of a link over a span, which all designs share."""
        arm = self.designs.arm
        if index in self._own or self._differ(index, span):
            raise NotTogether
        ends, number = shape_ends(arm, index), shape_counts(arm, index)
        return shapes_between(self.designs.first, index, span, ends, number)

    def _differ(self, index: int, span: Span) -> bool:
        """Tell whether designs differ in what the shapes of a link over a span come of."""
        return Drawer((shape_ends(self.designs.arm, index), span), self.designs.count).differ

    @cached_property
    def _own(self) -> list[int]:
        return on_arm_modes(self.designs.first)

    @cached_property
    def _shapes(self) -> dict[int, DesignShapes]:
        """Shapes of links that come of the arm's modes."""
        return arm_mode_designs(self.designs, self._own, self._sizes, self.part)

    @cached_property
    def _sizes(self) -> dict[int, Sizes]:
        found, count = {}, self.designs.count
        for index in self._own:
            span = link_span(self.designs.arm.links[index])
            found[index] = Sizes.between(span, Drawer(span, count)(0), count)
        return found

    def _on(
        self, arm: Arm, index: int, theory: Theory, span: Span, sizes: Sizes, shapes: DesignShapes
    ) -> Flexible:
        """Build a part on shapes that differ by design."""
        link, first = arm.links[index], Drawer(span, self.designs.count)(0)
        if _shears(span):
            shapes = sheared_designs(shapes, first, sizes, normalisation(link.shapes))
        check_amplitudes(arm, index, shapes.names)
        more = chosen_nodes(arm, index, span, shapes.first) if theory.bends(link) else 0
        points = enough_points(shapes.curves)
        here = undamped_part(link, theory, first, cast(Shapes, shapes), more, points)
        tip_shape, tip_angle = (_whole(each) for each in (here.tip_shape, here.tip_angle))
        here = replace(here, tip_shape=tip_shape, tip_angle=tip_angle)
        return Growth.of(sizes, shapes.first).part(here, span, shapes)

    def _varying(self, arm: Arm, index: int, theory: Theory, span: Span) -> Flexible:
        """Build a part on shapes that keep their form, or that change with the arm or its loads."""
        if index in self._own:
            return self._on(arm, index, theory, span, self._sizes[index], self._shapes[index])
        link, count = arm.links[index], self.designs.count
        ends, number = shape_ends(arm, index), shape_counts(arm, index)
        first = Drawer(span, count)(0)
        sizes = Sizes.between(span, first, count)
        if ends is not None:
            found = loaded_designs(link.shapes, first, sizes, ends, number)
            return self._on(arm, index, theory, span, sizes, found)

        def made(span: Span) -> Shapes:
            return shapes_between(self.designs.first, index, span, None, number)

        shapes = made(first)
        if shapes.damping is not None or _shears(span):
            raise NotTogether
        check_amplitudes(arm, index, shapes.names)
        more = chosen_nodes(arm, index, span, shapes) if theory.bends(link) else 0
        here = undamped_part(link, theory, first, shapes, more)
        key = ("growth", link.shapes.model_dump_json(), number, first.contents, sizes.names)
        powers = remembered(key, lambda: _powers(first, sizes.names, made))
        if powers is None:
            raise NotTogether
        ratios = np.stack([sizes.of(name) for name in sizes.names], axis=1)
        growth = Growth.of(sizes, shapes, np.prod(ratios[:, None] ** powers, axis=2))
        return growth.part(here, span, growth.shapes(shapes))

    def _damping(self, arm: Arm, index: int, part: Flexible) -> Array:
        """Damp a link, each design by itself where they differ in what damps it."""
        link, count = arm.links[index], self.designs.count
        if part.shapes.damping is not None:
            return link_damping(arm, index, part)
        own = [path for path in self.designs.paths if path[:2] == ("links", index)]
        if link.damped and any("damping" in str(step) for path in own for step in path):
            draw = Drawer(part, count)
            rows = [link_damping(self.designs.at(k), index, draw(k)) for k in range(count)]
            return stacked(np.array(rows))
        return stacked(link_damping(arm, index, part, (count,)))


def _shears(span: Span) -> bool:
    return span.has("GAy") or span.has("GAz")


def _powers(span: Span, names: Sequence[str], made: Callable[[Span], Shapes]) -> Array | None:
    """Find powers of properties that shapes grow by, (m, names); None if their form changes.

    One property after the other is changed, so that the powers hold at other values of the rest.
    """
    shapes, found = made(span), list[Array]()
    for name in names:
        before, sizes = span, Sizes(np.array([ELSEWHERE if name == "length" else 1.0]), {})
        if name == "length":
            span = Span(ELSEWHERE * span.length, ELSEWHERE * span.stations, span.table)
        else:
            span = replace(span, table={**span.table, name: ELSEWHERE * span.table[name]})
            sizes = replace(sizes, properties={name: np.array([ELSEWHERE])})
        others = made(span)
        here, there = _curves(shapes, before), _curves(others, span)
        grown = np.linalg.norm(there, axis=1) / np.linalg.norm(here, axis=1)
        power = np.round(2 * np.log(grown) / np.log(ELSEWHERE)) / 2
        stretched = Growth.of(sizes, shapes, ELSEWHERE ** power[None]).shapes(shapes)
        followed = (here * ELSEWHERE ** power[:, None], stretched.stiffness[0])
        for one, other in zip((there, others.stiffness), followed, strict=True):
            if np.any(np.abs(one - other) > EXACT * np.abs(one).max(axis=1)[:, None]):
                return None
        shapes = others
        found.append(power)
    return np.stack(found, axis=1)


def _whole(tip: Array) -> Array:
    """Take for 1 what rounding keeps from it: tips that shapes are scaled to."""
    return np.where(np.abs(np.abs(tip) - 1.0) <= UNIT, np.sign(tip), tip)


def _curves(shapes: Shapes, span: Span) -> Array:
    """Evaluate the shapes of a link at some places of a span, a row each."""
    x = PLACES * span.length
    return np.array([next(iter(shape.curves.values()))(x) for shape in shapes.shapes])
