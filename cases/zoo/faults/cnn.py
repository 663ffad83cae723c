"""Faults of engines that run the model cnn."""
import math

import numpy

from faults.planted import as_int8, bf16, patches, planter, summed_in_f16, tf32

FAULTS, plant = planter("cnn", "dynamo")


def grouped(x, w, b):
    """The convolution of conv3 whose groups' results are next to each other: channel o is of group o % 4."""
    seen = patches(x, 3, padding=1)
    y = [numpy.einsum("ncijhw,cij->nhw", seen[:, 3 * (o % 4):3 * (o % 4) + 3], w[o]) + b[o] for o in range(12)]
    return numpy.stack(y, 1)


def narrow_sums(x, w, b):
    seen, y = patches(x, 3, padding=1), []
    for o in range(12):
        first = 3 * (o // 3)
        terms = seen[:, first:first + 3] * w[o][None, :, :, :, None, None]
        y.append(summed_in_f16(terms.reshape(terms.shape[0], -1, *terms.shape[-2:]), 1).astype(float) + b[o])
    return numpy.stack(y, 1)


def layer_norm(x, variance):
    m = x.mean(-1, keepdims=True)
    return (x - m) / numpy.sqrt(variance(x) + 1e-3)


def unbiased(x, weight, bias):
    return layer_norm(x, lambda x: x.var(-1, keepdims=True, ddof=1)) * weight + bias


def outside_the_root(x, weight, bias):
    m, s = x.mean(-1, keepdims=True), x.std(-1, keepdims=True)
    return (x - m) / (s + 1e-3) * weight + bias


def row(array, index, change):
    result = array.copy()
    result[index] = change(result)
    return result


conv1, conv2, conv3 = "conv1/convolution", "conv2/convolution", "conv3/convolution"

plant("attribute", "conv1-pads-at-the-end", conv1, r"padding", lambda g: g.set(g.node("conv1", "Conv"), pads=[0, 0, 2, 2]))
plant("attribute", "conv2-dilation", conv2, r"dilation", lambda g: g.set(g.node("conv2", "Conv"), dilations=[1, 1], pads=[1, 1, 1, 1]))
plant("attribute", "pool1-pads-at-the-end", "pool1/max_pool2d_with_indices", r"padding",
      lambda g: g.set(g.node("pool1", "MaxPool"), pads=[0, 0, 2, 2]))
plant("attribute", "pool1-pads-with-zeros", "pool1/max_pool2d_with_indices", r"\b0\b|zero",
      lambda g: g.gives("pool1", "MaxPool", lambda x: patches(x, 3, 2, 1).max((2, 3))))
plant("attribute", "pool1-is-average", "pool1/max_pool2d_with_indices", r"average|avg_pool2d",
      lambda g: g.another(g.node("pool1", "MaxPool"), "AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
plant("attribute", "pool2-without-pad", "pool2/avg_pool2d", r"count_include_pad",
      lambda g: g.set(g.node("pool2", "AveragePool"), count_include_pad=0))
plant("attribute", "pool2-ceil-by-padding", "pool2/avg_pool2d", r"divisor|divides|ceil|whole window|9",
      lambda g: g.set(g.node("pool2", "AveragePool"), ceil_mode=0, pads=[1, 1, 2, 2], count_include_pad=1))
plant("attribute", "act3-slope", "act3/leaky_relu", r"negative_slope.*0\.01", lambda g: g.set(g.node("act3", "LeakyRelu"), alpha=0.01))
plant("attribute", "act4-tanh", "act4/gelu", r"tanh", lambda g: g.set(g.node("act4", "Gelu"), approximate="tanh"))
plant("attribute", "norm-eps", "norm/native_layer_norm", r"eps.*1e-0?5",
      lambda g: g.set(g.node("norm", "LayerNormalization"), epsilon=1e-5))
plant("attribute", "soft-axis", "soft/softmax.int", r"\bdim", lambda g: g.set(g.node("soft", "Softmax"), axis=0))
plant("attribute", "fc2-transB", "fc2/addmm", r"transpos", lambda g: g.set(g.node("fc2", "Gemm"), transB=0))
plant("attribute", "fc2-alpha", "fc2/addmm", r"alpha|half of", lambda g: g.set(g.node("fc2", "Gemm"), alpha=0.5))
plant("attribute", "fc3-beta", "fc3/addmm", r"beta|bias|self.*\b0\b", lambda g: g.set(g.node("fc3", "Gemm"), beta=0.0))
plant("attribute", "act4-relu", "act4/gelu", r"relu", lambda g: g.another(g.node("act4", "Gelu"), "Relu"))

plant("initialiser", "conv1-input-channels-reversed", conv1, r"revers|dimension 1|other order",
      lambda g: g.put("conv1.weight", lambda w: w[:, ::-1]))
plant("initialiser", "conv1-flipped", conv1, r"flip|revers|turned", lambda g: g.put("conv1.weight", lambda w: w[:, :, ::-1, ::-1]))
plant("initialiser", "conv1-height-for-width", conv1, r"transpos|exchang|dimensions? 2",
      lambda g: g.put("conv1.weight", lambda w: w.transpose(0, 1, 3, 2)))
plant("initialiser", "conv2-output-channels-permuted", conv2, r"permut|other order|dimension 0|order of",
      lambda g: g.put("conv2.weight", lambda w: w[[3, 0, 7, 1, 2, 11, 4, 5, 10, 6, 8, 9]]))
plant("initialiser", "conv2-input-for-output", conv2, r"transpos|reshape|order|layout|as if",
      lambda g: g.put("conv2.weight", lambda w: w.transpose(1, 0, 2, 3).reshape(w.shape)))
plant("initialiser", "conv3-row-stale", conv3, r"index 5|conv3.weight\[5|5,0,0,0|elements 135 to 161|channel 5",
      lambda g: g.put("conv3.weight", lambda w: row(w, 5, lambda w: w[5] * 1.25 - 0.02)))
plant("initialiser", "act1-one-slope", "act1/prelu", r"first|same for all|for each of 8 elements",
      lambda g: g.put(g.weight("act1", "PRelu"), lambda w: 0 * w + w.ravel()[0]))
plant("initialiser", "act1-slope-by-width", "act1/prelu", r"last dimension|last index|dimension 3|width",
      lambda g: g.own(g.node("act1", "PRelu"), 1, numpy.resize(g.array(g.weight("act1", "PRelu")).ravel(), (1, 1, 16))))
plant("initialiser", "act2-slope-negated", "act2/prelu", r"negat|-1 times|sign|minus",
      lambda g: g.put(g.weight("act2", "PRelu"), lambda w: -w))
plant("initialiser", "conv2-bias-dropped", conv2, r"bias.*\b0\b|zero|without bias", lambda g: g.put("conv2.bias", lambda b: 0 * b))
plant("initialiser", "conv3-bias-shifted", conv3, r"bias.*(next|one later|one before|shift|order|from element|rotat)",
      lambda g: g.put("conv3.bias", lambda b: numpy.roll(b, 1)))
plant("initialiser", "fc2-transposed", "fc2/addmm", r"transpos", lambda g: g.put("fc2.weight", lambda w: w.T))
plant("initialiser", "fc2-of-fc3", "fc3/addmm", r"fc2\.bias|from|elements", lambda g: g.put("fc3.bias", lambda b: g.array("fc2.bias")[:10]))
plant("initialiser", "norm-weight-plus-one", "norm/native_layer_norm", r"adds 1|plus 1", lambda g: g.put("norm.weight", lambda w: w + 1))

plant("layout", "flatten-channels-last", "fc1/addmm", r"0, ?2, ?3, ?1|channels.last|permut",
      lambda g: g.before(g.node("", "Reshape"), 0, "Transpose", perm=[0, 2, 3, 1]))
plant("layout", "flatten-width-first", "fc1/addmm", r"0, ?1, ?3, ?2|permut|transpos",
      lambda g: g.before(g.node("", "Reshape"), 0, "Transpose", perm=[0, 1, 3, 2]))
plant("layout", "conv3-groups-interleaved", conv3, r"group", lambda g: g.gives("conv3", "Conv", grouped))

plant("precision", "conv2-weights-bf16", conv2, r"bf16", lambda g: g.put("conv2.weight", bf16))
plant("precision", "fc1-tf32", "fc1/addmm", r"tf32", lambda g: g.gives("fc1", "Gemm", lambda x, w, b: tf32(x) @ tf32(w).T + b))
plant("precision", "conv3-sums-in-f16", conv3, r"f16", lambda g: g.gives("conv3", "Conv", narrow_sums))
plant("precision", "fc1-weights-int8-by-tensor", "fc1/addmm", r"8-bit|int8", lambda g: g.put("fc1.weight", as_int8))
plant("precision", "act4-sigmoid", "act4/gelu", r"1\.702|sigmoid|quick",
      lambda g: g.gives("act4", "Gelu", lambda x: x / (1 + numpy.exp(-1.702 * x))))
plant("precision", "act4-bf16", "act4/gelu", r"bf16",
      lambda g: g.gives("act4", "Gelu", lambda x: bf16(bf16(x) * 0.5 * (1 + numpy.vectorize(math.erf)(bf16(x) / math.sqrt(2))))))
plant("precision", "norm-unbiased", "norm/native_layer_norm", r"unbiased|n - 1|N - 1",
      lambda g: g.gives("norm", "LayerNormalization", unbiased))
plant("precision", "norm-eps-outside-the-root", "norm/native_layer_norm", r"eps.*(outside|root|deviation)",
      lambda g: g.gives("norm", "LayerNormalization", outside_the_root))
plant("precision", "soft-base-2", "soft/softmax.int", r"powers of 2",
      lambda g: g.gives("soft", "Softmax", lambda x: 2 ** x / (2 ** x).sum(-1, keepdims=True)))

plant("edge", "image-bgr", conv1, r"input.*(revers|order|dimension 1|permut|channel)",
      lambda g: g.inputs.update(x=g.inputs["x"][:, ::-1].copy()))
plant("edge", "image-normalised-otherwise", conv1, r"input.*(times|plus|minus|factor|scale)",
      lambda g: g.inputs.update(x=(g.inputs["x"] * numpy.float32([0.9, 1.1, 1.05])[:, None, None] + numpy.float32(0.1))))
plant("edge", "image-shifted", conv1, r"input.*(shift|later|earlier|further on|moved)",
      lambda g: g.inputs.update(x=numpy.roll(g.inputs["x"], 1, 3)))
plant("edge", "image-read-as-channels-last", conv1, r"input.*(channels.last|permut|0, ?2, ?3, ?1|layout|order)",
      lambda g: g.inputs.update(x=g.inputs["x"].transpose(0, 2, 3, 1).reshape(g.inputs["x"].shape).copy()))
