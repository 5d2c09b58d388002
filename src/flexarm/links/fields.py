"""Fields along a link that are linear in coefficients: positions, columns, accelerations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.spatial import Expr, constant

Axis = Literal["x", "y", "z"]
AXES: tuple[Axis, ...] = ("x", "y", "z")
# At points (n, g) per axis.
Functions = Mapping[Axis, Array]


@dataclass(frozen=True)
class Field:
    """A vector field along a link: coefficients of a basis per axis."""

    x: Expr
    y: Expr
    z: Expr

    def of(self, axis: Axis) -> Expr:
        """Pick one axis."""
        return {"x": self.x, "y": self.y, "z": self.z}[axis]

    def __add__(self, other: "Field") -> "Field":
        """Add two fields."""
        return Field(self.x + other.x, self.y + other.y, self.z + other.z)

    def __mul__(self, factor: Expr) -> "Field":
        """Scale a field."""
        return Field(self.x * factor, self.y * factor, self.z * factor)


@dataclass(frozen=True)
class Moving:
    """A field, its rate per own coordinate and its acceleration from velocities."""

    value: Field
    columns: tuple[Field, ...]
    bias: Field

    def speed(self, rates: Expr) -> Field:
        """Sum the columns times rates, (k,)."""
        total = self.bias * 0
        for k, column in enumerate(self.columns):
            total = total + column * rates[k]
        return total


@dataclass(frozen=True)
class Basis:
    """Functions of the place along a link, n per axis, by their integrals over its mass."""

    # gram, mean: integrals of products, (n, n) per pair of axes, and of the functions, (n,) per
    # axis.
    gram: Mapping[tuple[Axis, Axis], Array]
    mean: Mapping[Axis, Array]
    mass: float  # integral of 1

    @classmethod
    def of(cls, functions: Functions, weights: Array) -> "Basis":
        """Integrate functions that are given at points with weights (g,)."""
        one = np.ones((1, len(weights)))
        return cls(
            {
                (a, b): product_integrals(functions[a], functions[b], weights)
                for a in AXES
                for b in AXES
            },
            {a: product_integrals(f, one, weights)[:, 0] for a, f in functions.items()},
            float(weights.sum()),
        )

    def moment(self, f: Field, g: Field) -> Expr:
        """Integrate ``f g^T`` over the mass, (3, 3)."""
        rows = []
        for a in AXES:
            left = f.of(a)
            rows.append(
                ca.horzcat(*[ca.dot(constant(self.gram[a, b].T) @ left, g.of(b)) for b in AXES])
            )
        return ca.vertcat(*rows)

    def integral(self, f: Field) -> Expr:
        """Integrate a field over the mass, (3,)."""
        return ca.vertcat(*[ca.dot(constant(self.mean[a]), f.of(a)) for a in AXES])


def evaluate(moving: Moving, functions: Functions) -> tuple[Expr, Expr, Expr]:
    """Evaluate a moving field at the one place of functions: value, columns (3, k), bias."""

    def at(field: Field) -> Expr:
        return ca.vertcat(*[ca.dot(constant(functions[a][:, 0]), field.of(a)) for a in AXES])

    return at(moving.value), ca.horzcat(*[at(c) for c in moving.columns]), at(moving.bias)


def product_integrals(f: Array, g: Array, weights: Array) -> Array:
    """Integrate products of functions given at the points, (n, points) and (m, points): (n, m).

    What is rounding beside the largest value that functions of such size can have (Schwarz) is
    zero: for orthogonal shapes the sum comes to at most 3e-14 of it, for others to 1e-5 and more.
    """
    left, right = f * np.sqrt(weights), g * np.sqrt(weights)
    largest = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    found = left @ right.T
    return np.where(np.abs(found) <= 1e-13 * largest, 0.0, found)
