"""Writing of runs: NetCDF files that load as runs, snapshots, and tables for other programs."""

import io
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arguments import refused, require_flag, require_path, require_run_file
from flexarm.arm import Arm
from flexarm.arm.shapes import ModalBody, Tabulated
from flexarm.arm.side_files import SideFile, SideFiles, parts_beside
from flexarm.errors import FlexarmError
from flexarm.io.model_file import parse
from flexarm.io.whole_file import require_writable, write_whole
from flexarm.links.imported.readers.plain import arrays_beside
from flexarm.links.imported.readers.stations import table_beside
from flexarm.runs.constants import MATLAB_NAME, SNAPSHOT_PAUSE, SNAPSHOT_SHARE
from flexarm.runs.contents import (
    CHECKSUMS,
    FILE,
    Variable,
    along_variables,
    attributes,
    checksums,
    described,
    main_variables,
    table_columns,
)
from flexarm.runs.data import RunData

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]


def save_run(run: RunData, path: str | Path, *, force: bool = False) -> None:
    """Write the run to a NetCDF file, atomically; `load_run` reads it back.

    Parameters
    ----------
    path
        The file.
    force
        Whether to overwrite a file that is there.

    Raises
    ------
    FlexarmError
        If the file is there and `force` is false, it cannot be written, or it could not be read
        back.
    """
    import h5netcdf  # type: ignore[import-untyped]
    import h5py  # type: ignore[import-untyped]

    require_run_file(path)
    side_files = files_kept_with(run.model.arm)
    variables = [*main_variables(run), *along_variables(run, None)]
    for k, (name, content) in enumerate(side_files.items(), 1):
        data = np.frombuffer(content, dtype=np.uint8)
        variables.append(Variable(f"{FILE}{k}", (f"byte_{k}",), data, "1", name))
    run_attributes = attributes(run)
    # The file is first built in memory, since HDF5 may fail on a full disk without an error.
    memory = io.BytesIO()
    with h5netcdf.File(memory, "w") as file:
        for variable in variables:
            for axis, size in zip(variable.axes, variable.values.shape, strict=True):
                if axis not in file.dimensions:
                    file.dimensions[axis] = size
            kind = h5py.string_dtype() if variable.is_label else variable.values.dtype
            stored = file.create_variable(variable.name, variable.axes, kind, data=variable.values)
            stored.attrs.update(described(variable))
        # By convention of NetCDF these variables label an axis.
        file.attrs["coordinates"] = " ".join(
            variable.name for variable in variables if variable.is_label
        )
        file.attrs.update({**run_attributes, CHECKSUMS: checksums(variables, run_attributes)})
    _require_readable(memory, run, SideFiles(kept=side_files))
    write_whole(path, memory.getvalue(), force=force)


def _require_readable(memory: io.BytesIO, run: RunData, files: SideFiles) -> None:
    """Raise an error unless model file, times and states can be read back unchanged."""
    import h5netcdf

    with h5netcdf.File(memory, "r") as file:
        parse(Arm, str(file.attrs["model_file"]), name="the run's arm", files=files)
        stored = {name: file[name][...] for name in ("time", "q", "v")}
    for name, values in (("time", run.t), ("q", run.q), ("v", run.v)):
        if not np.array_equal(stored[name], values, equal_nan=True):
            raise FlexarmError(
                f"the run cannot be stored, since its {name} would not be read back unchanged"
            )


def save_table(run: RunData, path: str | Path, *, force: bool = False) -> None:
    """Write the run as a CSV table, atomically: names and units in the first line.

    Parameters
    ----------
    path
        The file.
    force
        Whether to overwrite a file that is there.

    Notes
    -----
    Numbers have enough digits to read back unchanged.
    """
    columns = dict(table_columns(run))
    rows = [",".join(columns)]
    for row in np.stack(list(columns.values()), axis=1).tolist():
        rows.append(",".join(map(repr, row)))
    write_whole(path, ("\n".join(rows) + "\n").encode(), force=force)


def files_kept_with(arm: Arm) -> dict[str, bytes]:
    """Return the contents of the side files that an arm names, by name."""
    return {side_file.name: side_file.content for side_file in _files_of(arm)}


def _files_of(arm: Arm) -> Iterator[SideFile]:
    """Yield the side files that an arm's model file names."""
    for part in parts_beside(arm):
        yield part.side_file
        companion = None
        if isinstance(part, ModalBody):
            companion = arrays_beside(part.side_file)
        elif isinstance(part, Tabulated):
            companion = table_beside(part.side_file)
        if companion is not None:
            yield companion


