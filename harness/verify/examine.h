// Runs cases on kernels and judges what comes back: the step that verify, replay, shrinking and explain share.
#pragma once

#include <map>
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
  bool applicable = true;  // false: the case asks for an argument check that is not this kernel's business
  bool stopped = false;    // the lane gave up before all runs that the judgement needs: there is none
};

struct Examined {
  Call call;
  std::vector<Finding> findings;  // one for each kernel
};

struct ExamineOptions {
  bool properties = true;     // also run a metamorphic relation of each case
  bool keep_outputs = false;  // fill Finding::outputs
};

class Examiner {
 public:
  Examiner(std::shared_ptr<Zygotes> zygotes, RunOptions options);

  // Every kernel on every case, in the order given. The kernels are available.
  std::vector<Examined> examine(std::span<const Case> cases, std::span<const Kernel* const> kernels,
                                const ExamineOptions& options = {});
  // The same for calls that exist already, recorded ones for example. Their data and the choice of property come from
  // `choices`, one for each call.
  std::vector<Examined> examine(std::vector<Call> calls, std::span<const std::uint64_t> choices,
                                std::span<const Kernel* const> kernels, const ExamineOptions& options = {});

 private:
  const Kernel& threaded(const Kernel& kernel);

  Lane lane_;
  std::map<const Kernel*, Kernel> threaded_;  // the same kernels in processes with several threads
};

}  // namespace assay
