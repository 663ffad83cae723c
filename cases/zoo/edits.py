"""Edits of an ONNX graph that plant a fault.

    g = Graph(model, inputs)
    g.set(g.node("conv1", "Conv"), pads=[0, 0, 2, 2])
    g.put(g.weight("conv1", "Conv"), lambda w: w[:, ::-1])
    g.gives("act4", "Gelu", lambda x: x / (1 + numpy.exp(-1.702 * x)))     # another kernel: what it gives for its inputs

A node is named by its module and its ONNX operator, which all exporters have."""
import numpy
import onnx
from onnx import helper, numpy_helper

from dumps import described, onnxruntime_dump


class Graph:
    def __init__(self, model, inputs):
        self.model, self.inputs = onnx.ModelProto.FromString(model.SerializeToString()), dict(inputs)
        self.replaced, self.hidden = {}, set()  # tensors that another kernel gives; tensors that the engine does not have

    @property
    def nodes(self):
        return self.model.graph.node

    def node(self, module, op, which=0):
        found = [n for n in self.nodes if n.op_type == op and described(n, n).get("module") == module]
        if which >= len(found):
            raise LookupError(f"no node {which} of {op} in module {module!r}")
        return found[which]

    def set(self, node, **attributes):
        for name, value in attributes.items():
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend(kept)
            if value is not None:
                node.attribute.append(helper.make_attribute(name, value))

    def weight(self, module, op, argument=1, which=0):
        return self.node(module, op, which).input[argument]

    def array(self, name):
        for i in self.model.graph.initializer:
            if i.name == name:
                return numpy_helper.to_array(i)
        for node in self.nodes:
            if node.op_type == "Constant" and node.output[0] == name:
                return numpy_helper.to_array(helper.get_attribute_value(node.attribute[0]))
        raise LookupError(f"no initialiser {name!r}")

    def put(self, name, change):
        """`change` gives the new numbers for the old ones."""
        old = self.array(name)
        new = numpy_helper.from_array(numpy.ascontiguousarray(change(old)).astype(old.dtype), name)
        for i in self.model.graph.initializer:
            if i.name == name:
                i.CopyFrom(new)
                return
        for node in self.nodes:
            if node.op_type == "Constant" and node.output[0] == name:
                self.set(node, value=new)

    def own(self, node, argument, array):
        """An initialiser for this node alone."""
        name = f"{node.input[argument]}_of_{len(self.model.graph.initializer)}"
        self.model.graph.initializer.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        node.input[argument] = name

    def before(self, node, argument, op, *more, **attributes):
        """`op` is computed of what the node is given as this argument, and given instead."""
        name = f"{node.input[argument]}_{op.lower()}"
        self.insert(node, helper.make_node(op, [node.input[argument], *more], [name], name="node_" + name, **attributes))
        node.input[argument] = name

    def insert(self, node, new):
        self.nodes.insert(list(self.nodes).index(node), new)

    def left_out(self, node, argument=0):
        """Who reads its result reads what it was given."""
        self.readers_of(node.output[0], node.input[argument])
        self.nodes.remove(node)

    def readers_of(self, old, new):
        for node in self.nodes:
            for k, name in enumerate(node.input):
                if name == old:
                    node.input[k] = new

    def another(self, node, op, **attributes):
        """Another operator of the same inputs."""
        node.op_type = op
        del node.attribute[:]
        self.set(node, **attributes)

    def values(self, names):
        tensors = {**onnxruntime_dump(self.model, self.inputs, replaced=self.replaced).tensors, **self.inputs}
        return [tensors[n] if n in tensors else self.array(n) if n else None for n in names]

    def gives(self, module, op, kernel, which=0):
        """The node's result is what `kernel` gives for its inputs: f64 arrays of floating point."""
        self.kernel_of(self.node(module, op, which), kernel)

    def kernel_of(self, node, kernel):
        wide = [a.astype(numpy.float64) if a is not None and a.dtype == numpy.float32 else a for a in self.values(node.input)]
        before = self.values([node.output[0]])[0]
        made = numpy.asarray(kernel(*wide)).astype(before.dtype)
        if made.shape != before.shape:
            raise ValueError(f"the kernel gives {made.shape} instead of {before.shape}")
        self.replaced[node.output[0]] = made

    def hide(self, *nodes):
        """The engine computes them together with what follows."""
        self.hidden |= {o for n in nodes for o in n.output}
