"""Frames, points and Jacobians of the deformed arm, in CasADi's vocabulary.

Every coordinate is a motion column, the kinematic influence coefficients of Graves 1989 (eqs 8-12):
a joint moves all that is outboard of it about or along its axis, an amplitude moves the sections of
its own link and carries what is beyond its tip.

Frames: W world, F previous flexible tip (or base), J joint (its axis is z), L link root,
T flexible tip.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.errors import FlexarmError
from flexarm.links.base import Array
from flexarm.links.growing.fields import SlidingMotion, evaluate
from flexarm.links.integrals import quadratic_displacement
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Pose, base_rotation, cayley, constant


@dataclass(frozen=True)
class Local:
    """A section of a link seen from its root frame L.

    Attributes
    ----------
    position, rotation
        Place (3,) and rotation (3, 3) of the section, in L.
    linear, angular
        Velocity and angular velocity per rate of each of the link's own coordinates, (3, k), in L;
        of a sliding link the exposed length comes first.
    """

    position: Expr
    rotation: Expr
    linear: Expr
    angular: Expr


@dataclass(frozen=True)
class LinkFrames:
    """Frames of a link in the world: joint before it moves and after, root and flexible tip."""

    R_WJ: Expr
    p_WJ: Expr
    R_WK: Expr
    p_WK: Expr
    R_WL: Expr
    p_WL: Expr
    R_WT: Expr
    p_WT: Expr
    tip: Local


def frames(model: Model, q: Expr) -> tuple[LinkFrames, ...]:
    """Place the frames of all links at coordinates q in the world."""
    rotation, position = base_frame(model, q)
    result = []
    for part in model.links:
        R_WJ, p_WJ = _place(rotation, position, part.pose_FJ)
        R_JK, p_JK = part.motion.place(picked(q, part.carried_by))
        R_WK, p_WK = R_WJ @ R_JK, p_WJ + R_WJ @ p_JK
        R_WL, p_WL = _place(R_WK, p_WK, part.pose_JL)
        tip = tip_section(model, part, q)
        R_WT, p_WT = R_WL @ tip.rotation, p_WL + R_WL @ tip.position
        result.append(LinkFrames(R_WJ, p_WJ, R_WK, p_WK, R_WL, p_WL, R_WT, p_WT, tip))
        rotation, position = R_WT, p_WT
    return tuple(result)


def base_frame(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Place the base in the world: rotation and position."""
    rotation, position = model.base_anchor, constant(model.base_pose.position)
    if model.base_moves:
        rotation, position = rotation @ base_rotation(q[3:6]), position + q[0:3]
    return rotation, position


