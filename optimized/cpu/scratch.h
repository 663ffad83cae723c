// Memory for packed operands: starts at a cache line, holds no constructed objects, ends with its scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace assay::cpu {

template <class T>
class Scratch {
 public:
  // Throws std::bad_alloc.
  explicit Scratch(std::int64_t count)
      : data_(static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), kLine))) {}
  ~Scratch() { ::operator delete(data_, kLine); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return data_; }

 private:
  static constexpr std::align_val_t kLine{64};
  T* data_;
};

}  // namespace assay::cpu
