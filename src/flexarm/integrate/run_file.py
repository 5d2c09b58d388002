"""Keep a run: as an xarray dataset, as a NetCDF file that gives the run back, as a CSV table."""

import io
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arguments import require_flag, require_path
from flexarm.arm import Arm
from flexarm.arm.shapes import Tabulated
from flexarm.arm.side_files import MAX_BYTES, MAX_TOTAL, SideFile, SideFiles, parts_beside
from flexarm.errors import FlexarmError, ModelError, ShapeError
from flexarm.integrate.contents import (
    ENERGIES,
    FORMAT,
    WORKS,
    Variable,
    along_variables,
    attributes,
    input_units,
    main_variables,
    table_columns,
)
from flexarm.integrate.run import Run, Statistics
from flexarm.io.modal_file import load_modal_file
from flexarm.io.model_file import parse
from flexarm.io.whole_file import write_whole
from flexarm.links.base import Array
from flexarm.model import Model, build

if TYPE_CHECKING:
    import xarray

    from flexarm.integrate.netcdf import Stored

FILE = "model_file_"  # variables with the bytes of files that the model file names
SHARE = 0.05  # of the time, that a run's snapshots may take
PAUSE = 0.5  # [s] between two of them, at least
SOONEST = 1e-14  # of the last time: samples nearer than that are at the same one
STATUSES = ("finished", "stopped", "interrupted", "running")


def to_dataset(
    variables: Sequence[Variable], attrs: dict[str, str | int | float]
) -> "xarray.Dataset":
    """Make an xarray dataset of variables; those named as their axis are its coordinates."""
    import xarray

    made: dict[str, Any] = {}
    for each in variables:
        described = {"long_name": each.meaning} | ({"units": each.unit} if each.unit else {})
        made[each.name] = (each.axes, each.values, described)
    labels = {each.name for each in variables if _is_label(each) or each.axes == (each.name,)}
    return xarray.Dataset(
        {name: value for name, value in made.items() if name not in labels},
        {name: value for name, value in made.items() if name in labels},
        attrs,
    )


def save_run(run: Run, path: str | Path, *, force: bool = False) -> None:
    """Write a run to a NetCDF file, whole or not at all.

    Parameters
    ----------
    run
        The run; `load_run` gives an equal one back.
    path
        The file.
    force
        Whether to overwrite a file that is there.

    Raises
    ------
    FlexarmError
        If the file is there and `force` is false, it cannot be written, or what would be written
        cannot be read back.
    """
    import h5netcdf  # type: ignore[import-untyped]

    # Made in memory: what HDF5 does when a disk is full is nothing to rely on.
    memory = io.BytesIO()
    variables = [*main_variables(run), *along_variables(run, None)]
    with h5netcdf.File(memory, "w") as file:
        for variable in variables:
            _write_variable(file, variable)
        # By convention of NetCDF files these are no data but belong to an axis.
        file.attrs["coordinates"] = " ".join(each.name for each in variables if _is_label(each))
        kept_files = {each.name: each.content for each in _files_of(run.model.arm)}
        for k, (name, content) in enumerate(kept_files.items(), 1):
            data = np.frombuffer(content, dtype=np.uint8)
            kept = Variable(f"{FILE}{k}", (f"byte_{k}",), data, "1", name)
            _write_variable(file, kept)
        for key, value in attributes(run).items():
            file.attrs[key] = value
    _require_readable(memory, run, SideFiles(kept=kept_files))
    write_whole(path, memory.getvalue(), force=force)


def _require_readable(memory: io.BytesIO, run: Run, files: SideFiles) -> None:
    """Refuse to write what could not be read back: the model file, the times and the states."""
    import h5netcdf

    with h5netcdf.File(memory, "r") as file:
        parse(Arm, str(file.attrs["model_file"]), name="the run's arm", files=files)
        kept = {name: file[name][...] for name in ("time", "q", "v")}
    for name, values in (("time", run.t), ("q", run.q), ("v", run.v)):
        if not np.array_equal(kept[name], values, equal_nan=True):
            raise FlexarmError(f"the run cannot be kept: its {name} does not read back as it is")


def load_run(path: str | Path) -> Run:
    """Read a run back from the NetCDF file that it was saved to.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FlexarmError
        If the file cannot be read, or holds no run.
    ModelError
        If the model file in it is not valid in this version of flexarm.
    """
    from flexarm.integrate.netcdf import explained, open_stored

    path = require_path("path", path)
    with open_stored(path) as stored:
        with explained(path):
            if not stored.is_run(FORMAT):
                message = "is no run of flexarm, or one of another version's format"
                raise FlexarmError(f"{path}: {message}: simulate the arm again")
            text, files = stored.text("model_file"), _kept_files(stored)
        model = _read_model(path, text, files)
        with explained(path):
            return _assemble(model, stored)


def save_table(run: Run, path: str | Path, *, force: bool = False) -> None:
    """Write a run as a CSV table, whole or not at all: a line per sample, names and units on top.

    Numbers have as many digits as it takes to read the same ones back.
    """
    columns = dict(table_columns(run))
    rows = [",".join(columns)]
    for row in np.stack(list(columns.values()), axis=1).tolist():
        rows.append(",".join(map(repr, row)))
    write_whole(path, ("\n".join(rows) + "\n").encode(), force=force)


