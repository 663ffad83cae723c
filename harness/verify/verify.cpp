#include "verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "../generate/cases.h"
#include "../generate/covering_order.h"
#include "../generate/data.h"
#include "../generate/errors.h"
#include "../registry/parts.h"
#include "diagnosed.h"
#include "examine.h"
#include "record.h"
#include "short_run.h"
#include "stretch.h"
#include "tally.h"

namespace assay {
namespace {

constexpr std::uint64_t kChunk =
    2 * kCasesForAnError;  // cases handed to a lane at once; in a short run kRound

constexpr std::uint64_t kFewListed = 1000;

// One operator and dtype, with the kernels to run.
struct Subject {
  const Operator* op;
  Dtype dtype;
  std::vector<const Kernel*> kernels;  // available
  std::vector<const Kernel*> unavailable;
  std::vector<const Kernel*> left_out;  // by a short run
  std::vector<std::uint64_t> order{};   // of a short run's cases; empty until the first is made
  std::vector<std::uint64_t> listed{};  // which cases of VerifyOptions::listed are its own
};

// The dtype whose rows a case belongs to: that of its first result.
Dtype row_dtype(const Case& c) {
  const Checked checked = check_without_data(c);
  if (!checked.outputs.empty()) return checked.outputs[0].computed_in;
  for (const CaseValue& v : c.arguments)
    if (const auto* t = std::get_if<TensorSpec>(&v)) return t->dtype;
  return Dtype::f32;
}

// Without kernels: those of the operators that are selected, or of the cases that are listed, in the order of these.
std::vector<Subject> operators_and_dtypes(const VerifyOptions& options) {
  std::vector<Subject> all;
  if (options.listed.empty()) {
    for (const Operator* op : select_operators(options.patterns))
      for (int i = 0; i < kDtypes; ++i) all.push_back({op, static_cast<Dtype>(i), {}, {}, {}});
  }
  for (std::uint64_t i = 0; i < options.listed.size(); ++i) {
    const Operator* const op = options.listed[i].op;
    const Dtype dtype = row_dtype(options.listed[i]);
    auto at = std::ranges::find_if(all, [&](const Subject& s) { return s.op == op && s.dtype == dtype; });
    if (at == all.end()) at = all.insert(at, Subject{op, dtype, {}, {}, {}});
    at->listed.push_back(i);
  }
  return all;
}

std::vector<Subject> subjects(const Registry& registry, const VerifyOptions& options) {
  check_patterns(registry, options.impls, options.patterns);
  std::vector<Subject> all = operators_and_dtypes(options);
  std::vector<const Operator*> chosen;
  for (const Subject& s : all)
    if (std::ranges::find(chosen, s.op) == chosen.end()) chosen.push_back(s.op);
  check_impls(registry, chosen, options.impls);
  std::erase_if(all, [&](const Subject& s) {
    return !s.op->dtypes.contains(s.dtype) ||
           (!options.dtypes.empty() && std::ranges::find(options.dtypes, s.dtype) == options.dtypes.end());
  });
  if (all.empty() && !options.listed.empty() && !options.dtypes.empty())
    throw SelectionError("no case that is listed has results of these dtypes");
  for (Subject& s : all)
    for (const Kernel* k : registry.kernels_of(*s.op))
      if (selects(options.impls, k->name))
        (!k->unavailable.empty()                              ? s.unavailable
         : options.is_short && is_left_out(*k, options.impls) ? s.left_out
                                                              : s.kernels)
            .push_back(k);
  std::erase_if(
      all, [](const Subject& s) { return s.kernels.empty() && s.unavailable.empty() && s.left_out.empty(); });
  return all;
}

bool is_complete(const Examined& e) { return std::ranges::none_of(e.findings, &Finding::stopped); }

using RowKey = std::pair<const Kernel*, Dtype>;

class Run {
 public:
  Run(std::vector<Subject> subjects, const VerifyOptions& options, const std::atomic<bool>& interrupted,
      const std::function<void(const Progress&)>& progress)
      : subjects_(std::move(subjects)),
        options_(options),
        interrupted_(interrupted),
        report_(progress),
        zygotes_(make_zygotes()),
        stretch_(options, interrupted) {
    for (const Subject& s : subjects_) {
      for (const Kernel* k : s.kernels) rows_.emplace(RowKey{k, s.dtype}, Tally(*k, s.dtype));
      for (const Kernel* k : s.unavailable) rows_.emplace(RowKey{k, s.dtype}, Tally(*k, s.dtype));
    }
    // Chunks in the order of their first case, so that a run cut short has tried every operator equally. Of a list an operator may
    // have one chunk alone, so that shards take turns at those, too.
    std::uint64_t most = 0;
    for (const Subject& s : subjects_) most = std::max(most, cases_of(s));
    for (std::uint64_t c = 0; c * chunk_ < most; ++c)
      for (std::size_t s = 0; s < subjects_.size(); ++s)
        if ((is_listed() ? c + s : c) % options_.shards == options_.shard - 1 &&
            !subjects_[s].kernels.empty() && c * chunk_ < cases_of(subjects_[s]))
          work_.push_back({s, c});
    for (const Item& item : work_)
      progress_.total += cases_in(subjects_[item.subject], item.chunk) + errors_in(item.chunk);
    if (options_.is_short) {
      const auto rows = static_cast<std::size_t>(
          std::ranges::count_if(subjects_, [](const Subject& s) { return !s.kernels.empty(); }));
      progress_.budget = options_.budget.value_or(budget_for(rows));
      budget_.emplace(*progress_.budget);
    }
  }

