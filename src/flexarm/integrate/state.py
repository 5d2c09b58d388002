"""State of an integration in progress, and the ranges by which its errors are scaled.

The state vector is y = (q, v, work, x): n coordinates, n rates, works of inputs, wrenches and
prescribed coordinates and dissipated energy so far [J], and actuator states.
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
from flexarm.integrate.problem import table_of
from flexarm.integrate.system import System
from flexarm.integrate.task import InitialValueProblem
from flexarm.loops.kernel import kernel
from flexarm.loops.language import UNSEEN, Array, Ints, Record, run_equations


@dataclass
class Obstacles(Record):
    """Contacts of an arm, monitored along a step: distances, speeds and stiffness laws."""

    # count, n: number of contacts, none if there is nothing to look at, and of coordinates.
    count: int
    n: int
    # equations, table: address of the compiled distance functions, and table of their pointers.
    equations: int
    table: Ints
    # q, v, distance, closing, speed: inputs and outputs of the distance functions: distance of each
    # contact [m], closing speed [m/s], and speed of the contact point [m/s].
    q: Array
    v: Array
    distance: Array
    closing: Array
    speed: Array
    # stiffness, exponent: of each contact.
    stiffness: Array
    exponent: Array
    touched: int = 0  # whether any was closed along the last step


def obstacles_of(equation: Equation, buffers: dict[str, Array]) -> Obstacles:
    """Build the record of an arm's contacts, and keep its work array alive in `buffers`."""
    contacts, n = equation.model.arm.contacts, equation.model.size
    names = ("q", "v", "distance", "closing", "speed")
    mine = {name: np.zeros(n if name in "qv" else len(contacts)) for name in names}
    address, table = 0, np.zeros(1, dtype=np.int64)
    if contacts:
        compiled = equation.compiled("nearness")
        table, kept = table_of(compiled, {**buffers, **mine})
        address, buffers["nearness"] = compiled.table_address, kept[-1]
    return Obstacles(
        len(contacts),
        n,
        address,
        table,
        mine["q"],
        mine["v"],
        mine["distance"],
        mine["closing"],
        mine["speed"],
        np.array([float(each.stiffness) for each in contacts]),
        np.array([float(each.exponent) for each in contacts]),
    )


@kernel
def look(o: Obstacles, y: Array, y_new: Array, h: float, x: float) -> None:
    """Evaluate contact distances at the fraction x of a step from y to y_new, by a cubic."""
    for i in range(o.n):
        before = h * y[o.n + i]
        after = h * y_new[o.n + i]
        change = y_new[i] - y[i]
        inner = (1.0 - x) * (before - change) + x * (change - after)
        o.q[i] = y[i] + x * (change + (1.0 - x) * inner)
        o.v[i] = y[o.n + i] + x * (y_new[o.n + i] - y[o.n + i])
    run_equations(o.equations, o.table)


@kernel
def seen_step(o: Obstacles, y: Array, y_new: Array, h: float, energy: float) -> float:
    """Return the largest step [s], at most h, that resolves the penetration of every contact.

    Between two evaluations no point approaches faster than its speed.  The largest possible
    penetration is the one that stores the given kinetic energy [J].
    """
    x = 0.0
    allowed = h
    o.touched = 0
    while x < 1.0 and allowed >= h:
        look(o, y, y_new, h, x)
        ahead = 1.0
        for c in range(o.count):
            power = o.exponent[c] + 1.0
            deepest = math.pow(power * energy / o.stiffness[c], 1.0 / power)
            time = deepest / max(o.closing[c], LEAST_SPEED)
            if o.distance[c] > 0.0:
                way = o.distance[c] / max(o.speed[c], LEAST_SPEED)
                ahead = min(ahead, max(way, min(CONTACT_LEAST_LOOK * h, CONTACT_LOOK * time)) / h)
            else:
                o.touched = 1
                if (1.0 - x) * h > CONTACT_DEEPEST * time:
                    allowed = min(allowed, x * h + CONTACT_REPEATED * time)
        x += ahead
    return allowed


