#include "row.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "gaps.h"

namespace assay {
namespace {

using Cases = std::map<std::string, std::uint64_t>;

void add_cases(Cases& sum, const Cases& part) {
  for (const auto& [reason, n] : part) sum[reason] += n;
}

void take_cases(Cases& from, const Cases& part) {
  for (const auto& [reason, n] : part)
    if (const auto at = from.find(reason); at != from.end()) {
      at->second -= std::min(n, at->second);
      if (at->second == 0) from.erase(at);
    }
}

bool could_show_a_fault(const Row& row) {
  return count_of(row, Verdict::pass) + count_of(row, Verdict::suspicious) > 0;
}

}  // namespace

void add(Replaced& sum, const Replaced& part) {
  for (std::size_t v = 0; v < sum.counts.size(); ++v) sum.counts[v] += part.counts[v];
  add_cases(sum.refused, part.refused);
  add_cases(sum.undeclared, part.undeclared);
  add_cases(sum.needs, part.needs);
}

void replace_cases(Row& row) {
  for (std::size_t v = 0; v < row.counts.size(); ++v) {
    // A part that was not finished is in no journal, and what takes its place may be.
    const std::uint64_t n = std::min(row.replaced.counts[v], row.counts[v]);
    row.counts[v] -= n;
    row.cases -= std::min(n, row.cases);
  }
  take_cases(row.refused, row.replaced.refused);
  take_cases(row.undeclared, row.replaced.undeclared);
  take_cases(row.needs, row.replaced.needs);
  row.replaced = {};
}

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

PassedByDeclaration passed_by_declaration(const RunResult& run) {
  PassedByDeclaration passed;
  for (const Row& row : run.rows) {
    if (row.verdict != Verdict::pass || row.needs.empty()) continue;
    ++passed.rows;
    for (const auto& [field, cases] : row.needs) ++passed.fields[field];
  }
  return passed;
}

std::vector<std::string> command_of(const Row& row, const Failure& failure) {
  std::vector<std::string> words{"assay"};
  if (failure.replay.empty()) {
    words.insert(words.end(), {"verify", "--impl", row.impl, "--case", failure.case_text});
    if (!failure.contract.empty()) words.insert(words.end(), {"--contract", failure.contract});
  } else {
    words.insert(words.end(), {"replay", failure.replay});
  }
  if (!failure.plugin.empty()) words.insert(words.end(), {"--plugin", failure.plugin});
  return words;
}

std::string cause_of(const Failure& failure) {
  if (failure.kind == Verdict::diverged) return failure.diagnosis;
  std::string cause;
  std::istringstream words(failure.detail);
  for (std::string w; words >> w;)
    cause += std::ranges::any_of(w, [](unsigned char c) { return std::isdigit(c) != 0; }) ? "# " : w + " ";
  return cause;
}

std::vector<const Failure*> shown_failures(const Row& row, std::size_t most) {
  std::set<std::pair<Verdict, std::string>> known;
  std::vector<const Failure*> shown, others;
  for (const Failure& f : row.failures)
    (known.emplace(f.kind, cause_of(f)).second && most > 1 ? shown : others).push_back(&f);
  for (const Failure* f : others)
    if (shown.size() < most) shown.push_back(f);
  std::ranges::sort(shown);  // as they stand in the row
  return shown;
}

bool fails(const Row& row, const Rules& rules) {
  if (!rules.decides(row)) return false;
  if (is_fault(row.verdict) || row.verdict == Verdict::vacuous) return true;
  if (row.strict && !gaps(row).empty()) return true;
  return std::any_of(row.refused.begin(), row.refused.end(),
                     [&](const auto& refusal) { return !rules.declared(row, refusal.first); });
}

std::string_view row_token(const Row& row, const Rules& rules) {
  if (is_fault(row.verdict) || row.verdict == Verdict::vacuous || !fails(row, rules))
    return token(row.verdict);
  return row.strict && !gaps(row).empty() ? kGaps : kUndeclaredRefusal;
}

std::string row_words(const Row& row, const Rules& rules) {
  const std::string_view said = row_token(row, rules);
  return said == kUndeclaredRefusal ? "undeclared refusal" : said == kGaps ? "gaps" : words(row.verdict);
}

std::set<std::string> named_and_not_run(const RunResult& run) {
  std::set<std::string> named, ran;
  for (const Row& row : run.rows)
    if (row.literally) (lacks_environment(row) ? named : ran).insert(row.impl);
  for (const std::string& kernel : ran) named.erase(kernel);
  return named;
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
  if (!named_and_not_run(run).empty()) return 3;
  return 0;
}

}  // namespace assay
