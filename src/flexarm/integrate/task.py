"""A motion to be computed: its equation, inputs, start and tolerance."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.arm.drive import SpringTable
from flexarm.arm.profile import Constant
from flexarm.errors import FlexarmError, SimulationError
from flexarm.formulations import DEFAULT, formulation
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import Actuators, actuators_of
from flexarm.integrate.bounds import RTOL
from flexarm.integrate.choice.vibration import Vibration, vibration
from flexarm.integrate.laws import Sampled, ServoMemory, refuse_misfit
from flexarm.integrate.method import Method
from flexarm.integrate.motion import MotionFunctions
from flexarm.integrate.problem import (
    STILL,
    Channel,
    Measures,
    Watch,
    channels,
    jumps,
    measures,
    read_inputs,
    refuse_short_tables,
    system_of,
    watches,
)
from flexarm.integrate.system import System
from flexarm.links.base import Array
from flexarm.mechanics.drives import coulomb_frictions
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Model, start_state
from flexarm.runs.curves import PER_PERIOD

DAMPED = 0.005  # damping ratio from which on errors die away
CARRIES = 1e-3  # share in a deflection or its rate: a mode with less does not matter to it
TANGENT_PAYS = 16  # coordinates up to which an exact tangent in every step is cheap
TANGENT_WORK = 15_000  # operations of a motion, beyond which to compile its tangent takes minutes
# [rad] that a body may turn in a step whose distance is an event: a cubic through the ends of the
# step misses a sine by x^4/384, 2e-4 of its amplitude.
TURNED = 0.5
OUTSIDE = 3.0  # what decays this many times as fast as deflections swing couples their modes
SAMPLES = 500  # intervals of a run whose interval nobody chose, at least
MOST_PARTS = 8  # that each of them is split into, where something vibrates in between


def sample_times(t_end: float, dt: float | None) -> Array:
    """List the times to keep: every dt from 0 on, and the end."""
    if dt is None:
        return np.linspace(0.0, t_end, SAMPLES + 1)
    times = dt * np.arange(np.floor(t_end / dt * (1 + 1e-12)) + 1)
    if t_end - times[-1] > 1e-9 * dt:
        return np.append(times, t_end)
    times[-1] = t_end
    return times


def parts_for(fastest: float, interval: float, least: float = 0.0) -> int:
    """Choose into how many parts to split an interval [s] while it is not known what will vibrate.

    Parameters
    ----------
    fastest
        Frequency of the fastest mode [rad/s].
    interval
        The interval [s].
    least
        No part may be smaller [s].

    Returns
    -------
    int
        A power of 2, `MOST_PARTS` at most.
    """
    wanted = PER_PERIOD * fastest * interval / (2 * np.pi)
    parts = 1
    while parts < min(wanted, MOST_PARTS) and interval / (2 * parts) >= least:
        parts *= 2
    return parts


def equation_of(model: Model, *, name: str = DEFAULT, paper: bool = False) -> Equation:
    """Make the equation of a model by a formulation that simulates it.

    Raises
    ------
    SimulationError
        If the formulation refuses the arm.
    """
    try:
        return formulation(name, model, paper=paper)
    except FlexarmError as error:
        raise SimulationError(str(error)) from None


def prepare(
    model: Model,
    times: Array,
    *,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    equation: Equation | None = None,
    locked: Sequence[str] = (),
    state: tuple[Array, Array] | None = None,
    actuators: Actuators | None = None,
    home: Array | None = None,
    begins: Mapping[str, float] | None = None,
    wanted: float = RTOL,
    when: str = "at the start",
    compiles: bool = True,
) -> "InitialValueProblem":
    """Prepare a motion, or refuse it; inputs of locked joints are left out.

    It begins at a state (q, v), that of the model file if None; the model's servos drive it if
    ``actuators`` is None.  They hold ``home``, the state if None, where they have no target, and
    targets count from ``begins`` by joint.

    Raises
    ------
    SimulationError
        If it cannot begin: the state is out of bounds, or the equations are singular there.  That a
        coordinate moves without inertia is seen once the mass matrix is compiled.
    """
    equation = equation or formulation(DEFAULT, model)
    inputs = {name: value for name, value in (inputs or {}).items() if name not in locked}
    if isinstance(control, ca.Function):
        refuse_misfit(control, model)
    q, v = start_state(model) if state is None else state
    read = read_inputs(model, inputs) if inputs else {}
    groups = channels(model, read, q if home is None else home, begins or {})
    actuators = actuators or actuators_of(model)
    if control is not None:  # in place of the file's inputs and servos
        groups = ([replace(channel, profile=STILL) for channel in groups[0]], *groups[1:3], [])
        actuators = replace(actuators, servos=())
    motion = MotionFunctions(
        equation, control if isinstance(control, ca.Function) else None, actuators
    )
    refuse_short_tables([channel for group in groups for channel in group], float(times[-1]))
    refuse_outside(watches(model, q, wanted), q, v)
    reason = equation.singularity(q) if equation.guarded else ""
    if reason:
        raise SimulationError(reason)
    task = InitialValueProblem(equation, motion, groups, times, q, v, wanted, when=when)
    return replace(task, shaken=[task.vibration]) if compiles else task


def refuse_outside(watched: Sequence[Watch], q: Array, v: Array) -> None:
    """Refuse a start at which the run would have to stop."""
    state = np.concatenate([q, v])
    for watch in watched:
        value = float(watch.row @ state)
        if watch.what and not watch.low <= value <= watch.high:
            limit = watch.low if value < watch.low else watch.high
            raise SimulationError(
                f"{watch.what} is {value:.4g} at the start, beyond {limit:.4g}: {watch.remedy}"
            )


@dataclass(frozen=True)
class State:
    """The state that a phase of a run begins in."""

    t: float  # time [s]
    # q, v: coordinates and rates, (n,).
    q: Array
    v: Array
    anchor: Array  # attitudes that angles are relative to
    # works, brought: works and accounts so far [J] and impulses [N s] and [N m s], of bodies
    # captured too; the energy of these less that of bodies let go.
    works: Array
    brought: float = 0.0
    # x, memory: states of servos and drives by name, and what sampled servos know.
    x: Mapping[str, float] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    # Of what errors are measured in, so far.
    ranges: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class InitialValueProblem:
    """A motion to be computed."""

    # equation, motion: the formulation and its compiled rates.
    equation: Equation
    motion: MotionFunctions
    # Channels: inputs, wrench factors, prescribed motions, targets of servos.
    groups: tuple[list[Channel], ...]
    times: Array  # times to keep
    # q, v, works, states: the initial state, works, accounts and impulses before it, states of
    # servos and drives; 0 if left out.
    q: Array
    v: Array
    wanted: float = RTOL  # the tolerance
    works: Array = field(default_factory=lambda: np.zeros(0))
    states: Array = field(default_factory=lambda: np.zeros(0))
    # Of brakes and dry friction that can slip.
    efforts: Array = field(default_factory=lambda: np.zeros(0))
    # Of the quantities that are looked out for, low and high.
    bounds: tuple[Array, Array] = (np.zeros(0), np.zeros(0))
    # What sampled servos know and what they hold, by joint.
    memory: Mapping[str, ServoMemory] = field(default_factory=dict)
    brought: float = 0.0  # energy [J] of bodies captured before, less that of bodies let go
    # Of what errors are measured in, in the legs before.
    ranges: Mapping[str, Array] = field(default_factory=dict)
    when: str = "at the start"  # where its state is, for messages
    # How the arm vibrates at the first state that this was asked for, of copies too.
    shaken: list[Vibration] = field(default_factory=list, repr=False)

    @property
    def vibration(self) -> Vibration:
        """How the arm vibrates about its state; mass, stiffness and damping are compiled for it.

        Raises
        ------
        SimulationError
            If a coordinate moves without inertia.
        """
        if not self.shaken:
            equation, model = self.equation, self.equation.model
            matrices = equation.compiled("matrices").call(self.q, self.v, *equation.given)
            M, K, D = (matrix.reshape(model.size, -1) for matrix in matrices)
            require_inertia(model, M, when=self.when)
            if self.motion.actuators.servos:
                stiff, damped = self.motion.actuators.stiffness(model)
                K, D = K + stiff, D + damped
            self.shaken.append(vibration(model, M, K, D, self.v))
        return self.shaken[0]

    def begun(self, state: State) -> "InitialValueProblem":
        """Begin with the works and the states of servos and drives that a state has."""
        names = self.motion.actuators.state_names
        return replace(
            self,
            works=state.works,
            brought=state.brought,
            memory=state.memory,
            ranges=state.ranges,
            states=np.array([state.x.get(name, 0.0) for name in names]),
        )

    def holding(self, indices: Collection[int]) -> "InitialValueProblem":
        """Hold coordinates of a model in which they are prescribed where they are."""
        places = {self.equation.model.names[index]: float(self.q[index]) for index in indices}
        moved = [
            Channel(c.name, Constant[float](kind="constant", value=places[c.name]))
            if c.name in places
            else c
            for c in self.groups[2]
        ]
        return replace(self, groups=(*self.groups[:2], moved, *self.groups[3:]))

    @property
    def damped(self) -> bool:
        """Whether errors of vibrations die away, in all that errors are measured in."""
        return self.damping >= DAMPED

    @cached_property
    def damping(self) -> float:
        """The least damping ratio of a mode that carries a deflection; 0 of a rigid arm."""
        ratios = self.vibration.modes.ratios[self._carries]
        return float(ratios.min(initial=1.0)) if len(ratios) else 0.0

    @property
    def _carries(self) -> NDArray[np.bool_]:
        """Whether each mode carries a deflection, or its rate."""
        shares = np.maximum(self._carried(), self._carried(rates=True))
        return np.asarray((shares > CARRIES).any(axis=0))

    def _carried(self, *, rates: bool = False) -> Array:
        """Give the shares of modes in each deflection or its rate, (groups, modes)."""
        measured = self.measures
        shares = self.vibration.modes.carried(measured.rows, measured.group, rates=rates)
        return np.asarray(shares[np.array(measured.deflects, dtype=bool)])

    def vibrations(self, *, rates: bool = False, least: float | None = None) -> float:
        """Count vibrations that add up their errors in a deflection, or its rate.

        Those that damping has forgotten do not count.  Modes count by their shares; but where steps
        follow even the fastest of at least a share, all of their errors may be in that one.
        """
        modes = self.vibration.modes
        memory = 1 / np.maximum(modes.ratios * modes.frequencies, 1e-300)
        lasting = np.minimum(float(self.times[-1] - self.times[0]), memory)
        each = lasting * modes.frequencies / (2 * np.pi)
        shares = self._carried(rates=rates)
        shares = shares if least is None else np.where(shares > least, 1.0, 0.0)
        counted = shares * each
        counted = counted.sum(axis=1) if least is None else counted
        return float(counted.max(initial=0.0))

    @cached_property
    def measures(self) -> Measures:
        """What errors are measured in."""
        found = measures(self.equation.model, self.q, self.vibration)
        states = self.motion.actuators.states
        return replace(found, state_floor=self.motion.actuators.floors) if states else found

    @cached_property
    def watches(self) -> tuple[Watch, ...]:
        """What ends the run."""
        return tuple(watches(self.equation.model, self.q, self.wanted))

    @property
    def jumps_inside(self) -> int:
        """Number of jumps of channels while the arm moves."""
        listed = self.breaks
        return int(np.sum((listed > self.times[0]) & (listed < self.times[-1])))

    @property
    def coupled(self) -> bool:
        """Whether strong dampers couple modes: errors of each add up before they die away."""
        modes = self.vibration.modes
        swings = np.where(self._carries & (modes.ratios < 1), modes.frequencies, 0.0)
        decays = np.where(modes.ratios < 1, 0.0, modes.frequencies)
        return bool(decays.max(initial=0.0) > OUTSIDE * swings.max(initial=0.0))

    def parts(self, method: Method, wanted: float, step: float | None = None) -> int:
        """Choose into how many parts to split intervals between samples; rk4 ends steps at them."""
        interval = float(np.sort(np.diff(self.times))[(len(self.times) - 1) // 2])
        if method.adaptive:
            return parts_for(self.vibration.fastest, interval)
        least = equal_step(method, self.vibration, float(self.times[-1]), wanted, step)
        return parts_for(self.vibration.fastest, interval, least)

    @property
    def trial_step(self) -> float:
        """The first step that is tried [s]."""
        least = 10.0 / float(self.times[-1])
        return 0.01 / max(self.vibration.fastest, least)

    def longest_step(self, method: Method) -> float:
        """Bound the steps of a method [s]."""
        # The slope of dry friction is that of standstill, and no bound while it slips.
        dry = has_dry_friction(self.equation.model)
        rate = self.vibration.fastest if dry else self.vibration.largest
        spins = max((look.fastest for look in self.motion.actuators.lookouts), default=0.0)
        return min(method.reach / max(rate, 1e-12), TURNED / max(spins, 1e-12))

    @property
    def breaks(self) -> Array:
        """Times at which channels jump [s]."""
        return jumps([channel for group in self.groups for channel in group])

    def joined(self) -> tuple[System, dict[str, Array]]:
        """Join the compiled equations to their channels, and list the arrays that they use."""
        actuators = self.motion.actuators
        system, buffers = system_of(
            self.equation, self.motion.compiled(), self.groups,
            works=actuators.works, impulses=actuators.impulses,
        )  # fmt: skip
        buffers["b"][:] = self.efforts
        sampled = [each.name for each in actuators.servos if each.servo.period is not None]
        buffers["h"][:] = [self.memory[k].held if k in self.memory else 0.0 for k in sampled]
        return system, buffers

    @property
    def peeks(self) -> bool:
        """Tell whether something is looked out for that has no rate: what a brake holds."""
        low, high = self.bounds
        looks = self.motion.actuators.lookouts[: len(low)]  # corners come after them
        pairs = zip(looks, np.minimum(-low, high), strict=True)
        return any(not each.smooth and np.isfinite(bound) for each, bound in pairs)

    @property
    def state(self) -> Array:
        """The initial state y."""
        actuators = self.motion.actuators
        works = self.works if len(self.works) else np.zeros(actuators.works + actuators.impulses)
        states = self.states if len(self.states) else np.zeros(actuators.states)
        return np.concatenate([self.q, self.v, works, states])


def tangent_pays(task: "InitialValueProblem") -> bool:
    """Tell whether an exact tangent is cheap, to compile and in every step."""
    small = task.equation.model.size <= TANGENT_PAYS
    return small and task.motion.compiled().operations <= TANGENT_WORK


def has_strong_dampers(task: "InitialValueProblem", times: float = OUTSIDE) -> bool:
    """Tell whether dampers make decays so many times as fast as the fastest mode."""
    return task.vibration.largest > times * task.vibration.fastest


def has_tables(model: Model) -> bool:
    """Tell whether springs of joints or transmissions change their stiffness as they wind up."""
    springs = (part for axis in model.axes for part in (axis.acts.drive, axis.acts.spring))
    return any(part and isinstance(part.stiffness, SpringTable) for part in springs)


def has_dry_friction(model: Model) -> bool:
    """Tell whether any joint has friction that changes fast about standstill."""
    return bool(coulomb_frictions(model))


def bumps(model: Model) -> bool:
    """Tell whether forces set in where an arm touches something, or comes to a stop."""
    return bool(model.arm.contacts) or has_stops(model)


def has_stops(model: Model) -> bool:
    """Tell whether any joint comes to a stop."""
    return any(axis.acts.stops for axis in model.axes)


def equal_step(
    method: Method, vibration: Vibration, duration: float, wanted: float, step: float | None
) -> float:
    """Choose an equal step by the fastest mode and decay, or check the one that a user gives.

    An error of a thousandth of the deflections takes about 0.4 over the fastest frequency.
    """
    fastest, largest = max(vibration.fastest, 1e-12), max(vibration.steepest, 1e-12)
    if step is None:
        share = 0.4 * (wanted / 1e-3) ** 0.3
        return float(min(duration / 200, share / fastest, 0.9 * method.stable / largest))
    limit = method.stable / largest
    if step > limit:
        what = f"the fastest mode ({fastest / (2 * np.pi):.4g} Hz)"
        if largest > 1.05 * fastest:
            what = f"the fastest decay, by damping ({largest:.4g} 1/s),"
        raise SimulationError(
            f"step: {step:g} s is too large for {method.name}. {what} needs at most "
            f"{limit:.3g} s. Use fewer modes, less damping, a smaller step, or method "
            "'auto'."
        )
    return step
