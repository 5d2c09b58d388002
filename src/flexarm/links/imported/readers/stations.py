"""Reader of modal data at stations along a link: a YAML file, with an optional CSV table.

The keys of the YAML file are listed in docs/modal-data.md.
"""

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, Strict, ValidationError
from pydantic_core import PydanticCustomError

from flexarm.arm.part import ONE_LINE, Angles, Name, Part
from flexarm.arm.side_files import SideFile
from flexarm.errors import ModelError
from flexarm.io import source as text
from flexarm.io.csv_table import read_number, read_rows
from flexarm.io.explain import explain
from flexarm.links.imported.constants import LARGEST, MOST_MODAL_STATIONS
from flexarm.links.imported.data import Findings, ModalData
from flexarm.links.imported.readers.plain import plain_data
from flexarm.spatial import Array, rotation_from_angles
from flexarm.units import Frequency, Ratio, quantity

COORDINATES = ("x", "y", "z")
INERTIA = ("Jx", "Jy", "Jz")
DISPLACEMENT = ("x", "y", "z")
ROTATION = ("rx", "ry", "rz")
# Keys of station files; dictionary keys are those of the plain form.
KEYS = {
    "nodes": "stations", "shapes": "modes", "rotations": "modes", "inertia_per_length": "inertia",
    "hub_position": "interface", "hub_rotation": "interface",
}  # fmt: skip


def unit_of(symbol: str) -> AfterValidator:
    """Return a validator that accepts only units of the same quantity as the unit ``symbol``."""

    def check(value: str) -> str:
        try:
            quantity(f"1 {value}", symbol)
        except ModelError as error:
            reason = str(error).replace(f'"1 {value}"', f'"{value}"')
            raise PydanticCustomError("quantity", "{reason}", {"reason": reason}) from None
        return value

    return AfterValidator(check)


Number = Annotated[float, Strict(), Field(ge=-LARGEST, le=LARGEST)]
UnitText = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^\S")]
Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]
Triple = tuple[Number, Number, Number]
Inertias = tuple[NotNegative, NotNegative, NotNegative]
Rows = tuple[Triple, ...]
Matrix = tuple[Number, ...] | tuple[tuple[Number, ...], ...]


class Units(Part):
    """Units of all numbers in a file except angles [rad], frequencies [Hz] and ratios."""

    length: Annotated[UnitText, unit_of("m")]
    mass: Annotated[UnitText, unit_of("kg")]
    time: Annotated[UnitText, unit_of("s")]


class Interface(Part):
    """Root frame of the flexible span, given in the frame of the data.

    ``rotation`` contains the angles [rad] about the fixed x, then y, then z axis of the data's
    frame.
    """

    position: Triple = (0.0, 0.0, 0.0)
    rotation: Angles = (0.0, 0.0, 0.0)


class StationMode(Part):
    """One shape: displacement and rotation vector at every station, at an amplitude of 1.

    Displacements or rotations that the file omits are zero.
    """

    name: Name | None = None
    displacement: Rows | None = None
    rotation: Rows | None = None


