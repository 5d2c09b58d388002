"""Result of a fit: estimates with confidence intervals, residual tests, fitted arm, reports."""

import base64
import io
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.constants import NOTES_LENGTH
from flexarm.arm.summary import html_table, table_lines
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable, panels
from flexarm.fitting.constants import NOTED_SHIFT, TONES, TRIAL_SAMPLES
from flexarm.fitting.problem import (
    Driven,
    FitProblem,
    MeasuredRun,
    measured,
    read_recordings,
    tests_of,
)
from flexarm.fitting.responses import unstacked
from flexarm.fitting.statistics import ParameterCombination, ResidualTest
from flexarm.io.model_file import change_arm, save
from flexarm.io.whole_file import write_whole
from flexarm.runs.contents import input_units
from flexarm.spatial import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "Fitted by flexarm"
ESTIMATES = ("number", "before", "fitted", "95 % interval", "")
RESIDUALS = (
    "run",
    "sensor",
    "rms over std",
    "rms [SI]",
    "residuals are",
    "correlation with inputs (chance 1)",
)


@dataclass(frozen=True)
class Estimate:
    """A fitted parameter with its standard error and its 95 % confidence interval."""

    name: str
    before: float  # initial guess
    value: float  # fitted value
    error: float  # standard error; infinite for a parameter without effect on the readings
    low: float  # lower end of the confidence interval
    high: float  # upper end of the confidence interval
    at_bound: bool = False  # whether the fitted value is at a bound of the search
    # possible discretisation error of the value, included in the confidence interval
    by_steps: float = 0.0

    @property
    def digits(self) -> int:
        """Number of significant digits in which value and interval are printed."""
        reach = max(self.high - self.low, 1e-13 * abs(self.value))
        if not (self.value and 0 < reach < math.inf):
            return 5
        return min(max(5, 3 - math.floor(math.log10(reach / abs(self.value)))), 15)

    @property
    def fitted(self) -> str:
        """The fitted value as text, rounded according to the confidence interval."""
        return f"{self.value:.{self.digits}g}"

    @property
    def interval(self) -> str:
        """The confidence interval as text, or ``unknown`` if the standard error is infinite."""
        if math.isinf(self.error):
            return "unknown"
        return f"{self.low:.{self.digits}g} to {self.high:.{self.digits}g}"


@dataclass(frozen=True)
class Excitation:
    """A sinusoidal input of one joint, with the information that a run with it would add."""

    joint: str  # name of the joint
    frequency: float  # [Hz]
    amplitude: float  # amplitude in the unit of the joint's input
    gain: float  # factor by which a run with this input would narrow the widest confidence interval
    errors: dict[str, float]  # standard errors of all estimates after one more run with this input

    def words(self) -> str:
        """Return a sentence that describes the input and the gain in accuracy."""
        return (
            f"a sine on {self.joint} at {self.frequency:.3g} Hz, amplitude {self.amplitude:.3g}: "
            f"the worst known combination {self.gain:.2g} times as well known"
        )


