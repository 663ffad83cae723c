"""The structures of assay/kernel.h for ctypes, field for field.

    call = Call.from_address(address)
    call.arguments[0].as_.tensor.contents.shape[0]
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, Union, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

ABI_VERSION = 1
OK, REFUSED = 0, -1

# assay_kind
NONE, TENSOR, TENSORS, INT, DOUBLE, BOOL, STRING, DTYPE, INTS, DOUBLES, BOOLS, MEMORY_FORMAT = range(12)


class Device(Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class Dtype(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("dtype", Dtype),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class As(Union):
    _fields_ = [("tensor", POINTER(Tensor)), ("tensors", POINTER(POINTER(Tensor))), ("integer", c_int64), ("real", c_double),
                ("string", c_char_p), ("dtype", Dtype), ("integers", POINTER(c_int64)), ("reals", POINTER(c_double))]


class Value(Structure):
    _fields_ = [("kind", c_uint32), ("count", c_uint32), ("as_", As)]


class Call(Structure):
    _fields_ = [("size", c_uint32), ("argument_count", c_uint32), ("arguments", POINTER(Value)), ("output_count", c_uint32),
                ("message_capacity", c_uint32), ("outputs", POINTER(POINTER(Tensor))), ("message", POINTER(c_char)),
                ("kernel", c_void_p), ("information", POINTER(c_char)), ("information_capacity", c_uint64)]


Run = ctypes.CFUNCTYPE(c_int, POINTER(Call))


class Kernel(Structure):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("schema", c_char_p), ("name", c_char_p), ("run", Run), ("refuses", Run),
                ("unavailable", c_void_p), ("contract", c_char_p), ("source", c_char_p), ("environment", c_char_p),
                ("context", c_void_p)]


class Plugin(Structure):
    _fields_ = [("abi_version", c_uint32), ("kernel_size", c_uint32), ("kernel_count", c_uint64), ("kernels", POINTER(Kernel)),
                ("name", c_char_p), ("version", c_char_p)]


def put_text(text: str, buffer, capacity: int) -> None:
    """Writes as much of the text as there is room for, and a zero after it."""
    data = text.encode("utf-8", "replace")[: max(0, capacity - 1)]
    ctypes.memmove(buffer, data + b"\0", len(data) + 1)
