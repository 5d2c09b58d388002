"""GPU program of a kernel and of the equations it calls: one simulation run per thread.

Each thread has a private copy of the kernel's record and of the arrays to which the record points.
All kernels are inlined, so that LLVM can keep the record's fields in registers. Fields and arrays
that no kernel writes and that are equal in all runs become constants of the program. Between two
launches of the program, all other fields and arrays are stored in GPU memory in the *image*, a flat
array of 8-byte numbers. Number k of run i has the index ``(i // GROUP * size + k) * GROUP + i %
GROUP``, where ``size`` is the count of numbers per run, so that the threads of a warp access
neighbouring addresses.
"""

import functools
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from flexarm.engine.cache import Cache, cache_folder
from flexarm.engine.compile import Target, foreign_machine
from flexarm.engine.constants import NEAR_BLOCK, UNSPLIT_OPERATIONS
from flexarm.engine.emit.chains import chained
from flexarm.engine.emit.keep import NEAR, ThreadMemory
from flexarm.engine.emit.llvm import Dialect, emit_llvm, library
from flexarm.engine.emit.llvm_text import number
from flexarm.engine.emit.plan import by_liveness
from flexarm.engine.emit.thread import FILL
from flexarm.engine.gpu.ptx import CUDA, GROUP, read, threads
from flexarm.engine.split import settled
from flexarm.engine.stream import Stream
from flexarm.loops.constants import (
    BRANCHED_BLOCK,
    COPIED_ELEMENTS,
    INLINED_OPERATIONS,
    LONG_CODE,
    MEMORY_ALIGNMENT,
    REGISTER_ALIGNMENT,
)
from flexarm.loops.kernel import optimise
from flexarm.loops.language import Array, LoopSource
from flexarm.loops.threads import (
    RecordPath,
    SharedValue,
    TableEntries,
    ThreadRecord,
    paths_to,
    storage_of,
)
from flexarm.loops.translate import translate
from flexarm.loops.writes import written_fields

ENTRY = "flexarm_runs"


