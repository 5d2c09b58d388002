"""The rule of the default modes and their number, in words (`flexarm.links.ends` has it)."""

from flexarm.arm import Arm, Moving
from flexarm.arm.shapes import Counted, CraigBampton, Elements, Loaded, Lumped, Tabulated
from flexarm.links.basis import Motion
from flexarm.links.ends import hold, reflected_rotor

MANY_FLEXIBLE = 3


def why_root(arm: Arm, index: int) -> str:
    """Say why the loaded modes' rule takes a link's root as free, geared or held."""
    link = arm.links[index]
    joint, state = link.joint, hold(arm, index)
    if isinstance(link.shapes, Loaded) and link.shapes.root != "auto":
        return f"{state}: the file says root: {state}"
    if not isinstance(joint, Moving):
        return f"{state}: a rigid attachment"
    if joint.actuation == "prescribed":
        return f"{state}: the joint's motion is prescribed"
    if state == "geared":
        return f"{state}: hub and reflected rotor resist"
    if joint.actuation == "free":
        return f"{state}: the joint is free, the hub alone resists"
    if reflected_rotor(link) == 0:
        return f"{state}: torque-driven without a rotor inertia, taken as position-controlled"
    softer = "softer" if state == "free" else "not softer"
    return f"{state}: the joint's spring is {softer} than EI/L of the link"


def why_count(arm: Arm, index: int, motion: Motion, count: int) -> str:
    """Say why a link has ``count`` shapes in a direction that its section has a stiffness for."""
    choice = arm.links[index].shapes
    if isinstance(choice, Tabulated):
        return "the modes of the file"
    assert isinstance(choice, Counted)
    what = _counted(choice, motion, count)
    if getattr(choice, motion.key) != "auto":
        return f"{what}: the file says so"
    if motion.key == "stretch":
        return f"{what}: by rule, none unless asked for; stretch makes the step small"
    if motion.key == "torsion":
        if count:
            return f"{what}: by rule, one where GJ is given and something turns"
        return f"{what}: by rule, since neither Jx nor anything at the tip turns"
    return f"{what}: by rule, {_bending_reason(arm, index)}"


def _counted(choice: Counted, motion: Motion, count: int) -> str:
    """Write a number with what it counts."""
    word = "mode"
    if isinstance(choice, Elements):
        word = "element"
    elif isinstance(choice, Lumped):
        word = "spring"
    elif isinstance(choice, CraigBampton):
        word = "fixed-interface mode"
    text = f"{count} {word}{'' if count == 1 else 's'}"
    if isinstance(choice, CraigBampton) and count:
        text += f" and {motion.order} tip constraint shape{'s' if motion.order > 1 else ''}"
    if isinstance(choice, Elements) and choice.reduce is not None and count:
        text += f" reduced to {min(choice.reduce, motion.order * count)} modes"
    return text


def _bending_reason(arm: Arm, index: int) -> str:
    joint, state = arm.links[index].joint, hold(arm, index)
    flexible = sum(link.flexible for link in arm.links)
    if state == "free":
        if flexible < MANY_FLEXIBLE:
            return "3 where the root turns freely and the arm has one or two flexible links"
        return "4 where the root turns freely and the arm has three flexible links or more"
    if not isinstance(joint, Moving) or joint.actuation == "prescribed":
        return "3 where the root is known to be held"
    if state == "geared":
        return "4 where the joint is geared"
    return "4 where the joint is torque-driven and may or may not hold the root"
