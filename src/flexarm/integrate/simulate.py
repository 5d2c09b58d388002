"""Simulate an arm: from its model file to a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arguments import refused, shown
from flexarm.arm import Arm
from flexarm.arm.profile import Constant
from flexarm.errors import SimulationError
from flexarm.formulations import formulation
from flexarm.formulations.base import Formulation
from flexarm.formulations.inertia import require_inertia
from flexarm.formulations.loads import input_names
from flexarm.integrate.choose import (
    METHODS,
    choose,
    equal_step,
    has_dry_friction,
    has_strong_dampers,
)
from flexarm.integrate.effort import consider, preparation, solution
from flexarm.integrate.halving import solve_in_equal_steps
from flexarm.integrate.laws import Sampled, refuse_control, refuse_misfit
from flexarm.integrate.locks import Leg, Locks, arrest, legs, lock
from flexarm.integrate.march import WORKS, rounding
from flexarm.integrate.method import Beginning, Method, Motion
from flexarm.integrate.observe import observe
from flexarm.integrate.options import refuse_kinds, refuse_options
from flexarm.integrate.problem import (
    Channel,
    Measures,
    Watch,
    channels,
    jumps,
    measures,
    read_inputs,
    refuse_short_tables,
    system_of,
    watches,
)
from flexarm.integrate.run import Run, Statistics
from flexarm.integrate.sampling import curves_of, parts_for, sample_times, split, thin
from flexarm.integrate.solve import Solution, solve
from flexarm.integrate.vibration import Vibration, vibration
from flexarm.io.model_file import validated
from flexarm.links.base import Array
from flexarm.model import Model, build, start_state
from flexarm.profiles import evaluate

AUDIT = 1e-8  # of the energy exchanged: an audit's balance
CALIBRATED = 50.0  # vibrations that a run may have at the tolerance per step that methods state
DAMPED = 0.005  # damping ratio from which on errors die away
CARRIES = 1e-3  # share in a deflection: a mode with less does not matter to it


def simulate(
    arm: Arm,
    *,
    t_end: float,
    dt: float | None = None,
    method: str = "auto",
    rtol: float = 1e-3,
    step: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    locks: Locks | None = None,
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
        Error of the deflections that is allowed, of their range over the run.
    step
        Step [s] of ``rk4``; chosen by the arm's fastest mode if None.
    inputs
        By joint, in place of those of the model file: a number, or a profile as in a model file.
    control
        In place of all inputs of the model file: a CasADi function (t, q, v) to u, which becomes
        part of the compiled equations, or a `Sampled` Python function.
    locks
        By joint: intervals of time ``(begin, end)`` [s] in which it is held where it is.  A joint
        that moves when it is locked is stopped at once, and the energy this takes counts as
        dissipated.  Times that differ by rounding, 1e-12 of them, are one instant.
    energy_audit
        Step so closely that the energy balance closes to 1e-8, whatever ``rtol``; if it does not,
        by a method that was asked for, the run's ``reason`` says so.
    allow_long
        Whether to run what is estimated to take more than an hour of CPU or 4 GB.
    progress
        Called with the time reached [s].
    live
        Called some 20 times a second with a function that gives the run so far, of status
        ``running``: `flexarm.integrate.run_file.LiveFile` keeps that in a file.

    Returns
    -------
    Run
        What happened, also if it had to stop: see its ``status``.

    Raises
    ------
    SimulationError
        If it cannot begin, or would take too long.

    Warns
    -----
    LongRun
        If it will take more than a minute of CPU, with what to change.
    """
    refuse(arm, t_end=t_end, dt=dt, method=method, rtol=rtol, step=step)
    refuse_kinds(
        inputs=inputs, locks=locks, energy_audit=energy_audit, progress=progress, live=live
    )
    refuse_control(control, inputs, t_end)
    t_end, dt, rtol = float(t_end), None if dt is None else float(dt), float(rtol)
    arm = validated(arm)
    times = sample_times(t_end, dt)
    consider([preparation(arm, len(times))], allow_long=allow_long)
    model = build(arm)
    if locks and control is not None:
        raise SimulationError("locks: cannot be had together with a control law")
    wanted = min(rtol, AUDIT) if energy_audit else rtol
    parts = legs(model, locks or {}, t_end)
    if locks:
        refuse_inputs(model, inputs, parts)
    task = prepare(lock(model, parts[0].locked), times_of(times, parts[0]), inputs=inputs,
                   control=control, locked=parts[0].locked, wanted=wanted)  # fmt: skip
    if parts[0].locked:
        task = held(task, *start_state(model), np.zeros(WORKS), parts[0].locked)
    law = control if isinstance(control, Sampled) else None
    period = None if law is None else law.period
    if method == "auto":
        chosen, why = choose(task, wanted, audit=energy_audit, period=period)
    else:
        chosen, why = METHODS[method], "asked for"
    finer = task.parts(chosen, wanted, step) if dt is None else 1
    curves = curves_of(model, task.q)
    consider(
        [solution(task, chosen, wanted, duration=t_end, step=step, period=period)],
        allow_long=allow_long,
    )

    def go(task: Task, before: Run | None) -> Run:
        task = replace(task, times=split(task.times, finer))

        def whole(solution: Solution) -> Run:
            kept = thin(solution, finer, curves)
            found = of_model(task.run(chosen, kept, rtol, why), model)
            return found if before is None else joined(before, found)

        seen = None if live is None else lambda so_far: live(lambda: whole(so_far()))
        if chosen.adaptive or step is not None:
            return whole(solve(task.beginning(chosen, wanted, step), progress, law, seen))
        if law is not None:
            raise SimulationError(
                f"step: {chosen.name} needs one under a sampled law, which cannot be asked twice "
                "and so not be run again in smaller steps: give a step, or take another method"
            )
        return whole(solve_in_equal_steps(task, chosen, wanted, progress, seen))

    run = go(task, None)
    for leg in parts[1:]:
        if run.status != "finished":
            break
        here = formulation("articulated", lock(model, leg.locked)).anchored(run.anchors[-1])
        try:
            task = prepare(
                here.model, times_of(times, leg), inputs=inputs, equation=here, locked=leg.locked,
                state=(run.q[-1], run.v[-1]), wanted=wanted,
            )  # fmt: skip
        except SimulationError as error:
            return replace(run, status="stopped", reason=f"at t = {leg.begin:.6g} s: {error}")
        run = go(held(task, run.q[-1], run.v[-1], run.works[-1], leg.locked), run)
    return audited(run) if energy_audit else run


