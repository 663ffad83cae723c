"""Faults of engines that run the model mobilenet: batch norms as they are ("script"), and folded into the convolutions ("dynamo")."""
import numpy

import export
from faults.planted import bf16, planter

SCRIPT, plant = planter("mobilenet", "script")
FOLDED, plant_folded = planter("mobilenet", "dynamo")


def normed(x, weight, bias, mean, deviation):
    c = (slice(None), None, None)
    return (x - mean[c]) / deviation[c] * weight[c] + bias[c]


def by_variance(x, weight, bias, mean, var):
    return normed(x, weight, bias, mean, var + 1e-3)


def by_statistics_of_the_batch(x, weight, bias, mean, var):
    return normed(x, weight, bias, x.mean((0, 2, 3)), numpy.sqrt(x.var((0, 2, 3)) + 1e-3))


def eps_outside_the_root(x, weight, bias, mean, var):
    return normed(x, weight, bias, mean, numpy.sqrt(var) + 1e-3)


def hardswish(slope):
    return lambda x: x * numpy.clip(x * slope + 0.5, 0, 1)


def odd_positions(x, w, b=None):
    """A depthwise convolution of 5x5 with stride 2 that begins one later."""
    x = numpy.pad(x, ((0, 0), (0, 0), (2, 3), (2, 3)))[:, :, 1:, 1:]
    seen = numpy.lib.stride_tricks.sliding_window_view(x, (5, 5), (2, 3))[:, :, ::2, ::2]
    return numpy.einsum("nchwij,cij->nchw", seen, w[:, 0])


stem = "stem.1/native_batch_norm"
plant("attribute", "bn-eps", stem, r"eps.*1e-0?5", lambda g: g.set(g.node("stem.1", "BatchNormalization"), epsilon=1e-5))
plant("attribute", "bn-by-variance", stem, r"variance_for|without.*root|var.*instead|divides by .*var",
      lambda g: g.gives("stem.1", "BatchNormalization", by_variance))
plant("attribute", "bn-training", stem, r"training|batch.*statistic|statistics of|mean of",
      lambda g: g.gives("stem.1", "BatchNormalization", by_statistics_of_the_batch))
plant("attribute", "bn-eps-outside-the-root", "blocks.0.depth.1/native_batch_norm", r"eps.*(root|beside|deviation)",
      lambda g: g.gives("blocks.0.depth.1", "BatchNormalization", eps_outside_the_root))
plant("attribute", "depthwise-pads", "blocks.1.depth.0/convolution", r"padding",
      lambda g: g.set(g.node("blocks.1.depth.0", "Conv"), pads=[1, 1, 3, 3]))
plant("attribute", "depthwise-starts-later", "blocks.1.depth.0/convolution", r"stride|padding|later|one less",
      lambda g: g.gives("blocks.1.depth.0", "Conv", odd_positions))
plant("attribute", "hardswish-slope", "stem.2/hardswish", r"0\.2\b|hardsigmoid|slope",
      lambda g: g.gives("stem.2", "HardSwish", hardswish(0.2)))
plant("attribute", "hardswish-is-swish", "head.2/hardswish", r"silu|swish",
      lambda g: g.gives("head.2", "HardSwish", lambda x: x / (1 + numpy.exp(-x))))
plant("attribute", "hardswish-without-clip", "stem.2/hardswish", r"clip|at most|upper|without|relu|max\(",
      lambda g: g.gives("stem.2", "HardSwish", lambda x: x * numpy.maximum(x / 6 + 0.5, 0)))
plant("attribute", "hardsigmoid-slope", "blocks.0.squeeze.gate/hardsigmoid", r"0\.2\b|slope",
      lambda g: g.set(g.node("blocks.0.squeeze.gate", "HardSigmoid"), alpha=0.2))
plant("attribute", "pool-is-maximum", "blocks.0.squeeze.pool/mean.dim", r"max",
      lambda g: g.another(g.node("blocks.0.squeeze.pool", "GlobalAveragePool"), "GlobalMaxPool"))
plant("initialiser", "bn-mean-dropped", "blocks.0.expand.1/native_batch_norm", r"running_mean.*(zero|\b0\b)",
      lambda g: g.put("blocks.0.expand.1.running_mean", lambda m: 0 * m))
