"""Equations that keep chosen numbers of an arm as symbols: for sweeps, sensitivity, identification.

M, c and the energies are linear in masses, inertias, stiffnesses, damping and gravity as long as
shapes stay what they are, and here they stay those of the arm as it was built.  So the equations at
two values of a number say what they are at any, and nothing in them knows which are symbols.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from flexarm.errors import FlexarmError
from flexarm.formulations.composite import Composite
from flexarm.io.overrides import change_arm, read_value
from flexarm.links.base import Array
from flexarm.model import Model, build
from flexarm.spatial import Expr

# Of a number that the file gives, by how much the second equation has more; of 0, more by this.
STEP = 0.5
EXACT = 1e-9
LINEAR = ("mass_matrix", "bias", "parts", "gravity", "inverse_dynamics", "energy", "matrices")


class Parametric(Composite):
    """`composite` with chosen numbers of the arm as one more input, `p`.

    `function` gives CasADi functions that take p last, to be differentiated by it exactly; the
    methods over NumPy arrays take the numbers in `values`, which `at` changes without a compile.

    Attributes
    ----------
    parameters, values
        Keys of a model file, and their present values in the units of the file, (k,).
    """

    def __init__(self, model: Model, parameters: Sequence[str]) -> None:
        super().__init__(model)
        self.parameters = tuple(parameters)
        self.values: Array = np.array([_number(model, key) for key in parameters])
        steps = [STEP * value or STEP for value in self.values]
        self._start, self._steps = self.values, np.array(steps)
        self._models = [
            _built(model, {key: value + step})
            for key, value, step in zip(parameters, self.values, steps, strict=True)
        ]
        self._check()

    def at(self, values: Sequence[float] | Array) -> "Parametric":
        """Take other values, (k,), for the same equations."""
        given = np.array(values, dtype=float)
        if given.shape != self.values.shape:
            raise FlexarmError(
                f"values: must be {len(self.values)} ({', '.join(self.parameters)}), "
                f"got {given.size}"
            )
        other: Parametric = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, "values": given}
        return other

    def function(self, name: str) -> ca.Function:
        """Trace a function of the contract that is linear in the parameters, or follows from M.

        Its inputs are those of the contract's, then ``p``.
        """
        p = ca.SX.sym("p", len(self.parameters))
        share = (p - ca.DM(self._start)) / ca.DM(self._steps)
        if name in LINEAR:
            parts = [Composite(model).function(name) for model in self._all]
            symbols = parts[0].sx_in()
            first, *others = [part.call(symbols, True, False) for part in parts]
            results = _combined(first, others, share)
        elif name == "forward_dynamics":
            symbols, results = self._forward(share)
            parts = [Composite(self.model).function(name)]
        else:
            raise FlexarmError(
                f"'{name}' with parameters: there are {', '.join(LINEAR)} and forward_dynamics"
            )
        names = [*parts[0].name_in(), "p"]
        return ca.Function(name, [*symbols, p], results, names, parts[0].name_out())

    @property
    def _all(self) -> list[Model]:
        return [self.model, *self._models]

    def _forward(self, share: Expr) -> tuple[list[Expr], list[Expr]]:
        """Solve the combined equations for the accelerations."""
        shape = Composite(self.model).function("forward_dynamics")
        symbols = shape.sx_in()
        q, v, u, w, given = symbols[:5]
        models = self._all
        if self.model.floats:
            models = [replace(model, anchor=symbols[5]) for model in models]
        rows = []
        for model in models:
            one = Composite(model)
            rest = one.applied_expression(q, v, u, w)
            rest -= one.inertial_expression(q, v, None, gravity=True)
            rows.append([one.mass_expression(q), rest])
        mass, rest = _combined(rows[0], rows[1:], share)
        solved = _Solved(self.model, mass).forward_expression(q, v, given, rest)
        return symbols, list(solved)

    def _check(self) -> None:
        """Make sure that the equations are linear in each parameter, and in all together."""
        for k, key in enumerate(self.parameters):
            if self._error(self._start, self._models[k]) == 0.0:
                raise FlexarmError(f"'{key}' changes nothing in the equations of this arm")
            values = self._start.copy()
            values[k] += 2 * self._steps[k]
            if self._error(values) > EXACT:
                raise FlexarmError(
                    f"'{key}' cannot be kept as a symbol: the equations are not linear in it; "
                    "use simulate_many for runs with several values"
                )
        if self._error(self._start + 2 * self._steps) > EXACT:
            raise FlexarmError(
                f"{', '.join(self.parameters)}: some of these multiply each other, so that the "
                "equations are not linear in all of them together: keep fewer as symbols"
            )

    def _error(self, values: Array, model: Model | None = None) -> float:
        """Compare with another model, or that of these values, at a random state, relatively."""
        if model is None:
            model = _built(self.model, dict(zip(self.parameters, values.tolist(), strict=True)))
        random = np.random.default_rng(0)
        q, v, a = (random.normal(size=model.size) * size for size in (0.1, 1.0, 1.0))
        for part in model.links:
            if part.sliding is not None and part.joint is not None:
                q[part.joint] = np.mean(part.sliding.range)
        true = Composite(model).function("inverse_dynamics")
        state = [q, v, a, np.ones(true.size1_in("w"))]
        state += [model.base_pose.rotation] if model.floats else []
        found = self.function("inverse_dynamics")(*state, values)
        expected = np.array(true(*state))
        scale = np.abs(expected).max(initial=1e-300)
        return float(np.abs(np.array(found) - expected).max(initial=0.0) / scale)

    def options(self) -> str:
        """Tell apart what is compiled, by the symbols."""
        return f"parameters={self.parameters}"

    def _call(self, name: str, *arrays: Array) -> tuple[Array, ...]:
        if self.model.floats:
            arrays = (*arrays, self.anchor)
        return self.compiled(name).call(*arrays, self.values)


class _Solved(Composite):
    """Equations whose mass matrix is at hand."""

    def __init__(self, model: Model, mass: Expr) -> None:
        super().__init__(model)
        self._mass = mass

    def mass_expression(self, q: Expr) -> Expr:
        """Give the mass matrix."""
        return self._mass

    def inertial_expression(self, q: Expr, v: Expr, a: Expr | None, *, gravity: bool) -> Expr:
        """Give nothing: inertia and gravity are among the forces already."""
        return ca.SX(self.model.size, 1)


def _combined(first: list[Expr], others: list[list[Expr]], share: Expr) -> list[Expr]:
    """Go from the first results towards the others by their shares."""
    results = []
    for k, start in enumerate(first):
        total = start
        for i, other in enumerate(others):
            total = total + share[i] * (other[k] - start)
        results.append(total)
    return results


def _built(model: Model, values: dict[str, float]) -> Model:
    changed: Any = change_arm(model.arm, values)
    other = build(
        changed,
        stiffening=model.stiffening,
        tip_rotation=model.tip_rotation,
        shapes_of=model,
    )
    if other.names != model.names:
        raise FlexarmError(f"{', '.join(values)}: changes the coordinates: cannot be a symbol")
    return other


def _number(model: Model, key: str) -> float:
    value = read_value(model.arm, key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FlexarmError(f"parameter '{key}': must be a number of the arm, got {value!r}")
    return float(value)
