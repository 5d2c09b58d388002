"""Choose the integrator of a simulation, and estimate its CPU time and memory."""

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arguments import digits
from flexarm.arm import Arm
from flexarm.arm.shapes import Counted, Elements
from flexarm.engine.functions import keep_note, noted
from flexarm.errors import LongRun, SimulationError
from flexarm.integrate.constants import (
    BUILDING_TIME,
    CALIBRATED_VIBRATIONS,
    EVEN_SPREAD,
    FEWEST_STEPS,
    FORECAST_OPERATIONS,
    GIVE_UP_RATIO,
    GIVE_UP_WORK,
    LAW_CALL_MEMORY,
    LAW_CALL_TIME,
    MOST_CPU_TIME,
    MOST_MEMORY,
    NOTED_CPU_TIME,
    OPERATION_TIME,
    PROBE_TIME,
    PROBED_TIME,
    QUIET_DURATION,
    SLOW_START_RATIO,
    TRACING_TIME,
    TRIAL_HALVINGS,
    TRIAL_OPERATIONS,
    TRIAL_PERIODS,
    TRIED_STEPS,
)
from flexarm.integrate.loop import BROKEN, FINISHED, LIMIT_REACHED, NO_STEP, march
from flexarm.integrate.method import Method, Operations
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.dop853 import DOP853
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.methods.rodas4 import RODAS4
from flexarm.integrate.solve import make_ready, new_state
from flexarm.integrate.task import (
    InitialValueProblem,
    equal_step,
    has_strong_dampers,
    tangent_pays,
)
from flexarm.integrate.tolerance import step_tolerance
from flexarm.links.imported.file import read_body
from flexarm.links.shape_counts import counts
from flexarm.mechanics.loads import coulomb_frictions
from flexarm.model.joints import JOINTS
from flexarm.model.numbers import write
from flexarm.model.profiles import pieces as profile_pieces
from flexarm.model.state import fingerprint
from flexarm.spatial import Array


def choose(
    task: InitialValueProblem, rtol: float, *, audit: bool, period: float | None = None
) -> tuple[Method, str]:
    """Return the integrator that meets a tolerance with the least work, and the reason.

    Parameters
    ----------
    task
        Initial-value problem of the simulation.
    rtol
        Relative tolerance of the simulation.
    audit
        Whether the simulation is an energy audit, which needs the method of highest order.
    period
        Time for which a sampled law holds its inputs [s]; None without one.

    Notes
    -----
    An exponential method takes steps longer than the periods of the fast modes, and is best where
    these periods are much shorter than that of the slowest mode. An explicit method of high order
    is best where the mode frequencies are close to each other or the tolerance is tight. A linearly
    implicit method is best where nothing vibrates for most of the simulation, unless its Jacobian
    is too large.

    The frequencies are no sufficient criterion if stiffness may lie outside the links (in a control
    law, a strong damper or dry friction) or if a sampled law shortens the steps. In these cases,
    trial runs over the first part of the motion compare the methods, if the motion is long enough
    to be worth the trials.  Work is counted in operations, not in seconds, so that the same motion
    always gets the same method; the result is stored in the cache.
    """
    fastest, slowest = task.vibration.fastest, task.vibration.slowest
    servoed = bool(task.motion.actuators.servos)
    has_drive = task.motion.ruled or servoed or period is not None
    if audit:
        return DOP853, "an energy audit needs the highest order"
    if fastest == 0.0 and not has_drive:
        return DOP853, "the arm is rigid"
    model = task.equation.model
    has_elasticity = any(part.flexible for part in model.links) or any(
        axis.motor is not None for axis in model.axes
    )
    kind = "elastic modes" if has_elasticity else "modes of joints on servos and springs"
    modes = f"{kind} from {slowest / (2 * np.pi):.3g} to {fastest / (2 * np.pi):.3g} Hz"
    by_spectrum, why = _by_spectrum(task, rtol)
    strong_dampers = has_strong_dampers(task)
    stiff_outside = (strong_dampers and tangent_pays(task)) or bool(coulomb_frictions(model))
    duration = float(task.times[-1] - task.times[0])
    is_long = duration * task.vibration.largest > TRIED_STEPS * DOP853.reach and not task.damped
    if not (has_drive or stiff_outside or is_long):
        return by_spectrum, f"{modes}{why}"
    rivals: tuple[Method, ...] = (ETD4, DOP853)
    stiff = servoed and strong_dampers  # stiffness is due to servos
    small = servoed and tangent_pays(task)
    if task.motion.ruled or stiff_outside or stiff or small:
        # The implicit method is slow until vibrations have decayed: its trial is run in full unless
        # all other methods have dropped out. The other methods run as long as they are no slower.
        rivals = (RODAS4, ETD4, DOP853)
    if task.motion.actuators.states:
        rivals = tuple(method for method in rivals if method.carries_states)
    key = _race_key(task, rtol, period)
    stored = noted(key)
    if stored is None:
        stored = json.dumps(_run_trials(task, rivals, rtol, period))
        keep_note(key, stored)
    best, comparison = json.loads(stored)
    return METHODS[best], f"{modes}; {comparison}"


