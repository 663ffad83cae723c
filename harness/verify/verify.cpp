#include "verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "../examine/examiners.h"
#include "../generate/case_classes.h"
#include "../generate/cases.h"
#include "../generate/covering_order.h"
#include "../generate/data.h"
#include "../generate/paths.h"
#include "../generate/random.h"
#include "../model/parallel.h"
#include "../registry/installed.h"
#include "../registry/parts.h"
#include "../run/hangs.h"
#include "chunks.h"
#include "covered_calls.h"
#include "kept_cases.h"
#include "record_rows.h"
#include "replace.h"
#include "reports/journal.h"
#include "reports/run_file.h"
#include "short_run.h"
#include "stretch.h"
#include "subjects.h"
#include "tally.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

bool is_complete(const Examined& e) { return std::ranges::none_of(e.findings, &Finding::stopped); }

// One run on generated or listed cases. Its parts, in order: run() below.
class VerifyRun {
 public:
  VerifyRun(std::vector<Chosen> subjects, const VerifyOptions& options, const std::atomic<bool>& interrupted,
            const std::function<void(const Progress&)>& progress)
      : subjects_(std::move(subjects)),
        options_(options),
        chunks_(options),
        interrupted_(interrupted),
        report_(progress),
        stretch_(options, interrupted) {
    for (const Chosen& s : subjects_) {
      const std::vector<std::string> ordinary = ordinary_classes(*s.op);
      for (const Kernel* k : s.kernels) {
        Tally& row = rows_.emplace(RowKey{k, s.dtype}, Tally(*k, s.dtype)).first->second;
        if (decides(*k)) row.expect(ordinary);
      }
      for (const Kernel* k : s.unavailable) rows_.emplace(RowKey{k, s.dtype}, Tally(*k, s.dtype));
    }
    if (options.coverage) begin_coverage();
    work_ = chunks_.of(subjects_);
    for (const ChunkOfCases& item : work_)
      progress_.total +=
          chunks_.cases_in(subjects_[item.subject], item.chunk) + chunks_.errors_in(item.chunk);
    if (options_.is_short) {
      const auto rows = static_cast<std::size_t>(
          std::ranges::count_if(subjects_, [](const Chosen& s) { return !s.kernels.empty(); }));
      progress_.budget = options_.budget.value_or(budget_for(rows, most_plugin_kernels(subjects_)));
      budget_.emplace(*progress_.budget);
    }
  }

  RunResult run() {
    if (options_.journal != nullptr) go_on();
    RunOptions running = options_.run;
    running.give_up = [this](auto) { return stretch_.ends_cases(); };
    running.hangs = std::make_shared<Hangs>();
    parallel(running, [this](Examiner& examiner) { examine_chunks(examiner); });
    replace_refused_of_all_rows(running);
    draw_towards_code(running);
    RunResult result;
    result.rows = rows_of(rows_, options_);
    for (std::size_t i = 0; const auto& [key, tally] : rows_) {
      if (covered_) result.rows[i].code = covered_->run().of_row(key);
      ++i;
    }
    if (covered_) result.code = covered_->run().libraries();
    record_failures(result);
    result.seed = options_.seed;
    result.contract = options_.contract;
    if (options_.is_short)
      result.short_run = part_that_ran(subjects_, options_, done_, chunks_.size(), progress_.budget->count());
    stretch_.conclude(result, progress_);
    if (replacing_was_cut_ && result.complete) {
      result.complete = false;
      result.incomplete = stretch_.why_over();
    }
    return result;
  }

 private:
  // As if the run ended here, for the file of one that is killed.
  RunResult result_so_far() const {
    RunResult result;
    result.rows = rows_of(rows_, options_);
    result.seed = options_.seed;
    result.contract = options_.contract;
    stretch_.conclude(result, progress_);
    result.complete = false;
    result.incomplete = "it is still running";
    return result;
  }

  // Takes over what the journal has of finished chunks, and takes these out of the work; a new journal begins without any.
  void go_on() {
    options_.journal->begin(nlohmann::json::parse(to_json(result_so_far())));
    std::erase_if(work_, [this](const ChunkOfCases& item) {
      const JournalEntry* const entry = options_.journal->find(key_of(item));
      if (entry == nullptr) return false;
      ++done_[item.chunk];
      progress_.done += kept_count(*entry);
      take(*entry);
      return true;
    });
    if (options_.snapshot) options_.snapshot([this] { return result_so_far(); });
  }

