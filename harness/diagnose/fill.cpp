#include "fill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../diff/rule.h"
#include "prediction.h"
#include "reports/text.h"

namespace assay::diagnose {
namespace {

constexpr std::uint64_t kEnoughZeros = 8, kEnoughOfAnEnd = 3;
constexpr double kByCoordinates =
    0.95;  // of the elements that a rule names, those that diverge: others may be right as zeros

using Bytes = std::span<const std::byte>;

Bytes element(const std::vector<std::byte>& packed, std::uint64_t e, std::size_t size) {
  return Bytes(packed).subspan(e * size, size);
}

bool placed_by_coordinates(const Shape& shape, const diff::Mask& diverging) {
  const std::optional<diff::Rule> rule = diff::smallest_rule(shape, diverging, {});
  return rule && rule->precision >= kByCoordinates && rule->recall > 0.999;
}

// The indices of a dimension at which elements of a set are, as one bit each.
std::vector<bool> indices(const Shape& shape, std::size_t dimension, const diff::Mask& set) {
  std::int64_t inner = 1;
  for (std::size_t d = dimension + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<bool> all(static_cast<std::size_t>(shape[dimension]));
  for (std::uint64_t e = 0; e < set.size(); ++e)
    if (set[e]) all[static_cast<std::size_t>(static_cast<std::int64_t>(e) / inner % shape[dimension])] = true;
  return all;
}

diff::Mask numbers_of(const TensorData& t) {
  diff::Mask mask(static_cast<std::uint64_t>(t.numel()));
  for (std::int64_t i = 0; i < t.numel(); ++i)
    if (t.get(i) != 0) mask.set(static_cast<std::uint64_t>(i));
  return mask;
}

std::size_t count(const std::vector<bool>& all) {
  return static_cast<std::size_t>(std::ranges::count(all, true));
}

// "3 to 8", "1, 4, 6"
std::string listed(const std::vector<bool>& all) {
  constexpr std::size_t kMostListed = 8;
  std::vector<std::string> at;
  std::size_t first = all.size(), last = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    at.push_back(std::to_string(i));
    first = std::min(first, i);
    last = i;
  }
  if (at.size() > 1 && last - first + 1 == at.size()) return fmt::format("{} to {}", first, last);
  return first_of(at, kMostListed);
}

// Calls visit(argument, its dimension, the output's dimension) for each that may be the same rows.
template <class Visit>
void each_pair_of_rows(const Call& call, const Shape& out, const Visit& visit) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto* t = std::get_if<TensorData>(&call.arguments[i]);
    if (t == nullptr || !is_float(t->dtype)) continue;
    for (std::size_t d = 0; d < t->shape.size(); ++d)
      for (std::size_t e = 0; e < out.size(); ++e)
        if (t->shape[d] == out[e] && out[e] > 1) visit(i, *t, d, e);
  }
}

// Whether all elements that diverge are where rows of an input are zeros, or the input's own element is.
bool are_where_inputs_are_zero(const Call& call, const Shape& out, const diff::Mask& diverging) {
  bool found = false;
  for (const CallValue& value : call.arguments)
    if (const auto* t = std::get_if<TensorData>(&value);
        t != nullptr && is_float(t->dtype) && t->shape == out) {
      bool all = true;
      for (std::uint64_t e = 0; e < diverging.size() && all; ++e)
        all = !diverging[e] || t->get(static_cast<std::int64_t>(e)) == 0;
      found = found || all;
    }
  each_pair_of_rows(call, out, [&](std::size_t, const TensorData& t, std::size_t d, std::size_t e) {
    const std::vector<bool> with_numbers = indices(t.shape, d, numbers_of(t)),
                            wrong = indices(out, e, diverging);
    bool apart = true;
    for (std::size_t i = 0; i < wrong.size(); ++i) apart = apart && !(wrong[i] && with_numbers[i]);
    found = found || apart;
  });
  return found;
}

// "input has nothing but zeros at indices 2, 5 of its dimension 0", if all of the result is zero there, and nothing elsewhere diverges.
std::optional<std::string> rows_skipped(Evidence& evidence, int output) {
  const Call& call = evidence.call();
  const Shape& out = call.outputs[static_cast<std::size_t>(output)].shape;
  const diff::Mask& diverging = evidence.mask(output);
  diff::Mask numbers(diverging.size());
  for (std::uint64_t e = 0; e < numbers.size(); ++e)
    if (evidence.actual(output, static_cast<std::int64_t>(e)) != 0) numbers.set(e);
  std::optional<std::string> found;
  each_pair_of_rows(call, out, [&](std::size_t i, const TensorData& t, std::size_t d, std::size_t e) {
    std::vector<bool> zeros = indices(t.shape, d, numbers_of(t));
    zeros.flip();
    const std::vector<bool> wrong = indices(out, e, diverging), written = indices(out, e, numbers);
    bool exactly = count(zeros) < zeros.size();
    for (std::size_t k = 0; k < zeros.size(); ++k)
      exactly = exactly && !(wrong[k] && !zeros[k]) && !(zeros[k] && written[k]);
    if (exactly && !found)
      found = fmt::format("{} has nothing but zeros at {} {} of its dimension {}",
                          call.op->schema.argument_storage[i].name, count(zeros) == 1 ? "index" : "indices",
                          listed(zeros), d);
  });
  return found;
}

