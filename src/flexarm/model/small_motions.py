"""Numeric mass and stiffness matrices of an arm with undeformed links, for small motions."""

import casadi as ca
import numpy as np

from flexarm.links.body_data import StraightBody
from flexarm.links.holds import relaxed_stiffness
from flexarm.model.parts import LinkModel, Model
from flexarm.spatial import CROSS, Array


def mass_matrix(model: Model, q: Array) -> Array:
    """Compute the mass matrix (n, n) of an arm with undeformed links at posture q, shape (n,).

    The first six rates of an arm with a moving base are the base's angular velocity and velocity,
    in axes of the base.
    """
    mass, moved = np.zeros((model.size, model.size)), np.zeros((6, model.size))
    if model.base_moves:
        moved[:, :6] = np.eye(6)
        mass += moved.T @ model.base_body.matrix @ moved
    for index, part in enumerate(model.links):
        if part.rotor is not None:
            axis = np.zeros(3) if part.rotor.axis is None else part.rotor.axis
            spin = axis @ moved[:3]
            spin[part.rotor.coordinate] += part.rotor.ratio
            mass += part.rotor.inertia * np.outer(spin, spin)
        root = moved = _carried(part, q, moved)
        mass += moved.T @ part.root_body.matrix @ moved
        moved = _add_body(part, q, moved, mass)
        mass += moved.T @ part.tip_body.matrix @ moved
        if model.carries(index):
            moved = _at_station(part, model.links[index + 1], q, root)
    return mass


def stiffness_matrix(model: Model, q: Array) -> Array:
    """Compute the elastic stiffness matrix (n, n) at posture q, shape (n,).

    Links, joint springs and transmissions contribute; springs enter with their relaxed stiffness.
    """
    stiffness = np.zeros((model.size, model.size))
    for part in model.links:
        integrals = part.body.straight(part.span_length(q)).integrals
        stiffness[part.modes, part.modes] = integrals.stiffness
        for axis in part.axes:
            if axis.acts.spring is not None:
                spring = relaxed_stiffness(axis.acts.spring.stiffness)
                stiffness[axis.index, axis.index] += spring
            if axis.motor is not None and axis.acts.drive is not None:
                wound = np.zeros(model.size)
                wound[[axis.index, axis.motor]] = 1.0, -1.0
                winding = relaxed_stiffness(axis.acts.drive.stiffness)
                stiffness += winding * np.outer(wound, wound)
    return stiffness


def _carried(part: LinkModel, q: Array, moved: Array) -> Array:
    """Return the Jacobian (6, n) of a link's root, from that of the previous link's tip.

    Rows are angular over linear velocity; columns of the link's joint coordinates are added.
    """
    joints = list(part.carried_by)
    own = ca.DM(q[joints])
    rotation, place, columns = (
        np.array(ca.DM(each)) for each in (*part.motion.place(own), part.motion.columns(own))
    )
    moved = _rotate(part.pose_FJ.rotation, _shift(moved, part.pose_FJ.position))
    moved = _rotate(rotation, _shift(moved, place[:, 0]))
    if joints:
        moved[:, joints] += columns
    return _rotate(part.pose_JL.rotation, _shift(moved, part.pose_JL.position))


def _add_body(part: LinkModel, q: Array, moved: Array, mass: Array) -> Array:
    """Return the Jacobian (6, n) of a link's tip; add the span to the mass matrix in place."""
    own, body = part.modes, part.body.straight(part.span_length(q))
    integrals = body.integrals
    mass += moved.T @ integrals.inertia.matrix @ moved
    mass[own, own] += integrals.modal_mass
    _couple(mass, own, moved.T @ integrals.momentum)
    if body.retracted is not None:
        _slide(part, body, moved, mass)
    moved = _shift(moved, body.tip)
    moved[:3, own] += body.tip_angle
    moved[3:, own] += body.tip_shape
    if body.retracted is not None:
        moved[3, part.exposed] += 1.0
    return moved


def _at_station(rail: LinkModel, part: LinkModel, q: Array, moved: Array) -> Array:
    """Return the Jacobian (6, n) of the rail section that carries a riding link.

    ``moved`` is the Jacobian of the rail's root.
    """
    assert part.rail is not None
    x = q[part.exposed] - part.rail.root
    moved = _shift(moved, np.array([x, 0.0, 0.0]))
    moved[:, rail.modes] += rail.beam.shapes.motion(np.array([x]))[0]
    moved[3, part.exposed] += 1.0
    return moved


def _slide(part: LinkModel, body: StraightBody, moved: Array, mass: Array) -> None:
    """Add a sliding link's retracted part and its axial motion to the mass matrix, in place."""
    assert body.retracted is not None
    along, whole = part.exposed, body.retracted.mass + body.integrals.mass
    mass += moved.T @ body.retracted.matrix @ moved
    mass[along, along] += whole
    _couple(mass, slice(along, along + 1), moved[3][:, None] * whole)
    mass[along, part.modes] += body.integrals.shape[0]
    mass[part.modes, along] += body.integrals.shape[0]


def _couple(mass: Array, own: slice, columns: Array) -> None:
    """Add columns (n, k) to a symmetric matrix in place, and their transposes to the same rows."""
    mass[:, own] += columns
    mass[own] += columns.T


def _rotate(rotation: Array, moved: Array) -> Array:
    """Return a Jacobian (6, n), angular over linear, in the axes of the rotated frame."""
    return np.concatenate([rotation.T @ moved[:3], rotation.T @ moved[3:]])


def _shift(moved: Array, p: Array) -> Array:
    """Return the Jacobian (6, n) of the point at p, shape (3,), from the Jacobian of the origin."""
    return np.concatenate([moved[:3], moved[3:] - np.tensordot(p, CROSS, axes=1) @ moved[:3]])
