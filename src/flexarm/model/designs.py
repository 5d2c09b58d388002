"""Models of many designs of an arm, which differ in values of the model file."""

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
    """Build one model of an arm per set of changed values.

    Parameters
    ----------
    arm
        The arm.
    sets
        Sets of changed values by their keys in the model file, as for `flexarm.change_arm`.
    tip_rotation, nodes
        As for `flexarm.build`.

    Returns
    -------
    list
        For each set the model, or the error raised while it was built.
    """
    models: list[Model | FlexarmError] = []
    for values in sets:
        try:
            models.append(build(change_arm(arm, values), tip_rotation=tip_rotation, nodes=nodes))
        except FlexarmError as error:
            models.append(error)
    return models


def built(model: Model | FlexarmError) -> Model:
    """Return a model; raise the argument if it is the error of a failed build."""
    if isinstance(model, FlexarmError):
        raise model
    return model
