"""Rails of many designs: series over the span of the first, combined and stretched."""

from dataclasses import replace
from typing import cast

import numpy as np

from flexarm.links.base import Shapes
from flexarm.links.collocation import Collocation
from flexarm.links.rails.rail import Rail
from flexarm.links.span import Span
from flexarm.model.designs.draw import DesignShapes, Drawer
from flexarm.varied import Array, by_design, stacked


def rail_designs(
    span: Span, shapes: Shapes | DesignShapes, nodes: Collocation | None, root: float
) -> Rail:
    """Make a rail of a span, of all designs."""
    if not isinstance(shapes, DesignShapes):
        return Rail.of(span, shapes, nodes, root)
    ratios, count = shapes.ratios, len(shapes.ratios)
    first, at = Drawer((span, nodes), count)(0)
    if nodes is not None:
        at = replace(at, series=by_design(nodes.series, count))
    found = Rail.of(first, cast(Shapes, shapes), at, 0.0)

    def steeper(series: Array) -> Array:
        """Take derivatives by places of the first design, (N, orders, ...), to a design's own."""
        rise = ratios[:, None] ** np.arange(series.shape[1])
        return stacked(series * rise.reshape(*rise.shape, *[1] * (series.ndim - 2)))

    own, start = 1 / ratios[:, None], by_design(root, count)
    low, high = stacked(start[:, None] + np.array([0.0, first.length]) * own).tolist()
    return Rail(
        root=root,
        range=(low, high),
        edges=stacked(found.edges * own),
        x=steeper(found.x),
        y=steeper(found.y),
        z=steeper(found.z),
        twist=steeper(found.twist),
        reach=None if found.reach is None else steeper(found.reach),
        jumps=stacked(start[:, None] + found.jumps * own),
    )
