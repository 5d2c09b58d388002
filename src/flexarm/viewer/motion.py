"""Contents of a page of runs: the columns that pose the arm, and the curves in panels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.links.base import Array
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import along, fibre_strain, flexible_links
from flexarm.model import Model
from flexarm.runs.contents import ENERGIES, equation_of, input_units
from flexarm.runs.curves import what_is_missed
from flexarm.runs.data import RunData
from flexarm.runs.plot import fill_in, pick
from flexarm.spatial import NEGLIGIBLE
from flexarm.viewer.bundle import LARGEST, Arrays
from flexarm.viewer.scene import STATIONS, rigidity, shows_strain, states
from flexarm.viewer.surroundings import free_bodies, point_marks

FRAMES = 4000  # samples in a page; of a longer run every second, third, ... sample is shown
SMALL = 1e-3  # size of a curve, relative to the largest in its panel, below which it is left out
ROUNDING = 1e-6  # energy lost at an event, relative to the energy exchanged, that is rounding
LARGE = ("deflection", "slope", "curvature", "moment")  # quantities whose maximum a page shows
DEFLECTIONS = ((1.0, "m"), (1e3, "mm"), (1e6, "µm"))


@dataclass(frozen=True)
class PanelLine:
    """A line in a panel: values (T,) in the panel's unit."""

    name: str
    values: Array


@dataclass(frozen=True)
class Panel:
    """Curves that share an axis."""

    key: str  # name for the page's script
    title: str
    unit: str
    shown: bool  # whether it is open at first
    curves: Sequence[PanelLine]


def shown(run: RunData) -> tuple[RunData, str]:
    """Return the samples of a run that a page shows, and a warning if they miss vibrations."""
    every = 1 + (len(run.t) - 1) // FRAMES
    if every == 1:
        return fill_in(run), run.missed
    few = pick(run, np.unique([*range(0, len(run.t), every), len(run.t) - 1]))
    remedy = f"this page shows one of {every} samples: the file of the run has all"
    missed = run.missed or what_is_missed(few.model, few.t, few.q, few.v, remedy)
    return fill_in(few), missed


def motion(run: RunData, label: str, unit: tuple[float, str], arrays: Arrays) -> dict[str, Any]:
    """Describe a run's motion, with deflections in a unit; panels without curves are left out."""
    return {
        "label": label,
        "t": arrays.add(run.t),
        "state": arrays.add(states(run.model, run.q, run.anchors).T),
        "bodies": free_bodies(run, arrays),
        **point_marks(run, arrays),
        "events": [
            {
                "t": event.t,
                "what": event.what
                + f", {event.lost:.2g} J lost" * (event.lost > ROUNDING * run.exchanged),
            }
            for event in run.happenings
        ],
        "panels": [
            {
                "key": panel.key,
                "title": panel.title,
                "unit": panel.unit,
                "shown": panel.shown,
                "names": [curve.name for curve in panel.curves],
                "values": arrays.add(np.stack([curve.values for curve in panel.curves])),
            }
            for panel in panels(run, unit)
            if panel.curves
        ],
    }


def limits(model: Model, q: Array) -> dict[str, float | None]:
    """Return the largest deflection [m], slope, curvature [1/m], moment [N m] and strain."""
    stations = np.linspace(0.0, 1.0, STATIONS)
    maxima: dict[str, float | None] = dict.fromkeys(LARGE, 0.0)
    strains = []
    for part in flexible_links(model):
        moved = along(model, part, q, stations).deflection
        body = body_of(model, part)
        link = body.deformed(q)
        if link is None:
            largest = {"deflection": np.linalg.norm(moved, axis=2), "slope": body.tip_angles(q)}
            _enlarge(maxima, largest)
            continue
        places = stations * link.end
        bent = link.curvatures(places, stiffening=model.stiffening)
        largest = {
            "deflection": np.linalg.norm(moved, axis=2),
            "slope": np.hypot(link.values("y", places, 1), link.values("z", places, 1)),
            "curvature": np.hypot(*bent),
            "moment": np.hypot(*(bent * rigidity(link, places).T[:, None])),
        }
        _enlarge(maxima, largest)
        if shows_strain(part):
            strain = np.nan_to_num(fibre_strain(part.link.section, link, places, bent))
            strains.append(min(float(strain.max()), LARGEST))
    reach = sum(part.length for part in model.links)
    if (maxima["deflection"] or 0.0) <= NEGLIGIBLE * reach:
        return dict.fromkeys([*maxima, "strain"], 0.0)
    return maxima | {"strain": max(strains, default=None)}


