#include "stopwatch.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {
namespace {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() { check(cudaEventRecord(event_, nullptr), "recording an event"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Work after it waits until it opens: for the clock to start on a device that need not wait for its host.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<bool> late{false};
};

void CUDART_CB wait_for(void* data) {
  constexpr auto kPatience = std::chrono::milliseconds(20);
  const std::unique_ptr<std::shared_ptr<Gate>> own(static_cast<std::shared_ptr<Gate>*>(data));
  Gate& gate = **own;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!gate.open) {
    if (std::chrono::steady_clock::now() > limit) {
      gate.late = true;
      return;
    }
    std::this_thread::yield();
  }
}

}  // namespace

Elapsed device_time(const std::function<void()>& ask) {
  Event begin, end;
  const auto gate = std::make_shared<Gate>();
  auto own = std::make_unique<std::shared_ptr<Gate>>(gate);
  check(cudaLaunchHostFunc(nullptr, wait_for, own.get()), "closing the gate before what is timed");
  static_cast<void>(own.release());
  begin.record();
  try {
    ask();
    end.record();
  } catch (...) {
    gate->open = true;
    throw;
  }
  gate->open = true;
  check(cudaEventSynchronize(end.get()), "running what is timed");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "reading the device's clock");
  return {static_cast<double>(ms) * 1e6, gate->late};
}

std::size_t cache_bytes() {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0),
        "asking for the size of the device's cache");
  return static_cast<std::size_t>(bytes);
}

void empty_cache() {
  const std::size_t bytes = 2 * cache_bytes();
  const Memory other(bytes, "what empties the cache");
  check(cudaMemsetAsync(other.data(), 0, bytes, nullptr), "emptying the device's cache");
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
