"""The tolerance per step at which a method keeps the tolerance of a run.

Errors of undamped vibrations add up over a run; those of damped ones die away.  Which part of a
run's tolerance a step may take was measured, by method and by what is in the arm.
"""

import math

import numpy as np

from flexarm.integrate.method import Method, ToleranceRule
from flexarm.integrate.state import StepLimits
from flexarm.integrate.task import (
    InitialValueProblem,
    bumps,
    equal_step,
    has_dry_friction,
    has_stops,
    has_strong_dampers,
    has_tables,
)
from flexarm.model import Model

CALIBRATED = 50.0  # vibrations that a run may have at the tolerance per step that rules state
LEAST = 1e-14  # tolerance per step: rounding of double precision is near
# No rule asks for less where a carriage passes a node of its rail: rounding is near.
ROUNDS = 1e-10
UNSEEN = 0.05  # share in the deflections, relative to the tolerance: a mode with less may be wrong
BOUNCY = 1.0  # damping of a contact [s/m] below which an impact at 1 m/s gives most back
SPRINGY = 0.8  # restitution of a stop above which it does
STRONG = 1.5  # eigenvalues this many times the fastest mode are those of dampers, as etd4 sees it


def _etd4(wanted: float, damped: bool) -> float:
    # Long steps see too little of fast modes that hardly matter in deflections, but in rates.
    lasting = min(wanted, math.sqrt(1e-3 * wanted))
    return 0.08 * lasting if damped else 1.2e-5 * (wanted / 1e-3) ** 1.2


def _dop853(wanted: float, damped: bool) -> float:
    return max(0.002 * wanted, min(0.006 * wanted, 2e-11))  # beyond that rounding is near


def _rodas4(wanted: float, damped: bool) -> float:
    return (0.01 if damped else 0.0025) * wanted


# Rules of the methods, by name.
RULES = {
    # Its modes are those of the arm without the law: what it errs there, a law that holds the
    # joints to a motion sees in the joints.  Its error estimate takes forces to be smooth and soft.
    "etd4": ToleranceRule(
        _etd4, under_law=0.01, under_friction=0.1, under_contact=0.01, under_bounces=0.2
    ),
    # Its error estimate may vanish where a force sets in.
    "dop853": ToleranceRule(_dop853, under_contact=0.02, under_bounces=0.005, on_rails=0.05),
    "rodas4": ToleranceRule(_rodas4, under_contact=0.3, under_bounces=0.05, on_rails=0.3),
}


def step_tolerance(
    problem: InitialValueProblem, method: Method, wanted: float, *, touching: bool = False
) -> float:
    """Return the tolerance per step, touching or free."""
    rule = method.rule
    followed = method.adaptive and method.reach < np.inf
    counted = problem.vibrations(
        rates=not method.solves_vibrations, least=UNSEEN * wanted if followed else None
    )
    model, actuators = problem.equation.model, problem.motion.actuators
    # Friction, states of drive trains and ties act outside of the modes.
    states = actuators.bristles or actuators.windings or actuators.ties
    rubs = bool(states) or has_dry_friction(model)
    if problem.motion.ruled or not actuators.is_in_basis:
        wanted *= rule.under_law
    elif rubs or has_strong_dampers(problem, STRONG) or has_tables(model):
        wanted *= rule.under_friction
    rides = any(part.on_rail for part in model.links)
    if bumps(model):
        wanted *= rule.under_contact
        wanted *= rule.under_bounces if _bounces(model) else 1.0
    elif rides:
        wanted = max(wanted * rule.on_rails, min(wanted, ROUNDS))
    share = min(1.0, CALIBRATED / max(counted, 1.0))
    # What rides or touches changes the modes and jolts them.
    jolted = rides or touching or has_stops(model)
    changes = problem.coupled or actuators.gives_way or has_tables(model)
    lasts = method.solves_vibrations and changes
    damped = problem.damped and not (jolted or lasts)
    return max(rule.per_step(wanted, damped) * share, LEAST)


def step_limits(
    problem: InitialValueProblem, method: Method, wanted: float, step: float | None = None
) -> StepLimits:
    """Choose the tolerance per step and the bounds of steps; an equal step may be given [s]."""
    tolerance = step_tolerance(problem, method, wanted)
    touching = step_tolerance(problem, method, wanted, touching=True)
    if method.adaptive:
        first = problem.trial_step
    else:
        duration = float(problem.times[-1])
        first = equal_step(method, problem.vibration, duration, wanted, step)
    return StepLimits(tolerance, first, problem.longest_step(method), touching / tolerance)


def _bounces(model: Model) -> bool:
    """Tell whether an arm bounces off something, again and again."""
    stops = (axis.acts.stops for axis in model.axes)
    return any(contact.damping < BOUNCY for contact in model.arm.contacts) or any(
        each is not None and each.restitution > SPRINGY for each in stops
    )
