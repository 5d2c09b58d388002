"""The loop that every integrator shares: steps, error, samples, boundaries.

The state is y = (q, v, work, x): n coordinates, n rates, what inputs, wrenches and prescribed
coordinates have put in and what was dissipated so far [J], and the states of servos.
"""

import math
from dataclasses import dataclass

from flexarm.integrate.obstacles import Obstacles, seen_step
from flexarm.integrate.system import System, enter_pieces, prescribe, rates, rounding
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, Record, run_kernel

# What ended a call of `march`.
RUNNING, FINISHED, BROKEN, NO_STEP, WATCHED, SEEN = 0, 1, 2, 3, 4, 5
GROWTH, SHRINKAGE, SAFETY = 2.0, 0.2, 0.9
UNEVEN = 0.8  # of the largest step


@dataclass(kw_only=True)
class March(Record):
    """A run under way; methods append their own fields.

    Attributes
    ----------
    obstacles
        What the arm may touch.
    step, sample
        Addresses of the method's kernels: one trial step, and the state within the last step.
    size
        Length of the state.
    t, h, t_end
        Time reached, next trial step, end [s].
    t_old, h_done
        Begin and size of the last accepted step; 0 if a jump has come after it.
    largest, smallest, uneven
        Bounds of the step [s]; whether every other step has a smaller one: steps of one length do
        not see a vibration that is in the same phase after each.
    adaptive, order, fixed_steps
        Whether the error steers the step, and its order; else the steps left to the next sample.
    y, f, y_new, f_new, y_old
        State and rates at t, the trial, and the state at t_old.
    error, last_error
        Of the trial and of the last accepted step, over the tolerance.
    tolerance
        Per step, of the ranges below.
    functionals, rows, rate_rows, groups, group_of
        Number of quantities that errors are measured in, their matrices (functionals, n) by
        coordinates and by rates of modes, the groups that share a range, the group of each.
    to_modes, lanes, modes_per_lane, modal_rates
        What takes rates to those of modes, (lanes, modes_per_lane, modes_per_lane), and these.
    low, high, top, floor, top_floor, pace
        Least, greatest value and greatest rate of each functional so far; least scales by group;
        a group's range times its pace is a rate that matters no less.
    scale, top_scale
        Scales by group of values and rates.
    least, most, energy, state_floor
        Least and greatest value of each work and servo's state so far; the energy [J] that errors
        of works are measured in, by lane: the greatest kinetic energy about, or change of a work;
        least ranges of servos' states.
    watches, watch_rows, watch_low, watch_high, watched
        Quantities of (q, v) that must stay in their bounds, (watches, 2n); the one that did not.
    lookouts, seen, seen_rate, seen_low, seen_high
        Quantities that the equations compute along: what they and their rates were at the last
        evaluation, and the bounds within which nothing happens.
    seen_here, rate_here
        What they were at t.
    peak
        Time [s] within the last step at which one may have been beyond its bounds.
    peeks, peeked, aside
        Whether quantities are looked at within steps too, what they were there, (5, lookouts), and
        room for rates.
    times, samples, kept, wanted
        Times to keep, their states, how many are kept, how many are wanted.
    breaks, break_count, next_break
        Times at which a channel jumps.
    steps, rejections, budget
        Accepted and rejected steps; trials left before the kernel returns.
    sample_time, sample_ready
        Time asked of `sample`; whether the method has prepared for this step.
    """

    system: System
    obstacles: Obstacles
    step: int
    sample: int
    size: int
    t: float
    h: float
    t_end: float
    t_old: float
    h_done: float = 0.0
    largest: float
    smallest: float
    uneven: int
    adaptive: int
    order: int
    y: Array
    f: Array
    y_new: Array
    f_new: Array
    y_old: Array
    f_old: Array
    error: float = 0.0
    last_error: float = 1e-2
    tolerance: float
    functionals: int
    rows: Array
    rate_rows: Array
    to_modes: Array
    lanes: int
    modes_per_lane: int
    modal_rates: Array
    groups: int
    group_of: Ints
    low: Array
    high: Array
    top: Array
    floor: Array
    top_floor: Array
    pace: Array
    scale: Array
    top_scale: Array
    least: Array
    most: Array
    energy: Array
    state_floor: Array
    watches: int
    watch_rows: Array
    watch_low: Array
    watch_high: Array
    watched: int = -1
    lookouts: int
    seen: Array
    seen_rate: Array
    seen_here: Array
    rate_here: Array
    peak: float = 0.0
    peeks: int
    peeked: Array
    aside: Array
    seen_low: Array
    seen_high: Array
    times: Array
    samples: Array
    kept: int = 1
    wanted: int
    breaks: Array
    break_count: int
    next_break: int
    steps: int = 0
    rejections: int = 0
    budget: int = 0
    sample_time: float
    sample_ready: int = 0
    sampled: Array


