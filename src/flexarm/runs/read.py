"""Loading runs from NetCDF files, which need not be trusted."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from flexarm.arguments import require_path
from flexarm.arm import Arm
from flexarm.arm.side_files import MAX_BYTES, MAX_TOTAL, SideFiles
from flexarm.errors import FlexarmError, ModelError, ShapeError
from flexarm.formulations import DEFAULT, FORMULATIONS
from flexarm.io.model_file import parse
from flexarm.links.base import Array
from flexarm.model import LinkTheory, Model, TipRotation, build
from flexarm.runs.contents import (
    ENERGIES,
    FILE,
    FORMAT,
    IMPULSE,
    MOMENTUM,
    WORKS,
    anchor_names,
    input_units,
)
from flexarm.runs.data import DriveData, EventRecord, PendingEvent, RunLeg, Statistics
from flexarm.runs.run import Run

if TYPE_CHECKING:
    from flexarm.runs.netcdf import Stored

SOONEST = 1e-14  # relative to the last time: closer samples are at the same time
STATUSES = ("finished", "stopped", "interrupted", "running")


def load_run(path: str | Path) -> Run:
    """Read a run back from the NetCDF file that it was saved to.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Run
        The run, as `flexarm.simulate` gave it.

    Raises
    ------
    FlexarmError
        If the file cannot be read, holds no run, or was changed since it was written.
    ModelError
        If the model file in it is not valid in this version of flexarm.
    """
    from flexarm.runs.netcdf import explained, open_stored

    path = require_path("path", path)
    with open_stored(path) as stored:
        with explained(path):
            if not stored.is_run(FORMAT):
                message = "is no run of flexarm, or one of another version's format"
                raise FlexarmError(f"{path}: {message}: simulate the arm again")
            text, files = stored.text("model_file"), _kept_files(stored)
            by = _formulation(stored)
        model = _read_model(path, text, files, by)
        with explained(path):
            run = _assemble(model, stored, by)
            stored.require_unchanged()
            return run


class _By(NamedTuple):
    """The equations by which a run was computed."""

    formulation: str
    paper: bool  # whether with its paper's approximations
    tip_rotation: TipRotation
    series: bool  # whether links bend by the series
    nodes: int | None = None  # of exact links beyond their shapes


def _formulation(stored: "Stored") -> _By:
    """Read the equations by which a run was computed; older files do not state them."""
    if not stored.says("formulation"):
        return _By(DEFAULT, False, "cayley", series=True)
    name, tips = stored.text("formulation"), stored.text("tip_rotation")
    if name not in FORMULATIONS:
        raise stored.wrong("formulation", f"must be one of {', '.join(FORMULATIONS)}")
    if tips not in get_args(TipRotation):
        raise stored.wrong("tip_rotation", f"must be one of {', '.join(get_args(TipRotation))}")
    paper = bool(stored.number("paper", whole=True))
    # Files of versions before 0.2 do not state it: their links bend by the series.
    theory = stored.text("link_theory") if stored.says("link_theory") else "series"
    if theory not in get_args(LinkTheory):
        raise stored.wrong("link_theory", f"must be one of {', '.join(get_args(LinkTheory))}")
    tip_rotation: TipRotation = "first-order" if tips == "first-order" else "cayley"
    # 0 or missing if they were not given
    nodes = int(stored.number("nodes", whole=True)) if stored.says("nodes") else 0
    return _By(name, paper, tip_rotation, theory == "series", nodes or None)


def _assemble(model: Model, stored: "Stored", by: _By) -> Run:
    """Build a run from the contents of its file."""
    samples = stored.count("time")
    stored.require_words("coordinate", model.names)
    inputs = len(input_units(model))
    anchors = [stored.rotations(name, samples) for name, _ in anchor_names(model)]
    if not anchors:
        anchors = [np.broadcast_to(model.base_pose.rotation, (samples, 3, 3))]
    return Run(
        model=model,
        t=_times(stored, samples),
        q=stored.numbers("q", (samples, model.size)),
        v=stored.numbers("v", (samples, model.size)),
        u=stored.numbers("u", (samples, inputs)) if inputs else np.zeros((samples, 0)),
        tip=stored.numbers("tip_position", (samples, 3)),
        tip_rotation=stored.rotations("tip_rotation", samples),
        energy=np.stack([stored.numbers(name, (samples,)) for name in ENERGIES], axis=1),
        works=np.stack([_work(stored, name, samples) for name in WORKS], axis=1),
        anchors=np.concatenate(anchors, axis=1),
        momentum=_momenta(stored, samples, MOMENTUM),
        impulse=_momenta(stored, samples, IMPULSE),
        status=_status(stored),
        reason=stored.text("reason"),
        method=stored.text("method"),
        why=stored.text("why"),
        rtol=stored.number("rtol"),
        formulation=by.formulation,
        paper=by.paper,
        happenings=_happenings(stored),
        pending=_pending(stored),
        legs=_legs(stored, model, samples),
        losses=_losses(stored, samples),
        drives=_drives(stored, model, samples),
        kept=stored.text("method") != "rk4",  # its steps may have been given
        own=stored.says("own_inputs") and bool(stored.number("own_inputs", whole=True)),
        statistics=Statistics(
            int(stored.number("steps", whole=True)),
            int(stored.number("rejections", whole=True)),
            int(stored.number("evaluations", whole=True)),
            stored.number("cpu_seconds"),
        ),
    )


def _times(stored: "Stored", samples: int) -> Array:
    t = stored.numbers("time", (samples,))
    if not np.all(np.diff(t) > SOONEST * np.abs(t).max()):
        raise stored.wrong("time", "must increase")
    return t


def _work(stored: "Stored", name: str, samples: int) -> Array:
    """Read a work; older files have no bodies that are captured."""
    if name == "brought" and not stored.says("happenings"):
        return np.zeros(samples)
    return stored.numbers(name, (samples,))


def _momenta(stored: "Stored", samples: int, names: Iterable[str]) -> Array:
    """Read momenta or impulses; files of arms without a free base have none."""
    if not stored.has("impulse"):
        return np.zeros((samples, 0))
    return np.hstack([stored.numbers(name, (samples, 3)) for name in names])


def _happenings(stored: "Stored") -> tuple[EventRecord, ...]:
    """Read the events of the run; older files do not list them."""
    if not stored.says("happenings"):
        return ()
    try:
        rows = json.loads(stored.text("happenings"))
        return tuple(EventRecord(float(t), str(what), float(lost)) for t, what, lost in rows)
    except (TypeError, ValueError, RecursionError):
        raise stored.wrong("happenings", "must be a list of time, what and energy lost") from None


def _pending(stored: "Stored") -> tuple[PendingEvent, ...]:
    """Read the events that did not happen; older files do not list them."""
    if not stored.says("pending"):
        return ()
    try:
        return tuple(
            PendingEvent(str(what), str(why), *(None if x is None else float(x) for x in numbers))
            for what, why, *numbers in json.loads(stored.text("pending"))
        )
    except (TypeError, ValueError, RecursionError):
        expected = "must be a list of name, reason, value and time"
        raise stored.wrong("pending", expected) from None


def _legs(stored: "Stored", model: Model, samples: int) -> tuple[RunLeg, ...]:
    """Read the phases of the run; older files do not list them."""
    if not stored.says("legs"):
        return ()
    try:
        rows = json.loads(stored.text("legs"))
        legs = tuple(RunLeg.of_list(row, model, samples) for row in rows)
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise stored.wrong("legs", "must be a list of the run's parts") from None
    firsts = [leg.first for leg in legs]
    if firsts and (firsts[0] != 0 or firsts != sorted(set(firsts))):
        raise stored.wrong("legs", "must begin one after the other, the first at 0")
    return legs


def _named(stored: "Stored", which: int) -> list[str]:
    """Read the names of losses (0) or drives' states (1); older files have none."""
    if not stored.says("drives"):
        return []
    try:
        return [str(name) for name in json.loads(stored.text("drives"))[which]]
    except (TypeError, ValueError, LookupError, RecursionError):
        raise stored.wrong("drives", "must be two lists of names") from None


