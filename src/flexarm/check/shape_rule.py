"""How many shapes a link has in a direction, and why, in words."""

from flexarm.arm import Arm
from flexarm.arm.shapes import Counted, CraigBampton, Elements, Lumped, Tabulated
from flexarm.links.basis import Motion
from flexarm.links.shape_counts import chosen_counts


def why_count(arm: Arm, index: int, motion: Motion) -> str:
    """Say how many shapes a link has in a direction that its section is stiff in, and why."""
    choice = arm.links[index].shapes
    if isinstance(choice, Tabulated):
        return "the modes of the file"
    assert isinstance(choice, Counted)
    rule = chosen_counts(arm, index, choice)[motion.key]
    return f"{_counted(choice, motion, rule.number)}: {rule.reason}"


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
