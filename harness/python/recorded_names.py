"""Names of operators as `assay record --ops` takes them."""

import fnmatch

import torch


def spellings(namespace, name):
    """As `assay verify` takes them: add.Tensor, add, aten::add.Tensor, aten::add."""
    names = {name, name.partition(".")[0]}
    return names | {f"{namespace}::{n}" for n in names}


def fnmatch_any(names, globs):
    return not globs or any(fnmatch.fnmatchcase(name, g) for name in names for g in globs)


def of_no_operator(globs, operators):
    """Names among them that are none, neither of PyTorch, with what the program added to it, nor of Assay."""
    named = [g for g in globs if not any(c in g for c in "*?[")]
    if not named:
        return []
    names = set().union(*(spellings("aten", name) for name in operators.known))
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.rpartition("::")
        names |= spellings(namespace, f"{name}.{schema.overload_name}" if schema.overload_name else name)
    return [g for g in named if g not in names]
