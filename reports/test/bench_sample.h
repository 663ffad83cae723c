// A benchmark file as Google Benchmark and Assay write it.
#pragma once

#include <string_view>

namespace assay {

inline constexpr std::string_view kBenchSample = R"({
 "context": {"date": "2026-01-01", "num_cpus": 2, "assay": {"format": "assay.bench/1", "command": ["assay", "bench"],
   "machine": {"cpu": "CPU", "cores": 2, "isa": ["avx2"], "libraries": {}, "compiler": "gcc", "version": "0.1.0", "fingerprint": "f1"},
   "seed": 7, "seconds": 12.5, "complete": false, "incomplete": "out of time", "commit": "abc",
   "limits": [{"name": "read L1", "kind": "bandwidth", "dtype": "", "level": "L1", "value": 1.5e11},
              {"name": "FMA f32", "kind": "arithmetic", "dtype": "f32", "level": "", "value": 5e10}],
   "gate": {"base": "base.so", "candidate": "new.so", "canary": {"alarms": 1, "trials": 24}, "fit": false}}},
 "benchmarks": [
  {"name": "a", "iterations": 64, "real_time": 100, "time_unit": "ns",
   "assay": {"op": "relu", "case": "relu:f32:self=4", "dtype": "f32", "impl": "cpu.avx2", "peer": false, "cache": "warm", "threads": 2,
     "shape": "small", "status": "measured", "reason": "", "rounds": 31, "calls": 64, "clock": "cpu",
     "ns": {"median": 100, "low": 98, "high": 103}, "contention": 1.01, "bytes": 32, "operations": 4,
     "limit": {"ns": 50, "binds": "memory L1", "share": 0.5}, "best_peer": {"impl": "torch", "ratio": 0.8, "low": 0.79, "high": 0.82},
     "gate": {"verdict": "REGRESSED", "ratio": 1.1, "low": 1.08, "high": 1.12, "mde": 0.01, "threshold": 0.03, "rounds": 60, "confirmed": true},
     "information": "", "a key of the future": []}},
  {"name": "b", "assay": {"op": "relu", "case": "relu:f16:self=4", "dtype": "f16", "impl": "onednn.avx2", "peer": true, "cache": "warm",
     "threads": 1, "status": "refused", "reason": "no f16", "limit": null, "best_peer": null, "gate": null}},
  {"name": "of someone else", "real_time": 1}]})";

}  // namespace assay
