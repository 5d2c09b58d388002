"""Outward pass, shared by recursive formulations: frame, velocity and inertia of each link.

Spatial vectors (6,) stack angular over linear components, about a link's root L in the axes of L.
"""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.engine.once import once
from flexarm.mechanics.bodies import LinkBody, body_of
from flexarm.mechanics.kinematics import (
    RailStation,
    base_frame,
    frames,
    mount_motion,
    riding_columns,
    station,
)
from flexarm.mechanics.orbit.hill import feel_gradient, frame_acceleration, rigid_gradient
from flexarm.mechanics.sections import SectionMotion, Terms, attach, picked
from flexarm.model import LinkModel, Model
from flexarm.spatial import (
    NO_INERTIA,
    Expr,
    Inertia,
    Scalar,
    angle_bias,
    angle_columns,
    base_rotation,
    constant,
)


@dataclass(frozen=True)
class BaseState:
    """Attitude, angular velocity and bias acceleration of the base."""

    rotation: Expr  # rotation to world axes from base axes, (3, 3)
    angular: Expr | None  # angular velocity per angle rate, (3, 3); None for a fixed base
    angular_inverse: Expr | None  # inverse of ``angular``
    omega: Expr  # angular velocity in the world, (3,)
    turning: Expr  # angular velocity relative to inertial axes, (3,)
    turning_bias: Expr  # change of ``turning`` at zero acceleration of the angles, (3,)
    # Acceleration of the base's origin relative to inertial axes at zero acceleration in the world,
    # in world axes, (3,).
    swept: Expr
    force: Expr  # force on the base due to angular velocity and gravity gradient alone, (6,)


@dataclass(frozen=True)
class Mount:
    """Section of a link that carries other links or a rigid body."""

    motion: SectionMotion
    body: Inertia  # the rigid body, about the section's axis point
    # Force on the body due to angular velocity and gravity gradient alone, in its axes, (6,).
    force: Expr
    links: list[int]  # indices of the links


@dataclass(frozen=True)
class LinkState:
    """Motion of a link relative to frame F of its joint, and the link's inertia terms."""

    part: LinkModel
    rotation: Expr  # rotation to axes of joint frame F from axes of link frame L, (3, 3)
    # Vector from the origin of F to the origin of L, in axes of L, (3,); None where the origins
    # coincide.
    offset: Expr | None
    # Angular and linear velocity of L per rate of each coordinate of its joint, in L, (6, k).
    columns: Expr
    carrier: Expr  # angular velocity of frame F, in axes of link frame L
    omega: Expr  # angular velocity of link frame L, in axes of L
    bias: Expr  # acceleration of frame L relative to frame F due to velocities alone, (6,)
    terms: Terms  # inertia terms of the link
    mounts: list[Mount]  # sections that carry links; the flexible tip if there are none
    away: Expr | None = None  # direction away from the planet in an orbit, in axes of L, (3,)
    # Matrix (k, k) from combined to link coordinates if the Jacobian columns refer to combined
    # ones.
    basis: Expr | None = None


def base_state(model: Model, q: Expr, v: Expr) -> BaseState:
    """Return attitude, angular velocity and bias acceleration of the base."""
    return once(model, "base", (q, v), lambda: _base_state(model, q, v))


def _base_state(model: Model, q: Expr, v: Expr) -> BaseState:
    reference = model.base_reference
    zeros = type(q).zeros(3, 1)
    if not model.base_moves:
        no_force = type(q).zeros(6, 1)
        return BaseState(type(q)(reference), None, None, zeros, zeros, zeros, zeros, no_force)
    rotation = reference @ base_rotation(q[3:6])
    cy, sy = ca.cos(q[4]), ca.sin(q[4])
    cz, sz = ca.cos(q[5]), ca.sin(q[5])
    inverse = ca.vertcat(
        ca.horzcat(cz / cy, -sz / cy, 0),
        ca.horzcat(sz, cz, 0),
        ca.horzcat(-cz * sy / cy, sz * sy / cy, 1),
    )
    angular, bias = angle_columns(q[3:6]), angle_bias(q[3:6], v[3:6])
    omega, body = angular @ v[3:6], model.base_body
    if not model.orbit:
        force = body_bias(body, omega)
        return BaseState(rotation, angular, inverse, omega, omega, bias, zeros, force)
    orbit_spin, (_, position) = model.orbit * rotation[2, :].T, base_frame(model, q)
    force = body_bias(body, omega + orbit_spin) + rigid_gradient(
        model.orbit, rotation, position, body
    )
    return BaseState(
        rotation, angular, inverse, omega, omega + orbit_spin, bias + ca.cross(orbit_spin, omega),
        frame_acceleration(model.orbit, position, v[0:3]), force,
    )  # fmt: skip


