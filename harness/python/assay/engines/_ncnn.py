"""ncnn: every blob of a .param file, with the .bin beside it; or of what pnnx makes of TorchScript (.pt).

ncnn's names are numbers. pnnx writes a file beside (model.pnnx.param) whose operators have the names of PyTorch's modules: from that the module
of a layer is known, where as many of its kind are in both. Layers that only hand a blob to several others (Split) are left out. What ncnn read
from the .bin cannot be looked at: a wrong weight shows as a wrong result.

Options: threads, batch (none: no dimension of the inputs is a batch; else the first is, as pnnx has it), fp16 (1: weights are converted to
f16, as pnnx does unless it is told not to).
"""

from __future__ import annotations

import os
import subprocess
from typing import Any, Dict, List, Optional, Tuple

import numpy

from ._errors import EngineError, imported, only_options
from ._given import Given, Wanted
from ._ran import Ran, Side

_MAGIC = "7767517"
# Kinds of layers, by the names of both: a layer of ncnn's and the operators of pnnx that become one.
_KINDS = {"Convolution": "conv", "ConvolutionDepthWise": "conv", "Convolution1D": "conv1d", "Deconvolution": "deconv", "InnerProduct": "linear",
          "PReLU": "prelu", "ReLU": "relu", "HardSwish": "hardswish", "HardSigmoid": "hardsigmoid", "Swish": "silu", "GELU": "gelu", "Sigmoid": "sigmoid",
          "TanH": "tanh", "LayerNorm": "layernorm", "GroupNorm": "groupnorm", "BatchNorm": "batchnorm", "LSTM": "lstm", "GRU": "gru", "RNN": "rnn",
          "MultiHeadAttention": "attention", "SDPA": "sdpa", "Embed": "embedding", "Interp": "upsample", "Concat": "cat", "Softmax": "softmax",
          "nn.Conv2d": "conv", "F.conv2d": "conv", "nn.Conv1d": "conv1d", "nn.ConvTranspose2d": "deconv", "nn.Linear": "linear", "F.linear": "linear",
          "nn.PReLU": "prelu", "F.prelu": "prelu", "nn.ReLU": "relu", "F.relu": "relu", "nn.LeakyReLU": "relu", "nn.Hardswish": "hardswish",
          "F.hardswish": "hardswish", "nn.Hardsigmoid": "hardsigmoid", "nn.SiLU": "silu", "F.silu": "silu", "nn.GELU": "gelu", "F.gelu": "gelu",
          "nn.Sigmoid": "sigmoid", "F.sigmoid": "sigmoid", "nn.Tanh": "tanh", "F.tanh": "tanh", "nn.LayerNorm": "layernorm", "nn.GroupNorm": "groupnorm",
          "nn.BatchNorm2d": "batchnorm", "nn.LSTM": "lstm", "nn.GRU": "gru", "nn.RNN": "rnn", "nn.MultiheadAttention": "attention",
          "F.scaled_dot_product_attention": "sdpa", "nn.Embedding": "embedding", "nn.Upsample": "upsample", "F.interpolate": "upsample",
          "F.upsample": "upsample", "torch.cat": "cat", "nn.Softmax": "softmax", "F.softmax": "softmax"}


def run(path: str, given: Given, options: Dict[str, str]) -> Ran:
    only_options(options, ("threads", "batch", "fp16"), "ncnn")
    ncnn = imported("ncnn", "ncnn", "--engine ncnn")
    notes: List[str] = []
    if path.endswith(".pt"):
        path = _converted(path, given, options.get("fp16", "0"), notes)
    layers = read_param(path)
    weights = os.path.splitext(path)[0] + ".bin"
    if not os.path.exists(weights):
        raise EngineError(f"{path}: there is no {weights} beside it, which has the weights")
    feeds = given.for_engine([Wanted(o) for kind, _, _, outputs in layers if kind == "Input" for o in outputs])
    net = ncnn.Net()
    if "threads" in options:
        net.opt.num_threads = int(options["threads"])
    if net.load_param(path) != 0 or net.load_model(weights) != 0:
        raise EngineError(f"ncnn does not take {path} with {weights}")
    extractor = net.create_extractor()
    extractor.set_light_mode(False)  # which frees a blob that was read
    batch = {} if options.get("batch") == "none" else {"batch_index": 0}
    for name, array in feeds.items():
        extractor.input(name, _mat(ncnn, name, array, batch, notes))
    nodes = nodes_of(layers, _pnnx_operators(path))
    results = {}
    for node in nodes:
        for blob in node["outputs"]:
            status, mat = extractor.extract(blob)
            if status != 0:
                raise EngineError(f"ncnn cannot compute the blob {blob} of {node['name']} ({node['op']}): its status is {status}")
            results[blob] = _numpy(mat, batch)
    settings = {k: bool(getattr(net.opt, k)) for k in ("use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage", "use_int8_inference", "use_winograd_convolution",
                                                       "use_sgemm_convolution", "use_packing_layout") if hasattr(net.opt, k)}
    read = {i for n in nodes for i in n["inputs"]}
    outputs = [o for n in nodes for o in n["outputs"] if o not in read]
    return Ran(Side(f"ncnn {ncnn.__version__}", settings, list(feeds), outputs, [], nodes), {**feeds, **results}, notes)