  std::string key_of(const ChunkOfCases& item) const {
    const Chosen& s = subjects_[item.subject];
    return fmt::format("{} {} {}", s.op->schema.name, name(s.dtype), item.chunk);
  }
  static std::string key_of(std::string_view what, const RowKey& key) {
    return fmt::format("{} {} {} {}", what, key.first->op->schema.name, key.first->name, name(key.second));
  }

  void take(const JournalEntry& entry) {
    for (const auto& [row, part] : kept(entry, rows_)) add(row, part);
  }

  void add(const RowKey& key, const KeptPart& part) {
    rows_.at(key).add(part.tally);
    if (!part.seen.empty()) seen_[key].insert(seen_[key].end(), part.seen.begin(), part.seen.end());
    const std::uint64_t faults = part.tally.faults();
    if (faults > 0) stretch_.note_fault();
    if (!key.first->peer) progress_.faults += faults;
  }

  // Adds to rows what has finished together, and keeps it in the journal under the key. An empty key: it is not complete, so it is not
  // kept, and a run that is resumed does it again. Precondition: mutex_ is held.
  void finished(const std::string& key, const KeptParts& parts, std::uint64_t cases) {
    for (const auto& [row, part] : parts) add(row, part);
    if (options_.journal != nullptr && !key.empty())
      keep(*options_.journal, key, stretch_.elapsed().count(), parts, cases);
    if (options_.snapshot) options_.snapshot([this] { return result_so_far(); });
  }

  std::size_t lanes() const {
    return std::min<std::size_t>(threads_for(options_.jobs), std::max<std::size_t>(work_.size(), 1));
  }

  void parallel(const RunOptions& options, const std::function<void(Examiner&)>& work) {
    examiners_.run(lanes(), options, work);
  }

  void examine_chunks(Examiner& examiner) {
    const StopScope scope([this] { return stretch_.stops_cases(); });
    while (!stretch_.cases_over() && !examiners_.has_failed()) {
      const std::optional<ChunkOfCases> item = next_item();
      if (!item) return;
      Chosen& s = subjects_[item->subject];
      try {
        examine_chunk(examiner, s, item->chunk);
      } catch (const Stopped&) {
        return;
      } catch (const std::exception& e) {
        throw std::runtime_error(fmt::format("{} {}, seed {}, cases from {} on: {}", s.op->schema.name,
                                             name(s.dtype), options_.seed, item->chunk * chunks_.size(),
                                             e.what()));
      }
    }
  }

  // Nothing where all is done, or the next is the first of a round for which a short run has no time.
  std::optional<ChunkOfCases> next_item() {
    const std::scoped_lock lock(mutex_);
    if (next_ >= work_.size() || budget_is_spent_) return std::nullopt;
    const ChunkOfCases& item = work_[next_];
    if (budget_ && (next_ == 0 || work_[next_ - 1].chunk != item.chunk)) {
      budget_is_spent_ = !budget_->begins(item.chunk, stretch_.elapsed());
      if (budget_is_spent_) return std::nullopt;
    }
    ++next_;
    return item;
  }

  // The kernels that run this chunk.
  std::vector<const Kernel*> kernels_in(const Chosen& s, std::uint64_t chunk) const {
    std::vector<const Kernel*> kernels = s.kernels;
    if (options_.is_short && chunk >= kPeerRounds)
      std::erase_if(kernels, [&](const Kernel* k) { return is_sampled(*k, options_.impls); });
    return kernels;
  }

