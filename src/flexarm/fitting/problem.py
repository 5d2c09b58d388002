"""Output error of a model over measured runs, and its derivatives by all that is fitted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.fitting.recording import Recording
from flexarm.fitting.sensor import ADJUSTED, Readings, Sensor
from flexarm.gradients.differentiable import Differentiable
from flexarm.gradients.trajectory import Trajectory
from flexarm.links.base import Array
from flexarm.mechanics.loads import input_names
from flexarm.model import Model

BROKEN = 1e3  # standard deviations: what a model that cannot be run is off by


@dataclass(frozen=True)
class MeasuredRun:
    """A recording, and how the arm is run beside it.

    Attributes
    ----------
    recording
        What was measured.
    runs
        Runs of the arm at its samples.
    inputs, outputs
        Measured inputs (T, inputs) and readings (T, sensors), in SI units.
    counts
        1 where a reading is believed, else 0, (T, sensors).
    start
        Where it begins, or None for where the model file says.
    columns
        Of the measured inputs, by joint.
    """

    recording: Recording
    runs: Differentiable
    inputs: Array
    outputs: Array
    counts: Array
    start: Array | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """Readings of a model in one run, (T, sensors), and their derivatives, (T, sensors, k)."""

    readings: Array
    slopes: Array


@dataclass
class Problem:
    """Sensors of an arm in measured runs as a function of what is fitted.

    Attributes
    ----------
    runs
        The measured runs.
    keys
        Numbers of the model file that are fitted.
    sensors
        By column of the recordings.
    input_offsets
        Joints whose measured input has an offset that is fitted.
    """

    runs: Sequence[MeasuredRun]
    keys: tuple[str, ...]
    sensors: Mapping[str, Sensor]
    input_offsets: tuple[str, ...] = ()
    _last: dict[bytes, tuple[Found, ...] | None] = field(default_factory=dict, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What is fitted: keys, then offsets of inputs, then gains, offsets, delays of sensors."""
        adjusted = [f"{c}: {each}" for c, s in self.sensors.items() for each in s.fit]
        return (*self.keys, *(f"{name}: input offset" for name in self.input_offsets), *adjusted)

    @cached_property
    def first(self) -> Array:
        """Where the fit begins, (k,)."""
        adjusted = [getattr(s, each) for s in self.sensors.values() for each in s.fit]
        values = self.runs[0].runs.values
        return np.concatenate([values, np.zeros(len(self.input_offsets)), adjusted])

    def at(self, values: Array) -> tuple[Found, ...] | None:
        """Give the readings of all runs and their derivatives; None if the model cannot be run."""
        key = values.tobytes()
        if key not in self._last:
            try:
                found = tuple(self._run(run, values) for run in self.runs)
            except FlexarmError:
                self._last[key] = None
            else:
                self._last.clear()
                self._last[key] = found
        return self._last[key]

    def residuals(self, values: Array, noise: Array) -> Array:
        """Give all errors over the sensors' noise, run by run, sensor by sensor."""
        found = self.at(values)
        if found is None:
            return np.full(sum(run.outputs.size for run in self.runs), BROKEN)
        off = [
            (f.readings - run.outputs) * run.counts / noise
            for f, run in zip(found, self.runs, strict=True)
        ]
        return np.concatenate([each.T.ravel() for each in off])

    def jacobian(self, values: Array, noise: Array) -> Array:
        """Differentiate the residuals, (N, k)."""
        found = self.at(values)
        if found is None:
            return np.zeros((sum(run.outputs.size for run in self.runs), len(self.names)))
        rows = [
            np.swapaxes(f.slopes * (run.counts / noise)[:, :, None], 0, 1)
            for f, run in zip(found, self.runs, strict=True)
        ]
        return np.concatenate([each.reshape(-1, len(self.names)) for each in rows])

    def _run(self, run: MeasuredRun, values: Array) -> Found:
        sensors = list(self.sensors.values())
        count, driven = len(self.keys), input_names(run.runs.equation.model)
        offsets = np.zeros(len(driven))
        places = [driven.index(name) for name in self.input_offsets]
        offsets[places] = values[count : count + len(places)]
        inputs = run.inputs + offsets
        trajectory = run.runs.at(values[:count], q=run.start, inputs=inputs)
        wide = len(driven) if places else 0
        states = trajectory.states
        moved = trajectory.state_sensitivities(wide)
        model = trajectory.task.equation.model
        read, by = Readings.of(model, sensors).at(states, inputs)
        size = states.shape[1]
        slopes = by[:, :, :size] @ moved
        slopes[:, :, :count] += self._direct(trajectory, states, inputs)
        slopes[:, :, count:] += by[:, :, size:] if wide else 0.0
        kept = [*range(count), *(count + place for place in places)]
        return self._adjusted(run, values, read, slopes[:, :, kept])

    def _direct(self, trajectory: Trajectory, states: Array, inputs: Array) -> Array:
        """Differentiate the readings by numbers at given states: places and shapes of links."""
        sensors = list(self.sensors.values())

        def values(model: Model) -> Array:
            return Readings.of(model, sensors).at(states, inputs)[0]

        found = np.zeros((len(states), len(sensors), len(self.keys)))
        if any(_of_shapes(each) for each in sensors):
            here = values(trajectory.task.equation.model)
            for k, near in enumerate(trajectory.nearby.values()):
                there = np.array([values(model) - here for model in near.models])
                found[:, :, k] = np.tensordot(near.weights, there, 1)
        return found

    def _adjusted(self, run: MeasuredRun, values: Array, read: Array, slopes: Array) -> Found:
        """Apply gain, offset and delay of each sensor."""
        t, place = run.recording.t, len(self.keys) + len(self.input_offsets)
        more = np.zeros((len(t), len(self.sensors), len(values)))
        more[:, :, :place] = slopes
        result = np.zeros_like(read)
        for s, sensor in enumerate(self.sensors.values()):
            fitted = dict(zip(sensor.fit, values[place : place + len(sensor.fit)], strict=True))
            gain, offset, delay = (fitted.get(name, getattr(sensor, name)) for name in ADJUSTED)
            x, rate = read[:, s], np.zeros(len(t))
            if delay or "delay" in fitted:
                x, rate, more[:, s] = _delayed(t, x, more[:, s], delay)
            result[:, s] = gain * x + offset
            more[:, s] *= gain
            by = {"gain": x, "offset": np.ones(len(t)), "delay": -gain * rate}
            for k, name in enumerate(sensor.fit):
                more[:, s, place + k] = by[name]
            place += len(sensor.fit)
        return Found(result, more)


def _of_shapes(sensor: Sensor) -> bool:
    """Tell whether a reading depends on the arm beside its state."""
    return (
        not isinstance(sensor.reads, str)
        or sensor.reads.startswith("tip.")
        or (sensor.reads.endswith(".current"))
    )


def _delayed(t: Array, x: Array, slopes: Array, delay: float) -> tuple[Array, Array, Array]:
    """Delay a reading and its derivatives: values, rates, derivatives at earlier times."""
    from scipy.interpolate import CubicSpline

    late = np.clip(t - delay, t[0], t[-1])
    curve = CubicSpline(t, x)
    moving = np.where((t - delay >= t[0]) & (t - delay <= t[-1]), curve(late, 1), 0.0)
    return np.asarray(curve(late)), moving, np.asarray(CubicSpline(t, slopes)(late))