_Layer = Tuple[str, str, List[str], List[str]]  # kind, name, inputs, outputs


def read_param(path: str) -> List[_Layer]:
    """The layers of a .param file in order. Raises EngineError."""
    try:
        with open(path) as file:
            lines = [line.split() for line in file if line.strip()]
    except (OSError, UnicodeDecodeError) as e:
        raise EngineError(f"{path} cannot be read: {e}") from None
    if not lines or lines[0] != [_MAGIC]:
        raise EngineError(f"{path} is no .param file of ncnn as text: its first line is not {_MAGIC}")
    layers = []
    for words in lines[2:]:
        try:
            kind, name, n, m = words[0], words[1], int(words[2]), int(words[3])
        except (IndexError, ValueError):
            raise EngineError(f"{path}: {' '.join(words)!r} is no layer") from None
        layers.append((kind, name, words[4:4 + n], words[4 + n:4 + n + m]))
    return layers


def nodes_of(layers: List[_Layer], operators: List[_Layer]) -> List[Dict[str, Any]]:
    same: Dict[str, str] = {}  # what a Split gives -> what it was given
    nodes = []
    for kind, name, inputs, outputs in layers:
        inputs = [same.get(i, i) for i in inputs]
        if kind == "Split":
            same.update({o: inputs[0] for o in outputs})
        elif kind != "Input":
            nodes.append({"name": name, "op": kind, "inputs": inputs, "outputs": outputs})
    of_kind: Dict[str, Tuple[list, list]] = {}
    for node in nodes:
        if node["op"] in _KINDS:
            of_kind.setdefault(_KINDS[node["op"]], ([], []))[0].append(node)
    for operator in operators:
        if operator[0] in _KINDS:
            of_kind.setdefault(_KINDS[operator[0]], ([], []))[1].append(operator)
    for mine, theirs in of_kind.values():
        if len(mine) != len(theirs):
            continue
        for node, (kind, name, _, _) in zip(mine, theirs):
            node["call"] = kind
            if kind.startswith("nn.") and not name.startswith("pnnx_") and not _is_made(name):
                node["module"] = name
    return nodes


def _is_made(name: str) -> bool:
    """"convbn2d_0" is a name of pnnx's own, for what it merged."""
    stem, _, number = name.rpartition("_")
    return number.isdigit() and "." not in name and stem in ("convbn2d", "convbn1d", "linearbn", "fold_convbn2d", "deconvbn2d")


def _pnnx_operators(path: str) -> List[_Layer]:
    stem = os.path.splitext(path)[0]
    for beside in (f"{stem}.pnnx.param", f"{stem.removesuffix('.ncnn')}.pnnx.param"):
        if os.path.exists(beside):
            return read_param(beside)
    return []


def _mat(ncnn: Any, name: str, array: numpy.ndarray, batch: Dict[str, int], notes: List[str]) -> Any:
    kind = "int32" if array.dtype.kind in "iub" else "float32"
    if array.dtype != kind:
        notes.append(f"the engine's input {name} was converted from {array.dtype.name} to {kind}")
    array = numpy.ascontiguousarray(array.astype(kind))
    try:
        return ncnn.Mat(array, **batch).clone()
    except TypeError:  # of a version without batches
        if not batch:
            raise
        if array.ndim < 2 or array.shape[0] != 1:
            raise EngineError(f"this version of ncnn has no batches, and the input {name} has the shape {'x'.join(map(str, array.shape))}: call the model with a batch of one") from None
        batch.clear()
        notes.append("this version of ncnn has no batches: results lack the first dimension")
        return ncnn.Mat(array[0]).clone()


def _numpy(mat: Any, batch: Dict[str, int]) -> numpy.ndarray:
    return numpy.array(mat.numpy(**batch))


def _converted(path: str, given: Given, fp16: str, notes: List[str]) -> str:
    """The .param that pnnx makes of TorchScript, in the same folder."""
    pnnx = imported("pnnx", "pnnx", "making a model for ncnn")
    stem = os.path.splitext(path)[0]
    shapes = ",".join(f"[{','.join(map(str, t.array.shape))}]{_suffix(t.dtype)}" for t in given.tensors)
    outputs = {"pnnxparam": f"{stem}.pnnx.param", "pnnxbin": f"{stem}.pnnx.bin", "pnnxpy": f"{stem}_pnnx.py", "pnnxonnx": f"{stem}.pnnx.onnx",
               "ncnnparam": f"{stem}.ncnn.param", "ncnnbin": f"{stem}.ncnn.bin", "ncnnpy": f"{stem}_ncnn.py"}
    command = [pnnx.EXEC_PATH, path, f"inputshape={shapes}", f"fp16={fp16}", *(f"{k}={v}" for k, v in outputs.items())]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not os.path.exists(outputs["ncnnparam"]):
        raise EngineError(f"pnnx could not convert {path}: {(done.stderr or done.stdout).strip()[-500:]}")
    notes.append(f"pnnx made {outputs['ncnnparam']} of it{', with weights in f16' if fp16 != '0' else ''}")
    return outputs["ncnnparam"]


def _suffix(dtype: str) -> str:
    return {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8"}.get(dtype, "f32")
