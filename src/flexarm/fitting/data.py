"""Results of a fit as plain data."""

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
class FitData:
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
