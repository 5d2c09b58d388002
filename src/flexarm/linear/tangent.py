"""Exact derivatives of an arm's equation of motion, elastic or with Coulomb friction."""

import math
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import casadi as ca
import numpy as np

from flexarm.arguments import WithUnit, require_kind, require_positive, require_word
from flexarm.engine.functions import keep_note, noted
from flexarm.engine.operators import direct_operators
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.formulations.base import Formulation, inertial_force, mass_of
from flexarm.formulations.composite import momentum_expression
from flexarm.formulations.numbers import kernel
from flexarm.formulations.quantities import symbol, with_reference
from flexarm.linear.constants import MOST_COMPILED_INSTRUCTIONS, SECANT_SPEED
from flexarm.linear_model import LinearModel
from flexarm.loops.rows import call_rows
from flexarm.mechanics.kinematics import end_frame, end_jacobian
from flexarm.mechanics.loads import (
    Coulomb,
    coulomb_frictions,
    dissipative_force,
    elastic_force,
    elastic_stiffness,
    hub_row,
    input_matrix,
    prescribed_accelerations,
    wrench_factors,
    wrench_force,
)
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import NUMBERS, Model, undeformed
from flexarm.model.numbers import numbers_of
from flexarm.spatial import Array, Expr

FrictionChoice = Literal["off", "secant", "tangent"]


@dataclass(frozen=True)
class DryFriction:
    """Treatment of Coulomb friction ``F sign(v)`` of a joint with speed v in a linear model.

    Notes
    -----
    For an oscillation ``v0 + V sin(w t)`` the describing function is
    ``4 F/(pi V) sqrt(1 - (v0/V)^2)``, and 0 if the speed does not change sign (Gelb & Vander Velde
    1968, the relay).
    """

    # ``off``: no Coulomb friction, which is exact while a joint moves in one direction. ``secant``:
    # the describing function, a viscous friction that dissipates as much energy of an oscillation.
    # ``tangent``: the slope of the smoothed friction at the state, which is ``F/smoothing`` at
    # rest.
    choice: FrictionChoice = "off"
    speed: WithUnit | None = None  # amplitude V for ``secant`` [rad/s], [m/s]; 0.1 if None

    def __post_init__(self) -> None:
        """Raise an error for an invalid choice or speed."""
        require_word("friction", self.choice, get_args(FrictionChoice))
        if self.speed is None:
            return
        if self.choice != "secant":
            raise FlexarmError(
                f"friction_speed: is used only with friction 'secant', got friction '{self.choice}'"
            )
        speed = require_positive("friction_speed", self.speed, unit="rad/s|m/s")
        object.__setattr__(self, "speed", speed)

    def damping(self, model: Model, v: Array) -> Array:
        """Return the contribution of Coulomb friction to the damping matrix at rates v, (n, n)."""
        result = np.zeros((model.size, model.size))
        for friction in coulomb_frictions(model, smooth=False):
            result += self._coefficient(friction, v) * np.outer(friction.row, friction.row)
        return result

    def notices(self, model: Model, v: Array, columns: Array | None = None) -> tuple[str, ...]:
        """Return sentences on the treatment of Coulomb friction in the joints that move.

        The joints move along ``columns`` (n, k); if None, all joints that are not prescribed move.
        """
        if columns is None:
            columns = np.delete(np.eye(model.size), model.prescribed, axis=1)
        return tuple(
            self._notice(friction, v)
            for friction in coulomb_frictions(model, smooth=False)
            if np.any(columns.T @ friction.row)
        )

    def _coefficient(self, friction: Coulomb, v: Array) -> float:
        """Return the viscous coefficient equivalent to a Coulomb friction [N m s/rad], [N s/m]."""
        rate = float(friction.row @ v)
        if self.choice == "tangent":
            return friction.slope(rate)
        if self.choice == "off":
            return 0.0
        speed = float(self.speed or SECANT_SPEED)
        reversal = max(1 - (rate / speed) ** 2, 0.0)
        return 4 * friction.force / (math.pi * speed) * math.sqrt(reversal)

    def _notice(self, friction: Coulomb, v: Array) -> str:
        effort, length = friction.axis.effort_unit, friction.axis.unit
        head = f"{friction.axis.name}: Coulomb friction of {friction.force:.4g} {effort}"
        value = f"{self._coefficient(friction, v):.4g} {effort} s/{length}"
        if self.choice == "off":
            return (
                f"{head} is left out of the linear model: friction 'secant' puts in its describing "
                "function, 'tangent' the slope of its smoothing"
            )
        origin = f"its slope, smoothed over {friction.smoothing:.4g}"
        if self.choice == "secant":
            origin = (
                f"its describing function at a speed amplitude of {self.speed or SECANT_SPEED:.4g}"
            )
        return f"{head} counts as {value}, {origin} {length}/s"


