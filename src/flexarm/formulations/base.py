"""The contract of a formulation: how the equation of an arm is obtained.

Every formulation yields ``M(q) a + c(q, v) = B u + sum J^T f``; everything downstream sees only
that.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import casadi as ca
import numpy as np

from flexarm.arguments import is_number, is_word, refused, require_kind, shown
from flexarm.engine.compile import EFFORT, Compiled, Level, real_numbers
from flexarm.engine.family import Family
from flexarm.engine.functions import compile_recipe
from flexarm.errors import FlexarmError
from flexarm.formulations.loads import (
    dissipative_force,
    elastic_force,
    input_matrix,
    input_names,
    potential_energy,
    prescribed_accelerations,
    wrench_factors,
    wrench_force,
    wrench_list,
)
from flexarm.formulations.singular import SINGULAR, singularity
from flexarm.kinematics import end_frame, end_jacobian
from flexarm.links.base import Array
from flexarm.model import Model, fingerprint
from flexarm.spatial import Expr

# Relative to a range of exposed lengths: a run that ends there stops a little beyond.
SLACK = 1e-6
ROUNDED = 1e-6  # of an anchor that was written down with few digits
_Recipe = tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]


class Formulation(ABC):
    """A way to the equation of an arm.

    A final class declares the facts and implements the two expressions; NumPy in and out is here.
    Arrays must be real and of the right shape, times finite, exposed lengths of sliding links
    within their range.  Other NaN and infinities are not looked for: they make NaN.

    Where an approximation may leave M singular or indefinite at some coordinates, the equation is
    `guarded`: it has no accelerations there, which NumPy's methods say in words.
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    assumptions: ClassVar[str]

    def __init__(self, model: Model, *, paper: bool = False) -> None:
        self.model, self.paper = model, paper
        self.guarded = paper or model.tip_rotation == "first-order"
        self.family: Family | None = None
        self._compiled: dict[tuple[str, Level], Compiled] = {}
        self.anchor = model.base_pose.rotation

    @classmethod
    def refusal(cls, model: Model, *, paper: bool) -> str | None:
        """Tell why a model cannot be treated this way, or None if it can."""
        if paper:
            return "it has no paper whose approximations it could keep"
        if model.tip_rotation == "first-order":
            return (
                "with first-order tip rotation outboard bodies are not rigid: "
                "build the model with tip_rotation='cayley'"
            )
        return None

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
        if open_:
            right = rest[open_]
            if known:
                right = right - mass[open_, known] @ given
            least = SINGULAR if self.guarded else None
            solved = ldl_solve(mass[open_, open_], right, least=least)
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

    def joint_wrench_expression(self, q: Expr, v: Expr, a: Expr, factors: Expr) -> Expr:
        """Trace what each joint transmits to its link, force over torque, (6, links).

        In world axes, at the joint's origin; wrenches on the links outboard are taken into account.
        """
        raise FlexarmError(f"{self.name} does not give joint wrenches: use composite")

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in the order of u."""
        return input_names(self.model)

    def mass_matrix(self, q: Array) -> Array:
        """Compute the mass matrix M, (n, n)."""
        return self._evaluate("mass_matrix", q)[0].reshape(self.model.size, self.model.size)

    def bias(self, q: Array, v: Array, t: float = 0.0) -> Array:
        """Compute all of c: Coriolis, gravity, elastic and dissipative forces, (n,).

        It does not change with t, which has the same place in all these methods.
        """
        checked_time(t)
        return self._evaluate("bias", q, v)[0]

    def parts(self, q: Array, v: Array) -> dict[str, Array]:
        """Compute the parts of c by name: coriolis, gravity, elastic, dissipative, (n,) each."""
        values = self._evaluate("parts", q, v)
        return dict(zip(("coriolis", "gravity", "elastic", "dissipative"), values, strict=True))

    def gravity(self, q: Array) -> Array:
        """Compute gravity's part of c, (n,)."""
        return self._evaluate("gravity", q)[0]

    def forward_dynamics(self, q: Array, v: Array, u: Array, t: float = 0.0) -> Array:
        """Compute accelerations under inputs u, (n,); those prescribed are as their motion says.

        Raises
        ------
        FlexarmError
            If an approximation of the formulation leaves M singular or indefinite at q.
        """
        return self._driven_call("forward_dynamics", q, v, u, t)[0]

    def reaction(self, q: Array, v: Array, u: Array, t: float = 0.0) -> Array:
        """Compute the effort that each prescribed coordinate takes, (number prescribed,)."""
        effort = self._driven_call("forward_dynamics", q, v, u, t)[1]
        return effort[list(self.model.prescribed)]

    def motion(self, q: Array, v: Array, u: Array, t: float = 0.0) -> tuple[Array, "Power"]:
        """Compute accelerations (n,), and the powers [W] that change the arm's energy."""
        a, power = self._driven_call("motion", q, v, u, t)
        return a, Power(*power.tolist())

    def inverse_dynamics(self, q: Array, v: Array, a: Array, t: float = 0.0) -> Array:
        """Compute the generalised force ``M a + c - sum J^T f`` that accelerations a take, (n,)."""
        return self._evaluate("inverse_dynamics", q, v, a, self._factors(t))[0]

    def energy(self, q: Array, v: Array) -> "Energy":
        """Compute kinetic, elastic and gravitational energy [J]."""
        return Energy(*(value.item() for value in self._evaluate("energy", q, v)))

    def tip_pose(self, q: Array) -> tuple[Array, Array]:
        """Compute rotation (3, 3) and position (3,) of the arm's tip in the world."""
        rotation, position = self._evaluate("tip_pose", q)
        return rotation, position

    def tip_jacobian(self, q: Array) -> Array:
        """Compute the Jacobian of the arm's tip, linear over angular, in world axes, (6, n)."""
        return self._evaluate("tip_jacobian", q)[0].reshape(6, self.model.size)

    def joint_wrench(self, q: Array, v: Array, a: Array, t: float = 0.0) -> Array:
        """Compute what each joint transmits to its link, (links, 6): force [N], torque [N m].

        In world axes, at the joint's origin, at accelerations a.
        """
        wrenches = self._evaluate("joint_wrench", q, v, a, self._factors(t))[0]
        return wrenches.reshape(6, len(self.model.links)).T

    def function(self, name: str) -> ca.Function:
        """Trace one of the functions above, CasADi's symbols in and out.

        ``forward_dynamics`` takes q, v, u, wrench factors and prescribed accelerations, and gives
        accelerations and efforts.  With a free base every function takes its anchor attitude last.
        """
        sizes = {
            "q": self.model.size,
            "v": self.model.size,
            "a": self.model.size,
            "u": len(self.input_names),
            "w": len(wrench_list(self.model)),
            "given": len(self.model.prescribed),
        }
        anchor = ca.SX.sym("anchor", 3, 3)
        model = replace(self.model, anchor=anchor) if self.model.floats else self.model
        recipes = self._like(model)._recipes()
        if not is_word(name, recipes):
            raise FlexarmError(f"no function {shown(name)}: there are {', '.join(recipes)}")
        make, inputs, outputs = recipes[name]
        symbols = [ca.SX.sym(key, sizes[key]) for key in inputs]
        results = make(*symbols)
        results = list(results) if isinstance(results, tuple | list) else [results]
        if self.model.floats:
            symbols, inputs = [*symbols, anchor], (*inputs, "anchor")
        return ca.Function(name, symbols, results, list(inputs), list(outputs))

    def anchored(self, anchor: Array) -> "Formulation":
        """Take another attitude, a rotation (3, 3), that a free base's angles are relative to."""
        rotation = real_numbers("anchor", anchor, (3, 3)).copy()
        off = np.abs(rotation @ rotation.T - np.eye(3)).max()
        if not off <= ROUNDED or np.linalg.det(rotation) < 0:
            raise FlexarmError(
                "anchor: must be a rotation: columns of length 1 at right angles, right-handed"
            )
        other = self._like(self.model)
        other._compiled, other.anchor = self._compiled, rotation
        other.family = self.family
        return other

    def _like(self, model: Model) -> "Formulation":
        """Treat another model the same way: a subclass with more options hands them on."""
        return type(self)(model, paper=self.paper)

    def options(self) -> str:
        """Tell apart what this class compiles for one model: a subclass adds its options."""
        return f"paper={self.paper}"

    def among(self, family: Family) -> "Formulation":
        """Share machine code with equations that differ in their numbers alone."""
        other = self._like(self.model)
        other.anchor, other.family = self.anchor, family
        return other

    def compiled(self, name: str, *, level: Level = "quick") -> Compiled:
        """Compile one of the functions above, or take it from the cache."""
        require_kind("name", name, str, "the name of a function")
        if not is_word(level, EFFORT):
            raise refused("level", level, " or ".join(EFFORT))
        key = (name, level)
        found = self._compiled.get(key)
        if found is not None:
            return found
        if self.family is not None:
            found = self.family.member(self.function(name))
        else:
            recipe = f"{self.name} {self.options()} {name} {fingerprint(self.model)}"
            found = compile_recipe(recipe, lambda: self.function(name), level=level)
        # Of two threads that compile at once both take the first one's: the other is not kept, and
        # machine code goes with its object.
        return self._compiled.setdefault(key, found)

    def _evaluate(self, name: str, q: Array, *arrays: Array) -> tuple[Array, ...]:
        """Evaluate a function at coordinates for which the equations hold."""
        for index, low, high in self.model.sliding_ranges:
            try:
                within = low <= q.item(index) <= high
            except (AttributeError, IndexError, TypeError):  # no array of the right kind
                within = False
            if not within:
                q = self._within_range(q)
        return self._call(name, q, *arrays)

    def _within_range(self, q: Array) -> Array:
        """Take coordinates as an array, or refuse those that leave the range of a sliding link."""
        q = real_numbers("q", q, (self.model.size,))
        for index, low, high in self.model.sliding_ranges:
            length = q.item(index)
            if length < low * (1 - SLACK) or length > high * (1 + SLACK):
                raise FlexarmError(
                    f"q[{index}]: the exposed length {self.model.names[index]} must be {low:g} to "
                    f"{high:g} m, got {length:g}: its shapes hold in that range; change q, or "
                    "limits or length in the arm"
                )
        return q

    def _call(self, name: str, *arrays: Array) -> tuple[Array, ...]:
        if self.model.floats:
            arrays = (*arrays, self.anchor)
        return self.compiled(name).call(*arrays)

    def _driven_call(self, name: str, q: Array, v: Array, u: Array, t: float) -> tuple[Array, ...]:
        t = checked_time(t)
        factors, given = wrench_factors(self.model, t), prescribed_accelerations(self.model, t)
        found = self._evaluate(name, q, v, u, factors, given)
        if self.guarded and not np.all(np.isfinite(found[0])):
            self.refuse_singular(q)
        return found

    def refuse_singular(self, q: Array) -> None:
        """Refuse coordinates at which an approximation leaves M singular or indefinite."""
        reason = singularity(self, q) if self.guarded else ""
        if reason:
            raise FlexarmError(reason)

    def _factors(self, t: float) -> Array:
        return wrench_factors(self.model, checked_time(t))

    def _motion(self, q: Expr, v: Expr, u: Expr, w: Expr, given: Expr) -> tuple[Expr, Expr]:
        """Trace accelerations and powers."""
        driving = ca.SX(ca.sparsify(ca.DM(input_matrix(self.model)))) @ u
        loading = wrench_force(self.model, q, w)
        losing = dissipative_force(self.model, q, v)
        applied = driving + loading - elastic_force(self.model, q) - losing
        a, effort = self.forward_expression(q, v, given, applied)
        return a, ca.vertcat(*(ca.dot(v, part) for part in (driving, loading, effort, losing)))

    def _recipes(self) -> dict[str, _Recipe]:
        """List what can be traced: the maker, its inputs and its outputs."""
        model = self.model
        still = ca.SX(model.size, 1)

        def spring(q: Expr, v: Expr) -> Expr:
            return elastic_force(model, q) + dissipative_force(model, q, v)

        def tip_jacobian(q: Expr) -> Expr:
            return ca.vertcat(*end_jacobian(model, q))

        return {
            "mass_matrix": (self.mass_expression, ("q",), ("M",)),
            "bias": (
                lambda q, v: self.inertial_expression(q, v, None, gravity=True) + spring(q, v),
                ("q", "v"),
                ("c",),
            ),
            "parts": (
                lambda q, v: (
                    self.inertial_expression(q, v, None, gravity=False),
                    self.inertial_expression(q, still, None, gravity=True),
                    elastic_force(model, q),
                    dissipative_force(model, q, v),
                ),
                ("q", "v"),
                ("coriolis", "gravity", "elastic", "dissipative"),
            ),
            "gravity": (
                lambda q: self.inertial_expression(q, still, None, gravity=True), ("q",), ("g",)
            ),
            "forward_dynamics": (
                lambda q, v, u, w, given: self.forward_expression(
                    q, v, given, self.applied_expression(q, v, u, w)
                ),
                ("q", "v", "u", "w", "given"),
                ("a", "effort"),
            ),
            "inverse_dynamics": (
                lambda q, v, a, w: self.inertial_expression(q, v, a, gravity=True)
                + spring(q, v)
                - wrench_force(model, q, w),
                ("q", "v", "a", "w"),
                ("tau",),
            ),
            "energy": (
                lambda q, v: (
                    ca.dot(v, self.mass_expression(q) @ v) / 2, *potential_energy(model, q)
                ),
                ("q", "v"),
                ("kinetic", "elastic", "gravitational"),
            ),
            "matrices": (
                lambda q, v: (
                    ca.densify(self.mass_expression(q)),
                    ca.densify(ca.jacobian(elastic_force(model, q), q)),
                    ca.densify(ca.jacobian(dissipative_force(model, q, v), v)),
                ),
                ("q", "v"),
                ("M", "K", "D"),
            ),
            "motion": (self._motion, ("q", "v", "u", "w", "given"), ("a", "power")),
            "tip_pose": (lambda q: end_frame(model, q), ("q",), ("R", "p")),
            "observation": (
                lambda q, v: ca.vertcat(
                    ca.dot(v, self.mass_expression(q) @ v) / 2,
                    *potential_energy(model, q),
                    *(ca.vec(ca.densify(part.T)) for part in end_frame(model, q)),
                ),
                ("q", "v"),
                ("seen",),
            ),
            "tip_jacobian": (tip_jacobian, ("q",), ("J",)),
            "joint_wrench": (self.joint_wrench_expression, ("q", "v", "a", "w"), ("wrench",)),
        }  # fmt: skip


