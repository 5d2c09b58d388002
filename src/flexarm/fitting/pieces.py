"""Division of measured runs into short pieces with initial states estimated from the sensors."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from flexarm.fitting.constants import (
    FEWEST_SAMPLES,
    RATE_NEIGHBOURS,
    STATE_ITERATIONS,
    WIND_UP_WEIGHT,
)
from flexarm.fitting.problem import MeasuredRun
from flexarm.fitting.recording import Recording
from flexarm.fitting.sensor import Readings, Sensor
from flexarm.model import Model, start_state
from flexarm.spatial import Array


def pieces(run: MeasuredRun, sensors: Mapping[str, Sensor], horizon: float) -> list[MeasuredRun]:
    """Return pieces of a measured run of about ``horizon`` seconds.

    Each piece starts from the state estimated from the sensors.

    Notes
    -----
    Errors of a model grow with time: over a whole run the squared residuals may be dominated by
    drift, or have a local minimum for each period of a vibration. Over short pieces errors stay
    small.
    """
    t = run.recording.t
    count = max(1, round(float(t[-1]) / horizon))
    cuts = np.unique(np.searchsorted(t, np.linspace(0, t[-1], count + 1)[1:-1]))
    ends = [
        0,
        *(int(k) for k in cuts if FEWEST_SAMPLES <= k <= len(t) - FEWEST_SAMPLES),
        len(t) - 1,
    ]
    states = _states(run, list(sensors.values()), ends[1:-1])
    starts = [(run.start, run.rates), *states]
    return [
        _piece(run, begin, end + 1, *state)
        for begin, end, state in zip(ends[:-1], ends[1:], starts, strict=True)
        if end + 1 - begin >= FEWEST_SAMPLES
    ]


def _piece(run: MeasuredRun, begin: int, end: int, q: Array | None, v: Array | None) -> MeasuredRun:
    whole, part = run.recording, slice(begin, end)
    t = whole.t[part]  # times of the whole run, which inputs and targets are functions of
    return replace(
        run, recording=Recording(whole.name, t, {}, whole.digest),
        runs=replace(run.runs, times=t), inputs=run.inputs[part], outputs=run.outputs[part],
        counts=run.counts[part], start=q, rates=v,
    )  # fmt: skip


def _states(
    run: MeasuredRun, sensors: list[Sensor], places: list[int]
) -> list[tuple[Array, Array]]:
    """Return the estimated state (q, v) at each sample of ``places``, shape (n,) each.

    The estimate is the minimum-norm change of the initial posture that agrees with the sensors,
    found by Newton's method.
    """
    model = run.runs.equation.model
    readings, ways = Readings.of(model, sensors), _ways(model)
    n, size = model.size, readings.values.size1_in(0)
    gains, offsets, delays = np.array([(s.gain, s.offset, s.delay) for s in sensors]).T
    first, _ = start_state(model)
    states = []
    for place in places:
        near = slice(max(0, place - RATE_NEIGHBOURS), place + RATE_NEIGHBOURS + 1)
        t = run.recording.t[near] - run.recording.t[place]
        curves = np.polyfit(t, (run.outputs[near] - offsets) / gains, 3)
        now = curves[3] + delays * curves[2]
        believed = run.counts[place] > 0
        y, u = np.zeros(size), run.inputs[place : place + 1]
        y[:n] = first
        for _ in range(STATE_ITERATIONS):
            read, by = readings.at(y[None], u)[0], readings.slopes_at(y[None], u)[0]
            of_rates = np.abs(by[:, n : 2 * n]).any(axis=1)
            placed = believed & ~of_rates & np.abs(by[:, :n]).any(axis=1)
            y[:n] += _smallest(by[placed, :n], (now - read)[placed], ways)
        moved = np.vstack([by[placed, :n], by[believed & of_rates, n : 2 * n]])
        rates = np.concatenate([curves[2][placed], now[believed & of_rates]])
        states.append((y[:n].copy(), _smallest(moved, rates, ways)))
    return states


def _smallest(slopes: Array, change: Array, ways: Array) -> Array:
    """Return the smallest motion (n,), among combinations of ``ways``, that explains a reading.

    ``slopes`` are the derivatives of the sensor readings by the coordinates.
    """
    if not len(change):
        return np.zeros(len(ways))
    return np.asarray(ways @ np.linalg.lstsq(slopes @ ways, change, rcond=1e-9)[0])


def _ways(model: Model) -> Array:
    """Return a basis of motions, (n, n): joints moving with their motors, then gear wind-ups.

    Gear wind-ups are scaled down. Prescribed coordinates do not move.
    """
    ways = np.eye(model.size)
    for axis in model.axes:
        if axis.motor is not None:
            ways[axis.motor, axis.index] = 1.0
            ways[axis.motor, axis.motor] = WIND_UP_WEIGHT
    ways[list(model.prescribed)] = 0.0
    return ways
