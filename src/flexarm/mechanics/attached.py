"""Position, velocity and Jacobian of points attached to sections of links."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.mechanics.kinematics import (
    LinkFrames,
    base_frame,
    base_jacobian,
    end_jacobian,
    jacobian,
    section,
)
from flexarm.model import ArmPoint, Model
from flexarm.spatial import Expr, constant


@dataclass(frozen=True)
class Attached:
    """Point attached to a link, the base or the world, with its Jacobian in world axes."""

    # position, rotation: position of the point (3,) and attitude of its carrier (3, 3).
    position: Expr
    rotation: Expr
    # Vector from the section's axis, where the Jacobian is taken, to the point; None if zero.
    lever: Expr | None
    # linear, angular: Jacobian of the axis point and of the section's rotation, (3, n) each.
    linear: Expr
    angular: Expr

    def velocity(self, v: Expr) -> tuple[Expr, Expr]:
        """Compute velocity [m/s] and angular velocity [rad/s] at rates v, (3,) each."""
        speed, spin = self.linear @ v, self.angular @ v
        return (speed if self.lever is None else speed + ca.cross(spin, self.lever)), spin

    def effort(self, force: Expr, torque: Expr) -> Expr:
        """Compute the generalised force (n,) of a force [N] at the point and a torque [N m]."""
        if self.lever is not None:
            torque = torque + ca.cross(self.lever, force)
        return self.linear.T @ force + self.angular.T @ torque


def place(
    model: Model, q: Expr, placed: tuple[LinkFrames, ...], point: ArmPoint
) -> tuple[Expr, Expr, Expr | None]:
    """Return the position and attitude of a point of an arm in world axes.

    Returns
    -------
    rotation, position, lever
        Attitude of the link section (3, 3), position of the point (3,) [m], and the vector from the
        section's axis to the point (3,), None if the point is on the axis.
    """
    lever = None
    if point.link == -2:
        return type(q).eye(3), type(q)(constant(np.array(point.offset))), lever
    if point.link == -1:
        turned, position = base_frame(model, q)
        return turned, position + turned @ constant(np.array(point.offset)), lever
    frame, part = placed[point.link], model.links[point.link]
    if point.x == "end":
        turned = frame.R_WT @ constant(model.end_pose.rotation)
        position = frame.p_WT + frame.R_WT @ constant(model.end_pose.position)
    else:
        local = section(model, part, q, point.x)
        position, turned = frame.p_WL + frame.R_WL @ local.position, frame.R_WL @ local.rotation
    if any(point.offset):
        lever = turned @ constant(np.array(point.offset))
        position = position + lever
    return turned, position, lever


def attach(model: Model, q: Expr, placed: tuple[LinkFrames, ...], point: ArmPoint) -> Attached:
    """Compute position, attitude and Jacobian of a point in world axes."""
    turned, position, lever = place(model, q, placed, point)
    if point.link == -2:
        none = type(q)(3, model.size)
        return Attached(position, turned, None, none, none)
    if point.link == -1:
        linear, angular = base_jacobian(model, q, position)
    elif point.x == "end":
        linear, angular = end_jacobian(model, q)
    else:
        linear, angular = jacobian(model, q, point.link, point.x)
    return Attached(position, turned, lever, linear, angular)
