"""Whether a model gives the same when its intermediate results are outputs, too, as it does as the user runs it."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy

FAR = 1e-3  # of the largest number: which of two runs is looked at, and no verdict


def distance(outputs: Dict[str, Any], results: Dict[str, Any]) -> Tuple[float, str]:
    """The largest difference in terms of the largest number of its output, and how that is said; 0 where all bits are the same."""
    most, said = 0.0, ""
    for name, a in outputs.items():
        b = results.get(name)
        if b is None or getattr(a, "shape", None) != b.shape or a.tobytes() == b.tobytes():
            continue
        x, y = numpy.asarray(a, numpy.float64), numpy.asarray(b, numpy.float64)
        with numpy.errstate(all="ignore"):
            largest = float(numpy.max(numpy.abs(x[numpy.isfinite(x)]), initial=0)) or 1.0
            difference = numpy.where((x == y) | numpy.isnan(x) & numpy.isnan(y), 0, numpy.abs(x - y))
            far = float(numpy.nan_to_num(numpy.max(difference), nan=numpy.inf)) / largest
        if far >= most:
            most, said = max(far, 5e-324), f"another {name} (by up to {far:.2g} of its largest number)"
    return most, said
