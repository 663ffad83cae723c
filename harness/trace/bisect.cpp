#include "bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "../generate/data.h"
#include "../verify/recorded.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using diagnose::Evidence;
using Status = BisectedCall::Status;

const Operator* operator_of(const RecordedCall& call) {
  for (const Operator* op : operators())
    if (op->schema.name == call.op) return op;
  return nullptr;
}

TensorData tensor_of(const RecordedTensor& r) {
  TensorData t(r.dtype, r.shape);
  if (!r.data.empty()) std::memcpy(t.memory.data(), r.data.data(), r.data.size());
  return t;
}

// The same numbers in another dtype; nothing if one of them is none of it.
std::optional<TensorData> as_dtype(const TensorData& t, Dtype dtype) {
  if (t.dtype == dtype) return t;
  TensorData other(dtype, t.shape);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const double x = t.get(i);
    other.set(i, x);
    if (other.get(i) != x && x == x) return std::nullopt;
  }
  return other;
}

bool same_bits(const TensorData& a, const TensorData& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.packed() == b.packed();
}

// "3:out@offset(2)@strides(1,7)": which result of which call an input is, and how it lies in it.
struct Origin {
  std::size_t call = 0;
  std::string result;
  std::int64_t offset = 0;
  std::optional<Shape> strides;
};

std::optional<Origin> parse_origin(const std::string& text) {
  Origin o;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto number = [](std::string_view s, auto& into) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), into);
    return error == std::errc() && end == s.data() + s.size();
  };
  if (!number(std::string_view(text).substr(0, colon), o.call)) return std::nullopt;
  const std::size_t at = text.find('@', colon);
  o.result = text.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
  if (at == std::string::npos) return o;
  const std::size_t offset = text.find("offset("), strides = text.find("strides(");
  if (offset == std::string::npos || strides == std::string::npos) return std::nullopt;
  const auto inside = [&](std::size_t begin) {
    const std::size_t open = text.find('(', begin) + 1;
    return std::string_view(text).substr(open, text.find(')', open) - open);
  };
  if (!number(inside(offset), o.offset)) return std::nullopt;
  o.strides.emplace();
  std::string_view list = inside(strides);
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::int64_t stride = 0;
    if (!number(list.substr(0, end), stride)) return std::nullopt;
    o.strides->push_back(stride);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return o;
}

// The part of a packed tensor that has these strides; nothing if it does not lie within.
std::optional<TensorData> view_of(const TensorData& whole, const Origin& o, const Shape& shape) {
  if (!o.strides) return whole.shape == shape ? std::optional(whole) : std::nullopt;
  if (o.strides->size() != shape.size()) return std::nullopt;
  TensorData part(whole.dtype, shape);
  for (std::int64_t i = 0; i < part.numel(); ++i) {
    std::int64_t rest = i, at = o.offset;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) at += rest % shape[d] * (*o.strides)[d];
    if (at < 0 || at >= whole.numel()) return std::nullopt;
    std::memcpy(part.element(i), whole.element(at), static_cast<std::size_t>(bytes(whole.dtype)));
  }
  return part;
}

// What became of a tensor on the way, in words: the faults of a copy.
std::string difference(const TensorData& before, const TensorData& after) {
  if (before.shape != after.shape)
    return fmt::format("its shape is [{}] instead of [{}]", text(after.shape), text(before.shape));
  Call copy =
      materialise(parse_case(fmt::format("clone:self={}[{}]", name(before.dtype), text(before.shape))));
  if (!copy.error.empty()) return "it is another one";
  copy.arguments[0] = before;
  const auto same_dtype = as_dtype(after, before.dtype);
  if (!same_dtype)
    return fmt::format("it is {}, and has numbers that {} does not have", name(after.dtype),
                       name(before.dtype));
  Evidence evidence(copy, parse_contract("", before.dtype), {same_dtype->packed()});
  diagnose::Diagnosis d = diagnose::diagnose(
      evidence, {.patience = {.pairs = std::chrono::milliseconds(2000)}, .separate = false});
  std::string said = summary(d);
  for (std::size_t at = 0; (at = said.find(" self", at)) != std::string::npos; at += 3)
    if (at + 5 == said.size() || !std::isalnum(static_cast<unsigned char>(said[at + 5])))
      said.replace(at, 5, " it");
  return fmt::format("{} of {} elements differ: {}", d.diverging, before.numel(), said);
}

