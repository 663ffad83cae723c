#include "predecessors.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sequence.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

// Calls of examine() whose kernels may be suspected later.
constexpr std::size_t kRemembered = 12;
constexpr std::size_t kMostLots = 96;    // of all suspects
constexpr std::size_t kFewToRepeat = 4;  // calls, each of which is made by the thousand

// Faults that somebody else can have brought about, and which cost little to look for again: not calls that do not return in a fresh
// process either.
bool is_doubtful(const Finding& f) {
  if (!f.applicable || f.stopped || f.kernel->on_device) return false;
  const Judgement& j = f.judgement;
  return is_fault(j.verdict) && (j.verdict != Verdict::timeout || j.doing == Doing::after_others) &&
         j.verdict != Verdict::wrongly_accepted && j.doing != Doing::to_others;
}

// Of calls that a fault may be counted for in place of what they came to, which are best: none that has a fault of its own.
int rank(const Finding& f, const Call& call) {
  constexpr int kRefused = 1, kWrongArguments = 2, kNone = 4;
  const Verdict v = f.judgement.verdict;
  if (!f.applicable || f.stopped || is_fault(v) || v == Verdict::not_run) return kNone;
  return (v == Verdict::refused ? kRefused : 0) + (call.error.empty() ? 0 : kWrongArguments);
}
constexpr int kMostRank = 3;

}  // namespace

void Examiner::remember(const Examination& e) {
  if (e.made_of.empty()) return;
  std::vector<std::vector<Finding>> findings;
  for (const Examined& x : e.all) {
    std::vector<Finding>& copies = findings.emplace_back(x.findings);
    for (Finding& f : copies) {
      f.outputs.clear();
      f.ran.reset();
    }
  }
  earlier_.push_back({{e.made_of.begin(), e.made_of.end()},
                      {e.kernels.begin(), e.kernels.end()},
                      std::move(findings),
                      e.options.row,
                      e.options.further});
  if (earlier_.size() > kRemembered) earlier_.pop_front();
}

// What is wrong in a fresh process, too, is the kernel's own. One look for each row: more would say nothing else. What is right there is
// taken from there, and who ran before is tried.
void Examiner::confirm(const Examination& e) {
  const auto is_open = [&](const Finding& f) {
    return is_doubtful(f) && !known_->is_wrong_alone({f.kernel, e.options.row});
  };
  if (std::ranges::none_of(e.all,
                           [&](const Examined& x) { return std::ranges::any_of(x.findings, is_open); }))
    return remember(e);
  const std::deque<Earlier> earlier = std::exchange(earlier_, {});
  bool clean = false;  // the lane's processes have run nothing but what was right
  Culprits culprits{e, earlier, apart_, {}, {}};
  std::set<const Kernel*> explained;
  for (std::size_t i = 0; i < e.all.size(); ++i)
    for (std::size_t k = 0; k < e.kernels.size(); ++k) {
      Finding& f = e.all[i].findings[k];
      const KnownCulprits::Row row{f.kernel, e.options.row};
      if (!is_open(f)) continue;
      const Further further = e.at_once.contains(&f) ? Further::none : Further::all;
      const auto alone = [&] { return std::move(examine_again(e, i, 1, *f.kernel, further)[0]); };
      if (!clean) start_afresh();
      Finding again = alone();
      if (clean && !again.stopped && is_fault(again.judgement.verdict)) {
        start_afresh();
        again = alone();
      }
      // A kernel that was given up meanwhile, or has no process: nothing has been learnt.
      if (again.stopped || again.judgement.verdict == Verdict::not_run) continue;
      clean = !is_fault(again.judgement.verdict);
      if (!clean) {
        known_->note_wrong_alone(row);
        if (again.judgement.verdict != f.judgement.verdict) f = std::move(again);
      } else if (explained.contains(f.kernel)) {
        f = std::move(again);
      } else if (std::string own = find_culprits(culprits, i, k, further); own.empty()) {
        explained.insert(f.kernel);
        f = std::move(again);
        clean = false;
      } else {
        known_->note_wrong_alone(row);
        f.judgement.detail += own;
        clean = false;
      }
    }
  start_afresh();
}

