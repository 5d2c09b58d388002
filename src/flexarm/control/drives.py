"""Driven joints of an arm: input matrix and the motor-side and link-side coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arguments import (
    WithUnit,
    in_unit,
    require_array,
    require_kind,
    require_number,
    require_word,
)
from flexarm.control.constants import LARGEST_ERROR
from flexarm.errors import FlexarmError, ModelError
from flexarm.mechanics.loads import hub_row, input_matrix, input_names
from flexarm.model import Model
from flexarm.spatial import Array, Expr

Side = Literal["motor", "link"]
Gain = WithUnit | Sequence[WithUnit] | Array


@dataclass(frozen=True)
class Drives:
    """The k driven joints of an arm, with input matrix and coordinate selection matrices."""

    names: tuple[str, ...]  # names of the joints, in the order of the inputs
    inputs: Array  # matrix B from inputs to generalised forces, (n, k)
    gear: Array  # effort at the joint per unit of input, (k,): not 1 of inputs at the motor
    motors: Array  # rows of the coordinates at the motor's side of the joints, (k, n)
    hubs: Array  # rows of the coordinates at the link's side; other rows for elastic joints only

    def rows(self, side: Side) -> Array:
        """Return the matrix that selects the motor-side or link-side coordinates, shape (k, n)."""
        require_word("side", side, ("motor", "link"))
        return self.motors if side == "motor" else self.hubs

    def gains(self, name: str, value: Gain, unit: str) -> Array:
        """Return a non-negative gain as an array with one entry per driven joint, shape (k,).

        A single number applies to all joints. Text is converted to the unit, see
        `flexarm.arguments.in_unit`.
        """
        values = require_array(name, in_unit(name, value, unit))
        if values.shape not in ((), (len(self.names),)):
            raise FlexarmError(
                f"{name}: must be one number or {len(self.names)} ({', '.join(self.names)}), "
                f"got an array of shape {values.shape}"
            )
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise FlexarmError(f"{name}: must be >= 0, got {values.tolist()}")
        return np.broadcast_to(values, (len(self.names),)).copy()


def require_stiffness_error(value: object) -> float:
    """Return a relative stiffness error as a number, or raise an error if it is -1 or less."""
    error = require_number("stiffness_error", value, least=-1.0, largest=LARGEST_ERROR)
    if error <= -1:
        raise FlexarmError(f"stiffness_error: must be above -1, got {error:g}")
    return error


def remaining(model: Model) -> list[int]:
    """Return the indices of coordinates that are neither of a free base nor prescribed."""
    first = 6 if model.floats else 0
    return [i for i in range(first, model.size) if i not in model.prescribed]


def felt_by_joints(model: Model) -> Model:
    """Return the model; without gravity if its base is free, since base and arm fall together."""
    return replace(model, gravity=np.zeros(3), orbit=0.0) if model.floats else model


def untouched(model: Model) -> Model:
    """Return the model; without contacts if its base is free, as reference motions assume."""
    if not isinstance(model, Model) or not model.floats or not model.arm.contacts:
        return model
    arm = model.arm.model_copy(update={"contacts": ()})
    return replace(model, arm=arm, points=replace(model.points, contacts=()))


def drives(model: Model) -> Drives:
    """Return the driven joints of an arm, after checking that control laws apply to the arm.

    Raises
    ------
    ModelError
        If the arm has no driven joint, or forces act on it that laws of (t, q, v) do not include.
    """
    require_kind("model", model, Model, "a Model, as flexarm.build(arm) returns", ModelError)
    if any(part.motion.has_reference for part in model.links):
        raise ModelError(
            "control laws are for revolute, prismatic and universal joints, and this arm has a "
            "spherical joint. Replace it by a universal joint on a link without length and a "
            "revolute joint about x."
        )
    if model.floats and (model.arm.contacts or model.arm.springs):
        raise ModelError(
            "the arm of a control law on a free base cannot have contacts or springs between "
            "points, since they hold the base. Leave them out of that arm. Laws of a motion, "
            "such as joint_move, leave them out by themselves."
        )
    names = input_names(model)
    if not names:
        raise ModelError("the arm has no driven joint. Write 'actuation: torque' for at least one.")
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


def solve_input(output: Expr, u: Expr, target: Expr) -> Expr:
    """Solve an affine equation symbolically for the inputs of a target output, (k,)."""
    rest = ca.substitute(output, u, ca.SX.zeros(u.shape[0]))
    return ca.solve(ca.jacobian(output, u), target - rest)
