"""Split a stream into what depends on numbers alone, computed once, and what follows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.stream import Load, Operation, Port, Store, Stream

CONSTANTS = "constants"


def split(stream: Stream, numbers: str) -> tuple[Stream, Stream]:
    """Separate the operations of a stream that depend on its last input alone.

    Parameters
    ----------
    stream
        The whole function.
    numbers
        Name of that input, which stays what it is from call to call.

    Returns
    -------
    prologue, body
        The prologue takes the numbers and gives ``constants``, (n,); in the body they are the last
        input instead.
    """
    *inputs, last = stream.inputs
    assert last.name == numbers
    port = len(inputs)
    late = _late(stream, port)
    first = stream.first_operation
    uses = [
        value
        for k, operation in enumerate(stream.operations, first)
        if late[k]
        for value in operation.operands
    ]
    uses += [store.value for store in stream.stores]
    crossing = sorted({value for value in uses if value >= stream.first_load and not late[value]})
    shared = Port(CONSTANTS, max(len(crossing), 1), 1)
    loads = {stream.first_load + k: load for k, load in enumerate(stream.loads)}
    zero = [0.0] if not crossing else []
    prologue = _part(
        stream,
        (last,),
        (shared,),
        {value: Load(0, load.element) for value, load in loads.items() if load.port == port},
        [k for k in range(first, len(late)) if not late[k]],
        [Store(0, k, value) for k, value in enumerate(crossing)],
        zero,
    )
    body = _part(
        stream,
        (*inputs, shared),
        stream.outputs,
        {value: load for value, load in loads.items() if load.port != port}
        | {value: Load(port, k) for k, value in enumerate(crossing)},
        [k for k in range(first, len(late)) if late[k]],
        stream.stores,
    )
    return prologue, body


def settled(stream: Stream, known: Mapping[int, NDArray[np.float64]]) -> Stream:
    """Replace inputs by constants, by the number of the input.

    Numbers that are equal become one constant.
    """
    given = [
        float(known[load.port].flat[load.element]) if load.port in known else None
        for load in stream.loads
    ]
    places: dict[str, int] = {}  # by how numbers are written: 0 and -0 are two
    for value in [*stream.constants, *(each for each in given if each is not None)]:
        places.setdefault(value.hex(), len(places))
    constants, first = [float.fromhex(each) for each in places], len(places)
    number = [places[value.hex()] for value in stream.constants]
    loads: list[Load] = []
    for load, known_value in zip(stream.loads, given, strict=True):
        if known_value is None:
            number.append(first + len(loads))
            loads.append(load)
        else:
            number.append(places[known_value.hex()])
    number += range(first + len(loads), first + len(loads) + len(stream.operations))
    number.append(-1)  # for an operand that is not there
    return replace(
        stream,
        constants=tuple(constants),
        loads=tuple(loads),
        operations=tuple(Operation(op, number[a], number[b]) for op, a, b in stream.operations),
        stores=tuple(store._replace(value=number[store.value]) for store in stream.stores),
    )


def _late(stream: Stream, port: int) -> list[bool]:
    """Return which values depend on another input than that."""
    late = [False] * stream.first_load + [load.port != port for load in stream.loads]
    for operation in stream.operations:
        late.append(any(late[value] for value in operation.operands))
    return late


def _part(
    stream: Stream,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    loads: dict[int, Load],
    operations: Sequence[int],
    stores: Iterable[Store],
    more: Sequence[float] = (),
) -> Stream:
    """Build a stream of some operations of another; ``more`` are constants stored first."""
    chosen = [stream.operations[k - stream.first_operation] for k in operations]
    stores = list(stores)
    used = {value for operation in chosen for value in operation.operands}
    used |= {store.value for store in stores}
    constants = [value for value in range(stream.first_load) if value in used]
    kept = [value for value in loads if value in used]
    order = [*constants, *kept, *operations]
    number = {old: len(more) + new for new, old in enumerate(order)}
    return Stream(
        stream.name,
        inputs,
        outputs,
        (*more, *(stream.constants[value] for value in constants)),
        tuple(loads[value] for value in kept),
        tuple(Operation(op, number[a], number[b] if b >= 0 else -1) for op, a, b in chosen),
        (
            *(Store(0, k, k) for k in range(len(more))),
            *(Store(port, element, number[value]) for port, element, value in stores),
        ),
    )
