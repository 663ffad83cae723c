"""assay.flashinfer: is a solution of FlashInfer-Bench, or of SOL-ExecBench, what its definition's reference is?

    assay.flashinfer("definitions/rmsnorm_h128.json", "solutions/mine.json")
    $ python3 -m assay.flashinfer FOLDER

The reference, a program of PyTorch, is traced to a graph of Assay's operators, as `assay.kernelbench` does with Model: each element has a
derived bound in place of the benchmark's tolerance, and the data are Assay's. Constant axes are what the definition says; variable ones are
those of the smallest workload, or small numbers.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ._problem import WrongProblem
from .graphs import GraphError
from .kernelbench import kernelbench
from .verify import NothingRan, UsageError, Verified, results_folder

_DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_LANGUAGES = ("python", "triton", "pytorch")
_OF_VARIABLE_AXES = (12, 6, 10)  # where there is no workload


class NotJudged(NothingRan):
    """What Assay cannot judge of this benchmark yet; the message says why."""


def _read(path: Path, what: str, keys: Sequence[str]) -> Dict[str, Any]:
    try:
        document = json.loads(path.read_text())
    except ValueError as error:
        raise WrongProblem(f"{path}: {error}") from None
    lacking = [k for k in keys if not isinstance(document, dict) or k not in document]
    if lacking:
        raise WrongProblem(f"{path} is no {what}: it has no {', '.join(lacking)}")
    return document


def _workloads(path: Optional[Path]) -> List[Dict[str, Any]]:
    """Of a file of lines, each a workload, or a trace that has one."""
    if path is None or not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [line.get("workload", line) for line in lines]


def _axes(definition: Dict[str, Any], workloads: Sequence[Dict[str, Any]], path: Path) -> Tuple[Dict[str, int], Dict[str, int]]:
    """Constant and variable ones with their sizes."""
    constant, variable = {}, []
    for name, axis in definition["axes"].items():
        if not name.isidentifier():
            raise WrongProblem(f"{path}: the axis {name!r} has no name of a variable")
        if axis.get("type") == "const":
            constant[name] = int(axis["value"])
        elif axis.get("type") == "var":
            variable.append(name)
        else:
            raise NotJudged(f"{path}: the axis {name} is of type {axis.get('type')!r}; const and var can be judged")
    known = [w["axes"] for w in workloads if all(n in w.get("axes", {}) for n in variable)]
    smallest = min(known, key=lambda a: sum(a[n] for n in variable), default=None) if variable else None
    return constant, {n: smallest[n] if smallest else _OF_VARIABLE_AXES[i % len(_OF_VARIABLE_AXES)] for i, n in enumerate(variable)}


def _dtype(definition: Dict[str, Any], path: Path) -> str:
    """The one dtype of its tensors."""
    tensors = {**definition["inputs"], **{f"result {n}": t for n, t in definition["outputs"].items()}}
    for name, t in tensors.items():
        if t["shape"] is not None and t["dtype"] not in _DTYPES:
            raise NotJudged(f"{path}: {name} is of dtype {t['dtype']}; tensors of {', '.join(_DTYPES)} can be judged, as nothing says which numbers others may have")
        if t["shape"] is None and name.startswith("result "):
            raise NotJudged(f"{path}: {name} is a number of Python; tensors can be judged")
    found = {t["dtype"] for t in definition["inputs"].values() if t["shape"] is not None}
    if len(found) != 1:
        raise NotJudged(f"{path}: its inputs are of {' and '.join(sorted(found)) or 'no dtype'}; those of one dtype can be judged")
    return _DTYPES[found.pop()]


def _input(name: str, spec: Dict[str, Any], workloads: Sequence[Dict[str, Any]], path: Path) -> str:
    """The expression that makes it."""
    if spec["shape"] is not None:
        return f"torch.rand({', '.join(spec['shape'])}{',' if len(spec['shape']) == 1 else ''}).to(torch.{spec['dtype']})" if spec["shape"] else \
            f"torch.rand(()).to(torch.{spec['dtype']})"
    values = [w["inputs"][name]["value"] for w in workloads if w.get("inputs", {}).get(name, {}).get("type") == "scalar"]
    if not values:
        raise NotJudged(f"{path}: the number {name} is in no workload")
    return f"type({values[0]!r})(\"{values[0]!r}\")" if type(values[0]) is int else repr(values[0])  # a text is not made smaller


@dataclass(frozen=True)
class _Problem:
    file: Path
    names: List[str]  # of inputs
    results: List[str]  # expressions that make room for each
    dtype: str


def _problem(definition: Dict[str, Any], workloads: Sequence[Dict[str, Any]], folder: Path, path: Path) -> _Problem:
    constant, variable = _axes(definition, workloads, path)
    dtype = _dtype(definition, path)
    names = list(definition["inputs"])
    inputs = [_input(n, definition["inputs"][n], workloads, path) for n in names]
    # A module of its own: this process may have imported another reference of that name.
    digest = hashlib.sha256(definition["reference"].encode()).hexdigest()[:12]
    stem = f"reference_of_{re.sub(r'[^A-Za-z0-9_]', '_', definition['name'])}_{digest}"
    (folder / f"{stem}.py").write_text(definition["reference"])
    lines = ["import torch", f"import {stem}", *(f"{n} = int(\"{v}\")" for n, v in constant.items()), *(f"{n} = {v}" for n, v in variable.items()),
             "class Model(torch.nn.Module):", f"    def forward(self, {', '.join(names)}):", f"        return {stem}.run({', '.join(names)})",
             "def get_inputs():", f"    return [{', '.join(inputs)}]"]
    file = folder / f"{re.sub(r'[^A-Za-z0-9_]', '_', definition['name'])}.py"
    file.write_text("\n".join(lines) + "\n")
    shaped = {axis: f"{n}.shape[{d}]" for n in names for d, axis in enumerate(definition["inputs"][n]["shape"] or [])}
    room = []
    for name, t in definition["outputs"].items():
        sizes = [shaped.get(axis, str(constant[axis]) if axis in constant else "") for axis in t["shape"]]
        if "" in sizes:
            raise NotJudged(f"{path}: no input has the axis of the result {name}")
        of = next(n for n in names if definition["inputs"][n]["shape"] is not None)
        room.append(f"torch.empty([{', '.join(sizes)}], dtype=torch.{t['dtype']}, device={of}.device)")
    return _Problem(file, names, room, dtype)


def _solution(solution: Dict[str, Any], problem: _Problem, folder: Path, path: Path) -> Path:
    """A file with ModelNew."""
    spec = solution["spec"]
    languages = spec.get("language", spec.get("languages", []))
    languages = [languages] if isinstance(languages, str) else languages
    if any(language not in _LANGUAGES for language in languages):
        raise NotJudged(f"{path}: its language is {' and '.join(languages)}; {', '.join(_LANGUAGES)} can be judged. Kernels in C are plugins (docs/your-kernel.md)")
    own = folder / re.sub(r"[^A-Za-z0-9_]", "_", solution["name"])
    for source in solution["sources"]:
        place = PurePosixPath(source["path"])
        if place.is_absolute() or ".." in place.parts:
            raise WrongProblem(f"{path}: the source {source['path']!r} lies outside of the solution")
        file = own / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source["content"])
    entry, separator, function = spec["entry_point"].partition("::")
    if not separator or not (own / entry).is_file():
        raise WrongProblem(f"{path}: entry_point {spec['entry_point']!r}: write FILE::FUNCTION with a file of its sources")
    given = ", ".join(problem.names)
    if spec.get("destination_passing_style", True):
        body = [f"        room = [{', '.join(problem.results)}]", f"        solution.{function}({given}, *room)", "        return tuple(room) if len(room) > 1 else room[0]"]
    else:
        body = [f"        return solution.{function}({given})"]
    # What a solution imports decides by which contract it is judged.
    imports = [f"import {m}" for m in ("triton",) if any(re.search(rf"^\s*(import|from) {m}\b", s["content"], re.M) for s in solution["sources"])]
    lines = ["import importlib.util", "import sys", "import torch", *imports, f"sys.path.insert(0, {str((own / entry).parent.absolute())!r})",
             f"spec = importlib.util.spec_from_file_location('solution_of_flashinfer', {str((own / entry).absolute())!r})",
             "solution = importlib.util.module_from_spec(spec)", "sys.modules[spec.name] = solution", "spec.loader.exec_module(solution)",
             "class ModelNew(torch.nn.Module):", f"    def forward(self, {given}):", *body]
    file = own.with_suffix(".model.py")
    file.write_text("\n".join(lines) + "\n")
    return file


def flashinfer(definition: Union[str, Path], solution: Union[str, Path, None] = None, *, workloads: Union[str, Path, None] = None,
               out: Union[str, Path, None] = None, **options: Any) -> Any:
    """Judges a solution by its definition's reference.

    Parameters
    ----------
    definition : path
        Its JSON, or a problem's folder of SOL-ExecBench, which has definition.json and workload.jsonl.
    solution : path, optional
        Its JSON. None: the reference's graph is returned, and nothing runs.
    workloads : path, optional
        Lines of JSON, of which the numbers of Python and the sizes of variable axes are taken. Without it, those of the folder are, or small sizes.
    out, options
        As of ``assay.kernelbench``: contract, seed, device, jobs, timeout, progress.

    Raises
    ------
    NotJudged
        Inputs of integers, of several dtypes or of f8; sizes that no reference can judge element by element; kernels in CUDA.
    WrongProblem, GraphError, UsageError, NothingRan
        As of ``assay.kernelbench``.

    Examples
    --------
    >>> assay.flashinfer("definitions/rmsnorm_h128.json", "solutions/mine.json").ok
    """
    path = Path(definition)
    if path.is_dir():
        workloads = workloads or path / "workload.jsonl"
        path = path / "definition.json"
    document = _read(path, "definition", ("name", "axes", "inputs", "outputs", "reference"))
    folder = (results_folder(out) / "flashinfer" / re.sub(r"[^A-Za-z0-9_]", "_", document["name"])).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    problem = _problem(document, _workloads(Path(workloads) if workloads else None), folder, path)
    if solution is None:
        return kernelbench(problem.file)
    described = _read(Path(solution), "solution", ("name", "definition", "spec", "sources"))
    if described["definition"] != document["name"]:
        raise WrongProblem(f"{solution} is for {described['definition']}, and {path} is {document['name']}")
    return kernelbench(problem.file, _solution(described, problem, folder, Path(solution)), dtypes=(problem.dtype,), out=out, **options)


@dataclass(frozen=True)
class Row:
    """A solution of a folder: "pass", "fault" or "not judged", and why."""

    definition: str
    solution: str
    verdict: str
    why: str

    def __str__(self) -> str:
        return f"{self.verdict:10}  {self.definition}  {self.solution}" + (f"\n            {self.why}" if self.why else "")


def of_folder(folder: Union[str, Path], **options: Any) -> List[Row]:
    """All solutions below a folder with `definitions`, `solutions` and `workloads`, each as `flashinfer` judges it."""
    folder = Path(folder)
    definitions = {json.loads(p.read_text()).get("name"): p for p in sorted(folder.glob("definitions/**/*.json"))}
    workloads = {p.stem: p for p in folder.glob("workloads/**/*.jsonl")}
    rows = []
    for path in sorted(folder.glob("solutions/**/*.json")):
        name = json.loads(path.read_text()).get("definition", "")
        try:
            if name not in definitions:
                raise WrongProblem(f"{folder} has no definition {name!r}")
            result: Verified = flashinfer(definitions[name], path, workloads=workloads.get(name), **options)
            first = result.failures[0] if result.failures else None
            rows.append(Row(name, path.stem, "pass" if result.ok else "fault", f"{first.case}: {first.detail}" if first else "" if result.ok else result.text.strip().splitlines()[-1]))
        except (WrongProblem, GraphError, UsageError, NothingRan) as error:
            rows.append(Row(name, path.stem, "not judged", str(error)))
    return rows


def main(words: Optional[Sequence[str]] = None) -> int:
    """The command ``python3 -m assay.flashinfer FOLDER``, or DEFINITION.json SOLUTION.json."""
    import argparse

    parser = argparse.ArgumentParser(prog="python3 -m assay.flashinfer", description=__doc__.split("\n\n")[2],
                                     epilog="Exit status: 0 no fault, 1 a fault was found, 2 wrong usage, 3 nothing could be judged.")
    parser.add_argument("place", metavar="FOLDER|DEFINITION.json")
    parser.add_argument("solution", metavar="SOLUTION.json", nargs="?")
    parser.add_argument("--out", help="folder for case files")
    flags = parser.parse_args(words)
    try:
        if flags.solution is not None:
            result = flashinfer(flags.place, flags.solution, out=flags.out)
            print(str(result).rstrip())
            return result.status
        rows = of_folder(flags.place, out=flags.out)
    except (WrongProblem, GraphError, UsageError, OSError) as error:
        print(f"assay: {error}", file=sys.stderr)
        return 2
    except NothingRan as error:
        print(f"assay: {error}", file=sys.stderr)
        return 3
    for row in rows:
        print(row)
    verdicts = [row.verdict for row in rows]
    print(f"{len(rows)} solutions: {verdicts.count('pass')} pass, {verdicts.count('fault')} at fault, {verdicts.count('not judged')} not judged")
    return 1 if "fault" in verdicts else 0 if "pass" in verdicts else 3


if __name__ == "__main__":
    raise SystemExit(main())
