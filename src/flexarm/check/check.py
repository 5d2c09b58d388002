"""Check of an arm: facts about links, modes, step sizes and cost; notices of likely mistakes."""

import math
import re
from collections.abc import Iterator

import numpy as np

from flexarm.arm import Arm, FreeBase
from flexarm.arm.shapes import Counted
from flexarm.check.constants import SEARCHED_AMPLITUDES
from flexarm.check.description_notices import (
    contact_notices,
    curve_notices,
    damping_notices,
    gravity_notices,
    inertia_notices,
    joint_notices,
    orbit_notices,
    section_notices,
)
from flexarm.check.excitation import unexcited
from flexarm.check.held import held_notices, unheld_notices
from flexarm.check.mode_notices import (
    arm_damping_notice,
    flexible_report,
    frequency,
    slender_notices,
    step_notices,
    unexcited_notices,
    unstable_notice,
)
from flexarm.check.report import (
    ArmMode,
    CoordinateReport,
    CostReport,
    JointReport,
    LinkReport,
    Notice,
    Report,
    StepReport,
    Vector,
    axis_place,
)
from flexarm.errors import FlexarmError, ModelError, ShapeError, SimulationError
from flexarm.integrate.actuators import actuators_of
from flexarm.integrate.choice.choose import forecast
from flexarm.integrate.choice.vibration import vibration
from flexarm.integrate.constants import INSTANT_RUN, RTOL
from flexarm.integrate.methods.rk4 import RK4
from flexarm.integrate.mission.event_functions import require_quantities
from flexarm.integrate.mission.hybrid import HybridSimulation, phase_problem
from flexarm.integrate.motion import InterpretedMotion
from flexarm.integrate.problem import channels
from flexarm.integrate.task import InitialValueProblem, State, equation_of
from flexarm.io.model_file import change_arm, validated
from flexarm.linear.tangent import linearise_elastic, lock_drives, trace
from flexarm.linear_model import ElasticModes, LinearModel
from flexarm.links.base import Span
from flexarm.links.end_loads import body_inertia, link_length, own_inertia, reflected_rotor
from flexarm.links.shape_counts import KEYS, chosen_counts
from flexarm.mechanics.weightless import total_mass, weightless
from flexarm.model import Model, build, link_shapes, start_state, undeformed
from flexarm.model.joints import JOINTS
from flexarm.model.spans import single_spans
from flexarm.spatial import Array, unit_vector

SEVERITIES = ("warning", "note")


