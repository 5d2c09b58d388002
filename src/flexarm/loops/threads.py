"""Numbers and arrays of a kernel's record, and where the threads of a GPU keep them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from flexarm.loops.language import Array, Ints, Record


class TableEntries(NamedTuple):
    """Of a table: number of the inputs, which of them change between launches, the last entry."""

    inputs: int
    changing: frozenset[int]
    last: int


class ThreadRecord:
    """A run's record with all that it points to.

    Parameters
    ----------
    record
        The record.
    others
        Arrays that its tables point to, beside those of the record.
    """

    def __init__(self, record: Record, others: Sequence[Array | Ints]) -> None:
        self.records = list(_records(record))
        listed = [*others]
        for each in self.records:
            listed += [getattr(each, name) for _, name in each.layout().arrays]
        self._by_address = {array.ctypes.data: array for array in listed}

    def array(self, path: "RecordPath") -> Array | Ints:
        """Find an array."""
        found = getattr(self.records[path.record], path.name)
        return found if path.entry < 0 else self._by_address[int(found[path.entry])]

    def value(self, path: "RecordPath") -> Any:
        """Return a number of the record."""
        return getattr(self.records[path.record], path.name)


def _records(record: Record) -> Iterator[Record]:
    yield record
    for _, name in record.layout().records:
        yield from _records(getattr(record, name))


@dataclass(frozen=True)
class RecordPath:
    """Location of a number or an array: number of the record, field, entry of a table or -1."""

    record: int
    name: str
    entry: int = -1


@dataclass(frozen=True)
class SharedValue:
    """A number or an array that every thread has."""

    paths: tuple[RecordPath, ...]  # where it is found
    size: int  # elements; 0 for a number of the record itself
    real: bool  # whether it is of floats
    # ``constant``; ``given``, read from the image; ``kept``, written to it too; ``scratch``,
    # neither; ``outside``, left where it is, one after the other.
    fate: str
    place: int = -1  # in the image

    @property
    def stored(self) -> bool:
        """Whether it is in the image."""
        return self.fate in ("given", "kept")

    @property
    def count(self) -> int:
        """Numbers that it has in the image."""
        return max(self.size, 1)


def parts_of(
    threads: Sequence[ThreadRecord],
    written: frozenset[str],
    bound: Collection[str],
    tables: Mapping[str, TableEntries],
    outside: Sequence[str],
) -> list[SharedValue]:
    """List what threads have, and what becomes of it."""
    parts: list[SharedValue] = []
    arrays: dict[int, list[RecordPath]] = {}
    for r, record in enumerate(threads[0].records):
        layout = record.layout()
        for _, name in layout.numbers:
            values = {thread.value(RecordPath(r, name)) for thread in threads}
            alike = len(values) == 1 or name in bound
            fate = "kept" if name in written else "constant" if alike else "given"
            parts.append(SharedValue((RecordPath(r, name),), 0, layout.types[name] is float, fate))
        for _, name in layout.arrays:
            for path in paths_to(record, r, name, tables):
                arrays.setdefault(threads[0].array(path).ctypes.data, []).append(path)
    for paths in arrays.values():
        found = [thread.array(paths[0]) for thread in threads]
        size = max(array.size for array in found)
        fate = "scratch" if size == 0 else _fate(paths, found, written, tables, outside)
        parts.append(SharedValue(tuple(paths), max(size, 1), found[0].dtype == np.float64, fate))
    return _placed(parts)


def paths_to(
    record: Record, r: int, name: str, tables: Mapping[str, TableEntries]
) -> list[RecordPath]:
    """List the paths to an array, or to those that a table points to."""
    array = getattr(record, name)
    if name not in tables or not array[0]:  # no equations: its pointers are 0
        return [RecordPath(r, name)]
    return [RecordPath(r, name, k) for k in range(len(array))]


def _fate(
    paths: Sequence[RecordPath],
    found: Sequence[Array | Ints],
    written: frozenset[str],
    tables: Mapping[str, TableEntries],
    outside: Sequence[str],
) -> str:
    if any(path.name in outside for path in paths):
        return "outside"
    results = [
        path for path in paths if path.name in tables and path.entry >= tables[path.name].inputs
    ]
    if results and all(path.entry >= 0 for path in paths):
        return "scratch"  # the work array, or a result that no kernel reads
    if results or any(path.name in written and path.entry < 0 for path in paths):
        return "kept"
    if any(path.entry >= 0 and path.entry in tables[path.name].changing for path in paths):
        return "given"
    return "constant" if all(np.array_equal(found[0], each) for each in found[1:]) else "given"


def _placed(parts: Sequence[SharedValue]) -> list[SharedValue]:
    """Assign places in the image to the values stored there."""
    found, place = [], 0
    for part in parts:
        found.append(replace(part, place=place) if part.stored else part)
        place += part.count if part.stored else 0
    return found
