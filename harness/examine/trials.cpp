// Who of several kernels makes another one fail: processes of their own, in which some run before it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "../generate/data.h"
#include "predecessors.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

constexpr std::chrono::milliseconds kShortLimit{1000};

}  // namespace

const Call& Examiner::Culprits::call_of(const Past& past) {
  if (past.lot->earlier == nullptr) return of.all[past.call].call;
  std::vector<Call>& calls = made[past.lot->earlier];
  if (calls.empty())
    for (const Case& c : past.lot->earlier->cases) calls.push_back(materialise(c));
  return calls[past.call];
}

std::vector<Examiner::Past> Examiner::Trial::calls_of(const Suspect& s) const {
  std::vector<Past> calls;
  for (const Lot& lot : s.lots)
    for (std::size_t i = 0; i < lot.calls; ++i)
      if (finding_of({&lot, i}).applicable) calls.push_back({&lot, i});
  return calls;
}

std::vector<Finding> Examiner::examine_again(const Examination& e, std::size_t from, std::size_t n,
                                             const Kernel& kernel, Further further) {
  const Kernel* const kernels[] = {&kernel};
  ExamineOptions options = e.options;
  options.confirm = false;
  options.further = further;
  std::vector<Call> calls;
  for (std::size_t i = from; i < from + n; ++i) calls.push_back(e.all[i].call);
  std::vector<Finding> findings;
  for (Examined& again : examine(std::move(calls), e.choices.subspan(from, n), kernels, options,
                                 e.made_of.empty() ? e.made_of : e.made_of.subspan(from, n)))
    findings.push_back(std::move(again.findings[0]));
  return findings;
}

// Who is looked for because a call did not return has little time, and is not given up for it.
RunOptions Examiner::options_of(const Trial& trial) const {
  RunOptions options = run_options_;
  if (trial.victim().judgement.verdict != Verdict::timeout) return options;
  options.time_limit = std::min<std::chrono::milliseconds>(options.time_limit, kShortLimit);
  options.hangs.reset();
  return options;
}

// Whether the kernel fails in a process that has run this before, each of so many times.
bool Examiner::fails_after(const Trial& trial, int times, const std::function<void()>& before) {
  for (int time = 0; time < times; ++time) {
    if (StopScope::over()) return false;
    lane_ = Lane(zygotes_, options_of(trial));  // in which nobody is kept apart
    before();
    const Finding f =
        std::move(examine_again(trial.among.of, trial.call, 1, *trial.victim().kernel, trial.further)[0]);
    if (f.stopped || !is_fault(f.judgement.verdict)) return false;
  }
  return true;
}

// Whether the kernel fails in some of several processes that have run nothing, as one does whose threads race.
bool Examiner::fails_at_times(const Trial& trial) {
  constexpr int kProcesses = 8;  // of a kernel that fails in half of them one in 256 passes for one that never does
  for (int process = 0; process < kProcesses && !StopScope::over(); ++process)
    if (fails_after(trial, 1, [] {})) return true;
  return false;
}

namespace {

// Calls that came one after another in one lot. `Past` is Examiner's own.
template <class Past, class F>
void each_lot(std::span<const Past> calls, const F& f) {
  while (!calls.empty()) {
    const auto end = std::ranges::find_if(calls, [&](const Past& p) { return p.lot != calls[0].lot; });
    const auto n = static_cast<std::size_t>(end - calls.begin());
    f(calls.first(n));
    calls = calls.subspan(n);
  }
}

}  // namespace

// What they come to is known.
void Examiner::run_calls(const Trial& trial, const Kernel& kernel, std::span<const Past> all) {
  const Examination& e = trial.among.of;
  each_lot(all, [&](std::span<const Past> calls) {
    const Earlier* const earlier = calls[0].lot->earlier;
    std::vector<Call> copies;
    std::vector<std::uint64_t> choices;
    for (const Past& p : calls) {
      copies.push_back(trial.among.call_of(p));
      choices.push_back(earlier != nullptr ? earlier->cases[p.call].seed : e.choices[p.call]);
    }
    const Kernel* const kernels[] = {&kernel};
    examine(std::move(copies), choices, kernels,
            {.row = earlier != nullptr ? earlier->row : e.options.row, .only_runs = true});
  });
}

