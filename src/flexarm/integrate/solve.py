"""Integration of an initial-value problem, and why it ended."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from flexarm.formulations.equation import Equation
from flexarm.integrate.constants import (
    JUMP_DISTANCE,
    KERNEL_CALL_TIME,
    OPERATION_TIME,
    RECOMPILED_AFTER,
)
from flexarm.integrate.laws import Sampled, ServoMemory
from flexarm.integrate.location import (
    bisect_exit,
    choose_sides,
    locate,
    record_end,
    start_anew,
    stop_at,
)
from flexarm.integrate.loop import (
    BROKEN,
    EVENT_FOUND,
    FINISHED,
    LIMIT_REACHED,
    NO_STEP,
    first_out_of_bounds,
    limit_value,
    march,
    record_samples,
)
from flexarm.integrate.method import Method, Operations
from flexarm.integrate.sampling import SampledLaw, SampledServos, Sampler, no_number_near
from flexarm.integrate.state import RANGES, IntegratorState, start_fields
from flexarm.integrate.system import PRESCRIBED, instant
from flexarm.integrate.task import InitialValueProblem
from flexarm.integrate.tolerance import step_limits
from flexarm.interrupts import finish, interrupt_name
from flexarm.spatial import Array, rebase


@dataclass(frozen=True)
class Ending:
    """Status of a simulation at its end, and the reason."""

    # ``finished``, ``stopped`` or ``interrupted``; ``running`` before the end; ``event`` if an
    # event function left its bounds.
    status: str = "finished"
    reason: str = ""  # time, cause and remedy; empty if the run finished


@dataclass
class Solution:
    """States at the sample times that were reached, and statistics of the integration."""

    times: Array  # sample times [s], (T,)
    states: Array  # states at these times, (T, size)
    reference_attitudes: Array  # attitude that a free base's angles are relative to, (T, 3, 3)
    ending: Ending = field(default_factory=Ending)  # status and reason of the end
    steps: int = 0  # accepted steps
    rejections: int = 0  # rejected steps
    evaluations: int = 0  # evaluations of the equations
    renewals: int = 0  # renewals of data that the method reuses, such as modes
    seconds: float = 0.0  # CPU time [s]
    # Values that digital controllers hold at the sample times, (T, values): inputs of a law, or
    # inputs and then integral terms of sampled servos; None without digital controllers.
    held: Array | None = None
    # Memory of sampled servos at the end, by joint.
    memory: Mapping[str, ServoMemory] = field(default_factory=dict)
    events: tuple[int, ...] = ()  # indices of the event functions that ended the run
    value: float = 0.0  # value of the first of these event functions
    # Ranges of the motion so far, by which errors are scaled, by field of the integrator state.
    ranges: Mapping[str, Array] = field(default_factory=dict)


def new_state(
    problem: InitialValueProblem, method: Method, rtol: float, step: float | None = None
) -> IntegratorState:
    """Return the integrator state at the start, before the equations are evaluated.

    Parameters
    ----------
    problem, method
        The initial-value problem, and the integrator.
    rtol
        The tolerance of the run.
    step
        Step of a fixed-step method [s]; chosen if None.
    """
    limits = step_limits(problem, method, rtol, step)
    state: IntegratorState = method.begin(start_fields(problem, method, limits))
    return state


def make_ready(m: IntegratorState) -> IntegratorState:
    """Evaluate the equations of motion at the start of a run; return the integrator state."""
    m.budget = 0
    march(m)  # evaluates only the start
    _choose_sides(m)
    return m


def solve(
    m: IntegratorState,
    progress: Callable[[float], None] | None = None,
    control: Sampled | None = None,
    live: Callable[[Callable[[], Solution]], None] | None = None,
) -> Solution:
    """Integrate over all sample times, or until an event, a failure or an interrupt.

    Between blocks of steps, the function `progress` is called with the time reached [s], and the
    function `live` with a function that returns the solution so far.
    """
    make_ready(m)
    reference_attitudes = [(0, np.array(m.problem.equation.reference_attitude, dtype=float))]
    sampler: Sampler | None = None
    if control is not None:
        sampler = SampledLaw(control, m.problem)
    elif m.problem.motion.actuators.sampled:
        sampler = SampledServos(m)
    start_time, callback_time = time.process_time(), 0.0

    def collected(ending: Ending) -> Solution:
        cpu_time = time.process_time() - start_time - callback_time
        solution = collect(m, reference_attitudes, ending, cpu_time)
        if sampler is not None:
            solution.held, solution.memory = sampler.at(solution.times), dict(sampler.memory)
        return solution

    def report() -> None:
        nonlocal callback_time
        if live is not None:
            begin_time = time.process_time()
            reason = f"computed to t = {m.t:.6g} s. The simulation is still running or was killed."
            live(lambda: collected(Ending("running", reason)))
            callback_time += time.process_time() - begin_time

    try:
        ending = _integrate(m, reference_attitudes, progress or (lambda t: None), sampler, report)
    except KeyboardInterrupt as interrupt:
        ending = interruption(interrupt, m.t)
    solution, stop = finish(lambda: collected(ending))
    return solution if stop is None else replace(solution, ending=interruption(stop, m.t))


def interruption(stop: KeyboardInterrupt, t: float) -> Ending:
    """Return status and reason of a run that was interrupted at a time [s]."""
    return Ending("interrupted", f"by {interrupt_name(stop)} at t = {t:.6g} s")


def first_budget(m: IntegratorState) -> int:
    """Return the number of step attempts that take the time `KERNEL_CALL_TIME`."""
    work = m.method.work(Operations(m.system.n, m.problem.motion))
    return 1 + int(KERNEL_CALL_TIME / (OPERATION_TIME * work))


def _integrate(
    m: IntegratorState,
    reference_attitudes: list[tuple[int, Array]],
    progress: Callable[[float], None],
    sampler: Sampler | None,
    report: Callable[[], None],
) -> Ending:
    m.budget = first_budget(m)
    starts_out_of_bounds = m.event_count and first_out_of_bounds.python(m) >= 0
    ending = (
        Ending("event")
        if starts_out_of_bounds
        else None
        if sampler is None
        else _sample_controllers(sampler, m)
    )
    recompile = m.method.proven
    while ending is None:
        remaining = RECOMPILED_AFTER - m.steps - m.rejections
        if recompile is not None and remaining > 0:  # the count does not depend on the clock
            m.budget = min(m.budget, remaining)
        elif recompile is not None:
            recompile(m)
            recompile = None
        clock = time.perf_counter()
        code = march(m)
        elapsed = time.perf_counter() - clock
        m.budget = int(min(max(m.budget * KERNEL_CALL_TIME / max(elapsed, 1e-6), 20), 10**7))
        progress(m.t)
        ending = after_march(m, reference_attitudes, sampler, code)
        if ending is None and (code == FINISHED or m.t < m.t_end):  # no input is due
            report()
    return ending


def after_march(
    m: IntegratorState,
    reference_attitudes: list[tuple[int, Array]],
    sampler: Sampler | None,
    code: int,
) -> Ending | None:
    """Handle the return code of `march`; return the ending, or None while the run goes on."""
    if code == FINISHED:
        if m.t >= (m.t_end if sampler is None else sampler.end):
            return Ending()
        return None if sampler is None else _sample_controllers(sampler, m)
    if code == EVENT_FOUND:
        return locate_event(m, reference_attitudes[-1][1])
    if code == LIMIT_REACHED and not m.problem.state_limits[m.limit_reached].what:
        _rebase_attitudes(m, reference_attitudes)
    elif code == LIMIT_REACHED:
        return _end_at_bound(m)
    elif code in (BROKEN, NO_STEP):
        return _failure(m, code)
    return None


def _sample_controllers(sampler: Sampler, m: IntegratorState) -> Ending | None:
    message = sampler.ask(m)
    return Ending("stopped", message) if message else None


def _rebase_attitudes(m: IntegratorState, reference_attitudes: list[tuple[int, Array]]) -> None:
    """Replace the reference attitudes by the current attitudes, before gimbal lock."""
    record_samples(m)
    n = m.system.n
    attitudes = reference_attitudes[-1][1].copy()
    for k, first in enumerate(m.problem.equation.model.attitudes):
        angles, angle_rates = m.y[first : first + 3], m.y[n + first : n + first + 3]
        rebase(attitudes[3 * k : 3 * k + 3], angles, angle_rates)
    reference_attitudes.append((m.recorded, attitudes))
    m.buffers["reference_attitude"][:] = attitudes.ravel()
    restart(m)


def restart(m: IntegratorState) -> None:
    """Restart the integration after the equations or the coordinates have changed."""
    start_anew(m)
    if m.method.restart is not None:
        m.method.restart(m)


def _choose_sides(m: IntegratorState) -> None:
    choose_sides.python(m.event_count, m.event_values, m.event_corners, m.event_low, m.event_high)


def _end_at_bound(m: IntegratorState) -> Ending:
    """Return the ending at the time in the last step when a quantity left its bounds."""
    limit = m.problem.state_limits[m.limit_reached]
    crossing = bisect_exit(m, m.t, m.limit_reached, 0.0)
    stop_at(m, crossing, crossing)
    record_end(m)
    low, high = np.clip((limit.low, limit.high), -1e9, 1e9)
    is_high = limit_value.python(m, m.limit_reached, m.y) > 0.5 * (low + high)
    bound = limit.high if is_high else limit.low
    return Ending(
        "stopped",
        f"{limit.what} reached {bound:.4g} at t = {crossing:.6g} s. {limit.remedy}",
    )


def locate_event(m: IntegratorState, reference_attitude: Array) -> Ending | None:
    """Locate the first event in the last step, move the state to it, and return the ending.

    Return None if there is no event, or if the event is only a kink of the equations, at which the
    integration restarts.
    """
    crossing = locate(m)
    if crossing < 0:
        return None
    ends_phase = np.isinf(m.event_corners[first_out_of_bounds.python(m)])
    stop_at(m, crossing, crossing if ends_phase else crossing - instant(crossing))
    _cross_rail_nodes(m, reference_attitude)
    if ends_phase:
        record_end(m)
        return Ending("event")
    record_samples(m)
    _choose_sides(m)
    restart(m)
    return None


def _cross_rail_nodes(m: IntegratorState, reference_attitude: Array) -> None:
    """Change the speeds of carriages that have passed a jump of their rail's curvature."""
    n = m.system.n
    for k, function in enumerate(m.problem.motion.actuators.event_functions):
        inside = m.event_low[k] <= m.event_values[k] <= m.event_high[k]
        if function.kind == "place" and function.corner is not None and not inside:
            q, v = m.y[:n], m.y[n : 2 * n]
            equation = m.problem.equation.with_reference(reference_attitude)
            v[:], work = speeds_after_jump(equation, q, v, function.index, function.corner)
            m.y[2 * n + PRESCRIBED] += work


