"""What a controller drives and measures: inputs, and the coordinates of hubs and motors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from flexarm.arguments import (
    WithUnit,
    in_unit,
    is_word,
    refused,
    require_array,
    require_kind,
    require_number,
)
from flexarm.errors import FlexarmError, ModelError
from flexarm.links.base import Array
from flexarm.mechanics.drives import hub_row
from flexarm.mechanics.loads import input_matrix, input_names
from flexarm.model import Model

Side = Literal["motor", "link"]
MOST_ERROR = 1e9  # stiffness overestimated by that much is no stiffness
Gain = WithUnit | Sequence[WithUnit] | Array


@dataclass(frozen=True)
class Drives:
    """The driven joints of an arm, k of them."""

    names: tuple[str, ...]  # their names, in the order of the inputs
    inputs: Array  # matrix B that turns inputs into generalised forces, (n, k)
    # Effort at the joint per unit of input, (k,): not 1 where inputs are on the motor's side.
    gear: Array
    # motors, hubs: rows that give the coordinate on the motor's side and on the link's side of each
    # joint from q, (k, n) each; they differ for elastic joints only.
    motors: Array
    hubs: Array

    def rows(self, side: Side) -> Array:
        """Give the rows of one side, (k, n)."""
        if not is_word(side, ("motor", "link")):
            raise refused("side", side, "'motor' or 'link'")
        return self.motors if side == "motor" else self.hubs

    def gains(self, name: str, value: Gain, unit: str) -> Array:
        """Read a gain that is one number, or one per driven joint; none may be negative, (k,).

        Texts are read in the unit, see `flexarm.arguments.in_unit`.
        """
        given = require_array(name, in_unit(name, value, unit))
        if given.shape not in ((), (len(self.names),)):
            raise FlexarmError(
                f"{name}: must be one number or {len(self.names)} ({', '.join(self.names)}), "
                f"got an array of shape {given.shape}"
            )
        if not np.all(np.isfinite(given) & (given >= 0)):
            raise FlexarmError(f"{name}: must be >= 0, got {given.tolist()}")
        return np.broadcast_to(given, (len(self.names),)).copy()


def require_stiffness_error(value: object) -> float:
    """Refuse what is no fraction by which a stiffness can be overestimated."""
    found = require_number("stiffness_error", value, least=-1.0, largest=MOST_ERROR)
    if found <= -1:
        raise FlexarmError(f"stiffness_error: must be above -1, got {found:g}")
    return found


def remaining(model: Model) -> list[int]:
    """List the coordinates that are left when a free base and what is prescribed are eliminated."""
    first = 6 if model.floats else 0
    return [i for i in range(first, model.size) if i not in model.prescribed]


def felt_by_joints(model: Model) -> Model:
    """Give the arm as its joints feel it: a free base falls with all that it carries."""
    return replace(model, gravity=np.zeros(3), orbit=0.0) if model.floats else model


def untouched(model: Model) -> Model:
    """Give an arm on a free base without its contacts: a motion to follow touches nothing."""
    if not isinstance(model, Model) or not model.floats or not model.arm.contacts:
        return model
    arm = model.arm.model_copy(update={"contacts": ()})
    return replace(model, arm=arm, points=replace(model.points, contacts=()))


def drives(model: Model) -> Drives:
    """Find the driven joints of an arm.

    Raises
    ------
    ModelError
        If the arm has none, or something moves it that a law of (t, q, v) does not know.
    """
    require_kind("model", model, Model, "a Model: make one with flexarm.build(arm)", ModelError)
    if any(part.motion.anchored for part in model.links):
        raise ModelError(
            "control laws are for revolute, prismatic and universal joints: this arm has a "
            "spherical one, whose angles count from an attitude that no law knows; write it as "
            "a universal one on a link without length, and a revolute one about x"
        )
    if model.floats and (model.arm.contacts or model.arm.springs):
        raise ModelError(
            "control laws on a free base know nothing of what holds it: this arm has contacts or "
            "springs between points; leave them out of the law's arm (laws of a motion, such as "
            "joint_move, do so with contacts by themselves)"
        )
    names = input_names(model)
    if not names:
        raise ModelError("no joint is driven: say 'actuation: torque' for at least one")
    axes = [axis for axis in model.axes if axis.driven]
    unit = np.eye(model.size)
    hubs = np.array([hub_row(model, axis) for axis in axes])
    motors = np.array(
        [
            hub if axis.motor is None else unit[axis.motor]
            for hub, axis in zip(hubs, axes, strict=True)
        ]
    )
    matrix = input_matrix(model)
    gear = np.array([matrix[:, k] @ row / (row @ row) for k, row in enumerate(motors)])
    return Drives(names, matrix, gear, motors, hubs)
