// Memory for the length of a call: starts at a cache line, is not initialised, and mostly comes from the last
// call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cpu {

// Each thread keeps its last scratch memory, up to 8 MiB, because the system takes longer to hand out fresh
// pages than a product of 512 x 512 matrices takes to fill them. A second one that lives at the same time is
// allocated.
class Scratch {
 public:
  // Throws std::bad_alloc.
  explicit Scratch(std::int64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // The next `count` elements, from a cache line's start. All of them together must fit what was asked for,
  // each counted as scratch_bytes<T>(count).
  template <class T>
  T* take(std::int64_t count);

 private:
  std::byte* data_;
  std::byte* next_;
  bool kept_;
};

template <class T>
constexpr std::int64_t scratch_bytes(std::int64_t count) {
  constexpr std::int64_t line = 64;
  return (count * static_cast<std::int64_t>(sizeof(T)) + line - 1) / line * line;
}

template <class T>
T* Scratch::take(std::int64_t count) {
  std::byte* const taken = next_;
  next_ += scratch_bytes<T>(count);
  return reinterpret_cast<T*>(taken);
}

}  // namespace assay::cpu
