#include "change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>

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

Part longest_change(const TensorData& before, const TensorData& after) {
  const auto size = static_cast<std::size_t>(bytes(after.dtype));
  Part longest, now;
  for (std::int64_t i = 0; i < after.numel(); ++i) {
    if (std::memcmp(before.element(i), after.element(i), size) == 0) {
      now = {};
      continue;
    }
    if (now.count++ == 0) now.first = i;
    if (now.count > longest.count) longest = now;
  }
  return longest;
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
  if (part.count < kLeastWritten) return std::nullopt;
  const auto size = static_cast<std::size_t>(bytes(after.dtype));
  const std::vector<std::byte> all = after.packed();
  const std::byte* const begin = all.data() + static_cast<std::size_t>(part.first) * size;
  const std::byte* const end = begin + static_cast<std::size_t>(part.count) * size;
  if (std::equal(begin + size, end, begin)) return std::nullopt;  // nothing but one number
  const std::boyer_moore_horspool_searcher searcher(begin, end);
  for (const Source& source : sources) {
    const TensorData t = source.read();
    if (t.dtype != after.dtype) continue;
    const std::vector<std::byte> hay = t.packed();
    for (auto from = hay.begin();;) {
      const auto at = std::search(from, hay.end(), searcher);
      if (at == hay.end()) break;
      const auto offset = static_cast<std::size_t>(at - hay.begin());
      if (offset % size == 0)
        return fmt::format("elements {} to {} are those of {} from element {}", part.first,
                           part.first + part.count - 1, source.name, offset / size);
      from = at + 1;
    }
  }
  return std::nullopt;
}

}  // namespace assay::diagnose
