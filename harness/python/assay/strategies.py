"""Strategies of hypothesis: calls of an operator, as `assay.cases` draws them.

    @given(assay.strategies.calls("add.Tensor"))
    def test_add(case):
        case.assert_right(my_add(*case.args, **case.kwargs))

Simple calls come first, so that what hypothesis shrinks to is simple: a scalar tensor, a few ones.
"""

from __future__ import annotations

from typing import Any, Sequence

from ._cases import cases


def calls(op: Any, *, dtypes: Sequence[str] = ("f32",), n: int = 250, seed: int = 0, tensors: str = "numpy") -> Any:
    """A strategy whose values are `assay.Case`.

    Parameters
    ----------
    n : int
        Of so many calls for each dtype hypothesis chooses.
    seed : int
        Of these calls. It is not hypothesis' own, so that a test is the same from run to run.
    """
    from hypothesis import strategies

    # Of several dtypes the simple calls together.
    by_dtype = [list(cases(op, dtypes=[d], n=n, seed=seed, tensors=tensors)) for d in ([dtypes] if isinstance(dtypes, str) else dtypes)]
    return strategies.sampled_from([case for together in zip(*by_dtype) for case in together])
