"""State of an integration in progress, and the ranges that scale its errors.

The state vector is y = (q, v, work, x): n coordinates, n rates, work integrals [J] since the start
(of inputs, wrenches, prescribed coordinates and dissipation), and actuator states.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexarm.constants import DIGITS
from flexarm.formulations.equation import Equation
from flexarm.integrate.constants import (
    CONTACT_DEEPEST,
    CONTACT_LEAST_LOOK,
    CONTACT_LOOK,
    CONTACT_REPEATED,
    FEWEST_STEPS,
    LEAST_SPEED,
    NEGLIGIBLE_ROUNDING,
    SMALLEST_STEP,
)
from flexarm.integrate.method import Method, zeros
from flexarm.integrate.problem import jumps, table_of
from flexarm.integrate.system import System
from flexarm.integrate.task import InitialValueProblem
from flexarm.loops.kernel import kernel
from flexarm.loops.language import UNSEEN, Array, Ints, Record, run_equations
from flexarm.loops.sums import copy


@dataclass
class Obstacles(Record):
    """Contacts of an arm, monitored within each step: distances, speeds and stiffness laws."""

    count: int  # number of contacts
    n: int  # number of coordinates
    equations: int  # address of the compiled distance functions
    table: Ints  # pointer table of the distance functions
    # q, v: inputs of the distance functions, (n,) each.
    q: Array
    v: Array
    distance: Array  # distance of each contact [m], (count,)
    closing: Array  # closing speed of each contact [m/s], (count,)
    speed: Array  # speed of each contact point [m/s], (count,)
    # stiffness, exponent: parameters of each contact's force law, stiffness * penetration^exponent,
    # (count,) each.
    stiffness: Array
    exponent: Array


def obstacles_of(equation: Equation, buffers: dict[str, Array]) -> Obstacles:
    """Build the record of an arm's contacts, whose work array is stored in `buffers`."""
    contacts, n = equation.model.arm.contacts, equation.model.size
    names = ("q", "v", "distance", "closing", "speed")
    arrays_of = {name: np.zeros(n if name in "qv" else len(contacts)) for name in names}
    address, table = 0, np.zeros(1, dtype=np.int64)
    if contacts:
        compiled = equation.compiled("nearness")
        table, pointed = table_of(compiled, {**buffers, **arrays_of})
        address, buffers["nearness"] = compiled.table_address, pointed[-1]
    return Obstacles(
        len(contacts),
        n,
        address,
        table,
        arrays_of["q"],
        arrays_of["v"],
        arrays_of["distance"],
        arrays_of["closing"],
        arrays_of["speed"],
        np.array([float(contact.stiffness) for contact in contacts]),
        np.array([float(contact.exponent) for contact in contacts]),
    )


@kernel
def evaluate_contacts(o: Obstacles, y: Array, y_new: Array, h: float, x: float) -> None:
    """Evaluate contact distances at the fraction x of a step, by a cubic from y to y_new."""
    for i in range(o.n):
        rate_start = h * y[o.n + i]
        rate_end = h * y_new[o.n + i]
        change = y_new[i] - y[i]
        cubic = (1.0 - x) * (rate_start - change) + x * (change - rate_end)
        o.q[i] = y[i] + x * (change + (1.0 - x) * cubic)
        o.v[i] = y[o.n + i] + x * (y_new[o.n + i] - y[o.n + i])
    run_equations(o.equations, o.table)


@kernel
def contact_step(o: Obstacles, y: Array, y_new: Array, h: float, energy: float) -> float:
    """Return the largest step [s], at most h, that resolves the penetration of every contact.

    The search assumes that between two evaluations no contact point approaches faster than at its
    present speed. The largest possible penetration is the one at which the contact has stored the
    given kinetic energy [J].
    """
    x = 0.0
    allowed = h
    while x < 1.0 and allowed >= h:
        evaluate_contacts(o, y, y_new, h, x)
        ahead = 1.0
        for c in range(o.count):
            power = o.exponent[c] + 1.0
            deepest = math.pow(power * energy / o.stiffness[c], 1.0 / power)
            contact_time = deepest / max(o.closing[c], LEAST_SPEED)
            if o.distance[c] > 0.0:
                travel_time = o.distance[c] / max(o.speed[c], LEAST_SPEED)
                ahead = min(
                    ahead,
                    max(travel_time, min(CONTACT_LEAST_LOOK * h, CONTACT_LOOK * contact_time)) / h,
                )
            else:
                if (1.0 - x) * h > CONTACT_DEEPEST * contact_time:
                    allowed = min(allowed, x * h + CONTACT_REPEATED * contact_time)
        x += ahead
    return allowed