class Bisector {
 public:
  Bisector(const CaseFile& trace, const TensorFile& dump, const BisectOptions& options)
      : trace_(trace), dump_(dump), options_(options) {
    for (const TensorEntry& e : dump.entries()) names_.insert(e.name);
    for (const RecordedCall& call : trace.calls) ++calls_in_[module_of(call)];
    check_map();
    find_by_shape();
  }

  BisectedCall call(std::size_t k) {
    const RecordedCall& recorded = trace_.calls[k];
    BisectedCall result;
    result.name = recorded.name.empty() ? fmt::format("{}:{}", k, recorded.op) : recorded.name;
    result.op = recorded.op;
    result.source = note(recorded, "source");
    result.case_text = recorded.case_text;
    const Operator* op = operator_of(recorded);
    if (op == nullptr) {
      without_reference(k, result);
      return result;
    }
    Replayable r = replayable(recorded);
    Call engines = r.call;
    bool other_parameters = false, changed = false, inherited = false;
    for (std::size_t i = 0; i < engines.arguments.size(); ++i)
      if (auto* t = std::get_if<TensorData>(&engines.arguments[i])) {
        const std::string argument(op->schema.argument_storage[i].name);
        input(recorded, argument, *t, result, other_parameters, changed, inherited);
      }
    ExpectedOutputs dumped(engines.outputs.size());
    bool any = false;
    for (std::size_t o = 0; o < engines.outputs.size(); ++o)
      if (auto t = result_in_dump(k, output_name(*op, o), engines.outputs[o], result)) {
        dumped[o] = t->packed();
        results_[{k, output_name(*op, o)}] = std::move(*t);
        any = true;
      }
    Evidence evidence(engines, contract(recorded, engines), dumped);
    if (!any) {
      result.status = changed ? Status::changed : other_parameters ? Status::parameters : Status::not_dumped;
    } else if (evidence.diverging() > 0) {
      result.status = Status::wrong;
      result.diagnosis = diagnose::diagnose(evidence, options_.diagnosis);
      result.diagnosis->case_text = recorded.case_text;
      result.diagnosis->impl = dump_.path();
      if (options_.contract.empty())
        result.diagnosis->contract = "what common libraries do; --contract says it better";
    } else if (changed || other_parameters) {
      result.status = changed ? Status::changed : Status::parameters;
    } else {
      result.status =
          inherited && differs_from_trace(r.call, recorded, dumped) ? Status::inherited : Status::right;
    }
    stand_in(k, evidence, engines);
    return result;
  }

  std::vector<std::string> unused() const {
    std::vector<std::string> left;
    for (const std::string& n : names_)
      if (!used_.contains(n)) left.push_back(n);
    return left;
  }

 private:
  static std::string note(const RecordedCall& call, const std::string& key) {
    const auto found = call.notes.find(key);
    return found == call.notes.end() ? std::string() : found->second;
  }
  static std::string module_of(const RecordedCall& call) { return call.name.substr(0, call.name.find('/')); }

  Contract contract(const RecordedCall&, const Call& call) const {
    return parse_contract(options_.contract.empty() ? diagnose::strangers_contract() : options_.contract,
                          call.outputs[0].computed_in);
  }

  void check_map() const {
    for (const auto& mapped : options_.map) {
      const std::string& from = mapped.first;
      dump_.entry(mapped.second);  // throws, if there is none
      const std::string base = from.substr(0, from.rfind(':'));
      const bool known = std::ranges::any_of(trace_.calls, [&](const RecordedCall& c) {
        if (c.name == from || c.name == base || module_of(c) == from || module_of(c) == base) return true;
        return std::ranges::any_of(
            c.notes, [&](const auto& n) { return n.first.starts_with("parameter.") && n.second == from; });
      });
      if (!known)
        throw CaseError(fmt::format("--map: \"{}\" is no call, module or parameter of the trace", from));
    }
  }

  // The dump's name for one of the trace's, by the map or the same.
  std::optional<std::string> dumped_name(const std::string& name) const {
    if (const auto mapped = options_.map.find(name); mapped != options_.map.end()) return mapped->second;
    if (names_.contains(name)) return name;
    return std::nullopt;
  }

