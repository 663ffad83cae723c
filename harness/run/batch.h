// One batch for a worker: its entries, and where in the arena each buffer lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arena.h"
#include "lane.h"
#include "poison.h"

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

  std::size_t end() const { return image + bytes; }
};

struct Entry {
  std::uint32_t task = 0;  // the lane's number of the task
  Run run = Run::a;
  const Prepared* prepared = nullptr;
  std::uint32_t first_buffer = 0;
  std::uint32_t buffers = 0;
};

class Batch {
 public:
  explicit Batch(Arena& arena) : arena_(arena) { clear(); }

  void clear();
  // Adds one run and fills its buffers; false if it does not fit. An empty batch takes everything.
  // Throws NoMemory if not even an empty one can.
  bool add(const Prepared& prepared, std::uint32_t task, Run run);
  // Takes the last entry back.
  void remove_last();

  bool empty() const { return entries_.empty(); }
  std::span<const Entry> entries() const { return entries_; }
  std::span<const Buffer> buffers(const Entry& entry) const {
    return std::span(buffers_).subspan(entry.first_buffer, entry.buffers);
  }
  Arena& arena() const { return arena_; }

 private:
  bool place(const Prepared& prepared, Run run, bool anyhow);
  bool encode(const Prepared& prepared, std::uint32_t after, std::span<const Buffer> buffers);
  void* message(std::size_t bytes);

  struct Mark {
    Arena::Used arena;
    std::size_t messages = 0;
    std::size_t buffers = 0;
  };

  Arena& arena_;
  std::vector<Entry> entries_;
  std::vector<Buffer> buffers_;
  std::vector<Mark> marks_;  // before each entry
  std::size_t messages_ = 0;
};

// "its input `weight`", "its output `out`", and the name alone.
std::string name_of(const Buffer& buffer, const Operator& op);
std::string described(const Buffer& buffer, const Operator& op);

}  // namespace assay
