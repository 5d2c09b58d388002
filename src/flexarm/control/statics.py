"""Driven joints of an arm, and its static equilibria: deflection, inverse kinematics of the tip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arguments import (
    WithUnit,
    in_unit,
    refused,
    renamed,
    require_array,
    require_flag,
    require_kind,
    require_known,
    require_mapping,
    require_number,
    require_numbers,
    require_shaped,
    require_word,
)
from flexarm.arm import Arm
from flexarm.arm.side_files import files_of
from flexarm.constants import NEGLIGIBLE
from flexarm.control.constants import LARGEST_ERROR
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import formulation
from flexarm.io.model_file import from_data, validated
from flexarm.linear.balance import Balance, Constraint, Push, balance
from flexarm.linear.tangent import OperatingPoint, Tangent, moves
from flexarm.linear_model import StateMatrices
from flexarm.mechanics.kinematics import end_frame
from flexarm.mechanics.loads import hub_row, input_matrix, input_names
from flexarm.model import Model, start_state, undeformed
from flexarm.spatial import Array, Expr, angles_from_rotation, base_rotation_matrix

Side = Literal["motor", "link"]
Gain = WithUnit | Sequence[WithUnit] | Array


@dataclass(frozen=True)
class Drives:
    """The k driven joints of an arm, with input matrix and coordinate selection matrices."""

    names: tuple[str, ...]  # names of the joints, in the order of the inputs
    inputs: Array  # matrix B from inputs to generalised forces, (n, k)
    gear: Array  # joint torque or force per unit of input, (k,): gear ratio, or 1
    motors: Array  # rows of the coordinates at the motor's side of the joints, (k, n)
    hubs: Array  # rows of the coordinates at the link's side of the joints, (k, n)

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
    return require_number("stiffness_error", value, least=NEGLIGIBLE - 1, largest=LARGEST_ERROR)


def remaining(model: Model) -> list[int]:
    """Return the indices of coordinates that are neither of a free base nor prescribed."""
    first = 6 if model.floats else 0
    return [i for i in range(first, model.size) if i not in model.prescribed]


def felt_by_joints(model: Model) -> Model:
    """Return the model, without gravity if its base is free, since base and arm fall together."""
    return replace(model, gravity=np.zeros(3), orbit=0.0) if model.floats else model


def untouched(model: Model) -> Model:
    """Return the model, without contacts if its base is free, as reference motions assume."""
    if not isinstance(model, Model) or not model.floats or not model.arm.contacts:
        return model
    arm = model.arm.model_copy(update={"contacts": ()})
    return replace(model, arm=arm, points=replace(model.points, contacts=(), obstacles=()))


def drives(model: Model) -> Drives:
    """Return the driven joints of an arm, after checking that control laws apply to the arm.

    Raises
    ------
    ModelError
        If the arm has no driven joint or has a spherical joint, or if contacts or springs between
        points act on an arm with a free base.
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
    """Return symbolic inputs u at which an output affine in u has its target value, (k,)."""
    rest = ca.substitute(output, u, ca.SX.zeros(u.shape[0]))
    return ca.solve(ca.jacobian(output, u), target - rest)


