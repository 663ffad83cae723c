"""What PyTorch's calls are in a graph: an operator of Assay, a movement, or several of them.

A rule is called with the trace, in which it makes nodes, and the call's arguments by the names of PyTorch's schema: tensors as Given.
It returns a Value, a list of them for several results, or None where it cannot say the call.
"""

import torch

from graph_nodes import Sizes, Value

RULES = {}


class Given:
    """A tensor that a call is given."""

    def __init__(self, trace, tensor):
        self.trace, self.tensor = trace, tensor
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype

    @property
    def value(self):
        return self.trace.value_of(self.tensor)

    @property
    def rank(self):
        return len(self.shape)


def rule(*names):
    def enter(function):
        for name in names:
            RULES[name] = function
        return function
    return enter


def value(v):
    """Of what a rule passes on."""
    if isinstance(v, Given):
        return v.value
    if isinstance(v, (list, tuple)) and any(isinstance(i, Given) for i in v):
        return [value(i) for i in v]
    return list(v) if isinstance(v, tuple) else v


def node(g, op, count=1, /, **arguments):
    return g.node(op, count, **{k: value(v) for k, v in arguments.items()})


def apply(g, packet, name, given, arguments):
    if packet in RULES:
        result = RULES[packet](g, given)
        if result is not None:
            return result
    found = g.operators.find(name, arguments)
    if found is None:
        return None
    entry, taken = found
    by_name = {k: given_of(given, arguments, v) for k, v in taken.items()}
    return node(g, entry["op"], len(entry["results"]), **by_name)


def given_of(given, arguments, v):
    """The argument that an operator takes under another name."""
    return next((given[k] for k, a in arguments.items() if a is v), v)


def axis(dim, rank):
    return dim + rank if dim < 0 else dim


def axes(dim, rank):
    """All of them, if none is named."""
    if dim is None or dim == [] or dim == ():
        return list(range(rank))
    return [dim] if isinstance(dim, int) else list(dim)


# ---- element by element


def binary(op, swapped=False):
    def make(g, a):
        x, y = a["self"], a["other"]
        if op == "div.Tensor" and a.get("rounding_mode") is not None:
            return None
        x, y = unexpanded(x, y), unexpanded(y, x)
        x, y = (y, x) if swapped else (x, y)
        more = {"alpha": a["alpha"]} if a.get("alpha", 1) != 1 else {}
        return node(g, op, self=number(x), other=number(y), **more)
    return make


def unexpanded(x, other):
    """What the operator broadcasts anyway need not be expanded before: that writes a size down."""
    if not isinstance(x, Given) or not isinstance(other, Given) or x.shape != other.shape:
        return x
    v = x.value
    return v.source.arguments["self"] if getattr(v.source, "op", "") == "expand" and -1 in v.source.arguments["size"] else v


def number(v):
    return Value(v) if isinstance(v, (int, float)) else v


for op in ("add", "sub", "mul", "div"):
    RULES[op] = RULES[{"sub": "subtract", "mul": "multiply", "div": "divide"}.get(op, op)] = binary(f"{op}.Tensor")
RULES["true_divide"] = binary("div.Tensor")
RULES["rsub"] = binary("sub.Tensor", swapped=True)


def times(g, x, y):
    return node(g, "mul.Tensor", self=number(x), other=number(y))


def plus(g, x, y):
    return node(g, "add.Tensor", self=number(x), other=number(y))


def negative(g, x):
    v = value(x)
    return Value(-v.source, 0, v.shape, v.dtype) if v.is_number() else times(g, v, -1)


def magnitude(g, x):
    return node(g, "maximum", self=x, other=negative(g, x))


@rule("neg", "negative")
def neg(g, a):
    return negative(g, a["self"])


@rule("abs", "absolute")
def absolute(g, a):
    return magnitude(g, a["self"])


@rule("reciprocal")
def reciprocal(g, a):
    return node(g, "div.Tensor", self=Value(1), other=a["self"])


def powered(g, x, exponent):
    x = value(x)
    if exponent in (0.5, -0.5):
        return node(g, "sqrt" if exponent > 0 else "rsqrt", self=x)
    if exponent != int(exponent) or not 1 <= abs(exponent) <= 8:
        return None
    result = x
    for _ in range(int(abs(exponent)) - 1):
        result = times(g, result, x)
    return result if exponent > 0 else node(g, "div.Tensor", self=Value(1), other=result)


