"""ONNX Runtime: every result of an .onnx model, at the optimisation level that the user has.

A result that is an output of the model can be looked at, and hinders optimisations that would have merged it with others. So the model runs
as it is, too, and the two are compared. Where they differ by more than a thousandth, what is judged is the graph that ONNX Runtime made of
the model as it is, with those results that are left in it (`--option intermediates=kept`).

Options: providers (CPUExecutionProvider, with commas between several), optimization (disabled, basic, extended, all: ONNX Runtime's default),
threads, intermediates (all, kept).
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy

from . import _onnx
from ._asis import FAR, distance
from ._errors import EngineError, imported, only_options
from ._given import Given, Wanted
from ._ran import Ran, Side

_LEVELS = {"disabled": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}
_DTYPES = {"float": "float32", "double": "float64"}


def run(path: str, given: Given, options: Dict[str, str]) -> Ran:
    only_options(options, ("providers", "optimization", "threads", "intermediates"), "onnxruntime")
    ort = imported("onnxruntime", "onnxruntime", "--engine onnxruntime")
    model = _onnx.load(path, "ONNX Runtime")
    sessions = _Sessions(ort, str(Path(path).resolve().parent), options)
    asis = sessions.of_file(path)
    feeds = given.for_engine([_wanted(i) for i in asis.get_inputs()])
    outputs = _values(asis, feeds)
    mode = options.get("intermediates", "")
    if mode not in ("", "all", "kept"):
        raise EngineError(f"--option intermediates={mode}: write all or kept")
    notes: List[str] = []
    results: Optional[Dict[str, Any]] = None
    if mode != "kept":
        results = _values(sessions.of_model(_with_all_outputs(model), sessions.level), feeds)
        far, differs = distance(outputs, results)
        if far:
            notes.append(f"with its intermediate results as outputs, the model gives {differs} than without, as ONNX Runtime merges other nodes")
        if far > FAR and not mode:
            notes[-1] += "; so those results are judged that it keeps when it runs the model as it is"
            results, mode = None, "kept"
    runs: Counter = Counter()
    if results is None:
        made = sessions.optimized(path)
        runs = Counter(n.op_type for n in made.graph.node)
        names = {o for n in model.graph.node for o in n.output}
        results = _values(sessions.of_model(_with_all_outputs(made, names), "ORT_DISABLE_ALL"), feeds)
        far, differs = distance(outputs, results)
        if far:
            notes.append(f"the graph that ONNX Runtime made of the model gives {differs} than the model itself: what it does there shows in the last results alone")
            results.update(outputs)
    weights, unread = _onnx.parameters(model, path)
    settings = {"providers": asis.get_providers(), "optimization": sessions.said, "intermediates": mode or "all"}
    if runs:
        settings["runs"] = [f"{n} {op}" for op, n in sorted(runs.items())]
    side = Side(f"onnxruntime {ort.__version__}", settings, list(feeds), [o.name for o in asis.get_outputs()], list(weights), _onnx.nodes_of(model))
    return Ran(side, {**weights, **feeds, **results}, [*notes, *unread])


class _Sessions:
    """ONNX Runtime's, of one model and of what is made of it."""

    def __init__(self, ort: Any, folder: str, options: Dict[str, str]):
        self.ort, self.folder = ort, folder
        level = options.get("optimization", "all")
        if level not in _LEVELS:
            raise EngineError(f"--option optimization={level}: write one of {', '.join(_LEVELS)}")
        self.level, self.said = _LEVELS[level], level if "optimization" in options else "all (its default)"
        self.threads = options.get("threads", "")
        if self.threads and not self.threads.isdigit():
            raise EngineError(f"--option threads={self.threads}: write a number")
        self.providers = [p.strip() for p in options.get("providers", "CPUExecutionProvider").split(",")]
        absent = [p for p in self.providers if p not in ort.get_available_providers()]
        if absent:
            raise EngineError(f"--option providers={','.join(self.providers)}: this ONNX Runtime has no {absent[0]}; it has {', '.join(ort.get_available_providers())}")

    def options(self, level: str) -> Any:
        chosen = self.ort.SessionOptions()
        chosen.graph_optimization_level = getattr(self.ort.GraphOptimizationLevel, level)
        chosen.log_severity_level = 3
        if self.threads:
            chosen.intra_op_num_threads = int(self.threads)
        return chosen

    def session(self, source: Any, chosen: Any) -> Any:
        try:
            return self.ort.InferenceSession(source, chosen, providers=self.providers)
        except Exception as e:  # pybind's own classes
            raise EngineError(f"ONNX Runtime does not take the model: {e}") from None

    def of_file(self, path: str) -> Any:
        return self.session(path, self.options(self.level))

    def of_model(self, model: Any, level: str) -> Any:
        """Of a model in memory, whose external data lies where the file's does."""
        chosen = self.options(level)
        chosen.add_session_config_entry("session.model_external_initializers_file_folder_path", self.folder)
        return self.session(model.SerializeToString(), chosen)

    def optimized(self, path: str) -> Any:
        """The graph that it makes of the model."""
        import onnx

        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            chosen = self.options(self.level)
            chosen.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
            self.session(path, chosen)
            return onnx.load(chosen.optimized_model_filepath, load_external_data=False)


def _with_all_outputs(model: Any, names: Optional[set] = None) -> Any:
    """A copy whose outputs are all results, or those of these names."""
    from onnx import helper

    copy = type(model)()
    copy.CopyFrom(model)
    have = {o.name for o in copy.graph.output}
    constants = {o for n in copy.graph.node if n.op_type == "Constant" for o in n.output}
    for node in copy.graph.node:
        for name in node.output:
            if name and name not in have and name not in constants and (names is None or name in names):
                copy.graph.output.append(helper.make_empty_tensor_value_info(name))
                have.add(name)
    return copy


def _wanted(value: Any) -> Wanted:
    kind = value.type[len("tensor("):-1] if value.type.startswith("tensor(") else value.type
    return Wanted(value.name, tuple(n if isinstance(n, int) else None for n in value.shape), _DTYPES.get(kind, kind))


def _values(session: Any, feeds: Dict[str, numpy.ndarray]) -> Dict[str, Any]:
    """Results that are tensors; a sequence or a map is none."""
    values = {k: _of_array(session, k, v) for k, v in feeds.items()}
    names = [o.name for o in session.get_outputs()]
    found = {}
    for name, kind, value in zip(names, (o.type for o in session.get_outputs()), session.run_with_ort_values(names, values)):
        if value.is_tensor() and kind != "tensor(string)":
            found[name] = _array(value, kind)
    return found


def _of_array(session: Any, name: str, array: numpy.ndarray) -> Any:
    import onnxruntime

    array = numpy.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.name == "bfloat16":
        from onnx import TensorProto

        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(numpy.uint16), TensorProto.BFLOAT16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


_BITS = {"tensor(bfloat16)": "bfloat16", "tensor(float8e4m3fn)": "float8_e4m3fn", "tensor(float8e5m2)": "float8_e5m2"}


def _array(value: Any, kind: str) -> Any:
    """Of dtypes that NumPy lacks, ONNX Runtime gives no array: their bytes are read where they lie."""
    if kind not in _BITS:
        return value.numpy()
    import ml_dtypes

    dtype, shape = numpy.dtype(getattr(ml_dtypes, _BITS[kind])), tuple(value.shape())
    count = int(numpy.prod(shape, dtype=numpy.int64))
    data = ctypes.string_at(value.data_ptr(), count * dtype.itemsize) if count else b""
    return numpy.frombuffer(data, dtype).reshape(shape)
