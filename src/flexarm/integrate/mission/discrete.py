"""Discrete states: what holds an arm, drives it and hangs on its tip between two events."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.arm import AnyActuated
from flexarm.arm.mission import PAYLOAD, Tie
from flexarm.errors import SimulationError
from flexarm.integrate.drivetrain import StickSlip, holders
from flexarm.integrate.mission.bodies import FreeBodyState
from flexarm.integrate.system import instant
from flexarm.links.base import Array
from flexarm.links.ends import central_inertia, tip_inertia
from flexarm.model import Axis, Model
from flexarm.model.contents import freeze
from flexarm.spatial import IDENTITY, Inertia, Pose

FOLLOWED = {"target", "rate"}  # keys of a servo, of which it follows one
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
            raise SimulationError(f"locks: no joint '{name}'. There are {', '.join(joints)}.")
        axis = joints[name]
        motion = model.links[axis.link].motion
        if axis.prescribed or axis.motor is not None or not motion.lockable:
            raise SimulationError(
                f"locks: {name} cannot be locked. Joints can be locked that have no "
                "motor coordinate, are not prescribed, not spherical and do not slide "
                "out of their hub."
            )
        for begin, end in intervals:
            if not (0 <= begin < end and end - begin > instant(begin)):
                raise SimulationError(
                    f"locks: {name}: the interval from {begin:g} s to {end:g} s is empty"
                )
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
    """Return a joint with the properties of one of its axes."""
    return joint.model_copy(update={axis.label: axis.acts}) if axis.label else axis.acts


@dataclass(frozen=True)
class DiscreteState:
    """Locks, brakes, servos, bodies and ties of an arm between two events.

    It says nothing of the numbers of the model file: an arm with other numbers may be in the same
    discrete state.
    """

    locked: tuple[str, ...] = ()  # joints that are locked
    braked: frozenset[str] = frozenset()  # joints whose brakes are closed
    # Coordinates that brakes or dry friction act on, with the direction in which each slips: 0 if
    # it is held.
    closed: Mapping[str, int] = field(default_factory=dict)
    # By joint: the time [s] that the target of its servo counts from, and the events that have
    # changed the model file's servo.
    servos: Mapping[str, tuple[float, tuple[int, ...]]] = field(default_factory=dict)
    # Bodies that the tip holds: poses of their fixtures in its frame.
    held: Mapping[str, Pose] = field(default_factory=dict)
    freed: Mapping[str, FreeBodyState] = field(default_factory=dict)  # bodies that it has let go
    # What the tip is attached to: ties, the places where they were made and the times [s].
    ties: Mapping[str, tuple[Tie, Array, float]] = field(default_factory=dict)
    # Events that have happened, by their indices, with their times [s].
    done: Mapping[int, float] = field(default_factory=dict)
    over: bool = False  # whether an event has ended the run

    @classmethod
    def at_start(cls, model: Model, locked: tuple[str, ...] = ()) -> "DiscreteState":
        """Return the discrete state that a model file describes."""
        braked = frozenset(axis.name for axis in model.axes if axis.is_braked)
        closed = {
            name: 0
            for name, each in holders(model).items()
            if each.frictions or each.axis.name in braked
        }
        return cls(locked, braked, closed, held=_held_at_start(model))

    @property
    def key(self) -> str:
        """Text that identifies its model."""
        stuck = sorted(name for name, slips in self.closed.items() if slips == 0)
        held = [(name, each.rotation.tolist(), each.position.tolist())
                for name, each in sorted(self.held.items())]  # fmt: skip
        return f"{self.locked} {stuck} {held}"

    def holding(self, model: Model) -> dict[str, int]:
        """Return the coordinates that locks and brakes hold, by axis."""
        axes = {axis.name: axis for axis in model.axes}
        found = {name: axes[name].index for name in self.locked}
        stuck = (name for name, slips in self.closed.items() if slips == 0)
        return found | {name: model.names.index(name) for name in stuck}

    def rigid(self, model: Model) -> list[int]:
        """Return the coordinates that are held whatever it takes: by locks, and ideal brakes."""
        known = holders(model)
        return [
            index
            for name, index in self.holding(model).items()
            if name in self.locked or math.isinf(self.capacity(known[name]))
        ]

    def capacity(self, holder: StickSlip) -> float:
        """Return the effort beyond which a coordinate slips."""
        return holder.capacity(braked=holder.axis.name in self.braked)

    def loosened(self, model: Model) -> "DiscreteState":
        """Return it with all brakes that can slip doing so: none of them holds an impulse."""
        known = holders(model)
        closed = {
            name: slips or int(math.isfinite(self.capacity(known[name])))
            for name, slips in self.closed.items()
        }
        return replace(self, closed=closed)

    def loaded(self, model: Model) -> bool:
        """Whether the tip holds other bodies than at the start."""
        return set(self.held) != set(_held_at_start(model))

    def model(self, model: Model) -> Model:
        """Return the model of an arm in this state; that of the file if nothing differs."""
        changed = lock(model, self.locked)
        held = self.holding(model)
        known = tuple(sorted({*changed.prescribed, *held.values()}))
        if known != changed.prescribed:
            changed = replace(changed, prescribed=known)
        return self._loaded(changed) if self.loaded(model) else changed

    def free_body(self, name: str, model: Model) -> FreeBodyState:
        """Return a body that the tip does not hold, as it drifts.

        Raises
        ------
        SimulationError
            If the tip holds it.
        """
        if name in self.held:
            raise SimulationError(
                f"{name} cannot be captured, since the tip holds it already. Release it before."
            )
        own = FreeBodyState.named(name, model)
        if name not in self.freed:
            return own
        return replace(self.freed[name], inertia=own.inertia, gravity=own.gravity, orbit=own.orbit)

    def target_times(self) -> dict[str, float]:
        """Return the times [s] that targets of servos count from, by joint; 0 if left out."""
        return {name: begin for name, (begin, _) in self.servos.items()}

    def servoed(self, model: Model) -> Model:
        """Return a model with the servos of this state: its equations are the same."""
        if not self.servos:
            return model
        return replace(model, links=tuple(self._servoed(part, model) for part in model.links))

    def servo_changes(self, name: str, model: Model) -> dict[str, Any]:
        """Return what events have changed of the servo of a joint."""
        found: dict[str, Any] = {}
        for k in self.servos[name][1]:
            more = model.arm.events[k].servo[name]
            kept = {key for key in found if not (FOLLOWED & set(more) and key in FOLLOWED)}
            found = {key: found[key] for key in found if key in kept} | more
        return found

    def _servoed(self, part: Any, model: Model) -> Any:
        axes = tuple(self._with_servo(axis, model) for axis in part.axes)
        return part if axes == part.axes else replace(part, axes=axes)

    def _with_servo(self, axis: Axis, model: Model) -> Axis:
        if axis.name not in self.servos:
            return axis
        assert axis.acts.servo is not None
        servo = axis.acts.servo.changed(self.servo_changes(axis.name, model))
        return replace(axis, acts=axis.acts.model_copy(update={"servo": servo}))

    def _loaded(self, model: Model) -> Model:
        bare = model.arm.model_copy(update={"payload": None})
        total = tip_inertia(bare, len(model.links) - 1)
        for name, pose in self.held.items():
            total = total + held_inertia(model, name, pose).moved(model.end_pose)
        freeze(total)
        return model.loaded(total)


def _held_at_start(model: Model) -> dict[str, Pose]:
    return {} if model.arm.payload is None else {PAYLOAD: IDENTITY}


def held_inertia(model: Model, name: str, pose: Pose) -> Inertia:
    """Return the inertia of a body of the model file about the tip's frame, in which it lies.

    It is that of a rod even if the pose is turned by no rotation, as in differences.
    """
    named = {each.name: each.body for each in model.arm.bodies}
    body = model.arm.payload if name == PAYLOAD else named[name]
    assert body is not None
    centre = Inertia(body.mass, np.zeros(3), central_inertia(body))
    return centre.moved(pose @ Pose(np.eye(3), np.array(body.com)))
