"""Functions of time, error scales and bounds of an arm, in the form integrators need."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from pydantic import ValidationError

from flexarm.arguments import require_known
from flexarm.arm.joint import JointLimits
from flexarm.arm.profile import Constant
from flexarm.constants import NEGLIGIBLE
from flexarm.engine.compile import Compiled
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import servos
from flexarm.integrate.choice.vibration import Vibration
from flexarm.integrate.constants import (
    MOST_MIDDLE_ANGLE,
    NEGLIGIBLE_ROUNDING,
    POSITION_RTOL,
    STEEPEST_SERIES,
)
from flexarm.integrate.system import PIECE, WORKS, System
from flexarm.io.explain import explain_data
from flexarm.io.source import show_path
from flexarm.loops.language import Ints
from flexarm.mechanics.constants import STEEPEST_SLOPE
from flexarm.mechanics.deformed import tip_rows
from flexarm.mechanics.loads import wrench_list
from flexarm.model import Model, prescribed_profiles
from flexarm.model.profiles import AnyProfile, evaluate_at, last_time, pieces
from flexarm.model.spans import whole_name
from flexarm.spatial import Array

# Functions of time with the constant values 0 and 1.
STILL, ONE = (Constant[float](kind="constant", value=value) for value in (0.0, 1.0))
MISSION_PORTS = (
    "r",
    "x",
    "dx",
    "b",
    "h",
    "event_values",
    "event_rates",
)  # arguments that only some equations have


@dataclass(frozen=True)
class Channel:
    """A function of time of an arm: input, wrench factor, prescribed motion or target.

    The times of the function count from ``begin`` [s], and ``offset`` is added to its values.
    """

    name: str
    profile: AnyProfile
    begin: float = 0.0
    offset: float = 0.0

    @property
    def pieces(self) -> Array:
        """Pieces of the function of time, one per row (see `flexarm.model.profiles.pieces`)."""
        rows = pieces(self.profile)
        if self.begin or self.offset:
            rows = rows.copy()
            rows[:, :2] += self.begin
            rows[:, 2] += self.offset
        return rows

    def at(self, times: Array) -> Array:
        """Return values, rates and accelerations at T times [s] as rows, (3, T)."""
        values = evaluate_at(self.profile, times - self.begin)
        values[0] += self.offset
        return values


@dataclass(frozen=True)
class Measures:
    """Quantities, linear in the coordinates, relative to whose ranges errors are measured."""

    rows: Array  # coefficients of the coordinates, one row per quantity, (R, n)
    rate_rows: Array  # coefficients of the modal rates, one row per quantity, (R, n)
    to_modes: Array  # matrices from rates to modal rates, one per arm, (lanes, n, n)
    # frequencies of the modes [rad/s], (lanes, n), negative for modes that do not vibrate
    frequencies: Array
    group: Ints  # group of each quantity, (R,)
    floor: Array  # least range of each group
    rate_floor: Array  # least rate of each group
    pace: Array  # dominant frequency of deflections [rad/s], by group; 0 for other groups
    deflects: tuple[bool, ...]  # whether a group is a deflection, not a joint or the base
    energy_floor: Array  # least energy [J] by which errors of work integrals are scaled, (lanes,)
    # Least ranges of the actuator states.
    state_floor: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class StateLimit:
    """A linear function of (q, v) with bounds; a run ends where it leaves them."""

    row: Array  # coefficients of (q, v), (2n,)
    # low, high: bounds of the function.
    low: float
    high: float
    # Name of the quantity in messages; empty for an angle at whose bound the reference attitude is
    # reset.
    what: str
    remedy: str  # advice in the message


def table_of(compiled: Compiled, buffers: Mapping[str, Array]) -> tuple[Ints, list[Array]]:
    """Return a table of pointers to the arguments of compiled equations, and the arrays."""
    arguments = compiled.inputs[: len(compiled.inputs) - len(compiled.constants)]
    arrays = [buffers[port.name] for port in arguments]
    arrays += [*compiled.constants, *(buffers[port.name] for port in compiled.outputs)]
    arrays.append(np.zeros(compiled.work_size + 8))
    return np.array([array.ctypes.data for array in arrays], dtype=np.int64), arrays


def channels(
    model: Model, inputs: Mapping[str, AnyProfile], q: Array, begins: Mapping[str, float]
) -> tuple[list[Channel], ...]:
    """Return the inputs, wrench factors, prescribed motions and targets as functions of time.

    The target of a servo without a target is its position at coordinates q. The times of a target
    count from 0, or from the time [s] that `begins` contains for the joint.
    """
    drives = [
        Channel(axis.name, inputs.get(axis.name) or axis.acts.input or STILL)
        for axis in model.axes
        if axis.driven
    ]
    factors = [
        Channel(f"wrench {k + 1}", wrench.factor or ONE)
        for k, wrench in enumerate(wrench_list(model))
    ]
    names = [model.names[i] for i in model.prescribed]
    motions = [
        Channel(name, profile or STILL)
        for name, profile in zip(names, prescribed_profiles(model), strict=True)
    ]
    targets = [
        Channel(f"{servo.name}: servo", servo.profile(q), begins.get(servo.name, 0.0))
        for servo in servos(model)
    ]
    return drives, factors, motions, targets


def jumps(groups: Iterable[Sequence[Channel]]) -> Array:
    """Return the times [s] at which any function of time of any group jumps, sorted."""
    functions = itertools.chain.from_iterable(groups)
    return np.array(sorted({t for function in functions for t in function.pieces[1:, 0].tolist()}))


def refuse_short_tables(groups: Iterable[Sequence[Channel]], t_end: float) -> None:
    """Raise an error if the table of a function of time ends before the run does."""
    for function in itertools.chain.from_iterable(groups):
        end = function.begin + last_time(function.profile)
        if end < t_end * (1 - 1e-12):
            raise SimulationError(
                f"{function.name}: the table ends at t = {end:g} s, before the end of the run at "
                f"{t_end:g} s. Lengthen the table, shorten the run, or write 'interpolation: "
                "hold'."
            )


def system_of(
    equation: Equation,
    compiled: Compiled,
    groups: tuple[list[Channel], ...],
    *,
    lanes: int = 1,
    work_integrals: int = WORKS,
    impulses: int = 0,
) -> tuple[System, dict[str, Array]]:
    """Build the record of compiled equations and functions of time, and its arrays by name.

    With several arms in SIMD lanes, each element of an array is replaced by `lanes` adjacent
    numbers, one per arm, and each function of time is listed once per arm. The equations return
    accelerations, `work_integrals` powers, and `impulses` forces and torques.
    """
    model = equation.model
    functions = [channel for group in groups for channel in group]
    rows = [channel.pieces for channel in functions]
    n = model.size * lanes
    sizes = {port.name: port.size for port in (*compiled.inputs, *compiled.outputs)}
    buffers = {
        "t": np.zeros(1), "q": np.zeros(n), "v": np.zeros(n), "u": np.zeros(len(groups[0])),
        "w": np.zeros(len(groups[1])), "prescribed_a": np.zeros(len(groups[2])), "a": np.zeros(n),
        "power": np.zeros((work_integrals + impulses) * lanes),
        "reference_attitude": np.array(equation.reference_attitude, dtype=float).ravel(),
        "load": model.links[-1].tip_body.numbers if model.load_given else np.zeros(0),
        **{name: np.zeros(sizes.get(name, 0)) for name in MISSION_PORTS},
    }  # fmt: skip
    table, arrays = table_of(compiled, buffers)
    first = np.array([0, *itertools.accumulate(map(len, rows))], dtype=np.int64)
    system = System(
        n=n,
        channels=len(functions),
        inputs=len(groups[0]),
        wrenches=len(groups[1]),
        prescribed=len(groups[2]),
        targets=len(groups[3]),
        work_integrals=(work_integrals + impulses) * lanes,
        states=len(buffers["x"]),
        energies=work_integrals * lanes,
        equations=compiled.table_address,
        table=table,
        time=buffers["t"],
        q=buffers["q"],
        v=buffers["v"],
        u=buffers["u"],
        w=buffers["w"],
        prescribed_a=buffers["prescribed_a"],
        r=buffers["r"],
        x=buffers["x"],
        a=buffers["a"],
        power=buffers["power"],
        dx=buffers["dx"],
        coordinates=np.array(
            [k * lanes + lane for k in model.prescribed for lane in range(lanes)], dtype=np.int64
        ),
        pieces=np.concatenate(rows).ravel() if rows else np.zeros(PIECE),
        first=first,
        current=first[:-1].copy(),
        evaluations=0,
    )
    buffers["work"] = arrays[-1]
    return system, buffers


def measures(model: Model, q: Array, vibration: Vibration) -> Measures:
    """Build the quantities that scale the integration errors, linearised at coordinates q."""
    rows: list[Array] = []
    group: list[int] = []
    floor: list[float] = []
    deflections: list[bool] = []

    def add(quantities: list[Array], least_range: float, *, deflects: bool) -> None:
        rows.extend(quantities)
        group.extend([len(floor)] * len(quantities))
        floor.append(least_range)
        deflections.append(deflects)

    unit, scales = np.eye(model.size), model.scales
    if model.base_moves:
        add([unit[i] for i in range(3)], scales[0], deflects=False)
        add([unit[i] for i in range(3, 6)], scales[3], deflects=False)
    for part in model.links:
        for axis in part.axes:
            scale = scales[axis.index]
            add([unit[axis.index]], scale, deflects=False)
            if axis.motor is not None:
                add([unit[axis.motor] - unit[axis.index]], NEGLIGIBLE * scale, deflects=True)
        shapes = tip_rows(model, part, q)
        if len(shapes):
            add(list(shapes), NEGLIGIBLE * max(part.length, 1e-3), deflects=True)
    rates = [
        1e2 * least_range if is_deflection else least_range
        for least_range, is_deflection in zip(floor, deflections, strict=True)
    ]
    modes = vibration.modes
    matrix, groups = np.array(rows).reshape(-1, model.size), np.array(group, dtype=np.int64)
    return Measures(
        matrix,
        matrix @ vibration.basis,
        vibration.to_modes[None],
        vibration.rates[None],
        groups,
        np.array(floor),
        np.array(rates),
        np.where(deflections, modes.carried(matrix, groups) @ modes.frequencies, 0.0),
        tuple(deflections),
        np.array([NEGLIGIBLE * vibration.inertia]),
    )


def digit_limits(model: Model, rtol: float) -> list[StateLimit]:
    """Return position bounds beyond which double precision cannot meet a tolerance."""
    unit = np.eye(2 * model.size)
    farthest = NEGLIGIBLE_ROUNDING * max(rtol, POSITION_RTOL) / float(np.finfo(float).eps)
    scales = model.scales
    scaled = [(k, scales[k]) for k in range(6 if model.base_moves else 0)]
    for axis in model.axes:
        scaled += [(k, scales[axis.index]) for k in (axis.motor, axis.index) if k is not None]
    remedy = (
        "The position is so large that double precision cannot meet rtol. Count from a nearer "
        "place (leave whole turns out of angles), shorten the run, or allow a larger rtol."
    )
    return [
        StateLimit(
            unit[k], -farthest * scale, farthest * scale, f"{model.names[k]}: its position", remedy
        )
        for k, scale in scaled
    ]


def state_limits_of(
    model: Model, q: Array, rtol: float, *, limits: bool = True
) -> list[StateLimit]:
    """Return all bounds at which a run ends: joint limits, ends of sliding links, tip slopes.

    The position bounds of `digit_limits` are included. With ``limits=False`` it does not include
    joint limits, since the equations are valid beyond these.
    """
    n, bounds = model.size, digit_limits(model, rtol)
    unit = np.eye(2 * n)
    bounds += [
        StateLimit(unit[k + 1], -MOST_MIDDLE_ANGLE, MOST_MIDDLE_ANGLE, "", "")
        for k in model.attitudes
    ]
    for axis in model.axes:
        if limits and axis.acts.limits is not None and axis.index not in model.prescribed:
            position, speed = unit[axis.index], unit[n + axis.index]
            joint_limits = axis.acts.limits
            if axis.acts.stops is not None:
                joint_limits = joint_limits.model_copy(update={"lower": None, "upper": None})
            bounds += _limits(axis.name, joint_limits, position, speed)
    for part in model.links:
        if part.stroke is not None:
            low, high = part.stroke.range
            quantity, remedy = (
                f"{part.name}: its {part.stroke.name}",
                f"{part.stroke.end[:1].upper()}{part.stroke.end[1:]}. Change the drive, or",
            )
            ends = (
                (low - 1e-9 * high, math.inf, "limits.lower"),
                (-math.inf, high * (1 + 1e-9), "limits.upper or the length"),
            )
            bounds += [
                StateLimit(unit[part.exposed], a, b, quantity, f"{remedy} {key}.")
                for a, b, key in ends
            ]
        steepest = STEEPEST_SERIES if part.exact is None else STEEPEST_SLOPE
        for slope in part.body.tip_slopes:
            row = np.zeros(2 * n, dtype=slope.dtype)
            row[part.modes.start : part.modes.stop] = slope
            if np.any(row):
                quantity = f"{part.name}: the slope of its tip [rad]"
                remedy = "Such bending is beyond the model. "
                if part.exact is None or part.body.range is not None:
                    remedy += "Stiffen or split the link."
                else:
                    name, k = whole_name(part.name), part.number - 1
                    spans = f"'spans: {2 * model.arm.links[k].spans}'"
                    remedy += f"Give {name} more spans ({spans}), or stiffen it."
                bounds.append(StateLimit(row, -steepest, steepest, quantity, remedy))
    return bounds


def _limits(
    name: str, limits: JointLimits[float, float, float], position: Array, speed: Array
) -> list[StateLimit]:
    bounds = []
    remedy = "Change the input or the initial state, or widen the joint's limits."
    if limits.lower is not None or limits.upper is not None:
        low = -math.inf if limits.lower is None else float(limits.lower)
        high = math.inf if limits.upper is None else float(limits.upper)
        bounds.append(StateLimit(position, low, high, f"{name}: its position", remedy))
    if limits.speed is not None:
        fastest = float(limits.speed)
        bounds.append(StateLimit(speed, -fastest, fastest, f"{name}: its speed", remedy))
    return bounds


def read_inputs(model: Model, inputs: Mapping[str, Any]) -> dict[str, AnyProfile]:
    """Return functions of time by joint, from numbers or data in the form of the model file."""
    joints = {axis.name: axis.acts for axis in model.axes if axis.driven}
    profiles: dict[str, AnyProfile] = {}
    for name, value in inputs.items():
        require_known(name, joints, "driven joint", where="inputs: ", error=SimulationError)
        if value is None or callable(value) or isinstance(value, ca.SX | ca.MX):
            raise SimulationError(
                f"inputs: {name}: must be a number or a profile, got {value!r}. Give a function "
                "as control=, either a CasADi function (t, q, v) that returns the inputs of all "
                "driven joints, or flexarm.Sampled(law, period)."
            )
        profile = {"kind": "constant", "value": value} if isinstance(value, int | float) else value
        joint = joints[name]
        data = joint.model_dump(exclude_unset=True) | {"input": profile}
        try:
            checked = type(joint).model_validate(data)
        except ValidationError as error:
            problem = explain_data(error, type(joint), data)[0]
            key = show_path(problem.path)
            raise SimulationError(f"inputs: {name}: {key}: {problem.message}") from None
        assert checked.input is not None
        profiles[name] = checked.input
    return profiles