@dataclass(kw_only=True)
class IntegratorState(Record):
    """State of an integration in progress; each method adds its own fields.

    Compiled functions cannot access the first three fields, which are Python objects.
    """

    problem: InitialValueProblem = field(metadata=UNSEEN)
    method: Method = field(metadata=UNSEEN)
    # Arrays that compiled equations read and write, by name.
    buffers: dict[str, Array] = field(metadata=UNSEEN, repr=False)
    system: System
    obstacles: Obstacles  # contacts of the arm
    step: int  # address of the method's kernel for one trial step
    sample: int  # address of the method's kernel for the state within the last step; 0 if none
    size: int  # length of the state
    t: float  # time reached [s]
    h: float = 0.0  # length of the trial step [s]
    next_step: float  # length of the next trial step, before it is cut short at a stop [s]
    t_end: float  # end of the integration [s]
    # t_old, last_step: begin and length of the last accepted step [s]; the length is 0 after a
    # jump.
    t_old: float
    last_step: float = 0.0
    largest: float  # upper bound of the step [s]
    smallest: float  # lower bound of the step [s]
    # 1 if every second step has a smaller bound, else 0: steps of equal length do not detect a
    # vibration that has the same phase after each step.
    uneven: int
    adaptive: int  # 1 if the error estimate controls the step, 0 for equal steps
    order: int  # order of the method
    # y, f: state and its rates at t, (size,) each.
    y: Array
    f: Array
    # y_new, f_new: state and rates at the end of the trial step.
    y_new: Array
    f_new: Array
    # y_old, f_old: state and rates at t_old.
    y_old: Array
    f_old: Array
    # error, last_error: error of the trial step and of the last accepted step, relative to the
    # tolerance.
    error: float = 0.0
    last_error: float = 1e-2
    tolerance: float  # tolerance of a step, relative to the ranges below
    functionals: int  # number of quantities by which errors are scaled
    # rows, rate_rows: coefficients of coordinates and of modal rates in the quantities by which
    # errors are scaled, (functionals, n).
    rows: Array
    rate_rows: Array
    # Matrices from coordinates to modal ones, (lanes, modes_per_lane, modes_per_lane).
    to_modes: Array
    lanes: int
    modes_per_lane: int
    modal_places: Array  # modal coordinates, (n,)
    modal_rates: Array  # modal rates, (n,)
    # frequencies of the modes [rad/s], (n,), negative for modes that do not vibrate
    frequencies: Array
    modal_rounding: Array  # rounding error of each modal coordinate
    has_rounding: int = 0  # 1 if rounding errors of modal coordinates are not negligible, else 0
    groups: int  # number of groups of quantities that share a range
    group_of: Ints  # group of each quantity, (functionals,)
    # low, high: least and greatest value of each quantity so far. top: greatest rate so far.
    low: Array
    high: Array
    top: Array
    # floor, top_floor: least scales of values and of rates, by group.
    floor: Array
    top_floor: Array
    # Dominant frequency by group [rad/s]: the rate scale is at least range times frequency.
    pace: Array
    # scale, top_scale: scales of values and of rates, by group.
    scale: Array
    top_scale: Array
    # least, most: least and greatest value of each work integral and actuator state so far.
    least: Array
    most: Array
    # Scale of errors of work integrals [J], by lane: the largest kinetic energy or change of a work
    # integral.
    energy: Array
    state_floor: Array  # least ranges of the actuator states
    state_limits: int  # number of quantities of (q, v) with bounds at which a run ends
    limit_rows: Array  # coefficients of (q, v) in the bounded quantities, (state_limits, 2n)
    # limit_low, limit_high: bounds of the bounded quantities.
    limit_low: Array
    limit_high: Array
    limit_reached: int = -1  # index of the violated bound, or -1
    event_count: int  # number of event functions
    # event_values, event_rates: event functions and their rates at the last evaluation of the
    # equations. event_values_at_t, event_rates_at_t: event functions and their rates at t.
    event_values: Array
    event_rates: Array
    event_values_at_t: Array
    event_rates_at_t: Array
    # event_low, event_high: bounds of the event functions, within which no event happens.
    event_low: Array
    event_high: Array
    # event_corners: values at which the equations have kinks, infinite for events. event_stays: 1
    # for quantities that stay at such a value.
    event_corners: Array
    event_stays: Array
    peak: float = 0.0  # time [s] in the last step at which an event function may be out of bounds
    checks_within: int  # 1 if event functions are evaluated within steps too, else 0
    # Event functions at the quarters of a step, (5, event_count), then their rates at the step's
    # end, (event_count,).
    inner_values: Array
    inner_rates: Array  # work array for rates of the state within a step
    # times: sample times [s]. samples: states at these times.
    times: Array
    samples: Array
    recorded: int = 0  # number of samples recorded so far
    sample_count: int  # number of all samples
    breaks: Array  # times at which a channel jumps [s]
    break_count: int
    next_break: int  # index in `breaks` of the next jump
    steps: int = 0  # accepted steps
    rejections: int = 0  # rejected steps
    budget: int = 0  # trial steps left before the kernel returns
    sample_time: float  # time [s] at which `sample` evaluates the state
    sample_ready: int = 0  # 1 if the dense output of the last step is prepared, else 0
    sampled: Array  # state at sample_time


