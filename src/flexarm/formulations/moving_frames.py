"""Frames along an arm with their Jacobians, from the base to the tip."""

from dataclasses import dataclass

import casadi as ca

from flexarm.mechanics.kinematics import base_frame, base_jacobian
from flexarm.mechanics.sections import Local, picked, selection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Pose, constant


@dataclass(frozen=True)
class MovingFrame:
    """A frame in the world: axes, origin, translational and rotational Jacobian, (3, n) each.

    Equation numbers are those of Chu et al., of `element_jacobian`.
    """

    A: Expr
    r: Expr
    J_T: Expr
    J_R: Expr

    @classmethod
    def of_base(cls, model: Model, q: Expr) -> "MovingFrame":
        """Compute the frame of the base."""
        A, r = base_frame(model, q)
        return cls(A, r, *(ca.sparsify(ca.SX(J)) for J in base_jacobian(model, q, r)))

    def placed(self, pose: Pose) -> "MovingFrame":
        """Compute a frame that is fixed in this one."""
        offset = self.A @ constant(pose.position)
        J_T = self.J_T - ca.skew(offset) @ self.J_R
        return MovingFrame(self.A @ constant(pose.rotation), self.r + offset, J_T, self.J_R)

    def through_joint(self, part: LinkModel, q: Expr) -> "MovingFrame":
        """Compute a link's frame from that of the previous tip."""
        frame, own = self.placed(part.pose_FJ), picked(q, part.carried_by)
        R_JK, p_JK = part.motion.place(own)
        A, moved, columns = frame.A @ R_JK, frame.A @ p_JK, part.motion.columns(own)
        J_T, J_R = ca.SX(frame.J_T - ca.skew(moved) @ frame.J_R), ca.SX(frame.J_R)
        for k, joint in enumerate(part.carried_by):
            J_R[:, joint], J_T[:, joint] = A @ columns[:3, k], A @ columns[3:, k]  # (eq. 11)
        return MovingFrame(A, frame.r + moved, J_T, J_R).placed(part.pose_JL)  # (eq. 3)

    def through(self, tip: Local, own: tuple[int, ...]) -> "MovingFrame":
        """Compute the frame of a link's deflected tip from the link's (eqs. 3, 4)."""
        offset, select = self.A @ tip.position, selection(own, self.J_T.shape[1])
        J_T = self.J_T - ca.skew(offset) @ self.J_R + self.A @ tip.linear @ select
        # omega^f is in the link's axes
        J_R = self.J_R + self.A @ tip.angular @ select  # (eq. 14)
        return MovingFrame(self.A @ tip.rotation, self.r + offset, J_T, J_R)  # (eq. 4)
