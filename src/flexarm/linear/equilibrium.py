"""Static deflection of an arm, and deflection in steady rotation."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flexarm.accuracy.defect import Motion
from flexarm.accuracy.integration import IntegrationError
from flexarm.accuracy.stated import RunErrors, run_errors
from flexarm.accuracy.validity import validity
from flexarm.arguments import (
    WithUnit,
    renamed,
    require_flag,
    require_names,
    require_number,
    require_numbers,
)
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.linear.balance import Push, balance
from flexarm.linear.constants import STEADY_CHANGE
from flexarm.linear.refined import rest_errors
from flexarm.linear.tangent import OperatingPoint, Tangent, moves
from flexarm.model import LinkModel, Model, build, prescribed_motion, start_state, undeformed
from flexarm.spatial import Array


@dataclass(frozen=True, repr=False)
class Equilibrium(Summarised):
    """State of rest of an arm, or of steady motion of its joints.

    Attributes
    ----------
    point
        The state and the holding inputs; ``q`` and ``u`` are the coordinates and inputs.
    effort
        Generalised holding force on every coordinate, (n,); 0 for coordinates that are not held.
    iterations
        Number of steps of Newton's method.
    notes
        Sentences on loads without a support, motions that are not steady, and slopes beyond the
        model.
    straight
        Whether links are kept straight, though loads may bend them.
    settled
        Names of the joints that are not held.
    """

    model: Model
    point: OperatingPoint
    effort: Array
    iterations: int
    notes: tuple[str, ...]
    straight: bool = False
    settled: tuple[str, ...] = ()

    @cached_property
    def errors(self) -> RunErrors:
        """Errors of model and shapes relative to the deflections, by comparison with a refined arm.

        They also exist for steadily rotating joints.
        """
        model, point = self.model, self.point
        rows = np.array([0.0]), point.q[None], point.v[None], point.u[None]
        bending = validity(model, *rows[:2])
        held_joints = {axis.name for axis in model.axes} - set(self.settled)
        return run_errors(
            model, Motion(*rows, np.zeros((1, 0, 3))), bending, solved=IntegrationError(0.0),
            at_rest=lambda: rest_errors(model, point, held_joints),
        )  # fmt: skip

    @property
    def q(self) -> Array:
        """Coordinates, (n,), in the order of ``model.names``."""
        return self.point.q

    @property
    def u(self) -> Array:
        """Inputs [N m], [N] that hold the arm, one per driven joint."""
        return self.point.u

    def _summary(self) -> Summary:
        names = zip(self.model.names, self.point.q, self.model.units, strict=True)
        rows = [(name, f"{value:.6g}", unit) for name, value, unit in names]
        inputs = ", ".join(f"{name} {value:.4g}" for name, value in self.holding().items())
        title = f"Equilibrium of {self.model.arm.name}"
        lines = (f"held by {inputs or 'nothing'}", *self.notes)
        return Summary(title, lines, ("coordinate", "value", "unit"), rows)

    def deflections(self) -> dict[str, float]:
        """Return all coordinates of the equilibrium by name."""
        return dict(zip(self.model.names, self.point.q.tolist(), strict=True))

    def holding(self) -> dict[str, float]:
        """Return the inputs that hold the arm [N m], [N], by joint."""
        names = [axis.name for axis in self.model.axes if axis.driven]
        return dict(zip(names, self.point.u.tolist(), strict=True))


@renamed({"positions": "at"}, joints="at")
def equilibrium(
    arm: Arm | Model,
    *,
    at: Mapping[str, WithUnit] | None = None,
    speeds: Mapping[str, WithUnit] | None = None,
    settle: Sequence[str] = (),
    straight: bool = False,
    t: WithUnit = 0.0,
) -> Equilibrium:
    """Compute the static deflection of an arm under gravity and loads with its joints held.

    Steady rotation of joints is included.

    Parameters
    ----------
    arm
        The arm, or its model.
    at
        Positions of held joints [rad], [m], by name; the others are at their start.  Of an elastic
        joint the motor is held.
    speeds
        Speeds [rad/s], [m/s] of joints in steady motion; the others are at rest.
    settle
        Joints that are not held, by name: they move to a stable equilibrium.
    straight
        Whether to keep the links straight.
    t
        Time [s] of wrenches and prescribed positions.

    Returns
    -------
    Equilibrium
        The state and the holding inputs.

    Raises
    ------
    FlexarmError
        If a name is wrong, or no equilibrium is found.
    """
    model = arm if isinstance(arm, Model) else build(arm)
    if model.orbit:
        raise FlexarmError(
            "an equilibrium cannot be computed for a base in orbit, since a base at rest need "
            "not stay there"
        )
    positions, rates = positions_and_speeds(model, at, speeds)
    require_names("settle", settle, "joints")
    require_flag("straight", straight)
    t = require_number("t", t, unit="s")
    return settle_down(Tangent(model), positions, rates, settle, straight=straight, t=t)


def positions_and_speeds(
    model: Model, at: Mapping[str, WithUnit] | None, speeds: Mapping[str, WithUnit] | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Return validated positions and speeds of joints by name, in SI units."""
    units = model.axis_units
    rates = {name: f"{unit}/s" for name, unit in units.items()}
    return (
        require_numbers("at", at, "positions by joint", units=units),
        require_numbers("speeds", speeds, "speeds by joint", units=rates),
    )


def settle_down(
    tangent: Tangent,
    joints: Mapping[str, float],
    speeds: Mapping[str, float],
    settle: Sequence[str] = (),
    *,
    straight: bool = False,
    t: float = 0.0,
    push: Push | None = None,
    rates: Array | None = None,
) -> Equilibrium:
    """Compute an equilibrium from compiled equations; arguments as for `equilibrium`.

    ``push`` is an additional force on joints that are free to settle; ``rates`` (n,) replace the
    speeds.
    """
    model = tangent.model
    q, v = held_state(model, joints, speeds, t)
    v = v if rates is None else rates
    names = {axis.name for axis in model.axes}
    for name in settle:
        _require_joint(name, names)
    locked = names - set(settle)
    _, columns = moves(model, locked)
    columns = columns[:, ~_base_columns(model, columns)]
    point = OperatingPoint(q, v, np.zeros(tangent.inputs.shape[1]), t)
    no_acceleration, steps = np.zeros(model.size), 0
    largest_force = float(np.abs(tangent.force(point, no_acceleration)).max(initial=0.0))
    if not straight and columns.shape[1]:
        point, steps = balance(tangent, point, columns, stable=bool(settle), push=push)
    effort = tangent.force(point, no_acceleration)
    largest_force = max(largest_force, float(np.abs(effort).max(initial=0.0)))
    u = np.asarray(np.linalg.lstsq(tangent.inputs, effort, rcond=None)[0], dtype=np.float64)
    point = OperatingPoint(point.q, v, u, t)
    unbalanced = effort - tangent.inputs @ u
    unbalanced[np.abs(unbalanced) <= NEGLIGIBLE * largest_force] = 0.0
    notes = _unbalanced_notes(model, unbalanced, straight=straight) + _unsteady_notes(
        tangent, point, largest_force
    )
    if not straight:
        notes += list(validity(model, np.zeros(1), point.q[None]).warnings)
    return Equilibrium(model, point, effort, steps, tuple(notes), straight, tuple(settle))


def held_state(
    model: Model, joints: Mapping[str, float], speeds: Mapping[str, float], t: float
) -> tuple[Array, Array]:
    """Return coordinates and rates, (n,) each, for given joints and undeformed links."""
    q, v = undeformed(model, start_state(model)[0]), np.zeros(model.size)
    prescribed = list(model.prescribed)
    q[prescribed] = prescribed_motion(model, t)[0]
    axes = {axis.name: axis for axis in model.axes}
    for axis in model.axes:
        if axis.motor is not None:
            q[axis.index] = q[axis.motor]
    for values, target in ((joints, q), (speeds, v)):
        for name, value in values.items():
            _require_joint(name, axes)
            if not np.isfinite(value):
                raise FlexarmError(f"{name}: must be a finite number, got {value}")
            axis = axes[name]
            target[axis.index] = value
            if axis.motor is not None:
                target[axis.motor] = value
            if target is q:
                _require_in_range(model.links[axis.link], value)
    return q, v


def _require_joint(name: str, names: Mapping[str, object] | Set[str]) -> None:
    if name not in names:
        raise FlexarmError(
            f"there is no joint '{name}'. The joints are {', '.join(sorted(names)) or 'none'}."
        )


def _require_in_range(part: LinkModel, value: float) -> None:
    if part.range is None:
        return
    low, high = part.range
    if not low - 1e-9 * high <= value <= high * (1 + 1e-9):
        raise FlexarmError(
            f"{part.joint_name}: must be {low:g} to {high:g} m, the range of lengths that the "
            f"shapes are built for, got {value:g} m. Change the position, or the limits of the "
            "joint."
        )


def _base_columns(model: Model, columns: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of the coordinates of a free base, which an equilibrium excludes."""
    if not model.floats:
        return np.zeros(columns.shape[1], dtype=bool)
    return np.asarray(np.any(columns[:6] != 0, axis=0))


def _unbalanced_notes(model: Model, unbalanced: Array, *, straight: bool) -> list[str]:
    """Return sentences on coordinates and links whose loads are not balanced."""
    notes = []
    for i, name in enumerate(model.names):
        free = i < 6 and model.floats
        for axis in model.axes:
            if i == axis.index and axis.motor is None:
                free = axis.acts.actuation == "free"
        if free and unbalanced[i]:
            unit = "N m" if model.units[i] == "rad" else "N"
            notes.append(
                f"no equilibrium: {name} is free and would need {unbalanced[i]:.4g} {unit} to stay"
            )
    amplitudes = [i for part in model.links for i in range(part.modes.start, part.modes.stop)]
    if straight and np.any(unbalanced[amplitudes]):
        notes.append("links are taken as straight, so the loads that bend them are not balanced")
    return notes


def _unsteady_notes(tangent: Tangent, point: OperatingPoint, size: float) -> list[str]:
    """Return a sentence if the forces change along the joints' motion, else an empty list."""
    speed = float(np.abs(point.v).max(initial=0.0))
    if speed == 0:
        return []
    no_acceleration = np.zeros(tangent.model.size)
    gradient = tangent.matrices(point, no_acceleration).stiffness @ (point.v / speed)
    free = [i for i in range(len(gradient)) if i not in tangent.model.prescribed]
    if np.any(np.abs(gradient[free]) > STEADY_CHANGE * size):
        return [
            "not a steady motion: forces change as the joints move on, and the modes "
            "are those of the instant"
        ]
    return []