// Blames them, and returns "" where there are some; else what to say of the fault, which stays the kernel's.
std::string Examiner::find_culprits(Culprits& c, std::size_t call, std::size_t kernel, Further further) {
  const Examination& e = c.of;
  const Trial trial{c, call, kernel, further};
  const Kernel& victim = *trial.victim().kernel;
  constexpr int kTwice = 2;  // who fails now and then shall not find somebody to blame by chance
  if (fails_after(trial, kTwice, [&] { examine_again(e, call, 1, victim, Further::none); }))
    return "; in a fresh process it is right the first time, and not after a call of its own";
  if (fails_after(trial, kTwice, [&] { run_harmless(victim, e.all[call].call); }))
    return "; in a fresh process it is right, but not after a call that does no more than any kernel may: write its outputs, use stack "
           "and heap";
  std::vector<Suspect> all = suspects(c, call, kernel, further);
  std::erase_if(all, [&](const Suspect& s) { return trial.calls_of(s).empty(); });
  if (const auto own = std::ranges::find(all, &victim, &Suspect::kernel); own != all.end()) {
    const std::vector<Past> calls = trial.calls_of(*own);
    if (fails_after(trial, kTwice, [&] { run_calls(trial, victim, calls); }))
      return fmt::format("; in a fresh process it is right the first time, and not after {} calls of its own",
                         calls.size());
    all.erase(own);
  }
  std::vector<Suspect> known, open;
  for (const Suspect& s : all) (c.blamed.contains(s.kernel) ? known : open).push_back(s);
  // Those that are blamed already for another kernel's fault may be all that there are.
  bool found = !known.empty() && fails_after(trial, kTwice, [&] {
    for (auto s = known.rbegin(); s != known.rend(); ++s) run_calls(trial, *s->kernel, trial.calls_of(*s));
  });
  std::vector<const Suspect*> guilty;
  search(trial, open, !found, guilty);
  constexpr const char* kAtTimes = "; in a fresh process it is right at times, and wrong at others";
  constexpr const char* kNoTime =
      "; in a fresh process it is right, and there was no time to try all that had run before";
  if (found || !guilty.empty()) {
    if (fails_at_times(trial)) return kAtTimes;
    if (StopScope::over()) return kNoTime;  // nobody is blamed by half a trial
  }
  for (const Suspect* s : guilty) blame(c, trial, *s, deed_of(trial, *s, false));
  found = found || !guilty.empty();
  // One may undo what another did, and some do it in the thousandth call.
  if (found) return {};
  for (const bool more : {false, true}) {  // than each ran before
    for (const Suspect& s : all) {
      const auto again = [&] {
        const std::vector<Past> calls = trial.calls_of(s);
        if (more)
          repeat_calls(trial, *s.kernel, std::span(calls).last(std::min(calls.size(), kFewToRepeat)),
                       Further::all);
        else
          repeat_calls(trial, *s.kernel, calls, std::nullopt);
      };
      if (!fails_after(trial, kTwice, again)) continue;
      if (!found && fails_at_times(trial)) return kAtTimes;
      if (StopScope::over()) return kNoTime;
      found = true;
      if (!c.blamed.contains(s.kernel)) blame(c, trial, s, deed_of(trial, s, true));
    }
    if (found || (!more && is_collateral(trial, all))) return {};
  }
  if (StopScope::over()) return kNoTime;
  return "; in a fresh process it is right, and also after any one of the kernels that had run before";
}

// A heap that somebody has spoiled shows in whoever uses it next, and not each time. Where a kernel crashed or was at fault for memory
// itself, the crash of one that is right alone says nothing of that one. Nor does any fault where the thread of another kernel was still
// at work: where that thread writes depends on the time. From now on nothing runs after such a kernel.
bool Examiner::is_collateral(const Trial& trial, std::span<const Suspect> suspects) const {
  if (std::ranges::any_of(suspects, [&](const Suspect& s) {
        return s.kernel != trial.victim().kernel && known_->works_late(s.kernel->name);
      }))
    return true;
  if (trial.victim().judgement.verdict != Verdict::crashed) return false;
  bool some = false;
  for (const Suspect& s : suspects)
    for (const Past& past : trial.calls_of(s))
      if (const Verdict v = trial.finding_of(past).judgement.verdict;
          v == Verdict::crashed || v == Verdict::memory) {
        known_->note_spoils(s.kernel->name);
        some = true;
        break;
      }
  return some;
}

