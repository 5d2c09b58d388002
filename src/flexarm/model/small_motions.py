"""Mass and stiffness of an arm's small motions about a posture, in numbers: links are straight."""

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.holds import relaxed_stiffness
from flexarm.links.integrals import Integrals, integrate
from flexarm.links.reduced.body import ReducedBody
from flexarm.links.span import Span
from flexarm.model.parts import LinkModel, Model, Rotor
from flexarm.spatial import Inertia, skew_matrix


def mass_matrix(model: Model, q: Array) -> Array:
    """Weigh an arm with straight links at a posture q (n,), (n, n).

    The six coordinates of a base that moves are its spin and velocity, in its own axes.
    """
    mass, moved = np.zeros((model.size, model.size)), np.zeros((6, model.size))
    if model.base_moves:
        moved[:, :6] = np.eye(6)
        mass += moved.T @ _body(model.base_body) @ moved
    for index, part in enumerate(model.links):
        if part.rotor is not None:
            mass += _rotor(part.rotor, moved)
        root = moved = _carried(part, q, moved)
        mass += moved.T @ _body(part.root_body) @ moved
        moved = _weigh_span(part, q, moved, mass)
        mass += moved.T @ _body(part.tip_body) @ moved
        if model.carries(index):
            moved = _at_station(part, model.links[index + 1], q, root)
    return mass


def stiffness_matrix(model: Model, q: Array) -> Array:
    """Give the elastic stiffness of links and relaxed springs at a posture q (n,), (n, n)."""
    stiffness = np.zeros((model.size, model.size))
    for part in model.links:
        if part.elastic is not None:
            stiffness[part.modes, part.modes] = part.elastic.integrals.stiffness
        elif part.reduced is not None:
            stiffness[part.modes, part.modes] = part.reduced.integrals.stiffness
        elif part.sliding is not None:
            stiffness[part.modes, part.modes] = part.sliding.at(float(q[part.exposed])).stiffness
        for axis in part.axes:
            if axis.acts.spring is not None:
                spring = relaxed_stiffness(axis.acts.spring.stiffness)
                stiffness[axis.index, axis.index] += spring
            if axis.motor is not None and axis.acts.drive is not None:
                wound = np.zeros(model.size)
                wound[[axis.index, axis.motor]] = 1.0, -1.0
                stiffness += relaxed_stiffness(axis.acts.drive.stiffness) * np.outer(wound, wound)
    return stiffness


def _carried(part: LinkModel, q: Array, moved: Array) -> Array:
    """Take motions (6, n) of the previous tip over to a link's root, its joint's among them."""
    own = ca.DM(q[list(part.carried_by)])
    rotation, place = (np.array(ca.DM(each)) for each in part.motion.place(own))
    moved = _rotate(part.pose_FJ.rotation, _shift(moved, part.pose_FJ.position))
    moved = _rotate(rotation, _shift(moved, place.ravel()))
    if part.carried_by:
        moved[:, list(part.carried_by)] += np.array(ca.DM(part.motion.columns(own)))
    return _rotate(part.pose_JL.rotation, _shift(moved, part.pose_JL.position))


def _weigh_span(part: LinkModel, q: Array, moved: Array, mass: Array) -> Array:
    """Add a link's span to the mass matrix; gives the motion of its tip (6, n)."""
    if not part.flexible:
        return _shift(moved, np.array([part.length, 0.0, 0.0]))
    length = float(q[part.exposed]) if part.motion.grows else part.length
    if part.reduced is not None:
        return _weigh_body(part.reduced, part.modes, moved, mass)
    if part.elastic is not None:
        shapes, integrals = part.elastic.shapes, part.elastic.integrals
    else:
        assert part.sliding is not None and part.link.section is not None
        shapes = part.sliding.at(length)
        integrals, _ = integrate(Span.of(part.link.section, length), shapes, stiffening=False)
    own = part.modes
    _add_span(integrals, own, moved, mass)
    if part.motion.grows:
        _slide(part, length, integrals, moved, mass)
    tip, moved = np.array([length]), _shift(moved, np.array([length, 0.0, 0.0]))
    moved[:3, own] += shapes.rotation(tip)[0]
    moved[3:, own] += shapes.displacement(tip)[0]
    if part.motion.grows:
        moved[3, part.exposed] += 1.0
    return moved


