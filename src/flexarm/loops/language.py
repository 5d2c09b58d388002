"""The language of kernels: a small typed subset of Python, compiled to machine code."""

import ast
import ctypes
import functools
import inspect
import struct
import textwrap
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, cast, get_type_hints

import numpy as np
import numpy.typing as npt

from flexarm.errors import FlexarmError

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
UNSEEN = {"kernels": False}  # metadata of a record's field that is invisible to kernels
DOUBLE, INTEGER = np.dtype(np.float64), np.dtype(np.int64)
MATH = ("sqrt", "sin", "cos", "exp", "floor", "pow", "isfinite")


def floats(count: int) -> Array:
    """Return a local array of zeros; in kernels, ``name = floats(8)`` with a literal size."""
    return np.zeros(count)


def run_equations(address: int, table: Ints) -> None:
    """Call the compiled equations at an address with a table of pointers to their arrays."""
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(int(address))(table.ctypes.data)


def run_kernel(address: int, record: "Record") -> int:
    """Call the kernel at an address with one record and return its int result."""
    code = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(int(address))(record.pack())
    record.unpack()
    return int(code)


class Record:
    """Base class of dataclasses whose numbers and arrays compiled code reads and writes.

    The types of fields are int, float, Array, Ints or a record class. Fields with the metadata
    `UNSEEN` may have any type, since compiled code cannot access them.
    """

    _layout: ClassVar["Layout"]

    @classmethod
    def layout(cls) -> "Layout":
        """Return the memory layout of the fields of this record class."""
        if "_layout" not in cls.__dict__:
            hints = get_type_hints(cls)
            visible = [member for member in fields(cls) if member.metadata != UNSEEN]  # type: ignore[arg-type]
            cls._layout = Layout({member.name: hints[member.name] for member in visible})
        return cls._layout

    @functools.cached_property
    def _memory(self) -> tuple["ctypes.Array[ctypes.c_int64]", list[Any], list[Any]]:
        """Memory that compiled code reads and writes, 8 bytes per field, and its present contents.

        The contents are the numbers and arrays that were last copied to the memory; for an array,
        the memory contains its address.
        """
        count = len(self.layout().types)
        return (ctypes.c_int64 * count)(), [0] * count, [None] * count

    def adopt(self, other: "Record") -> None:
        """Copy the array addresses of ``other``, a record whose first fields are the same."""
        for own_lists, other_lists in zip(self._memory[1:], other._memory[1:], strict=True):
            own_lists[: len(other_lists)] = other_lists

    def move_to(self, memory: Any) -> None:
        """Move the memory of the record to an array with 8 bytes per field."""
        slots = (ctypes.c_int64 * len(memory)).from_buffer(memory)
        self.__dict__["_memory"] = (slots, *self._memory[1:])

    def pack(self) -> int:
        """Copy the fields to the memory that compiled code uses, and return its address.

        The fields of records inside this record are copied too.
        """
        layout, own_fields = self.layout(), self.__dict__
        slots, values, packed_arrays = self._memory
        for k, name in layout.numbers:
            values[k] = own_fields[name]
        for k, name in layout.records:
            values[k] = own_fields[name].pack()
        for k, name in layout.arrays:
            if own_fields[name] is not packed_arrays[k]:
                values[k] = address_of(own_fields[name], layout.types[name], name)
                packed_arrays[k] = own_fields[name]
        layout.format.pack_into(slots, 0, *values)
        return ctypes.addressof(slots)

    def unpack(self) -> None:
        """Copy numbers that compiled code may have changed from its memory to the fields."""
        layout, own_fields = self.layout(), self.__dict__
        values = layout.format.unpack_from(self._memory[0])
        for k, name in layout.numbers:
            own_fields[name] = values[k]
        for _, name in layout.records:
            own_fields[name].unpack()


class Layout:
    """Memory layout of a record's fields.

    Attributes
    ----------
    types
        Types of the fields by name, in order of definition.
    numbers, arrays, records
        Index and name of the fields that are numbers, arrays, and records inside this record.
    format
        Format of all fields for the Python module `struct`.
    """

    def __init__(self, types: dict[str, Any]) -> None:
        self.types = types
        kinds = list(enumerate(types.items()))
        self.numbers = [(k, name) for k, (name, kind) in kinds if kind in (int, float)]
        self.arrays = [(k, name) for k, (name, kind) in kinds if kind in (Array, Ints)]
        scalars_and_arrays = {k for k, _ in (*self.numbers, *self.arrays)}
        self.records = [(k, name) for k, (name, _) in kinds if k not in scalars_and_arrays]
        for _, name in self.records:
            if not (isinstance(types[name], type) and issubclass(types[name], Record)):
                raise FlexarmError(
                    f"record field '{name}': must be int, float, Array, Ints or a record, got "
                    f"{types[name]}"
                )
        self.format = struct.Struct("".join("d" if t is float else "q" for t in types.values()))

    @functools.cached_property
    def text(self) -> str:
        """Names and types of all fields as text, with those of records inside the record."""
        words = {int: "int", float: "float", Array: "Array", Ints: "Ints"}
        kinds = (words.get(kind) or kind.layout().text for kind in self.types.values())
        return f"({', '.join(map(' '.join, zip(self.types, kinds, strict=True)))})"


class LoopSource:
    """Python function of a kernel with its source text, syntax tree and annotated types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(cast(Any, self), function)
        self.python = function
        self.name = function.__name__
        self.globals = function.__globals__

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """Types of the kernel's parameters by name, followed by the type of the result."""
        hints, code = get_type_hints(self.python), self.python.__code__
        positional = code.co_varnames[: code.co_argcount]
        variadic = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        if (
            [*positional, "return"] != list(hints)
            or code.co_kwonlyargcount
            or variadic
            or self.python.__defaults__
        ):
            raise FlexarmError(
                f"{self.at(1)}: every parameter and the result must be annotated, and no "
                "parameter may have a default or be *, ** or keyword-only"
            )
        return hints

    @functools.cached_property
    def source(self) -> str:
        """Source text of the kernel's Python function."""
        try:
            return inspect.getsource(self.python)
        except OSError:
            raise FlexarmError(
                f"kernel '{self.name}': must be written in a file, so that its source can be read"
            ) from None

    @functools.cached_property
    def tree(self) -> ast.FunctionDef:
        """Syntax tree of the kernel's ``def`` statement."""
        tree = ast.parse(textwrap.dedent(self.source)).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise FlexarmError(f"{self.at(1)}: a kernel must be written with def")
        return tree

    def at(self, line: int) -> str:
        """Return the kernel's name, file and line for messages, counted from its ``def`` line."""
        code = self.python.__code__
        place = f"{code.co_filename}, line {code.co_firstlineno + line - 1}"
        return f"kernel '{self.name}' ({place})"


def address_of(value: Any, kind: Any, name: str) -> int:
    """Return the memory address of an array; raise an error if compiled code cannot use it."""
    dtype = DOUBLE if kind is Array or kind == Array else INTEGER  # ``==`` of generic types is slow
    if not isinstance(value, np.ndarray) or value.dtype != dtype or not value.flags.c_contiguous:
        raise FlexarmError(f"kernel argument '{name}': must be a contiguous array of {dtype}")
    return int(value.ctypes.data)
