"""Number of nodes of an exact link, by the slope that its weight and drives can bend it to.

Inputs, given motions and starts do not count, so that a law is made of the same equations that it
is simulated with.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Elements, Lumped
from flexarm.links.base import Shapes
from flexarm.links.ends import (
    joint_poses,
    kept,
    link_length,
    outboard_mass,
    own_inertia,
)
from flexarm.links.span import Span
from flexarm.spatial import NEGLIGIBLE, rotation_from_angles

# Error of the sections' rotary inertia at the nodes, relative to the modal mass, below which the
# mass matrix is positive definite up to slopes of 2.5 rad (tests/physics/test_rotary.py), and how
# many nodes more than chosen by loads are tried.
ROTARY_ERROR, FURTHER = 0.01, 8
T = TypeVar("T")
STIFF, SOFT = 0.05, 0.15
# In one plane a link whose joint gives way bears a part of the moment that a clamped one would.
SWINGING = 1 / 8
MOST = 5


def chosen_nodes(arm: Arm, index: int, span: Span, shapes: Shapes) -> int:
    """Choose how many nodes a link gets beyond its number of shapes.

    Products of the first slope with all others count: where loads bend it far, as many as it has
    shapes and one.  In one plane three, in space, where nodes are dear, one if the loads are known
    and hardly bend it, else two.
    """
    bending = [len(shapes.moving("y")), len(shapes.moving("z"))]
    slope = expected_slope(arm, index, span)
    if isinstance(arm.links[index].shapes, Elements | Lumped):  # which have nodes in each panel
        return 2 if slope > SOFT else 1
    if not all(bending):
        return 3 if slope <= SOFT else max(3, min(max(bending) + 1, MOST))
    if slope > SOFT:
        return min(max(bending) + 1, MOST)
    return 1 if 0 < slope <= STIFF else 2


def enough_nodes(make: Callable[[int], T], error: Callable[[T], float], more: int) -> T:
    """Build nodes, ``more`` beyond the number of shapes or further, with small errors of inertia.

    Parameters
    ----------
    make
        Makes them with a number of nodes beyond the number of shapes.
    error
        Computes their error of rotary inertia, `flexarm.links.rotary.rotary_error`.
    more
        The smallest number.
    """
    tried = (make(more + further) for further in range(FURTHER))
    return next((made for made in tried if error(made) <= ROTARY_ERROR), None) or make(
        more + FURTHER
    )


def expected_slope(arm: Arm, index: int, span: Span) -> float:
    """Estimate how far a link's tip turns against its root under weight and its drives' limits.

    They act at the end of all levers at once, by twice what they would bend the link by if they
    came slowly.
    """
    bends = [name for name in ("EIy", "EIz") if span.has(name)]
    stiffness = min((float(span.table[name].min()) for name in bends), default=0.0)
    if stiffness <= 0:
        return 0.0
    own, beyond = own_inertia(arm.links[index]).mass, outboard_mass(arm, index)
    reach = span.length + sum(link_length(link) for link in arm.links[index + 1 :])
    weight: float = sum(g * g for g in arm.gravity) ** 0.5
    moment: float = weight * (own * span.length + beyond * (span.length + reach)) / 2
    joint = arm.links[index].joint
    prescribed = any(acts.actuation == "prescribed" for acts in joint.axes.values())
    moment *= SWINGING if joint.turns_about and not prescribed and _is_flat(arm) else 1.0
    for link in arm.links[index:]:
        limits = [acts.limits for acts in link.joint.axes.values() if acts.actuation == "torque"]
        moment += sum(top.effort for top in limits if top is not None and top.effort)
    # a moment at the tip bends by M L/EI, a force there by half as much
    return 2 * moment * span.length / (2 * stiffness)


@kept
def _is_flat(arm: Arm) -> bool:
    """Whether weights bend all links in the one plane in which every joint turns."""
    frame, axes = rotation_from_angles(arm.base.rotation), []
    for link in arm.links:
        before, after, end = joint_poses(link)
        frame = frame @ before.rotation
        if len(link.joint.turns_about) > 1:
            return False
        axes += [frame[:, 2]] if link.joint.turns_about else []
        frame = frame @ after.rotation @ end.rotation
    normal, gravity = axes[0], np.array(arm.gravity)
    flat = all(abs(axis @ normal) > 1 - NEGLIGIBLE for axis in axes)
    return flat and abs(normal @ gravity) <= NEGLIGIBLE * (gravity @ gravity) ** 0.5