@dataclass(kw_only=True)
class IntegratorState(Record):
    """State of an integration in progress; each method appends its own fields."""

    # problem, method, buffers: initial-value problem, integrator, and arrays that compiled
    # equations read and write, by name.  Kernels have no access to these three.
    problem: InitialValueProblem = field(metadata=UNSEEN)
    method: Method = field(metadata=UNSEEN)
    buffers: dict[str, Array] = field(metadata=UNSEEN, repr=False)
    system: System
    obstacles: Obstacles  # contacts of the arm
    # step, sample: addresses of the method's kernels: one trial step, and the state within the last
    # step.
    step: int
    sample: int
    size: int  # length of the state
    # t, h, wish, t_end: time reached, length of the trial step, of the next one if nothing cuts
    # it, end [s].
    t: float
    h: float = 0.0
    wish: float
    t_end: float
    # t_old, h_done: begin and size of the last accepted step; 0 if a jump has come after it.
    t_old: float
    h_done: float = 0.0
    # largest, smallest, uneven: bounds of the step [s]; whether every other step has a smaller one:
    # steps of one length do not see a vibration that is in the same phase after each.
    largest: float
    smallest: float
    uneven: int
    # adaptive, order: whether the error steers the step (1, or 0: all steps are equal), and the
    # order of the method.
    adaptive: int
    order: int
    # y, f, y_new, f_new, y_old: state and rates at t, the trial, and the state at t_old.
    y: Array
    f: Array
    y_new: Array
    f_new: Array
    y_old: Array
    f_old: Array
    # error, last_error: of the trial and of the last accepted step, over the tolerance.
    error: float = 0.0
    last_error: float = 1e-2
    # tolerance, strict, touched: tolerance per step, relative to the ranges below; factor of the
    # tolerance from the first contact on; 1 after the first contact, else 0.
    tolerance: float
    strict: float = 1.0
    touched: Array
    # functionals, rows, rate_rows, groups, group_of: number of quantities by which errors are
    # scaled, matrices (functionals, n) of coordinates and of modes, number of groups that share a
    # range, group of each quantity.
    functionals: int
    rows: Array
    rate_rows: Array
    # to_modes, lanes, modes_per_lane, modal_places, modal_rates, frequencies: matrices from
    # coordinates to modal ones, (lanes, modes_per_lane, modes_per_lane), modal coordinates, modal
    # rates, and frequencies [rad/s], negative for modes that do not vibrate.
    to_modes: Array
    lanes: int
    modes_per_lane: int
    modal_places: Array
    modal_rates: Array
    frequencies: Array
    # rounded, rounds: rounding error of each mode in a step, and 1 if it is not negligible.
    rounded: Array
    rounds: int = 0
    groups: int
    group_of: Ints
    # low, high, top, floor, top_floor, pace: least, greatest value and greatest rate of each
    # functional so far; least scales by group; a group's range times its pace is a rate that
    # matters no less.
    low: Array
    high: Array
    top: Array
    floor: Array
    top_floor: Array
    pace: Array
    # scale, top_scale: scales by group of values and rates.
    scale: Array
    top_scale: Array
    # least, most, energy, state_floor: least and greatest value of each work and servo's state so
    # far; the energy [J] that errors of works are measured in, by lane: the greatest kinetic energy
    # about, or change of a work; least ranges of servos' states.
    least: Array
    most: Array
    energy: Array
    state_floor: Array
    # watches, watch_rows, watch_low, watch_high, watched: number, coefficients (watches, 2n) and
    # bounds of quantities of (q, v) at which a run ends; index of the violated bound, or -1.
    watches: int
    watch_rows: Array
    watch_low: Array
    watch_high: Array
    watched: int = -1
    # lookouts, seen, seen_rate, seen_low, seen_high: number of event functions, values and rates at
    # the last evaluation of the equations, and bounds within which no event happens.
    lookouts: int
    seen: Array
    seen_rate: Array
    # seen_here, rate_here: values and rates of the event functions at t.
    seen_here: Array
    rate_here: Array
    peak: float = 0.0  # time [s] in the last step at which an event function may be out of bounds
    # peeks, peeked, aside: 1 if event functions are evaluated within steps too; values there,
    # (5, lookouts), then rates at the end, (lookouts,); work array for rates of the state.
    peeks: int
    peeked: Array
    aside: Array
    seen_low: Array
    seen_high: Array
    # times, samples, kept, wanted: sample times, states at them, number of recorded samples, number
    # of all samples.
    times: Array
    samples: Array
    kept: int = 0
    wanted: int
    # breaks, break_count, next_break: times at which a channel jumps.
    breaks: Array
    break_count: int
    next_break: int
    # steps, rejections, budget: accepted and rejected steps; trials left before the kernel returns.
    steps: int = 0
    rejections: int = 0
    budget: int = 0
    # sample_time, sample_ready: time [s] at which `sample` evaluates the state; whether dense
    # output of this step is prepared.
    sample_time: float
    sample_ready: int = 0
    sampled: Array


