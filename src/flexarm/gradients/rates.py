"""Equations of motion with all parameters of the arm as symbols, and their derivatives.

The state is y = (q, v, x): coordinates, rates, and the states x of servos and drives.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from flexarm.formulations.base import Formulation
from flexarm.formulations.numbers import BoundKernel, kernel
from flexarm.integrate.actuators import Actuators, actuators_of, matrices_of, motion_of
from flexarm.integrate.mission.event_functions import EventFunction
from flexarm.model import NUMBERS, Model
from flexarm.model.numbers import common_pattern

Others = Callable[[], Sequence[Model]]
Derive = Callable[[ca.Function], ca.Function]
STATE = ("q", "v", "x")
WEIGHT, TANGENT, PULSE, DIRECTION = "weight", "tangent", "pulse", "direction"


@dataclass(frozen=True)
class RateFunctions:
    """Compiled state derivatives of an arm, and their derivatives in forward and reverse mode."""

    # Control law: a CasADi function from (t, q, v) to inputs u, which replaces inputs and servos,
    # or None.
    law: ca.Function | None = None
    event_functions: tuple[EventFunction, ...] = ()  # event functions of state-dependent events

    def member(self, name: str, formulation: Formulation, others: Others) -> BoundKernel:
        """Return the compiled function of a given name, with parameters of the arm as inputs.

        The function ``rates`` computes accelerations and derivatives of actuator states (a, dx),
        ``matrices`` computes mass, stiffness and damping matrix (M, K, D), and ``event_values`` the
        event functions. With the prefix ``pulled ``, a function computes the product of a row
        vector ``weight`` and its Jacobian with respect to state, inputs and parameters. With the
        prefix ``pushed ``, it computes its derivative along a direction of state, inputs and
        parameters. The argument ``others`` returns further arms for which the compiled code must be
        valid.
        """
        how, _, kind = name.rpartition(" ")
        trace = {
            "rates": self._trace,
            "matrices": self._matrices,
            "event_values": self._event_values,
        }[kind]
        along = {TANGENT: STATE, PULSE: ("u",), DIRECTION: (NUMBERS,)}
        derived: dict[str, Derive] = {
            "": lambda f: f,
            "pulled": _pulled,
            "pushed": lambda f: pushed(f, along),
        }
        law = "" if self.law is None else self.law.serialize()
        event_key = repr(self.event_functions) if kind == "event_values" else ""
        return kernel(
            f"gradients {name} {law}{event_key}", formulation, lambda f: derived[how](trace(f)),
            common_pattern([formulation.model, *others()]),
        )  # fmt: skip

    def _matrices(self, formulation: Formulation) -> ca.Function:
        function = matrices_of(formulation, self._actuators(formulation))
        symbols = function.sx_in()
        results = [ca.vec(ca.densify(result)) for result in function.call(symbols, True, False)]
        return ca.Function("matrices", symbols, results, function.name_in(), function.name_out())

    def _actuators(self, formulation: Formulation) -> Actuators:
        """Return the servos and drive trains; without servos if a control law replaces them."""
        actuators = replace(
            actuators_of(formulation.model), event_functions=(), loss_channels=(), impulses=0
        )
        return actuators if self.law is None else replace(actuators, servos=())

    def _trace(self, formulation: Formulation) -> ca.Function:
        """Return a CasADi function of accelerations and derivatives of actuator states (a, dx)."""
        return self._picked(formulation, self._actuators(formulation), ("a", "dx"))

    def _event_values(self, formulation: Formulation) -> ca.Function:
        actuators = replace(self._actuators(formulation), event_functions=self.event_functions)
        return self._picked(formulation, actuators, ("event_values",))

    def _picked(
        self, formulation: Formulation, actuators: Actuators, output_names: tuple[str, ...]
    ) -> ca.Function:
        """Return a CasADi function of the requested outputs, without empty ones."""
        motion = motion_of(formulation, self.law, actuators)
        symbols = motion.sx_in()
        outputs = dict(zip(motion.name_out(), motion.call(symbols, True, False), strict=True))
        names = [name for name in output_names if name in outputs and outputs[name].numel()]
        return ca.Function(
            "rates", symbols, [ca.densify(outputs[name]) for name in names], motion.name_in(), names
        )


def _taken_apart(rates: ca.Function) -> tuple[dict[str, ca.SX], ca.SX]:
    symbols = dict(zip(rates.name_in(), rates.sx_in(), strict=True))
    results = rates.call(list(symbols.values()), True, False)
    return symbols, ca.densify(ca.vertcat(*(ca.vec(result) for result in results)))


def _pulled(rates: ca.Function) -> ca.Function:
    symbols, result = _taken_apart(rates)
    weight = ca.SX.sym(WEIGHT, result.shape[0])
    by = [
        ca.vertcat(*(symbols.get(name, ca.SX(0, 1)) for name in STATE)),
        symbols.get("u", ca.SX(0, 1)),
        symbols[NUMBERS],
    ]
    sizes = [0, *(int(symbol.shape[0]) for symbol in by)]
    slopes = ca.densify(ca.jtimes(result, ca.vertcat(*by), weight, True))
    parts = ca.vertsplit(slopes, [sum(sizes[: k + 1]) for k in range(4)])
    products = dict(zip(("by_state", "by_input", "by_number"), parts, strict=True))
    return _function("pulled", symbols, {WEIGHT: weight}, products)


def pushed(
    function: ca.Function, along: Mapping[str, Sequence[str]], *, values: bool = False
) -> ca.Function:
    """Return a function of the derivative of all outputs along a direction, as one vector.

    The argument ``along`` lists the inputs to which each part of the direction belongs, by the name
    of this part. With ``values``, the function returns the outputs too.
    """
    symbols, result = _taken_apart(function)
    by = {
        name: ca.vertcat(*(symbols.get(symbol, ca.SX(0, 1)) for symbol in inputs))
        for name, inputs in along.items()
    }
    more = {name: ca.SX.sym(name, symbol.shape[0]) for name, symbol in by.items()}
    change = ca.jtimes(result, ca.vertcat(*by.values()), ca.vertcat(*more.values()))
    results = {"change": ca.densify(change)} | ({"values": result} if values else {})
    return _function("pushed", symbols, more, results)


def _function(
    name: str, symbols: dict[str, ca.SX], more: dict[str, ca.SX], results: dict[str, ca.SX]
) -> ca.Function:
    """Return a CasADi function whose last input is the vector of the arm's parameters."""
    inputs = {k: s for k, s in symbols.items() if k != NUMBERS} | more
    inputs |= {k: s for k, s in symbols.items() if k == NUMBERS}
    return ca.Function(
        name, list(inputs.values()), list(results.values()), list(inputs), list(results)
    )
