"""Pages of runs and of mode shapes: one HTML file each, which needs no other file or network."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flexarm.arguments import listed, refused, require_kind, require_names
from flexarm.errors import FlexarmError
from flexarm.io.whole_file import write_whole
from flexarm.linear.modes import Modes
from flexarm.links.base import Array
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import along, fibre_strain, flexible_links
from flexarm.model import Model
from flexarm.runs.contents import ENERGIES, equation_of, input_units
from flexarm.runs.curves import what_is_missed
from flexarm.runs.data import RunData
from flexarm.runs.plot import fill_in, pick
from flexarm.spatial import NEGLIGIBLE
from flexarm.viewer.bundle import LARGEST, Arrays, fill_page, to_json
from flexarm.viewer.outlook import STEP, mode_outlook, outlook
from flexarm.viewer.scene import STATIONS, rigidity, scene, shows_strain, states
from flexarm.viewer.surroundings import free_bodies, obstacles, point_marks

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


ENOUGH = 24  # characters after which a label gets no further values; longest value in a label


@dataclass(frozen=True)
class ModeShapes:
    """The k modes of an arm about a state of n coordinates."""

    model: Model
    q: Array  # coordinates of the state, (n,)
    names: Sequence[str]  # names of the modes
    frequencies: Array  # frequencies [Hz], (k,)
    damping: Array  # damping ratios, (k,)
    # Mode vectors, real or complex, in any scale, (n, k).
    vectors: npt.NDArray[np.float64] | npt.NDArray[np.complex128]
    # Reference attitude of a free base's angles, (3, 3); that of the model file if None.
    anchor: Array | None = field(default=None)


def shapes_of(found: Modes) -> ModeShapes:
    """Return the mode shapes of `flexarm.linear.modes.modes`, with those of rigid motions."""
    require_kind("found", found, Modes, "Modes, such as flexarm.modes(arm)")
    every = found.modes
    return ModeShapes(
        model=found.model,
        q=found.equilibrium.point.q,
        names=[mode.name for mode in every],
        frequencies=np.array([mode.frequency_hz for mode in every]),
        damping=np.array([mode.damping_ratio for mode in every]),
        vectors=np.stack([mode.shape for mode in every], axis=1),
    )


def run_page(runs: Sequence[RunData], labels: Sequence[str] = ()) -> str:
    """Return the page of a run, or of several to be compared.

    Parameters
    ----------
    runs
        One run, or more.
    labels
        Names of the runs; by default, the values that differ between them.

    Raises
    ------
    FlexarmError
        If there is no run, or the labels are not as many.
    """
    names = require_runs(runs, labels)
    return fill_page(title_of(runs), run_data(runs, names))


def require_runs(runs: Sequence[RunData], labels: Sequence[str]) -> Sequence[str]:
    """Return a label for each run; raise an error without runs, or if labels are missing."""
    items = listed(runs)
    if not items or not all(isinstance(item, RunData) for item in items):
        raise refused("runs", runs, "a list of runs, one at least")
    if require_names("labels", labels, "texts") and len(labels) != len(runs):
        raise refused("labels", labels, f"{len(runs)} texts, or none")
    return labels or run_labels(runs)


def title_of(runs: Sequence[RunData]) -> str:
    """Return the title of the window that shows some runs."""
    return f"{_arms(runs)} (flexarm)"


def run_data(runs: Sequence[RunData], labels: Sequence[str] = (), *, live: str = "") -> str:
    """Return the data of a page of one run or more, as JSON for an HTML element.

    Parameters
    ----------
    runs
        One run, or more.
    labels
        Names of the runs; by default, the values that differ between them.
    live
        Version of the data, if a server will send newer ones.
    """
    labels = labels or run_labels(runs)
    arrays = Arrays()
    maxima = [limits(run.model, run.q) for run in runs]
    unit = deflection_unit(max(each["deflection"] or 0.0 for each in maxima))
    frames = [shown(run) for run in runs]
    seen = outlook(runs)
    reasons = [f"{run.status}: {run.reason}" for run in runs if run.reason]
    around = [obstacle for run in runs for obstacle in obstacles(run.model)]
    document = {
        "kind": "run",
        "title": _arms(runs),
        "facts": _facts(runs),
        "notes": runs[0].model.arm.notes,
        "warning": " ".join([*reasons, *(missed for _, missed in frames if missed)]),
        "live": live,
        "running": any(run.status == "running" for run in runs),
        "scene": _fingerprint(runs),
        "view": {"towards": seen.towards.tolist(), "scale": seen.scale},
        "obstacles": list({to_json(obstacle): obstacle for obstacle in around}.values()),
        "arms": [scene(run.model, arrays) for run in runs],
        "motions": [
            motion(run, label, unit, arrays) for (run, _), label in zip(frames, labels, strict=True)
        ],
        "limits": _largest(maxima),
    }
    return to_json(document | {"arrays": arrays.encode()})


def mode_page(shapes: ModeShapes) -> str:
    """Return the page of an arm's mode shapes.

    Raises
    ------
    FlexarmError
        If there is no mode, or the arrays do not fit together.
    """
    require_kind("shapes", shapes, ModeShapes, "ModeShapes, such as shapes_of(modes(arm))")
    model, k = shapes.model, len(shapes.names)
    sizes = {"frequencies": (k,), "damping": (k,), "vectors": (model.size, k), "q": (model.size,)}
    for name, shape in sizes.items():
        got = np.shape(getattr(shapes, name))
        if got != shape or not k:
            raise FlexarmError(f"modes: {name} must have shape {shape} with modes in it, got {got}")
    arrays = Arrays()
    q = np.asarray(shapes.q, dtype=float)
    anchor = model.start_anchors if shapes.anchor is None else shapes.anchor
    rest = states(model, q[None], anchor[None])[0]
    swings = np.hstack([np.real(shapes.vectors), np.imag(shapes.vectors)])
    seen = mode_outlook(model, q, anchor, swings[:, np.abs(swings).max(axis=0) > 0])
    modes: list[dict[str, Any]] = []
    for i, name in enumerate(shapes.names):
        moved = [_moved(model, q, anchor, part) for part in _parts(shapes.vectors[:, i])]
        modes.append(
            {
                "name": name,
                "hz": float(shapes.frequencies[i]),
                "damping": float(shapes.damping[i]),
                "re": arrays.add(moved[0]),
                "im": arrays.add(moved[1]),
            }
        )
    document = {
        "kind": "modes",
        "title": model.arm.name,
        "facts": f"{k} modes, {model.size} coordinates",
        "notes": model.arm.notes,
        "warning": "",
        "live": "",
        "view": {"towards": seen.towards.tolist(), "scale": seen.scale},
        "arms": [scene(model, arrays)],
        "state": arrays.add(rest),
        "modes": modes,
        "limits": {"deflection": 1.0, "curvature": 1.0, "moment": 1.0, "strain": None},
    }
    data = to_json(document | {"arrays": arrays.encode()})
    return fill_page(f"{model.arm.name} (flexarm)", data)


def save_page(page: str, path: str | Path, *, force: bool = False) -> None:
    """Write a page to a file, whole or not at all.

    Parameters
    ----------
    page
        Page from `run_page` or `mode_page`.
    path
        The file.
    force
        Whether to overwrite a file that is there.
    """
    require_kind("page", page, str, "the text of a page")
    write_whole(path, page.encode("utf-8", errors="replace"), force=force)


def _arms(runs: Sequence[RunData]) -> str:
    return " and ".join(dict.fromkeys(run.model.arm.name for run in runs))


def _fingerprint(runs: Sequence[RunData]) -> str:
    """Return a hash of the arms: data with the same hash differ only in the motion."""
    arms = "\n".join(run.model.arm.model_dump_json() for run in runs)
    return hashlib.sha256(arms.encode("utf-8", errors="replace")).hexdigest()[:16]


def _parts(vector: npt.NDArray[Any]) -> tuple[Array, Array]:
    """Scale a mode to a largest entry of 1 and split it into its real and imaginary part."""
    scaled = vector / (np.abs(vector).max() or 1.0)
    return np.asarray(np.real(scaled), float), np.asarray(np.imag(scaled), float)


def _moved(model: Model, q: Array, anchor: Array, direction: Array) -> Array:
    """Return the derivative of an arm's pose columns along a direction of q."""
    pair = np.stack([q + STEP * direction, q - STEP * direction])
    ahead, back = states(model, pair, np.stack([anchor, anchor]))
    return np.asarray((ahead - back) / (2 * STEP))


