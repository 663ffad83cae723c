#include "dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../files/tensor_data.h"
#include "../tensors/layout.h"
#include "origin.h"
#include "vocabulary/case.h"

namespace assay {
namespace {

constexpr std::string_view kParameter = "parameter.", kState = "state.";

bool is_first(const std::string& output) { return output == "out" || output == "out0"; }

// Whether numbers that share a shape have anything to do with each other: half of them are nearly the same.
bool is_alike(const TensorData& a, const TensorData& b) {
  constexpr std::int64_t kLookedAt = 4096;
  constexpr double kNearly = 0.05;
  const std::int64_t n = a.numel(), step = std::max<std::int64_t>(1, n / kLookedAt);
  std::int64_t looked_at = 0, alike = 0;
  for (std::int64_t i = 0; i < n; i += step, ++looked_at) {
    const double x = a.get(i), y = b.get(i);
    alike += x == y || std::fabs(x - y) <= kNearly * std::max(std::fabs(x), std::fabs(y)) ? 1 : 0;
  }
  return 2 * alike >= looked_at;
}

// As batch norm counts its batches beside what it computes: such a call is none that a module is known by.
bool counts_only(const RecordedCall& call) {
  return !call.outputs.empty() && std::ranges::all_of(call.outputs, [](const auto& output) {
    const auto& actual = output.second.actual;
    return actual && actual->shape.empty() && !is_float(actual->dtype);
  });
}

}  // namespace

std::string note_of(const RecordedCall& call, const std::string& key) {
  const auto found = call.notes.find(key);
  return found == call.notes.end() ? std::string() : found->second;
}

std::string name_of(const CaseFile& trace, std::size_t call) {
  const RecordedCall& c = trace.calls[call];
  return c.name.empty() ? fmt::format("{}:{}", call, c.op) : c.name;
}

std::string module_of(const RecordedCall& call) { return call.name.substr(0, call.name.find('/')); }

Dump::Dump(const CaseFile& trace, const TensorFile& file, const diff::NameMap& map, const Matched& matched,
           std::optional<Dtype> precision)
    : trace_(trace), file_(file), map_(map), matched_(matched), precision_(precision) {
  for (const TensorEntry& e : file.entries()) names_.insert(e.name);
  for (const RecordedCall& call : trace.calls) calls_in_[module_of(call)] += counts_only(call) ? 0 : 1;
  find_last_of_modules();
  check_map();
  find_by_shape();
}

// What a module of several calls gives, also of modules in it: the one result that is read after the last of them, or of the last module of
// all the last one. Of modules that are called twice, nobody knows which call a dump has.
void Dump::find_last_of_modules() {
  struct Span {
    std::size_t first = 0, last = 0, calls = 0;
  };
  std::map<std::string, Span> spans;
  for (std::size_t k = 0; k < trace_.calls.size(); ++k) {
    const std::string& name = trace_.calls[k].name;
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos || counts_only(trace_.calls[k])) continue;
    for (std::string module = name.substr(0, slash);; module.resize(module.rfind('.'))) {
      Span& s = spans.try_emplace(module, Span{k, k, 0}).first->second;
      s.last = k;
      ++s.calls;
      if (module.find('.') == std::string::npos) break;
    }
  }
  std::map<std::size_t, std::size_t> read_last;  // by call, which one reads its results last
  for (std::size_t k = 0; k < trace_.calls.size(); ++k)
    for (const auto& [key, value] : trace_.calls[k].notes)
      if (const auto origin = key.starts_with("from.") ? parse_origin(value) : std::nullopt) read_last[origin->call] = k;
  for (const auto& [module, s] : spans) {
    if (s.calls < 2 || s.last - s.first + 1 != s.calls) continue;
    std::vector<std::size_t> given;
    for (std::size_t k = s.first; k <= s.last; ++k)
      if (const auto read = read_last.find(k); read != read_last.end() && read->second > s.last) given.push_back(k);
    if (given.empty() && s.last + 1 == trace_.calls.size()) given.push_back(s.last);
    if (given.size() == 1) result_of_[module] = trace_.calls[given[0]].name;
  }
}