# Fields of the ranges that scale errors, passed on from phase to phase of a run.
RANGES = ("low", "high", "top", "least", "most", "energy")


@dataclass(frozen=True)
class StepLimits:
    """Tolerance of a step, first step size and largest step size."""

    tolerance: float  # tolerance of a step
    first: float  # first trial step, or constant step of a fixed-step method [s]
    largest: float = math.inf  # upper bound of the step [s]


def start_fields(
    problem: InitialValueProblem, method: Method, limits: StepLimits
) -> dict[str, Any]:
    """Return initial values of the fields that all integration methods share."""
    (system, buffers), quantities = problem.joined(), problem.measures
    y, breaks, state_limits = problem.state, jumps(problem.groups), problem.state_limits
    size, times = len(y), problem.times.copy()
    frequencies = quantities.frequencies.T
    count, groups = len(quantities.rows), len(quantities.floor)
    begin, end = float(problem.times[0]), float(problem.times[-1])
    limit_rows = [limit.row for limit in state_limits]
    functions = problem.motion.actuators.event_functions
    event_count = len(functions)
    low, high = np.full(event_count, -np.inf), np.full(event_count, np.inf)
    low[: len(problem.bounds[0])], high[: len(problem.bounds[1])] = problem.bounds
    m = IntegratorState(
        problem=problem,
        method=method,
        buffers=buffers,
        system=system,
        obstacles=obstacles_of(problem.equation, buffers),
        step=method.step.address,
        sample=0 if method.sample is None else method.sample.address,
        size=size,
        t=begin,
        next_step=limits.first,
        t_end=end,
        t_old=begin,
        largest=min((end - begin) / FEWEST_STEPS, limits.largest),
        smallest=SMALLEST_STEP * (end - begin),
        uneven=int(method.adaptive and math.isinf(method.reach)),
        adaptive=int(method.adaptive),
        order=method.order,
        y=y.copy(),
        y_old=y.copy(),
        **zeros(dict.fromkeys(("f", "y_new", "f_new", "f_old", "sampled"), size)),
        tolerance=limits.tolerance,
        functionals=count,
        rows=quantities.rows.ravel(),
        rate_rows=quantities.rate_rows.ravel(),
        to_modes=quantities.to_modes.ravel(),
        lanes=len(quantities.to_modes),
        modes_per_lane=quantities.to_modes.shape[1],
        **zeros(dict.fromkeys(("modal_places", "modal_rates", "modal_rounding"), system.n)),
        # A method that solves vibrations exactly treats all modes as vibrating independently.
        frequencies=(np.abs(frequencies) if method.solves_vibrations else frequencies).ravel(),
        groups=groups,
        group_of=quantities.group,
        low=np.full(count, np.inf),
        high=np.full(count, -np.inf),
        top=np.zeros(count),
        floor=quantities.floor,
        top_floor=quantities.rate_floor,
        pace=quantities.pace,
        scale=np.zeros(groups),
        top_scale=np.zeros(groups),
        least=np.full(size - 2 * system.n, np.inf),
        most=np.full(size - 2 * system.n, -np.inf),
        energy=quantities.energy_floor.copy(),
        state_floor=quantities.state_floor,
        state_limits=len(state_limits),
        limit_rows=np.concatenate(limit_rows) if limit_rows else np.zeros(1),
        limit_low=np.array([limit.low for limit in state_limits]),
        limit_high=np.array([limit.high for limit in state_limits]),
        event_count=event_count,
        event_values=buffers["event_values"],
        event_rates=buffers["event_rates"],
        event_values_at_t=np.zeros(event_count),
        event_rates_at_t=np.zeros(event_count),
        checks_within=int(problem.checks_within_steps),
        inner_values=np.zeros(6 * event_count),
        inner_rates=np.zeros(size),
        event_low=low,
        event_high=high,
        event_corners=np.array([math.inf if x.corner is None else x.corner for x in functions]),
        event_stays=np.array([x.kind == "state" for x in functions], dtype=float),
        times=times,
        samples=np.zeros(len(times) * size),
        sample_count=len(times),
        breaks=breaks if len(breaks) else np.zeros(1),
        break_count=len(breaks),
        next_break=int(np.searchsorted(breaks, begin, side="right")),
        sample_time=begin,
    )
    for name, values in problem.start.ranges.items():
        if values.shape == getattr(m, name).shape:  # servo states may have changed
            getattr(m, name)[:] = values
    return vars(m)


