"""Chain of links for the steps of Korayem & Shafei 2009, built from any arm.

Part of `gibbs_appell`, which has the table of symbols.  The paper's arm has revolute joints at the
tips of slender links.  Other features of an arm are represented by links and variables of the
same kind:

- the base is link 0; a massless link with six "deflections" carries a base that moves;
- coordinates of a joint that is no hinge are deflection variables of the link before: of a
  prismatic joint ``r = axis, theta = 0``;
- a rotor's angle is a deflection variable of the link that carries it, without displacement;
- a revolute joint's origin O is on its axis, so the link's integrals are shifted to it.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.formulations.constants import EXPONENTIAL_TERMS
from flexarm.formulations.gibbs_appell.bodies import link_body, rigid, rotor_body
from flexarm.formulations.gibbs_appell.terms import (
    AccelerationEnergy,
    beam,
    link_constants,
    nothing,
    shifted,
    tilde,
    widened,
)
from flexarm.links.body_data import StraightBody
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.terms import SectionMotion
from flexarm.mechanics.kinematics import base_frame, base_jacobian
from flexarm.mechanics.sections import Local, own_values, picked
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr, constant


@dataclass(frozen=True)
class Hinge:
    """A revolute joint: its axis ``z_i`` in link axes, (3,), and its coordinate's index in q."""

    z: Expr
    coordinate: int


@dataclass(frozen=True)
class ChainLink:
    """Link i of the chain at given coordinates and rates, with m deflection variables."""

    A: Expr  # rotation of link i from the tip of link i-1, (3, 3)
    E: Expr  # rotation of the tip of link i from link i, (3, 3)
    hinge: Hinge | None  # the revolute joint that carries the link, or None
    # Indices in q of the deflection variables; an index may also be that of the joint's coordinate.
    variables: tuple[int, ...]
    r: Expr  # ``r_{O(i+1)/Oi}``, (3,) (eq. 60)
    r_d: Expr  # rate of r, (3,) (eq. 61)
    r_v: Expr  # acceleration of r due to rates alone, (3,)
    theta_d: Expr  # angular velocity of the tip relative to the link, (3,) (eq. 64)
    theta_v: Expr  # change of theta_d due to rates alone, (3,)
    r_f: Expr  # displacement of link i+1 per deflection variable, ``r_if(l_i)``, (3, m)
    theta_f: Expr  # rotation of link i+1 per deflection variable, ``theta_if(l_i)``, (3, m)
    body: AccelerationEnergy  # the link's integrals about O_i


def exact_chain(model: Model, q: Expr, v: Expr) -> list[ChainLink]:
    """Return the chain links of any arm, base first, with all attached bodies."""
    parts = model.links
    links = [_mover(model, q, v)] if model.base_moves else []
    base_motion = SectionMotion(_identity_frame(), *[ca.SX(3, 1) for _ in range(4)])
    base = rigid(model.base_body, 0) if model.base_moves else nothing(0)
    links.append(_carry(None, base_motion, base, _next_link(parts, -1), q, v))
    for i, part in enumerate(parts):
        tip = body_of(model, part).tip_motion(q, v)
        body = link_body(model, part, q, v, tip)
        links.append(_carry(part, tip, body, _next_link(parts, i), q, v))
    return links


def paper_chain(model: Model, q: Expr, v: Expr, *, delta_squared: bool) -> list[ChainLink]:
    """Return the chain links of an arm that the paper covers, by the paper's kinematics."""
    base_motion = SectionMotion(_identity_frame(), *[ca.SX(3, 1) for _ in range(4)])
    links = [_carry(None, base_motion, nothing(0), _next_link(model.links, -1), q, v)]
    for i, part in enumerate(model.links):
        delta, rate = own_values(part, q), own_values(part, v)
        body = rigid(part.root_body, rate.shape[0])
        tip = _paper_tip(model, part, delta, rate)
        constants = link_constants(_undeformed(part).integrals)
        body = body + beam(constants, delta, rate, delta_squared=delta_squared)
        links.append(_carry(part, tip, body, _next_link(model.links, i), q, v))
    return links


