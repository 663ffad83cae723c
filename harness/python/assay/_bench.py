"""assay.bench: which of several functions is faster, on one call, with results that are right.

    r = assay.bench({"mine": f, "numpy": g}, "softmax.int", x, 1)
    print(r)
    r["mine"].ratio, r["mine"].low, r["mine"].high     # of its time to that of the first

Each function runs in a process that is forked from this one, and this one holds the clock. Inputs lie in memory that both have; between two
rounds this process changes them, and at the end it judges a result of the last data. So a function that does nothing, gives an earlier result
again or changes its own clock gains nothing.
"""

from __future__ import annotations

import mmap
import os
import pickle
import random
import statistics
import struct
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _worker
from ._errors import ArgumentError
from .judged import judge

_SHORTEST = 2e-3  # seconds that a batch of calls takes at least, so that asking for it costs next to nothing
_MOST_CALLS = 100_000
_RESAMPLES = 2000
_LEVEL = 0.99


@dataclass(frozen=True)
class Timed:
    """One function's times.

    Attributes
    ----------
    seconds : float
        Median of a call.
    ratio, low, high : float
        Of its time to that of the first function, over rounds in which both ran, with the interval that has the median in 99 of 100 runs.
    verdict : str
        Of a result; only "pass" makes a time mean something.
    """

    name: str
    seconds: float
    ratio: float
    low: float
    high: float
    verdict: str
    detail: str


@dataclass(frozen=True)
class Bench:
    """Times of several functions on one call."""

    op: str
    rounds: int
    rows: Tuple[Timed, ...]

    @property
    def ok(self) -> bool:
        """Whether every function was right."""
        return all(r.verdict == "pass" for r in self.rows)

    def __getitem__(self, name: str) -> Timed:
        return next(r for r in self.rows if r.name == name)

    def to_dict(self) -> Dict[str, Any]:
        return {"op": self.op, "rounds": self.rounds, "rows": [vars(r) for r in self.rows]}

    def __str__(self) -> str:
        width = max(len(r.name) for r in self.rows)
        lines = [f"{self.op}, {self.rounds} rounds; ratios to {self.rows[0].name} with {_LEVEL:.0%} intervals"]
        for r in self.rows:
            said = "" if r.verdict == "pass" else f"  NOT RIGHT: {r.verdict}: {r.detail}"
            lines.append(f"  {r.name:<{width}}  {_seconds(r.seconds):>10}  {r.ratio:8.3f}  [{r.low:.3f}, {r.high:.3f}]{said}")
        return "\n".join(lines)


def _seconds(s: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if s >= size:
            return f"{s / size:.3g} {unit}"
    return f"{s / 1e-9:.3g} ns"


class _Shared:
    """Inputs in memory that this process and the forked ones have."""

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: str):
        import numpy

        self._arrays: List[Any] = []
        self._tensors = tensors

        def shared(value: Any) -> Any:
            if isinstance(value, (list, tuple)) and any(hasattr(v, "shape") for v in value):
                return type(value)(shared(v) for v in value)
            if not hasattr(value, "shape"):
                return value
            array = value.detach().cpu().numpy() if hasattr(value, "detach") else numpy.asarray(value)
            memory = mmap.mmap(-1, max(1, array.nbytes))
            copy = numpy.ndarray(array.shape, array.dtype, memory)
            copy[...] = array
            self._arrays.append((copy, array.copy()))
            if tensors != "torch":
                return copy
            import torch

            return torch.from_numpy(copy)

        self.args = [shared(a) for a in args]
        self.kwargs = {k: shared(v) for k, v in kwargs.items()}

    def change(self, round_: int) -> None:
        """Other numbers, of the same kind: the given ones, turned around by some places. Whole numbers may be indices, and stay."""
        import numpy

        for copy, original in self._arrays:
            if copy.dtype.kind == "f" and copy.size > 1:
                copy.ravel()[...] = numpy.roll(original.ravel(), round_)


class _Child:
    """A forked process that calls one function when it is told to."""

    def __init__(self, name: str, function: Callable, shared: _Shared):
        self.name = name
        ours, theirs = os.pipe(), os.pipe()
        self._read, self._write = ours[0], theirs[1]
        self._process = os.fork()
        if self._process == 0:
            try:
                os.close(ours[0])
                os.close(theirs[1])
                _worker.one_thread()
                self._serve(function, shared, theirs[0], ours[1])
            finally:
                os._exit(1)
        os.close(ours[1])
        os.close(theirs[0])

    @staticmethod
    def _serve(function: Callable, shared: _Shared, read: int, write: int) -> None:
        result: Any = None
        while True:
            count = struct.unpack("q", os.read(read, 8))[0]
            try:
                if count < 0:
                    answer = pickle.dumps(("result", _plain(result)))
                else:
                    for _ in range(count):
                        result = function(*shared.args, **shared.kwargs)
                    answer = pickle.dumps(("done", None))
            except BaseException as error:
                answer = pickle.dumps(("error", f"{type(error).__name__}: {error}"))
            data = struct.pack("q", len(answer)) + answer
            while data:
                data = data[os.write(write, data):]

    def _ask(self, count: int) -> Any:
        os.write(self._write, struct.pack("q", count))
        size = struct.unpack("q", self._exactly(8))[0]
        kind, value = pickle.loads(self._exactly(size))
        if kind == "error":
            raise ArgumentError(f"{self.name} raised {value}")
        return value

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = os.read(self._read, size - len(data))
            if not part:
                raise ArgumentError(f"the process of {self.name} ended while it was timed")
            data += part
        return data

    def time(self, calls: int) -> float:
        begin = time.perf_counter()
        self._ask(calls)
        return time.perf_counter() - begin

    def result(self) -> Any:
        return self._ask(-1)

    def end(self) -> None:
        os.close(self._read)
        os.close(self._write)
        os.kill(self._process, 9)
        os.waitpid(self._process, 0)


