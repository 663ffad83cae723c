"""One run on many machines: an executor of concurrent.futures runs each part, and the parts are joined.

    assay.verify(my_softmax, "softmax.int", cases=1000, executor=pool, shards=8)

Each task is one `assay verify --shard I/N` where the executor runs it, with the program and the interpreter of that machine. Its run file
and its case files come back as the task's result, so that the machines need no folder in common. `assay merge` joins the run files.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from ._forks import Forks, kernel_worker
from ._function import KernelOptions, name_of
from ._program import program
from .verify import NothingRan, UsageError, Verified, _failures, spec_of


@dataclass(frozen=True)
class Task:
    """What a shard needs where it runs. `function` is None where the command line finds the function by its spec."""

    words: List[str]
    inputs: Dict[str, str]  # files by the names that stand in the words
    spec: str
    function: Optional[Callable]
    options: Optional[KernelOptions]


@dataclass(frozen=True)
class Part:
    """What a shard came to."""

    run: Dict[str, Any]
    files: Dict[str, bytes]  # case files by their names


def travels_by_name(function: Callable, options: KernelOptions) -> bool:
    """Whether OPERATOR=FILE.py:NAME means this function as it is to be called.

    A function of the program's own file does not travel so: loading that file elsewhere would run the program again. Nor does one that is
    to be called with other options than those that it declares, which the command line would not know.
    """
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if module is None or module.__name__ == "__main__" or "=__main__:" in spec_of(function, options.op or ""):
        return False
    declared = getattr(function, "__assay__", None) or KernelOptions()
    return dataclasses.replace(declared, op=options.op) == options


def run_shard(task: Task, shard: str) -> Part:
    """Runs in the executor. Raises UsageError, and NothingRan where the program left no run file."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file, out = Path(folder, "run.json"), Path(folder, "out")
        words = [program(), *task.words, "--shard", shard, "--json", str(file), "--out", str(out)]
        # The program runs in this folder, so that the words of all parts are the same, as `assay merge` asks.
        for name, contents in task.inputs.items():
            Path(folder, name).write_text(contents)
        with tempfile.TemporaryFile("w+") as complaints:
            if task.function is None:
                # The interpreter that the program starts finds what this one would.
                found = {"ASSAY_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
                status = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints,
                                        env={**os.environ, **found}, cwd=folder).returncode
            else:
                with open(os.devnull, "w") as nowhere, Forks(kernel_worker([(task.function, task.options)], task.spec)) as forks:
                    status = forks.run(words, nowhere, complaints, {"ASSAY_PYTHON": sys.executable}, folder)
            complaints.seek(0)
            said = complaints.read().strip()
        if not file.exists():
            raise (UsageError if status == 2 else NothingRan)(said or f"shard {shard}: assay verify ended with exit status {status}")
        return Part(json.loads(file.read_text()), {f.name: f.read_bytes() for f in out.glob("*.h5")})


def _free(path: Path) -> Path:
    """The path, or the first of path-2, path-3, ... that is not there yet."""
    n, free = 2, path
    while free.exists():
        free = path.with_name(f"{path.stem}-{n}{path.suffix}")
        n += 1
    return free


def _unpack(part: Part, out: Path) -> Dict[str, Any]:
    """The part's run, whose case files now lie in `out`."""
    for row in part.run["results"]:
        for failure in row["failures"]:
            contents = part.files.get(Path(failure.get("replay") or "").name)
            if contents is not None:
                place = _free(out / Path(failure["replay"]).name)
                place.write_bytes(contents)
                failure["replay"] = str(place)
    return part.run


def _join(parts: Sequence[Part], out: Path) -> Verified:
    out.mkdir(parents=True, exist_ok=True)
    joined = out / "run.json"
    if joined.exists():
        joined.rename(_free(joined))
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        files = [Path(folder, f"shard-{i}.json") for i in range(1, len(parts) + 1)]
        for file, part in zip(files, parts):
            file.write_text(json.dumps(_unpack(part, out)))
        merged = subprocess.run([program(), "merge", *map(str, files), "-o", str(joined)], capture_output=True, text=True)
    said = merged.stderr.strip()
    if merged.returncode == 2:
        raise UsageError(said)
    if merged.returncode == 3:
        raise NothingRan(f"{said}\n{merged.stdout}".strip())
    run = json.loads(joined.read_text())
    return Verified(run, merged.stdout + (f"{said}\n" if said else ""), merged.returncode, _failures(run))


def _cannot_be_sent(function: Callable, options: KernelOptions) -> Optional[Exception]:
    try:
        pickle.dumps((function, options))
    except Exception as error:
        return error
    return None


def _shards(executor: Any, shards: Optional[int]) -> int:
    number = shards if shards is not None else getattr(executor, "_max_workers", None)
    if not isinstance(number, int) or number < 1:
        raise TypeError(f"shards={shards!r}: into how many parts? {type(executor).__name__} does not say how many workers it has"
                        if shards is None else f"shards={shards!r}: write a number from 1")
    return number


def spread(executor: Any, shards: Optional[int], function: Callable, options: KernelOptions, spec: str, words: List[str],
           inputs: Dict[str, str], out: Path) -> Verified:
    """Runs `words` of `assay verify` in parts, and joins them. Raises what `verify` raises, and TypeError where the function cannot be sent."""
    if hasattr(executor, "get_executor"):  # a client of Dask
        executor = executor.get_executor()
    number = _shards(executor, shards)
    by_name = travels_by_name(function, options)
    task = Task(words, inputs, spec, None if by_name else function, None if by_name else options)
    futures: List[Any] = []
    try:
        for i in range(1, number + 1):
            futures.append(executor.submit(run_shard, task, f"{i}/{number}"))
        parts = [f.result() for f in futures]
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if by_name or _cannot_be_sent(function, options) is None:
            raise
        raise TypeError(f"{type(executor).__name__} cannot send {name_of(function)}: {error}. A function that another module has (def at the "
                        "top of a file that is imported) is sent by its name; one of the program itself, a lambda or a method is pickled. "
                        "Dask's executor pickles more of them, and one of threads sends nothing") from error
    finally:
        for f in futures:
            f.cancel()
    return _join(parts, out)
