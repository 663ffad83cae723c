"""Tensors of every library, and the other arguments of a call, as a request has them.

    parts = Parts()
    parts.value(numpy.zeros((2, 3), "f4"))   # {"tensor": {"dtype": "f32", "shape": [2, 3], "offset": 0}}
    parts.memory                             # [(0, <memory>)]

No library is imported for a tensor that is not its own. Nothing is copied before it is written to the memory of the request, but what runs
backwards, what is spread over much more memory than it has, and what lies on another device: that is copied by its own `.cpu()`.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Optional

from . import _dlpack
from ._errors import ArgumentError

# By the names that NumPy, ml_dtypes, torch and JAX give them.
DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
          "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool"}
# Arrays that hold an answer. bf16 and f8 come as f32.
NUMPY = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "u8": "u1", "bool": "?"}
_CPU, _CUDA_HOST = 1, 3  # of DLPack
_MOST_SPREAD = 2  # times its own size: what lies in more memory than that is packed


def dtype_name(name: str, what: str) -> str:
    if name not in DTYPES:
        raise ArgumentError(f"{what} has dtype {name}; Assay has {', '.join(DTYPES)}")
    return DTYPES[name]


def _module(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def _of_library(x: Any, library: str, name: str) -> bool:
    """Whether it is an object of a class of a library, which is not imported for that."""
    loaded = sys.modules.get(library)
    kind = getattr(loaded, name, None)
    return isinstance(kind, type) and isinstance(x, kind)


def _array_of_torch(x: Any, what: str) -> tuple[Any, str]:
    import torch

    t = x.detach()
    if t.layout is not torch.strided:
        raise ArgumentError(f"{what} is a tensor of layout {t.layout}; Assay judges dense ones: {what}.to_dense()")
    if t.device.type == "meta":
        raise ArgumentError(f"{what} is a meta tensor, which has no numbers")
    if t.device.type != "cpu":
        t = t.cpu()
    name = dtype_name(str(t.dtype).rpartition(".")[2], what)
    if name == "bf16":
        t = t.view(torch.int16)
    elif name in ("f8e4m3", "f8e5m2"):
        t = t.view(torch.uint8)
    return t.resolve_neg().numpy(), name


def _array_by_dlpack(x: Any, what: str) -> tuple[Any, str]:
    import numpy

    device = x.__dlpack_device__()[0] if hasattr(x, "__dlpack_device__") else _CPU
    if device not in (_CPU, _CUDA_HOST):
        if "torch" in sys.modules:
            return _array_of_torch(sys.modules["torch"].from_dlpack(x), what)
        if hasattr(x, "get"):  # CuPy
            return _array_of_numpy(x.get(), what)
        raise ArgumentError(f"{what} is on a device (DLPack's type {device}), and neither torch nor a method `get` is there to copy it to the processor")
    try:
        return _array_of_numpy(numpy.from_dlpack(x), what)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError) as e:  # a dtype that NumPy does not have
        found = _dlpack.array_of(x)
        if found is None:
            raise ArgumentError(f"{what}: NumPy cannot take this {type(x).__name__} by DLPack: {e}") from None
        return found[0], dtype_name(found[1], what)


def _array_of_numpy(x: Any, what: str) -> tuple[Any, str]:
    import numpy

    if isinstance(x, numpy.ma.MaskedArray):
        raise ArgumentError(f"{what} is a masked array: give its numbers, {what}.filled(...)")
    array = numpy.asarray(x)
    name = dtype_name(array.dtype.name, what)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("=")), name


def array_of(x: Any, what: str) -> Optional[tuple[Any, str]]:
    """An array of NumPy that holds the tensor's bytes, and the tensor's dtype; None if it is no tensor."""
    if _of_library(x, "numpy", "ndarray") or _of_library(x, "numpy", "generic"):
        return _array_of_numpy(x, what)
    if _of_library(x, "torch", "Tensor"):
        return _array_of_torch(x, what)
    if _module(x) in ("jax", "jaxlib"):
        return _array_of_numpy(x, what)
    if hasattr(x, "__dlpack__"):
        return _array_by_dlpack(x, what)
    if hasattr(x, "__array__") and not isinstance(x, type):
        return _array_of_numpy(x, what)
    return None


def dtype_of(x: Any) -> Optional[str]:
    """Of what names a dtype in NumPy, ml_dtypes, torch or JAX; None if it names none. A text is left to the operator."""
    if _of_library(x, "torch", "dtype"):
        return dtype_name(str(x).rpartition(".")[2], "an argument")
    numpy = sys.modules.get("numpy")
    if numpy is not None and (isinstance(x, numpy.dtype) or isinstance(x, type) and issubclass(x, numpy.generic)):
        return dtype_name(numpy.dtype(x).name, "an argument")
    if numpy is not None and _module(x) == "jax" and not hasattr(x, "shape") and isinstance(getattr(x, "dtype", None), numpy.dtype):
        return dtype_name(x.dtype.name, "an argument")  # jax.numpy.float32
    return None


class Parts:
    """The tensors of a request, and where they lie in its memory."""

    def __init__(self) -> None:
        self.memory: list[tuple[int, memoryview]] = []
        self._end = 0

    def _add(self, array: Any) -> int:
        """Where the bytes of an array lie, which is one-dimensional and without gaps."""
        import numpy

        offset = -(-self._end // 64) * 64
        self.memory.append((offset, memoryview(array.view(numpy.uint8))))
        self._end = offset + array.nbytes
        return offset

    def _tensor(self, array: Any, dtype: str) -> dict[str, Any]:
        import numpy

        size = array.dtype.itemsize
        tensor = {"dtype": dtype, "shape": list(array.shape)}
        if not array.flags.c_contiguous:
            steps = array.strides
            span = 1 + sum((n - 1) * s for n, s in zip(array.shape, steps)) // size
            fits = all(s >= 0 and s % size == 0 for s in steps) and span <= _MOST_SPREAD * array.size
            if fits and array.size > 0:
                tensor["strides"] = [s // size for s in steps]
                array = numpy.lib.stride_tricks.as_strided(array, (span,), (size,))
            else:
                array = numpy.ascontiguousarray(array)
        tensor["offset"] = self._add(array.reshape(-1)) if array.size > 0 else 0
        return {"tensor": tensor}

    def tensor(self, x: Any, what: str) -> dict[str, Any]:
        """A tensor, or a number of Python as one without dimensions."""
        import numpy

        found = array_of(x, what)
        if found is None and isinstance(x, (bool, int, float)):
            found = _array_of_numpy(numpy.asarray(x), what)
        if found is None:
            raise ArgumentError(f"{what} is of type {type(x).__name__}, but must be a tensor (NumPy, torch, JAX, or what has __dlpack__)")
        return self._tensor(*found)

    def value(self, x: Any, what: str) -> Any:
        """Any argument as JSON."""
        if x is None or isinstance(x, (bool, str)) and type(x).__module__ == "builtins":
            return x
        if type(x) is int:
            return x
        if type(x) is float:
            return x if math.isfinite(x) else {"number": "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"}
        if isinstance(x, (list, tuple)):
            return [self.value(item, f"{what}[{i}]") for i, item in enumerate(x)]
        dtype = dtype_of(x)
        if dtype is not None:
            return {"dtype": dtype}
        if _of_library(x, "torch", "memory_format"):
            return {"format": str(x).rpartition(".")[2]}
        found = array_of(x, what)
        if found is not None:
            return self._tensor(*found)
        if isinstance(x, (int, float)):  # of classes that are made from them
            return self.value(int(x) if isinstance(x, int) else float(x), what)
        raise ArgumentError(f"{what} is of type {type(x).__name__}, which is no argument of an operator: tensors, numbers, texts, lists, dtypes and None are")

    def results(self, actual: Any) -> list[Any]:
        """One tensor, or a tuple or list of them; a result that was not computed is None."""
        if isinstance(actual, (list, tuple)):
            return [None if x is None else self.tensor(x, f"result {i}") for i, x in enumerate(actual)]
        return [self.tensor(actual, "the result")]


def call(op: Any, args: tuple, kwargs: dict[str, Any], parts: Parts) -> dict[str, Any]:
    """The keys of a request that say which operator is called with what."""
    if hasattr(op, "text") and hasattr(op, "name"):  # of assay.graph
        op = op.text
    request: dict[str, Any] = {"op": op}
    if isinstance(op, str) and "{" in op:  # the text of a graph
        request = {"graph": op}
    elif isinstance(op, dict):
        import json

        request = {"graph": json.dumps(op)}
    elif not isinstance(op, str):
        raise ArgumentError(f"the operator is {op!r}, but must be its name, such as \"mm\" or \"add.Tensor\", or the text of a graph")
    request["arguments"] = [parts.value(x, f"argument {i}") for i, x in enumerate(args)]
    request["keywords"] = {key: parts.value(x, key) for key, x in kwargs.items()}
    return request