def link_states(model: Model, q: Expr, v: Expr, *, combined: bool = False) -> list[LinkState]:
    """Return motion and inertia terms of all links, from base to tip.

    If ``combined``, Jacobian columns may refer to combinations of a link's amplitudes.
    """
    return once(model, ("links", combined), (q, v), lambda: _link_states(model, q, v, combined))


def _link_states(model: Model, q: Expr, v: Expr, combined: bool) -> list[LinkState]:
    states: list[LinkState] = []
    spins: dict[int, Expr] = dict.fromkeys(model.carried_by_base, base_state(model, q, v).turning)
    for index, part in enumerate(model.links):
        # In orbit, or with links on its sections, a link needs Jacobian columns per amplitude.
        uses_amplitudes = model.orbit or any(section is not None for section in model.mounts[index])
        body = body_of(model, part, combined=combined and not uses_amplitudes)
        rail_station = station(model, index, q, v) if part.on_rail else None
        state = _link_state(model, body, q, v, spins[index], rail_station)
        state = _with_mounts(model, index, body, state, q, v)
        states.append(_in_orbit(model, index, state, q) if model.orbit else state)
        # Axes of links on this section are relative to the axes of the section.
        for mount in state.mounts:
            spin = mount.motion.local.rotation.T @ (state.omega + mount.motion.spin)
            spins |= dict.fromkeys(mount.links, spin)
    return states


def _with_mounts(
    model: Model, index: int, body: LinkBody, state: LinkState, q: Expr, v: Expr
) -> LinkState:
    """Return a link's state with the sections that carry other links.

    If the tip carries no link, the inertia of a body at the tip is added to the link's inertia
    terms.
    """
    part, mounts = state.part, list[Mount]()
    tip, terms = body.tip_motion(q, v), state.terms
    sections = model.mounts[index] or {None: []}
    if None not in sections and part.tip_body.weighs:
        terms = attach(terms, part.tip_body, tip, state.omega)
    for section, links in sections.items():
        motion = tip if section is None else mount_motion(model, links[0], q, v)
        carried = [model.links[k].mount_body for k in links]
        rigid = sum(carried, part.tip_body if section is None else NO_INERTIA)
        spin = motion.local.rotation.T @ (state.omega + motion.spin)
        mounts.append(Mount(motion, rigid, body_bias(rigid, spin), links))
    return replace(state, terms=terms, mounts=mounts)


def _link_state(
    model: Model,
    body: LinkBody,
    q: Expr,
    v: Expr,
    omega_tip: Expr,
    rail_station: RailStation | None,
) -> LinkState:
    part = body.part
    motion, coordinates = part.motion, picked(q, part.carried_by)
    rates = picked(v, part.carried_by)
    R_JK, p_JK = motion.place(coordinates)
    axes = constant(part.pose_JL.rotation.T)
    lever = constant(part.pose_JL.rotation.T @ part.pose_JL.position)
    rotation = type(q)(constant(part.pose_FJ.rotation) @ R_JK) @ axes.T
    carrier = rotation.T @ omega_tip
    columns, extra = motion.columns(coordinates), motion.bias(coordinates, rates)
    # The motion of the rail section includes the effects of the station's rate.
    if rail_station is not None:
        columns, rates = riding_columns(part, rail_station), type(q)(1, 1)
    angular, linear = ca.sparsify(axes @ columns[:3, :]), ca.sparsify(axes @ columns[3:, :])
    # Velocity of L's origin due to rotation about J's origin.
    lever_columns = ca.sparsify(-ca.skew(lever) @ angular)
    joint_spin, joint_speed = angular @ rates, (linear + lever_columns) @ rates
    omega = carrier + joint_spin
    spin_bias = ca.cross(carrier, joint_spin) + axes @ extra[:3]
    speed_bias = 2 * ca.cross(carrier, joint_speed) + ca.cross(joint_spin, lever_columns @ rates)
    speed_bias = speed_bias + axes @ extra[3:] - ca.skew(lever) @ (axes @ extra[:3])
    offset = _offset(part, rotation, axes @ (R_JK.T @ p_JK) + lever)
    if offset is not None:
        speed_bias = speed_bias + ca.cross(carrier, ca.cross(carrier, offset))
    return LinkState(
        part=part,
        rotation=rotation,
        offset=offset,
        columns=ca.vertcat(angular, linear + lever_columns),
        carrier=carrier,
        omega=omega,
        bias=ca.vertcat(spin_bias, speed_bias),
        terms=body.terms(q, v, omega),
        mounts=[],
        basis=body.basis,
    )


