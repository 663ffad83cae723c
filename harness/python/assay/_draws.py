"""Which calls can show a fault: those of whose results the bounds decide nothing are left out before anything runs.

A norm of numbers so small that their squares vanish may be anything, and so may a softmax of sums that cancel. A row of `assay verify` of
which any result would pass for more than a hundredth of its elements does not pass; so calls are left out until fewer are.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

from ._program import program

_MOST_UNDECIDABLE = 0.01 / 2  # of a row (reports/row.h); the half of it, as a share is estimated by a few elements
_SECONDS = 10.0


def fields(clauses: str, dtype: str) -> str:
    """What a table of clauses says of one dtype, as --contract takes it."""
    found = []
    for line in clauses.splitlines():
        line = line.split(" -- ")[0].strip()
        dtypes, colon, rest = line.partition(": ")
        if not colon:
            found.append(line)
        elif dtype in dtypes.split(","):
            found.append(rest)
    return " ".join(found)


def _undecidable(cases: Sequence[str], graph: str, contract: str, seconds: float = _SECONDS) -> List[float]:
    """The share of each case, or nothing where that is not known."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = Path(folder, "graph")
        file.write_text(graph)
        words = [program(), "bounds", *cases, "--graph", str(file), "--contract", contract or "strict", "--json", "-"]
        try:
            answer = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=seconds)
            rows = json.loads(answer.stdout)["rows"] if answer.returncode == 0 else []
        except (subprocess.TimeoutExpired, ValueError):
            return []
    shares = {r["case"]: r["undecidable"] / max(1, r["elements"]) for r in rows}
    return [shares[c] for c in cases] if all(c in shares for c in cases) else []


def deciding(sizes: Sequence[Tuple[Sequence[str], int]], graph: str, contract: str, known: Dict[str, float]) -> Tuple[List[str], List[str]]:
    """Of cases of each size, the largest first, with the number of results: those that are left, and those that are left out. `known` has what
    was found of each kind of data in the smaller sizes, which stands for what takes too long to find out in larger ones."""
    texts: List[str] = []
    shares: List[float] = []
    weights: List[int] = []
    for cases, results in reversed(sizes):
        # In the smallest size it is worth the while to wait: nothing else stands for it.
        of_size = dict(zip(cases, _undecidable(cases, graph, contract, _SECONDS if known else 4 * _SECONDS)))
        known.update((_data(c), share) for c, share in of_size.items())
        texts += cases
        shares += [of_size.get(c, known.get(_data(c), 0.0)) for c in cases]
        weights += [results] * len(cases)
    worst_first = sorted(range(len(texts)), key=lambda i: -shares[i])
    results, unknown = sum(weights), sum(n * share for n, share in zip(weights, shares))
    out = set()
    while unknown > _MOST_UNDECIDABLE * results and len(out) < len(texts):
        i = worst_first[len(out)]
        out.add(i)
        results, unknown = results - weights[i], unknown - weights[i] * shares[i]
    if len(out) == len(texts):  # then the run says so
        return texts, []
    return [t for i, t in enumerate(texts) if i not in out], [t for i, t in enumerate(texts) if i in out]


def _data(case: str) -> str:
    return case.split(":data=")[1].split(":")[0]
