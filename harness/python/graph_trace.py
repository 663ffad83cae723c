"""Traces a PyTorch program to a graph: what its calls compute, without computing it.

Calls arrive as PyTorch dispatches them in inference mode: whole, as linear or softmax, where Assay has an operator, and otherwise as
the calls that they are made of. Tensors have no numbers (they are on the device meta), so that a trace takes no time whatever their
sizes; small constants alone do. A tensor is known by the memory in which it lies, so that what is written in place is the value of that
memory from then on.
"""

import contextlib
import math

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

import graph_rules
import graph_rules_of_movements
import graph_rules_of_rows  # noqa: F401  whose rules enter themselves
import recorded_program
from graph_nodes import Argument, Node, Sizes, Value, values_in
from recorded_calls import flat, writes
from recorded_memory import storage_of

KNOWN_NUMBERS = ("zeros", "ones", "full", "arange", "linspace", "eye", "scalar_tensor", "empty", "tril_indices", "triu_indices", "hann_window")
LIKE = {"zeros_like": 0, "new_zeros": 0, "ones_like": 1, "new_ones": 1, "full_like": None, "new_full": None, "empty_like": 0, "new_empty": 0}
SMALL = 1 << 16  # elements of constants that are computed
MOST = 1 << 24   # elements with which a call is run that PyTorch has no shapes for otherwise


BROADCAST = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "where.self", "expand")


class Stopped(Exception):
    """The program needs the numbers of a tensor."""


def place(tensor):
    """In memory: tensors of one place are one value."""
    return (storage_of(tensor)._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)


def is_all(one, other):
    """Of places: whether both are the same stretch of memory in row-major order, in whatever shapes."""
    def dense(where):
        strides = [math.prod(where[2][d + 1:]) for d in range(len(where[2]))]
        return all(n == 1 or s == t for n, s, t in zip(where[2], where[3], strides))
    return one[1] == other[1] and one[4] == other[4] and math.prod(one[2]) == math.prod(other[2]) and dense(one) and dense(other)


def are_apart(one, other):
    """Of places: whether they are parts of one tensor that share no element, as its chunks are."""
    dims = sorted(((s, n, m) for s, n, m in zip(one[3], one[2], other[2])), reverse=True)
    if one[3] != other[3] or len(one[2]) != len(other[2]) or not dims or dims[-1][0] == 0:
        return False
    rest = other[1] - one[1]
    if rest < 0:
        dims, rest = [(s, m, n) for s, n, m in dims], -rest
    apart, outer = False, None
    for stride, n, m in dims:
        shift, rest = divmod(rest, stride)
        if outer is not None and max(n, shift + m) * stride > outer:
            return False
        apart, outer = apart or shift >= n, stride
    return apart and rest == 0


def is_plain(tensor):
    return tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested


