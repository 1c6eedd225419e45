"""`DeviceArray`: an array of the GPU that other libraries take without a copy, by DLPack, too."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

CPU, CUDA = 1, 2
"""Kinds of devices of DLPack that arrays here may be on."""

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
"""Kinds of numbers of DLPack by those of NumPy."""

NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_held: dict[int, Any] = {}
"""What consumers of capsules still look at, by the address of its record."""


@_Deleter
def _release(managed: Any) -> None:
    _held.pop(ctypes.addressof(managed.contents), None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _forget(capsule: int) -> None:
    """A capsule that nobody took is gone."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes, api.PyCapsule_GetPointer.argtypes = ([ctypes.c_void_p, ctypes.c_char_p],) * 2
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    if api.PyCapsule_IsValid(capsule, NAME):
        _held.pop(api.PyCapsule_GetPointer(capsule, NAME), None)


def capsule(interface: Mapping[str, Any], owner: Any, device: tuple[int, int]) -> Any:
    """A capsule of DLPack of an array as `__cuda_array_interface__` (or NumPy's) describes it.

    Args:
        interface: its shape, strides [bytes] or None, typestr and data.
        owner: what keeps its memory.
        device: kind and number of where it is.
    """
    kind, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    given = interface.get("strides")
    steps = np.empty(shape, np.bool_).strides if given is None else tuple(s // kind.itemsize for s in given)
    sizes, strides = ((ctypes.c_int64 * max(1, len(shape)))(*x) for x in (shape, steps))
    tensor = _Tensor(interface["data"][0], *device, len(shape), CODES[kind.kind], 8 * kind.itemsize, 1)
    tensor.shape, tensor.strides = (ctypes.cast(x, ctypes.POINTER(ctypes.c_int64)) for x in (sizes, strides))
    managed = _Managed(tensor, None, _release)
    _held[ctypes.addressof(managed)] = managed, sizes, strides, owner
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, type(_forget)]
    return new(ctypes.addressof(managed), NAME, _forget)


class DeviceArray:
    """A view of memory of the GPU; what else an array of `numba.cuda` has, such as `copy_to_host`, it has, too.

    Args:
        there: what describes itself by `__cuda_array_interface__`, such as an array of `numba.cuda`.
        owner: what keeps the memory.
        device: number of the GPU.
    """

    def __init__(self, there: Any, owner: Any, device: int = 0) -> None:
        self._there, self._owner, self._device = there, owner, device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._there.__cuda_array_interface__

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self._device

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """A capsule; the kernels here run on the stream that PyTorch is on, else on the default one."""
        return capsule(self.__cuda_array_interface__, (self._owner, self._there), self.__dlpack_device__())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """A copy on this side."""
        here = self._there.copy_to_host()
        return here if dtype is None else here.astype(dtype)

    def __getitem__(self, index: Any) -> Any:
        return self._there[index]

    def __len__(self) -> int:
        return int(self._there.shape[0])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._there, name)
