"""Hybrid simulation: a run in phases, with events between them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.arm.mission import Event
from flexarm.arm.profile import Constant
from flexarm.constants import ACCUMULATED
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import Acting, Actuators, actuators_of, impulses
from flexarm.integrate.constants import MOST_SLIP_CHANGES, RTOL
from flexarm.integrate.drivetrain import (
    Slipping,
    SpringDamper,
    StickSlip,
    holders,
    loss_channels_of,
    tie_account,
)
from flexarm.integrate.laws import Sampled
from flexarm.integrate.mission.discrete import DiscreteState, Locks, instants, locked_phases
from flexarm.integrate.mission.event_functions import EventFunction, require_quantities
from flexarm.integrate.mission.starts import first_state
from flexarm.integrate.mission.transitions import Transition, tied_points
from flexarm.integrate.problem import Channel
from flexarm.integrate.solve import Solution
from flexarm.integrate.system import IMPULSES, WORKS, instant
from flexarm.integrate.task import InitialValueProblem, State, prepare
from flexarm.linear.equilibrium import Equilibrium
from flexarm.model import Model
from flexarm.runs.data import EventRecord, PendingEvent, RunData
from flexarm.runs.run import Run
from flexarm.spatial import Array


@dataclass(frozen=True)
class Guard:
    """Event function and what it triggers: an event of the model file, or stick or slip."""

    event_function: EventFunction
    event: int = -1
    holder: str = ""


class HybridSimulation:
    """Simulation in phases with different discrete states (locks, brakes, held bodies).

    Parameters
    ----------
    model
        The arm.
    locks
        Time intervals [s] in which joints are locked, by joint.
    t_end
        End time [s].
    equation
        Function that builds the equation of motion of a model.
    """

    def __init__(
        self, model: Model, locks: Locks, t_end: float, equation: Callable[[Model], Equation]
    ) -> None:
        self.model, self.t_end, self._equation = model, t_end, equation
        self.events: tuple[Event, ...] = model.arm.events
        self._phases = locked_phases(model, locks, t_end)
        self._holders = holders(model)
        self._loss_channels = loss_channels_of(model)
        self.guards = self._build_guards()
        times = [phase.begin for phase in self._phases]
        times += [event.earliest for event in self.events]
        self.instants = instants([t for t in times if t > 0], t_end)
        self.start = self.discrete = DiscreteState.at_start(model, self._phases[0].locked)
        # If events change the load, it is an input of the machine code.
        self._loads = any(event.capture or event.let_go for event in self.events)
        self.log: list[EventRecord] = []
        self._equations: dict[str, Equation] = {}
        self._places: dict[int, int] = {}  # index of each event in the log
        self._changes = (0.0, 0)

    @property
    def single(self) -> bool:
        """Whether the run has one phase: no events, no stick-slip and no changes of locks."""
        return len(self.instants) == 2 and not self.guards and not self.events

    @property
    def plain(self) -> bool:
        """Whether the run has one phase, in which no lock or brake holds a joint."""
        return self.single and not self.discrete.holding(self.model)

    def expected_phases(self) -> int:
        """Estimate how many later phases will need newly compiled equations of motion.

        The estimate assumes that brakes of limited effort stop their joints one after another, and
        counts each dry friction element once.
        """
        braked, locked = self.start.braked, {phase.locked for phase in self._phases}
        brake_sets, extra = {braked}, 0
        times = [event.earliest for event in self.events]
        for i in sorted(range(len(times)), key=times.__getitem__):
            event = self.events[i]
            if times[i] >= self.t_end:
                break
            slipping = [h for h in self._holders.values() if h.able and h.axis.name in event.brake]
            extra += max(len([h for h in slipping if h.axis.name not in braked]) - 1, 0)
            extra += (event.attach is not None) + (event.detach is not None)
            braked = braked - set(event.release) | set(event.brake)
            brake_sets.add(braked)
        dry = sum(bool(holder.frictions) for holder in self._holders.values())
        return len(brake_sets) + len(locked) - 2 + extra + dry

    def _slip_elements(self) -> list[StickSlip]:
        """Return the brakes and dry friction of joints that are not locked and can slip."""
        unlocked = (h for h in self._holders.values() if h.axis.name not in self.discrete.locked)
        return [holder for holder in unlocked if holder.able]

    def _build_guards(self) -> tuple[Guard, ...]:
        guards = []
        require_quantities(self.model)
        for i, event in enumerate(self.events):
            if event.when is not None:
                guards.append(Guard(EventFunction.of(self.model, event.when.quantity), event=i))
        for name, holder in self._holders.items():
            if holder.able:
                guards.append(Guard(EventFunction("effort", holder.index), holder=name))
                guards.append(Guard(EventFunction("speed", holder.index), holder=name))
        return tuple(guards)

    def equation(
        self, reference_attitude: Array, discrete: DiscreteState | None = None
    ) -> Equation:
        """Return the equation of motion in the current discrete state, or in a given one.

        The argument `reference_attitude` contains the attitudes from which angles of a free base
        and of spherical joints count.
        """
        discrete = discrete or self.discrete
        if discrete.key not in self._equations:
            built = self._equation(replace(discrete.model(self.model), load_given=self._loads))
            self._equations[discrete.key] = built
        return self._equations[discrete.key].with_reference(reference_attitude)

    def first(
        self,
        start: RunData | Equilibrium | Literal["stated", "equilibrium"],
        inputs: Mapping[str, Any] | None = None,
        *,
        law: bool = False,
    ) -> State:
        """Return the initial state of the run, after the events at time 0.

        Raises
        ------
        SimulationError
            If no initial state exists, if an event at time 0 is impossible or ends the run, or if a
            control law is combined with events that change servos.
        """
        locked = set(self.discrete.locked)
        state, self.home = first_state(self.model, start, inputs or {}, law=law, locked=locked)
        transition = self._transition(state)
        transition.turn_brakes()
        state = self.enter(self._adopt(transition, state))
        ending_events = [k + 1 for k in sorted(self.discrete.done) if self.events[k].end]
        if ending_events:
            raise SimulationError(
                f"events[{ending_events[0]}]: this event ends the run at time 0. Give it a later "
                "time."
            )
        if law and any(event.servo for event in self.events):
            raise SimulationError(
                "control: a control law replaces the servos, and an event changes a servo. "
                "Leave the law or the change out."
            )
        return state

    def phase_end(self, t: float) -> float:
        """Return the latest end [s] of a phase that begins at t: the next scheduled event."""
        return next((t_next for t_next in self.instants if t_next - t > instant(t)), self.t_end)

    def actuators(self, model: Model) -> Actuators:
        """Return the actuators of a model and all event functions, for the current phase."""
        event_functions = tuple(self._event_function(guard) for guard in self.guards)
        slipping = [Slipping.of(holder) for holder in self._slip_elements()]
        ties = [
            SpringDamper(
                tie_account(name),
                float(tie.stiffness),
                float(tie.damping),
                *tied_points(model, tie),
            )
            for name, (tie, _, _) in self.discrete.ties.items()
        ]
        return actuators_of(
            model,
            slipping=slipping,
            ties=ties,
            loss_channels=self._loss_channels,
            event_functions=event_functions,
        )

    def tie_targets(self) -> list[Channel]:
        """Return the positions of the berths of ties, as three functions of time per tie."""
        channels = []
        for name, (tie, place, begin) in self.discrete.ties.items():
            fixed = [Constant[float](kind="constant", value=float(x)) for x in place]
            channels += [Channel(f"tie {name}", path, begin) for path in tie.path or fixed]
        return channels

    def _event_function(self, guard: Guard) -> EventFunction:
        """Return the event function of a guard; for a distance, with the path of the free body.

        If the event can no longer happen, the path from the start of the simulation is used.
        """
        if guard.event_function.kind != "distance":
            return guard.event_function
        state = self.discrete if self._can_happen(guard) else self.start
        try:
            path = state.free_body(guard.event_function.body, self.model).path()
        except SimulationError as error:
            raise SimulationError(f"events[{guard.event + 1}].when: {error}") from None
        return replace(guard.event_function, path=path)

    def _can_happen(self, guard: Guard) -> bool:
        """Return whether a guard's event can still happen.

        An event triggered by the distance to a body cannot happen while the tip holds this body.
        """
        return guard.event not in self.discrete.done and (
            guard.event_function.kind != "distance"
            or guard.event_function.body not in self.discrete.held
        )

    def armed(self, t: float) -> dict[int, EventFunction]:
        """Return the event functions active in a phase that begins at t [s], by event index."""
        return {
            guard.event: self._event_function(guard)
            for guard in self.guards
            if guard.event >= 0
            and self._can_happen(guard)
            and self.discrete.monitors(self.model, guard.event, t)
        }

    def efforts(self) -> Array:
        """Return brake effort and friction direction of each brake or dry friction, (2 m,).

        The m brakes and dry frictions have the same order as in the equations of motion.
        """
        data: list[float] = []
        for holder in self._slip_elements():
            direction = -self.discrete.closed.get(holder.name, 0)
            braked = holder.axis.name in self.discrete.braked
            brake = (holder.brake or 0.0) if braked and direction else 0.0
            data += [direction * brake, direction]
        return np.array(data, dtype=float)

    def bounds(self, state: State) -> tuple[Array, Array]:
        """Return lower and upper bounds of all event functions, (m,) each.

        Inactive event functions have infinite bounds. The event function of a sticking coordinate
        is its effort, bounded by the effort that friction holds; that of a slipping coordinate is
        its rate, bounded by 0. The bound of the rate has a margin for rounding while the coordinate
        breaks away from standstill.
        """
        rate_rounding = ACCUMULATED * float(np.abs(state.v).max(initial=0.0))
        low, high = np.full(len(self.guards), -np.inf), np.full(len(self.guards), np.inf)
        armed = self.armed(state.t)
        for k, guard in enumerate(self.guards):
            if guard.event >= 0:
                when = self.events[guard.event].when
                assert when is not None
                if guard.event in armed:
                    low[k], high[k] = guard.event_function.bounds(when)
                continue
            holder = self._holders[guard.holder]
            locked = holder.axis.name in self.discrete.locked
            slipping = None if locked else self.discrete.closed.get(guard.holder)
            if guard.event_function.kind == "effort" and slipping == 0:
                high[k] = self.discrete.capacity(holder)
                low[k] = -high[k]
            elif guard.event_function.kind == "speed" and slipping:
                margin = 0.0 if state.v[guard.event_function.index] else rate_rounding
                low[k], high[k] = (-margin, np.inf) if slipping > 0 else (-np.inf, margin)
        return low, high

    def enter(self, state: State) -> State:
        """Return the state after all locks and scheduled events that are due at its time."""
        t = state.t
        phase = next(phase for phase in reversed(self._phases) if phase.begin <= t + instant(t))
        self.discrete = replace(self.discrete, locked=phase.locked)
        return self._apply_events(self.discrete.due(self.model, t), state)

    def triggered(self, indices: Sequence[int], value: float, state: State) -> State:
        """Return the state after guards have triggered: simultaneous events, or a stick or slip.

        The argument `indices` contains the indices of the triggered guards, and `value` the value
        of the first guard's event function.
        """
        guard = self.guards[indices[0]]
        if guard.event >= 0:
            guards = [self.guards[k] for k in indices if k < len(self.guards)]  # corners come last
            events = [guard.event for guard in guards if guard.event >= 0]
            return self._apply_events(events + self.discrete.due(self.model, state.t), state)
        last_time, count = self._changes
        count = count + 1 if state.t - last_time <= instant(state.t) else 0
        self._changes = (state.t, count)
        if count > MOST_SLIP_CHANGES:
            raise SimulationError(
                f"{guard.holder}: no solution was found in which the joint sticks, and none in "
                "which it slips. Check the loads on this joint."
            )
        holder, slips = self._holders[guard.holder], guard.event_function.kind == "effort"
        action = "begins to slip" if slips else "holds"
        braked = holder.axis.name in self.discrete.braked and holder.brake is not None
        element = f"brake of {holder.axis.name}" if braked else f"friction of {holder.name}"
        self.log.append(EventRecord(state.t, f"{element} {action}"))
        transition = self._transition(state)
        effort, rate = (value, 0.0) if slips else (0.0, value)
        transition.turn(guard.holder, effort, rate)
        return self._adopt(transition, state)

    def _apply_events(self, due: Sequence[int], state: State) -> State:
        """Apply events at one instant, add them to the log, and return the state after them."""
        transition = self._transition(state)
        try:
            transition.apply(due)
        finally:  # an impossible event ends the run: not pending
            self.discrete = transition.discrete
        for k in [k for k in transition.discrete.done if k in due]:
            self._places[k] = len(self.log)
            self.log.append(EventRecord(state.t, self.events[k].title))
        return self._adopt(transition, state)

    def _transition(self, state: State) -> Transition:
        """Return a transition (change by events at one instant) that begins at a given state."""
        equation = partial(self.equation, state.reference_attitude)
        return Transition(self.model, equation, self.discrete, state.t, state.q, state.v)

    def _adopt(self, transition: Transition, state: State) -> State:
        """Return the state after a transition, whose discrete state becomes the current one."""
        self.discrete = transition.discrete
        for k, loss in transition.lost.items():
            if k >= 0:
                record = self.log[self._places[k]]
                self.log[self._places[k]] = record._replace(lost=record.lost + float(loss))
        work_integrals = state.work_integrals.copy()
        if not len(work_integrals):
            work_integrals = np.zeros(WORKS + len(self._loss_channels) + impulses(self.model))
        work_integrals[2:WORKS] += (transition.prescribed_work, sum(transition.lost.values()))
        if impulses(self.model):
            for body, factor in transition.exchanged:
                work_integrals[-IMPULSES:] += factor * body.inertial_momentum
        brought = transition.brought + sum(
            factor * body.energy for body, factor in transition.exchanged
        )
        return replace(
            state, v=transition.v, work_integrals=work_integrals, brought=state.brought + brought
        )


def times_of(times: Array, begin: float, end: float) -> Array:
    """Return the sample times [s] of a phase, with its start and end included."""
    inside = times[(times > begin + instant(begin)) & (times < end - instant(end))]
    return np.concatenate([[begin], inside, [end]])


def phase_problem(
    hybrid: HybridSimulation,
    state: State,
    times: Array,
    *,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    rtol: float = RTOL,
    acting: tuple[Acting, ...] = (),
    compiles: bool = True,
) -> InitialValueProblem:
    """Build the initial-value problem of the phase that starts from a given state.

    Raises
    ------
    SimulationError
        If the phase cannot begin.
    """
    equation, discrete = hybrid.equation(state.reference_attitude), hybrid.discrete
    model = discrete.servoed(equation.model)
    return prepare(
        model,
        times_of(times, state.t, hybrid.phase_end(state.t)),
        inputs=inputs,
        control=control,
        equation=equation,
        locked=discrete.locked,
        start=state,
        actuators=replace(hybrid.actuators(model), wrenches=acting),
        home=hybrid.home,
        begins=discrete.target_times(),
        fixed=discrete.holding(hybrid.model).values(),
        ties=hybrid.tie_targets(),
        efforts=hybrid.efforts(),
        bounds=hybrid.bounds(state),
        rtol=rtol,
        compiles=compiles,
    )


def after(task: InitialValueProblem, solution: Solution) -> State:
    """Return the state at the end of a phase, from its solution."""
    start, n, final_state = task.start, task.equation.model.size, solution.states[-1]
    actuators = task.motion.actuators
    first = 2 * n + actuators.work_integrals + actuators.impulses
    x = dict(zip(actuators.state_names, final_state[first:].tolist(), strict=True))
    return replace(
        start,
        q=final_state[:n].copy(),
        v=final_state[n : 2 * n].copy(),
        work_integrals=final_state[2 * n : first].copy(),
        t=float(solution.times[-1]),
        reference_attitude=solution.reference_attitudes[-1],
        x={**start.x, **x},
        memory={**start.memory, **solution.memory},
        ranges=solution.ranges,
    )


def pending_events(
    hybrid: HybridSimulation, run: Run, armed: Sequence[tuple[float, Mapping[int, EventFunction]]]
) -> tuple[PendingEvent, ...]:
    """Return the events that did not happen in a run, each with its nearest approach.

    Parameters
    ----------
    hybrid
        The hybrid simulation at the end of the run.
    run
        Result of the simulation.
    armed
        For each phase, its begin [s] and its active event functions, by event index.
    """
    phase_ends = [*(begin for begin, _ in armed[1:]), float(run.t[-1])]
    pending = []
    for i in (i for i in range(len(hybrid.events)) if i not in hybrid.discrete.done):
        spans = [
            (functions[i], (run.t >= begin) & (run.t <= end))
            for (begin, functions), end in zip(armed, phase_ends, strict=True)
            if i in functions
        ]
        pending.append(_pending(hybrid.events[i], run, spans))
    return tuple(pending)


def _pending(
    event: Event, run: Run, spans: Sequence[tuple[EventFunction, NDArray[np.bool_]]]
) -> PendingEvent:
    """Return why an event did not happen, and how close its quantity came to the threshold."""
    end = float(run.t[-1])
    if event.when is None:
        return PendingEvent(event.title, f"it is at {event.at:g} s, and the run ends at {end:g} s")
    if not spans and event.after >= end - instant(end):
        why = f"the event is enabled after {event.after:g} s, and the run ends at {end:g} s"
        return PendingEvent(event.title, why)
    if not spans:
        return PendingEvent(event.title, f"the body of {event.when.quantity} was not free")
    rises = event.when.below is None
    limit, worst = (event.when.above, -np.inf) if rises else (event.when.below, np.inf)
    values = np.full(len(run.t), worst)
    for function in {function for function, _ in spans}:
        inside = np.any([mask for of_span, mask in spans if of_span == function], axis=0)
        values = np.where(inside, function.values(run), values)
    k = int(np.argmax(values) if rises else np.argmin(values))
    value, t, unit = float(values[k]), float(run.t[k]), spans[0][0].unit(run.model)
    why = (
        f"{event.when.quantity} must be {'above' if rises else 'below'} {limit:g} {unit}, and came "
        f"to {value:.3g} {unit} at t = {t:.4g} s"
    )
    return PendingEvent(event.title, why, value, t)