def run_labels(runs: Sequence[RunData]) -> list[str]:
    """Return labels from the arms, keys and methods that differ between runs; else numbers."""
    facts = [_values_of(run) for run in runs]
    labels = [run.model.arm.name for run in runs]
    if len(set(labels)) == 1 < len(runs):
        labels = [""] * len(runs)
    for key in dict.fromkeys(key for each in facts for key in each if key != "name"):
        values = [each.get(key, "none") for each in facts]
        if len(set(values)) == 1 or (len(set(labels)) == len(labels) and len(labels[0]) > ENOUGH):
            continue
        pairs = zip(labels, values, strict=True)
        labels = [f"{label}, {key} {value}".removeprefix(", ") for label, value in pairs]
    return _numbered(labels)


def file_labels(paths: Sequence[Path]) -> list[str]:
    """Return the names of files as labels, with folders or suffixes where names are equal.

    A single file needs no label.
    """
    if len(paths) < 2:
        return []
    ways = (
        [path.stem for path in paths],
        [str(path.with_suffix("")) for path in paths],
        [path.name for path in paths],
        [str(path) for path in paths],
    )
    return _numbered(next((names for names in ways if len(set(names)) == len(names)), ways[0]))


def _numbered(labels: list[str]) -> list[str]:
    if len(set(labels)) == len(labels):
        return labels
    return [f"{k}: {label}".removesuffix(": ") for k, label in enumerate(labels, 1)]


def _values_of(run: RunData) -> dict[str, str]:
    """Return the values of a run and its model file by key, shortened."""
    texts: dict[str, str] = {}

    def walk(key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(f"{key}.{name}".removeprefix("."), inner)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            walk(key, dict(enumerate(value, 1)))
        else:
            text = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
            texts[key] = text if len(text) <= ENOUGH else f"{text[: ENOUGH - 3]}..."

    walk("", run.model.arm.model_dump(exclude_unset=True, mode="json", exclude={"notes"}))
    texts |= {"stiffening": "on" if run.model.stiffening else "off", "method": run.method}
    return texts | {"formulation": run.formulation, "rtol": f"{run.rtol:g}"}


def _facts(runs: Sequence[RunData]) -> str:
    """Return the method and accuracy of a run; of several runs, how their curves differ."""
    if len(runs) > 1:
        curves = "solid | dashed" if len(runs) == 2 else "each in its colour"
        return f"{len(runs)} runs compared: {curves}"
    (run,) = runs
    facts = [
        f"{run.model.size} coordinates",
        f"{run.method} in {run.statistics.steps} steps, rtol {run.rtol:g}",
        f"stiffening {'on' if run.model.stiffening else 'off'}",
        f"energy balance closed to {run.energy_balance:.0e}",
    ]
    return " · ".join(facts)


def _largest(maxima: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Return the largest of each quantity over runs; None if no run has it."""
    return {
        name: max((size for each in maxima if (size := each[name]) is not None), default=None)
        for name in maxima[0]
    }
