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
    tip
        Position of the arm's tip in the world [m], (T, 3).
    energy
        Kinetic, elastic and gravitational energy [J], (T, 3).
    work
        Work done so far by inputs, prescribed joints and dissipation [J], (T,).
    anchors
        Attitude that a free base's angles are relative to, world from anchor axes, (T, 3, 3).
    """

    model: Model
    t: Array
    q: Array
    v: Array
    tip: Array
    energy: Array
    work: Array
    anchors: Array

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
