"""Number of collocation nodes of a geometrically exact link.

The number of nodes depends on the slope to which weight and drive limits can bend the link. Inputs,
prescribed motions and start values have no influence on the number, so that controller design and
simulation use the same equations.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Elements, Lumped
from flexarm.constants import NEGLIGIBLE
from flexarm.links.base import Shapes, Span
from flexarm.links.end_loads import (
    joint_poses,
    link_length,
    outboard_mass,
    own_inertia,
)
from flexarm.links.remembered import kept
from flexarm.links.tree import tree
from flexarm.model.constants import (
    HINGED_MOMENT,
    LARGE_SLOPE,
    MORE_NODES,
    MOST_EXCESS_NODES,
    ROTARY_ERROR,
    SMALL_SLOPE,
)
from flexarm.spatial import rotation_from_angles

T = TypeVar("T")


def chosen_nodes(arm: Arm, index: int, span: Span, shapes: Shapes) -> int:
    """Choose the number of nodes of a link in excess of its number of shape functions.

    The excess grows with the expected slope, up to one more than the number of shape functions. In
    plane bending the excess is at least three. In spatial bending, where nodes are expensive, the
    excess is one if the expected slope is known and small, otherwise at least two.
    """
    bending = [len(shapes.moving("y")), len(shapes.moving("z"))]
    slope = expected_slope(arm, index, span)
    if isinstance(arm.links[index].shapes, Elements | Lumped):  # nodes are placed on each panel
        return 2 if slope > LARGE_SLOPE else 1
    if not all(bending):
        return 3 if slope <= LARGE_SLOPE else max(3, min(max(bending) + 1, MOST_EXCESS_NODES))
    if slope > LARGE_SLOPE:
        return min(max(bending) + 1, MOST_EXCESS_NODES)
    return 1 if 0 < slope <= SMALL_SLOPE else 2


def enough_nodes(make: Callable[[int], T], error: Callable[[T], float], excess: int) -> T:
    """Build collocation nodes, more and more, until their error of rotary inertia is at most 1 %.

    Parameters
    ----------
    make
        Function that builds nodes, given their number in excess of the number of shape functions.
    error
        Function of the built nodes that returns their relative error of rotary inertia, as
        `flexarm.links.integrals.rotary_error` does.
    excess
        Smallest number of nodes in excess of the number of shape functions.
    """
    candidates = (make(excess + extra) for extra in range(MORE_NODES))
    return next((nodes for nodes in candidates if error(nodes) <= ROTARY_ERROR), None) or make(
        excess + MORE_NODES
    )


def expected_slope(arm: Arm, index: int, span: Span) -> float:
    """Estimate the angle [rad] between a link's root and tip under weight and drive limits.

    All loads are assumed to act at once with their longest levers. The estimate is twice the static
    angle, as for loads applied suddenly.
    """
    bends = [name for name in ("EIy", "EIz") if span.has(name)]
    stiffness = min((float(span.table[name].min()) for name in bends), default=0.0)
    if stiffness <= 0:
        return 0.0
    mass, outboard = own_inertia(arm.links[index]).mass, outboard_mass(arm, index)
    reach = span.length + _beyond(arm)[index]
    weight: float = sum(g * g for g in arm.gravity) ** 0.5
    moment: float = weight * (mass * span.length + outboard * (span.length + reach)) / 2
    joint = arm.links[index].joint
    prescribed = any(acts.actuation == "prescribed" for acts in joint.axes.values())
    moment *= HINGED_MOMENT if joint.turns_about and not prescribed and _is_flat(arm) else 1.0
    for outboard in (index, *arm.carried_links(index)):
        axes = arm.links[outboard].joint.axes.values()
        limits = [acts.limits for acts in axes if acts.actuation == "torque"]
        moment += sum(limit.effort for limit in limits if limit is not None and limit.effort)
    # a moment M at the tip bends the link by M L/EI, a force F by half of F L^2/EI
    return 2 * moment * span.length / (2 * stiffness)


@kept
def _beyond(arm: Arm) -> list[float]:
    """Return the length [m] of the longest chain of links beyond each link's tip."""
    beyond = [0.0] * len(arm.links)
    for index in reversed(range(len(arm.links))):
        following = tree(arm).children[index]
        lengths = [link_length(arm.links[k]) + beyond[k] for k in following]
        beyond[index] = max(lengths, default=0.0)
    return beyond


@kept
def _is_flat(arm: Arm) -> bool:
    """Return whether all axes of joint rotation are parallel and perpendicular to gravity."""
    ends, axes = [rotation_from_angles(arm.base.rotation)], []
    for index, link in enumerate(arm.links):
        joint_pose, root_pose, tip_pose = joint_poses(link)
        frame = ends[tree(arm).parents[index] + 1] @ joint_pose.rotation
        if len(link.joint.turns_about) > 1:
            return False
        axes += [frame[:, 2]] if link.joint.turns_about else []
        ends.append(frame @ root_pose.rotation @ tip_pose.rotation)
    normal, gravity = axes[0], np.array(arm.gravity)
    parallel = all(abs(axis @ normal) > 1 - NEGLIGIBLE for axis in axes)
    return parallel and abs(normal @ gravity) <= NEGLIGIBLE * (gravity @ gravity) ** 0.5
