"""Choose the integrator of a motion, and explain the choice."""

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from flexarm.engine.cache import Cache, cache_folder
from flexarm.engine.functions import PACKAGE, source_version
from flexarm.integrate.constants import (
    EVEN_SPREAD,
    GIVE_UP_RATIO,
    GIVE_UP_WORK,
    QUIET_DURATION,
    SLOW_START_RATIO,
    STIFF_TRIAL_STAGES,
    TRIAL_OPERATIONS,
    TRIAL_PERIODS,
    TRIAL_STAGES,
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
    has_strong_dampers,
    tangent_pays,
)
from flexarm.mechanics.loads import coulomb_frictions
from flexarm.model.numbers import write
from flexarm.model.state import fingerprint


def choose(
    task: InitialValueProblem, rtol: float, *, audit: bool, period: float | None = None
) -> tuple[Method, str]:
    """Return the method that meets a tolerance with the least work, and the reason as text.

    Parameters
    ----------
    task
        Initial-value problem of the motion.
    rtol
        Tolerance.
    audit
        Whether the run is an energy audit.
    period
        Time for which a sampled law holds its inputs [s]; None without one.

    Notes
    -----
    An exponential method steps past modes that are much faster than the slowest.  An explicit
    method of high order is best where frequencies are close or the tolerance is tight; a linearly
    implicit method, unless its Jacobian is too large, where nothing vibrates for most of the
    motion.

    The frequencies do not decide if stiffness may lie outside the links (in a control law, a strong
    damper or dry friction) or if a sampled law cuts the steps.  Then, and if the motion is long
    enough to pay for them, trial runs over its first part compare the methods.  Work is counted in
    operations, not in seconds, so that the same motion always gets the same method; the result is
    stored in the cache.
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
    stages: Sequence[tuple[float, float]] = TRIAL_STAGES
    stiff = servoed and strong_dampers  # by servos, of any arm
    small = servoed and tangent_pays(task)
    if task.motion.ruled or stiff_outside or stiff or small:
        # The implicit method is slow until vibrations have decayed: its trial is run in full unless
        # all other methods have dropped out; those run as long as they are no slower.
        rivals, stages = (RODAS4, ETD4, DOP853), STIFF_TRIAL_STAGES
    if task.motion.actuators.states:
        rivals = tuple(method for method in rivals if method.carries_states)
    cache, key = Cache(cache_folder()), _race_key(task, rtol, period)
    stored = cache.get(key)
    if stored is None:
        stored = json.dumps(_run_trials(task, rivals, stages, rtol, period)).encode()
        cache.put(key, stored)
    best, comparison = json.loads(stored)
    return METHODS[best], f"{modes}; {comparison}"


def _race_key(task: InitialValueProblem, rtol: float, period: float | None) -> str:
    """Return a hash of all data on which the winner of the trial runs depends."""
    digest, equation, motion = hashlib.sha256(), task.equation, task.motion
    law = "" if motion.law is None else motion.law.serialize()
    load = equation.model.links[-1].tip_body  # its machine code may be of any
    pieces = [[(channel.name, channel.pieces) for channel in group] for group in task.groups]
    data = ("race", source_version(PACKAGE), fingerprint(equation.model), load, equation.name,
            equation.options(), equation.reference_attitude, law, motion.actuators.key, pieces,
            task.times[[0, -1]], task.state, task.efforts, task.bounds, task.start.memory,
            task.start.ranges,
            rtol, period)  # fmt: skip
    write(data, digest.update)
    return digest.hexdigest()


def _run_trials(
    task: InitialValueProblem,
    rivals: Sequence[Method],
    stages: Sequence[tuple[float, float]],
    rtol: float,
    period: float | None,
) -> tuple[str, str]:
    """Return the method with least work in trial runs, and a text with the ratios of work."""
    pilots = [TrialRun(task, method, rtol, period) for method in rivals]
    costs, duration = race(pilots, trial_duration(task), stages)
    best = min(costs, key=lambda name: costs[name])
    lowest = max(costs[best], 1.0)
    ratios = {name: costs[name] / lowest for name in costs if name != best}
    comparison = " and ".join(
        f"{name} took {ratio:.2g} times its work" if np.isfinite(ratio) else f"{name} failed"
        for name, ratio in ratios.items()
    )
    return best, f"in a trial of {duration:.2g} s {comparison}"


def _by_spectrum(task: InitialValueProblem, rtol: float) -> tuple[Method, str]:
    """Return the method chosen by frequencies, damping and tolerance, and the reason."""
    spread = task.vibration.fastest / max(task.vibration.slowest, 1e-12)
    is_smooth = tangent_pays(task) and rtol < 5e-3 and not task.jumps_inside
    if not task.motion.actuators.states and task.damped and is_smooth and _is_quiet(task, rtol):
        return RODAS4, ", damped and smoothly driven: its steps are the longest"
    if task.damped:
        return ETD4, ", damped: it steps past their vibration"
    if (EVEN_SPREAD / max(spread, 1e-12)) ** 0.65 * (1e-3 / rtol) ** 0.33 < 1:
        return ETD4, ": it steps past the fast ones"
    return DOP853, ": too close, or the tolerance too tight, to step past the fast ones"


def _is_quiet(task: InitialValueProblem, rtol: float) -> bool:
    """Return whether a damped arm hardly vibrates: no excitation at the start, or early decay."""
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


def race(
    pilots: Sequence["TrialRun"], duration: float, stages: Sequence[tuple[float, float]]
) -> tuple[dict[str, float], float]:
    """Run methods over ever longer first parts of a motion until one needs the least work.

    Parameters
    ----------
    pilots
        Trial runs of the methods.
    duration
        Duration of the longest part [s].
    stages
        Pairs of a fraction of `duration`, and the largest ratio of a method's work to the least
        work with which the method goes on after that fraction.

    Returns
    -------
    dict
        Operations by method, extrapolated to the whole motion from the last part that the method
        ran; infinite if the method failed.
    float
        Duration of the last part [s].
    """
    costs: dict[str, float] = {}
    any_slow = any(pilot.slow_at_first for pilot in pilots)
    for fraction, margin in stages:
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


def trial_duration(task: InitialValueProblem) -> float:
    """Return the duration of trial runs [s]: a few vibration periods, at most 1/10 of the run."""
    duration = float(task.times[-1] - task.times[0])
    vibrations = TRIAL_PERIODS * 2 * np.pi / max(task.vibration.slowest, 1e-12)
    return float(min(duration / 10, max(vibrations, duration / 50)))


class TrialRun:
    """Trial run of a method over the first part of a motion, which counts operations."""

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
        """Advance the trial to `span` [s]; return the estimated operations of the whole motion.

        The estimate extrapolates the latest part, since a start is more expensive.  The trial stops
        early after more than `limit` operations, or after more than `enough` if the estimate
        exceeds `hopeless`.
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
        """Advance by a few trial steps towards a time [s]; return whether time is still left."""
        m = self.march
        if m.t < target:
            m.t_end = min(target, self.begin + self.ticks * self.period)
            m.budget = steps
            code = march(m)
            self.failed = code in (BROKEN, NO_STEP)
            if code == FINISHED and m.t < target:  # a sampled law would change its inputs
                self.ticks += 1
                m.last_step = 0.0
            if self.failed or code == LIMIT_REACHED:
                return False
        return bool(m.t < target)
