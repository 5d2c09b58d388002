"""Exact derivatives of an arm's equation at any state, one direction at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.arguments import require_kind
from flexarm.engine.functions import compile_recipe
from flexarm.formulations import formulation
from flexarm.formulations.quantities import anchored, symbol
from flexarm.linear.at_start import Linear
from flexarm.linear.friction import DryFriction
from flexarm.links.base import Array
from flexarm.mechanics.inertia import require_inertia
from flexarm.mechanics.kinematics import end_frame, end_jacobian
from flexarm.mechanics.loads import (
    dissipative_force,
    elastic_force,
    input_matrix,
    prescribed_accelerations,
    wrench_factors,
    wrench_force,
)
from flexarm.model import Model, fingerprint
from flexarm.spatial import Expr

LEFT_OUT = DryFriction()
LARGE = 30_000  # instructions that compiling takes longer than interpreting a few points


@dataclass(frozen=True)
class Point:
    """A state to linearise about."""

    # q, v: coordinates and rates in the order of ``model.names``, (n,).
    q: Array
    v: Array
    u: Array  # inputs in the order of the driven joints
    t: float = 0.0  # time [s] at which wrenches and prescribed motions are taken
    # Attitude that a free base's angles are relative to, world from anchor axes, (3, 3); that of
    # the model file if None.
    anchor: Array | None = None


class Tangent:
    """The equation ``M a + c - sum J^T f`` of a model and its exact derivatives.

    Parameters
    ----------
    model
        The arm.
    wrenches
        Whether its wrenches act.
    friction
        What Coulomb friction is in the damping matrix; the force has it smoothed.

    Notes
    -----
    What is traced and compiled is one directional derivative, whose size is a small multiple of
    the equation's own; matrices are put together from one call per column.
    """

    def __init__(
        self, model: Model, *, wrenches: bool = True, friction: DryFriction = LEFT_OUT
    ) -> None:
        require_kind("friction", friction, DryFriction, "a DryFriction")
        self.model, self.wrenches, self.friction = model, wrenches, friction
        self.inputs = input_matrix(model)
        self._functions: dict[str, Callable[..., tuple[Array, ...]]] = {}

    def force(self, point: Point, a: Array) -> Array:
        """Compute the generalised force that accelerations a take, inputs left out, (n,)."""
        still = np.zeros(self.model.size)
        return self._call("equation", point, a, still, still, still)[0]

    def matrices(self, point: Point, a: Array) -> Linear:
        """Differentiate the force by a, by v and by q, at accelerations a: (n, n) each."""
        mass, damping, stiffness = self._columns("equation", point, a)
        damping = damping + self.friction.damping(self.model, point.v)
        return Linear(mass, stiffness, damping, self.model.names)

    def elastic(self, point: Point) -> Array:
        """Differentiate the elastic force by q, (n, n)."""
        n = self.model.size
        still = np.zeros(n)
        columns = [self._call("elastic", point, still, unit, still, still)[1] for unit in np.eye(n)]
        return np.array(columns).T.reshape(n, n)

    def accelerations(self, point: Point, columns: Array | None = None) -> Array:
        """Compute accelerations; those prescribed are as their motion says, (n,).

        What is left moves along ``columns`` (n, k); every coordinate for itself if None.

        Raises
        ------
        SimulationError
            If a motion has no inertia.
        """
        known = list(self.model.prescribed)
        if columns is None:
            columns = np.delete(np.eye(self.model.size), known, axis=1)
        a = np.zeros(self.model.size)
        a[known] = prescribed_accelerations(self.model, point.t)
        rest = self.inputs @ point.u - self.force(point, a)
        mass = self._columns("equation", point, a, only_mass=True)[0]
        require_inertia(self.model, mass, when="in this posture")
        a += columns @ np.linalg.solve(columns.T @ mass @ columns, columns.T @ rest)
        return a

    def tip(self, point: Point, a: Array) -> tuple[Array, Array, Array, Array]:
        """Evaluate the tip's place, velocities and accelerations, and differentiate them.

        Returns
        -------
        value, by_q, by_v, by_a
            Position [m], small rotation about the world's axes (0), velocity, angular velocity,
            acceleration and angular acceleration, (18,); their derivatives, (18, n) each.
        """
        still = np.zeros(self.model.size)
        value = self._call("tip", point, a, still, still, still)[0]
        by_a, by_v, by_q = self._columns("tip", point, a)
        by_q[3:6] = by_a[15:]  # what turns with a coordinate's rate turns with the coordinate
        return value, by_q, by_v, by_a

    def _columns(
        self, name: str, point: Point, a: Array, *, only_mass: bool = False
    ) -> tuple[Array, ...]:
        """Differentiate by accelerations, rates and coordinates."""
        n = self.model.size
        found = []
        for place in (2, 1, 0)[: 1 if only_mass else 3]:
            rows = []
            for unit in np.eye(n):
                ways = [np.zeros(n)] * 3
                ways[place] = unit
                rows.append(self._call(name, point, a, *ways)[1])
            found.append(np.array(rows).T.reshape(-1, n))
        return tuple(found)

    def _call(self, name: str, point: Point, a: Array, *ways: Array) -> tuple[Array, ...]:
        factors = wrench_factors(self.model, point.t) * self.wrenches
        arrays = [point.q, point.v, a, factors, *ways]
        if self.model.attitudes:
            given = point.anchor
            arrays.append(self.model.start_anchors if given is None else given)
        return self._function(name)(*arrays)

    def _function(self, name: str) -> Callable[..., tuple[Array, ...]]:
        if name not in self._functions:
            recipe = f"tangent {name}, Coulomb friction apart, {fingerprint(self.model)}"
            try:
                compiled = compile_recipe(recipe, lambda: self._small(name), level="quick")
                self._functions[name] = compiled.call
            except _LargeError as large:
                self._functions[name] = _interpreted(large.function)
        return self._functions[name]

    def _small(self, name: str) -> ca.Function:
        function = self._trace(name)
        if function.n_instructions() > LARGE:
            raise _LargeError(function)
        return function

    def _trace(self, name: str) -> ca.Function:
        labels = ["q", "v", "a", "w", "dq", "dv", "da"]
        symbols = [symbol(self.model, label) for label in labels]
        q, v, a, w, dq, dv, da = symbols
        model, anchor = anchored(self.model)
        maker: Callable[[Model, Expr, Expr, Expr, Expr], tuple[Expr, Expr]] = {
            "equation": _equation, "elastic": _elastic, "tip": _tip,
        }[name]  # fmt: skip
        value, smooth = (ca.SX(ca.densify(each)) for each in maker(model, q, v, a, w))
        change = ca.jtimes(smooth, q, dq) + ca.jtimes(smooth, v, dv) + ca.jtimes(smooth, a, da)
        outputs, labels = [value, ca.SX(ca.densify(change))], [*labels, *["anchor"][: len(anchor)]]
        kept = ["value", "change"]
        return ca.Function(f"tangent_{name}", [*symbols, *anchor], outputs, labels, kept)


class _LargeError(Exception):
    """A function too large to be worth compiling."""

    def __init__(self, function: ca.Function) -> None:
        super().__init__()
        self.function = function


def _interpreted(function: ca.Function) -> Callable[..., tuple[Array, ...]]:
    def call(*arrays: Array) -> tuple[Array, ...]:
        return tuple(np.array(each).ravel() for each in function(*arrays))

    return call


def _equation(model: Model, q: Expr, v: Expr, a: Expr, w: Expr) -> tuple[Expr, Expr]:
    """Write the force, and what of it is differentiated: all but Coulomb friction."""
    composite = formulation("composite", model).formulation
    inertial = composite.inertial_expression(q, v, a, gravity=True)
    held = inertial + elastic_force(model, q) - wrench_force(model, q, w)
    return (
        held + dissipative_force(model, q, v),
        held + dissipative_force(model, q, v, coulomb=False),
    )


def _elastic(model: Model, q: Expr, v: Expr, a: Expr, w: Expr) -> tuple[Expr, Expr]:
    force = elastic_force(model, q)
    return force, force


def _tip(model: Model, q: Expr, v: Expr, a: Expr, w: Expr) -> tuple[Expr, Expr]:
    _, position = end_frame(model, q)
    columns = ca.vertcat(*end_jacobian(model, q))
    rates = columns @ v
    unturned = ca.SX.zeros(3, 1)
    tip = ca.vertcat(position, unturned, rates, ca.jtimes(rates, q, v) + columns @ a)
    return tip, tip
