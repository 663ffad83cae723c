"""Results for tests of reports, by a fixed rule: no random numbers, no clock. As a program: make_results.py FOLDER."""

import json
import math
import sys
from pathlib import Path

VERDICTS = ["pass", "refused", "vacuous", "not_run", "suspicious", "wrongly_accepted", "wrongly_rejected", "unstable",
            "diverged", "memory", "timeout", "crashed"]
MACHINE = {"cpu": "Test CPU", "cores": 2, "isa": ["baseline", "avx2"], "libraries": {"oneDNN": "2.6.3"},
           "compiler": "gcc 12.2.0", "version": "0.1.0", "fingerprint": "test-cpu/2"}
HOSTILE = "</script><img src=x onerror=\"window.broken=1\">'&\u202e\x1b[31m"


def spread(i, n):
    """A number in [0, 1) that looks like chance."""
    return (i * 0.6180339887 + n * 0.7548776662) % 1


def row(op, impl, dtype, i, verdict, cases=250):
    counts = dict.fromkeys(VERDICTS, 0)
    bad = 0 if verdict in ("pass", "not_run", "refused") else 1 + i % 7
    ran = 0 if verdict == "not_run" else cases
    counts["pass"] = 0 if verdict == "refused" else ran - bad
    if verdict != "not_run":
        counts[verdict] += ran if verdict == "refused" else bad
    failures = [{"case": f"{op}:{dtype}:self=2x{i % 90 + 2}:seed={i}", "index": k, "kind": verdict,
                 "detail": f"out[{i % 13},{k}] is {spread(i, 1):.6f}, but must be {spread(i, 2):.6f}",
                 "replay": f"out/{op}-{impl}-{dtype}-{verdict}-{k}.h5".replace("/", "_"),
                 "diagnosis": "takes the slope by the last index" if i % 3 == 0 else ""} for k in range(min(bad, 3))]
    return {"op": op, "impl": impl, "peer": not impl.startswith("cpu"), "named": False, "dtype": dtype,
            "verdict": verdict, "cases": ran, "counts": counts, "refused": {f"{impl} has no {dtype}": ran} if verdict == "refused" else {},
            "undeclared": {}, "elements": ran * 1000, "undecidable": 0.0 if i % 5 else round(spread(i, 3) / 200, 6),
            "worst": "inf" if verdict == "diverged" and i % 4 == 0 else round(10 ** (4 * spread(i, 4) - 4), 6) if bad == 0 else 3.5 + i % 50,
            "worst_case": f"{op}:{dtype}:self=1x{i % 777},other=3x{i}:data=wide:seed={i * 7919}",
            "reason": "this CPU lacks AVX-512 F" if verdict == "not_run" else "", "information": "jit:avx2" if impl.startswith("one") else "",
            "failures": failures}


def run(rows):
    return {"format": "assay.run/1", "command": ["assay", "verify"], "machine": MACHINE, "seed": 0, "seconds": 1.5,
            "complete": True, "incomplete": "", "cases_not_run": 0, "shard": None, "results": rows, "summary": {}}


