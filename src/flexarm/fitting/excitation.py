"""Inputs that would determine what measured runs leave open."""

from dataclasses import dataclass, replace

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.fitting.fit import Fit
from flexarm.fitting.problem import Driven, MeasuredRun
from flexarm.links.base import Array
from flexarm.runs.contents import input_units

TONES = 6  # frequencies per joint, from two periods in a run to ten samples per period
LONGEST = 2000  # samples of a trial, which bound its time


@dataclass(frozen=True)
class Excitation:
    """A sine input on one joint, with the information that it would add."""

    joint: str  # name of the joint
    frequency: float  # [Hz]
    amplitude: float  # in the unit of its input
    gain: float  # factor by which the interval of the least certain combination would narrow
    errors: dict[str, float]  # standard errors of all estimates with one more run of this kind

    def words(self) -> str:
        """Return a sentence that describes it."""
        return (
            f"a sine on {self.joint} at {self.frequency:.3g} Hz, amplitude {self.amplitude:.3g}: "
            f"the worst known combination {self.gain:.2g} times as well known"
        )


def suggest(fit: Fit) -> tuple[Excitation, ...]:
    """Try sines on each driven joint from the fitted model's start, best first."""
    run = next((run for run in fit.problem.runs if not run.recording.is_response), None)
    if run is None:
        raise FlexarmError("excitation: is of time histories: fit at least one beside responses")
    values = np.array([each.value for each in fit.estimates])
    noise = np.array(list(fit.noise.values()))
    known = fit.problem.jacobian(values, noise)
    noise = noise[: len(fit.problem.sensors)]
    errors = np.sqrt(np.diag(fit.covariance))
    sizes = np.maximum(np.abs(values), np.where(np.isfinite(errors), errors, 1.0))
    information = known.T @ known
    t = run.recording.t[:LONGEST]
    tones = np.geomspace(2 / float(t[-1]), 0.1 / float(np.median(np.diff(t))), TONES)
    units = list(input_units(run.runs.equation.model))
    trials = []
    for k, joint in enumerate(units):
        amplitude = float(np.sqrt(2) * np.concatenate(
            [each.inputs[:, k] for each in fit.problem.runs]).std()) or 1.0  # fmt: skip
        for tone in tones:
            inputs = np.zeros((len(t), len(units)))
            inputs[:, k] = amplitude * np.sin(2 * np.pi * tone * t)
            more = _information(fit, run, t, inputs, values, noise)
            if more is not None:
                trials.append(_compared(fit, information, more, sizes,
                                       (joint, float(tone), amplitude)))  # fmt: skip
    return tuple(sorted(trials, key=lambda each: -each.gain))


def _information(
    fit: Fit, run: MeasuredRun, t: Array, inputs: Array, values: Array, noise: Array
) -> Array | None:
    """Compute the information matrix of a trial, (k, k); None if the arm cannot do it."""
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
    fit: Fit, information: Array, more: Array, sizes: Array, what: tuple[str, float, float]
) -> Excitation:
    scale = np.outer(sizes, sizes)
    before, after = (
        np.linalg.eigvalsh(each * scale)[0] for each in (information, information + more)
    )
    inverse = np.linalg.pinv((information + more) * scale, hermitian=True)
    errors = sizes * np.sqrt(np.maximum(np.diag(inverse), 0.0))
    names = (each.name for each in fit.estimates)
    gain = float(np.sqrt(max(after, 1e-300) / max(before, 1e-300)))
    return Excitation(*what, gain, dict(zip(names, errors.tolist(), strict=True)))
