#include "inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "../diagnose/rounding.h"
#include "../files/tensor_data.h"
#include "../recorded/recorded_call.h"
#include "another.h"
#include "quantised_fault.h"
#include "reports/text.h"
#include "uncertain.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using diagnose::Blame;
using diagnose::Snapshot;

constexpr std::size_t kMostBetween = 6;

// How the recorder's notes name it: "tensors.0" for the first of a list.
std::string noted(std::string argument) {
  std::ranges::replace(argument, '/', '.');
  return argument;
}

// "0.weight" of "0.weight#2".
std::string without_number(const std::string& parameter) { return parameter.substr(0, parameter.rfind('#')); }

// What an argument may be called in a dump, as it was at one moment or another.
struct Moment {
  std::string_view name;
  Blame blame;
};
constexpr Moment kMoments[] = {{"", Blame::changed},
                               {"packed/", Blame::packing},
                               {"executed/", Blame::changed},
                               {"after/", Blame::changed}};

void other_shape(const std::string& what, const TensorData& before, const TensorData& after, Blame blame,
                 BisectedCall& result) {
  result.says.push_back(fmt::format("{}: {}", what, diagnose::change(before, after)));
  result.blames.insert(blame);
}

// A parameter of the dump as the argument takes it: views of parameters (a transposed weight) are recorded with their strides, parts
// (one of the three of fused attention weights) with where they lie.
std::optional<TensorData> fitted(const TensorData& own, const TensorData& argument, const std::string& from,
                                 const std::string& part) {
  if (!part.empty() && own.shape != argument.shape) {
    const auto origin = parse_part(part);
    return origin ? view_of(own, *origin, argument.shape) : std::nullopt;
  }
  if (own.shape == argument.shape) {
    // A square weight that the operator takes transposed lies in the dump as the parameter does, unless it is what was recorded.
    const bool transposed = own.shape.size() == 2 && own.shape[0] == own.shape[1] && own.shape[0] > 1 &&
                            argument.strided.strides[0] < argument.strided.strides[1];
    const auto same = exactly_as(own, argument.dtype);
    if (!transposed || (same && same_bits(*same, packed_copy(argument)))) return own;
    Origin other;
    other.strides = argument.strided.strides;
    return view_of(own, other, argument.shape);
  }
  const auto origin = parse_origin(from);
  if (origin && origin->strides) return view_of(own, *origin, argument.shape);
  // As it lies in its memory, if that is all of it.
  Origin whole;
  whole.strides = argument.strided.strides;
  return argument.numel() == own.numel() ? view_of(own, whole, argument.shape) : std::nullopt;
}

// As it lay in memory, if Assay knows the operator.
TensorData recorded_argument(const RecordedCall& call, const std::string& argument) {
  if (find_operator(call.op) != nullptr) {
    const Call replayed = replayable(call).call;
    for (std::size_t i = 0; i < replayed.arguments.size(); ++i)
      if (const auto* t = std::get_if<TensorData>(&replayed.arguments[i]);
          t != nullptr && replayed.op->schema.argument_storage[i].name == argument)
        return *t;
  }
  return tensor_of(call.inputs.at(argument));
}

}  // namespace

TensorData reshaped(const TensorData& t, const Shape& shape) {
  TensorData other(t.dtype, shape);
  other.memory = t.memory;
  return other;
}

SeenInputs::SeenInputs(const CaseFile& trace, Dump& dump, const KnownResults& results,
                       const Foldings& foldings)
    : trace_(trace), dump_(dump), results_(results), foldings_(foldings) {
  if (dump.precision()) rounded_to_.insert(*dump.precision());
  for (std::size_t k = 0; k < trace.calls.size(); ++k)
    for (const auto& [output, recorded] : trace.calls[k].outputs)
      if (const auto found = dump.result(k, output); found && recorded.actual)
        if (const Dtype d = dump.dtype(found->name); diagnose::is_narrower(d, recorded.actual->dtype))
          rounded_to_.insert(d);
  for (std::size_t k = 0; k < trace.calls.size(); ++k)
    for (const auto& input : trace.calls[k].inputs) {
      const std::string& argument = input.first;
      if (const std::string p = note_of(trace.calls[k], "parameter." + noted(argument)); !p.empty())
        parameters_[without_number(p)].try_emplace(p, k, argument);
      const std::string memory = memory_of(trace.calls[k], argument);
      if (memory.empty()) continue;
      for (const Moment& m : kMoments)
        if (const auto dumped = dump.argument(k, std::string(m.name) + argument))
          dumped_of_[memory].insert(*dumped);
    }
}

