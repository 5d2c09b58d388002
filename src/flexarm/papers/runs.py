"""Arms of the papers with some values changed, and their motions under a given formulation."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.formulations import formulation
from flexarm.integrate.choice.choose import choose
from flexarm.integrate.methods import METHODS
from flexarm.integrate.sampling import sample_times
from flexarm.integrate.solve import solve
from flexarm.integrate.task import prepare
from flexarm.io.overrides import Change, load_changed
from flexarm.links.base import Array
from flexarm.model import TipRotation, build
from flexarm.runs.run import Run
from flexarm.samples import sample_path


def changed(name: str, values: Mapping[str, Any] | None = None) -> Arm:
    """Load a sample with values changed by their keys, such as ``links.1.section.EIz``."""
    changes = [
        Change(f"{key}={value}", tuple(key.split(".")), value)
        for key, value in (values or {}).items()
    ]
    return load_changed(sample_path(name), changes)


def run_by(
    arm: Arm,
    kind: str,
    *,
    t_end: float,
    dt: float,
    paper: bool = False,
    stiffening: bool | None = None,
    tip_rotation: TipRotation = "cayley",
    method: str = "auto",
    rtol: float = 1e-3,
) -> Run:
    """Simulate an arm by a formulation, with or without its paper's approximations.

    Parameters
    ----------
    arm, kind
        The arm and the formulation's name.
    t_end, dt
        Duration and interval of samples [s].
    paper, stiffening, tip_rotation
        As for `flexarm.formulation` and `flexarm.build`.
    method, rtol
        As for `flexarm.simulate`.
    """
    equation = formulation(
        kind, build(arm, stiffening=stiffening, tip_rotation=tip_rotation), paper=paper
    )
    task = prepare(equation.model, sample_times(t_end, dt), equation=equation)
    chosen, why = (
        choose(task, rtol, audit=False) if method == "auto" else (METHODS[method], "asked for")
    )
    return task.run(chosen, solve(task.beginning(chosen, rtol)), rtol, why)


def column(run: Run, name: str) -> Array:
    """Pick a coordinate's history by its name, (T,)."""
    return run.q[:, run.model.names.index(name)]


def tip_deflection(run: Run, link: int = 0, axis: str = "y") -> Array:
    """Pick the history of a link's tip deflection along an axis [m], (T,)."""
    return np.asarray(run.along([1.0])["deflection"].values[:, link, 0, "xyz".index(axis)])


def rms(values: Array) -> float:
    """Give the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def apart(one: Array, other: Array) -> float:
    """Measure how far two histories are apart: rms of the difference over the other's range."""
    return rms(one - other) / float(np.ptp(other))


def main_frequency(t: Array, y: Array) -> float:
    """Find the strongest frequency [Hz] of evenly sampled values, less their trend.

    Notes
    -----
    Hann window; a parabola through the highest three of the logarithmic spectrum.
    """
    line = np.polynomial.Polynomial.fit(t, y, 1)
    windowed = (y - line(t)) * np.hanning(len(t))
    size = np.abs(np.fft.rfft(windowed, 4 * len(t)))
    k = int(np.argmax(size[1:-1])) + 1
    low, mid, high = np.log(size[k - 1 : k + 2])
    shift = 0.5 * (low - high) / (low - 2 * mid + high)
    return float((k + shift) / (4 * len(t) * (t[1] - t[0])))
