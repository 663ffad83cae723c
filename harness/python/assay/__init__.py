"""Assay proves that fast operator kernels are right, and says why when they are not.

    import assay
    assay.assert_right("mm", actual, a, b)     # raises AssertionError with the cause
    assay.check(my_softmax, "softmax.int")     # draws calls, and judges a kernel by them

There are no tolerances: each element is compared with a bound that is derived from the operator's definition.
"""

from ._errors import ArgumentError, ServerError, TooLarge, UnknownOperator, Vacuous
from ._judgement import Description, Diagnosis, Difference, Judgement
from ._program import NotInstalled
from ._audit import Audit, audit
from ._bench import Bench, bench
from ._cases import Case, Cases, case, cases
from .bisected import Bisected, bisect
from .flashinfer import NotJudged, flashinfer
from .graphs import Graph, GraphError, graph
from .judged import Bounds, assert_right, bounds, diagnose, diff, judge, ops
from .kernelbench import WrongProblem, kernelbench
from ._record import CannotRecord, Trace, record
from .kernels import kernel
from .verify import Failure, Interrupted, NothingRan, UsageError, Verified, check, verify



def __getattr__(name: str):
    """assay.torch and assay.strategies, which need other packages, when they are first asked for."""
    if name in ("strategies", "torch"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["ArgumentError", "Audit", "Bench", "Bisected", "Bounds", "CannotRecord", "Case", "Cases", "Description", "Diagnosis", "Difference", "Failure", "Graph", "GraphError", "Interrupted",
           "Judgement", "NothingRan", "NotInstalled", "NotJudged", "ServerError", "TooLarge", "Trace", "UnknownOperator", "UsageError", "Vacuous", "Verified",
           "WrongProblem", "assert_right", "audit", "bench", "bisect", "bounds", "case", "cases", "check", "diagnose", "diff", "flashinfer", "graph", "judge", "kernel", "kernelbench", "ops", "record", "verify"]
