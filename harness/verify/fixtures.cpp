#include "fixtures.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "../examine/examine.h"
#include "kept_cases.h"
#include "record.h"
#include "reports/run_file.h"
#include "stretch.h"
#include "tally.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

Dtype row_dtype(const Fixture& f) { return f.call.outputs[0].computed_in; }

class FixtureRun {
 public:
  FixtureRun(const Registry& registry, const Fixtures& fixtures, const VerifyOptions& options,
             const std::atomic<bool>& interrupted, const std::function<void(const Progress&)>& progress)
      : registry_(registry),
        fixtures_(fixtures),
        options_(options),
        report_(progress),
        stretch_(options, interrupted),
        examiner_(make_zygotes(), patient(options.run)) {
    select();
  }

  RunResult run() {
    RunResult result;
    const StopScope scope(
        [this] { return recording_ ? stretch_.stops_recording() : stretch_.stops_cases(); });
    if (options_.journal != nullptr) options_.journal->begin(nlohmann::json::parse(to_json(result_so_far())));
    if (options_.snapshot) options_.snapshot([this] { return result_so_far(); });
    for (const std::size_t i : chosen_) {
      if (stretch_.over()) break;
      if (was_examined(i)) continue;
      try {
        examine(i);
      } catch (const Stopped&) {
        break;
      }
    }
    recording_ = true;
    for (const auto& [key, tally] : rows_) {
      Row row = tally.row();
      row.named = names(options_.impls, key.first->name) && !key.first->name.starts_with(kFixturePrefix);
      row.literally = row.named && names_literally(options_.impls, key.first->name);
      record_failures(row, *key.first);
      result.rows.push_back(std::move(row));
    }
    result.contract = options_.contract;
    result.fixtures = FixtureCount{fixtures_.source, fixtures_.found, fixtures_.left_out};
    stretch_.conclude(result, progress_);
    return result;
  }

 private:
  RunResult result_so_far() const {
    RunResult result;
    for (const auto& [key, tally] : rows_) result.rows.push_back(tally.row());
    result.contract = options_.contract;
    result.fixtures = FixtureCount{fixtures_.source, fixtures_.found, fixtures_.left_out};
    stretch_.conclude(result, progress_);
    result.complete = false;
    result.incomplete = "it is still running";
    return result;
  }

  static std::string key_of(std::size_t i) { return fmt::format("fixture {}", i); }

  void add(const KeptParts& parts) {
    for (const auto& [key, part] : parts) {
      rows_.at(key).add(part.tally);
      if (!key.first->peer) progress_.faults += part.tally.faults();
    }
  }

  bool was_examined(std::size_t i) {
    const JournalEntry* const entry =
        options_.journal == nullptr ? nullptr : options_.journal->find(key_of(i));
    if (entry == nullptr) return false;
    add(kept(*entry, rows_));
    ++progress_.done;
    return true;
  }

  RunOptions patient(RunOptions run) const {
    run.give_up = [this](auto waited) {
      return recording_ ? stretch_.ends_recording(waited) : stretch_.ends_cases();
    };
    return run;
  }

  bool wanted(const Fixture& f) const {
    const bool dtype =
        options_.dtypes.empty() || std::ranges::find(options_.dtypes, row_dtype(f)) != options_.dtypes.end();
    return dtype && selects_operator(options_.patterns, std::string(f.call.op->schema.name));
  }

  void select() {
    std::vector<const Operator*> operators;
    for (std::size_t i = 0; i < fixtures_.fixtures.size(); ++i) {
      const Fixture& f = fixtures_.fixtures[i];
      if (!wanted(f)) continue;
      operators.push_back(f.call.op);
      if (i % options_.shards == options_.shard - 1) chosen_.push_back(i);
      // Rows of every shard are the same.
      for (const Kernel* k : kernels_of(f)) rows_.try_emplace({k, row_dtype(f)}, *k, row_dtype(f));
      rows_.try_emplace({&producer(f), row_dtype(f)}, producer(f), row_dtype(f));
    }
    if (operators.empty())
      throw SelectionError(
          fmt::format("no fixture of {} is of the operators and dtypes asked for", fixtures_.source));
    check_impls(registry_, operators, options_.impls);
    progress_.total = chosen_.size();
  }

  std::vector<const Kernel*> kernels_of(const Fixture& f) const {
    std::vector<const Kernel*> kernels;
    for (const Kernel* k : registry_.kernels_of(*f.call.op))
      if (selects(options_.impls, k->name)) kernels.push_back(k);
    return kernels;
  }

