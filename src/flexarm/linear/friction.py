"""Coulomb friction in linear models: neglected, as a describing function, or as a slope."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from flexarm.arguments import WithUnit, require_positive, require_word
from flexarm.errors import FlexarmError
from flexarm.linear.constants import SECANT_SPEED
from flexarm.mechanics.loads import Coulomb, coulomb_frictions
from flexarm.model import Model
from flexarm.spatial import Array

FrictionChoice = Literal["off", "secant", "tangent"]


@dataclass(frozen=True)
class DryFriction:
    """Treatment of Coulomb friction ``F sign(v)`` in a linear model.

    Notes
    -----
    For an oscillation ``v0 + V sin(w t)`` the describing function is
    ``4 F/(pi V) sqrt(1 - (v0/V)^2)``, and 0 if the speed does not change sign (Gelb & Vander Velde
    1968, the relay).
    """

    # ``off``: left out, which is exact while a joint moves in one direction.  ``secant``: its
    # describing function, the viscous friction that dissipates as much energy of an oscillation.
    # ``tangent``: the slope of the smoothed friction at the state, ``F/smoothing`` at rest.
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