// Inputs of which whole rows may have been read as zeros instead: then the reference gives what came.
std::vector<ReadAsZeros> read_as_zeros(Evidence& evidence, int output) {
  std::vector<ReadAsZeros> all;
  const Call& call = evidence.call();
  const Shape& out = call.outputs[static_cast<std::size_t>(output)].shape;
  each_pair_of_rows(call, out, [&](std::size_t i, const TensorData& t, std::size_t d, std::size_t e) {
    const std::vector<bool> wrong = indices(out, e, evidence.mask(output));
    if (count(wrong) == wrong.size()) return;
    Call zeroed = call;
    auto& changed = std::get<TensorData>(zeroed.arguments[i]);
    std::int64_t inner = 1;
    for (std::size_t k = d + 1; k < t.shape.size(); ++k) inner *= t.shape[k];
    for (std::int64_t n = 0; n < t.numel(); ++n)
      if (wrong[static_cast<std::size_t>(n / inner % t.shape[d])]) changed.set(n, 0);
    // A few elements tell most of these apart; all of a large result take a second.
    std::optional<Prediction> p = Prediction::of({}, zeroed, evidence.contract(), &evidence.rounding());
    if (std::ranges::any_of(evidence.tried(),
                            [&](const Element& one) { return one.output == output && !p->admits(one); }))
      return;
    ExpectedOutputs actual(call.outputs.size());
    actual[static_cast<std::size_t>(output)] = evidence.packed(output);
    if (Evidence(zeroed, evidence.contract(), std::move(actual), evidence.rounding()).diverging() > 0) return;
    const std::string_view name = call.op->schema.argument_storage[i].name;
    all.push_back({fmt::format("{}.zeros_in_dimension_{}", name, d),
                   fmt::format("reads zeros for {} at {} {} of its dimension {}", name,
                               count(wrong) == 1 ? "index" : "indices", listed(wrong), d)});
  });
  return all;
}

bool is_finite(const Call& call) {
  return std::ranges::all_of(call.arguments, [](const CallValue& value) {
    const auto* const t = std::get_if<TensorData>(&value);
    if (t == nullptr || !is_float(t->dtype)) return true;
    for (std::int64_t i = 0; i < t->numel(); ++i)
      if (!std::isfinite(t->get(i))) return false;
    return true;
  });
}

// NaN in a place of its own, where nothing that goes in is NaN or infinite.
std::optional<Fill> nan_of(Evidence& evidence) {
  const Call& call = evidence.call();
  std::uint64_t elements = 0;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (!evidence.has(output) || evidence.mask(output).count() == 0) continue;
    const diff::Mask& diverging = evidence.mask(output);
    for (std::uint64_t e = 0; e < diverging.size(); ++e)
      if (diverging[e] && !std::isnan(evidence.actual(output, static_cast<std::int64_t>(e))))
        return std::nullopt;
    // All of them tell no cause from another.
    if (diverging.count() == diverging.size() || !placed_by_coordinates(call.outputs[o].shape, diverging))
      return std::nullopt;
    elements += diverging.count();
  }
  if (elements < 2 || !is_finite(call)) return std::nullopt;
  return Fill{
      "gives NaN for those elements that diverge, and no input is NaN or infinite: memory that nobody has written, or 0 / 0 and "
      "inf - inf on the way",
      elements >= kEnoughZeros,
      {},
      "results.nan"};
}

}  // namespace

std::optional<Fill> fill_of(Evidence& evidence) {
  if (std::optional<Fill> nan = nan_of(evidence)) return nan;
  const Call& call = evidence.call();
  std::optional<std::vector<std::byte>> fill;
  std::uint64_t elements = 0;
  bool zeros = true;
  std::vector<ReadAsZeros> others;
  std::optional<std::string> skipped;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (!evidence.has(output)) continue;
    const diff::Mask& diverging = evidence.mask(output);
    const Dtype dtype = evidence.stored(output);
    const std::vector<std::byte> packed = evidence.as_stored(output, evidence.packed(output));
    const auto size = static_cast<std::size_t>(bytes(dtype));
    for (std::uint64_t e = 0; e < diverging.size(); ++e) {
      if (!diverging[e]) continue;
      const Bytes held = element(packed, e, size);
      if (!fill) fill.emplace(held.begin(), held.end());
      if (!std::ranges::equal(held, *fill)) return std::nullopt;
      ++elements;
    }
    if (diverging.count() == 0) continue;
    const std::byte first = fill->front();
    if (!std::ranges::all_of(*fill, [first](std::byte b) { return b == first; })) return std::nullopt;
    zeros = first == std::byte{0};
    // Of integers, 0 and -1 are numbers as others are.
    const bool integer = !is_float(dtype);
    if (size == 1 || (integer && (zeros || first == std::byte{0xff}))) return std::nullopt;
    if (zeros && are_where_inputs_are_zero(call, call.outputs[o].shape, diverging)) {
      auto where = rows_skipped(evidence, output);
      if (!where || (skipped && *skipped != *where)) return std::nullopt;
      skipped = std::move(where);
      continue;
    }
    if (zeros && !placed_by_coordinates(call.outputs[o].shape, diverging)) return std::nullopt;
    if (zeros)
      for (ReadAsZeros& r : read_as_zeros(evidence, output)) others.push_back(std::move(r));
  }
  if (elements < 2) return std::nullopt;
  if (skipped)
    return Fill{
        fmt::format(
            "leaves elements of the result unwritten, or stores zeros there, where {}: it skips what is zero",
            *skipped),
        elements >= kEnoughZeros,
        {},
        "results.unwritten_where_zero"};
  if (zeros)
    return Fill{
        "leaves elements of the result unwritten, or stores zeros there: those that diverge are all 0",
        elements >= kEnoughZeros, std::move(others)};
  std::vector<int> numbers;
  for (const std::byte b : *fill) numbers.push_back(std::to_integer<int>(b));
  return Fill{
      fmt::format("leaves elements of the result unwritten: those that diverge all hold the bytes {:02x}",
                  fmt::join(numbers, " ")),
      true};
}

