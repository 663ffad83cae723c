// One batch for a worker: its entries, and where in the arena each buffer lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../model/poison.h"
#include "arena.h"
#include "lane.h"

namespace assay {

// Bytes of slack on either side of a buffer that hold poison.
inline constexpr std::size_t kCanary = 256;

// A task, with what both of its runs need. Not copied: `arguments` points into the call.
struct Prepared {
  Task task;
  std::uint32_t kernel = 0;      // position in the worker's table
  std::size_t alignment = 1;     // of every buffer, as the kernel's contract asks
  std::vector<Strided> outputs;  // of the outputs, in_place considered
  Arguments arguments;

  // Throws std::invalid_argument if the call is malformed (in_place of another shape) or the contract does not parse.
  Prepared(const Task& task, std::uint32_t kernel);
};

// One tensor's memory in one entry. All positions are bytes from the start of its window.
struct Buffer {
  int argument = -1;  // position in the schema, or -1
  int item = -1;      // position in a list of tensors, or -1
  int output = -1;    // of an in-place call both are set
  Dtype dtype = Dtype::f32;
  const Shape* shape = nullptr;
  const Strided* strided = nullptr;
  ArenaWindow window;
  std::size_t image = 0;  // where the tensor's memory starts, offset and gaps included
  std::size_t data = 0;   // where its first element is
  std::size_t bytes = 0;  // of the image
  bool writable = false;
  std::uint16_t pattern = 0;  // of poison: beside the elements; in an output also in place of them

  std::size_t end() const { return image + bytes; }
};

struct Entry {
  std::uint32_t task = 0;  // the lane's number of the task
  Run run = Run::a;
  const Prepared* prepared = nullptr;
  std::uint32_t first_buffer = 0;
  std::uint32_t buffers = 0;
  // Of repeats: after its buffers stand those with the other data, as many, and the neighbour's.
  std::uint32_t neighbour_buffers = 0;
};

class Batch {
 public:
  explicit Batch(Arena& arena) : arena_(arena) { clear(); }

  void clear();
  // Adds one run and fills its buffers; false if it does not fit. An empty batch takes everything.
  // Throws NoMemory if not even an empty one can.
  bool add(const Prepared& prepared, std::uint32_t task, Run run);
  // The same of repeats. `neighbour` may be null.
  bool add_repeats(const Prepared& prepared, const Prepared& other, const Prepared* neighbour,
                   std::uint32_t task);
  // Takes the last entry back.
  void remove_last();

  bool empty() const { return entries_.empty(); }
  std::span<const Entry> entries() const { return entries_; }
  std::span<const Buffer> buffers(const Entry& entry) const {
    return std::span(buffers_).subspan(entry.first_buffer, entry.buffers);
  }
  // All that an entry's calls may touch.
  std::span<const Buffer> all_buffers(const Entry& entry) const {
    const std::uint32_t n =
        entry.run == Run::repeats ? 2 * entry.buffers + entry.neighbour_buffers : entry.buffers;
    return std::span(buffers_).subspan(entry.first_buffer, n);
  }
  // The entry's parts: of its calls with other data, and of its neighbour's.
  static Entry other_of(const Entry& entry) {
    return {entry.task, entry.run, entry.prepared, entry.first_buffer + entry.buffers, entry.buffers, 0};
  }
  static Entry neighbour_of(const Entry& entry, const Prepared& neighbour) {
    return {
        entry.task, entry.run, &neighbour, entry.first_buffer + 2 * entry.buffers, entry.neighbour_buffers,
        0};
  }
  Arena& arena() const { return arena_; }

 private:
  bool place(const Prepared& prepared, Run run, bool anyhow);
  // Where its WireEntry is, or nothing if there is no room (batch_message.cpp).
  std::optional<std::uint64_t> encode(const Prepared& prepared, std::uint32_t after,
                                      std::span<const Buffer> buffers, std::uint64_t repeats_at);
  // Notes that the next entry begins here.
  void list(std::uint64_t wire_entry);
  void fill_all(const Prepared& prepared, std::span<const Buffer> buffers);
  void* message(std::size_t bytes);

  struct Mark {
    Arena::Used arena;
    std::size_t messages = 0;
    std::size_t buffers = 0;
  };

  void take_back(const Mark& mark);

  Arena& arena_;
  std::vector<Entry> entries_;
  std::vector<Buffer> buffers_;
  std::vector<Mark> marks_;  // before each entry
  std::size_t messages_ = 0;
};

// Whether the buffer of an input, or of an output that is one, holds what it was given. `window` is where its window begins here.
bool holds_input(const Buffer& buffer, const std::byte* window, const Call& call);

// "its input `weight`", "its output `out`", and the name alone.
std::string name_of(const Buffer& buffer, const Operator& op);
std::string described(const Buffer& buffer, const Operator& op);

}  // namespace assay
