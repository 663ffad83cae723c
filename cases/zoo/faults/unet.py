"""Faults of engines that run the model unet."""
import numpy

from faults.planted import bf16, planter

FAULTS, plant = planter("unet", "dynamo")

up1, up2, wide = "up1/upsample_bilinear2d", "up2/upsample_nearest2d", "wide/convolution"


def resize(module, **attributes):
    return lambda g: g.set(g.node(module, "Resize"), **attributes)


def norm_of(groups, eps=1e-5):
    def kernel(x, c):
        n = x.reshape(x.shape[0], groups, -1)
        n = (n - n.mean(-1, keepdims=True)) / numpy.sqrt(n.var(-1, keepdims=True) + eps)
        return n.reshape(x.shape)
    return kernel


def group_norm(module, groups, eps=1e-5):
    """In one kernel: only the last result is there."""
    def edit(g):
        nodes = [g.node(module, op, k) for op, k in (("Reshape", 0), ("InstanceNormalization", 0), ("Reshape", 1), ("Mul", 0), ("Add", 0))]
        x, gamma, beta = g.values([nodes[0].input[0], nodes[3].input[1], nodes[4].input[1]])
        g.kernel_of(nodes[4], lambda *_: norm_of(groups, eps)(x.astype(float), 0) * gamma + beta)
        g.hide(*nodes[:4])
    return edit


plant("attribute", "nearest-half-pixel", up2, r"half.pixel|1/2", resize("up2", coordinate_transformation_mode="half_pixel", nearest_mode="floor"))
plant("attribute", "nearest-rounds-up", up2, r"ceil|round|up", resize("up2", nearest_mode="ceil"))
plant("attribute", "nearest-is-linear", up2, r"linear", resize("up2", mode="linear", coordinate_transformation_mode="half_pixel"))
plant("attribute", "bilinear-align-corners", up1, r"align_corners", resize("up1", coordinate_transformation_mode="align_corners"))
plant("attribute", "bilinear-asymmetric", up1, r"asymmetric|half|corner of", resize("up1", coordinate_transformation_mode="asymmetric"))
plant("attribute", "bilinear-is-nearest", up1, r"nearest", resize("up1", mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric"))
plant("attribute", "bilinear-is-cubic", up1, r"cubic", resize("up1", mode="cubic"))
plant("attribute", "elu-alpha", "down2.act/elu", r"alpha.*\b1\b|exp\(x\) - 1", lambda g: g.set(g.node("down2.act", "Elu"), alpha=1.0))
plant("attribute", "elu-is-leaky", "middle.act/elu", r"leaky|0\.7 times self",
      lambda g: g.another(g.node("middle.act", "Elu"), "LeakyRelu", alpha=0.7))
plant("attribute", "group-norm-groups", "down1.norm/native_group_norm", r"group", group_norm("down1.norm", 4))
plant("attribute", "group-norm-is-layer-norm", "middle.norm/native_group_norm", r"group.*\b1\b|all", group_norm("middle.norm", 1))
plant("attribute", "group-norm-eps", "middle.norm/native_group_norm", r"eps.*0\.01", group_norm("middle.norm", 4, 1e-2))
plant("attribute", "instance-norm-eps", "down2.norm/native_batch_norm", r"eps",
      lambda g: g.set(g.node("down2.norm", "InstanceNormalization"), epsilon=1e-2))
plant("attribute", "instance-norm-over-batch", "down2.norm/native_batch_norm", r"batch|image", lambda g: g.gives(
    "down2.norm", "InstanceNormalization", lambda x, w, b: (x - x.mean((0, 2, 3), keepdims=True)) / numpy.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5) * w[:, None, None] + b[:, None, None]))
plant("attribute", "wide-pads", wide, r"padding", lambda g: g.set(g.node("wide", "ConvTranspose"), pads=[0, 0, 2, 2]))
plant("attribute", "wide-output-padding-in-front", wide, r"padding", lambda g: g.set(g.node("wide", "ConvTranspose"), pads=[2, 2, 0, 0]))
plant("initialiser", "wide-flipped", wide, r"backwards|flip", lambda g: g.put("wide.weight", lambda w: w[:, :, ::-1, ::-1]))
plant("initialiser", "wide-input-for-output", wide, r"order|1, 0|transpos|layout",
      lambda g: g.put("wide.weight", lambda w: w.transpose(1, 0, 2, 3).reshape(w.shape)))
plant("initialiser", "merge2-halves-exchanged", "merge2/convolution", r"order|dimension 1|later|early|too",
      lambda g: g.put("merge2.weight", lambda w: numpy.roll(w, 16, 1)))
plant("initialiser", "out-weights-bf16", "out/convolution", r"bf16", lambda g: g.put("out.weight", bf16))
plant("order", "concat-exchanged", "cat", r"order|exchang",
      lambda g: (lambda n: (lambda i: n.input.__setitem__(slice(None), i[::-1]))(list(n.input)))(g.node("", "Concat")))
plant("order", "relu-left-out", "relu", r"as it is|result of merge2/convolution", lambda g: g.gives("", "Relu", lambda x: x))
plant("order", "skip-of-another-tensor", "cat#2", r"tensors?.*(down1|elu|elements? 0)",
      lambda g: g.node("", "Concat", 1).input.__setitem__(0, g.node("down1.conv", "Conv").output[0]))
plant("attribute", "gate-is-hardsigmoid", "gate/sigmoid", r"hardsigmoid|hard|clip|0\.2|linear",
      lambda g: g.another(g.node("gate", "Sigmoid"), "HardSigmoid"))
plant("attribute", "gate-left-out", "gate/sigmoid", r"as it is|result of out/convolution",
      lambda g: g.gives("gate", "Sigmoid", lambda x: x))
plant("attribute", "pool-offset", "pool/max_pool2d_with_indices", r"padding|later|shift|input",
      lambda g: g.gives("pool", "MaxPool", lambda x: numpy.roll(x, (-1, -1), (2, 3)).reshape(2, 8, 8, 2, 6, 2).max((3, 5))))
