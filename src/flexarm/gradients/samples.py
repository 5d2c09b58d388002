"""States of a motion at its samples, and functions of them that are differentiated."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from flexarm.engine.compile import real_numbers
from flexarm.links.base import Array


@dataclass(frozen=True)
class RunGradient:
    """Derivatives of a function of a run's samples."""

    parameters: Array  # by the numbers of the arm, (k,)
    # q, v: by the start, (n,) each.
    q: Array
    v: Array
    inputs: Array  # by the inputs at the samples, (T, inputs), with straight lines between them


class Samples(ABC):
    """States of a motion at its samples, and their derivatives."""

    @property
    @abstractmethod
    def n(self) -> int:
        """How many coordinates there are."""

    @property
    @abstractmethod
    def states(self) -> Array:
        """Coordinates, rates, and states of servos and drives at the samples, (T, size)."""

    @abstractmethod
    def state_sensitivities(self, inputs: int = 0) -> Array:
        """Differentiate the whole states at the samples by the parameters, (T, size, k).

        With ``inputs``, by what is added to each of these at all times too: so many columns more.
        """

    @abstractmethod
    def pulled(self, seeds: Array) -> tuple[Array, Array, Array]:
        """Pull derivatives by the states at the samples, (T, size), back.

        They become those by the parameters, by the first state and by the inputs.
        """

    @property
    def q(self) -> Array:
        """Coordinates at the samples, (T, n)."""
        return self.states[:, : self.n]

    @property
    def v(self) -> Array:
        """Rates at the samples, (T, n)."""
        return self.states[:, self.n : 2 * self.n]

    def sensitivities(self) -> tuple[Array, Array]:
        """Differentiate all samples by the parameters, forward: of q and of v, (T, n, k) each."""
        rows = self.state_sensitivities()
        return rows[:, : self.n], rows[:, self.n : 2 * self.n]

    def gradient(self, by_q: Array, by_v: Array | None = None) -> RunGradient:
        """Differentiate a function of the samples by all that the run depends on, backward.

        Parameters
        ----------
        by_q, by_v
            Derivatives of the function by the samples of q and v, (T, n) each; 0 if None.

        Notes
        -----
        It takes some five times as long as the run, however many parameters there are.  States are
        kept at checkpoints alone, whose number is the root of the number of steps.
        """
        n, seeds = self.n, np.zeros(self.states.shape)
        seeds[:, :n] = real_numbers("by_q", by_q, (len(seeds), n))
        if by_v is not None:
            seeds[:, n : 2 * n] = real_numbers("by_v", by_v, (len(seeds), n))
        by_numbers, by_start, by_inputs = self.pulled(seeds)
        return RunGradient(by_numbers, by_start[:n], by_start[n : 2 * n], by_inputs)
