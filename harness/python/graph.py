#!/usr/bin/python3
"""Traces a PyTorch function or module to a graph of Assay's operators: what `assay graph` starts.

    graph.py OPERATORS.json REQUEST.json REPORT.json

OPERATORS.json lists Assay's operators: [{"op", "arguments", "results", "aliases"}].
REQUEST.json: {"file", "member", "name", "inputs": ["f32[2x3]"]}; member and name may be empty.
REPORT.json: {"graph": a document of assay.graph/1, "notes": [text]}, or {"error": text}.
"""

import importlib.util
import inspect
import json
import os
import re
import sys
import traceback

import torch

import graph_nodes
import graph_sizes
import graph_trace
import recorded_operators

DTYPES = {word: getattr(torch, name) for name, word in graph_nodes.DTYPES.items()}


class Wrong(Exception):
    """The message is for the user."""


class Lacking(Exception):
    """Operators that a graph cannot have: {name: lines}."""

    def __init__(self, missing):
        super().__init__()
        self.missing = missing


def load(path):
    """The file, as a module."""
    sys.argv = [path]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None:
        raise Wrong(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def choose(module, path, member):
    """(what is traced, its name)"""
    own = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    functions = [n for n, v in own.items() if inspect.isfunction(v) and v.__module__ == module.__name__ and n not in ("get_inputs", "get_init_inputs")]
    if member:
        if member not in vars(module):
            raise Wrong(f"{path} has no {member}; it has {', '.join(sorted(traceable(module))) or 'nothing to trace'}")
        name = member
    elif "Model" in own or "model" in own:
        name = "Model" if "Model" in own else "model"
    elif len(functions) == 1:
        name = functions[0]
    else:
        raise Wrong(f"{path} has neither Model nor model, nor a single function: say which, {path}:NAME"
                    f" (it has {', '.join(sorted(traceable(module))) or 'nothing to trace'})")
    chosen = vars(module)[name]
    if inspect.isclass(chosen) and issubclass(chosen, torch.nn.Module):
        chosen = chosen(*(list(module.get_init_inputs()) if hasattr(module, "get_init_inputs") else []))
    if not callable(chosen):
        raise Wrong(f"{name} of {path} is neither a function nor a module")
    return chosen, name


def traceable(module):
    return [n for n, v in vars(module).items() if not n.startswith("_") and n not in ("get_inputs", "get_init_inputs") and (
        isinstance(v, torch.nn.Module) or inspect.isfunction(v) and v.__module__ == module.__name__ or
        inspect.isclass(v) and issubclass(v, torch.nn.Module) and v.__module__ == module.__name__)]


def parse_input(text):
    """f32[2x3]"""
    match = re.fullmatch(r"(\w+)\[((?:\d+(?:x\d+)*)?)\]", text)
    if not match or match[1] not in DTYPES:
        raise Wrong(f"--input {text}: write a dtype and a shape, such as f32[2x3]; dtypes are {' '.join(DTYPES)}")
    return torch.empty([int(n) for n in match[2].split("x") if n], dtype=DTYPES[match[1]], device="meta")


def flat(values, names):
    """Tensors among them, with names; lists have several."""
    for name, v in zip(names, values):
        if isinstance(v, torch.Tensor):
            yield name, v
        elif isinstance(v, (list, tuple)):
            yield from flat(v, [f"{name}_{k}" for k in range(len(v))])


def replaced(values, tensors):
    """The same, with other tensors, in order."""
    return [next(tensors) if isinstance(v, torch.Tensor) else type(v)(replaced(v, tensors)) if isinstance(v, (list, tuple)) else v for v in values]


def names_of(chosen, count):
    called = chosen.forward if isinstance(chosen, torch.nn.Module) else chosen
    names = [p.name for p in inspect.signature(called).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names + [f"input{k}" for k in range(len(names), count)])[:count]


def state_of(chosen, module):
    """Parameters, buffers and other tensors of modules: (name, tensor)."""
    roots = [("", chosen)] if isinstance(chosen, torch.nn.Module) else []
    for name, v in vars(module).items():
        if isinstance(v, torch.nn.Module) and v is not chosen:
            roots.append((name + ".", v))
        elif isinstance(v, torch.Tensor):
            yield name, v
    for prefix, root in roots:
        yield from ((prefix + n, t) for n, t in root.named_parameters())
        yield from ((prefix + n, t) for n, t in root.named_buffers())
        for n, m in root.named_modules():
            yield from ((f"{prefix}{n}{'.' if n else ''}{k}", v) for k, v in vars(m).items() if isinstance(v, torch.Tensor) and v.numel() > 1)


def identifier(name, taken):
    word = re.sub(r"\W", "_", name)
    word = word if word[:1].isalpha() or word[:1] == "_" else "_" + word
    while word in taken:
        word += "_"
    taken.add(word)
    return word


def results_in(v):
    if isinstance(v, torch.Tensor):
        yield v
    elif isinstance(v, (list, tuple)):
        for item in v:
            yield from results_in(item)
    elif isinstance(v, dict) or hasattr(v, "items"):
        for item in v.values():
            yield from results_in(item)


def without_numbers(module):
    """Its parameters and buffers on the device of the inputs: modules ask for that."""
    new = {}
    for m in module.modules():
        for name, t in [*m.named_parameters(recurse=False), *m.named_buffers(recurse=False)]:
            if id(t) not in new:
                bare = torch.empty(t.shape, dtype=t.dtype, device="meta")
                new[id(t)] = t, torch.nn.Parameter(bare, requires_grad=False) if isinstance(t, torch.nn.Parameter) else bare
            setattr(m, name, new[id(t)][1])


def trace(operators, making, chosen, values, tensors, state):
    """The trace, and its results."""
    t = graph_trace.Trace(operators)
    t.originals, t.stand_ins, t.kept = making.originals, making.stand_ins, making.kept
    taken = set(graph_nodes.WORDS) | set(graph_nodes.DTYPES.values())
    for name, tensor in tensors:
        t.name(tensor, identifier(name, taken), False)
    for name, tensor in state:
        if graph_trace.is_plain(tensor) and not t.known(tensor):
            t.name(tensor, identifier(name, taken), True)
    t.tracing = True
    try:
        with torch.inference_mode(), t:
            returned = chosen(*replaced(values, iter([tensor for _, tensor in tensors])))
    except Exception as e:
        if t.missing:  # of which it may be the consequence
            raise Lacking(t.missing) from e
        raise
    results = [t.value_of(r) for r in results_in(returned)]
    return t, results


def said(error, path):
    """An exception of the program, with its place there."""
    here, torch_folder = os.path.dirname(os.path.abspath(__file__)), os.path.dirname(torch.__file__)
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if not f.filename.startswith((torch_folder, "<")) and os.path.dirname(os.path.abspath(f.filename)) != here and "importlib" not in f.filename]
    place = f"{os.path.relpath(frames[-1].filename)}:{frames[-1].lineno}" if frames else path
    if isinstance(error, SyntaxError):
        place = f"{path}:{error.lineno}"
    text = str(error).strip() or "no message"
    return f"{place}: {text}" if isinstance(error, graph_trace.Stopped) else f"{place}: {type(error).__name__}: {text}"


