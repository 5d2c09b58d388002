"""Poses and motion of link sections in the root frame L, and inertia terms of links.

Every coordinate that deforms a link, including the exposed length of a sliding link, has a column
in the Jacobians of sections. Recursions can therefore treat all links alike.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.model import LinkModel, Rotor
from flexarm.spatial import Array, Expr, Inertia, Scalar, cayley, constant


@dataclass(frozen=True)
class Local:
    """Pose and Jacobian of a section of a link in the link's root frame L."""

    # position, rotation: position (3,) and rotation (3, 3) of the section, in L.
    position: Expr
    rotation: Expr
    # linear, angular: velocity and angular velocity per rate of each of the link's own coordinates,
    # (3, k), in L. For a sliding link the exposed length is the first coordinate.
    linear: Expr
    angular: Expr


def own_values(part: LinkModel, q: Expr) -> Expr:
    """Return the k coordinates of a link from all coordinates q of the arm, (k,).

    If q contains all rates, the result contains the rates of the link's coordinates.
    """
    return picked(q, part.own)


def picked(q: Expr, indices: tuple[int, ...]) -> Expr:
    """Return the k entries of q at the given indices, (k,)."""
    return ca.vertcat(*[q[i] for i in indices]) if indices else type(q).zeros(0, 1)


def selection(indices: tuple[int, ...], n: int) -> Expr:
    """Return the matrix (k, n) that selects k of n coordinates."""
    matrix = ca.SX(len(indices), n)
    for row, column in enumerate(indices):
        matrix[row, column] = 1.0
    return matrix


def rigid_section(q: Expr, x: float, k: int) -> Local:
    """Return pose and Jacobian of a section at x [m] that its link's k coordinates do not move."""
    none = type(q)(3, k)
    return Local(type(q)(constant(np.array([x, 0.0, 0.0]))), type(q).eye(3), none, none)


def beyond(tip: Local, along: float) -> Local:
    """Return a section of the rigid piece beyond the flexible tip, at a distance [m] from it."""
    arm = tip.rotation @ constant(np.array([along, 0.0, 0.0]))
    linear = tip.linear - ca.skew(arm) @ tip.angular
    return Local(tip.position + arm, tip.rotation, linear, tip.angular)


def quadratic_section(d: Expr, linear: Array, quadratic: Array) -> tuple[Expr, Expr]:
    """Compute ``linear d + 1/2 d^T quadratic d``, (3,), and its gradient in d, (3, m)."""
    columns = type(d)(constant(linear))
    value = constant(linear) @ d
    for k in range(3):
        if np.any(quadratic[k]):
            bent = constant(quadratic[k]) @ d
            value[k] += ca.dot(d, bent) / 2
            columns[k, :] += bent.T
    return value, columns


def second_rates(quadratic: Iterable[Array], rates: Expr) -> Expr:
    """Compute ``rates^T X rates`` (3,) for three matrices X, (m, m) each."""
    none = type(rates)(1, 1)
    return ca.vertcat(
        *[ca.dot(rates, constant(x) @ rates) if np.any(x) else none for x in quadratic]
    )


def turned_section(
    angle: Expr, rate: Expr, bias: Expr, tangent: bool, first_order: bool
) -> tuple[Expr, Expr, Expr, Expr]:
    """Compute a section's rotation from first-order angles, their rates and accelerations.

    With ``tangent``, as in the series theory, the section's x axis is tangent to the deformed axis
    up to third order in the angles theta: the Cayley vector is ``theta (1 + (theta_y^2 +
    theta_z^2)/4)``.

    Returns
    -------
    rotation, per
        Rotation, and angular velocity per rate of the angles, (3, 3) each.
    spin, spin_bias
        Angular velocity and angular acceleration, (3,) each; with ``first_order`` too, they are
        those of the exact rotation.
    """
    vector, growth = angle, type(angle).eye(3)
    if tangent:
        scale = 1 + (angle[1] ** 2 + angle[2] ** 2) / 4
        change = (angle[1] * rate[1] + angle[2] * rate[2]) / 2
        further = (rate[1] ** 2 + rate[2] ** 2) / 2
        further += (angle[1] * bias[1] + angle[2] * bias[2]) / 2
        bias = bias * scale + 2 * rate * change + angle * further
        vector, rate = angle * scale, rate * scale + angle * change
        growth = growth * scale + angle @ ca.horzcat(0, angle[1], angle[2]) / 2
    size = 1 / (1 + ca.dot(vector, vector) / 4)
    spin = size * (rate + ca.cross(vector, rate) / 2)
    spin_bias = -(size * ca.dot(vector, rate) / 2) * spin
    spin_bias += size * (bias + ca.cross(vector, bias) / 2)
    rotation, per = cayley(vector)
    if first_order:
        return type(angle).eye(3) + ca.skew(angle), type(angle).eye(3), spin, spin_bias
    return rotation, per @ growth, spin, spin_bias