def exponential(theta: Expr) -> Expr:
    """Return the rotation ``exp(theta~)`` by a series, which is smooth at zero angle."""
    square = ca.dot(theta, theta)
    sine, versine = ca.SX(0), ca.SX(0)  # sin(t)/t and (1 - cos t)/t^2 of t^2
    for k in range(EXPONENTIAL_TERMS, -1, -1):
        sine = 1 - square / ((2 * k + 2) * (2 * k + 3)) * sine
        versine = 1 - square / ((2 * k + 3) * (2 * k + 4)) * versine
    cross = tilde(theta)
    return ca.SX.eye(3) + sine * cross + versine / 2 * (cross @ cross)


def _undeformed(part: LinkModel) -> StraightBody:
    return part.body.straight(part.length)


def _paper_tip(model: Model, part: LinkModel, delta: Expr, rate: Expr) -> SectionMotion:
    """Return a tip's motion by the paper: linear in amplitudes, with angular velocity theta'."""
    zeros = ca.SX(3, 1)
    body = _undeformed(part)
    tip_position, r_f, theta_f = (
        ca.SX(constant(x)) for x in (body.tip, body.tip_shape, body.tip_angle)
    )
    theta = theta_f @ delta  # (eq. 8)
    first_order = model.tip_rotation == "first-order"
    E = ca.SX.eye(3) + tilde(theta) if first_order else exponential(theta)  # (eq. 6)
    local = Local(tip_position + r_f @ delta, E, r_f, theta_f)  # (eq. 60)
    return SectionMotion(local, theta_f @ rate, r_f @ rate, zeros, zeros)  # (eqs. 64, 61)


def _carry(
    part: LinkModel | None,
    tip: SectionMotion,
    body: AccelerationEnergy,
    outer: LinkModel | None,
    q: Expr,
    v: Expr,
) -> ChainLink:
    """Build the chain's link from an arm's link, its tip, and the next joint and rotor.

    Coordinates of that joint, unless it is a hinge, and of the rotor become deflection variables.
    """
    E, spin = tip.local.rotation, tip.spin
    A, hinge, lever = _joint(part, q)
    amplitude_indices = () if part is None else part.own
    variables = list(amplitude_indices)
    r_f, theta_f = tip.local.linear, tip.local.angular
    e = E @ _offset(outer, q)
    r_f = r_f - tilde(e) @ theta_f
    r_v = tip.speed_bias + tilde(tip.spin_bias) @ e + tilde(spin) @ (tilde(spin) @ e)
    r_d = tip.speed + tilde(spin) @ e
    theta_d, theta_v = spin, tip.spin_bias
    if outer is not None and outer.carried_by and not outer.motion.hinge:
        m = len(outer.carried_by)
        spin_columns, displacement_columns, spin_bias, move_bias = _joint_columns(outer, E, q, v)
        rates = picked(v, outer.carried_by)
        variables += outer.carried_by
        body, r_f, theta_f = (
            widened(body, m), ca.horzcat(r_f, displacement_columns),
            ca.horzcat(theta_f, spin_columns),
        )  # fmt: skip
        r_v = r_v + 2 * tilde(spin) @ (displacement_columns @ rates) + move_bias
        r_d = r_d + displacement_columns @ rates
        theta_v = theta_v + tilde(spin) @ (spin_columns @ rates) + spin_bias
        theta_d = theta_d + spin_columns @ rates
    if outer is not None and outer.rotor is not None:
        k = outer.rotor.coordinate
        rates, motion = picked(v, tuple(variables)), _widened_motion(tip, len(variables))
        body = widened(body, 1) + rotor_body(outer.rotor, motion, rates, v[k])
        variables.append(k)
        r_f, theta_f = _padded(r_f), _padded(theta_f)
    if lever is not None:
        body = shifted(body, lever)
    place = tip.local.position if lever is None else lever + tip.local.position
    return ChainLink(
        A, E, hinge, tuple(variables), place + e, r_d, r_v, theta_d, theta_v, r_f, theta_f,
        body,
    )  # fmt: skip


