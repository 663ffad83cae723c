#include "absent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../files/tensor_data.h"
#include "../model/results.h"
#include "../recorded/recorded_call.h"
#include "another.h"
#include "given_another.h"
#include "moved.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr int kMostAfter = 4;  // calls that a kernel computes after the one that it is called by
constexpr double kMuchNearer = 0.5, kNearEnough = 0.25;

// No pairs of causes.
diagnose::Options one_mistake(diagnose::Options options) {
  options.patience.pairs = std::chrono::milliseconds(0);
  options.separate = false;
  return options;
}

bool is_proven(const diagnose::Diagnosis& d) {
  return d.kind == diagnose::Diagnosis::Kind::named && !d.causes.empty() && d.causes[0].proven;
}

// Nine of ten numbers are no larger.
double large_one(std::vector<double> all) {
  if (all.empty()) return 0;
  const auto at = all.begin() + std::ssize(all) * 9 / 10;
  std::ranges::nth_element(all, at);
  return *at;
}

double distance(const TensorData& a, const TensorData& b) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    if (const double d = std::fabs(a.get(i) - b.get(i)); !std::isnan(d)) all.push_back(d);
  return large_one(std::move(all));
}

double magnitude(const TensorData& t) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < t.numel(); ++i) all.push_back(std::fabs(t.get(i)));
  return large_one(std::move(all));
}

std::string noted_argument(std::string key) {
  std::ranges::replace(key, '/', '.');
  return key;
}

}  // namespace

Absent::Absent(const CaseFile& trace, Dump& dump, KnownResults& results, SeenInputs& inputs,
               const Readers& readers, const Foldings& foldings, const std::string& contract,
               const diagnose::Options& diagnosis)
    : trace_(trace),
      dump_(dump),
      results_(results),
      inputs_(inputs),
      readers_(readers),
      foldings_(foldings),
      contract_(contract),
      diagnosis_(diagnosis) {}

void Absent::keep(std::size_t call, const std::string& argument, const TensorData& t,
                  const SeenInputs::Given& given) {
  auto known = given_.find(call);
  if (known == given_.end()) {
    auto node = as_node(trace_.calls[call]);
    if (!node) return;
    known = given_.emplace(call, std::move(*node)).first;
  }
  known->second.tensors[argument] = {packed_copy(t), given.within, given.assumed};
}

bool Absent::forget_named_for_another(std::size_t k, diagnose::Evidence& own, ExpectedOutputs& dumped,
                                      BisectedCall& result) {
  const Call& call = own.call();
  if (!dumped[0] || std::ranges::count_if(dumped, [](const auto& d) { return d.has_value(); }) != 1)
    return false;
  const std::string output = output_name(*call.op, 0);
  const auto name = dump_.result(k, output);
  if (!name || name->by_shape) return false;
  TensorData right(call.outputs[0].dtype, call.outputs[0].shape);
  right.memory = own.expectation().rounded(0);
  const auto last =
      last_call_of(k, {output, call.outputs[0].shape, *dumped[0], own.rounding().stored[0], {}}, right);
  if (!last) return false;
  dump_.is_result_of(name->name, *last);
  result.says.push_back(fmt::format(
      "{} of the dump is what {} gives, which the engine computes together with this call: it says nothing "
      "of this call alone",
      name->name, name_of(trace_, *last)));
  result.dumped_as.clear();
  result.stored_as.clear();
  dumped[0].reset();
  results_.erase({k, output});
  return true;
}

std::optional<JudgedRegion> Absent::judged(std::size_t k, const diagnose::Evidence& own,
                                           const ExpectedOutputs& dumped, BisectedCall& result) const {
  const diagnose::Rounding& rounding = own.rounding();
  const Call& call = own.call();
  DumpedResults of_dump;
  for (std::size_t o = 0; o < dumped.size(); ++o) {
    if (!dumped[o]) continue;
    of_dump.all.push_back({output_name(*call.op, o), call.outputs[o].shape, *dumped[o], rounding.stored[o],
                           o < rounding.moved.size() ? rounding.moved[o] : std::vector<double>()});
    of_dump.narrow = of_dump.narrow || !inputs_.lost_if_kept(TensorData(call.outputs[o].dtype, {1})).empty();
  }
  auto as_one = judged_as_one(sources(), k, of_dump, contract_);
  if (auto* why = std::get_if<NoRegion>(&as_one)) {
    result.not_together = std::move(*why);
    return std::nullopt;
  }
  auto& together = std::get<JudgedRegion>(as_one);
  result.together = said_of(sources(), together);
  return std::move(together);
}

std::optional<KnownResult> Absent::moved(std::size_t call) const {
  const auto known = given_.find(call);
  return known == given_.end() ? std::nullopt : moved_by(known->second);
}

