"""Calls of NVIDIA's driver, which compiles and runs PTX code; no other package is needed."""

import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.constants import (
    DRIVER_LOG,
    DRIVER_SHARED,
    OLDEST_CAPABILITY,
    OLDEST_DRIVER,
    REGISTER_WARPS,
    WARP,
)
from flexarm.engine.gpu.dlpack import CUDA, DeviceArray
from flexarm.errors import DeviceError

LIBRARIES = {"win32": "nvcuda.dll", "linux": "libcuda.so.1"}
ERROR_LOG_BUFFER, ERROR_LOG_SIZE = 5, 6
MAJOR, SHARED = 75, 81  # device attributes, by the driver's numbers
MORE_SHARED = 8  # function attribute, by the driver's number: bytes of shared memory
OUT_OF_MEMORY = 2  # the driver's error code


HOST, DEVICE = 1, 2  # kinds of memory, by the driver's numbers
_SIDE = (
    ("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("kind", ctypes.c_int),
    ("host", ctypes.c_void_p), ("device", ctypes.c_uint64), ("array", ctypes.c_void_p),
    ("pitch", ctypes.c_size_t),
)  # fmt: skip


@functools.cache
def gpu() -> "Gpu":
    """Return the first GPU of this machine.

    Raises
    ------
    DeviceError
        If this machine has no usable NVIDIA GPU.
    """
    return Gpu()


class Gpu:
    """The first GPU of this machine, accessed through the driver."""

    def __init__(self) -> None:
        self._library = _driver()
        code = int(self._library.cuInit(0))
        if code:
            raise DeviceError(f"GPU: NVIDIA's driver does not start: {self._words(code)}")
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        if version.value < OLDEST_DRIVER:
            supported = f"{version.value // 1000}.{version.value % 1000 // 10}"
            raise DeviceError(
                f"GPU: NVIDIA's driver supports CUDA {supported}, and CUDA 11.0 is needed. Install "
                "a driver of version 450 or newer."
            )
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        major, shared = (self._attribute(number, device) for number in (MAJOR, SHARED))
        self.near = near_places(shared)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        if major < OLDEST_CAPABILITY:
            raise DeviceError(
                f"GPU: {self.name} is too old. A GPU of the Volta generation "
                "(2017) or newer is needed."
            )
        self._context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self.enter()

    def _attribute(self, number: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    def enter(self) -> None:
        """Select the context of the GPU for driver calls from this thread."""
        self.call("cuCtxSetCurrent", self._context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver, and raise a DeviceError if it fails."""
        code = int(getattr(self._library, name)(*arguments))
        if code:
            raise DeviceError(f"GPU: {name}: {self._words(code)}")

    def _words(self, code: int) -> str:
        text = ctypes.c_char_p()
        self._library.cuGetErrorString(code, ctypes.byref(text))
        words = (text.value or b"an unknown error").decode() + f" (error {code})"
        # A launch allocates memory too, for the values of all threads that are not in registers.
        advice = ". End other programs that use the GPU's memory." if code == OUT_OF_MEMORY else ""
        return words + advice

    @property
    def free(self) -> int:
        """Free GPU memory [bytes]."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return int(free.value)

    def finish(self) -> None:
        """Wait until the GPU has completed all work that was started."""
        self.call("cuCtxSynchronize")


def near_places(shared: int) -> int:
    """Return the shared memory per GPU thread [doubles] with as many threads as possible."""
    return (shared // REGISTER_WARPS - DRIVER_SHARED) // (8 * WARP)


def _driver() -> Any:
    """Return NVIDIA's driver library, loaded by ctypes."""
    name = LIBRARIES.get(sys.platform)
    try:
        if name is None:
            raise OSError
        return ctypes.CDLL(name)
    except OSError:
        raise DeviceError(
            "GPU: this machine has no NVIDIA driver (its library is not found). Leave "
            "device at 'cpu', or run on a machine with an NVIDIA GPU and its driver."
        ) from None


class GpuArray:
    """An array in GPU memory with a copy in CPU memory."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = np.ascontiguousarray(values)
        self.address = ctypes.c_uint64()
        size = ctypes.c_size_t(max(self.values.nbytes, 8))
        gpu().call("cuMemAlloc_v2", ctypes.byref(self.address), size)
        self.send()

    def send(self) -> None:
        """Copy the values from CPU memory to GPU memory."""
        if self.values.nbytes:
            host_address = ctypes.c_void_p(self.values.ctypes.data)
            gpu().call(
                "cuMemcpyHtoD_v2", self.address, host_address, ctypes.c_size_t(self.values.nbytes)
            )

    def fetch(self) -> NDArray[Any]:
        """Copy the values from GPU memory to CPU memory, and return them."""
        if self.values.nbytes:
            host_address = ctypes.c_void_p(self.values.ctypes.data)
            gpu().call(
                "cuMemcpyDtoH_v2", host_address, self.address, ctypes.c_size_t(self.values.nbytes)
            )
        return self.values

    def view(self, first: int, last: int, owner: object) -> DeviceArray:
        """Return columns of the array as a view of GPU memory (``last`` excluded).

        The GPU memory is not freed as long as the view is used.
        """
        return columns_in_place(self.values, int(self.address.value), first, last, CUDA, owner)

    def free(self) -> None:
        """Free the GPU memory of the array."""
        if self.address:
            gpu().call("cuMemFree_v2", self.address)
            self.address = ctypes.c_uint64()


class _Copy2d(ctypes.Structure):
    """Structure ``CUDA_MEMCPY2D`` of NVIDIA's driver: rows of bytes to copy."""

    _fields_ = (
        *((f"source_{name}", kind) for name, kind in _SIDE),
        *((f"target_{name}", kind) for name, kind in _SIDE),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class GpuMemory:
    """Doubles in GPU memory without a copy in CPU memory, read and written by rows."""

    def __init__(self, count: int) -> None:
        self.address = ctypes.c_uint64()
        size = ctypes.c_size_t(8 * max(count, 1))
        gpu().call("cuMemAlloc_v2", ctypes.byref(self.address), size)

    def repeat(self, block: NDArray[np.float64], times: int) -> None:
        """Fill the GPU memory with copies of a block."""
        self.put(block.reshape(1, -1), 0, block.size)
        begin, size = int(self.address.value), 8 * block.size
        written = 1
        while written < times:
            portion = min(written, times - written)
            target, count = ctypes.c_uint64(begin + written * size), ctypes.c_size_t(portion * size)
            gpu().call("cuMemcpyDtoD_v2", target, self.address, count)
            written += portion

    def put(self, rows: NDArray[np.float64], first: int, stride: int) -> None:
        """Copy rows (count, width) to GPU memory, `stride` doubles apart, starting at `first`."""
        self._copy(rows, first, stride, to_gpu=True)

    def get(self, rows: NDArray[np.float64], first: int, stride: int) -> NDArray[np.float64]:
        """Copy rows (count, width) from GPU memory to a new array, and return the array."""
        self._copy(rows, first, stride, to_gpu=False)
        return rows

    def _copy(self, rows: NDArray[np.float64], first: int, stride: int, *, to_gpu: bool) -> None:
        assert rows.flags.c_contiguous
        gpu_address, host = int(self.address.value) + 8 * first, rows.ctypes.data
        width = 8 * rows.shape[1]
        if len(rows) == 1 or 8 * stride == width:  # rows are contiguous
            target, size = ctypes.c_uint64(gpu_address), ctypes.c_size_t(rows.nbytes)
            if rows.size and to_gpu:
                gpu().call("cuMemcpyHtoD_v2", target, ctypes.c_void_p(host), size)
            elif rows.size:
                gpu().call("cuMemcpyDtoH_v2", ctypes.c_void_p(host), target, size)
            return
        host_side = {"kind": HOST, "host": host, "pitch": width}
        gpu_side = {"kind": DEVICE, "device": gpu_address, "pitch": 8 * stride}
        source, target_side = (host_side, gpu_side) if to_gpu else (gpu_side, host_side)
        fields = {f"source_{name}": value for name, value in source.items()}
        fields |= {f"target_{name}": value for name, value in target_side.items()}
        copy = _Copy2d(width=width, height=len(rows), **fields)
        if rows.size:
            gpu().call("cuMemcpy2DUnaligned_v2", ctypes.byref(copy))

    def free(self) -> None:
        """Free the allocated memory of the GPU."""
        if self.address:
            gpu().call("cuMemFree_v2", self.address)
            self.address = ctypes.c_uint64()


class Borrowed:
    """Address of an array in GPU memory that belongs to another package."""

    def __init__(self, pointer: int) -> None:
        self.address = ctypes.c_uint64(pointer)


def columns_in_place(
    values: NDArray[Any], pointer: int, first: int, last: int, device: int, owner: object
) -> DeviceArray:
    """Return columns of an array in GPU or CPU memory as a view (``last`` excluded)."""
    count, width = values.shape
    address = pointer + first * values.itemsize
    return DeviceArray(address, (count, last - first), (width, 1), (device, 0), owner)


class GpuKernel:
    """A GPU function (kernel) that NVIDIA's driver has compiled from PTX code.

    Parameters
    ----------
    text, entry
        PTX code, and the name of the kernel in it.
    block, near
        Number of threads per block, and number of doubles per thread in the shared memory of a
        block.
    """

    def __init__(self, text: str, entry: str, block: int, near: int = 0) -> None:
        self._block, self._shared = block, 8 * near * block
        log = ctypes.create_string_buffer(DRIVER_LOG)
        options = (ctypes.c_int * 2)(ERROR_LOG_BUFFER, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), DRIVER_LOG)
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            gpu().call(
                "cuModuleLoadDataEx",
                ctypes.byref(self._module),
                ctypes.c_char_p(text.encode()),
                2,
                options,
                values,
            )
        except DeviceError as error:
            raise DeviceError(f"{error}\n{log.value.decode(errors='replace')}".strip()) from None
        gpu().call(
            "cuModuleGetFunction", ctypes.byref(self._function), self._module, entry.encode()
        )
        if near:
            gpu().call("cuFuncSetAttribute", self._function, MORE_SHARED, self._shared)

    def launch(self, count: int, arrays: Sequence[GpuArray | GpuMemory | Borrowed]) -> None:
        """Start the kernel for ``count`` arms, one per thread, with arrays in GPU memory."""
        arguments = [ctypes.c_int64(count), *(array.address for array in arrays)]
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        size = (-(-count // self._block), 1, 1, self._block, 1, 1, self._shared)
        gpu().call("cuLaunchKernel", self._function, *size, None, pointers, None)