def _plain(result: Any) -> Any:
    """A result as arrays, which go through a pipe; bf16 of torch goes as it is."""
    if isinstance(result, (list, tuple)):
        return [_plain(r) for r in result]
    return result.detach().cpu() if hasattr(result, "detach") else result


def _interval(ratios: List[float]) -> Tuple[float, float]:
    chance = random.Random(0)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    cut = int((1 - _LEVEL) / 2 * _RESAMPLES)
    return medians[cut], medians[-1 - cut]


def bench(functions: Mapping[str, Callable], op: Any, /, *args: Any, rounds: int = 40, contract: Optional[str] = None,
          tensors: Optional[str] = None, **kwargs: Any) -> Bench:
    """Times functions beside each other on one call of an operator, and judges what they give.

    Rounds are interleaved: in each, every function runs a batch of calls, in an order that changes. Functions run in forked processes with
    one thread each, on the processor.

    Parameters
    ----------
    functions : dict of str to callable
        The first is what the others are compared with.
    op : str or Graph
        By which results are judged; *args and **kwargs are its arguments, and what the functions are called with.
    rounds : int
        At least 10.
    contract : str, optional
        As of ``assay.judge``.
    tensors : {"numpy", "torch"}, optional
        What functions take. None: what the arguments are.

    Returns
    -------
    Bench

    Examples
    --------
    >>> import numpy
    >>> x = numpy.ones(100000, "f4")
    >>> r = assay.bench({"abs": lambda x: numpy.maximum(x, 0), "zero": lambda x: numpy.zeros_like(x)}, "relu", x, rounds=10)
    >>> r.ok, r["zero"].verdict
    (False, 'diverged')
    """
    if not functions:
        raise ArgumentError("functions is empty: give at least one, {\"mine\": f}")
    if rounds < 10:
        raise ArgumentError(f"rounds is {rounds}: an interval takes at least 10")
    of_torch = any(hasattr(a, "detach") for a in [*args, *kwargs.values()])
    shared = _Shared(args, kwargs, tensors or ("torch" if of_torch else "numpy"))
    children: List[_Child] = []
    try:
        for name, function in functions.items():
            children.append(_Child(name, function, shared))
        calls = {c.name: _calls(c) for c in children}
        asked = statistics.median(children[0].time(0) for _ in range(20))
        times: Dict[str, List[float]] = {c.name: [] for c in children}
        chance = random.Random(0)
        for round_ in range(rounds):
            shared.change(round_)
            for c in chance.sample(children, len(children)):
                times[c.name].append(max(0.0, c.time(calls[c.name]) - asked) / calls[c.name])
        verdicts = {}
        shared.change(rounds)
        for c in children:
            c.time(1)
            verdicts[c.name] = _verdict(op, c.result(), shared, contract)
    finally:
        for c in children:
            c.end()
    first = times[next(iter(functions))]
    rows = []
    for name in functions:
        ratios = [t / f if f > 0 else float("nan") for t, f in zip(times[name], first)]
        low, high = _interval(ratios)
        rows.append(Timed(name, statistics.median(times[name]), statistics.median(ratios), low, high, *verdicts[name]))
    return Bench(getattr(op, "name", str(op)), rounds, tuple(rows))


def _verdict(op: Any, result: Any, shared: _Shared, contract: Optional[str]) -> Tuple[str, str]:
    """Of a result of the present data, and what is wrong with it."""
    if result is None:
        return "no result", "it returned None"
    judged = judge(op, tuple(result) if isinstance(result, list) else result, *shared.args, contract=contract, **shared.kwargs)
    if judged.verdict in ("pass", "vacuous"):
        return "pass", ""
    return judged.verdict, str(judged.cause or "no known cause")


def _calls(child: _Child) -> int:
    """How many make a batch, after the first ones, in which functions compile and memory is fetched."""
    calls = 1
    child.time(1)
    while calls < _MOST_CALLS:
        took = child.time(calls)
        if took >= _SHORTEST:
            return calls
        calls = min(_MOST_CALLS, max(2 * calls, int(calls * 1.2 * _SHORTEST / max(took, 1e-9)) if took > _SHORTEST / 20 else 4 * calls))
    return calls
