#include "tally.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/row.h"

namespace assay {
namespace {

constexpr std::size_t kReasonsKept = 64;  // of one class; a message may have numbers in it

}  // namespace

Tally::Tally(const Kernel& kernel, Dtype dtype) {
  row_.op = kernel.op->schema.name;
  row_.impl = kernel.name;
  row_.peer = kernel.peer;
  row_.dtype = name(dtype);
  row_.reason = kernel.unavailable;
}

void Tally::add(const Finding& finding, const std::string& case_text, std::uint64_t index) {
  if (!finding.applicable || finding.stopped) return;
  const Judgement& j = finding.judgement;
  ++row_.cases;
  ++row_.counts[static_cast<std::size_t>(j.verdict)];
  row_.elements += j.elements;
  row_.undecidable_elements += j.undecidable;
  if (static_cast<double>(j.undecidable) > kUndecidableLimit * static_cast<double>(j.elements))
    ++row_.undecidable_cases;
  if (j.worst > row_.worst || (j.worst == row_.worst && j.worst > 0 && index < worst_index_)) {
    row_.worst = j.worst;
    row_.worst_case = case_text;
    worst_index_ = index;
  }
  if (!finding.information.empty()) information_.insert(finding.information);
  if (j.verdict == Verdict::refused) {
    ++row_.refused[j.detail];
    if (j.undeclared_refusal) ++row_.undeclared[j.detail];
  }
  if (j.verdict == Verdict::not_run) row_.reason = j.detail;
  if (is_fault(j.verdict) || j.undeclared_refusal) keep({case_text, j.verdict, j.detail, {}, {}, index});
}

void Tally::expect(std::span<const std::string> ordinary) {
  for (const std::string& name : ordinary) row_.classes[name].ordinary = true;
}

void Tally::covered(const Finding& finding, std::span<const std::string> classes, bool instead) {
  const Verdict verdict = finding.judgement.verdict;
  if (!finding.applicable || finding.stopped || verdict == Verdict::not_run) return;
  const bool refused = verdict == Verdict::refused;
  row_.judged += refused ? 0 : 1;
  row_.instead += instead && !refused ? 1 : 0;
  for (const std::string& name : classes) {
    ClassCount& count = row_.classes[name];
    ++(refused ? count.refused : count.judged);
    if (refused && count.reasons.size() < kReasonsKept) count.reasons.insert(finding.judgement.detail);
  }
}

void Tally::keep(Failure failure) {
  std::vector<Failure>& all = row_.failures;
  const auto before = [](const Failure& a, const Failure& b) { return a.index < b.index; };
  all.insert(std::ranges::upper_bound(all, failure, before), failure);
  if (std::ranges::count(all, failure.kind, &Failure::kind) <= static_cast<std::ptrdiff_t>(kFailuresPerKind))
    return;
  const auto last =
      std::find_if(all.rbegin(), all.rend(), [&](const Failure& f) { return f.kind == failure.kind; });
  all.erase(std::next(last).base());
}

void Tally::add(const Tally& other) {
  const Row& o = other.row_;
  row_.cases += o.cases;
  for (std::size_t v = 0; v < row_.counts.size(); ++v) row_.counts[v] += o.counts[v];
  for (const auto& [reason, n] : o.refused) row_.refused[reason] += n;
  for (const auto& [reason, n] : o.undeclared) row_.undeclared[reason] += n;
  row_.asked += o.asked;
  row_.judged += o.judged;
  row_.instead += o.instead;
  for (const auto& [name, count] : o.classes) {
    ClassCount& sum = row_.classes[name];
    sum.judged += count.judged;
    sum.refused += count.refused;
    sum.ordinary = sum.ordinary || count.ordinary;
    sum.reasons.insert(count.reasons.begin(), count.reasons.end());
  }
  row_.elements += o.elements;
  row_.undecidable_elements += o.undecidable_elements;
  row_.undecidable_cases += o.undecidable_cases;
  if (o.worst > row_.worst || (o.worst == row_.worst && other.worst_index_ < worst_index_)) {
    row_.worst = o.worst;
    row_.worst_case = o.worst_case;
    worst_index_ = other.worst_index_;
  }
  if (!o.reason.empty()) row_.reason = o.reason;
  information_.insert(other.information_.begin(), other.information_.end());
  for (const Failure& f : o.failures) keep(f);
}

Row Tally::row() const {
  Row row = row_;
  row.information = fmt::format("{}", fmt::join(information_, ", "));
  if (row.cases == 0 && row.reason.empty()) row.reason = kNoCases;
  row.verdict = row_verdict(row);
  return row;
}

}  // namespace assay
