// Runs cases on kernels and judges what comes back: the step that verify, replay, shrinking and explain share.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../judge/judge.h"
#include "../registry/registry.h"
#include "../run/lane.h"
#include "vocabulary/case.h"

namespace assay {

// What one kernel did with one case.
struct Finding {
  const Kernel* kernel = nullptr;
  Judgement judgement;
  std::string information;
  std::vector<std::vector<std::byte>> outputs;  // packed; empty unless the kernel returned them
  std::shared_ptr<RanCode> ran;  // by its two runs, where workers record it (coverage/runtime.h)
  bool applicable = true;  // false: the case asks for an argument check that is not this kernel's business
  bool stopped =
      false;  // the lane gave up before all runs that the judgement needs, or a StopScope ended it: there is none
};

struct Examined {
  Call call;
  std::vector<Finding> findings;  // one for each kernel
};

// Runs beside the two of each case and that of its property. See further_runs.h.
enum class Further : std::uint8_t {
  none,
  padded,  // of one case for each kernel: rows that have room behind them
  few,     // and tens of calls of one; processes are new, unless they use a device, whose start takes long
  many,    // and thousands of calls of one
  all      // all of it of each case
};
// What a run does for the chunk-th of its lots of cases: of eight, one has a kernel called by the thousand and one by the dozen.
Further further_in(std::uint64_t chunk);

struct ExamineOptions {
  bool properties = true;     // also run a metamorphic relation of each case
  bool keep_outputs = false;  // fill Finding::outputs
  bool ahead =
      true;  // the reference runs while the kernels do; without: after them, and only of cases that one has taken
  Further further = Further::none;
};

class Examiner {
 public:
  Examiner(std::shared_ptr<Zygotes> zygotes, RunOptions options);

  // What comes next runs in processes that have run nothing else.
  void start_afresh();

  // Every kernel on every case, in the order given. The kernels are available. Where a StopScope ends it, what is left is stopped, and the
  // calls of cases that were not begun are empty.
  std::vector<Examined> examine(std::span<const Case> cases, std::span<const Kernel* const> kernels,
                                const ExamineOptions& options = {});
  // The same for calls that exist already, recorded ones for example. Their data and the choice of property come from
  // `choices`, one for each call.
  // What they were made of, if that is given, makes calls of other shapes for further runs.
  std::vector<Examined> examine(std::vector<Call> calls, std::span<const std::uint64_t> choices,
                                std::span<const Kernel* const> kernels, const ExamineOptions& options = {},
                                std::span<const Case> made_of = {});

 private:
  const Kernel& threaded(const Kernel& kernel);

  std::shared_ptr<Zygotes> zygotes_;
  RunOptions run_options_;
  Lane lane_;
  std::map<const Kernel*, Kernel> threaded_;  // the same kernels in processes with several threads
};

}  // namespace assay