def _race_key(task: InitialValueProblem, rtol: float, period: float | None) -> str:
    """Return a hash of all data that decide which method wins the trial runs."""
    digest, equation, motion = hashlib.sha256(), task.equation, task.motion
    law = "" if motion.law is None else motion.law.serialize()
    load = equation.model.links[-1].tip_body  # the machine code takes any load
    pieces = [[(channel.name, channel.pieces) for channel in group] for group in task.groups]
    data = ("race", fingerprint(equation.model), load, equation.name,
            equation.formulation.options(), equation.reference_attitude, law,
            motion.actuators.key, pieces,
            task.times[[0, -1]], task.state, task.efforts, task.bounds, task.start.memory,
            task.start.ranges,
            rtol, period)  # fmt: skip
    write(data, digest.update)
    return digest.hexdigest()


def _run_trials(
    task: InitialValueProblem,
    rivals: Sequence[Method],
    rtol: float,
    period: float | None,
) -> tuple[str, str]:
    """Return the method with least work in trial runs, and the ratios of work as text.

    A trial run lasts a few vibration periods, at most a tenth of the simulation.
    """
    pilots = [TrialRun(task, method, rtol, period) for method in rivals]
    whole = float(task.times[-1] - task.times[0])
    vibrations = TRIAL_PERIODS * 2 * np.pi / max(task.vibration.slowest, 1e-12)
    costs, duration = race(pilots, float(min(whole / 10, max(vibrations, whole / 50))))
    best = min(costs, key=lambda name: costs[name])
    lowest = max(costs[best], 1.0)
    ratios = {name: costs[name] / lowest for name in costs if name != best}
    comparison = " and ".join(
        f"{name} took {ratio:.2g} times its work" if np.isfinite(ratio) else f"{name} failed"
        for name, ratio in ratios.items()
    )
    return best, f"in a trial of {duration:.2g} s {comparison}"


def _by_spectrum(task: InitialValueProblem, rtol: float) -> tuple[Method, str]:
    """Return the method chosen by mode frequencies, damping and tolerance, and the reason."""
    spread = task.vibration.fastest / max(task.vibration.slowest, 1e-12)
    is_smooth = tangent_pays(task) and rtol < 5e-3 and not len(task.jumps_inside)
    if not task.motion.actuators.states and task.damped and is_smooth and _is_quiet(task, rtol):
        return RODAS4, ", damped and smoothly driven: its steps are the longest"
    if task.damped:
        return ETD4, ", damped: it steps past their vibration"
    if (EVEN_SPREAD / max(spread, 1e-12)) ** 0.65 * (1e-3 / rtol) ** 0.33 < 1:
        return ETD4, ": it steps past the fast ones"
    return DOP853, ": too close, or the tolerance too tight, to step past the fast ones"


