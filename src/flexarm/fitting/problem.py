"""Residuals between simulated and measured runs, and d residuals / d fitted values.

Long runs can be divided into short segments, whose initial states are estimated from the sensors.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from flexarm.arguments import listed, refused, require_mapping
from flexarm.arm.profile import Interpolation
from flexarm.control.sensors import Gauge
from flexarm.errors import FlexarmError
from flexarm.fitting.constants import (
    DELAY_STEP,
    DIVERGED,
    FEWEST_SAMPLES,
    HALVING_ERROR,
    RATE_NEIGHBOURS,
    STATE_ITERATIONS,
    WIND_UP_WEIGHT,
)
from flexarm.fitting.recording import (
    ADJUSTED,
    Readings,
    Recording,
    Sensor,
    delayed,
    lagged,
    read_recording,
)
from flexarm.fitting.responses import read_response, respond, stacked
from flexarm.fitting.statistics import ResidualTest, from_inputs, whiteness
from flexarm.formulations.numbers import Nearby, changed_model
from flexarm.gradients.events.crossing import HybridTrajectory
from flexarm.gradients.runs import Differentiable
from flexarm.mechanics.loads import input_names
from flexarm.model import Model, start_state
from flexarm.runs.contents import input_units
from flexarm.spatial import Array

# A run starts as in the model file, with joints at their first measured positions, or in the state
# that the first readings of all sensors suggest.
Begins = Literal["model", "measured", "estimated"]
NO_WORDS: Mapping[str, Interpolation] = {}
BEGINS: tuple[Begins, ...] = ("model", "measured", "estimated")


@dataclass(frozen=True)
class MeasuredRun:
    """A measured run or frequency response with the data required to simulate it."""

    recording: Recording  # the recording
    runs: Differentiable  # simulations of the arm at the recording's sample times
    inputs: Array  # inputs, measured or of the model file, (T, inputs); 0 of a frequency response
    outputs: Array  # readings in SI units, (T, sensors), or `stacked` frequency responses
    counts: Array  # weights of the readings, (T, sensors); 0 or 1 for time histories
    start: Array | None = None  # initial coordinates, (n,); of the model file if None
    rates: Array | None = None  # initial rates, (n,); 0 if None
    columns: Mapping[str, str] = field(default_factory=dict)  # columns of measured inputs by joint
    # How measured inputs are interpolated between their samples, by joint; linearly if not given.
    interpolation: Mapping[str, Interpolation] = field(default_factory=dict)
    begins: Begins = "model"  # which initial state the run has
    # Measured positions at which joints rest in the equilibrium of the start, by joint.
    positions: Mapping[str, float] = field(default_factory=dict)

    @property
    def measured_inputs(self) -> dict[str, Array]:
        """Measured inputs keyed by joint name, shape (T,) each."""
        names = input_names(self.runs.equation.model)
        return {name: self.inputs[:, names.index(name)] for name in self.columns}


@dataclass
class FitProblem:
    """Least-squares problem of fitting simulated to measured sensor readings."""

    runs: Sequence[MeasuredRun]  # the measured runs
    keys: tuple[str, ...]  # keys of the fitted numbers of the model file
    sensors: Mapping[str, Sensor]  # sensors by column of the recordings
    input_offsets: tuple[str, ...] = ()  # joints whose input has a fitted offset
    # Initial guesses [s] of the fitted delays of inputs, by joint.
    input_delays: Mapping[str, float] = field(default_factory=dict)
    # Prior standard deviations of the fitted values about their initial guesses, (k,); infinite for
    # values without a prior, empty if no value has one.
    priors: Array = field(default_factory=lambda: np.zeros(0))
    # Mask of the fitted values whose prior is one of the logarithm, (k,); empty if there is none.
    logarithmic: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    # Number of correlated readings with as much information as one independent reading.
    redundancy: float = 1.0
    _last: dict[bytes, "tuple[Driven | Responding, ...]"] = field(default_factory=dict, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the fitted values: model parameters, adjustments of inputs and of sensors."""
        adjusted = [f"{c}: {adjustment}" for c, s in self.sensors.items() for adjustment in s.fit]
        offsets = [f"{name}: input offset" for name in self.input_offsets]
        delays = [f"{name}: input delay" for name in self.input_delays]
        return (*self.keys, *offsets, *delays, *adjusted)

    @cached_property
    def first(self) -> Array:
        """Initial guess of the fitted values, shape (k,)."""
        adjusted = [getattr(s, adjustment) for s in self.sensors.values() for adjustment in s.fit]
        values = self.runs[0].runs.values
        delays = list(self.input_delays.values())
        return np.concatenate([values, np.zeros(len(self.input_offsets)), delays, adjusted])

    @cached_property
    def noises(self) -> tuple[str, ...]:
        """Names of the noise levels: one per sensor, and one per sensor's frequency responses."""
        kinds = sorted({run.recording.is_response for run in self.runs})
        return tuple(f"{c} response" if kind else c for kind in kinds for c in self.sensors)

    @cached_property
    def measured(self) -> tuple[Array, Array, npt.NDArray[np.int_]]:
        """Measured readings, their weights, and indices of their noise levels, (N,) each.

        All three arrays are ordered by run, then sensor, then sample.
        """
        outputs, counts = flat([r.outputs for r in self.runs]), flat([r.counts for r in self.runs])
        sensors, kinds = np.arange(len(self.sensors)), len(self.noises) - len(self.sensors)
        places = [
            np.tile(sensors + kinds * run.recording.is_response, (len(run.outputs), 1))
            for run in self.runs
        ]
        return outputs, counts, flat(places)

    def adjustments(self, values: Array) -> Iterator[tuple[Sensor, int, dict[str, float]]]:
        """Yield each sensor with the index of its first fitted value and its adjustments.

        The adjustments are the gain, offset, delay and lag, by name.
        """
        place = len(self.keys) + len(self.input_offsets) + len(self.input_delays)
        for sensor in self.sensors.values():
            own: dict[str, float] = {name: getattr(sensor, name) for name in ADJUSTED}
            yield sensor, place, own | dict(zip(sensor.fit, values[place:], strict=False))
            place += len(sensor.fit)

    def at(self, values: Array) -> "tuple[Driven | Responding, ...]":
        """Simulate every measured run with given fitted values.

        Raise an error if the model cannot be simulated.
        """
        key = values.tobytes()
        if key not in self._last:
            self._last.clear()
            simulated: list[Driven | Responding] = []
            like: Driven | None = None
            for run in self.runs:
                if run.recording.is_response:
                    simulated.append(Responding(self, run, values))
                else:
                    simulated.append(Driven(self, run, values, like))
                    like = like or simulated[-1]  # type: ignore[assignment]
            self._last[key] = tuple(simulated)
        return self._last[key]

    def finer(self, times: int) -> "FitProblem":
        """Return the problem with integration steps shortened by the factor ``times``."""
        runs = [
            replace(run, runs=replace(run.runs, finer=run.runs.finer * times)) for run in self.runs
        ]
        return replace(self, runs=runs, _last={})

    def step_errors(self, values: Array, noise: Array) -> Array:
        """Return the discretisation errors of the readings, relative to the noise, shape (N,).

        The errors are estimated from simulations with halved steps and ordered like the residuals.
        """
        try:
            closer = self.finer(2).at(values)
        except FlexarmError as error:
            raise FlexarmError(
                "step: the result of the fit depends on the step, and the fitted arm cannot be "
                f"run with half of it ({error}). Give a smaller 'step'."
            ) from None
        off = self._readings(values) - flat([run.readings for run in closer])
        return HALVING_ERROR * self._over_noise(off, noise)

    def _readings(self, values: Array) -> Array:
        """Return the simulated readings of all runs, shape (N,), in the order of the residuals."""
        return flat([run.readings for run in self.at(values)])

    def left(self, values: Array) -> list[Array]:
        """Return the weighted residuals, not divided by the noise, as one array per noise level.

        The arrays are in the order of `noises`; readings with zero weight are omitted. The weights
        of time histories are 0 or 1, so that their residuals are in SI units.
        """
        outputs, counts, places = self.measured
        off = (self._readings(values) - outputs) * counts
        return [off[(places == k) & (counts > 0)] for k in range(len(self.noises))]

    def residuals(self, values: Array, noise: Array) -> Array:
        """Return all residuals divided by the noise, (N,); infinite if the simulation fails.

        Residuals are ordered by run, then sensor, then sample.
        """
        try:
            readings = self._readings(values)
        except FlexarmError:  # the search then takes a shorter step
            return np.full(len(self.measured[0]), np.inf)
        return self._over_noise(readings - self.measured[0], noise)

    def search_residuals(self, values: Array, noise: Array) -> Array:
        """Return the residuals, followed by the weighted distances from the initial guesses."""
        known, first = np.isfinite(self.priors), self.first[: len(self.priors)]
        away = values[: len(first)] - first
        by_ratio = self.logarithmic
        ratios = values[: len(first)][by_ratio] / first[by_ratio]
        away[by_ratio] = first[by_ratio] * np.log(ratios)
        weighted = np.sqrt(self.redundancy) * away[known] / self.priors[known]
        return np.concatenate([self.residuals(values, noise), weighted])

    def search_jacobian(self, values: Array, noise: Array) -> Array:
        """Return the Jacobian of `search_residuals` with respect to the fitted values."""
        return np.vstack([self.jacobian(values, noise), self.prior_jacobian(values)])

    def prior_jacobian(self, values: Array) -> Array:
        """Return the derivatives of the weighted distances from the initial guesses, (m, k)."""
        known, by_ratio = np.isfinite(self.priors), self.logarithmic
        slopes = np.ones(len(known))
        slopes[by_ratio] = self.first[: len(known)][by_ratio] / values[: len(known)][by_ratio]
        rows = (np.sqrt(self.redundancy) * slopes / self.priors)[:, None] * np.eye(len(values))[
            : len(known)
        ]
        return np.asarray(rows[known])

    def _over_noise(self, off: Array, noise: Array) -> Array:
        """Return errors of readings multiplied by their weights and divided by the noise, (N,)."""
        _, counts, places = self.measured
        return np.asarray(off * counts / noise[places])

    def jacobian(self, values: Array, noise: Array) -> Array:
        """Return the Jacobian of the residuals with respect to the fitted values, shape (N, k).

        Raises
        ------
        FlexarmError
            If the derivatives grow without bound.
        """
        _, counts, places = self.measured
        slopes = flat([run.slopes for run in self.at(values)])
        jacobian = np.asarray(slopes * (counts / noise[places])[:, None])
        if np.abs(jacobian).max(initial=0.0) < DIVERGED:  # false of NaN too
            return jacobian
        raise FlexarmError(
            "step: the derivatives of a run overflow at some of the tried parameter values. The "
            "steps are too long for the friction or the stiffness there. Give a smaller 'step', "
            "or tighter bounds of the parameters."
        )


