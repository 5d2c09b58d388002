"""Text that states the number of shapes of a link in a direction, and the reason for it."""

from flexarm.arm import Arm
from flexarm.arm.shapes import ArmModes, Counted, CraigBampton, Elements, Lumped, Tabulated
from flexarm.links.basis import BeamDirection
from flexarm.links.end_loads import rides
from flexarm.links.shape_counts import chosen_counts
from flexarm.model.arm_modes import includes_locked_modes


def why_count(arm: Arm, index: int, motion: BeamDirection) -> str:
    """Return text with the number of shapes of a link in an elastic direction, and the reason."""
    choice = arm.links[index].shapes
    if isinstance(choice, Tabulated):
        return "the modes of the file"
    assert isinstance(choice, Counted)
    rule = chosen_counts(arm, index, choice)[motion.key]
    text = f"{_counted(choice, motion, rule.number)}: {rule.reason}"
    if not isinstance(choice, ArmModes):
        return text
    ridden = (
        "; computed with the carriage at stations all along it" if rides(arm, index + 1) else ""
    )
    return text + ridden + _of_arm(arm, motion, rule.number)


def _of_arm(arm: Arm, motion: BeamDirection, count: int) -> str:
    """Return text that explains how the modes of the arm were chosen as shapes."""
    with_held = (
        "; including modes with driven joints held" if includes_locked_modes(arm, count) else ""
    )
    static = "; including the static twist by a torque at the tip"
    return with_held + (static if count and motion.direction == "twist" else "")


def _counted(choice: Counted, motion: BeamDirection, count: int) -> str:
    """Return text with a number and its noun, such as ``3 modes`` or ``4 elements``."""
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
