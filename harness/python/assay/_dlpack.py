"""Tensors of dtypes that NumPy does not have, by DLPack and ctypes alone: arrays of integers that hold their bytes.

    array, name = array_of(x)      # uint16, "bfloat16"

Nothing is copied: the array lies in the producer's memory, and holds what keeps it there.
"""

from __future__ import annotations

import ctypes
from typing import Any, Optional

# (code, bits) of DLDataType, for those alone.
_NAMES = {(4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2"}


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _tensor_in(capsule: Any) -> _Tensor:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return _Tensor.from_address(get(capsule, b"dltensor"))


def array_of(x: Any) -> Optional[tuple[Any, str]]:
    """The array and the dtype's name as ml_dtypes has it; None for a tensor of another dtype. Precondition: it is on the processor."""
    import numpy

    # Of the unversioned kind, as nothing was said of a newer one. Whoever drops the capsule, unused as it is, lets go of the tensor.
    capsule = x.__dlpack__()
    t = _tensor_in(capsule)
    name = _NAMES.get((t.dtype.code, t.dtype.bits))
    if name is None or t.dtype.lanes != 1:
        return None
    dtype = numpy.dtype(f"u{t.dtype.bits // 8}")
    shape = tuple(t.shape[i] for i in range(t.ndim))
    if 0 in shape:
        return numpy.empty(shape, dtype), name
    steps = numpy.empty(shape, dtype).strides if not t.strides else tuple(t.strides[i] * dtype.itemsize for i in range(t.ndim))
    first = sum(min(0, (n - 1) * s) for n, s in zip(shape, steps))
    last = sum(max(0, (n - 1) * s) for n, s in zip(shape, steps))
    buffer = (ctypes.c_char * (last - first + dtype.itemsize)).from_address(t.data + t.byte_offset + first)
    buffer.capsule = capsule
    return numpy.ndarray(shape, dtype, buffer, -first, steps), name
