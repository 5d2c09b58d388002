"""Division of a function into a part computed once and a part computed in every call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.stream import Load, Operation, Port, Store, Stream, renumbered

CONSTANTS = "constants"


def split(stream: Stream, numbers: str) -> tuple[Stream, Stream]:
    """Separate the operations that depend on the last input alone from all others.

    Parameters
    ----------
    stream
        Operations of the whole function.
    numbers
        Name of the last input, which has the same value in all calls.

    Returns
    -------
    prologue, body
        Operations of two functions. The prologue has only the last input and returns ``constants``,
        shape (n,). The body has ``constants`` in place of the last input.
    """
    *inputs, last = stream.inputs
    assert last.name == numbers
    port = len(inputs)
    varies = _late(stream, port)
    first = stream.first_operation
    uses = {store.value for store in stream.stores}
    uses |= _operands(
        operation for k, operation in enumerate(stream.operations, first) if varies[k]
    )
    crossing = sorted(value for value in uses if value >= stream.first_load and not varies[value])
    shared = Port(CONSTANTS, max(len(crossing), 1), 1)
    loads = {stream.first_load + k: load for k, load in enumerate(stream.loads)}
    zero = [0.0] if not crossing else []
    prologue = _part(
        stream,
        (last,),
        (shared,),
        {value: Load(0, load.element) for value, load in loads.items() if load.port == port},
        [k for k in range(first, len(varies)) if not varies[k]],
        [Store(0, k, value) for k, value in enumerate(crossing)],
        zero,
    )
    body = _part(
        stream,
        (*inputs, shared),
        stream.outputs,
        {value: load for value, load in loads.items() if load.port != port}
        | {value: Load(port, k) for k, value in enumerate(crossing)},
        [k for k in range(first, len(varies)) if varies[k]],
        stream.stores,
    )
    return prologue, body


def settled(stream: Stream, values_by_input: Mapping[int, NDArray[np.float64]]) -> Stream:
    """Return a stream in which inputs of known value are replaced by constants.

    Inputs of equal value become one constant.
    """
    values = [
        float(values_by_input[load.port].flat[load.element])
        if load.port in values_by_input
        else None
        for load in stream.loads
    ]
    index_of: dict[str, int] = {}  # by hexadecimal text, since 0 and -0 differ
    for value in [*stream.constants, *(text for text in values if text is not None)]:
        index_of.setdefault(value.hex(), len(index_of))
    constants, first = [float.fromhex(text) for text in index_of], len(index_of)
    number = [index_of[value.hex()] for value in stream.constants]
    loads: list[Load] = []
    for load, constant in zip(stream.loads, values, strict=True):
        if constant is None:
            number.append(first + len(loads))
            loads.append(load)
        else:
            number.append(index_of[constant.hex()])
    number += range(first + len(loads), first + len(loads) + len(stream.operations))
    number.append(-1)  # entry for a missing operand
    return replace(
        stream,
        constants=tuple(constants),
        loads=tuple(loads),
        operations=renumbered(stream.operations, number),
        stores=tuple(store._replace(value=number[store.value]) for store in stream.stores),
    )


def _late(stream: Stream, port: int) -> list[bool]:
    """Return, for each value, whether it depends on another input than ``port``."""
    varies = [False] * stream.first_load + [load.port != port for load in stream.loads]
    for _, a, b in stream.operations:
        varies.append(varies[a] or (b >= 0 and varies[b]))
    return varies


def _operands(operations: Iterable[Operation]) -> set[int]:
    """Return the indices of all values that the operations use."""
    return {value for _, *operands in operations for value in operands if value >= 0}


def _part(
    stream: Stream,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    loads: dict[int, Load],
    operations: Sequence[int],
    stores: Iterable[Store],
    extra_constants: Sequence[float] = (),
) -> Stream:
    """Return a stream of selected operations, which first stores ``extra_constants``."""
    operations_ = [stream.operations[k - stream.first_operation] for k in operations]
    stores = list(stores)
    used_values = _operands(operations_) | {store.value for store in stores}
    constants = [value for value in range(stream.first_load) if value in used_values]
    used_loads = [value for value in loads if value in used_values]
    number = [-1] * (stream.first_operation + len(stream.operations) + 1)
    for new_number, old_number in enumerate(
        [*constants, *used_loads, *operations], len(extra_constants)
    ):
        number[old_number] = new_number
    return Stream(
        stream.name,
        inputs,
        outputs,
        (*extra_constants, *(stream.constants[value] for value in constants)),
        tuple(loads[value] for value in used_loads),
        renumbered(operations_, number),
        (
            *(Store(0, k, k) for k in range(len(extra_constants))),
            *(Store(port, element, number[value]) for port, element, value in stores),
        ),
    )
