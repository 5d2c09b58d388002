"""Loading runs from NetCDF files, which need not be trusted."""

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
from flexarm.spatial import Inertia

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
        try:
            arm = parse(Arm, text, name=f"{path}, model_file", files=SideFiles(path, kept=files))
            model = build(arm, tip_rotation=by.tip_rotation, series=by.series, nodes=by.nodes)
            model = FORMULATIONS[by.formulation].paper_model(model) if by.paper else model
        except (ModelError, ShapeError) as error:
            raise ModelError(
                f"{path}: the model file in this run is not valid here:\n{error}"
            ) from None
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


Triple = tuple[float, float, float]


class _Leg(NamedTuple):
    """A phase of a run as a file has it; files of older versions have no jumps."""

    first: int
    held: tuple[int, ...]
    tip: tuple[float, Triple, tuple[Triple, Triple, Triple]] | None
    jump: tuple[float, ...] = ()


def _formulation(stored: "Stored") -> _By:
    """Read the equations by which a run was computed; older files do not state them."""
    if not stored.says("formulation"):
        return _By(DEFAULT, False, "cayley", series=True)
    name = stored.word("formulation", FORMULATIONS)
    tips = stored.word("tip_rotation", get_args(TipRotation))
    paper = bool(stored.number("paper", whole=True))
    # Files of versions before 0.2 do not state it: their links bend by the series.
    stated = stored.says("link_theory")
    theory = stored.word("link_theory", get_args(LinkTheory)) if stated else "series"
    tip_rotation: TipRotation = "first-order" if tips == "first-order" else "cayley"
    # 0 or missing if they were not given
    nodes = int(stored.number("nodes", whole=True)) if stored.says("nodes") else 0
    return _By(name, paper, tip_rotation, theory == "series", nodes or None)


def _assemble(model: Model, stored: "Stored", by: _By) -> Run:
    """Build a run from the contents of its file."""
    samples = stored.count("time")
    stored.require_words("coordinate", model.names)
    t = stored.numbers("time", (samples,))
    if not np.all(np.diff(t) > SOONEST * np.abs(t).max()):
        raise stored.wrong("time", "must increase")
    anchors = [stored.rotations(name, samples) for name, _ in anchor_names(model)]
    if not anchors:
        anchors = [np.broadcast_to(model.base_pose.rotation, (samples, 3, 3))]
    losses, drives = _drives(stored, model, samples)
    # Older files have no bodies that are captured.
    named = [name for name in WORKS if name != "brought" or stored.says("happenings")]
    works = [stored.numbers(name, (samples,)) for name in named]
    happenings = stored.listed("happenings", EventRecord, "a list of time, what and energy lost")
    pending = stored.listed("pending", PendingEvent, "a list of name, reason, value and time")
    return Run(
        model=model,
        t=t,
        q=stored.numbers("q", (samples, model.size)),
        v=stored.numbers("v", (samples, model.size)),
        u=_columns(stored, "u", samples, len(input_units(model))),
        tip=stored.numbers("tip_position", (samples, 3)),
        tip_rotation=stored.rotations("tip_rotation", samples),
        energy=np.stack([stored.numbers(name, (samples,)) for name in ENERGIES], axis=1),
        works=np.stack([*works, np.zeros(samples)][: len(WORKS)], axis=1),
        anchors=np.concatenate(anchors, axis=1),
        momentum=_momenta(stored, samples, MOMENTUM),
        impulse=_momenta(stored, samples, IMPULSE),
        status=stored.word("status", STATUSES),
        reason=stored.text("reason"),
        method=stored.text("method"),
        why=stored.text("why"),
        rtol=stored.number("rtol"),
        formulation=by.formulation,
        paper=by.paper,
        happenings=happenings,
        pending=pending,
        legs=_legs(stored, model, samples),
        losses=losses,
        drives=drives,
        kept=stored.text("method") != "rk4",  # its steps may have been given
        own=stored.says("own_inputs") and bool(stored.number("own_inputs", whole=True)),
        statistics=Statistics(
            int(stored.number("steps", whole=True)),
            int(stored.number("rejections", whole=True)),
            int(stored.number("evaluations", whole=True)),
            stored.number("cpu_seconds"),
        ),
    )


def _columns(stored: "Stored", name: str, samples: int, count: int) -> Array:
    """Read so many columns of numbers, (samples, count); a file has no variable of none."""
    return stored.numbers(name, (samples, count)) if count else np.zeros((samples, 0))


def _momenta(stored: "Stored", samples: int, names: Iterable[str]) -> Array:
    """Read momenta or impulses; files of arms without a free base have none."""
    if not stored.has("impulse"):
        return np.zeros((samples, 0))
    return np.hstack([stored.numbers(name, (samples, 3)) for name in names])


def _legs(stored: "Stored", model: Model, samples: int) -> tuple[RunLeg, ...]:
    """Read the phases of the run; older files do not list them."""
    legs = stored.listed("legs", _Leg, "a list of the run's parts")
    for leg in legs:
        inside = 0 <= leg.first < samples and all(0 <= i < model.size for i in leg.held)
        if not inside or len(leg.jump) not in (0, model.size):
            raise stored.wrong("legs", "must be a list of the run's parts")
    firsts = [leg.first for leg in legs]
    if firsts and (firsts[0] != 0 or firsts != sorted(set(firsts))):
        raise stored.wrong("legs", "must begin one after the other, the first at 0")
    return tuple(
        RunLeg(
            first,
            held,
            None if tip is None else Inertia(tip[0], np.array(tip[1]), np.array(tip[2])),
            jump,
        )
        for first, held, tip, jump in legs
    )


def _drives(
    stored: "Stored", model: Model, samples: int
) -> tuple[dict[str, Array], DriveData | None]:
    """Read dissipated energies by name, and forces, energies and states of drive trains."""
    names = stored.listed("drives", list[str], "two lists of names") or ((), ())
    if len(names) != 2:
        raise stored.wrong("drives", "must be two lists of names")

    def by_name(variable: str, words: Iterable[str]) -> dict[str, Array]:
        words = list(words)
        return dict(zip(words, _columns(stored, variable, samples, len(words)).T, strict=True))

    losses = by_name("lost", names[0])
    if not stored.has("drive_push"):
        return losses, None
    push = stored.numbers("drive_push", (samples, model.size))
    energy = stored.numbers("drive_energy", (samples,))
    return losses, DriveData(push, energy, by_name("drive", names[1]))


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
