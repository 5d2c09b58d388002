"""HTML pages of simulations and of mode shapes, one file each, without network."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import listed, refused, require_kind, require_names
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.io.whole_file import write_whole
from flexarm.linear.modes import Modes
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import along, fibre_strain, flexible_links, flexible_wholes
from flexarm.model import Model
from flexarm.runs.constants import FLAT_CURVE, STATIONS
from flexarm.runs.contents import ENERGIES, equation_of, input_units
from flexarm.runs.curves import undersampling_note
from flexarm.runs.data import RunData
from flexarm.runs.plot import deflection_unit, fill_in, pick
from flexarm.spatial import Array
from flexarm.viewer.bundle import LARGEST, Arrays, fill_page, to_json
from flexarm.viewer.constants import EVENT_ROUNDING, LABEL_LENGTH, MODE_STEP, PAGE_SAMPLES
from flexarm.viewer.outlook import mode_outlook, outlook
from flexarm.viewer.scene import (
    free_bodies,
    obstacles,
    point_marks,
    rigidity,
    scene,
    shows_strain,
    states,
)

LARGE = ("deflection", "slope", "curvature", "moment")  # quantities whose maximum a page shows


@dataclass(frozen=True)
class Panel:
    """Curves over time in one diagram with a common unit."""

    key: str  # name for the page's script
    title: str
    unit: str
    shown: bool  # whether the panel is open at first
    curves: Mapping[str, Array]  # values (T,) in the panel's unit, by name of the curve


def page_samples(run: RunData) -> tuple[RunData, str]:
    """Return the samples of a run that a page shows; warn if they miss vibrations."""
    stride = 1 + (len(run.t) - 1) // PAGE_SAMPLES
    if stride == 1:
        return fill_in(run), run.missed
    selected = pick(run, np.unique([*range(0, len(run.t), stride), len(run.t) - 1]))
    remedy = f"This page shows one of {stride} samples; the file of the run has all."
    warning = run.missed or undersampling_note(
        selected.model, selected.t, selected.q, selected.v, remedy
    )
    return fill_in(selected), warning


def motion(run: RunData, label: str, unit: tuple[float, str], arrays: Arrays) -> dict[str, Any]:
    """Return page data on a run's motion: drawn states, events and panels with curves.

    The argument ``unit`` is the unit of deflections, as returned by `deflection_unit`.
    """
    return {
        "label": label,
        "t": arrays.add(run.t),
        "state": arrays.add(states(run.model, run.q, run.reference_attitudes).T),
        "bodies": free_bodies(run, arrays),
        **point_marks(run, arrays),
        "events": [
            {
                "t": event.t,
                "what": event.what
                + f", {event.lost:.2g} J lost" * (event.lost > EVENT_ROUNDING * run.exchanged),
            }
            for event in run.event_records
        ],
        "panels": [
            {
                "key": panel.key,
                "title": panel.title,
                "unit": panel.unit,
                "shown": panel.shown,
                "names": list(panel.curves),
                "values": arrays.add(np.stack(list(panel.curves.values()))),
            }
            for panel in panels(run, unit)
            if panel.curves
        ],
    }


def limits(model: Model, q: Array) -> dict[str, float | None]:
    """Return the largest deflection [m], slope, curvature [1/m], moment [N m] and strain."""
    stations = np.linspace(0.0, 1.0, STATIONS)
    sizes_by_link: list[dict[str, float | None]] = [dict.fromkeys(LARGE, 0.0) | {"strain": None}]
    for part in flexible_links(model):
        deflections = along(model, part, q, stations).deflection
        body = body_of(model, part)
        link = body.deformed(q)
        sizes: dict[str, Array] = {"deflection": np.linalg.norm(deflections, axis=2)}
        if link is None:
            sizes["slope"] = body.tip_angles(q)
        else:
            points = stations * link.beam.span.length
            curvatures = link.curvatures(points, stiffening=model.stiffening)
            sizes |= {
                "slope": np.hypot(link.values("y", points, 1), link.values("z", points, 1)),
                "curvature": np.hypot(*curvatures),
                "moment": np.hypot(*(curvatures * rigidity(link, points).T[:, None])),
            }
            if shows_strain(part):
                sizes["strain"] = fibre_strain(part.link.section, link, points, curvatures)
        sizes_by_link.append(
            {k: min(float(np.nan_to_num(x).max()), LARGEST) for k, x in sizes.items()}
        )
    maxima = _largest(sizes_by_link)
    is_undeformed = (maxima["deflection"] or 0.0) <= NEGLIGIBLE * model.reach
    return dict.fromkeys(maxima, 0.0) if is_undeformed else maxima


def panels(run: RunData, unit: tuple[float, str]) -> Iterator[Panel]:
    """Yield the panels (diagrams) of a run, with deflections in the given unit."""
    axes = run.model.drawn_axes
    angles = {axis.name: np.degrees(run.q[:, axis.index]) for axis in axes if axis.turns}
    yield Panel("angles", "Joint angles", "deg", True, angles)
    travels = {axis.name: run.q[:, axis.index] for axis in axes if not axis.turns}
    yield Panel("slides", "Joint slides", "m", True, travels)
    yield from _deflections(run, unit)
    yield Panel("tip", "Tip position", "m", True, _coordinates("tip", run.tip))
    yield Panel("energy", "Energy", "J", True, _energies(run))
    inputs = list(input_units(run.model).items())
    for key, title, input_unit in (
        ("torques", "Joint torques", "N m"),
        ("forces", "Joint forces", "N"),
    ):
        efforts = {name: run.u[:, k] for k, (name, u) in enumerate(inputs) if u == input_unit}
        yield Panel(key, title, input_unit, False, {n: u for n, u in efforts.items() if np.any(u)})
    if run.model.arm.contacts:
        normal = equation_of(run).contacts(run.q, run.v).normal.T
        normal_forces = dict(zip(run.model.arm.contact_names, normal, strict=True))
        yield Panel(
            "contacts", "Contact forces", "N", True, normal_forces if np.any(normal) else {}
        )
    if run.model.base_moves:
        yield Panel("base", "Base displacement", "m", False, _coordinates("base", run.q))


def _coordinates(name: str, positions: Array) -> dict[str, Array]:
    """Return the curves of x, y and z, the first three columns of an array, by name."""
    return {f"{name} {axis}": positions[:, k] for k, axis in enumerate("xyz")}


def _deflections(run: RunData, unit: tuple[float, str]) -> Iterator[Panel]:
    """Yield diagrams of displacement and twist at the tips of the flexible links."""
    factor, name = unit
    deflections, twists = dict[str, Array](), dict[str, Array]()
    for part in flexible_wholes(run.model):
        end = along(run.model, part, run.q, np.array([1.0]))
        deflections |= _coordinates(part.name, factor * end.deflection[:, 0])
        twists[part.name] = np.degrees(end.twist[:, 0])
    yield Panel("deflections", "Link tip deflections", name, True, _visible(deflections))
    yield Panel("twists", "Link tip twists", "deg", False, _visible(twists))


def _visible(curves: dict[str, Array]) -> dict[str, Array]:
    """Return the curves that are not negligible beside the largest one, by name."""
    sizes = {name: float(np.abs(values).max()) for name, values in curves.items()}
    threshold = FLAT_CURVE * max(sizes.values(), default=0.0)
    return {name: values for name, values in curves.items() if sizes[name] > threshold}


def _energies(run: RunData) -> dict[str, Array]:
    """Return curves of kinetic, elastic and gravitational energy, work and balance error.

    The curve of gravitational energy is relative to its value at the start.
    """
    curves = dict(zip(ENERGIES[:2], run.energy.T, strict=False))
    if np.any(run.model.gravity):
        curves["gravitational"] = run.energy[:, 2] - run.energy[0, 2]
    if np.any(run.work):
        curves["work less energy lost"] = run.work
    return curves | {"error of balance": run.balance}


def run_page(runs: Sequence[RunData], labels: Sequence[str] = ()) -> str:
    """Return the HTML text of a page of one run, or of several runs to compare.

    Parameters
    ----------
    runs
        One run, or several runs to compare.
    labels
        Names of the runs; None for the parameter values that differ between them.

    Raises
    ------
    FlexarmError
        If there is no run, or if the number of labels differs from the number of runs.
    """
    names = require_runs(runs, labels)
    return fill_page(title_of(runs), run_data(runs, names))


def require_runs(runs: Sequence[RunData], labels: Sequence[str]) -> Sequence[str]:
    """Return one label per run; raise an error without runs or for a wrong label count."""
    items = listed(runs)
    if not items or not all(isinstance(run, RunData) for run in items):
        raise refused("runs", runs, "a list of runs, one at least")
    if require_names("labels", labels, "texts") and len(labels) != len(runs):
        raise refused("labels", labels, f"a list of {len(runs)} texts, one per run, or None")
    return labels or run_labels(runs)


def title_of(runs: Sequence[RunData]) -> str:
    """Return the title of the browser window for a page of runs."""
    return f"{_arms(runs)} (flexarm)"


def run_data(runs: Sequence[RunData], labels: Sequence[str] = (), *, live: str = "") -> str:
    """Return the data of a page of runs, as JSON for an HTML element.

    Parameters
    ----------
    runs
        One run, or several runs to compare.
    labels
        Names of the runs; None for the parameter values that differ between them.
    live
        Version of the page's data, if a server will send newer versions.
    """
    labels = labels or run_labels(runs)
    arrays = Arrays()
    maxima = [limits(run.model, run.q) for run in runs]
    unit = deflection_unit(max(sizes["deflection"] or 0.0 for sizes in maxima))
    frames = [page_samples(run) for run in runs]
    view = outlook(runs)
    reasons = [f"{run.status}: {run.reason}" for run in runs if run.reason]
    all_obstacles = [obstacle for run in runs for obstacle in obstacles(run.model)]
    document = {
        "kind": "run",
        "title": _arms(runs),
        "facts": _facts(runs),
        "notes": runs[0].model.arm.notes,
        "warning": " ".join([*reasons, *(warning for _, warning in frames if warning)]),
        "live": live,
        "running": any(run.status == "running" for run in runs),
        "scene": _fingerprint(runs),
        "view": {"towards": view.towards.tolist(), "scale": view.scale},
        "obstacles": list({to_json(obstacle): obstacle for obstacle in all_obstacles}.values()),
        "arms": [scene(run.model, arrays) for run in runs],
        "motions": [
            motion(run, label, unit, arrays) for (run, _), label in zip(frames, labels, strict=True)
        ],
        "limits": _largest(maxima),
    }
    return to_json(document | {"arrays": arrays.encode()})


def mode_page(found: Modes) -> str:
    """Return the HTML text of a page of an arm's mode shapes.

    Raises
    ------
    FlexarmError
        If the arm has no vibration mode.
    """
    require_kind("found", found, Modes, "Modes, such as flexarm.modes(arm)")
    if not found.modes:
        raise FlexarmError("found: contains no mode to show, since nothing in the arm moves")
    model, q, reference_attitude = (
        found.model,
        found.equilibrium.point.q,
        found.model.start_references,
    )
    arrays = Arrays()
    vectors = np.stack([mode.shape for mode in found.modes], axis=1)
    displacements = np.hstack([vectors.real, vectors.imag])
    view = mode_outlook(
        model, q, reference_attitude, displacements[:, np.abs(displacements).max(axis=0) > 0]
    )
    modes: list[dict[str, Any]] = []
    for mode in found.modes:
        scaled = mode.shape / (np.abs(mode.shape).max() or 1.0)
        derivatives = [
            _state_derivative(model, q, reference_attitude, part)
            for part in (scaled.real, scaled.imag)
        ]
        modes.append(
            {
                "name": mode.name,
                "hz": mode.frequency_hz,
                "damping": mode.damping_ratio,
                "re": arrays.add(derivatives[0]),
                "im": arrays.add(derivatives[1]),
            }
        )
    document = {
        "kind": "modes",
        "title": model.arm.name,
        "facts": f"{len(modes)} modes, {model.size} coordinates",
        "notes": model.arm.notes,
        "warning": "",
        "live": "",
        "view": {"towards": view.towards.tolist(), "scale": view.scale},
        "arms": [scene(model, arrays)],
        "state": arrays.add(states(model, q[None], reference_attitude[None])[0]),
        "modes": modes,
        "limits": {"deflection": 1.0, "curvature": 1.0, "moment": 1.0, "strain": None},
    }
    data = to_json(document | {"arrays": arrays.encode()})
    return fill_page(f"{model.arm.name} (flexarm)", data)


def save_page(page: str, path: str | Path, *, force: bool = False) -> None:
    """Write a page to a file, atomically.

    Parameters
    ----------
    page
        HTML text returned by `run_page` or `mode_page`.
    path
        Path of the HTML file.
    force
        Whether to overwrite an existing file.
    """
    require_kind("page", page, str, "the text of a page")
    write_whole(path, page.encode("utf-8", errors="replace"), force=force)


def _arms(runs: Sequence[RunData]) -> str:
    return " and ".join(dict.fromkeys(run.model.arm.name for run in runs))


def _fingerprint(runs: Sequence[RunData]) -> str:
    """Return a hash of arms; pages with equal hashes differ only in the motion."""
    arms = "\n".join(run.model.arm.model_dump_json() for run in runs)
    return hashlib.sha256(arms.encode("utf-8", errors="replace")).hexdigest()[:16]


def _state_derivative(model: Model, q: Array, reference_attitude: Array, direction: Array) -> Array:
    """Return the derivative of the drawn states along a direction of the coordinates q."""
    pair = np.stack([q + MODE_STEP * direction, q - MODE_STEP * direction])
    forward, backward = states(model, pair, np.stack([reference_attitude, reference_attitude]))
    return np.asarray((forward - backward) / (2 * MODE_STEP))


def run_labels(runs: Sequence[RunData]) -> list[str]:
    """Return labels of runs from arm names, parameters and methods that differ, else numbers."""
    facts = [_values_of(run) for run in runs]
    labels = [run.model.arm.name for run in runs]
    if len(set(labels)) == 1 < len(runs):
        labels = [""] * len(runs)
    for key in dict.fromkeys(key for run_facts in facts for key in run_facts if key != "name"):
        values = [run_facts.get(key, "none") for run_facts in facts]
        distinct = len(set(labels)) == len(labels)
        if len(set(values)) == 1 or (distinct and len(labels[0]) > LABEL_LENGTH):
            continue
        pairs = zip(labels, values, strict=True)
        labels = [f"{label}, {key} {value}".removeprefix(", ") for label, value in pairs]
    return _numbered(labels)


def file_labels(paths: Sequence[Path]) -> list[str]:
    """Return file names as labels, with folders or suffixes where names are equal.

    For a single file, no label is returned.
    """
    if len(paths) < 2:
        return []
    candidates = (
        [path.stem for path in paths],
        [str(path.with_suffix("")) for path in paths],
        [path.name for path in paths],
        [str(path) for path in paths],
    )
    return _numbered(
        next((names for names in candidates if len(set(names)) == len(names)), candidates[0])
    )


def _numbered(labels: list[str]) -> list[str]:
    if len(set(labels)) == len(labels):
        return labels
    return [f"{k}: {label}".removesuffix(": ") for k, label in enumerate(labels, 1)]


def _values_of(run: RunData) -> dict[str, str]:
    """Return the model-file values and solver options of a run as short texts, by key."""
    texts: dict[str, str] = {}

    def walk(key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(f"{key}.{name}".removeprefix("."), inner)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            walk(key, dict(enumerate(value, 1)))
        else:
            text = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
            texts[key] = text if len(text) <= LABEL_LENGTH else f"{text[: LABEL_LENGTH - 3]}..."

    walk("", run.model.arm.model_dump(exclude_unset=True, mode="json", exclude={"notes"}))
    texts |= {"stiffening": "on" if run.model.stiffening else "off", "method": run.method}
    return texts | {"formulation": run.formulation, "rtol": f"{run.rtol:g}"}


def _facts(runs: Sequence[RunData]) -> str:
    """Return text on method and accuracy of a run, or on the number of runs compared."""
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
    """Return the maximum of each quantity over links or runs; None where it is unknown."""
    return {
        name: max((size for sizes in maxima if (size := sizes.get(name)) is not None), default=None)
        for name in maxima[0]
    }