def _is_label(variable: Variable) -> bool:
    return bool(variable.values.dtype == object)


def _write_variable(file: Any, variable: Variable) -> None:
    import h5py  # type: ignore[import-untyped]

    values = variable.values
    for axis, size in zip(variable.axes, values.shape, strict=True):
        if axis not in file.dimensions:
            file.dimensions[axis] = size
    kind = h5py.string_dtype() if _is_label(variable) else values.dtype
    made = file.create_variable(variable.name, variable.axes, kind)
    made[...] = values
    made.attrs["long_name"] = variable.meaning
    if variable.unit:
        made.attrs["units"] = variable.unit


def _assemble(model: Model, stored: "Stored") -> Run:
    """Put a run together from the contents of its file."""
    samples = stored.count("time")
    stored.require_words("coordinate", model.names)
    inputs = len(input_units(model))
    anchors = np.broadcast_to(model.base_pose.rotation, (samples, 3, 3))
    return Run(
        model=model,
        t=_times(stored, samples),
        q=stored.numbers("q", (samples, model.size)),
        v=stored.numbers("v", (samples, model.size)),
        u=stored.numbers("u", (samples, inputs)) if inputs else np.zeros((samples, 0)),
        tip=stored.numbers("tip_position", (samples, 3)),
        tip_rotation=stored.rotations("tip_rotation", samples),
        energy=np.stack([stored.numbers(name, (samples,)) for name in ENERGIES], axis=1),
        works=np.stack([stored.numbers(name, (samples,)) for name in WORKS], axis=1),
        anchors=stored.rotations("anchor", samples) if model.floats else anchors,
        status=_status(stored),
        reason=stored.text("reason"),
        method=stored.text("method"),
        why=stored.text("why"),
        rtol=stored.number("rtol"),
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


def _status(stored: "Stored") -> str:
    status = stored.text("status")
    if status not in STATUSES:
        raise stored.wrong("status", f"must be one of {', '.join(STATUSES)}")
    return status


def _kept_files(stored: "Stored") -> dict[str, bytes]:
    """Read the files that are kept with the model file, by their names in it."""
    found: dict[str, bytes] = {}
    left = MAX_TOTAL
    while stored.has(name := f"{FILE}{len(found) + 1}"):
        content = stored.bytes_of(name, min(MAX_BYTES, left))
        left -= len(content)
        said = stored.text("long_name", name)
        if said in found:
            raise stored.wrong(name, "is kept twice")
        found[said] = content
    return found


def _files_of(arm: Arm) -> Iterator[SideFile]:
    """List the files that an arm is made of besides its model file."""
    for part in parts_beside(arm):
        yield part.side_file
        if isinstance(part, Tabulated):
            table = load_modal_file(part.side_file)[0].table
            if table is not None:
                yield part.side_file.read_beside(table)


def _read_model(path: Path, text: str, files: dict[str, bytes]) -> Model:
    """Build the model of a run; the files that it names are those of the run, no others."""
    kept = SideFiles(path, kept=files)
    try:
        return build(parse(Arm, text, name=f"{path}, model_file", files=kept))
    except (ModelError, ShapeError) as error:
        raise ModelError(
            f"{path}: the model file in this run is not valid here:\n{error}"
        ) from None


class LiveFile:
    """A file with a run as far as it has come, whole at every moment and marked ``running``.

    Give it to `simulate` as ``live``, and its `finish` the run that comes back.  The first snapshot
    is written at once, under the same rule as any file; later ones take at most a 20th of the time.

    Attributes
    ----------
    path
        The file.
    force
        Whether to overwrite a file that is there.
    failure
        Why the last snapshot could not be written, if so: a run is not given up for that.
    """

    def __init__(self, path: str | Path, *, force: bool = False) -> None:
        require_flag("force", force)
        self.path, self.force = require_path("path", path), force
        self.failure = ""
        self._written: tuple[int, int] | None = None  # what tells our file from another's
        self._begun = self._last = self._cost = self._spent = 0.0

    def __call__(self, so_far: Callable[[], Run]) -> None:
        """Write the run so far, if it is time."""
        now = time.perf_counter()
        first = self._written is None
        if not first and not self._due(now):
            return
        run = so_far()
        if first:  # what is compiled and loaded for it is no measure of the next
            import h5netcdf  # noqa: F401

            now = time.perf_counter()
        try:
            self.finish(run)
            self.failure = ""
        except FlexarmError as error:
            if first:
                raise
            self.failure = str(error)
        self._last = time.perf_counter()
        self._cost = self._last - now
        if first:
            self._begun = self._last
        else:
            self._spent += self._cost

    def finish(self, run: Run) -> None:
        """Write a run in the place of what this has written so far.

        Raises
        ------
        FlexarmError
            If there is another file and `force` is false, or it cannot be written.
        """
        found = self._stamp()
        ours = found is not None and found == self._written
        try:
            save_run(run, self.path, force=self.force or ours)
        finally:  # also when interrupted after the file has come under its name
            if self.force or found == self._written:
                self._written = self._stamp()

    def _due(self, now: float) -> bool:
        enough = now - self._last >= PAUSE
        return enough and (self._spent + self._cost) <= SHARE * (now - self._begun)

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns
