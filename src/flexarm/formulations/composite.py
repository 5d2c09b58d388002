"""Mass matrix by the composite-rigid-body algorithm, forces by recursive Newton-Euler."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.errors import FlexarmError
from flexarm.formulations.base import Formulation
from flexarm.formulations.recursion import (
    BaseState,
    LinkState,
    base_state,
    body_matrix,
    link_states,
    mount_bias,
    mount_columns,
    rotate,
    rotate_inertia,
    shift_force,
    shift_inertia,
    shift_motion,
    spatial_inertia,
    symmetric,
)
from flexarm.mechanics.kinematics import base_frame, frames
from flexarm.mechanics.loads import outer_loads
from flexarm.mechanics.orbit.hill import gradient_force, rotor_gradient
from flexarm.mechanics.point_forces import tip_contacts, touches
from flexarm.mechanics.sections import picked
from flexarm.model import Model, Rotor
from flexarm.spatial import Expr, constant

Columns = list[tuple[int, Expr]]


class Composite(Formulation):
    """Mass matrix by composite bodies, forces by the recursive Newton-Euler algorithm."""

    name: ClassVar[str] = "composite"
    citation: ClassVar[str] = "Featherstone 2008, chapters 5 and 6, with columns for amplitudes"
    assumptions: ClassVar[str] = "none beyond the model's own"
    along_beams: ClassVar[bool] = False

    def mass_expression(self, q: Expr) -> Expr:
        """Build the expression of the mass matrix M(q), (n, n)."""
        no_rates = type(q).zeros(self.model.size, 1)
        base = base_state(self.model, q, no_rates)
        states = link_states(self.model, q, no_rates)
        return _mass_matrix(self.model, base, states)

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Build the expression of the generalised inertial force at accelerations a, (n,).

        If ``a`` is None, accelerations are 0. With ``gravity``, the gravity force is included.
        """
        model = self.model if gravity or not self.model.orbit else replace(self.model, orbit=0.0)
        base, states = base_state(model, q, v), link_states(model, q, v)
        return _newton_euler(model, base, states, v, a, gravity)[0]

    def touched_expression(self, q: Expr, v: Expr, a: Expr) -> tuple[Expr, Expr] | None:
        """Build inertial and gravity force minus tip contact force, (n,), and contact power [W].

        The contact dissipates this power. In the Newton-Euler recursion, the contact force is a
        load on the body at the tip.
        """
        if not any(tip_contacts(self.model)):
            return None
        base, states = base_state(self.model, q, v), link_states(self.model, q, v)
        wrench, power = _tip_contacts(self.model, q, v)
        (tip,) = states[-1].mounts
        loaded = replace(states[-1], mounts=[replace(tip, force=tip.force - wrench)])
        states = [*states[:-1], loaded]
        return _newton_euler(self.model, base, states, v, a, True)[0], power

    def inertial_wrenches(self, q: Expr, v: Expr, a: Expr) -> list[tuple[Expr, Expr, Expr]]:
        """Build the inertial and gravity wrenches of all bodies outboard of each joint.

        Each wrench is a tuple of the link's root position, the force and the torque about this
        position, (3,) each, in world axes.
        """
        base, states = base_state(self.model, q, v), link_states(self.model, q, v)
        roots = _newton_euler(self.model, base, states, v, a, True)[1]
        return [
            (frame.p_WL, frame.R_WL @ root[3:], frame.R_WL @ root[:3])
            for frame, root in zip(frames(self.model, q), roots, strict=True)
        ]


def momentum_expression(model: Model, q: Expr, v: Expr) -> tuple[Expr, Expr, Expr]:
    """Build linear momentum, angular momentum about the world's origin, and centre of mass.

    Momenta and centre of mass are vectors (3,) in world axes. The sums include links, hubs, rotors,
    payload and a moving base.
    """
    if not has_momentum(model):
        raise FlexarmError(
            "momentum: cannot be computed with first-order tip rotation, which does not keep "
            "the outboard bodies rigid. Build the model with tip_rotation='cayley'."
        )
    inertia, momentum = _total_inertia(model, q, v)
    mass, first = _mass_moments(inertia)
    return momentum[3:], momentum[:3], first / mass