// Which parameter or result an argument is a view of; empty if neither is known.
std::string SeenInputs::memory_of(const RecordedCall& call, const std::string& argument) const {
  if (const auto origin = parse_origin(note_of(call, "from." + noted(argument))))
    return fmt::format("{}:{}", origin->call, origin->result);
  return note_of(call, "parameter." + noted(argument));
}

void SeenInputs::Seen::add(Snapshot s, std::vector<double> known_within) {
  snapshots.push_back(std::move(s));
  within.push_back(std::move(known_within));
}

// In a dump whose results are rounded, what is held in the same dtype is rounded as well.
void SeenInputs::add_dumped(Seen& seen, Snapshot s, Dtype expected) const {
  std::vector<double> within;
  if (diagnose::is_narrower(s.data.dtype, expected) && rounded_to_.contains(s.data.dtype))
    within = diagnose::lost_of(s.data, s.data.dtype);
  seen.add(std::move(s), std::move(within));
}

// What is the one before it but for rounding on its way into the dump was not changed: of the two, what is known better counts, but
// of parameters nobody knows whether the engine has those that were recorded or rounded ones.
void SeenInputs::forget_rounding(Seen& seen, Dtype expected) const {
  for (std::size_t k = 1; k < seen.snapshots.size(); ++k) {
    Snapshot &before = seen.snapshots[k - 1], &s = seen.snapshots[k];
    if (before.data.shape != s.data.shape) continue;
    const bool rounded = !seen.within[k].empty(), known = seen.within[k - 1].empty();
    if (k == 1 && seen.computed && !rounded && known && before.data.dtype == s.data.dtype &&
        are_alike(before.data, s.data))
      before.data = s.data;
    if (!rounded && known) continue;
    if (!is_float(before.data.dtype) || !is_float(s.data.dtype)) continue;
    if (!diagnose::may_be_rounded(before.data, seen.within[k - 1], s.data)) continue;
    const bool keep = before.moment != "recorded" && rounded && known;
    const auto better = exactly_as(keep ? before.data : s.data, expected);
    if (!better) continue;
    before.data = s.data = *better;
    seen.within[k - 1] = seen.within[k] = keep ? seen.within[k - 1] : seen.within[k];
  }
}

void SeenInputs::source(std::size_t k, const std::string& argument, const TensorData& t, Seen& seen,
                        BisectedCall& result) {
  const RecordedCall& recorded = trace_.calls[k];
  const std::string noted_as = noted(argument);
  if (const std::string parameter = note_of(recorded, "parameter." + noted_as);
      !parameter.empty() && dumped_parameter(recorded, noted_as))
    of_parameter(k, noted_as, parameter, t, seen, result);
  else if (const auto origin = parse_origin(note_of(recorded, "from." + noted_as)))
    of_result(k, *origin, t, seen);
  else if (const auto through = parse_through(note_of(recorded, "through." + noted_as)))
    of_unrecorded(*through, seen);
}

// By its own name, or another one of the same tensor.
std::optional<std::string> SeenInputs::dumped_parameter(const RecordedCall& call,
                                                        const std::string& argument) const {
  if (const auto own = dump_.parameter(note_of(call, "parameter." + argument))) return own;
  std::istringstream aliases(note_of(call, "alias." + argument));
  for (std::string name; std::getline(aliases, name, ',');)
    if (const auto own = dump_.parameter(name)) return own;
  return std::nullopt;
}

