"""Functions of time, error measures and limits of an arm, as an integrator uses them."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from pydantic import ValidationError

from flexarm.arm.joint import JointLimits
from flexarm.arm.profile import Constant
from flexarm.engine.compile import Compiled
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import servos
from flexarm.integrate.choice.vibration import Vibration
from flexarm.integrate.system import PIECE, WORKS, System
from flexarm.io.explain import explain_data
from flexarm.io.source import show_path
from flexarm.links.base import Array
from flexarm.loops.language import Ints
from flexarm.mechanics.deformed import tip_rows
from flexarm.mechanics.loads import wrench_list
from flexarm.model import Model, prescribed_profiles
from flexarm.model.profiles import AnyProfile, breakpoints, evaluate_at, last_time, pieces
from flexarm.spatial import NEGLIGIBLE

# [rad] slope of a link's tip beyond which a run stops, of exact beams and of others
STEEPEST, STEEPEST_SERIES = 2.5, 1.0
ROUNDED = 1e-3  # of the tolerance: what rounding a place may take
TIGHT = 1e-7  # a tolerance below is not asked of places far away
# Channels that are 0 and 1 at all times.
STILL, ONE = (Constant[float](kind="constant", value=value) for value in (0.0, 1.0))
MISSION_PORTS = ("r", "x", "dx", "b", "h", "seen", "seen_rate")  # of equations that have them
TURN = 1.0  # [rad] of a free base's middle angle, whose singularity is at pi/2


@dataclass(frozen=True)
class Channel:
    """A function of time that drives an arm: input, wrench's factor, given motion, target.

    Its times count from ``begin`` [s]; ``offset`` is added to its values.
    """

    name: str
    profile: AnyProfile
    begin: float = 0.0
    offset: float = 0.0

    @property
    def pieces(self) -> Array:
        """Rows of its pieces, see `flexarm.model.profiles.pieces`."""
        rows = pieces(self.profile)
        if self.begin or self.offset:
            rows = rows.copy()
            rows[:, :2] += self.begin
            rows[:, 2] += self.offset
        return rows

    def at(self, times: Array) -> Array:
        """Evaluate values, rates and accelerations at times [s], (3, T)."""
        values = evaluate_at(self.profile, times - self.begin)
        values[0] += self.offset
        return values


@dataclass(frozen=True)
class Measures:
    """Quantities in which errors are measured: linear in the coordinates, in groups."""

    # rows, rate_rows: one per quantity, (R, n), for coordinates and for modes.
    rows: Array
    rate_rows: Array
    # What takes rates to those of modes, (lanes, n, n), one per arm if there are several.
    to_modes: Array
    frequencies: Array  # of the modes [rad/s], (lanes, n), negative of those that do not vibrate
    group: Ints  # group of each
    # floor, rate_floor, pace: least range and rate of each group; the frequency at which
    # deflections vibrate [rad/s].
    floor: Array
    rate_floor: Array
    pace: Array
    deflects: tuple[bool, ...]  # whether a group is a deflection; the others are joints and base
    energy_floor: Array  # least energy [J] that errors of works are measured in, (lanes,)
    # Least ranges of the states of servos and drives.
    state_floor: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Watch:
    """A quantity of (q, v) that ends a run when it leaves its bounds."""

    row: Array  # its coefficients, (2n,)
    # low, high: the bounds.
    low: float
    high: float
    # What is at its bound, for the message; empty for the angle that only asks for a new anchor.
    what: str
    remedy: str  # what to try


def table_of(compiled: Compiled, buffers: Mapping[str, Array]) -> tuple[Ints, list[Array]]:
    """Return the table of pointers that compiled equations take, and the arrays behind it."""
    given = compiled.inputs[: len(compiled.inputs) - len(compiled.constants)]
    kept = [buffers[port.name] for port in given]
    kept += [*compiled.constants, *(buffers[port.name] for port in compiled.outputs)]
    kept.append(np.zeros(compiled.work_size + 8))
    return np.array([array.ctypes.data for array in kept], dtype=np.int64), kept


def channels(
    model: Model, inputs: Mapping[str, AnyProfile], q: Array, begins: Mapping[str, float]
) -> tuple[list[Channel], ...]:
    """List inputs, wrench factors, prescribed motions and targets of servos.

    Servos without a target hold the coordinates q; targets count from times [s] by joint, or 0.
    """
    driven = [
        Channel(axis.name, inputs.get(axis.name) or axis.acts.input or STILL)
        for axis in model.axes
        if axis.driven
    ]
    pushed = [
        Channel(f"wrench {k + 1}", wrench.factor or ONE)
        for k, (_, wrench) in enumerate(wrench_list(model))
    ]
    names = [model.names[i] for i in model.prescribed]
    moved = [
        Channel(name, profile or STILL)
        for name, profile in zip(names, prescribed_profiles(model), strict=True)
    ]
    followed = [
        Channel(f"{each.name}: servo", each.profile(q), begins.get(each.name, 0.0))
        for each in servos(model)
    ]
    return driven, pushed, moved, followed


def jumps(listed: Sequence[Channel]) -> Array:
    """List the times at which any channel jumps, in order."""
    return np.array(sorted({each.begin + t for each in listed for t in breakpoints(each.profile)}))


def refuse_short_tables(listed: Sequence[Channel], t_end: float) -> None:
    """Refuse a run that goes on after a table has ended."""
    for each in listed:
        last = each.begin + last_time(each.profile)
        if last < t_end * (1 - 1e-12):
            raise SimulationError(
                f"{each.name}: its table ends at t = {last:g} s and the run at {t_end:g} "
                "s. Lengthen the table, shorten the run, or say 'interpolation: hold'."
            )


def system_of(
    equation: Equation,
    compiled: Compiled,
    groups: tuple[list[Channel], ...],
    *,
    lanes: int = 1,
    works: int = WORKS,
    impulses: int = 0,
) -> tuple[System, dict[str, Array]]:
    """Join compiled equations and channels.

    With several lanes, each element of every array is that many numbers side by side, one per arm,
    and channels are listed likewise.  The equations give so many powers and, after them, so many
    rates of impulses.
    """
    model = equation.model
    listed = [channel for group in groups for channel in group]
    rows = [channel.pieces for channel in listed]
    n = model.size * lanes
    sizes = {port.name: port.size for port in (*compiled.inputs, *compiled.outputs)}
    buffers = {
        "t": np.zeros(1), "q": np.zeros(n), "v": np.zeros(n), "u": np.zeros(len(groups[0])),
        "w": np.zeros(len(groups[1])), "given": np.zeros(len(groups[2])), "a": np.zeros(n),
        "power": np.zeros((works + impulses) * lanes),
        "anchor": np.array(equation.anchor, dtype=float).ravel(),
        "load": model.links[-1].tip_body.numbers if model.load_given else np.zeros(0),
        **{name: np.zeros(sizes.get(name, 0)) for name in MISSION_PORTS},
    }  # fmt: skip
    table, kept = table_of(compiled, buffers)
    first = np.array([0, *itertools.accumulate(len(each) for each in rows)], dtype=np.int64)
    system = System(
        n=n,
        channels=len(listed),
        inputs=len(groups[0]),
        wrenches=len(groups[1]),
        known=len(groups[2]),
        targets=len(groups[3]),
        works=(works + impulses) * lanes,
        states=len(buffers["x"]),
        energies=works * lanes,
        equations=compiled.table_address,
        table=table,
        time=buffers["t"],
        q=buffers["q"],
        v=buffers["v"],
        u=buffers["u"],
        w=buffers["w"],
        given=buffers["given"],
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
    buffers["work"] = kept[-1]
    return system, buffers


def measures(model: Model, q: Array, vibration: Vibration) -> Measures:
    """Choose the quantities in which errors are measured, at coordinates q."""
    rows: list[Array] = []
    group: list[int] = []
    floor: list[float] = []
    kinds: list[bool] = []

    def add(new: list[Array], least: float, *, deflects: bool) -> None:
        rows.extend(new)
        group.extend([len(floor)] * len(new))
        floor.append(least)
        kinds.append(deflects)

    unit = np.eye(model.size)
    reach = max(sum(part.length for part in model.links), 1e-3)
    if model.base_moves:
        add([unit[i] for i in range(3)], reach, deflects=False)
        add([unit[i] for i in range(3, 6)], 1.0, deflects=False)
    for part in model.links:
        for axis in part.axes:
            size = 1.0 if axis.turns else max(part.length, 0.1)
            add([unit[axis.index]], size, deflects=False)
            if axis.motor is not None:
                add([unit[axis.motor] - unit[axis.index]], NEGLIGIBLE * size, deflects=True)
        shapes = tip_rows(model, part.name, q)
        if len(shapes):
            add(list(shapes), NEGLIGIBLE * max(part.length, 1e-3), deflects=True)
    rates = [least if not kind else 1e2 * least for least, kind in zip(floor, kinds, strict=True)]
    matrix, groups = np.array(rows).reshape(-1, model.size), np.array(group, dtype=np.int64)
    return Measures(
        matrix,
        matrix @ vibration.basis,
        vibration.to_modes[None],
        vibration.rates[None],
        groups,
        np.array(floor),
        np.array(rates),
        np.where(kinds, vibration.modes.pace(matrix, groups), 0.0),
        tuple(kinds),
        np.array([NEGLIGIBLE * vibration.inertia]),
    )


def digit_watches(model: Model, wanted: float) -> list[Watch]:
    """List the places so far away that what is left of 16 digits does not keep a tolerance."""
    unit = np.eye(2 * model.size)
    farthest = ROUNDED * max(wanted, TIGHT) / float(np.finfo(float).eps)
    reach = max(sum(part.length for part in model.links), 1e-3)
    far = [(k, reach if k < 3 else 1.0) for k in range(6 if model.base_moves else 0)]
    for axis in model.axes:
        scale = 1.0 if axis.turns else max(model.links[axis.link].length, 0.1)
        far += [(k, scale) for k in (axis.motor, axis.index) if k is not None]
    remedy = (
        "The position is so large that double precision cannot meet rtol. Count from a "
        "nearer place (leave whole turns out of angles), shorten the run, or allow a "
        "larger rtol."
    )
    return [
        Watch(unit[k], -farthest * scale, farthest * scale, f"{model.names[k]}: its place", remedy)
        for k, scale in far
    ]


def watches(model: Model, q: Array, wanted: float, *, limits: bool = True) -> list[Watch]:
    """List what ends a run: limits of joints, the ends of sliding links, slopes too steep.

    Also places that are too far away for a tolerance.  Limits of joints may be left out: equations
    hold beyond them.
    """
    n, found = model.size, digit_watches(model, wanted)
    unit = np.eye(2 * n)
    found += [Watch(unit[k + 1], -TURN, TURN, "", "") for k in model.attitudes]
    for axis in model.axes:
        if limits and axis.acts.limits is not None and axis.index not in model.prescribed:
            position, speed = unit[axis.index], unit[n + axis.index]
            known = axis.acts.limits
            if axis.acts.stops is not None:
                known = known.model_copy(update={"lower": None, "upper": None})
            found += _limits(axis.name, known, position, speed)
    for part in model.links:
        if part.stroke is not None:
            low, high = part.stroke.range
            what, remedy = (
                f"{part.name}: its {part.stroke.name}",
                f"{part.stroke.end[:1].upper()}{part.stroke.end[1:]}. Change the drive, or",
            )
            ends = (
                (low - 1e-9 * high, math.inf, "limits.lower"),
                (-math.inf, high * (1 + 1e-9), "limits.upper or the length"),
            )
            found += [
                Watch(unit[part.exposed], a, b, what, f"{remedy} {key}.") for a, b, key in ends
            ]
        steepest = STEEPEST_SERIES if part.exact is None else STEEPEST
        for slope in part.body.tip_slopes:
            row = np.zeros(2 * n, dtype=slope.dtype)
            row[part.modes.start : part.modes.stop] = slope
            if np.any(row):
                what = f"{part.name}: the slope of its tip [rad]"
                remedy = "Bending this large is beyond the model. Stiffen or split the link."
                found.append(Watch(row, -steepest, steepest, what, remedy))
    return found


def _limits(
    name: str, limits: JointLimits[float, float, float], position: Array, speed: Array
) -> list[Watch]:
    found = []
    remedy = "Change the input or the initial state, or widen the joint's limits."
    if limits.lower is not None or limits.upper is not None:
        low = -math.inf if limits.lower is None else float(limits.lower)
        high = math.inf if limits.upper is None else float(limits.upper)
        found.append(Watch(position, low, high, f"{name}: its position", remedy))
    if limits.speed is not None:
        top = float(limits.speed)
        found.append(Watch(speed, -top, top, f"{name}: its speed", remedy))
    return found


def read_inputs(model: Model, inputs: Mapping[str, Any]) -> dict[str, AnyProfile]:
    """Read inputs by joint: numbers, profiles, or profiles as a model file writes them."""
    joints = {axis.name: axis.acts for axis in model.axes if axis.driven}
    found: dict[str, AnyProfile] = {}
    for name, value in inputs.items():
        if name not in joints:
            raise SimulationError(
                f"inputs: no driven joint '{name}'. There are {', '.join(joints) or 'none'}."
            )
        if value is None or callable(value) or isinstance(value, ca.SX | ca.MX):
            raise SimulationError(
                f"inputs: {name}: must be a number or a profile, got {value!r}. Give "
                "functions as control=, a CasADi function (t, q, v) to the inputs of "
                "all driven joints, or as control=flexarm.Sampled(law, period)."
            )
        given = {"kind": "constant", "value": value} if isinstance(value, int | float) else value
        joint = joints[name]
        data = joint.model_dump(exclude_unset=True) | {"input": given}
        try:
            changed = type(joint).model_validate(data)
        except ValidationError as error:
            first = explain_data(error, type(joint), data)[0]
            where = show_path(first.path)
            raise SimulationError(f"inputs: {name}: {where}: {first.message}") from None
        assert changed.input is not None
        found[name] = changed.input
    return found
