"""Simulation of an arm, from the model file to the run."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal

import casadi as ca
import numpy as np

from flexarm.accuracy.constants import REPEATED_SECONDS
from flexarm.arguments import FormulationName, MethodName, WithUnit
from flexarm.arm import Arm
from flexarm.errors import LongRun, SimulationError
from flexarm.formulations import DEFAULT
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import Acting, actuators_of
from flexarm.integrate.choice.choose import (
    by_count,
    choose,
    consider,
    phase_method,
    preparation,
    solution,
    with_phases,
)
from flexarm.integrate.choice.halving import difference, solve_in_equal_steps
from flexarm.integrate.constants import (
    AUDIT_BALANCE,
    CLOSER_FACTOR,
    DOUBTFUL_PHASE,
    DOUBTFUL_RATIO,
    MOST_INTERVAL_PARTS,
    ORDER_LOSS,
    TIGHTEST_RTOL,
)
from flexarm.integrate.drivetrain import holders
from flexarm.integrate.laws import Sampled
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.mission.discrete import LockedPhase, lock, locked_phases
from flexarm.integrate.mission.hybrid import HybridSimulation, after, pending_events, phase_problem
from flexarm.integrate.mission.starts import first_state
from flexarm.integrate.mission.wrenches import StateWrench, acting_on, record_wrenches, refuse_laws
from flexarm.integrate.options import DESCRIPTIONS, Locks, RunOptions
from flexarm.integrate.problem import channels, read_inputs, refuse_short_tables
from flexarm.integrate.results import joined, of_model, run_of
from flexarm.integrate.solve import Solution, interruption, new_state, solve
from flexarm.integrate.system import instant
from flexarm.integrate.task import (
    InitialValueProblem,
    State,
    equal_step,
    equation_of,
    prepare,
    sample_times,
)
from flexarm.interrupts import finish, signals_interrupt
from flexarm.io.model_file import validated
from flexarm.linear.equilibrium import Equilibrium
from flexarm.model import Model, TipRotation, build, start_state
from flexarm.model.numbers import numbers_of
from flexarm.runs.constants import CUBIC_ERROR, LINE_ERROR, MOST_SAMPLES, SAMPLES_PER_PERIOD
from flexarm.runs.curves import Curves, curves_of, off_cubics, off_lines, split
from flexarm.runs.data import Repetition, RunPhase
from flexarm.runs.run import Run
from flexarm.spatial import Array

Solved = tuple[Run, Solution]


def simulate(
    arm: Arm,
    *,
    t_end: WithUnit,
    dt: WithUnit | None = RunOptions.dt,
    method: MethodName | str = RunOptions.method,
    rtol: WithUnit = RunOptions.rtol,
    step: WithUnit | None = RunOptions.step,
    formulation: FormulationName | str = RunOptions.formulation,
    paper: bool = RunOptions.paper,
    tip_rotation: TipRotation = RunOptions.tip_rotation,
    nodes: int | None = RunOptions.nodes,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    wrenches: Sequence[StateWrench] | None = None,
    locks: Locks | None = None,
    start: Run | Equilibrium | Literal["stated", "equilibrium"] | None = None,
    energy_audit: bool = RunOptions.energy_audit,
    errors: Literal["auto", "computed", "estimated", "off"] = RunOptions.errors,
    allow_long: bool = RunOptions.allow_long,
    progress: Callable[[float], None] | None = None,
    live: Callable[[Callable[[], Run]], None] | None = None,
) -> Run:
    """Simulate an arm from its initial state.

    Parameters
    ----------
    arm
        The arm.
    options
        Options of the simulation: docs/options.md has a table of them.

    Returns
    -------
    Run
        Result of the simulation, up to the time that it reached. The ``status`` of the run is
        ``finished``, ``stopped``, or ``interrupted`` (by Ctrl-C, SIGTERM or SIGHUP, also during the
        compilation of a later phase).

    Raises
    ------
    SimulationError
        If the simulation cannot begin, the formulation does not support the arm, or the simulation
        would take too long.

    Warns
    -----
    LongRun
        If the simulation will take more than a minute of CPU time. The warning says what to change.
    """
    options = RunOptions.of(
        t_end=t_end, dt=dt, method=method, rtol=rtol, step=step, formulation=formulation,
        paper=paper, tip_rotation=tip_rotation, nodes=nodes, inputs=inputs, control=control,
        wrenches=wrenches, locks=locks, start=start, energy_audit=energy_audit,
        errors=errors, allow_long=allow_long, progress=progress, live=live,
    )  # fmt: skip
    return run_arm(arm, options)


simulate.__doc__ = (simulate.__doc__ or "").replace(
    "    options\n        Options of the simulation: docs/options.md has a table of them.",
    DESCRIPTIONS,
)


def run_arm(arm: Arm, options: RunOptions) -> Run:
    """Simulate an arm with options that are already checked."""
    arm, acting = validated(arm), tuple[Acting, ...]()
    if options.wrenches is not None:
        arm, acting = acting_on(arm, options.wrenches)
    times = sample_times(options.t_end, options.dt)
    consider([preparation(arm, len(times))], allow_long=options.allow_long)
    model = build(arm, tip_rotation=options.tip_rotation, nodes=options.nodes)
    equation = equation_of(model, name=options.formulation, paper=options.paper)
    return Simulation(equation, options, times, acting).run()


class Simulation:
    """A simulation of an arm in progress, phase by phase.

    Parameters
    ----------
    equation
        Equation of motion of the arm.
    options
        Options of the run.
    times
        Sample times [s].
    acting
        Wrenches computed from time and state, for each of which the arm has six unit wrenches.
    audited
        Whether the simulation is repeated if it may have missed the tolerance.

    Attributes
    ----------
    hybrid
        Hybrid simulation of events, brakes and locks; None for an arm without any of these.
    first
        Initial-value problem of the phase in which the method was chosen.
    method, why, tolerance
        Integration method, reason for its choice, and relative tolerance of the integration.

    Raises
    ------
    SimulationError
        If the run cannot begin, or would take too long.
    """

    def __init__(
        self,
        equation: Equation,
        options: RunOptions,
        times: Array,
        acting: tuple[Acting, ...],
        *,
        audited: bool = True,
    ) -> None:
        self.equation, self.options, self.times, self.acting = equation, options, times, acting
        self.audited = audited
        self.model, self.automatic = equation.model, options.method == "auto"
        if acting:
            refuse_laws(acting, self.model)
        self.law = options.control if isinstance(options.control, Sampled) else None
        self.hybrid = self._hybrid()
        start, law = options.start or self.model.arm.start, options.control is not None
        if self.hybrid is not None:
            self.state = self.hybrid.first(start, options.inputs, law=law)
        elif start == "stated":
            self.state = State(
                *start_state(self.model), reference_attitude=self.model.start_references
            )
            self.home = self.state.q
        else:
            self.state, self.home = first_state(self.model, start, options.inputs or {}, law=law)
        task = self.first = self._prepare(self.state)
        timed = law or task.motion.actuators.servos
        self.period = _shortest_period(task, options) if timed else None
        self.tolerance = options.tolerance
        self.method, self.why = self._choose(task, options.tolerance)
        if not self.method.carries_states:
            refuse_states(self.method, task)
        finer = options.dt is None
        self.parts = parts_of(task, self.method, self.tolerance, options.step) if finer else 1
        self.curves = curves_of(self.model, task.start.q)
        self.others = set[str]()  # methods of phases that are not the chosen one
        effort = solution(
            task, self.method, self.tolerance, duration=options.t_end, step=options.step,
            period=self.period,
        )  # fmt: skip
        if self.hybrid is not None:
            effort = with_phases(effort, self.model.arm, self.hybrid.expected_phases())
        consider([effort], allow_long=options.allow_long)

    def _hybrid(self) -> HybridSimulation | None:
        """Return the hybrid simulation of events, brakes and locks; None without any of these."""
        model, options, arm = self.model, self.options, self.model.arm
        if options.locks:
            refuse_inputs(model, options.inputs, locked_phases(model, options.locks, options.t_end))
        stick_slip = not model.driveless and holders(model)
        if not (options.locks or arm.events or arm.bodies or stick_slip):
            return None
        equation = partial(equation_of, name=options.formulation, paper=options.paper)
        hybrid = HybridSimulation(model, options.locks or {}, options.t_end, equation)
        if self.law is not None and not hybrid.single:
            raise SimulationError(
                "control: a Sampled law cannot be combined with events, dry friction or brakes "
                "that slip. Write the law as a CasADi function."
            )
        return hybrid

    def _prepare(self, state: State) -> InitialValueProblem:
        """Return the initial-value problem of the phase that begins at a given state."""
        options = self.options
        if self.hybrid is not None:
            return phase_problem(
                self.hybrid, state, self.times, inputs=options.inputs, control=options.control,
                rtol=options.tolerance, acting=self.acting,
            )  # fmt: skip
        turns = bool(self.model.attitudes)
        return prepare(
            self.model, self.times, inputs=options.inputs, control=options.control,
            equation=(
                self.equation.with_reference(state.reference_attitude) if turns else self.equation
            ),
            start=state,
            actuators=replace(actuators_of(self.model), wrenches=self.acting), home=self.home,
            rtol=options.tolerance,
        )  # fmt: skip

    def _choose(self, task: InitialValueProblem, tolerance: float) -> tuple[Method, str]:
        """Return the integration method of a phase, and the reason for its choice."""
        if not self.automatic:
            return METHODS[self.options.method], "asked for"
        return choose(task, tolerance, audit=self.options.energy_audit, period=self.period)

    def run(self) -> Run:
        """Integrate all phases, and return the run."""
        with signals_interrupt():
            run, solution = self._solve(self.first, None)
            if self.hybrid is not None:
                run = self._later_phases(self.hybrid, run, solution)
            if self.others:
                names = " and ".join(sorted(self.others))
                self.why += f"; {names} where brakes hold stiff joints"
            status = "finished" if run.status == "event" else run.status
            run = replace(run, why=self.why, status=status, judged=self.options.errors)
            run = self._repeatable(run)
            if self.hybrid is None and not self.acting and not self.options.energy_audit:
                return run
            finished, interrupt = finish(partial(self._finished, run))
            ending = {} if interrupt is None else asdict(interruption(interrupt, float(run.t[-1])))
            return replace(finished, **ending)

    def _later_phases(self, hybrid: HybridSimulation, run: Run, solution: Solution) -> Run:
        """Integrate the phases after the first, event by event, and return the run."""
        state, task, t_end = self.state, self.first, self.options.t_end
        armed = [(state.t, hybrid.armed(state.t))]
        motions = [task.motion]  # keeps machine code loaded, which later phases reuse
        while solution.ending.status in ("finished", "event"):
            try:
                state = after(task, solution)
                if t_end - state.t <= instant(t_end):
                    break
                if solution.ending.status == "event":
                    state = hybrid.triggered(solution.events, solution.value, state)
                state = hybrid.enter(state)
                motion = np.ptp(solution.states[:, : 2 * self.model.size], axis=0)
                motionless = len(solution.times) > 1 and not np.any(motion)
                run_over, task = hybrid.discrete.over, self._prepare(state)
                if run_over:  # the run ends with the state after the impact
                    final_state = Solution(
                        task.times[:1], task.state[None], state.reference_attitude[None]
                    )
                    run = self._run_of(task, run, final_state)
                    break
                if motionless and self.automatic:  # without motion, all methods are equal
                    self.first, (self.method, self.why) = task, self._choose(task, self.tolerance)
                motions.append(task.motion)
                armed.append((state.t, hybrid.armed(state.t)))
                run, solution = self._solve(task, run)
            except SimulationError as error:
                reason = f"at t = {state.t:.6g} s: {error}"
                run = replace(run, status="stopped", reason=reason)
                break
            except KeyboardInterrupt as interrupt:
                run = replace(run, **asdict(interruption(interrupt, float(run.t[-1]))))
                break
        self._armed = armed
        return replace(run, event_records=tuple(hybrid.log))

    def _solve(self, task: InitialValueProblem, previous: Run | None) -> tuple[Run, Solution]:
        """Integrate a phase; return the run from time 0 to its end, and the phase's solution."""
        options = self.options
        task = replace(task, times=split(task.times, self.parts))
        build_run, live = partial(self._run_of, task, previous), options.live
        on_block = None if live is None else lambda so_far: live(lambda: build_run(so_far()))
        if not (self.method.adaptive or options.step is not None):
            if self.law is not None:
                raise SimulationError(
                    f"step: {self.method.name} needs a step under a sampled law, since such "
                    "runs cannot be repeated in smaller steps. Give a step, or use another "
                    "method."
                )
            tolerance = options.tolerance
            return keep(
                build_run,
                solve_in_equal_steps(task, self.method, tolerance, options.progress, on_block),
            )

        def solved(tolerance: float) -> tuple[Run, Solution]:
            if tolerance < self.tolerance:
                self.method = self._choose(task, tolerance)[0]
            method = self.method
            if self.automatic and self.hybrid is not None:
                method = phase_method(self.method, self.first, task, tolerance)
            self.others |= {method.name} - {self.method.name}
            initial = new_state(task, method, tolerance, options.step)
            return keep(build_run, solve(initial, options.progress, self.law, on_block))

        requested = self.method.name, self.tolerance
        if self.audited and self.law is None:
            run, solution, self.tolerance = solve_until_kept(
                self.tolerance,
                solved,
                lambda first, second: difference(first, second, task),
                lambda run: by_count(task, METHODS[run.method], run.statistics.steps),
            )
        else:
            run, solution = solved(self.tolerance)
        self.method = METHODS[run.method]
        if self.tolerance != requested[1]:
            self.why += closer_because(*requested, run, self.tolerance)
        return run, solution

    def _repeatable(self, run: Run) -> Run:
        """Return the run with functions that repeat the simulation, for estimates of its error."""
        fixed = self.law is not None or self.options.step is not None or run.status != "finished"
        if fixed or self.tolerance / CLOSER_FACTOR < TIGHTEST_RTOL:
            return run
        order = self.method.order - ORDER_LOSS
        seconds = by_count(
            self.first, self.method, run.statistics.steps + run.statistics.rejections
        )
        has_variants = not self.acting and isinstance(self.options.start, str | None)
        variant = self._other if has_variants else None
        numbers, equation = numbers_of(self.model), self.equation
        recipe = (
            f"richer than {equation.name} {equation.formulation.options()} {numbers.rest} "
            f"{numbers.pattern.key} by {self.method.name}"
        )
        closer = partial(
            self._repeated, equation, method=self.method.name, energy_audit=False, audited=False,
            rtol=self.tolerance / CLOSER_FACTOR,
        )  # fmt: skip
        return replace(run, repetition=Repetition(closer, variant, order, seconds, recipe))

    def _other(self, model: Model) -> Run:
        """Simulate the same motion for a model with additional shape functions.

        Raises
        ------
        KeyboardInterrupt
            If the simulation is interrupted, since its result is then incomplete.
        """
        law, options = self.options.control, self.options
        if isinstance(law, ca.Function):
            t, q, v = ca.MX.sym("t"), ca.MX.sym("q", model.size), ca.MX.sym("v", model.size)
            shared = list(map(model.names.index, self.model.names))
            law = ca.Function("law", [t, q, v], [law(t, q[shared], v[shared])])
        equation = equation_of(
            model, name=options.formulation if options.paper else DEFAULT, paper=options.paper
        )
        return self._repeated(equation, control=law)

    def _repeated(self, equation: Equation, *, audited: bool = True, **changes: Any) -> Run:
        """Repeat the simulation with an equation of motion and with changed options.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupts the repetition, whose result is then incomplete.
        """
        options = replace(self.options, allow_long=True, progress=None, live=None, **changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LongRun)
            simulation = Simulation(equation, options, self.times, self.acting, audited=audited)
            return _whole(simulation.run())

    def _run_of(self, task: InitialValueProblem, previous: Run | None, solution: Solution) -> Run:
        """Return the run from time 0 to the end of the last phase that was solved."""
        solution = thin(solution, self.parts, self.curves)
        run = run_of(task, self.method, solution, self.options.rtol, self.why)
        storable = self.options.step is None and not (run.status == "finished" and run.reason)
        run, hybrid = replace(run, kept=storable), self.hybrid
        if hybrid is not None:
            run = replace(of_model(run, self.model), event_records=tuple(hybrid.log))
            if not hybrid.plain:
                model = task.equation.model
                tip = model.links[-1].tip_body if hybrid.discrete.loaded(self.model) else None
                run = replace(run, phases=(RunPhase(0, model.prescribed, tip),))
        return run if previous is None else joined(previous, run)

    def _finished(self, run: Run) -> Run:
        """Return the run with pending events, wrench tables and result of the energy audit."""
        if self.hybrid is not None:
            run = replace(run, pending=pending_events(self.hybrid, run, self._armed))
        run = record_wrenches(run, self.acting) if self.acting else run
        balanced = not self.options.energy_audit or run.energy_balance <= AUDIT_BALANCE
        if balanced or run.status != "finished":
            return run
        gap = f"the energy balance closed to {run.energy_balance:.1e}, not to {AUDIT_BALANCE:.0e}"
        return replace(run, reason=f"{gap}. Take method 'auto', or a smaller rtol.")


