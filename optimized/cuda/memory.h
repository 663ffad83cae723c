// Memory of the device: the tensors of a call, and scratch.
#pragma once

#include <string>
#include <vector>

#include "device.h"
#include "vocabulary/view.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Why no kernel can run here, or null. Asked for in a process of its own, so that this one, which may yet fork, never
// starts the driver.
const char* no_device();
// The same of a build without CUDA.
const char* not_built();

#if defined(ASSAY_CUDA_GPU)
// Throws std::runtime_error that says what was being done, where, and what CUDA calls the error. After an error that leaves
// the process without its device it prints that and aborts.
void check(cudaError_t error, const char* doing, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
#endif

// Memory of the device until the end of the scope. Its contents are undefined.
class Memory {
 public:
  explicit Memory(std::size_t bytes, const char* name = "scratch");
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Elements of scratch.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count) : memory_(static_cast<std::size_t>(count) * sizeof(T)) {}
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  Memory memory_;
};

// The arguments of one call, on the device.
class Tensors {
 public:
  Tensors();
  ~Tensors();
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  const View& on_device(const View& input);
  const View* on_device(const View* input);
  std::span<const View* const> on_device(std::span<const View* const> inputs);
  View& on_device(View& output);
  template <class T>
  const T& on_device(const T& number) {
    return number;
  }

  // Waits for what was launched, and copies results back. Not so if the device holds all tensors for longer than the call.
  void bring_back();

 private:
  struct Tensor;
  View& add(const View& view, bool output);
  std::vector<Tensor> tensors_;
  std::vector<std::vector<const View*>> lists_;
};

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
