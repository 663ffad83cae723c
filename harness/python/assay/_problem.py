"""A problem of KernelBench, at sizes that a reference can judge.

    for size in sizes_of("level1/19_ReLU.py"): size.model(*size.inputs)

Whole numbers of the file and of its get_inputs() and get_init_inputs() are halved until none is above a limit. That keeps what divides
what, mostly; where it does not, Model does not run, and the limit is passed over.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import traceback
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

_LIMITS = (5, 8, 16, 32, 64)
_MOST_ELEMENTS = 1 << 18  # of all inputs, parameters and results together
_MOST_OF_THE_SMALLEST = 1 << 20
_MOST_PRODUCTS = 1 << 22


class WrongProblem(ValueError):
    """The file is no problem or no solution of KernelBench; the message says what it lacks."""


class _Smaller(ast.NodeTransformer):
    """Numbers are counted in the order in which they are met; `apart` has others for some of them."""

    def __init__(self, limit: int, apart: Dict[int, int]):
        self.limit, self.apart = limit, apart
        self.met: List[int] = []  # as they were

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is not int:
            return node
        self.met.append(node.value)
        value = self.apart.get(len(self.met) - 1, node.value)
        while value > self.limit and len(self.met) - 1 not in self.apart:
            value //= 2
        return ast.copy_location(ast.Constant(value), node)


def _smaller(tree: ast.Module, limit: int, apart: Dict[int, int]) -> List[int]:
    """The numbers that were there."""
    change = _Smaller(limit, apart)
    for i, node in enumerate(tree.body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) or isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs"):
            tree.body[i] = ast.fix_missing_locations(change.visit(node))
    return change.met


def parsed(path: str) -> ast.Module:
    try:
        return ast.parse(Path(path).read_text(), path)
    except SyntaxError as error:
        raise WrongProblem(f"{path}:{error.lineno}: {error.msg}") from None
    except ValueError as error:  # of bytes that are no text
        raise WrongProblem(f"{path} is no Python file: {error}") from None


def executed(tree: ast.AST, path: str, name: str, needs: Sequence[str]) -> types.ModuleType:
    """The file, as a module that has these names."""
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    folder = str(Path(path).absolute().parent)
    if folder not in sys.path:  # as a program that is run: what lies beside it can be imported
        sys.path.insert(0, folder)
    exec(compile(tree, path, "exec"), module.__dict__)
    for n in needs:
        if not hasattr(module, n):
            raise WrongProblem(f"{path} has no {n}")
    return module


def said(error: BaseException, path: str) -> str:
    """An exception of a file, with the last of its lines that led to it."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return f"{path}{f':{lines[-1]}' if lines else ''}: {type(error).__name__}: {error}"


def init_inputs(module: types.ModuleType) -> Tuple[list, dict]:
    """Positional and named arguments of Model."""
    given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    if isinstance(given, dict):
        return [], given
    if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
        return list(given[0]), given[1]
    return list(given), {}


def identifier(name: str) -> str:
    """As a graph calls a parameter."""
    word = re.sub(r"\W", "_", name)
    return word if word[:1].isalpha() or word[:1] == "_" else "_" + word


@dataclass
class Held:
    """A tensor of a module."""

    tensor: Any
    places: List[Tuple[Any, str]] = field(default_factory=list)  # (module, name there); several of a tensor that modules share

    @property
    def shape(self) -> Tuple[int, ...]:
        return tuple(self.tensor.shape)

    def become(self, value: Any) -> None:
        import torch

        for module, name in self.places:
            if name in module._parameters:
                module._parameters[name] = torch.nn.Parameter(value, requires_grad=False)
            elif name in module._buffers:
                module._buffers[name] = value
            else:
                vars(module)[name] = value


def made(build: Callable[[], Any]) -> Any:
    """The module that it builds, which knows in which order it was given its tensors: modules themselves list their own before those of others."""
    import torch

    order: List[Any] = []  # the tensors, so that no other one gets the id of one that is gone
    kept = {name: getattr(torch.nn.Module, name) for name in ("__setattr__", "register_parameter", "register_buffer")}

    def noting(name: str) -> Callable:
        def noted(module: Any, key: str, value: Any = None, *more: Any, **options: Any) -> Any:
            order.append(value)
            return kept[name](module, key, value, *more, **options)

        return noted

    for name in kept:
        setattr(torch.nn.Module, name, noting(name))
    try:
        model = build()
    finally:
        for name, own in kept.items():
            setattr(torch.nn.Module, name, own)
    ranks = {id(v): i for i, v in reversed(list(enumerate(order))) if isinstance(v, torch.Tensor)}
    vars(model)["_assay_order"] = order, ranks
    return model


