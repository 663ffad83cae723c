#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "emulation/checker.h"
#include "emulation/regions.h"
#include "memory.h"

namespace assay::cuda {
namespace emulation {

Regions& regions() {
  static thread_local Regions own;
  return own;
}

}  // namespace emulation

inline namespace ASSAY_CUDA_BACKEND {
namespace {

// Two calls after each other, the two runs of a case, meet opposite orders; each second pair meets two random ones.
void choose_order() {
  static std::atomic<std::uint64_t> calls{0};
  const std::uint64_t call = calls++;
  constexpr emulation::Order orders[] = {emulation::Order::forward, emulation::Order::reverse,
                                         emulation::Order::random, emulation::Order::random};
  emulation::options() = {.order = orders[call % 4], .seed = call + 1};
}

void announce(const void* data, std::size_t bytes, const char* name, bool writable) {
  emulation::checker_memory(data, bytes, name, writable);
  emulation::regions().add(data, bytes, writable);
}
void withdraw(const void* data) {
  emulation::checker_forget(data);
  emulation::regions().forget(data);
}

}  // namespace

const char* no_device() { return nullptr; }
const char* not_built() {
  return "not run: this build has no CUDA Toolkit; put nvcc on the PATH or set CUDA_HOME, and build again";
}

Memory::Memory(std::size_t bytes, const char* name) : bytes_(bytes) {
  data_ = ::operator new (bytes == 0 ? 1 : bytes, std::align_val_t{256});
  std::memset(data_, 0xff, bytes);
  announce(data_, bytes, name, true);
}
Memory::~Memory() {
  if (data_ == nullptr) return;
  withdraw(data_);
  ::operator delete (data_, std::align_val_t{256});
}

struct Tensors::Tensor {
  const void* data;
};

Tensors::Tensors() { choose_order(); }
Tensors::~Tensors() {
  for (const Tensor& t : tensors_) withdraw(t.data);
}

View& Tensors::add(const View& view, bool output) {
  if (view.numel() != 0) {
    std::int64_t last = 0;
    for (int d = 0; d < view.rank(); ++d) last += (view.size(d) - 1) * view.stride(d);
    announce(view.data, static_cast<std::size_t>(last + 1) * view.dtype.bits / 8, output ? "result" : "input",
             output);
    tensors_.push_back({view.data});
  }
  return const_cast<View&>(view);
}
const View& Tensors::on_device(const View& input) { return add(input, false); }
const View* Tensors::on_device(const View* input) { return input == nullptr ? nullptr : &add(*input, false); }
std::span<const View* const> Tensors::on_device(std::span<const View* const> inputs) {
  for (const View* v : inputs) add(*v, false);
  return inputs;
}
View& Tensors::on_device(View& output) { return add(output, true); }
void Tensors::bring_back() {}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
