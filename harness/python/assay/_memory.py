"""Tensors in memory that a worker was given, as arrays of a library; and what a function returned, back into such memory.

    x = NUMPY.tensor(call.arguments[0].as_.tensor.contents)
    store(call.outputs[0].contents, function(x), "result")

Nothing is copied on the way in: an array lies in the worker's own memory, between guard pages.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from . import _kernel as abi
from ._tensors import DTYPES

# (code, bits) of DLPack's DLDataType: Assay's name, and of an array of NumPy that holds the same bytes.
_DTYPES = {
    (0, 8): ("i8", "i1"), (0, 16): ("i16", "i2"), (0, 32): ("i32", "i4"), (0, 64): ("i64", "i8"), (1, 8): ("u8", "u1"), (2, 16): ("f16", "f2"),
    (2, 32): ("f32", "f4"), (2, 64): ("f64", "f8"), (4, 16): ("bf16", "u2"), (6, 8): ("bool", "?"), (10, 8): ("f8e4m3", "u1"),
    (12, 8): ("f8e5m2", "u1"),
}
# By the names that libraries give them, which are the same in all.
_THEIRS = {ours: theirs for theirs, ours in DTYPES.items()}
# Those that NumPy does not have.
_NARROW = ("bf16", "f8e4m3", "f8e5m2")


class Unsupported(Exception):
    """A dtype that the library does not have: such calls are refused beforehand, and counted."""


class WrongResult(Exception):
    """What a function returned is no result of its operator."""


def dtype_name(dtype: abi.Dtype) -> str:
    known = _DTYPES.get((dtype.code, dtype.bits))
    if known is None:
        raise Unsupported(f"dtype with code {dtype.code} and {dtype.bits} bits")
    return known[0]


def numpy_code(dtype: abi.Dtype) -> str:
    """Of an array that holds the same bytes."""
    return _DTYPES[(dtype.code, dtype.bits)][1]


def lacks(library_name: str) -> list:
    """Names of dtypes that the library does not have here."""
    arrays = library(library_name)

    def is_lacking(code) -> bool:
        try:
            arrays.dtype(abi.Dtype(*code, 1))
            return False
        except Unsupported:
            return True

    return [name for code, (name, _) in _DTYPES.items() if is_lacking(code)]


def codes_of_names() -> dict:
    """{"f32": (code, bits)}"""
    return {name: code for code, (name, _) in _DTYPES.items()}


def _bytes_as_array(t: abi.Tensor, writeable: bool, numbers: bool = True):
    """An array of NumPy; bf16 and f8 as the integers of the same size. Without numbers: of other memory, which holds zeros."""
    import numpy

    dtype = numpy.dtype(_DTYPES[(t.dtype.code, t.dtype.bits)][1])
    shape = tuple(t.shape[i] for i in range(t.ndim))
    steps = tuple(t.strides[i] * dtype.itemsize for i in range(t.ndim))
    if 0 in shape:
        return numpy.empty(shape, dtype)
    # The smallest and the largest address that an element has.
    first = sum(min(0, (n - 1) * s) for n, s in zip(shape, steps))
    last = sum(max(0, (n - 1) * s) for n, s in zip(shape, steps))
    size = last - first + dtype.itemsize
    buffer = (ctypes.c_char * size).from_address(t.data + first) if numbers else bytearray(size)
    array = numpy.ndarray(shape, dtype, buffer, -first, steps)
    array.flags.writeable = writeable
    return array


class _Numpy:
    name = "numpy"

    def tensor(self, t: abi.Tensor, writeable: bool = False):
        return self.of_array(_bytes_as_array(t, writeable), t.dtype)

    def of_array(self, array, dtype: abi.Dtype):
        """The same memory, of an array as _bytes_as_array() makes them."""
        return array.view(self.dtype(dtype)) if dtype_name(dtype) in _NARROW else array

    def dtype(self, dtype: abi.Dtype):
        import numpy

        name = dtype_name(dtype)
        if name not in _NARROW:
            return numpy.dtype(_DTYPES[(dtype.code, dtype.bits)][1])
        try:
            import ml_dtypes

            return numpy.dtype(getattr(ml_dtypes, _THEIRS[name]))
        except ImportError:
            raise Unsupported(f"{name}: NumPy has no such dtype, and the package ml_dtypes is not there") from None

    def memory_format(self, number: int) -> Any:
        return ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")[number]


class _Torch:
    name = "torch"
    # Where tensors go before a kernel has them: "cpu", or a device that torch knows.
    def __init__(self, device: str = "cpu"):
        self.device = device

    def tensor(self, t: abi.Tensor, writeable: bool = False):
        # Memory that may not be written is kept so by the processor. torch warns of an array that says so, too.
        return self.of_array(_bytes_as_array(t, True), t.dtype)

    def of_array(self, array, dtype: abi.Dtype):
        import torch

        wanted = self.dtype(dtype)
        if any(s < 0 for s in array.strides):
            raise Unsupported("a tensor with a negative stride: torch has none")
        if array.dtype.kind == "u" and array.dtype.itemsize > 1:
            array = array.view(f"i{array.dtype.itemsize}")
        tensor = torch.from_numpy(array)
        if tensor.dtype != wanted:
            tensor = tensor.view(wanted)
        return tensor if self.device == "cpu" else tensor.to(self.device)

    def dtype(self, dtype: abi.Dtype):
        import torch

        name = dtype_name(dtype)
        found = getattr(torch, _THEIRS[name], None)
        if found is None:
            raise Unsupported(f"{name}: torch {torch.__version__} has no such dtype")
        return found

    def memory_format(self, number: int) -> Any:
        import torch

        return (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)[number]


class _Jax(_Numpy):
    name = "jax"

    def of_array(self, array, dtype: abi.Dtype):
        import jax.numpy

        made = jax.numpy.asarray(super().of_array(array, dtype))
        if str(made.dtype) != str(super().dtype(dtype)):
            raise Unsupported(f"{dtype_name(dtype)}: jax makes {made.dtype} of it; set jax_enable_x64")
        return made


NUMPY = _Numpy()


class WithoutNumbers:
    """Tensors of a library with the shapes, dtypes and strides that a call has, and zeros for its numbers."""

    def __init__(self, arrays):
        self._arrays = arrays

    def tensor(self, t: abi.Tensor):
        return self._arrays.of_array(_bytes_as_array(t, True, numbers=False), t.dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arrays, name)


def library(name: str, device: str = "cpu"):
    """Arrays of "numpy", "torch" or "jax"."""
    made = {"numpy": lambda: NUMPY, "torch": lambda: _Torch(device), "jax": _Jax}.get(name)
    if made is None:
        raise ValueError(f"tensors={name!r}: there are numpy, torch and jax")
    return made()


def _result_as_array(result: Any):
    """(array of NumPy that holds its bytes, Assay's name of its dtype)."""
    import numpy

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(result, torch.Tensor):
        result = result.detach().resolve_conj().resolve_neg() if hasattr(result, "resolve_conj") else result.detach()
        result = result.cpu()
        theirs = str(result.dtype).rpartition(".")[2]
        name = DTYPES.get(theirs, theirs)
        if name in _NARROW:
            result = result.contiguous().view(torch.int16 if name == "bf16" else torch.uint8)
        return result.numpy(), name
    if not isinstance(result, (numpy.ndarray, numpy.generic)) and not hasattr(result, "__array__") and hasattr(result, "__dlpack__"):
        result = numpy.from_dlpack(result)
    array = numpy.asarray(result)
    name = DTYPES.get(array.dtype.name, array.dtype.name)
    return (array.view(f"u{array.dtype.itemsize}") if name in _NARROW else array), name


def store(t: abi.Tensor, result: Any, what: str) -> None:
    """Writes a result to where the caller wants it. Raises WrongResult for another shape or dtype."""
    import numpy

    if result is None:
        raise WrongResult(f"{what} is None")
    try:
        array, name = _result_as_array(result)
    except Exception as error:  # of whatever was returned
        raise WrongResult(f"{what} is {type(result).__name__}, no tensor: {error}") from None
    wanted = dtype_name(t.dtype)
    shape = tuple(t.shape[i] for i in range(t.ndim))
    if isinstance(result, (bool, int, float)) and shape == ():
        array = numpy.asarray(result, _DTYPES[(t.dtype.code, t.dtype.bits)][1]) if wanted not in _NARROW else array
        name = wanted if wanted not in _NARROW else name
    if array.dtype == object or name != wanted or array.shape != shape:
        raise WrongResult(f"{what} is {name}{list(array.shape)}, where the operator gives {wanted}{list(shape)}")
    _bytes_as_array(t, True)[...] = array


def argument(value: abi.Value, arrays) -> Any:
    """An argument of a call, as a function of Python gets it."""
    kind, n, as_ = value.kind, value.count, value.as_
    if kind == abi.NONE:
        return None
    if kind == abi.TENSOR:
        return arrays.tensor(as_.tensor.contents)
    if kind == abi.TENSORS:
        return [arrays.tensor(as_.tensors[i].contents) if as_.tensors[i] else None for i in range(n)]
    if kind == abi.INT:
        return as_.integer
    if kind == abi.DOUBLE:
        return as_.real
    if kind == abi.BOOL:
        return bool(as_.integer)
    if kind == abi.STRING:
        return as_.string.decode()
    if kind == abi.DTYPE:
        return arrays.dtype(as_.dtype)
    if kind == abi.INTS:
        return [as_.integers[i] for i in range(n)]
    if kind == abi.BOOLS:
        return [bool(as_.integers[i]) for i in range(n)]
    if kind == abi.DOUBLES:
        return [as_.reals[i] for i in range(n)]
    if kind == abi.MEMORY_FORMAT:
        return arrays.memory_format(as_.integer)
    raise Unsupported(f"an argument of kind {kind}, which this version does not know")
