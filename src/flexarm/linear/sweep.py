"""Modes over a range of joint positions or speeds, tracked between neighbouring points."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from flexarm.arguments import (
    in_unit,
    is_number,
    listed,
    refused,
    renamed,
    require_flag,
    require_mapping,
)
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.linear.constants import EQUAL_FREQUENCIES, HALVINGS, MATCH_ASSURANCE
from flexarm.linear.equilibrium import settle_down
from flexarm.linear.following import shapes_following
from flexarm.linear.friction import DryFriction, FrictionChoice
from flexarm.linear.modes import Mode, Modes, State, joint_states, modes_about
from flexarm.linear.tangent import Tangent
from flexarm.linear.tracks import Sweep, Track
from flexarm.model import Model, build
from flexarm.spatial import Array

MISSING = complex(np.nan, np.nan)
Solve = Callable[[Array], Modes]


@renamed({"positions": "at"})
def sweep(
    arm: Arm | Model,
    *,
    at: Mapping[str, float | Sequence[float] | Array] | None = None,
    speeds: Mapping[str, float | Sequence[float] | Array] | None = None,
    joints: State | Literal["auto"] | Mapping[str, State] = "auto",
    straight: bool = False,
    friction: FrictionChoice = "off",
    friction_speed: float | None = None,
    following: bool = False,
) -> Sweep:
    """Track the modes of an arm over positions or speeds of its joints.

    Parameters
    ----------
    arm
        The arm, or its model.
    at, speeds
        Positions and speeds by joint, as for `modes`; one joint has a sequence of speeds, or one
        or two joints have a sequence of positions.
    joints, straight, friction, friction_speed, following
        As for `modes`.

    Returns
    -------
    Sweep
        One track per mode: frequency and damping over the points.

    Notes
    -----
    Modes of neighbouring points are matched by the assurance criterion in the inner product of
    the mass matrix, best overall (Kuhn-Munkres).  If a match is poor the step is halved, so that
    modes are tracked through crossings, and change their character where curves veer.
    """
    model = arm if isinstance(arm, Model) else build(arm)
    require_flag("straight", straight)
    units = model.axis_units
    at = {
        name: in_unit(f"at: {name}", entry, units.get(name, "1"))
        for name, entry in require_mapping("at", at, "positions by joint").items()
    }
    speeds = {
        name: in_unit(f"speeds: {name}", entry, f"{units.get(name, '1')}/s")
        for name, entry in require_mapping("speeds", speeds, "speeds by joint").items()
    }
    ranges = [
        (kind, name, _range(f"{kind}: {name}", values))
        for kind, by_joint in (("at", at), ("speeds", speeds))
        for name, values in by_joint.items()
        if not is_number(values)
    ]
    kinds = {kind for kind, _, _ in ranges}
    if not ranges or len(ranges) > 2 or len(kinds) > 1 or (kinds == {"speeds"} and len(ranges) > 1):
        raise FlexarmError(
            "sweep: must give a range of speeds for one joint, or ranges of positions for one "
            "or two joints"
        )
    for _, name, values in ranges:
        if len(values) < 2:
            raise FlexarmError(f"sweep: {name} must have at least 2 values, got {len(values)}")
    states = joint_states(model, joints, given=True)
    require_flag("following", following)
    dry_friction = DryFriction(friction, friction_speed)
    fixed_tangent = None if following else Tangent(model, friction=dry_friction)
    notes: dict[str, None] = {}
    notices: dict[str, None] = {}

    def solve(point: Array) -> Modes:
        joints_at: dict[str, Any] = {"at": dict(at), "speeds": dict(speeds)}
        for (kind, name, _), value in zip(ranges, point, strict=True):
            joints_at[kind][name] = float(value)
        tangent = fixed_tangent or Tangent(
            build(shapes_following(model.arm, joints_at["at"])), friction=dry_friction
        )
        equilibrium = settle_down(tangent, joints_at["at"], joints_at["speeds"], straight=straight)
        notes.update(dict.fromkeys(equilibrium.notes))
        point_modes = modes_about(tangent, equilibrium, states)
        notices.update(dict.fromkeys(point_modes.notices))
        return point_modes

    axes = [values for _, _, values in ranges]
    tracks = _line(solve, axes[0]) if len(axes) == 1 else _map(solve, axes[0], axes[1])
    units = {axis.name: axis.unit for axis in model.axes}
    kind: Literal["at", "speeds"] = "speeds" if kinds == {"speeds"} else "at"
    rate_unit = "/s" if kind == "speeds" else ""
    names = tuple(name for _, name, _ in ranges)
    return Sweep(
        model, names, tuple(units[name] + rate_unit for name in names), kind, tuple(axes),
        tuple(tracks), tuple(notes), tuple(notices),
    )  # fmt: skip


def _range(name: str, values: object) -> Array:
    """Return the values of a joint's range as an array, (P,)."""
    numbers = list(values) if isinstance(values, np.ndarray) else listed(values)
    if numbers is None or not all(is_number(number) for number in numbers):
        raise refused(name, values, "a number, or a list of finite numbers")
    return np.array(numbers, dtype=float)