@direct_operators()
def trace(model: Model) -> ca.Function:
    """Build a CasADi function that computes an arm's matrices and forces from q and v.

    The outputs are: mass matrix (n, n), inertial force with gravity at zero acceleration (n,),
    elastic force (n,), elastic stiffness without preload (n, n), the damping force's derivative
    with respect to v (n, n), and the centre of mass of all moving bodies, (3,).
    """
    q, v = symbol(model, "q"), symbol(model, "v")
    equation = formulation("composite", model).formulation
    outputs = [
        mass_of(equation, q),
        inertial_force(equation, q, v),
        elastic_force(model, q),
        elastic_stiffness(model, q),
        ca.jacobian(dissipative_force(model, q, v), v),
        momentum_expression(model, q, v)[2],
    ]
    return ca.Function("arm", [q, v], [ca.densify(ca.SX(output)) for output in outputs])


def linearise_elastic(model: Model, traced: ca.Function, pose: Array) -> LinearModel:
    """Evaluate mass, elastic stiffness and damping at a posture, at rest with undeformed links.

    Notes
    -----
    The stiffness due to gravity, loads and preloaded springs is not included, since this stiffness
    depends on the equilibrium.
    """
    values = [np.array(m) for m in traced(undeformed(model, pose), np.zeros(model.size))]
    mass, stiffness, damping = ((m + m.T) / 2 for m in (values[0], values[3], values[4]))
    return LinearModel(mass, stiffness, damping, model.names)


def lock_drives(model: Model, linear: LinearModel) -> LinearModel:
    """Return a linear model with prescribed coordinates and driven joints locked.

    An elastic joint is locked at its motor.
    """
    return linear.along(*moves(model, {axis.name for axis in model.axes if axis.driven}))


def moves(model: Model, locked: Set[str]) -> tuple[list[int], Array]:
    """Compute the motions of an arm with given joints locked and prescribed joints at rest.

    Parameters
    ----------
    model
        The arm.
    locked
        Names of joints with locked hub, or with locked motor if the joint is elastic.

    Returns
    -------
    coordinates, columns
        Indices of the r free coordinates, and the motion of all n coordinates per free coordinate,
        (n, r). Where mode shapes turn the hub of a locked joint, the joint's coordinate moves in
        the opposite direction.
    """
    fixed_indices = set(model.prescribed)
    locked_hubs: list[tuple[int, Array]] = []
    for axis in model.axes:
        if axis.name in locked and axis.index not in model.prescribed:
            fixed_indices.add(axis.index if axis.motor is None else axis.motor)
            if axis.motor is None:
                locked_hubs.append((axis.index, hub_row(model, axis)))
    coordinates = [i for i in range(model.size) if i not in fixed_indices]
    columns = np.eye(model.size)[:, coordinates]
    for index, row in locked_hubs:
        columns[index] = -row[coordinates]
    return coordinates, columns


# Function (number of directions, inputs) -> values and directional derivatives.
_Call = Callable[[int, Sequence[Array]], tuple[Array, ...]]
ANCHOR = 7  # index of the reference attitudes among the inputs
LEFT_OUT = DryFriction()  # no Coulomb friction


@dataclass(frozen=True)
class OperatingPoint:
    """A state, with inputs and time, about which an arm is linearised."""

    q: Array  # coordinates in the order of ``model.names``, (n,)
    v: Array  # rates, (n,)
    u: Array  # inputs in the order of the driven joints, (k,)
    t: float = 0.0  # time [s] of wrenches and prescribed motions
    # Reference attitudes, (3, 3 k); of the model file if None.
    reference_attitude: Array | None = None