// A convolution's that has a batch norm in it. What it computes with is said where both are judged as one; alone it has those that
// were recorded.
bool SeenInputs::is_folded(std::size_t k, const std::string& argument, const std::string& own, Seen& seen,
                           BisectedCall& result) const {
  const Foldings::Folding* f = foldings_.of(k);
  if (f == nullptr) return false;
  const bool weight = argument == "weight" && f->weight && f->weight_name == own;
  if (!weight && !(argument == "bias" && f->bias && f->bias_name == own)) return false;
  seen.names.insert(own);
  if (!f->fault.empty()) {
    if (result.blames.insert(Blame::packing).second) result.says.push_back(f->fault);
    return true;
  }
  const std::string norm = name_of(trace_, f->norm);
  result.says.push_back(
      fmt::format("{} of the dump is the one that was recorded with {} folded into it", own, norm));
  return true;
}

void SeenInputs::of_parameter(std::size_t k, const std::string& argument, const std::string& parameter,
                              const TensorData& t, Seen& seen, BisectedCall& result) {
  const auto own = dumped_parameter(trace_.calls[k], argument);
  if (is_folded(k, argument, *own, seen, result)) return;
  const TensorData dumped = dump_.read(*own), recorded = packed_copy(t);
  const RecordedCall& call = trace_.calls[k];
  auto fits = fitted(dumped, t, note_of(call, "from." + argument), note_of(call, "part." + argument));
  if (!fits || !are_alike(*fits, recorded))
    if (const auto other = of_another_module(dumped, parameter)) {
      result.says.push_back(
          fmt::format("{} of the dump is {}, another module's, and was not looked at", *own, *other));
      return;
    }
  seen.names.insert(*own);
  if (fits && !are_alike(*fits, recorded)) name_exchanged(k, argument, *own, *fits, result);
  seen.add({"recorded", "the one that was recorded", Blame::parameters, recorded});
  if (fits && is_quantised(seen, *own, argument, result, &*fits)) return;
  if (fits)
    add_dumped(seen,
               {"own", *own == parameter ? "that of the dump" : *own + " of the dump", Blame::parameters,
                std::move(*fits)},
               t.dtype);
  else
    other_shape(fmt::format("{} of the dump", *own), recorded, dumped, Blame::parameters, result);
}

// Another parameter of the call, as it was recorded.
void SeenInputs::name_exchanged(std::size_t k, const std::string& argument, const std::string& own, const TensorData& dumped,
                                BisectedCall& result) const {
  const RecordedCall& call = trace_.calls[k];
  for (const auto& [other, recorded] : call.inputs) {
    if (other == argument || note_of(call, "parameter." + noted(other)).empty() || recorded.shape != dumped.shape) continue;
    if (!is_float(recorded.dtype) || !are_alike(dumped, tensor_of(recorded))) continue;
    result.says.push_back(fmt::format("{} of the dump is {}: {} was exchanged", own, note_of(call, "parameter." + noted(other)), argument));
    return;
  }
}

// Kept as integers, as near to what it was as they allow: the call is judged with that, and nobody changed it.
bool SeenInputs::is_quantised(Seen& seen, const std::string& name, const std::string& argument,
                              BisectedCall& result, const TensorData* as_given) {
  const auto steps = dump_.steps_of(name);
  if (!steps || seen.snapshots.empty()) return false;
  const Snapshot& before = seen.snapshots.back();
  TensorData now = as_given != nullptr ? packed_copy(*as_given) : dump_.read(name);
  const auto how = nearest_by(*steps, before.data, now);
  if (!how) {
    if (const auto fault = quantised_fault(*steps, before.data, now, seen.shape))
      result.says.push_back(fmt::format("{}: {} of the dump, which is kept as integers, {}", argument, name, *fault));
    return false;
  }
  result.quantised.push_back(fmt::format("{}: {}", argument, *how));
  seen.snapshots.clear();
  seen.within.clear();
  seen.inherited = true;
  seen.assumed.clear();
  seen.lost_in.clear();
  seen.add({"received", name + " of the dump", Blame::changed, std::move(now)});
  return true;
}

