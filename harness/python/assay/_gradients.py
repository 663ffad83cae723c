"""Whether the gradient that autograd gives of an operator is right.

    g = check_gradient(torch.ops.my.silu, "silu", dtypes=["f32"], cases=40)
    g.ok, g.verified, g.not_judged

The gradient is a kernel like any other: it takes the upstream gradient and the operator's tensors, and is judged by a graph that
_derivatives.py writes for the shapes and numbers of the call. So it runs between guard pages, twice on each call and again with other data, and a
failure is shrunk and gets a cause.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _derivatives as derivatives
from ._cases import Case
from ._cases import cases as drawn_cases
from ._derivatives import DERIVATIVES, MASK, SMOOTH, Call, NotWritten
from ._function import KernelOptions
from ._schema import Schema, find
from .judged import ops
from .verify import Verified, results_folder, run_program, verify

_DTYPES = ("f64", "f32", "f16", "bf16")
# Upstream gradients lie as the results of other operators do: after sum() they have steps of 0, after transpose() columns first.
_LAYOUTS = ("", "@step2", "@reversed", "@expanded", "@offset(3)")
_MOST_ELEMENTS = 1 << 12  # of a call
_MOST_GRAPHS = 12
_CASES = 40
_numbers = itertools.count(1)
_MOST_SAID = 3
_POOL = 6  # times as many as are judged


@dataclass(frozen=True)
class Gradient:
    """What became of an operator's gradient.

    Attributes
    ----------
    verified : Verified or None
        Of the gradients that were judged, each in a process of its own.
    not_judged : dict
        Why it was not, by argument; under "" for all of them.
    judged : int
        Calls of which gradients were judged.
    wrong : list of str
        What is wrong with those that were judged in this process.
    """

    verified: Optional[Verified] = None
    not_judged: Dict[str, str] = field(default_factory=dict)
    judged: int = 0
    wrong: List[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Calls of one size have a row of their own, of which the data may show nothing, as long as that of others does."""
        if self.verified is None:
            return not self.wrong
        # Where numbers lie within their bounds, autograd's own products may depend on how memory lies: that is no fault of a formula.
        verdicts = {r["verdict"] for r in self.verified.run["results"]}
        return self.verified.ok or verdicts <= {"pass", "vacuous", "unstable"} and bool(verdicts & {"pass", "unstable"})

    def __str__(self) -> str:
        lines = [f"{f'gradient of {n}' if n else 'gradient'}: not judged, because {why}" for n, why in self.not_judged.items()]
        if self.verified is not None:
            lines.insert(0, f"gradient:\n{self.verified.text.rstrip()}")
        elif self.judged:
            lines.insert(0, f"gradient: {self.judged} calls were judged in this process, as autograd has run here and does not survive a fork: "
                            + ("all are right" if not self.wrong else f"{len(self.wrong)} are wrong\n" + "\n".join(self.wrong[:_MOST_SAID])))
        return "\n".join(lines)


class Backward:
    """The gradients of some of an operator's tensors as a function of the upstream gradient and of its tensors."""

    def __init__(self, function: Callable, schema: Schema, fixed: Dict[str, Any], tensors: Sequence[str], wanted: Sequence[str],
                 dtype: str):
        self._function, self._schema, self._fixed, self._tensors, self._wanted = function, schema, fixed, list(tensors), list(wanted)
        self.written: Dict[str, str] = {}  # the expressions by which it is judged
        self._dtype, self._inside = dtype, DERIVATIVES[schema.name].inside
        self.__name__ = f"gradient_of_{schema.name.replace('.', '_')}"

    def __call__(self, *given: Any) -> Any:
        import torch

        grad, tensors = given[0], dict(zip(self._tensors, given[1:]))
        leaves = {n: t.detach().requires_grad_(n in self._wanted) for n, t in tensors.items()}
        found = self.gradients(leaves, grad)
        results = []
        for name in self._wanted:
            value = found[name]
            if value is None:
                raise ValueError(f"the formula gives no gradient for {name}")
            if self._inside is not None:
                value = torch.where(self._inside(tensors["self"]), value, torch.full_like(value, math.nan))
            results.append(value)
        return tuple(results) if len(results) > 1 else results[0]

    def refuses(self, *given: Any) -> str:
        """Why there is no such call, for calls that a failure is shrunk to; numbers are zeros here."""
        tensors = dict(zip(self._tensors, given[1:]))
        try:
            result = first(self.result(tensors))
            written = self.expressions(tensors, result)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if tuple(result.shape) != tuple(given[0].shape):
            return "the upstream gradient has another shape than the result"
        return "" if written == self.written else "the graph is written for other sizes"

    def expressions(self, tensors: Dict[str, Any], result: Any) -> Dict[str, str]:
        """Raises NotWritten."""
        shapes = {n: tuple(t.shape) for n, t in tensors.items()}
        return DERIVATIVES[self._schema.name].write(Call(shapes, self._fixed, tuple(result.shape), self._dtype))

    def gradients(self, leaves: Dict[str, Any], grad: Any) -> Dict[str, Any]:
        import torch

        with torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an operator without a formula: what it is made of may have one
            result = first(self.result(leaves))
            if not result.requires_grad:
                return {n: None for n in self._wanted}
            found = torch.autograd.grad(result, [leaves[n] for n in self._wanted], grad, allow_unused=True)
        return dict(zip(self._wanted, found))

    def result(self, leaves: Dict[str, Any]) -> Any:
        values = {**self._fixed, **leaves}
        ordered = [a for a in self._schema.arguments if not a.keyword_only]
        return self._function(*(values[a.name] for a in ordered), **{a.name: values[a.name] for a in self._schema.arguments if a.keyword_only})


