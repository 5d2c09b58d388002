"""Notices of servos too weak for the weight, brakes that oppose servos, and joints that fall."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.check.constants import CHECKED_DURATION, INPUT_SAMPLES, TORQUE_SAMPLES
from flexarm.check.report import Notice, axis_place
from flexarm.constants import NEGLIGIBLE
from flexarm.integrate.actuators import Servoed, servos
from flexarm.integrate.drivetrain import holders
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.integrate.mission.transitions import commanded
from flexarm.linear.tangent import moves
from flexarm.linear_model import LinearModel
from flexarm.mechanics.kinematics import end_jacobian
from flexarm.mechanics.loads import input_matrix
from flexarm.model import Axis, Model
from flexarm.model.profiles import breakpoints, evaluate
from flexarm.spatial import Array


@dataclass(frozen=True)
class HeldInterval:
    """Time interval between two timed events, with its closed brakes and active servos."""

    begin: float  # first instant [s]
    end: float  # last instant [s]
    braked: frozenset[str]  # joints whose brakes are closed
    servos: Mapping[str, Servoed]  # servos by joint
    begins: Mapping[str, float]  # start of the servos' targets by joint [s]; 0 if absent

    @property
    def times(self) -> Array:
        """Sample times of the interval [s], (N,)."""
        return np.linspace(self.begin, self.end, TORQUE_SAMPLES if self.end > self.begin else 1)

    def follows(self, name: str, q: Array) -> Array:
        """Return the target of a joint's servo, a position or rate, at the sample times, (N,).

        ``q`` contains the coordinates at the start of the run.
        """
        profile, since = self.servos[name].profile(q), self.begins.get(name, 0.0)
        return np.array([evaluate(profile, t - since)[0] for t in self.times.tolist()])


def held_notices(
    model: Model, traced: ca.Function, linear: LinearModel, start: Array
) -> Iterator[Notice]:
    """Yield notices of weak servos, brakes that oppose servos, and undeflected links at the start.

    Parameters
    ----------
    model
        The arm.
    traced
        Forces of the arm, as `flexarm.linear.tangent.trace` returns them.
    linear
        Matrices of the arm at the start.
    start
        Coordinates at the start, (n,).
    """
    spans = _spans(model, start)
    places = _places(model, spans, start)
    for axis in model.axes:
        if axis.acts.servo is not None:
            yield from _fighting(axis, spans, places, start)
    weight = np.any(model.gravity) and not model.floats and not model.orbit
    if weight:
        yield from _weak(model, traced, spans, places, start)
        yield from _straight(model, traced, linear, start)


def _spans(model: Model, start: Array) -> list[HeldInterval]:
    """Return the intervals between timed events; the last ends when all servo targets stop.

    If a target never stops, the last interval ends 60 s after the target's last breakpoint.
    """
    timed = sorted((e for e in model.arm.events if e.at is not None), key=lambda e: e.at or 0.0)
    now, begin, intervals = DiscreteState.at_start(model), 0.0, []

    def span(end: float) -> HeldInterval:
        servos_by_name = {servo.name: servo for servo in servos(now.servoed(model))}
        return HeldInterval(begin, end, now.braked, servos_by_name, now.target_times())

    for event in timed:
        at = float(event.at or 0.0)
        if at > begin:
            intervals.append(span(at))
        now = commanded(now, model.arm.events.index(event), model, at)
        braked = now.braked - set(event.release) | set(event.brake)
        now, begin = replace(now, braked=braked), at
    last, end = span(begin), begin
    for name, servo in last.servos.items():
        profile, since = servo.profile(start), last.begins.get(name, 0.0)
        rest = max((since + t for t in breakpoints(profile)), default=since)
        end = max(end, rest + (CHECKED_DURATION if evaluate(profile, rest - since)[1] else 0.0))
    return [*intervals, span(end)]


def _places(model: Model, spans: list[HeldInterval], start: Array) -> list[dict[str, Array]]:
    """Return joint positions by joint name, one mapping per interval between timed events.

    A joint with a position servo follows its target; a braked joint or a joint without such a
    servo stays at its last position.
    """
    now = {axis.name: float(start[axis.index]) for axis in model.axes}
    positions = []
    for span in spans:
        places = {name: np.full(len(span.times), place) for name, place in now.items()}
        for name, servo in span.servos.items():
            if servo.servo.rate is None and name not in span.braked:
                places[name] = span.follows(name, start)
        now = {name: float(values[-1]) for name, values in places.items()}
        positions.append(places)
    return positions


def _fighting(
    axis: Axis, spans: list[HeldInterval], places: list[dict[str, Array]], start: Array
) -> Iterator[Notice]:
    """Yield a notice if the servo of a joint pushes against its closed brake."""
    pushes = {}
    for span, here in zip(spans, places, strict=True):
        if axis.name in span.braked:
            servo, target = span.servos[axis.name], span.follows(axis.name, start)
            away = np.abs(target - (here[axis.name] if servo.servo.rate is None else 0.0)).max()
            if away > NEGLIGIBLE * max(1.0, float(np.abs(target).max())):
                gain = servo.servo.stiffness if servo.servo.rate is None else servo.servo.damping
                limit = min(servo.limit * abs(servo.gain), _by_speed(servo))
                pushes[span.begin] = min(float(gain or 0.0) * float(away), limit)
    if not pushes:
        return
    since = max(pushes, key=lambda begin: pushes[begin])
    brake = axis.acts.brake
    holds = "" if brake is None or brake.effort is None else f" of {brake.effort:.3g}"
    yield Notice(
        "warning",
        "brake-against-servo",
        f"{axis_place(axis)}.brake",
        f"the servo of {axis.name} pushes by up to {pushes[since]:.3g} "
        f"{axis.effort_unit} against the brake{holds}, closed from {since:.3g} s on, "
        "since its target is elsewhere",
        "a brake does not switch the servo off. Let the event that closes the brake give the "
        "servo a target where the joint is, or open the brake before the target moves",
    )


def _by_speed(each: Servoed) -> float:
    """Return the largest effort [N m or N] of a servo with a ``speed`` limit; else infinity."""
    servo = each.servo
    if servo.speed is None or servo.damping is None or servo.integral_time is not None:
        return math.inf
    return float(servo.damping * servo.speed)


def _weak(
    model: Model,
    traced: ca.Function,
    spans: list[HeldInterval],
    places: list[dict[str, Array]],
    start: Array,
) -> Iterator[Notice]:
    """Yield a notice for each joint whose servo limits are too low to hold the arm's weight."""
    limited = {
        name
        for span in spans
        for name, servo in span.servos.items()
        if name not in span.braked and min(_by_speed(servo), servo.limit) < math.inf
    }
    if not limited:
        return
    holding = _holding(model, traced)
    for axis in (axis for axis in model.axes if axis.name in limited):
        tried = [
            shortage
            for span, here in zip(spans, places, strict=True)
            if axis.name in span.servos and axis.name not in span.braked
            for shortage in _shortages(model, axis, span, here, start, holding)
        ]
        lacks, message = max(tried)
        if lacks > 0:
            yield Notice(
                "warning",
                "weak-servo",
                f"{axis_place(axis)}.servo",
                f"{axis.name} {message}",
                "raise the servo's effort (or limits.effort), or its speed times damping; add "
                "integral_time or an input; or reduce the load",
            )