class Tangent:
    """The equation of motion ``M a + c - sum J^T f`` of a model and its exact derivatives.

    Parameters
    ----------
    model
        The arm.
    wrenches
        Whether the wrenches of the model act.
    friction
        Treatment of Coulomb friction in the damping matrix. The force itself contains smoothed
        friction.

    Notes
    -----
    Only one directional derivative is compiled; its code is a few times larger than the code of the
    equation. Matrices are assembled column by column, with one evaluation per column. Arms of equal
    structure share the machine code.
    """

    def __init__(
        self, model: Model, *, wrenches: bool = True, friction: DryFriction = LEFT_OUT
    ) -> None:
        require_kind("friction", friction, DryFriction, "a DryFriction")
        self.model, self.wrenches, self.friction = model, wrenches, friction
        self.inputs = input_matrix(model)
        self._functions: dict[str, _Call] = {}

    def force(self, point: OperatingPoint, a: Array) -> Array:
        """Compute the generalised force for accelerations a, without inputs, (n,).

        Coordinates, rates and accelerations may have a leading axis, with one entry per state; the
        force then has this axis too.
        """
        zeros = np.zeros(np.shape(np.atleast_2d(a)))
        return self._call("equation", point, a, zeros, zeros, zeros)[0].reshape(np.shape(a))

    def matrices(self, point: OperatingPoint, a: Array) -> LinearModel:
        """Return mass, damping and stiffness: derivatives of `force` with respect to a, v and q."""
        mass, damping, stiffness = self._columns("equation", point, a)
        damping = damping + self.friction.damping(self.model, point.v)
        return LinearModel(mass, stiffness, damping, self.model.names, self.inputs)

    def elastic(self, point: OperatingPoint) -> Array:
        """Compute the elastic stiffness: derivative of the elastic force with respect to q."""
        n = self.model.size
        zeros = np.zeros((n, n))
        return self._call("elastic", point, zeros[0], np.eye(n), zeros, zeros)[1].T

    def accelerations(self, point: OperatingPoint, columns: Array | None = None) -> Array:
        """Compute accelerations, (n,); prescribed coordinates have their prescribed accelerations.

        The other coordinates move along the k directions ``columns``, (n, k); if None, each of the
        other coordinates moves freely.

        Raises
        ------
        SimulationError
            If a possible motion has no inertia.
        """
        prescribed = list(self.model.prescribed)
        if columns is None:
            columns = np.delete(np.eye(self.model.size), prescribed, axis=1)
        a = np.zeros(self.model.size)
        a[prescribed] = prescribed_accelerations(self.model, point.t)
        free_force = self.inputs @ point.u - self.force(point, a)
        mass = self._columns("equation", point, a, only_mass=True)[0]
        require_inertia(self.model, mass, when="in this posture")
        a += columns @ np.linalg.solve(columns.T @ mass @ columns, columns.T @ free_force)
        return a

    def slopes(self, points: Sequence[OperatingPoint]) -> Array:
        """Compute derivatives of accelerations with respect to q, v, u at T states, (T, n, 2n + k).

        Prescribed coordinates are treated as free.
        """
        n = self.model.size
        q, v, u = (np.array([getattr(point, name) for point in points]) for name in "qvu")
        loads = [np.array([wrench_factors(self.model, x.t) * self.wrenches for x in points])]
        if self.model.attitudes:
            loads.append(np.array([x.reference_attitude for x in points]))

        def along_units(a: Array, *places: int) -> list[Array]:
            directions, count = _units(n, places), n * len(places)
            rows = [np.repeat(x, count, axis=0) for x in (q, v, a, *loads)]
            rows[4:4] = np.tile(directions, (1, len(points), 1))
            return list(self._function("equation")(count * len(points), rows))

        forces, mass = (
            result.reshape(len(points), n, n) for result in along_units(np.zeros_like(q), 2)
        )
        M = np.swapaxes(mass, 1, 2)
        unbalanced = (u @ self.inputs.T - forces[:, 0])[:, :, None]
        a = np.asarray(np.linalg.solve(M, unbalanced)[:, :, 0], dtype=float)
        derivatives = along_units(a, 0, 1)[1].reshape(len(points), 2, n, n)
        derivatives[:, 1] += np.array([self.friction.damping(self.model, x).T for x in v])
        by_state = np.swapaxes(derivatives.reshape(len(points), 2 * n, n), 1, 2)
        by_input = np.broadcast_to(self.inputs, (len(points), *self.inputs.shape))
        return np.asarray(np.linalg.solve(M, np.concatenate([-by_state, by_input], axis=2)))

    def tip(self, point: OperatingPoint, a: Array) -> tuple[Array, Array, Array, Array]:
        """Compute the tip's position, velocity and acceleration, and their derivatives.

        Returns
        -------
        value, by_q, by_v, by_a
            The value, (18,), contains position [m], small rotation about the world's axes (here 0),
            velocity, angular velocity, acceleration and angular acceleration. The derivatives of
            the value with respect to q, v and a have shape (18, n) each.
        """
        zeros = np.zeros((1, self.model.size))
        value = self._call("tip", point, a, zeros, zeros, zeros)[0][0]
        by_a, by_v, by_q = self._columns("tip", point, a)
        by_q[3:6] = by_a[15:]  # d rotation / d coordinate = d angular velocity / d rate
        return value, by_q, by_v, by_a

    def _columns(
        self, name: str, point: OperatingPoint, a: Array, *, only_mass: bool = False
    ) -> tuple[Array, ...]:
        """Compute a function's derivatives with respect to accelerations, rates, coordinates."""
        n, places = self.model.size, (2, 1, 0)[: 1 if only_mass else 3]
        change = self._call(name, point, a, *_units(n, places))[1]
        return tuple(np.swapaxes(change.reshape(len(places), n, -1), 1, 2))

    def _call(
        self, name: str, point: OperatingPoint, a: Array, *directions: Array
    ) -> tuple[Array, ...]:
        """Evaluate a function and its directional derivatives, one row per direction."""
        factors = wrench_factors(self.model, point.t) * self.wrenches
        arrays = [point.q, point.v, a, factors, *directions]
        if self.model.attitudes:
            reference_attitude = point.reference_attitude
            arrays.append(
                self.model.start_references if reference_attitude is None else reference_attitude
            )
        return self._function(name)(len(directions[0]), arrays)

    def _function(self, name: str) -> _Call:
        if name not in self._functions:
            title, numbers = f"tangent {name}", numbers_of(self.model)
            composite = formulation("composite", self.model).formulation
            recipe = f"{title}: {numbers.rest} {numbers.pattern.key}"
            try:
                if noted(recipe) is not None:
                    raise _LargeError
                compiled = kernel(title, composite, partial(_trace_small, name), level="quick")
                self._functions[name] = partial(call_rows, compiled)
            except _LargeError:
                keep_note(recipe, "large")
                self._functions[name] = _interpreted(_trace(name, composite))
        return self._functions[name]