def parts_of(
    task: InitialValueProblem, method: Method, rtol: float, step: float | None = None
) -> int:
    """Return into how many parts each sample interval is divided to resolve vibrations.

    The number is a power of 2, at most `MOST_INTERVAL_PARTS`. Steps of rk4 end at the ends of the
    parts, so no part is shorter than a step.
    """
    fastest, interval = task.vibration.fastest, float(np.median(np.diff(task.times)))
    shortest = 0.0
    if not method.adaptive:
        shortest = equal_step(method, task.vibration, float(task.times[-1]), rtol, step)
    needed = min(SAMPLES_PER_PERIOD * fastest * interval / (2 * np.pi), MOST_INTERVAL_PARTS)
    parts = 1
    while parts < needed and interval / (2 * parts) >= shortest:
        parts *= 2
    return parts


def thin(solution: Solution, parts: int, curves: Curves) -> Solution:
    """Return a solution without the samples that linear interpolation reproduces.

    The argument `parts` is the number of parts into which each sample interval was divided. While
    the simulation is in progress, only the samples at the ends of the intervals are kept.
    """
    if parts == 1:
        return solution
    last = len(solution.times) - 1
    rows = np.arange(0, last + 1, parts)
    if solution.ending.status != "running":
        n, states = curves.rows.shape[1], solution.states
        values, rates = (x @ curves.rows.T for x in np.split(states, [n, 2 * n], axis=1)[:2])
        scales = curves.scales(values)
        if np.any(off_cubics(solution.times, values, rates) > CUBIC_ERROR * scales):
            return solution
        for stride in 2 ** np.arange(parts.bit_length() - 1, -1, -1):
            rows = np.array(sorted({*range(0, last + 1, stride), last}))
            if np.all(off_lines(solution.times, values, rows) <= LINE_ERROR * scales):
                break
    return replace(
        solution,
        times=solution.times[rows],
        states=solution.states[rows],
        reference_attitudes=solution.reference_attitudes[rows],
        held=None if solution.held is None else solution.held[rows],
    )


