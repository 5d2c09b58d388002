"""Construction of an arm's model, from which equations of motion are built."""

from dataclasses import replace
from typing import get_args

import numpy as np

from flexarm.arguments import is_word, shown
from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.io.model_file import validated
from flexarm.model.arm_modes import chosen_shapes
from flexarm.model.assemble import assemble
from flexarm.model.constants import MOST_NODES
from flexarm.model.elastic import Theory
from flexarm.model.numbers import freeze
from flexarm.model.parts import Model, TipRotation
from flexarm.model.spans import single_spans
from flexarm.threads import one_blas_thread


@one_blas_thread
def build(
    arm: Arm,
    *,
    stiffening: bool | None = None,
    tip_rotation: TipRotation = "cayley",
    nodes: int | None = None,
    series: bool = False,
) -> Model:
    """Build the model of an arm: shape functions, their integrals, frames and coordinate names.

    Parameters
    ----------
    arm
        The arm.
    stiffening
        Whether links are geometrically exact beams, which include dynamic stiffening, or linear
        beams; None selects the arm's own setting.
    tip_rotation
        Rotation of each link's tip: ``cayley``, an exact rotation, or ``first-order``.
    nodes
        Number of nodes along each exact link in excess of its number of shape functions, 1 to 30;
        None chooses it by the loads in the model file.
    series
        Whether links with stiffening are not exact beams, but have positions to second order and
        elastic energy to fourth order in the amplitudes, as before version 0.2; not for sliding
        links.

    Returns
    -------
    Model
        The model, whose arrays are read-only.

    Raises
    ------
    ModelError
        If the arm is invalid, shape functions cannot be built, or a start value refers to an
        unknown coordinate.
    """
    if isinstance(arm, Model):
        raise ModelError(
            "arm: must be an Arm, got a Model. Pass the arm that the model was built from."
        )
    arm = validated(arm)
    if stiffening is not None and not isinstance(stiffening, bool | np.bool_):
        raise ModelError(f"stiffening: must be True, False or None, got {shown(stiffening)}")
    choices = get_args(TipRotation)
    if not is_word(tip_rotation, choices):
        raise ModelError(
            f"tip_rotation: must be one of {', '.join(choices)}, got {shown(tip_rotation)}"
        )
    if nodes is not None and (type(nodes) is not int or not 1 <= nodes <= MOST_NODES):
        raise ModelError(f"nodes: must be a number from 1 to {MOST_NODES}, got {shown(nodes)}")
    stiffening_used = arm.stiffening if stiffening is None else bool(stiffening)
    theory = Theory(stiffening_used, exact=tip_rotation == "cayley" and not series, nodes=nodes)
    model = assemble(arm, theory, tip_rotation, chosen_shapes(single_spans(arm)))
    model = replace(model, series=series)
    freeze(model)
    return model
