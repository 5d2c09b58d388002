"""Result of a simulation with tables, files and figures; many runs of one arm as one dataset."""

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
from flexarm.runs.constants import PAGE_CHARACTERS, PAGE_PICTURE_DPI, SETTLING_BAND
from flexarm.runs.contents import (
    along_variables,
    attributes,
    contact_variables,
    force_variables,
    frame_variables,
    main_variables,
    momentum_variables,
    spring_variables,
    time_and_axis,
    tip_variables,
    to_dataset,
    wrench_variables,
)
from flexarm.runs.curves import Settling, motion_end, settling
from flexarm.runs.data import RunData
from flexarm.runs.write import export_run, frame_of, save_run, save_table

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


FRAME = "width:100%;height:540px;border:0;resize:vertical;overflow:auto"


def _require_runs(name: str, value: object) -> "list[Run]":
    """Return a list of runs; raise an error for any other value."""
    runs = listed(value)
    if runs is None or not all(isinstance(run, Run) for run in runs):
        raise refused(name, value, "a list of runs, such as [other]")
    return runs


@dataclass(frozen=True, repr=False, eq=False)
class Run(RunData):
    """A simulated motion, with methods for derived quantities, files, figures and pages."""

    def _repr_html_(self) -> str:
        from flexarm.viewer.page import run_page

        page = run_page([self])
        if len(page) <= PAGE_CHARACTERS:
            frame_attributes = f'style="{FRAME}" title="the run" srcdoc="{escape(page)}"'
            return self._summary().html(f"<iframe {frame_attributes}></iframe>")
        memory = io.BytesIO()
        self.plot().savefig(memory, dpi=PAGE_PICTURE_DPI, format="png")
        data = base64.b64encode(memory.getvalue()).decode("ascii")
        return self._summary().html(f'<img alt="the run" src="data:image/png;base64,{data}"/>')

    @cached_property
    def dataset(self) -> "xarray.Dataset":
        """The run as an xarray dataset, with units; attributes include the arm's model file."""
        variables = [*main_variables(self), *along_variables(self, None)]
        return to_dataset(variables, attributes(self))

    def settling(self, after: WithUnit | None = None, *, band: float = SETTLING_BAND) -> Settling:
        """Compute the tip's swing after a motion, and the times after which the tip has settled.

        Parameters
        ----------
        after
            End of the motion [s]; if None, the time at which the inputs, wrenches, targets and
            motions of the model file are over, and all events have occurred.
        band
            Distance from its final place within which the tip must stay, relative to its largest
            distance.

        Returns
        -------
        Settling
            ``swing`` [m], half the range of the tip's coordinates after the motion; ``time`` [s]
            from which on the tip stays within ``band`` [m], None if too little of the run is left
            to confirm it.

        Raises
        ------
        FlexarmError
            If the run stopped, or has fewer than five samples after the motion; or if the end of
            the motion is unknown, since an input or load never ends, or a control law or other
            inputs than those of the model file drove the arm.
        """
        if self.status != "finished":
            raise SimulationError(
                f"the motion cannot be judged, since its simulation stopped: {self.reason}"
            )
        relative_band = require_number("band", band, least=0.0, largest=1.0)
        if after is None and not self.own:
            raise FlexarmError(
                "after: give the time [s] at which the motion ends. That time does not follow from "
                "the arm's file, since the run had other inputs."
            )
        if after is None:
            end = motion_end(self.model, [(event.t, event.what) for event in self.event_records])
            after = max([end, *(float(self.t[phase.first]) for phase in self.phases)])
        after = require_number("after", after, least=float(self.t[0]), unit="s")
        if after > self.t[-1]:
            raise FlexarmError(
                f"after: must be at most {self.t[-1]:.6g} s, the end of the run, got {after:.6g} s"
            )
        return settling(self.t, self.tip, after, relative_band)

    def along(self, stations: ArrayLike | None = None) -> "xarray.Dataset":
        """Compute deflection, slope and twist along each flexible link.

        Parameters
        ----------
        stations
            Number of stations from root to tip (11 if None), or fractions of the (exposed) span.

        Returns
        -------
        xarray.Dataset
            ``deflection`` [m], ``slope`` and ``twist`` [rad] over time, link and station.
        """
        return to_dataset([*time_and_axis(self), *along_variables(self, stations)])

    def section_forces(self, stations: ArrayLike | None = None) -> "xarray.Dataset":
        """Compute section forces, moments and largest strains along each flexible link.

        Parameters
        ----------
        stations
            Number of stations from root to tip (11 if None), or fractions of the (exposed) span.

        Returns
        -------
        xarray.Dataset
            Forces [N], moments [N m] and strains by time, link and station.

        Notes
        -----
        The results follow from the second (shear: third) derivatives of the shapes, which converge
        more slowly with the number of shapes than deflections do. `joint_wrenches` follow from
        equilibrium instead.
        """
        return to_dataset(force_variables(self, stations))

    def joint_wrenches(self) -> "xarray.Dataset":
        """Compute force and torque that each joint exerts on its link, at the joint, in the world.

        Returns
        -------
        xarray.Dataset
            ``force`` [N] and ``torque`` [N m] over time, joint and axis.
        """
        return to_dataset(wrench_variables(self))

    def contacts(self) -> "xarray.Dataset":
        """Compute distance, penetration, normal force and friction of every contact, by name.

        Returns
        -------
        xarray.Dataset
            ``distance``, ``penetration`` [m] and ``normal_force`` [N] over time and contact,
            ``friction_force`` [N] over axis too.
        """
        return to_dataset(contact_variables(self))

    def springs(self) -> "xarray.Dataset":
        """Compute length and force of every spring between two points, by name.

        Returns
        -------
        xarray.Dataset
            ``length`` [m] and ``force`` [N], which pulls the points together, over time and spring.
        """
        return to_dataset(spring_variables(self))

    def momenta(self) -> "xarray.Dataset":
        """Compute momentum, angular momentum and centre of mass of the moving parts, in the world.

        Returns
        -------
        xarray.Dataset
            ``linear_momentum`` [kg m/s], ``angular_momentum`` (about the world's origin),
            ``angular_momentum_about_centre`` [kg m^2/s] and ``centre_of_mass`` [m], over time and
            axis.
        """
        return to_dataset(momentum_variables(self))

    def tip_motion(self) -> "xarray.Dataset":
        """Compute velocity and acceleration of the arm's tip, linear and angular, in the world.

        Returns
        -------
        xarray.Dataset
            ``velocity`` [m/s], ``angular_velocity`` [rad/s], ``acceleration`` [m/s^2] and
            ``angular_acceleration`` [rad/s^2] over time and axis.
        """
        return to_dataset(tip_variables(self))

    def link_frames(self) -> "xarray.Dataset":
        """Compute position and axes of the root and the tip of every link, in the world.

        Returns
        -------
        xarray.Dataset
            ``root_position``, ``tip_position`` [m] over time, link and axis; ``root_rotation`` and
            ``tip_rotation``, whose columns are the link's axes.
        """
        return to_dataset(frame_variables(self))

    save = save_run
    to_csv = save_table
    to_pandas = frame_of
    export = export_run

    def to_html(
        self, path: str | Path, *, beside: Sequence["Run"] = (), force: bool = False
    ) -> None:
        """Write the run, with other runs beside it, as one animated HTML page, atomically."""
        from flexarm.viewer.page import run_page, save_page

        save_page(run_page([self, *_require_runs("beside", beside)]), path, force=force)

    def to_movie(
        self, path: str | Path, *, beside: Sequence["Run"] = (), force: bool = False
    ) -> None:
        """Write a movie of the run, together with other runs: gif, or with ffmpeg webm and mp4."""
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
        """Write a picture of the arm (png, svg, pdf) at a time [s], by default at the run's end.

        The runs in ``beside`` are drawn in the same picture, and the paths of all tips as lines.
        """
        from flexarm.viewer.movie import save_picture

        save_picture([self, *_require_runs("beside", beside)], path, at=at, force=force)

    def plot(self, path: str | Path | None = None, *, force: bool = True) -> "Figure":
        """Draw joints, deflections, tip path and energy; write the figure if a path is given.

        Parameters
        ----------
        path
            The file, if any, whose suffix selects the format (png, svg, pdf).
        force
            Whether to overwrite an existing file.

        Returns
        -------
        Figure
            The matplotlib figure.
        """
        from flexarm.io.whole_file import write_figure
        from flexarm.runs.plot import plot_run

        figure = plot_run(self)
        if path is not None:
            write_figure(path, figure, force=force)
        return figure
