"""Assay's CPU kernels, called from Python by the table of assay/kernel.h.

    kernels = Kernels("build/release/optimized/libassay_cpu_plugin.so")
    y = kernels("prelu", [x, slopes], [x.shape])[0]

Any plugin can be called like this. Arguments come in the order of the schema (`assay ops prelu` prints it).
"""

import ctypes
from ctypes import POINTER, Structure, Union, c_char_p, c_double, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

import numpy

DTYPES = {numpy.dtype("f4"): (2, 32), numpy.dtype("f8"): (2, 64), numpy.dtype("i8"): (0, 64)}


class Device(Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class Dtype(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("dtype", Dtype),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]

    @staticmethod
    def of(array):
        sizes = (c_int64 * array.ndim)(*array.shape)
        steps = (c_int64 * array.ndim)(*[s // array.itemsize for s in array.strides])
        code, bits = DTYPES[array.dtype]
        return Tensor(array.ctypes.data, Device(1, 0), array.ndim, Dtype(code, bits, 1), sizes, steps, 0)


class As(Union):
    _fields_ = [("tensor", POINTER(Tensor)), ("integer", c_int64), ("real", c_double), ("string", c_char_p),
                ("integers", POINTER(c_int64))]


class Value(Structure):
    _fields_ = [("kind", c_uint32), ("count", c_uint32), ("as_", As)]

    @staticmethod
    def of(argument):
        if argument is None:
            return Value(0, 1)
        if isinstance(argument, numpy.ndarray):
            return Value(1, 1, As(tensor=ctypes.pointer(Tensor.of(argument))))
        if isinstance(argument, bool):
            return Value(5, 1, As(integer=argument))
        if isinstance(argument, int):
            return Value(3, 1, As(integer=argument))
        if isinstance(argument, float):
            return Value(4, 1, As(real=argument))
        if isinstance(argument, str):
            return Value(6, 1, As(string=argument.encode()))
        return Value(8, len(argument), As(integers=(c_int64 * len(argument))(*argument)))


class Call(Structure):
    _fields_ = [("size", c_uint32), ("argument_count", c_uint32), ("arguments", POINTER(Value)),
                ("output_count", c_uint32), ("message_capacity", c_uint32), ("outputs", POINTER(POINTER(Tensor))),
                ("message", c_char_p), ("kernel", c_void_p), ("information", c_char_p), ("information_capacity", c_uint64)]


class Kernel(Structure):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("schema", c_char_p), ("name", c_char_p),
                ("run", ctypes.CFUNCTYPE(c_int, POINTER(Call))), ("refuses", c_void_p),
                ("unavailable", ctypes.CFUNCTYPE(c_char_p)), ("contract", c_char_p), ("source", c_char_p),
                ("environment", c_char_p), ("context", c_void_p)]


class Plugin(Structure):
    _fields_ = [("abi_version", c_uint32), ("kernel_size", c_uint32), ("kernel_count", c_uint64), ("kernels", c_void_p),
                ("name", c_char_p), ("version", c_char_p)]


class Kernels:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.assay_plugin_v1.restype = POINTER(Plugin)
        plugin = self.library.assay_plugin_v1().contents
        self.by_operator = {}
        for i in range(plugin.kernel_count):
            kernel = Kernel.from_address(plugin.kernels + i * plugin.kernel_size)
            operator = kernel.schema.decode().split("(")[0]
            if not kernel.unavailable or kernel.unavailable() is None:
                self.by_operator.setdefault(operator, kernel)  # the first one that this machine has is the widest

    def __call__(self, operator, arguments, shapes, dtypes=None):
        """The outputs: new arrays of these shapes, of f32 unless `dtypes` says otherwise."""
        kernel = self.by_operator[operator]
        outputs = [numpy.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes or ["f4"] * len(shapes))]
        message = ctypes.create_string_buffer(512)
        values = (Value * len(arguments))(*map(Value.of, arguments))
        pointers = (POINTER(Tensor) * len(outputs))(*[ctypes.pointer(Tensor.of(o)) for o in outputs])
        call = Call(ctypes.sizeof(Call), len(values), values, len(outputs), len(message), pointers,
                    ctypes.cast(message, c_char_p), ctypes.addressof(kernel), None, 0)
        if kernel.run(ctypes.byref(call)) != 0:
            raise ValueError(f"{operator}: {message.value.decode()}")
        return outputs
