"""assay.kernelbench: is ModelNew of a KernelBench solution what Model of its problem is?

    assay.kernelbench("level1/19_ReLU.py", "my_solution.py")
    $ assay kernelbench level1/19_ReLU.py my_solution.py

The problem's Model is traced to a graph of Assay's operators, whose results have derived bounds: there is no tolerance. ModelNew runs in
processes of its own, between guard pages, twice on each call and again with other data at the same addresses. Inputs, parameters and buffers
of both are Assay's: random, large, tiny, cancelling and special numbers, not only those that get_inputs() draws.

Sizes are the problem's, halved until the largest is small enough for a reference that computes each element exactly.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import inspect
import json
import os
import re
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ._draws import deciding, fields
from ._function import KernelOptions
from ._problem import Size, WrongProblem, parsed, sizes_of, state
from ._solution import Solution
from .graphs import Graph, graph
from .verify import NothingRan, UsageError, Verified, results_folder, run_program

_FAMILIES = ("normal", "uniform", "integers", "cancelling", "wide", "offset", "tiny", "trits", "constant", "edge", "special")
_OF_DEVICES = re.compile(r"CUDA|NVIDIA|nvcc|torch\.cuda|HIP|0 active drivers", re.IGNORECASE)


def kernelbench(problem: Union[str, Path], solution: Union[str, Path, None] = None, *, dtypes: Sequence[str] = ("f32",),
                contract: Optional[str] = None, seed: int = 0, device: Optional[str] = None, jobs: Optional[int] = None,
                timeout: Optional[float] = None, out: Union[str, Path, None] = None,
                progress: Union[bool, Callable[[Any], Any], None] = None) -> Union[Verified, Graph]:
    """Judges ModelNew of a solution by Model of its problem.

    Parameters
    ----------
    problem : path
        A file with Model, get_inputs() and perhaps get_init_inputs(), as KernelBench has them.
    solution : path, optional
        A file with ModelNew. None: the graph of the problem is returned, and nothing runs.
    dtypes : list of str
        Of inputs and parameters.
    contract : str, optional
        What ModelNew promises of its numbers; None: what libraries under Python do.
    device : str, optional
        "cuda": inputs and parameters are moved there first.
    jobs, timeout, out, progress
        As of ``assay.verify``.

    Raises
    ------
    WrongProblem
        A file lacks what KernelBench asks for.
    GraphError
        The problem has operators that Assay lacks; they are listed.
    UsageError
        ModelNew cannot be made: its file, or __init__, raises, or its parameters are others than Model's.
    NothingRan
        ModelNew asks for a device that is not here.

    Examples
    --------
    >>> assay.kernelbench("level1/19_ReLU.py", "solution.py").ok
    """
    problem = str(problem)
    for d in dtypes:
        if d not in ("f64", "f32", "f16", "bf16"):
            raise UsageError(f"dtype {d!r}: inputs and parameters are f64, f32, f16 or bf16")
    sizes = sizes_of(problem)
    name = "problem_" + re.sub(r"\W+", "_", Path(problem).stem).strip("_").lower()
    if solution is None:
        return graph(sizes[0].model, sizes[0].inputs, name=name)
    judged_by = _judged_by(contract, str(solution), dtypes)
    cases, left_out = [], []
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        notes = Path(folder, "parameters")
        kernels = _kernels(sizes, str(solution), name, dtypes, device, notes)
        known: Dict[str, Dict[str, float]] = {d: {} for d in dtypes}
        for _, own, text, dtype, shapes, results in reversed(kernels):
            drawn = []
            for of_size, n in zip(shapes, results):
                given = ",".join(f"{a}={'x'.join(map(str, s)) or '[]'}" for a, s in of_size.items())
                drawn.append(([f"{own.op}:{dtype}:{given}:data={f}:seed={seed + k}" for k, f in enumerate(_FAMILIES)], n))
            contract_of_it = judged_by(text) if len(dtypes) == 1 else fields(judged_by(text), dtype)
            kept, without = deciding(drawn, text, contract_of_it, known[dtype])
            cases += kept
            left_out += without
        again = _file_for_replay(problem, str(solution), name, dtypes, device, out)
        words = ["verify", *(own.op for _, own, *_ in kernels), "--impl", "plugin:*", "--cases-from", "cases.txt",
                 "--contract", judged_by(kernels[0][2])]
        files = {"cases.txt": "".join(f"{c}\n" for c in cases)}
        for i, (_, own, text, *_) in enumerate(kernels):
            files[f"graph{i}.txt"] = text
            words += ["--python", f"{own.op}={again}:{own.op}", "--graph", f"graph{i}.txt"]
        words += ["--jobs", str(jobs)] if jobs else []
        words += ["--timeout", str(timeout)] if timeout else []
        try:
            result = run_program(words, files, again.parent, [k[:2] for k in kernels], str(solution), progress)
        except UsageError as error:
            text = re.sub(r"^assay: (--(plugin|python) \S+: )?", "", str(error))
            raise (_no_device(text) or UsageError(text)) from None
        said = notes.read_text() if notes.exists() else ""
    if result.failures and all(f.kind == "wrongly_rejected" and _no_device(f.detail) for f in result.failures):
        raise _no_device(result.failures[0].detail)
    text, status = result.text.rstrip() + "\n", result.status
    if left_out:
        text += _said_of(left_out)
    if said and status != 0:
        text += f"Parameters were given to ModelNew in the order in which they are made: {said}.\n"
    answered = result.judged if not result.refused else len(cases) - result.refused
    if status == 0 and answered < len(cases):  # each call is the problem's own; a process that runs the solution could keep kernels back
        text, status = text + f"FAILED: {len(cases) - answered} of {len(cases)} calls were refused or not taken, and a solution may refuse none.\n", 1
    return replace(result, text=text, status=status)


_Kernel = Tuple[Solution, KernelOptions, str, str, List[Dict[str, Tuple[int, ...]]], List[int]]


def _kernels(sizes: Sequence[Size], solution: str, name: str, dtypes: Sequence[str], device: Optional[str], notes: Optional[Path]) -> List[_Kernel]:
    """ModelNew, once for each graph: with its options, the graph, the dtype, and the arguments' shapes and the number of results at each size."""
    kernels = []
    for dtype in dtypes:
        for traced, alike in _graphs(sizes, name if dtype == dtypes[0] else f"{name}_{dtype}", dtype):
            arguments = _arguments(traced)
            places = _places(alike[0], arguments)
            shapes = [{n: _shape(size, n, places) for n in arguments} for size in alike]
            own = KernelOptions(traced.name, None, "torch", device or "cpu", None, "ModelNew")
            kernel = Solution(solution, alike, shapes, places, device, notes)
            kernels.append((kernel, own, traced.text, dtype, shapes, [s.results for s in alike]))
    return kernels


