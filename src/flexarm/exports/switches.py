"""Discrete states and events of exported arms: brakes, dry friction, sampled servos."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from flexarm.arm.mission import ACTIONS, Event
from flexarm.integrate.actuators import Servoed
from flexarm.integrate.constants import MOST_MIDDLE_ANGLE
from flexarm.integrate.drivetrain import Slipping, StickSlip, holders
from flexarm.integrate.laws import ServoMemory
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.integrate.mission.event_functions import EventArguments, EventFunction
from flexarm.integrate.mission.hybrid import HybridSimulation
from flexarm.integrate.mission.slipping import OPEN
from flexarm.integrate.task import InitialValueProblem
from flexarm.mechanics.contacts import touches
from flexarm.mechanics.drives import hub_row
from flexarm.mechanics.kinematics import frames
from flexarm.model import Model
from flexarm.spatial import Array, Expr, constant

DONE_HERE = ("brake", "release", "end")  # the `ACTIONS` that exported code supports


@dataclass(frozen=True)
class Switches:
    """Discrete states and event functions of an exported arm: brakes, friction, servos, events."""

    model: Model  # the arm
    began: DiscreteState  # discrete state at the start, such as locked joints
    holders: tuple[StickSlip, ...] = ()  # brakes and dry friction
    events: tuple[Event, ...] = ()  # of the model file, and further end events
    # Event functions: those of events, then those at corners of the equations.
    looks: tuple[EventFunction, ...] = ()
    # sampled, memory: sampled servos, and their stored values at the start, by name.
    sampled: tuple[Servoed, ...] = ()
    memory: Mapping[str, ServoMemory] = field(default_factory=dict)

    @classmethod
    def of(
        cls, hybrid: HybridSimulation, task: InitialValueProblem, ends: list[Event]
    ) -> "Switches":
        """Return the discrete states and guards of a started simulation with further end events."""
        model, events = hybrid.model, (*hybrid.events, *ends)
        whens = [each.when for each in events if each.when is not None]
        looks = [EventFunction.of(model, when.quantity) for when in whens]
        held, acts = tuple(holders(model).values()), task.motion.actuators
        looks += [each for each in acts.lookouts if each.corner is not None]
        sampled = tuple(each for each in acts.servos if each.servo.period is not None)
        now = hybrid.discrete
        return cls(model, now, held, events, tuple(looks), sampled, task.start.memory)

    @property
    def slipping(self) -> tuple[Slipping, ...]:
        """Return brakes and dry friction as external efforts, locked or slipping."""
        return tuple(Slipping(each.index, "held", Slipping.of(each).frictions)
                     for each in self.holders)  # fmt: skip

    @property
    def numbers(self) -> int:
        """Return the length of d: reference attitudes, brakes and friction, servo outputs."""
        return 9 * len(self.model.attitudes) + 2 * len(self.holders) + len(self.sampled)

    @property
    def waiting(self) -> int:
        """Return the largest number of samples in the delay queue of a servo."""
        return max((int(each.servo.delay / (each.servo.period or 1.0)) + 2
                    for each in self.sampled), default=0)  # fmt: skip

    @property
    def times(self) -> list[float]:
        """Return the times of events, or from which their conditions are monitored [s]."""
        return [event.earliest for event in self.events]

    @property
    def _touching(self) -> list[tuple[str, float]]:
        """Return contacts and stops by name, with the event function's value at first contact."""
        found = [(f"contact {name}", 0.0) for name in self.model.arm.contact_names]
        for axis in self.model.axes:
            limits = axis.acts.limits
            if axis.acts.stops is not None and limits is not None:
                ends = [each for each in (limits.lower, limits.upper) if each is not None]
                found += [(f"stop of {axis.name}", float(end)) for end in ends]
        return found

    @property
    def corners(self) -> Array:
        """Values of the event functions at corners of the equations; infinite for events."""
        mine = [math.inf if each.corner is None else each.corner for each in self.looks]
        return np.array([*mine, *(value for _, value in self._touching)])

    @property
    def names(self) -> list[str]:
        """Names of the event indicators that follow the indicators of bounds."""
        model, whens = self.model, [each for each in self.events if each.when is not None]
        return [
            *(f"event: {each.title}" for each in whens),
            *(f"corner: {each.kind}" for each in self.looks[len(whens) :]),
            *(f"corner: {name}" for name, _ in self._touching),
            *(f"{each.name}: sticks or slips" for each in self.holders),
            *(f"{model.names[k + 1]}: angles are measured anew" for k in model.attitudes),
        ]

    def seen(self, seen: EventArguments) -> list[Expr]:
        """Return the expressions of the event functions."""
        model, q = seen.model, seen.q
        found = [each.trace(seen) for each in self.looks]
        found += [each.depth for each in touches(model, q, frames(model, q))]
        for axis in model.axes:
            limits = axis.acts.limits
            if axis.acts.stops is not None and limits is not None:
                place = constant(hub_row(model, axis)).T @ q
                found += [place for end in (limits.lower, limits.upper) if end is not None]
        return found

    def tables(
        self, reference_attitudes: Array, mass: Array, place: dict[int, int]
    ) -> dict[str, Array]:
        """Return initial values and parameters of events, brakes, friction and servos, by name.

        ``reference_attitudes`` are the reference attitudes at the start, ``mass`` is the diagonal
        of the mass matrix there, ``place`` the index in the state of each coordinate's rate.
        """
        began, held, events = self.began, self.holders, self.events
        looked = iter(range(len(self.looks)))
        rows: dict[str, list[float]] = {
            "look": [-1 if each.when is None else next(looked) for each in events],
            "from": self.times,
            "low": [-math.inf if each.when is None or each.when.below is None
                    else each.when.below for each in events],
            "high": [math.inf if each.when is None or each.when.above is None
                     else each.when.above for each in events],
            "end": [each.end for each in events],
            "done": [k in began.done for k in range(len(events))],
            "brake": [
                (one.brake is not None) * ((one.axis.name in each.brake)
                                           - (one.axis.name in each.release))
                for each in events for one in held
            ],
        }  # fmt: skip
        for name in ("low", "high"):
            for k, each in enumerate(events):
                if each.when is not None and self.looks[int(rows["look"][k])].squared:
                    rows[name][k] *= abs(rows[name][k])
        found = {f"event_{name}": np.array(row, dtype=float) for name, row in rows.items()}
        kept = {
            "place": [place[each.index] for each in held],
            "friction": [each.capacity(braked=False) for each in held],
            "brake": [each.brake or 0.0 for each in held],
            "unit": [mass[each.index] for each in held],
            "closed": [began.closed.get(each.name, OPEN) for each in held],
            "braked": [each.brake is not None and each.axis.name in began.braked for each in held],
        }
        found |= {f"holder_{name}": np.array(row, dtype=float) for name, row in kept.items()}
        at = [place[k] - len(place) for k in self.model.attitudes]
        known = [self.memory.get(each.name, ServoMemory()) for each in self.sampled]
        digital = {
            "period": [each.servo.period for each in self.sampled],
            "delay": [each.servo.delay for each in self.sampled],
            "resolution": [each.servo.resolution or 0.0 for each in self.sampled],
            "integral": [each.integral for each in known],
            "held": [each.held for each in known],
            "row": [each.row[k] for each in self.sampled for k in place],
        }
        if self.sampled:
            found |= {f"servo_{name}": np.array(row, dtype=float) for name, row in digital.items()}
        return found | {
            "look_corner": self.corners,
            "first_references": reference_attitudes[: 3 * len(at)].ravel(),
            "attitude_at": np.array(at, dtype=float), "turn_limit": np.array([MOST_MIDDLE_ANGLE]),
        }  # fmt: skip


def what_stays(model: Model, hybrid: HybridSimulation) -> str:
    """Return the first part of an arm that other programs cannot simulate, or an empty string."""
    if model.arm.bodies:
        return f"a body that drifts ({model.arm.bodies[0].name})"
    for event in hybrid.events:
        others = [key for key in ACTIONS if key not in DONE_HERE and getattr(event, key)]
        if others:
            return f"an event that does more than brake, release or end ({event.title})"
    rails = [part.name for part in model.links if part.rail_jumps]
    return f"a rail whose curvature jumps ({rails[0]})" if rails else ""