  std::optional<TensorData> read(const std::string& name) {
    used_.insert(name);
    return tensor_of(dump_.read(dump_.entry(name)));
  }

  // Names that the dump may have for a call: with a suffix, for its arguments and further results.
  std::vector<std::string> names_of(const RecordedCall& call, const std::string& suffix) const {
    std::vector<std::string> all{call.name + ":" + suffix};
    const bool alone = calls_in_.at(module_of(call)) == 1;
    if (alone) all.push_back(module_of(call) + ":" + suffix);
    if (suffix == "out" || suffix == "out0") {
      all.push_back(call.name);
      if (alone) all.push_back(module_of(call));
    }
    return all;
  }

  // Results that have no name in the dump, and are the only ones of their shape on either side.
  void find_by_shape() {
    std::map<Shape, std::vector<std::size_t>> calls;
    std::map<Shape, std::vector<std::string>> tensors;
    std::set<std::string> parameters, taken;
    for (std::size_t k = 0; k < trace_.calls.size(); ++k) {
      const RecordedCall& call = trace_.calls[k];
      for (const auto& [key, value] : call.notes)
        if (key.starts_with("parameter."))
          if (const auto n = dumped_name(value)) parameters.insert(*n);
      bool named = false;
      for (const auto& [out, recorded] : call.outputs) {
        for (const std::string& n : names_of(call, out))
          if (const auto d = dumped_name(n)) {
            taken.insert(*d);
            named = true;
          }
        if (!named && (out == "out" || out == "out0") && recorded.actual)
          calls[recorded.actual->shape].push_back(k);
      }
    }
    for (const TensorEntry& e : dump_.entries())
      if (!parameters.contains(e.name) && !taken.contains(e.name)) tensors[e.shape].push_back(e.name);
    for (const auto& [shape, at] : calls)
      if (const auto found = tensors.find(shape);
          at.size() == 1 && found != tensors.end() && found->second.size() == 1)
        by_shape_[at[0]] = found->second[0];
  }

  std::optional<TensorData> result_in_dump(std::size_t k, const std::string& out,
                                           const Checked::Output& expected, BisectedCall& result) {
    const RecordedCall& call = trace_.calls[k];
    std::optional<std::string> found;
    for (const std::string& n : names_of(call, out))
      if (!found) found = dumped_name(n);
    const bool guessed = !found && (out == "out" || out == "out0") && by_shape_.contains(k);
    if (guessed) found = by_shape_.at(k);
    if (!found) return std::nullopt;
    auto t = read(*found);
    if (t->shape != expected.shape) {
      result.says.push_back(fmt::format("{} of the dump is [{}], but {} gives [{}]: not compared", *found,
                                        text(t->shape), out, text(expected.shape)));
      return std::nullopt;
    }
    auto same = as_dtype(*t, expected.dtype);
    if (!same) {
      result.says.push_back(
          fmt::format("{} of the dump is {} and has numbers that {} does not have: not compared", *found,
                      name(t->dtype), name(expected.dtype)));
      return std::nullopt;
    }
    if (result.dumped_as.empty())
      result.dumped_as = guessed ? *found + ", the only one of its shape" : *found;
    return same;
  }

