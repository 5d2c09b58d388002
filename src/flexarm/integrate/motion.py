"""Compiled equations of motion (accelerations and powers) and their derivatives."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca

from flexarm.engine.compile import Compiled, Interpreted, Level
from flexarm.formulations.base import Formulation
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import KINDS, NO_ACTUATORS, Actuators, matrices_of, motion_of
from flexarm.model import Model


@dataclass(frozen=True)
class MotionFunctions:
    """Compiled equations of motion with control law and actuators, and their derivatives."""

    equation: Equation  # equation of motion of the arm
    # A function (t, q, v) to u that is part of the equations, or None.
    law: ca.Function | None = None
    actuators: Actuators = NO_ACTUATORS  # servos, brakes and event functions in the equations
    # Compiled functions, kept here because runs refer to machine code by address only, and the code
    # is unloaded with its object.
    kept: dict[tuple[str, Level], Compiled] = field(default_factory=dict, repr=False)

    @property
    def ruled(self) -> bool:
        """Whether the equations contain a CasADi law that computes inputs or a wrench."""
        return self.law is not None or bool(self.actuators.wrenches)

    @property
    def timely(self) -> bool:
        """Whether the equations depend on time explicitly, through a law or an orbit's rotation."""
        return self.ruled or bool(self.actuators.impulses and self.equation.model.orbit)

    def trace(self, formulation: Formulation, *, accelerated: bool = False) -> ca.Function:
        """Return the CasADi function of accelerations and powers (see `motion_of`)."""
        return motion_of(formulation, self.law, self._acting(formulation), accelerated=accelerated)

    def compiled(self) -> Compiled:
        """Return the compiled function of accelerations and powers."""
        return self._compile("motion", self.trace, "fast")

    def slopes(self, level: Level = "quick") -> Compiled:
        """Return compiled derivatives of inverse dynamics and powers with respect to q, v, a.

        Derivatives of the force take half the operations of derivatives of the accelerations, which
        need the inverse of the mass matrix. Jacobians of the force are stored in column-major
        order.
        """
        return self._compile("slopes", lambda f: _slopes(self.trace(f, accelerated=True)), level)

    def matrices(self) -> Compiled:
        """Return compiled mass, stiffness and damping matrices, with servo gains included."""
        if not self.actuators.servos:
            return self.equation.compiled("matrices")
        return self._compile("matrices", lambda f: matrices_of(f, self._acting(f)), "quick")

    @cached_property
    def _own(self) -> dict[str, Callable[[Model], Any]]:
        """Functions that list the model's actuators, by kind, where the actuators are unchanged.

        A kind is left out if there are no actuators of this kind.
        """
        model = self.equation.model
        return {
            kind: list_of
            for kind, list_of in KINDS.items()
            if (elements := getattr(self.actuators, kind))
            and Actuators(**{kind: elements}).key == Actuators(**{kind: list_of(model)}).key
        }

    def _acting(self, formulation: Formulation) -> Actuators:
        """Return the actuators with the parameters of a formulation, which may be symbols."""
        elements = {kind: list_of(formulation.model) for kind, list_of in self._own.items()}
        return replace(self.actuators, **elements)

    def _compile(
        self, name: str, make: Callable[[Formulation], ca.Function], level: Level
    ) -> Compiled:
        compiled = self.kept.get((name, level))
        if compiled is None:
            law = "" if self.law is None else self.law.serialize()
            own_elements: dict[str, Any] = dict.fromkeys(self._own, ())
            others = replace(self.actuators, **own_elements)
            key = f"integrate {name} {law}{others.key} {', '.join(self._own)}"
            compiled = self.equation.compile(key, make, level=level)
        # threads that compile at the same time share one result
        return self.kept.setdefault((name, level), compiled)


@dataclass(frozen=True)
class InterpretedMotion(MotionFunctions):
    """Equations of motion that CasADi evaluates without compilation, for short trials."""

    def matrices(self) -> Compiled:
        """Return mass, stiffness and damping matrices as CasADi functions, with servo gains."""
        return self._compile("matrices", lambda f: matrices_of(f, self._acting(f)), "quick")

    def _compile(
        self, name: str, make: Callable[[Formulation], ca.Function], level: Level
    ) -> Compiled:
        if (name, level) not in self.kept:
            self.kept[name, level] = Interpreted(make(self.equation.formulation))
        return self.kept[name, level]


def _slopes(motion: ca.Function) -> ca.Function:
    symbols = motion.sx_in()
    values = dict(zip(("force", "power"), motion.call(symbols, True, False)[:2], strict=True))
    by = {name: symbols[motion.index_in(name)] for name in "qva"}
    derivatives = {
        f"{of}_by_{name}": ca.densify(ca.jacobian(value, symbol))
        for of, value in values.items()
        for name, symbol in by.items()
    }
    derivatives |= {
        name: symbol.T for name, symbol in derivatives.items() if name.startswith("force")
    }
    return ca.Function(
        "slopes", symbols, list(derivatives.values()), motion.name_in(), list(derivatives)
    )
