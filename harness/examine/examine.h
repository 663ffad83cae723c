// Runs cases on kernels and judges what comes back: the step that verify, replay, shrinking and explain share.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../judge/judge.h"
#include "../registry/registry.h"
#include "../run/lane.h"
#include "known_culprits.h"
#include "reports/result.h"
#include "vocabulary/case.h"

namespace assay {

// What one kernel did with one case.
struct Finding {
  const Kernel* kernel = nullptr;
  Judgement judgement;
  std::string information;
  std::vector<std::string>
      needs;  // of a peer or plugin that passed: see needed_weaknesses(), if that was asked for
  std::vector<std::vector<std::byte>> outputs;  // packed; empty unless the kernel returned them
  std::shared_ptr<RanCode> ran;  // by its two runs, where workers record it (coverage/runtime.h)
  bool applicable = true;  // false: the case asks for an argument check that is not this kernel's business
  bool stopped =
      false;  // the lane gave up before all runs that the judgement needs, or a StopScope ended it: there is none
  std::optional<Harmed> harmed =
      {};  // of a kernel that damaged its process, where the calls are of known cases
};

struct Examined {
  Call call;
  std::vector<Finding> findings;  // one for each kernel
};

// Which calls that passed run again, beside the two runs of the call and that of its property. See further_runs.h.
enum class Further : std::uint8_t {
  none,
  padded,  // for each kernel one small case, in memory with room after each row
  few,  // `padded`, and one small case up to 48 times, one whose results are not all one number if there is any; processes are new for
        // these runs and for the cases, unless kernels run on a device, which takes long to start
  many,  // `padded`, and one small case up to 4,096 times
  all    // each case in padded memory, and again: up to 4,096 times, or 12 if it is large
};
// For chunk number `chunk` of a run: of eight chunks in a row the first is `many`, the fifth `few`, and the others are `padded`.
Further further_in(std::uint64_t chunk);

struct ExamineOptions {
  bool properties = true;     // also run a metamorphic relation of each case
  bool keep_outputs = false;  // fill Finding::outputs
  bool ahead =
      true;  // the reference runs while the kernels do; without: after them, and only of cases that one has taken
  Further further = Further::none;
  bool needs = false;     // fill Finding::needs
  std::uint64_t row = 0;  // of the results that the cases are of, by any number: see RunOptions::hangs
  // A call that failed runs again in a fresh process. If it fails there, the fault is its kernel's. If not, the kernels that ran before are
  // tried, and the fault is counted for one after which it shows again (predecessors.cpp).
  bool confirm = false;
  bool only_runs = false;  // nothing is judged: for what calls do to their process. Not with `further`
};

// A kernel that damaged its process in an earlier call of examine(), whose findings have been returned.
struct Blamed {
  const Kernel* kernel = nullptr;
  std::uint64_t row = 0;  // ExamineOptions::row of that call of examine()
  Case of;                // the case that the fault is counted for
  Finding finding;        // what is to be counted for that case
  Finding instead;        // what was counted for it until now, and is to be taken out
};

// Calls of one kernel, and one of another after them, in the same process.
struct Sequence {
  const Kernel* kernel = nullptr;
  std::vector<Call> calls;
  std::vector<Case> cases;  // of the calls, whose seeds choose their properties
  bool after_repeats = false;
  const Kernel* victim = nullptr;
  Call call;
  Case of;
  bool repeated = false;
};
struct Consequence {
  Finding alone;  // the victim's, in a fresh process
  Finding after;  // and after the others; no fault if it is none each of two times
};

class Examiner {
 public:
  // `known` is shared by those that examine the same kernels; none: of its own.
  Examiner(std::shared_ptr<Zygotes> zygotes, RunOptions options, std::shared_ptr<KnownCulprits> known = {});

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
  // Since it was asked last. Only with ExamineOptions::confirm.
  std::vector<Blamed> take_blamed() { return std::exchange(blamed_, {}); }
  // In processes of their own. What comes next does not run in these.
  Consequence consequence_of(const Sequence& sequence);

 private:
  const Kernel& threaded(const Kernel& kernel, int threads);

  void learn_of_others();
  Lane fresh_lane() const;

  // predecessors.h
  struct Examination;
  struct Culprits;
  struct Lot;
  struct Past;
  struct Suspect;
  struct Trial;
  struct Deed;
  // What the lane's processes ran before the present call of examine().
  struct Earlier {
    std::vector<Case> cases;
    std::vector<const Kernel*> kernels;
    std::vector<std::vector<Finding>> findings;  // of each case and kernel, without results
    std::uint64_t row = 0;
    Further further = Further::none;
  };
  void remember(const Examination& e);
  void confirm(const Examination& e);
  std::vector<Finding> examine_again(const Examination& e, std::size_t from, std::size_t n,
                                     const Kernel& kernel, Further further);
  std::string find_culprits(Culprits& c, std::size_t call, std::size_t kernel, Further further);
  bool is_collateral(const Trial& trial, std::span<const Suspect> suspects) const;
  void run_harmless(const Kernel& kernel, const Call& call);
  std::vector<Suspect> suspects(const Culprits& c, std::size_t call, std::size_t kernel,
                                Further further) const;
  void blame(Culprits& c, const Trial& trial, const Suspect& suspect, const Deed& deed);
  // trials.cpp
  RunOptions options_of(const Trial& trial) const;
  bool fails_after(const Trial& trial, int times, const std::function<void()>& before);
  bool fails_at_times(const Trial& trial);
  void run_calls(const Trial& trial, const Kernel& kernel, std::span<const Past> calls);
  void repeat_calls(const Trial& trial, const Kernel& kernel, std::span<const Past> calls,
                    std::optional<Further> further);
  void search(const Trial& trial, std::span<const Suspect> group, bool surely,
              std::vector<const Suspect*>& guilty);
  Deed deed_of(const Trial& trial, const Suspect& suspect, bool repeats);

  std::shared_ptr<Zygotes> zygotes_;
  RunOptions run_options_;
  Lane lane_;
  std::map<std::pair<const Kernel*, int>, Kernel>
      threaded_;  // the same kernels in processes with several threads
  std::deque<Earlier> earlier_;
  std::shared_ptr<KnownCulprits> known_;
  std::set<std::string>
      apart_;  // of the known ones that spoil their process, those that the lane keeps apart
  std::vector<Blamed> blamed_;
};

}  // namespace assay