def _trace_small(name: str, composite: Formulation) -> ca.Function:
    function = _trace(name, composite)
    if function.n_instructions() > MOST_COMPILED_INSTRUCTIONS:
        raise _LargeError
    return function


@direct_operators()
def _trace(name: str, composite: Formulation) -> ca.Function:
    """Build a CasADi function with the value and the directional derivative of an expression."""
    labels = ["q", "v", "a", "w", "dq", "dv", "da"]
    symbols = [symbol(composite.model, label) for label in labels]
    q, v, a, w, dq, dv, da = symbols
    model, reference_attitude = with_reference(composite.model)
    maker: Callable[[Model, Expr, Expr, Expr, Expr], tuple[Expr, Expr]] = {
        "equation": _equation, "elastic": _elastic, "tip": _tip,
    }[name]  # fmt: skip
    value, smooth = (ca.SX(ca.densify(expression)) for expression in maker(model, q, v, a, w))
    change = ca.jtimes(smooth, q, dq) + ca.jtimes(smooth, v, dv) + ca.jtimes(smooth, a, da)
    further = {"reference_attitude": reference_attitude[0]} if reference_attitude else {}
    further |= {} if model.symbols is None else {NUMBERS: model.symbols}
    return ca.Function(
        f"tangent_{name}",
        [*symbols, *further.values()],
        [value, ca.SX(ca.densify(change))],
        [*labels, *further],
        ["value", "change"],
    )


def _units(n: int, places: Sequence[int]) -> Array:
    """Return unit directions of accelerations, rates or coordinates, (3, m, n).

    ``places`` lists which of accelerations (0), rates (1) and coordinates (2) vary; each has n unit
    directions, so that m is n times the length of ``places``.
    """
    directions = np.zeros((3, len(places), n, n))
    for k, place in enumerate(places):
        directions[place, k] = np.eye(n)
    return directions.reshape(3, -1, n)


class _LargeError(Exception):
    """Raised for a function that is too large to be worth compiling."""


def _interpreted(function: ca.Function) -> _Call:
    def call(count: int, arrays: Sequence[Array]) -> tuple[Array, ...]:
        columns = [np.transpose(x) for x in arrays[:ANCHOR]]
        columns += [np.hstack(list(x)) if x.ndim == 3 else x for x in arrays[ANCHOR:]]
        return tuple(np.array(result).reshape(-1, count).T for result in function(*columns))

    return call


def _equation(model: Model, q: Expr, v: Expr, a: Expr, w: Expr) -> tuple[Expr, Expr]:
    """Return expressions of the generalised force with and without Coulomb friction."""
    composite = formulation("composite", model).formulation
    inertial = composite.inertial_expression(q, v, a, gravity=True)
    rest_force = inertial + elastic_force(model, q) - wrench_force(model, q, w)
    return (
        rest_force + dissipative_force(model, q, v),
        rest_force + dissipative_force(model, q, v, coulomb=False),
    )


def _elastic(model: Model, q: Expr, v: Expr, a: Expr, w: Expr) -> tuple[Expr, Expr]:
    force = elastic_force(model, q)
    return force, force


def _tip(model: Model, q: Expr, v: Expr, a: Expr, w: Expr) -> tuple[Expr, Expr]:
    _, position = end_frame(model, q)
    columns = ca.vertcat(*end_jacobian(model, q))
    rates = columns @ v
    no_rotation = ca.SX.zeros(3, 1)
    tip = ca.vertcat(position, no_rotation, rates, ca.jtimes(rates, q, v) + columns @ a)
    return tip, tip
