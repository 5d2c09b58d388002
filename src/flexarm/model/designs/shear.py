"""Shapes of many designs whose sections shear, as those of one arm do."""

from dataclasses import replace

import numpy as np

from flexarm.arm.shapes import Normalise
from flexarm.links.base import DIRECTIONS, Direction, Shape
from flexarm.links.basis import MOTIONS
from flexarm.links.curves import Combination
from flexarm.links.span import Span
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.designs.spans import PLACES, NotTogether, Sizes, enough_points, tips
from flexarm.varied import Array


def sheared_designs(
    shapes: DesignShapes, first: Span, sizes: Sizes, how: Normalise
) -> DesignShapes:
    """Let shapes over the span of the first design shear."""
    if how != "tip":
        raise NotTogether
    x, weight = first.quadrature(enough_points(shapes.curves))
    shear, stiffness = dict[Direction, Array](), shapes.stiffness
    for motion in MOTIONS.values():
        if motion.shear is None or not (first.has(motion.shear) and first.has(motion.stiffness)):
            continue
        bending, across = (
            first.table[name][0] * sizes.of(name) for name in (motion.stiffness, motion.shear)
        )
        shear[motion.direction] = bending / across / sizes.length**2
        bent = shapes.values(motion.direction, x, 3)
        energy = bending * shear[motion.direction] / sizes.length**3
        stiffness = stiffness + energy[:, None, None] * (
            (bent * weight[:, None]).swapaxes(-1, -2) @ bent
        )
    # no series, as alone
    curves = tuple(
        Shape(each.name, {d: Combination((curve,), (1.0,)) for d, curve in each.curves.items()})
        for each in shapes.shapes
    )
    found = replace(shapes, first=replace(shapes.first, shapes=curves), shear=shear)
    places = np.linspace(0.0, first.length, PLACES)
    scale = tips(np.sum([found.values(d, places) for d in DIRECTIONS], axis=0))
    return replace(
        found,
        columns=found.columns / scale[:, None],
        stiffness=stiffness / (scale[:, :, None] * scale[:, None]),
    )
