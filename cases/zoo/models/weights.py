"""Weights that look trained, from a seed: batch norms with statistics, slopes, scales and biases that differ by channel.

They are put in by assignment, so that a recorded program has no call of this."""
import numpy
import torch


def inputs(seed, *shape):
    """A tensor of normal numbers with a mean that is not zero."""
    return torch.from_numpy((numpy.random.default_rng(seed).standard_normal(shape) + 0.3).astype(numpy.float32))


def trained(net, seed):
    """`net` in evaluation mode, each parameter and buffer of floating point from a generator of this seed."""
    random = numpy.random.default_rng(seed)
    for name, module in net.named_modules():
        tensors = list(module.named_parameters(recurse=False)) + list(module.named_buffers(recurse=False))
        for own, tensor in tensors:
            if tensor is not None and tensor.dtype.is_floating_point and own not in getattr(module, "constants", ()):
                numbers = drawn(type(module).__name__, own, tuple(tensor.shape), random)
                tensor.data = torch.from_numpy(numpy.asarray(numbers, numpy.float32))
    return net.eval()


def drawn(kind, name, shape, random):
    if name == "running_var":
        return random.uniform(0.05, 2.0, shape)
    if name == "running_mean":
        return random.normal(0.1, 0.5, shape)
    if kind == "PReLU":
        return random.uniform(0.05, 0.6, shape)
    if "Norm" in kind:
        return random.uniform(0.4, 1.6, shape) if name == "weight" else random.normal(0, 0.3, shape)
    if len(shape) == 1:
        return random.normal(0, 0.2, shape)
    terms = numpy.prod(shape[1:])  # of each sum
    return random.normal(0, 1.2 / numpy.sqrt(terms), shape) * random.uniform(0.5, 1.5, (shape[0],) + (1,) * (len(shape) - 1))
