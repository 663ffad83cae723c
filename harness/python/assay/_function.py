"""How a function of Python is called as a kernel of an operator.

    f = Function(softmax, schema, KernelOptions())
    f.refusal(call)     # "" or why not
    f.run(call)         # results stand in the call's outputs

Arguments come by the names of the schema where the function has all of these names, else in the order of the schema. An argument that
the function does not have is left out; a call that gives it another value than its default is refused.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from . import _kernel as abi
from . import _memory as memory
from ._schema import Argument, Schema


# A function computes with a library's functions, sums and loops, which it does not choose, and gets each step's result in the format
# of its operands. It says otherwise itself. The numbers are those by which results are judged that come without a kernel, too.
_FUNCTIONS = " ".join(f"{f}=4ulp" for f in "exp log tanh erf sin cos asin acos atan atan2 exp2 log2 log1p pow".split())
_OF_LIBRARIES = (f"moments=updating affine=folded chain=any {_FUNCTIONS} div=2 sqrt=2 signed_zero=ignore layout_invariant=no row_invariant=no "
                 "position_invariant=no -- what common libraries do, with which a function of Python computes")
_STEP_BY_STEP = "\n".join(f"{d}: compute={d} accumulate={d} -- a library rounds the result of each step" for d in ("f16", "bf16"))
# elu is made of it, and libraries make it of exp, which is below 1 there: four ulp of that are absolute.
_EXPM1 = "\n".join([*(f"{d}: expm1=4ulp+{e}abs -- exp(x) - 1, with an exp that is within 4 ulp" for d, e in (("f32", "2.4e-7"), ("f64", "4.5e-16"))),
                    "f16,bf16: expm1=4ulp -- what common libraries do"])
_GELU_OF_TORCH = "f32,bf16: erf=7e-7abs -- native/Activation.cpp gelu_out_cpu and gelu_backward_out_cpu call oneDNN, whose erf is Abramowitz and Stegun's 7.1.26"


@dataclass
class KernelOptions:
    """What a function says of itself as a kernel; @assay.kernel sets it."""

    op: Optional[str] = None
    contract: Optional[str] = None  # None: what the function's libraries do
    tensors: Optional[str] = None
    device: str = "cpu"
    refuses: Optional[Callable[..., Any]] = None
    name: Optional[str] = None


    def clauses(self, function: Optional[Callable], computes: str = "", triton: Optional[bool] = None) -> Optional[str]:
        """As a table of kernels has it: nothing is the strictest. `computes` is the text of the operator, with the body of a graph."""
        if self.contract is None:
            lines = [_OF_LIBRARIES, _EXPM1]
            if re.search(r"\bgelu(_backward)?\b", computes) and (self.tensors or library_of(function)) == "torch":
                lines.append(_GELU_OF_TORCH)
            triton = imports(function, "triton") if triton is None else triton
            return "\n".join(lines if triton else [*lines, _STEP_BY_STEP])
        if self.contract.strip() == "strict":
            return None
        return self.contract if " -- " in self.contract else f"{self.contract} -- the function's own"


class WrongFunction(TypeError):
    """It cannot be called as this operator's kernel; the message says why."""


def plain(function: Callable) -> Callable:
    """Without what was put around it."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function) if callable(function) else function


def imports(function: Callable, package: str) -> bool:
    """Whether the function's module has the package, or a module of it, under some name."""
    module = sys.modules.get(package)
    if module is None:
        return False
    inner = plain(function)
    names = getattr(inner, "__globals__", None)
    if names is None:
        names = getattr(getattr(type(inner), "__call__", None), "__globals__", {})
    return any(v is module or inspect.ismodule(v) and v.__name__.startswith(package + ".") for v in list(names.values()))


def library_of(function: Callable) -> str:
    """Whose tensors it takes: torch's or jax's where its module has them, or is theirs; else NumPy's."""
    inner = plain(function)
    for holder in (inner, type(inner)):
        top = (getattr(holder, "__module__", None) or "").split(".")[0]
        if top in ("torch", "jax", "numpy"):
            return top
    return next((package for package in ("torch", "jax") if imports(function, package)), "numpy")


def name_of(function: Callable) -> str:
    inner = plain(function)
    return getattr(inner, "__name__", None) or type(inner).__name__


def place_of(function: Callable) -> str:
    """"file:line", or empty."""
    inner = plain(function)
    try:
        return f"{inspect.getsourcefile(inner)}:{inspect.getsourcelines(inner)[1]}"
    except (TypeError, OSError):
        return ""


@dataclass
class _Binding:
    positional: list[int] = field(default_factory=list)  # arguments of the schema, in the order in which they are passed
    keywords: dict[int, str] = field(default_factory=dict)
    left_out: list[int] = field(default_factory=list)
    out: bool = False