class LiveFile:
    """A file with the latest snapshot of a run in progress, readable at any time.

    Pass the object to `simulate` as ``live``, and the finished run to the method `finish`. The
    status in a snapshot is ``running``. The first snapshot is written at once; later snapshots take
    at most a 20th of the CPU time.

    Attributes
    ----------
    path
        The file.
    force
        Whether to overwrite an existing file.
    failure
        Reason why the last snapshot could not be written; empty if it was written. A failure does
        not stop the run.
    """

    def __init__(self, path: str | Path, *, force: bool = False) -> None:
        require_flag("force", force)
        self.path, self.force = require_path("path", path), force
        self.failure = ""
        self._written: tuple[int, int] | None = None  # inode and time that identify our file
        self._begun = self._last = self._cost = self._spent = 0.0

    def __call__(self, so_far: Callable[[], RunData]) -> None:
        """Write a snapshot of the run if enough time has passed since the previous snapshot."""
        now = time.perf_counter()
        first = self._written is None
        if not first and not self._due(now):
            return
        run = so_far()
        if first:  # compilation and imports do not count
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

    def finish(self, run: RunData) -> None:
        """Write the finished run, replacing the last snapshot.

        Raises
        ------
        FlexarmError
            If the file was written by another program and `force` is false, or cannot be written.
        """
        stamp = self._stamp()
        is_ours = stamp is not None and stamp == self._written
        try:
            save_run(run, self.path, force=self.force or is_ours)
        finally:  # also if interrupted after the file got its name
            if self.force or stamp == self._written:
                self._written = self._stamp()

    def _due(self, now: float) -> bool:
        is_late = now - self._last >= SNAPSHOT_PAUSE
        return is_late and (self._spent + self._cost) <= SNAPSHOT_SHARE * (now - self._begun)

    def _stamp(self) -> tuple[int, int] | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns


def frame_of(run: RunData) -> "pandas.DataFrame":
    """Return the table of the run as a pandas data frame: a row per sample, time [s] as index.

    Raises
    ------
    FlexarmError
        If pandas is not installed.
    """
    package, columns = optional_module("pandas", "frames"), dict(table_columns(run))
    time = package.Index(columns.pop("time [s]"), name="time [s]")
    frame: pandas.DataFrame = package.DataFrame(columns, index=time)
    return frame


def export_run(run: RunData, path: str | Path, *, force: bool = False) -> None:
    """Write the run for other programs, atomically.

    Parameters
    ----------
    path
        The file, whose ending selects the format: ``.mat`` (MATLAB, Octave), ``.csv``, or, with
        packages that pandas needs, ``.parquet`` and ``.xlsx``.
    force
        Whether to overwrite an existing file.

    Raises
    ------
    FlexarmError
        If the ending is unknown, a package for it is not installed, or the file cannot be written.
    """
    from scipy.io.matlab import MatWriteError

    kind = require_export(path)
    require_writable(path, force=force)
    if kind == ".csv":
        save_table(run, path, force=force)
        return
    memory = io.BytesIO()
    try:
        WRITERS[kind](run, memory)
    except (ValueError, MatWriteError) as error:  # too many rows, or over 4 GB
        raise FlexarmError(f"{path}: the run cannot be written as {kind}: {error}") from None
    write_whole(path, memory.getvalue(), force=force)


def require_export(path: str | Path) -> str:
    """Return a file name's ending, which selects the format of an export.

    Raises
    ------
    FlexarmError
        If the ending is unknown, or a package for it is not installed.
    """
    kind = require_path("path", path).suffix.lower()
    endings = [".csv", *WRITERS]
    if kind not in endings:
        raise refused("path", str(path), f"a file that ends in one of {', '.join(endings)}")
    for package, purpose in NEEDED.get(kind, {}).items():
        optional_module(package, purpose)
    return kind


def _to_mat(run: RunData, memory: io.BytesIO) -> None:
    """Write the variables of a run as a MATLAB file, with its attributes as ``about``."""
    from scipy.io import savemat

    content: dict[str, Any] = {"about": attributes(run)}
    for variable in [*main_variables(run), *along_variables(run, None)]:
        name = "".join(c if c.isascii() and c.isalnum() else "_" for c in variable.name)
        content[name[:MATLAB_NAME]] = variable.values
    savemat(memory, content, long_field_names=True, oned_as="column")  # type: ignore[arg-type]


WRITERS: dict[str, Callable[[RunData, io.BytesIO], None]] = {
    ".mat": _to_mat,
    ".parquet": lambda run, memory: frame_of(run).to_parquet(memory),
    ".xlsx": lambda run, memory: frame_of(run).to_excel(memory),
}
# By file ending: optional packages, and the purpose that messages state for each package.
NEEDED = {
    ".parquet": {"pyarrow": "Parquet files", "pandas": "frames"},
    ".xlsx": {"openpyxl": "Excel files", "pandas": "frames"},
}


def optional_module(name: str, purpose: str) -> Any:
    """Import an optional package; if it is missing, raise an error with the install command."""
    try:
        return import_module(name)
    except ImportError:
        raise FlexarmError(
            f"{purpose} need the package {name}, which is not installed. Run 'pip install "
            f"{name.partition('.')[0]}'."
        ) from None