void Dump::check_map() const {
  for (const auto& mapped : map_) {
    const std::string& from = mapped.first;
    file_.entry(mapped.second);  // throws, if there is none
    const std::string base = from.substr(0, from.rfind(':'));
    const bool known = std::ranges::any_of(trace_.calls, [&](const RecordedCall& c) {
      if (c.name == from || c.name == base || module_of(c) == from || module_of(c) == base || result_of_.contains(from)) return true;
      return std::ranges::any_of(c.notes, [&](const auto& n) {
        return (n.first.starts_with(kParameter) || n.first.starts_with(kState)) && n.second == from;
      });
    });
    if (!known)
      throw CaseError(fmt::format("--map: \"{}\" is no call, module or parameter of the trace", from));
  }
}

std::optional<std::string> Dump::dumped_name(const std::string& name) const {
  if (const auto mapped = map_.find(name); mapped != map_.end()) return mapped->second;
  if (const auto found = matched_.names.find(name); found != matched_.names.end()) return found->second;
  if (names_.contains(name)) return name;
  return std::nullopt;
}

bool Dump::is_alone(const RecordedCall& call) const {
  return calls_in_.at(module_of(call)) == 1 && (!counts_only(call) || call.name == module_of(call));
}

std::vector<std::string> Dump::names_of(const RecordedCall& call, const std::string& suffix) const {
  const std::string module = module_of(call);
  const bool alone = is_alone(call);
  std::vector<std::string> all{call.name + ":" + suffix};
  if (alone) all.push_back(module + ":" + suffix);
  if (is_first(suffix)) {
    all.push_back(call.name);
    if (alone) all.push_back(module);
    for (const auto& [of, result] : result_of_)
      if (result == call.name) all.push_back(of);
  }
  return all;
}

void Dump::find_by_shape() {
  std::map<Shape, std::vector<std::size_t>> calls;
  std::map<Shape, std::vector<std::string>> tensors;
  std::set<std::string> taken;  // by name
  for (std::size_t k = 0; k < trace_.calls.size(); ++k) {
    const RecordedCall& call = trace_.calls[k];
    for (const auto& [key, value] : call.notes)
      if (key.starts_with(kParameter) || key.starts_with(kState))
        if (const auto n = dumped_name(value)) taken.insert(*n);
    for (const auto& input : call.inputs)
      if (const auto n = argument(k, input.first)) taken.insert(*n);
    for (const auto& [out, recorded] : call.outputs) {
      bool named = false;
      for (const std::string& n : names_of(call, out))
        if (const auto d = dumped_name(n)) {
          taken.insert(*d);
          named = true;
        }
      if (!named && is_first(out) && recorded.actual) calls[recorded.actual->shape].push_back(k);
    }
  }
  for (const TensorEntry& e : file_.entries())
    if (!taken.contains(e.name) && e.name.find(':') == std::string::npos) tensors[e.shape].push_back(e.name);
  for (const auto& [shape, at] : calls)
    if (const auto found = tensors.find(shape);
        at.size() == 1 && found != tensors.end() && found->second.size() == 1) {
      for (const auto& [out, recorded] : trace_.calls[at[0]].outputs)
        if (is_first(out) && is_float(recorded.actual->dtype) == is_float(dtype(found->second[0])) &&
            is_alike(tensor_of(*recorded.actual), peek(found->second[0])))
          by_shape_[at[0]] = found->second[0];
    }
}

