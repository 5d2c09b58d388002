"""Planning of rest-to-rest motions of flexible arms: optimisation, simulation, robustness."""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexarm.arguments import (
    WithUnit,
    require_count,
    require_kind,
    require_mapping,
    require_numbers,
    require_positive,
    require_word,
)
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.check.report import axis_place
from flexarm.control.statics import rigid_motions
from flexarm.control.trajectory import Timing, joint_move
from flexarm.errors import FlexarmError, PlanRefused
from flexarm.figures import COLOURS, drawable, panels
from flexarm.integrate.actuators import servos
from flexarm.integrate.batch.many import simulate_many
from flexarm.integrate.simulate import simulate_whole
from flexarm.io.model_file import change_arm, read_value, validated
from flexarm.linear.tangent import OperatingPoint
from flexarm.mechanics.loads import hub_row, motor_row
from flexarm.model import build
from flexarm.planning.constants import (
    COMPARED_RTOL,
    DURATION_ACCURACY,
    EFFORT_POINTS,
    FIRST_EFFORT_SHARE,
    GOAL_MISS,
    HOPELESS_EFFORT,
    INTERVAL_PARTS,
    LEAST_INPUT_SCALE,
    LIMIT_TIGHTENINGS,
    NEAR_MISS,
    PAYLOAD_ERROR,
    SHORTER_FACTOR,
    STIFFNESS_ERROR,
    TOLERATED_SHARE,
    TOLERATED_VIBRATION,
    VERIFYING_RTOL,
    VERIFYING_SAMPLES,
)
from flexarm.planning.problem import (
    METHOD,
    Inputs,
    Joining,
    Limits,
    MotionProblem,
    largest_inputs,
    list_limits,
    require_clear,
    require_rest,
)
from flexarm.planning.program import Iterate, NonlinearProgram
from flexarm.planning.vibrations import vibrations
from flexarm.runs.contents import input_units
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STIFF = ("EIy", "EIz", "GJ", "EA", "E", "G")


@dataclass(frozen=True)
class Variation:
    """Residual vibration after the planned inputs if one parameter of the arm is different."""

    name: str  # name and relative change of the varied parameter
    residual: float  # vibration of the tip after the motion's end [m]


def variations(arm: Arm, run: Run, duration: float) -> tuple[Variation, ...]:
    """Return residual vibrations after a run's inputs for varied payload and stiffness."""
    listed: dict[str, dict[str, Any]] = {}
    if arm.payload is not None and arm.payload.mass:
        for share in (-PAYLOAD_ERROR, PAYLOAD_ERROR):
            mass = {"payload.mass": (1 + share) * arm.payload.mass}
            listed[f"payload {share:+.0%}"] = mass
    for share in (-STIFFNESS_ERROR, STIFFNESS_ERROR):
        listed[f"stiffness {share:+.0%}"] = _stiffnesses(arm, 1 + share)
    runs = simulate_many(
        arm, t_end=float(run.t[-1]), dt=duration / 200, rtol=COMPARED_RTOL, method=METHOD,
        parameters=list(listed.values()),
    )  # fmt: skip
    pairs = zip(listed, runs, strict=True)
    return tuple(Variation(name, varied.settling(duration).swing) for name, varied in pairs)


def _stiffnesses(arm: Arm, factor: float) -> dict[str, Any]:
    """Return the stiffnesses of all sections and drives times a factor, by model-file key."""
    changed: dict[str, Any] = {}
    for k in range(1, len(arm.links) + 1):
        places = [f"links.{k}.section.{name}" for name in STIFF]
        places += [f"links.{k}.section.material.{name}" for name in STIFF]
        for place in [*places, f"links.{k}.joint.drive.stiffness"]:
            try:
                value = read_value(arm, place)
            except FlexarmError:
                continue
            if isinstance(value, int | float):
                changed[place] = factor * value
    return changed


Aim = Literal["time", "energy"]
ANYWAY = Limits()  # the limits of the model file


