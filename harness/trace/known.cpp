#include "known.h"

#include <algorithm>
#include <cstring>

#include "../files/tensor_data.h"
#include "dump.h"

namespace assay {
namespace {

constexpr std::string_view kOnto = "onto.";

bool overlay(KnownResult& whole, const Origin& where, const KnownResult& part) {
  if (part.data.dtype != whole.data.dtype) return false;
  const auto size = static_cast<std::size_t>(bytes(whole.data.dtype));
  if (!part.within.empty() && whole.within.empty())
    whole.within.assign(static_cast<std::size_t>(whole.data.numel()), 0.0);
  whole.computed = whole.computed || part.computed;
  whole.assumed.insert(part.assumed.begin(), part.assumed.end());
  if (whole.lost_in.empty()) whole.lost_in = part.lost_in;
  return for_each_place(where, part.data.shape, whole.data.numel(), [&](std::int64_t i, std::int64_t at) {
    std::memcpy(whole.data.element(at), part.data.element(i), size);
    if (!whole.within.empty())
      whole.within[static_cast<std::size_t>(at)] =
          part.within.empty() ? 0 : part.within[static_cast<std::size_t>(i)];
  });
}

}  // namespace

bool for_each_place(const Origin& part, const Shape& shape, std::int64_t in_whole,
                    const std::function<void(std::int64_t, std::int64_t)>& each) {
  const Shape strides = part.strides.value_or(Shape{1});
  if (strides.size() != shape.size() || (!part.strides && shape[0] != in_whole)) return false;
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  std::int64_t numbers = 1, first = part.offset, last = part.offset;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    numbers *= shape[d];
    // Files are not to be trusted: their products may be too large.
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach)) return false;
    std::int64_t& end = reach < 0 ? first : last;
    if (__builtin_add_overflow(end, reach, &end)) return false;
  }
  if (first < 0 || last >= in_whole) return false;
  Shape index(shape.size());
  std::int64_t at = part.offset;
  for (std::int64_t i = 0; i < numbers; ++i) {
    each(i, at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (index[d] + 1 < shape[d]) {
        ++index[d];
        at += strides[d];
        break;
      }
      at -= index[d] * strides[d];
      index[d] = 0;
    }
  }
  return true;
}

std::optional<KnownResult> copied(const KnownResults& results, const RecordedCall& call,
                                  const TensorData& written) {
  const auto from = parse_origin(note_of(call, "from.src"));
  return call.op == "copy_" && from ? known_part(results, *from, written.shape, written.dtype) : std::nullopt;
}

std::optional<KnownResult> known_part(const KnownResults& results, const Origin& origin, const Shape& shape,
                                      Dtype dtype) {
  const auto own = results.find({origin.call, origin.result});
  if (own == results.end() || own->second.data.dtype != dtype) return std::nullopt;
  const KnownResult& whole = own->second;
  auto part = view_of(whole.data, origin, shape);
  if (!part) return std::nullopt;
  KnownResult known{std::move(*part), {}, whole.computed, whole.written_by, whole.assumed, whole.lost_in};
  if (whole.within.empty()) return known;
  if (!origin.strides)
    known.within = whole.within;
  else
    for_each_place(origin, shape, whole.data.numel(), [&](std::int64_t, std::int64_t at) {
      known.within.push_back(whole.within[static_cast<std::size_t>(at)]);
    });
  return known;
}

bool writes_over_parts(const RecordedCall& call) {
  return std::ranges::any_of(call.notes, [](const auto& note) { return note.first.starts_with(kOnto); });
}

bool is_memory_of_its_own(const RecordedCall& recorded, std::size_t call, const std::string& output) {
  return std::ranges::any_of(recorded.notes, [&](const auto& note) {
    const auto where = note.first.starts_with(kOnto) ? parse_origin(note.second) : std::nullopt;
    return where && where->call == call && where->result == output;
  });
}

void write_over(KnownResults& results, const CaseFile& trace, std::size_t call) {
  const RecordedCall& recorded = trace.calls[call];
  for (const auto& [output, o] : recorded.outputs) {
    const auto where = parse_origin(note_of(recorded, std::string(kOnto) + output));
    if (!where || !o.actual) continue;
    const auto whole = results.find({where->call, where->result}), own = results.find({call, output});
    if (whole == results.end()) continue;
    if (own == results.end() || !overlay(whole->second, *where, own->second))
      results.erase(whole);
    else
      whole->second.written_by.push_back(name_of(trace, call));
  }
}

}  // namespace assay