def _failure(m: IntegratorState, code: int) -> Ending:
    when = f"at t = {m.t:.6g} s"
    # An adaptive method has set the next trial step to a tenth of the failed one.
    step = 10 * m.next_step if m.method.adaptive else m.h
    reason = no_number_near(m, step) or _singular_near(m, step)
    if reason:
        return Ending("stopped", reason)
    if code == BROKEN and not m.method.adaptive:
        return Ending(
            "stopped",
            f"the motion grew without bound {when}. The step of {m.next_step:.3g} s is too "
            "large for the fastest mode, or the arm is unstable. Try method 'auto', or "
            "a smaller step.",
        )
    if code == BROKEN:
        culprit = "an input" if m.problem.motion.law is None else "the control law"
        return Ending(
            "stopped",
            f"the equations gave no numbers {when}. {culprit} may be infinite or not a "
            "number, or the mass matrix singular there. Run 'flexarm check' on the arm.",
        )
    return Ending(
        "stopped",
        f"no step is small enough {when} for the tolerance. The motion jumps or runs "
        "away there. Check the inputs at that time, or try a larger --rtol.",
    )


def _singular_near(m: IntegratorState, step: float) -> str:
    """Return why the mass matrix is singular now or one step ahead; '' if it is regular."""
    for y in (m.y, m.y + step * m.f) if m.problem.equation.guarded else ():
        reason = m.problem.equation.singularity(y[: m.system.n])
        if reason:
            return f"at t = {m.t:.6g} s {reason}"
    return ""


def collect(
    m: IntegratorState, reference_attitudes: list[tuple[int, Array]], ending: Ending, seconds: float
) -> Solution:
    """Build the solution from the samples recorded by the integration loop."""
    starts = [start for start, _ in reference_attitudes]
    anchor_of_sample = np.searchsorted(starts, np.arange(m.recorded), side="right") - 1
    outside = np.flatnonzero(
        (m.event_values < m.event_low) | (m.event_values > m.event_high)
    ).tolist()
    return Solution(
        times=m.times[: m.recorded].copy(),
        states=m.samples.reshape(-1, m.size)[: m.recorded].copy(),
        reference_attitudes=np.array(
            [reference_attitude for _, reference_attitude in reference_attitudes]
        )[anchor_of_sample],
        ending=ending,
        steps=m.steps,
        rejections=m.rejections,
        evaluations=m.system.evaluations,
        renewals=getattr(m, "renewals", 0),
        seconds=seconds,
        events=tuple(outside) if ending.status == "event" else (),
        value=float(m.event_values[outside[0]]) if ending.status == "event" else 0.0,
        ranges={name: getattr(m, name).copy() for name in RANGES},
    )


def speeds_after_jump(
    equation: Equation, q: Array, v: Array, index: int, jump: float
) -> tuple[Array, float]:
    """Compute the rates (n,) after a carriage passes a jump of its rail's curvature.

    The work [J] of prescribed coordinates is returned too. At the jump of curvature, the angular
    velocity of the carriage jumps. The constraint impulse acts along the coordinate of the carriage
    only and does no work, so that all other momenta and the energy are conserved. Prescribed
    coordinates keep their rates.

    Parameters
    ----------
    equation
        Equation of motion of the arm.
    q, v
        Coordinates and rates when the carriage reaches the jump, (n,) each.
    index
        Index in q of the carriage's coordinate along the rail.
    jump
        Position of the curvature jump along the rail [m].
    """
    before, after = q.copy(), q.copy()
    step = np.copysign(JUMP_DISTANCE * jump, v[index])
    before[index], after[index] = jump - step, jump + step
    mass_before, mass_after = equation.mass_matrix(before), equation.mass_matrix(after)
    prescribed = list(equation.model.prescribed)
    others = [i for i in range(len(q)) if i not in prescribed]
    matrix, coupling = (mass_after[np.ix_(others, columns)] for columns in (others, prescribed))
    speeds = v.copy()
    speeds[others] = np.linalg.solve(matrix, (mass_before @ v)[others] - coupling @ v[prescribed])
    if index not in prescribed:
        speeds = _with_energy(mass_before, mass_after, v, speeds, index, others)
    return speeds, float(speeds @ mass_after @ speeds - v @ mass_before @ v) / 2


def _with_energy(
    mass_before: Array, mass_after: Array, v: Array, speeds: Array, index: int, others: list[int]
) -> Array:
    """Return the rates (n,) after an impulse on a free carriage that restores the energy."""
    matrix = mass_after[np.ix_(others, others)]
    response = np.zeros_like(v)
    response[others] = np.linalg.solve(matrix, np.eye(len(v))[others, index])

    def energy(mass: Array, speed: Array) -> float:
        """Compute the kinetic energy of the free coordinates less that of prescribed ones [J]."""
        driven = speed.copy()
        driven[others] = 0.0
        return float((speed - driven) @ mass @ (speed - driven) - driven @ mass @ driven) / 2

    excess = energy(mass_after, speeds) - energy(mass_before, v)
    slope, bend = float(speeds[others] @ matrix @ response[others]), float(response[index])
    root = np.sqrt(max(slope**2 - 2 * bend * excess, 0.0))
    # Take the root for which the carriage keeps its direction along the rail.
    return np.asarray(speeds + (np.copysign(root, v[index]) - slope) / bend * response)
