"""The result of a simulation, by name and with units."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from flexarm.arguments import WithUnit, listed, refused, require_number
from flexarm.errors import FlexarmError, SimulationError
from flexarm.runs.curves import Settling, motion_end, settling
from flexarm.runs.data import RunData

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray
    from matplotlib.figure import Figure

    from flexarm.runs.contents import Variable


PAGE_SIZE = 3_000_000  # of the page in a notebook; a run with a larger one is a picture there
FRAME = "width:100%;height:540px;border:0;resize:vertical;overflow:auto"
STILL_DPI = 72  # of that picture


def _named(variables: "list[Variable]") -> "xarray.Dataset":
    from flexarm.runs.write import to_dataset

    return to_dataset(variables, {})


def _require_runs(name: str, value: object) -> "list[Run]":
    """Refuse what is no list of runs."""
    found = listed(value)
    if found is None or not all(isinstance(each, Run) for each in found):
        raise refused(name, value, "a list of runs, such as [other]")
    return found


@dataclass(frozen=True, repr=False)
class Run(RunData):
    """A simulated motion: its arrays, tables of them, files, figures and pages."""

    def _repr_html_(self) -> str:
        from flexarm.viewer.page import run_page

        page = run_page([self])
        if len(page) <= PAGE_SIZE:
            look = f'style="{FRAME}" title="the run" srcdoc="{escape(page)}"'
            return self._summary().html(f"<iframe {look}></iframe>")
        memory = io.BytesIO()
        self.plot().savefig(memory, dpi=STILL_DPI, format="png")
        data = base64.b64encode(memory.getvalue()).decode("ascii")
        return self._summary().html(f'<img alt="the run" src="data:image/png;base64,{data}"/>')

    @cached_property
    def dataset(self) -> "xarray.Dataset":
        """The run as an xarray dataset, with units; the arm's model file is in its attributes."""
        from flexarm.runs.contents import along_variables, attributes, main_variables
        from flexarm.runs.write import to_dataset

        variables = [*main_variables(self), *along_variables(self, None)]
        return to_dataset(variables, attributes(self))

    def settling(self, after: WithUnit | None = None, *, band: float = 0.02) -> Settling:
        """Find how much the tip still swings after a motion, and when it has settled.

        Parameters
        ----------
        after
            When the motion is over [s]; by the inputs, wrenches, targets and motions of the arm's
            file and by what happened, if None.
        band
            How close it must stay to its last place, as a share of its largest distance from it.

        Returns
        -------
        Settling
            ``swing`` [m], half the range of the tip's place from then on; ``time`` [s] from which
            on it stays within ``band`` [m], None if that is too late to tell.

        Raises
        ------
        FlexarmError
            If the run stopped, or has fewer than five samples after the motion; if it is not known
            when that is over: something never ends, or a law or other inputs drove the arm.
        """
        if self.status != "finished":
            raise SimulationError(
                f"the motion cannot be judged: its simulation stopped: {self.reason}"
            )
        share = require_number("band", band, least=0.0, largest=1.0)
        if after is None:
            after = self._motion_end()
        after = require_number("after", after, least=float(self.t[0]), unit="s")
        if after > self.t[-1]:
            raise FlexarmError(
                f"after: must be at most {self.t[-1]:.6g}, the end of the run [s], got {after:.6g}"
            )
        return settling(self.t, self.tip, after, share)

    def _motion_end(self) -> float:
        """Find when what drives the arm is over [s]."""
        if not self.own:
            raise FlexarmError(
                "after: must be given: the run had a law or other inputs than its arm's file, or "
                "is of a file that does not say"
            )
        found = motion_end(self.model, [(each.t, each.what) for each in self.happenings])
        return max([found, *(float(self.t[leg.first]) for leg in self.legs)])

    def along(self, stations: ArrayLike | None = None) -> "xarray.Dataset":
        """Find deflection, slope and twist along each flexible link.

        Parameters
        ----------
        stations
            How many from root to tip (11 if None), or fractions of the (exposed) span.

        Returns
        -------
        xarray.Dataset
            ``deflection`` [m], ``slope`` and ``twist`` [rad] over time, link and station.
        """
        from flexarm.runs.contents import XYZ, Variable, along_variables

        labels = [
            Variable("time", ("time",), self.t, "s", "time"),
            Variable("axis", ("axis",), XYZ, "", "axes x, y, z"),
        ]
        return _named([*labels, *along_variables(self, stations)])

    def section_forces(self, stations: ArrayLike | None = None) -> "xarray.Dataset":
        """Find forces, moments and largest strains along each flexible link, from its curvature.

        Parameters
        ----------
        stations
            How many from root to tip (11 if None), or fractions of the (exposed) span.

        Returns
        -------
        xarray.Dataset
            By time, link and station, with units.

        Notes
        -----
        They are as good as the second (shear: third) derivatives of the shapes, which converge
        more slowly with the number of shapes than deflections do.  What `joint_wrenches` gives
        follows from equilibrium instead.
        """
        from flexarm.runs.contents import force_variables

        return _named(force_variables(self, stations))

    def joint_wrenches(self) -> "xarray.Dataset":
        """Find force and torque that each joint exerts on its link, at the joint, in the world.

        Returns
        -------
        xarray.Dataset
            ``force`` [N] and ``torque`` [N m] over time, joint and axis.
        """
        from flexarm.runs.contents import wrench_variables

        return _named(wrench_variables(self))

    def contacts(self) -> "xarray.Dataset":
        """Find distance, penetration, normal force and friction of every contact, by its name.

        Returns
        -------
        xarray.Dataset
            ``distance``, ``penetration`` [m] and ``normal_force`` [N] over time and contact,
            ``friction_force`` [N] over axis too.
        """
        from flexarm.runs.motions import contact_variables

        return _named(contact_variables(self))

    def springs(self) -> "xarray.Dataset":
        """Find length and force of every spring between two points, by its name.

        Returns
        -------
        xarray.Dataset
            ``length`` [m] and ``force`` [N], which pulls the points together, over time and spring.
        """
        from flexarm.runs.motions import spring_variables

        return _named(spring_variables(self))

    def momenta(self) -> "xarray.Dataset":
        """Find momentum, angular momentum and centre of mass of all that moves, in the world.

        Returns
        -------
        xarray.Dataset
            ``linear_momentum`` [kg m/s], ``angular_momentum`` (about the world's origin),
            ``angular_momentum_about_centre`` [kg m^2/s] and ``centre_of_mass`` [m], over time and
            axis.
        """
        from flexarm.runs.motions import momentum_variables

        return _named(momentum_variables(self))

    def tip_motion(self) -> "xarray.Dataset":
        """Find velocity and acceleration of the arm's tip, linear and angular, in the world.

        Returns
        -------
        xarray.Dataset
            ``velocity`` [m/s], ``angular_velocity`` [rad/s], ``acceleration`` [m/s^2] and
            ``angular_acceleration`` [rad/s^2] over time and axis.
        """
        from flexarm.runs.motions import tip_variables

        return _named(tip_variables(self))

    def link_frames(self) -> "xarray.Dataset":
        """Find place and axes of the root and the flexible tip of every link, in the world.

        Returns
        -------
        xarray.Dataset
            ``root_position``, ``tip_position`` [m] over time, link and axis; ``root_rotation`` and
            ``tip_rotation``, whose columns are the link's axes.
        """
        from flexarm.runs.motions import frame_variables

        return _named(frame_variables(self))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the run to a NetCDF file, whole or not at all; `load_run` reads it back.

        Parameters
        ----------
        path
            The file.
        force
            Whether to overwrite a file that is there.
        """
        from flexarm.runs.write import save_run

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
        from flexarm.runs.write import save_table

        save_table(self, path, force=force)

    def to_pandas(self) -> "pandas.DataFrame":
        """Give the table of the run as a frame of pandas: a row per sample, by time [s].

        Raises
        ------
        FlexarmError
            If pandas is not installed.
        """
        from flexarm.runs.write import frame_of

        return frame_of(self)

    def export(self, path: str | Path, *, force: bool = False) -> None:
        """Write the run for other programs, whole or not at all.

        Parameters
        ----------
        path
            The file; its ending says which kind: ``.mat`` (MATLAB, Octave), ``.csv``, and with
            what pandas needs for them ``.parquet`` and ``.xlsx``.
        force
            Whether to overwrite a file that is there.
        """
        from flexarm.runs.write import export_run

        export_run(self, path, force=force)

    def to_html(
        self, path: str | Path, *, beside: Sequence["Run"] = (), force: bool = False
    ) -> None:
        """Write the run, and others beside it, as one page that moves, whole or not at all."""
        from flexarm.viewer.page import run_page, save_page

        save_page(run_page([self, *_require_runs("beside", beside)]), path, force=force)

    def to_movie(
        self, path: str | Path, *, beside: Sequence["Run"] = (), force: bool = False
    ) -> None:
        """Write the run, and others beside it, as a film: gif, or by ffmpeg webm and mp4."""
        from flexarm.viewer.movie import save_movie

        save_movie([self, *_require_runs("beside", beside)], path, force=force)

    def to_picture(
        self,
        path: str | Path,
        *,
        at: WithUnit | None = None,
        beside: Sequence["Run"] = (),
        force: bool = False,
    ) -> None:
        """Write a picture of the arm (png, svg, pdf) at a time [s], at the end of the run if None.

        Others stand beside it; lines are the ways of the tips.
        """
        from flexarm.viewer.movie import save_picture

        save_picture([self, *_require_runs("beside", beside)], path, at=at, force=force)

    def plot(self, path: str | Path | None = None, *, force: bool = True) -> "Figure":
        """Draw joints, deflections, tip path and energy; write the figure if a path is given.

        Parameters
        ----------
        path
            The file, if any; its suffix says which kind (png, svg, pdf).
        force
            Whether to overwrite a file that is there: figures are drawn again and again.

        Returns
        -------
        Figure
            Matplotlib's.
        """
        from flexarm.io.whole_file import write_figure
        from flexarm.runs.plot import plot_run

        figure = plot_run(self)
        if path is not None:
            write_figure(path, figure, force=force)
        return figure
