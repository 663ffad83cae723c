"""Rules (graph_rules.py) of what takes numbers together: products, reductions, normalisations, convolutions and windows."""

import math

import torch

from graph_nodes import Sizes, Value
from graph_rules import RULES, axes, axis, magnitude, negative, node, plus, rule, times

# ---- products


def product(g, x, y, x_shape, y_shape):
    """x @ y"""
    m, n = len(x_shape), len(y_shape)
    if m == 1 or n == 1:
        left = x if m > 1 else node(g, "unsqueeze", self=x, dim=0)
        right = y if n > 1 else node(g, "unsqueeze", self=y, dim=1)
        both = product(g, left, right, x_shape if m > 1 else (1, *x_shape), y_shape if n > 1 else (*y_shape, 1))
        if both is None:
            return None
        both = node(g, "squeeze.dim", self=both, dim=-1) if n == 1 else both
        return node(g, "squeeze.dim", self=both, dim=-2 if n > 1 else -1) if m == 1 else both
    if m == 2 and n == 2:
        return node(g, "mm", self=x, mat2=y)
    if n == 2:
        transposed = isinstance(y, Value) and getattr(y.source, "op", "") == "t"
        return node(g, "linear", input=x, weight=y.source.arguments["self"] if transposed else node(g, "t", self=y))
    batch = torch.broadcast_shapes(x_shape[:-2], y_shape[:-2])
    if tuple(x_shape[:-2]) != tuple(batch):
        x = node(g, "expand", self=x, size=Sizes([*batch, -1, -1]))
    if tuple(y_shape[:-2]) != tuple(batch):
        y = node(g, "expand", self=y, size=Sizes([*batch, -1, -1]))
    if len(batch) == 1:
        return node(g, "bmm", self=x, mat2=y)
    flat = [node(g, "flatten.using_ints", self=v, start_dim=0, end_dim=-3) for v in (x, y)]
    return node(g, "reshape", self=node(g, "bmm", self=flat[0], mat2=flat[1]), shape=Sizes([*batch, x_shape[-2], y_shape[-1]]))


@rule("matmul", "mm", "bmm", "mv", "dot", "inner_of_vectors")
def matmul(g, a):
    x = a["self"]
    y = next(a[k] for k in ("other", "mat2", "vec", "tensor") if k in a)
    return product(g, x.value, y.value, x.shape, y.shape)


@rule("linear")
def linear(g, a):
    if a["weight"].rank != 2:
        return None
    return node(g, "linear", input=a["input"], weight=a["weight"], bias=a.get("bias"))


@rule("baddbmm", "addbmm", "addmv")
def baddbmm(g, a):
    if "batch1" not in a:
        x, y = a["mat"], a["vec"]
    else:
        x, y = a["batch1"], a["batch2"]
    result = product(g, x.value, y.value, x.shape, y.shape)
    if "batch1" in a and a["self"].rank == 2:  # addbmm, and a matrix that is broadcast
        return None
    if a["alpha"] != 1:
        result = times(g, result, a["alpha"])
    if a["beta"] == 0:
        return result
    return plus(g, a["self"] if a["beta"] == 1 else times(g, a["self"], a["beta"]), result)


@rule("outer", "ger")
def outer(g, a):
    return times(g, node(g, "unsqueeze", self=a["self"], dim=1), a.get("vec2").value)


