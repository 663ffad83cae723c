"""What the program gave its model, and which input of the engine each tensor is.

    given.for_engine([Wanted("image", (1, 224, 224, 3), "float32")])     # {"image": array}, permuted

An input of the engine is the tensor of its own name, or else the next one that is left, in the order of forward's arguments, if that has its
shape and dtype. Nothing is guessed: what does not fit is an error that lists both sides.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy

from ._errors import EngineError, imported

_DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
           "u8": "uint8", "bool": "bool"}
_FLOATING = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Wanted:
    """An input of an engine. None in a shape is any size, None for a shape or a dtype is any."""

    name: str
    shape: Optional[Tuple[Optional[int], ...]] = None
    dtype: Optional[str] = None  # as NumPy or ml_dtypes call it

    def __str__(self) -> str:
        shape = "any shape" if self.shape is None else "x".join("?" if n is None else str(n) for n in self.shape) or "scalar"
        return f"{self.name} {self.dtype or ''}[{shape}]".replace(" [", " [")


@dataclass
class Tensor:
    name: str
    array: numpy.ndarray  # bf16 as float32, which has its numbers
    dtype: str

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{'x'.join(map(str, self.array.shape))}]"


@dataclass
class Given:
    """What the outermost module was called with."""

    tensors: List[Tensor] = field(default_factory=list)
    module: str = ""
    others: Dict[str, str] = field(default_factory=dict)  # arguments that are no tensors
    outermost: List[str] = field(default_factory=list)    # the program's calls, to choose from
    overrides: Dict[str, numpy.ndarray] = field(default_factory=dict)
    notes: List[str] = field(default_factory=list)

    @staticmethod
    def of_trace(path: str) -> "Given":
        """Of a trace that was recorded with --call. Raises EngineError for another one."""
        h5py = imported("h5py", "h5py", "reading a trace")
        with h5py.File(path, "r") as file:
            if "program" not in file:
                raise EngineError(f"{path} does not say what the program gave its model: record it with `assay record --call 1`")
            program = file["program"]
            call = json.loads(bytes(program.attrs["call"]))
            given = Given(module=call["module"], outermost=json.loads(bytes(program.attrs.get("outermost", b"[]"))))
            for argument in call["arguments"]:
                if "input" not in argument:
                    given.others[argument["name"]] = argument["value"]
                    continue
                dataset = program["inputs"][str(argument["input"])]
                given.add(argument["name"], dataset[()], _DTYPES[bytes(dataset.attrs["dtype"]).decode()])
        return given

    def add(self, name: str, array: Any, dtype: str) -> None:
        array = numpy.asarray(array)
        if dtype == "bfloat16":
            array = (array.astype(numpy.uint32) << 16).view(numpy.float32).reshape(array.shape)
        elif dtype == "bool":
            array = array.astype(bool)
        self.tensors.append(Tensor(name, array, dtype))

    def override(self, text: str) -> None:
        """NAME=FILE.npy of the command line."""
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise EngineError(f"--input {text}: write NAME=FILE.npy, the engine's name of the input and a file of one array")
        try:
            array = numpy.load(path, allow_pickle=False)
        except (OSError, ValueError) as e:
            raise EngineError(f"--input {text}: {e}") from None
        if not isinstance(array, numpy.ndarray):
            raise EngineError(f"--input {text}: {path} has several arrays; write one with numpy.save")
        self.overrides[name] = array

    def by_name(self) -> Dict[str, numpy.ndarray]:
        """All tensors, with those of --input: what a function gets. Raises EngineError."""
        named = {t.name: as_dtype(t.array, t.dtype) for t in self.tensors}
        for name in self.overrides:
            if name not in named:
                raise EngineError(f"--input {name}: forward has no tensor of that name; it was given {self.listed()}")
        for name, array in self.overrides.items():
            self._say_override(name, array)
        return {**named, **self.overrides}

    def listed(self) -> str:
        return ", ".join(map(str, self.tensors)) or "no tensor"

    def for_engine(self, wanted: Sequence[Wanted]) -> Dict[str, numpy.ndarray]:
        """The engine's inputs by its names. Raises EngineError."""
        for name in self.overrides:
            if name not in {w.name for w in wanted}:
                raise EngineError(f"--input {name}: the engine has no input of that name; it has {', '.join(map(str, wanted))}")
        left = list(self.tensors)
        chosen: Dict[str, Tensor] = {}
        for w in wanted:
            same = [t for t in left if t.name == w.name]
            if same and w.name not in self.overrides:
                if self._fitted(same[0], w) is None:
                    self._refuse(wanted, f"{w} has the name of {same[0]}, and not its shape or dtype")
                chosen[w.name] = same[0]
                left.remove(same[0])
        for w in wanted:
            if w.name in chosen or w.name in self.overrides:
                continue
            if not left:
                self._refuse(wanted, f"nothing is left for {w}")
            # In order, where nothing tells them apart; arguments that an exporter left out are passed over.
            fits = [t for t in left if self._fitted(t, w) is not None]
            if not fits or fits[0] is not left[0] and len(fits) > 1:
                self._refuse(wanted, f"{w} fits {'none' if not fits else 'several'} of those that are left: {', '.join(map(str, left))}")
            chosen[w.name] = fits[0]
            left.remove(fits[0])
        arrays = {}
        for w in wanted:
            if w.name in self.overrides:
                arrays[w.name] = self.overrides[w.name]
                self._say_override(w.name, arrays[w.name])
                continue
            t = chosen[w.name]
            arrays[w.name], note = self._fitted(t, w)
            if note or t.name != w.name:
                self.notes.append(f"the engine's input {w.name} is {t.name}{', ' if note else ''}{note}")
        return arrays

    def _say_override(self, name: str, array: numpy.ndarray) -> None:
        if not any(t.array.shape == array.shape and numpy.array_equal(t.array, array) for t in self.tensors):
            self.notes.append(f"--input {name}: is none of what the program gave its model ({self.listed()}): "
                              "the engine and the trace are of other inputs, and what differs for that is no fault")

    @staticmethod
    def _fitted(t: Tensor, w: Wanted) -> Optional[Tuple[numpy.ndarray, str]]:
        """The tensor as the engine takes it, and what was done to it; None if it does not fit."""
        array, notes = t.array, []
        if w.shape is not None and not _fits(array.shape, w.shape):
            order = _channels_last(array.shape, w.shape)
            if order is None:
                return None
            array = numpy.ascontiguousarray(array.transpose(order))
            notes.append(f"with its dimensions in the order {', '.join(map(str, order))}, as the engine's shape is {'x'.join('?' if n is None else str(n) for n in w.shape)}")
        if w.dtype is None or w.dtype == t.dtype:
            return as_dtype(array, t.dtype), "; ".join(notes)
        converted = as_dtype(array, w.dtype)
        floats = w.dtype in _FLOATING and t.dtype in _FLOATING
        if not floats and ((w.dtype in _FLOATING) != (t.dtype in _FLOATING) or not numpy.array_equal(converted, array)):
            return None
        notes.append(f"{'rounded' if floats else 'converted'} from {t.dtype} to {w.dtype}")
        return converted, "; ".join(notes)

    def _refuse(self, wanted: Sequence[Wanted], why: str) -> None:
        lines = [f"the inputs of the engine's model are not what the program gave its model: {why}.",
                 f"  The engine takes:   {', '.join(map(str, wanted)) or 'nothing'}",
                 f"  The program gave {self.module or 'it'}: {self.listed()}" +
                 (f"; besides {', '.join(f'{n} {v}' for n, v in self.others.items())}" if self.others else "")]
        if len(self.outermost) > 1:
            lines += ["  Other calls of outermost modules, which --call chooses:", *(f"    {k}  {c}" for k, c in enumerate(self.outermost, 1))]
        lines.append("  --input NAME=FILE.npy gives the engine an input by hand.")
        raise EngineError("\n".join(lines))


def as_dtype(array: numpy.ndarray, dtype: str) -> numpy.ndarray:
    """bfloat16 is ml_dtypes' where that is installed, as ONNX Runtime wants it; else the numbers stay f32."""
    if dtype == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            return array
        return array.astype(ml_dtypes.bfloat16)
    return array if array.dtype == dtype else array.astype(dtype)


def _fits(shape: Sequence[int], wanted: Sequence[Optional[int]]) -> bool:
    return len(shape) == len(wanted) and all(w is None or n == w for n, w in zip(shape, wanted))


def _channels_last(shape: Sequence[int], wanted: Sequence[Optional[int]]) -> Optional[Tuple[int, ...]]:
    """The order of dimensions by which channels come last, or come first again."""
    n = len(shape)
    if n < 3 or len(wanted) != n or all(w is None for w in wanted):
        return None
    for order in ((0, *range(2, n), 1), (0, n - 1, *range(1, n - 1))):
        if _fits([shape[d] for d in order], wanted):
            return order
    return None
