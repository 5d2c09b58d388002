"""Output error of a model over measured runs, and its derivatives by all that is fitted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from flexarm.arguments import listed, refused, require_mapping
from flexarm.errors import FlexarmError
from flexarm.fitting.recording import Recording, read_recording
from flexarm.fitting.sensor import ADJUSTED, Readings, Sensor
from flexarm.fitting.statistics import ResidualTest, from_inputs, whiteness
from flexarm.gradients.differentiable import Differentiable
from flexarm.links.base import Array
from flexarm.mechanics.loads import input_names
from flexarm.model import Model, start_state
from flexarm.runs.contents import input_units

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
    _last: dict[bytes, "tuple[Driven, ...] | None"] = field(default_factory=dict, repr=False)

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

    def at(self, values: Array) -> "tuple[Driven, ...] | None":
        """Run the model beside all recordings; None if it cannot be run."""
        key = values.tobytes()
        if key not in self._last:
            self._last.clear()
            try:
                self._last[key] = tuple(Driven(self, run, values) for run in self.runs)
            except FlexarmError:
                self._last[key] = None
        return self._last[key]

    def residuals(self, values: Array, noise: Array) -> Array:
        """Give all errors over the sensors' noise, run by run, sensor by sensor."""
        found = self.at(values)
        if found is None:
            return np.full(sum(run.outputs.size for run in self.runs), BROKEN)
        off = [(each.readings - each.run.outputs) * each.run.counts / noise for each in found]
        return np.concatenate([each.T.ravel() for each in off])

    def jacobian(self, values: Array, noise: Array) -> Array:
        """Differentiate the residuals, (N, k)."""
        found = self.at(values)
        if found is None:
            return np.zeros((sum(run.outputs.size for run in self.runs), len(self.names)))
        rows = [each.slopes * (each.run.counts / noise)[:, :, None] for each in found]
        flat = [np.swapaxes(each, 0, 1).reshape(-1, len(self.names)) for each in rows]
        return np.concatenate(flat)


class Driven:
    """The arm run beside a recording.

    Attributes
    ----------
    run
        The recording.
    readings
        Of all sensors, (T, sensors), in SI units.
    """

    def __init__(self, problem: Problem, run: MeasuredRun, values: Array) -> None:
        self.run, self._problem, self._values = run, problem, values
        count, driven = len(problem.keys), input_names(run.runs.equation.model)
        offsets = np.zeros(len(driven))
        self._places = [driven.index(name) for name in problem.input_offsets]
        offsets[self._places] = values[count : count + len(self._places)]
        self._inputs = run.inputs + offsets
        self._trajectory = run.runs.at(values[:count], q=run.start, inputs=self._inputs)
        model = self._trajectory.task.equation.model
        self._sensors = Readings.of(model, list(problem.sensors.values()))
        self._read = self._sensors.at(self._trajectory.states, self._inputs)
        self.readings = self._adjusted(None)[0]

    @cached_property
    def slopes(self) -> Array:
        """Derivatives of the readings by all that is fitted, (T, sensors, k)."""
        count = len(self._problem.keys)
        states, wide = self._trajectory.states, self._inputs.shape[1] if self._places else 0
        moved = self._trajectory.state_sensitivities(wide)
        by, size = self._sensors.slopes_at(states, self._inputs), states.shape[1]
        slopes = by[:, :, :size] @ moved
        slopes[:, :, :count] += self._direct(states)
        slopes[:, :, count:] += by[:, :, size:] if wide else 0.0
        kept = [*range(count), *(count + place for place in self._places)]
        return self._adjusted(slopes[:, :, kept])[1]

    def _direct(self, states: Array) -> Array:
        """Differentiate the readings by numbers at given states: places and shapes of links."""
        sensors = list(self._problem.sensors.values())

        def values(model: Model) -> Array:
            return Readings.of(model, sensors).at(states, self._inputs)

        found = np.zeros((len(states), len(sensors), len(self._problem.keys)))
        if any(_of_shapes(each) for each in sensors):
            here = values(self._trajectory.task.equation.model)
            for k, near in enumerate(self._trajectory.nearby.values()):
                there = np.array([values(model) - here for model in near.models])
                found[:, :, k] = np.tensordot(near.weights, there, 1)
        return found

    def _adjusted(self, slopes: Array | None) -> tuple[Array, Array]:
        """Apply gain, offset and delay of each sensor to readings and, if given, slopes."""
        problem, values, t = self._problem, self._values, self.run.recording.t
        place = len(problem.keys) + len(problem.input_offsets)
        more = np.zeros((len(t), len(problem.sensors), 0 if slopes is None else len(values)))
        if slopes is not None:
            more[:, :, :place] = slopes
        result = np.zeros_like(self._read)
        for s, sensor in enumerate(problem.sensors.values()):
            fitted = dict(zip(sensor.fit, values[place : place + len(sensor.fit)], strict=True))
            gain, offset, delay = (fitted.get(name, getattr(sensor, name)) for name in ADJUSTED)
            x, rate = self._read[:, s], np.zeros(len(t))
            if delay or "delay" in fitted:
                x, rate, more[:, s] = _delayed(t, x, more[:, s], delay)
            result[:, s] = gain * x + offset
            more[:, s] *= gain
            by = {"gain": x, "offset": np.ones(len(t)), "delay": -gain * rate}
            for k, name in enumerate(sensor.fit if slopes is not None else ()):
                more[:, s, place + k] = by[name]
            place += len(sensor.fit)
        return result, more


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


