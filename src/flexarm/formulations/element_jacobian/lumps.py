"""Point masses of beam elements and rigid bodies, with their Jacobians (eqs. 1-21).

Part of `element_jacobian`, which has the table of symbols.
"""

from dataclasses import dataclass, replace

import casadi as ca

from flexarm.formulations.moving_frames import MovingFrame
from flexarm.mechanics.bodies.elements import ElementSection, Vector
from flexarm.mechanics.bodies.terms import Terms
from flexarm.mechanics.kinematics import tip_section
from flexarm.mechanics.sections import Local, selection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, Inertia, Scalar, constant, skew_matrix, turn_z


def slope_tip(model: Model, part: LinkModel, q: Expr) -> Local:
    """Return a link's tip frame by eq. 1, rotated about z by the slope of the deflection."""
    first_order_model = replace(model, tip_rotation="first-order")
    tip = tip_section(first_order_model, part, q)
    slope = tip.rotation[1, 0]
    return replace(tip, rotation=turn_z(slope))  # (eq. 1)


@dataclass(frozen=True)
class Lump:
    """A mass with rotary inertia, and the Jacobians of its centre's and its angular velocity.

    ``inertia`` and ``J_R`` refer to the same axes, which need not be the world's.
    """

    mass: Scalar
    r: Expr
    J_T: Expr
    inertia: Expr
    J_R: Expr


def carry(frame: MovingFrame, body: Inertia) -> list[Lump]:
    """Return a rigid body fixed in the frame as a list of one lump; empty for zero mass."""
    if not body.weighs:
        return []
    centre = body.first / body.mass if body.mass else body.first
    cross = skew_matrix(centre)
    offset = frame.A @ constant(centre)
    J_T = frame.J_T - ca.skew(offset) @ frame.J_R
    inertia = ca.SX(constant(body.second + body.mass * cross @ cross))
    return [Lump(body.mass, frame.r + offset, J_T, inertia, frame.A.T @ frame.J_R)]


def weigh(
    frame: MovingFrame, s: ElementSection, indices: tuple[int, ...], *, section_turns: bool
) -> Lump:
    """Return the lump that stands for one integration point of a link.

    With ``turned``, the inertia rotates with the section.
    """
    u, J_f, J_Rf = frame.A @ s.place, s.columns, s.angle_columns
    select = selection(indices, frame.J_T.shape[1])
    J_T = frame.J_T - ca.skew(u) @ frame.J_R + frame.A @ J_f @ select  # (eqs. 10, 12, 20)
    # in the link's axes, and in the element's if its inertia is turned
    J_R = frame.A.T @ frame.J_R + J_Rf @ select  # (eqs. 16, 21)
    if section_turns:
        J_R = turn_z(s.angle[2]).T @ J_R  # (eq. 1)
    return Lump(s.mass, frame.r + u, J_T, ca.SX(ca.diag(s.inertia)), J_R)  # (eq. 6)


def carry_vector(frame: MovingFrame, u: Vector, indices: tuple[int, ...]) -> Lump:
    """Return a lump with the added kinetic energy of a mass at the end of a rotating vector.

    The vector rotates and deforms with the link; the mass moves relative to the frame's origin.
    """
    select = selection(indices, frame.J_T.shape[1])
    rate = u.columns @ select - ca.skew(u.value) @ frame.A.T @ frame.J_R
    return Lump(0.0, frame.r, frame.J_T, ca.SX(u.mass * ca.SX.eye(3)), rate)


def turn(frame: MovingFrame, terms: Terms, indices: tuple[int, ...]) -> Lump:
    """Return the lump of rotary inertia of sections that rotate relative to the link."""
    inertia = ca.blockcat([[terms.second, terms.angular], [terms.angular.T, terms.modal]])
    rates = ca.vertcat(frame.A.T @ frame.J_R, selection(indices, frame.J_T.shape[1]))
    return Lump(0.0, frame.r, frame.J_T, ca.SX(inertia), rates)
