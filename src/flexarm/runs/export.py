"""A run for other programs: pandas, MATLAB, Parquet, Excel."""

import io
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.io.matlab import MatWriteError

from flexarm.arguments import refused, require_path
from flexarm.errors import FlexarmError
from flexarm.io.whole_file import require_writable, write_whole
from flexarm.runs.contents import along_variables, attributes, main_variables, table_columns
from flexarm.runs.data import RunData
from flexarm.runs.write import save_table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

LONGEST = 63  # characters of a name in MATLAB


def frame_of(run: RunData) -> "pandas.DataFrame":
    """Make a frame of pandas of a run's table: a row per sample, by time [s].

    Raises
    ------
    FlexarmError
        If pandas is not installed.
    """
    package, columns = _module("pandas", "frames"), dict(table_columns(run))
    time = package.Index(columns.pop("time [s]"), name="time [s]")
    frame: pandas.DataFrame = package.DataFrame(columns, index=time)
    return frame


def export_run(run: RunData, path: str | Path, *, force: bool = False) -> None:
    """Write a run for other programs, whole or not at all, by the ending of the file.

    Raises
    ------
    FlexarmError
        If the ending is not known, a package for it is not installed, or the file cannot be
        written.
    """
    kind = require_export(path)
    require_writable(path, force=force)
    if kind == ".csv":
        save_table(run, path, force=force)
        return
    memory = io.BytesIO()
    try:
        WRITERS[kind](run, memory)
    except (
        ValueError,
        MatWriteError,
    ) as error:  # too many rows, or over 4 GB
        raise FlexarmError(f"{path}: the run cannot be written as {kind}: {error}") from None
    write_whole(path, memory.getvalue(), force=force)


def require_export(path: str | Path) -> str:
    """Return the ending of a file that a run can be written to.

    Raises
    ------
    FlexarmError
        If a run is not written to such files, or a package for it is not installed.
    """
    kind = require_path("path", path).suffix.lower()
    known = [".csv", *WRITERS]
    if kind not in known:
        raise refused("path", str(path), f"a file that ends in one of {', '.join(known)}")
    for package, what in NEEDED.get(kind, {}).items():
        _module(package, what)
    return kind


def _to_mat(run: RunData, memory: io.BytesIO) -> None:
    """Write arrays by name, texts as cells, and what is said of the run as ``about``."""
    from scipy.io import savemat

    found: dict[str, Any] = {"about": attributes(run)}
    for each in [*main_variables(run), *along_variables(run, None)]:
        found[_matlab_name(each.name)] = each.values
    savemat(memory, found, long_field_names=True, oned_as="column")  # type: ignore[arg-type]


def _matlab_name(name: str) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return plain[:LONGEST]


def _to_parquet(run: RunData, memory: io.BytesIO) -> None:
    frame_of(run).to_parquet(memory)


def _to_xlsx(run: RunData, memory: io.BytesIO) -> None:
    frame_of(run).to_excel(memory)


WRITERS: dict[str, Callable[[RunData, io.BytesIO], None]] = {
    ".mat": _to_mat,
    ".parquet": _to_parquet,
    ".xlsx": _to_xlsx,
}
# By kind of file: packages that flexarm does not need otherwise, and what needs them.
NEEDED = {
    ".parquet": {"pyarrow": "Parquet files", "pandas": "frames"},
    ".xlsx": {"openpyxl": "Excel files", "pandas": "frames"},
}


def _module(name: str, what: str) -> Any:
    """Import a package that flexarm does not need otherwise."""
    try:
        return import_module(name)
    except ImportError:
        raise FlexarmError(
            f"{what} need the package {name}, which is not installed: pip install {name}"
        ) from None