@rule("scaled_dot_product_attention")
def attention(g, a):
    if a.get("is_causal") or a.get("dropout_p") or a.get("enable_gqa"):
        return None
    q, k, v, mask = a["query"], a["key"], a["value"], a.get("attn_mask")
    if mask is not None and mask.dtype == torch.bool:
        return None
    scale = a.get("scale")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    turned = node(g, "transpose.int", self=k, dim0=-2, dim1=-1)
    scores = times(g, product(g, q.value, turned, q.shape, (*k.shape[:-2], k.shape[-1], k.shape[-2])), scale)
    scores = scores if mask is None else plus(g, scores, mask)
    weights = node(g, "softmax.int", self=scores, dim=-1)
    shape = (*torch.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    return product(g, weights, v.value, shape, v.shape)


# ---- over dimensions


def total(op):
    def make(g, a):
        return node(g, op, self=a["self"], dim=axes(a.get("dim"), a["self"].rank), keepdim=a.get("keepdim", False), dtype=a.get("dtype"))
    return make


RULES["sum"], RULES["mean"] = total("sum.dim_IntList"), total("mean.dim")


@rule("amax")
def amax(g, a):
    return node(g, "amax", self=a["self"], dim=axes(a["dim"], a["self"].rank), keepdim=a["keepdim"])


@rule("amin")
def amin(g, a):
    return negative(g, node(g, "amax", self=negative(g, a["self"]), dim=axes(a["dim"], a["self"].rank), keepdim=a["keepdim"]))


@rule("argmin")
def argmin(g, a):
    return node(g, "argmax", self=negative(g, a["self"]), dim=a["dim"], keepdim=a["keepdim"])


def extreme(g, a, sign):
    if "other" in a:
        return RULES["maximum" if sign > 0 else "minimum"](g, a)
    x = a["self"].value if sign > 0 else negative(g, a["self"])
    if "dim" in a and not isinstance(a["dim"], int):
        return None
    most = node(g, "amax", self=x, dim=axes(a.get("dim"), a["self"].rank), keepdim=a.get("keepdim", False))
    most = most if sign > 0 else negative(g, most)
    if "dim" not in a:
        return most
    return [most, node(g, "argmax", self=x, dim=a["dim"], keepdim=a["keepdim"])]


RULES["max"] = lambda g, a: extreme(g, a, 1)
RULES["min"] = lambda g, a: extreme(g, a, -1)


def correction(a):
    if "correction" in a:
        return 1 if a["correction"] is None else a["correction"]
    return 1 if a.get("unbiased", True) else 0


def variance(g, a):
    return node(g, "var.correction", self=a["self"], dim=axes(a.get("dim"), a["self"].rank), correction=correction(a),
                keepdim=a.get("keepdim", False))


@rule("var")
def var(g, a):
    return variance(g, a)


@rule("std")
def std(g, a):
    return node(g, "sqrt", self=variance(g, a))


@rule("var_mean", "std_mean")
def var_mean(g, a):
    return [variance(g, a), RULES["mean"](g, {k: v for k, v in a.items() if k in ("self", "dim", "keepdim")})]


@rule("norm", "linalg_vector_norm", "frobenius_norm")
def norm(g, a):
    order = a.get("p", a.get("ord", 2))
    order = 2 if order is None else order
    dims = {"dim": axes(a.get("dim"), a["self"].rank), "keepdim": a.get("keepdim", False)}
    if a.get("dtype") is not None:
        return None
    if order == 2:
        return node(g, "sqrt", self=node(g, "sum.dim_IntList", self=times(g, a["self"], a["self"]), **dims))
    if order == 1:
        return node(g, "sum.dim_IntList", self=magnitude(g, a["self"]), **dims)
    return node(g, "amax", self=magnitude(g, a["self"]), **dims) if order == math.inf else None


@rule("logsumexp")
def logsumexp(g, a):
    dims = axes(a["dim"], a["self"].rank)
    largest = torch.finfo(a["self"].dtype).max  # infinity less infinity would be NaN; PyTorch subtracts 0 there
    most = node(g, "clamp", self=node(g, "amax", self=a["self"], dim=dims, keepdim=True), min=-largest, max=largest)
    power = node(g, "exp", self=node(g, "sub.Tensor", self=a["self"], other=most))
    result = plus(g, node(g, "log", self=node(g, "sum.dim_IntList", self=power, dim=dims, keepdim=True)), most)
    if not a["keepdim"]:
        for d in sorted((axis(d, a["self"].rank) for d in dims), reverse=True):
            result = node(g, "squeeze.dim", self=result, dim=d)
    return result


def reduced(g, x, rank, reduction):
    """As losses do: not, to the mean, or to the sum."""
    return x if reduction == 0 else node(g, ["mean.dim", "sum.dim_IntList"][reduction - 1], self=x, dim=list(range(rank)))


@rule("mse_loss")
def mse_loss(g, a):
    if a["self"].shape != a["target"].shape:
        return None
    d = node(g, "sub.Tensor", self=a["self"], other=a["target"])
    return reduced(g, times(g, d, d), a["self"].rank, a["reduction"])


@rule("smooth_l1_loss", "huber_loss")
def huber_loss(g, a):
    limit = a.get("beta", a.get("delta"))
    if a["self"].shape != a["target"].shape or limit <= 0:
        return None
    d = magnitude(g, node(g, "sub.Tensor", self=a["self"], other=a["target"]))
    least = node(g, "clamp", self=d, min=None, max=limit)  # least * (d - least / 2) is d * d / 2 up to the limit
    loss = times(g, least, node(g, "sub.Tensor", self=d, other=times(g, least, 0.5)))
    if "beta" in a and limit != 1:
        loss = node(g, "div.Tensor", self=loss, other=Value(limit))
    return reduced(g, loss, a["self"].rank, a["reduction"])


# ---- normalisation


@rule("layer_norm", "native_layer_norm")
def layer_norm(g, a):
    results = node(g, "native_layer_norm", 3, input=a["input"], normalized_shape=a["normalized_shape"], weight=a["weight"], bias=a["bias"],
                   eps=a["eps"])
    return results if "cudnn_enable" not in a else results[0]


@rule("rms_norm")
def rms_norm(g, a):
    x = a["input"]
    eps = torch.finfo(x.dtype).eps if a["eps"] is None else a["eps"]
    dims = list(range(-len(a["normalized_shape"]), 0))
    mean = node(g, "mean.dim", self=times(g, x, x), dim=dims, keepdim=True)
    y = times(g, x, node(g, "rsqrt", self=plus(g, mean, eps)))
    return y if a["weight"] is None else times(g, y, a["weight"])


@rule("batch_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training")
def batch_norm(g, a):
    training = a.get("training", False)
    results = node(g, "native_batch_norm", 3, input=a["input"], weight=a["weight"], bias=a["bias"],
                   running_mean=None if training else a["running_mean"], running_var=None if training else a["running_var"],
                   training=training, momentum=a["momentum"], eps=a["eps"])
    return results if "cudnn_enabled" not in a else results[0]


def grouped(g, x, weight, bias, groups, eps):
    """Without N, C and HxW, which x says, whatever its sizes are."""
    return node(g, "native_group_norm", 3, input=x, weight=weight, bias=bias, group=groups, eps=eps)[0]


@rule("group_norm")
def group_norm(g, a):
    return grouped(g, a["input"], a["weight"], a["bias"], a["num_groups"], a["eps"])


@rule("instance_norm")
def instance_norm(g, a):
    if not a["use_input_stats"]:
        return None
    return grouped(g, a["input"], a["weight"], a["bias"], a["input"].shape[1], a["eps"])


# ---- windows


@rule("convolution", "_convolution", "convolution_overrideable")
def convolution(g, a):
    channels, weight = a["input"].shape[1], a["weight"].shape
    if channels != (weight[0] if a["transposed"] else weight[1] * a["groups"]):  # which PyTorch does not look at without numbers
        raise RuntimeError(f"the input has {channels} channels, which do not go with a weight of {'x'.join(map(str, weight))}")
    names = ("input", "weight", "bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups")
    return node(g, "convolution", **{n: a[n] for n in names})


def image_of_row(g, op, a, count=1, **more):
    """A window over one dimension, as one over two of which the first has size 1."""
    x = node(g, "unsqueeze", self=a["self"], dim=-2)
    result = node(g, op, count, self=x, kernel_size=[1, *a["kernel_size"]], stride=[1, *(a["stride"] or a["kernel_size"])],
                  padding=[0, *a["padding"]], ceil_mode=a["ceil_mode"], **more)
    return node(g, "squeeze.dim", self=result, dim=-2)


@rule("max_pool1d")
def max_pool1d(g, a):
    return image_of_row(g, "max_pool2d", a, dilation=[1, *a["dilation"]])


@rule("avg_pool1d")
def avg_pool1d(g, a):
    return image_of_row(g, "avg_pool2d", a, count_include_pad=a["count_include_pad"])


@rule("max_pool2d")
def max_pool2d(g, a):
    return node(g, "max_pool2d", self=a["self"], kernel_size=a["kernel_size"], stride=a["stride"], padding=a["padding"],
                dilation=a["dilation"], ceil_mode=a["ceil_mode"])


def window_of_three(g, op, a, **more):
    """A window over three dimensions: first over the last two of them, then over the other one."""
    x, kernel, stride, padding = a["self"], three(a["kernel_size"]), three(a["stride"] or a["kernel_size"]), three(a["padding"])
    if x.rank != 5 or a["ceil_mode"] or a.get("divisor_override"):
        return None
    dilation = three(a.get("dilation", 1))
    sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation)]
    depth, image = x.shape[2], sizes[1:]
    of_depth, of_image = ({"dilation": [dilation[0], 1]}, {"dilation": dilation[1:]}) if "dilation" in a else ({}, {})
    v = node(g, "flatten.using_ints", self=x, start_dim=1, end_dim=2)
    v = node(g, op, self=v, kernel_size=kernel[1:], stride=stride[1:], padding=padding[1:], **of_image, **more)
    v = node(g, "reshape", self=v, shape=Sizes([x.shape[0], x.shape[1], depth, math.prod(image)]))
    v = node(g, op, self=v, kernel_size=[kernel[0], 1], stride=[stride[0], 1], padding=[padding[0], 0], **of_depth, **more)
    result = node(g, "reshape", self=v, shape=Sizes([x.shape[0], x.shape[1], *sizes]))
    result.shape, result.dtype = (x.shape[0], x.shape[1], *sizes), x.dtype
    return result