  RunResult run() {
    RunOptions running = options_.run;
    running.give_up = [this](auto) { return stretch_.ends_cases(); };
    parallel(running, [this](Examiner& examiner) { generate_and_examine(examiner); });
    RunResult result;
    for (const auto& [key, tally] : rows_) {
      result.rows.push_back(tally.row());
      result.rows.back().named = names(options_.impls, key.first->name);
    }
    record_failures(result);
    result.seed = options_.seed;
    if (options_.is_short) result.short_run = part_that_ran();
    stretch_.conclude(result, progress_);
    return result;
  }

 private:
  struct Item {
    std::size_t subject;
    std::uint64_t chunk;
  };

  bool is_listed() const { return !options_.listed.empty(); }
  std::uint64_t cases_of(const Subject& s) const { return is_listed() ? s.listed.size() : options_.cases; }

  std::uint64_t chunks_of(const Subject& s) const { return (cases_of(s) + chunk_ - 1) / chunk_; }

  // A chunk of a list has each so many-th case, for neighbours are alike: where a run ends early, each line has had its turn.
  std::uint64_t cases_in(const Subject& s, std::uint64_t chunk) const {
    if (is_listed()) return (cases_of(s) - chunk + chunks_of(s) - 1) / chunks_of(s);
    return std::min(chunk_, cases_of(s) - chunk * chunk_);
  }

  // A list has none that it does not name.
  std::uint64_t errors_in(std::uint64_t chunk) const {
    if (is_listed()) return 0;
    return (std::min(chunk_, options_.cases - chunk * chunk_) + kCasesForAnError - 1) / kCasesForAnError;
  }

  // Calls `work` with a lane of its own on every job's thread.
  void parallel(const RunOptions& lane, const std::function<void(Examiner&)>& work) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t jobs =
        std::min<std::size_t>(options_.jobs > 0 ? static_cast<unsigned>(options_.jobs) : cores,
                              std::max<std::size_t>(work_.size(), 1));
    std::vector<std::thread> threads;
    std::exception_ptr error;
    for (std::size_t i = 0; i < jobs; ++i)
      threads.emplace_back([&] {
        try {
          Examiner examiner(zygotes_, lane);
          work(examiner);
        } catch (...) {
          const std::scoped_lock lock(mutex_);
          if (!error) error = std::current_exception();
          failed_ = true;
        }
      });
    for (std::thread& t : threads) t.join();
    if (error) std::rethrow_exception(error);
  }

