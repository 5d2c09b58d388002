"""Shape functions, nodes and damping of a sliding link, as functions of its exposed length."""

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from flexarm.arm import Arm
from flexarm.arm.shapes import ClampedMass, Elements
from flexarm.links.base import Shapes
from flexarm.links.growing.nodes import GrowingNodes
from flexarm.links.growing.shapes import SlidingShapes, fixed_shapes, follow_length
from flexarm.links.integrals import integrate
from flexarm.links.remembered import Same, remembered
from flexarm.links.rotary import rotary_error
from flexarm.links.span import Span
from flexarm.model.constants import DAMPING_NODES
from flexarm.model.elastic.damping import link_damping
from flexarm.model.elastic.part import Theory, naming_link
from flexarm.model.nodes import chosen_nodes, enough_nodes
from flexarm.model.parts import SlidingBeam
from flexarm.spatial import Array


def sliding_beam(
    arm: Arm, index: int, theory: Theory, shapes_of: Callable[[int, Span], Shapes]
) -> SlidingBeam:
    """Build the elastic part of a link that slides out of its hub."""
    shapes = sliding_shapes(arm, index, shapes_of)
    damping = sliding_damping(arm, index, shapes)
    return SlidingBeam(shapes, damping, sliding_nodes(arm, index, shapes, theory))


def sliding_shapes(arm: Arm, index: int, shapes_of: Callable[[int, Span], Shapes]) -> SlidingShapes:
    """Build the shape functions of a sliding link over the range of its exposed length."""
    link = arm.links[index]
    section = link.section
    assert section is not None
    (actuation,) = link.joint.axes.values()
    full_span = Span.of(section, link.span)
    limits = actuation.limits
    low = 0.05 * link.span if limits is None or limits.lower is None else limits.lower
    high = link.span if limits is None or limits.upper is None else limits.upper
    low = max(low, 1e-3 * link.span)

    def at(length: float) -> Shapes:
        return shapes_of(index, full_span.outer(length))

    follows_length = isinstance(link.shapes, ClampedMass) and link.shapes.follow
    with naming_link(arm, index):
        if follows_length or isinstance(link.shapes, Elements):
            # Shapes at other lengths depend on the same options, boundary conditions and section.
            key = ("following", Same(at(high)), full_span.contents, low, high)
            return remembered(key, lambda: follow_length(at, full_span, (low, high)))
        length = actuation.start.position or (low + high) / 2
        shapes = at(length)
        return remembered(
            ("sliding", Same(shapes), full_span.contents, length, low, high),
            lambda: fixed_shapes(shapes, length, full_span, (low, high)),
        )


def sliding_nodes(
    arm: Arm, index: int, sliding: SlidingShapes, theory: Theory
) -> GrowingNodes | None:
    """Build the nodes of a geometrically exact sliding link; return None without stiffening."""
    if not theory.stiffening:
        return None

    def make(excess: int) -> GrowingNodes:
        return remembered(
            ("grown", Same(sliding), excess), lambda: GrowingNodes.of(sliding, excess)
        )

    with naming_link(arm, index):
        if theory.nodes is not None:
            return make(theory.nodes)
        length = sliding.range[1]
        outer = sliding.span.outer(length)
        more = chosen_nodes(arm, index, outer, sliding.at(length))
        mass = {"mass_per_length": outer.table["mass_per_length"] * length**2}
        unit = Span(1.0, outer.stations / length, outer.table | mass)
        straight, _ = integrate(unit, sliding.parent_shapes(), stiffening=False)
        return enough_nodes(make, lambda nodes: rotary_error(straight, nodes, length), more)


def sliding_damping(arm: Arm, index: int, sliding: SlidingShapes) -> Array | None:
    """Fit the damping matrix of a sliding link as a function of its exposed length.

    Damping ratios do not depend on the length.

    Returns
    -------
    Chebyshev coefficients (R, m, m) over ``sliding.range``, or None without damping.
    """
    if not arm.links[index].damped:
        return None
    (low, high), beam = sliding.range, SlidingBeam(sliding, None, None)
    node = np.cos(np.pi * (np.arange(DAMPING_NODES) + 0.5) / DAMPING_NODES)
    lengths = (low + high) / 2 + (high - low) / 2 * node
    # Integrals depend on the section alone; damping ratios differ between arms.
    parts = remembered(
        ("along", Same(sliding)), lambda: [beam.at_length(length) for length in lengths]
    )
    rows = [link_damping(arm, index, part) for part in parts]
    m = len(sliding.names)
    fit = chebyshev.chebfit(node, np.reshape(rows, (DAMPING_NODES, m * m)), DAMPING_NODES - 1)
    fit = np.asarray(fit, dtype=np.float64).reshape(DAMPING_NODES, m, m)
    significant = np.flatnonzero(np.abs(fit).max(axis=(1, 2)) > 1e-13 * np.abs(fit).max())
    return fit[: int(significant.max()) + 1]
