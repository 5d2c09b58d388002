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
        port.name: len(given)  # type: ignore[arg-type]
        for port, given in zip(compiled.inputs, inputs, strict=False)
        if axes_of(given) == len(port.shape) + 1
    }
    if not counts:
        return None
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise FlexarmError(f"batch: all arrays must have the same number of rows, got {listed}")
    return next(iter(counts.values()))


def axes_of(given: Any) -> int:
    """Return the number of axes of an array; -1 for other values."""
    if type(given) is np.ndarray:
        return given.ndim
    try:
        numbers = np.asarray(given)
    except Exception:  # rows of unequal length, and what a foreign object raises
        return -1
    return numbers.ndim if numbers.dtype.kind in "fiub" else -1


def as_matrix(found: Array, rows: int, columns: int) -> Array:
    """Return a flat result reshaped to a matrix, for one state or each state of a batch."""
    single = 1 if columns == 1 else 2
    return found.reshape(*found.shape[: found.ndim - single], rows, columns)


def within_range(model: Model, q: Array) -> Array:
    """Return coordinates as an array; raise an error if a sliding link is out of its range."""
    n = model.size
    q = real_numbers("q", q, (len(q), n) if axes_of(q) == 2 else (n,))
    for index, low, high in model.sliding_ranges:
        lengths = np.atleast_1d(q[..., index])
        out = (lengths < low - RANGE_SLACK * high) | (lengths > high * (1 + RANGE_SLACK))
        if out.any():
            what = next(p.stroke.name for p in model.links if p.stroke and p.exposed == index)
            raise FlexarmError(
                f"q[{index}]: the {what} {model.names[index]} must be {low:g} to {high:g} m, "
                f"the range that its shapes are built for, got {lengths[out][0]:g} m. Change q, "
                "or limits or length in the arm."
            )
    return q


def at_times(function: Callable[[Model, float], Array], model: Model, t: Time) -> Array:
    """Return a function of time at one time, or at all times of a batch, one row each.

    Functions without values are evaluated once.
    """
    if not isinstance(t, np.ndarray):
        return function(model, t)
    first = function(model, 0.0)
    if not first.size:
        return first
    return np.array([function(model, float(each)) for each in t]).reshape(len(t), *first.shape)
