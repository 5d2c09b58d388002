"""Fast motions that do not ring: input shapers, and plans that are simulated."""

from flexarm.planning.shape_inputs import ShapedInputs, shape_inputs
from flexarm.planning.shapers import Shaper, plot_robustness, shaper, shaper_of_modes

__all__ = [
    "ShapedInputs",
    "Shaper",
    "plot_robustness",
    "shape_inputs",
    "shaper",
    "shaper_of_modes",
]