def _bind(function: Callable, schema: Schema) -> _Binding:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a function in C: nobody knows
        b = _Binding()
        for i, a in enumerate(schema.arguments):
            if a.keyword_only:
                b.left_out.append(i) if a.default is not None else b.keywords.__setitem__(i, a.name)
            else:
                b.positional.append(i)
        return b
    by_name = {p.name: p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    any_keyword = any(p.kind is p.VAR_KEYWORD for p in parameters)
    any_positional = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    binding = _Binding(out="out" in by_name and all(a.name != "out" for a in schema.arguments))
    if binding.out:
        places = [p for p in places if p.name != "out"]
    taken: set[str] = set()

    def may_be_left_out(i: int) -> None:
        a = schema.arguments[i]
        if a.default is None and not a.type.endswith("?"):
            raise WrongFunction(f"{name_of(function)}{inspect.signature(function)} has no parameter for `{a.type} {a.name}` of\n  {schema.line}")
        binding.left_out.append(i)

    ordered = [i for i, a in enumerate(schema.arguments) if not a.keyword_only]
    named = all(schema.arguments[i].name in by_name and by_name[schema.arguments[i].name].kind is not inspect.Parameter.POSITIONAL_ONLY
                for i in ordered)
    for n, i in enumerate(ordered):
        a = schema.arguments[i]
        if named:
            binding.keywords[i] = a.name
            taken.add(a.name)
        elif n < len(places) and (places[n].name == a.name or places[n].name not in {x.name for x in schema.arguments}):
            binding.positional.append(i)
            taken.add(places[n].name)
        elif any_positional and n >= len(places):
            binding.positional.append(i)
        elif a.name in by_name and by_name[a.name].kind is not inspect.Parameter.POSITIONAL_ONLY:
            binding.keywords[i] = a.name
            taken.add(a.name)
        else:
            may_be_left_out(i)
    for i, a in enumerate(schema.arguments):
        if not a.keyword_only:
            continue
        parameter = by_name.get(a.name)
        if any_keyword or (parameter is not None and parameter.name not in taken):
            binding.keywords[i] = a.name
            taken.add(a.name)
        else:
            may_be_left_out(i)
    for p in parameters:
        if p.name in taken or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) or p.default is not p.empty or (binding.out and p.name == "out"):
            continue
        raise WrongFunction(f"{name_of(function)}{inspect.signature(function)} has a parameter `{p.name}` that is none of\n  {schema.line}")
    return binding


class Function:
    """A function as the kernel of one operator. Raises WrongFunction, ValueError."""

    def __init__(self, function: Callable, schema: Schema, options: KernelOptions):
        self.function, self.schema, self.options = function, schema, options
        self.arrays = memory.library(options.tensors or library_of(function), options.device)
        self.binding = _bind(function, schema)
        prepare = getattr(function, "__assay_prepare__", None)
        if prepare is not None:
            prepare()

    def refusal(self, call: abi.Call) -> str:
        """Why the function is not to be called like this, or empty."""
        try:
            for i in self.binding.left_out:
                a: Argument = self.schema.arguments[i]
                value = self._plain_argument(call, i)
                if value is _TENSORS:
                    return f"{name_of(self.function)} takes no argument {a.name}"
                if not a.is_default(value):
                    return f"{name_of(self.function)} takes no argument {a.name}, and it is {value}"
            # Of what the numbers are, no refusal may depend: a kernel would refuse what it gets wrong.
            blank = memory.WithoutNumbers(self.arrays)
            arguments = [memory.argument(call.arguments[i], blank) for i in range(call.argument_count)]
            for n in range(call.output_count):
                self.arrays.dtype(call.outputs[n].contents.dtype)
        except memory.Unsupported as reason:
            return str(reason)
        if self.options.refuses is not None:
            why = self.options.refuses(*arguments)
            if why:
                return why if isinstance(why, str) else f"{name_of(self.function)} refuses such calls"
        return ""

    def _plain_argument(self, call: abi.Call, i: int) -> Any:
        value = call.arguments[i]
        if value.kind in (abi.TENSOR, abi.TENSORS):
            return _TENSORS
        return memory.argument(value, memory.NUMPY)

    def run(self, call: abi.Call) -> None:
        """Calls it, and stores what it returns. Raises whatever the function raises, and memory.WrongResult."""
        values = call.arguments
        positional = [memory.argument(values[i], self.arrays) for i in self.binding.positional]
        keywords = {name: memory.argument(values[i], self.arrays) for i, name in self.binding.keywords.items()}
        outputs = [call.outputs[i].contents for i in range(call.output_count)]
        in_place = self.binding.out and self.arrays.name != "jax" and self.options.device == "cpu"
        if self.binding.out:
            if not in_place:
                raise WrongFunction("a parameter `out` is for arrays of NumPy and torch on the processor")
            given = [self.arrays.tensor(t, True) for t in outputs]
            keywords["out"] = given[0] if len(given) == 1 else tuple(given)
        returned = self.function(*positional, **keywords)
        if self.binding.out:
            return
        results = list(returned) if len(outputs) > 1 and isinstance(returned, (tuple, list)) else [returned]
        if len(outputs) == 1 and isinstance(returned, (tuple, list)) and len(returned) == 1:
            results = list(returned)
        if len(results) != len(outputs):
            raise memory.WrongResult(f"{name_of(self.function)} returned {len(results)} results, where the operator gives {len(outputs)}")
        for n, (t, result) in enumerate(zip(outputs, results)):
            memory.store(t, result, "the result" if len(outputs) == 1 else f"result {n}")


_TENSORS = object()
