"""OpenVINO: every result of an .onnx model or of an .xml, on the device that is named.

Names are those of the .onnx file, and of an .xml the friendly names of its operations. Results that follow from constants alone are left out.
The model runs as it is, too: what it gives with all results as outputs may be another rounding, as OpenVINO merges other operations then.

Options: device (CPU), precision (f32, bf16, f16: what it computes in; else OpenVINO chooses, and takes bf16 where the processor has it),
threads, intermediates (all, none).
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy

from . import _onnx
from ._asis import FAR, distance
from ._errors import EngineError, EngineMissing, imported, only_options
from ._given import Given, Wanted, as_dtype
from ._ran import Ran, Side

_DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
           "u8": "uint8", "boolean": "bool"}
_PRECISIONS = ("f32", "bf16", "f16")
# What computing in fewer bits promises: operands and results of an operation are rounded to them, and sums are kept in f32.
_IN_FEWER_BITS = ("bf16", "f16")


def run(path: str, given: Given, options: Dict[str, str]) -> Ran:
    only_options(options, ("device", "precision", "threads", "intermediates"), "openvino")
    ov = imported("openvino", "openvino", "--engine openvino")
    mode = options.get("intermediates", "")
    if mode not in ("", "all", "none"):
        raise EngineError(f"--option intermediates={mode}: write all or none")
    engine = _Engine(ov, path, options)
    onnx_model = _onnx_model(path)
    feeds = given.for_engine([_wanted(p) for p in engine.model.inputs])
    outputs = engine.values(engine.model, [_name(r.input_value(0)) for r in engine.model.get_results()], feeds)
    results, notes = outputs, []
    if mode != "none":
        everything, names = _with_all_outputs(engine.model, onnx_model is not None)
        results = engine.values(everything, names, feeds)
        far, differs = distance(outputs, results)
        if far:
            notes.append(f"with its intermediate results as outputs, the model gives {differs} than without, as OpenVINO merges other operations")
        if far > FAR and not mode and engine.precision == "f32":
            notes[-1] += "; so its last results are judged alone, as it gives them (--option intermediates=all)"
            results, mode = outputs, "none"
    if engine.precision in _IN_FEWER_BITS:
        notes.append(f"OpenVINO computes in {engine.precision} on this machine, unless it is told --option precision=f32")
    weights, nodes, unread = _constants(engine.model), _nodes(engine.model), []
    if onnx_model is not None:
        weights, unread = _onnx.parameters(onnx_model, path)
        nodes = _onnx.nodes_of(onnx_model)
    side = Side(f"openvino {ov.__version__.partition('-')[0]}", {**engine.settings, "intermediates": mode or "all"}, list(feeds), list(outputs), list(weights), nodes)
    return Ran(side, {**weights, **feeds, **results}, [*notes, *unread])


def _onnx_model(path: str) -> Optional[Any]:
    if not path.endswith(".onnx"):
        return None
    try:
        return _onnx.load(path, "OpenVINO")
    except EngineMissing:  # its own reader takes the file; names of modules are not known then
        return None


class _Engine:
    def __init__(self, ov: Any, path: str, options: Dict[str, str]):
        self.core, self.device = ov.Core(), options.get("device", "CPU")
        if self.device not in self.core.available_devices:
            raise EngineError(f"--option device={self.device}: OpenVINO has {', '.join(self.core.available_devices)} here")
        try:
            self.model = self.core.read_model(path)
        except RuntimeError as e:
            raise EngineError(f"OpenVINO does not take {path}: {e}") from None
        self.config: Dict[str, Any] = {}
        precision = options.get("precision")
        if precision is not None:
            if precision not in _PRECISIONS:
                raise EngineError(f"--option precision={precision}: write one of {', '.join(_PRECISIONS)}")
            self.config["INFERENCE_PRECISION_HINT"] = precision
        if "threads" in options:
            if not options["threads"].isdigit():
                raise EngineError(f"--option threads={options['threads']}: write a number")
            self.config["INFERENCE_NUM_THREADS"] = int(options["threads"])
        self.precision, self.settings = "", {"device": self.device}

    def values(self, model: Any, names: List[str], feeds: Dict[str, numpy.ndarray]) -> Dict[str, Any]:
        compiled = self.core.compile_model(model, self.device, self.config)
        self._read_settings(compiled)
        request = compiled.create_infer_request()
        for k, (name, array) in enumerate(feeds.items()):
            request.set_input_tensor(k, _tensor(array, compiled.inputs[k].get_element_type()))
        request.infer()
        return {name: _array(request.get_output_tensor(k)) for k, name in enumerate(names)}

    def _read_settings(self, compiled: Any) -> None:
        for key, name in (("INFERENCE_PRECISION_HINT", "inference_precision"), ("EXECUTION_MODE_HINT", "execution_mode")):
            try:
                value = compiled.get_property(key)
            except RuntimeError:  # of a device that has no such property
                continue
            self.settings[name] = value.get_type_name() if hasattr(value, "get_type_name") else str(value).rpartition(".")[2].lower()
        self.precision = self.settings.get("inference_precision", "f32")


def _wanted(port: Any) -> Wanted:
    shape = port.get_partial_shape()
    sizes = None if shape.rank.is_dynamic else tuple(None if d.is_dynamic else d.get_length() for d in shape)
    kind = port.get_element_type().get_type_name()
    return Wanted(_name(port), sizes, _DTYPES.get(kind, kind))


def _name(port: Any) -> str:
    """The name that the model's file gives a tensor; where that is none or a number, as of PyTorch's graphs, that of its operation."""
    names = [n for n in sorted(port.get_names()) if not n.isdigit()]
    node = port.get_node()
    friendly = node.get_friendly_name()
    if names and friendly not in names:
        return names[0]
    friendly = friendly.removeprefix("self.") if node.get_type_name() == "Constant" else friendly
    return friendly if node.get_output_size() == 1 or names else f"{friendly}:{port.get_index()}"


def _is_constant(node: Any, known: Dict[str, bool]) -> bool:
    """Whether it follows from constants and static shapes alone."""
    name, kind = node.get_friendly_name(), node.get_type_name()
    if name not in known:
        inputs = [i.get_source_output() for i in node.inputs()]
        static = kind == "ShapeOf" and inputs[0].get_partial_shape().is_static
        known[name] = kind == "Constant" or static or kind not in ("Parameter", "ReadValue") and bool(inputs) and all(_is_constant(i.get_node(), known) for i in inputs)
    return known[name]


def _computed(model: Any) -> List[Any]:
    known: Dict[str, bool] = {}
    return [n for n in model.get_ordered_ops() if n.get_type_name() not in ("Parameter", "Result", "Assign") and not _is_constant(n, known)]


def _with_all_outputs(model: Any, named_alone: bool) -> Tuple[Any, List[str]]:
    """A copy whose outputs are all results, or those that the file has names for; and their names."""
    copy = model.clone()
    names = [_name(r.input_value(0)) for r in copy.get_results()]
    more = [o for n in _computed(copy) for o in n.outputs() if (o.get_names() or not named_alone) and _name(o) not in names]
    names += [_name(o) for o in more]
    copy.add_outputs(more)  # which names them
    return copy, names


def _constants(model: Any) -> Dict[str, Any]:
    return {_name(n.output(0)): n.data for n in model.get_ordered_ops() if n.get_type_name() == "Constant" and n.data.ndim > 0}


def _nodes(model: Any) -> List[Dict[str, Any]]:
    nodes = []
    for n in _computed(model):
        name = n.get_friendly_name()
        node = {"name": name, "op": n.get_type_name(), "inputs": [_source(i.get_source_output()) for i in n.inputs()], "outputs": [_name(o) for o in n.outputs()]}
        module, call = _origin(name)
        node.update({"module": module} if module is not None else {})
        node.update({"call": call} if call else {})
        node["attributes"] = {k: v for k, v in n.get_attributes().items()
                              if isinstance(v, (int, float, str)) or isinstance(v, (list, tuple)) and all(isinstance(e, (int, float, str)) for e in v)}
        nodes.append(node)
    return nodes


def _source(port: Any) -> str:
    """A constant that is only converted or reshaped goes by its own name."""
    node = port.get_node()
    while node.get_type_name() in ("Convert", "Reshape", "Unsqueeze", "Squeeze") and node.input_value(0).get_node().get_type_name() in (
            "Constant", "Convert", "Reshape", "Unsqueeze", "Squeeze"):
        port = node.input_value(0)
        node = port.get_node()
    return _name(port)


def _origin(name: str) -> Tuple[Optional[str], Optional[str]]:
    """Of "__module.stem.conv/aten::_convolution/Convolution", as a model is named that was converted from PyTorch; of "/stem/conv/Conv" too."""
    if name.startswith("__module"):
        path, _, rest = name.partition("/")
        call = rest.partition("/")[0]
        return path[len("__module"):].lstrip("."), call.replace("aten::", "aten.") if call.startswith("aten::") else None
    if name.startswith("aten::"):
        return "", name.partition("/")[0].replace("aten::", "aten.")
    return _onnx.by_path(name), None


def _tensor(array: numpy.ndarray, kind: Any) -> Any:
    import openvino

    array = numpy.ascontiguousarray(array).reshape(array.shape)
    if kind.get_type_name() == "bf16":
        bits = as_dtype(array, "bfloat16")
        if bits.dtype.name != "bfloat16":
            raise EngineMissing("an input of dtype bf16 needs the package ml_dtypes")
        tensor = openvino.Tensor(kind, openvino.Shape(list(array.shape)))
        tensor.data.view(numpy.uint16)[...] = bits.view(numpy.uint16)
        return tensor
    return openvino.Tensor(array)


def _array(tensor: Any) -> Any:
    """A copy, as the request writes to its tensors again."""
    data = numpy.array(tensor.data)
    if tensor.get_element_type().get_type_name() == "bf16":
        return data.view(numpy.uint16).astype(numpy.uint32).__lshift__(16).view(numpy.float32)
    return data
