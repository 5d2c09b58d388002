"""Station tables of modal data: a CSV file with one row per station."""

import difflib
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from flexarm.errors import ModelError
from flexarm.io.source import Problem, report, shorten

Array = npt.NDArray[np.float64]

MAX_BYTES = 20_000_000
LARGEST = 1e15
COORDINATES = ("x", "y", "z")
INERTIA = ("Jx", "Jy", "Jz")
DISPLACEMENT = ("x", "y", "z")
ROTATION = ("rx", "ry", "rz")


def read_table(path: Path, modes: Sequence[str]) -> dict[str, Array]:
    """Read a station table.

    Parameters
    ----------
    path
        A text file with comma-separated columns and a header line; empty lines and lines that start
        with ``#`` are left out.
    modes
        Names of the modes: mode ``y1`` has the columns ``y1.x, y1.y, y1.z, y1.rx, y1.ry, y1.rz``.

    Returns
    -------
    dict
        The columns by name, (n,) each; some of a mode's may be missing.

    Raises
    ------
    ModelError
        With one line ``file:line:column: what: why`` per mistake.
    """
    rows = _rows(path)
    if len(rows) < 3:
        raise ModelError(f"{path}: a station table needs a header and at least two stations")
    (header_line, header), *body = rows
    names = [name for _, name in header]
    problems = _header_problems(header_line, header, modes)
    values = np.zeros((len(body), len(names)))
    for k, (line, cells) in enumerate(body):
        if len(cells) != len(names):
            message = f"must have {len(names)} cells like the header, got {len(cells)}"
            problems.append(Problem((line, 1), (), message))
            continue
        for j, (column, text) in enumerate(cells):
            values[k, j] = _number(text)
            wrong = _wrong(names[j], values[k, j])
            if wrong:
                message = f"{wrong}, got {shorten(repr(text))}"
                problems.append(Problem((line, column), (names[j],), message))
    if problems:
        raise ModelError(report(str(path), problems))
    return {name: values[:, j] for j, name in enumerate(names)}


def _rows(path: Path) -> list[tuple[int, list[tuple[int, str]]]]:
    """Split a file into lines of cells, each with where it stands (from 1)."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ModelError(f"{path}: the file is larger than {MAX_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ModelError(f"{path}: the file cannot be read: {reason}") from None
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells, column = [], 1
        for cell in line.split(","):
            cells.append((column + len(cell) - len(cell.lstrip()), cell.strip().strip('"')))
            column += len(cell) + 1
        rows.append((number, cells))
    return rows


def _number(text: str) -> float:
    """Read a number; NaN if it is none."""
    try:
        return float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan


def _wrong(column: str, value: float) -> str:
    """Say what is wrong with a value; empty if nothing is."""
    if not abs(value) <= LARGEST:
        return f"must be a number of at most {LARGEST:g}"
    if column == "mass_per_length" and value <= 0:
        return "must be > 0"
    return "must be >= 0" if column in ("station_mass", *INERTIA) and value < 0 else ""


def _header_problems(
    line: int, header: list[tuple[int, str]], modes: Sequence[str]
) -> list[Problem]:
    """Refuse columns that are unknown, doubled or missing."""
    known = [*COORDINATES, "station_mass", "mass_per_length", *INERTIA]
    known += [f"{mode}.{part}" for mode in modes for part in (*DISPLACEMENT, *ROTATION)]
    seen: set[str] = set()
    problems = []
    for column, name in header:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            columns = shorten(", ".join(known), 120)
            hint = f"did you mean '{close[0]}'?" if close else f"the columns are {columns}"
            problems.append(Problem((line, column), (name,), f"unknown column; {hint}"))
        elif name in seen:
            problems.append(Problem((line, column), (name,), "is given twice; keep one"))
        seen.add(name)
    required = ["x", *(mode for mode in modes if not any(n.startswith(f"{mode}.") for n in seen))]
    for name in required:
        if name not in seen:
            what = "is required" if name == "x" else "no column for this mode"
            problems.append(Problem((line, 1), (name,), what))
    return problems
