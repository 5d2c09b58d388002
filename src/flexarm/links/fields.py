"""Fields along a link that are linear in coefficients: positions, columns, accelerations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.spatial import Expr, constant, settled

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
class MovingField:
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
    def of(
        cls, functions: Functions, weights: Array, jumps: tuple[Array, Array] | None = None
    ) -> "Basis":
        """Integrate functions that are given at points with weights (g,).

        At jumps functions of all axes have means and pulses, (3 n, j) each, which count too.  What
        is rounding beside the largest value that functions of such size can have (Schwarz) is zero:
        for orthogonal shapes the sum comes to at most 3e-14 of it, for others to 1e-5 and more.
        """
        every = np.concatenate([functions[a] for a in AXES])
        scaled, mass = every * np.sqrt(weights), float(weights.sum())
        size = np.linalg.norm(scaled, axis=1)
        gram, mean = scaled @ scaled.T, every @ weights
        sizes, large = np.outer(size, size), size * np.sqrt(mass)
        if jumps is not None:
            middle, pulse = jumps
            added, most = middle @ pulse.T, np.abs(middle) @ np.abs(pulse).T
            gram, mean = gram + added + added.T, mean + pulse.sum(axis=1)
            sizes, large = sizes + most + most.T, large + np.abs(pulse).sum(axis=1)
        ends = np.cumsum([len(functions[a]) for a in AXES])[:-1]
        rows = np.split(settled(gram, sizes), ends)
        blocks = [np.split(row, ends, axis=1) for row in rows]
        means = np.split(settled(mean, large), ends)
        return cls(
            {(a, b): blocks[i][j] for i, a in enumerate(AXES) for j, b in enumerate(AXES)},
            dict(zip(AXES, means, strict=True)),
            mass,
        )

    def weighed(self, f: Field) -> "Weighed":
        """Multiply a field by the integrals of products, for its moments with other fields."""
        return Weighed({(a, b): constant(self.gram[a, b].T) @ f.of(a) for a in AXES for b in AXES})

    def moment(self, f: Field, g: Field) -> Expr:
        """Integrate ``f g^T`` over the mass, (3, 3)."""
        return self.weighed(f).moment(g)

    def integral(self, f: Field) -> Expr:
        """Integrate a field over the mass, (3,)."""
        return ca.vertcat(*[ca.dot(constant(self.mean[a]), f.of(a)) for a in AXES])


@dataclass(frozen=True)
class Weighed:
    """A field f times the integrals of products, per pair of its axis and another field's."""

    products: Mapping[tuple[Axis, Axis], Expr]

    def moment(self, g: Field) -> Expr:
        """Integrate ``f g^T`` over the mass, (3, 3)."""
        rows = [[ca.dot(self.products[a, b], g.of(b)) for b in AXES] for a in AXES]
        return ca.vertcat(*[ca.horzcat(*row) for row in rows])

    def product(self, g: Field) -> Expr:
        """Integrate ``f . g`` over the mass."""
        x, y, z = (ca.dot(self.products[a, a], g.of(a)) for a in AXES)
        return x + y + z


def evaluate(moving: MovingField, functions: Functions) -> tuple[Expr, Expr, Expr]:
    """Evaluate a moving field at the one place of functions: value, columns (3, k), bias."""
    ends = np.cumsum([len(functions[a]) for a in AXES])[:-1]
    there = np.split(settled(np.concatenate([functions[a][:, 0] for a in AXES])), ends)

    def at(field: Field) -> Expr:
        rows = zip(there, AXES, strict=True)
        return ca.vertcat(*[ca.dot(constant(row), field.of(a)) for row, a in rows])

    return at(moving.value), ca.horzcat(*[at(c) for c in moving.columns]), at(moving.bias)
