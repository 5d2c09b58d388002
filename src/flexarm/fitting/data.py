"""What a fit finds, as plain data."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.fitting.problem import FitProblem
from flexarm.fitting.statistics import ParameterCombination, ResidualTest
from flexarm.links.base import Array


@dataclass(frozen=True)
class Estimate:
    """A fitted number: value, standard error, and the interval that holds it in 95 of 100 cases."""

    name: str
    before: float
    value: float
    error: float  # standard error; infinite of a number without an effect on the readings
    low: float
    high: float
    at_bound: bool = False
    by_steps: float = 0.0  # how far errors of the runs' steps may move it; its interval counts that

    @property
    def digits(self) -> int:
        """Significant digits in which the ends of the interval differ."""
        reach = max(self.high - self.low, 1e-13 * abs(self.value))
        if not (self.value and 0 < reach < math.inf):
            return 5
        return min(max(5, 3 - math.floor(math.log10(reach / abs(self.value)))), 15)

    @property
    def fitted(self) -> str:
        """The value in words, to the digits of its interval."""
        return f"{self.value:.{self.digits}g}"

    @property
    def interval(self) -> str:
        """The interval in words."""
        if math.isinf(self.error):
            return "unknown"
        return f"{self.low:.{self.digits}g} to {self.high:.{self.digits}g}"


@dataclass(frozen=True)
class FitData:
    """A model fitted to measured runs."""

    arm: Arm  # with the fitted numbers; its notes say where they come from
    # Numbers of the model file, offsets of inputs, gains, offsets and delays of sensors.
    estimates: tuple[Estimate, ...]
    covariance: Array  # of all of them, (k, k)
    correlated: bool  # whether residuals are correlated in time, which the intervals then count
    # What the data know of combinations of the numbers, worst first.
    combinations: tuple[ParameterCombination, ...]
    residuals: tuple[ResidualTest, ...]  # tests of what is left, by run and sensor
    noise: dict[str, float]  # standard deviation of each sensor, in SI units
    # converged, message, evaluations: how the search ended.
    converged: bool
    message: str
    evaluations: int
    problem: FitProblem  # what was fitted

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
        values = np.array([each.value for each in self.estimates])
        return [each.readings for each in self.problem.at(values)]

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
                    "by_steps": each.by_steps,
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
