"""Measured time histories and frequency responses with named columns, and models of sensors."""

import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import casadi as ca
import numpy as np

from flexarm.arguments import refused, require_kind, require_number, require_path
from flexarm.arm.side_files import SideFile, SideFiles
from flexarm.control.sensors import Gauge, bending
from flexarm.errors import FlexarmError, ModelError
from flexarm.fitting.constants import FEWEST_SAMPLES
from flexarm.integrate.actuators import actuators_of
from flexarm.io.csv_table import read_number, read_rows
from flexarm.mechanics.kinematics import end_frame
from flexarm.mechanics.loads import input_names
from flexarm.model import Model
from flexarm.spatial import Array, Expr
from flexarm.units import quantity

KINDS = (".csv", ".npz", ".mat", ".parquet")
TIMES = ("time", "t")
FREQUENCIES = ("frequency", "f")
_BRACKETS = re.compile(r"(.+?)\s*[\[(]([^\])]*)[\])]$")


@dataclass(frozen=True)
class Recording:
    """A measured time history, or a measured frequency response.

    Attributes
    ----------
    name
        Name of the file, or the name under which a mapping was read.
    t
        Times [s] of a time history, (T,), from 0 on unless it is a segment of a longer run; or the
        frequencies [Hz] of a frequency response.
    columns
        Values of each column, (T,), by the column's name as written in the file.
    digest
        SHA-256 of the file; empty if the data are not from a file.
    is_response
        Whether the recording is a frequency response.
    """

    name: str
    t: Array
    columns: Mapping[str, Array]
    digest: str = ""
    is_response: bool = False

    def has(self, name: str) -> bool:
        """Return whether a column of the given name exists, with or without its unit."""
        return any(name in (key, split_unit(key)[0]) for key in self.columns)

    def column(self, name: str, *units: str) -> Array:
        """Return a column converted to the first compatible SI unit of ``units``, shape (T,).

        ``name`` may omit the unit.

        Raises
        ------
        FlexarmError
            If there is no such column, or the column's unit is compatible with none of ``units``.
        """
        matches = [key for key in self.columns if name in (key, split_unit(key)[0])]
        if len(matches) != 1:
            number = "more than one" if matches else "no"
            raise FlexarmError(
                f"{self.name}: {number} column is called '{name}'. The columns are "
                f"{', '.join(self.columns)}."
            )
        written, reasons = split_unit(matches[0])[1], []
        for unit in units:
            try:
                factor = quantity(f"1 {written}", unit) if written else 1.0
            except ModelError as error:
                reasons.append(str(error))
            else:
                return np.asarray(self.columns[matches[0]] * factor)
        raise FlexarmError(f"{self.name}: column '{matches[0]}': {reasons[0]}")


def split_unit(header: str) -> tuple[str, str]:
    """Return name and unit of a column header such as ``joint1 [deg]`` or ``joint1_deg``.

    The unit is empty if the header states none.
    """
    bracketed = _BRACKETS.match(header)
    if bracketed:
        return bracketed[1], bracketed[2]
    name, _, last = header.rpartition("_")
    last = {"radps": "rad/s", "Nm": "N m"}.get(last, last)
    if name and _is_unit(last):
        return name, last
    return header, ""


def _is_unit(text: str) -> bool:
    for unit in ("m", "kg", "s", "rad", "m/s", "rad/s", "Hz", "N", "N m", "A", "1", "m/s^2"):
        try:
            quantity(f"1 {text}", unit)
        except ModelError:
            continue
        return bool(text) and not text.isdecimal()
    return text in ("V", "mV")