// Engines have names of their own, as "cat", which say nothing where their nodes do not: what has another size is another tensor.
bool Dump::is_namesake(std::size_t call, const std::string& output, const std::string& name, const std::string& found) const {
  if (!is_of_engine() || map_.contains(name) || matched_.names.contains(name)) return false;
  const auto recorded = trace_.calls[call].outputs.find(output);
  return recorded != trace_.calls[call].outputs.end() && recorded->second.actual &&
         numel(recorded->second.actual->shape) != numel(file_.entry(found).shape);
}

std::optional<Dump::Found> Dump::result(std::size_t call, const std::string& output) const {
  for (const std::string& n : names_of(trace_.calls[call], output)) {
    const auto found = dumped_name(n);
    if (!found || is_namesake(call, output, n, *found)) continue;
    if (const auto other = results_of_.find(*found); other == results_of_.end() || other->second == call)
      return Found{*found, false};
  }
  if (is_first(output))
    for (const auto& [name, of] : results_of_)
      if (of == call) return Found{name, false};
  if (const auto found = by_shape_.find(call); is_first(output) && found != by_shape_.end())
    return Found{found->second, true};
  return std::nullopt;
}

std::optional<std::string> Dump::argument(std::size_t call, const std::string& argument) const {
  const RecordedCall& c = trace_.calls[call];
  if (const auto found = dumped_name(c.name + ":" + argument)) return found;
  const std::string module = module_of(c);
  if (const auto found = is_alone(c) ? dumped_name(module + ":" + argument) : std::nullopt) return found;
  // What a module gave that makes no call, as one that flattens.
  const std::string view = note_of(c, "module." + argument);
  return view.empty() ? std::nullopt : dumped_name(view);
}

TensorData Dump::read(const std::string& name) {
  used_.insert(name);
  return peek(name);
}

std::optional<Dtype> Dump::rounded_to(const TensorData& t) const {
  if (!precision_ || t.dtype != Dtype::f32) return std::nullopt;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const double x = t.get(i);
    if (x == x && round_to(x, format(*precision_)) != x) return std::nullopt;
  }
  return precision_;
}

std::optional<Steps> Dump::steps_of(const std::string& name) const {
  const auto found = matched_.quantised.find(name);
  if (found == matched_.quantised.end()) return std::nullopt;
  const QuantisedBy& by = found->second;
  Steps steps{peek(by.scale), std::nullopt, std::nullopt};
  if (!by.zero_point.empty()) steps.zero_point = peek(by.zero_point);
  if (!by.integers.empty())
    steps.integers = dtype(by.integers);
  else if (steps.zero_point)
    steps.integers = steps.zero_point->dtype;
  return steps;
}

TensorData Dump::peek(const std::string& name) const { return tensor(file_.entry(name)); }

TensorData Dump::tensor(const TensorEntry& entry) const {
  const tensors::Place place{file_.path(), entry.name};
  try {
    return tensors::with_memory(place, entry.size, [&] { return tensor_of(file_.read(entry)); });
  } catch (const CaseError& e) {  // of [2^60 x 0], say: it has no element, but its strides are too large
    place.fail(e.what());
  }
}

std::vector<std::string> Dump::written() const {
  std::set<std::string> all;
  for (const RecordedCall& call : trace_.calls)
    for (const auto& [key, value] : call.notes)
      if (key.starts_with(kState))
        if (const auto name = dumped_name(value); name && !used_.contains(*name)) all.insert(*name);
  return {all.begin(), all.end()};
}

std::vector<std::string> Dump::unused() const {
  std::vector<std::string> left;
  std::set<std::string> known = used_;
  for (std::string& name : written()) known.insert(std::move(name));
  std::ranges::set_difference(names_, known, std::back_inserter(left));
  return left;
}

std::vector<diagnose::Source> Dump::sources(const std::set<std::string>& without) const {
  std::vector<diagnose::Source> all;
  for (const TensorEntry& e : file_.entries())
    if (!without.contains(e.name)) all.push_back({e.name, [this, &e] { return tensor(e); }});
  return all;
}

}  // namespace assay
