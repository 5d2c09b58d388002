"""Machine code from LLVM code, loaded into this process, and calls of the machine code."""

import ctypes
import functools
import math
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexarm.engine.constants import (
    BUFFER_ALIGNMENT,
    PIECE_OPERATIONS,
    WIDEST_VECTOR,
    WINDOWS_OPERATIONS,
)
from flexarm.engine.emit.llvm import Code
from flexarm.engine.stream import FUNCTIONS, Port
from flexarm.errors import DeviceError, FlexarmError

Level = Literal["quick", "fast"]
# Level of LLVM's code generator.  LLVM's passes over intermediate code are not run: they gain
# nothing for code without branches.
FULL = 2
EFFORT: dict[Level, int] = {"quick": 0, "fast": FULL}
ARM = ("aarch64", "arm64")
DOUBLE = np.dtype(np.float64)
_mine = threading.local()  # LLVM's target machines of each thread


@functools.cache
def host() -> "Target":
    """Return this machine's CPU as a compilation target."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features, triple = llvm.get_host_cpu_features(), llvm.get_default_triple()
    if triple.startswith(ARM):
        # At level ``quick``, LLVM's default instruction selection for ARM is slower by half than
        # this one.
        llvm.set_option("", "-global-isel=0")
    return Target(triple, llvm.get_host_cpu_name(), features.flatten())


def native_width() -> int:
    """Return the number of doubles in a SIMD register of this machine."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return WIDEST_VECTOR
    if features.get("avx2"):
        return 4
    return 2


def chunk_size(target: "Target", width: int) -> int:
    """Return the number of operations per internal function in code for a CPU.

    Notes
    -----
    On Windows, a function that uses more than 4096 bytes of stack must first call a system library.
    Internal functions for Windows are small enough to use less stack.
    """
    return max(1, WINDOWS_OPERATIONS // width) if "windows" in target.triple else PIECE_OPERATIONS


def object_code(code: Code, *, level: Level, target: "Target") -> bytes:
    """Compile LLVM code to an object file for a target."""
    if level not in EFFORT:
        raise FlexarmError(f"level: must be one of {', '.join(EFFORT)}, got '{level}'")
    if target != host():
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    key = target, EFFORT[level]
    # One per thread: creating a machine takes as long as compiling a small function.
    machines: dict[tuple[Target, int], llvm.TargetMachine] = _mine.__dict__.setdefault(
        "machines", {}
    )
    if key not in machines:
        machines[key] = machine(*key)
    with llvm.parse_assembly(code.text) as module:
        return bytes(machines[key].emit_object(module))


def machine(target: "Target", effort: int) -> llvm.TargetMachine:
    """Return the LLVM target machine for an optimisation level from 0 to 3."""
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=effort,
        # Without this setting, code for Windows refers to a table of addresses that does not exist
        # here.
        reloc="static" if target.triple.startswith("x86_64") else "default",
        codemodel="jitdefault",
    )


