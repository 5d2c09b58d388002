"""Runs and mode shapes into one page: a file that needs no other and no network."""

import hashlib
from collections.abc import Iterable, Sequence
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
from flexarm.model import Model
from flexarm.runs.data import RunData
from flexarm.viewer.bundle import fill_page
from flexarm.viewer.motion import deflection_unit, limits, motion, shown
from flexarm.viewer.outlook import STEP, mode_outlook, outlook
from flexarm.viewer.pack import Arrays, to_json
from flexarm.viewer.scene import scene, states
from flexarm.viewer.surroundings import obstacles

ENOUGH = 24  # characters of labels that tell enough, and of values in them


@dataclass(frozen=True)
class ModeShapes:
    """How an arm vibrates about a state."""

    model: Model  # the arm
    q: Array  # the state that it vibrates about, (n,)
    names: Sequence[str]  # what each of the k modes is
    frequencies: Array  # frequencies [Hz], (k,)
    damping: Array  # damping ratios, (k,)
    # How much of each coordinate there is in each mode, real or complex, of any size, (n, k).
    vectors: npt.NDArray[np.float64] | npt.NDArray[np.complex128]
    # Attitude that a free base's angles are relative to, (3, 3); that of the model file if None.
    anchor: Array | None = field(default=None)


def shapes_of(found: Modes) -> ModeShapes:
    """Take the shapes of modes that `flexarm.linear.modes.modes` found; rigid motions too."""
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
    """Make the page of a run, or of several to be compared.

    Parameters
    ----------
    runs
        One run, or more.
    labels
        What to call them; by what differs if left out.

    Raises
    ------
    FlexarmError
        If there is no run, or the labels are not as many.
    """
    given = listed(runs)
    if given is None or not all(isinstance(each, RunData) for each in given):
        raise refused("runs", runs, "a list of runs")
    if require_names("labels", labels, "texts") and len(labels) != len(runs):
        raise refused("labels", labels, f"{len(runs)} texts, or none")
    return fill_page(title_of(runs), run_data(runs, labels))


def title_of(runs: Sequence[RunData]) -> str:
    """Give the title of the window that shows some runs."""
    return f"{_arms(runs)} (flexarm)"


def run_data(runs: Sequence[RunData], labels: Sequence[str] = (), *, live: str = "") -> str:
    """Make the data of a page of one run or more, as JSON that can stand in it.

    Parameters
    ----------
    runs
        One run, or more.
    labels
        What to call them; by what differs if left out.
    live
        Version of the data, if a server will give newer ones.

    Raises
    ------
    FlexarmError
        If there is no run.
    """
    if not runs:
        raise FlexarmError("a page shows one run, or several to compare: got none")
    labels = labels or run_labels(runs)
    arrays = Arrays()
    found = [limits(run.model, run.q) for run in runs]
    unit = deflection_unit(max(each["deflection"] or 0.0 for each in found))
    frames = [shown(run) for run in runs]
    seen = outlook(runs)
    said = [f"{run.status}: {run.reason}" for run in runs if run.reason]
    document = {
        "kind": "run",
        "title": _arms(runs),
        "facts": _facts(runs),
        "notes": runs[0].model.arm.notes,
        "warning": " ".join([*said, *(missed for _, missed in frames if missed)]),
        "live": live,
        "running": any(run.status == "running" for run in runs),
        "scene": _fingerprint(runs),
        "view": {"towards": seen.towards.tolist(), "scale": seen.scale},
        "obstacles": _each_once(obstacle for run in runs for obstacle in obstacles(run.model)),
        "arms": [scene(run.model, arrays) for run in runs],
        "motions": [
            motion(run, label, unit, arrays) for (run, _), label in zip(frames, labels, strict=True)
        ],
        "limits": _largest(found),
    }
    return to_json(document | {"arrays": arrays.encode()})


