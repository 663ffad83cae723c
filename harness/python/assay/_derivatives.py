"""What the gradient of each operator is, as expressions of a graph.

    DERIVATIVES["silu"].write(call)     # {"self": "grad * sigmoid(self) * (1 + self * (1 - sigmoid(self)))"}

`grad` is the gradient of the first result. Where Assay has the backward as an operator, as it has of gelu and of convolutions, that one is
the expression; otherwise it is the derivative, written with Assay's operators. Numbers and sizes of a call stand in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

Shape = Tuple[int, ...]

SMOOTH = ("normal", "uniform", "integers", "offset", "trits", "cancelling")
# Of a function with a kink, as relu has one at 0: at the kink itself nothing says which gradient is right. These families do not meet it.
AWAY_FROM_KINKS = ("normal", "uniform", "offset", "cancelling")
MASK = "output_mask"  # an argument of the graph: three trues


@dataclass(frozen=True)
class Call:
    """The shapes of tensors, the values of everything else, and the shape of the first result."""

    shapes: Dict[str, Shape]
    values: Dict[str, Any]
    result: Shape
    dtype: str


class NotWritten(Exception):
    """The gradient of such a call is not known here; the message says of which."""


@dataclass(frozen=True)
class Derivative:
    """How an operator's gradient is written.

    Attributes
    ----------
    write : callable
        Of a Call: an expression for each tensor that has a gradient. Raises NotWritten for calls that it does not cover.
    data : sequence of str
        Families of numbers for which there is one right gradient.
    dtypes : sequence of str
        In which kinks are met too rarely to matter.
    inside : callable, optional
        Of torch's tensor `self`: where the operator has a derivative. Elsewhere the expression is NaN.
    """

    write: Callable[[Call], Dict[str, str]]
    data: Sequence[str] = SMOOTH
    dtypes: Sequence[str] = ("f64", "f32", "f16", "bf16")
    inside: Optional[Callable[[Any], Any]] = None


def text(value: Any) -> str:
    """A value, as the text of a graph has it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(text, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    raise NotWritten(f"an argument that is {value!r}")


def product(shape: Sequence[int]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def summed(expression: str, given: Shape, wanted: Shape) -> str:
    """What was broadcast from one shape to the other, added up again."""
    if given == wanted:
        return expression
    before = len(given) - len(wanted)
    dims = [d for d, n in enumerate(given) if d < before or wanted[d - before] == 1 and n != 1]
    if dims:
        expression = f"sum({expression}, {text(dims)}, true)"
    return f"reshape({expression}, {text(wanted)})" if before else expression


def positive(grad: str, x: str, otherwise: str = "0.0") -> str:
    """grad where x is positive, else a number of times grad."""
    return f"prelu_backward({grad}, {x}, reshape({otherwise}, [1]))[0]"


def _each(data: Sequence[str] = SMOOTH, inside: Optional[Callable[[Any], Any]] = None, **expressions: str) -> Derivative:
    """Of an operator that broadcasts its tensors. <name> is the value of an argument."""
    def write(c: Call) -> Dict[str, str]:
        written = {}
        for name, expression in expressions.items():
            for argument, value in c.values.items():
                if f"<{argument}>" in expression:
                    expression = expression.replace(f"<{argument}>", f"({text(value)})" if isinstance(value, float) and value < 0 else text(value))
            if name in c.shapes:
                written[name] = summed(expression, c.result, c.shapes[name])
        return written

    return Derivative(write, data, inside=inside)


def _kinked(d: Derivative) -> Derivative:
    return replace(d, data=AWAY_FROM_KINKS, dtypes=("f64", "f32"))


def _softmax(backward: str, forward: str) -> Derivative:
    def write(c: Call) -> Dict[str, str]:
        dim = text(c.values["dim"])
        return {"self": f"{backward}(grad, {forward}(self, {dim}), {dim}, {c.dtype})"}

    return Derivative(write)


def _spread(of: Callable[[Call, int], str]) -> Derivative:
    """Of a reduction: an expression of `<grad>`, which is the gradient in the shape of what was reduced, and of how many go into one result."""
    def write(c: Call) -> Dict[str, str]:
        shape, dims = c.shapes["self"], c.values.get("dim")
        if 0 in shape:
            raise NotWritten("a reduction of nothing")
        chosen = range(len(shape)) if dims in (None, []) else [d % max(1, len(shape)) for d in dims]
        kept = [1 if d in chosen else n for d, n in enumerate(shape)]
        spread = f"expand(reshape(grad, {text(kept)}), {text(shape)})"
        return {"self": of(c, product(shape) // product(kept)).replace("<grad>", spread)}

    return Derivative(write)


def _variance(c: Call, n: int) -> str:
    correction = c.values.get("correction")
    freedom = n - (1 if correction is None else correction)
    if freedom <= 0:
        raise NotWritten("a variance without degrees of freedom")
    dims = c.values.get("dim") or list(range(len(c.shapes["self"])))
    mean = f"mean(self, {text(dims)}, true)" if c.shapes["self"] else "self"
    return f"<grad> * (self - {mean}) * {2 / freedom!r}"


def _linear(c: Call) -> Dict[str, str]:
    columns = c.shapes["weight"][0]
    rows, inner = product(c.shapes["input"][:-1]), c.shapes["input"][-1]
    grad, x = f"reshape(grad, {text([rows, columns])})", f"reshape(input, {text([rows, inner])})"
    written = {"input": f"reshape(mm({grad}, weight), {text(c.shapes['input'])})", "weight": f"mm(t({grad}), {x})"}
    return {**written, **({"bias": f"sum({grad}, [0])"} if "bias" in c.shapes else {})}


def _addmm(c: Call) -> Dict[str, str]:
    alpha, beta = (f"({text(float(c.values[n]))})" for n in ("alpha", "beta"))
    return {"self": summed(f"{beta} * grad", c.result, c.shapes["self"]), "mat1": f"{alpha} * mm(grad, t(mat2))",
            "mat2": f"{alpha} * mm(t(mat1), grad)"}


def _all_three(c: Call, names: Sequence[str]) -> None:
    if any(n not in c.shapes for n in names):
        raise NotWritten(f"a call without {' or '.join(n for n in names if n not in c.shapes)}")


def _convolution(c: Call) -> Dict[str, str]:
    _all_three(c, ("input", "weight", "bias"))
    attributes = ", ".join(text(c.values[n]) for n in ("stride", "padding", "dilation", "transposed", "output_padding", "groups"))
    backward = f"convolution_backward(grad, input, weight, {text(c.shapes['bias'])}, {attributes}, {MASK})"
    return {n: f"{backward}[{i}]" for i, n in enumerate(("input", "weight", "bias"))}


def _layer_norm(c: Call) -> Dict[str, str]:
    _all_three(c, ("input", "weight", "bias"))
    shape = text(c.values["normalized_shape"])
    forward = f"native_layer_norm(input, {shape}, weight, bias, {text(c.values['eps'])})"
    backward = f"native_layer_norm_backward(grad, input, {shape}, {forward}[1], {forward}[2], weight, bias, {MASK})"
    return {n: f"{backward}[{i}]" for i, n in enumerate(("input", "weight", "bias"))}


def _elu(c: Call) -> Dict[str, str]:
    alpha, scale, inner = (float(c.values[n]) for n in ("alpha", "scale", "input_scale"))
    above = positive("grad", "self")
    below = f"exp((self - {positive('self', 'self')}) * {text(inner)})"
    return {"self": f"{above} * {text(scale)} + (grad - {above}) * {below} * {text(alpha * scale * inner)}"}


def _clamp(c: Call) -> Dict[str, str]:
    grad = "grad"
    if c.values.get("min") is not None:
        grad = positive(grad, f"(self - {text(float(c.values['min']))})")
    if c.values.get("max") is not None:
        grad = positive(grad, f"({text(float(c.values['max']))} - self)")
    return {"self": grad}


def _softplus(c: Call) -> Dict[str, str]:
    beta, threshold = text(float(c.values["beta"])), text(float(c.values["threshold"]))
    below = positive("grad", f"({threshold} - {beta} * self)")
    return {"self": f"{below} * sigmoid({beta} * self) + (grad - {below})"}


def _hardswish(c: Call) -> Dict[str, str]:
    above = positive("grad", "(self + 3)")
    between = positive(above, "(3 - self)")
    return {"self": f"{between} * (self / 3 + 0.5) + ({above} - {between})"}


_SIGMOID = "sigmoid(self)"
DERIVATIVES: Dict[str, Derivative] = {
    "acos": _each(AWAY_FROM_KINKS, self="grad * -1.0 * rsqrt(1 - self * self) + 0 * rsqrt(1 - self * self)", inside=lambda x: x.abs() < 1),
    "add.Tensor": _each(self="grad", other="grad * <alpha>"), "addmm": Derivative(_addmm),
    "bmm": Derivative(lambda c: {"self": "bmm(grad, transpose(mat2, 1, 2))", "mat2": "bmm(transpose(self, 1, 2), grad)"}),
    "clamp": _kinked(Derivative(_clamp)), "clone": _each(self="grad"), "convolution": Derivative(_convolution),
    "div.Tensor": _each(("normal", "uniform", "offset"), self="grad / other", other="grad * -1.0 * (self / other / other)"),
    "elu": _kinked(Derivative(_elu)), "erf": _each(self="grad * 1.1283791670955126 * exp(self * self * -1.0)"),
    "exp": _each(self="grad * exp(self)"), "gelu": _each(self="gelu_backward(grad, self, approximate=<approximate>)"),
    "hardswish": _kinked(Derivative(_hardswish)), "leaky_relu": _kinked(_each(self=positive("grad", "self", "<negative_slope>"))),
    "linear": Derivative(_linear), "log": _each(AWAY_FROM_KINKS, self="grad / self + 0 * log(self)", inside=lambda x: x > 0),
    "log_softmax.int": _softmax("_log_softmax_backward_data", "log_softmax"),
    "maximum": _kinked(_each(self=positive("grad", "(self - other)"), other=positive("grad", "(other - self)"))),
    "mean.dim": _spread(lambda c, n: f"<grad> / {float(n)!r}"),
    "mm": Derivative(lambda c: {"self": "mm(grad, t(mat2))", "mat2": "mm(t(self), grad)"}),
    "mul.Tensor": _each(self="grad * other", other="grad * self"), "native_layer_norm": Derivative(_layer_norm),
    "prelu": _kinked(Derivative(lambda c: {"self": "prelu_backward(grad, self, weight)[0]", "weight": "prelu_backward(grad, self, weight)[1]"})),
    "relu": _kinked(_each(self=positive("grad", "self"))),
    "rsqrt": _each(AWAY_FROM_KINKS, self="grad * -0.5 * rsqrt(self) * rsqrt(self) * rsqrt(self) + 0 * rsqrt(self)", inside=lambda x: x > 0),
    "sigmoid": _each(self=f"grad * {_SIGMOID} * (1 - {_SIGMOID})"),
    "silu": _each(self=f"grad * {_SIGMOID} * (1 + self * (1 - {_SIGMOID}))"), "softmax.int": _softmax("_softmax_backward_data", "softmax"),
    "softplus": _kinked(Derivative(_softplus)), "sqrt": _each(AWAY_FROM_KINKS, self="grad * 0.5 * rsqrt(self) + 0 * rsqrt(self)", inside=lambda x: x > 0),
    "sub.Tensor": _each(self="grad", other="grad * -1.0 * <alpha>"), "sum.dim_IntList": _spread(lambda c, n: "<grad>"),
    "tanh": _each(self="tanh_backward(grad, tanh(self))"), "var.correction": _spread(_variance),
    "where.self": _each(self="where(condition, grad, 0.0)", other="where(condition, 0.0, grad)"),
}
