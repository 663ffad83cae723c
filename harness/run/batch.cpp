#include "batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "../model/strided_copy.h"
#include "vocabulary/contract.h"

namespace assay {

namespace {

constexpr std::size_t kLargeBatch = std::size_t{64}
                                    << 20;  // of large buffers in one batch, unless one call is larger

// The memory that output 0 shares, or nullptr.
const TensorData* shared_input(const Call& call) {
  if (call.in_place < 0) return nullptr;
  const auto at = static_cast<std::size_t>(call.in_place);
  const TensorData* tensor =
      at < call.arguments.size() ? std::get_if<TensorData>(&call.arguments[at]) : nullptr;
  if (tensor == nullptr) throw std::invalid_argument("in_place names an argument that is not a tensor");
  if (call.outputs.empty() || call.outputs[0].shape != tensor->shape ||
      call.outputs[0].dtype != tensor->dtype)
    throw std::invalid_argument("in_place names an argument of another shape or dtype than the first output");
  return tensor;
}

// Whether the tensor's elements fill its memory, so that there are no gaps to poison.
bool fills_memory(const Shape& shape, const Strided& strided) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 0 || strided.strides[d] != 0) n *= shape[d];
  return n >= strided.offset + strided.span;
}

std::size_t round_down(std::size_t n, std::size_t to) { return n / to * to; }

// Run A: the image ends at the end of the window, or as near as the alignment of its first element allows.
// Run B: the image starts at the start of the window.
void place_in_window(Buffer& b, Run run, std::size_t alignment) {
  const std::size_t offset =
      static_cast<std::size_t>(b.strided->offset) * static_cast<std::size_t>(bytes(b.dtype));
  b.data = run == Run::a ? round_down(b.window.bytes - (b.bytes - offset), alignment)
                         : round_up(offset, alignment);
  b.image = b.data - offset;
}

// `tensor` is null for an output, which holds nothing but poison.
void fill(const Buffer& b, std::byte* window, const TensorData* tensor) {
  const std::uint16_t pattern = b.pattern;
  const std::size_t before = std::min(kCanary, b.image);
  const std::size_t behind = std::min(kCanary, b.window.bytes - b.end());
  fill_poison(window + b.image - before, before, pattern);
  fill_poison(window + b.end(), behind, pattern);
  if (tensor != nullptr && fills_memory(*b.shape, *b.strided)) {
    if (b.bytes > 0) std::memcpy(window + b.image, tensor->memory.data(), b.bytes);
    return;
  }
  fill_poison(window + b.image, b.bytes, pattern);
  if (tensor == nullptr) return;
  const int size = bytes(b.dtype);
  copy_strided(window + b.data, tensor->memory.data() + b.strided->offset * size, *b.shape,
               b.strided->strides, size);
}

const TensorData* data_of(const Buffer& b, const Call& call) {
  if (b.argument < 0) return nullptr;
  const CallValue& value = call.arguments[static_cast<std::size_t>(b.argument)];
  if (b.item < 0) return std::get_if<TensorData>(&value);
  return &std::get<std::vector<TensorData>>(value)[static_cast<std::size_t>(b.item)];
}

}  // namespace

bool holds_input(const Buffer& b, const std::byte* window, const Call& call) {
  const TensorData* const tensor = data_of(b, call);
  if (tensor == nullptr || b.bytes == 0) return true;
  const std::byte* const image = window + b.image;
  if (fills_memory(*b.shape, *b.strided)) return std::memcmp(image, tensor->memory.data(), b.bytes) == 0;
  std::vector<std::byte> given(b.bytes);
  fill_poison(given.data(), given.size(), b.pattern);
  const int size = bytes(b.dtype);
  copy_strided(given.data() + (b.data - b.image), tensor->memory.data() + b.strided->offset * size, *b.shape,
               b.strided->strides, size);
  return std::memcmp(image, given.data(), given.size()) == 0;
}