# Fields of the ranges that scale errors, passed on from phase to phase of a run.
RANGES = ("low", "high", "top", "least", "most", "energy", "touched")


@dataclass(frozen=True)
class StepLimits:
    """Tolerance per step, and bounds of the step size."""

    tolerance: float  # per step
    first: float  # the first trial step, or the equal step [s]
    largest: float = math.inf  # bound of the step [s]
    strict: float = 1.0  # factor of the tolerance from the first contact on


def start_fields(
    problem: InitialValueProblem, method: Method, limits: StepLimits
) -> dict[str, Any]:
    """Return initial values of the fields that the integrator states of all methods share."""
    (system, buffers), measured = problem.joined(), problem.measures
    y, breaks, watches = problem.state, problem.breaks, problem.watches
    size, times = len(y), problem.times.copy()
    found = measured.frequencies.T
    count, groups = len(measured.rows), len(measured.floor)
    begin, end = float(problem.times[0]), float(problem.times[-1])
    watched = [watch.row for watch in watches]
    lookouts = len(problem.motion.actuators.lookouts)
    low, high = np.full(lookouts, -np.inf), np.full(lookouts, np.inf)
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
        wish=limits.first,
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
        strict=limits.strict,
        touched=np.zeros(1),
        functionals=count,
        rows=measured.rows.ravel(),
        rate_rows=measured.rate_rows.ravel(),
        to_modes=measured.to_modes.ravel(),
        lanes=len(measured.to_modes),
        modes_per_lane=measured.to_modes.shape[1],
        **zeros(dict.fromkeys(("modal_places", "modal_rates", "rounded"), system.n)),
        # Modes that it solves exactly are apart, held or not.
        frequencies=(np.abs(found) if method.solves_vibrations else found).ravel(),
        groups=groups,
        group_of=measured.group,
        low=np.full(count, np.inf),
        high=np.full(count, -np.inf),
        top=np.zeros(count),
        floor=measured.floor,
        top_floor=measured.rate_floor,
        pace=measured.pace,
        scale=np.zeros(groups),
        top_scale=np.zeros(groups),
        least=np.full(size - 2 * system.n, np.inf),
        most=np.full(size - 2 * system.n, -np.inf),
        energy=measured.energy_floor.copy(),
        state_floor=measured.state_floor,
        watches=len(watches),
        watch_rows=np.concatenate(watched) if watched else np.zeros(1),
        watch_low=np.array([watch.low for watch in watches]),
        watch_high=np.array([watch.high for watch in watches]),
        lookouts=lookouts,
        seen=buffers["seen"],
        seen_rate=buffers["seen_rate"],
        seen_here=np.zeros(lookouts),
        rate_here=np.zeros(lookouts),
        peeks=int(problem.peeks),
        peeked=np.zeros(6 * lookouts),
        aside=np.zeros(size),
        seen_low=low,
        seen_high=high,
        times=times,
        samples=np.zeros(len(times) * size),
        wanted=len(times),
        breaks=breaks if len(breaks) else np.zeros(1),
        break_count=len(breaks),
        next_break=int(np.searchsorted(breaks, begin, side="right")),
        sample_time=begin,
    )
    for name, known in problem.start.ranges.items():
        if known.shape == getattr(m, name).shape:  # servos may have other states now
            getattr(m, name)[:] = known
    if m.touched[0] != 0.0:  # in a leg before
        m.tolerance *= limits.strict
    return vars(m)


@kernel
def find_modal(m: IntegratorState, x: Array, out: Array) -> None:
    """Transform coordinates or rates x to modal ones, `out`, lane by lane (one arm per lane)."""
    k = m.modes_per_lane
    for lane in range(m.lanes):
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += m.to_modes[(lane * k + i) * k + j] * x[j * m.lanes + lane]
            out[i * m.lanes + lane] = total


@kernel
def find_modal_state(m: IntegratorState) -> None:
    """Compute modal rates, and the rounding error of the coordinates in each mode."""
    k = m.modes_per_lane
    find_modal(m, m.y[m.system.n :], m.modal_rates)
    for lane in range(m.lanes):
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += abs(m.to_modes[(lane * k + i) * k + j] * m.y[j * m.lanes + lane])
            m.rounded[i * m.lanes + lane] = DIGITS * total


@kernel
def counting(allowed: float, rounding: float) -> float:
    """Return the weight of an error for which tolerance and rounding error add up.

    Subtracting the rounding error instead would let steps grow until they are rejected, repeatedly.
    """
    return allowed / (allowed + rounding)


