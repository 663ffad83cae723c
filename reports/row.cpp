#include "row.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gaps.h"

namespace assay {
namespace {

bool could_show_a_fault(const Row& row) {
  return count_of(row, Verdict::pass) + count_of(row, Verdict::suspicious) > 0;
}

}  // namespace

// Of n cases k are undecidable: the share's relative standard error is at least that of k/n.
bool proves_too_little(const Row& row) {
  const double share = row.undecidable();
  if (!(share > kUndecidableLimit)) return false;
  const std::uint64_t cases = count_of(row, Verdict::pass) + count_of(row, Verdict::vacuous);
  if (cases >= kManyCases) return true;
  const auto k = static_cast<double>(std::max<std::uint64_t>(row.undecidable_cases, 1));
  const double n = std::max(k, static_cast<double>(cases));
  return share * (1 - 2 * std::sqrt((1 - k / n) / k)) > kUndecidableLimit;
}

Verdict row_verdict(const Row& row) {
  for (int v = kVerdicts - 1; is_fault(static_cast<Verdict>(v)); --v)
    if (count_of(row, static_cast<Verdict>(v)) > 0) return static_cast<Verdict>(v);
  if (proves_too_little(row)) return Verdict::vacuous;
  if (count_of(row, Verdict::vacuous) > 0 && !could_show_a_fault(row)) return Verdict::vacuous;
  if (count_of(row, Verdict::suspicious) > 0) return Verdict::suspicious;
  if (count_of(row, Verdict::not_run) > 0) return Verdict::not_run;
  const bool refuses = count_of(row, Verdict::refused) > 0;
  // What it passed may be arguments alone that it must reject: of its results nothing is known then.
  if (count_of(row, Verdict::pass) > 0 && !(refuses && row.elements == 0)) return Verdict::pass;
  return refuses ? Verdict::refused : Verdict::not_run;
}

std::vector<std::string> command_of(const Row& row, const Failure& failure) {
  std::vector<std::string> words{"assay"};
  if (failure.replay.empty())
    words.insert(words.end(), {"verify", "--impl", row.impl, "--case", failure.case_text});
  else
    words.insert(words.end(), {"replay", failure.replay});
  if (!failure.plugin.empty()) words.insert(words.end(), {"--plugin", failure.plugin});
  return words;
}

bool fails(const Row& row, const Rules& rules) {
  if (!rules.decides(row)) return false;
  if (is_fault(row.verdict) || row.verdict == Verdict::vacuous) return true;
  if (row.strict && !gaps(row).empty()) return true;
  return std::any_of(row.refused.begin(), row.refused.end(),
                     [&](const auto& refusal) { return !rules.declared(row, refusal.first); });
}

bool lacks_environment(const Row& row) { return row.verdict == Verdict::not_run && row.reason != kNoCases; }

std::uint64_t kept_from_running(const RunResult& run, const Rules& rules) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      run.rows, [&](const Row& row) { return rules.decides(row) && count_of(row, Verdict::not_run) > 0; }));
}

bool stopped_before_the_first(const RunResult& run) {
  return !run.complete && !std::all_of(run.rows.begin(), run.rows.end(), lacks_environment) &&
         std::all_of(run.rows.begin(), run.rows.end(),
                     [](const Row& row) { return row.verdict == Verdict::not_run; });
}

bool refused_everything(const RunResult& run) {
  const auto is = [](Verdict verdict) {
    return [verdict](const Row& row) { return row.verdict == verdict; };
  };
  return !run.shard && run.complete && std::any_of(run.rows.begin(), run.rows.end(), is(Verdict::refused)) &&
         std::all_of(run.rows.begin(), run.rows.end(),
                     [&](const Row& row) { return is(Verdict::refused)(row) || is(Verdict::not_run)(row); });
}

int exit_code(const RunResult& run, const Rules& rules) {
  if (std::any_of(run.rows.begin(), run.rows.end(), [&](const Row& row) { return fails(row, rules); }))
    return 1;
  if (std::all_of(run.rows.begin(), run.rows.end(), lacks_environment)) return 3;
  if (stopped_before_the_first(run) || refused_everything(run) || kept_from_running(run, rules) > 0) return 3;
  return 0;
}

}  // namespace assay