def _at_station(rail: LinkModel, part: LinkModel, q: Array, moved: Array) -> Array:
    """Take motions (6, n) of a rail's root over to the station of the link that rides on it."""
    assert rail.elastic is not None and part.rail is not None
    x = np.array([float(q[part.exposed]) - part.rail.root])
    moved = _shift(moved, np.array([x[0], 0.0, 0.0]))
    moved[:3, rail.modes] += rail.elastic.shapes.rotation(x)[0]
    moved[3:, rail.modes] += rail.elastic.shapes.displacement(x)[0]
    moved[3, part.exposed] += 1.0
    return moved


def _weigh_body(body: ReducedBody, own: slice, moved: Array, mass: Array) -> Array:
    """Add a body of any shape to the mass matrix; gives the motion of its tip (6, n)."""
    _add_span(body.integrals, own, moved, mass)
    moved = _shift(moved, body.tip.position)
    moved[:3, own] += body.tip_angle
    moved[3:, own] += body.tip_shape
    return moved


def _add_span(integrals: Integrals, own: slice, moved: Array, mass: Array) -> None:
    mass += moved.T @ _span(integrals) @ moved
    mass[own, own] += integrals.modal_mass
    _couple(mass, own, moved.T @ _momentum(integrals))


def _slide(part: LinkModel, length: float, span: Integrals, moved: Array, mass: Array) -> None:
    """Add what of a beam is in its hub, and the motion of the whole beam along itself."""
    assert part.sliding is not None
    mu, inside, along = part.sliding.mass_per_length, part.length - length, part.exposed
    turned = np.diag(part.sliding.rotary) * inside
    turned += mu * inside**3 / 3 * np.diag([0.0, 1.0, 1.0])
    first = np.array([-mu * inside**2 / 2, 0.0, 0.0])
    mass += moved.T @ _body(Inertia(mu * inside, first, turned)) @ moved
    mass[along, along] += mu * part.length
    _couple(mass, slice(along, along + 1), moved[3][:, None] * mu * part.length)
    mass[along, part.modes] += span.shape[0]
    mass[part.modes, along] += span.shape[0]


def _couple(mass: Array, own: slice, column: Array) -> None:
    """Add columns (n, k) of a symmetric matrix, and their rows."""
    mass[:, own] += column
    mass[own, :] += column.T


def _rotor(rotor: Rotor, moved: Array) -> Array:
    """Weigh a rotor on a tip that moves, (n, n)."""
    spin = np.zeros(moved.shape[1]) if rotor.axis is None else rotor.axis @ moved[:3]
    spin[rotor.coordinate] += rotor.ratio
    return np.asarray(rotor.inertia * np.outer(spin, spin))


def _body(body: Inertia) -> Array:
    """Matrix (6, 6) of a rigid body, angular over linear."""
    cross = skew_matrix(body.first)
    return np.block([[body.second, cross], [cross.T, body.mass * np.eye(3)]])


def _span(span: Integrals) -> Array:
    second = np.trace(span.second) * np.eye(3) - span.second + span.rotary
    return _body(Inertia(span.mass, span.first, second))


def _momentum(span: Integrals) -> Array:
    """Angular over linear momentum of a span per rate of its amplitudes, about its root, (6, m)."""
    moments = span.position_shape - span.position_shape.transpose(0, 2, 1)
    turning = np.stack([moments[:, 1, 2], moments[:, 2, 0], moments[:, 0, 1]])
    return np.vstack([turning + span.rotary_shape, span.shape])


def _rotate(rotation: Array, moved: Array) -> Array:
    """Give motions (6, n) in the axes that a rotation leads from."""
    return np.vstack([rotation.T @ moved[:3], rotation.T @ moved[3:]])


def _shift(moved: Array, p: Array) -> Array:
    """Take motions (6, n) of the origin over to a point p."""
    return np.vstack([moved[:3], moved[3:] - skew_matrix(p) @ moved[:3]])
