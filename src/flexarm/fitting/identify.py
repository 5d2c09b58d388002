"""Identification of model parameters from measured runs by the output-error method.

The weighted squared residuals are minimised with exact derivatives of the simulations.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from flexarm.arguments import (
    FormulationName,
    WithUnit,
    is_number,
    listed,
    refused,
    require_count,
    require_function,
    require_kind,
    require_mapping,
    require_names,
    require_numbers,
    require_positive,
    require_word,
)
from flexarm.arm import Arm
from flexarm.arm.profile import Interpolation
from flexarm.arm.shapes import ArmModes
from flexarm.control.sensors import Gauge
from flexarm.errors import FlexarmError, LongRun
from flexarm.fitting.constants import (
    CONFIDENCE,
    CONVERGED,
    FEWEST_SAMPLES,
    FREE_FACTOR,
    KEPT_DEVIATION,
    LONGEST_GAP,
    MOST_STEP_PARTS,
    NOISE_CHANGE,
    OUTLIER,
    PASSES,
    PRIOR_DEVIATION,
    SAME_VALLEY,
    SHORTER_STEPS,
    START_SEED,
    UNIT_FACTOR,
    WINDOW_EVALUATIONS,
)
from flexarm.fitting.fit import Estimate, Fit, fitted_arm
from flexarm.fitting.problem import (
    BEGINS,
    Begins,
    FitProblem,
    measured,
    pieces,
    read_recordings,
    tests_of,
)
from flexarm.fitting.recording import Sensor
from flexarm.fitting.statistics import (
    combinations,
    covariance,
    left_to_go,
    moved_by,
    redundancy,
)
from flexarm.formulations import DEFAULT
from flexarm.gradients.runs import differentiable
from flexarm.integrate.constants import RTOL
from flexarm.model import Model
from flexarm.runs.contents import input_units
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread

Loss = Literal["linear", "soft_l1", "huber", "cauchy"]
LOSSES: tuple[Loss, ...] = ("linear", "soft_l1", "huber", "cauchy")

Fitted = Sequence[str] | Mapping[str, tuple[float, float] | None]
Outputs = Mapping[str, str | Gauge | Sensor]


@one_blas_thread
def identify(
    arm: Arm,
    data: object,
    *,
    fit: Fitted,
    outputs: Outputs,
    inputs: Mapping[str, str] | None = None,
    input_offsets: Sequence[str] = (),
    input_delays: Sequence[str] | Mapping[str, WithUnit] = (),
    interpolation: Mapping[str, Interpolation] | None = None,
    start: Begins = "model",
    horizon: WithUnit | None = None,
    priors: Mapping[str, float | None] | None = None,
    starts: int = 1,
    windows: int = 0,
    loss: Loss = "linear",
    step: WithUnit | None = None,
    rtol: float = RTOL,
    formulation: FormulationName | str = DEFAULT,
    most_evaluations: int = 100,
    progress: Callable[[str], None] | None = None,
) -> Fit:
    """Fit parameters of an arm to measured time histories and frequency responses.

    Parameters
    ----------
    arm
        The arm, whose parameter values are the initial guess.
    data
        A measured run or a list of measured runs: files .csv, .npz, .mat or .parquet, or mappings
        of arrays by name. One column contains the time. A column name may state a unit, as in
        ``joint1 [deg]`` or ``joint1_deg``; without one, values are in SI units. A file with a
        column ``frequency`` instead of a time is a frequency response, see
        `flexarm.fitting.responses.read_response`.
    fit
        Model-file keys of the parameters to fit, such as ``links.1.joint.friction.viscous``; or a
        mapping from keys to bounds, ``{"payload.mass": (0.1, 2.0)}``, in which None stands for
        bounds of a thousandth and a thousand times the initial value.
    outputs
        Measured quantities or sensors, keyed by column; see `flexarm.fitting.recording.Sensor`.
    inputs
        Column of the measured input, keyed by joint. All other joints have the inputs of the model
        file.
    input_offsets
        Joints whose inputs have an unknown offset, which is fitted.
    input_delays
        Joints whose inputs act later than they are recorded, by a delay that is fitted; or a
        mapping from joints to initial guesses of the delay [s].
    interpolation
        Interpolation of measured inputs between samples, keyed by joint: ``linear`` (default),
        ``cubic``, or ``hold`` if a converter holds each value until the next sample.
    start
        Initial state of the simulations. ``model``: the state of the model file. ``measured``:
        joints with a measured position start at its first sample; links are straight, or in
        equilibrium at these positions if the model file has ``start: equilibrium``. ``estimated``:
        the state, at rest or in motion, that agrees best with the first readings of all sensors.
    horizon
        Length [s] of segments of the runs that are fitted first, each from the measured state at
        its start. The values fitted to segments are the initial guess for the fit to whole runs.
        Use segments if the initial model is inaccurate or drifts; one period of the slowest
        vibration is a good length.
    priors
        Prior standard deviations of fitted numbers about their values in the arm, in SI units, by
        model-file key, for example from a data sheet; None for a number without a prior. By default
        the standard deviation of a number's logarithm is a factor of two. Priors hold numbers that
        the readings do not determine near their initial values, and hardly affect others.
    starts
        Number of searches. The first starts from the arm's values, the others from random values
        drawn from the priors; the best result is returned.
    windows
        Number of windows of the recordings for cross-validation, 2 or more; 0 for none. Each window
        is predicted by a fit to the other windows. Numbers that the readings leave uncertain are
        held at their initial values if this improves the predictions.
    loss
        Loss function of the residuals: ``linear``, or robust against outliers: ``soft_l1``,
        ``huber``, ``cauchy``.
    step, rtol, formulation
        Options of the simulations, which use the method ``rk4``, as for `flexarm.simulate`.
    most_evaluations
        Largest number of evaluations of the model in one search.
    progress
        Function called with a line on the progress of the search after each simulation.

    Returns
    -------
    Fit
        Estimates with confidence intervals, uncertain parameter combinations, tests of the
        residuals, and the fitted arm.

    Raises
    ------
    FlexarmError
        If data or names are invalid, or the arm cannot be simulated with the initial parameters.

    Notes
    -----
    If a sensor's ``noise`` is None, it is estimated from the residuals, and the fit is repeated
    with the estimate. Integration steps are shortened until discretisation errors shift the fitted
    values by at most a tenth of a standard error; confidence intervals include the remaining shift.
    Derivatives are exact for the discretised run (`flexarm.differentiable`).
    """
    require_kind("arm", arm, Arm, "an Arm, such as flexarm.load(path) or flexarm.example_arm(name)")
    require_word("loss", loss, LOSSES)
    require_word("start", start, BEGINS)
    require_count("most_evaluations", most_evaluations, 1)
    require_function("progress", progress, "of a line")
    require_count("starts", starts, 1, most=100)
    require_count("windows", windows, 0, most=100)
    length = None if horizon is None else require_positive("horizon", horizon, unit="s")
    bounds = _bounds(fit)
    sensors = _sensors(outputs)
    recordings = read_recordings(data)
    _warn_of_many_shapes(arm)
    lasting = next(
        (float(recording.t[-1]) for recording in recordings if not recording.is_response), 1.0
    )
    runs = differentiable(
        arm, t_end=lasting, parameters=list(bounds), rtol=rtol, step=step,
        formulation=formulation,
    )  # fmt: skip
    model = runs.equation.model
    joinings = require_mapping("interpolation", interpolation, "words by joint")
    for name, word in joinings.items():
        require_word(f"interpolation: {name}", word, get_args(Interpolation))
    offsets = tuple(require_names("input_offsets", input_offsets, "names of driven joints"))
    problem = FitProblem(
        [measured(runs, recording, inputs, sensors, start, joinings) for recording in recordings],
        tuple(bounds), sensors, offsets, _delays(input_delays),
    )  # fmt: skip
    for argument, names in (("input_offsets", offsets), ("input_delays", problem.input_delays)):
        for name in names:
            if offsets.count(name) > 1:
                raise FlexarmError(f"{argument}: {name} is named twice. Name it once.")
            if name not in input_units(model):
                raise FlexarmError(
                    f"{argument}: there is no driven joint '{name}'. The driven joints are "
                    f"{', '.join(input_units(model))}."
                )
    if not all(recording.is_response for recording in recordings):  # responses are without servos
        _warn_of_servos(model, inputs or {})
    if not problem.names:
        raise FlexarmError("fit: must name at least one number of the model file to be fitted")
    begin = problem.first
    say = progress or (lambda text: None)
    say("making the equations ready")
    problem.at(begin)  # raises an error if the arm cannot be simulated
    limits = _limits(problem, bounds)
    problem = _with_priors(problem, limits, priors)
    _require_moving(problem)
    _warn_of_units(problem, begin)
    if length is not None:
        _require_samples(float(length), problem)

    def searched(problem: FitProblem, begin: Array, most: int) -> SearchEnd:
        if length is not None and most == most_evaluations:
            begin = _by_pieces(problem, begin, limits, loss, float(length), most, say)
        return _searched(problem, begin, limits, loss, most, say)

    ends = _from_starts(problem, begin, limits, starts, partial(searched, most=most_evaluations))
    search = min(ends, key=_misfit)
    if windows < 2:
        return _fit(arm, limits, ends, search)
    again = partial(searched, most=min(WINDOW_EVALUATIONS, most_evaluations))
    predicted = _predicted(search, windows, again)
    fitted = _fit(arm, limits, ends, search)
    unclear, kept = _unclear(fitted), tuple[str, ...]()
    if unclear:
        say(f"keeping {', '.join(unclear)}")
        fewer = _keeping(search.problem, unclear)
        begin = np.where([name in unclear for name in fewer.names], fewer.first, search.values)
        other = again(fewer, begin)
        other_predicted = _predicted(other, windows, again)
        if np.mean(other_predicted) <= np.mean(predicted):
            predicted, kept = other_predicted, tuple(unclear)
            fitted = _fit(arm, limits, [other], other)
    predictions = dict(zip(problem.sensors, predicted.tolist(), strict=True))
    return replace(fitted, predictions=predictions, kept=kept)


def _by_pieces(
    problem: FitProblem, begin: Array, limits: Array, loss: Loss, length: float, most: int,
    say: Callable[[str], None],
) -> Array:  # fmt: skip
    """Return the result of a fit to segments of the runs, the guess for a fit to whole runs."""
    short = [
        recording
        for run in problem.runs
        for recording in (
            [run] if run.recording.is_response else pieces(run, problem.sensors, length)
        )
    ]
    found = _searched(
        replace(problem, runs=short, _last={}), begin, limits, loss, most, say, whole=False
    ).values
    finite = np.isfinite(problem.residuals(found, np.ones(len(problem.noises)))).all()
    return found if finite else begin


def _with_priors(problem: FitProblem, limits: Array, priors: object) -> FitProblem:
    """Return the problem with the user's priors, and default priors of all other logarithms."""
    given = require_mapping("priors", priors, "standard deviations by number")
    deviations = np.full(len(problem.names), np.inf)
    sizes = np.abs(problem.first[: len(problem.keys)])
    deviations[: len(sizes)] = np.where(sizes > 0, PRIOR_DEVIATION * sizes, np.inf)
    for name, value in given.items():
        if name not in problem.names:
            raise FlexarmError(
                f"priors: '{name}' is not fitted. Fitted are {', '.join(problem.names)}."
            )
        place = problem.names.index(name)
        deviations[place] = np.inf if value is None else require_positive(f"priors: {name}", value)
    by_ratio = np.isfinite(deviations) & (np.sign(limits[0]) * np.sign(limits[1]) > 0)
    by_ratio &= [name not in given for name in problem.names]
    return replace(problem, priors=deviations, logarithmic=by_ratio, _last={})


