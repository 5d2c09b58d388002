"""Loops in machine code: functions of a small typed part of Python, compiled with LLVM.

A kernel is written as a Python function of numbers, flat arrays and records; it runs as it stands
in Python, and compiled.  It exists beside the traced equations because those have no loops, and
beside Numba because importing that takes longer than most simulations.

What a kernel may use: int, float and bool; arithmetic without ``**``; comparisons, ``and``, ``or``,
``not``, conditional expressions; ``if``, ``while``, ``for ... in range(...)``, ``break``,
``continue``, ``return``; elements ``a[i]`` and views ``a[i:]`` of flat arrays, fields of records;
``abs``, ``min``, ``max``, ``float``, ``int`` and the functions of `math` in ``MATH``; module
constants; other kernels; and the two calls by address below.  ``//`` and ``%`` are for ints that
are not negative.
"""

import ctypes
import functools
import hashlib
import inspect
import json
import struct
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from flexarm.engine.cache import Cache, cache_folder
from flexarm.engine.compile import host, load_object, machine
from flexarm.engine.functions import source_version
from flexarm.errors import FlexarmError

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MATH = ("sqrt", "sin", "cos", "exp", "log", "sinh", "cosh", "floor", "pow", "isfinite")
PACKAGE = Path(__file__).parents[1]


def kernel(function: Callable[..., Any]) -> "Kernel":
    """Make a kernel of a Python function whose parameters and result are annotated."""
    return Kernel(function)


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

    Fields are annotated int, float, Array, Ints or another record.
    """

    _layout: ClassVar["Layout"]

    @classmethod
    def layout(cls) -> "Layout":
        """Say what its fields are and how they lie in memory."""
        if "_layout" not in cls.__dict__:
            hints = get_type_hints(cls)
            cls._layout = Layout({field.name: hints[field.name] for field in fields(cls)})  # type: ignore[arg-type]
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
                values[k] = _address(mine[name], layout.types[name], name)
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
    """How the fields of a record lie in memory.

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
        self.format = struct.Struct("".join("d" if t is float else "q" for t in types.values()))


class Kernel:
    """A function that runs in Python as ``.python`` and, when called, compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.python = function
        self.name = function.__name__
        self.globals = function.__globals__
        functools.update_wrapper(self, function)

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """Types of the parameters and, last, of the result."""
        return get_type_hints(self.python)

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
    def address(self) -> int:
        """Address of the machine code."""
        self._engine = load_object(self._object_code())
        return int(self._engine.get_function_address(f"kernel_{self.name}"))

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code."""
        hints = list(self.hints.items())
        result = hints[-1][1]
        values: list[Any] = []
        records: list[Record] = []
        for value, (name, kind) in zip(arguments, hints[:-1], strict=True):
            if isinstance(value, Record):
                value.pack()
                records.append(value)
                values.append(ctypes.c_void_p(value.place))
            elif kind is float:
                values.append(ctypes.c_double(value))
            elif kind is int:
                values.append(ctypes.c_int64(value))
            else:
                values.append(ctypes.c_void_p(_address(value, kind, name)))
        kinds = [type(value) for value in values]
        given: Any = {float: ctypes.c_double, int: ctypes.c_int64}.get(result)
        answer = ctypes.CFUNCTYPE(given, *kinds)(self.address)(*values)
        for record in records:
            record.unpack()
        return answer

    def _object_code(self) -> bytes:
        """Compile, or take from the cache."""
        cache = Cache(cache_folder())
        file = Path(inspect.getsourcefile(self.python) or "")
        what = [
            self.name,
            self.source,
            asdict(host()),
            source_version(PACKAGE),
            llvm.llvm_version_info,
        ]
        text = json.dumps(what).encode() + file.read_bytes()
        key = hashlib.sha256(b"kernel" + text).hexdigest()
        code = cache.get(key)
        if code is None:
            from flexarm.engine.kernel_llvm import translate

            code = _optimised(translate(self))
            cache.put(key, code)
        return code


def _optimised(text: str) -> bytes:
    """Run LLVM's passes over code with loops and emit an object file."""
    with llvm.parse_assembly(text) as module:
        module.verify()
        target = machine(host(), 2)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
        return bytes(target.emit_object(module))


def _address(value: Any, kind: Any, name: str) -> int:
    wanted = np.dtype(np.float64 if kind == Array else np.int64)
    if not isinstance(value, np.ndarray) or value.dtype != wanted or not value.flags.c_contiguous:
        raise FlexarmError(f"kernel argument '{name}': must be a contiguous array of {wanted}")
    return int(value.ctypes.data)
