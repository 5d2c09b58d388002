"""Mass and stiffness of an arm's small motions about a posture, in numbers: links are straight.

Of a model that holds many designs, N of them, matrices are (N, n, n) and postures (N, n).
"""

import math

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.body_data import StraightBody
from flexarm.links.holds import relaxed_stiffness
from flexarm.links.integrals import Integrals
from flexarm.model.parts import LinkModel, Model, Rotor
from flexarm.spatial import CROSS, Inertia
from flexarm.varied import by_designs


def mass_matrix(model: Model, q: Array) -> Array:
    """Compute the mass matrix of an arm with straight links at a posture q (n,), (n, n).

    The six coordinates of a base that moves are its spin and velocity, in its own axes.
    """
    designs = q.shape[:-1]
    mass, moved = np.zeros((*designs, model.size, model.size)), np.zeros((*designs, 6, model.size))
    if model.base_moves:
        moved[..., :6] = np.eye(6)
        mass += _energy(_body(model.base_body, designs), moved)
    for index, part in enumerate(model.links):
        if part.rotor is not None:
            mass += _rotor(part.rotor, moved)
        root = moved = _carried(part, q, moved)
        mass += _energy(_body(part.root_body, designs), moved)
        moved = _add_body(part, q, moved, mass)
        mass += _energy(_body(part.tip_body, designs), moved)
        if model.carries(index):
            moved = _at_station(part, model.links[index + 1], q, root)
    return mass


def stiffness_matrix(model: Model, q: Array) -> Array:
    """Compute the elastic stiffness of links and relaxed springs at a posture q (n,), (n, n)."""
    designs = q.shape[:-1]
    stiffness = np.zeros((*designs, model.size, model.size))
    for part in model.links:
        integrals = part.body.straight(part.span_length(q)).integrals
        stiffness[..., part.modes, part.modes] = by_designs(integrals.stiffness, designs)
        for axis in part.axes:
            if axis.acts.spring is not None:
                spring = relaxed_stiffness(axis.acts.spring.stiffness)
                stiffness[..., axis.index, axis.index] += by_designs(spring, designs)
            if axis.motor is not None and axis.acts.drive is not None:
                wound = np.zeros(model.size)
                wound[[axis.index, axis.motor]] = 1.0, -1.0
                winding = by_designs(relaxed_stiffness(axis.acts.drive.stiffness), designs)
                stiffness += winding[..., None, None] * np.outer(wound, wound)
    return stiffness


def _carried(part: LinkModel, q: Array, moved: Array) -> Array:
    """Take motions (6, n) of the previous tip over to a link's root, its joint's among them."""
    designs, joints = q.shape[:-1], list(part.carried_by)
    own = q[..., joints].reshape(math.prod(designs), len(joints))
    if len(own) > 1 and np.all(own == own[0]):
        own = own[:1]  # the same in all designs
    placed = [(*part.motion.place(ca.DM(row)), part.motion.columns(ca.DM(row))) for row in own]
    rotation, place, columns = (
        np.array([np.array(ca.DM(each[k])) for each in placed]) for k in range(3)
    )
    if not designs:
        rotation, place, columns = rotation[0], place[0], columns[0]
    before, after = part.pose_FJ, part.pose_JL
    moved = _shift(moved, by_designs(before.position, designs))
    moved = _rotate(by_designs(before.rotation, designs), moved)
    moved = _rotate(rotation, _shift(moved, place[..., 0]))
    if joints:
        moved[..., joints] += columns
    moved = _shift(moved, by_designs(after.position, designs))
    return _rotate(by_designs(after.rotation, designs), moved)


def _add_body(part: LinkModel, q: Array, moved: Array, mass: Array) -> Array:
    """Add a link's span to the mass matrix; return the motion of its tip (6, n)."""
    designs, own = q.shape[:-1], part.modes
    body = part.body.straight(part.span_length(q))
    _add_span(body.integrals, own, moved, mass)
    if body.retracted is not None:
        _slide(part, body, moved, mass)
    moved = _shift(moved, body.tip)
    moved[..., :3, own] += by_designs(body.tip_angle, designs)
    moved[..., 3:, own] += by_designs(body.tip_shape, designs)
    if body.retracted is not None:
        moved[3, part.exposed] += 1.0
    return moved


