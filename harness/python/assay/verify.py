"""assay.verify and assay.check: draw calls of an operator, run a function on them, judge each result.

    assay.check(my_softmax, "softmax.int")
    r = assay.verify(my_rms_norm, "_fused_rms_norm", dtypes=["bf16"], time=30)
    print(r, r.ok, r.cause)
"""

from __future__ import annotations

import html as _html
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ._forks import Forks, kernel_worker
from ._function import KernelOptions, name_of, plain
from ._kept import keep
from ._program import program
from ._progress import Watch

_FAULTS = ("suspicious", "wrongly_accepted", "wrongly_rejected", "unstable", "diverged", "memory", "timeout", "crashed")


class UsageError(ValueError):
    """The program did not take what was asked for; the message is the program's."""


class NothingRan(RuntimeError):
    """No call was judged, so nothing is known of the kernel; the message says why."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. `.result` is a Verified with what was judged until then, or None where that is nothing."""

    def __init__(self, result: "Optional[Verified]") -> None:
        super().__init__("interrupted" if result is None else f"interrupted; .result has what was judged until then:\n{result.text.rstrip()}")
        self.result = result


@dataclass(frozen=True)
class Failure:
    """A call that shows a fault, shrunk as far as it goes."""

    kind: str
    case: str
    detail: str
    cause: str
    replay: str  # a case file, or empty
    dtype: str
    impl: str

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.case}", f"  {self.detail}"]
        if self.cause:
            lines.append(f"  cause: {self.cause}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Verified:
    """What a run came to.

    Attributes
    ----------
    ok : bool
        No fault was found, and calls were judged.
    failures : list of Failure
        The smallest calls that show each fault.
    judged, refused : int
        Calls that were judged, and that the function said it does not support.
    """

    run: Dict[str, Any]
    text: str
    status: int
    failures: List[Failure] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def judged(self) -> int:
        return sum(r["judged"] for r in self.run["results"])

    @property
    def refused(self) -> int:
        return sum(r["counts"]["refused"] for r in self.run["results"])

    @property
    def cause(self) -> Optional[str]:
        """The cause of the first fault that has one."""
        return next((f.cause for f in self.failures if f.cause), None)

    def to_dict(self) -> Dict[str, Any]:
        """The run file, as `assay verify --json` writes it (docs/file-formats.md)."""
        return self.run

    def html(self) -> str:
        """A page for a browser, as `assay report` makes it."""
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            file, page = Path(folder, "run.json"), Path(folder, "run.html")
            file.write_text(json.dumps(self.run))
            subprocess.run([program(), "report", str(file), "--html", str(page)], check=True, stdout=subprocess.DEVNULL)
            return page.read_text()

    def _repr_html_(self) -> str:
        return f"<pre>{_html.escape(self.text)}</pre>"

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise TypeError("a result is no truth value: write `.ok`")


def spec_of(function: Callable, op: str) -> str:
    """OPERATOR=FILE.py:NAME, by which the command line finds the function; of one that has no file, what a report calls it."""
    inner = plain(function)
    name = getattr(inner, "__qualname__", name_of(function))
    module = sys.modules.get(getattr(inner, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    # Not what it wraps: of functools.partial(f, ...) the file has f alone.
    if file and file.endswith(".py") and found is function and "=" not in file:
        return f"{op}={os.path.abspath(file)}:{name}"
    return f"{op}=__main__:{''.join(c if c.isalnum() or c in '_.' else '_' for c in name)}"


def _options(function: Callable, op: Optional[str], contract: Optional[str], tensors: Optional[str], device: Optional[str],
             refuses: Optional[Callable], name: Optional[str]) -> KernelOptions:
    own = getattr(function, "__assay__", None) or KernelOptions()
    op = op or own.op
    if not op:
        raise TypeError(f"of which operator is {name_of(function)}? Give its name, as assay.ops() lists it, or write @assay.kernel(OPERATOR)")
    return KernelOptions(op, contract if contract is not None else own.contract, tensors or own.tensors, device or own.device,
                         refuses or own.refuses, name or own.name)


def _failures(run: Dict[str, Any]) -> List[Failure]:
    return [Failure(f["kind"], f["case"], f["detail"], f.get("diagnosis", ""), f.get("replay", ""), r["dtype"], r["impl"])
            for r in run["results"] for f in r["failures"]]


def verify(function: Callable, op: Union[str, Any, None] = None, *, dtypes: Optional[Sequence[str]] = None,
           cases: Union[int, Sequence[str], None] = None,
           seed: int = 0, time: Optional[float] = None, thorough: bool = False, contract: Optional[str] = None,
           tensors: Optional[str] = None, device: Optional[str] = None, refuses: Optional[Callable[..., Any]] = None,
           jobs: Optional[int] = None, timeout: Optional[float] = None, name: Optional[str] = None,
           out: Optional[Union[str, Path]] = None, shard: Optional[str] = None, strict_coverage: bool = False,
           executor: Optional[Any] = None, shards: Optional[int] = None,
           progress: Union[bool, Callable[[Any], Any], None] = None) -> Verified:
    """Draws calls of an operator, runs the function on them, and judges each result by a derived bound.

    The function runs in processes that are forked from this one, twice on each call: on memory that ends at a page that nobody may touch,
    and on memory that begins after one. What it writes, where it crashes and how long it takes harms nothing here.

    Parameters
    ----------
    function : callable
        Takes the operator's arguments in the schema's order, or by the schema's names, and returns the result or a tuple of results; or
        has a parameter ``out``, and writes there.
    op : str or Graph, optional
        The operator, as ``assay ops`` lists it; not needed after ``@assay.kernel``.
    dtypes : list of str, optional
        "f32", "bf16", ...; None: all of the operator's.
    cases : int or list of str, optional
        So many calls for each dtype, or these, as any report prints them. None: as many as a short run has.
    seed : int
        The same seed draws the same calls, here and on the command line.
    time : float, optional
        Seconds after which no further call begins.
    contract : str, optional
        What the numbers are worth; "strict": each operation rounded once. None: what libraries under Python do.
    tensors : {"numpy", "torch", "jax"}, optional
        What the function takes. None: torch's or jax's where its module has imported them, else NumPy's.
    device : str, optional
        "cuda": torch's tensors are moved there first. Guard pages are of the processor's memory alone.
    executor : concurrent.futures.Executor, optional
        Runs the calls in ``shards`` parts: pools of threads and processes, Dask's client, any other. A short run and ``time`` are each
        part's own; with ``cases``, the parts together judge the calls of one run. The function is imported where a part runs, or pickled.
    shards : int, optional
        None: as many as the executor says that it has workers.
    progress : bool or callable, optional
        True: a line on standard error says how far the run is. None: where that is a terminal, and in a notebook. A function is called with
        an object that has ``done``, ``total``, ``failures`` and ``seconds``. Of an executor's parts nothing is said.

    Returns
    -------
    Verified

    Raises
    ------
    UsageError
        For an operator, dtype or case that does not exist; the message names the nearest one.
    NothingRan
        Where no call was judged.
    Interrupted
        For Ctrl-C, within two seconds; ``.result`` has what was judged until then.

    Examples
    --------
    >>> def relu(x): return numpy.where(x > 0, x, 0)
    >>> assay.verify(relu, "relu", dtypes=["f32"], cases=20).failures[0].cause
    """
    if shards is not None and executor is None or shard and executor is not None:
        raise TypeError("shards=N goes with executor=..., and shard=\"I/N\" with neither")
    graph = getattr(op, "text", None)
    options = _options(function, getattr(op, "name", op), contract, tensors, device, refuses, name)
    spec = spec_of(function, options.op)
    if "=__main__:" in spec and executor is None:
        spec = keep(function, options, results_folder(out)) or spec
    files: Dict[str, str] = {}  # what the program reads, by names that stand in its words
    words = ["verify", options.op, "--python", spec, "--impl", "plugin:*"]
    if cases is None or isinstance(cases, int):
        words += ["--seed", str(seed)] + (["--cases", str(cases)] if cases is not None else ["--thorough"] if thorough else [])
    else:
        files["cases.txt"] = "".join(f"{c}\n" for c in cases)
        words += ["--cases-from", "cases.txt"]
    words += ["--dtype", ",".join(dtypes)] if dtypes else []
    words += ["--time", f"{time}s"] if time is not None else []
    if graph:
        files["graph.txt"] = graph
        words += ["--graph", "graph.txt"]
    words += ["--jobs", str(jobs)] if jobs else []
    words += ["--timeout", str(timeout)] if timeout else []
    words += ["--shard", shard] if shard else []
    words += ["--strict-coverage"] if strict_coverage else []
    results = results_folder(out)
    if executor is not None:
        from ._shards import spread  # which needs what is defined here

        return spread(executor, shards, function, options, spec, words, files, results)
    return run_program(words, files, results, [(function, options)], spec, progress)


def results_folder(out: Optional[Union[str, Path]]) -> Path:
    """Where case files go."""
    return Path(out or os.environ.get("ASSAY_OUT") or "assay-out")


def run_program(words: List[str], files: Dict[str, str], results: Path, kernels: Sequence[Tuple[Callable, KernelOptions]], name: str,
                progress: Union[bool, Callable[[Any], Any], None] = None) -> Verified:
    """`assay verify` with these words, some of which are names of the files, on functions of this process, each for an operator of its own."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = Path(folder, "run.json")
        for named, contents in files.items():
            Path(folder, named).write_text(contents)
        words = [program(), *(str(Path(folder, w)) if w in files else w for w in words), "--json", str(file), "--out", str(results)]
        with tempfile.TemporaryFile("w+") as text, tempfile.TemporaryFile("w+") as complaints:
            watch = Watch(progress, kernels[0][1].op or name, results, words)
            interrupted = False
            try:
                with Forks(kernel_worker(kernels, name)) as forks:
                    status = forks.run(words, text, complaints, {"ASSAY_PYTHON": sys.executable}, meanwhile=watch)
            except KeyboardInterrupt:
                interrupted, status = True, 130
            finally:
                watch.close()
            text.seek(0)
            complaints.seek(0)
            said = complaints.read().strip()
            if interrupted and not file.exists():
                raise Interrupted(None)
            if not file.exists():
                raise (UsageError if status == 2 else NothingRan)(said or f"assay verify ended with exit status {status}")
            run = json.loads(file.read_text())
            result = Verified(run, text.read(), status, _failures(run))
    if interrupted:
        raise Interrupted(result)
    if status == 3:
        raise NothingRan(f"{said}\n{result.text}".strip())
    return result


def check(function: Callable, op: Union[str, Any, None] = None, **options: Any) -> Verified:
    """As ``verify``, and raises AssertionError with the causes where a fault was found.

    Examples
    --------
    >>> assay.check(my_softmax, "softmax.int", dtypes=["f32"])
    """
    __tracebackhide__ = True  # of pytest
    result = verify(function, op, **options)
    if not result.ok:
        raise AssertionError(result.text.rstrip())
    return result