namespace {

// Zeros of both signs, and nothing else: somebody computed them.
std::optional<Fill> signed_zeros(Evidence& evidence, int output) {
  const std::vector<double>& right = evidence.expectation().values(output);
  bool negative = false, positive = false, as_right = true;
  for (std::size_t e = 0; e < right.size(); ++e) {
    const double x = evidence.actual(output, static_cast<std::int64_t>(e));
    if (x != 0) return std::nullopt;
    (std::signbit(x) ? negative : positive) = true;
    as_right = as_right && (right[e] == 0 || std::signbit(x) == std::signbit(right[e]));
  }
  if (!negative || !positive) return std::nullopt;
  return Fill{
      fmt::format(
          "gives 0 or -0 for each of {} elements{}", grouped(right.size()),
          as_right
              ? ", with the sign of what is right: such are numbers below 1 that are rounded to integers, and those "
                "that are too small for a format"
              : ""),
      true,
      {},
      "results.zeros"};
}

}  // namespace

std::optional<Fill> constant_of(Evidence& evidence) {
  constexpr std::size_t kLeastElements = 8, kLeastDifferent = 4;
  const Call& call = evidence.call();
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (!evidence.has(output) || evidence.mask(output).count() == 0) continue;
    const std::vector<std::byte> packed = evidence.as_stored(output, evidence.packed(output));
    const auto size = static_cast<std::size_t>(bytes(evidence.stored(output)));
    const std::uint64_t n = evidence.mask(output).size();
    const double number = evidence.actual(output, 0);
    if (n >= kLeastElements && number == 0)
      return signed_zeros(evidence, output);  // of one sign, they may be unwritten
    if (n < kLeastElements || !std::isfinite(number)) return std::nullopt;
    for (std::uint64_t e = 1; e < n; ++e)
      if (!std::ranges::equal(element(packed, e, size), element(packed, 0, size))) return std::nullopt;
    std::set<double> right;
    for (const double x : evidence.expectation().values(output)) {
      right.insert(x);
      if (right.size() >= kLeastDifferent)
        return Fill{fmt::format("gives {} for each of {} elements, whatever goes in", number, grouped(n)),
                    true,
                    {},
                    "results.constant"};
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Fill> end_of(Evidence& evidence) {
  const Call& call = evidence.call();
  std::optional<Fill> found;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    const diff::Mask& diverging = evidence.mask(output);
    if (!evidence.has(output) || diverging.count() == 0) continue;
    if (found) return std::nullopt;
    const std::vector<std::byte> packed = evidence.as_stored(output, evidence.packed(output));
    const auto size = static_cast<std::size_t>(bytes(evidence.stored(output)));
    const std::uint64_t n = diverging.size();
    const Bytes last = element(packed, n - 1, size);
    std::uint64_t begin = n;  // of the elements like the last one
    while (begin > 0 && std::ranges::equal(element(packed, begin - 1, size), last)) --begin;
    std::uint64_t first = 0;
    while (!diverging[first]) ++first;
    if (first < begin || begin == 0 || diverging.count() < kEnoughOfAnEnd) return std::nullopt;
    const auto place = [&](std::uint64_t e) {
      return index_text(call.outputs[o].shape, static_cast<std::int64_t>(e));
    };
    const double number = evidence.actual(output, static_cast<std::int64_t>(n - 1));
    const std::string where =
        begin == first ? fmt::format("from {} on", place(first))
                       : fmt::format("from {} on, or from one after it up to {}", place(begin), place(first));
    found = Fill{fmt::format("stores {} in the last {} of {} elements, {}, or leaves them unwritten", number,
                             begin == first ? fmt::format("{}", n - first)
                                            : fmt::format("{} to {}", n - first, n - begin),
                             grouped(n), where),
                 diverging.count() >= kEnoughZeros,
                 {},
                 "results.end_lost"};
  }
  return found;
}

}  // namespace assay::diagnose
