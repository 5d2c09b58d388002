"""Finite elements with nodal coordinates: cubic in bending, linear in twist and stretch."""

import numpy as np

from flexarm.arm import shapes as choices
from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import LABELS, Array, Counts, Curve, Discretisation, Ends, Shape, Shapes
from flexarm.links.basis import (
    BeamDirection,
    family,
    join,
    normalisation,
    normalise,
    orthonormal_columns,
    own_mass,
    slowest_first,
    strain_matrix,
    wanted,
)
from flexarm.links.beams.finite import Conditions
from flexarm.links.curves import Piecewise, combine
from flexarm.links.span import Span

# Legendre coefficients on an element, by tip motion and by whether the node is its right end.
# Slopes are per half element length.
HERMITE = {
    ("value", "left"): (0.5, -0.6, 0.0, 0.1),
    ("value", "right"): (0.5, 0.6, 0.0, -0.1),
    ("slope", "left"): (1 / 6, -0.1, -1 / 6, 0.1),
    ("slope", "right"): (-1 / 6, -0.1, 1 / 6, 0.1),
}
LINEAR = {("value", "left"): (0.5, -0.5), ("value", "right"): (0.5, 0.5)}


def nodal_shapes(span: Span, motion: BeamDirection, count: int) -> Shapes:
    """Build the nodal shapes of one direction, root node clamped."""
    edges = np.linspace(0.0, span.length, count + 1)
    label = LABELS[motion.direction]
    table = HERMITE if motion.order == 2 else LINEAR
    names: list[str] = []
    curves: list[Curve] = []
    for node in range(1, count + 1):
        for nu, kind in enumerate(("value", "slope")[: motion.order]):
            values = np.zeros((count, 2 * motion.order))
            factor = (span.length / count / 2) ** nu
            values[node - 1] = factor * np.array(table[kind, "right"])
            if node < count:
                values[node] = factor * np.array(table[kind, "left"])
            names.append(f"node{node}.{'slope_' * nu}{label}")
            curves.append(Piecewise.from_values(edges, values))
    stiffness = strain_matrix(curves, span, motion, edges)
    shapes = [Shape(n, {motion.direction: c}) for n, c in zip(names, curves, strict=True)]
    return Shapes(tuple(shapes), edges, stiffness)


def _reduced(
    nodal: Shapes, span: Span, motion: BeamDirection, conditions: Conditions, count: int
) -> Shapes:
    """Replace nodal shapes by their first modes with the tip body."""
    curves = [shape.curves[motion.direction] for shape in nodal.shapes]
    tip = np.array([span.length])
    moved: Array = np.array([[float(c(tip, nu)[0]) for c in curves] for nu in range(motion.order)])
    body = conditions.tip_factor(motion) @ moved
    mass = own_mass(nodal, span) + body.T @ body
    unit = orthonormal_columns(nodal.stiffness, nodal.names)
    columns = unit @ slowest_first(unit.T @ mass @ unit)[:, :count]
    modes = [combine(curves, column) for column in columns.T]
    return family(motion.direction, modes, np.ones(len(modes)), nodal.edges)


class ElementShapes(Discretisation):
    """Elements of equal length, the counts being their numbers; the root node is clamped.

    Coordinates are the values at node k, k L/n from the root: ``node1.y``, ``node1.slope_y``
    (dy/dx), ``node2.y``, ...; then ``node1.z``, ``node1.slope_z`` (dz/dx), ...; ``node1.twist``,
    ...; ``node1.stretch``, ...  Sections that vary inside an element are integrated as they are.

    With ``reduce`` the coordinates of each direction are instead the first so many modes of its
    elements, clamped at the root and carrying the tip body of the ends: ``y1``, ``y2``, ... (all
    modes where the elements have fewer).
    """

    name = "elements"
    summary = "Hermite beam elements, linear in twist and stretch"
    citation = "Theodore & Ghosal 1995, eqs 12-15"

    def loaded(self, choice: ShapeChoice) -> bool:
        """Return whether the shapes are modes of the elements, which carry the ends' tip body."""
        return isinstance(choice, choices.Elements) and choice.reduce is not None

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        parts = [nodal_shapes(span, motion, count) for motion, count in wanted(span, counts)]
        reduce = choice.reduce if isinstance(choice, choices.Elements) else None
        if reduce is None:
            return join(parts, span)
        motions = [motion for motion, _ in wanted(span, counts)]
        modal = [
            _reduced(part, span, motion, Conditions.of(ends, motion), reduce)
            for part, motion in zip(parts, motions, strict=True)
        ]
        return normalise(join(modal, span), normalisation(choice), span)
