"""Loops in machine code: functions of a small typed part of Python, compiled with LLVM.

A kernel is written as a Python function of numbers, flat arrays and records; it runs as it stands
in Python, and compiled.  It exists beside the traced equations because those have no loops, and
beside Numba because importing that takes longer than most simulations.

A kernel may use: int, float and bool; ``+ - * /``, ``%`` of ints; comparisons, ``and``, ``or``,
``not``, conditional expressions; ``if``, ``while``, ``for ... in range(...)`` with a literal step,
``break``, ``continue``, ``return``; elements ``a[i]`` and views ``a[i:]`` of flat arrays, fields of
records; local arrays, ``name = floats(8)``; ``abs``, ``min``, ``max``, ``float``, ``int`` and the
functions of `math` in ``MATH``; module constants; other kernels; and the two calls by address
below.

A name, a field, a result and both arms of a choice have one type, a name has a value on every way
to where it is read, and a loop counts with a name of its own; what does not hold to this is
refused, with its file and line.  The rest means what it means in Python, but for six things:

- ints have 64 bits and wrap round; where they meet floats they must be below 2**53;
- ``%`` is of ints that are not negative, by positive ones;
- sums of products may be fused, which rounds once where Python rounds twice;
- where Python raises on a number, the kernel goes on: with inf or NaN, as C does; with 0 from
  ``int`` of NaN, and the nearest int there is from ``int`` of a number too large;
- indices are not checked: outside of its array, and below zero, there is something else;
- module constants are those of the time of translation.
"""

import ast
import ctypes
import functools
import inspect
import struct
import textwrap
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, get_type_hints

import numpy as np
import numpy.typing as npt

from flexarm.errors import FlexarmError

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
UNSEEN = {"kernels": False}  # metadata of a record's field that kernels do not see
DOUBLE, INTEGER = np.dtype(np.float64), np.dtype(np.int64)
MATH = ("sqrt", "sin", "cos", "exp", "floor", "pow", "isfinite")


def floats(count: int) -> Array:
    """Return a local array of zeros: of a literal length, and only as ``name = floats(8)``."""
    return np.zeros(count)


def run_equations(address: int, table: Ints) -> None:
    """Call compiled equations by the address of their table entry and a table of pointers."""
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(int(address))(table.ctypes.data)


def run_kernel(address: int, record: "Record") -> int:
    """Call a kernel that takes one record and returns an int, by its address."""
    record.pack()
    code = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(int(address))(record.place)
    record.unpack()
    return int(code)


class Record:
    """Named numbers and arrays that a kernel reads and writes; subclasses are dataclasses.

    Fields are annotated int, float, Array, Ints or another record, but for those whose metadata are
    `UNSEEN`.
    """

    _layout: ClassVar["Layout"]

    @classmethod
    def layout(cls) -> "Layout":
        """Return its fields and their memory layout."""
        if "_layout" not in cls.__dict__:
            hints = get_type_hints(cls)
            seen = [each for each in fields(cls) if each.metadata != UNSEEN]  # type: ignore[arg-type]
            cls._layout = Layout({each.name: hints[each.name] for each in seen})
        return cls._layout

    @functools.cached_property
    def slots(self) -> "ctypes.Array[ctypes.c_int64]":
        """The record as the compiled code sees it: eight bytes per field."""
        return (ctypes.c_int64 * len(self.layout().types))()

    @functools.cached_property
    def place(self) -> int:
        """Address of the slots."""
        return ctypes.addressof(self.slots)

    @functools.cached_property
    def _packed(self) -> tuple[list[Any], list[Any]]:
        """By slot: what was packed last, and the array whose address that is."""
        count = len(self.slots)
        return [0] * count, [None] * count

    def adopt(self, other: "Record") -> None:
        """Copy the array addresses that a record of its first fields has packed."""
        for mine, theirs in zip(self._packed, other._packed, strict=True):
            mine[: len(theirs)] = theirs

    def pack(self) -> None:
        """Write the fields where the compiled code reads them."""
        layout, mine = self.layout(), self.__dict__
        values, held = self._packed
        for k, name in layout.numbers:
            values[k] = mine[name]
        for k, name in layout.records:
            mine[name].pack()
            values[k] = mine[name].place
        for k, name in layout.arrays:
            if mine[name] is not held[k]:
                values[k] = address_of(mine[name], layout.types[name], name)
                held[k] = mine[name]
        layout.format.pack_into(self.slots, 0, *values)

    def unpack(self) -> None:
        """Read the numbers back that the compiled code may have changed."""
        layout, mine = self.layout(), self.__dict__
        values = layout.format.unpack_from(self.slots)
        for k, name in layout.numbers:
            mine[name] = values[k]
        for _, name in layout.records:
            mine[name].unpack()


