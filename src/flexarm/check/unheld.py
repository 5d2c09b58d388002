"""Notices of joints without servo or brake whose inputs drive them beyond their limits."""

import math
from collections.abc import Iterator

import numpy as np

from flexarm.check.constants import CHECKED_DURATION, INPUT_SAMPLES
from flexarm.check.report import Notice, axis_place
from flexarm.linear_model import LinearModel
from flexarm.mechanics.loads import input_matrix
from flexarm.model import Axis, Model
from flexarm.model.profiles import breakpoints, evaluate
from flexarm.spatial import Array


def unheld_notices(
    model: Model, linear: LinearModel, start: Array, speeds: Array
) -> Iterator[Notice]:
    """Yield notices of joints whose inputs drive them beyond their limits, with the time.

    Notes
    -----
    The arm is taken as rigid, with the mass matrix of its start and without gravity; joints with a
    servo or a closed brake count as held.
    """
    from scipy.integrate import cumulative_trapezoid  # takes long to import

    inputs = [axis.acts.input for axis in model.axes if axis.driven]
    loose = [
        axis
        for axis in model.axes
        if not (axis.prescribed or axis.is_braked or axis.acts.servo is not None)
    ]
    if not any(inputs) or not loose:
        return
    unit = np.eye(model.size)
    moves = [unit[axis.index] + (0 if axis.motor is None else unit[axis.motor]) for axis in loose]
    moves += [unit[k] for k in range(6) if model.floats]
    columns = np.array(moves).T
    last = max((t for profile in inputs if profile for t in breakpoints(profile)), default=0.0)
    if any(evaluate(profile, last)[0] for profile in inputs if profile):
        last += CHECKED_DURATION
    times = np.linspace(0.0, last, INPUT_SAMPLES)
    u = [
        [evaluate(profile, t)[0] if profile else 0.0 for profile in inputs] for t in times.tolist()
    ]
    force = np.array(u) @ input_matrix(model).T @ columns
    a = np.linalg.solve(columns.T @ linear.mass @ columns, force.T).T
    v = cumulative_trapezoid(a, times, axis=0, initial=0)
    q = cumulative_trapezoid(v, times, axis=0, initial=0)
    for k, axis in enumerate(loose):
        moving, place = speeds[axis.index] + v[:, k], start[axis.index] + q[:, k]
        yield from _notice(axis, times, place + speeds[axis.index] * times, moving)


def _notice(axis: Axis, times: Array, place: Array, moving: Array) -> Iterator[Notice]:
    limits = axis.acts.limits
    if limits is None:
        return
    fastest = math.inf if limits.speed is None else limits.speed
    reached = {"speed": np.abs(moving) > fastest}
    if axis.acts.stops is None:
        low = -math.inf if limits.lower is None else limits.lower
        high = math.inf if limits.upper is None else limits.upper
        reached |= {"lower": place < low, "upper": place > high}
    first = {name: times[np.argmax(beyond)] for name, beyond in reached.items() if beyond.any()}
    if first:
        name = min(first, key=lambda joint: first[joint])
        yield Notice(
            "warning",
            "unheld-joint",
            f"{axis_place(axis)}.limits.{name}",
            f"the inputs drive {axis.name}, which nothing holds, beyond this limit after about "
            f"{first[name]:.2g} s, where a run would stop",
            "give it a servo or a brake, or change the inputs",
        )
