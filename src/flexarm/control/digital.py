"""A law as a computer runs it: sampled, delayed, with noise and limits."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arguments import (
    is_word,
    refused,
    require_array,
    require_count,
    require_number,
    require_positive,
)
from flexarm.control.sensors import Sensors, effort_limits, require_sensors_fit
from flexarm.errors import FlexarmError
from flexarm.integrate.laws import Sampled, refuse_misfit
from flexarm.links.base import Array
from flexarm.mechanics.validity import input_limits
from flexarm.model import Model

LONGEST_DELAY = 100_000  # periods


def sampled(
    law: ca.Function,
    period: float,
    model: Model,
    *,
    sensed: Sensors | None = None,
    delay: float = 0.0,
    limits: float | Sequence[float] | None = None,
    noise: float | Sequence[float] = 0.0,
    quantum: float | Sequence[float] = 0.0,
    seed: int = 0,
    rates: Literal["measured", "difference"] = "measured",
) -> Sampled:
    """Run a law at a fixed rate, its inputs held between.

    Parameters
    ----------
    law
        (t, q, v) to u.
    period
        Time between two samples [s].
    model
        The arm.
    sensed
        What the law sees; the whole state if None.
    delay
        Time from a sample to the input that follows from it [s], a multiple of the period.  Before
        the first has come through, the first input of the law holds.
    limits
        Largest input, one or one per driven joint; what ``limits.effort`` of the model file
        allows if None, and no limit where it says nothing.
    noise
        Standard deviation of readings, one or one per reading, new at every sample.
    quantum
        Step of the readings' converter, likewise; 0 is none.
    seed
        Of the noise: equal seeds give equal runs.
    rates
        ``measured``: rates of readings are exact.  ``difference``: they are differences of the
        last two readings, noise and steps included.

    Returns
    -------
    Sampled
        For ``flexarm.simulate(control=...)``; every run starts it afresh.
    """
    refuse_misfit(law, model)
    period, delay = require_positive("period", period), require_number("delay", delay)
    require_count("seed", seed, 0)
    behind = round(delay / period) if np.isfinite(delay) else -1
    if behind < 0 or abs(behind * period - delay) > 1e-9 * period:
        raise FlexarmError(f"delay: must be a multiple of the period {period:g} s, got {delay:g}")
    if behind > LONGEST_DELAY:
        raise FlexarmError(
            f"delay: must be at most {LONGEST_DELAY:,} periods of {period:g} s, got {delay:g}: "
            "take a longer period, or a shorter delay"
        )
    if not is_word(rates, ("measured", "difference")):
        raise refused("rates", rates, "'measured' or 'difference'")
    if sensed is not None:
        require_sensors_fit(sensed, law, model)
    count = model.size if sensed is None else len(sensed.names)
    computer = _Computer(
        law=law,
        sensed=sensed,
        period=period,
        behind=behind,
        limits=input_limits(model) if limits is None else effort_limits(model, limits),
        noise=_spread("noise", noise, count),
        quantum=_spread("quantum", quantum, count),
        seed=seed,
        difference=rates == "difference",
    )
    return Sampled(computer, period)


def _spread(name: str, value: float | Sequence[float], count: int) -> Array:
    given = require_array(name, value)
    if given.shape not in ((), (count,)) or not np.all(given >= 0):
        raise FlexarmError(f"{name}: must be one number or {count}, all >= 0, got {given.tolist()}")
    return np.broadcast_to(given, (count,)).copy()


@dataclass
class _Computer:
    """What a sampled law remembers from sample to sample; time 0 begins a new run."""

    law: ca.Function
    sensed: Sensors | None
    period: float
    behind: int
    limits: Array
    noise: Array
    quantum: Array
    seed: int
    difference: bool
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    waiting: deque[Array] = field(default_factory=deque)
    last: Array | None = None

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Take a sample, and give the input to hold."""
        if t < 0.5 * self.period:
            self._begin()
        q, v = self._seen(q, v)
        u = np.array(self.law(t, q, v)).ravel()
        if len(u) == len(self.limits):  # the run refuses another length
            u = np.clip(u, -self.limits, self.limits)
        if not self.waiting:
            self.waiting.extend([u] * self.behind)
        self.waiting.append(u)
        return self.waiting.popleft()

    def _begin(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.waiting.clear()
        self.last = None

    def _seen(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Read the sensors and make a state of it."""
        if self.sensed is not None:
            q, v = (np.array(each).ravel() for each in self.sensed.measure(q, v))
        z = q + self.noise * self.random.standard_normal(len(q))
        steps = np.where(self.quantum > 0, self.quantum, 1.0)
        z = np.where(self.quantum > 0, np.round(z / steps) * steps, z)
        if self.difference:
            v = np.zeros_like(z) if self.last is None else (z - self.last) / self.period
        self.last = z
        if self.sensed is None:
            return z, v
        q, v = (np.array(each).ravel() for each in self.sensed.estimate(z, v))
        return q, v
