"""The file of modal data as it is written: its keys, and what they must have in common."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, Strict, ValidationError
from pydantic_core import PydanticCustomError

from flexarm.arm.part import ONE_LINE, Angles, Name, Part
from flexarm.arm.side_files import SideFile
from flexarm.errors import ModelError
from flexarm.io import source as text
from flexarm.io.explain import explain
from flexarm.links.imported.readers.station_table import (
    COORDINATES,
    DISPLACEMENT,
    INERTIA,
    LARGEST,
    MAX_STATIONS,
    ROTATION,
    Array,
    read_table,
)
from flexarm.units import Frequency, Ratio, quantity


def unit_of(symbol: str) -> AfterValidator:
    """Make the check that text is a unit of the same quantity as `symbol`."""

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
    """The units of all numbers in a file but angles [rad], frequencies [Hz] and ratios."""

    length: Annotated[UnitText, unit_of("m")]
    mass: Annotated[UnitText, unit_of("kg")]
    time: Annotated[UnitText, unit_of("s")]

    def si(self) -> tuple[float, float, float]:
        """Return the units of length, mass and time in SI units."""
        pairs = ((self.length, "m"), (self.mass, "kg"), (self.time, "s"))
        length, mass, time = (quantity(f"1 {unit}", symbol) for unit, symbol in pairs)
        return length, mass, time


class Interface(Part):
    """The root frame of the link's flexible span, placed in the frame of the data.

    ``rotation`` holds the angles [rad] about the data's fixed x, then y, then z axis.
    """

    position: Triple = (0.0, 0.0, 0.0)
    rotation: Angles = (0.0, 0.0, 0.0)


class Mode(Part):
    """One shape: displacement and rotation vector at every station, at an amplitude of 1.

    What is left out is zero.
    """

    name: Name | None = None
    displacement: Rows | None = None
    rotation: Rows | None = None


class ModalFile(Part):
    """Modal data of one link as written in a file, in its own units and axes."""

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
    modes: Annotated[tuple[Mode, ...], Field(min_length=1, max_length=200)]
    M: Matrix | None = None
    K: Matrix | None = None
    frequencies: tuple[Annotated[Frequency, Field(gt=0, le=1e9)], ...] | None = None
    D: Matrix | None = None
    damping_ratios: tuple[Annotated[Ratio, Field(ge=0, lt=1)], ...] | None = None

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes, ``mode1`` and so on where the file gives none."""
        return tuple(mode.name or f"mode{i}" for i, mode in enumerate(self.modes, 1))

    def matrix(self, key: str) -> Array | None:
        """Return M, K or D as a matrix (m, m); a plain list is its diagonal."""
        given = getattr(self, key)
        if given is None:
            return None
        array = np.array(given, dtype=float)
        return np.diag(array) if array.ndim == 1 else array


def load_modal_file(side: SideFile) -> tuple[ModalFile, text.Source]:
    """Read a file of modal data, its station table included.

    Returns
    -------
    file, source
        The file, its counts consistent, and where everything stands in it.

    Raises
    ------
    ModelError
        With one line ``file:line:column: what: why`` per mistake.
    """
    path = side.path
    if b"modal_data" not in side.content:  # another's file: nothing of it is told
        raise ModelError(f"{path}: is no file of modal data: its first key is 'modal_data: 1'")
    source = text.read(side.content, str(path))
    problems = list(source.problems)
    try:
        file = ModalFile.model_validate(source.data)
    except ValidationError as error:
        problems += explain(error, ModalFile, source)
    if not problems:
        problems += _problems(source, _choice_problems(file))
    if not problems and file.table is not None:
        try:
            table = side.read_beside(file.table)
        except ModelError as error:
            problems += _problems(source, iter([(("table",), str(error))]))
        else:
            file = _with_table(file, read_table(table, file.mode_names))
    if not problems:
        problems += _problems(source, _count_problems(file))
    if problems:
        raise ModelError(text.report(str(path), problems))
    return file, source


def locate(source: text.Source, path: text.Path) -> text.Position:
    """Find a value in the file; what the station table holds is found where it is named."""
    return source.locate(path if source.at(path[:1]) is not None else ("table",))


