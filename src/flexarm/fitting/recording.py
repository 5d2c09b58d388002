"""Measured time histories and frequency responses, read from files with named columns."""

import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import refused, require_path
from flexarm.arm.side_files import SideFile, SideFiles
from flexarm.errors import FlexarmError, ModelError
from flexarm.fitting.constants import FEWEST_SAMPLES
from flexarm.io.csv_table import read_number, read_rows
from flexarm.spatial import Array
from flexarm.units import quantity

KINDS = (".csv", ".npz", ".mat", ".parquet")
TIMES = ("time", "t")
FREQUENCIES = ("frequency", "f")
_BRACKETS = re.compile(r"(.+?)\s*[\[(]([^\])]*)[\])]$")


@dataclass(frozen=True)
class Recording:
    """A measured time history, or a measured frequency response.

    Attributes
    ----------
    name
        Name of the file, or another name.
    t
        Times [s] of a time history, (T,), from 0 on unless it is a piece; frequencies [Hz] of a
        frequency response.
    columns
        Values by name of the column as written in the file, (T,) each.
    digest
        SHA-256 of the file; empty if there is none.
    is_response
        Whether the recording is a frequency response.
    """

    name: str
    t: Array
    columns: Mapping[str, Array]
    digest: str = ""
    is_response: bool = False

    def has(self, name: str) -> bool:
        """Return whether a column of the given name exists, with or without its unit."""
        return any(name in (key, split_unit(key)[0]) for key in self.columns)

    def column(self, name: str, *units: str) -> Array:
        """Return a column converted to the first compatible SI unit of ``units``, shape (T,).

        The name may be given without the unit.

        Raises
        ------
        FlexarmError
            If there is no such column, or the column's unit is compatible with none of ``units``.
        """
        matches = [key for key in self.columns if name in (key, split_unit(key)[0])]
        if len(matches) != 1:
            number = "more than one" if matches else "no"
            raise FlexarmError(
                f"{self.name}: {number} column is called '{name}'. The columns are "
                f"{', '.join(self.columns)}."
            )
        written, reasons = split_unit(matches[0])[1], []
        for unit in units:
            try:
                factor = quantity(f"1 {written}", unit) if written else 1.0
            except ModelError as error:
                reasons.append(str(error))
            else:
                return np.asarray(self.columns[matches[0]] * factor)
        raise FlexarmError(f"{self.name}: column '{matches[0]}': {reasons[0]}")


def split_unit(header: str) -> tuple[str, str]:
    """Return name and unit of a column header such as ``joint1 [deg]`` or ``joint1_deg``.

    The unit is empty if the header states none.
    """
    bracketed = _BRACKETS.match(header)
    if bracketed:
        return bracketed[1], bracketed[2]
    name, _, last = header.rpartition("_")
    last = {"radps": "rad/s", "Nm": "N m"}.get(last, last)
    if name and _is_unit(last):
        return name, last
    return header, ""


def _is_unit(text: str) -> bool:
    for unit in ("m", "kg", "s", "rad", "m/s", "rad/s", "Hz", "N", "N m", "A", "1", "m/s^2"):
        try:
            quantity(f"1 {text}", unit)
        except ModelError:
            continue
        return bool(text) and not text.isdecimal()
    return text in ("V", "mV")


