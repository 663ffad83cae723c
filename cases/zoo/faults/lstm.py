"""Faults of engines that run the model lstm. A trace may have the steps of a recurrent layer as calls: any of them may be the one."""
import numpy

from faults.planted import planter

FAULTS, plant = planter("lstm", "dynamo")


def blocks(w, order, axis=1):
    """The gates' blocks in another order."""
    parts = numpy.split(w, len(order), axis)
    return numpy.concatenate([parts[k] for k in order], axis)


def recurrent(g, op, argument, change):
    node = next(n for n in g.nodes if n.op_type == op)
    g.put(node.input[argument], change)


def plant_lstm(name, cause, argument, change):
    plant("initialiser", "lstm-" + name, "lstm/*", cause, lambda g: recurrent(g, "LSTM", argument, change))


def plant_gru(name, cause, argument, change):
    plant("initialiser", "gru-" + name, "gru/*", cause, lambda g: recurrent(g, "GRU", argument, change))


plant_lstm("gates-of-input", r"gate|block|order", 1, lambda w: blocks(w, (0, 2, 1, 3)))
plant_lstm("gates-of-all", r"gate|block|order", 3, lambda b: numpy.concatenate([blocks(h, (0, 3, 2, 1)) for h in numpy.split(b, 2, 1)], 1))
plant_lstm("recurrent-bias-dropped", r"bias_hh|bias", 3, lambda b: numpy.concatenate([b[:, :40], 0 * b[:, 40:]], 1))
plant_lstm("directions-exchanged", r"revers|direction", 1, lambda w: w[::-1])
plant("attribute", "lstm-both-forward", "lstm/*", r"revers|direction|backward",
      lambda g: g.gives("lstm", "LSTM", lambda *a: both_forward(g)))
plant_gru("gates-exchanged", r"gate|block|order", 1, lambda w: blocks(w, (1, 0, 2)))
plant_gru("recurrent-transposed", r"transpos|exchang", 2, lambda w: numpy.concatenate([b.swapaxes(1, 2) for b in numpy.split(w, 3, 1)], 1))
plant("attribute", "gru-reset-before-product", "gru/*", r"reset|before",
      lambda g: g.set(next(n for n in g.nodes if n.op_type == "GRU"), linear_before_reset=0))
plant("attribute", "head-of-the-first-step", "head/addmm", r"step|index 0|first|other|gru",
      lambda g: g.gives("", "Gather", lambda x, *_: x[:, 0]))


def both_forward(g):
    """The second direction has the results of its steps in the order in which it made them."""
    y = g.values([next(n for n in g.nodes if n.op_type == "LSTM").output[0]])[0].copy()
    y[:, 1] = y[::-1, 1]
    return y