def _from_starts(
    problem: FitProblem, begin: Array, limits: Array, starts: int,
    searched: Callable[[FitProblem, Array], "SearchEnd"],
) -> list["SearchEnd"]:  # fmt: skip
    """Return the results of searches from the initial guess and from random guesses near it."""
    ends, random = [searched(problem, begin)], np.random.default_rng(START_SEED)
    known = np.isfinite(problem.priors) & (problem.first != 0)
    for _ in range(starts - 1):
        scatter = random.normal(size=len(begin))
        shares = np.where(known, problem.priors / np.maximum(np.abs(problem.first), 1e-300), 0.0)
        other = np.clip(problem.first * np.exp(shares * scatter), *limits)
        try:
            ends.append(searched(problem, other))
        except FlexarmError:
            continue  # the arm cannot be simulated with these random values
    return ends


def _misfit(search: "SearchEnd") -> float:
    """Return the mean logarithm of the sensors' residuals, divided by the noise if known."""
    left = search.problem.left(search.values)
    sizes = [float(np.sqrt(np.mean(part**2))) if len(part) else 1.0 for part in left]
    return float(np.mean(np.log(np.maximum(sizes, 1e-300))))


def _unclear(fit: Fit) -> list[str]:
    """Return the numbers of the model file that the readings leave uncertain."""
    open_ones = (combination.shares for combination in fit.combinations if combination.open)
    worst = {max(shares, key=lambda name: abs(shares[name])) for shares in open_ones}
    return [name for name in fit.problem.keys if name in worst]