def foreign_machine(target: "Target", name: str, *, level: Level = "fast") -> llvm.TargetMachine:
    """Return the LLVM target machine for another CPU or a GPU, named `name` in messages.

    Raises
    ------
    FlexarmError
        If the installed llvmlite was built without this target.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return machine(target, EFFORT[level])
    except RuntimeError:
        raise DeviceError(
            f"{name}: the installed llvmlite was built without "
            f"{target.triple.partition('-')[0]}. Take another version of llvmlite, such "
            "as the one on PyPI."
        ) from None


def load_object(code: bytes) -> llvm.ExecutionEngine:
    """Load an object file; its code is valid as long as the returned engine exists."""
    _provide_library()
    # The engine requires a module, although all code comes from the object file.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine(host(), 0))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


@functools.cache
def _provide_library() -> None:
    """Register functions of the C library, so that machine code can call them by name.

    LLVM would end the process if loaded machine code called a function that it cannot find.
    """
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    for name in FUNCTIONS | {"floor", "ceil", "fmin", "fmax"}:
        if llvm.address_of_symbol(name) is None:
            if not hasattr(library, name):
                raise FlexarmError(f"the C library of this machine has no function '{name}'")
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            llvm.add_symbol(name, address)


def _aligned(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return an array of zeros whose memory is aligned to 64 bytes."""
    size = 8 * math.prod(shape)
    raw = np.zeros(size + BUFFER_ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % BUFFER_ALIGNMENT
    return raw[start : start + size].view(np.float64).reshape(shape)


@dataclass(frozen=True)
class Target:
    """A CPU to compile for: LLVM's triple, CPU name and features."""

    triple: str
    cpu: str
    features: str


@dataclass(frozen=True)
class Signature:
    """Names and sizes of a compiled function's inputs and outputs, and its operation count."""

    entry: str
    table_entry: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    width: int
    work_size: int
    operations: int


class MachineCode:
    """Machine code loaded into this process, with arrays for calls from Python."""

    def __init__(self, signature: Signature, code: bytes) -> None:
        self.signature = signature
        self._engine = load_object(code)
        self.address: int = self._engine.get_function_address(signature.entry)
        self.table_address: int = self._engine.get_function_address(signature.table_entry)
        # The functions take one argument, since passing an argument through ctypes takes longer
        # than most functions of a small arm.
        self.by_table = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.table_address)
        self.mine = threading.local()


class Compiled:
    """A compiled function, whose machine code stays loaded as long as this object exists.

    Attributes
    ----------
    address : int
        Address of a C function without return value. The arguments of the C function are a pointer
        to each input, to each output and to a work array of `work_size` doubles. These arrays must
        not overlap. Matrices are stored in row-major order. With several SIMD lanes, each matrix
        element consists of `width` adjacent doubles.
    table_address : int
        Address of a C function whose only argument is a pointer to a table with the pointers to the
        inputs, the outputs and the work array.
    operations : int
        Number of arithmetic operations of one evaluation.
    constants : tuple of ndarray
        Values of the last inputs, which `call` appends to its arguments: the parameters of the arm,
        if arms with other parameters share the machine code.
    """

    def __init__(
        self, machine_code: MachineCode, constants: tuple[NDArray[np.float64], ...] = ()
    ) -> None:
        signature = machine_code.signature
        self.machine_code, self.constants = machine_code, constants
        self.address, self.table_address = machine_code.address, machine_code.table_address
        self.inputs, self.outputs = signature.inputs, signature.outputs
        self.width, self.operations = signature.width, signature.operations
        self.work_size = signature.work_size * signature.width
        self._by_table, self._mine = machine_code.by_table, machine_code.mine

    def output_shape(self, port: Port) -> tuple[int, ...]:
        """Return the NumPy shape of an output, without the axis of SIMD lanes.

        A derivative with respect to a scalar input has the shape of a matrix with one column.
        """
        scalars = [by.name for by in self.inputs if by.size == 1]
        names = {f"d_{of.name}_d_{by}" for of in self.outputs for by in scalars}
        return (port.rows, port.columns) if port.name in names else port.shape

    def call(self, *arrays: ArrayLike) -> tuple[NDArray[np.float64], ...]:
        """Return the outputs of the function at given inputs.

        Parameters
        ----------
        *arrays
            Inputs of the function, real numbers, each with the shape of its `Port`; with several
            SIMD lanes, with an additional last axis of length `width`. NaN and infinities raise no
            error.

        Returns
        -------
        tuple of ndarray
            Outputs of the function as new arrays. Several threads may call the function at the same
            time.
        """
        try:
            buffers: _CallBuffers = self._mine.buffers
        except AttributeError:
            buffers = self._mine.buffers = _CallBuffers(self)
        buffers.take((*arrays, *self.constants))
        self._by_table(buffers.table)
        return tuple([output.copy() for output in buffers.outputs])