@kernel
def find_modal(m: IntegratorState, x: Array, out: Array) -> None:
    """Transform coordinates or rates x to modal values `out`; with several lanes, lane by lane."""
    k = m.modes_per_lane
    for lane in range(m.lanes):
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += m.to_modes[(lane * k + i) * k + j] * x[j * m.lanes + lane]
            out[i * m.lanes + lane] = total


@kernel
def find_modal_state(m: IntegratorState) -> None:
    """Compute the modal rates, and the rounding error of the coordinates in each mode."""
    k = m.modes_per_lane
    find_modal(m, m.y[m.system.n :], m.modal_rates)
    for lane in range(m.lanes):
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += abs(m.to_modes[(lane * k + i) * k + j] * m.y[j * m.lanes + lane])
            m.modal_rounding[i * m.lanes + lane] = DIGITS * total


@kernel
def error_weight(allowed: float, rounding: float) -> float:
    """Return the weight of an error whose tolerance is increased by the rounding error.

    If instead the rounding error were subtracted from the error, steps would grow again and again
    until they are rejected.
    """
    return allowed / (allowed + rounding)


@kernel
def widen(m: IntegratorState) -> None:
    """Extend the ranges relative to which errors are measured to include the current state."""
    n = m.system.n
    find_modal_state(m)
    copy(m.groups, m.floor, m.scale)
    copy(m.groups, m.top_floor, m.top_scale)
    m.has_rounding = 0
    for r in range(m.functionals):
        value = 0.0
        rate = 0.0
        value_rounding = 0.0
        rate_rounding = 0.0
        for i in range(n):
            row = m.rate_rows[r * n + i]
            value += m.rows[r * n + i] * m.y[i]
            rate += row * m.modal_rates[i]
            rounding = abs(row) * m.modal_rounding[i]
            value_rounding += rounding
            rate_rounding += abs(m.frequencies[i]) * rounding
        m.low[r] = min(m.low[r], value)
        m.high[r] = max(m.high[r], value)
        m.top[r] = max(m.top[r], abs(rate))
        g = m.group_of[r]
        m.scale[g] = max(m.scale[g], m.high[r] - m.low[r])
        m.top_scale[g] = max(m.top_scale[g], max(m.top[r], m.pace[g] * m.scale[g]))
        least_share = NEGLIGIBLE_ROUNDING * m.tolerance
        if (
            value_rounding > least_share * m.scale[g]
            or rate_rounding > least_share * m.top_scale[g]
        ):
            m.has_rounding = 1
    for lane in range(m.lanes):
        twice = 0.0
        for i in range(m.modes_per_lane):
            rate = m.modal_rates[i * m.lanes + lane]
            twice += rate * rate
        m.energy[lane] = max(m.energy[lane], 0.5 * twice)
    for i in range(m.system.work_integrals + m.system.states):
        m.least[i] = min(m.least[i], m.y[2 * n + i])
        m.most[i] = max(m.most[i], m.y[2 * n + i])
    for i in range(m.system.energies):
        m.energy[i % m.lanes] = max(m.energy[i % m.lanes], m.most[i] - m.least[i])