def _losses(stored: "Stored", samples: int) -> dict[str, Array]:
    """Read the dissipated energies by name."""
    names = _named(stored, 0)
    lost = stored.numbers("lost", (samples, len(names))) if names else np.zeros((samples, 0))
    return dict(zip(names, lost.T, strict=True))


def _drives(stored: "Stored", model: Model, samples: int) -> DriveData | None:
    """Read forces, energies and states of drive trains."""
    if not stored.has("drive_push"):
        return None
    names = _named(stored, 1)
    states = stored.numbers("drive", (samples, len(names))) if names else np.zeros((samples, 0))
    return DriveData(
        stored.numbers("drive_push", (samples, model.size)),
        stored.numbers("drive_energy", (samples,)),
        dict(zip(names, states.T, strict=True)),
    )


def _status(stored: "Stored") -> str:
    status = stored.text("status")
    if status not in STATUSES:
        raise stored.wrong("status", f"must be one of {', '.join(STATUSES)}")
    return status


def _kept_files(stored: "Stored") -> dict[str, bytes]:
    """Read the files that the model file names, by their names in it."""
    files: dict[str, bytes] = {}
    left = MAX_TOTAL
    while stored.has(name := f"{FILE}{len(files) + 1}"):
        content = stored.bytes_of(name, min(MAX_BYTES, left))
        left -= len(content)
        path = stored.text("long_name", name)
        if path in files:
            raise stored.wrong(name, "is kept twice")
        files[path] = content
    return files


def _read_model(path: Path, text: str, files: dict[str, bytes], by: _By) -> Model:
    """Build the model of a run; the files that it names are those stored in the run."""
    try:
        arm = parse(Arm, text, name=f"{path}, model_file", files=SideFiles(path, kept=files))
        model = build(arm, tip_rotation=by.tip_rotation, series=by.series, nodes=by.nodes)
        return FORMULATIONS[by.formulation].paper_model(model) if by.paper else model
    except (ModelError, ShapeError) as error:
        raise ModelError(
            f"{path}: the model file in this run is not valid here:\n{error}"
        ) from None