def check(arm: Arm) -> Report:
    """Check an arm: compute its modes and the cost of a run, and find likely mistakes.

    Returns
    -------
    Report
        Facts about the arm, and notices, warnings first.

    Raises
    ------
    ModelError
        If the arm cannot be built, with one line per faulty link; or if an event refers to a
        quantity that the arm does not have.
    """
    arm = validated(arm)
    model = _build(arm)
    try:
        require_quantities(model)
    except SimulationError as error:
        raise ModelError(str(error)) from None
    start, speeds = start_state(model)
    pose = _within_shapes(model, start)
    large = (
        arm.stiffening
        and max(part.modes.stop - part.modes.start for part in model.links) > SEARCHED_AMPLITUDES
    )
    # Stiffening does not change the matrices of straight links, and equations without stiffening
    # are built much faster.
    traced = trace(build(arm, stiffening=False) if large else model)
    linear = linearise_elastic(model, traced, pose)
    links = tuple(_link(model, i, linear, pose) for i in range(len(model.links)))
    notices = [*_described(model, links, start, speeds), *contact_notices(model, pose)]
    notices += refusal_notices(model)
    notices += slender_notices(model.chain, links)
    if not large:
        notices += unexcited_notices(model, links, unexcited(model, traced, linear, pose))
    open_ = [i for i in range(model.size) if i not in model.prescribed]
    free = linear.along(open_)
    locked = lock_drives(model, linear)
    mass = total_mass(model)
    x, y, z = traced(undeformed(model, pose), np.zeros(model.size))[5].full().ravel().tolist()
    base_mass = arm.base.body.mass if isinstance(arm.base, FreeBase) else 0.0
    rigid_motions = modes_free = modes_held = step = None
    idle = weightless(model, free.mass, free.names)
    if idle is None:
        notices += unheld_notices(model, linear, start, speeds)
        notices += held_notices(model, traced, linear, pose)
        modes = free.elastic_modes()
        rigid_motions, step = modes.rigid, _step(free, modes)
        modes_free, modes_held = _arm_modes(free, modes), _arm_modes(locked, locked.elastic_modes())
        notices += [*unstable_notice(modes), *step_notices(model, free, modes, step)]
        notices += arm_damping_notice(model, locked, pose)
    else:
        notices.append(Notice("warning", "no-inertia", idle.place, idle.message, idle.remedy))
    return Report(
        check=1,
        arm=arm.name,
        gravity=arm.gravity,
        stiffening=arm.stiffening,
        base=arm.base.kind + _orbit(model.orbit),
        links=links,
        coordinates=_coordinates(model, start, speeds),
        degrees_of_freedom=_degrees_of_freedom(model),
        mass=mass - base_mass,
        base_mass=base_mass,
        payload_mass=arm.payload.mass if arm.payload is not None else 0.0,
        centre_of_mass=(x, y, z) if mass else (0.0, 0.0, 0.0),
        rigid_motions=rigid_motions,
        modes_free=modes_free,
        modes_held=modes_held,
        step=step,
        costs=costs(model, linear) if idle is None else (),
        notices=tuple(sorted(notices, key=lambda notice: SEVERITIES.index(notice.severity))),
    )


def _orbit(rate: float) -> str:
    """Return text with the period of an orbit of a given rate [rad/s]; empty if the rate is 0."""
    return f" in an orbit of {2 * np.pi / rate / 60:.4g} min" if rate else ""


def _build(arm: Arm) -> Model:
    """Return the model of an arm; on failure, raise an error with one line per faulty link."""
    try:
        return build(arm)
    except ModelError as first:
        problems = [str(first)]
        chain = single_spans(arm)
        for index, link in enumerate(chain.links):
            if link.flexible and link.section is not None:
                try:
                    link_shapes(chain, index, Span.of(link.section, link.span))
                except ModelError as error:
                    problems.append(str(error))
        raise ModelError("\n".join(dict.fromkeys(problems))) from first


def _within_shapes(model: Model, start: Array) -> Array:
    """Return initial coordinates (n,) with sliding joints moved into the range of their shapes."""
    pose = start.copy()
    for index, low, high in model.sliding_ranges:
        pose[index] = np.clip(pose[index], low, high)
    return pose


def _described(
    model: Model, links: tuple[LinkReport, ...], start: Array, speeds: Array
) -> Iterator[Notice]:
    """Yield the notices that follow from the arm's description alone, link by link."""
    yield from gravity_notices(model.arm)
    yield from orbit_notices(model.arm)
    for part, facts in zip(model.links, links, strict=True):
        yield from section_notices(part.number - 1, part.link, facts)
        for axis in part.axes:
            at, speed = float(start[axis.index]), float(speeds[axis.index])
            yield from joint_notices(part, axis, at, speed)
        if part.link.flexible:
            yield from damping_notices(part.number - 1, part)
    for index, link in enumerate(model.whole_links):
        yield from curve_notices(index, link)
    yield from inertia_notices(model.arm)