def _shortages(
    model: Model,
    axis: Axis,
    span: HeldInterval,
    places: dict[str, Array],
    start: Array,
    holding: Callable[[Array], Array],
) -> Iterator[tuple[float, str]]:
    """Yield, for each sample time, the missing holding effort (if positive) and a text."""
    servo, row = span.servos[axis.name], np.zeros(model.size)
    row[[k for k in (axis.index, axis.motor) if k is not None]] = 1.0
    gain = float(row @ input_matrix(model)[:, servo.column])
    rubs = sum(
        holder.capacity(braked=False)
        for holder in holders(model).values()
        if holder.axis.name == axis.name
    )
    most, at_speed = servo.limit * abs(gain), _by_speed(servo)
    for k, t in enumerate(span.times.tolist()):
        q = start.copy()
        for other in model.axes:
            q[[i for i in (other.index, other.motor) if i is not None]] = places[other.name][k]
        effort = float(row @ holding(q))
        feedforward = 0.0 if axis.acts.input is None else gain * evaluate(axis.acts.input, t)[0]
        low, high = max(-most, feedforward - at_speed), min(most, feedforward + at_speed)
        lacks = max(effort - high, low - effort) - rubs - NEGLIGIBLE * abs(effort)
        yield (
            lacks,
            f"needs {effort:.3g} {axis.effort_unit} against the weight at its target of "
            f"{places[axis.name][k]:.3g} {axis.unit}, at t = {t:.3g} s, and its servo gives "
            f"{high if effort > high else low:.3g} {axis.effort_unit} at most",
        )