@dataclass(frozen=True, repr=False)
class Plan(Summarised):
    """A planned and simulated rest-to-rest motion.

    Attributes
    ----------
    arm
        The arm with the planned inputs as tables of the model file, for `flexarm.save` and
        `flexarm.simulate`. If the arm has servos, they follow the planned motion, with the inputs
        as feedforward.
    aim
        Minimised objective: ``time`` (duration) or ``energy`` (integral of the squared inputs).
    duration
        Duration of the motion [s].
    times, u
        Times [s] at the boundaries of the input intervals, (T,), and the inputs there, (T, k).
    run
        Simulation of the motion and of one more period of the slowest vibration. The relative
        tolerance is 1e-8, or, because of rounding, 1e-5 if the motion has hundreds of periods of
        the fastest vibration.
    unshaped
        Simulation of a motion for comparison, in which the joints follow cycloids of the same
        duration exactly.
    residual, unshaped_residual
        Vibration amplitude of the tip [m] after the planned and after the unshaped motion.
    tolerated
        Tip vibration that ``tolerance`` and ``atol`` allow [m]; a larger one causes a warning.
    miss
        Largest deviation of a coordinate or rate from rest at the goal, relative to its range.
    margins
        Largest value of each limited quantity, divided by its limit, by name.
    fastest
        Period of the arm's fastest vibration [s]; intervals may be longer.
    iterations, cpu_seconds
        Number of iterations and CPU time [s] of the search.
    """

    arm: Arm
    aim: Aim
    duration: float
    times: Array
    u: Array
    run: Run
    unshaped: Run
    residual: float
    unshaped_residual: float
    tolerated: float
    miss: float
    margins: dict[str, float]
    fastest: float
    iterations: int
    cpu_seconds: float

    def _summary(self) -> Summary:
        interval = float(self.times[1] - self.times[0])
        over = self.residual > self.tolerated
        units = input_units(self.run.model)
        largest = zip(units.items(), np.abs(self.u).max(axis=0), strict=True)
        lines = (
            f"takes {self.duration:.6g} s; afterwards the tip vibrates by "
            f"{1e3 * self.residual:.3g} mm, that of the unshaped motion by "
            f"{1e3 * self.unshaped_residual:.3g} mm"
            + f"; {1e3 * self.tolerated:.3g} mm are tolerated"
            * over,
            f"largest inputs: {', '.join(f'{name} {u:.4g} {unit}' for (name, unit), u in largest)}",
            f"intervals of {interval:.4g} s; the fastest vibration has a period of "
            f"{self.fastest:.4g} s",
            f"{self.iterations} iterations, {self.cpu_seconds:.3g} s of CPU",
        )
        rows = [(name, f"{100 * share:.3g} %") for name, share in self.margins.items()]
        title = f"Plan of {self.arm.name}, least {self.aim}"
        return Summary(title, lines, ("limit", "used"), rows)

    @cached_property
    def robustness(self) -> tuple[Variation, ...]:
        """Residual vibrations after the planned inputs for varied payload and stiffness."""
        return variations(self.arm, self.run, self.duration)

    def plot(self) -> "Figure":
        """Draw the inputs and the distance of the tip from its final position over time.

        The distance is shown for the planned and for the unshaped motion.
        """
        return plot_plan(self.run, self.unshaped, self.duration)