def lacking(path, missing):
    parts = []
    for name, lines in sorted(missing.items()):
        places = list(dict.fromkeys(line for line in lines if line))
        count = [f"{len(lines)} calls"] if len(lines) > 1 else []
        where = ": ".join(count + ([", ".join(places)] if places else []))
        parts.append(f"{name} ({where})" if where else name)
    return f"{path}: a graph cannot have {', '.join(parts)}"


def name_of_operator(request, operators, member):
    stem = os.path.splitext(os.path.basename(request["file"]))[0]
    words = stem if not request["member"] or member in ("Model", "model") else f"{stem}_{member}"
    name = re.sub(r"\W", "_", words).lower().strip("_").lstrip("0123456789_") or "graph"
    known = {e[0]["op"].partition(".")[0] for e in operators.known.values()}
    return name if name not in known else f"{name}_graph"


def without_device(function):
    """What makes a constant of numbers that are written out: on a device without numbers, they would be lost."""
    def made(*args, **kwargs):
        return function(*args, **(kwargs | {"device": "cpu"}))
    return made


def graph_of(request, operators):
    path = request["file"]
    torch.tensor, torch.scalar_tensor = without_device(torch.tensor), without_device(torch.scalar_tensor)
    making = graph_trace.Trace(operators)
    with making:
        module = load(path)
        chosen, member = choose(module, path, request["member"])
        if request["inputs"]:
            values = [parse_input(text) for text in request["inputs"]]
        elif hasattr(module, "get_inputs"):
            values = list(module.get_inputs())
        else:
            raise Wrong(f"{path} has no get_inputs(): say the inputs, --input 'f32[2x3]', one for each argument")
    return graph_of_program(request, operators, making, module, chosen, member, values)


