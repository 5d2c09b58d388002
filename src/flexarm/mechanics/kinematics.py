"""Frames, points and Jacobians of the deformed arm as CasADi expressions.

Every coordinate has a column of kinematic influence coefficients (Graves 1989, eqs 8-12): a joint
moves everything outboard about or along its axis; an amplitude moves the sections of its own link
and everything beyond the link's tip.

Frames: W world, F previous flexible tip (or base), J joint (its axis is z), L link root, T flexible
tip.
"""

from dataclasses import dataclass
from typing import Literal

import casadi as ca

from flexarm.engine.once import once
from flexarm.errors import FlexarmError
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.riding import joint_columns, mount
from flexarm.mechanics.sections import Local, beyond, picked
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Pose, base_rotation, constant


@dataclass(frozen=True)
class LinkFrames:
    """Frames of a link in world axes: J, K (J moved by the joint), root L and flexible tip T.

    ``mount`` is the section that carries the next link: the tip, or the station on a rail.
    """

    R_WJ: Expr
    p_WJ: Expr
    R_WK: Expr
    p_WK: Expr
    R_WL: Expr
    p_WL: Expr
    R_WT: Expr
    p_WT: Expr
    tip: Local
    mount: Local


def frames(model: Model, q: Expr) -> tuple[LinkFrames, ...]:
    """Return the frames of all links in world axes at coordinates q."""
    return once(model, "frames", (q,), lambda: _frames(model, q))


def _frames(model: Model, q: Expr) -> tuple[LinkFrames, ...]:
    rotation, position = base_frame(model, q)
    result = []
    for index, part in enumerate(model.links):
        R_WJ, p_WJ = _place(rotation, position, part.pose_FJ)
        R_JK, p_JK = part.motion.place(picked(q, part.carried_by))
        R_WK, p_WK = R_WJ @ R_JK, p_WJ + R_WJ @ p_JK
        R_WL, p_WL = _place(R_WK, p_WK, part.pose_JL)
        tip = tip_section(model, part, q)
        R_WT, p_WT = R_WL @ tip.rotation, p_WL + R_WL @ tip.position
        rotation, position, on = R_WT, p_WT, tip
        if model.carries(index):
            on = mount(model, index, q)
            rotation, position = R_WL @ on.rotation, p_WL + R_WL @ on.position
        result.append(LinkFrames(R_WJ, p_WJ, R_WK, p_WK, R_WL, p_WL, R_WT, p_WT, tip, on))
    return tuple(result)


def base_frame(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Return rotation (3, 3) and position (3,) of the base in the world."""
    rotation, position = model.base_reference, constant(model.base_pose.position)
    if model.base_moves:
        rotation, position = rotation @ base_rotation(q[3:6]), position + q[0:3]
    return rotation, position


def end_frame(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Return rotation (3, 3) and position (3,) of the arm's tip in the world."""
    last = frames(model, q)[-1]
    return _place(last.R_WT, last.p_WT, model.end_pose)


def tip_section(model: Model, part: LinkModel, q: Expr) -> Local:
    """Return the pose of a link's flexible tip in its root frame."""
    return body_of(model, part).tip(q)


def section(model: Model, part: LinkModel, q: Expr, x: float | Literal["tip"]) -> Local:
    """Return the pose of a section at x [m] along the undeformed axis, in its link's root frame.

    "tip" is the end of the link.  Sections with x < 0 are on the rigid root piece, those beyond the
    span on the tip piece.  For a sliding link x counts from the inner end of the whole beam; q must
    be numeric where x is within the span, and the section must be outside the hub.
    """
    body = body_of(model, part)
    if x == "tip":
        return beyond(body.tip(q), part.link.tip_length)
    if x >= part.length:
        return beyond(body.tip(q), x - part.length)
    return body.section(q, x)


def jacobian(
    model: Model,
    q: Expr,
    link: int,
    x: float | Literal["tip"] | None = None,
    *,
    at_end: bool = False,
) -> tuple[Expr, Expr]:
    """Compute the Jacobian of a section of a link, in world axes.

    Parameters
    ----------
    model, q
        Model of the arm and its coordinates.
    link
        Index of the link, from 0.
    x
        Distance of the section from the link's root [m]; None is the flexible tip, "tip" the end
        of the link.
    at_end
        Whether to use the arm's tip frame, beyond the last link's flexible tip.

    Returns
    -------
    linear, angular
        Velocity of the section's axis point and angular velocity per rate of each coordinate, (3,
        n) each.
    """
    if at_end and link != len(model.links) - 1:
        raise FlexarmError(
            "the tip of the arm is not a point of this link, but of the last link. Use that link."
        )
    if model.tip_rotation == "first-order":
        raise FlexarmError(
            "sections have no angular velocity with first-order tip rotation. Build the model "
            "with tip_rotation='cayley'."
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
        columns = joint_columns(model, i, q)
        for k, column in enumerate(part.carried_by):
            spin = frame.R_WK @ columns[:3, k]
            angular[:, column] = spin
            linear[:, column] = frame.R_WK @ columns[3:, k] + ca.cross(spin, point - frame.p_WK)
        moved = local if i == link else frame.mount
        centre = frame.p_WL + frame.R_WL @ moved.position
        for k, column in enumerate(part.own):
            spin = frame.R_WL @ moved.angular[:, k]
            angular[:, column] = spin
            linear[:, column] = frame.R_WL @ moved.linear[:, k] + ca.cross(spin, point - centre)
    return linear, angular


def end_jacobian(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Compute the Jacobian of the arm's tip in world axes: linear and angular, (3, n) each."""
    return jacobian(model, q, len(model.links) - 1, at_end=True)


def base_jacobian(model: Model, q: Expr, point: Expr) -> tuple[Expr, Expr]:
    """Compute the Jacobian, linear and angular, (3, n) each, of a world point fixed to the base."""
    linear, angular = type(point).zeros(3, model.size), type(point).zeros(3, model.size)
    if not model.base_moves:
        return linear, angular
    linear[:, 0:3] = type(point).eye(3)
    _, position = base_frame(model, q)
    reference = model.base_reference
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
    return (rotation @ constant(pose.rotation), position + rotation @ constant(pose.position))
