"""Result of a fit: numbers with intervals, tests, and the fitted arm."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arm import Arm
from flexarm.fitting.problem import FitProblem, measured, read_recordings, tests_of
from flexarm.fitting.statistics import ParameterCombination, ResidualTest
from flexarm.io.model_file import save
from flexarm.io.overrides import change_arm
from flexarm.links.base import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from flexarm.fitting.excitation import Excitation

NOTES = 20_000  # characters of notes that a model file may have
MARK = "Fitted by flexarm"


@dataclass(frozen=True)
class Estimate:
    """A fitted number with its standard error and its 95 % confidence interval."""

    name: str
    before: float  # value before the fit
    value: float  # fitted value
    error: float  # standard error; infinite of a number without an effect on the readings
    low: float  # lower end of the interval
    high: float  # upper end of the interval
    at_bound: bool = False  # whether it is at a bound of the search
    by_steps: float = 0.0  # possible error by the runs' steps, which the interval includes

    @property
    def digits(self) -> int:
        """Significant digits in which the ends of the interval differ."""
        reach = max(self.high - self.low, 1e-13 * abs(self.value))
        if not (self.value and 0 < reach < math.inf):
            return 5
        return min(max(5, 3 - math.floor(math.log10(reach / abs(self.value)))), 15)

    @property
    def fitted(self) -> str:
        """The value as text, to the digits of its interval."""
        return f"{self.value:.{self.digits}g}"

    @property
    def interval(self) -> str:
        """The interval as text."""
        if math.isinf(self.error):
            return "unknown"
        return f"{self.low:.{self.digits}g} to {self.high:.{self.digits}g}"


@dataclass(frozen=True)
class Fit:
    """A model fitted to measured runs."""

    arm: Arm  # the arm with the fitted numbers, whose notes state their origin
    # Numbers of the model file, offsets of inputs, gains, offsets and delays of sensors.
    estimates: tuple[Estimate, ...]
    covariance: Array  # covariance matrix of the estimates, (k, k)
    correlated: bool  # whether residuals are correlated in time, which intervals then include
    combinations: tuple[ParameterCombination, ...]  # principal combinations, least certain first
    residuals: tuple[ResidualTest, ...]  # tests of the residuals by run and sensor
    noise: dict[str, float]  # standard deviation of each sensor, in SI units
    converged: bool  # whether the search converged
    message: str  # how it ended
    evaluations: int  # number of evaluations of the model
    problem: FitProblem  # the fitted problem

    @property
    def values(self) -> dict[str, float]:
        """The fitted numbers by name."""
        return {each.name: each.value for each in self.estimates}

    @property
    def unclear(self) -> tuple[str, ...]:
        """Descriptions of the combinations that the data leave open."""
        return tuple(each.words() for each in self.combinations if each.open)

    def readings(self) -> list[Array]:
        """Return the readings of the fitted model by run, (T, sensors) each."""
        values = np.array([each.value for each in self.estimates])
        return [each.readings for each in self.problem.at(values)]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain data."""
        return {
            "arm": self.arm.name,
            "converged": self.converged,
            "message": self.message,
            "evaluations": self.evaluations,
            "correlated": self.correlated,
            "estimates": {
                each.name: {
                    "before": each.before,
                    "value": each.value,
                    "error": each.error,
                    "interval": [each.low, each.high],
                    "at_bound": each.at_bound,
                    "by_steps": each.by_steps,
                }
                for each in self.estimates
            },
            "unclear": list(self.unclear),
            "residuals": [asdict(each) for each in self.residuals],
            "noise": self.noise,
        }

    def predict(self, data: object) -> tuple[ResidualTest, ...]:
        """Test the fitted model with runs that it was not fitted to.

        Parameters
        ----------
        data
            Files or mappings as for `flexarm.identify`, with the same columns.

        Returns
        -------
        tuple[ResidualTest, ...]
            Tests of the residuals of each sensor in each run.
        """
        problem = self.problem
        first = problem.runs[0]
        start = "model" if first.start is None else "measured"
        runs = [
            measured(first.runs, each, first.columns, problem.sensors, start)
            for each in read_recordings(data)
        ]
        other = replace(problem, runs=runs, _last={})
        return tests_of(other, np.array([each.value for each in self.estimates]))

    def excitation(self) -> "tuple[Excitation, ...]":
        """Suggest inputs that would determine most of what these data leave open, best first."""
        from flexarm.fitting.excitation import suggest

        return suggest(self)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the fitted arm to a model file, whole or not at all."""
        save(self.arm, path, force=force)

    def plot(self) -> "Figure":
        """Draw measured and fitted readings, and the residuals."""
        from flexarm.fitting.report import draw

        return draw(self)

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write an HTML page with tables and a figure."""
        from flexarm.fitting.report import write_report

        write_report(self, path, force=force)

    def __str__(self) -> str:
        """Return tables and judgement as text."""
        from flexarm.fitting.report import text

        return text(self)


def fitted_arm(
    arm: Arm, estimates: tuple[Estimate, ...], keys: tuple[str, ...], runs: Mapping[str, str]
) -> Arm:
    """Return the arm with the fitted numbers, and their origin in its notes."""
    from importlib.metadata import version

    lines = [f"{MARK} {version('flexarm')} to measured runs:"]
    lines += [f"  {name} (sha256 {digest[:16] or 'none'})" for name, digest in runs.items()]
    lines.append("with 95 % intervals (what is not in this file is of inputs and sensors):")
    lines += [f"  {e.name}: {e.fitted}, {e.interval}; before {e.before:.6g}" for e in estimates]
    notes = "\n".join(filter(None, [arm.notes.rstrip(), *lines]))
    changed = {each.name: each.value for each in estimates if each.name in keys}
    return change_arm(arm, {**changed, "notes": notes[-NOTES:] + "\n"})
