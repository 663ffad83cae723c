"""An engine that is a function: arrays by the names of forward's arguments in, arrays by names out."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any, Callable, Dict

from ._errors import EngineError, only_options
from ._given import Given
from ._ran import Ran, Side

_KEYS = {"name", "op", "inputs", "outputs", "module", "call", "attributes"}


def run(place: str, given: Given, options: Dict[str, str]) -> Ran:
    """Of "my_engine.py:run" or "package.module:run"."""
    only_options(options, (), "a function")
    return of_function(_found(place), place, given)


def of_function(function: Callable, name: str, given: Given) -> Ran:
    inputs = given.by_name()
    result = function(dict(inputs))
    if not isinstance(result, dict) or not result:
        raise EngineError(f"{name} returned {type(result).__name__ if not isinstance(result, dict) else 'an empty dict'}: an engine returns "
                          "{name: array}, with an entry for each result that shall be compared")
    wrong = [n for n in result if not isinstance(n, str) or not n]
    if wrong:
        raise EngineError(f"{name} returned the key {wrong[0]!r}: keys are names of tensors")
    nodes = [_node(n, name) for n in getattr(function, "nodes", [])]
    tensors: Dict[str, Any] = {n: a for n, a in inputs.items() if n not in result}
    tensors.update(result)
    side = Side(str(getattr(function, "engine", name)), dict(getattr(function, "settings", {})), list(inputs), _outputs(nodes, result),
                [n for n in getattr(function, "parameters", []) if n in result], nodes)
    if not nodes:  # the names are the program's own: an input of the same name is no result
        tensors, side.inputs = result, []
    return Ran(side, tensors)


def _outputs(nodes: list, result: Dict[str, Any]) -> list:
    read = {i for n in nodes for i in n["inputs"]}
    return [o for n in nodes for o in n["outputs"] if o in result and o not in read] or list(result)[-1:]


def _node(node: Any, name: str) -> Dict[str, Any]:
    if not isinstance(node, dict) or "outputs" not in node or set(node) - _KEYS:
        raise EngineError(f"{name}.nodes has {node!r}: a node is a dict with \"outputs\", and some of {', '.join(sorted(_KEYS))}")
    return {"name": "", "op": "", "inputs": [], **node}


def _found(place: str) -> Callable:
    file, _, name = place.rpartition(":")
    if file.endswith(".py"):
        if not os.path.isfile(file):
            raise EngineError(f"{place}: there is no file {file}")
        sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
        spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        try:
            module = importlib.import_module(file)
        except ModuleNotFoundError as e:
            raise EngineError(f"{place}: {e}") from None
    function = getattr(module, name, None)
    if not callable(function):
        raise EngineError(f"{place}: {file} has no function {name}; it has "
                          f"{', '.join(n for n, v in vars(module).items() if callable(v) and not n.startswith('_')) or 'none'}")
    return function
