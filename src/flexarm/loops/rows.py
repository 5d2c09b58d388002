"""Evaluation of compiled equations for every row of arrays, in a compiled loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flexarm.engine.compile import Compiled, real_numbers
from flexarm.loops.kernel import kernel
from flexarm.loops.language import DOUBLE, Array, Ints, Record, run_equations


@dataclass
class _Rows(Record):
    """Compiled equations, pointers to their arrays, and the distance between rows [bytes]."""

    count: int
    pointers: int
    equations: int
    table: Ints
    strides: Ints


@kernel
def _evaluate(r: _Rows) -> None:
    """Evaluate the compiled equations for every row of the arrays."""
    for _ in range(r.count):
        run_equations(r.equations, r.table)
        for k in range(r.pointers):
            r.table[k] += r.strides[k]


def call_rows(compiled: Compiled, count: int, arrays: Sequence[ArrayLike]) -> tuple[Array, ...]:
    """Return the outputs of compiled equations, evaluated at several rows of inputs.

    Parameters
    ----------
    compiled
        Compiled equations of one SIMD lane.
    count
        Number of rows.
    arrays
        Inputs of the equations. An input that is equal for all rows has the shape that the
        equations declare; any other input has an additional first axis of length ``count``.

    Returns
    -------
    tuple of ndarray
        Outputs of the equations, with an additional first axis of length ``count``.
    """
    outputs, run = bind_rows(compiled, count, arrays)
    run(count)
    return outputs


def bind_rows(
    compiled: Compiled, count: int, arrays: Sequence[ArrayLike]
) -> tuple[tuple[Array, ...], Callable[[int], None]]:
    """Return the output arrays of `call_rows`, and a function that recomputes first rows.

    The argument of the returned function is the number of rows to recompute. Input arrays of floats
    with contiguous rows are not copied, so that every call reads their present elements.
    """
    bound_arrays: list[Array] = []
    strides = []
    for port, values in zip(compiled.inputs, (*arrays, *compiled.constants), strict=True):
        has_rows = np.ndim(values) > len(port.shape)
        shape = (count, *port.shape) if has_rows else port.shape
        numbers = real_numbers(port.name, values, shape)
        if numbers.ndim != 2 or numbers.strides[1] != DOUBLE.itemsize:
            numbers = np.ascontiguousarray(numbers)
        bound_arrays.append(numbers)
        strides.append(numbers.strides[0] if has_rows else 0)
    outputs = [np.empty((count, *compiled.output_shape(port))) for port in compiled.outputs]
    strides += [DOUBLE.itemsize * port.size for port in compiled.outputs]
    bound_arrays += [*outputs, np.empty(compiled.work_size + 1)]
    table = np.array([array.ctypes.data for array in bound_arrays], dtype=np.int64)
    all_strides = np.array([*strides, 0], dtype=np.int64)
    record = _Rows(count, len(bound_arrays), compiled.table_address, table.copy(), all_strides)

    def run(rows: int) -> None:
        record.count, record.table[:] = rows, table
        _evaluate(record)
        assert bound_arrays  # keeps arrays alive while the table has their addresses

    return tuple(outputs), run
