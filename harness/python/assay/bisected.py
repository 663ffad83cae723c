"""assay.bisect: from a PyTorch model and an engine to the layer at fault.

    result = assay.bisect(net, "net.onnx", inputs=(x,))
    result = assay.bisect("model.py", "net.onnx", engine="openvino")
    result = assay.bisect(net, my_engine, inputs=(x,))            # my_engine({"x": array}) returns {"conv": array, ..}
    print(result, result.ok, result.calls)
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._forks import Forks
from ._function import name_of
from ._program import program
from ._worker import one_thread
from .graphs import _scripts
from .verify import NothingRan, UsageError


@dataclass(frozen=True)
class Bisected:
    """What a comparison came to.

    Attributes
    ----------
    ok : bool
        No call is at fault, and none that is not decided may be the reason for another last result.
    text : str
        What `assay bisect` prints.
    calls : list of dict
        The program's calls in order: {"name", "op", "source", "status", "says", "diagnosis", ..} of assay.bisect/1.
    trace, dump : str
        The files that were compared.
    """

    document: Dict[str, Any]
    text: str
    status: int

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def calls(self) -> List[Dict[str, Any]]:
        return self.document["calls"]

    @property
    def trace(self) -> str:
        return self.document["trace"]

    @property
    def dump(self) -> str:
        return self.document["dump"]

    def to_dict(self) -> Dict[str, Any]:
        """The document, assay.bisect/1."""
        return self.document

    def __str__(self) -> str:
        return self.text


def bisect(model: Any, engine: Union[str, Path, Callable, None] = None, inputs: Union[Sequence[Any], Mapping[str, Any], Any] = None, *,
           runs: Optional[str] = None, arguments: Sequence[str] = (), options: Optional[Mapping[str, Any]] = None,
           engine_inputs: Optional[Mapping[str, Union[str, Path]]] = None, call: int = 1, contract: Optional[str] = None, seconds: Optional[float] = None,
           out: Union[str, Path, None] = None) -> Bisected:
    """Compares what an engine computes with what a PyTorch model does, call by call.

    Parameters
    ----------
    model : torch.nn.Module, or path
        A module, which is called with `inputs`; a program, which runs as it is; or a trace of `assay record --call N`. A module is called once,
        under torch.no_grad(), in a process that this one forks, with one thread: nothing of its state changes here. It must lie on the CPU.
    engine : path or callable
        The engine's model, .onnx, .xml or .param; a dump; or a function that takes arrays by the names of forward's arguments and returns
        arrays by name (``assay.engines`` has the rules). The function is called in this process. None: `runs` gets the module exported.
    inputs : sequence or mapping
        Of a module: the arguments of its call; one tensor stands for a sequence of one.
    runs : str, optional
        The engine: "onnxruntime", "openvino", "ncnn"; None: by the name of its model.
    arguments : list of str
        Of a program.
    options : mapping
        Of the engine, as ``{"optimization": "disabled"}``.
    engine_inputs : mapping
        Inputs of the engine by its names, in files of numpy.save, instead of what the program gave its model.
    call : int
        Which call of outermost modules is compared, in a program that makes several.
    contract : str, optional
        What the engine's kernels promise of their numbers.
    seconds : float, optional
        For pairs of causes, of each call that no single one explains.
    out : path, optional
        Where trace and dump are kept; None: $ASSAY_OUT or assay-out.

    Raises
    ------
    UsageError
        The program fails, inputs do not fit, or nothing can be compared.
    NothingRan
        PyTorch, h5py or the engine is not installed.

    Examples
    --------
    >>> assay.bisect(net, "net.onnx", inputs=(x,)).ok
    """
    is_script = isinstance(model, (str, Path))
    if is_script and inputs is not None:
        raise TypeError("inputs are for a module; a program says what it calls its model with, and --call or `call` which call is compared")
    if not is_script and (not callable(model) or not hasattr(model, "named_modules")):
        raise TypeError(f"model is of type {type(model).__name__}: give a torch.nn.Module, a program or a trace")
    if not is_script and inputs is None:
        raise TypeError("inputs: what the module is called with, a tuple of its arguments or a dict of them by name")
    if engine is None and runs is None:
        raise TypeError("engine: give the engine's model, a dump, or a function; or say in `runs` which engine gets the module exported")
    forked = None if is_script else _Recording(model, inputs)
    name = str(model) if is_script else f"@{_word(type(model).__name__)}.py"
    beside = [*(w for k, v in (options or {}).items() for w in ("--option", f"{k}={v}")),
              *(w for k, v in (engine_inputs or {}).items() for w in ("--input", f"{k}={v}")), *(["--engine", runs] if runs else [])]
    judged = [*(["--contract", contract] if contract else []), *(["--time", str(seconds)] if seconds is not None else [])]
    rest = ["--", *arguments] if arguments else []
    if callable(engine) and not isinstance(engine, (str, Path)):
        if beside:
            raise TypeError("runs, options and engine_inputs are for an engine's model, and not for a function")
        folder = Path(out or os.environ.get("ASSAY_OUT") or "assay-out")
        trace, dump = _ran_here(name, is_script, forked, engine, folder, call, rest)
        return _compared([trace, dump, *judged], None, out)
    words = [name, *([str(engine)] if engine is not None else []), *beside, *judged, *(["--call", str(call)] if call != 1 else []), *rest]
    return _compared(words, forked, out)


def _word(name: str) -> str:
    return re.sub(r"\W+", "_", name)


class _Recording:
    """What a process becomes that records a call of a module."""

    def __init__(self, module: Any, inputs: Any):
        self._module, self.output = module, None
        self._kwargs = dict(inputs) if isinstance(inputs, Mapping) else {}
        self._args = () if isinstance(inputs, Mapping) else tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)

    def __call__(self, words: List[str], connection: Any) -> None:
        for stream in (1, 2):
            os.dup2(self.output.fileno(), stream)
        one_thread()
        sys.path.insert(0, _scripts())
        import record

        os._exit(record.main(words[1:], self._call_module))

    def _call_module(self) -> None:
        import torch

        with torch.no_grad():
            self._module(*self._args, **self._kwargs)


def _run(words: List[str], forked: Optional[_Recording], out: Any) -> tuple:
    variables = {"ASSAY_TORCH_PYTHON": os.environ.get("ASSAY_TORCH_PYTHON") or sys.executable}
    variables.update({"ASSAY_OUT": str(out)} if out is not None else {})
    with tempfile.TemporaryFile("w+") as text, tempfile.TemporaryFile("w+") as complaints:
        if forked is not None:
            forked.output = complaints
            with Forks(forked) as forks:
                status = forks.run([program(), *words], text, complaints, variables)
        else:
            status = subprocess.run([program(), *words], stdout=text, stderr=complaints, stdin=subprocess.DEVNULL, env={**os.environ, **variables}).returncode
        text.seek(0)
        complaints.seek(0)
        return status, text.read(), complaints.read().strip()


def _compared(words: List[str], forked: Optional[_Recording], out: Any) -> Bisected:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = Path(folder, "bisect.json")
        status, text, said = _run(["bisect", words[0], *words[1:2], "--json", str(file), *words[2:]], forked, out)
        if not file.exists() or status not in (0, 1):
            raise _error(status, said)
        return Bisected(json.loads(file.read_text()), text, status)


def _error(status: int, said: str) -> Exception:
    return (NothingRan if status == 3 else UsageError)(said or f"assay ended with exit status {status}")


def _ran_here(name: str, is_script: bool, forked: Optional[_Recording], engine: Callable, folder: Path, call: int, rest: List[str]) -> tuple:
    """The trace, and the dump of a function of this process."""
    from .engines import EngineError, EngineMissing, Given, write
    from .engines._function import of_function

    stem = name_of(engine) or "engine"
    kept = folder / f"bisect-{Path(name.lstrip('@')).stem}"
    kept.mkdir(parents=True, exist_ok=True)
    trace = name
    if not is_script or name.endswith(".py"):
        trace = str(kept / "trace.h5")
        status, _, said = _run(["record", name, "--call", str(call), "-o", trace, *rest], forked, folder)
        if status != 0:
            Path(trace).unlink(missing_ok=True)
            raise _error(status, said)
    try:
        given = Given.of_trace(trace)
        ran = of_function(engine, stem, given)
        dump = str(kept / f"{_word(stem)}.safetensors")
        unkept = write(ran, dump, dump.removesuffix(".safetensors") + ".nodes.json")
    except EngineError as e:
        raise UsageError(str(e)) from None
    except EngineMissing as e:
        raise NothingRan(str(e)) from None
    if unkept and len(unkept) == len(ran.tensors):
        raise UsageError(f"{stem} gave no tensor: {'; '.join(unkept)}")
    return trace, dump
