"""Figures of planned motions."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.figures import COLOURS, drawable, panels
from flexarm.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_plan(run: Run, unshaped: Run, duration: float) -> "Figure":
    """Draw a plan's inputs, and the tip's distance from its final position.

    The distance is shown for the planned and for the unshaped motion.
    """
    figure, ((above,), (below,)) = panels((9, 6), 2, shared=True)
    names = [axis.name for axis in run.model.axes if axis.driven]
    for k, name in enumerate(names):
        above.plot(run.t, run.u[:, k], color=COLOURS[k % len(COLOURS)], label=drawable(name))
    above.set_ylabel("inputs")
    above.legend(frameon=False)
    for k, (motion, label) in enumerate(((unshaped, "unshaped"), (run, "planned"))):
        away = np.linalg.norm(motion.tip - motion.tip[motion.t >= duration].mean(axis=0), axis=1)
        below.semilogy(motion.t, np.maximum(away, 1e-9), color=COLOURS[k], label=label)
    below.axvline(duration, color="#6d7884", linewidth=0.8, linestyle=":")
    below.set(xlabel="t [s]", ylabel="tip from its final place [m]", xlim=(0, run.t[-1]))
    below.legend(frameon=False)
    return figure
