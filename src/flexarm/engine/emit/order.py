"""Ordering of a stream's operations so that few values are live at any time."""

from dataclasses import replace
from heapq import heapify, heappop, heappush

from flexarm.engine.stream import ADDITIONS, Operation, Store, Stream

TURNS = {"sin", "cos"}


def by_liveness(stream: Stream) -> Stream:
    """Return the stream with its operations ordered so that few values are live at a time.

    Parameters
    ----------
    stream
        The operations, in any order in which operands precede their uses.

    Returns
    -------
    Stream
        The same operations. A product used by a single sum comes directly before the sum, so that
        both become one instruction; sine and cosine of an angle are adjacent too.

    Notes
    -----
    Values that do not fit the registers are stored and loaded again, and fetching these
    instructions limits the speed of large arms. A greedy pass from the results to the inputs next
    selects the operation that adds the fewest live values.
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
    """Return whether operations k - 1 and k are compiled to one instruction or one call."""
    first, second = stream.operations[k - 1 : k + 1]
    if first.op == "mul":
        return second.op in ADDITIONS and stream.first_operation + k - 1 in second.operands
    return {first.op, second.op} == TURNS and first.a == second.a


def _partners(stream: Stream) -> dict[int, int]:
    """Return j by k, for operations k whose operation j must come directly before."""
    first = stream.first_operation
    uses = [0] * (first + len(stream.operations) + 1)  # the last for a missing operand
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
    """Return an order, built from the last operation back, with few new live values per step."""
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
