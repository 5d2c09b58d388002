"""Shapes and checks of arrays for calls with one state or a batch of states."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arguments import refused, require_array
from flexarm.engine.compile import Compiled, real_numbers
from flexarm.errors import FlexarmError
from flexarm.formulations.constants import RANGE_SLACK
from flexarm.model import Model
from flexarm.spatial import Array

Time = float | Array


def checked_time(t: Any, *arrays: ArrayLike) -> Time:
    """Return a time [s] as a float, or an array (N,) for a batch; raise an error if invalid."""
    if type(t) is float and math.isfinite(t):
        return t
    try:
        times = require_array("t", t)
    except FlexarmError:
        raise refused("t", t, "a finite time in seconds") from None
    if not times.ndim:
        return float(times)
    rows = {len(a) for a in arrays if axes_of(a) == 2}  # type: ignore[arg-type]
    if times.ndim > 1 or not rows:
        raise refused("t", t, "a time in seconds, one number")
    if rows != {len(times)}:
        raise refused("t", t, "one time in seconds, or one per row of the batch")
    return times


def rows_of(compiled: Compiled, inputs: tuple[ArrayLike, ...]) -> int | None:
    """Return the number of rows of a batch, or None for a single state."""
    counts = {
        port.name: len(argument)  # type: ignore[arg-type]
        for port, argument in zip(compiled.inputs, inputs, strict=False)
        if axes_of(argument) == len(port.shape) + 1
    }
    if not counts:
        return None
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise FlexarmError(f"batch: all arrays must have the same number of rows, got {sizes}")
    return next(iter(counts.values()))


def axes_of(value: Any) -> int:
    """Return the number of axes of an array; -1 for other values."""
    if type(value) is np.ndarray:
        return value.ndim
    try:
        numbers = np.asarray(value)
    except Exception:  # rows of unequal length, or any error of a foreign object
        return -1
    return numbers.ndim if numbers.dtype.kind in "fiub" else -1


def as_matrix(result: Array, rows: int, columns: int) -> Array:
    """Return a flat result reshaped to a matrix, for one state or each state of a batch."""
    axes = 1 if columns == 1 else 2
    return result.reshape(*result.shape[: result.ndim - axes], rows, columns)


def within_range(model: Model, q: Array) -> Array:
    """Return coordinates as an array; raise an error if a sliding link is beyond its range."""
    n = model.size
    q = real_numbers("q", q, (len(q), n) if axes_of(q) == 2 else (n,))
    for index, low, high in model.sliding_ranges:
        lengths = np.atleast_1d(q[..., index])
        is_outside = (lengths < low - RANGE_SLACK * high) | (lengths > high * (1 + RANGE_SLACK))
        if is_outside.any():
            name = next(p.stroke.name for p in model.links if p.stroke and p.exposed == index)
            raise FlexarmError(
                f"q[{index}]: the {name} {model.names[index]} must be {low:g} to {high:g} m, "
                f"the range of its shapes, got {lengths[is_outside][0]:g} m. Change q, or the "
                "joint's limits."
            )
    return q


def at_times(function: Callable[[Model, float], Array], model: Model, t: Time) -> Array:
    """Evaluate a function of time at one time, or at every time of a batch, one row per time.

    Functions without values are evaluated once.
    """
    if not isinstance(t, np.ndarray):
        return function(model, t)
    initial = function(model, 0.0)
    if not initial.size:
        return initial
    return np.array([function(model, float(time)) for time in t]).reshape(len(t), *initial.shape)
