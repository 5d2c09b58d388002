"""How a stream is split into functions, and where values wait that one leaves for another."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from flexarm.engine.emit.order import belong_together, by_liveness
from flexarm.engine.emit.repeats import cuts
from flexarm.engine.stream import Store, Stream

CHUNK = 500
# A stream of up to so many operations is not searched for pieces that are alike.
WRITTEN_OUT = 8000
# Of equal outputs side by side; a longer row of them is filled by a loop.
LONGEST_WRITTEN_OUT = 8


def plan(
    stream: Stream, *, chunk: int = CHUNK, unlike: int | None = None, ordered: bool = True
) -> "CodeLayout":
    """Split a stream into pieces that become one function each.

    stream: the operations.
    chunk: largest number of operations in a piece. Compile time is linear in the number of
        operations as long as the pieces are small; below about 300 the traffic between them costs
        time.
    unlike: the same for a stream that does not repeat itself; `chunk` by default.
    ordered: put a stream that does not repeat itself into the order of `by_liveness`.
    Gives the pieces, and a place in the work array for each value that a later piece uses. A place
        is used again once the last piece that needs its value has run, the first free one, but not
        among pieces that are alike: there, places are at the same distances from each other in
        every one.
    """
    length = len(stream.operations)
    edges = cuts(stream, chunk=chunk) if length > WRITTEN_OUT else []
    repeats = bool(edges)
    if not repeats:
        stream = by_liveness(stream) if ordered else stream
        edges = _cuts_between_pairs(stream, min(unlike or chunk, chunk))
    first = stream.first_operation
    pieces = tuple(range(first + a, first + b) for a, b in pairwise(edges))
    piece_of = np.repeat(np.arange(len(pieces)), np.diff(edges)).tolist()
    last_piece: dict[int, int] = {}
    for here, (_, a, b) in zip(piece_of, stream.operations, strict=True):
        if a >= first and piece_of[a - first] != here:
            last_piece[a] = here
        if b >= first and piece_of[b - first] != here:
            last_piece[b] = here
    stores = _stores_by_value(stream)
    alike: tuple[tuple[int, ...], ...] = tuple((number,) for number in range(len(pieces)))
    if repeats:
        alike = _alike(stream, pieces, last_piece, stores)
    repeated = {number for members in alike if len(members) > 1 for number in members}
    places: dict[int, int] = {}
    free: list[int] = []
    released: list[list[int]] = [[] for _ in pieces]
    work_size = 0
    for number, piece in enumerate(pieces):
        for value in piece:
            if value in last_piece:
                if number in repeated or not free:
                    place, work_size = work_size, work_size + 1
                else:
                    place = heappop(free)
                places[value] = place
                if number not in repeated:
                    released[last_piece[value]].append(place)
        for place in released[number]:
            heappush(free, place)
    return CodeLayout(stream, pieces, places, work_size, alike, stores)


def _cuts_between_pairs(stream: Stream, chunk: int) -> list[int]:
    """Cut into equal pieces, one shorter where it would part what belongs together.

    For x86-64, sums of products are so rounded in the same way whatever the length of the pieces.
    """
    length = len(stream.operations)
    edges = [0]
    while edges[-1] < length:
        end = min(edges[-1] + chunk, length)
        edges.append(end - (end < length and chunk > 1 and belong_together(stream, end)))
    return edges


def _alike(
    stream: Stream,
    pieces: tuple[range, ...],
    last_piece: dict[int, int],
    stores: dict[int, list[Store]],
) -> tuple[tuple[int, ...], ...]:
    """Group the pieces whose operations differ in nothing but places and constants."""
    groups: dict[object, list[int]] = {}
    for number, values in enumerate(pieces):
        outside: dict[int, int] = {}
        shape: list[object] = []
        for value in values:
            operation = stream.operations[value - stream.first_operation]
            shape.append(operation.op)
            for operand in operation.operands:
                if operand in values:
                    shape.append(operand - values.start)
                else:
                    shape.append(~outside.setdefault(operand, len(outside)))
            shape.append(value in last_piece)
            shape += [store.port for store in stores.get(value, ())]
            shape.append("")
        kinds = tuple(_kind(stream, value) for value in outside)
        groups.setdefault((tuple(shape), kinds), []).append(number)
    return tuple(tuple(members) for members in groups.values())


def _kind(stream: Stream, value: int) -> int:
    """Say where a value comes from: a constant (-1), an operation (-2), or which input."""
    if value < stream.first_load:
        return -1
    if value >= stream.first_operation:
        return -2
    return stream.loads[value - stream.first_load].port


def _stores_by_value(stream: Stream) -> dict[int, list[Store]]:
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
class CodeLayout:
    """Pieces of a stream as ranges of value numbers; places of values in the work array.

    `stream` has the operations in the order that is split.
    `alike` groups the numbers of pieces that one function can do, given places and constants;
    `stores` has, for each value that is put into outputs, where it goes.
    """

    stream: Stream
    pieces: tuple[range, ...]
    places: dict[int, int]
    work_size: int
    alike: tuple[tuple[int, ...], ...]
    stores: dict[int, list[Store]]
