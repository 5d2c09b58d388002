"""Estimates of the CPU time and memory of a simulation before it begins."""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Counted, Elements
from flexarm.errors import LongRun, SimulationError
from flexarm.integrate.choice.choose import TrialRun, choose
from flexarm.integrate.constants import (
    BUILDING_TIME,
    FEWEST_STEPS,
    FORECAST_OPERATIONS,
    LAW_CALL_MEMORY,
    LAW_CALL_TIME,
    MOST_CPU_TIME,
    MOST_MEMORY,
    NOTED_CPU_TIME,
    OPERATION_TIME,
    PROBE_TIME,
    PROBED_TIME,
    TRACING_TIME,
)
from flexarm.integrate.method import Method, Operations
from flexarm.integrate.methods.dop853 import DOP853
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.task import (
    InitialValueProblem,
    equal_step,
    has_strong_dampers,
)
from flexarm.integrate.tolerance import step_tolerance
from flexarm.links.imported.file import read_body
from flexarm.links.shape_counts import counts
from flexarm.mechanics.loads import coulomb_frictions
from flexarm.model.joints import JOINTS
from flexarm.model.profiles import pieces as profile_pieces
from flexarm.spatial import Array


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

    `remedy` is advice on how to run anyway; `runs` is the number of runs that the efforts cover.

    Raises
    ------
    SimulationError
        If time or memory is too much and `allow_long` is not set.
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
            return f"{seconds / size:.2g} {name}"
    return f"{seconds:.2g} s"


def shape_numbers(arm: Arm) -> list[int]:
    """Return the number of elastic coordinates of each link, before a model is built."""
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
    """Estimate the cost to build, trace and compile an arm, and the memory of its samples."""
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
    """Return an effort with the CPU time to compile the given number of later phases added."""
    seconds_each = preparation(arm, 0).seconds
    compile_time = phases * seconds_each
    cause = effort.cause if effort.seconds >= compile_time else (
        f"{phases} phases between events have equations of their own, {seconds_each:.2g} s each to "
        "compile. Let fewer joints brake, or let brakes never slip (no 'effort')"
    )  # fmt: skip
    return replace(effort, seconds=effort.seconds + compile_time, cause=cause)


def solution(
    task: InitialValueProblem, method: Method, rtol: float, *, duration: float,
    step: float | None, period: float | None, runs: int = 1,
) -> Effort:  # fmt: skip
    """Estimate the cost to solve a motion, by a trial of its first part if the cost is high.

    `runs` is the number of such motions, each of the given duration [s].
    """
    rates, calls = _rates(task), 0.0 if period is None else duration / period
    steps_by_cause = {name: duration * _steps_per_second(task, method, rtol, name, rate)
             for name, rate in rates.items()}  # fmt: skip
    steps = FEWEST_STEPS + max(steps_by_cause.values()) + 3 * task.jumps_inside + calls
    steps_by_cause |= {"the calls of a law": calls, "the jumps of inputs": 3.0 * task.jumps_inside}
    main_cause = max(steps_by_cause, key=lambda name: steps_by_cause[name])
    if not method.adaptive:
        length = step or equal_step(method, task.vibration, duration, rtol, None)
        steps = (
            (1 if step else 3) * duration / length
        )  # without one the run is repeated in smaller steps
    seconds = by_count(task, method, steps)
    if runs * seconds > PROBED_TIME and method.adaptive:
        operations = min(PROBE_TIME, 0.02 * seconds) / OPERATION_TIME
        trial = _probe(TrialRun(task, method, rtol, period), duration, operations)
        # A short trial may only mean that hardly anything moves at the start.
        if seconds > PROBED_TIME or trial[0] < 0.1 * seconds:
            seconds, steps = trial
    cause = f"{steps:.2g} steps of {method.name} follow {main_cause}"
    cause += f" of {rates[main_cause]:.3g} rad/s" if main_cause in rates else ""
    return Effort(
        seconds + LAW_CALL_TIME * calls, LAW_CALL_MEMORY * calls, f"{cause}. {REMEDIES[main_cause]}"
    )


def forecast(task: InitialValueProblem, rtol: float) -> tuple[Method, float, float] | None:
    """Estimate the cost of a run by a trial of its start; work is counted in operations.

    Returns
    -------
    method, steps, seconds
        The method that ``auto`` takes, its trial steps and CPU time [s]; None if it fails.
    """
    method, _ = choose(task, rtol, audit=False)
    pilot = TrialRun(task, method, rtol, None)
    duration = float(task.times[-1] - task.times[0])
    seconds, steps = _probe(pilot, duration, FORECAST_OPERATIONS)
    return None if pilot.failed or not pilot.march.steps else (method, steps, seconds)


def by_count(task: InitialValueProblem, method: Method, steps: float) -> float:
    """Return the CPU time of trial steps [s] by operation counts, equal on all machines."""
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
    """Return the rates [rad/s] that integration steps have to resolve, by cause."""
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
    """Estimate the steps per second that resolve a rate [rad/s], by a fit to twenty arms."""
    ratio = method.rule.per_step(1e-3, task.damped) / step_tolerance(task, method, rtol)
    factor = float(ratio ** (1 / method.order))
    if cause == "elastic modes":
        to_follow = factor * method.vibration_steps(task.vibration, task.damped)
        return float(max(rate / method.reach, to_follow))
    return float(rate * factor * method.input_steps)


def phase_method(
    chosen: Method, first: InitialValueProblem, task: InitialValueProblem, rtol: float
) -> Method:
    """Return the method for a later phase, given the method of the first phase.

    If brakes hold the stiff joints of the first phase, and vibrations last, an implicit method
    takes many times the work of a method that follows vibrations: then the cheaper of DOP853 and
    ETD4 is returned.
    """
    actuators = task.motion.actuators
    # How stiff laws, bristles, windings and ties are is unknown.
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
    """Return CPU time [s] and steps of a motion, estimated by a trial of so many operations."""
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