@kernel
def find_modal_rates(m: March, v: Array) -> None:
    """Take rates to those of modes, lane by lane."""
    k = m.modes_per_lane
    for lane in range(m.lanes):
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += m.to_modes[(lane * k + i) * k + j] * v[j * m.lanes + lane]
            m.modal_rates[i * m.lanes + lane] = total


@kernel
def widen(m: March) -> None:
    """Widen the ranges by the state at t."""
    n = m.system.n
    find_modal_rates(m, m.y[n:])
    for g in range(m.groups):
        m.scale[g] = m.floor[g]
        m.top_scale[g] = m.top_floor[g]
    for r in range(m.functionals):
        value = 0.0
        rate = 0.0
        for i in range(n):
            value += m.rows[r * n + i] * m.y[i]
            rate += m.rate_rows[r * n + i] * m.modal_rates[i]
        m.low[r] = min(m.low[r], value)
        m.high[r] = max(m.high[r], value)
        m.top[r] = max(m.top[r], abs(rate))
        g = m.group_of[r]
        m.scale[g] = max(m.scale[g], m.high[r] - m.low[r])
        m.top_scale[g] = max(m.top_scale[g], max(m.top[r], m.pace[g] * m.scale[g]))
    for lane in range(m.lanes):
        twice = 0.0
        for i in range(m.modes_per_lane):
            rate = m.modal_rates[i * m.lanes + lane]
            twice += rate * rate
        m.energy[lane] = max(m.energy[lane], 0.5 * twice)
    for i in range(m.system.works + m.system.states):
        m.least[i] = min(m.least[i], m.y[2 * n + i])
        m.most[i] = max(m.most[i], m.y[2 * n + i])
    for i in range(m.system.works):
        m.energy[i % m.lanes] = max(m.energy[i % m.lanes], m.most[i] - m.least[i])


@kernel
def measure(m: March, e: Array) -> float:
    """Measure an error of the state in the ranges of the motion so far.

    Errors that cancel in a deflection's rate do so at this instant only, if they are of modes that
    vibrate apart: they are added up.
    """
    n = m.system.n
    worst = 0.0
    find_modal_rates(m, e[n:])
    for r in range(m.functionals):
        value = 0.0
        rate = 0.0
        apart = 0.0
        for i in range(n):
            value += m.rows[r * n + i] * e[i]
            part = m.rate_rows[r * n + i] * m.modal_rates[i]
            rate += part
            apart += abs(part)
        g = m.group_of[r]
        if m.pace[g] > 0.0:
            rate = apart
        part = max(abs(value) / m.scale[g], abs(rate) / m.top_scale[g])
        if not part <= worst:
            worst = part
    for i in range(m.system.works):
        part = abs(e[2 * n + i]) / m.energy[i % m.lanes]
        if not part <= worst:
            worst = part
    for i in range(m.system.states):
        k = m.system.works + i
        part = abs(e[2 * n + k]) / max(m.state_floor[i], m.most[k] - m.least[k])
        if not part <= worst:
            worst = part
    return worst


@kernel
def outside(m: March, y: Array) -> int:
    """Find the first watched quantity that is out of its bounds, or -1."""
    n = 2 * m.system.n
    for r in range(m.watches):
        value = 0.0
        for i in range(n):
            value += m.watch_rows[r * n + i] * y[i]
        if value < m.watch_low[r] or value > m.watch_high[r]:
            return r
    return -1


@kernel
def beyond(m: March) -> int:
    """Find the first quantity looked out for that was out of its bounds at last, or -1."""
    for k in range(m.lookouts):
        if m.seen[k] < m.seen_low[k] or m.seen[k] > m.seen_high[k]:
            return k
    return -1


