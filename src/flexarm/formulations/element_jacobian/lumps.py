"""Points of beam elements and rigid bodies, with the Jacobians of both (eqs. 1-21).

Part of `element_jacobian`, which has the table of symbols.
"""

from dataclasses import dataclass, replace

import casadi as ca

from flexarm.mechanics.bodies.elements import ElementSection, Vector
from flexarm.mechanics.bodies.terms import Terms
from flexarm.mechanics.kinematics import tip_section
from flexarm.mechanics.sections import Local, picked, selection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Inertia, Pose, constant, skew_matrix, turn_z


def slope_tip(model: Model, part: LinkModel, q: Expr) -> Local:
    """Return the tip by eq. 1, rotated about z by the slope itself."""
    flat = replace(model, tip_rotation="first-order")
    tip = tip_section(flat, part, q)
    slope = tip.rotation[1, 0]
    return replace(tip, rotation=turn_z(slope))  # (eq. 1)


@dataclass(frozen=True)
class Lump:
    """A mass with its inertia, and the Jacobians of its centre and of its angular velocity.

    ``J_R`` and ``inertia`` are in common axes, which are not the world's.
    """

    mass: Expr
    r: Expr
    J_T: Expr
    inertia: Expr
    J_R: Expr


@dataclass(frozen=True)
class LumpFrame:
    """A frame in the world: axes, origin, translational and rotational Jacobian, (3, n) each."""

    A: Expr
    r: Expr
    J_T: Expr
    J_R: Expr

    def carry(self, body: Inertia) -> list[Lump]:
        """Compute the lump of a rigid body that is fixed in the frame, if there is one."""
        if not body.weighs:
            return []
        centre = body.first / body.mass if body.mass else body.first
        cross = skew_matrix(centre)
        at = self.A @ constant(centre)
        J_T = self.J_T - ca.skew(at) @ self.J_R
        inertia = ca.SX(constant(body.second + body.mass * cross @ cross))
        return [Lump(body.mass, self.r + at, J_T, inertia, self.A.T @ self.J_R)]

    def weigh(self, s: ElementSection, own: tuple[int, ...], *, turned: bool) -> Lump:
        """Compute the lump of a point of this frame's link, its inertia turned with the section."""
        u, J_f, J_Rf = self.A @ s.place, s.columns, s.angle_columns
        select = selection(own, self.J_T.shape[1])
        J_T = self.J_T - ca.skew(u) @ self.J_R + self.A @ J_f @ select  # (eqs. 10, 12, 20)
        # in the link's axes, and in the element's if its inertia is turned
        J_R = self.A.T @ self.J_R + J_Rf @ select  # (eqs. 16, 21)
        if turned:
            J_R = turn_z(s.angle[2]).T @ J_R  # (eq. 1)
        return Lump(s.mass, self.r + u, J_T, ca.SX(ca.diag(s.inertia)), J_R)  # (eq. 6)

    def vector(self, u: Vector, own: tuple[int, ...]) -> Lump:
        """Compute the lump of a mass at the end of a vector of this frame's link."""
        rate = (
            u.columns @ selection(own, self.J_T.shape[1]) - ca.skew(u.value) @ self.A.T @ self.J_R
        )
        return Lump(0.0, self.r, self.J_T, ca.SX(u.mass * ca.SX.eye(3)), rate)

    def turning(self, terms: Terms, own: tuple[int, ...]) -> Lump:
        """Compute the lump of sections that turn in this frame's link and have no mass."""
        inertia = ca.blockcat([[terms.second, terms.angular], [terms.angular.T, terms.modal]])
        rates = ca.vertcat(self.A.T @ self.J_R, selection(own, self.J_T.shape[1]))
        return Lump(0.0, self.r, self.J_T, ca.SX(inertia), rates)

    def placed(self, pose: Pose) -> "LumpFrame":
        """Compute a frame that is fixed in this one."""
        offset = self.A @ constant(pose.position)
        J_T = self.J_T - ca.skew(offset) @ self.J_R
        return LumpFrame(self.A @ constant(pose.rotation), self.r + offset, J_T, self.J_R)

    def through_joint(self, part: LinkModel, q: Expr) -> "LumpFrame":
        """Compute a link's frame from that of the previous tip."""
        frame, own = self.placed(part.pose_FJ), picked(q, part.carried_by)
        R_JK, p_JK = part.motion.place(own)
        A, moved, columns = frame.A @ R_JK, frame.A @ p_JK, part.motion.columns(own)
        J_T, J_R = ca.SX(frame.J_T - ca.skew(moved) @ frame.J_R), ca.SX(frame.J_R)
        for k, joint in enumerate(part.carried_by):
            J_R[:, joint], J_T[:, joint] = A @ columns[:3, k], A @ columns[3:, k]  # (eq. 11)
        return LumpFrame(A, frame.r + moved, J_T, J_R).placed(part.pose_JL)  # (eq. 3)

    def through(self, tip: Local, own: tuple[int, ...]) -> "LumpFrame":
        """Compute the frame of a link's deflected tip from the link's (eqs. 3, 4)."""
        offset, select = self.A @ tip.position, selection(own, self.J_T.shape[1])
        J_T = self.J_T - ca.skew(offset) @ self.J_R + self.A @ tip.linear @ select
        # omega^f is in the link's axes
        J_R = self.J_R + self.A @ tip.angular @ select  # (eq. 14)
        return LumpFrame(self.A @ tip.rotation, self.r + offset, J_T, J_R)  # (eq. 4)
