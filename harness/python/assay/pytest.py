"""The plugin for pytest: --assay-seed and --assay-out, and failures that say the call and the cause.

    @assay.cases("softmax.int", dtypes=["f32"], n=50)
    def test_softmax(case):
        case.assert_right(my_softmax(*case.args, **case.kwargs))

    $ pytest --assay-seed 7

pytest finds it by itself where the package is installed; in a source tree: `pytest -p assay.pytest`.
"""

from __future__ import annotations

import os
from typing import Any, List, Optional

from . import _cases


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("assay", "kernels judged by derived bounds")
    group.addoption("--assay-seed", type=int, default=None, metavar="N", help="seed of the calls that @assay.cases draws (default: 0)")
    group.addoption("--assay-out", default=None, metavar="DIR", help="folder for case files of failures (default: $ASSAY_OUT or assay-out)")


def pytest_configure(config: Any) -> None:
    # Calls are drawn while tests are collected, which comes after this.
    seed: Optional[int] = config.getoption("--assay-seed")
    if seed is not None:
        if seed < 0:
            raise config_error(f"--assay-seed {seed}: a seed is a whole number from 0")
        _cases.default_seed = seed
    out: Optional[str] = config.getoption("--assay-out")
    if out is not None:
        os.environ["ASSAY_OUT"] = os.path.abspath(out)


def config_error(text: str) -> Exception:
    import pytest

    return pytest.UsageError(text)


def pytest_report_header(config: Any) -> List[str]:
    return [f"assay: seed {_cases.default_seed}"]
