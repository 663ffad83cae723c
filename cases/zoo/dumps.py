"""What an engine gives for an ONNX model, tensor by tensor, and which node gave each: DUMP.npz and DUMP.nodes.json (assay.engine/1).

    dump = onnxruntime_dump(model, {"x": x})   # optimised=True: the graph as ONNX Runtime has made it for itself
    dump.write("engine.npz")
"""
import ast
import json
import os
import tempfile

import numpy
import onnx
from onnx import helper, numpy_helper


class Dump:
    def __init__(self, engine, settings, model, tensors, origin=None):
        """`origin`: the model that this one was made of, whose metadata the engine has dropped."""
        self.tensors = tensors
        origins = {o: node for node in (origin or model).graph.node for o in node.output if o}
        initialisers = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        self.parameters = {n: a for n, a in initialisers.items() if is_dumped(a)}
        self.side = {
            "format": "assay.engine/1", "engine": engine, "settings": settings,
            "inputs": [{"tensor": i.name} for i in model.graph.input if i.name not in initialisers],
            "outputs": [{"tensor": o.name} for o in model.graph.output],
            "parameters": [{"tensor": name} for name in self.parameters],
            "nodes": [described(node, origins.get(node.output[0], node)) for node in model.graph.node]}

    def write(self, path):
        numpy.savez(path, **{n: a for n, a in {**self.parameters, **self.tensors}.items() if is_dumped(a)})
        with open(os.path.splitext(path)[0] + ".nodes.json", "w") as file:
            json.dump(self.side, file, indent=1)


def is_dumped(array):
    return array.dtype.kind in "fiub" and array.size > 0


def described(node, origin):
    metadata = {p.key.rsplit(".", 1)[-1]: p.value for p in origin.metadata_props}
    scopes = ast.literal_eval(metadata.get("name_scopes", "[]"))
    kinds = ast.literal_eval(metadata.get("class_hierarchy", "[]"))
    module = scopes[-2] if len(scopes) > 1 else module_in_name(origin.name)
    result = {"name": node.name, "op": node.op_type, "inputs": list(node.input), "outputs": list(node.output),
              "attributes": {a.name: value_of(a) for a in node.attribute}}
    if module is not None:
        result["module"] = module
    if kinds:
        result["call"] = kinds[-1]
        result["step"] = scopes[-1]
    return result


def value_of(attribute):
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value).tolist()
    return value if isinstance(value, (int, float, str)) else [v.decode() if isinstance(v, bytes) else v for v in value]


def module_in_name(name):
    """"layer2.down.0" of "/layer2/down/down.0/Conv"; a name of a list's element has that of the list before it again."""
    if not name.startswith("/"):
        return None
    parts = name.split("/")[1:-1]
    return ".".join(p for p, n in zip(parts, parts[1:] + [""]) if not n.startswith(p + "."))


def with_all_outputs(model):
    result = onnx.ModelProto.FromString(model.SerializeToString())
    have = {o.name for o in result.graph.output}
    for node in result.graph.node:
        for name in node.output:
            if name and name not in have:
                result.graph.output.append(helper.make_empty_tensor_value_info(name))
    return result


def with_replaced(model, replaced):
    """Nodes that give these tensors give these arrays."""
    result = onnx.ModelProto.FromString(model.SerializeToString())
    for node in result.graph.node:
        if node.output[0] in replaced:
            constant = numpy_helper.from_array(replaced[node.output[0]])
            node.CopyFrom(helper.make_node("Constant", [], list(node.output[:1]), name=node.name, value=constant))
    return result


def onnxruntime_dump(model, inputs, optimised=False, replaced={}):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    providers, origin = ["CPUExecutionProvider"], model
    claimed, model = model, with_replaced(model, replaced)
    if optimised:
        with tempfile.TemporaryDirectory() as folder:
            options.optimized_model_filepath = os.path.join(folder, "optimised.onnx")
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
            onnxruntime.InferenceSession(model.SerializeToString(), options, providers)
            claimed = model = onnx.load(options.optimized_model_filepath)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(with_all_outputs(model).SerializeToString(), options, providers)
    names = [o.name for o in session.get_outputs()]
    tensors = {**inputs, **dict(zip(names, session.run(names, inputs)))}
    settings = {"providers": providers, "optimization": "extended" if optimised else "disabled"}
    return Dump("onnxruntime " + onnxruntime.__version__, settings, claimed, tensors, origin)


def openvino_dump(model, inputs, precision=None, replaced={}):
    """`precision`: "f32", or what OpenVINO likes on this processor."""
    import openvino
    core = openvino.Core()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(with_replaced(model, replaced), path)
        program = core.read_model(path)
    known = {o for node in model.graph.node for o in node.output if o}
    have = {name for output in program.outputs for name in output.get_names()}
    for name in sorted(known - have):
        try:
            program.add_outputs(name)
        except RuntimeError:
            pass  # not a tensor of the program that OpenVINO made of it
    compiled = core.compile_model(program, "CPU", {"INFERENCE_PRECISION_HINT": precision} if precision else {})
    results = compiled(inputs)
    tensors = dict(inputs)
    for output in compiled.outputs:
        for name in output.get_names() & known:
            tensors[name] = numpy.array(results[output])
    used = str(compiled.get_property("INFERENCE_PRECISION_HINT"))
    return Dump("openvino " + openvino.__version__.split("-")[0], {"inference_precision": used}, model, tensors)