class KernelText:
    """LLVM text of a GPU function in which every thread executes one simulation run."""

    def __init__(
        self,
        parts: Sequence[SharedValue],
        thread: ThreadRecord,
        tables: Mapping[str, TableEntries],
        bound: Collection[str],
        align: int = 8,
    ) -> None:
        self.parts, self.thread, self.tables, self.bound = parts, thread, tables, bound
        self.align = align
        self.fills = False  # whether equations have tables that must be filled first
        self.size = sum(part.count for part in parts if part.stored)
        self.constants: list[str] = []
        self.allocations: list[str] = []
        self.loads: list[str] = []
        self.stores: list[str] = []

    def text(self, function: str) -> str:
        """Return the LLVM text of the GPU function, which calls ``function`` with the record."""
        self._make_records()
        for k, part in enumerate(self.parts):
            if part.size:
                self._array(k, part)
            else:
                self._number(k, part)
        outer = [k for k, part in enumerate(self.parts) if part.storage == "outside"]
        find = [
            "%state = getelementptr i64, ptr addrspace(1) %codes, i64 %arm",
            "%was = load i64, ptr addrspace(1) %state",
            "%goes = icmp eq i64 %was, 0",
            "br i1 %goes, label %go, label %done",
            "go:",
            f"%first = mul i64 %group, {self.size * GROUP}",
            "%start = add i64 %first, %lane",
        ]
        end = [
            f"%code = call i64 @{function}(ptr %record0)",
            *self.stores,
            "store i64 %code, ptr addrspace(1) %state",
        ]
        pointers = ["%codes", "%image", *(f"%outer{k}" for k in outer)]
        fill = f"void @{FILL}()"
        if self.fills:
            self.allocations.append(f"call {fill}")
            self.constants.append(f"declare {fill} convergent")
        kernel = threads(ENTRY, pointers, [*find, *self.loads, *end], self.allocations)
        movers = [_mover("flexarm_take", back=False), _mover("flexarm_bring", back=True)]
        return "\n".join([*self.constants, *movers, f"declare i64 @{function}(ptr)", kernel])

    def _make_records(self) -> None:
        number_of = {id(record): r for r, record in enumerate(self.thread.records)}
        for r, record in enumerate(self.thread.records):
            layout = record.layout()
            self.allocations.append(f"%record{r} = alloca [{len(layout.types)} x i64], align 8")
            for slot, name in layout.records:
                inner = number_of[id(getattr(record, name))]
                self._store(r, slot, f"ptr %record{inner}")
            for slot, name in layout.arrays:
                paths = paths_to(record, r, name, self.tables)
                if paths[0].entry >= 0:
                    self.allocations.append(
                        f"%table{r}.{slot} = alloca [{len(paths)} x ptr], align 8"
                    )
                    self._store(r, slot, f"ptr %table{r}.{slot}")

    def _store(self, record: int, slot: int, value: str) -> None:
        slot_address = f"%slot{record}.{slot}"
        self.loads.append(f"{slot_address} = getelementptr i64, ptr %record{record}, i64 {slot}")
        self.loads.append(f"store {value}, ptr {slot_address}")

    def _slot(self, path: RecordPath) -> int:
        return list(self.thread.records[path.record].layout().types).index(path.name)

    def _place(self, place: int, name: str) -> list[str]:
        """Return LLVM lines that compute the address of a number of this thread in the image."""
        return [
            f"{name}.at = add i64 %start, {place * GROUP}",
            f"{name}.p = getelementptr double, ptr addrspace(1) %image, i64 {name}.at",
        ]

    def _number(self, k: int, part: SharedValue) -> None:
        path, kind = part.paths[0], _kind(part)
        slot = self._slot(path)
        if part.storage == "constant":
            value = self.thread.value(path)
            # an address in the CPU process; kernels on a GPU only test whether it is 0
            if path.name in self.bound:
                value = bool(value)
            self._store(path.record, slot, f"{kind} {_constant(part, value)}")
            return
        self.loads += self._place(part.place, f"%n{k}")
        self.loads.append(f"%n{k} = load {kind}, ptr addrspace(1) %n{k}.p")
        self._store(path.record, slot, f"{kind} %n{k}")
        if part.storage == "kept":
            self.stores.append(f"%n{k}.new = load {kind}, ptr %slot{path.record}.{slot}")
            self.stores.append(f"store {kind} %n{k}.new, ptr addrspace(1) %n{k}.p")

    def _array(self, k: int, part: SharedValue) -> None:
        kind = _kind(part)
        pointer = f"%array{k}"
        if part.storage == "constant":
            elements = ", ".join(
                f"{kind} {_constant(part, x)}" for x in self.thread.array(part.paths[0])
            )
            self.constants.append(
                f"@array{k} = internal addrspace(1) constant [{part.size} x {kind}] [{elements}]"
            )
            pointer = f"addrspacecast (ptr addrspace(1) @array{k} to ptr)"
        elif part.storage == "outside":
            self.loads += [
                f"%at{k} = mul i64 %arm, {part.size}",
                f"%far{k} = getelementptr {kind}, ptr addrspace(1) %outer{k}, i64 %at{k}",
                f"%array{k} = addrspacecast ptr addrspace(1) %far{k} to ptr",
            ]
        else:
            self.allocations.append(
                f"%array{k} = alloca [{part.size} x {kind}], align {self.align}"
            )
        if part.stored:
            self._copy(k, part)
        for path in part.paths:
            if path.entry < 0:
                self._store(path.record, self._slot(path), f"ptr {pointer}")
            else:
                table = f"%table{path.record}.{self._slot(path)}"
                name = f"%entry{path.record}.{self._slot(path)}.{path.entry}"
                self.loads.append(f"{name} = getelementptr ptr, ptr {table}, i64 {path.entry}")
                self.loads.append(f"store ptr {pointer}, ptr {name}")

    def _copy(self, k: int, part: SharedValue) -> None:
        """Append LLVM lines that copy an array from the image and, if it changes, back."""
        if part.size > COPIED_ELEMENTS:
            self.loads += self._place(part.place, f"%e{k}")
            arguments = f"(ptr %array{k}, ptr addrspace(1) %e{k}.p, i64 {part.size})"
            self.loads.append(f"call void @flexarm_take{arguments}")
            if part.storage == "kept":
                self.stores.append(f"call void @flexarm_bring{arguments}")
            return
        kind = _kind(part)
        for i in range(part.size):
            name = f"%e{k}.{i}"
            self.loads += [
                *self._place(part.place + i, name),
                f"{name} = load {kind}, ptr addrspace(1) {name}.p",
                f"{name}.l = getelementptr {kind}, ptr %array{k}, i64 {i}",
                f"store {kind} {name}, ptr {name}.l",
            ]
            if part.storage == "kept":
                self.stores += [
                    f"{name}.new = load {kind}, ptr {name}.l",
                    f"store {kind} {name}.new, ptr addrspace(1) {name}.p",
                ]


