"""A run under way, and what its errors are measured in.

The state is y = (q, v, work, x): n coordinates, n rates, what inputs, wrenches and prescribed
coordinates have put in and what was dissipated so far [J], and the states of servos.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexarm.formulations.equation import Equation
from flexarm.integrate.method import Method, zeros
from flexarm.integrate.problem import table_of
from flexarm.integrate.system import System
from flexarm.integrate.task import InitialValueProblem
from flexarm.loops.kernel import kernel
from flexarm.loops.language import UNSEEN, Array, Ints, Record, run_equations

DIGITS = 1e-15  # of a number: what a step makes of its rounding, of double precision
NOTED = 1e-3  # of what is allowed: less rounding is none
FAR = 1.0 / 64.0  # of a step: looks are as near as this where nothing comes closer
# Of the deepest that a contact can be: the way between looks that come closer, the way into it that
# a step made again has, and the most that one may have.
LOOK, SHARE, MOST = 0.2, 0.4, 0.6
STILL = 1e-30  # [m/s]
SMALLEST_STEP = 1e-12  # of the run's duration
FEWEST_STEPS = 50


@dataclass
class Obstacles(Record):
    """Contacts along a step."""

    # count, n: number of contacts, none if there is nothing to look at, and of coordinates.
    count: int
    n: int
    # equations, table: address of the compiled distances and the table of the pointers that they
    # take.
    equations: int
    table: Ints
    # q, v, distance, closing, speed: their inputs and outputs: how far each contact is from
    # touching [m], how fast that falls and how fast its point moves [m/s].
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
    """Build the record of an arm's contacts; arrays of its machine code are put in the buffers."""
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
    """Evaluate distances at a part x of a step from y to y_new, by a cubic."""
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
    """Return the largest step [s], h at most, that resolves the depth of every contact.

    Between looks no point comes nearer than the least distance: it is passed at its speed.  The
    deepest that a contact can be is where it stores the kinetic energy [J].
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
            time = deepest / max(o.closing[c], STILL)
            if o.distance[c] > 0.0:
                way = o.distance[c] / max(o.speed[c], STILL)
                ahead = min(ahead, max(way, min(FAR * h, LOOK * time)) / h)
            else:
                o.touched = 1
                if (1.0 - x) * h > MOST * time:
                    allowed = min(allowed, x * h + SHARE * time)
        x += ahead
    return allowed


@dataclass(kw_only=True)
class IntegratorState(Record):
    """A run under way; methods append their own fields."""

    # problem, method, buffers: what is solved, by what, and the arrays that compiled equations read
    # and write, by name.  Kernels do not see them.
    problem: InitialValueProblem = field(metadata=UNSEEN)
    method: Method = field(metadata=UNSEEN)
    buffers: dict[str, Array] = field(metadata=UNSEEN, repr=False)
    system: System
    obstacles: Obstacles  # what the arm may touch
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
    # tolerance, strict, touched: per step, of the ranges below; what part of it is allowed once the
    # arm has touched something, and whether it has: 1, or 0.
    tolerance: float
    strict: float = 1.0
    touched: Array
    # functionals, rows, rate_rows, groups, group_of: number of quantities that errors are measured
    # in, their matrices (functionals, n) by coordinates and by modes, the groups that share a
    # range, the group of each.
    functionals: int
    rows: Array
    rate_rows: Array
    # to_modes, lanes, modes_per_lane, modal_places, modal_rates, frequencies: what takes
    # coordinates to those of modes, (lanes, modes_per_lane, modes_per_lane), these, their rates and
    # frequencies [rad/s], negative of modes that do not vibrate.
    to_modes: Array
    lanes: int
    modes_per_lane: int
    modal_places: Array
    modal_rates: Array
    frequencies: Array
    # rounded, rounds: by how much rounding moves each mode in a step, and whether that is noted.
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
    # watches, watch_rows, watch_low, watch_high, watched: quantities of (q, v) that must stay in
    # their bounds, (watches, 2n); the one that did not.
    watches: int
    watch_rows: Array
    watch_low: Array
    watch_high: Array
    watched: int = -1
    # lookouts, seen, seen_rate, seen_low, seen_high: quantities that the equations compute along:
    # what they and their rates were at the last evaluation, and the bounds within which nothing
    # happens.
    lookouts: int
    seen: Array
    seen_rate: Array
    # seen_here, rate_here: what they were at t.
    seen_here: Array
    rate_here: Array
    peak: float = 0.0  # time [s] within the last step at which one may have been beyond its bounds
    # peeks, peeked, aside: whether quantities are looked at within steps too, what they were there,
    # (5, lookouts), with their rates at the end, and room for rates.
    peeks: int
    peeked: Array
    aside: Array
    seen_low: Array
    seen_high: Array
    # times, samples, kept, wanted: times to keep, their states, how many are kept, how many are
    # wanted.
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
    # sample_time, sample_ready: time asked of `sample`; whether the method has prepared for this
    # step.
    sample_time: float
    sample_ready: int = 0
    sampled: Array


# What errors are measured in is measured over a whole run, of however many legs.
RANGES = ("low", "high", "top", "least", "most", "energy", "touched")


@dataclass(frozen=True)
class StepLimits:
    """The tolerance per step, and bounds of steps."""

    tolerance: float  # per step
    first: float  # the first trial step, or the equal step [s]
    largest: float = math.inf  # bound of the step [s]
    strict: float = 1.0  # part of the tolerance that is allowed once the arm touches something


def start_fields(
    problem: InitialValueProblem, method: Method, limits: StepLimits
) -> dict[str, Any]:
    """Return the fields that the states of all methods share, at the start of a run."""
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
    """Transform coordinates or rates to modes, lane by lane."""
    k = m.modes_per_lane
    for lane in range(m.lanes):
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += m.to_modes[(lane * k + i) * k + j] * x[j * m.lanes + lane]
            out[i * m.lanes + lane] = total


@kernel
def find_modal_state(m: IntegratorState) -> None:
    """Compute the rates of modes, and the rounding error of the coordinates in each mode."""
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
    """Return the share of an error that counts, so that tolerance and rounding add up.

    Taken off instead, rounding would leave nothing of an error, and much of one a little larger:
    steps would grow until they are rejected, again and again.
    """
    return allowed / (allowed + rounding)


@kernel
def widen(m: IntegratorState) -> None:
    """Widen the ranges by the state at t."""
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
        noted = NOTED * m.tolerance
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
    """Measure an error of the state in the ranges of the motion so far.

    Errors that cancel in a deflection's rate do so at this instant only, if they are of modes that
    vibrate apart: they are added up.  Modes that dampers keep from vibrating have no motion of
    their own: of a rotor that a servo holds each is a part.  What rounding makes of a mode is
    allowed beside the tolerance: no shorter step cures it.
    """
    n = m.system.n
    find_modal(m, e, m.modal_places)
    find_modal(m, e[n:], m.modal_rates)
    worst: float = measure_modal(m, m.modal_places, m.modal_rates, e[2 * n :])
    return worst


@kernel
def measure_modal(m: IntegratorState, places: Array, rates: Array, more: Array) -> float:
    """Measure an error of modes and of their rates, and one of works and further states."""
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
    """Compute the kinetic energy at rates v [J], by the mass matrix at the start."""
    find_modal(m, v, m.modal_rates)
    twice = 0.0
    for i in range(m.system.n):
        twice += m.modal_rates[i] * m.modal_rates[i]
    return 0.5 * twice
