"""The result of a simulation, by name and with units."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flexarm.links.base import Array
from flexarm.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Statistics:
    """What a run took: accepted and rejected steps, evaluations, CPU time of the solver [s]."""

    steps: int
    rejections: int
    evaluations: int
    cpu_seconds: float


@dataclass(frozen=True)
class Run:
    """A simulated motion at T instants.

    Attributes
    ----------
    model
        The arm.
    t
        Time [s], (T,).
    q, v
        Coordinates and rates in the order of ``model.names``, (T, n).
    u
        Inputs in the order of the driven joints, (T, inputs).
    tip, tip_rotation
        Position (T, 3) [m] and rotation (T, 3, 3) of the arm's tip in the world.
    energy
        Kinetic, elastic and gravitational energy [J], (T, 3).
    works
        Work done so far by inputs, wrenches and prescribed coordinates, and what was dissipated
        [J], (T, 4).
    anchors
        Attitude that a free base's angles are relative to, world from anchor axes, (T, 3, 3).
    status, reason
        ``finished``, ``stopped`` or ``interrupted``; when, why and what to try.
    method, why
        The integrator, and why it was chosen.
    rtol
        The tolerance asked for.
    statistics
        What it took.
    """

    model: Model
    t: Array
    q: Array
    v: Array
    u: Array
    tip: Array
    tip_rotation: Array
    energy: Array
    works: Array
    anchors: Array
    status: str
    reason: str
    method: str
    why: str
    rtol: float
    statistics: Statistics

    @property
    def work(self) -> Array:
        """What inputs, wrenches and prescribed joints have put in less what was lost [J], (T,)."""
        return np.asarray(self.works @ np.array([1.0, 1.0, 1.0, -1.0]))

    @property
    def energy_balance(self) -> float:
        """Largest error of the energy balance over the largest kinetic energy."""
        error = self.energy.sum(axis=1) - self.energy[0].sum() - (self.work - self.work[0])
        return float(np.abs(error).max() / max(float(self.energy[:, 0].max()), 1e-300))

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw joints, deflections, tip path and energy; write the figure if a path is given."""
        from flexarm.integrate.plot import plot_run

        figure = plot_run(self)
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure
