"""Traced functions evaluated by CasADi, where compilation would cost more than it saves.

An evaluation takes about seven times as long as machine code.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import casadi as ca

from flexarm.engine.compile import Compiled
from flexarm.engine.stream import Port


class Interpreted(Compiled):
    """A traced function evaluated by CasADi that compiled loops call like machine code."""

    def __init__(self, function: ca.Function) -> None:
        self.inputs = tuple(
            Port(function.name_in(i), *function.size_in(i)) for i in range(function.n_in())
        )
        self.outputs = tuple(
            Port(function.name_out(i), *function.size_out(i)) for i in range(function.n_out())
        )
        self.constants, self.width, self.work_size = (), 1, 0
        # Machine code shares a few more subexpressions.
        self.operations = function.n_instructions() - function.nnz_in() - function.nnz_out()
        # CasADi stores matrices column by column.
        arguments = [ca.SX.sym(port.name, port.columns, port.rows) for port in self.inputs]
        results = function.call([matrix.T for matrix in arguments], True, False)
        self._function = ca.Function(
            "turned", arguments, [ca.densify(matrix.T) for matrix in results]
        )
        self._bound: dict[tuple[int, ...], tuple[Callable[[], None], Any]] = {}
        self._called = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._evaluate)
        self.address = 0
        self.table_address = ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def _evaluate(self, table: int) -> None:
        count = len(self.inputs) + len(self.outputs)
        pointers = tuple((ctypes.c_int64 * count).from_address(table))
        if pointers not in self._bound:
            self._bound[pointers] = self._bind(pointers)
        self._bound[pointers][0]()

    def _bind(self, pointers: tuple[int, ...]) -> tuple[Callable[[], None], Any]:
        """Return a function of arrays at given addresses, and the objects to keep alive."""
        buffer: Any  # CasADi's types ask for sizes too, which memory views have
        buffer, evaluate = self._function.buffer()
        ports = (*self.inputs, *self.outputs)
        arrays = [
            memoryview((ctypes.c_double * port.size).from_address(pointer))
            for port, pointer in zip(ports, pointers, strict=True)
        ]
        for k, array in enumerate(arrays):
            if k < len(self.inputs):
                buffer.set_arg(k, array)
            else:
                buffer.set_res(k - len(self.inputs), array)
        return evaluate, (buffer, arrays)
