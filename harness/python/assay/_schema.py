"""Schemas of operators, as ATen writes them: names, types and defaults of arguments.

    s = Schema.parse("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
    s.name, s.arguments[1].name, s.arguments[2].default      # ("softmax.int", "dim", "None")
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from typing import Any, Optional, Sequence

_MISSING = object()


@dataclass(frozen=True)
class Argument:
    name: str
    type: str
    default: Optional[str]  # as it is written; None: it has none
    keyword_only: bool

    def is_default(self, value: Any) -> bool:
        """Whether a call that leaves the argument out would mean this value."""
        if value is None:
            return self.default == "None"
        if self.default is None:
            return False
        try:
            meant = ast.literal_eval(self.default)
        except (ValueError, SyntaxError):
            return str(value) == self.default
        if isinstance(value, (list, tuple)):
            return all(v == m for v, m in zip(value, meant)) and len(value) == len(meant) if isinstance(meant, list) else all(v == meant for v in value)
        return type(meant) in (int, float, bool, str) and value == meant


@dataclass(frozen=True)
class Schema:
    text: str
    name: str
    arguments: tuple[Argument, ...]
    results: int

    @staticmethod
    def parse(text: str) -> "Schema":
        open_, close = _parentheses(text, 0)
        name = text[:open_].strip().split()[-1]
        arguments = []
        keyword_only = False
        for part in _split(text[open_ + 1:close]):
            if part == "*":
                keyword_only = True
                continue
            type_, _, rest = part.rpartition(" ") if "=" not in part else part[:part.index("=")].rpartition(" ")
            default = part[part.index("=") + 1:] if "=" in part else None
            arguments.append(Argument(rest, type_, default, keyword_only))
        after = text[text.index("->", close) + 2:].split("{")[0].split("\n")[0].strip()
        results = len(_split(after[1:_parentheses(after, 0)[1]])) if after.startswith("(") else 1
        return Schema(text, name.split("::")[-1], tuple(arguments), results)

    @property
    def line(self) -> str:
        """Without the body that a graph has."""
        return self.text.split("{")[0].strip()


def _parentheses(text: str, start: int) -> tuple[int, int]:
    """Where the first pair opens and closes."""
    open_ = text.index("(", start)
    depth = 0
    for i in range(open_, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return open_, i
    raise ValueError(f"{text!r}: a parenthesis is not closed")


def _split(text: str) -> list[str]:
    """At the commas that stand in no brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([" and 1 or c in ")]" and -1 or 0
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    parts.append(text[begin:].strip())
    return [p for p in parts if p]


def find(schemas: Sequence[Schema], name: str) -> Schema:
    """The schema of that name: with or without "aten::", and without its overload where there is but one."""
    wanted = name.split("::")[-1]
    for s in schemas:
        if s.name == wanted:
            return s
    overloads = [s for s in schemas if s.name.split(".")[0] == wanted]
    if len(overloads) == 1:
        return overloads[0]
    if overloads:
        raise LookupError(f"operator {name!r}: is it {' or '.join(s.name for s in overloads)}?")
    near = difflib.get_close_matches(wanted, [s.name for s in schemas], 3)
    raise LookupError(f"there is no operator {name!r}" + (f"; near are {', '.join(near)}" if near else ""))
