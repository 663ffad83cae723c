"""Faults of engines that run the model resnet."""
import numpy

from faults.planted import bf16, planter

FAULTS, plant = planter("resnet", "script")


def one_later(x, w):
    """A convolution of 1x1 and stride 2 that reads the odd positions."""
    return numpy.einsum("nchw,oc->nohw", numpy.roll(x, (-1, -1), (2, 3))[:, :, ::2, ::2], w[:, :, 0, 0])


def exchange(g, first, second):
    """The second node comes before the first one, which it follows."""
    g.readers_of(second.output[0], "exchanged")
    first.input[0], second.input[0] = second.output[0], first.input[0]
    for node in g.nodes:
        for k, name in enumerate(node.input):
            if name == "exchanged":
                node.input[k] = first.output[0]


def relu_before_add(g):
    add = g.node("layer1", "Add")
    g.before(add, 0, "Relu")
    g.left_out(g.node("layer1.relu_1", "Relu"))


plant("attribute", "conv1-pads", "conv1/convolution", r"padding", lambda g: g.set(g.node("conv1", "Conv"), pads=[2, 2, 4, 4]))
plant("attribute", "pool-pads", "pool/max_pool2d_with_indices", r"padding", lambda g: g.set(g.node("pool", "MaxPool"), pads=[0, 0, 2, 2]))
plant("attribute", "down-reads-odd-positions", "layer2.down.0/convolution", r"padding|stride|shift|later|one less",
      lambda g: g.gives("layer2.down.0", "Conv", one_later))
plant("attribute", "bn-eps", "layer2.bn2/native_batch_norm", r"eps.*0\.001",
      lambda g: g.set(g.node("layer2.bn2", "BatchNormalization"), epsilon=1e-3))
plant("attribute", "mean-of-width", "mean/mean.dim", r"divid|factor|times|dim|size",
      lambda g: g.gives("mean", "GlobalAveragePool", lambda x: x.sum((2, 3), keepdims=True) / x.shape[3]))
plant("initialiser", "conv1-channels-reversed", "conv1/convolution", r"backwards|revers",
      lambda g: g.put("conv1.weight", lambda w: w[:, ::-1]))
plant("initialiser", "conv1-flipped", "conv1/convolution", r"backwards|flip",
      lambda g: g.put("conv1.weight", lambda w: w[:, :, ::-1, ::-1]))
plant("initialiser", "layer1-transposed", "layer1.conv1/convolution", r"exchang|transpos|1, 0, 2, 3",
      lambda g: g.put("layer1.conv1.weight", lambda w: w.transpose(1, 0, 2, 3)))
plant("initialiser", "conv3-as-hwio", "layer1.conv2/convolution", r"order|permut|layout|memory",
      lambda g: g.put("layer1.conv2.weight", lambda w: w.transpose(2, 3, 1, 0).reshape(w.shape)))
plant("initialiser", "fc-bias-dropped", "fc/addmm", r"zero|\b0\b", lambda g: g.put("fc.bias", lambda b: 0 * b))
plant("initialiser", "fc-row-stale", "fc/addmm", r"index 7",
      lambda g: g.put("fc.weight", lambda w: numpy.where(numpy.arange(10)[:, None] == 7, w * 0.75, w)))
plant("initialiser", "fc-weights-bf16", "fc/addmm", r"bf16", lambda g: g.put("fc.weight", bf16))
plant("initialiser", "bn-var-is-deviation", "layer1.bn1/native_batch_norm", r"root|sqrt",
      lambda g: g.put("layer1.bn1.running_var", numpy.sqrt))
plant("initialiser", "bn-bias-shifted", "layer1.bn2/native_batch_norm", r"too early|too late|shift",
      lambda g: g.put("layer1.bn2.bias", lambda b: numpy.roll(b, 1)))
plant("order", "relu-before-add", "layer1/add.Tensor", r"negative|relu", relu_before_add,
      also=("layer1.relu/relu#2", "layer2.conv1/convolution", "layer2.down.0/convolution"))
plant("order", "relu-left-out", "layer1.relu/relu#2", r"as it is|result of layer1/add\.Tensor",
      lambda g: g.gives("layer1.relu_1", "Relu", lambda x: x))
plant("order", "residual-left-out", "layer2/add.Tensor", r"zero|\b0\b|left|leaves", lambda g: g.gives("layer2", "Add", lambda a, b: a))
plant("order", "residual-twice", "layer1/add.Tensor", r"alpha|twice|2 times|double",
      lambda g: g.gives("layer1", "Add", lambda a, b: a + 2 * b))
plant("order", "residual-of-another-tensor", "layer1/add.Tensor", r"other.*(layer1\.relu|relu_output|takes negative)",
      lambda g: g.node("layer1", "Add").input.__setitem__(1, g.node("layer1.relu", "Relu").output[0]))
plant("order", "bn-after-relu", "bn1/native_batch_norm", r"relu|input",
      lambda g: exchange(g, g.node("bn1", "BatchNormalization"), g.node("relu", "Relu")),
      also=("relu/relu", "pool/*"))
plant("layout", "flatten-other", "layer1.conv2/convolution", r"order|transpos|exchang|permut",
      lambda g: g.gives("layer1.conv2", "Conv", lambda x, w: g.values(["/layer1/conv2/Conv_output_0"])[0].transpose(0, 1, 3, 2).reshape(2, 8, 7, 6)))
plant("edge", "training-mode", "bn1/native_batch_norm", r"training|batch|mean of|statistic", lambda g: g.gives(
    "bn1", "BatchNormalization", lambda x, w, b, m, v: ((x.transpose(0, 2, 3, 1) - x.mean((0, 2, 3))) / numpy.sqrt(x.var((0, 2, 3)) + 1e-5) * w + b).transpose(0, 3, 1, 2)))
plant("edge", "image-bgr", "conv1/convolution", r"input.*(backwards|revers)", lambda g: g.inputs.update(x=g.inputs["x"][:, ::-1].copy()))
plant("edge", "image-in-0-255", "conv1/convolution", r"input.*(255|times)", lambda g: g.inputs.update(x=g.inputs["x"] * numpy.float32(255)))