def graph_of_program(request, operators, making, module, chosen, member, values):
    """Of what has been loaded: `chosen`, which is `member` of the module, called with `values`. `making` has seen its constants made."""
    path = request["file"]
    for v in [chosen, *vars(module).values()]:
        if isinstance(v, torch.nn.Module):
            v.eval()
            without_numbers(v)
    named = [(n, torch.empty(v.shape, dtype=v.dtype, device="meta")) for n, v in flat(values, names_of(chosen, len(values)))]
    state = list(state_of(chosen, module))
    t, results = trace(operators, making, chosen, values, named, state)
    if t.missing:
        raise Lacking(t.missing)
    if not results:
        raise Wrong(f"{path}: {member} returns no tensor")
    if any(r.is_number() for r in results):
        raise Wrong(f"{path}: {member} returns a tensor of constants, which no input goes into")
    nodes = graph_nodes.live_nodes(t.nodes, results)

    def again(shapes):
        other = [(n, torch.empty(s, dtype=v.dtype, device="meta")) for (n, v), s in zip(named, shapes)]
        try:
            t, results = trace(operators, making, chosen, values, other, state)
        except Exception:
            return None
        return None if t.missing else (graph_nodes.live_nodes(t.nodes, results), results)

    rule = ""
    if graph_sizes.has_written(nodes):
        rule = graph_sizes.rule(nodes, results, t.arguments, [v for _, v in named], again)
    notes = [f"{a.name} goes into no result, and is no argument of the graph" for a in t.arguments if not a.used and not a.of_module]
    name = request["name"] or name_of_operator(request, operators, member)
    used = [a for a in t.arguments if a.used]
    return {"graph": graph_nodes.document(name, used, nodes, results, rule), "notes": notes}


def graph_in_memory(chosen, values):
    """As graph_of, of a function or module of this process, which is not of use for anything else afterwards."""
    def graph_of_it(request, operators):
        torch.tensor, torch.scalar_tensor = without_device(torch.tensor), without_device(torch.scalar_tensor)
        inner = type(chosen) if isinstance(chosen, torch.nn.Module) else inspect.unwrap(chosen)
        module = sys.modules.get(getattr(inner, "__module__", None) or "__main__")
        given = [parse_input(v) if isinstance(v, str) else v for v in values]
        return graph_of_program(request, operators, graph_trace.Trace(operators), module, chosen, request["member"], given)

    return graph_of_it


def main(words, traced=graph_of):
    operators, request_file, report_file = map(os.path.abspath, words)
    with open(request_file) as f:
        request = json.load(f)
    path = request["file"]
    try:
        report = traced(request, recorded_operators.Operators(operators))
    except Wrong as e:
        report = {"error": str(e)}
    except Lacking as e:
        report = {"error": lacking(path, e.missing)}
    except SystemExit as e:
        report = {"error": f"{path} ended Python with {e.code}, instead of being a module"}
    except Exception as e:
        report = {"error": said(e, path)}
    with open(report_file, "w") as f:
        json.dump(report, f)


if __name__ == "__main__":
    main(sys.argv[1:])