  void examine_chunk(Examiner& examiner, Chosen& s, std::uint64_t chunk) {
    NumberedCases made;
    {
      const std::scoped_lock lock(generator_);  // RapidCheck's generators run on one thread at a time
      if (options_.is_short && s.order.empty())
        s.order = covering_order(*s.op, s.dtype, options_.seed, options_.cases);
      made = chunks_.make(s, chunk);
    }
    const auto& [cases, indices] = made;
    const std::vector<Examined> examined =
        examiner.examine(cases, kernels_in(s, chunk),
                         {.further = further_in(chunk), .needs = true, .row = row_of(s.dtype), .confirm = true});
    std::vector<std::vector<std::string>> classes(
        chunks_.cases_in(s, chunk));  // those with wrong arguments come after
    for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = classes_of(cases[c]);
    const std::scoped_lock lock(mutex_);
    ++done_[chunk];
    KeptParts parts;
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const std::string case_text = text(cases[c]);
      for (const Finding& f : examined[c].findings) {
        KeptPart& part =
            parts.try_emplace({f.kernel, s.dtype}, KeptPart{Tally(*f.kernel, s.dtype)}).first->second;
        Tally& row = part.tally;
        row.add(f, case_text, indices[c]);
        if (covered_)
          covered_->note(f, {f.kernel, s.dtype}, cases[c], indices[c],
                         c < classes.size() && draws(*f.kernel));
        if (c < classes.size() && decides(*f.kernel) && !f.stopped) {
          row.covered(f, classes[c]);
          if (chunks_.is_listed()) continue;
          row.ask();
          part.seen.push_back({indices[c], f.judgement.verdict == Verdict::refused});
        }
      }
    }
    add_blamed(examiner, indices.front(), parts);
    const auto complete = static_cast<std::uint64_t>(std::ranges::count_if(examined, is_complete));
    progress_.done += complete;
    // A chunk of which something was not run is not done.
    finished(complete == examined.size()
                 ? key_of(ChunkOfCases{static_cast<std::size_t>(&s - subjects_.data()), chunk})
                 : "",
             parts, complete);
    progress_.doing = fmt::format("{} {}", s.op->schema.name, name(s.dtype));
    progress_.elapsed = stretch_.elapsed();
    report_(progress_);
  }

  bool decides(const Kernel& kernel) const { return !kernel.peer || names(options_.impls, kernel.name); }

  // Each row that refused cases gets as many others. A short run takes up to half of its budget more for them.
  void replace_refused_of_all_rows(const RunOptions& running) {
    std::vector<std::pair<RowKey, std::vector<SeenCase>>> rows;
    for (auto& [key, seen] : seen_)
      if (std::ranges::any_of(seen, &SeenCase::refused)) rows.emplace_back(key, std::move(seen));
    if (rows.empty()) return;
    const std::function<bool()> over = until_half_more();
    std::atomic<std::size_t> next{0};
    parallel(running, [&](Examiner& examiner) {
      const StopScope scope([this] { return stretch_.stops_cases(); });
      for (std::size_t i = next++; i < rows.size() && !over(); i = next++)
        if (!was_replaced(rows[i].first))
          replace_refused_of_row(examiner, rows[i].first, std::move(rows[i].second), over);
    });
    replacing_was_cut_ = stretch_.cases_over();
  }

  bool was_replaced(const RowKey& key) {
    const JournalEntry* const entry =
        options_.journal == nullptr ? nullptr : options_.journal->find(key_of("instead", key));
    if (entry == nullptr) return false;
    const std::scoped_lock lock(mutex_);
    take(*entry);
    return true;
  }

  void replace_refused_of_row(Examiner& examiner, const RowKey& key, std::vector<SeenCase> seen,
                              const std::function<bool()>& over) {
    const Operator& op = *key.first->op;
    std::ranges::sort(seen, {}, &SeenCase::index);  // whichever chunk was done first
    Steering steering(op, key.second, mix(options_.seed, options_.shard), options_.cases);
    {
      const std::scoped_lock lock(generator_);
      for (const SeenCase& s : seen) steering.saw(generate(op, key.second, options_.seed, s.index), s.refused);
    }
    {
      const std::scoped_lock lock(mutex_);
      progress_.doing = fmt::format("replacing what {} refused of {}", key.first->name, op.schema.name);
      report_(progress_);
    }
    const Replacement what{key.first, key.second,
                           static_cast<std::uint64_t>(std::ranges::count_if(seen, &SeenCase::refused)),
                           2 * options_.cases};
    Tally part(*key.first, key.second);
    replace_refused(examiner, steering, what, over,
                    [&](const Finding& f, const Case& c, std::uint64_t index) {
                      add_extra(f, key, c, index, true, part);
                    });
    const std::scoped_lock lock(mutex_);
    KeptParts parts{{key, {std::move(part)}}};
    add_blamed(examiner, options_.cases, parts);
    finished(over() ? "" : key_of("instead", key), parts, 0);
  }

  // Whether a short run has had half of its time more than until now.
  std::function<bool()> until_half_more() const {
    return [this, begun = stretch_.elapsed()] {
      return stretch_.cases_over() || examiners_.has_failed() ||
             (progress_.budget &&
              stretch_.elapsed() > std::max(*progress_.budget, begun + *progress_.budget / 2));
    };
  }

  // Of a case for one kernel: in place of a refused one, or towards code that has not run.
  void add_extra(const Finding& f, const RowKey& key, const Case& c, std::uint64_t index, bool instead,
                 Tally& row) {
    const std::vector<std::string> classes = classes_of(c);
    const std::scoped_lock lock(mutex_);
    row.add(f, text(c), index);
    if (instead || was_judged(f)) row.covered(f, classes, instead);
    if (covered_ && instead) covered_->note(f, key, c, index, true);
    if (!instead) covered_->note_drawn(f, key);
  }

  void begin_coverage() {
    std::vector<const Kernel*> kernels;
    for (const Chosen& s : subjects_) kernels.insert(kernels.end(), s.kernels.begin(), s.kernels.end());
    covered_ = std::make_unique<CoveredCalls>(kernels);
  }

  bool draws(const Kernel& kernel) const { return decides(kernel) && !chunks_.is_listed(); }
  // Each row whose code workers record gets up to as many more cases as it had. A short run takes up to half of its budget more for them.
  void draw_towards_code(const RunOptions& running) {
    if (!covered_) return;
    std::vector<CoveredCalls::Row> rows = covered_->take_rows();
    const std::function<bool()> over = until_half_more();
    std::atomic<std::size_t> next{0};
    parallel(running, [&](Examiner& examiner) {
      const StopScope scope([this] { return stretch_.stops_cases(); });
      for (std::size_t i = next++; i < rows.size() && !over(); i = next++) {
        const RowKey key = rows[i].key;
        Tally part(*key.first, key.second);
        CoveredCalls::draw(examiner, std::move(rows[i]), mix(options_.seed, options_.shard), options_.cases,
                           over, [&](const Finding& f, const Case& c, std::uint64_t index) {
                             add_extra(f, key, c, index, false, part);
                           });
        const std::scoped_lock lock(mutex_);
        KeptParts parts{{key, {std::move(part)}}};
        add_blamed(examiner, options_.cases, parts);
        finished(over() ? "" : key_of("towards", key), parts, 0);
      }
    });
    replacing_was_cut_ = replacing_was_cut_ || stretch_.cases_over();
  }

  // Shrinks the first failure of each kind of every row and writes a case file for each failure kept.
  void record_failures(RunResult& result) {
    if (options_.out.empty()) return;
    std::vector<FailingRow> failing = failing_rows(result.rows, rows_);
    const KernelOf kernel_of = [this](auto op, const auto& impl) { return kernel_in(rows_, op, impl); };
    record_rows(examiners_, lanes(), failing, {options_, stretch_, interrupted_, kernel_of},
                [this](const Row& row) {
                  const std::scoped_lock lock(mutex_);
                  progress_.doing = fmt::format("recording {} {} {}", row.op, row.impl, row.dtype);
                  report_(progress_);
                });
  }

  std::vector<Chosen> subjects_;
  const VerifyOptions& options_;
  const Chunks chunks_;
  const std::atomic<bool>& interrupted_;
  const std::function<void(const Progress&)>& report_;
  Examiners examiners_;
  Stretch stretch_;
  std::vector<ChunkOfCases> work_;
  std::mutex generator_;  // the orders of subjects_, too
  std::mutex mutex_;      // what follows
  std::size_t next_ = 0;  // in work_
  std::optional<Budget> budget_;
  bool budget_is_spent_ = false;
  std::map<std::uint64_t, std::uint64_t> done_;  // chunk -> subjects that had it
  std::map<RowKey, Tally> rows_;
  std::map<RowKey, std::vector<SeenCase>> seen_;  // of rows that decide
  std::unique_ptr<CoveredCalls> covered_;
  bool replacing_was_cut_ = false;
  Progress progress_;
};

}  // namespace

RunResult verify(const Registry& registry, const VerifyOptions& options, const std::atomic<bool>& interrupted,
                 const std::function<void(const Progress&)>& progress) {
  RunResult result = VerifyRun(subjects(registry, options), options, interrupted, progress).run();
  if (result.short_run && !is_installed(registry.program()))  // to which nothing can be added
    for (const Part& part : parts())
      if (!is_built(registry.program(), part) &&
          std::ranges::any_of(kernels_of(part),
                              [&](const std::string& k) { return selects(options.impls, k); }))
        result.short_run->not_built.emplace_back(part.name);
  return result;
}

}  // namespace assay
