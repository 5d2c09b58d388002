"""Integration loop shared by all methods: steps, samples, bounds and events."""

import math

from flexarm.integrate.constants import (
    CLOSE_VERTEX,
    EVENT_APPROACHES,
    STEP_GROWTH,
    STEP_SAFETY,
    STEP_SHRINKAGE,
    UNEVEN_STEP,
)
from flexarm.integrate.state import IntegratorState, contact_step, kinetic, widen
from flexarm.integrate.system import enter_pieces, prescribe, rates, rounding
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, floats, run_kernel
from flexarm.loops.sums import copy

# Return codes of `march`.
RUNNING, FINISHED, BROKEN, NO_STEP, LIMIT_REACHED, EVENT_FOUND = 0, 1, 2, 3, 4, 5


@kernel
def first_out_of_bounds(m: IntegratorState) -> int:
    """Return the index of the first event function that is out of bounds now, or -1."""
    for k in range(m.event_count):
        if m.event_values[k] < m.event_low[k] or m.event_values[k] > m.event_high[k]:
            return k
    return -1


@kernel
def record_event_values(m: IntegratorState) -> None:
    """Store the event functions and their rates at t as values at the step's begin."""
    copy(m.event_count, m.event_values, m.event_values_at_t)
    copy(m.event_count, m.event_rates, m.event_rates_at_t)


@kernel
def first_peak_outside(m: IntegratorState, first: int) -> int:
    """Return the first event function whose cubic leaves its bounds in the step, or -1.

    The search begins at index `first`. The cubic interpolates values and rates of an event function
    at both ends of the last step.
    """
    for k in range(first, m.event_count):
        change = m.event_values[k] - m.event_values_at_t[k]
        begin = m.last_step * m.event_rates_at_t[k]
        last = m.last_step * m.event_rates[k]
        if begin * last < 0.0:  # p' = begin + x (2 b + 3 c x)
            b = 3.0 * change - 2.0 * begin - last
            c = begin + last - 2.0 * change
            root = math.sqrt(max(b * b - 3.0 * c * begin, 0.0))
            x = -begin / (b + root if b > 0.0 else b - root)
            if not 0.0 < x < 1.0:
                x = (-b + root if b < 0.0 else -b - root) / (3.0 * c)
            value = m.event_values_at_t[k] + x * (begin + x * (b + x * c))
            if value < m.event_low[k] or value > m.event_high[k]:
                m.peak = m.t_old + x * m.last_step
                return k
    return -1


@kernel
def state_within(m: IntegratorState, t: float) -> None:
    """Compute the state m.sampled at t in the last step, by dense output or by a cubic."""
    if m.sample == 0:
        h = m.last_step
        x = (t - m.t_old) / h
        for i in range(m.size):
            change = m.y[i] - m.y_old[i]
            cubic = (1.0 - x) * (h * m.f_old[i] - change) + x * (change - h * m.f[i])
            m.sampled[i] = m.y_old[i] + x * (change + (1.0 - x) * cubic)
    else:
        m.sample_time = t
        run_kernel(m.sample, m)
    prescribe(m.system, t, m.sampled)


@kernel
def exits_at(m: IntegratorState, t: float) -> int:
    """Evaluate event functions at t in the last step; return the first out of bounds, or -1."""
    state_within(m, t)
    rates(m.system, t, m.sampled, m.inner_rates)
    index: int = first_out_of_bounds(m)
    return index


@kernel
def margin(m: IntegratorState, k: int, value: float) -> float:
    """Return the distance of a value from the bounds of event function k, negative outside."""
    distance: float = min(value - m.event_low[k], m.event_high[k] - value)
    return distance


@kernel
def dips_outside(m: IntegratorState, k: int, j: int) -> int:
    """Return 1 if event function k leaves its bounds near quarter j of the last step; else 0.

    The function is evaluated at the vertex of a parabola through three places, which is then one of
    the three, as long as the vertex is close to a bound.
    """
    x = floats(3)
    z = floats(3)
    largest = -1.0
    for i in range(3):
        x[i] = 0.25 * float(j - 1 + i)
        z[i] = margin(m, k, m.inner_values[(j - 1 + i) * m.event_count + k])
        largest = max(largest, z[i])
    for _ in range(EVENT_APPROACHES):
        left = (z[1] - z[0]) / (x[1] - x[0])
        bend = ((z[2] - z[1]) / (x[2] - x[1]) - left) / (x[2] - x[0])
        vertex = 0.5 * (x[0] + x[1] - left / bend)
        least = z[0] - bend * (vertex - x[0]) * (vertex - x[0])
        if not (bend > 0.0 and x[0] < vertex < x[2] and least < CLOSE_VERTEX * (largest - least)):
            return 0
        m.peak = m.t_old + vertex * m.last_step
        if exits_at(m, m.peak) >= 0:
            return 1
        z_vertex = margin(m, k, m.event_values[k])
        later = 2 if vertex > x[1] else 0
        if z_vertex < z[1]:
            x[2 - later] = x[1]
            z[2 - later] = z[1]
            x[1] = vertex
            z[1] = z_vertex
        else:
            x[later] = vertex
            z[later] = z_vertex
    return 0


