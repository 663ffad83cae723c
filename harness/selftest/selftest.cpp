#include "selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "../verify/verify.h"
#include "path_trial.h"
#include "report.h"
#include "reports/journal.h"
#include "state_trial.h"
#include "trial.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

std::vector<Subject> subjects(const Registry& registry, const SelftestOptions& options) {
  std::vector<Subject> all;
  for (const Operator* op : select_operators(options.patterns)) {
    const Kernel* ours = nullptr;
    std::vector<const Kernel*> strangers;
    for (const Kernel* k : registry.kernels_of(*op)) {
      if (k->peer || !k->unavailable.empty()) continue;
      if (k->name.starts_with(kPluginPrefix))
        strangers.push_back(k);
      else if (ours == nullptr)
        ours = k;
    }
    if (options.plugins && strangers.empty()) continue;
    for (int i = 0; i < kDtypes; ++i) {
      const auto dtype = static_cast<Dtype>(i);
      const bool chosen =
          options.dtypes.empty() || std::ranges::find(options.dtypes, dtype) != options.dtypes.end();
      if (op->dtypes.contains(dtype) && chosen) all.push_back({op, dtype, ours, strangers});
    }
  }
  return all;
}

}  // namespace

SelftestResult selftest(const Registry& registry, const std::string& program, const SelftestOptions& options,
                        const std::atomic<bool>& interrupted,
                        const std::function<void(const SelftestProgress&)>& progress) {
  const std::chrono::duration<double> before(options.journal == nullptr ? 0 : options.journal->before());
  const auto start = std::chrono::steady_clock::now() -
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(before);
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const std::vector<Subject> all = subjects(registry, options);
  if (all.empty())
    throw SelectionError("there is no such operator with results of such a dtype: nothing to plant");
  SelftestResult result;
  result.seed = options.seed;
  result.rivals = options.rivals;
  SelftestProgress shown;
  shown.total = all.size();
  const std::shared_ptr<Zygotes> zygotes = make_zygotes();
  std::mutex generator, mutex;
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  RunOptions run = options.run;
  run.give_up = [&](auto) { return interrupted.load(); };
  const auto key_of = [](const Subject& s) { return fmt::format("{} {}", s.op->schema.name, name(s.dtype)); };
  const auto add = [&](SelftestResult part, const Subject& subject) {
    for (Planted& p : part.planted) {
      ++shown.planted;
      shown.found += p.found ? 1 : 0;
      result.planted.push_back(std::move(p));
    }
    std::ranges::move(part.controls, std::back_inserter(result.controls));
    std::ranges::move(part.fit_nowhere, std::back_inserter(result.fit_nowhere));
    ++shown.done;
    shown.doing = key_of(subject);
    progress(shown);
  };
  if (options.journal != nullptr) {
    result.complete = false;
    options.journal->begin(nlohmann::json::parse(selftest_json(result)));
  }
  const auto work = [&] {
    const StopScope scope([&] { return interrupted.load(); });
    for (std::size_t i = next++; i < all.size() && !interrupted; i = next++) {
      if (const JournalEntry* known = options.journal == nullptr ? nullptr : options.journal->find(key_of(all[i]))) {
        const std::scoped_lock lock(mutex);
        add(selftest_of(known->add), all[i]);
        continue;
      }
      Examiner examiner(zygotes, run);  // which remembers kernels
      Trial trial = [&] {
        const std::scoped_lock lock(generator);  // of cases, which are counted
        return Trial(all[i], program, options);
      }();
      trial.run(examiner, generator, interrupted);
      PathTrial paths(all[i], program, options);
      paths.run(examiner, generator, interrupted);
      StateTrial states(all[i], program, options);
      states.run(examiner, generator, interrupted);
      if (interrupted) return;  // what was not found yet has not survived
      SelftestResult part;
      part.rivals = options.rivals;
      part.planted = trial.planted();
      std::ranges::move(paths.planted(), std::back_inserter(part.planted));
      std::ranges::move(states.planted(), std::back_inserter(part.planted));
      std::ranges::copy(trial.controls(), std::back_inserter(part.controls));
      std::ranges::move(trial.planted(false), std::back_inserter(part.fit_nowhere));
      if (options.journal != nullptr) options.journal->add(key_of(all[i]), elapsed(), kept_selftest(part));
      const std::scoped_lock lock(mutex);
      add(std::move(part), all[i]);
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t jobs = std::min(options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : cores,
                                    std::max<std::size_t>(all.size(), 1));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < jobs; ++t)
    threads.emplace_back([&] {
      try {
        work();
      } catch (const Stopped&) {  // what was not found yet has not survived
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!error) error = std::current_exception();
        next = all.size();
      }
    });
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
  result.complete = !interrupted;
  if (result.complete && result.planted.empty())
    throw SelectionError("no variant of that name concerns these operators and dtypes: nothing to plant");
  const auto order = [](const auto& x) { return std::tie(x.op, x.dtype); };
  std::ranges::stable_sort(result.planted, {}, order);
  std::ranges::stable_sort(result.fit_nowhere, {}, order);
  std::ranges::stable_sort(result.controls, {}, order);
  result.seconds = elapsed();
  return result;
}

}  // namespace assay