def has_momentum(model: Model) -> bool:
    """Return whether all bodies move rigidly with their frames, so that momenta can be summed.

    First-order tip rotations are no rotations, so that bodies at the tips do not move rigidly.
    """
    return model.tip_rotation != "first-order"


def inertial_momentum_expression(model: Model, q: Expr, v: Expr) -> tuple[Expr, Expr, Expr]:
    """Build the momentum of all moving bodies relative to inertial axes.

    The bodies include a free base. In an orbit the rotation of the orbital frame is included. All
    results are in world axes.

    Returns
    -------
    whole
        Momentum over angular momentum about the world's origin of all moving bodies, (6,).
    base
        Momentum over angular momentum of the base, relative to and about ``centre``, (6,).
    centre
        Centre of mass of all moving bodies [m], (3,).
    """
    whole, momentum = _total_inertia(model, q, v)
    rotation, origin = base_frame(model, q)
    base_inertia = _in_world(rotation, origin, body_matrix(model.base_body))
    spin = rotation @ base_state(model, q, v).omega
    base_momentum = base_inertia @ ca.vertcat(spin, v[0:3] + ca.cross(origin, spin))
    if model.orbit:
        momentum, base_momentum = (
            momentum + model.orbit * whole[:, 2],
            base_momentum + model.orbit * base_inertia[:, 2],
        )
    (mass, first), (base_mass, moment) = _mass_moments(whole), _mass_moments(base_inertia)
    centre, speed = first / mass, momentum[3:] / mass
    angular = (
        base_momentum[:3]
        - ca.cross(centre, base_momentum[3:])
        - ca.cross(moment - base_mass * centre, speed)
    )
    return (
        ca.vertcat(momentum[3:], momentum[:3]),
        ca.vertcat(base_momentum[3:] - base_mass * speed, angular),
        centre,
    )


def outer_wrench_expression(model: Model, q: Expr, v: Expr, factors: Expr) -> Expr:
    """Build the external force over torque about the world's origin on an arm, (6,).

    The external force includes gravity (in an orbit, the gravity gradient), scaled wrenches,
    contacts and springs to the world. All forces are summed at their points of action,
    independently of the generalised forces, so that the result can check the equations of motion.
    """
    pull, torque = ca.SX(3, 1), ca.SX(3, 1)
    if np.any(model.gravity) or model.orbit:
        inertia = _total_inertia(model, q, type(q).zeros(model.size, 1))[0]
        mass, first = _mass_moments(inertia)
        gravity = ca.SX(constant(model.gravity))
        pull, torque = mass * gravity, ca.cross(first, gravity)
        if model.orbit:
            gradient = gradient_force(
                model.orbit, ca.SX.eye(3), ca.SX(3, 1), mass, first, inertia[:3, :3]
            )
            torque, pull = torque - gradient[0], pull - gradient[1]
    for _, point, force, twist in outer_loads(model, q, v, frames(model, q), factors):
        pull, torque = pull + force, torque + twist + ca.cross(point, force)
    return ca.vertcat(pull, torque)


def _total_inertia(model: Model, q: Expr, v: Expr) -> tuple[Expr, Expr]:
    """Build inertia (6, 6) and momentum (6,) of all moving bodies about the world's origin.

    Inertia and momentum are in world axes, with angular components first.
    """
    base, no_rates = base_state(model, q, v), type(q).zeros(model.size, 1)
    _, carried = _composite_matrix(model, link_states(model, q, no_rates))
    inertia, base_rotation = rotate_inertia(carried.rotation, carried.inertia), carried.rotation
    if base.angular is not None:
        inertia = inertia + body_matrix(model.base_body)
    momentum = ca.SX(6, 1)
    for k, column in _rotated(base_rotation, carried.columns):
        momentum = momentum + column * v[k]
    rotation, origin = base_frame(model, q)
    if base.angular is not None:
        momentum = momentum + inertia @ ca.vertcat(base.omega, base.rotation.T @ v[0:3])
    return (
        _in_world(rotation, origin, inertia), shift_force(rotate(rotation, momentum), origin)
    )  # fmt: skip


def _in_world(rotation: Expr, origin: Expr, inertia: Expr) -> Expr:
    """Transform an inertia (6, 6) from a frame to the world's axes and origin."""
    return shift_inertia(rotate_inertia(rotation, inertia), origin)