class Driven:
    """Simulation of a measured time history with given fitted values.

    Attributes
    ----------
    run
        The recording.
    readings
        Readings of all sensors in SI units, (T, sensors).
    """

    def __init__(
        self, problem: FitProblem, run: MeasuredRun, values: Array, like: "Driven | None" = None
    ) -> None:
        self.run, self._problem, self._values, self._like = run, problem, values, like
        count, driven = len(problem.keys), input_names(run.runs.equation.model)
        self._places = [driven.index(name) for name in problem.input_offsets]
        offsets, delays, _ = np.split(
            values[count:], np.cumsum([len(self._places), len(problem.input_delays)])
        )
        self._offsets = dict(zip(problem.input_offsets, offsets.tolist(), strict=True))
        self._delays = dict(zip(problem.input_delays, delays.tolist(), strict=True))
        self._trajectory: HybridTrajectory = self._run(
            self._delays, None if like is None else like._trajectory
        )
        self._inputs = self._trajectory.inputs
        self._first = self._trajectory.parts[0]
        self._sensors: Readings = (
            Readings.of(self._first.task.equation.model, list(problem.sensors.values()))
            if like is None
            else like._sensors
        )
        self._read = self._sensors.at(self._trajectory.states, self._inputs)
        self.readings = self._adjusted(None)[0]

    def _run(self, delays: Mapping[str, float], like: HybridTrajectory | None) -> HybridTrajectory:
        """Simulate the run with given delays of the inputs [s]."""
        run = self.run
        return run.runs.at(
            self._values[: len(self._problem.keys)], q=run.start, v=run.rates,
            positions=run.positions, inputs=run.measured_inputs, offsets=self._offsets,
            delays=delays, interpolation=run.interpolation, like=like,
        )  # fmt: skip

    @cached_property
    def slopes(self) -> Array:
        """Derivatives d readings / d fitted values of all sensors, shape (T, sensors, k)."""
        count = len(self._problem.keys)
        states, wide = self._trajectory.states, self._inputs.shape[1] if self._places else 0
        moved = self._trajectory.state_sensitivities(wide)
        by, size = self._sensors.slopes_at(states, self._inputs), states.shape[1]
        slopes = by[:, :, :size] @ moved
        slopes[:, :, :count] += self._direct(states)
        slopes[:, :, count:] += by[:, :, size:] if wide else 0.0
        columns = [*range(count), *(count + place for place in self._places)]
        late = [self._by_delay(name) for name in self._delays]
        return self._adjusted(np.dstack([slopes[:, :, columns], *late]))[1]

    def _by_delay(self, name: str) -> Array:
        """Return the derivative d readings / d delay for the delay of an input, (T, sensors).

        The derivative is a second-order difference of runs with longer delays only. Integration
        steps end where a delayed input jumps, so that shorter and longer delays than a whole number
        of steps would change the number of steps.
        """
        step = DELAY_STEP * float(np.median(np.diff(self.run.recording.t)))
        readings = []
        for share in (1, 2, 3):
            delays = {**self._delays, name: self._delays[name] + share * step}
            run = self._run(delays, self._trajectory)
            readings.append(self._sensors.at(run.states, run.inputs))
        return np.asarray((-5 * readings[0] + 8 * readings[1] - 3 * readings[2]) / (2 * step))

    def _direct(self, states: Array) -> Array:
        """Return the derivatives of the readings with respect to model parameters at fixed states.

        The returned array has shape (T, sensors, parameters). Entries are nonzero only for sensors
        whose reading depends directly on parameters, not on the state alone.
        """
        sensors = list(self._problem.sensors.values())
        slopes = np.zeros((len(states), len(sensors), len(self._problem.keys)))
        if any(_of_shapes(sensor) for sensor in sensors):
            for k, (near, readings) in enumerate(
                zip(self._first.nearby.values(), self._near, strict=True)
            ):
                there = [sensor.at(states, self._inputs) - self._read for sensor in readings]
                slopes[:, :, k] = np.tensordot(near.weights, np.array(there), 1)
        return slopes

    @cached_property
    def _near(self) -> list[list[Readings]]:
        """Sensors of arms with one parameter changed slightly, for finite differences.

        All runs with equal fitted values share these symbolic sensors.
        """
        if self._like is not None:
            return self._like._near
        sensors = list(self._problem.sensors.values())
        return [
            [Readings.of(model, sensors) for model in near.models]
            for near in self._first.nearby.values()
        ]

    def _adjusted(self, slopes: Array | None) -> tuple[Array, Array]:
        """Return the readings and derivatives after gain, offset, delay and lag of each sensor.

        Shapes are (T, sensors) and (T, sensors, k); ``slopes`` are derivatives before adjustment.
        """
        problem, t = self._problem, self.run.recording.t
        more = np.zeros((len(t), len(problem.sensors), 0 if slopes is None else len(self._values)))
        if slopes is not None:
            more[:, :, : slopes.shape[2]] = slopes
        result = np.zeros_like(self._read)
        for s, (sensor, place, own) in enumerate(problem.adjustments(self._values)):
            x, rate = self._read[:, s], np.zeros(len(t))
            if own["delay"] or "delay" in sensor.fit:
                x, rate, more[:, s] = delayed(t, x, more[:, s], own["delay"])
            late = np.zeros(len(t))
            for _ in range(sensor.poles if own["lag"] or "lag" in sensor.fit else 0):
                wide = np.column_stack([more[:, s], late])
                x, rate, lagging, wide = lagged(t, x, rate, wide, own["lag"])
                more[:, s], late = wide[:, :-1], wide[:, -1] + lagging
            result[:, s] = own["gain"] * x + own["offset"]
            more[:, s] *= own["gain"]
            by = {"gain": x, "offset": np.ones(len(t)), "delay": -own["gain"] * rate,
                  "lag": -own["gain"] * late}  # fmt: skip
            for k, name in enumerate(sensor.fit if slopes is not None else ()):
                more[:, s, place + k] = by[name]
        return result, more