def _is_quiet(task: InitialValueProblem, rtol: float) -> bool:
    """Return whether an arm hardly vibrates: well damped, or not excited at the start."""
    duration = float(task.times[-1] - task.times[0])
    decay_time = -np.log(rtol) / (task.shares.damping * task.vibration.slowest)
    if duration > QUIET_DURATION * decay_time:
        return True
    n, measures = task.equation.model.size, task.measures
    f = make_ready(new_state(task, DOP853, rtol)).f
    deflections = np.array(measures.deflects)[measures.group]
    rates, changes = (
        np.abs(measures.rows @ values)[deflections] for values in (f[:n], f[n : 2 * n])
    )
    floors, pace = (x[measures.group][deflections] for x in (measures.floor, measures.pace))
    return bool(np.all(rates <= pace * floors) and np.all(changes <= pace**2 * floors))


def race(pilots: Sequence["TrialRun"], duration: float) -> tuple[dict[str, float], float]:
    """Run several methods over ever longer first parts of a simulation; stop with a winner.

    Parameters
    ----------
    pilots
        Trial runs of the methods.
    duration
        Duration of the longest trial [s].

    Returns
    -------
    dict
        Number of operations by method, extrapolated from the method's last trial to the whole
        simulation; infinite if the method failed.
    float
        Duration of the last trial [s].
    """
    costs: dict[str, float] = {}
    any_slow = any(pilot.slow_at_first for pilot in pilots)
    for halvings in range(TRIAL_HALVINGS, -1, -1):
        fraction = 0.5**halvings
        margin = fraction**-0.5  # the work of a short part is uncertain
        lowest, least_work, least_cost = np.inf, np.inf, np.inf
        for pilot in pilots:
            limit = (1.0 if any_slow else margin) * least_work
            costs[pilot.name] = pilot.go(
                fraction * duration, limit, GIVE_UP_WORK * least_work, GIVE_UP_RATIO * least_cost
            )
            lowest = min(lowest, costs[pilot.name])
            pilot.arrived = pilot.march.t >= pilot.begin + fraction * duration
            if pilot.arrived and pilot.work < least_work:
                least_work, least_cost = pilot.work, costs[pilot.name]
        leader = min(pilots, key=lambda pilot: costs[pilot.name])
        highest = (SLOW_START_RATIO if leader.slow_at_first else margin) * lowest
        pilots = [
            pilot
            for pilot in pilots
            if costs[pilot.name] <= highest or (pilot.slow_at_first and pilot.arrived)
        ]
        if len(pilots) <= 1:
            break
    return costs, fraction * duration


class TrialRun:
    """Simulation of the first part of a motion by one method, which counts operations."""

    def __init__(
        self, task: InitialValueProblem, method: Method, rtol: float, period: float | None
    ) -> None:
        self.name, self.slow_at_first, self.arrived = method.name, method.implicit, False
        self.march = make_ready(new_state(task, method, rtol))
        self.march.sample_count = 0
        self.begin, self.end = float(task.times[0]), float(task.times[-1])
        self.period, self.ticks, self.failed = period or np.inf, 1, False
        operations = Operations(task.equation.model.size, task.motion)
        self.per_step = method.work(operations)
        self.per_renewal = 0.0 if method.renewal is None else method.renewal(operations)

    @property
    def work(self) -> float:
        """Approximate number of operations of the trial so far."""
        m = self.march
        return (m.steps + m.rejections) * self.per_step + (
            getattr(m, "renewals", 0) * self.per_renewal
        )

    def go(
        self, span: float, limit: float, patience: float = np.inf, worst_cost: float = np.inf
    ) -> float:
        """Simulate up to `span` [s]; return the estimated operations of the whole simulation.

        The estimate extrapolates the later half of the trial, since the start takes more work. The
        trial stops early after `limit` operations, or after `patience` operations if the estimate
        exceeds `worst_cost` operations.
        """
        m, target = self.march, self.begin + span
        t_begin, t_half = m.t, 0.5 * (m.t + target)
        t_since, work_since = m.t, self.work

        def projected() -> float:
            elapsed = m.t - t_since
            if not elapsed:  # all trials were rejected
                return np.inf
            return self.work + (self.work - work_since) * (self.end - m.t) / elapsed

        limit = min(limit, self.work + TRIAL_OPERATIONS)
        while self.advance(target) and self.work <= limit:
            if self.work > patience and projected() > worst_cost:
                break
            if t_since == t_begin and m.t >= t_half:
                t_since, work_since = m.t, self.work
        return np.inf if self.failed else projected()

    def advance(self, target: float, steps: int = 50) -> bool:
        """Attempt a few steps towards a time [s]; return whether that time is not yet reached."""
        m = self.march
        if m.t < target:
            m.t_end = min(target, self.begin + self.ticks * self.period)
            m.budget = steps
            code = march(m)
            self.failed = code in (BROKEN, NO_STEP)
            if code == FINISHED and m.t < target:  # a sampled law is due here
                self.ticks += 1
                m.last_step = 0.0
            if self.failed or code == LIMIT_REACHED:
                return False
        return bool(m.t < target)


