"""GPU program of a kernel and its equations: one simulation run per thread.

Each thread has a private copy of the kernel's record and of the arrays to which the record points.
All kernels are inlined, so that LLVM finds the record's fields in registers; fields and arrays
that nothing writes and that are equal in all runs are constants of the program.  All others are
stored between launches in an image, a flat array of 8-byte numbers: number k of run i is at
``(i // GROUP * size + k) * GROUP + i % GROUP``, where ``size`` is the count of numbers per run, so
that the threads of a warp access neighbouring addresses.
"""

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import llvmlite.binding as llvm
import numpy as np

from flexarm.engine.cache import Cache, cache_folder
from flexarm.engine.compile import Target, foreign_machine
from flexarm.engine.constants import NEAR_BLOCK, UNSPLIT_OPERATIONS
from flexarm.engine.emit.chains import chained
from flexarm.engine.emit.keep import NEAR, ThreadMemory
from flexarm.engine.emit.kit import Dialect, library
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.emit.order import by_liveness
from flexarm.engine.gpu.ptx import CUDA, GROUP, read
from flexarm.engine.split import settled
from flexarm.engine.stream import Stream
from flexarm.loops.constants import (
    BRANCHED_BLOCK,
    INLINED_OPERATIONS,
    LONG_CODE,
    MEMORY_ALIGNMENT,
    REGISTER_ALIGNMENT,
)
from flexarm.loops.kernel import optimise
from flexarm.loops.kernel_text import ENTRY, KernelText
from flexarm.loops.language import Array, LoopSource
from flexarm.loops.threads import SharedValue, TableEntries, ThreadRecord, storage_of
from flexarm.loops.translate import translate
from flexarm.loops.writes import written_fields

GPU = Dialect(fused=True, libm=False)
MATHEMATICS = ("sin", "cos", "exp", "pow")


@dataclass(frozen=True)
class CalledEquations:
    """Equations that a kernel calls with a table of pointers to their arrays.

    Attributes
    ----------
    stream
        The equations.
    table
        Name of the record field with the pointer table of the equations.
    changing
        Names of inputs that change between launches.
    """

    stream: Stream
    table: str
    changing: tuple[str, ...] = ()

    @property
    def entries(self) -> "TableEntries":
        """Entries of the equations' pointer table."""
        names = [port.name for port in self.stream.inputs]
        changing = frozenset(k for k, name in enumerate(names) if name in self.changing)
        return TableEntries(len(names), changing, len(names) + len(self.stream.outputs))


@dataclass(frozen=True)
class GpuProgram:
    """A GPU program as LLVM code, with the layout of its image."""

    # LLVM code, to be linked; the GPU kernel `ENTRY` takes the number of runs, their status codes,
    # the image and all arrays outside of the image.  Only runs with status code 0 are continued;
    # the result of the kernel becomes the new status code.
    texts: tuple[str, ...]
    parts: tuple[SharedValue, ...]  # numbers and arrays of a thread
    size: int  # count of numbers per run in the image
    block: int = BRANCHED_BLOCK  # threads per block
    near: int = 0  # doubles per thread in the shared memory of a block

    def ptx(self) -> str:
        """Return the program's PTX assembly, from the cache or newly compiled.

        Raises
        ------
        FlexarmError
            If the installed llvmlite cannot write PTX.
        """
        cache = Cache(cache_folder())
        dependencies = [*self.texts, str(llvm.llvm_version_info), str(CUDA)]
        key = hashlib.sha256("\n".join(dependencies).encode()).hexdigest()
        code = cache.get(key)
        if code is None:
            target = foreign_machine(CUDA, "GPU")
            _dissolve_records()
            module = self.linked(target, CUDA)
            optimise(module, target)
            code = target.emit_assembly(module).encode()
            cache.put(key, code)
        return code.decode()

    def linked(self, target: llvm.TargetMachine, machine: Target) -> llvm.ModuleRef:
        """Return the linked LLVM module of the program for a target machine."""
        module, *linked_modules = [read(text, target, machine) for text in self.texts]
        for linked_module in linked_modules:
            module.link_in(linked_module)
        for function in module.functions:
            if not function.is_declaration and function.name != ENTRY:
                function.linkage = "internal"
        return module

    def place(self, name: str, entry: int = -1) -> slice:
        """Return the image columns that contain a number or an array of the records.

        ``name`` is a field; ``entry`` selects an array of a pointer table, -1 the field itself.
        The slice is empty if the value is not stored in the image.
        """
        for part in self.parts:
            if any((path.name, path.entry) == (name, entry) for path in part.paths):
                return slice(part.place, part.place + part.count) if part.stored else slice(0, 0)
        raise KeyError(name)

    def row(self, thread: ThreadRecord) -> Array:
        """Return a run's numbers as a row of the image, shape (size,)."""
        row = np.zeros(self.size)
        for part in self.parts:
            if part.stored:
                numbers = thread.array(part.paths[0]) if part.size else thread.value(part.paths[0])
                target = row if part.real else row.view(np.int64)
                target[part.place : part.place + np.size(numbers)] = numbers
        return row

    def take(self, row: Array, thread: ThreadRecord) -> None:
        """Copy changed numbers from a row of the image to a run's record and arrays."""
        for part in self.parts:
            if part.storage != "kept":
                continue
            source = row if part.real else row.view(np.int64)
            numbers = source[part.place : part.place + part.count]
            path = part.paths[0]
            if part.size:
                array = thread.array(path)
                array[:] = numbers[: array.size]
            else:
                setattr(thread.records[path.record], path.name, numbers[0].item())