def _enlarge(maxima: dict[str, float | None], arrays: Mapping[str, Array]) -> None:
    """Raise maxima to the largest values of arrays."""
    for name, values in arrays.items():
        maxima[name] = min(max(maxima[name] or 0.0, float(np.nan_to_num(values).max())), LARGEST)


def deflection_unit(largest: float) -> tuple[float, str]:
    """Choose the unit of deflections up to ``largest`` [m]: factor to it from m, and its name."""
    return next(((f, u) for f, u in DEFLECTIONS if f * largest >= 0.5), DEFLECTIONS[-1])


def panels(run: RunData, unit: tuple[float, str]) -> Iterator[Panel]:
    """List the panels of a run; deflections are in a unit from `deflection_unit`."""
    angles, slides = _joints(run)
    yield Panel("angles", "Joint angles", "deg", True, angles)
    yield Panel("slides", "Joint slides", "m", True, slides)
    yield from _deflections(run, unit)
    tip = [PanelLine(f"tip {axis}", run.tip[:, k]) for k, axis in enumerate("xyz")]
    yield Panel("tip", "Tip position", "m", True, tip)
    yield Panel("energy", "Energy", "J", True, _energies(run))
    inputs = list(input_units(run.model).items())
    for key, title, of in (("torques", "Joint torques", "N m"), ("forces", "Joint forces", "N")):
        listed = [PanelLine(name, run.u[:, k]) for k, (name, u) in enumerate(inputs) if u == of]
        yield Panel(key, title, of, False, [c for c in listed if np.any(c.values)])
    if run.model.arm.contacts:
        normal = equation_of(run).contacts(run.q, run.v).normal.T
        names = run.model.arm.contact_names
        pushes = [PanelLine(name, values) for name, values in zip(names, normal, strict=True)]
        yield Panel("contacts", "Contact forces", "N", True, pushes if np.any(normal) else [])
    if run.model.base_moves:
        base = [PanelLine(f"base {axis}", run.q[:, k]) for k, axis in enumerate("xyz")]
        yield Panel("base", "Base displacement", "m", False, base)


def _joints(run: RunData) -> tuple[list[PanelLine], list[PanelLine]]:
    """List the joints that turn [deg] and those that slide [m]."""
    angles, slides = [], []
    for axis in run.model.drawn_axes:
        values = run.q[:, axis.index]
        if axis.turns:
            angles.append(PanelLine(axis.name, np.degrees(values)))
        else:
            slides.append(PanelLine(axis.name, values))
    return angles, slides


def _deflections(run: RunData, unit: tuple[float, str]) -> Iterator[Panel]:
    """List displacement and twist of the flexible links' tips, from the undeformed link."""
    moved: list[PanelLine] = []
    twists: list[PanelLine] = []
    tip = np.array([1.0])
    for part in flexible_links(run.model):
        end = along(run.model, part, run.q, tip)
        moved += [
            PanelLine(f"{part.name} {a}", end.deflection[:, 0, k]) for k, a in enumerate("xyz")
        ]
        twists.append(PanelLine(part.name, np.degrees(end.twist[:, 0])))
    factor, name = unit
    scaled = [PanelLine(curve.name, factor * curve.values) for curve in _notable(moved)]
    yield Panel("deflections", "Link tip deflections", name, True, scaled)
    yield Panel("twists", "Link tip twists", "deg", False, _notable(twists))


def _notable(curves: list[PanelLine]) -> list[PanelLine]:
    """Return the curves without those that are flat beside the others."""
    sizes = [float(np.abs(curve.values).max()) for curve in curves]
    least = SMALL * max(sizes, default=0.0)
    return [curve for curve, size in zip(curves, sizes, strict=True) if size > least]


def _energies(run: RunData) -> list[PanelLine]:
    """List energies, the gravitational one relative to its start, and the error of the balance."""
    curves = [PanelLine(name, run.energy[:, k]) for k, name in enumerate(ENERGIES)]
    if not np.any(run.model.gravity):
        curves = curves[:2]
    else:
        curves[2] = PanelLine("gravitational", run.energy[:, 2] - run.energy[0, 2])
    if np.any(run.work):
        curves.append(PanelLine("put in less lost", run.work))
    return [*curves, PanelLine("error of balance", run.balance)]