def first(result: Any) -> Any:
    return result[0] if isinstance(result, (tuple, list)) else result


def _differentiable(t: Any) -> bool:
    return hasattr(t, "is_floating_point") and t.is_floating_point()


@dataclass
class _Drawn:
    """A call of the gradient."""

    backward: Backward
    text: str  # of its graph, without the name
    case: str  # without the operator's name
    lacking: List[str]  # tensors for which the formula gives nothing


def _parts(case: str) -> Tuple[str, Dict[str, str], str]:
    """The dtype, what stands for each argument, and the seed."""
    _, dtype, given, _, seed = re.fullmatch(r"([^:]+):([^:]+):(.*):data=(\w+):seed=(\d+)", case).groups()  # type: ignore[union-attr]
    return dtype, dict(re.findall(r"(\w+)=((?:\[[^\]]*\](?:@\w+(?:\([^)]*\))?)?|[^,\[\]])*)(?:,|$)", given)), seed


def _elements(case: str) -> int:
    """Of all tensors of a call, by its text."""
    return sum(derivatives.product([int(n) for n in shape.split("x")]) for shape in re.findall(r"=\[?(\d+(?:x\d+)*)", case.partition(":data=")[0]))


def _layout(shape: Sequence[int], number: int) -> str:
    """The text of an upstream gradient of this shape."""
    size, kind = "x".join(map(str, shape)), _LAYOUTS[number % len(_LAYOUTS)]
    if not shape or 0 in shape or not kind:
        return size or "[]"
    if kind == "@reversed":
        return f"[{size}]@permuted({','.join(map(str, reversed(range(len(shape)))))})"
    if kind == "@expanded":
        return f"[{size}]@expanded(0)"
    return f"[{size}]{kind}"