// Stack and heap are used in each of the kernel's processes.
void Examiner::run_harmless(const Kernel& kernel, const Call& call) {
  std::vector<Task> tasks{{&kernel, &call}};
  if (const auto threads = threaded_.find({&kernel, kThreads}); threads != threaded_.end())
    tasks.push_back({&threads->second, &call});
  for (Task& task : tasks) task.harmless = true;
  lane_.run(tasks);
}

// The nearest ones first; the kernel's own earlier calls are among them.
std::vector<Examiner::Suspect> Examiner::suspects(const Culprits& c, std::size_t call, std::size_t kernel,
                                                  Further further) const {
  const Examination& e = c.of;
  const Kernel& victim = *e.kernels[kernel];
  std::vector<Suspect> all;
  std::size_t lots = 0;
  const auto add = [&](const Kernel& k, const Lot& lot) {
    if (k.on_device || k.environment != victim.environment || c.apart.contains(k.name) || lot.calls == 0 ||
        ++lots > kMostLots)
      return;
    auto known = std::ranges::find(all, &k, &Suspect::kernel);
    if (known == all.end()) known = all.insert(all.end(), Suspect{&k, {}});
    known->lots.push_front(lot);
  };
  const bool later = further != Further::none;  // all calls came before
  for (std::size_t n = 1; n <= e.kernels.size(); ++n) {
    const std::size_t k = (kernel + e.kernels.size() - n) % e.kernels.size();
    add(*e.kernels[k], {.position = k,
                        .calls = later ? e.all.size() : call + (k < kernel ? 1 : 0),
                        .further = later ? e.options.further : Further::none});
  }
  for (auto before = c.earlier.rbegin(); before != c.earlier.rend(); ++before)
    for (std::size_t k = before->kernels.size(); k-- > 0;)
      add(*before->kernels[k],
          {.earlier = &*before, .position = k, .calls = before->cases.size(), .further = before->further});
  return all;
}

// The fault is counted for the call that does it, in place of what that came to; for another one of that kernel, where that has a fault
// of its own.
void Examiner::blame(Culprits& c, const Trial& trial, const Suspect& suspect, const Deed& deed) {
  if (!c.blamed.insert(suspect.kernel).second) return;
  known_->note_spoils(suspect.kernel->name);
  const Examination& e = c.of;
  const Finding& victim = trial.victim();
  const auto rank_of = [&](const Past& past) {
    const int its = rank(trial.finding_of(past), c.call_of(past));
    return past == deed.call && its <= kMostRank ? -1 : its;
  };
  const std::vector<Past> calls = trial.calls_of(suspect);
  const Past shown = *std::ranges::min_element(calls, {}, rank_of);
  if (rank_of(shown) > kMostRank) return;  // its row has nothing but faults
  std::vector<Past> before = deed.before;
  if (shown != deed.call) before.push_back(deed.call);
  Judgement j;
  j.verdict = Verdict::unstable;
  j.doing = Doing::to_others;
  j.detail =
      harm_text(victim.kernel->name, e.made_of.empty() ? "" : text(e.made_of[trial.call]), victim.judgement);
  std::optional<Harmed> harmed;
  if (!e.made_of.empty()) {
    harmed = {.impl = victim.kernel->name,
              .case_text = text(e.made_of[trial.call]),
              .repeated = trial.further != Further::none,
              .after_repeats = deed.repeats};
    for (const Past& p : before)
      harmed->before.push_back(
          text(p.lot->earlier != nullptr ? p.lot->earlier->cases[p.call] : e.made_of[p.call]));
  }
  if (const Earlier* const earlier = shown.lot->earlier; earlier != nullptr) {
    Finding finding;
    finding.kernel = suspect.kernel;
    finding.judgement = std::move(j);
    finding.harmed = std::move(harmed);
    blamed_.push_back({suspect.kernel, earlier->row, earlier->cases[shown.call], std::move(finding),
                       trial.finding_of(shown)});
    return;
  }
  Finding& f = e.all[shown.call].findings[shown.lot->position];
  f.judgement = std::move(j);
  f.harmed = std::move(harmed);
}

}  // namespace assay
