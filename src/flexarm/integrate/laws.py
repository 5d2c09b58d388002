"""Control laws in a simulation: checks of CasADi laws, and laws called at a sampling rate."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import casadi as ca
import numpy as np

from flexarm.arguments import (
    is_word,
    refused,
    require_array,
    require_count,
    require_kind,
    require_number,
    require_positive,
    shown,
)
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import SimulationError
from flexarm.integrate.constants import LONGEST_DELAY
from flexarm.mechanics.loads import input_limits, input_names
from flexarm.model import Model
from flexarm.spatial import Array


def refuse_misfit(law: ca.Function, model: Model) -> None:
    """Raise an error if `law` is no CasADi function (t, q, v) to u of the model's sizes."""
    require_kind("law", law, ca.Function, "a CasADi function (t, q, v) to u; a Python function "
                 "goes into flexarm.Sampled(law, period)", SimulationError)  # fmt: skip
    require_kind("model", model, Model, "a Model, as flexarm.build(arm) returns")
    n, inputs = model.size, input_names(model)
    sizes = [law.numel_in(k) for k in range(law.n_in())]
    if sizes != [1, n, n]:
        raise SimulationError(
            f"the control law must be a function of t, q and v with 1, {n} and {n} numbers, got "
            f"{sizes}"
        )
    if law.n_out() < 1 or law.numel_out(0) != len(inputs):
        outputs = law.numel_out(0) if law.n_out() else 0
        raise SimulationError(
            f"the control law must return {len(inputs)} inputs ({', '.join(inputs)}), got {outputs}"
        )


def no_number(inputs: Array, names: tuple[str, ...], t: float) -> str:
    """Return an error message that names an input whose value is not finite, or ''."""
    finite = np.isfinite(inputs)
    if np.all(finite):
        return ""
    name = names[int(np.argmin(finite))]
    return f"the control law returned no number for {name} at t = {t:.6g} s. Check the law there."


@dataclass(frozen=True, repr=False)
class Sensors(Summarised):
    """Sensors of an arm: encoders, strain gauges, and coordinates of a moving base.

    Attributes
    ----------
    names
        Names of the z sensor readings, in the order base, joints, motors, strain gauges.
    measure
        CasADi function of the arm's coordinates and rates that returns the readings and their
        rates, (z,) each.
    estimate
        CasADi function of the readings and their rates that returns coordinates and rates of the
        controller's model.
    """

    names: tuple[str, ...]
    measure: ca.Function
    estimate: ca.Function

    def _summary(self) -> Summary:
        return Summary(f"Sensors: {', '.join(self.names)}")


@dataclass(frozen=True, repr=False)
class Sampled(Summarised):
    """A control law that a computer evaluates at a fixed rate, with inputs held between samples.

    Attributes
    ----------
    law
        Python or CasADi function of time [s], coordinates and rates that returns the inputs in the
        order of the driven joints. If the law has memory, it may be an object with a method
        ``begin``: every simulation calls this method at its start, and uses the law that it
        returns.
    period
        Sampling period [s]: time between two calls of the law.
    sensed
        Sensors whose readings the law gets; the exact state if None.
    delay
        Delay [s] between a sample and the moment its inputs act, a multiple of the period. Until
        the first delayed input acts, the inputs of the first sample are used.
    limits
        Largest magnitude of the inputs, one number or one per driven joint; None for no limits. The
        text ``file`` selects the limits that follow from ``limits.effort`` in the model file, where
        it is given.
    noise
        Standard deviation of the sensor noise, one number or one per reading. The noise of
        successive samples is independent.
    quantum
        Quantisation step of the readings, one number or one per reading; 0 for none.
    seed
        Seed of the noise: equal seeds give equal runs.
    rates
        How the law gets the rates of the readings. With ``measured`` the rates are exact; with
        ``difference`` they are backward differences of the last two readings, with noise and
        quantisation.
    """

    law: Callable[[float, Array, Array], Any]
    period: float
    sensed: Sensors | None = None
    delay: float = 0.0
    limits: float | Sequence[float] | Literal["file"] | None = None
    noise: float | Sequence[float] = 0.0
    quantum: float | Sequence[float] = 0.0
    seed: int = 0
    rates: Literal["measured", "difference"] = "measured"

    def _summary(self) -> Summary:
        sensors = "the whole state" if self.sensed is None else ", ".join(self.sensed.names)
        lines = [f"law: {repr(self.law).splitlines()[0]}", f"sees {sensors}"]
        settings = {"delay": (self.delay, " s"), "limits": (self.limits, ""),
                 "noise": (self.noise, ""), "quantum": (self.quantum, "")}  # fmt: skip
        settings_text = [f"{name} {shown(value)}{unit}" for name, (value, unit) in settings.items()
                  if np.any(value)]  # fmt: skip
        lines += [", ".join(settings_text)] if settings_text else []
        return Summary(f"Sampled law, called every {self.period:g} s", tuple(lines))

    def __post_init__(self) -> None:
        """Raise an error if the law is not callable, or an option is invalid."""
        if not callable(self.law):
            raise SimulationError(
                f"Sampled: law must be a function (t, q, v) that returns u, got {shown(self.law)}"
            )
        period = require_positive("Sampled: period", self.period, SimulationError, unit="s")
        object.__setattr__(self, "period", period)
        delay = require_number("delay", self.delay, SimulationError, unit="s")
        object.__setattr__(self, "delay", delay)
        require_count("seed", self.seed, 0)
        if delay < 0 or abs(self.behind * self.period - delay) > 1e-9 * self.period:
            raise SimulationError(
                f"delay: must be a multiple of the period {self.period:g} s, got {delay:g} s"
            )
        if self.behind > LONGEST_DELAY:
            raise SimulationError(
                f"delay: must be at most {LONGEST_DELAY:,} periods of {self.period:g} s, got "
                f"{delay:g} s. Take a longer period, or a shorter delay."
            )
        if not is_word(self.rates, ("measured", "difference")):
            raise refused("rates", self.rates, "'measured' or 'difference'", SimulationError)
        if self.sensed is not None:
            require_kind("sensed", self.sensed, Sensors, "Sensors, as sensors() returns")

    @property
    def behind(self) -> int:
        """Delay of the inputs, as a number of sampling periods."""
        return round(self.delay / self.period)

    def begin(self, model: Model) -> "Computer":
        """Return a sampled law for one simulation of an arm, with memory, starting at time 0.

        Raises
        ------
        SimulationError
            If the law, the sensors or an option does not fit the arm.
        """
        if self.sensed is None and isinstance(self.law, ca.Function):
            refuse_misfit(self.law, model)
        if self.sensed is not None:
            require_sensors_fit(self.sensed, self.law, model)
        count = model.size if self.sensed is None else len(self.sensed.names)
        limits = np.full(len(input_names(model)), np.inf)
        if isinstance(self.limits, str):
            if self.limits != "file":
                raise refused(
                    "limits", self.limits, "a list of numbers, 'file' or None", SimulationError
                )
            limits = input_limits(model)
        elif self.limits is not None:
            limits = _broadcast("limits", self.limits, len(limits))
        law = self.law.begin() if hasattr(self.law, "begin") else self.law
        noise = _broadcast("noise", self.noise, count)
        quantum = _broadcast("quantum", self.quantum, count)
        return Computer(self, law, limits, noise, quantum, np.random.default_rng(self.seed))


