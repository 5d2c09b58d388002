"""How a stream is split into functions, and where values wait that one leaves for another."""

from collections.abc import Iterator
from dataclasses import dataclass

from flexarm.engine.stream import Store, Stream

CHUNK = 500
# Of equal outputs side by side; a longer row of them is filled by a loop.
LONGEST_WRITTEN_OUT = 8


def plan(stream: Stream, *, chunk: int = CHUNK) -> "Plan":
    """Split a stream into pieces that become one function each.

    Parameters
    ----------
    stream
        The operations, which are split in the order that they have.
    chunk
        Number of operations in a piece. Compile time is linear in the number of operations as
        long as the pieces are small; below about 300 the traffic between them costs time.

    Returns
    -------
    Plan
        The pieces, and a place in the work array for each value that a later piece uses. A place
        is used again once the last piece that needs its value has run.
    """
    first, end = stream.first_operation, stream.first_operation + len(stream.operations)
    last_piece: dict[int, int] = {}
    for k, operation in enumerate(stream.operations):
        for value in operation.operands:
            if value >= first and (value - first) // chunk != k // chunk:
                last_piece[value] = k // chunk
    pieces = tuple(range(start, min(start + chunk, end)) for start in range(first, end, chunk))
    places: dict[int, int] = {}
    free: list[int] = []
    released: list[list[int]] = [[] for _ in pieces]
    work_size = 0
    for number, piece in enumerate(pieces):
        for value in piece:
            if value in last_piece:
                if not free:
                    free.append(work_size)
                    work_size += 1
                places[value] = free.pop()
                released[last_piece[value]].append(places[value])
        free += released[number]
    return Plan(pieces, places, work_size)


def stores_by_value(stream: Stream) -> dict[int, list[Store]]:
    """Collect, for each value that is put into outputs, where it goes."""
    stores: dict[int, list[Store]] = {}
    for store in stream.stores:
        stores.setdefault(store.value, []).append(store)
    return stores


def runs_of_leaves(stream: Stream) -> Iterator[list[Store]]:
    """Group the stores of constants and inputs: each run puts one value side by side."""
    run: list[Store] = []
    for store in sorted(store for store in stream.stores if store.value < stream.first_operation):
        if run and store != run[-1]._replace(element=run[-1].element + 1):
            yield run
            run = []
        run.append(store)
    if run:
        yield run


@dataclass(frozen=True)
class Plan:
    """Pieces of a stream as ranges of value numbers; places of values in the work array."""

    pieces: tuple[range, ...]
    places: dict[int, int]
    work_size: int