@dataclass(frozen=True)
class Fit:
    """An arm fitted to measured runs, with the estimates, their covariance and residual tests."""

    arm: Arm  # the arm with the fitted numbers, whose notes state their origin
    # Estimates of numbers of the model file, offsets of inputs, gains, offsets and delays of
    # sensors.
    estimates: tuple[Estimate, ...]
    covariance: Array  # covariance matrix of the estimates, (k, k)
    correlated: bool  # whether residuals are correlated in time, which widens the intervals
    combinations: tuple[ParameterCombination, ...]  # principal combinations, least certain first
    residuals: tuple[ResidualTest, ...]  # tests of the residuals by run and sensor
    noise: dict[str, float]  # standard deviation of each sensor, in SI units
    converged: bool  # whether the search converged
    message: str  # how the search ended
    evaluations: int  # number of evaluations of the model
    problem: FitProblem  # the fitted problem
    # Prediction errors in cross-validation windows, divided by the standard deviation of the
    # readings, by sensor; empty without cross-validation.
    predictions: Mapping[str, float] = field(default_factory=dict)
    # names of values held at their initial values for better predictions
    kept: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, float]:
        """Fitted values of parameters, offsets and sensor adjustments, by name."""
        return {estimate.name: estimate.value for estimate in self.estimates}

    @property
    def unclear(self) -> tuple[str, ...]:
        """Descriptions of the parameter combinations that the data leave undetermined."""
        return tuple(combination.words() for combination in self.combinations if combination.open)

    def readings(self) -> list[Array]:
        """Return the sensor readings that the fitted model predicts, (T, sensors) per run."""
        values = np.array([run.value for run in self.estimates])
        return [run.readings for run in self.problem.at(values)]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary of plain data, as for JSON."""
        return {
            "arm": self.arm.name,
            "converged": self.converged,
            "message": self.message,
            "evaluations": self.evaluations,
            "correlated": self.correlated,
            "estimates": {
                estimate.name: {
                    "before": estimate.before,
                    "value": estimate.value,
                    "error": estimate.error,
                    "interval": [estimate.low, estimate.high],
                    "at_bound": estimate.at_bound,
                    "by_steps": estimate.by_steps,
                }
                for estimate in self.estimates
            },
            "unclear": list(self.unclear),
            "residuals": [asdict(estimate) for estimate in self.residuals],
            "noise": self.noise,
            "predictions": dict(self.predictions),
            "kept": list(self.kept),
        }

    def predict(self, data: object) -> tuple[ResidualTest, ...]:
        """Validate the fitted model on runs that were not used in the fit.

        Parameters
        ----------
        data
            Files or mappings as for `flexarm.identify`, with the columns that were used in the fit.

        Returns
        -------
        tuple[ResidualTest, ...]
            Tests of the residuals of each sensor in each run.
        """
        problem = self.problem
        first = problem.runs[0]
        runs = [
            measured(
                first.runs,
                recording,
                first.columns,
                problem.sensors,
                first.begins,
                first.interpolation,
            )
            for recording in read_recordings(data)
        ]
        other = replace(problem, runs=runs, _last={})
        return tests_of(other, np.array([recording.value for recording in self.estimates]))

    def excitation(self) -> tuple[Excitation, ...]:
        """Return sinusoidal inputs of the driven joints, most informative first.

        Each input is simulated with the fitted values, from the initial state of the first measured
        time history.
        """
        run = next((run for run in self.problem.runs if not run.recording.is_response), None)
        if run is None:
            raise FlexarmError(
                "excitation: is for time histories, and all data are frequency responses. Leave it "
                "out."
            )
        values = np.array([estimate.value for estimate in self.estimates])
        noise = np.array(list(self.noise.values()))
        jacobian = self.problem.jacobian(values, noise)
        noise = noise[: len(self.problem.sensors)]
        errors = np.sqrt(np.diag(self.covariance))
        sizes = np.maximum(np.abs(values), np.where(np.isfinite(errors), errors, 1.0))
        information = jacobian.T @ jacobian
        t = run.recording.t[:TRIAL_SAMPLES]
        tones = np.geomspace(2 / float(t[-1]), 0.1 / float(np.median(np.diff(t))), TONES)
        units = list(input_units(run.runs.equation.model))
        trials = []
        for k, joint in enumerate(units):
            driven = np.concatenate([run.inputs[:, k] for run in self.problem.runs])
            amplitude = float(np.sqrt(2) * driven.std()) or 1.0
            for tone in tones:
                inputs = np.zeros((len(t), len(units)))
                inputs[:, k] = amplitude * np.sin(2 * np.pi * tone * t)
                more = _information(self, run, t, inputs, values, noise)
                if more is not None:
                    trials.append(_compared(self, information, more, sizes,
                                           (joint, float(tone), amplitude)))  # fmt: skip
        return tuple(sorted(trials, key=lambda estimate: -estimate.gain))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the fitted arm to a model file, atomically."""
        save(self.arm, path, force=force)

    def plot(self) -> "Figure":
        """Draw measured readings, simulated readings and residuals, by sensor and run."""
        names, runs = list(self.problem.sensors), self.problem.runs
        size = (5.5 * len(runs) + 1, 2.2 * len(names) + 1)
        figure, axes = panels(size, len(names), len(runs), shared="x")
        for r, (run, model) in enumerate(zip(runs, self.readings(), strict=True)):
            t = run.recording.t
            if run.recording.is_response:
                _draw_response(axes[:, r], self, run, model)
                continue
            axes[0, r].set_title(drawable(Path(run.recording.name).name))
            axes[-1, r].set_xlabel("time [s]")
            for s, name in enumerate(names):
                axis = axes[s, r]
                axis.plot(t, run.outputs[:, s], color=COLOURS[7], linewidth=1.0, label="measured")
                axis.plot(t, model[:, s], color=COLOURS[1], linewidth=1.0, label="model")
                left = run.outputs[:, s] - model[:, s]
                axis.plot(t, left, color=COLOURS[0], linewidth=0.7, label="residual")
                axis.set_ylabel(drawable(name))
                axis.grid(visible=True, alpha=0.3)
        axes[0, 0].legend(loc="upper right", fontsize="small")
        return figure

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write an HTML report of the fit with tables and a figure, atomically."""
        picture = io.BytesIO()
        self.plot().savefig(picture, format="png", dpi=110)
        image = base64.b64encode(picture.getvalue()).decode("ascii")
        title = f"{self.arm.name}: fitted to measured runs"
        text = "".join(f"<p>{escape(combination)}</p>" for combination in self.judgement())
        combinations = [(combination.words(),) for combination in self.combinations]
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
            "<style>body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
            "tr{border-bottom:1px solid #ccc}img{max-width:100%}</style>"
            f"<h1>{escape(title)}</h1>{text}<h2>Numbers</h2>"
            f"{html_table(ESTIMATES, self._estimate_rows)}"
            f"<h2>What is left</h2>{html_table(RESIDUALS, self._residual_rows)}"
            f'<p><img alt="measured and fitted readings" src="data:image/png;base64,{image}"></p>'
            f"<h2>What the data know, worst first</h2>"
            f"{html_table(('combination',), combinations)}</html>\n"
        )
        write_whole(path, page.encode("utf-8"), force=force)

    def __str__(self) -> str:
        """Return a text report of the fit: tables of estimates and residuals, and an assessment."""
        count = len(self.problem.runs)
        verdict, *notes = self.judgement()
        lines = [f"{self.arm.name}: fitted to {count} measured run{'s' * (count > 1)}", verdict, ""]
        lines += table_lines(ESTIMATES, self._estimate_rows)
        lines += ["", *table_lines(RESIDUALS, self._residual_rows), "", *notes]
        return "\n".join(lines)

    def judgement(self) -> list[str]:
        """Return sentences that assess the reliability of the fit."""
        sentences = [
            f"The search {'converged' if self.converged else 'did NOT converge'}: {self.message}"
        ]
        if not self.converged:
            sentences.append(
                "Continue from these numbers (most_evaluations, --most), start with short "
                "pieces (horizon, --horizon), or fit fewer numbers, first those that the "
                "data determine best."
            )
        if self.predictions:
            errors = ", ".join(f"{name} {error:.2g}" for name, error in self.predictions.items())
            sentences.append(
                "Windows that were left out are predicted with an error over the standard "
                f"deviation of {errors}."
            )
        if self.kept:
            sentences.append(
                f"The readings do not tell {', '.join(self.kept)}, which keep their initial "
                "values: the windows are predicted better so."
            )
        without = [estimate.name for estimate in self.estimates if math.isinf(estimate.error)]
        if without:
            sentences.append(
                f"These numbers have no effect on the readings: {', '.join(without)}. Leave them "
                "out."
            )
        if self.unclear:
            sentences.append("The data leave uncertain: " + "; ".join(self.unclear) + ".")
        else:
            worst = self.combinations[0].words()
            sentences.append(
                f"The data determine all numbers. The least certain combination is {worst}."
            )
        if self.correlated:
            sentences.append(
                "The residuals are correlated in time, so the model does not explain all of "
                "the readings. The intervals include that correlation, but not that the "
                "model may be wrong."
            )
        moved = [
            (estimate.by_steps / estimate.error, estimate.name)
            for estimate in self.estimates
            if estimate.error > 0
        ]
        if moved and max(moved)[0] > NOTED_SHIFT:
            sentences.append(
                f"The steps of the runs may change {max(moved)[1]} by {max(moved)[0]:.2g} "
                "standard errors. The intervals include that. Give a smaller step (step, "
                "--step)."
            )
        bound = [estimate.name for estimate in self.estimates if estimate.at_bound]
        if bound:
            sentences.append(
                "These numbers are at a bound, so their intervals are not valid: "
                f"{', '.join(bound)}."
            )
        return sentences

    @property
    def _estimate_rows(self) -> list[tuple[str, ...]]:
        """Return the table rows of the fitted values as texts."""
        return [
            (e.name, f"{e.before:.5g}", e.fitted, e.interval,
             "at its bound" if e.at_bound else "")
            for e in self.estimates
        ]  # fmt: skip

    @property
    def _residual_rows(self) -> list[tuple[str, ...]]:
        """Return the table rows of the residual tests, one per run and sensor, as texts."""
        return [
            (residual.run, residual.sensor, f"{residual.error:.3g}", f"{residual.rms:.3g}",
             "noise" if residual.white else "correlated in time",
             f"{residual.from_inputs:.2g}")
            for residual in self.residuals
        ]  # fmt: skip


def fitted_arm(
    arm: Arm, estimates: tuple[Estimate, ...], keys: tuple[str, ...], runs: Mapping[str, str]
) -> Arm:
    """Return the arm with the fitted values, documented in the notes of its model file."""
    from importlib.metadata import version

    lines = [f"{MARK} {version('flexarm')} to measured runs:"]
    lines += [f"  {name} (sha256 {digest[:16] or 'none'})" for name, digest in runs.items()]
    lines.append(
        "with 95 % intervals (numbers that are not in this file are those of inputs and sensors):"
    )
    lines += [f"  {e.name}: {e.fitted}, {e.interval}; before {e.before:.6g}" for e in estimates]
    notes = "\n".join(filter(None, [arm.notes.rstrip(), *lines]))
    changed = {estimate.name: estimate.value for estimate in estimates if estimate.name in keys}
    return change_arm(arm, {**changed, "notes": notes[-NOTES_LENGTH:] + "\n"})


def _information(
    fit: Fit, run: MeasuredRun, t: Array, inputs: Array, values: Array, noise: Array
) -> Array | None:
    """Return the Fisher information matrix of the fitted values for a trial input, (k, k).

    Return None if the arm cannot be simulated with the input.
    """
    count = len(t)
    trial = replace(
        run,
        recording=replace(run.recording, t=t),
        runs=replace(run.runs, times=t),
        inputs=inputs,
        columns=dict.fromkeys(input_units(run.runs.equation.model), ""),
        outputs=run.outputs[:count],
        counts=np.ones((count, len(noise))),
    )
    try:
        slopes = Driven(fit.problem, trial, values).slopes / noise[:, None]
    except FlexarmError:
        return None
    flat = slopes.reshape(-1, len(values))
    return np.asarray(flat.T @ flat)


def _compared(
    fit: Fit, information: Array, more: Array, sizes: Array, sine: tuple[str, float, float]
) -> Excitation:
    scale = np.outer(sizes, sizes)
    before, after = (
        np.linalg.eigvalsh(matrix * scale)[0] for matrix in (information, information + more)
    )
    inverse = np.linalg.pinv((information + more) * scale, hermitian=True)
    errors = sizes * np.sqrt(np.maximum(np.diag(inverse), 0.0))
    names = (matrix.name for matrix in fit.estimates)
    gain = float(np.sqrt(max(after, 1e-300) / max(before, 1e-300)))
    return Excitation(*sine, gain, dict(zip(names, errors.tolist(), strict=True)))


def _draw_response(axes: Any, fit: Fit, run: MeasuredRun, model: Array) -> None:
    """Draw frequency response magnitudes by input: measured as points, simulated as lines."""
    axes[0].set_title(drawable(Path(run.recording.name).name))
    axes[-1].set_xlabel("frequency [Hz]")
    measured, fitted, counts = (
        unstacked(values, len(run.columns)) for values in (run.outputs, model, run.counts)
    )
    for s, name in enumerate(fit.problem.sensors):
        for k, joint in enumerate(run.columns):
            if counts[k, :, s].any():
                colour, t = COLOURS[k % len(COLOURS)], run.recording.t
                axes[s].loglog(t, abs(measured[k, :, s]), ".", color=colour, label=f"from {joint}")
                axes[s].loglog(t, abs(fitted[k, :, s]), color=colour, linewidth=1.0)
        axes[s].set_ylabel(drawable(name))
        axes[s].grid(visible=True, alpha=0.3)
    axes[0].legend(loc="upper right", fontsize="small")
