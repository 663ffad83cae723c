// Assay on trial: wrong kernels are planted, and each must be found.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../registry/registry.h"
#include "../run/lane.h"
#include "reports/verdict.h"
#include "rivals.h"

namespace assay {

class Journal;  // reports/journal.h

struct SelftestOptions {
  std::vector<std::string> patterns;  // shell globs on operator names; empty: all
  std::vector<std::string> variants;  // shell globs on variants' names; empty: all
  std::vector<Dtype> dtypes;          // of results; empty: all
  std::uint64_t cases = 250;          // for each operator and dtype, as `assay verify` has them
  std::uint64_t seed = 0;
  bool plugins =
      false;     // plant the registry's plugin kernels, which are known to be wrong, instead of variants
  int jobs = 0;  // 0: one for each core
  bool rivals = true;  // also ask what they would have found, which takes twice the time
  RunOptions run;
  Journal* journal = nullptr;  // where what is finished is kept, and was before this run went on; or none
};

// One variant of one operator for one dtype.
struct Planted {
  std::string op;
  std::string dtype;
  std::string variant;
  std::string says;
  bool found = false;
  Verdict verdict = Verdict::pass;  // of the first case that found it
  std::string case_text;            // that case
  bool changed = false;             // it ever gave other results than the reference, or behaved otherwise
  std::uint64_t cases = 0;          // run until then
  bool further = false;             // it changes few of the operator's cases, and more were drawn for it
  std::array<bool, kRivals> by_rivals{};  // found by these on the same cases
  std::string unobservable;               // why nobody can tell it from a right kernel, or empty
};

// A right kernel on the same cases: what it is called wrong for is a false alarm.
struct ControlRow {
  std::string op;
  std::string dtype;
  std::string kernel;
  std::string alarm;  // of Assay: the case and what was said, or empty
  std::array<bool, kRivals> alarms_of_rivals{};
};

struct SelftestResult {
  std::vector<Planted> planted;      // sorted by operator, dtype, variant
  std::vector<ControlRow> controls;  // the same
  std::vector<Planted> fit_nowhere;  // variants that no case allows
  bool complete = true;
  bool rivals = true;  // were asked
  std::uint64_t seed = 0;
  double seconds = 0;
};

struct SelftestProgress {
  std::uint64_t done = 0;  // operators and dtypes
  std::uint64_t total = 0;
  std::uint64_t planted = 0;
  std::uint64_t found = 0;
  std::string doing;
};

// `program` is the executable whose worker has the variants. Throws SelectionError when nothing matches.
SelftestResult selftest(const Registry& registry, const std::string& program, const SelftestOptions& options,
                        const std::atomic<bool>& interrupted,
                        const std::function<void(const SelftestProgress&)>& progress);

}  // namespace assay