@kernel
def leaves_bounds_within(m: IntegratorState) -> int:
    """Return 1 if an event function leaves its bounds at inner points of the last step; else 0."""
    if m.checks_within == 0 or m.sample == 0:
        return 0
    count = m.event_count
    copy(count, m.event_values_at_t, m.inner_values)
    copy(count, m.event_values, m.inner_values[4 * count :])
    copy(count, m.event_rates, m.inner_values[5 * count :])
    for j in range(1, 4):
        m.peak = m.t_old + 0.25 * float(j) * m.last_step
        if exits_at(m, m.peak) >= 0:
            return 1
        copy(count, m.event_values, m.inner_values[j * count :])
    for j in range(1, 4):
        for k in range(count):
            if dips_outside(m, k, j) == 1:
                return 1
    copy(count, m.inner_values[4 * count :], m.event_values)
    copy(count, m.inner_values[5 * count :], m.event_rates)
    m.peak = m.t
    return 0


@kernel
def limit_value(m: IntegratorState, limit: int, y: Array) -> float:
    """Return the value, in the state y, of the quantity that a state limit bounds."""
    n = 2 * m.system.n
    value = 0.0
    for i in range(n):
        value += m.limit_rows[limit * n + i] * y[i]
    return value


@kernel
def outside(m: IntegratorState, y: Array) -> int:
    """Return the index of the first state limit that the state y violates, or -1."""
    for r in range(m.state_limits):
        value = limit_value(m, r, y)
        if value < m.limit_low[r] or value > m.limit_high[r]:
            return r
    return -1


@kernel
def healthy(m: IntegratorState) -> int:
    """Return 1 if the trial state and its error are finite, else 0."""
    if not math.isfinite(m.error):
        return 0
    for i in range(m.size):
        if not math.isfinite(m.y_new[i]):
            return 0
    return 1


@kernel
def record_samples(m: IntegratorState) -> None:
    """Record the states at all sample times that the last step has passed."""
    while m.recorded < m.sample_count and m.times[m.recorded] <= m.t + rounding(m.t):
        row = m.recorded * m.size
        if m.times[m.recorded] >= m.t - rounding(m.t) or m.sample == 0:
            copy(m.size, m.y, m.samples[row:])
        else:
            state_within(m, m.times[m.recorded])
            copy(m.size, m.sampled, m.samples[row:])
        m.recorded += 1


@kernel
def next_stop(m: IntegratorState) -> float:
    """Return the next time [s] at which a step must end.

    The next stop is the next jump of a function of time, or the end; with a fixed step size also
    the next sample.
    """
    stop = m.t_end
    if m.next_break < m.break_count:
        stop = min(stop, m.breaks[m.next_break])
    if m.adaptive == 0 and m.recorded < m.sample_count:
        stop = min(stop, m.times[m.recorded])
    return stop


@kernel
def accept(m: IntegratorState) -> None:
    """Accept the trial step: its end becomes the current state."""
    m.t_old = m.t
    m.last_step = m.h
    m.t = m.t + m.h
    copy(m.size, m.y, m.y_old)
    copy(m.size, m.f, m.f_old)
    copy(m.size, m.y_new, m.y)
    copy(m.size, m.f_new, m.f)
    m.steps += 1
    m.sample_ready = 0


@kernel
def resize(m: IntegratorState) -> float:
    """Return the ratio of the next step size to the current one, by the error of the step."""
    power = 1.0 / float(m.order)
    error = max(m.error, 1e-10)
    if m.error > 1.0:
        return max(STEP_SHRINKAGE, STEP_SAFETY * math.pow(error, -power))
    steady = math.pow(max(m.last_error, 1e-4), 0.25 * power)
    change = min(STEP_GROWTH, STEP_SAFETY * steady * math.pow(error, -0.75 * power))
    if m.last_error > 1.0:
        change = min(change, 1.0)
    return 1.0 if 0.95 < change < 1.1 else change