  void generate_and_examine(Examiner& examiner) {
    while (!stretch_.over() && !failed_) {
      const std::optional<Item> item = next_item();
      if (!item) return;
      Subject& s = subjects_[item->subject];
      try {
        generate_and_examine(examiner, s, item->chunk);
      } catch (const std::exception& e) {
        throw std::runtime_error(fmt::format("{} {}, seed {}, cases from {} on: {}", s.op->schema.name,
                                             name(s.dtype), options_.seed, item->chunk * chunk_, e.what()));
      }
    }
  }

  // Nothing where all is done, or the next is the first of a round for which a short run has no time.
  std::optional<Item> next_item() {
    const std::scoped_lock lock(mutex_);
    if (next_ >= work_.size() || budget_is_spent_) return std::nullopt;
    const Item& item = work_[next_];
    if (budget_ && (next_ == 0 || work_[next_ - 1].chunk != item.chunk)) {
      budget_is_spent_ = !budget_->begins(item.chunk, stretch_.elapsed());
      if (budget_is_spent_) return std::nullopt;
    }
    ++next_;
    return item;
  }

  // The kernels that run this chunk.
  std::vector<const Kernel*> kernels_in(const Subject& s, std::uint64_t chunk) const {
    std::vector<const Kernel*> kernels = s.kernels;
    if (options_.is_short && chunk >= kPeerRounds)
      std::erase_if(kernels, [&](const Kernel* k) { return is_sampled(*k, options_.impls); });
    return kernels;
  }

  void generate_and_examine(Examiner& examiner, Subject& s, std::uint64_t chunk) {
    std::vector<Case> cases;
    std::vector<std::uint64_t> indices;
    {
      const std::scoped_lock lock(generator_);  // RapidCheck's generators run on one thread at a time
      if (options_.is_short && s.order.empty())
        s.order = covering_order(*s.op, s.dtype, options_.seed, options_.cases);
      make_cases(s, chunk, cases, indices);
    }
    const std::vector<Examined> examined = examiner.examine(cases, kernels_in(s, chunk));
    const std::scoped_lock lock(mutex_);
    ++done_[chunk];
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const std::string case_text = text(cases[c]);
      for (const Finding& f : examined[c].findings) {
        rows_.at({f.kernel, s.dtype}).add(f, case_text, indices[c]);
        if (is_fault(f.judgement.verdict) && !f.kernel->peer) ++progress_.faults;
      }
    }
    progress_.done += static_cast<std::uint64_t>(std::ranges::count_if(examined, is_complete));
    progress_.doing = fmt::format("{} {}", s.op->schema.name, name(s.dtype));
    progress_.elapsed = stretch_.elapsed();
    report_(progress_);
  }

  void make_cases(const Subject& s, std::uint64_t chunk, std::vector<Case>& cases,
                  std::vector<std::uint64_t>& indices) const {
    for (std::uint64_t k = 0; k < cases_in(s, chunk); ++k) {
      const std::uint64_t i = chunk * chunk_ + k;
      indices.push_back(is_listed()         ? s.listed[chunk + k * chunks_of(s)]
                        : options_.is_short ? s.order[i]
                                            : i);
      cases.push_back(is_listed() ? options_.listed[indices.back()]
                                  : generate(*s.op, s.dtype, options_.seed, indices.back()));
    }
    for (std::uint64_t e = 0; e < errors_in(chunk); ++e) {
      const std::uint64_t error = chunk * (chunk_ / kCasesForAnError) + e;
      cases.push_back(generate_error(*s.op, s.dtype, options_.seed, error).invalid);
      indices.push_back(options_.cases + error);  // behind the valid cases, so that numbers stay unique
    }
  }

