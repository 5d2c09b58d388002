"""The result of a simulation, by name and with units."""

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arguments import refused, require_path
from flexarm.links.base import Array
from flexarm.model import Model

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from flexarm.integrate.validity import Validity

STILL = 1e-12  # of the largest energy: what is exchanged below is rounding


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
        ``finished``, ``stopped``, ``interrupted``, or ``running`` if it is not the end; when, why
        and what to try.
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
    def balance(self) -> Array:
        """Energy less what was put in, from the start on [J], (T,): 0 but for the solver."""
        error = self.energy.sum(axis=1) - self.energy[0].sum() - (self.work - self.work[0])
        return np.asarray(error)

    @property
    def energy_balance(self) -> float:
        """Largest error of the energy balance over the energy exchanged.

        Of an arm that exchanges none: over its largest energy.
        """
        error = float(np.abs(self.balance).max())
        size, largest = self.exchanged, float(np.abs(self.energy).max())
        if size <= STILL * largest:
            size = largest
        return error / size if error else 0.0

    @property
    def exchanged(self) -> float:
        """Energy that moved or changed its form [J], at the samples.

        The largest kinetic energy, range of the elastic or gravitational one, or change of a work.
        """
        forms = np.hstack([self.energy[:, 1:], self.works])
        return max(float(self.energy[:, 0].max()), float(np.ptp(forms, axis=0).max()))

    @cached_property
    def validity(self) -> "Validity":
        """How far the run went in the range in which its model holds."""
        from flexarm.integrate.validity import validity

        return validity(self.model, self.t, self.q, self.u)

    @cached_property
    def missed(self) -> str:
        """What moves faster than the samples show, and which ``dt`` would; empty if nothing."""
        from flexarm.integrate.sampling import what_is_missed

        return what_is_missed(self.model, self.t, self.q, self.v)

    @cached_property
    def dataset(self) -> "xarray.Dataset":
        """The run as an xarray dataset, with units; the arm's model file is in its attributes."""
        from flexarm.integrate.contents import along_variables, attributes, main_variables
        from flexarm.integrate.run_file import to_dataset

        variables = [*main_variables(self), *along_variables(self, None)]
        return to_dataset(variables, attributes(self))

    def along(self, stations: ArrayLike | None = None) -> "xarray.Dataset":
        """Find deflection, slope and twist along each flexible link.

        Parameters
        ----------
        stations
            How many from root to tip (11 if None), or fractions of the (exposed) span.
        """
        from flexarm.integrate.contents import XYZ, Variable, along_variables
        from flexarm.integrate.run_file import to_dataset

        labels = [
            Variable("time", ("time",), self.t, "s", "time"),
            Variable("axis", ("axis",), XYZ, "", "axes x, y, z"),
        ]
        return to_dataset([*labels, *along_variables(self, stations)], {})

    def section_forces(self, stations: ArrayLike | None = None) -> "xarray.Dataset":
        """Find forces, moments and largest strains along each flexible link, from its curvature.

        Parameters
        ----------
        stations
            How many from root to tip (11 if None), or fractions of the (exposed) span.

        Notes
        -----
        They are as good as the second (shear: third) derivatives of the shapes, which converge
        more slowly with the number of shapes than deflections do.  What `joint_wrenches` gives
        follows from equilibrium instead.
        """
        from flexarm.integrate.contents import force_variables
        from flexarm.integrate.run_file import to_dataset

        return to_dataset(force_variables(self, stations), {})

    def joint_wrenches(self) -> "xarray.Dataset":
        """Find force and torque that each joint exerts on its link, at the joint, in the world."""
        from flexarm.integrate.contents import wrench_variables
        from flexarm.integrate.run_file import to_dataset

        return to_dataset(wrench_variables(self), {})

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the run to a NetCDF file, whole or not at all; `load_run` reads it back.

        Parameters
        ----------
        path
            The file.
        force
            Whether to overwrite a file that is there.
        """
        from flexarm.integrate.run_file import save_run

        save_run(self, path, force=force)

    def to_csv(self, path: str | Path, *, force: bool = False) -> None:
        """Write the run as a CSV table, whole or not at all: names and units in the first line.

        Parameters
        ----------
        path
            The file.
        force
            Whether to overwrite a file that is there.
        """
        from flexarm.integrate.run_file import save_table

        save_table(self, path, force=force)

    def to_html(self, path: str | Path, *, force: bool = False) -> None:
        """Write the run as one page that moves, whole or not at all."""
        from flexarm.viewer.page import run_page, save_page

        save_page(run_page([self]), path, force=force)

    def plot(self, path: str | Path | None = None, *, force: bool = True) -> "Figure":
        """Draw joints, deflections, tip path and energy; write the figure if a path is given.

        Parameters
        ----------
        path
            The file, if any; its suffix says which kind (png, svg, pdf).
        force
            Whether to overwrite a file that is there: figures are drawn again and again.
        """
        from flexarm.integrate.plot import plot_run
        from flexarm.io.whole_file import write_whole

        figure = plot_run(self)
        if path is not None:
            memory, kind = io.BytesIO(), require_path("path", path).suffix[1:].lower() or "png"
            known = figure.canvas.get_supported_filetypes()
            if kind not in known:
                raise refused("path", path, f"a file that ends in one of {', '.join(known)}")
            figure.savefig(memory, dpi=150, format=kind)
            write_whole(path, memory.getvalue(), force=force)
        return figure