def _keeping(problem: FitProblem, names: Sequence[str]) -> FitProblem:
    """Return the problem with some numbers held at their initial values."""
    kept = np.array([name in names for name in problem.names])
    tight = KEPT_DEVIATION * np.where(problem.first == 0, 1.0, np.abs(problem.first))
    return replace(problem, priors=np.where(kept, tight, problem.priors), _last={})


def _predicted(
    search: "SearchEnd", windows: int, searched: Callable[[FitProblem, Array], "SearchEnd"]
) -> Array:
    """Return prediction errors in windows, divided by the readings' standard deviation.

    Each window of the runs is predicted by a fit to the other windows, in simulations of whole runs
    from their start. The returned array has shape (sensors,).
    """
    problem = search.problem
    squares, counts = np.zeros(len(problem.sensors)), np.zeros(len(problem.sensors))
    for window in range(windows):
        runs, left_out = [], []
        for run in problem.runs:
            place = np.arange(len(run.outputs)) * windows // len(run.outputs)
            out = (place == window) & (not run.recording.is_response)
            left_out.append(out)
            runs.append(replace(run, counts=np.where(out[:, None], 0.0, run.counts)))
        values = searched(replace(problem, runs=runs, _last={}), search.values).values
        for run, out, simulated in zip(problem.runs, left_out, problem.at(values), strict=True):
            valid = (run.counts > 0) & out[:, None]
            errors = np.where(valid, simulated.readings - run.outputs, 0.0)
            spread = np.maximum(run.outputs.std(axis=0), 1e-300)
            squares += np.sum((errors / spread) ** 2, axis=0)
            counts += valid.sum(axis=0)
    return np.sqrt(squares / np.maximum(counts, 1))


