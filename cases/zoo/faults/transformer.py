"""Faults of engines that run the model transformer."""
import numpy

from faults.planted import bf16, planter, tf32

FAULTS, plant = planter("transformer", "dynamo")


def turned(x, cos, sin, turn):
    return x * cos + turn(x) * sin


def neighbours(x):
    """(-x1, x0, -x3, x2, ..), as in GPT-J."""
    return numpy.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)


def rope(of, turn, table=lambda t: t):
    """The engine turns in one kernel, and keeps nothing of what lies between."""
    def edit(g):
        module = "attention." + of
        steps = [g.node(module, *n) for n in (("Mul", 0), ("Neg", 0), ("Concat", 0), ("Mul", 1))]
        x, cos, sin = g.values([steps[0].input[0], steps[0].input[1], steps[3].input[1]])
        g.kernel_of(g.node(module, "Add"), lambda *_: turned(x.astype(float), table(cos), table(sin), turn))
        g.hide(*steps)
    return edit


def neighbours_together(of):
    """Also with angles for neighbours."""
    return rope(of, neighbours, lambda t: numpy.repeat(t[:, :4], 2, -1))


def kv_heads(which):
    """Heads 0 1 0 1, and not 0 0 1 1."""
    def edit(g):
        node = [n for n in g.nodes if n.op_type == "Reshape" and g.values([n.output[0]])[0].shape == (2, 4, 7, 8)
                and any(m.op_type == "Expand" and m.output[0] == n.input[0] for m in g.nodes)][which]
        g.kernel_of(node, lambda x, *_: numpy.swapaxes(x, 1, 2).reshape(2, 4, 7, 8))
    return edit


def softmax(x, axis=-1):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def mask_after(g):
    mask, add = g.array("attention.mask"), g.node("attention", "Add")
    scores = g.values([add.input[0]])[0]
    g.kernel_of(add, lambda *_: scores)
    g.kernel_of(g.node("attention.soft", "Softmax"), lambda x: softmax(x) * (mask == 0))


def merged_without_transposition(g):
    node = [n for n in g.nodes if n.op_type == "Transpose" and g.values([n.output[0]])[0].shape == (2, 7, 4, 8)][-1]
    g.kernel_of(node, lambda x: x.reshape(2, 7, 4, 8))


def weight_of(g, module):
    return g.weight(module, "MatMul")


def interleaved(w):
    """Columns of a head's halves, one of each in turn: what a conversion for the other rotary positions does."""
    return w.reshape(32, -1, 2, 4).swapaxes(-1, -2).reshape(w.shape)


def scalar(g, module, op, which, argument, value):
    node = g.node(module, op, which)
    g.own(node, argument, numpy.float32(value))


plant("order", "rope-of-neighbours", "attention.rotate_q/add.Tensor", r"neighbour|interleav|pairs|even", neighbours_together("rotate_q"))
plant("order", "rope-turns-back", "attention.rotate_k/add.Tensor", r"sin|neg|minus|sub", rope("rotate_k", lambda x: -numpy.concatenate([-x[..., 4:], x[..., :4]], -1)))
plant("order", "rope-one-step-later", "attention.rotate_q/*", r"cos|sin|position|shift|later|row",
      rope("rotate_q", lambda x: numpy.concatenate([-x[..., 4:], x[..., :4]], -1), lambda t: numpy.roll(t, 1, 0)))
plant("order", "rope-left-out", "attention.rotate_k/add.Tensor", r"left out|leaves out|gives|cos|self", rope("rotate_k", lambda x: 0 * x, lambda t: 0 * t + 1))
plant("order", "kv-heads-in-turn", "attention/bmm", r"order|permut|0, ?2, ?1|dimension 1|dimension 2", kv_heads(0))
plant("order", "v-heads-in-turn", "attention/bmm#2", r"order|permut|0, ?2, ?1|dimension 1|dimension 2", kv_heads(1))
plant("order", "mask-after-softmax", "attention/add.Tensor", r"other.*(zero|\b0\b)|left|leaves", mask_after, also=("attention.soft/softmax.int",))
plant("order", "mask-left-out", "attention/add.Tensor", r"other.*(zero|\b0\b)|left|leaves|alpha",
      lambda g: g.gives("attention", "Add", lambda a, b: a))
plant("order", "scale-left-out", "attention/mul.Tensor", r"other.*\b1\b|left|leaves|scale|2\.828",
      lambda g: g.gives("attention", "Mul", lambda a, b: a))
plant("order", "scale-without-root", "attention/mul.Tensor", r"0\.125|other|squared",
      lambda g: g.gives("attention", "Mul", lambda a, b: a / 8))
