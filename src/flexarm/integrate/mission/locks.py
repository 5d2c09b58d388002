"""Joints that are locked for a while and released: one motion in several legs."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.arm import AnyActuated
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.system import instant
from flexarm.links.base import Array
from flexarm.model import Axis, Model

Locks = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class LockedPhase:
    """A part of a motion in which the same joints are locked."""

    begin: float
    end: float
    locked: tuple[str, ...]


def legs(model: Model, locks: Locks, t_end: float) -> list[LockedPhase]:
    """Cut a motion into legs.

    Raises
    ------
    SimulationError
        If a joint cannot be locked, or an interval is none.
    """
    joints = {axis.name: axis for axis in model.axes}
    for name, intervals in locks.items():
        if name not in joints:
            raise SimulationError(f"locks: no joint '{name}': there are {', '.join(joints)}")
        axis = joints[name]
        motion = model.links[axis.link].motion
        if axis.prescribed or axis.motor is not None or motion.grows or motion.anchored:
            raise SimulationError(
                f"locks: {name} cannot be locked: only joints without a motor coordinate can that "
                "are not prescribed, not spherical and do not slide out of their hub"
            )
        for begin, end in intervals:
            if not (0 <= begin < end and end - begin > instant(begin)):
                raise SimulationError(f"locks: {name}: from {begin:g} s to {end:g} s is no time")
    times = instants([t for each in locks.values() for pair in each for t in pair], t_end)
    held = {
        name: [(_instant(times, begin), _instant(times, end)) for begin, end in each]
        for name, each in locks.items()
    }
    return [
        LockedPhase(
            a, b, tuple(name for name, each in held.items() if any(x <= a < y for x, y in each))
        )
        for a, b in pairwise(times)
    ]


def instants(times: Iterable[float], t_end: float) -> list[float]:
    """List 0, the times between and the end in order; those that differ by rounding are one."""
    found = [0.0]
    for t in sorted(times):
        if t - found[-1] > instant(t) and t_end - t > instant(t_end):
            found.append(float(t))
    return [*found, t_end]


def _instant(times: Sequence[float], t: float) -> float:
    """Find the instant that a time belongs to: the end, or the last before it."""
    if times[-1] - t <= instant(times[-1]):
        return times[-1]
    return times[bisect_right(times, t) - 1]


def lock(model: Model, names: Sequence[str]) -> Model:
    """Hold joints of a model: they become prescribed, and everything else stays as it is."""
    if not names:
        return model
    links = []
    for part in model.links:
        axes, joint = [], part.link.joint
        for axis in part.axes:
            if axis.name in names:
                axis = replace(axis, acts=_held(axis.acts))
                joint = _with(joint, axis)
            axes.append(axis)
        link = part.link.model_copy(update={"joint": joint})
        links.append(replace(part, link=link, axes=tuple(axes)))
    held = [axis.index for axis in model.axes if axis.name in names]
    arm = model.arm.model_copy(update={"links": tuple(part.link for part in links)})
    return replace(
        model,
        arm=arm,
        links=tuple(links),
        prescribed=tuple(sorted({*model.prescribed, *held})),
    )


def _held(acts: AnyActuated) -> AnyActuated:
    """Prescribe a standstill to an axis of a joint; nothing that is held needs to stick or run."""
    kept = acts.model_dump(
        exclude_unset=True,
        exclude={"input": True, "start": True, "actuation": True, "servo": True, "brake": True,
                 "drive": {"motor"}},
    )  # fmt: skip
    for part in (kept, kept.get("drive") or {}):
        if (part.get("friction") or {}).get("kind") == "dry":
            del part["friction"]
    still = {"actuation": "prescribed", "motion": {"kind": "constant", "value": 0.0}}
    return type(acts).model_validate(kept | still)


def _with(joint: Any, axis: Axis) -> Any:
    """Put what acts along an axis into the joint that it is of."""
    return joint.model_copy(update={axis.label: axis.acts}) if axis.label else axis.acts


def arrest(
    equation: Equation, q: Array, v: Array, held: Sequence[int]
) -> tuple[Array, float, Array]:
    """Stop coordinates at once, those of a model in which they are held.

    Returns
    -------
    after, given, lost
        Rates after the impulse (n,), the work [J] that it takes from what is prescribed to move,
        and the energy [J] that is dissipated by stopping each coordinate.
    """
    model, held = equation.model, list(held)
    if not held or not np.any(v[held]):
        return v, 0.0, np.zeros(len(held))
    mass = equation.mass_matrix(q)
    open_ = [i for i in range(model.size) if i not in model.prescribed]
    change = np.zeros(model.size)
    change[held] = -v[held]
    change[open_] = np.linalg.solve(mass[np.ix_(open_, open_)], -mass[open_] @ change)
    after = v + change
    after[held] = 0.0
    impulse = mass @ change
    return after, float(after @ impulse), change[held] * impulse[held] / 2
