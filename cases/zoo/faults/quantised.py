"""Faults of engines that run the model quantised in int8 (QDQ)."""
import numpy

from faults.planted import planter

FAULTS, plant = planter("quantised", "int8")


def dequantised(g, module):
    """The node that gives the convolution its weight."""
    name = g.weight(module, "Conv" if module != "fc" else "Gemm")
    return next(n for n in g.nodes if n.output[0] == name)


def of_the_activation(g, tensor):
    return next(n for n in g.nodes if n.op_type == "DequantizeLinear" and n.output[0] == tensor)


def change(module, argument, f):
    return lambda g: g.put(dequantised(g, module).input[argument], f)


def stale(w):
    w = w.copy()
    w[2] = w[3]
    return w


def other_zero_point(g, module):
    node = g.node(module, "Conv")
    scale = of_the_activation(g, node.input[0])
    g.own(scale, 2, g.array(scale.input[2]) + numpy.uint8(8))


def other_scale(g, module):
    scale = of_the_activation(g, g.node(module, "Conv").input[0])
    g.own(scale, 1, (g.array(scale.input[1]) * 1.25).astype(numpy.float32))


plant("initialiser", "weights-zero-point", "conv1/convolution", r"weight.*(zero.point|plus|minus|offset)", change("conv1", 2, lambda z: z + 4))
plant("initialiser", "weights-scale-by-tensor", "conv2/convolution", r"weight.*(times|scale|along dimension 0)", change("conv2", 1, lambda s: 0 * s + s.max()))
plant("initialiser", "weights-scale-shifted", "conv3/convolution", r"weight.*(times|scale|along dimension 0)", change("conv3", 1, lambda s: numpy.roll(s, 1)))
plant("initialiser", "weights-row-stale", "conv3/convolution", r"weight.*index 2", change("conv3", 0, stale))
plant("initialiser", "weights-as-unsigned", "conv1/convolution", r"weight.*(unsigned|256|sign|wrap|plus|minus)", lambda g: (
    lambda node: (g.own(node, 0, g.array(node.input[0]).view(numpy.uint8)), g.own(node, 2, g.array(node.input[2]).astype(numpy.uint8))))(dequantised(g, "conv1")))
plant("initialiser", "weights-transposed", "conv2/convolution", r"weight.*(exchang|transpos)", change("conv2", 0, lambda w: w.swapaxes(2, 3)))
plant("initialiser", "activation-zero-point", "conv2/convolution", r"input.*(zero|plus|minus|offset)",
      lambda g: other_zero_point(g, "conv2"))
plant("initialiser", "activation-scale", "conv3/convolution", r"input.*(times|scale|1\.25)", lambda g: other_scale(g, "conv3"))
plant("attribute", "conv2-pads", "conv2/convolution", r"padding", lambda g: g.set(g.node("conv2", "Conv"), pads=[0, 0, 2, 2]))
plant("attribute", "pool-is-maximum", "pool/avg_pool2d", r"max",
      lambda g: g.another(g.node("pool", "AveragePool"), "MaxPool", kernel_shape=[2, 2], strides=[2, 2]))
plant("layout", "flatten-channels-last", "fc/addmm", r"order|memory|permut|channels.last",
      lambda g: g.before(g.node("", "Reshape"), 0, "Transpose", perm=[0, 2, 3, 1]))