def three(x):
    return [x] * 3 if isinstance(x, int) else list(x) * 3 if len(x) == 1 else list(x)


@rule("max_pool3d")
def max_pool3d(g, a):
    return window_of_three(g, "max_pool2d", a)


@rule("avg_pool3d")
def avg_pool3d(g, a):
    x, kernel, stride, padding = a["self"], three(a["kernel_size"]), three(a["stride"] or a["kernel_size"]), three(a["padding"])
    counts_padding = a.get("divisor_override") or a["count_include_pad"] or not any(padding)
    if x.rank != 5 or a["ceil_mode"] or not counts_padding:
        return window_of_three(g, "avg_pool2d", a, count_include_pad=False) if not counts_padding else None
    # One sum of a window, which may have any order, and overflow where sums of its parts do not.
    v, shape = x.value, list(x.shape)
    for d, p in enumerate(padding, 2):
        if p:
            zeros = Value(0.0, 0, (*shape[:d], p, *shape[d + 1:]), x.dtype)
            v = node(g, "cat", tensors=[zeros, v, zeros], dim=d)
            shape[d] += 2 * p
    steps = [math.prod(shape[d + 1:]) for d in range(5)]
    sizes = [(n - k) // s + 1 for n, k, s in zip(shape[2:], kernel, stride)]
    windows = node(g, "as_strided", self=v, size=Sizes([*shape[:2], *sizes, *kernel]),
                   stride=Sizes([*steps[:2], *(n * s for n, s in zip(steps[2:], stride)), *steps[2:]]), storage_offset=0)
    total = node(g, "sum.dim_IntList", self=windows, dim=[-3, -2, -1], keepdim=False, dtype=None)
    result = node(g, "div.Tensor", self=total, other=Value(a.get("divisor_override") or math.prod(kernel)))
    result.shape, result.dtype = (*shape[:2], *sizes), x.dtype
    return result


def adaptive(whole, windows):
    def make(g, a):
        sizes = [n for n in a["output_size"]]
        image = a["self"].shape[-len(sizes):]
        if all(n == 1 for n in sizes):
            return whole(g, a["self"], list(range(-len(sizes), 0)))
        if len(sizes) != 2 or any(m % n for m, n in zip(image, sizes)):
            return None
        if tuple(sizes) == tuple(image):
            return a["self"].value
        window = [m // n for m, n in zip(image, sizes)]
        return node(g, windows, self=a["self"], kernel_size=Sizes(window), stride=Sizes(window))
    return make


for rank in (1, 2, 3):
    RULES[f"adaptive_avg_pool{rank}d"] = RULES[f"_adaptive_avg_pool{rank}d"] = adaptive(
        lambda g, x, dims: node(g, "mean.dim", self=x, dim=dims, keepdim=True), "avg_pool2d")


@rule("upsample_nearest2d", "upsample_bilinear2d")
def upsample(g, a):
    op = "upsample_bilinear2d" if "align_corners" in a else "upsample_nearest2d"
    image, sizes = a.get("self", a.get("input")), a.get("output_size")
    scales = list(a.get("scale_factors") or [a.get("scales_h"), a.get("scales_w")])
    if sizes is None:
        sizes = [int(math.floor(n * s)) for n, s in zip(image.shape[2:], scales)]
    more = {"align_corners": a["align_corners"]} if "align_corners" in a else {}
    return node(g, op, self=image, output_size=Sizes(sizes), scales_h=scales[0], scales_w=scales[1], **more)
