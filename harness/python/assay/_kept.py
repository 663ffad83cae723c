"""A function that no file has, kept in a file for `assay replay`: a lambda, a closure, what a notebook has defined.

    spec = keep(lambda x: abs(x), KernelOptions("relu"), Path("assay-out"))     # "relu=/.../assay-out/function-1a2b3c.py:function"

The file has its code, what it closes over and the globals that it names: modules by their names, the rest pickled. That holds for the same
version of Python.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import importlib
import marshal
import pickle
import sys
import types
from pathlib import Path
from typing import Any, Dict, Optional, Set

from ._function import KernelOptions


class _CannotBeKept(Exception):
    pass


def _names(code: types.CodeType) -> Set[str]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _value(x: Any, within: Set[int]) -> Any:
    if isinstance(x, types.ModuleType):
        return ("module", x.__name__)
    if isinstance(x, types.FunctionType) and x.__module__ in ("__main__", None):
        return ("function", _function(x, within))
    try:
        return ("pickled", pickle.dumps(x))
    except Exception as error:
        raise _CannotBeKept from error


def _function(f: types.FunctionType, within: Set[int]) -> Dict[str, Any]:
    if id(f) in within:  # one that calls itself
        raise _CannotBeKept
    within = within | {id(f)}
    used = {n: f.__globals__[n] for n in _names(f.__code__) if n in f.__globals__}
    cells = [_value(c.cell_contents, within) for c in f.__closure__ or ()]
    return {"code": marshal.dumps(f.__code__), "name": f.__name__, "globals": {n: _value(v, within) for n, v in used.items()}, "cells": cells,
            "defaults": _value(f.__defaults__, within), "keywords": _value(f.__kwdefaults__, within)}


def _made(kept: Any) -> Any:
    kind, what = kept
    if kind == "module":
        return importlib.import_module(what)
    if kind == "pickled":
        return pickle.loads(what)
    own = {n: _made(v) for n, v in what["globals"].items()}
    function = types.FunctionType(marshal.loads(what["code"]), {"__builtins__": __builtins__, **own}, what["name"], _made(what["defaults"]),
                                  tuple(types.CellType(_made(c)) for c in what["cells"]))
    function.__kwdefaults__ = _made(what["keywords"])
    return function


def keep(function: Any, options: KernelOptions, folder: Path) -> Optional[str]:
    """OPERATOR=FILE.py:NAME, or None for what cannot be kept: methods, and functions that close over what cannot be pickled."""
    if not isinstance(function, types.FunctionType):
        return None
    try:
        kept = _function(function, set())
        data = pickle.dumps((sys.version_info[:2], kept, dataclasses.replace(options, refuses=None)))
    except (_CannotBeKept, ValueError):  # of an empty cell
        return None
    path = folder.absolute() / f"function-{hashlib.sha256(data).hexdigest()[:10]}.py"
    if "=" in str(path):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Of assay.verify, for assay replay: {function.__qualname__}, which no file has.\nfrom assay._kept import again\n\n"
                    f"function = again({base64.b64encode(data).decode()!r})\n")
    return f"{options.op}={path}:function"


def again(text: str) -> Any:
    """The function of such a file. Raises ImportError under another version of Python."""
    version, kept, options = pickle.loads(base64.b64decode(text))
    if version != sys.version_info[:2]:
        raise ImportError(f"this function was kept by Python {version[0]}.{version[1]}, and its code is of that version alone")
    function = _made(("function", kept))
    function.__assay__ = options
    return function
