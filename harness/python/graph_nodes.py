"""The graph that a trace makes: its values, its nodes, and the document that it is written to (harness/graph/graph_file.h)."""

import dataclasses
import math

import torch

DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
          "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool"}
# What a name must not be, because an argument may be this word.
WORDS = {"none", "tanh", "trunc", "floor", "true", "false", "inf", "nan", "return", "contiguous", "channels_last", "preserve"}


def dtype_word(dtype):
    return DTYPES.get(str(dtype).removeprefix("torch."), str(dtype))


@dataclasses.dataclass(eq=False)
class Argument:
    """Of the graph."""
    name: str
    shape: tuple
    dtype: torch.dtype
    of_module: bool
    used: bool = False


@dataclasses.dataclass(eq=False)
class Node:
    op: str
    arguments: dict  # a Value, a list of them, or a literal
    count: int       # of results
    used: set = dataclasses.field(default_factory=set)
    names: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Value:
    """An argument of the graph, a result of a node, or a number; with the shape and the dtype that it has in the traced call."""
    source: object  # Argument, Node, or a number
    result: int = 0
    shape: tuple = None
    dtype: torch.dtype = None

    def is_number(self):
        return isinstance(self.source, (int, float, bool))


class Sizes(list):
    """Sizes of tensors that are written into a node: whether they hold for other shapes, too, graph_sizes.py finds out."""


def values_in(arguments):
    for v in arguments.values():
        for item in v if isinstance(v, (list, tuple)) else [v]:
            if isinstance(item, Value):
                yield item


def live_nodes(nodes, results):
    """Those that the results need, in order; says of each node and argument what is used of it."""
    needed = []

    def use(value):
        if isinstance(value.source, Node):
            value.source.used.add(value.result)
        elif isinstance(value.source, Argument):
            value.source.used = True

    for value in results:
        use(value)
    for node in reversed(nodes):
        if node.used:
            needed.append(node)
            for value in values_in(node.arguments):
                use(value)
    return needed[::-1]


def words_of(v, names):
    """As JSON has an argument of a node."""
    if isinstance(v, Value):
        if isinstance(v.source, Argument):
            return v.source.name
        return v.source.names[v.result] if isinstance(v.source, Node) else words_of(v.source, names)
    if isinstance(v, (list, tuple)):
        return [words_of(item, names) for item in v]
    if isinstance(v, torch.dtype):
        return dtype_word(v)
    if isinstance(v, float) and not math.isfinite(v):
        return str(v)
    return v


def document(name, arguments, nodes, results, shapes):
    """assay.graph/1"""
    taken = {a.name for a in arguments} | WORDS | set(DTYPES.values())
    written = []
    for node in nodes:
        base = node.op.partition(".")[0].lstrip("_")
        node.names = ["_"] * node.count
        for k in range(node.count):
            if k in node.used:
                number, word = 1, base
                while word in taken:
                    word = f"{base}_{number}"
                    number += 1
                taken.add(word)
                node.names[k] = word
        written.append({"results": node.names, "op": node.op,
                        "arguments": {k: words_of(v, None) for k, v in node.arguments.items()}})
    returned = "Tensor" if len(results) == 1 else f"({', '.join(['Tensor'] * len(results))})"
    schema = f"assay::{name}({', '.join('Tensor ' + a.name for a in arguments)}) -> {returned}"
    return {"format": "assay.graph/1", "schema": schema} | ({"shapes": shapes} if shapes else {}) | \
        {"nodes": written, "results": [words_of(r, None) for r in results]}
