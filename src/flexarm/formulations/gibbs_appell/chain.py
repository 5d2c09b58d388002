"""Chain of links for the steps of Korayem & Shafei 2009, built from any arm.

The docstring of `gibbs_appell.formulation` lists the symbols. The paper's arm has revolute joints
at the tips of slender links. Other features of an arm are represented by additional links and
deflection variables:

- the base is link 0; a massless link with six "deflections" carries a base that moves; -
coordinates of a joint that is no hinge are deflection variables of the previous link; a
  prismatic joint has ``r = axis, theta = 0``;
- a rotor's angle is a deflection variable of the link that carries it, without displacement; - the
origin O of a link is on the axis of its revolute joint, so the link's integrals are taken
  about O.

The inertia integrals are those of equations 14 to 42, with the tildes that are missing in the
printed equations 15 to 22 (an erratum). In the paper, links are beams, and the displacements of
their points are linear in the amplitudes. All other features of a link (axial shortening, rigid
bodies on sections, rotary inertia, rotors, a beam that slides out of its hub) are expressed in the
same symbols, with the shape columns at the current deflection, ``r_ij -> dr/d delta_ij``.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import casadi as ca
import numpy as np

from flexarm.formulations.constants import EXPONENTIAL_TERMS
from flexarm.links.body_data import StraightBody
from flexarm.links.integrals import Integrals
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.kinematics import base_frame, base_jacobian
from flexarm.mechanics.sections import (
    Local,
    SectionMotion,
    Terms,
    attach,
    own_values,
    picked,
    rigid_terms,
    still_motion,
    widened,
    with_rotor,
)
from flexarm.model import LinkModel, Model
from flexarm.spatial import NO_INERTIA, Array, Expr, Inertia, Scalar, axial_vectors, constant


@dataclass(frozen=True)
class Constants:
    """Constant inertia integrals of a link's m shapes, in the paper's symbols (eqs. 34-42)."""

    M: Expr  # mass
    Mr: Expr  # first moment of the undeformed link ``M r_r``, (3,) (eq. 36)
    eps: Expr  # ``eps_ij``, (3, m) (eqs. 34, 35)
    sc: Expr  # ``sc_ijk``, (m, m) (eq. 37)
    c_jk: Expr  # vectors ``c_ijk``, rows ``3 j`` to ``3 j + 2`` of column k, (3 m, m) (eq. 38)
    c_j: Expr  # vectors ``c_ij``, (3, m) (eq. 39)
    C_j: tuple[Expr, ...]  # m matrices ``c_ij``, (3, 3) each (eq. 40)
    # Matrices ``mc_ijk``, rows ``9 j`` to ``9 j + 8`` of column k, (9 m, m) (eq. 41).
    mC: Expr
    C: Expr  # ``c_i``, (3, 3) (eq. 42)


@dataclass(frozen=True)
class AccelerationEnergy:
    """Coefficients of a link's acceleration energy (eq. 13) at given deflection and rates.

    The link has m deflection variables.
    """

    M: Scalar  # mass
    B2: Expr  # (3, 3) (eq. 24)
    B3: Expr  # (3, 3) (eq. 25)
    B8: Expr  # (3, 3) (eq. 30)
    B9: Expr  # (3, 3) (eq. 31)
    eps: Expr  # ``eps_ij``, (3, m) (eq. 34)
    alpha: Expr  # ``alpha_ij``, (3, m) (eq. 32)
    beta: tuple[Expr, ...]  # ``beta_ij``, (3, 3) each (eq. 33)
    sc: Expr  # ``sc_ijk``, (m, m) (eq. 37)
    c: Expr  # ``sum_k delta'_ik c_ijk``, (3, m) (eqs. 44, 102)
    # Force (3,), torque (3,) and generalised forces (m,) that are quadratic in the rates. The paper
    # has none, since its points move linearly with the amplitudes.
    s: Expr
    t: Expr
    w: Expr

    def __add__(self, other: "AccelerationEnergy") -> "AccelerationEnergy":
        """Return the coefficients of two bodies of one link together."""
        own_terms, other_terms = (
            [getattr(body, f.name) for f in fields(AccelerationEnergy)] for body in (self, other)
        )
        sums: list[Any] = [
            tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b
            for a, b in zip(own_terms, other_terms, strict=True)
        ]
        return AccelerationEnergy(*sums)


def tilde(a: Expr) -> Expr:
    """Return the cross-product matrix a~ of a vector a, (3, 3): ``a~ b = a x b``."""
    return ca.sparsify(ca.skew(a))


def link_constants(i: Integrals) -> Constants:
    """Convert the inertia integrals of a flexible span to the paper's symbols (eqs. 34-42)."""
    m = i.shape.shape[1]

    def crossed(moment: Array) -> Array:
        trace = np.asarray(np.trace(moment, axis1=-2, axis2=-1))[..., None, None]
        return np.asarray(trace * np.eye(3) - np.swapaxes(moment, -1, -2))

    pairs = crossed(i.shape_shape.swapaxes(0, 1))  # mc_ikj at [j, k]
    return Constants(
        M=ca.SX(i.mass),
        Mr=ca.SX(constant(i.first)),  # (eq. 36)
        eps=ca.SX(constant(i.shape)),  # (eq. 34)
        sc=ca.SX(constant(i.modal_mass)),  # (eq. 37)
        # (eq. 38).
        c_jk=ca.SX(constant(axial_vectors(i.shape_shape).swapaxes(1, 2).reshape(3 * m, m))),
        c_j=ca.SX(constant(axial_vectors(i.position_shape).T)),  # (eq. 39)
        C_j=tuple(ca.SX(constant(p)) for p in crossed(i.position_shape)),  # (eq. 40)
        mC=ca.SX(constant(pairs.transpose(0, 3, 2, 1).reshape(9 * m, m))),  # (eq. 41)
        C=ca.SX(constant(crossed(i.second))),  # (eq. 42)
    )