class Statics:
    """Static equilibria of an arm under gravity and joint springs, without external wrenches.

    A moving base has its position of time 0. A free base falls with the arm, so that gravity causes
    no deflection.

    Parameters
    ----------
    model
        The arm.
    sag
        Whether links bend and transmissions wind up under load; if false, the arm is rigid.
    """

    def __init__(self, model: Model, *, sag: bool = True) -> None:
        self.drives = drives(model)
        require_flag("sag", sag)
        self.model = felt_by_joints(model)
        springs = any(axis.acts.spring is not None for axis in model.axes)
        self.loaded = sag and (bool(np.any(self.model.gravity)) or springs)
        moving = remaining(model)
        if not self.loaded:  # the driven joints alone
            moving = [axis.index for axis in model.axes if axis.driven]
        self.columns = np.eye(model.size)[:, moving]

    @cached_property
    def tangent(self) -> Tangent | None:
        """Linearisation of the equations of motion; None if no load acts on the arm."""
        return Tangent(self.model, wrenches=False) if self.loaded else None

    @renamed(joints="at")
    def at_joints(self, at: Mapping[str, WithUnit], guess: Array | None = None) -> Array:
        """Return the equilibrium coordinates with driven joints at given positions, shape (n,).

        Parameters
        ----------
        at
            Link-side positions of driven joints by name; joints without a value are as in
            ``guess``.
        guess
            Initial guess of the coordinates; the arm's initial state if None.

        Returns
        -------
        Array
            Coordinates of the bent arm.
        """
        expected = "positions of driven joints by name"
        require_mapping("at", at, expected, optional=False)
        joints = require_numbers("at", at, expected, units=self.model.axis_units)
        for name in joints:
            require_known(name, self.drives.names, "driven joint")
        q = self._begin(guess)
        positions = self.drives.hubs @ q
        for k, name in enumerate(self.drives.names):
            positions[k] = joints.get(name, positions[k])
        return self._solve(self._hubs, positions, q, "the joints")

    def at_tip(self, point: Array, axes: str = "xyz", guess: Array | None = None) -> Array:
        """Return the equilibrium coordinates with the tip at a given point, shape (n,).

        Parameters
        ----------
        point
            Position [m], one number per axis.
        axes
            Axes of the point among x, y, z. If there are fewer axes than driven joints, the posture
            nearest to ``guess`` is returned.
        guess
            Initial guess of the coordinates; the arm's initial state if None.

        Returns
        -------
        Array
            Coordinates of the bent arm.
        """
        require_axes(axes)
        target = require_point("point", point, axes)
        return self._solve(self._tip(axes), target, self._begin(guess), "the tip")

    def effort(self, q: Array) -> Array:
        """Return the inputs that hold the arm at rest at coordinates q, shape (k,)."""
        q = require_shaped("q", q, (self.model.size,))
        force = self._about(q).force(self._rest(q))
        return np.asarray(np.linalg.lstsq(self.drives.inputs, force)[0])

    def moved_by_joints(self, q: Array) -> Array:
        """Return derivatives of the equilibrium with respect to driven joint positions, (n, k)."""
        if not self.loaded:
            return rigid_motions(self.model)[:, [axis.driven for axis in self.model.axes]]
        matrix, rows, size = self._about(q).matrix(self._rest(q))
        right = np.diag(1 / rows)[:, len(size) :]
        solved = np.linalg.lstsq(matrix, right, rcond=1e-14)[0][: len(size)]
        return np.asarray(self.columns @ (solved / size[:, None]))

    def _begin(self, guess: Array | None) -> Array:
        """Return the initial guess of the coordinates, by default the arm's start, shape (n,)."""
        if guess is None:
            return start_state(self.model)[0]
        return require_shaped("guess", guess, (self.model.size,))

    def _rest(self, q: Array) -> OperatingPoint:
        return OperatingPoint(q, np.zeros(self.model.size), np.zeros(len(self.drives.names)))

    def _about(self, q: Array) -> Balance:
        """Return the balance with link-side positions of the driven joints held at those of q."""
        hubs = self._held(self._hubs, self.drives.hubs @ q)
        return Balance(self.tangent, self.columns, hubs)

    def _held(self, function: Push, target: Array) -> Constraint:
        return Constraint(function, target, self.drives.inputs, self.model.reach)

    def _solve(self, function: Push, target: Array, q: Array, name: str) -> Array:
        """Return the equilibrium coordinates q with ``function(q) = target``, shape (n,).

        Inputs balance the generalised force at q. Error messages contain ``name``, the target's
        name.
        """
        q = q if self.loaded else undeformed(self.model, q)
        constraint = self._held(function, target)
        try:
            q = balance(self.tangent, self._rest(q), self.columns, constraint=constraint)[0].q
        except FlexarmError:
            raise FlexarmError(
                f"no equilibrium was found with {name} at {np.round(target, 6).tolist()}. The "
                "point may be out of reach, or the arm may be singular there. Start from "
                "another posture."
            ) from None
        for axis in self.model.axes:  # motors of rigid transmissions follow their joints
            if axis.motor is not None and not self.loaded:
                q[axis.motor] = q[axis.index]
        return q

    def _hubs(self, q: Array) -> tuple[Array, Array]:
        return self.drives.hubs @ q, self.drives.hubs

    def _tip(self, axes: str) -> Push:
        q = ca.SX.sym("q", self.model.size)
        where = end_frame(self.model, q)[1][["xyz".index(a) for a in axes]]
        tip = ca.Function("tip", [q], [where, ca.densify(ca.jacobian(where, q))])

        def evaluate(q: Array) -> tuple[Array, Array]:
            value, slope = (np.array(result) for result in tip(q))
            return value.ravel(), slope

        return evaluate


def gravity_force(model: Model, q: Expr) -> Expr:
    """Return the symbolic generalised force that balances gravity at rest, shape (n,)."""
    composite = formulation("composite", model).formulation
    return composite.inertial_expression(q, ca.SX(model.size, 1), None, gravity=True)


def rigid_motions(model: Model) -> Array:
    """Return the coordinate rates of the rigid arm per unit joint rate, (n, joints).

    Motors move with their joints.
    """
    columns = np.zeros((model.size, len(model.axes)))
    for k, axis in enumerate(model.axes):
        columns[[i for i in (axis.index, axis.motor) if i is not None], k] = 1.0
    return columns