def _mass_moments(inertia: Expr) -> tuple[Expr, Expr]:
    """Return the mass and the first moment of mass (3,) in a spatial inertia (6, 6)."""
    return inertia[5, 5], ca.inv_skew(inertia[:3, 3:])


def _tip_contacts(model: Model, q: Expr, v: Expr) -> tuple[Expr, Expr]:
    """Build the wrench of tip contacts in tip axes, (6,), and the power [W] that they dissipate."""
    no_rates = type(q).zeros(model.size, 1)
    base, states = base_state(model, q, no_rates), link_states(model, q, no_rates)
    (tip_velocity,) = _accelerate(model, base, states, v, False).mounts[-1]  # at rates for a
    link_frames = frames(model, q)
    R, origin = link_frames[-1].R_WT, link_frames[-1].p_WT
    spin, speed = R @ tip_velocity[:3], R @ tip_velocity[3:]
    wrench, power = ca.SX(6, 1), ca.SX(0)
    for contact, is_end in zip(touches(model, q, link_frames), tip_contacts(model), strict=True):
        if is_end:
            lever = contact.attached.position - origin
            velocity = speed + ca.cross(spin, lever), spin
            normal, friction = contact.forces(v, moved=velocity)
            force, torque = normal * contact.normal + friction, ca.cross(contact.lever, friction)
            wrench += rotate(R.T, ca.vertcat(torque + ca.cross(lever, force), force))
            loss = force - contact.elastic * contact.normal
            power -= ca.dot(loss, velocity[0]) + ca.dot(torque, spin)
    return wrench, power


def _mass_matrix(model: Model, base: BaseState, states: list[LinkState]) -> Expr:
    matrix, carried = _composite_matrix(model, states)
    if base.angular is not None:
        rotation = carried.rotation
        inertia = rotate_inertia(rotation, carried.inertia) + body_matrix(model.base_body)
        _base_block(matrix, base, inertia, _rotated(rotation, carried.columns))
    return matrix


@dataclass(frozen=True)
class _Carried:
    """Composite inertia (6, 6) of all links outboard of a section, about that section."""

    inertia: Expr
    columns: Columns  # spatial momentum (6,) per unit rate of each coordinate of the links
    rotation: Expr  # rotation from the axes of inertia and columns to those of the section, (3, 3)

    @classmethod
    def all(cls, carried: Sequence["_Carried"]) -> "_Carried":
        """Return the sum of the composite inertias of links that one section carries."""
        if len(carried) == 1:
            return carried[0]
        total, columns = ca.SX(6, 6), list[tuple[int, Expr]]()
        for one in carried:
            total = total + rotate_inertia(one.rotation, one.inertia)
            columns += _rotated(one.rotation, one.columns)
        return cls(total, columns, ca.SX.eye(3))


def _composite_matrix(model: Model, states: list[LinkState]) -> tuple[Expr, _Carried]:
    """Build M without the rows of a moving base, and the composite inertia of all links.

    The composite inertia is about the base.
    """
    matrix, carried = ca.SX(model.size, model.size), dict[int, _Carried]()
    for index, state in reversed([*enumerate(states)]):
        t, amplitudes = state.terms, state.part.own
        block, inertia = t.modal, spatial_inertia(t.mass, t.first, t.second)
        momentum, pending = ca.vertcat(t.angular, t.linear), Columns()
        for mount in state.mounts:
            on_mount = _Carried.all([carried[k] for k in mount.links])
            columns, local = mount_columns(mount), mount.motion.local
            p, outboard, rotation = local.position, on_mount.inertia, on_mount.rotation
            waiting = on_mount.columns
            # transform to link axes, in one step if no body is fixed to the section
            if mount.body.weighs:
                outboard = rotate_inertia(rotation, outboard) + body_matrix(mount.body)
                waiting, rotation = _rotated(rotation, waiting), local.rotation
            else:
                rotation = local.rotation @ rotation
            outboard, waiting = rotate_inertia(rotation, outboard), _rotated(rotation, waiting)
            momentum_columns = outboard @ columns
            block = block + columns.T @ momentum_columns
            for i, row in enumerate(amplitudes):
                for k, column in waiting:
                    _set_symmetric(matrix, row, k, ca.dot(columns[:, i], column))
            # transform to the link's root, where the joint acts
            pending += [(k, shift_force(column, p)) for k, column in waiting]
            momentum = momentum + shift_force(momentum_columns, p)
            inertia = inertia + shift_inertia(outboard, p)
        block = symmetric(block)
        for i, row in enumerate(amplitudes):
            for j, other_row in enumerate(amplitudes):
                matrix[row, other_row] = block[i, j]
        pending += [(row, momentum[:, i]) for i, row in enumerate(amplitudes)]
        for i, joint in enumerate(state.part.carried_by):
            axis = state.columns[:, i]
            for k, column in pending:
                _set_symmetric(matrix, joint, k, ca.dot(axis, column))
            column = inertia @ axis
            matrix[joint, joint] = ca.dot(axis, column)
            pending.append((joint, column))
        if state.offset is not None:
            inertia = shift_inertia(inertia, state.offset)
            pending = [(k, shift_force(column, state.offset)) for k, column in pending]
        rotation = state.rotation
        if state.part.rotor is not None:
            inertia, pending = rotate_inertia(rotation, inertia), _rotated(rotation, pending)
            inertia, pending = _add_rotor(matrix, state.part.rotor, inertia, pending)
            rotation = ca.SX.eye(3)
        carried[index] = _Carried(inertia, pending, rotation)
    return matrix, _Carried.all([carried[k] for k in model.carried_by_base])