def read_recordings(data: object) -> list[Recording]:
    """Read one measured run, or several."""
    several = None if isinstance(data, str | Mapping | Recording) else listed(data)
    sources = [data] if several is None else several
    if not sources:
        raise refused("data", data, "at least one measured run")
    return [read_recording(each, f"data[{k}]") for k, each in enumerate(sources)]


def measured(
    runs: Differentiable,
    recording: Recording,
    inputs: Mapping[str, str] | None,
    sensors: Mapping[str, Sensor],
    start: str,
) -> MeasuredRun:
    """Put a recording beside runs of an arm at its samples."""
    model, units = runs.equation.model, input_units(runs.equation.model)
    require_mapping("inputs", inputs, "columns by joint")
    own = replace(runs, times=recording.t)
    given = own.input_samples.copy()
    for name, column in (inputs or {}).items():
        if name not in units:
            raise FlexarmError(
                f"inputs: no driven joint '{name}': there are {', '.join(units) or 'none'}"
            )
        given[:, list(units).index(name)] = recording.column(column, units[name])
    read = [recording.column(column, *each.units(model)) for column, each in sensors.items()]
    outputs = np.array(read).T
    begin = None
    if start == "measured":
        begin = _measured_start(model, list(sensors.values()), outputs[0])
    counts = np.array([each.counts(recording.t) for each in sensors.values()]).T
    return MeasuredRun(recording, own, given, outputs, counts, begin, dict(inputs or {}))


def _measured_start(model: Model, sensors: Sequence[Sensor], first: Array) -> Array:
    q, _ = start_state(model)
    for sensor, value in zip(sensors, first, strict=True):
        for axis in model.axes:
            if sensor.reads in (axis.name, f"{axis.name}.motor"):
                places = [k for k in (axis.index, axis.motor) if k is not None]
                q[places] = (value - sensor.offset) / sensor.gain
    return q


def tests_of(problem: Problem, values: Array) -> tuple[ResidualTest, ...]:
    """Test what is left of every sensor in every run."""
    found, tests = problem.at(values), []
    assert found is not None
    for run, each in zip(problem.runs, found, strict=True):
        for s, column in enumerate(problem.sensors):
            left = (run.outputs[:, s] - each.readings[:, s])[run.counts[:, s] > 0]
            rms = float(np.sqrt(np.mean(left**2)))
            size = max(float(run.outputs[run.counts[:, s] > 0, s].std()), 1e-300)
            tests.append(
                ResidualTest(run.recording.name, column, rms / size, rms, whiteness(left),
                             from_inputs(left, run.inputs[run.counts[:, s] > 0]))
            )  # fmt: skip
    return tuple(tests)