def run_whole(arm: Arm, options: RunOptions) -> Run:
    """Simulate an arm with checked options; raise KeyboardInterrupt if the run was interrupted."""
    return _whole(run_arm(arm, options))


def _whole(run: Run) -> Run:
    if run.status == "interrupted":
        raise KeyboardInterrupt(run.reason)
    return run


def simulate_whole(arm: Arm, **options: Any) -> Run:
    """Simulate an arm as `simulate` does; raise KeyboardInterrupt if the run was interrupted."""
    return run_whole(arm, RunOptions.of(**options))


def keep(build_run: Callable[[Solution], Run], solution: Solution) -> tuple[Run, Solution]:
    """Return the run built from a solution, together with the solution.

    If the user interrupts the construction of the run, run and solution are marked as interrupted.
    """
    run, interrupt = finish(lambda: build_run(solution))
    if interrupt is None:
        return run, solution
    ending = interruption(interrupt, float(solution.times[-1]))
    return replace(run, **asdict(ending)), replace(solution, ending=ending)


def _shortest_period(task: InitialValueProblem, options: RunOptions) -> float | None:
    """Return the shortest sampling period [s] of a law or servo; None if there is none.

    Raises
    ------
    SimulationError
        If a servo would be sampled too often during the simulation.
    """
    if options.control is not None:
        return getattr(options.control, "period", None)
    servos = {servo.name: servo.servo.period for servo in task.motion.actuators.servos}
    periods = {name: period for name, period in servos.items() if period is not None}
    for name, period in periods.items():
        if options.t_end / period > MOST_SAMPLES:
            raise SimulationError(
                f"{name}: the servo period of {period:g} s makes {options.t_end / period:.3g} "
                f"samples, more than {MOST_SAMPLES:.0e}. Take a longer period or a shorter run."
            )
    return min(periods.values(), default=None)