class Responding:
    """Computed frequency response of the linearised arm, to compare with a measured response."""

    def __init__(self, problem: FitProblem, run: MeasuredRun, values: Array) -> None:
        self.run, self._problem, self._values = run, problem, values
        self._model = run.runs.equation.model
        if problem.keys:
            self._model = changed_model(self._model, problem.keys, values[: len(problem.keys)])
        self._plain = self._respond(self._model)
        self.readings = stacked(self._plain * self._filters())

    def _respond(self, model: Model) -> Array:
        sensors = list(self._problem.sensors.values())
        return respond(model, sensors, list(self.run.columns), self.run.recording.t)

    def _filters(self, by: str = "") -> Array:
        """Return the complex transfer function of each sensor's gain, delay and lag.

        If ``by`` names an adjustment, the function's derivative with respect to that adjustment is
        returned. The returned array has shape (frequencies, sensors).
        """
        s, columns = 2j * np.pi * self.run.recording.t, []
        for sensor, _, own in self._problem.adjustments(self._values):
            gain, lag = own["gain"], own["lag"]
            passes = np.exp(-s * own["delay"]) / (1 + s * lag) ** sensor.poles
            factors = {"": gain, "gain": 1.0, "offset": 0.0, "delay": -gain * s,
                       "lag": -gain * sensor.poles * s / (1 + s * lag)}  # fmt: skip
            columns.append(factors[by] * passes)
        return np.array(columns).T

    @cached_property
    def slopes(self) -> Array:
        """Derivatives d readings / d fitted values, shape (rows, sensors, k)."""
        problem = self._problem
        slopes = np.zeros((*self.readings.shape, len(self._values)))
        for k, key in enumerate(problem.keys):
            near = Nearby.of(self._model, key)
            there = np.array([self._respond(model) - self._plain for model in near.models])
            slopes[:, :, k] = stacked(np.tensordot(near.weights, there, 1) * self._filters())
        for s, (sensor, place, _) in enumerate(problem.adjustments(self._values)):
            for k, name in enumerate(sensor.fit):
                slopes[:, s, place + k] = stacked(self._plain * self._filters(name))[:, s]
        return slopes


