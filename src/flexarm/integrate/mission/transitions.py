"""Transitions: changes of an arm's state by events and brakes at one instant, in a fixed order.

Simulations apply these transitions, and gradients of runs differentiate them.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from pydantic import ValidationError

from flexarm.arm.mission import PAYLOAD, Event, Tie
from flexarm.constants import ACCUMULATED
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.drivetrain import StickSlip, holders
from flexarm.integrate.mission.bodies import FreeBodyState, released_body
from flexarm.integrate.mission.discrete import FOLLOWED, DiscreteState
from flexarm.loops.kernel import kernel
from flexarm.model import ArmPoint, Model
from flexarm.model.profiles import evaluate
from flexarm.spatial import Array, Pose, skew_matrix

OPEN = 2


@kernel
def way_moving(rate: float, largest: float) -> int:
    """Return the slip direction of a coordinate at a rate: -1, 1, or 0 at rounding level."""
    if abs(rate) <= ACCUMULATED * largest:
        return 0
    return 1 if rate > 0.0 else -1


@kernel
def way_closed(way: int, rate: float, capacity: float) -> int:
    """Return the slip direction (-1, 1; 0 for stick) after a brake has closed."""
    if way == 0 or not math.isfinite(capacity):
        return 0
    way_at_rate: int = way_moving(rate, 0.0)
    return way_at_rate


@kernel
def way_next(way: int, effort: float, capacity: float, rate: float, change: float) -> int:
    """Return the next slip direction of a coordinate: -1, 1, or 0 for stick.

    A sticking coordinate slips if its holding effort exceeds `capacity`.  A slipping coordinate
    sticks if its rate opposes the slip direction, or if the rate is 0 and `change` is not in that
    direction.
    """
    if way == 0:
        return -1 if effort > capacity else 1 if effort < -capacity else 0
    stops = float(way) * rate < 0.0 or (rate == 0.0 and float(way) * change <= 0.0)
    return 0 if way != OPEN and stops else way


class Kinetics(Protocol):
    """Mass matrix and tip kinematics of an arm, as transitions need them."""

    @property
    def model(self) -> Model:
        """Model of the arm."""

    def mass_matrix(self, q: Array) -> Array:
        """Compute the mass matrix at coordinates q, (n, n)."""

    def tip_pose(self, q: Array) -> tuple[Array, Array]:
        """Compute rotation (3, 3) and position (3,) of the arm's tip in the world."""

    def tip_jacobian(self, q: Array) -> Array:
        """Compute the Jacobian of the tip velocity in world axes, linear part first, (6, n)."""

    def tip_velocity(self, q: Array, v: Array) -> Array:
        """Compute velocity [m/s], then angular velocity [rad/s], of the tip in world axes, (6,)."""


