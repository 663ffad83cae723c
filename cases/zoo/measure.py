#!/usr/bin/env python3
"""How many planted faults `assay bisect` finds and names, and how much of right engines it judges.

    cases/zoo/measure.py                        # all models, ONNX Runtime
    cases/zoo/measure.py --engine openvino --model cnn
    cases/zoo/measure.py --fault cnn.dynamo.fc1-tf32 --keep folder

Needs PyTorch 2, onnx, onnxruntime and h5py (openvino for that engine), and the program (ASSAY_PROGRAM, or ./assay).
Exit code 1: less than 95% are located, less than 85% named, or a call is blamed that is right."""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import dumps
import export
import faults
import h5py
from edits import Graph

LOCATED, NAMED = 0.95, 0.85
ENGINES = {
    "ort": lambda m, x, **more: dumps.onnxruntime_dump(m, x, **more),
    "ort-optimised": lambda m, x, **more: dumps.onnxruntime_dump(m, x, optimised=True, **more),
    "openvino": lambda m, x, **more: dumps.openvino_dump(m, x, "f32", **more),
    "openvino-default": lambda m, x, **more: dumps.openvino_dump(m, x, **more)}
# Calls of which an engine without a planted fault gives other results than PyTorch, and why.
DISAGREEMENTS = {("openvino", "cnn", "pool2/avg_pool2d"): "counts what a window has after the padding (ceil_mode, count_include_pad)"}
FINDINGS = ("parameters", "packing", "changed", "wrong")
JUDGED = ("right", "inherited", "undecided") + FINDINGS


class Bench:
    def __init__(self, arguments, folder):
        self.engine_name, self.engine, self.folder = arguments.engine, ENGINES[arguments.engine], folder
        self.program = os.environ.get("ASSAY_PROGRAM", os.path.join(HERE, "..", "..", "assay"))
        self.models = {}

    def run(self, *command):
        environment = dict(os.environ, ASSAY_TORCH_PYTHON=sys.executable, ASSAY_NO_SETUP="1")
        done = subprocess.run([self.program, *command], env=environment, capture_output=True, text=True)
        if "nothing was compared" in done.stderr:
            return None
        if done.returncode not in (0, 1):
            raise RuntimeError(f"assay {' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def trace(self, model):
        path = self.path(model + ".h5")
        if not os.path.exists(path):
            self.run("record", os.path.join(HERE, "models", model + ".py"), "-o", path)
        return path

    def onnx(self, model, exporter):
        if (model, exporter) not in self.models:
            self.models[model, exporter] = export.onnx_of(model, exporter)
        return self.models[model, exporter]

    def bisected(self, name, trace, graph):
        dump = self.engine(graph.model, graph.inputs, replaced=graph.replaced)
        for tensor in graph.hidden:
            dump.tensors.pop(tensor, None)
        path = self.path(name + ".npz")
        dump.write(path)
        json_path = self.path(name + ".json")
        text = self.run("bisect", trace, path, "--json", json_path)
        if text is None:
            names = names_of_calls(trace)
            return {"calls": [{"name": n, "status": "not_dumped", "case": "", "together": None} for n in names]}
        with open(self.path(name + ".txt"), "w") as file:
            file.write(text)
        with open(json_path) as file:
            return json.load(file)

    def graph(self, model, exporter):
        return Graph(self.onnx(model, exporter), {"x": export.make(model)[1][0].numpy()})


def names_of_calls(trace):
    with h5py.File(trace) as file:
        return [file["calls"][number].attrs["name"] for number in sorted(file["calls"], key=int)]


def blamed(result):
    return [c for c in result["calls"] if c["status"] in FINDINGS]


def is_known(engine, model, call):
    return (engine.removesuffix("-default"), model, call) in DISAGREEMENTS


def said_of(call):
    """What a report says of why a call is at fault."""
    d = call["diagnosis"]
    together = call["together"] or {}
    same = [f"{c['says']} ({c['name']})" for c in d["indistinguishable"]] if d and d["kind"] != "unknown" else []
    return " ".join([*call["says"], d["summary"] if d else "", *same, together.get("at", "") or ""])


def elements_of(call):
    return sum(size(s) for s in re.findall(r"\[([0-9x]+)\]", call["case"])[:1])


def size(shape):
    result = 1
    for n in shape.split("x"):
        result *= int(n)
    return result


def right_engine(bench, model, exporter):
    result = bench.bisected(f"{model}.{exporter}", bench.trace(model), bench.graph(model, exporter))
    calls = result["calls"]
    inside = {name for c in calls if c["together"] and c["status"] in JUDGED for name in c["together"]["calls"]}
    judged = [c for c in calls if c["status"] in JUDGED or c["name"] in inside]
    return {"model": model, "exporter": exporter, "calls": len(calls), "judged": len(judged),
            "elements": sum(map(elements_of, calls)), "judged_elements": sum(map(elements_of, judged)),
            "at_fault": [c["name"] for c in blamed(result) if not is_known(bench.engine_name, model, c["name"])],
            "disagrees": [c["name"] for c in blamed(result) if is_known(bench.engine_name, model, c["name"])], "undecided": [c["name"] for c in calls if c["status"] == "undecided"],
            "without_reference": [c["name"] for c in calls if c["status"] == "no_reference"]}


def engine_with(bench, fault, at_fault_before):
    graph = bench.graph(fault.model, fault.exporter)
    with export.quiet():
        fault.edit(graph)
        if not changes_anything(bench.graph(fault.model, fault.exporter), graph):
            raise ValueError(f"{fault.id} changes no result of the model: it is no fault")
    result = bench.bisected(fault.id, bench.trace(fault.model), graph)
    found = blamed(result)
    ours = [c for c in found if fnmatch.fnmatchcase(c["name"], fault.call)]
    known = lambda name: name in at_fault_before or any(fnmatch.fnmatchcase(name, a) for a in fault.also)
    new = [c["name"] for c in found if c not in ours and not known(c["name"])]
    first = [c["name"] for c in found if c["name"] not in at_fault_before or c in ours][:1]  # blamed of the fault
    return {"fault": fault.id, "kind": fault.kind, "call": fault.call,
            "located": bool(ours) and fnmatch.fnmatchcase(first[0], fault.call),
            "named": any(re.search(fault.cause, said_of(c), re.S) for c in ours),
            "others": new, "said": said_of(ours[0])[:400] if ours else ""}


def changes_anything(right, wrong):
    one, other = (g.values([o.name for o in g.model.graph.output]) for g in (right, wrong))
    return any((a != b).any() for a, b in zip(one, other))


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, default="ort")
    parser.add_argument("--model", choices=export.MODELS, action="append")
    parser.add_argument("--fault", metavar="GLOB", help="only planted faults of such an id")
    parser.add_argument("--right", action="store_true", help="only engines without a fault")
    parser.add_argument("--keep", metavar="FOLDER", help="where traces, dumps and reports are left")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main():
    arguments = parsed()
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
        return measured(arguments, arguments.keep)
    with tempfile.TemporaryDirectory() as folder:
        return measured(arguments, folder)


