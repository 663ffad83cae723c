#include "bisect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "../files/tensor_data.h"
#include "../verify/recorded.h"
#include "dump.h"
#include "origin.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using diagnose::Blame;
using diagnose::Evidence;
using diagnose::Snapshot;
using Status = BisectedCall::Status;

constexpr std::size_t kMostBetween = 6;
const std::map<Blame, Status> kStatuses{{Blame::parameters, Status::parameters},
                                        {Blame::input, Status::changed},
                                        {Blame::packing, Status::packing},
                                        {Blame::changed, Status::changed}};

const Operator* operator_of(const RecordedCall& call) {
  for (const Operator* op : operators())
    if (op->schema.name == call.op) return op;
  return nullptr;
}

class Bisector {
 public:
  Bisector(const CaseFile& trace, const TensorFile& file, const BisectOptions& options)
      : trace_(trace), file_(file), dump_(trace, file, options.map), options_(options) {}

  BisectedCall call(std::size_t k) {
    const RecordedCall& recorded = trace_.calls[k];
    BisectedCall result;
    result.name = name_of(k);
    result.op = recorded.op;
    result.source = note_of(recorded, "source");
    result.case_text = recorded.case_text;
    if (operator_of(recorded) == nullptr) {
      without_reference(k, result);
      return result;
    }
    const Replayable r = replayable(recorded);
    if (!r.call.error.empty()) {
      result.says.push_back(fmt::format("its arguments are not allowed: {}", r.call.error));
      result.status = Status::not_judged;
      return result;
    }
    compare(k, r.call, result);
    return result;
  }

  std::vector<std::string> unused() const { return dump_.unused(); }

 private:
  void compare(std::size_t k, const Call& torchs, BisectedCall& result) {
    Call engines = torchs;
    bool inherited = false;
    for (std::size_t i = 0; i < engines.arguments.size(); ++i)
      if (auto* t = std::get_if<TensorData>(&engines.arguments[i]))
        input(k, std::string(engines.op->schema.argument_storage[i].name), *t, result, inherited);
    ExpectedOutputs dumped(engines.outputs.size());
    std::map<std::size_t, TensorData> misshapen;
    bool any = false;
    for (std::size_t o = 0; o < engines.outputs.size(); ++o) {
      const std::string output = output_name(*engines.op, o);
      auto t = result_of(k, output, engines.outputs[o], result);
      if (t && t->shape != engines.outputs[o].shape) {
        misshapen.emplace(o, std::move(*t));
        continue;
      }
      if (!t) continue;
      dumped[o] = t->packed();
      read_by_consumer(k, output, *t, result);
      results_[{k, output}] = std::move(*t);
      any = true;
    }
    const Contract contract =
        parse_contract(options_.contract.empty() ? diagnose::strangers_contract() : options_.contract,
                       engines.outputs[0].computed_in);
    Evidence evidence(engines, contract, dumped);
    if (any && evidence.diverging() > 0) {
      result.status = Status::wrong;
      result.diagnosis = diagnose::diagnose(evidence, options_.diagnosis);
      result.diagnosis->case_text = result.case_text;
      result.diagnosis->impl = file_.path();
      if (options_.contract.empty()) result.diagnosis->contract = diagnose::kOfStrangers;
    } else if (!misshapen.empty()) {
      result.status = Status::wrong;
    } else if (!result.blames.empty()) {
      result.status = kStatuses.at(*result.blames.begin());
    } else if (any) {
      result.status =
          inherited && Evidence(torchs, contract, dumped).diverging() > 0 ? Status::inherited : Status::right;
    }
    // Results that the dump does not have: what the reference gives for the engine's own inputs.
    for (std::size_t o = 0; o < engines.outputs.size(); ++o) {
      const std::string output = output_name(*engines.op, o);
      if (results_.contains({k, output})) continue;
      TensorData t(engines.outputs[o].dtype, engines.outputs[o].shape);
      t.memory = evidence.expectation().rounded(static_cast<int>(o));
      if (const auto other = misshapen.find(o); other != misshapen.end())
        result.says.push_back(fmt::format("{}: {}", output, diagnose::change(t, other->second)));
      results_[{k, output}] = std::move(t);
    }
  }

  std::string name_of(std::size_t k) const {
    const RecordedCall& c = trace_.calls[k];
    return c.name.empty() ? fmt::format("{}:{}", k, c.op) : c.name;
  }

