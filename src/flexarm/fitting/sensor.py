"""Sensor models: encoders, tachometers, strain gauges, motor currents, tip position."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arguments import refused, require_kind, require_number
from flexarm.control.sensors import Gauge, bending
from flexarm.errors import FlexarmError
from flexarm.integrate.actuators import actuators_of
from flexarm.mechanics.kinematics import end_frame
from flexarm.mechanics.loads import input_names
from flexarm.model import Model
from flexarm.spatial import Array, Expr

Adjusted = Literal["gain", "offset", "delay", "lag"]
ADJUSTED: tuple[Adjusted, ...] = ("gain", "offset", "delay", "lag")
ASKED = "a tuple of 'gain', 'offset', 'delay', 'lag'"
_STRAIN = re.compile(r"(\S+) strain ([yz]) at ([0-9.eE+-]+)(?: distance ([0-9.eE+-]+))?")
TIP = ("tip.x", "tip.y", "tip.z")


@dataclass(frozen=True)
class Sensor:
    """A sensor that measures a quantity x of the arm, with gain, offset, delay and low-pass filter.

    ``reading(t) = gain y(t) + offset`` in SI units, with ``lag y' = x(t - delay) - y``, or with as
    many such filters in series as there are ``poles``.

    Attributes
    ----------
    reads
        The quantity: a coordinate such as ``joint1`` or ``joint1.motor``; the rate of a coordinate,
        ``joint1.rate``; a motor current, ``joint1.current``; a tip coordinate, ``tip.x``; a
        `Gauge`, or as text ``link1 strain y at 0``, followed by ``distance 0.002`` unless the
        distance from the neutral axis is 1 m.
    gain, offset, delay, lag
        Known values, or initial guesses of fitted ones; delay, and lag (time constant of the
        low-pass filter), in seconds.
    fit
        Names among ``gain``, ``offset``, ``delay``, ``lag`` of the values to be fitted.
    noise
        Standard deviation of the measurement noise in SI units; estimated from the residuals if
        None.
    valid
        First and last time [s] at which readings are used; all if None.
    poles
        Number of low-pass filters, 1 or more.
    """

    reads: str | Gauge
    gain: float = 1.0
    offset: float = 0.0
    delay: float = 0.0
    lag: float = 0.0
    fit: tuple[Adjusted, ...] = ()
    noise: float | None = None
    valid: tuple[float, float] | None = None
    poles: int = 1

    def __post_init__(self) -> None:
        """Raise an error for invalid attributes, and convert a strain gauge given as text."""
        if not isinstance(self.reads, str | Gauge):
            raise refused("sensor: reads", self.reads, "a name such as 'joint1', or a Gauge")
        for name in ADJUSTED:
            require_number(f"sensor: {name}", getattr(self, name))
        if self.lag < 0:
            raise refused("sensor: lag", self.lag, "a time [s] >= 0")
        if type(self.poles) is not int or self.poles < 1:
            raise refused("sensor: poles", self.poles, "a whole number >= 1")
        require_kind("sensor: fit", self.fit, tuple, ASKED)
        if any(adjustment not in ADJUSTED for adjustment in self.fit):
            raise refused("sensor: fit", self.fit, ASKED)
        if self.noise is not None and require_number("sensor: noise", self.noise) <= 0:
            raise refused("sensor: noise", self.noise, "a number > 0, or None")
        ends = (0.0, 1.0) if self.valid is None else self.valid
        if not isinstance(ends, tuple) or len(ends) != 2 or not ends[0] < ends[1]:
            raise refused("sensor: valid", self.valid, "a pair of times, first < last, or None")
        words = _STRAIN.fullmatch(self.reads) if isinstance(self.reads, str) else None
        if words:
            axis: Literal["y", "z"] = "y" if words[2] == "y" else "z"
            gauge = Gauge(words[1], float(words[3]), axis, float(words[4] or 1.0))
            object.__setattr__(self, "reads", gauge)

    def counts(self, t: Array) -> Array:
        """Return 1 for times [s] at which the sensor's readings are valid, else 0, shape (T,)."""
        low, high = (-np.inf, np.inf) if self.valid is None else self.valid
        return np.where((t >= low) & (t <= high), 1.0, 0.0)

    def units(self, model: Model) -> tuple[str, ...]:
        """Return the SI units that the sensor's readings may have."""
        if isinstance(self.reads, Gauge):
            return "1", "rad", "m"
        if self.reads in TIP:
            return ("m",)
        name, _, last = self.reads.rpartition(".")
        if last == "current":
            return ("A",)
        rate = last == "rate" and name in model.names
        kind = coordinate_unit(model, name if rate else self.reads)
        return (f"{kind}/s" if rate else kind,)

    def trace(self, model: Model, q: Expr, v: Expr, x: Expr, u: Expr) -> Expr:
        """Return the symbolic sensed quantity, before gain, offset, delay and lag."""
        if isinstance(self.reads, Gauge):
            return -self.reads.distance * bending(model, self.reads, q)
        if self.reads in TIP:
            return end_frame(model, q)[1][TIP.index(self.reads)]
        name, _, last = self.reads.rpartition(".")
        if self.reads in model.names:
            return q[model.names.index(self.reads)]
        if last == "rate" and name in model.names:
            return v[model.names.index(name)]
        windings = actuators_of(model).windings
        for k, winding in enumerate(windings):
            if winding.name == self.reads:
                actuators = replace(actuators_of(model), servos=(), ties=())
                return actuators.shares(model, u, q, v, ca.SX(0, 1), x, ca.SX(0, 1))[2][k]
        quantities = [
            *model.names,
            "NAME.rate",
            *TIP,
            *(motor_winding.name for motor_winding in windings),
        ]
        raise FlexarmError(
            f"sensor: {model.arm.name} has no quantity '{self.reads}'. The quantities are "
            f"{', '.join(quantities)}, and gauges such as 'link1 strain y at 0'."
        )