// Several modules may have given a name to parameters of their own: whose the dump's is, its numbers say.
std::optional<std::string> SeenInputs::of_another_module(const TensorData& own,
                                                         const std::string& parameter) const {
  const auto all = parameters_.find(without_number(parameter));
  if (all == parameters_.end()) return std::nullopt;
  for (const auto& [name, at] : all->second) {
    const RecordedCall& call = trace_.calls[at.first];
    if (name == parameter) continue;
    const TensorData recorded = recorded_argument(call, at.second);
    const auto fits = fitted(own, recorded, note_of(call, "from." + noted(at.second)),
                             note_of(call, "part." + noted(at.second)));
    if (fits && are_alike(*fits, packed_copy(recorded))) return name;
  }
  return std::nullopt;
}

// Nothing if the trace does not have it: files are not to be trusted.
const RecordedTensor* SeenInputs::recorded_result(const Origin& origin) const {
  if (origin.call >= trace_.calls.size()) return nullptr;
  const auto& outputs = trace_.calls[origin.call].outputs;
  const auto found = outputs.find(origin.result);
  return found == outputs.end() || !found->second.actual ? nullptr : &*found->second.actual;
}

void SeenInputs::of_result(std::size_t k, const Origin& origin, const TensorData& t, Seen& seen) {
  auto produced = known_part(results_, origin, t.shape, t.dtype);
  if (!produced) return;
  // What was read is not what the call gave, and no call that was recorded wrote there: NumPy may have.
  const RecordedTensor* const given = recorded_result(origin);
  if (const auto part = given != nullptr && produced->written_by.empty()
                            ? view_of(tensor_of(*given), origin, t.shape)
                            : std::nullopt;
      part && !same_bits(*part, packed_copy(t)))
    return of_unrecorded({"what writes to memory without a call", {origin}}, seen);
  seen.assumed = produced->assumed;
  seen.lost_in = produced->lost_in;
  if (!seen.lost_in.empty()) return;
  seen.inherited = !same_bits(produced->data, packed_copy(t));
  seen.computed = produced->computed;
  seen.between = calls_between(origin.call, k);
  // What happened to it shows in the dimensions that it had, not in those of a view.
  if (const TensorData& whole = results_.at({origin.call, origin.result}).data;
      produced->data.memory == whole.memory)
    seen.shape = whole.shape;
  const std::string gave = fmt::format("what {} {}", name_of(trace_, origin.call),
                                       seen.assumed.empty() ? "gave" : "should have given");
  const std::vector<std::string>& later = produced->written_by;
  seen.add(
      {"produced", later.empty() ? gave : fmt::format("{} and {} wrote into", gave, fmt::join(later, ", ")),
       Blame::changed, std::move(produced->data)},
      std::move(produced->within));
}

// The numbers are those that were recorded, if the results that they follow from are.
void SeenInputs::of_unrecorded(const Through& through, Seen& seen) {
  std::size_t last = 0;
  for (const Origin& from : through.from) {
    const auto known = results_.find({from.call, from.result});
    if (known == results_.end()) continue;
    last = std::max(last, from.call);
    seen.assumed.insert(known->second.assumed.begin(), known->second.assumed.end());
    const RecordedTensor* const recorded = recorded_result(from);
    if (!known->second.lost_in.empty())
      seen.lost_in = known->second.lost_in;
    else if (recorded != nullptr &&
             (recorded->shape != known->second.data.shape ||
              !are_alike(known->second.data, tensor_of(*recorded), known->second.within)))
      seen.lost_in = through.op + ", which was not recorded";
  }
  seen.unrecorded = true;
  seen.assumed.emplace(last, through.op + " (not recorded)");
}

