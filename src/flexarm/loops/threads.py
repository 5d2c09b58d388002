"""Numbers and arrays of a kernel's record, and their storage for the threads of a GPU."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from flexarm.loops.language import Array, Ints, Record


class TableEntries(NamedTuple):
    """Entries of a table of pointers: its inputs, its changing inputs, and its last index."""

    inputs: int
    changing: frozenset[int]
    last: int


class ThreadRecord:
    """The record of one simulation run, with all arrays and records inside it.

    Parameters
    ----------
    record
        Record of the simulation run.
    others
        Arrays that are not fields of the record, but to which the record's tables of pointers
        refer.
    """

    def __init__(self, record: Record, others: Sequence[Array | Ints]) -> None:
        self.records = list(_records(record))
        arrays = [*others]
        for inner in self.records:
            arrays += [getattr(inner, name) for _, name in inner.layout().arrays]
        self.by_address = {array.ctypes.data: array for array in arrays}

    def array(self, path: "RecordPath") -> Array | Ints:
        """Return the array at a path (record, field, table entry)."""
        array = getattr(self.records[path.record], path.name)
        return array if path.entry < 0 else self.by_address[int(array[path.entry])]

    def value(self, path: "RecordPath") -> Any:
        """Return the number at a path (record, field)."""
        return getattr(self.records[path.record], path.name)


def _records(record: Record) -> Iterator[Record]:
    yield record
    for _, name in record.layout().records:
        yield from _records(getattr(record, name))


@dataclass(frozen=True)
class RecordPath:
    """Path to a number or an array: index of the record, field name, table entry or -1."""

    record: int
    name: str
    entry: int = -1


@dataclass(frozen=True)
class SharedValue:
    """A number or an array of the record of every GPU thread, and where it is stored."""

    paths: tuple[RecordPath, ...]  # all locations in the records
    size: int  # number of elements; 0 for a number of the record itself
    real: bool  # whether the elements are floats, not ints
    # Kind of storage: ``constant``; ``given``, read from the image; ``kept``, read from the image
    # and written back; ``scratch``, not in the image; ``outside``, accessed in place.
    storage: str
    place: int = -1  # offset in the image

    @property
    def stored(self) -> bool:
        """Whether the value is stored in GPU memory between launches of the program."""
        return self.storage in ("given", "kept")

    @property
    def count(self) -> int:
        """Number of elements of the value in GPU memory; 0 if it is not stored there."""
        return max(self.size, 1)


def storage_of(
    threads: Sequence[ThreadRecord],
    written: frozenset[str],
    bound: Collection[str],
    tables: Mapping[str, TableEntries],
    outside: Sequence[str],
) -> list[SharedValue]:
    """Return the numbers and arrays of the threads' records, and where each is stored."""
    parts: list[SharedValue] = []
    arrays: dict[int, list[RecordPath]] = {}
    for r, record in enumerate(threads[0].records):
        layout = record.layout()
        for _, name in layout.numbers:
            values = {thread.value(RecordPath(r, name)) for thread in threads}
            equal = len(values) == 1 or name in bound
            storage = "kept" if name in written else "constant" if equal else "given"
            parts.append(
                SharedValue((RecordPath(r, name),), 0, layout.types[name] is float, storage)
            )
        for _, name in layout.arrays:
            for path in paths_to(record, r, name, tables):
                arrays.setdefault(threads[0].array(path).ctypes.data, []).append(path)
    for paths in arrays.values():
        arrays_of_threads = [thread.array(paths[0]) for thread in threads]
        size = max(array.size for array in arrays_of_threads)
        storage = (
            "scratch" if size == 0 else _storage(paths, arrays_of_threads, written, tables, outside)
        )
        parts.append(
            SharedValue(
                tuple(paths), max(size, 1), arrays_of_threads[0].dtype == np.float64, storage
            )
        )
    return _with_offsets(parts)


def paths_to(
    record: Record, r: int, name: str, tables: Mapping[str, TableEntries]
) -> list[RecordPath]:
    """Return the paths to an array, or to all arrays of a table of pointers."""
    array = getattr(record, name)
    if name not in tables or not array[0]:  # without equations the table has null pointers
        return [RecordPath(r, name)]
    return [RecordPath(r, name, k) for k in range(len(array))]


def _storage(
    paths: Sequence[RecordPath],
    arrays: Sequence[Array | Ints],
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
        return "scratch"  # a work array, or a result that no kernel reads
    if results or any(path.name in written and path.entry < 0 for path in paths):
        return "kept"
    if any(path.entry >= 0 and path.entry in tables[path.name].changing for path in paths):
        return "given"
    return "constant" if all(np.array_equal(arrays[0], array) for array in arrays[1:]) else "given"


def _with_offsets(parts: Sequence[SharedValue]) -> list[SharedValue]:
    """Assign an offset in GPU memory to each stored value; return all values."""
    placed, place = [], 0
    for part in parts:
        placed.append(replace(part, place=place) if part.stored else part)
        place += part.count if part.stored else 0
    return placed
