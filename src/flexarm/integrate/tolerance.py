"""Tolerance per step at which a method meets the tolerance of a run, and step size bounds.

Errors of undamped vibrations accumulate over a run; errors of damped vibrations decay.  The share
of a run's tolerance that a step may take was measured, by method and by properties of the arm.
"""

import math

import numpy as np

from flexarm.integrate.constants import (
    BOUNCY_DAMPING,
    BOUNCY_RESTITUTION,
    CALIBRATED_VIBRATIONS,
    COUPLING_DAMPERS,
    LEAST_RAIL_TOLERANCE,
    LEAST_STEP_TOLERANCE,
    NEGLECTED_SHARE,
    STEP_TURN,
    STRONG_DAMPERS,
)
from flexarm.integrate.method import Method, ToleranceRule
from flexarm.integrate.state import StepLimits
from flexarm.integrate.task import (
    InitialValueProblem,
    bumps,
    equal_step,
    has_strong_dampers,
    has_tables,
)
from flexarm.mechanics.loads import coulomb_frictions


def _etd4(rtol: float, damped: bool) -> float:
    # Long steps do not resolve fast modes, which are small in deflections but not in rates.
    tolerance = min(rtol, math.sqrt(1e-3 * rtol))
    return 0.08 * tolerance if damped else 1.2e-5 * (rtol / 1e-3) ** 1.2


def _dop853(rtol: float, damped: bool) -> float:
    return max(0.002 * rtol, min(0.006 * rtol, 2e-11))  # near rounding from 2e-11 on


def _rodas4(rtol: float, damped: bool) -> float:
    return (0.01 if damped else 0.0025) * rtol


# Rules of the methods, by name.
RULES = {
    # The method's modes are those of the arm without the law, so that the law feeds their errors
    # back to the joints.  The error estimate assumes smooth and soft forces.
    "etd4": ToleranceRule(
        _etd4, under_law=0.01, under_friction=0.1, under_contact=0.01, under_bounces=0.2
    ),
    # The error estimate may vanish where a force begins to act.
    "dop853": ToleranceRule(_dop853, under_contact=0.02, under_bounces=0.005, on_rails=0.05),
    "rodas4": ToleranceRule(_rodas4, under_contact=0.3, under_bounces=0.05, on_rails=0.3),
}


def step_tolerance(
    problem: InitialValueProblem, method: Method, rtol: float, *, touching: bool = False
) -> float:
    """Return the tolerance per step of a method, for the tolerance `rtol` of the run.

    `touching` selects the tolerance from the first contact on.
    """
    rule, model, actuators = method.rule, problem.equation.model, problem.motion.actuators
    resolves_fast = method.adaptive and method.reach < np.inf
    periods = _vibrations(
        problem, method, threshold=NEGLECTED_SHARE * rtol if resolves_fast else None
    )
    has_spring_tables, has_rails = has_tables(model), any(part.on_rail for part in model.links)
    # Friction, states of drive trains and ties act outside of the modes.
    states = actuators.bristles or actuators.windings or actuators.ties
    has_friction = bool(states or coulomb_frictions(model))
    unsampled = [element for element in actuators.servos if element.servo.period is None]
    # Servos that act where they measure are springs and dampers of the modes.
    if problem.motion.ruled or not all(element.in_place for element in unsampled):
        rtol *= rule.under_law
    elif has_friction or has_strong_dampers(problem, STRONG_DAMPERS) or has_spring_tables:
        rtol *= rule.under_friction
    stops = [axis.acts.stops for axis in model.axes if axis.acts.stops is not None]
    if bumps(model):
        bounces = any(contact.damping < BOUNCY_DAMPING for contact in model.arm.contacts)
        bounces = bounces or any(element.restitution > BOUNCY_RESTITUTION for element in stops)
        rtol *= rule.under_contact
        rtol *= rule.under_bounces if bounces else 1.0
    elif has_rails:
        rtol = max(rtol * rule.on_rails, min(rtol, LEAST_RAIL_TOLERANCE))
    share = min(1.0, CALIBRATED_VIBRATIONS / max(periods, 1.0))
    # Rails and impacts change the modes and excite them.
    excited = has_rails or touching or bool(stops)
    accumulates = method.solves_vibrations and (
        _coupled(problem) or actuators.saturates or has_spring_tables
    )
    return max(
        rule.per_step(rtol, problem.damped and not (excited or accumulates)) * share,
        LEAST_STEP_TOLERANCE,
    )


def _vibrations(problem: InitialValueProblem, method: Method, threshold: float | None) -> float:
    """Return over how many vibration periods errors accumulate in a deflection or its rate.

    Periods count within the decay time of each mode, weighted by the share of the mode; with
    `threshold`, all periods of each mode whose share is larger count.
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


def _coupled(problem: InitialValueProblem) -> bool:
    """Return whether strong dampers couple modes, so that errors accumulate before they decay."""
    modes = problem.vibration.modes
    swings = np.where(problem.shares.carried & (modes.ratios < 1), modes.frequencies, 0.0)
    decays = np.where(modes.ratios < 1, 0.0, modes.frequencies)
    return bool(decays.max(initial=0.0) > COUPLING_DAMPERS * swings.max(initial=0.0))


def step_limits(
    problem: InitialValueProblem, method: Method, rtol: float, step: float | None = None
) -> StepLimits:
    """Return the tolerance per step and the bounds of the step size.

    `step` is the user's fixed step [s], if any.
    """
    tolerance = step_tolerance(problem, method, rtol)
    touching = step_tolerance(problem, method, rtol, touching=True)
    duration, vibration = float(problem.times[-1]), problem.vibration
    if method.adaptive:
        first = 0.01 / max(vibration.fastest, 10.0 / duration)
    else:
        first = equal_step(method, vibration, duration, rtol, step)
    # The slope of dry friction is that of standstill, and no bound while it slips.
    rate = vibration.fastest if coulomb_frictions(problem.equation.model) else vibration.largest
    spin_rate = max(
        (function.fastest for function in problem.motion.actuators.event_functions), default=0.0
    )
    longest = min(method.reach / max(rate, 1e-12), STEP_TURN / max(spin_rate, 1e-12))
    return StepLimits(tolerance, first, longest, touching / tolerance)