  // Stands for whoever made the fixture, as if it were a kernel, mostly of ours: then its row decides the run.
  const Kernel& producer(const Fixture& f) {
    const std::string name = std::string(kFixturePrefix) + f.producer;
    for (const Kernel& k : producers_)
      if (k.op == f.call.op && k.name == name) return k;
    Kernel k;
    k.op = f.call.op;
    k.schema = f.call.op->schema.text;
    k.name = k.table_name = name;
    k.peer = fixtures_.peer;
    return producers_.emplace_back(std::move(k));
  }

  void add(KeptParts& parts, const Finding& finding, std::size_t i) {
    const Fixture& f = fixtures_.fixtures[i];
    const RowKey key{finding.kernel, row_dtype(f)};
    parts.try_emplace(key, KeptPart{Tally(*key.first, key.second)})
        .first->second.tally.add(finding, text(f.parsed), i);
  }

  Finding judged(const Fixture& f) {
    Finding finding;
    finding.kernel = &producer(f);
    finding.judgement = judge_fixture(f);
    finding.information = f.version.empty() ? f.producer : fmt::format("{} {}", f.producer, f.version);
    return finding;
  }

  void examine(std::size_t i) {
    const Fixture& f = fixtures_.fixtures[i];
    progress_.doing = std::string(f.call.op->schema.name);
    std::vector<const Kernel*> kernels;
    for (const Kernel* k : kernels_of(f))
      if (k->unavailable.empty()) kernels.push_back(k);
    const std::uint64_t choices[] = {i};
    const std::vector<Examined> examined = examiner_.examine({f.call}, choices, kernels, {.needs = true, .confirm = true});
    KeptParts parts;
    for (const Finding& finding : examined[0].findings) add(parts, finding, i);
    add(parts, judged(f), i);
    add(parts);
    if (std::ranges::none_of(examined[0].findings, &Finding::stopped)) {
      ++progress_.done;
      if (options_.journal != nullptr)
        keep(*options_.journal, key_of(i), stretch_.elapsed().count(), parts, 1);
    }
    if (options_.snapshot) options_.snapshot([this] { return result_so_far(); });
    report_(progress_);
  }

  // Fixtures are not shrunk: what they show is in their data, which a smaller case does not have.
  void record_failures(Row& row, const Kernel& kernel) {
    for (Failure& failure : row.failures) {
      const Fixture& f = fixtures_.fixtures[failure.index];
      if (!options_.out.empty()) record(row, kernel, f, failure);
      failure.detail += fmt::format(" ({})", f.origin);
    }
  }

  void record(const Row& row, const Kernel& kernel, const Fixture& f, Failure& failure) {
    Examined shown;
    if (kernel.name.starts_with(kFixturePrefix)) {
      Kernel promised = kernel;
      promised.contract = f.contract;
      shown.call = f.call;
      try {
        shown.findings = {judged(f)};
      } catch (const Stopped&) {
        shown.findings.resize(1);
        shown.findings[0].stopped = true;
      }
      for (const auto& output : f.expected) {
        if (!output) break;  // the file has the results before the first that nobody recorded
        shown.findings[0].outputs.push_back(*output);
      }
      write_failure(shown, promised, f.parsed, f.origin, failure, row.dtype, options_.out, options_.contract);
    } else {
      const std::uint64_t choices[] = {failure.index};
      const Kernel* const kernels[] = {&kernel};
      shown = std::move(
          examiner_.examine({f.call}, choices, kernels, {.properties = true, .keep_outputs = true})[0]);
      write_failure(shown, kernel, f.parsed, f.origin, failure, row.dtype, options_.out, options_.contract);
    }
  }

  const Registry& registry_;
  const Fixtures& fixtures_;
  const VerifyOptions& options_;
  const std::function<void(const Progress&)>& report_;
  Stretch stretch_;
  bool recording_ = false;
  Examiner examiner_;
  std::deque<Kernel> producers_;
  std::map<RowKey, Tally> rows_;
  std::vector<std::size_t> chosen_;
  Progress progress_;
};

}  // namespace

RunResult verify_fixtures(const Registry& registry, const Fixtures& fixtures, const VerifyOptions& options,
                          const std::atomic<bool>& interrupted,
                          const std::function<void(const Progress&)>& progress) {
  return FixtureRun(registry, fixtures, options, interrupted, progress).run();
}

}  // namespace assay
