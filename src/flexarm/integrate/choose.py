"""Choose an integrator for a motion, and say why."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.arm import Moving
from flexarm.arm.joint import Friction
from flexarm.errors import SimulationError
from flexarm.integrate.dop853 import DOP853
from flexarm.integrate.etd4 import ETD4
from flexarm.integrate.march import BROKEN, FINISHED, NO_STEP, WATCHED, march
from flexarm.integrate.method import Method
from flexarm.integrate.rk4 import RK4, STABLE
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

METHODS: dict[str, Method] = {each.name: each for each in (ETD4, DOP853, RODAS4, RK4)}


def rk4_step(vibration: Vibration, duration: float, wanted: float, step: float | None) -> float:
    """Choose the step of rk4 by the fastest mode and decay, or check the one that a user gives.

    An error of a thousandth of the deflections takes about 0.4 over the fastest frequency.
    """
    fastest, largest = max(vibration.fastest, 1e-12), max(vibration.largest, 1e-12)
    if step is None:
        share = 0.4 * (wanted / 1e-3) ** 0.3
        return float(min(duration / 200, share / fastest, 0.9 * STABLE / largest))
    limit = STABLE / largest
    if step > limit:
        what = f"the fastest mode ({fastest / (2 * np.pi):.4g} Hz)"
        if largest > 1.05 * fastest:
            what = f"the fastest decay, by damping ({largest:.4g} 1/s),"
        raise SimulationError(
            f"step: {step:g} s is too large for rk4: {what} needs at most {limit:.3g} s; "
            "take fewer modes, less damping, a smaller step, or method 'auto'"
        )
    return step


def choose(task: "Task", wanted: float, *, audit: bool) -> tuple[Method, str]:
    """Choose the method that takes least work to keep a tolerance.

    An exponential method steps past modes that are much faster than the slowest, an explicit one of
    high order wins where they are close or the tolerance is tight, a linearly implicit one where
    vibrations die away and nothing excites them again, unless its tangent is too large.  Where
    stiffness may sit outside the links, in a control law, in a strong damper or in dry friction,
    the exponential and the implicit one run over the same short pilot; their work is counted in
    operations, not in seconds, so that the same motion gets the same method every time.
    """
    fastest, slowest = task.vibration.fastest, task.vibration.slowest
    if audit:
        return DOP853, "an energy audit wants the highest order"
    if fastest == 0.0 and task.motion.law is None:
        return DOP853, "the arm is rigid"
    spread = fastest / max(slowest, 1e-12)
    modes = f"elastic modes from {slowest / (2 * np.pi):.3g} to {fastest / (2 * np.pi):.3g} Hz"
    outside = _strong_dampers(task) or has_dry_friction(task.equation.model)
    if task.motion.law is not None or outside:
        return _by_pilot(task, wanted, modes)
    small = task.equation.model.size <= TANGENT_PAYS
    if task.damped and small and wanted < 5e-3 and not task.jumps_inside:
        return RODAS4, f"{modes}, damped and smoothly driven: its steps are the longest"
    if task.damped:
        return ETD4, f"{modes}, damped: it steps past their vibration"
    if (EVEN / spread) ** 0.65 * (1e-3 / wanted) ** 0.33 < 1:
        return ETD4, f"{modes}: it steps past the fast ones"
    return DOP853, f"{modes}: too close, or the tolerance too tight, to step past the fast ones"


def _by_pilot(task: "Task", wanted: float, modes: str) -> tuple[Method, str]:
    span = pilot_span(task)
    # The likelier one first: the other need not go on when it has taken more.
    likely, other = (RODAS4, ETD4) if _strong_dampers(task) else (ETD4, RODAS4)
    costs = {likely.name: pilot(task, likely, wanted, span, np.inf)}
    costs[other.name] = pilot(task, other, wanted, span, 1.2 * costs[likely.name])
    best = min(costs, key=lambda name: costs[name])
    worse = next(name for name in costs if name != best)
    ratio = costs[worse] / costs[best]
    story = f"took {ratio:.2g} times its work" if np.isfinite(ratio) else "took more work"
    return METHODS[best], f"{modes}; in a pilot of {span:.2g} s {worse} {story}"


def _strong_dampers(task: "Task") -> bool:
    """Tell whether dampers make decays much faster than the fastest mode."""
    small = task.equation.model.size <= TANGENT_PAYS
    return small and task.vibration.largest > OUTSIDE * task.vibration.fastest


def pilot_span(task: "Task") -> float:
    """Give the time that a pilot covers: some vibrations and a part of the run."""
    duration = float(task.times[-1])
    vibrations = PERIODS * 2 * np.pi / max(task.vibration.slowest, 1e-12)
    return float(min(duration, max(vibrations, duration / 50)))


def pilot(task: "Task", method: Method, wanted: float, span: float, limit: float) -> float:
    """Count the operations that a method takes for the first part of a motion.

    It gives up, with an infinite count, where it fails or takes more than a limit.
    """
    m = begin_march(task.beginning(method, wanted))
    m.t_end, m.wanted = span, 0
    per_step = work_per_step(task, method)
    while True:
        m.budget = 50
        code = march(m)
        total = (m.steps + m.rejections) * per_step
        total += getattr(m, "renewals", 0) * work_per_renewal(task)
        if code == FINISHED:
            return total
        if total > limit or code in (BROKEN, NO_STEP):
            return np.inf
        if code == WATCHED:
            return total * span / max(m.t, 1e-12)


def work_per_step(task: "Task", method: Method) -> float:
    """Count the operations of a trial step, about."""
    n = task.equation.model.size
    equations = task.motion.compiled().operations
    if method is ETD4:
        return 4 * equations + 24 * n * n + 150 * n
    return 6 * equations + task.motion.tangent().operations + n**3 + 20 * n * n


def work_per_renewal(task: "Task") -> float:
    """Count the operations of a new modal basis, about."""
    n = task.equation.model.size
    return task.motion.matrices().operations + 12.0 * n**3


def has_dry_friction(model: Model) -> bool:
    """Tell whether any joint has friction that changes fast about standstill."""
    joints = [part.link.joint for part in model.links]
    return any(
        isinstance(joint, Moving)
        and isinstance(joint.friction, Friction)
        and joint.friction.coulomb
        for joint in joints
    )