@dataclass(frozen=True)
class Effort:
    """Estimated CPU time and memory of a simulation, with their main cause."""

    seconds: float  # CPU time [s]
    memory: float  # memory [bytes]
    cause: str  # main cause, and advice to reduce it


def consider(
    efforts: list[Effort],
    *,
    allow_long: bool,
    remedy: str = "use --yes (in Python allow_long=True)",
    runs: int = 1,
) -> None:
    """Warn of more than a minute of CPU time, and refuse more than an hour or 4 GB.

    The text `remedy` tells the user how to run anyway. The `efforts` together are the cost of
    `runs` simulations.

    Raises
    ------
    SimulationError
        If the limit of CPU time or memory is exceeded and `allow_long` is not set.
    """
    seconds = sum(effort.seconds for effort in efforts)
    memory = sum(effort.memory for effort in efforts)
    if seconds <= NOTED_CPU_TIME and memory <= MOST_MEMORY:
        return
    largest = max(
        efforts, key=lambda item: max(item.seconds / MOST_CPU_TIME, item.memory / MOST_MEMORY)
    )
    amounts = [f"{_time(seconds)} of CPU"] if seconds else []
    amounts += [f"{memory / 1e9:.3g} GB"] if memory > 0.1 * MOST_MEMORY else []
    scope = f" for {runs} runs" if runs > 1 else ""
    message = f"the run would take about {' and '.join(amounts)}{scope}"
    cause = largest.cause
    if (seconds > MOST_CPU_TIME or memory > MOST_MEMORY) and not allow_long:
        raise SimulationError(f"{message}. {cause}. To run it anyway, {remedy}.")
    warnings.warn(f"{message}. {cause}.", LongRun, stacklevel=3)


