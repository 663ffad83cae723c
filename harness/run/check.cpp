#include "check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "../model/results.h"
#include "../model/strided_copy.h"
#include "reports/text.h"

namespace assay {

namespace {

std::string change(const std::byte* at, std::uint16_t pattern) {
  return fmt::format("{:#04x} became {:#04x}", static_cast<unsigned>(poison_byte(at, pattern)),
                     static_cast<unsigned>(*at));
}

std::size_t changed_bytes(const std::byte* at, std::size_t n, std::uint16_t pattern) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (at[i] != poison_byte(at + i, pattern)) ++changed;
  return changed;
}

std::string around(const Buffer& b, const std::byte* window, std::uint16_t pattern, const Operator& op) {
  const std::size_t before = std::min(kCanary, b.image);
  const std::byte* const start = window + b.image;
  if (first_unpoisoned(start - before, before, pattern) < before) {
    std::size_t nearest = 1;
    while (*(start - nearest) == poison_byte(start - nearest, pattern)) ++nearest;
    return fmt::format("wrote before the start of {}: {} changed, the nearest {} before it ({})",
                       described(b, op), counted(changed_bytes(start - before, before, pattern), "byte"),
                       counted(nearest, "byte"), change(start - nearest, pattern));
  }
  const std::size_t behind = std::min(kCanary, b.window.bytes - b.end());
  const std::byte* const end = window + b.end();
  const std::size_t first = first_unpoisoned(end, behind, pattern);
  if (first < behind)
    return fmt::format("wrote past the end of {}: {} changed, the first {} past it ({})", described(b, op),
                       counted(changed_bytes(end, behind, pattern), "byte"), counted(first + 1, "byte"),
                       change(end + first, pattern));
  return {};
}

std::string between(const Buffer& b, const std::byte* window, std::uint16_t pattern, const Operator& op) {
  const int size = bytes(b.dtype);
  const bool dense = is_dense(*b.shape, b.strided->strides);
  if (dense && first_unpoisoned(window + b.image, b.data - b.image, pattern) == b.data - b.image) return {};
  // With its elements poisoned again, a copy of the memory must be nothing but poison.
  std::vector<std::byte> copy(window + b.image, window + b.end());
  poison_strided(copy.data() + (b.data - b.image), *b.shape, b.strided->strides, size, pattern);
  const std::size_t first = first_unpoisoned(copy.data(), copy.size(), pattern);
  if (first == copy.size()) return {};
  return fmt::format(
      "wrote between the strides of {}: {} changed that belong to no element, the first at byte {} of "
      "its memory ({})",
      described(b, op), counted(changed_bytes(copy.data(), copy.size(), pattern), "byte"), first,
      change(copy.data() + first, pattern));
}

const Buffer* buffer_of(const Batch& batch, const Entry& entry, int output) {
  for (const Buffer& b : batch.buffers(entry))
    if (b.output == output) return &b;
  return nullptr;
}

}  // namespace

std::string name_of(const Buffer& b, const Operator& op) {
  if (b.argument >= 0) {
    const std::string name(op.schema.arguments()[static_cast<std::size_t>(b.argument)].name);
    return b.item < 0 ? name : fmt::format("{}[{}]", name, b.item);
  }
  const auto results = op.schema.results();
  const auto at = static_cast<std::size_t>(b.output);
  if (at < results.size() && !results[at].name.empty()) return std::string(results[at].name);
  return results.size() > 1 ? fmt::format("out{}", b.output) : "out";
}

std::string described(const Buffer& b, const Operator& op) {
  const char* role = b.output < 0 ? "input" : b.argument >= 0 ? "in-place argument" : "output";
  return fmt::format("its {} `{}` ({}[{}], {} bytes)", role, name_of(b, op), name(b.dtype), text(*b.shape),
                     b.bytes);
}