class _Follower:
    """Modes tracked through a sweep, at the current point, with names; None if a mode ended."""

    def __init__(self, solve: Solve, place: Array) -> None:
        self.solve, self.place, self.last = solve, place, solve(place)
        self.modes: list[Mode | None] = list(self.last.elastic())
        self.names = [mode.name for mode in self.last.elastic()]

    def copy(self) -> "_Follower":
        """Return an independent copy of the tracked modes at the current point."""
        follower = copy(self)
        follower.modes, follower.names = list(self.modes), list(self.names)
        return follower

    def go(self, place: Array, depth: int = 0) -> None:
        """Track the modes to another point, in halved steps if the mode shapes change much."""
        from scipy.optimize import linear_sum_assignment  # takes long to import

        modes_there = self.solve(place)
        indices = [k for k, mode in enumerate(self.modes) if mode is not None]
        old_modes = [mode for mode in self.modes if mode is not None]
        masses = self.last.mass, modes_there.mass
        new_modes = _rotated_towards(old_modes, modes_there.elastic(), masses)
        assurance = _assurance(old_modes, new_modes, masses)
        rows, columns = linear_sum_assignment(-assurance)
        is_poor = bool(np.any(assurance[rows, columns] < MATCH_ASSURANCE)) and len(
            new_modes
        ) == len(old_modes)
        if is_poor and depth < HALVINGS:
            self.go((self.place + place) / 2, depth + 1)
            self.go(place, depth + 1)
            return
        tracked: list[Mode | None] = [None] * len(self.modes)
        for row, column in zip(rows, columns, strict=True):
            tracked[indices[row]] = new_modes[column]
        for k, mode in enumerate(new_modes):
            if k not in columns:
                tracked.append(mode)
                namesakes = sum(name.startswith(mode.name) for name in self.names)
                self.names.append(f"{mode.name} ({namesakes + 1})" if namesakes else mode.name)
        self.place, self.last, self.modes = place, modes_there, tracked

    def values(self) -> list[complex]:
        """Return the tracked eigenvalues at the current point; NaN for modes that have ended."""
        return [MISSING if mode is None else mode.eigenvalue for mode in self.modes]


def _line(solve: Solve, axis: Array) -> list[Track]:
    """Return the tracks of the modes over one range of values."""
    follower = _Follower(solve, axis[:1])
    rows = [follower.values()]
    for value in axis[1:]:
        follower.go(np.array([value]))
        rows.append(follower.values())
    count = len(follower.names)
    table = np.array([row + [MISSING] * (count - len(row)) for row in rows])
    return [Track(name, table[:, k]) for k, name in enumerate(follower.names)]


def _map(solve: Solve, first_values: Array, second_values: Array) -> list[Track]:
    """Return the tracks of the modes over a grid of two ranges.

    Modes are tracked along the first range, and from each of its points along the second.
    """
    follower = _Follower(solve, np.array([first_values[0], second_values[0]]))
    count = len(follower.names)
    table = np.full((len(first_values), len(second_values), count), MISSING)
    for i, value in enumerate(first_values):
        if i:
            follower.go(np.array([value, second_values[0]]))
        runner = follower.copy()
        table[i, 0] = runner.values()[:count]
        for j, second_value in enumerate(second_values[1:], 1):
            runner.go(np.array([value, second_value]))
            table[i, j] = runner.values()[:count]
    return [Track(name, table[:, :, k]) for k, name in enumerate(follower.names[:count])]


def _assurance(old: Sequence[Mode], new: Sequence[Mode], masses: tuple[Array, Array]) -> Array:
    """Compute the modal assurance criterion of old and new modes in the mass matrix, (old, new).

    Values are from 0 to 1. Old shapes are orthogonal to rigid-body motions in the old mass matrix,
    new shapes in the new one. Rigid-body parts of a shape at the other point, which are often
    large, therefore have no effect.
    """
    if not old or not new:
        return np.zeros((len(old), len(new)))
    a, b = (np.array([mode.shape for mode in modes]).T for modes in (old, new))
    cross = [np.abs(a.conj().T @ mass @ b) for mass in masses]
    sizes = [
        np.real(np.einsum("im,ij,jm->m", x.conj(), mass, x))
        for x, mass in zip((a, b), masses, strict=True)
    ]
    return np.asarray(cross[0] * cross[1] / np.outer(*sizes))


def _rotated_towards(
    old: Sequence[Mode], new: Sequence[Mode], masses: tuple[Array, Array]
) -> list[Mode]:
    """Return new modes with shapes of equal frequencies rotated towards the old shapes."""
    result, i = list(new), 0
    while i < len(result):
        j, size = i + 1, abs(result[i].eigenvalue)
        while j < len(result) and abs(abs(result[j].eigenvalue) - size) <= EQUAL_FREQUENCIES * size:
            j += 1
        if j - i > 1 and old:
            block = np.array([mode.shape for mode in result[i:j]]).T
            assurance = _assurance(old, result[i:j], masses).sum(axis=1)
            targets = np.array([old[k].shape for k in np.argsort(-assurance)[: j - i]]).T
            left_vectors, _, right_vectors = np.linalg.svd(block.conj().T @ masses[0] @ targets)
            rotated = block @ left_vectors @ right_vectors if targets.shape[1] == j - i else block
            result[i:j] = [
                replace(mode, shape=shape)
                for mode, shape in zip(result[i:j], rotated.T, strict=True)
            ]
        i = j
    return result