def refuse_states(method: Method, task: InitialValueProblem) -> None:
    """Raise an error if a method cannot integrate the states of servos, friction or windings."""
    if task.motion.actuators.states and not method.carries_states:
        suitable = ", ".join(
            candidate.name for candidate in METHODS.values() if candidate.carries_states
        )
        raise SimulationError(
            f"method: {method.name} cannot integrate integral_time, bristles, hysteresis or "
            f"inductance. Use auto, {suitable}."
        )


def refuse_inputs(
    model: Model, inputs: Mapping[str, Any] | None, phases: Sequence[LockedPhase]
) -> None:
    """Raise an error if inputs are invalid, or if their tables end before a phase does."""
    profiles = read_inputs(model, inputs or {})
    for phase in phases:
        groups = channels(lock(model, phase.locked), profiles, start_state(model)[0], {})
        refuse_short_tables(groups, phase.end)


def solve_until_kept(
    tolerance: float,
    solve: Callable[[float], Solved],
    difference: Callable[[Solution, Solution], float],
    seconds: Callable[[Run], float],
) -> tuple[Run, Solution, float]:
    """Solve a motion at decreasing tolerances until the errors are within the tolerance.

    The balances of energy and momentum of the first solution show whether its errors grow. The
    solution is compared with one at a 30th of the tolerance in two cases: if the error of a balance
    exceeds ``rtol``, or if the error of the energy may have shifted the phase of the joints' motion
    by more than ``rtol``. Further solutions follow while a 30th of the last difference exceeds
    ``rtol``. The repetition ends when a smaller tolerance halves neither the difference between
    solutions nor the errors of the balances, since the cause is then not the integration.

    Parameters
    ----------
    tolerance
        Tolerance of the first solution.
    solve
        Function that solves the motion at a tolerance.
    difference
        Function that returns the largest difference of two solutions, relative to their ranges.
    seconds
        Function that returns the CPU time of a run by counted operations [s].

    Returns
    -------
    run, solution, tolerance
        Best run and solution, and their tolerance. If the user interrupts a repetition, the last
        complete run and solution are returned, marked as interrupted.
    """
    run, solution = solve(tolerance)
    last = np.inf
    while run.status != "interrupted" and tolerance / CLOSER_FACTOR >= TIGHTEST_RTOL:
        off_balance = max(run.balance_errors.values())
        doubtful = (
            run.energy_balance * _radians(run) > DOUBTFUL_PHASE * run.rtol
            if last == np.inf
            else DOUBTFUL_RATIO * last > CLOSER_FACTOR * run.rtol
        )
        if off_balance <= run.rtol and not (doubtful and seconds(run) <= REPEATED_SECONDS):
            break
        try:
            repeated, repeated_solution = solve(tolerance / CLOSER_FACTOR)
        except KeyboardInterrupt as interrupt:  # between two solutions
            ending = interruption(interrupt, float(run.t[-1]))
        else:
            ending = repeated_solution.ending
        if ending.status == "interrupted":  # the last complete solution remains
            run, solution = replace(run, **asdict(ending)), replace(solution, ending=ending)
            break
        off = difference(solution, repeated_solution)
        if max(off, off_balance) <= run.rtol:
            break
        repeated_balance = max(repeated.balance_errors.values())
        if repeated_balance < off_balance or off > run.rtol:
            run, solution, tolerance = repeated, repeated_solution, tolerance / CLOSER_FACTOR
        if not (run.rtol < off <= last / 2 or repeated_balance <= off_balance / 2):
            break
        last = off
    return run, solution, tolerance


def _radians(run: Run) -> float:
    """Return how far joints and base travel, relative to their scales, at least 1."""
    ways = [
        float(np.trapezoid(np.abs(run.v[:, k]), run.t)) / scale
        for k, scale in run.model.scales.items()
    ]
    return max([1.0, *ways])


def closer_because(method: str, requested: float, run: Run, tolerance: float) -> str:
    """Return why a simulation was repeated at a smaller tolerance than requested, or ''."""
    if tolerance == requested:
        return ""
    return (
        f"; by {run.method} at a tolerance of {tolerance:.1e}, since by {method} at "
        f"{requested:.1e} the motion or a balance was off by more than {run.rtol:g}"
    )