def _link(model: Model, index: int, linear: LinearModel, pose: Array) -> LinkReport:
    part = model.links[index]
    link, joint = part.link, part.link.joint
    sides = (joint.hub.inboard, joint.hub.outboard)
    hub_mass = [0.0 if body is None else body.mass for body in sides]
    axis: Vector | None = None
    direction = JOINTS[joint.kind].direction(joint)
    if direction is not None:
        x, y, z = unit_vector(direction).tolist()
        axis = (x, y, z)
    return LinkReport(
        name=part.name,
        joint=JointReport(
            name=part.joint_name,
            kind=joint.kind,
            on=model.chain.place_of_joint(index),
            axis=axis,
            turns=any(joint_axis.turns for joint_axis in part.axes),
            actuation=", ".join(
                dict.fromkeys(joint_axis.acts.actuation for joint_axis in part.axes)
            )
            or None,
            elastic=any(joint_axis.motor is not None for joint_axis in part.axes),
            reflected_inertia=reflected_rotor(link),
        ),
        length=link_length(link),
        mass=own_inertia(link).mass - hub_mass[1] + body_inertia(link.tip_piece).mass,
        hub_mass=sum(hub_mass),
        flexible=flexible_report(model, index, linear, pose) if link.flexible else None,
    )


def _kinds(model: Model) -> list[str]:
    """Return the kind of each coordinate: ``base``, ``motor``, ``joint`` or ``amplitude``."""
    kinds = ["base"] * (6 if model.base_moves else 0)
    for part in model.links:
        for axis in part.axes:
            kinds += ["motor"] * (axis.motor is not None) + ["joint"]
        kinds += ["amplitude"] * (part.modes.stop - part.modes.start)
    return kinds


def _coordinates(model: Model, start: Array, speeds: Array) -> tuple[CoordinateReport, ...]:
    return tuple(
        CoordinateReport(
            name=name,
            kind=kind,
            unit=model.units[i],
            prescribed=i in model.prescribed,
            start=float(start[i]),
            start_speed=float(speeds[i]),
        )
        for i, (name, kind) in enumerate(zip(model.names, _kinds(model), strict=True))
    )


def _degrees_of_freedom(model: Model) -> dict[str, int]:
    kinds = _kinds(model)
    result = {kind: kinds.count(kind) for kind in ("base", "motor", "joint", "amplitude")}
    prescribed = len(model.prescribed)
    return {
        **result,
        "total": len(kinds),
        "prescribed": prescribed,
        "free": len(kinds) - prescribed,
    }


def _arm_modes(linear: LinearModel, modes: ElasticModes) -> tuple[ArmMode, ...]:
    return tuple(
        ArmMode(
            frequency=frequency(float(omega)),
            coordinate=linear.names[int(np.argmax(share))],
            share=float(np.max(share)),
        )
        for omega, share in zip(modes.frequencies, modes.shares.T, strict=True)
    )


def _step(linear: LinearModel, modes: ElasticModes) -> StepReport | None:
    rate, index = linear.fastest_rate()
    if rate == 0:
        return None
    by_mode = index is None
    mover = int(np.argmax(modes.shares[:, -1])) if index is None else index
    return StepReport(
        rk4=RK4.stable / rate,
        rate=rate,
        limited_by="mode" if by_mode else "damping",
        coordinate=linear.names[mover],
    )


def costs(model: Model, linear: LinearModel) -> tuple[CostReport, ...]:
    """Estimate the cost of 1 s of a run, with all shapes of the arm and with half of them.

    The estimate with half of the shapes is omitted if no link has several shapes.

    Parameters
    ----------
    model
        The arm.
    linear
        Matrices of the arm at the start.
    """
    own, counts = _cost(model, linear, 0.0, {}), half_the_shapes(model.arm)
    if own is None or not counts:
        return () if own is None else (own,)
    changed = {f"links.{index + 1}.shapes": _with_counts(model.arm, index, count)
               for index, count in counts.items()}  # fmt: skip
    try:
        fewer = build(change_arm(model.arm, changed))
        theirs = linearise_elastic(fewer, trace(fewer), start_state(fewer)[0])
    # the model file refers to shapes that the arm with half of them lacks
    except (ModelError, ShapeError):
        return (own,)
    slowest = _slowest(model, linear)
    change = abs(_slowest(fewer, theirs) / slowest - 1) if slowest else 0.0
    names = {model.arm.link_names[index]: count for index, count in counts.items()}
    half = _cost(fewer, theirs, change, names)
    return (own,) if half is None else (own, half)


