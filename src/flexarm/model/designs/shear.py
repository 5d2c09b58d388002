"""Shapes of many designs whose sections shear, as those of one arm do."""

from dataclasses import replace

import numpy as np

from flexarm.arm.shapes import Normalise
from flexarm.engine.varied import Array, agreed
from flexarm.links.base import Direction, Shape
from flexarm.links.basis import MOTIONS, SMALL_TIP
from flexarm.links.curves import Combination
from flexarm.links.span import Span
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.designs.spans import NotTogether, Sizes, enough_points


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
    places, tips = np.linspace(0.0, first.length, 101), np.ones(stiffness.shape[:2])
    for k, shape in enumerate(found.shapes):
        values = found.values(next(iter(shape.curves)), places)[..., k]
        tips[:, k], peak = values[:, -1], np.abs(values).max(axis=1)
        if not agreed(np.abs(values[:, -1]) >= 2 * SMALL_TIP * peak):
            raise NotTogether  # scaled by what is not at the tip
    return replace(
        found,
        columns=found.columns / tips[:, None],
        stiffness=stiffness / (tips[:, :, None] * tips[:, None]),
    )