plant("order", "residual-of-the-norm", "add.Tensor", r"norm1|self",
      lambda g: g.node("", "Add").input.__setitem__(0, g.node("norm1", "Mul", 1).output[0]))
plant("order", "residual-left-out", "add.Tensor#2", r"self.*(zero|\b0\b)|left|leaves", lambda g: g.gives("", "Add", lambda a, b: b, 1))
plant("order", "gate-and-up-exchanged", "mlp.act/silu", r"mlp\.up|another|up/mm|linear", lambda g: [
    g.kernel_of(g.node("mlp.act", op), k) for op, k in (("Sigmoid", lambda x: 1 / (1 + numpy.exp(-g.values([weight_out(g, "mlp.up")])[0]))),
                                                      ("Mul", lambda *_: silu(g.values([weight_out(g, "mlp.up")])[0])))])
plant("order", "q-and-k-exchanged-in-the-scores", "attention/bmm", r"transpos|exchang|order",
      lambda g: g.gives("attention", "MatMul", lambda q, k: (q @ k).swapaxes(-1, -2)))


def weight_out(g, module):
    return g.node(module, "MatMul").output[0]


def silu(x):
    return x / (1 + numpy.exp(-x.astype(float)))


plant("attribute", "softmax-axis", "attention.soft/softmax.int", r"\bdim", lambda g: g.set(g.node("attention.soft", "Softmax"), axis=2))
plant("attribute", "silu-is-gelu", "mlp.act/silu", r"gelu",
      lambda g: g.gives("mlp.act", "Mul", lambda x, _: x * 0.5 * (1 + erf(x / 2 ** 0.5))))
plant("attribute", "norm-eps", "norm1/add.Tensor", r"0\.1|eps|other", lambda g: scalar(g, "norm1", "Add", 0, 1, 0.1))
plant("attribute", "norm-is-sum", "norm1/mean.dim", r"sum|32|divid",
      lambda g: g.gives("norm1", "ReduceMean", lambda x, *_: x.sum(-1, keepdims=True)))
plant("attribute", "layer-norm-is-rms", "norm/native_layer_norm", r"mean|rms", lambda g: g.gives(
    "norm", "LayerNormalization", lambda x, w, b: x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w + b))
plant("initialiser", "q-interleaved", "attention.q/mm", r"order|permut|indices", lambda g: g.put(weight_of(g, "attention.q"), interleaved))
plant("initialiser", "q-transposed", "attention.q/mm", r"transpos|exchang", lambda g: g.put(weight_of(g, "attention.q"), lambda w: w.T))
plant("initialiser", "v-weights-of-k", "attention.v/mm", r"attention\.k|elements|from",
      lambda g: g.put(weight_of(g, "attention.v"), lambda _: g.array(weight_of(g, "attention.k"))))
plant("initialiser", "mask-one-later", "attention/add.Tensor", r"unwritten|diagonal|where",
      lambda g: g.put("attention.mask", lambda m: numpy.triu(numpy.full(m.shape, -1e4), 2)))
plant("initialiser", "norm-weight-plus-one", "norm1/mul.Tensor#2", r"adds 1|plus 1", lambda g: g.put("norm1.weight", lambda w: w + 1))
plant("initialiser", "head-row-stale", "head/addmm", r"index 3|dimension 1",
      lambda g: g.put(weight_of(g, "head"), lambda w: numpy.where(numpy.arange(20) == 3, w * 1.5, w)))
plant("initialiser", "head-bias-dropped", "head/addmm", r"self.*(zero|\b0\b)|bias.*(zero|\b0\b)|beta",
      lambda g: g.put("head.bias", lambda b: 0 * b))
plant("precision", "o-weights-bf16", "attention.o/mm", r"bf16", lambda g: g.put(weight_of(g, "attention.o"), bf16))
plant("precision", "down-tf32", "mlp.down/mm", r"tf32", lambda g: g.gives("mlp.down", "MatMul", lambda x, w: tf32(x) @ tf32(w)))
plant("precision", "softmax-stored-as-f16", "attention.soft/softmax.int", r"f16",
      lambda g: g.gives("attention.soft", "Softmax", lambda x: softmax(x).astype(numpy.float16)))
plant("precision", "scores-in-bf16", "attention/bmm", r"bf16",
      lambda g: g.gives("attention", "MatMul", lambda q, k: bf16(bf16(q) @ bf16(k))))
plant("layout", "heads-merged-without-transposition", "attention.o/mm", r"order|permut|reshape|memory", merged_without_transposition)


def erf(x):
    import math
    return numpy.vectorize(math.erf)(x)
