"""Split of a stream into a part computed once from constant inputs and a part for every call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.stream import Load, Operation, Port, Store, Stream, renumbered

CONSTANTS = "constants"


def split(stream: Stream, numbers: str) -> tuple[Stream, Stream]:
    """Return two streams: operations that depend on the last input alone, and all others.

    Parameters
    ----------
    stream
        The whole function.
    numbers
        Name of the last input, which has the same values in all calls.

    Returns
    -------
    prologue, body
        The prologue takes the last input and returns ``constants``, shape (n,), which replace the
        last input in the body.
    """
    *inputs, last = stream.inputs
    assert last.name == numbers
    port = len(inputs)
    late = _late(stream, port)
    first = stream.first_operation
    uses = {store.value for store in stream.stores}
    uses |= _operands(operation for k, operation in enumerate(stream.operations, first) if late[k])
    crossing = sorted(value for value in uses if value >= stream.first_load and not late[value])
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
    """Return the stream with inputs of known values, by index, replaced by constants.

    Equal numbers become one constant.
    """
    given = [
        float(known[load.port].flat[load.element]) if load.port in known else None
        for load in stream.loads
    ]
    places: dict[str, int] = {}  # by hexadecimal text, since 0 and -0 differ
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
    number.append(-1)  # for a missing operand
    return replace(
        stream,
        constants=tuple(constants),
        loads=tuple(loads),
        operations=renumbered(stream.operations, number),
        stores=tuple(store._replace(value=number[store.value]) for store in stream.stores),
    )


def _late(stream: Stream, port: int) -> list[bool]:
    """Return one bool per value: whether the value depends on an input other than ``port``."""
    late = [False] * stream.first_load + [load.port != port for load in stream.loads]
    for _, a, b in stream.operations:
        late.append(late[a] or (b >= 0 and late[b]))
    return late


def _operands(operations: Iterable[Operation]) -> set[int]:
    """Return the numbers of all values that operations use."""
    return {value for _, *two in operations for value in two if value >= 0}


def _part(
    stream: Stream,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    loads: dict[int, Load],
    operations: Sequence[int],
    stores: Iterable[Store],
    more: Sequence[float] = (),
) -> Stream:
    """Return a stream of some operations of another; constants ``more`` are stored first."""
    chosen = [stream.operations[k - stream.first_operation] for k in operations]
    stores = list(stores)
    used = _operands(chosen) | {store.value for store in stores}
    constants = [value for value in range(stream.first_load) if value in used]
    kept = [value for value in loads if value in used]
    number = [-1] * (stream.first_operation + len(stream.operations) + 1)
    for new, old in enumerate([*constants, *kept, *operations], len(more)):
        number[old] = new
    return Stream(
        stream.name,
        inputs,
        outputs,
        (*more, *(stream.constants[value] for value in constants)),
        tuple(loads[value] for value in kept),
        renumbered(chosen, number),
        (
            *(Store(0, k, k) for k in range(len(more))),
            *(Store(port, element, number[value]) for port, element, value in stores),
        ),
    )