def mode_page(shapes: ModeShapes) -> str:
    """Make the page of an arm's mode shapes.

    Raises
    ------
    FlexarmError
        If there is no mode, or the arrays do not fit together.
    """
    require_kind("shapes", shapes, ModeShapes, "ModeShapes, such as shapes_of(modes(arm))")
    model, k = shapes.model, len(shapes.names)
    wanted = {"frequencies": (k,), "damping": (k,), "vectors": (model.size, k), "q": (model.size,)}
    for name, shape in wanted.items():
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
        What `run_page` or `mode_page` made.
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
    """Tell arms from others: data with the same one differ only in the motion."""
    arms = "\n".join(run.model.arm.model_dump_json() for run in runs)
    return hashlib.sha256(arms.encode("utf-8", errors="replace")).hexdigest()[:16]


def _each_once(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({to_json(each): each for each in found}.values())


def _parts(vector: npt.NDArray[Any]) -> tuple[Array, Array]:
    """Scale a mode to a largest entry of 1 and split it into its real and imaginary part."""
    scaled = vector / (np.abs(vector).max() or 1.0)
    return np.asarray(np.real(scaled), float), np.asarray(np.imag(scaled), float)


def _moved(model: Model, q: Array, anchor: Array, direction: Array) -> Array:
    """Find how what poses an arm changes along a direction of q."""
    pair = np.stack([q + STEP * direction, q - STEP * direction])
    ahead, back = states(model, pair, np.stack([anchor, anchor]))
    return np.asarray((ahead - back) / (2 * STEP))


def run_labels(runs: Sequence[RunData]) -> list[str]:
    """Tell runs apart by what differs: arms, keys of their files, methods; else by number."""
    told = [_told(run) for run in runs]
    found = [run.model.arm.name for run in runs]
    if len(set(found)) == 1 < len(runs):
        found = [""] * len(runs)
    for key in dict.fromkeys(key for each in told for key in each if key != "name"):
        values = [each.get(key, "none") for each in told]
        if len(set(values)) == 1 or (len(set(found)) == len(found) and len(found[0]) > ENOUGH):
            continue
        pairs = zip(found, values, strict=True)
        found = [f"{label}, {key} {value}".removeprefix(", ") for label, value in pairs]
    return _numbered(found)


def file_labels(paths: Sequence[Path]) -> list[str]:
    """Call runs by their files, with folders or suffixes where these tell them apart.

    One needs no label.
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


def _told(run: RunData) -> dict[str, str]:
    """Give what is said of a run and its arm, by keys of the model file, shortened."""
    found: dict[str, str] = {}

    def walk(key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                walk(f"{key}.{name}".removeprefix("."), each)
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            walk(key, dict(enumerate(value, 1)))
        else:
            text = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
            found[key] = text if len(text) <= ENOUGH else f"{text[: ENOUGH - 3]}..."

    walk("", run.model.arm.model_dump(exclude_unset=True, mode="json", exclude={"notes"}))
    found |= {"stiffening": "on" if run.model.stiffening else "off", "method": run.method}
    return found | {"formulation": run.formulation, "rtol": f"{run.rtol:g}"}


def _facts(runs: Sequence[RunData]) -> str:
    """Say how a run was made; of several, only how they are told apart is short enough."""
    if len(runs) > 1:
        told = "solid | dashed" if len(runs) == 2 else "each in its colour"
        return f"{len(runs)} runs compared: {told}"
    (run,) = runs
    found = [
        f"{run.model.size} coordinates",
        f"{run.method} in {run.statistics.steps} steps, rtol {run.rtol:g}",
        f"stiffening {'on' if run.model.stiffening else 'off'}",
        f"energy balance closed to {run.energy_balance:.0e}",
    ]
    return " · ".join(found)


def _largest(found: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Take the largest of each over runs; None where no run has it."""
    merged: dict[str, float | None] = {}
    for name in found[0]:
        known = [each[name] for each in found]
        merged[name] = max((value for value in known if value is not None), default=None)
    return merged
