"""What a fit finds, as plain data."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.fitting.problem import Problem
from flexarm.fitting.statistics import Combination, ResidualTest
from flexarm.links.base import Array


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

    @property
    def interval(self) -> str:
        """The interval in words, to digits in which its ends differ."""
        share = self.error / abs(self.value) if self.value else 1.0
        digits = min(max(5, 2 - math.floor(math.log10(max(share, 1e-13)))), 15)
        return f"{self.low:.{digits}g} to {self.high:.{digits}g}"


@dataclass(frozen=True)
class FitData:
    """A model fitted to measured runs."""

    arm: Arm  # with the fitted numbers; its notes say where they come from
    # Numbers of the model file, offsets of inputs, gains, offsets and delays of sensors.
    estimates: tuple[Estimate, ...]
    covariance: Array  # of all of them, (k, k)
    correlated: bool  # whether residuals are correlated in time, which the intervals then count
    # What the data know of combinations of the numbers, worst first.
    combinations: tuple[Combination, ...]
    residuals: tuple[ResidualTest, ...]  # tests of what is left, by run and sensor
    noise: dict[str, float]  # standard deviation of each sensor, in SI units
    # converged, message, evaluations: how the search ended.
    converged: bool
    message: str
    evaluations: int
    problem: Problem  # what was fitted

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
