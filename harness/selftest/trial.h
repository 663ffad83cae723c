// One operator and dtype on trial: its variants run case by case, until everybody has found everything or cases end.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../examine/examine.h"
#include "../variants/variant.h"
#include "selftest.h"

namespace assay {

struct Subject {
  const Operator* op;
  Dtype dtype;
  const Kernel* ours;  // our own kernel, whose contract variants must keep; null if there is none
  std::vector<const Kernel*> strangers;  // kernels that are planted instead of variants
};

// The variant as a kernel of a worker of its own, which promises what ours does.
Kernel variant_kernel(const Subject& subject, std::string_view variant, const std::string& program);

class Trial {
 public:
  // What it is given must outlive it.
  Trial(const Subject& subject, const std::string& program, const SelftestOptions& options);

  // `generator` guards the generation of cases, which is for one thread at a time.
  void run(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted);

  const std::deque<ControlRow>& controls() const { return controls_; }
  // Of variants that some case allows, or that none does.
  std::vector<Planted> planted(bool fits = true) const;

 private:
  struct Suspect {
    Kernel kernel;
    Planted planted;
    std::optional<Variant> variant{};  // none: a kernel of a plugin
    bool fits = true;                  // some case is one in which it does something
    bool settled() const;
  };

  Suspect& plant(Kernel kernel, std::string variant, std::string says);
  void plant_variants(const std::string& program);
  // Whether somebody has yet to find it: Assay, or rivals that are asked.
  bool is_open(const Suspect& s) const;
  // Runs these suspects and the controls. The first `valid` of the cases are allowed.
  void examine(Examiner& examiner, const std::vector<Case>& cases, std::uint64_t valid,
               const std::vector<Suspect*>& suspects);
  // Whether the suspect does something in a case, whose finding this is.
  static bool fits(const Suspect& suspect, const Finding& finding, const Call& call);
  // Cases after those of the run, for a variant that changes few of those.
  void examine_further(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted,
                       Suspect& suspect);

  const Subject& subject_;
  const SelftestOptions& options_;
  Kernel none_;
  std::deque<Suspect> suspects_;
  std::deque<ControlRow> controls_;
};

}  // namespace assay
