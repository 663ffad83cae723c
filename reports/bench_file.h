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

#include "result.h"

namespace assay {

enum class SpeedVerdict : std::uint8_t { unchanged, same, improved, ambiguous, regressed };
inline constexpr std::array<std::string_view, 5> kGateTokens{"UNCHANGED", "SAME", "IMPROVED", "AMBIGUOUS",
                                                             "REGRESSED"};

enum class MeasuredStatus : std::uint8_t { measured, refused, failed, not_run, impossible };
inline constexpr std::array<std::string_view, 5> kBenchStatuses{"measured", "refused", "failed", "not_run",
                                                                "impossible"};

struct Spread {
  double value = 0, low = 0, high = 0;
};

struct MeasuredLimit {
  double ns = 0;
  std::string binds;
  double share = 0;
};

struct MeasuredPeer {
  std::string impl;
  Spread ratio;
};

struct MeasuredGate {
  SpeedVerdict verdict = SpeedVerdict::same;
  Spread ratio;
  double mde = 0, threshold = 0;
  std::uint64_t rounds = 0;
  bool confirmed = false;
};

struct Measurement {
  std::string op, case_text, dtype, impl;
  bool peer = false;
  std::string cache;
  std::uint64_t threads = 1;
  std::string shape;  // why this shape
  MeasuredStatus status = MeasuredStatus::measured;
  std::string reason;
  std::uint64_t rounds = 0, calls = 0;
  std::string clock;
  Spread ns;  // of a call, if it was measured
  double contention = 0;
  double bytes = 0, operations = 0;  // of a call
  std::optional<MeasuredLimit> limit;
  std::optional<MeasuredPeer> best_peer;
  std::optional<MeasuredGate> gate;
  std::string information;
  std::string device;  // the GPU that it ran on, or empty

  // Where operands lie, and whose clock was read: "warm", "warm on NVIDIA H200".
  std::string place() const { return device.empty() ? cache : cache + " on " + device; }
  bool measured() const { return status == MeasuredStatus::measured && ns.value > 0; }
  bool has_failed() const { return status == MeasuredStatus::failed || status == MeasuredStatus::impossible; }
  // What a run of benchmarks fails for; a peer that is wrong is the peer's affair.
  bool fails() const { return has_failed() && !peer; }
  // The same machine code as the base's, which is not timed.
  bool unchanged() const { return gate && gate->verdict == SpeedVerdict::unchanged; }
};

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
  std::vector<Measurement> rows;
};

// Throws FileError that names the file and the key that is wrong.
BenchmarkFile bench_from_json(std::string_view text, const std::string& name);

// What the gate says of a row of the file, which has one, as it can be shown: on a machine that was not fit to judge, nothing is
// decided of code that differs.
SpeedVerdict shown_verdict(const BenchmarkFile& file, const MeasuredGate& gate);

// What the gate says of the rows, in words; 0 rows if there was no gate.
std::array<std::uint64_t, kGateTokens.size()> gate_counts(const BenchmarkFile& file);

}  // namespace assay