def beam(k: Constants, delta: Expr, rate: Expr, *, delta_squared: bool) -> AccelerationEnergy:
    """Return the acceleration energy of a link whose points move linearly with its amplitudes.

    Equations are 23 to 33 of the paper.

    Parameters
    ----------
    k
        The link's constants.
    delta, rate
        Amplitudes and their rates, (m,) each.
    delta_squared
        Whether to keep the term of B9 of second order in the amplitudes, which Korayem & Shafei
        propose to omit.
    """
    m = delta.shape[0]
    eps_rate = k.eps @ rate
    second_order = ca.reshape(k.mC @ delta, 9, m)
    beta = tuple(k.C_j[j] + ca.reshape(second_order[:, j], 3, 3) for j in range(m))  # (eq. 33)
    # c_ikj = -c_ijk
    alpha = k.c_j - ca.reshape(k.c_jk @ delta, 3, m)  # (eq. 32)
    B3 = tilde(k.Mr + k.eps @ delta)  # (eq. 25)
    B8, B9 = ca.SX(3, 3), k.C
    for j in range(m):
        B8 = B8 + rate[j] * beta[j]  # (eq. 30)
        B9 = B9 + delta[j] * (k.C_j[j].T + (beta[j] if delta_squared else k.C_j[j]))  # (eq. 31)
    return AccelerationEnergy(
        M=k.M,
        B2=tilde(eps_rate),  # (eq. 24)
        B3=B3,
        B8=B8,
        B9=B9,
        eps=k.eps,
        alpha=alpha,
        beta=beta,
        sc=k.sc,
        c=ca.reshape(k.c_jk @ rate, 3, m),  # (eq. 102)
        s=ca.SX(3, 1),
        t=ca.SX(3, 1),
        w=ca.SX(m, 1),
    )