def _joint(part: LinkModel | None, q: Expr) -> tuple[Expr, Hinge | None, Expr | None]:
    """Return a joint's rotation A, its hinge, and the vector from hinge to link root, in link axes.

    The hinge is None for other joints, the vector None where it is zero.
    """
    if part is None:
        return ca.SX.eye(3), None, None
    R_JK, _ = part.motion.place(picked(q, part.carried_by))
    A = ca.SX(constant(part.pose_FJ.rotation)) @ R_JK @ constant(part.pose_JL.rotation)  # (eq. 5)
    if not part.motion.hinge:
        return A, None, None
    rotation = part.pose_JL.rotation.T
    lever = rotation @ part.pose_JL.position
    place = ca.SX(constant(lever)) if np.any(lever) else None
    return A, Hinge(ca.SX(constant(rotation[:, 2])), part.carried_by[0]), place


def _offset(outer: LinkModel | None, q: Expr) -> Expr:
    """Return the vector from a tip to the next link's origin O, in tip axes, (3,)."""
    if outer is None:
        return ca.SX(3, 1)
    place = ca.SX(constant(outer.pose_FJ.position))
    if outer.motion.hinge:
        return place
    R_JK, p_JK = outer.motion.place(picked(q, outer.carried_by))
    root = p_JK + R_JK @ constant(outer.pose_JL.position)
    return place + constant(outer.pose_FJ.rotation) @ root


def _joint_columns(outer: LinkModel, E: Expr, q: Expr, v: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """Return the next link's motion per joint rate, for a joint other than revolute.

    It is in the previous link's axes.

    Returns
    -------
    spins, velocities
        Spin of the next link and velocity of its origin per rate of the joint, (3, k) each.
    spin_bias, velocity_bias
        Change of spin and velocity due to the joint's rates alone, (3,) each.
    """
    coordinates, rates = picked(q, outer.carried_by), picked(v, outer.carried_by)
    axes = E @ constant(outer.pose_FJ.rotation) @ outer.motion.place(coordinates)[0]
    columns, bias = outer.motion.columns(coordinates), outer.motion.bias(coordinates, rates)
    lever = tilde(ca.SX(constant(outer.pose_JL.position)))
    lever_velocity = -lever @ columns[:3, :]
    spin = columns[:3, :] @ rates
    move_bias = bias[3:] - lever @ bias[:3] + tilde(spin) @ (lever_velocity @ rates)
    return (
        axes @ columns[:3, :],
        axes @ (columns[3:, :] + lever_velocity),
        axes @ bias[:3],
        axes @ move_bias,
    )


def _mover(model: Model, q: Expr, v: Expr) -> ChainLink:
    """Return a massless link with the six coordinates of a moving base: x, y, z, rx, ry, rz."""
    rotation, position = base_frame(model, q)
    linear, angular = (ca.sparsify(j[:, :6]) for j in base_jacobian(model, q, position))
    zeros = ca.SX(3, 1)
    theta_v = ca.SX(3, 1)
    for k in (4, 5):  # an axis turns with the angles before it
        for l in range(3, k):
            theta_v = theta_v + tilde(angular[:, l]) @ angular[:, k] * (v[l] * v[k])
    return ChainLink(
        ca.SX.eye(3), rotation, None, tuple(range(6)), zeros, zeros, zeros,
        angular @ v[:6], theta_v, linear, angular, nothing(6),
    )  # fmt: skip


def _widened_motion(tip: SectionMotion, m: int) -> SectionMotion:
    """Return a tip's motion with zero columns added for further variables."""
    local = tip.local
    added = m - local.linear.shape[1]
    linear, angular = (ca.horzcat(x, ca.SX(3, added)) for x in (local.linear, local.angular))
    wide_frame = Local(local.position, local.rotation, linear, angular)
    return SectionMotion(wide_frame, tip.spin, tip.speed, tip.spin_bias, tip.speed_bias)


def _identity_frame() -> Local:
    return Local(ca.SX(3, 1), ca.SX.eye(3), ca.SX(3, 0), ca.SX(3, 0))


def _next_link(parts: tuple[LinkModel, ...], i: int) -> LinkModel | None:
    return parts[i + 1] if i + 1 < len(parts) else None


def _padded(columns: Expr) -> Expr:
    return ca.horzcat(columns, ca.SX(3, 1))
