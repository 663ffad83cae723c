#include "tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/row.h"
#include "reports/run_file.h"

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
  row_.given_up += j.given_up ? 1 : 0;
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
  if (j.verdict == Verdict::pass)
    for (const std::string& field : finding.needs) ++row_.needs[field];
  if (!finding.information.empty()) information_.insert(finding.information);
  if (j.verdict == Verdict::refused) {
    ++row_.refused[j.detail];
    if (j.undeclared_refusal) ++row_.undeclared[j.detail];
  }
  if (j.verdict == Verdict::not_run) row_.reason = j.detail;
  if (is_fault(j.verdict) || j.undeclared_refusal)
    keep({.case_text = case_text,
          .kind = j.verdict,
          .detail = j.detail,
          .replay = {},
          .diagnosis = {},
          .index = index,
          .harms_others = j.doing == Doing::to_others,
          .harmed = finding.harmed});
}

void Tally::replace(const Finding& other) {
  const Judgement& j = other.judgement;
  Replaced& r = row_.replaced;
  ++r.counts[static_cast<std::size_t>(j.verdict)];
  if (j.verdict == Verdict::pass)
    for (const std::string& field : other.needs) ++r.needs[field];
  if (j.verdict != Verdict::refused) return;
  ++r.refused[j.detail];
  if (j.undeclared_refusal) ++r.undeclared[j.detail];
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
  const auto before = [](const Failure& a, const Failure& b) { return a.index < b.index; };
  const auto alike = [&](const Failure& f) {
    return f.kind == failure.kind && cause_of(f) == cause_of(failure);
  };
  const std::size_t most = failure.kind == Verdict::diverged ? kFailuresToDiagnose : kFailuresPerKind;
  kept_.insert(std::ranges::upper_bound(kept_, failure, before), failure);
  if (std::ranges::count_if(kept_, alike) <= static_cast<std::ptrdiff_t>(most)) return;
  kept_.erase(std::next(std::find_if(kept_.rbegin(), kept_.rend(), alike)).base());
}

void Tally::add(const Tally& other) {
  const Row& o = other.row_;
  row_.cases += o.cases;
  row_.given_up += o.given_up;
  for (std::size_t v = 0; v < row_.counts.size(); ++v) row_.counts[v] += o.counts[v];
  for (const auto& [reason, n] : o.refused) row_.refused[reason] += n;
  for (const auto& [reason, n] : o.undeclared) row_.undeclared[reason] += n;
  for (const auto& [field, n] : o.needs) row_.needs[field] += n;
  assay::add(row_.replaced, o.replaced);
  row_.asked += o.asked;
  row_.judged += o.judged;
  row_.instead += o.instead;
  for (const auto& [name, count] : o.classes) {
    ClassCount& sum = row_.classes[name];
    sum.judged += count.judged;
    sum.refused += count.refused;
    sum.ordinary = sum.ordinary || count.ordinary;
    for (const std::string& reason : count.reasons)
      if (sum.reasons.size() < kReasonsKept) sum.reasons.insert(reason);
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
  for (const Failure& f : other.kept_) keep(f);
}

std::uint64_t Tally::faults() const {
  std::uint64_t n = 0;
  for (int v = 0; v < kVerdicts; ++v)
    if (is_fault(static_cast<Verdict>(v))) n += count_of(row_, static_cast<Verdict>(v));
  return n;
}

nlohmann::json Tally::result() const {
  Row row = row_;
  row.information = fmt::format("{}", fmt::join(information_, ", "));
  row.verdict = row_verdict(row);
  row.failures = kept_;
  return nlohmann::json::parse(row_json(row));
}

nlohmann::json Tally::more() const { return {{"worst_index", worst_index_}, {"information", information_}}; }

Tally Tally::of(const nlohmann::json& result, const nlohmann::json& more) {
  Tally t;
  t.row_ = row_from_json(result.dump(), "journal");
  t.kept_ = std::exchange(t.row_.failures, {});
  t.row_.information.clear();
  t.worst_index_ = more.at("worst_index").get<std::uint64_t>();
  t.information_ = more.at("information").get<std::set<std::string>>();
  return t;
}

Row Tally::row() const {
  Row row = row_;
  replace_cases(row);
  row.information = fmt::format("{}", fmt::join(information_, ", "));
  if (row.cases == 0 && row.reason.empty()) row.reason = kNoCases;
  row.verdict = row_verdict(row);
  std::map<std::pair<Verdict, std::string>, std::size_t> of_cause;
  std::map<Verdict, std::size_t> causes;
  for (const Failure& f : kept_) {
    const auto [known, is_new] = of_cause.try_emplace({f.kind, cause_of(f)}, 0);
    if (is_new && ++causes[f.kind] > kCausesPerKind) known->second = kFailuresPerKind;
    if (known->second < kFailuresPerKind) row.failures.push_back(f);
    ++known->second;
  }
  return row;
}

std::vector<Failure> Tally::further() const {
  std::vector<Failure> all;
  for (const Failure& f : kept_)
    if (f.kind == Verdict::diverged) all.push_back(f);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kFailuresPerKind)));
  return all;
}

}  // namespace assay
