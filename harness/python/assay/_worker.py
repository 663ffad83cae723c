"""A worker process whose kernels are functions of Python; the program starts it (harness/registry/python_kernel.h).

    python3 -c "from assay._worker import main; main()" worker --list --schema "relu(Tensor self) -> Tensor" --python my.py:relu

libassay_worker.so is the worker. It asks for a table of kernels once, forks for each process that runs them, and calls the functions of
the table, which are Python's.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence, Tuple

from . import _kernel as abi
from . import _memory as memory
from ._function import Function, KernelOptions, WrongFunction, name_of, place_of, plain
from ._program import program
from ._schema import Schema, find
from ._triton import prepare

# Between the schemas of one argument.
SEPARATOR = "\x1e"

Chosen = Tuple[Callable, KernelOptions, Schema]


def _own_frames(error: BaseException) -> str:
    """"my.py:12", where the function raised it; empty if that was not its own code."""
    here = str(Path(__file__).parent)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((here, "<frozen"))]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}{_own_frames(error)}"


def _module_of(place: str) -> Any:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place).resolve()
    if not path.exists():
        raise FileNotFoundError(f"{place}: there is no such file")
    # A file of a package is imported as that, so that it can import what is relative to it.
    names, folder = [path.stem], path.parent
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    # As a program that is run: what lies beside it can be imported.
    sys.path.insert(0, str(folder))
    if len(names) > 1:
        return importlib.import_module(".".join(names))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _member(module: Any, name: str, place: str) -> Callable:
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            there = sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
            raise AttributeError(f"{place} has no {name!r}" + (f"; it has {', '.join(there[:12])}" if there else ""))
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{place}: {name} is {type(found).__name__}, which cannot be called")
    return found


def _marked(module: Any, place: str, schemas: Sequence[Schema], op: str) -> List[Callable]:
    """The functions of a file that say their operator, each once; if there is an operator, those that say this one."""
    marked = list({id(v): v for v in vars(module).values() if isinstance(getattr(v, "__assay__", None), KernelOptions)}.values())
    if not op or not marked:
        return marked
    wanted = find(schemas, op).name

    def says_so(function: Callable) -> bool:
        try:
            return find(schemas, function.__assay__.op).name == wanted
        except LookupError:  # of an operator that is not among these
            return False

    found = [f for f in marked if says_so(f)]
    if not found:
        said = ", ".join(sorted({f.__assay__.op for f in marked}))
        raise LookupError(f"{place}: its functions are kernels of {said}, and none of {op}; name one to verify it all the same: {place}:FUNCTION")
    return found


def _unmarked(module: Any, place: str, schema: Optional[Schema]) -> Callable:
    """The function of a file that is meant where none is named or marked: that of the operator's name, or the only one."""
    own = {n: v for n, v in vars(module).items() if inspect.isfunction(v) and v.__module__ == module.__name__ and not n.startswith("_")}
    if schema is not None:
        named = own.get(schema.name) or own.get(schema.name.split(".")[0])
        if named is not None or len(own) == 1:
            return named or next(iter(own.values()))
    raise LookupError(f"{place}: @assay.kernel(OPERATOR) stands before none of its functions; name one: {place}:FUNCTION"
                      + (f" ({', '.join(own)})" if own else ""))


def choose(spec: str, schemas: Sequence[Schema]) -> List[Chosen]:
    """The functions that OPERATOR=FILE.py:NAME means, each with the schema of its operator."""
    head, equals, rest = spec.partition("=")
    op, place = (head, rest) if equals and "/" not in head and not head.endswith(".py") else ("", spec)
    names: List[str] = []
    if not place.endswith(".py"):
        place, _, after = place.rpartition(":")
        names = after.split(",")
    module = _module_of(place)
    if names:
        functions = [_member(module, n, place) for n in names]
    else:
        functions = _marked(module, place, schemas, op)
        if not functions:
            functions = [_unmarked(module, place, find(schemas, op) if op else schemas[0] if len(schemas) == 1 else None)]
    chosen = []
    for function in functions:
        options = getattr(function, "__assay__", None) or KernelOptions()
        if op:
            schema = find(schemas, op)
        elif options.op:
            schema = find(schemas, options.op)
        elif len(schemas) == 1:
            schema = schemas[0]
        else:
            raise LookupError(f"{spec}: of which operator is it? Say OPERATOR={spec}, or @assay.kernel(OPERATOR) before the function")
        chosen.append((function, options, schema))
    return chosen


