"""Default shapes of many designs: what the modes of each arm bend its links by."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Normalise, ShapeChoice
from flexarm.engine.varied import Array, agreed, by_design
from flexarm.io.designs import ArmDesigns
from flexarm.links.base import Direction, Shapes
from flexarm.links.basis import MOTIONS, SMALL_TIP, family, join, normalisation
from flexarm.links.curves import combine
from flexarm.links.node_spaces import fine_points
from flexarm.links.span import Span
from flexarm.model.arm_modes import SmallMotions, bare_arm, many_curves
from flexarm.model.assemble import FlexibleOf, ShapesOf, assemble
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.designs.spans import ENOUGH, NotTogether, Sizes, curve_part, no_shapes
from flexarm.model.flexible import Theory, shape_counts
from flexarm.model.parts import Flexible
from flexarm.model.state import start_state


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

    def part(arm: Arm, index: int, theory: Theory, shapes_of: ShapesOf) -> Flexible:
        if index not in own:
            return others(arm, index, theory, shapes_of)
        return curve_part(links[index].span, sizes[index], links[index].shapes)

    linear = Theory(stiffening=False, exact=False, nodes=None)
    model = assemble(bare_arm(designs.arm, own), linear, "cayley", no_shapes, part)
    q, _ = start_state(model, object)
    motions = SmallMotions.at(model, by_design(q, count))
    found = {}
    for index in own:
        curves, number = links[index], shape_counts(designs.arm, index)
        columns = motions.columns(index, curves.shapes.first, number)
        modes, choice = model.links[index].modes, first.links[index].shapes
        found[index] = curves.modes(columns, motions.stiffness[:, modes, modes], choice)
    return found


@dataclass(frozen=True)
class LinkCurves:
    """Curves of which the shapes of a link are combined, of all designs."""

    span: Span  # of the first design
    sizes: Sizes
    shapes: DesignShapes

    @classmethod
    def of(cls, arm: Arm, index: int, sizes: Sizes) -> "LinkCurves":
        """Take those of the first design, stretched."""
        section = arm.links[index].section
        assert section is not None
        span = Span.of(section, arm.links[index].span)
        many = many_curves(arm, index, span)
        motions = [MOTIONS[next(iter(shape.curves))] for shape in many.shapes]
        if not all(span.table[motion.inertia][0] > 0 for motion in motions):
            raise NotTogether
        rises = sizes.length[:, None] ** [motion.order for motion in motions]
        stiff = np.array([sizes.of(motion.stiffness) for motion in motions]).T
        columns = rises[:, :, None] * np.eye(len(motions))
        # Strains are of the same size in all designs.
        stiffness = many.stiffness * (stiff * sizes.length[:, None])[:, :, None]
        return cls(span, sizes, DesignShapes(many, many, 1 / sizes.length, columns, stiffness))

    def modes(
        self, columns: Mapping[Direction, Array], stiffness: Array, choice: ShapeChoice
    ) -> DesignShapes:
        """Combine curves, per direction one shape per column (N, curves, m), into modes."""
        many, how = self.shapes.first, normalisation(choice)
        count = sum(each.shape[-1] for each in columns.values())
        whole = np.zeros((*stiffness.shape[:2], count))
        stiff, parts, at = np.zeros((len(stiffness), count, count)), list[Shapes](), 0
        for direction, weights in columns.items():
            rows = [i for i, shape in enumerate(many.shapes) if direction in shape.curves]
            own_stiffness = stiffness.take(rows, -2).take(rows, -1)
            mixed = self._diagonal(direction, rows, weights, own_stiffness, how)
            energy = np.sum(mixed * (own_stiffness @ mixed), axis=1)
            own = np.arange(at, at + weights.shape[-1])
            stiff[:, own, own] = energy
            whole[:, np.array(rows)[:, None], own] = mixed
            at += len(own)
            curves = [many.shapes[i].curves[direction] for i in rows]
            made = [combine(curves, column) for column in mixed[0].T]
            parts.append(family(direction, made, energy[0], self.span.edges))
        whole = self.shapes.columns @ whole
        return DesignShapes(join(parts, self.span), many, 1 / self.sizes.length, whole, stiff)

    def _diagonal(
        self,
        direction: Direction,
        rows: list[int],
        weights: Array,
        stiffness: Array,
        how: Normalise,
    ) -> Array:
        """Turn shapes of a direction into modes of the span, slowest first, (N, curves, m)."""
        shared = weights.swapaxes(-1, -2) @ stiffness @ weights
        size = np.sqrt(np.diagonal(shared, axis1=-2, axis2=-1))
        lower = np.linalg.cholesky(shared / (size[:, :, None] * size[:, None]))
        unit = weights @ (np.linalg.inv(lower) / size[:, None]).swapaxes(-1, -2)
        _, turn = np.linalg.eigh(self._mass(direction, rows, unit))
        mixed = unit @ turn[..., ::-1]
        tip = self._values(direction, rows, mixed, np.array([self.span.length]))[:, 0]
        places = np.linspace(0.0, self.span.length, 101)
        peak = np.abs(self._values(direction, rows, mixed, places)).max(axis=1)
        if not agreed(np.all(np.abs(tip) >= 2 * SMALL_TIP * peak, axis=1)):
            raise NotTogether  # scaled by what is not at the tip
        scale = 1 / tip
        if how == "mass":
            mass = self._mass(direction, rows, mixed)
            scale = np.sign(tip) / np.sqrt(np.diagonal(mass, axis1=-2, axis2=-1))
        return np.asarray(mixed * scale[:, None])

    def _values(
        self, direction: Direction, rows: list[int], columns: Array, x: Array, nu: int = 0
    ) -> Array:
        """Evaluate combinations of curves at places of the first design, (N, len(x), m)."""
        rise = self.sizes.length ** (MOTIONS[direction].order - nu)
        curves = self.shapes.first.values(direction, x, nu)[:, rows]
        return np.asarray((curves @ columns) * rise[:, None, None])

    def _mass(self, direction: Direction, rows: list[int], columns: Array) -> Array:
        """Integrate the mass matrix of the span alone, (N, m, m)."""
        motion, total = MOTIONS[direction], np.zeros(())
        x, weight = self.span.quadrature(fine_points(self.shapes.first) // 3 + ENOUGH)
        for nu, name in enumerate((motion.inertia, motion.rotary)):
            if name is not None and self.span.has(name):
                density = self.span.table[name][0] * self.sizes.of(name) * self.sizes.length
                values = self._values(direction, rows, columns, x, nu)
                values = values * np.sqrt(density[:, None, None] * weight[:, None])
                total = total + values.swapaxes(-1, -2) @ values
        return total