def nothing(m: int) -> AccelerationEnergy:
    """Return the acceleration energy of a massless link with m deflection variables: zeros."""
    vector, matrix, columns = ca.SX(3, 1), ca.SX(3, 3), ca.SX(3, m)
    return AccelerationEnergy(
        M=ca.SX(0), B2=matrix, B3=matrix, B8=matrix, B9=matrix, eps=columns, alpha=columns,
        beta=tuple(matrix for _ in range(m)), sc=ca.SX(m, m), c=columns, s=vector,
        t=vector, w=ca.SX(m, 1),
    )  # fmt: skip


def shifted(body: AccelerationEnergy, offset: Expr) -> AccelerationEnergy:
    """Return an acceleration energy about a new origin; ``offset`` leads from new to old origin."""
    cross_transpose = tilde(offset).T
    return replace(
        body,
        B3=body.B3 + body.M * tilde(offset),
        B8=body.B8 + cross_transpose @ body.B2,
        B9=body.B9
        + cross_transpose @ body.B3
        + body.B3.T @ cross_transpose.T
        + body.M * cross_transpose @ cross_transpose.T,
        alpha=body.alpha + tilde(offset) @ body.eps,
        beta=tuple(b + cross_transpose @ tilde(body.eps[:, j]) for j, b in enumerate(body.beta)),
        t=body.t + tilde(offset) @ body.s,
    )


def rigid(fixed: Inertia, m: int) -> AccelerationEnergy:
    """Return the acceleration energy of a rigid body fixed in a link's frame (eqs. 25 and 42)."""
    omega = ca.SX.sym("omega", 3)
    return of_terms(rigid_terms(fixed, omega, m), ca.SX(m, 1), omega)


def of_terms(terms: Terms, rate: Expr, omega: Expr) -> AccelerationEnergy:
    """Convert a link's inertia terms to the symbols of Korayem & Shafei.

    Torque and generalised forces are quadratic in the angular velocity omega, (3,). At zero omega,
    their values are ``t`` and ``w``, and their first derivatives ``B8`` and ``c``. The second
    derivative of the generalised forces is ``beta``, as an upper triangular matrix, since only the
    quadratic form of this matrix enters the equations.
    """
    effort_slope, torque_slope = ca.jacobian(terms.effort, omega), ca.jacobian(terms.torque, omega)
    curvatures = []
    for j in range(effort_slope.shape[0]):
        curvature: Expr = ca.jacobian(effort_slope[j, :].T, omega)
        curvatures.append(-(ca.triu(curvature, False) + 0.5 * ca.diag(ca.diag(curvature))))
    values = [terms.force, terms.torque, terms.effort, torque_slope, effort_slope]
    at_zero = ca.substitute(values, [omega], [ca.SX.zeros(3)])
    s, t, w, B8, c = (ca.sparsify(value) for value in at_zero)
    return AccelerationEnergy(
        M=terms.mass, B2=tilde(terms.linear @ rate), B3=tilde(terms.first), B8=0.5 * B8,
        B9=terms.second, eps=terms.linear, alpha=terms.angular, beta=tuple(curvatures),
        sc=terms.modal, c=-0.5 * c.T, s=s, t=t, w=w,
    )  # fmt: skip


@dataclass(frozen=True)
class Hinge:
    """Revolute joint: its axis ``z_i`` in link axes, (3,), and its coordinate's index in q."""

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
    links = [_mover(model, q, v)] if model.base_moves else []
    for index, part in enumerate([None, *model.links], -1):
        outer, omega = _next_link(model.links, index), ca.SX.sym("omega", 3)
        if part is None:
            tip = still_motion()
            fixed = model.base_body if model.base_moves else NO_INERTIA
            rates: Expr = ca.SX(0, 1)
            terms = rigid_terms(fixed, omega, 0)
        else:
            body = body_of(model, part)
            tip, terms, rates = body.tip_motion(q, v), body.terms(q, v, omega), own_values(part, v)
            if part.tip_body.weighs:
                terms = attach(terms, part.tip_body, tip, omega)
        joints = _deflecting(outer)
        terms = widened(terms, len(joints))
        rates = ca.vertcat(rates, picked(v, joints))
        if outer is not None and outer.rotor is not None:
            speed = v[outer.rotor.coordinate]
            terms = with_rotor(terms, outer.rotor, tip, speed, omega)
            rates = ca.vertcat(rates, speed)
        links.append(_carry(part, tip, of_terms(terms, rates, omega), outer, q, v))
    return links


