// A device that is a part of this process's memory, so that tests see what programs do with CUDA where there is no GPU.
//
// It is as strict as a GPU, or stricter: its memory can only be touched while its work runs; work waits in a queue until
// somebody waits for it; memory that was allocated holds random bits; kernels are the PTX of this build, each access of
// theirs within an allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>

namespace assay::cuda::standin {

struct Size3 {
  unsigned x, y, z;
};

class Device {
 public:
  static Device& own();

  // A multiple of 256. Null where there is no room.
  void* allocate(std::size_t bytes);
  // As soon as the work before it is done. False where no allocation begins.
  bool free(void* data);
  // Whether all of it lies in one allocation.
  bool holds(const void* data, std::size_t bytes);
  // Whether any of it can be the device's.
  bool touches(const void* data, std::size_t bytes) const;

  void enqueue(std::function<void()> work);
  // Runs what was enqueued. False, then and ever after, if a kernel did what a GPU would end it for; stderr says what.
  bool wait();

  // Enqueues a kernel of the PTX, by its name as the compiler writes it. Throws std::runtime_error if there is none of that
  // name or no GPU runs such blocks.
  void launch(const char* kernel, Size3 grid, Size3 block, std::size_t shared, void** arguments);

 private:
  Device();
  void open();
  void close();

  std::recursive_mutex mutex_;
  std::byte* memory_ = nullptr;
  std::map<std::uintptr_t, std::size_t> allocations_;  // until free() was called
  std::map<std::uintptr_t, std::size_t> taken_;        // until that was done, with what lies between
  std::deque<std::function<void()>> queue_;
  std::mt19937_64 random_{1};
  std::uint64_t launches_ = 0;
  bool lost_ = false;
};

}  // namespace assay::cuda::standin

// For stand-ins of libraries that give the device work of their own.
extern "C" __attribute__((visibility("default"))) void assay_standin_enqueue(void (*work)(void*), void* data);