def _drawn(function: Callable, schema: Schema, case: Case, number: int) -> Optional[_Drawn]:
    """None for a call of which there is nothing to judge. Raises NotWritten, and what the function raises."""
    import torch

    rule = DERIVATIVES[schema.name]
    if not re.match(r"[^:]+:(f64|f32|f16|bf16):", case.text) or _elements(case.text) > _MOST_ELEMENTS:
        return None  # tensors of different dtypes, or large ones
    dtype, given, seed = _parts(case.text)
    values = dict(zip([a.name for a in schema.arguments], case._call[1]))
    tensors = {n: t for n, t in values.items() if isinstance(t, torch.Tensor)}
    fixed = {n: v for n, v in values.items() if n not in tensors}
    numbers = [v for v in fixed.values() if isinstance(v, float)]
    if dtype not in rule.dtypes or fixed.get("dtype") is not None or any(not 1e-6 <= abs(v) <= 1e6 and v != 0 for v in numbers):
        return None
    if any(isinstance(v, (list, tuple)) and any(isinstance(t, torch.Tensor) for t in v) for v in fixed.values()):
        return None
    wanted = [n for n, t in tensors.items() if _differentiable(t)]
    probe = Backward(function, schema, fixed, list(tensors), wanted, dtype)
    leaves = {n: t.detach().requires_grad_(n in wanted) for n, t in tensors.items()}
    result = first(probe.result(leaves))
    elements = result.numel() + sum(t.numel() for t in tensors.values())
    if 0 in result.shape or elements > _MOST_ELEMENTS or any(t.numel() == 0 for t in tensors.values()):
        return None
    expressions = probe.expressions(tensors, result)
    found = probe.gradients(leaves, torch.ones_like(result)) if result.requires_grad else {}
    lacking = [n for n in wanted if n in expressions and found.get(n) is None]
    judged = [n for n in wanted if n in expressions and n not in lacking]
    mask = any(MASK in e for e in expressions.values())
    if mask and lacking:
        raise NotWritten(f"a formula that gives no gradient for {' and '.join(lacking)}")
    arguments = ["Tensor grad", *(f"Tensor {n}" for n in tensors), *([f"bool[3] {MASK}"] if mask else [])]
    text = f"({', '.join(arguments)}) -> " + (f"({', '.join(['Tensor'] * len(judged))})" if len(judged) > 1 else "Tensor")
    text += " {\n  return " + ", ".join(expressions[n] for n in judged) + "\n}\n"
    family = rule.data[number % len(rule.data)]
    given_to = [f"grad={_layout(result.shape, number)}", *(f"{n}={given[n]}" for n in tensors), *([f"{MASK}=[true,true,true]"] if mask else [])]
    backward = Backward(function, schema, fixed, list(tensors), judged, dtype)
    backward.written = expressions
    return _Drawn(backward, text if judged else "", f"{dtype}:{','.join(given_to)}:data={family}:seed={seed}", lacking)


def check_gradient(function: Callable, like: Any, by: Any = None, *, dtypes: Optional[Sequence[str]] = None, cases: Any = None, seed: int = 0,
                   contract: Optional[str] = None, out: Any = None, jobs: Optional[int] = None, timeout: Optional[float] = None) -> Gradient:
    """Judges the gradient of a function of torch that is the operator `like`, by the graph `by` if there is one. Raises nothing for a wrong one."""
    number = cases if isinstance(cases, int) else _CASES
    floating = [d for d in dtypes or ("f32",) if d in _DTYPES]
    if by is not None:
        if not hasattr(by, "text"):
            raise TypeError(f"gradient={by!r}: True, False or what assay.graph(...) gives")
        if not _survives_a_fork():
            return Gradient(None, {"": "autograd has run in this process in a way that does not survive a fork; check the operator before"})
        texts = [text for d in floating for text in drawn_cases(by, dtypes=[d], n=number, seed=seed, tensors="torch").texts]
        # Of numbers whose products overflow, the order of the products would decide.
        texts = [re.sub(r":data=\w+:", f":data={SMOOTH[i % len(SMOOTH)]}:", text) for i, text in enumerate(texts)]
        verified = verify(_by_graph(function), by, cases=texts, contract=contract, tensors="torch",
                          refuses=_shapes_differ(function), name="gradient", out=out, jobs=jobs, timeout=timeout)
        return Gradient(verified, {}, verified.judged)
    if hasattr(like, "text"):
        return Gradient(None, {"": f"{like.name} is a graph, and Assay has the derivatives of single operators: gradient=GRAPH gives it one"})
    schema = find([Schema.parse(ops(n).schema) for n in ops()], like)
    if schema.name not in DERIVATIVES:
        return Gradient(None, {"": f"Assay has neither a backward operator nor a derivative of {schema.name}; gradient=GRAPH gives it one"})
    found = _Calls()
    for dtype in floating:
        found.draw(function, schema, dtype, number, seed)
    missing = {n: f"its formula gives none, in {k} of the calls" for n, k in found.lacking.items()}
    if not found.groups:
        return Gradient(None, missing or {"": found.why})
    if not _survives_a_fork():
        judged, wrong = _judged_here(found.groups, schema, contract)
        return Gradient(None, missing, judged, wrong)
    verified = _judged(found.groups, schema, contract, out, jobs, timeout)
    return Gradient(verified, missing, verified.judged)