def flat(by_run: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Join arrays (T, sensors, ...) of several runs to one array (N, ...).

    The order is by run, then sensor, then sample.
    """
    return np.concatenate(
        [np.swapaxes(values, 0, 1).reshape(-1, *values.shape[2:]) for values in by_run]
    )


def _of_shapes(sensor: Sensor) -> bool:
    """Return whether a sensor's reading depends on the arm's parameters, not on the state alone."""
    return (
        isinstance(sensor.reads, Gauge)
        or sensor.reads.startswith("tip.")
        or (sensor.reads.endswith(".current"))
    )


def read_recordings(data: object) -> list[Recording]:
    """Return the measured runs in ``data``, which may be a single run or a sequence of runs."""
    several = None if isinstance(data, str | Mapping | Recording) else listed(data)
    sources = [data] if several is None else several
    if not sources:
        raise refused("data", data, "at least one measured run")
    return [read_recording(source, f"data[{k}]") for k, source in enumerate(sources)]


def measured(
    runs: Differentiable,
    recording: Recording,
    inputs: Mapping[str, str] | None,
    sensors: Mapping[str, Sensor],
    begins: Begins,
    interpolation: Mapping[str, Interpolation] = NO_WORDS,
) -> MeasuredRun:
    """Return a recording with its inputs, sensor readings and simulation, as a `MeasuredRun`."""
    model, units = runs.equation.model, input_units(runs.equation.model)
    require_mapping("inputs", inputs, "columns by joint")
    columns = dict(inputs or {})
    for name in columns:
        if name not in units:
            raise FlexarmError(
                f"inputs: there is no driven joint '{name}'. The driven joints are "
                f"{', '.join(units) or 'none'}."
            )
    if recording.is_response:
        outputs, weights = read_response(recording, list(sensors), columns)
        still = np.zeros((len(outputs), len(units)))
        return MeasuredRun(recording, runs, still, outputs, weights, columns=columns)
    for name in interpolation:
        if name not in columns:
            raise FlexarmError(
                f"interpolation: '{name}' has no measured input. Joints with one are "
                f"{', '.join(columns) or 'none'}."
            )
    own = replace(runs, times=recording.t)
    samples = own.input_samples.copy()
    for name, column in columns.items():
        samples[:, list(units).index(name)] = recording.column(column, units[name])
    read = [recording.column(column, *sensor.units(model)) for column, sensor in sensors.items()]
    outputs = np.array(read).T
    counts = np.array([sensor.counts(recording.t) for sensor in sensors.values()]).T
    run = MeasuredRun(
        recording, own, samples, outputs, counts, columns=columns, interpolation=interpolation,
        begins=begins,
    )  # fmt: skip
    listed = list(sensors.values())
    if begins == "estimated":
        q, v = _states(run, listed, [0])[0]
        return replace(run, start=q, rates=v)
    if begins == "measured" and model.arm.start == "equilibrium":
        return replace(run, positions=_measured_positions(model, listed, outputs[0]))
    if begins == "measured":
        q, _ = start_state(model)
        for name, value in _measured_positions(model, listed, outputs[0]).items():
            axis = next(axis for axis in model.axes if axis.name == name)
            q[[k for k in (axis.index, axis.motor) if k is not None]] = value
        return replace(run, start=q)
    return run


def _measured_positions(model: Model, sensors: Sequence[Sensor], first: Array) -> dict[str, float]:
    """Return the first measured positions by joint."""
    return {
        axis.name: float((value - sensor.offset) / sensor.gain)
        for sensor, value in zip(sensors, first, strict=True)
        for axis in model.axes
        if sensor.reads in (axis.name, f"{axis.name}.motor")
    }


def tests_of(problem: FitProblem, values: Array) -> tuple[ResidualTest, ...]:
    """Return the statistical tests of the residuals, one per run and sensor."""
    tests = []
    for run, simulated in zip(problem.runs, problem.at(values), strict=True):
        for s, column in enumerate(problem.sensors):
            left = (run.outputs[:, s] - simulated.readings[:, s])[run.counts[:, s] > 0]
            rms = float(np.sqrt(np.mean(left**2)))
            size = max(float(run.outputs[run.counts[:, s] > 0, s].std()), 1e-300)
            tests.append(
                ResidualTest(run.recording.name, column, rms / size, rms, whiteness(left),
                             from_inputs(left, run.inputs[run.counts[:, s] > 0]))
            )  # fmt: skip
    return tuple(tests)


def pieces(run: MeasuredRun, sensors: Mapping[str, Sensor], horizon: float) -> list[MeasuredRun]:
    """Divide a measured run into segments of about ``horizon`` seconds.

    Each segment starts from the state that is estimated from the sensors.

    Notes
    -----
    A model's errors grow with time. Over a whole run the squared residuals may be dominated by
    drift, or have a local minimum for each period of a vibration; over short segments errors stay
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
    t = whole.t[part]  # times within the whole run, since inputs and targets are functions of them
    return replace(
        run, recording=Recording(whole.name, t, {}, whole.digest),
        runs=replace(run.runs, times=t), inputs=run.inputs[part], outputs=run.outputs[part],
        counts=run.counts[part], start=q, rates=v,
    )  # fmt: skip


def _states(
    run: MeasuredRun, sensors: list[Sensor], places: list[int]
) -> list[tuple[Array, Array]]:
    """Return the estimated state (q, v) at given samples, shape (n,) each.

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
    """Return the smallest motion (n,) in the basis ``ways`` that changes readings as given.

    ``change`` is the change of the sensor readings, ``slopes`` their derivatives with respect to
    the coordinates.
    """
    if not len(change):
        return np.zeros(len(ways))
    return np.asarray(ways @ np.linalg.lstsq(slopes @ ways, change, rcond=1e-9)[0])


def _ways(model: Model) -> Array:
    """Return a basis of motions, (n, n): joints moving with their motors, then gear wind-ups.

    Wind-ups are scaled down, so that least-norm solutions prefer joint motions. Prescribed
    coordinates do not move.
    """
    ways = np.eye(model.size)
    for axis in model.axes:
        if axis.motor is not None:
            ways[axis.motor, axis.index] = 1.0
            ways[axis.motor, axis.motor] = WIND_UP_WEIGHT
    ways[list(model.prescribed)] = 0.0
    return ways