std::string stray_write(const Batch& batch, const Entry& entry) {
  const Operator& op = *entry.prepared->task.call->op;
  for (const Buffer& b : batch.buffers(entry)) {
    if (!b.writable) continue;  // the worker could not have written it
    const std::byte* window = batch.arena().at(b.window);
    const std::uint16_t pattern = b.pattern;
    std::string found = around(b, window, pattern, op);
    if (found.empty()) found = between(b, window, pattern, op);
    if (!found.empty()) return found;
  }
  return {};
}

std::string changed_input(const Batch& batch, const Entry& entry) {
  const Call& call = *entry.prepared->task.call;
  for (const Buffer& b : batch.buffers(entry))
    if (!b.writable && !holds_input(b, batch.arena().at(b.window), call))
      return fmt::format("changed {}, whose memory it had made writable", described(b, *call.op));
  return {};
}

std::vector<std::byte> output_of(const Batch& batch, const Entry& entry, int output) {
  const Buffer* b = buffer_of(batch, entry, output);
  if (b == nullptr) return {};
  return gather(batch.arena().at(b->window) + b->data, *b->shape, b->strided->strides, bytes(b->dtype));
}

bool is_output(const Batch& batch, const Entry& entry, int output, std::span<const std::byte> packed) {
  const Buffer* b = buffer_of(batch, entry, output);
  if (b == nullptr) return packed.empty();
  return same_elements(batch.arena().at(b->window) + b->data, packed, *b->shape, b->strided->strides,
                       bytes(b->dtype));
}

std::string unwritten_elements(const Prepared& prepared, const std::vector<std::vector<std::byte>>& a,
                               const std::vector<std::vector<std::byte>>& b) {
  const Call& call = *prepared.task.call;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i == 0 && call.in_place >= 0) continue;  // it held the input, which may be the result
    const Checked::Output& output = call.outputs[i];
    const std::size_t n = a[i].size() / static_cast<std::size_t>(bytes(output.dtype));
    const std::size_t first = first_unwritten(a[i].data(), b[i].data(), n, output.dtype);
    if (first == n) continue;
    Buffer named;
    named.output = static_cast<int>(i);
    named.dtype = output.dtype;
    named.shape = &output.shape;
    named.bytes = a[i].size();
    const std::size_t missing = count_unwritten(a[i].data(), b[i].data(), n, output.dtype);
    const std::string where = element_text(output.shape, static_cast<std::int64_t>(first));
    if (missing == 1) return fmt::format("left {} of {} unwritten", where, described(named, *call.op));
    return fmt::format("left {} of {} elements of {} unwritten, the first is {}", missing, n,
                       described(named, *call.op), where);
  }
  return {};
}

std::string unwritten_in_repeats(const Prepared& prepared,
                                 const std::vector<std::vector<std::byte>>& results) {
  // Where both runs hold what only one had before, nothing is unwritten: as the other run's, it is given that run's poison.
  std::vector<std::vector<std::byte>> a = results;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Dtype dtype = prepared.task.call->outputs[i].dtype;
    const auto size = static_cast<std::size_t>(bytes(dtype));
    std::vector<std::byte> in_a(size), in_b(size);
    for (std::size_t k = 0; k < size; ++k) {
      const auto of = [&](Run run) {
        const std::uint16_t pattern = poison(dtype, run);
        return static_cast<std::byte>(size > 1 && k % 2 != 0 ? pattern >> 8 : pattern & 0xFF);
      };
      in_a[k] = of(Run::a);
      in_b[k] = of(Run::repeats);
    }
    for (std::size_t at = 0; at < a[i].size(); at += size)
      if (std::memcmp(a[i].data() + at, in_b.data(), size) == 0)
        std::memcpy(a[i].data() + at, in_a.data(), size);
  }
  return unwritten_elements(prepared, a, results);
}

std::string element_text(const Shape& shape, std::int64_t index) {
  if (shape.size() < 2) return fmt::format("element {}", index);
  return fmt::format("element {} ({})", index, index_text(shape, index));
}

}  // namespace assay