plant("initialiser", "bn-mean-and-var-exchanged", "blocks.0.expand.1/native_batch_norm", r"exchang|running_mean.*from element|running_var.*from element",
      lambda g: (lambda m, v: (g.put("blocks.0.expand.1.running_mean", lambda _: v), g.put("blocks.0.expand.1.running_var", lambda _: numpy.abs(m))))(
          g.array("blocks.0.expand.1.running_mean"), g.array("blocks.0.expand.1.running_var")))
plant("initialiser", "bn-weight-dropped", "head.1/native_batch_norm", r"weight.*\b1\b",
      lambda g: g.put("head.1.weight", lambda w: 0 * w + 1))
plant("initialiser", "bn-of-the-layer-before", "blocks.2.depth.1/native_batch_norm", r"blocks\.1\.depth\.1\.bias|from",
      lambda g: g.put("blocks.2.depth.1.bias", lambda b: g.array("blocks.1.depth.1.bias")))
plant("initialiser", "depthwise-channels-reversed", "blocks.0.depth.0/convolution", r"backwards|revers|order",
      lambda g: g.put("blocks.0.depth.0.weight", lambda w: w[::-1]))
plant("initialiser", "depthwise-weights-bf16", "blocks.0.depth.0/convolution", r"bf16", lambda g: g.put("blocks.0.depth.0.weight", bf16))
plant("order", "residual-left-out", "blocks.0/add.Tensor", r"left_out|leaves out|gives.*(self|other)|other.*\b0\b|self.*\b0\b|zero",
      lambda g: g.gives("blocks.0", "Add", lambda a, b: b))
plant("order", "gate-added", "blocks.0.squeeze/mul.Tensor", r"add|sum|plus", lambda g: g.another(g.node("blocks.0.squeeze", "Mul"), "Add"))
plant("order", "gate-of-its-input", "blocks.1.squeeze/mul.Tensor", r"6 times what is right minus 3|up/convolution",
      lambda g: g.node("blocks.1.squeeze", "Mul").input.__setitem__(1, g.node("blocks.1.squeeze.up", "Conv").output[0]))


def folded(module, fold):
    """`fold` gives the convolution's weight and bias for its own weight and the norm's parameters."""
    def edit(g):
        net, _ = export.make("mobilenet")
        convolution, norm = (net.get_submodule(f"{module}.{k}") for k in (0, 1))
        numbers = [t.detach().double().numpy() for t in (convolution.weight, norm.weight, norm.bias, norm.running_mean, norm.running_var)]
        weight, bias = fold(*numbers)
        node = next(n for n in g.nodes if n.op_type == "Conv" and n.input[1] == f"{module}.0.weight")
        g.put(node.input[1], lambda _: weight)
        g.put(node.input[2], lambda _: bias)
    return edit


def scaled(weight, factor):
    return weight * factor[:, None, None, None]


def with_eps(w, gamma, beta, mean, var):
    s = gamma / numpy.sqrt(var + 1e-5)
    return scaled(w, s), beta - mean * s


def without_mean(w, gamma, beta, mean, var):
    return scaled(w, gamma / numpy.sqrt(var + 1e-3)), beta


def of_variance(w, gamma, beta, mean, var):
    s = gamma / (var + 1e-3)
    return scaled(w, s), beta - mean * s


def without_gamma(w, gamma, beta, mean, var):
    s = 1 / numpy.sqrt(var + 1e-3)
    return scaled(w, s), beta - mean * s


def mean_added(w, gamma, beta, mean, var):
    s = gamma / numpy.sqrt(var + 1e-3)
    return scaled(w, s), beta + mean * s


def bias_only(w, gamma, beta, mean, var):
    return w, beta - mean * gamma / numpy.sqrt(var + 1e-3)


for name, module, fold, cause in (
        ("eps", "stem", with_eps, r"eps.*1e-0?5"), ("without-mean", "blocks.0.expand", without_mean, r"mean.*(zero|\b0\b|left|without)"),
        ("of-variance", "blocks.0.depth", of_variance, r"var.*(root|instead|not)|root"),
        ("without-gamma", "blocks.1.expand", without_gamma, r"weight.*\b1\b|gamma|without the weight"),
        ("mean-added", "blocks.1.project", mean_added, r"mean.*(sign|negat|added|minus|-1)"),
        ("weights-not-scaled", "head", bias_only, r"not folded|not scaled|unfolded|one that was recorded")):
    plant_folded("initialiser", "fold-" + name, module + ".[01]/*", cause, folded(module, fold))
FAULTS = SCRIPT + FOLDED