def half_the_shapes(arm: Arm) -> dict[int, dict[str, int]]:
    """Return halved shape numbers by link index and direction, for links with several shapes."""
    halves = {}
    for index, link in enumerate(arm.links):
        if link.modal is None and link.flexible and isinstance(link.shapes, Counted):
            now = {
                key: count.number for key, count in chosen_counts(arm, index, link.shapes).items()
            }
            if max(now.values()) > 1:
                halves[index] = {key: math.ceil(now[key] / 2) for key in KEYS}
    return halves


def _with_counts(arm: Arm, index: int, counts: dict[str, int]) -> dict[str, object]:
    choice = arm.links[index].shapes
    assert choice is not None
    return choice.model_dump(mode="json", exclude_unset=True) | {"kind": choice.kind} | counts


def _slowest(model: Model, linear: LinearModel) -> float:
    """Return the lowest nonzero frequency [rad/s] of the arm with free joints; 0 if there is none.

    Only the lowest frequency is used to compare models: with fewer shapes a higher mode may be
    missing, which would change the numbering of the modes.
    """
    free = [i for i in range(model.size) if i not in model.prescribed]
    frequencies = linear.along(free).elastic_modes().frequencies
    return float(frequencies[0]) if len(frequencies) else 0.0


def _cost(
    model: Model, linear: LinearModel, change: float, shapes: dict[str, dict[str, int]]
) -> CostReport | None:
    """Return the estimated cost of 1 s of a run; None if the arm cannot be simulated."""
    equation, (q, v), actuators = equation_of(model), start_state(model), actuators_of(model)
    stiff, damped = actuators.stiffness(model)
    shaken = vibration(model, linear.mass, linear.stiffness + stiff, linear.damping + damped, v)
    motion = InterpretedMotion(equation, None, actuators)
    groups, times = channels(model, {}, q, {}), np.array([0.0, 1.0])
    task = InitialValueProblem(equation, motion, groups, times, State(q, v), RTOL, shaken=[shaken])
    forecast_of_run = forecast(task, RTOL)
    if forecast_of_run is None:
        return None
    method, steps, seconds = forecast_of_run
    return CostReport(model.size, method.name, steps, seconds, change, shapes)


PLACE = re.compile(r"(\w+(?:\[\d+\]|\.\w+)*): ")  # at the beginning of a message: events[1].when


def refusal_notices(model: Model) -> Iterator[Notice]:
    """Yield a notice if `simulate` would refuse the arm, with its error message."""
    try:
        hybrid = HybridSimulation(model, {}, INSTANT_RUN, equation_of)
        state, times = hybrid.first(model.arm.start), np.array([0.0, INSTANT_RUN])
        phase_problem(hybrid, state, times, compiles=False)
    except FlexarmError as error:
        place, text = _placed(model, str(error))
        message, _, remedy = text.partition(". ")
        yield Notice("warning", "refused", place, f"simulate refuses the arm: {message}", remedy)


def _placed(model: Model, message: str) -> tuple[str, str]:
    """Split an error message into the path in the model file that it is about, and its text.

    The path is read from the beginning of the message, or derived from the name of a joint, link or
    body at the beginning.
    """
    match = PLACE.match(message)
    if match and match[1].split("[")[0].split(".")[0] in type(model.arm).model_fields:
        return match[1], message[match.end() :]
    places = {body.name: f"bodies[{k}]" for k, body in enumerate(model.arm.bodies, 1)}
    for part in model.links:
        places[part.name] = f"links[{part.number}]"
        places |= {axis.name: axis_place(axis) for axis in part.axes}
    named = [name for name in places if message.startswith((f"{name}:", f"{name} "))]
    return (places[max(named, key=len)] if named else "links"), message
