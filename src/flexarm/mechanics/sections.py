"""Poses of link sections in the root frame, from displacements and angles."""

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr, cayley, constant


@dataclass(frozen=True)
class Local:
    """Pose and Jacobian of a section of a link in the link's root frame L."""

    # position, rotation: place (3,) and rotation (3, 3) of the section, in L.
    position: Expr
    rotation: Expr
    # linear, angular: velocity and angular velocity per rate of each of the link's own coordinates,
    # (3, k), in L; of a sliding link the exposed length comes first.
    linear: Expr
    angular: Expr


def own_values(part: LinkModel, q: Expr) -> Expr:
    """Return a link's k own coordinates from q, or their rates from v, (k,)."""
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
    """Return the section at x [m] of a link that k own coordinates do not deform."""
    none = type(q)(3, k)
    return Local(type(q)(constant(np.array([x, 0.0, 0.0]))), type(q).eye(3), none, none)


def beyond(tip: Local, along: float) -> Local:
    """Return a section of the rigid tip piece, at a distance [m] beyond the flexible tip."""
    arm = tip.rotation @ constant(np.array([along, 0.0, 0.0]))
    linear = tip.linear - ca.skew(arm) @ tip.angular
    return Local(tip.position + arm, tip.rotation, linear, tip.angular)


def quadratic_section(d: Expr, linear: Array, quadratic: Array) -> tuple[Expr, Expr]:
    """Compute ``linear d + 1/2 d^T quadratic d``, (3,), and its derivative by d, (3, m)."""
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


def section_rotation(model: Model, angle: Expr) -> tuple[Expr, Expr]:
    """Return a section's rotation from first-order angles, and its angular Jacobian by them.

    In the series theory the section's x axis is tangent to the deformed axis to third order: the
    Cayley vector is ``theta (1 + (theta_y^2 + theta_z^2)/4)``.
    """
    if model.tip_rotation == "first-order":
        return type(angle).eye(3) + ca.skew(angle), type(angle).eye(3)
    vector, growth = angle, type(angle).eye(3)
    if model.stiffening:
        scale = 1 + (angle[1] ** 2 + angle[2] ** 2) / 4
        vector = angle * scale
        growth = type(angle).eye(3) * scale + angle @ ca.horzcat(0, angle[1], angle[2]) / 2
    rotation, rate = cayley(vector)
    return rotation, rate @ growth