std::optional<std::string> Absent::joined(std::size_t call, const TensorData& came) const {
  const auto known = given_.find(call);
  return known == given_.end() ? std::nullopt : joined_otherwise(trace_, results_, call, known->second, came);
}

// What a call was given that comes later than the one whose result is looked at, if it is known already.
bool Absent::keep_later(std::size_t call, std::size_t first, const std::string& read, const TensorData& t) {
  const RecordedCall& recorded = trace_.calls[call];
  if (find_operator(recorded.op) == nullptr) return false;
  const Replayable r = replayable(recorded);
  if (!r.call.error.empty()) return false;
  for (std::size_t i = 0; i < r.call.arguments.size(); ++i) {
    const auto* own = std::get_if<TensorData>(&r.call.arguments[i]);
    if (own == nullptr) continue;
    const std::string argument(r.call.op->schema.argument_storage[i].name);
    if (noted_argument(argument) == read) {
      if (own->shape != t.shape || own->dtype != t.dtype) return false;
      SeenInputs::Given computed;
      computed.assumed.emplace(first, name_of(trace_, first));
      keep(call, argument, t, computed);
      continue;
    }
    const auto origin = parse_origin(note_of(recorded, "from." + noted_argument(argument)));
    if (origin && origin->call >= first) return false;
    TensorData engines = *own;
    BisectedCall unsaid;  // it is said when the call's turn comes
    const SeenInputs::Given given = inputs_.read(call, argument, engines, unsaid);
    if (!given.lost_in.empty()) return false;
    keep(call, argument, engines, given);
  }
  return given_.contains(call);
}

// The call that alone reads this result, if what the dump has may be its own result.
std::optional<Absent::Step> Absent::after(const Step& step, std::size_t first,
                                          const DumpedResults::One& dumped) {
  const Reader* reader = readers_.only_one(step.call, step.output);
  if (reader == nullptr || reader->call <= step.call) return std::nullopt;
  const RecordedCall& recorded = trace_.calls[reader->call];
  const Operator* op = find_operator(recorded.op);
  if (op == nullptr) return std::nullopt;
  const std::string output = output_name(*op, 0);
  if (const auto own = dump_.result(reader->call, output)) {
    // An engine that has folded a batch norm has nothing left to do where the norm stands.
    const Foldings::Folding* f = foldings_.of(first);
    const auto same = exactly_as(dump_.peek(own->name), results_.at({step.call, step.output}).data.dtype);
    if (f == nullptr || f->norm != reader->call || !same || same->shape != dumped.shape ||
        same->packed() != dumped.packed)
      return std::nullopt;
  }
  if (!keep_later(reader->call, first, reader->argument, results_.at({step.call, step.output}).data))
    return std::nullopt;
  return Step{reader->call, output};
}

std::optional<std::size_t> Absent::last_call_of(std::size_t call, const DumpedResults::One& dumped,
                                                const TensorData& right) {
  TensorData came(right.dtype, right.shape);
  came.memory = dumped.packed;
  if (says_little(came)) return std::nullopt;
  const std::pair key{call, dumped.output};
  const KnownResult before = results_.at(key);
  const Assumed assumed{{call, name_of(trace_, call)}};
  results_[key] = {right, {}, true, {}, assumed};
  const double own = distance(came, right);
  std::optional<std::size_t> found;
  double least = kMuchNearer * own;
  std::vector<Step> steps;
  for (Step step{call, dumped.output}; steps.size() < kMostAfter;) {
    const auto next = after(step, call, dumped);
    if (!next) break;
    steps.push_back(*next);
    step = *next;
    auto judged =
        judged_as_one(sources(), step.call,
                      {.all = {{step.output, dumped.shape, dumped.packed, dumped.stored, {}}}}, contract_);
    auto* region = std::get_if<JudgedRegion>(&judged);
    if (region == nullptr) break;
    TensorData result(region->region->call.outputs[0].dtype, dumped.shape);
    if (result.dtype != came.dtype) break;
    if (region->evidence->diverging() == 0) {
      found = step.call;
      break;
    }
    // A batch norm that was folded wrongly may be far off, but by one mistake.
    const Foldings::Folding* f = foldings_.of(call);
    if (!found && f != nullptr && f->norm == step.call &&
        is_proven(cause_of(sources(), *region, one_mistake(diagnosis_))))
      found = step.call;
    result.memory = region->evidence->expectation().rounded(0);
    if (const double d = distance(came, result); d < least && d < kNearEnough * magnitude(result)) {
      found = step.call;
      least = d;
    }
    results_[{step.call, step.output}] = {std::move(result), {}, true, {}, assumed};
  }
  results_[key] = before;
  for (const Step& s : steps) {
    results_.erase({s.call, s.output});
    given_.erase(s.call);
  }
  return found;
}

}  // namespace assay
