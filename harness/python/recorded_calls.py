"""What PyTorch's dispatched calls are: views, new memory, computations; and the tensors among their values."""

import torch

VIEWS = ("view", "_unsafe_view", "reshape", "_reshape_alias", "t", "transpose.int", "permute", "expand", "squeeze", "squeeze.dim",
         "unsqueeze", "slice.Tensor", "select.int", "detach", "alias", "as_strided", "flatten.using_ints", "unbind.int",
         "split.Tensor", "chunk", "narrow", "lift_fresh",
         # In place, they change how a tensor lies in its memory, and nothing there.
         "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "squeeze_.dim", "squeeze_.dims", "unsqueeze_", "as_strided_", "detach_")

# Results that only look like an argument.
CREATES = ("empty", "new_", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")
MAKES = ("empty", "new_empty", "new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like")
RESIZES = ("resize_", "resize_as_", "set_")  # other memory, in which nothing was computed


def writes(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


def is_view(func, name):
    return name in VIEWS or any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)


def has_data(tensor):
    """Whether its elements lie in memory as numbers. Those on the device meta have a shape alone."""
    return tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_meta and not tensor.is_nested


def number_tensor(number, wide, floating):
    """A number where a tensor may stand, as in x + 0.5 and x / 4."""
    if isinstance(number, float) or floating and not isinstance(number, bool) and abs(number) <= 1 << (53 if wide else 24):
        return torch.tensor(number, dtype=torch.float64 if wide else torch.get_default_dtype())
    return torch.tensor(number)


def flat(values):
    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from flat(v)
