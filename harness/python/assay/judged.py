"""Judging tensors that a program has.

    assay.assert_right("mm", actual, a, b)

Each element is compared with a bound that is derived from the operator's definition and from a contract, which says what the kernel promises
about its numbers. There is no tolerance to choose. Arguments are those of the operator's schema (`assay.ops("mm")`), by position or by name.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple, Optional, Union

from . import _server
from ._errors import ArgumentError, Vacuous
from ._judgement import Description, Diagnosis, Difference, Judgement
from ._tensors import NUMPY, Parts, array_of, call

SECONDS = 10  # for the cause of a result that was found to be wrong


class Bounds(NamedTuple):
    """Of one result, as arrays of NumPy: the right value, rounded, and the least and the greatest one that is right."""

    value: Any
    low: Any
    high: Any


def _options(contract: Optional[str], sample: Union[int, str, None] = None) -> dict[str, Any]:
    if contract is not None and not isinstance(contract, str):
        raise ArgumentError(f"contract={contract!r}: a contract is a text, such as \"exp=2ulp\" or \"strict\"")
    if isinstance(sample, float) and math.isinf(sample):
        sample = "all"
    return {"contract": contract or "", **({} if sample is None else {"sample": sample})}


def judge(op: Any, actual: Any, /, *args: Any, contract: Optional[str] = None, sample: Union[int, str, None] = None, **kwargs: Any) -> Judgement:
    """Whether a result is right.

    Parameters
    ----------
    op : str or dict
        The operator, "mm" or "add.Tensor", or the text of a graph of operators (docs/fused-kernels.md), as text or as JSON.
    actual : tensor, or tuple or list of tensors
        What the kernel gave. Of several results, None stands for one that is not to be judged.
    *args, **kwargs
        What it was called with, as the operator's schema has it.
    contract : str, optional
        What the kernel promises about its numbers, such as "exp=2ulp" or "strict". The default is what common libraries do: sums in any
        order, functions within 4 ulp, divisions and roots within 2.
    sample : int or "all", optional
        How many elements that are not the reference, rounded, are held against their bounds, those that are farthest from it first. The
        default is as many as take a fifth of a second, and 131,072 at most.

    Returns
    -------
    Judgement

    Examples
    --------
    >>> import numpy, assay
    >>> x = numpy.array([1, -2, 3], "f4")
    >>> assay.judge("relu", numpy.maximum(x, 0), x).verdict
    'pass'
    """
    return judged(op, actual, args, kwargs, contract, sample, SECONDS)


def judged(op: Any, actual: Any, args: Any, kwargs: dict[str, Any], contract: Optional[str], sample: Union[int, str, None],
           seconds: float) -> Judgement:
    """judge(), with so many seconds for the search for a cause."""
    parts = Parts()
    request = {"do": "judge", **call(op, args, kwargs, parts), "results": parts.results(actual), **_options(contract, sample), "seconds": seconds}
    answer = _server.ask(request, parts.memory)[0]
    if answer["verdict"] == "pass" and _is_constant(actual):
        answer.update(verdict="vacuous", constant=True)
    return Judgement(answer)


def _is_constant(actual: Any) -> bool:
    """Whether every result is the same number everywhere, as relu of negative numbers is."""
    arrays = [array_of(x, "the result") for x in (actual if isinstance(actual, (list, tuple)) else [actual]) if x is not None]
    found = [a[0] for a in arrays if a is not None and a[0].size > 1]
    return bool(found) and all((a == a.flat[0]).all() for a in found)


def assert_right(op: Any, actual: Any, /, *args: Any, contract: Optional[str] = None, sample: Union[int, str, None] = None, **kwargs: Any) -> None:
    """Raises AssertionError unless a result is right. It stands in place of assert_allclose and assert_close.

    The message has the elements that are wrong with their bounds, the cause, how certain it is, and how to go on. The arguments are those of
    judge(). A result that is right, but whose data could not have shown a fault, gives the warning assay.Vacuous.

    Examples
    --------
    >>> import numpy, assay
    >>> x = numpy.array([1, -2, 3], "f4")
    >>> assay.assert_right("relu", numpy.abs(x), x)
    Traceback (most recent call last):
    ...
    AssertionError: ...
    """
    __tracebackhide__ = True  # of pytest
    judgement = judge(op, actual, *args, contract=contract, sample=sample, **kwargs)
    if not judgement.ok:
        raise AssertionError(f"\n{judgement}")
    if judgement.verdict == "vacuous":
        warnings.warn(str(judgement), Vacuous, stacklevel=2)


def bounds(op: Any, /, *args: Any, contract: Optional[str] = None, **kwargs: Any) -> Union[Bounds, list[Bounds]]:
    """What a right kernel may give, element by element.

    Returns
    -------
    Bounds, or a list of them
        `value, low, high`, arrays of NumPy in the dtype of the result; of bf16 and f8 they are float32. Of an operator with several results,
        a list. Where only NaN is right, low and high are NaN.

    Examples
    --------
    >>> import numpy, assay
    >>> value, low, high = assay.bounds("exp", numpy.array([1], "f4"))
    >>> bool(low < value < high)
    True
    """
    import numpy

    parts = Parts()
    answer, memory = _server.ask({"do": "bounds", **call(op, args, kwargs, parts), **_options(contract)}, parts.memory)

    def array(a: dict[str, Any]) -> Any:
        dtype = numpy.dtype(NUMPY[a["dtype"]])
        if memory is None or a["bytes"] == 0:
            return numpy.empty(a["shape"], dtype)
        return numpy.frombuffer(memory, dtype, a["bytes"] // dtype.itemsize, a["offset"]).reshape(a["shape"])

    all_ = [Bounds(*(array(o[key]) for key in Bounds._fields)) for o in answer["outputs"]]
    return all_[0] if len(all_) == 1 else all_


def diagnose(op: Any, actual: Any, /, *args: Any, contract: Optional[str] = None, seconds: float = 60, **kwargs: Any) -> Diagnosis:
    """Why a result is wrong.

    It tries every known fault of the operator for as many seconds at most; `assay diagnose --help` says what is tried. The other arguments are
    those of judge(). Where the result is right, it says under which contract at the least.

    Examples
    --------
    >>> import numpy, assay
    >>> a, b = (numpy.random.default_rng(i).normal(size=(4, 4)).astype("f4") for i in range(2))
    >>> assay.diagnose("mm", a @ b.T, a, b).certainty
    'proven'
    """
    parts = Parts()
    request = {"do": "diagnose", **call(op, args, kwargs, parts), "results": parts.results(actual), **_options(contract), "seconds": seconds}
    return Diagnosis(_server.ask(request, parts.memory)[0]["diagnosis"])


def diff(a: Any, b: Any, /) -> Difference:
    """Where and how two tensors differ, without an operator: in ulp, by place, and whether one is the other rearranged.

    Examples
    --------
    >>> import numpy, assay
    >>> a = numpy.arange(6, dtype="f4").reshape(2, 3)
    >>> assay.diff(a, a).same
    True
    """
    parts = Parts()
    return Difference(_server.ask({"do": "diff", "results": [parts.tensor(a, "a"), parts.tensor(b, "b")]}, parts.memory)[0])


def ops(name: Optional[Any] = None, /) -> Union[list[str], Description]:
    """The names of all operators, or what one of them is.

    Examples
    --------
    >>> import assay
    >>> assay.ops("mm").schema
    'mm(Tensor self, Tensor mat2) -> Tensor'
    """
    if name is None:
        return [o["op"] for o in _server.ask({"do": "operators"}, [])[0]["operators"]]
    parts = Parts()
    return Description(_server.ask({"do": "operators", **call(name, (), {}, parts)}, [])[0])
