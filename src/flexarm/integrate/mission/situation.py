"""What holds an arm, drives it and hangs on its tip, from one event to the next."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import ValidationError

from flexarm.arm import AnyActuated
from flexarm.arm.mission import PAYLOAD, Event, Tie
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.drivetrain import Holder, holders
from flexarm.integrate.mission.bodies import Drift
from flexarm.integrate.system import instant
from flexarm.links.base import Array
from flexarm.links.ends import body_inertia, tip_inertia
from flexarm.model import Axis, Model
from flexarm.model.contents import freeze
from flexarm.spatial import Inertia

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


@dataclass(frozen=True)
class Situation:
    """What holds, drives and loads an arm during a leg."""

    locked: tuple[str, ...] = ()  # joints that are locked
    braked: frozenset[str] = frozenset()  # joints whose brakes are closed
    # Coordinates that brakes or dry friction act on, with the direction in which each slips: 0 if
    # it is held.
    closed: Mapping[str, int] = field(default_factory=dict)
    # By joint: a servo in place of the model file's, the time [s] its target counts from, and what
    # events have changed of the model file's.
    servos: Mapping[str, tuple[Any, float, dict[str, Any]]] = field(default_factory=dict)
    # Bodies that the tip holds, in its frame.
    held: Mapping[str, Inertia] = field(default_factory=dict)
    # What the tip is attached to: ties, the places where they were made and the times [s].
    ties: Mapping[str, tuple[Tie, Array, float]] = field(default_factory=dict)
    drifting: Mapping[str, Drift] = field(default_factory=dict)  # bodies that are free
    done: frozenset[int] = frozenset()  # indices of events that have happened
    over: bool = False  # whether an event has ended the run

    @classmethod
    def at_start(cls, model: Model, locked: tuple[str, ...]) -> "Situation":
        """Give the situation that a model file describes."""
        braked = frozenset(axis.name for axis in model.axes if axis.is_braked)
        closed = {
            name: 0
            for name, each in holders(model).items()
            if each.frictions or each.axis.name in braked
        }
        payload = model.arm.payload
        held = {} if payload is None else {PAYLOAD: body_inertia(payload)}
        drifting = {body.name: Drift.of(body, model) for body in model.arm.bodies}
        return cls(locked, braked, closed, held=held, drifting=drifting)

    @property
    def key(self) -> str:
        """What its model depends on, as a text."""
        stuck = sorted(name for name, slips in self.closed.items() if slips == 0)
        held = [(name, each.mass, each.first.tolist(), each.second.tolist())
                for name, each in sorted(self.held.items())]  # fmt: skip
        return f"{self.locked} {stuck} {held}"

    def holding(self, model: Model) -> dict[str, int]:
        """Give the coordinates that locks and brakes hold, by axis."""
        axes = {axis.name: axis for axis in model.axes}
        found = {name: axes[name].index for name in self.locked}
        stuck = (name for name, slips in self.closed.items() if slips == 0)
        return found | {name: model.names.index(name) for name in stuck}

    def rigid(self, model: Model) -> list[int]:
        """Give the coordinates that are held whatever it takes: by locks, and ideal brakes."""
        known = holders(model)
        return [
            index
            for name, index in self.holding(model).items()
            if name in self.locked or math.isinf(self.capacity(known[name]))
        ]

    def capacity(self, holder: Holder) -> float:
        """Give the effort beyond which a coordinate slips."""
        return holder.capacity(braked=holder.axis.name in self.braked)

    def loosened(self, model: Model) -> "Situation":
        """Let brakes slip that can: none of them holds an impulse."""
        known = holders(model)
        closed = {
            name: slips or int(math.isfinite(self.capacity(known[name])))
            for name, slips in self.closed.items()
        }
        return replace(self, closed=closed)

    def model(self, model: Model, start: "Situation") -> Model:
        """Give the model of an arm in this situation; that of the file if nothing differs."""
        changed = lock(model, self.locked)
        held = self.holding(model)
        known = tuple(sorted({*changed.prescribed, *held.values()}))
        if known != changed.prescribed:
            changed = replace(changed, prescribed=known)
        return self._loaded(changed) if self.held != start.held else changed

    def commanded(self, event: Event, model: Model, t: float) -> "Situation":
        """Change servos as an event at a time says."""
        changed, axes = dict(self.servos), {axis.name: axis for axis in model.axes}
        for name, changes in event.servo.items():
            servo = axes[name].acts.servo
            assert servo is not None
            _, begin, before = changed.get(name, (servo, 0.0, {}))
            follows = [key for key in ("target", "rate") if key in changes]
            kept = {k: x for k, x in before.items() if not follows or k not in ("target", "rate")}
            try:
                found = servo.changed(kept | changes)
            except ValidationError as error:
                said = error.errors()[0]["msg"]
                raise SimulationError(f"events: the servo of {name}: {said}") from None
            changed[name] = (found, t if follows else begin, kept | changes)
        return replace(self, servos=changed)

    def caught(self, name: str, t: float) -> Drift:
        """Give a body that drifts as it is when the tip captures it [s]."""
        if name in self.held:
            raise SimulationError(
                f"{name} cannot be captured: the tip holds it already: let it go before"
            )
        return self.drifting[name].at(t)

    def without(self, name: str) -> "Situation":
        """Let a body go that the tip holds."""
        if name not in self.held:
            names = ", ".join(self.held) or "nothing"
            raise SimulationError(
                f"{name} cannot be let go: the tip holds {names}: capture it before, or let go that"
            )
        return replace(self, held={key: each for key, each in self.held.items() if key != name})

    def servoed(self, model: Model) -> Model:
        """Give a model the servos of this situation: its equations are the same."""
        if not self.servos:
            return model
        return replace(model, links=tuple(self._servoed(part) for part in model.links))

    def _servoed(self, part: Any) -> Any:
        axes = tuple(self._with_servo(axis) for axis in part.axes)
        return part if axes == part.axes else replace(part, axes=axes)

    def _with_servo(self, axis: Axis) -> Axis:
        if axis.name not in self.servos:
            return axis
        servo = self.servos[axis.name][0]
        return replace(axis, acts=axis.acts.model_copy(update={"servo": servo}))

    def _loaded(self, model: Model) -> Model:
        bare = model.arm.model_copy(update={"payload": None})
        total = tip_inertia(bare, len(model.links) - 1)
        for body in self.held.values():
            total = total + body.moved(model.end_pose)
        freeze(total)
        return model.loaded(total)