def coordinate_unit(model: Model, name: str) -> str:
    """Return the SI unit of a coordinate: rad or m."""
    for axis in model.axes:
        if name in (axis.name, f"{axis.name}.motor"):
            return "rad" if axis.turns else "m"
    return "rad" if "twist" in name or ".r" in name else "m"


@dataclass(frozen=True)
class Readings:
    """Sensor readings of a model as functions of state and input, with their Jacobian."""

    values: ca.Function  # readings, (sensors,)
    slopes: ca.Function  # derivatives by states and inputs, (sensors, states + inputs)
    count: int  # number of sensors

    @classmethod
    def of(cls, model: Model, sensors: Sequence[Sensor]) -> "Readings":
        """Return the traced readings of a model's sensors."""
        n, more = model.size, actuators_of(model).states
        y, u = ca.SX.sym("y", 2 * n + more), ca.SX.sym("u", len(input_names(model)))
        q, v, x = y[:n], y[n : 2 * n], y[2 * n :]
        read = ca.vertcat(*(sensor.trace(model, q, v, x, u) for sensor in sensors))
        slopes = ca.densify(ca.jacobian(read, ca.vertcat(y, u)))
        values = ca.Function("values", [y, u], [ca.densify(read)])
        return cls(values, ca.Function("slopes", [y, u], [slopes]), len(sensors))

    def at(self, states: Array, inputs: Array) -> Array:
        """Return the readings at every sample, shape (T, sensors)."""
        return np.array(self.values(states.T, inputs.T)).T.reshape(len(states), -1)

    def slopes_at(self, states: Array, inputs: Array) -> Array:
        """Return the Jacobian of the readings at every sample, (T, sensors, states + inputs)."""
        columns = np.array(self.slopes(states.T, inputs.T)).reshape(self.count, len(states), -1)
        return np.swapaxes(columns, 0, 1)


def delayed(t: Array, x: Array, slopes: Array, delay: float) -> tuple[Array, Array, Array]:
    """Return a reading delayed by a time, its rate, and its derivatives by the fitted values."""
    from scipy.interpolate import CubicSpline

    late = np.clip(t - delay, t[0], t[-1])
    curve = CubicSpline(t, x)
    moving = np.where((t - delay >= t[0]) & (t - delay <= t[-1]), curve(late, 1), 0.0)
    return np.asarray(curve(late)), moving, np.asarray(CubicSpline(t, slopes)(late))


def lagged(
    t: Array, x: Array, rate: Array, slopes: Array, lag: float
) -> tuple[Array, Array, Array, Array]:
    """Return a low-pass filtered reading, its rate, and its derivatives by the fitted values.

    The results are the reading, its rate, its derivative by the time constant ``lag`` with opposite
    sign, and its derivatives by other fitted values. Readings are interpolated by cubic splines,
    for which the filter is exact; it starts in the steady state.
    """
    from scipy.interpolate import CubicSpline

    h = np.diff(t)
    lag = max(lag, 1e-3 * float(h.min()))
    keep = np.exp(-h / lag)[:, None]
    both = np.column_stack([x, rate, slopes])
    bend, curve, slope = CubicSpline(t, both).c[:3]
    step = h[:, None]
    # Value and first three derivatives of each piece at its beginning and at its end.
    begin = (both[:-1], slope, 2 * curve, 6 * bend)
    end = (both[1:], slope + step * (2 * curve + 3 * step * bend), 2 * curve + 6 * step * bend,
           6 * bend)  # fmt: skip
    # The response to a polynomial: its value less lag times its rate, and so on; the rest decays.
    first, last = (p[0] - lag * (p[1] - lag * (p[2] - lag * p[3])) for p in (begin, end))
    y = _filtered(both[0], keep[:, 0], last - keep * first)
    by_first, by_last = (
        -p[1][:, :1] + lag * (2 * p[2][:, :1] - 3 * lag * p[3][:, :1]) for p in (begin, end)
    )
    pushed = by_last - keep * by_first + keep * step / lag**2 * (y[:-1, :1] - first[:, :1])
    late = -_filtered(np.zeros(1), keep[:, 0], pushed)[:, 0]
    return y[:, 0], y[:, 1], late, y[:, 2:]


def _filtered(first: Array, keep: Array, pushed: Array) -> Array:
    y = np.vstack([first, pushed])
    for k, share in enumerate(keep):
        y[k + 1] += share * y[k]
    return y