def kernels_again(problem: str, solution: str, name: str, dtypes: Sequence[str], device: Optional[str]) -> Dict[str, Solution]:
    """What a file for ``assay replay`` has, by their operators."""
    found = {}
    for kernel, own, *_ in _kernels(sizes_of(problem), solution, name, dtypes, device, None):
        kernel.__assay__ = own
        found[own.op] = kernel
    return found


def _file_for_replay(problem: str, solution: str, name: str, dtypes: Sequence[str], device: Optional[str], out: Any) -> Path:
    folder = results_folder(out).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.py"
    words = ", ".join(map(repr, (os.path.abspath(problem), os.path.abspath(solution), name, list(dtypes), device)))
    file.write_text(f"# Of assay kernelbench, for assay replay.\nfrom assay.kernelbench import kernels_again\n\nglobals().update(kernels_again({words}))\n")
    return file


def _judged_by(contract: Optional[str], solution: str, dtypes: Sequence[str]) -> Callable[[str], str]:
    """The contract for the text of a graph. A solution's process could say another one; what it says does not count."""
    nodes = list(ast.walk(parsed(solution)))
    imports = {a.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for a in node.names}
    imports |= {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    own = KernelOptions(contract=contract, tensors="torch")

    def of_graph(text: str) -> str:
        clauses = own.clauses(None, text, triton="triton" in imports) or ""
        return f"strict {fields(clauses, dtypes[0]) if len(dtypes) == 1 else clauses}".strip()

    return of_graph


def _said_of(left_out: Sequence[str]) -> str:
    of_data = Counter(re.search(r":data=(\w+):", case).group(1) for case in left_out)
    return (f"{len(left_out)} more cases were left out, as any result would pass for too many of their elements: "
            f"{', '.join(f'{n} of data={f}' for f, n in of_data.items())}.\n")


def _graphs(sizes: Sequence[Size], name: str, dtype: str) -> List[Tuple[Graph, List[Size]]]:
    """A graph holds numbers that follow from the sizes, as groups of channels do: sizes that differ in these have graphs of their own."""
    found: Dict[str, Tuple[Graph, List[Size]]] = {}
    for size in sizes:
        model, inputs = size.model, size.inputs
        if dtype == "f64":  # whose rules differ: logsumexp has the largest number of its dtype in it
            model, inputs = copy.deepcopy(model).double(), [t.double() if hasattr(t, "shape") and t.is_floating_point() else t for t in inputs]
        traced = graph(model, inputs, name=name if not found else f"{name}_{len(found) + 1}")
        document = traced.to_dict()
        document["schema"] = document["schema"].replace(traced.name, name, 1)
        _, alike = found.setdefault(json.dumps(document), (traced, []))
        alike.append(size)
    return list(found.values())


def _shape(size: Size, argument: str, places: Dict[str, int]) -> Tuple[int, ...]:
    return tuple(size.inputs[places[argument]].shape) if argument in places else state(size.model)[argument].shape


def _arguments(traced: Graph) -> List[str]:
    schema = traced.to_dict()["schema"]
    return [a.split("=")[0].split()[-1] for a in schema[schema.index("(") + 1:schema.index(")")].split(",") if a.strip()]


def _places(size: Size, arguments: Sequence[str]) -> Dict[str, int]:
    """At which place Model is called with those arguments that are inputs."""
    import torch

    names = [p.name for p in inspect.signature(size.model.forward).parameters.values()]
    known = state(size.model)
    places = {}
    for n in arguments:
        if n in names and isinstance(size.inputs[names.index(n)], torch.Tensor):
            places[n] = names.index(n)
        elif n not in known:
            raise WrongProblem(f"the graph's argument {n} is no parameter of Model, and none of the tensors it is called with")
    return places


def _no_device(text: str) -> Optional[NothingRan]:
    """What to raise if this complaint of a solution is that a device is not here."""
    import torch

    if torch.cuda.is_available() or not _OF_DEVICES.search(text):
        return None
    return NothingRan(f"not run: no device: ModelNew asks for a GPU, and PyTorch sees none here: {text.removeprefix('returned 1: ')}")


def main(words: Optional[Sequence[str]] = None) -> int:
    """The command ``assay kernelbench PROBLEM.py [SOLUTION.py]``."""
    import argparse

    parser = argparse.ArgumentParser(prog="assay kernelbench", description=__doc__.split("\n\n")[2],
                                     epilog="Exit status: 0 no fault, 1 a fault was found, 2 wrong usage, 3 nothing could be judged.")
    parser.add_argument("problem", metavar="PROBLEM.py", help="with Model and get_inputs()")
    parser.add_argument("solution", metavar="SOLUTION.py", nargs="?", help="with ModelNew; without it, the problem's graph is printed")
    parser.add_argument("--dtype", default="f32", help="of inputs and parameters, with commas between several (default: f32)")
    parser.add_argument("--contract", help="what ModelNew promises of its numbers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, help="seconds that one call may take")
    parser.add_argument("--out", help="folder for case files")
    parser.add_argument("--device", help="of ModelNew: cuda")
    flags = parser.parse_args(words)
    if importlib.util.find_spec("torch") is None:
        print(f"assay: kernelbench needs PyTorch, which {sys.executable} does not have; ASSAY_PYTHON names another Python", file=sys.stderr)
        return 3
    from .graphs import GraphError

    try:
        result = kernelbench(flags.problem, flags.solution, dtypes=flags.dtype.split(","), contract=flags.contract, seed=flags.seed,
                             device=flags.device, timeout=flags.timeout, out=flags.out)
    except (WrongProblem, GraphError, UsageError, OSError, SyntaxError) as error:
        print(f"assay: {str(error).removeprefix('assay: ')}", file=sys.stderr)
        return 2
    except NothingRan as error:
        print(f"assay: {error}", file=sys.stderr)
        return 3
    print(str(result).rstrip())
    return 0 if isinstance(result, Graph) else result.status
