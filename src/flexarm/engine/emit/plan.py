"""Order of the operations of a function, and their division into internal functions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from flexarm.engine.constants import PIECE_OPERATIONS
from flexarm.engine.stream import ADDITIONS, Operation, Store, Stream

TURNS = {"sin", "cos"}


def by_liveness(stream: Stream) -> Stream:
    """Return the stream with its operations ordered so that few values exist at a time.

    Parameters
    ----------
    stream
        Operations of a function, in any order in which values are computed before they are used.

    Returns
    -------
    Stream
        The same operations in another order. A product used by a single sum comes directly before
        the sum, so that both become one instruction; sine and cosine of an angle are adjacent too.

    Notes
    -----
    Values that do not fit into registers are stored and loaded again, which limits the speed of the
    code of large arms. The order is built from the results back to the inputs: at each step, the
    operation is chosen that needs the fewest additional values.
    """
    first = stream.first_operation
    partner = _partners(stream)
    nodes = sorted(set(range(len(stream.operations))) - set(partner.values()))
    node_of = {k: node for node, k in enumerate(nodes)}
    node_of |= {inner: node_of[k] for k, inner in partner.items()}
    operands: list[list[int]] = []
    for k in nodes:
        _, *operand_values = stream.operations[k]
        if k in partner:
            operand_values += stream.operations[partner[k]][1:]
        own_node = node_of[k]
        operand_nodes = {node_of[value - first] for value in operand_values if value >= first}
        operands.append([node for node in operand_nodes if node != own_node])
    order: list[int] = []
    for k in (nodes[node] for node in _from_the_results(operands)):
        order += [partner[k], k] if k in partner else [k]
    new_number = list(range(first)) + [0] * len(order)
    for k, old_index in enumerate(order):
        new_number[first + old_index] = first + k
    operations = (stream.operations[k] for k in order)
    return replace(
        stream,
        operations=tuple(
            [
                Operation(op, new_number[a], new_number[b] if b >= 0 else -1)
                for op, a, b in operations
            ]
        ),
        stores=tuple(
            [Store(port, element, new_number[value]) for port, element, value in stream.stores]
        ),
    )


def belong_together(stream: Stream, k: int) -> bool:
    """Return whether two adjacent operations compile to one instruction or one call."""
    first, second = stream.operations[k - 1 : k + 1]
    if first.op == "mul":
        return second.op in ADDITIONS and stream.first_operation + k - 1 in second.operands
    return {first.op, second.op} == TURNS and first.a == second.a


def _partners(stream: Stream) -> dict[int, int]:
    """Return, by operation index, the index of the operation that must directly precede it."""
    first = stream.first_operation
    uses = [0] * (first + len(stream.operations) + 1)  # last entry: missing operand
    for _, a, b in stream.operations:
        uses[a] += 1
        uses[b] += 1
    for store in stream.stores:
        uses[store.value] += 1
    first_turn: dict[int, int] = {}
    partner: dict[int, int] = {}
    for k, (op, a, b) in enumerate(stream.operations):
        if op in ADDITIONS:
            for value in (a, b):
                if (
                    value >= first
                    and uses[value] == 1
                    and stream.operations[value - first].op == "mul"
                ):
                    partner[k] = value - first
                    break
        elif op in TURNS and first_turn.setdefault(a, k) != k:
            partner[k] = first_turn[a]
    return partner


def _from_the_results(operands: list[list[int]]) -> list[int]:
    """Return an order of operations, built from the last one back, with few live values."""
    users: list[list[int]] = [[] for _ in operands]
    size = len(operands)
    for k, operands_of in enumerate(operands):
        for operand in operands_of:
            users[operand].append(k)
    waiting = [len(neighbours) for neighbours in users]
    # Smallest rank first: the number of new live values, then the distance from the end.
    rank = [size * (len(neighbours) + 1) - k for k, neighbours in enumerate(operands)]
    alive = [False] * size
    ready = [rank[k] for k, count in enumerate(waiting) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        first = heappop(ready)
        k = -first % size
        if waiting[k] or first != rank[k]:
            continue
        waiting[k] = -1
        order.append(k)
        for operand in operands[k]:
            waiting[operand] -= 1
            if not alive[operand]:
                alive[operand] = True
                for user in users[operand]:
                    rank[user] -= size
                    if not waiting[user]:
                        heappush(ready, rank[user])
            if not waiting[operand]:
                heappush(ready, rank[operand])
    return order[::-1]


def plan(stream: Stream, *, chunk: int = PIECE_OPERATIONS, ordered: bool = True) -> "CodeLayout":
    """Divide the operations of a stream into pieces, each compiled as one function.

    Parameters
    ----------
    stream
        Operations of the function.
    chunk
        Largest number of operations in a piece. Small pieces keep the compile time linear in the
        number of operations. Pieces of less than about 300 operations are slow, because of loads
        and stores between them.
    ordered
        Whether to reorder the operations by `by_liveness` first.

    Returns
    -------
    CodeLayout
        The pieces, and an index in the work array for each value that a later piece uses. An index
        of the work array is reused after the last piece that needs its value.
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
    """Return boundaries of pieces of equal length, moved by one to keep pairs together.

    Because pairs stay together, sums of products are rounded equally for all lengths of pieces on
    x86-64.
    """
    length = len(stream.operations)
    edges = [0]
    while edges[-1] < length:
        end = min(edges[-1] + chunk, length)
        edges.append(end - (end < length and chunk > 1 and belong_together(stream, end)))
    return edges


def runs_of_leaves(stream: Stream) -> Iterator[list[Store]]:
    """Yield groups of consecutive outputs to which the same constant or input is copied."""
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
    """Division of a function's operations into pieces, and the layout of its work array.

    The field `stream` contains the operations in the order of the pieces, and `stores` the output
    elements to which each value is assigned, by number of the value.
    """

    stream: Stream
    pieces: tuple[range, ...]
    places: dict[int, int]
    work_size: int
    stores: dict[int, list[Store]]
