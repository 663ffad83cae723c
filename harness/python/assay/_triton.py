"""Triton's interpreter on memory that may not be written.

The interpreter runs a kernel on tensors of the processor, in Python: no GPU is needed. After each call it copies every argument back to
where it came from. On the processor that is where it lies already, and inputs may not be written here: those copies are left out.
"""

from __future__ import annotations

import sys


def _off_the_processor(argument) -> bool:
    if isinstance(argument, (tuple, list)):
        return any(map(_off_the_processor, argument))
    argument = getattr(argument, "base", None) if not hasattr(argument, "data_ptr") else argument
    device = getattr(argument, "device", None)
    return device is not None and getattr(device, "type", "cpu") != "cpu"


def prepare() -> None:
    """Does nothing where the interpreter is not loaded, or loaded and prepared."""
    interpreter = sys.modules.get("triton.runtime.interpreter")
    executor = getattr(interpreter, "GridExecutor", None)
    restore = getattr(executor, "_restore_args_dev", None)
    if restore is None or getattr(restore, "by_assay", False):
        return

    def restore_what_was_copied(self, args_dev, args_hst, kwargs, kwargs_hst):
        if _off_the_processor(list(args_dev)) or _off_the_processor(list(kwargs.values())):
            restore(self, args_dev, args_hst, kwargs, kwargs_hst)

    restore_what_was_copied.by_assay = True
    executor._restore_args_dev = restore_what_was_copied
    import torch

    if not hasattr(torch.Tensor, "untyped_storage"):  # torch 1.13 has it under another name
        torch.Tensor.untyped_storage = lambda self: self.storage().untyped()
