"""An arm under one formulation, its functions traced once and evaluated with numbers."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.mechanics.loads import wrench_list
from flexarm.model import Model
from tests.physics.states import Array, State, random_state

FORWARD = "forward_expression"
MATRICES = ("M", "J", "R", "wrench")  # outputs that stay matrices with one column, too


class Traced:
    """The functions of one formulation of one arm, and a random state to evaluate them at.

    Two formulations of one arm that have a method in common share what is traced from it: give
    both the same ``shared``.
    """

    def __init__(
        self, name: str, model: Model, shared: dict[Any, ca.Function], *, seed: int = 0
    ) -> None:
        self.model = model
        self.equation: Equation = formulation(name, model)
        self._shared = shared
        wrenches = len(wrench_list(model))
        inputs = len(self.equation.input_names)
        self.state: State = random_state(model, seed, inputs=inputs, wrenches=wrenches)

    def __call__(self, name: str, *arrays: Array) -> tuple[Array, ...]:
        """Evaluate a function of the formulation: vectors and matrices."""
        return self._evaluated(self.traced(name), arrays)

    def traced(self, name: str) -> ca.Function:
        """Trace a function of the formulation, or take what another one traced."""
        return self._traced(name, lambda: self.equation.function(name))

    @cached_property
    def mass(self) -> Array:
        """Mass matrix at the state."""
        return self("mass_matrix", self.state.q)[0]

    @cached_property
    def scale(self) -> Array:
        """Scale of the coordinates at the state: sqrt(diag M)."""
        return np.asarray(np.sqrt(np.diag(self.mass)))

    @cached_property
    def free(self) -> list[int]:
        """Indices of the coordinates that are not prescribed: M need be definite for them only."""
        return [i for i in range(self.model.size) if i not in self.model.prescribed]

    @cached_property
    def free_mass(self) -> Array:
        """Mass matrix of the free coordinates in scaled coordinates, with ones on its diagonal."""
        return (self.mass / np.outer(self.scale, self.scale))[np.ix_(self.free, self.free)]

    @cached_property
    def condition(self) -> float:
        """Condition of the free coordinates' scaled mass matrix."""
        return float(np.linalg.cond(self.free_mass)) if self.free else 1.0

    @cached_property
    def parts(self) -> dict[str, Array]:
        """Parts of c at the state."""
        names = ("coriolis", "gravity", "elastic", "dissipative")
        return dict(zip(names, self("parts", self.state.q, self.state.v), strict=True))

    @cached_property
    def accelerations(self) -> tuple[Array, Array]:
        """Accelerations at the state and efforts of the prescribed coordinates."""
        s = self.state
        a, effort = self("forward_dynamics", s.q, s.v, s.u, s.factors, s.given)
        return a, effort

    def inverse(self, v: Array, a: Array, factors: Array) -> Array:
        """Generalised force that accelerations take at the state's coordinates."""
        return self("inverse_dynamics", self.state.q, v, a, factors)[0]

    @cached_property
    def derivatives(self) -> dict[str, Array]:
        """Derivatives of the energies at the state, by automatic differentiation.

        ``momentum`` is dT/dv, ``momentum_rate`` what it changes by per second at zero acceleration,
        ``kinetic``, ``elastic`` and ``gravitational`` are the gradients by q.
        """
        function = self._traced("derivatives", self._differentiate)
        values = self._evaluated(function, (self.state.q, self.state.v))
        return dict(zip(function.name_out(), values, strict=True))

    @cached_property
    def weight_change(self) -> float:
        """Second time derivative of the gravitational energy at the state [W/s]."""
        function = self._traced("weight_change", self._differentiate_weight)
        s = self.state
        return float(self._evaluated(function, (s.q, s.v, s.a))[0][0])

    def _energy(self) -> ca.Function:
        return self._traced("energy", lambda: self.equation.function("energy"))

    def _differentiate_weight(self) -> ca.Function:
        energy = self._energy()
        symbols = energy.sx_in()
        q, v, a = symbols[0], symbols[1], ca.SX.sym("a", self.model.size)
        weight = energy.call(symbols, True, False)[2]
        change = ca.jtimes(ca.jtimes(weight, q, v), q, v) + ca.jtimes(weight, q, a)
        return ca.Function("weight_change", [q, v, a, *symbols[2:]], [change])

    def _differentiate(self) -> ca.Function:
        energy = self._energy()
        symbols = energy.sx_in()
        q, v = symbols[0], symbols[1]
        kinetic, elastic, weight = energy.call(symbols, True, False)
        momentum = ca.gradient(kinetic, v)
        table = {
            "momentum": momentum,
            "momentum_rate": ca.jtimes(momentum, q, v),
            "kinetic": ca.gradient(kinetic, q),
            "elastic": ca.gradient(elastic, q),
            "gravitational": ca.gradient(weight, q),
        }
        results = [ca.densify(result) for result in table.values()]
        return ca.Function("derivatives", symbols, results, energy.name_in(), list(table))

    def _traced(self, name: str, make: Callable[[], ca.Function]) -> ca.Function:
        kind = type(self.equation.formulation)
        methods = [m for m in dir(kind) if m.endswith("_expression") and m != FORWARD]
        methods += [FORWARD] if name == "forward_dynamics" else []
        key = (name, *(getattr(kind, method) for method in methods))
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def _evaluated(self, function: ca.Function, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        if self.model.attitudes:
            arrays = (*arrays, self.equation.reference_attitude)
        results = [np.array(r) for r in function.call([ca.DM(array) for array in arrays])]
        return tuple(
            result if name in MATRICES else result[:, 0]
            for name, result in zip(function.name_out(), results, strict=True)
        )