class _Calls:
    """Calls of a gradient, those of one graph together."""

    def __init__(self) -> None:
        self.groups: Dict[str, List[_Drawn]] = {}
        self.lacking: Counter = Counter()
        self.why = "it has no gradient in any of the calls that were drawn: is there an autograd formula?"

    def draw(self, function: Callable, schema: Schema, dtype: str, number: int, seed: int) -> None:
        drawn = 0
        if dtype not in DERIVATIVES[schema.name].dtypes:
            self.why = f"in {dtype}, {schema.name} has too many elements with no gradient, or with more than one that is right"
            return
        # Simple calls come first. Half of the calls are of these, and the others have other shapes, layouts and arguments.
        pool = list(drawn_cases(schema.name, dtypes=[dtype], n=_POOL * number, seed=seed, tensors="torch"))
        half = number // 2
        for i, case in enumerate([*pool[:half], *(c for first_ in range(_POOL) for c in pool[half + first_::_POOL])]):
            if drawn == number:
                return
            try:
                one = _drawn(function, schema, case, i)
            except NotWritten as error:
                self.why = f"Assay has no derivative of {schema.name} for {error}"
                continue
            except Exception as error:  # the function's: its results are judged elsewhere
                self.why = f"a call failed: {type(error).__name__}: {error}"
                continue
            if one is None:
                continue
            self.lacking.update(one.lacking)
            if one.text and (one.text in self.groups or len(self.groups) < _MOST_GRAPHS):
                self.groups.setdefault(one.text, []).append(one)
                drawn += 1


def _by_graph(function: Callable) -> Callable:
    """The gradients of all floating-point tensors that the function takes."""
    def gradient(grad: Any, *arguments: Any) -> Any:
        import torch

        given = [a.detach().requires_grad_(_differentiable(a)) if isinstance(a, torch.Tensor) else a for a in arguments]
        wanted = [a for a in given if _differentiable(a)]
        with torch.enable_grad():
            return torch.autograd.grad(first(function(*given)), wanted, grad)

    return gradient


def _shapes_differ(function: Callable) -> Callable:
    def refuses(grad: Any, *arguments: Any) -> str:
        try:
            shape = first(function(*arguments)).shape
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "" if tuple(shape) == tuple(grad.shape) else "the upstream gradient has another shape than the result"

    return refuses


def _survives_a_fork() -> bool:
    """Whether autograd works in a forked process, which it does not after it has started threads of devices."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            x = torch.ones(1, requires_grad=True)
            torch.autograd.grad(x * 2, [x], torch.ones(1))
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _judged_here(groups: Dict[str, List[_Drawn]], schema: Schema, contract: Optional[str]) -> Tuple[int, List[str]]:
    """How many calls were judged, and what is wrong."""
    judged, wrong = 0, []
    for text, calls in groups.items():
        own = f"gradient_{next(_numbers)}_of_{schema.name.replace('.', '_').strip('_')}"  # a name has one graph in the process that judges
        graph = f"assay::{own}{text}"
        for one in calls:
            case = Case(f"{own}:{one.case}", tensors="torch", graph=graph)
            judged += 1
            try:
                judgement = case.judge(one.backward(*case.args), contract=contract)
            except Exception as error:
                wrong.append(f"{one.case}: {type(error).__name__}: {error}")
                continue
            if not judgement.ok:
                wrong.append(f"{one.case}\n{judgement}")
    return judged, wrong


def _judged(groups: Dict[str, List[_Drawn]], schema: Schema, contract: Optional[str], out: Any, jobs: Optional[int],
            timeout: Optional[float]) -> Verified:
    name = f"gradient_of_{schema.name.replace('.', '_').strip('_')}"
    words, files, kernels, texts = ["verify"], {}, [], []
    for k, (text, calls) in enumerate(groups.items()):
        own = f"{name}_{k + 1}" if len(groups) > 1 else name
        files[f"graph{k}.txt"] = f"assay::{own}{text}"
        words += ["--python", f"{own}=__main__:{name}", "--graph", f"graph{k}.txt"]
        kernels.append((calls[0].backward, KernelOptions(own, contract, "torch", refuses=calls[0].backward.refuses, name=schema.name)))
        texts += [f"{own}:{c.case}" for c in calls]
    words[1:1] = [own.op for _, own in kernels]
    files["cases.txt"] = "".join(f"{t}\n" for t in texts)
    words += ["--impl", "plugin:*", "--cases-from", "cases.txt"]
    words += ["--jobs", str(jobs)] if jobs else []
    words += ["--timeout", str(timeout)] if timeout else []
    return run_program(words, files, results_folder(out), kernels, name)