@one_blas_thread
def plan(
    arm: Arm,
    to: Mapping[str, WithUnit],
    *,
    aim: Aim = "energy",
    duration: WithUnit | None = None,
    start: Mapping[str, WithUnit] | None = None,
    limits: Limits = ANYWAY,
    intervals: int = 20,
    joining: Joining = "cubic",
    tolerance: float = TOLERATED_VIBRATION,
    atol: WithUnit | None = None,
) -> Plan:
    """Plan a rest-to-rest motion without residual vibration, and verify it by simulation.

    Parameters
    ----------
    arm
        The arm. Brakes, inputs and events of the arm are ignored, since the planned inputs drive
        the arm. Servos are ignored in the search, and follow the planned motion in `Plan.arm`.
    to
        Final positions of driven joints by name [rad], [m]; joints without a value end where they
        start.
    aim
        ``energy`` minimises the integral of the squared inputs for a given duration, ``time``
        minimises the duration.
    duration
        Duration [s]; with the aim ``time``, a feasible duration from which the search begins.
    start
        Initial positions of driven joints by name; if None, the arm's start.
    limits
        Limits of the motion; effort and speed limits that are None are taken from the model file.
    intervals
        Number of intervals of the inputs. Intervals may be longer than the periods of fast
        vibrations.
    joining
        ``cubic``: inputs are cubic splines, smooth at both ends. ``hold``: inputs are constant in
        each interval, as from a digital controller, which suits the aim ``time`` best.
    tolerance
        Tolerated vibration of the tip, relative to that of the unshaped motion; a larger one causes
        a warning.
    atol
        Vibration amplitude of the tip that is always tolerated [m]; if None, 1e-5 times the arm's
        reach.

    Returns
    -------
    Plan
        The motion and its simulation.

    Raises
    ------
    PlanRefused
        If no motion is found that reaches the goal within the limits in the verifying simulation.
        The exception's attribute ``plan`` is the best motion found.
    FlexarmError
        If an argument is invalid.
    """
    begun = time.process_time()
    require_positive("tolerance", tolerance)
    anyway = 0.0 if atol is None else require_positive("atol", atol, unit="m")
    problem, program, first = _pose(arm, to, aim, duration, start, limits, intervals, joining)
    anyway = anyway or TOLERATED_SHARE * problem.model.reach
    fast = vibrations(problem.tangent, {}).frequency
    if not len(fast):
        raise FlexarmError(
            "arm: nothing in this arm vibrates. A plan is for arms that bend or wind up."
        )
    after = 2 * np.pi / float(fast[0])

    def finished(judged: _Judged) -> Plan:
        return _finished(arm, program, aim, judged, tolerance, anyway, begun)

    def arrives_without_friction() -> bool:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                plan(
                    problem.frictionless, to, aim="energy", duration=first.duration, limits=limits,
                    intervals=intervals, joining=joining, tolerance=tolerance, atol=anyway,
                )  # fmt: skip
        except (FlexarmError, UserWarning):
            return False
        return True

    def cause() -> str:
        """Return a sentence on Coulomb friction if it is the cause of a failure."""
        if not problem.friction or not arrives_without_friction():
            return ""
        listed = ", ".join(f"{name} ({force})" for name, force in problem.friction.items())
        return (
            f" Coulomb friction is the cause, of {listed}: without it the motion arrives. Plan "
            "without it, and let a servo work against it."
        )

    try:
        judged = _within_limits(program, first, after)
        if aim == "time":
            judged = _shortest(program, judged)
        result = finished(judged)
        require_clear(arm, problem.arm, result.run)
    except PlanRefused as refused:
        message = PlanRefused(f"{refused}{cause()}")
        if isinstance(refused.motion, Iterate):
            refused.motion = _verify(program, refused.motion, after, 0)
        motion = judged if refused.motion is None else refused.motion
        message.plan = finished(motion) if motion.run.status == "finished" else None
        raise message from None
    left, tolerated = result.residual, result.tolerated
    if left > tolerated:
        share, size = (
            float(f"{1.05 * motion:.1e}") for motion in (left / result.unshaped_residual, left)
        )
        warnings.warn(
            f"plan: the tip vibrates by {left:.3g} m afterwards, more than the {tolerated:.2g} m "
            f"tolerated.{cause()} Take a longer duration or other intervals, or allow it: "
            f"tolerance={share:g} (--tolerance {share:g}), or atol={size:g} (--atol {size:g}).",
            stacklevel=2,
        )
    return result


def _finished(
    arm: Arm, program: NonlinearProgram, aim: Aim, judged: "_Judged", tolerance: float,
    anyway: float, begun: float,
) -> Plan:  # fmt: skip
    """Return a verified motion as a `Plan`, with an unshaped motion; arguments as for `plan`."""
    problem, inputs, iterate, run = program.problem, program.inputs, judged.found, judged.run
    unshaped = _unshaped(problem, iterate.duration, float(run.t[-1]))
    before, left = (motion.settling(iterate.duration).swing for motion in (unshaped, run))
    tolerated = max(tolerance * before, anyway)
    planned = problem.profiles(inputs, iterate.values, iterate.duration)
    keys = {axis.name: f"{axis_place(axis)}.input" for axis in problem.model.axes}
    shown = np.linspace(0.0, iterate.duration, inputs.intervals + 1)
    tables = [np.array(planned[name]["values"]) for name in problem.names]
    u = np.array([motion[:: inputs.fine][: len(shown)] for motion in tables]).T
    changes = {keys[name]: motion for name, motion in planned.items()}
    return Plan(
        change_arm(problem.arm, changes | _following(arm, problem, run, iterate.duration)),
        aim, iterate.duration, shown, u, run, unshaped, left, before, tolerated, judged.miss,
        judged.margins, 2 * np.pi / problem.fastest, judged.count, time.process_time() - begun,
    )  # fmt: skip