@dataclass
class Transition:
    """State of an arm while the events of one instant change it.

    The state may be complex: its imaginary part is then a derivative along a direction, which the
    events transform too.

    Attributes
    ----------
    model
        Model of the arm as described in the model file.
    equation
        Function that returns the equation of motion for a discrete state.
    discrete, t, q, v
        Discrete state, time [s], coordinates and rates, (n,) each.
    prescribed_work
        Work done by prescribed coordinates [J].
    lost
        Energy dissipated in impacts [J], by index of the event that causes the dissipation; index
        -1 if no event does.
    brought
        Energy stored in ties when they are attached [J].
    exchanged
        Bodies whose energy the arm gains or loses: captured bodies with factor 1, released bodies
        with factor -1.
    """

    model: Model
    equation: Callable[[DiscreteState], Kinetics]
    discrete: DiscreteState
    t: float
    q: Array
    v: Array
    prescribed_work: float = 0.0
    lost: dict[int, float] = field(default_factory=dict)
    brought: float = 0.0
    exchanged: list[tuple[FreeBodyState, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Collect the brakes and dry frictions of the model by coordinate name."""
        self.holders: Mapping[str, StickSlip] = holders(self.model)

    @property
    def events(self) -> Sequence[Event]:
        """Events that the model file declares."""
        return self.model.arm.events

    def apply(self, due: Collection[int]) -> None:
        """Apply the events with indices `due`, then stop coordinates that are now held.

        Actions of the events are applied in the order of `EFFECTS`, and actions of one kind in the
        order of the event titles. The result therefore does not depend on the order of events in
        the model file.

        Raises
        ------
        SimulationError
            If an event cannot happen.
        """
        due = sorted(due, key=lambda k: (self.events[k].title, self.events[k].model_dump_json()))
        done = {**self.discrete.done, **dict.fromkeys(due, self.t)}
        self.discrete = replace(self.discrete, done=done)
        for action, effect in EFFECTS.items():
            for k in due:
                value = getattr(self.events[k], action)
                if value:
                    effect(self, k, value)
        self.arrest()

    def turn(self, name: str, effort: float, rate: float) -> None:
        """Switch a coordinate between stick and slip."""
        capacity = self.discrete.capacity(self.holders[name])
        slip = way_next.python(self.discrete.closed[name], effort, capacity, rate, 0.0)
        self.v = self.v.copy()
        self.v[self.holders[name].index] = 0.0
        self.discrete = replace(self.discrete, closed={**self.discrete.closed, name: slip})
        self.arrest()

    def arrest(self) -> None:
        """Stop moving coordinates that locks or brakes hold rigidly, by an impulse."""
        rigid = self.discrete.rigid(self.model)
        if not np.any(self.v[rigid]):
            return
        equation = self._loose_equation()
        result = impulse(equation, equation, self.q, self.v, stopped=rigid)
        for index in rigid:
            self._lose(self._cause(index), -self.v[index] * result.efforts[index] / 2)
        self._follow(result)

    def release(self, _: int, names: Sequence[str]) -> None:
        """Open the brakes of the named joints; their dry friction remains."""
        closed = {
            name: slips
            for name, slips in self.discrete.closed.items()
            if self.holders[name].frictions or self.holders[name].axis.name not in names
        }
        braked = self.discrete.braked - set(names)
        self.discrete = replace(self.discrete, closed=closed, braked=braked)

    def let_go(self, _: int, name: str) -> None:
        """Release a body from the tip; it keeps the velocity of the tip."""
        if name not in self.discrete.held:
            names = ", ".join(self.discrete.held) or "nothing"
            raise SimulationError(
                f"{name} cannot be released, since the tip holds {names}. Capture it first, or "
                "release what the tip holds."
            )
        equation, remaining = self.equation(self.discrete), dict(self.discrete.held)
        tip, twist = Pose(*equation.tip_pose(self.q)), equation.tip_velocity(self.q, self.v)
        initial = FreeBodyState.named(name, self.model)
        body = released_body(initial, tip, twist, remaining.pop(name), self.t)
        freed = {**self.discrete.freed} if name == PAYLOAD else {**self.discrete.freed, name: body}
        self.discrete = replace(self.discrete, held=remaining, freed=freed)
        self.exchanged.append((body, -1.0))

    def capture(self, k: int, name: str) -> None:
        """Attach a free body to the tip by an impulse that conserves momentum."""
        body = self.discrete.free_body(name, self.model).at(self.t)
        equation = self._loose_equation()
        tip = Pose(*equation.tip_pose(self.q))
        self._require_reach(name, float(np.linalg.norm(tip.position - body.pose.position)))
        bodies = {**self.discrete.held, name: tip.inverse() @ body.pose}
        freed = {key: freed_body for key, freed_body in self.discrete.freed.items() if key != name}
        self.discrete = replace(self.discrete, held=bodies, freed=freed)
        result = impulse(equation, self._loose_equation(), self.q, self.v, body)
        self._lose(k, result.lost)
        self.exchanged.append((body, 1.0))
        self._follow(result)

    def detach(self, k: int, name: str) -> None:
        """Remove a tie; the energy in its spring counts as dissipated."""
        if name not in self.discrete.ties:
            raise SimulationError(
                f"{name} cannot be detached, since it is not attached at this time. Attach it "
                "first."
            )
        self._lose(k, self._stored(name))
        ties = {key: tie for key, tie in self.discrete.ties.items() if key != name}
        self.discrete = replace(self.discrete, ties=ties)

    def attach(self, _: int, tie: Tie) -> None:
        """Attach a tie; the energy in its spring at this instant is recorded."""
        place = self._berthed(tie)
        ties = {**self.discrete.ties, tie.name: (tie, place, self.t)}
        self.discrete = replace(self.discrete, ties=ties)
        self.brought += self._stored(tie.name)

    def brake(self, _: int, names: Sequence[str]) -> None:
        """Close the brakes of the named joints; a brake of limited effort slips while they move."""
        closed = dict(self.discrete.closed)
        for name, holder in self.holders.items():
            if holder.brake is not None and holder.axis.name in names:
                rate = float(self.v[holder.index].real)
                closed[name] = way_closed.python(closed.get(name, OPEN), rate, holder.brake)
        braked = self.discrete.braked | set(names)
        self.discrete = replace(self.discrete, closed=closed, braked=braked)

    def command(self, k: int, _: Mapping[str, dict[str, Any]]) -> None:
        """Change the servo settings that event k commands."""
        self.discrete = commanded(self.discrete, k, self.model, self.t)

    def end(self, _: int, ends: bool) -> None:
        """Mark the run as ended by an event."""
        self.discrete = replace(self.discrete, over=ends)

    def turn_brakes(self) -> None:
        """Set closed brakes of limited effort to slip on moving joints, and to stick on others."""
        closed = dict(self.discrete.closed)
        largest = float(np.abs(self.v).max(initial=0.0))
        for name, holder in self.holders.items():
            can_slip = holder.able and holder.axis.name not in self.discrete.locked
            if can_slip and name in closed and math.isfinite(self.discrete.capacity(holder)):
                closed[name] = way_moving.python(float(self.v[holder.index].real), largest)
        self.discrete = replace(self.discrete, closed=closed)

    def _loose_equation(self) -> Kinetics:
        return self.equation(self.discrete.loosened(self.model))

    def _follow(self, result: "Impulse") -> None:
        """Adopt the rates and the work of an impulse, and update stick and slip."""
        self.v = result.v
        self.prescribed_work += result.prescribed_work
        self.turn_brakes()

    def _lose(self, k: int, energy: float) -> None:
        self.lost[k] = self.lost.get(k, 0.0) + energy

    def _cause(self, index: int) -> int:
        """Return the event index that closes a coordinate's brake now; -1 if there is none."""
        names = {holder.axis.name for holder in self.holders.values() if holder.index == index}
        current = (k for k, t in self.discrete.done.items() if t == self.t)
        return min((k for k in current if names & set(self.events[k].brake)), default=-1)

    def _stored(self, name: str) -> float:
        """Return the energy stored in the spring of a tie [J]."""
        tie, point, begin = self.discrete.ties[name]
        if tie.path is not None:
            point = np.array([evaluate(profile, self.t - begin)[0] for profile in tie.path])
        stretch = self._berthed(tie) - point
        return float(tie.stiffness * stretch @ stretch) / 2

    def _berthed(self, tie: Tie) -> Array:
        """Return the position [m] of a tie's point, (3,), in the axes of its berth."""
        point, to = tied_points(self.model, tie)
        equation = self.equation(self.discrete)
        assert isinstance(equation, Equation)  # gradients of runs refuse ties
        position = equation.point_pose(self.q, point)[1]
        if to is None:
            return position
        rotation, origin = equation.point_pose(self.q, to)
        return np.asarray(rotation.T @ (position - origin))

    def _require_reach(self, name: str, distance: float) -> None:
        """Raise an error if the distance [m] from tip to body exceeds `reach` of the body."""
        reach = next(body.reach for body in self.model.arm.bodies if body.name == name)
        if distance > reach:
            raise SimulationError(
                f"{name} cannot be captured: its fixture is {distance:.4g} m from the tip, beyond "
                f"the reach of {reach:g} m. Capture it at another time, or move the tip there."
            )


def tied_points(model: Model, tie: Tie) -> tuple[ArmPoint, ArmPoint | None]:
    """Return the point of the arm that a tie holds, and the carrier of its berth, if any."""
    point = ArmPoint.of(model.arm, tie.point)
    return point, None if tie.to is None else ArmPoint.of(model.arm, tie.to)


# Effect of an event: a function of the transition, the event's index and the value of the event's
# key in the model file.
Effect = Callable[[Transition, int, Any], None]

# Effects of events by key of the model file, in the order in which they apply at one instant.
EFFECTS: Mapping[str, Effect] = {
    "release": Transition.release,
    "let_go": Transition.let_go,
    "capture": Transition.capture,
    "detach": Transition.detach,
    "attach": Transition.attach,
    "brake": Transition.brake,
    "servo": Transition.command,
    "end": Transition.end,
}


def commanded(discrete: DiscreteState, k: int, model: Model, t: float) -> DiscreteState:
    """Return the discrete state after event k has changed servos at time t [s].

    Raises
    ------
    SimulationError
        If the changed settings of a servo are invalid.
    """
    servos, axes = dict(discrete.servos), {axis.name: axis for axis in model.axes}
    for name, changes in model.arm.events[k].servo.items():
        begin, earlier = servos.get(name, (0.0, ()))
        servos[name] = (t if FOLLOWED & set(changes) else begin, (*earlier, k))
    discrete = replace(discrete, servos=servos)
    for name in model.arm.events[k].servo:
        servo = axes[name].acts.servo
        assert servo is not None
        try:
            servo.changed(discrete.servo_changes(name, model))
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            raise SimulationError(f"events: the servo of {name}: {message}") from None
    return discrete


@dataclass(frozen=True)
class Impulse:
    """Effect of an impulse on an arm: rates, reaction impulses, work and dissipated energy."""

    v: Array  # rates after the impulse, (n,)
    efforts: Array  # reaction impulses along prescribed coordinates, 0 along others, (n,)
    prescribed_work: float  # work of prescribed coordinates that move [J]
    lost: float  # dissipated energy [J]


def impulse(
    before: Kinetics,
    after: Kinetics,
    q: Array,
    v: Array,
    body: FreeBodyState | None = None,
    stopped: Sequence[int] = (),
) -> Impulse:
    """Compute the rates after a body joins the tip or coordinates stop.

    The impulse conserves the momentum of all coordinates that are not prescribed. Prescribed
    coordinates keep their rates, and the result contains the reaction impulses that keep them.

    Parameters
    ----------
    before, after
        Mass matrix and tip kinematics before and after the impulse.
    q, v
        Coordinates and rates before the impulse, (n,) each.
    body
        Body that the tip captures, if any.
    stopped
        Indices of coordinates that stop, and are prescribed after the impulse.
    """
    M, mass_before = after.mass_matrix(q), before.mass_matrix(q)
    total, twice_energy = mass_before @ v, np.zeros(())
    if body is not None:
        J = after.tip_jacobian(q)
        arm = body.centre - after.tip_pose(q)[1]
        linear = J[:3] - skew_matrix(arm) @ J[3:]
        momentum, spin_momentum = body.inertia.mass * body.velocity, body.about_centre @ body.spin
        total = total + linear.T @ momentum + J[3:].T @ spin_momentum
        twice_energy = momentum @ body.velocity + body.spin @ spin_momentum
    prescribed = list(after.model.prescribed)
    others = [i for i in range(len(q)) if i not in prescribed]
    rates, efforts = np.array(v, dtype=np.result_type(v, M, total)), np.zeros_like(total)
    rates[list(stopped)] = 0.0
    momentum_left = total[others] - M[np.ix_(others, prescribed)] @ rates[prescribed]
    rates[others] = np.linalg.solve(M[np.ix_(others, others)], momentum_left)
    efforts[prescribed] = (M @ rates - total)[prescribed]
    work = (rates @ efforts).item()
    loss = ((v @ mass_before @ v + twice_energy - rates @ M @ rates) / 2).item() + work
    return Impulse(rates, efforts, work, loss)
