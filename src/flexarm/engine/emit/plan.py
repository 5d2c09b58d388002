"""Division of a stream into functions, with a work array for values used across functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from flexarm.engine.constants import PIECE_OPERATIONS
from flexarm.engine.emit.order import belong_together, by_liveness
from flexarm.engine.stream import Store, Stream


def plan(stream: Stream, *, chunk: int = PIECE_OPERATIONS, ordered: bool = True) -> "CodeLayout":
    """Return the division of a stream of operations into pieces, each compiled as one function.

    Parameters
    ----------
    stream
        The operations.
    chunk
        Largest number of operations in a piece.  Compile time is linear in the number of operations
        as long as the pieces are small; below about 300 loads and stores between pieces cost time.
    ordered
        Whether to reorder the operations by `by_liveness` first.

    Returns
    -------
    CodeLayout
        The pieces, and an index in the work array for each value that a later piece uses.  An index
        is reused after the last piece that needs the value, the lowest free index first.
    """
    stream = by_liveness(stream) if ordered else stream
    edges = _cuts_between_pairs(stream, chunk)
    first = stream.first_operation
    pieces = tuple(range(first + a, first + b) for a, b in pairwise(edges))
    piece_of = np.repeat(np.arange(len(pieces)), np.diff(edges)).tolist()
    last_piece: dict[int, int] = {}
    for piece_number, (_, a, b) in zip(piece_of, stream.operations, strict=True):
        if a >= first and piece_of[a - first] != piece_number:
            last_piece[a] = piece_number
        if b >= first and piece_of[b - first] != piece_number:
            last_piece[b] = piece_number
    places: dict[int, int] = {}
    free_indices: list[int] = []
    released: list[list[int]] = [[] for _ in pieces]
    work_size = 0
    for number, piece in enumerate(pieces):
        for value in piece:
            if value in last_piece:
                if free_indices:
                    places[value] = heappop(free_indices)
                else:
                    places[value], work_size = work_size, work_size + 1
                released[last_piece[value]].append(places[value])
        for index in released[number]:
            heappush(free_indices, index)
    stores: dict[int, list[Store]] = {}
    for store in stream.stores:
        stores.setdefault(store.value, []).append(store)
    return CodeLayout(stream, pieces, places, work_size, stores)


def _cuts_between_pairs(stream: Stream, chunk: int) -> list[int]:
    """Return the boundaries of equal pieces, shifted by one where they would separate a pair.

    On x86-64, sums of products are therefore rounded in the same way for all lengths of pieces.
    """
    length = len(stream.operations)
    edges = [0]
    while edges[-1] < length:
        end = min(edges[-1] + chunk, length)
        edges.append(end - (end < length and chunk > 1 and belong_together(stream, end)))
    return edges


def runs_of_leaves(stream: Stream) -> Iterator[list[Store]]:
    """Yield consecutive outputs that store the same constant or input, as one group each."""
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
    """Division of a stream into functions: ranges of value numbers, and work array indices.

    `stream` has its operations in the order of the pieces; `stores` lists, by number of a value,
    the output elements to which the value is assigned.
    """

    stream: Stream
    pieces: tuple[range, ...]
    places: dict[int, int]
    work_size: int
    stores: dict[int, list[Store]]
