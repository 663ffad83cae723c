#include "cause_finder.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "../model/results.h"
#include "another.h"
#include "given_another.h"

namespace assay {

using diagnose::Evidence;

CauseFinder::CauseFinder(const CaseFile& trace, Dump& dump, const KnownResults& results, const Absent& absent,
                         const std::string& path, const BisectOptions& options)
    : trace_(trace), dump_(dump), results_(results), absent_(absent), path_(path), options_(options) {}

void CauseFinder::find(std::size_t k, Evidence& own, JudgedRegion* together, BisectedCall& result) const {
  result.diagnosis = together != nullptr ? cause_of(absent_.sources(), *together, options_.diagnosis)
                                         : diagnose::diagnose(own, options_.diagnosis);
  describe(*result.diagnosis, result);
  name_another(k, own, result);
  if (together == nullptr) return name_given(k, own, result);
  result.together->at = place_of(*together, *result.diagnosis);
  call_by_name(*together, *result.diagnosis);
}

void CauseFinder::describe(diagnose::Diagnosis& d, const BisectedCall& result) const {
  d.case_text = result.case_text;
  d.impl = path_;
  if (options_.contract.empty()) d.contract = diagnose::kOfStrangers;
}

void CauseFinder::doubt(Evidence& own, JudgedRegion* together, BisectedCall& result) const {
  std::optional<diagnose::Diagnosis> doubt =
      together != nullptr ? doubt_of(*together) : diagnose::doubt_of(own, kMostDoubting);
  if (!doubt) return;
  result.status = BisectedCall::Status::undecided;
  result.diagnosis = std::move(*doubt);
  describe(*result.diagnosis, result);
  if (together != nullptr) call_by_name(*together, *result.diagnosis);
}

// Right for what another call gave, which says more than a cause that only admits the results.
void CauseFinder::name_given(std::size_t k, Evidence& own, BisectedCall& result) const {
  diagnose::Diagnosis& d = *result.diagnosis;
  const bool by_cause = d.kind == diagnose::Diagnosis::Kind::named && !d.causes.empty() && d.causes.front().proven;
  if (by_cause || d.says_little) return;
  const std::vector<GivenAnother> found = given_another(trace_, dump_, results_, k, own);
  if (found.empty()) return;
  d.kind = diagnose::Diagnosis::Kind::named;
  d.unrelated = false;
  d.weaker.clear();
  d.inverted.clear();
  d.separating.reset();
  d.admitting.reset();
  d.causes.clear();
  d.same.clear();
  for (const GivenAnother& g : found)
    (d.causes.empty() ? d.causes : d.same)
        .push_back(diagnose::read_off(fmt::format("{}.of_another_call", g.argument), fmt::format("was given the result of {} as {}", g.call, g.argument),
                                      d.tried_diverging));
}

// A result that is all of another call's: said in any case, and the cause where none is named.
void CauseFinder::name_another(std::size_t k, Evidence& evidence, BisectedCall& result) const {
  const Call& call = evidence.call();
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (!evidence.has(output) || evidence.mask(output).count() == 0) continue;
    const std::string name = output_name(*call.op, o);
    TensorData right(call.outputs[o].dtype, call.outputs[o].shape);
    right.memory = evidence.expectation().rounded(output);
    const auto other = of_another_call(trace_, dump_, k, name, results_.at({k, name}), right);
    if (!other) continue;
    result.says.push_back(fmt::format("{}: what stands there is the result of {}", name, *other));
    diagnose::Diagnosis& d = *result.diagnosis;
    // Which operator's result it would be says less, and so does by whose definition: what an activation was given is its input's
    // clone, and, of small numbers, its hardtanh.
    const bool by_cause = d.kind == diagnose::Diagnosis::Kind::named && !d.causes.empty() &&
                          !d.causes.front().name.starts_with("results.of_") &&
                          d.causes.front().definition.empty();
    if (by_cause || d.where.size() > 1) continue;
    d.kind = diagnose::Diagnosis::Kind::named;
    d.causes = {diagnose::read_off("results.of_another_call",
                                   fmt::format("has the result of {} in place of its own", *other),
                                   d.tried_diverging)};
    d.unrelated = false;
    d.same.clear();
    d.weaker.clear();
    d.inverted.clear();
    d.separating.reset();
  }
}

}  // namespace assay