def real_numbers(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return an input as an array of float64; raise an error if shape or type is wrong."""
    if type(value) is np.ndarray and value.dtype is DOUBLE and value.shape == shape:
        return value
    try:
        numbers = np.asarray(value)
    except Exception:  # unequal rows, symbols, errors of foreign objects
        numbers = np.asarray(None)
    has_masked = isinstance(value, np.ma.MaskedArray) and np.any(value.mask)
    if numbers.dtype.kind not in "fiub" or has_masked:
        description = "masked elements" if has_masked else _described(value, numbers)
        raise FlexarmError(f"input '{name}': must be real numbers, got {description}")
    if numbers.shape != shape:
        raise FlexarmError(f"input '{name}': must have the shape {shape}, got {numbers.shape}")
    return numbers.astype(np.float64, copy=False)


def _described(value: object, numbers: NDArray[Any]) -> str:
    if numbers.dtype.kind == "c":
        return "complex ones"
    if numbers.dtype.kind in "US":
        return "text: convert it with astype(float)"
    if isinstance(value, np.ndarray):
        return "Python objects: convert them with astype(float)"
    try:
        return f"{value!r}"[:40]
    except Exception:
        return f"a value of type {type(value).__name__}"


class _CallBuffers:
    """Input, output and work arrays for calls of a compiled function from one thread."""

    def __init__(self, compiled: Compiled) -> None:
        lanes = () if compiled.width == 1 else (compiled.width,)
        self._names = [port.name for port in compiled.inputs]
        self._inputs = [_aligned(port.shape + lanes) for port in compiled.inputs]
        self._shapes = [array.shape for array in self._inputs]
        self.outputs = [_aligned(compiled.output_shape(port) + lanes) for port in compiled.outputs]
        work = _aligned((compiled.work_size,))
        self._kept = [*self._inputs, *self.outputs, work]
        self._pointers = np.array([array.ctypes.data for array in self._kept], dtype=np.uintp)
        self.table = ctypes.c_void_p(self._pointers.ctypes.data)

    def take(self, arrays: tuple[ArrayLike, ...]) -> None:
        """Check shapes and types of the inputs of a call, and copy them to the input arrays."""
        if len(arrays) != len(self._inputs):
            names = ", ".join(self._names)
            raise FlexarmError(f"inputs: must be {len(self._names)} ({names}), got {len(arrays)}")
        for k, array in enumerate(arrays):
            if (
                type(array) is not np.ndarray
                or array.dtype is not DOUBLE
                or array.shape != self._shapes[k]
            ):
                array = real_numbers(self._names[k], array, self._shapes[k])
            self._inputs[k][...] = array


class Interpreted(Compiled):
    """A traced function that CasADi evaluates, with the interface of a compiled function."""

    def __init__(self, function: ca.Function) -> None:
        self.inputs = tuple(
            Port(function.name_in(i), *function.size_in(i)) for i in range(function.n_in())
        )
        self.outputs = tuple(
            Port(function.name_out(i), *function.size_out(i)) for i in range(function.n_out())
        )
        self.constants, self.width, self.work_size = (), 1, 0
        # Machine code has slightly fewer operations, since it shares more subexpressions.
        self.operations = function.n_instructions() - function.nnz_in() - function.nnz_out()
        # CasADi stores matrices column by column.
        arguments = [ca.SX.sym(port.name, port.columns, port.rows) for port in self.inputs]
        results = function.call([matrix.T for matrix in arguments], True, False)
        self._function = ca.Function(
            "turned", arguments, [ca.densify(matrix.T) for matrix in results]
        )
        self._bound: dict[tuple[int, ...], tuple[Callable[[], None], Any]] = {}
        self.address = 0
        self._called = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._evaluate)
        self.table_address = ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def _evaluate(self, table: int) -> None:
        count = len(self.inputs) + len(self.outputs)
        pointers = tuple((ctypes.c_int64 * count).from_address(table))
        if pointers not in self._bound:
            self._bound[pointers] = self._bind(pointers)
        self._bound[pointers][0]()

    def _bind(self, pointers: tuple[int, ...]) -> tuple[Callable[[], None], Any]:
        """Return a C callback that evaluates the function, and the objects to keep alive."""
        buffer: Any  # memory views supply the sizes that CasADi's types require
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
