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
from flexarm.integrate.mission.transitions import OPEN
from flexarm.integrate.task import InitialValueProblem
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.loads import hub_row
from flexarm.mechanics.point_forces import touches
from flexarm.model import Model
from flexarm.spatial import Array, Expr, constant

DONE_HERE = ("brake", "release", "end")  # the `ACTIONS` that exported code supports


@dataclass(frozen=True)
class Switches:
    """Discrete states and event functions of an exported arm."""

    model: Model  # the arm
    began: DiscreteState  # discrete state at the start, such as locked joints
    holders: tuple[StickSlip, ...] = ()  # brakes and dry friction
    events: tuple[Event, ...] = ()  # events of the model file, and further end events
    # Event functions of events, then event functions at corners of the equations.
    looks: tuple[EventFunction, ...] = ()
    # sampled, memory: sampled servos, and their stored values at the start, by name.
    sampled: tuple[Servoed, ...] = ()
    memory: Mapping[str, ServoMemory] = field(default_factory=dict)

    @classmethod
    def of(
        cls, hybrid: HybridSimulation, task: InitialValueProblem, ends: list[Event]
    ) -> "Switches":
        """Collect the discrete states and event functions of a simulation, with more end events."""
        model, events = hybrid.model, (*hybrid.events, *ends)
        whens = [event.when for event in events if event.when is not None]
        looks = [EventFunction.of(model, when.quantity) for when in whens]
        stick_slip, actuators = tuple(holders(model).values()), task.motion.actuators
        looks += [function for function in actuators.event_functions if function.corner is not None]
        sampled = tuple(servo for servo in actuators.servos if servo.servo.period is not None)
        discrete = hybrid.discrete
        return cls(model, discrete, stick_slip, events, tuple(looks), sampled, task.start.memory)

    @property
    def slipping(self) -> tuple[Slipping, ...]:
        """Return brakes and dry friction as inputs of the equations that stick or slip."""
        return tuple(Slipping(holder.index, "held", Slipping.of(holder).frictions)
                     for holder in self.holders)  # fmt: skip

    @property
    def numbers(self) -> int:
        """Return the length of the vector d of reference attitudes, brake and servo efforts."""
        return 9 * len(self.model.attitudes) + 2 * len(self.holders) + len(self.sampled)

    @property
    def waiting(self) -> int:
        """Return the largest number of samples that a delayed servo has to store."""
        return max((int(servo.servo.delay / (servo.servo.period or 1.0)) + 2
                    for servo in self.sampled), default=0)  # fmt: skip

    @property
    def times(self) -> list[float]:
        """Return the times [s] of timed events, and the times [s] from which others are checked."""
        return [event.earliest for event in self.events]

    @property
    def _contact_corners(self) -> list[tuple[str, float]]:
        """Return contacts and joint stops by name, with their event function's value at touch."""
        corners = [(f"contact {name}", 0.0) for name in self.model.arm.contact_names]
        for axis in self.model.axes:
            limits = axis.acts.limits
            if axis.acts.stops is not None and limits is not None:
                ends = [limit for limit in (limits.lower, limits.upper) if limit is not None]
                corners += [(f"stop of {axis.name}", float(end)) for end in ends]
        return corners

    @property
    def corners(self) -> Array:
        """Value of each event function at a kink of the equations; infinite for events."""
        own_corners = [
            math.inf if function.corner is None else function.corner for function in self.looks
        ]
        return np.array([*own_corners, *(value for _, value in self._contact_corners)])

    @property
    def stays(self) -> Array:
        """Whether an event function (1 or 0) stays at its corner, then 0 for each holder."""
        at_corner = [function.kind == "state" for function in self.looks]
        rest = len(self._contact_corners) + len(self.holders)
        return np.array([*at_corner, *[False] * rest], dtype=float)

    @property
    def names(self) -> list[str]:
        """Names of the event indicators of switches, which follow those of bounds."""
        model, whens = self.model, [event for event in self.events if event.when is not None]
        return [
            *(f"event: {event.title}" for event in whens),
            *(f"corner: {event.kind}" for event in self.looks[len(whens) :]),
            *(f"corner: {name}" for name, _ in self._contact_corners),
            *(f"{holder.name}: sticks or slips" for holder in self.holders),
            *(f"{model.names[k + 1]}: reference attitude is reset" for k in model.attitudes),
        ]

    def event_values(self, arguments: EventArguments) -> list[Expr]:
        """Return the expressions of the event functions."""
        model, q = arguments.model, arguments.q
        values = [function.trace(arguments) for function in self.looks]
        values += [contact.depth for contact in touches(model, q, frames(model, q))]
        for axis in model.axes:
            limits = axis.acts.limits
            if axis.acts.stops is not None and limits is not None:
                position = constant(hub_row(model, axis)).T @ q
                values += [position for end in (limits.lower, limits.upper) if end is not None]
        return values

    def tables(
        self, reference_attitudes: Array, mass: Array, rate_index: dict[int, int]
    ) -> dict[str, Array]:
        """Return initial values and parameters of events, brakes, friction and servos, by name.

        Among these, ``reference_attitudes`` are the reference attitudes at the start, ``mass`` is
        the diagonal of the mass matrix at the start, and ``rate_index`` contains the index of each
        coordinate's rate in the state.
        """
        initial, holders, events = self.began, self.holders, self.events
        function_numbers = iter(range(len(self.looks)))
        rows: dict[str, list[float]] = {
            "look": [-1 if event.when is None else next(function_numbers) for event in events],
            "from": self.times,
            "low": [-math.inf if event.when is None or event.when.below is None
                    else event.when.below for event in events],
            "high": [math.inf if event.when is None or event.when.above is None
                     else event.when.above for event in events],
            "end": [event.end for event in events],
            "done": [k in initial.done for k in range(len(events))],
            "brake": [
                (holder.brake is not None) * ((holder.axis.name in event.brake)
                                           - (holder.axis.name in event.release))
                for event in events for holder in holders
            ],
        }  # fmt: skip
        for name in ("low", "high"):
            for k, event in enumerate(events):
                if event.when is not None and self.looks[int(rows["look"][k])].squared:
                    rows[name][k] *= abs(rows[name][k])
        tables = {f"event_{name}": np.array(row, dtype=float) for name, row in rows.items()}
        holder_rows = {
            "place": [rate_index[holder.index] for holder in holders],
            "friction": [holder.capacity(braked=False) for holder in holders],
            "brake": [holder.brake or 0.0 for holder in holders],
            "unit": [mass[holder.index] for holder in holders],
            "closed": [initial.closed.get(holder.name, OPEN) for holder in holders],
            "braked": [
                holder.brake is not None and holder.axis.name in initial.braked
                for holder in holders
            ],
        }
        tables |= {
            f"holder_{name}": np.array(row, dtype=float) for name, row in holder_rows.items()
        }
        at = [rate_index[k] - len(rate_index) for k in self.model.attitudes]
        memories = [self.memory.get(servo.name, ServoMemory()) for servo in self.sampled]
        digital = {
            "period": [servo.servo.period for servo in self.sampled],
            "delay": [servo.servo.delay for servo in self.sampled],
            "resolution": [servo.servo.resolution or 0.0 for servo in self.sampled],
            "integral": [memory.integral for memory in memories],
            "held": [memory.held for memory in memories],
            "row": [servo.row[k] for servo in self.sampled for k in rate_index],
        }
        if self.sampled:
            tables |= {f"servo_{name}": np.array(row, dtype=float) for name, row in digital.items()}
        return tables | {
            "look_corner": self.corners,
            "look_stays": self.stays,
            "first_references": reference_attitudes[: 3 * len(at)].ravel(),
            "attitude_at": np.array(at, dtype=float), "turn_limit": np.array([MOST_MIDDLE_ANGLE]),
        }  # fmt: skip


def unsupported_part(model: Model, hybrid: HybridSimulation) -> str:
    """Return the first part of an arm that other programs cannot simulate, or ''."""
    if model.arm.bodies:
        return f"a body that drifts ({model.arm.bodies[0].name})"
    for event in hybrid.events:
        unsupported = [key for key in ACTIONS if key not in DONE_HERE and getattr(event, key)]
        if unsupported:
            return f"an event that does more than brake, release or end ({event.title})"
    rails = [part.name for part in model.links if part.rail_jumps]
    return f"a rail whose curvature jumps ({rails[0]})" if rails else ""
