"""Fast motions without residual vibration: input shapers, plans, and model predictive control."""

from flexarm.planning.mpc import Mpc, mpc
from flexarm.planning.plan import Plan, Variation, plan
from flexarm.planning.problem import Limits
from flexarm.planning.shape_inputs import (
    ShapedInputs,
    Shaper,
    plot_robustness,
    shape_inputs,
    shaper,
    shaper_of_modes,
)

__all__ = [
    "Limits",
    "Mpc",
    "Plan",
    "ShapedInputs",
    "Shaper",
    "Variation",
    "mpc",
    "plan",
    "plot_robustness",
    "shape_inputs",
    "shaper",
    "shaper_of_modes",
]
