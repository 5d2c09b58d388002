"""Check of an arm: facts about links, modes and step sizes, and notices of likely mistakes."""

from collections.abc import Iterator

import numpy as np

from flexarm.arm import Arm, FreeBase
from flexarm.check.constants import SEARCHED_AMPLITUDES
from flexarm.check.cost import costs
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
from flexarm.check.refusals import refusal_notices
from flexarm.check.report import (
    ArmMode,
    CoordinateReport,
    JointReport,
    LinkReport,
    Notice,
    Report,
    StepReport,
    Vector,
)
from flexarm.errors import ModelError, SimulationError
from flexarm.integrate.methods.rk4 import RK4
from flexarm.integrate.mission.event_functions import require_quantities
from flexarm.io.model_file import validated
from flexarm.linear.tangent import linearise_elastic, lock_drives, trace
from flexarm.linear_model import ElasticModes, LinearModel
from flexarm.links.base import Span
from flexarm.links.end_loads import body_inertia, link_length, own_inertia, reflected_rotor
from flexarm.mechanics.weightless import total_mass, weightless
from flexarm.model import Model, build, link_shapes, start_state, undeformed
from flexarm.model.joints import JOINTS
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
    # Straight links have the same matrices without stiffening, which is much faster.
    traced = trace(build(arm, stiffening=False) if large else model)
    linear = linearise_elastic(model, traced, pose)
    links = tuple(_link(model, i, linear, pose) for i in range(len(model.links)))
    notices = [*_described(model, links, start, speeds), *contact_notices(model, pose)]
    notices += refusal_notices(model)
    notices += slender_notices(arm, links)
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
        for index, link in enumerate(arm.links):
            if link.flexible and link.section is not None:
                try:
                    link_shapes(arm, index, Span.of(link.section, link.span))
                except ModelError as error:
                    problems.append(str(error))
        raise ModelError("\n".join(dict.fromkeys(problems))) from first


def _within_shapes(model: Model, start: Array) -> Array:
    """Return the start coordinates (n,), each sliding joint moved into the range of its shapes."""
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
    for index, (part, facts) in enumerate(zip(model.links, links, strict=True)):
        yield from section_notices(index, part.link, facts)
        for axis in part.axes:
            at, speed = float(start[axis.index]), float(speeds[axis.index])
            yield from joint_notices(part, axis, at, speed)
        if part.link.flexible:
            yield from damping_notices(index, part)
            yield from curve_notices(index, part)
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
