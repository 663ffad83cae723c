"""Rules (graph_rules.py) of what moves elements and computes nothing."""

import math

import torch

from graph_nodes import Sizes, Value
from graph_rules import axes, axis, node, rule


@rule("detach", "alias", "contiguous", "clone", "lift_fresh", "positive", "native_dropout", "view_as_real_copy")
def same(g, a):
    return a.get("self", a.get("input")).value if a.get("train") is not True else None


@rule("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(g, a):
    return a["input"].value if not a["train"] or a["p"] == 0 else g.lacks("dropout (in training)")


@rule("to", "_to_copy", "type_as", "_autocast_to_reduced_precision")
def to(g, a):
    dtype = a["other"].dtype if "other" in a else a.get("dtype")
    if dtype is None or dtype == a["self"].dtype:
        return a["self"].value
    return node(g, "to.dtype", self=a["self"], dtype=dtype)


def reshaped(g, v, shape, to):
    """Without written sizes where it can be said without them."""
    shape, to = tuple(shape), tuple(to)
    if shape == to:
        return v
    first = next((i for i, (x, y) in enumerate(zip(shape, to)) if x != y), min(len(shape), len(to)))
    same_at_end = 0
    while same_at_end < min(len(shape), len(to)) - first and shape[-1 - same_at_end] == to[-1 - same_at_end]:
        same_at_end += 1
    gone, come = shape[first:len(shape) - same_at_end], to[first:len(to) - same_at_end]
    if not gone and all(n == 1 for n in come):
        for k in range(len(come)):
            v = node(g, "unsqueeze", self=v, dim=first + k)
        return v
    if not come and all(n == 1 for n in gone):
        for _ in gone:
            v = node(g, "squeeze.dim", self=v, dim=first)
        return v
    if len(come) == 1 and len(gone) > 1:
        return node(g, "flatten.using_ints", self=v, start_dim=first, end_dim=-1 - same_at_end)
    return node(g, "reshape", self=v, shape=Sizes(to))


def concrete(sizes, shape):
    """With the number that -1 stands for."""
    known = math.prod(n for n in sizes if n != -1)
    return [math.prod(shape) // known if n == -1 and known else n for n in sizes]


@rule("reshape", "view", "_unsafe_view", "_reshape_alias")
def reshape(g, a):
    sizes = a.get("shape", a.get("size"))
    if isinstance(sizes, torch.dtype) or sizes is None:
        return g.lacks("view as another dtype")
    return reshaped(g, a["self"].value, a["self"].shape, concrete(sizes, a["self"].shape))


@rule("flatten")
def flatten(g, a):
    rank = a["self"].rank
    if not isinstance(a["start_dim"], int) or rank == 0 or axis(a["start_dim"], rank) == axis(a["end_dim"], rank):
        return a["self"].value if rank and isinstance(a["start_dim"], int) else None
    return node(g, "flatten.using_ints", self=a["self"], start_dim=a["start_dim"], end_dim=a["end_dim"])


@rule("t")
def t(g, a):
    return node(g, "t", self=a["self"])


@rule("transpose", "swapaxes", "swapdims")
def transpose(g, a):
    x, y = (a.get(f"dim{k}", a.get(f"axis{k}")) for k in (0, 1))
    return node(g, "transpose.int", self=a["self"], dim0=x, dim1=y) if isinstance(x, int) else None


@rule("permute")
def permute(g, a):
    return node(g, "permute", self=a["self"], dims=a["dims"])


@rule("unsqueeze")
def unsqueeze(g, a):
    return node(g, "unsqueeze", self=a["self"], dim=a["dim"])


@rule("squeeze")
def squeeze(g, a):
    v, rank = a["self"].value, a["self"].rank
    dims = sorted({axis(d, rank) for d in axes(a.get("dim"), rank)}, reverse=True)
    for d in dims:
        if a["self"].shape[d] == 1:
            v = node(g, "squeeze.dim", self=v, dim=d)
    return v


@rule("expand")
def expand(g, a):
    shape, sizes = a["self"].shape, list(a["size"])
    added = len(sizes) - len(shape)
    wanted = [shape[d - added] if n == -1 else n for d, n in enumerate(sizes)]
    if tuple(wanted) == shape:
        return a["self"].value
    return node(g, "expand", self=a["self"],
                size=Sizes(-1 if d >= added and n == shape[d - added] else n for d, n in enumerate(wanted)))


@rule("slice")
def cut(g, a):
    size = a["self"].shape[a["dim"]]
    first, last = a.get("start") or 0, a.get("end")
    last = None if last is None or last >= size else last
    if first in (0, -size) and last is None and a["step"] == 1:
        return a["self"].value
    return node(g, "slice.Tensor", self=a["self"], dim=a["dim"], start=first, end=last, step=a["step"])


@rule("select")
def select(g, a):
    return node(g, "select.int", self=a["self"], dim=a["dim"], index=a["index"]) if isinstance(a["dim"], int) else None


def pieces(size, each):
    return max(1, -(-size // each)) if each else 1


@rule("chunk", "unsafe_chunk")
def chunk(g, a):
    size = a["self"].shape[a["dim"]]
    n = pieces(size, -(-size // a["chunks"]))
    return several(node(g, "chunk", n, self=a["self"], chunks=a["chunks"], dim=a["dim"]))


@rule("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes")
def split(g, a):
    sizes, dim = a.get("split_size", a.get("split_sizes")), a["dim"]
    if isinstance(sizes, int):
        return several(node(g, "split.Tensor", pieces(a["self"].shape[dim], sizes), self=a["self"], split_size=sizes, dim=dim))
    first, all_pieces = 0, []
    for n in sizes:
        all_pieces.append(node(g, "slice.Tensor", self=a["self"], dim=dim, start=first, end=first + n, step=1))
        first += n
    return all_pieces


@rule("unbind")
def unbind(g, a):
    return [node(g, "select.int", self=a["self"], dim=a["dim"], index=k) for k in range(a["self"].shape[a["dim"]])]


def several(values):
    return values if isinstance(values, list) else [values]


@rule("cat", "concat", "concatenate")
def cat(g, a):
    given = [x for x in a["tensors"] if x.shape != (0,)]
    return node(g, "cat", tensors=given, dim=a.get("dim", 0)) if isinstance(a.get("dim", 0), int) else None


@rule("stack")
def stack(g, a):
    return node(g, "stack", tensors=a["tensors"], dim=a["dim"])


@rule("repeat")
def repeat(g, a):
    v, shape, times = a["self"].value, list(a["self"].shape), list(a["repeats"])
    if len(times) < len(shape) or 0 in times:
        return None
    v = reshaped(g, v, shape, [1] * (len(times) - len(shape)) + shape)
    for d, n in enumerate(times):
        if n > 1:
            v = node(g, "cat", tensors=[v] * n, dim=d)
    return v


MOST_PIECES = 64  # of which a tensor is put together again


@rule("flip")
def flip(g, a):
    v, shape = a["self"].value, a["self"].shape
    for d in axes(a["dims"], len(shape)):
        if shape[d] > MOST_PIECES:
            return None
        if shape[d] > 1:
            v = node(g, "cat", tensors=[node(g, "slice.Tensor", self=v, dim=d, start=k, end=k + 1, step=1) for k in reversed(range(shape[d]))], dim=d)
    return v


def triangle(g, a, upper):
    """Row by row: what is kept of it, beside zeros."""
    x, (rows, columns) = a["self"], a["self"].shape[-2:]
    if rows > MOST_PIECES:
        return None

    def zeros(n):
        return Value(0.0, 0, (*x.shape[:-2], 1, n), x.dtype)

    made = []
    for k in range(rows):
        at = min(max(k + a["diagonal"] + (0 if upper else 1), 0), columns)  # the first that is kept, or the first that is not
        first, last = (at, columns) if upper else (0, at)
        parts = [zeros(first)] if first else []
        if last > first:
            row = node(g, "slice.Tensor", self=x, dim=-2, start=k, end=k + 1, step=1)
            parts.append(node(g, "slice.Tensor", self=row, dim=-1, start=first, end=last, step=1))
        parts += [zeros(columns - last)] if last < columns else []
        made.append(node(g, "cat", tensors=parts, dim=-1))
    return node(g, "cat", tensors=made, dim=-2)


@rule("triu")
def triu(g, a):
    return triangle(g, a, True)


@rule("tril")
def tril(g, a):
    return triangle(g, a, False)