SeenInputs::Given SeenInputs::read(std::size_t k, const std::string& argument, TensorData& t,
                                   BisectedCall& result) {
  Seen seen;
  seen.shape = t.shape;
  source(k, argument, t, seen, result);
  for (const auto& [moment, blame] : kMoments)
    if (const auto name = dump_.argument(k, std::string(moment) + argument)) {
      seen.names.insert(*name);
      if (seen.snapshots.empty() && dump_.is_edge(*name))
        seen.add({"recorded", "what the program gave it", Blame::changed, packed_copy(t)});
      if (is_quantised(seen, *name, argument, result)) continue;
      add_dumped(seen,
                 {moment.empty() ? "received" : std::string(moment.substr(0, moment.size() - 1)),
                  *name + " of the dump", blame, dump_.read(*name)},
                 t.dtype);
    }
  std::vector<Snapshot>& snapshots = seen.snapshots;
  result.compared = result.compared || snapshots.size() > 1;
  // Of the program's own inputs nothing is known but their shape.
  if (!snapshots.empty() && snapshots[0].moment == "received" && snapshots[0].data.shape != t.shape)
    other_shape(snapshots[0].phrase, packed_copy(t), snapshots[0].data, Blame::changed, result);
  for (Snapshot& s : snapshots)
    if (s.data.shape == t.shape) s.data = reshaped(s.data, seen.shape);
  forget_rounding(seen, t.dtype);
  const std::string parameter = note_of(trace_.calls[k], "parameter." + noted(argument));
  // What others of the same memory read there has not been written from.
  std::set<std::string> not_sources = seen.names;
  if (const auto found = dumped_of_.find(memory_of(trace_.calls[k], argument)); found != dumped_of_.end())
    not_sources.insert(found->second.begin(), found->second.end());
  for (diagnose::Step& s :
       diagnose::steps(parameter.empty() ? argument : parameter, snapshots, dump_.sources(not_sources))) {
    if (s.from == "produced") {
      if (!seen.between.empty()) s.says += seen.between;
      for (const auto& assumed : seen.assumed) result.one_of.insert(assumed);
    }
    result.says.push_back(std::move(s.says));
    result.blames.insert(s.blame);
  }
  Given given{seen.inherited, {}, std::move(seen.assumed), std::move(seen.lost_in)};
  if (seen.unrecorded) given.within = within_nearly(t);
  const Shape own = t.shape;
  for (std::size_t n = 0; n < snapshots.size(); ++n)
    if (const Snapshot& s = snapshots[n]; s.moment != "after" && s.data.shape == seen.shape)
      if (auto same = exactly_as(reshaped(s.data, own), t.dtype)) {
        t = std::move(*same);
        given.within = seen.within[n];
        if (s.moment == "received" || s.moment == "packed" || s.moment == "executed") {
          given.assumed.clear();
          given.lost_in.clear();
        }
      }
  return given;
}

std::vector<double> SeenInputs::lost_if_kept(const TensorData& t) const {
  std::vector<double> most;
  for (const Dtype d : rounded_to_) {
    if (!diagnose::is_narrower(d, t.dtype)) continue;
    std::vector<double> lost = diagnose::lost_of(t, d);
    if (most.empty())
      most = std::move(lost);
    else
      for (std::size_t e = 0; e < most.size(); ++e) most[e] = std::max(most[e], lost[e]);
  }
  return most;
}

void SeenInputs::read_by_consumer(std::size_t k, const std::string& output, const TensorData& returned,
                                  BisectedCall& result) {
  const auto name = dump_.argument(k, "read/" + output);
  if (!name) return;
  Seen seen;
  seen.add({"returned", "what the kernel returned", Blame::changed, returned});
  add_dumped(seen, {"read", *name + " of the dump", Blame::changed, dump_.read(*name)}, returned.dtype);
  forget_rounding(seen, returned.dtype);
  for (diagnose::Step& s : diagnose::steps(output, seen.snapshots, dump_.sources({*name}))) {
    result.says.push_back(std::move(s.says));
    result.blames.insert(s.blame);
  }
}

std::string SeenInputs::calls_between(std::size_t producer, std::size_t consumer) const {
  std::vector<std::string> names;
  for (std::size_t k = producer + 1; k < consumer; ++k) names.push_back(name_of(trace_, k));
  if (names.empty()) return "; no call ran in between";
  return "; in between ran " + first_of(names, kMostBetween);
}

}  // namespace assay
