"""assay.audit: what a test's own data and tolerance would let pass.

    print(assay.audit("softmax.int", x, 1, rtol=1e-2, atol=1e-2))
"""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from . import _server
from ._errors import ArgumentError
from ._judgement import _Shown
from ._tensors import Parts, call

_SHOWN = 12


class Audit(_Shown):
    """Faults of an operator, made on a test's data and compared with its tolerance.

    Attributes
    ----------
    let_pass : list of (name, text)
        Wrong by the derived bound, and within the tolerance: the test would pass.
    invisible : list of (name, text)
        The results are the right ones, to the bit: no comparison can show these on this data.
    rejected : int
        How many the test would see.
    within_bounds : list of (name, text)
        A conforming kernel may give these results, too; they are no faults here.
    not_tried : int
        For want of time.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)

        def faults(key: str) -> List[Tuple[str, str]]:
            return [(f["name"], f["says"]) for f in answer[key]]

        self.op: str = answer["op"]
        self.rtol: float = answer["relative"]
        self.atol: float = answer["absolute"]
        self.rejected: int = answer["rejected"]
        self.let_pass, self.invisible, self.within_bounds = faults("let_pass"), faults("invisible"), faults("within_bounds")
        self.not_tried: int = answer["not_tried"]

    @property
    def ok(self) -> bool:
        """Whether the tolerance lets no fault pass that this data shows."""
        return not self.let_pass

    def _title(self) -> str:
        return f"{self.op}: what rtol={self.rtol:g}, atol={self.atol:g} lets pass"

    def __str__(self) -> str:
        shown = self.rejected + len(self.let_pass)
        lines = [f"{self.op} under rtol={self.rtol:g}, atol={self.atol:g}: of {shown} faults that change this result beyond its bound, "
                 f"{len(self.let_pass)} would pass."]
        lines += [f"  {says} ({name})" for name, says in self.let_pass[:_SHOWN]]
        lines += [f"  and {len(self.let_pass) - _SHOWN} more"] if len(self.let_pass) > _SHOWN else []
        lines.append(f"{len(self.invisible)} faults cannot show on this data, whatever compares it"
                     + (f": {', '.join(n for n, _ in self.invisible[:_SHOWN])}" + (", ..." if len(self.invisible) > _SHOWN else "") if self.invisible else "") + ".")
        if self.within_bounds:
            lines.append(f"{len(self.within_bounds)} change the result by no more than a conforming kernel may.")
        if self.not_tried:
            lines.append(f"{self.not_tried} were not tried, for want of time.")
        return "\n".join(lines)


def audit(op: Any, /, *args: Any, rtol: Optional[float] = None, atol: Optional[float] = None, contract: Optional[str] = None,
          seconds: float = 30, **kwargs: Any) -> Audit:
    """Makes every known fault of an operator on a test's own data, and compares each as the test does.

    Parameters
    ----------
    op : str or Graph
        The operator; *args and **kwargs are what the test calls it with.
    rtol, atol : float
        As of numpy.testing.assert_allclose: |actual - right| <= atol + rtol |right| passes. One that is not given is 0.
    contract : str, optional
        What a right kernel may do; None: what common libraries do.
    seconds : float
        For all faults together.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy
    >>> x = numpy.random.default_rng(0).random((4, 1000), "f4")
    >>> "zeros" in dict(assay.audit("softmax.int", x, 1, rtol=1e-2, atol=1e-2).let_pass)
    True
    """
    if rtol is None and atol is None:
        raise ArgumentError("rtol and atol: give the tolerance of the test, rtol=1e-2, atol=1e-2")
    tolerances = {"rtol": rtol or 0, "atol": atol or 0}
    for name, value in tolerances.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            raise ArgumentError(f"{name}={value!r}: a tolerance is a number from 0")
    parts = Parts()
    request = {"do": "audit", **call(op, args, kwargs, parts), "contract": contract or "", "seconds": seconds, "relative": tolerances["rtol"], "absolute": tolerances["atol"]}
    return Audit(_server.ask(request, parts.memory)[0])