def end_frame(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Place the arm's tip in the world: rotation and position."""
    last = frames(model, q)[-1]
    return _place(last.R_WT, last.p_WT, model.end_pose)


def tip_section(model: Model, part: LinkModel, q: Expr) -> Local:
    """See the flexible tip of a link from its root."""
    d = q[part.modes.start : part.modes.stop]
    if part.sliding is not None:
        return _sliding_at(model, part, q, 1.0)
    if part.elastic is None:
        return _rigid_section(q, part.length, 0)
    e = part.elastic
    straight = np.array([part.length, 0.0, 0.0])
    position, linear = _quadratic(d, e.tip_shape, e.tip_quadratic)
    angle, angle_columns = _quadratic(d, e.tip_angle, e.tip_angle_quadratic)
    return _turned(model, constant(straight) + position, linear, angle, angle_columns)


def section(model: Model, part: LinkModel, q: Expr, x: float) -> Local:
    """See a section of a link, at x [m] from L along the undeformed axis, from its root.

    Below 0 it is on the rigid root piece, beyond the span on the tip piece.  For a sliding link x
    counts from the inner end of the whole beam; numbers are needed where it is along the span, and
    it must be a section that the hub has let out.
    """
    d = q[part.modes.start : part.modes.stop]
    if x >= part.length:
        return _beyond(tip_section(model, part, q), x - part.length)
    if part.sliding is not None:
        return _material_section(model, part, q, x)
    if part.elastic is None or x < 0:
        return _rigid_section(q, x, len(part.own))
    e = part.elastic
    where = np.array([x])
    edges = np.union1d(e.span.edges, e.shapes.edges)
    extra = part.link.quadratic_shapes
    quadratic = quadratic_displacement(
        e.shapes, where, edges, stiffening=model.stiffening, extra=extra
    )[0]
    slopes = quadratic_displacement(
        e.shapes, where, edges, stiffening=False, extra=extra, derivative=1
    )[0]
    position, linear = _quadratic(d, e.shapes.displacement(where)[0], quadratic)
    turned = np.stack([0 * slopes[0], -slopes[2], slopes[1]])
    angle, angle_columns = _quadratic(d, e.shapes.rotation(where)[0], turned)
    straight = constant(np.array([x, 0.0, 0.0]))
    return _turned(model, straight + position, linear, angle, angle_columns)


def span_section(model: Model, part: LinkModel, q: Expr, fraction: float) -> Local:
    """See a section of a link, at a fraction of its (exposed) span, from its root."""
    if part.sliding is not None:
        return _sliding_at(model, part, q, fraction)
    return section(model, part, q, fraction * part.length)


def jacobian(
    model: Model, q: Expr, link: int, x: float | None = None, *, at_end: bool = False
) -> tuple[Expr, Expr]:
    """Form the Jacobian of a section of a link, its kinematic influence coefficients.

    Parameters
    ----------
    model, q
        The arm and its coordinates.
    link
        Index of the link, from 0.
    x
        Distance of the section from the link's root [m]; None is the flexible tip.
    at_end
        Take the arm's tip frame, beyond the last link's flexible tip.

    Returns
    -------
    linear, angular
        World velocity of the section's axis point and angular velocity per rate of each
        coordinate, (3, n) each.
    """
    if at_end and link != len(model.links) - 1:
        raise FlexarmError("the arm's tip is beyond its last link: ask for that link")
    if model.tip_rotation == "first-order":
        raise FlexarmError(
            "first-order tip rotation is no rotation: sections have no angular velocity; "
            "build the model with tip_rotation='cayley'"
        )
    placed = frames(model, q)
    here = placed[link]
    local = here.tip if x is None else section(model, model.links[link], q, x)
    point = here.p_WL + here.R_WL @ local.position
    if at_end:
        point = placed[-1].p_WT + placed[-1].R_WT @ constant(model.end_pose.position)
    linear, angular = base_jacobian(model, q, point)
    for i in range(link + 1):
        part, frame = model.links[i], placed[i]
        columns = part.motion.columns(picked(q, part.carried_by))
        for k, column in enumerate(part.carried_by):
            spin = frame.R_WK @ columns[:3, k]
            angular[:, column] = spin
            linear[:, column] = frame.R_WK @ columns[3:, k] + ca.cross(spin, point - frame.p_WK)
        moved = local if i == link else frame.tip
        centre = frame.p_WL + frame.R_WL @ moved.position
        for k, column in enumerate(part.own):
            spin = frame.R_WL @ moved.angular[:, k]
            angular[:, column] = spin
            linear[:, column] = frame.R_WL @ moved.linear[:, k] + ca.cross(spin, point - centre)
    return linear, angular


def end_jacobian(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Form the Jacobian of the arm's tip: linear and angular, (3, n) each, in world axes."""
    return jacobian(model, q, len(model.links) - 1, at_end=True)


def sliding_place(
    model: Model, motion: SlidingMotion, xi: float
) -> tuple[Local, Expr, tuple[Expr, Expr], Expr]:
    """See the material section of a sliding link that is now at x = xi l from its root.

    Returns
    -------
    local, bias, angle, angle_bias
        The section; the acceleration that it gets from velocities alone (3,); its first-order
        angles (3,) with their columns (3, k); and their acceleration likewise (3,).
    """
    place = (np.array([xi]), np.ones(1))
    position, columns, bias = evaluate(motion.displacement(), motion.displacement_basis(*place))
    angle, angle_columns, angle_bias = evaluate(motion.rotation(), motion.rotation_basis(*place))
    local = _turned(model, position, columns, angle, angle_columns)
    return local, bias, (angle, angle_columns), angle_bias


def own_values(part: LinkModel, q: Expr) -> Expr:
    """Pick a link's own coordinates out of q, (k,)."""
    return picked(q, part.own)


def picked(q: Expr, indices: tuple[int, ...]) -> Expr:
    """Pick some coordinates out of q, (k,)."""
    return ca.vertcat(*[q[i] for i in indices]) if indices else type(q).zeros(0, 1)


def _material_section(model: Model, part: LinkModel, q: Expr, x: float) -> Local:
    """Section of a sliding link at material distance x from the inner end; numbers only."""
    assert part.sliding is not None
    if not isinstance(q, ca.DM):
        raise FlexarmError("a material section of a sliding link needs numbers, not symbols")
    exposed = float(q[part.exposed])
    beyond = x - (part.length - exposed)
    if beyond < 0:
        raise FlexarmError(
            f"{part.name}: the section at {x:g} m is inside the hub, "
            f"which has let out {exposed:g} m of {part.length:g} m"
        )
    return _sliding_at(model, part, q, beyond / exposed)


def _sliding_at(model: Model, part: LinkModel, q: Expr, xi: float) -> Local:
    assert part.sliding is not None
    own = own_values(part, q)
    motion = SlidingMotion(part.sliding, own, 0 * own, stiffening=model.stiffening)
    return sliding_place(model, motion, xi)[0]


def _rigid_section(q: Expr, x: float, k: int) -> Local:
    """See a point that is fixed in L; the k own coordinates do not move it."""
    none = type(q)(3, k)
    return Local(type(q)(constant(np.array([x, 0.0, 0.0]))), type(q).eye(3), none, none)


def _beyond(tip: Local, along: float) -> Local:
    """See a point of the rigid tip piece, some way beyond the flexible tip."""
    arm = tip.rotation @ constant(np.array([along, 0.0, 0.0]))
    linear = tip.linear - ca.skew(arm) @ tip.angular
    return Local(tip.position + arm, tip.rotation, linear, tip.angular)


def _quadratic(d: Expr, linear: Array, quadratic: Array) -> tuple[Expr, Expr]:
    """Value and columns of ``linear d + 1/2 d^T quadratic d``."""
    columns = type(d)(constant(linear))
    value = constant(linear) @ d
    for k in range(3):
        if np.any(quadratic[k]):
            bent = constant(quadratic[k]) @ d
            value[k] += ca.dot(d, bent) / 2
            columns[k, :] += bent.T
    return value, columns


def _turned(model: Model, position: Expr, linear: Expr, angle: Expr, angle_columns: Expr) -> Local:
    """Section with its rotation, exact or first-order, from its first-order angles.

    With stiffening the section's x axis is tangent to the deformed axis: its Cayley vector is
    ``theta (1 + (theta_y^2 + theta_z^2)/4)``.
    """
    rotation, rate = section_rotation(model, angle)
    return Local(position, rotation, linear, rate @ angle_columns)


def section_rotation(model: Model, angle: Expr) -> tuple[Expr, Expr]:
    """Turn a section by its first-order angles: rotation, and spin per rate of the angles."""
    if model.tip_rotation == "first-order":
        return type(angle).eye(3) + ca.skew(angle), type(angle).eye(3)
    vector, growth = angle, type(angle).eye(3)
    if model.stiffening:
        scale = 1 + (angle[1] ** 2 + angle[2] ** 2) / 4
        vector = angle * scale
        growth = type(angle).eye(3) * scale + angle @ ca.horzcat(0, angle[1], angle[2]) / 2
    rotation, rate = cayley(vector)
    return rotation, rate @ growth


def base_jacobian(model: Model, q: Expr, point: Expr) -> tuple[Expr, Expr]:
    """Form the Jacobian of a world point that moves with the base, (3, n) each."""
    linear, angular = type(point).zeros(3, model.size), type(point).zeros(3, model.size)
    if not model.base_moves:
        return linear, angular
    linear[:, 0:3] = type(point).eye(3)
    _, position = base_frame(model, q)
    reference = model.base_anchor
    axes = [
        reference[:, 0],
        (reference @ base_rotation(ca.vertcat(q[3], 0, 0)))[:, 1],
        (reference @ base_rotation(ca.vertcat(q[3], q[4], 0)))[:, 2],
    ]
    for k, axis in enumerate(axes):
        angular[:, 3 + k] = axis
        linear[:, 3 + k] = ca.cross(axis, point - position)
    return linear, angular


def _place(rotation: Expr, position: Expr, pose: Pose) -> tuple[Expr, Expr]:
    return (
        rotation @ constant(pose.rotation),
        position + rotation @ constant(pose.position),
    )