@dataclass(frozen=True)
class Terms:
    """Inertia of a link about its root L, and velocity-dependent forces on it.

    The link has k coordinates, each with a column of momenta.
    """

    # mass, first, second: mass [kg], first moment (3,), inertia matrix (3, 3).
    mass: Scalar
    first: Expr
    second: Expr
    # angular, linear: angular momentum about L, and linear momentum, per rate of link coordinate,
    # (3, k) each.
    angular: Expr
    linear: Expr
    modal: Expr  # mass matrix of the link coordinates, (k, k)
    # torque, force, effort: velocity-dependent torque about L (3,), force (3,), and generalised
    # force on the link's own coordinates (k,).
    torque: Expr
    force: Expr
    effort: Expr


@dataclass(frozen=True)
class SectionMotion:
    """Motion of a section relative to frame L: pose, Jacobian, velocity, acceleration bias."""

    local: Local  # pose and Jacobian of the section
    # spin, speed: relative angular velocity and velocity, in L, (3,) each.
    spin: Expr
    speed: Expr
    # spin_bias, speed_bias: relative angular acceleration and acceleration at zero acceleration of
    # the link coordinates, (3,) each.
    spin_bias: Expr
    speed_bias: Expr


def still_motion() -> SectionMotion:
    """Return the motion of the root section of a link without coordinates: zero velocity."""
    none = ca.SX(3, 1)
    local = Local(none, ca.SX.eye(3), ca.SX(3, 0), ca.SX(3, 0))
    return SectionMotion(local, none, none, none, none)


def rigid_terms(body: Inertia, omega: Expr, k: int) -> Terms:
    """Return the inertia terms of a rigid body fixed in the root frame of a link.

    The link has k coordinates, which do not move the body; omega is the angular velocity of L,
    (3,).
    """
    first, second = constant(body.first), constant(body.second)
    zero = type(omega).zeros
    return Terms(
        body.mass,
        type(omega)(first),
        type(omega)(second),
        zero(3, k),
        zero(3, k),
        zero(k, k),
        ca.cross(omega, second @ omega) if body.weighs else zero(3, 1),
        ca.cross(omega, ca.cross(omega, first)) if np.any(body.first) else zero(3, 1),
        zero(k, 1),
    )


def no_terms(rates: Expr) -> Terms:
    """Return inertia terms that are all zero, for k link coordinates with rates (k,)."""
    new, k = type(rates), rates.shape[0]
    return turning_terms(new(3, 3), new(3, k), new(k, k), new(3, 1), new(k, 1))


def turning_terms(second: Expr, angular: Expr, modal: Expr, torque: Expr, effort: Expr) -> Terms:
    """Return inertia terms that contain only rotary inertia: mass and linear momentum are zero."""
    new = type(effort)
    none = new(*angular.shape)
    return Terms(0.0, new(3, 1), second, angular, none, modal, torque, new(3, 1), effort)