def _following(arm: Arm, problem: MotionProblem, run: Run, duration: float) -> dict[str, Any]:
    """Return the servos of an arm with the motion of a run as targets, by model file key."""
    model, changes = build(arm), dict[str, Any]()
    for servo in servos(model):
        axis = next(axis for axis in model.axes if axis.name == servo.name)
        data = servo.servo.model_dump(exclude_unset=True, mode="json")
        follows = "target" if servo.servo.rate is None else "rate"
        states = run.q if follows == "target" else run.v
        row = motor_row(problem.model, axis) if servo.servo.side == "motor" else (
            hub_row(problem.model, axis)
        )  # fmt: skip
        moving = run.t <= duration
        t, values = run.t[moving], (states @ row)[moving]
        # The last values repeat, so that the target stays at its final position.
        data[follows] = {
            "kind": "table", "interpolation": "cubic",
            "times": [*t.tolist(), *(duration + share * duration for share in (0.1, 0.2, 0.3))],
            "values": [*values.tolist(), *[values[-1]] * 3],
        }  # fmt: skip
        changes[f"{axis_place(axis)}.servo"] = data
    return changes


def _pose(
    arm: Arm, to: Mapping[str, WithUnit], aim: Aim, duration: WithUnit | None,
    start: Mapping[str, WithUnit] | None, limits: Limits, intervals: int, joining: Joining,
) -> tuple[MotionProblem, NonlinearProgram, Iterate]:  # fmt: skip
    """Build the motion problem, the nonlinear program and an initial guess.

    Arguments are as for `plan`, and are validated here.
    """
    arm = validated(arm)
    require_mapping("to", to, "positions of driven joints by name", optional=False)
    require_word("aim", aim, ("time", "energy"))
    require_word("joining", joining, ("cubic", "hold"))
    require_kind("limits", limits, Limits, "Limits, such as Limits(effort=2.0)")
    require_count("intervals", intervals, 8, most=1000)
    if duration is not None:
        duration = require_positive("duration", duration, unit="s")
    model = build(arm)
    expected, units = "positions of driven joints by name", model.axis_units
    to, places = (
        require_numbers(k, x, expected, units=units) for k, x in (("to", to), ("start", start))
    )
    problem = MotionProblem.of(arm, to, places)
    require_rest(model, problem.start)
    most = largest_inputs(problem.model, limits, problem.names)
    if duration is None and (aim == "energy" or not np.all(np.isfinite(most))):
        raise FlexarmError(
            "duration: must be given, unless the aim is time and every input has a limit "
            "(limits.effort of the model file, or Limits(effort=...))"
        )
    _require_holds(problem, most)
    listed = list_limits(problem, limits)
    inputs = Inputs(joining, intervals, INTERVAL_PARTS)
    length = duration or _first_duration(problem, to, places, most)
    values = _rigid_inputs(problem, to, places, length, inputs.shares)
    _require_effort(problem, values, most, length)
    values = np.clip(values, -most, most)
    for ends, holding in zip(inputs.fixed, problem.holds, strict=True):
        values[ends] = holding
    sizes = np.where(np.isfinite(most), most, np.abs(values).max())
    spread = np.abs(values).max(axis=0) / sizes
    spread = np.maximum(spread, LEAST_INPUT_SCALE * spread.max())
    program = NonlinearProgram(problem, inputs, listed, most, sizes, spread)
    first = program.simulate(values, length)
    if not np.isfinite(first.miss):
        raise FlexarmError(
            f"duration: the first guess, the rigid arm's motion in {length:.4g} s, cannot be "
            f"simulated ({first.run.reason}). Take a longer duration."
        )
    return problem, program, first


def _rigid_inputs(
    problem: MotionProblem, to: Mapping[str, float], start: Mapping[str, float], length: float,
    shares: Array,
) -> Array:  # fmt: skip
    """Return the rigid arm's inputs in a smooth motion that lasts ``length`` seconds, (T, k).

    The inputs are evaluated at the fractions ``shares`` of the duration.
    """
    move = joint_move(problem.model, to, Timing("quintic", 1.0), start=start)
    q, v, a = move.at(np.minimum(shares, 1.0 - 1e-12))
    still = np.zeros(len(problem.names))
    force = problem.tangent.force(OperatingPoint(q, v / length, still), a / length**2)
    moving = rigid_motions(problem.model)[:, [axis.driven for axis in problem.model.axes]]
    weak = np.linalg.pinv(moving.T @ problem.tangent.inputs)
    return np.asarray(force @ moving @ weak.T)