class Power(NamedTuple):
    """What inputs, wrenches and prescribed coordinates put in, and what is dissipated [W]."""

    inputs: float
    wrenches: float
    prescribed: float
    dissipated: float


class Energy(NamedTuple):
    """Energies of an arm [J]."""

    kinetic: float
    elastic: float
    gravitational: float


def checked_time(t: float) -> float:
    """Return a time [s] as a float, or refuse what is none."""
    if type(t) is not float and not isinstance(t, float | int):
        try:
            given = np.asarray(t)
        except Exception:  # what a foreign object raises
            given = np.asarray(None)
        if given.ndim or not isinstance(given.item(), float | int):
            raise refused("t", t, "a time in seconds, one number")
        t = float(given)
    if not (type(t) is float and math.isfinite(t)) and not is_number(t):
        raise refused("t", t, "a time in seconds, finite")
    return t


def ldl_solve(matrix: Expr, right: Expr, *, least: float | None = None) -> Expr:
    """Solve a symmetric positive definite system for all columns of the right side, (n, k).

    An LDL^T that never touches structural zeros.  With ``least`` the result is infinite or NaN
    where a pivot is not more than that part of its diagonal entry.
    """
    n = matrix.shape[0]
    inverse: list[Expr] = []
    lower: list[dict[int, Expr]] = [{} for _ in range(n)]
    scaled: list[dict[int, Expr]] = [{} for _ in range(n)]
    for j in range(n):
        pivot = matrix[j, j]
        for k, factor in lower[j].items():
            pivot = pivot - factor * scaled[j][k]
        if least is not None:
            pivot = ca.if_else(pivot > least * matrix[j, j], pivot, 0)
        inverse.append(1 / pivot)
        for i in range(j + 1, n):
            entry = matrix[i, j]
            for k in sorted(lower[i].keys() & lower[j].keys()):
                entry = entry - scaled[i][k] * lower[j][k]
            if entry.nnz():
                scaled[i][j] = entry
                lower[i][j] = entry * inverse[j]
    rows = [right[i, :] for i in range(n)]
    for i in range(n):
        for k, factor in lower[i].items():
            rows[i] = rows[i] - factor * rows[k]
    rows = [row * inverse[i] for i, row in enumerate(rows)]
    for i in range(n - 1, -1, -1):
        for k, factor in lower[i].items():
            rows[k] = rows[k] - factor * rows[i]
    return ca.vertcat(*rows)
