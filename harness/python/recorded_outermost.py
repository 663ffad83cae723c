"""Calls of outermost modules, as a program makes them: which there are, and what one of them was given.

A trace that is recorded of one of them (`assay record --call N`) has, beside `calls`,

    program/inputs/0, 1, ..    the tensors that the call was given, as they were then
    program (attribute call)   {"call": 1, "module": "Net", "arguments": [{"name": "x", "input": 0}, {"name": "mask", "value": "None"}]}
    program (attribute outermost)   what each of the first calls was given: ["Net(x f32[2x3x12x12])", ..]

Names are those of forward's arguments; of a tensor in a list, a tuple or a dictionary there, with its place: "states.0".
"""

import copy
import inspect
import json
import sys
import traceback

import torch

import case_file

MOST_LISTED = 20
LONGEST_VALUE = 60


def bound(module, args, kwargs):
    """(name, value) of what forward is given."""
    try:
        given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # forward's own affair: it may complain, and a script's has no signature
        given = {f"input{k}": v for k, v in enumerate(args)} | kwargs
    return list(flat(given.items()))


def flat(pairs):
    for name, value in pairs:
        if isinstance(value, (list, tuple)) and any(isinstance(v, (torch.Tensor, list, tuple, dict)) for v in value):
            names = getattr(value, "_fields", range(len(value)))
            yield from flat((f"{name}.{n}", v) for n, v in zip(names, value))
        elif isinstance(value, dict) and value:
            yield from flat((f"{name}.{n}", v) for n, v in value.items())
        else:
            yield name, value


def described(value):
    if isinstance(value, torch.Tensor) and value.dtype in case_file.NAMES:
        return case_file.value_text(value)
    text = f"{str(value.dtype)[6:]}{list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + ".."


def is_traced(pairs):
    """Whether an exporter calls the module, with tensors that have no numbers."""
    return torch._C._get_tracing_state() is not None or any(type(v).__name__ in ("FakeTensor", "FunctionalTensor") for _, v in pairs)


class Outermost:
    """`wanted` counts from 1. What it was given is kept in `file`; `keeps` says that the module itself is, too."""

    def __init__(self, file, wanted, keeps=False):
        self.file, self.wanted, self.keeps = file, wanted, keeps
        self.count, self.listed = 0, []
        self.inside = False  # whether the wanted one runs
        self.module = self.args = self.kwargs = None
        self.lost = ""  # why what it was given is not kept

    def enter(self, module, args, kwargs):
        """Before an outermost module is called; whether it is the wanted one."""
        pairs = bound(module, args, kwargs)
        if is_traced(pairs):
            return False
        self.count += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append(f"{type(module).__name__}({', '.join(f'{n} {described(v)}' for n, v in pairs)})")
        if self.count != self.wanted:
            return False
        try:
            self.write(module, pairs)
            if self.keeps:
                self.args, self.kwargs = copied(args), copied(kwargs)
                self.module = copy.deepcopy(module)
        except Exception as e:
            if case_file.cannot_write(e):
                raise
            self.lost = f"{type(e).__name__}: {e}"
        self.inside = True
        return True

    def leave(self):
        self.inside = False

    def write(self, module, pairs):
        group = case_file.create_group(self.file, "program")
        inputs = case_file.create_group(group, "inputs")
        arguments, n = [], 0
        for name, value in pairs:
            if isinstance(value, torch.Tensor) and value.dtype in case_file.NAMES and value.layout == torch.strided and not value.is_meta:
                case_file.write_tensor(inputs, str(n), value)
                arguments.append({"name": name, "input": n})
                n += 1
            else:
                arguments.append({"name": name, "value": described(value)})
        self.text("call", {"call": self.wanted, "module": type(module).__name__, "arguments": arguments})

    def text(self, name, value):
        case_file.set_text(self.file["program"], name, json.dumps(value))

    def close(self):
        """Before the file is closed: what else there was to choose from."""
        if "program" in self.file:
            self.text("outermost", self.listed)

    def export(self, path):
        """Writes the module as an engine's converter takes it: .onnx, or TorchScript. Returns why it could not."""
        if self.module is None:
            return self.lost or "the module could not be copied"
        try:
            with torch.no_grad():
                if path.endswith(".onnx"):
                    export_onnx(self.module, self.args, self.kwargs, path)
                else:
                    torch.jit.save(torch.jit.trace(self.module, self.args, check_trace=False), path)
            return ""
        except Exception as e:
            traceback.print_exc(file=sys.stderr)
            return f"{type(e).__name__}: {str(e).strip().partition(chr(10))[0]}"


def export_onnx(module, args, kwargs, path):
    names = [n for n, v in bound(module, args, kwargs) if isinstance(v, torch.Tensor)]
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        torch.onnx.export(module, tuple(args), path, kwargs=kwargs, input_names=names, dynamo=True, verbose=False)
    else:
        torch.onnx.export(module, (*args, kwargs) if kwargs else tuple(args), path, input_names=names)


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        parts = [copied(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return type(value)((k, copied(v)) for k, v in value.items())
    return value