def _require_moving(problem: FitProblem) -> None:
    """Raise an error if a sensor's readings are constant, or samples of a run are missing."""
    for run in problem.runs:
        if run.recording.is_response:
            continue
        steps = np.diff(run.recording.t)
        gap = int(np.argmax(steps))
        if steps[gap] > LONGEST_GAP * np.median(steps):
            raise FlexarmError(
                f"{run.recording.name}: row {gap + 2}: samples are missing between t = "
                f"{run.recording.t[gap]:.6g} s and {run.recording.t[gap + 1]:.6g} s. Inputs are "
                "unknown there. Cut the recording into two files there."
            )
        for s, column in enumerate(problem.sensors):
            readings = run.outputs[run.counts[:, s] > 0, s]
            if len(readings) and np.ptp(readings) == 0:
                row = int(np.flatnonzero(run.counts[:, s] > 0)[0]) + 1
                raise FlexarmError(
                    f"{run.recording.name}: column '{column}' is constant, {readings[0]:g} from "
                    f"row {row} on. The sensor was off, or the column is the wrong one. Leave it "
                    "out."
                )


def _warn_of_units(problem: FitProblem, values: Array) -> None:
    """Warn if measured readings are hundreds of times larger or smaller than simulated ones."""
    for run, simulated in zip(problem.runs, problem.at(values), strict=True):
        if run.recording.is_response:
            continue
        for s, (column, sensor) in enumerate(problem.sensors.items()):
            with np.errstate(over="ignore", invalid="ignore"):
                sizes = [float(np.std(rows[:, s])) for rows in (run.outputs, simulated.readings)]
            if "gain" in sensor.fit or not min(sizes) > 0 or not np.isfinite(sizes).all():
                continue
            factor = sizes[0] / sizes[1]
            if max(factor, 1 / factor) > UNIT_FACTOR:
                row = int(np.argmax(np.abs(run.outputs[:, s]))) + 1
                warnings.warn(
                    f"{run.recording.name}: column '{column}' varies {factor:.2g} times as much "
                    f"as the model's readings (row {row}: {run.outputs[row - 1, s]:.3g}). Check "
                    "the unit in its name, and those of the inputs and of the time.",
                    stacklevel=3,
                )


def _delays(input_delays: object) -> dict[str, float]:
    """Return the initial guesses of the inputs' delays by joint [s]."""
    if isinstance(input_delays, Mapping):
        units = dict.fromkeys(input_delays, "s")
        return require_numbers("input_delays", input_delays, "delays [s] by joint", units=units)
    return dict.fromkeys(require_names("input_delays", input_delays, "names of driven joints"), 0.0)


def _bounds(fit: object) -> dict[str, tuple[float, float] | None]:
    if isinstance(fit, Mapping):
        return {str(key): _pair(str(key), pair) for key, pair in fit.items()}
    keys = require_names("fit", fit, "keys of the model file, such as ['payload.mass']")
    return dict.fromkeys(keys)


def _pair(key: str, pair: object) -> tuple[float, float] | None:
    if pair is None:
        return None
    ends = listed(pair)
    numbers = [float(end) for end in ends or () if is_number(end, finite=False)]
    if ends is None or len(numbers) != len(ends) or len(ends) != 2 or not ends[0] < ends[1]:
        raise refused(f"fit: {key}", pair, "a pair of bounds, low < high")
    return numbers[0], numbers[1]


def _sensors(outputs: object) -> dict[str, Sensor]:
    require_mapping("outputs", outputs, "what columns measure", optional=False)
    assert isinstance(outputs, Mapping)
    if not outputs:
        raise refused(
            "outputs", outputs, "a mapping from at least one column to the sensor that measured it"
        )
    return {
        str(column): sensor if isinstance(sensor, Sensor) else Sensor(sensor)
        for column, sensor in outputs.items()
    }


def _limits(problem: FitProblem, bounds: Mapping[str, tuple[float, float] | None]) -> Array:
    """Return lower and upper bounds of the fitted values, shape (2, k).

    The default for model parameters is a thousandth to a thousand times the initial value; sensor
    lags must be non-negative.
    """
    rows = []
    for name, value in zip(problem.names, problem.first, strict=True):
        bounds_of_number = bounds.get(name)
        if bounds_of_number is None:
            free = name not in bounds or value == 0
            low, high = sorted((value / FREE_FACTOR, value * FREE_FACTOR))
            bounds_of_number = (-math.inf, math.inf) if free else (low, high)
            bounds_of_number = (0.0, math.inf) if name.endswith(": lag") else bounds_of_number
        if not bounds_of_number[0] <= value <= bounds_of_number[1]:
            raise FlexarmError(
                f"fit: {name}: must start within its bounds {bounds_of_number[0]:g} to "
                f"{bounds_of_number[1]:g}, got {value:g} in the arm. Widen the bounds, or change "
                "the arm."
            )
        rows.append(bounds_of_number)
    return np.array(rows).T


