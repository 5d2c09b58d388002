"""Frames along an arm, from the base to the tip, with their Jacobians."""

from dataclasses import dataclass

import casadi as ca

from flexarm.mechanics.kinematics import base_frame, base_jacobian
from flexarm.mechanics.sections import Local, picked, selection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Pose, constant


@dataclass(frozen=True)
class MovingFrame:
    """Frame along the arm in the world: axes A, origin r, and Jacobians J_T, J_R, (3, n) each.

    J_T is the Jacobian of the origin's velocity and J_R that of the angular velocity, in world
    axes. Equation numbers refer to the paper by Chu et al. (see `element_jacobian`).
    """

    A: Expr
    r: Expr
    J_T: Expr
    J_R: Expr

    @classmethod
    def of_base(cls, model: Model, q: Expr) -> "MovingFrame":
        """Return the frame of the base with its Jacobians."""
        A, r = base_frame(model, q)
        return cls(A, r, *(ca.sparsify(ca.SX(J)) for J in base_jacobian(model, q, r)))

    def placed(self, pose: Pose) -> "MovingFrame":
        """Return a frame at a constant pose relative to this frame."""
        offset = self.A @ constant(pose.position)
        J_T = self.J_T - ca.skew(offset) @ self.J_R
        return MovingFrame(self.A @ constant(pose.rotation), self.r + offset, J_T, self.J_R)

    def through_joint(self, part: LinkModel, q: Expr) -> "MovingFrame":
        """Return the root frame of a link, if this frame is the tip of the link before it."""
        frame, coordinates = self.placed(part.pose_FJ), picked(q, part.carried_by)
        R_JK, p_JK = part.motion.place(coordinates)
        A, offset, columns = frame.A @ R_JK, frame.A @ p_JK, part.motion.columns(coordinates)
        J_T, J_R = ca.SX(frame.J_T - ca.skew(offset) @ frame.J_R), ca.SX(frame.J_R)
        for k, joint in enumerate(part.carried_by):
            J_R[:, joint], J_T[:, joint] = A @ columns[:3, k], A @ columns[3:, k]  # (eq. 11)
        return MovingFrame(A, frame.r + offset, J_T, J_R).placed(part.pose_JL)  # (eq. 3)

    def through(self, tip: Local, indices: tuple[int, ...]) -> "MovingFrame":
        """Return the frame of a link's deflected tip; this frame must be the link's root.

        Equations are 3 and 4 of the paper by Chu et al.
        """
        offset, select = self.A @ tip.position, selection(indices, self.J_T.shape[1])
        J_T = self.J_T - ca.skew(offset) @ self.J_R + self.A @ tip.linear @ select
        # omega^f is in the link's axes
        J_R = self.J_R + self.A @ tip.angular @ select  # (eq. 14)
        return MovingFrame(self.A @ tip.rotation, self.r + offset, J_T, J_R)  # (eq. 4)