def many(n):
    """A run of n rows: most pass, some of each kind of fault."""
    dtypes = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"]
    impls = ["cpu.baseline", "cpu.avx2", "cpu.avx512", "onednn.avx2", "torch"]
    rows = []
    for i in range(n):
        x = spread(i, 0)
        verdict = "pass" if x < .7 else "refused" if x < .8 else "not_run" if x < .9 else VERDICTS[5 + i % 7]
        rows.append(row(f"operator_{i // 50}.variant", impls[i // 10 % 5], dtypes[i % 10], i, verdict))
    return run(rows)


def hostile():
    rows = [row(f"{HOSTILE}{k}", f"cpu.{HOSTILE}", "f32", k, v) for k, v in enumerate(["diverged", "pass", "refused", "not_run"])]
    for r in rows:
        r["information"] = r["reason"] = HOSTILE
        for f in r["failures"]:
            f.update(case=HOSTILE, detail=HOSTILE, replay=HOSTILE, diagnosis=HOSTILE)
    r = run(rows)
    r["command"], r["incomplete"], r["complete"], r["machine"] = [HOSTILE], HOSTILE, False, {**MACHINE, "cpu": HOSTILE}
    return r


def measurement(op, case, dtype, impl, cache, threads, ns, nbytes, operations, i, gate=None):
    peer = not impl.startswith("cpu")
    width = 0.004 + 0.02 * spread(i, 5)
    ceiling = {"warm": 80e9, "l2": 40e9, "dram": 11e9}[cache]
    least = max(nbytes / ceiling, operations / (5.6e10 * threads)) * 1e9
    a = {"op": op, "case": case, "dtype": dtype, "impl": impl, "peer": peer, "cache": cache, "threads": threads,
         "shape": "an activation of ResNet-50", "status": "measured", "reason": "", "rounds": 31, "calls": 64, "clock": "cpu",
         "ns": {"median": round(ns, 3), "low": round(ns * (1 - width), 3), "high": round(ns * (1 + width), 3)},
         "contention": round(1 + 0.03 * spread(i, 6), 4), "bytes": nbytes, "operations": operations,
         "limit": {"ns": round(least, 3), "binds": "arithmetic" if operations / 5.6e10 > nbytes / ceiling else f"memory {cache}", "share": round(min(1, least / ns), 4)},
         "best_peer": None, "gate": gate, "information": "jit:avx2" if peer else ""}
    return {"name": f"{case}/{impl}/{cache}", "run_name": f"{case}/{impl}/{cache}", "run_type": "iteration", "iterations": 64,
            "real_time": ns, "cpu_time": ns, "time_unit": "ns", "assay": a}


def bench(names=("relu", "gelu", "softmax.int", "mm", "clone", "sum.dim_IntList", "native_layer_norm"), sizes=(14, 28, 56), gated=True):
    work = {"relu": 1, "gelu": 18, "softmax.int": 9, "mm": 900, "clone": 0, "sum.dim_IntList": 1, "native_layer_norm": 6}
    rows, i = [], 0
    for op in names:
        for size in sizes:
            for cache in ("warm", "l2", "dram"):
                case = f"{op}:f32:self=1x64x{size}x{size}:seed=1"
                n = 64 * size * size
                nbytes, operations = 8 * n, work.get(op, 4) * n
                base = max(nbytes / {"warm": 70e9, "l2": 38e9, "dram": 10.5e9}[cache], operations / 5e10) * 1e9
                group = []
                for impl in ("cpu.avx2", "cpu.baseline", "onednn.avx2", "torch"):
                    i += 1
                    slow = {"cpu.avx2": 1.05, "cpu.baseline": 2.4, "onednn.avx2": 1.2, "torch": 1.5}[impl] * (1 + .7 * spread(i, 7))
                    gate = None
                    if gated and impl == "cpu.avx2":
                        ratio = 1 + 0.004 * (spread(i, 8) - .5)
                        verdict = "SAME"
                        if i % 29 == 0:
                            ratio, verdict = 1.083, "REGRESSED"
                        elif i % 23 == 1:
                            ratio, verdict = 0.871, "IMPROVED"
                        elif i % 31 == 4:
                            ratio, verdict = 1.019, "AMBIGUOUS"
                        half = 0.03 if verdict == "AMBIGUOUS" else 0.006
                        gate = {"verdict": verdict, "ratio": round(ratio, 5), "low": round(ratio - half, 5), "high": round(ratio + half, 5),
                                "mde": 0.01, "threshold": 0.03, "rounds": 60, "confirmed": verdict == "REGRESSED"}
                    group.append(measurement(op, case, "f32", impl, cache, 1, base * slow, nbytes, operations, i, gate))
                best = min((g["assay"] for g in group if g["assay"]["peer"]), key=lambda a: a["ns"]["median"])
                for g in group:
                    a = g["assay"]
                    if not a["peer"]:
                        ratio = a["ns"]["median"] / best["ns"]["median"]
                        a["best_peer"] = {"impl": best["impl"], "ratio": round(ratio, 4), "low": round(ratio * .98, 4), "high": round(ratio * 1.025, 4)}
                rows += group
    rows.append({"name": "refused", "assay": {"op": "relu", "case": "relu:f16:self=4:seed=1", "dtype": "f16", "impl": "onednn.avx2", "peer": True, "cache": "warm",
                                              "threads": 1, "status": "refused", "reason": "no f16", "best_peer": None, "gate": None, "limit": None}})
    limits = [{"name": f"read {level}", "kind": "bandwidth", "dtype": "", "level": level, "value": v} for level, v in
              (("L1", 160e9), ("L2", 82e9), ("L3", 41e9), ("DRAM", 11.5e9))]
    limits += [{"name": f"FMA {d}", "kind": "arithmetic", "dtype": d, "level": "", "value": v} for d, v in (("f32", 5.6e10), ("f64", 2.8e10))]
    context = {"format": "assay.bench/1", "command": ["assay", "bench"], "machine": MACHINE, "seed": 0, "seconds": 312.0, "complete": True,
               "incomplete": "", "commit": "0f1e2d3c4b5a", "limits": limits}
    if gated:
        context["gate"] = {"base": "base.so", "candidate": "candidate.so", "canary": {"alarms": 0, "trials": 24}, "fit": True}
    return {"context": {"date": "", "num_cpus": 2, "assay": context}, "benchmarks": rows}


def many_measurements(n):
    names = [f"operator_{k}" for k in range(math.ceil(n / 36))]
    result = bench(names, gated=True)
    result["benchmarks"] = result["benchmarks"][:n]
    return result


def history(of):
    series = []
    for i, b in enumerate(of["benchmarks"]):
        a = b["assay"]
        if not a["best_peer"]:
            continue
        jump = 12 + i % 9 if i % 4 == 0 else None
        points, before, after = [], 0.9 + 0.2 * spread(i, 1), 0.7 + 0.6 * spread(i, 2)
        for k in range(30):
            level = after if jump is not None and k >= jump else before
            points.append({"commit": f"{i * 31 + k:07x}", "time": 1700000000 + 86400 * k, "ratio": round(level * (1 + .02 * (spread(k, i) - .5)), 4), "share": .5})
        series.append({"op": a["op"], "case": a["case"], "impl": a["impl"], "cache": a["cache"], "threads": a["threads"], "machine": MACHINE["fingerprint"],
                       "points": points, "changes": [] if jump is None else [{"index": jump, "before": round(before, 4), "after": round(after, 4)}]})
    return {"format": "assay.history/1", "series": series}


def selftest():
    planted, controls = [], []
    for i in range(240):
        op = ["relu", "prelu", "mm", "softmax.int"][i % 4]
        found, excused = i % 60 != 7, i % 40 == 9
        planted.append({"op": op, "dtype": "f32", "variant": f"self.variant_{i // 4}", "says": "reads its input backwards", "found": found and not excused,
                        "verdict": "diverged", "case": f"{op}:f32:self=4", "cases": 40, "unobservable": "the result is the same to the bit" if excused else "",
                        "by": {"allclose 1e-2": i % 3 > 0, "assert_close": i % 5 > 0, "NMSE 1e-7": i % 7 > 0}})
    for i in range(8):
        controls.append({"op": "relu", "dtype": "f32", "kernel": f"cpu.k{i}", "alarm": "", "by": {"allclose 1e-2": i < 3, "assert_close": i < 2, "NMSE 1e-7": False}})
    return {"format": "assay.selftest/1", "seed": 0, "complete": True, "seconds": 12.5, "planted": planted, "controls": controls, "score": {}}


def write_all(folder):
    folder = Path(folder)
    measured = bench()
    for name, content in {"small.json": many(600), "large.json": many(100_000), "hostile.json": hostile(), "bench.json": measured, "history.json": history(measured),
                          "selftest.json": selftest(), "large_bench.json": many_measurements(100_000)}.items():
        (folder / name).write_text(json.dumps(content))


if __name__ == "__main__":
    write_all(sys.argv[1])
