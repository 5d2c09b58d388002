"""Choose an integrator for a motion, and say why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexarm.arm import Moving
from flexarm.arm.joint import Friction
from flexarm.errors import SimulationError
from flexarm.integrate.dop853 import DOP853
from flexarm.integrate.etd4 import ETD4
from flexarm.integrate.march import BROKEN, FINISHED, NO_STEP, WATCHED, march
from flexarm.integrate.method import Method, Operations
from flexarm.integrate.rk4 import RK4
from flexarm.integrate.rodas4 import RODAS4
from flexarm.integrate.solve import begin_march
from flexarm.integrate.vibration import Vibration
from flexarm.model import Model

if TYPE_CHECKING:
    from flexarm.integrate.simulate import Task

EVEN = 6.0  # ratio of fastest to slowest mode at which etd4 and dop853 take the same work
TANGENT_PAYS = 16  # coordinates up to which an exact tangent in every step is cheap
OUTSIDE = 3.0  # eigenvalues this many times the fastest mode are those of dampers
PERIODS = 2  # of the slowest mode in a pilot
LONG = 5000  # steps of dop853 from which on a pilot pays
MOST = 5000  # steps of a heat
# Parts of a pilot, and how many times the least work a method may take to go on after each.
HEATS = ((0.1, 4.0), (0.25, 2.5), (0.5, 1.5), (1.0, 1.0))

METHODS: dict[str, Method] = {each.name: each for each in (ETD4, DOP853, RODAS4, RK4)}


def equal_step(
    method: Method, vibration: Vibration, duration: float, wanted: float, step: float | None
) -> float:
    """Choose an equal step by the fastest mode and decay, or check the one that a user gives.

    An error of a thousandth of the deflections takes about 0.4 over the fastest frequency.
    """
    fastest, largest = max(vibration.fastest, 1e-12), max(vibration.largest, 1e-12)
    if step is None:
        share = 0.4 * (wanted / 1e-3) ** 0.3
        return float(min(duration / 200, share / fastest, 0.9 * method.stable / largest))
    limit = method.stable / largest
    if step > limit:
        what = f"the fastest mode ({fastest / (2 * np.pi):.4g} Hz)"
        if largest > 1.05 * fastest:
            what = f"the fastest decay, by damping ({largest:.4g} 1/s),"
        raise SimulationError(
            f"step: {step:g} s is too large for {method.name}: {what} needs at most {limit:.3g} s; "
            "take fewer modes, less damping, a smaller step, or method 'auto'"
        )
    return step


def choose(
    task: "Task", wanted: float, *, audit: bool, period: float | None = None
) -> tuple[Method, str]:
    """Choose the method that takes least work to keep a tolerance.

    Parameters
    ----------
    task
        The motion.
    wanted
        Its tolerance.
    audit
        Whether its energy balance has to close.
    period
        Time for which a sampled law holds its inputs [s], if there is one.

    Notes
    -----
    An exponential method steps past modes that are much faster than the slowest, an explicit one of
    high order wins where they are close or the tolerance is tight, a linearly implicit one where
    vibrations die away and nothing excites them again, unless its tangent is too large.  Where that
    does not tell, because stiffness may sit outside the links (in a control law, in a strong damper
    or in dry friction) or a law cuts the steps, and where the motion is long enough to pay for it,
    they run a race over its first part.  Their work is counted in operations, not in seconds, so
    that the same motion gets the same method every time.
    """
    fastest, slowest = task.vibration.fastest, task.vibration.slowest
    driven = task.motion.law is not None or period is not None
    if audit:
        return DOP853, "an energy audit wants the highest order"
    if fastest == 0.0 and not driven:
        return DOP853, "the arm is rigid"
    modes = f"elastic modes from {slowest / (2 * np.pi):.3g} to {fastest / (2 * np.pi):.3g} Hz"
    likely, why = _by_spectrum(task, wanted)
    outside = has_strong_dampers(task) or has_dry_friction(task.equation.model)
    duration = float(task.times[-1] - task.times[0])
    long = duration * task.vibration.largest > LONG * DOP853.reach and not task.damped
    if not (driven or outside or long):
        return likely, f"{modes}{why}"
    rivals: tuple[Method, ...] = (ETD4, DOP853)
    heats: Sequence[tuple[float, float]] = HEATS
    if task.motion.law is not None or outside:
        # The implicit one is slow until vibrations have died away: it goes the whole way, and the
        # others as long as they are no slower.
        rivals, heats = (RODAS4, ETD4, DOP853), HEATS[-1:]
    pilots = [Pilot(task, each, wanted, period) for each in rivals]
    costs, span = race(pilots, pilot_span(task), heats)
    best = min(costs, key=lambda name: costs[name])
    ratios = {name: costs[name] / costs[best] for name in costs if name != best}
    story = " and ".join(
        f"{name} took {ratio:.2g} times its work" if np.isfinite(ratio) else f"{name} failed"
        for name, ratio in ratios.items()
    )
    return METHODS[best], f"{modes}; in a pilot of {span:.2g} s {story}"


def _by_spectrum(task: "Task", wanted: float) -> tuple[Method, str]:
    """Choose by frequencies, damping and tolerance."""
    spread = task.vibration.fastest / max(task.vibration.slowest, 1e-12)
    small = task.equation.model.size <= TANGENT_PAYS
    if task.damped and small and wanted < 5e-3 and not task.jumps_inside:
        return RODAS4, ", damped and smoothly driven: its steps are the longest"
    if task.damped:
        return ETD4, ", damped: it steps past their vibration"
    if (EVEN / max(spread, 1e-12)) ** 0.65 * (1e-3 / wanted) ** 0.33 < 1:
        return ETD4, ": it steps past the fast ones"
    return DOP853, ": too close, or the tolerance too tight, to step past the fast ones"


def has_strong_dampers(task: "Task") -> bool:
    """Tell whether dampers make decays much faster than the fastest mode."""
    small = task.equation.model.size <= TANGENT_PAYS
    return small and task.vibration.largest > OUTSIDE * task.vibration.fastest


def race(
    running: Sequence["Pilot"], whole: float, heats: Sequence[tuple[float, float]]
) -> tuple[dict[str, float], float]:
    """Run methods over ever longer first parts of a motion until one is ahead of all others.

    Parameters
    ----------
    running
        The methods on their way.
    whole
        The longest part [s].
    heats
        Parts of it, and how many times the least work a method may take to go on after each.

    Returns
    -------
    dict
        Operations that each would take for the whole motion by the last part that it was in, or
        more; infinite if it failed.
    float
        The time that the best one went [s].
    """
    costs: dict[str, float] = {}
    for part, margin in heats:
        least, taken = np.inf, np.inf
        for pilot in running:
            costs[pilot.name] = pilot.go(part * whole, margin * taken)
            least = min(least, costs[pilot.name])
            taken = min(taken, pilot.work) if pilot.march.t >= pilot.begin + part * whole else taken
        running = [pilot for pilot in running if costs[pilot.name] <= margin * least]
        if len(running) <= 1:
            break
    return costs, part * whole


def pilot_span(task: "Task") -> float:
    """Give the time that a pilot covers: some vibrations and a part of the run."""
    duration = float(task.times[-1] - task.times[0])
    vibrations = PERIODS * 2 * np.pi / max(task.vibration.slowest, 1e-12)
    return float(min(duration / 10, max(vibrations, duration / 50)))


class Pilot:
    """A method on the first part of a motion, and the operations that it takes."""

    def __init__(self, task: "Task", method: Method, wanted: float, period: float | None) -> None:
        self.name = method.name
        self.march = begin_march(task.beginning(method, wanted))
        self.march.wanted = 0
        self.begin, self.end = float(task.times[0]), float(task.times[-1])
        self.period, self.ticks, self.failed = period or np.inf, 1, False
        pieces = Operations(task.equation.model.size, task.motion)
        self.per_step = method.work(pieces)
        self.per_renewal = 0.0 if method.renewal is None else method.renewal(pieces)

    @property
    def work(self) -> float:
        """Operations so far, about."""
        m = self.march
        return (m.steps + m.rejections) * self.per_step + (
            getattr(m, "renewals", 0) * self.per_renewal
        )

    def go(self, span: float, limit: float) -> float:
        """Go on to a time after the begin [s], and say what the whole motion would take.

        What comes after is taken to be like what was gone through last: a start is dearer.  It
        gives up where it has taken more than a limit.
        """
        m, target = self.march, self.begin + span
        begun, half = m.t, 0.5 * (m.t + target)
        since, before = m.t, self.work

        def projected() -> float:
            gone = m.t - since
            return self.work + (self.work - before) * (self.end - m.t) / gone if gone else 0.0

        most = m.steps + m.rejections + MOST
        while self.advance(target) and m.steps + m.rejections < most and self.work <= limit:
            if since == begun and m.t >= half:
                since, before = m.t, self.work
        return np.inf if self.failed else projected()

    def advance(self, target: float) -> bool:
        """Go some steps on towards a time [s]; tell whether there is more to go."""
        m = self.march
        if m.t < target:
            m.t_end = min(target, self.begin + self.ticks * self.period)
            m.budget = 50
            code = march(m)
            self.failed = code in (BROKEN, NO_STEP)
            if code == FINISHED and m.t < target:  # a sampled law would change its inputs
                self.ticks += 1
                m.h_done = 0.0
            if self.failed or code == WATCHED:
                return False
        return bool(m.t < target)


def has_dry_friction(model: Model) -> bool:
    """Tell whether any joint has friction that changes fast about standstill."""
    joints = [part.link.joint for part in model.links]
    return any(
        isinstance(joint, Moving)
        and isinstance(joint.friction, Friction)
        and joint.friction.coulomb
        for joint in joints
    )