def measured(arguments, folder):
    bench = Bench(arguments, folder)
    chosen = [f for f in faults.ALL if fnmatch.fnmatchcase(f.id, arguments.fault or "*") and f.model in (arguments.model or export.MODELS)]
    if arguments.fault and not chosen:
        sys.exit(f"measure.py: no fault is called {arguments.fault!r}")
    models = sorted({f.model for f in chosen} | set(() if arguments.fault else arguments.model or export.MODELS))
    chosen = [] if arguments.right else chosen
    say = print if not arguments.json else lambda *a, **k: None
    right, planted, before = [], [], {}
    for model in models:
        for exporter in export.exporters(model):
            r = right_engine(bench, model, exporter)
            before[model, exporter] = r["at_fault"] + r["disagrees"]
            right.append(r)
            say(f"right  {model}.{exporter}: {len(r['at_fault'])} at fault, {r['judged']} of {r['calls']} calls judged, "
                f"{share(r['judged_elements'], r['elements'])} of elements", *r["at_fault"], flush=True)
    for fault in chosen:
        f = engine_with(bench, fault, before[fault.model, fault.exporter])
        planted.append(f)
        say(f"fault  {fault.id}: {'located' if f['located'] else 'MISSED'}, {'named' if f['named'] else 'UNNAMED'}"
            + (f", BLAMED TOO: {', '.join(f['others'])}" if f["others"] else ""), flush=True)
    totals = totals_of(right, planted)
    if arguments.json:
        print(json.dumps({"engine": arguments.engine, "right": right, "faults": planted, "totals": totals}, indent=1))
    else:
        print(f"{totals['faults']} faults: {share(totals['located'], totals['faults'])} located, "
              f"{share(totals['named'], totals['faults'])} named, {totals['blamed_wrongly']} others blamed; right engines: "
              f"{totals['at_fault']} calls at fault, {share(totals['judged'], totals['calls'])} of calls judged")
    few = planted and (totals["located"] < LOCATED * len(planted) or totals["named"] < NAMED * len(planted))
    return 1 if few or totals["blamed_wrongly"] or totals["at_fault"] else 0


def totals_of(right, planted):
    return {"faults": len(planted), "located": sum(f["located"] for f in planted), "named": sum(f["named"] for f in planted),
            "blamed_wrongly": sum(len(f["others"]) for f in planted), "at_fault": sum(len(r["at_fault"]) for r in right),
            "calls": sum(r["calls"] for r in right), "judged": sum(r["judged"] for r in right)}


def share(part, whole):
    return f"{100 * part / whole:.0f}%" if whole else "none"


if __name__ == "__main__":
    sys.exit(main())
