"""Boundary condition that a joint imposes on the adjacent links; it selects their mode shapes.

A joint is *free* (only the hub's inertia resists), *geared* (hub and reflected rotor inertia) or
*held*.  Held joints are prescribed, position-controlled, torque-driven without a rotor inertia, or
have a spring (in the joint or the drive) that is stiff relative to the adjacent link.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from flexarm.arm import AnyActuated, Arm, Link
from flexarm.arm.drive import SpringTable
from flexarm.arm.shapes import Loaded
from flexarm.links.constants import SOFT_SPRING
from flexarm.links.span import Span


@dataclass(frozen=True)
class Hold:
    """Boundary condition that a joint imposes on a link, with the reason."""

    state: Literal["free", "geared", "held"]  # ``free``, ``geared`` or ``held``
    reason: str  # why, in words
    known: bool = False  # whether the joint is held whatever its inputs do


def hold(arm: Arm, index: int, which: int = 0, *, inboard: bool = False) -> Hold:
    """Return the boundary condition at a joint, by model file, actuation, spring and drive.

    Parameters
    ----------
    arm, index
        The arm and the index of the joint.
    which
        Index of the axis within the joint.
    inboard
        Whether the condition applies to the tip of the link before the joint, rather than to the
        root of the link after the joint.
    """
    link = arm.links[index]
    axes = [*link.joint.axes.values()]
    known = not axes or axes[which].actuation == "prescribed"
    if isinstance(link.shapes, Loaded) and link.shapes.root != "auto":
        return Hold(link.shapes.root, f"the file says root: {link.shapes.root}", known)
    if not axes:
        return Hold("held", "a rigid attachment", known)
    if known:
        return Hold("held", "the joint's motion is prescribed", known)
    if not link.joint.turns_about:
        return Hold("held", "the joint slides and does not turn")
    joint = axes[which]
    if joint.actuation == "torque" and reflected_rotor(link) == 0:
        return Hold("held", "torque-driven without a rotor inertia, taken as position-controlled")
    if joint.spring is not None or joint.elastic:
        soft = _spring_ratio(joint, arm.links[index - 1] if inboard else link) < SOFT_SPRING
        if not soft:
            return Hold(
                "held", f"the joint's spring is not softer than {SOFT_SPRING} EI/L of the link"
            )
        if joint.elastic:
            return Hold("free", f"the joint's spring is softer than {SOFT_SPRING} EI/L of the link")
    if reflected_rotor(link) > 0:
        return Hold("geared", "the inertia of hub and reflected rotor acts at the root")
    return Hold("free", "the joint is free, the hub alone resists")


def reflected_rotor(link: Link) -> float:
    """Return the rotor inertia of a link's drives reflected to the joint [kg m^2]."""
    drives = [acts.drive for acts in link.joint.axes.values() if acts.drive is not None]
    return sum(drive.gear_ratio**2 * drive.rotor_inertia for drive in drives)


def _spring_ratio(joint: AnyActuated, link: Link) -> float:
    """Return the stiffness of a joint's springs, drive included, divided by EI/L of a link."""
    if link.section is None:
        return math.inf
    span = Span.of(link.section, link.span)
    bending: list[float] = [span.table[n][0] for n in ("EIy", "EIz") if span.has(n)]
    if not bending:
        return math.inf
    springs = [part.stiffness for part in (joint.drive, joint.spring) if part is not None]
    return sum(relaxed_stiffness(k) for k in springs) * link.span / min(bending)


def relaxed_stiffness(stiffness: "float | SpringTable[float, float] | None") -> float:
    """Return the stiffness of a spring at zero deflection [N m/rad], 0 for no spring."""
    if not isinstance(stiffness, SpringTable):
        return stiffness or 0.0
    x, y = stiffness.deflection, stiffness.effort
    right = min(max(bisect_right(x, 0.0), 1), len(x) - 1)
    return (y[right] - y[right - 1]) / (x[right] - x[right - 1])
