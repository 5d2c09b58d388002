"""Simulate an arm: from its model file to a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial, wraps
from typing import Any, Literal, ParamSpec

import casadi as ca
import numpy as np

from flexarm.arguments import (
    FormulationName,
    MethodName,
    WithUnit,
    in_unit,
    is_word,
    refused,
    require_flag,
    shown,
)
from flexarm.arm import Arm
from flexarm.arm.arm import STARTS
from flexarm.errors import SimulationError
from flexarm.formulations import DEFAULT, FORMULATIONS
from flexarm.integrate.choice.choose import choose
from flexarm.integrate.choice.drift import closer_because, solve_until_kept
from flexarm.integrate.choice.effort import (
    by_count,
    consider,
    leg_method,
    preparation,
    solution,
    with_legs,
)
from flexarm.integrate.choice.halving import rotations_between, solve_in_equal_steps
from flexarm.integrate.kept import run_of
from flexarm.integrate.laws import Sampled, refuse_control
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.base import Method
from flexarm.integrate.mission.course import Course
from flexarm.integrate.mission.legs import (
    after,
    first_state,
    joined,
    leg_task,
    of_model,
    pending_events,
)
from flexarm.integrate.mission.locks import LockedPhase, Locks, legs, lock
from flexarm.integrate.mission.wrenches import StateWrench, acting_on, refuse_laws, told
from flexarm.integrate.options import (
    CLOSER,
    MOST_SAMPLES,
    TIGHTEST,
    refuse_kinds,
    refuse_options,
    seconds,
)
from flexarm.integrate.problem import (
    channels,
    read_inputs,
    refuse_short_tables,
)
from flexarm.integrate.sampling import sample_times, thin
from flexarm.integrate.solve import Solution, interruption, solve
from flexarm.integrate.system import instant
from flexarm.integrate.task import Task, equation_of
from flexarm.interrupts import finish, signals_interrupt
from flexarm.io.model_file import validated
from flexarm.linear.equilibrium import Equilibrium
from flexarm.links.base import Array
from flexarm.model import Model, TipRotation, build, start_state
from flexarm.runs.curves import curves_of, split
from flexarm.runs.run import Run

P = ParamSpec("P")

AUDIT = 1e-8  # of the energy exchanged: an audit's balance
CHEAP = 0.1  # seconds, by its operations: what a run may take to be run once more, closely


def simulate(
    arm: Arm,
    *,
    t_end: WithUnit,
    dt: WithUnit | None = None,
    method: MethodName | str = "auto",
    rtol: WithUnit = 1e-3,
    step: WithUnit | None = None,
    formulation: FormulationName | str = DEFAULT,
    paper: bool = False,
    tip_rotation: TipRotation = "cayley",
    nodes: int | None = None,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    wrenches: Sequence[StateWrench] | None = None,
    locks: Locks | None = None,
    start: Run | Equilibrium | Literal["stated", "equilibrium"] | None = None,
    energy_audit: bool = False,
    allow_long: bool = False,
    progress: Callable[[float], None] | None = None,
    live: Callable[[Callable[[], Run]], None] | None = None,
) -> Run:
    """Simulate an arm from its initial state.

    Parameters
    ----------
    arm
        The arm.
    t_end
        Duration [s].
    dt
        Interval of the samples that are kept [s].  If None, a 500th of the duration, or a half, a
        quarter or an eighth of that where lines through the samples would miss more than a
        hundredth of what vibrates.  Steps do not depend on it, but for ``rk4``, whose steps end at
        samples.
    method
        ``etd4``, ``dop853``, ``rodas4``, ``rk4``, or ``auto`` to have one chosen.
    rtol
        Error that is allowed, of the deflections' range over the run; of joints, rates, tip and
        works likewise (docs/simulate.md).
    step
        Step [s] of ``rk4``; chosen by the arm's fastest mode if None.
    formulation, paper
        How the equation is obtained, and whether with the approximations of its paper: as for
        `flexarm.formulation`.
    tip_rotation, nodes
        As for `flexarm.build`.
    inputs
        By joint, in place of those of the model file: a number, or a profile as in a model file.
    control
        In place of all inputs of the model file: a CasADi function (t, q, v) to u, which becomes
        part of the compiled equations, or a `Sampled` Python function.
    wrenches
        Beside those of the model file: forces and torques that follow time and state.  The run's
        arm has them as tables of what they were at the samples.
    locks
        By joint: intervals of time ``(begin, end)`` [s] in which it is held where it is.  A joint
        that moves when it is locked is stopped at once, and the energy this takes counts as
        dissipated.  Times that differ by rounding, 1e-12 of them, are one instant.
    start
        Where to begin, at time 0.  A run: at its end, with states of servos and drive trains.  An
        `Equilibrium`.  ``equilibrium``: where nothing accelerates, joints at their speeds, servos
        and inputs balancing the loads.  ``stated``: where the model file puts joints and links.  If
        None, what its ``start`` says, ``stated`` if nothing.
    energy_audit
        Step so closely that the energy balance closes to 1e-8, whatever ``rtol``; if it does not,
        by a method that was asked for, the run's ``reason`` says so.
    allow_long
        Whether to run what is estimated to take more than an hour of CPU or 4 GB.
    progress
        Called with the time reached [s].
    live
        Called some 20 times a second with a function that gives the run so far, of status
        ``running``: `flexarm.runs.write.LiveFile` keeps that in a file.

    Returns
    -------
    Run
        The motion as far as it was computed; ``status`` says whether it ``finished``, ``stopped``
        or was ``interrupted`` by Ctrl-C, SIGTERM or SIGHUP, also while a later leg was compiled.

    Raises
    ------
    SimulationError
        If it cannot begin, the formulation refuses the arm, or it would take too long.

    Warns
    -----
    LongRun
        If it will take more than a minute of CPU, with what to change.
    """
    t_end, dt, step = seconds(t_end=t_end, dt=dt, step=step)
    tolerance = in_unit("rtol", rtol, "1", SimulationError)
    refuse(arm, t_end=t_end, dt=dt, method=method, rtol=tolerance, step=step,
           formulation=formulation, paper=paper)  # fmt: skip
    refuse_kinds(
        inputs=inputs, locks=locks, energy_audit=energy_audit, progress=progress, live=live
    )
    refuse_control(control, inputs, t_end)
    t_end, dt, rtol = float(t_end), None if dt is None else float(dt), float(tolerance)
    arm, acting = acting_on(validated(arm), wrenches)
    times = sample_times(t_end, dt)
    consider([preparation(arm, len(times))], allow_long=allow_long)
    model = build(arm, tip_rotation=tip_rotation, nodes=nodes)
    model = equation_of(model, name=formulation, paper=paper).model
    if locks and control is not None:
        raise SimulationError("locks: cannot be had together with a control law")
    refuse_laws(acting, model)
    wanted = min(rtol, AUDIT) if energy_audit else rtol
    if locks:
        refuse_inputs(model, inputs, legs(model, locks, t_end))
    law = control if isinstance(control, Sampled) else None
    period = None if law is None else law.period
    course = Course(model, locks or {}, t_end,
                    lambda model: equation_of(model, name=formulation, paper=paper))  # fmt: skip
    if law is not None and not course.single:
        raise SimulationError(
            "control: a Sampled law cannot be had together with events, dry friction and brakes "
            "that slip: write it as a CasADi function"
        )
    begins = arm.start if start is None else start
    if not isinstance(begins, Run | Equilibrium) and not is_word(begins, STARTS):
        expected = "a Run, such as flexarm.load_run(path), an Equilibrium, 'equilibrium', 'stated'"
        raise refused("start", start, expected, SimulationError)
    state = first_state(course, begins, inputs, control)
    ready = partial(
        leg_task, course, times=times, inputs=inputs, control=control, wanted=wanted, acting=acting
    )
    task = first = ready(state)
    period = refuse_ticks(task, t_end) if control is None else period
    automatic, tolerance = method == "auto", wanted
    if automatic:
        chosen, why = choose(task, wanted, audit=energy_audit, period=period)
    else:
        chosen, why = METHODS[method], "asked for"
    refuse_states(chosen, task)
    finer = task.parts(chosen, wanted, step) if dt is None else 1
    curves = curves_of(model, task.q)
    effort = solution(task, chosen, wanted, duration=t_end, step=step, period=period)
    consider([with_legs(effort, arm, course.foreseen_legs())], allow_long=allow_long)

    def kept(task: Task, before: Run | None, solution: Solution) -> Run:
        found = of_model(run_of(task, chosen, thin(solution, finer, curves), rtol, why), model)
        kept_to = step is None and not (found.status == "finished" and found.reason)
        found = replace(found, kept=kept_to, happenings=tuple(course.log))
        if not course.plain:
            found = replace(found, legs=(course.leg(task.equation.model),))
        return found if before is None else joined(before, found)

    others = set[str]()  # methods of legs that are not the chosen one

    def go(task: Task, before: Run | None) -> tuple[Run, Solution]:
        nonlocal chosen, why, tolerance
        task = replace(task, times=split(task.times, finer))
        whole = partial(kept, task, before)
        seen = None if live is None else lambda so_far: live(lambda: whole(so_far()))

        def solved(closeness: float) -> tuple[Run, Solution]:
            nonlocal chosen
            if closeness < tolerance:
                chosen = choose(task, closeness, audit=energy_audit, period=period)[0]
            by = leg_method(chosen, first, task, closeness) if automatic else chosen
            others.update({by.name} - {chosen.name})
            found = solve(task.beginning(by, closeness, step), progress, law, seen)
            return keep(whole, found)

        if chosen.adaptive or step is not None:
            asked, again = (chosen.name, tolerance), automatic and law is None
            run, found, tolerance = solve_until_kept(tolerance, solved, again=again)
            chosen = METHODS[run.method]
            why += closer_because(*asked, run, tolerance)
            once = course.single and law is None and step is None and run.status == "finished"
            tried = run.statistics.steps + run.statistics.rejections
            once = once and by_count(task, chosen, tried) <= CHEAP
            if once and tolerance / CLOSER >= TIGHTEST:
                closer = partial(closely, task, chosen, tolerance / CLOSER, run)
                run = replace(run, closer=closer)
            return run, found
        if law is not None:
            raise SimulationError(
                f"step: {chosen.name} needs one under a sampled law, which cannot be asked twice "
                "and so not be run again in smaller steps: give a step, or take another method"
            )
        return keep(whole, solve_in_equal_steps(task, chosen, wanted, progress, seen))

    with signals_interrupt():
        sought = [(state.t, course.sought(state.t))]
        run, found = go(task, None)
        motions = [task.motion]  # whose machine code later legs take again
        while found.ending.status in ("finished", "seen"):
            try:
                state = replace(state, **after(task, found, state))
                if t_end - state.t <= instant(t_end):
                    break
                if found.ending.status == "seen":
                    state = course.seen(found.seen, found.value, state)
                state = course.enter(state)
                over, task = course.situation.over, ready(state)
                if over:  # what it is after an impact, and what the tip holds, is the end
                    y = task.beginning(chosen, wanted, step).y
                    run = kept(task, run, Solution(task.times[:1], y[None], state.anchor[None]))
                    break
                motions.append(task.motion)
                sought.append((state.t, course.sought(state.t)))
                run, found = go(task, run)
            except SimulationError as error:
                reason = f"at t = {state.t:.6g} s: {error}"
                run = replace(run, status="stopped", reason=reason)
                break
            except KeyboardInterrupt as stop:
                run = replace(run, **asdict(interruption(stop, float(run.t[-1]))))
                break
        if others:
            why = f"{why}; {' and '.join(sorted(others))} where brakes hold what is stiff"
        status = "finished" if run.status == "seen" else run.status
        run = replace(run, happenings=tuple(course.log), why=why, status=status)

        def ended() -> Run:
            whole = told(replace(run, pending=pending_events(course, run, sought)), acting)
            return audited(whole) if energy_audit else whole

        whole, late = finish(ended)
        ending = {} if late is None else asdict(interruption(late, float(run.t[-1])))
        return replace(whole, **ending)


def _whole(simulated: Callable[P, Run]) -> Callable[P, Run]:
    """Return a function that raises the interrupt of a run again, for callers that need all."""

    @wraps(simulated)
    def whole(*args: P.args, **options: P.kwargs) -> Run:
        run = simulated(*args, **options)
        if run.status == "interrupted":
            raise KeyboardInterrupt(run.reason)
        return run

    return whole


simulate_whole = _whole(simulate)


def keep(whole: Callable[[Solution], Run], solution: Solution) -> tuple[Run, Solution]:
    """Return the run of a solution, and the solution; an interrupt meanwhile ends both."""
    run, late = finish(lambda: whole(solution))
    if late is None:
        return run, solution
    ending = interruption(late, float(solution.times[-1]))
    return replace(run, **asdict(ending)), replace(solution, ending=ending)


def refuse_ticks(task: Task, t_end: float) -> float | None:
    """Give the shortest period of a sampled servo [s], None if there is none.

    Raises
    ------
    SimulationError
        If it would be asked too often.
    """
    known = {each.name: each.servo.period for each in task.motion.actuators.servos}
    periods = {name: period for name, period in known.items() if period is not None}
    for name, period in periods.items():
        if t_end / period > MOST_SAMPLES:
            raise SimulationError(
                f"{name}: its servo's period of {period:g} s makes {t_end / period:.3g} samples, "
                f"more than {MOST_SAMPLES:.0e}: take a longer period or a shorter run"
            )
    return min(periods.values(), default=None)


def refuse_states(method: Method, task: Task) -> None:
    """Refuse a method that cannot solve for states of servos and drives."""
    if task.motion.actuators.states and not method.carries_states:
        others = ", ".join(each.name for each in METHODS.values() if each.carries_states)
        raise SimulationError(
            f"method {method.name} takes no servo with integral_time, bristles, hysteresis or "
            f"inductance: take auto, {others}"
        )


def refuse(
    arm: Arm,
    *,
    t_end: float,
    dt: float | None,
    method: str,
    rtol: float,
    step: float | None = None,
    formulation: FormulationName | str = DEFAULT,
    paper: bool = False,
) -> None:
    """Refuse what cannot be simulated, before anything is built."""
    if not isinstance(arm, Arm):
        raise refused(
            "arm", arm, "an Arm, such as flexarm.load(path) or flexarm.sample(name)",
            SimulationError,
        )  # fmt: skip
    if not isinstance(method, str) or (method != "auto" and method not in METHODS):
        raise SimulationError(f"no method {shown(method)}: there are auto, {', '.join(METHODS)}")
    if step is not None and (method == "auto" or METHODS[method].adaptive):
        raise SimulationError(f"step: is for method rk4, got {method}, which chooses its steps")
    if not isinstance(formulation, str) or formulation not in FORMULATIONS:
        listed = ", ".join(FORMULATIONS)
        raise SimulationError(f"no formulation '{formulation}': there are {listed}")
    require_flag("paper", paper, SimulationError)
    refuse_options(t_end=t_end, dt=dt, rtol=rtol, step=step)


def closely(task: Task, method: Method, wanted: float, run: Run) -> Array:
    """Solve a task at a smaller tolerance, and return the coordinates at a run's times, (T, n).

    Angles of attitudes are those of the run, and the rotation from its attitude.

    Parameters
    ----------
    task, method
        The motion and how it is solved.
    wanted
        The tolerance.
    run
        The run, whose times are among those that the task keeps.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted: a part of it says nothing of the rest.
    """
    solution = solve(task.beginning(method, wanted, None))
    if solution.ending.status == "interrupted":
        raise KeyboardInterrupt(solution.ending.reason)
    kept = np.searchsorted(task.times, run.t - instant(float(run.t[-1])))
    kept = np.minimum(kept, len(solution.times) - 1)  # where it ended, if it did so before the time
    q, anchors = solution.states[kept, : task.equation.model.size], solution.anchors[kept]
    for k, first in enumerate(task.equation.model.attitudes):
        rows, angles = slice(3 * k, 3 * k + 3), slice(first, first + 3)
        turned = rotations_between(
            run.anchors[:, rows], run.q[:, angles], anchors[:, rows], q[:, angles]
        )
        q[:, angles] = run.q[:, angles] + turned
    return np.asarray(q)


def audited(run: Run) -> Run:
    """Say so if the energy balance of a run that finished did not close as an audit asks."""
    if run.status != "finished" or run.energy_balance <= AUDIT:
        return run
    closed = f"the energy balance closed to {run.energy_balance:.1e}, not to {AUDIT:.0e}"
    return replace(run, reason=f"{closed}: take method 'auto', or a smaller rtol")


def refuse_inputs(
    model: Model, inputs: Mapping[str, Any] | None, parts: Sequence[LockedPhase]
) -> None:
    """Refuse inputs that cannot be read or end too soon, those of all legs before the first."""
    read = read_inputs(model, inputs or {})
    for leg in parts:
        groups = channels(lock(model, leg.locked), read, start_state(model)[0], {})
        refuse_short_tables([channel for group in groups for channel in group], leg.end)
