"""The contract of a formulation: how the equation of an arm is obtained.

Every formulation yields ``M(q) a + c(q, v) = B u + sum J^T f``; everything downstream sees only
that.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.formulations.loads import (
    dissipative_force,
    elastic_force,
    input_matrix,
    input_names,
    potential_energy,
    wrench_force,
    wrench_list,
)
from flexarm.kinematics import end_frame, end_jacobian
from flexarm.links.base import Array
from flexarm.model import Model
from flexarm.spatial import Expr


class Formulation(ABC):
    """A way to the equation of an arm.

    A final class declares the facts and implements the two expressions; NumPy in and out is here.
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    assumptions: ClassVar[str]

    def __init__(self, model: Model) -> None:
        self.model = model

    @abstractmethod
    def mass_expression(self, q: Expr) -> Expr:
        """Trace the mass matrix, (n, n)."""

    @abstractmethod
    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Trace what inertia and gravity need at accelerations a (0 if None), (n,)."""

    def forward_expression(self, q: Expr, v: Expr, given: Expr, applied: Expr) -> tuple[Expr, Expr]:
        """Trace accelerations (n,) and the effort (n,) that the prescribed coordinates take.

        Parameters
        ----------
        q, v
            Coordinates and rates.
        given
            Accelerations of the prescribed coordinates, in the order of ``model.prescribed``.
        applied
            Generalised force: inputs and wrenches less elastic and dissipative ones.
        """
        mass = self.mass_expression(q)
        rest = applied - self.inertial_expression(q, v, None, gravity=True)
        known = list(self.model.prescribed)
        open_ = [i for i in range(self.model.size) if i not in known]
        result, effort = ca.SX(self.model.size, 1), ca.SX(self.model.size, 1)
        right = rest[open_]
        if known:
            right = right - mass[open_, known] @ given
        solved = ldl_solve(mass[open_, open_], right)
        for k, i in enumerate(open_):
            result[i] = solved[k]
        for k, i in enumerate(known):
            result[i] = given[k]
        for i in known:
            effort[i] = mass[i, :] @ result - rest[i]
        return result, effort

    def applied_expression(self, q: Expr, v: Expr, u: Expr, factors: Expr) -> Expr:
        """Trace the generalised force of inputs and wrenches less springs and friction, (n,)."""
        total = ca.SX(ca.sparsify(ca.DM(input_matrix(self.model)))) @ u
        total = total + wrench_force(self.model, q, factors)
        return total - elastic_force(self.model, q) - dissipative_force(self.model, q, v)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in the order of u."""
        return input_names(self.model)

    @cached_property
    def _functions(self) -> dict[str, ca.Function]:
        n = self.model.size
        q, v, a = (ca.SX.sym(name, n) for name in "qva")
        u = ca.SX.sym("u", len(self.input_names))
        w = ca.SX.sym("w", len(wrench_list(self.model)))
        given = ca.SX.sym("given", len(self.model.prescribed))
        applied = self.applied_expression(q, v, u, w)
        mass = self.mass_expression(q)
        elastic, weight = potential_energy(self.model, q)
        spring = elastic_force(self.model, q) + dissipative_force(self.model, q, v)
        rotation, position = end_frame(self.model, q)
        linear, angular = end_jacobian(self.model, q)
        outputs = {
            "mass": ([q], [mass]),
            "bias": ([q, v], [self.inertial_expression(q, v, None, gravity=True) + spring]),
            "gravity": ([q], [self.inertial_expression(q, ca.SX(n, 1), None, gravity=True)]),
            "forward": ([q, v, u, w, given], list(self.forward_expression(q, v, given, applied))),
            "inverse": (
                [q, v, a, w],
                [
                    self.inertial_expression(q, v, a, gravity=True)
                    + spring
                    - wrench_force(self.model, q, w)
                ],
            ),
            "energy": ([q, v], [ca.dot(v, mass @ v) / 2, elastic, weight]),
            "tip": ([q], [rotation, position]),
            "jacobian": ([q], [ca.vertcat(linear, angular)]),
        }
        return {
            name: ca.Function(name, ins, [ca.densify(out) for out in outs])
            for name, (ins, outs) in outputs.items()
        }

    def mass_matrix(self, q: Array) -> Array:
        """Mass matrix M, (n, n)."""
        return np.array(self._functions["mass"](q))

    def bias(self, q: Array, v: Array) -> Array:
        """All of c that is not M a: Coriolis, gravity, elastic, dissipative, (n,)."""
        return np.array(self._functions["bias"](q, v)).ravel()

    def gravity(self, q: Array) -> Array:
        """Gravity's part of c, (n,)."""
        return np.array(self._functions["gravity"](q)).ravel()

    def forward_dynamics(
        self, q: Array, v: Array, u: Array, *, factors: Array, given: Array
    ) -> tuple[Array, Array]:
        """Accelerations, and the efforts of prescribed coordinates, (n,) each."""
        a, effort = self._functions["forward"](q, v, u, factors, given)
        return np.array(a).ravel(), np.array(effort).ravel()

    def inverse_dynamics(self, q: Array, v: Array, a: Array, *, factors: Array) -> Array:
        """Generalised force B u that gives accelerations a, (n,)."""
        return np.array(self._functions["inverse"](q, v, a, factors)).ravel()

    def energy(self, q: Array, v: Array) -> tuple[float, float, float]:
        """Kinetic, elastic and gravitational energy [J]."""
        kinetic, elastic, weight = self._functions["energy"](q, v)
        return float(kinetic), float(elastic), float(weight)

    def tip_pose(self, q: Array) -> tuple[Array, Array]:
        """Rotation (3, 3) and position (3,) of the arm's tip in the world."""
        rotation, position = self._functions["tip"](q)
        return np.array(rotation), np.array(position).ravel()

    def tip_jacobian(self, q: Array) -> Array:
        """Jacobian of the arm's tip, linear over angular, in world axes, (6, n)."""
        return np.array(self._functions["jacobian"](q))


def ldl_solve(matrix: Expr, right: Expr) -> Expr:
    """Solve a symmetric positive definite system by an LDL^T that skips structural zeros."""
    n = matrix.shape[0]
    lower: list[dict[int, Expr]] = [{} for _ in range(n)]
    inverse: list[Expr] = []
    scaled: list[dict[int, Expr]] = [{} for _ in range(n)]
    for j in range(n):
        pivot = matrix[j, j]
        for k, factor in lower[j].items():
            pivot = pivot - factor * scaled[j][k]
        inverse.append(1 / pivot)
        for i in range(j + 1, n):
            entry = matrix[i, j]
            for k in lower[i].keys() & lower[j].keys():
                entry = entry - scaled[i][k] * lower[j][k]
            if entry.nnz():
                scaled[i][j] = entry
                lower[i][j] = entry * inverse[j]
    y = [right[i] for i in range(n)]
    for i in range(n):
        for k, factor in lower[i].items():
            y[i] = y[i] - factor * y[k]
    y = [value * inverse[i] for i, value in enumerate(y)]
    for i in range(n - 1, -1, -1):
        for k, factor in lower[i].items():
            y[k] = y[k] - factor * y[i]
    return ca.vertcat(*y)