  ShortRun part_that_ran() const {
    ShortRun part;
    part.budget = progress_.budget->count();
    part.of = options_.cases;
    const auto rows = static_cast<std::uint64_t>(
        std::ranges::count_if(subjects_, [](const Subject& s) { return !s.kernels.empty(); }));
    std::uint64_t of_peers = 0;
    for (const auto& [chunk, done] : done_) {
      if (done < rows) continue;  // interrupted
      const std::uint64_t cases = std::min(chunk_, options_.cases - chunk * chunk_);
      part.cases += cases;
      if (chunk < kPeerRounds) of_peers += cases;
    }
    std::set<std::string> left_out;
    for (const Subject& s : subjects_) {
      for (const Kernel* k : s.left_out) left_out.insert(k->name);
      for (const Kernel* k : s.kernels)
        if (is_sampled(*k, options_.impls)) part.sampled[k->name] = of_peers;
    }
    part.left_out.assign(left_out.begin(), left_out.end());
    return part;
  }

  // Shrinks the first failure of each kind of every row and writes a case file for each failure kept.
  void record_failures(RunResult& result) {
    if (options_.out.empty()) return;
    struct Job {
      Row* row;
      const Kernel* kernel;
    };
    std::vector<Job> jobs;
    for (Row& row : result.rows) {
      if (row.failures.empty()) continue;
      for (const auto& [key, tally] : rows_)
        if (key.first->op->schema.name == row.op && key.first->name == row.impl) {
          jobs.push_back({&row, key.first});
          break;
        }
    }
    std::atomic<std::size_t> next{0};
    RunOptions recording = options_.run;
    recording.give_up = [this](auto waited) { return stretch_.ends_recording(waited); };
    parallel(recording, [&](Examiner& examiner) {
      for (std::size_t i = next++; i < jobs.size(); i = next++) {
        {
          const std::scoped_lock lock(mutex_);
          progress_.doing =
              fmt::format("recording {} {} {}", jobs[i].row->op, jobs[i].row->impl, jobs[i].row->dtype);
          report_(progress_);
        }
        if (!interrupted_) diagnose_failures(examiner, *jobs[i].kernel, jobs[i].row->failures, interrupted_);
        std::vector<Verdict> shrunk;
        for (Failure& f : jobs[i].row->failures) {
          const bool first = std::ranges::find(shrunk, f.kind) == shrunk.end();
          shrunk.push_back(f.kind);
          // What did not come back once need not be waited for again when the time is over.
          const bool in_vain = f.kind == Verdict::timeout && stretch_.over();
          const int budget = first && !interrupted_ && !in_vain ? options_.shrink_budget : 0;
          record_failure(examiner, *jobs[i].kernel, f, jobs[i].row->dtype, options_.out,
                         {.run = !in_vain, .shrink_budget = budget});
        }
      }
    });
  }

  std::vector<Subject> subjects_;
  const VerifyOptions& options_;
  const std::atomic<bool>& interrupted_;
  const std::function<void(const Progress&)>& report_;
  std::shared_ptr<Zygotes> zygotes_;
  Stretch stretch_;
  // Of a list of few cases each may take long, and other lanes shall not wait for one that has several.
  const std::uint64_t chunk_ = options_.is_short                                    ? kRound
                               : is_listed() && options_.listed.size() < kFewListed ? 1
                                                                                    : kChunk;
  std::vector<Item> work_;
  std::atomic<bool> failed_{false};
  std::mutex generator_;  // the orders of subjects_, too
  std::mutex mutex_;      // what follows
  std::size_t next_ = 0;  // in work_
  std::optional<Budget> budget_;
  bool budget_is_spent_ = false;
  std::map<std::uint64_t, std::uint64_t> done_;  // chunk -> subjects that had it
  std::map<RowKey, Tally> rows_;
  Progress progress_;
};

}  // namespace

RunResult verify(const Registry& registry, const VerifyOptions& options, const std::atomic<bool>& interrupted,
                 const std::function<void(const Progress&)>& progress) {
  RunResult result = Run(subjects(registry, options), options, interrupted, progress).run();
  if (result.short_run)
    for (const Part& part : parts())
      if (!is_built(registry.program(), part) &&
          std::ranges::any_of(kernels_of(part),
                              [&](const std::string& k) { return selects(options.impls, k); }))
        result.short_run->not_built.emplace_back(part.name);
  return result;
}

}  // namespace assay
