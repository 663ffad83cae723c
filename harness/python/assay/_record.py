"""assay.record: what PyTorch computes in a block, call by call, in a trace as `assay record` writes it.

    with assay.record("trace.h5") as trace:
        model(x)
    trace.calls[0].name, trace.diagnose().ok
    $ assay bisect trace.h5 dump.npz

The recorder is that of `assay record` (record.py), in this process. Trace files are case files (docs/file-formats.md).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

from ._program import program

_LIMIT = 2 << 30  # bytes of tensors, as of `assay record`
_KEEPER = """
import os, shutil
words = open("/proc/self/cmdline").read().split("\\0")
if len(words) > 3 and words[2].endswith("/record.py"):
    here = os.path.dirname(__file__)
    shutil.copyfile(words[3], os.path.join(here, "operators"))
    with open(os.path.join(here, "script"), "w") as out:
        out.write(words[2])
    os._exit(1)
"""


class CannotRecord(RuntimeError):
    """Nothing can be recorded here, or the trace cannot be written; the message says why."""


@dataclass(frozen=True)
class Call:
    """A call of a trace.

    Attributes
    ----------
    name : str
        "features.0/convolution": of the module and the operator, with "#2" for the second of that name. A dump calls its result so.
    op, case : str
        The operator, and the text of the call.
    called : str
        PyTorch's operator, as "conv2d" is convolution.
    source : str
        "model.py:12", where the program called.
    """

    name: str
    op: str
    case: str
    called: str
    source: str


@dataclass(frozen=True)
class Diagnosed:
    """What `assay diagnose` says of a trace: whether PyTorch's own results are right, call by call."""

    text: str
    status: int
    answer: Dict[str, Any]

    @property
    def ok(self) -> bool:
        return self.status == 0

    def to_dict(self) -> Dict[str, Any]:
        return self.answer

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise TypeError("a result is no truth value: write `.ok`")