def read_recording(source: object, name: str = "data") -> Recording:
    """Return a measured run read from a file or a mapping of arrays by column.

    Parameters
    ----------
    source
        A file .csv, .npz, .mat or .parquet, a mapping of arrays by name, or a `Recording`. One
        column is named ``time``, in seconds unless the name states another unit.
    name
        Name of a mapping in error messages.

    Raises
    ------
    FlexarmError
        If the source cannot be read, times do not increase, or values are not finite; the message
        names file, line and column.
    """
    if isinstance(source, Recording):
        return source
    if isinstance(source, Mapping):
        return _checked(name, {str(k): v for k, v in source.items()}, lambda row: f"row {row + 1}")
    if not isinstance(source, str | Path):
        raise refused("data", source, "a file, or a mapping of arrays by name")
    path = require_path("data", source)
    if path.suffix.lower() not in KINDS:
        raise FlexarmError(f"{path}: must end in {', '.join(KINDS)}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FlexarmError(f"{path}: cannot be read: {error.strerror}") from None
    lines: list[int] = []
    columns = (
        _csv(path, content, lines) if path.suffix.lower() == ".csv" else _arrays(path, content)
    )
    recording = _checked(
        str(path), columns, lambda row: f"line {lines[row]}" if lines else f"row {row + 1}"
    )
    return replace(recording, digest=hashlib.sha256(content).hexdigest())


def _csv(path: Path, content: bytes, lines: list[int]) -> dict[str, Any]:
    rows: Iterator[Any] = read_rows(SideFile(path.name, content, SideFiles(path.parent)))
    _, header = next(rows, (1, []))
    names = [text for _, text in header]
    if len(set(names)) < len(names):
        raise FlexarmError(f"{path}:1: two columns have the same name. Rename one.")
    table = []
    for line, cells in rows:
        if len(cells) != len(names):
            raise FlexarmError(
                f"{path}:{line}: must have {len(names)} cells like the header, got {len(cells)}"
            )
        table.append([read_number(text) for _, text in cells])
        lines.append(line)
    return dict(zip(names, np.array(table).reshape(-1, len(names)).T, strict=True))


def _arrays(path: Path, content: bytes) -> dict[str, Any]:
    kind, file = path.suffix.lower(), io.BytesIO(content)
    try:
        if kind == ".npz":
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        if kind == ".mat":
            from scipy.io import loadmat

            return {k: v for k, v in loadmat(path).items() if not k.startswith("__")}
        import pandas  # type: ignore[import-untyped]

        return {str(k): v.to_numpy() for k, v in pandas.read_parquet(file).items()}
    except ImportError as error:
        raise FlexarmError(
            f"{path}: {error.name} is needed to read it. Run pip install {error.name}."
        ) from None
    except Exception as error:
        raise FlexarmError(f"{path}: is not a {kind} file of arrays: {error}") from None


def _checked(name: str, columns: Mapping[str, Any], place: Any) -> Recording:
    """Return a `Recording` of the columns after checking lengths, times and finite values."""
    timed = [key for key in columns if split_unit(key)[0].lower() in TIMES]
    is_response = not timed
    if is_response:
        timed = [key for key in columns if split_unit(key)[0].lower() in FREQUENCIES]
    if len(timed) != 1:
        raise FlexarmError(
            f"{name}: must have a column called time or frequency, got "
            f"{', '.join(columns) or 'no columns'}"
        )
    try:
        arrays = {key: np.array(value, dtype=float).ravel() for key, value in columns.items()}
    except (TypeError, ValueError):
        raise FlexarmError(f"{name}: every column must be an array of numbers") from None
    count = len(arrays[timed[0]])
    for key, values in arrays.items():
        if len(values) != count:
            raise FlexarmError(
                f"{name}: column '{key}' has {len(values)} samples, but column {timed[0]} has "
                f"{count}. Give all columns the same length."
            )
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise FlexarmError(
                f"{name}: {place(int(bad[0]))}, column '{key}': must be a finite number. Leave "
                "such samples out, or cut the recording there."
            )
    if count < FEWEST_SAMPLES:
        raise FlexarmError(f"{name}: must have at least {FEWEST_SAMPLES} samples, got {count}")
    unit = "Hz" if is_response else "s"
    t = Recording(name, arrays[timed[0]], arrays).column(timed[0], unit)
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        row = int(back[0]) + 1
        raise FlexarmError(
            f"{name}: {place(row)}: {('frequencies' if is_response else 'times')} must "
            f"increase, got {t[row]:g} {unit} after {t[row - 1]:g} {unit}. Sort the samples, "
            "and leave repeated ones out."
        )
    if is_response and t[0] <= 0:
        raise FlexarmError(f"{name}: {place(0)}: frequencies must be > 0, got {t[0]:g} Hz")
    rest = {key: values for key, values in arrays.items() if key != timed[0]}
    return Recording(name, t if is_response else t - t[0], rest, is_response=is_response)


Adjusted = Literal["gain", "offset", "delay", "lag"]
ADJUSTED: tuple[Adjusted, ...] = ("gain", "offset", "delay", "lag")
ASKED = "a tuple of 'gain', 'offset', 'delay', 'lag'"
_STRAIN = re.compile(r"(\S+) strain ([yz]) at ([0-9.eE+-]+)(?: distance ([0-9.eE+-]+))?")
TIP = ("tip.x", "tip.y", "tip.z")


@dataclass(frozen=True)
class Sensor:
    """A sensor that measures a quantity x of the arm, with gain, offset, delay and low-pass filter.

    The reading is ``gain y(t) + offset`` in SI units. The filtered quantity y follows from
    ``lag y' = x(t - delay) - y``, or from several such filters in series, see ``poles``.

    Attributes
    ----------
    reads
        The quantity: a coordinate such as ``joint1`` or ``joint1.motor``; the rate of a coordinate,
        ``joint1.rate``; a motor current, ``joint1.current``; a tip coordinate, ``tip.x``; a
        `Gauge`, or as text ``link1 strain y at 0``, followed by ``distance 0.002`` unless the
        distance from the neutral axis is 1 m.
    gain, offset, delay, lag
        Known values, or initial guesses of the values to fit. The delay and the lag, the time
        constant of the low-pass filter, are in seconds.
    fit
        Names among ``gain``, ``offset``, ``delay``, ``lag`` of the values to be fitted.
    noise
        Standard deviation of the measurement noise in SI units; estimated from the residuals if
        None.
    valid
        First and last time [s] of the readings to use; all readings if None.
    poles
        Number of low-pass filters in series, 1 or more.
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
    slopes: ca.Function  # derivatives with respect to states and inputs, (sensors, states + inputs)
    count: int  # number of sensors

    @classmethod
    def of(cls, model: Model, sensors: Sequence[Sensor]) -> "Readings":
        """Return the readings of a model's sensors as CasADi functions."""
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
    """Return a delayed reading, its rate, and derivatives with respect to the fitted values."""
    from scipy.interpolate import CubicSpline

    late = np.clip(t - delay, t[0], t[-1])
    curve = CubicSpline(t, x)
    moving = np.where((t - delay >= t[0]) & (t - delay <= t[-1]), curve(late, 1), 0.0)
    return np.asarray(curve(late)), moving, np.asarray(CubicSpline(t, slopes)(late))


def lagged(
    t: Array, x: Array, rate: Array, slopes: Array, lag: float
) -> tuple[Array, Array, Array, Array]:
    """Return a low-pass filtered reading, its rate, and d reading / d fitted values.

    Returned are the filtered reading, its rate, its negative derivative with respect to the time
    constant ``lag``, and its derivatives with respect to other fitted values. Readings are
    interpolated by cubic splines, for which the filter's solution is exact. The filter starts in
    the steady state.
    """
    from scipy.interpolate import CubicSpline

    h = np.diff(t)
    lag = max(lag, 1e-3 * float(h.min()))
    keep = np.exp(-h / lag)[:, None]
    both = np.column_stack([x, rate, slopes])
    bend, curve, slope = CubicSpline(t, both).c[:3]
    step = h[:, None]
    # Value and first three derivatives of each spline segment at its beginning and at its end.
    begin = (both[:-1], slope, 2 * curve, 6 * bend)
    end = (both[1:], slope + step * (2 * curve + 3 * step * bend), 2 * curve + 6 * step * bend,
           6 * bend)  # fmt: skip
    # The steady response to a polynomial x is x - lag x' + lag^2 x'' - ...; the transient decays.
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