class ModalFile(Part):
    """Modal data of one link as given in a file, in the units and axes of the file."""

    modal_data: Literal[1]
    name: Annotated[str, Field(min_length=1, max_length=200), ONE_LINE]
    notes: Annotated[str, Field(max_length=20_000)] = ""
    units: Units
    interface: Interface = Interface()
    stations: tuple[Number, ...] | Rows | None = None
    table: str | None = None
    station_mass: tuple[NotNegative, ...] | None = None
    mass_per_length: Positive | tuple[Positive, ...] | None = None
    inertia: Inertias | tuple[Inertias, ...] | None = None
    total_mass: Positive | None = None
    centre: Triple | None = None
    modes: Annotated[tuple[StationMode, ...], Field(min_length=1, max_length=200)]
    M: Matrix | None = None
    K: Matrix | None = None
    frequencies: tuple[Annotated[Frequency, Field(gt=0, le=1e9)], ...] | None = None
    D: Matrix | None = None
    damping_ratios: tuple[Annotated[Ratio, Field(ge=0, lt=1)], ...] | None = None

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes; ``mode1`` and so on for unnamed modes."""
        return tuple(mode.name or f"mode{i}" for i, mode in enumerate(self.modes, 1))


def read_stations(side: SideFile) -> tuple[ModalData, Findings]:
    """Read modal data at stations from a YAML file and, if it names one, a station table.

    Returns
    -------
    data, findings
        The data, not valid if the findings contain errors; the findings, with the line and column
        of each key in the file.

    Raises
    ------
    ModelError
        With one line ``file:line:column: key: reason`` per error.
    """
    file, source = _parsed(side)
    problems = [] if source.problems else _problems(source, _choice_problems(file))
    columns: dict[str, Array] = {}
    if not problems and file.table is not None:
        try:
            table = side.read_beside(file.table)
        except ModelError as error:
            problems += _problems(source, iter([(("table",), str(error))]))
        else:
            columns = _read_table(table, file.mode_names)
    if not problems:
        problems += _problems(source, _count_problems(file, columns))
    if problems:
        raise ModelError(text.report(str(side.path), problems))
    is_lumped = file.station_mass is not None or "station_mass" in columns
    key_names = KEYS | {"node_mass": "station_mass" if is_lumped else "mass_per_length"}
    findings = Findings(str(side.path), keys=key_names, place=lambda path: _locate(source, path))
    keys = _table_keys(file, columns) if columns else _listed_keys(file)
    return plain_data(_plain_keys(file, keys), str(side.path), findings), findings


def table_beside(side: SideFile) -> SideFile | None:
    """Return the station table that a file refers to; None if the file contains all data."""
    table = _parsed(side)[0].table
    return None if table is None else side.read_beside(table)


def _parsed(side: SideFile) -> tuple[ModalFile, text.Source]:
    """Return the validated contents of a YAML file, and its text with positions."""
    path = side.path
    if b"modal_data" not in side.content:  # the file may be secret: no message quotes it
        raise ModelError(
            f"{path}: is not a file of modal data. The first key of such a file is 'modal_data: 1'."
        )
    source = text.read(side.content, str(path))
    problems = list(source.problems)
    try:
        file = ModalFile.model_validate(source.data)
    except ValidationError as error:
        problems += explain(error, ModalFile, source)
    if problems:
        raise ModelError(text.report(str(path), problems))
    return file, source


def _locate(source: text.Source, path: text.Path) -> text.Position:
    """Return line and column of a value in the file, or of the name of the table with it."""
    return source.locate(path if source.at(path[:1]) is not None else ("table",))


def _problems(
    source: text.Source, faults: Iterator[tuple[text.Path, str]]
) -> list[text.Diagnostic]:
    return [text.Diagnostic(_locate(source, path), path, message) for path, message in faults]


def _choice_problems(file: ModalFile) -> Iterator[tuple[text.Path, str]]:
    """Yield an error for alternative keys of which both, or none, are given."""
    for first, second in (
        ("stations", "table"),
        ("station_mass", "mass_per_length"),
        ("K", "frequencies"),
        ("D", "damping_ratios"),
    ):
        present = [key for key in (first, second) if getattr(file, key) is not None]
        if len(present) == 2:
            yield (second,), f"give {first} or {second}, not both"
        elif not present and first in ("stations", "K"):
            yield (first,), f"is required, or {second} instead"
    names = file.mode_names
    for i, mode in enumerate(file.modes):
        if names[i] in names[:i]:
            yield ("modes", i, "name"), f"the name '{names[i]}' is used twice. Names must differ."
        present = [key for key in ("displacement", "rotation") if getattr(mode, key) is not None]
        if file.table is None and not present:
            yield ("modes", i, "displacement"), "is required, or rotation if nothing is displaced"
        elif file.table is not None and present:
            yield ("modes", i, present[0]), "is in the station table. Leave it out here."
    if file.table is not None:
        for key in ("station_mass", "mass_per_length", "inertia"):
            if isinstance(getattr(file, key), tuple):
                yield (key,), f"put it into the station table, {file.table}"


def _count_problems(
    file: ModalFile, columns: Mapping[str, Array]
) -> Iterator[tuple[text.Path, str]]:
    """Yield an error for each array of the wrong length, and for missing masses."""
    n, m = len(columns.get("x", file.stations or ())), len(file.modes)
    if not 2 <= n <= MOST_MODAL_STATIONS:
        yield ("stations",), f"must be 2 to {MOST_MODAL_STATIONS} stations, got {n}"
    masses = file.station_mass or columns.get("station_mass")
    if masses is not None and not np.any(masses):
        yield ("station_mass",), "must not be 0 at every station"
    per_length = file.mass_per_length is not None or "mass_per_length" in columns
    inertia = file.inertia is not None or any(name in columns for name in INERTIA)
    if inertia and masses is None and not per_length:
        yield ("inertia",), "needs station_mass (of the stations) or mass_per_length (per length)"
    for i, mode in enumerate(file.modes):
        for key in ("displacement", "rotation"):
            rows = getattr(mode, key)
            if rows is not None and len(rows) != n:
                yield ("modes", i, key), f"must have one row per station, {n}, got {len(rows)}"
    for key in ("M", "K", "D"):
        for i, row in enumerate(getattr(file, key) or ()):
            if isinstance(row, tuple) and len(row) != m:
                yield (key, i), f"must have one entry per mode, {m}, got {len(row)}"


def _plain_keys(file: ModalFile, stations: dict[str, Any]) -> dict[str, Any]:
    """Convert the contents of a file to keys of the plain form."""
    n = len(stations["nodes"])
    keys = {
        "name": file.name,
        "names": file.mode_names,
        "units": file.units.model_dump(),
        "hub_position": file.interface.position,
        "hub_rotation": rotation_from_angles(file.interface.rotation),
        **{key: getattr(file, key) for key in ("total_mass", "centre", "M", "K", "D")},
        **{key: getattr(file, key) for key in ("frequencies", "damping_ratios")},
        **stations,
    }
    if isinstance(keys["mass_per_length"], float):
        keys["mass_per_length"] = np.full(n, keys["mass_per_length"])
    # Moments of inertia about the axes of the data.
    if (moments := keys.pop("inertia")) is not None:
        moments = np.array(moments)
        rows = np.tile(moments, (n, 1)) if moments.ndim == 1 else moments
        name = "inertia" if keys["mass_per_length"] is None else "inertia_per_length"
        keys[name] = rows[:, :, None] * np.eye(3)
    return {key: value for key, value in keys.items() if value is not None}


def _listed_keys(file: ModalFile) -> dict[str, Any]:
    """Convert stations, masses and shapes listed in the file to keys of the plain form."""
    stations = np.array(file.stations)
    if stations.ndim == 1:
        stations = np.stack([stations, 0 * stations, 0 * stations], axis=1)
    zeros = np.zeros_like(stations)
    return {
        "nodes": stations,
        "node_mass": file.station_mass,
        "mass_per_length": file.mass_per_length,
        "inertia": file.inertia,
        "shapes": [zeros if m.displacement is None else m.displacement for m in file.modes],
        "rotations": [zeros if m.rotation is None else m.rotation for m in file.modes],
    }


def _table_keys(file: ModalFile, columns: Mapping[str, Array]) -> dict[str, Any]:
    """Convert a station table to keys of the plain form; missing columns become zeros."""
    zeros = np.zeros(len(columns["x"]))

    def triples(names: tuple[str, ...], mode: str = "") -> Array:
        return np.stack([columns.get(mode + name, zeros) for name in names], axis=1)

    inertia = triples(INERTIA) if any(name in columns for name in INERTIA) else file.inertia
    return {
        "nodes": triples(COORDINATES),
        "node_mass": columns.get("station_mass"),
        "mass_per_length": columns.get("mass_per_length", file.mass_per_length),
        "inertia": inertia,
        "shapes": [triples(DISPLACEMENT, f"{mode}.") for mode in file.mode_names],
        "rotations": [triples(ROTATION, f"{mode}.") for mode in file.mode_names],
    }


def _read_table(file: SideFile, modes: tuple[str, ...]) -> dict[str, Array]:
    """Return the columns of a station table.

    Parameters
    ----------
    file
        CSV text with a header line, as `read_rows` reads it.
    modes
        Names of the modes: mode ``y1`` has the columns ``y1.x, y1.y, y1.z, y1.rx, y1.ry, y1.rz``.

    Returns
    -------
    dict
        The columns by name, (n,) each; some columns of a mode may be missing.

    Raises
    ------
    ModelError
        With one line ``file:line:column: column: reason`` per error.
    """
    path = file.path
    rows = list(islice(read_rows(file), MOST_MODAL_STATIONS + 2))
    if not 3 <= len(rows) <= MOST_MODAL_STATIONS + 1:
        raise ModelError(
            f"{path}: must be a station table with a header and 2 to {MOST_MODAL_STATIONS} stations"
        )
    (header_line, header), *body = rows
    names = [name for _, name in header]
    problems = _header_problems(header_line, header, modes)
    if problems:  # messages do not quote cells of the file, which may be confidential
        raise ModelError(text.report(str(path), problems))
    values = np.zeros((len(body), len(names)))
    for k, (line, cells) in enumerate(body):
        if len(cells) != len(names):
            message = f"must have {len(names)} cells like the header, got {len(cells)}"
            problems.append(text.Diagnostic((line, 1), (), message))
            continue
        for j, (column, cell) in enumerate(cells):
            values[k, j] = read_number(cell)
            if fault := _cell_fault(names[j], values[k, j]):
                message = f"{fault}, got {text.shorten(repr(cell))}"
                problems.append(text.Diagnostic((line, column), (names[j],), message))
    if problems:
        raise ModelError(text.report(str(path), problems))
    return {name: values[:, j] for j, name in enumerate(names)}


def _cell_fault(column: str, value: float) -> str:
    """Return an error message for an invalid value in a column, or "" if the value is valid."""
    if not abs(value) <= LARGEST:
        return f"must be a number of at most {LARGEST:g}"
    if column == "mass_per_length" and value <= 0:
        return "must be > 0"
    return "must be >= 0" if column in ("station_mass", *INERTIA) and value < 0 else ""


def _header_problems(
    line: int, header: list[tuple[int, str]], modes: tuple[str, ...]
) -> list[text.Diagnostic]:
    """Return an error for each unknown, duplicate or missing column."""
    allowed = [*COORDINATES, "station_mass", "mass_per_length", *INERTIA]
    allowed += [f"{mode}.{part}" for mode in modes for part in (*DISPLACEMENT, *ROTATION)]
    names: set[str] = set()
    problems: list[text.Diagnostic] = []
    for k, (column, name) in enumerate(header, 1):
        if name not in allowed:
            matches = difflib.get_close_matches(name, allowed, n=1) if len(problems) < 9 else ()
            columns = text.shorten(", ".join(allowed), 120)
            hint = f"did you mean '{matches[0]}'?" if matches else f"the columns are {columns}"
            problems.append(
                text.Diagnostic((line, column), (f"column {k}",), f"unknown name; {hint}")
            )
        elif name in names:
            problems.append(text.Diagnostic((line, column), (name,), "is given twice; keep one"))
        names.add(name)
    required = ["x", *(mode for mode in modes if not any(n.startswith(f"{mode}.") for n in names))]
    for name in required:
        if name not in names:
            message = "is required" if name == "x" else "no column for this mode"
            problems.append(text.Diagnostic((line, 1), (name,), message))
    return problems