@functools.lru_cache(maxsize=None)
def _asked() -> tuple:
    """The operators as `assay record` gives them to its recorder, and where the recorder lies."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        # Of the interpreter that the program starts: it keeps what record.py is started with, and ends.
        Path(folder, "sitecustomize.py").write_text(_KEEPER)
        script = Path(folder, "nothing.py")
        script.touch()
        environment = {**os.environ, "ASSAY_TORCH_PYTHON": os.environ.get("ASSAY_TORCH_PYTHON") or sys.executable, "PYTHONPATH": folder}
        done = subprocess.run([program(), "record", str(script), "-o", str(Path(folder, "trace.h5"))], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env=environment, cwd=folder)
        try:
            return Path(folder, "operators").read_text(), str(Path(Path(folder, "script").read_text()).parent)
        except OSError:
            raise CannotRecord(f"`assay record` does not say which operators there are: {done.stderr.strip()}") from None


@contextlib.contextmanager
def _put_back(*places: Any) -> Iterator[None]:
    """Attributes that are set within, as they were before."""
    missing = object()
    before = [(holder, name, vars(holder).get(name, missing)) for holder, name in places]
    try:
        yield
    finally:
        for holder, name, value in before:
            if value is not missing:
                setattr(holder, name, value)
            elif name in vars(holder):
                delattr(holder, name)


class Trace:
    """A trace that is being written, or has been. `with` begins and ends it; os.fspath() of it is its file.

    Attributes
    ----------
    calls : list of Call
        What was recorded.
    passed, unknown : dict
        How many calls were not recorded, by the reason; and how many are of operators that Assay does not have, by their names.
    """

    _running: Optional["Trace"] = None

    def __init__(self, path: Union[str, Path], ops: Sequence[str], limit: int):
        self.path = Path(path).absolute()
        self.passed: Dict[str, int] = {}
        self.unknown: Dict[str, int] = {}
        self._ops, self._limit = list(ops), limit

    def __enter__(self) -> "Trace":
        try:
            import h5py  # noqa: F401
            import torch
        except ImportError as error:
            raise CannotRecord(f"assay.record needs PyTorch and h5py: {error}") from None
        if Trace._running is not None:
            raise CannotRecord(f"{Trace._running.path} is being recorded; one trace is recorded at a time")
        operators, folder = _asked()
        with _importable(folder):
            import case_file
            import record
            import recorded_copies
            import recorded_layers
            import recorded_modules
            import recorded_operators
            import recorded_program
        self._case_file = case_file
        self._partial, kept = f"{self.path}.{os.getpid()}.part", f"{self.path}.kept.h5"
        try:
            self._file = case_file.create_file(self._partial)
        except OSError as error:
            raise CannotRecord(f"{self.path} cannot be written: {error}") from None
        case_file.set_text(self._file, "format", "assay.case/1")
        case_file.set_text(self._file, "creator", "assay record")
        case_file.write_libraries(self._file)
        self._copies = recorded_copies.Kept(self._file, self._partial, kept)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as known:  # which the recorder reads at once
            known.write(operators)
            known.flush()
            self._recorder = record.Recorder(self._file, self._copies, recorded_operators.Operators(known.name), self._ops, self._limit)
        self._stack = contextlib.ExitStack()
        import _thread
        import threading

        self._stack.enter_context(_put_back((torch.Tensor, "as_subclass"), (torch.Tensor, "__new__"), (_thread, "start_new_thread"),
                                            (_thread, "start_new"), (threading, "_start_new_thread"), (threading, "_start_joinable_thread")))
        recorded_program.pass_subclasses()
        recorded_program.enter_in_threads(self._recorder)
        self._stack.callback(recorded_modules.watch(self._recorder.enter, self._recorder.leave))
        self._stack.callback(recorded_layers.watch(self._recorder))
        self._stack.enter_context(self._recorder)
        Trace._running = self
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """What was recorded before an exception is kept, and the exception goes on."""
        recorder = self._recorder
        self._stack.close()
        Trace._running = None
        recorder.close()
        recorder.memory.clear()
        recorder.parameters.clear()
        recorder.views.clear()
        self.passed, self.unknown = dict(recorder.passed), dict(recorder.unknown)
        lost = recorder.lost
        if lost is None:
            try:
                self._file.close()
                os.replace(self._partial, self.path)
            except (OSError, RuntimeError) as said:
                lost = said
        self._copies.remove()
        if lost is not None:
            with contextlib.suppress(OSError):
                os.remove(self._partial)
            raise CannotRecord(f"{self.path} cannot be written: {self._case_file.cannot_write(lost) or lost}")

    @property
    def calls(self) -> List[Call]:
        import h5py

        if Trace._running is self:
            raise CannotRecord(f"{self.path} is being recorded; its calls can be read after the block")
        with h5py.File(self.path, "r") as file:
            groups = file["calls"]
            ordered = sorted(groups, key=int)
            return [Call(*(groups[g].attrs[key].decode() for key in ("name", "op", "case", "called", "source"))) for g in ordered]

    def diagnose(self, *words: str) -> Diagnosed:
        """Whether PyTorch's results are right, call by call, by `assay diagnose`; `words` are more of its options."""
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            file = Path(folder, "diagnosis.json")
            done = subprocess.run([program(), "diagnose", str(self.path), *words, "--json", str(file)], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL)
            if done.returncode not in (0, 1):
                raise CannotRecord(done.stderr.strip() or f"assay diagnose ended with exit status {done.returncode}")
            return Diagnosed(done.stdout, done.returncode, json.loads(file.read_text()) if file.exists() else {})

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        if Trace._running is self:
            return f"{self.path}: being recorded"
        calls = self.calls
        lines = [f"{self.path}: {len(calls)} call{'' if len(calls) == 1 else 's'}: "
                 + ", ".join(f"{op} ({n})" if n > 1 else op for op, n in Counter(c.op for c in calls).most_common())]
        lines += [f"  {n} not recorded: {why}" for why, n in self.passed.items()]
        lines += [f"  Assay has no reference for {', '.join(self.unknown)}"] if self.unknown else []
        return "\n".join(lines)


@contextlib.contextmanager
def _importable(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def record(path: Union[str, Path] = "trace.h5", *, ops: Sequence[str] = (), limit: int = _LIMIT) -> Trace:
    """Records what PyTorch computes within a `with` block, on the CPU.

    Parameters
    ----------
    path
        The trace. A file that is there is replaced when the block ends.
    ops : list of str
        Only calls of these operators: shell globs on PyTorch's names or Assay's, as "conv*". None: all.
    limit : int
        Bytes of tensors; calls after that are counted, and not recorded.

    Returns
    -------
    Trace

    Raises
    ------
    CannotRecord
        Where PyTorch or h5py is missing, another trace is being recorded, or the file cannot be written.

    Examples
    --------
    >>> with assay.record("trace.h5") as trace: model(x)
    >>> [c.name for c in trace.calls]
    """
    return Trace(path, [ops] if isinstance(ops, str) else ops, limit)