@kernel
def measure(m: IntegratorState, e: Array) -> float:
    """Return the largest error of a state, relative to the ranges and the tolerance.

    Rate errors of vibrating modes are added by their magnitudes, since such errors cancel only at
    single instants. Errors of overdamped modes are added with their signs. Rounding errors are
    allowed in addition to the tolerance, since shorter steps do not reduce them.
    """
    n = m.system.n
    find_modal(m, e, m.modal_places)
    find_modal(m, e[n:], m.modal_rates)
    largest: float = measure_modal(m, m.modal_places, m.modal_rates, e[2 * n :])
    return largest


@kernel
def measure_modal(m: IntegratorState, positions: Array, rates: Array, others: Array) -> float:
    """Return the largest relative error of modal states, work integrals and actuator states."""
    n = m.system.n
    largest = 0.0
    for r in range(m.functionals):
        g = m.group_of[r]
        allowed_value = m.tolerance * m.scale[g]
        allowed_rate = m.tolerance * m.top_scale[g]
        value = 0.0
        rate = 0.0
        decaying = 0.0
        vibrating = 0.0
        for i in range(n):
            row = m.rate_rows[r * n + i]
            value_part = row * positions[i]
            rate_part = row * rates[i]
            if m.has_rounding == 1:
                rounding = abs(row) * m.modal_rounding[i]
                value_part *= error_weight(allowed_value, rounding)
                rate_part *= error_weight(allowed_rate, abs(m.frequencies[i]) * rounding)
            value += value_part
            rate += rate_part
            decaying += rate_part if m.frequencies[i] < 0.0 else 0.0
            vibrating += 0.0 if m.frequencies[i] < 0.0 else abs(rate_part)
        if m.pace[g] > 0.0:
            rate = abs(decaying) + vibrating
        ratio = max(abs(value) / m.scale[g], abs(rate) / m.top_scale[g])
        if not ratio <= largest:
            largest = ratio
    for i in range(m.system.energies):
        ratio = abs(others[i]) / m.energy[i % m.lanes]
        if not ratio <= largest:
            largest = ratio
    for i in range(m.system.states):
        k = m.system.work_integrals + i
        ratio = abs(others[k]) / max(m.state_floor[i], m.most[k] - m.least[k])
        if not ratio <= largest:
            largest = ratio
    return largest


@kernel
def kinetic(m: IntegratorState, v: Array) -> float:
    """Return the kinetic energy [J] at rates v, with the mass matrix of the initial state."""
    find_modal(m, v, m.modal_rates)
    twice = 0.0
    for i in range(m.system.n):
        twice += m.modal_rates[i] * m.modal_rates[i]
    return 0.5 * twice
