"""Rotations, frames and rigid-body inertia as pure functions.

Functions with ``Array`` arguments compute constants when a model is built. Functions with ``Expr``
arguments accept symbols (``casadi.SX``) and numbers (``casadi.DM``).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.constants import ROUNDING
from flexarm.engine.constants import EQUAL_NUMBERS
from flexarm.engine.numbers import as_numbers

Array: TypeAlias = npt.NDArray[np.float64]
Expr: TypeAlias = ca.SX | ca.DM  # matrix of expressions, or of numbers
Scalar: TypeAlias = Expr | float  # an expression or number of shape (1, 1), or a float


def settled(values: Array, size: Array | float | None = None) -> Array:
    """Snap values that differ only by rounding from 0, from an integer or from each other.

    Symbolic equations omit zeros and compute equal numbers once. Without snapping, the rounding of
    the processor would decide which numbers are zero or equal. Numbers that are opposite up to
    rounding get equal magnitudes.

    Parameters
    ----------
    values
        Numbers; an array of Python objects (symbols) is returned unchanged.
    size
        Scale of each number, which multiplies the relative rounding error; by default the largest
        magnitude.
    """
    if values.dtype == object:
        return values
    sizes = np.abs(values)
    if not (sizes.size and np.isfinite(sizes).all()):
        return values
    flat, result = sizes.ravel(), np.zeros(sizes.size)
    order = flat.argsort()[sizes.size - np.count_nonzero(flat) :]  # order of the nonzero values
    if not len(order):
        return result.reshape(values.shape)
    flat = flat[order]
    scale = flat[-1] if size is None else size
    if isinstance(scale, np.ndarray):
        scale = np.broadcast_to(scale, values.shape).ravel()[order]
    room = ROUNDING * scale
    close = np.minimum(room, EQUAL_NUMBERS * flat)
    first = np.arange(len(flat))
    first[1:] *= flat[1:] - flat[:-1] > np.minimum(close[1:], close[:-1])
    equal = flat[np.maximum.accumulate(first)]
    snapped = np.where(flat - equal <= close, equal, flat)
    whole = np.rint(snapped)
    snapped = np.where(np.abs(snapped - whole) <= close, whole, snapped)
    snapped[flat <= room] = 0.0
    result[order] = snapped
    return np.asarray(np.copysign(result.reshape(values.shape), values) + 0.0)


def turn(axis: int, angle: float) -> Array:
    """Return the rotation matrix about axis 0, 1, 2 (x, y, z) by an angle [rad], (3, 3).

    Rotations by multiples of 90 degrees have exact zeros, which symbolic equations omit. At odd
    multiples of 45 degrees, sine and cosine have exactly equal magnitudes.
    """
    c, s = np.cos(angle), np.sin(angle)
    c, s = (0.0 if abs(c) < 1e-15 else c), (0.0 if abs(s) < 1e-15 else s)
    if isinstance(c, float) and abs(abs(c) - abs(s)) < 1e-15:
        s = math.copysign(c, s)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3) if isinstance(c, float) else np.eye(3, dtype=object)
    matrix[i, i] = matrix[j, j] = c
    matrix[i, j], matrix[j, i] = -s, s
    return matrix


def rotation_from_angles(angles: tuple[float, float, float]) -> Array:
    """Return the rotation matrix by angles [rad] about the fixed x, then y, then z axis."""
    return turn(2, angles[2]) @ turn(1, angles[1]) @ turn(0, angles[0])


def angles_from_rotation(turn: Array) -> list[float]:
    """Return the angles [rad] of a rotation matrix about the fixed x, then y, then z axis."""
    z = math.atan2(turn[1, 0], turn[0, 0])
    y = math.atan2(-turn[2, 0], math.hypot(turn[0, 0], turn[1, 0]))
    # Near y = 90 deg (gimbal lock) z is arbitrary, and x is computed to match it.
    across = math.cos(z) * turn[1] - math.sin(z) * turn[0]
    return [math.atan2(-across[2], across[1]), y, z]


def rotation_z_to(axis: tuple[float, float, float]) -> Array:
    """Return a rotation matrix whose third column is the direction of an axis.

    The matrix is a signed permutation matrix if the axis is a coordinate axis.
    """
    z = unit_vector(axis)
    helper = np.eye(3)[(int(np.argmax(np.abs(z))) + 1) % 3]
    x = helper - z * (z @ helper)
    x /= np.linalg.norm(x)
    matrix = np.array([x, skew_matrix(z) @ x, z]).T
    matrix[np.abs(matrix) < 1e-15] = 0.0
    return matrix


def unit_vector(vector: tuple[float, float, float]) -> Array:
    """Return the unit vector along a nonzero vector, (3,)."""
    # Scale the vector first, since squares of its components could overflow or underflow.
    scaled = np.array(vector) / max(abs(component) for component in vector)
    return np.asarray(scaled / np.linalg.norm(scaled))


def skew_matrix(a: Array) -> Array:
    """Return the skew-symmetric matrix a~ with a~ b = a x b, (3, 3)."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def axial_vectors(moments: Array) -> Array:
    """Return ``int a x b``, (..., 3), from ``int a b^T``, (..., 3, 3)."""
    odd = moments - moments.swapaxes(-1, -2)
    return np.stack([odd[..., 1, 2], odd[..., 2, 0], odd[..., 0, 1]], axis=-1)


