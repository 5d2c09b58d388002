"""Keep a run: as an xarray dataset, as a NetCDF file that gives the run back, as a CSV table."""

import functools
import io
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from flexarm.arguments import require_path
from flexarm.arm import Arm
from flexarm.arm.profile import BesideModel, folder_of
from flexarm.errors import FlexarmError, ModelError
from flexarm.integrate.contents import (
    ENERGIES,
    FORMAT,
    WORKS,
    Variable,
    along_variables,
    attributes,
    main_variables,
    table_columns,
)
from flexarm.integrate.run import Run, Statistics
from flexarm.io.model_file import loads
from flexarm.io.whole_file import write_whole
from flexarm.model import build

if TYPE_CHECKING:
    import xarray

FILE = "model_file_"  # variables with the bytes of files that the model file names
SHARE = 0.05  # of the time, that a run's snapshots may take
PAUSE = 0.5  # [s] between two of them, at least


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
        for k, (name, content) in enumerate(_files_of(run.model.arm)):
            data = np.frombuffer(content, dtype=np.uint8)
            kept = Variable(f"{FILE}{k + 1}", (f"byte_{k + 1}",), data, "1", name)
            _write_variable(file, kept)
        for key, value in attributes(run).items():
            file.attrs[key] = value
    _require_readable(memory, run)
    write_whole(path, memory.getvalue(), force=force)


def _require_readable(memory: io.BytesIO, run: Run) -> None:
    """Refuse to write what could not be read back: the model file, the times and the states."""
    import h5netcdf

    with h5netcdf.File(memory, "r") as file:
        loads(str(file.attrs["model_file"]), "the run's arm", folder=folder_of(run.model.arm))
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
    import h5netcdf

    path = require_path("path", path)
    if not path.is_file():
        raise FlexarmError(f"{path}: no such file")
    try:
        with h5netcdf.File(path, "r") as file:
            attrs = dict(file.attrs)
            values = {name: np.asarray(file[name][...]) for name in file.variables}
            kept = [name for name in values if name.startswith(FILE)]
            files = {str(file[name].attrs["long_name"]): values[name] for name in kept}
    except PermissionError:
        raise FlexarmError(f"{path}: the file cannot be read: permission denied") from None
    except (OSError, ValueError, KeyError):
        raise FlexarmError(
            f"{path}: is no NetCDF file that can be read: it is cut off, damaged or of another "
            "kind; runs are kept by 'flexarm simulate --out' and by Run.save"
        ) from None
    if attrs.get("flexarm_run") != FORMAT:
        raise FlexarmError(f"{path}: is no run of flexarm, or one of another version's format")
    try:
        return _assemble(_read_arm(path, str(attrs["model_file"]), files), attrs, values)
    except KeyError as error:
        raise FlexarmError(f"{path}: is a run from which {error} is missing") from None


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


def _assemble(arm: Arm, attrs: dict[str, Any], values: dict[str, Any]) -> Run:
    """Put a run together from the contents of its file."""
    model = build(arm)
    samples = len(values["time"])
    steady = np.broadcast_to(model.base_pose.rotation, (samples, 3, 3))
    return Run(
        model=model,
        t=values["time"],
        q=values["q"],
        v=values["v"],
        u=values.get("u", np.zeros((samples, 0))),
        tip=values["tip_position"],
        tip_rotation=values["tip_rotation"],
        energy=np.stack([values[name] for name in ENERGIES], axis=1),
        works=np.stack([values[name] for name in WORKS], axis=1),
        anchors=values.get("anchor", steady),
        status=str(attrs["status"]),
        reason=str(attrs["reason"]),
        method=str(attrs["method"]),
        why=str(attrs["why"]),
        rtol=float(attrs["rtol"]),
        statistics=Statistics(
            int(attrs["steps"]),
            int(attrs["rejections"]),
            int(attrs["evaluations"]),
            float(attrs["cpu_seconds"]),
        ),
    )


def _files_of(part: Any) -> Iterator[tuple[str, bytes]]:
    """List the files that an arm names, with their contents."""
    if isinstance(part, BesideModel):
        try:
            yield part.file, part.path.read_bytes()
        except OSError as error:
            raise FlexarmError(f"{part.path}: the file cannot be read: {error.strerror}") from None
    if isinstance(part, BaseModel):
        part = [getattr(part, name) for name in type(part).model_fields]
    if isinstance(part, list | tuple):
        for each in part:
            yield from _files_of(each)


def _read_arm(path: Path, text: str, files: dict[str, Any]) -> Arm:
    """Load the arm of a run; the files that it names are put where it will find them."""
    folder = Path()
    if files:
        folder = Path(tempfile.mkdtemp(dir=_unpacked().name)).resolve()
        for name, content in files.items():
            place = (folder / name).resolve()
            if folder in place.parents:  # a name that leads elsewhere is looked for there
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content.tobytes())
    try:
        return loads(text, f"{path}, model_file", folder=folder)
    except ModelError as error:
        raise ModelError(
            f"{path}: the model file in this run is not valid here:\n{error}"
        ) from None


@functools.cache
def _unpacked() -> "tempfile.TemporaryDirectory[str]":
    """Give a folder for files out of runs, which goes away with the process."""
    return tempfile.TemporaryDirectory(prefix="flexarm-")


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
        self.path, self.force = Path(path), force
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
