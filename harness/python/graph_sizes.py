"""For which shapes a traced graph holds, where sizes are written into its nodes: the shape rule of the document.

The program is traced again with other sizes of its inputs. If the same nodes come out, and what differs in them can be left open, the size
is a letter of the rule; else it is a number.
"""

from graph_nodes import Argument, Node, Sizes, Value

LETTERS = "NKMLPQRSTUVWABDEFGHIJ"


OF_SIZES = ("slice.Tensor", "select.int", "split.Tensor")  # which a derived rule would not know of


def has_written(nodes):
    return any(node.op in OF_SIZES or any(isinstance(v, Sizes) and any(n != -1 for n in v) for v in node.arguments.values()) for node in nodes)


def groups(inputs):
    """Dimensions that may have one letter, [(input, dimension), ...]: the first ones of all inputs, and those of each size."""
    dims = [(i, d) for i, t in enumerate(inputs) for d in range(t.dim())]
    first = [(i, d) for i, d in dims if d == 0 and inputs[i].shape[0] == inputs[0].shape[0]] if inputs and inputs[0].dim() else []
    all_groups = [first] if first else []
    for n in dict.fromkeys(inputs[i].shape[d] for i, d in dims):
        of_size = [(i, d) for i, d in dims if inputs[i].shape[d] == n]
        all_groups += [of_size, [p for p in of_size if p not in first]]
    return [g for g in all_groups if g]


class Comparison:
    """Of the nodes of two traces."""

    def __init__(self, nodes, others):
        self.numbers = {id(n): k for k, n in enumerate(nodes)}, {id(n): k for k, n in enumerate(others)}
        self.differ = {}  # (node, argument) -> positions
        self.same = len(nodes) == len(others) and all(self.is_same(k, a, b) for k, (a, b) in enumerate(zip(nodes, others)))

    def is_same(self, k, node, other):
        if node.op != other.op or node.arguments.keys() != other.arguments.keys() or node.count != other.count:
            return False
        for name, a in node.arguments.items():
            b = other.arguments[name]
            if isinstance(a, Sizes) and isinstance(b, Sizes) and len(a) == len(b):
                self.differ[k, name] = {at for at, (x, y) in enumerate(zip(a, b)) if x != y}
            elif not self.is_same_value(a, b):
                return False
        return True

    def is_same_value(self, a, b):
        if isinstance(a, Value) and isinstance(b, Value):
            if isinstance(a.source, Node) and isinstance(b.source, Node):
                return self.numbers[0][id(a.source)] == self.numbers[1][id(b.source)] and a.result == b.result
            if isinstance(a.source, Argument) and isinstance(b.source, Argument):
                return a.source.name == b.source.name
            return a.source == b.source
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(self.is_same_value(x, y) for x, y in zip(a, b))
        return a == b


def rule(nodes, results, arguments, inputs, trace_again):
    """The shape rule; sizes of nodes that it leaves open become -1. trace_again(shapes) -> (nodes, results), or None."""
    letters = {}    # (input, dimension) -> letter
    open_at = {}    # (node, argument) -> positions
    traces = []     # (letter, size, results)
    for group in groups(inputs):
        if any(p in letters for p in group) or len(traces) == len(LETTERS):
            continue
        shapes = [list(t.shape) for t in inputs]
        for i, d in group:
            shapes[i][d] *= 2
        again = trace_again(shapes)
        if again is None:
            continue
        c = Comparison(nodes, again[0])
        both = {key: open_at.get(key, set()) | at for key, at in c.differ.items()}
        can_be_open = all(not at or len(at) == 1 and nodes[k].op == "reshape" for (k, _), at in both.items())
        if c.same and can_be_open:
            open_at = both
            letter = LETTERS[len(traces)]
            letters |= dict.fromkeys(group, letter)
            traces.append((letter, inputs[group[0][0]].shape[group[0][1]], again[1]))
    for (k, name), at in open_at.items():
        for position in at:
            nodes[k].arguments[name][position] = -1
    index = {id(a): i for i, a in enumerate(a for a in arguments if not a.of_module)}
    texts = []
    for a in arguments:
        dims = [letters.get((index[id(a)], d), str(n)) if not a.of_module else str(n) for d, n in enumerate(a.shape)]
        if a.used:
            texts.append(f"{a.name}=[{','.join(dims)}]")
    return f"{' '.join(texts)} -> {', '.join(result_text(r, k, nodes, traces) for k, r in enumerate(results))}"


def result_text(result, k, nodes, traces):
    dims = [str(n) for n in result.shape]
    for letter, size, results in traces:
        for d, (n, changed) in enumerate(zip(result.shape, results[k].shape)):
            if n == changed:
                continue
            if n != size or changed != 2 * size or not dims[d].isdigit():
                node = next(i for i, node in enumerate(nodes) if node is result.source)
                return f"[edge({node},{result.result},0,e0)]"
            dims[d] = letter
    return f"[{','.join(dims)}]"