def _in_orbit(model: Model, index: int, state: LinkState, q: Expr) -> LinkState:
    """Return a link's state with the gravity gradient on the link and on bodies at its sections."""
    placed, rate, mounts = frames(model, q), model.orbit, list[Mount]()
    frame = placed[index]
    terms = feel_gradient(rate, frame.R_WL, frame.p_WL, state.terms, picked(q, state.part.own))
    for mount in state.mounts:
        rotation, position = frame.R_WT, frame.p_WT
        if mount.links:
            rotation, position = placed[mount.links[0]].R_WF, placed[mount.links[0]].p_WF
        if mount.body.weighs:
            gradient = rigid_gradient(rate, rotation, position, mount.body)
            mount = replace(mount, force=mount.force + gradient)
        mounts.append(mount)
    return replace(state, terms=terms, mounts=mounts, away=frame.R_WL[0, :].T)


def _offset(part: LinkModel, rotation: Expr, lever: Expr) -> Expr | None:
    """Return the vector from frame F to the link's origin, in link axes; None if it is zero."""
    joint_position = part.pose_FJ.position
    offset = ca.sparsify(type(rotation)(lever))
    if np.any(joint_position):
        offset = offset + rotation.T @ constant(joint_position)
    return offset if offset.nnz() else None


def spatial_inertia(mass: Scalar, first: Expr, second: Expr) -> Expr:
    """Return the spatial inertia (6, 6) of a body from mass, first moment and rotary inertia."""
    cross = ca.skew(first)
    return ca.vertcat(ca.horzcat(second, cross), ca.horzcat(cross.T, mass * ca.SX.eye(3)))


def body_matrix(body: Inertia) -> Expr:
    """Return the spatial inertia (6, 6) of a constant rigid body."""
    return spatial_inertia(
        ca.SX(body.mass), ca.SX(constant(body.first)), ca.SX(constant(body.second))
    )


def shift_inertia(inertia: Expr, p: Expr) -> Expr:
    """Move the reference point of a spatial inertia (6, 6) from p to the origin."""
    a, b, c = inertia[:3, :3], inertia[:3, 3:], inertia[3:, 3:]
    lever = ca.skew(p)
    coupling = b + lever @ c
    rotary = a + lever @ b.T - coupling @ lever
    return blocks(symmetric(rotary), coupling, c)


def rotate_inertia(rotation: Expr, inertia: Expr) -> Expr:
    """Transform a spatial inertia (6, 6) to other axes by the rotation (3, 3) to these axes."""
    a, b, c = inertia[:3, :3], inertia[:3, 3:], inertia[3:, 3:]
    return blocks(
        symmetric(rotation @ a @ rotation.T),
        rotation @ b @ rotation.T,
        symmetric(rotation @ c @ rotation.T),
    )


def shift_force(force: Expr, p: Expr) -> Expr:
    """Move the reference point of spatial forces (6, k) from p to the origin."""
    return ca.vertcat(force[:3, :] + ca.skew(p) @ force[3:, :], force[3:, :])


def rotate(rotation: Expr, vector: Expr) -> Expr:
    """Transform spatial vectors (6, k) to other axes by the rotation (3, 3) to these axes."""
    return ca.vertcat(rotation @ vector[:3, :], rotation @ vector[3:, :])


def shift_motion(motion: Expr, p: Expr) -> Expr:
    """Move the reference point of spatial motions (6, k) from the origin to p."""
    return ca.vertcat(motion[:3, :], motion[3:, :] - ca.skew(p) @ motion[:3, :])


def mount_columns(mount: Mount) -> Expr:
    """Return the motion of a section per rate of its link's k coordinates, (6, k)."""
    return ca.vertcat(mount.motion.local.angular, mount.motion.local.linear)


def mount_bias(state: LinkState, mount: Mount) -> Expr:
    """Return the acceleration (6,) of a section relative to L due to velocities alone."""
    omega, tip = state.omega, mount.motion
    p = tip.local.position
    spin = ca.cross(omega, tip.spin) + tip.spin_bias
    speed = ca.cross(omega, ca.cross(omega, p)) + 2 * ca.cross(omega, tip.speed) + tip.speed_bias
    return ca.vertcat(spin, speed)


def body_bias(body: Inertia, omega: Expr) -> Expr:
    """Return torque and force (6,) of a rigid body due to its angular velocity alone."""
    first, second = constant(body.first), constant(body.second)
    return ca.vertcat(
        ca.cross(omega, second @ omega), ca.cross(omega, ca.cross(omega, ca.SX(first)))
    )


def blocks(a: Expr, b: Expr, c: Expr) -> Expr:
    """Return the symmetric matrix ``[[a, b], [b^T, c]]``, (6, 6)."""
    return ca.vertcat(ca.horzcat(a, b), ca.horzcat(b.T, c))


def symmetric(matrix: Expr) -> Expr:
    """Return the symmetric matrix that has the upper triangle of ``matrix``."""
    return ca.triu2symm(ca.triu(matrix))
