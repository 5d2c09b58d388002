"""Clamped-mass shapes that follow the configuration of the joints outboard of a link.

The inertia that a link carries at its tip changes as the arm outboard of it folds (Theodore &
Ghosal 1995). Frequencies and studies may use the shapes of each posture. In a simulation the shapes
stay those of one configuration, since otherwise outboard joints would move inboard points.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from flexarm.arm import Arm
from flexarm.arm.shapes import ClampedMass
from flexarm.errors import FlexarmError
from flexarm.links.base import Span
from flexarm.links.basis import MOTIONS
from flexarm.links.beams.finite import Conditions, modes
from flexarm.links.end_loads import clamped_ends, outboard_inertia
from flexarm.spatial import Array

Path = Callable[[float], Mapping[str, float]]


def shapes_following(arm: Arm, at: Mapping[str, float]) -> Arm:
    """Return an arm whose clamped-mass shapes are computed for a given posture.

    Joints absent from ``at`` are at their initial positions.

    Raises
    ------
    FlexarmError
        If no link has such shapes.
    """
    posture = {
        name: float(at.get(name, axis.start.position or 0.0))
        for index, link in enumerate(arm.links)
        for name, axis in zip(arm.axis_names(index), link.joint.axes.values(), strict=True)
    }
    links, followed = list(arm.links), False
    for index, link in enumerate(links):
        shapes = link.shapes
        if isinstance(shapes, ClampedMass) and shapes.tip == "auto" and not shapes.follow:
            outboard = {n for k in range(index + 1, len(links)) for n in arm.axis_names(k)}
            configuration = {name: value for name, value in posture.items() if name in outboard}
            shapes = shapes.model_copy(update={"configuration": configuration})
            links[index], followed = link.model_copy(update={"shapes": shapes}), True
    if not followed:
        raise FlexarmError(
            "following: no link has shapes that depend on the joints outboard. Give a link "
            "shapes of kind clamped-mass with 'tip: auto'."
        )
    return arm.model_copy(update={"links": tuple(links)})


def follow_configuration(
    arm: Arm,
    link: str,
    path: Path,
    times: npt.ArrayLike,
    *,
    count: int = 2,
    plane: Literal["y", "z"] = "y",
) -> Array:
    """Compute a link's clamped natural frequencies along a path of its outboard joints.

    The link's root is clamped; the tip carries the outboard arm as one rigid body.

    Parameters
    ----------
    arm, link
        The arm, and the name of one of its flexible links.
    path
        Function of time [s] that returns the positions of outboard joints by name; joints that are
        absent from it are at 0.
    times
        Times [s], (T,).
    count
        Number of frequencies.
    plane
        Direction in which the link bends.

    Returns
    -------
    Array
        Frequencies [Hz], (T, count).
    """
    if link not in arm.link_names:
        raise FlexarmError(f"there is no link '{link}'. The links are {', '.join(arm.link_names)}.")
    index = arm.link_names.index(link)
    section = arm.links[index].section
    if section is None:
        raise FlexarmError(f"{link}: has no section, so that it cannot bend. Name a flexible link.")
    span = Span.of(section, arm.links[index].span)

    def hertz(time: float) -> Array:
        ends = clamped_ends(outboard_inertia(arm, index, dict(path(time))))
        motion = MOTIONS[plane]
        return modes(span, motion, Conditions.of(ends, motion), count).frequencies / (2 * np.pi)

    return np.array([hertz(float(t)) for t in np.asarray(times, dtype=float)])