def _time(seconds: float) -> str:
    for size, name in ((3.156e7, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{digits(seconds / size)} {name}"
    return f"{digits(seconds)} s"


def shape_numbers(arm: Arm) -> list[int]:
    """Return the number of elastic coordinates of each link from the description of the arm."""
    numbers = []
    for index, link in enumerate(arm.links):
        count = 0
        if link.modal is not None:
            count = len(read_body(link.modal.side_file).names)
        elif link.flexible and isinstance(link.shapes, Counted):
            shapes = counts(arm, index, link.shapes)
            bending, rods = shapes.y + shapes.z, shapes.twist + shapes.x
            count = bending + rods
            if isinstance(link.shapes, Elements) and link.shapes.reduce is None:
                count = 2 * bending + rods
        numbers.append(count)
    return numbers


def preparation(arm: Arm, samples: int) -> Effort:
    """Estimate the cost of building an arm and its compiled equations, and the samples' memory."""
    numbers = shape_numbers(arm)
    sizes = [800.0 + 115.0 * m**2 * JOINTS[link.joint.kind].tracing
             for m, link in zip(numbers, arm.links, strict=True)]  # fmt: skip
    seconds = sum(TRACING_TIME * size for size in sizes) + sum(
        BUILDING_TIME * m**2.65 for m in numbers
    )
    n = sum(numbers) + 2 * len(numbers) + 6
    memory = 8.0 * samples * (8 * n + 60 + 77 * len(numbers))
    largest = int(np.argmax(numbers)) if numbers else 0
    cause = (
        f"Its {samples} samples take most of the memory. Use a larger dt"
        if memory / MOST_MEMORY > seconds / MOST_CPU_TIME or not numbers
        else f"Link {largest + 1} has {numbers[largest]} elastic coordinates, and their equations "
        "take most of that. Use fewer elements or shapes, or 'reduce' its elements to "
        "modes"
    )
    return Effort(seconds, memory, cause)


def with_phases(effort: Effort, arm: Arm, phases: int) -> Effort:
    """Return a cost estimate with the time to compile the equations of later phases added."""
    seconds_each = preparation(arm, 0).seconds
    compile_time = phases * seconds_each
    cause = effort.cause if effort.seconds >= compile_time else (
        f"{phases} phases between events have equations of their own, {digits(seconds_each)} s "
        "each to compile. Let fewer joints brake, or let brakes never slip (no 'effort')"
    )  # fmt: skip
    return replace(effort, seconds=effort.seconds + compile_time, cause=cause)


def solution(
    task: InitialValueProblem, method: Method, rtol: float, *, duration: float,
    step: float | None, period: float | None, runs: int = 1,
) -> Effort:  # fmt: skip
    """Estimate the cost of a simulation, by a trial of its first part if it is expensive.

    The cost is that of `runs` simulations, each of the given duration [s].
    """
    rates, calls = _rates(task), 0.0 if period is None else duration / period
    steps_by_cause = {name: duration * _steps_per_second(task, method, rtol, name, rate)
             for name, rate in rates.items()}  # fmt: skip
    jumps = 3.0 * len(task.jumps_inside)
    steps = FEWEST_STEPS + max(steps_by_cause.values()) + jumps + calls
    steps_by_cause |= {"the calls of a law": calls, "the jumps of inputs": jumps}
    main_cause = max(steps_by_cause, key=lambda name: steps_by_cause[name])
    if not method.adaptive:
        length = step or equal_step(method, task.vibration, duration, rtol, None)
        steps = (1 if step else 3) * duration / length  # fixed steps: the run is repeated
    seconds = by_count(task, method, steps)
    if runs * seconds > PROBED_TIME and method.adaptive:
        operations = min(PROBE_TIME, 0.02 * seconds) / OPERATION_TIME
        trial = _probe(TrialRun(task, method, rtol, period), duration, operations)
        # A trial may take few steps only because hardly anything moves at the start.
        if seconds > PROBED_TIME or trial[0] < 0.1 * seconds:
            seconds, steps = trial
    cause = f"{digits(steps)} steps of {method.name} follow {main_cause}"
    cause += f" of {rates[main_cause]:.3g} rad/s" if main_cause in rates else ""
    return Effort(
        seconds + LAW_CALL_TIME * calls, LAW_CALL_MEMORY * calls, f"{cause}. {REMEDIES[main_cause]}"
    )


def forecast(task: InitialValueProblem, rtol: float) -> tuple[Method, float, float] | None:
    """Estimate the cost of a simulation by counting operations in a trial of its start.

    Returns
    -------
    method, steps, seconds
        Name of the method that ``auto`` selects, its number of step attempts and its CPU time [s];
        None if the trial fails.
    """
    method, _ = choose(task, rtol, audit=False)
    pilot = TrialRun(task, method, rtol, None)
    duration = float(task.times[-1] - task.times[0])
    seconds, steps = _probe(pilot, duration, FORECAST_OPERATIONS)
    return None if pilot.failed or not pilot.march.steps else (method, steps, seconds)


def by_count(task: InitialValueProblem, method: Method, steps: float) -> float:
    """Return the CPU time of step attempts [s], computed from operation counts."""
    operations = Operations(task.equation.model.size, task.motion)
    work = method.work(operations)
    if method.renewal is not None:
        work += method.renewal(operations) / method.renewed_after
    return OPERATION_TIME * work * steps


REMEDIES = {
    "elastic modes": "Make very stiff parts softer or rigid, use fewer shapes, add damping, or "
    "shorten the run",
    "inputs": "Inputs that fast hardly move an arm. Leave them out, or shorten the run",
    "a turning joint": "Shorten the run, or start slower",
    "the calls of a law": "Use a longer period, or shorten the run",
    "the jumps of inputs": "Use fewer jumps, or shorten the run",
}


def _rates(task: InitialValueProblem) -> dict[str, float]:
    """Return the angular frequencies [rad/s] that steps have to resolve, by cause."""
    model = task.equation.model
    functions = [channel for group in task.groups for channel in group]
    sines = [
        float(np.abs(profile_pieces(function.profile)[:, 7]).max(initial=0.0))
        for function in functions
    ]
    turning = [abs(float(task.start.v[axis.index])) for axis in model.axes if axis.turns]
    vibration = task.vibration
    modes = vibration.fastest if coulomb_frictions(model) else vibration.largest
    return {
        "elastic modes": modes,
        "inputs": max(sines, default=0.0),
        "a turning joint": max(turning, default=0.0),
    }


def _steps_per_second(
    task: InitialValueProblem, method: Method, rtol: float, cause: str, rate: float
) -> float:
    """Estimate the steps per second that resolve a frequency [rad/s], by a fit to 20 arms."""
    rule = method.rule
    decay = 1.0 if task.damped else rule.periods / CALIBRATED_VIBRATIONS
    ratio = 1e-3 * rule.share * decay / step_tolerance(task, method, rtol)
    factor = float(ratio ** (1 / method.order))
    if cause == "elastic modes":
        to_follow = factor * method.vibration_steps(task.vibration, task.damped)
        return float(max(rate / method.reach, to_follow))
    return float(rate * factor * method.input_steps)


def phase_method(
    chosen: Method, first: InitialValueProblem, task: InitialValueProblem, rtol: float
) -> Method:
    """Return the integrator for a later phase, given that of the first phase.

    An implicit method of the first phase is kept, unless brakes now hold the stiff joints while the
    links vibrate for long. The implicit method would then take many times the work of an explicit
    or exponential method, and the cheaper of DOP853 and ETD4 is returned.
    """
    actuators = task.motion.actuators
    # The stiffness of laws, bristles, windings and ties is unknown.
    unknown_stiffness = (
        task.motion.ruled or actuators.bristles or actuators.windings or actuators.ties
    )
    vibrates = not (unknown_stiffness or task.damped or coulomb_frictions(task.equation.model))
    now_soft = has_strong_dampers(first) and not has_strong_dampers(task)
    if not (chosen.implicit and now_soft and vibrates):
        return chosen
    operations, rate = Operations(task.equation.model.size, task.motion), task.vibration.largest
    return min((DOP853, ETD4), key=lambda method: method.work(operations) * _steps_per_second(
        task, method, rtol, "elastic modes", rate))  # fmt: skip


def _probe(pilot: TrialRun, duration: float, operations: float) -> tuple[float, float]:
    """Return CPU time [s] and steps of a simulation, estimated by a trial of its start."""
    m = pilot.march

    def mark() -> Array:
        return np.array([OPERATION_TIME * pilot.work, float(m.steps + m.rejections), m.t])

    marks = [mark()]
    while marks[-1][0] < OPERATION_TIME * operations and pilot.advance(pilot.end, 10):
        marks.append(mark())
    middle = marks[len(marks) // 2]  # the start takes more work per time
    costs = mark() - (middle if middle[2] < m.t < pilot.end else marks[0])
    seconds, steps = costs[:2] * duration / max(costs[2], 1e-12 * duration)
    return float(seconds), float(steps)
