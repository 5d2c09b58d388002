"""What a fit gives: numbers with intervals, how well they hold, and the fitted arm."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arm import Arm
from flexarm.fitting.problem import Problem
from flexarm.fitting.statistics import Combination, ResidualTest
from flexarm.io.model_file import save
from flexarm.io.overrides import change_arm
from flexarm.links.base import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTES = 20_000  # characters that a model file has room for
MARK = "Fitted by flexarm"


@dataclass(frozen=True)
class Estimate:
    """A fitted number: value, standard error, and the interval that holds it in 95 of 100 cases."""

    name: str
    before: float
    value: float
    error: float
    low: float
    high: float
    at_bound: bool = False


@dataclass(frozen=True)
class Fit:
    """A model fitted to measured runs.

    Attributes
    ----------
    arm
        With the fitted numbers; its notes say where they come from.
    estimates
        Numbers of the model file, offsets of inputs, gains, offsets and delays of sensors.
    covariance
        Of all of them, (k, k).
    correlated
        Whether residuals are correlated in time, which the intervals then count.
    combinations
        What the data know of combinations of the numbers, worst first.
    residuals
        Tests of what is left, by run and sensor.
    noise
        Standard deviation of each sensor, in SI units.
    converged, message, evaluations
        How the search ended.
    problem
        What was fitted.
    """

    arm: Arm
    estimates: tuple[Estimate, ...]
    covariance: Array
    correlated: bool
    combinations: tuple[Combination, ...]
    residuals: tuple[ResidualTest, ...]
    noise: dict[str, float]
    converged: bool
    message: str
    evaluations: int
    problem: Problem

    @property
    def values(self) -> dict[str, float]:
        """The fitted numbers by name."""
        return {each.name: each.value for each in self.estimates}

    @property
    def unclear(self) -> tuple[str, ...]:
        """What the data cannot tell, in words."""
        return tuple(each.words() for each in self.combinations if each.open)

    def readings(self) -> list[Array]:
        """Give the readings of the fitted model, run by run, (T, sensors) each."""
        found = self.problem.at(np.array([each.value for each in self.estimates]))
        assert found is not None
        return [each.readings for each in found]

    def predict(self, data: object) -> tuple[ResidualTest, ...]:
        """Judge the fitted model by runs that it was not fitted to.

        Parameters
        ----------
        data
            Files or mappings as for `flexarm.identify`, with the same columns.
        """
        from flexarm.fitting.identify import judge

        return judge(self, data)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the fitted arm to a model file, whole or not at all."""
        save(self.arm, path, force=force)

    def plot(self) -> "Figure":
        """Draw measured and fitted readings, what is left, and the numbers with their intervals."""
        from flexarm.fitting.report import draw

        return draw(self)

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write a page with tables and pictures."""
        from flexarm.fitting.report import write_report

        write_report(self, path, force=force)

    def __str__(self) -> str:
        """Say what was found."""
        from flexarm.fitting.report import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain data."""
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
                }
                for each in self.estimates
            },
            "unclear": list(self.unclear),
            "residuals": [
                {
                    "run": each.run,
                    "sensor": each.sensor,
                    "error": each.error,
                    "rms": each.rms,
                    "whiteness": each.whiteness,
                    "from_inputs": each.from_inputs,
                }
                for each in self.residuals
            ],
            "noise": self.noise,
        }


def fitted_arm(
    arm: Arm, estimates: tuple[Estimate, ...], keys: tuple[str, ...], runs: Mapping[str, str]
) -> Arm:
    """Put fitted numbers into an arm, and say in its notes where they come from."""
    from importlib.metadata import version

    lines = [f"{MARK} {version('flexarm')} to measured runs:"]
    lines += [f"  {name} (sha256 {digest[:16] or 'none'})" for name, digest in runs.items()]
    lines.append("with 95 % intervals (what is not in this file is of inputs and sensors):")
    lines += [
        f"  {e.name}: {e.value:.6g}, {e.low:.6g} to {e.high:.6g}; before {e.before:.6g}"
        for e in estimates
    ]
    notes = "\n".join(filter(None, [arm.notes.rstrip(), *lines]))
    changed = {each.name: each.value for each in estimates if each.name in keys}
    return change_arm(arm, {**changed, "notes": notes[-NOTES:] + "\n"})