CROSS = np.array([skew_matrix(axis) for axis in np.eye(3)])  # skew matrices of the axes


@dataclass(frozen=True)
class Pose:
    """Pose of a frame B in a frame A: rotation from B to A axes, and B's origin in A [m]."""

    rotation: Array
    position: Array

    @classmethod
    def along(cls, x: float) -> "Pose":
        """Return the pose of a frame with the same axes at a distance along x [m]."""
        return cls(np.eye(3), np.array([x, 0.0, 0.0]))

    def inverse(self) -> "Pose":
        """Return the inverse pose, of frame A in frame B."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)

    def __matmul__(self, other: "Pose") -> "Pose":
        """Return the pose of C in A, from this pose of B in A and the pose of C in B."""
        return Pose(self.rotation @ other.rotation, self.position + self.rotation @ other.position)


IDENTITY = Pose(np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class Inertia:
    """Inertia of a rigid body about a frame's origin, in the frame's axes."""

    mass: float  # mass [kg]
    first: Array  # first moment, mass times centre [kg m], (3,)
    second: Array  # inertia matrix about the origin [kg m^2], (3, 3)

    @property
    def weighs(self) -> bool:
        """Whether the body has mass or inertia."""
        return bool(self.mass) or bool(np.any(self.second))

    @property
    def matrix(self) -> Array:
        """Spatial inertia matrix, angular over linear, (6, 6)."""
        cross = skew_matrix(self.first)
        return np.block([[self.second, cross], [cross.T, self.mass * np.eye(3)]])

    @property
    def numbers(self) -> Array:
        """Mass, first moment, and xx, xy, xz, yy, yz, zz of the inertia matrix, (10,)."""
        upper = self.second[np.triu_indices(3)]
        return np.array([self.mass, *self.first, *upper], np.result_type(self.second, float))

    @classmethod
    def of_symbols(cls, numbers: ca.SX) -> "Inertia":
        """Build a body from ten symbols in the order of `numbers`; its mass counts as nonzero."""
        return cls.of_numbers(np.array(as_numbers(numbers), dtype=object))

    @classmethod
    def of_numbers(cls, numbers: npt.NDArray[Any]) -> "Inertia":
        """Build a body from ten numbers in the order of `numbers`."""
        mass, *first, xx, xy, xz, yy, yz, zz = numbers.tolist()
        second = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        return cls(mass, np.array(first, numbers.dtype), np.array(second, numbers.dtype))

    def __sub__(self, other: "Inertia") -> "Inertia":
        """Return the difference of two inertias in the same frame."""
        return Inertia(self.mass - other.mass, self.first - other.first, self.second - other.second)

    def __add__(self, other: "Inertia") -> "Inertia":
        """Return the sum of two inertias in the same frame."""
        return Inertia(self.mass + other.mass, self.first + other.first, self.second + other.second)

    @property
    def centre(self) -> Array:
        """Centre of mass [m], (3,); the origin for a body without mass."""
        return self.first / self.mass if self.mass else np.zeros(3)

    @property
    def central(self) -> tuple[float, ...]:
        """Inertia about the centre of mass [kg m^2]: xx, yy, zz, xy, xz, yz."""
        cross = skew_matrix(self.centre)
        xx, xy, xz, _, yy, yz, _, _, zz = (self.second + self.mass * cross @ cross).ravel()
        return tuple(float(entry) for entry in (xx, yy, zz, xy, xz, yz))

    def moved(self, pose: Pose) -> "Inertia":
        """Return the inertia in a frame A, given the pose of the body's own frame B in A."""
        if not self.weighs:
            return self
        rotation, p = pose.rotation, pose.position
        turned = rotation @ self.first
        cross = skew_matrix(p) @ skew_matrix(turned)
        second = (
            rotation @ self.second @ rotation.T
            - cross
            - cross.T
            - self.mass * skew_matrix(p) @ skew_matrix(p)
        )
        return Inertia(self.mass, turned + self.mass * p, second)


NO_INERTIA = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


def constant(array: Array) -> Expr:
    """Return a CasADi matrix of numbers or symbols, with structural zeros."""
    if array.dtype != object:
        numbers = np.asarray(array, dtype=np.float64)
        return _constant(numbers.shape, numbers.tobytes())
    rows = array if array.ndim == 2 else array[:, None]
    elements = [
        (i, j, number.__SX__() if hasattr(number, "__SX__") else ca.SX(number))
        for j, column in enumerate(rows.T.tolist())
        for i, number in enumerate(column)
        if not isinstance(number, float) or number != 0.0
    ]
    if not elements:
        return ca.SX(*rows.shape)
    # Build the matrix at once, since setting elements is slow.
    i, j, numbers = zip(*elements, strict=True)
    sparsity = ca.Sparsity.triplet(rows.shape[0], rows.shape[1], i, j)
    return ca.SX(sparsity, ca.vertcat(*numbers))


