"""ModelNew of a file, as the kernel of a problem's graph: what Model has as inputs and parameters are its arguments."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from ._problem import Held, Size, WrongProblem, executed, init_inputs, made, parsed, said, state


def _texts(state_: Dict[str, Held]) -> str:
    return ", ".join(f"{n} [{'x'.join(map(str, h.shape))}]" for n, h in state_.items()) or "none"


def paired(needed: Sequence[str], ours: Dict[str, Held], theirs: Dict[str, Held], path: str = "the solution") -> Dict[str, Held]:
    """What in ModelNew is each parameter of Model: by name, else in the order in which they are made, else by a shape that no other has."""
    pairs = {n: theirs[n] for n in ours if n in theirs and theirs[n].shape == ours[n].shape}
    # Counters of batches go into no result, and other modules have none.
    rest = {n: h for n, h in ours.items() if n not in pairs and (n in needed or h.tensor.is_floating_point())}
    free = {n: h for n, h in theirs.items() if n not in pairs and h.tensor.is_floating_point()}
    if [h.shape for h in rest.values()] == [h.shape for h in free.values()]:
        pairs.update(zip(rest, free.values()))
    else:
        for n, h in rest.items():
            alike = [f for f in free.values() if f.shape == h.shape]
            if len(alike) == 1 and sum(o.shape == h.shape for o in rest.values()) == 1:
                pairs[n] = alike[0]
    lacking = {n: ours[n] for n in needed if n not in pairs}
    if lacking:
        raise WrongProblem(f"{path}: ModelNew has nothing for the parameters {_texts(lacking)} of Model, which are given to both; it has "
                           f"{_texts(theirs)}. Give its parameters the names of Model's, or make as many in the same order")
    return pairs


def as_small(tree: ast.Module, size: Size) -> ast.Module:
    """With the problem's own numbers as they are at this size, where the solution has copied the lines that say them."""
    lines = zip(parsed(size.module.__file__).body, size.tree.body)
    smaller = {ast.dump(line): new for line, new in lines if isinstance(line, (ast.Assign, ast.AnnAssign))}
    tree.body = [smaller.get(ast.dump(line), line) for line in tree.body]
    return tree


class Solution:
    """ModelNew at those sizes that have one graph."""

    def __init__(self, path: str, sizes: Sequence[Size], shapes: Sequence[Dict[str, tuple]], places: Dict[str, int], device: Optional[str],
                 notes: Optional[Path] = None):
        self._notes = notes
        self._path, self._sizes, self._shapes, self._places = path, list(sizes), list(shapes), places
        self._device = device or "cpu"
        self._models: List[Any] = []
        self._pairs: List[Dict[str, Held]] = []
        self.__name__ = "ModelNew"

    def __assay_prepare__(self) -> None:
        """In the process of a worker, before it is asked for anything: what is wrong here is no fault of a result."""
        import torch

        path = self._path
        try:
            for size, shapes in zip(self._sizes, self._shapes):
                sys.modules[Path(size.module.__file__).stem] = size.module  # for a solution that imports its problem
                module = executed(as_small(parsed(path), size), path, "solution", ("ModelNew",))
                positional, named = init_inputs(size.module)
                torch.manual_seed(0)
                model = made(lambda: module.ModelNew(*positional, **named)).eval()
                theirs = state(model)  # before they are moved
                self._models.append(model.to(self._device))
                needed = [n for n in shapes if n not in self._places]
                self._pairs.append(paired(needed, state(size.model), theirs, path))
                self._note(needed, theirs, self._pairs[-1])
        except WrongProblem:
            raise
        except BaseException as error:
            raise WrongProblem(said(error, path)) from None

    def _note(self, needed: Sequence[str], theirs: Dict[str, Held], pairs: Dict[str, Held]) -> None:
        """Of parameters that have other names, for whoever reads the verdict."""
        if self._notes is None:
            return
        names = {id(h): n for n, h in theirs.items()}
        self._notes.write_text(", ".join(f"{names[id(pairs[n])]} is {n}" for n in needed if names[id(pairs[n])] != n))

    def __call__(self, *values: Any) -> Any:
        import torch

        shapes = [tuple(v.shape) for v in values]
        i = next((i for i, s in enumerate(self._shapes) if list(s.values()) == shapes), None)
        if i is None:
            raise NotImplementedError("ModelNew is made for the sizes of its problem")
        inputs = [v.to(self._device) if isinstance(v, torch.Tensor) else v for v in self._sizes[i].inputs]
        for name, value in zip(self._shapes[i], values):
            if name in self._places:
                inputs[self._places[name]] = value
            else:
                self._pairs[i][name].become(value)
        with torch.no_grad():
            return self._models[i](*inputs)