def read_recording(source: object, name: str = "data") -> Recording:
    """Return a measured run read from a file or a mapping of arrays by column.

    Parameters
    ----------
    source
        A file .csv, .npz, .mat or .parquet, a mapping of arrays, or a `Recording`. One column is
        named ``time``; it is in seconds unless its name states a unit.
    name
        Name of a mapping in messages.

    Raises
    ------
    FlexarmError
        If the source cannot be read, times do not increase, or values are not finite; the message
        names file, line and column.
    """
    if isinstance(source, Recording):
        return source
    if isinstance(source, Mapping):
        return _checked(name, {str(k): v for k, v in source.items()}, lambda row: f"row {row + 1}")
    if not isinstance(source, str | Path):
        raise refused("data", source, "a file, or a mapping of arrays by name")
    path = require_path("data", source)
    if path.suffix.lower() not in KINDS:
        raise FlexarmError(f"{path}: must end in {', '.join(KINDS)}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FlexarmError(f"{path}: cannot be read: {error.strerror}") from None
    lines: list[int] = []
    columns = (
        _csv(path, content, lines) if path.suffix.lower() == ".csv" else _arrays(path, content)
    )
    recording = _checked(
        str(path), columns, lambda row: f"line {lines[row]}" if lines else f"row {row + 1}"
    )
    return replace(recording, digest=hashlib.sha256(content).hexdigest())


def _csv(path: Path, content: bytes, lines: list[int]) -> dict[str, Any]:
    rows: Iterator[Any] = read_rows(SideFile(path.name, content, SideFiles(path.parent)))
    _, header = next(rows, (1, []))
    names = [text for _, text in header]
    if len(set(names)) < len(names):
        raise FlexarmError(f"{path}:1: two columns have the same name. Rename one.")
    table = []
    for line, cells in rows:
        if len(cells) != len(names):
            raise FlexarmError(
                f"{path}:{line}: must have {len(names)} cells like the header, got {len(cells)}"
            )
        table.append([read_number(text) for _, text in cells])
        lines.append(line)
    return dict(zip(names, np.array(table).reshape(-1, len(names)).T, strict=True))


def _arrays(path: Path, content: bytes) -> dict[str, Any]:
    kind, file = path.suffix.lower(), io.BytesIO(content)
    try:
        if kind == ".npz":
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        if kind == ".mat":
            from scipy.io import loadmat

            return {k: v for k, v in loadmat(path).items() if not k.startswith("__")}
        import pandas  # type: ignore[import-untyped]

        return {str(k): v.to_numpy() for k, v in pandas.read_parquet(file).items()}
    except ImportError as error:
        raise FlexarmError(
            f"{path}: {error.name} is needed to read it. Run pip install {error.name}."
        ) from None
    except Exception as error:
        raise FlexarmError(f"{path}: is not a {kind} file of arrays: {error}") from None


def _checked(name: str, columns: Mapping[str, Any], place: Any) -> Recording:
    """Return a `Recording` of the columns after checking lengths, times and finite values."""
    timed = [key for key in columns if split_unit(key)[0].lower() in TIMES]
    is_response = not timed
    if is_response:
        timed = [key for key in columns if split_unit(key)[0].lower() in FREQUENCIES]
    if len(timed) != 1:
        raise FlexarmError(
            f"{name}: must have a column called time or frequency, got "
            f"{', '.join(columns) or 'no columns'}"
        )
    try:
        arrays = {key: np.array(value, dtype=float).ravel() for key, value in columns.items()}
    except (TypeError, ValueError):
        raise FlexarmError(f"{name}: every column must be an array of numbers") from None
    count = len(arrays[timed[0]])
    for key, values in arrays.items():
        if len(values) != count:
            raise FlexarmError(
                f"{name}: column '{key}' has {len(values)} samples, but column {timed[0]} has "
                f"{count}. Give all columns the same length."
            )
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise FlexarmError(
                f"{name}: {place(int(bad[0]))}, column '{key}': must be a finite number. Leave "
                "such samples out, or cut the recording there."
            )
    if count < FEWEST_SAMPLES:
        raise FlexarmError(f"{name}: must have at least {FEWEST_SAMPLES} samples, got {count}")
    unit = "Hz" if is_response else "s"
    t = Recording(name, arrays[timed[0]], arrays).column(timed[0], unit)
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        row = int(back[0]) + 1
        raise FlexarmError(
            f"{name}: {place(row)}: {('frequencies' if is_response else 'times')} must "
            f"increase, got {t[row]:g} {unit} after {t[row - 1]:g} {unit}. Sort the samples, "
            "and leave repeated ones out."
        )
    if is_response and t[0] <= 0:
        raise FlexarmError(f"{name}: {place(0)}: frequencies must be > 0, got {t[0]:g} Hz")
    rest = {key: values for key, values in arrays.items() if key != timed[0]}
    return Recording(name, t if is_response else t - t[0], rest, is_response=is_response)
