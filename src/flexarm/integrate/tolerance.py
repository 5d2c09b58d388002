"""Tolerance of a step at which a run meets its tolerance, and bounds of the step size.

The errors of steps add up: over the whole run for undamped vibrations, over the decay time for
damped ones. A smaller tolerance takes more steps, so that more errors add up. If errors grow, or if
the error estimate of a method is too small, the energy and momentum balances of the run show it,
and the simulation is repeated (`flexarm.integrate.simulate.solve_until_kept`).
"""

import math

import numpy as np

from flexarm.integrate.constants import (
    IMPACT_SHARE,
    LEAST_STEP_TOLERANCE,
    NEAR_ROUNDING,
    NEGLECTED_SHARE,
    RESOLVED_RTOL,
    ROUNDING_SHARE,
    RTOL,
    STEP_TURN,
)
from flexarm.integrate.method import Method, ToleranceRule
from flexarm.integrate.state import StepLimits
from flexarm.integrate.task import InitialValueProblem, bumps, equal_step
from flexarm.mechanics.loads import coulomb_frictions

# Rules by name of the method, measured on random arms with laws, servos, friction and rails.
RULES = {
    "etd4": ToleranceRule(0.08, 7.5),
    "dop853": ToleranceRule(0.002, 50.0),
    "rodas4": ToleranceRule(0.005, 25.0),
}


def step_tolerance(problem: InitialValueProblem, method: Method, rtol: float) -> float:
    """Return the tolerance of a step at which a method meets the tolerance `rtol` of the run."""
    rule, resolves_fast = method.rule, method.adaptive and method.reach < np.inf
    periods = _vibrations(
        problem, method, threshold=NEGLECTED_SHARE * rtol if resolves_fast else None
    )
    if method.solves_vibrations:
        # Long steps do not resolve fast modes, which contribute little to deflections but much to
        # rates.
        rtol = min(rtol, math.sqrt(RESOLVED_RTOL * rtol))
    if bumps(problem.equation.model):
        rtol *= IMPACT_SHARE
    # The number of steps grows with this power of 1/tolerance, and the errors of all steps add up.
    share = rule.share * math.pow(rtol / RTOL, 1 / (method.order + 1))
    near_rounding = min(NEAR_ROUNDING, ROUNDING_SHARE * rtol)
    tolerance = share * rtol / max(1.0, periods / rule.periods)
    return max(tolerance, near_rounding, LEAST_STEP_TOLERANCE)


def _vibrations(problem: InitialValueProblem, method: Method, threshold: float | None) -> float:
    """Return over how many vibration periods errors add up in a deflection or its rate.

    The number is a mean over the modes, weighted by the share of each mode in the deflection;
    periods after the decay time of a mode do not count. With the argument `threshold`, the number
    is the largest one of the modes whose share exceeds it.
    """
    modes = problem.vibration.modes
    memory = 1 / np.maximum(modes.ratios * modes.frequencies, 1e-300)
    duration = float(problem.times[-1] - problem.times[0])
    periods = np.minimum(duration, memory) * modes.frequencies / (2 * np.pi)
    shares = problem.shares[0 if method.solves_vibrations else 1]
    weighted = (
        shares * periods if threshold is None else np.where(shares > threshold, 1.0, 0.0) * periods
    )
    return float((weighted.sum(axis=1) if threshold is None else weighted).max(initial=0.0))


def step_limits(
    problem: InitialValueProblem, method: Method, rtol: float, step: float | None = None
) -> StepLimits:
    """Return the tolerance of a step, the first step size [s] and the largest one [s].

    The argument `step` is the user's fixed step size [s], or None.
    """
    duration, vibration = float(problem.times[-1]), problem.vibration
    if method.adaptive:
        first = 0.01 / max(vibration.fastest, 10.0 / duration)
    else:
        first = equal_step(method, vibration, duration, rtol, step)
    # The damping of dry friction is linearised at standstill, and does not bound steps in slip.
    rate = vibration.fastest if coulomb_frictions(problem.equation.model) else vibration.largest
    spin_rate = max(
        (function.fastest for function in problem.motion.actuators.event_functions), default=0.0
    )
    longest = min(method.reach / max(rate, 1e-12), STEP_TURN / max(spin_rate, 1e-12))
    return StepLimits(step_tolerance(problem, method, rtol), first, longest)
