"""Choose an integrator for a motion, and say why."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.errors import SimulationError
from flexarm.integrate.dop853 import DOP853
from flexarm.integrate.etd4 import ETD4
from flexarm.integrate.method import Method
from flexarm.integrate.problem import Vibration
from flexarm.integrate.rk4 import RK4, STABLE
from flexarm.integrate.rodas4 import RODAS4

if TYPE_CHECKING:
    from flexarm.integrate.simulate import Task

METHODS: dict[str, Method] = {each.name: each for each in (ETD4, DOP853, RODAS4, RK4)}


def rk4_step(vibration: Vibration, duration: float, wanted: float, step: float | None) -> float:
    """Choose the step of rk4 by the fastest mode, or check the one that a user gives.

    An error of a thousandth of the deflections takes about 0.4 over the fastest frequency.
    """
    limit = STABLE / max(vibration.fastest, 1e-12)
    if step is None:
        share = 0.4 * (wanted / 1e-3) ** 0.3
        return float(min(duration / 200, min(2.5, share) / max(vibration.fastest, 1e-12)))
    if step > limit:
        raise SimulationError(
            f"step: {step:g} s is too large for rk4: the fastest mode "
            f"({vibration.fastest / (2 * np.pi):.4g} Hz) needs at most {limit:.3g} s; "
            "take fewer modes, a smaller step, or method 'auto'"
        )
    return step


def choose(task: "Task", wanted: float, *, audit: bool) -> tuple[Method, str]:
    """Choose the method that will take least work to keep a tolerance."""
    return DOP853, "placeholder"