def _mover(name: str, *, back: bool) -> str:
    """Return the LLVM function that copies an array from the image, or with ``back`` to it."""
    pointers = ("ptr %near", "ptr addrspace(1) %far")
    source, target = pointers if back else pointers[::-1]
    return f"""
define internal void @{name}(ptr %array, ptr addrspace(1) %image, i64 %n) alwaysinline nounwind {{
entry:
br label %loop
loop:
%k = phi i64 [0, %entry], [%next, %loop]
%near = getelementptr i64, ptr %array, i64 %k
%at = mul i64 %k, {GROUP}
%far = getelementptr i64, ptr addrspace(1) %image, i64 %at
%x = load i64, {source}
store i64 %x, {target}
%next = add i64 %k, 1
%more = icmp ult i64 %next, %n
br i1 %more, label %loop, label %done
done:
ret void
}}"""


def _kind(part: SharedValue) -> str:
    return "double" if part.real else "i64"


def _constant(part: SharedValue, value: Any) -> str:
    return number(float(value), 1) if part.real else str(int(value))


GPU = Dialect(fused=True, libm=False)
MATHEMATICS = ("sin", "cos", "exp", "pow")


@dataclass(frozen=True)
class CalledEquations:
    """Compiled equations that a kernel calls with a table of pointers to their arrays.

    Attributes
    ----------
    stream
        Operations of the equations.
    table
        Name of the record field that contains the table of pointers.
    changing
        Names of the equations' inputs that change between launches of the GPU program.
    """

    stream: Stream
    table: str
    changing: tuple[str, ...] = ()

    @property
    def entries(self) -> "TableEntries":
        """Entries of the table of pointers to the equations' arrays."""
        names = [port.name for port in self.stream.inputs]
        changing = frozenset(k for k, name in enumerate(names) if name in self.changing)
        return TableEntries(len(names), changing, len(names) + len(self.stream.outputs))


