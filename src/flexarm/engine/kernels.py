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
    code = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(int(address))(record.slots.ctypes.data)
    record.unpack()
    return int(code)


class Record:
    """Named numbers and arrays that a kernel reads and writes; subclasses are dataclasses.

    Fields are annotated int, float, Array, Ints or another record.
    """

    _hints: ClassVar[dict[str, Any]]

    @classmethod
    def layout(cls) -> dict[str, Any]:
        """Give the type of every field, in order."""
        if "_hints" not in cls.__dict__:
            hints = get_type_hints(cls)
            cls._hints = {field.name: hints[field.name] for field in fields(cls)}  # type: ignore[arg-type]
        return cls._hints

    @property
    def slots(self) -> Ints:
        """The record as the compiled code sees it: eight bytes per field."""
        slots: Ints | None = self.__dict__.get("_slots")
        if slots is None:
            slots = np.zeros(len(self.layout()), dtype=np.int64)
            self.__dict__["_slots"] = slots
        return slots

    def pack(self) -> None:
        """Write the fields where the compiled code reads them."""
        slots = self.slots
        reals = slots.view(np.float64)
        placed: dict[str, Any] = self.__dict__.setdefault("_placed", {})
        for k, (name, kind) in enumerate(self.layout().items()):
            value = self.__dict__[name]
            if kind is float:
                reals[k] = value
            elif kind is int:
                slots[k] = value
            elif isinstance(value, Record):
                value.pack()
                slots[k] = value.slots.ctypes.data
            elif placed.get(name) is not value:
                slots[k] = _address(value, kind, name)
                placed[name] = value

    def unpack(self) -> None:
        """Read the numbers back that the compiled code may have changed."""
        slots = self.slots
        reals = slots.view(np.float64)
        for k, (name, kind) in enumerate(self.layout().items()):
            if kind is float:
                self.__dict__[name] = float(reals[k])
            elif kind is int:
                self.__dict__[name] = int(slots[k])
            elif isinstance(self.__dict__[name], Record):
                self.__dict__[name].unpack()


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
                values.append(ctypes.c_void_p(value.slots.ctypes.data))
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