class Table:
    """An assay_plugin of these functions. It must live as long as its process calls them."""

    def __init__(self, chosen: Sequence[Chosen], name: str):
        self._kept: List[Any] = [name.encode()]
        kernels = []
        for function, options, schema in chosen:
            f = Function(function, schema, options)
            run, refuses = abi.Run(self._runner(f)), abi.Run(self._refuser(f))
            texts = [t.encode() if t else None
                     for t in (schema.text, options.name or name_of(function), options.clauses(function, schema.text), place_of(function))]
            self._kept += [f, run, refuses, texts]
            kernels.append(abi.Kernel(ctypes.sizeof(abi.Kernel), 0, texts[0], texts[1], run, refuses, None, texts[2], texts[3], None, None))
        array = (abi.Kernel * len(kernels))(*kernels)
        self._kept.append(array)
        self.plugin = abi.Plugin(abi.ABI_VERSION, ctypes.sizeof(abi.Kernel), len(kernels), array, self._kept[0], b"")

    @staticmethod
    def _refuser(f: Function):
        def refuses(call) -> int:
            c = call.contents
            try:
                why = f.refusal(c)
            except BaseException as error:  # nothing may leave a function that C calls
                why = _said(error)
            if not why:
                return abi.OK
            abi.put_text(why, c.message, c.message_capacity)
            return abi.REFUSED

        return refuses

    @staticmethod
    def _runner(f: Function):
        def run(call) -> int:
            c = call.contents
            try:
                f.run(c)
                return abi.OK
            except NotImplementedError as error:
                abi.put_text(_said(error), c.message, c.message_capacity)
                return abi.REFUSED
            except memory.WrongResult as error:
                abi.put_text(str(error), c.message, c.message_capacity)
            except BaseException as error:
                abi.put_text(_said(error), c.message, c.message_capacity)
            return 1

        return run


def one_thread() -> None:
    """A forked process has none of the threads that libraries keep for work."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "openblas" in line and line.count("/")}
    except OSError:
        return
    for path in paths:
        library = ctypes.CDLL(path)
        for name in ("openblas_set_num_threads", "openblas_set_num_threads64_", "scipy_openblas_set_num_threads64_",
                     "scipy_openblas_set_num_threads"):
            if hasattr(library, name):
                getattr(library, name)(1)
                break


def worker_library() -> str:
    """The path of libassay_worker.so, which lies beside the program."""
    path = os.path.join(os.path.dirname(os.path.realpath(program())), "libassay_worker.so")
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is not there: `./assay build` builds it in a source tree")
    return path


def serve(words: Sequence[str], chosen: Callable[[], Sequence[Chosen]], name: str) -> None:
    """Is a worker with these words of a command line, until its end, which is the process's."""
    # NumPy tells of infinite numbers and of NaN, which cases have on purpose.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    library = ctypes.CDLL(worker_library())
    tables: List[Table] = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
    def load(error, capacity):
        try:
            tables.append(Table(chosen(), name))
            prepare()
            return ctypes.addressof(tables[-1].plugin)
        except (LookupError, WrongFunction, FileNotFoundError, ValueError) as e:
            text = e.args[0] if e.args and isinstance(e.args[0], str) else str(e)
        except BaseException as e:
            text = f"{name}: {_said(e)}"
        abi.put_text(text, error, capacity)
        return None

    @ctypes.CFUNCTYPE(None)
    def after_fork():
        one_thread()

    arguments = [b"assay", *[w.encode() for w in words]]
    library.assay_python_worker(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None), load, after_fork)


def _option(words: Sequence[str], name: str) -> Optional[str]:
    return words[words.index(name) + 1] if name in words[:-1] else None


def schemas_of(words: Sequence[str]) -> List[Schema]:
    return [Schema.parse(text) for text in (_option(words, "--schema") or "").split(SEPARATOR) if text]


def main() -> None:
    words = sys.argv[1:]
    spec = _option(words, "--python") or ""
    serve(words, lambda: choose(spec, schemas_of(words)), spec)
