"""Build the models of many designs of an arm, which differ in values of its model file."""

from collections.abc import Mapping, Sequence
from typing import Any

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.io.overrides import change_arm
from flexarm.model.build import build
from flexarm.model.parts import Model, TipRotation


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
        As for `flexarm.build`.

    Returns
    -------
    list
        The model of each set, or the error that it cannot be built with.
    """
    models: list[Model | FlexarmError] = []
    for values in sets:
        try:
            models.append(build(change_arm(arm, values), tip_rotation=tip_rotation, nodes=nodes))
        except FlexarmError as error:
            models.append(error)
    return models


def built(model: Model | FlexarmError) -> Model:
    """Return a model, or raise the error in its place."""
    if isinstance(model, FlexarmError):
        raise model
    return model
