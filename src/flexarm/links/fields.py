"""Vector fields along a link, their mass integrals, and the variables of section angles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.spatial import Array, Expr, Scalar, constant, settled


@dataclass(frozen=True)
class Amounts:
    """Variables (K,) on which the section angles of a beam depend linearly.

    For a beam of constant length, these variables are its amplitudes. For a sliding beam, whose
    first link coordinate is the exposed length, the variables are the amplitudes of its parent
    curves divided by that length.
    """

    value: Expr  # the variables, (K,)
    rate: Expr  # rates of the variables, (K,)
    bias: Expr  # second time derivatives of the variables at zero accelerations, (K,)
    k: int  # number of link coordinates
    # Derivatives with respect to the link coordinates, (K, k); None for a beam of constant length,
    # whose link coordinates are the variables.
    columns: Expr | None
    length: Expr  # exposed length [m], which scales positions; 1 for constant length
    out: Expr  # rate of the exposed length [m/s]; 0 for constant length

    @classmethod
    def fixed(cls, d: Expr, rates: Expr) -> "Amounts":
        """Return the variables of a beam of constant length: its amplitudes d and their rates."""
        matrix_type, count = type(d), d.shape[0]
        return cls(d, rates, matrix_type(count, 1), count, None, matrix_type(1), matrix_type(1, 1))


Axis = Literal["x", "y", "z"]
AXES: tuple[Axis, ...] = ("x", "y", "z")
# Per axis, the values (n, g) of n functions at g points.
Functions = Mapping[Axis, Array]


@dataclass(frozen=True)
class Field:
    """Vector field along a link: x, y and z components as coefficients of basis functions."""

    x: Expr
    y: Expr
    z: Expr

    def of(self, axis: Axis) -> Expr:
        """Return the coefficients of one component."""
        return {"x": self.x, "y": self.y, "z": self.z}[axis]

    def __add__(self, other: "Field") -> "Field":
        """Return the sum of two fields."""
        return Field(self.x + other.x, self.y + other.y, self.z + other.z)

    def __mul__(self, factor: Scalar) -> "Field":
        """Return the field multiplied by a scalar."""
        return Field(self.x * factor, self.y * factor, self.z * factor)


@dataclass(frozen=True)
class MovingField:
    """Positions along a link as a field, with their Jacobian and velocity-dependent acceleration.

    ``columns`` contains one field per link coordinate: the velocity per unit rate of this
    coordinate. ``bias`` is the acceleration at zero second derivatives of the coordinates.
    """

    value: Field
    columns: tuple[Field, ...]
    bias: Field

    def speed(self, rates: Expr) -> Field:
        """Return the velocity field for given rates of the link coordinates, (k,)."""
        total = self.bias * 0
        for k, column in enumerate(self.columns):
            total = total + column * rates[k]
        return total


@dataclass(frozen=True)
class Basis:
    """Mass integrals of n basis functions per axis along a link."""

    gram: Mapping[tuple[Axis, Axis], Array]  # integrals of products, (n, n) per pair of axes
    mean: Mapping[Axis, Array]  # integrals of the functions, (n,) per axis
    mass: float  # total mass, the integral of 1

    @classmethod
    def of(
        cls, functions: Functions, weights: Array, jumps: tuple[Array, Array] | None = None
    ) -> "Basis":
        """Compute the mass integrals of functions given at g quadrature points with weights (g,).

        If functions jump at j positions, their means and pulses there, (3 n, j) each for all axes,
        contribute to the integrals. Integrals that are only rounding errors relative to the bound
        of Schwarz's inequality are set to 0: orthogonal shapes give at most 3e-14 of the bound,
        other shapes at least 1e-5.
        """
        values = np.concatenate([functions[a] for a in AXES])
        scaled, mass = values * np.sqrt(weights), float(weights.sum())
        size = np.linalg.norm(scaled, axis=1)
        gram, mean = scaled @ scaled.T, values @ weights
        sizes, mean_sizes = np.outer(size, size), size * np.sqrt(mass)
        if jumps is not None:
            jump_means, pulses = jumps
            jump_gram, jump_sizes = jump_means @ pulses.T, np.abs(jump_means) @ np.abs(pulses).T
            gram, mean = gram + jump_gram + jump_gram.T, mean + pulses.sum(axis=1)
            sizes, mean_sizes = (
                sizes + jump_sizes + jump_sizes.T,
                mean_sizes + np.abs(pulses).sum(axis=1),
            )
        ends = np.cumsum([len(functions[a]) for a in AXES])[:-1]
        rows = np.split(settled(gram, sizes), ends)
        blocks = [np.split(row, ends, axis=1) for row in rows]
        means = np.split(settled(mean, mean_sizes), ends)
        return cls(
            {(a, b): blocks[i][j] for i, a in enumerate(AXES) for j, b in enumerate(AXES)},
            dict(zip(AXES, means, strict=True)),
            mass,
        )

    def weighed(self, f: Field) -> "Weighed":
        """Return a field's coefficients multiplied by the Gram matrix of each pair of axes."""
        return Weighed({(a, b): constant(self.gram[a, b].T) @ f.of(a) for a in AXES for b in AXES})

    def moment(self, f: Field, g: Field) -> Expr:
        """Compute the mass integral of ``f g^T`` for vector fields f and g, shape (3, 3)."""
        return self.weighed(f).moment(g)

    def integral(self, f: Field) -> Expr:
        """Compute the mass integral of a field, shape (3,)."""
        return ca.vertcat(*[ca.dot(constant(self.mean[a]), f.of(a)) for a in AXES])


@dataclass(frozen=True)
class Weighed:
    """Coefficients of a vector field f multiplied by the Gram matrices of a `Basis`.

    A key is a pair of axes: the component of f, and the component of another field g.
    """

    products: Mapping[tuple[Axis, Axis], Expr]

    def moment(self, g: Field) -> Expr:
        """Compute the mass integral of ``f g^T`` for another vector field g, (3, 3)."""
        rows = [[ca.dot(self.products[a, b], g.of(b)) for b in AXES] for a in AXES]
        return ca.vertcat(*[ca.horzcat(*row) for row in rows])

    def product(self, g: Field) -> Expr:
        """Compute the mass integral of the scalar product ``f . g`` for another vector field g."""
        x, y, z = (ca.dot(self.products[a, a], g.of(a)) for a in AXES)
        return x + y + z


def evaluate(moving: MovingField, functions: Functions) -> tuple[Expr, Expr, Expr]:
    """Evaluate a field's position (3,), Jacobian (3, k) and acceleration bias (3,) at one point."""
    ends = np.cumsum([len(functions[a]) for a in AXES])[:-1]
    values = np.split(settled(np.concatenate([functions[a][:, 0] for a in AXES])), ends)

    def combine(field: Field) -> Expr:
        rows = zip(values, AXES, strict=True)
        return ca.vertcat(*[ca.dot(constant(row), field.of(a)) for row, a in rows])

    return (
        combine(moving.value),
        ca.horzcat(*[combine(c) for c in moving.columns]),
        combine(moving.bias),
    )
