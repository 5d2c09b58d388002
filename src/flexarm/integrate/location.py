"""Location of the first event in the last step, by ever shorter steps and by bisection."""

import math

from flexarm.integrate.constants import EVENT_APPROACHES, EVENT_BISECTIONS, EVENT_MARGIN
from flexarm.integrate.loop import (
    accept,
    exits_at,
    first_out_of_bounds,
    first_peak_outside,
    leaves_bounds_within,
    limit_value,
    record_event_values,
    record_samples,
    state_within,
)
from flexarm.integrate.state import IntegratorState, widen
from flexarm.integrate.system import prescribe, rates, rounding
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, run_kernel
from flexarm.loops.sums import copy

INFINITE = float("inf")


@kernel
def choose_sides(count: int, values: Array, corners: Array, low: Array, high: Array) -> None:
    """Bound event functions of kinks to the side of the kink at which their values are now.

    The bounds of other event functions, whose corner is infinite, are not changed.
    """
    for k in range(count):
        if math.isfinite(corners[k]):
            low[k] = corners[k] if values[k] > corners[k] else -INFINITE
            high[k] = INFINITE if values[k] > corners[k] else corners[k]


@kernel
def start_anew(m: IntegratorState) -> None:
    """Evaluate the equations again, after they or the state have changed at time m.t."""
    rates(m.system, m.t, m.y, m.f)
    record_event_values(m)
    m.last_step = 0.0


@kernel
def is_beyond(m: IntegratorState, t: float, limit: int) -> int:
    """Return 1 if a state limit is violated at a time [s] in the last step, else 0.

    If ``limit`` is -1, the result is 1 if an event function is out of bounds.
    """
    if limit < 0:
        return 1 if exits_at(m, t) >= 0 else 0
    state_within(m, t)
    value = limit_value(m, limit, m.sampled)
    return 0 if m.limit_low[limit] <= value <= m.limit_high[limit] else 1


@kernel
def bisect_exit(m: IntegratorState, outside: float, limit: int, accuracy: float) -> float:
    """Return the time [s] in the last step at which bounds are left, by bisection.

    The bounds, which are left at the time ``outside``, are those of `is_beyond`. The error of the
    result is at most the fraction ``accuracy`` of its distance from the begin of the step.
    """
    early = m.t_old
    late = outside
    for _ in range(EVENT_BISECTIONS):
        middle = 0.5 * (early + late)
        if not early < middle < late or late - early <= accuracy * (late - m.t_old):
            break
        if is_beyond(m, middle, limit) == 1:
            late = middle
        else:
            early = middle
    return late


@kernel
def step_to(m: IntegratorState, t: float) -> None:
    """Advance to a time [s] by a single step."""
    m.h = t - m.t
    run_kernel(m.step, m)
    accept(m)
    m.t = t
    prescribe(m.system, t, m.y)
    widen(m)


@kernel
def approach(m: IntegratorState, first: float) -> float:
    """Return the time [s] of an event, approached by ever shorter steps; -1 if there is none.

    A step across a kink of the equations has a large error. The last step, which crosses the event,
    is therefore short. At the time ``first``, an event function is out of bounds.
    """
    steps = m.steps
    end = m.t
    crossing = first
    for _ in range(EVENT_APPROACHES):
        crossing = bisect_exit(m, crossing, -1, EVENT_MARGIN * EVENT_MARGIN)
        distance = crossing - m.t_old
        if distance <= rounding(crossing):
            break
        m.t = m.t_old
        copy(m.size, m.y_old, m.y)
        copy(m.size, m.f_old, m.f)
        step_to(m, crossing - EVENT_MARGIN * distance)
        record_samples(m)
        step_to(m, min(crossing + EVENT_MARGIN * distance, end))
        if exits_at(m, crossing) < 0:
            crossing = m.t
        if exits_at(m, crossing) < 0:
            crossing = -1.0
            record_samples(m)
            if m.t < end:  # a shorter step would detect the event again
                step_to(m, end)
                crossing = end if exits_at(m, end) >= 0 else -1.0
            break
    m.steps = steps
    return crossing


@kernel
def other_crossing(m: IntegratorState) -> float:
    """Return a time [s] at which another event function is out of bounds; -1 if there is none."""
    k = -1
    while True:
        exits_at(m, m.t)  # cubics use the event functions at the step's end
        k = first_peak_outside(m, k + 1)
        if k < 0:
            return m.peak if leaves_bounds_within(m) == 1 else -1.0
        if exits_at(m, m.peak) >= 0:
            return m.peak


@kernel
def locate(m: IntegratorState) -> float:
    """Return the time [s] of the first event in the last step; -1 if there is none."""
    crossing: float = m.peak
    if exits_at(m, crossing) < 0:  # only the cubic or rounding is outside
        crossing = other_crossing(m)
    index = first_out_of_bounds(m)
    stays = m.event_stays[index] if index >= 0 else 0.0
    if crossing >= 0.0 and (m.adaptive == 0 or stays == 0.0):
        crossing = approach(m, crossing)
    if crossing < 0.0:
        record_event_values(m)
        record_samples(m)
        return -1.0
    crossing = bisect_exit(m, crossing, -1, 0.0)
    exits_at(m, crossing)
    return crossing


@kernel
def stop_at(m: IntegratorState, t: float, samples_until: float) -> None:
    """Move the state to a time [s] in the last step, after recording samples of earlier times."""
    while m.recorded < m.sample_count and m.times[m.recorded] < samples_until:
        state_within(m, m.times[m.recorded])
        copy(m.size, m.sampled, m.samples[m.recorded * m.size :])
        m.recorded += 1
    state_within(m, t)
    copy(m.size, m.sampled, m.y)
    m.t = t


@kernel
def record_end(m: IntegratorState) -> None:
    """Record the current state as a sample at the current time, in place of the next sample."""
    if m.recorded < m.sample_count:
        m.times[m.recorded] = m.t
        copy(m.size, m.y, m.samples[m.recorded * m.size :])
        m.recorded += 1