// With further runs, for which they must be judged: these, or those that each lot had.
void Examiner::repeat_calls(const Trial& trial, const Kernel& kernel, std::span<const Past> all,
                            std::optional<Further> further) {
  const Examination& e = trial.among.of;
  each_lot(all, [&](std::span<const Past> calls) {
    const Earlier* const earlier = calls[0].lot->earlier;
    std::vector<Call> copies;
    std::vector<std::uint64_t> choices;
    std::vector<Case> cases;
    for (const Past& p : calls) {
      copies.push_back(trial.among.call_of(p));
      choices.push_back(earlier != nullptr ? earlier->cases[p.call].seed : e.choices[p.call]);
      if (earlier != nullptr || !e.made_of.empty())
        cases.push_back(earlier != nullptr ? earlier->cases[p.call] : e.made_of[p.call]);
    }
    const Kernel* const kernels[] = {&kernel};
    examine(std::move(copies), choices, kernels,
            {.ahead = false,
             .further = further.value_or(calls[0].lot->further),
             .row = earlier != nullptr ? earlier->row : e.options.row},
            cases);
  });
}

// Halves of those that are left, for there are few guilty ones among many. `surely`: one of them is. A suspect runs all that it ran before
// the fault: damage may add up.
void Examiner::search(const Trial& trial, std::span<const Suspect> group, bool surely,
                      std::vector<const Suspect*>& guilty) {
  if (group.empty()) return;
  const bool one = group.size() == 1;
  if (one || !surely) {
    const auto all = [&] {
      for (auto s = group.rbegin(); s != group.rend(); ++s) run_calls(trial, *s->kernel, trial.calls_of(*s));
    };
    if (!fails_after(trial, one ? 2 : 1, all)) return;
  }
  if (one) {
    guilty.push_back(&group[0]);
    return;
  }
  search(trial, group.first(group.size() / 2), false, guilty);
  search(trial, group.subspan(group.size() / 2), false, guilty);
}

// Which of its calls it takes: the last of the fewest first ones, alone if that does it.
Examiner::Deed Examiner::deed_of(const Trial& trial, const Suspect& suspect, bool repeats) {
  const std::vector<Past> calls = trial.calls_of(suspect);
  const auto fails = [&](int times, std::span<const Past> some) {
    return fails_after(trial, times, [&] {
      if (repeats)
        repeat_calls(trial, *suspect.kernel, some, Further::all);
      else
        run_calls(trial, *suspect.kernel, some);
    });
  };
  std::size_t most = calls.size();
  for (std::size_t least = 1; !repeats && least < most;) {
    const std::size_t n = (least + most) / 2;
    if (fails(1, std::span(calls).first(n)))
      most = n;
    else
      least = n + 1;
  }
  Deed deed{calls[most - 1], {}, repeats};
  if (calls.size() > 1 && !fails(2, std::span(&deed.call, 1)))
    deed.before.assign(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(most - 1));
  return deed;
}

Consequence Examiner::consequence_of(const Sequence& s) {
  const Kernel* const own[] = {s.kernel};
  const Kernel* const victim[] = {s.victim};
  std::vector<std::uint64_t> choices;
  for (const Case& c : s.cases) choices.push_back(c.seed);
  const std::uint64_t choice[] = {s.of.seed};
  const auto call = [&] {
    return std::move(examine({s.call}, choice, victim,
                             {.keep_outputs = true, .further = s.repeated ? Further::all : Further::none},
                             {&s.of, 1})[0]
                         .findings[0]);
  };
  Consequence c;
  lane_ = Lane(zygotes_, run_options_);
  c.alone = call();
  for (int time = 0; time < 2 && !c.alone.stopped && !is_fault(c.alone.judgement.verdict); ++time) {
    lane_ = Lane(zygotes_, run_options_);
    if (s.after_repeats)
      examine(s.calls, choices, own, {.ahead = false, .further = Further::all}, s.cases);
    else
      examine(s.calls, choices, own, {.only_runs = true});
    c.after = call();
    if (c.after.stopped || !is_fault(c.after.judgement.verdict)) break;
  }
  start_afresh();
  return c;
}

}  // namespace assay
