#include "given_another.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "another.h"
#include "dump.h"
#include "inputs.h"
#include "moved.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

constexpr std::int64_t kFirstElements = 16;  // elements that are looked at first
constexpr std::chrono::seconds kMostSearching{5};
constexpr std::size_t kMostJoined = 5;

struct Candidate {
  std::string call;
  TensorData data;  // packed
};

// What the engine gave for other calls: before this one as far as it is known, and later as far as the dump has it.
std::vector<Candidate> candidates(const CaseFile& trace, const Dump& dump, const KnownResults& results, std::size_t k) {
  std::vector<Candidate> all;
  for (const auto& [of, result] : results)
    if (of.first < k && result.lost_in.empty() && !says_little(result.data)) all.push_back({name_of(trace, of.first), packed_copy(result.data)});
  const std::vector<bool> follows = following_from(trace, k);
  for (std::size_t later = k + 1; later < trace.calls.size(); ++later)
    for (const auto& [output, recorded] : trace.calls[later].outputs)
      if (const auto found = dump.result(later, output); found && !follows[later])
        if (TensorData t = dump.peek(found->name); !says_little(t)) all.push_back({name_of(trace, later), packed_copy(t)});
  return all;
}

// Some elements tell nearly every tensor from the right one, at little cost.
bool may_be(const Call& call, const diagnose::Evidence& own) {
  Expectation expectation(call);
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (!own.has(output)) continue;
    const std::int64_t n = numel(call.outputs[o].shape), step = std::max<std::int64_t>(1, n / kFirstElements);
    const TensorData rounded = [&] {
      TensorData t(call.outputs[o].dtype, call.outputs[o].shape);
      t.memory = expectation.rounded(output);
      return t;
    }();
    const double scale = largest_of(rounded);
    for (std::int64_t e = 0; e < n; e += step)
      if (!is_nearly(own.actual(output, e), rounded.get(e), scale, 0)) return false;
  }
  return true;
}

GivenCall as_given(const GivenCall& given, std::size_t argument, std::vector<std::string> keys) {
  GivenCall other = given;
  other.arguments[argument].tensors = std::move(keys);
  return other;
}

bool gives(const GivenCall& call, const TensorData& came) {
  const auto moved = moved_by(call);
  return moved && moved->data.shape == came.shape && moved->data.dtype == came.dtype && same_bits(moved->data, packed_copy(came));
}

}  // namespace

std::vector<GivenAnother> given_another(const CaseFile& trace, const Dump& dump, const KnownResults& results, std::size_t k,
                                        diagnose::Evidence& own) {
  std::vector<GivenAnother> found;
  if (std::ranges::any_of(own.rounding().moved, [](const auto& m) { return !m.empty(); })) return found;
  const StopScope limit(after(std::chrono::steady_clock::now() + kMostSearching));
  try {
    const Call& call = own.call();
    const std::vector<Candidate> all = candidates(trace, dump, results, k);
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const auto* given = std::get_if<TensorData>(&call.arguments[i]);
      const std::string argument(call.op->schema.argument_storage[i].name);
      if (given == nullptr || !is_float(given->dtype) || !note_of(trace.calls[k], "parameter." + argument).empty()) continue;
      const TensorData plain = packed_copy(*given);
      for (const Candidate& c : all) {
        if (c.data.dtype != plain.dtype || c.data.numel() != plain.numel()) continue;
        Call other = call;
        TensorData instead = reshaped(c.data, plain.shape);
        if (same_bits(instead, plain)) continue;
        other.arguments[i] = std::move(instead);
        if (!may_be(other, own)) continue;
        ExpectedOutputs actual;
        for (std::size_t o = 0; o < call.outputs.size(); ++o)
          actual.push_back(own.has(static_cast<int>(o)) ? std::optional(own.packed(static_cast<int>(o))) : std::nullopt);
        const diagnose::Evidence with(other, own.contract(), std::move(actual), own.rounding());
        if (with.diverging() == 0) found.push_back({argument, c.call});
      }
    }
  } catch (const Stopped&) {  // what was found until then is true
  }
  return found;
}

std::optional<std::string> joined_otherwise(const CaseFile& trace, const KnownResults& results, std::size_t k, const GivenCall& given,
                                            const TensorData& came) {
  const auto joined = std::ranges::find_if(given.arguments, [](const auto& a) { return a.is_list && a.tensors.size() > 1; });
  if (joined == given.arguments.end() || joined->tensors.size() > kMostJoined || says_little(came)) return std::nullopt;
  const auto at = static_cast<std::size_t>(joined - given.arguments.begin());
  std::vector<std::size_t> order(joined->tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  while (std::ranges::next_permutation(order).found) {
    std::vector<std::string> keys;
    for (const std::size_t o : order) keys.push_back(joined->tensors[o]);
    if (gives(as_given(given, at, std::move(keys)), came))
      return fmt::format("its tensors are joined in another order: ({})", fmt::join(order, ", "));
  }
  for (const std::string& key : joined->tensors) {
    const TensorData& own = given.tensors.at(key).data;
    for (const auto& [of, result] : results) {
      if (of.first >= k || result.data.dtype != own.dtype || result.data.shape != own.shape || same_bits(packed_copy(result.data), own)) continue;
      GivenCall other = given;
      other.tensors.at(key).data = packed_copy(result.data);
      if (gives(other, came)) return fmt::format("{} is what {} gave", key, name_of(trace, of.first));
    }
  }
  return std::nullopt;
}

}  // namespace assay