def _require_samples(horizon: float, problem: FitProblem) -> None:
    timed = [run.recording.t for run in problem.runs if not run.recording.is_response]
    if not timed:
        raise FlexarmError(
            "horizon: is for time histories, and the data are frequency responses. Leave it out."
        )
    if problem.runs[0].runs.equation.model.arm.events:
        raise FlexarmError(
            "horizon: cannot be used for an arm with events, since each piece of "
            "the data is simulated by itself. Leave horizon or the events out."
        )
    shortest = min(float(np.median(np.diff(t))) for t in timed)
    if not horizon >= FEWEST_SAMPLES * shortest:
        raise refused(
            "horizon",
            horizon,
            f"at least {FEWEST_SAMPLES} samples, {FEWEST_SAMPLES * shortest:g} s",
        )


@dataclass(frozen=True)
class SearchEnd:
    """Result of a least-squares search for the fitted values."""

    problem: FitProblem  # the problem, with the integration steps of its last simulations
    values: Array  # fitted values, (k,)
    noise: Array  # standard deviation of each sensor
    given: Array  # standard deviations given by the user, NaN for sensors without
    result: Any  # result of SciPy's `least_squares`
    evaluations: int  # number of evaluations of the model
    by_steps: Array  # possible discretisation errors of the fitted values, (k,)


