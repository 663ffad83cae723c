// Benchmark files: JSON as Google Benchmark writes it, with what Assay knows besides under the key "assay".
//
//   {"context": {"assay": {"format": "assay.bench/1", "command", "machine", "seed", "seconds", "complete", "incomplete",
//      "commit", "placement", "notes", "limits": [{"name", "kind", "dtype", "level", "value", "device"}], "gate": {"base", "candidate",
//      "verdict counts", "canary": {"alarms", "trials", "without"}, "fit"}}},
//    "benchmarks": [{"assay": {"op", "case", "dtype", "impl", "peer", "cache", "threads", "shape", "status", "reason",
//      "rounds", "calls", "clock", "ns": {"median", "low", "high"}, "contention", "bytes", "operations", "functions",
//      "limit": {"ns", "binds", "share"}, "best_peer": {"impl", "ratio", "low", "high"},
//      "gate": {"verdict", "ratio", "low", "high", "mde", "threshold", "rounds", "confirmed", "note", "unseen"}, "information", "device"}}]}
//
//   limits      what the machine can do at most, of one core: bytes or operations a second
//   cache       where the data lay before each call: warm, l2 or dram
//   status      measured, refused, failed or not_run, with a reason; or impossible: faster than the machine moves its bytes or does its
//               operations, so that what was timed is not the operator
//   contention  elapsed time / processor time
//   limit       the time that the machine needs at least, what binds it, and which share of that speed was reached
//   best_peer   time of this kernel / time of the fastest other library; below 1 is faster; intervals of 99%
//   gate        time of the candidate / time of the base; mde: the least change that would have been seen; null where nothing was
//               timed, because the machine code is the same
//
// JSON knows no infinities and no NaN: such numbers are the strings "inf", "-inf" and "nan". An interval from -inf to inf is
// one of too few rounds to have any.
//
// Unknown keys are ignored, and so are benchmarks without "assay".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench_row.h"
#include "result.h"

namespace assay {

struct Ceiling {
  std::string name;
  bool bandwidth = false;  // bytes a second; otherwise operations a second; of one core or of a whole device
  std::string dtype, level;
  double value = 0;
  std::string device;  // empty: this machine's processor
};

struct GateSetting {
  std::string base, candidate;
  std::uint64_t canary_alarms = 0, canary_trials = 0;  // of comparing a kernel with itself
  bool fit = true;                                     // whether the machine was quiet enough to judge
};

struct BenchmarkFile {
  std::string name;
  std::vector<std::string> command;
  Machine machine;
  std::string fingerprint;  // of the machine
  std::uint64_t seed = 0;
  double seconds = 0;
  bool complete = true;
  std::string incomplete, commit;
  std::vector<Ceiling> limits;
  std::optional<GateSetting> gate;
  std::vector<BenchRow> rows;
};

// Throws FileError that names the file and the key that is wrong.
BenchmarkFile bench_from_json(std::string_view text, const std::string& name);

// What the gate says of a row of the file, which has one, as it can be shown: on a machine that was not fit to judge, nothing is
// decided of code that differs.
SpeedVerdict shown_verdict(const BenchmarkFile& file, const GateOutcome& gate);

// What the gate says of the rows, in words; 0 rows if there was no gate.
std::array<std::uint64_t, kGateTokens.size()> gate_counts(const BenchmarkFile& file);

}  // namespace assay
