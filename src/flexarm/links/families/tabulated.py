"""Shape functions, mass, stiffness and damping of a link from a file of modal data."""

from pathlib import Path

import numpy as np

from flexarm.arm.shapes import ShapeChoice, Tabulated
from flexarm.errors import ShapeError
from flexarm.io.model_file import dumps, write_text
from flexarm.links.base import Counts, Discretisation, Ends, Shapes, Span
from flexarm.links.imported.file import inspect_stations
from flexarm.links.imported.readers.stations import ModalFile, StationMode, Units
from flexarm.links.integrals import integrate
from flexarm.spatial import Array


def write_modal_data(
    path: str | Path,
    shapes: Shapes,
    span: Span,
    *,
    stations: int | Array = 21,
    name: str = "shapes of a link",
    notes: str = "",
    force: bool = False,
) -> None:
    """Write the shapes of a span as a file of modal data.

    Parameters
    ----------
    path
        Path of the file to write.
    shapes
        The shapes; a missing mass matrix is integrated over the span.
    span
        The flexible span.
    stations
        Distances of the stations from the root [m], from 0 to the span's length; or a number of
        evenly spaced stations, to which the stations of the section's table are added.
    name, notes
        Name and notes written to the file.
    force
        Whether to overwrite an existing file.

    Raises
    ------
    ModelError
        If the file exists and `force` is false, or it cannot be written.
    """
    if isinstance(stations, int):
        stations = np.union1d(np.linspace(0.0, span.length, stations), span.edges)
    displacement = shapes.displacement(stations)
    rotation = shapes.rotation(stations) + 0.0  # writes -0.0 as 0.0
    content = {
        "modal_data": 1,
        "name": name,
        "notes": notes or None,
        "units": Units(length="m", mass="kg", time="s"),
        "stations": stations.tolist(),
        **_written_masses(span, stations),
        "modes": [
            StationMode(
                name=mode,
                displacement=displacement[:, :, j].tolist(),
                rotation=rotation[:, :, j].tolist(),
            )
            for j, mode in enumerate(shapes.names)
        ],
        "M": integrate(span, shapes, stiffening=False)[0].modal_mass.tolist(),
        "K": shapes.stiffness.tolist(),
        "D": None if shapes.damping is None else shapes.damping.tolist(),
    }
    keys = {key: value for key, value in content.items() if value is not None}
    write_text(Path(path), dumps(ModalFile.model_validate(keys)), force=force)


def _written_masses(span: Span, x: Array) -> dict[str, object]:
    """Return mass and rotary inertia at stations x [m], by key of a file of modal data.

    If the section is not linear between the stations, masses are lumped at the stations by linear
    hat functions, which preserves total mass and centre of mass.
    """
    jumps = len(span.edges) < len(span.stations)
    if not jumps and np.isin(span.edges, x).all():
        inertia = [span.at(name, x) if span.has(name) else 0 * x for name in ("Jx", "Jy", "Jz")]
        density = span.at("mass_per_length", x)
        arrays = {"mass_per_length": density, "inertia": np.stack(inertia, axis=1)}
    else:
        points, weight = span.quadrature(4, x)
        hats = weight * np.stack([np.interp(points, x, row) for row in np.eye(len(x))])
        table = [span.at(n, points) if span.has(n) else 0 * points for n in ("Jx", "Jy", "Jz")]
        mass = hats @ span.at("mass_per_length", points)
        arrays = {"station_mass": mass, "inertia": hats @ np.stack(table, axis=1)}
    return {key: values.tolist() for key, values in arrays.items() if np.any(values)}


class TabulatedShapes(Discretisation):
    """Shapes from a file with their values at stations, interpolated by piecewise cubics."""

    name = "table"
    summary = "shapes, M, K and D from measurement or another program"
    citation = "Graves 1989"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Return the shapes of the file; end inertia and counts have no effect."""
        if not isinstance(choice, Tabulated):
            raise ShapeError(
                f"shapes: must be of kind 'table' with a file, got kind '{choice.kind}'"
            )
        findings, shapes = inspect_stations(choice.side_file, span)
        if shapes is None:
            raise findings.refusal()
        return shapes
