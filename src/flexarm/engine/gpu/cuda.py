"""NVIDIA's driver, by which PTX runs on a GPU: no other package is needed."""

import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.emit.keep import WARP
from flexarm.engine.gpu.dlpack import CUDA, DeviceArray
from flexarm.errors import DeviceError

LIBRARIES = {"win32": "nvcuda.dll", "linux": "libcuda.so.1"}
OLDEST = 11000  # of the driver: CUDA 11.0, the first that takes PTX 7.0
LOG, ERROR_LOG_BUFFER, ERROR_LOG_SIZE = 8192, 5, 6
MAJOR, SHARED = 75, 81  # of a device: numbers of its attributes
VOLTA = 7
WARPS = 8  # that registers hold at once, each thread with all that it can have
RESERVED = 1024  # bytes of a block's memory that the driver takes
MORE_SHARED = 8  # number of a function's attribute: bytes of a block's memory
OUT_OF_MEMORY = 2  # the driver's number of it


@functools.cache
def gpu() -> "Gpu":
    """Return the first GPU of this machine.

    Raises
    ------
    DeviceError
        If there is none that can be used.
    """
    return Gpu()


class Gpu:
    """The first GPU of this machine."""

    def __init__(self) -> None:
        self._library = _driver()
        code = int(self._library.cuInit(0))
        if code:
            raise DeviceError(f"GPU: NVIDIA's driver does not start: {self._words(code)}")
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        if version.value < OLDEST:
            have = f"{version.value // 1000}.{version.value % 1000 // 10}"
            raise DeviceError(
                f"GPU: NVIDIA's driver knows CUDA {have}, and 11.0 is needed. Install a "
                "driver of version 450 or newer."
            )
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        major, shared = (self._attribute(number, device) for number in (MAJOR, SHARED))
        self.near = near_places(shared)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        if major < VOLTA:
            raise DeviceError(f"GPU: {self.name} is too old. It must be a Volta (2017) or newer.")
        self._context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self.enter()

    def _attribute(self, number: int, device: ctypes.c_int) -> int:
        found = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(found), number, device)
        return found.value

    def enter(self) -> None:
        """Select its context for the calls of this thread."""
        self.call("cuCtxSetCurrent", self._context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver."""
        code = int(getattr(self._library, name)(*arguments))
        if code:
            raise DeviceError(f"GPU: {name}: {self._words(code)}")

    def _words(self, code: int) -> str:
        text = ctypes.c_char_p()
        self._library.cuGetErrorString(code, ctypes.byref(text))
        words = (text.value or b"an unknown error").decode() + f" (error {code})"
        # A launch takes memory too: what its code keeps beside registers, for all threads at once.
        advice = "; end what else uses the GPU's memory" if code == OUT_OF_MEMORY else ""
        return words + advice

    @property
    def free(self) -> int:
        """Free memory [bytes]."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return int(free.value)

    def finish(self) -> None:
        """Wait until all is done that was launched."""
        self.call("cuCtxSynchronize")


def near_places(shared: int) -> int:
    """Return how many doubles per thread fit in so many bytes of shared memory, for all warps."""
    return (shared // WARPS - RESERVED) // (8 * WARP)


def _driver() -> Any:
    """Load the driver's library."""
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
    """Numbers in the memory of the GPU."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = np.ascontiguousarray(values)
        self.address = ctypes.c_uint64()
        size = ctypes.c_size_t(max(self.values.nbytes, 8))
        gpu().call("cuMemAlloc_v2", ctypes.byref(self.address), size)
        self.send()

    def send(self) -> None:
        """Copy the values to the GPU."""
        if self.values.nbytes:
            place = ctypes.c_void_p(self.values.ctypes.data)
            gpu().call("cuMemcpyHtoD_v2", self.address, place, ctypes.c_size_t(self.values.nbytes))

    def fetch(self) -> NDArray[Any]:
        """Copy the values back, and return them."""
        if self.values.nbytes:
            place = ctypes.c_void_p(self.values.ctypes.data)
            gpu().call("cuMemcpyDtoH_v2", place, self.address, ctypes.c_size_t(self.values.nbytes))
        return self.values

    def view(self, first: int, last: int, owner: object) -> DeviceArray:
        """Return columns of the array in place; their owner lives as long as they are used."""
        return columns_in_place(self.values, int(self.address.value), first, last, CUDA, owner)

    def free(self) -> None:
        """Free the memory."""
        if self.address:
            gpu().call("cuMemFree_v2", self.address)
            self.address = ctypes.c_uint64()


class Borrowed:
    """Numbers in GPU memory owned by another package."""

    def __init__(self, pointer: int) -> None:
        self.address = ctypes.c_uint64(pointer)


def columns_in_place(
    values: NDArray[Any], pointer: int, first: int, last: int, device: int, owner: object
) -> DeviceArray:
    """Return columns of an array whose copy lies at an address of a device."""
    count, width = values.shape
    place = pointer + first * values.itemsize
    return DeviceArray(place, (count, last - first), (width, 1), (device, 0), owner)


class GpuKernel:
    """A kernel of a PTX text, compiled by the driver.

    Parameters
    ----------
    text, entry
        The text, and the kernel's name.
    block, near
        Threads of a block, and doubles of a thread in the memory of its block.
    """

    def __init__(self, text: str, entry: str, block: int, near: int = 0) -> None:
        self._block, self._shared = block, 8 * near * block
        log = ctypes.create_string_buffer(LOG)
        options = (ctypes.c_int * 2)(ERROR_LOG_BUFFER, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG)
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

    def launch(self, count: int, arrays: Sequence[GpuArray | Borrowed]) -> None:
        """Run the kernel for a number of arms with their arrays."""
        given = [ctypes.c_int64(count), *(each.address for each in arrays)]
        pointers = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        size = (-(-count // self._block), 1, 1, self._block, 1, 1, self._shared)
        gpu().call("cuLaunchKernel", self._function, *size, None, pointers, None)