def _problems(
    source: text.Source, found: Iterator[tuple[text.Path, str]]
) -> Iterator[text.Diagnostic]:
    for path, message in found:
        yield text.Diagnostic(locate(source, path), path, message)


def _choice_problems(file: ModalFile) -> Iterator[tuple[text.Path, str]]:
    """Say which keys are given twice over, or not at all."""
    for first, second in (
        ("stations", "table"),
        ("station_mass", "mass_per_length"),
        ("K", "frequencies"),
        ("D", "damping_ratios"),
    ):
        given = [key for key in (first, second) if getattr(file, key) is not None]
        if len(given) == 2:
            yield (second,), f"give {first} or {second}, not both"
        elif not given and first in ("stations", "K"):
            yield (first,), f"is required, or {second} instead"
    names = file.mode_names
    for i, mode in enumerate(file.modes):
        if names[i] in names[:i]:
            yield ("modes", i, "name"), f"the name '{names[i]}' is taken: names must differ"
        given = [key for key in ("displacement", "rotation") if getattr(mode, key) is not None]
        if file.table is None and not given:
            yield ("modes", i, "displacement"), "is required, or rotation if nothing is displaced"
        elif file.table is not None and given:
            yield ("modes", i, given[0]), "is in the station table: leave it out here"
    if file.table is not None:
        for key in ("station_mass", "mass_per_length", "inertia"):
            if isinstance(getattr(file, key), tuple):
                yield (key,), f"put it into the station table, {file.table}"


def _with_table(file: ModalFile, columns: Mapping[str, Array]) -> ModalFile:
    """Fill in what a station table holds."""
    rows = len(columns["x"])

    def triples(names: tuple[str, ...]) -> tuple[tuple[float, ...], ...]:
        parts = [columns.get(name, np.zeros(rows)).tolist() for name in names]
        return tuple(zip(*parts, strict=True))

    update: dict[str, Any] = {"stations": triples(COORDINATES)}
    for key in ("station_mass", "mass_per_length"):
        if key in columns:
            update[key] = tuple(columns[key].tolist())
    if any(name in columns for name in INERTIA):
        update["inertia"] = triples(INERTIA)
    update["modes"] = tuple(
        Mode(
            name=name,
            displacement=triples(tuple(f"{name}.{part}" for part in DISPLACEMENT)),
            rotation=triples(tuple(f"{name}.{part}" for part in ROTATION)),
        )
        for name in file.mode_names
    )
    return file.model_copy(update=update)


def _count_problems(file: ModalFile) -> Iterator[tuple[text.Path, str]]:
    """Say where a list has not one item per station, or per mode."""
    assert file.stations is not None
    n, m = len(file.stations), len(file.modes)
    if not 2 <= n <= MAX_STATIONS:
        yield ("stations",), f"must be 2 to {MAX_STATIONS} stations, got {n}"
    for key in ("station_mass", "mass_per_length", "inertia"):
        given = getattr(file, key)
        one_for_all = key == "inertia" and given and isinstance(given[0], float)
        if isinstance(given, tuple) and not one_for_all and len(given) != n:
            yield (key,), f"must have one item per station, {n}, got {len(given)}"
    if file.station_mass is not None and sum(file.station_mass) == 0:
        yield ("station_mass",), "must not be 0 at every station"
    if file.inertia is not None and file.station_mass is None and file.mass_per_length is None:
        yield ("inertia",), "needs station_mass (of the stations) or mass_per_length (per length)"
    for i, mode in enumerate(file.modes):
        for key in ("displacement", "rotation"):
            rows = getattr(mode, key)
            if rows is not None and len(rows) != n:
                yield ("modes", i, key), f"must have one row per station, {n}, got {len(rows)}"
    for key in ("frequencies", "damping_ratios"):
        values = getattr(file, key)
        if values is not None and len(values) != m:
            yield (key,), f"must have one item per mode, {m}, got {len(values)}"
    for key in ("M", "K", "D"):
        rows = getattr(file, key)
        if rows is not None and len(rows) != m:
            yield (key,), f"must have one row per mode, {m}, got {len(rows)}"
        for i, row in enumerate(rows or ()):
            if isinstance(row, tuple) and len(row) != m:
                yield (key, i), f"must have one entry per mode, {m}, got {len(row)}"