def require_sensors_fit(sensed: object, law: object, model: Model | None = None) -> None:
    """Raise an error if sensors do not fit the model, or a law does not fit the sensors."""
    require_kind("sensed", sensed, Sensors, "Sensors, as sensors() returns")
    assert isinstance(sensed, Sensors)
    n, measured = sensed.estimate.numel_out(0), sensed.measure.numel_in(0)
    if model is not None and measured != model.size:
        raise SimulationError(
            f"sensed: must have sensors for the {model.size} coordinates of the arm, got "
            f"sensors for {measured}"
        )
    if not isinstance(law, ca.Function):
        return
    arguments = [law.numel_in(k) for k in range(law.n_in())]
    if arguments != [1, n, n] or law.n_out() != 1:
        raise SimulationError(
            f"law: must be a function of t, q and v with 1, {n} and {n} numbers that returns u "
            f"alone, got one that takes {arguments} and returns {law.n_out()} results"
        )


def _broadcast(name: str, value: float | Sequence[float], count: int) -> Array:
    numbers = require_array(name, value)
    if numbers.shape not in ((), (count,)) or not np.all(numbers >= 0):
        raise SimulationError(
            f"{name}: must be one number or {count} numbers, all >= 0, got {numbers.tolist()}"
        )
    return np.broadcast_to(numbers, (count,)).copy()


@dataclass
class Computer:
    """A sampled law during a simulation, with its delayed inputs and last sensor reading."""

    control: Sampled
    law: Callable[[float, Array, Array], Any]
    limits: Array
    noise: Array
    quantum: Array
    random: "np.random.Generator"  # a string, since numpy.random takes long to import
    waiting: deque[Array] = field(default_factory=deque)
    last: Array | None = None

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        """Return the inputs to hold from time t on; an invalid result of the law is not changed."""
        result = self.law(t, *self._read_sensors(q, v))
        inputs = real_answer(result)
        if inputs is not None and isinstance(self.law, ca.Function):
            inputs = inputs.ravel()
        if inputs is None or inputs.shape != self.limits.shape:
            return result if inputs is None else inputs
        inputs = np.clip(inputs, -self.limits, self.limits)
        if not self.waiting:
            self.waiting.extend([inputs] * self.control.behind)
        self.waiting.append(inputs)
        return self.waiting.popleft()

    def _read_sensors(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return coordinates and rates, estimated from sensor readings with simulated noise."""
        sensed = self.control.sensed
        if sensed is not None:
            q, v = (np.array(column).ravel() for column in sensed.measure(q, v))
        z = q + self.noise * self.random.standard_normal(len(q)) if np.any(self.noise) else q
        steps = np.where(self.quantum > 0, self.quantum, 1.0)
        z = np.where(self.quantum > 0, np.round(z / steps) * steps, z)
        if self.control.rates == "difference":
            v = np.zeros_like(z) if self.last is None else (z - self.last) / self.control.period
        self.last = z
        if sensed is None:
            return z, v
        q, v = (np.array(column).ravel() for column in sensed.estimate(z, v))
        return q, v


def real_answer(answer: object) -> Array | None:
    """Return the result of a law as an array of real numbers, or None if it is not numeric."""
    try:
        array = np.asarray(answer)
        is_numeric = answer is not None and array.dtype.kind in "biufO"
        return array.astype(float) if is_numeric else None
    except Exception:  # conversion of a foreign object
        return None


@dataclass(frozen=True)
class ServoMemory:
    """Data that a sampled servo stores from one sample to the next."""

    ticks: int = 0  # sampling instants so far, also while the joint was locked
    before: float | None = None  # last measured position
    integral: float = 0.0  # integral term, as an input
    # Times [s] and inputs that take effect after the delay.
    waiting: tuple[tuple[float, float], ...] = ()
    held: float = 0.0  # input held now


def integral_of(joint: str) -> str:
    """Return the name of the time history that records a servo's integral term."""
    return f"{joint}.integral"


def held_of(joint: str) -> str:
    """Return the name of the time history that records the held input of a sampled servo."""
    return f"{joint}.held"
