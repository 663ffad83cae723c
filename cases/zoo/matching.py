"""Names of a trace for the tensors of a dump, from the dump's side file: the text of a `--map`.

Nodes and calls of one module are matched in their order, by the kind of their operator."""
import re

import h5py

KINDS = {
    "convolution": "conv", "conv2d": "conv", "conv_transpose2d": "conv", "Conv": "conv", "FusedConv": "conv", "ConvTranspose": "conv",
    "native_batch_norm": "batch_norm", "_native_batch_norm_legit_no_training": "batch_norm", "BatchNormalization": "batch_norm",
    "instance_norm": "batch_norm", "InstanceNormalization": "batch_norm",
    "addmm": "linear", "mm": "linear", "linear": "linear", "Gemm": "linear", "FusedGemm": "linear",
    "bmm": "matmul", "MatMul": "matmul", "max_pool2d_with_indices": "max_pool2d", "MaxPool": "max_pool2d",
    "AveragePool": "avg_pool2d", "mean": "mean", "ReduceMean": "mean", "GlobalAveragePool": "mean", "PRelu": "prelu",
    "native_layer_norm": "layer_norm", "LayerNormalization": "layer_norm", "native_group_norm": "group_norm", "LeakyRelu": "leaky_relu",
    "_softmax": "softmax", "Softmax": "softmax", "Concat": "cat", "Resize": "upsample", "upsample_nearest2d": "upsample",
    "upsample_bilinear2d": "upsample", "Sigmoid": "sigmoid", "Pow": "pow"}
ORDERS = {  # arguments of the trace's operator, in the order of the node's inputs
    "convolution": ("input", "weight", "bias"), "addmm": ("mat1", "mat2", "self"), "mm": ("self", "mat2"), "bmm": ("self", "mat2"),
    "native_batch_norm": ("input", "weight", "bias", "running_mean", "running_var"), "prelu": ("self", "weight"),
    "native_layer_norm": ("input", "weight", "bias"), "add.Tensor": ("self", "other"), "mul.Tensor": ("self", "other")}


def kind_of(op):
    op = op.removeprefix("aten.").split(".")[0]
    return KINDS.get(op, op.lower())


class Group:
    """Nodes that one call of PyTorch was exported as."""

    def __init__(self, node):
        self.nodes, self.module, self.step = [node], node.get("module"), node.get("step")
        self.kind = kind_of(node.get("call") or node["op"])

    @property
    def output(self):
        return self.nodes[-1]["outputs"][0]

    def inputs(self):
        """Of the node that the call is, with what it takes and not what prepares it."""
        main = [n for n in self.nodes if kind_of(n["op"]) in (self.kind, "matmul" if self.kind == "linear" else self.kind)]
        return main[0]["inputs"] if main else []


def groups_of(nodes, of_one_call):
    groups = []
    for node in nodes:
        if node["op"] in ("Constant", "Identity", "Shape", "Unsqueeze", "QuantizeLinear", "DequantizeLinear"):
            continue
        if groups and node.get("step") and (groups[-1].module, groups[-1].step) == (node.get("module"), node["step"]):
            groups[-1].nodes.append(node)
        elif groups and node.get("module") in of_one_call and groups[-1].module == node["module"] and not node.get("step"):
            groups[-1].nodes.append(node)
        else:
            groups.append(Group(node))
    return groups


def calls_of(trace):
    with h5py.File(trace) as file:
        for number in sorted(file["calls"], key=int):
            call = file["calls"][number]
            texts = {k: v.decode() if isinstance(v, bytes) else v for k, v in call.attrs.items()}
            texts["shapes"] = {k: call["inputs"][k].shape for k in call["inputs"] if hasattr(call["inputs"][k], "shape")}
            yield texts


def map_text(trace, dump):
    calls, names, modules = list(calls_of(trace)), {}, {}
    parameters = {v for c in calls for k, v in c.items() if k.startswith("parameter.")}
    for call in calls:
        modules.setdefault(call["name"].rpartition("/")[0], ([], []))[0].append(call)
    for group in groups_of(dump.side["nodes"], {name for name, (own, _) in modules.items() if len(own) == 1}):
        again = re.sub(r"_\d+$", "", group.module or "")  # the second call of a module, in TorchScript
        for module in (group.module, again):
            if module in modules:
                modules[module][1].append(group)
                break
    for own, groups in modules.values():
        alone = len(own) == len(groups) == 1  # the same, whatever the operators
        for call, group in [(own[0], groups[0])] if alone else aligned(own, groups):
            if group.output in dump.tensors:
                names[call["name"]] = group.output
            inputs = group.inputs() if fits(call, group) else []
            for argument, tensor in zip(ORDERS.get(call["op"], ("self",)), inputs):
                array = dump.tensors.get(tensor, dump.parameters.get(tensor))
                if array is not None and tensor not in parameters and array.shape == call["shapes"].get(argument):
                    names[call["name"] + ":" + argument] = tensor
    return "".join(f'"{ours}" "{theirs}"\n' for ours, theirs in names.items())


def fits(call, group):
    kind = kind_of(call["op"])
    return kind == group.kind and group.nodes[0]["op"] not in ("FusedConv", "FusedGemm") or (
        (kind, group.kind) == ("linear", "matmul") and call["op"] != "bmm")


def aligned(calls, groups):
    """The longest common sequence by kind."""
    best = [[()] * (len(groups) + 1) for _ in range(len(calls) + 1)]
    for i in reversed(range(len(calls))):
        for k in reversed(range(len(groups))):
            found = max(best[i + 1][k], best[i][k + 1], key=len)
            if fits(calls[i], groups[k]) and len(best[i + 1][k + 1]) + 1 > len(found):
                found = ((calls[i], groups[k]),) + best[i + 1][k + 1]
            best[i][k] = found
    return best[0][0]