  // What the engine had for an input: what its kernel received, its own parameter, or its own result of the call before.
  void input(const RecordedCall& recorded, const std::string& argument, TensorData& t, BisectedCall& result,
             bool& other_parameters, bool& changed, bool& inherited) {
    std::optional<TensorData> before;
    std::string from;
    Shape given = t.shape;  // by the call before: a view of it in one piece has other dimensions
    const std::string parameter = note(recorded, "parameter." + argument);
    if (!parameter.empty()) {
      if (const auto n = dumped_name(parameter)) {
        auto own = fitted(*read(*n), t, recorded, argument);
        if (own && !same_bits(*own, packed(t))) {
          result.says.push_back(
              fmt::format("{} is not {} that was recorded: {}", *n, parameter, difference(packed(t), *own)));
          other_parameters = true;
        }
        if (own) t = *own;
        before = own;
        from = parameter;
      }
    } else if (const auto origin = parse_origin(note(recorded, "from." + argument))) {
      const auto own = results_.find({origin->call, origin->result});
      if (own != results_.end())
        if (auto part = view_of(own->second, *origin, t.shape); part && part->dtype == t.dtype) {
          inherited = inherited || !same_bits(*part, packed(t));
          t = *part;
          if (part->packed() == own->second.packed()) given = own->second.shape;
          before = std::move(part);
          from = trace_.calls[origin->call].name;
        }
    }
    for (const std::string& name : {recorded.name + ":" + argument, module_of(recorded) + ":" + argument}) {
      const auto n = dumped_name(name);
      if (!n) continue;
      auto received = read(*n);
      if (received->shape != t.shape) continue;
      if (auto same = as_dtype(*received, t.dtype)) {
        if (before && !same_bits(*same, *before)) {
          TensorData is = *same;
          before->shape = is.shape = given;
          before->strided = is.strided = TensorData(is.dtype, given).strided;
          result.says.push_back(fmt::format("{}, which it received as {}, is not what {} gave: {}", *n,
                                            argument, from, difference(*before, is)));
          changed = true;
        }
        t = std::move(*same);
      }
      return;
    }
  }

  static TensorData packed(const TensorData& t) { return tensor_of({t.dtype, t.shape, t.packed()}); }

  // A parameter of the dump as the argument takes it: views of parameters (a transposed weight) are recorded with their strides.
  std::optional<TensorData> fitted(const TensorData& own, const TensorData& argument,
                                   const RecordedCall& recorded, const std::string& name) const {
    std::optional<TensorData> t = as_dtype(own, argument.dtype);
    if (!t) return std::nullopt;
    if (t->shape == argument.shape) return t;
    const auto origin = parse_origin(note(recorded, "from." + name));
    if (origin && origin->strides) return view_of(*t, *origin, argument.shape);
    // As it lies in its memory, if that is all of it.
    Origin whole;
    whole.strides = argument.strided.strides;
    return argument.numel() == t->numel() ? view_of(*t, whole, argument.shape) : std::nullopt;
  }

  bool differs_from_trace(const Call& torchs, const RecordedCall& recorded,
                          const ExpectedOutputs& dumped) const {
    Evidence evidence(torchs, contract(recorded, torchs), dumped);
    return evidence.diverging() > 0;
  }

  void without_reference(std::size_t k, BisectedCall& result) {
    const RecordedCall& recorded = trace_.calls[k];
    result.status = Status::no_reference;
    for (const auto& [out, o] : recorded.outputs) {
      if (!o.actual) continue;
      auto dumped = result_in_dump(k, out, {o.actual->dtype, o.actual->shape}, result);
      if (dumped && !same_bits(*dumped, tensor_of(*o.actual)))
        result.says.push_back(
            fmt::format("{} differs from PyTorch's: {}", out, difference(tensor_of(*o.actual), *dumped)));
      results_[{k, out}] = dumped ? std::move(*dumped) : tensor_of(*o.actual);
    }
  }

  // Results that the dump does not have: what the reference gives for the engine's own inputs.
  void stand_in(std::size_t k, Evidence& evidence, const Call& engines) {
    for (std::size_t o = 0; o < engines.outputs.size(); ++o) {
      const std::string out = output_name(*engines.op, o);
      if (results_.contains({k, out})) continue;
      TensorData t(engines.outputs[o].dtype, engines.outputs[o].shape);
      const std::vector<double>& values = evidence.expectation().values(static_cast<int>(o));
      const std::vector<std::int64_t>* exact = evidence.expectation().integers(static_cast<int>(o));
      for (std::size_t e = 0; e < values.size(); ++e) {
        const auto at = static_cast<std::int64_t>(e);
        if (exact != nullptr)
          store_integer(t.element(at), t.dtype, (*exact)[e]);
        else
          t.set(at, values[e]);
      }
      results_[{k, out}] = std::move(t);
    }
  }

  const CaseFile& trace_;
  const TensorFile& dump_;
  const BisectOptions& options_;
  std::set<std::string> names_, used_;
  std::map<std::string, int> calls_in_;  // by module
  std::map<std::size_t, std::string> by_shape_;
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
  return b;
}

}  // namespace assay