def _at_station(rail: LinkModel, part: LinkModel, q: Array, moved: Array) -> Array:
    """Take motions (6, n) of a rail's root over to the station of the link that rides on it."""
    assert part.rail is not None
    designs = q.shape[:-1]
    x = q[..., part.exposed] - by_designs(part.rail.root, designs)
    moved = _shift(moved, np.stack([x, 0 * x, 0 * x], axis=-1))
    bent = rail.beam.shapes.motion(np.atleast_1d(x))
    moved[..., rail.modes] += bent if designs else bent[0]
    moved[..., 3, part.exposed] += 1.0
    return moved


def _add_span(integrals: Integrals, own: slice, moved: Array, mass: Array) -> None:
    designs = mass.shape[:-2]
    mass += _energy(_span(integrals, designs), moved)
    mass[..., own, own] += by_designs(integrals.modal_mass, designs)
    _couple(mass, own, moved.swapaxes(-1, -2) @ _momentum(integrals, designs))


def _slide(part: LinkModel, body: StraightBody, moved: Array, mass: Array) -> None:
    """Add the inertia of the retracted part and the axial rigid-body motion."""
    assert body.retracted is not None
    along, whole = part.exposed, body.retracted.mass + body.integrals.mass
    mass += _energy(_body(body.retracted, ()), moved)
    mass[along, along] += whole
    _couple(mass, slice(along, along + 1), moved[3][:, None] * whole)
    mass[along, part.modes] += body.integrals.shape[0]
    mass[part.modes, along] += body.integrals.shape[0]


def _couple(mass: Array, own: slice, column: Array) -> None:
    """Add columns (n, k) of a symmetric matrix, and their rows."""
    mass[..., own] += column
    mass[..., own, :] += column.swapaxes(-1, -2)


def _energy(inertia: Array, moved: Array) -> Array:
    """Weigh motions (6, n) of a body with a matrix (6, 6), (n, n)."""
    return np.asarray(moved.swapaxes(-1, -2) @ inertia @ moved)


def _rotor(rotor: Rotor, moved: Array) -> Array:
    """Weigh a rotor on a tip that moves, (n, n)."""
    designs = moved.shape[:-2]
    spin = np.zeros((*designs, moved.shape[-1]))
    if rotor.axis is not None:
        spin = (by_designs(rotor.axis, designs)[..., None, :] @ moved[..., :3, :])[..., 0, :]
    spin[..., rotor.coordinate] += by_designs(rotor.ratio, designs)
    inertia = by_designs(rotor.inertia, designs)[..., None, None]
    return np.asarray(inertia * spin[..., :, None] * spin[..., None, :])


def _body(body: Inertia, designs: tuple[int, ...]) -> Array:
    """Matrix (6, 6) of a rigid body, angular over linear."""
    mass, first, second = (
        by_designs(each, designs) for each in (body.mass, body.first, body.second)
    )
    return _blocks(mass, first, second)


def _blocks(mass: Array, first: Array, second: Array) -> Array:
    cross = np.tensordot(first, CROSS, axes=1)
    weight = mass[..., None, None] * np.eye(3)
    return np.block([[second, cross], [cross.swapaxes(-1, -2), weight]])


def _span(span: Integrals, designs: tuple[int, ...]) -> Array:
    mass, first, second, rotary = (
        by_designs(each, designs) for each in (span.mass, span.first, span.second, span.rotary)
    )
    trace = np.trace(second, axis1=-2, axis2=-1)[..., None, None]
    return _blocks(mass, first, trace * np.eye(3) - second + rotary)


def _momentum(span: Integrals, designs: tuple[int, ...]) -> Array:
    """Angular over linear momentum of a span per rate of its amplitudes, about its root, (6, m)."""
    product, rotary, shape = (
        by_designs(each, designs) for each in (span.position_shape, span.rotary_shape, span.shape)
    )
    moments = product - product.swapaxes(-1, -2)
    turning = np.stack([moments[..., 1, 2], moments[..., 2, 0], moments[..., 0, 1]], axis=-2)
    return np.concatenate([turning + rotary, shape], axis=-2)


def _rotate(rotation: Array, moved: Array) -> Array:
    """Give motions (6, n) in the axes that a rotation leads from."""
    back = rotation.swapaxes(-1, -2)
    return np.concatenate([back @ moved[..., :3, :], back @ moved[..., 3:, :]], axis=-2)


def _shift(moved: Array, p: Array) -> Array:
    """Take motions (6, n) of the origin over to a point p."""
    turned = moved[..., :3, :]
    return np.concatenate([turned, moved[..., 3:, :] - np.tensordot(p, CROSS, axes=1) @ turned], -2)