def _searched(
    problem: FitProblem,
    begin: Array,
    limits: Array,
    loss: Loss,
    most: int,
    say: Callable[[str], None],
    *,
    whole: bool = True,
) -> SearchEnd:
    """Minimise the squared residuals over the fitted values, and return a `SearchEnd`.

    The search is repeated with new estimates of the sensor noise. Integration steps of whole runs
    are shortened as long as discretisation errors shift the fitted values too much.
    """
    from scipy.optimize import least_squares

    low, high = limits
    stated_noise = {column: sensor.noise for column, sensor in problem.sensors.items()}
    start_noise = np.array([stated_noise.get(name) or math.nan for name in problem.noises])
    noise = np.where(np.isnan(start_noise), _spread(problem), start_noise)
    values, evaluations = begin.copy(), 0
    for k in range(PASSES):
        problem.at(values)  # raises an error if the arm cannot be simulated
        _refuse_overflow(problem, values, noise)
        stage = f"{'whole runs' if whole else 'pieces'}, search {k + 1}"
        result = least_squares(
            _telling(problem, say, stage, _scale(start_noise, k)), np.clip(values, low, high),
            problem.search_jacobian, (low, high), args=(noise,), x_scale="jac", loss=loss,
            f_scale=1.0 if loss == "linear" else OUTLIER,
            max_nfev=most, xtol=1e-9, ftol=1e-9, gtol=1e-12,
        )  # fmt: skip
        values, evaluations = result.x, evaluations + int(result.nfev)
        before, noise = noise, _noise(problem, values, start_noise, loss)
        left = [part for part in problem.left(values) if len(part)]
        series = [redundancy(part) for part in left]
        if whole and np.isfinite(series).all():
            problem = replace(problem, redundancy=float(np.median(series)))
        by_steps, rough = np.zeros(len(values)), 0.0
        if whole:
            off = problem.step_errors(values, noise)
            by_steps, rough = moved_by(problem.jacobian(values, noise), off)
        finer = problem.runs[0].runs.finer
        parts = math.ceil(min((2 * rough / SHORTER_STEPS) ** 0.25, MOST_STEP_PARTS // finer))
        if rough > SHORTER_STEPS and parts > 1 and k + 1 < PASSES:
            problem = problem.finer(parts)
        elif np.all(np.abs(noise / before - 1) < NOISE_CHANGE):
            break
    return SearchEnd(problem, values, noise, start_noise, result, evaluations, by_steps)


def _refuse_overflow(problem: FitProblem, values: Array, noise: Array) -> None:
    """Raise an error if the squared residuals overflow, as with wrong units of a column."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.sum(problem.residuals(values, noise) ** 2))
    if math.isfinite(total) and np.isfinite(noise).all():
        return
    sizes = [(float(np.abs(run.outputs).max()), run) for run in problem.runs]
    size, run = max(sizes, key=lambda pair: pair[0])
    raise FlexarmError(
        f"{run.recording.name}: has readings up to {size:.3g}, whose squared errors overflow. "
        "Check the columns and their units, or leave such samples out."
    )


def _scale(noise: Array, k: int) -> str:
    """Return text on the scale of a search's residuals: measured noise, or a first guess."""
    if k > 0 or not np.isnan(noise).any():
        return "the noise"
    return "the readings' standard deviation" if np.isnan(noise).all() else (
        "the noise, or of the readings' standard deviation where no noise is given"
    )  # fmt: skip


def _telling(
    problem: FitProblem, say: Callable[[str], None], stage: str, scale: str
) -> Callable[[Array, Array], Array]:
    """Return a residual function that reports the rms residual after each evaluation."""
    runs = count(1)

    def residuals(values: Array, noise: Array) -> Array:
        errors = problem.search_residuals(values, noise)
        with np.errstate(over="ignore"):  # after an overflow the search takes a shorter step
            size = math.sqrt(float(np.mean(errors**2)))
        say(f"{stage}: run {next(runs)}, residual {100 * size:.3g} % of {scale}")
        return errors

    return residuals


def _spread(problem: FitProblem) -> Array:
    """Return initial noise estimates: the standard deviation of each sensor's readings.

    The returned array has one entry per noise level. Entries of frequency responses are 1, since
    their residuals are already weighted.
    """
    runs = [run.outputs for run in problem.runs if not run.recording.is_response]
    spread = np.ones(len(problem.noises))
    if runs:
        with np.errstate(over="ignore", invalid="ignore"):  # refused before the search
            spread[: len(problem.sensors)] = np.maximum(np.std(np.concatenate(runs), axis=0), 1e-12)
    return spread


def _noise(problem: FitProblem, values: Array, stated_noise: Array, loss: Loss) -> Array:
    """Return the noise level of each sensor, stated by the user or estimated from residuals.

    The estimate is the rms residual, corrected for the number of fitted values, or with robust
    losses the scaled median absolute residual.
    """
    left = problem.left(values)
    share = max(1e-3, 1 - len(values) / max(sum(map(len, left)), 1))
    if loss == "linear":
        estimated = [
            math.sqrt(float(np.mean(residuals**2)) / share) if len(residuals) else 1.0
            for residuals in left
        ]
    else:
        estimated = [
            1.4826 * float(np.median(np.abs(residuals))) if len(residuals) else 1.0
            for residuals in left
        ]
    return np.where(np.isnan(stated_noise), np.maximum(estimated, 1e-300), stated_noise)


def _fit(arm: Arm, limits: Array, ends: Sequence[SearchEnd], search: SearchEnd) -> Fit:
    from scipy.stats import t as student

    problem, values, noise = search.problem, search.values, search.noise
    residuals, jacobian = problem.residuals(values, noise), problem.jacobian(values, noise)
    tests = tests_of(problem, values)
    correlated = not all(test.white for test in tests)
    lengths = [len(run.outputs) for run in problem.runs for _ in problem.sensors]
    spread = covariance(
        jacobian, residuals, lengths, white=not correlated, prior=problem.prior_jacobian(values)
    )
    errors = np.sqrt(np.diag(spread))
    believed = sum(np.count_nonzero(run.counts) for run in problem.runs)
    freedom = max(1, believed - len(values)) if np.isnan(search.given).any() else math.inf
    reach = float(student.ppf(0.5 + CONFIDENCE / 2, freedom)) * errors + search.by_steps
    span = np.abs(values)
    at_bound = np.isfinite(limits) & (np.abs(values - limits) <= 1e-6 * span)
    estimates = tuple(
        Estimate(name, float(problem.first[k]), float(values[k]), float(errors[k]),
                 float(values[k] - reach[k]), float(values[k] + reach[k]),
                 bool(at_bound[:, k].any()), float(search.by_steps[k]))
        for k, name in enumerate(problem.names)
    )  # fmt: skip
    sizes = np.where(np.arange(len(values)) < len(problem.keys), span, 0.0)
    sizes = np.where(sizes > 0, sizes, np.maximum(span, errors / 0.1))
    runs = {run.recording.name: run.recording.digest for run in problem.runs}
    result = search.result
    left = left_to_go(result.jac, result.grad, errors, result.active_mask == 0)
    return Fit(
        arm=fitted_arm(arm, estimates, problem.keys, runs),
        estimates=estimates,
        covariance=spread,
        correlated=correlated,
        combinations=combinations(
            problem.names, sizes, jacobian, residuals, lengths, white=not correlated
        ),
        residuals=tests,
        noise=dict(zip(problem.noises, noise.tolist(), strict=True)),
        converged=bool(left.max() <= CONVERGED) and not at_bound.any(),
        message=_ending(
            problem.names,
            left,
            np.asarray(at_bound.any(axis=0)),
            stopped=result.status == 0,
            evaluations=search.evaluations,
        )
        + _compared_starts(ends, search),
        evaluations=search.evaluations,
        problem=problem,
    )


def _compared_starts(ends: Sequence[SearchEnd], best: SearchEnd) -> str:
    """Return a sentence with the number of searches that found the best result."""
    if len(ends) < 2:
        return ""
    least = _misfit(best)
    alike = sum(_misfit(end) - least < SAME_VALLEY for end in ends)
    return f" It is the best of {len(ends)} starts, {alike} of which ended there."


def _ending(
    names: Sequence[str],
    left: Array,
    at_bound: npt.NDArray[np.bool_],
    *,
    stopped: bool,
    evaluations: int,
) -> str:
    """Return sentences on how a search ended and on the remaining distance to the minimum."""
    if at_bound.any():
        bound = ", ".join(name for name, at in zip(names, at_bound, strict=True) if at)
        return (
            f"{bound}: ended at a bound, where the errors still fall. The recording hardly tells "
            "it, or the model lacks an effect. Leave it out, or give its prior."
        )
    worst = int(np.argmax(left))
    far = f"{names[worst]}, the last to converge, is {left[worst]:.2g} standard errors away"
    if left[worst] <= CONVERGED:
        return f"all numbers are where the errors are least: {far}."
    if stopped:
        return f"it was stopped after {evaluations} runs: {far}."
    return (
        "no step of it reduced the errors, though the derivatives predict some would: "
        f"{far}. Runs do not follow their derivatives here: their steps are too long, or "
        "their motion diverges."
    )


def _warn_of_servos(model: Model, inputs: Mapping[str, str]) -> None:
    """Warn if a joint with a measured input also has a servo in the model file."""
    both = [axis for axis in model.axes if axis.name in inputs and axis.acts.servo is not None]
    if both:
        joint = f"links.{both[0].link + 1}.joint"
        place = ".".join(filter(None, (joint, both[0].label, "servo")))
        warnings.warn(
            f"{', '.join(axis.name for axis in both)}: the servo of the model file acts "
            "beside the measured input. If the measured input is all that the motor "
            f"did, remove the servo (--set {place}=).",
            stacklevel=3,
        )


def _warn_of_many_shapes(arm: Arm) -> None:
    """Warn if flexible links use the default shape functions, which make a fit slow.

    The default shape functions are so many that data cannot determine their effects, and change
    with the fitted parameters.
    """
    names = [
        link.name or f"link{k}"
        for k, link in enumerate(arm.links, 1)
        if isinstance(link.shapes, ArmModes) and not link.rigid and link.section is not None
    ]
    if names:
        warnings.warn(
            f"{', '.join(names)}: has default shapes, which are more than the data "
            "determine and make a fit take minutes. Name one or two in the plane of the "
            f"motion, such as 'shapes: {{kind: loaded, root: held, bending_y: 1, "
            f"bending_z: 0, torsion: 0}}'.",
            LongRun,
            stacklevel=3,
        )