def _rotated(rotation: Expr, columns: Columns) -> Columns:
    return [(k, rotate(rotation, column)) for k, column in columns]


def _add_rotor(matrix: Expr, rotor: Rotor, inertia: Expr, pending: Columns) -> tuple[Expr, Columns]:
    """Add a rotor's spin inertia to M; return composite inertia and momentum with the rotor.

    The composite inertia and the momentum columns change only if the rotor has a spin axis.
    """
    k = rotor.coordinate
    matrix[k, k] += rotor.ratio**2 * rotor.inertia
    if rotor.axis is None:
        return inertia, pending
    axis = ca.vertcat(constant(rotor.axis), ca.SX(3, 1))
    momentum = rotor.ratio * rotor.inertia * axis
    columns = dict(pending)
    columns[k] = columns[k] + momentum if k in columns else momentum
    return inertia + rotor.inertia * axis @ axis.T, list(columns.items())


def _rotor_force(rotor: Rotor, tip: Expr, spin: Expr, v: Expr, a: Expr | None) -> tuple[Expr, Expr]:
    """Return the generalised force on a rotor's coordinate, and the wrench on its carrier, (6,)."""
    acceleration = rotor.ratio * a[rotor.coordinate] if a is not None else ca.SX(0)
    if rotor.axis is None:
        return rotor.ratio * rotor.inertia * acceleration, ca.SX(6, 1)
    axis = constant(rotor.axis)
    rate = rotor.inertia * (acceleration + ca.dot(axis, tip[:3]))
    momentum = rotor.inertia * (rotor.ratio * v[rotor.coordinate] + ca.dot(axis, spin))
    torque = rate * axis + ca.cross(spin, ca.SX(axis)) * momentum
    return rotor.ratio * rate, ca.vertcat(torque, ca.SX(3, 1))


def _base_block(matrix: Expr, base: BaseState, inertia: Expr, pending: Columns) -> None:
    angular = base.angular
    assert angular is not None  # the base moves
    columns = ca.vertcat(ca.horzcat(ca.SX(3, 3), angular), ca.horzcat(base.rotation.T, ca.SX(3, 3)))
    matrix[:6, :6] = symmetric(columns.T @ inertia @ columns)
    for k, column in pending:
        force = columns.T @ column
        for i in range(6):
            _set_symmetric(matrix, i, k, force[i])