@kernel
def widen(m: IntegratorState) -> None:
    """Extend the ranges by which errors are scaled to the state at t."""
    n = m.system.n
    find_modal_state(m)
    for g in range(m.groups):
        m.scale[g] = m.floor[g]
        m.top_scale[g] = m.top_floor[g]
    m.rounds = 0
    for r in range(m.functionals):
        value = 0.0
        rate = 0.0
        moved = 0.0
        shaken = 0.0
        for i in range(n):
            row = m.rate_rows[r * n + i]
            value += m.rows[r * n + i] * m.y[i]
            rate += row * m.modal_rates[i]
            rounding = abs(row) * m.rounded[i]
            moved += rounding
            shaken += abs(m.frequencies[i]) * rounding
        m.low[r] = min(m.low[r], value)
        m.high[r] = max(m.high[r], value)
        m.top[r] = max(m.top[r], abs(rate))
        g = m.group_of[r]
        m.scale[g] = max(m.scale[g], m.high[r] - m.low[r])
        m.top_scale[g] = max(m.top_scale[g], max(m.top[r], m.pace[g] * m.scale[g]))
        noted = NEGLIGIBLE_ROUNDING * m.tolerance
        if moved > noted * m.scale[g] or shaken > noted * m.top_scale[g]:
            m.rounds = 1
    for lane in range(m.lanes):
        twice = 0.0
        for i in range(m.modes_per_lane):
            rate = m.modal_rates[i * m.lanes + lane]
            twice += rate * rate
        m.energy[lane] = max(m.energy[lane], 0.5 * twice)
    for i in range(m.system.works + m.system.states):
        m.least[i] = min(m.least[i], m.y[2 * n + i])
        m.most[i] = max(m.most[i], m.y[2 * n + i])
    for i in range(m.system.energies):
        m.energy[i % m.lanes] = max(m.energy[i % m.lanes], m.most[i] - m.least[i])


@kernel
def measure(m: IntegratorState, e: Array) -> float:
    """Return the largest error of a state, relative to the ranges of the motion so far.

    Rate errors of modes that vibrate independently cancel in a deflection at single instants only:
    their magnitudes are added up.  Errors of modes that dampers keep from vibrating are added with
    sign.  Errors of rounding size are allowed beside the tolerance, since no shorter step reduces
    them.
    """
    n = m.system.n
    find_modal(m, e, m.modal_places)
    find_modal(m, e[n:], m.modal_rates)
    worst: float = measure_modal(m, m.modal_places, m.modal_rates, e[2 * n :])
    return worst


@kernel
def measure_modal(m: IntegratorState, places: Array, rates: Array, more: Array) -> float:
    """Return the largest relative error of modal coordinates and rates, works, actuator states."""
    n = m.system.n
    worst = 0.0
    for r in range(m.functionals):
        g = m.group_of[r]
        place = m.tolerance * m.scale[g]
        speed = m.tolerance * m.top_scale[g]
        value = 0.0
        rate = 0.0
        still = 0.0
        apart = 0.0
        for i in range(n):
            row = m.rate_rows[r * n + i]
            here = row * places[i]
            part = row * rates[i]
            if m.rounds == 1:
                rounding = abs(row) * m.rounded[i]
                here *= counting(place, rounding)
                part *= counting(speed, abs(m.frequencies[i]) * rounding)
            value += here
            rate += part
            still += part if m.frequencies[i] < 0.0 else 0.0
            apart += 0.0 if m.frequencies[i] < 0.0 else abs(part)
        if m.pace[g] > 0.0:
            rate = abs(still) + apart
        part = max(abs(value) / m.scale[g], abs(rate) / m.top_scale[g])
        if not part <= worst:
            worst = part
    for i in range(m.system.energies):
        part = abs(more[i]) / m.energy[i % m.lanes]
        if not part <= worst:
            worst = part
    for i in range(m.system.states):
        k = m.system.works + i
        part = abs(more[k]) / max(m.state_floor[i], m.most[k] - m.least[k])
        if not part <= worst:
            worst = part
    return worst


@kernel
def kinetic(m: IntegratorState, v: Array) -> float:
    """Return the kinetic energy at rates v [J], with the mass matrix of the initial state."""
    find_modal(m, v, m.modal_rates)
    twice = 0.0
    for i in range(m.system.n):
        twice += m.modal_rates[i] * m.modal_rates[i]
    return 0.5 * twice