@kernel
def note_seen(m: March) -> None:
    """Note what is looked out for at t, where the equations were evaluated at last."""
    for k in range(m.lookouts):
        m.seen_here[k] = m.seen[k]
        m.rate_here[k] = m.seen_rate[k]


@kernel
def peaks(m: March) -> int:
    """Find a quantity whose cubic over the trial step leaves its bounds in between, or -1."""
    for k in range(m.lookouts):
        change = m.seen[k] - m.seen_here[k]
        first = m.h_done * m.rate_here[k]
        last = m.h_done * m.seen_rate[k]
        if first * last < 0.0:  # p' = first + x (2 b + 3 c x)
            b = 3.0 * change - 2.0 * first - last
            c = first + last - 2.0 * change
            root = math.sqrt(max(b * b - 3.0 * c * first, 0.0))
            x = -first / (b + root if b > 0.0 else b - root)
            if not 0.0 < x < 1.0:
                x = (-b + root if b < 0.0 else -b - root) / (3.0 * c)
            value = m.seen_here[k] + x * (first + x * (b + x * c))
            if value < m.seen_low[k] or value > m.seen_high[k]:
                m.peak = m.t_old + x * m.h_done
                return k
    return -1


@kernel
def peek(m: March, t: float, row: int) -> int:
    """Look at a time within the last step; find a quantity that is out of its bounds, or -1."""
    m.sample_time = t
    run_kernel(m.sample, m)
    rates(m.system, t, m.sampled, m.aside)
    for k in range(m.lookouts):
        m.peeked[row * m.lookouts + k] = m.seen[k]
    m.peak = t
    found: int = beyond(m)
    return found


@kernel
def slips_within(m: March) -> int:
    """Look at quarters of the last step, and where parabolas through them turn; tell if beyond."""
    if m.peeks == 0 or m.sample == 0:
        return 0
    count = m.lookouts
    for k in range(count):
        m.peeked[k] = m.seen_here[k]
        m.peeked[4 * count + k] = m.seen[k]
    for j in range(1, 4):
        if peek(m, m.t_old + 0.25 * j * m.h_done, j) >= 0:
            return 1
    for j in range(1, 4):
        for k in range(count):
            a = m.peeked[(j - 1) * count + k]
            b = m.peeked[j * count + k]
            c = m.peeked[(j + 1) * count + k]
            if (b - a) * (c - b) < 0.0:
                bend = a - 2.0 * b + c
                value = b - 0.125 * (a - c) * (a - c) / bend
                shift = 0.5 * (a - c) / bend
                if value < m.seen_low[k] or value > m.seen_high[k]:
                    if peek(m, m.t_old + 0.25 * (j + shift) * m.h_done, j) >= 0:
                        return 1
                    m.peeked[j * count + k] = b
    for k in range(count):
        m.seen[k] = m.peeked[4 * count + k]
    m.peak = m.t
    return 0


@kernel
def healthy(m: March) -> int:
    """Tell whether the trial step is made of numbers."""
    if not math.isfinite(m.error):
        return 0
    for i in range(m.size):
        if not math.isfinite(m.y_new[i]):
            return 0
    return 1


@kernel
def kinetic(m: March, v: Array) -> float:
    """Give the kinetic energy at rates v [J], by the mass matrix at the start."""
    find_modal_rates(m, v)
    twice = 0.0
    for i in range(m.system.n):
        twice += m.modal_rates[i] * m.modal_rates[i]
    return 0.5 * twice


@kernel
def keep_samples(m: March) -> None:
    """Keep the states at all times that the last step has passed."""
    while m.kept < m.wanted and m.times[m.kept] <= m.t + rounding(m.t):
        row = m.kept * m.size
        if m.times[m.kept] >= m.t - rounding(m.t) or m.sample == 0:
            for i in range(m.size):
                m.samples[row + i] = m.y[i]
        else:
            m.sample_time = m.times[m.kept]
            run_kernel(m.sample, m)
            prescribe(m.system, m.times[m.kept], m.sampled)
            for i in range(m.size):
                m.samples[row + i] = m.sampled[i]
        m.kept += 1


@kernel
def next_stop(m: March) -> float:
    """Give the time that no step may cross: a jump, the end or, in fixed steps, a sample."""
    stop = m.t_end
    if m.next_break < m.break_count:
        stop = min(stop, m.breaks[m.next_break])
    if m.adaptive == 0 and m.kept < m.wanted:
        stop = min(stop, m.times[m.kept])
    return stop