def attach(terms: Terms, body: Inertia, motion: SectionMotion, omega: Expr) -> Terms:
    """Return a link's inertia terms plus those of a rigid body fixed in a section.

    ``motion`` is the section's motion relative to L, and omega the angular velocity of L, (3,).
    """
    local = motion.local
    R, p, N, A = local.rotation, local.position, local.linear, local.angular
    spin = omega + motion.spin
    second = R @ constant(body.second) @ R.T
    first = R @ constant(body.first)
    # momentum of the body: m v = m (v_L + omega x p + N e') + spin x first
    moment = body.mass * p + first
    linear = body.mass * N - ca.skew(first) @ A
    lever = ca.skew(p)
    about = ca.skew(first) @ N + second @ A
    angular = lever @ linear + about
    whole = second - lever @ ca.skew(first) - ca.skew(first) @ lever - body.mass * lever @ lever
    modal = N.T @ linear + A.T @ about
    # acceleration of the section at zero acceleration of L and of the link coordinates
    acceleration = (
        ca.cross(omega, ca.cross(omega, p)) + 2 * ca.cross(omega, motion.speed) + motion.speed_bias
    )
    rotation = ca.cross(omega, motion.spin) + motion.spin_bias
    force = (
        body.mass * acceleration + ca.cross(rotation, first) + ca.cross(spin, ca.cross(spin, first))
    )
    torque = ca.cross(first, acceleration) + second @ rotation + ca.cross(spin, second @ spin)
    torque, effort = ca.cross(p, force) + torque, N.T @ force + A.T @ torque
    return add(
        terms, Terms(body.mass, moment, whole, angular, linear, modal, torque, force, effort)
    )


def widened(terms: Terms, count: int) -> Terms:
    """Return inertia terms with zeros for ``count`` more coordinates that do not move the link."""
    columns, new = type(terms.effort)(3, count), type(terms.effort)
    return replace(
        terms,
        angular=ca.horzcat(terms.angular, columns),
        linear=ca.horzcat(terms.linear, columns),
        modal=ca.diagcat(terms.modal, new(count, count)),
        effort=ca.vertcat(terms.effort, new(count, 1)),
    )


def with_rotor(
    terms: Terms, rotor: Rotor, motion: SectionMotion, speed: Expr, omega: Expr
) -> Terms:
    """Return a link's inertia terms plus those of a rotor on a section.

    The angle of the rotor becomes the last coordinate.

    Parameters
    ----------
    terms
        Inertia terms whose first coordinates are those of the section's Jacobian columns.
    rotor, motion, speed
        The rotor, the motion of the section that carries it, the rate of the rotor's coordinate.
    omega
        Angular velocity of L, in L, (3,).
    """
    J, n, A = rotor.inertia, rotor.ratio, motion.local.angular
    total, m = widened(terms, 1), A.shape[1]
    total.modal[-1, -1] += n**2 * J
    if rotor.axis is None:  # the rotor's spin momentum does not act on its carrier
        return total
    axis = motion.local.rotation @ constant(rotor.axis)
    carried = Inertia(0.0, np.zeros(3), J * np.outer(rotor.axis, rotor.axis))
    rates = type(omega)(m, 1)
    carrier = widened(attach(no_terms(rates), carried, motion, omega), total.modal.shape[0] - m)
    total = add(total, carrier)
    total.angular[:, -1] += n * J * axis
    pushed = n * J * speed * ca.cross(omega + motion.spin, axis)
    if m:
        coupling = n * J * (A.T @ axis)
        total.modal[:m, -1] += coupling
        total.modal[-1, :m] += coupling.T
        total.effort[:m] += A.T @ pushed
    turned = ca.cross(omega, motion.spin) + motion.spin_bias
    total.effort[-1] += n * J * ca.dot(axis, turned)
    return replace(total, torque=total.torque + pushed)


def add(a: Terms, b: Terms) -> Terms:
    """Return the sum of the inertia terms of two bodies of one link."""
    return Terms(*(x + y for x, y in zip(vars(a).values(), vars(b).values(), strict=True)))


def scaled(a: Terms, factor: Expr) -> Terms:
    """Return inertia terms multiplied by a factor."""
    return Terms(*(factor * x for x in vars(a).values()))


def axial(moment: Expr) -> Expr:
    """Compute the integral ``int a x b`` (3,) of a cross product from ``int a b^T`` (3, 3)."""
    return ca.vertcat(
        moment[1, 2] - moment[2, 1], moment[2, 0] - moment[0, 2], moment[0, 1] - moment[1, 0]
    )
