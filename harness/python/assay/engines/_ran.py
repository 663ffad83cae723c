"""What an engine gave, and the two files that `assay bisect` reads of it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy

from .._tensors import array_of

_CODES = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2", "i64": "I64", "i32": "I32",
          "i16": "I16", "i8": "I8", "u8": "U8", "bool": "BOOL"}
# What Assay has no dtype for is widened where no number changes.
_WIDER = {"uint16": "i4", "uint32": "i8", "int4": "i1", "uint4": "u1", "int2": "i1", "uint2": "u1"}


@dataclass
class Side:
    """The side file, assay.engine/1."""

    engine: str  # "onnxruntime 1.32.0"
    settings: Dict[str, Any] = field(default_factory=dict)
    inputs: List[str] = field(default_factory=list)
    outputs: List[str] = field(default_factory=list)
    parameters: List[str] = field(default_factory=list)
    nodes: List[Dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> Dict[str, Any]:
        named = {key: [{"tensor": name} for name in getattr(self, key)] for key in ("inputs", "outputs", "parameters")}
        return {"format": "assay.engine/1", "engine": self.engine, "settings": self.settings, **named, "nodes": self.nodes}


@dataclass
class Ran:
    """What an engine gave: tensors by its own names, and what is known of them."""

    side: Side
    tensors: Dict[str, Any]
    notes: List[str] = field(default_factory=list)  # for the user


class Unkept(ValueError):
    """A value that no dump can have; the message says why."""


def stored(name: str, value: Any) -> Tuple[numpy.ndarray, str]:
    """The tensor's bytes, and the code of its dtype. Raises Unkept."""
    dtype = str(getattr(value, "dtype", "")).rpartition(".")[2]
    if dtype in _WIDER:
        value = numpy.asarray(value.cpu() if hasattr(value, "cpu") else value).astype(_WIDER[dtype])
    try:
        found = array_of(numpy.asarray(value) if isinstance(value, (bool, int, float)) else value, name)
    except ValueError as e:
        raise Unkept(str(e)) from None
    if found is None:
        raise Unkept(f"{name} is of type {type(value).__name__}, which is no tensor")
    array = numpy.asarray(found[0])
    return numpy.ascontiguousarray(array).reshape(array.shape), _CODES[found[1]]


def write(ran: Ran, dump: str, nodes: str) -> List[str]:
    """Writes both files, complete or not at all. Returns what the dump could not take."""
    header: Dict[str, Any] = {}
    kept, unkept, end = [], [], 0
    for name, value in ran.tensors.items():
        try:
            array, code = stored(name, value)
        except Unkept as e:
            unkept.append(str(e))
            continue
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        kept.append(array)
        end += array.nbytes
    for key in ("inputs", "outputs", "parameters"):
        setattr(ran.side, key, [n for n in getattr(ran.side, key) if n in header])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with _whole(nodes) as file:
        file.write(json.dumps(ran.side.to_dict(), indent=1, default=str).encode())
    with _whole(dump) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in kept:
            file.write(array.tobytes())
    return unkept


class _whole:
    """A file that gets its name when it is whole."""

    def __init__(self, path: str):
        self._path, self._part = Path(path), Path(f"{path}.{os.getpid()}.part")

    def __enter__(self):
        self._file = open(self._part, "wb")
        return self._file

    def __exit__(self, kind, *ignored):
        self._file.close()
        if kind is None:
            os.replace(self._part, self._path)
        else:
            self._part.unlink()