@kernel
def accept(m: March) -> None:
    """Make the trial step the state."""
    m.t_old = m.t
    m.h_done = m.h
    m.t = m.t + m.h
    for i in range(m.size):
        m.y_old[i] = m.y[i]
        m.f_old[i] = m.f[i]
        m.y[i] = m.y_new[i]
        m.f[i] = m.f_new[i]
    m.steps += 1
    m.sample_ready = 0


@kernel
def resize(m: March) -> float:
    """Give the factor by which the error wants the step changed."""
    power = 1.0 / float(m.order)
    error = max(m.error, 1e-10)
    if m.error > 1.0:
        return max(SHRINKAGE, SAFETY * math.pow(error, -power))
    steady = math.pow(max(m.last_error, 1e-4), 0.25 * power)
    change = min(GROWTH, SAFETY * steady * math.pow(error, -0.75 * power))
    if m.last_error > 1.0:
        change = min(change, 1.0)
    return 1.0 if 0.95 < change < 1.1 else change


@kernel
def pass_breaks(m: March) -> None:
    """Let channels jump whose time has come."""
    if m.next_break < m.break_count and m.t >= m.breaks[m.next_break]:
        while m.next_break < m.break_count and m.breaks[m.next_break] <= m.t:
            m.next_break += 1
        enter_pieces(m.system, m.t)
        rates(m.system, m.t, m.y, m.f)
        note_seen(m)
        m.h_done = 0.0


@kernel
def pass_stops(m: March) -> None:
    """Let channels jump at t, and go on to stops that are too near for a step."""
    pass_breaks(m)
    while m.t < m.t_end and next_stop(m) - m.t <= rounding(m.t):
        m.t = next_stop(m)
        keep_samples(m)
        pass_breaks(m)


@kernel
def march(m: March) -> int:
    """Step until the end, a watched bound, a failure, or the budget of trials is spent."""
    wish = m.h
    seen = m.largest
    pass_stops(m)  # a watched bound may have been left where a channel jumps, or at the end
    if m.t >= m.t_end:
        return FINISHED
    for _ in range(m.budget):
        stop = next_stop(m)
        left = stop - m.t
        at_stop = 0
        m.h = min(wish, m.largest * (UNEVEN if m.uneven == 1 and m.steps % 2 == 1 else 1.0))
        m.h = min(m.h, seen)
        if m.adaptive == 0:
            m.h = left / float(max(1, math.floor(left / m.h + 0.999999)))
            at_stop = 1 if m.h > 0.75 * left else 0
        elif m.h >= 0.999 * left:
            m.h = left
            at_stop = 1
        elif m.h > 0.5 * left:
            m.h = 0.5 * left
        if m.t + m.h <= m.t:
            return NO_STEP
        run_kernel(m.step, m)
        good = healthy(m)
        if m.adaptive == 1 and (good == 0 or m.error > 1.0):
            m.rejections += 1
            m.last_error = max(m.error, 2.0)
            wish = m.h * (0.1 if good == 0 else resize(m))
            if wish < m.smallest:
                m.h = wish
                return NO_STEP if good == 1 else BROKEN
            continue
        if good == 0:
            return BROKEN
        if m.obstacles.count > 0:
            n = m.system.n
            energy = max(kinetic(m, m.y[n:]), kinetic(m, m.y_new[n:]))
            seen = seen_step(m.obstacles, m.y, m.y_new, m.h, energy)
            if seen < m.h:
                m.rejections += 1
                continue
            seen = m.largest
        if m.adaptive == 1:
            change = resize(m)
            wish = max(wish, m.h * change) if at_stop == 1 and change > 1.0 else m.h * change
            m.last_error = m.error
        accept(m)
        if at_stop == 1:
            m.t = stop
        prescribe(m.system, m.t, m.y)
        widen(m)
        m.peak = m.t
        # Every step evaluates the equations last at its end.
        if beyond(m) >= 0 or peaks(m) >= 0 or slips_within(m) == 1:
            m.h = wish
            return SEEN
        note_seen(m)
        m.watched = outside(m, m.y)
        if m.watched >= 0:
            m.h = wish
            return WATCHED
        keep_samples(m)
        pass_stops(m)
        if m.t >= m.t_end:
            m.h = wish
            return FINISHED
    m.h = wish
    return RUNNING