@rule("pow")
def power(g, a):
    if isinstance(a["exponent"], (int, float)) and not isinstance(a["self"], (int, float)):
        return powered(g, a["self"], a["exponent"])
    return None


@rule("square")
def square(g, a):
    return times(g, a["self"], a["self"])


@rule("minimum")
def minimum(g, a):
    return negative(g, node(g, "maximum", self=negative(g, a["self"]), other=negative(g, a["other"])))


@rule("maximum")
def maximum(g, a):
    return node(g, "maximum", self=a["self"], other=a["other"])


@rule("clamp", "clamp_min", "clamp_max", "clip", "hardtanh", "relu6")
def clamp(g, a):
    low, high = a.get("min", a.get("min_val")), a.get("max", a.get("max_val"))
    if isinstance(low, Given) or isinstance(high, Given):
        return None
    if not {"min", "max", "min_val", "max_val"} & set(a):
        low, high = 0, 6
    return node(g, "clamp", self=a["self"], min=low, max=high)


@rule("hardsigmoid")
def hardsigmoid(g, a):
    return node(g, "div.Tensor", self=node(g, "clamp", self=plus(g, a["self"], 3), min=0, max=6), other=Value(6))


@rule("celu")
def celu(g, a):
    return node(g, "elu", self=a["self"], alpha=a["alpha"], scale=1, input_scale=1 / a["alpha"])


@rule("selu")
def selu(g, a):
    return node(g, "elu", self=a["self"], alpha=1.6732632423543772848170429916717, scale=1.0507009873554804934193349852946, input_scale=1)


@rule("softshrink")
def softshrink(g, a):
    limits = {"min": -a["lambd"], "max": a["lambd"]}
    return node(g, "sub.Tensor", self=a["self"], other=node(g, "clamp", self=a["self"], **limits))


def has_32_bits(a):
    """Beyond its threshold softplus(x) is x, which f64 tells from it."""
    return a["self"].dtype != torch.float64


@rule("mish")
def mish(g, a):
    return times(g, a["self"], node(g, "tanh", self=node(g, "softplus", self=a["self"]))) if has_32_bits(a) else None


@rule("log_sigmoid", "log_sigmoid_forward")
def log_sigmoid(g, a):
    return negative(g, node(g, "softplus", self=negative(g, a["self"]))) if has_32_bits(a) else None


@rule("log1p")
def log1p(g, a):
    return node(g, "log", self=plus(g, a["self"], 1))


@rule("expm1")
def expm1(g, a):
    return node(g, "sub.Tensor", self=node(g, "exp", self=a["self"]), other=Value(1))


@rule("glu")
def glu(g, a):
    x, y = node(g, "chunk", 2, self=a["self"], chunks=2, dim=a["dim"])
    return times(g, x, node(g, "sigmoid", self=y))


@rule("addcmul")
def addcmul(g, a):
    return node(g, "add.Tensor", self=a["self"], other=times(g, a["tensor1"], a["tensor2"]), alpha=a["value"])


@rule("addcdiv")
def addcdiv(g, a):
    quotient = node(g, "div.Tensor", self=a["tensor1"], other=a["tensor2"])
    return node(g, "add.Tensor", self=a["self"], other=quotient, alpha=a["value"])


@rule("masked_fill")
def masked_fill(g, a):
    v = a["value"].value if isinstance(a["value"], Given) else Value(a["value"])
    return node(g, "where.self", condition=a["mask"], self=v, other=a["self"])


@rule("copy")
def copy(g, a):
    v = a["src"].value
    if a["src"].dtype != a["self"].dtype:
        v = node(g, "to.dtype", self=v, dtype=a["self"].dtype)
    return v if a["src"].shape == a["self"].shape or v.is_number() else node(g, "expand", self=v, size=Sizes(a["self"].shape))


@rule("fill")
def fill(g, a):
    return Value(a["value"]) if isinstance(a["value"], (int, float)) else a["value"].value


@rule("zero")
def zero(g, a):
    return Value(0)
