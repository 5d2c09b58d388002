"""Values of one formulation's functions, traced once and evaluated without a compiler."""

from functools import cache, cached_property

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.formulations.base import Formulation
from flexarm.formulations.equation import Equation
from flexarm.mechanics.loads import wrench_list
from flexarm.model import Model
from tests.physics.states import State, random_state

Array = npt.NDArray[np.float64]


def states(model: Model, count: int = 2) -> list[State]:
    """Draw random states of an arm."""
    inputs = sum(axis.driven for axis in model.axes)
    wrenches = len(wrench_list(model))
    return [random_state(model, k, inputs=inputs, wrenches=wrenches) for k in range(count)]


def exponent(sizes: list[float], errors: list[float]) -> float:
    """Measure the power of the size that errors fall with, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


class Values:
    """An equation with numbers in and out."""

    def __init__(self, given: Equation | Formulation) -> None:
        self.equation = given if isinstance(given, Equation) else Equation.of(given)
        self._traced = cache(self.equation.function)

    def call(self, name: str, *arrays: Array) -> list[Array]:
        """Evaluate one of the equation's functions."""
        function = self._traced(name)
        if self.equation.model.floats:
            arrays = (*arrays, self.equation.reference_attitude)
        results = function.call([ca.DM(array) for array in arrays])
        return [np.array(ca.densify(result)) for result in results]

    def mass(self, q: Array) -> Array:
        return self.call("mass_matrix", q)[0]

    def coriolis(self, q: Array, v: Array) -> Array:
        return self.call("parts", q, v)[0].ravel()

    def gravity(self, q: Array) -> Array:
        return self.call("gravity", q)[0].ravel()

    def inverse(self, state: State) -> Array:
        return self.call("inverse_dynamics", state.q, state.v, state.a, state.factors)[0].ravel()

    def forward(self, state: State) -> Array:
        s = state
        found = self.call("forward_dynamics", s.q, s.v, s.u, s.factors, s.given)
        return np.concatenate([result.ravel() for result in found])

    @cached_property
    def free(self) -> list[int]:
        """Indices of the coordinates that are not prescribed."""
        model = self.equation.model
        return [i for i in range(model.size) if i not in model.prescribed]

    def condition(self, q: Array) -> float:
        """Condition of the free coordinates' mass matrix, scaled to a unit diagonal."""
        mass = self.mass(q)[np.ix_(self.free, self.free)]
        scale = np.sqrt(np.diag(mass))
        return float(np.linalg.cond(mass / np.outer(scale, scale)))
