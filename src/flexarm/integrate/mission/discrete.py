"""Discrete state of an arm between two events: locks, brakes, servos, held bodies and ties."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.arguments import require_known
from flexarm.arm import AnyActuated
from flexarm.arm.joint import Placed
from flexarm.arm.mission import PAYLOAD, Tie
from flexarm.errors import SimulationError
from flexarm.integrate.drivetrain import StickSlip, holders
from flexarm.integrate.mission.bodies import FreeBodyState
from flexarm.integrate.system import instant
from flexarm.links.end_loads import central_inertia, tip_inertia
from flexarm.model import Axis, Model
from flexarm.model.numbers import freeze
from flexarm.spatial import IDENTITY, Array, Inertia, Pose

FOLLOWED = {"target", "rate"}  # keys of a servo, of which at most one is set
Locks = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class LockedPhase:
    """Time interval [s] in which the set of locked joints is constant."""

    begin: float
    end: float
    locked: tuple[str, ...]


def locked_phases(model: Model, locks: Locks, t_end: float) -> list[LockedPhase]:
    """Return the time intervals from 0 to t_end in which the set of locked joints is constant.

    Raises
    ------
    SimulationError
        If a joint cannot be locked, or an interval is empty.
    """
    joints = {axis.name: axis for axis in model.axes}
    for name, intervals in locks.items():
        require_known(name, joints, where="locks: ", error=SimulationError)
        axis = joints[name]
        motion = model.links[axis.link].motion
        if axis.prescribed or axis.motor is not None or not motion.lockable:
            raise SimulationError(
                f"locks: {name} cannot be locked. A joint with a motor coordinate, a prescribed "
                "motion, a spherical joint or a joint that slides out of its hub cannot be "
                "locked."
            )
        for begin, end in intervals:
            if not (0 <= begin < end and end - begin > instant(begin)):
                raise SimulationError(
                    f"locks: {name}: the interval from {begin:g} s to {end:g} s is empty"
                )
    times = instants([t for pairs in locks.values() for pair in pairs for t in pair], t_end)
    locked_pairs = {
        name: [(_instant(times, begin), _instant(times, end)) for begin, end in pairs]
        for name, pairs in locks.items()
    }
    return [
        LockedPhase(
            a,
            b,
            tuple(
                name for name, pairs in locked_pairs.items() if any(x <= a < y for x, y in pairs)
            ),
        )
        for a, b in pairwise(times)
    ]


def instants(times: Iterable[float], t_end: float) -> list[float]:
    """Return 0, the times [s] between 0 and t_end, and t_end, without times equal by rounding."""
    merged = [0.0]
    for t in sorted(times):
        if t - merged[-1] > instant(t) and t_end - t > instant(t_end):
            merged.append(float(t))
    return [*merged, t_end]


def _instant(times: Sequence[float], t: float) -> float:
    """Return the latest of the sorted times [s] that is not later than t.

    If t equals the last time up to rounding, the last time is returned.
    """
    if times[-1] - t <= instant(times[-1]):
        return times[-1]
    return times[bisect_right(times, t) - 1]


def lock(model: Model, names: Sequence[str]) -> Model:
    """Return the model with the named joints locked: prescribed at constant positions."""
    if not names:
        return model
    links, file_links = [], list(model.arm.links)
    for part in model.links:
        axes, joint = [], part.link.joint
        for axis in part.axes:
            if axis.name in names:
                axis = replace(axis, acts=_held(axis.acts))
                joint = _with(joint, axis)
            axes.append(axis)
        link = part.link.model_copy(update={"joint": joint})
        links.append(replace(part, link=link, axes=tuple(axes)))
        if part.axes:
            in_file = file_links[part.number - 1]
            placed = {name: getattr(in_file.joint, name) for name in Placed.model_fields}
            moved = joint.model_copy(update=placed) if in_file.spans > 1 else joint
            file_links[part.number - 1] = in_file.model_copy(update={"joint": moved})
    locked = [axis.index for axis in model.axes if axis.name in names]
    arm = model.arm.model_copy(update={"links": tuple(file_links)})
    return replace(
        model,
        arm=arm,
        links=tuple(links),
        prescribed=tuple(sorted({*model.prescribed, *locked})),
    )


def _held(acts: AnyActuated) -> AnyActuated:
    """Return a joint axis that is prescribed at a constant position.

    The returned axis has no servo, brake, motor or dry friction.
    """
    properties = acts.model_dump(
        exclude_unset=True,
        exclude={"input": True, "start": True, "actuation": True, "servo": True, "brake": True,
                 "drive": {"motor"}},
    )  # fmt: skip
    for section in (properties, properties.get("drive") or {}):
        if (section.get("friction") or {}).get("kind") == "dry":
            del section["friction"]
    standstill = {"actuation": "prescribed", "motion": {"kind": "constant", "value": 0.0}}
    return type(acts).model_validate(properties | standstill)


def _with(joint: Any, axis: Axis) -> Any:
    """Return a joint of which one axis is replaced."""
    return joint.model_copy(update={axis.label: axis.acts}) if axis.label else axis.acts


@dataclass(frozen=True)
class DiscreteState:
    """Discrete state of an arm between two events: locks, brakes, servo settings, bodies and ties.

    A discrete state contains no parameters of the model file, so that arms with different
    parameters may share one.
    """

    locked: tuple[str, ...] = ()  # joints that are locked
    braked: frozenset[str] = frozenset()  # joints whose brakes are closed
    # Slip direction (-1 or 1; 0 in stick) of each coordinate with a brake or dry friction, by name.
    closed: Mapping[str, int] = field(default_factory=dict)
    # By joint: the time [s] that the target of its servo counts from, and the events that have
    # changed the model file's servo.
    servos: Mapping[str, tuple[float, tuple[int, ...]]] = field(default_factory=dict)
    # Bodies that the tip holds: poses of their fixtures in the tip frame.
    held: Mapping[str, Pose] = field(default_factory=dict)
    freed: Mapping[str, FreeBodyState] = field(default_factory=dict)  # bodies that were released
    # Ties by name: the tie, and position of its point [m] and time [s] when it was attached. The
    # position is in the world or, with ``to``, in the axes of the section that carries the berth.
    ties: Mapping[str, tuple[Tie, Array, float]] = field(default_factory=dict)
    # Events that have happened, by their indices, with their times [s].
    done: Mapping[int, float] = field(default_factory=dict)
    over: bool = False  # whether an event has ended the run

    @classmethod
    def at_start(cls, model: Model, locked: tuple[str, ...] = ()) -> "DiscreteState":
        """Return the discrete state that the model file describes, with the given joints locked."""
        braked = frozenset(axis.name for axis in model.axes if axis.is_braked)
        closed = {
            name: 0
            for name, element in holders(model).items()
            if element.frictions or element.axis.name in braked
        }
        return cls(locked, braked, closed, held=_held_at_start(model))

    @property
    def key(self) -> str:
        """Text that is equal for discrete states whose equations of motion are equal."""
        stuck = sorted(name for name, slips in self.closed.items() if slips == 0)
        poses = [(name, pose.rotation.tolist(), pose.position.tolist())
                for name, pose in sorted(self.held.items())]  # fmt: skip
        return f"{self.locked} {stuck} {poses}"

    def due(self, model: Model, t: float) -> list[int]:
        """Return indices of scheduled events that are due at time t [s] and still to happen."""
        return [
            k
            for k, event in enumerate(model.arm.events)
            if event.at is not None and k not in self.done and event.at <= t + instant(t)
        ]

    def monitors(self, model: Model, k: int, t: float) -> bool:
        """Return whether the conditional event k is active at time t [s] and has not happened."""
        return k not in self.done and model.arm.events[k].after <= t + instant(t)

    def holding(self, model: Model) -> dict[str, int]:
        """Return indices of the coordinates held by locks, brakes or friction, by name."""
        axes = {axis.name: axis for axis in model.axes}
        indices = {name: axes[name].index for name in self.locked}
        stuck = (name for name, slips in self.closed.items() if slips == 0)
        return indices | {name: model.names.index(name) for name in stuck}

    def rigid(self, model: Model) -> list[int]:
        """Return indices of coordinates held by locks or by brakes of unlimited effort."""
        elements = holders(model)
        return [
            index
            for name, index in self.holding(model).items()
            if name in self.locked or math.isinf(self.capacity(elements[name]))
        ]

    def capacity(self, holder: StickSlip) -> float:
        """Return the effort beyond which a coordinate with brake or dry friction slips."""
        return holder.capacity(braked=holder.axis.name in self.braked)

    def loosened(self, model: Model) -> "DiscreteState":
        """Return the discrete state in which all brakes of limited effort slip."""
        elements = holders(model)
        closed = {
            name: slips or int(math.isfinite(self.capacity(elements[name])))
            for name, slips in self.closed.items()
        }
        return replace(self, closed=closed)

    def loaded(self, model: Model) -> bool:
        """Return whether the tip holds other bodies than at the start of the simulation."""
        return set(self.held) != set(_held_at_start(model))

    def model(self, model: Model) -> Model:
        """Return the arm's model with held coordinates prescribed and held bodies at the tip."""
        locked_model = lock(model, self.locked)
        indices = self.holding(model)
        prescribed = tuple(sorted({*locked_model.prescribed, *indices.values()}))
        if prescribed != locked_model.prescribed:
            locked_model = replace(locked_model, prescribed=prescribed)
        return self._loaded(locked_model) if self.loaded(model) else locked_model

    def free_body(self, name: str, model: Model) -> FreeBodyState:
        """Return the state of a free body that the tip does not hold.

        Raises
        ------
        SimulationError
            If the tip holds the body.
        """
        if name in self.held:
            raise SimulationError(
                f"{name} cannot be captured, since the tip holds it already. Release it first."
            )
        initial = FreeBodyState.named(name, model)
        if name not in self.freed:
            return initial
        return replace(
            self.freed[name], inertia=initial.inertia, gravity=initial.gravity, orbit=initial.orbit
        )

    def target_times(self) -> dict[str, float]:
        """Return the time [s] from which each servo's target counts, by joint.

        Joints whose servo no event has changed are left out, since their targets count from time 0.
        """
        return {name: begin for name, (begin, _) in self.servos.items()}

    def servoed(self, model: Model) -> Model:
        """Return the model with the servo settings of this discrete state."""
        if not self.servos:
            return model
        links = [
            replace(part, axes=tuple(self._with_servo(axis, model) for axis in part.axes))
            if any(axis.name in self.servos for axis in part.axes)
            else part
            for part in model.links
        ]
        return replace(model, links=tuple(links))

    def servo_changes(self, name: str, model: Model) -> dict[str, Any]:
        """Return the servo settings of a joint that events have changed, by model-file key."""
        settings: dict[str, Any] = {}
        for k in self.servos[name][1]:
            changes = model.arm.events[k].servo[name]
            unaffected = {
                key for key in settings if not (FOLLOWED & set(changes) and key in FOLLOWED)
            }
            settings = {key: settings[key] for key in settings if key in unaffected} | changes
        return settings

    def _with_servo(self, axis: Axis, model: Model) -> Axis:
        if axis.name not in self.servos:
            return axis
        assert axis.acts.servo is not None
        servo = axis.acts.servo.changed(self.servo_changes(axis.name, model))
        return replace(axis, acts=axis.acts.model_copy(update={"servo": servo}))

    def _loaded(self, model: Model) -> Model:
        without_payload = model.chain.model_copy(update={"payload": None})
        total = tip_inertia(without_payload, len(model.links) - 1)
        for name, pose in self.held.items():
            total = total + held_inertia(model, name, pose).moved(model.end_pose)
        freeze(total)
        return model.loaded(total)


def _held_at_start(model: Model) -> dict[str, Pose]:
    return {} if model.arm.payload is None else {PAYLOAD: IDENTITY}


def held_inertia(model: Model, name: str, pose: Pose) -> Inertia:
    """Return the inertia of a held body about the tip frame, for a pose of its fixture."""
    bodies = {free_body.name: free_body.body for free_body in model.arm.bodies}
    body = model.arm.payload if name == PAYLOAD else bodies[name]
    assert body is not None
    centre = Inertia(body.mass, np.zeros(3), central_inertia(body))
    return centre.moved(pose @ Pose(np.eye(3), np.array(body.com)))
