"""Arrays whose memory is shared with torch, JAX, CuPy and NumPy through DLPack."""

import ctypes
import math
from collections.abc import Sequence
from typing import Any

from flexarm.errors import FlexarmError

CPU, CUDA = 1, 2  # devices, by the numbers of DLPack
FLOAT = 2  # DLPack's type code of floats
NAME, VERSIONED = b"dltensor", b"dltensor_versioned"
DOUBLE = ctypes.sizeof(ctypes.c_double)  # [bytes]


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    """Tensor structure of DLPack 1.0 and later, with flags that permit writing."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_python = ctypes.PyDLL(None)
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, _Deleter)
_python.PyCapsule_IsValid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.c_void_p, ctypes.c_char_p)

# Objects that must stay alive until another package releases an array, by address of its DLPack
# structure.
_lent: dict[int, tuple[Any, ...]] = {}


def _return(address: int) -> None:
    """Drop the references to a shared array after another package has released it."""
    _lent.pop(address, None)


def _drop(capsule: int) -> None:
    """Drop the references to a shared array that no other package has used."""
    for name in (NAME, VERSIONED):
        if _python.PyCapsule_IsValid(capsule, name):
            _lent.pop(_python.PyCapsule_GetPointer(capsule, name), None)


_returned, _dropped = _Deleter(_return), _Deleter(_drop)


class DeviceArray:
    """An array of doubles in CPU or GPU memory, together with the owner of the memory.

    Parameters
    ----------
    pointer
        Address of the first number of the array.
    shape, strides
        Shape of the array, and its strides counted in doubles.
    device
        Kind and number of the device as in DLPack: (1, 0) is the CPU, (2, 0) the first NVIDIA GPU.
    owner
        Object that stays alive as long as the array is used.
    """

    def __init__(
        self,
        pointer: int,
        shape: Sequence[int],
        strides: Sequence[int],
        device: tuple[int, int],
        owner: object,
    ) -> None:
        self.pointer, self.shape, self._strides = pointer, tuple(shape), tuple(strides)
        self._device, self._owner = device, owner

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return kind and number of the device that has the memory, as DLPack defines them."""
        return self._device

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: object = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule, by which other packages use the array without a copy.

        Other packages need not wait, since no operation on the array is pending.
        """
        if copy:
            raise BufferError("copy=True cannot be used, since the array is shared in place")
        size = len(self.shape)
        lengths = (ctypes.c_int64 * size)(*self.shape)
        strides = (ctypes.c_int64 * size)(*self._strides)
        tensor = _Tensor(self.pointer, (ctypes.c_int32 * 2)(*self._device), size, FLOAT, 64, 1,
                         lengths, strides, 0)  # fmt: skip
        versioned = max_version is not None and max_version[0] >= 1
        managed: ctypes.Structure = _Managed(tensor, None, _returned)
        if versioned:
            managed = _Versioned((ctypes.c_uint32 * 2)(1, 0), None, _returned, 0, tensor)
        address = ctypes.addressof(managed)
        _lent[address] = (managed, lengths, strides, self._owner)
        return _python.PyCapsule_New(address, VERSIONED if versioned else NAME, _dropped)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Description of an array in GPU memory for CuPy and Numba."""
        if self._device[0] != CUDA:
            raise AttributeError("the array is not in the memory of a GPU")
        strides = tuple(DOUBLE * stride for stride in self._strides)
        return {"shape": self.shape, "typestr": "<f8", "data": (self.pointer, False),
                "strides": strides, "version": 3}  # fmt: skip


def pointer_in_place(array: Any, shape: tuple[int, ...], device: int) -> int | None:
    """Return the address of another package's array; None if it is on another device.

    Raises
    ------
    FlexarmError
        If the array is on the expected device, but is not an array of doubles in row-major order
        with the given shape.
    """
    if not hasattr(array, "__dlpack_device__") or int(array.__dlpack_device__()[0]) != device:
        return None
    capsule = array.__dlpack__()
    address = _python.PyCapsule_GetPointer(id(capsule), NAME)
    tensor = ctypes.cast(address, ctypes.POINTER(_Managed)).contents.tensor
    actual_shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    rows = tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
    doubles = (tensor.code, tensor.bits, tensor.lanes) == (FLOAT, 64, 1)
    # The stride along an axis of length 1 is arbitrary.
    wrong_strides = strides is not None and any(
        n > 1 and a != b for n, a, b in zip(shape, strides, rows, strict=False)
    )
    if not doubles or actual_shape != shape or wrong_strides:
        raise FlexarmError(
            f"must be a C-contiguous array of float64 with shape {shape}, got shape {actual_shape} "
            f"with {tensor.bits} bits per number"
        )
    return int(tensor.data or 0) + int(tensor.byte_offset)
