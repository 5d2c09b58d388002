"""Inertia terms of a link in its root frame L, and motion of its sections.

Every coordinate that deforms a link, including the exposed length of a sliding link, has a Jacobian
column, so that recursions treat all links alike.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.mechanics.sections import Local
from flexarm.spatial import Expr, Inertia, Scalar, constant


@dataclass(frozen=True)
class Terms:
    """Inertia of a link about L and its velocity-dependent forces, with k own coordinates."""

    # mass, first, second: mass [kg], first moment (3,), inertia matrix (3, 3).
    mass: Scalar
    first: Expr
    second: Expr
    # angular, linear: momentum per rate of own coordinate: about L and linear, (3, k) each.
    angular: Expr
    linear: Expr
    modal: Expr  # mass matrix of the own coordinates, (k, k)
    # torque, force, effort: what the velocity products need: about L (3,), linear (3,), of own
    # coordinates (k,).
    torque: Expr
    force: Expr
    effort: Expr


@dataclass(frozen=True)
class SectionMotion:
    """Motion of a section relative to L: pose, Jacobian, velocity and acceleration bias."""

    local: Local  # place, rotation and columns
    # spin, speed: relative angular velocity and velocity, in L, (3,) each.
    spin: Expr
    speed: Expr
    # spin_bias, speed_bias: relative accelerations at zero acceleration of the own coordinates,
    # (3,) each.
    spin_bias: Expr
    speed_bias: Expr


def rigid_terms(body: Inertia, omega: Expr, k: int) -> Terms:
    """Return the inertia terms of a rigid body fixed in L, independent of k own coordinates."""
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
    """Return inertia terms that are all zero, for k own coordinates with rates (k,)."""
    new, k = type(rates), rates.shape[0]
    return turning_terms(new(3, 3), new(3, k), new(k, k), new(3, 1), new(k, 1))


def turning_terms(second: Expr, angular: Expr, modal: Expr, torque: Expr, effort: Expr) -> Terms:
    """Return inertia terms of rotary inertia alone, with zero mass and linear momentum."""
    new = type(effort)
    none = new(*angular.shape)
    return Terms(0.0, new(3, 1), second, angular, none, modal, torque, new(3, 1), effort)


def attach(terms: Terms, body: Inertia, motion: SectionMotion, omega: Expr) -> Terms:
    """Return a link's inertia terms with a rigid body added, fixed in a section of the link."""
    local = motion.local
    R, p, N, A = local.rotation, local.position, local.linear, local.angular
    spin = omega + motion.spin
    second = R @ constant(body.second) @ R.T
    first = R @ constant(body.first)
    # velocity of the centre's first moment m v = m (v_L + omega x p + N e') + spin x first
    moment = body.mass * p + first
    linear = body.mass * N - ca.skew(first) @ A
    lever = ca.skew(p)
    about = ca.skew(first) @ N + second @ A
    angular = lever @ linear + about
    whole = second - lever @ ca.skew(first) - ca.skew(first) @ lever - body.mass * lever @ lever
    modal = N.T @ linear + A.T @ about
    # acceleration of the section at zero acceleration of L and of the own coordinates
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


def add(a: Terms, b: Terms) -> Terms:
    """Return the sum of the inertia terms of two parts of a link."""
    return Terms(*(x + y for x, y in zip(vars(a).values(), vars(b).values(), strict=True)))


def scaled(a: Terms, factor: Expr) -> Terms:
    """Return the inertia terms of a link multiplied by a mass factor."""
    return Terms(*(factor * x for x in vars(a).values()))


def axial(moment: Expr) -> Expr:
    """Compute ``int a x b`` (3,) from ``int a b^T`` (3, 3)."""
    return ca.vertcat(
        moment[1, 2] - moment[2, 1], moment[2, 0] - moment[0, 2], moment[0, 1] - moment[1, 0]
    )
