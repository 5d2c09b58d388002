"""Numerical mass and stiffness matrices of an arm with undeformed links."""

import casadi as ca
import numpy as np

from flexarm.links.body_data import StraightBody
from flexarm.links.end_loads import relaxed_stiffness
from flexarm.model.parts import LinkModel, Model
from flexarm.spatial import CROSS, Array


def mass_matrix(model: Model, q: Array) -> Array:
    """Compute the mass matrix (n, n) of an arm with undeformed links at posture q, shape (n,).

    The first six rates of an arm with a moving base are the base's angular velocity and velocity,
    in axes of the base.
    """
    mass, base = np.zeros((model.size, model.size)), np.zeros((6, model.size))
    if model.base_moves:
        base[:, :6] = np.eye(6)
        mass += base.T @ model.base_body.matrix @ base
    roots, tips = list[Array](), list[Array]()
    for part in model.links:
        jacobian = base if part.parent < 0 else tips[part.parent]
        if part.place is not None or part.on_rail:
            jacobian = _within(model.links[part.parent], part, q, roots[part.parent])
            mass += jacobian.T @ part.mount_body.matrix @ jacobian
        if part.rotor is not None:
            axis = np.zeros(3) if part.rotor.axis is None else part.rotor.axis
            spin = axis @ jacobian[:3]
            spin[part.rotor.coordinate] += part.rotor.ratio
            mass += part.rotor.inertia * np.outer(spin, spin)
        jacobian = _carried(part, q, jacobian)
        roots.append(jacobian)
        mass += jacobian.T @ part.root_body.matrix @ jacobian
        jacobian = _add_body(part, q, jacobian, mass)
        mass += jacobian.T @ part.tip_body.matrix @ jacobian
        tips.append(jacobian)
    return mass


def stiffness_matrix(model: Model, q: Array) -> Array:
    """Compute the elastic stiffness matrix (n, n) at posture q, shape (n,).

    Links, joint springs and transmissions contribute; a nonlinear spring has its stiffness at zero
    deflection.
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
                twist = np.zeros(model.size)
                twist[[axis.index, axis.motor]] = 1.0, -1.0
                drive_stiffness = relaxed_stiffness(axis.acts.drive.stiffness)
                stiffness += drive_stiffness * np.outer(twist, twist)
    return stiffness


def _carried(part: LinkModel, q: Array, jacobian: Array) -> Array:
    """Return the Jacobian (6, n) of a link's root from that of the section that carries the link.

    Rows are angular over linear velocity; columns of the link's joint coordinates are added.
    """
    joints = list(part.carried_by)
    coordinates = ca.DM(q[joints])
    rotation, position, columns = (
        np.array(ca.DM(matrix))
        for matrix in (*part.motion.place(coordinates), part.motion.columns(coordinates))
    )
    jacobian = _rotate(part.pose_FJ.rotation, _shift(jacobian, part.pose_FJ.position))
    jacobian = _rotate(rotation, _shift(jacobian, position[:, 0]))
    if joints:
        jacobian[:, joints] += columns
    return _rotate(part.pose_JL.rotation, _shift(jacobian, part.pose_JL.position))


def _add_body(part: LinkModel, q: Array, jacobian: Array, mass: Array) -> Array:
    """Return the Jacobian (6, n) of a link's tip from that of its root.

    The inertia of the link's span is added to ``mass`` in place.
    """
    amplitudes, body = part.modes, part.body.straight(part.span_length(q))
    integrals = body.integrals
    mass += jacobian.T @ integrals.inertia.matrix @ jacobian
    mass[amplitudes, amplitudes] += integrals.modal_mass
    _couple(mass, amplitudes, jacobian.T @ integrals.momentum)
    if body.retracted is not None:
        _slide(part, body, jacobian, mass)
    jacobian = _shift(jacobian, body.tip)
    jacobian[:3, amplitudes] += body.tip_angle
    jacobian[3:, amplitudes] += body.tip_shape
    if body.retracted is not None:
        jacobian[3, part.exposed] += 1.0
    return jacobian


def _within(carrier: LinkModel, part: LinkModel, q: Array, jacobian: Array) -> Array:
    """Return the Jacobian (6, n) of the section within a link that carries another link.

    ``jacobian`` is the Jacobian of the carrier's root.
    """
    if part.place is None:
        assert part.rail
        x = q[part.exposed] - part.rail.root
    else:
        x = part.place.x
    if isinstance(x, str):
        frame = carrier.imported.frame(x)
        jacobian = _shift(jacobian, frame.pose.position)
        jacobian[:, carrier.modes] += np.concatenate([frame.angle, frame.shape])
        return _rotate(frame.pose.rotation, jacobian)
    jacobian = _shift(jacobian, np.array([x, 0.0, 0.0]))
    if x > 0 and carrier.flexible:
        jacobian[:, carrier.modes] += carrier.beam.shapes.motion(np.array([x]))[0]
    if part.on_rail:
        jacobian[3, part.exposed] += 1.0
    return jacobian


def _slide(part: LinkModel, body: StraightBody, jacobian: Array, mass: Array) -> None:
    """Add the part inside the hub, and axial motion, of a sliding link to the mass matrix.

    The matrix ``mass`` is changed in place.
    """
    assert body.retracted is not None
    exposed, total_mass = part.exposed, body.retracted.mass + body.integrals.mass
    mass += jacobian.T @ body.retracted.matrix @ jacobian
    mass[exposed, exposed] += total_mass
    _couple(mass, slice(exposed, exposed + 1), jacobian[3][:, None] * total_mass)
    mass[exposed, part.modes] += body.integrals.shape[0]
    mass[part.modes, exposed] += body.integrals.shape[0]


def _couple(mass: Array, indices: slice, columns: Array) -> None:
    """Add columns (n, k) to a symmetric matrix, and their transposes as rows, in place."""
    mass[:, indices] += columns
    mass[indices] += columns.T


def _rotate(rotation: Array, jacobian: Array) -> Array:
    """Return a Jacobian (6, n), angular over linear, in the axes of the rotated frame."""
    return np.concatenate([rotation.T @ jacobian[:3], rotation.T @ jacobian[3:]])


def _shift(jacobian: Array, p: Array) -> Array:
    """Return the Jacobian (6, n) of the point at p, shape (3,), from the Jacobian of the origin."""
    return np.concatenate(
        [jacobian[:3], jacobian[3:] - np.tensordot(p, CROSS, axes=1) @ jacobian[:3]]
    )