def _straight(
    model: Model, traced: ca.Function, linear: LinearModel, start: Array
) -> Iterator[Notice]:
    """Yield a notice of the static tip deflection if links start straight under gravity."""
    bends = [k for part in model.links for k in range(part.modes.start, part.modes.stop)]
    all_held = all(axis.prescribed or axis.is_braked or axis.acts.servo for axis in model.axes)
    if model.arm.start != "stated" or not all_held or not bends or np.any(start[bends]):
        return
    moving, columns = moves(model, {axis.name for axis in model.axes})
    load = columns.T @ _holding(model, traced)(start)
    stiffness = columns.T @ linear.stiffness @ columns
    sag = columns @ np.linalg.lstsq(stiffness, load, rcond=None)[0]
    tip = float(np.linalg.norm(np.array(end_jacobian(model, ca.DM(start))[0]) @ sag))
    if moving and tip > NEGLIGIBLE * model.reach:
        yield Notice(
            "note",
            "straight-start",
            "start",
            f"the links start straight, and the weight bends them by {tip:.2g} m at the tip. "
            "The links swing about the bent shape at first, perhaps as much as in the motion",
            "write 'start: equilibrium' to begin at rest under the weight",
        )


def _holding(model: Model, traced: ca.Function) -> Callable[[Array], Array]:
    """Return a function from coordinates to the generalised forces (n,) for static equilibrium."""
    still = np.zeros(model.size)

    def holding(q: Array) -> Array:
        _, inertial, elastic, *_ = traced(q, still)
        return np.array(inertial + elastic).ravel()

    return holding


def unheld_notices(
    model: Model, linear: LinearModel, start: Array, speeds: Array
) -> Iterator[Notice]:
    """Yield notices of joints whose inputs drive them beyond their limits, with the time.

    Notes
    -----
    The arm is assumed rigid, with the constant mass matrix of its initial posture and without
    gravity. Joints with a servo or a closed brake count as held.
    """
    from scipy.integrate import cumulative_trapezoid  # takes long to import

    inputs = [axis.acts.input for axis in model.axes if axis.driven]
    loose = [
        axis
        for axis in model.axes
        if not (axis.prescribed or axis.is_braked or axis.acts.servo is not None)
    ]
    if not any(inputs) or not loose:
        return
    unit = np.eye(model.size)
    moves = [unit[axis.index] + (0 if axis.motor is None else unit[axis.motor]) for axis in loose]
    moves += [unit[k] for k in range(6) if model.floats]
    columns = np.array(moves).T
    last = max((t for profile in inputs if profile for t in breakpoints(profile)), default=0.0)
    if any(evaluate(profile, last)[0] for profile in inputs if profile):
        last += CHECKED_DURATION
    times = np.linspace(0.0, last, INPUT_SAMPLES)
    u = [
        [evaluate(profile, t)[0] if profile else 0.0 for profile in inputs] for t in times.tolist()
    ]
    force = np.array(u) @ input_matrix(model).T @ columns
    a = np.linalg.solve(columns.T @ linear.mass @ columns, force.T).T
    v = cumulative_trapezoid(a, times, axis=0, initial=0)
    q = cumulative_trapezoid(v, times, axis=0, initial=0)
    for k, axis in enumerate(loose):
        moving, place = speeds[axis.index] + v[:, k], start[axis.index] + q[:, k]
        yield from _notice(axis, times, place + speeds[axis.index] * times, moving)


def _notice(axis: Axis, times: Array, place: Array, moving: Array) -> Iterator[Notice]:
    limits = axis.acts.limits
    if limits is None:
        return
    fastest = math.inf if limits.speed is None else limits.speed
    reached = {"speed": np.abs(moving) > fastest}
    if axis.acts.stops is None:
        low = -math.inf if limits.lower is None else limits.lower
        high = math.inf if limits.upper is None else limits.upper
        reached |= {"lower": place < low, "upper": place > high}
    first = {name: times[np.argmax(beyond)] for name, beyond in reached.items() if beyond.any()}
    if first:
        name = min(first, key=lambda joint: first[joint])
        yield Notice(
            "warning",
            "unheld-joint",
            f"{axis_place(axis)}.limits.{name}",
            f"the inputs drive {axis.name}, which nothing holds, beyond its limit after about "
            f"{first[name]:.2g} s, where a run would stop",
            "give the joint a servo or a brake, or change the inputs",
        )
