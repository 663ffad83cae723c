"""Calls that Assay draws, for a program that makes them itself; of pytest, its parameters.

    @assay.cases("softmax.int", dtypes=["f32"], n=50)
    def test_softmax(case):
        case.assert_right(my_softmax(*case.args, **case.kwargs))

    for case in assay.cases("relu", n=10): ...
    case = assay.case("relu:f32:self=3:data=normal:seed=1")
"""

from __future__ import annotations

import re
import sys
from functools import cached_property
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _kernel as abi
from . import _memory, _server
from ._judgement import Judgement
from ._schema import Schema
from .judged import SECONDS, judged
from .verify import Verified, verify

# What pytest's option --assay-seed is, where it is given.
default_seed = 0

_CODES = _memory.codes_of_names()
_SECONDS_OF_HYPOTHESIS = 0.5


def _seconds() -> float:
    """For the search for a cause. hypothesis fails a test many times while it makes it smaller, and shows the last one."""
    hypothesis = sys.modules.get("hypothesis")
    return _SECONDS_OF_HYPOTHESIS if hypothesis is not None and hypothesis.currently_in_test_context() else SECONDS


class Case:
    """One call, by its text, which is all that it depends on.

    Attributes
    ----------
    text : str
        As every report prints it.
    args : tuple
        The arguments, up to those that the schema takes by name alone.
    kwargs : dict
        These.
    """

    def __init__(self, text: str, *, tensors: str = "numpy", graph: str = ""):
        self.text, self.tensors, self.graph = text, tensors, graph

    @cached_property
    def _call(self) -> Tuple[Schema, List[Any]]:
        request = {"do": "call", "case": self.text, **({"graph": self.graph} if self.graph else {})}
        answer, memory = _server.ask(request, [])
        schema = Schema.parse(answer["schema"])
        arrays = _memory.library(self.tensors)
        return schema, [_value(v, memory, arrays) for v in answer["arguments"]]

    @property
    def op(self) -> str:
        return self._call[0].name

    @property
    def args(self) -> Tuple[Any, ...]:
        schema, values = self._call
        return tuple(v for v, a in zip(values, schema.arguments) if not a.keyword_only)

    @property
    def kwargs(self) -> Dict[str, Any]:
        schema, values = self._call
        return {a.name: v for v, a in zip(values, schema.arguments) if a.keyword_only}

    def judge(self, actual: Any, *, contract: Optional[str] = None) -> Judgement:
        """Whether this is the call's result; `assay.judge` with the call's arguments."""
        fresh = Case(self.text, tensors=self.tensors, graph=self.graph)  # what a kernel wrote into its inputs is not believed
        return judged(self.graph or self.op, actual, fresh.args, fresh.kwargs, contract, None, _seconds())

    def assert_right(self, actual: Any, *, contract: Optional[str] = None) -> None:
        """Raises AssertionError with the cause unless this is the call's result."""
        __tracebackhide__ = True
        judgement = self.judge(actual, contract=contract)
        if not judgement.ok:
            raise AssertionError(f"{self.text}\n{judgement}\nthis call again: assay.case({self.text!r})")

    def check(self, function: Callable, **options: Any) -> Verified:
        """Runs the function on this call in a process of its own, between guard pages. Raises AssertionError if it is wrong there."""
        __tracebackhide__ = True
        from .graphs import graph

        op: Any = graph(self.graph) if self.graph else self.op
        result = verify(function, op, cases=[self.text], **{"tensors": self.tensors, **options})
        if result.failures:  # of a call without elements, nothing is known, and nothing is wrong
            raise AssertionError(result.text.rstrip())
        return result

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"assay.case({self.text!r})"


def _value(v: Any, memory: Any, arrays: Any) -> Any:
    if isinstance(v, list):
        return [_value(item, memory, arrays) for item in v]
    if not isinstance(v, dict):
        return v
    if "number" in v:
        return float(v["number"])
    if "dtype" in v:
        return arrays.dtype(abi.Dtype(*_CODES[v["dtype"]], 1))
    if "format" in v:
        return arrays.memory_format(("contiguous_format", "preserve_format", "channels_last", "channels_last_3d").index(v["format"]))
    import numpy

    t = v["tensor"]
    dtype = abi.Dtype(*_CODES[t["dtype"]], 1)
    plain = numpy.dtype(_memory.numpy_code(dtype))
    if memory is None or 0 in t["shape"]:
        array = numpy.empty(t["shape"], plain)
    else:
        array = numpy.ndarray(t["shape"], plain, memory, t["offset"], [s * plain.itemsize for s in t["strides"]])
    return arrays.of_array(array, dtype)


class Cases:
    """Calls of an operator: a sequence of `Case`, and before a test of pytest its parameter `case`."""

    def __init__(self, texts: Sequence[str], tensors: str, graph: str):
        self.texts, self._tensors, self._graph = list(texts), tensors, graph

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, i: int) -> Case:
        return Case(self.texts[i], tensors=self._tensors, graph=self._graph)

    def __iter__(self) -> Iterator[Case]:
        return (self[i] for i in range(len(self)))

    def __call__(self, test: Callable) -> Callable:
        pytest = sys.modules.get("pytest")
        if pytest is None:
            raise RuntimeError("@assay.cases(...) is for tests that pytest runs; elsewhere: for case in assay.cases(...)")
        return pytest.mark.parametrize("case", list(self), ids=self.texts)(test)


def cases(op: Any, *, dtypes: Sequence[str] = ("f32",), n: int = 50, seed: Optional[int] = None, tensors: str = "numpy") -> Cases:
    """So many calls of an operator for each dtype, simple ones first.

    Calls with tensors of dtypes that the library lacks, such as bf16 in NumPy without the package ml_dtypes, are not drawn.

    Parameters
    ----------
    op : str or Graph
        As `assay.ops()` lists it.
    dtypes : list of str
        Of the results.
    n : int
        For each dtype.
    seed : int, optional
        The same seed draws the same calls. None: pytest's --assay-seed, which is 0 unless it is given.
    tensors : {"numpy", "torch", "jax"}
        What arguments are.

    Examples
    --------
    >>> [c.text for c in assay.cases("relu", n=1)]
    ['relu:f32:self=[]:data=ones:seed=0']
    """
    graph = getattr(op, "text", "")
    texts: List[str] = []
    lacking = _memory.lacks(tensors)
    word = re.compile(rf"\b({'|'.join(lacking)})\b") if lacking else None
    for dtype in [dtypes] if isinstance(dtypes, str) else dtypes:
        if dtype in lacking:
            raise _memory.Unsupported(f"dtype {dtype}: {tensors} has none; tensors=\"torch\" has, and NumPy with the package ml_dtypes")
        request = {"do": "cases", "op": getattr(op, "name", op), "dtype": dtype, "count": 2 * n, "seed": default_seed if seed is None else seed}
        drawn = _server.ask({**request, **({"graph": graph} if graph else {})}, [])[0]["cases"]
        texts += [c for c in drawn if word is None or not word.search(c)][:n]
    return Cases(texts, tensors, graph)


def case(text: str, *, tensors: str = "numpy", graph: Any = "") -> Case:
    """The call that a report's text means.

    Examples
    --------
    >>> assay.case("relu:f32:self=2:data=ones:seed=0").args
    (array([1., 1.], dtype=float32),)
    """
    return Case(text, tensors=tensors, graph=getattr(graph, "text", graph))
