"""Recurrent layers, recorded as one call for each: PyTorch dispatches them as hundreds of small ones, or as one that is called otherwise on each
machine. A layer of several is called by itself, as PyTorch does, so that what lies between two of them is recorded, too."""

import functools

import torch

from recorded_calls import has_data

# Functions of torch._VF, which torch.nn calls, and of torch. Packed sequences go to overloads that this does not know, and are recorded as before.
FUNCTIONS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def is_layer(name):
    base, _, overload = name.partition(".")
    return base in FUNCTIONS and overload == "input"


def watch(recorder):
    """Returns what ends it."""
    places = [(holder, name) for holder in (torch._VF, torch) for name in FUNCTIONS if hasattr(holder, name)]
    before = [(holder, name, vars(holder).get(name), getattr(holder, name)) for holder, name in places]
    for holder, name, _, function in before:
        setattr(holder, name, recorded(recorder, name, function))

    def end():
        for holder, name, own, _ in before:
            if own is None:
                delattr(holder, name)
            else:
                setattr(holder, name, own)
    return end


def recorded(recorder, name, function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        layers = None if kwargs or not recorder.watches() else Layers.of(name, args)
        return function(*args, **kwargs) if layers is None else layers.run(recorder, function)
    return called


class Layers:
    def __init__(self, name, args):
        self.name = name
        self.input, self.hx, self.params, self.has_biases, self.count, self.dropout, self.train, self.both, self.batch_first = args
        self.func = getattr(torch.ops.aten, name).input

    @staticmethod
    def of(name, args):
        """Nothing of calls that are recorded in parts: packed sequences, subclasses of tensors, tensors without data, autocast."""
        if len(args) != 9 or not isinstance(args[2], (list, tuple)) or isinstance(args[1], torch.Tensor) == (name == "lstm"):
            return None
        layers = Layers(name, args)
        tensors = [layers.input, *layers.states(), *layers.params]
        plain = all(type(t) in (torch.Tensor, torch.nn.Parameter) and has_data(t) and t.device.type == "cpu" for t in tensors)
        if not plain or torch.is_autocast_cpu_enabled() or layers.input.dim() != 3 or layers.input.numel() == 0:
            return None
        return layers if len(layers.params) % (layers.count * (1 + layers.both)) == 0 else None

    def states(self):
        return list(self.hx) if self.name == "lstm" else [self.hx]

    def run(self, recorder, function):
        if self.count == 1:
            return self.layer(recorder, function, self.input, self.hx, self.params)
        x, ends, directions = self.input, [], 1 + self.both
        of_each = len(self.params) // self.count
        for k in range(self.count):
            states = [s[k * directions:(k + 1) * directions] for s in self.states()]
            x, *end = self.layer(recorder, function, x, tuple(states) if self.name == "lstm" else states[0],
                                 list(self.params[k * of_each:(k + 1) * of_each]))
            ends.append(end)
            if self.dropout and self.train and k + 1 < self.count:
                x = torch.dropout(x, self.dropout, True)
        return (x, *(torch.cat(end, 0) for end in zip(*ends)))

    def layer(self, recorder, function, x, hx, params):
        given = (x, hx, params, self.has_biases, 1, 0.0, self.train, self.both, self.batch_first)
        arguments = {a.name: v for a, v in zip(self.func._schema.arguments, given)}
        return recorder.as_one(self.func, f"{self.name}.input", arguments, lambda: function(*given))