class Trace(TorchDispatchMode):
    def __init__(self, operators):
        super().__init__()
        self.operators = operators
        self.tracing = False
        self.values = {}         # place -> Value
        self.stale = {}          # place -> what wrote to a part of it
        self.kept = []           # tensors, so that no other one comes to their memory
        self.stand_ins = {}      # id of a constant -> the same without numbers
        self.originals = {}      # the other way round
        self.numbers = {}        # id of a tensor without numbers -> the constant that it is
        self.nodes, self.arguments = [], []
        self.missing = {}        # operator -> lines

    # ---- what the rules build with

    def node(self, op, count=1, /, **arguments):
        if op not in BROADCAST:
            arguments = {k: self.spread(v) for k, v in arguments.items()}
        node = Node(op, arguments, count)
        self.nodes.append(node)
        return Value(node) if count == 1 else [Value(node, k) for k in range(count)]

    def spread(self, v):
        """A number that stands for a constant tensor, with the dimensions of that."""
        if isinstance(v, list) and any(isinstance(item, Value) for item in v):
            return [self.spread(item) for item in v]
        return self.node("expand", self=Value(v.source), size=Sizes(v.shape)) if isinstance(v, Value) and v.is_number() and v.shape else v

    def lacks(self, name, line=None):
        self.missing.setdefault(name, []).append(recorded_program.source_line() if line is None else line)
        return Value(Node(name, {}, 1))

    # ---- tensors

    def name(self, tensor, name, of_module):
        """It is an argument of the graph."""
        known = self.values.get(place(tensor))
        if known is not None:
            return
        argument = Argument(name, tuple(tensor.shape), tensor.dtype, of_module)
        self.arguments.append(argument)
        self.keep(tensor, Value(argument))

    def keep(self, tensor, value):
        where = place(tensor)
        self.stale.pop(where, None)
        self.values[where] = Value(value.source, value.result, tuple(tensor.shape), tensor.dtype)
        self.kept.append(tensor)

    def known(self, tensor):
        return is_plain(tensor) and place(tensor) in self.values

    def value_of(self, tensor):
        """What a tensor is in the graph: a number, if all of its elements are that."""
        where = place(tensor)
        if where in self.stale:
            return self.lacks(*self.stale[where])
        if where in self.values:
            return self.values[where]
        tensor = self.numbers.get(id(tensor), tensor)
        if tensor.is_meta:
            if any(key[0] == where[0] for key in self.values):
                return self.lacks("a tensor that changes how another one lies in memory")
            return self.lacks("a tensor of random or unknown numbers")
        first = tensor.reshape(-1)[0].item() if tensor.numel() else 0
        if tensor.numel() == 1 or 0 in tensor.stride() or bool((tensor == first).all()) or first != first:
            return Value(first, 0, tuple(tensor.shape), tensor.dtype)
        return self.lacks(f"a constant tensor [{'x'.join(map(str, tensor.shape))}] (make it a buffer of the module)")

    def stand_in(self, tensor):
        if tensor.is_meta:
            return tensor
        if id(tensor) not in self.stand_ins:
            self.stand_ins[id(tensor)] = tensor.to("meta")
            self.kept += [tensor, self.stand_ins[id(tensor)]]
            self.originals[id(self.stand_ins[id(tensor)])] = tensor
            if self.known(tensor):
                self.values[place(self.stand_ins[id(tensor)])] = self.values[place(tensor)]
        return self.stand_ins[id(tensor)]

    def bare(self, constant):
        """On the device of the inputs, for programs that look."""
        with torch.inference_mode(False):  # PyTorch counts what is written to what it has made itself
            tensor = torch.empty_strided(constant.shape, constant.stride(), dtype=constant.dtype, device="meta")
        self.numbers[id(tensor)] = constant
        self.kept += [tensor, constant]
        return tensor

    def mapped(self, change, v):
        if isinstance(v, torch.Tensor):
            return change(v)
        return type(v)(self.mapped(change, i) for i in v) if isinstance(v, (list, tuple)) and type(v) in (list, tuple) else v

    # ---- calls

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        packet, overload = func._schema.name.split("::")[1], func._schema.overload_name
        name = f"{packet}.{overload}" if overload else packet
        given = list(flat(list(args) + list(kwargs.values())))
        if not (self.tracing and any(self.known(t) for t in given)):
            return self.constant(func, packet, args, kwargs, given)
        if packet in ("_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero"):
            raise Stopped("the program needs the numbers of a tensor (item(), or a tensor as a condition), which a graph does not have")
        arguments = self.arguments_of(func, args, kwargs)
        return self.traced(func, packet, name, args, kwargs, arguments)

    def arguments_of(self, func, args, kwargs):
        arguments = {a.name: v for a, v in zip(func._schema.arguments, args)} | kwargs
        for a in func._schema.arguments:
            if a.name not in arguments and a.has_default_value():
                arguments[a.name] = a.default_value
        return arguments

    def constant(self, func, packet, args, kwargs, given):
        """A call that no input or parameter goes into."""
        takes = {a.name for a in func._schema.arguments}
        if self.tracing and (kwargs.get("device") == torch.device("meta") or given and all(id(t) in self.numbers for t in given)):
            known = lambda t: self.numbers.get(id(t), t)
            result = self.constant(func, packet, self.mapped(known, args), self.mapped_values(known, kwargs) | ({"device": None} if "device" in takes else {}),
                                   [known(t) for t in given])
            return self.mapped(lambda t: t if t.is_meta else self.bare(t), result)
        if "device" in takes and not given:
            sizes = [a for a in args if isinstance(a, (list, tuple))]
            elements = math.prod(sizes[0]) if sizes and all(isinstance(n, int) for n in sizes[0]) else 0
            small = packet in KNOWN_NUMBERS and elements <= SMALL
            if self.tracing and packet in ("zeros", "ones", "full") and not small:
                number = {"zeros": 0.0, "ones": 1.0}.get(packet, args[1] if len(args) > 1 else kwargs.get("fill_value"))
                return torch.full((), number, dtype=kwargs.get("dtype")).expand(args[0])
            kwargs["device"] = "cpu" if small else "meta"
            kwargs.pop("pin_memory", None)
        elif "device" in takes and kwargs.get("device") is not None:
            kwargs["device"] = "meta" if any(t.is_meta for t in given) else "cpu"
        if any(t.is_meta for t in given):
            args, kwargs = self.mapped(self.stand_in, args), self.mapped_values(self.stand_in, kwargs)
            if packet in ("_local_scalar_dense", "is_nonzero"):
                raise Stopped("the program needs the numbers of a tensor that is random")
        try:
            return self.mapped(lambda t: self.originals.get(id(t), t), func(*args, **kwargs))
        except NotImplementedError:
            if packet.endswith("_") and isinstance(args[0], torch.Tensor):
                return args[0]
            return self.run_small(func, args, kwargs)

    def mapped_values(self, change, kwargs):
        return {k: self.mapped(change, v) for k, v in kwargs.items()}

    def traced(self, func, packet, name, args, kwargs, arguments):
        in_place = func._schema.arguments and writes(func._schema.arguments[0])
        if packet in LIKE and not in_place:  # nothing but the shape counts
            return self.like(packet, arguments)
        if "device" in arguments and arguments["device"] is not None:
            arguments["device"] = None
            if "device" in kwargs:
                kwargs["device"] = "meta"
            else:
                args = tuple("meta" if isinstance(a, torch.device) else a for a in args)
        plain = packet[:-1] if in_place and packet.endswith("_") else packet
        before = len(self.nodes)
        outputs = graph_rules.apply(self, plain, name, self.mapped_values(lambda t: graph_rules.Given(self, t), arguments), arguments)
        outputs = outputs if outputs is None or isinstance(outputs, list) else [outputs]
        if outputs is None:
            parts = self.of_parts(func, args, kwargs, in_place)
            if parts is not NotImplemented:
                return parts
            outputs = [self.lacks(packet)] * len(func._schema.returns)
        results = self.run(func, args, kwargs, outputs)
        if isinstance(results, (bool, int, float)) or results is None:
            return results
        tensors = list(flat([results]))
        outputs += outputs[-1:] * (len(tensors) - len(outputs))  # of an operator that is not there: a list of tensors
        for tensor, value in zip(tensors, outputs):
            if in_place:
                self.write(self.originals.get(id(tensor), tensor), value, name)
            elif not self.known(tensor) or place(tensor) in self.stale:
                self.keep(tensor, self.shaped(value, tensor, self.nodes[before:]))
        return self.mapped(lambda t: self.originals.get(id(t), t), results)

    def shaped(self, value, tensor, nodes):
        """Where a number stood for a constant tensor, the result may have fewer dimensions than that would give it."""
        shape = tuple(tensor.shape)
        if value.is_number():
            return value
        given = [v for n in nodes if n.op in BROADCAST for v in values_in(n.arguments)]
        others = [v.shape for v in given if not v.is_number() and v.shape is not None]
        if not any(v.is_number() and v.shape for v in given) or not others or tuple(torch.broadcast_shapes(*others)) == shape:
            return value
        return self.node("expand", self=value, size=Sizes(shape))

    def write(self, tensor, value, name):
        """In place: all that lies in the same memory has other numbers now."""
        where = place(tensor)
        own = {where} | ({place(self.stand_ins[id(tensor)])} if id(tensor) in self.stand_ins else set())
        memories = {w[0] for w in own}
        for other in [w for w in self.values if w[0] in memories and w not in own and not are_apart(w, where)]:
            if is_all(other, where):  # the same in another shape
                self.values[other] = Value(graph_rules_of_movements.reshaped(self, value, where[2], other[2]).source, value.result, other[2], other[4])
                self.stale.pop(other, None)
                continue
            self.stale[other] = f"{name} on a part of a tensor, or on one that is seen through a view", recorded_program.source_line()
        for each in own:
            self.stale.pop(each, None)
            self.values[each] = Value(value.source, value.result, tuple(tensor.shape), tensor.dtype)
        self.kept.append(tensor)

    def like(self, packet, arguments):
        number = LIKE[packet] if LIKE[packet] is not None else arguments["fill_value"]
        shape = arguments.get("size", arguments["self"].shape)
        return self.bare(torch.full((), number, dtype=arguments.get("dtype") or arguments["self"].dtype).expand(shape))

    def of_parts(self, func, args, kwargs, in_place):
        """As the calls that it is made of: PyTorch's own, or the formulas that its compilers use."""
        with self:
            parts = func.decompose(*args, **kwargs)
        if parts is not NotImplemented or in_place or func not in decomposition_table:
            return parts
        before = len(self.nodes), dict(self.values), dict(self.stale), {k: list(v) for k, v in self.missing.items()}
        with contextlib.suppress(Exception):
            with self:
                parts = decomposition_table[func](*args, **kwargs)
            if self.missing == before[3]:
                return parts
        del self.nodes[before[0]:]
        self.values, self.stale, self.missing = before[1:]
        return NotImplemented

    def run(self, func, args, kwargs, outputs):
        """For the shapes of the results, and where they lie in memory."""
        args, kwargs = self.mapped(self.stand_in, args), self.mapped_values(self.stand_in, kwargs)
        try:
            return func(*args, **kwargs)
        except NotImplementedError:
            if len(outputs) == 1 and outputs[0].shape is not None:  # its rule knows
                return torch.empty(outputs[0].shape, dtype=outputs[0].dtype, device="meta")
            return self.run_small(func, args, kwargs)

    def run_small(self, func, args, kwargs):
        """PyTorch does not know the shapes of the results otherwise."""
        if sum(t.numel() for t in flat(list(args) + list(kwargs.values()))) > MOST:
            raise NotImplementedError(f"the shape of the results of {func} is not known without computing them, and the tensors are too large")
        real = lambda t: torch.zeros(t.shape, dtype=t.dtype) if t.is_meta else t
        kwargs = {k: "cpu" if k == "device" else v for k, v in kwargs.items()}
        results = func(*self.mapped(real, args), **self.mapped_values(real, kwargs))
        return self.mapped(lambda t: t.to("meta"), results)