Prepared::Prepared(const Task& t, std::uint32_t position) : task(t), kernel(position), arguments(*t.call) {
  const Call& call = *task.call;
  const TensorData* shared = shared_input(call);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (i == 0 && shared != nullptr)
      outputs.push_back(shared->strided);
    else
      outputs.push_back(
          strided(call.outputs[i].shape, i < call.output_layouts.size() ? call.output_layouts[i] : Layout{}));
  }
  if (task.kernel->contract.find("alignment") != std::string::npos) {
    for (const Checked::Output& output : call.outputs)
      alignment = std::max(alignment, static_cast<std::size_t>(std::max<std::int64_t>(
                                          1, parse_contract(task.kernel->contract, output.dtype).alignment)));
    if (!std::has_single_bit(alignment) || alignment > kPage)
      throw std::invalid_argument(fmt::format(
          "its contract asks for alignment={}; possible are powers of two up to {}", alignment, kPage));
  }
}

void Batch::clear() {
  arena_.clear();
  entries_.clear();
  buffers_.clear();
  marks_.clear();
  messages_ = kEntries * sizeof(std::uint64_t);
}

void* Batch::message(std::size_t n) {
  const std::size_t at = round_up(messages_, 8);
  if (n > kMessageBytes || at > kMessageBytes - n) return nullptr;
  messages_ = at + n;
  return arena_.messages().data() + at;
}

void Batch::take_back(const Mark& mark) {
  arena_.restore(mark.arena);
  messages_ = mark.messages;
  buffers_.resize(mark.buffers);
}

bool Batch::add(const Prepared& prepared, std::uint32_t task, Run run) {
  if (entries_.size() == kEntries) return false;
  const bool anyhow = entries_.empty();
  if (!anyhow && arena_.used().large_file >= kLargeBatch) return false;
  const Mark mark{arena_.used(), messages_, buffers_.size()};
  std::uint32_t after = kNothing;
  if (!entries_.empty() && entries_.back().task == task)
    after = static_cast<std::uint32_t>(entries_.size() - 1);
  try {
    if (!place(prepared, run, anyhow)) {
      take_back(mark);
      return false;
    }
  } catch (const NoMemory&) {
    take_back(mark);
    if (anyhow) throw;
    return false;
  }
  const std::span<Buffer> mine = std::span(buffers_).subspan(mark.buffers);
  const std::optional<std::uint64_t> wire = encode(prepared, after, mine, 0);
  if (!wire) {
    take_back(mark);
    if (anyhow) throw NoMemory("the arguments of this call, tensors' data not counted, exceed 1 MiB");
    return false;
  }
  fill_all(prepared, mine);
  marks_.push_back(mark);
  list(*wire);
  entries_.push_back({task, run, &prepared, static_cast<std::uint32_t>(mark.buffers),
                      static_cast<std::uint32_t>(mine.size()), 0});
  return true;
}

bool Batch::add_repeats(const Prepared& prepared, const Prepared& other, const Prepared* neighbour,
                        std::uint32_t task) {
  if (entries_.size() == kEntries) return false;
  const Mark mark{arena_.used(), messages_, buffers_.size()};
  const auto placed = [&](const Prepared& p) {
    const std::size_t before = buffers_.size();
    if (!place(p, Run::repeats, entries_.empty())) return std::optional<std::size_t>();
    return std::optional(buffers_.size() - before);
  };
  try {
    const auto own = placed(prepared);
    const auto others = own ? placed(other) : own;
    const auto neighbours = !others                ? others
                            : neighbour != nullptr ? placed(*neighbour)
                                                   : std::optional<std::size_t>(0);
    const std::span<Buffer> all = std::span(buffers_).subspan(mark.buffers);
    // What is copied to the same place must lie as far from the ends of its window.
    const auto alike = [&] {
      for (std::size_t i = 0; i < *own; ++i)
        if (all[i].window.bytes != all[*own + i].window.bytes || all[i].image != all[*own + i].image)
          return false;
      return true;
    };
    if (neighbours && *own == *others && alike()) {
      const std::span<Buffer> mine = all.first(*own);
      const std::span<Buffer> theirs = all.subspan(*own, *own);
      const std::span<Buffer> next = all.subspan(2 * *own);
      const auto other_at = encode(other, kNothing, theirs, 0);
      const auto neighbour_at =
          neighbour != nullptr ? encode(*neighbour, kNothing, next, 0) : std::optional<std::uint64_t>(0);
      auto* repeats = static_cast<WireRepeats*>(message(sizeof(WireRepeats)));
      if (other_at && neighbour_at && repeats != nullptr) {
        const Repeats& r = *prepared.task.repeats;
        *repeats = {*other_at,
                    *neighbour_at,
                    r.calls,
                    r.least,
                    static_cast<std::uint32_t>(r.enough.count()),
                    static_cast<std::uint32_t>(r.most.count()),
                    r.compares ? 1u : 0u};
        const auto at =
            static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(repeats) - arena_.messages().data());
        if (const auto wire = encode(prepared, kNothing, mine, at)) {
          fill_all(prepared, mine);
          fill_all(other, theirs);
          if (neighbour != nullptr) fill_all(*neighbour, next);
          marks_.push_back(mark);
          list(*wire);
          entries_.push_back({task, Run::repeats, &prepared, static_cast<std::uint32_t>(mark.buffers),
                              static_cast<std::uint32_t>(*own), static_cast<std::uint32_t>(next.size())});
          return true;
        }
      }
    }
  } catch (const NoMemory&) {
    take_back(mark);
    if (entries_.empty()) throw;
    return false;
  }
  take_back(mark);
  if (entries_.empty())
    throw NoMemory("its repeats, with other data and a call of another shape, do not fit");
  return false;
}