def state(model: Any) -> Dict[str, Held]:
    """Parameters, buffers and other tensors of a module, by the names that a graph has for them, in the order in which they were made."""
    import torch

    found: Dict[str, Held] = {}
    known: Dict[int, Held] = {}
    ranks = vars(model).get("_assay_order", ([], {}))[1]

    def own(module: Any) -> Iterator[Tuple[str, Any]]:
        yield from module._parameters.items()
        yield from module._buffers.items()
        yield from vars(module).items()

    for prefix, module in model.named_modules():
        for name, tensor in own(module):
            if not isinstance(tensor, torch.Tensor):
                continue
            held = known.setdefault(id(tensor), Held(tensor))
            held.places.append((module, name))
            if len(held.places) == 1:
                found[identifier(f"{prefix}.{name}" if prefix else name)] = held
    return dict(sorted(found.items(), key=lambda item: ranks.get(id(item[1].tensor), len(ranks))))


@dataclass
class Size:
    """The problem at one size."""

    module: types.ModuleType
    tree: ast.Module
    model: Any
    inputs: list
    elements: int  # of inputs, parameters and results
    results: int = 0  # elements of them
    products: int = 0  # that the layers of Model add up

    def shapes(self) -> List[Any]:
        return [tuple(v.shape) if hasattr(v, "shape") else v for v in self.inputs] + [h.shape for h in state(self.model).values()]


def _tensors(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _tensors(v)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _at(tree: ast.Module, path: str, limit: int) -> Size:
    import torch

    module = executed(tree, path, f"problem_{limit}", ("Model", "get_inputs"))
    positional, named = init_inputs(module)
    model = made(lambda: module.Model(*positional, **named)).eval()
    inputs = list(module.get_inputs())
    size = Size(module, tree, model, inputs, sum(t.numel() for t in [*_tensors(inputs), *(h.tensor for h in state(model).values())]))
    if size.elements > _MOST_OF_THE_SMALLEST:
        return size

    def count(layer: Any, given: Any, result: Any) -> None:
        weight = getattr(layer, "weight", None)
        if isinstance(weight, torch.Tensor) and weight.dim() > 1:
            of = given if "Transpose" in type(layer).__name__ else result
            size.products += sum(t.numel() for t in _tensors(of)) * weight[0].numel()

    handles = [m.register_forward_hook(count) for m in model.modules()]
    try:
        with torch.no_grad():
            size.results = sum(t.numel() for t in _tensors(model(*inputs)))
    finally:
        for handle in handles:
            handle.remove()
    size.elements += size.results
    return size


def _near(path: str, limit: int) -> Optional[Size]:
    """Where halving has parted what belongs together: with one number halved less often, or more often."""
    for i, number in enumerate(_smaller(parsed(path), limit, {})):
        others = [number >> k for k in range(max(number, 1).bit_length()) if number >> k <= _LIMITS[-1]]
        for other in sorted(others, key=lambda n: abs(n - limit)):
            tree = parsed(path)
            _smaller(tree, limit, {i: other})
            with contextlib.suppress(Exception):
                return _at(tree, path, limit)
    return None


def sizes_of(path: str) -> List[Size]:
    """At most three, the largest first. Raises WrongProblem, OSError."""
    found: List[Size] = []
    why = ""
    before = None
    for limit in _LIMITS:  # from the smallest on: the others may be too large for this machine
        tree = parsed(path)
        _smaller(tree, limit, {})
        if ast.dump(tree) == before:
            break
        before = ast.dump(tree)
        try:
            size: Optional[Size] = _at(tree, path, limit)
        except WrongProblem:
            raise
        except Exception as error:  # of sizes that do not go together
            why = why or said(error, path)
            size = _near(path, limit)
        if size is None:
            continue
        if size.elements > (_MOST_ELEMENTS if found else _MOST_OF_THE_SMALLEST) or found and size.products > _MOST_PRODUCTS:
            why = why or (f"{path}: Model, its inputs and its results have {size.elements:,} elements at the least; {_MOST_OF_THE_SMALLEST:,} "
                          "can be judged")
            break
        if not found or size.shapes() != found[-1].shapes():
            found.append(size)
    if not found:
        raise WrongProblem(why)
    return [found[i] for i in sorted({0, len(found) // 2, len(found) - 1}, reverse=True)]