@dataclass(frozen=True)
class GpuProgram:
    """A GPU program as LLVM code, with the layout of the memory (image) of its runs."""

    # LLVM code, to be linked; the GPU kernel `ENTRY` takes the number of runs, their status codes,
    # the image and all arrays outside of the image.  Only runs with status code 0 are continued;
    # the result of the kernel becomes the new status code.
    texts: tuple[str, ...]
    parts: tuple[SharedValue, ...]  # numbers and arrays of a thread
    size: int  # count of numbers per run in the image
    block: int = BRANCHED_BLOCK  # threads per block
    near: int = 0  # doubles per thread in the shared memory of a block

    def ptx(self) -> str:
        """Return the PTX code of the program, from the cache or newly compiled.

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
        """Return the columns of the image at which a number or an array of a record is stored.

        The argument ``name`` is a field of the record. If the field is a table of pointers,
        ``entry`` selects one of its arrays; -1 selects the field itself. The returned slice is
        empty if the value is not stored in the image.
        """
        for part in self.parts:
            if any((path.name, path.entry) == (name, entry) for path in part.paths):
                return slice(part.place, part.place + part.count) if part.stored else slice(0, 0)
        raise KeyError(name)

    def row(self, thread: ThreadRecord) -> Array:
        """Return all numbers of a run as a row of the image, shape (size,)."""
        row = np.zeros(self.size)
        for part in self.parts:
            if part.stored:
                numbers = thread.array(part.paths[0]) if part.size else thread.value(part.paths[0])
                target = row if part.real else row.view(np.int64)
                target[part.place : part.place + np.size(numbers)] = numbers
        return row

    def take(self, row: Array, thread: ThreadRecord) -> None:
        """Copy changed numbers from a row of the image to the record of a run."""
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
    """Convert rows (runs, size) to the image, in which the numbers of runs are interleaved.

    The image is a flat array in which the numbers of `GROUP` runs at a time are interleaved.
    """
    padded = np.zeros((-(-len(rows) // GROUP) * GROUP, rows.shape[1]))
    padded[: len(rows)] = rows
    groups = padded.reshape(-1, GROUP, rows.shape[1])
    return np.ascontiguousarray(groups.transpose(0, 2, 1)).ravel()


def rows_of(image: Array, count: int) -> Array:
    """Convert the image in GPU memory to an array with one row per run, (count, size)."""
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
    """Build the GPU program of a kernel, one simulation run per thread.

    Parameters
    ----------
    kernel
        Kernel whose argument is one record and whose result is an int.
    threads
        Records of all runs. The arrays of all runs must have equal sizes, unless the kernel reads
        the sizes.
    called_by_field
        Kernel or equations to call, by name of the record field that contains their address on a
        CPU.
    changing
        Names of number fields that may change between launches of the program.
    outside
        Names of array fields that are too large to be copied to the thread and are accessed in
        place.
    near
        Number of doubles that a thread may store in the shared memory of its block when all
        registers are used. If ``near`` is not 0, loops are unrolled, and inputs of equations that
        are equal in all runs become constants. Near memory suits a kernel without branches that
        spends most time in equations; a kernel with branches is slower with longer code and needs
        0.

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
    inlined = re.sub(
        r"^(define .*) nounwind$", r"\1 alwaysinline nounwind", loops, flags=re.MULTILINE
    )
    texts = [inlined, library(MATHEMATICS)]
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
    """Return the LLVM code of a kernel, from a cache in memory if translated before."""
    return translate(kernel, dict(names), unrolled=unrolled)


def _common(
    parts: Sequence[SharedValue], thread: ThreadRecord, equations: CalledEquations
) -> dict[int, Array]:
    """Return the inputs of equations that are equal in all runs, by table entry."""
    return {
        path.entry: np.asarray(thread.array(path), dtype=float)
        for part in parts
        for path in part.paths
        if part.storage == "constant" and path.name == equations.table and path.entry >= 0
    }


def _near(doubles: int) -> str:
    """Return LLVM code for the function that locates a thread's part of shared memory.

    The parts of the threads of a warp are interleaved, and ``doubles`` is the size of a part.
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
    """Return the array, enlarged if it is a work array too small for the GPU code.

    The work array of equations is the last entry of their table of pointers. The CPU code of
    equations is divided differently, and may need a smaller work array than the GPU code.
    """
    sizes = [
        work_sizes[path.name]
        for path in part.paths
        if path.name in tables and path.entry == tables[path.name].last
    ]
    return replace(part, size=max(part.size, *sizes)) if sizes else part


def _equations(text: str, entry: str, operations: int) -> str:
    """Return the LLVM code of equations; short equations are marked for inlining."""
    inner = text.replace(") noinline nounwind", ") alwaysinline nounwind")
    if operations <= INLINED_OPERATIONS:
        return inner
    return re.sub(rf"(define void @{entry}\(.*\)) alwaysinline", r"\1 noinline", inner)