void Batch::fill_all(const Prepared& prepared, std::span<const Buffer> buffers) {
  for (const Buffer& b : buffers) fill(b, arena_.at(b.window), data_of(b, *prepared.task.call));
}

void Batch::list(std::uint64_t wire_entry) {
  arena_.result(static_cast<std::uint32_t>(entries_.size())).status.store(EntryResult::waiting);
  reinterpret_cast<std::uint64_t*>(arena_.messages().data())[entries_.size()] = wire_entry;
}

void Batch::remove_last() {
  const Mark& mark = marks_.back();
  arena_.restore(mark.arena);
  messages_ = mark.messages;
  buffers_.resize(mark.buffers);
  marks_.pop_back();
  entries_.pop_back();
}

bool Batch::place(const Prepared& prepared, Run run, bool anyhow) {
  const Call& call = *prepared.task.call;
  std::size_t number = 0;
  const auto one = [&](Buffer b) {
    const std::size_t n = number++;
    b.pattern = static_cast<int>(n) == prepared.task.finite ? finite_pattern(b.dtype)
                : b.writable                                ? poison(b.dtype, run)
                                                            : poison_beside(n, b.dtype, run);
    const Strided& s = *b.strided;
    b.bytes = static_cast<std::size_t>(s.offset + s.span) * static_cast<std::size_t>(bytes(b.dtype));
    const std::size_t needed = b.bytes + (prepared.alignment > 1 ? prepared.alignment : 0);
    const std::optional<ArenaWindow> window = arena_.take(needed, b.writable, anyhow);
    if (!window) return false;
    b.window = *window;
    place_in_window(b, run, prepared.alignment);
    buffers_.push_back(b);
    return true;
  };
  const auto input = [&](const TensorData& t, int argument, int item) {
    Buffer b;
    b.argument = argument;
    b.item = item;
    b.dtype = t.dtype;
    b.shape = &t.shape;
    b.strided = &t.strided;
    if (argument == call.in_place) {
      b.output = 0;
      b.writable = true;
    }
    return one(b);
  };
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (const auto* tensor = std::get_if<TensorData>(&call.arguments[i])) {
      if (!input(*tensor, static_cast<int>(i), -1)) return false;
    } else if (const auto* list = std::get_if<std::vector<TensorData>>(&call.arguments[i])) {
      for (std::size_t k = 0; k < list->size(); ++k)
        if (!input((*list)[k], static_cast<int>(i), static_cast<int>(k))) return false;
    }
  }
  for (std::size_t i = call.in_place >= 0 ? 1 : 0; i < call.outputs.size(); ++i) {
    Buffer b;
    b.output = static_cast<int>(i);
    b.dtype = call.outputs[i].dtype;
    b.shape = &call.outputs[i].shape;
    b.strided = &prepared.outputs[i];
    b.writable = true;
    if (!one(b)) return false;
  }
  return true;
}

}  // namespace assay