@functools.cache
def _dissolve_records() -> None:
    """Raise the number of uses up to which LLVM splits a record into registers."""
    llvm.set_option("", "--sroa-max-alloca-slices=1000000")


def interleaved(rows: Array) -> Array:
    """Convert rows (runs, size) to the image in which threads' numbers are interleaved.

    The image is flat; groups of `GROUP` runs are interleaved.
    """
    padded = np.zeros((-(-len(rows) // GROUP) * GROUP, rows.shape[1]))
    padded[: len(rows)] = rows
    groups = padded.reshape(-1, GROUP, rows.shape[1])
    return np.ascontiguousarray(groups.transpose(0, 2, 1)).ravel()


def rows_of(image: Array, count: int) -> Array:
    """Convert the GPU memory image to rows, shape (count, size), one per run."""
    groups = image.reshape(-(-count // GROUP), -1, GROUP).transpose(0, 2, 1)
    return np.ascontiguousarray(groups.reshape(-1, groups.shape[2])[:count])


def gpu_program(
    kernel: LoopSource,
    threads: Sequence[ThreadRecord],
    called_by_field: Mapping[str, LoopSource | CalledEquations],
    *,
    changing: Sequence[str] = (),
    outside: Sequence[str] = (),
    near: int = 0,
) -> GpuProgram:
    """Build the GPU program of a kernel with one record as argument and an int as result.

    Parameters
    ----------
    kernel
        The kernel.
    threads
        The records of all runs; arrays must have equal sizes where kernels do not read sizes.
    called_by_field
        By name of a record field that is an address on a processor: the kernel or equations called.
    changing
        Fields of numbers that may change between launches.
    outside
        Fields of arrays that are too large to be copied and are accessed in place.
    near
        For a kernel without branches that spends most time in equations: doubles that a thread may
        store in the shared memory of its block once all registers are used.  Loops are then
        unrolled, and inputs of long equations that are equal in all runs become constants of the
        code.  0 for a kernel with branches, in which more code is slower.

    Raises
    ------
    FlexarmError
        If the installed llvmlite cannot write PTX, or an operation has no code for it.
    """
    equations = {
        key: called
        for key, called in called_by_field.items()
        if isinstance(called, CalledEquations)
    }
    names: dict[str, LoopSource | str] = {
        key: f"flexarm_{called.stream.name}_table"
        if isinstance(called, CalledEquations)
        else called
        for key, called in called_by_field.items()
    }
    tables = {called.table: called.entries for called in equations.values()}
    written = written_fields(kernel, names) | {*changing}
    parts = storage_of(threads, written, called_by_field, tables, outside)
    codes = {}
    for key, called in equations.items():
        stream, size, room = called.stream, len(called.stream.operations), None
        if near and size > INLINED_OPERATIONS:
            room = (
                ThreadMemory(near, 118, 25, tabled=True) if size > LONG_CODE else ThreadMemory(near)
            )
            stream = settled(stream, _common(parts, threads[0], called))
        stream = chained(by_liveness(chained(stream)))
        codes[key] = emit_llvm(stream, chunk=UNSPLIT_OPERATIONS, dialect=replace(GPU, room=room))
    branchless, near = bool(near), max((code.near for code in codes.values()), default=0)
    work_sizes = {called.table: codes[key].work_size for key, called in equations.items()}
    parts = [with_work_size(part, tables, work_sizes) for part in parts]
    loops = _loops(kernel, tuple(names.items()), written if branchless else None)
    texts = [_in_place(loops), library(MATHEMATICS)]
    texts += [
        _equations(code.text, code.entry, len(equations[key].stream.operations))
        for key, code in codes.items()
    ]
    entry = KernelText(
        parts,
        threads[0],
        tables,
        called_by_field,
        REGISTER_ALIGNMENT if branchless else MEMORY_ALIGNMENT,
    )
    entry.fills = any(code.table for code in codes.values())
    texts.append((_near(near) if near else "") + entry.text(f"kernel_{kernel.name}"))
    block = NEAR_BLOCK if branchless else BRANCHED_BLOCK
    return GpuProgram(tuple(texts), tuple(parts), entry.size, block, near)


@functools.lru_cache(maxsize=8)
def _loops(
    kernel: LoopSource,
    names: tuple[tuple[str, LoopSource | str], ...],
    unrolled: frozenset[str] | None,
) -> str:
    """Return the LLVM code of a kernel by `translate`, cached."""
    return translate(kernel, dict(names), unrolled=unrolled)


def _common(
    parts: Sequence[SharedValue], thread: ThreadRecord, equations: CalledEquations
) -> dict[int, Array]:
    """Return the inputs of equations that all runs share, by entry of the pointer table."""
    return {
        path.entry: np.asarray(thread.array(path), dtype=float)
        for part in parts
        for path in part.paths
        if part.storage == "constant" and path.name == equations.table and path.entry >= 0
    }


def _near(doubles: int) -> str:
    """Return the LLVM function that locates a thread's part of the shared memory of its block.

    The parts of the threads of a warp are interleaved; ``doubles`` is the size of a part.
    """
    return f"""
@near = external addrspace(3) global [0 x double], align 8
define ptr addrspace(3) @{NEAR}() alwaysinline nounwind {{
%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%warp = udiv i32 %thread, {GROUP}
%before = mul i32 %warp, {(doubles - 1) * GROUP}
%place = add i32 %before, %thread
%mine = getelementptr double, ptr addrspace(3) @near, i32 %place
ret ptr addrspace(3) %mine
}}
"""


def with_work_size(
    part: SharedValue, tables: Mapping[str, TableEntries], work_sizes: Mapping[str, int]
) -> SharedValue:
    """Return the array, enlarged if it is a work array too small for the equations' GPU code.

    Work arrays are the last entries of pointer tables.  The processor's code is divided differently
    and may need smaller ones.
    """
    sizes = [
        work_sizes[path.name]
        for path in part.paths
        if path.name in tables and path.entry == tables[path.name].last
    ]
    return replace(part, size=max(part.size, *sizes)) if sizes else part


def _in_place(text: str) -> str:
    """Return LLVM code with all functions marked for inlining."""
    return re.sub(r"^(define .*) nounwind$", r"\1 alwaysinline nounwind", text, flags=re.MULTILINE)


def _equations(text: str, entry: str, operations: int) -> str:
    """Return the LLVM code of equations, marked for inlining if they are short."""
    inner = text.replace(") noinline nounwind", ") alwaysinline nounwind")
    if operations <= INLINED_OPERATIONS:
        return inner
    return re.sub(rf"(define void @{entry}\(.*\)) alwaysinline", r"\1 noinline", inner)