class Layout:
    """Memory layout of a record's fields.

    Attributes
    ----------
    types
        By name, in order.
    numbers, arrays, records
        Slot and name of the fields of each sort.
    format
        Of all slots.
    """

    def __init__(self, types: dict[str, Any]) -> None:
        self.types = types
        kinds = list(enumerate(types.items()))
        self.numbers = [(k, name) for k, (name, kind) in kinds if kind in (int, float)]
        self.arrays = [(k, name) for k, (name, kind) in kinds if kind in (Array, Ints)]
        rest = {k for k, _ in (*self.numbers, *self.arrays)}
        self.records = [(k, name) for k, (name, _) in kinds if k not in rest]
        for _, name in self.records:
            if not (isinstance(types[name], type) and issubclass(types[name], Record)):
                raise FlexarmError(
                    f"record field '{name}': must be int, float, Array, Ints or a record, got "
                    f"{types[name]}"
                )
        self.format = struct.Struct("".join("d" if t is float else "q" for t in types.values()))

    @functools.cached_property
    def text(self) -> str:
        """Names and types of the fields, those of inner records too."""
        words = {int: "int", float: "float", Array: "Array", Ints: "Ints"}
        kinds = (words.get(kind) or kind.layout().text for kind in self.types.values())
        return f"({', '.join(map(' '.join, zip(self.types, kinds, strict=True)))})"


class LoopSource:
    """A function in the language of loops: its text, its types, where it stands."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.python = function
        self.name = function.__name__
        self.globals = function.__globals__

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """Types of the parameters and, last, of the result."""
        hints, code = get_type_hints(self.python), self.python.__code__
        plain = code.co_varnames[: code.co_argcount]
        gathering = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        if (
            [*plain, "return"] != list(hints)
            or code.co_kwonlyargcount
            or gathering
            or self.python.__defaults__
        ):
            raise FlexarmError(
                f"{self.at(1)}: every parameter and the result must be annotated, and no parameter "
                "may have a default or be *, ** or keyword-only"
            )
        return hints

    @functools.cached_property
    def source(self) -> str:
        """Its text."""
        try:
            return inspect.getsource(self.python)
        except OSError:
            raise FlexarmError(
                f"kernel '{self.name}': must be written in a file, where its text can be read"
            ) from None

    @functools.cached_property
    def tree(self) -> ast.FunctionDef:
        """Its text, taken apart."""
        tree = ast.parse(textwrap.dedent(self.source)).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise FlexarmError(f"{self.at(1)}: must be written with def")
        return tree

    def at(self, line: int) -> str:
        """Return file and number of a line of its text, for messages."""
        code = self.python.__code__
        place = f"{code.co_filename}, line {code.co_firstlineno + line - 1}"
        return f"kernel '{self.name}' ({place})"


def address_of(value: Any, kind: Any, name: str) -> int:
    """Return the address of an array, or refuse one that a kernel cannot take."""
    wanted = DOUBLE if kind is Array or kind == Array else INTEGER  # == of these is slow
    if not isinstance(value, np.ndarray) or value.dtype != wanted or not value.flags.c_contiguous:
        raise FlexarmError(f"kernel argument '{name}': must be a contiguous array of {wanted}")
    return int(value.ctypes.data)
