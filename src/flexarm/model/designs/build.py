"""Build many designs of an arm at once, where they differ in numbers alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.io.designs import ArmDesigns
from flexarm.io.overrides import change_arm
from flexarm.model.arm_modes import on_arm_modes
from flexarm.model.assemble import assemble
from flexarm.model.build import build
from flexarm.model.designs.draw import Drawer
from flexarm.model.designs.links import LinkDesigns
from flexarm.model.designs.rails import rail_designs
from flexarm.model.designs.spans import NotTogether
from flexarm.model.elastic.part import Theory
from flexarm.model.numbers import KEPT, ModelNumbers
from flexarm.model.parts import Model, TipRotation
from flexarm.varied import Differ

TOGETHER = 256  # designs at most
MODES_TOGETHER = 1024  # designs at most whose shapes come of the arm's modes, a megabyte each
FEW = 6  # designs, which are built one by one
# What may come up where designs are taken together that were not foreseen so.
UNFORESEEN = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, NotTogether)


class ModelDesigns:
    """Models of designs that differ in numbers alone.

    Attributes
    ----------
    arms
        Their arms.
    model
        All of them: a model whose numbers are those of all designs.
    numbers
        The numbers that their equations depend on, by design.
    """

    def __init__(self, arms: ArmDesigns, tip_rotation: TipRotation) -> None:
        arm = arms.arm
        theory = Theory(arm.stiffening, exact=tip_rotation == "cayley", nodes=None)
        made = LinkDesigns(arms)
        self.arms, self._tip_rotation = arms, tip_rotation
        self.model = assemble(arm, theory, tip_rotation, made.shapes, made.part, rail_designs)
        # Now, so that designs that differ in what they decide are built in groups.
        self.numbers = ModelNumbers.of(self.model, arms.count)
        self._draw = Drawer(self.model, arms.count)
        # Facts that all have in common, so that nobody draws a part to find them.
        self._facts: dict[str, object] = {"floats": self.model.floats}
        if (anchors := self.model.start_anchors).dtype != object:
            anchors.flags.writeable = False
            self._facts["start_anchors"] = anchors

    def some(self, which: NDArray[np.int64]) -> "ModelDesigns":
        """Take some of the designs, by their numbers."""
        return ModelDesigns(self.arms.some(which), self._tip_rotation)

    def at(self, k: int) -> Model:
        """Give the model of a design."""
        model: Model = self._draw(k)
        model.__dict__.update(self._facts, **{KEPT: self.numbers.at(k)})
        return model


def build_designs(
    arm: Arm,
    sets: Sequence[Mapping[str, Any]],
    *,
    tip_rotation: TipRotation = "cayley",
    nodes: int | None = None,
) -> list[Model | FlexarmError]:
    """Build an arm with other values, set by set.

    Parameters
    ----------
    arm
        The arm.
    sets
        Values by their key in the model file, as for `flexarm.change_arm`.
    tip_rotation, nodes
        As for `flexarm.build`; with a number of nodes one by one.

    Returns
    -------
    list
        Of each set its model, or why there is none.
    """
    found: list[Model | FlexarmError] = []
    for first in range(0, len(sets), TOGETHER):
        some = sets[first : first + TOGETHER]
        foreseen = some if nodes is None else []
        together = designs_together(arm, foreseen, tip_rotation=tip_rotation)
        drawn = {k: stack.at(i) for which, stack in together for i, k in enumerate(which)}
        for k, each in enumerate(some):
            found.append(drawn[k] if k in drawn else _alone(arm, each, tip_rotation, nodes))
    return found


def built(model: Model | FlexarmError) -> Model:
    """Take a model, or raise why there is none."""
    if isinstance(model, FlexarmError):
        raise model
    return model


def _alone(
    arm: Arm, values: Mapping[str, Any], tip_rotation: TipRotation, nodes: int | None
) -> Model | FlexarmError:
    try:
        return build(change_arm(arm, values), tip_rotation=tip_rotation, nodes=nodes)
    except FlexarmError as error:
        return error


def designs_together(
    arm: Arm, sets: Sequence[Mapping[str, Any]], *, tip_rotation: TipRotation = "cayley"
) -> list[tuple[list[int], ModelDesigns]]:
    """Build sets of values together, as far as that goes: which sets, and their models."""
    if len(sets) <= FEW:
        return []
    try:
        arms = ArmDesigns.of(arm, sets)
    except (*UNFORESEEN, Differ, FlexarmError):
        return []
    if arms is None:
        return []
    most = MODES_TOGETHER if on_arm_modes(arms.first) else len(sets)
    pieces = np.split(np.arange(len(sets)), range(most, len(sets), most))
    return [
        group
        for which in pieces
        for group in _groups(arms if len(pieces) == 1 else arms.some(which), which, tip_rotation)
    ]


def _groups(
    arms: ArmDesigns, which: NDArray[np.int64], tip_rotation: TipRotation
) -> list[tuple[list[int], ModelDesigns]]:
    """Build designs together; where they lead to different decisions, in groups."""
    if len(which) <= FEW:
        return []
    try:
        return [(which.tolist(), ModelDesigns(arms, tip_rotation))]
    except Differ as parting:
        halves = (np.flatnonzero(parting.answers), np.flatnonzero(~parting.answers))
        return [
            group
            for half in halves
            for group in (_groups(arms.some(half), which[half], tip_rotation) if len(half) else [])
        ]
    except (*UNFORESEEN, FlexarmError):
        return []
