"""A GPU for machines without one: the program of a thread, run for one arm after the other."""

import ctypes
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy.typing import NDArray

from flexarm.engine.compile import host, load_object, machine
from flexarm.engine.constants import WARP
from flexarm.engine.gpu.cuda import columns_in_place
from flexarm.engine.gpu.dlpack import CPU, DeviceArray
from flexarm.integrate.batch import batch, engines, gpu
from flexarm.loops.ptx import GpuProgram

NEAR = 8  # doubles of a thread in the memory of its block
REGISTERS = {"ctaid": 0, "ntid": 0, "tid": 1}  # one block: the thread's number is its arm's


# The GPU's instruction gives the first 20 bits, and takes and gives 0 for what has fewer digits.
ROUGH = """define internal double @flushed(double %x) {
%bits = bitcast double %x to i64
%exponent = and i64 %bits, 9218868437227405312
%tiny = icmp eq i64 %exponent, 0
%zero = fmul double %x, 0.0
%y = select i1 %tiny, double %zero, double %x
ret double %y
}
define internal double @rough(double %x) {
%some = call double @flushed(double %x)
%all = fdiv double 1.0, %some
%bits = bitcast double %all to i64
%first = and i64 %bits, -4294967296
%cut = bitcast i64 %first to double
%y = call double @flushed(double %cut)
ret double %y
}"""


class EmulatedGpu:
    """What a batch asks of a GPU."""

    free, near = 10**9, NEAR

    def enter(self) -> None: ...

    def finish(self) -> None: ...


class HostArray:
    """An array that stays where it is."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = np.ascontiguousarray(values)
        self.far = self.values.copy()

    def send(self) -> None:
        self.far[...] = self.values

    def fetch(self) -> NDArray[Any]:
        self.values[...] = self.far
        return self.values

    def view(self, first: int, last: int, owner: object) -> DeviceArray:
        return columns_in_place(self.far, self.far.ctypes.data, first, last, CPU, owner)

    def free(self) -> None:
        self.far[...] = -7  # what is read after this is wrong


class HostMemory:
    """Doubles that stay where they are."""

    def __init__(self, count: int) -> None:
        self.far = np.full(max(count, 1), np.nan)

    def repeat(self, block: NDArray[np.float64], times: int) -> None:
        self.far[: times * block.size] = np.tile(block, times)

    def _rows(self, rows: NDArray[np.float64], first: int, stride: int) -> NDArray[np.float64]:
        assert rows.flags.c_contiguous
        assert first + (len(rows) - 1) * stride + rows.shape[1] <= len(self.far)
        return np.lib.stride_tricks.as_strided(self.far[first:], rows.shape, (8 * stride, 8))

    def put(self, rows: NDArray[np.float64], first: int, stride: int) -> None:
        self._rows(rows, first, stride)[:] = rows

    def get(self, rows: NDArray[np.float64], first: int, stride: int) -> NDArray[np.float64]:
        rows[:] = self._rows(rows, first, stride)
        return rows

    def free(self) -> None:
        self.far[...] = -7


class HostBorrowed:
    """Numbers that another package keeps."""

    def __init__(self, pointer: int) -> None:
        self.far = np.ctypeslib.as_array(
            ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double)), (1,)
        )


class HostKernel:
    """The kernel, compiled for the processor."""

    def __init__(self, program: GpuProgram, entry: str, block: int, near: int = 0) -> None:
        target = machine(host(), 0)
        self._engine = load_object(bytes(target.emit_object(program.linked(target, host()))))
        self._entry = self._engine.get_function_address(entry)
        self._now = self._engine.get_global_value_address("now")

    def launch(self, count: int, arrays: Sequence[HostArray | HostMemory | HostBorrowed]) -> None:
        now = ctypes.c_int32.from_address(self._now)
        pointers = [ctypes.c_void_p(each.far.ctypes.data) for each in arrays]
        call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *(ctypes.c_void_p for _ in arrays))
        for arm in reversed(range(count)):
            now.value = arm
            call(self._entry)(count, *pointers)


def for_processors(texts: Sequence[str]) -> tuple[str, ...]:
    """Exchange what only a GPU has: its registers, and the word for kernels."""
    entry = texts[-1].replace("define ptx_kernel void", "define void")
    for name, is_now in REGISTERS.items():
        intrinsic = f"@llvm.nvvm.read.ptx.sreg.{name}.x()"
        value = "load i32, ptr @now" if is_now else "add i32 0, 0"
        body = f"define internal i32 @{name}() {{\n%x = {value}\nret i32 %x\n}}"
        entry = entry.replace(f"declare i32 {intrinsic}", body).replace(intrinsic, f"@{name}()")
    # A thread alone has the memory of its block for itself.
    size = NEAR * WARP
    shared, own = "external addrspace(3) global [0", f"internal addrspace(3) global [{size}"
    entry = entry.replace(f"{shared} x double]", f"{own} x double] undef")
    entry = entry.replace("@near, i32 %place", "@near, i32 0")
    return (*map(on_processors, texts[:-1]), f"@now = global i32 0\n{entry}")


def on_processors(text: str) -> str:
    """Let the thread fill the tables of its block alone, and give it a rough reciprocal."""
    there = "call i32 @llvm.nvvm.read.ptx.sreg."
    text = text.replace(f"%first = {there}tid.x()", "%first = add i32 0, 0")
    text = text.replace(f"%step = {there}ntid.x()", "%step = add i32 1, 0")
    text = text.replace("call void @llvm.nvvm.barrier0()", "")
    text = text.replace("declare double @llvm.nvvm.rcp.approx.ftz.d(double)", ROUGH)
    return text.replace("@llvm.nvvm.rcp.approx.ftz.d", "@rough")


@pytest.fixture
def emulated_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches run here."""
    llvm.initialize_native_target()

    def compiled(self: GpuProgram) -> GpuProgram:
        return GpuProgram(for_processors(self.texts), self.parts, self.size)

    monkeypatch.setattr(GpuProgram, "ptx", compiled)
    monkeypatch.setattr(batch, "CUDA", CPU)
    monkeypatch.setattr(engines, "Borrowed", HostBorrowed)
    for module in (gpu, engines):
        monkeypatch.setattr(module, "gpu", EmulatedGpu)
        monkeypatch.setattr(module, "GpuArray", HostArray)
        monkeypatch.setattr(module, "GpuKernel", HostKernel)
    monkeypatch.setattr(gpu, "GpuMemory", HostMemory)