def refuse(
    arm: Arm,
    *,
    t_end: float,
    dt: float | None,
    method: str,
    rtol: float,
    step: float | None = None,
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
    refuse_options(t_end=t_end, dt=dt, rtol=rtol, step=step)


def audited(run: Run) -> Run:
    """Say so if the energy balance of a run that finished did not close as an audit asks."""
    if run.status != "finished" or run.energy_balance <= AUDIT:
        return run
    closed = f"the energy balance closed to {run.energy_balance:.1e}, not to {AUDIT:.0e}"
    return replace(run, reason=f"{closed}: take method 'auto', or a smaller rtol")


def times_of(times: Array, leg: Leg) -> Array:
    """Pick the times to keep in a leg, its begin and end included."""
    after, before = leg.begin + rounding(leg.begin), leg.end - rounding(leg.end)
    inside = times[(times > after) & (times < before)]
    return np.concatenate([[leg.begin], inside, [leg.end]])


def refuse_inputs(model: Model, inputs: Mapping[str, Any] | None, parts: Sequence[Leg]) -> None:
    """Refuse inputs that cannot be read or end too soon, those of all legs before the first."""
    read = read_inputs(model, inputs or {})
    for leg in parts:
        groups = channels(lock(model, leg.locked), read)
        refuse_short_tables([channel for group in groups for channel in group], leg.end)


def held(task: "Task", q: Array, v: Array, works: Array, locked: Sequence[str]) -> "Task":
    """Begin a task at a state, with joints locked where they are."""
    v, given, lost = arrest(task.equation, q, v.copy(), locked)
    places = {
        part.joint_name: float(q[part.joint])
        for part in task.equation.model.links
        if part.joint_name in locked and part.joint is not None
    }
    moved = [
        Channel(c.name, Constant[float](kind="constant", value=places[c.name]))
        if c.name in places
        else c
        for c in task.groups[2]
    ]
    groups = (*task.groups[:2], moved)
    return replace(
        task, q=q.copy(), v=v, works=works + np.array([0.0, 0.0, given, lost]), groups=groups
    )


def of_model(run: Run, model: Model) -> Run:
    """Show a leg as a run of the arm with no joint locked: inputs of locked joints are 0."""
    u = np.zeros((len(run.t), len(input_names(model))))
    for k, name in enumerate(input_names(run.model)):
        u[:, input_names(model).index(name)] = run.u[:, k]
    return replace(run, model=model, u=u)


def joined(first: Run, second: Run) -> Run:
    """Put two legs together; the instant between them is kept once, after the change."""
    kept = slice(0, -1)
    changes: dict[str, Any] = {
        name: np.concatenate([getattr(first, name)[kept], getattr(second, name)])
        for name in ("t", "q", "v", "u", "tip", "tip_rotation", "energy", "works", "anchors")
    }
    counts = [
        sum(pair)
        for pair in zip(astuple(first.statistics), astuple(second.statistics), strict=True)
    ]
    return replace(
        second,
        statistics=Statistics(int(counts[0]), int(counts[1]), int(counts[2]), counts[3]),
        **changes,
    )


def prepare(
    model: Model,
    times: Array,
    *,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    equation: Formulation | None = None,
    locked: Sequence[str] = (),
    state: tuple[Array, Array] | None = None,
    wanted: float = 1e-3,
) -> "Task":
    """Make ready what all methods need; inputs of locked joints are left out.

    It begins at a state (q, v), that of the model file if None.

    Raises
    ------
    SimulationError
        If it cannot begin: the state is out of bounds, or a motion has no inertia in it.
    """
    equation = equation or formulation("articulated", model)
    inputs = {name: value for name, value in (inputs or {}).items() if name not in locked}
    if isinstance(control, ca.Function):
        refuse_misfit(control, model)
    motion = Motion(equation, control if isinstance(control, ca.Function) else None)
    groups = channels(model, read_inputs(model, inputs))
    if control is not None:  # in place of the file's inputs, which must not jump in between
        still = Constant[float](kind="constant", value=0.0)
        groups = ([replace(channel, profile=still) for channel in groups[0]], *groups[1:])
    refuse_short_tables([channel for group in groups for channel in group], float(times[-1]))
    q, v = start_state(model) if state is None else state
    equation.refuse_singular(q)
    matrices = [m.reshape(model.size, -1) for m in _matrices(equation, q, v)]
    require_inertia(model, matrices[0], when="at the start" if state is None else "here")
    task = Task(equation, motion, groups, times, q, v, vibration(model, *matrices), wanted)
    refuse_outside(task)
    return task


def refuse_outside(task: "Task") -> None:
    """Refuse a start at which the run would have to stop."""
    state = np.concatenate([task.q, task.v])
    for watch in task.watches:
        value = float(watch.row @ state)
        if watch.what and not watch.low <= value <= watch.high:
            limit = watch.low if value < watch.low else watch.high
            raise SimulationError(
                f"{watch.what} is {value:.4g} at the start, beyond {limit:.4g}: {watch.remedy}"
            )


def _matrices(equation: Formulation, q: Array, v: Array) -> tuple[Array, ...]:
    anchor = (equation.anchor,) if equation.model.floats else ()
    return equation.compiled("matrices", level="fast").call(q, v, *anchor)


@dataclass(frozen=True)
class Task:
    """A motion to be computed.

    Attributes
    ----------
    equation, motion
        The formulation and its compiled rates.
    groups
        Channels: inputs, wrench factors, prescribed motions.
    times
        Times to keep.
    q, v, works
        The initial state, and the work done before it.
    vibration
        How the arm vibrates about it.
    wanted
        The tolerance.
    """

    equation: Formulation
    motion: Motion
    groups: tuple[list[Channel], ...]
    times: Array
    q: Array
    v: Array
    vibration: Vibration
    wanted: float = 1e-3
    works: Array = field(default_factory=lambda: np.zeros(WORKS))

    @property
    def damped(self) -> bool:
        """Whether errors of vibrations die away, in all that errors are measured in."""
        return self.damping >= DAMPED

    @cached_property
    def damping(self) -> float:
        """The least damping ratio of a mode that carries a deflection; 0 of a rigid arm."""
        ratios = self.vibration.modes.ratios
        carries = (self._carried > CARRIES).any(axis=0)
        return float(ratios[carries].min(initial=1.0)) if carries.any() else 0.0

    @cached_property
    def _carried(self) -> Array:
        """The shares of modes in each deflection, (groups, modes)."""
        shares = self.vibration.modes.carried(self.measures.rows, self.measures.group)
        return np.asarray(shares[np.array(self.measures.deflects, dtype=bool)])

    @property
    def vibrations(self) -> float:
        """How many vibrations add up their errors in a deflection, before damping forgets them."""
        modes = self.vibration.modes
        memory = 1 / np.maximum(modes.ratios * modes.frequencies, 1e-300)
        lasting = np.minimum(float(self.times[-1] - self.times[0]), memory)
        counted = self._carried @ (lasting * modes.frequencies / (2 * np.pi))
        return float(counted.max(initial=0.0))

    @cached_property
    def measures(self) -> Measures:
        """What errors are measured in."""
        return measures(self.equation.model, self.q, self.vibration)

    @cached_property
    def watches(self) -> tuple[Watch, ...]:
        """What ends the run."""
        return tuple(watches(self.equation.model, self.q, self.wanted))

    @property
    def jumps_inside(self) -> bool:
        """Whether any channel jumps while the arm moves."""
        listed = jumps([channel for group in self.groups for channel in group])
        return bool(np.any((listed > self.times[0]) & (listed < self.times[-1])))

    def tolerance(self, method: Method, wanted: float) -> float:
        """Give the tolerance per step: errors of undamped vibrations add up over a run."""
        if self.motion.law is not None:
            wanted *= method.under_law
        elif has_dry_friction(self.equation.model) or has_strong_dampers(self):
            wanted *= method.under_friction
        share = min(1.0, CALIBRATED / max(self.vibrations, 1.0))
        return max(method.per_step(wanted, self.damped) * share, 1e-14)

    def parts(self, method: Method, wanted: float, step: float | None = None) -> int:
        """Choose into how many parts to split intervals between samples; rk4 ends steps at them."""
        interval = float(np.median(np.diff(self.times)))
        if method.adaptive:
            return parts_for(self.vibration.fastest, interval)
        least = equal_step(method, self.vibration, float(self.times[-1]), wanted, step)
        return parts_for(self.vibration.fastest, interval, least)

    def beginning(self, method: Method, wanted: float, step: float | None = None) -> Beginning:
        """Begin the motion by a method."""
        system, buffers = system_of(self.equation, self.motion.compiled(), self.groups)
        listed = [channel for group in self.groups for channel in group]
        if method.adaptive:
            h = 0.01 / max(self.vibration.fastest, 10.0 / float(self.times[-1]))
        else:
            h = equal_step(method, self.vibration, float(self.times[-1]), wanted, step)
        # The slope of dry friction is that of standstill, and no bound while it slips.
        dry = has_dry_friction(self.equation.model)
        rate = self.vibration.fastest if dry else self.vibration.largest
        return Beginning(
            self.equation,
            self.motion,
            system,
            buffers,
            self.measures,
            self.watches,
            self.times.copy(),
            jumps(listed),
            np.concatenate([self.q, self.v, self.works]),
            method,
            self.tolerance(method, wanted),
            h,
            method.reach / max(rate, 1e-12),
        )

    def run(self, method: Method, solution: Solution, rtol: float, why: str) -> Run:
        """Evaluate what a run keeps at every sample."""
        n = self.equation.model.size
        q, v = solution.states[:, :n], solution.states[:, n : 2 * n]
        energy, rotation, position = observe(self.equation, solution.states, solution.anchors)
        return Run(
            model=self.equation.model,
            t=solution.times,
            q=q,
            v=v,
            u=self._inputs(solution),
            tip=position,
            tip_rotation=rotation,
            energy=energy,
            works=solution.states[:, 2 * n :],
            anchors=solution.anchors,
            status=solution.ending.status,
            reason=solution.ending.reason,
            method=method.name,
            why=why,
            rtol=rtol,
            statistics=Statistics(
                solution.steps,
                solution.rejections,
                solution.evaluations,
                solution.seconds,
            ),
        )

    def _inputs(self, solution: Solution) -> Array:
        """Give the inputs at the samples, (T, inputs)."""
        n = self.equation.model.size
        count = len(solution.times)
        if solution.held is not None:
            return solution.held
        if self.motion.law is not None:
            q, v = solution.states[:, :n], solution.states[:, n : 2 * n]
            rows = self.motion.law(solution.times[None, :], q.T, v.T)
            return np.array(rows).T.reshape(count, -1)
        columns = [[evaluate(c.profile, t)[0] for t in solution.times] for c in self.groups[0]]
        return np.array(columns).T.reshape(count, len(columns))
