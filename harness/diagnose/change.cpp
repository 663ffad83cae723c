#include "change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <set>

#include "../diff/rearranged.h"
#include "../generate/data.h"
#include "diagnosis.h"

namespace assay::diagnose {
namespace {

constexpr std::chrono::milliseconds kForPairs{2000};
constexpr std::int64_t kLeastWritten = 4;

// Elements first, first + 1, .. of a packed tensor.
struct Part {
  std::int64_t first = 0, count = 0;
};

bool same_element(const TensorData& a, const TensorData& b, std::int64_t i) {
  if (a.dtype == b.dtype)
    return std::memcmp(a.element(i), b.element(i), static_cast<std::size_t>(bytes(a.dtype))) == 0;
  const double x = a.get(i), y = b.get(i);
  return x == y || (std::isnan(x) && std::isnan(y));
}

Part longest_change(const TensorData& before, const TensorData& after) {
  Part longest, now;
  for (std::int64_t i = 0; i < after.numel(); ++i) {
    if (same_element(before, after, i)) {
      now = {};
      continue;
    }
    if (now.count++ == 0) now.first = i;
    if (now.count > longest.count) longest = now;
  }
  return longest;
}

bool is_more_than_one_number(const TensorData& t, const Part& part) {
  const auto size = static_cast<std::size_t>(bytes(t.dtype));
  for (std::int64_t i = part.first + 1; i < part.first + part.count; ++i)
    if (std::memcmp(t.element(i), t.element(part.first), size) != 0) return true;
  return false;
}

bool has_different_numbers(const TensorData& t, const Part& part) {
  std::set<double> numbers;
  for (std::int64_t i = part.first; i < part.first + part.count && std::ssize(numbers) < kLeastWritten; ++i)
    if (const double x = t.get(i); !std::isnan(x)) numbers.insert(x);
  return std::ssize(numbers) >= kLeastWritten;
}

// As a file in the narrower dtype has it.
TensorData narrowed(const TensorData& t, Dtype dtype, bool cut_off) {
  if (t.dtype == dtype) return packed_copy(t);
  TensorData narrow(dtype, t.shape);
  const Format& f = format(dtype);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const double x = t.get(i);
    narrow.set(i, !cut_off ? x : x < 0 ? round_up(x, f) : round_down(x, f));
  }
  return narrow;
}

// The element of `hay` from which on it has these bytes.
std::optional<std::size_t> position(const TensorData& needle, const Part& part, const TensorData& hay) {
  const auto size = static_cast<std::size_t>(bytes(needle.dtype));
  const std::vector<std::byte> wanted = needle.packed(), all = hay.packed();
  const auto begin = wanted.begin() + part.first * static_cast<std::ptrdiff_t>(size);
  const std::boyer_moore_horspool_searcher searcher(begin,
                                                    begin + part.count * static_cast<std::ptrdiff_t>(size));
  for (auto from = all.begin();;) {
    const auto at = std::search(from, all.end(), searcher);
    if (at == all.end()) return std::nullopt;
    const auto offset = static_cast<std::size_t>(at - all.begin());
    if (offset % size == 0) return offset / size;
    from = at + 1;
  }
}

std::optional<std::size_t> found_in(const TensorData& source, const TensorData& after, const Part& part,
                                    bool to_the_bit) {
  if (source.dtype == after.dtype && to_the_bit) return position(after, part, source);
  if (!is_float(source.dtype) || !is_float(after.dtype) || !has_different_numbers(after, part))
    return std::nullopt;
  const Dtype fewer = bytes(source.dtype) < bytes(after.dtype) ? source.dtype : after.dtype;
  for (const bool cut_off : {false, true})
    if (const auto at = position(narrowed(after, fewer, cut_off), part, narrowed(source, fewer, cut_off)))
      return at;
  return std::nullopt;
}

// A name alone, of a sentence about "self".
std::string about_it(std::string said) {
  for (std::size_t at = 0; (at = said.find(" self", at)) != std::string::npos; at += 3)
    if (at + 5 == said.size() || !std::isalnum(static_cast<unsigned char>(said[at + 5])))
      said.replace(at, 5, " it");
  return said;
}

// Another shape is a finding of its own; what follows it is whether the numbers are the same in spite of it.
std::string other_shape(const TensorData& before, const TensorData& after) {
  const std::string shapes =
      fmt::format("its shape is [{}] instead of [{}]", text(after.shape), text(before.shape));
  if (before.numel() != after.numel()) return shapes;
  const std::vector<std::byte> a = before.packed(), b = after.packed();
  const auto found = diff::rearranged({a, before.dtype}, before.shape, {b, after.dtype}, after.shape);
  return found ? fmt::format("{}; rearranged: {}", shapes, *found)
               : shapes + "; no permutation or reshape that is known gives its numbers";
}

}  // namespace

std::string change(const TensorData& before, const TensorData& after) {
  if (before.shape != after.shape) return other_shape(before, after);
  const std::optional<TensorData> same_dtype = exactly_as(after, before.dtype);
  if (!same_dtype)
    return fmt::format("it is {}, and has numbers that {} does not have", name(after.dtype),
                       name(before.dtype));
  if (same_bits(*same_dtype, before))
    return fmt::format("it is {} instead of {}, with the same numbers", name(after.dtype),
                       name(before.dtype));
  Call copy =
      materialise(parse_case(fmt::format("clone:self={}[{}]", name(before.dtype), text(before.shape))));
  if (!copy.error.empty()) return "it is another one";
  copy.arguments[0] = before;
  Evidence evidence(copy, parse_contract("", before.dtype), {same_dtype->memory});
  const Diagnosis d = diagnose(evidence, {.patience = {.pairs = kForPairs}, .separate = false});
  if (d.diverging == 0) return "NaNs in it have other bits";
  const std::string many = fmt::format("{} of {} elements differ", d.diverging, d.judged);
  if (!d.causes.empty() && d.causes[0].explains_all) {
    // To read or to store a copy otherwise is the same; the former says it more plainly.
    const auto reads = [](const Named& n) { return n.name.starts_with("self."); };
    const auto plain = std::ranges::find_if(d.same, reads);
    const Named& cause = reads(d.causes[0]) || plain == d.same.end() ? d.causes[0] : *plain;
    return fmt::format("{}: {} ({})", many, about_it(cause.says), cause.name);
  }
  if (d.kind == Diagnosis::Kind::recovered) return fmt::format("{}: {}", many, about_it(summary(d)));
  return d.where[0].rule && d.diverging < d.judged ? fmt::format("{}, where {}", many, d.where[0].rule->text)
                                                   : many;
}

std::optional<std::string> written_from(const TensorData& before, const TensorData& after,
                                        const std::vector<Source>& sources) {
  const Part part = longest_change(before, after);
  if (part.count < kLeastWritten || !is_more_than_one_number(after, part)) return std::nullopt;
  for (const Source& source : sources)
    if (const auto at = found_in(source.read(), after, part, before.dtype == after.dtype))
      return fmt::format("elements {} to {} are those of {} from element {}", part.first,
                         part.first + part.count - 1, source.name, *at);
  return std::nullopt;
}

}  // namespace assay::diagnose