  // As it is dumped if it has another shape, else in the dtype that is expected.
  std::optional<TensorData> result_of(std::size_t k, const std::string& output,
                                      const Checked::Output& expected, BisectedCall& result) {
    const auto found = dump_.result(k, output);
    if (!found) return std::nullopt;
    TensorData t = dump_.read(found->name);
    if (!found->by_shape && is_flattened(t.shape, expected.shape)) t = reshaped(t, expected.shape);
    if (t.shape != expected.shape) {
      if (result.dumped_as.empty()) result.dumped_as = found->name;
      return t;
    }
    std::int64_t misfit = 0;
    auto same = exactly_as(t, expected.dtype, &misfit);
    if (!same) {
      result.says.push_back(
          fmt::format("{} of the dump is {}, and its element {} is {}, which {} does not have: not compared",
                      found->name, name(t.dtype), misfit, t.get(misfit), name(expected.dtype)));
      return std::nullopt;
    }
    if (result.dumped_as.empty())
      result.dumped_as =
          found->by_shape ? found->name + ", the only one of its shape, and much like it" : found->name;
    return same;
  }

  // Whether a matrix has the shape of the other with its leading dimensions joined: a linear module's result and that of its
  // operator.
  static bool is_flattened(const Shape& a, const Shape& b) {
    const auto numel = [](const Shape& s) {
      std::int64_t n = 1;
      for (const std::int64_t size : s) n *= size;
      return n;
    };
    return a.size() > 2 && b.size() == 2 && a.back() == b.back() && numel(a) == numel(b);
  }

  // From what the operator should be given to what its kernel had: PyTorch's parameter or the result of the call before, the
  // engine's own parameter, and what it received, packed, read and left.
  void input(std::size_t k, const std::string& argument, TensorData& t, BisectedCall& result,
             bool& inherited) {
    const RecordedCall& recorded = trace_.calls[k];
    std::vector<Snapshot> snapshots;
    std::set<std::string> names;
    std::string between;
    Shape shape = t.shape;
    const std::string parameter = note_of(recorded, "parameter." + argument);
    if (!parameter.empty()) {
      if (const auto own = dump_.parameter(parameter)) {
        names.insert(*own);
        snapshots.push_back({"recorded", "the one that was recorded", Blame::parameters, packed_copy(t)});
        if (auto fits = fitted(dump_.read(*own), t, note_of(recorded, "from." + argument)))
          snapshots.push_back({"own", *own == parameter ? "that of the dump" : *own + " of the dump",
                               Blame::parameters, std::move(*fits)});
        else
          other_shape(fmt::format("{} of the dump", *own), packed_copy(t), dump_.read(*own),
                      Blame::parameters, result);
      }
    } else if (const auto origin = parse_origin(note_of(recorded, "from." + argument))) {
      if (auto produced = produced_by(*origin, t)) {
        inherited = inherited || !same_bits(*produced, packed_copy(t));
        between = calls_between(origin->call, k);
        // What happened to it shows in the dimensions that it had, not in those of a view.
        if (const TensorData& whole = results_.at({origin->call, origin->result});
            produced->memory == whole.memory)
          shape = whole.shape;
        snapshots.push_back({"produced", fmt::format("what {} gave", name_of(origin->call)), Blame::changed,
                             std::move(*produced)});
      }
    }
    const std::pair<const char*, Blame> kMoments[] = {{"", Blame::changed},
                                                      {"packed/", Blame::packing},
                                                      {"executed/", Blame::changed},
                                                      {"after/", Blame::changed}};
    for (const auto& [moment, blame] : kMoments)
      if (const auto name = dump_.argument(k, moment + argument)) {
        names.insert(*name);
        snapshots.push_back({*moment == '\0' ? "received" : std::string(moment, std::strlen(moment) - 1),
                             *name + " of the dump", blame, dump_.read(*name)});
      }
    // Of the program's own inputs nothing is known but their shape.
    if (!snapshots.empty() && snapshots[0].moment == "received" && snapshots[0].data.shape != t.shape)
      other_shape(snapshots[0].phrase, packed_copy(t), snapshots[0].data, Blame::changed, result);
    for (Snapshot& s : snapshots)
      if (s.data.shape == t.shape) s.data = reshaped(s.data, shape);
    for (diagnose::Step& s :
         diagnose::steps(parameter.empty() ? argument : parameter, snapshots, dump_.sources(names))) {
      if (s.from == "produced" && !between.empty()) s.says += between;
      result.says.push_back(std::move(s.says));
      result.blames.insert(s.blame);
    }
    const Shape own = t.shape;
    for (const Snapshot& s : snapshots)
      if (s.moment != "after" && s.data.shape == shape)
        if (auto same = exactly_as(reshaped(s.data, own), t.dtype)) t = std::move(*same);
  }

  static void other_shape(const std::string& what, const TensorData& before, const TensorData& after,
                          Blame blame, BisectedCall& result) {
    result.says.push_back(fmt::format("{}: {}", what, diagnose::change(before, after)));
    result.blames.insert(blame);
  }

