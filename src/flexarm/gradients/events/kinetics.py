"""Mass matrix, tip pose and tip velocity of an arm with tangents, for transitions at events."""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.formulations.base import Formulation
from flexarm.formulations.equation import Equation
from flexarm.formulations.quantities import trace
from flexarm.gradients.rates import pushed
from flexarm.model import Model
from flexarm.spatial import Array, Inertia

QUANTITIES = ("mass_matrix", "tip_jacobian", "tip_pose")


@dataclass(frozen=True)
class ComplexKinetics:
    """Mass matrix, tip Jacobian and tip pose at complex coordinates and a complex load.

    Imaginary parts are tangents, computed by compiled derivatives by coordinates and load.
    """

    equation: Equation  # equation of motion with the load as an input
    load: Array  # tangent of the load's numbers

    @classmethod
    def of(cls, equation: Equation, model: Model) -> "ComplexKinetics":
        """Build the kinetics of a model; a complex tip body has its tangent as imaginary part."""
        numbers = model.links[-1].tip_body.numbers
        model = replace(model.loaded(Inertia.of_numbers(numbers.real)), load_given=True)
        formulation = replace(equation.formulation, model=model)
        return cls(replace(equation, formulation=formulation, _compiled={}), numbers.imag)

    @property
    def model(self) -> Model:
        """Model of the arm whose kinetics are computed."""
        return self.equation.model

    def mass_matrix(self, q: Array) -> Array:
        """Compute the mass matrix, shape (n, n)."""
        return self._values(q)[0].reshape(len(q), -1).T

    def tip_jacobian(self, q: Array) -> Array:
        """Compute the Jacobian of the tip, linear rows over angular rows, in world axes, (6, n)."""
        return self._values(q)[1].reshape(len(q), -1).T

    def tip_pose(self, q: Array) -> tuple[Array, Array]:
        """Compute the rotation matrix (3, 3) and the position (3,) of the tip in the world."""
        rotation, position = self._values(q)[2:]
        return rotation.reshape(3, 3).T, position

    def tip_velocity(self, q: Array, v: Array) -> Array:
        """Compute the tip velocity, linear [m/s] over angular [rad/s], in world axes, (6,)."""
        return self.tip_jacobian(q) @ v

    def _values(self, q: Array) -> list[Array]:
        """Return mass matrix, tip Jacobian, rotation and position, flattened column by column.

        The arrays are complex if the coordinates are complex or the load has a tangent.
        """
        function, n = self.equation.compile("kinetics, pushed", _trace, level="quick"), len(q)
        results = function.call(q.real, *self.equation.common_arguments, q.imag, self.load)
        change, values = (result.ravel() for result in results)
        if np.iscomplexobj(q) or self.load.any():
            values = values + 1j * change
        return np.split(values, np.cumsum([n * n, 6 * n, 9]))


def _trace(formulation: Formulation) -> ca.Function:
    """Return a symbolic function of mass matrix, tip Jacobian and tip pose, and of their tangents.

    The inputs are q, reference attitudes, load, tangent of q and tangent of the load.
    """
    functions = [trace(formulation, name) for name in QUANTITIES]
    symbols, names = functions[0].sx_in(), functions[0].name_in()
    values = [output for function in functions for output in function.call(symbols, True, False)]
    outputs = [f"out{k}" for k in range(len(values))]
    whole = ca.Function("kinetics", symbols, values, names, outputs)
    return pushed(whole, {"q_tangent": ("q",), "load_tangent": ("load",)}, values=True)
