"""Finite elements with nodal coordinates: cubic in bending, linear in twist and stretch."""

import numpy as np

from flexarm.arm import shapes as choices
from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import LABELS, Counts, Discretisation, Ends, Shapes
from flexarm.links.basis import (
    BeamDirection,
    family,
    join,
    normalisation,
    normalise,
    orthonormal_columns,
    own_mass,
    requested_directions,
    slowest_first,
    strain_matrix,
)
from flexarm.links.beams.finite import Conditions
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span

# Legendre coefficients on an element, by the displacement and slope of its right node; those of its
# left node are mirrored.  Slopes are per half element length.
HERMITE = ((0.5, 0.6, 0.0, -0.1), (-1 / 6, -0.1, 1 / 6, 0.1))
LINEAR = ((0.5, 0.5),)


def nodal_shapes(span: Span, motion: BeamDirection, count: int) -> Shapes:
    """Build the shape functions of nodal coordinates in one direction, with a clamped root node."""
    edges, order = np.linspace(0.0, span.length, count + 1), motion.order
    factors = (span.length / count / 2) ** np.arange(order)
    right_functions = np.array(HERMITE if order == 2 else LINEAR)
    mirror_signs = (-1.0) ** np.add.outer(np.arange(order), np.arange(2 * order))
    right, left = right_functions.T * factors, (mirror_signs * right_functions).T * factors
    values = np.zeros((count, 2 * order, count * order))
    for element in range(count):
        columns = slice(element * order, (element + 1) * order)
        values[element, :, columns] = right
        values[element + 1 :, :, columns][:1] = left
    curves = SpanCurves.from_values(edges, values)
    stiffness = strain_matrix(curves, span, motion, edges)
    kinds = ("", "slope_")[:order]
    names = [f"node{k}.{kind}{LABELS[motion.direction]}" for k in range(1, count + 1)
             for kind in kinds]  # fmt: skip
    return Shapes(tuple(names), {motion.direction: (curves,)}, edges, stiffness)


def _reduced(
    nodal: Shapes, span: Span, motion: BeamDirection, conditions: Conditions, count: int
) -> Shapes:
    """Return the first ``count`` modes of the nodal shapes with the tip body attached."""
    (curves,) = nodal.curves[motion.direction]
    tip = np.array([span.length])
    tip_motion = np.vstack([curves(tip, nu) for nu in range(motion.order)])
    body = conditions.tip_factor(motion) @ tip_motion
    mass = own_mass(nodal, span) + body.T @ body
    orthonormal = orthonormal_columns(nodal.stiffness, nodal.names)
    modes = curves.times(orthonormal @ slowest_first(orthonormal.T @ mass @ orthonormal)[:, :count])
    return family(motion.direction, modes, np.ones(modes.count), nodal.edges)


class ElementShapes(Discretisation):
    """Finite elements of equal length, as many as the counts; the root node is clamped.

    Coordinates are the values at node k, k L/n from the root: ``node1.y``, ``node1.slope_y``
    (dy/dx), ``node2.y``, ...; then ``node1.z``, ``node1.slope_z`` (dz/dx), ...; ``node1.twist``,
    ...; ``node1.stretch``, ...  Sections that vary inside an element are integrated as they are.

    With ``reduce`` = r the coordinates of each direction are instead the first r modes of the
    elements, clamped at the root and carrying the tip body of the ends: ``y1``, ``y2``, ... (all
    modes where the elements have fewer).
    """

    name = "elements"
    summary = "Hermite beam elements, linear in twist and stretch"
    citation = "Theodore & Ghosal 1995, eqs 12-15"

    def loaded(self, choice: ShapeChoice) -> bool:
        """Return whether the shapes are modes of the elements, which depend on the tip body."""
        return isinstance(choice, choices.Elements) and choice.reduce is not None

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the nodal shapes of a span, or with ``reduce`` their modes."""
        parts = [
            nodal_shapes(span, motion, count)
            for motion, count in requested_directions(span, counts)
        ]
        reduce = choice.reduce if isinstance(choice, choices.Elements) else None
        if reduce is None:
            return join(parts, span)
        motions = [motion for motion, _ in requested_directions(span, counts)]
        modal = [
            _reduced(part, span, motion, Conditions.of(ends, motion), reduce)
            for part, motion in zip(parts, motions, strict=True)
        ]
        return normalise(join(modal, span), normalisation(choice), span)
