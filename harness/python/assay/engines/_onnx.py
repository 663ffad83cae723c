"""What an .onnx file says of its nodes: names, attributes, and which module of the PyTorch program each comes from.

torch.onnx.export(dynamo=True) writes the module's path and PyTorch's operator into each node's metadata; the older exporter names nodes by the
path ("/stem/conv/Conv"). Nodes of other exporters have neither, and no module is given for them.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy

from ._errors import EngineError, imported

_LONGEST_LIST = 64  # of an attribute
_SCOPES, _CLASSES = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"


def load(path: str, engine: str) -> Any:
    """The model without the contents of external files. Functions of its own are put in place of their calls."""
    onnx = imported("onnx", "onnx", f"running an .onnx file with {engine}, every result of it included,")
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as e:  # protobuf's own classes, which are no part of onnx
        raise EngineError(f"{path} cannot be read as an ONNX model: {e}") from None
    if not model.graph.node:
        raise EngineError(f"{path} is no ONNX model: it has no nodes")
    if model.functions:
        inliner = imported("onnx.inliner", "onnx>=1.15", "a model with functions of its own")
        model = inliner.inline_local_functions(model)
    return model


def parameters(model: Any, path: str) -> Tuple[Dict[str, numpy.ndarray], List[str]]:
    """Initialisers and constants by name, and what cannot be read of them."""
    from onnx import numpy_helper

    base, found, unread = str(Path(path).parent), {}, []
    tensors = [(t.name, t) for t in model.graph.initializer]
    for node in model.graph.node:
        for a in node.attribute if node.op_type == "Constant" else ():
            if a.name == "value":
                tensors.append((node.output[0], a.t))
    for name, tensor in tensors:
        try:
            found[name] = numpy_helper.to_array(tensor, base)
        except Exception as e:
            unread.append(f"parameter {name}: {e}")
    return found, unread


def nodes_of(model: Any) -> List[Dict[str, Any]]:
    nodes = []
    for node in model.graph.node:
        entry = {"name": node.name, "op": node.op_type, "inputs": list(node.input), "outputs": list(node.output)}
        module, call = origin(node)
        if module is not None:
            entry["module"] = module
        if call:
            entry["call"] = call
        entry["attributes"] = attributes_of(node)
        nodes.append(entry)
    return nodes


def attributes_of(node: Any) -> Dict[str, Any]:
    """Numbers, texts and lists of them."""
    from onnx import helper

    attributes = {"domain": node.domain} if node.domain else {}
    for a in node.attribute:
        value = helper.get_attribute_value(a) if not a.ref_attr_name else None
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if isinstance(value, (list, tuple)) and len(value) <= _LONGEST_LIST:
            value = [v.decode(errors="replace") if isinstance(v, bytes) else v for v in value]
            if all(isinstance(v, (int, float, str)) for v in value):
                attributes[a.name] = value
        elif isinstance(value, (int, float, str)):
            attributes[a.name] = value
    return attributes


def origin(node: Any) -> Tuple[Optional[str], Optional[str]]:
    """The path of the module that made the node ("" is the outermost), and PyTorch's operator; None where nothing says it."""
    said = {p.key: p.value for p in getattr(node, "metadata_props", ())}
    scopes, classes = _list(said.get(_SCOPES)), _list(said.get(_CLASSES))
    if scopes is not None:
        return scopes[-2] if len(scopes) > 1 else "", classes[-1] if classes else None
    return by_path(node.name or (node.output[0] if node.output else "")), None


def by_path(name: str) -> Optional[str]:
    """"stem.conv" of "/stem/conv/Conv", and of "/layers.0/attn/MatMul_1" "layers.0.attn".

    The older exporter repeats nothing of a path in the next scope, but for modules in lists: "/layers/layers.0/attn/MatMul"."""
    if not name.startswith("/"):
        return None
    path: List[str] = []
    for scope in name.split("/")[1:-1]:
        first = scope.split(".")[0]
        if path and path[-1] == first:
            path.pop()
        path.append(scope)
    return ".".join(path)


def _list(text: Optional[str]) -> Optional[List[str]]:
    if not text:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, list) and all(isinstance(v, str) for v in value) else None
