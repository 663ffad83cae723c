"""assay.graph: operators put together, as one operator, which every command and function of Assay knows.

    swiglu = assay.graph("assay::swiglu(Tensor gate, Tensor up) -> Tensor { silu(gate) * up }")
    assay.check(my_fused_kernel, swiglu)
    block = assay.graph(torch_module, example_inputs)
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from ._forks import Forks
from ._function import name_of
from ._program import program

_PACKAGE = Path(__file__).resolve().parent
_NAME = re.compile(r"assay::([A-Za-z_]\w*)")


class GraphError(ValueError):
    """The program cannot be a graph of Assay's operators; the message lists what it lacks, with places."""


@dataclass(frozen=True)
class Graph:
    """One operator made of several.

    Attributes
    ----------
    name : str
        By which reports and commands call it.
    text : str
        What ``--graph`` takes: the schema with its body, or a document of assay.graph/1 (docs/file-formats.md).
    """

    name: str
    text: str

    def to_dict(self) -> Dict[str, Any]:
        """The document, of a graph that was traced or read from JSON; of a text, {"text"}."""
        return json.loads(self.text) if self.text.lstrip().startswith("{") else {"text": self.text}

    def __str__(self) -> str:
        return self.text


def graph(source: Union[str, Path, Graph, Callable], inputs: Optional[Sequence[Any]] = None, *, name: Optional[str] = None) -> Graph:
    """A graph from its text, from a file of it, or from what a PyTorch function or module computes.

    Parameters
    ----------
    source : str, path or callable
        ``"assay::NAME(ARGUMENTS) -> RESULTS { BODY }"``, a file with such a text or with JSON, or a function or module of PyTorch, which is
        traced: parameters and buffers become arguments, too.
    inputs : sequence, optional
        For PyTorch: what it is called with, tensors or texts such as ``"f32[2x3]"``. Their numbers mean nothing, their shapes little.
    name : str, optional
        Of a traced graph; None: the function's or the class's.

    Raises
    ------
    GraphError
        Lists the operators that a graph cannot have, with the lines that call them.

    Examples
    --------
    >>> assay.graph("assay::scaled(Tensor x, float by) -> Tensor { x * by }").name
    'scaled'
    """
    if isinstance(source, Graph):
        return source
    if isinstance(source, (str, Path)):
        return _written(str(source))
    if not callable(source):
        raise TypeError(f"source is {type(source).__name__}: a graph comes from a text, a file, or a function or module of PyTorch")
    if inputs is None:
        raise TypeError("inputs: what the function is called with, tensors or texts such as 'f32[2x3]', one for each argument")
    return _traced(source, list(inputs), name)


def _written(text: str) -> Graph:
    if "{" not in text and os.path.exists(text):
        text = Path(text).read_text()
    if text.lstrip().startswith("{"):
        document = json.loads(text)
        names = [n for g in document.get("graphs", [document]) for n in _NAME.findall(g.get("schema", ""))[:1]]
    else:
        names = _NAME.findall(text.split("{")[0])
    if len(names) != 1:
        raise GraphError(f"{text[:80]!r}: write one graph, assay::NAME(ARGUMENTS) -> RESULTS {{ BODY }}")
    return Graph(names[0], text)


def _scripts() -> str:
    """Where graph.py and what it imports lie."""
    packaged = _PACKAGE / "share/assay/harness/python"
    return str(packaged if packaged.exists() else _PACKAGE.parent)


def _traced(source: Callable, inputs: List[Any], name: Optional[str]) -> Graph:
    import torch

    if inspect.isclass(source):
        raise TypeError(f"{source.__name__} is a class: give an object of it, which has its parameters")
    own = type(source).__name__ if isinstance(source, torch.nn.Module) else name_of(source)
    name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", own).strip("_").lower().lstrip("0123456789_") or "graph"

    def become(words: List[str], connection: Any) -> None:
        sys.path.insert(0, _scripts())
        import graph as tracer

        tracer.main(words[1:], tracer.graph_in_memory(source, inputs))
        os._exit(0)

    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = Path(folder, "graph.json")
        with tempfile.TemporaryFile("w+") as said:
            with Forks(become) as forks:
                status = forks.run([program(), "graph", f"{own}:{own}", "--name", name, "-o", str(file)], said, said)
            said.seek(0)
            if status != 0:
                raise GraphError(said.read().strip())
        return Graph(name, file.read_text())
