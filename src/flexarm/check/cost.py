"""Estimate of the cost of 1 s of a run, with all shapes of an arm and with half of them."""

import math

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Counted
from flexarm.check.report import CostReport
from flexarm.errors import ModelError, ShapeError
from flexarm.integrate.actuators import actuators_of
from flexarm.integrate.choice.choose import forecast
from flexarm.integrate.choice.vibration import vibration
from flexarm.integrate.constants import RTOL
from flexarm.integrate.motion import InterpretedMotion
from flexarm.integrate.problem import channels
from flexarm.integrate.task import InitialValueProblem, State, equation_of
from flexarm.io.overrides import change_arm
from flexarm.linear.tangent import linearise_elastic, trace
from flexarm.linear_model import LinearModel
from flexarm.links.shape_counts import KEYS, chosen_counts
from flexarm.model import Model, build, start_state


def costs(model: Model, linear: LinearModel) -> tuple[CostReport, ...]:
    """Estimate the cost of 1 s of a run, with all shapes of the arm and with half of them.

    The second estimate is left out if no link has several shapes.

    Parameters
    ----------
    model
        The arm.
    linear
        Matrices of the arm at the start.
    """
    own, counts = _cost(model, linear, 0.0, {}), half_the_shapes(model.arm)
    if own is None or not counts:
        return () if own is None else (own,)
    changed = {f"links.{index + 1}.shapes": _with_counts(model.arm, index, count)
               for index, count in counts.items()}  # fmt: skip
    try:
        fewer = build(change_arm(model.arm, changed))
        theirs = linearise_elastic(fewer, trace(fewer), start_state(fewer)[0])
    except (ModelError, ShapeError):  # the file names shapes that it would not have
        return (own,)
    slowest = _slowest(model, linear)
    change = abs(_slowest(fewer, theirs) / slowest - 1) if slowest else 0.0
    names = {model.arm.link_names[index]: count for index, count in counts.items()}
    half = _cost(fewer, theirs, change, names)
    return (own,) if half is None else (own, half)


def half_the_shapes(arm: Arm) -> dict[int, dict[str, int]]:
    """Return halved shape numbers by link index and direction, for links with several shapes."""
    halves = {}
    for index, link in enumerate(arm.links):
        if link.modal is None and link.flexible and isinstance(link.shapes, Counted):
            now = {
                key: count.number for key, count in chosen_counts(arm, index, link.shapes).items()
            }
            if max(now.values()) > 1:
                halves[index] = {key: math.ceil(now[key] / 2) for key in KEYS}
    return halves


def _with_counts(arm: Arm, index: int, counts: dict[str, int]) -> dict[str, object]:
    choice = arm.links[index].shapes
    assert choice is not None
    return choice.model_dump(mode="json", exclude_unset=True) | {"kind": choice.kind} | counts


def _slowest(model: Model, linear: LinearModel) -> float:
    """Return the lowest nonzero frequency [rad/s] of the arm with free joints; 0 if there is none.

    Only the lowest frequency is used to compare models: with fewer shapes a higher mode may be
    missing, which would change the numbering of the modes.
    """
    free = [i for i in range(model.size) if i not in model.prescribed]
    frequencies = linear.along(free).elastic_modes().frequencies
    return float(frequencies[0]) if len(frequencies) else 0.0


def _cost(
    model: Model, linear: LinearModel, change: float, shapes: dict[str, dict[str, int]]
) -> CostReport | None:
    """Return the estimated cost of 1 s of a run; None if the arm cannot be simulated."""
    equation, (q, v), actuators = equation_of(model), start_state(model), actuators_of(model)
    stiff, damped = actuators.stiffness(model)
    shaken = vibration(model, linear.mass, linear.stiffness + stiff, linear.damping + damped, v)
    motion = InterpretedMotion(equation, None, actuators)
    groups, times = channels(model, {}, q, {}), np.array([0.0, 1.0])
    task = InitialValueProblem(equation, motion, groups, times, State(q, v), RTOL, shaken=[shaken])
    forecast_of_run = forecast(task, RTOL)
    if forecast_of_run is None:
        return None
    method, steps, seconds = forecast_of_run
    return CostReport(model.size, method.name, steps, seconds, change, shapes)