def _first_duration(
    problem: MotionProblem, to: Mapping[str, float], start: Mapping[str, float], most: Array
) -> float:
    """Return a duration [s] for which a smooth motion of the rigid arm needs moderate inputs.

    The effort that holds the arm is subtracted from the available effort.
    """
    shares, length = np.linspace(0.0, 1.0, EFFORT_POINTS), 1.0
    holding = _rigid_inputs(problem, to, start, np.inf, shares)
    left = most - np.abs(holding)
    if np.any(left <= 0):
        raise FlexarmError(
            "duration: must be given. No duration can be computed, since holding the arm still on "
            f"its path takes {float((np.abs(holding) / most).max()):.3g} times the largest input "
            "that the limits allow."
        )
    for _ in range(60):
        moving = _rigid_inputs(problem, to, start, length, shares) - holding
        shorter = np.sqrt(float((np.abs(moving) / left).max()) / FIRST_EFFORT_SHARE)
        length *= float(np.clip(shorter, 0.5, 2.0))
        if abs(shorter - 1) < 0.05:
            break
    return length


def _require_holds(problem: MotionProblem, most: Array) -> None:
    """Raise an error if the inputs that hold the arm at start or goal exceed their limits."""
    for where, holds in zip(("start", "to"), np.abs(problem.holds), strict=True):
        for name, effort, limit in zip(problem.names, holds, most, strict=True):
            if effort >= limit:
                raise FlexarmError(
                    f"{where}: {name} cannot hold the arm at this position. That takes an input "
                    f"of {effort:.4g}, and the limit is {limit:.4g}. Allow more effort, or choose "
                    "another position."
                )


def _require_effort(problem: MotionProblem, values: Array, most: Array, length: float) -> None:
    """Raise an error if even the rigid arm needs over five times an input limit for the motion.

    ``values`` are the inputs of the rigid arm in a motion of ``length`` seconds, ``most`` their
    limits.
    """
    needed = np.abs(values).max(axis=0)
    worst = int(np.argmax(needed / most))
    over = float(needed[worst] / most[worst])
    if over > HOPELESS_EFFORT:
        raise FlexarmError(
            f"effort: must be at least {needed[worst]:.3g} for {problem.names[worst]} to move "
            f"the rigid arm there in {length:.4g} s, got {most[worst]:.3g}. Allow more effort, "
            f"or take a longer duration, such as {1.1 * length * np.sqrt(over):.2g} s."
        )


@dataclass(frozen=True)
class _Judged:
    """A planned motion with the simulation that verifies it."""

    found: Iterate  # the motion
    run: Run  # simulation of the motion at a tight tolerance with many samples
    after: float  # time that is simulated after the motion's end [s]
    miss: float  # distance from rest at the goal, relative to the ranges of coordinates and rates
    # largest value divided by the limit, for each limited quantity except inputs
    used: tuple[float, ...]
    # largest value divided by the limit, by name of the limited quantity, inputs first
    margins: dict[str, float]
    count: int  # number of iterations


def _judge(program: NonlinearProgram, plan: Iterate, after: float, count: int) -> _Judged:
    """Return a motion with the simulation at a tight tolerance that verifies it.

    Raise an error if the simulation stops early or misses the goal.
    """
    judged = _verify(program, plan, after, count)
    if judged.miss > NEAR_MISS:
        run, tight = judged.run, program.problem.tolerance(VERIFYING_RTOL, plan.duration)
        failure = (
            f"it misses its goal by {judged.miss:.1e} of its way"
            if run.status == "finished"
            else run.reason
        )
        raise _refused(
            f"the planned motion is refused. Simulated at a tolerance of {tight:g}, "
            f"{failure}. Take a longer duration or more intervals.",
            judged,
        )
    return judged


def _refused(message: str, judged: _Judged) -> PlanRefused:
    error = PlanRefused(message)
    error.motion = judged
    return error


def _verify(program: NonlinearProgram, plan: Iterate, after: float, count: int) -> _Judged:
    """Simulate a motion at a tight tolerance, and compare it with goal and limits."""
    problem, row = program.problem, 2 * VERIFYING_SAMPLES * program.inputs.steps
    run = problem.simulate(
        program.inputs,
        plan.values,
        plan.duration,
        rtol=VERIFYING_RTOL,
        after=after,
        finer=VERIFYING_SAMPLES,
    )
    miss = program.miss(run, row) if run.status == "finished" else np.inf
    used = tuple(limit.peak(run.q, run.v, run.u) for limit in program.limits)
    efforts = np.abs(run.u).max(axis=0) / program.most
    margins = {
        f"effort of {name}": float(share)
        for name, share, top in zip(problem.names, efforts, program.most, strict=True)
        if np.isfinite(top)
    }
    names = (limit.name for limit in program.limits)
    return _Judged(
        plan, run, after, miss, used, margins | dict(zip(names, used, strict=True)), count
    )


