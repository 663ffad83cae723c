// One kernel timed on one case: the row of `assay bench`, of its files, tables and pages.
//
//   BenchRow row;
//   row.op = "relu", row.case_text = "relu:f32:self=1000", row.impl = "cpu.avx2";
//   row.status = BenchStatus::measured, row.ns = {120, 118, 123};
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "json_reader.h"

namespace assay {

// A median and an interval that holds the true one; infinitely wide where there are too few samples to say so.
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
};

enum class BenchStatus : std::uint8_t { measured, refused, failed, not_run, impossible };
inline constexpr std::array<std::string_view, 5> kBenchStatuses{"measured", "refused", "failed", "not_run",
                                                                "impossible"};
inline std::string_view token(BenchStatus status) { return kBenchStatuses[static_cast<std::size_t>(status)]; }

enum class SpeedVerdict : std::uint8_t { unchanged, same, improved, ambiguous, regressed };
inline constexpr std::array<std::string_view, 5> kGateTokens{"UNCHANGED", "SAME", "IMPROVED", "AMBIGUOUS",
                                                             "REGRESSED"};
inline std::string_view token(SpeedVerdict verdict) { return kGateTokens[static_cast<std::size_t>(verdict)]; }

// What a comparison of two builds of a kernel came to.
struct GateOutcome {
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  // The candidate's time over the baseline's; NaN for unchanged code, which is not timed.
  Estimate ratio{1, 1, 1};
  double detectable = 0;  // the least change that would have been found in 80% of tries
  double threshold = 0;
  std::uint64_t rounds = 0;
  bool confirmed = false;  // a finding, by the processes after the first
  std::string note;        // why a finding was not believed
  std::string unseen;      // why it could not be seen whether the machine code is the same
};

// The case that a row takes longest for, in the best case: what its formula needs of this machine.
struct BoundBy {
  double ns = 0;
  std::string binds;  // "memory L2", "arithmetic", "elementary functions"
  double share = 0;   // of the limit that was reached, from 0 to 1
};

struct AgainstPeer {
  std::string impl;
  Estimate ratio;  // this kernel's time over that one's: below 1 is faster
};

// One kernel on one case, in one state of the caches, with one number of threads.
struct BenchRow {
  std::string op;
  std::string case_text;
  std::string dtype;
  std::string impl;
  std::string planned;  // the kernel in whose place it was timed, as that refuses the dtype; mostly itself
  bool peer = false;
  std::string cache;  // where the operands lay: "warm", "l2" or "dram"
  int threads = 1;
  std::string shape;  // why this case
  BenchStatus status = BenchStatus::not_run;
  std::string reason;
  std::string information;
  std::string device;  // the GPU that it ran on, by whose clock `ns` is; empty: the processor
  std::uint64_t rounds = 0;
  std::uint64_t calls = 0;
  std::string clock;      // of `ns`: "cpu", the thread's own; "wall", with several threads; "device"
  Estimate ns;            // of one call
  double contention = 1;  // wall over the thread's own time: above 1, others had the processor
  std::int64_t bytes = 0;
  std::int64_t operations = 0;  // elementary functions not among them
  std::int64_t functions = 0;
  std::optional<BoundBy> limit;
  std::optional<AgainstPeer> best_peer;  // of our own and plugins' kernels
  std::optional<GateOutcome> gate;       // of a run against a baseline

  // Where operands lie, and whose clock was read: "warm", "warm on NVIDIA H200".
  std::string place() const { return device.empty() ? cache : cache + " on " + device; }
  // What a row is known by, from one run to the next.
  std::string key() const;
  bool by_wall() const { return clock == "wall"; }
  bool measured() const { return status == BenchStatus::measured && ns.median > 0; }
  // Impossible is what was measured and judged to be no time of the operator.
  bool has_failed() const { return status == BenchStatus::failed || status == BenchStatus::impossible; }
  // What a run of benchmarks fails for; a peer that is wrong is the peer's affair.
  bool fails() const { return has_failed() && !peer; }
  // The same machine code as the base's, which is not timed.
  bool unchanged() const { return gate && gate->verdict == SpeedVerdict::unchanged; }
};

// As it stands in files, under the key "assay" of each of Google Benchmark's rows (docs/bench-file.md lists the keys).
nlohmann::ordered_json bench_row_json(const BenchRow& row);
// Of such a value. Throws FileError that names the key that is wrong.
BenchRow bench_row_of(const JsonReader& value);

}  // namespace assay
