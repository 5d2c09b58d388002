"""Station tables of modal data: a CSV file with one row per station."""

import difflib
from collections.abc import Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from flexarm.arm.side_files import SideFile
from flexarm.errors import ModelError
from flexarm.io.csv_table import read_number, read_rows
from flexarm.io.source import Diagnostic, report, shorten

Array = npt.NDArray[np.float64]

MAX_STATIONS = 5000
LARGEST = 1e15
COORDINATES = ("x", "y", "z")
INERTIA = ("Jx", "Jy", "Jz")
DISPLACEMENT = ("x", "y", "z")
ROTATION = ("rx", "ry", "rz")


def read_table(file: SideFile, modes: Sequence[str]) -> dict[str, Array]:
    """Read a station table.

    Parameters
    ----------
    file
        CSV text with a header line, as `read_rows` reads it.
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
    path = file.path
    rows = list(islice(read_rows(file), MAX_STATIONS + 2))
    if not 3 <= len(rows) <= MAX_STATIONS + 1:
        raise ModelError(f"{path}: a station table needs a header and 2 to {MAX_STATIONS} stations")
    (header_line, header), *body = rows
    names = [name for _, name in header]
    problems = _header_problems(header_line, header, modes)
    if problems:  # perhaps another's file: no cell of it is told
        raise ModelError(report(str(path), problems))
    values = np.zeros((len(body), len(names)))
    for k, (line, cells) in enumerate(body):
        if len(cells) != len(names):
            message = f"must have {len(names)} cells like the header, got {len(cells)}"
            problems.append(Diagnostic((line, 1), (), message))
            continue
        for j, (column, text) in enumerate(cells):
            values[k, j] = read_number(text)
            wrong = _wrong(names[j], values[k, j])
            if wrong:
                message = f"{wrong}, got {shorten(repr(text))}"
                problems.append(Diagnostic((line, column), (names[j],), message))
    if problems:
        raise ModelError(report(str(path), problems))
    return {name: values[:, j] for j, name in enumerate(names)}


def _wrong(column: str, value: float) -> str:
    """Say what is wrong with a value; empty if nothing is."""
    if not abs(value) <= LARGEST:
        return f"must be a number of at most {LARGEST:g}"
    if column == "mass_per_length" and value <= 0:
        return "must be > 0"
    return "must be >= 0" if column in ("station_mass", *INERTIA) and value < 0 else ""


def _header_problems(
    line: int, header: list[tuple[int, str]], modes: Sequence[str]
) -> list[Diagnostic]:
    """Refuse columns that are unknown, doubled or missing."""
    known = [*COORDINATES, "station_mass", "mass_per_length", *INERTIA]
    known += [f"{mode}.{part}" for mode in modes for part in (*DISPLACEMENT, *ROTATION)]
    seen: set[str] = set()
    problems: list[Diagnostic] = []
    for k, (column, name) in enumerate(header, 1):
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1) if len(problems) < 9 else ()
            columns = shorten(", ".join(known), 120)
            hint = f"did you mean '{close[0]}'?" if close else f"the columns are {columns}"
            problems.append(Diagnostic((line, column), (f"column {k}",), f"unknown name; {hint}"))
        elif name in seen:
            problems.append(Diagnostic((line, column), (name,), "is given twice; keep one"))
        seen.add(name)
    required = ["x", *(mode for mode in modes if not any(n.startswith(f"{mode}.") for n in seen))]
    for name in required:
        if name not in seen:
            what = "is required" if name == "x" else "no column for this mode"
            problems.append(Diagnostic((line, 1), (name,), what))
    return problems
