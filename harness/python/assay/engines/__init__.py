"""Engines that compute a model which a PyTorch program computes, too: `assay bisect MODEL.py MODEL.onnx` compares the two.

    $ assay bisect model.py model.onnx                         ONNX Runtime
    $ assay bisect model.py model.onnx --engine openvino
    $ assay bisect model.py my_engine.py:run                   anything that maps arrays to arrays

An adapter runs its engine on the inputs that the program gave the model, and writes what the engine computed: a dump (safetensors, which has
bf16 and takes any name) and a side file about it, of format assay.engine/1 (docs/file-formats.md#engines). An engine's own package is
imported when the adapter runs, and not before.

An engine of one's own is a function. `inputs` has the arrays of forward's arguments, and what it returns is named as `assay bisect --help`
says: by modules, calls and parameters of the PyTorch program, or as one likes, if `run.nodes` tells what came from what.

    def run(inputs):
        h = my_conv(inputs["x"])
        return {"conv": h, "act": my_relu(h)}

    run.nodes = [{"name": "conv", "op": "Conv", "inputs": ["x"], "outputs": ["conv"], "module": "conv"}]     # may be left out
    run.settings = {"threads": 4}                                                                            # the same
"""

from __future__ import annotations

from ._errors import EngineError, EngineMissing
from ._given import Given
from ._ran import Ran, Side, write

__all__ = ["EngineError", "EngineMissing", "Given", "Ran", "Side", "engine_of", "run", "write"]

_OF_FILES = {".onnx": "onnxruntime", ".xml": "openvino", ".param": "ncnn", ".pt": "ncnn"}
_NAMED = ("onnxruntime", "openvino", "ncnn")
_ALIASES = {"ort": "onnxruntime", "ov": "openvino"}


def engine_of(engine: str, model: str) -> str:
    """The adapter's name, of what --engine says and of the model's file; either may be empty. Raises EngineError."""
    import os

    engine = _ALIASES.get(engine, engine)
    if not engine:
        ending = os.path.splitext(model)[1]
        if ending not in _OF_FILES:
            raise EngineError(f"{model}: which engine runs it? --engine is one of {', '.join(_NAMED)}, or FILE.py:FUNCTION")
        return _OF_FILES[ending]
    if engine not in _NAMED and ":" not in engine:
        raise EngineError(f"--engine {engine}: is none of {', '.join(_NAMED)}, and no FILE.py:FUNCTION or package.module:FUNCTION")
    return engine


def run(engine: str, model: str, given: Given, options: dict) -> Ran:
    """What the engine gives for these inputs. Raises EngineError and EngineMissing, whose messages are for the user."""
    if engine == "onnxruntime":
        from ._onnxruntime import run as adapter
    elif engine == "openvino":
        from ._openvino import run as adapter
    elif engine == "ncnn":
        from ._ncnn import run as adapter
    else:
        from ._function import run as adapter

        return adapter(engine, given, options)
    return adapter(model, given, options)