def _within_limits(program: NonlinearProgram, first: Iterate, after: float) -> _Judged:
    """Return the optimal motion that satisfies all limits also between samples.

    Limits are tightened and the optimisation repeated while peaks between samples exceed the
    limits.
    """
    total = 0
    for _ in range(LIMIT_TIGHTENINGS):
        iterate, count = program.solve(first)
        total += count
        judged = _judge(program, iterate, after, total)
        if max(judged.used, default=0.0) <= 1.0:
            return judged
        pairs = zip(program.limits, judged.used, strict=True)
        tighter = tuple(limit.tightened(peak) for limit, peak in pairs)
        program, first = replace(program, limits=tighter), iterate
    worst = int(np.argmax(judged.used))
    raise _refused(
        "limits: the planned motion is refused. In a simulation the "
        f"{program.limits[worst].name} is {judged.used[worst]:.4g} times its limit. Take a "
        "longer duration or more intervals.",
        judged,
    )


def _shortest(program: NonlinearProgram, judged: _Judged) -> _Judged:
    """Return the motion of the shortest feasible duration, found by bisection."""
    low, factor, total = 0.0, SHORTER_FACTOR, judged.count
    while judged.found.duration - low > DURATION_ACCURACY * judged.found.duration:
        now = judged.found
        length = max(factor * now.duration, (low + now.duration) / 2)
        tried = program.simulate(now.values, length)
        try:
            if not np.isfinite(tried.miss):
                raise FlexarmError("the motion cannot be simulated")
            better = _within_limits(program, tried, judged.after)
            total += better.count
            if better.found.miss > GOAL_MISS:
                raise FlexarmError("the motion does not reach its target")
            judged = better
        except FlexarmError:
            low = length
    return replace(judged, count=total)


def _unshaped(problem: MotionProblem, duration: float, t_end: float) -> Run:
    """Return the run of a comparison motion whose joints follow cycloids exactly."""
    changes: dict[str, Any] = {}
    for axis in problem.model.axes:
        if axis.driven:
            place = axis.index if axis.motor is None else axis.motor
            ends = (float(problem.start[place]), float(problem.goal[place]))
            key = axis_place(axis)
            changes[f"{key}.actuation"] = "prescribed"
            changes[f"{key}.start"] = None
            changes[f"{key}.motion"] = {
                "kind": "cycloid", "start": ends[0], "end": ends[1], "duration": duration,
            }  # fmt: skip
    # Default shape functions depend on the joints' actuation, so that initial amplitudes for other
    # shapes have no meaning here.
    for k, link in enumerate(problem.arm.links):
        if link.start:
            changes[f"links.{k + 1}.start"] = None
    # Friction has no effect on a prescribed motion, and models do not accept it there.
    prescribed = change_arm(problem.frictionless, changes)
    bent = np.any(np.delete(problem.start, [axis.index for axis in problem.model.axes]))
    return simulate_whole(
        prescribed,
        t_end=t_end,
        dt=duration / 200,
        rtol=problem.tolerance(COMPARED_RTOL, t_end),
        method=METHOD,
        start="equilibrium" if bent else "stated",
    )


def plot_plan(run: Run, unshaped: Run, duration: float) -> "Figure":
    """Draw a plan's inputs, and the tip's distance from its final position.

    The distance is shown for the planned and for the unshaped motion.
    """
    figure, ((above,), (below,)) = panels((9, 6), 2, shared="x")
    names = [axis.name for axis in run.model.axes if axis.driven]
    for k, name in enumerate(names):
        above.plot(run.t, run.u[:, k], color=COLOURS[k % len(COLOURS)], label=drawable(name))
    above.set_ylabel("inputs")
    above.legend(frameon=False)
    for k, (motion, label) in enumerate(((unshaped, "unshaped"), (run, "planned"))):
        away = np.linalg.norm(motion.tip - motion.tip[motion.t >= duration].mean(axis=0), axis=1)
        below.semilogy(motion.t, np.maximum(away, 1e-9), color=COLOURS[k], label=label)
    below.axvline(duration, color="#6d7884", linewidth=0.8, linestyle=":")
    below.set(xlabel="t [s]", ylabel="tip from its final place [m]", xlim=(0, run.t[-1]))
    below.legend(frameon=False)
    return figure