@kernel
def pass_breaks(m: IntegratorState) -> None:
    """Switch functions of time that jump at t to the piece that begins there."""
    if m.next_break < m.break_count and m.t >= m.breaks[m.next_break]:
        while m.next_break < m.break_count and m.breaks[m.next_break] <= m.t:
            m.next_break += 1
        enter_pieces(m.system, m.t)
        rates(m.system, m.t, m.y, m.f)
        record_event_values(m)
        m.last_step = 0.0


@kernel
def pass_stops(m: IntegratorState) -> None:
    """Enter the next piece of functions of time at t; skip stops too close for a step."""
    while True:
        pass_breaks(m)
        if m.t >= m.t_end or next_stop(m) - m.t > rounding(m.t):
            return
        m.t = next_stop(m)
        record_samples(m)


@kernel
def _begin(m: IntegratorState) -> None:
    """Evaluate the equations at the initial state, and record the first sample."""
    enter_pieces(m.system, m.t)
    rates(m.system, m.t, m.y, m.f)
    record_event_values(m)
    widen(m)
    copy(m.size, m.y, m.samples)
    m.recorded = 1


@kernel
def choose_step(m: IntegratorState, stop: float, longest: float) -> int:
    """Choose a step size [s] that does not pass `stop`; return 1 if the step ends there."""
    remaining = stop - m.t
    m.h = min(m.next_step, m.largest * (UNEVEN_STEP if m.uneven == 1 and m.steps % 2 == 1 else 1.0))
    m.h = min(m.h, longest)
    if m.adaptive == 0:
        m.h = remaining / float(max(1, math.floor(remaining / m.h + 0.999999)))
        return 1 if m.h > 0.75 * remaining else 0
    if m.h >= 0.999 * remaining:
        m.h = remaining
        return 1
    if m.h > 0.5 * remaining:
        m.h = 0.5 * remaining
    return 0


@kernel
def is_rejected(m: IntegratorState, good: int) -> int:
    """Return 1 if the error rejects the trial step, and shorten the next step; otherwise 0."""
    if m.adaptive == 0 or (good == 1 and m.error <= 1.0):
        return 0
    m.rejections += 1
    m.last_error = max(m.error, 2.0)
    m.next_step = m.h * (0.1 if good == 0 else resize(m))
    return 1


@kernel
def choose_next(m: IntegratorState, at_stop: int) -> None:
    """Choose the next step size from the error of the accepted step.

    If the accepted step had been shortened to end at a stop and its error allows a longer step, the
    next step is at least as long as the step that was intended before the stop.
    """
    if m.adaptive == 1:
        change = resize(m)
        proposed = m.h * change
        m.next_step = max(m.next_step, proposed) if at_stop == 1 and change > 1.0 else proposed
        m.last_error = m.error


@kernel
def resolved_step(m: IntegratorState) -> float:
    """Return the largest step [s], at most m.h, that resolves the penetration of every contact."""
    if m.obstacles.count == 0:
        return m.h
    n = m.system.n
    energy = max(kinetic(m, m.y[n:]), kinetic(m, m.y_new[n:]))
    allowed: float = contact_step(m.obstacles, m.y, m.y_new, m.h, energy)
    return allowed


@kernel
def march(m: IntegratorState) -> int:
    """Integrate until the end, a bound, an event, a failure or the trial budget; return a code.

    The equations are evaluated at the initial state in the first call of the loop.
    """
    if m.recorded == 0:
        _begin(m)
    resolved = m.largest
    for _ in range(m.budget):
        pass_stops(m)
        if m.t >= m.t_end:
            return FINISHED
        stop = next_stop(m)
        at_stop = choose_step(m, stop, resolved)
        if m.t + m.h <= m.t:
            return NO_STEP
        run_kernel(m.step, m)
        good = healthy(m)
        if is_rejected(m, good) == 1:
            if m.next_step < m.smallest:
                return NO_STEP if good == 1 else BROKEN
            continue
        if good == 0:
            return BROKEN
        resolved = resolved_step(m)
        if resolved < m.h:
            m.rejections += 1
            continue
        resolved = m.largest
        choose_next(m, at_stop)
        accept(m)
        if at_stop == 1:
            m.t = stop
        prescribe(m.system, m.t, m.y)
        widen(m)
        m.peak = m.t
        # The last evaluation of the equations in every step is at its end.
        if (
            first_out_of_bounds(m) >= 0
            or first_peak_outside(m, 0) >= 0
            or leaves_bounds_within(m) == 1
        ):
            return EVENT_FOUND
        record_event_values(m)
        m.limit_reached = outside(m, m.y)
        if m.limit_reached >= 0:
            return LIMIT_REACHED
        record_samples(m)
    return RUNNING
