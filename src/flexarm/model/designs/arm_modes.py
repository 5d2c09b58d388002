"""Default shapes of many designs: what the modes of each arm bend its links by."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexarm.arm import Arm, Link
from flexarm.arm.shapes import ClampedMass, Counted, Normalise, ShapeChoice
from flexarm.io.designs import ArmDesigns
from flexarm.links.base import Direction, Shapes
from flexarm.links.basis import (
    MOTIONS,
    family,
    join,
    left_over,
    normalisation,
    unit_columns,
)
from flexarm.links.body_data import BodyData
from flexarm.links.curves import Combination, combine
from flexarm.links.span import Span
from flexarm.model.arm_modes import SmallMotions, bare_arm, many_curves
from flexarm.model.assemble import FlexibleOf, ShapesOf, assemble
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.designs.rails import rail_designs
from flexarm.model.designs.spans import (
    PLACES,
    Growth,
    NotTogether,
    Sizes,
    enough_points,
    no_shapes,
    tips,
)
from flexarm.model.elastic.part import Theory, shape_counts, undamped_part
from flexarm.model.parts import Flexible
from flexarm.varied import Array

LINEAR = Theory(stiffening=False, exact=False, nodes=None)


def arm_mode_designs(
    designs: ArmDesigns, own: list[int], sizes: Mapping[int, Sizes], others: FlexibleOf
) -> dict[int, DesignShapes]:
    """Find the shapes of some links, of all designs.

    Parameters
    ----------
    designs
        The designs.
    own, sizes
        Which links, and their spans over those of the first design.
    others
        Builds the elastic parts of all other links.
    """
    first, count = designs.first, designs.count
    links = {i: LinkCurves.of(first, i, sizes[i]) for i in own}

    def part(arm: Arm, index: int, theory: Theory, shapes_of: ShapesOf) -> BodyData:
        if index not in own:
            return others(arm, index, theory, shapes_of)
        return links[index].part(arm.links[index])

    model = assemble(bare_arm(designs.arm, own), LINEAR, "cayley", no_shapes, part, rail_designs)
    start, found = SmallMotions.of(model, (count,)), {}
    for index in own:
        motions = start.ridden(index) if model.carries(index) else start
        curves, number = links[index], shape_counts(designs.arm, index)
        columns = motions.columns(index, curves.shapes.first, number)
        choice = first.links[index].shapes
        found[index] = curves.modes(columns, choice)
    return found


@dataclass(frozen=True)
class LinkCurves:
    """Curves of which the shapes of a link are combined, of all designs."""

    span: Span  # of the first design
    growth: Growth
    shapes: DesignShapes

    @classmethod
    def of(cls, arm: Arm, index: int, sizes: Sizes) -> "LinkCurves":
        """Take those of the first design, stretched."""
        section = arm.links[index].section
        assert section is not None
        span = Span.of(section, arm.links[index].span)
        curves = cls.on(span, many_curves(arm, index, span), sizes)
        if not all(span.table[motion.inertia][0] > 0 for motion in curves.growth.motions):
            raise NotTogether
        return curves

    @classmethod
    def on(cls, span: Span, many: Shapes, sizes: Sizes) -> "LinkCurves":
        """Stretch curves of the first design, so that they have the same strains in all."""
        orders = [MOTIONS[next(iter(shape.curves))].order for shape in many.shapes]
        growth = Growth.of(sizes, many, sizes.length[:, None] ** orders)
        return cls(span, growth, growth.shapes(many))

    def part(self, link: Link) -> Flexible:
        """Build the elastic part of a link on these curves."""
        here = undamped_part(link, LINEAR, self.span, self.shapes.first, 0)
        return self.growth.part(here, self.span, self.shapes)

    def modes(self, columns: Mapping[Direction, Array], choice: ShapeChoice) -> DesignShapes:
        """Combine curves, per direction one shape per column (N, curves, m), into modes.

        They are modes of the span alone, slowest first.
        """
        mixed = {d: self._diagonal(d, weights) for d, weights in columns.items()}
        return self.scaled(mixed, choice)

    def _diagonal(self, direction: Direction, weights: Array) -> Array:
        """Turn shapes of a direction into modes of the span alone, of unit stiffness."""
        rows, stiffness = self._of(direction)
        unit = unit_columns(weights, stiffness)
        _, turn = np.linalg.eigh(self._mass(direction, rows, unit))
        return np.asarray(unit @ turn[..., ::-1])

    def _with_static(self, direction: Direction, modes: Array) -> Array:
        """Add what forces at the tip do, constant and linear strains, less the modes' part."""
        _, stiffness = self._of(direction)
        unit = modes / np.sqrt(np.sum(modes * (stiffness @ modes), axis=1))[:, None]
        static = np.eye(modes.shape[1])[:, : MOTIONS[direction].order]
        left = left_over(unit, static, stiffness)
        rest = self._scaled(direction, self._diagonal(direction, left), "tip")
        return np.concatenate([modes, rest], axis=-1)

    def scaled(self, columns: Mapping[Direction, Array], choice: ShapeChoice) -> DesignShapes:
        """Combine curves, per direction one shape per column (N, curves, m), into shapes.

        Their strains share no energy.
        """
        many, stiffness, how = self.shapes.first, self.shapes.stiffness, normalisation(choice)
        columns = {d: self._scaled(d, weights, how) for d, weights in columns.items()}
        if isinstance(choice, Counted) and choice.static:
            columns = {d: self._with_static(d, modes) for d, modes in columns.items()}
        count = sum(each.shape[-1] for each in columns.values())
        whole = np.zeros((*stiffness.shape[:2], count))
        stiff, parts, at = np.zeros((len(stiffness), count, count)), list[Shapes](), 0
        for direction, mixed in columns.items():
            rows, own_stiffness = self._of(direction)
            energy = np.sum(mixed * (own_stiffness @ mixed), axis=1)
            own = np.arange(at, at + mixed.shape[-1])
            stiff[:, own, own] = energy
            whole[:, np.array(rows)[:, None], own] = mixed
            at += len(own)
            curves = [many.shapes[i].curves[direction] for i in rows]
            made = [combine(curves, column) for column in mixed[0].T]
            if isinstance(choice, ClampedMass):
                made = [Combination((each,), (1.0,)) for each in made]  # no series, as alone
            parts.append(family(direction, made, energy[0], self.span.edges))
        whole = self.shapes.columns @ whole
        return DesignShapes(join(parts, self.span), many, self.shapes.ratios, whole, stiff)

    def _of(self, direction: Direction) -> tuple[list[int], Array]:
        """Give the curves of a direction by their numbers, and their stiffness, (N, k, k)."""
        many = self.shapes.first.shapes
        rows = [i for i, shape in enumerate(many) if direction in shape.curves]
        return rows, self.shapes.stiffness.take(rows, -2).take(rows, -1)

    def _scaled(self, direction: Direction, mixed: Array, how: Normalise) -> Array:
        """Scale shapes of a direction, (N, curves, m)."""
        rows, _ = self._of(direction)
        places = np.linspace(0.0, self.span.length, PLACES)
        tip = tips(self._values(direction, rows, mixed, places))
        if how == "none":
            raise NotTogether
        if how == "tip":
            return np.asarray(mixed / tip[:, None])
        mass = np.diagonal(self._mass(direction, rows, mixed), axis1=-2, axis2=-1)
        return np.asarray(mixed * (np.sign(tip) / np.sqrt(mass))[:, None])

    def _values(
        self, direction: Direction, rows: list[int], columns: Array, x: Array, nu: int = 0
    ) -> Array:
        """Evaluate combinations of curves at places of the first design, (N, len(x), m)."""
        rise = self.growth.sizes.length ** (MOTIONS[direction].order - nu)
        curves = self.shapes.first.values(direction, x, nu)[:, rows]
        return np.asarray((curves @ columns) * rise[:, None, None])

    def _mass(self, direction: Direction, rows: list[int], columns: Array) -> Array:
        """Integrate the mass matrix of the span alone, (N, m, m)."""
        motion, total = MOTIONS[direction], np.zeros(())
        x, weight = self.span.quadrature(enough_points(self.shapes.first))
        for nu, name in enumerate((motion.inertia, motion.rotary)):
            if name is not None and self.span.has(name):
                density = (
                    self.span.table[name][0] * self.growth.sizes.of(name) * self.growth.sizes.length
                )
                values = self._values(direction, rows, columns, x, nu)
                values = values * np.sqrt(density[:, None, None] * weight[:, None])
                total = total + values.swapaxes(-1, -2) @ values
        return total
