"""Operators of torch.library as kernels, and their gradients.

    import assay.torch
    assay.torch.check(torch.ops.my.silu)                    # as Assay's silu: operators of one name are alike
    assay.torch.check(torch.ops.my.fused, like=graph)       # as assay.graph(..) says
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Optional, Union

from ._cases import cases
from ._gradients import Gradient, check_gradient
from .judged import ops
from .verify import Verified, verify

_CALLS_OF_OPCHECK = 3
_OF_GRADIENTS = ("cases", "dtypes", "jobs", "out", "seed", "timeout")


class WrongOperator(TypeError):
    """It is no operator of torch.library, or one that Assay cannot call; the message says why."""


@dataclass(frozen=True)
class Checked:
    """What became of an operator.

    Attributes
    ----------
    verified : Verified
        Of its results.
    opcheck : dict
        What `torch.library.opcheck` says of its registration, by its tests: "SUCCESS" or the first error. Empty where torch has none
        (before 2.4).
    gradient : Gradient or None
        Of the gradients that autograd gives. None: they were not asked for.
    """

    verified: Verified
    opcheck: Dict[str, str] = field(default_factory=dict)
    gradient: Optional[Gradient] = None

    @property
    def ok(self) -> bool:
        return self.verified.ok and all(said == "SUCCESS" for said in self.opcheck.values()) and (self.gradient is None or self.gradient.ok)

    def __str__(self) -> str:
        lines = [f"opcheck {test}: {said}" for test, said in self.opcheck.items() if said != "SUCCESS"]
        lines += [str(self.gradient)] if self.gradient is not None else []
        return "\n".join([self.verified.text.rstrip(), *lines])


def _overload(op: Any) -> Any:
    """The one overload that is meant."""
    op = getattr(op, "_opoverload", op)  # of torch.library.custom_op
    if not hasattr(op, "_schema") and hasattr(op, "overloads"):
        names = op.overloads()
        if len(names) != 1:
            raise WrongOperator(f"{op}: it has the overloads {', '.join(names)}; name one, {op}.{names[0]}")
        op = getattr(op, names[0])
    if not hasattr(op, "_schema"):
        raise WrongOperator(f"{op!r} is no operator of torch.library: torch.ops.NAMESPACE.NAME is one")
    return op


def _with_signature(op: Any) -> Callable:
    """The operator as a function whose parameters are those of its schema."""
    parameters = []
    for a in op._schema.arguments:
        written = a.alias_info is not None and a.alias_info.is_write
        if written and a.name != "out":
            raise WrongOperator(f"{op} writes into its argument {a.name}: results are what it returns, or are written into `out`")
        kind = inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = a.default_value if a.has_default_value() else inspect.Parameter.empty
        parameters.append(inspect.Parameter(a.name, kind, default=default))

    signature = inspect.Signature(parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        # By place: torch 1.13 takes no argument of the name `self` by name.
        bound = signature.bind(*args, **kwargs)
        return op(*bound.args, **bound.kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = op._schema.name.replace("::", "_")
    return call


def _opcheck(op: Any, like: Any) -> Dict[str, str]:
    import torch

    opcheck = getattr(torch.library, "opcheck", None)
    if opcheck is None:
        return {}
    said: Dict[str, str] = {}
    for case in cases(like, n=_CALLS_OF_OPCHECK, tensors="torch"):
        for test, outcome in opcheck(op, case.args, case.kwargs, raise_exception=False).items():
            if said.get(test, "SUCCESS") == "SUCCESS":
                said[test] = outcome if isinstance(outcome, str) else f"{type(outcome).__name__}: {outcome}"
    return said


def check(op: Any, like: Union[str, Any, None] = None, *, contract: Optional[str] = None, gradient: Union[bool, Any] = True,
          **options: Any) -> Checked:
    """Verifies an operator of torch.library and its gradient, and raises AssertionError with the cause where a fault was found.

    Parameters
    ----------
    op
        ``torch.ops.my.silu``, one of its overloads, or what ``torch.library.custom_op`` has made.
    like : str or Graph, optional
        The operator of Assay that it shall be. None: that of its name.
    gradient : bool or Graph
        True: the gradient is judged where Assay has the operator's backward or its derivative, and the result says so where it has not.
        A graph says what it shall be: its arguments are the gradient of the (first) result and then the operator's, its results the gradients
        of the operator's floating-point tensors. False: it is not asked for.
    contract, options
        As of ``assay.verify``; dtypes, seed, jobs, timeout, out and an integer for ``cases`` hold for the gradient, too.

    Returns
    -------
    Checked

    Raises
    ------
    WrongOperator
        For what is no operator, or writes into an argument other than ``out``.
    """
    __tracebackhide__ = True
    overload = _overload(op)
    if like is None:
        like = overload._schema.name.split("::")[-1]
        known = ops()
        if like not in known and not any(k.split(".")[0] == like for k in known):
            raise WrongOperator(f"{overload}: Assay has no operator {like}; say which one it shall be, like=\"silu\" or like=assay.graph(...)")
    call = _with_signature(overload)
    verified = verify(call, like, contract=contract, tensors="torch", **options)
    judged = None if gradient is False else check_gradient(call, like, None if gradient is True else gradient, contract=contract,
                                                          **{k: v for k, v in options.items() if k in _OF_GRADIENTS})
    result = Checked(verified, _opcheck(overload, like), judged)
    if not result.ok:
        raise AssertionError(str(result))
    return result