  void read_by_consumer(std::size_t k, const std::string& output, const TensorData& returned,
                        BisectedCall& result) {
    const auto name = dump_.argument(k, "read/" + output);
    if (!name) return;
    const Snapshot both[] = {{"returned", "what the kernel returned", Blame::changed, returned},
                             {"read", *name + " of the dump", Blame::changed, dump_.read(*name)}};
    for (diagnose::Step& s : diagnose::steps(output, both, dump_.sources({*name}))) {
      result.says.push_back(std::move(s.says));
      result.blames.insert(s.blame);
    }
  }

  // Precondition: packed, and of as many elements.
  static TensorData reshaped(const TensorData& t, const Shape& shape) {
    TensorData other(t.dtype, shape);
    other.memory = t.memory;
    return other;
  }

  std::optional<TensorData> produced_by(const Origin& origin, const TensorData& input) const {
    const auto own = results_.find({origin.call, origin.result});
    if (own == results_.end() || own->second.dtype != input.dtype) return std::nullopt;
    return view_of(own->second, origin, input.shape);
  }

  std::string calls_between(std::size_t producer, std::size_t consumer) const {
    std::vector<std::string> names;
    for (std::size_t k = producer + 1; k < consumer && names.size() < kMostBetween; ++k)
      names.push_back(name_of(k));
    if (names.empty()) return "; no call ran in between";
    const std::size_t more = consumer - producer - 1 - names.size();
    return fmt::format("; in between ran {}{}", fmt::join(names, ", "),
                       more > 0 ? fmt::format(" and {} more", more) : "");
  }

  // A parameter of the dump as the argument takes it: views of parameters (a transposed weight) are recorded with their strides.
  static std::optional<TensorData> fitted(const TensorData& own, const TensorData& argument,
                                          const std::string& from) {
    const std::optional<TensorData> t = exactly_as(own, argument.dtype);
    if (!t) return own;
    if (t->shape == argument.shape) {
      // A square weight that the operator takes transposed lies in the dump as the parameter does, unless it is what was recorded.
      const bool transposed = t->shape.size() == 2 && t->shape[0] == t->shape[1] && t->shape[0] > 1 &&
                              argument.strided.strides[0] < argument.strided.strides[1];
      if (!transposed || same_bits(*t, packed_copy(argument))) return t;
      Origin other;
      other.strides = argument.strided.strides;
      return view_of(*t, other, argument.shape);
    }
    const auto origin = parse_origin(from);
    if (origin && origin->strides) return view_of(*t, *origin, argument.shape);
    // As it lies in its memory, if that is all of it.
    Origin whole;
    whole.strides = argument.strided.strides;
    return argument.numel() == t->numel() ? view_of(*t, whole, argument.shape) : std::nullopt;
  }

  void without_reference(std::size_t k, BisectedCall& result) {
    result.status = Status::no_reference;
    for (const auto& [out, o] : trace_.calls[k].outputs) {
      if (!o.actual) continue;
      const TensorData torchs = tensor_of(*o.actual);
      auto dumped = result_of(k, out, {torchs.dtype, torchs.shape}, result);
      if (dumped && dumped->shape != torchs.shape) {
        result.says.push_back(fmt::format("{}: {}", out, diagnose::change(torchs, *dumped)));
        result.status = Status::wrong;
        dumped.reset();
      }
      if (dumped && !same_bits(*dumped, torchs))
        result.says.push_back(
            fmt::format("{} differs from PyTorch's: {}", out, diagnose::change(torchs, *dumped)));
      results_[{k, out}] = dumped ? std::move(*dumped) : torchs;
    }
  }

  const CaseFile& trace_;
  const TensorFile& file_;
  Dump dump_;
  const BisectOptions& options_;
  std::map<std::pair<std::size_t, std::string>, TensorData> results_;  // the engine's, by call and output
};

}  // namespace

bool Bisection::any_finding() const { return std::ranges::any_of(calls, &BisectedCall::is_finding); }

Bisection bisect(const CaseFile& trace, const TensorFile& dump, const BisectOptions& options,
                 const std::function<void(const std::string&)>& progress) {
  Bisection b;
  b.dump = dump.path();
  Bisector bisector(trace, dump, options);
  for (std::size_t k = 0; k < trace.calls.size(); ++k) {
    progress(fmt::format("{} of {}: {}", k + 1, trace.calls.size(), trace.calls[k].name));
    b.calls.push_back(bisector.call(k));
  }
  b.unused = bisector.unused();
  for (const UnsupportedEntry& u : dump.unsupported()) b.unread.push_back(u.reason);
  return b;
}

}  // namespace assay