def _newton_euler(
    model: Model, base: BaseState, states: list[LinkState], v: Expr, a: Expr | None, gravity: bool
) -> tuple[Expr, list[Expr]]:
    """Build the generalised force (n,), and the wrench on each link's root in root axes, (6,)."""
    accelerations = _accelerate(model, base, states, a, gravity)
    result = ca.SX(model.size, 1)
    roots: list[Expr] = []
    forces: dict[int, Expr] = {}  # keys are link indices; force of a link on its carrying section
    for index in range(len(states) - 1, -1, -1):
        state = states[index]
        t, part = state.terms, state.part
        amplitudes = part.own
        acceleration = accelerations.roots[index]
        amplitude_accelerations = (
            ca.vertcat(*[a[i] for i in amplitudes]) if a is not None and amplitudes else None
        )
        momentum = ca.vertcat(t.angular, t.linear)
        rows = momentum.T @ acceleration + t.effort
        total = spatial_inertia(t.mass, t.first, t.second) @ acceleration
        total = total + ca.vertcat(t.torque, t.force)
        for mount, moved in zip(state.mounts, accelerations.mounts[index], strict=True):
            force = sum((forces[k] for k in mount.links), ca.SX(6, 1))
            force = force + body_matrix(mount.body) @ moved + mount.force
            local = mount.motion.local
            force = rotate(local.rotation, force)
            rows = rows + mount_columns(mount).T @ force
            total = total + shift_force(force, local.position)
        if amplitude_accelerations is not None:
            rows = rows + t.modal @ amplitude_accelerations
            total = total + momentum @ amplitude_accelerations
        for i, row in enumerate(amplitudes):
            result[row] = rows[i]
        for i, joint in enumerate(part.carried_by):
            result[joint] = ca.dot(state.columns[:, i], total)
        roots.insert(0, total)
        if state.offset is not None:
            total = shift_force(total, state.offset)
        force = rotate(state.rotation, total)
        if part.rotor is not None:
            spin = state.rotation @ state.carrier
            effort, rotor_wrench = _rotor_force(
                part.rotor, accelerations.carriers[index], spin, v, a
            )
            if state.away is not None and part.rotor.axis is not None:
                x, axis = state.rotation @ state.away, ca.SX(constant(part.rotor.axis))
                rotor_wrench[:3] += rotor_gradient(model.orbit, x, axis, part.rotor.inertia)
            result[part.rotor.coordinate] += effort
            force = force + rotor_wrench
        forces[index] = force
    if base.angular is not None:
        force = sum((forces[k] for k in model.carried_by_base), ca.SX(6, 1))
        force = force + body_matrix(model.base_body) @ accelerations.base
        force = force + base.force
        result[0:3] = base.rotation @ force[3:]
        result[3:6] = base.angular.T @ force[:3]
    return result, roots


@dataclass(frozen=True)
class _Accelerations:
    """Spatial accelerations (6,) of the base, link roots and sections, each in its own axes."""

    base: Expr
    roots: list[Expr]
    mounts: list[list[Expr]]  # accelerations of each link's mounts
    carriers: dict[int, Expr]  # by link: acceleration of the section that carries it


def _accelerate(
    model: Model, base: BaseState, states: list[LinkState], a: Expr | None, gravity: bool
) -> _Accelerations:
    """Compute accelerations from base to tips; gravity enters as an acceleration of the base."""
    gravity_acceleration = ca.SX(constant(model.gravity)) if gravity else ca.SX(3, 1)
    lift, spin = base.swept - gravity_acceleration, base.turning_bias
    if a is not None and base.angular is not None:
        lift, spin = lift + a[0:3], spin + base.angular @ a[3:6]
    start: Expr = ca.vertcat(spin, base.rotation.T @ lift)
    result = _Accelerations(start, [], [], dict.fromkeys(model.carried_by_base, start))
    for index, state in enumerate(states):
        current = rotate(state.rotation.T, result.carriers[index])
        if state.offset is not None:
            current = shift_motion(current, state.offset)
        current = current + state.bias
        if a is not None:
            current = current + state.columns @ picked(a, state.part.carried_by)
        result.roots.append(current)
        result.mounts.append([])
        for mount in state.mounts:
            local, amplitudes = mount.motion.local, state.part.own
            moved = shift_motion(current, local.position) + mount_bias(state, mount)
            if a is not None and amplitudes:
                moved = moved + mount_columns(mount) @ ca.vertcat(*[a[i] for i in amplitudes])
            moved = rotate(local.rotation.T, moved)
            result.mounts[-1].append(moved)
            result.carriers.update(dict.fromkeys(mount.links, moved))
    return result


def _set_symmetric(matrix: Expr, i: int, j: int, value: Expr) -> None:
    matrix[i, j] = value
    matrix[j, i] = value