def require_axes(axes: object) -> None:
    """Raise an error unless ``axes`` contains distinct letters of x, y, z."""
    if not (isinstance(axes, str) and axes and set(axes) <= set("xyz")) or (
        len(set(axes)) < len(axes)
    ):
        raise refused("axes", axes, "some of x, y, z, each once, such as 'xy'")


def require_point(name: str, value: object, axes: str) -> Array:
    """Return a point as an array with one entry per axis, or raise an error."""
    return require_shaped(name, value, (len(axes),))


def start_at(arm: Arm, model: Model, q: Array) -> Arm:
    """Return the arm with its initial state at rest at given coordinates.

    Parameters
    ----------
    arm, model
        The arm, and its model by `flexarm.build`.
    q
        Coordinates in the order of ``model.names``, (n,).

    Returns
    -------
    Arm
        The arm with ``start: stated`` and these coordinates; a free base keeps its velocity and
        spin.
    """
    arm = validated(arm)
    require_kind("model", model, Model, "a Model, as flexarm.build(arm) returns")
    q = require_array("q", q)
    if q.shape != (model.size,) or len(arm.links) != len(model.whole_links):
        raise FlexarmError(
            f"q: must be {model.size} numbers, one per coordinate of the arm, got shape {q.shape}"
        )
    if model.floats and np.abs(q[:6]).max() > 1e-9:
        raise FlexarmError(
            f"q: the coordinates {', '.join(model.names[:6])} of a free base must be 0, since "
            f"it starts at its reference, got {q[:6].tolist()}. Change base.position and "
            "base.rotation instead."
        )
    links = []
    for whole, link in zip(model.whole_links, arm.links, strict=True):
        data, part = link.model_dump(exclude_unset=True), whole.spans[0]
        if part.motion.has_reference:
            turned = part.motion.attitude @ base_rotation_matrix(q[list(part.coordinates)])
            data["joint"]["start"] = {"rotation": angles_from_rotation(turned)}
        for axis in part.axes:
            if axis.prescribed or part.motion.has_reference:
                continue
            start = {"position": float(q[axis.index])}
            if axis.motor is not None:
                start["motor_position"] = float(q[axis.motor])
            of_axis = data["joint"].setdefault(axis.label, {}) if axis.label else data["joint"]
            of_axis["start"] = start
        if link.flexible:
            names = model.names[whole.modes]
            data["start"] = {
                name.removeprefix(f"{whole.name}."): float(value)
                for name, value in zip(names, q[whole.modes], strict=True)
            }
            data["start_speed"] = {}
            data.pop("start_curve", None)
        try:
            links.append(from_data(type(link), data, files_of(link)))
        except ModelError as error:
            raise FlexarmError(f"q: {whole.name}: {str(error).splitlines()[0]}") from None
    return arm.model_copy(update={"links": tuple(links), "start": "stated"})


def decoupled(tangent: Tangent, driven: Drives, q: Array, effort: Array) -> StateMatrices:
    """Return the linear state-space model about an equilibrium, under the decoupling law.

    States are the r coordinates that belong neither to a free base nor to prescribed motions, and
    their rates. Inputs are the commanded accelerations of the driven coordinates. The position of a
    free base is no state, because it has no effect on the arm's motion about rest.
    """
    model = tangent.model
    states, (free, columns) = remaining(model), moves(model, set())
    n, rows = len(states), driven.motors[:, states]
    point = OperatingPoint(q, np.zeros(model.size), effort)
    a = tangent.accelerations(point, columns)
    whole = tangent.matrices(point, a).along(free, columns).state_space()
    # Free-base coordinates come first in q; prescribed coordinates are no states.
    size = len(free)
    chosen = np.concatenate([np.arange(size - n, size), np.arange(2 * size - n, 2 * size)])
    A, inputs = whole.A[np.ix_(chosen, chosen)], whole.B[-n:]
    back = inputs @ np.linalg.inv(rows @ inputs)
    A[n:] -= back @ rows @ A[n:]
    return StateMatrices(A, np.vstack([np.zeros_like(back), back]))


def carried_mass(model: Model, mass: Array) -> Array:
    """Return the mass matrix of the r coordinates of `remaining`, shape (r, r).

    The coordinates of a free base are eliminated by its momentum balance.
    """
    states = remaining(model)
    reduced: Array = mass[np.ix_(states, states)]
    if model.floats:
        pulled = np.linalg.solve(mass[:6, :6], mass[:6][:, states])
        reduced = reduced - mass[states][:, :6] @ pulled
    return reduced
