"""The length of equal steps."""

import numpy as np

from flexarm.errors import SimulationError
from flexarm.integrate.choice.vibration import Vibration
from flexarm.integrate.methods.base import Method


def equal_step(
    method: Method, vibration: Vibration, duration: float, wanted: float, step: float | None
) -> float:
    """Choose an equal step by the fastest mode and decay, or check the one that a user gives.

    An error of a thousandth of the deflections takes about 0.4 over the fastest frequency.
    """
    fastest, largest = max(vibration.fastest, 1e-12), max(vibration.steepest, 1e-12)
    if step is None:
        share = 0.4 * (wanted / 1e-3) ** 0.3
        return float(min(duration / 200, share / fastest, 0.9 * method.stable / largest))
    limit = method.stable / largest
    if step > limit:
        what = f"the fastest mode ({fastest / (2 * np.pi):.4g} Hz)"
        if largest > 1.05 * fastest:
            what = f"the fastest decay, by damping ({largest:.4g} 1/s),"
        raise SimulationError(
            f"step: {step:g} s is too large for {method.name}: {what} needs at most {limit:.3g} s; "
            "take fewer modes, less damping, a smaller step, or method 'auto'"
        )
    return step