@lru_cache(maxsize=2000)  # every equation of an arm uses the same constants
def _constant(shape: tuple[int, ...], contents: bytes) -> Expr:
    return ca.sparsify(ca.DM(np.frombuffer(contents).reshape(shape)))


def turn_about(axis: int, angle: Expr) -> Expr:
    """Return the rotation matrix about x, y or z (axis 0, 1, 2) by an angle [rad], (3, 3)."""
    c: Expr = ca.cos(angle)
    s: Expr = ca.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = type(c).eye(3)
    matrix[i, i], matrix[j, j], matrix[i, j], matrix[j, i] = c, c, -s, s
    return matrix


def turn_z(angle: Expr) -> Expr:
    """Return the rotation matrix about z by an angle [rad], (3, 3)."""
    return turn_about(2, angle)


def base_rotation(angles: Expr) -> Expr:
    """Return the rotation matrix ``Rx(rx) Ry(ry) Rz(rz)`` of a moving base, (3, 3)."""
    x, y, z = (turn_about(axis, angles[axis]) for axis in range(3))
    return x @ y @ z


def angle_columns(angles: Expr) -> Expr:
    """Return the angular velocity per angle rate of `base_rotation`, in rotated axes, (3, 3)."""
    cy, sy, cz, sz = ca.cos(angles[1]), ca.sin(angles[1]), ca.cos(angles[2]), ca.sin(angles[2])
    return ca.vertcat(ca.horzcat(cy * cz, sz, 0), ca.horzcat(-cy * sz, cz, 0), ca.horzcat(sy, 0, 1))


def angle_bias(angles: Expr, v: Expr) -> Expr:
    """Return the rate of angular velocity of `base_rotation` at constant angle rates v, (3,)."""
    cy, sy, cz, sz = ca.cos(angles[1]), ca.sin(angles[1]), ca.cos(angles[2]), ca.sin(angles[2])
    return ca.vertcat(
        -v[0] * (sy * cz * v[1] + cy * sz * v[2]) + cz * v[1] * v[2],
        v[0] * (sy * sz * v[1] - cy * cz * v[2]) - sz * v[1] * v[2],
        cy * v[0] * v[1],
    )


def base_rotation_matrix(angles: Array) -> Array:
    """Return the rotation matrix ``Rx(rx) Ry(ry) Rz(rz)`` for numerical angles, (3, 3)."""
    return turn(0, float(angles[0])) @ turn(1, float(angles[1])) @ turn(2, float(angles[2]))


def rotations_between(
    reference_attitudes: Array, angles: Array, others: Array, other_angles: Array
) -> Array:
    """Return the rotation vectors [rad] from given attitudes to other attitudes, (T, 3).

    An attitude is a reference attitude, (T, 3, 3), followed by the rotation by angles, (T, 3).
    """
    rotations = np.zeros_like(angles)
    for k, (reference_attitude, other) in enumerate(zip(reference_attitudes, others, strict=True)):
        here = reference_attitude @ base_rotation_matrix(angles[k])
        R = here.T @ other @ base_rotation_matrix(other_angles[k])
        sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
        size = float(np.linalg.norm(sine))
        angle = np.arctan2(size, (np.trace(R) - 1) / 2)
        rotations[k] = sine * (angle / size if size else 1.0)
    return rotations


def rebased(reference: Expr, angles: Expr, rates: Expr) -> tuple[Expr, Expr]:
    """Return the current attitude as new reference attitude, and the rates of the new angles.

    Re-basing keeps the angles away from gimbal lock.

    Returns
    -------
    reference, rates
        New reference attitude, (3, 3), and rates of the angles relative to it, (3,). The new angles
        are 0.
    """
    return reference @ base_rotation(angles), angle_columns(angles) @ rates


def rebase(reference: Array, angles: Array, rates: Array) -> None:
    """Replace reference attitude, angles and rates in place by the results of `rebased`."""
    rebased_state = rebased(*map(ca.DM, (reference, angles, rates)))
    reference[:], rates[:] = np.array(rebased_state[0]), np.array(rebased_state[1]).ravel()
    angles[:] = 0.0


def cayley(c: Expr) -> tuple[Expr, Expr]:
    """Return the rotation ``(1 - c~/2)^-1 (1 + c~/2)`` of a Cayley vector c, and the matrix H.

    The rotation is exact and rational in c. The relative angular velocity is ``H c'``, in the axes
    after the rotation (those of L).
    """
    scale = 1 / (1 + ca.dot(c, c) / 4)
    matrix = ca.skew(c)
    identity = type(scale).eye(3)
    square = c @ c.T - ca.dot(c, c) * identity
    return identity + scale * (matrix + square / 2), scale * (identity + matrix / 2)
