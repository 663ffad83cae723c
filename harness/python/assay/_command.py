"""The command `assay` of an installed package: becomes the program.

What the program runs in Python is run by this interpreter, unless ASSAY_TORCH_PYTHON names another one for `assay record` and `assay
graph`, or ASSAY_PYTHON for kernels.
"""

from __future__ import annotations

import os
import sys

from . import _program


def environment() -> dict[str, str]:
    """The variables that the package's program shall have. Another one knows its Python, which PyTorch's worker is linked with."""
    variables = dict(os.environ)
    if sys.executable and _program.is_packaged() and not variables.get("ASSAY_PROGRAM"):
        variables.setdefault("ASSAY_TORCH_PYTHON", sys.executable)
        variables.setdefault("ASSAY_PYTHON", sys.executable)
    return variables


def main() -> None:
    try:
        program = _program.program()
    except _program.NotInstalled as e:
        sys.exit(f"assay: {e}")
    os.execve(program, ["assay", *sys.argv[1:]], environment())