def paper_chain(model: Model, q: Expr, v: Expr, *, delta_squared: bool) -> list[ChainLink]:
    """Return the chain links of an arm with the kinematics of Korayem & Shafei 2009."""
    links = [_carry(None, still_motion(), nothing(0), _next_link(model.links, -1), q, v)]
    for i, part in enumerate(model.links):
        delta, rate = own_values(part, q), own_values(part, v)
        body = rigid(part.root_body, rate.shape[0])
        tip = _paper_tip(model, part, delta, rate)
        constants = link_constants(_undeformed(part).integrals)
        body = body + beam(constants, delta, rate, delta_squared=delta_squared)
        links.append(_carry(part, tip, body, _next_link(model.links, i), q, v))
    return links


def exponential(theta: Expr) -> Expr:
    """Return the rotation ``exp(theta~)`` (3, 3) by a series that is smooth at zero angle."""
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
    """Return a tip's motion as in the paper: pose linear in amplitudes, angular velocity theta'."""
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
    """Build a link of the chain from an arm's link, its tip, and the next joint and rotor.

    Coordinates of the next joint, unless it is revolute, and of the rotor become deflection
    variables of the link.
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
    if outer is not None and (joints := _deflecting(outer)):
        spin_columns, displacement_columns, spin_bias, move_bias = _joint_columns(outer, E, q, v)
        rates = picked(v, joints)
        variables += joints
        r_f, theta_f = ca.horzcat(r_f, displacement_columns), ca.horzcat(theta_f, spin_columns)
        r_v = r_v + 2 * tilde(spin) @ (displacement_columns @ rates) + move_bias
        r_d = r_d + displacement_columns @ rates
        theta_v = theta_v + tilde(spin) @ (spin_columns @ rates) + spin_bias
        theta_d = theta_d + spin_columns @ rates
    if outer is not None and outer.rotor is not None:
        variables.append(outer.rotor.coordinate)
        r_f, theta_f = (ca.horzcat(columns, ca.SX(3, 1)) for columns in (r_f, theta_f))
    if lever is not None:
        body = shifted(body, lever)
    place = tip.local.position if lever is None else lever + tip.local.position
    return ChainLink(
        A, E, hinge, tuple(variables), place + e, r_d, r_v, theta_d, theta_v, r_f, theta_f,
        body,
    )  # fmt: skip


def _joint(part: LinkModel | None, q: Expr) -> tuple[Expr, Hinge | None, Expr | None]:
    """Return a joint's rotation A, its hinge, and the vector from hinge to link root.

    The vector is in link axes, or None if it is zero. The hinge is None for a joint that is not
    revolute.
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

    All vectors are in the axes of the previous link.

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
    for k in (4, 5):  # each axis is rotated by the preceding angles
        for l in range(3, k):
            theta_v = theta_v + tilde(angular[:, l]) @ angular[:, k] * (v[l] * v[k])
    return ChainLink(
        ca.SX.eye(3), rotation, None, tuple(range(6)), zeros, zeros, zeros,
        angular @ v[:6], theta_v, linear, angular, nothing(6),
    )  # fmt: skip


def _deflecting(outer: LinkModel | None) -> tuple[int, ...]:
    """Return the next joint's coordinates that become deflection variables of the link before it.

    A revolute joint has none.
    """
    return () if outer is None or outer.motion.hinge else outer.carried_by


def _next_link(parts: tuple[LinkModel, ...], i: int) -> LinkModel | None:
    return parts[i + 1] if i + 1 < len(parts) else None
