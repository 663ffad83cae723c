"""@assay.kernel: a function says itself which operator it computes, and what its numbers are worth.

    @assay.kernel("softmax.int", contract="f32: exp=2ulp -- fast_exp.py")
    def softmax(x, dim): ...

    $ assay verify softmax.int --python my.py
"""

from __future__ import annotations

from typing import Any, Callable, Optional, TypeVar

from ._function import KernelOptions

F = TypeVar("F", bound=Callable)


def kernel(op: str, *, contract: Optional[str] = None, tensors: Optional[str] = None, device: str = "cpu",
           refuses: Optional[Callable[..., Any]] = None, name: Optional[str] = None) -> Callable[[F], F]:
    """Marks a function as a kernel; the function itself stays what it is.

    Parameters
    ----------
    op : str
        The operator, as ``assay ops`` lists it.
    contract : str, optional
        What the code promises about its numbers: lines of ``dtype: field=value -- source`` (docs/contracts.md), or "strict". None: what
        libraries under Python do: elementary functions within 4 ulp, sums in any order, bits that depend on strides.
    tensors : {"numpy", "torch", "jax"}, optional
        What the function takes. None: torch's or jax's where the function's module has imported them, else NumPy's.
    device : str
        Where torch's tensors lie, "cpu" or "cuda". Memory is looked at on the processor alone.
    refuses : callable, optional
        Called with all arguments of a call, whose tensors hold zeros: a text says why the function does not support it, and the call
        counts as refused. What is refused depends on shapes, dtypes, strides and attributes, never on numbers.
    name : str, optional
        In reports; None: the function's own.
    """
    options = KernelOptions(op, contract, tensors, device, refuses, name)

    def mark(function: F) -> F:
        function.__assay__ = options  # type: ignore[attr-defined]
        return function

    return mark
